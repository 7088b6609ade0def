"""How consistent graders are: with themselves, where a prediction was shown twice, and with each other.

Cohen's kappa with weights that grow with the square of how far two grades lie apart; see ``agreement/cohen.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from ...agreement import weighted_kappa
from ...core.counting import tally
from ...core.labels import Labels
from ...core.undefined import Undefined
from .grades import Grade, GradeScale, Item, firsts

NONE_TWICE = "none_graded_twice"


@dataclass(frozen=True)
class GraderAgreement:
    """Two graders, or one and himself, over what both graded."""

    first: str
    second: str
    kappa: float
    """Weighted (quadratic)."""
    same: float
    """The share of predictions that got the same grade."""
    n: int

    @property
    def within(self) -> bool:
        """Whether it is one grader at two showings."""
        return self.first == self.second


def grader_agreement(grades: Iterable[Grade], scale: GradeScale | None = None) -> list[GraderAgreement]:
    """Every grader's first against his second showings, then every two graders over what both graded.

    >>> first = [Grade("a", "unet", 4), Grade("b", "unet", 2), Grade("c", "unet", 3)]
    >>> again = [Grade("a", "unet", 4, showing=2), Grade("b", "unet", 1, showing=2), Grade("c", "unet", 3, showing=2)]
    >>> found = grader_agreement([*first, *again])[0]
    >>> round(found.kappa, 4), round(found.same, 4), found.n
    (0.8571, 0.6667, 3)
    """
    grades, scale = list(grades), scale or GradeScale()
    names = list(dict.fromkeys(g.grader for g in grades))
    shown = {name: {g.item: g.grade for g in firsts(grades) if g.grader == name} for name in names}
    again = {name: {g.item: g.grade for g in grades if g.grader == name and g.showing > 1} for name in names}
    within = [_agreement(name, name, shown[name], again[name], scale) for name in names]
    return within + [_agreement(a, b, shown[a], shown[b], scale) for a, b in combinations(names, 2)]


def _agreement(a: str, b: str, one: dict[Item, int], two: dict[Item, int], scale: GradeScale) -> GraderAgreement:
    shared = [item for item in one if item in two]
    pairs = [one[item] for item in shared], [two[item] for item in shared]
    if not shared:
        nothing = Undefined(NONE_TWICE if a == b else "no_common_grades")
        return GraderAgreement(a, b, nothing, nothing, 0)
    same = sum(x == y for x, y in zip(*pairs, strict=True)) / len(shared)
    return GraderAgreement(a, b, _kappa(*pairs, scale), same, len(shared))


def _kappa(one: Sequence[int], two: Sequence[int], scale: GradeScale) -> float:
    return weighted_kappa(tally({"first": one, "second": two}, labels=Labels(scale.levels)))
