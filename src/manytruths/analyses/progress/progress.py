"""The command ``progress``: what is there, what is late, how far raters agree so far, and what goes wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...claims.claim import ClaimLog, Claims
from ...claims.masks import consider_masks, count_masks, suspicions_table
from ...claims.numbers import TableIndex, is_defined
from ...claims.progress import ALARMS, Pace, ProgressFacts, consider_progress
from ...claims.sentences import counted, number
from ...core.errors import CallError, one_line
from ...core.undefined import Note
from ...inference.drift_tests import MOST_RATERS
from ...inference.intervals import MIN_SUBJECTS
from ...inference.rater_tests import FEWEST_RATERS
from ...io.result_tables import DataTable, PlainTable, Table
from ...study import Progress, Study
from ...study.case_store import CaseStore, keep_or_map
from ...study.read_times import Place, ReadTime, read_times
from ...study.suspicions import Suspicion, find_suspicions
from ..printing import grid, print_parts, with_interval
from ..result import Result, StudySource, Tables, console_or_stdout, open_raters, results_folder, summary_of
from ..tables import subject_word
from .agreement import Panel, agreement_table, comparison_table, gather, trend_table, width_table
from .calendar import Calendar, make_calendar, parse_today
from .case import CaseProgress, bare_study, describe_case
from .changes import find_copies, find_drift, find_label_changes, find_onsets, odd_masks
from .coverage import (
    MADE,
    OPEN,
    READ,
    Cell,
    Coverage,
    coverage_table,
    find_calibration,
    find_cells,
    find_late,
    late_table,
    read_plan,
    statuses_table,
)
from .presentation import draw_charts
from .readings import RaterReadings, rater_readings

STORE = ".progress-kept"
"""Folder beside the results, in which what was found out about cases is kept from run to run."""
RATERS = (
    "rater", "read", "open", "late", "not_evaluable", "first", "last", "last_four_weeks", "minutes", "timed"
)  # fmt: skip
RECENT = 28
"""Days over which a pace is measured."""
LEAST_DAYS = 14
"""Days for which a study must run before a pace is told."""


@dataclass(frozen=True)
class ProgressSettings:
    """The arguments of :func:`progress`."""

    assignment: str | None
    calibration: tuple[str, ...] | None
    late_after: int
    period: int
    dice_width: float
    today: str
    level: float


@dataclass(frozen=True, repr=False)
class StudyProgress(Result):
    """How far a study is; see :func:`progress`.

    Attributes
    ----------
    study : Study
        The study.
    settings : ProgressSettings
        The arguments.
    coverage : Coverage
        Every reading that is there or is not.
    calendar : Calendar
        When readings were made.
    panel : Panel
        The readings of all cases as arrays: Dice of pairs, sizes, times.
    facts : ProgressFacts
        What claims rest on: drift, copies, since when masks are odd, the pace.
    suspicions : tuple of Suspicion
        Masks that are probably broken, lost or copied, as in :func:`check`.
    tables : Tables
        ``coverage``, ``late``, ``raters``, ``statuses``, ``agreement``, ``trend``, ``comparison``, ``drift``,
        ``copies``, ``renamed``, ``onsets``, ``width``, ``masks``.
    notes : tuple of str
        What to know before the numbers are read.
    """

    command: ClassVar[str] = "progress"

    study: Study
    settings: ProgressSettings
    coverage: Coverage
    calendar: Calendar
    panel: Panel
    facts: ProgressFacts
    suspicions: tuple[Suspicion, ...]
    tables: Tables[DataTable]
    notes: tuple[str, ...]

    @cached_property
    def claims(self) -> Claims:
        """What is there, what is late, how far raters agree so far, and what changed."""
        log = ClaimLog()
        consider_progress(log, {name: self.index(name) for name in LONG}, self.facts)
        consider_masks(log, self.suspicions, self.index("masks"), count_masks(self.study))
        return log.settle()

    @cached_property
    def readings(self) -> Mapping[str, RaterReadings]:
        """The readings of every rater, in the order of time."""
        return rater_readings(self.panel, self.calendar)

    @cached_property
    def charts(self) -> Mapping[str, str]:
        """Who read what, agreement so far, and each rater's readings over time, as SVG."""
        return draw_charts(self)

    @property
    def alarms(self) -> Claims:
        """The claims that something goes wrong: drift, copies, and masks that are odd since some time."""
        return self.claims.of(*ALARMS).made

    def index(self, name: str) -> TableIndex:
        """A table of numbers, by what they are about."""
        table = self.tables[name]
        assert isinstance(table, Table)
        return TableIndex(f"progress/{name}.csv", table)

    def describe(self) -> str:
        """How far it is, in one line."""
        table = self.index("statuses")
        asked, read, late = (table.row(name, "pooled", "") for name in ("asked", "read", "late"))
        assert asked is not None
        assert read is not None
        assert late is not None
        told = f"{read.value:.0f} of {asked.value:.0f} readings" if asked.value > read.value else (
            counted(int(read.value), "reading")
        )  # fmt: skip
        behind = f", {late.value:.0f} late" if late.value else ""
        cases, raters = counted(len(self.coverage.cases), "case"), counted(len(self.coverage.raters), "rater")
        return f"{told}{behind}: {cases}, {raters}"

    def summary(self) -> dict[str, Any]:
        """Arguments, counts and notes."""
        tables = [table for table in self.tables.values() if isinstance(table, Table)]
        return summary_of(
            "progress", tables, settings=self.settings, cases=len(self.coverage.cases),
            raters=list(self.coverage.raters), times=self.calendar.source, notes=list(self.notes),
        )  # fmt: skip

    def print(self, console: Any = None) -> None:
        """Print how far it is, each rater, what is claimed, and the notes."""
        console = console_or_stdout(console)
        console.print(one_line(self.describe()), style="bold", markup=False, highlight=False)
        console.print()
        print_parts(console, (self._raters_grid(), self._trend_grid()), self.notes, self.claims)

    def _raters_grid(self) -> Any:
        comparison, overlap, rows = self.index("comparison"), self.panel.overlap, []
        for record in self._raters.records():
            rater, read, left, late, _, _, last, _, minutes, _ = record
            row = comparison.row(overlap, "mean", rater)
            near = with_interval(row, 2) if is_defined(row) else "–"
            rows.append((str(rater), str(read), str(left), str(late), str(last)[:10], near,
                         number(minutes if isinstance(minutes, float) else None, 1)))  # fmt: skip
        return grid("raters", ("rater", "read", "open", "late", "last", "Dice with others", "minutes"), rows)

    def _trend_grid(self) -> Any:
        trend, rows = self.index("trend"), []
        for period, name in enumerate(self.calendar.names, start=1):
            count, here, so_far = (
                trend.row(statistic, scope, period, name)
                for statistic, scope in (
                    ("readings", "pooled"),
                    (self.panel.overlap, "mean"),
                    (f"{self.panel.overlap}_so_far", "mean"),
                )
            )
            shown = [with_interval(row, 2) if is_defined(row) else "–" for row in (here, so_far)]
            rows.append((name, f"{count.value:.0f}" if count else "0", *shown))
        header = ("period", "readings", "Dice", "Dice so far")
        return grid("agreement as it moves", header, rows) if len(rows) > 1 else None

    @property
    def _raters(self) -> PlainTable:
        table = self.tables["raters"]
        assert isinstance(table, PlainTable)
        return table


LONG = ("statuses", "agreement", "trend", "comparison", "drift", "copies", "renamed", "onsets", "width", "masks")
"""Tables of numbers."""


def progress(
    study: StudySource,
    *,
    assignment: str | Path | None = None,
    calibration: Sequence[str] | None = None,
    late_after: int = 14,
    period: int = 7,
    dice_width: float = 0.1,
    today: str | date | None = None,
    out: str | Path | None = None,
    jobs: int = 1,
    level: float = 0.95,
    progress: Progress | None = None,
) -> StudyProgress:
    """Tell how far a study is while it runs, and what goes wrong in it.

    Which readings are there, open and late; how far raters agree so far, and how that moves; each rater beside the
    others; who drifts, copies, or hands in odd masks, and since when; how many more cases make the interval as narrow
    as wanted. With ``out``, what was found out about cases is kept there, so that the next run reads only what changed.

    Parameters
    ----------
    study : Study, str, Path or sequence of these
        The study, or what :meth:`Study.open` takes.
    assignment : str or Path, optional
        Who was asked for what, as :func:`assign` writes it: a CSV file with ``rater`` and ``case`` and, where known,
        ``order``, ``kind`` (``shared`` or ``calibration`` of cases that calibrate raters) and ``due`` (a date).
    calibration : sequence of str, optional
        Cases that calibrate raters; by default those of the assignment.
    late_after : int
        An open reading is late when another rater read the case more than so many days ago, unless it has a day of its
        own (``due``).
    period : int
        Days of a period, for how agreement moves; drift is looked for at the end of each.
    dice_width : float
        Wanted width of the interval of mean Dice.
    today : str or date, optional
        The day that lateness is counted from; by default today.
    out : str or Path, optional
        Folder for the results, written to ``out/progress/``; by default nothing is written.
    jobs : int
        Number of worker processes. Results do not depend on it.
    level : float
        Level of confidence intervals.
    progress : callable, optional
        Called after each case that is read.

    Returns
    -------
    StudyProgress
        Tables, claims, notes and ``write()``.

    Raises
    ------
    CallError
        If an argument is wrong.

    Notes
    -----
    Times are dates of the reading log (``started``) or, where fewer than half of the readings have one, the updates of
    an imported study. A drift is told with an error rate of 5% for the whole study, however often somebody asks.

    Examples
    --------
    >>> import manytruths as mt
    >>> a, b = [[1, 1, 1, 0]], [[1, 0, 0, 0]]
    >>> study = mt.Study.from_arrays({"p1": {"A": a, "B": a}, "p2": {"A": a, "B": b}, "p3": {"A": a, "C": a}})
    >>> found = mt.progress(study)
    >>> found.describe()
    '6 readings: 3 cases, 3 raters'
    >>> print(found.claims.of("progress.agreement").made)
    So far, two raters overlap by a mean Dice of 0.83 over 3 cases (no interval with fewer than ten).
    """
    for name, value in (("--late-after", late_after), ("--period", period)):
        if isinstance(value, bool) or not isinstance(value, int) or value < (name == "--period"):
            raise CallError(f"{name} is a number of days, {int(name == '--period')} or more; got {value!r}")
    if not 0 < dice_width < 1:
        raise CallError(f"--dice-width is the width of an interval, between 0 and 1; got {dice_width!r}")
    day = parse_today(today)
    settings = ProgressSettings(
        None if assignment is None else str(assignment), None if calibration is None else tuple(calibration),
        late_after, period, dice_width, day.isoformat(), level,
    )  # fmt: skip
    opened = open_raters(study)
    with results_folder(out, "progress", jobs=jobs) as folder:
        store = CaseStore(Path(out) / STORE) if out is not None else None
        cases = bare_study(opened)
        found = {case.name: one for case, one in keep_or_map(store, cases, describe_case, jobs=jobs, progress=progress)}
        result = summarise(opened, found, settings)
        if folder is not None:
            result.write_into(folder)
    return result


def summarise(
    study: Study,
    found: Mapping[str, CaseProgress],
    settings: ProgressSettings,
    log: Mapping[Place, ReadTime] | None = None,
) -> StudyProgress:
    """All that is told of what was found out about the cases; ``log`` takes the place of the reading log's times."""
    plan, notes = ({}, ()) if settings.assignment is None else read_plan(settings.assignment, study)
    calibration = find_calibration(settings.calibration, plan, study)
    coverage = find_cells(study, found, plan, calibration, notes)
    made = {
        (cell.case, cell.column): cell.status in READ for cell in coverage.cells
        if cell.status in (*MADE, "unfinished")
    }  # fmt: skip
    times = read_times(study) if log is None else log
    calendar = make_calendar(study, made, times, parse_today(settings.today), settings.period)
    coverage = find_late(coverage, calendar, settings.late_after)
    panel = gather(study, found, calendar)
    suspicions = find_suspicions(study, {name: one.review for name, one in found.items()})
    copies, copies_table = find_copies(panel, study)
    renamed, renamed_table = ((), Table("renamed", ("rater",))) if study.options.exchangeable else (
        find_label_changes(panel, found)
    )  # fmt: skip
    left_out = odd_masks(suspicions, copies, renamed)
    drifts = find_drift(panel, study, calendar, left_out)
    onsets, onsets_table = find_onsets(panel, suspicions, copies, renamed, calendar)
    width, _ = width_table(panel, settings.dice_width, settings.level)
    raters = _raters_table(coverage, calendar)
    named = () if study.options.exchangeable else calibration
    made_tables: Tables[DataTable] = Tables((
        coverage_table(coverage, calendar), late_table(coverage), raters, statuses_table(coverage),
        agreement_table(panel, calibration, settings.level), trend_table(panel, calendar, settings.level),
        Table("comparison", ("rater",)) if study.options.exchangeable else (
            comparison_table(panel, named, settings.level)
        ),
        drifts.table, copies_table, renamed_table, onsets_table, width, suspicions_table(suspicions),
    ))  # fmt: skip
    asked = bool(study.options.reads) or coverage.planned
    facts = ProgressFacts(
        panel.overlap, subject_word(study), panel.raters, settings.dice_width, asked, _pace(coverage, calendar),
        drifts.found, copies, renamed, onsets, _untested(study, panel, calendar, drifts.subjects), _untimed(calendar),
    )  # fmt: skip
    told = [*coverage.notes, *calendar.notes, *_notes(study, coverage)]
    if drifts.periods and left_out:
        masks = f"{counted(len(left_out), 'mask')} that {'is' if len(left_out) == 1 else 'are'}"
        told.append(f"left out of the tests for drift: {masks} probably broken, copied, or of another label")
    return StudyProgress(study, settings, coverage, calendar, panel, facts, suspicions, made_tables, tuple(told))


def _raters_table(coverage: Coverage, calendar: Calendar) -> PlainTable:
    """The table ``raters``: how many readings, when, and how long they take."""
    rows = []
    for rater in coverage.raters:
        mine = [cell for cell in coverage.cells if cell.rater == rater]
        read = [cell for cell in mine if cell.status in READ]
        dates = sorted(calendar.dates[key] for cell in read if (key := (cell.case, cell.column)) in calendar.dates)
        minutes = [calendar.seconds[key] / 60 for cell in read if (key := (cell.case, cell.column)) in calendar.seconds]
        recent = sum(_is_recent(when.date(), calendar.today) for when in dates)
        late = sum(bool(cell.late) for cell in mine)
        rows.append((
            rater, sum(cell.status in MADE for cell in mine), sum(cell.open for cell in mine), late,
            sum(cell.status == "not_evaluable" for cell in mine), dates[0].isoformat() if dates else "",
            dates[-1].isoformat() if dates else "", recent if dates else None,
            float(np.median(minutes)) if minutes else None, len(minutes),
        ))  # fmt: skip
    return PlainTable("raters", RATERS, rows)


def _is_recent(day: date, today: date) -> bool:
    return today - timedelta(days=RECENT) < day <= today


def _pace(coverage: Coverage, calendar: Calendar) -> Pace:
    """How long open readings take at the pace of the last four weeks; each rater reads their own."""
    left = Counter(cell.rater for cell in coverage.cells if cell.open)
    if not left:
        return Pace(why_not=Note("nothing_open", "no reading is open"))
    if calendar.source != "started" or calendar.first is None:
        return Pace(why_not=Note("no_dates", "readings have no dates"))
    days = min(RECENT, (calendar.today - calendar.first).days + 1)
    if days < LEAST_DAYS:
        return Pace(why_not=Note("too_early", f"the study runs for fewer than {LEAST_DAYS} days"))
    recent = Counter(
        cell.rater for cell in coverage.cells
        if cell.status in READ and (cell.case, cell.column) in calendar.times
        and _is_recent(calendar.dates[cell.case, cell.column].date(), calendar.today)
    )  # fmt: skip
    still = [rater for rater in left if not recent[rater]]
    if still:
        why = f"{still[0]} has open readings, and read nothing in the last four weeks"
        return Pace(why_not=Note("no_pace", why))
    weeks = {rater: count / (recent[rater] * 7 / days) for rater, count in left.items()}
    slowest = max(weeks, key=lambda rater: weeks[rater])
    return Pace(weeks[slowest], slowest, sum(left.values()), sum(recent.values()) * 7 / days)


def _untested(study: Study, panel: Panel, calendar: Calendar, subjects: int) -> Note | None:
    """Why nobody was tested for drift."""
    if study.options.exchangeable:
        return Note("exchangeable", "raters are slots, and nobody can be said to drift")
    if len(panel.raters) < FEWEST_RATERS:
        return Note("too_few_raters", f"there are {len(panel.raters)} raters: of two, nobody knows who drifts")
    if len(panel.raters) > MOST_RATERS:
        return Note("too_many_raters", f"there are {len(panel.raters)} raters; up to {MOST_RATERS} are tested")
    if not calendar.source:
        return _untimed(calendar)
    if subjects < MIN_SUBJECTS:
        read = f"{counted(subjects, subject_word(study))} read by three raters or more at known times"
        return Note("too_few_subjects", f"{read}, in periods that are over; it takes {MIN_SUBJECTS}")
    return None


def _untimed(calendar: Calendar) -> Note | None:
    return None if calendar.source else Note("no_times", "neither dates nor updates say when readings were made")


def _notes(study: Study, coverage: Coverage) -> Iterator[str]:
    if not study.options.reads and not coverage.planned and not study.options.exchangeable:
        yield (
            "there is neither a reading log (reads.csv) nor an assignment: what is not there may be late, or was never "
            "asked for"
        )
    elif not any(cell.status in OPEN for cell in coverage.cells):
        yield "no reading is open"
    unread = [case for case in coverage.calibration if not any(_is_read(c) for c in coverage.cells if c.case == case)]
    if unread:
        yield f"nobody has read {counted(len(unread), 'calibration case')} yet"


def _is_read(cell: Cell) -> bool:
    return cell.status in READ
