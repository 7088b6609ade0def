"""One case: who marked it, where the files are, and its table and maps when asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.columns import Column
from ..core.counting import tally
from ..core.errors import GridError, InputError, LabelError, ManytruthsError, StudyError
from ..core.labels import Labels
from ..core.painting import paint, paint_runs
from ..core.runs import LabelRuns, read_runs
from ..core.tally import Tally
from ..core.tiles import LazyArray, is_lazy, is_marked, load
from ..io import Location, Mask, files, read_image, read_mask
from ..io.pyramids import Pyramid, open_pyramid
from ..shape.alignment import Alignment, bounding_grid
from ..shape.grid import Grid, times
from ..shape.regions import combine_labels
from .grids import Placed, Target, combine_alignments, find_target, place
from .mask_values import about, refuse_compressed, refuse_other_ranks, refuse_strange, values_found
from .options import Options

if TYPE_CHECKING:
    from ..fusion import Consensus
    from .adjudicated import CaseDecisions
    from .adjudicated_masks import AdjudicatedCase
    from .crew import CaseSpread
    from .named_lesions import NamedLesion
    from .outlines import Outlines
    from .patterns import Pixels
    from .probabilities import Output
    from .reading_log import Edit

Array = NDArray[Any]
Source = Location | Array
"""A file, or an array that is in memory already."""
Sources = Source | Mapping[str, Source]
"""The same, or one a structure."""

Decided = tuple[str, int | str | None]
"""A method of consensus, and the label that it is of; None for all of them at once."""

NO_PIXELS = "needs the pixels of the masks, which tally files do not hold; run it where the masks are"

_MANY = 8
"""More distinct values than this, undeclared, and a mask is looked at for traces of JPEG."""


@dataclass(frozen=True, eq=False)
class Counted:
    """What is known of a case without pixels: its masks list patterns, each of which stands for many pixels."""

    counts: NDArray[np.int64]
    """How many pixels show each pattern."""
    grid: Grid
    """Of the masks that were counted."""
    resampled: bool = False
    """Whether a rater's mask was resampled before it was counted."""
    judged_resampled: bool = False
    """Whether a mask, a prediction or a given reference was."""
    merged: int = 0
    """Pixels that were given another pattern, so that rare ones are not shown."""


@dataclass(frozen=True)
class Case:
    """An image that several raters marked; files are read only when they are needed.

    Attributes
    ----------
    name, subject : str
        The case and the patient.
    groups : tuple of str
        Groups of the case, from ``cases.csv``.
    masks : mapping of Column to mapping of str to source
        By rater and session, one file or array, or one per structure where the template has ``{label}``.
    absent : tuple of Column
        Raters of the study who did not mark this case.
    options : Options
        How the study was opened.
    """

    name: str
    subject: str
    groups: tuple[str, ...]
    masks: Mapping[Column, Mapping[str, Source]]
    absent: tuple[Column, ...]
    options: Options
    structures: tuple[str, ...] = ()
    """Names of the structures that have files of their own."""
    predictions: Mapping[Column, Sources] = field(default_factory=dict)
    """Masks or probability maps by algorithm."""
    ranks: Mapping[Column, Source] = field(default_factory=dict)
    """Rank maps by rater and session."""
    image: Location | None = None
    """The image, where there is a template of images."""
    roi: Source | None = None
    """Mask of the region to count."""
    references: Mapping[Column, Sources] = field(default_factory=dict)
    """Given reference standards by name."""
    training: Mapping[Column, Source] = field(default_factory=dict)
    """Areas that an algorithm was trained on and is not judged by."""
    missing: tuple[Column, ...] = ()
    """Algorithms that have predictions of other cases, but none of this one."""
    missing_references: tuple[Column, ...] = ()
    """Likewise, given reference standards."""
    samples: Mapping[Column, Mapping[str, Sources]] = field(default_factory=dict)
    """Masks that an algorithm drew of the case, by algorithm and sample."""
    missing_samples: tuple[Column, ...] = ()
    """Algorithms that have samples of other cases, but none of this one."""
    coded: bool = False
    """Whether names were replaced by codes, so that no path may be shown."""
    edits: Mapping[Column, Edit] = field(default_factory=dict)
    """Readings that were edited from another one."""
    statuses: Mapping[Column, str] = field(default_factory=dict)
    """The status of each reading in the reading log."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """What ``cases.csv`` says about the case, by column; empty cells are left out."""
    reasons: Mapping[Column, str] = field(default_factory=dict)
    """Why readings are not evaluable, where the reading log says so."""
    order: int | None = None
    """Its place in the order of the subject's cases, from 1; None where ``cases.csv`` gives none."""
    lesions: tuple[NamedLesion, ...] = ()
    """Lesions that the table of lesions names."""
    series: Mapping[str, Location] = field(default_factory=dict)
    """Further images that are shown beside the image, such as another sequence or a prior, by name."""
    decisions: CaseDecisions | None = None
    """What adjudicators decided about it, where that is asked for."""
    counted: Counted | None = None
    """Where the case comes from a tally file, which has no pixels: masks, predictions, references and areas are then
    arrays of one value per pattern."""
    spread: CaseSpread | None = field(default=None, compare=False, repr=False)
    """Workers for the tiles of a large case, while it is worked on."""

    @property
    def in_memory(self) -> bool:
        """Whether masks of it are arrays instead of files."""
        return any(isinstance(mask, np.ndarray) for parts in self.masks.values() for mask in parts.values())

    def tally(self, region: str | ArrayLike | None = None) -> Tally:
        """Count the patterns of the case; raters absent from it are VOID.

        Parameters
        ----------
        region : str or array, optional
            Overrides the study's region.

        Returns
        -------
        Tally
            The table of the case.
        """
        return self.read(by_tile=True).tally(region)

    def paint(self, values: ArrayLike, table: Tally | None = None, fill: float | None = None) -> Array:
        """The map of a value per pattern; see :func:`manytruths.paint`.

        Parameters
        ----------
        values : array
            One value per pattern of ``table``.
        table : Tally, optional
            The table, which may be a pooled one; values of a consensus or heatmap know theirs.
        fill : float, optional
            What to paint where a pattern is not in the table; by default that is an error.

        Returns
        -------
        ndarray
            A map of the size of the masks.
        """
        reading = self.read(by_tile=True)
        with about(f"a map of case {self.name}"):
            reading.need_pixels()
        return reading.paint(values, table, fill)

    def read(self, *, by_tile: bool = False) -> Reading:
        """Read every rater's mask onto one grid: the image's, or one that holds them all.

        Masks that stay on disk for their size are refused, unless they are to be read ``by_tile``.
        """
        if self.counted is not None:
            return Reading(self, {column: self.mask(column).array for column in self.masks}, self.counted.grid)
        with about(f"case {self.name}"):
            target = find_target(self)
        masks: dict[Column, Placed] = {}
        with files.quiet:  # once for all of them
            for column in self.masks:
                masks[column] = self.placed(column, target)
                target = target or Target(masks[column].mask.grid, f"rater {column}'s")
        if target is None:
            raise StudyError(f"case {self.name}: nobody marked it")
        if not by_tile and any(is_lazy(placed.mask.array) for placed in masks.values()):
            size = times(target.grid.shape)
            raise InputError(
                f"case {self.name}: {size} pixels are read by tile, as check, agree, fuse, evaluate and report do; "
                "crop them"
            )
        done = {column: placed.done for column, placed in masks.items() if placed.done.how}
        return Reading(self, {column: placed.mask.array for column, placed in masks.items()}, target.grid, done)

    def mask(self, column: Column) -> Mask:
        """One rater's mask as it was drawn; structures in files of their own are put together."""
        return self.placed(column).mask

    def placed(self, column: Column, target: Target | None = None) -> Placed:
        """The same on the grid that is wanted, and what was done to it for that."""
        leave_out = f"list {self.name} under [exclude] for rater {column} (--exclude {column.name}={self.name})"
        with about(f"case {self.name}, rater {column}"):
            return self._load(self.masks[column], target, "the mask", f"resample one of them{{offer}}, or {leave_out}")

    def _together(self, parts: Mapping[str, Placed]) -> Placed:
        unknown = [label for label in parts if label not in self.structures]
        if unknown:
            raise LabelError(f"no rater has {unknown[0]!r}; structures are {', '.join(self.structures)}: rename it")
        if any(is_lazy(part.mask.array) for part in parts.values()):
            raise InputError("structures in files of their own are too large to be put together; save them as one mask")
        values = [self.structures.index(label) + 1 for label in parts]
        array = combine_labels([np.asarray(p.mask.array) != 0 for p in parts.values()], values)
        first = next(iter(parts.values())).mask
        done = combine_alignments({label: p.done for label, p in parts.items()})
        return Placed(Mask(array, first.grid, first.format), done)

    @property
    def labels(self) -> Labels | None:
        """The labels declared, or those of the structures' files."""
        if self.options.labels is None and self.structures:
            labels = Labels.of(dict(enumerate(self.structures, start=1)))
            return labels.without_background() if self.options.background else labels
        return self.options.labels

    def picture(self) -> Array | None:
        """The image, where there is one."""
        return None if self.image is None else read_image(self.image).array

    def rank_tally(self, grid: Grid) -> tuple[Tally, dict[Column, Array]]:
        """The table of the ranks that raters gave, and the rank maps."""
        maps = {column: self.rank_map(column, grid) for column in self.ranks}
        with about(f"case {self.name}, rank maps"):
            table = tally(maps)
            refuse_other_ranks(table)
            return table, maps

    # What lies beside the masks must lie on their grid; without one, it must be readable.

    def rank_map(self, column: Column, grid: Grid | None) -> Array:
        """The ranks that one rater gave."""
        return self._beside(f"rank map of rater {column}", self.ranks[column], grid)

    def prediction(self, column: Column, grid: Grid | None) -> Array:
        """One algorithm's output."""
        try:
            return self._beside(self.describe_prediction(column), self.predictions[column], grid)
        except LabelError as error:
            raise LabelError(f"{error}; if it is a probability map, give --probability") from None

    def reference(self, column: Column, grid: Grid | None) -> Array:
        """A given reference standard."""
        return self._beside(f"reference {column}", self.references[column], grid)

    def response(self, column: Column, grid: Grid | None) -> Array:
        """One algorithm's probability map or response; of several labels, of all together."""
        from .probabilities import read_output

        return read_output(self, column, grid).response

    def place_response(self, mask: Mask, source: Source, grid: Grid | None) -> Array:
        """A probability map or response on a grid; refused where its numbers are none, or not as declared."""
        refuse_strange(mask.array, self.options.limits)
        mask, name = Mask(mask.array, self._spaced(mask.grid), mask.format), str(source)
        if grid is None:
            return mask.array
        placed = place(mask, Target(grid, "the masks"), self.options.resample, name)
        if placed.mask.array is mask.array or mask.grid.shape == grid.shape:
            return placed.mask.array
        least = float(mask.array.min()) if self.options.limits is None else self.options.limits[0]
        if least < 0:
            # 0 beyond its edge would be more than the least that it can say
            raise GridError(f"{name} has {mask.grid.difference(grid)} and values below 0; write it for the whole image")
        return placed.mask.array

    def sample(self, column: Column, name: str, grid: Grid | None) -> Array:
        """One mask that an algorithm drew."""
        return self._beside(f"sample {name} of {column}", self.samples[column][name], grid)

    @staticmethod
    def describe_prediction(column: Column) -> str:
        """``prediction of unet``; an algorithm without a name is called prediction itself."""
        return "prediction" if column.name == "prediction" else f"prediction of {column}"

    def training_area(self, column: Column, grid: Grid | None) -> NDArray[np.bool_] | None:
        """The area an algorithm was trained on and is not judged by."""
        owner = self.training_owner(column)
        if owner is None:
            return None
        area = self._beside(f"area to exclude for {column}", self.training[owner], grid)
        return is_marked(area) if is_lazy(area) else np.asarray(area != 0)  # type: ignore[return-value]

    def training_owner(self, column: Column) -> Column | None:
        """Whose training area holds for an algorithm; a template without {algorithm} has one for all of them."""
        shared = "{algorithm}" not in (self.options.training or "{algorithm}")
        return next((owner for owner in self.training if shared or owner.name == column.name), None)

    def region(self, grid: Grid | None) -> str | Array:
        """What is counted: the study's region, or the case's own mask."""
        if self.roi is None:
            return self.options.region
        inside = self._beside("roi", self.roi, grid)
        if not is_lazy(inside) and not inside.any():
            raise InputError(f"case {self.name}, roi: {self.roi} is empty, so that nothing is counted; draw it again")
        return inside

    def _beside(self, what: str, source: Sources, grid: Grid | None) -> Array:
        first = next(iter(source.values())) if isinstance(source, Mapping) else source
        shown = str(first) if isinstance(first, Location) else "the array"
        with about(f"case {self.name}, {what}"):
            grid = grid if self.counted is None else None
            return self._load(source, None if grid is None else Target(grid, "the masks"), shown).mask.array

    def _load(self, source: Sources, target: Target | None = None, name: str = "", *advice: str) -> Placed:
        """A mask, or several that are one; on the grid that is wanted where there is one."""
        if not isinstance(source, Mapping):
            mask = self._read(source)
            return Placed(mask) if target is None else place(mask, target, self.options.resample, name, *advice)
        if "" in source:
            return self._load(source[""], target, name, *advice)
        parts = {label: self._read(part) for label, part in source.items()}
        for label, part in parts.items():
            refuse_compressed(part.array, f"{label}: ")
        if target is None:
            (first, mask), *others = parts.items()
            target = Target(bounding_grid(mask.grid, [part.grid for _, part in others]), first)
        resample = self.options.resample
        return self._together({label: place(part, target, resample, label, *advice) for label, part in parts.items()})

    def _read(self, source: Source) -> Mask:
        if isinstance(source, Location):
            mask = read_mask(source)
            return mask if self.options.spacing is None else Mask(mask.array, self._spaced(mask.grid), mask.format)
        small = is_lazy(source) and math.prod(source.shape) < files.LARGE
        return Mask(load(source) if small else source, self._spaced(Grid(source.shape)), "array")

    def _spaced(self, grid: Grid) -> Grid:
        spacing = self.options.spacing
        if grid.spacing is not None or spacing is None:
            return grid
        if len(spacing) != len(grid.shape):
            # the option is wrong, not one of the masks
            given = ",".join(f"{size:g}" for size in spacing)
            raise StudyError(f"spacing is {given}, for {len(grid.shape)} axes; give one number for each axis")
        return Grid(grid.shape, spacing)


@dataclass(frozen=True, eq=False)
class Reading:
    """The masks of a case, in memory or, where they are too large for it, on disk."""

    case: Case
    masks: Mapping[Column, Array]
    grid: Grid
    aligned: Mapping[Column, Alignment] = field(default_factory=dict)
    """What was done to masks that lay on other grids; see :func:`manytruths.shape.alignment.align`."""
    pixels: Pixels | None = None
    """Where each pattern is, of a reading that lists the patterns of a large case; see :attr:`by_pattern`."""
    decided: dict[Decided, Consensus] = field(default_factory=dict)
    """Of a large case, what was decided with a look at neighbours, by method and label; its patterns know of it."""
    settled: Array | None = None
    """Of such a reading, what the adjudicated reference standard is for each pattern."""

    @cached_property
    def picture(self) -> tuple[Array | None, str]:
        """The image where there is one of the masks' size, and why there is none where one was to be had."""
        try:
            image = self.case.picture()
        except ManytruthsError as error:
            return None, "it is missing or cannot be read" if self.case.coded else str(error)
        shape = self.grid.shape
        if image is not None and image.shape[: len(shape)] != shape:
            size = "×".join(map(str, image.shape[: len(shape)]))
            return None, f"it is {size}, unlike the masks"
        return image, ""

    @cached_property
    def pyramid(self) -> tuple[Pyramid | None, str]:
        """The same of a large image, of which parts are read."""
        if self.case.image is None:
            return None, ""
        try:
            image = open_pyramid(self.case.image)
        except ManytruthsError as error:
            return None, "it is missing or cannot be read" if self.case.coded else str(error)
        if image.shape != self.grid.shape:
            size, wanted = times(image.shape), times(self.grid.shape)
            return None, f"it is {size}, the masks are {wanted}: export both at one resolution"
        return image, ""

    @property
    def is_large(self) -> bool:
        """Whether it is looked at by tile, and as runs where neighbours matter."""
        if self.counts is not None:
            return False
        image = len(self.grid.shape) == 2 and math.prod(self.grid.shape) >= files.LARGE
        return image or any(is_lazy(mask) for mask in self.masks.values())

    @property
    def counts(self) -> NDArray[np.int64] | None:
        """How many pixels each item of the masks stands for; None where each is one, and lies where it lies."""
        return None if self.case.counted is None else self.case.counted.counts

    # Of a large case, what needs neighbours is found from the runs of its masks.

    @cached_property
    def _runs(self) -> dict[int, tuple[Array | LazyArray, LabelRuns]]:
        return {}

    def runs(self, array: Array | LazyArray) -> LabelRuns:
        """The runs of a mask of the case, or of another array of its shape; each array is read once."""
        if id(array) not in self._runs:
            with about(f"case {self.case.name}{self._owner(array)}"):
                self._runs[id(array)] = array, read_runs(array)
        return self._runs[id(array)][1]

    def _owner(self, array: Array | LazyArray) -> str:
        return next((f", rater {column}" for column, mask in self.masks.items() if mask is array), "")

    def marks(self, array: Array | LazyArray, value: int | None) -> Array | LabelRuns:
        """Where a mask has a label's value, or any where it is None, hidden where it was not rated; of a large case,
        as runs."""
        from .consensus import binary_mask

        marked = self.runs(array) if self.is_large else array
        return binary_mask(marked, value, self.case.options.void)  # type: ignore[arg-type]

    @cached_property
    def inside(self) -> NDArray[np.bool_] | LabelRuns | None:
        """The region of interest, of a large case as runs; None where there is none."""
        if isinstance(self.region, str):
            return None
        return self.runs(self.region).marks() if self.is_large else np.asarray(self.region) != 0

    def paint_runs(
        self, values: ArrayLike, table: Tally, columns: Iterable[Column] | None = None, fill: float | None = None
    ) -> LabelRuns:
        """The runs of a map of a value per pattern of a table, from those of the masks."""
        masks = {column: self.runs(self.masks[column]) for column in (self.masks if columns is None else columns)}
        options = self.case.options
        return paint_runs(values, masks, table, void=options.void, fill=fill, foreground=options.foreground)

    @property
    def sees_neighbours(self) -> bool:
        """Whether pixels can be looked at beside their neighbours: not where there are patterns alone."""
        return self.counts is None

    @cached_property
    def by_pattern(self) -> Reading:
        """A large case as the list of its patterns, from one pass over its tiles; any other reading as it is."""
        from .patterns import count_patterns

        return count_patterns(self) if self.is_large else self

    def need_pixels(self) -> None:
        """Refuse a case without pixels."""
        if self.counts is not None:
            raise StudyError(NO_PIXELS)

    # Predictions, references and areas are read when first asked for, and once, whoever asks.

    @cached_property
    def predictions(self) -> dict[Column, Array]:
        """What the algorithms predicted, as masks or probability maps."""
        if self.case.options.probability:
            return {column: output.response for column, output in self.outputs.items()}
        return {column: self.case.prediction(column, self.grid) for column in self.case.predictions}

    @cached_property
    def outputs(self) -> dict[Column, Output]:
        """The probability maps of the algorithms, of each label where there are maps of several."""
        from .probabilities import average_samples, read_output
        from .samples import averages_samples

        if averages_samples(self.case):
            return {c: average_samples(list(masks.values()), self.case.labels) for c, masks in self.samples.items()}
        return {column: read_output(self.case, column, self.grid) for column in self.case.predictions}

    @cached_property
    def samples(self) -> dict[Column, dict[str, Array]]:
        """The masks that the algorithms drew, by sample."""
        from .samples import read_samples

        return {column: read_samples(self.case, column, self.grid) for column in self.case.samples}

    @cached_property
    def references(self) -> dict[Column, Array]:
        """The given reference standards."""
        return {column: self.case.reference(column, self.grid) for column in self.case.references}

    @cached_property
    def training_areas(self) -> dict[Column, NDArray[np.bool_]]:
        """What each algorithm was trained on and is not judged by, where it is given."""
        areas: dict[Column, NDArray[np.bool_] | None] = {}
        owners = {column: self.case.training_owner(column) for column in self.case.predictions}
        for column, owner in owners.items():
            if owner is not None and owner not in areas:
                areas[owner] = self.case.training_area(column, self.grid)
        return {c: area for c, owner in owners.items() if owner and (area := areas[owner]) is not None}

    @cached_property
    def region(self) -> str | Array:
        """What is counted: the study's region, or the case's own mask."""
        return self.case.region(self.grid)

    @cached_property
    def outlines(self) -> Outlines:
        """The surfaces of the masks, and the distances between them, whoever asks for them."""
        from .outlines import Outlines

        return Outlines(self)

    @cached_property
    def adjudicated(self) -> AdjudicatedCase:
        """The adjudicated reference standard, where the case has decisions."""
        from .adjudicated_masks import adjudicate_case

        return adjudicate_case(self)

    @cached_property
    def rank_tally(self) -> tuple[Tally, dict[Column, Array]]:
        """The table of the ranks that raters gave, and the rank maps."""
        return self.case.rank_tally(self.grid)

    def tally(self, region: str | ArrayLike | None = None, *, judged: bool = True) -> Tally:
        """The table of the case; of the raters alone where nobody is ``judged``."""
        if "by_pattern" in self.__dict__ and self.is_large and (region is None or isinstance(region, str)):
            return self.by_pattern.tally(region, judged=judged)  # counted already
        case, options = self.case, self.case.options
        predictions = self.predictions if judged and not options.probability else {}
        region = self.region if region is None else region
        try:
            table = tally(
                {**self.masks, **dict.fromkeys(case.absent)},
                raters="exchangeable" if options.exchangeable else None,
                predictions=predictions,
                labels=case.labels,
                region=region,
                unit=self.grid.item_size,
                void=options.void,
                foreground=options.foreground,
                counts=self.counts,
                spread=self.spread_over([*self.masks.values(), *predictions.values(), region]),
            )
        except LabelError as error:
            raise self.explained(error) from None
        except ManytruthsError as error:
            raise type(error)(f"case {case.name}: {error}") from None
        self.refuse_compressed(table)
        return table

    def refuse_compressed(self, table: Tally) -> None:
        """Refuse masks that went through JPEG, where so many values make one look."""
        case, options = self.case, self.case.options
        if self.counts is not None or options.instances:
            return
        if options.foreground or (case.labels is None and len(table.labels) > _MANY):
            for column, array in self.masks.items():
                refuse_compressed(array, f"case {case.name}, rater {column}: ")

    def spread_over(self, arrays: Sequence[object]) -> CaseSpread | None:
        """Who may work on the tiles of arrays, besides this process: arrays that are in memory stay here."""
        spread = self.case.spread
        if spread is None or not self.is_large:
            return None
        here = any(isinstance(array, np.ndarray) for array in arrays)
        return None if here and not spread.in_memory else spread

    def paint(self, values: ArrayLike, table: Tally | None = None, fill: float | None = None) -> Array:
        """The map of a value per pattern of a table."""
        case, options = self.case, self.case.options
        table = table or getattr(values, "tally", None)
        shown = {c: self.predictions[c] for c in case.predictions if table and c in table.columns}
        own = {c: m for c, m in self.masks.items() if table is None or c in table.columns}
        masks = {**own, **shown}
        return paint(values, masks, table, void=options.void, fill=fill, foreground=options.foreground)

    def explained(self, error: LabelError) -> LabelError:
        """A label error with the values that the mask holds."""
        text = str(error)
        for column, array in self.masks.items():
            if text.startswith(f"{column}:"):
                return LabelError(f"case {self.case.name}, rater {text}. {values_found(array)}")
        for column in self.case.predictions:
            if text.startswith(f"{column}:"):
                about = f"{self.case.describe_prediction(column)}{text.removeprefix(str(column))}"
                return LabelError(f"case {self.case.name}: {about}; if it is a probability map, give --probability")
        return LabelError(f"case {self.case.name}: {text}")
