"""The command ``next``: which case to give to which rater next, while a study runs."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...claims.claim import ClaimLog, Claims
from ...claims.numbers import TableIndex
from ...claims.planning import CHANGES, consider_changes, doubt_masks
from ...claims.sentences import counted, number
from ...core.columns import compose_name, natural_key
from ...core.errors import CallError, few, one_line
from ...core.labels import VOID
from ...core.tally import Tallies, Tally
from ...core.undefined import Note
from ...fusion.vote import mean_label_dice
from ...io.result_tables import DataTable, PlainTable, Row, Table
from ...raters.broken_masks import MaskReview, pixel_name
from ...ratings.planning.asking import CaseReadings, ReadingPlan, ReadingToAsk, plan_readings
from ...ratings.planning.pilot import ConsensusChange, change_by_more_raters
from ...study import Case, Progress, Study
from ...study.read_times import read_times
from ...study.reading_dates import find_doubtful_dates, read_dates
from ...study.suspicions import find_suspicions, review_reading
from ..assigning.tasks import TaskImages, TaskList, check_tasks, write_tasks
from ..export.targets import Numbering
from ..printing import grid, print_parts
from ..result import Result, StudySource, Tables, console_or_stdout, open_raters, results_folder, summary_of

HEADER = (
    "order", "case", "rater", "readings_before", "expected_distance", "expected_gain", "minutes", "gain_per_minute"
)  # fmt: skip
CASES = ("case", "readings", "pixels", "distance", "expected_distance", "planned")
RATERS = ("rater", "readings", "relative_distance", "minutes", "timed", "planned")
SHOWN = 20
"""Readings that are printed."""
FEWEST_RATERS = 3
"""Raters of a case from which it can be told what more of them would change."""
MANY = 5
"""Readings of one rater that are worth a note where they are most of a plan."""
NO_MASK = "unread", "unfinished", "not_evaluable"
"""Why a reading does not count whose rater and case belong to the study all the same."""
STATES = {
    "done": ("done",) * 2,
    "edit": ("an edit of another rater's", "edits of other raters'"),
    "unfinished": ("unfinished",) * 2,
    "not_evaluable": ("not evaluable",) * 2,
    "excluded": ("left out of the study",) * 2,
    "rater_excluded": ("of a rater who is left out",) * 2,
    "other_session": ("of another session",) * 2,
    "void": ("without a rated pixel",) * 2,
}
"""What is said of readings that need not be asked for, of one and of several."""
TIMED = 3
"""Readings with a duration that the pace of a rater needs."""


@dataclass(frozen=True)
class NextReadsSettings:
    """The arguments of :func:`next_reads`."""

    budget: int
    ask: tuple[str, ...] | None
    most: int | None
    seed: int
    tasks: TaskList | None = None


@dataclass(frozen=True, repr=False)
class NextReads(Result):
    """Readings to ask for next; see :func:`next_reads`.

    Attributes
    ----------
    study : Study
        The study.
    settings : NextReadsSettings
        The arguments.
    plan : ReadingPlan
        The readings in order, and what the order rests on.
    changes : tuple of ConsensusChange
        In how many pixels the consensus would change if two more raters read, by label; of the cases with the most
        frequent number of readings, three or more. Empty where there are none.
    item : str
        The word for what is counted: pixel or voxel.
    doubt : Note or None
        Why masks are doubtful, so that nothing is claimed.
    tables : Tables
        ``next`` (the readings, best first), ``cases`` and ``raters`` (what the order rests on), ``changes``.
    notes : tuple of str
        What to know about the plan.
    states : mapping of str to int
        How many readings of those who may be asked are ``done``, ``open``, or neither, and why.
    label_names : tuple of str
        Names of what is marked, for tasks of CVAT.
    """

    command: ClassVar[str] = "next"

    study: Study
    settings: NextReadsSettings
    plan: ReadingPlan
    changes: tuple[ConsensusChange, ...]
    item: str
    doubt: Note | None
    tables: Tables[DataTable]
    notes: tuple[str, ...]
    states: Mapping[str, int]
    label_names: tuple[str, ...]

    @cached_property
    def claims(self) -> Claims:
        """In how many pixels the consensus would change if two more raters read."""
        log, table = ClaimLog(), TableIndex("next/changes.csv", self._changes_table)
        consider_changes(log, table, self.changes, item=self.item, doubt=self.doubt)
        return log.settle()

    @property
    def _changes_table(self) -> Table:
        table = self.tables["changes"]
        assert isinstance(table, Table)
        return table

    @property
    def readings(self) -> tuple[ReadingToAsk, ...]:
        """The readings to ask for, best first."""
        return self.plan.readings

    def write_more(self, folder: Path) -> list[Path]:
        """Write tasks, if they were asked for."""
        if not self.settings.tasks:
            return []
        each = [(one.rater, order, one.case) for order, one in enumerate(self.readings, start=1)]
        return write_tasks(folder, self.settings.tasks, each, TaskImages.of(self.study), self.label_names)

    def describe(self) -> str:
        """What was planned, in one line; where nothing is open, what became of every reading."""
        if not self.plan.open:
            whose = f" by {few(self.settings.ask)}" if self.settings.ask else ""
            return f"no reading{whose} is open: {_say_states(self.states)}"
        raters = {reading.rater for reading in self.readings}
        cases = {reading.case for reading in self.readings}
        return (
            f"{counted(len(self.readings), 'reading')} of {counted(len(cases), 'case')} by "
            f"{counted(len(raters), 'rater')}, of {self.plan.open} that are open"
        )

    def summary(self) -> dict[str, Any]:
        """Arguments, counts and notes."""
        return summary_of(
            "next", (self._changes_table,), settings=self.settings, open=self.plan.open, states=dict(self.states),
            readings=len(self.readings), notes=list(self.notes),
        )  # fmt: skip

    def print(self, console: Any = None) -> None:
        """Print the first readings, how many each rater is asked for, and the notes."""
        console = console_or_stdout(console)
        console.print(one_line(self.describe()), style="bold", markup=False, highlight=False)
        console.print()
        timed = any(not math.isnan(reading.minutes) for reading in self.readings)
        header = ("case", "rater", "readings so far", "expected gain", *(("minutes",) if timed else ()))
        rows = [
            (r.case, r.rater, str(r.readings), number(r.gain), *((number(r.minutes, 1),) if timed else ()))
            for r in self.readings[:SHOWN]
        ]
        more = len(self.readings) - len(rows)
        title = "readings to ask for, best first" + (f" ({more} more in next.csv)" if more > 0 else "")
        doubt = [f"nothing is said about stopping, since {self.doubt}; see manytruths check"] if self.doubt else []
        for claim in self.claims.made:
            console.print(one_line(claim.text), markup=False, highlight=False, soft_wrap=True)
            console.print()
        print_parts(console, (grid(title, header, rows),) if rows else (), (*self.notes, *doubt))


def next_reads(
    study: StudySource,
    *,
    budget: int = 60,
    ask: Sequence[str] | None = None,
    most: int | None = None,
    tasks: TaskList | None = None,
    out: str | Path | None = None,
    jobs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> NextReads:
    """Choose which readings to ask for next: those that bring the consensus nearest to the vote of all raters.

    The expected gain of a reading depends on how far raters of the case are apart (estimated from its readings and from
    cases of its size), on how many votes it has, and on how far the rater is from others who read the same cases. Where
    the reading log has durations, readings are ordered by gain per minute.

    Parameters
    ----------
    study : Study, str, Path or sequence of these
        The study, or what :meth:`Study.open` takes.
    budget : int
        How many readings to ask for.
    ask : sequence of str, optional
        Whom to ask; by default every rater of the study.
    most : int, optional
        The most readings that one rater is asked for.
    tasks : {"cvat", "labelstudio"}, optional
        Also write tasks for this tool: for CVAT a backup of a task for each rater, with the images; for Label Studio a
        list, in which the column ``asked`` says whom a task is for.
    out : str or Path, optional
        Folder for the results, written to ``out/next/``; by default nothing is written.
    jobs : int
        Number of worker processes. Results do not depend on it.
    seed : int
        Decides between readings of equal gain.
    progress : callable, optional
        Called after each case that is read.

    Returns
    -------
    NextReads
        The readings, tables, notes and ``write()``.

    Raises
    ------
    CallError
        If an argument is wrong.

    Notes
    -----
    The aim is the vote of the raters of the study, a tie counting as marked. With few raters, the last readings of a
    case bring most, as they make it complete; so that some cases get all readings and others one.

    Examples
    --------
    >>> import manytruths as mt
    >>> a, b = [[1, 1, 1, 0]], [[1, 0, 0, 0]]
    >>> study = mt.Study.from_arrays({"p1": {"A": a, "B": a}, "p2": {"A": a, "B": b}, "p3": {"A": a, "C": a}})
    >>> [(reading.case, reading.rater) for reading in mt.next_reads(study, budget=1).readings]
    [('p2', 'C')]
    """
    check_tasks(tasks)
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise CallError(f"--budget is a number of readings, 1 or more; got {budget!r}")
    if most is not None and most < 1:
        raise CallError(f"--most is a number of readings, 1 or more; got {most!r}")
    settings = NextReadsSettings(budget, None if ask is None else tuple(dict.fromkeys(ask)), most, seed, tasks)
    opened = open_raters(study)
    with results_folder(out, "next", jobs=jobs) as folder:
        result = _plan(opened, settings, jobs, progress)
        if folder is not None:
            result.write_into(folder)
    return result


def _plan(study: Study, settings: NextReadsSettings, jobs: int, progress: Progress | None) -> NextReads:
    closed = _closed(study)
    described = {case.name: found for case, found in study.map(describe_case, jobs=jobs, progress=progress)}
    cases = [replace(found.readings, closed=frozenset(closed[name])) for name, found in described.items()]
    known = {case.name for case in cases}
    unread = {one.case for one in study.unused if one.why in NO_MASK} - known
    cases += [CaseReadings(name, closed=frozenset(closed.get(name, ()))) for name in sorted(unread, key=natural_key)]
    raters = _raters(study)
    if settings.ask is not None and (wrong := [name for name in settings.ask if name not in raters]):
        raise CallError(f"--ask {wrong[0]}: is not a rater of the study, which are {few(raters)}")
    times = _read_times(study)
    minutes = _paces(raters, times)
    alike = study.options.exchangeable
    plan = plan_readings(
        cases, raters, settings.budget, ask=settings.ask, minutes=minutes, most=settings.most, alike=alike,
        seed=settings.seed,
    )  # fmt: skip
    suspicions = find_suspicions(study, {name: found.review for name, found in described.items()})
    tables = study.gathered({name: found.table for name, found in described.items()})
    changes = _find_changes(tables, cases, settings.seed)
    doubt = doubt_masks(suspicions, tables)
    raters_table = _raters_table(cases, raters, plan, times, minutes)
    changes_table = _changes_table(changes)
    made: Tables[DataTable] = Tables((_readings_table(plan), _cases_table(cases, plan), raters_table, changes_table))
    notes = (*_notes(plan, settings, cases, times, alike), *_date_notes(study))
    item = pixel_name(max((found.axes for found in described.values()), default=2))
    states = _count_states(study, cases, settings.ask or raters)
    names = Numbering.of(next(iter(tables.values())).labels).names if settings.tasks == "cvat" and tables else ()
    return NextReads(study, settings, plan, changes, item, doubt, made, notes, states, names)


@dataclass(frozen=True, eq=False)
class DescribedCase:
    """A case: how far its raters are apart, its table, what its masks show, and their axes."""

    readings: CaseReadings
    table: Tally
    review: MaskReview
    axes: int


def describe_case(case: Case) -> DescribedCase:
    """What is known of a case; first readings only."""
    reading = case.read(by_tile=True)
    table = reading.tally(judged=False)
    whole = table if table.region == "whole" else reading.tally("whole", judged=False)
    readings = describe_table(case.name, table)
    return DescribedCase(readings, table, review_reading(reading, whole), len(reading.grid.shape))


def describe_table(name: str, table: Tally) -> CaseReadings:
    """How far the raters of a case are apart, and how much they marked."""
    table = table.project([table.columns[i] for i in table.raters if (table.patterns[:, i] != VOID).any()])
    sizes = table.counts @ np.isin(table.patterns, table.labels.marks)
    # two raters who both marked nothing agree
    distances = 1 - np.nan_to_num(mean_label_dice(table), nan=1.0)
    np.fill_diagonal(distances, 0)
    return CaseReadings(name, table.rater_names, distances, float(sizes.mean()) if sizes.size else 0.0)


def _closed(study: Study) -> dict[str, set[str]]:
    """Who need not be asked again, by case: what was read and does not count, or is under way."""
    closed = defaultdict[str, set[str]](set)
    for one in study.unused:
        if one.why != "unread":
            closed[one.case].add(one.column.name)
    for case in study:
        closed[case.name] |= {column.name for column in (*case.edits, *case.masks)}
    return closed


def _count_states(study: Study, cases: Sequence[CaseReadings], raters: Sequence[str]) -> Counter[str]:
    """How many readings of these raters are done, open or neither, by state."""
    why = {(one.case, one.column.name): one.why for one in study.unused if one.why != "unread"}
    edits = {(case.name, column.name) for case in study for column in case.edits}
    states = Counter[str]()
    for case in cases:
        for rater in raters:
            at = case.name, rater
            if rater in case.raters:
                states["done"] += 1
            elif rater not in case.closed:
                states["open"] += 1
            else:
                # a mask that counts and yet has no rater rated no pixel
                states["edit" if at in edits else why.get(at, "void")] += 1
    return states


def _say_states(states: Mapping[str, int]) -> str:
    """``all 40 are done``, or ``of 40, 38 are done, 1 is unfinished and 1 is not evaluable``."""
    total, done = sum(states.values()), states.get("done", 0)
    if done == total:
        return f"all {total} are done"
    parts = [
        f"{count} {'is' if count == 1 else 'are'} {STATES[state][count > 1]}"
        for state in STATES
        if (count := states.get(state, 0))
    ]
    return f"of {total}, {', '.join(parts[:-1])}{' and ' if len(parts) > 1 else ''}{parts[-1]}"


def _raters(study: Study) -> tuple[str, ...]:
    """Raters with masks, and those who have read nothing yet."""
    more = {one.column.name for one in study.unused if one.why in NO_MASK}
    return tuple(sorted({*study.rater_names, *more}, key=natural_key))


def _read_times(study: Study) -> dict[str, list[float]]:
    """Durations of readings in minutes by rater, from the reading log."""
    times = defaultdict[str, list[float]](list)
    names = {compose_name(rater): rater for rater in _raters(study)}
    for (_, rater, _), row in read_times(study).items():
        if rater in names and row.seconds and row.status != "unfinished":
            times[names[rater]].append(row.seconds / 60)
    return times


def _date_notes(study: Study) -> Iterable[str]:
    """Dates of the reading log that cannot be right; durations do not depend on them."""
    if not study.options.reads or study.coded:
        return ()
    return find_doubtful_dates(read_dates(study.options.reads))


def _paces(raters: Iterable[str], times: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Minutes of a reading by rater: the median of their own, or of all where they have few; empty without any."""
    every = [minutes for of in times.values() for minutes in of]
    if not every:
        return {}
    usual = float(np.median(every))
    return {r: float(np.median(times[r])) if len(times.get(r, ())) >= TIMED else usual for r in raters}


def _find_changes(tables: Tallies, cases: Sequence[CaseReadings], seed: int) -> tuple[ConsensusChange, ...]:
    """What two more raters would change in the cases that most raters, at least three, have read alike."""
    counts = Counter(len(case.raters) for case in cases if len(case.raters) >= FEWEST_RATERS and case.size > 0)
    if not counts:
        return ()
    readings = max(counts, key=lambda number: (counts[number], number))
    # cases that nobody marked have no pixels that count
    chosen = [case.name for case in cases if len(case.raters) == readings]
    return change_by_more_raters(Tallies({name: tables[name] for name in chosen}, tables.subjects), seed=seed)


# -- tables and notes --------------------------------------------------------------------------------


def _readings_table(plan: ReadingPlan) -> PlainTable:
    rows = [
        (k, r.case, r.rater, r.readings, r.distance, r.gain, _or_none(r.minutes), _or_none(r.gain / r.minutes))
        for k, r in enumerate(plan.readings, start=1)
    ]
    return PlainTable("next", HEADER, rows)


def _cases_table(cases: Sequence[CaseReadings], plan: ReadingPlan) -> PlainTable:
    planned = Counter(reading.case for reading in plan.readings)
    rows = [
        (c.name, len(c.raters), c.size if c.raters else None, _or_none(c.distance), plan.distances[c.name],
         planned[c.name])
        for c in cases
    ]  # fmt: skip
    return PlainTable("cases", CASES, rows)


def _raters_table(
    cases: Sequence[CaseReadings],
    raters: Sequence[str],
    plan: ReadingPlan,
    times: Mapping[str, Sequence[float]],
    minutes: Mapping[str, float],
) -> PlainTable:
    read, planned = Counter(r for case in cases for r in case.raters), Counter(r.rater for r in plan.readings)
    rows = [(r, read[r], plan.relative_distances[r], minutes.get(r), len(times.get(r, ())), planned[r]) for r in raters]
    return PlainTable("raters", RATERS, rows)


def _changes_table(changes: Sequence[ConsensusChange]) -> Table:
    table = Table("changes", CHANGES)
    for found in changes:
        for statistic, unit in (("changed_share", 1), ("changed_items", found.n_items)):
            share = found.share
            table.append(
                Row(
                    "pooled", statistic, share.value * unit, label=found.label, low=share.low * unit,
                    high=share.high * unit, n=found.n_subjects, extra=(found.n_raters, found.more, found.n_items),
                )
            )  # fmt: skip
    return table


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _notes(
    plan: ReadingPlan,
    settings: NextReadsSettings,
    cases: Sequence[CaseReadings],
    times: Mapping[str, Sequence[float]],
    alike: bool,
) -> Iterable[str]:
    if 0 < plan.open < settings.budget:
        left = "1 reading is" if plan.open == 1 else f"{plan.open} readings are"
        yield f"the budget is {settings.budget}, and {left} open: the plan has all of them"
    elif plan.open and len(plan.readings) < settings.budget:
        yield f"--most {settings.most} leaves {len(plan.readings)} of a budget of {settings.budget} readings"
    who = settings.ask or tuple(plan.relative_distances)
    for rater, load in Counter(reading.rater for reading in plan.readings).most_common(1):
        if settings.most is None and len(who) > 1 and 2 * load > len(plan.readings) and load >= MANY:
            yield f"{rater} is asked for {load} of the {len(plan.readings)} readings; --most limits those of one rater"
    if not any(len(case.raters) > 1 for case in cases):
        yield "no case was read by two raters, so that nothing is known about distances: the order spreads readings"
    untimed = plan.open and not times
    if untimed:
        yield "the reading log has no durations: readings are ordered by gain alone, not by gain per minute"
    if alike:
        yield "raters are slots: which of them is asked makes no difference"
