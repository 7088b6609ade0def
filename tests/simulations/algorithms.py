"""How often claims about algorithms are made where they are false: simulated studies at the worst point of each null.

A mask is an interval on a line, or several side by side, one for each label; whoever draws it misses each end by a
normal error, larger in hard cases. Raters differ in how careful they are. Distances are 1 − Dice, and everything after
them is what the commands use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from manytruths.evaluation.interchangeability import distance_differences
from manytruths.evaluation.ranking.pair_tests import pair_tests
from manytruths.evaluation.ranking.ranking import rank_scores, rank_sets
from manytruths.evaluation.ranking.scores import Scores
from manytruths.inference.equivalence import judge_margin, mean_limits

Values = NDArray[np.float64]

STUDIES = 4000
SUBJECTS, RATERS, LABELS = (10, 20, 50), (3, 5, 8), (1, 3)
CARE = np.array([0.7, 0.9, 1.0, 1.2, 0.8, 1.1, 0.9, 1.3])
"""How far raters miss the ends of an interval, in units of the case's difficulty."""
WORSE = 1.8
"""How far the worse algorithm misses them."""
MANY = 40_000
"""Cases that give the true γ."""
AT_ONCE = 250
"""Studies that are held at a time."""
USUAL, HEAVY = 0.15, 0.6
"""Spread of difficulty (SD of its logarithm): differences by case have a skewness of 0.9 to 1.2, where those of four
readers of 897 lung nodules (LIDC) have 0.5 to 1.1; or of about 4, where a few cases fail."""


@dataclass(frozen=True)
class ClaimRate:
    """How often a claim was made in simulated studies."""

    claim: str
    truth: str
    """What holds in these studies."""
    subjects: int
    raters: int
    labels: int
    studies: int
    made: int
    false: bool = True
    """Whether the claim is false in these studies; else the rate is its power."""

    @property
    def rate(self) -> float:
        """The share of studies in which it was made."""
        return self.made / self.studies

    @property
    def lower_limit(self) -> float:
        """Lower 99% Monte Carlo limit of the rate."""
        return self.rate - 2.326 * np.sqrt(self.rate * (1 - self.rate) / self.studies)


def draw_differences(
    rng: np.random.Generator, studies: int, cases: int, raters: int, labels: int, error: float, spread: float = USUAL
) -> Values:
    """(studies, cases) differences of the algorithm's distances to the raters from those between raters."""
    parts = [
        _draw_studies(rng, min(AT_ONCE, studies - i), cases, raters, labels, error, spread)
        for i in range(0, studies, AT_ONCE)
    ]
    return np.concatenate(parts)


def _draw_studies(
    rng: np.random.Generator, studies: int, cases: int, raters: int, labels: int, error: float, spread: float
) -> Values:
    care = np.append(CARE[:raters], error)
    difficulty = rng.lognormal(0, spread, (studies, cases, 1, 1))
    half = rng.lognormal(2.3, spread / 2, (studies, cases, 1, labels))
    missed = rng.normal(size=(2, studies, cases, raters + 1, labels)) * difficulty * care[:, None]
    start, end = -half + missed[0], half + missed[1]
    size = np.maximum(end - start, 1e-9)
    a, b = np.triu_indices(raters + 1, 1)
    both = np.minimum(end[..., a, :], end[..., b, :]) - np.maximum(start[..., a, :], start[..., b, :])
    pairs = 1 - (2 * np.maximum(both, 0) / (size[..., a, :] + size[..., b, :])).mean(axis=-1)
    distances = np.full((studies, cases, raters + 1, raters + 1), np.nan)
    distances[..., a, b], distances[..., b, a] = pairs, pairs
    return distance_differences(distances[..., raters, :raters], distances[..., :raters, :raters])[0]


@cache
def true_gamma(raters: int, labels: int, error: float, spread: float = USUAL) -> float:
    """γ of very many cases."""
    return float(draw_differences(np.random.default_rng(1), MANY, 1, raters, labels, error, spread).mean())


@cache
def like_the_raters(raters: int, labels: int) -> float:
    """The error of an algorithm with γ = 0, by bisection on the same draws."""
    low, high = 0.1, WORSE
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if true_gamma(raters, labels, middle) < 0 else (low, middle)
    return (low + high) / 2


def verdict_counts(differences: Values, margin: float) -> dict[str, int]:
    """How many studies get each verdict."""
    limits = mean_limits(differences)
    verdicts = [judge_margin(*ends, margin) for ends in zip(limits.low.tolist(), limits.bound.tolist(), strict=True)]
    return {name: verdicts.count(name) for name in ("within", "worse_within", "worse", "unknown")}  # type: ignore[arg-type]


def interchangeability_rates(
    studies: int = STUDIES, seed: int = 0, raters: Sequence[int] = RATERS, labels: Sequence[int] = LABELS
) -> Iterator[ClaimRate]:
    """Verdicts on an algorithm at the margin, at 0, and (power) beyond."""
    rng = np.random.default_rng(seed)
    for count, of_labels, subjects in product(raters, labels, SUBJECTS):
        margin, like = true_gamma(count, of_labels, WORSE), like_the_raters(count, of_labels)
        at_margin, at_zero, beyond = (
            verdict_counts(draw_differences(rng, studies, subjects, count, of_labels, error), margin)
            for error in (WORSE, like, 1.5 * WORSE)
        )
        where = (subjects, count, of_labels, studies)
        interchangeable = at_margin["within"] + at_margin["worse_within"]
        yield ClaimRate("algorithms.interchangeable", "γ = margin", *where, interchangeable)
        yield ClaimRate("algorithms.worse", "γ = margin", *where, at_margin["worse"])
        yield ClaimRate("algorithms.worse_within", "γ = 0", *where, at_zero["worse_within"])
        yield ClaimRate("algorithms.worse_within", "γ = margin", *where, at_margin["worse_within"])
        yield ClaimRate("algorithms.interchangeable", "γ = 0", *where, at_zero["within"], false=False)
        yield ClaimRate("algorithms.worse", "γ > margin", *where, beyond["worse"], false=False)


def skewed_rates(
    studies: int = STUDIES, seed: int = 0, raters: Sequence[int] = RATERS, labels: Sequence[int] = LABELS
) -> Iterator[ClaimRate]:
    """The same at the margin where a few cases fail: a sample without them looks better than it is."""
    rng = np.random.default_rng(seed)
    for count, of_labels, subjects in product(raters, labels, SUBJECTS):
        margin = true_gamma(count, of_labels, WORSE, HEAVY)
        made = verdict_counts(draw_differences(rng, studies, subjects, count, of_labels, WORSE, HEAVY), margin)
        where, truth = (subjects, count, of_labels, studies), "γ = margin, a few cases fail"
        yield ClaimRate("algorithms.interchangeable", truth, *where, made["within"] + made["worse_within"])
        yield ClaimRate("algorithms.worse", truth, *where, made["worse"])


def draw_scores(rng: np.random.Generator, means: Values, subjects: int) -> Values:
    """(algorithms, subjects) scores: hard subjects are hard for all."""
    hard = rng.normal(0, 0.08, subjects)
    return means[:, None] - np.abs(hard) + rng.normal(0, 0.04, (len(means), subjects))


def winner_rates(studies: int = STUDIES, seed: int = 0) -> Iterator[ClaimRate]:
    """A winner among equals: two of two, three of three, and two that are better than a third."""
    rng = np.random.default_rng(seed)
    cases = {"two equal": [0.8, 0.8], "three equal": [0.8] * 3, "two equal, one worse": [0.8, 0.8, 0.6]}
    for truth, means in cases.items():
        for subjects in SUBJECTS:
            won = sum(_has_winner(draw_scores(rng, np.array(means), subjects)) for _ in range(studies))
            yield ClaimRate("algorithms.winner", truth, subjects, 0, 1, studies, won)


def _has_winner(scores: Values) -> bool:
    """Resamples are drawn only where the tests leave a winner."""
    p = pair_tests(scores).p_holm
    first = int(scores.mean(axis=1).argmax())
    if (np.delete(p[first], first) >= 0.05).any():
        return False
    names = [f"net {i}" for i in range(len(scores))]
    return rank_scores(Scores.of(scores, names), resamples=200).verdict.winner is not None


def rank_set_coverage(studies: int = 1000, seed: int = 0) -> dict[tuple[str, int], tuple[float, float]]:
    """The share of studies in which all rank sets, and all bootstrap ranges, hold the ranks; by truth and subjects.

    Of algorithms with equal means each may have any of their ranks: the smallest counts.
    """
    rng, shares = np.random.default_rng(seed), {}
    cases = {"near ties": 0.8 - 0.004 * np.arange(5), "ties": np.full(5, 0.8), "apart": 0.8 - 0.05 * np.arange(5)}
    for truth, means in cases.items():
        ranks = 1 + (means[None, :] > means[:, None]).sum(axis=1)
        for subjects in SUBJECTS:
            held = np.zeros(2)
            for _ in range(studies):
                scores = draw_scores(rng, means, subjects)
                low, high = rank_sets(pair_tests(scores).p_holm, 0.05)
                ranking = rank_scores(Scores.of(scores, list("abcde")), resamples=200)
                start, end = ranking.overall.resampled_range
                held += [((low <= ranks) & (ranks <= high)).all(), ((start <= ranks) & (ranks <= end)).all()]
            shares[truth, subjects] = tuple((held / studies).tolist())
    return shares


def claim_rates(studies: int = STUDIES, seed: int = 0) -> Iterator[ClaimRate]:
    """All claims about algorithms."""
    yield from interchangeability_rates(studies, seed)
    yield from skewed_rates(studies, seed)
    yield from winner_rates(studies, seed)


if __name__ == "__main__":
    for rate in claim_rates():
        kind = "false" if rate.false else "power"
        print(
            f"{rate.claim:28} {rate.truth:22} {rate.subjects:3} {rate.raters:2} {rate.labels:2} {kind} {rate.rate:.3f}"
        )
    for (truth, subjects), (sets, ranges) in rank_set_coverage().items():
        print(f"ranks, {truth:10} {subjects:3}  sets {sets:.3f}, bootstrap ranges {ranges:.3f}")
