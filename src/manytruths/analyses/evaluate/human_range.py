"""The human range: algorithms beside the raters.

For every rater, the rater and the algorithm are scored against the same: the other raters, the consensus of the others,
or a given reference. The difference is taken case by case, so that an easy case is easy for both. ``above``: better
than every rater, whichever way the metric goes; ``below``: worse than every rater; ``inside``: neither. It is certain
where the intervals of the differences say so: all on one side of 0, or, inside, some rater on either side.

Of k raters and one more like them, the one more lies above or below all in about 2 / (k + 1) of studies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core.columns import Column
from ...core.tally import Tallies
from ...core.undefined import Undefined, code
from ...evaluation.ranking.score_tables import PERFECT
from ...evaluation.ranking.scores import best_value, direction
from ...inference.intervals import Interval, mean_intervals, subject_values
from ..summaries import Settings
from .case_scores import EVERYBODY, Key, Values
from .missing_scores import NO_PREDICTION, average, worst_score

OTHERS = "raters"
"""Against each of the raters, on average."""

LEAST_RATERS = 3
"""Fewer raters make no range."""
TIED = 1e-12
"""Values that differ by rounding alone are equal."""


@dataclass(frozen=True)
class Bench:
    """The scores of all cases of a label, by which a rater and an algorithm are compared."""

    tallies: Tallies
    scores: Mapping[str, Mapping[Key, Values]]
    diagonals: Mapping[str, float]
    given: frozenset[Column]

    @cached_property
    def _judges(self) -> dict[str, dict[Column, list[Column]]]:
        judges: dict[str, dict[Column, list[Column]]] = {case: {} for case in self.scores}
        for case, by in self.scores.items():
            for who, truth in by:
                judges[case].setdefault(who, []).append(truth)
        return judges

    def kinds(self) -> list[str]:
        """What raters are scored against: the others, their consensus, given references."""
        met = [OTHERS] if any(a.role == b.role == "rater" for by in self.scores.values() for a, b in by) else []
        for by in self.scores.values():
            for who, truth in by:
                if who.role == "rater" and truth.role != "rater" and (truth in self.given or _others(truth)):
                    met.append(truth.name)
        return list(dict.fromkeys(met))

    def of_rater(self, case: str, rater: Column, kind: str, statistic: str) -> float:
        """The score of a rater against the others."""
        return self._average(case, rater, statistic, self._truths(case, rater, kind, rater.name))

    def of_algorithm(self, case: str, algorithm: Column, kind: str, statistic: str, rater: Column) -> float:
        """The score of an algorithm against the same, without that rater; missing predictions get the worst score."""
        value = self._average(case, algorithm, statistic, self._truths(case, algorithm, kind, rater.name))
        return worst_score(statistic, self.diagonals[case]) if code(value) == NO_PREDICTION else value

    def _average(self, case: str, who: Column, statistic: str, truths: Iterator[Column]) -> float:
        scores = self.scores[case]
        values = [scores[who, t][statistic] for t in truths if statistic in scores[who, t]]
        return average(values, statistic, self.diagonals[case])

    def _truths(self, case: str, who: Column, kind: str, without: str) -> Iterator[Column]:
        for truth in self._judges[case].get(who, ()):
            if kind == OTHERS:
                fits = truth.role == "rater" and truth.name != without
            elif truth in self.given:
                fits = truth.name == kind
            else:
                own = truth == EVERYBODY and who.role == "rater"
                fits = truth.name == kind and (own or truth.left_out == without)
            if fits:
                yield truth


def _others(truth: Column) -> bool:
    return truth == EVERYBODY or bool(truth.left_out)


@dataclass(frozen=True)
class HumanRange:
    """One statistic: every rater's mean, and by how much each algorithm is better than each rater."""

    statistic: str
    against: str
    raters: Mapping[str, float]
    """Each rater's mean over subjects, against the others."""
    differences: Mapping[str, Mapping[str, Interval]]
    """By algorithm and rater, over subjects: above 0 where the algorithm is better."""

    @property
    def low(self) -> float:
        """The smallest of the raters' means."""
        return min(self._defined, default=Undefined("undefined_for_every_rater"))

    @property
    def high(self) -> float:
        """The largest."""
        return max(self._defined, default=Undefined("undefined_for_every_rater"))

    @property
    def _defined(self) -> list[float]:
        return [v for v in self.raters.values() if not math.isnan(v)]

    def verdict(self, algorithm: str) -> str:
        """``above`` every rater, ``below`` every one, or ``inside``; empty where there are too few raters to tell."""
        apart = [d.value for d in self._apart(algorithm)]
        if len(apart) < LEAST_RATERS:
            return ""
        if all(d > TIED for d in apart):
            return "above"
        return "below" if all(d < -TIED for d in apart) else "inside"

    def certain(self, algorithm: str) -> bool | None:
        """Whether the intervals say the same; None where there is none."""
        apart = self._apart(algorithm)
        if len(apart) < LEAST_RATERS or any(math.isnan(d.low) for d in apart):
            return None
        better, worse = [d.low > 0 for d in apart], [d.high < 0 for d in apart]
        return {"above": all(better), "below": all(worse)}.get(self.verdict(algorithm), any(better) and any(worse))

    def _apart(self, algorithm: str) -> list[Interval]:
        return [d for d in self.differences[algorithm].values() if not math.isnan(d.value)]


def _apart(bench: Bench, case: str, algorithm: Column, rater: Column, against: str, statistic: str) -> float:
    """An algorithm minus a rater. An empty mask against an empty reference scores best; undefined where both do."""
    pair = (
        bench.of_algorithm(case, algorithm, against, statistic, rater),
        bench.of_rater(case, rater, against, statistic),
    )
    silent = [code(value) in PERFECT for value in pair]
    top = best_value(statistic)
    if all(silent) or top is None:
        return math.nan if any(silent) else pair[0] - pair[1]
    first, second = (top if still else value for value, still in zip(pair, silent, strict=True))
    return first - second


def human_range(
    bench: Bench,
    raters: Sequence[Column],
    algorithms: Sequence[Column],
    against: str,
    statistic: str,
    settings: Settings,
    left_out: Sequence[int] = (),
) -> HumanRange:
    """Compare raters and algorithms against the same, without the cases, by position, that are excluded."""
    cases = list(bench.tallies)
    own = np.array([[bench.of_rater(c, r, against, statistic) for r in raters] for c in cases], np.float64)
    own[list(left_out)] = np.nan
    sign = 1 if direction(statistic) == "higher" else -1
    means = mean_intervals(subject_values(bench.tallies, own), resamples=1)
    differences = {}
    for algorithm in algorithms:
        better = np.array([[_apart(bench, c, algorithm, r, against, statistic) for r in raters] for c in cases]) * sign
        better[list(left_out)] = np.nan
        intervals = mean_intervals(
            subject_values(bench.tallies, better), "bca", settings.resamples, settings.level, settings.seed
        )
        differences[algorithm.name] = {r.name: d for r, d in zip(raters, intervals, strict=True)}
    return HumanRange(statistic, against, {r.name: m.value for r, m in zip(raters, means, strict=True)}, differences)
