"""The charts of ``progress``: who read what, agreement so far, and each rater's readings over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from ...charts.coverage import READABLE_CASES, coverage_bars, coverage_grid
from ...charts.times import TimeSeries, rater_panels, time_chart
from ...claims.claim import Claims
from ...claims.numbers import TableIndex, is_defined
from ...claims.progress import DRIFT_DISTANCE, DRIFT_SIZE, DriftFound
from ...claims.sentences import label_words
from .agreement import Panel
from .calendar import Calendar
from .coverage import Cell, Coverage
from .readings import RaterReadings

if TYPE_CHECKING:
    from .progress import StudyProgress

RANK = ("done", "empty", "edit", "not_evaluable", "unfinished", "unread", "excluded", "other_session", "missing",
        "not_asked")  # fmt: skip
"""What is drawn of a rater with several sessions: the first of these."""
WHY_LATE = {"due": "its day has passed", "skipped": "later ones are read", "waiting": "others have read the case"}
"""Why a reading is late."""
OVERLAP_TITLES = {"dice": "Dice, mean of pairs", "label_dice": "Dice over labels, mean of pairs"}
LATER_HALF = "later half"
Starts = Mapping[tuple[str, str], float]
"""Times by rater and label."""
MOST_LABELS = 3
"""Labels of which sizes are drawn over time."""


def draw_coverage(
    coverage: Coverage, calendar: Calendar, raters: Sequence[str], title: str = "Who read what"
) -> dict[str, str]:
    """Who read what, of some raters: a grid and, of many cases, bars."""
    if not coverage.cases or not raters:
        return {}
    chosen: dict[tuple[str, str], Cell] = {}
    for cell in coverage.cells:
        before = chosen.get((cell.rater, cell.case))
        if before is None or RANK.index(cell.status) < RANK.index(before.status):
            chosen[cell.rater, cell.case] = cell
    known = {rater: [_status(chosen.get((rater, case))) for case in coverage.cases] for rater in raters}
    notes = {key: _note(cell, calendar) for key, cell in chosen.items() if key[0] in known}
    charts = {}
    if len(coverage.cases) > READABLE_CASES and len(raters) > 1:
        bars = {rater: Counter(here) for rater, here in known.items()}
        charts["how-far"] = coverage_bars(bars, "How far each rater is")
    charts["coverage"] = coverage_grid(known, coverage.cases, title, notes=notes)
    return charts


def _status(cell: Cell | None) -> str:
    return "not_asked" if cell is None else "late" if cell.late else cell.status


def _note(cell: Cell, calendar: Calendar) -> str:
    key = cell.case, cell.column
    seconds = calendar.seconds.get(key)
    minutes = "" if seconds is None else f"{seconds / 60:.1f} minutes"
    return ", ".join(filter(None, (calendar.describe(key), WHY_LATE.get(cell.late, ""), minutes)))


def time_name(calendar: Calendar) -> str:
    """What times are, where they are no days."""
    return "" if calendar.source == "started" else "number of the update"


def draw_trend(trend: TableIndex, panel: Panel, calendar: Calendar, width: float) -> str:
    """Agreement of all readings up to each time; empty where there are fewer than two."""
    rows = [trend.row(f"{panel.overlap}_so_far", "mean", k, name) for k, name in enumerate(calendar.names, start=1)]
    known = [(k, row) for k, row in enumerate(rows) if is_defined(row)]
    if len(known) < 2:
        return ""
    ends = [[np.nan if end is None else float(end) for end in (row.low, row.high)] for _, row in known]
    times = [float(k) for k, _ in known]
    if calendar.source == "started" and calendar.first is not None:
        # at the end of each period, or today
        before, today = calendar.first.toordinal() - 1, calendar.today.toordinal()
        times = [float(min(before + (k + 1) * calendar.length, today)) for k, _ in known]
    return time_chart(
        times, [row.value for _, row in known], *np.transpose(ends), ylabel=OVERLAP_TITLES[panel.overlap],
        title="Agreement so far, as it moves", dated=calendar.source == "started", xlabel=time_name(calendar),
        wanted=width / 2,
    )  # fmt: skip


def draw_sizes(
    readings: Iterable[RaterReadings], calendar: Calendar, labels: Sequence[str], since: Starts
) -> dict[str, str]:
    """Sizes over those of the others over time, by label; nothing where times are not known."""
    mine, charts = list(readings), {}
    for label in labels[:MOST_LABELS] if calendar.source and mine else ():
        several = len(labels) > 1
        series = {
            one.rater: TimeSeries(
                tuple(one.times), tuple(one.ratios[label]), since.get((one.rater, label * several)), LATER_HALF
            )
            for one in mine
        }
        of = f" of {label_words(label)}" if several else ""
        charts[f"sizes-over-time{f'-{labels.index(label) + 1}' * several}"] = rater_panels(
            series, ylabel=f"size{of} over that of the others", title=f"Sizes{of} over time",
            dated=calendar.source == "started", xlabel=time_name(calendar), middle=1.0, ratio=True,
        )  # fmt: skip
    return charts


def draw_dice(readings: Iterable[RaterReadings], calendar: Calendar, panel: Panel, since: Starts) -> dict[str, str]:
    """Dice with the others over time; nothing where times are not known."""
    series = {
        one.rater: TimeSeries(tuple(one.times), tuple(one.dice), since.get((one.rater, "")), LATER_HALF)
        for one in readings
    }
    if not calendar.source or not series:
        return {}
    name = "Dice with the others" + ", mean over labels" * (panel.overlap == "label_dice")
    dated = calendar.source == "started"
    chart = rater_panels(series, ylabel=name, title="Overlap over time", dated=dated, xlabel=time_name(calendar))
    return {"dice-over-time": chart}


def draw_minutes(readings: Iterable[RaterReadings], calendar: Calendar) -> dict[str, str]:
    """How long readings took over time, of raters of whom that is known."""
    timed = [one for one in readings if np.isfinite(one.minutes).any()]
    series = {one.rater: TimeSeries(tuple(one.times), tuple(one.minutes)) for one in timed}
    if not calendar.source or not series:
        return {}
    dated = calendar.source == "started"
    chart = rater_panels(
        series, ylabel="minutes", title="Minutes per case over time", dated=dated, xlabel=time_name(calendar)
    )
    return {"minutes-over-time": chart}


def drift_starts(claims: Claims, drift: Iterable[DriftFound], calendar: Calendar, measure: str) -> Starts:
    """Where the later half of the readings of raters who are said to drift begins, by rater and label."""
    kind = DRIFT_SIZE if measure == "size" else DRIFT_DISTANCE
    made = claims.of(kind.id).made
    found = {}
    for one in drift:
        # of several labels the sentence names the one
        said = [c for c in made if c.about == one.rater and (not one.label or label_words(one.label) in c.text)]
        if one.measure == measure and said and one.split:
            dated = calendar.source == "started"
            start = date.fromisoformat(one.split).toordinal() if dated else calendar.names.index(one.split)
            found[one.rater, one.label] = float(start)
    return found


def draw_charts(progress: StudyProgress, rater: str = "") -> dict[str, str]:
    """Every chart by the name of its file; of one ``rater``, those that are about nobody else."""
    coverage, calendar, panel = progress.coverage, progress.calendar, progress.panel
    if rater:
        charts = draw_coverage(coverage, calendar, [rater], "Your readings")
    else:
        charts = draw_coverage(coverage, calendar, coverage.raters)
        if trend := draw_trend(progress.index("trend"), panel, calendar, progress.settings.dice_width):
            charts["agreement-so-far"] = trend
    if progress.study.options.exchangeable:
        return charts
    mine = [one for name, one in progress.readings.items() if rater in ("", name)]
    if len(panel.raters) > 1:
        sizes, distances = (
            drift_starts(progress.claims, progress.facts.drift, calendar, measure) for measure in ("size", "distance")
        )
        charts |= draw_sizes(mine, calendar, panel.labels, sizes) | draw_dice(mine, calendar, panel, distances)
    return charts | draw_minutes(mine, calendar)
