"""Means over subjects and seeds, their intervals, and differences between strategies.

Both are drawn again: subjects, since the test set could have been another, and seeds, since the training could. With V
the (subjects, seeds) values of a strategy, and w, v how often each subject and seed is drawn, a replicate of its mean
is w V v / (Σ w Σ v). All strategies share the draws, so that differences are paired. Few seeds say too little of how
seeds spread: what three of them contribute comes out a fifth too small (the root of 2/3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.undefined import Undefined
from ..inference.intervals import MIN_SUBJECTS, Interval, draw_subjects
from .runs import Run
from .scoring import Scores

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Draws:
    """Which subjects and seeds every resample takes."""

    resamples: int
    level: float
    seed: int

    def means(self, values: Values) -> Values:
        """Replicates of the mean of (subjects, seeds) values; what is undefined is left out."""
        known = ~np.isnan(values)
        people, seeds = self._weights(values.shape)
        total = np.einsum("rs,sk,rk->r", people, np.nan_to_num(values), seeds)
        count = np.einsum("rs,sk,rk->r", people, known.astype(np.float64), seeds)
        return np.asarray(np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0))

    def _weights(self, shape: tuple[int, ...]) -> tuple[Values, Values]:
        people = draw_subjects(shape[0], self.resamples, self.seed)
        return people, np.ones((self.resamples, 1)) if shape[1] == 1 else drawn_seeds(
            shape[1], self.resamples, self.seed
        )

    def interval(self, values: Values) -> Interval:
        """Of the mean of (subjects, seeds) values, by percentiles."""
        value = _mean(values)
        n = int((~np.isnan(values)).any(axis=1).sum())
        if n < MIN_SUBJECTS:
            refused = Undefined("too_few_subjects", f"it is defined for {n}")
            return Interval(value, refused, refused, self.level, "percentile", n)
        drawn = self.means(values)
        undefined = int(np.isnan(drawn).sum())
        low, high = np.nanquantile(drawn, [(1 - self.level) / 2, (1 + self.level) / 2])
        return Interval(value, float(low), float(high), self.level, "percentile", n, undefined)


def drawn_seeds(n: int, resamples: int, seed: int) -> Values:
    """How often each seed is drawn; other draws than those of subjects."""
    random = np.random.default_rng([seed, 1])
    return random.multinomial(n, np.full(n, 1 / n), size=resamples).astype(np.float64)


def table(scores: Scores, network: str, strategy: str) -> Values:
    """(subjects, seeds) values of one network under one strategy, seeds in their order."""
    runs = sorted((r for r in scores.by_subject if (r.network, r.strategy) == (network, strategy)), key=_seed)
    return np.stack([scores.by_subject[run] for run in runs], axis=1)


def spread(scores: Scores, network: str, strategy: str) -> float:
    """The standard deviation over all test images, and seeds, as Zeng et al. print it."""
    own = [v for run, v in scores.by_run.items() if (run.network, run.strategy) == (network, strategy)]
    values = np.concatenate(own)
    defined = values[~np.isnan(values)]
    return float(defined.std(ddof=1)) if len(defined) > 1 else Undefined("fewer_than_two_images")


def best_single(scores: Sequence[Scores], network: str, singles: Sequence[str], against: str, label: str) -> str:
    """Of those trained on one rater, the one with the largest Dice against the majority."""
    one = next(s for s in scores if (s.statistic, s.against, s.label) == ("dice", against, label))
    return max(singles, key=lambda name: _mean(table(one, network, name)))


def _mean(values: Values) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else Undefined("undefined_for_every_subject")


def _seed(run: Run) -> int:
    return run.seed
