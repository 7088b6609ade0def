"""``python -m tests.simulations.coverage [STUDIES] [PART ...]``: how often 95% intervals cover (docs/coverage.md).

Every study is simulated and its interval made by the functions that the commands use. A point is a quantity, a model of
the subjects and a number of subjects; its coverage is the share of studies whose interval holds the value that
infinitely many subjects (and raters) would have. Where parts are named, only their lines are measured; others stay.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manytruths.agreement import contributions, fleiss_kappa
from manytruths.analyses.agree.size_agreement import end_of
from manytruths.analyses.evaluate.froc import AT_ONE, AT_RATES, SCORE, Curve
from manytruths.analyses.evaluate.froc import _ratios as froc_ratios
from manytruths.analyses.evaluate.froc import _rows as froc_rows
from manytruths.analyses.evaluate.lesions import FreeResponse
from manytruths.analyses.reliability.intervals import FEWEST, beyond_chance, case_means, rho_interval
from manytruths.analyses.reliability.ordered import ALPHAS, WEIGHTS
from manytruths.analyses.reliability.ordered import _mean_of_pairs as mean_of_pairs
from manytruths.analyses.reliability.ordered import _Table as OrderedTable
from manytruths.analyses.reliability.reliability import ReliabilitySettings
from manytruths.analyses.tables import Settings
from manytruths.core.undefined import Undefined
from manytruths.evaluation.grading import Layer, layered_area
from manytruths.inference.group_tests import compare_case_groups, compare_rater_groups
from manytruths.inference.intervals import (
    MIN_EFFECTIVE,
    MIN_SUBJECTS,
    Interval,
    effective_subjects,
    few_effective_subjects,
    jackknife_interval,
    mean_intervals,
    mean_over_both,
)
from manytruths.inference.quantiles import clustered_proportion_interval, proportion_interval, student_quantile
from manytruths.inference.scales import Scale
from manytruths.measures.bland_altman import bland_altman, limits_with_mean, repeatability, spread_interval
from manytruths.measures.intraclass import LIMIT, icc_of_model
from manytruths.measures.variance_components import fit_sizes
from manytruths.ratings.accuracy import rater_accuracy
from manytruths.ratings.concordance import rho, sigma
from manytruths.ratings.ratings import Ratings

from .groups import CaseScenario, GroupScenario, draw_raters, simulate_cases, simulate_pairs

Values = NDArray[np.float64]

STUDIES = 4000
"""Simulated studies a point."""
SUBJECTS = (10, 20, 50)
MANY = 400_000
"""Subjects that stand for infinitely many."""
WANTED = 0.93
PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
MISSED = "The share of all studies that print an interval of pooled Dice which misses:"
MARKS = ("<!-- coverage: start -->", "<!-- coverage: end -->")


@dataclass(frozen=True)
class Line:
    """A quantity and a model, with the coverage at each number of subjects."""

    quantity: str
    model: str
    coverage: tuple[float, ...]
    """NaN where no study had an interval."""
    refused: tuple[float, ...] = (0.0, 0.0, 0.0)
    """Share of studies that had none."""
    promised: bool = True


Draw = Callable[[np.random.Generator, tuple[int, ...]], Values]


def coverage_of(intervals: list[Interval], truth: float) -> tuple[float, float]:
    """The share of the intervals that hold the truth, and the share of studies without one."""
    known = [i for i in intervals if not math.isnan(i.low)]
    hits = sum(i.low <= truth <= i.high for i in known)
    return hits / len(known) if known else math.nan, 1 - len(known) / len(intervals)


Simulation = Callable[[int], tuple[list[Interval], float]]
"""Intervals of many studies of n subjects, and the value that they should hold."""


def line(quantity: str, model: str, study: Simulation, promised: bool = True) -> Line:
    """One line of the table: the coverage at every number of subjects."""
    covered, refused = zip(*(coverage_of(*study(n)) for n in SUBJECTS), strict=True)
    return Line(quantity, model, covered, refused, promised)


# -- means over subjects ---------------------------------------------------------------------------


def beta(a: float, b: float, low: float = 0.0) -> Draw:
    return lambda rng, shape: low + (1 - low) * rng.beta(a, b, shape)


def difference(rng: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """Dice of two algorithms on the same subjects, one a little better and with a tail of bad cases."""
    hard = rng.beta(6, 2, shape)
    return np.asarray(0.4 * rng.beta(12, 2, shape) - 0.4 * hard * rng.beta(9, 2, shape))


def with_failures(rng: np.random.Generator, shape: tuple[int, ...]) -> Values:
    return np.where(rng.random(shape) < 0.1, 0.0, rng.beta(20, 2.2, shape))


def lognormal(sd: float) -> Draw:
    return lambda rng, shape: rng.lognormal(0, sd, shape)


OF_DIFFERENCE = 0.4 * 12 / 14 - 0.4 * 0.75 * 9 / 11
FAILING = "one subject in ten has 0, others beta(20, 2.2)"
MEANS: tuple[tuple[str, str, Scale, Draw, float, bool], ...] = (
    ("mean Dice", "beta(8, 2), mean 0.80", "share", beta(8, 2), 0.8, True),
    ("mean Dice", "beta(20, 2.2), mean 0.90", "share", beta(20, 2.2), 20 / 22.2, True),
    ("mean Dice", "beta(4, 1), mean 0.80, wide", "share", beta(4, 1), 0.8, True),
    ("mean kappa", "from −1 to 1, beta(8, 2), mean 0.60", "kappa", beta(8, 2, -1), 0.6, True),
    ("mean kappa", "from −1 to 1, beta(20, 2.2), mean 0.80", "kappa", beta(20, 2.2, -1), 2 * 20 / 22.2 - 1, True),
    ("mean kappa", "from −1 to 1, beta(5, 5), mean 0", "kappa", beta(5, 5, -1), 0.0, True),
    ("paired differences", "normal", "plain", lambda rng, shape: rng.normal(0.02, 0.05, shape), 0.02, True),
    ("paired differences", "of two Dice values, skewed", "plain", difference, OF_DIFFERENCE, True),
    ("mean distance", "lognormal, σ = 0.5", "positive", lognormal(0.5), math.exp(0.125), False),
    ("mean distance", "lognormal, σ = 1", "positive", lognormal(1), math.exp(0.5), False),
    ("mean Dice with failures", FAILING, "share", with_failures, 18 / 22.2, False),
)  # fmt: skip


def mean_lines(studies: int) -> Iterator[Line]:
    for quantity, model, scale, draw, truth, promised in MEANS:
        yield line(quantity, model, _means(studies, scale, draw, truth), promised)


def _means(studies: int, scale: Scale, draw: Draw, truth: float) -> Simulation:
    rng = np.random.default_rng(1)
    return lambda n: (mean_intervals(draw(rng, (n, studies)), scale), truth)


def failure_lines(studies: int) -> Iterator[Line]:
    """What is printed beside a mean with failures: their share, and the mean without them."""
    rng = np.random.default_rng(2)

    def shares(n: int) -> tuple[list[Interval], float]:
        zeros = (with_failures(rng, (studies, n)) == 0).sum(axis=1).tolist()
        return [Interval(k / n, *proportion_interval(k, n), 0.95, "exact", n) for k in zeros], 0.1

    def without(n: int) -> tuple[list[Interval], float]:
        values = with_failures(rng, (n, studies))
        return mean_intervals(np.where(values == 0, np.nan, values), "share"), 20 / 22.2

    yield line("share of failures", "one subject in ten", shares)
    yield line("mean Dice without failures", FAILING, without)


# -- both populations ------------------------------------------------------------------------------


def pair_means(rng: np.random.Generator, shape: tuple[int, int], raters: int) -> tuple[Values, Values]:
    """Mean Dice over pairs of raters of (studies, subjects), and with each rater left out.

    Subjects differ, raters differ by the same amount in all subjects, and every pair differs in every subject.
    """
    of_subject = rng.normal(0, 0.5, (*shape, 1, 1))
    quality = rng.normal(0, 0.3, (shape[0], 1, raters))
    noise = rng.normal(0, 0.3, (*shape, raters, raters))
    noise = (noise + noise.swapaxes(-1, -2)) / math.sqrt(2)
    dice = 1 / (1 + np.exp(-(1.4 + of_subject + quality[..., :, None] + quality[..., None, :] + noise)))
    dice[..., np.arange(raters), np.arange(raters)] = 0
    total, own = dice.sum(axis=(-1, -2)), 2 * dice.sum(axis=-1)
    return total / (raters * (raters - 1)), (total[..., None] - own) / ((raters - 1) * (raters - 2))


def both_lines(studies: int) -> Iterator[Line]:
    rng = np.random.default_rng(3)
    x = rng.normal(1.4, math.sqrt(0.5**2 + 2 * 0.3**2 + 0.3**2), 10 * MANY)
    truth = float((1 / (1 + np.exp(-x))).mean())
    for raters in (3, 5, 8):
        drawn = {n: pair_means(rng, (studies, n), raters) for n in SUBJECTS}
        yield line("mean Dice over `both`", f"{raters} raters", _both(drawn, truth))
        model = f"{raters} raters, read as if it held for others"
        yield line("mean Dice over `cases` alone", model, _cases_alone(drawn, truth), promised=False)


def _both(drawn: dict[int, tuple[Values, Values]], truth: float) -> Simulation:
    def simulate(n: int) -> tuple[list[Interval], float]:
        pairs = zip(*drawn[n], strict=True)
        return [mean_over_both(values, without, scale="share", level=0.95) for values, without in pairs], truth

    return simulate


def _cases_alone(drawn: dict[int, tuple[Values, Values]], truth: float) -> Simulation:
    return lambda n: (mean_intervals(drawn[n][0].T, "share"), truth)


ITEMS = 60
UNLIKE = ((0.2, 0.3, "unlike in care"), (0.8, 0.0, "very unlike in threshold"))
"""SD of the raters' thresholds, and of the logarithm of how much they err, where items have an SD of 2."""


def kappas(
    rng: np.random.Generator, shape: tuple[int, int], raters: int, threshold: float, care: float
) -> tuple[Values, Values]:
    """Fleiss' kappa of (studies, subjects), and with each rater left out: raters differ in threshold and care."""
    items = rng.normal(rng.normal(-1, 0.5, (*shape, 1, 1)), 2, (*shape, ITEMS, 1))
    own = rng.normal(0, threshold, (shape[0], 1, 1, raters)), rng.lognormal(0, care, (shape[0], 1, 1, raters))
    marked = items + own[0] + own[1] * rng.normal(size=(*shape, ITEMS, raters)) > 0
    votes = marked.sum(axis=-1)
    left_out = [_kappa(votes - marked[..., r], raters - 1) for r in range(raters)]
    return _kappa(votes, raters), np.stack(left_out, axis=-1)


def _kappa(votes: NDArray[np.int64], raters: int) -> Values:
    apart = (2 * votes * (raters - votes) / (raters * (raters - 1))).mean(axis=-1)
    share = votes.mean(axis=-1) / raters
    return np.asarray(1 - apart / (2 * share * (1 - share)))


def kappa_lines(studies: int) -> Iterator[Line]:
    for raters, (threshold, care, model) in product((3, 5, 8), UNLIKE):
        study = _kappas_over_both(max(studies // 2, 1), raters, threshold, care)
        yield line("mean kappa over `both`", f"{raters} raters, {model}", study, promised=care > 0)


def _kappas_over_both(studies: int, raters: int, threshold: float, care: float) -> Simulation:
    rng = np.random.default_rng(6)
    truth = float(np.nanmean(kappas(rng, (MANY // 8, 1), raters, threshold, care)[0]))

    def simulate(n: int) -> tuple[list[Interval], float]:
        parts = [kappas(rng, (min(100, studies - i), n), raters, threshold, care) for i in range(0, studies, 100)]
        pairs = ((v, w) for values, without in parts for v, w in zip(values, without, strict=True))
        return [mean_over_both(v, w, scale="kappa", level=0.95) for v, w in pairs], truth

    return simulate


def label_lines(studies: int) -> Iterator[Line]:
    """The macro mean of Dice over three labels, the third of which 70% of the subjects have."""
    rng, centre = np.random.default_rng(7), np.array([1.4, 2.2, 0.8])

    def draw(shape: tuple[int, ...]) -> Values:
        apart = rng.normal(0, 0.4, (*shape, 1)) + rng.normal(0, 0.5, (*shape, 3))
        return np.asarray(1 / (1 + np.exp(-(centre + apart))))

    truth = float(draw((MANY,)).mean())

    def simulate(n: int) -> tuple[list[Interval], float]:
        dice = draw((studies, n))
        dice[rng.random((studies, n)) > 0.7, 2] = np.nan
        dice[(~np.isnan(dice[..., 2])).sum(axis=1) < MIN_SUBJECTS] = np.nan
        return mean_intervals(np.stack([contributions(each) for each in dice], axis=1), "share"), truth

    yield line("macro mean of Dice", "three labels, one of them in 70% of subjects", simulate)


def seed_lines(studies: int) -> Iterator[Line]:
    """Mean Dice of networks that were trained with several seeds, which differ a third as much as subjects do."""
    from manytruths.learning.scores import mean_interval

    rng = np.random.default_rng(8)
    x = rng.normal(1.8, math.sqrt(0.6**2 + 0.2**2 + 0.3**2), 10 * MANY)
    truth = float((1 / (1 + np.exp(-x))).mean())
    for seeds in (3, 5, 2):

        def simulate(n: int, seeds: int = seeds) -> tuple[list[Interval], float]:
            shift = rng.normal(0, 0.6, (studies, n, 1)) + rng.normal(0, 0.2, (studies, 1, seeds))
            dice = 1 / (1 + np.exp(-(1.8 + shift + rng.normal(0, 0.3, (studies, n, seeds)))))
            return [mean_interval(values, "share") for values in dice], truth

        yield line("mean Dice over subjects and seeds", f"{seeds} seeds", simulate, promised=seeds > 2)


MOST_LESIONS = 12
LESIONS = ((5, 4.0), (3, 4.0), (5, 2.0), (2, 4.0), (2, 1.0))
"""Raters, and mean number of lesions a subject."""


def detections(rng: np.random.Generator, shape: tuple[int, ...], raters: int, mean: float) -> dict[str, Values]:
    """Positive agreement and mean panoptic quality of two raters, by subject; NaN where nobody found a lesion.

    Subjects differ in how hard their lesions are to find, and so do the lesions of a subject. What two raters found
    matches, with an IoU above one half.
    """
    there = np.arange(MOST_LESIONS) < 1 + rng.poisson(mean - 1, (*shape, 1))
    seen = 1.2 + rng.normal(0, 0.6, (*shape, 1)) + rng.normal(0, 1, (*shape, MOST_LESIONS))
    found = there[..., None] & (rng.random((*shape, MOST_LESIONS, raters)) < 1 / (1 + np.exp(-seen[..., None])))
    count = found.sum(axis=-1)
    with np.errstate(invalid="ignore"):
        agreed = (count * (count - 1)).sum(axis=-1) / (count * (raters - 1)).sum(axis=-1)
        qualities = []
        for a, b in combinations(range(raters), 2):
            both, either = found[..., a] & found[..., b], found[..., a].sum(axis=-1) + found[..., b].sum(axis=-1)
            iou = np.where(both, 0.5 + 0.5 * rng.beta(4, 3, both.shape), 0)
            qualities.append(2 * iou.sum(axis=-1) / either)
    values = np.stack(qualities)
    known = ~np.isnan(values)
    quality = np.where(
        known.any(axis=0), np.where(known, values, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1), np.nan
    )
    return {"positive agreement on lesions": agreed, "mean panoptic quality": quality}


def lesion_lines(studies: int) -> Iterator[Line]:
    """Of lesions that some raters find and others do not."""
    for raters, mean in LESIONS:
        for name in ("positive agreement on lesions", "mean panoptic quality"):
            promised = raters > 2 or name != "mean panoptic quality"  # one pair of raters alone has a long tail
            lesions = f"{mean:g} lesion{'s' * (mean > 1)} a subject on average"
            yield line(name, f"{raters} raters, {lesions}", _detections(studies, raters, mean, name), promised)


def _detections(studies: int, raters: int, mean: float, name: str) -> Simulation:
    rng = np.random.default_rng(10)
    truth = float(np.nanmean(detections(rng, (MANY // 2,), raters, mean)[name]))

    def simulate(n: int) -> tuple[list[Interval], float]:
        parts = [detections(rng, (n, min(500, studies - i)), raters, mean)[name] for i in range(0, studies, 500)]
        return mean_intervals(np.concatenate(parts, axis=1), "share"), truth

    return simulate


def area_lines(studies: int) -> Iterator[Line]:
    """Three predictions a subject, which a metric and an expert judge with errors of their own."""
    rng, fewer = np.random.default_rng(9), max(studies // 2, 1)

    def draw(n: int) -> tuple[Values, NDArray[np.bool_]]:
        quality = rng.normal(size=(n, 1)) + rng.normal(size=(n, 3))
        metric, grade = quality + rng.normal(0, 0.8, (2, n, 3))
        return metric.ravel(), grade.ravel() > 0

    def area(n: int) -> Interval:
        layer = Layer.of(*draw(n), np.repeat(np.arange(n), 3), n)
        return layered_area([layer], n, Undefined("undefined"))

    metric, good = draw(MANY // 2)
    ranks = metric.argsort().argsort() + 1.0
    positives, negatives = int(good.sum()), int((~good).sum())
    truth = float((ranks[good].sum() - positives * (positives + 1) / 2) / (positives * negatives))
    yield line(
        "area under ROC of grades", "three predictions a subject", lambda n: ([area(n) for _ in range(fewer)], truth)
    )


# -- rated data ------------------------------------------------------------------------------------

RIGHT = {
    "five raters, accuracies 0.7 to 0.9": np.array([0.7, 0.75, 0.8, 0.85, 0.9]),
    "three raters, accuracies 0.6 to 0.7": np.array([0.6, 0.65, 0.7]),
}
FIVE, WEAK = RIGHT


def rated(rng: np.random.Generator, cases: int, *, prevalence: float = 0.4, model: str = FIVE) -> dict[str, Any]:
    """Ratings of raters of unequal accuracy, with confidences, and the reference."""
    truth = rng.random(cases) < prevalence
    right = rng.random((cases, len(RIGHT[model]))) < RIGHT[model]
    codes = np.where(right, truth[:, None], ~truth[:, None]).astype(int)
    sure = rng.choice([0.5, 0.75, 1.0], codes.shape)
    return {"codes": codes, "confidence": sure, "reference": truth.astype(int)}


def make_ratings(drawn: dict[str, Any], part: slice = slice(None), *, reference: bool) -> Ratings:
    truth = drawn["reference"][part] if reference else None
    return Ratings.of(drawn["codes"][part], drawn["confidence"][part], reference=truth, labels=[0, 1])


def rating_lines(studies: int) -> Iterator[Line]:
    settings, rng = ReliabilitySettings(), np.random.default_rng(4)
    wholes = {model: make_ratings(rated(rng, MANY // 4, model=model), reference=True) for model in RIGHT}
    for model, whole in wholes.items():

        def sigmas(n: int, model: str = model, whole: Ratings = whole) -> tuple[list[Interval], float]:
            drawn = make_ratings(rated(rng, n * studies, model=model), reference=False)
            few = make_ratings(rated(rng, n, model=model), reference=False)
            return case_means(list(sigma(drawn).by_case.reshape(studies, n)), few, settings), sigma(whole).value

        yield line("σ", f"{model}, confidences 0.5 to 1", sigmas)
    for source, (model, whole) in product(("reference", "majority"), wholes.items()):
        yield line(f"ρ, accuracies by the {source}", model, _rhos(studies, rng, source, model, whole, FEWEST))
    at_any = {"majority": MIN_SUBJECTS}
    for model, whole in wholes.items():
        name = "ρ, accuracies by the majority, were it always printed"
        yield line(name, model, _rhos(studies, rng, "majority", model, whole, at_any), promised=False)
    for prevalence in (0.4, 0.1):
        big = make_ratings(rated(rng, MANY // 4, prevalence=prevalence), reference=False)
        truth = fleiss_kappa(big.tally())

        def kappas(n: int, prevalence: float = prevalence, truth: float = truth) -> tuple[list[Interval], float]:
            drawn, fewer = rated(rng, n * studies, prevalence=prevalence), max(studies // 4, 1)
            parts = (make_ratings(drawn, slice(k * n, (k + 1) * n), reference=False) for k in range(fewer))
            return [beyond_chance(part, settings)["fleiss_kappa"] for part in parts], truth

        yield line(
            "pooled kappa of ratings", f"five raters, label in {prevalence:.0%} of cases", kappas, promised=False
        )


ORDERED = {
    "weighted_kappa_linear": "weighted kappa, linear", "weighted_kappa_quadratic": "weighted kappa, quadratic",
    "krippendorff_alpha_ordinal": "ordinal alpha", "krippendorff_alpha_interval": "interval alpha",
    "icc_1": "ICC(1) of ratings", "icc_a1": "ICC(A,1) of ratings", "icc_c1": "ICC(C,1) of ratings",
    "icc_ak": "ICC(A,k) of ratings",
}  # fmt: skip
GRADES = (
    (3, 0.0, (-1.5, -0.5, 0.5, 1.5), "3 raters, five grades"),
    (5, 0.0, (0.5, 1.5, 2.5), "5 raters, four grades, the lowest in 64% of cases"),
    (3, 0.3, (-1.5, -0.5, 0.5, 1.5), "3 raters who differ, five grades"),
)
"""Raters, SD of their shifts, cuts of a normal variable (SD 1 of cases, 0.6 of errors) into grades, and words."""


def graded(rng: np.random.Generator, shape: tuple[int, int, int], shift: float, cuts: Sequence[float]) -> Values:
    """(studies, cases, raters)"""
    seen = rng.normal(size=(*shape[:2], 1)) + rng.normal(0, shift, (shape[0], 1, shape[2])) + rng.normal(0, 0.6, shape)
    return np.searchsorted(cuts, seen).astype(np.float64)


def ordered_lines(studies: int) -> Iterator[Line]:
    """Ordinal ratings, as ``reliability`` has them; half as many studies. Of raters who differ, ICC(A) alone."""
    for raters, shift, cuts, model in GRADES:
        rng = np.random.default_rng(18)
        # other raters count where raters differ: many of them
        many = graded(rng, (1, 2000, 200) if shift else (1, 20_000, raters), shift, cuts)[0]
        truths = {name: float(one.value) for name, one in ordered_values(many, only_icc=bool(shift)).items()}
        if shift:
            single = truths["icc_a1"]
            truths = {"icc_a1": single, "icc_ak": raters * single / (1 + (raters - 1) * single)}
        drawn = {n: graded(rng, (max(studies // 2, 1), n, raters), shift, cuts) for n in SUBJECTS}
        found = {n: [ordered_values(table, only_icc=bool(shift)) for table in tables] for n, tables in drawn.items()}
        for name, truth in truths.items():
            by_n = {n: ([one[name] for one in studies_of_n], truth) for n, studies_of_n in found.items()}
            yield line(ORDERED[name], model, by_n.__getitem__, promised=name == "krippendorff_alpha_ordinal")


def ordered_values(values: Values, only_icc: bool) -> dict[str, Interval]:
    """Numbers of all raters with their intervals."""
    settings, every = ReliabilitySettings(), range(values.shape[1])
    table = OrderedTable(Ratings.of(values.tolist(), kind="ordinal", labels=list(range(5))))
    found = table.correlations(settings)
    if only_icc:
        return found
    pairs = list(combinations(every, 2))
    parts = {name: mean_of_pairs([table.kappa(*pair, power) for pair in pairs]) for name, power in WEIGHTS.items()}
    parts |= {name: table.alpha(every, ranked) for name, ranked in ALPHAS.items()}
    return table.intervals(parts, every, settings) | found


def _rhos(
    studies: int, rng: np.random.Generator, source: str, model: str, whole: Ratings, fewest: Mapping[str, int]
) -> Simulation:
    truth, settings = rho(whole, rater_accuracy(whole, source).accuracy).value, ReliabilitySettings()

    def simulate(n: int) -> tuple[list[Interval], float]:
        if n < fewest[source]:
            few = Undefined("few_subjects_by_majority")
            return [Interval(math.nan, few, few, 0.95, "jackknife", n)], truth
        drawn, found = rated(rng, n * studies, model=model), []
        for k in range(studies):
            ratings = make_ratings(drawn, slice(k * n, (k + 1) * n), reference=True)
            score = rho(ratings, rater_accuracy(ratings, source).accuracy)
            found.append(rho_interval(ratings, source, score, "uniform", "none", settings, fewest))
        return found, truth

    return simulate


# -- sizes and distances between raters -----------------------------------------------------------

RATERS = (3, 5)
PARTS = {"subjects": 7.0, "raters": 1.0, "errors": 2.0}
"""Variances of sizes that are normal, in any unit."""
LOG_PARTS = {"subjects": 0.36, "raters": 0.01, "errors": 0.03}
"""Variances of the logarithms of sizes whose errors grow with them."""


def size_tables(rng: np.random.Generator, shape: tuple[int, int, int], parts: Mapping[str, float]) -> Values:
    """(studies, subjects, raters): subjects, raters and errors differ by variances that add."""
    studies, n, raters = shape
    spread = {name: math.sqrt(variance) for name, variance in parts.items()}
    found = rng.normal(0, spread["subjects"], (studies, n, 1)) + rng.normal(0, spread["raters"], (studies, 1, raters))
    return np.asarray(found + rng.normal(0, spread["errors"], shape))


def log_variances(parts: Mapping[str, float]) -> tuple[float, float]:
    """Variance between subjects, and that of one size by any rater, of exponentials of normal numbers."""
    whole = sum(parts.values())
    return math.exp(whole) * (math.exp(parts["subjects"]) - 1), math.exp(whole) * (math.exp(whole) - 1)


def size_lines(studies: int) -> Iterator[Line]:
    """Detectable change and limits of agreement, as ``size_agreement.csv`` has them."""
    normal = PARTS["subjects"], sum(PARTS.values())
    for raters, log in product(RATERS, (False, True)):
        between, whole = log_variances(LOG_PARTS) if log else normal
        model = f"{raters} raters, {'lognormal sizes, errors grow with them' if log else 'normal sizes'}"
        study = _of_model(studies, raters, log)
        change = LIMIT * math.sqrt(2 * (whole - between))
        yield line("smallest detectable change", model, study(_change, change), promised=not log)
        if log:
            between, whole = LOG_PARTS["subjects"], sum(LOG_PARTS.values())
            factor = math.exp(LIMIT * math.sqrt(2 * (whole - between)))
            yield line("smallest detectable change, as a factor", model, study(_factor, factor))
    ratio = math.exp(LIMIT * math.sqrt(2 * LOG_PARTS["errors"]))
    for raters in RATERS:
        reach = math.sqrt((LOG_PARTS["raters"] + LOG_PARTS["errors"]) * (raters - 1) / raters)
        study = _of_model(studies, raters, log=True)
        model = f"{raters} raters, lognormal ratios"
        yield line("limits of agreement with the mean", model, study(_mean_limit, math.exp(LIMIT * reach)))
    yield line("limits of agreement of two raters", "lognormal ratios", _pair_limits(studies, ratio, math.inf))
    model = "ratios with a long tail (t with 4 degrees of freedom)"
    yield line("limits of agreement of two raters", model, _pair_limits(studies, ratio, 4), promised=False)
    yield line("repeatability", "one rater, two sessions, lognormal ratios", _repeatability(studies, ratio))


RATIOS = ((7.0, 1.0, 2.0), (36.0, 1.0, 3.0), (5.0, 2.0, 1.0), (2.0, 1.0, 2.0), (10.0, 0.2, 1.0))
"""Variances of subjects, raters and errors: among them raters that differ twice as much as errors."""


def correlation_lines(studies: int) -> Iterator[Line]:
    """ICC(A,1), with the interval of the tables and with McGraw and Wong's; half as many studies."""
    fewer = max(studies // 2, 1)
    unlike = RATIOS[0], RATIOS[2]
    for raters, ratio in [*product((3,), RATIOS), *product((5, 8), unlike)]:
        parts = dict(zip(PARTS, ratio, strict=True))
        model = f"{raters} raters, normal, variances {' : '.join(f'{v:g}' for v in ratio)}"
        study = _correlations(fewer, raters, parts, "generalized", ratio[0] / sum(ratio))
        yield line("ICC(A,1)", model, study)
        if ratio in unlike:
            study = _correlations(fewer, raters, parts, "mcgraw-wong", ratio[0] / sum(ratio))
            yield line("ICC(A,1), McGraw and Wong's interval", model, study, promised=False)
    share = PARTS["subjects"] / sum(PARTS.values())
    gaps = _correlations(max(fewer // 2, 1), 3, PARTS, "generalized", share, missing=0.2)
    yield line("ICC(A,1)", "3 raters, normal, variances 7 : 1 : 2, a fifth of the sizes missing", gaps)
    between, whole = log_variances(LOG_PARTS)
    for raters in (3, 5):
        model = f"{raters} raters, lognormal sizes, errors grow with them"
        skewed = _correlations(fewer, raters, LOG_PARTS, "generalized", between / whole, log=True)
        yield line("ICC(A,1) of sizes", model, skewed, promised=False)


def _correlations(
    studies: int, raters: int, parts: Mapping[str, float], interval: str, truth: float, *, missing: float = 0,
    log: bool = False,
) -> Simulation:  # fmt: skip
    rng = np.random.default_rng(15)

    def simulate(n: int) -> tuple[list[Interval], float]:
        tables = size_tables(rng, (studies, n, raters), parts)
        tables[rng.random(tables.shape) < missing] = np.nan
        return [_correlation(np.exp(table) if log else table, interval) for table in tables], truth

    return simulate


def _correlation(sizes: Values, interval: str) -> Interval:
    r = icc_of_model(fit_sizes(sizes), "A,1", level=0.95, interval=interval)
    return Interval(r.value, r.low, r.high, 0.95, r.method, len(sizes))


def _change(sizes: Values, log: bool = False) -> Interval:
    fit = fit_sizes(np.log(sizes) if log else sizes)
    variance = (fit, fit, fit) if isinstance(fit, Undefined) else fit.error_variance(True, 0.95)
    return spread_interval(variance, LIMIT * math.sqrt(2), 0.95, len(sizes), log)


def _factor(sizes: Values) -> Interval:
    return _change(sizes, log=True)


def _mean_limit(sizes: Values) -> Interval:
    return limits_with_mean(sizes, log=True).limit


def _of_model(studies: int, raters: int, log: bool) -> Callable[[Callable[[Values], Interval], float], Simulation]:
    """A simulation for each statistic of all raters, and the value it should have."""
    parts = LOG_PARTS if log else PARTS

    def make(statistic: Callable[[Values], Interval], truth: float) -> Simulation:
        rng = np.random.default_rng(10)

        def simulate(n: int) -> tuple[list[Interval], float]:
            tables = size_tables(rng, (studies, n, raters), parts)
            return [statistic(table) for table in (np.exp(tables) if log else tables)], truth

        return simulate

    return make


def _pair_limits(studies: int, ratio: float, freedom: float) -> Simulation:
    """The upper limit; ratios whose logarithms have the same 97.5th percentile, with long tails or without."""
    rng = np.random.default_rng(11)

    def simulate(n: int) -> tuple[list[Interval], float]:
        base = rng.normal(0, 0.6, (studies, n))
        if math.isinf(freedom):
            apart = rng.normal(0, 1, (studies, n)) / LIMIT
        else:
            apart = rng.standard_t(freedom, (studies, n)) / student_quantile(0.975, freedom)
        ratios = np.exp(math.log(ratio) * apart)
        pairs = zip(np.exp(base) * ratios, np.exp(base), strict=True)
        return [bland_altman(a, b, log=True).upper for a, b in pairs], ratio

    return simulate


def _repeatability(studies: int, ratio: float) -> Simulation:
    rng = np.random.default_rng(12)

    def simulate(n: int) -> tuple[list[Interval], float]:
        spread = math.log(ratio) / (LIMIT * math.sqrt(2))
        tables = rng.normal(0, 0.6, (studies, n, 1, 1)) + rng.normal(0, spread, (studies, n, 1, 2))
        return [repeatability(table, log=True).repeatability for table in np.exp(tables)], ratio

    return simulate


def reference_lines(studies: int) -> Iterator[Line]:
    """How many times the sizes of a given reference those of a rater or algorithm are, as sentences have it."""
    rng = np.random.default_rng(16)
    spread = {
        "lognormal ratios": lambda shape: rng.normal(0, 1, shape),
        "ratios with a long tail (t with 4 degrees of freedom)": lambda shape: rng.standard_t(4, shape),
        "ratios whose logarithms are skewed (gamma, skewness 1.4)": lambda shape: rng.gamma(2, 1, shape) - 2,
    }
    for model, draw in spread.items():

        def simulate(n: int, draw: Callable[[tuple[int, int]], Values] = draw) -> tuple[list[Interval], float]:
            sizes, ratios = np.exp(rng.normal(0, 0.6, (studies, n))), np.exp(0.1 + 0.15 * draw((studies, n)))
            pairs = zip(sizes * ratios, sizes, strict=True)
            return [bland_altman(a, b, log=True).bias for a, b in pairs], math.exp(0.1)

        yield line("ratio to the sizes of a given reference", model, simulate, promised="skewed" not in model)

    def several(n: int) -> tuple[list[Interval], float]:
        names = np.repeat(np.arange(n), 3)
        ratios = rng.normal(0.1, 0.12, (studies, n, 1)) + rng.normal(0, 0.1, (studies, n, 3))
        sizes = np.exp(rng.normal(0, 0.6, (studies, 3 * n)))
        pairs = zip(sizes * np.exp(ratios.reshape(studies, -1)), sizes, strict=True)
        return [bland_altman(a, b, log=True, subjects=names).bias for a, b in pairs], math.exp(0.1)

    yield line("ratio to the sizes of a given reference", "lognormal ratios, three cases a subject", several)


FROC = (("4 lesions a case on average", 4.0, 0.0), ("2 lesions a case on average, cases unlike", 2.0, 0.8))
"""Mean number of lesions, and SD of what all scores of a case share."""
FROC_NAMES = {
    AT_ONE: "lesion sensitivity at 1 false positive a case", SCORE: "FROC score",
    "lesion_sensitivity": "lesion sensitivity at a threshold", "false_positives": "false positives a case",
}  # fmt: skip


def responses(
    rng: np.random.Generator, cases: int, mean: float, unlike: float
) -> tuple[list[Values], list[Values], NDArray[np.int64]]:
    """Scores of lesions that an algorithm proposes and of its false positives, by case, and the number of lesions."""
    lesions, false = 1 + rng.poisson(mean - 1, cases), rng.poisson(3, cases)
    shift = rng.normal(0, unlike, cases)
    proposed = rng.binomial(lesions, 0.9)
    hits = [rng.normal(1.5 + s, 1, k) for s, k in zip(shift, proposed, strict=True)]
    return hits, [rng.normal(s, 1, k) for s, k in zip(shift, false, strict=True)], lesions


GROUPS = {
    "equal spread, skewed": CaseScenario(),
    "one group spreads twice as much": CaseScenario(spread=2.0),
    "three labels, one of them in two thirds of subjects": CaseScenario(labels=3),
}


def group_lines(studies: int) -> Iterator[Line]:
    """The difference of two groups of cases, with n subjects each, as ``groups.csv`` has it."""
    for model, scenario in GROUPS.items():
        rng = np.random.default_rng(18)

        def simulate(
            n: int, scenario: CaseScenario = scenario, rng: np.random.Generator = rng
        ) -> tuple[list[Interval], float]:
            drawn = (simulate_cases(scenario, (n, n), rng) for _ in range(studies))
            groups = range(n), range(n, 2 * n)
            return [compare_case_groups(values, *groups, permutations=1).difference for values in drawn], 0.0

        yield line("difference of two groups of cases, n each", model, simulate)


OF_RATERS: tuple[tuple[str, bool, tuple[int, ...], dict[str, Any]], ...] = (
    ("who differ in care, groups with ways of their own", True, (2, 3, 5), {"care": 0.4, "apart": 2.0}),
    ("mean Dice 0.8, skewness 0.5 to 1.2", True, (2, 3, 5), {"care": 0.3, "larger": 1.3, "unlike": 0.1}),
    ("three labels, one of them in half of subjects", True, (3,), {"care": 0.4, "apart": 1.5, "labels": 3}),
    ("mean Dice 0.8, skewness 1.6 to 2", False, (2, 3, 5), {"care": 0.4, "larger": 1.3}),
)
"""A model, whether it is promised, raters of a group, and how they differ."""
RATER_GROUPS = {
    "first": "agreement within a group of raters",
    "between": "agreement between two groups of raters",
    "difference": "difference of two groups of raters",
}
PANELS, MANY_CASES = 50, 40_000
"""Panels of raters of a line, and the subjects of each that stand for infinitely many."""
Held = tuple[Interval, float]
"""An interval, and what it should hold."""


def rater_group_lines(studies: int) -> Iterator[Line]:
    """Agreement within and between groups of raters, for these raters and other subjects, as ``groups.csv`` has it."""
    for model, promised, sizes, how in OF_RATERS:
        for size in sizes:
            found = _rater_groups(GroupScenario(size, size, **how), max(studies // PANELS, 1))
            for name, words in RATER_GROUPS.items():
                held = {n: by[name] for n, by in found.items()}
                yield line_of(words, f"{size} raters a group, {model}", held, promised or name == "difference")
            if not promised:
                others = float(np.mean([truth for _, truth in found[SUBJECTS[0]]["first"]]))
                held = {n: [(interval, others) for interval, _ in by["first"]] for n, by in found.items()}
                yield line_of(
                    RATER_GROUPS["first"], f"{size} raters a group, read as if it held for others", held, False
                )


def _rater_groups(scenario: GroupScenario, studies: int) -> dict[int, dict[str, list[Held]]]:
    """By number of subjects and quantity, intervals of so many studies of each panel of raters."""
    rng, groups = np.random.default_rng(19), (range(scenario.first), range(scenario.first, 2 * scenario.first))
    found: dict[int, dict[str, list[Held]]] = {n: {name: [] for name in RATER_GROUPS} for n in SUBJECTS}

    def compare(subjects: int, errors: Values) -> dict[str, Interval]:
        pairs = simulate_pairs(scenario, subjects, rng, errors)
        compared = compare_rater_groups(pairs, *groups, permutations=1, scale="share")
        return {name: getattr(compared, name) for name in RATER_GROUPS}

    for _ in range(PANELS):
        errors = draw_raters(scenario, rng)
        truth = {name: float(interval.value) for name, interval in compare(MANY_CASES, errors).items()}
        for n, _ in product(SUBJECTS, range(studies)):
            for name, interval in compare(n, errors).items():
                found[n][name].append((interval, truth[name]))
    return found


def line_of(quantity: str, model: str, held: Mapping[int, Sequence[Held]], promised: bool) -> Line:
    """A line of intervals each of which should hold a value of its own."""
    at = []
    for n in SUBJECTS:
        known = [(i, truth) for i, truth in held[n] if not math.isnan(i.low)]
        hits = sum(i.low <= truth <= i.high for i, truth in known)
        at.append((hits / len(known) if known else math.nan, 1 - len(known) / len(held[n])))
    covered, refused = zip(*at, strict=True)
    return Line(quantity, model, covered, refused, promised)


def froc_lines(studies: int) -> Iterator[Line]:
    """Points of a free-response curve over all lesions, as ``froc.csv`` has them; half as many studies."""
    for model, mean, unlike in FROC:
        found = _froc_intervals(max(studies // 2, 1), mean, unlike)
        for name, words in FROC_NAMES.items():
            yield line(words, model, {n: of_n[name] for n, of_n in found.items()}.__getitem__)


def _froc_intervals(studies: int, mean: float, unlike: float) -> dict[int, dict[str, tuple[list[Interval], float]]]:
    rng, threshold = np.random.default_rng(17), 0.75
    hits, false, lesions = responses(rng, MANY, mean, unlike)
    found, alarms = np.concatenate(hits), np.sort(np.append(np.concatenate(false), [-np.inf] * (8 * MANY)))[::-1]
    at = [float((found >= alarms[int(rate * MANY)]).sum() / lesions.sum()) for rate in AT_RATES]
    truth = {
        AT_ONE: at[AT_RATES.index(1.0)], SCORE: float(np.mean(at)),
        "lesion_sensitivity": float((found >= threshold).sum() / lesions.sum()),
        "false_positives": float((alarms >= threshold).sum() / MANY),
    }  # fmt: skip
    whole: dict[int, dict[str, tuple[list[Interval], float]]] = {}
    for n in SUBJECTS:
        whole[n] = {name: ([], value) for name, value in truth.items()}
        for _ in range(studies):
            hits, false, lesions = responses(rng, n, mean, unlike)
            of_cases = zip(hits, false, lesions.tolist(), strict=True)
            given = [FreeResponse(tuple(h.tolist()), tuple(f.tolist()), k) for h, f, k in of_cases]
            for name, interval in _froc_study(given, threshold).items():
                whole[n][name][0].append(interval)
    return whole


def _froc_study(given: Sequence[FreeResponse], threshold: float) -> dict[str, Interval]:
    """The intervals of one study: the last rows of its table, and the point of its curve at a threshold."""
    names = [str(k) for k in range(len(given))]
    rows = {row.statistic: row for row in froc_rows(given, names, Settings())}
    found = {
        name: Interval(rows[name].value, end_of(rows[name].low), end_of(rows[name].high), 0.95, "", len(given))
        for name in (AT_ONE, SCORE)
    }
    curve = Curve.of(given, names)
    here = [int((curve.thresholds >= threshold).sum()) - 1]
    (found["lesion_sensitivity"],) = froc_ratios(curve.hits[:, here], curve.lesions, "share", 0.95)
    (found["false_positives"],) = froc_ratios(curve.false[:, here], curve.cases, "positive", 0.95)
    return found


def distance_lines(studies: int) -> Iterator[Line]:
    """Mean distances over pairs of raters and subjects, which differ more than pairs do."""
    rng = np.random.default_rng(13)
    for raters, sd in product(RATERS, (0.4, 0.8)):
        truth = math.exp((sd**2 + 0.3**2) / 2)
        pairs = raters * (raters - 1) // 2

        def simulate(n: int, sd: float = sd, truth: float = truth, pairs: int = pairs) -> tuple[list[Interval], float]:
            apart = rng.normal(0, sd, (n, studies, 1)) + rng.normal(0, 0.3, (n, studies, pairs))
            return mean_intervals(np.exp(apart).mean(axis=2), "positive"), truth

        model = f"{raters} raters, lognormal, σ = {sd:g} between subjects"
        yield line("mean distance over pairs of raters", model, simulate, promised=False)


# -- pooled numbers of masks -----------------------------------------------------------------------


def sized(rng: np.random.Generator, shape: tuple[int, ...], sd: float, related: float) -> tuple[Values, Values]:
    """Sizes of subjects, and their Dice."""
    size = rng.lognormal(0, sd, shape)
    centre = 1.4 + related * np.log(size)
    return size, np.asarray(1 / (1 + np.exp(-rng.normal(centre, 0.7, shape))))


MODELS = ((0.0, 0.0), (0.5, 0.5), (0.75, -0.5), (1.0, 0.0), (1.0, 0.5), (1.0, -0.5), (1.5, 0.5), (1.5, -0.5))
"""Spread of sizes, and how much their logarithm changes the logit of Dice."""


def model_name(sd: float, related: float) -> str:
    better = {0.5: ", larger ones better", -0.5: ", smaller ones better"}.get(related, "")
    return f"sizes lognormal, σ = {sd:g}{better}" if sd else "equal sizes"


def pooled_lines(studies: int) -> Iterator[Line]:
    """Pooled Dice, a ratio of sums, printed as the commands do and were it always printed."""
    for sd, related in MODELS:
        name = model_name(sd, related)
        yield line("pooled Dice", name, _pooled(studies, sd, related, few_effective_subjects), promised=False)
        yield line("pooled Dice, were it always printed", name, _pooled(studies, sd, related, never), promised=False)


Guard = Callable[[Values], Undefined | None]
"""Why sizes of subjects give no interval; None where they do."""


def never(_: Values) -> None:
    return None


def thirty_effective(sizes: Values) -> Undefined | None:
    """A limit on the effective number alone."""
    return Undefined("few_effective_subjects") if effective_subjects(sizes) < MIN_EFFECTIVE else None


def _pooled(studies: int, sd: float, related: float, guard: Guard) -> Simulation:
    rng = np.random.default_rng(5)
    size, dice = sized(rng, (10 * MANY,), sd, related)
    truth = float((size * dice).sum() / size.sum())

    def simulate(n: int) -> tuple[list[Interval], float]:
        pairs = zip(*sized(rng, (studies, n), sd, related), strict=True)
        return [pooled_interval(sizes, values, guard) for sizes, values in pairs], truth

    return simulate


def pooled_interval(size: Values, dice: Values, guard: Guard) -> Interval:
    """The interval of a ratio of sums, as pooled statistics of masks have it."""
    effective, n, part, few = effective_subjects(size), len(size), size * dice, guard(size)
    if few is not None:
        return Interval(math.nan, few, few, 0.95, "jackknife", n)
    left_out = (part.sum() - part) / (size.sum() - size)
    value = float(part.sum() / size.sum())
    return jackknife_interval(value, left_out, effective - 1, "share", 0.95, n)


def missed_table(studies: int) -> str:
    """The share of all studies that print an interval of pooled Dice that misses, by the limit on their sizes."""
    lines = ["| limit | model | n = 50 | n = 100 | n = 200 |", "|---|---|---|---|---|"]
    guards = {"effective 30": thirty_effective, "effective 30, and half of the subjects": few_effective_subjects}
    for (sd, related), (name, guard) in product(MODELS[1:], guards.items()):
        simulate, cells = _pooled(studies, sd, related, guard), []
        for n in (50, 100, 200):
            covered, refused = coverage_of(*simulate(n))
            cells.append(f"{0.0 if math.isnan(covered) else (1 - covered) * (1 - refused):.3f}")
        lines.append(f"| {name} | {model_name(sd, related)} | {' | '.join(cells)} |")
    return "\n".join(lines)


# -- the table -------------------------------------------------------------------------------------


# -- shares of decisions ---------------------------------------------------------------------------


def share_lines(studies: int) -> Iterator[Line]:
    """Shares of an adjudicator's decisions, those about one patient being alike."""
    for items, alike, truth, promised in (
        (2, 0.0, 0.1, True), (2, 0.3, 0.1, True), (4, 0.2, 0.2, True), (8, 0.2, 0.5, True), (8, 0.5, 0.9, False),
    ):  # fmt: skip
        kind = f"correlation {alike}" if alike else "independent"
        model = f"{items} decisions a subject, {kind}, true share {truth}"
        yield line("share of decisions", model, _shares(studies, items, alike, truth), promised)


def _shares(studies: int, items: int, alike: float, truth: float) -> Simulation:
    rng = np.random.default_rng(14)

    def simulate(n: int) -> tuple[list[Interval], float]:
        sizes = 1 + rng.poisson(items - 1, (studies, n))
        chance = np.full(sizes.shape, truth)
        if alike:
            chance = rng.beta(truth * (1 / alike - 1), (1 - truth) * (1 / alike - 1), sizes.shape)
        counts = rng.binomial(sizes, chance)
        return [
            Interval(float(c.sum() / s.sum()), *clustered_proportion_interval(c.tolist(), s.tolist()), 0.95, "exact", n)
            for c, s in zip(counts, sizes, strict=True)
        ], truth

    return simulate


LINES: dict[str, Callable[[int], Iterator[Line]]] = {
    "means": mean_lines,
    "both": both_lines,
    "kappas": kappa_lines,
    "labels": label_lines,
    "seeds": seed_lines,
    "lesions": lesion_lines,
    "areas": area_lines,
    "sizes": size_lines,
    "correlations": correlation_lines,
    "reference": reference_lines,
    "groups": group_lines,
    "rater-groups": rater_group_lines,
    "froc": froc_lines,
    "distances": distance_lines,
    "ratings": rating_lines,
    "ordered": ordered_lines,
    "failures": failure_lines,
    "shares": share_lines,
    "pooled": pooled_lines,
}
"""Parts of the table by name."""


def all_lines(studies: int = STUDIES, parts: Sequence[str] = tuple(LINES)) -> Iterator[Line]:
    for part in parts:
        yield from LINES[part](studies)


def format_line(found: Line) -> str:
    cells = []
    for covered, refused in zip(found.coverage, found.refused, strict=True):
        without = f" ({refused:.0%} without)" if refused >= 0.005 and not math.isnan(covered) else ""
        cells.append("no interval" if math.isnan(covered) else f"{covered:.3f}{without}")
    return f"| {found.quantity} | {found.model} | {' | '.join(cells)} |"


HEADER = f"| quantity | model | {' | '.join(f'n = {n}' for n in SUBJECTS)} |\n|---|---|---|---|---|"
NOT_PROMISED = "Not promised:"


def put_lines(text: str, found: Sequence[Line], promised: bool) -> str:
    """One of the two tables of a page, with new lines in place of those about the same; other lines stay."""
    first, _, second = text.partition(NOT_PROMISED)
    there = (first if promised else second.partition(MISSED)[0]).partition(HEADER)[2].strip().splitlines()
    elsewhere = {_about(format_line(one)) for one in found if one.promised is not promised}
    lines = {_about(line): line for line in there if _about(line) not in elsewhere}
    lines |= {_about(format_line(one)): format_line(one) for one in found if one.promised is promised}
    return "\n".join([HEADER, *lines.values()])


def _about(line: str) -> tuple[str, ...]:
    """Quantity and model."""
    return tuple(line.split("|")[1:3])


def main(studies: int, parts: Sequence[str]) -> int:
    """Measure some parts, or all, which also empties the tables before; the page must be there."""
    started, found = time.perf_counter(), []
    for one in all_lines(studies, parts or tuple(LINES)):
        print(format_line(one), flush=True)
        found.append(one)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
    old, _, after = rest.partition(MARKS[1])
    missed = old.partition(MISSED)[2].strip() if parts else missed_table(studies)
    of_fewer = f"of kappas, areas, ICC, FROC and ordered ratings, {studies // 4:,} or {studies // 2:,}"
    count = f"{studies:,} simulated studies a point; {of_fewer}."
    promised, others = (put_lines(old if parts else "", found, which) for which in (True, False))
    text = "\n\n".join([f"{MARKS[0]}\n{count}", promised, NOT_PROMISED, others, MISSED, f"{missed}\n{MARKS[1]}"])
    PAGE.write_text(before + text + after, encoding="utf-8")
    low = [one for one in found if one.promised and any(c < WANTED for c in one.coverage)]
    print(f"{time.perf_counter() - started:.0f} s; " + (f"below {WANTED}: {low}" if low else f"all at least {WANTED}"))
    return len(low)


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    named = [argument for argument in sys.argv[1:] if not argument.isdigit()]
    sys.exit(main(numbers[0] if numbers else STUDIES, named))
