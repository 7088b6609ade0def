"""What a grey-level prediction detects at every threshold: ROC, P-R and P̄-R curves, and the areas under them.

A threshold detects the items whose response is at least as high. Between two thresholds the counts of true and false
positives are taken to grow together, in a straight line (Davis and Goadrich 2006): the ROC curve is then made of
straight pieces, P-R and P̄-R curves are not. Over one piece, with recall t from t₀ by Δt, fall-out f from f₀ by Δf,
prevalence π, n = πt + (1 − π)f and Δn its growth, the area under precision is ::

    π Δt/Δn · [Δt − (1 − π)(f₀Δt − t₀Δf)/Δn · ln(1 + Δn/n₀)]

The area under P̄-R is the mean of it over π. In u = ln π/(1 − π) its singularities are π away from the real axis
whatever t and f are, so that few points settle it to 1e-13.

Davis J, Goadrich M. The relationship between precision-recall and ROC curves. ICML 2006:233–240.
doi:10.1145/1143844.1143874. Lampert TA et al. IEEE Trans Image Process 2016;25:2557–2572, 3.4.
doi:10.1109/TIP.2016.2544703
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...core.errors import CallError
from ...core.undefined import Undefined, ratio
from .mean_precision import check_limits, mean_precision

Values = NDArray[np.float64]
Counts = NDArray[np.int64]

NO_POSITIVES = "no_positives"
NO_NEGATIVES = "no_negatives"

TAIL = 1e-13
"""How much prevalence beside 0 and 1 is left out: precision is at most 1, and so the area misses at most as much."""
PANEL = 3.0
"""So much of u at a time, by so many points: an error below 1e-15."""
POINTS, WEIGHTS = np.polynomial.legendre.leggauss(12)


@dataclass(frozen=True)
class OperatingPoint:
    """What one threshold gives."""

    threshold: float
    tp: int
    fp: int
    fn: int
    tn: int

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
class Curve:
    """True and false positives at every threshold, from the strictest, above every response, on."""

    thresholds: Values
    """Descending; the first is infinite."""
    tp: Counts
    """How many positives respond at least so high."""
    fp: Counts
    """How many negatives do."""
    positives: int
    negatives: int

    def __repr__(self) -> str:
        return f"<Curve of {len(self.tp) - 1:,} thresholds, {self.positives:,} positives, {self.negatives:,} negatives>"

    @property
    def recall(self) -> Values:
        """TP / positives, the sensitivity; nan where there are none."""
        return over(self.tp, self.positives)

    @property
    def fall_out(self) -> Values:
        """FP / negatives; nan where there are none."""
        return over(self.fp, self.negatives)

    @property
    def precision(self) -> Values:
        """TP / (TP + FP); nan where nothing is detected."""
        return over(self.tp, self.tp + self.fp)

    def pbar(self, low: float, high: float) -> Values:
        """Precision at every threshold, in the mean over prevalences from ``low`` to ``high``; nan likewise."""
        return mean_precision(self.recall, self.fall_out, low, high)

    def roc_area(self) -> float:
        """The chance that a positive responds higher than a negative, ties counting half."""
        return self._area(roc_areas(self.tp, self.fp), both=True)

    def pr_area(self) -> float:
        """The mean of precision over recall, at the prevalence that the truth has."""
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
        """The threshold of the largest Dice; of several, the strictest. Chosen on the truth, and so flattering."""
        whole = self.tp + self.fp + self.positives
        return self._point(int(np.argmax(2 * self.tp / np.maximum(whole, 1))))

    def _point(self, i: int, threshold: float | None = None) -> OperatingPoint:
        tp, fp = int(self.tp[i]), int(self.fp[i])
        at = float(self.thresholds[i]) if threshold is None else float(threshold)
        return OperatingPoint(at, tp, fp, self.positives - tp, self.negatives - fp)

    def thinned(self, n: int = 200) -> Curve:
        """At most ``n`` of the points, both ends among them, evenly along the curves: to be drawn, not measured."""
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


def cumulated(levels: Values, positives: Counts, negatives: Counts) -> Curve:
    """The curve of one truth from how many positives and negatives show each response.

    >>> curve = cumulated(np.array([0.0, 1.0, 2.0]), np.array([1, 1, 2]), np.array([3, 1, 0]))
    >>> curve.tp, curve.fp, curve.roc_area(), curve.at(1).precision
    (array([0, 2, 3, 4]), array([0, 0, 1, 4]), 0.8125, 0.75)
    """
    met = (positives + negatives) > 0
    tp, fp = descending(positives[met]), descending(negatives[met])
    thresholds = np.concatenate([[np.inf], np.asarray(levels, np.float64)[met][::-1]])
    return Curve(thresholds, tp, fp, int(tp[-1]), int(fp[-1]))


def descending(counts: Counts) -> Counts:
    """(…, levels) counts to (…, levels + 1): how many lie at or above each level, the highest first, from 0."""
    out = np.zeros((*counts.shape[:-1], counts.shape[-1] + 1), np.int64)
    np.cumsum(counts[..., ::-1], axis=-1, out=out[..., 1:])
    return out


def roc_areas(tp: Counts, fp: Counts) -> Values:
    """(…, points) cumulative counts to the areas under ROC curves; nan where a class is empty."""
    # whole numbers: exact, however many items there are
    twice = (np.diff(fp, axis=-1) * (tp[..., 1:] + tp[..., :-1]).astype(np.float64)).sum(axis=-1)
    return over(twice / 2, tp[..., -1] * fp[..., -1].astype(np.float64))


def pr_areas(tp: Counts, fp: Counts) -> Values:
    """The areas under P-R curves; nan where there is no positive."""
    positives = tp[..., -1:]
    area = _precision_areas(over(tp, positives), over(fp, positives), np.full(1, 0.5))[..., 0]
    return np.where(tp[..., -1] > 0, area, np.nan)


def pbar_areas(tp: Counts, fp: Counts, low: float, high: float) -> Values:
    """The areas under P̄-R curves; nan where a class is empty. ``low == high``: P-R at that prevalence.

    >>> float(pbar_areas(np.array([0, 3, 4]), np.array([0, 1, 6]), 0.1, 0.5).round(6))
    0.576392
    """
    at, weights = _prevalences(low, high)
    area = _precision_areas(over(tp, tp[..., -1:]), over(fp, fp[..., -1:]), at) @ weights
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


def over(part: NDArray[np.int64] | Values, whole: NDArray[np.int64] | Values | int) -> Values:
    """``part / whole``, nan where there is nothing to divide by."""
    whole = np.asarray(whole, np.float64)
    out = np.full(np.broadcast_shapes(np.shape(part), whole.shape), np.nan)
    np.divide(part, whole, out=out, where=np.broadcast_to(whole > 0, out.shape))
    return out
