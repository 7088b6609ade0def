"""Algorithms read against the human range.

A rater's score is his mean against the other raters, or his score against the consensus of the others; the range goes
from the lowest to the highest rater. An algorithm's is its mean against the raters, or against the same consensuses of
all raters but one, so that it meets what the raters meet. ``above`` is better than every rater and ``below`` worse,
whichever way the metric goes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...evaluation.ranking.directions import direction
from ...labels import Undefined, reason
from ...resampling import subject_values
from ...tallies import Column, Tallies
from .gaps import NO_PREDICTION, UNMARKED
from .measures import EVERYBODY, Key, Values, mean_of

TIED = 1e-12
"""Values that differ by rounding alone are equal."""
OTHERS = "raters"
"""Against each of the raters, on average."""
NOBODY = "undefined against every one of them"


@dataclass(frozen=True)
class HumanRange:
    """One statistic of the raters, each against the others; nan where it has no value."""

    statistic: str
    against: str
    raters: Mapping[str, float]
    """Each rater's mean over subjects."""

    @property
    def low(self) -> float:
        """The smallest."""
        return min(self._defined, default=Undefined("undefined for every rater"))

    @property
    def high(self) -> float:
        """The largest."""
        return max(self._defined, default=Undefined("undefined for every rater"))

    @property
    def _defined(self) -> list[float]:
        return [v for v in self.raters.values() if not math.isnan(v)]

    def verdict(self, value: float) -> str:
        """``inside``, ``above`` (better than every rater) or ``below`` (worse); empty where it cannot be told."""
        if math.isnan(value) or math.isnan(self.low):
            return ""
        if self.low - TIED <= value <= self.high + TIED:
            return "inside"
        return "above" if (value > self.high) == (direction(self.statistic) == "higher") else "below"

    def certain(self, low: float | None, high: float | None) -> bool | None:
        """Whether the whole interval of a value gives its verdict; None where there is no interval."""
        if low is None or high is None or math.isnan(low) or math.isnan(high) or math.isnan(self.low):
            return None
        return self.verdict(low) == self.verdict(high)


Grouped = dict[tuple[Column, str], list[Values]]
"""By who is judged and by what kind of truth."""


def grouped(scores: Mapping[Key, Values], given: Collection[Column] = ()) -> Grouped:
    """The scores of a case that are compared with the raters': against raters, against what the others say, and
    against truths that were given."""
    found: Grouped = {}
    for (judged, truth), values in scores.items():
        kind = truth.name if truth in given else _kind(judged, truth)
        if kind:
            found.setdefault((judged, kind), []).append(values)
    return found


def _kind(judged: Column, truth: Column) -> str:
    if truth.role == "rater":
        return OTHERS
    left_out = truth.session.startswith("without ") or (truth == EVERYBODY and judged.role == "rater")
    return truth.name if left_out else ""


def average(scores: Grouped, who: Column, against: str, statistic: str, bad: float = math.nan) -> float:
    """The mean of a statistic of somebody in a case, over all that he is judged by.

    Where one of two marked nothing, their distance counts as ``bad``, of raters as of algorithms.
    """
    values = [v[statistic] for v in scores.get((who, against), ()) if statistic in v]
    if not math.isnan(bad):
        values = [bad if reason(v) == UNMARKED else v for v in values]
    whys = {reason(v) for v in values}
    # what counts as the worst does so also where it is undefined against others for another reason
    counts = [why for why in (NO_PREDICTION, UNMARKED) if why in whys]
    return mean_of(values, counts[0] if counts else whys.pop() if len(whys) == 1 else NOBODY)


def human_range(
    cases: Sequence[Grouped],
    tallies: Tallies,
    raters: Sequence[Column],
    against: str,
    statistic: str,
    bad: float = math.nan,
    left_out: Sequence[int] = (),
) -> HumanRange:
    """The raters' scores, means over subjects; without the cases, by position, that are left out for algorithms."""
    by_case = np.array([[average(s, r, against, statistic, bad) for r in raters] for s in cases], np.float64)
    by_case[list(left_out)] = np.nan
    by_subject = subject_values(tallies, by_case.reshape(len(cases), len(raters)))
    means = [mean_of(by_subject[:, i], NOBODY) for i in range(len(raters))]
    return HumanRange(statistic, against, {r.name: m for r, m in zip(raters, means, strict=True)})
