"""The tables of ``agree``: agreement of all raters, of every two, each rater, regions and image features.

The pooled rows of ``raters.csv`` hold what Lampert's tables show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ... import agreement
from ...agreement import MeanPairwise, PairStatistic
from ...core.columns import Column
from ...core.errors import InputError
from ...core.labels import MACRO, Labels
from ...core.tally import Tallies, Tally, pool
from ...core.undefined import Undefined, divide
from ...inference.intervals import batch_values, case_values, confidence_interval, mean_intervals, subject_values
from ...inference.scales import scale_of
from ...io.result_tables import CaseRows, Row, Table
from ...raters import label_dice
from ..label_rows import label_users, macro_rows, pooled_label_rows, pooled_macro_rows
from ..many import MOST_PAIR_CASES, MOST_PAIRS, SHOWN_PAIRS
from ..tables import (
    Series,
    Settings,
    group_names,
    groups_of,
    mean_rows,
    pooled_rows,
    region_of,
    summarise,
    summarise_many,
)
from .distances import StudyDistances, mean_pair_distances, pair_distance_rows
from .populations import macro_over_both, over_both

if TYPE_CHECKING:
    from .case import CaseAgreement

Statistic = Callable[[Tally], float]


def _by_name(*statistics: Any) -> dict[str, Statistic]:
    return {statistic.__name__: statistic for statistic in statistics}


class _HeatmapScore:
    """:func:`manytruths.heatmap_score`, of many tallies at once."""

    __name__ = "heatmap_score"

    def __call__(self, tally: Tally) -> float:
        return agreement.heatmap_score(tally)

    def batch(self, tally: Tally, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        heat = np.asarray(agreement.common_heatmap(tally), np.float64)
        inside = tally.marked > 0
        heat, counts = heat[inside], counts[:, inside]
        top = np.where(counts > 0, heat, 0.0).max(axis=1, initial=0)
        return divide(divide(counts @ heat, top), counts.sum(axis=1))


BEYOND_CHANCE = _by_name(
    agreement.fleiss_kappa, agreement.krippendorff_alpha, agreement.percent_agreement, agreement.gwet_ac1,
    agreement.pabak, agreement.smyth_bound, MeanPairwise(agreement.cohen_kappa),
)  # fmt: skip
"""Cohen's kappa, and what follows in the next table from Dice on, are means over the pairs of raters."""

OF_MARKS = _by_name(
    agreement.positive_agreement, agreement.negative_agreement, agreement.prevalence_index, agreement.unanimous,
    _HeatmapScore(), *map(MeanPairwise, (agreement.dice, agreement.iou, agreement.volume_difference)),
)  # fmt: skip
"""These want a background that marks stand out from; of several labels, each is taken against the rest."""

BOTH_MARKED, DICE_BOTH_MARKED = "volume_difference_both_marked", "dice_both_marked"
"""Relative volume difference, and Dice, over the pairs of raters who both marked something."""


def _difference_both_marked(tables: NDArray[np.float64], labels: Labels) -> NDArray[np.float64]:
    """Relative volume difference where both marked: with one empty mask it is 2, whatever the other mask is."""
    return np.where(_both_marked(tables, labels), agreement.volume_difference.of(tables, labels), np.nan)


def _both_marked(tables: NDArray[np.float64], labels: Labels) -> NDArray[np.bool_]:
    one, other = (tables[..., list(labels.marks)].sum(axis=(-1, -2)), tables[..., list(labels.marks), :].sum((-1, -2)))
    both: NDArray[np.bool_] = (one > 0) & (other > 0)
    return both


def _dice_both_marked(tables: NDArray[np.float64], labels: Labels) -> NDArray[np.float64]:
    """Dice where both marked: with one empty mask it is 0, whatever the other mask is."""
    return np.where(_both_marked(tables, labels), agreement.dice.of(tables, labels), np.nan)


OF_MARKS[BOTH_MARKED] = MeanPairwise(PairStatistic(_difference_both_marked, "one_empty"))
OF_MARKS[DICE_BOTH_MARKED] = MeanPairwise(PairStatistic(_dice_both_marked, "one_empty"))
OF_LABELS = {name: OF_MARKS[name] for name in OF_MARKS if name not in ("prevalence_index", "heatmap_score")}
"""What has a mean over labels."""

OF_NUMBERS: dict[str, Statistic] = {
    "krippendorff_alpha_ordinal": partial(agreement.krippendorff_alpha, metric="ordinal"),
    "krippendorff_alpha_interval": partial(agreement.krippendorff_alpha, metric="interval"),
}

OVER_RATERS = ("fleiss_kappa", "krippendorff_alpha", "percent_agreement", "positive_agreement", "dice")
"""The headlines that also get an interval over raters."""

NO_POOLED = ("heatmap_score", BOTH_MARKED, DICE_BOTH_MARKED)
"""What means something for a case only."""

OF_SLOTS = tuple(name for name, statistic in (BEYOND_CHANCE | OF_MARKS).items() if isinstance(statistic, MeanPairwise))
"""Means over pairs: pooled over cases, they compare slots of exchangeable raters, whose numbers mean nothing."""

REDUCED = ("fleiss_kappa", "krippendorff_alpha")
"""Of whole images also with only as much background as was marked."""

OF_PAIRS: tuple[PairStatistic, ...] = (
    agreement.cohen_kappa, agreement.dice, agreement.iou, agreement.volume_difference, agreement.bias_index,
)  # fmt: skip


def statistics_for(tally: Tally) -> dict[str, Statistic]:
    """The statistics that a table's labels allow; several labels are never united."""
    chosen = dict(BEYOND_CHANCE)
    if tally.labels.background is not None and not tally.labels.several:
        chosen |= OF_MARKS
    return chosen | OF_NUMBERS if len(tally.labels) > 2 else chosen


def agreement_table(
    tallies: Tallies, settings: Settings, ranking_scores: Mapping[str, float | None] | None = None
) -> Table:
    """Every statistic of all raters together: by case, subject, group; pooled; mean and deviation.

    Of several labels, rows without label are about all of them at once (kappa, alpha); those of overlap are the macro
    mean, and rows of each label against the rest.
    """
    table = Table("agreement")
    whole = pool(tallies, mixed=True)
    chosen = statistics_for(whole)
    table.add(summarise_many(_series(tallies, chosen, ""), tallies, settings))
    table.add(pooled_rows(_pooled(chosen), tallies, settings))
    if whole.labels.several:
        table.add(_label_rows(tallies, whole.labels, settings))
    table.add(_with_less_background(tallies, settings))
    table.add(_conditions(tallies, settings))
    table.add(_over_raters(whole, settings))
    table.add(_over_both(whole, tallies, settings))
    scores = {case: score for case, score in (ranking_scores or {}).items() if score is not None}
    if scores:
        series = Series("ranking_heatmap_score", list(scores.values()))
        table.add(summarise([series], tallies.select(scores), settings))
    if whole.exchangeable:
        _forget_slots(table)
    return table


def _forget_slots(table: Table) -> None:
    """Leave out pooled numbers of pairs: they change with the order in which the raters of a case were stored."""
    for row in table.rows:
        if row.scope in ("pooled", "group") and row.statistic in OF_SLOTS:
            row.value, row.low, row.high, row.n_undefined = Undefined("pairs_of_slots"), None, None, None


def _with_less_background(tallies: Tallies, settings: Settings) -> Iterator[Row]:
    """Kappa and alpha of whole images with only as much background as was marked (Gordon's modified background)."""
    if any(t.region != "whole" or t.labels.background is None for t in tallies.values()):
        return
    chosen = {f"{name}_modified_background": BEYOND_CHANCE[name] for name in REDUCED}
    aligned = tallies.aligned
    if aligned is not None and _has_raters_only(aligned.whole):
        whole, counts = aligned.whole, aligned.counts.copy()
        nothing = whole.marked == 0
        counts[:, nothing] = np.minimum(counts[:, nothing], counts[:, ~nothing].sum(axis=1)[:, None])
        each = [(name, batch_values(statistic, whole, counts)[aligned.place]) for name, statistic in chosen.items()]
        for row in mean_rows([Series(name, v.tolist()) for name, v in each], tallies, list(tallies), "", settings):
            yield replace(row, region="modified_background")
        return
    reduced = tallies.map(lambda t: t.project(t.columns[i] for i in t.raters).restrict("modified_background"))
    yield from mean_rows(_series(reduced, chosen, ""), reduced, list(reduced), "", settings)


def _has_raters_only(tally: Tally) -> bool:
    """Whether every column is a rater who rated everything."""
    return len(tally.raters) == len(tally.columns) and bool((tally.rated == len(tally.columns)).all())


def _series(tallies: Tallies, chosen: Mapping[str, Statistic], label: str) -> list[Series]:
    return [Series(name, case_values(statistic, tallies), label) for name, statistic in chosen.items()]


def _pooled(chosen: Mapping[str, Statistic]) -> dict[str, Statistic]:
    return {name: statistic for name, statistic in chosen.items() if name not in NO_POOLED}


def _label_rows(tallies: Tallies, labels: Labels, settings: Settings) -> Iterator[Row]:
    """The macro means first, then each label against the rest."""
    users, rows = label_users(tallies), list[Row]()
    by_label: dict[str, list[Series]] = {}
    for code in labels.marks:
        name = labels.names[code]
        marked = tallies.map(lambda t, name=name: t.only(name))
        chosen = statistics_for(pool(marked, mixed=True))
        series = _series(marked, chosen, name)
        by_label[name] = [each for each in series if each.statistic in OF_LABELS]
        rows += summarise(series, marked, settings)
        rows += pooled_label_rows(_pooled(chosen), marked, settings, name, users.get(name, 0))
    yield from macro_rows(by_label, tallies, settings)
    yield from pooled_macro_rows(_pooled(OF_LABELS), tallies, settings, users)
    yield from rows


def _conditions(tallies: Tallies, settings: Settings) -> Iterator[Row]:
    """How many cases are special (Yang's conditions), and the kappas' means without them (Table 6 of Yang 2023).

    Of several labels, cases are also counted for each label against the rest.
    """
    conditions: dict[str, str] = {case: agreement.case_condition(table) for case, table in tallies.items()}
    for label, found in ({"": conditions} | _label_conditions(tallies)).items():
        counts = Counter(found.values())
        for name, kind in (("nothing_marked",) * 2, ("condition_1", "one_empty"), ("condition_2", "no_overlap")):
            yield Row("pooled", name, float(counts[kind]), label=label, region=region_of(tallies), n=len(found))
    for name in ("fleiss_kappa", "cohen_kappa"):
        values = case_values(BEYOND_CHANCE[name], tallies)
        for suffix, left_out in (("condition_1", {"one_empty"}), ("conditions_1_2", {"one_empty", "no_overlap"})):
            cases = [case for case in tallies if conditions[case] not in left_out]
            yield from mean_rows([Series(f"{name}_without_{suffix}", values)], tallies, cases, "", settings)


def _label_conditions(tallies: Tallies) -> dict[str, dict[str, str]]:
    """The condition of every case by label, each against the rest; nothing with a single label."""
    labels = next(iter(tallies.values())).labels
    names = [labels.names[code] for code in labels.marks] if labels.several else []
    return {
        name: {case: agreement.case_condition(table.only(name)) for case, table in tallies.items()} for name in names
    }


def labels_left_out(tallies: Tallies) -> dict[str, tuple[str, ...]]:
    """Of several labels, the cases in which some raters marked none of one, and others did."""
    return {
        label: tuple(case for case, condition in found.items() if condition == "one_empty")
        for label, found in _label_conditions(tallies).items()
    }


def raters_who_marked(tally: Tally) -> int:
    """How many raters marked anything."""
    rows = tally.patterns[tally.counts > 0][:, list(tally.raters)]
    return int(np.isin(rows, tally.labels.marks).any(axis=0).sum())


def _over_raters(whole: Tally, settings: Settings) -> Iterator[Row]:
    """How far the pooled headlines depend on who the raters happened to be: leave-one-rater-out jackknife."""
    if whole.exchangeable or len(whole.raters) < 3:
        return
    each = [("", name, statistic) for name, statistic in statistics_for(whole).items()]
    if whole.labels.several:
        each += [(MACRO, name, agreement.MacroMean(statistic)) for name, statistic in OF_LABELS.items()]
    for label, name, statistic in each:
        if name in OVER_RATERS:
            i = confidence_interval(statistic, [whole], over="raters", of="pooled", level=settings.level)
            yield Row("pooled", f"{name}_over_raters", i.value, "", "", label, whole.region, (), i.low, i.high, i.n)


def _over_both(whole: Tally, tallies: Tallies, settings: Settings) -> Iterator[Row]:
    """The mean headlines with intervals over subjects and raters; of overlaps of several labels, the macro means."""
    for name, statistic in statistics_for(whole).items():
        if name in OVER_RATERS:
            yield from over_both(name, statistic, tallies, settings)
    if whole.labels.several:
        names = [whole.labels.names[code] for code in whole.labels.marks]
        by_label = {label: tallies.map(lambda t, label=label: t.only(label)) for label in names}
        for name in (name for name in OF_LABELS if name in OVER_RATERS):
            yield from macro_over_both(name, OF_LABELS[name], by_label, settings)


def curve_table(tallies: Tallies) -> Table:
    """Â(n): of the items that anybody marked, the share that at least n raters marked; pooled and by group.

    Of several labels, each has a curve of its own.
    """
    table = Table("curve", ("raters",))
    for group, cases in ({"": list(tallies)} | groups_of(tallies)).items():
        whole, scope = pool(tallies.select(cases), mixed=True), "group" if group else "pooled"
        parts = agreement.label_tallies(whole) if whole.labels.several else {"": whole}
        for label, part in parts.items():
            curve = agreement.agreement_curve(part)
            for n, share in zip(curve.raters.tolist(), curve.share.tolist(), strict=True):
                table.append(Row(scope, "agreement_curve", share, "", group, label, region_of(tallies), (n,)))
    return table


def confusion_table(tallies: Tallies) -> Table:
    """Which labels two raters gave to the same item, background included: how many items, over all pairs of raters."""
    table = Table("confusions", ("label_a", "label_b"))
    whole = pool(tallies, mixed=True)
    tables, names = agreement.contingency(whole), whole.labels.names
    if len(tables) < 2:
        raise InputError("labels are compared between two raters; there is one")
    pairs = tables[np.tril_indices(len(tables), -1)].sum(axis=0)
    for a, b in combinations_with_replacement(range(len(whole.labels)), 2):
        count = float(pairs[a, a] if a == b else pairs[a, b] + pairs[b, a])
        table.append(Row("pooled", "same_place", count, region=region_of(tallies), extra=(names[a], names[b])))
    return table


def regions_table(cases: Mapping[str, CaseAgreement], tallies: Tallies) -> Table:
    """The regions of each heatmap in order of score: where to take the biopsy.

    They lie in the union of what raters marked or, of several labels without ranks, where any rater gave another label
    than the most frequent one.
    """
    table = Table("regions", ("rank", "centroid", "site"))
    for name, case in cases.items():
        region = "disputed" if case.tally.labels.several and case.ranking_score is None else "union"
        for r in case.regions:
            extra = (r.rank, " ".join(f"{x:.1f}" for x in r.centroid), " ".join(map(str, r.site)))
            group, values = group_names(tallies, name), {"peak": r.peak, "mean": r.mean, "area": float(r.area)}
            table.add(Row("case", s, v, name, group, "", region, extra, n=r.area) for s, v in values.items())
    return table


def features_table(cases: Mapping[str, CaseAgreement], tallies: Tallies) -> Table:
    """Correlation of the number of raters who marked a pixel with what the image shows there."""
    table = Table("features", ("feature",))
    for name, case in cases.items():
        for feature, c in case.features.items():
            group, values = group_names(tallies, name), {"correlation": c.r, "p_value": c.p}
            region = "mask" if tallies[name].region == "mask" else "whole"  # of other regions, all pixels count here
            table.add(Row("case", s, v, name, group, "", region, (feature,), n=c.n) for s, v in values.items())
    return table


# -- pairs of raters -------------------------------------------------------------------------------


def pairs_table(tallies: Tallies, settings: Settings, distances: StudyDistances | None = None) -> Table:
    """Pair statistics by case, pooled, mean and deviation; between raters, and within one between sessions.

    Of several labels, Dice and its relatives are macro means; those of each label are pooled, and means over subjects.
    Distances between outlines have no pooled rows. Of many raters, the most different pairs have all of these rows, and
    the others some of their means.
    """
    table = Table("pairs", ("rater_a", "rater_b", "relation"))
    whole, region = pool(tallies, mixed=True), region_of(tallies)
    pairs, several = column_pairs(whole), whole.labels.several
    united = whole.labels.background is not None and not several
    chosen = [s for s in OF_PAIRS if united or s is agreement.cohen_kappa]
    counts = np.stack([_pair_counts(t, pairs) for t in tallies.values()])
    shown = _pairs_in_full(pairs, counts, whole.labels, tallies)
    by_case = has_pair_cases(len(shown), len(tallies))
    each = [(s, k, _pair_names(pairs[k])) for k in shown for s in chosen]
    series = [Series(s.__name__, s.values(counts[:, k], whole.labels), extra=names) for s, k, names in each]
    table.add(_by_case(series, tallies, settings, by_case))
    total = counts.sum(axis=0)
    for s, k, names in each:
        value = s.value(total[k], whole.labels)
        table.append(Row("pooled", s.__name__, value, region=region, extra=names, n=int(total[k].sum())))
    if several:
        of_labels = [s for s in OF_PAIRS if s is not agreement.cohen_kappa]
        for k in shown:
            for s in of_labels:
                names = _pair_names(pairs[k])
                rows = _label_pair_rows(s, counts[:, k], whole.labels, names, tallies, settings)
                table.add(r for r in rows if by_case or names[2] == "within" or r.scope not in ("case", "subject"))
    if distances is not None:
        named = [(pairs[k], _pair_names(pairs[k])) for k in shown]
        table.add(pair_distance_rows(distances, tallies, named, settings, by_case=by_case))
    others = np.setdiff1d(np.arange(len(pairs)), shown)
    named = [(pairs[k], _pair_names(pairs[k])) for k in others.tolist()]
    table.add(_pair_means([names for _, names in named], counts[:, others], whole.labels, tallies, settings))
    if distances is not None and named:
        table.add(mean_pair_distances(distances, tallies, named, settings))
    return table


def has_pair_cases(pairs: int, cases: int) -> bool:
    """Whether so many pairs have rows of single cases."""
    return pairs * cases <= MOST_PAIR_CASES


def _by_case(series: Sequence[Series], tallies: Tallies, settings: Settings, by_case: bool) -> Sequence[Row | CaseRows]:
    """All rows but the pooled ones; readings of one rater have those of single cases in any case."""
    if by_case:
        return summarise_many(series, tallies, settings)
    between, within = ([s for s in series if (s.extra[2] == "within") == same] for same in (False, True))
    return summarise(between, tallies, settings, by_case=False) + summarise(within, tallies, settings)


def _pairs_in_full(
    pairs: Sequence[tuple[Column, Column]], counts: NDArray[np.float64], labels: Labels, tallies: Tallies
) -> list[int]:
    """The pairs that have all of their rows: every one or, of many raters, the most different and all of sessions."""
    between = [k for k, (a, b) in enumerate(pairs) if a.name != b.name]
    if len(between) <= MOST_PAIRS:
        return list(range(len(pairs)))
    alike = label_dice if labels.marks else agreement.cohen_kappa
    values = subject_values(tallies, alike.of(counts[:, between], labels))
    known = ~np.isnan(values)
    means = divide(np.where(known, values, 0).sum(axis=0), known.sum(axis=0))
    order = np.argsort(means, kind="stable")  # undefined ones last
    first = order[: min(SHOWN_PAIRS, int((~np.isnan(means)).sum()))]
    return sorted([between[k] for k in first.tolist()] + [k for k, (a, b) in enumerate(pairs) if a.name == b.name])


OF_EVERY_PAIR: tuple[PairStatistic, ...] = (agreement.cohen_kappa, agreement.dice, agreement.volume_difference)
"""Whose means every pair has, however many there are."""


def _pair_means(
    names: Sequence[tuple[object, ...]], counts: NDArray[np.float64], labels: Labels, tallies: Tallies,
    settings: Settings,
) -> Iterator[Row]:  # fmt: skip
    """Means over subjects of pairs that share a case, with intervals where there are any."""
    region = region_of(tallies)
    for s in OF_EVERY_PAIR if names else ():
        overlap = s is not agreement.cohen_kappa
        if overlap and labels.background is None and not labels.several:
            continue
        if overlap and labels.several:
            parts = [_subject_means(s.of(agreement.one_label_tables(counts, m), agreement.ONE_LABEL), tallies)
                     for m in labels.marks]  # fmt: skip
            values, n = np.stack([mean for mean, _ in parts]), np.stack([n for _, n in parts]).max(axis=0)
            known = ~np.isnan(values)
            means = divide(np.where(known, values, 0).sum(axis=0), known.sum(axis=0))
            for extra, mean, count in zip(names, means.tolist(), n.tolist(), strict=True):
                if count:
                    yield Row("mean", s.__name__, mean, "", "", MACRO, region, extra, n=count)
            continue
        values = subject_values(tallies, s.of(counts, labels))
        found = mean_intervals(values, scale_of(s.__name__), level=settings.level)
        for extra, i in zip(names, found, strict=True):
            if i.n:
                low, high = (None, None) if isinstance(i.low, Undefined) else (i.low, i.high)
                yield Row("mean", s.__name__, i.value, "", "", "", region, extra, low, high, i.n)


def _subject_means(by_case: NDArray[np.float64], tallies: Tallies) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Means over subjects of (cases, pairs) values, and over how many."""
    values = subject_values(tallies, by_case)
    known = ~np.isnan(values)
    return divide(np.where(known, values, 0).sum(axis=0), known.sum(axis=0)), known.sum(axis=0)


def _label_pair_rows(
    statistic: PairStatistic, tables: NDArray[np.float64], labels: Labels, names: tuple[object, ...], tallies: Tallies,
    settings: Settings,
) -> Iterator[Row]:  # fmt: skip
    """A statistic of one pair: the macro mean, then each label without its cases."""
    name, region, n = statistic.__name__, region_of(tallies), int(tables.sum())
    parts = {labels.names[code]: agreement.one_label_tables(tables, code) for code in labels.marks}
    by_label = {
        label: Series(name, statistic.values(part, agreement.ONE_LABEL), label, names) for label, part in parts.items()
    }
    pooled = {label: statistic.value(part.sum(axis=0), agreement.ONE_LABEL) for label, part in parts.items()}
    yield from macro_rows({label: [series] for label, series in by_label.items()}, tallies, settings)
    yield Row("pooled", name, agreement.mean_over_labels(pooled.values()), "", "", MACRO, region, names, n=n)
    for label, series in by_label.items():
        yield from mean_rows([series], tallies, list(tallies), "", settings)
        yield Row("pooled", name, pooled[label], "", "", label, region, names, n=n)


def column_pairs(tally: Tally) -> list[tuple[Column, Column]]:
    """Every two raters in their first session, then every two sessions of one rater."""
    first = [tally.columns[i] for i in tally.raters]
    again = [pair for pair in combinations(tally.role("rater"), 2) if pair[0].name == pair[1].name]
    return [*combinations(first, 2), *again]


def _pair_names(pair: tuple[Column, Column]) -> tuple[object, ...]:
    a, b = pair
    return (str(a), str(b), "within") if a.name == b.name else (a.name, b.name, "between")


def _pair_counts(tally: Tally, pairs: list[tuple[Column, Column]]) -> NDArray[np.float64]:
    if tally.raters == tuple(range(len(tally.columns))):
        tables = tally.contingency
    else:
        tables = agreement.contingency(tally, range(len(tally.columns)))
    where = {column: i for i, column in enumerate(tally.columns)}
    return np.asarray(tables[[where[a] for a, _ in pairs], [where[b] for _, b in pairs]])
