"""The command ``assign``: who reads which case when a study starts, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

from ...claims.sentences import counted
from ...core.columns import natural_key
from ...core.errors import CallError, StudyError, find_name_fault, one_line
from ...core.labels import Labels
from ...io import Location, Template
from ...io.result_tables import PlainTable
from ...io.tables import read_table
from ...ratings.planning.designs import SHARED, AssignedReading, assign_readings
from ..export.targets import Numbering
from ..printing import grid, print_parts
from ..result import Result, Tables, console_or_stdout, results_folder, summary_of
from .tasks import TaskImages, TaskList, check_tasks, write_tasks

HEADER = ("rater", "order", "case", "kind")
PAIRS = ("rater", "other_rater", "cases")
MOST = 1 << 20
"""Readings of a design."""


@dataclass(frozen=True)
class AssignSettings:
    """The arguments of :func:`assign`."""

    per_case: int | None
    shared: int
    seed: int


@dataclass(frozen=True, repr=False)
class Assignment(Result):
    """Who reads which case; see :func:`assign`.

    Attributes
    ----------
    settings : AssignSettings
        The arguments.
    readings : tuple of AssignedReading
        By rater, in the order of reading.
    tables : Tables
        ``assignment`` (the readings), ``pairs`` (how many cases every two raters have in common).
    notes : tuple of str
        What to know about the design.
    tasks : {"cvat", "labelstudio"}, optional
        The tool for which tasks are written.
    images : TaskImages
        The images, as far as they are known.
    label_names : tuple of str
        Names of what is marked, as far as they were given.
    """

    command: ClassVar[str] = "assign"

    settings: AssignSettings
    readings: tuple[AssignedReading, ...]
    tables: Tables[PlainTable]
    notes: tuple[str, ...]
    tasks: TaskList | None = None
    images: TaskImages = field(default_factory=TaskImages)
    label_names: tuple[str, ...] = ()

    def write_more(self, folder: Path) -> list[Path]:
        """Write tasks, if they were asked for."""
        each = [(one.rater, one.order, one.case) for one in self.readings]
        return write_tasks(folder, self.tasks, each, self.images, self.label_names) if self.tasks else []

    def describe(self) -> str:
        """What was assigned, in one line."""
        cases, raters = ({getattr(one, what) for one in self.readings} for what in ("case", "rater"))
        return (
            f"{counted(len(self.readings), 'reading')}: {counted(len(cases), 'case')}, {counted(len(raters), 'rater')}"
        )

    def summary(self) -> dict[str, Any]:
        """Arguments, counts and notes."""
        loads = Counter(one.rater for one in self.readings)
        return summary_of(
            "assign", (), settings=self.settings, readings=len(self.readings), by_rater=dict(loads),
            notes=list(self.notes),
        )  # fmt: skip

    def print(self, console: Any = None) -> None:
        """Print how many cases each rater reads, and the notes."""
        console = console_or_stdout(console)
        console.print(one_line(self.describe()), style="bold", markup=False, highlight=False)
        console.print()
        loads, shared = (
            Counter(one.rater for one in self.readings),
            Counter(one.rater for one in self.readings if one.kind == SHARED),
        )
        rows = [(rater, str(load), str(shared[rater])) for rater, load in loads.items()]
        print_parts(console, (grid("cases by rater", ("rater", "cases", "read by all"), rows),), self.notes)


def assign(
    cases: Sequence[str] | str | Path,
    ask: Sequence[str],
    *,
    per_case: int | None = None,
    shared: int = 0,
    tasks: TaskList | None = None,
    labels: Labels | Mapping[int, str] | Iterable[int] | None = None,
    out: str | Path | None = None,
    seed: int = 0,
) -> Assignment:
    """Assign the cases of a study to raters, before it starts.

    All raters read all cases, or a number of raters each case (balanced incomplete blocks) and all raters a shared
    core. The shared cases are spread evenly over everybody's readings, in the same order, to calibrate raters and to
    see drift. Everything else is in an order of its own for each rater.

    Parameters
    ----------
    cases : sequence of str, str or Path
        Names of the cases, or a template of their images such as ``images/{case}.png``, or a CSV file with a column
        ``case``.
    ask : sequence of str
        Names of the raters.
    per_case : int, optional
        How many raters read a case; by default all.
    shared : int
        How many cases are read by all raters.
    tasks : {"cvat", "labelstudio"}, optional
        Also write tasks for this tool: for CVAT a backup of a task for each rater, with the images; for Label Studio a
        list, in which the column ``asked`` says whom a task is for.
    labels : Labels, mapping of int to str, or iterable of int, optional
        What is marked: ``{1: "tumour"}``. CVAT tasks have these labels, and no others.
    out : str or Path, optional
        Folder for the results, written to ``out/assign/``; by default nothing is written.
    seed : int
        Of the order of cases, and of who gets which.

    Returns
    -------
    Assignment
        The readings, tables, notes and ``write()``.

    Raises
    ------
    CallError
        If an argument is wrong.
    StudyError
        If there are no cases.

    References
    ----------
    Fleiss JL. Balanced incomplete block designs for inter-rater reliability studies. Applied Psychological Measurement
    1981;5:105–112. doi:10.1177/014662168100500115

    Examples
    --------
    >>> import manytruths as mt
    >>> made = mt.assign([f"p{k:02}" for k in range(30)], ["anna", "ben", "clara", "dora"], per_case=2, shared=6)
    >>> made
    <Assignment: 72 readings: 30 cases, 4 raters; tables: assignment, pairs>
    """
    check_tasks(tasks)
    images = _find_cases(cases)
    names, raters = list(images.names), _names("rater", ask)
    if len(names) * len(raters) > MOST:
        raise CallError(
            f"{len(names)} cases of {len(raters)} raters are more than {MOST} readings; assign them in parts"
        )
    settings = AssignSettings(per_case, shared, seed)
    readings = assign_readings(names, raters, per_case=per_case, shared=shared, seed=seed)
    pairs = _pairs(readings, raters)
    made = Tables((
        PlainTable("assignment", HEADER, [(one.rater, one.order, one.case, one.kind) for one in readings]),
        PlainTable("pairs", PAIRS, [(*pair, count) for pair, count in pairs.items()]),
    ))  # fmt: skip
    marks = Numbering.of(Labels.of(labels)).names if labels is not None else ()
    notes = _notes(list(pairs.values()), per_case, shared)
    if tasks == "cvat" and not marks:
        notes.append("the tasks have no labels: name them (--labels 1=NAME), or add them in CVAT")
    result = Assignment(settings, readings, made, tuple(notes), tasks, images, marks)
    with results_folder(out, "assign") as folder:
        if folder is not None:
            result.write_into(folder)
    return result


def _find_cases(cases: Sequence[str] | str | Path) -> TaskImages:
    """The cases of a list, a template or a table, with their images or, where these are not known, their names."""
    files: dict[str, Location] = {}
    if not isinstance(cases, str | Path):
        found = {name: name for name in _names("case", cases)}
    elif "{" in str(cases):
        matches = Template(str(cases), require=("case",)).find()
        files = {match.fields["case"]: match.location for match in matches}
        found = {name: location.path.name for name, location in files.items()}
    else:
        found = {name: name for name in read_table(cases, "case")}
    if not found:
        raise StudyError(f"{cases}: names no case")
    return TaskImages(dict(sorted(found.items(), key=lambda item: natural_key(item[0]))), files)


def _names(what: str, given: Sequence[str]) -> list[str]:
    """Names that are there once each and can be written."""
    names = [name.strip() for name in given]
    if not names:
        raise CallError(f"name at least one {what}")
    for name in names:
        if not name or find_name_fault(name):
            raise CallError(f"a {what} is called {name!r}; give it a name that can be written")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise CallError(f"{what} {twice[0]!r} is named twice")
    return names


def _pairs(readings: Sequence[AssignedReading], raters: Sequence[str]) -> dict[tuple[str, str], int]:
    """How many cases every two raters have in common."""
    by_case: dict[str, list[str]] = {}
    for one in readings:
        by_case.setdefault(one.case, []).append(one.rater)
    met = Counter(pair for readers in by_case.values() for pair in combinations(readers, 2))
    return {pair: met[pair] for pair in combinations(raters, 2)}


def _notes(pairs: Sequence[int], per_case: int | None, shared: int) -> list[str]:
    notes = []
    if pairs and min(pairs) != max(pairs):
        notes.append(f"two raters have {min(pairs)} to {max(pairs)} cases in common (pairs.csv)")
    elif pairs:
        notes.append(f"every two raters have {counted(pairs[0], 'case')} in common")
    if pairs and not min(pairs):
        notes.append("some raters have no case in common, and cannot be compared; raise --shared or --per-case")
    if per_case == 1 and not shared:
        notes.append("each case is read by one rater, so that nothing can be said about agreement")
    return notes
