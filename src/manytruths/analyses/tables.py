"""The tables of results: their rows, the means over subjects in them, and marks of what resampling touched."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..agreement import KAPPA_SCALES
from ..claims.sentences import counted
from ..core.errors import CallError, GridError
from ..core.tally import Tallies, Tally, pool
from ..core.undefined import Undefined
from ..inference.intervals import (
    MIN_SUBJECTS,
    Values,
    mean_intervals,
    pooled_intervals,
    proportion,
    subject_values,
    too_few_subjects,
)
from ..inference.scales import scale_of
from ..io.result_tables import CaseColumns, CaseRows, Row, Table
from ..shape.alignment import RESAMPLED
from ..shape.grid import TOLERANCE
from ..study import Case, Study
from ..study.grids import Move, find_moves, find_target

if TYPE_CHECKING:
    pass

COLUMN = "resampled"
"""The last one of tables that have no region, where anything was resampled."""
_NAMED = 5
_EXACTLY = {
    "reoriented": "reoriented",
    "padded": "padded with 0",
    "cropped": "cropped of empty margins",
    "jitter": f"less than {TOLERANCE:.1%} of a voxel off and taken as they are",
}


# -- from values by case to rows -------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """Settings of every analysis: seed, level of intervals, scale of words for kappa."""

    seed: int = 0
    level: float = 0.95
    kappa_scale: str = "landis_koch"
    exclude_group: tuple[str, ...] = ()
    jobs: int = 1
    by: tuple[str, ...] = ()
    """Columns of raters.csv and cases.csv whose groups are compared."""
    error_ratio: float | None = None
    """Error variance of sizes of raters and algorithms over that of given references, where it is known."""

    def __post_init__(self) -> None:
        for name, least in (("seed", 0), ("jobs", 1)):
            if getattr(self, name) < least:
                raise CallError(f"{name} must be at least {least}; got {getattr(self, name)}")
        if self.error_ratio is not None and not (self.error_ratio > 0 and math.isfinite(self.error_ratio)):
            raise CallError(
                "error_ratio is the error variance of a rater's or algorithm's sizes over that of the reference's, "
                f"above 0; got {self.error_ratio}"
            )
        if self.kappa_scale not in KAPPA_SCALES:
            raise CallError(f"kappa_scale must be one of {', '.join(KAPPA_SCALES)}; got {self.kappa_scale!r}")


@dataclass(frozen=True)
class Series:
    """A statistic by case, in the order of the tallies."""

    statistic: str
    values: Sequence[float]
    label: str = ""
    extra: tuple[object, ...] = ()
    counted: Sequence[float] | None = None
    """What goes into means instead, where a gap counts as something."""

    @property
    def averaged(self) -> Sequence[float]:
        """What goes into means."""
        return self.values if self.counted is None else self.counted


def summarise(series: Sequence[Series], tallies: Tallies, settings: Settings, *, by_case: bool = True) -> list[Row]:
    """All rows of some statistics but the pooled ones: cases, subjects, mean and deviation over subjects, by group.

    Without ``by_case`` there are none of single cases and subjects.
    """
    parts = summarise_many(series, tallies, settings, by_case=by_case)
    return [row for part in parts for row in (part if isinstance(part, CaseRows) else (part,))]


def summarise_many(
    series: Sequence[Series], tallies: Tallies, settings: Settings, *, by_case: bool = True
) -> list[Row | CaseRows]:
    """The same, with rows of cases as columns."""
    if not series:
        return []
    rows: list[Row | CaseRows] = []
    if by_case:
        about = _case_columns(tallies)
        rows += [CaseRows(s.statistic, s.values, about, s.label, s.extra) for s in series]
    if by_case and len(tallies.by_subject()) < len(tallies):
        rows += _subject_rows(series, tallies)
    for name, cases in ({"": list(tallies)} | selections(tallies, settings.exclude_group)).items():
        rows += mean_rows(series, tallies, cases, name, settings, failures=True)
    return rows


def _case_columns(tallies: Tallies) -> CaseColumns:
    names, tables = [group_names(tallies, case) for case in tallies], list(tallies.values())
    return CaseColumns(list(tallies), names, [t.region for t in tables], [t.items for t in tables])


def group_names(tallies: Tallies, case: str) -> str:
    """The groups of a case, as they stand in tables."""
    return "; ".join(tallies.groups[case])


def groups_of(tallies: Tallies) -> dict[str, list[str]]:
    """The cases of every group, groups as they come."""
    groups: dict[str, list[str]] = {}
    for case, names in tallies.groups.items():
        for name in names:
            groups.setdefault(name, []).append(case)
    return groups


def selections(tallies: Tallies, without: Sequence[str]) -> dict[str, list[str]]:
    """The cases of every group, and those left when the groups named are left out."""
    chosen = groups_of(tallies)
    unknown = [name for name in without if name not in chosen]
    if unknown:
        known = f"groups are {', '.join(chosen)}" if chosen else "the study has no groups; add them to cases.csv"
        raise CallError(f"there is no group {unknown[0]!r} to leave out; {known}")
    if without:
        rest = [case for case, names in tallies.groups.items() if not set(names) & set(without)]
        chosen["without " + ", ".join(without)] = rest
    return chosen


def region_of(tallies: Tallies) -> str:
    """The region that all tables share."""
    regions = {t.region for t in tallies.values()}
    return regions.pop() if len(regions) == 1 else "mixed"


def subject_word(study: Study) -> str:
    """The unit of means and intervals: patient where any is named, else case."""
    return "patient" if any(case.subject != case.name for case in study) else "case"


def _subject_rows(series: Sequence[Series], tallies: Tallies) -> Iterator[Row]:
    region = region_of(tallies)
    by_subject = subject_values(tallies, np.array([s.averaged for s in series], np.float64).T)
    for k, s in enumerate(series):
        for (subject, cases), value in zip(tallies.by_subject().items(), by_subject[:, k].tolist(), strict=True):
            defined = Undefined("undefined_for_every_case_of_subject") if math.isnan(value) else value
            yield Row("subject", s.statistic, defined, subject, "", s.label, region, s.extra, n=len(cases))


def mean_rows(
    series: Sequence[Series],
    tallies: Tallies,
    cases: list[str],
    group: str,
    settings: Settings,
    *,
    failures: bool = False,
) -> Iterator[Row]:
    """Mean and sample standard deviation over the subjects of some cases; with ``failures``, their share, too."""
    if not cases or not series:
        return
    region, here = region_of(tallies), tallies
    values = np.ascontiguousarray(np.array([s.averaged for s in series], np.float64).T)
    if len(cases) < len(tallies):
        position = {case: i for i, case in enumerate(tallies)}
        values, here = values[[position[case] for case in cases]], tallies.select(cases)
    by_subject = subject_values(here, values)
    means = mean_intervals(by_subject, [scale_of(s.statistic) for s in series], level=settings.level)
    for s, mean, each, by_case in zip(series, means, by_subject.T, values.T, strict=True):
        row = Row("mean", s.statistic, mean.value, "", group, s.label, region, s.extra, mean.low, mean.high)
        row.n, row.n_undefined = mean.n, len(each) - mean.n
        yield row
        defined = each[~np.isnan(each)]
        std = float(defined.std(ddof=1)) if len(defined) > 1 else Undefined("fewer_than_two_subjects")
        yield replace(row, scope="std", value=std, low=None, high=None)
        if failures and s.statistic == "dice":
            yield from _failure_rows(row, by_case, here, settings.level)


def _failure_rows(mean: Row, by_case: Values, tallies: Tallies, level: float) -> Iterator[Row]:
    """Where some cases have a Dice of 0, no overlap at all: how many, the share of subjects who have one, and the mean
    over the other cases.

    With few failures the interval of a mean covers too little, since a study may well hold none (docs/coverage.md).
    """
    failed, defined = by_case == 0, ~np.isnan(by_case)
    if not 0 < failed.sum() < defined.sum():
        return
    cases = replace(mean, statistic=f"{mean.statistic}_failed_cases", value=float(failed.sum()), low=None, high=None)
    yield replace(cases, n=int(defined.sum()), n_undefined=int((~defined).sum()))
    # subjects are independent, cases of one subject are not: the exact interval is that of a share of subjects
    with_failure = subject_values(tallies, np.where(defined, failed, np.nan)) > 0
    n = mean.n or 0
    few, share = too_few_subjects(n), proportion(int(with_failure.sum()), n, level)
    low, high = (few, few) if few is not None else (share.low, share.high)
    yield replace(mean, statistic=f"{mean.statistic}_failures", value=share.value, low=low, high=high)
    others = subject_values(tallies, np.where(failed, np.nan, by_case))
    rest = mean_intervals(others[:, None], scale_of(mean.statistic), level=level)[0]
    row = replace(mean, statistic=f"{mean.statistic}_without_failures", value=rest.value, low=rest.low, high=rest.high)
    yield replace(row, n=rest.n, n_undefined=len(others) - rest.n)


def pooled_rows(
    statistics: Mapping[str, Callable[[Tally], float]],
    tallies: Tallies,
    settings: Settings,
    *,
    label: str = "",
    extra: tuple[object, ...] = (),
    count_undefined: bool = False,
) -> Iterator[Row]:
    """Statistics of all cases together, with intervals over subjects, and of each group together.

    With ``count_undefined``, rows say for how many subjects the statistic is undefined when they are left out.
    """
    whole, counts = pool(tallies, mixed=True), count_undefined and len(tallies.by_subject()) >= MIN_SUBJECTS
    scales = [scale_of(name) for name in statistics]
    intervals = pooled_intervals(list(statistics.values()), tallies, scales, level=settings.level)
    for name, i in zip(statistics, intervals, strict=True):
        row = Row("pooled", name, i.value, "", "", label, whole.region, extra, i.low, i.high, whole.items)
        yield replace(row, n_undefined=i.n_undefined if counts else None)
    for group, cases in groups_of(tallies).items():
        part = pool(tallies.select(cases), mixed=True)
        for name, statistic in statistics.items():
            yield Row("group", name, statistic(part), "", group, label, part.region, extra, n=part.items)


# -- masks that lay on other grids -----------------------------------------------------------------


@dataclass(frozen=True)
class Moved:
    """What was done to the files of a study that lay on other grids."""

    cases: frozenset[str] = frozenset()
    """Those with a resampled mask."""
    notes: tuple[str, ...] = ()


NOTHING_MOVED = Moved()


def mark_resampled(study: Study, tables: Iterable[Table], *, judged: bool = False) -> Moved:
    """Mark the rows that depend on a case with a resampled mask; what was moved, and the notes that say so.

    ``judged``: predictions and given reference standards count, too. Only headers are read for it.
    """
    moves = {case.name: _moves(case, judged) for case in study}
    cases = [name for name, moved in moves.items() if any(move.done.how == "resampled" for move in moved)]
    cases += [c.name for c in study if c.counted and (c.counted.judged_resampled if judged else c.counted.resampled)]
    if cases:
        depends = _depends_on(study, frozenset(cases))
        for table in tables:
            table.mark(lambda row: RESAMPLED if depends(row) else "")
    notes = [_resampling_note(cases, len(study), judged)] if cases else []
    return Moved(frozenset(cases), (*notes, *_exact_notes([move for moved in moves.values() for move in moved])))


def mark_all(tables: Iterable[Table]) -> None:
    """Mark every row of tables that depend on all cases together."""
    for table in tables:
        table.mark(lambda row: RESAMPLED)


def marked_rows(
    rows: Iterable[Sequence[object]], header: Sequence[str], touched: Iterable[bool]
) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
    """Header and rows; where resampling touched a row, with a last column that says so of each."""
    marks = list(touched)
    if not any(marks):
        return header, rows
    return (*header, COLUMN), [(*row, "yes" if mark else "") for row, mark in zip(rows, marks, strict=True)]


def _moves(case: Case, judged: bool) -> tuple[Move, ...]:
    if case.counted is not None:
        return ()
    try:
        return tuple(find_moves(case, find_target(case), judged=judged))
    except GridError:
        return ()  # refused where it is read


def _resampling_note(cases: list[str], of: int, judged: bool) -> str:
    named = ", ".join(cases[:_NAMED]) + (f" and {len(cases) - _NAMED} more" if len(cases) > _NAMED else "")
    return (
        f"masks{' or predictions' if judged else ''} of {len(cases)} of {counted(of, 'case')} ({named}) lay on another "
        "lattice and were resampled by nearest neighbour: their edges are off by up to half a voxel, and numbers that "
        "depend on them are marked as resampled in every table"
    )


def _exact_notes(moves: Sequence[Move]) -> list[str]:
    """What was moved without changing a value; nothing where nothing was."""
    exact = [move for move in moves if move.done.how in _EXACTLY]
    if not exact:
        return []
    counts = Counter(move.done.how for move in exact)
    moved = ", ".join(f"{counts[how]} {words}" for how, words in _EXACTLY.items() if counts[how])
    what = "masks" if all(move.what == "mask" for move in exact) else "files"
    return [f"{what} on other grids: {moved}; every value is as it was (check lists them in grids.csv)"]


def _depends_on(study: Study, cases: frozenset[str]) -> Callable[[Row], bool]:
    """Whether a row depends on some cases: that of a case or subject itself, that of a group, any other on all."""
    names = {case.name for case in study}
    subjects = {case.subject for case in study if case.name in cases}
    groups = {group for case in study for group in case.groups}
    touched = {group for case in study if case.name in cases for group in case.groups}

    def depends(row: Row) -> bool:
        if row.scope == "subject":
            return row.case in subjects
        if row.case in names:
            return row.case in cases
        return row.group in touched if row.group in groups else True

    return depends
