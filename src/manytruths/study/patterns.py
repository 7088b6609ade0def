"""A case that is too large for memory, as the list of its patterns: one item for all pixels at which all is the same.

One pass over the tiles of everything that a case has (masks, predictions, given references, its region and training
areas) finds the distinct combinations of values. A reading of these, with a count for each, is analysed like a case of
a tally file: every number that needs no neighbours is the same as that of the pixels. What such an analysis says of an
item is a map again when the items are painted, tile by tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.columns import Column
from ..core.counting import tally
from ..core.errors import InputError, LabelError, ManytruthsError
from ..core.mask_arrays import fill_masked
from ..core.painting import paint, paint_tiles
from ..core.runs import LabelRuns, divide_runs, read_runs
from ..core.tally import Tally
from ..core.tiles import Where, chunk_shape, is_at_least, is_marked, load
from ..fusion.result import Consensus
from .case import Counted, Reading
from .tallied import values_by_pattern

Array = NDArray[Any]
INSIDE, TRAINED, DECIDED, SETTLED = "region of interest", "training area", "consensus", "adjudicated"
"""Columns that are no masks."""


@dataclass(frozen=True, eq=False)
class Pixels:
    """Where the items of a reading of patterns are."""

    reading: Reading
    """The same case, by tile."""
    table: Tally
    """One row for each item."""
    arrays: Mapping[Column, Array]

    def tiles(self, out: object = None) -> Iterator[tuple[Where, NDArray[np.int32]]]:
        """The number of the item at every pixel, tile by tile; one number where a tile is one item.

        Tiles follow the chunks of ``out`` where it is given, as those of :func:`manytruths.core.painting.paint_tiles`.
        """
        options = self.reading.case.options
        numbers = np.arange(len(self.table.counts), dtype=np.int32)
        whole = tuple(slice(0, n) for n in self.reading.grid.shape)
        found = paint_tiles(
            [numbers], self.arrays, self.table, void=options.void, foreground=options.foreground, out=out
        )  # fmt: skip
        for where, (tile,) in found:
            yield whole if where is None else where, tile

    def read(self, where: Where) -> NDArray[np.int32]:
        """The number of the item at every pixel of a part."""
        options, numbers = self.reading.case.options, np.arange(len(self.table.counts), dtype=np.int32)
        parts = {column: load(array, where) for column, array in self.arrays.items()}
        return paint(numbers, parts, self.table, void=options.void, foreground=options.foreground)

    @cached_property
    def runs(self) -> LabelRuns:
        """The items as runs, numbered from 1: all that is known of items is found in these, in one pass over tiles."""
        return read_runs(_Painted(self, np.arange(1, len(self.table.counts) + 1, dtype=np.int32)))

    def map(self, values: ArrayLike) -> ItemMap:
        """An array of the size of the image that is read by tile, with a value for every item."""
        return ItemMap(self, np.asanyarray(values))


@dataclass(frozen=True, eq=False)
class _Painted:
    """A value for every item, where it lies."""

    pixels: Pixels
    values: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.pixels.reading.grid.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    @property
    def chunks(self) -> tuple[int, ...] | None:
        known = (chunk_shape(array) for array in self.pixels.arrays.values())
        return next((chunks for chunks in known if chunks is not None), None)

    def __getitem__(self, where: Any) -> Array:
        whole = tuple(slice(0, n) for n in self.shape)
        return np.asanyarray(self.values[self.pixels.read(whole if where is ... else where)])


class ItemMap(_Painted):
    """What is known of every item, where it lies; masked where it is not known."""

    def label_runs(self) -> LabelRuns:
        """From the runs of the items, which are read once."""
        items = self.pixels.runs
        values = fill_masked(self.values)[items.values - 1]
        return LabelRuns(items.shape, items.starts, items.stops, values).select(values != 0).join()


def count_patterns(reading: Reading, cut: float | None = None) -> Reading:
    """Read everything of a case by tile, once; the reading that comes back has one item for each pattern.

    Probability maps are not among it, but for what is ``cut`` of them: their masks are then its predictions.
    """
    case, options = reading.case, reading.case.options
    judged: Mapping[Column, Any] = reading.predictions
    if options.probability:
        judged = {} if cut is None else {c: is_at_least(array, cut) for c, array in judged.items()}
    inside = {} if isinstance(reading.region, str) else {_area(INSIDE): is_marked(reading.region)}
    areas = reading.training_areas if judged else {}
    # algorithms may share an area
    trained = {column: _area(TRAINED, id(area)) for column, area in areas.items()}
    settled = (
        {} if case.decisions is None else {_area(SETTLED): reading.adjudicated.runs.hide(reading.adjudicated.void)}
    )
    arrays = {**reading.masks, **judged, **reading.references, **inside, **settled}
    arrays |= {trained[column]: is_marked(area) for column, area in areas.items()}
    looked_up = {key: _Decided.of(estimated, i) for i, (key, estimated) in enumerate(reading.decided.items())}
    for decided in looked_up.values():
        arrays |= decided.digits
    try:
        table = tally(arrays, unit=reading.grid.item_size, void=options.void, foreground=options.foreground)
    except LabelError as error:
        raise reading.explained(error) from None
    except ManytruthsError as error:
        raise type(error)(f"case {case.name}: {error}") from None
    reading.refuse_compressed(table)
    values = {column: values_by_pattern([table], place, options.void) for place, column in enumerate(table.columns)}
    masks = {column: values[column] for column in reading.masks}
    if inside and not values[_area(INSIDE)].any():
        raise InputError(f"case {case.name}, roi: {case.roi} is empty, so that nothing is counted; draw it again")
    counted = replace(
        case,
        options=replace(options, spacing=None),  # the list of patterns has one axis, and the grid is known
        masks={column: {"": mask} for column, mask in masks.items()},
        predictions={column: values[column] for column in judged},
        references={column: values[column] for column in reading.references},
        training={column: values[area] for column, area in trained.items()},
        roi=values[_area(INSIDE)] if inside else None,
        ranks={},
        counted=Counted(table.counts, reading.grid),
    )  # fmt: skip
    items = {key: decided.of_items(values) for key, decided in looked_up.items()}
    return Reading(
        counted, masks, reading.grid, reading.aligned, Pixels(reading, table, arrays), items,
        values[_area(SETTLED)] if settled else None,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Decided:
    """What a method decided about runs, as a number for every decision and its probability, digit by digit."""

    estimated: Consensus
    digits: Mapping[Column, LabelRuns]
    """Binary, the lowest first: masks of two values need no labels of their own."""
    hard: Array
    """By number; 0 stands for what is in no run."""
    chance: Array

    @classmethod
    def of(cls, estimated: Consensus, place: int) -> _Decided:
        starts, stops, parts = divide_runs([read_runs(estimated.hard), read_runs(estimated.probability)])
        hard, chance = (np.concatenate([np.zeros(1, part.dtype), part]) for part in parts)
        pairs = np.empty(len(hard), [("hard", hard.dtype), ("chance", chance.dtype)])
        pairs["hard"], pairs["chance"] = hard, chance
        known, number = np.unique(pairs, return_inverse=True)
        number = (number - number[0]) % len(known)
        known = np.roll(known, -int(np.searchsorted(known, pairs[0])))
        digits = {}
        for digit in range((len(known) - 1).bit_length()):
            own = (number[1:] >> digit) & 1 == 1
            runs = LabelRuns(tuple(estimated.hard.shape), starts, stops, np.ones(len(starts), np.bool_))
            digits[Column(DECIDED, "reference", f"/{place}-{digit}")] = runs.select(own).join()
        return cls(estimated, digits, known["hard"], known["chance"])

    def of_items(self, values: Mapping[Column, Array]) -> Consensus:
        """The same estimate, of every item."""
        number = sum((np.asarray(values[c]).astype(np.int64) << i for i, c in enumerate(self.digits)), _nothing(values))
        return replace(self.estimated, hard=self.hard[number], probability=self.chance[number])


def _nothing(values: Mapping[Column, Array]) -> NDArray[np.int64]:
    return np.zeros(len(next(iter(values.values()))), np.int64)


def _area(name: str, number: int = 0) -> Column:
    """A column that has the name of no reference: sessions are parts of file names."""
    return Column(name, "reference", f"/{number}")
