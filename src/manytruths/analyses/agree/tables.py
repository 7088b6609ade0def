"""The tables of ``agree``: agreement of all raters, of every two, each rater, regions and image features.

The pooled rows of ``raters.csv`` hold what Lampert's tables show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations, combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ... import agreement, raters
from ...agreement import MeanPairwise, PairStatistic
from ...core.columns import Column
from ...core.errors import InputError
from ...core.labels import Labels
from ...core.tally import Tallies, Tally, pool
from ...core.undefined import or_undefined
from ...inference.intervals import confidence_interval
from ...io.result_tables import Row, Table
from ..tables import Series, Settings, group_names, groups_of, mean_rows, pooled_rows, region_of, summarise

if TYPE_CHECKING:
    from .case import CaseAgreement

Statistic = Callable[[Tally], float]


def _by_name(*statistics: Any) -> dict[str, Statistic]:
    return {statistic.__name__: statistic for statistic in statistics}


BEYOND_CHANCE = _by_name(
    agreement.fleiss_kappa, agreement.krippendorff_alpha, agreement.percent_agreement, agreement.gwet_ac1,
    agreement.pabak, agreement.smyth_bound, MeanPairwise(agreement.cohen_kappa),
)  # fmt: skip
"""Cohen's kappa, and what follows in the next table from Dice on, are means over the pairs of raters."""

OF_MARKS = _by_name(
    agreement.positive_agreement, agreement.negative_agreement, agreement.prevalence_index, agreement.unanimous,
    agreement.heatmap_score, *map(MeanPairwise, (agreement.dice, agreement.iou, agreement.volume_difference)),
)  # fmt: skip
"""These want a background that marks stand out from."""

OF_NUMBERS: dict[str, Statistic] = {
    "krippendorff_alpha_ordinal": partial(agreement.krippendorff_alpha, metric="ordinal"),
    "krippendorff_alpha_interval": partial(agreement.krippendorff_alpha, metric="interval"),
}

OVER_RATERS = ("fleiss_kappa", "krippendorff_alpha", "percent_agreement", "positive_agreement", "dice")
"""The headlines that also get an interval over raters."""

NO_POOLED = ("heatmap_score",)
"""What means something for a case only."""

OF_PAIRS: tuple[PairStatistic, ...] = (
    agreement.cohen_kappa, agreement.dice, agreement.iou, agreement.volume_difference, agreement.bias_index,
)  # fmt: skip

PERFORMANCE: tuple[PairStatistic, ...] = (
    agreement.sensitivity, agreement.specificity, agreement.ppv, agreement.npv, agreement.cohen_kappa, agreement.dice,
    agreement.iou,
)  # fmt: skip


def statistics_for(tally: Tally) -> dict[str, Statistic]:
    """The statistics that a table's labels allow."""
    chosen = dict(BEYOND_CHANCE)
    if tally.labels.background is not None:
        chosen |= OF_MARKS
    return chosen | OF_NUMBERS if len(tally.labels) > 2 else chosen


def agreement_table(
    tallies: Tallies, settings: Settings, ranking_scores: Mapping[str, float | None] | None = None
) -> Table:
    """Every statistic of all raters together: by case, subject, group; pooled; mean and deviation; by label."""
    table = Table("agreement")
    whole = pool(tallies, mixed=True)
    table.add(_label_rows(tallies, statistics_for(whole), "", settings))
    for code in whole.labels.marks if len(whole.labels.marks) > 1 else ():
        name = whole.labels.names[code]
        marked = tallies.map(lambda t, name=name: t.only(name))
        table.add(_label_rows(marked, statistics_for(pool(marked, mixed=True)), name, settings))
    table.add(_conditions(tallies, settings))
    table.add(_over_raters(whole, settings))
    scores = {case: score for case, score in (ranking_scores or {}).items() if score is not None}
    if scores:
        series = Series("ranking_heatmap_score", list(scores.values()))
        table.add(summarise([series], tallies.select(scores), settings))
    return table


def _label_rows(tallies: Tallies, chosen: dict[str, Statistic], label: str, settings: Settings) -> Iterator[Row]:
    series = [Series(name, [statistic(t) for t in tallies.values()], label) for name, statistic in chosen.items()]
    yield from summarise(series, tallies, settings)
    pooled = {name: statistic for name, statistic in chosen.items() if name not in NO_POOLED}
    yield from pooled_rows(pooled, tallies, settings, label=label)


def _conditions(tallies: Tallies, settings: Settings) -> Iterator[Row]:
    """How many cases are special (Yang's conditions), and the kappas' means without them (Table 6 of Yang 2023)."""
    conditions: dict[str, str] = {case: agreement.case_condition(table) for case, table in tallies.items()}
    counts = Counter(conditions.values())
    for name, kind in (("nothing_marked",) * 2, ("condition_1", "one_empty"), ("condition_2", "no_overlap")):
        yield Row("pooled", name, float(counts[kind]), region=region_of(tallies), n=len(conditions))
    for name in ("fleiss_kappa", "cohen_kappa"):
        values = [BEYOND_CHANCE[name](t) for t in tallies.values()]
        for suffix, left_out in (("condition_1", {"one_empty"}), ("conditions_1_2", {"one_empty", "no_overlap"})):
            cases = [case for case in tallies if conditions[case] not in left_out]
            yield from mean_rows([Series(f"{name}_without_{suffix}", values)], tallies, cases, "", settings)


def _over_raters(whole: Tally, settings: Settings) -> Iterator[Row]:
    """How far the pooled headlines depend on who the raters happened to be: leave-one-rater-out jackknife."""
    if whole.exchangeable or len(whole.raters) < 3:
        return
    for name, statistic in statistics_for(whole).items():
        if name in OVER_RATERS:
            i = confidence_interval(statistic, [whole], over="raters", level=settings.level)
            yield Row("pooled", f"{name}_over_raters", i.value, "", "", "", whole.region, (), i.low, i.high, i.n)


def curve_table(tallies: Tallies) -> Table:
    """Â(n): of the items that anybody marked, the share that at least n raters marked; pooled and by group."""
    table = Table("curve", ("raters",))
    for group, cases in ({"": list(tallies)} | groups_of(tallies)).items():
        curve = agreement.agreement_curve(pool(tallies.select(cases), mixed=True))
        for n, share in zip(curve.raters.tolist(), curve.share.tolist(), strict=True):
            scope = "group" if group else "pooled"
            table.append(Row(scope, "agreement_curve", share, group=group, region=region_of(tallies), extra=(n,)))
    return table


def confusion_table(tallies: Tallies) -> Table:
    """Same place, other label: how often two raters marked an item, and gave it which labels."""
    table = Table("confusions", ("label_a", "label_b"))
    whole = pool(tallies, mixed=True)
    tables, names = agreement.contingency(whole), whole.labels.names
    if len(tables) < 2:
        raise InputError("labels are compared between two raters; there is one")
    pairs = tables[np.tril_indices(len(tables), -1)].sum(axis=0)
    for a, b in combinations_with_replacement(whole.labels.marks, 2):
        count = float(pairs[a, a] if a == b else pairs[a, b] + pairs[b, a])
        table.append(Row("pooled", "same_place", count, region=region_of(tallies), extra=(names[a], names[b])))
    return table


def regions_table(cases: Mapping[str, CaseAgreement], tallies: Tallies) -> Table:
    """The regions of each heatmap in order of score: where to take the biopsy."""
    table = Table("regions", ("rank", "centroid", "site"))
    for name, case in cases.items():
        for r in case.regions:
            extra = (r.rank, " ".join(f"{x:.1f}" for x in r.centroid), " ".join(map(str, r.site)))
            group, values = group_names(tallies, name), {"peak": r.peak, "mean": r.mean, "area": float(r.area)}
            table.add(Row("case", s, v, name, group, "", "union", extra, n=r.area) for s, v in values.items())
    return table


def features_table(cases: Mapping[str, CaseAgreement], tallies: Tallies) -> Table:
    """Correlation of the number of raters who marked a pixel with what the image shows there."""
    table = Table("features", ("feature",))
    for name, case in cases.items():
        for feature, c in case.features.items():
            group, values = group_names(tallies, name), {"correlation": c.r, "p_value": c.p}
            table.add(Row("case", s, v, name, group, "", "whole", (feature,), n=c.n) for s, v in values.items())
    return table


# -- pairs of raters -------------------------------------------------------------------------------


def pairs_table(tallies: Tallies, settings: Settings) -> Table:
    """Pair statistics by case, pooled, mean and deviation; between raters, and within one between sessions."""
    table = Table("pairs", ("rater_a", "rater_b", "relation"))
    whole, region = pool(tallies, mixed=True), region_of(tallies)
    pairs = column_pairs(whole)
    chosen = [s for s in OF_PAIRS if whole.labels.background is not None or s is agreement.cohen_kappa]
    counts = np.stack([_pair_counts(t, pairs) for t in tallies.values()])
    each = [(s, k, _pair_names(pair)) for k, pair in enumerate(pairs) for s in chosen]
    series = [Series(s.__name__, _values(s, counts[:, k], whole.labels), extra=names) for s, k, names in each]
    table.add(summarise(series, tallies, settings))
    total = counts.sum(axis=0)
    for s, k, names in each:
        value = s.value(total[k], whole.labels)
        table.append(Row("pooled", s.__name__, value, region=region, extra=names, n=int(total[k].sum())))
    return table


def column_pairs(tally: Tally) -> list[tuple[Column, Column]]:
    """Every two raters in their first session, then every two sessions of one rater."""
    first = [tally.columns[i] for i in tally.raters]
    again = [pair for pair in combinations(tally.role("rater"), 2) if pair[0].name == pair[1].name]
    return [*combinations(first, 2), *again]


def _pair_names(pair: tuple[Column, Column]) -> tuple[object, ...]:
    a, b = pair
    return (str(a), str(b), "within") if a.name == b.name else (a.name, b.name, "between")


def _pair_counts(tally: Tally, pairs: list[tuple[Column, Column]]) -> NDArray[np.float64]:
    where = {column: i for i, column in enumerate(tally.columns)}
    tables = agreement.contingency(tally, range(len(tally.columns)))
    return np.stack([tables[where[a], where[b]] for a, b in pairs])


def _values(statistic: PairStatistic, tables: NDArray[np.float64], labels: Labels) -> list[float]:
    """The statistic of each table, with the reason where it is undefined."""
    values = statistic.of(tables, labels).tolist()
    return [statistic.value(t, labels) if np.isnan(v) else v for t, v in zip(tables, values, strict=True)]


# -- raters ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RaterAnalysis:
    """The table ``raters``, and what charts are made of."""

    table: Table
    differences: raters.RaterDifferences
    dependence: raters.RaterDependence
    whole: Tally

    @property
    def clustering(self) -> raters.RaterClustering:
        """The dendrogram, made when it is drawn: SciPy's clustering takes a while to import."""
        return raters.cluster_raters(self.whole)


def raters_analysis(tallies: Tallies, settings: Settings) -> RaterAnalysis:
    """Everything about each rater, pooled; performance also by case, with mean and deviation over subjects."""
    whole = pool(tallies, mixed=True)
    differences, dependence = raters.rater_differences(whole), raters.rater_dependence(whole)
    table = Table("raters", ("rater",))
    table.add(_performance(whole))
    table.add(_differences(differences, whole.region))
    table.add(_tendencies(whole))
    table.add(_dependence(dependence, whole.region))
    by_case = [raters.rater_performance(t) for t in tallies.values()]
    series = [
        Series(s.__name__, [performance.value(rater, s) for performance in by_case], extra=(rater,))
        for rater in whole.rater_names
        for s in PERFORMANCE
    ]
    table.add(summarise(series, tallies, settings))
    return RaterAnalysis(table, differences, dependence, whole)


def _performance(whole: Tally) -> Iterator[Row]:
    """Against the 0.5 consensus of all raters, then against that of the others."""
    for against, suffix in (("consensus", ""), ("others", "_against_others")):
        performance = raters.rater_performance(whole, against)
        for rater, table in zip(performance.raters, performance.tables, strict=True):
            for s in PERFORMANCE:
                value, n = performance.value(rater, s), int(table.sum())
                yield Row("pooled", s.__name__ + suffix, value, region=whole.region, extra=(rater,), n=n)


def _differences(differences: raters.RaterDifferences, region: str) -> Iterator[Row]:
    names, n = differences.raters, len(differences.raters)
    yield from _each("mean_difference", names, differences.mean_difference, "rater_not_comparable", region)
    outlier = [float(rater in differences.outliers) for rater in names]
    yield from _each("outlier", names, outlier, "rater_not_comparable", region)
    for scope, value in (("mean", differences.mean), ("std", differences.std)):
        yield Row(scope, "mean_difference", value, region=region, extra=("",), n=n)
    yield Row("pooled", "outlier_threshold", differences.threshold, region=region, extra=("",), n=n)


def _tendencies(whole: Tally) -> Iterator[Row]:
    tendency, index = raters.rater_tendency(whole), raters.williams_index(whole)
    for name, values, code in (
        ("relative_area", tendency.relative_area, "others_empty"),
        ("misses", tendency.misses, "others_agree_on_nothing"),
        ("extra", tendency.extra, "rater_marked_nothing"),
        ("williams_index", index.index, "no_two_others_comparable"),
    ):
        yield from _each(name, tendency.raters, values, code, whole.region)


def _dependence(dependence: raters.RaterDependence, region: str) -> Iterator[Row]:
    names, fit = dependence.raters, dependence.fit
    yield from _each("staple_sensitivity", names, fit.sensitivity, "staple_no_true_item", region)
    yield from _each("staple_specificity", names, fit.specificity, "staple_no_other_item", region)
    for name, value in (
        ("effective_raters", dependence.effective_raters),
        ("error_correlation", dependence.mean_correlation),
        ("possible_copies", float(len(dependence.copies))),
    ):
        yield Row("pooled", name, value, region=region, extra=("",), n=len(names))


def _each(statistic: str, names: Iterable[str], values: Iterable[float], code: str, region: str) -> Iterator[Row]:
    """A row for each rater; ``code`` says why a value is NaN."""
    for rater, value in zip(names, values, strict=True):
        yield Row("pooled", statistic, or_undefined(value, code), region=region, extra=(rater,))
