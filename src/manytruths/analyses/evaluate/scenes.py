"""A case as ``evaluate`` sees it: masks, predictions and given truths, one label at a time, counted together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...core.columns import Column
from ...core.counting import tally
from ...core.labels import Labels
from ...core.notes import code_of
from ...core.tally import Tally
from ...evaluation.columns import truth_column
from ...fusion import Consensus
from ...fusion.notes import MARKED_NOTHING
from ...fusion.registry import estimator, options_of
from ...study.case import Reading
from ...study.consensus import FirstReadings, binary_mask
from ...study.predicted import refuse_grey_references, refuse_other_values

Array = NDArray[Any]


@dataclass(frozen=True)
class EvaluatePlan:
    """By which truths to judge, and what to measure."""

    truths: tuple[str, ...]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    threshold: float | None = None
    """Where grey predictions are cut."""
    distances: bool = True
    definition: Literal["elements", "pixels"] = "elements"
    boundaries: Literal["outlines", "lines"] | None = None
    """Whether to match boundaries, and what the masks are: regions, or lines already."""
    share: float = 0.0075
    """Of the image's diagonal: how far apart two boundary pixels may lie and still match."""

    @property
    def by_pattern(self) -> list[str]:
        """Methods that read a table."""
        return [m for m in self.truths if not estimator(m)[0].spatial]

    @property
    def spatial(self) -> list[str]:
        """Methods that look at neighbours."""
        return [m for m in self.truths if estimator(m)[0].spatial]

    def options_of(self, method: str) -> dict[str, Any]:
        """What an estimator is called with."""
        return options_of(method, self.options)


@dataclass(frozen=True)
class Scene:
    """A case's masks, predictions and given truths, with values as they are."""

    reading: Reading
    predictions: Mapping[Column, Array]
    references: Mapping[Column, Array]
    table: Tally
    """Raters and, where they are masks, predictions."""
    areas: Mapping[Column, NDArray[np.bool_]] = field(default_factory=dict)
    """What an algorithm is not judged by."""

    @classmethod
    def of(cls, reading: Reading, threshold: float | None = None) -> Scene:
        """Everything read and looked at; grey predictions cut at a threshold, or left out where there is none."""
        case, grid = reading.case, reading.grid
        table = reading.tally("whole")
        found: dict[Column, Array] = {}
        if not case.options.grey:
            refuse_other_values(case, table)
            found = {c: case.prediction(c, grid) for c in case.predictions}
        elif threshold is not None:
            found = {c: case.response(c, grid) >= threshold for c in case.predictions}
        areas = {c: area for c in found if (area := case.training_area(c, grid)) is not None}
        judged = {c: np.ma.array(a, mask=areas[c]) if c in areas else a for c, a in found.items()}
        references = {c: case.reference(c, grid) for c in case.references}
        refuse_grey_references(case, table, references)
        return cls(reading, judged, references, table, areas)

    @cached_property
    def readings(self) -> FirstReadings:
        """What consensuses are made of."""
        return FirstReadings.of(self.reading)

    def readings_of(self, value: int | None) -> FirstReadings:
        """The same with one label against all the others; None unites all but background."""
        return self.readings.one_label(value)

    @property
    def union(self) -> NDArray[np.bool_]:
        """What any rater marked, in the first reading."""
        masks, void = self.reading.masks, self.reading.case.options.void
        first = [c for c in (self.table.columns[i] for i in self.table.raters) if c in masks]
        marked = [np.ma.filled(binary_mask(masks[c], None, void), False) for c in first]
        return np.asarray(np.logical_or.reduce(marked))

    @property
    def marks(self) -> Mapping[Column, Array]:
        """Everything, by column."""
        return {**self.reading.masks, **self.predictions, **self.references}


def spatial(readings: FirstReadings, plan: EvaluatePlan) -> tuple[dict[Column, Array], list[str]]:
    """The maps of methods that look at neighbours, with what to know about them."""
    maps, notes = {}, []
    for method in plan.spatial:
        found = readings.estimate(method, plan.options_of(method))
        maps[truth_column(method)] = decided(readings, found)
        notes += consensus_notes(method, found)
    return maps, notes


def decided(readings: FirstReadings, found: Consensus) -> Array:
    """The map of what a consensus of one label marks."""
    return readings.map_of(found, np.asarray(found.hard)).astype(bool)


def consensus_notes(method: str, found: Consensus) -> list[str]:
    """What to know about a method, in one line; who left a mask empty, ``check`` tells."""
    told = [note for note in found.notes if code_of(note) != MARKED_NOTHING]
    return [f"{method}: {'; '.join(told)}"] if told else []


def counted(scene: Scene, marks: Mapping[Column, Array]) -> Tally:
    """One table of everything; raters, algorithms and given truths that are absent here are VOID."""
    case = scene.reading.case
    region = case.region(scene.reading.grid)
    if isinstance(region, str) and region == "union" and scene.union.any():
        region = scene.union  # of all labels, also where one of them is looked at
    made = {c: a for c, a in marks.items() if c.role == "reference" and c not in case.references}
    predicted = [c for c in marks if c.role == "algorithm"]
    table = tally(
        _in_order(marks, *scene.reading.masks, *case.absent),
        raters="exchangeable" if case.options.exchangeable else None,
        predictions=_in_order(marks, *predicted, *case.missing),
        references={**_in_order(marks, *case.references, *case.missing_references), **made},
        labels=Labels((0, 1)),
        region=region,
        unit=scene.reading.grid.item_size,
    )
    return replace(table, region="union") if case.options.region == "union" else table


def _in_order(marks: Mapping[Column, Array], *columns: Column) -> dict[Column, Array | None]:
    """In the same order in every case, whoever is absent, so that what is counted adds."""
    return {c: marks.get(c) for c in sorted(columns, key=lambda c: c.order)}
