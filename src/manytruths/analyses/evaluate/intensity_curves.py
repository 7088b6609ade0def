"""Intensity along the cases of each subject (Zeng et al. 2021, Fig. 3): ``frames.csv`` and a chart per subject."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ...core.columns import Column, natural_key
from ...core.undefined import Undefined
from ...evaluation.intensity_curves import LEAST_FRAMES, MEAN, CurveDistance, IntensityCurves
from ...inference.intervals import mean_intervals
from ...inference.scales import scale_of
from ...io import safe_name
from ...io.result_tables import Row, Table
from ..tables import Settings

STATISTICS = ("rms", "mean_absolute", "relative_rms", "relative_mean_absolute")
"""Distances of a curve from the raters' mean; each is a field of CurveDistance."""


@dataclass(frozen=True)
class SubjectCurves:
    """The intensity curves of every subject, and how far they lie from the raters' mean."""

    subjects: Mapping[str, IntensityCurves]
    distances: Mapping[str, tuple[CurveDistance, ...]]
    """By subject: raters against the mean of the other raters, algorithms against the mean of all."""
    table: Table
    notes: tuple[str, ...]

    def charts(self) -> dict[str, str]:
        """SVG by name."""
        return {f"frames-{safe_name(subject)}": frames_chart(subject, c) for subject, c in self.subjects.items()}


def tabulate_intensities(
    by_case: Mapping[str, Mapping[Column, float]], subjects: Mapping[str, str], settings: Settings | None = None
) -> SubjectCurves:
    """The curves of every subject with at least three frames.

    Parameters
    ----------
    by_case
        What ``frame_intensity`` gave for every case that has an image; cases without one are simply not in it.
    subjects
        The subject of every case of the study.
    """
    settings = settings or Settings()
    sequences: dict[str, list[str]] = {}
    for case in sorted(by_case, key=natural_key):
        sequences.setdefault(subjects[case], []).append(case)
    curves = {
        subject: IntensityCurves.of({case: by_case[case] for case in sequences[subject]})
        for subject in sorted(sequences, key=natural_key)
        if len(sequences[subject]) >= LEAST_FRAMES
    }
    distances = {subject: tuple(of_subject.distances()) for subject, of_subject in curves.items()}
    table = Table("frames", ("subject", "frame", "who", "role"))
    for subject, of_subject in curves.items():
        table.add(_frame_rows(subject, of_subject))
    for subject in distances:
        table.add(_subject_rows(subject, distances[subject]))
    table.add(_mean_rows(distances, settings))
    return SubjectCurves(curves, distances, table, tuple(_notes(by_case, subjects, curves)))


def _frame_rows(subject: str, curves: IntensityCurves) -> Iterator[Row]:
    for column, curve in (*curves.curves.items(), (MEAN, curves.mean())):
        for i, (case, value) in enumerate(zip(curves.frames, curve, strict=True), start=1):
            yield Row("case", "intensity", value, case, extra=(subject, i, column.name, column.role))


def _subject_rows(subject: str, distances: Iterable[CurveDistance]) -> Iterator[Row]:
    for d in distances:
        extra = subject, None, d.column.name, d.column.role
        for name in STATISTICS:
            value = getattr(d, name)
            yield Row("subject", name, value, subject, extra=extra, n=d.frames, n_undefined=d.undefined)


def _mean_rows(distances: Mapping[str, tuple[CurveDistance, ...]], settings: Settings) -> Iterator[Row]:
    """Mean and standard deviation over subjects."""
    columns = sorted({d.column for of_subject in distances.values() for d in of_subject}, key=lambda c: c.order)
    keys = [(column, name) for column in columns for name in STATISTICS]
    rows = [{(d.column, n): getattr(d, n) for d in of_subject for n in STATISTICS} for of_subject in distances.values()]
    values = np.array([[row.get(key, np.nan) for key in keys] for row in rows], np.float64)
    if not values.size:
        return
    means = mean_intervals(values, [scale_of(name) for _, name in keys], level=settings.level)
    for k, ((column, name), mean) in enumerate(zip(keys, means, strict=True)):
        extra = None, None, column.name, column.role
        undefined = len(values) - mean.n
        yield Row("mean", name, mean.value, "", "", "", "", extra, mean.low, mean.high, mean.n, undefined)
        known = values[~np.isnan(values[:, k]), k]
        spread = float(known.std(ddof=1)) if len(known) > 1 else Undefined("fewer_than_two_subjects")
        yield Row("std", name, spread, extra=extra, n=mean.n, n_undefined=undefined)


def _notes(
    by_case: Mapping[str, Mapping[Column, float]], subjects: Mapping[str, str], curves: Mapping[str, IntensityCurves]
) -> Iterator[str]:
    every = set(subjects.values())
    if not curves:
        yield f"no subject has {LEAST_FRAMES} cases with images: there are no frame-intensity curves"
        return
    bare = sum(case not in by_case for case, subject in subjects.items() if subject in curves)
    empty = sum(np.isnan(v) for of_subject in curves.values() for curve in of_subject.curves.values() for v in curve)
    if len(curves) < len(every):
        yield f"{len(every) - len(curves)} of {len(every)} subjects have fewer than {LEAST_FRAMES} cases with images"
    if bare:
        yield f"{bare} cases of sequences have no image and are left out"
    if empty:
        yield f"{empty} points of curves are undefined: nothing was marked in the frame"


def frames_chart(subject: str, curves: IntensityCurves) -> str:
    """Raters at the left, algorithms and the raters' mean at the right, with each algorithm's distance to it."""
    from ...charts.curves import frame_chart

    notes = {
        d.column.name: f"{d.rms:.3g}" for d in curves.distances() if d.column.role == "algorithm" and d.rms == d.rms
    }
    return frame_chart(
        curves.frames,
        {c.name: curves.curves[c] for c in curves.raters},
        {c.name: curves.curves[c] for c in curves.algorithms},
        curves.mean(),
        f"Intensity along {subject}; after names: root mean square distance to the raters' mean",
        notes=notes,
    )
