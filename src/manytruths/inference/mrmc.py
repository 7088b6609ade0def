"""Multi-reader multi-case (MRMC) comparison of modalities: the method of Obuchowski and Rockette.

The same r readers read the same cases with each of t modalities (imaging techniques, or without and with the help of an
algorithm). θ_ij is the performance of reader j with modality i: the area under the empirical ROC curve, or the mean of
any number by case. The model is ::

    θ_ij = μ + τ_i + R_j + (τR)_ij + ε_ij

with fixed modalities, random readers, and errors ε_ij from the cases that happened to be in the study. These errors are
correlated, as all readers and modalities share the cases; their covariances are estimated from the cases (jackknife, or
DeLong's method for ROC areas) and averaged by kind ::

    Var     of ε_ij                      Cov2    same modality, other reader
    Cov1    other modality, same reader  Cov3    other modality, other reader

With the mean squares of the two-way table of θ, the hypothesis of equal modalities is tested for three populations ::

    readers and cases   F = MS(T) / [MS(TR) + r max(Cov2 − Cov3, 0)],  F(t − 1, ddf)
                        ddf = [MS(TR) + r max(Cov2 − Cov3, 0)]² (t − 1)(r − 1) / MS(TR)²          (Hillis 2007)
    cases               χ² = (t − 1) MS(T) / [Var − Cov1 + (r − 1) max(Cov2 − Cov3, 0)]
    readers             F = MS(T) / MS(TR),  F(t − 1, (t − 1)(r − 1))

where "cases" means that results are for these readers and other cases, and "readers" for these cases and other readers.

Obuchowski NA, Rockette HE. Hypothesis testing of diagnostic accuracy for multiple readers and multiple tests: an ANOVA
approach with dependent observations. Commun Stat Simul Comput 1995;24:285–308. doi:10.1080/03610919508813243
Hillis SL. A comparison of denominator degrees of freedom methods for multiple observer ROC analysis. Stat Med
2007;26:596–619. doi:10.1002/sim.2532
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, InputError
from ..core.undefined import Undefined, undefined_like
from .intervals import MIN_SUBJECTS
from .rater_tests import FEWEST_RATERS, holm

Values = NDArray[np.float64]
Population = Literal["readers and cases", "cases", "readers"]
Covariance = Literal["jackknife", "delong"]
POPULATIONS: tuple[Population, ...] = get_args(Population)
NO_SPREAD = 1e-14
"""Variances that are smaller are rounding."""


@dataclass(frozen=True)
class MRMCEstimate:
    """A number with its interval and, for differences, its test.

    Attributes
    ----------
    value : float
        The estimate.
    low, high : float
        Its interval; undefined with a reason where there is none.
    error : float
        Standard error.
    df : float
        Degrees of freedom; infinite where the normal distribution is used.
    p_value : float
        Two-sided, of a difference of 0; NaN where the number is no difference.
    p_holm : float
        Adjusted over all pairs of modalities.
    """

    value: float
    low: float
    high: float
    error: float
    df: float
    p_value: float = math.nan
    p_holm: float = math.nan


@dataclass(frozen=True)
class MRMCTest:
    """The comparison of the modalities for one population.

    Attributes
    ----------
    population : {"readers and cases", "cases", "readers"}
        Whom the results are for: other readers and other cases, these readers and other cases, or other readers and
        these cases.
    statistic : float
        F; for ``cases``, χ² divided by its degrees of freedom, which is F with infinite denominator degrees of freedom.
    df1, df2 : float
        Degrees of freedom of numerator and denominator.
    p_value : float
        Of the hypothesis that all modalities are equal; undefined with a reason where it is not tested.
    estimates : tuple of MRMCEstimate
        The mean over readers for each modality, each from its own data.
    differences : tuple of MRMCEstimate
        First minus second modality, for every pair in the order of :attr:`MRMC.pairs`.
    """

    population: Population
    statistic: float
    df1: float
    df2: float
    p_value: float
    estimates: tuple[MRMCEstimate, ...]
    differences: tuple[MRMCEstimate, ...]


@dataclass(frozen=True, eq=False)
class MRMC:
    """The result of :func:`mrmc`.

    Attributes
    ----------
    modalities, readers : tuple of str
        Their names, in the order of the arrays.
    metric : {"roc_area", "mean"}
        What is compared.
    covariance : {"jackknife", "delong"}
        How the covariances of errors were estimated.
    values : numpy.ndarray
        (modalities, readers) performance θ.
    cases, subjects : int
        How many there are.
    ms_modality, ms_reader, ms_interaction : float
        Mean squares of the table of ``values``; NaN where there is one reader.
    variance, cov1, cov2, cov3 : float
        Variance and covariances of errors.
    reader_variance, interaction_variance : float
        Variance components of readers, and of readers by modality.
    both, of_cases, of_readers : MRMCTest
        Results for other readers and other cases, for these readers and other cases, and for other readers and these
        cases.
    by_reader : tuple of tuple of MRMCEstimate
        For each reader the difference of every pair of modalities, for other cases.
    level : float
        Confidence level of the intervals.
    """

    modalities: tuple[str, ...]
    readers: tuple[str, ...]
    metric: str
    covariance: str
    values: Values
    cases: int
    subjects: int
    ms_modality: float
    ms_reader: float
    ms_interaction: float
    variance: float
    cov1: float
    cov2: float
    cov3: float
    reader_variance: float
    interaction_variance: float
    both: MRMCTest
    of_cases: MRMCTest
    of_readers: MRMCTest
    by_reader: tuple[tuple[MRMCEstimate, ...], ...]
    level: float

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of modalities, in the order of all differences."""
        return tuple(combinations(self.modalities, 2))

    @property
    def tests(self) -> tuple[MRMCTest, ...]:
        """The results for the three populations."""
        return self.both, self.of_cases, self.of_readers

    def __repr__(self) -> str:
        sizes = f"{len(self.modalities)} modalities, {len(self.readers)} readers, {self.cases} cases"
        return f"<MRMC of {self.metric}: {sizes}; F = {self.both.statistic:.3g}, p = {self.both.p_value:.3g}>"


def mrmc(
    values: ArrayLike,
    truth: ArrayLike | None = None,
    *,
    subjects: Sequence[object] | None = None,
    modalities: Sequence[object] | None = None,
    readers: Sequence[object] | None = None,
    covariance: Covariance = "jackknife",
    level: float = 0.95,
) -> MRMC:
    """Compare modalities that the same readers used on the same cases (Obuchowski–Rockette analysis).

    Parameters
    ----------
    values : array_like
        (modalities, readers, cases): with ``truth`` the ratings, of which higher ones mean that a case is rather
        positive; without it any number by case, such as the Dice coefficient against a given reference.
    truth : array_like, optional
        Whether each case is positive (1) or negative (0); areas under the empirical ROC curves are then compared,
        otherwise means over cases.
    subjects : sequence, optional
        The subject of every case; subjects are left out of the jackknife as a whole. By default each case is one.
    modalities, readers : sequence of str, optional
        Their names; by default numbers from 1.
    covariance : {"jackknife", "delong"}
        How the covariances of errors are estimated; DeLong's method is for ROC areas.
    level : float
        Confidence level of the intervals.

    Returns
    -------
    MRMC
        Performance by modality and reader, their differences with intervals, F tests and variance components, for
        other readers and cases, other cases, and other readers.

    Raises
    ------
    CallError
        If shapes do not fit, values are missing, or there is one modality.
    InputError
        If there are fewer than two positive or two negative cases.

    Notes
    -----
    Intervals and p values for other cases need ten subjects, those for other readers three readers. Intervals of ROC
    areas end at 0 and 1.

    References
    ----------
    Obuchowski NA, Rockette HE. Hypothesis testing of diagnostic accuracy for multiple readers and multiple tests: an
    ANOVA approach with dependent observations. Commun Stat Simul Comput 1995;24:285–308.
    doi:10.1080/03610919508813243
    Hillis SL. A comparison of denominator degrees of freedom methods for multiple observer ROC analysis. Stat Med
    2007;26:596–619. doi:10.1002/sim.2532
    DeLong ER, DeLong DM, Clarke-Pearson DL. Comparing the areas under two or more correlated receiver operating
    characteristic curves. Biometrics 1988;44:837–845. doi:10.2307/2531595

    Examples
    --------
    The Dice coefficient of four readers without and with the help of an algorithm, in 40 cases:

    >>> import numpy as np, manytruths as mt
    >>> rng = np.random.default_rng(1)
    >>> case, reader = rng.normal(0.8, 0.05, 40), rng.normal(0, 0.02, (4, 1))
    >>> alone, helped = (case + reader + gain + rng.normal(0, 0.04, (4, 40)) for gain in (0, 0.03))
    >>> result = mt.mrmc([alone, helped], modalities=["alone", "helped"])
    >>> difference = result.both.differences[0]
    >>> print(f"{difference.value:.3f} ({difference.low:.3f} to {difference.high:.3f}), p = {result.both.p_value:.4f}")
    -0.026 (-0.035 to -0.017), p = 0.0025
    """
    scores = _check_values(values)
    owner = _check_subjects(subjects, scores.shape[2])
    names = _names(modalities, scores.shape[0], "modalities"), _names(readers, scores.shape[1], "readers")
    if covariance not in get_args(Covariance):
        raise CallError(f"covariance is 'jackknife' or 'delong'; got {covariance!r}")
    if not 0 < level < 1:
        raise CallError(f"level must be between 0 and 1; got {level}")
    if truth is None and covariance == "delong":
        raise CallError("covariance 'delong' is for ROC areas: give truth, or use 'jackknife'")
    if subjects is not None and covariance == "delong" and owner.max(initial=0) + 1 < len(owner):
        raise CallError("covariance 'delong' takes every case as a subject; use 'jackknife' for subjects with more")
    if truth is None:
        means, sigma = _mean_performance(scores, owner)
        metric = "mean"
    else:
        positive = _check_truth(truth, scores.shape[2])
        means, sigma = _roc_performance(scores, positive, owner, covariance)
        metric = "roc_area"
    return _analyse(means, sigma, *names, metric, covariance, scores.shape[2], int(owner.max()) + 1, level)


# -- what is given ---------------------------------------------------------------------------------


def _check_values(values: ArrayLike) -> Values:
    try:
        scores = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise CallError("values are numbers of shape (modalities, readers, cases); these are no such array") from None
    if scores.ndim != 3 or not scores.size:
        raise CallError(f"values have the shape (modalities, readers, cases); got {scores.shape}")
    if scores.shape[0] < 2:
        raise CallError("values hold one modality; a comparison needs two or more")
    if missing := int((~np.isfinite(scores)).sum()):
        raise CallError(
            f"{missing} of {scores.size} values are missing or not finite; the analysis needs every reader's value of "
            "every case with every modality: leave incomplete cases or readers out"
        )
    return scores


def _check_subjects(subjects: Sequence[object] | None, cases: int) -> NDArray[np.intp]:
    if subjects is None:
        return np.arange(cases)
    if len(subjects) != cases:
        raise CallError(f"subjects names one for each of {cases} cases; got {len(subjects)}")
    known = {subject: k for k, subject in enumerate(dict.fromkeys(subjects))}
    return np.array([known[subject] for subject in subjects], np.intp)


def _check_truth(truth: ArrayLike, cases: int) -> NDArray[np.bool_]:
    given = np.asarray(truth)
    if given.shape != (cases,):
        raise CallError(f"truth has one value for each of {cases} cases; got shape {given.shape}")
    if not np.isin(given, (0, 1)).all():
        raise CallError("truth is 1 for positive and 0 for negative cases, and nothing else")
    positive = np.asarray(given == 1)
    counts = int(positive.sum()), int((~positive).sum())
    if min(counts) < 2:
        raise InputError(
            f"ROC areas and their errors need two positive and two negative cases; there are {counts[0]} and "
            f"{counts[1]}"
        )
    return positive


def _names(names: Sequence[object] | None, count: int, what: str) -> tuple[str, ...]:
    if names is None:
        return tuple(str(i + 1) for i in range(count))
    if len(names) != count or len({*map(str, names)}) < count:
        raise CallError(f"{what} has {count} different names, one for each; got {', '.join(map(str, names))}")
    return tuple(map(str, names))


# -- performance, and the covariance of its errors ---------------------------------------------------


def _mean_performance(scores: Values, owner: NDArray[np.intp]) -> tuple[Values, Values]:
    """(modalities, readers) means over cases, and the jackknife covariance of all of them."""
    rows = scores.reshape(-1, scores.shape[2])
    sums, counts = _sum_by_subject(rows.T, owner), np.bincount(owner)[:, None]
    left_out = (sums.sum(axis=0) - sums) / (counts.sum() - counts) if len(sums) > 1 else np.full(sums.shape, np.nan)
    return scores.mean(axis=2), _jackknife_covariance(left_out)


def _sum_by_subject(values: Values, owner: NDArray[np.intp]) -> Values:
    """Sums of the rows of each subject."""
    sums = np.zeros((int(owner.max()) + 1, *values.shape[1:]))
    np.add.at(sums, owner, values)
    return sums


def _jackknife_covariance(left_out: Values) -> Values:
    """Covariance of statistics from their values, (subjects, statistics), with each subject left out."""
    n = len(left_out)
    apart = left_out - left_out.mean(axis=0)
    return np.asarray((n - 1) / n * apart.T @ apart)


def _roc_performance(
    scores: Values, positive: NDArray[np.bool_], owner: NDArray[np.intp], covariance: str
) -> tuple[Values, Values]:
    """(modalities, readers) areas under empirical ROC curves, and the covariance of all of them."""
    rows = scores.reshape(-1, scores.shape[2])
    subjects = int(owner.max()) + 1
    of_positive, of_negative = owner[positive], owner[~positive]
    areas, left_out, placements = [], [], []
    for row in rows:
        yes, no = row[positive], row[~positive]
        above = np.sign(yes[:, None] - no) / 2 + 0.5
        areas.append(above.mean())
        if covariance == "delong":
            placements.append((above.mean(axis=1), above.mean(axis=0)))
        else:
            left_out.append(_areas_without(above, of_positive, of_negative, subjects))
    performance = np.array(areas).reshape(scores.shape[:2])
    if covariance == "delong":
        of_yes, of_no = (np.array(each) for each in zip(*placements, strict=True))
        sigma = np.cov(of_yes) / of_yes.shape[1] + np.cov(of_no) / of_no.shape[1]
        return performance, np.atleast_2d(sigma)
    without = np.array(left_out).T
    if np.isnan(without).any():
        raise InputError("all positive or all negative cases are of one subject, who cannot be left out of a ROC area")
    return performance, _jackknife_covariance(without)


def _areas_without(
    above: Values, of_positive: NDArray[np.intp], of_negative: NDArray[np.intp], subjects: int
) -> Values:
    """The ROC area with each subject left out, from (positive, negative) comparisons; NaN where it is undefined."""
    rows = np.bincount(of_positive, above.sum(axis=1), subjects)
    columns = np.bincount(of_negative, above.sum(axis=0), subjects)
    shared = of_positive[:, None] == of_negative
    own = np.bincount(of_positive[np.nonzero(shared)[0]], above[shared], subjects)
    left = (len(of_positive) - np.bincount(of_positive, minlength=subjects)) * (
        len(of_negative) - np.bincount(of_negative, minlength=subjects)
    )
    total = above.sum() - rows - columns + own
    return np.asarray(np.divide(total, left, out=np.full(subjects, np.nan), where=left > 0))


# -- the analysis ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Parts:
    """Covariances of errors, averaged by kind: of all modalities, of each modality, and of each reader."""

    variance: float
    cov1: float
    cov2: float
    cov3: float
    by_modality: list[tuple[float, float]]
    """Variance and Cov2."""
    by_reader: list[tuple[float, float]]
    """Variance and Cov1."""

    @classmethod
    def of(cls, sigma: Values, t: int, r: int) -> _Parts:
        whole = sigma.reshape(t, r, t, r).transpose(0, 2, 1, 3)
        same_modality, same_reader = np.eye(t, dtype=bool), np.eye(r, dtype=bool)

        def average(part: Values) -> float:
            return float(part.mean()) if part.size else 0.0

        def kind(modality: NDArray[np.bool_], reader: NDArray[np.bool_]) -> float:
            return average(whole[modality][:, reader])

        return cls(
            kind(same_modality, same_reader), kind(~same_modality, same_reader), kind(same_modality, ~same_reader),
            kind(~same_modality, ~same_reader),
            [(average(np.diag(whole[i, i])), average(whole[i, i][~same_reader])) for i in range(t)],
            [(average(np.diag(whole[:, :, j, j])), average(whole[:, :, j, j][~same_modality])) for j in range(r)],
        )  # fmt: skip


def _analyse(
    theta: Values, sigma: Values, modalities: tuple[str, ...], readers: tuple[str, ...], metric: str, covariance: str,
    cases: int, subjects: int, level: float,
) -> MRMC:  # fmt: skip
    t, r = theta.shape
    parts = _Parts.of(sigma, t, r)
    of_t, of_r, middle = theta.mean(axis=1), theta.mean(axis=0), theta.mean()
    ms_t = float(r * ((of_t - middle) ** 2).sum() / (t - 1))
    rest = theta - of_t[:, None] - of_r + middle
    ms_r = float(t * ((of_r - middle) ** 2).sum() / (r - 1)) if r > 1 else math.nan
    ms_tr = float((rest**2).sum() / ((t - 1) * (r - 1))) if r > 1 else math.nan
    apart = max(parts.cov2 - parts.cov3, 0.0)
    few_cases = Undefined("too_few_subjects_to_test", f"there are {subjects}") if subjects < MIN_SUBJECTS else None
    few_readers = Undefined("too_few_raters_to_test", f"there are {r}") if r < FEWEST_RATERS else None
    space = (0.0, 1.0) if metric == "roc_area" else (-math.inf, math.inf)
    own = [float(((row - row.mean()) ** 2).sum() / (r - 1)) if r > 1 else math.nan for row in theta]
    pairs = list(combinations(range(t), 2))
    fixed = parts.variance - parts.cov1 + (r - 1) * apart
    interaction = (t - 1) * (r - 1)
    random = [
        (ms / r + max(cov2, 0.0), _hillis(ms, r * max(cov2, 0.0), r - 1))
        for ms, (_, cov2) in zip(own, parts.by_modality, strict=True)
    ]
    both = _Analysis(
        "readers and cases", ms_t, ms_tr + r * apart, t - 1, _hillis(ms_tr, r * apart, interaction),
        few_cases or few_readers, level,
    ).test(theta, pairs, random, space)  # fmt: skip
    of_cases = _Analysis("cases", ms_t, fixed, t - 1, math.inf, few_cases, level).test(
        theta, pairs, [((var + (r - 1) * max(cov2, 0.0)) / r, math.inf) for var, cov2 in parts.by_modality], space
    )
    of_readers = _Analysis("readers", ms_t, ms_tr, t - 1, float(interaction), few_readers, level).test(
        theta, pairs, [(ms / r, r - 1.0) for ms in own], space
    )
    by_reader = tuple(
        tuple(
            _difference(float(theta[a, j] - theta[b, j]), 2 * (variance - cov1), math.inf, few_cases, level)
            for a, b in pairs
        )
        for j, (variance, cov1) in enumerate(parts.by_reader)
    )
    return MRMC(
        modalities, readers, metric, covariance, theta, cases, subjects, ms_t, ms_r, ms_tr, parts.variance, parts.cov1,
        parts.cov2, parts.cov3, (ms_r - ms_tr) / t - parts.cov1 + parts.cov3,
        ms_tr - parts.variance + parts.cov1 + apart, both, of_cases, of_readers, by_reader, level,
    )  # fmt: skip


def _hillis(mean_square: float, rest: float, df: float) -> float:
    """Degrees of freedom of a mean square to which a variance is added."""
    return (mean_square + rest) ** 2 * df / mean_square**2 if mean_square > 0 else math.inf


@dataclass(frozen=True)
class _Analysis:
    population: Population
    ms: float
    denominator: float
    df1: int
    df2: float
    refused: Undefined | None
    level: float

    def test(
        self, theta: Values, pairs: list[tuple[int, int]], errors: list[tuple[float, float]],
        space: tuple[float, float],
    ) -> MRMCTest:  # fmt: skip
        from scipy import stats

        why = self.refused or (None if self.denominator > NO_SPREAD else Undefined("no_spread"))
        f, p = (why, why) if why is not None else (self.ms / self.denominator, math.nan)
        if why is None:
            finite = math.isfinite(self.df2)
            p = float(stats.f.sf(f, self.df1, self.df2) if finite else stats.chi2.sf(f * self.df1, self.df1))
        means = theta.mean(axis=1)
        estimates = tuple(
            _estimate(float(mean), variance, df, self.refused, self.level, space)
            for mean, (variance, df) in zip(means, errors, strict=True)
        )
        error = 2 / theta.shape[1] * self.denominator
        differences = [
            _difference(float(means[a] - means[b]), error, self.df2, self.refused, self.level) for a, b in pairs
        ]
        adjusted = holm(np.array([float(d.p_value) for d in differences]))
        differences = [
            MRMCEstimate(d.value, d.low, d.high, d.error, d.df, d.p_value, _like(d.p_value, float(q)))
            for d, q in zip(differences, adjusted, strict=True)
        ]
        return MRMCTest(self.population, f, self.df1, self.df2, p, estimates, tuple(differences))


def _like(p_value: float, adjusted: float) -> float:
    return undefined_like(p_value) if math.isnan(p_value) else adjusted


def _estimate(
    value: float, variance: float, df: float, refused: Undefined | None, level: float,
    space: tuple[float, float] = (-math.inf, math.inf),
) -> MRMCEstimate:  # fmt: skip
    from scipy import stats

    why = refused or (None if variance > NO_SPREAD else Undefined("no_spread"))
    error = math.sqrt(variance) if variance > 0 else math.nan if math.isnan(variance) else 0.0
    if why is not None:
        return MRMCEstimate(value, why, why, error, df)
    reach = float(stats.t.ppf((1 + level) / 2, df) if math.isfinite(df) else stats.norm.ppf((1 + level) / 2)) * error
    return MRMCEstimate(value, max(value - reach, space[0]), min(value + reach, space[1]), error, df)


def _difference(value: float, variance: float, df: float, refused: Undefined | None, level: float) -> MRMCEstimate:
    """The difference of two modalities; a single one is its own family."""
    from scipy import stats

    found = _estimate(value, variance, df, refused, level)
    if math.isnan(found.low):
        return MRMCEstimate(value, found.low, found.high, found.error, df, found.low, found.low)
    t = abs(value) / found.error
    p = float(2 * (stats.t.sf(t, df) if math.isfinite(df) else stats.norm.sf(t)))
    return MRMCEstimate(value, found.low, found.high, found.error, df, p, p)
