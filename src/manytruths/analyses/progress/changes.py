"""What changes while a study runs: raters who drift, copies, and since when masks of a rater are odd."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations
from statistics import median

import numpy as np
from numpy.typing import NDArray

from ...claims.progress import DRIFT_STATISTICS, CopyFound, DriftFound, OnsetFound, RenamedFound
from ...core.undefined import Undefined
from ...inference.drift_tests import (
    MOST_RATERS,
    Drift,
    Readings,
    choose_looks,
    distance_drift,
    excess_distances,
    log_ratios_to_others,
    size_drift,
)
from ...inference.intervals import means_by_subject
from ...inference.onsets import Onset, find_onset
from ...io.result_tables import Row, Table
from ...raters.dependence import COPY
from ...study import Study
from ...study.suspicions import Suspicion
from .agreement import Panel
from .calendar import Calendar
from .case import CaseProgress

Floats = NDArray[np.float64]
DRIFT = ("rater", "measure")
ONSETS = ("kind", "rater", "change", "after_reading", "from_reading")
EASY = 0.9
"""Median share of the same labels among the other pairs from which on two equal masks are no sign of a copy."""
FEWEST = 3
"""Masks from which on something is said to have begun, or two raters to copy."""
SURE = 0.01
"""Of an onset, and of so many copies by chance."""


# -- drift -------------------------------------------------------------------------------------------


def readings_of(panel: Panel, study: Study, left_out: Collection[tuple[str, str]] = ()) -> Readings:
    """The readings of every subject, over the subject's cases; ``left_out`` are cases and raters that do not count."""
    subjects = panel.subjects
    gone = np.array([[(case, rater) in left_out for rater in panel.raters] for case in panel.cases])
    dice = np.where(gone[:, :, None] | gone[:, None, :], np.nan, panel.dice)
    sizes = np.zeros((len(panel.labels), len(set(subjects)), len(panel.raters)))
    for label, each in enumerate(panel.sizes):
        sizes[label] = _sum_by_subject(subjects, np.where(gone, np.nan, each))
    known = ~np.isnan(panel.times)
    looks = _last_by_subject(subjects, np.where(known, panel.periods, -1))
    named = {subject: study[case].groups for subject, case in zip(subjects, panel.cases, strict=True)}
    numbers = {groups: k for k, groups in enumerate(dict.fromkeys(named.values()))}
    groups = np.array([numbers[named[subject]] for subject in dict.fromkeys(subjects)], np.intp)
    # groups of their own for most subjects, such as names of files, would leave nothing to test
    groups = groups if 3 * len(numbers) <= len(named) else np.zeros(len(named), np.intp)
    return Readings(sizes, 1 - means_by_subject(subjects, dice), means_by_subject(subjects, panel.times), looks, groups)


def _sum_by_subject(subjects: Sequence[str], values: Floats) -> Floats:
    """A subject's sizes added over the cases that all of its raters read; by case where each is a subject."""
    if len(set(subjects)) == len(subjects):
        return values
    owner = {subject: k for k, subject in enumerate(dict.fromkeys(subjects))}
    sums = np.zeros((len(owner), values.shape[1]))
    where = np.array([owner[subject] for subject in subjects])
    there = ~np.isnan(values)
    for k in range(len(owner)):
        mine = where == k
        raters = there[mine].any(axis=0)
        common = there[mine][:, raters].all(axis=1)
        sums[k] = np.where(raters & common.any(), np.nansum(np.where(common[:, None], values[mine], 0), axis=0), np.nan)
    return sums


def _last_by_subject(subjects: Sequence[str], periods: NDArray[np.intp]) -> NDArray[np.intp]:
    owner = {subject: k for k, subject in enumerate(dict.fromkeys(subjects))}
    last = np.full((len(owner), periods.shape[1]), -1)
    np.maximum.at(last, [owner[subject] for subject in subjects], periods)
    return last


@dataclass(frozen=True, eq=False)
class Drifts:
    """What was found of drift, the periods at whose ends was looked, and subjects that three raters or more read."""

    found: tuple[DriftFound, ...]
    table: Table
    periods: tuple[int, ...]
    subjects: int


def find_drift(panel: Panel, study: Study, calendar: Calendar, left_out: Collection[tuple[str, str]] = ()) -> Drifts:
    """Test every rater for drift."""
    table = Table("drift", DRIFT)
    if study.options.exchangeable or not calendar.source or not 3 <= len(panel.raters) <= MOST_RATERS:
        return Drifts((), table, (), 0)
    readings = readings_of(panel, study, left_out)
    periods = choose_looks(readings, calendar.over)
    counted = readings.until(calendar.over).count()
    found: list[DriftFound] = []
    for measure, drift in (("size", size_drift(readings, periods)), ("distance", distance_drift(readings, periods))):
        labels = panel.labels if measure == "size" else ("",)
        for label, name in enumerate(labels):
            for i, rater in enumerate(panel.raters):
                names = (rater, name if len(panel.labels) > 1 else "")
                found.append(_drift_of(readings, drift, label, i, measure, names, calendar))
                table.add(_drift_rows(found[-1], panel.region))
    return Drifts(tuple(found), table, periods, counted)


def _drift_of(
    readings: Readings, drift: Drift, label: int, i: int, measure: str, names: tuple[str, str], calendar: Calendar
) -> DriftFound:
    """The test of a rater, and the means over the earlier and the later half of the readings."""
    if measure == "size":
        values = log_ratios_to_others(readings.sizes[label])[:, i]
    else:
        values = excess_distances(readings.distances)[0][:, i]
    times = readings.times[:, i]
    known = ~(np.isnan(values) | np.isnan(times))
    order = np.argsort(times[known], kind="stable")
    series, when = values[known][order], times[known][order]
    half = len(series) // 2
    # readings of one time are not parted
    while 0 < half < len(series) and when[half] == when[half - 1]:
        half += 1
    means = [float(part.mean()) if len(part) else math.nan for part in (series[:half], series[half:])]
    if measure == "size":
        means = [math.exp(mean) for mean in means]
    return DriftFound(
        *names, measure, float(drift.p_value[label, i]), int(drift.sign[label, i]), int(drift.n[label, i]),
        float(drift.correlation[label, i]), calendar.period_end(int(drift.look[label, i])),
        _name_time(calendar, float(when[half])) if half < len(series) else "",
        (means[0], means[1]), (half, len(series) - half),
    )  # fmt: skip


def _name_time(calendar: Calendar, time: float) -> str:
    """A time of the calendar in words: a date, or the name of the update."""
    if calendar.source == "started" and calendar.first is not None:
        return (calendar.first + timedelta(days=math.floor(time))).isoformat()
    return calendar.period_name(int(time))


def _drift_rows(one: DriftFound, region: str) -> Iterator[Row]:
    few, extra = Undefined("too_few_subjects_to_test", f"there are {one.n}"), (one.rater, one.measure)
    for group, value, n in zip(("earlier", "later"), one.halves, one.counts, strict=True):
        shown = Undefined("others_empty") if math.isnan(value) else value
        yield Row("mean", DRIFT_STATISTICS[one.measure], shown, "", group, one.label, region, extra, n=n)
    for statistic, value in (("time_correlation", one.correlation), ("p_value", one.p_value)):
        yield Row("mean", statistic, few if math.isnan(value) else value, "", "", one.label, region, extra, n=one.n)


# -- since when --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Series:
    """The readings of a rater, or of two, in the order of time."""

    cases: tuple[str, ...]
    times: tuple[float, ...]


def find_onsets(
    panel: Panel,
    suspicions: Sequence[Suspicion],
    copies: Sequence[CopyFound],
    renamed: Sequence[RenamedFound],
    calendar: Calendar,
) -> tuple[tuple[OnsetFound, ...], Table]:
    """Since when masks of a rater are odd, or two raters equal; a change must be beyond chance."""
    marked: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for one in suspicions:
        if one.case and len(one.columns) == 1:
            change = one.change if one.kind == "other_labels" else ""
            marked[one.kind, one.raters[0], change].add(one.case)
    for other in renamed:
        marked["renamed", other.rater, other.change] |= set(other.cases)
    found = []
    for (kind, rater, change), cases in marked.items():
        series = _series(panel, (panel.raters.index(rater),))
        if (onset := _onset(series, cases)) is not None:
            found.append(_name_onset(kind, (rater,), change, series, onset, calendar))
    for copy in copies:
        series = _series(panel, tuple(panel.raters.index(rater) for rater in copy.raters))
        if (onset := _onset(series, set(copy.cases))) is not None:
            found.append(_name_onset("copies", copy.raters, "", series, onset, calendar))
    return tuple(found), _onsets_table(found)


def _series(panel: Panel, raters: tuple[int, ...]) -> _Series:
    """Readings by the time of the last of the raters; cases that not all of them read are left out."""
    times = panel.times[:, raters].max(axis=1)
    order = [k for k in np.argsort(times, kind="stable").tolist() if not math.isnan(times[k])]
    return _Series(tuple(panel.cases[k] for k in order), tuple(float(times[k]) for k in order))


def _onset(series: _Series, cases: set[str]) -> Onset | None:
    flags = [case in cases for case in series.cases]
    if sum(flags) < FEWEST:
        return None
    onset = find_onset(flags, series.times)
    return onset if onset is not None and onset.p_value <= SURE else None


def _name_onset(
    kind: str, raters: tuple[str, ...], change: str, series: _Series, onset: Onset, calendar: Calendar
) -> OnsetFound:
    after, start = (_name_time(calendar, series.times[k]) for k in (onset.first - 1, onset.last))
    return OnsetFound(
        kind, raters, change, after, start, (onset.marked_before, onset.before), (onset.marked_after, onset.after),
        onset.p_value,
    )  # fmt: skip


def _onsets_table(found: Sequence[OnsetFound]) -> Table:
    table = Table("onsets", ONSETS)
    for one in found:
        extra = (one.kind, " and ".join(one.raters), one.change, one.after, one.start)
        for group, (count, n) in (("before", one.before), ("after", one.later)):
            table.append(Row("pooled", "marked", float(count), group=group, extra=extra, n=n))
        table.append(Row("pooled", "p_value", one.p_value, extra=extra, n=one.before[1] + one.later[1]))
    return table


# -- copies ------------------------------------------------------------------------------------------


def find_copies(panel: Panel, study: Study) -> tuple[tuple[CopyFound, ...], Table]:
    """Pairs of raters whose masks are nearly the same far more often than those of other pairs.

    A mask counts where both gave the same label to more than 98% of the pixels where either gave another label than the
    most frequent one, and the other pairs of the case are not nearly as much alike; or to all, as no other pair.
    """
    table = Table("copies", ("rater_a", "rater_b"))
    raters = panel.raters
    if study.options.exchangeable or len(raters) < 3:
        return (), table
    edited = {
        (case.name, frozenset((column.name, edit.parent.name))) for case in study for column, edit in case.edits.items()
    }
    pairs = list(combinations(range(len(raters)), 2))
    same = panel.same[:, *np.triu_indices(len(raters), 1)]
    alike = same > COPY
    for k in np.flatnonzero(alike.any(axis=1)).tolist():
        for p in np.flatnonzero(alike[k]).tolist():
            others = np.delete(same[k], p)
            others = others[~np.isnan(others)]
            names = frozenset(raters[i] for i in pairs[p])
            if not len(others) or (panel.cases[k], names) in edited:
                alike[k, p] = False
            elif median(others.tolist()) >= EASY:
                # an easy case: only those that are equal in every pixel, as no others are
                alike[k, p] = same[k, p] == 1 and others.max() < 1
    both = ~np.isnan(same)
    found = []
    for p, (i, j) in enumerate(pairs):
        count, n = int(alike[:, p].sum()), int(both[:, p].sum())
        rest, of = int(np.delete(alike, p, axis=1).sum()), int(np.delete(both, p, axis=1).sum())
        # one more than there are, so that none among few is no proof
        chance = _at_least(count, n, (rest + 1) / (of + 2)) * len(pairs)
        if count < FEWEST or chance > SURE:
            continue
        cases = tuple(np.array(panel.cases)[alike[:, p]].tolist())
        later = [_later(panel, k, i, j) for k in np.flatnonzero(alike[:, p]).tolist()]
        who = raters[i] if all(x == i for x in later) else raters[j] if all(x == j for x in later) else ""
        found.append(CopyFound((raters[i], raters[j]), cases, n, who, (rest, of)))
        table.append(Row("pooled", "nearly_equal_masks", float(count), extra=(raters[i], raters[j]), n=n))
        table.append(
            Row("pooled", "nearly_equal_masks_of_other_pairs", float(rest), extra=(raters[i], raters[j]), n=of)
        )
    return tuple(found), table


def _later(panel: Panel, k: int, i: int, j: int) -> int:
    """Whose reading of a case began later; −1 where that is not known."""
    first, second = panel.times[k, i], panel.times[k, j]
    return i if first > second else j if second > first else -1


def _at_least(count: int, n: int, share: float) -> float:
    """The chance of so many or more of n."""
    from scipy.special import bdtrc

    return 1.0 if count == 0 else float(bdtrc(count - 1, n, share))


def odd_masks(
    suspicions: Sequence[Suspicion], copies: Sequence[CopyFound], renamed: Sequence[RenamedFound]
) -> frozenset[tuple[str, str]]:
    """Cases and raters whose masks tell nothing of drift: those of a mistake, and one of two that are nearly equal."""
    odd = {(one.case, rater) for one in suspicions if one.case and one.broken for rater in one.raters}
    odd |= {(case, one.rater) for one in renamed for case in one.cases}
    odd |= {(case, one.later or one.raters[1]) for one in copies for case in one.cases}
    return frozenset(odd)


# -- labels ------------------------------------------------------------------------------------------


def find_label_changes(panel: Panel, found: Mapping[str, CaseProgress]) -> tuple[tuple[RenamedFound, ...], Table]:
    """Raters who give a label of their own in place of another one."""
    table = Table("renamed", ("rater", "label_given", "label_of_others"))
    cases: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, one in found.items():
        for each in one.renamed:
            cases[each].append(name)
    read = dict(zip(panel.raters, panel.reads.sum(axis=0).tolist(), strict=True))
    renamed = [RenamedFound(*key, tuple(of), read[key[0]]) for key, of in cases.items() if len(of) >= FEWEST]
    for change in renamed:
        extra = (change.rater, change.own, change.theirs)
        table.append(Row("pooled", "renamed_masks", float(len(change.cases)), extra=extra, n=change.of))
    return tuple(renamed), table
