"""Algorithms in a sentence or two: beside the raters, and whether their order depends on the reference standard."""

from __future__ import annotations

from collections.abc import Iterator

from ...analyses.evaluate.human_range import OTHERS
from ...analyses.evaluate.ranks import Orders
from ...analyses.rows import Row
from ..findings import Findings
from ..parts import Sentence
from .algorithms.curves import ends_of
from .algorithms.tables import algorithm_cell, judged_label, main_standards
from .human_words import one_more, place_words
from .numbers import known, numbers
from .standards import spoken
from .wording import count, joined, listed

MOST = 4
"""So many algorithms are told one by one."""
PBAR = "area under the precision–recall curve averaged over prevalences (P̄-R, 1 is best)"


def verdicts(found: Findings) -> Iterator[Sentence]:
    """What there is to say of predictions; nothing where there are none."""
    if found.evaluation is None:
        return
    grey = found.evaluation.hard is None
    yield from _by_area(found) if grey else _beside_raters(found) or _by_dice(found)
    yield from _order(found)


def orders_of(found: Findings) -> Orders | None:
    """The orders by Dice, or of grey predictions by the area; None where nobody has a score."""
    assert found.evaluation is not None
    metric = "dice" if found.evaluation.hard is not None else "pbar_area"
    orders = found.evaluation.orders.get((judged_label(found), metric))
    return orders if orders is not None and orders.rankings else None


def beside_rows(found: Findings) -> list[Row]:
    """The mean Dice of every algorithm that was set beside the raters, the best first."""
    label, table = judged_label(found), numbers(found, "evaluate", "verdicts")
    rows = [r for r in table.all("dice", "mean", label=label) if r["against"] == OTHERS and r["verdict"] and known(r)]
    return sorted(rows, key=lambda r: -r.value)


def _beside_raters(found: Findings) -> list[Sentence]:
    """Each algorithm and each rater judged by the other raters."""
    assert found.evaluation is not None
    hard, label, table = found.evaluation.hard, judged_label(found), numbers(found, "evaluate", "verdicts")
    rows = beside_rows(found)
    if hard is None or not rows:
        return []
    human = hard.ranges[label, OTHERS, "dice"]
    parts: list[Sentence] = []
    for i, row in enumerate(rows[:MOST]):
        name = str(row["algorithm"])
        has = " " if i else " has a mean Dice of "
        place = place_words(human, name, float(row.value), first=i == 0)
        parts.append((algorithm_cell(found, name), has, table.quote(row), f", {place}"))
    of = f" ({label})" if label else ""
    told = (f"Against the raters{of}, ", *joined(parts, "; ", "; "), _more(len(rows)), ".")
    return [(*told, f" {one_more(found)}" if one_more(found) else "")]


def _more(rows: int) -> str:
    return f", and {count(rows - MOST, 'algorithm')} more" if rows > MOST else ""


def _by_dice(found: Findings) -> Iterator[Sentence]:
    """Where raters make no range: by a reference standard that gives the commonest order, the first that was made."""
    orders, made = orders_of(found), main_standards(found)
    usual = orders.rankings[0].truths if orders else made
    standard = next((truth for truth in made if truth in usual), made[0])
    table = numbers(found, "evaluate", "scores")
    own = table.all("dice", "mean", label=judged_label(found))
    rows = sorted((r for r in own if not r.group and r["against"] == standard and known(r)), key=lambda r: -r.value)
    if not rows:
        yield ("How good the algorithms are cannot be told: there is nothing to judge them by.",)
        return
    parts: list[Sentence] = [(algorithm_cell(found, str(r["algorithm"])), " ", table.quote(r)) for r in rows[:MOST]]
    yield (f"Against {spoken(found, standard)}, the mean Dice is: ", *joined(parts), _more(len(rows)), ".")


def _by_area(found: Findings) -> Iterator[Sentence]:
    """Grey predictions: from the smallest to the largest area over all standards, in the commonest order."""
    assert found.evaluation is not None
    assert found.evaluation.grey is not None
    table, orders = numbers(found, "evaluate", "scores"), orders_of(found)
    names = orders.rankings[0].order if orders else [c.name for c in found.evaluation.grey.counts]
    ends = {name: both for name in names if (both := ends_of(found.evaluation.grey, name))}
    if not ends:
        yield ("How good the algorithms are cannot be told: there is nothing to judge them by.",)
        return
    parts: list[Sentence] = [
        (algorithm_cell(found, name), " " if i else " reaches ", table.quote(low), " to ", table.quote(high))
        for i, (name, (low, high)) in enumerate(list(ends.items())[:MOST])
    ]
    yield (f"By the {PBAR}, depending on the reference standard, ", *joined(parts), _more(len(ends)), ".")


def _order(found: Findings) -> Iterator[Sentence]:
    """Whether the order holds whatever is taken as the reference standard."""
    orders = orders_of(found)
    if orders is None:
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
