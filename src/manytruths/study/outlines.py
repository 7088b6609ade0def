"""The outlines of a case: the surface of every mask, extracted once, and the distances of two, measured once.

``agree``, ``fuse`` and ``evaluate`` compare the same masks. In a report, all three share one reading of the case, and
with it these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.columns import Column
from ..core.runs import LabelRuns, read_runs
from ..core.tiles import LazyArray, is_lazy
from ..shape import Surface, SurfaceDistances, extract_surface, surface_distances
from ..shape.surface_search import MANY
from ..shape.surfaces import AllDistances, Definition, no_distances

if TYPE_CHECKING:
    from .case import Reading

Array = NDArray[Any]
NOT_THERE = SurfaceDistances(*[no_distances("one_absent")] * 2)
"""The distances of a mask that is not there."""


Distances = Mapping[tuple[Column, Column], SurfaceDistances]


class PackedPairs(Mapping[tuple[Column, Column], SurfaceDistances]):
    """Distances of every two of many masks, packed, by the masks."""

    def __init__(self, columns: tuple[Column, ...], distances: AllDistances) -> None:
        self._place = {column: i for i, column in enumerate(columns)}
        self._distances = distances

    def __getitem__(self, pair: tuple[Column, Column]) -> SurfaceDistances:
        i, j = self._place[pair[0]], self._place[pair[1]]
        if i >= j:
            raise KeyError(pair)
        return self._distances[i, j]

    def __iter__(self) -> Iterator[tuple[Column, Column]]:
        return combinations(self._place, 2)

    def __len__(self) -> int:
        return len(self._place) * (len(self._place) - 1) // 2

    @cached_property
    def medians(self) -> tuple[float, ...]:
        """The median distance of every two that marked something."""
        return tuple(self._distances.medians())


@dataclass(frozen=True)
class Outline:
    """The surface of a mask, and how many pixels it encloses."""

    surface: Surface
    items: int


@dataclass(frozen=True, eq=False)
class Outlines:
    """Of the raters and given references of a case, by label; of other masks on request."""

    reading: Reading
    _made: dict[tuple[Column, int | None, Definition], Outline] = field(default_factory=dict)
    _measured: dict[tuple[Column, Column, int | None, Definition], SurfaceDistances] = field(default_factory=dict)
    _packed: dict[tuple[tuple[Column, ...], int | None], PackedPairs] = field(default_factory=dict)

    def __contains__(self, column: Column) -> bool:
        return column in self.reading.masks or column in self.reading.case.references

    def make(self, marked: Array | LazyArray, definition: Definition = "elements") -> Outline:
        """The outline of any mask of the case; what was not rated, or lies outside of a region, is not marked."""
        inside, spacing = self.reading.inside, self.reading.grid.spacing
        if is_lazy(marked) or isinstance(inside, LabelRuns):
            runs = read_runs(marked).marks()
            runs = runs if inside is None else runs.intersect(read_runs(inside))
            return Outline(extract_surface(runs, spacing, definition=definition), runs.items)
        mask = np.asarray(np.ma.filled(marked, False), np.bool_)  # type: ignore[arg-type]
        mask = mask if inside is None else mask & np.asarray(inside)
        return Outline(extract_surface(mask, spacing, definition=definition), int(np.count_nonzero(mask)))

    def of(self, column: Column, value: int | None = None, definition: Definition = "elements") -> Outline:
        """The outline of what a rater or given reference marked with one label's value, or with any."""
        key = column, value, definition
        if key not in self._made:
            reading = self.reading
            array = reading.masks[column] if column in reading.masks else reading.references[column]
            self._made[key] = self.make(reading.marks(array, value), definition)
        return self._made[key]

    def distances_of_all(self, columns: Sequence[Column], value: int | None = None) -> Distances:
        """Of every two of some masks that are there; of many, at once and packed."""
        there = [column for column in columns if column in self]
        if len(there) < MANY:
            return {(a, b): self.distances(a, b, value) for a, b in combinations(there, 2)}
        key = (tuple(there), value)
        if key not in self._packed:
            surfaces = [self.of(column, value).surface for column in there]
            self._packed[key] = PackedPairs(tuple(there), AllDistances(surfaces))
        return self._packed[key]

    def distances(
        self, a: Column, b: Column, value: int | None = None, definition: Definition = "elements"
    ) -> SurfaceDistances:
        """Between two raters, or a rater and a given reference; without numbers where one is not there."""
        if a not in self or b not in self:
            return NOT_THERE
        key, turned = (a, b, value, definition), (b, a, value, definition)
        if turned in self._measured:
            there = self._measured[turned]
            return SurfaceDistances(there.b_to_a, there.a_to_b)
        if key not in self._measured:
            first, second = (self.of(column, value, definition).surface for column in (a, b))
            self._measured[key] = surface_distances(first, second)
        return self._measured[key]
