"""What a published consensus is, as far as candidates tell it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.undefined import Note
from .claim import ClaimKind, ClaimLog
from .numbers import TableIndex
from .sentences import Cell, Sentence, compose, join_names, number_word, spell_count

EQUALS = ClaimKind(
    "audit.equals", "description",
    "A published consensus equals a candidate in every pixel of all cases that have it; of candidates that make the "
    "same masks, the simplest is named.",
    "No pixel differs; the consensus marks something, and two raters differ somewhere.",
)  # fmt: skip
ALIKE = ClaimKind(
    "audit.alike", "description",
    "So many other candidates make the same masks on these data, and cannot be told apart.",
    "As audit.equals, and there are such candidates.",
)  # fmt: skip
PRIOR = ClaimKind(
    "audit.prior", "description",
    "As STAPLE of all raters, cut at one half, the consensus would need a fixed prior from so much to so much; with "
    "the mean vote, so many pixels differ.",
    "As audit.equals, with one label; some fixed prior makes the same masks, and the mean vote does not.",
)  # fmt: skip
NOT_USED = ClaimKind(
    "audit.unused", "description",
    "The consensus equals a candidate without some raters, and no candidate of all raters; with them, the nearest "
    "differs in so many pixels.",
    "As audit.equals; the candidate leaves raters out, and none that makes the same masks takes all.",
)  # fmt: skip
NEAREST = ClaimKind(
    "audit.nearest", "description",
    "None of the candidates is the consensus: the nearest differs in so many pixels, and is not what made it.",
    "A pixel differs from every candidate.",
)  # fmt: skip
NEXT = ClaimKind(
    "audit.next", "description",
    "The nearest candidate that makes other masks differs in so many pixels.",
    "As audit.equals, and there is another.",
)  # fmt: skip

NAMED = 4
"""Candidates that are named of those that make the same masks."""
Key = tuple[int, str]


@dataclass(frozen=True)
class AuditFacts:
    """What is known of one reference.

    Attributes
    ----------
    reference, item : str
        Its name, and the word for what is compared.
    best, next, everybody, mean_vote : (int, str)
        Rank and name of the nearest group, of the next, of the nearest that takes all raters, and of STAPLE with the
        mean vote as prior.
    exact : bool
        Whether nothing differs from the best.
    same, families : tuple of str
        Names of the other candidates of the best group; families of all of them.
    candidates, items, cases, raters : int
        How many were compared.
    ranges : tuple of (float, float)
        Fixed priors with which STAPLE makes it.
    left_out : tuple of str
        Raters whom every candidate of the best group leaves out.
    unused : tuple of str
        Raters on whose decision alone nothing in it depends; empty where that is so of all.
    outliers : tuple of str
        Whom the vote without outliers leaves out in every case, where it is the best.
    agree : bool
        Whether raters differ nowhere.
    marked : int
        Items that it marks.
    """

    reference: str
    best: Key
    exact: bool
    same: tuple[str, ...]
    families: tuple[str, ...]
    next: Key | None
    candidates: int
    items: int
    cases: int
    ranges: tuple[tuple[float, float], ...]
    mean_vote: Key | None
    left_out: tuple[str, ...]
    everybody: Key
    unused: tuple[str, ...]
    outliers: tuple[str, ...]
    agree: bool
    marked: int
    raters: int
    item: str = "pixel"

    @property
    def called(self) -> str:
        """Its name in a sentence; one without a name is called reference."""
        return "the reference" if self.reference == "reference" else self.reference

    @property
    def doubt(self) -> Note | None:
        """Why nothing can be told."""
        if not self.marked:
            return Note("nothing_marked", "the consensus marks nothing")
        if self.raters == 1:
            return Note("one_rater", "there is one rater")
        return Note("raters_agree", "no two raters differ, so that all candidates are the same") if self.agree else None


def consider_audit(log: ClaimLog, table: TableIndex, facts: AuditFacts) -> None:
    """Say what one reference is, with what cannot be told from it, or that nothing tried is it."""
    doubt, name = facts.doubt, facts.reference
    if not facts.exact:
        log.consider(EQUALS, (EQUALS.says,), about=name, why_not=doubt or Note("not_equal", "every candidate differs"))
        log.consider(NEAREST, _nearest(table, facts), about=name)
        return
    log.consider(EQUALS, _equals(table, facts), about=name, why_not=doubt)
    log.consider(NEAREST, (NEAREST.says,), about=name, why_not=doubt or Note("equal", "a candidate is the consensus"))
    few = None if facts.same else Note("no_other", "no other candidate makes the same masks")
    log.consider(ALIKE, _alike(facts) if facts.same else (ALIKE.says,), about=name, why_not=doubt or few)
    _consider_prior(log, table, facts)
    _consider_unused(log, table, facts)
    if facts.next is None:
        log.consider(NEXT, (NEXT.says,), about=name, why_not=doubt or Note("no_other", "there is no other candidate"))
    else:
        sentence = compose(
            "The nearest candidate with other masks, {}, differs in {}.", facts.next[1],
            _different(table, facts, facts.next),
        )  # fmt: skip
        log.consider(NEXT, sentence, about=name, rests_on=_dice(table, facts, facts.next), why_not=doubt)


def _equals(table: TableIndex, facts: AuditFacts) -> Sentence:
    where = "" if facts.cases == 1 else f" of all {spell_count(facts.cases, 'case')}" * (facts.cases > 2)
    where = " of both cases" if facts.cases == 2 else where
    gone = (
        f" ({join_names(facts.outliers)} {'are' if len(facts.outliers) > 1 else 'is'} left out)"
        if facts.outliers
        else ""
    )
    name = facts.called if facts.called == facts.reference else "The reference"
    return compose("{} equals {}{} in every {}{}.", name, facts.best[1], gone, facts.item, where)


def _alike(facts: AuditFacts) -> Sentence:
    # the first of each family says more than many of one
    first = dict(reversed([*zip(facts.families[1:], facts.same, strict=True)]))
    order = sorted(facts.same, key=lambda name: name not in first.values())[:NAMED]
    shown = [name for name in facts.same if name in order]
    rest = len(facts.same) - len(shown)
    listed = "; ".join(shown) + (f"; and {number_word(rest)} more" if rest else "")
    one = len(facts.same) == 1
    count = "One other candidate makes" if one else f"{number_word(len(facts.same)).capitalize()} other candidates make"
    return (f"{count} the same masks of these data, and cannot be told apart from it: {listed}.",)


def _consider_prior(log: ClaimLog, table: TableIndex, facts: AuditFacts) -> None:
    why = facts.doubt
    if not facts.ranges:
        why = why or Note("no_prior", "no fixed prior that was tried makes STAPLE the consensus")
    elif facts.mean_vote is None or facts.mean_vote == facts.best:
        why = why or Note("mean_vote", "STAPLE with the mean vote as prior is the consensus")
    if why is not None or facts.mean_vote is None:
        log.consider(PRIOR, (PRIOR.says,), about=facts.reference, why_not=why)
        return
    between: list[Sentence] = []
    for place in range(1, len(facts.ranges) + 1):
        low, high = (
            _prior_cell(table, name, facts.reference, place, up=name == "smallest_prior")
            for name in ("smallest_prior", "largest_prior")
        )
        between.append(compose("{} to {}", low, high))
    joined = between[0]
    for other in between[1:]:
        joined = (*joined, " or ", *other)
    sentence = compose(
        "As STAPLE of all raters, cut at one half, it would need a fixed prior of {}; with the mean vote as prior, {} "
        "would differ.", joined, _different(table, facts, facts.mean_vote),
    )  # fmt: skip
    log.consider(PRIOR, sentence, about=facts.reference)


def _prior_cell(table: TableIndex, statistic: str, reference: str, place: int, *, up: bool) -> Cell:
    """An end of an interval with three figures, rounded to its inside."""
    cell = table.cell(statistic, "pooled", reference, place, "STAPLE, fixed prior")
    value = float(cell.value)
    digits = 2 - int(np.floor(np.log10(value)))
    turn = np.ceil if up else np.floor
    shown = f"{turn(value * 10.0**digits) / 10.0**digits:.{max(digits, 0)}f}"
    return Cell(shown, cell.value, at=cell.at)


def _consider_unused(log: ClaimLog, table: TableIndex, facts: AuditFacts) -> None:
    if not facts.left_out:
        every = Note(
            "all_used", "a candidate that takes all raters, or a rule that leaves raters out, is the consensus"
        )
        log.consider(NOT_USED, (NOT_USED.says,), about=facts.reference, why_not=facts.doubt or every)
        return
    who = f"rater{'s' if len(facts.left_out) > 1 else ''} {join_names(facts.left_out)}"
    sentence = compose(
        "No candidate that takes all raters is it (the nearest, {}, differs in {}): as far as the candidates tell, it "
        "was made without {}.", facts.everybody[1], _different(table, facts, facts.everybody), who,
    )  # fmt: skip
    log.consider(NOT_USED, sentence, about=facts.reference, why_not=facts.doubt)


def _nearest(table: TableIndex, facts: AuditFacts) -> Sentence:
    dice = _dice(table, facts, facts.best)[0]
    equal = table.cell("cases_equal", "pooled", facts.reference, *facts.best, digits=0)
    cases: Sentence = (
        () if facts.cases == 1 else compose("; in {} of {} cases nothing differs", equal, str(facts.cases))
    )
    return compose(
        "None of {count} candidates equals {name}: the nearest, {best}, differs in {pixels} of {items} (Dice {dice})"
        "{cases}. As it stands, it is not what made it.",
        count=f"{facts.candidates:,}", name=facts.called, best=facts.best[1],
        pixels=_count(table, facts, facts.best),
        items=f"{facts.items:,} {facts.item}s", dice=dice, cases=cases,
    )  # fmt: skip


def _different(table: TableIndex, facts: AuditFacts, key: Key) -> Sentence:
    cell = _count(table, facts, key)
    return (cell, f" {facts.item}{'' if float(cell.value) == 1 else 's'}")


def _count(table: TableIndex, facts: AuditFacts, key: Key) -> Cell:
    cell = table.cell("pixels_different", "pooled", facts.reference, *key)
    return replace(cell, shown=f"{float(cell.value):,.0f}")


def _dice(table: TableIndex, facts: AuditFacts, key: Key) -> Sequence[Cell]:
    return (table.cell("dice", "pooled", facts.reference, *key, digits=3),)
