"""Values by case to rows: every case, every subject, mean and standard deviation over subjects, by group."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.tally import Tallies
from ..core.undefined import Undefined
from ..inference.intervals import check_resamples, mean_intervals, subject_values
from .rows import Row


@dataclass(frozen=True)
class Settings:
    """What every analysis is told: seed and size of resampling, level of intervals, scale of words."""

    seed: int = 0
    resamples: int = 2000
    level: float = 0.95
    scale: str = "landis_koch"
    without: tuple[str, ...] = ()
    jobs: int = 1

    def __post_init__(self) -> None:
        for name, least in (("seed", 0), ("resamples", 1), ("jobs", 1)):
            if getattr(self, name) < least:
                raise CallError(f"{name} is at least {least}; got {getattr(self, name)}")
        check_resamples(self.resamples)


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


def summarise(series: Sequence[Series], tallies: Tallies, settings: Settings) -> list[Row]:
    """All rows of some statistics but the pooled ones."""
    if not series:
        return []
    values = np.array([s.averaged for s in series], np.float64).T
    rows = list(_case_rows(series, tallies))
    if len(tallies.by_subject()) < len(tallies):
        rows += _subject_rows(series, tallies, values)
    rows += mean_rows(series, tallies, list(tallies), "", settings)
    for name, cases in selections(tallies, settings.without).items():
        rows += mean_rows(series, tallies, cases, name, settings)
    return rows


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
        known = ", ".join(chosen) or "none: name them in cases.csv"
        raise CallError(f"there is no group {unknown[0]!r} to leave out; groups are {known}")
    if without:
        rest = [case for case, names in tallies.groups.items() if not set(names) & set(without)]
        chosen["without " + ", ".join(without)] = rest
    return chosen


def region_of(tallies: Tallies) -> str:
    """The region that all tables share."""
    regions = {t.region for t in tallies.values()}
    return regions.pop() if len(regions) == 1 else "mixed"


def _case_rows(series: Sequence[Series], tallies: Tallies) -> Iterator[Row]:
    items = {case: table.items for case, table in tallies.items()}
    for one in series:
        for (case, table), value in zip(tallies.items(), one.values, strict=True):
            group = "; ".join(tallies.groups[case])
            yield Row("case", one.statistic, value, case, group, one.label, table.region, one.extra, n=items[case])


def _subject_rows(series: Sequence[Series], tallies: Tallies, values: NDArray[np.float64]) -> Iterator[Row]:
    region = region_of(tallies)
    by_subject = subject_values(tallies, values)
    for k, one in enumerate(series):
        for (subject, cases), value in zip(tallies.by_subject().items(), by_subject[:, k], strict=True):
            why = Undefined("undefined_for_every_case_of_subject")
            defined = why if math.isnan(value) else float(value)
            yield Row("subject", one.statistic, defined, subject, "", one.label, region, one.extra, n=len(cases))


def mean_rows(
    series: Sequence[Series], tallies: Tallies, cases: list[str], group: str, settings: Settings
) -> Iterator[Row]:
    """Mean and sample standard deviation over the subjects of some cases."""
    if not cases:
        return
    position = {case: i for i, case in enumerate(tallies)}
    values = np.array([[one.averaged[position[case]] for one in series] for case in cases], np.float64)
    by_subject = subject_values(tallies.select(cases), values)
    found = mean_intervals(by_subject, "bca", settings.resamples, settings.level, settings.seed)
    region = region_of(tallies)
    for k, (one, mean) in enumerate(zip(series, found, strict=True)):
        undefined = len(by_subject) - mean.n
        row = Row("mean", one.statistic, mean.value, "", group, one.label, region, one.extra, mean.low, mean.high)
        row.n, row.n_undefined = mean.n, undefined
        yield row
        yield replace(row, scope="std", value=_std(by_subject[:, k]), low=None, high=None)


def _std(values: NDArray[np.float64]) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.std(ddof=1)) if len(defined) > 1 else Undefined("fewer_than_two_subjects")
