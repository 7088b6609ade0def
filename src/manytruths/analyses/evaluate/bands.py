"""Conformal bands: how wide a band around a prediction must be to hold the whole reference standard of a new subject.

Of masks the band is a distance on both sides of the outline, of probability maps a range of probabilities around one
half. The margin is learnt on a part of the subjects, and the coverage that it reaches is counted on the others. Cases
without a prediction, or without the reference standard, take no part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.columns import Column
from ...core.errors import InputError, few
from ...core.labels import VOID
from ...core.undefined import Note
from ...evaluation.probabilistic.conformal import Band, conformal_margin, smallest_margin
from ...evaluation.responses import Responses
from ...inference.intervals import proportion
from ...io.result_tables import Row, Table
from ...raters.broken_masks import pixel_name
from ...study import Study
from ...study.mask_values import about
from ..tables import Settings
from .forecasts import case_forecasts
from .marks import CaseMarks, LabelMarks
from .probability_maps import CountedMaps
from .recalibration import CALIBRATION, TEST, name_numbers, raise_no_forecast, split_subjects

Key = tuple[str, Column, Column]
"""Label, algorithm, reference standard."""


@dataclass(frozen=True)
class CaseMargins:
    """The smallest margins at which the bands of a case hold its reference standards."""

    margins: Mapping[Key, float]
    band: Band
    unit: str
    """Of distances: mm, or pixels."""
    region: str = "whole"
    """What of the image counts."""


def measure_margins(whole: CaseMarks, counted: CountedMaps | None) -> CaseMargins:
    """Of every algorithm against every given reference and consensus; of several labels, of each."""
    if counted is not None:
        found = {
            (label, column, reference): margin
            for label, maps in case_forecasts(whole, counted).items()
            for column, responses in maps.items()
            for reference in responses.tally.role("reference")
            if (margin := _margin_of_map(responses, reference)) is not None
        }
        return CaseMargins(found, "probability", "", counted.label.joint.region)
    grid = whole.reading.grid
    unit = "mm" if grid.spacing is not None else f"{pixel_name(len(grid.shape))}s"
    with about(f"case {whole.case.name}, --band"):
        found = {(name, *key): margin for name, label in _labels(whole) for key, margin in _margins_of_masks(label)}
    return CaseMargins(found, "distance", unit, whole.together.joint.region)


def _labels(whole: CaseMarks) -> Iterator[tuple[str, LabelMarks]]:
    labels, options = whole.table.labels, whole.case.options
    if len(labels.marks) < 2 or options.foreground:
        yield "", whole.together
        return
    for code in labels.marks:
        yield labels.names[code], LabelMarks(whole, labels.values[code])


def _margins_of_masks(label: LabelMarks) -> Iterator[tuple[tuple[Column, Column], float]]:
    whole = label.whole
    maps: dict[Column, Any] = {**label.maps, **label.consensus_maps()}
    references = {c: label.marks[c] for c in whole.reading.references} | {
        c: mask for c, mask in maps.items() if not c.left_out
    }
    for column, prediction in whole.predictions.items():
        mask = np.asarray(whole.binary(np.ma.getdata(prediction), label.value), bool)
        hidden = whole.not_judged(column) | np.ma.getmaskarray(label.marks[column])
        for reference, marked in references.items():
            # what does not count is no difference, but the outline is that of the whole prediction
            truth = np.where(hidden | np.ma.getmaskarray(marked), mask, np.ma.getdata(marked))
            yield (column, reference), smallest_margin(mask, truth, spacing=whole.reading.grid.spacing)


def _margin_of_map(responses: Responses, reference: Column) -> float | None:
    """From the lowest probability inside the reference standard, and the highest outside."""
    codes = responses.tally.patterns[responses.pattern, responses.tally.position(reference)]
    inside, outside = (responses.levels[responses.level[codes == code]] for code in (1, 0))
    if not (codes != VOID).any():
        return None
    ends = [float(inside.min(initial=1.0)), float(outside.max(initial=0.0))]
    return smallest_margin(ends, [1, 0], band="probability")


def tabulate_bands(
    study: Study, cases: Mapping[str, CaseMargins], level: float, settings: Settings, skip: Mapping[str, str]
) -> tuple[Table, tuple[str, ...]]:
    """The margin of every algorithm and reference standard, and the coverage reached on the other subjects."""
    split = split_subjects(study, settings.seed, f"--band {level:g}")
    table = Table("bands", ("algorithm", "against", "band"))
    every = dict.fromkeys(key for found in cases.values() for key in found.margins if key[1].name not in skip)
    keys = sorted(every, key=lambda key: (key[0], key[1].order))
    if not keys:
        raise_no_forecast(f"--band {level:g}", skip)
    units = {found.unit for found in cases.values()}
    if len(units) > 1:
        raise InputError("--band: the pixel size of some cases is not known; give it with --spacing")
    unit = units.pop() if units else ""
    regions = {found.region for found in cases.values()}
    region = regions.pop() if len(regions) == 1 else "mixed"
    numbers: list[tuple[int, int]] = []
    for label, column, reference in keys:
        parts = {part: _by_subject(study, cases, (label, column, reference), names) for part, names in split.items()}
        where = f"--band {level:g}, {column} against {reference}{f', label {label}' if label else ''}"
        with about(where):
            kind = next(iter(cases.values())).band
            found = conformal_margin(margins=list(parts[CALIBRATION].values()), coverage=level, band=kind)
        held = [margin <= found.margin for margin in parts[TEST].values()]
        numbers.append((found.subjects, len(held)))
        extra = (column.name, reference.name, kind)
        low, high = found.expected_coverage
        row = Row("pooled", "band_margin", found.margin, "", "", label, region, extra, n=found.subjects)
        row.unit = unit
        table.append(row)
        table.append(Row("pooled", "band_expected_coverage", level, "", "", label, region, extra, low, high))
        if held:
            share = proportion(sum(held), len(held), settings.level)
            ends = (share.low, share.high)
            table.append(Row("pooled", "band_coverage", share.value, "", "", label, region, extra, *ends, len(held)))
    return table, (_describe(numbers, level), *_note_wide(table))


def _note_wide(table: Table) -> Iterator[str]:
    """Bands that hold everything tell nothing of where the reference standard is."""
    wide = dict.fromkeys(
        (str(row["algorithm"]), str(row["against"]), row.label)
        for row in table.rows
        if row.statistic == "band_margin" and row.value >= (0.5 if row["band"] == "probability" else math.inf)
    )
    if wide:
        names = [f"{who} against {whom}" + (f", label {label}" if label else "") for who, whom, label in wide]
        text = f"bands that hold every mask, so that they say nothing of where the outline is: {few(names, 4)}"
        yield Note("bands_hold_all", text)


def _by_subject(
    study: Study, cases: Mapping[str, CaseMargins], key: Key, names: Any
) -> dict[str, float]:  # fmt: skip
    """The largest margin over the cases of each subject: the event is that all of them are held."""
    largest: dict[str, float] = {}
    for name in names:
        margin = cases[name].margins.get(key) if name in cases else None
        if margin is not None:
            subject = study[name].subject
            largest[subject] = max(largest.get(subject, 0.0), margin)
    return largest


def _describe(numbers: Sequence[tuple[int, int]], level: float) -> Note:
    learnt, others = (list(part) for part in zip(*numbers, strict=True))
    text = f"learnt on {name_numbers(learnt, 'subject')}, and counted on {name_numbers(others, 'other')}"
    return Note("bands", f"bands for a coverage of {level:g} were {text}")
