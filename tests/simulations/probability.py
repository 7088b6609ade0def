"""How often claims about probability maps and samples are made where they are false.

**Maps.** A forecast gives the probabilities of an outline that is uncertain: rater r marks every pixel whose
probability is above a threshold that is uniform from 0 to 1, so that forecasts are right. Thresholds of the raters of
one image are independent, or depend on each other, or are the same; an image has one outline, or four that are
independent. Where all is one threshold, a subject is a single decision: the least favourable case.

**Samples.** A mask is an interval on a line whose ends are uncertain, more so in hard cases. Samples and raters miss
them alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from manytruths.analyses.evaluate.forecast_scores import BinSums
from manytruths.claims.claim import ClaimLog
from manytruths.claims.numbers import TableIndex
from manytruths.claims.probability import (
    CONFIDENCE,
    FREQUENCY,
    SPREAD,
    ForecastFacts,
    Population,
    SpreadFacts,
    consider_forecasts,
    consider_spread,
)
from manytruths.evaluation.probabilistic.calibration import BINS
from manytruths.inference.intervals import mean_intervals
from manytruths.io.result_tables import Row, Table

from .algorithms import ClaimRate

Values = NDArray[np.float64]

SUBJECTS = (10, 20, 50)
RATERS = (3, 8)
DEPENDENT = {"independent raters": 0.0, "raters who depend on each other": 0.5, "raters who are one": 1.0}
"""Correlation of the thresholds of raters."""
OUTLINES = (1, 4)
PIXELS = 40
"""Of each outline; their probabilities go from 0 to 1."""
SAMPLES = (4, 16)
HARD = 0.4
"""Spread of difficulty, as the standard deviation of its logarithm."""


def draw_forecasts(
    rng: np.random.Generator, subjects: int, raters: int, dependence: float, outlines: int, sharper: float = 1.0,
    samples: int = 0,
) -> BinSums:  # fmt: skip
    """Sums of a study by subject and bin; with ``sharper`` the algorithm multiplies the logits of what is right.

    With ``samples`` the algorithm gives the share of so many outlines, which it draws as raters do.
    """
    from scipy.special import expit, logit, ndtr

    right = np.clip(np.sort(rng.random((subjects, outlines, PIXELS)), axis=2), 1e-4, 1 - 1e-4)
    shared, own = rng.normal(size=(subjects, outlines, 1)), rng.normal(size=(subjects, outlines, raters))
    threshold = ndtr(np.sqrt(dependence) * shared + np.sqrt(1 - dependence) * own)
    share = (right[..., None] >= threshold[:, :, None, :]).mean(axis=3).reshape(subjects, -1)
    if samples:
        drawn = rng.random((subjects, outlines, samples))
        said = (right[..., None] >= drawn[:, :, None, :]).mean(axis=3).reshape(subjects, -1)
    else:
        said = (right if sharper == 1 else expit(sharper * logit(right))).reshape(subjects, -1)
    edges = np.linspace(0, 1, BINS + 1)
    where = np.searchsorted(edges[1:-1], said) + BINS * np.arange(subjects)[:, None]

    def add(values: Values) -> Values:
        return np.bincount(where.ravel(), values.ravel(), BINS * subjects).reshape(subjects, BINS)

    return BinSums(edges, add(np.ones_like(said)), add(said), add(share))


def facts_of(sums: BinSums, name: str = "net", samples: str = "") -> ForecastFacts:
    """What the claims rest on."""
    return ForecastFacts(
        name, "", sums.edges, sums.mean_forecast, sums.observed_share, sums.confidence, sums.agreement, samples
    )  # fmt: skip


def table_of(facts: ForecastFacts) -> TableIndex:
    """The rows that sentences quote."""
    table = Table("calibration", ("algorithm", "against", "from", "to"))

    def add(name: str, values: Values, low: float, high: float) -> None:
        found = mean_intervals(values[:, None], "plain")[0]
        extra = (facts.algorithm, "vote share", low, high)
        table.append(Row("mean", name, found.value, extra=extra, low=found.low, high=found.high, n=found.n))

    for k in range(len(facts.edges) - 1):
        ends = float(facts.edges[k]), float(facts.edges[k + 1])
        add("mean_forecast", facts.forecast[:, k], *ends)
        add("observed_share", facts.observed[:, k], *ends)
    whole = float(facts.edges[1]), float(facts.edges[-1])
    add("confidence", facts.confidence, *whole)
    add("agreement", facts.agreement, *whole)
    add("overconfidence", facts.confidence - facts.agreement, *whole)
    return TableIndex("evaluate/calibration.csv", table)


@cache
def some_bins() -> TableIndex:
    """A table with a row for every bin: what is said goes by the facts alone, and the sentences are not read."""
    return table_of(facts_of(draw_forecasts(np.random.default_rng(0), 20, 3, 0.5, 4)))


def claims_of_maps(sums: BinSums, raters: int, samples: str = "") -> tuple[bool, bool]:
    """Whether the algorithm is called over- or underconfident, and whether a bin is said to be off."""
    log = ClaimLog()
    consider_forecasts(log, [facts_of(sums, samples=samples)], some_bins(), "vote share", Population(raters))
    # each kind alone: in a report they share 5%
    made = {claim.kind.id for claim in log.claims if claim.made and claim.p_value <= 0.05}
    return CONFIDENCE.id in made, FREQUENCY.id in made


def map_rates(studies: int, seed: int = 0) -> Iterator[ClaimRate]:
    """Claims about maps that are right, and (power) about one whose logits are doubled."""
    rng = np.random.default_rng(seed)
    for (truth, dependence), outlines, raters, subjects in product(DEPENDENT.items(), OUTLINES, RATERS, SUBJECTS):
        made = [
            claims_of_maps(draw_forecasts(rng, subjects, raters, dependence, outlines), raters) for _ in range(studies)
        ]
        for kind, count in zip((CONFIDENCE, FREQUENCY), np.sum(made, axis=0).tolist(), strict=True):
            yield ClaimRate(kind.id, f"calibrated forecasts, {truth}", subjects, raters, outlines, studies, count)
    fewer = max(studies // 10, 50)
    for subjects in SUBJECTS:
        made = [claims_of_maps(draw_forecasts(rng, subjects, 5, 0.5, 4, sharper=3.0), 5) for _ in range(fewer)]
        for kind, count in zip((CONFIDENCE, FREQUENCY), np.sum(made, axis=0).tolist(), strict=True):
            yield ClaimRate(kind.id, "logits three times too large", subjects, 5, 4, fewer, count, false=False)


def draw_spreads(
    rng: np.random.Generator, subjects: int, raters: int, samples: int, narrower: float = 1.0
) -> tuple[Values, Values]:
    """Mean distances between samples, and between raters, by subject."""
    hard = rng.lognormal(0, HARD, (subjects, 1))
    found = []
    for number, factor in ((samples, narrower), (raters, 1.0)):
        start = -10 + factor * hard * rng.normal(size=(subjects, number)) * 2
        end = 10 + factor * hard * rng.normal(size=(subjects, number)) * 2
        a, b = np.triu_indices(number, 1)
        both = np.maximum(np.minimum(end[:, a], end[:, b]) - np.maximum(start[:, a], start[:, b]), 0)
        union = (end - start)[:, a] + (end - start)[:, b] - both
        found.append((1 - both / union).mean(axis=1))
    return found[0], found[1]


@cache
def some_distances() -> TableIndex:
    """Rows for sentences, which are not read."""
    names = ("sample_diversity", "rater_diversity", "diversity_difference")
    rows = [Row("mean", name, 0.5, extra=("net", "all raters"), low=0.4, high=0.6, n=20) for name in names]
    return TableIndex("evaluate/scores.csv", Table("scores", ("algorithm", "against"), rows))


def claims_spread(samples: Values, raters: Values, count: int) -> bool:
    """Whether samples are said to differ less, or more, than raters."""
    log = ClaimLog()
    consider_spread(log, [SpreadFacts("net", "", samples, raters)], some_distances(), Population(count))
    return any(claim.kind is SPREAD for claim in log.settle().made)


def spread_rates(studies: int, seed: int = 1) -> Iterator[ClaimRate]:
    """Claims about samples that are drawn as raters draw, and (power) about some half as far apart."""
    rng = np.random.default_rng(seed)
    for samples, raters, subjects in product(SAMPLES, RATERS, SUBJECTS):
        made = sum(claims_spread(*draw_spreads(rng, subjects, raters, samples), raters) for _ in range(studies))
        yield ClaimRate(SPREAD.id, "samples drawn as raters draw", subjects, raters, 1, studies, made)
    fewer = max(studies // 10, 50)
    for subjects in SUBJECTS:
        made = sum(claims_spread(*draw_spreads(rng, subjects, 5, 16, 0.5), 5) for _ in range(fewer))
        yield ClaimRate(SPREAD.id, "samples half as far apart", subjects, 5, 1, fewer, made, false=False)


def claim_rates(studies: int) -> Iterator[ClaimRate]:
    """All claims about probability maps and samples."""
    yield from map_rates(studies)
    yield from spread_rates(studies)
