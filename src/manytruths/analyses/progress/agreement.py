"""How far raters agree so far, how that moves, and each rater against the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.columns import natural_key
from ...core.undefined import Undefined, divide
from ...fusion.vote import mean_with_others
from ...inference.intervals import Interval, mean_intervals, means_by_subject
from ...inference.rater_tests import rater_size_tests
from ...inference.scales import Scale, scale_of
from ...io.result_tables import Row, Table
from ...ratings.planning.interval_width import SubjectsNeeded, subjects_for_width
from ...study import Study
from .calendar import Calendar
from .case import STATISTICS, CaseProgress

Floats = NDArray[np.float64]

TREND = ("period", "name")
CALIBRATION_GROUP = "calibration"


@dataclass(frozen=True, eq=False)
class Panel:
    """The readings of all cases as arrays; NaN where there is none.

    Attributes
    ----------
    cases, subjects : tuple of str
        The cases, and the subject of each.
    raters, labels : tuple of str
        Raters, and labels but background.
    dice, same : numpy.ndarray
        (cases, raters, raters) as :class:`CaseProgress` has them.
    sizes : numpy.ndarray
        (labels, cases, raters) marked pixels.
    times : numpy.ndarray
        (cases, raters) when each read it, as the calendar has it.
    periods : numpy.ndarray
        (cases, raters) the period; −1 where that is not known.
    statistics : mapping of str to numpy.ndarray
        Of every case: kappa and alpha.
    region : str
        What was counted.
    """

    cases: tuple[str, ...]
    subjects: tuple[str, ...]
    raters: tuple[str, ...]
    labels: tuple[str, ...]
    dice: Floats
    same: Floats
    sizes: Floats
    times: Floats
    periods: NDArray[np.intp]
    statistics: Mapping[str, Floats]
    region: str

    @property
    def reads(self) -> NDArray[np.bool_]:
        """(cases, raters) whether there is a reading."""
        # of a study without labels, nobody marked anything, and nothing is compared
        return ~np.isnan(self.sizes[0]) if len(self.sizes) else np.zeros(self.times.shape, bool)

    @property
    def overlap(self) -> str:
        """The name of the Dice that is used: of several labels, it is a mean over those that either of two gave."""
        return "label_dice" if len(self.labels) > 1 else "dice"

    def by_case(self, dice: Floats | None = None) -> Floats:
        """(cases) mean Dice over pairs of raters."""
        each = self.dice if dice is None else dice
        upper = each[:, *np.triu_indices(each.shape[1], 1)]
        known = ~np.isnan(upper)
        return divide(np.where(known, upper, 0).sum(axis=1), known.sum(axis=1))


def gather(study: Study, found: Mapping[str, CaseProgress], calendar: Calendar) -> Panel:
    """All cases as arrays."""
    cases = tuple(found)
    raters = study.rater_names
    place = {name: i for i, name in enumerate(raters)}
    labels = sorted({label for one in found.values() for label in one.labels}, key=natural_key)
    shape = (len(cases), len(raters))
    dice, same = np.full((2, *shape, len(raters)), np.nan)
    sizes, times = np.full((len(labels), *shape), np.nan), np.full(shape, np.nan)
    periods = np.full(shape, -1)
    for k, (name, one) in enumerate(found.items()):
        at = [place[column.name] for column in one.columns]
        pairs = np.ix_(at, at)
        dice[k][pairs], same[k][pairs] = one.dice, one.same
        sizes[:, k, at] = 0
        for row, label in zip(one.sizes, one.labels, strict=True):
            sizes[labels.index(label), k, at] = row
        for i, column in zip(at, one.columns, strict=True):
            times[k, i] = calendar.times.get((name, column), math.nan)
            periods[k, i] = calendar.periods.get((name, column), -1)
    values = {name: np.array([one.statistics[name] for one in found.values()], np.float64) for name in STATISTICS}
    regions = {one.region for one in found.values()}
    subjects = tuple(study[name].subject for name in cases)
    return Panel(cases, subjects, raters, tuple(labels), dice, same, sizes, times, periods, values,
                 next(iter(regions)) if len(regions) == 1 else "mixed")  # fmt: skip


def scale(statistic: str) -> Scale:
    """The scale of a statistic of these tables."""
    return scale_of("dice" if statistic == "label_dice" else statistic)


# -- so far, and how it moves ------------------------------------------------------------------------


def agreement_table(panel: Panel, calibration: Sequence[str], level: float) -> Table:
    """The table ``agreement``: means over subjects with intervals, of all cases and of those that calibrate."""
    table = Table("agreement", ())
    chosen = {"": np.ones(len(panel.cases), bool)}
    if calibration:
        chosen[CALIBRATION_GROUP] = np.isin(panel.cases, list(calibration))
    for group, here in chosen.items():
        for name, values in {panel.overlap: panel.by_case(), **panel.statistics}.items():
            table.append(_mean_row(panel, name, np.where(here, values, np.nan), level, here=here, group=group))
    return table


def _mean_row(
    panel: Panel, statistic: str, values: Floats, level: float, *, here: NDArray[np.bool_], group: str = "",
    extra: tuple[object, ...] = (), label: str = "", name: str = "",
) -> Row:  # fmt: skip
    """The mean over subjects of values of cases, of those that are ``here``."""
    subjects = [subject for subject, there in zip(panel.subjects, here, strict=True) if there]
    each = means_by_subject(subjects, values[here]) if subjects else np.zeros(0)
    found = mean_intervals(each[:, None], scale(statistic), level=level)[0]
    return _interval_row(found, name or statistic, len(each), group, extra, label, panel.region)


def _interval_row(
    found: Interval, statistic: str, n: int, group: str, extra: tuple[object, ...], label: str, region: str
) -> Row:
    return Row(
        "mean", statistic, found.value, group=group, label=label, region=region, extra=extra, low=found.low,
        high=found.high, n=found.n, n_undefined=n - found.n,
    )  # fmt: skip


def trend_table(panel: Panel, calendar: Calendar, level: float) -> Table:
    """The table ``trend``: readings and Dice of every period, and of all up to its end.

    A pair of readings belongs to the period in which the later of the two was made.
    """
    table = Table("trend", TREND)
    if not calendar.names or not len(panel.cases):
        return table
    known = panel.periods >= 0
    later = np.where(
        known[:, :, None] & known[:, None, :], np.maximum(panel.periods[:, :, None], panel.periods[:, None, :]), -1
    )
    for period, name in enumerate(calendar.names):
        extra = (period + 1, name)
        count = float(np.count_nonzero(panel.periods == period))
        table.append(Row("pooled", "readings", count, region=panel.region, extra=extra))
        for statistic, inside in (("", later == period), ("_so_far", (later >= 0) & (later <= period))):
            values = panel.by_case(np.where(inside, panel.dice, np.nan))
            here = inside[:, *np.triu_indices(inside.shape[1], 1)].any(axis=1)
            row = _mean_row(
                panel,
                panel.overlap,
                values,
                level,
                here=np.asarray(here),
                extra=extra,
                name=f"{panel.overlap}{statistic}",
            )
            table.append(row)
    return table


# -- each rater --------------------------------------------------------------------------------------


def comparison_table(panel: Panel, calibration: Sequence[str], level: float) -> Table:
    """The table ``comparison``: each rater's Dice with the others and size over theirs, of all and calibration cases.

    Cases of which nobody else has a mask do not count.
    """
    table = Table("comparison", ("rater",))
    groups = {"": np.ones(len(panel.cases), bool)}
    if calibration:
        groups[CALIBRATION_GROUP] = np.isin(panel.cases, list(calibration))
    with_others = np.stack([mean_with_others(each) for each in panel.dice]) if len(panel.cases) else panel.times
    shared = panel.reads & (panel.reads.sum(axis=1, keepdims=True) > 1)
    for group, chosen in groups.items():
        sizes = _sizes(panel, chosen, level)
        for i, rater in enumerate(panel.raters):
            here = shared[:, i] & chosen
            table.append(Row("pooled", "shared_cases", float(here.sum()), group=group, region=panel.region,
                             extra=(rater,)))  # fmt: skip
            table.append(
                _mean_row(panel, panel.overlap, with_others[:, i], level, here=here, group=group, extra=(rater,))
            )
            for row in sizes:
                table.add([row(i, rater, group)])
    return table


def _sizes(panel: Panel, chosen: NDArray[np.bool_], level: float) -> list[Callable[[int, str, str], Row]]:
    """Rows of relative sizes by label, made for a rater."""
    if not chosen.any() or not len(panel.labels) or len(panel.raters) < 2:
        return []
    subjects = [subject for subject, there in zip(panel.subjects, chosen, strict=True) if there]
    tests = rater_size_tests(panel.sizes[:, chosen], subjects, level=level)

    def row_of(label: int) -> Callable[[int, str, str], Row]:
        def row(i: int, rater: str, group: str) -> Row:
            value, low, high = (
                float(each[label, i]) for each in (tests.relative_size, tests.relative_low, tests.relative_high)
            )
            n = int(tests.relative_n[label, i])
            few = Undefined("too_few_subjects", f"there are {n}")
            return Row(
                "mean", "relative_size", Undefined("others_empty") if math.isnan(value) else value, group=group,
                label=panel.labels[label] if len(panel.labels) > 1 else "", region=panel.region, extra=(rater,),
                low=few if math.isnan(low) else low, high=few if math.isnan(high) else high, n=n,
            )  # fmt: skip

        return row

    return [row_of(label) for label in range(len(panel.labels))]


def width_table(panel: Panel, width: float, level: float) -> tuple[Table, dict[str, SubjectsNeeded]]:
    """The table ``width``: subjects that intervals of the wanted width need, and further ones of these."""
    table, needed = Table("width", ("wanted_width",)), dict[str, SubjectsNeeded]()
    for name, values in {panel.overlap: panel.by_case(), **panel.statistics}.items():
        each = means_by_subject(panel.subjects, values) if panel.subjects else np.zeros(0)
        found = subjects_for_width(each, width, scale(name), level)
        if found is None:
            continue
        needed[name] = found
        for statistic, row in _width_rows(found):
            table.append(Row("mean", f"{name}_{statistic}", row[0], region=panel.region, extra=(width,), low=row[1],
                             high=row[2], n=found.so_far))  # fmt: skip
    return table, needed


def _width_rows(found: SubjectsNeeded) -> Iterator[tuple[str, tuple[float, float | None, float | None]]]:
    yield "width", (found.width, None, None)
    numbers = (found.subjects, found.low, found.high)
    yield "subjects_needed", tuple(map(float, numbers))  # type: ignore[misc]
    yield "more_subjects", tuple(float(max(0, number - found.so_far)) for number in numbers)  # type: ignore[misc]
