"""The section on agreement: headline statistics, groups, labels, special cases, image features."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from ...agreement import interpret_kappa
from ...analyses.agree.charts import charts
from ...analyses.rows import Row
from ...analyses.summaries import groups_of, region_of
from ...charts import histograms, strip
from ...charts.bars import Bar, Entry, grouped_bars
from ...core.undefined import reason
from ..elements import Beside, Block, Cell, Chart, Column, PageTable, Section, Sentence, text_cell, text_column
from ..findings import Findings
from ..numbers import TableIndex, is_defined, undefined_share
from .cases import why_no_kappa
from .vocabulary import (
    MEANINGS,
    SCALES,
    SHARES,
    TITLES,
    level_help,
    level_text,
    sd_column,
    spell_count,
)

LEAST_VALUES = 10
"""Fewest values for which a histogram is drawn."""


def section(findings: Findings) -> Section:
    """Agreement of all raters."""
    lead = (*_headline_sentence(findings), *_group_sentence(findings), _region_sentence(findings))
    blocks = [
        *_charts(findings),
        _headline_table(findings),
        *_group_table(findings),
        *_label_table(findings),
        *_special_cases(findings),
    ]
    blocks += [*_confusion_table(findings), *_feature_chart(findings), *_curve_table(findings)]
    return Section("agreement", "How far do the raters agree?", lead, tuple(blocks))


def _headline_sentence(findings: Findings) -> Iterator[Sentence]:
    table = findings.table("agree/agreement")
    kappa, std = table.row("fleiss_kappa"), table.row("fleiss_kappa", "std")
    if not is_defined(kappa):
        yield (f"Agreement beyond chance cannot be computed: {why_no_kappa(findings)}.",)
        return
    spread: Sentence = ()
    if std is not None and is_defined(std):
        spread = (", with a standard deviation of ", table.quote(std), f" between {findings.subject_word}s")
    words = level_text(kappa, findings.settings.scale)
    scale = SCALES.get(findings.settings.scale, findings.settings.scale)
    yield ("Fleiss' kappa, the agreement of all raters beyond chance, is ", table.quote(kappa), *spread, ": ", words,
           f" by the scale of {scale}.")  # fmt: skip


def _group_sentence(findings: Findings) -> Iterator[Sentence]:
    """The groups with the least and the most agreement."""
    table = findings.table("agree/agreement")
    rows = sorted((r for r in table.all("fleiss_kappa", "mean") if r.group and is_defined(r)), key=lambda r: r.value)
    if len(rows) > 1 and rows[0].value < rows[-1].value:
        least, most = rows[0], rows[-1]
        yield (f"It is least in {least.group}, with ", table.quote(least), f", and most in {most.group}, with ",
               table.quote(most), ".")  # fmt: skip


def _region_sentence(findings: Findings) -> Sentence:
    """Which pixels were counted: chance-corrected numbers depend on it."""
    item_, region = findings.pixel_word, region_of(findings.agreement.tallies)
    texts = {
        "whole": f"Every {item_} of the image counts, including background that nobody marked. Counted only where a "
        "rater marked something, kappa would be lower; Dice and volume differences would stay the same.",
        "union": f"Only {item_}s that at least one rater marked count. On whole images kappa would be higher; Dice and "
        "volume differences would stay the same.",
        "modified_background": f"The {item_}s that at least one rater marked count, and as many of the background. On "
        "whole images kappa would be higher; Dice and volume differences would stay the same.",
        "mask": f"Only {item_}s inside the region of interest that was given for each case count. In another region "
        "kappa would differ.",
    }
    other = "The counted region differs between cases, so their numbers are hard to compare."
    return (texts.get(region, other), " Compare kappa only with studies that counted the same region.")


def _charts(findings: Findings) -> Iterator[Block]:
    svgs = charts(findings.agreement)
    table = findings.table("agree/agreement")
    if _has_several(table.all("fleiss_kappa", "case")):
        scale = SCALES.get(findings.settings.scale, findings.settings.scale)
        caption = f"Each dot is one case, over the levels of {scale}; the bar is the median."
        yield Beside((Chart("kappa-by-group", svgs["kappa-by-group"], caption), *_histogram(findings, table)))
    if _has_curve(findings):
        caption = (
            f"Of all {findings.pixel_word}s that any rater marked, the share that at least so many raters marked. A "
            "curve that "
            "stays high means agreement."
        )
        yield Beside((Chart("agreement-curve", svgs["agreement-curve"], caption), *compare_groups(findings)))
    elif compared := tuple(compare_groups(findings)):
        yield compared[0]


def _has_several(rows: Iterable[Row]) -> bool:
    """Whether there is more than one point to draw."""
    return sum(map(is_defined, rows)) > 1


def _has_curve(findings: Findings) -> bool:
    """Whether to show the agreement curve; with two raters it is a single number."""
    return len(findings.study.rater_names) > 2 and any(is_defined(row) for row in findings.agreement.curve.rows)


def _histogram(findings: Findings, table: TableIndex) -> Iterator[Chart]:
    """The distribution of kappa over subjects."""
    each = findings.subject_word
    values = [float(r.value) for r in table.all("fleiss_kappa", "subject" if findings.counts.grouped else "case")]
    if len(values) >= LEAST_VALUES and any(v == v for v in values):
        svg = histograms({f"{each}s": values}, "Fleiss' kappa", f"Agreement, {each} by {each}", bins=20)
        yield Chart("kappa-histogram", svg, f"How many {each}s reach which kappa; the line is the mean.")


def _headline_table(findings: Findings) -> PageTable:
    """Every statistic of all raters, with its meaning."""
    table = findings.table("agree/agreement")
    over = findings.counts.jackknifed and any(table.row(f"{s}_over_raters", "pooled") for s in TITLES)
    columns = [
        text_column("Statistic"),
        Column(
            f"Mean over {findings.subject_word}s",
            f"Every {findings.subject_word} counts the same; with its {findings.interval_name}.",
        ),
        sd_column(findings),
        Column("Pooled", f"All cases as if they were one: every {findings.pixel_word} counts the same."),
    ]
    if over:
        help = "The pooled number, with a CI over raters: approximate, it can exceed 1."
        columns.append(Column("Pooled, over raters", help))
    columns.append(
        Column(
            "Undefined",
            f"For how many {findings.subject_word}s the statistic is undefined, mostly because nothing was marked.",
        )
    )
    rows = tuple(tuple(_statistic_row(findings, table, s, over)) for s in TITLES if table.row(s) is not None)
    note = f"In brackets: {findings.interval_name} over {findings.subject_word}s. Single cases are under Case by case."
    return PageTable("agreement", "Agreement of all raters", tuple(columns), rows, note)


def _statistic_row(findings: Findings, table: TableIndex, statistic: str, over: bool) -> Iterator[Cell]:
    how: dict[str, Any] = {"digits": 1, "percent": True} if statistic in SHARES else {}
    absent = " Generalised to cases that some raters did not mark." if findings.counts.missing else ""
    yield text_cell(TITLES[statistic], below=MEANINGS[statistic] + (absent if statistic == "fleiss_kappa" else ""))
    for scope in ("mean", "std", "pooled"):
        yield table.cell(statistic, scope, **how)
    if over:
        yield table.cell(f"{statistic}_over_raters", "pooled", **how)
    yield text_cell(undefined_share(table.row(statistic)))


def _subset_columns(findings: Findings, table: TableIndex, what: str) -> list[Column]:
    background = table.row("dice") is not None
    more = [Column("Dice", MEANINGS["dice"]), Column("Relative volume difference", MEANINGS["volume_difference"])]
    return [
        text_column(what),
        Column(
            f"{findings.subject_word.capitalize()}s", f"{findings.subject_word.capitalize()}s whose kappa is defined."
        ),
        Column("Fleiss' kappa", f"Mean over {findings.subject_word}s: 1 is full agreement, 0 is chance."),
        text_column("Level", level_help(findings)),
        sd_column(findings, "SD of kappa"),
        Column("Kappa, pooled", f"All cases as if they were one: every {findings.pixel_word} counts the same."),
        *(more if background else []),
    ]


def _subset_row(findings: Findings, table: TableIndex, row: Row) -> Iterator[Cell]:
    where = {"group": row.group, "label": row.label}
    yield text_cell(row.group or row.label)
    yield text_cell(row.n)
    yield table.quote(row)
    yield text_cell(interpret_kappa(row.value, findings.settings.scale))
    yield table.cell("fleiss_kappa", "std", **where)
    yield table.cell("fleiss_kappa", "group" if row.group else "pooled", **where)
    if table.row("dice") is not None:
        yield table.cell("dice", **where)
        yield table.cell("volume_difference", digits=0, percent=True, **where)


def _group_table(findings: Findings) -> Iterator[Block]:
    table = findings.table("agree/agreement")
    rows = [r for r in table.all("fleiss_kappa", "mean") if r.group]
    if rows:
        lines = tuple(tuple(_subset_row(findings, table, r)) for r in rows)
        short = any(r.low is not None and reason(r.low) for r in rows)
        remarks = [f"Groups of fewer than ten {findings.subject_word}s have no CI."] if short else []
        note = " ".join([*remarks, *_shared_subjects_note(findings)])
        yield PageTable("agreement-by-group", "By group", tuple(_subset_columns(findings, table, "Group")), lines, note)


def _shared_subjects_note(findings: Findings) -> Iterator[str]:
    """A note where subjects belong to several groups."""
    members = {(group, case.subject) for case in findings.study for group in case.groups}
    if len(members) > len({case.subject for case in findings.study if case.groups}):
        yield f"A {findings.subject_word} who has cases in several groups counts in each of them."


def _label_table(findings: Findings) -> Iterator[Block]:
    table = findings.table("agree/agreement")
    rows = [r for r in table.all("fleiss_kappa", "mean", label=None) if r.label and not r.group]
    if rows:
        lines = tuple(tuple(_subset_row(findings, table, r)) for r in rows)
        note = "Each label against all the rest."
        yield PageTable("agreement-by-label", "By label", tuple(_subset_columns(findings, table, "Label")), lines, note)


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
    rows = tuple((text_cell(text), table.cell(name, "pooled", digits=0)) for name, text in CONDITIONS.items())
    columns = (
        text_column("Condition"),
        Column("Cases", f"Of {spell_count(len(findings.study), 'case')}."),
    )
    yield Beside(
        (PageTable("special-cases", "Special cases", columns, rows), *_kappa_without_special_cases(findings, table))
    )


def _kappa_without_special_cases(findings: Findings, table: TableIndex) -> Iterator[PageTable]:
    if not any(row is not None and row.value for row in (table.row(f"condition_{i}", "pooled") for i in (1, 2))):
        return
    parts = {"": "All cases", "_without_condition_1": "Without those in which some raters marked nothing",
             "_without_conditions_1_2": "Without those, and those without overlap"}  # fmt: skip
    rows = tuple(
        (text_cell(title), *(table.cell(f"{s}{part}") for s in ("fleiss_kappa", "cohen_kappa")))
        for part, title in parts.items()
    )
    columns = (
        text_column("Cases"),
        Column("Fleiss' kappa", f"Mean over {findings.subject_word}s."),
        Column("Cohen's kappa", f"Mean over pairs of raters and {findings.subject_word}s."),
    )
    yield PageTable("kappa-without-special-cases", "Kappa without them", columns, rows)


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
    columns = (text_column("Label"), *(Column(name, f"One rater marked {name}.") for name in names))
    note = (
        f"How many {findings.pixel_word}s two raters both marked, one with the label of the line and one with that "
        "of the "
        "column, over all pairs of raters."
    )
    yield PageTable("confusions", "Same pixel, different label", columns, rows, note)


def _feature_chart(findings: Findings) -> Iterator[Block]:
    """Correlation of image features with agreement, case by case."""
    by: dict[str, list[float]] = {}
    for row in findings.table("agree/features").table.all("correlation", "case"):
        by.setdefault(str(row["feature"]), []).append(float(row.value))
    if any(sum(v == v for v in values) > 1 for values in by.values()):
        svg = strip(by, "correlation with the number of raters", "Does agreement go with what the image shows?")
        caption = (
            "Each dot is one case. Right of 0, more raters mark where the image is brighter (intensity) or has more "
            "contrast; left of 0, fewer do. Near 0, it makes no difference."
        )
        yield Chart("image-features", svg, caption)


def _curve_table(findings: Findings) -> Iterator[Block]:
    """The agreement curve in numbers, by group."""
    table = findings.table("agree/curve")
    pooled = [r for r in table.all("agreement_curve", "pooled") if is_defined(r)]
    groups = list(dict.fromkeys(r.group for r in table.all("agreement_curve", "group")))
    if not pooled or not _has_curve(findings):
        return
    columns = (Column("At least so many raters"), Column("All cases"), *(Column(group) for group in groups))
    rows = tuple(
        (text_cell(r["raters"]), table.quote(r, 1, percent=True),
         *(table.cell("agreement_curve", "group", *r.extra, group=g, digits=1, percent=True) for g in groups))
        for r in pooled
    )  # fmt: skip
    title, note = (
        "How many raters marked the same pixels",
        f"Share of the {findings.pixel_word}s that any rater marked.",
    )
    yield PageTable("agreement-curve-table", title, columns, rows, note, closed=True)


# --- groups side by side

BARS = {
    "fleiss_kappa": "Fleiss' kappa",
    "dice": "Dice of two raters",
    "heatmap_score": "shared votes",
    "ranking_heatmap_score": "severity score",
}


def compare_groups(findings: Findings) -> Iterator[Chart]:
    """Groups side by side (Yang 2023, Fig. 7): bars for statistics of all raters, a point for each rater's IoU."""
    groups = _compared_groups(findings)
    if len(groups) < 2:
        return
    entries = {group: _bars(findings, group) | _points(findings, group) for group in groups}
    if not any(entries.values()):
        return
    svg = grouped_bars(entries, f"mean over {findings.subject_word}s", "Groups side by side")
    bars = [bar for own in entries.values() for bar in own.values() if isinstance(bar, tuple)]
    caption = [f"Bars: means over {findings.subject_word}s."]
    caption += [f"Whiskers: {findings.interval_name}."] if any(not math.isnan(low) for _, low, _ in bars) else []
    caption += ["Each dot is one rater: the overlap (IoU) with STAPLE."] if _staple(findings) else []
    yield Chart("group-comparison", svg, " ".join(caption))


def _compared_groups(findings: Findings) -> list[str]:
    rows = findings.table("agree/agreement").all("fleiss_kappa", "mean")
    groups = groups_of(findings.agreement.tallies)
    return list(dict.fromkeys(row.group for row in rows if row.group in groups))


def _bars(findings: Findings, group: str) -> dict[str, Entry]:
    table = findings.table("agree/agreement")
    rows = {title: table.row(statistic, group=group) for statistic, title in BARS.items()}
    return {title: _bar(row) for title, row in rows.items() if row is not None and is_defined(row)}


def _bar(row: Row) -> Bar:
    low, high = (math.nan if end is None else float(end) for end in (row.low, row.high))
    return float(row.value), low, high


def _staple(findings: Findings) -> str:
    return "staple" if "staple" in findings.fusion.methods else ""


def _points(findings: Findings, group: str) -> dict[str, Entry]:
    rows = findings.table("fuse/performance").all("iou", "mean")
    values = [float(r.value) for r in rows if r.group == group and r["method"] == _staple(findings) and is_defined(r)]
    return {"IoU of each rater with STAPLE": values} if values else {}
