"""Sizes of what raters marked, and how they change from case to case of a subject."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ..claims.sentences import counted
from ..core.tally import Tally
from ..io.result_tables import Table
from ..study import Case, Progress, Study
from .agree.changes import change_notes
from .agree.sizes import CaseSizes, measure_sizes, size_notes, size_tables
from .printing import grid
from .result import Result, StudySource, Tables, console_or_stdout, open_raters, results_folder, summary_of
from .tables import Settings, mark_resampled


@dataclass(frozen=True, repr=False)
class Sizes(Result):
    """The result of :func:`manytruths.sizes`.

    Attributes
    ----------
    study : Study
        The study that was measured.
    settings : Settings
        Level of intervals.
    tables : Tables
        ``sizes``; ``changes`` where ``cases.csv`` has a column ``order``; ``recist`` where targets are named.
    notes : tuple of str
        What a reader should know about the numbers.
    """

    command: ClassVar[str] = "sizes"

    study: Study
    settings: Settings
    tables: Tables[Table]
    notes: tuple[str, ...] = ()

    def summary(self) -> dict[str, Any]:
        """What ``summary.json`` holds."""
        return summary_of(
            "sizes",
            self.tables.values(),
            cases=len(self.study),
            subjects=len(self.study.subjects),
            raters=list(self.study.rater_names),
            settings=self.settings,
            notes=list(self.notes),
        )

    def describe(self) -> str:
        """What was measured, in one line."""
        return f"{counted(len(self.study), 'case')}, {counted(len(self.study.rater_names), 'rater')}"

    def print(self, console: Any = None) -> None:
        """Print the mean sizes by rater, and the notes."""
        screen = console_or_stdout(console)
        rows = [row for row in self.tables["sizes"].rows if row.scope == "mean"]
        cells = [
            [row["rater"], row["session"], row.label, row.statistic, f"{row.value:.4g}", row["unit"]] for row in rows
        ]
        if cells:
            screen.print(grid("Mean sizes", ["rater", "session", "label", "statistic", "mean", "unit"], cells))
        for note in self.notes:
            screen.print(note, markup=False, highlight=False)


def sizes(
    study: StudySource,
    *,
    out: str | Path | None = None,
    level: float = 0.95,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Sizes:
    """Measure the size of what each rater marked in each case.

    By case, rater, session and label: area (mm²) or volume (ml), number of lesions (connected components), long and
    short axis of the lesion with the longest one (RECIST), sum of the long axes of all lesions, largest diameter in
    space, centroid, and whether the mark is cut by the border of the image, so that its size is a lower limit. Without
    a spacing, sizes are in pixels or voxels, which the column ``unit`` says.

    Parameters
    ----------
    study : Study, str, Path or sequence of these
        A study, or what :meth:`Study.open` takes: a template with ``{rater}`` and ``{case}``, or a ``study.toml``.
    out : str or Path, optional
        Folder for the results, written to ``out/sizes/``; by default nothing is written.
    level : float
        Confidence level of the intervals of means.
    jobs : int
        Number of worker processes. Results do not depend on it.
    progress : callable, optional
        Called with the number of cases that are done and of all cases.

    Returns
    -------
    Sizes
        ``tables["sizes"]``; where the cases of subjects have an order, ``tables["changes"]``; where target lesions are
        named, ``tables["recist"]``.

    References
    ----------
    Eisenhauer EA, et al. New response evaluation criteria in solid tumours: revised RECIST guideline (version 1.1).
    Eur J Cancer 2009;45:228–247. doi:10.1016/j.ejca.2008.10.026

    Examples
    --------
    >>> import numpy as np, manytruths as mt
    >>> a, b = np.zeros((8, 8), int), np.zeros((8, 8), int)
    >>> a[2:6, 2:6], b[2:6, 3:6] = 1, 1
    >>> found = mt.sizes(mt.Study.from_arrays({"p1": {"anna": a, "ben": b}}, spacing=(0.5, 0.5)))
    >>> row = found.tables["sizes"].find("area", "case", case="p1", rater="ben")
    >>> row.value, row["unit"]
    (3.0, 'mm²')
    """
    settings, study = Settings(level=level, jobs=jobs), open_raters(study)
    with results_folder(out, "sizes", jobs=jobs) as folder:
        found = {case.name: result for case, result in study.map(_measure_case, jobs=jobs, progress=progress)}
        result = tabulate_sizes(study, found, settings)
        if folder is not None:
            result.write_into(folder)
    return result


def _measure_case(case: Case) -> tuple[Tally, CaseSizes | None]:
    reading = case.read(by_tile=True)
    table = reading.tally(judged=False)
    return table, measure_sizes(reading, table)


def tabulate_sizes(study: Study, cases: Mapping[str, tuple[Tally, CaseSizes | None]], settings: Settings) -> Sizes:
    """The tables of cases that were measured one by one."""
    tallies = study.gathered({name: table for name, (table, _) in cases.items()})
    measured = {name: sizes for name, (_, sizes) in cases.items()}
    tables = size_tables(study, measured, tallies, settings)
    moved = mark_resampled(study, tables)
    return Sizes(study, settings, Tables(tables), (*size_notes(measured), *change_notes(study, measured), *moved.notes))
