"""Algorithms in a sentence or two: beside the raters, and whether their order depends on the reference standard."""

from __future__ import annotations

from collections.abc import Iterator

from ...analyses.evaluate.human_range import OTHERS, HumanRange
from ...analyses.rows import Row
from ..findings import Findings
from ..parts import Cell, Sentence
from .numbers import Numbers, known, numbers
from .wording import count, joined, listed, method_words

MOST = 4
"""So many algorithms are told one by one."""

METRICS = {"dice": "Dice", "pbar_area": "area under the P̄-R curve (1 is best)"}
"""By what they are put in order: masks, and grey predictions."""

PLACES = {"above": "better than every rater", "below": "worse than every rater", "inside": "among the raters"}


def verdicts(found: Findings) -> Iterator[Sentence]:
    """What there is to say of predictions; nothing where there are none."""
    if found.evaluation is None:
        return
    yield from _beside_raters(found) or _against_truth(found)
    yield from _order(found)


def judged_label(found: Findings) -> str:
    """All labels together where they were judged so, else the first."""
    assert found.evaluation is not None
    return found.evaluation.hard.parts[0].label if found.evaluation.hard else ""


def _colour(found: Findings, algorithm: str) -> Cell:
    return Cell(algorithm, colour=found.colours.get(f"algorithm {algorithm}", ""))


def _beside_raters(found: Findings) -> list[Sentence]:
    """Each algorithm and each rater judged by the other raters."""
    assert found.evaluation is not None
    hard, label, table = found.evaluation.hard, judged_label(found), numbers(found, "evaluate", "verdicts")
    rows = [r for r in table.all("dice", "mean", label=label) if r.extra[1] == OTHERS and r.extra[4] and known(r)]
    if hard is None or not rows:
        return []
    human = hard.ranges[label, OTHERS, "dice"]
    rows.sort(key=lambda r: -r.value)
    parts = [_verdict(found, table, row, human, first=i == 0) for i, row in enumerate(rows[:MOST])]
    more = f", and {count(len(rows) - MOST, 'algorithm')} more" if len(rows) > MOST else ""
    of = f" ({label})" if label else ""
    return [(f"Judged by the raters as they judge each other{of}, ", *joined(parts, "; ", "; "), f"{more}.")]


def _verdict(found: Findings, table: Numbers, row: Row, human: HumanRange, *, first: bool) -> Sentence:
    name = str(row.extra[0])
    sure = {True: "", False: ", though not for certain", None: ""}[human.certain(name)]
    reaches = " reaches a Dice of " if first else " "
    return (_colour(found, name), reaches, table.quote(row), f": {PLACES[str(row.extra[4])]}{sure}")


def _against_truth(found: Findings) -> Iterator[Sentence]:
    """Where there are too few raters to make a range, or predictions are grey: against the first consensus."""
    assert found.evaluation is not None
    metric = "dice" if found.evaluation.hard is not None else "pbar_area"
    truth = found.evaluation.plan.truths[0]
    table, scope = numbers(found, "evaluate", "scores"), "mean" if metric == "dice" else "pooled"
    rows = [
        r
        for r in table.all(metric, scope, label=judged_label(found))
        if not r.group and r.extra[1] == truth and known(r)
    ]
    rows.sort(key=lambda r: -r.value)
    if not rows:
        yield ("How good the algorithms are cannot be told: there is nothing to judge them by.",)
        return
    parts: list[Sentence] = [
        (_colour(found, str(r.extra[0])), " reaches " if r is rows[0] else " ", table.quote(r)) for r in rows[:MOST]
    ]
    yield (f"Against {method_words(found, truth)}, by {METRICS[metric]}, ", *joined(parts), ".")


def _order(found: Findings) -> Iterator[Sentence]:
    """Whether the order holds whatever is taken as the reference standard."""
    assert found.evaluation is not None
    metric = "dice" if found.evaluation.hard is not None else "pbar_area"
    orders = found.evaluation.orders.get((judged_label(found), metric))
    if orders is None or not orders.rankings:
        return
    first = orders.rankings[0]
    places = [listed(place) + (" (level)" if len(place) > 1 else "") for place in first.places[:MOST]]
    order = ", then ".join(places) + (", …" if len(first.places) > MOST else "")
    of = sum(len(r.truths) for r in orders.rankings)
    if len(orders.rankings) == 1:
        yield (f"Their order is the same whichever rater or consensus is taken as the reference standard: {order}.",)
    else:
        yield (f"Their order depends on the reference standard: {order} under {len(first.truths)} "
               f"of {of}, another under the rest. Do not name a winner without naming the standard.",)  # fmt: skip
