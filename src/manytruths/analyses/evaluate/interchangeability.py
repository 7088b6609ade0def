"""Whether algorithms agree with the raters as these do with each other: ``interchangeability.csv``.

Raters who are outliers by a test stay in; beside it stands the same without them. Rows by label, where there are
several, are of that label alone; rows without one take the mean over labels in every case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...claims.claim import ALPHA
from ...core.columns import Column
from ...core.labels import MACRO
from ...core.tally import Tallies, pool
from ...evaluation.interchangeability import (
    Interchangeability,
    LabelDistances,
    Values,
    case_distances,
    compare_with_raters,
    label_distances,
)
from ...inference.rater_tests import FEWEST_RATERS, rater_outlier_test
from ...io.result_tables import Row, Table
from ...raters import connected_raters
from ...study import Study
from ..tables import Settings, region_of
from .marks import EvaluatePlan
from .mask_scores import LabelScores

EXTRA = ("algorithm", "rater", "without")
GAMMA, SMALLEST = "interchangeability", "smallest_margin"
WITHIN = ("within", "worse_within")
"""Verdicts that hold the algorithm to be as near as the margin allows."""


@dataclass(frozen=True)
class InterchangeabilityResult:
    """Every algorithm against the raters."""

    table: Table
    every: Mapping[str, Interchangeability] = field(default_factory=dict)
    """By algorithm, with all raters and labels."""
    outliers: tuple[str, ...] = ()
    """Raters who are outliers by a test; without them the comparison is shown, too."""
    not_without: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Algorithms that are within the margin, and the raters without whom that would not be shown."""


def tabulate_interchangeability(
    study: Study, parts: Sequence[LabelScores], plan: EvaluatePlan, settings: Settings
) -> InterchangeabilityResult:
    """Compare every algorithm with the raters, over all labels and for each."""
    table, level = Table("interchangeability", EXTRA), settings.level
    # the tables of the macro mean unite the labels
    named = [part for part in parts if part.label != MACRO]
    outliers = find_outliers(named, settings.seed)
    every, not_without = {}, dict[str, tuple[str, ...]]()
    for algorithm in parts[0].algorithms:
        measured = _measure(study, named, algorithm, plan)
        compared = measured.compare(plan.margin, level) if measured else None
        if measured is None or compared is None:
            continue
        every[algorithm.name] = compared
        table.add(_rows(compared, parts[0].tallies))
        rest = measured.compare(plan.margin, level, without=outliers) if outliers else None
        if rest:
            table.add(_rows(rest, parts[0].tallies, without=outliers))
        if compared.verdict in WITHIN and not compared.exchangeable:
            if rest and rest.verdict not in (*WITHIN, None):
                not_without[algorithm.name] = outliers
            else:
                without = {r: c for r in compared.raters if (c := measured.compare(plan.margin, level, without=[r]))}
                rater = max(without, key=lambda r: _or_least(without[r].smallest_margin))
                if without[rater].verdict not in (*WITHIN, None):
                    not_without[algorithm.name] = (rater,)
                    table.add(_rows(without[rater], parts[0].tallies, without=[rater]))
        for part in named if len(named) > 1 else ():
            label = _measure(study, [part], algorithm, plan)
            alone = label.compare(None, level) if label else None
            table.add(_rows(alone, part.tallies, part.label) if alone else ())
    return InterchangeabilityResult(table, every, outliers, not_without)


def _or_least(margin: float) -> float:
    return -np.inf if np.isnan(margin) else margin


def find_outliers(parts: Sequence[LabelScores], seed: int = 0) -> tuple[str, ...]:
    """Raters who are farther from the others than these from each other, by the permutation test of ``agree``.

    Of equal raters, one lies beyond the mean of all by a standard deviation in most studies: that would leave out
    somebody nearly always. With few raters or subjects there is no test, and nobody is left out.
    """
    tallies, names = parts[0].tallies, [column.name for column in parts[0].raters]
    if next(iter(tallies.values())).exchangeable or len(names) < FEWEST_RATERS:
        return ()
    alone = tallies.map(lambda t: t.without(*[c for c in t.columns if c.role != "rater"]))
    if len(connected_raters(pool(alone, mixed=True))) > 1:
        return ()
    nobody = Column("", "algorithm")
    distances = [[_distances(part.tallies, case, nobody, names) for part in parts] for case in tallies]
    between = np.stack([case_distances([d for d in of_case if d is not None])[1] for of_case in distances])
    own = np.arange(len(names))
    between[:, own, own] = np.where(np.isnan(between).all(axis=-1), np.nan, 0.0)
    test = rater_outlier_test(between, [tallies.subjects[case] for case in tallies], seed=seed)
    if test.no_majority(ALPHA):
        return ()
    return tuple(name for name, p in zip(names, test.p_value.tolist(), strict=True) if p <= ALPHA)


@dataclass(frozen=True)
class _Measured:
    """The distances of an algorithm to the raters, and between raters, in every case."""

    algorithm: str
    raters: list[str]
    tallies: Tallies
    cases: list[tuple[Values, Values]]
    empty: int
    """Number of cases in which nobody marked anything."""

    def compare(
        self, margin: float | None, level: float, without: Sequence[str] = ()
    ) -> Interchangeability | None:  # fmt: skip
        """Compare the algorithm with the raters; None where no two of them can be compared."""
        kept = [i for i, name in enumerate(self.raters) if name not in without]
        if len(kept) < 2:
            return None
        cases = [(to[kept], between[np.ix_(kept, kept)]) for to, between in self.cases]
        names, exchangeable = [self.raters[i] for i in kept], next(iter(self.tallies.values())).exchangeable
        compared = compare_with_raters(
            self.algorithm, names, self.tallies, cases, margin, level, exchangeable=exchangeable, empty=self.empty
        )
        return compared if compared.gamma.n else None


def _measure(
    study: Study, parts: Sequence[LabelScores], algorithm: Column, plan: EvaluatePlan
) -> _Measured | None:  # fmt: skip
    """The distances of one algorithm; None where there are no cases or raters."""
    raters = [c.name for c in parts[0].raters]
    excluded = {case.name for case in study if case.missing} if plan.missing == "exclude" else set[str]()
    tallies = parts[0].tallies
    tallies = tallies.select([case for case in tallies if case not in excluded])
    if len(raters) < 2 or not tallies:
        return None
    cases, empty = [], 0
    for case in tallies:
        found = [_distances(part.tallies, case, algorithm, raters) for part in parts]
        distances = [d for d in found if d is not None]
        empty += not any(d.used.any() for d in distances)
        cases.append(case_distances(distances, missing=algorithm in study[case].missing))
    return _Measured(algorithm.name, raters, tallies, cases, empty)


def _distances(tallies: Tallies, case: str, algorithm: Column, raters: Sequence[str]) -> LabelDistances | None:
    return label_distances(tallies[case], algorithm, raters) if case in tallies else None


def _rows(
    compared: Interchangeability, tallies: Tallies, label: str = "", without: Sequence[str] = ()
) -> Iterator[Row]:
    """γ, the smallest margin, the two distances, and γ by rater."""
    region, name, gamma = region_of(tallies), compared.algorithm, compared.gamma
    undefined = len(tallies.by_subject()) - gamma.n
    extra = (name, "", "; ".join(without))
    yield Row("mean", GAMMA, gamma.value, "", "", label, region, extra, gamma.low, gamma.high, gamma.n, undefined)
    numbers = {
        SMALLEST: compared.smallest_margin,
        "distance_to_raters": compared.to_raters,
        "distance_between_raters": compared.between_raters,
    }
    for statistic, value in numbers.items():
        yield Row("mean", statistic, value, "", "", label, region, extra, n=gamma.n, n_undefined=undefined)
    for rater, d in compared.by_rater.items() if not without else ():
        gaps = len(tallies.by_subject()) - d.n
        yield Row("mean", GAMMA, d.value, "", "", label, region, (name, rater, ""), d.low, d.high, d.n, gaps)
