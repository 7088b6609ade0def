"""The section on given references: raters, consensuses and algorithms against each.

By overlap, distance, size and lesions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isnan

from ...analyses.agree.reference_sizes import LINES, RELATION, chart_name, rater_charts
from ...analyses.agree.references import SIZE_DIFFERENCE
from ...analyses.evaluate.case_scores import NO_PREDICTION, ONE_EMPTY
from ...claims.numbers import TableIndex, is_defined, significant_digits
from ...claims.sentences import Cell, Sentence, join_names, text_cell
from ...claims.sizes import RATIOS
from ...core.labels import MACRO
from ...core.undefined import code
from ...io.result_tables import Row
from ..building import ColumnOf, make_table, text_column
from ..elements import Beside, Block, Chart, Column, PageTable, Paragraphs, Section
from ..findings import Findings
from .algorithm_scores import algorithm_cell
from .sizes import TITLES
from .standards import given_references, size_word, standard_cell
from .vocabulary import (
    DISTANCE_TITLES,
    distance_meaning,
    in_items,
    rater_cell,
    sd_column,
    size_difference_title,
    with_unit,
)

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
    "volume_difference": ("", "Difference of the two sizes, without sign, over their mean; 200% where one is empty"),
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
    kinds = ("equals_rater", "equals_vote", "equals_adjudicated", "raters_scored")
    yield from findings.agreement.claims.sentences(*(f"reference.{kind}" for kind in kinds))
    yield from findings.fusion.claims.sentences("reference.equals_consensus")
    yield from findings.agreement.claims.sentences("reference.sizes")
    if findings.evaluation is not None:
        yield from findings.evaluation.claims.sentences("reference.sizes")


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
        distances = [*_without_distance(findings, judged), *distances]
        title = f"Distance to the outlines of the given reference{over}"
        yield _table(findings, "given-reference-distances", title, judged, distances, note)
    own = [each for each in judged if each.find(SIZE_DIFFERENCE) is not None]
    size = size_word(findings)
    relative = size_difference_title(findings, *{id(each.table): each.table for each in own}.values())
    titles = {n: (t.format(size=size).capitalize() or relative, help) for n, (t, help) in SIZES.items()}
    if own and (sizes := _columns(findings, titles, own)):
        if spread:
            help = f"Standard deviation of {size} − reference between {findings.subject_word}s."
            rows = [row for each in own if (row := each.find(SIZE_DIFFERENCE)) is not None]
            digits = _digits(SIZE_DIFFERENCE, rows)
            sizes.insert(1, (Column("SD", help), _value(SIZE_DIFFERENCE, "std", digits)))
        title = f"{size.capitalize()} compared with the given reference{over}"
        yield _table(findings, "given-reference-sizes", title, own, sizes)
    yield from _limits(findings)
    yield from _charts(findings)
    found = [each for each in judged if each.find("lesion_f1") is not None]
    if lesions := _columns(findings, LESIONS, found):
        note = (
            "Where neither of the two has a lesion, there is no number, and such cases do not count; nor do they in "
            "sensitivity where the reference alone has none, in precision where it alone has some, and in SQ where "
            "none is matched."
        )
        title = f"Lesions compared with those of the given reference{over}"
        yield _table(findings, "given-reference-lesions", title, found, lesions, note)


def _without_distance(findings: Findings, judged: Sequence[Judged]) -> list[ColumnOf[Judged]]:
    """How many cases have no distance, and how they count; no column where all have one."""
    excluding = findings.evaluation is not None and findings.evaluation.plan.missing == "exclude"
    empty: dict[tuple[object, ...], set[str]] = {}
    unpredicted: set[str] = set()
    for table in {id(each.table): each.table for each in judged}.values():
        name = next((name for name in DISTANCE_TITLES if any(True for _ in table.all(name, "mean", label=None))), "")
        for row in table.all(name, "case", label=None):
            why = code(row.value)
            if why == NO_PREDICTION and excluding:
                unpredicted.add(row.case)
            elif why in (ONE_EMPTY, NO_PREDICTION):
                for label in {row.label, MACRO}:
                    empty.setdefault((*row.extra, label), set()).add(row.case)

    def cell(each: Judged) -> Cell:
        cases = empty.get((*each.row.extra, each.row.label), set())
        if "algorithm" in each.row.columns:
            return text_cell(f"{len(counted)} as the diagonal" if (counted := cases - unpredicted) else 0)
        return text_cell(f"{len(cases)} left out" if cases else 0)

    help = "Cases in which one of the two masks is empty: left out, or counted as the image's diagonal"
    help += ", as is a case without a prediction" * (findings.evaluation is not None and not excluding)
    return [(text_column("No distance", help), cell)] if empty else []


LESIONS = {
    "lesion_sensitivity": ("Sensitivity", "Of the lesions of the reference, the share that was matched"),
    "lesion_precision": ("Precision", "Of the lesions that were marked, the share that was matched"),
    "lesion_f1": ("F1", "Harmonic mean of the two: matched lesions over the mean number of lesions"),
    "lesion_pq": ("PQ", "Panoptic quality: F1 times SQ"),
    "lesion_sq": ("SQ", "Mean IoU of matched lesions"),
}


@dataclass(frozen=True)
class _Limits:
    """The sizes of somebody against a reference: where their numbers stand."""

    table: TableIndex
    row: Row
    """Of the bias."""
    who: Cell

    def quote(self, statistic: str) -> Cell:
        """Another number of the same comparison: a ratio with its sign, ``×0.96``, or a difference."""
        row = self.table.row(statistic, "pooled", *self.row.extra, label=self.row.label)
        if row is None:
            return text_cell("")
        cell = self.table.quote(row, 2)
        return replace(cell, shown=f"×{cell.shown}") if row["scale"] == "log" and is_defined(row) else cell

    @property
    def draws_limits(self) -> bool:
        """Whether there are limits to draw."""
        return is_defined(self.table.row("lower_limit", "pooled", *self.row.extra, label=self.row.label))

    def quote_line(self, part: str) -> Cell:
        """Slope or intercept of the line, which is that of the sizes themselves."""
        extra = (*self.row.extra[:2], "linear", *self.row.extra[3:])
        rows = (self.table.row(f"{line}_{part}", "pooled", *extra, label=self.row.label) for line in LINES)
        row = next((row for row in rows if row is not None), None)
        if row is None:
            return text_cell("")
        ends = [abs(end) for end in (row.value, row.low, row.high) if end is not None and not isnan(end)]
        return self.table.quote(row, 2 if part == "slope" else significant_digits(max(ends, default=0.0)))


def _compared(findings: Findings) -> Iterator[_Limits]:
    """Raters, then algorithms."""
    for name in ("agree", "evaluate"):
        table = findings.table(f"{name}/size_agreement")
        for row in table.all("bias", "pooled", label=None):
            if row.extra[3] == RELATION and is_defined(row):
                who = str(row.extra[4])
                cell = rater_cell(findings, who) if name == "agree" else algorithm_cell(findings, who)
                yield _Limits(table, row, cell)


def _limits(findings: Findings) -> Iterator[Block]:
    """Bias and limits of agreement, then the line, by size."""
    rows = list(_compared(findings))
    if not rows:
        return
    several, long = any(each.row.label for each in rows), len(rows) > LONG
    head: list[ColumnOf[_Limits]] = [
        *([(text_column("Label", "What was marked"), lambda each: text_cell(each.row.label))] if several else []),
        (text_column("Who", "A rater or an algorithm"), lambda each: each.who),
        *([(text_column("with", "The given reference"), lambda each: text_cell(each.row.extra[5]))]
          if len({each.row.extra[5] for each in rows}) > 1 else []),
        (text_column("Size"), lambda each: text_cell(f"{TITLES[each.row['size']]}, {each.row['unit']}")),
    ]  # fmt: skip
    help = f"{findings.subject_word.capitalize()}s in which both have the size"
    count: ColumnOf[_Limits] = (Column("n", help), lambda each: text_cell(each.row.n))
    limits: list[ColumnOf[_Limits]] = [
        (Column("Bias", "Areas and volumes: mean ratio (×) to the reference, above 1 where more was marked. Lengths: "
                "mean difference, in the unit of the row."), lambda each: each.quote("bias")),
        (Column("Lower limit", "With the upper limit: holds 95% of the ratios, if their logarithms are normal; of "
                "lengths, of the differences."), lambda each: each.quote("lower_limit")),
        (Column("Upper limit", "With the lower limit: holds 95% of the ratios or differences."),
         lambda each: each.quote("upper_limit")),
        count,
        (Column("No ratio", "Cases in which one or both marked nothing"),
         lambda each: text_cell(each.row.n_undefined)),
    ]  # fmt: skip
    title = "Sizes compared with the given reference: bias and limits of agreement"
    note = _own_note(findings)
    yield make_table("given-reference-limits", title, rows, [*head, *limits], note, filter=long)
    ratio = findings.settings.error_ratio
    line, why = ("Passing–Bablok", "it needs no ratio of the errors of the two")
    if ratio is not None:
        line, why = ("Deming", f"the ratio of the error variances is given as {ratio:g}")
    lines: list[ColumnOf[_Limits]] = [
        (Column("Slope", "1 where sizes differ by a constant at most."), lambda each: each.quote_line("slope")),
        (Column("Intercept", "In the unit of the row: 0 where sizes differ by a factor at most."),
         lambda each: each.quote_line("intercept")),
        count,
    ]  # fmt: skip
    note = f"Size = intercept + slope × reference, by {line} regression: {why}."
    title = "Sizes compared with the given reference: line"
    yield make_table("given-reference-lines", title, rows, [*head, *lines], note, filter=long)


def _charts(findings: Findings) -> Iterator[Block]:
    """Bland–Altman plots of areas or volumes, two beside each other."""
    evaluation = findings.evaluation
    raters = rater_charts(findings.agreement.tables, findings.study)
    algorithms = evaluation.sizes.charts if evaluation is not None and evaluation.sizes is not None else {}
    svgs = dict(item for charts in (raters, algorithms) for item in list(charts.items())[:MOST_CHARTS])
    shown = [Chart(name, svg, CAPTION) for name, svg in svgs.items()]
    for i in range(0, len(shown), 2):
        yield Beside(tuple(shown[i : i + 2])) if len(shown[i : i + 2]) > 1 else shown[i]
    if shown and (others := _not_drawn(findings, svgs)):
        yield Paragraphs(((f"Not drawn here, but in the table above: {join_names(others)}.",),), kind="note")


def _not_drawn(findings: Findings, drawn: Collection[str]) -> list[str]:
    """Who is compared by area or volume without a chart on the page."""
    rows = [each.row for each in _compared(findings) if each.row["size"] in RATIOS and each.draws_limits]
    several = len({row.extra[5] for row in rows}) > 1
    names = {
        chart_name([str(name) for name in row.extra[4:6]], row.label): str(row.extra[4])
        + (f" against {row.extra[5]}" if several else "")
        + (f" ({row.label})" if row.label else "")
        for row in rows
    }
    return [name for key, name in names.items() if key not in drawn]


MOST_CHARTS = 8
"""Of raters, and of algorithms; ``agree`` and ``evaluate`` draw more."""
CAPTION = "Ratio of the two sizes of each case, with the limits of agreement and their intervals."


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
    # one reference that is nobody's own mask is named above, and its column would take the width of a phone
    against = len({each.against for each in judged}) > 1 or any(_own_masks(findings, each) for each in judged)
    head: list[ColumnOf[Judged]] = [
        (text_column("Label", "What was marked"), lambda each: text_cell(named.get(each.row.label, each.row.label))),
        (text_column("Who", "A rater, a consensus of the raters, or an algorithm"), lambda each: each.who),
        *([(text_column("with", "The given reference, and whose mask it is where it is a rater's own"),
            lambda each: text_cell(each.against, below=_own_masks(findings, each)))] if against else []),
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
    whose = join_names([f"{who} in {same}" for who, same in own.items()])
    return f"the mask of {whose}: marks that are in this consensus"


def _own_note(findings: Findings) -> str:
    if not findings.agreement.equal_references or findings.study.options.exchangeable:
        return ""
    return (
        "In cases in which a reference is a rater's own mask, the rater's numbers are perfect by construction, and a "
        "consensus holds the same marks: neither is judged by something independent."
    )
