"""The section on raters: who differs and how.

Sentences come from the claims of ``agree``; tables show tendencies, performance, pairs and repeated readings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...analyses.agree.presentation import charts, most_distant, pooled_cases, repeated_cases
from ...analyses.many import many_raters, pair_count
from ...claims.masks import describe_doubts
from ...claims.numbers import TableIndex, has_interval, is_defined, telling_digits
from ...claims.raters import COMPARISONS, TESTS, describe_tests, size_ratio
from ...claims.sentences import Cell, Sentence, capitalise, join_names, text_cell
from ...core.undefined import code_of
from ...io.result_tables import Row
from ...raters.dependence import COPY
from ..building import ColumnOf, make_table, text_column
from ..elements import Beside, Block, Chart, Column, PageTable, Paragraphs, Section
from ..findings import Findings
from .vocabulary import DISTANCE_TITLES, distance_meaning, rater_cell, size_difference_title, with_unit

PERFORMANCE = {
    "sensitivity": ("Sensitivity", "Of what at least half of {} marked, the share that this rater marked."),
    "specificity": ("Specificity", "Of what fewer than half of {} marked, the share that this rater left unmarked."),
    "ppv": ("PPV", "Of what this rater marked, the share that at least half of {} marked."),
    "cohen_kappa": ("Kappa", "Agreement with the vote of {} beyond chance: 1 is full agreement, 0 is chance."),
}
STAPLE_RATES = {
    "staple_sensitivity": (
        "STAPLE sensitivity", "As STAPLE estimates it, with a reference standard that it estimates as well."
    ),
    "staple_specificity": ("STAPLE specificity", "Likewise; near 1 wherever most of what is counted is background."),
}  # fmt: skip
MANY_PAIRS = 15
"""With more pairs of raters, their table is collapsed."""
MANY_RATERS, ENDS = 15, 20
"""With more raters, only so many of the most and least similar pairs are shown."""


def section(findings: Findings) -> Section | None:
    """The section on raters; None where raters are exchangeable."""
    if findings.agreement.raters is None:
        return None
    lead = (*_doubt_warning(findings), *rater_sentences(findings, *COMPARISONS), *_what_was_tested(findings))
    blocks = [*_charts(findings), *_tables(findings), *_repeat_table(findings), *_dependence_block(findings)]
    return Section("raters", "Who differs, and how?", lead, tuple(blocks))


def rater_sentences(findings: Findings, *ids: str) -> tuple[Sentence, ...]:
    """The sentences of claims about raters, with the raters' names in their colours."""
    return _coloured(findings, findings.agreement.claims.sentences(*ids))


def _coloured(findings: Findings, sentences: Iterable[Sentence]) -> tuple[Sentence, ...]:
    """The sentences with the raters' names in their colours."""
    names = set(findings.study.rater_names)

    def colour(part: str | Cell) -> str | Cell:
        is_rater = isinstance(part, Cell) and not part.value and part.shown in names
        return replace(part, colour=rater_cell(findings, part.shown).colour) if is_rater else part  # type: ignore[union-attr,type-var]

    return tuple(tuple(map(colour, sentence)) for sentence in sentences)


def _what_was_tested(findings: Findings) -> tuple[Sentence, ...]:
    """What the tests of raters did not show, and what was not tested."""
    assert findings.agreement.raters is not None
    return _coloured(findings, describe_tests(findings.agreement.raters.facts, findings.agreement.claims))


def _is_tested(findings: Findings) -> bool:
    """Whether raters were tested against each other: there are enough of them, and enough subjects."""
    return any(not math.isnan(claim.p_value) for claim in findings.agreement.claims.of(*TESTS))


def _doubt_warning(findings: Findings) -> Iterator[Sentence]:
    """A warning about masks that are probably broken, may be lost, or are copies."""
    if doubts := describe_doubts(findings.agreement.suspicions):
        due = " The results of raters below may be due to that." * bool(findings.agreement.counted_suspicions)
        yield from _coloured(findings, [(*capitalise(doubts), f": see In short.{due}")])


def _charts(findings: Findings) -> Iterator[Block]:
    svgs = charts(findings.agreement)
    assert findings.agreement.raters is not None
    pooled = pooled_cases(findings.agreement.raters.facts)
    captions = {
        "dendrogram": "Raters and groups of raters who draw alike are joined far to the left. There is such a tree of "
        "any raters: it is a description, and no test of groups."
        + " A triangle marks an outlier by the test."
        * bool(claimed_raters(findings, "raters.outlier")),
        "dice-between-raters": f"Every rater against every other, {pooled}: 1 means identical masks.",
        "distance-between-raters": "How far the outlines of every two raters are apart on average, mean over "
        f"{findings.subject_word}s in which both marked something.",
    }
    if len(_rater_names(findings)) == 2:
        del captions["dendrogram"]
    shown = [Chart(name, svgs[name], caption) for name, caption in captions.items() if name in svgs]
    if shown:
        yield Beside(tuple(shown)) if len(shown) > 1 else shown[0]


def _tables(findings: Findings) -> Iterator[Block]:
    table = findings.table("agree/raters")
    yield from _spread_table(findings, table)
    yield _tendency_table(findings, table)
    if len(_rater_names(findings)) > 2:  # with two raters the vote is the union
        yield from _performance_tables(findings, table)
    pairs = findings.table("agree/pairs")
    if rows := [r for r in pairs.all("cohen_kappa", "pooled") if r["relation"] == "between"]:
        yield _pair_table(findings, pairs, rows)


def _rater_names(findings: Findings) -> tuple[str, ...]:
    assert findings.agreement.raters is not None
    return findings.agreement.raters.differences.raters


def _listed(findings: Findings) -> tuple[str, ...]:
    """The raters who have rows: all of them or, of many, those farthest from the others."""
    assert findings.agreement.raters is not None
    return most_distant(findings.agreement.raters.differences)


def _listed_note(findings: Findings) -> str:
    count, every = len(_listed(findings)), len(_rater_names(findings))
    if count == every:
        return ""
    return f" The {count} of {every} raters with the largest Dice distance to the others; all are in agree/raters.csv."


def _spread_table(findings: Findings, table: TableIndex) -> Iterator[PageTable]:
    """Of many raters, the values of some of them in the order of each statistic; also by group."""
    assert findings.agreement.raters is not None
    names, label = _rater_names(findings), findings.agreement.raters.facts.label
    if len(_listed(findings)) == len(names):
        return
    known = findings.study.properties
    first = next((name for properties in known.values() for name in properties), "")
    groups = {"all raters": list(names)}
    for name in names if first else ():
        groups.setdefault(f"{first}: {known.get(name, {}).get(first, '') or 'not said'}", []).append(name)
    rows: list[tuple[str, str, list[Row]]] = []
    for statistic, title in SPREAD.items():
        for group, members in groups.items():
            found = [table.row(statistic, "pooled", rater, label=label) for rater in members]
            values = sorted((row for row in found if is_defined(row)), key=lambda row: row.value)
            rows += [(title, group, values)] if values else []

    def at(share: float) -> Callable[[tuple[str, str, list[Row]]], Cell]:
        return lambda item: table.quote(item[2][round(share * (len(item[2]) - 1))], 3)

    columns: list[ColumnOf[tuple[str, str, list[Row]]]] = [
        (text_column("Number"), lambda item: text_cell(item[0])),
        (text_column("Raters"), lambda item: text_cell(f"{item[1]} ({len(item[2])})")),
        *((Column(title, "The value of the rater at this place in the order."), at(share))
          for title, share in ORDER.items()),
    ]  # fmt: skip
    note = f"Each number is that of one rater, pooled over all cases: so {len(names)} raters need no row each."
    yield make_table("rater-spread", "How much raters differ", rows, columns, note)


SPREAD = {
    "mean_difference": "Dice distance to others",
    "sensitivity_against_others": "Sensitivity, against the vote of the others",
    "ppv_against_others": "PPV, against the vote of the others",
    "misses": "Misses",
    "extra": "Alone",
}
ORDER = {"Lowest": 0.0, "A quarter": 0.25, "Middle": 0.5, "Three quarters": 0.75, "Highest": 1.0}
"""Places in the order of raters."""


def _name_columns(findings: Findings) -> list[ColumnOf[str]]:
    """The first columns: the rater, and their properties."""
    known = findings.study.properties

    def value(name: str) -> Callable[[str], Cell]:
        return lambda rater: text_cell(known.get(rater, {}).get(name, ""))

    names = dict.fromkeys(name for properties in known.values() for name in properties)
    head: ColumnOf[str] = (text_column("Rater"), lambda rater: rater_cell(findings, rater))
    return [head, *((text_column(name), value(name)) for name in names)]


def _tendency_table(findings: Findings, table: TableIndex) -> PageTable:
    """How each rater draws compared with the others."""
    assert findings.agreement.raters is not None
    facts = findings.agreement.raters.facts
    made = {kind: {claim.about for claim in findings.agreement.claims.of(kind).made} for kind in COMPARISONS}
    outliers, larger, smaller = (made[f"raters.{kind}"] for kind in ("outlier", "larger", "smaller"))

    def value(statistic: str, scope: str = "pooled", label: str = facts.label, **how: Any) -> Callable[[str], Cell]:
        return lambda rater: table.cell(statistic, scope, rater, label=label, **how)

    def mean(statistic: str, label: str = facts.label) -> Callable[[str], Cell]:
        return lambda rater: _with_count(findings, table, table.row(statistic, "mean", rater, label=label))

    def ratio(label: str) -> Callable[[str], Cell]:
        def cell(rater: str) -> Cell:
            row = table.row("relative_size", "mean", rater, label=label)
            shown = _with_count(findings, table, row)
            # with the digits of the sentences
            return replace(size_ratio(table, row), below=shown.below) if is_defined(row) else shown

        return cell

    def tested(statistic: str, label: str = facts.label) -> set[str]:
        rows = {rater: table.row(statistic, "mean", rater, label=label) for rater in _rater_names(findings)}
        return {rater for rater, row in rows.items() if is_defined(row)}

    def size_columns(label: str) -> list[ColumnOf[str]]:
        of = f", {label}" if label else ""

        def word(rater: str) -> str:
            about = f"{rater}{of}"
            return "larger" if about in larger else "smaller" if about in smaller else ""

        help = (
            "Size of the rater's masks over that of another rater: geometric mean over the other raters and over the "
            f"{findings.subject_word}s in which both marked something."
        )
        verdict = "Larger or smaller than more than half of the others, by a test."
        return [
            (Column(f"Relative size{of}", help), ratio(label)),
            *_verdict_column(f"Draws{of}", verdict, word, tested("larger_p", label)),
        ]

    apart = f" {pooled_cases(facts).capitalize()}." if facts.shared < facts.cases else ""
    copies = _is_copied(findings)
    columns: list[ColumnOf[str]] = [
        *_name_columns(findings),
        (Column("Dice distance to others", "1 − Dice to each of the others, on average: 0 means identical masks."
                f"{apart}"), value("mean_difference")),
        (Column("Excess distance", "Distance to the others minus the distance among the others, within cases. Where "
                "one rater is far from all, it is below 0 for the rest. "
                f"Mean over the {findings.subject_word}s that the rater read with two others or more."),
         mean("excess_distance")),
        *_verdict_column("Outlier", "Excess distance larger than among equal raters, by a test.",
                         lambda rater: "yes" if rater in outliers else "", set() if copies else tested("outlier_p")),
        *(column for label in facts.tests.labels for column in size_columns(label)),
        (Column("Misses", "Of what at least half of the others marked, the share that this rater left."),
         value("misses", digits=0, percent=True)),
        (Column("Alone", "Of what this rater marked, the share that nobody else marked."),
         value("extra", digits=0, percent=True)),
        (Column("Williams' index", "1: agrees with the others as they agree among themselves; less: agrees less."
                f"{apart}"),
         value("williams_index")),
    ]  # fmt: skip
    title, note = "How each rater draws", "All cases pooled, where nothing else is said."
    note += " Means over labels." if facts.label else ""
    if facts.shared < facts.cases:
        note += UNEQUAL_HERE.format(pooled_cases(facts))
    note += UNADJUSTED.format(findings.interval_name, findings.subject_word) if _is_tested(findings) else ""
    return make_table("rater-tendencies", title, _listed(findings), columns, note + _listed_note(findings))


def _is_copied(findings: Findings) -> bool:
    """Whether outliers are not looked for, as some raters may be copies."""
    refused = {code_of(claim.why_not or "") for claim in findings.agreement.claims.of("raters.outlier")}
    return "possible_copies" in refused


def _with_count(findings: Findings, table: TableIndex, row: Row | None) -> Cell:
    """A mean over a rater's own subjects, with their number where these are not all."""
    if row is None:
        return text_cell("")
    cell = table.quote(row)
    fewer = is_defined(row) and row.n is not None and row.n < len(findings.study.subjects)
    return replace(cell, below=f"n = {row.n}") if fewer else cell


def _verdict_column(title: str, help: str, word: Callable[[str], str], tested: set[str]) -> Iterator[ColumnOf[str]]:
    """What tests say of raters; no column where nobody was tested, as its empty cells would look like an answer."""
    if tested:
        empty = "Empty: not said, which does not mean that the rater is like the others."
        yield (
            text_column(title, f"{help} {empty}"),
            lambda rater: text_cell(word(rater) if rater in tested else "not tested"),
        )


UNEQUAL_HERE = (
    " Raters read different cases: the Dice distance and Williams' index are {}, all other columns over each rater's "
    "own cases, so that they give no order of raters."
)
UNADJUSTED = (
    " Each {} over {}s is of one rater alone; tests are adjusted for all raters, so that an interval can leave out 0, "
    "or 1 of sizes, where no test says so."
)


def _performance_tables(findings: Findings, table: TableIndex) -> Iterator[PageTable]:
    """Each rater against the vote of the others; with all cases pooled also against that of all, and STAPLE's rates."""
    assert findings.agreement.raters is not None
    facts = findings.agreement.raters.facts

    def value(statistic: str, scope: str, label: str = facts.label) -> Callable[[str], Cell]:
        return lambda rater: table.cell(statistic, scope, rater, label=label, digits=3)

    def performance(who: str, suffix: str, title: str = "") -> dict[str, tuple[str, str]]:
        return {f"{s}{suffix}": (f"{name}{title}", help.format(who)) for s, (name, help) in PERFORMANCE.items()}

    names, head = _listed(findings), _name_columns(findings)
    others = performance("the other raters", "_against_others")
    means = [(Column(*titles), value(statistic, "mean")) for statistic, titles in others.items()]
    shown = any(has_interval(table.row(s, "mean", r, label=facts.label)) for s in others for r in names)
    note = f"Mean over {findings.subject_word}s" + f", with its {findings.interval_name}" * shown + "."
    note += " Means over labels." if facts.label else ""
    note += of_own_cases(findings) + _listed_note(findings)
    yield make_table("rater-performance", "Each rater against the vote of the others", names, [*head, *means], note)
    pooled = performance("the other raters", "_against_others", ", others") | performance("the raters", "", ", all")
    rates = [(Column(*titles), value(statistic, "pooled")) for statistic, titles in pooled.items()]
    for label in facts.tests.labels:
        of = f", {label}" if label else ""
        rates += [(Column(f"{t}{of}", help), value(s, "pooled", label)) for s, (t, help) in STAPLE_RATES.items()]
    note = (
        f"Every {findings.pixel_word} counts the same, so that large cases weigh more. The vote of all raters and "
        "STAPLE's truth hold each rater's own marks, so that these numbers are not independent of the rater; mostly "
        "that flatters."
    )
    note += of_own_cases(findings) + _listed_note(findings)
    pooled_title = "Each rater against the vote of the others, of all raters, and STAPLE: all cases pooled"
    yield make_table("rater-performance-pooled", pooled_title, names, [*head, *rates], note, closed=True)


def of_own_cases(findings: Findings) -> str:
    """That means over each rater's own cases are no order of raters; nothing where all read the same cases."""
    raters = findings.agreement.raters
    if raters is None or raters.facts.shared == raters.facts.cases:
        return ""
    return " Raters read different cases, so that their numbers are no order of raters."


def _pair_table(findings: Findings, table: TableIndex, rows: Sequence[Row]) -> PageTable:
    """Every pair of raters."""
    count = len(_rater_names(findings))
    few, cut = count <= MANY_RATERS, many_raters(count)
    shown = rows if few or cut else _most_and_least_alike(table, rows)
    columns = _pair_columns(findings, table, "Rater")
    title = "Pairs of raters" if few else f"The {ENDS} pairs most and least alike"
    title = f"The {len(rows)} most different pairs" if cut else title
    interval = f", with {findings.interval_name}" * findings.resampled
    pixels = f"all {findings.pixel_word}s of the cases that both read"
    note = f"Means are over {findings.subject_word}s{interval}, pooled numbers over {pixels}."
    note += "" if few or cut else f" All {len(rows):,} pairs are in agree/pairs.csv."
    note += f" By mean Dice, of {pair_count(count):,} pairs in all; means of the others are in agree/pairs.csv." * cut
    return make_table("rater-pairs", title, shown, columns, note, closed=not few or len(rows) > MANY_PAIRS)


def _most_and_least_alike(table: TableIndex, rows: Sequence[Row]) -> list[Row]:
    """The pairs with the highest and the lowest Dice."""
    dice = {r.extra: r.value for r in table.all("dice", "pooled") if is_defined(r)}
    order = sorted((r for r in rows if r.extra in dice), key=lambda r: -dice[r.extra])
    return order if len(order) <= 2 * ENDS else [*order[:ENDS], *order[-ENDS:]]


def _pair_columns(findings: Findings, table: TableIndex, what: str) -> list[ColumnOf[Row]]:
    """Columns for rows of two raters, or of two readings of a rater."""

    def label(statistic: str) -> str:
        whole = statistic == "cohen_kappa" or findings.agreement.raters is None
        return "" if whole else _dice_label(findings, table)

    def value(statistic: str, scope: str, **how: Any) -> Callable[[Row], Cell]:
        return lambda row: table.cell(statistic, scope, *row.extra, label=label(statistic), **how)

    def overlap(statistic: str, scope: str) -> Callable[[Row], Cell]:
        def cell(pair: Row) -> Cell:
            row = table.row(statistic, scope, *pair.extra, label=label(statistic))
            return text_cell("") if row is None else table.quote(row, telling_digits(row.value))

        return cell

    def distance(statistic: str) -> Iterator[ColumnOf[Row]]:
        rows = [r for r in table.all(statistic, "mean") if not r.group]
        if rows:
            head = Column(with_unit(DISTANCE_TITLES[statistic], rows), distance_meaning(findings, statistic))
            yield head, lambda pair: table.cell(statistic, "mean", *pair.extra)

    pooled = "All cases that both read, as if they were one."
    return [
        (text_column(what), lambda row: rater_cell(findings, str(row["rater_a"]))),
        (text_column("and"), lambda row: rater_cell(findings, str(row["rater_b"]))),
        (Column("Dice", "Overlap of the two masks, on average: 1 means identical masks."), overlap("dice", "mean")),
        (Column("Cohen's kappa", "Agreement of the two beyond chance, on average."), overlap("cohen_kappa", "mean")),
        (Column(size_difference_title(findings, table),
                "Difference of the two sizes over their mean, on average; 200% where one is empty."),
         value("volume_difference", "mean", digits=0, percent=True)),
        *(column for name in DISTANCE_TITLES for column in distance(name)),
        (Column("Dice, pooled", pooled), overlap("dice", "pooled")),
        (Column("Kappa, pooled", pooled), overlap("cohen_kappa", "pooled")),
    ]  # fmt: skip


def _repeat_table(findings: Findings) -> Iterator[Block]:
    """Repeated readings of the same rater."""
    table = findings.table("agree/pairs")
    if rows := [r for r in table.all("cohen_kappa", "pooled") if r["relation"] == "within"]:
        note = "How far a rater agrees with themselves. The time between the readings is not in the data."
        columns = _pair_columns(findings, table, "Reading")
        help = "Cases in which either reading marks anything, of those that were read twice."
        columns.insert(2, (text_column("Cases", help), lambda pair: text_cell(repeated_cases(table, pair))))
        if same := [r for r in rows if is_copied_reading(findings, table, r)]:
            names = join_names([f"{r['rater_a']} and {r['rater_b']}" for r in same])
            note += (
                f" {names}: the same mask in a case, or nearly the same in all; this says nothing about repeatability."
            )
        yield make_table("rater-repeats", "The same rater twice", rows, columns, note)


def is_copied_reading(findings: Findings, table: TableIndex, pair: Row) -> bool:
    """Whether two readings of a rater are too much alike to be two."""
    names = {str(pair["rater_a"]), str(pair["rater_b"])}
    found = [s for s in findings.agreement.suspicions if s.kind == "identical_sessions"]
    shared = table.row("iou", "pooled", *pair.extra, label=_dice_label(findings, table))
    return any(names == set(map(str, s.columns)) for s in found) or (is_defined(shared) and shared.value > COPY)


def _dice_label(findings: Findings, table: TableIndex) -> str:
    """The label of the rows of Dice: that of the mean over labels, where there are several."""
    assert findings.agreement.raters is not None
    label = findings.agreement.raters.facts.label
    return label if any(True for _ in table.all("dice", "pooled", label=label)) else ""


def _dependence_block(findings: Findings) -> Iterator[Block]:
    """Whether the raters' errors are correlated, and whether masks were copied."""
    sentences = rater_sentences(findings, *DEPENDENCE_CLAIMS, "raters.copies", "raters.alike")
    if sentences:
        yield Paragraphs(sentences, "Do raters err together?")


DEPENDENCE_CLAIMS = ("raters.dependence", "raters.effective")


def broken_raters(findings: Findings) -> list[str]:
    """Raters with a counted mask that is probably broken, lost or a copy."""
    wrong = {rater for suspicion in findings.agreement.counted_suspicions for rater in suspicion.raters}
    return [r for r in findings.study.rater_names if r in wrong]


def claimed_raters(findings: Findings, *ids: str) -> list[str]:
    """The raters of whom a claim is made."""
    about = [claim.about for claim in findings.agreement.claims.of(*ids).made]
    names = findings.study.rater_names
    return [rater for rater in names if any(a == rater or a.startswith(f"{rater}, ") for a in about)]


def copies_suspected(findings: Findings) -> bool:
    """Whether some pairs of raters are suspiciously similar."""
    return bool(findings.agreement.claims.of("raters.copies").made)
