"""What is said when a study runs and nothing is wrong, and to a rater about their readings so far."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.undefined import Note
from ..inference.intervals import MIN_SUBJECTS
from .claim import ClaimKind, ClaimLog, Claims
from .numbers import TableIndex, has_interval, is_defined, telling_digits
from .progress import ALARMS, DRIFT_DISTANCE, DRIFT_SIZE
from .sentences import Cell, Sentence, compose, join_names, label_words, spell_count

OVERLAP = ClaimKind(
    "feedback.overlap", "estimate", "A rater overlaps with the others by a mean Dice of so much.",
    f"Dice with others is defined for a subject; the interval needs {MIN_SUBJECTS} subjects.",
    "coverage of the interval",
)  # fmt: skip
SIZE = ClaimKind(
    "feedback.size", "estimate", "A rater's marks are so many times as large as those of the others.",
    f"The rater and others marked something in {MIN_SUBJECTS} subjects, so that there is an interval.",
    "coverage of the interval",
)  # fmt: skip
KINDS = (OVERLAP, SIZE)
NOTHING_YET = "There is nothing to compare yet."
"""Where no reading was asked for, and no two raters marked the same case."""
NOTHING_SHARED = "No case was marked by you and by another rater yet: there is nothing to compare."
WORDS = {DRIFT_SIZE.id: "size", DRIFT_DISTANCE.id: "distance to the others"}
"""What was tested, by claim."""


def consider_feedback(
    log: ClaimLog, comparison: TableIndex, rater: str, overlap: str, labels: Sequence[str], subject: str
) -> None:
    """Consider what is said to a rater about their readings so far."""
    row = comparison.row(overlap, "mean", rater)
    if not is_defined(row):
        why = Note("no_shared_cases", "no case in which they and another rater marked something")
        log.consider(OVERLAP, (OVERLAP.says,), about=rater, why_not=why)
    else:
        name = "Dice" if overlap == "dice" else "Dice over labels"
        text = "In {} that others have read, too, the masks of rater {} overlap with theirs by a mean {} of {}."
        many = spell_count(row.n or 0, subject)
        number = comparison.quote(row, telling_digits(row.value))
        log.consider(OVERLAP, compose(text, many, Cell(rater), name, number), about=rater)
    for label in labels:
        _consider_size(log, comparison, rater, label, subject)


def _consider_size(log: ClaimLog, comparison: TableIndex, rater: str, label: str, subject: str) -> None:
    row = comparison.row("relative_size", "mean", rater, label=label)
    about = f"{rater}, {label}" if label else rater
    if not is_defined(row) or not has_interval(row):
        why = Note("too_few_subjects", f"it takes {spell_count(MIN_SUBJECTS, subject)} in which both marked something")
        log.consider(SIZE, (SIZE.says,), about=about, why_not=why)
        return
    of = f" of {label_words(label)}" if label else ""
    text = "Where both marked something, rater {}'s marks{} are on average {} times as large as those of another rater."
    log.consider(SIZE, compose(text, Cell(rater), of, comparison.quote(row)), about=about)


def describe_none_farther(shared: int, others: int) -> Sentence:
    """That in none of so many shared cases a rater lies farther from the others than these from each other."""
    if others == 1:
        cases = "the one shared case" if shared == 1 else f"all {spell_count(shared, 'shared case')}"
        return (f"In {cases}, your masks are the same as those of the other rater.",)
    if shared == 1:
        return ("In the one shared case, your mask does not lie farther from the others' than these from each other.",)
    cases = spell_count(shared, "shared case")
    return (f"In none of the {cases} do your masks lie farther from the others' than these from each other.",)


def describe_changes(claims: Claims, rater: str = "") -> Sentence:
    """That nothing was found to change, or why that was not tested; empty where something is said.

    With a ``rater``, about the tests of this rater.
    """
    mine = [claim for claim in claims.of(*ALARMS) if not rater or claim.about.split(",")[0] == rater]
    if any(claim.made for claim in mine):
        return ()
    whose = ("that rater ", Cell(rater), " changes") if rater else ("that a rater changes",)
    tested = [claim for claim in mine if claim.kind.id in WORDS and claim.p_value == claim.p_value]
    if not tested:
        reasons = [str(claim.why_not) for claim in claims.of(*WORDS) if claim.why_not and claim.about in ("", rater)]
        why = f": {reasons[0]}" if reasons else ""
        return (
            "It was not tested whether ",
            *(("rater ", Cell(rater)) if rater else ("a rater",)),
            " changes",
            why,
            ".",
        )
    what = join_names(list(dict.fromkeys(WORDS[claim.kind.id] for claim in tested)))
    if rater:
        return ("Nothing shows ", *whose, f" over time (tested: {what}).")
    count = len({claim.about for claim in tested})
    return ("Nothing shows ", *whose, f" over time (tested: {what}, of {spell_count(count, 'rater')}).")
