"""Means over subjects with intervals for other subjects and other raters.

Rows of a statistic have intervals over subjects, with these raters; pooled rows of ``<statistic>_over_raters`` over
raters, with these subjects; rows of ``<statistic>_over_both`` over both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ...core.labels import MACRO
from ...core.tally import Tallies, Tally
from ...core.undefined import Undefined, divide
from ...inference.intervals import (
    MIN_SUBJECTS,
    BothJackknife,
    Interval,
    case_values,
    mean_over_both,
    rater_names,
    subject_values,
    values_without_raters,
)
from ...inference.scales import Scale, scale_of
from ...io.result_tables import Row
from ..label_rows import rare_label
from ..tables import Settings, region_of

Statistic = Callable[[Tally], float]
Values = NDArray[np.float64]


def over_both(name: str, statistic: Statistic, tallies: Tallies, settings: Settings) -> Iterator[Row]:
    """The mean over subjects with its interval over both; nothing with fewer than three raters, or unnamed ones."""
    if not _has_population(tallies):
        return
    values, without = _values(statistic, tallies)
    yield _row(name, mean_over_both(values, without, scale=scale_of(name), level=settings.level), "", tallies)


def macro_over_both(
    name: str, statistic: Statistic, by_label: Mapping[str, Tallies], settings: Settings
) -> Iterator[Row]:
    """The macro mean with its interval over both, from the tallies of each label against the rest.

    Without interval where fewer than ten subjects have one of the labels.
    """
    tallies = next(iter(by_label.values()))
    if not _has_population(tallies):
        return
    found = [_values(statistic, part) for part in by_label.values()]
    values, without = (np.stack(each, axis=-1) for each in zip(*found, strict=True))
    interval = _macro_interval(values, without, scale=scale_of(name), level=settings.level)
    row = _row(name, interval, MACRO, tallies)
    if interval.n >= MIN_SUBJECTS and (few := rare_label(list(by_label), values)):
        row.low = row.high = few
    yield row


def _has_population(tallies: Tallies) -> bool:
    return not any(t.exchangeable for t in tallies.values()) and len(rater_names(tallies)) > 2


def _values(statistic: Statistic, tallies: Tallies) -> tuple[Values, Values]:
    """Of each subject, and (subjects, raters) with each rater left out."""
    values = subject_values(tallies, case_values(statistic, tallies))
    return values, subject_values(tallies, values_without_raters(statistic, tallies))


def _row(name: str, i: Interval, label: str, tallies: Tallies) -> Row:
    region, subjects = region_of(tallies), len(tallies.by_subject())
    return Row("mean", f"{name}_over_both", i.value, "", "", label, region, (), i.low, i.high, i.n, subjects - i.n)


def _macro_interval(values: Values, without: Values, *, scale: Scale, level: float) -> Interval:
    """Of (subjects, labels) values, and (subjects, raters, labels): means over subjects, then over labels."""
    known = ~np.isnan(values)
    here, used = known.any(axis=1), known.any(axis=0)
    n = int(here.sum())
    values, without = values[here][:, used], without[here][:, :, used]
    value = float(_label_means(values)) if n else Undefined("undefined_for_every_subject")
    if n < MIN_SUBJECTS:
        few = Undefined("too_few_subjects", f"it is defined for {n}")
        return Interval(value, few, few, level, "jackknife", n)
    by_subject, by_rater = _label_means(values, leave_out=True), _label_means(without)
    joint = _label_means(without, leave_out=True)
    return BothJackknife(value, by_subject, by_rater, joint).interval(scale=scale, level=level, n=n)


def _label_means(values: Values, *, leave_out: bool = False) -> Values:
    """Means over subjects (the first axis), or with each subject left out, then over labels (the last)."""
    known = ~np.isnan(values)
    total, count = np.nan_to_num(values), known.astype(np.float64)
    if leave_out:
        means = divide(total.sum(axis=0) - total, count.sum(axis=0) - count)
    else:
        means = divide(total.sum(axis=0), count.sum(axis=0))
    return np.asarray(means.mean(axis=-1))
