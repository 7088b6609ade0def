"""The section on the reference standard: consensus methods, how far they differ, and raters against each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from ...analyses.fuse.case import on_modified_background
from ...analyses.fuse.charts import charts
from ...analyses.fuse.fuse import COMPLEXITY
from ...analyses.rows import Row
from ...core.notes import code_of
from ..elements import (
    Beside,
    Block,
    Cell,
    Chart,
    Column,
    PageTable,
    Paragraphs,
    Section,
    Sentence,
    text_cell,
    text_column,
)
from ..findings import Findings
from ..numbers import TableIndex, is_defined
from .cases import why_no_overlap
from .complexity import LEAST_DRAWN
from .raters import LEAST_RATERS, error_dependence
from .vocabulary import (
    UNION,
    as_title,
    case_cell,
    given_references,
    join_names,
    join_parts,
    mean_over,
    method_name,
    method_sentence,
    note_sentences,
    rater_cell,
    sd_column,
    standard_cell,
    standard_name,
)

MethodPair = tuple[str, str]

MOST_HISTOGRAMS = 12
"""Most raters whose histograms are drawn."""
LONG = 12
"""Rows from which on a table can be filtered."""
DIFFERENT = 0.9
"""Dice of two reference standards below which a case is mentioned."""
STEADY = 0.95
"""Dice with itself from which on a method is said not to depend on the background."""
DICE_ENDS = "1: the same mask; 0: nothing in common"

HARD = {
    "iou": ("IoU", "Overlap: what both marked over what either marked; 1 is the same mask"),
    "dice": ("Dice", f"Overlap with the reference standard. {DICE_ENDS}"),
    "sensitivity": ("Sensitivity", "Of what the reference standard marks, the share that the rater marked too"),
    "specificity": ("Specificity", "Of what it leaves, the share that the rater left too; mostly background"),
}
"""Rates of each rater: titles and meanings."""
SOFT = {
    "accuracy": ("Soft accuracy", "Share of pixels that the rater has right, weighted by probability (Gordon 2009)"),
    "gordon_f": ("Gordon's F", "Harmonic mean of sensitivity and specificity, weighted by probability"),
    "balanced_accuracy": ("Balanced accuracy", "Mean of sensitivity and specificity, weighted by probability"),
}
"""Rates against the probabilities of a reference standard."""

STANDARD = text_column("Reference standard", "How the raters were put together")
CHANGED = Column("Changed", "Share of the image that one marks and the other does not (or labels otherwise)")
OTHER = text_column("and", "The one that it is compared with")
SIZE = Column("Relative volume difference", "Difference of the marked areas or volumes, as a share of their mean")


def section(findings: Findings) -> Section:
    """Consensus methods, how far they differ, and which to use when."""
    table, rates = findings.table("fuse/differences"), findings.table("fuse/performance")
    return Section(
        "reference-standard",
        "What can be taken as the reference standard?",
        tuple(_lead(findings, table)),
        (
            *_method_blocks(findings, table),
            *_difference_table(findings, table),
            *_region_table(findings, table),
            *_rate_tables(findings, rates),
            *_histograms(findings),
            *_note_block(findings),
        ),
    )


def _method_pairs(findings: Findings) -> list[MethodPair]:
    return list(combinations(findings.fusion.methods, 2))


def _lead(findings: Findings, table: TableIndex) -> Iterator[Sentence]:
    yield (
        "Where experts differ, there is no single correct mask. A reference standard (often called ground truth) is "
        "what their masks together are taken to say, and there is more than one way to do that.",
    )
    given = given_references(findings.study)
    if given:
        what = "a reference" if len(given) == 1 else "references"
        yield (f"The study also supplied {what} named {join_names(given)}, made independently of these raters.",)
    rows = [
        (row, pair) for pair in _method_pairs(findings) if (row := table.row("dice", "mean", *pair)) and is_defined(row)
    ]
    if rows:
        least, pair = min(rows, key=lambda item: item[0].value)
        yield (*_difference_sentence(findings, table, least, pair, several=len(rows) > 1), *_rater_overlap(findings))
    elif _method_pairs(findings):
        yield (f"How far reference standards differ cannot be computed: {why_no_overlap(findings)}.",)


def _difference_sentence(
    findings: Findings, table: TableIndex, least: Row, pair: MethodPair, *, several: bool
) -> Iterator[str | Cell]:
    names = f"{standard_name(findings, pair[0])} and {standard_name(findings, pair[1])}"
    mean = "mean Dice" if (least.n or 0) > 1 else "Dice"
    yield f"Of the reference standards here, {names} differ most: " if several else f"Here there are {names}: "
    yield f"they overlap by a {mean} of "
    yield table.quote(least, level=findings.interval_name)
    size = table.row("volume_difference", "mean", *pair)
    if size is not None and is_defined(size):
        yield ", with a relative volume difference of "
        yield table.quote(size, 0, percent=True, interval=False)
    yield "."


def _rater_overlap(findings: Findings) -> Iterator[str | Cell]:
    """The overlap of two raters, for comparison."""
    table = findings.table("agree/agreement")
    row = table.row("dice")
    if row is not None and is_defined(row):
        yield f" For comparison, {'the' if len(findings.study.rater_names) == 2 else 'any'} two raters overlap by "
        yield table.quote(row)
        yield "."


def _method_blocks(findings: Findings, table: TableIndex) -> Iterator[Block]:
    raters = len(findings.study.rater_names)
    sentences = tuple((method_sentence(method, raters),) for method in findings.fusion.methods)
    yield Paragraphs(sentences, "How each is made", listed=True)
    advice = tuple(_advice(findings, table))
    if advice:
        yield Paragraphs(advice, "Which to take", listed=True)


def _advice(findings: Findings, table: TableIndex) -> Iterator[Sentence]:
    names = {method.partition(":")[0] for method in findings.fusion.methods}
    two = len(findings.study.rater_names) == 2
    if "vote" in names and not two:
        yield ("A vote is simple, easy to explain and robust: take it unless there is a reason not to.",)
    if "staple" in names:
        text = "STAPLE is for raters who differ in quality and whose errors are independent of each other."
        yield (text, *_dependence_sentences(findings), *_background_sentence(table))
    if two:
        yield ("Two raters cannot outvote each other: where they differ, no consensus can tell who is right.",)
    disputed = _most_different_cases(findings, table)
    if disputed:
        text = "Where reference standards differ much on a case, none settles it: look at it. They differ most on "
        cases: list[Sentence] = [(case_cell(row.case), " (Dice ", table.quote(row), ")") for row in disputed]
        yield (text, *join_parts(cases), ".")


def _dependence_sentences(findings: Findings) -> Iterator[str | Cell]:
    """Whether STAPLE's assumption of independent errors holds."""
    errors = error_dependence(findings)
    if errors is not None:
        yield " Here "
        yield from errors.sentence
        yield ". Its estimates of their rates look better than they are." if errors.few else "."
    elif len(findings.study.rater_names) < LEAST_RATERS:
        yield " Whether they are cannot be determined: this needs at least four raters."


def _background_sentence(table: TableIndex) -> Iterator[str | Cell]:
    """Whether STAPLE depends on the background."""
    row = table.row("dice", "mean", "staple", on_modified_background("staple"))
    if row is not None and row.value < STEADY:
        yield " It also depends on how much background the images have: its masks with and without most of it "
        yield "overlap by a Dice of "
        yield table.quote(row)
        yield "."


def _most_different_cases(findings: Findings, table: TableIndex, most: int = 3) -> list[Row]:
    """The rows of the cases on which two methods overlap least."""
    if len(findings.study) < 2:
        return []
    own = set(_method_pairs(findings))
    rows = [row for row in table.all("dice", "case") if row.extra in own and row.value < DIFFERENT]
    least: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: row.value):
        least.setdefault(row.case, row)
    return list(least.values())[:most]


def _difference_table(findings: Findings, table: TableIndex) -> Iterator[Block]:
    several = len(findings.study.subjects) > 1
    lines = tuple(
        (
            *(standard_cell(findings, method) for method in pair),
            *_dice_cells(table, pair, several),
            table.cell("volume_difference", "mean", *pair, digits=1, percent=True),
            table.cell("changed", "mean", *pair, percent=True),
        )
        for pair in _method_pairs(findings)
    )
    if lines:
        columns = (STANDARD, OTHER, *_dice_columns(findings), SIZE, CHANGED)
        title = f"How far do the reference standards differ? ({mean_over(findings)})"
        yield PageTable("reference-standards", title, columns, lines, filter=len(lines) > LONG)


def _dice_columns(findings: Findings) -> list[Column]:
    help = f"Overlap of the two masks, with its {findings.interval_name}. {DICE_ENDS}"
    return [Column("Dice", help), *([sd_column(findings)] if len(findings.study.subjects) > 1 else [])]


def _dice_cells(table: TableIndex, pair: MethodPair, several: bool) -> list[Cell]:
    """Dice, and its SD where there are several subjects."""
    return [table.cell("dice", scope, *pair) for scope in (("mean", "std") if several else ("mean",))]


def _region_table(findings: Findings, table: TableIndex) -> Iterator[Block]:
    """Each method against itself on the modified background."""
    several, lines = len(findings.study.subjects) > 1, []
    for method in findings.fusion.methods:
        pair = method, on_modified_background(method)
        if table.row("dice", "mean", *pair) is not None:
            changed = table.cell("changed", "mean", *pair, percent=True)
            lines.append((standard_cell(findings, method), *_dice_cells(table, pair, several), changed))
    if lines:
        note = (
            "Each was made again with the background reduced to the size of what any rater marked. A vote cannot "
            "change; where STAPLE does, it depends on how much empty background the images happen to have."
        )
        title = f"Does it matter how much background is counted? ({mean_over(findings)})"
        columns = (STANDARD, *_dice_columns(findings), CHANGED)
        yield PageTable("reference-standards-by-region", title, columns, tuple(lines), note)


def _rate_tables(findings: Findings, table: TableIndex) -> Iterator[Block]:
    """Raters against each reference standard: means over subjects, against probabilities, and pooled."""
    caution = "Raters are compared with what they helped to make: all look somewhat better than they are."
    title = f"Raters against each reference standard, {mean_over(findings)}"
    yield from _rate_table(findings, table, ("rater-rates", title), HARD, note=caution)
    title = f"Raters against the probabilities of each reference standard (Gordon's measures), {mean_over(findings)}"
    yield from _rate_table(findings, table, ("rater-rates-soft", title), SOFT, closed=True)
    if len(findings.study) > 1:
        titles = "rater-rates-pooled", "Raters against each reference standard, all cases together"
        yield from _rate_table(findings, table, titles, HARD, scope="pooled", closed=True)


def _rate_table(
    findings: Findings, table: TableIndex, titles: MethodPair, rates: Mapping[str, MethodPair], *,
    scope: str = "mean", note: str = "", closed: bool = False,
) -> Iterator[PageTable]:  # fmt: skip
    rows = [r for r in table.rows if r.scope == scope and not r.group and r.statistic in rates]
    if len(findings.study.rater_names) == 2:  # nobody marks more than the union of two
        rows = [r for r in rows if method_name(str(r["method"]), 2) != UNION]
    shown = [name for name in rates if any(r.statistic == name for r in rows)]
    lines = tuple(
        (
            _rater_cell(findings, rater),
            standard_cell(findings, method),
            *(table.cell(name, scope, method, rater) for name in shown),
        )
        for method, rater in dict.fromkeys((str(r["method"]), str(r["rater"])) for r in rows)
    )
    if lines:
        heads = text_column("Rater", "Who is compared"), text_column("with", "The reference standard")
        columns = (*heads, *(Column(*rates[name]) for name in shown))
        yield PageTable(*titles, columns, lines, note, len(lines) > LONG, closed)


def _rater_cell(findings: Findings, rater: str) -> Cell:
    """The rater; exchangeable raters are averaged."""
    return rater_cell(findings, rater) if rater else text_cell("mean of raters")


def _histograms(findings: Findings) -> Iterator[Block]:
    raters = len(findings.study.rater_names)
    many = raters > MOST_HISTOGRAMS and not findings.study.options.exchangeable
    if many or raters == 2 or len(findings.study) < LEAST_DRAWN:
        return
    svgs = charts(findings.fusion)
    caption = "How far each rater overlaps with it, case by case; line: mean of the cases."
    names = {method: f"iou-{method.replace(':', '-')}" for method in findings.fusion.methods}
    title = {method: as_title(standard_name(findings, method)) for method in names}
    blocks = tuple(Chart(f"fuse-{n}", svgs[n], f"{title[m]}. {caption}") for m, n in names.items() if n in svgs)
    if blocks:
        yield Beside(blocks)


def _note_block(findings: Findings) -> Iterator[Block]:
    """Notes of the consensus methods."""
    known = findings.agreement.notes
    own = (note for note in findings.fusion.notes if code_of(note) != COMPLEXITY and note not in known)
    notes = note_sentences(findings, own)
    if shown := tuple((note,) for note in notes):
        yield Paragraphs(shown, "Notes on these reference standards", listed=True, kind="note")
