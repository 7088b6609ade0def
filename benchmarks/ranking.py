"""Ranking at the size of a large challenge, and its resampled tests against SciPy's, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from manytruths.evaluation.ranking.pair_tests import ResampledTests, rounded_differences
from manytruths.evaluation.ranking.ranking import rank_scores
from manytruths.evaluation.ranking.scores import Scores, Values
from manytruths.evaluation.ranking.standings import draw_subjects

from .measuring import Result, at_least, at_most, best, peak


def challenge(algorithms: int = 20, cases: int = 500, truths: int = 5) -> Scores:
    """Algorithms a little apart, cases that are hard for all, truths that differ."""
    rng = np.random.default_rng(0)
    hard = rng.normal(0, 0.08, (1, cases, 1, 1))
    noise = rng.normal(0, 0.04, (algorithms, cases, truths, 1))
    values = np.clip(0.85 - 0.004 * np.arange(algorithms)[:, None, None, None] + hard + noise, 0, 1)
    names = [f"algorithm {i + 1:02}" for i in range(algorithms)]
    return Scores.of(values, names, references=[f"rater {i + 1}" for i in range(truths)])


def rankings() -> Iterator[Result]:
    """All schemes, 1,000 resamples, and all that is read off them."""
    scores = challenge()

    def work() -> tuple[float, ...]:
        found = rank_scores(scores)
        taus = [t.value for t in found.taus]
        return (*taus, *(float(s.ahead_share.sum() + s.resampled_range[0].sum()) for s in found.standings))

    found = rank_scores(scores)
    assert found.order[0] == "algorithm 01", "the best is not first"
    assert len(found.find(scheme="test").sampled) == 1000, "tests were not repeated in all resamples"
    job = "ranking, 20 algorithms × 500 cases × 5 truths, all schemes"
    yield at_most(job, "", best(work, 3), 5, "1,000 resamples", unit="s")
    yield at_most("  its memory", "", peak(work), 300, unit="MB")


def signed_ranks() -> Iterator[Result]:
    """Wilcoxon's z of one pair in 1,000 resamples."""
    from scipy.stats import wilcoxon

    values = challenge(2).values[:, :, 0, 0]
    weights = draw_subjects(500, 1000, 0)
    apart = rounded_differences(values, np.array([0]), np.array([1]))

    def theirs(count: int) -> Values:
        repeated = (np.repeat(apart[0], w.astype(int)) for w in weights[:count])
        return np.array([wilcoxon(r, alternative="greater", method="asymptotic").zstatistic for r in repeated])

    assert np.allclose(ResampledTests(weights[:100]).z(apart)[0], theirs(100), rtol=1e-9, atol=1e-12), "the z differ"
    quick, slow = best(lambda: ResampledTests(weights).z(apart)), best(lambda: theirs(100), 1) * 10
    times = f"{quick * 1e3:.1f} ms, SciPy {slow:.2f} s"
    yield at_least(
        "signed ranks of a pair, 500 subjects, 1,000 resamples", "SciPy, one by one", slow / quick, 20, times
    )


JOBS: dict[str, Callable[[], Iterator[Result]]] = {"rankings": rankings, "signed_ranks": signed_ranks}
