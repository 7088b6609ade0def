"""The steps of STAPLE for many small tables at once: those of :mod:`manytruths.fusion.em`, in few operations.

Tables lie side by side as columns over the patterns that they share, so that either step is one small matrix product.
Rates of several iterations are kept, and only then is looked who had converged when: each table ends at its own
iteration, as if it were alone, and a device is waited for once in a while instead of at every step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

TOGETHER = 16
"""Iterations between two looks."""
NEVER = -1e5
"""For the logarithm of 0, which a product of matrices cannot take."""


@dataclass(frozen=True)
class Tables:
    """What raters decided, in 64 bits."""

    chosen: Tensor
    """(patterns, R × labels): 1 where the rater gave the label."""
    counts: Tensor
    """(patterns, N): items; 0 where nobody rated."""
    heard: Tensor
    """(R, 1, 1, N): 1 where the rater rated the image at all."""
    share: Tensor
    """(patterns, labels, N): of the raters who rated, those who gave the label; 0 where nobody did."""

    @property
    def labels(self) -> int:
        return self.share.shape[1]

    @property
    def raters(self) -> int:
        return self.heard.shape[0]

    @classmethod
    def of(cls, rows: Tensor, counts: Tensor, present: Tensor | None, labels: int) -> Tables:
        """Of patterns (patterns, R), pixels (N, patterns), and who rated which image."""
        each = (rows[..., None] == torch.arange(labels, device=rows.device)).double()
        heard = torch.ones(len(counts), rows.shape[1], dtype=torch.float64, device=rows.device)
        heard = heard if present is None else present.double()
        votes = torch.einsum("nr,prk->pkn", heard, each)
        rated = votes.sum(dim=1)
        items = torch.where(rated > 0, counts.T.double(), 0)
        share = votes / rated.clamp(min=1)[:, None]
        return cls(each.flatten(1), items, heard.T[:, None, None], share)

    def given(self, weight: Tensor) -> Tensor:
        """(labels, N): how many items are each label, by weights (patterns, labels, N)."""
        return (weight * self.counts[:, None]).sum(dim=0)


@dataclass(frozen=True)
class Fitted:
    """Where each table arrived."""

    weight: Tensor
    """(patterns, labels, N)."""
    confusion: Tensor
    """(N, R, truth, given); nan where it cannot be told."""
    prior: Tensor
    """(labels, N)."""
    iterations: Tensor
    """(N)."""
    converged: Tensor
    """(N)."""


@torch.no_grad()
def fitted(tables: Tables, prior: Tensor, estimate: bool, tolerance: float, most: int) -> Fitted:
    """Both steps in turn, from the votes, until no rate of a table moves more than the tolerance."""
    run = _Run.begun(tables, prior, estimate)
    while run.done < most and not bool(run.ended.all()):
        run.look(*run.several(min(TOGETHER, most - run.done)), tolerance)
    return run.result()


@dataclass
class _Run:
    """Where all tables stand."""

    tables: Tables
    estimate: bool
    """Whether the prior follows the weights."""
    weight: Tensor
    last: Tensor
    """(R, given, truth, N): the rates of the last iteration."""
    prior: Tensor
    """(truth, N), of the last iteration."""
    rates: Tensor
    """Those of the iteration at which each table ended, or of the last one."""
    priors: Tensor
    ended: Tensor
    """(N): the iteration, from 1; 0 where there is none yet."""
    done: int = 0

    @classmethod
    def begun(cls, tables: Tables, prior: Tensor, estimate: bool) -> _Run:
        """With rates from which any step is infinite."""
        far = prior.new_full((tables.raters, tables.labels, *prior.shape), torch.inf)
        never = torch.zeros(prior.shape[1], dtype=torch.int64, device=prior.device)
        return cls(tables, estimate, tables.share, far, prior, far, prior, never)

    def several(self, steps: int) -> tuple[Tensor, Tensor]:
        """The rates and priors of so many iterations, after those of the last one."""
        rates = torch.cat([self.last[None], self.last.new_empty(steps, *self.last.shape)])
        priors = self.prior.repeat(steps + 1, 1, 1)
        for step in range(1, steps + 1):
            m_step(self.tables, self.weight, rates[step])
            if self.estimate:
                priors[step] = self.tables.given(self.weight) / self.tables.counts.sum(dim=0)
            self.weight = e_step(self.tables, rates[step], priors[step])
        return rates, priors

    def look(self, rates: Tensor, priors: Tensor, tolerance: float) -> None:
        """Who ended when: at the first iteration that moved nothing."""
        settled = torch.maximum(_moved(rates, (1, 2, 3)), _moved(priors, (1,))) <= tolerance
        here, going = settled.any(dim=0), self.ended == 0
        step = torch.where(here, settled.int().argmax(dim=0) + 1, len(settled))
        self.rates = torch.where(going, _picked(rates, step), self.rates)
        self.priors = torch.where(going, _picked(priors, step), self.priors)
        self.ended = torch.where(going & here, self.done + step, self.ended)
        self.last, self.prior, self.done = rates[-1], priors[-1], self.done + len(settled)

    def result(self) -> Fitted:
        """With the weights that belong to the rates."""
        converged = self.ended > 0
        weight = e_step(self.tables, self.rates, self.priors)
        iterations = torch.where(converged, self.ended, self.done)
        return Fitted(weight, self.rates.permute(3, 0, 2, 1), self.priors, iterations, converged)


def m_step(tables: Tables, weight: Tensor, out: Tensor) -> None:
    """(R, given, truth, N) rates that make the decisions most likely, were the weights the truth."""
    mass = weight * tables.counts[:, None]
    cells = (tables.chosen.T @ mass.flatten(1)).view_as(out) * tables.heard
    torch.div(cells, cells.sum(dim=1, keepdim=True), out=out)


def e_step(tables: Tables, rates: Tensor, prior: Tensor) -> Tensor:
    """(patterns, labels, N): how likely each pattern is each label; a rate that cannot be told counts as guessing."""
    logs = torch.nan_to_num(rates.log(), nan=-math.log(tables.labels), neginf=NEVER)
    joint = torch.addmm(prior.log().flatten(), tables.chosen, logs.flatten(2).flatten(0, 1))
    return joint.view(tables.share.shape).softmax(dim=1)


def _moved(values: Tensor, others: tuple[int, ...]) -> Tensor:
    """(steps, N): the largest step of what can be told."""
    return torch.nan_to_num(values.diff(dim=0).abs(), posinf=torch.inf).amax(dim=others)


def _picked(values: Tensor, step: Tensor) -> Tensor:
    """One step of each table, which lie along the last axis."""
    return values.gather(0, step.expand(1, *values.shape[1:]))[0]
