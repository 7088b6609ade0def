"""Simulated studies for the claims about groups of raters and of cases, and how often each claim is made.

A study of raters is drawn as the tests read it: a table of the agreement of every two raters in every subject. Raters
are points around the truth of a subject; agreement falls with the distance of two points, and hard subjects spread all
of them. Seniors and juniors agree equally well with each other where the groups do not matter, where raters differ in
care whatever their group, and where each group draws in a way of its own, as with two tools.

A study of cases is a number by subject, skewed as Dice is: equal means, with the same or with unequal spread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import manytruths as mt
from manytruths.claims.groups import CASES, RATERS

from .algorithms import ClaimRate

Values = NDArray[np.float64]
ALPHA = 0.05
SUBJECTS = (10, 20, 50)
SIZES = ((4, 4), (3, 5), (5, 5), (3, 8))
"""Raters of the two groups."""
SKEWED = 0.31
"""SD of the logarithm of what is lost: a skewness of 1, as that of Dice of four readers of lung nodules (LIDC)."""
PERMUTATIONS = 499


@dataclass(frozen=True)
class GroupScenario:
    """How the raters of two groups differ; by default they are equal."""

    first: int
    second: int
    care: float = 0.0
    """SD of the logarithm of the raters' errors, in both groups."""
    apart: float = 0.0
    """How far the second group's points lie off, in standard deviations of a rater."""
    worse: float = 1.0
    """How many times larger the errors of the second group are."""


def simulate_pairs(scenario: GroupScenario, subjects: int, rng: np.random.Generator) -> Values:
    """(subjects, raters, raters) agreement."""
    s, raters = scenario, scenario.first + scenario.second
    second = np.arange(raters) >= s.first
    errors = rng.lognormal(0, s.care, raters) * np.where(second, s.worse, 1.0)
    off = np.zeros((raters, 3))
    off[second, 0] = s.apart
    hardness = rng.lognormal(-1.5, 0.5, (subjects, 1, 1))
    points = (off + rng.normal(size=(subjects, raters, 3)) * errors[:, None]) * hardness
    return np.asarray(np.exp(-np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)))


def rater_group_rate(scenario: GroupScenario, subjects: int, studies: int, *, seed: int = 0) -> float:
    """The share of studies in which one group is said to agree more."""
    rng, made = np.random.default_rng(seed), 0
    groups = range(scenario.first), range(scenario.first, scenario.first + scenario.second)
    for number in range(studies):
        pairs = simulate_pairs(scenario, subjects, rng)
        found = mt.compare_rater_groups(pairs, *groups, permutations=PERMUTATIONS, seed=number)
        made += found.p_value <= ALPHA
    return made / studies


def case_group_rate(
    sizes: tuple[int, int], spread: float, studies: int, *, lower: float = 0.0, seed: int = 0, skewed: float = SKEWED
) -> float:
    """The share of studies in which one group is said to be higher; the second spreads ``spread`` times as much."""
    rng, made, (one, two) = np.random.default_rng(seed), 0, sizes
    middle, groups = np.exp(skewed**2 / 2), (range(one), range(one, one + two))
    for number in range(studies):
        lost = rng.lognormal(0, skewed, one + two) - middle
        values = -lost * np.where(np.arange(one + two) < one, 1.0, spread)
        values[one:] -= lower
        found = mt.compare_case_groups(values, *groups, permutations=PERMUTATIONS, seed=number)
        made += found.p_value <= ALPHA and found.difference.low * found.difference.high > 0
    return made / studies


EQUAL: dict[str, dict[str, float]] = {
    "equal groups": {},
    "groups of raters who differ in care": {"care": 0.4},
    "groups with ways of their own, raters who differ in care": {"care": 0.4, "apart": 2.0},
}


def group_rates(studies: int) -> Iterator[ClaimRate]:
    """Claims about groups: where they do not differ, and where they do."""
    for subjects in SUBJECTS:
        for (first, second), (truth, how) in ((size, item) for size in SIZES for item in EQUAL.items()):
            rate = rater_group_rate(GroupScenario(first, second, **how), subjects, studies)
            yield ClaimRate(RATERS.id, truth, subjects, first + second, 1, studies, round(rate * studies))
        fewer = max(studies // 4, 50)
        rate = rater_group_rate(GroupScenario(5, 5, care=0.1, worse=1.5), subjects, fewer)
        truth = "five raters err 1.5 times as far as five others"
        yield ClaimRate(RATERS.id, truth, subjects, 10, 1, fewer, round(rate * fewer), false=False)
        for truth, spread in (("equal groups", 1.0), ("equal means, one group spreads three times as much", 3.0)):
            for sizes in ((subjects, subjects), (subjects, 2 * subjects), (2 * subjects, subjects)):
                rate = case_group_rate(sizes, spread, studies)
                yield ClaimRate(CASES.id, truth, subjects, 3, 1, studies, round(rate * studies))
        rate = case_group_rate((subjects, subjects), 1.0, fewer, lower=0.3)
        truth = "means of two groups one standard deviation apart"
        yield ClaimRate(CASES.id, truth, subjects, 3, 1, fewer, round(rate * fewer), false=False)
