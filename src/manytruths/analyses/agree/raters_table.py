"""What each rater is like: ``raters.csv``. Its pooled rows hold what Lampert's tables show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...agreement import PairStatistic, cohen_kappa, dice, iou, npv, ppv, sensitivity, specificity
from ...core.tally import Tallies, Tally, pool
from ...core.undefined import Undefined
from ...raters import (
    RaterClustering,
    RaterDependence,
    RaterDifferences,
    RaterPerformance,
    cluster_raters,
    rater_dependence,
    rater_differences,
    rater_performance,
    rater_tendency,
    williams_index,
)
from ..rows import Row, Table
from ..summaries import Series, Settings, region_of, summarise

PERFORMANCE: tuple[PairStatistic, ...] = (sensitivity, specificity, ppv, npv, cohen_kappa, dice, iou)


@dataclass(frozen=True)
class RaterAnalysis:
    """The table, and what pictures are made of."""

    table: Table
    differences: RaterDifferences
    dependence: RaterDependence
    whole: Tally

    @property
    def clustering(self) -> RaterClustering:
        """The dendrogram, made when it is drawn: SciPy's clustering takes a while to import."""
        return cluster_raters(self.whole)


def raters_analysis(tallies: Tallies, settings: Settings) -> RaterAnalysis:
    """Everything about each rater, pooled; performance also by case, with mean and deviation over subjects."""
    whole = pool(tallies, mixed=True)
    table, region = Table("raters", ("rater",)), region_of(tallies)
    differences, dependence = rater_differences(whole), rater_dependence(whole)
    table.add(_performance(whole, region))
    table.add(_differences(differences, region))
    table.add(_tendencies(whole, region))
    table.add(_dependence(dependence, region))
    table.add(summarise(_by_case(tallies, whole.rater_names), tallies, settings))
    return RaterAnalysis(table, differences, dependence, whole)


def _performance(whole: Tally, region: str) -> Iterator[Row]:
    """Against the 0.5 consensus of all raters, then against that of the others."""
    for against, suffix in (("consensus", ""), ("others", "_against_others")):
        found = rater_performance(whole, against)
        for rater, table in zip(found.raters, found.tables, strict=True):
            for s in PERFORMANCE:
                value = found.value(rater, s)
                yield Row("pooled", s.__name__ + suffix, value, region=region, extra=(rater,), n=int(table.sum()))


def _differences(found: RaterDifferences, region: str) -> Iterator[Row]:
    alone = "rater_not_comparable"
    yield from _each("mean_difference", found.raters, found.mean_difference, alone, region)
    outlier = np.array([float(rater in found.outliers) for rater in found.raters])
    yield from _each("outlier", found.raters, outlier, alone, region)
    for scope, value in (("mean", found.mean), ("std", found.std)):
        yield Row(scope, "mean_difference", value, region=region, extra=("",), n=len(found.raters))
    yield Row("pooled", "outlier_threshold", found.threshold, region=region, extra=("",), n=len(found.raters))


def _tendencies(whole: Tally, region: str) -> Iterator[Row]:
    found = rater_tendency(whole)
    yield from _each("relative_area", found.raters, found.relative_area, "others_empty", region)
    yield from _each("misses", found.raters, found.misses, "others_agree_on_nothing", region)
    yield from _each("extra", found.raters, found.extra, "rater_marked_nothing", region)
    index = williams_index(whole)
    yield from _each("williams_index", index.raters, index.index, "no_two_others_comparable", region)


def _dependence(found: RaterDependence, region: str) -> Iterator[Row]:
    none = "staple_no_true_item"
    yield from _each("staple_sensitivity", found.raters, found.fit.sensitivity, none, region)
    yield from _each("staple_specificity", found.raters, found.fit.specificity, "staple_no_other_item", region)
    size = len(found.raters)
    yield Row("pooled", "effective_raters", found.effective_raters, region=region, extra=("",), n=size)
    yield Row("pooled", "error_correlation", found.mean_correlation, region=region, extra=("",), n=size)
    yield Row("pooled", "possible_copies", float(len(found.copies)), region=region, extra=("",), n=size)


def _each(
    statistic: str, raters: tuple[str, ...], values: NDArray[np.float64], otherwise: str, region: str
) -> Iterator[Row]:
    for rater, value in zip(raters, values.tolist(), strict=True):
        defined = Undefined(otherwise) if np.isnan(value) else value
        yield Row("pooled", statistic, defined, region=region, extra=(rater,))


def _by_case(tallies: Tallies, raters: tuple[str, ...]) -> list[Series]:
    found = [rater_performance(t) for t in tallies.values()]
    return [
        Series(s.__name__, [_value(f, rater, s) for f in found], extra=(rater,))
        for rater in raters
        for s in PERFORMANCE
    ]


def _value(found: RaterPerformance, rater: str, statistic: PairStatistic) -> float:
    i = found.raters.index(rater)
    value = float(getattr(found, statistic.__name__)[i])
    return value if not np.isnan(value) else found.value(rater, statistic)
