"""The section on agreement: headline statistics, groups, labels, special cases, image features."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...analyses.agree.presentation import charts
from ...analyses.tables import groups_of, region_of
from ...charts import histograms, strip
from ...charts.bars import Entry, grouped_bars
from ...claims.agreement import KINDS, LEAST_RATERS
from ...claims.numbers import TableIndex, has_interval, is_defined, undefined_share
from ...claims.sentences import Cell, Sentence, compose, number_word, spell_count, text_cell
from ...core.labels import MACRO
from ...core.undefined import reason
from ...inference.intervals import MIN_SUBJECTS
from ...io.result_tables import Row
from ..building import ColumnOf, make_table, text_column
from ..elements import Beside, Block, Chart, Column, PageTable, Section
from ..findings import Findings
from .cases import why_no_kappa
from .vocabulary import (
    DISTANCE_TITLES,
    SHARES,
    TITLES,
    level_column,
    meaning,
    pooled_column,
    sd_column,
    size_difference_title,
    statistic_title,
)

LEAST_VALUES = 10
"""Fewest values for which a histogram is drawn."""


def section(findings: Findings) -> Section:
    """Agreement of all raters."""
    claims = findings.agreement.claims.sentences(*(kind.id for kind in KINDS))
    beside = findings.agreement.claims.sentences("agreement.these_raters", "agreement.failures")
    lead = (*claims, *beside, *_why_no_agreement(findings), *_group_sentence(findings), _region_sentence(findings))
    blocks = [
        *_charts(findings),
        _headline_table(findings),
        *_label_table(findings),
        *_group_table(findings),
        *_special_cases(findings),
    ]
    blocks += [*_confusion_table(findings), *_feature_chart(findings), *_curve_table(findings)]
    return Section("agreement", "How far do the raters agree?", lead, tuple(blocks))


def _why_no_agreement(findings: Findings) -> Iterator[Sentence]:
    if not is_defined(findings.table("agree/agreement").row("fleiss_kappa")):
        yield (f"Agreement beyond chance cannot be computed: {why_no_kappa(findings)}.",)


def _group_sentence(findings: Findings) -> Iterator[Sentence]:
    """The range of the groups' means."""
    table = findings.table("agree/agreement")
    rows = sorted((r for r in table.all("fleiss_kappa", "mean") if r.group and is_defined(r)), key=lambda r: r.value)
    if len(rows) > 1 and rows[0].value < rows[-1].value:
        digits = 2 if f"{rows[0].value:.2f}" < f"{rows[-1].value:.2f}" or rows[0].value < 0 else 3
        ends = [
            compose(
                "{} in {} ({})", table.quote(row, digits), row.group, spell_count(row.n or 0, findings.subject_word)
            )
            for row in (rows[0], rows[-1])
        ]
        yield compose("The mean kappa of groups ranges from {} to {}.", *ends)


def _region_sentence(findings: Findings) -> Sentence:
    """Which pixels were counted: chance-corrected numbers depend on it."""
    item_, region = findings.pixel_word, region_of(findings.agreement.tallies)
    texts = {
        "whole": f"Every {item_} of the image counts, including background that nobody marked: of images that are "
        "cropped to what was marked, kappa would usually be lower, and of larger ones higher. Dice and differences of "
        "size would stay the same.",
        "union": f"Only {item_}s that at least one rater marked count. On whole images kappa would usually be higher; "
        "Dice and differences of size would stay the same.",
        "modified_background": f"The {item_}s that at least one rater marked count, and at most as many of the "
        "background. On whole images kappa would usually be higher; Dice and differences of size would stay the same.",
        "mask": f"Only {item_}s inside the region of interest that was given for each case count. In another region "
        "kappa would differ.",
    }
    if all(table.labels.background is None for table in findings.agreement.tallies.values()):
        texts["whole"] = f"Every {item_} of the image counts."
    other = "The counted region differs between cases, so their numbers are hard to compare."
    return (texts.get(region, other), " Compare kappa only with studies that counted the same region.")


def _charts(findings: Findings) -> Iterator[Block]:
    svgs = charts(findings.agreement)
    table = findings.table("agree/agreement")
    if sum(map(is_defined, table.all("fleiss_kappa", "case"))) > 1:
        caption = "Each dot is one case; the bar is the median."
        yield Beside((Chart("kappa-by-group", svgs["kappa-by-group"], caption), *_histogram(findings, table)))
    compared = tuple(compare_groups(findings))
    if _has_curve(findings):
        marked = "to which any rater gave the label, the share to which at least so many raters gave it"
        one = "that any rater marked, the share that at least so many raters marked"
        what = marked if _several(findings) else one
        caption = f"Of all {findings.pixel_word}s {what}. A curve that stays high means agreement.{_fewer(findings)}"
        yield Beside((Chart("agreement-curve", svgs["agreement-curve"], caption), *compared))
    else:
        yield from compared


def _fewer(findings: Findings) -> str:
    """A remark where not all cases have the same number of raters."""
    some = len({len({column.name for column in case.masks}) for case in findings.study}) > 1
    return " Cases with fewer raters count, too, and cannot reach the largest numbers." if some else ""


def _has_curve(findings: Findings) -> bool:
    """Whether to show the agreement curve; with two raters it is a single number."""
    return len(findings.study.rater_names) > 2 and any(map(is_defined, findings.agreement.curve.rows))


def _histogram(findings: Findings, table: TableIndex) -> Iterator[Chart]:
    """The distribution of kappa over subjects."""
    each = findings.subject_word
    values = [float(r.value) for r in table.all("fleiss_kappa", "subject" if findings.counts.grouped else "case")]
    if len(values) >= LEAST_VALUES and any(v == v for v in values):
        title = f"Agreement, {each} by {each}"
        svg = histograms({f"{each}s": values}, "Fleiss' kappa", title, bins=20, unit=f"{each}s")
        yield Chart("kappa-histogram", svg, f"How many {each}s reach which kappa; the line is the mean.")


def _headline_table(findings: Findings) -> PageTable:
    """Every statistic of all raters, with its meaning."""
    table, each = findings.table("agree/agreement"), findings.subject_word
    absent = " Generalised to cases without a mask of every rater." if findings.counts.missing else ""

    def title(statistic: str) -> Cell:
        more = absent if statistic == "fleiss_kappa" else ""
        row = table.row(statistic)
        macro = row is not None and row.label == MACRO
        name = statistic_title(findings, statistic)
        name = name.removesuffix(", mean of pairs") + ", macro mean of labels" if macro else name
        more += " Each label against the rest, mean over labels." * macro
        return text_cell(name, below=meaning(findings, statistic) + more)

    def value(scope: str, suffix: str = "") -> Callable[[str], Cell]:
        return lambda s: table.cell(s + suffix, scope, digits=1 if s in SHARES else 2, percent=s in SHARES)

    statistics = _statistics(findings, table)
    help = f"Every {each} counts the same{_with_interval(findings, [table.row(s) for s in statistics])}."
    columns = [
        (text_column("Statistic"), title),
        (Column(f"Mean over {each}s", help), value("mean")),
        *_both_column(findings, table, value("mean", "_over_both")),
        *([(sd_column(findings), value("std"))] if len(findings.study.subjects) > 1 else []),
        (pooled_column(findings), value("pooled")),
    ]
    over_raters = findings.counts.jackknifed and any(table.row(f"{s}_over_raters", "pooled") for s in TITLES)
    if over_raters:
        help = "The pooled number, with a CI over raters: it speaks of other raters and these images."
        columns.append((Column("Pooled, over raters", help), value("pooled", "_over_raters")))
    help = f"For how many {each}s the statistic is undefined, mostly because nothing was marked."
    columns.append((Column("Undefined", help), lambda s: text_cell(undefined_share(table.row(s)))))
    note = f"{_brackets(findings, over_raters)}Single cases are under Case by case."
    return make_table("agreement", "Agreement of all raters", statistics, columns, note)


OVERLAPS = (
    *("dice", "iou", "positive_agreement", "volume_difference", "volume_difference_both_marked"),
    *DISTANCE_TITLES,
)
VARIANTS = {
    "volume_difference_both_marked": "volume_difference",
    "fleiss_kappa_modified_background": "fleiss_kappa",
}
"""Statistics that are shown where they differ from others."""


OF_ORDERED = ("krippendorff_alpha_ordinal", "krippendorff_alpha_interval")
"""Statistics of labels that are in an order."""


def _statistics(findings: Findings, table: TableIndex) -> list[str]:
    """The statistics of the table; of several labels, overlap first, with kappa of all labels at once beside it."""

    def differs(statistic: str) -> bool:
        row, other = table.row(statistic), table.row(VARIANTS.get(statistic, ""))
        return other is None or (is_defined(row) and row.value != other.value)

    # values of masks have no order
    masks = any(tally.labels.background is not None for tally in findings.agreement.tallies.values())
    statistics = [s for s in TITLES if table.row(s) is not None and differs(s) and not (masks and s in OF_ORDERED)]
    return sorted(statistics, key=lambda s: s not in OVERLAPS) if _several(findings) else statistics


def _with_interval(findings: Findings, rows: Sequence[Row | None]) -> str:
    """``; with its 95% CI``, where all or some of the means have one."""
    known = [has_interval(row) for row in rows if is_defined(row)]
    some = "" if all(known) else f" where it is defined for {number_word(MIN_SUBJECTS)} or more"
    return f"; with its {findings.interval_name}{some}" if any(known) else ""


def _brackets(findings: Findings, over_raters: bool) -> str:
    """Over what the intervals of the table are."""
    each, name = findings.subject_word, findings.interval_name
    if findings.resampled:
        return f"In brackets: {name} over {each}s, unless the column says otherwise. "
    return f"In brackets: {name} over raters; there are too few {each}s for intervals over them. " * over_raters


def _both_column(
    findings: Findings, table: TableIndex, value: Callable[[str], Cell]
) -> Iterator[tuple[Column, Callable[[str], Cell]]]:
    """The same mean with its interval over subjects and raters, where there are three raters or more."""
    if any(has_interval(table.row(f"{s}_over_both", "mean")) for s in TITLES):
        help = (
            f"The same mean, with a {findings.interval_name} that speaks of other {findings.subject_word}s and other "
            f"raters. The column before it speaks of other {findings.subject_word}s and these raters."
        )
        yield Column("Over both", help), value


def _subset_columns(findings: Findings, what: str, rows: Sequence[Row]) -> list[ColumnOf[Row]]:
    """Columns for rows of the mean kappa of a group or a label."""
    table, each = findings.table("agree/agreement"), findings.subject_word
    subjects = f"{each.capitalize()}s"

    def value(statistic: str, scope: str = "mean", **how: Any) -> Callable[[Row], Cell]:
        return lambda row: table.cell(statistic, scope, group=row.group, label=row.label, **how)

    columns: list[ColumnOf[Row]] = [
        (text_column(what), lambda row: text_cell(row.group or row.label)),
        (Column(subjects, f"{subjects} whose kappa is defined."), lambda row: text_cell(row.n)),
        (Column("Fleiss' kappa", f"Mean over {each}s: 1 is full agreement, 0 is chance."), table.quote),
        *([level_column(findings)] if any(map(has_interval, rows)) and _has_levels(findings) else []),
        (sd_column(findings, "SD of kappa"), value("fleiss_kappa", "std")),
        (pooled_column(findings, "Kappa, pooled"), value("fleiss_kappa", "group" if what == "Group" else "pooled")),
    ]
    if table.row("dice") is not None:
        size = value("volume_difference", digits=0, percent=True)
        columns.append((Column("Dice", meaning(findings, "dice")), value("dice")))
        columns.append((Column(size_difference_title(findings), meaning(findings, "volume_difference")), size))
    return columns


def _has_levels(findings: Findings) -> bool:
    """Whether there are enough raters to put kappas into words."""
    return len(findings.study.rater_names) >= LEAST_RATERS


def _group_table(findings: Findings) -> Iterator[Block]:
    rows = [r for r in findings.table("agree/agreement").all("fleiss_kappa", "mean") if r.group]
    if rows:
        short = any(r.low is not None and reason(r.low) for r in rows)
        remarks = [f"Groups of fewer than ten {findings.subject_word}s have no CI."] if short else []
        note = " ".join([*remarks, *_shared_subjects_note(findings)])
        yield make_table("agreement-by-group", "By group", rows, _subset_columns(findings, "Group", rows), note)


def _shared_subjects_note(findings: Findings) -> Iterator[str]:
    """A note where subjects belong to several groups."""
    members = {(group, case.subject) for case in findings.study for group in case.groups}
    if len(members) > len({case.subject for case in findings.study if case.groups}):
        yield f"A {findings.subject_word} who has cases in several groups counts in each of them."


def _label_table(findings: Findings) -> Iterator[Block]:
    table = findings.table("agree/agreement")
    rows = [r for r in table.all("fleiss_kappa", "mean", label=None) if r.label and not r.group]
    if rows:
        few = any(r.low is not None and reason(r.low) for r in rows)
        note = (
            "Each label against all the rest." + f" Labels of fewer than ten {findings.subject_word}s have no CI." * few
        )
        yield make_table("agreement-by-label", "By label", rows, _subset_columns(findings, "Label", rows), note)


def _several(findings: Findings) -> bool:
    """Whether there are several labels, which are never united."""
    return next(iter(findings.agreement.tallies.values())).labels.several


CONDITIONS = {
    "nothing_marked": "Nobody marked anything",
    "condition_1": "Some raters marked nothing, others something",
    "condition_2": "All raters marked something, but no two overlap",
}


def _special_cases(findings: Findings) -> Iterator[Block]:
    """Cases in which kappa is not informative, and kappa without them (conditions 1 and 2 of Yang 2023)."""
    table = findings.table("agree/agreement")
    counts = {name: table.row(name, "pooled") for name in CONDITIONS}
    if table.row("dice") is None or not any(row is not None and row.value for row in counts.values()):
        return
    columns: list[ColumnOf[str]] = [
        (text_column("Condition"), lambda name: text_cell(CONDITIONS[name])),
        (
            Column("Cases", f"Of {spell_count(len(findings.study), 'case')}."),
            lambda n: table.cell(n, "pooled", digits=0),
        ),
    ]
    conditions = make_table("special-cases", "Special cases", CONDITIONS, columns)
    yield Beside((conditions, *_kappa_without_special_cases(findings, table)))


def _kappa_without_special_cases(findings: Findings, table: TableIndex) -> Iterator[PageTable]:
    if not any(row is not None and row.value for row in (table.row(f"condition_{i}", "pooled") for i in (1, 2))):
        return
    parts = {"": "All cases", "_without_condition_1": "Without those in which some raters marked nothing",
             "_without_conditions_1_2": "Without those, and those without overlap"}  # fmt: skip
    each = findings.subject_word

    def count(part: str) -> Cell:
        row = table.row(f"fleiss_kappa{part}")
        return text_cell("" if row is None else row.n)

    columns: list[ColumnOf[str]] = [
        (text_column("Cases"), lambda part: text_cell(parts[part])),
        (Column(f"{each.capitalize()}s with a kappa", f"{each.capitalize()}s over which the mean is taken."), count),
        (Column("Fleiss' kappa", f"Mean over {each}s."), lambda part: table.cell(f"fleiss_kappa{part}")),
        (
            Column("Cohen's kappa", f"Mean over pairs of raters and {each}s."),
            lambda part: table.cell(f"cohen_kappa{part}"),
        ),
    ]
    yield make_table("kappa-without-special-cases", "Kappa without special cases", parts, columns)


def _confusion_table(findings: Findings) -> Iterator[Block]:
    """Pixels to which two raters gave different labels."""
    table = findings.table("agree/confusions")
    by = {(str(r["label_a"]), str(r["label_b"])): r for r in table.rows}
    names = list(dict.fromkeys(name for pair in by for name in pair))
    if not by:
        return
    rows = tuple(
        (text_cell(a), *(table.quote(by[a, b], 0) if (a, b) in by else text_cell("") for b in names)) for a in names
    )
    columns = (text_column("Label"), *(Column(name, f"One rater gave {name}.") for name in names))
    note = (
        f"How often a {findings.pixel_word} got the label of the line from one rater and that of the column from "
        f"another: counts of {findings.pixel_word}s and pairs of raters, as each {findings.pixel_word} counts once for "
        "every pair."
    )
    yield PageTable("confusions", f"Same {findings.pixel_word}, different label", columns, rows, note)


def _feature_chart(findings: Findings) -> Iterator[Block]:
    """Correlation of image features with agreement, case by case."""
    by: dict[str, list[float]] = {}
    for row in findings.table("agree/features").table.all("correlation", "case"):
        by.setdefault(str(row["feature"]), []).append(float(row.value))
    if any(sum(v == v for v in values) > 1 for values in by.values()):
        several = _several(findings)
        who = "who differ from most" if several else "who marked"
        svg = strip(by, f"correlation with the number of raters {who}", f"The number of raters {who}, and the image")
        do = "raters give other labels than most do" if several else "raters mark"
        caption = (
            f"Each dot is one case. Right of 0, more {do} where the image is brighter (intensity) or has more "
            "contrast; left of 0, fewer do."
        )
        yield Chart("image-features", svg, caption)


def _curve_table(findings: Findings) -> Iterator[Block]:
    """The agreement curve in numbers, by group; of several labels, one after the other."""
    table = findings.table("agree/curve")
    pooled = [r for r in table.all("agreement_curve", "pooled", label=None) if is_defined(r)]
    groups = list(dict.fromkeys(r.group for r in table.all("agreement_curve", "group", label=None)))
    if not pooled or not _has_curve(findings):
        return

    def share(group: str) -> Callable[[Row], Cell]:
        how: dict[str, Any] = {"digits": 1, "percent": True}
        return lambda r: table.cell("agreement_curve", "group", *r.extra, group=group, label=r.label, **how)

    of_label: list[ColumnOf[Row]] = [(text_column("Label"), lambda r: text_cell(r.label))]
    columns: list[ColumnOf[Row]] = [
        *(of_label if _several(findings) else []),
        (Column("At least so many raters"), lambda r: text_cell(r["raters"])),
        (Column("All cases"), lambda r: table.quote(r, 1, percent=True)),
        *((Column(group), share(group)) for group in groups),
    ]
    title = f"How many raters marked the same {findings.pixel_word}s"
    note = f"Share of the {findings.pixel_word}s that any rater marked.{_fewer(findings)}"
    yield make_table("agreement-curve-table", title, pooled, columns, note, closed=True)


# --- groups side by side

BARS = {
    "fleiss_kappa": "Fleiss' kappa",
    "dice": "Dice of two raters",
    "heatmap_score": "shared votes",
    "ranking_heatmap_score": "severity score",
}


def compare_groups(findings: Findings) -> Iterator[Chart]:
    """Groups side by side (Yang 2023, Fig. 7): bars for statistics of all raters, a point for each rater's IoU."""
    table, known = findings.table("agree/agreement"), groups_of(findings.agreement.tallies)
    groups = dict.fromkeys(r.group for r in table.all("fleiss_kappa", "mean") if r.group in known)
    entries = {group: _bars(table, group) | _points(findings, group) for group in groups}
    if len(groups) < 2 or not any(entries.values()):
        return
    svg = grouped_bars(entries, f"mean over {findings.subject_word}s", "Groups side by side")
    bars = [bar for by_statistic in entries.values() for bar in by_statistic.values() if isinstance(bar, tuple)]
    caption = [f"Bars: means over {findings.subject_word}s."]
    ends = [not math.isnan(low) for _, low, _ in bars]
    some = "" if all(ends) else f", of groups of {number_word(MIN_SUBJECTS)} or more"
    caption += [f"Whiskers: {findings.interval_name} over {findings.subject_word}s{some}."] if any(ends) else []
    votes = [BARS[s] for s in ("heatmap_score", "ranking_heatmap_score") if any(BARS[s] in e for e in entries.values())]
    caption += [f"No measure of agreement: {' and '.join(votes)} (see the next table)."] if votes else []
    who = "the mean of the raters" if findings.study.options.exchangeable else "one rater"
    own = f"A dot is {who}: the overlap (IoU) with STAPLE's consensus, to which their own marks belong."
    caption += [own] if any(_points_title(findings) in e for e in entries.values()) else []
    yield Chart("group-comparison", svg, " ".join(caption))


def _bars(table: TableIndex, group: str) -> dict[str, Entry]:
    bars: dict[str, Entry] = {}
    for statistic, title in BARS.items():
        if is_defined(row := table.row(statistic, group=group)):
            low, high = (math.nan if end is None else float(end) for end in (row.low, row.high))
            bars[title] = float(row.value), low, high
    return bars


def _points(findings: Findings, group: str) -> dict[str, Entry]:
    rows = findings.table("fuse/performance").all("iou", "mean")
    values = [float(r.value) for r in rows if r.group == group and r["method"] == "staple" and is_defined(r)]
    return {_points_title(findings): values} if values else {}


def _points_title(findings: Findings) -> str:
    return f"{'mean IoU of raters' if findings.study.options.exchangeable else 'IoU of each rater'} with STAPLE"
