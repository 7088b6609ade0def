"""Which reading to ask for next: by how much it brings the consensus of a case nearer to the vote of all raters.

**A case.** Let d be the distance (1 − Dice) of two raters of a case. It is estimated from the pairs that read the case,
and shrunk towards what cases of its size have: a line through the logarithms of distances and sizes of all cases that
two raters read.

**More votes.** Raters who draw the same border at shifted places mark a pixel with a probability p that has the density
1 / (p (1 − p)), up to a factor: few pixels lie where the border is uncertain, many where it is all but sure. From it
follows how far the majority of m raters is from that of all R, in units of d (:func:`vote_distances`).

**A rater.** How far a rater is from others who read the same cases, relative to d of these cases, shrunk towards 1. A
reading of a rater who is nearer is worth more.

**The gain** of a reading is the fall of the distance from the vote of all raters, for one reading of the next j that
bring most each, divided by the rater's relative distance; per minute where the pace is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..ratings import Values

UNKNOWN = 0.3
"""Distance of two raters that is assumed while no case has two readings."""
NEAREST = 0.01
"""Distances below count as this one where logarithms are taken."""
FEWEST = 5
"""Cases with two readings that a line through distances and sizes needs."""
CASE_PRIOR = 2.0
"""How many readings the line is worth, beside those of the case itself."""
RATER_PRIOR = 3.0
"""How many readings it is worth that raters are alike."""


@dataclass(frozen=True, eq=False)
class CaseReadings:
    """What the readings of a case say about how far its raters agree.

    Attributes
    ----------
    name : str
        The case.
    raters : tuple of str
        Who read it, and counts for its consensus.
    distances : numpy.ndarray
        (raters, raters) 1 − Dice of every two of them.
    size : float
        Mean number of pixels that they marked.
    closed : frozenset of str
        Who need not be asked although they are not among ``raters``: whose reading is under way, not evaluable or left
        out.
    """

    name: str
    raters: tuple[str, ...] = ()
    distances: Values = field(default_factory=lambda: np.zeros((0, 0)))
    size: float = 0.0
    closed: frozenset[str] = frozenset()

    @property
    def distance(self) -> float:
        """Mean distance of two of its raters; nan with fewer than two."""
        n = len(self.raters)
        return float(self.distances.sum() / (n * (n - 1))) if n > 1 else math.nan


@dataclass(frozen=True)
class ReadingToAsk:
    """A reading to ask for.

    Attributes
    ----------
    case, rater : str
        Who should read what.
    readings : int
        How many readings the case will have before this one.
    distance : float
        Expected distance of two raters of the case.
    gain : float
        Expected fall of the distance between the consensus of the case and the vote of all raters.
    minutes : float
        How long it is expected to take; nan where nothing is known.
    """

    case: str
    rater: str
    readings: int
    distance: float
    gain: float
    minutes: float


@dataclass(frozen=True, eq=False)
class ReadingPlan:
    """Readings to ask for, in order, and what the order rests on.

    Attributes
    ----------
    readings : tuple of ReadingToAsk
        The best first.
    distances : mapping of str to float
        Expected distance of two raters, by case.
    relative_distances : mapping of str to float
        How far a rater is from others, relative to what is expected of the cases that they read; 1 is average.
    open : int
        How many readings could have been asked for.
    """

    readings: tuple[ReadingToAsk, ...]
    distances: Mapping[str, float]
    relative_distances: Mapping[str, float]
    open: int


@cache
def vote_distances(raters: int) -> tuple[float, ...]:
    """Distance of the majority of m raters from that of all, for m = 1, …, R, in units of the distance of two raters.

    A tie marks a pixel, as in ``vote:0.5``.

    Parameters
    ----------
    raters : int
        Number of all raters, R.

    Returns
    -------
    tuple of float
        For m = 1, 2, …, R; the last is 0.

    Examples
    --------
    >>> [round(value, 3) for value in vote_distances(5)]
    [0.583, 0.583, 0.25, 0.25, 0.0]
    """
    beta = [0.0, *(math.exp(math.lgamma(s) + math.lgamma(raters - s) - math.lgamma(raters)) for s in range(1, raters))]
    found = []
    for m in range(1, raters + 1):
        first, others = np.arange(m + 1)[:, None], np.arange(raters - m + 1)[None, :]
        marks = first + others
        differ = ((2 * first >= m) != (2 * marks >= raters)) & (marks > 0) & (marks < raters)
        ways = np.exp(_log_binomial(m, first) + _log_binomial(raters - m, others))
        found.append(float((differ * ways * np.array([*beta, 0.0])[marks]).sum()) / 2)
    return tuple(found)


def _log_binomial(n: int, k: NDArray[np.int64]) -> Values:
    table = np.array([math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in range(n + 1)])
    return np.asarray(table[k])


def expected_distances(cases: Sequence[CaseReadings]) -> Values:
    """Expected distance of two raters of each case.

    Parameters
    ----------
    cases : sequence of CaseReadings
        The cases of a study.

    Returns
    -------
    numpy.ndarray
        One distance for each case.
    """
    seen = np.array([case.distance for case in cases])
    known = ~np.isnan(seen)
    line = np.full(len(cases), seen[known].mean() if known.any() else UNKNOWN)
    size = np.log1p([case.size for case in cases])
    if known.sum() >= FEWEST and np.ptp(size[known]) > 0:
        terms = np.stack([np.ones(len(cases)), size], axis=1)
        fit = np.linalg.lstsq(terms[known], np.log(np.maximum(seen[known], NEAREST)), rcond=None)[0]
        # a case that nobody read has no size
        line = np.where([bool(case.raters) for case in cases], np.exp(terms @ fit), line)
    more = np.array([max(len(case.raters) - 1, 0) for case in cases])
    mixed = (CASE_PRIOR * line + more * np.where(known, seen, 0)) / (CASE_PRIOR + more)
    return np.asarray(mixed.clip(NEAREST, 1))


def relative_distances(cases: Sequence[CaseReadings], expected: Values, raters: Sequence[str]) -> dict[str, float]:
    """How far each rater is from others, relative to what is expected of the cases that they read.

    Parameters
    ----------
    cases : sequence of CaseReadings
        The cases of a study.
    expected : numpy.ndarray
        Expected distance of two raters of each.
    raters : sequence of str
        All raters.

    Returns
    -------
    dict of str to float
        1 for somebody average, and for somebody of whom nothing is known.
    """
    total = np.mean(expected) * RATER_PRIOR if len(expected) else RATER_PRIOR
    far, usual = dict.fromkeys(raters, float(total)), dict.fromkeys(raters, float(total))
    for case, distance in zip(cases, expected, strict=True):
        n = len(case.raters)
        for i, rater in enumerate(case.raters if n > 1 else ()):
            if rater in far:
                far[rater] += float(case.distances[i].sum()) / (n - 1)
                usual[rater] += float(distance)
    return {rater: far[rater] / usual[rater] for rater in raters}


def plan_readings(
    cases: Sequence[CaseReadings],
    raters: Sequence[str],
    budget: int,
    *,
    ask: Sequence[str] | None = None,
    minutes: Mapping[str, float] | None = None,
    most: int | None = None,
    alike: bool = False,
    seed: int = 0,
) -> ReadingPlan:
    """Order the readings that are still open by their expected gain.

    Parameters
    ----------
    cases : sequence of CaseReadings
        The cases of a study.
    raters : sequence of str
        All raters, whose vote is the aim.
    budget : int
        How many readings to ask for, at most.
    ask : sequence of str, optional
        Whom to ask; by default all raters.
    minutes : mapping of str to float, optional
        How long a reading takes each rater.
    most : int, optional
        The most readings that one rater is asked for.
    alike : bool
        Whether raters count as alike, as slots do which are other people in every case.
    seed : int
        Decides between readings of equal gain.

    Returns
    -------
    ReadingPlan
        The readings, best first.
    """
    asked, pace = list(raters if ask is None else ask), minutes or {}
    distances = expected_distances(cases)
    relative = dict.fromkeys(raters, 1.0) if alike else relative_distances(cases, distances, raters)
    free = np.array([[not {rater} & ({*case.raters} | case.closed) for rater in asked] for case in cases], bool)
    free = free.reshape(len(cases), len(asked))
    steps = _Steps(len(raters))
    counts = np.array([len(case.raters) for case in cases])
    # equal gains are settled by chance, and by who has fewest readings
    chance = np.random.default_rng(seed).random(len(cases))
    rate = np.array([1 / (relative[rater] * pace.get(rater, 1.0)) for rater in asked])
    load, done = np.zeros(len(asked), int), [sum(rater in case.raters for case in cases) for rater in asked]
    gains = np.array([steps.gain(m, d) for m, d in zip(counts, distances, strict=True)])
    plan, n_open = list[ReadingToAsk](), int(free.sum())
    while len(plan) < min(budget, n_open):
        usable = free & (load < most if most is not None else True)
        best = np.where(usable, rate, 0).max(axis=1, initial=0)
        if not best.any():
            break
        score = np.where(best > 0, gains * best, -np.inf)
        case = int(np.lexsort((chance, -score))[0])
        columns = [k for k in range(len(asked)) if usable[case, k] and rate[k] >= best[case] * (1 - 1e-9)]
        rater = min(columns, key=lambda k: (load[k] + done[k], load[k], k))
        name = asked[rater]
        plan.append(ReadingToAsk(
            cases[case].name, name, int(counts[case]), float(distances[case]), float(gains[case] / relative[name]),
            pace.get(name, math.nan),
        ))  # fmt: skip
        free[case, rater], load[rater], counts[case] = False, load[rater] + 1, counts[case] + 1
        gains[case] = steps.gain(int(counts[case]), float(distances[case]))
    by_case = {case.name: float(distance) for case, distance in zip(cases, distances, strict=True)}
    return ReadingPlan(tuple(plan), by_case, relative, n_open)


class _Steps:
    """What the next reading of a case brings, of a study of R raters."""

    def __init__(self, raters: int) -> None:
        far = vote_distances(raters)
        self.first = far[0]
        self.falls = [
            max((far[m - 1] - far[m + j - 1]) / j for j in range(1, raters - m + 1)) for m in range(1, raters)
        ]

    def gain(self, readings: int, distance: float) -> float:
        """The fall of the distance from the vote of all, by reading."""
        if not readings:
            return max(1 - distance * self.first, 0.0)
        return distance * self.falls[readings - 1] if readings <= len(self.falls) else 0.0
