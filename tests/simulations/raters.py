"""Simulated studies for the claims about raters, and how often each claim is made.

A study is drawn as what the tests read: sizes and distances of raters by subject. Raters are points around the truth of
a subject; the distance of two raters grows with that of their points, and hard subjects spread all of them. The size of
a mask is lognormal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import manytruths as mt
from manytruths.claims.claim import Claim, settle_claims
from manytruths.claims.raters import CLUSTERS, LARGER, OUTLIER, SMALLER

Values = NDArray[np.float64]
KINDS = tuple(kind.id for kind in (LARGER, SMALLER, OUTLIER, CLUSTERS))


@dataclass(frozen=True)
class RaterScenario:
    """How the raters of a study differ; by default they are equal."""

    raters: int
    subjects: int
    factor: float = 1.0
    """The first rater draws so many times larger."""
    outlier: float = 0.0
    """How far the first rater's points lie off, in standard deviations of a rater."""
    schools: float = 0.0
    """How far the points of every second rater lie off."""
    noise: float = 0.2
    """Standard deviation of a rater's log size."""
    labels: int = 1
    heavy: bool = False
    """Whether errors have heavy tails (Student's t with 3 degrees of freedom)."""


@dataclass(frozen=True)
class SimulatedStudy:
    """(labels, subjects, raters) sizes and (subjects, raters, raters) distances."""

    sizes: Values
    distances: Values


def simulate_study(scenario: RaterScenario, rng: np.random.Generator) -> SimulatedStudy:
    """One study."""
    s, shape = scenario, (scenario.labels, scenario.subjects, scenario.raters)
    log_sizes = rng.normal(7, 1, (s.labels, s.subjects, 1)) + s.noise * _errors(s, rng, shape)
    log_sizes[..., 0] += np.log(s.factor)
    off = np.zeros((s.raters, 3))
    off[0, 0] = s.outlier
    off[1::2, 1] += s.schools
    hardness = rng.lognormal(-1.5, 0.5, (s.subjects, 1, 1))
    points = (off + _errors(s, rng, (s.subjects, s.raters, 3))) * hardness
    apart = np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)
    return SimulatedStudy(np.exp(log_sizes), 1 - np.exp(-apart))


def _errors(scenario: RaterScenario, rng: np.random.Generator, shape: tuple[int, ...]) -> Values:
    return rng.standard_t(3, shape) / np.sqrt(3) if scenario.heavy else rng.normal(size=shape)


def claimed_raters(
    study: SimulatedStudy, *, permutations: int = 199, seed: int = 0, primary: str = ""
) -> dict[str, list[int]]:
    """Of whom each claim is made, by their position; of groups, the second group."""
    return _named(study_claims(study, permutations=permutations, seed=seed), primary)


def study_claims(study: SimulatedStudy, *, permutations: int = 199, seed: int = 0) -> list[Claim]:
    """What is considered about every rater, with its p value."""
    sizes = mt.rater_size_tests(study.sizes)
    outliers = mt.rater_outlier_test(study.distances, permutations=permutations, seed=seed)
    groups = mt.rater_group_test(study.distances, permutations=permutations, seed=seed)
    p_values = {
        LARGER: sizes.larger.min(axis=0),
        SMALLER: sizes.smaller.min(axis=0),
        OUTLIER: outliers.p_value,
        CLUSTERS: np.where(groups.group == 1, groups.p_value, np.nan),
    }
    claims = [Claim(kind, (), str(i), p_value=float(p)) for kind, of in p_values.items() for i, p in enumerate(of)]
    return [claim for claim in claims if not np.isnan(claim.p_value)]


def _named(claims: list[Claim], primary: str) -> dict[str, list[int]]:
    made = settle_claims(claims, primary=primary).made
    return {kind: [int(claim.about) for claim in made.of(kind)] for kind in KINDS}


def claim_rates(
    scenario: RaterScenario, studies: int, *, seed: int = 0, permutations: int = 199
) -> dict[tuple[str, bool], float]:
    """The share of simulated studies in which each claim is made of anybody: as one of all, and as the primary one."""
    made: dict[tuple[str, bool], int] = {}
    for claims in _claims_of_studies(scenario, studies, seed, permutations):
        together = _named(claims, "")
        for kind in KINDS:
            alone = bool(_named(claims, kind)[kind])
            for primary, named in ((False, bool(together[kind])), (True, alone)):
                made[kind, primary] = made.get((kind, primary), 0) + named
    return {which: count / studies for which, count in made.items()}


def right_and_wrong(
    scenario: RaterScenario, kind: str, right: list[int], studies: int, *, seed: int = 0, permutations: int = 199
) -> tuple[float, float]:
    """The share of studies in which a claim is made of exactly those of whom it is true, and of anybody else."""
    made = [_named(claims, "")[kind] for claims in _claims_of_studies(scenario, studies, seed, permutations)]
    wrong = sum(bool(set(named) - set(right)) for named in made)
    return sum(named == right for named in made) / studies, wrong / studies


def _claims_of_studies(scenario: RaterScenario, studies: int, seed: int, permutations: int) -> Iterator[list[Claim]]:
    rng = np.random.default_rng(seed)
    for number in range(studies):
        yield study_claims(simulate_study(scenario, rng), permutations=permutations, seed=number)
