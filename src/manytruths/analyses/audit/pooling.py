"""Candidates over all cases: which make the same masks, and in what order they come near a reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...evaluation.consensus_audit import Compared, pooled_dice
from ...fusion.candidates import Candidate

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Group:
    """Candidates that decide alike wherever they can be compared.

    Attributes
    ----------
    rank : int
        1 for the nearest.
    candidates : tuple of Candidate
        The simplest first.
    place : int
        Of the simplest one, among all candidates.
    different : int
        Items that differ from the reference.
    dice : float
        Over all cases together; of several labels the mean over labels.
    equal : tuple of bool
        In which cases nothing differs.
    """

    rank: int
    candidates: tuple[Candidate, ...]
    place: int
    different: int
    dice: float
    equal: tuple[bool, ...]

    @property
    def name(self) -> str:
        """That of the simplest candidate."""
        return self.candidates[0].name

    @property
    def exact(self) -> bool:
        """Whether nothing differs in any case."""
        return self.different == 0


@dataclass(frozen=True, eq=False)
class ReferenceAudit:
    """All candidates beside one reference.

    Attributes
    ----------
    name : str
        Of the reference.
    cases : tuple of str
        The cases that have it.
    candidates : tuple of Candidate
        In the order of the numbers of every case.
    compared : tuple of Compared
        By case.
    marks : tuple of tuple of int
        Values of the labels of every case.
    """

    name: str
    cases: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    compared: tuple[Compared, ...]
    marks: tuple[tuple[int, ...], ...]

    @property
    def items(self) -> int:
        """Items that were compared."""
        return sum(found.items for found in self.compared)

    @property
    def marked(self) -> int:
        """Items that the reference marks."""
        return int(sum(found.size.sum() for found in self.compared))

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The nearest first; of those that are equally near the simplest."""
        different = np.sum([found.different for found in self.compared], axis=0)
        dice, same = self._dice(), dict[bytes, list[int]]()
        for place in range(len(self.candidates)):
            same.setdefault(b"".join(found.digests[place] for found in self.compared), []).append(place)

        def simplest(place: int) -> tuple[object, ...]:
            return (*self.candidates[place].rank, place)

        alike = [sorted(places, key=simplest) for places in same.values()]
        alike.sort(key=lambda places: (different[places[0]], simplest(places[0])))
        return tuple(
            Group(
                rank, tuple(self.candidates[place] for place in places), places[0], int(different[places[0]]),
                float(dice[places[0]]), tuple(bool(found.different[places[0]] == 0) for found in self.compared),
            )
            for rank, places in enumerate(alike, start=1)
        )  # fmt: skip

    def _dice(self) -> NDArray[np.float64]:
        values = sorted({value for marks in self.marks for value in marks})
        both, marked = (np.zeros((len(self.candidates), len(values)), np.int64) for _ in range(2))
        size = np.zeros(len(values), np.int64)
        for found, marks in zip(self.compared, self.marks, strict=True):
            where = [values.index(value) for value in marks]
            both[:, where] += found.both
            marked[:, where] += found.marked
            size[where] += found.size
        return pooled_dice(both, marked, size)

    @property
    def best(self) -> Group:
        """The nearest."""
        return self.groups[0]

    @cached_property
    def nearest_of_all_raters(self) -> Group:
        """The nearest group in which a candidate uses all raters."""
        return next(group for group in self.groups if uses_all(group))

    def in_case(self, group: Group, case: int) -> tuple[int, float]:
        """Items that differ in one case, and Dice."""
        found = self.compared[case]
        dice = pooled_dice(found.both[[group.place]], found.marked[[group.place]], found.size)
        return int(found.different[group.place]), float(dice[0])

    def extended(self, more: Sequence[Candidate], compared: Mapping[str, Compared]) -> ReferenceAudit:
        """With candidates that were tried later."""
        if not more:
            return self
        joined = [Compared.joined([old, compared[case]]) for case, old in zip(self.cases, self.compared, strict=True)]
        return ReferenceAudit(self.name, self.cases, (*self.candidates, *more), tuple(joined), self.marks)


def uses_all(group: Group) -> bool:
    """Whether a candidate of the group takes the masks of all raters."""
    return any(not candidate.left_out and candidate.family != "rater" for candidate in group.candidates)


def contained(audit: ReferenceAudit, *, within: bool) -> Iterator[Group]:
    """Groups whose masks lie within the reference in every case, or hold it; the nearest first."""
    for group in audit.groups:
        each = [
            found.both[group.place] == (found.marked[group.place] if within else found.size) for found in audit.compared
        ]
        if all(flags.all() for flags in each) and any(found.marked[group.place].any() for found in audit.compared):
            yield group
