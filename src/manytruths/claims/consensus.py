"""Consensus methods: their names in sentences, which of them give the same masks, and whom they leave out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from ..core.undefined import Note
from ..io.result_tables import Row
from .claim import ClaimKind, ClaimLog
from .numbers import TableIndex
from .sentences import Cell, Sentence, capitalise, compose, counted, join_names, join_parts, spell_count

LEFT_OUT = ClaimKind(
    "consensus.left_out", "description",
    "A consensus method leaves raters out: which, and each in how many cases.",
    "The method may leave raters out (excl, simple), and raters are named.",
)  # fmt: skip
SAME = ClaimKind(
    "consensus.same", "description",
    "Consensus methods give the same masks in all cases.",
    "Every pixel is the same in every case, and something is marked.",
)  # fmt: skip
BOUND = ClaimKind(
    "consensus.bound", "description",
    "A consensus method marks exactly what any rater marked, or what all raters marked, in all cases.",
    "Every pixel is the same in every case of two raters or more, one label, masks that differ, and a method that is "
    "not made to do so, as vote:any and vote:all are.",
)  # fmt: skip
KINDS = (LEFT_OUT, SAME, BOUND)

# -- names -------------------------------------------------------------------------------------------

UNION, INTERSECTION = "what any rater marked (union)", "what all raters marked (intersection)"
MAJORITY, HALF = "the majority vote", "the vote of at least half"
"""Half of an even number of raters is no majority."""
METHOD_NAMES = {
    "adjudicated": "the adjudicated reference standard",
    "excl": "the vote without outliers",
    "staple_map": "STAPLE with neighbours",
    "plurality": "the plurality",
}


def method_name(method: str, raters: int = 0) -> str:
    """The name of a consensus method in a sentence; a vote of half of two raters is their union."""
    name, _, rest = method.partition(":")
    if name == "staple" and rest:
        return f"STAPLE as {itk_name(rest)} has it"
    if name != "vote":
        return METHOD_NAMES.get(name, name.upper())
    names = {
        "": half_vote(raters),
        "0.5": half_vote(raters),
        "0.75": "the three-quarters vote",
        "any": UNION,
        "all": INTERSECTION,
    }
    return names.get(rest) or f"the {percentage(rest)} vote"


def itk_name(like: str) -> str:
    """The program that ``like`` names.

    >>> itk_name("itk"), itk_name("itk@2.5.6"), itk_name("itk@main")
    ('SimpleITK 2.5.7', 'SimpleITK 2.5.6', 'ITK since July 2026')
    """
    version = like.partition("@")[2] or "2.5.7"
    return "ITK since July 2026" if version == "main" else f"SimpleITK {version}"


def half_vote(raters: int) -> str:
    """The name of a vote at one half; a tie counts as marked."""
    if raters == 2:
        return UNION
    return MAJORITY if raters % 2 or not raters else HALF


def percentage(text: str) -> str:
    """``60%`` for ``0.6``."""
    try:
        return f"{100 * float(text):.3g}%"
    except ValueError:
        return text


# -- methods that give the same masks ----------------------------------------------------------------

Bound = Literal["union", "intersection"]
DEFINED: dict[str, Bound] = {UNION: "union", INTERSECTION: "intersection"}
"""Methods that are the union or the intersection by definition."""
WHAT: dict[Bound, str] = {"union": "any rater", "intersection": "all raters"}


@dataclass(frozen=True)
class SameMasks:
    """Which consensus methods give the same masks, or those of the union or the intersection, in all cases.

    Attributes
    ----------
    raters : int
        Number of raters of the study.
    cases : int
        Number of cases.
    shared : int
        Number of cases of two raters or more.
    marked : bool
        Whether anybody marked anything.
    equal : tuple of tuple of str
        Groups of two methods or more that give the same masks in every case.
    bounds : mapping of str to str
        Methods that are ``"union"`` or ``"intersection"`` in every case of two raters or more.
    """

    raters: int
    cases: int
    shared: int
    marked: bool
    equal: tuple[tuple[str, ...], ...]
    bounds: Mapping[str, Bound]

    def defined_bound(self, method: str) -> Bound | None:
        """Whether a method is the union or the intersection by definition."""
        return DEFINED.get(method_name(method, self.raters))

    def tells_nothing(self, a: str, b: str) -> bool:
        """Whether the overlap of two methods is known beforehand.

        It is 1 where they give the same masks, and that of the raters where they are the union and the intersection of
        two raters: Dice of A ∪ B and A ∩ B is Dice of A and B.
        """
        same = any({a, b} <= set(group) for group in self.equal)
        return same or (self.raters == 2 and a in self.bounds and b in self.bounds)


def consider_same_masks(log: ClaimLog, table: TableIndex, same: SameMasks, methods: Sequence[str]) -> None:
    """Say which methods give the same masks, and which are the union or the intersection; from ``differences``."""
    _consider_equal(log, table, same, methods)
    _consider_bounds(log, table, same, methods)


def _consider_equal(log: ClaimLog, table: TableIndex, same: SameMasks, methods: Sequence[str]) -> None:
    # what all of a group are is said of each of them
    told = [group for group in same.equal if not all(method in same.bounds for method in group)]
    why = None if same.marked else Note("nothing_marked", "nobody marked anything")
    if not told:
        few = Note("one_method", "there is one method") if len(methods) < 2 else Note("masks_differ", "no two do")
        bound = Note("said_of_each", "they are the union or the intersection, which is said of each")
        log.consider(SAME, (SAME.says,), why_not=why or (bound if same.equal else few))
    for group in told:
        names = capitalise((join_names([method_name(method, same.raters) for method in group], len(group)),))
        rests = [table.cell("changed", "mean", a, b) for a, b in pairwise(group)]
        now, then = (compose(f"{{}} {verb} the same masks {_in_all(same.cases)}.", names) for verb in ("give", "gave"))
        log.consider(SAME, now, about="; ".join(group), result=then, rests_on=rests, why_not=why)


def _in_all(cases: int) -> str:
    words = {1: "in the one case", 2: "in both cases"}
    return words.get(cases) or f"in all {spell_count(cases, 'case')}"


def _consider_bounds(log: ClaimLog, table: TableIndex, same: SameMasks, methods: Sequence[str]) -> None:
    found = {m: bound for m, bound in same.bounds.items() if not same.defined_bound(m)}
    if not found:
        why = Note("not_a_bound", "no method is, but those that are made to be")
        log.consider(BOUND, (BOUND.says,), why_not=why)
    where = _in_all(same.shared) + " of two raters or more" * (same.shared < same.cases)
    for method, bound in found.items():
        rests = [table.cell("dice", "mean", a, b) for a, b in _pairs_with(method, methods) if a in same.bounds]
        now, then = (_bound_sentence(same, method, bound, where, past=past) for past in (False, True))
        log.consider(BOUND, now, about=method, result=then, rests_on=rests)


def _bound_sentence(same: SameMasks, method: str, bound: Bound, where: str, *, past: bool) -> Sentence:
    two, ending = same.raters == 2, "ed" if past else "s"
    who = "both raters" if two and bound == "intersection" else WHAT[bound]
    more = f": with two raters it add{ending} nothing to union and intersection" if two else ""
    return capitalise((f"{method_name(method, same.raters)} mark{ending} exactly what {who} marked, {where}{more}.",))


def _pairs_with(method: str, methods: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs of the table in which a method comes second."""
    return [(other, method) for other in methods[: list(methods).index(method)]]


# -- raters left out ---------------------------------------------------------------------------------


def consider_left_out(log: ClaimLog, table: TableIndex, methods: Sequence[str]) -> None:
    """Say of every method that may leave raters out whom it left out, and how often, from the table ``left_out``."""
    if not table.rows:
        why = Note("none_leaves_out", "no method was asked for that leaves named raters out")
        log.consider(LEFT_OUT, ("A consensus method leaves raters out.",), why_not=why)
    for method in methods:
        rows = [row for row in table.all("left_out", "pooled") if row["method"] == method]
        out = sorted((row for row in rows if row.value), key=lambda row: -row.value)
        if rows:
            nobody: Sentence = (f"no rater out in any of {counted(max(row.n or 0 for row in rows), 'case')}.",)
            whom = compose("out {}.", _raters(table, out)) if out else nobody
            rests = [table.quote(row, 0) for row in rows if row not in out]
            now, then = (compose("{} {} {}", method, verb, whom) for verb in ("leaves", "left"))
            log.consider(LEFT_OUT, now, about=method, result=then, rests_on=rests)


def _raters(table: TableIndex, rows: Sequence[Row]) -> Sentence:
    """``rater D in 21 of 24 cases, rater B in 2 and rater A in 1``; cases are repeated where they differ."""
    parts: list[Sentence] = []
    for i, row in enumerate(rows):
        of = f" of {counted(row.n or 0, 'case')}" if i == 0 or row.n != rows[i - 1].n else ""
        parts.append(compose("rater {} in {}{}", Cell(str(row["rater"])), table.quote(row, 0), of))
    return join_parts(parts)
