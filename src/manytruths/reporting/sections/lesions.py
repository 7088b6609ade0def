"""The section on lesions: which ones raters found, who found them, and how alike they drew them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...analyses.agree.lesions import ALL, OTHERS, detection_chart
from ...claims.lesions import AGREEMENT, FOUND, IDS, lesion_labels, rule_words
from ...claims.numbers import TableIndex, is_defined, telling_digits
from ...claims.sentences import Cell, Sentence, case_cell, label_words, text_cell
from ...io.result_tables import PlainTable, Row
from ..building import ColumnOf, make_table, text_column
from ..elements import Beside, Block, Chart, Column, PageTable, Section
from ..findings import Findings
from .raters import MANY_PAIRS, of_own_cases
from .vocabulary import rater_cell

MOST_SENTENCES = 2
"""With more labels, only what was found and the agreement on it are told of each."""
MOST_LESIONS = 500
"""Lines of the list; the others are in the file."""
MANY_RATERS = 15
"""With more raters, the table of pairs is left out: it is in the file."""


def section(findings: Findings) -> Section | None:
    """The section on lesions; None where they were not measured, or where marks are nothing to count."""
    if "agree/detection" not in findings.tables:
        return None
    labels = findings.agreement.tallies[next(iter(findings.agreement.tallies))].labels
    names = tuple(labels.names[code] for code in labels.marks) if labels.several else ()
    known = lesion_labels(findings.agreement.claims, names)
    if not known:
        return None
    table = findings.table("agree/detection")
    blocks = [*_overview(findings, table, known), *_of_raters(findings, table, known), *_list(findings, known)]
    return Section("lesions", "Which lesions did they find?", _lead(findings, known), tuple(blocks))


def _lead(findings: Findings, labels: list[str]) -> tuple[Sentence, ...]:
    ids = IDS if len(labels) <= MOST_SENTENCES else (FOUND.id, AGREEMENT.id)
    return findings.agreement.claims.sentences(*ids)


def _number(table: TableIndex, row: Row | None, **how: Any) -> Cell:
    if row is None:
        return text_cell("")
    return table.quote(row, telling_digits(row.value, how.get("digits", 2), percent=how.get("percent", False)),
                       **{name: value for name, value in how.items() if name != "digits"})  # fmt: skip


def _label_column(labels: list[str], name: Callable[[Any], str]) -> list[ColumnOf[Any]]:
    return [(text_column("Label"), lambda item: text_cell(label_words(name(item))))] if labels != [""] else []


def _rule(findings: Findings) -> str:
    agreement = findings.agreement
    raters = len(agreement.study.rater_names)
    return rule_words(agreement.study.options.lesions, agreement.distance_unit, raters)


# --- all raters


def _overview(findings: Findings, table: TableIndex, labels: list[str]) -> Iterator[Block]:
    finders = _finder_table(findings, table, labels)
    curve = findings.table("agree/detection_curve").table
    svg = detection_chart(curve, findings.study.options.lesions)
    charts = [
        Chart(name, drawn, "How much depends on how closely two marks must match to be the same lesion. Means over "
              f"{findings.subject_word}s; the numbers of this section are for {_rule(findings)}.")
        for name, drawn in svg.items()
    ]  # fmt: skip
    yield Beside((finders, *charts)) if charts else finders
    yield _quality_table(findings, table, labels)


def _finder_table(findings: Findings, table: TableIndex, labels: list[str]) -> PageTable:
    """How many raters found the lesions."""
    most = len(findings.study.rater_names)
    rows = [(label, k) for label in labels for k in range(1, most + 1)]

    def cell(scope: str) -> Callable[[tuple[str, int]], Cell]:
        def make(item: tuple[str, int]) -> Cell:
            row = table.row(f"found_by_{item[1]}", scope, *ALL, label=item[0])
            return _number(table, row, digits=0, percent=True)

        return make

    def count(item: tuple[str, int]) -> Cell:
        row = table.row(f"found_by_{item[1]}", "pooled", *ALL, label=item[0])
        return text_cell(round(row.value * (row.n or 0)) if is_defined(row) else "–")

    each = findings.subject_word
    columns: list[ColumnOf[tuple[str, int]]] = [
        *_label_column(labels, lambda item: item[0]),
        (Column("Raters", "How many raters found a lesion"), lambda item: text_cell(item[1])),
        (Column("Lesions", "Of all cases that two or more raters read"), count),
        (Column("Share", "Of the lesions of all cases that two or more raters read"), cell("pooled")),
        (Column(f"Mean share by {each}", f"Of the lesions of a {each}, mean over {each}s with a lesion"), cell("mean")),
    ]  # fmt: skip
    slots = findings.study.options.exchangeable
    gaps = len({len(case.masks) for case in findings.study}) > 1 if slots else findings.counts.missing > 0
    note = " Cases that fewer raters read count, too: not everybody could find their lesions." * gaps
    return make_table("lesion-finders", "By how many raters", rows, columns, note.strip())


QUALITIES = {
    "positive_agreement": (
        "Positive agreement", "Given that a rater found a lesion, the share of the others who did, too."
    ),
    "pq": ("PQ", "Panoptic quality of two raters: SQ × RQ."),
    "sq": ("SQ", "Segmentation quality: mean IoU of the lesions of two raters that match."),
    "rq": ("RQ", "Recognition quality: 2 × lesions that match over the lesions of both raters, their F1 score."),
    "matched_dice": ("Dice of found lesions", "Mean Dice of every two raters who found a lesion. Only lesions that "
                     "match are compared, so that it is never low."),
}  # fmt: skip


def _quality_columns(table: TableIndex) -> list[ColumnOf[tuple[str, str, str]]]:
    """Of label, rater and whom they are compared with."""

    def make(statistic: str) -> Callable[[tuple[str, str, str]], Cell]:
        return lambda item: _number(table, table.row(statistic, "mean", *item[1:], label=item[0]))

    return [(Column(*titles), make(statistic)) for statistic, titles in QUALITIES.items()]


def _quality_table(findings: Findings, table: TableIndex, labels: list[str]) -> PageTable:
    rows = [(label, *ALL) for label in labels]

    def per(item: tuple[str, str, str]) -> Cell:
        return _number(table, table.row("lesions", "mean", *ALL, label=item[0]), digits=1)

    each = findings.subject_word
    columns: list[ColumnOf[tuple[str, str, str]]] = [
        *_label_column(labels, lambda item: item[0]),
        (Column("Lesions a case", "Found by anybody, mean"), per),
        *_quality_columns(table),
    ]  # fmt: skip
    note = (
        f"Means over {each}s, of pairs of raters where a number is of two{_interval(findings)}. Kappa is not defined: "
        "nobody marks the places without a lesion, so that agreement on them cannot be counted."
    )
    return make_table("lesion-agreement", "Agreement on lesions", rows, columns, note)


def _interval(findings: Findings) -> str:
    return f", with {findings.interval_name}" * findings.resampled


# --- raters and pairs


def _of_raters(findings: Findings, table: TableIndex, labels: list[str]) -> Iterator[PageTable]:
    raters = findings.study.rater_names
    if findings.study.options.exchangeable or len(raters) < 2:
        return
    each = findings.subject_word
    help = {
        "lesions": ("Lesions a case", "Drawn by the rater, mean"),
        "sensitivity": ("Sensitivity", "Of the lesions that at least half of the others found, the share that the "
                        "rater found"),
        "false_marks": ("False marks a case", "Lesions of the rater that fewer than half of the others found, mean"),
        "lesions_alone": ("Alone a case", "Lesions of the rater that nobody else found, mean"),
    }  # fmt: skip

    def make(statistic: str) -> Callable[[tuple[str, str]], Cell]:
        return lambda item: _number(table, table.row(statistic, "mean", item[1], OTHERS, label=item[0]))

    columns: list[ColumnOf[tuple[str, str]]] = [
        *_label_column(labels, lambda item: item[0]),
        (text_column("Rater"), lambda item: rater_cell(findings, item[1])),
        *((Column(*titles), make(statistic)) for statistic, titles in help.items()),
    ]  # fmt: skip
    rows = [(label, rater) for label in labels for rater in raters]
    note = (
        f"Means over {each}s{_interval(findings)}. What the others found is no truth: a rater who alone finds what is "
        f"there has a false mark.{of_own_cases(findings)}"
    )
    yield make_table("lesion-raters", "Each rater against what the others found", rows, columns, note)
    if len(raters) <= MANY_RATERS:
        yield _pair_table(findings, table, labels)


def _pair_table(findings: Findings, table: TableIndex, labels: list[str]) -> PageTable:
    pairs = dict.fromkeys(row.extra for row in table.table.all("pq", "mean") if row.extra != ALL)
    rows = [(label, str(a), str(b)) for label in labels for a, b in pairs]
    columns: list[ColumnOf[tuple[str, str, str]]] = [
        *_label_column(labels, lambda item: item[0]),
        (text_column("Rater"), lambda item: rater_cell(findings, item[1])),
        (text_column("and"), lambda item: rater_cell(findings, item[2])),
        *_quality_columns(table),
    ]  # fmt: skip
    note = (
        f"Means over {findings.subject_word}s{_interval(findings)}. PQ, SQ and RQ match the two raters' lesions by "
        "themselves; positive agreement goes by the lesions of all raters."
    )
    return make_table("lesion-pairs", "Lesions of two raters", rows, columns, note, closed=len(rows) > MANY_PAIRS)


# --- the list


def _list(findings: Findings, labels: list[str]) -> Iterator[PageTable]:
    """Every lesion; its case opens in the viewer, where it has the same number."""
    plain: PlainTable = findings.agreement.tables["lesions"]
    records = [dict(zip(plain.header, record, strict=True)) for record in plain.records()]
    records = [record for record in records if record["label"] in labels]
    named = not findings.study.options.exchangeable
    units = {str(record["unit"]) for record in records}
    unit = units.pop() if len(units) == 1 else ""

    def text(name: str) -> Callable[[dict[str, Any]], Cell]:
        return lambda record: text_cell(record[name])

    def dice(record: dict[str, Any]) -> Cell:
        return text_cell("–" if record["dice"] is None else f"{record['dice']:.2f}")

    def size(record: dict[str, Any]) -> Cell:
        own = "" if unit else f" {record['unit']}"
        extent, fine = record["extent"], record["unit"] == "ml"
        digits = sum(extent < limit for limit in ((100, 10, 1) if fine else (100,)))
        return text_cell(f"{extent:.{digits}f}{own}")

    columns: list[ColumnOf[dict[str, Any]]] = [
        (text_column("Case"), lambda record: case_cell(record["case"])),
        *_label_column(labels, lambda record: record["label"]),
        (Column("Lesion", "Its number in the case, and in the viewer"), text("lesion")),
        (text_column("Found by", "Raters who found it, of those who rated it"),
         lambda record: text_cell(f"{record['found']} of {record['rated']}")),
        *([(text_column("Raters"), text("found_by")), (text_column("Missed by"), text("missed_by"))] if named else []),
        (text_column(f"Size{', ' * bool(unit)}{unit}", "Mean over those who found it"), size),
        (text_column("Dice", "Mean over every two raters who found it"), dice),
        (text_column("To look at"), lambda record: text_cell(_remark(record, named))),
    ]  # fmt: skip
    first = records[:MOST_LESIONS]
    note = f"The first {len(first)} of {len(records):,}; all are in agree/lesions.csv." * (len(first) < len(records))
    title = f"All {len(records):,} lesions" if len(first) == len(records) else f"The first {len(first)} lesions"
    yield make_table("lesions", title, first, columns, note, filter=True, closed=True)


def _remark(record: dict[str, Any], named: bool) -> str:
    """Who drew it as several, or with another one; whether the border cuts it."""
    parts = []
    for name, words in (("split_by", "drawn as several"), ("merged_by", "drawn as one with another")):
        if record[name]:
            raters = str(record[name]).replace("; ", ", ")
            parts.append(f"{words} by {raters}" if named else words)
    parts += ["cut by the border: its size is a lower limit"] if record["cut_by_border"] else []
    return "; ".join(parts)
