"""How far all raters agree: ``agreement.csv``, ``curve.csv``, ``confusions.csv``.

How far every two raters agree, and every rater with himself: ``pairs.csv``.

What each rater is like: ``raters.csv``. Its pooled rows hold what Lampert's tables show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...agreement import (
    MeanPairwise,
    PairStatistic,
    agreement_curve,
    bias_index,
    case_condition,
    cohen_kappa,
    contingency,
    dice,
    fleiss_kappa,
    gwet_ac1,
    heatmap_score,
    iou,
    krippendorff_alpha,
    negative_agreement,
    npv,
    pabak,
    percent_agreement,
    positive_agreement,
    ppv,
    prevalence_index,
    sensitivity,
    smyth_bound,
    specificity,
    unanimous,
    volume_difference,
)
from ...core.columns import Column
from ...core.errors import InputError
from ...core.labels import Labels
from ...core.tallies import Tallies, pool
from ...core.tally import Tally
from ...core.undefined import Undefined
from ...inference.intervals import confidence_interval
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
from ..tables import Row, Series, Settings, Table, groups_of, mean_rows, pooled_rows, region_of, summarise

Statistic = Callable[[Tally], float]

BEYOND_CHANCE: dict[str, Statistic] = {
    "fleiss_kappa": fleiss_kappa,
    "krippendorff_alpha": krippendorff_alpha,
    "percent_agreement": percent_agreement,
    "gwet_ac1": gwet_ac1,
    "pabak": pabak,
    "smyth_bound": smyth_bound,
    "cohen_kappa": MeanPairwise(cohen_kappa),
}
"""Cohen's kappa, and what follows in the next table from Dice on, are means over the pairs of raters."""

OF_MARKS: dict[str, Statistic] = {
    "positive_agreement": positive_agreement,
    "negative_agreement": negative_agreement,
    "prevalence_index": prevalence_index,
    "unanimous": unanimous,
    "heatmap_score": heatmap_score,
    "dice": MeanPairwise(dice),
    "iou": MeanPairwise(iou),
    "volume_difference": MeanPairwise(volume_difference),
}
"""These want a background that marks stand out from."""

OF_NUMBERS: dict[str, Statistic] = {
    "krippendorff_alpha_ordinal": partial(krippendorff_alpha, metric="ordinal"),
    "krippendorff_alpha_interval": partial(krippendorff_alpha, metric="interval"),
}

OVER_RATERS = ("fleiss_kappa", "krippendorff_alpha", "percent_agreement", "positive_agreement", "dice")
"""The headlines that also get an interval over raters."""

NO_POOLED = ("heatmap_score",)
"""What means something for a case only."""


def statistics_for(tally: Tally) -> dict[str, Statistic]:
    """The statistics that a table's labels allow."""
    chosen = dict(BEYOND_CHANCE)
    if tally.labels.background is not None:
        chosen |= OF_MARKS
    return chosen | OF_NUMBERS if len(tally.labels) > 2 else chosen


def agreement_table(tallies: Tallies, settings: Settings) -> Table:
    """Every statistic of all raters together: by case, subject, group; pooled; mean and deviation; by label."""
    table = Table("agreement")
    whole = pool(tallies, mixed=True)
    table.add(_one_label(tallies, whole, "", settings))
    if len(whole.labels.marks) > 1:
        for code in whole.labels.marks:
            name = whole.labels.names[code]
            one = tallies.map(lambda t, name=name: t.only(name))
            table.add(_one_label(one, pool(one, mixed=True), name, settings))
    table.add(_conditions(tallies, settings))
    table.add(_over_raters(tallies, settings))
    return table


def _one_label(tallies: Tallies, whole: Tally, label: str, settings: Settings) -> Iterator[Row]:
    chosen = statistics_for(whole)
    series = [Series(name, [statistic(t) for t in tallies.values()], label) for name, statistic in chosen.items()]
    yield from summarise(series, tallies, settings)
    pooled = {name: statistic for name, statistic in chosen.items() if name not in NO_POOLED}
    yield from pooled_rows(pooled, tallies, settings, label=label)


def _conditions(tallies: Tallies, settings: Settings) -> Iterator[Row]:
    """How many cases are special (Yang's conditions), and the kappas' means without them (his Table 6)."""
    found: dict[str, str] = {case: case_condition(table) for case, table in tallies.items()}
    counts = Counter(found.values())
    region = region_of(tallies)
    for name, kind in (("nothing_marked",) * 2, ("condition_1", "one_empty"), ("condition_2", "no_overlap")):
        yield Row("pooled", name, float(counts[kind]), region=region, n=len(found))
    for name in ("fleiss_kappa", "cohen_kappa"):
        values = [BEYOND_CHANCE[name](t) for t in tallies.values()]
        for suffix, left_out in (("condition_1", {"one_empty"}), ("conditions_1_2", {"one_empty", "no_overlap"})):
            cases = [case for case in tallies if found[case] not in left_out]
            yield from mean_rows([Series(f"{name}_without_{suffix}", values)], tallies, cases, "", settings)


def _over_raters(tallies: Tallies, settings: Settings) -> Iterator[Row]:
    """How far the pooled headlines depend on who the raters happened to be: leave-one-rater-out jackknife."""
    whole = pool(tallies, mixed=True)
    if whole.exchangeable or len(whole.raters) < 3:
        return
    for name in (n for n in OVER_RATERS if n in statistics_for(whole)):
        found = confidence_interval(statistics_for(whole)[name], [whole], over="raters", level=settings.level)
        ends = (found.low, found.high)
        yield Row("pooled", f"{name}_over_raters", found.value, "", "", "", whole.region, (), *ends, found.n)


def curve_table(tallies: Tallies) -> Table:
    """Â(n): of the items that anybody marked, the share that at least n raters marked; pooled and by group."""
    table = Table("curve", ("raters",))
    parts = {"": list(tallies)} | groups_of(tallies)
    for group, cases in parts.items():
        curve = agreement_curve(pool(tallies.select(cases), mixed=True))
        for n, share in zip(curve.raters.tolist(), curve.share.tolist(), strict=True):
            scope = "group" if group else "pooled"
            table.append(Row(scope, "agreement_curve", share, group=group, region=region_of(tallies), extra=(n,)))
    return table


def confusion_table(tallies: Tallies) -> Table:
    """Same place, other label: how often two raters marked an item, and gave it which labels."""
    table = Table("confusions", ("label_a", "label_b"))
    whole = pool(tallies, mixed=True)
    tables = contingency(whole)
    pairs = sum(tables[i, j] for i in range(len(tables)) for j in range(i))
    if isinstance(pairs, int):
        raise InputError("labels are compared between two raters; there is one")
    both = pairs + pairs.T
    names = whole.labels.names
    for a in whole.labels.marks:
        for b in whole.labels.marks:
            if a <= b:
                count = float(both[a, b] / (2 if a == b else 1))
                row = Row("pooled", "same_place", count, region=region_of(tallies), extra=(names[a], names[b]))
                table.append(row)
    return table


STATISTICS: tuple[PairStatistic, ...] = (cohen_kappa, dice, iou, volume_difference, bias_index)


def pairs_table(tallies: Tallies, settings: Settings) -> Table:
    """Pair statistics by case, pooled, mean and deviation; between raters, and within one between sessions."""
    table = Table("pairs", ("rater_a", "rater_b", "relation"))
    whole = pool(tallies, mixed=True)
    pairs = column_pairs(whole)
    chosen = [s for s in STATISTICS if whole.labels.background is not None or s is cohen_kappa]
    counts = {case: _pair_counts(t, pairs) for case, t in tallies.items()}
    series = [
        Series(s.__name__, _values(s, [c[k] for c in counts.values()], whole.labels), extra=name)
        for k, name in enumerate(map(_named, pairs))
        for s in chosen
    ]
    table.add(summarise(series, tallies, settings))
    total = np.sum(list(counts.values()), axis=0)
    for k, pair in enumerate(pairs):
        for s in chosen:
            value = s.value(total[k], whole.labels)
            row = Row("pooled", s.__name__, value, region=region_of(tallies), extra=_named(pair), n=int(total[k].sum()))
            table.append(row)
    return table


def column_pairs(tally: Tally) -> list[tuple[Column, Column]]:
    """Every two raters in their first session, then every two sessions of one rater."""
    first = [tally.columns[i] for i in tally.raters]
    again = [pair for pair in combinations(tally.role("rater"), 2) if pair[0].name == pair[1].name]
    return [*combinations(first, 2), *again]


def _named(pair: tuple[Column, Column]) -> tuple[object, ...]:
    a, b = pair
    return (str(a), str(b), "within") if a.name == b.name else (a.name, b.name, "between")


def _pair_counts(tally: Tally, pairs: list[tuple[Column, Column]]) -> NDArray[np.float64]:
    where = {column: i for i, column in enumerate(tally.columns)}
    tables = contingency(tally, range(len(tally.columns)))
    return np.stack([tables[where[a], where[b]] for a, b in pairs])


def _values(statistic: PairStatistic, tables: list[NDArray[np.float64]], labels: Labels) -> list[float]:
    found = statistic.of(np.stack(tables), labels)
    return [statistic.value(t, labels) if np.isnan(v) else float(v) for t, v in zip(tables, found, strict=True)]


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
