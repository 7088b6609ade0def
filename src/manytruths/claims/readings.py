"""Readings that are not evaluable: how many, whose, and why."""

from __future__ import annotations

from ..core.undefined import Note
from .claim import ClaimKind, ClaimLog
from .numbers import TableIndex, is_defined
from .sentences import Cell, Sentence, compose, join_names, join_parts, number_word

NOT_EVALUABLE = ClaimKind(
    "readings.not_evaluable", "description",
    "So many readings are not evaluable: whose, why, and that they are in no other number.",
    "The reading log says so of a reading.",
)  # fmt: skip
NOT_EVALUABLE_STATISTIC = "not_evaluable"


def consider_readings(log: ClaimLog, flow: TableIndex) -> None:
    """How many readings of the table ``flow`` are not evaluable."""
    row = flow.row(NOT_EVALUABLE_STATISTIC, "pooled", "", "", "")
    if not is_defined(row) or not row.value:
        why = Note("all_evaluable", "no reading is said to be not evaluable")
        log.consider(NOT_EVALUABLE, (NOT_EVALUABLE.says,), why_not=why)
        return
    by_rater: dict[str, int] = {}
    reasons: dict[str, int] = {}
    for other in flow.rows:
        rater, _, reason = map(str, other.extra)
        if other.statistic == NOT_EVALUABLE_STATISTIC and other.value:
            if rater and not reason:
                by_rater[rater] = by_rater.get(rater, 0) + int(other.value)
            if reason and not rater:
                reasons[reason] = int(other.value)
    whose: list[Sentence] = [compose(f"{number_word(count)} of {{}}", Cell(name)) for name, count in by_rater.items()]
    named = [f"{reason} ({number_word(count)})" for reason, count in reasons.items()]
    why_words = f"; {'reason' if len(named) == 1 else 'reasons'}: {join_names(named)}" if named else ""
    text = f"{{}} of {row.n} readings {{}} not evaluable ({{}}{why_words}): they {{}} in no other number."
    one = row.value == 1
    text = text.replace("): they", "): it") if one else text
    verbs = (("is", "is") if one else ("are", "are")), (("was", "is") if one else ("were", "are"))
    sentence, result = (compose(text, flow.quote(row, 0), be, join_parts(whose), rest) for be, rest in verbs)
    log.consider(NOT_EVALUABLE, sentence, result=result)
