"""How far all raters agree: ``agreement.csv``, ``curve.csv``, ``confusions.csv``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from ...agreement import (
    MeanPairwise,
    agreement_curve,
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
    pabak,
    percent_agreement,
    positive_agreement,
    prevalence_index,
    smyth_bound,
    unanimous,
    volume_difference,
)
from ...core.errors import InputError
from ...core.tally import Tallies, Tally, pool
from ...inference.intervals import MIN_SUBJECTS, confidence_interval, pooled_intervals, too_few_subjects
from ..rows import Row, Table
from ..summaries import Series, Settings, groups_of, mean_rows, region_of, summarise

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
    yield from _pooled_rows("pooled", pooled, tallies, "", label, settings)
    for group, cases in groups_of(tallies).items():
        yield from _pooled_rows("group", pooled, tallies.select(cases), group, label, settings)


def _pooled_rows(
    scope: str, chosen: dict[str, Statistic], tallies: Tallies, group: str, label: str, settings: Settings
) -> Iterator[Row]:
    whole, region, subjects = pool(tallies, mixed=True), region_of(tallies), len(tallies.by_subject())
    if scope == "pooled" and subjects >= MIN_SUBJECTS:
        options = ("bca", settings.resamples, settings.level, settings.seed)
        ends: list[tuple[float, float | None, float | None]] = [
            (i.value, i.low, i.high) for i in pooled_intervals(list(chosen.values()), tallies, *options)
        ]
    else:
        refused = too_few_subjects(subjects) if scope == "pooled" else None
        ends = [(statistic(whole), refused, refused) for statistic in chosen.values()]
    for name, (value, low, high) in zip(chosen, ends, strict=True):
        yield Row(scope, name, value, "", group, label, region, (), low, high, whole.items)


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
