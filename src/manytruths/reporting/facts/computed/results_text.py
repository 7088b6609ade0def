"""A paragraph for the results section of a paper: the first findings with their intervals, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....agreement import level
from ....analyses.evaluate.human_range import OTHERS
from ....analyses.evaluate.printing import NAMES
from ....analyses.rows import Row
from ...findings import Findings
from ...parts import Sentence, plain_text
from ..algorithms.curves import area_range
from ..algorithms.tables import judged_label
from ..dependence import error_dependence
from ..disputed import cases_by_kappa, why_no_overlap
from ..human_words import range_text, verdict_text
from ..numbers import find_table, is_defined
from ..standards import most_different
from ..verdicts import main_orders, rater_comparison
from ..wording import SCALES, SHARES, capitalise, interval_name, join_parts, subject_word

MAIN = {
    "dice": "the Dice coefficient of two raters",
    "volume_difference": "their difference in size",
    "fleiss_kappa": "Fleiss' kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
}


def results_text(findings: Findings) -> str:
    """One paragraph, in the past tense."""
    parts = (
        _agreement_results(findings),
        _kappa_range(findings),
        _standard_results(findings),
        _dependence_results(findings),
        _algorithm_results(findings),
        _order_results(findings),
    )
    sentences = [plain_text(capitalise(sentence)) for part in parts for sentence in part]
    return " ".join(sentences) or f"No two raters could be compared: {why_no_overlap(findings)}."


def _agreement_results(findings: Findings) -> Iterator[Sentence]:
    rows = [row for name in MAIN if is_defined(row := find_table(findings, "agree", "agreement").row(name))]
    subjects = len(findings.study.subjects)
    if rows:
        some = "" if rows[0].n in (None, subjects) else f"{rows[0].n} of "
        mean = f"on average over {some}{subjects} {subject_word(findings)}s, " if subjects > 1 else ""
        parts = [_statistic_result(findings, row, mean if row is rows[0] else "") for row in rows]
        yield (*join_parts(parts, "; and ", "; "), ".")


def _statistic_result(findings: Findings, row: Row, before: str) -> Sentence:
    table, scale = find_table(findings, "agree", "agreement"), findings.settings.scale
    how: dict[str, Any] = {"digits": 0, "percent": True} if row.statistic in SHARES else {}
    std = table.row(row.statistic, "std")
    spread: Sentence = (", SD ", table.quote(std, **how)) if is_defined(std) else ()
    word = f", {level(row.value, scale)} by the scale of {SCALES.get(scale, scale)}"
    value = table.quote(row, level=interval_name(findings), **how)
    start = f"{before}{MAIN[row.statistic]} was "
    return (start, value, *spread, word if row.statistic == "fleiss_kappa" else "")


def _kappa_range(findings: Findings) -> Iterator[Sentence]:
    rows, table = (
        [row for row in cases_by_kappa(findings) if is_defined(row)],
        find_table(findings, "agree", "agreement"),
    )
    if len(rows) > 1:
        yield ("Fleiss' kappa of single cases ranged from ", table.quote(rows[0]), " to ", table.quote(rows[-1]), ".")


def _standard_results(findings: Findings) -> Iterator[Sentence]:
    pair = most_different(findings)
    if pair:
        which = ", the reference standards that differed most," if pair.several else ""
        value = find_table(findings, "fuse", "differences").quote(pair.row, level=interval_name(findings))
        mean = "mean Dice" if len(findings.study) > 1 else "Dice"
        yield (f"{pair.names}{which} overlapped by a {mean} of ", value, ".")


def _dependence_results(findings: Findings) -> Iterator[Sentence]:
    errors = error_dependence(findings)
    if errors is not None:
        weight = tuple(p.replace(" weigh ", " weighed ") if isinstance(p, str) else p for p in errors.weight)
        yield (f"Given STAPLE's estimate, the raters' errors were {errors.words} (mean correlation ",
               errors.correlation, "); ", *weight, ".")  # fmt: skip


def _algorithm_results(findings: Findings) -> Iterator[Sentence]:
    if findings.evaluation is None:
        return
    hard, table = findings.evaluation.hard, find_table(findings, "evaluate", "verdicts")
    rows = rater_comparison(findings) if hard is not None else []
    if hard is not None and rows:
        human = hard.ranges[judged_label(findings), OTHERS, "dice"]
        parts: list[Sentence] = [
            (f"{row['algorithm']} ", table.quote(row, level=interval_name(findings)),
             f", {verdict_text(human, str(row['algorithm']))}")
            for row in rows
        ]  # fmt: skip
        start = f"Against the raters, whose own mean Dice coefficients were {range_text(human, 2)}, mean Dice was: "
        yield (start, *join_parts(parts, "; ", "; "), ".")
    if findings.evaluation.grey is not None:
        yield from _area_results(findings)


def _area_results(findings: Findings) -> Iterator[Sentence]:
    assert findings.evaluation is not None
    assert findings.evaluation.grey is not None
    table, grey = find_table(findings, "evaluate", "scores"), findings.evaluation.grey
    ends = {column.name: both for column in grey.counts if (both := area_range(grey, column.name))}
    parts: list[Sentence] = [(f"{name} ", table.quote(a), " to ", table.quote(b)) for name, (a, b) in ends.items()]
    if parts:
        yield ("Depending on the reference standard, the area under the P̄-R curve was: ", *join_parts(parts), ".")


def _order_results(findings: Findings) -> Iterator[Sentence]:
    orders = main_orders(findings) if findings.evaluation is not None and len(findings.study.algorithms) > 1 else None
    if orders is None:
        return
    count = sum(len(ranking.truths) for ranking in orders.rankings)
    metric = NAMES["dice" if findings.evaluation and findings.evaluation.hard else "pbar_area"]
    first = orders.rankings[0]
    if len(orders.rankings) == 1:
        yield (f"By {metric}, the order of the algorithms was the same under {count} reference standards: {first}.",)
    else:
        yield (f"By {metric}, the order of the algorithms depended on the reference standard: {first} under "
               f"{len(first.truths)} of {count}, another under the rest.",)  # fmt: skip
