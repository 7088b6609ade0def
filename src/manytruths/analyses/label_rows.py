"""Rows of several labels: each against the rest, and their macro mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..agreement import MacroMean, contributions, mean_over_labels
from ..core.labels import MACRO
from ..core.tally import Tallies, Tally
from ..core.undefined import Undefined
from ..inference.intervals import MIN_SUBJECTS, subject_values
from ..io.result_tables import Row
from .tables import Series, Settings, group_names, mean_rows, pooled_rows, region_of, selections

Statistic = Callable[[Tally], float]


def label_users(tallies: Tallies) -> dict[str, int]:
    """For how many subjects anybody used each label but background."""
    used: dict[str, set[str]] = {}
    for case, table in tallies.items():
        given = np.atleast_1d((table.votes[table.counts > 0] > 0).any(axis=0))
        for code in table.labels.marks:
            users = used.setdefault(table.labels.names[code], set())
            users.update([tallies.subjects[case]] if given[code] else [])
    return {name: len(subjects) for name, subjects in used.items()}


def macro_rows(by_label: Mapping[str, Sequence[Series]], tallies: Tallies, settings: Settings) -> Iterator[Row]:
    """The macro mean of every statistic that all labels have: by case and subject, and over subjects, by group.

    The mean is taken over subjects for each label, then over labels.
    """
    for series in zip(*by_label.values(), strict=True):
        first, values = series[0], np.array([s.values for s in series], np.float64).T
        for (case, table), each in zip(tallies.items(), values, strict=True):
            value, groups = _mean(each), group_names(tallies, case)
            yield Row("case", first.statistic, value, case, groups, MACRO, table.region, first.extra, n=table.items)
        if len(tallies.by_subject()) < len(tallies):
            yield from _subject_rows(first, values, tallies)
        chosen = {"": list(tallies)} | selections(tallies, settings.exclude_group)
        names = list(by_label)
        for group, cases in chosen.items():
            yield from _mean_rows(first, names, values, tallies, cases, group, settings)


def _mean(values: NDArray[np.float64]) -> float:
    return mean_over_labels(values.tolist())


def _subject_rows(series: Series, values: NDArray[np.float64], tallies: Tallies) -> Iterator[Row]:
    by_subject, region = subject_values(tallies, values), region_of(tallies)
    for (subject, cases), each in zip(tallies.by_subject().items(), by_subject, strict=True):
        yield Row("subject", series.statistic, _mean(each), subject, "", MACRO, region, series.extra, n=len(cases))


def _mean_rows(
    series: Series, labels: Sequence[str], values: NDArray[np.float64], tallies: Tallies, cases: list[str], group: str,
    settings: Settings,
) -> Iterator[Row]:  # fmt: skip
    if not cases:
        return
    position, here = {case: i for i, case in enumerate(tallies)}, tallies.select(cases)
    by_subject = subject_values(here, values[[position[case] for case in cases]])
    # one table for each subject: what is averaged is what the subject contributes
    subjects = Tallies({subject: here[own[0]] for subject, own in here.by_subject().items()})
    counted = Series(series.statistic, contributions(by_subject).tolist(), MACRO, series.extra)
    mean, std = mean_rows([counted], subjects, list(subjects), group, settings)
    mean.region = std.region = region_of(tallies)
    if few := rare_label(labels, by_subject):
        mean.low = mean.high = few
    spread = [value for value in map(_mean, by_subject) if value == value]
    if len(spread) > 1:
        std.value = float(np.std(spread, ddof=1))
    yield from (mean, std)


def rare_label(labels: Sequence[str], by_subject: NDArray[np.float64]) -> Undefined | None:
    """Why there is no interval where a label has a value for too few subjects; a label that nobody used is none."""
    counts = (~np.isnan(by_subject)).sum(axis=0).tolist()
    rare = [(n, name) for name, n in zip(labels, counts, strict=True) if 0 < n < MIN_SUBJECTS]
    return Undefined("label_of_few_subjects", f"{min(rare)[1]} has {min(rare)[0]}") if rare else None


def pooled_label_rows(
    statistics: Mapping[str, Statistic], tallies: Tallies, settings: Settings, label: str, subjects: int
) -> Iterator[Row]:
    """The pooled rows of a label that so many subjects have; without interval where they are few."""
    few = Undefined("label_of_few_subjects", f"{label} has {subjects}") if subjects < MIN_SUBJECTS else None
    yield from _without_interval(pooled_rows(statistics, tallies, settings, label=label), few)


def pooled_macro_rows(
    statistics: Mapping[str, Statistic], tallies: Tallies, settings: Settings, users: Mapping[str, int]
) -> Iterator[Row]:
    """The macro means of pooled statistics; without interval where few subjects have one of the labels."""
    rare = [(n, name) for name, n in users.items() if 0 < n < MIN_SUBJECTS]
    few = Undefined("label_of_few_subjects", f"{min(rare)[1]} has {min(rare)[0]}") if rare else None
    macro = {name: MacroMean(statistic) for name, statistic in statistics.items()}
    yield from _without_interval(pooled_rows(macro, tallies, settings, label=MACRO), few)


def _without_interval(rows: Iterator[Row], few: Undefined | None) -> Iterator[Row]:
    for row in rows:
        refused = few is not None and row.low is not None
        yield replace(row, low=few, high=few) if refused else row
