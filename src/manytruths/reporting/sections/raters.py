"""The section on raters: who differs and how.

Tendencies, performance, pairs and repeated readings; outliers and raters who draw larger or smaller; whether errors are
correlated, and whether masks were copied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ...analyses.agree.presentation import charts
from ...claims.numbers import TableIndex, is_defined
from ...claims.sentences import Cell, Sentence, compose, join_parts, spell_count, text_cell
from ...io.result_tables import Row
from ...raters.dependence import PossibleCopy
from ..building import ColumnOf, make_table, text_column
from ..elements import Beside, Block, Chart, Column, PageTable, Paragraphs, Section
from ..findings import Findings
from .vocabulary import rater_cell, rater_names

PERFORMANCE = {
    "sensitivity": ("Sensitivity", "Of what at least half of the raters marked, the share that this rater marked."),
    "specificity": ("Specificity", "Of what fewer than half marked, the share that this rater left unmarked."),
    "ppv": ("PPV", "Of what this rater marked, the share that at least half of the raters marked."),
    "cohen_kappa": ("Kappa", "Agreement with that vote beyond chance: 1 is full agreement, 0 is chance."),
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
    lead = (*_turned_warning(findings), *outlier_sentences(findings), *size_sentences(findings))
    blocks = [*_charts(findings), *_tables(findings), *_repeat_table(findings), *_dependence_block(findings)]
    return Section("raters", "Who differs, and how?", lead, tuple(blocks))


def _turned_warning(findings: Findings) -> Iterator[Sentence]:
    """A warning about raters with a mask that was probably saved turned."""
    if names := turned_raters(findings):
        text = (
            "A mask of {} was probably saved turned or flipped (see In short): the results of raters below may be due "
            "to that."
        )
        yield compose(text, rater_names(findings, names))


def _charts(findings: Findings) -> Iterator[Block]:
    svgs = charts(findings.agreement)
    captions = {
        "dendrogram": "Raters who draw alike are joined far to the left; who joins last differs most from the others.",
        "dice-between-raters": "Every rater against every other, all cases pooled: 1 means identical masks.",
    }
    if len(_rater_names(findings)) == 2:
        del captions["dendrogram"]
    shown = [Chart(name, svgs[name], caption) for name, caption in captions.items() if name in svgs]
    if shown:
        yield Beside(tuple(shown)) if len(shown) > 1 else shown[0]


def _tables(findings: Findings) -> Iterator[Block]:
    table = findings.table("agree/raters")
    yield _tendency_table(findings, table)
    if len(_rater_names(findings)) > 2:  # with two raters the vote is the union
        yield from _performance_tables(findings, table)
    pairs = findings.table("agree/pairs")
    if rows := [r for r in pairs.all("cohen_kappa", "pooled") if r["relation"] == "between"]:
        yield _pair_table(findings, pairs, rows)


def _rater_names(findings: Findings) -> tuple[str, ...]:
    assert findings.agreement.raters is not None
    return findings.agreement.raters.differences.raters


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
    outliers = findings.agreement.raters.differences.outliers

    def value(statistic: str, **how: Any) -> Callable[[str], Cell]:
        return lambda rater: table.cell(statistic, "pooled", rater, **how)

    columns: list[ColumnOf[str]] = [
        *_name_columns(findings),
        (Column("Dice distance to others", "1 − Dice to each of the others, on average: 0 means identical masks."),
         value("mean_difference")),
        (text_column("Outlier", "Dice distance above the raters' mean + 1 SD; mostly there is one."),
         lambda rater: text_cell("yes" if rater in outliers else "")),
        (Column("Relative area", "Area that the rater marked over the mean area of the others: above 1 is larger."),
         value("relative_area")),
        (text_column("Draws", "Larger: by at least 25%; smaller: by at least 20%."),
         lambda rater: text_cell(size_word(table.row("relative_area", "pooled", rater)))),
        (Column("Misses", "Of what at least half of the others marked, the share that this rater left."),
         value("misses", digits=0, percent=True)),
        (Column("Alone", "Of what this rater marked, the share that nobody else marked."),
         value("extra", digits=0, percent=True)),
        (Column("Williams' index", "1: agrees with the others as they agree among themselves; less: agrees less."),
         value("williams_index")),
    ]  # fmt: skip
    title = "How each rater draws"
    return make_table("rater-tendencies", title, _rater_names(findings), columns, "All cases pooled.")


def _performance_tables(findings: Findings, table: TableIndex) -> Iterator[PageTable]:
    """Each rater against the vote; with all cases pooled also against the vote of the others, and STAPLE's rates."""

    def value(statistic: str, scope: str) -> Callable[[str], Cell]:
        return lambda rater: table.cell(statistic, scope, rater, digits=3)

    names, head = _rater_names(findings), _name_columns(findings)
    means = [(Column(*titles), value(statistic, "mean")) for statistic, titles in PERFORMANCE.items()]
    mean = f"Mean over {findings.subject_word}s, with its {findings.interval_name}."
    note = f"{mean} The vote has a share of each rater in it."
    yield make_table("rater-performance", "Each rater against the vote of all", names, [*head, *means], note)
    others = {}
    for statistic, (title, help) in PERFORMANCE.items():
        help = help.replace("of the raters", "of the other raters").replace("that vote", "the vote of the others")
        others[f"{statistic}_against_others"] = f"{title}, others", help
    pooled = PERFORMANCE | others | STAPLE_RATES
    rates = [(Column(*titles), value(statistic, "pooled")) for statistic, titles in pooled.items()]
    note = f"Every {findings.pixel_word} counts the same, so that large cases weigh more."
    pooled_title = "The same, all cases pooled"
    yield make_table("rater-performance-pooled", pooled_title, names, [*head, *rates], note, closed=True)


def _pair_table(findings: Findings, table: TableIndex, rows: Sequence[Row]) -> PageTable:
    """Every pair of raters."""
    few = len(_rater_names(findings)) <= MANY_RATERS
    shown = rows if few else _most_and_least_alike(table, rows)
    columns = _pair_columns(findings, table, "Rater")
    title = "Pairs of raters" if few else f"The {ENDS} pairs most and least alike"
    note = f"Means are over {findings.subject_word}s, pooled numbers over all {findings.pixel_word}s."
    note += "" if few else f" All {len(rows):,} pairs are in agree/pairs.csv."
    return make_table("rater-pairs", title, shown, columns, note, closed=not few or len(rows) > MANY_PAIRS)


def _most_and_least_alike(table: TableIndex, rows: Sequence[Row]) -> list[Row]:
    """The pairs with the highest and the lowest Dice."""
    dice = {r.extra: r.value for r in table.all("dice", "pooled") if is_defined(r)}
    order = sorted((r for r in rows if r.extra in dice), key=lambda r: -dice[r.extra])
    return order if len(order) <= 2 * ENDS else [*order[:ENDS], *order[-ENDS:]]


def _pair_columns(findings: Findings, table: TableIndex, what: str) -> list[ColumnOf[Row]]:
    """Columns for rows of two raters, or of two readings of a rater."""

    def value(statistic: str, scope: str, **how: Any) -> Callable[[Row], Cell]:
        return lambda row: table.cell(statistic, scope, *row.extra, **how)

    return [
        (text_column(what), lambda row: rater_cell(findings, str(row["rater_a"]))),
        (text_column("and"), lambda row: rater_cell(findings, str(row["rater_b"]))),
        (Column("Dice", "Overlap of the two masks, on average: 1 means identical masks."), value("dice", "mean")),
        (Column("Cohen's kappa", "Agreement of the two beyond chance, on average."), value("cohen_kappa", "mean")),
        (Column("Relative volume difference", "Difference of the two sizes over their mean, on average."),
         value("volume_difference", "mean", digits=0, percent=True)),
        (Column("Dice, pooled", "All cases as if they were one."), value("dice", "pooled")),
        (Column("Kappa, pooled", "All cases as if they were one."), value("cohen_kappa", "pooled")),
    ]  # fmt: skip


def _repeat_table(findings: Findings) -> Iterator[Block]:
    """Repeated readings of the same rater."""
    table = findings.table("agree/pairs")
    if rows := [r for r in table.all("cohen_kappa", "pooled") if r["relation"] == "within"]:
        note = "One rater also marks differently on another day: a guide to how much agreement to expect of two."
        columns = _pair_columns(findings, table, "Reading")
        yield make_table("rater-repeats", "The same rater twice", rows, columns, note)


def _dependence_block(findings: Findings) -> Iterator[Block]:
    """Whether the raters' errors are correlated."""
    if sentences := tuple(_dependence_sentences(findings)):
        yield Paragraphs(sentences, "Are the raters' errors correlated?")


def _dependence_sentences(findings: Findings) -> Iterator[Sentence]:
    errors = error_dependence(findings)
    if errors is not None:
        text = (
            "The more the raters' errors are correlated, the less their votes add to each other. Here {}. A mistake "
            "that all share cannot be seen at all."
        )
        yield compose(text, errors.sentence)
    elif len(_rater_names(findings)) < LEAST_RATERS:
        yield ("Whether the raters' errors are correlated cannot be determined: this needs at least four raters.",)
    alike, pairs = possible_copies(findings), findings.table("agree/pairs")
    for copy in alike.pairs if alike.suspected else ():
        names = [rater_cell(findings, name) for name in (copy.rater_a, copy.rater_b)]
        value = pairs.cell("dice", "pooled", copy.rater_a, copy.rater_b, "between", digits=3)
        yield compose(
            "Raters {} and {} drew nearly the same, with a Dice of {}: is one a copy or an edit?", *names, value
        )


# --- outliers, and raters who draw larger or smaller

LARGER, SMALLER = 1.25, 0.8
"""Relative area from which on a rater is said to draw larger or smaller."""
MOST_NAMED = 6
"""Most raters that are named for the size of their masks."""
FEW_RATERS = 5
"""Among fewer raters the rule for outliers often finds one; among more, nearly always."""
SMALL_DISTANCE = 0.05
"""Dice distance to the others below which no rater is called an outlier."""
MANY_MISSED, MANY_ALONE = 0.25, 0.15
"""Shares from which on missed pixels, and pixels that nobody else marked, are mentioned."""


def draws_larger(row: Row | None) -> bool:
    """Whether a rater draws larger than the others."""
    return row is not None and row.value >= LARGER


def draws_smaller(row: Row | None) -> bool:
    """Whether a rater draws smaller than the others, but not nothing."""
    return row is not None and 0 < row.value <= SMALLER


def size_word(row: Row | None) -> str:
    """The size of a rater's masks in a word."""
    if row is not None and row.value == 0:
        return "nothing"
    return "larger" if draws_larger(row) else "smaller" if draws_smaller(row) else ""


def turned_raters(findings: Findings) -> list[str]:
    """Raters with a mask that was probably saved turned or flipped."""
    wrong = {turn.rater for turn in findings.agreement.turns}
    return [r for r in findings.study.rater_names if r in wrong]


def outlier_sentences(findings: Findings) -> Iterator[Sentence]:
    """A sentence for each outlier, with reasons, or one that says that there is none."""
    raters = findings.agreement.raters
    if raters is None:
        return
    table = findings.table("agree/raters")
    if not any(is_defined(table.row("mean_difference", "pooled", rater)) for rater in raters.differences.raters):
        yield ("Outliers cannot be determined: no two raters can be compared.",)
    elif len(raters.differences.raters) == 2:
        yield ("With two raters there is no outlier: it takes a third rater to see who differs.",)
    elif not raters.differences.outliers:
        yield ("No rater is an outlier.",)
    elif all_alike(findings):
        most = max((r for r in table.all("mean_difference", "pooled") if is_defined(r)), key=lambda r: r.value)
        text = "No rater differs much from the others: the mean Dice distance to them is at most {}."
        yield compose(text, table.quote(most))
    for rater in outlying_raters(findings):
        yield _outlier_sentence(findings, table, rater)
    if outlying_raters(findings):
        yield (_outlier_caveat(findings),)


def all_alike(findings: Findings) -> bool:
    """Whether all raters are so similar that the rule for outliers finds only small differences."""
    rows = [r for r in findings.table("agree/raters").all("mean_difference", "pooled") if is_defined(r)]
    return bool(rows) and all(r.value < SMALL_DISTANCE for r in rows)


def outlying_raters(findings: Findings) -> list[str]:
    """Outliers, except raters with a turned mask, who are mentioned first."""
    raters, wrong = findings.agreement.raters, turned_raters(findings)
    if raters is None or all_alike(findings):
        return []
    return [r for r in raters.differences.outliers if r not in wrong]


def outlier_summary(findings: Findings) -> Iterator[Sentence]:
    """Outliers in one sentence; several are named without reasons."""
    names = outlying_raters(findings)
    if len(names) < 2:
        yield from outlier_sentences(findings)
        return
    table = findings.table("agree/raters")
    parts: list[Sentence] = [(rater_cell(findings, r), ": ", table.cell("mean_difference", "pooled", r)) for r in names]
    text = "Some raters are outliers by their mean Dice distance to the others ({}; above {} is an outlier)."
    yield compose(text, join_parts(parts), table.cell("outlier_threshold", "pooled", ""))
    yield (_outlier_caveat(findings),)


def _outlier_sentence(findings: Findings, table: TableIndex, rater: str) -> Sentence:
    name = rater_cell(findings, rater)
    reasons = list(_outlier_reasons(table, rater, name))
    text = (
        "Rater {} is an outlier, with a mean Dice distance (1 − Dice) of {} to the others (above {} is an outlier){}."
    )
    apart, limit = table.cell("mean_difference", "pooled", rater), table.cell("outlier_threshold", "pooled", "")
    return compose(text, name, apart, limit, (": ", *join_parts(reasons, "; ", "; ")) if reasons else "")


def _outlier_caveat(findings: Findings) -> str:
    """A caveat: of equal raters, one exceeds mean + 1 SD in 51% (three raters) to 99% (13 raters) of studies."""
    often = "often" if len(findings.study.rater_names) < FEW_RATERS else "nearly always"
    copied = (
        "; and where two raters copied, the others appear as outliers" if possible_copies(findings).suspected else ""
    )
    return f"By this rule (mean + 1 SD) there is {often} an outlier, even among equally good raters{copied}."


def _outlier_reasons(table: TableIndex, rater: str, name: Cell) -> Iterator[Sentence]:
    misses, alone = (table.row(s, "pooled", rater) for s in ("misses", "extra"))
    if misses is not None and misses.value >= MANY_MISSED:
        share = table.quote(misses, 0, percent=True)
        yield compose("this rater misses {} of what at least half of the others mark", share)
    if alone is not None and alone.value >= MANY_ALONE:
        yield compose("{} of what {} marks, nobody else marked", table.quote(alone, 0, percent=True), name)


def size_sentences(findings: Findings) -> Iterator[Sentence]:
    """Raters who draw larger or smaller than the others, or nothing."""
    if findings.agreement.raters is None:
        return
    table = findings.table("agree/raters")
    silent = [(rater_cell(findings, str(r["rater"])),) for r in table.all("relative_area", "pooled") if r.value == 0]
    if silent:
        yield compose("Rater{} {} marked nothing.", "" if len(silent) == 1 else "s", join_parts(silent))
        return  # relative to nothing every mask is large
    rows = [r for r in table.all("relative_area", "pooled") if is_defined(r) and (draws_larger(r) or draws_smaller(r))]
    rows.sort(key=lambda r: -abs(math.log(r.value)))
    parts: list[Sentence] = []
    for word, chosen in (("larger", draws_larger), ("smaller", draws_smaller)):
        for row in filter(chosen, rows[:MOST_NAMED]):
            rater = rater_cell(findings, str(row["rater"]))
            verb, times = (" draws", " times the area of the others") if not parts else ("", " times")
            parts.append(("rater ", rater, f"{verb} {word}, ", table.quote(row), times))
    if parts:
        how = " systematically" if len(findings.study) > 1 else ""
        start = f"Some raters differ{how} in size" if len(parts) > 1 else "One rater differs in size"
        others = ", among others" if len(rows) > MOST_NAMED else ""
        yield (f"{start}{others}: ", *join_parts(parts, "; ", "; "), ".")


# --- correlated errors, and copies

HARDLY, WEAKLY = 0.1, 0.3
"""Upper limits of correlations of errors that are called hardly or weakly correlated."""
LEAST_RATERS = 4
"""Fewest raters for which the correlation of errors can be estimated."""
FEW_EFFECTIVE = 0.8
"""Share of effective raters below which the summary mentions it."""
EASY = 0.95
"""Median Dice of pairs from which on similar masks do not suggest copies."""


@dataclass(frozen=True)
class ErrorDependence:
    """The correlation of the errors of two raters, and the effective number of independent raters."""

    raters: int
    few: bool
    words: str
    """``weakly correlated``"""
    item: str
    correlation: Cell
    effective: Cell

    @property
    def weight(self) -> Sentence:
        """``five raters weigh about as much as 3.6 independent ones``."""
        text = "{} weigh about as much as {} independent ones"
        return compose(text, spell_count(self.raters, "rater"), self.effective)

    @property
    def sentence(self) -> Sentence:
        """The dependence in words, to follow a comma or to start a sentence."""
        text = "the raters' errors, as STAPLE sees them, are {words} (correlation {number}): {weight}"
        if self.few:
            text = (
                "the raters' disagreements fall in part on the same {item}s, as along borders (their errors are "
                "{words}, {number}), so that for STAPLE {weight}; this need not mean that they influenced each other"
            )
        return compose(text, item=self.item, words=self.words, number=self.correlation, weight=self.weight)


def error_dependence(findings: Findings) -> ErrorDependence | None:
    """The dependence of the raters' errors; None with too few raters, or where they never differ."""
    table = findings.table("agree/raters")
    effective, shared = (table.row(name, "pooled", "") for name in ("effective_raters", "error_correlation"))
    agreed = findings.table("agree/agreement").row("percent_agreement", "pooled")
    if not is_defined(effective) or not is_defined(shared) or (agreed is not None and agreed.value == 1):
        return None
    raters = effective.n or len(findings.study.rater_names)
    few = effective.value < FEW_EFFECTIVE * raters
    words, numbers = _correlation_words(shared.value, few), (table.quote(shared), table.quote(effective, 1))
    return ErrorDependence(raters, few, words, findings.pixel_word, *numbers)


def _correlation_words(correlation: float, few: bool) -> str:
    shown = round(correlation, 2)  # the words agree with the number as shown
    if shown < HARDLY:
        return "slightly correlated" if few else "hardly correlated" if shown > -HARDLY else "negatively correlated"
    return "weakly correlated" if shown < WEAKLY else "correlated"


@dataclass(frozen=True)
class PossibleCopies:
    """Pairs of raters who drew nearly the same."""

    pairs: tuple[PossibleCopy, ...]
    easy: bool
    """Whether most pairs did, so that the task is easy rather than masks copied."""

    @property
    def suspected(self) -> bool:
        """Whether some pairs are suspiciously similar."""
        return bool(self.pairs) and not self.easy


def possible_copies(findings: Findings) -> PossibleCopies:
    """Pairs of raters with nearly the same masks, by their Dice over all cases."""
    raters = findings.agreement.raters
    pairs = raters.dependence.copies if raters is not None else ()
    rows = [
        r for r in findings.table("agree/pairs").all("dice", "pooled") if r["relation"] == "between" and is_defined(r)
    ]
    easy = bool(rows) and (2 * len(pairs) > len(rows) or median(r.value for r in rows) >= EASY)
    return PossibleCopies(tuple(pairs), easy)
