"""Algorithms in a sentence or two: beside the raters, and whether their order depends on the reference standard."""

from __future__ import annotations

from collections.abc import Iterator

from ...analyses.evaluate.human_range import OTHERS
from ...analyses.evaluate.ranks import Orders
from ...analyses.rows import Row
from ..findings import Findings
from ..parts import Sentence
from .algorithms.curves import area_range
from .algorithms.tables import algorithm_cell, judged_label, main_standards
from .human_words import one_more_rater, place_text
from .numbers import find_table, is_defined
from .standards import standard_name
from .wording import join_names, join_parts, spell_count

MOST_NAMED = 4
"""So many algorithms are told one by one."""
PBAR = "area under the precision–recall curve averaged over prevalences (P̄-R, 1 is best)"


def algorithm_summary(findings: Findings) -> Iterator[Sentence]:
    """What there is to say of predictions; nothing where there are none."""
    if findings.evaluation is None:
        return
    grey = findings.evaluation.hard is None
    yield from _area_summary(findings) if grey else _comparison_summary(findings) or _dice_summary(findings)
    yield from _order_summary(findings)


def main_orders(findings: Findings) -> Orders | None:
    """The orders by Dice, or of grey predictions by the area; None where nobody has a score."""
    assert findings.evaluation is not None
    metric = "dice" if findings.evaluation.hard is not None else "pbar_area"
    orders = findings.evaluation.orders.get((judged_label(findings), metric))
    return orders if orders is not None and orders.rankings else None


def rater_comparison(findings: Findings) -> list[Row]:
    """The mean Dice of every algorithm that was set beside the raters, the best first."""
    label, table = judged_label(findings), find_table(findings, "evaluate", "verdicts")
    rows = [
        r for r in table.all("dice", "mean", label=label) if r["against"] == OTHERS and r["verdict"] and is_defined(r)
    ]
    return sorted(rows, key=lambda r: -r.value)


def _comparison_summary(findings: Findings) -> list[Sentence]:
    """Each algorithm and each rater judged by the other raters."""
    assert findings.evaluation is not None
    hard, label, table = findings.evaluation.hard, judged_label(findings), find_table(findings, "evaluate", "verdicts")
    rows = rater_comparison(findings)
    if hard is None or not rows:
        return []
    human = hard.ranges[label, OTHERS, "dice"]
    parts: list[Sentence] = []
    for i, row in enumerate(rows[:MOST_NAMED]):
        name = str(row["algorithm"])
        has = " " if i else " has a mean Dice of "
        place = place_text(human, name, float(row.value), first=i == 0)
        parts.append((algorithm_cell(findings, name), has, table.quote(row), f", {place}"))
    of = f" ({label})" if label else ""
    sentence = (f"Against the raters{of}, ", *join_parts(parts, "; ", "; "), _more_algorithms(len(rows)), ".")
    return [(*sentence, f" {one_more_rater(findings)}" if one_more_rater(findings) else "")]


def _more_algorithms(rows: int) -> str:
    return f", and {spell_count(rows - MOST_NAMED, 'algorithm')} more" if rows > MOST_NAMED else ""


def _dice_summary(findings: Findings) -> Iterator[Sentence]:
    """Where raters make no range: by a reference standard that gives the commonest order, the first that was made."""
    orders, standards = main_orders(findings), main_standards(findings)
    usual = orders.rankings[0].truths if orders else standards
    standard = next((truth for truth in standards if truth in usual), standards[0])
    table = find_table(findings, "evaluate", "scores")
    own = table.all("dice", "mean", label=judged_label(findings))
    rows = sorted(
        (r for r in own if not r.group and r["against"] == standard and is_defined(r)), key=lambda r: -r.value
    )
    if not rows:
        yield ("How good the algorithms are cannot be told: there is nothing to judge them by.",)
        return
    parts: list[Sentence] = [
        (algorithm_cell(findings, str(r["algorithm"])), " ", table.quote(r)) for r in rows[:MOST_NAMED]
    ]
    yield (
        f"Against {standard_name(findings, standard)}, the mean Dice is: ",
        *join_parts(parts),
        _more_algorithms(len(rows)),
        ".",
    )


def _area_summary(findings: Findings) -> Iterator[Sentence]:
    """Grey predictions: from the smallest to the largest area over all standards, in the commonest order."""
    assert findings.evaluation is not None
    assert findings.evaluation.grey is not None
    table, orders = find_table(findings, "evaluate", "scores"), main_orders(findings)
    names = orders.rankings[0].order if orders else [c.name for c in findings.evaluation.grey.counts]
    ends = {name: both for name in names if (both := area_range(findings.evaluation.grey, name))}
    if not ends:
        yield ("How good the algorithms are cannot be told: there is nothing to judge them by.",)
        return
    parts: list[Sentence] = [
        (algorithm_cell(findings, name), " " if i else " reaches ", table.quote(low), " to ", table.quote(high))
        for i, (name, (low, high)) in enumerate(list(ends.items())[:MOST_NAMED])
    ]
    yield (
        f"By the {PBAR}, depending on the reference standard, ",
        *join_parts(parts),
        _more_algorithms(len(ends)),
        ".",
    )


def _order_summary(findings: Findings) -> Iterator[Sentence]:
    """Whether the order holds whatever is taken as the reference standard."""
    orders = main_orders(findings)
    if orders is None:
        return
    first = orders.rankings[0]
    places = [join_names(place) + (" (level)" if len(place) > 1 else "") for place in first.places[:MOST_NAMED]]
    order = ", then ".join(places) + (", …" if len(first.places) > MOST_NAMED else "")
    of = sum(len(r.truths) for r in orders.rankings)
    if len(orders.rankings) == 1:
        yield (f"Their order is the same whichever rater or consensus is taken as the reference standard: {order}.",)
    else:
        yield (f"Their order depends on the reference standard: {order} under {len(first.truths)} "
               f"of {of}, another under the rest. Do not name a winner without naming the standard.",)  # fmt: skip
