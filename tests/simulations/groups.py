"""Simulated studies for the claims about groups of raters and of cases, and how often each claim is made.

A study of raters is drawn as the tests read it: a table of the agreement of every two raters in every subject. Raters
are points around the truth of a subject; agreement falls with the distance of two points, and hard subjects spread all
of them. Seniors and juniors agree equally well with each other where the groups do not matter, where raters differ in
care whatever their group, and where each group draws in a way of its own, as with two tools.

A study of cases is a number by subject, skewed as Dice is: equal means, with the same or with unequal spread.

The tests were chosen by their rates at the designs of :data:`EQUAL` and :data:`EQUAL_CASES`, with more skewness and
other sizes. The others confirm them, with numbers and seeds that had no part in choosing; their lines begin with
:data:`CONFIRMED`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

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
CONFIRMED = "confirmation: "
CONFIRMATION_SEED = 50_000
CONFIRMATION_SIZES = ((3, 3), (4, 6), (6, 6), (4, 9))
"""Three and three have 20 divisions and are not tested."""
FAILURE = 3.0
"""What a subject who fails loses: nine standard deviations of the others."""
SKIPPED = 0.2
"""Share of the subjects, the hardest, that one rater does not read."""


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
    careless: float = 1.0
    """How many times larger the errors of one rater are, who may be in either group."""
    larger: float = 1.0
    """How many times larger the second group's marks are, and their errors with them."""
    labels: int = 1
    """Of several, the last is absent in every second subject."""
    skips: bool = False
    """Whether one rater reads no hard cases; ``subjects`` are then those that all read."""
    unlike: float = 0.5
    """SD of the logarithm of how hard subjects are."""


def draw_raters(scenario: GroupScenario, rng: np.random.Generator) -> Values:
    """How far each rater errs."""
    raters = scenario.first + scenario.second
    second = np.arange(raters) >= scenario.first
    errors = rng.lognormal(0, scenario.care, raters) * np.where(second, scenario.worse, 1.0)
    errors[rng.integers(raters)] *= scenario.careless
    return np.asarray(errors)


def simulate_pairs(
    scenario: GroupScenario, subjects: int, rng: np.random.Generator, errors: Values | None = None
) -> Values:
    """(subjects, raters, raters) agreement, with labels behind where there are several; of new raters, or of these."""
    s, raters = scenario, scenario.first + scenario.second
    second = np.arange(raters) >= s.first
    errors = draw_raters(s, rng) if errors is None else errors
    read = subjects if not s.skips else round(subjects / (1 - SKIPPED))
    hardness = rng.lognormal(-1.5, s.unlike, (read, 1, 1))
    if s.larger != 1:
        return _interval_dice(hardness * errors[:, None], np.where(second, s.larger, 1.0), rng)
    off = np.zeros((raters, 3))
    off[second, 0] = s.apart
    parts = []
    for _ in range(s.labels):
        points = (off + rng.normal(size=(read, raters, 3)) * errors[:, None]) * hardness
        parts.append(np.exp(-np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)))
    pairs = np.stack(parts, axis=-1)
    if s.labels > 1:
        pairs[::2, ..., -1] = np.nan
    if s.skips:
        hard, rater = np.argsort(hardness[:, 0, 0])[subjects:], rng.integers(raters)
        pairs[hard, rater], pairs[hard, :, rater] = np.nan, np.nan
    return pairs if s.labels > 1 else pairs[..., 0]


def _interval_dice(errors: Values, sizes: Values, rng: np.random.Generator) -> Values:
    """Dice of marks on a line: errors of their centre and length grow with their size, so that Dice does not change."""
    spread = errors[..., 0]
    centre = 0.5 * spread * rng.normal(size=spread.shape) * sizes
    length = np.exp(0.5 * spread * rng.normal(size=spread.shape)) * sizes
    low, high = centre - length / 2, centre + length / 2
    both = np.minimum(high[:, :, None], high[:, None]) - np.maximum(low[:, :, None], low[:, None])
    return np.asarray(2 * np.maximum(both, 0) / (length[:, :, None] + length[:, None]))


def rater_group_rate(scenario: GroupScenario, subjects: int, studies: int, *, seed: int = 0) -> float:
    """The share of studies in which one group is said to agree more."""
    rng, made = np.random.default_rng(seed), 0
    groups = range(scenario.first), range(scenario.first, scenario.first + scenario.second)
    for number in range(studies):
        pairs = simulate_pairs(scenario, subjects, rng)
        found = mt.compare_rater_groups(pairs, *groups, permutations=PERMUTATIONS, seed=number)
        made += found.p_value <= ALPHA and found.difference.low * found.difference.high > 0
    return made / studies


@dataclass(frozen=True)
class CaseScenario:
    """Numbers of the subjects of two groups with equal means."""

    spread: float = 1.0
    """How many times as much the second group spreads."""
    skewed: float = SKEWED
    """SD of the logarithm of what is lost."""
    lower: float = 0.0
    """By how much the mean of the second group is lower."""
    fails: float = 0.0
    """Share of the second group's subjects that fail; the others are higher, so that the means are equal."""
    labels: int = 1
    """Of several, the last is absent in every third subject."""
    cases: int = 1
    """Cases of each subject."""
    gamma: bool = False
    """Whether what is lost has a gamma distribution, with a skewness of 1.5."""


def simulate_cases(scenario: CaseScenario, sizes: tuple[int, int], rng: np.random.Generator) -> Values:
    """(cases, labels) numbers; the cases of a subject stand together."""
    s, (one, two) = scenario, sizes
    shape = (one + two, s.cases, s.labels)
    own = (one + two, 1, 1)
    if s.gamma:
        lost = rng.gamma(16 / 9, 0.25, own) - 4 / 9
    else:
        lost = rng.lognormal(0, s.skewed, own) - np.exp(s.skewed**2 / 2)
    lost = lost + (0.2 * rng.normal(size=shape) if s.cases * s.labels > 1 else 0)
    second = (np.arange(one + two) >= one)[:, None, None]
    values = -lost * np.where(second, s.spread, 1.0) - s.lower * second
    if s.fails:
        failed = second & (rng.random(own) < s.fails)
        values = np.where(failed, -FAILURE, values + second * FAILURE * s.fails / (1 - s.fails))
    if s.labels > 1:
        values[::3, :, -1] = np.nan
    return np.asarray(values.reshape(-1, s.labels))


def case_group_rate(scenario: CaseScenario, sizes: tuple[int, int], studies: int, *, seed: int = 0) -> float:
    """The share of studies in which one group is said to be higher."""
    rng, made, (one, two) = np.random.default_rng(seed), 0, sizes
    first = one * scenario.cases
    groups = range(first), range(first, first + two * scenario.cases)
    subjects = np.repeat(np.arange(one + two), scenario.cases).tolist()
    for number in range(studies):
        values = simulate_cases(scenario, sizes, rng)
        # without an interval that excludes 0 nothing is said, whatever the permutations say
        ends = mt.compare_case_groups(values, *groups, subjects, permutations=1).difference
        if ends.low * ends.high > 0:
            found = mt.compare_case_groups(values, *groups, subjects, permutations=PERMUTATIONS, seed=number)
            made += found.p_value <= ALPHA
    return made / studies


EQUAL: dict[str, dict[str, float]] = {
    "equal groups": {},
    "groups of raters who differ in care": {"care": 0.4},
    "groups with ways of their own, raters who differ in care": {"care": 0.4, "apart": 2.0},
}
ALSO_EQUAL: dict[str, dict[str, Any]] = {
    "equal groups": {"care": 0.05},
    "groups of raters who differ much in care": {"care": 0.6},
    "groups with ways far from each other": {"care": 0.25, "apart": 3.5},
    "one careless rater, in either group": {"care": 0.1, "careless": 4.0},
    "marks of one group 1.3 times as large": {"care": 0.4, "larger": 1.3},
    "a rater who does not read the hard cases": {"care": 0.4, "skips": True},
    "three labels, of which one is in half of the subjects": {"care": 0.4, "apart": 1.5, "labels": 3},
}
EQUAL_CASES = {
    "equal groups": CaseScenario(),
    "equal means, one group spreads three times as much": CaseScenario(3.0),
    "equal means, a skewness of 2.3, one group spreads three times as much": CaseScenario(3.0, 0.6),
}
ALSO_EQUAL_CASES = {
    "equal groups, a skewness of 1.8": CaseScenario(1.0, 0.5),
    "equal means, a skewness of 1.8, one group spreads four times as much": CaseScenario(4.0, 0.5),
    "equal means, gamma distributions, one group spreads twice as much": CaseScenario(2.0, gamma=True),
    "equal means, three labels, of which one is in two thirds of the subjects": CaseScenario(2.0, labels=3),
    "equal means, two cases of each subject": CaseScenario(2.5, 0.4, cases=2),
}
FAILING = "equal means, one subject in ten fails in one group"


def group_rates(studies: int) -> Iterator[ClaimRate]:
    """Claims about groups: where they do not differ, and where they do."""
    yield from rater_rates(EQUAL, SIZES, studies)
    yield from rater_rates(ALSO_EQUAL, CONFIRMATION_SIZES, studies, CONFIRMED)
    for subjects in SUBJECTS:
        fewer = max(studies // 4, 50)
        rate = rater_group_rate(GroupScenario(5, 5, care=0.1, worse=1.5), subjects, fewer)
        truth = "five raters err 1.5 times as far as five others"
        yield ClaimRate(RATERS.id, truth, subjects, 10, 1, fewer, round(rate * fewer), false=False)
        n, half_more = subjects, 3 * subjects // 2
        for truth, scenario in EQUAL_CASES.items():
            yield from case_rates(truth, scenario, ((n, n), (n, 2 * n), (2 * n, n)), studies)
        for truth, scenario in ALSO_EQUAL_CASES.items():
            sizes = ((n, half_more), (half_more, n), (3 * n, n))
            yield from case_rates(f"{CONFIRMED}{truth}", scenario, sizes, studies, CONFIRMATION_SEED + n)
        yield from case_rates(FAILING, CaseScenario(fails=0.1), ((n, n), (2 * n, n)), studies)
        rate = case_group_rate(CaseScenario(lower=0.3), (subjects, subjects), fewer)
        truth = "means of two groups one standard deviation apart"
        yield ClaimRate(CASES.id, truth, subjects, 3, 1, fewer, round(rate * fewer), false=False)


def rater_rates(
    scenarios: Mapping[str, Mapping[str, Any]], sizes: Sequence[tuple[int, int]], studies: int, prefix: str = ""
) -> Iterator[ClaimRate]:
    """Claims about groups of raters who do not differ."""
    for subjects, (first, second), (truth, how) in product(SUBJECTS, sizes, scenarios.items()):
        scenario = GroupScenario(first, second, **how)
        rate = rater_group_rate(scenario, subjects, studies, seed=CONFIRMATION_SEED + subjects if prefix else 0)
        where = (subjects, first + second, scenario.labels)
        yield ClaimRate(RATERS.id, f"{prefix}{truth}", *where, studies, round(rate * studies))


def case_rates(
    truth: str, scenario: CaseScenario, sizes: Sequence[tuple[int, int]], studies: int, seed: int = 0
) -> Iterator[ClaimRate]:
    """Claims about groups of cases with equal means, the smaller one of so many subjects."""
    for each in sizes:
        rate = case_group_rate(scenario, each, studies, seed=seed)
        yield ClaimRate(CASES.id, truth, min(each), 3, scenario.labels, studies, round(rate * studies))
