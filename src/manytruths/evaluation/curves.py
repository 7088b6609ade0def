"""ROC, P-R and P̄-R curves of probability maps, the areas under them, and the correlation with the raters' agreement.

**Curves.** A threshold detects the pixels whose response is at least as high. Between two thresholds the counts of
true and false positives are taken to grow together, in a straight line (Davis and Goadrich 2006): the ROC curve is
then made of straight pieces, P-R and P̄-R curves are not. Over one piece, with recall t from t₀ by Δt, fall-out f from
f₀ by Δf, prevalence π, n = πt + (1 − π)f and Δn its growth, the area under precision is ::

    π Δt/Δn · [Δt − (1 − π)(f₀Δt − t₀Δf)/Δn · ln(1 + Δn/n₀)]

The area under P̄-R is the mean of it over π. In u = ln π/(1 − π) its singularities are π away from the real axis
whatever t and f are, so that few points settle it to 1e-13.

**P̄** is the mean of precision over a range of prevalences that a data set might have had, so that reference standards
with few and with many positives can be compared. With t the true-positive rate and f the false-positive rate,
precision at prevalence π is πt / (πt + (1 − π)f). Its mean over π from ``low`` to ``high`` is ::

    t / (t − f) · [π − f / (t − f) · ln(π(t − f) + f)]   between the limits, over high − low

f = 0 gives 1, t = 0 gives 0; t = f = 0, nothing detected, is undefined. Where the argument of the logarithm changes by
less than a tenth the formula cancels, and precision is so smooth that eight Gauss–Legendre points give it to the last
digit.

**Correlation.** Does an algorithm respond more strongly where more raters agree? Pearson's r of the response with
A / m, the share of the raters of a pixel who marked it: CCO over the pixels that any rater marked, CCI over all pixels.
The further CCI lies below CCO, the more the algorithm responds where no rater marked anything. p is two-sided and takes
pixels for independent, which neighbours are not: it is smaller than it should be.

References
----------
Davis J, Goadrich M. The relationship between precision-recall and ROC curves. ICML 2006:233–240.
doi:10.1145/1143844.1143874. Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground
truth estimation, and algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572, 3.4, eq. 7.
doi:10.1109/TIP.2016.2544703
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..agreement import Correlation
from ..core.errors import CallError
from ..core.undefined import Undefined, ratio

Values = NDArray[np.float64]
Counts = NDArray[np.int64]

NO_POSITIVES = "no_positives"
NO_NEGATIVES = "no_negatives"

TAIL = 1e-13
"""How much prevalence beside 0 and 1 is left out: precision is at most 1, and so the area misses at most as much."""
PANEL = 3.0
"""So much of u at a time, by so many points: an error below 1e-15."""
POINTS, WEIGHTS = np.polynomial.legendre.leggauss(12)
CANCELS = 0.1
"""The relative change of the logarithm's argument below which points are taken instead."""
FEW_POINTS, FEW_WEIGHTS = np.polynomial.legendre.leggauss(8)


class PrevalenceRange(NamedTuple):
    """The smallest and the largest prevalence of a range."""

    low: float
    high: float


def mean_precision(t: ArrayLike, f: ArrayLike, low: float, high: float) -> Values:
    """Mean precision P̄ over a range of prevalences.

    Parameters
    ----------
    t, f : array_like
        True-positive and false-positive rates.
    low, high : float
        Range of prevalences; where they are equal, the precision at that prevalence.

    Returns
    -------
    numpy.ndarray
        P̄; nan where nothing is detected.

    References
    ----------
    Lampert TA, Stumpf A, Gançarski P. IEEE Trans Image Process 2016;25:2557–2572, eq. 7. doi:10.1109/TIP.2016.2544703

    Examples
    --------
    >>> mean_precision([1.0, 0.8, 0.8, 0.0], [0.0, 0.1, 0.8, 0.2], 0.1, 0.5).round(4)
    array([1.    , 0.7455, 0.3   , 0.    ])
    """
    check_limits(low, high)
    t, f = np.broadcast_arrays(np.asarray(t, np.float64), np.asarray(f, np.float64))
    out = np.where(t > 0, 1.0, np.where(f > 0, 0.0, np.nan))
    open_ = (t > 0) & (f > 0)
    out[open_] = _between(t[open_], f[open_], low, high)
    return out


def _between(t: Values, f: Values, low: float, high: float) -> Values:
    first, last = low * t + (1 - low) * f, high * t + (1 - high) * f
    smooth = np.abs(last - first) < CANCELS * first
    out = np.empty_like(t)
    out[smooth] = _by_points(t[smooth], f[smooth], low, high)
    t, f, first, last = (x[~smooth] for x in (t, f, first, last))
    out[~smooth] = t / (t - f) * (1 - f / (t - f) * np.log(last / first) / (high - low))
    return out


def _by_points(t: Values, f: Values, low: float, high: float) -> Values:
    at = (low + high) / 2 + (high - low) / 2 * FEW_POINTS
    hit, false = np.multiply.outer(t, at), np.multiply.outer(f, 1 - at)
    return np.asarray((hit / (hit + false)) @ (FEW_WEIGHTS / 2))


def prevalence_range(prevalences: ArrayLike) -> PrevalenceRange:
    """Range of prevalences of a study: mean ± 3 sample standard deviations, cut to [0, 1].

    Parameters
    ----------
    prevalences : array_like
        Prevalences; nan are left out.

    Returns
    -------
    PrevalenceRange
        ``low`` and ``high``.

    Examples
    --------
    >>> prevalence_range([0.25, 0.5, 0.75])
    PrevalenceRange(low=0.0, high=1.0)
    """
    known = np.asarray(prevalences, np.float64).ravel()
    known = known[~np.isnan(known)]
    if len(known) < 2 or known.min() < 0 or known.max() > 1:
        raise CallError(f"prevalences must be two or more numbers from 0 to 1; got {known.tolist()}")
    mean, spread = float(known.mean()), 3 * float(known.std(ddof=1))
    return PrevalenceRange(max(0.0, mean - spread), min(1.0, mean + spread))


def check_limits(low: float, high: float) -> None:
    """Refuse what is not a range of prevalences."""
    if not 0 <= low <= high <= 1:
        raise CallError(f"prevalences run from low to high within 0 to 1; got low={low!r}, high={high!r}")


@dataclass(frozen=True)
class OperatingPoint:
    """The counts at one threshold."""

    threshold: float
    """Responses at least as high are detected."""
    tp: int
    """Positives that are detected."""
    fp: int
    """Negatives that are detected."""
    fn: int
    """Positives that are not."""
    tn: int
    """Negatives that are not."""

    @property
    def recall(self) -> float:
        """The share of the positives that is detected."""
        return ratio(self.tp, self.tp + self.fn, NO_POSITIVES)

    @property
    def fall_out(self) -> float:
        """The share of the negatives that is detected."""
        return ratio(self.fp, self.fp + self.tn, NO_NEGATIVES)

    @property
    def precision(self) -> float:
        """The share of what is detected that is positive."""
        return ratio(self.tp, self.tp + self.fp, "nothing_detected")

    @property
    def dice(self) -> float:
        """Dice's coefficient, the F1 score."""
        return ratio(2 * self.tp, 2 * self.tp + self.fp + self.fn, "both_empty")


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """True and false positives at every threshold, from the strictest on: ROC, P-R and P̄-R curves."""

    thresholds: Values
    """Descending; the first is infinite."""
    tp: Counts
    """Positives with a response at least as high."""
    fp: Counts
    """Negatives with a response at least as high."""
    positives: int
    """Number of positives."""
    negatives: int
    """Number of negatives."""

    def __repr__(self) -> str:
        classes = f"{self.positives:,} positives, {self.negatives:,} negatives"
        return f"<ThresholdCurve of {len(self.tp) - 1:,} thresholds, {classes}>"

    @property
    def recall(self) -> Values:
        """TP / positives, the sensitivity; nan where there are none."""
        return divide(self.tp, self.positives)

    @property
    def fall_out(self) -> Values:
        """FP / negatives; nan where there are none."""
        return divide(self.fp, self.negatives)

    @property
    def precision(self) -> Values:
        """TP / (TP + FP); nan where nothing is detected."""
        return divide(self.tp, self.tp + self.fp)

    def pbar(self, low: float, high: float) -> Values:
        """Precision at every threshold, in the mean over prevalences from ``low`` to ``high``; nan likewise."""
        return mean_precision(self.recall, self.fall_out, low, high)

    def roc_area(self) -> float:
        """The chance that a positive responds higher than a negative, ties counting half."""
        return self._area(roc_areas(self.tp, self.fp), both=True)

    def pr_area(self) -> float:
        """The mean of precision over recall, at the prevalence of the reference standard."""
        return self._area(pr_areas(self.tp, self.fp), both=False)

    def pbar_area(self, low: float, high: float) -> float:
        """The mean of P̄ over recall."""
        return self._area(pbar_areas(self.tp, self.fp, low, high), both=True)

    def _area(self, area: Values, both: bool) -> float:
        if not self.positives:
            return Undefined(NO_POSITIVES)
        return float(area) if self.negatives or not both else Undefined(NO_NEGATIVES)

    def at(self, threshold: float) -> OperatingPoint:
        """What is detected where the response is at least ``threshold``."""
        return self._point(int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1, threshold)

    def best_dice(self) -> OperatingPoint:
        """The threshold of the largest Dice; of several, the strictest. Chosen on the reference, it is optimistic."""
        whole = self.tp + self.fp + self.positives
        return self._point(int(np.argmax(2 * self.tp / np.maximum(whole, 1))))

    def _point(self, i: int, threshold: float | None = None) -> OperatingPoint:
        tp, fp = int(self.tp[i]), int(self.fp[i])
        at = float(self.thresholds[i]) if threshold is None else float(threshold)
        return OperatingPoint(at, tp, fp, self.positives - tp, self.negatives - fp)

    def thinned(self, n: int = 200) -> ThresholdCurve:
        """At most ``n`` of the points, both ends among them, evenly along the curves; for drawing only."""
        if n < 2:
            raise CallError(f"a curve has at least its two ends; got n={n!r}")
        if len(self.tp) <= n:
            return self
        drawn = np.nan_to_num(np.stack([self.recall, self.fall_out, self.precision]))
        # the precision of nothing is drawn as that of the first detections
        drawn[2, 0] = drawn[2, 1]
        along = np.concatenate([[0.0], np.abs(np.diff(drawn, axis=1)).sum(axis=0).cumsum()])
        keep = np.unique(np.searchsorted(along, np.linspace(0, along[-1], n - 1)).clip(max=len(along) - 1))
        keep = np.unique(np.concatenate([[0], keep, [len(along) - 1]]))
        return replace(self, thresholds=self.thresholds[keep], tp=self.tp[keep], fp=self.fp[keep])


def make_curve(levels: Values, positives: Counts, negatives: Counts) -> ThresholdCurve:
    """The curve of one reference standard from how many positives and negatives show each response.

    >>> curve = make_curve(np.array([0.0, 1.0, 2.0]), np.array([1, 1, 2]), np.array([3, 1, 0]))
    >>> curve.tp, curve.fp, curve.roc_area(), curve.at(1).precision
    (array([0, 2, 3, 4]), array([0, 0, 1, 4]), 0.8125, 0.75)
    """
    occurring = (positives + negatives) > 0
    tp, fp = cumulate_descending(positives[occurring]), cumulate_descending(negatives[occurring])
    thresholds = np.concatenate([[np.inf], np.asarray(levels, np.float64)[occurring][::-1]])
    return ThresholdCurve(thresholds, tp, fp, int(tp[-1]), int(fp[-1]))


def cumulate_descending(counts: Counts) -> Counts:
    """(…, levels) counts to (…, levels + 1): how many lie at or above each level, the highest first, from 0."""
    out = np.zeros((*counts.shape[:-1], counts.shape[-1] + 1), np.int64)
    np.cumsum(counts[..., ::-1], axis=-1, out=out[..., 1:])
    return out


def roc_areas(tp: Counts, fp: Counts) -> Values:
    """(…, points) cumulative counts to the areas under ROC curves; nan where a class is empty."""
    # whole numbers: exact, however many items there are
    twice = (np.diff(fp, axis=-1) * (tp[..., 1:] + tp[..., :-1]).astype(np.float64)).sum(axis=-1)
    return divide(twice / 2, tp[..., -1] * fp[..., -1].astype(np.float64))


def pr_areas(tp: Counts, fp: Counts) -> Values:
    """The areas under P-R curves; nan where there is no positive."""
    positives = tp[..., -1:]
    area = _precision_areas(divide(tp, positives), divide(fp, positives), np.full(1, 0.5))[..., 0]
    return np.where(tp[..., -1] > 0, area, np.nan)


def pbar_areas(tp: Counts, fp: Counts, low: float, high: float) -> Values:
    """The areas under P̄-R curves; nan where a class is empty. ``low == high``: P-R at that prevalence.

    >>> float(pbar_areas(np.array([0, 3, 4]), np.array([0, 1, 6]), 0.1, 0.5).round(6))
    0.576392
    """
    at, weights = _prevalences(low, high)
    area = _precision_areas(divide(tp, tp[..., -1:]), divide(fp, fp[..., -1:]), at) @ weights
    return np.where((tp[..., -1] > 0) & (fp[..., -1] > 0), area, np.nan)


def _prevalences(low: float, high: float) -> tuple[Values, Values]:
    """Prevalences and their weights in a mean from ``low`` to ``high``."""
    check_limits(low, high)
    if low == high and 0 < low < 1:
        return np.array([low]), np.ones(1)
    low, high = max(low, TAIL), min(high, 1 - TAIL)
    if low >= high:
        raise CallError("at a prevalence of 0 or 1 precision says nothing; give low < high, or one in between")
    first, last = np.log(low) - np.log1p(-low), np.log(high) - np.log1p(-high)
    panels = int(np.ceil((last - first) / PANEL))
    half = (last - first) / panels / 2
    middles = first + half * (2 * np.arange(panels) + 1)
    at = 1 / (1 + np.exp(-np.add.outer(middles, half * POINTS).ravel()))
    return at, half * np.tile(WEIGHTS, panels) * at * (1 - at) / (high - low)


def _precision_areas(t: Values, f: Values, at: Values) -> Values:
    """(…, points) rates to (…, prevalences): the area under precision, summed over the pieces of the curve."""
    t0, f0, dt, df = t[..., :-1], f[..., :-1], np.diff(t, axis=-1), np.diff(f, axis=-1)
    turn = f0 * dt - t0 * df
    out = np.empty((*t.shape[:-1], len(at)))
    for i, pi in enumerate(at.tolist()):
        start, growth = pi * t0 + (1 - pi) * f0, pi * dt + (1 - pi) * df
        with np.errstate(divide="ignore", invalid="ignore"):
            bend = np.where(start > 0, (1 - pi) * turn / growth * np.log1p(growth / start), 0.0)
            area = pi * dt / growth * (dt - bend)
        # no growth of recall, no area
        out[..., i] = np.where(dt == 0, 0.0, area).sum(axis=-1)
    return out


def divide(part: NDArray[np.int64] | Values, whole: NDArray[np.int64] | Values | int) -> Values:
    """``part / whole``, nan where there is nothing to divide by."""
    whole = np.asarray(whole, np.float64)
    out = np.full(np.broadcast_shapes(np.shape(part), whole.shape), np.nan)
    np.divide(part, whole, out=out, where=np.broadcast_to(whole > 0, out.shape))
    return out


@dataclass(frozen=True, eq=False)
class ResponseCounts:
    """How many pixels show each response, by reference standard and by the share of raters who marked them.

    Counts of cases add exactly, whatever responses occur in which.
    """

    references: tuple[str, ...]
    """Names of the reference standards."""
    levels: Values
    """The responses, ascending."""
    positives: Counts
    """(references, levels): positive pixels."""
    negatives: Counts
    """(references, levels): negative pixels. What does not count under a reference is in neither."""
    shares: Values
    """A / m, ascending: the shares of the raters of a pixel who marked it."""
    by_share: Counts
    """(shares, levels): pixels that any rater rated."""
    rounded: bool = False
    """Whether responses were rounded."""

    def __repr__(self) -> str:
        return f"<ResponseCounts of {len(self.levels):,} levels under {', '.join(self.references)}>"

    @property
    def constant(self) -> bool:
        """Whether every pixel has the same response."""
        return len(self.levels) < 2

    @property
    def prevalence(self) -> Values:
        """The share of positives under each reference standard; nan where nothing counts."""
        positives, negatives = self.positives.sum(axis=1), self.negatives.sum(axis=1)
        return divide(positives, positives + negatives)

    def curve(self, truth: str) -> ThresholdCurve:
        """The curve under one reference standard."""
        if truth not in self.references:
            raise CallError(f"no reference standard {truth!r}; there are {', '.join(self.references)}")
        i = self.references.index(truth)
        return make_curve(self.levels, self.positives[i], self.negatives[i])

    def roc_areas(self) -> Values:
        """The area under the ROC curve of each reference standard; nan where a class is empty."""
        return roc_areas(cumulate_descending(self.positives), cumulate_descending(self.negatives))

    def pr_areas(self) -> Values:
        """The area under the P-R curve of each reference standard; nan where there is no positive."""
        return pr_areas(cumulate_descending(self.positives), cumulate_descending(self.negatives))

    def pbar_areas(self, low: float, high: float) -> Values:
        """The area under the P̄-R curve of each reference standard; nan where a class is empty."""
        return pbar_areas(cumulate_descending(self.positives), cumulate_descending(self.negatives), low, high)

    def __add__(self, other: ResponseCounts) -> ResponseCounts:
        return add_counts([self, other]) if isinstance(other, ResponseCounts) else NotImplemented

    def __radd__(self, other: object) -> ResponseCounts:
        return self if other == 0 else NotImplemented


def add_counts(parts: Iterable[ResponseCounts]) -> ResponseCounts:
    """The exact sum over cases or tiles, on the union of their responses."""
    parts = list(parts)
    if not parts:
        raise CallError("there are no counts of responses to add")
    for part in parts:
        if part.references != parts[0].references:
            names = " and ".join(", ".join(p.references) for p in (parts[0], part))
            raise CallError(f"counts add under the same reference standards, in the same order; got {names}")
    levels = np.unique(np.concatenate([p.levels for p in parts]))
    shares = np.unique(np.concatenate([p.shares for p in parts]))
    positives, negatives = np.zeros((2, len(parts[0].references), len(levels)), np.int64)
    by_share = np.zeros((len(shares), len(levels)), np.int64)
    for part in parts:
        at = np.searchsorted(levels, part.levels)
        positives[:, at] += part.positives
        negatives[:, at] += part.negatives
        by_share[np.ix_(np.searchsorted(shares, part.shares), at)] += part.by_share
    return ResponseCounts(
        parts[0].references, levels, positives, negatives, shares, by_share, any(p.rounded for p in parts)
    )


def correlation_in_object(counts: ResponseCounts) -> Correlation:
    """CCO: correlation of response and agreement over the pixels that any rater marked.

    Parameters
    ----------
    counts : ResponseCounts
        Responses counted against the raters.

    Returns
    -------
    Correlation
        Pearson's r, its p value and the number of pixels.

    References
    ----------
    Lampert TA, Stumpf A, Gançarski P. IEEE Trans Image Process 2016;25:2557–2572, 3.4. doi:10.1109/TIP.2016.2544703
    """
    marked = counts.shares > 0
    return _pearson(counts.shares[marked], counts.levels, counts.by_share[marked], "nobody_marked_two_items")


def correlation_in_image(counts: ResponseCounts) -> Correlation:
    """CCI: correlation of response and agreement over all pixels.

    Parameters
    ----------
    counts : ResponseCounts
        Responses counted against the raters.

    Returns
    -------
    Correlation
        Pearson's r, its p value and the number of pixels.

    References
    ----------
    Lampert TA, Stumpf A, Gançarski P. IEEE Trans Image Process 2016;25:2557–2572, 3.4. doi:10.1109/TIP.2016.2544703

    Examples
    --------
    >>> import manytruths as mt
    >>> masks = {"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}
    >>> responses = mt.count_responses([9, 7, 2, 2], masks)
    >>> round(mt.correlation_in_image(responses.against(mt.reference_standards(responses.tally))).r, 4)
    0.9782
    """
    return _pearson(counts.shares, counts.levels, counts.by_share, "fewer_than_two_items")


def _pearson(shares: Values, levels: Values, counts: NDArray[np.int64], none: str) -> Correlation:
    """From how many pixels have each share and each level; centred first, so that nothing cancels."""
    by_share, by_level = counts.sum(axis=1), counts.sum(axis=0)
    n = int(by_share.sum())
    if n < 2 or (by_share > 0).sum() < 2 or (by_level > 0).sum() < 2:
        lone = "constant_response" if (by_level > 0).sum() < 2 else "constant_share"
        why = Undefined(none if n < 2 else lone)
        return Correlation(why, why, n)
    x, y = shares - by_share @ shares / n, levels - by_level @ levels / n
    r = float(np.clip(x @ (counts @ y) / np.sqrt((by_share @ x**2) * (by_level @ y**2)), -1, 1))
    return Correlation(r, _two_sided(r, n), n)


def _two_sided(r: float, n: int) -> float:
    from scipy import special

    if n == 2:
        return Undefined("two_items")
    if abs(r) == 1:
        return 0.0
    return float(2 * special.stdtr(n - 2, -abs(r) * np.sqrt((n - 2) / ((1 - r) * (1 + r)))))
