"""One case: who marked it, where the files are, and its table and maps when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import GridError, LabelError, ManytruthsError, StudyError
from ..formats import Grid, Location, Mask, looks_compressed, read_image, read_mask
from ..labels import Labels
from ..pixels import paint, tally
from ..shape.overlaps import smaller_out_of_larger
from ..tallies import Column, Tally
from .options import Options

Array = NDArray[Any]
Source = Location | Array
"""A file, or an array that is in memory already."""

_MANY = 8
"""More distinct values than this, undeclared, and a mask is looked at for traces of JPEG."""


@dataclass(frozen=True)
class Case:
    """An image that several raters marked. Nothing is read before it is asked for.

    ``masks`` holds, by rater, one source, or one a structure where the template has ``{label}``.
    """

    name: str
    subject: str
    groups: tuple[str, ...]
    masks: Mapping[Column, Mapping[str, Source]]
    absent: tuple[Column, ...]
    options: Options
    structures: tuple[str, ...] = ()
    predictions: Mapping[Column, Source] = field(default_factory=dict)
    ranks: Mapping[Column, Source] = field(default_factory=dict)
    image: Location | None = None
    roi: Source | None = None

    def tally(self, region: str | ArrayLike | None = None) -> Tally:
        """The table of this case. Raters absent from it are VOID. ``region`` overrides the study's."""
        return self.read().tally(region)

    def paint(self, values: ArrayLike, table: Tally, fill: float | None = None) -> Array:
        """The map of a value per pattern of ``table``, which may be a pooled one."""
        return self.read().paint(values, table, fill)

    def read(self) -> Reading:
        """Every rater's mask, and the grid they share."""
        masks: dict[Column, Array] = {}
        first: tuple[Column, Grid] | None = None
        for column in self.masks:
            mask = self.mask(column)
            if first is None:
                first = column, mask.grid
            elif mask.grid.difference(first[1]):
                raise GridError(self.grid_problem(column, mask.grid, *first))
            masks[column] = mask.array
        if first is None:
            raise StudyError(f"case {self.name}: nobody marked it")
        return Reading(self, masks, first[1])

    def grid_problem(self, column: Column, grid: Grid, other: Column, wanted: Grid) -> str:
        """What to say of a mask that lies on another grid."""
        return (
            f"case {self.name}: rater {column}'s mask has {grid.difference(wanted)}, unlike rater {other}'s; "
            f"resample one of them, or list {self.name} under [exclude] for rater {column}"
        )

    def mask(self, column: Column) -> Mask:
        """One rater's mask; structures in files of their own are put together."""
        try:
            parts = {label: self._load(source) for label, source in self.masks[column].items()}
        except ManytruthsError as error:
            raise type(error)(f"case {self.name}, rater {column}: {error}") from None
        if "" in parts:
            return parts[""]
        one, *others = parts.values()
        for other in others:
            if other.grid.difference(one.grid):
                raise GridError(
                    f"case {self.name}, rater {column}: structures differ: {other.grid.difference(one.grid)}"
                )
        values = [self.structures.index(label) + 1 for label in parts]
        array = smaller_out_of_larger([np.asarray(p.array) != 0 for p in parts.values()], values)
        return Mask(array, one.grid, one.format)

    @property
    def labels(self) -> Labels | None:
        """The labels declared, or those of the structures' files."""
        if self.options.labels is None and self.structures:
            return Labels.of(dict(enumerate(self.structures, start=1)))
        return self.options.labels

    def picture(self) -> Array | None:
        """The image, where there is one."""
        return None if self.image is None else read_image(self.image).array

    def rank_tally(self) -> tuple[Tally, dict[Column, Array]]:
        """The table of the ranks that raters gave, and the rank maps."""
        maps = {column: self._load(source).array for column, source in self.ranks.items()}
        return tally(maps), maps

    def region(self) -> str | Array:
        """What is counted: the study's region, or the case's own mask."""
        return self.options.region if self.roi is None else self._load(self.roi).array

    def prediction(self, column: Column, grid: Grid) -> Array:
        """One algorithm's output, which must lie on the masks' grid."""
        mask = self._load(self.predictions[column])
        differs = mask.grid.difference(grid)
        if differs:
            raise GridError(f"case {self.name}: prediction of {column} has {differs}, unlike the masks; resample it")
        return mask.array

    def _load(self, source: Source) -> Mask:
        if isinstance(source, Location):
            mask = read_mask(source)
            return mask if self.options.spacing is None else Mask(mask.array, self._spaced(mask.grid), mask.format)
        return Mask(source, Grid(source.shape, self.options.spacing), "array")

    def _spaced(self, grid: Grid) -> Grid:
        return grid if grid.spacing is not None else Grid(grid.shape, self.options.spacing)


@dataclass(frozen=True, eq=False)
class Reading:
    """The masks of a case in memory."""

    case: Case
    masks: Mapping[Column, Array]
    grid: Grid

    def tally(self, region: str | ArrayLike | None = None) -> Tally:
        """The table of the case."""
        case, options = self.case, self.case.options
        try:
            table = tally(
                {**self.masks, **dict.fromkeys(case.absent)},
                raters="exchangeable" if options.exchangeable else None,
                predictions={c: case.prediction(c, self.grid) for c in case.predictions},
                labels=case.labels,
                region=case.region() if region is None else region,
                unit=self.grid.item_size,
                void=options.void,
                foreground=options.foreground,
            )
        except LabelError as error:
            raise self._explained(error) from None
        except ManytruthsError as error:
            raise type(error)(f"case {case.name}: {error}") from None
        if case.labels is None and len(table.labels) > _MANY:
            self._refuse_compressed()
        return table

    def paint(self, values: ArrayLike, table: Tally, fill: float | None = None) -> Array:
        """The map of a value per pattern of a table."""
        options = self.case.options
        return paint(values, table, self.masks, void=options.void, fill=fill, foreground=options.foreground)

    def _explained(self, error: LabelError) -> LabelError:
        """A label error with the values that the mask holds."""
        for column, array in self.masks.items():
            if str(error).startswith(f"{column}:"):
                return LabelError(f"case {self.case.name}, rater {error}. {values_found(array)}")
        return LabelError(f"case {self.case.name}: {error}")

    def _refuse_compressed(self) -> None:
        for column, array in self.masks.items():
            if looks_compressed(array):
                raise LabelError(
                    f"case {self.case.name}, rater {column}: these are no labels. {values_found(array)}, "
                    "or declare the labels"
                )


def values_found(array: Array) -> str:
    """The values of a mask, and whether they look like those of a JPEG."""
    values = np.unique(array).tolist()
    shown = ", ".join(map(str, values[:12])) + (f", … ({len(values)} in all)" if len(values) > 12 else "")
    hint = "; it looks JPEG-compressed: export it as PNG" if looks_compressed(array) else ""
    return f"The mask holds {shown}{hint}"
