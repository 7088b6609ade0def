"""The section on the reference standard: what can be taken, how far it differs, the raters against each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from ...analyses.fuse.charts import charts
from ...analyses.fuse.fused import on_modified_background
from ...analyses.fuse.verb import COMPLEXITY
from ...analyses.rows import Row
from ...core.notes import code_of
from ..findings import Findings
from ..parts import Beside, Block, Cell, Chart, Column, PageTable, Paragraphs, Section, Sentence, words
from .complexity import LEAST_DRAWN
from .dependence import LEAST_RATERS, dependence
from .disputed import no_overlap
from .notes import notes_of
from .numbers import Numbers, known, numbers
from .standards import UNION, called, described, given_references, spoken, standard_cell, titled
from .wording import case_cell, deviation, interval_name, joined, listed, over, rater_cell

Pair = tuple[str, str]

MOST_HISTOGRAMS = 12
"""Raters, one below the other; with more, the table has to do."""
LONG = 12
"""Lines from which on a table can be filtered."""
DIFFERENT = 0.9
"""Dice of two reference standards from which on a case is not worth a word."""
STEADY = 0.95
"""Dice with itself from which on a method does not depend on the background."""
SAME = "1: the same mask; 0: nothing in common"

HARD = {
    "iou": ("IoU", "Overlap: what both marked over what either marked; 1 is the same mask"),
    "dice": ("Dice", f"Overlap with the reference standard. {SAME}"),
    "sensitivity": ("Sensitivity", "Of what the reference standard marks, the share that the rater marked too"),
    "specificity": ("Specificity", "Of what it leaves, the share that the rater left too; mostly background"),
}
"""Rates of each rater, how they are called, and what they mean."""
SOFT = {
    "accuracy": ("Soft accuracy", "Share of places that the rater has right, weighed by how sure it is (Gordon)"),
    "gordon_f": ("Gordon's F", "Sensitivity and specificity in one number (harmonic mean), weighed by how sure it is"),
    "balanced_accuracy": ("Balanced accuracy", "Mean of sensitivity and specificity, weighed by how sure it is"),
}
"""The same, against how sure a reference standard is."""

STANDARD = Column("Reference standard", "How the raters were put together", number=False)
CHANGED = Column("Changed", "Share of the image that one marks and the other does not (or labels otherwise)")
OTHER = Column("and", "The one that it is compared with", number=False)
SIZE = Column("Size differs by", "Difference of the marked areas or volumes, as a share of their mean")


def section(found: Findings) -> Section:
    """What the estimators make of the raters, how far they differ, and which to take when."""
    table, rates = numbers(found, "fuse", "differences"), numbers(found, "fuse", "performance")
    return Section(
        "reference-standard",
        "What can be taken as the reference standard?",
        tuple(_lead(found, table)),
        (
            *_choices(found, table),
            *_between(found, table),
            *_by_region(found, table),
            *_rates(found, rates),
            *_histograms(found),
            *_endings(found),
        ),
    )


def _pairs(found: Findings) -> list[Pair]:
    return list(combinations(found.fusion.methods, 2))


def _lead(found: Findings, table: Numbers) -> Iterator[Sentence]:
    yield (
        "Where experts differ, there is no single correct mask. A reference standard (often called ground truth) is "
        "what their masks together are taken to say, and there is more than one way to do that.",
    )
    given = given_references(found.study)
    if given:
        what = "a reference" if len(given) == 1 else "references"
        yield (f"The study also supplied {what} named {listed(given)}, made independently of these raters.",)
    rows = [(row, pair) for pair in _pairs(found) if (row := table.row("dice", "mean", *pair)) and known(row)]
    if rows:
        least, pair = min(rows, key=lambda one: one[0].value)
        yield (*_apart(found, table, least, pair, several=len(rows) > 1), *_yardstick(found))
    elif _pairs(found):
        yield (f"How far reference standards differ cannot be told: {no_overlap(found)}.",)


def _apart(found: Findings, table: Numbers, least: Row, pair: Pair, *, several: bool) -> Iterator[str | Cell]:
    names = f"{spoken(found, pair[0])} and {spoken(found, pair[1])}"
    mean = "mean Dice" if (least.n or 0) > 1 else "Dice"
    yield f"Of the reference standards here, {names} differ most: " if several else f"Here there are {names}: "
    yield f"they overlap by a {mean} of "
    yield table.quote(least, level=interval_name(found))
    size = table.row("volume_difference", "mean", *pair)
    if size is not None and known(size):
        yield " and differ in size by "
        yield table.quote(size, 0, percent=True, interval=False)
    yield "."


def _yardstick(found: Findings) -> Iterator[str | Cell]:
    """How far two raters are apart, to compare with."""
    table = numbers(found, "agree", "agreement")
    row = table.row("dice")
    if row is not None and known(row):
        yield f" For comparison, {'the' if len(found.study.rater_names) == 2 else 'any'} two raters overlap by "
        yield table.quote(row)
        yield "."


def _choices(found: Findings, table: Numbers) -> Iterator[Block]:
    raters = len(found.study.rater_names)
    told = tuple((described(method, raters),) for method in found.fusion.methods)
    yield Paragraphs(told, "How each is made", listed=True)
    advice = tuple(_advice(found, table))
    if advice:
        yield Paragraphs(advice, "Which to take", listed=True)


def _advice(found: Findings, table: Numbers) -> Iterator[Sentence]:
    names = {method.partition(":")[0] for method in found.fusion.methods}
    two = len(found.study.rater_names) == 2
    if "vote" in names and not two:
        yield ("A vote is simple, easy to explain and robust: take it unless there is a reason not to.",)
    if "staple" in names:
        told = "STAPLE is for raters who differ in quality and whose errors are independent of each other."
        yield (told, *_errors(found), *_background(table))
    if two:
        yield ("Two raters cannot outvote each other: where they differ, no reference standard knows who is right.",)
    disputed = _disputed(found, table)
    if disputed:
        told = "Where reference standards differ much on a case, none settles it: look at it. They differ most on "
        cases: list[Sentence] = [(case_cell(row.case), " (Dice ", table.quote(row), ")") for row in disputed]
        yield (told, *joined(cases), ".")


def _errors(found: Findings) -> Iterator[str | Cell]:
    """STAPLE's assumption, in words."""
    errors = dependence(found)
    if errors is not None:
        yield " Here "
        yield from errors.told
        yield ". The rates that it gives them look better than they are." if errors.few else "."
    elif len(found.study.rater_names) < LEAST_RATERS:
        yield " Whether they are cannot be told: this needs at least four raters."


def _background(table: Numbers) -> Iterator[str | Cell]:
    """Whether STAPLE hangs on the background, in words."""
    row = table.row("dice", "mean", "staple", on_modified_background("staple"))
    if row is not None and row.value < STEADY:
        yield " It also depends on how much background the images have: its masks with and without most of it "
        yield "overlap by a Dice of "
        yield table.quote(row)
        yield "."


def _disputed(found: Findings, table: Numbers, most: int = 3) -> list[Row]:
    """Of the cases on which some two methods overlap least, the rows."""
    if len(found.study) < 2:
        return []
    own = set(_pairs(found))
    rows = [row for row in table.all("dice", "case") if row.extra in own and row.value < DIFFERENT]
    least: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: row.value):
        least.setdefault(row.case, row)
    return list(least.values())[:most]


def _between(found: Findings, table: Numbers) -> Iterator[Block]:
    several = len(found.study.subjects) > 1
    lines = tuple(
        (
            *(standard_cell(found, method) for method in pair),
            *_spread(table, pair, several),
            table.cell("volume_difference", "mean", *pair, digits=1, percent=True),
            table.cell("changed", "mean", *pair, percent=True),
        )
        for pair in _pairs(found)
    )
    if lines:
        columns = (STANDARD, OTHER, *_dice(found), SIZE, CHANGED)
        title = f"How far do the reference standards differ? ({over(found)})"
        yield PageTable("reference-standards", title, columns, lines, filter=len(lines) > LONG)


def _dice(found: Findings) -> list[Column]:
    told = f"Overlap of the two masks, with its {interval_name(found)}. {SAME}"
    return [Column("Dice", told), *([deviation(found)] if len(found.study.subjects) > 1 else [])]


def _spread(table: Numbers, pair: Pair, several: bool) -> list[Cell]:
    """Dice, and how it varies where there is more than one."""
    return [table.cell("dice", scope, *pair) for scope in (("mean", "std") if several else ("mean",))]


def _by_region(found: Findings, table: Numbers) -> Iterator[Block]:
    """Each against itself on the modified background."""
    several, lines = len(found.study.subjects) > 1, []
    for method in found.fusion.methods:
        pair = method, on_modified_background(method)
        if table.row("dice", "mean", *pair) is not None:
            changed = table.cell("changed", "mean", *pair, percent=True)
            lines.append((standard_cell(found, method), *_spread(table, pair, several), changed))
    if lines:
        note = (
            "Each was made again with the background cut down to the size of what anybody marked. A vote cannot "
            "change; where STAPLE does, its answer hangs on how much empty background the images happen to have."
        )
        title = f"Does it matter how much background is counted? ({over(found)})"
        columns = (STANDARD, *_dice(found), CHANGED)
        yield PageTable("reference-standards-by-region", title, columns, tuple(lines), note)


def _rates(found: Findings, table: Numbers) -> Iterator[Block]:
    """Raters against each: means over subjects, against how sure it is, and everything pooled."""
    caution = "Raters are compared with what they helped to make: all look somewhat better than they are."
    title = f"Raters against each reference standard, {over(found)}"
    yield from _rate_table(found, table, ("rater-rates", title), HARD, note=caution)
    title = f"Raters against how sure each reference standard is (Gordon's measures), {over(found)}"
    yield from _rate_table(found, table, ("rater-rates-soft", title), SOFT, closed=True)
    if len(found.study) > 1:
        titles = "rater-rates-pooled", "Raters against each reference standard, all cases together"
        yield from _rate_table(found, table, titles, HARD, scope="pooled", closed=True)


def _rate_table(
    found: Findings, table: Numbers, titles: Pair, rates: Mapping[str, Pair], *, scope: str = "mean", note: str = "",
    closed: bool = False,
) -> Iterator[PageTable]:  # fmt: skip
    rows = [r for r in table.table.rows if r.scope == scope and not r.group and r.statistic in rates]
    if len(found.study.rater_names) == 2:  # nobody marks more than the union
        rows = [r for r in rows if called(str(r["method"]), 2) != UNION]
    shown = [name for name in rates if any(r.statistic == name for r in rows)]
    lines = tuple(
        (
            _who(found, rater),
            standard_cell(found, method),
            *(table.cell(name, scope, method, rater) for name in shown),
        )
        for method, rater in dict.fromkeys((str(r["method"]), str(r["rater"])) for r in rows)
    )
    if lines:
        heads = Column("Rater", "Who is compared", number=False), Column("with", "The reference standard", number=False)
        columns = (*heads, *(Column(*rates[name]) for name in shown))
        yield PageTable(*titles, columns, lines, note, len(lines) > LONG, closed)


def _who(found: Findings, rater: str) -> Cell:
    """Raters who are nobody in particular are taken together."""
    return rater_cell(found, rater) if rater else words("mean of raters")


def _histograms(found: Findings) -> Iterator[Block]:
    raters = len(found.study.rater_names)
    many = raters > MOST_HISTOGRAMS and not found.study.options.exchangeable
    if many or raters == 2 or len(found.study) < LEAST_DRAWN:
        return
    drawn, told = charts(found.fusion), "How far each rater overlaps with it, case by case; line: mean of the cases."
    names = {method: f"iou-{method.replace(':', '-')}" for method in found.fusion.methods}
    title = {method: titled(spoken(found, method)) for method in names}
    blocks = tuple(Chart(f"fuse-{n}", drawn[n], f"{title[m]}. {told}") for m, n in names.items() if n in drawn)
    if blocks:
        yield Beside(blocks)


def _endings(found: Findings) -> Iterator[Block]:
    """What went wrong, or was decided on the way."""
    told = found.agreement.notes
    own = (note for note in found.fusion.notes if code_of(note) != COMPLEXITY and note not in told)
    notes = notes_of(found, own)
    if shown := tuple((note,) for note in notes):
        yield Paragraphs(shown, "What to know about these reference standards", listed=True, kind="note")
