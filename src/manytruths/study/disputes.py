"""Disputes of a case: the lesions on which raters differ, each with what every rater drew of it.

A dispute is a lesion of the study's partition (:mod:`manytruths.lesions`) that a rater missed, that got several labels,
or whose most different outlines are less alike than a rule allows. Structures without lesions are cut into tiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from ..core.runs import LabelRuns
from .case import Reading

Array = NDArray[Any]

KINDS = ("missed", "label", "border", "tile")
"""What a dispute is about."""
CONTROL_KINDS = ("unanimous", "unmarked")
"""What is no dispute, and can be shown as a control: an agreed lesion, and a region that nobody marked."""
SECONDS_EACH = 20.0
"""Seconds that one dispute is assumed to take, before there is a pace."""


@dataclass(frozen=True)
class DisputeRule:
    """Which lesions are disputes, and what settles the others."""

    min_dice: float = 0.7
    """Below this Dice of the two most different outlines, a lesion is disputed."""
    min_mm: float | None = None
    """Above this Hausdorff distance of two outlines, too; in mm, or in pixels without a spacing."""
    below: str = "vote:0.5"
    """The method of consensus that settles what is no dispute."""
    unit: Literal["lesion", "tile"] = "lesion"
    tile: int = 128
    """Pixels along each axis of a tile."""


@dataclass(frozen=True, eq=False)
class Dispute:
    """One lesion or tile, and what every rater drew of it."""

    key: str
    """16 hexadecimal digits that change only if somebody's pixels of this lesion change."""
    case: str
    subject: str
    kind: str
    """One of :data:`KINDS` or :data:`CONTROL_KINDS`."""
    label: int | None
    """The value of its label; None where there is one label, and where several are united."""
    box: tuple[tuple[int, int], ...]
    """(start, stop) along each axis, around all marks of it."""
    centre: tuple[int, ...]
    """A pixel inside of it."""
    size: float
    """Mean pixels of those who found it."""
    worst_dice: float
    """The smallest Dice of any two who found it; nan where there are fewer."""
    worst_mm: float
    """The largest Hausdorff distance of any two who found it."""
    doubt: float
    """Share of its pixels on which raters differ."""
    found_by: tuple[str, ...]
    missed_by: tuple[str, ...]
    not_rated_by: tuple[str, ...]
    drawn: Mapping[str, LabelRuns]
    """By rater who found it, their pixels of it, in the values of consensus masks and the coordinates of the box."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the box."""
        return tuple(stop - start for start, stop in self.box)

    @property
    def labels(self) -> tuple[int, ...]:
        """All values that anybody drew in it."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class CaseDisputes:
    """The disputes of a case, and what is no dispute."""

    case: str
    subject: str
    groups: tuple[str, ...]
    shape: tuple[int, ...]
    spacing: tuple[float, ...] | None
    disputes: tuple[Dispute, ...]
    settled: tuple[Dispute, ...]
    """Lesions within the thresholds (``unanimous``), and regions that nobody marked (``unmarked``)."""


@dataclass(frozen=True)
class DisputeCount:
    """How many disputes a threshold leaves."""

    min_dice: float
    min_mm: float | None
    missed: int
    label: int
    border: int
    tile: int
    settled: int
    minutes: float

    @property
    def disputes(self) -> int:
        """Of all kinds."""
        return self.missed + self.label + self.border + self.tile


def find_disputes(reading: Reading, rule: DisputeRule | None = None) -> CaseDisputes:
    """The disputes of a case; its masks may be runs, and no array of the size of the case is made of them."""
    raise NotImplementedError


def apply_rule(found: CaseDisputes, rule: DisputeRule) -> CaseDisputes:
    """The same lesions sorted by other thresholds, without pixels; the unit cannot change."""
    raise NotImplementedError


def choose(dispute: Dispute, choice: str) -> Array:
    """The pixels of a choice in the box: ``rater:NAME``, ``union``, ``intersection``, ``majority`` or ``none``.

    A tie of the majority is refused by :class:`TiedMajority`.
    """
    raise NotImplementedError


def count_disputes(
    found: Iterable[CaseDisputes],
    thresholds: Sequence[float] | None = None,
    *,
    min_mm: float | None = None,
    seconds_each: float = SECONDS_EACH,
) -> tuple[DisputeCount, ...]:
    """How many disputes each threshold of Dice leaves, and how many minutes they take."""
    raise NotImplementedError
