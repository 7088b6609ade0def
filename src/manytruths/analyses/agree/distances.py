"""Distances between the outlines of raters, in ``pairs.csv`` and ``agreement.csv``; no algorithm is needed.

Hausdorff, 95% Hausdorff and mean surface distance, in mm where the spacing is known and in pixels otherwise, and
surface Dice at a tolerance: those of ``evaluate``, with the same default tolerance. Where one of two raters marked
nothing there is no distance: such pairs are counted, and none is made up for them.

``fuse`` and given references use the same measurements, with the consensus and the reference in place of a rater.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.columns import Column
from ...core.errors import CallError
from ...core.runs import LabelRuns
from ...core.tally import Tallies, Tally
from ...core.undefined import Undefined, code
from ...inference.intervals import mean_intervals, subject_values
from ...io.result_tables import Row
from ...raters.broken_masks import pixel_name
from ...shape import DirectedDistances, SurfaceDistances, rater_tolerance, surface_distances
from ...study.case import Reading
from ...study.consensus import binary_mask, decided_marks
from ...study.outlines import NOT_THERE, Outline, PackedPairs
from ..label_rows import macro_rows
from ..tables import Series, Settings, region_of, summarise

DISTANCES = ("hausdorff", "hausdorff_95", "mean_surface_distance", "surface_dice")
LENGTHS = DISTANCES[:3]
"""Those that have a unit."""
BOTH_EMPTY = "distances_both_empty"
"""How many pairs have no distance because neither marked anything."""
ONE_EMPTY = "distances_one_empty"
"""How many pairs have no distance because one of the two marked nothing."""
TOLERANCE = "surface_tolerance"
"""Within which distance surfaces count as equal for surface Dice."""

Key = tuple[Column, Column]
Values = dict[str, float]
Distances = Mapping[Key, SurfaceDistances]


def distance_values(distances: SurfaceDistances, tolerance: float) -> Values:
    """The four numbers of two masks."""
    within = Undefined("no_tolerance") if math.isnan(tolerance) else distances.dice(tolerance)
    values = distances.hausdorff(), distances.hausdorff(95), distances.mean(), within
    return dict(zip(DISTANCES, values, strict=True))


def check_tolerance(tolerance: float | None) -> None:
    """Refuse what is no distance."""
    if tolerance is not None and not 0 <= tolerance < math.inf:
        raise CallError(f"tolerance is a distance, 0 or more; got {tolerance}")


def default_tolerance(medians: Sequence[float], half_width: float, pixels: Sequence[float]) -> float:
    """The median, over cases and pairs of raters, of the median distance between their outlines.

    At most half the width of what they mark, beyond which any outline inside would match; but at least a pixel, as
    masks are no finer. Percentiles near 100 would be set by what one rater marked and the other did not.
    """
    if not medians:
        return Undefined("no_two_raters_marked")
    return max(min(float(np.median(medians)), half_width), float(np.median(pixels)))


# -- one case ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelDistances:
    """What was measured of one label of a case."""

    pairs: Distances
    half_widths: tuple[float, ...] = ()
    """Volume / surface of the first of every two raters who marked something."""
    medians: tuple[float, ...] = ()
    """Median distance between the outlines of every two of these."""


@dataclass(frozen=True)
class CaseDistances:
    """The distances between masks of a case, by label; of one label also under ``""``."""

    labels: Mapping[str, LabelDistances]
    unit: str
    """``mm``, or ``pixels`` or ``voxels`` where their size is not known."""
    pixel: float
    """The shortest side of a pixel, in mm or 1."""

    @cached_property
    def measured(self) -> frozenset[Column]:
        """Whose masks were measured; no other has distances."""
        return frozenset(column for found in self.labels.values() for pair in found.pairs for column in pair)

    def find(self, label: str, a: Column, b: Column) -> SurfaceDistances:
        """The distances of two masks; a label that is not in this case was marked by neither."""
        if label in self.labels:
            return self.labels[label].pairs.get((a, b), NOT_THERE)
        others = (found.pairs.get((a, b), NOT_THERE) for found in self.labels.values())
        there = any(found.undefined != NOT_THERE.undefined for found in others)
        return EMPTY if there else NOT_THERE


EMPTY = surface_distances(np.zeros((1, 1), bool), np.zeros((1, 1), bool))
"""Of two empty masks."""


def measure_distances(
    reading: Reading,
    table: Tally,
    consensus: Mapping[str, NDArray[Any] | LabelRuns] | None = None,
    named: Mapping[str, int] | None = None,
) -> CaseDistances | None:
    """Measure a case: every two raters, sessions of a rater, and each rater against given references and consensuses.

    ``consensus`` are masks in the labels of the raters; their columns are algorithms. ``named`` are the labels, and
    their values, that given references are compared by. None where nothing is marked on a background, and of masks
    that are neither images nor volumes.
    """
    labels, axes = table.labels, len(reading.grid.shape)
    if axes not in (2, 3) or (labels.background is None and not labels.several):
        return None
    own = {labels.names[mark]: labels.values[mark] for mark in labels.marks}
    values = {**by_value(named or {}), **by_value({} if reading.case.options.foreground else own)}
    first = [table.columns[i] for i in table.raters if table.columns[i] in reading.masks]
    measured = {value: _measure(reading, first, value, consensus) for value in dict.fromkeys(values.values())}
    spacing = reading.grid.spacing
    return CaseDistances(
        {label: measured[value] for label, value in values.items()},
        f"{pixel_name(axes)}s" if spacing is None else "mm", min(spacing or (1.0,)),
    )  # fmt: skip


def by_value(named: Mapping[str, int]) -> dict[str, int | None]:
    """Each label by its value; of one label, whatever is marked."""
    return dict(named) if len(named) > 1 else {"": None, **dict.fromkeys(named)}


def _measure(
    reading: Reading, first: Sequence[Column], value: int | None,
    consensus: Mapping[str, NDArray[Any] | LabelRuns] | None,
) -> LabelDistances:  # fmt: skip
    outlines, given = reading.outlines, list(reading.references)
    sessions = [pair for pair in combinations(reading.masks, 2) if pair[0].name == pair[1].name]
    between = outlines.distances_of_all(first, value)
    pairs = {(a, b): outlines.distances(a, b, value) for a, b in sessions}
    pairs |= {(a, b): outlines.distances(a, b, value) for a in first for b in given}
    size = (reading.grid.item_size or (1.0, ""))[0]
    widths = tuple(
        outlines.of(a, value).items * size / found.a_to_b.size
        for (a, _), found in between.items()
        if not found.undefined
    )
    others = {Column(name, "algorithm"): _outline(reading, array, value) for name, array in (consensus or {}).items()}
    for column, outline in others.items():
        for other in (*first, *given):
            found = surface_distances(outlines.of(other, value).surface, outline.surface)
            pair = (other, column) if other in first else (column, other)
            pairs[pair] = found if other in first else SurfaceDistances(found.b_to_a, found.a_to_b)
    medians = between.medians if isinstance(between, PackedPairs) else median_distances(between.values())
    if consensus is not None:  # where raters are compared with it, distances between them serve the tolerance alone
        return LabelDistances(pairs, widths, medians)
    if isinstance(between, dict):
        return LabelDistances(between | pairs, widths, medians)
    return LabelDistances(ChainMap(pairs, between), widths, medians)  # type: ignore[arg-type]  # many pairs stay packed


def median_distances(pairs: Iterable[SurfaceDistances]) -> tuple[float, ...]:
    """The median distance of every pair that has one."""
    return tuple(m for m in (rater_tolerance([d], 50) for d in pairs) if not math.isnan(m))


def _outline(reading: Reading, decided: NDArray[Any] | LabelRuns, value: int | None) -> Outline:
    """Of what a consensus marks."""
    return reading.outlines.make(binary_mask(decided_marks(decided), value, None))


# -- a study -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StudyDistances:
    """The distances of all cases, with the tolerance of each label."""

    cases: Mapping[str, CaseDistances]
    """Only those that were measured."""
    given: float | None = None
    """The tolerance, where one was given."""
    _found: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, cases: Mapping[str, CaseDistances | None], tolerance: float | None = None) -> StudyDistances:
        """Of the cases that were measured."""
        return cls({name: case for name, case in cases.items() if case is not None}, tolerance)

    def tolerance(self, label: str = "") -> float:
        """That which was given, or the one that raters need among themselves."""
        if self.given is not None:
            return self.given
        if label not in self._found:
            self._found[label] = self._default_tolerance(label)
        return self._found[label]

    def _default_tolerance(self, label: str) -> float:
        if not self.unit:
            return Undefined("mixed_units")
        here = [(case, case.labels[label]) for case in self.cases.values() if label in case.labels]
        widths = [width for _, found in here for width in found.half_widths]
        medians = [median for _, found in here for median in found.medians]
        half_width = float(np.median(widths)) if widths else math.nan
        return default_tolerance(medians, half_width, [case.pixel for case, _ in here])

    @property
    def unit(self) -> str:
        """The unit of lengths, the same in all cases; empty where cases have different ones."""
        units = {case.unit for case in self.cases.values()}
        return units.pop() if len(units) == 1 else ""

    def values(self, case: str, label: str, a: Column, b: Column) -> Values:
        """The four numbers of two masks of a case."""
        found = self.cases[case].find(label, a, b) if case in self.cases else NOT_THERE
        return distance_values(found, self.tolerance(label))

    def with_units(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows with the unit of their lengths; a mean over millimetres and pixels is undefined."""
        mixed = not self.unit
        for row in rows:
            if row.statistic in (*LENGTHS, TOLERANCE):
                row.unit = self.cases[row.case].unit if row.scope == "case" and row.case in self.cases else self.unit
                if mixed and row.scope != "case":
                    row.value, row.low, row.high = Undefined("mixed_units"), None, None
            yield row


def to_json(case: CaseDistances | None) -> dict[str, Any] | None:
    """The distances of a case as JSON: what several labels share is written once, and numbers are packed bit by bit."""
    if case is None:
        return None
    distinct = list({id(found): found for found in case.labels.values()}.values())
    sides = [side for found in distinct for d in found.pairs.values() for side in (d.a_to_b, d.b_to_a)]
    return {
        "labels": {name: next(i for i, d in enumerate(distinct) if d is found) for name, found in case.labels.items()},
        "found": [
            {"pairs": [[_column(a), _column(b), _counts(d), d.undefined] for (a, b), d in found.pairs.items()],
             "half_widths": list(found.half_widths), "medians": list(found.medians)}
            for found in distinct
        ],
        "distances": _pack([side.distances for side in sides]),
        "sizes": _pack([side.sizes for side in sides]),
        "unit": case.unit,
        "pixel": case.pixel,
    }  # fmt: skip


def _column(column: Column) -> list[str]:
    return [column.name, column.role, column.session, column.left_out]


def _counts(found: SurfaceDistances) -> list[int]:
    return [len(found.a_to_b.distances), len(found.b_to_a.distances)]


def _pack(parts: Sequence[NDArray[np.float64]]) -> str:
    """Numbers one after another, as text; the first bytes of all come first, as they are much alike."""
    values = np.concatenate([np.empty(0), *parts]).astype("<f8")
    return base64.b64encode(zlib.compress(values.view(np.uint8).reshape(-1, 8).T.tobytes())).decode()


def _unpack(text: str) -> NDArray[np.float64]:
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8).reshape(8, -1)
    return np.ascontiguousarray(planes.T).view("<f8").ravel().astype(np.float64)


def from_json(kept: dict[str, Any] | None) -> CaseDistances | None:
    """The distances back from JSON."""
    if kept is None:
        return None
    distances, sizes = _unpack(kept["distances"]), _unpack(kept["sizes"])
    found, end = [], 0
    for each in kept["found"]:
        pairs = {}
        for a, b, counts, why in each["pairs"]:
            starts = [end, end + counts[0], end := end + sum(counts)]
            parts = [slice(*ends) for ends in pairwise(starts)]
            sides = [DirectedDistances(distances[part], sizes[part], why) for part in parts]
            pairs[Column(*a), Column(*b)] = SurfaceDistances(*sides)
        found.append(LabelDistances(pairs, tuple(each["half_widths"]), tuple(each["medians"])))
    labels = {name: found[place] for name, place in kept["labels"].items()}
    return CaseDistances(labels, kept["unit"], float(kept["pixel"]))


def _series(by_case: Sequence[Values], label: str, extra: tuple[object, ...]) -> list[Series]:
    return [Series(name, [values[name] for values in by_case], label, extra) for name in DISTANCES]


def _labels(tallies: Tallies) -> list[str]:
    labels = next(iter(tallies.values())).labels
    return [labels.names[mark] for mark in labels.marks] if labels.several else [""]


def pair_distance_rows(
    distances: StudyDistances,
    tallies: Tallies,
    pairs: Sequence[tuple[Key, tuple[object, ...]]],
    settings: Settings,
    *,
    by_case: bool = True,
) -> Iterator[Row]:
    """Of every pair, named as its rows are: by case, and means over subjects; of several labels, macro means too."""
    labels, region = _labels(tallies), region_of(tallies)
    if not distances.cases:
        return
    for (a, b), names in pairs:
        found = {label: [distances.values(case, label, a, b) for case in tallies] for label in labels}
        by_label = {label: _series(values, label, names) for label, values in found.items()}
        each = by_case or names[-1] == "within"
        if len(labels) > 1:
            rows = macro_rows(by_label, tallies, settings)
            yield from distances.with_units(r for r in rows if each or r.scope not in ("case", "subject"))
        for label, series in by_label.items():
            yield from distances.with_units(summarise(series, tallies, settings, by_case=each))
            codes = [code(values["hausdorff"]) for values in found[label]]
            n = sum(each != NOT_THERE.undefined for each in codes)
            yield Row("pooled", ONE_EMPTY, float(codes.count("one_empty")), "", "", label, region, names, n=n)


def mean_pair_distances(
    distances: StudyDistances,
    tallies: Tallies,
    pairs: Sequence[tuple[Key, tuple[object, ...]]],
    settings: Settings,
) -> Iterator[Row]:
    """The mean surface distance of every pair that has one, mean over subjects; of one label, where units agree."""
    if not distances.cases or len(_labels(tallies)) > 1 or not distances.unit:
        return
    found = np.full((len(tallies), len(pairs)), np.nan)
    places = {pair: i for i, (pair, _) in enumerate(pairs)}
    for row, case in zip(found, tallies, strict=True):
        # of many raters most pairs are in few cases
        of_case = distances.cases[case].labels.get("") if case in distances.cases else None
        for pair, each in of_case.pairs.items() if of_case is not None else ():
            if pair in places:
                row[places[pair]] = each.mean()
    means = mean_intervals(subject_values(tallies, found), "positive", level=settings.level)
    region = region_of(tallies)
    for (_, names), i in zip(pairs, means, strict=True):
        if i.n:
            low, high = (None, None) if isinstance(i.low, Undefined) else (i.low, i.high)
            yield Row("mean", PAIR_DISTANCE, i.value, "", "", "", region, names, low, high, i.n, unit=distances.unit)


PAIR_DISTANCE = "mean_surface_distance"
"""Whose mean every pair has, however many there are."""


def mean_distance_rows(distances: StudyDistances, tallies: Tallies, settings: Settings) -> Iterator[Row]:
    """Of every case, the mean over pairs of raters that have a distance, and its mean over subjects."""
    labels, region = _labels(tallies), region_of(tallies)
    if not distances.cases:
        return
    by_label, counts = dict[str, list[Series]](), dict[str, list[Row]]()
    for label in labels:
        found = [_between_raters(distances, case, tally, label) for case, tally in tallies.items()]
        by_label[label] = _series([_mean_values(values) for values in found], label, ())
        codes = [code(values["hausdorff"]) for case in found for values in case]
        empty = {ONE_EMPTY: codes.count("one_empty"), BOTH_EMPTY: codes.count("both_empty")}
        counts[label] = [
            Row("pooled", name, float(count), "", "", label, region, n=len(codes)) for name, count in empty.items()
        ]
    if len(labels) > 1:
        yield from distances.with_units(macro_rows(by_label, tallies, settings))
    for label, series in by_label.items():
        yield from distances.with_units(summarise(series, tallies, settings))
        tolerance = Row("pooled", TOLERANCE, distances.tolerance(label), "", "", label, region)
        yield from distances.with_units([*counts[label], tolerance])


def _between_raters(distances: StudyDistances, case: str, tally: Tally, label: str) -> list[Values]:
    """Of every two raters who are there."""
    there = distances.cases[case].measured if case in distances.cases else ()
    raters = [column for column in map(tally.columns.__getitem__, tally.raters) if column in there]
    found = [distances.values(case, label, a, b) for a, b in combinations(raters, 2)]
    return [values for values in found if code(values["hausdorff"]) != NOT_THERE.undefined]


def _mean_values(pairs: Sequence[Values]) -> Values:
    """Each number's mean over the pairs for which it is defined."""
    return {name: mean_of([values[name] for values in pairs]) for name in DISTANCES}


def mean_of(values: Sequence[float]) -> float:
    """The mean of the numbers that are defined; undefined for their reason where none is."""
    known = [value for value in values if not math.isnan(value)]
    if known:
        return float(np.mean(known))
    codes = {code(value) for value in values} or {"fewer_than_two_raters"}
    return Undefined(codes.pop() if len(codes) == 1 else "undefined_for_every_pair")
