"""Sizes of what raters marked: ``sizes.csv``, by case, rater, session and label, and their means over subjects."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.columns import Column
from ...core.errors import InputError
from ...core.runs import read_runs
from ...core.tally import Tallies, Tally
from ...core.undefined import Note, Undefined
from ...io.result_tables import Row, Table
from ...measures.sizes import LENGTHS, CountedMark, Mark, MarkSize, SizeUnits, measure_marks
from ...shape.diameters import MaskAxes, measure_axes
from ...shape.grid import times
from ...study import Study
from ...study.case import Reading
from ...study.named_lesions import NamedLesion
from ..tables import Series, Settings, group_names, mean_rows
from .distances import by_value
from .references import label_values

Array = NDArray[Any]
Axes = tuple[float, float]

EXTRA = ("rater", "session", "unit")
"""The columns of ``sizes.csv``."""
AVERAGED = ("area", "volume", "lesions", *LENGTHS)
"""Statistics that have means over subjects."""
CUT = "cut_by_border"
"""Whether a mark is cut by the border; over all cases, how many have such a mark."""
MEASURED_AXES = (2, 3)
"""Of masks whose sizes are measured."""
TOGETHER = 2**22
"""Pixels of masks that are measured together: outlines take more memory than masks."""


@dataclass(frozen=True)
class CaseSizes:
    """The sizes of all marks of a case."""

    units: SizeUnits
    marks: Mapping[Column, Mapping[str, MarkSize]] = field(default_factory=dict)
    """By rater and session, and by the name of the label; a label that is not there was not marked."""
    lesions: Mapping[Column, Mapping[str, Axes | None]] = field(default_factory=dict)
    """Long and short axis of lesions that the table of lesions names; 0 where a rater did not mark one, None of two
    targets that lie in one mark."""
    references: Mapping[Column, Mapping[str, MarkSize]] = field(default_factory=dict)
    """Of given references, by the name of the label; ``""`` is whatever they mark, where there is one label."""

    def of(self, column: Column, label: str) -> MarkSize:
        """The size of one mark."""
        return self.marks[column].get(label) or self.units.nothing()

    def of_reference(self, column: Column, label: str) -> MarkSize:
        """The size of what a given reference marks of a label; ``""`` where there is only one."""
        return self.references[column].get(label) or self.units.nothing()


def measure_sizes(reading: Reading, table: Tally) -> CaseSizes | None:
    """The sizes of the marks of a case; None where masks have one or more than three axes, or hold ratings."""
    labels, options = table.labels, reading.case.options
    ratings = labels.background is None and options.background is None
    if len(reading.grid.shape) not in MEASURED_AXES or ratings:
        return None
    values = {labels.names[mark]: None if options.foreground else labels.values[mark] for mark in labels.marks}
    marks = measure_labels(reading, reading.masks, values)
    references = measure_labels(reading, reading.references, by_value(label_values(reading, table)))
    lesions = _measure_lesions(reading, table)
    return CaseSizes(size_units(reading), marks, lesions, references)


def size_units(reading: Reading) -> SizeUnits:
    """In what the sizes of a case are given."""
    return replace(SizeUnits.of(reading.grid), counted=reading.counts is not None)


def measure_labels(
    reading: Reading, masks: Mapping[Column, Array], values: Mapping[str, int | None]
) -> dict[Column, dict[str, MarkSize]]:
    """The sizes of masks of a case in its region of interest, by label and its value; None is any mark."""
    # labels may share a value: whatever is marked
    keys = [(column, value) for column in masks for value in dict.fromkeys(values.values())]
    most, sizes = max(1, TOGETHER // math.prod(reading.grid.shape)), dict[tuple[Column, int | None], MarkSize]()
    for start in range(0, len(keys), most):
        some = keys[start : start + most]
        found = [find_marks(reading, masks[column], value) for column, value in some]
        marks, cuts = [mark for mark, _ in found], [cut for _, cut in found]
        if reading.counts is not None:
            units, counts = size_units(reading), reading.counts
            measured: Sequence[MarkSize] = [CountedMark.of(int(counts[mark].sum()), units) for mark in marks]
        else:
            measured = measure_marks(marks, reading.grid, cuts)
        sizes |= zip(some, measured, strict=True)
    return {column: {label: sizes[column, value] for label, value in values.items()} for column in masks}


def _measure_lesions(reading: Reading, table: Tally) -> dict[Column, dict[str, Axes | None]]:
    """Long and short axis of the lesions that the table of lesions names, by rater."""
    named = [lesion for lesion in reading.case.lesions if lesion.linked]
    result: dict[Column, dict[str, Axes | None]] = {}
    for column, array in reading.masks.items() if named else ():
        found = {lesion.name: _find_lesion(reading, array, lesion, table) for lesion in named}
        targets = [found[lesion.name] for lesion in named if lesion.kind == "target"]
        result[column] = {
            name: None if mark in targets and any(_overlap(mark, other) for other in targets) else _axes(mark)
            for name, mark in found.items()
        }
    return result


def _axes(mark: _Mark | None) -> Axes:
    if mark is None:
        return 0.0, 0.0
    (axes,) = mark.marks.find_axes(np.array([mark.component]))
    return axes.long_axis, axes.short_axis


def _overlap(mark: _Mark | None, other: _Mark | None) -> bool:
    """Whether two marks, which may be of one label and of any, are or hold each other."""
    if mark is None or other is None or mark is other:
        return False
    held = other.marks.component_at(mark.marks.pixel_of(mark.component)) == other.component
    return held or mark.marks.component_at(other.marks.pixel_of(other.component)) == mark.component


@dataclass(frozen=True, eq=False)
class _Mark:
    """Where a rater marked a lesion."""

    marks: MaskAxes
    component: int


def _find_lesion(reading: Reading, array: Array, lesion: NamedLesion, table: Tally) -> _Mark | None:
    """The mark of a lesion by a rater; None where there is none."""
    labels, options, grid = table.labels, reading.case.options, reading.grid
    if lesion.label and lesion.label not in labels.names:
        return None  # nobody marked it in this case; that it is a label at all is checked over all cases
    value = labels.values[labels.names.index(lesion.label)] if lesion.label and not options.foreground else None
    found = measure_axes(find_marks(reading, array, value)[0], grid.spacing)
    if lesion.position:
        outside = any(at >= n for at, n in zip(lesion.position, grid.shape, strict=False))
        if len(lesion.position) != len(grid.shape) or outside:
            at, size = " ".join(map(str, lesion.position)), times(grid.shape)
            raise InputError(
                f"case {reading.case.name}: position {at} of lesion {lesion.name!r} is not in the image of {size}; "
                "correct it in the table of lesions"
            )
        component = found.component_at(lesion.position)
    else:
        component = int(found.long_axes.argmax()) if found.count else -1
    return _Mark(found, component) if component >= 0 else None


def find_marks(reading: Reading, array: Array, value: int | None) -> tuple[Mark, bool]:
    """Where a mask has a label, or any where it is None, in the region of interest; and whether it is cut by that.

    What was not rated is not marked. Of a large case, runs.
    """
    inside, void = reading.inside, reading.case.options.void
    if reading.is_large:
        runs = reading.runs(array).binary(value, None if void == value else void).marks()
        own = runs if inside is None else runs.intersect(read_runs(inside))
        return own, own.items < runs.items
    marks = _find_in_memory(array, value, void)
    return (marks, False) if inside is None else (marks & inside, bool((marks & ~inside).any()))  # type: ignore[operator]


def _find_in_memory(array: Array, value: int | None, void: int | None) -> NDArray[np.bool_]:
    data = np.ma.getdata(array)
    marked = data != 0 if value is None else data == value
    if void is not None and void != value:
        marked = marked & (data != void)
    hidden = np.ma.getmask(array)
    return np.asarray(marked if hidden is np.ma.nomask else marked & ~hidden)


def label_names(tallies: Tallies) -> dict[str, str]:
    """What the column ``label`` says of each label: its name, or nothing where there is only one."""
    labels = next(iter(tallies.values())).labels
    names = [labels.names[mark] for mark in labels.marks]
    return {name: name for name in names} if labels.several else {names[0] if names else "": ""}


def sizes_table(
    cases: Mapping[str, CaseSizes | None], tallies: Tallies, settings: Settings, *, exchangeable: bool = False
) -> Table:
    """Sizes by case; means over subjects by rater and session, each over cases whose sizes have the same unit."""
    table, labels = Table("sizes", EXTRA), label_names(tallies)
    measured = {name: sizes for name, sizes in cases.items() if sizes is not None}
    for name, sizes in measured.items():
        group, region = group_names(tallies, name), region_of_sizes(tallies[name])
        for column in sizes.marks:
            for key, label in labels.items():
                mark = sizes.of(column, key)
                for statistic, value in mark.statistics().items():
                    extra = (column.name, column.session, sizes.units.of_statistic(statistic))
                    table.append(Row("case", statistic, value, name, group, label, region, extra, n=mark.pixels))
    if any(not sizes.units.counted for sizes in measured.values()):
        cut = float(len(cut_cases(table)))
        regions = {row.region for row in table.rows}
        region = regions.pop() if len(regions) == 1 else "mixed"
        table.append(Row("pooled", CUT, cut, region=region, extra=("",) * len(EXTRA), n=len(measured)))
    if not exchangeable:
        table.add(_means(measured, tallies, labels, settings))
    return table


def reference_sizes_table(cases: Mapping[str, CaseSizes | None], tallies: Tallies) -> Table:
    """The sizes of given references by case, in the labels of the raters."""
    table, labels = Table("reference_sizes", ("reference", "unit")), label_names(tallies)
    measured = {name: sizes for name, sizes in cases.items() if sizes is not None}
    for name, sizes in measured.items():
        for column in sizes.references:
            for label in labels.values():
                mark = sizes.of_reference(column, label)
                where = name, group_names(tallies, name), label, region_of_sizes(tallies[name])
                for statistic, value in mark.statistics().items():
                    extra = (column.name, sizes.units.of_statistic(statistic))
                    table.append(Row("case", statistic, value, *where, extra, n=mark.pixels))
    return table


def cut_cases(table: Table) -> tuple[str, ...]:
    """The cases in which a mark touches the border of the image or of the region of interest."""
    return tuple(dict.fromkeys(row.case for row in table.all(CUT, "case") if row.value))


def size_tables(
    study: Study, cases: Mapping[str, CaseSizes | None], tallies: Tallies, settings: Settings
) -> list[Table]:
    """``sizes``, and ``changes`` and ``recist`` where cases have an order; nothing where nothing was measured."""
    from .changes import changes_table, recist_table

    tables = [sizes_table(cases, tallies, settings, exchangeable=study.options.exchangeable)]
    tables += [changes_table(study, cases, tallies), recist_table(study, cases, tallies)]
    tables += [reference_sizes_table(cases, tallies)]
    return [table for table in tables if table.rows]


def region_of_sizes(tally: Tally) -> str:
    """Sizes are of whole masks, or of what lies in the region of interest; other regions do not cut marks."""
    return tally.region if tally.region == "mask" else "whole"


def _means(
    cases: Mapping[str, CaseSizes], tallies: Tallies, labels: Mapping[str, str], settings: Settings
) -> Iterator[Row]:
    columns = sorted({column for sizes in cases.values() for column in sizes.marks}, key=lambda c: c.order)
    by_unit: dict[tuple[int, str], list[str]] = {}
    for name, sizes in cases.items():
        by_unit.setdefault((sizes.units.axes, sizes.units.size), []).append(name)
    for chosen in by_unit.values():
        here = tallies.select(chosen)
        units, series = cases[chosen[0]].units, list[Series]()
        for column in columns:
            for key, label in labels.items():
                series += _series(column, key, label, [cases[name] for name in chosen], units)
        region = region_of_sizes(next(iter(here.values())))
        for row in mean_rows(series, here, chosen, "", settings):
            row.region = region
            yield row


def _series(column: Column, key: str, label: str, cases: list[CaseSizes], units: SizeUnits) -> Iterator[Series]:
    marks = [sizes.of(column, key) if column in sizes.marks else None for sizes in cases]
    if not any(marks):
        return
    numbers = [None if mark is None else mark.statistics() for mark in marks]
    gap = Undefined("not_read")
    for statistic in next(each for each in numbers if each is not None):
        if statistic in AVERAGED:
            values = [gap if each is None else each[statistic] for each in numbers]
            yield Series(statistic, values, label, (column.name, column.session, units.of_statistic(statistic)))


def size_notes(cases: Mapping[str, CaseSizes | None]) -> Iterator[Note]:
    """What a reader of sizes should know: units that are mixed, and marks that are cut by the border."""
    units = Counter(sizes.units.size for sizes in cases.values() if sizes is not None)
    if len(units) > 1:
        each = ", ".join(f"{unit} in {count}" for unit, count in units.items())
        text = f"sizes have different units ({each} cases), since the pixel size of some is unknown: means are apart"
        yield Note("mixed_size_units", text)
