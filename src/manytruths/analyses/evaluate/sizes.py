"""Sizes of algorithms and given references, and how far they agree: ``sizes.csv`` and ``size_agreement.csv``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ...core.columns import Column
from ...core.runs import TooManyRuns
from ...core.tally import Tallies
from ...io.result_tables import Row, Table
from ...measures.sizes import MarkSize, SizeUnits
from ...study import Study
from ...study.case import Reading
from ..agree.reference_sizes import COMPARED, MOST_CHARTS, chart_name, reference_chart, reference_rows
from ..agree.size_agreement import RATIOS, SizeReadings, Values
from ..agree.sizes import MEASURED_AXES, measure_labels, region_of_sizes, size_units
from ..tables import Settings, group_names
from .marks import Array, CaseMarks

EXTRA = ("algorithm", "reference", "unit")
"""The columns of ``sizes.csv``: of a reference beside an algorithm, it is without what that is not judged by."""


@dataclass(frozen=True)
class PredictedSizes:
    """The sizes of the predictions and given references of a case."""

    units: SizeUnits
    marks: Mapping[tuple[str, str], Mapping[str, MarkSize]]
    """By algorithm and reference, of which one is empty, and by label; ``""`` is all labels but background together."""

    def find(self, algorithm: str, reference: str, label: str) -> tuple[MarkSize, MarkSize] | None:
        """The two that are compared; None where one of them is missing."""
        judged = self.marks.get((algorithm, ""))
        given = self.marks.get((algorithm, reference)) or self.marks.get(("", reference))
        if judged is None or given is None:
            return None
        nothing = self.units.nothing()
        return judged.get(label, nothing), given.get(label, nothing)


def measure_predictions(whole: CaseMarks) -> PredictedSizes | None:
    """The sizes of a case; None without given references, and of masks that are neither images nor volumes.

    Of masks with too many runs for diameters, what is counted.
    """
    try:
        return _measure_on(whole, whole.near)
    except TooManyRuns:
        return _measure_on(whole, whole.reading)


def _measure_on(whole: CaseMarks, near: Reading) -> PredictedSizes | None:
    reading, labels, options = whole.reading, whole.table.labels, whole.case.options
    if not reading.references or len(reading.grid.shape) not in MEASURED_AXES or labels.background is None:
        return None
    values: dict[str, int | None] = {"": None}
    if not options.probability and not options.foreground:
        named = {labels.names[mark]: labels.values[mark] for mark in labels.marks}
        known = [0, *named.values(), options.void or 0]
        alone = len(named) == 1 and all(np.isin(array, known).all() for array in reading.references.values())
        values |= dict.fromkeys(named) if alone else named

    def measure(masks: Mapping[Column, Array]) -> dict[Column, dict[str, MarkSize]]:
        here = masks if near is whole.reading else {c: whole.on_pixels(mask) for c, mask in masks.items()}
        return measure_labels(near, here, values)

    marks = {(c.name, ""): m for c, m in measure(whole.predictions).items()}
    marks |= {("", c.name): m for c, m in measure(reading.references).items()}
    for judged, area in whole.areas.items():
        given = {
            c: np.ma.array(array, mask=np.ma.getmaskarray(array) | area) for c, array in reading.references.items()
        }
        marks |= {(judged.name, c.name): m for c, m in measure(given).items()}
    return PredictedSizes(size_units(near), marks)


def sizes_table(cases: Mapping[str, PredictedSizes], tallies: Tallies, labels: list[str]) -> Table:
    """The sizes of every case."""
    table = Table("sizes", EXTRA)
    for name, sizes in cases.items():
        where = name, group_names(tallies, name)
        for who, marks in sizes.marks.items():
            for label in labels:
                mark = marks.get(label) or sizes.units.nothing()
                for statistic, value in mark.statistics().items():
                    extra = (*who, sizes.units.of_statistic(statistic))
                    region = region_of_sizes(tallies[name])
                    table.append(Row("case", statistic, value, *where, label, region, extra, n=mark.pixels))
    return table


@dataclass(frozen=True)
class _Compared:
    """The sizes of an algorithm and of a reference, of the same cases."""

    readings: SizeReadings
    names: tuple[str, str]
    judged: Values
    given: Values


def _compare(
    study: Study, cases: Mapping[str, PredictedSizes], tallies: Tallies, labels: list[str]
) -> Iterator[_Compared]:
    subjects = {case.name: case.subject for case in study}
    given = dict.fromkeys(name for sizes in cases.values() for _, name in sizes.marks if name)
    by_unit: dict[tuple[int, str], list[str]] = {}
    for name, sizes in cases.items():
        by_unit.setdefault((sizes.units.axes, sizes.units.size), []).append(name)
    for chosen in by_unit.values():
        # of large cases only what is counted is known
        units = next((u for name in chosen if not (u := cases[name].units).counted), cases[chosen[0]].units)
        regions = {region_of_sizes(tallies[name]) for name in chosen}
        region = regions.pop() if len(regions) == 1 else "mixed"
        for size in (s for s in COMPARED if s in units.nothing().statistics()):
            for label in labels:
                for algorithm in study.algorithms:
                    for reference in given:
                        pairs = [cases[name].find(algorithm.name, reference, label) for name in chosen]
                        a, b = (
                            np.array([np.nan if p is None else p[side].statistics().get(size, np.nan) for p in pairs])
                            for side in (0, 1)
                        )
                        who = tuple(subjects[name] for name in chosen)
                        readings = SizeReadings(
                            size, label, units.of_statistic(size), region, tuple(chosen), who, (), np.empty((0, 0, 0))
                        )
                        yield _Compared(readings, (algorithm.name, reference), a, b)


@dataclass(frozen=True)
class SizeComparison:
    """Both tables, and the charts of areas or volumes."""

    tables: tuple[Table, ...]
    charts: Mapping[str, str]


def compare_sizes(
    study: Study, cases: Mapping[str, PredictedSizes], tallies: Tallies, labels: list[str], settings: Settings
) -> SizeComparison:
    """Every algorithm against every given reference, by size and label."""
    table = Table("size_agreement", ("size", "unit", "scale", "relation", "algorithm", "reference"))
    charts: dict[str, str] = {}
    for each in _compare(study, cases, tallies, labels):
        rows = list(reference_rows(each.readings, each.names, each.judged, each.given, settings))
        table.add(rows)
        key = chart_name(each.names, each.readings.label)
        if each.readings.size in RATIOS and len(charts) < MOST_CHARTS and key not in charts:
            found = Table("size_agreement", table.extra)
            found.add(rows)
            svg = reference_chart(each.readings, each.names, each.judged, each.given, found)
            charts |= {key: svg} if svg else {}
    return SizeComparison((sizes_table(cases, tallies, labels), table), charts)
