"""The section on adjudication: what was settled, by whom, how far to trust it, and the digests of the logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...analyses.adjudicated.adjudicated import Adjudicated
from ...charts.bars import bars
from ...claims.adjudication import CHOICES, METHODS, QUALITY, RECORD
from ...claims.numbers import TableIndex
from ...claims.sentences import Cell, case_cell, text_cell
from ...io.result_tables import Row
from ..building import ColumnOf, make_table, text_column
from ..elements import Beside, Block, Chart, Column, Paragraphs, Section
from ..findings import Findings
from .vocabulary import note_block

KIND_WORDS = {"missed": "missed", "label": "other label", "border": "border", "tile": "tile"}
SHORT = {
    "rater": "a rater's", "none": "no lesion", "not_evaluable": "not evaluable", "drawn": "drawn anew",
}  # fmt: skip
"""Choices in a chart, whose names are short."""
MEASURES = {
    "controls_overturned": ("Controls overturned", "Lesions on which all agreed, regions that nobody marked"),
    "intra_agreement": ("Same decision when shown again", "The same pixels, or nearly where drawn"),
    "intra_presence": ("Lesion or none alike when shown again", "Lesion, no lesion or not evaluable"),
    "intra_dice": ("Dice of both decisions", "Mean, where both left a lesion"),
    "inter_agreement": ("Same decision of two adjudicators", "The same pixels, or nearly where drawn"),
    "inter_presence": ("Lesion or none alike for two adjudicators", "Lesion, no lesion or not evaluable"),
    "inter_dice": ("Dice of two adjudicators", "Mean, where both left a lesion"),
    "first_look_kept": ("First look kept", "Decisions that say what the look at the bare image said"),
}  # fmt: skip
PLAIN = ("intra_dice", "inter_dice")
LONG = 12
"""Rows from which on a table can be filtered."""


def section(findings: Findings) -> Section | None:
    """The section on adjudication; None where nobody decided anything."""
    result = findings.adjudicated
    if result is None:
        return None
    table = findings.table("adjudicated/adjudication")
    claims = result.claims
    return Section(
        "adjudication",
        "How were disputes settled?",
        claims.sentences(*METHODS),
        (
            *_charts(table),
            *_quality(findings, table),
            *_pace(result, table),
            *_cases(findings, result, table),
            Paragraphs(claims.sentences(CHOICES.id, *QUALITY), "How far to trust it", listed=True),
            Paragraphs(claims.sentences(RECORD.id), "The record"),
            *note_block(findings, result.notes, "Notes on the adjudication"),
        ),
    )  # fmt: skip


def _charts(table: TableIndex) -> Iterator[Block]:
    """What was disputed, and what was chosen."""
    kinds = {str(r.extra[2]): r.value for r in table.rows if r.statistic == "disputes" and r.extra[2]}
    chosen = {str(r.extra[3]): r.value for r in table.rows if r.statistic == "chosen" and not r.extra[2]}
    charts = []
    if kinds:
        svg = bars({KIND_WORDS.get(k, k): v for k, v in kinds.items()}, "disputes", "Disputes by kind", digits=0)
        charts.append(
            Chart(
                "adjudication-kinds",
                svg,
                "What raters differed on: a lesion that somebody missed, its label, or its border.",
            )
        )
    if chosen:
        named = {SHORT.get(k, k): v for k, v in sorted(chosen.items(), key=lambda item: -item[1])}
        svg = bars(named, "decisions", "What was chosen", digits=0)
        charts.append(
            Chart(
                "adjudication-choices",
                svg,
                "What the decisions that hold are: a rater's outline, what raters have in common, or another.",
            )
        )
    if charts:
        yield Beside(tuple(charts)) if len(charts) > 1 else charts[0]


def _quality(findings: Findings, table: TableIndex) -> Iterator[Block]:
    """Controls, repeats and double decisions."""
    rows = [r for r in table.rows if r.statistic in MEASURES and r.scope == "pooled" and not r.extra[2]]
    total = {r.statistic: r.n for r in rows if not r.extra[0]}
    # who alone did all of it has the numbers of all
    rows = [r for r in rows if not r.extra[0] or r.n != total[r.statistic]]
    if not rows:
        return
    order = list(MEASURES)
    rows.sort(key=lambda r: (order.index(r.statistic), bool(r.extra[0])))

    def who(row: Row) -> Cell:
        a, b = str(row.extra[0]), str(row.extra[1])
        return text_cell("all" if not a else a if b in ("", a) else f"{a} and {b}")

    def value(row: Row) -> Cell:
        plain = row.statistic in PLAIN
        return table.quote(row, 2 if plain else 0, percent=not plain)

    columns: list[ColumnOf[Row]] = [
        (text_column("Measure"), lambda r: text_cell(MEASURES[r.statistic][0], why=MEASURES[r.statistic][1])),
        (text_column("Adjudicator"), who),
        (Column("Value", f"Shares with their {findings.interval_name}"), value),
        (Column("n", "Decisions, or pairs of decisions"), lambda r: text_cell(r.n)),
    ]
    note = "Intervals know which decisions are about one patient. Where all are, there is none."
    yield make_table("adjudication-quality", "How adjudicators agree", rows, columns, note)


def _pace(result: Adjudicated, table: TableIndex) -> Iterator[Block]:
    """Decisions and seconds by adjudicator."""
    names = ["", *result.record.adjudicators] if len(result.record.adjudicators) > 1 else [""]

    def number(statistic: str, digits: int = 0) -> Callable[[str], Cell]:
        return lambda name: table.cell(statistic, "pooled", name, "", "", "", digits=digits)

    columns: list[ColumnOf[str]] = [
        (text_column("Adjudicator"), lambda name: text_cell(name or ", ".join(result.record.adjudicators))),
        (Column("Decisions", "Without practice, and without those taken back"), number("decisions")),
        (Column("Median seconds", "From the outlines to the decision"), number("median_seconds", 1)),
    ]
    yield make_table("adjudication-pace", "Who decided, and how fast", names, columns)


def _cases(findings: Findings, result: Adjudicated, table: TableIndex) -> Iterator[Block]:
    """Cases that had disputes."""
    names = [name for name, outcome in result.cases.items() if outcome.counts["disputes"] or outcome.counts["stale"]]
    if not names:
        return

    def count(statistic: str) -> Callable[[str], Cell]:
        return lambda name: table.cell(statistic, "case", "", "", "", "", case=name, digits=0)

    columns: list[ColumnOf[str]] = [
        (text_column("Case"), case_cell),
        (Column("Disputes"), count("disputes")),
        (Column("Decided"), count("decided")),
        (Column("In conflict", "Decided differently by two adjudicators, and by no third"), count("conflict")),
        (Column("Not evaluable"), count("not_evaluable")),
        (Column("Changed", f"{findings.pixel_word.capitalize()}s in which the adjudicated mask differs from the rule"),
         count("changed")),
    ]  # fmt: skip
    yield make_table(
        "adjudication-cases", "Case by case", names, columns, filter=len(names) > LONG, closed=len(names) > LONG
    )
