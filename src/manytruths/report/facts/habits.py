"""What is said of single raters: who stands out and why, who draws larger or smaller."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...analyses.rows import Row
from ..findings import Findings
from ..parts import Cell, Sentence
from .numbers import Numbers, known, numbers
from .wording import joined, rater_cell

LARGER, SMALLER = 1.25, 0.8
"""From here on, the size of what a rater marks is worth a word."""
MOST, TINY = 6, 1e-6
"""So many raters are told of, those first who differ most; and what stands for a size of nothing."""
FEW_RATERS = 8
"""Among fewer, the rule for who stands out nearly always finds somebody."""
MISSES, ALONE = 0.25, 0.15
"""From here on, what a rater leaves of the others' marks, and marks alone, is worth a word."""


def larger(row: Row | None) -> bool:
    """Whether a rater draws larger than the others."""
    return row is not None and row.value >= LARGER


def smaller(row: Row | None) -> bool:
    """Whether a rater draws smaller than the others."""
    return row is not None and row.value <= SMALLER


def outliers(found: Findings) -> Iterator[Sentence]:
    """A sentence for each rater who stands out, with why, or one that says that nobody does."""
    raters = found.agreement.raters
    if raters is None:
        return
    table = numbers(found, "agree", "raters")
    if not any(known(table.row("mean_difference", "pooled", rater)) for rater in raters.differences.raters):
        yield ("Whether a rater stands out cannot be told: no two raters can be compared.",)
    elif len(raters.differences.raters) == 2:
        yield ("With two raters, neither can be said to stand out: it takes a third to see who differs.",)
    elif not raters.differences.outliers:
        yield ("No rater stands out from the others.",)
    for rater in raters.differences.outliers:
        yield _outlier(found, table, rater)


def who_stands_out(found: Findings) -> Iterator[Sentence]:
    """The same in one sentence: several raters without why."""
    raters = found.agreement.raters
    if raters is None or len(raters.differences.outliers) < 2:
        yield from outliers(found)
        return
    table = numbers(found, "agree", "raters")
    parts: list[Sentence] = [
        (rater_cell(found, r), ": ", table.cell("mean_difference", "pooled", r)) for r in raters.differences.outliers
    ]
    limit = table.cell("outlier_threshold", "pooled", "")
    yield ("Some raters stand out, with drawings that are far from the others' on average (1 − Dice is ",
           *joined(parts), "; more than ", limit, " stands out)", _few(found), ".")  # fmt: skip


def _outlier(found: Findings, table: Numbers, rater: str) -> Sentence:
    name, why = rater_cell(found, rater), list(_reasons(table, rater, rater_cell(found, rater)))
    apart: Sentence = (
        " stands out, with drawings that are ", table.cell("mean_difference", "pooled", rater),
        " from the others' on average (1 − Dice; more than ", table.cell("outlier_threshold", "pooled", ""),
        " stands out)",
    )  # fmt: skip
    told: Sentence = (": ", *joined(why, "; ", "; ")) if why else ()
    return ("Rater ", name, *apart, *told, _few(found), ".")


def _few(found: Findings) -> str:
    """How much the rule means."""
    if len(found.study.rater_names) >= FEW_RATERS:
        return ""
    return "; but with so few raters, somebody nearly always lies above mean + one SD"


def _reasons(table: Numbers, rater: str, name: Cell) -> Iterator[Sentence]:
    misses, alone = (table.row(s, "pooled", rater) for s in ("misses", "extra"))
    if misses is not None and misses.value >= MISSES:
        share = table.quote(misses, 0, percent=True)
        yield ("this rater misses ", share, " of what at least half of the others mark")
    if alone is not None and alone.value >= ALONE:
        yield (table.quote(alone, 0, percent=True), " of what ", name, " marks, nobody else marked")


def habits(found: Findings) -> Iterator[Sentence]:
    """Who draws larger or smaller than the others."""
    if found.agreement.raters is None:
        return
    table = numbers(found, "agree", "raters")
    rows = [r for r in table.all("relative_area", "pooled") if known(r) and (larger(r) or smaller(r))]
    rows.sort(key=lambda r: -abs(math.log(max(r.value, TINY))))
    parts: list[Sentence] = []
    for word, chosen in (("larger", larger), ("smaller", smaller)):
        for row in filter(chosen, rows[:MOST]):
            rater = rater_cell(found, str(row.extra[0]))
            draws, times = (" draws", " times the size that the others mark") if not parts else ("", " times")
            parts.append(("rater ", rater, f"{draws} {word}, ", table.quote(row), times))
    if parts:
        start = "Some raters differ systematically in size" if len(parts) > 1 else "One rater differs in size"
        others = ", among others" if len(rows) > MOST else ""
        yield (f"{start}{others}: ", *joined(parts, "; ", "; "), ".")
