"""What an evaluation is asked for, and the marks of one case: raters, predictions and references in memory.

One label is looked at at a time, or all together. The consensus of the raters is the one that ``fuse`` writes: of
several labels it decides about all of them at once, and one label of it is looked at.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...core.columns import Column
from ...core.counting import tally
from ...core.labels import VOID, Labels
from ...core.runs import LabelRuns
from ...core.tally import Tally
from ...core.tiles import LazyArray, load, tile_slices
from ...core.undefined import code_of
from ...evaluation.grading import GradeScale, Ticket
from ...evaluation.references import (
    LEAST_LEFT,
    PatternEstimate,
    append_estimates,
    consensus_column,
    estimate_all,
)
from ...fusion import Consensus
from ...fusion.registry import estimator, options_of
from ...fusion.result import MARKED_NOTHING
from ...study.case import Case, Reading
from ...study.consensus import FirstReadings, binary_mask, decide_by_runs
from ...study.mask_values import about, find_wrong_predictions, find_wrong_references, raise_first
from ...study.patterns import count_patterns

Array = NDArray[Any]
Missing = Literal["worst", "exclude"]


@dataclass(frozen=True)
class EvaluatePlan:
    """What to evaluate against, and what to measure."""

    consensus: tuple[str, ...]
    """Methods of consensus to evaluate against."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Options of the methods, by the name of the estimator."""
    threshold: float | None = None
    """Where probability maps are cut, to be scored as masks too."""
    distances: bool = True
    definition: Literal["elements", "pixels"] = "elements"
    boundaries: Literal["outlines", "lines"] | None = None
    """Whether to match boundaries, and what the masks are: regions, or lines already."""
    share: float = 0.0075
    """Distance within which boundary pixels match, as a share of the image's diagonal."""
    tolerance: float | None = None
    """Of surface Dice; by default from the raters' own distances."""
    skew: tuple[float, float] | None = None
    """Prevalences over which P̄ averages precision; by default around those of the study."""
    missing: Missing = "worst"
    second_look: bool = True
    second_look_algorithms: int = 2
    second_look_raters: float = 0.25
    second_look_min_size: int = 5
    closeups: bool = True
    """Whether to keep what pictures of second-look places show."""
    intensity_curves: bool = False
    grades: Path | None = None
    """A file of experts' grades."""
    key: Path | None = None
    """The key of a blinded sheet of grades."""
    scale: GradeScale = field(default_factory=GradeScale)
    sheet: Path | None = None
    """Folder for the pictures of a grading sheet."""
    tickets: tuple[Ticket, ...] = ()
    """The lines of that sheet."""
    lesions: bool = True
    """Whether to match lesions."""
    sizes: bool = True
    """Whether to compare sizes with those of given references."""
    recalibrate: Literal["temperature", "isotonic"] | None = None
    """How to recalibrate probability maps on a part of the subjects."""
    like: Literal["qubiq", "curvas"] | None = None
    """The challenge whose score is added under its name."""
    band: float | None = None
    """Coverage of conformal bands around predictions; None for no bands."""
    margin: float | None = None
    """Largest difference of Dice distances that does not matter; without it there is no verdict on algorithms."""

    @property
    def by_pattern(self) -> list[str]:
        """Methods that need the tally alone."""
        return [m for m in self.consensus if not estimator(m)[0].spatial]

    @property
    def spatial(self) -> list[str]:
        """Methods that need the masks."""
        return [m for m in self.consensus if estimator(m)[0].spatial]


@dataclass(frozen=True, eq=False)
class CaseMarks:
    """The masks, predictions and given references of a case, with their values as they are."""

    reading: Reading
    plan: EvaluatePlan
    predictions: Mapping[Column, Array]
    """Masks, without what an algorithm is not judged by; empty where there are only probability maps."""
    table: Tally
    """Raters and, where they are masks, predictions, on the whole image."""
    areas: Mapping[Column, NDArray[np.bool_]] = field(default_factory=dict)
    """What an algorithm is not judged by."""
    scored: bool = True
    """Whether predictions are scored as masks, and beside the raters."""
    _maps: dict[int | None, tuple[dict[Column, Array], list[str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, reading: Reading, plan: EvaluatePlan) -> CaseMarks:
        """Checked; probability maps are cut at the threshold, or left out where there is none.

        Of a large case, the patterns of all of it are listed.
        """
        cut = plan.threshold if reading.case.options.probability else None
        if reading.is_large:
            decide_by_runs(reading, plan.spatial, plan.options, united=True)
            reading = reading.by_pattern if cut is None else count_patterns(reading, cut)
        case = reading.case
        table = reading.tally("whole")
        predictions: Mapping[Column, Array] = {}
        if not case.options.probability:
            raise_first(find_wrong_predictions(case, table))
            predictions = reading.predictions
        elif reading.pixels is not None:
            predictions = {c: np.asarray(reading.case.predictions[c], bool) for c in reading.case.predictions}
        elif plan.threshold is not None:
            predictions = {c: response >= plan.threshold for c, response in reading.predictions.items()}
        areas = reading.training_areas if predictions else {}
        judged = {c: np.ma.array(a, mask=areas[c]) if c in areas else a for c, a in predictions.items()}
        raise_first(find_wrong_references(case, table, reading.references))
        scored = not case.options.probability or plan.threshold is not None
        return cls(reading, plan, judged, table, areas, scored)

    def without_predictions(self) -> CaseMarks:
        """The raters and references alone."""
        return replace(self, predictions={}, areas={}, scored=False)

    @property
    def case(self) -> Case:
        """Whose marks they are."""
        return self.reading.case

    @property
    def near(self) -> Reading:
        """The reading in which neighbours are looked at: of a large case the one by tile, where that can do so."""
        pixels = self.reading.pixels
        return self.reading if pixels is None or not pixels.reading.sees_neighbours else pixels.reading

    def on_pixels(self, mask: Array | LabelRuns) -> Array:
        """A mask of the case as that reading has it: of a large case, the items of it painted by tile."""
        pixels = self.reading.pixels
        if pixels is None or self.near is self.reading or isinstance(mask, LabelRuns):
            return mask  # type: ignore[return-value]
        return pixels.map(mask)  # type: ignore[return-value]

    def marks_of(self, mask: Array) -> Array | LabelRuns:
        """The same with the runs of a large case."""
        return self.near.runs(self.on_pixels(mask)) if self.near.is_large else mask

    @cached_property
    def first_readings(self) -> FirstReadings:
        """What a consensus is estimated from."""
        return FirstReadings.of(self.reading)

    @cached_property
    def union(self) -> NDArray[np.bool_]:
        """What any rater marked, in the first reading."""
        return np.asarray(np.logical_or.reduce([np.ma.filled(mask, False) for mask in self.by_rater.values()]))

    @cached_property
    def by_rater(self) -> dict[Column, Array]:
        """What each rater marked in the first reading, with any label."""
        first = {self.table.columns[i] for i in self.table.raters}
        return {c: self.binary(mask) for c, mask in self.reading.masks.items() if c in first}

    @cached_property
    def by_algorithm(self) -> dict[Column, Array]:
        """What each algorithm marked with any label."""
        return {c: self.binary(mask) for c, mask in self.predictions.items()}

    def not_judged(self, column: Column) -> NDArray[np.bool_]:
        """Pixels that do not count for an algorithm: outside the region, and what it was trained on."""
        region, area = self.reading.region, self.reading.training_areas.get(column)
        hidden = np.zeros(self.reading.grid.shape, bool)
        if not isinstance(region, str):
            hidden |= np.asarray(region) == 0
        elif region == "union":
            hidden |= ~self.union
        return hidden if area is None else np.asarray(hidden | area)

    def binary(self, mask: Array, value: int | None = None) -> Array:
        """Marked or not with one label's value, or with any."""
        return binary_mask(mask, value, self.case.options.void)

    @cached_property
    def together(self) -> LabelMarks:
        """All labels but background together."""
        return LabelMarks(self, None)

    @cached_property
    def label_consensus(self) -> tuple[dict[Column, Array], list[str]]:
        """Consensus masks of several labels at once, where scored also without each rater; and notes on the methods."""
        readings, maps, notes = self.first_readings, dict[Column, Array](), list[str]()
        table = readings.table
        present = [c for c in table.columns if (table.patterns[:, table.position(c)] != VOID).any()]
        left_out = present if self.scored and len(present) > LEAST_LEFT else []
        hidden = self._rated_by_nobody
        for method in (m for m in self.plan.consensus if decides_labels(m)):
            options = options_of(method, self.plan.options)
            for rater in (None, *(() if estimator(method)[0].spatial else left_out)):
                of = readings if rater is None else replace(readings, table=table.without(rater))
                result = of.estimate(method, options)
                column = consensus_column(method, "" if rater is None else rater.name)
                maps[column] = np.ma.array(readings.paint(result)[0], mask=hidden)
                notes += consensus_notes(method, result) if rater is None else []
        return maps, notes

    @property
    def _rated_by_nobody(self) -> Array:
        """Pixels that no rater rated."""
        masks = [self.reading.masks[c] for c in self.first_readings.table.columns if c in self.reading.masks]
        return np.asarray(np.logical_and.reduce([np.ma.getmaskarray(self.binary(mask)) for mask in masks]))

    def spatial_maps(self, value: int | None) -> tuple[dict[Column, Array], list[str]]:
        """The maps of the methods that need masks, and their notes; estimated once for masks and probability maps."""
        if value not in self._maps:
            readings = self.first_readings.one_label(value)
            maps, notes = {}, []
            for method in self.plan.spatial:
                if value is not None and decides_labels(method):
                    continue
                result = readings.estimate(method, options_of(method, self.plan.options))
                maps[consensus_column(method)] = decision_map(readings, result)
                notes += consensus_notes(method, result)
            self._maps[value] = maps, notes
        return self._maps[value]


@dataclass(frozen=True, eq=False)
class LabelMarks:
    """One label of a case, or all together: who marked what, and the consensus of the raters."""

    whole: CaseMarks
    value: int | None
    """Of the label; None for all but background."""

    @cached_property
    def marks(self) -> dict[Column, Array]:
        """Marked or not, by rater, algorithm and given reference."""
        whole = self.whole
        every = {**whole.reading.masks, **whole.predictions, **whole.reading.references}
        return {column: whole.binary(mask, self.value) for column, mask in every.items()}

    @cached_property
    def readings(self) -> FirstReadings:
        """What the consensus of this label is estimated from."""
        return self.whole.first_readings.one_label(self.value)

    @property
    def maps(self) -> dict[Column, Array]:
        """The consensus of methods that need the masks and, for one of several labels, of all."""
        maps = self.whole.spatial_maps(self.value)[0]
        if self.value is None:
            return maps
        decided = self.whole.label_consensus[0]
        return maps | {c: self.whole.binary(mask, self.value) for c, mask in decided.items()}

    @property
    def notes(self) -> list[str]:
        """What to know about the methods, in a line each."""
        estimates = self.estimates.items()
        others = [note for c, e in estimates if not c.left_out for note in consensus_notes(c.name, e.consensus)]
        others += self.whole.label_consensus[1] if self.value is not None else []
        return [*self.whole.spatial_maps(self.value)[1], *others]

    @cached_property
    def base(self) -> Tally:
        """One table of everything but estimates on it; raters, algorithms and references absent here are VOID."""
        case, reading = self.whole.case, self.whole.reading
        marks, region = self.marks | self.maps, reading.region
        if isinstance(region, str) and region == "union" and self.whole.union.any():
            region = self.whole.union  # of all labels, also where one of them is looked at
        with about(f"case {case.name}"):
            table = tally(
                _in_order(marks, *reading.masks, *case.absent),
                raters="exchangeable" if case.options.exchangeable else None,
                predictions=_in_order(marks, *self.whole.predictions, *case.missing),
                references={**_in_order(marks, *case.references, *case.missing_references), **self.maps},
                labels=Labels((0, 1)),
                region=region,
                unit=reading.grid.item_size,
                counts=reading.counts,
            )
        return replace(table, region="union") if case.options.region == "union" else table

    @cached_property
    def estimates(self) -> dict[Column, PatternEstimate]:
        """The consensus of the other methods; where predictions are scored, also that without each rater.

        None for one of several labels, whose consensus is a map.
        """
        if self.value is not None:
            return {}
        plan, base, raters = self.whole.plan, self.base, self.readings.table
        with about(f"case {self.whole.case.name}"):
            return estimate_all(base, plan.by_pattern, plan.options, left_out=self.whole.scored, raters=raters)

    @cached_property
    def joint(self) -> Tally:
        """The table with the estimates as columns."""
        return append_estimates(self.base, self.estimates)

    def consensus_maps(self, *, everywhere: bool = False) -> dict[Column, Array]:
        """The maps of the estimates.

        ``everywhere``: only of those of all raters, outside the region as well, since a cut there would be a boundary.
        """
        chosen = {c: e.consensus for c, e in self.estimates.items() if not (everywhere and c.left_out)}
        return {c: decision_map(self.readings, result, everywhere=everywhere) for c, result in chosen.items()}


def decides_labels(method: str) -> bool:
    """Whether a method decides about several labels at once; level sets draw one outline at a time."""
    chosen = estimator(method)[0]
    return not chosen.spatial or "labels" in chosen.settings


def decision_map(readings: FirstReadings, result: Consensus, *, everywhere: bool = False) -> Array:
    """The map of what a consensus of one label marks."""
    hard = result.hard if np.ma.isMaskedArray(result.hard) else np.asarray(result.hard)
    return readings.map_of(result, hard, everywhere=everywhere).astype(bool)


def are_shares(values: Array | LazyArray) -> bool:
    """Whether all responses lie between 0 and 1."""
    tiles = (load(values, where) for where in tile_slices([values]))
    return all(tile.min(initial=0) >= 0 and tile.max(initial=0) <= 1 for tile in tiles)


def consensus_notes(method: str, result: Consensus) -> list[str]:
    """What to know about a method, in one line; ``check`` lists the empty masks."""
    notes = [note for note in result.notes if code_of(note) != MARKED_NOTHING]
    return [f"{method}: {'; '.join(notes)}"] if notes else []


def pack(value: object) -> bytes:
    """Compressed: what is kept of every case may be large."""
    return zlib.compress(pickle.dumps(value, protocol=5), 1)


def unpack(content: bytes) -> Any:
    """What was packed."""
    return pickle.loads(zlib.decompress(content))


def _in_order(marks: Mapping[Column, Array], *columns: Column) -> dict[Column, Array | None]:
    """In the same order in every case, whoever is absent, so that counts add."""
    return {c: marks.get(c) for c in sorted(columns, key=lambda c: c.order)}
