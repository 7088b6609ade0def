"""STAPLE: the hidden truth and every rater's sensitivity and specificity, each from the other.

An item is true with prior π. Rater j marks a true item with probability p_j (sensitivity) and leaves a false one
with q_j (specificity), independently of the others. With D_ij the decisions, EM repeats over the raters present ::

    M   p_j = Σ W_i D_ij / Σ W_i                    q_j = Σ (1 − W_i) (1 − D_ij) / Σ (1 − W_i)
    E   a_i = π Π p_j^D (1 − p_j)^(1 − D)           b_i = (1 − π) Π q_j^(1 − D) (1 − q_j)^D
        W_i = a_i / (a_i + b_i)

from W = A / m, the share of the raters who marked. All is done in logarithms, on the table of patterns.

Warfield SK, Zou KH, Wells WM. Simultaneous truth and performance level estimation (STAPLE). IEEE Trans Med Imaging
2004;23:903–921. doi:10.1109/TMI.2004.828354. Dawid AP, Skene AM. Appl Stat 1979;28:20–28. doi:10.2307/2346806
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import CallError
from ..tallies import PatternValues, Tally

Values = NDArray[np.float64]
Prior = Literal["prevalence", "marked", "estimated"] | float

TIE = 1e-9
"""W this near to ½ is a tie up to rounding; ties go to background."""
ITK_TOLERANCE = 1e-7

NO_OVERLAP = "no item was marked by two raters: the estimate follows whoever marked most, and means nothing"
SLOTS = "raters are exchangeable: the rates are those of slots, within one case only"


@dataclass(frozen=True)
class Staple:
    """What STAPLE found: a value per pattern, and the rates of every rater."""

    raters: tuple[str, ...]
    """Who the rates belong to."""
    probability: Values
    """W: how likely the items of each pattern are true; the prior where nobody rated."""
    hard: NDArray[np.bool_]
    """W > ½; a tie is background, and so is what nobody rated."""
    sensitivity: Values
    """p of each rater; nan where it cannot be told, as nothing that he rated is true."""
    specificity: Values
    """q of each rater; nan where it cannot be told, as nothing that he rated is false."""
    prior: float
    """π, as given or at the end."""
    log_likelihood: Values
    """Of the decisions, after each iteration."""
    iterations: int
    """How many times both steps were done (as ITK counts: one less)."""
    ended: str
    """``converged``, ``stopped`` (after the most iterations allowed), ``nothing marked``, ``everything marked``."""
    note: str = ""
    """What to know before using it."""


@dataclass(frozen=True)
class _Data:
    """The decisions as numbers: patterns × raters."""

    marked: Values
    left: Values
    counts: Values
    """Items a pattern; 0 where nobody rated."""

    @classmethod
    def of(cls, tally: Tally) -> _Data:
        rows = tally.patterns[:, tally.raters]
        ground, mark = tally.labels.background, tally.labels.marks[0]
        counts = np.where(tally.rated > 0, tally.counts, 0).astype(np.float64)
        return cls((rows == mark).astype(np.float64), (rows == ground).astype(np.float64), counts)

    @property
    def share(self) -> Values:
        """A / m, the vote; 0 where nobody rated."""
        marked, rated = self.marked.sum(axis=1), (self.marked + self.left).sum(axis=1)
        return np.asarray(marked / np.maximum(rated, 1))


@dataclass(frozen=True)
class _Rates:
    sensitivity: Values
    specificity: Values
    prior: float

    def moved(self, last: _Rates) -> float:
        """The largest step of any rate that can be told, or of the prior."""
        steps = np.abs([self.sensitivity - last.sensitivity, self.specificity - last.specificity])
        return max(float(np.max(steps, initial=0, where=~np.isnan(steps))), abs(self.prior - last.prior))


def staple(
    tally: Tally,
    prior: Prior = "prevalence",
    *,
    like: Literal["itk"] | None = None,
    tolerance: float = 1e-7,
    most: int = 1000,
) -> Staple:
    """The hidden truth behind binary decisions, and the raters' rates, by maximum likelihood.

    Nobody marked anything: W is 0 and the rates cannot be told. No overlap at all: EM still converges, to whoever
    marked most, and ``note`` says that it means nothing.

    Parameters
    ----------
    prior
        π: ``"prevalence"``, the mean vote, as ITK has it; ``"marked"``, the share of items that anybody marked;
        ``"estimated"``, the mean of W after each step (Dawid and Skene's model); or a number. The first two stay fixed.
    like
        ``"itk"``: as ``itk::STAPLEImageFilter``, which fixes prior and tolerance and counts one iteration less.
    tolerance
        Stop when no rate moves more than this between iterations.
    most
        Stop after so many iterations.

    Rates of masks have no standard errors of their own, as neighbouring pixels are not independent: resample subjects.

    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0, 0, 0, 0], "B": [1, 1, 0, 0, 0, 0], "C": [1, 0, 1, 0, 0, 0]})
    >>> found = staple(t)
    >>> found.hard, found.sensitivity.round(2)
    (array([False, False,  True,  True]), array([1. , 1. , 0.5]))
    """
    _check(tally, like, prior, most)
    if like == "itk":
        tolerance = ITK_TOLERANCE
    data = _Data.of(tally)
    votes = data.share[data.counts > 0]
    if votes.max(initial=0) == 0 or votes.min() == 1:
        return _certain(tally, float(votes.max(initial=0)))
    start = _prior(data, prior, tally.region)
    return _fitted(tally, data, start, prior == "estimated", tolerance, most, less=int(like == "itk"))


def _check(tally: Tally, like: str | None, prior: object, most: int) -> None:
    if tally.labels.background is None or len(tally.labels) != 2:
        raise CallError(
            f"staple is for two labels, one of them background; there are {', '.join(tally.labels.describe())}: "
            "take tally.foreground(), or tally.only(label)"
        )
    if like not in (None, "itk"):
        raise CallError(f"like is None or 'itk'; got {like!r}")
    if like == "itk" and prior != "prevalence":
        raise CallError(f"like='itk' has the prior 'prevalence'; got {prior!r}")
    if most < 1:
        raise CallError(f"most is at least one iteration; got {most!r}")


def _prior(data: _Data, prior: Prior, region: str) -> float:
    if not isinstance(prior, str):
        if not 0 < prior < 1:
            raise CallError(f"a prior is above 0 and below 1; got {prior!r}")
        return float(prior)
    if prior not in ("prevalence", "marked", "estimated"):
        raise CallError(f"prior is 'prevalence', 'marked', 'estimated' or a number; got {prior!r}")
    if prior != "marked":
        return _mean(data.share, data.counts)
    share = _mean(data.share > 0, data.counts)
    if share == 1:
        raise CallError(f"every item of the region {region!r} is marked by somebody, so that the prior 'marked' is 1")
    return share


def _mean(values: NDArray[Any], counts: Values) -> float:
    return float(counts @ values / counts.sum())


def _certain(tally: Tally, truth: float) -> Staple:
    """Nobody marked anything, or everybody everything: nothing is left to estimate."""
    return Staple(
        raters=tally.rater_names,
        probability=PatternValues(np.full(len(tally.counts), truth), tally),
        hard=PatternValues(np.full(len(tally.counts), truth == 1) & (tally.rated > 0), tally),
        sensitivity=np.full(len(tally.raters), np.nan),
        specificity=np.full(len(tally.raters), np.nan),
        prior=truth,
        log_likelihood=np.zeros(0),
        iterations=0,
        ended="everything marked" if truth else "nothing marked",
        note=f"the rates cannot be told: no item is {'background' if truth else 'marked'}",
    )


def _fitted(tally: Tally, data: _Data, prior: float, estimate: bool, tolerance: float, most: int, less: int) -> Staple:
    weight, last, history, ended = data.share, None, [], "stopped"
    for _ in range(most):
        rates = _m_step(data, weight, prior, estimate)
        weight, likelihood = _e_step(data, rates)
        history.append(likelihood)
        if last is not None and rates.moved(last) <= tolerance:
            ended = "converged"
            break
        last, prior = rates, rates.prior
    return Staple(
        tally.rater_names,
        PatternValues(weight, tally),
        PatternValues((weight > 0.5 + TIE) & (tally.rated > 0), tally),
        rates.sensitivity,
        rates.specificity,
        rates.prior,
        np.array(history),
        len(history) - less,
        ended,
        _note(tally),
    )


def _m_step(data: _Data, weight: Values, prior: float, estimate: bool) -> _Rates:
    """The rates that make the decisions most likely, were W the truth."""
    true, false = data.counts * weight, data.counts * (1 - weight)
    hit, missed = true @ data.marked, true @ data.left
    extra, spared = false @ data.marked, false @ data.left
    return _Rates(
        _ratio(hit, hit + missed), _ratio(spared, spared + extra), _mean(weight, data.counts) if estimate else prior
    )


def _ratio(part: Values, whole: Values) -> Values:
    rate = np.full(len(part), np.nan)
    np.divide(part, whole, out=rate, where=whole > 0)
    return rate


def _e_step(data: _Data, rates: _Rates) -> tuple[Values, float]:
    """W, and the log-likelihood of all decisions; a rater with a rate that cannot be told has no say."""
    known = ~np.isnan(rates.sensitivity + rates.specificity)
    p, q = rates.sensitivity[known], rates.specificity[known]
    marked, left = data.marked[:, known], data.left[:, known]
    a = np.log(rates.prior) + _log_product(marked, p) + _log_product(left, 1 - p)
    b = np.log1p(-rates.prior) + _log_product(marked, 1 - q) + _log_product(left, q)
    never = np.isneginf(a) & np.isneginf(b)  # a pattern without items, to which the rates give no chance
    a[never], b[never] = np.log(rates.prior), np.log1p(-rates.prior)
    low, high = np.minimum(a, b), np.maximum(a, b)
    odds = np.exp(low - high)
    weight = np.where(a >= b, 1.0, odds) / (1 + odds)
    return weight, float(data.counts @ (high + np.log1p(odds)))


def _log_product(chosen: Values, rates: Values) -> Values:
    """Σ log of the rates chosen in each row: −∞ where one of them is 0, never 0 × ∞."""
    logs = np.log(rates, out=np.zeros_like(rates), where=rates > 0)
    return np.where(chosen @ (rates <= 0).astype(np.float64) > 0, -np.inf, chosen @ logs)


def _note(tally: Tally) -> str:
    overlap = ((tally.marked > 1) & (tally.counts > 0)).any()
    notes = ([] if overlap else [NO_OVERLAP]) + ([SLOTS] if tally.exchangeable else [])
    return "; ".join(notes)
