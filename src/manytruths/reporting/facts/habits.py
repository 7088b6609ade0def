"""What is said of single raters: who stands out and why, who draws larger or smaller, whose mask lies wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...analyses.rows import Row
from ..findings import Findings
from ..parts import Cell, Sentence
from .dependence import copies
from .numbers import Numbers, known, numbers
from .wording import joined, rater_cell

LARGER, SMALLER = 1.25, 0.8
"""From here on, the size of what a rater marks is worth a word."""
MOST = 6
"""So many raters are told of, those first who differ most."""
FEW_RATERS = 5
"""Among fewer, the rule for who stands out often finds somebody; among more, nearly always."""
TRIFLE = 0.05
"""1 − Dice to the others below which nobody is said to stand out."""
MISSES, ALONE = 0.25, 0.15
"""From here on, what a rater leaves of the others' marks, and marks alone, is worth a word."""


def larger(row: Row | None) -> bool:
    """Whether a rater draws larger than the others."""
    return row is not None and row.value >= LARGER


def smaller(row: Row | None) -> bool:
    """Whether a rater draws smaller than the others; who draws nothing does not."""
    return row is not None and 0 < row.value <= SMALLER


def draws(row: Row | None) -> str:
    """The size of what a rater marks in a word."""
    if row is not None and row.value == 0:
        return "nothing"
    return "larger" if larger(row) else "smaller" if smaller(row) else ""


def turned(found: Findings) -> list[str]:
    """Raters with a mask that was probably saved the wrong way round."""
    wrong = {turn.rater for turn in found.agreement.turns}
    return [r for r in found.study.rater_names if r in wrong]


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
    elif slight(found):
        most = max((r for r in table.all("mean_difference", "pooled") if known(r)), key=lambda r: r.value)
        yield ("No rater differs much from the others: 1 − Dice to them is at most ", table.quote(most), " on average.")
    for rater in standing_out(found):
        yield _outlier(found, table, rater)
    if standing_out(found):
        yield (_rule(found),)


def slight(found: Findings) -> bool:
    """Whether all raters are so alike that the rule for who stands out finds trifles."""
    rows = [r for r in numbers(found, "agree", "raters").all("mean_difference", "pooled") if known(r)]
    return bool(rows) and all(r.value < TRIFLE for r in rows)


def standing_out(found: Findings) -> list[str]:
    """Who does, but for those whose mask seems to lie wrong: they are told of first."""
    raters, wrong = found.agreement.raters, turned(found)
    if raters is None or slight(found):
        return []
    return [r for r in raters.differences.outliers if r not in wrong]


def who_stands_out(found: Findings) -> Iterator[Sentence]:
    """The same in one sentence: several raters without why."""
    names = standing_out(found)
    if len(names) < 2:
        yield from outliers(found)
        return
    table = numbers(found, "agree", "raters")
    parts: list[Sentence] = [(rater_cell(found, r), ": ", table.cell("mean_difference", "pooled", r)) for r in names]
    limit = table.cell("outlier_threshold", "pooled", "")
    yield ("Some raters stand out, with drawings that are far from the others' on average (1 − Dice is ",
           *joined(parts), "; more than ", limit, " stands out).")  # fmt: skip
    yield (_rule(found),)


def _outlier(found: Findings, table: Numbers, rater: str) -> Sentence:
    name, why = rater_cell(found, rater), list(_reasons(table, rater, rater_cell(found, rater)))
    apart: Sentence = (
        " stands out, with drawings that are ", table.cell("mean_difference", "pooled", rater),
        " from the others' on average (1 − Dice; more than ", table.cell("outlier_threshold", "pooled", ""),
        " stands out)",
    )  # fmt: skip
    told: Sentence = (": ", *joined(why, "; ", "; ")) if why else ()
    return ("Rater ", name, *apart, *told, ".")


def _rule(found: Findings) -> str:
    """How little the rule means: of equals, one lies beyond mean + one SD in 51% (three) to 99% (13) of studies."""
    often = "often" if len(found.study.rater_names) < FEW_RATERS else "nearly always"
    copied = "; and where two copied, the others do" if copies(found).suspected else ""
    return f"By this rule (mean + one SD) somebody {often} stands out, also among equally good raters{copied}."


def _reasons(table: Numbers, rater: str, name: Cell) -> Iterator[Sentence]:
    misses, alone = (table.row(s, "pooled", rater) for s in ("misses", "extra"))
    if misses is not None and misses.value >= MISSES:
        share = table.quote(misses, 0, percent=True)
        yield ("this rater misses ", share, " of what at least half of the others mark")
    if alone is not None and alone.value >= ALONE:
        yield (table.quote(alone, 0, percent=True), " of what ", name, " marks, nobody else marked")


def habits(found: Findings) -> Iterator[Sentence]:
    """Who draws larger or smaller than the others, or nothing."""
    if found.agreement.raters is None:
        return
    table = numbers(found, "agree", "raters")
    silent = [rater_cell(found, str(r["rater"])) for r in table.all("relative_area", "pooled") if r.value == 0]
    if silent:
        yield ("Rater " if len(silent) == 1 else "Raters ", *joined([(name,) for name in silent]), " marked nothing.")
        return  # beside nothing everybody is large
    rows = [r for r in table.all("relative_area", "pooled") if known(r) and (larger(r) or smaller(r))]
    rows.sort(key=lambda r: -abs(math.log(r.value)))
    parts: list[Sentence] = []
    for word, chosen in (("larger", larger), ("smaller", smaller)):
        for row in filter(chosen, rows[:MOST]):
            rater = rater_cell(found, str(row["rater"]))
            verb, times = (" draws", " times the size that the others mark") if not parts else ("", " times")
            parts.append(("rater ", rater, f"{verb} {word}, ", table.quote(row), times))
    if parts:
        how = " systematically" if len(found.study) > 1 else ""
        start = f"Some raters differ{how} in size" if len(parts) > 1 else "One rater differs in size"
        others = ", among others" if len(rows) > MOST else ""
        yield (f"{start}{others}: ", *joined(parts, "; ", "; "), ".")
