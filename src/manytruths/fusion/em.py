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
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from ..core.labels import VOID
from ..core.tally import Tally, row_codes
from ..core.undefined import divide

Values = NDArray[np.float64]


MOST_CHOICES = 1 << 16
"""Patterns × raters × labels from which on decisions are packed: below, one dense product is faster."""

MOST_CODES = 1024
"""Combinations of decisions that a group of raters may have: sums over the group stay in the cache."""


class Dense:
    """Products with the decisions as a matrix of 0 and 1."""

    def __init__(self, rows: NDArray[np.uint8], labels: int) -> None:
        chosen = (rows[:, :, None] == np.arange(labels, dtype=np.uint8)).reshape(len(rows), rows.shape[1] * labels)
        self.chosen: Values = chosen.astype(np.float64)
        """(patterns, raters × labels): 1 where the rater gave the label."""
        self.rows, self.labels = rows, labels

    def log_products(self, confusion: Values) -> Values:
        """(patterns, truth): log Π_j θ_j[k, D_ij], −∞ where it cannot be."""
        rates = confusion.swapaxes(-1, -2).reshape(*confusion.shape[:-3], -1, self.labels)
        if rates.min(initial=1) > 0:  # so that neither 0 nor nan is there, and nothing else needs a look
            return np.asarray(self.chosen @ np.log(rates))
        rates = np.where(np.isnan(rates), 1 / self.labels, rates)
        terms = self.chosen @ np.log(rates, out=np.zeros_like(rates), where=rates > 0)
        terms[self.chosen @ (rates == 0).astype(np.float64) > 0] = -np.inf
        return np.asarray(terms)

    def sums(self, mass: Values) -> Values:
        """(raters, columns of ``mass``, given): the mass of the patterns to which a rater gave a label."""
        cells = (mass.swapaxes(-1, -2) @ self.chosen).reshape(*mass.shape[:-2], mass.shape[-1], -1, self.labels)
        return np.asarray(cells.swapaxes(-2, -3))


class Packed:
    """The same products, by groups of raters whose decisions together are one code.

    A product over a group is looked up in a table of all its codes, and a sum over patterns is first one by code: a
    pattern costs one step a group instead of one a rater and label.
    """

    def __init__(self, rows: NDArray[np.uint8], labels: int) -> None:
        from scipy import sparse

        patterns, raters = rows.shape
        values = labels + int((rows == VOID).any())  # "not rated" is a value of its own, where it occurs
        groups = -(-raters // max(1, int(np.log(MOST_CODES) / np.log(values))))
        size = -(-raters // groups)
        digits = np.zeros((patterns, groups * size), np.uint8)  # the last group may lack raters: those give nothing
        np.minimum(rows, labels, out=digits[:, :raters])
        codes = np.zeros((patterns, groups), np.int64)
        for place in range(size):
            codes *= values
            codes += digits[:, place::size]
        codes += np.arange(groups) * values**size
        ends = np.arange(patterns + 1) * groups
        self._matrix = sparse.csr_array((np.ones(codes.size), codes.ravel(), ends), (patterns, groups * values**size))
        self._transposed = self._matrix.T
        self._groups, self._size, self._values, self.rows, self.labels = groups, size, values, rows, labels
        each = np.indices((values,) * size).reshape(size, -1).T  # the decisions that make up each code of a group
        self._given = Dense(each.astype(np.uint8), labels).chosen

    @property
    def chosen(self) -> Values:
        """(patterns, raters × labels): 1 where the rater gave the label."""
        return Dense(self.rows, self.labels).chosen

    def log_products(self, confusion: Values) -> Values:
        """(patterns, truth): log Π_j θ_j[k, D_ij], −∞ where it cannot be."""
        rates = np.where(np.isnan(confusion), 1 / self.labels, confusion)
        each = np.zeros((self._groups * self._size, self._values, self.labels))
        each[: len(rates), : self.labels] = log(rates).swapaxes(-1, -2)
        each = each.reshape(self._groups, self._size, 1, self._values, self.labels)
        table = np.zeros((self._groups, 1, self.labels))
        for place in range(self._size):
            table = (table[:, :, None] + each[:, place]).reshape(self._groups, -1, self.labels)
        # column by column, as the next step reads it
        return np.asfortranarray(self._matrix @ table.reshape(-1, self.labels))

    def sums(self, mass: Values) -> Values:
        """(raters, columns of ``mass``, given): the mass of the patterns to which a rater gave a label."""
        by_code = np.asarray(self._transposed @ np.ascontiguousarray(mass)).reshape(self._groups, -1, mass.shape[-1])
        cells = (by_code.swapaxes(-1, -2) @ self._given).reshape(self._groups, -1, self._size, self.labels)
        return cells.swapaxes(1, 2).reshape(-1, mass.shape[-1], self.labels)[: self.rows.shape[1]]


@dataclass(frozen=True)
class Decisions:
    """What raters decided, as numbers."""

    table: Dense | Packed
    votes: Values
    """(patterns, labels): how many raters gave the label."""
    counts: Values
    """Items a pattern, 0 where nobody rated; a bin, where a map of priors splits patterns."""
    pattern: NDArray[np.intp] | None = None
    """The pattern of each bin."""

    @classmethod
    def of(cls, tally: Tally, *, dense: bool = False) -> Decisions:
        """Of the raters of a table; ``dense`` for arrays with further axes in front."""
        rows, labels = tally.patterns[:, tally.raters], len(tally.labels)
        kind = Dense if dense or rows.size * labels <= MOST_CHOICES else Packed
        counts = np.where(tally.rated > 0, tally.counts, 0).astype(np.float64)
        return cls(kind(rows, labels), tally.votes.astype(np.float64), counts)

    @property
    def labels(self) -> int:
        return int(self.votes.shape[1])

    @property
    def raters(self) -> int:
        return int(self.table.rows.shape[1])

    @property
    def share(self) -> Values:
        """(bins, labels): the share of the raters who gave each label; 0 where nobody rated."""
        return self.spread(self.votes / np.maximum(self.votes.sum(axis=1, keepdims=True), 1))

    def mean_share(self, counts: Values) -> Values:
        """(…, labels): the mean share for (…, patterns) counts; whole numbers are added first, in any order alike."""
        rated = self.votes.sum(axis=1)
        sums = [counts[..., rated == m] @ self.votes[rated == m] / m for m in np.unique(rated[rated > 0])]
        return np.asarray(sum(sums) / counts.sum(axis=-1, keepdims=True))

    def spread(self, values: Values) -> Values:
        """From patterns to bins."""
        return values if self.pattern is None else np.asarray(values[self.pattern])

    def gather(self, values: Values) -> Values:
        """Sums over the bins of each pattern."""
        if self.pattern is None:
            return values
        size = len(self.votes)
        return np.stack([np.bincount(self.pattern, column, size) for column in values.T], axis=1)


@dataclass(frozen=True)
class Order:
    """An order of raters and patterns that is the same however the raters are ordered."""

    raters: NDArray[np.intp]
    patterns: NDArray[np.intp]

    @classmethod
    def of(cls, decisions: Decisions) -> Order:
        """By what raters gave where how many others gave what, in whole numbers; equal ones are not told apart."""
        keys = decisions.table.sums(decisions.counts[:, None] * decisions.votes).reshape(decisions.raters, -1)
        raters = np.lexsort(keys.T[::-1])
        codes, _ = row_codes(decisions.table.rows[:, raters], decisions.labels)
        return cls(raters, np.argsort(codes, kind="stable"))

    def apply(self, decisions: Decisions) -> Decisions:
        """The decisions in this order."""
        kind, rows = type(decisions.table), decisions.table.rows[self.patterns][:, self.raters]
        return Decisions(kind(rows, decisions.labels), decisions.votes[self.patterns], decisions.counts[self.patterns])

    def undo(self, fit: Fit) -> Fit:
        """A fit in the order of before."""
        confusion, weight = np.empty_like(fit.confusion), np.empty_like(fit.weight)
        confusion[self.raters], weight[self.patterns] = fit.confusion, fit.weight
        return replace(fit, confusion=confusion, weight=weight)


def m_step(decisions: Decisions, weight: Values, pseudo: Values) -> Values:
    """(raters, truth, given) rates that make the decisions most likely, were W the truth."""
    mass = decisions.gather(decisions.counts[..., None] * weight)
    cells = decisions.table.sums(mass) + pseudo
    total = cells.sum(axis=-1, keepdims=True)
    if total.all():
        return np.asarray(cells / total)
    return divide(cells, total)


def log_joint(decisions: Decisions, confusion: Values, log_prior: Values) -> Values:
    """(bins, labels): log of π_k Π θ, −∞ where it cannot be."""
    return np.asarray(decisions.spread(decisions.table.log_products(confusion)) + log_prior)


def e_step(decisions: Decisions, confusion: Values, log_prior: Values) -> tuple[Values, Values]:
    """W, and the log-likelihood of all decisions; a pattern to which the rates give no chance gets the prior."""
    joint = log_joint(decisions, confusion, log_prior)
    top = _over_labels(np.maximum, joint)
    if top.min(initial=0) == -np.inf:
        joint = np.where(np.isneginf(top), log_prior, joint)
        top = _over_labels(np.maximum, joint)
    weight = np.exp(np.subtract(joint, top, out=joint), out=joint)
    total = _over_labels(np.add, weight)
    weight /= total
    return weight, np.asarray(np.sum(decisions.counts * (top + np.log(total))[..., 0], axis=-1))


def _over_labels(combine: np.ufunc, values: Values) -> Values:
    """A ufunc along the last axis, which stays: label by label, as NumPy is slow to reduce axes of two or three."""
    return np.asarray(reduce(combine, (values[..., k : k + 1] for k in range(values.shape[-1]))))


def log(values: Values) -> Values:
    """Logarithms, −∞ of 0 without a warning."""
    return np.log(values, out=np.full_like(values, -np.inf), where=values > 0)


def log_density_of_rates(confusion: Values, pseudo: Values) -> Values:
    """Log density of the rates under their prior, up to a constant."""
    if not pseudo.any():
        return np.zeros(confusion.shape[:-3])
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


PLAIN = 200
"""Iterations of plain EM, after which it is accelerated."""

LEAP = 2.0
"""The first step of the acceleration, in steps of EM, and the factor by which steps may grow."""

STRICT = 0.01
"""The share of the tolerance at which accelerated EM ends: steps of slow EM are much shorter than the way to go."""

SLACK = 1e-13
"""The share of the log-likelihood that may be rounding."""


@dataclass(frozen=True)
class Model:
    """Both steps on rates in one vector: confusion matrices and, where it is estimated, the prior."""

    decisions: Decisions
    prior: Values
    """(labels), or (bins, labels): the prior where it is fixed."""
    estimate: bool
    pseudo: Values

    def maximise(self, weight: Values) -> Values:
        """The rates for W."""
        confusion = m_step(self.decisions, weight, self.pseudo)
        counts = self.decisions.counts
        return (
            np.concatenate([confusion.ravel(), counts @ weight / counts.sum()]) if self.estimate else confusion.ravel()
        )

    def expect(self, rates: Values) -> tuple[Values, float]:
        """W for the rates, and the log-likelihood, with that of the rates under their prior."""
        confusion, prior = self.parts(rates)
        weight, likelihood = e_step(self.decisions, confusion, log(prior) if self.estimate else self._log_prior)
        return weight, float(likelihood + log_density_of_rates(confusion, self.pseudo))

    def vector(self, confusion: Values, prior: Values) -> Values:
        """Confusion matrices and prior as rates."""
        return np.concatenate([confusion.ravel(), prior]) if self.estimate else confusion.ravel()

    def parts(self, rates: Values) -> tuple[Values, Values]:
        """Confusion matrices and prior."""
        labels = self.decisions.labels
        size = self.decisions.raters * labels**2
        confusion = rates[:size].reshape(-1, labels, labels)
        return confusion, rates[size:] if self.estimate else self.prior

    @cached_property
    def _log_prior(self) -> Values:
        return log(self.prior)

    def normalise(self, rates: Values) -> Values:
        """Every distribution among the rates with the sum 1."""
        rows = rates.reshape(-1, self.decisions.labels)
        return np.asarray((rows / rows.sum(axis=1, keepdims=True)).ravel())


def fit_em(
    decisions: Decisions,
    weight: Values,
    prior: Values,
    estimate: bool,
    pseudo: Values,
    tol: float,
    max_iter: int,
    *,
    plain: int = PLAIN,
) -> Fit:
    """Both steps in turn, from W, until no rate moves more than the tolerance; after ``plain`` times accelerated."""
    model = Model(decisions, prior, estimate, pseudo)
    rates, history, moved = None, list[float](), np.inf
    for _ in range(min(plain, max_iter)):
        last, rates = rates, model.maximise(weight)
        weight, value = model.expect(rates)
        history.append(value)
        moved = np.inf if last is None else largest_step(rates, last)
        if moved <= tol:
            break
    assert rates is not None
    fit = Fit(*model.parts(rates), weight, np.array(history), moved)
    return fit if moved <= tol or len(history) == max_iter else accelerate(model, fit, tol, max_iter)


def accelerate(model: Model, fit: Fit, tol: float, max_iter: int) -> Fit:
    """Go on by squared extrapolation (SQUAREM), to the same end as EM.

    Two steps of EM from x₀ to x₁ and x₂ give r = x₁ − x₀ and v = x₂ − x₁ − r; x₀ + 2αr + α²v with α = |r| / |v| is
    taken instead of x₂ where it is as likely as x₁, and x₂ where not. It ends when a step of EM itself moves no rate
    more than a hundredth of the tolerance.

    Extrapolation magnifies rounding, which depends on the order of raters and patterns and on the number of items. So
    it starts from rates of single precision, takes both in an order of its own, and shortens the counts.

    Varadhan R, Roland C. Simple and globally convergent methods for accelerating the convergence of any EM algorithm.
    Scand J Stat 2008;35:335–353. doi:10.1111/j.1467-9469.2007.00585.x
    """
    if model.decisions.pattern is not None:
        return _extrapolate_until(model, fit.confusion, fit, tol, max_iter)
    order = Order.of(model.decisions)
    ordered = order.apply(model.decisions)
    # without a common divisor of the counts: the same items several times are fitted alike
    times = float(np.gcd.reduce(ordered.counts.astype(np.int64))) if not model.pseudo.any() else 1.0
    reduced = replace(model, decisions=replace(ordered, counts=ordered.counts / times))
    done = _extrapolate_until(reduced, fit.confusion[order.raters], fit, tol, max_iter)
    history = np.append(fit.history, done.history[len(fit.history) :] * times)
    return order.undo(replace(done, history=history))


def _extrapolate_until(model: Model, confusion: Values, fit: Fit, tol: float, max_iter: int) -> Fit:
    rates = model.vector(confusion, fit.prior)
    rates = model.normalise(np.where(rates > np.finfo(np.float32).tiny, rates.astype(np.float32), rates))
    weight, _ = model.expect(rates)
    history, farthest, moved, tol = fit.history.tolist(), LEAP, np.inf, STRICT * tol
    while moved > tol and len(history) < max_iter:
        first, second = rates, model.maximise(weight)
        rates, moved = second, largest_step(second, first)
        weight, value = model.expect(second)
        history.append(value)
        if moved <= tol or len(history) == max_iter:
            break
        third = model.maximise(weight)
        length = _length(first, second, third, farthest)
        rates, reached = _extrapolate(first, second, third, length), -np.inf
        if ((rates > 0) == (third > 0)).all():  # else it is no set of rates
            rates = model.normalise(rates)
            weight, reached = model.expect(rates)
        if reached < value - SLACK * abs(value):
            farthest, rates = max(LEAP, length / LEAP), third
            weight, reached = model.expect(rates)
        elif length == farthest:
            farthest *= LEAP
        history.append(reached)
    return Fit(*model.parts(rates), weight, np.array(history), moved)


def _length(first: Values, second: Values, third: Values, farthest: float) -> float:
    """α, at least 1 (which is EM) and at most ``farthest``."""
    step = np.nan_to_num(second - first)
    bend = float(np.linalg.norm(np.nan_to_num(third - second) - step))
    return max(1.0, min(farthest, float(np.linalg.norm(step)) / bend)) if bend else farthest


def _extrapolate(first: Values, second: Values, third: Values, length: float) -> Values:
    """Where the steps lead; rates that cannot be told stay so."""
    step = second - first
    rates = first + 2 * length * step + length**2 * (third - second - step)
    return np.where(np.isnan(rates), third, rates)


def largest_step(rates: Values, last: Values) -> float:
    """Of any rate that can be told."""
    steps = np.abs(rates - last)
    largest = float(steps.max())
    return largest if largest == largest else float(np.max(steps, initial=0, where=~np.isnan(steps)))
