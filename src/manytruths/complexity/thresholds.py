"""A threshold that parts hard cases from easy ones, learned from cases of which it is known.

Of the values halfway between neighbouring ones, the threshold t that makes Youden's index largest ::

    J = sensitivity + specificity − 1 = 2 balanced accuracy − 1

where sensitivity is the share of hard cases with a value above t, and specificity that of easy cases with one not
above it; for the mean, which is high where raters agree, below takes the place of above. Of thresholds that are
equally good, the one in the widest gap between values; of equal gaps, the one that calls more cases hard.

Gordon S et al. 2009, 3.1. doi:10.1016/j.compmedimag.2008.12.002. Youden WJ. Index for rating diagnostic tests.
Cancer 1950;3:32–35. doi:10.1002/1097-0142(1950)3:1<32::AID-CNCR2820030106>3.0.CO;2-3
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, InputError
from .descriptors import STATISTICS, Complexity, rater_note
from .text import from_text, to_text

Values = NDArray[np.float64]

KIND = "threshold classifier"
CHANCE = "no threshold does better than chance"


@dataclass(frozen=True)
class ThresholdClassifier:
    """Tells hard cases from easy ones by one statistic."""

    statistic: str
    """One of entropy, std, mean, esm, ssm."""
    threshold: float
    """Above it (for the mean: below it) a case is hard."""
    sensitivity: float
    """Share of the hard cases found, among those it was learned from: new cases will do a little worse."""
    specificity: float
    """Share of the easy cases let pass, among those it was learned from."""
    hard: int
    """Hard cases it was learned from."""
    easy: int
    """Easy cases it was learned from."""
    left_out: int = 0
    """Cases whose value was undefined."""
    note: str = ""
    """What to know before using it."""

    def __post_init__(self) -> None:
        _check(self.statistic)

    @property
    def balanced_accuracy(self) -> float:
        """The mean of sensitivity and specificity: ½ is chance."""
        return (self.sensitivity + self.specificity) / 2

    def classify(self, case: Complexity | float) -> str:
        """``hard``, ``easy``, or ``undefined``."""
        value = _value(case, self.statistic)
        if math.isnan(value):
            return "undefined"
        sign = _sign(self.statistic)
        return "hard" if sign * value > sign * self.threshold else "easy"

    def to_json(self) -> str:
        """The classifier as text."""
        return to_text(KIND, self)

    @classmethod
    def from_json(cls, text: str) -> ThresholdClassifier:
        """The classifier back from :meth:`to_json`, equal in every field."""
        return from_text(KIND, text, cls)


def fit_threshold(
    values: Sequence[Complexity] | Sequence[float], hard: Sequence[bool], statistic: str = "esm"
) -> ThresholdClassifier:
    """A threshold learned from cases of which somebody said whether they are hard.

    Parameters
    ----------
    values
        One a case: its complexity, or the statistic itself; undefined ones are left out, and counted.
    hard
        Whether the case is hard, in the same order.

    >>> found = fit_threshold([0.4, 0.9, 1.1, 2.0, 3.5], [False, False, True, False, True])
    >>> found.threshold, found.balanced_accuracy, found.classify(1.6)
    (1.0, 0.8333333333333333, 'hard')
    """
    _check(statistic)
    x, known = np.array([_value(v, statistic) for v in values], np.float64), _booleans(hard)
    if x.shape != known.shape:
        raise CallError(f"values and hard go in pairs; there are {len(x)} values and {len(known)} of hard")
    defined = ~np.isnan(x)
    signed, known = _sign(statistic) * x[defined], known[defined]
    _refuse_one_kind(signed, known, statistic)
    cut = _best(np.sort(signed[known]), np.sort(signed[~known]))
    found, spared = float((signed[known] > cut).mean()), float((signed[~known] <= cut).mean())
    notes = [CHANCE] if found + spared <= 1 else []
    notes += filter(None, [rater_note(v for v in values if isinstance(v, Complexity) and not v.reason)])
    n, left_out = int(known.sum()), int((~defined).sum())
    threshold = _sign(statistic) * cut
    return ThresholdClassifier(statistic, threshold, found, spared, n, len(known) - n, left_out, "; ".join(notes))


def _best(hard: Values, easy: Values) -> float:
    """The cut of sorted values with the largest index, in whole numbers so that ties are ties."""
    values = np.unique(np.concatenate([hard, easy]))
    low, high = values[:-1], values[1:]
    middle = low + (high - low) / 2
    middle = np.where(middle < high, middle, low)
    above = len(hard) - np.searchsorted(hard, middle, side="right")
    below = np.searchsorted(easy, middle, side="right")
    score = above * len(easy) + below * len(hard)
    return float(middle[np.argmax(np.where(score == score.max(), high - low, -1))])


def _value(case: Complexity | float, statistic: str) -> float:
    return float(getattr(case, statistic) if isinstance(case, Complexity) else case)


def _sign(statistic: str) -> int:
    return -1 if statistic == "mean" else 1


def _check(statistic: str) -> None:
    if statistic not in STATISTICS:
        raise CallError(f"statistic is one of {', '.join(STATISTICS)}; got {statistic!r}")


def _booleans(hard: Sequence[bool]) -> NDArray[np.bool_]:
    known = np.asarray(hard)
    if known.ndim != 1 or not np.isin(known, (0, 1)).all():
        raise CallError(f"hard is a list of True and False; got {hard!r:.80}")
    return known.astype(bool)


def _refuse_one_kind(values: Values, hard: NDArray[np.bool_], statistic: str) -> None:
    n = int(hard.sum())
    if n in (0, len(hard)):
        raise InputError(f"a threshold wants hard and easy cases with a value; got {n} hard, {len(hard) - n} easy")
    if values.min() == values.max():
        raise InputError(f"every case has {statistic} {abs(values[0]):.4g}: no threshold parts them")
