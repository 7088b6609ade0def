"""The section on given references: raters, consensuses and algorithms against each, by overlap, distance and size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...analyses.agree.references import SIZE_DIFFERENCE
from ...claims.numbers import TableIndex, is_defined
from ...claims.sentences import Cell, Sentence, join_names, text_cell
from ...core.labels import MACRO
from ...io.result_tables import Row
from ..building import ColumnOf, make_table, text_column
from ..elements import Block, Column, PageTable, Section
from ..findings import Findings
from .algorithm_scores import algorithm_cell
from .standards import given_references, size_word, standard_cell
from .vocabulary import DISTANCE_TITLES, distance_meaning, in_items, rater_cell, sd_column, with_unit

PERCENT = ("volume_difference",)
"""Shown as a percentage."""
LARGE = 100
"""Differences of size are whole numbers where any is as large as this."""
LONG = 12
"""Rows from which on a table can be filtered."""
OVERLAPS = {
    "dice": ("Dice", "Overlap with the reference; 1: the same mask, 0: nothing in common"),
    "iou": ("IoU", "What both marked over what either marked; 1 is the same mask"),
    "sensitivity": ("Sensitivity", "Of what the reference marks, the share that was marked"),
    "specificity": ("Specificity", "Of what it leaves, the share that was left too; mostly background"),
    "ppv": ("PPV", "Of what was marked, the share that the reference marks"),
}
SIZES = {
    SIZE_DIFFERENCE: ("{size} − reference", "What was marked less what the reference has: above 0 where it is more"),
    "volume_difference": ("Relative {size} difference", "Difference of the two sizes, without sign, over their mean"),
}


@dataclass(frozen=True)
class Judged:
    """Somebody against a given reference: where their numbers stand."""

    table: TableIndex
    row: Row
    """Of Dice, the mean over subjects."""
    who: Cell

    @property
    def against(self) -> str:
        """The reference."""
        return str(self.row["against"])

    def find(self, statistic: str, scope: str = "mean") -> Row | None:
        """The row of another statistic."""
        return self.table.row(statistic, scope, *self.row.extra, label=self.row.label)


def section(findings: Findings) -> Section | None:
    """The section on given references; None where none are given."""
    judged = list(_judged(findings))
    if not judged:
        return None
    title = "How far do the raters agree with the given reference?"
    if findings.evaluation is not None:
        title = "How far do raters and algorithms agree with the given reference?"
    return Section("given-reference", title, tuple(_lead(findings)), tuple(_blocks(findings, judged)))


def _lead(findings: Findings) -> Iterator[Sentence]:
    given = given_references(findings.study)
    what, they = ("a reference", "it was") if len(given) == 1 else ("references", "they were")
    yield (f"The study gives {what} named {join_names(given)}; the files do not say how {they} made.",)
    kinds = ("reference.equals_rater", "reference.equals_vote", "reference.raters_scored")
    yield from findings.agreement.claims.sentences(*kinds)
    yield from findings.fusion.claims.sentences("reference.equals_consensus")


def _judged(findings: Findings) -> Iterator[Judged]:
    """Raters, then consensuses, then algorithms, label by label."""
    table, given = findings.table("fuse/reference_scores"), set(given_references(findings.study))
    for row in (r for r in table.all("dice", "mean", label=None) if not r.group):
        yield Judged(table, row, _who(findings, row))
    scores = findings.table("evaluate/scores")
    for row in (r for r in scores.all("dice", "mean", label=None) if not r.group and r["against"] in given):
        yield Judged(scores, row, algorithm_cell(findings, str(row["algorithm"])))


def _who(findings: Findings, row: Row) -> Cell:
    if row["method"]:
        return standard_cell(findings, str(row["method"]))
    return rater_cell(findings, str(row["rater"])) if row["rater"] else text_cell("mean of raters")


def _blocks(findings: Findings, judged: Sequence[Judged]) -> Iterator[Block]:
    over = f", mean over {findings.subject_word}s" * (len(findings.study.subjects) > 1)
    spread = len(findings.study.subjects) > 1
    overlap = _columns(findings, OVERLAPS, judged)
    if spread:
        overlap.append((sd_column(findings, "Dice SD"), _value("dice", "std")))
    yield _table(findings, "given-references", f"Overlap with the given reference{over}", judged, overlap)
    titles = {name: (title, distance_meaning(findings, name)) for name, title in DISTANCE_TITLES.items()}
    if distances := _columns(findings, titles, judged):
        note = "Where one of the two masks is empty there is no distance; such cases do not count here."
        if findings.evaluation is not None:
            note = "Where one of the two masks is empty there is no distance: such cases do not count for raters and "
            note += "consensuses; for algorithms they count as the image's diagonal, or as a surface Dice of 0."
        title = f"Distance to the outlines of the given reference{over}"
        yield _table(findings, "given-reference-distances", title, judged, distances, note)
    own = [each for each in judged if each.find(SIZE_DIFFERENCE) is not None]
    size = size_word(findings)
    titles = {n: (t.format(size=size).capitalize(), help) for n, (t, help) in SIZES.items()}
    if own and (sizes := _columns(findings, titles, own)):
        if spread:
            help = f"Standard deviation of {size} − reference between {findings.subject_word}s."
            rows = [row for each in own if (row := each.find(SIZE_DIFFERENCE)) is not None]
            digits = _digits(SIZE_DIFFERENCE, rows)
            sizes.insert(1, (Column("SD", help), _value(SIZE_DIFFERENCE, "std", digits)))
        title = f"{size.capitalize()} compared with the given reference{over}"
        yield _table(findings, "given-reference-sizes", title, own, sizes)


def _columns(
    findings: Findings, titles: dict[str, tuple[str, str]], judged: Sequence[Judged]
) -> list[ColumnOf[Judged]]:
    """Columns of the statistics that anybody has, with their unit."""
    columns: list[ColumnOf[Judged]] = []
    for statistic, (title, help) in titles.items():
        if rows := [row for each in judged if (row := each.find(statistic)) is not None]:
            head = Column(with_unit(title, rows), in_items(findings, help))
            columns.append((head, _value(statistic, digits=_digits(statistic, rows))))
    return columns


def _digits(statistic: str, rows: Sequence[Row]) -> int:
    """So many that large sizes are whole numbers."""
    if statistic in PERCENT:
        return 1
    largest = max((abs(row.value) for row in rows if is_defined(row)), default=0.0)
    return 0 if statistic == SIZE_DIFFERENCE and largest >= LARGE else 2


def _value(statistic: str, scope: str = "mean", digits: int = 2) -> Callable[[Judged], Cell]:
    def cell(each: Judged) -> Cell:
        row = each.find(statistic, scope)
        if row is None:
            return text_cell("")
        shown = each.table.quote(row, digits, percent=statistic in PERCENT)
        # n of Dice has a column
        other = scope == "mean" and row.n != each.row.n and row.n
        return replace(shown, below=f"n = {row.n}" if other else "")

    return cell


def _table(
    findings: Findings,
    name: str,
    title: str,
    judged: Sequence[Judged],
    columns: Sequence[ColumnOf[Judged]],
    note: str = "",
) -> PageTable:
    several = any(each.row.label for each in judged)
    named = {"": "mean of labels", MACRO: "mean of labels"}
    head: list[ColumnOf[Judged]] = [
        (text_column("Label", "What was marked"), lambda each: text_cell(named.get(each.row.label, each.row.label))),
        (text_column("Who", "A rater, a consensus of the raters, or an algorithm"), lambda each: each.who),
        (text_column("with", "The given reference, and whose mask it is where it is a rater's own"),
         lambda each: text_cell(each.against, below=_own_masks(findings, each))),
    ]  # fmt: skip
    help = f"{findings.subject_word.capitalize()}s with this reference for which Dice is defined"
    count: ColumnOf[Judged] = (Column("n", help), lambda each: text_cell(each.row.n))
    shown = [*(head if several else head[1:]), *columns, count]
    note = " ".join(filter(None, (note, _own_note(findings))))
    return make_table(name, title, judged, shown, note, filter=len(judged) > LONG)


def _own_masks(findings: Findings, each: Judged) -> str:
    """Whether a reference is the mask of the rater in this row, or of one whose marks are in this consensus."""
    own = {who: same for (name, who), same in findings.agreement.equal_references.items() if name == each.against}
    if "algorithm" in each.row.columns:
        return ""
    if each.row["rater"]:
        same = own.get(str(each.row["rater"]))
        return f"their own mask in {same}" if same else ""
    if not each.row["method"] or not own:
        return ""
    return f"the mask of {join_names(list(own))}, whose marks are in this consensus"


def _own_note(findings: Findings) -> str:
    if not findings.agreement.equal_references or findings.study.options.exchangeable:
        return ""
    return (
        "Where a reference is a rater's own mask, the rater's numbers are perfect by construction, and a consensus "
        "holds the same marks: neither is judged by something independent."
    )
