"""Each rater's readings in the order of time: how they lie beside the others', and how long they took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...inference.drift_tests import excess_distances
from .agreement import Panel
from .calendar import Calendar

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RaterReadings:
    """The readings of a rater that count, in the order of time where that is known.

    Attributes
    ----------
    rater : str
        Whose they are.
    cases : tuple of str
        The cases.
    times : numpy.ndarray
        Days as :meth:`datetime.date.toordinal` counts them, or numbers of updates; NaN where they are not known.
    dice : numpy.ndarray
        Mean Dice with the others; NaN where nobody else read the case, or nobody marked anything.
    among : numpy.ndarray
        Mean Dice of the others with each other; NaN where that is not known.
    ratios : mapping of str to numpy.ndarray
        By label, size over the median of the others' sizes, as ratios; NaN where nobody else marked anything.
    minutes : numpy.ndarray
        How long each took; NaN where that is not known.
    """

    rater: str
    cases: tuple[str, ...]
    times: Floats
    dice: Floats
    among: Floats
    ratios: Mapping[str, Floats]
    minutes: Floats

    def farthest(self, most: int) -> tuple[int, ...]:
        """The readings that lie farther from the others than these from each other, the farthest first.

        Where only one other has read the case, as far as these usually lie from each other; of two raters, any two
        masks that differ.
        """
        known = self.among[~np.isnan(self.among)]
        usual = float(np.median(known)) if len(known) else 1.0
        excess = np.where(np.isnan(self.among), usual, self.among) - self.dice
        order = np.argsort(-excess, kind="stable")
        return tuple(int(k) for k in order if excess[k] > 0)[:most]


def rater_readings(panel: Panel, calendar: Calendar) -> dict[str, RaterReadings]:
    """The readings of every rater."""
    _, own, others = excess_distances(1 - panel.dice)
    dice, among = 1 - own, 1 - others
    ratios = {label: _size_ratios(sizes) for label, sizes in zip(panel.labels, panel.sizes, strict=True)}
    seconds: dict[tuple[str, str], float] = {}
    for (case, column), lasted in calendar.seconds.items():
        # the session that counts comes first
        seconds.setdefault((case, column.name), lasted)
    first = calendar.first.toordinal() if calendar.source == "started" and calendar.first is not None else 0
    found = {}
    for i, rater in enumerate(panel.raters):
        there = ~np.isnan(panel.sizes[:, :, i]).all(axis=0) if len(panel.labels) else np.isfinite(dice[:, i])
        mine = np.flatnonzero(there)
        mine = mine[np.argsort(panel.times[mine, i], kind="stable")]
        cases = tuple(panel.cases[k] for k in mine)
        taken = np.array([seconds.get((case, rater), np.nan) for case in cases], np.float64) / 60
        by_label = {label: values[mine, i] for label, values in ratios.items()}
        times = panel.times[mine, i] + first
        found[rater] = RaterReadings(rater, cases, times, dice[mine, i], among[mine, i], by_label, taken)
    return found


def _size_ratios(sizes: Floats) -> Floats:
    """(cases, raters) size over the median of the others' sizes, of those who marked something."""
    logs = np.log(np.where(sizes > 0, sizes, np.nan))
    ratios = np.full(sizes.shape, np.nan)
    for i in range(sizes.shape[1]):
        others = np.delete(logs, i, axis=1)
        there = ~np.isnan(others).all(axis=1) & ~np.isnan(logs[:, i])
        ratios[there, i] = np.exp(logs[there, i] - np.nanmedian(others[there], axis=1))
    return ratios
