"""What is said of single raters: who stands out and why, who draws larger or smaller, whose mask lies wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...analyses.rows import Row
from ..findings import Findings
from ..parts import Cell, Sentence
from .dependence import possible_copies
from .numbers import TableIndex, find_table, is_defined
from .wording import join_parts, rater_cell

LARGER, SMALLER = 1.25, 0.8
"""From here on, the size of what a rater marks is worth a word."""
MOST_NAMED = 6
"""So many raters are told of, those first who differ most."""
FEW_RATERS = 5
"""Among fewer, the rule for who stands out often finds somebody; among more, nearly always."""
SMALL_DISTANCE = 0.05
"""1 − Dice to the others below which nobody is said to stand out."""
MANY_MISSED, MANY_ALONE = 0.25, 0.15
"""From here on, what a rater leaves of the others' marks, and marks alone, is worth a word."""


def draws_larger(row: Row | None) -> bool:
    """Whether a rater draws larger than the others."""
    return row is not None and row.value >= LARGER


def draws_smaller(row: Row | None) -> bool:
    """Whether a rater draws smaller than the others; who draws nothing does not."""
    return row is not None and 0 < row.value <= SMALLER


def size_word(row: Row | None) -> str:
    """The size of what a rater marks in a word."""
    if row is not None and row.value == 0:
        return "nothing"
    return "larger" if draws_larger(row) else "smaller" if draws_smaller(row) else ""


def turned_raters(findings: Findings) -> list[str]:
    """Raters with a mask that was probably saved the wrong way round."""
    wrong = {turn.rater for turn in findings.agreement.turns}
    return [r for r in findings.study.rater_names if r in wrong]


def outlier_sentences(findings: Findings) -> Iterator[Sentence]:
    """A sentence for each rater who stands out, with why, or one that says that nobody does."""
    raters = findings.agreement.raters
    if raters is None:
        return
    table = find_table(findings, "agree", "raters")
    if not any(is_defined(table.row("mean_difference", "pooled", rater)) for rater in raters.differences.raters):
        yield ("Whether a rater stands out cannot be told: no two raters can be compared.",)
    elif len(raters.differences.raters) == 2:
        yield ("With two raters, neither can be said to stand out: it takes a third to see who differs.",)
    elif not raters.differences.outliers:
        yield ("No rater stands out from the others.",)
    elif all_alike(findings):
        most = max((r for r in table.all("mean_difference", "pooled") if is_defined(r)), key=lambda r: r.value)
        yield ("No rater differs much from the others: 1 − Dice to them is at most ", table.quote(most), " on average.")
    for rater in outlying_raters(findings):
        yield _outlier_sentence(findings, table, rater)
    if outlying_raters(findings):
        yield (_outlier_caveat(findings),)


def all_alike(findings: Findings) -> bool:
    """Whether all raters are so alike that the rule for who stands out finds trifles."""
    rows = [r for r in find_table(findings, "agree", "raters").all("mean_difference", "pooled") if is_defined(r)]
    return bool(rows) and all(r.value < SMALL_DISTANCE for r in rows)


def outlying_raters(findings: Findings) -> list[str]:
    """Who does, but for those whose mask seems to lie wrong: they are told of first."""
    raters, wrong = findings.agreement.raters, turned_raters(findings)
    if raters is None or all_alike(findings):
        return []
    return [r for r in raters.differences.outliers if r not in wrong]


def outlier_summary(findings: Findings) -> Iterator[Sentence]:
    """The same in one sentence: several raters without why."""
    names = outlying_raters(findings)
    if len(names) < 2:
        yield from outlier_sentences(findings)
        return
    table = find_table(findings, "agree", "raters")
    parts: list[Sentence] = [(rater_cell(findings, r), ": ", table.cell("mean_difference", "pooled", r)) for r in names]
    limit = table.cell("outlier_threshold", "pooled", "")
    yield ("Some raters stand out, with drawings that are far from the others' on average (1 − Dice is ",
           *join_parts(parts), "; more than ", limit, " stands out).")  # fmt: skip
    yield (_outlier_caveat(findings),)


def _outlier_sentence(findings: Findings, table: TableIndex, rater: str) -> Sentence:
    name, why = rater_cell(findings, rater), list(_outlier_reasons(table, rater, rater_cell(findings, rater)))
    apart: Sentence = (
        " stands out, with drawings that are ", table.cell("mean_difference", "pooled", rater),
        " from the others' on average (1 − Dice; more than ", table.cell("outlier_threshold", "pooled", ""),
        " stands out)",
    )  # fmt: skip
    reasons: Sentence = (": ", *join_parts(why, "; ", "; ")) if why else ()
    return ("Rater ", name, *apart, *reasons, ".")


def _outlier_caveat(findings: Findings) -> str:
    """How little the rule means: of equals, one lies beyond mean + one SD in 51% (three) to 99% (13) of studies."""
    often = "often" if len(findings.study.rater_names) < FEW_RATERS else "nearly always"
    copied = "; and where two copied, the others do" if possible_copies(findings).suspected else ""
    return f"By this rule (mean + one SD) somebody {often} stands out, also among equally good raters{copied}."


def _outlier_reasons(table: TableIndex, rater: str, name: Cell) -> Iterator[Sentence]:
    misses, alone = (table.row(s, "pooled", rater) for s in ("misses", "extra"))
    if misses is not None and misses.value >= MANY_MISSED:
        share = table.quote(misses, 0, percent=True)
        yield ("this rater misses ", share, " of what at least half of the others mark")
    if alone is not None and alone.value >= MANY_ALONE:
        yield (table.quote(alone, 0, percent=True), " of what ", name, " marks, nobody else marked")


def size_sentences(findings: Findings) -> Iterator[Sentence]:
    """Who draws larger or smaller than the others, or nothing."""
    if findings.agreement.raters is None:
        return
    table = find_table(findings, "agree", "raters")
    silent = [rater_cell(findings, str(r["rater"])) for r in table.all("relative_area", "pooled") if r.value == 0]
    if silent:
        yield (
            "Rater " if len(silent) == 1 else "Raters ",
            *join_parts([(name,) for name in silent]),
            " marked nothing.",
        )
        return  # beside nothing everybody is large
    rows = [r for r in table.all("relative_area", "pooled") if is_defined(r) and (draws_larger(r) or draws_smaller(r))]
    rows.sort(key=lambda r: -abs(math.log(r.value)))
    parts: list[Sentence] = []
    for word, chosen in (("larger", draws_larger), ("smaller", draws_smaller)):
        for row in filter(chosen, rows[:MOST_NAMED]):
            rater = rater_cell(findings, str(row["rater"]))
            verb, times = (" draws", " times the size that the others mark") if not parts else ("", " times")
            parts.append(("rater ", rater, f"{verb} {word}, ", table.quote(row), times))
    if parts:
        how = " systematically" if len(findings.study) > 1 else ""
        start = f"Some raters differ{how} in size" if len(parts) > 1 else "One rater differs in size"
        others = ", among others" if len(rows) > MOST_NAMED else ""
        yield (f"{start}{others}: ", *join_parts(parts, "; ", "; "), ".")
