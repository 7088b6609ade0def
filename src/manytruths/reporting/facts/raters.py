"""Who differs, and how: tendencies, performance, pairs, the same rater twice, whether raters err together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...analyses.agree.charts import charts
from ...analyses.rows import Row
from ..findings import Findings
from ..parts import Beside, Block, Cell, Chart, Column, PageTable, Paragraphs, Section, Sentence, words
from .dependence import LEAST_RATERS, copies, dependence
from .habits import draws, habits, outliers, turned
from .numbers import Numbers, known, numbers
from .wording import interval_name, item, joined, rater_cell, unit

PERFORMANCE = {
    "sensitivity": ("Sensitivity", "Of what at least half of the raters marked, the share that this rater marked."),
    "specificity": ("Specificity", "Of what fewer than half marked, the share that this rater left unmarked."),
    "ppv": ("PPV", "Of what this rater marked, the share that at least half of the raters marked."),
    "cohen_kappa": ("Kappa", "Agreement with that vote beyond chance: 1 is full agreement, 0 is chance."),
}
MANY_PAIRS = 15
"""With more pairs of raters, their table is closed at first."""
MANY_RATERS, ENDS = 15, 20
"""Of more raters, only so many pairs are shown from either end."""


def section(found: Findings) -> Section | None:
    """What each rater is like; None where raters are exchangeable, so that nothing can be said of one."""
    if found.agreement.raters is None:
        return None
    lead = (*_turned(found), *outliers(found), *habits(found))
    blocks = [*_charts(found), *_tables(found), *_twice(found), *_together(found)]
    return Section("raters", "Who differs, and how?", lead, tuple(blocks))


def _turned(found: Findings) -> Iterator[Sentence]:
    """Whose numbers here say nothing about how they draw."""
    if names := turned(found):
        who = joined([("rater ", rater_cell(found, name)) for name in names])
        yield ("A mask of ", *who, " was probably saved the wrong way round (see In short): what is said of raters "
               "here may be due to that.")  # fmt: skip


def _charts(found: Findings) -> Iterator[Block]:
    drawn = charts(found.agreement)
    told = {
        "dendrogram": "Raters who draw alike are joined far to the left; who joins last differs most from the others.",
        "dice-between-raters": "Every rater against every other, all cases together: 1 is the same drawing.",
    }
    if len(_raters(found)) == 2:
        del told["dendrogram"]
    shown = [Chart(name, drawn[name], caption) for name, caption in told.items() if name in drawn]
    if shown:
        yield Beside(tuple(shown)) if len(shown) > 1 else shown[0]


def _tables(found: Findings) -> Iterator[Block]:
    table = numbers(found, "agree", "raters")
    yield _tendencies(found, table)
    if len(_raters(found)) > 2:  # of two, any mark is in the vote
        yield _means(found, table)
        yield _pooled(found, table)
    pairs = numbers(found, "agree", "pairs")
    if rows := [r for r in pairs.all("cohen_kappa", "pooled") if r["relation"] == "between"]:
        yield _pairs(found, pairs, rows)


def _raters(found: Findings) -> tuple[str, ...]:
    assert found.agreement.raters is not None
    return found.agreement.raters.differences.raters


def _names(found: Findings) -> list[Column]:
    """The head of the first columns: who it is, and what is known of all."""
    return [Column("Rater", number=False), *(Column(p, number=False) for p in _properties(found))]


def _name(found: Findings, rater: str) -> list[Cell]:
    own = found.study.properties.get(rater, {})
    return [rater_cell(found, rater), *(words(own.get(p, "")) for p in _properties(found))]


def _properties(found: Findings) -> list[str]:
    return list(dict.fromkeys(name for own in found.study.properties.values() for name in own))


def _tendencies(found: Findings, table: Numbers) -> PageTable:
    """How each draws, beside the others."""
    columns = [
        *_names(found),
        Column("Differs from others by", "1 − Dice to each of the others, on average: 0 is the same drawing."),
        Column("Stands out", "Differs by more than the raters' mean plus one SD: somebody mostly does.", number=False),
        Column("Size, of the others'", "What the rater marked over what the others marked: above 1 is larger."),
        Column("Draws", "The size in words: 25% larger or 20% smaller than the others is worth a word.", number=False),
        Column("Misses", "Of what at least half of the others marked, the share that this rater left."),
        Column("Alone", "Of what this rater marked, the share that nobody else marked."),
        Column("Williams' index", "1: agrees with the others as they agree among themselves; less: agrees less."),
    ]  # fmt: skip
    rows = tuple(_tendency(found, table, rater) for rater in _raters(found))
    return PageTable("rater-tendencies", "How each rater draws", tuple(columns), rows, "All cases pooled.")


def _tendency(found: Findings, table: Numbers, rater: str) -> tuple[Cell, ...]:
    assert found.agreement.raters is not None
    out = rater in found.agreement.raters.differences.outliers
    size = table.row("relative_area", "pooled", rater)
    return (
        *_name(found, rater),
        table.cell("mean_difference", "pooled", rater),
        words("yes" if out else ""),
        table.cell("relative_area", "pooled", rater),
        words(draws(size)),
        table.cell("misses", "pooled", rater, digits=0, percent=True),
        table.cell("extra", "pooled", rater, digits=0, percent=True),
        table.cell("williams_index", "pooled", rater),
    )


def _means(found: Findings, table: Numbers) -> PageTable:
    """Each against the vote, on average over subjects."""
    columns = (*_names(found), *(Column(title, told) for title, told in PERFORMANCE.values()))
    rows = tuple(
        (*_name(found, rater), *(table.cell(s, "mean", rater, digits=3) for s in PERFORMANCE))
        for rater in _raters(found)
    )
    note = f"Mean over {unit(found)}s, with its {interval_name(found)}. The vote has a share of each rater in it."
    return PageTable("rater-performance", "Each rater against the vote of all", columns, rows, note)


def _pooled(found: Findings, table: Numbers) -> PageTable:
    """The same of all items together, against the vote of the others too, and STAPLE's rates."""
    others = [Column(f"{title}, others", _of_others(told)) for title, told in PERFORMANCE.values()]
    rates = [
        Column("STAPLE sensitivity", "As STAPLE estimates it, with a reference standard that it estimates as well."),
        Column("STAPLE specificity", "Likewise; near 1 wherever most of what is counted is background."),
    ]
    columns = (*_names(found), *(Column(*own) for own in PERFORMANCE.values()), *others, *rates)
    rows = tuple((*_name(found, rater), *_pooled_cells(table, rater)) for rater in _raters(found))
    title, note = "The same, all cases pooled", f"Every {item(found)} counts the same, so that large cases weigh more."
    return PageTable("rater-performance-pooled", title, columns, rows, note, closed=True)


def _of_others(told: str) -> str:
    return told.replace("of the raters", "of the other raters").replace("that vote", "the vote of the others")


def _pooled_cells(table: Numbers, rater: str) -> Iterator[Cell]:
    wanted = [*PERFORMANCE, *(f"{s}_against_others" for s in PERFORMANCE), "staple_sensitivity", "staple_specificity"]
    return (table.cell(statistic, "pooled", rater, digits=3) for statistic in wanted)


def _pairs(found: Findings, table: Numbers, rows: Sequence[Row]) -> PageTable:
    """Every two raters."""
    columns = (Column("Rater", number=False), Column("and", number=False), *_pair_columns())
    few = len(_raters(found)) <= MANY_RATERS
    shown = rows if few else _ends(table, rows)
    cells = tuple(
        (rater_cell(found, str(r["rater_a"])), rater_cell(found, str(r["rater_b"])), *_pair_cells(table, r))
        for r in shown
    )
    note = f"Means are over {unit(found)}s, pooled numbers over all {item(found)}s."
    if few:
        return PageTable("rater-pairs", "Every two raters", columns, cells, note, closed=len(rows) > MANY_PAIRS)
    note += f" All {len(rows):,} pairs are in agree/pairs.csv."
    return PageTable("rater-pairs", f"The {ENDS} pairs most and least alike", columns, cells, note, closed=True)


def _ends(table: Numbers, rows: Sequence[Row]) -> list[Row]:
    """Of many pairs those with the highest and the lowest Dice, pairs without one left out."""
    dice = {r.extra: r.value for r in table.all("dice", "pooled") if known(r)}
    order = sorted((r for r in rows if r.extra in dice), key=lambda r: -dice[r.extra])
    return order if len(order) <= 2 * ENDS else [*order[:ENDS], *order[-ENDS:]]


def _pair_columns() -> list[Column]:
    return [
        Column("Dice", "How far the two drawings overlap, on average: 1 is the same drawing."),
        Column("Cohen's kappa", "Agreement of the two beyond chance, on average."),
        Column("Size differs by", "Of the mean of their two sizes, on average."),
        Column("Dice, pooled", "All cases as if they were one."),
        Column("Kappa, pooled", "All cases as if they were one."),
    ]


def _pair_cells(table: Numbers, row: Row) -> Iterator[Cell]:
    for statistic in ("dice", "cohen_kappa", "volume_difference"):
        share: dict[str, Any] = {"digits": 0, "percent": True} if statistic == "volume_difference" else {}
        yield table.cell(statistic, "mean", *row.extra, **share)
    for statistic in ("dice", "cohen_kappa"):
        yield table.cell(statistic, "pooled", *row.extra)


def _twice(found: Findings) -> Iterator[Block]:
    """The same rater's readings beside each other."""
    table = numbers(found, "agree", "pairs")
    rows = [r for r in table.all("cohen_kappa", "pooled") if r["relation"] == "within"]
    if not rows:
        return
    columns = (Column("Reading", number=False), Column("and", number=False), *_pair_columns())
    cells = tuple(
        (*(rater_cell(found, str(name)) for name in (r["rater_a"], r["rater_b"])), *_pair_cells(table, r)) for r in rows
    )
    note = "Even one rater draws differently on another day: a guide to how much agreement to expect of two."
    yield PageTable("rater-repeats", "The same rater twice", columns, cells, note)


def _together(found: Findings) -> Iterator[Block]:
    """Whether the raters' errors go together."""
    sentences = tuple(_dependence(found))
    if sentences:
        yield Paragraphs(sentences, "Do the raters' errors go together?")


def _dependence(found: Findings) -> Iterator[Sentence]:
    errors = dependence(found)
    if errors is not None:
        yield ("The more the raters' errors go together, the less their votes add to each other. Here ", *errors.told,
               ". A mistake that all share cannot be seen at all.")  # fmt: skip
    elif len(_raters(found)) < LEAST_RATERS:
        yield ("Whether the raters' errors go together cannot be told: this needs at least four raters.",)
    alike, pairs = copies(found), numbers(found, "agree", "pairs")
    for copy in alike.pairs if alike.suspected else ():
        names = (rater_cell(found, copy.rater_a), " and ", rater_cell(found, copy.rater_b))
        value = pairs.cell("dice", "pooled", copy.rater_a, copy.rater_b, "between", digits=3)
        yield ("Raters ", *names, " drew nearly the same, with a Dice of ", value, ": is one a copy or an edit?")
