"""A paragraph for the results section of a paper: the first findings with their intervals, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....agreement import interpret_kappa
from ....analyses.evaluate.human_range import OTHERS
from ....analyses.evaluate.printing import NAMES
from ....analyses.rows import Row
from ...findings import Findings
from ...parts import Sentence, plain
from ..algorithms.curves import ends_of
from ..algorithms.tables import judged_label
from ..dependence import dependence
from ..disputed import by_dispute, no_overlap
from ..human_words import range_words, verdict_words
from ..numbers import known, numbers
from ..standards import furthest
from ..verdicts import beside_rows, orders_of
from ..wording import SCALES, SHARES, capital, interval_name, joined, unit

MAIN = {
    "dice": "the Dice coefficient of two raters",
    "volume_difference": "their difference in size",
    "fleiss_kappa": "Fleiss' kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
}


def results_text(found: Findings) -> str:
    """One paragraph, in the past tense."""
    parts = (_agreement(found), _range(found), _standards(found), _errors(found), _algorithms(found), _order(found))
    told = [plain(capital(sentence)) for part in parts for sentence in part]
    return " ".join(told) or f"No two raters could be compared: {no_overlap(found)}."


def _agreement(found: Findings) -> Iterator[Sentence]:
    rows = [row for name in MAIN if known(row := numbers(found, "agree", "agreement").row(name))]
    subjects = len(found.study.subjects)
    if rows:
        some = "" if rows[0].n in (None, subjects) else f"{rows[0].n} of "
        mean = f"on average over {some}{subjects} {unit(found)}s, " if subjects > 1 else ""
        parts = [_statistic(found, row, mean if row is rows[0] else "") for row in rows]
        yield (*joined(parts, "; and ", "; "), ".")


def _statistic(found: Findings, row: Row, before: str) -> Sentence:
    table, scale = numbers(found, "agree", "agreement"), found.settings.scale
    how: dict[str, Any] = {"digits": 0, "percent": True} if row.statistic in SHARES else {}
    std = table.row(row.statistic, "std")
    spread: Sentence = (", SD ", table.quote(std, **how)) if known(std) else ()
    word = f", {interpret_kappa(row.value, scale)} by the scale of {SCALES.get(scale, scale)}"
    value = table.quote(row, level=interval_name(found), **how)
    told = f"{before}{MAIN[row.statistic]} was "
    return (told, value, *spread, word if row.statistic == "fleiss_kappa" else "")


def _range(found: Findings) -> Iterator[Sentence]:
    rows, table = [row for row in by_dispute(found) if known(row)], numbers(found, "agree", "agreement")
    if len(rows) > 1:
        yield ("Fleiss' kappa of single cases ranged from ", table.quote(rows[0]), " to ", table.quote(rows[-1]), ".")


def _standards(found: Findings) -> Iterator[Sentence]:
    pair = furthest(found)
    if pair:
        which = ", the reference standards that differed most," if pair.several else ""
        value = numbers(found, "fuse", "differences").quote(pair.row, level=interval_name(found))
        mean = "mean Dice" if len(found.study) > 1 else "Dice"
        yield (f"{pair.names}{which} overlapped by a {mean} of ", value, ".")


def _errors(found: Findings) -> Iterator[Sentence]:
    errors = dependence(found)
    if errors is not None:
        told = tuple(p.replace(" weigh ", " weighed ") if isinstance(p, str) else p for p in errors.weighed)
        yield (f"Given STAPLE's estimate, the raters' errors were {errors.words} (mean correlation ",
               errors.correlation, "); ", *told, ".")  # fmt: skip


def _algorithms(found: Findings) -> Iterator[Sentence]:
    if found.evaluation is None:
        return
    hard, table = found.evaluation.hard, numbers(found, "evaluate", "verdicts")
    rows = beside_rows(found) if hard is not None else []
    if hard is not None and rows:
        human = hard.ranges[judged_label(found), OTHERS, "dice"]
        parts: list[Sentence] = [
            (f"{row['algorithm']} ", table.quote(row, level=interval_name(found)),
             f", {verdict_words(human, str(row['algorithm']))}")
            for row in rows
        ]  # fmt: skip
        start = f"Against the raters, whose own mean Dice coefficients were {range_words(human, 2)}, mean Dice was: "
        yield (start, *joined(parts, "; ", "; "), ".")
    if found.evaluation.grey is not None:
        yield from _areas(found)


def _areas(found: Findings) -> Iterator[Sentence]:
    assert found.evaluation is not None
    assert found.evaluation.grey is not None
    table, grey = numbers(found, "evaluate", "scores"), found.evaluation.grey
    ends = {one.name: both for one in grey.counts if (both := ends_of(grey, one.name))}
    parts: list[Sentence] = [(f"{name} ", table.quote(a), " to ", table.quote(b)) for name, (a, b) in ends.items()]
    if parts:
        yield ("Depending on the reference standard, the area under the P̄-R curve was: ", *joined(parts), ".")


def _order(found: Findings) -> Iterator[Sentence]:
    orders = orders_of(found) if found.evaluation is not None and len(found.study.algorithms) > 1 else None
    if orders is None:
        return
    count = sum(len(ranking.truths) for ranking in orders.rankings)
    metric = NAMES["dice" if found.evaluation and found.evaluation.hard else "pbar_area"]
    first = orders.rankings[0]
    if len(orders.rankings) == 1:
        yield (f"By {metric}, the order of the algorithms was the same under {count} reference standards: {first}.",)
    else:
        yield (f"By {metric}, the order of the algorithms depended on the reference standard: {first} under "
               f"{len(first.truths)} of {count}, another under the rest.",)  # fmt: skip
