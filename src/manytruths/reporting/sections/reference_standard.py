"""The section on the reference standard: consensus methods, how far they differ, and raters against each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

from ...analyses.fuse.case import consensus_column, on_modified_background
from ...analyses.fuse.fuse import COMPLEXITY, UNJUDGED
from ...analyses.fuse.presentation import charts
from ...charts.pairs import MANY
from ...claims.numbers import TableIndex, has_interval, is_defined, telling_digits
from ...claims.sentences import (
    Cell,
    Sentence,
    case_cell,
    compose,
    join_parts,
    number_word,
    text_cell,
)
from ...core.undefined import code_of
from ...io.result_tables import Row
from ...raters.dependence import FEWEST
from ..building import ColumnOf, make_table, text_column
from ..elements import Beside, Block, Chart, Column, PageTable, Paragraphs, Section
from ..findings import Findings
from .cases import why_no_overlap
from .complexity import LEAST_DRAWN
from .raters import DEPENDENCE_CLAIMS, rater_sentences
from .standards import (
    StandardPair,
    as_title,
    describe_staple,
    method_options,
    method_pairs,
    method_sentence,
    most_different,
    over_some,
    size_word,
    standard_cell,
    standard_name,
    with_interval,
)
from .vocabulary import (
    DISTANCE_TITLES,
    distance_meaning,
    in_items,
    mean_over,
    note_block,
    note_sentences,
    rater_cell,
    sd_column,
    size_difference_title,
    with_unit,
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
LARGE, EMPTY = 2 / 3, 1.99
"""Relative difference of two sizes from which on their ratio is given (2), and below which the smaller is not empty."""
DICE_ENDS = "1: the same mask; 0: nothing in common"
SAME_MASKS = ("consensus.same", "consensus.bound")
"""Claims about methods that give the same masks."""

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


def section(findings: Findings) -> Section:
    """Consensus methods, how far they differ, and which to use when."""
    table, rates = findings.table("fuse/differences"), findings.table("fuse/performance")
    notes = [note for note in findings.fusion.notes if code_of(note) not in (COMPLEXITY, UNJUDGED)]
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
            *note_block(findings, notes, "Notes on these reference standards"),
        ),
    )


def _lead(findings: Findings, table: TableIndex) -> Iterator[Sentence]:
    yield (
        "Where raters differ, the masks alone do not tell which is right. A reference standard (often called ground "
        "truth) is what their masks together are taken to say, and there is more than one way to do that.",
    )
    yield from findings.fusion.claims.sentences(*SAME_MASKS)
    pairs = method_pairs(findings)
    if pair := most_different(findings):
        yield (*_difference_sentence(findings, table, pair), *_rater_overlap(findings))
    elif pairs and not any(is_defined(table.row("dice", "mean", *pair)) for pair in pairs):
        yield (f"How far reference standards differ cannot be computed: {why_no_overlap(findings)}.",)


def _difference_sentence(findings: Findings, table: TableIndex, pair: StandardPair) -> Sentence:
    start = "Of the reference standards here, {} differ most" if pair.several else "Here there are {}"
    mean = "mean Dice" if (pair.row.n or 0) > 1 else "Dice"
    size: Sentence = ()
    if is_defined(row := table.row("volume_difference", "mean", *pair.row.extra)):
        digits = telling_digits(row.value, 0, percent=True)
        size = (f", with a relative {size_word(findings)} difference of ", table.quote(row, digits, percent=True))
        size += _times_text(findings, row)
    dice = table.quote(pair.row, telling_digits(pair.row.value), level=findings.interval_name)
    return compose(start + ": they overlap by a {} of {}{}{}.", pair.names, mean, dice, pair.over, size)


def _times_text(findings: Findings, row: Row) -> Sentence:
    """How many times as large one of the two masks is, where that is much; which one, where there is one case."""
    if not LARGE <= row.value < EMPTY:
        return ()
    times = f"about {number_word(round((2 + row.value) / (2 - row.value)))} times as large as"
    if len(findings.study) > 1 or row.label:
        return (f" (as where one is {times} the other)",)
    table = next(iter(findings.fusion.tallies.values()))
    places = {str(method): table.position(consensus_column(str(method))) for method in row.extra}
    sizes = {m: int(table.counts[np.isin(table.patterns[:, i], table.labels.marks)].sum()) for m, i in places.items()}
    small, large = (standard_name(findings, method) for method in sorted(sizes, key=sizes.__getitem__))
    return (f" ({large} is {times} {small})",)


def _rater_overlap(findings: Findings) -> Sentence:
    """The overlap of two raters, for comparison."""
    table = findings.table("agree/agreement")
    if not is_defined(row := table.row("dice")):
        return ()
    which = "the two" if len(findings.study.rater_names) == 2 else "two"
    text = " For comparison, {} raters overlap by {}{}."
    return compose(text, which, table.quote(row), over_some(findings, row))


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
        yield (
            "A vote is simple, easy to explain, and needs no model of the raters' errors: take it unless there is a "
            "reason not to.",
        )
    if "staple" in names and not (two and "staple" in findings.fusion.same_masks.bounds):
        text = "STAPLE is for raters who differ in quality and whose errors are independent of each other."
        yield (text, *_dependence_sentence(findings), *_background_sentence(table))
    if two:
        yield ("Two raters cannot outvote each other: where they differ, no consensus can tell who is right.",)
    disputed = _most_different_cases(findings, table)
    if disputed:
        text = "Where reference standards differ much on a case, none settles it: look at it. They differ most on "
        cases: list[Sentence] = [(case_cell(row.case), " (Dice ", table.quote(row), ")") for row in disputed]
        yield (text, *join_parts(cases), ".")


def _dependence_sentence(findings: Findings) -> Sentence:
    """Whether STAPLE's assumption of independent errors holds."""
    claims = rater_sentences(findings, *DEPENDENCE_CLAIMS)
    if claims:
        return tuple(part for sentence in claims for part in (" ", *sentence))
    if len(findings.study.rater_names) < FEWEST:
        return (" Whether they are cannot be determined: this needs at least four raters.",)
    return ()


def _background_sentence(table: TableIndex) -> Sentence:
    """Whether STAPLE depends on the background."""
    row = table.row("dice", "mean", "staple", on_modified_background("staple"))
    if row is None or not row.value < STEADY:
        return ()
    text = (
        " It also depends on how much background the images have: its masks with and without most of it overlap by a "
        "Dice of {}."
    )
    return compose(text, table.quote(row))


def _most_different_cases(findings: Findings, table: TableIndex, most: int = 3) -> list[Row]:
    """The rows of the cases on which two methods overlap least."""
    if len(findings.study) < 2:
        return []
    same = findings.fusion.same_masks
    pairs = {pair for pair in method_pairs(findings) if not same.tells_nothing(*pair)}
    rows = [row for row in table.all("dice", "case") if row.extra in pairs and row.value < DIFFERENT]
    least: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: row.value):
        least.setdefault(row.case, row)
    return list(least.values())[:most]


def _difference_columns(findings: Findings, table: TableIndex) -> list[ColumnOf[MethodPair]]:
    """Columns for pairs of reference standards: the first one, Dice, its SD where there are several subjects."""

    def value(statistic: str, scope: str = "mean", **how: Any) -> Callable[[MethodPair], Cell]:
        def cell(pair: MethodPair) -> Cell:
            row, least = table.row(statistic, scope, *pair), {"digits": 2, **how}
            digits = telling_digits(row.value if row else 0.0, least["digits"], percent=how.get("percent", False))
            return table.cell(statistic, scope, *pair, **{**least, "digits": digits})

        return cell

    how, what = "How the raters were put together", size_word(findings)
    shown = any(has_interval(row) for row in table.all("dice", "mean"))
    help = f"Overlap of the two masks{with_interval(findings, shown=shown)}. {DICE_ENDS}"
    size = f"Difference of the marked {what}s over their mean: 67% where one is twice the other, 200% if one is empty"
    changed = f"Share of the counted {findings.pixel_word}s that one marks and the other does not (or labels otherwise)"
    return [
        (text_column("Reference standard", how), lambda pair: standard_cell(findings, pair[0])),
        (text_column("and", "The one that it is compared with"), lambda pair: standard_cell(findings, pair[1])),
        (Column("Dice", help), value("dice")),
        *([(sd_column(findings), value("dice", "std"))] if len(findings.study.subjects) > 1 else []),
        (Column(size_difference_title(findings, table), size), value("volume_difference", digits=1, percent=True)),
        (Column("Changed", changed), value("changed", percent=True)),
    ]


def _difference_table(findings: Findings, table: TableIndex) -> Iterator[Block]:
    if pairs := method_pairs(findings):
        means = _means_of(table, pairs, ("dice", "volume_difference", "changed"))
        title = f"How far do the reference standards differ? ({mean_over(findings, means)})"
        columns = _difference_columns(findings, table)
        yield make_table("reference-standards", title, pairs, columns, filter=len(pairs) > LONG)


def _means_of(table: TableIndex, pairs: Iterable[MethodPair], statistics: Iterable[str]) -> list[Row]:
    """The means over subjects that a table shows."""
    return [row for pair, s in product(pairs, statistics) if (row := table.row(s, "mean", *pair)) is not None]


def _region_table(findings: Findings, table: TableIndex) -> Iterator[Block]:
    """Each method against itself on the modified background."""
    pairs = [(method, on_modified_background(method)) for method in findings.fusion.methods]
    pairs = [pair for pair in pairs if table.row("dice", "mean", *pair) is not None]
    changes = [table.row("changed", "mean", *pair) for pair in pairs]
    if any(row is None or row.value != 0 for row in changes):
        note = (
            "Each was made again with at most as much background as any rater marked. A vote cannot change; where "
            "STAPLE does, it depends on how much empty background the images happen to have."
        )
        means = _means_of(table, pairs, ("dice", "changed"))
        title = f"Does it matter how much background is counted? ({mean_over(findings, means)})"
        first, _, *dice, _, changed = _difference_columns(findings, table)
        yield make_table("reference-standards-by-region", title, pairs, [first, *dice, changed], note)


def _rate_tables(findings: Findings, table: TableIndex) -> Iterator[Block]:
    """Raters against each reference standard: means over subjects, against probabilities, and pooled."""
    caution = _caution(findings)
    title = "Raters against each reference standard"
    yield from _rate_table(findings, table, ("rater-rates", title), HARD, note=caution)
    distances = {name: (title, distance_meaning(findings, name)) for name, title in DISTANCE_TITLES.items()}
    titles = "rater-distances", "Distances of raters to each reference standard"
    empty = "Where one of the two masks is empty there is no distance."
    yield from _rate_table(findings, table, titles, distances, note=f"{empty} {caution}", closed=True)
    title = "Raters against the probabilities of each reference standard (Gordon's measures)"
    soft = _caution(findings, soft=True)
    yield from _rate_table(findings, table, ("rater-rates-soft", title), SOFT, note=soft, closed=True)
    if len(findings.study) > 1:
        titles = "rater-rates-pooled", "Raters against each reference standard, all cases together"
        yield from _rate_table(findings, table, titles, HARD, scope="pooled", note=caution, closed=True)


def _caution(findings: Findings, *, soft: bool = False) -> str:
    """What the numbers of raters against a consensus of themselves do not tell, and which cases are left out."""
    same, two = findings.fusion.same_masks, len(findings.study.rater_names) == 2
    parts = [
        "Raters are compared with what they helped to make, so these numbers are not independent of the rater; mostly "
        "that flatters."
    ]
    if two and not soft and all(method in same.bounds for method in findings.fusion.methods):
        parts.append(
            "What both of two raters marked lies within each mask, and each mask within what any marked: the numbers "
            "follow from the sizes of the masks and of their overlap, and do not tell who is right."
        )
    parts += list(note_sentences(findings, _notes_of(findings, UNJUDGED)))
    return " ".join(parts)


def _notes_of(findings: Findings, *codes: str) -> list[str]:
    return [note for note in findings.fusion.notes if code_of(note) in codes]


def _rate_table(
    findings: Findings, table: TableIndex, titles: MethodPair, rates: Mapping[str, MethodPair], *,
    scope: str = "mean", note: str = "", closed: bool = False,
) -> Iterator[PageTable]:  # fmt: skip
    rows = [r for r in table.rows if r.scope == scope and not r.group and r.statistic in rates]
    if not rows:
        return

    def value(statistic: str) -> Callable[[MethodPair], Cell]:
        return lambda pair: table.cell(statistic, scope, *pair)

    columns: list[ColumnOf[MethodPair]] = [
        (text_column("Rater", "Who is compared"),
         lambda pair: rater_cell(findings, pair[1]) if pair[1] else text_cell("mean of raters")),
        (text_column("with", _made_help(findings, soft=rates is SOFT)), lambda pair: standard_cell(findings, pair[0])),
        *((Column(with_unit(name, [r for r in rows if r.statistic == s]), in_items(findings, help)), value(s))
          for s, (name, help) in rates.items() if any(r.statistic == s for r in rows)),
    ]  # fmt: skip
    pairs = list(dict.fromkeys((str(r["method"]), str(r["rater"])) for r in rows))
    if len(findings.study.rater_names) > MANY:
        pairs = [pair for pair in pairs if not pair[1]]
        note = f"{note} The numbers of each rater are in fuse/performance.csv.".strip()
    if not pairs:
        return
    name, title = titles
    if scope == "mean":
        title += f", {mean_over(findings, _means_of(table, pairs, rates))}"
    yield make_table(name, title, pairs, columns, note, filter=len(pairs) > LONG, closed=closed)


def _made_help(findings: Findings, *, soft: bool) -> str:
    """How the reference standards of the table were made, so that they are not mixed up with other estimates."""
    text = "The reference standard, made case by case"
    if "staple" not in findings.fusion.methods:
        return text
    options = describe_staple(method_options(findings, "staple"), findings.pixel_word)
    text += f". STAPLE ({options}): " + ("its probabilities" if soft else "its mask, of probability one half or more")
    others = any(row.statistic == "staple_sensitivity" for row in findings.table("agree/raters").rows)
    return text + ". STAPLE's own estimates of the raters' rates, with the prior estimated, are other numbers" * others


def _histograms(findings: Findings) -> Iterator[Block]:
    raters = len(findings.study.rater_names)
    many = raters > MOST_HISTOGRAMS and not findings.study.options.exchangeable
    if many or raters == 2 or len(findings.study) < LEAST_DRAWN:
        return
    svgs = charts(findings.fusion)
    who = (
        "the raters overlap with it on average"
        if findings.study.options.exchangeable
        else "each rater overlaps with it"
    )
    caption = f"How far {who}, case by case; line: mean of the cases. Their own marks are part of it."
    names = {method: f"iou-{method.replace(':', '-')}" for method in findings.fusion.methods}
    title = {method: as_title(standard_name(findings, method)) for method in names}
    blocks = tuple(Chart(f"fuse-{n}", svgs[n], f"{title[m]}. {caption}") for m, n in names.items() if n in svgs)
    if blocks:
        yield Beside(blocks)
