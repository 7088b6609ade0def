"""Who differs, and how: tendencies, performance, pairs, the same rater twice, whether raters err together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...analyses.agree.charts import charts
from ...analyses.rows import Row
from ..findings import Findings
from ..parts import Beside, Block, Cell, Chart, Column, PageTable, Paragraphs, Section, Sentence, text_cell
from .dependence import LEAST_RATERS, error_dependence, possible_copies
from .habits import outlier_sentences, size_sentences, size_word, turned_raters
from .numbers import TableIndex, find_table, is_defined
from .wording import interval_name, join_parts, pixel_word, rater_cell, subject_word

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


def section(findings: Findings) -> Section | None:
    """What each rater is like; None where raters are exchangeable, so that nothing can be said of one."""
    if findings.agreement.raters is None:
        return None
    lead = (*_turned_warning(findings), *outlier_sentences(findings), *size_sentences(findings))
    blocks = [*_charts(findings), *_tables(findings), *_repeat_table(findings), *_dependence_block(findings)]
    return Section("raters", "Who differs, and how?", lead, tuple(blocks))


def _turned_warning(findings: Findings) -> Iterator[Sentence]:
    """Whose numbers here say nothing about how they draw."""
    if names := turned_raters(findings):
        who = join_parts([("rater ", rater_cell(findings, name)) for name in names])
        yield ("A mask of ", *who, " was probably saved the wrong way round (see In short): what is said of raters "
               "here may be due to that.")  # fmt: skip


def _charts(findings: Findings) -> Iterator[Block]:
    svgs = charts(findings.agreement)
    captions = {
        "dendrogram": "Raters who draw alike are joined far to the left; who joins last differs most from the others.",
        "dice-between-raters": "Every rater against every other, all cases together: 1 is the same drawing.",
    }
    if len(_rater_names(findings)) == 2:
        del captions["dendrogram"]
    shown = [Chart(name, svgs[name], caption) for name, caption in captions.items() if name in svgs]
    if shown:
        yield Beside(tuple(shown)) if len(shown) > 1 else shown[0]


def _tables(findings: Findings) -> Iterator[Block]:
    table = find_table(findings, "agree", "raters")
    yield _tendency_table(findings, table)
    if len(_rater_names(findings)) > 2:  # of two, any mark is in the vote
        yield _performance_table(findings, table)
        yield _pooled_table(findings, table)
    pairs = find_table(findings, "agree", "pairs")
    if rows := [r for r in pairs.all("cohen_kappa", "pooled") if r["relation"] == "between"]:
        yield _pair_table(findings, pairs, rows)


def _rater_names(findings: Findings) -> tuple[str, ...]:
    assert findings.agreement.raters is not None
    return findings.agreement.raters.differences.raters


def _name_columns(findings: Findings) -> list[Column]:
    """The head of the first columns: who it is, and what is known of all."""
    return [Column("Rater", number=False), *(Column(p, number=False) for p in _properties(findings))]


def _name_cells(findings: Findings, rater: str) -> list[Cell]:
    own = findings.study.properties.get(rater, {})
    return [rater_cell(findings, rater), *(text_cell(own.get(p, "")) for p in _properties(findings))]


def _properties(findings: Findings) -> list[str]:
    return list(dict.fromkeys(name for own in findings.study.properties.values() for name in own))


def _tendency_table(findings: Findings, table: TableIndex) -> PageTable:
    """How each draws, beside the others."""
    columns = [
        *_name_columns(findings),
        Column("Differs from others by", "1 − Dice to each of the others, on average: 0 is the same drawing."),
        Column("Stands out", "Differs by more than the raters' mean plus one SD: somebody mostly does.", number=False),
        Column("Size, of the others'", "What the rater marked over what the others marked: above 1 is larger."),
        Column("Draws", "The size in words: 25% larger or 20% smaller than the others is worth a word.", number=False),
        Column("Misses", "Of what at least half of the others marked, the share that this rater left."),
        Column("Alone", "Of what this rater marked, the share that nobody else marked."),
        Column("Williams' index", "1: agrees with the others as they agree among themselves; less: agrees less."),
    ]  # fmt: skip
    rows = tuple(_tendency_row(findings, table, rater) for rater in _rater_names(findings))
    return PageTable("rater-tendencies", "How each rater draws", tuple(columns), rows, "All cases pooled.")


def _tendency_row(findings: Findings, table: TableIndex, rater: str) -> tuple[Cell, ...]:
    assert findings.agreement.raters is not None
    out = rater in findings.agreement.raters.differences.outliers
    size = table.row("relative_area", "pooled", rater)
    return (
        *_name_cells(findings, rater),
        table.cell("mean_difference", "pooled", rater),
        text_cell("yes" if out else ""),
        table.cell("relative_area", "pooled", rater),
        text_cell(size_word(size)),
        table.cell("misses", "pooled", rater, digits=0, percent=True),
        table.cell("extra", "pooled", rater, digits=0, percent=True),
        table.cell("williams_index", "pooled", rater),
    )


def _performance_table(findings: Findings, table: TableIndex) -> PageTable:
    """Each against the vote, on average over subjects."""
    columns = (*_name_columns(findings), *(Column(title, help) for title, help in PERFORMANCE.values()))
    rows = tuple(
        (*_name_cells(findings, rater), *(table.cell(s, "mean", rater, digits=3) for s in PERFORMANCE))
        for rater in _rater_names(findings)
    )
    note = (
        f"Mean over {subject_word(findings)}s, with its {interval_name(findings)}. The vote has a share of each "
        "rater in it."
    )
    return PageTable("rater-performance", "Each rater against the vote of all", columns, rows, note)


def _pooled_table(findings: Findings, table: TableIndex) -> PageTable:
    """The same of all items together, against the vote of the others too, and STAPLE's rates."""
    others = [Column(f"{title}, others", _help_of_others(help)) for title, help in PERFORMANCE.values()]
    rates = [
        Column("STAPLE sensitivity", "As STAPLE estimates it, with a reference standard that it estimates as well."),
        Column("STAPLE specificity", "Likewise; near 1 wherever most of what is counted is background."),
    ]
    columns = (*_name_columns(findings), *(Column(*own) for own in PERFORMANCE.values()), *others, *rates)
    rows = tuple((*_name_cells(findings, rater), *_pooled_cells(table, rater)) for rater in _rater_names(findings))
    title, note = (
        "The same, all cases pooled",
        f"Every {pixel_word(findings)} counts the same, so that large cases weigh more.",
    )
    return PageTable("rater-performance-pooled", title, columns, rows, note, closed=True)


def _help_of_others(help: str) -> str:
    return help.replace("of the raters", "of the other raters").replace("that vote", "the vote of the others")


def _pooled_cells(table: TableIndex, rater: str) -> Iterator[Cell]:
    wanted = [*PERFORMANCE, *(f"{s}_against_others" for s in PERFORMANCE), "staple_sensitivity", "staple_specificity"]
    return (table.cell(statistic, "pooled", rater, digits=3) for statistic in wanted)


def _pair_table(findings: Findings, table: TableIndex, rows: Sequence[Row]) -> PageTable:
    """Every two raters."""
    columns = (Column("Rater", number=False), Column("and", number=False), *_pair_columns())
    few = len(_rater_names(findings)) <= MANY_RATERS
    shown = rows if few else _most_and_least_alike(table, rows)
    cells = tuple(
        (rater_cell(findings, str(r["rater_a"])), rater_cell(findings, str(r["rater_b"])), *_pair_cells(table, r))
        for r in shown
    )
    note = f"Means are over {subject_word(findings)}s, pooled numbers over all {pixel_word(findings)}s."
    if few:
        return PageTable("rater-pairs", "Every two raters", columns, cells, note, closed=len(rows) > MANY_PAIRS)
    note += f" All {len(rows):,} pairs are in agree/pairs.csv."
    return PageTable("rater-pairs", f"The {ENDS} pairs most and least alike", columns, cells, note, closed=True)


def _most_and_least_alike(table: TableIndex, rows: Sequence[Row]) -> list[Row]:
    """Of many pairs those with the highest and the lowest Dice, pairs without one left out."""
    dice = {r.extra: r.value for r in table.all("dice", "pooled") if is_defined(r)}
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


def _pair_cells(table: TableIndex, row: Row) -> Iterator[Cell]:
    for statistic in ("dice", "cohen_kappa", "volume_difference"):
        share: dict[str, Any] = {"digits": 0, "percent": True} if statistic == "volume_difference" else {}
        yield table.cell(statistic, "mean", *row.extra, **share)
    for statistic in ("dice", "cohen_kappa"):
        yield table.cell(statistic, "pooled", *row.extra)


def _repeat_table(findings: Findings) -> Iterator[Block]:
    """The same rater's readings beside each other."""
    table = find_table(findings, "agree", "pairs")
    rows = [r for r in table.all("cohen_kappa", "pooled") if r["relation"] == "within"]
    if not rows:
        return
    columns = (Column("Reading", number=False), Column("and", number=False), *_pair_columns())
    cells = tuple(
        (*(rater_cell(findings, str(name)) for name in (r["rater_a"], r["rater_b"])), *_pair_cells(table, r))
        for r in rows
    )
    note = "Even one rater draws differently on another day: a guide to how much agreement to expect of two."
    yield PageTable("rater-repeats", "The same rater twice", columns, cells, note)


def _dependence_block(findings: Findings) -> Iterator[Block]:
    """Whether the raters' errors go together."""
    sentences = tuple(_dependence_sentences(findings))
    if sentences:
        yield Paragraphs(sentences, "Do the raters' errors go together?")


def _dependence_sentences(findings: Findings) -> Iterator[Sentence]:
    errors = error_dependence(findings)
    if errors is not None:
        yield (
            "The more the raters' errors go together, the less their votes add to each other. Here ",
            *errors.sentence,
            ". A mistake that all share cannot be seen at all.",
        )
    elif len(_rater_names(findings)) < LEAST_RATERS:
        yield ("Whether the raters' errors go together cannot be told: this needs at least four raters.",)
    alike, pairs = possible_copies(findings), find_table(findings, "agree", "pairs")
    for copy in alike.pairs if alike.suspected else ():
        names = (rater_cell(findings, copy.rater_a), " and ", rater_cell(findings, copy.rater_b))
        value = pairs.cell("dice", "pooled", copy.rater_a, copy.rater_b, "between", digits=3)
        yield ("Raters ", *names, " drew nearly the same, with a Dice of ", value, ": is one a copy or an edit?")
