"""Which readings there are, which are open, and which of these are late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

from ...core.columns import Column, closest_name, compose_name, natural_key
from ...core.errors import CallError, FormatError, few
from ...io.result_tables import PlainTable, Row, Table
from ...io.tables import read_rows
from ...ratings.planning.designs import SHARED
from ...study import Case, Study
from ...study.read_times import read_day
from .calendar import Calendar
from .case import CaseProgress

COVERAGE = ("case", "rater", "session", "status", "kind", "order", "due", "date", "period", "minutes", "late")
LATE = ("case", "rater", "why", "since", "days")
STATUSES = ("done", "empty", "unread", "unfinished", "not_evaluable", "edit", "excluded", "other_session", "missing",
            "not_asked")  # fmt: skip
"""What a reading is: as in the reading log; an edit; left out; not there, and nobody knows whether it was asked for
(``missing``); not asked for."""
READ = ("done", "empty")
OPEN = ("unread", "unfinished")
MADE = (*READ, "not_evaluable", "edit", "excluded")
"""What was done of what was asked for, whether it counts or not."""
CALIBRATION = (SHARED, "calibration")
"""Kinds of assigned readings that calibrate raters."""
DUE, SKIPPED, WAITING = "due", "skipped", "waiting"
"""Why a reading is late: its day has passed; the rater has read later ones; others read the case long ago."""


@dataclass(frozen=True)
class Planned:
    """A reading that somebody was asked for."""

    order: int | None = None
    kind: str = ""
    due: date | None = None


@dataclass(frozen=True)
class Cell:
    """A reading that is there, or is not.

    Attributes
    ----------
    case, rater, session : str
        Which one.
    status : str
        One of :data:`STATUSES`.
    planned : Planned or None
        What was asked for; None where there is no plan, or it does not have the reading.
    late : tuple of str
        Why it is late: ``due``, ``skipped``, ``waiting``; empty where it is not.
    days : int or None
        For how many days.
    since : str
        From when on: the date, or the case that the rater has read instead.
    """

    case: str
    rater: str
    session: str
    status: str
    planned: Planned | None = None
    late: str = ""
    days: int | None = None
    since: str = ""

    @property
    def column(self) -> Column:
        """Rater and session."""
        return Column(self.rater, "rater", self.session)

    @property
    def order(self) -> int | None:
        """Its place among those that the rater was asked for."""
        return None if self.planned is None else self.planned.order

    @property
    def open(self) -> bool:
        """Whether somebody was asked for it and it is not there."""
        return self.status in OPEN


@dataclass(frozen=True)
class Coverage:
    """All readings of a study.

    Attributes
    ----------
    cells : tuple of Cell
        By case and rater; a rater with several sessions has one for each.
    cases, raters : tuple of str
        All that have a cell.
    calibration : tuple of str
        Cases that calibrate raters.
    planned : bool
        Whether there is an assignment.
    notes : tuple of str
        What is odd about the assignment.
    """

    cells: tuple[Cell, ...]
    cases: tuple[str, ...]
    raters: tuple[str, ...]
    calibration: tuple[str, ...]
    planned: bool
    notes: tuple[str, ...] = field(default=())


Plan = Mapping[tuple[str, str], Planned]
"""By case and rater."""


def read_plan(path: str | Path, study: Study) -> tuple[Plan, tuple[str, ...]]:
    """An assignment as ``manytruths assign`` writes it, and what is odd about it; a column ``due`` has dates."""
    cases = {compose_name(case.name): case.name for case in study}
    cases |= {compose_name(one.case): one.case for one in study.unused if compose_name(one.case) not in cases}
    raters = {compose_name(name): name for name in known_raters(study)}
    plan: dict[tuple[str, str], Planned] = {}
    for line, row in read_rows(path, ("rater", "case")):
        order, due = row.get("order", ""), row.get("due", "")
        if order and not order.isdecimal():
            raise FormatError(f"{path}, line {line}: order is {order!r}; it is a whole number")
        day = read_day(due)
        if due and day is None:
            raise FormatError(f"{path}, line {line}: due is {due!r}; it is a date such as 2026-03-31")
        case, rater = (
            known.get(compose_name(row[key]), row[key]) for key, known in (("case", cases), ("rater", raters))
        )
        if not case or not rater:
            raise FormatError(f"{path}, line {line}: names no {'case' if not case else 'rater'}")
        if (case, rater) in plan:
            raise FormatError(f"{path}, line {line}: {rater} is asked for case {case} twice; remove one of the lines")
        plan[case, rater] = Planned(int(order) if order else None, row.get("kind", ""), day)
    notes = []
    for what, known, named in (("case", cases, {c for c, _ in plan}), ("rater", raters, {r for _, r in plan})):
        new = sorted(named - set(known.values()), key=natural_key)
        meant = [(name, closest_name(name, list(known.values()))) for name in new]
        notes += [f"{Path(path).name}: {what} {name!r} has nothing in the study; is it {close!r}?"
                  for name, close in meant if close]  # fmt: skip
        if (plain := [name for name, close in meant if not close]) and what == "rater":
            notes.append(f"{Path(path).name}: nothing was read yet by {few(plain, 6)}")
    return plan, tuple(notes)


def known_raters(study: Study, plan: Plan | None = None) -> tuple[str, ...]:
    """Raters with readings, and those who were asked for some."""
    logged = {one.column.name for one in study.unused if one.why != "rater_excluded"}
    return tuple(sorted({*study.rater_names, *logged, *(rater for _, rater in plan or ())}, key=natural_key))


def find_calibration(names: Sequence[str] | None, plan: Plan, study: Study) -> tuple[str, ...]:
    """The cases that calibrate raters: those that are named, or those that are planned as such."""
    known = {case.name for case in study} | {one.case for one in study.unused} | {case for case, _ in plan}
    if names is None:
        chosen = {case for (case, _), planned in plan.items() if planned.kind in CALIBRATION}
        return tuple(sorted(chosen, key=natural_key))
    for name in names:
        if name not in known:
            close = closest_name(name, sorted(known))
            raise CallError(f"--calibration {name}: is no case of the study{f'; is it {close}?' if close else ''}")
    return tuple(dict.fromkeys(names))


def find_cells(
    study: Study, found: Mapping[str, CaseProgress], plan: Plan, calibration: tuple[str, ...], notes: tuple[str, ...]
) -> Coverage:
    """All readings, none of which is late yet."""
    unused = {(one.case, one.column): one.why for one in study.unused if one.why != "rater_excluded"}
    raters = known_raters(study, plan)
    cases = {case.name: case for case in study}
    names = sorted({*cases, *(case for case, _ in unused), *(case for case, _ in plan)}, key=natural_key)
    others: dict[str, list[tuple[Column, str]]] = {}
    for (of, column), why in unused.items():
        others.setdefault(of, []).append((column, why))
    cells = []
    for name in names:
        case = cases.get(name)
        here = dict(_statuses(case, found.get(name)))
        here |= {column: why for column, why in others.get(name, ()) if column not in here}
        by_rater: dict[str, list[Column]] = {}
        for column in here:
            by_rater.setdefault(column.name, []).append(column)
        for rater in raters:
            planned = plan.get((name, rater))
            for column in sorted(by_rater.get(rater, ()), key=lambda c: c.order):
                status = here[column]
                if plan and planned is None and status == "unread":
                    status = "not_asked"
                cells.append(Cell(name, rater, column.session, status, planned))
            if rater not in by_rater:
                logged = bool(plan) or (case is not None and bool(case.statuses))
                status = "unread" if planned else "not_asked" if logged else "missing"
                cells.append(Cell(name, rater, "", status, planned))
    return Coverage(tuple(cells), tuple(names), raters, calibration, bool(plan), notes)


def _statuses(case: Case | None, found: CaseProgress | None) -> Iterator[tuple[Column, str]]:
    """What the masks of a case are."""
    if case is None:
        return
    marked = {} if found is None else dict(zip(found.columns, found.sizes.sum(axis=0) > 0, strict=True))
    first: set[str] = set()
    for column in sorted(case.masks, key=lambda c: c.order):
        if column in case.edits:
            yield column, "edit"
        elif column.name in first:
            yield column, "other_session"
        else:
            first.add(column.name)
            yield column, "done" if marked.get(column, True) else "empty"


# -- what is late ------------------------------------------------------------------------------------


def find_late(coverage: Coverage, calendar: Calendar, late_after: int) -> Coverage:
    """The same with what is late: by its day, by the rater's order, or since others read the case."""
    done = [cell for cell in coverage.cells if cell.status in MADE]
    farthest: dict[str, Cell] = {}
    for cell in done:
        if cell.order is not None:
            farthest[cell.rater] = max(farthest.get(cell.rater, cell), cell, key=lambda one: one.order or 0)
    first: dict[str, date] = {}
    for cell in done:
        when = calendar.dates.get((cell.case, cell.column))
        if when is not None:
            first[cell.case] = min(first.get(cell.case, when.date()), when.date())
    return Coverage(
        tuple(_late(cell, farthest.get(cell.rater), first.get(cell.case), calendar.today, late_after)
              for cell in coverage.cells),
        coverage.cases, coverage.raters, coverage.calibration, coverage.planned, coverage.notes,
    )  # fmt: skip


def _late(cell: Cell, farthest: Cell | None, first: date | None, today: date, late_after: int) -> Cell:
    if not cell.open:
        return cell
    planned, why = cell.planned, (cell.case, cell.rater, cell.session, cell.status, cell.planned)
    if planned is not None and planned.due is not None:
        # a day that was set is what counts
        days = (today - planned.due).days
        return Cell(*why, DUE, days, planned.due.isoformat()) if days > 0 else cell
    if cell.order is not None and farthest is not None and cell.order < (farthest.order or 0):
        return Cell(*why, SKIPPED, None, farthest.case)
    if first is not None and (today - first) > timedelta(days=late_after):
        return Cell(*why, WAITING, (today - first).days, first.isoformat())
    return cell


# -- tables ------------------------------------------------------------------------------------------


def coverage_table(coverage: Coverage, calendar: Calendar) -> PlainTable:
    """The table ``coverage``."""
    return PlainTable("coverage", COVERAGE, [_row(cell, calendar) for cell in coverage.cells])


def _row(cell: Cell, calendar: Calendar) -> tuple[object, ...]:
    key, planned = (cell.case, cell.column), cell.planned or Planned()
    seconds, when = calendar.seconds.get(key), calendar.dates.get(key)
    return (
        cell.case, cell.rater, cell.session, cell.status, planned.kind, planned.order,
        planned.due.isoformat() if planned.due else "", when.isoformat() if when else "",
        calendar.period_name(calendar.periods.get(key, -1)), None if seconds is None else seconds / 60, cell.late,
    )  # fmt: skip


def late_table(coverage: Coverage) -> PlainTable:
    """The table ``late``: those that are late by most days first."""
    late = sorted((cell for cell in coverage.cells if cell.late), key=lambda cell: -(cell.days or 0))
    return PlainTable("late", LATE, [(cell.case, cell.rater, cell.late, cell.since, cell.days) for cell in late])


def statuses_table(coverage: Coverage) -> Table:
    """The table ``statuses``: how many readings of each rater, and of all, have which status, and how many are late."""
    table = Table("statuses", ("rater",))
    for rater in ("", *coverage.raters):
        mine = [cell for cell in coverage.cells if rater in ("", cell.rater)]
        statuses = Counter(cell.status for cell in mine)
        numbers = {"asked": sum(statuses[status] for status in (*MADE, *OPEN))}
        numbers |= {"read": sum(statuses[status] for status in MADE), "open": sum(statuses[status] for status in OPEN)}
        numbers["late"] = sum(bool(cell.late) for cell in mine)
        numbers |= {status: statuses[status] for status in STATUSES}
        for statistic, count in numbers.items():
            table.append(Row("pooled", statistic, float(count), extra=(rater,), n=len(mine)))
    return table


def count_late(cells: Iterable[Cell]) -> Counter[str]:
    """How many readings are late, by why."""
    return Counter(cell.late for cell in cells if cell.late)
