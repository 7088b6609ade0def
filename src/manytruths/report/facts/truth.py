"""The section on the reference standard: the candidates, how far they differ, the raters against each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from ...analyses.fuse.charts import charts
from ...analyses.rows import Row
from ...labels import reason
from ..findings import Findings
from ..parts import Beside, Block, Cell, Chart, Column, PageTable, Paragraphs, Section, Sentence, words
from .estimators import called, candidate, does, given_references
from .numbers import Numbers, known, numbers
from .wording import case_cell, count, interval_name, joined, listed, rater_cell, unit

Pair = tuple[str, str]

MOST_HISTOGRAMS = 12
"""Raters, one below the other; with more, the table has to do."""
LONG = 12
"""Lines from which on a table can be filtered."""
INDEPENDENT = 0.8
"""The share of the raters who count from which on they may be called independent."""
STEADY = 0.95
"""Dice with itself from which on a method does not depend on the background."""
CUT = " on the modified background"
SAME = "1: the same mask; 0: nothing in common"

HARD = {
    "iou": ("IoU", "Overlap with the candidate: what both marked over what either marked; 1 is the same mask"),
    "dice": ("Dice", f"Overlap with the candidate. {SAME}"),
    "sensitivity": ("Sensitivity", "Of what the candidate marks, the share that the rater marked too"),
    "specificity": (
        "Specificity",
        "Of what the candidate leaves, the share that the rater left too; mostly background",
    ),
}
"""Rates of each rater, how they are called, and what they mean."""
SOFT = {
    "accuracy": (
        "Soft accuracy",
        "Share of places that the rater has right, where the candidate counts by how sure it is (Gordon)",
    ),
    "gordon_f": ("Gordon's F", "Precision and sensitivity in one number, by how sure the candidate is"),
    "balanced_accuracy": ("Balanced accuracy", "Mean of sensitivity and specificity, by how sure the candidate is"),
}
"""The same, against how sure a candidate is."""

METHOD = Column("Method", "How the raters were put together", number=False)
DICE = Column("Dice", f"Overlap of the two masks, with its interval. {SAME}")
STD = Column("± std", "Standard deviation from one to the next")
CHANGED = Column("Changed", "Share of the image that one marks and the other does not (or labels otherwise)")
OTHER = Column("and", "The method that it is compared with", number=False)
SIZE = Column("Size differs by", "Difference of the marked areas or volumes, as a share of their mean")


def section(found: Findings) -> Section:
    """What the estimators make of the raters, how far they differ, and which to take when."""
    table, rates = numbers(found, "fuse", "differences"), numbers(found, "fuse", "performance")
    return Section(
        "reference-standard",
        "What can be taken as the reference standard?",
        tuple(_lead(found, table)),
        (
            *_candidates(found, table, rates),
            *_between(found, table),
            *_by_region(found, table),
            *_rates(found, rates),
            *_histograms(found),
            *_endings(found),
        ),
    )


def _pairs(found: Findings) -> list[Pair]:
    return list(combinations(found.fusion.methods, 2))


def over(found: Findings) -> str:
    """``mean over 21 patients``."""
    subjects = len(found.study.subjects)
    return f"mean over {count(subjects, unit(found))}" if subjects > 1 else f"one {unit(found)}"


def _lead(found: Findings, table: Numbers) -> Iterator[Sentence]:
    yield (
        "Where experts differ, there is no single correct mask. A reference standard (often called ground truth) is "
        "what their masks together are taken to say, and there is more than one way to do that.",
    )
    given = given_references(found.study)
    if given:
        yield (f"The study also came with its own: {listed(given)}. It owes nothing to the methods below.",)
    rows = [(row, pair) for pair in _pairs(found) if (row := table.row("dice", "mean", *pair)) and known(row)]
    if rows:
        least, pair = min(rows, key=lambda one: one[0].value)
        yield (*_apart(found, table, least, pair, several=len(rows) > 1), *_yardstick(found))
    elif _pairs(found):
        yield ("How far the methods differ cannot be told: nothing was marked.",)


def _apart(found: Findings, table: Numbers, least: Row, pair: Pair, *, several: bool) -> Iterator[str | Cell]:
    names = f"{called(pair[0])} and {called(pair[1])}"
    how = "on average they" if (least.n or 0) > 1 else "they"
    yield f"Of the methods here, {names} differ most: " if several else f"Here there are {names}: "
    yield f"{how} overlap by a Dice of "
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
        yield " For comparison, two raters overlap by "
        yield table.quote(row)
        yield "."


def _candidates(found: Findings, table: Numbers, rates: Numbers) -> Iterator[Block]:
    raters = len(found.study.rater_names)
    told = tuple((candidate(method, raters),) for method in found.fusion.methods)
    yield Paragraphs(told, "How each is made", listed=True)
    advice = tuple(_advice(found, table, rates))
    if advice:
        yield Paragraphs(advice, "Which to take", listed=True)


def _advice(found: Findings, table: Numbers, rates: Numbers) -> Iterator[Sentence]:
    names = {method.partition(":")[0] for method in found.fusion.methods}
    if "vote" in names:
        yield ("A vote is simple, easy to explain and robust: take it unless there is a reason not to.",)
    if "staple" in names:
        told = "STAPLE is for raters who differ in quality and make their mistakes independently of each other."
        yield (told, *_dependence(found, rates), *_background(table))
    if len(found.study.rater_names) == 2:
        yield ("Two raters cannot outvote each other: where they differ, no method knows who is right.",)
    disputed = _disputed(found, table)
    if disputed:
        told = "Where the methods differ much on a case, no method settles it: look at the case. They differ most on "
        cases: list[Sentence] = [(case_cell(row.case), " (Dice ", table.quote(row), ")") for row in disputed]
        yield (told, *joined(cases), ".")


def _dependence(found: Findings, rates: Numbers) -> Iterator[str | Cell]:
    """STAPLE's assumption, in words."""
    effective, together = (
        rates.row(name, "pooled", "staple", "") for name in ("effective_raters", "error_correlation")
    )
    if effective is None or together is None:
        return
    if not known(effective):
        yield f" Whether they do cannot be told here ({reason(effective.value)})."
        return
    raters = effective.n or len(found.study.rater_names)
    few = effective.value < INDEPENDENT * raters
    yield " Here they tend to make the same mistakes: " if few else " Here they seem to: "
    yield f"{count(raters, 'rater')} count as at most "
    yield rates.quote(effective, 1)
    yield " independent ones (mean correlation of their errors "
    yield rates.quote(together)
    yield "), so that the rates it gives them look better than they are." if few else ")."


def _background(table: Numbers) -> Iterator[str | Cell]:
    """Whether STAPLE hangs on the background, in words."""
    row = table.row("dice", "mean", "staple", f"staple{CUT}")
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
    rows = [row for row in table.all("dice", "case") if row.extra in own and row.value < 1]
    least: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: row.value):
        least.setdefault(row.case, row)
    return list(least.values())[:most]


def _between(found: Findings, table: Numbers) -> Iterator[Block]:
    several = len(found.study.subjects) > 1
    lines = tuple(
        (
            *(_method_cell(method) for method in pair),
            *_spread(table, pair, several),
            table.cell("volume_difference", "mean", *pair, digits=1, percent=True),
            table.cell("changed", "mean", *pair, percent=True),
        )
        for pair in _pairs(found)
    )
    if lines:
        columns = (METHOD, OTHER, DICE, *((STD,) if several else ()), SIZE, CHANGED)
        yield PageTable("methods", f"Method against method, {over(found)}", columns, lines, filter=len(lines) > LONG)


def _method_cell(method: str) -> Cell:
    return words(method, why=does(method))


def _spread(table: Numbers, pair: Pair, several: bool) -> list[Cell]:
    """Dice, and how it varies where there is more than one."""
    return [table.cell("dice", scope, *pair) for scope in (("mean", "std") if several else ("mean",))]


def _by_region(found: Findings, table: Numbers) -> Iterator[Block]:
    """Each method against itself on the modified background."""
    several, lines = len(found.study.subjects) > 1, []
    for method in found.fusion.methods:
        pair = method, f"{method}{CUT}"
        if table.row("dice", "mean", *pair) is not None:
            changed = table.cell("changed", "mean", *pair, percent=True)
            lines.append((_method_cell(method), *_spread(table, pair, several), changed))
    if lines:
        note = (
            "Each method was repeated with the background cut down to the size of what anybody marked. A vote cannot "
            "change; where STAPLE does, its answer hangs on how much empty background the images happen to have."
        )
        title = f"Does it matter how much background is counted? ({over(found)})"
        columns = (METHOD, DICE, *((STD,) if several else ()), CHANGED)
        yield PageTable("methods-by-region", title, columns, tuple(lines), note)


def _rates(found: Findings, table: Numbers) -> Iterator[Block]:
    """Raters against each candidate: means over subjects, against how sure it is, and everything pooled."""
    caution = "Raters are compared with what they helped to make: all look somewhat better than they are."
    mean = over(found)
    yield from _rate_table(found, table, ("rater-rates", f"Raters against each candidate, {mean}"), HARD, note=caution)
    title = f"Raters against how sure each candidate is (Gordon's measures), {mean}"
    yield from _rate_table(found, table, ("rater-rates-soft", title), SOFT, closed=True)
    if len(found.study) > 1:
        titles = "rater-rates-pooled", "Raters against each candidate, all cases together"
        yield from _rate_table(found, table, titles, HARD, scope="pooled", closed=True)


def _rate_table(
    found: Findings, table: Numbers, titles: Pair, rates: Mapping[str, Pair], *, scope: str = "mean", note: str = "",
    closed: bool = False,
) -> Iterator[PageTable]:  # fmt: skip
    rows = [r for r in table.table.rows if r.scope == scope and not r.group and r.statistic in rates]
    shown = [name for name in rates if any(r.statistic == name for r in rows)]
    lines = tuple(
        (_who(found, str(key[1])), words(key[0]), *(table.cell(name, scope, *key) for name in shown))
        for key in dict.fromkeys(r.extra for r in rows)
    )
    if lines:
        heads = Column("Rater", "Who is compared", number=False), Column("with", "The candidate", number=False)
        columns = (*heads, *(Column(*rates[name]) for name in shown))
        yield PageTable(*titles, columns, lines, note, len(lines) > LONG, closed)


def _who(found: Findings, rater: str) -> Cell:
    """Raters who are nobody in particular are taken together."""
    return rater_cell(found, rater) if rater else words("mean of raters")


def _histograms(found: Findings) -> Iterator[Block]:
    if len(found.study.rater_names) > MOST_HISTOGRAMS and not found.study.options.exchangeable:
        return
    drawn, told = charts(found.fusion), "How far each rater overlaps with it, case by case; line: mean of the cases."
    names = {method: f"iou-{method.replace(':', '-')}" for method in found.fusion.methods}
    blocks = tuple(Chart(f"fuse-{n}", drawn[n], f"{m}. {told}") for m, n in names.items() if n in drawn)
    if blocks:
        yield Beside(blocks)


def _endings(found: Findings) -> Iterator[Block]:
    """What went wrong, or was decided on the way."""
    told = tuple((f"{note}.",) for note in found.fusion.notes if not note.startswith("complexity: "))
    if told:
        yield Paragraphs(told, "What to know about the methods", listed=True, kind="note")
