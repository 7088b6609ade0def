"""The two steps of STAPLE on a table of patterns, for any number of labels, in logarithms.

An item has the true label k with prior π_k; rater j gives it the label g with probability θ_j[k, g], independently of
the others. With W_i[k] the chance that the items of pattern i are k, and n_i their number ::

    M   θ_j[k, g] = (Σ_(i: D_ij = g) n_i W_i[k] + a[k, g] − 1) / the same summed over g
    E   W_i[k] ∝ π_k Π_j θ_j[k, D_ij]

over the raters present; a − 1 are pseudo-counts of a prior on the rates, 0 for maximum likelihood. Where nothing that
a rater rated can be k, any θ_j[k] is as likely: that row is nan and counts as uniform, and the likelihood never falls.
Arrays may have further axes in front, for tables that share their patterns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from ..core.tally import Tally
from ..core.undefined import divide

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Decisions:
    """What raters decided, as numbers."""

    chosen: Values
    """(patterns, raters × labels): 1 where the rater gave the label."""
    counts: Values
    """Items a pattern, 0 where nobody rated; a bin, where a map of priors splits patterns."""
    labels: int
    pattern: NDArray[np.intp] | None = None
    """The pattern of each bin."""

    @classmethod
    def of(cls, tally: Tally) -> Decisions:
        """Of the raters of a table."""
        rows, labels = tally.patterns[:, tally.raters], len(tally.labels)
        chosen = (rows[:, :, None] == np.arange(labels, dtype=np.uint8)).reshape(len(rows), rows.shape[1] * labels)
        return cls(chosen.astype(np.float64), np.where(tally.rated > 0, tally.counts, 0).astype(np.float64), labels)

    @property
    def raters(self) -> int:
        return int(self.chosen.shape[1]) // self.labels

    @property
    def share(self) -> Values:
        """(bins, labels): the share of the raters who gave each label; 0 where nobody rated."""
        votes = self.chosen.reshape(-1, self.raters, self.labels).sum(axis=1)
        return self.spread(votes / np.maximum(votes.sum(axis=1, keepdims=True), 1))

    def spread(self, values: Values) -> Values:
        """From patterns to bins."""
        return values if self.pattern is None else np.asarray(values[self.pattern])

    def gather(self, values: Values) -> Values:
        """Sums over the bins of each pattern."""
        if self.pattern is None:
            return values
        size = len(self.chosen)
        return np.stack([np.bincount(self.pattern, column, size) for column in values.T], axis=1)

    def split(self, pattern: NDArray[np.intp], counts: Values) -> Decisions:
        """The same patterns in bins."""
        return replace(self, pattern=pattern, counts=counts)


def m_step(decisions: Decisions, weight: Values, pseudo: Values) -> Values:
    """(raters, truth, given) rates that make the decisions most likely, were W the truth."""
    labels, raters = decisions.labels, decisions.raters
    mass = decisions.gather(decisions.counts[..., None] * weight)
    cells = (mass.swapaxes(-1, -2) @ decisions.chosen).reshape(*mass.shape[:-2], labels, raters, labels)
    cells = cells.swapaxes(-2, -3) + pseudo
    total = cells.sum(axis=-1, keepdims=True)
    if total.all():
        return np.asarray(cells / total)
    return divide(cells, total)


def log_joint(decisions: Decisions, confusion: Values, log_prior: Values) -> Values:
    """(bins, labels): log of π_k Π θ, −∞ where it cannot be."""
    rates = confusion.swapaxes(-1, -2).reshape(*confusion.shape[:-3], -1, decisions.labels)
    if rates.min(initial=1) > 0:  # so that neither 0 nor nan is there, and nothing else needs a look
        return np.asarray(decisions.spread(decisions.chosen @ np.log(rates)) + log_prior)
    rates = np.where(np.isnan(rates), 1 / decisions.labels, rates)
    terms = decisions.chosen @ np.log(rates, out=np.zeros_like(rates), where=rates > 0)
    terms[decisions.chosen @ (rates == 0).astype(np.float64) > 0] = -np.inf
    return np.asarray(decisions.spread(terms) + log_prior)


def e_step(decisions: Decisions, confusion: Values, log_prior: Values) -> tuple[Values, Values]:
    """W, and the log-likelihood of all decisions; a pattern to which the rates give no chance gets the prior."""
    joint = log_joint(decisions, confusion, log_prior)
    top = _over_labels(np.maximum, joint)
    if top.min(initial=0) == -np.inf:
        joint = np.where(np.isneginf(top), log_prior, joint)
        top = _over_labels(np.maximum, joint)
    weight = np.exp(joint - top)
    total = _over_labels(np.add, weight)
    weight /= total
    return weight, np.asarray(np.sum(decisions.counts * (top + np.log(total))[..., 0], axis=-1))


def _over_labels(combine: np.ufunc, values: Values) -> Values:
    """A ufunc along the last axis, which stays: label by label, as NumPy is slow to reduce axes of two or three."""
    return np.asarray(reduce(combine, np.split(values, values.shape[-1], axis=-1)))


def log(values: Values) -> Values:
    """Logarithms, −∞ of 0 without a warning."""
    return np.log(values, out=np.full_like(values, -np.inf), where=values > 0)


def log_density_of_rates(confusion: Values, pseudo: Values) -> Values:
    """Log density of the rates under their prior, up to a constant."""
    rates = np.where((pseudo > 0) & ~np.isnan(confusion), confusion, 1.0)
    return np.asarray((pseudo * log(rates)).sum(axis=(-1, -2, -3)))


@dataclass(frozen=True)
class Fit:
    """Where EM arrived."""

    confusion: Values
    """(raters, truth, given)."""
    prior: Values
    """(labels), or (bins, labels)."""
    weight: Values
    """W: (bins, labels)."""
    history: Values
    """The log-likelihood after each iteration, with that of the rates under their prior."""
    moved: float
    """The last step of the rate that moved most."""


def fit_em(
    decisions: Decisions, weight: Values, prior: Values, estimate: bool, pseudo: Values, tol: float, max_iter: int
) -> Fit:
    """Both steps in turn, from W, until no rate moves more than the tolerance."""
    last, history, moved, log_prior = None, list[float](), np.inf, log(prior)
    for _ in range(max_iter):
        confusion = m_step(decisions, weight, pseudo)
        if estimate:
            prior = decisions.counts @ weight / decisions.counts.sum()
            log_prior = log(prior)
        weight, likelihood = e_step(decisions, confusion, log_prior)
        history.append(float(likelihood + log_density_of_rates(confusion, pseudo) if pseudo.any() else likelihood))
        rates = np.concatenate([confusion.ravel(), prior]) if estimate else confusion
        moved = np.inf if last is None else float(largest_step(rates, last))
        if moved <= tol:
            break
        last = rates
    return Fit(confusion, prior, weight, np.array(history), moved)


def largest_step(rates: Values, last: Values) -> float:
    """Of any rate that can be told."""
    steps = np.abs(rates - last)
    largest = float(steps.max())
    return largest if largest == largest else float(np.max(steps, initial=0, where=~np.isnan(steps)))
