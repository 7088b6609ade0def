"""EM of STAPLE for many small tables at once, with the steps of :mod:`manytruths.fusion.em` in few operations.

**Step by step.** Tables are columns over the patterns that they share, so that each step is one small matrix product.
The rates of several iterations are stored before convergence is checked: each table ends at its own iteration, as if it
were alone, but the device is synchronised only once in a while.

**In one kernel**, on a GPU: one program for each image, which ends when its own rates converge. Step by step, every
iteration is several kernel launches, each of which takes longer than its computation; here there is one launch. Needs
Triton, which comes with PyTorch for GPUs.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cache
from shutil import which
from typing import Any

import torch
from torch import Tensor

try:
    import triton  # type: ignore[import-not-found, unused-ignore]
    import triton.language as tl  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    triton = None

STEPS_PER_CHECK = 16
"""Iterations between two checks of convergence."""
NEVER = -1e5
"""In place of the logarithm of 0, which a matrix product cannot handle."""


@dataclass(frozen=True)
class Tables:
    """The decisions of the raters, in float64."""

    chosen: Tensor
    """(patterns, R × labels): 1 where the rater gave the label."""
    counts: Tensor
    """(patterns, N): number of pixels; 0 where nobody rated."""
    heard: Tensor
    """(R, 1, 1, N): 1 where the rater rated the image at all."""
    share: Tensor
    """(patterns, labels, N): share of the raters who rated that gave the label; 0 where nobody rated."""

    @property
    def labels(self) -> int:
        return self.share.shape[1]

    @property
    def raters(self) -> int:
        return self.heard.shape[0]

    @classmethod
    def of(cls, rows: Tensor, counts: Tensor, present: Tensor | None, labels: int) -> Tables:
        """From patterns (patterns, R), numbers of pixels (N, patterns), and who rated which image."""
        each = (rows[..., None] == torch.arange(labels, device=rows.device)).double()
        heard = torch.ones(len(counts), rows.shape[1], dtype=torch.float64, device=rows.device)
        heard = heard if present is None else present.double()
        votes = torch.einsum("nr,prk->pkn", heard, each)
        rated = votes.sum(dim=1)
        items = torch.where(rated > 0, counts.T.double(), 0)
        share = votes / rated.clamp(min=1)[:, None]
        return cls(each.flatten(1), items, heard.T[:, None, None], share)

    def given(self, weight: Tensor) -> Tensor:
        """(labels, N): expected number of pixels of each label, given weights (patterns, labels, N)."""
        return (weight * self.counts[:, None]).sum(dim=0)


@dataclass(frozen=True)
class TableFit:
    """The estimates of each table."""

    weight: Tensor
    """(patterns, labels, N)."""
    confusion: Tensor
    """(N, R, true label, given label); nan where it cannot be estimated."""
    prior: Tensor
    """(labels, N)."""
    iterations: Tensor
    """(N)."""
    converged: Tensor
    """(N)."""


@torch.no_grad()
def fit_step_by_step(tables: Tables, prior: Tensor, estimate: bool, tol: float, max_iter: int) -> TableFit:
    """Alternate both steps, starting from the votes, until no rate of a table changes by more than ``tol``."""
    run = _Run.start(tables, prior, estimate)
    while run.done < max_iter and not bool(run.ended.all()):
        run.check(*run.iterate(min(STEPS_PER_CHECK, max_iter - run.done)), tol)
    return run.result()


@dataclass
class _Run:
    """The state of all tables."""

    tables: Tables
    estimate: bool
    """Whether the prior follows the weights."""
    weight: Tensor
    last: Tensor
    """(R, given, truth, N): the rates of the last iteration."""
    prior: Tensor
    """(truth, N), of the last iteration."""
    rates: Tensor
    """Those of the iteration at which each table converged, or of the last one."""
    priors: Tensor
    ended: Tensor
    """(N): the iteration of convergence, from 1; 0 if not converged yet."""
    done: int = 0

    @classmethod
    def start(cls, tables: Tables, prior: Tensor, estimate: bool) -> _Run:
        """Start with infinite rates, so that the first change is infinite."""
        far = prior.new_full((tables.raters, tables.labels, *prior.shape), torch.inf)
        never = torch.zeros(prior.shape[1], dtype=torch.int64, device=prior.device)
        return cls(tables, estimate, tables.share, far, prior, far, prior, never)

    def iterate(self, steps: int) -> tuple[Tensor, Tensor]:
        """The rates and priors of the last iteration and of so many more."""
        rates = torch.cat([self.last[None], self.last.new_empty(steps, *self.last.shape)])
        priors = self.prior.repeat(steps + 1, 1, 1)
        for step in range(1, steps + 1):
            m_step(self.tables, self.weight, rates[step])
            if self.estimate:
                priors[step] = self.tables.given(self.weight) / self.tables.counts.sum(dim=0)
            self.weight = e_step(self.tables, rates[step], priors[step])
        return rates, priors

    def check(self, rates: Tensor, priors: Tensor, tol: float) -> None:
        """Store for each table the first iteration at which it converged."""
        settled = torch.maximum(_largest_change(rates, (1, 2, 3)), _largest_change(priors, (1,))) <= tol
        here, going = settled.any(dim=0), self.ended == 0
        step = torch.where(here, settled.int().argmax(dim=0) + 1, len(settled))
        self.rates = torch.where(going, _pick(rates, step), self.rates)
        self.priors = torch.where(going, _pick(priors, step), self.priors)
        self.ended = torch.where(going & here, self.done + step, self.ended)
        self.last, self.prior, self.done = rates[-1], priors[-1], self.done + len(settled)

    def result(self) -> TableFit:
        """The estimates, with the weights that follow from the rates."""
        converged = self.ended > 0
        weight = e_step(self.tables, self.rates, self.priors)
        iterations = torch.where(converged, self.ended, self.done)
        return TableFit(weight, self.rates.permute(3, 0, 2, 1), self.priors, iterations, converged)


def m_step(tables: Tables, weight: Tensor, out: Tensor) -> None:
    """(R, given, truth, N) rates that maximise the likelihood, given the weights."""
    mass = weight * tables.counts[:, None]
    cells = (tables.chosen.T @ mass.flatten(1)).view_as(out) * tables.heard
    torch.div(cells, cells.sum(dim=1, keepdim=True), out=out)


def e_step(tables: Tables, rates: Tensor, prior: Tensor) -> Tensor:
    """(patterns, labels, N): probability of each label; a rate that cannot be estimated counts as guessing."""
    logs = torch.nan_to_num(rates.log(), nan=-math.log(tables.labels), neginf=NEVER)
    joint = torch.addmm(prior.log().flatten(), tables.chosen, logs.flatten(2).flatten(0, 1))
    return joint.view(tables.share.shape).softmax(dim=1)


def _largest_change(values: Tensor, others: tuple[int, ...]) -> Tensor:
    """(steps, N): the largest change of a rate that can be estimated."""
    return torch.nan_to_num(values.diff(dim=0).abs(), posinf=torch.inf).amax(dim=others)


def _pick(values: Tensor, step: Tensor) -> Tensor:
    """One step of each table; tables are along the last axis."""
    return values.gather(0, step.expand(1, *values.shape[1:]))[0]


# -- in one kernel ----------------------------------------------------------------------------------

MAX_CELLS = 1 << 13
"""Largest patterns × decisions × labels of one program."""


def kernel_fits(patterns: int, raters: int, labels: int) -> bool:
    """Whether the kernel can be built and takes tables of this size."""
    return _can_build() and _cells(*_powers_of_two(patterns, raters, labels)) <= MAX_CELLS


@cache
def _can_build() -> bool:
    """Whether Triton and the C compiler that it needs are installed."""
    return triton is not None and any(which(name) for name in (os.environ.get("CC", "cc"), "gcc", "clang"))


def _powers_of_two(*sizes: int) -> tuple[int, ...]:
    """The next powers of two, as Triton requires."""
    return tuple(1 << (size - 1).bit_length() for size in sizes)


def _cells(patterns: int, raters: int, labels: int) -> int:
    return patterns * raters * labels**2


def fit_in_kernel(tables: Tables, prior: Tensor, estimate: bool, tol: float, max_iter: int) -> TableFit:
    """As :func:`fit_step_by_step`."""
    images = prior.shape[1]
    patterns, raters, labels = _powers_of_two(len(tables.chosen), tables.raters, tables.labels)
    given = (
        _pad(tables.chosen.view(-1, tables.raters, tables.labels), (patterns, raters, labels)),
        _pad(tables.heard.view(tables.raters, -1).T, (images, raters)),
        _pad(tables.counts.T, (images, patterns)),
        _pad(tables.share.permute(2, 0, 1), (images, patterns, labels)),
        _pad(prior.T, (images, labels)),
        prior.new_tensor([tol, -math.log(tables.labels)]),
    )
    rates, last = prior.new_empty(images, raters, labels, labels), prior.new_empty(images, labels)
    moved, steps = prior.new_empty(images), prior.new_empty(images, dtype=torch.int32)
    warps = max(1, min(8, _cells(patterns, raters, labels) // 1024))
    sizes = {"ESTIMATE": estimate, "NEVER": NEVER, "P": patterns, "R": raters, "L": labels, "num_warps": warps}
    _kernel[(images,)](*given, rates, last, moved, steps, max_iter, **sizes)
    own = rates[:, : tables.raters, : tables.labels, : tables.labels].permute(1, 2, 3, 0).contiguous()
    at = last[:, : tables.labels].T.contiguous()
    return TableFit(e_step(tables, own, at), own.permute(3, 0, 2, 1), at, steps.long(), moved <= tol)


def _pad(values: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Pad with zeros at the end of each axis."""
    if values.shape == sizes:
        return values.contiguous()
    room = values.new_zeros(sizes)
    room[tuple(slice(size) for size in values.shape)] = values
    return room


def _em(  # type: ignore[no-untyped-def]
    chosen_at, heard_at, counts_at, share_at, first_at, limits_at, rates_at, last_at, moved_at, steps_at, max_iter,
    ESTIMATE: tl.constexpr, NEVER: tl.constexpr, P: tl.constexpr, R: tl.constexpr, L: tl.constexpr,
):  # fmt: skip
    """One image; rates are [rater and given label, true label]."""
    image = tl.program_id(0)
    p, d, k = tl.arange(0, P), tl.arange(0, R * L), tl.arange(0, L)
    chosen = tl.load(chosen_at + p[:, None] * (R * L) + d[None, :])
    heard = tl.load(heard_at + image * R + d // L)
    counts = tl.load(counts_at + image * P + p)
    weight = tl.load(share_at + (image * P + p[:, None]) * L + k[None, :])
    prior = tl.load(first_at + image * L + k)
    limit, guess = tl.load(limits_at), tl.load(limits_at + 1)
    items = tl.sum(counts, axis=0)
    rates = tl.full([R * L, L], float("inf"), tl.float64)
    known = rates > 0
    moved = tl.max(tl.max(rates, axis=1), axis=0)
    step = 0
    while (step < max_iter) & (moved > limit):
        mass = weight * counts[:, None]
        cells = tl.sum(chosen[:, :, None] * mass[:, None, :], axis=0) * heard[:, None]
        total = tl.sum(tl.reshape(cells, [R, L, L]), axis=1)
        total = tl.reshape(tl.broadcast_to(total[:, None, :], [R, L, L]), [R * L, L])
        known_now = total > 0
        now = cells / tl.where(known_now, total, 1.0)
        moved = tl.max(tl.max(tl.where(known_now & known, tl.abs(now - rates), 0.0), axis=1), axis=0)
        rates, known = now, known_now
        if ESTIMATE:
            then = prior
            prior = tl.sum(mass, axis=0) / items
            moved = tl.where(step == 0, float("inf"), tl.maximum(moved, tl.max(tl.abs(prior - then), axis=0)))
        logs = tl.where(known_now, tl.where(now > 0, tl.log(tl.where(now > 0, now, 1.0)), NEVER), guess)
        joint = tl.sum(chosen[:, :, None] * logs[None, :, :], axis=1) + tl.log(prior)[None, :]
        weight = tl.exp(joint - tl.max(joint, axis=1)[:, None])
        weight = weight / tl.sum(weight, axis=1)[:, None]
        step += 1
    place = (image * R * L + d[:, None]) * L + k[None, :]
    tl.store(rates_at + place, tl.where(known, rates, float("nan")))
    tl.store(last_at + image * L + k, prior)
    tl.store(moved_at + image, moved)
    tl.store(steps_at + image, step)


_kernel: Any = triton.jit(_em) if triton is not None else None
