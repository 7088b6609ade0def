"""Confidence intervals for any statistic of a tally, over subjects, over raters, or over both.

Means over subjects have Student's t intervals on the scale of the statistic (:mod:`.scales`); pooled numbers have those
of the jackknife over subjects, with the degrees of freedom of the effective number of subjects. Raters are left out one
at a time, since drawing them with replacement makes copies that agree with themselves. Bootstrap intervals draw
subjects, never pixels: tallies are added again with other weights and the statistic is read off each sum. With few
subjects they cover too little (docs/coverage.md).

Efron B, Tibshirani RJ. An Introduction to the Bootstrap. 1993, ch. 11 (jackknife), 13 (percentile), 14 (BCa).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, InputError
from ..core.tally import Tallies, Tally, align_counts, find_rows, pool
from ..core.undefined import Undefined, divide, reason, undefined_like
from .quantiles import proportion_interval, student_quantile
from .scales import TRANSFORMS, Scale, scale_of

Statistic = Callable[[Tally], float]
Values = NDArray[np.float64]

MAX_RESAMPLES = 100_000
"""More do not change an interval, and take memory and hours."""
MIN_SUBJECTS = 10
"""Fewer subjects give no interval."""
MIN_EFFECTIVE, MIN_EFFECTIVE_SHARE = 30, 0.5
"""Pooled numbers have no interval with fewer effective subjects, or a smaller share of those that have a size.

Where sizes differ much and quality goes with size, many subjects alone are not enough (docs/coverage.md).
"""
MANY_RATERS = 12
"""Tables of more raters are left out pair by pair of raters, instead of pattern by pattern."""
NO_SPREAD = 1e-12
"""Standard errors below this, relative to a value above 1, are those of equal values."""


def too_few_subjects(subjects: int) -> Undefined | None:
    """The undefined number where so many subjects make no interval; None where they do."""
    are = "is" if subjects == 1 else "are"
    return Undefined("too_few_subjects", f"there {are} {subjects}") if subjects < MIN_SUBJECTS else None


def too_few_to_test(subjects: int) -> Undefined | None:
    """The undefined p value, or share of resamples, of so many subjects; None where there is one."""
    few = too_few_subjects(subjects)
    return None if few is None else Undefined("too_few_subjects_to_test", few.detail)


def effective_subjects(sizes: ArrayLike) -> float:
    """Effective number of subjects of a pooled number: (Σs)² / Σs², s the size of each; 0 where all are empty.

    >>> effective_subjects([5, 5, 5, 5]), effective_subjects([17, 1, 1, 1])
    (4.0, 1.36986301369863)
    """
    s = np.asarray(sizes, np.float64)
    return float(s.sum() ** 2 / (s @ s)) if s.any() else 0.0


def check_resamples(resamples: int) -> None:
    """Raise where there are no resamples, or more than make a difference."""
    if not 1 <= resamples <= MAX_RESAMPLES:
        raise CallError(f"resamples must be from 1 to {MAX_RESAMPLES:,}; got {resamples:,}")


@dataclass(frozen=True)
class Interval:
    """A value with its confidence interval.

    Attributes
    ----------
    value : float
        The statistic.
    low : float
        Lower end of the interval; :class:`Undefined` where there is none.
    high : float
        Upper end.
    level : float
        Confidence level, such as 0.95.
    method : str
        How it was made: Student's t for a mean (``"t"``, on the logit of the mean ``"logit-t"``, on its logarithm
        ``"log-t"``, on Fisher's z ``"fisher-t"``), ``"exact"`` for a mean of zeros and ones, ``"jackknife"``,
        ``"bca"`` or ``"percentile"``.
    n : int
        Number of subjects, or of raters.
    n_undefined : int
        Number of resamples, or of tables with one subject or rater left out, in which the statistic had no value.
    """

    value: float
    low: float
    high: float
    level: float
    method: str
    n: int
    n_undefined: int = 0

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.level:.0%} CI {self.low:.3f} to {self.high:.3f})"


def confidence_interval(
    statistic: Statistic,
    tallies: Mapping[str, Tally] | Iterable[Tally],
    *,
    over: Literal["subjects", "raters", "both"] = "subjects",
    of: Literal["mean", "pooled"] = "mean",
    method: Literal["t", "bca", "percentile"] = "t",
    scale: Scale | None = None,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    mixed: bool = False,
) -> Interval:
    """Confidence interval of a statistic over the subjects of a study, its raters, or both.

    Parameters
    ----------
    statistic : callable
        Any function of a tally, such as :func:`fleiss_kappa`.
    tallies : mapping or iterable of Tally
        Tallies by case, as :meth:`Study.tally` gives them; cases of one subject stay together.
    over : {"subjects", "raters", "both"}
        The population that the interval speaks of: other subjects with these raters, other raters with these subjects
        (leave-one-rater-out jackknife), or other subjects and other raters.
    of : {"mean", "pooled"}
        ``"mean"``: the mean of the statistic over subjects. ``"pooled"``: the statistic of the summed tally.
    method : {"t", "bca", "percentile"}
        Student's t (for pooled numbers, with the standard error of the jackknife); or, over subjects only, the
        bias-corrected and accelerated bootstrap, or plain percentiles, which cover too little with few subjects.
    scale : {"share", "kappa", "positive", "plain"}, optional
        Range of the statistic, which decides the transform of Student's t: logit, Fisher's z, logarithm or none. By
        default that of the statistic's name; plain where it is not known.
    resamples : int
        Number of bootstrap resamples.
    level : float
        Confidence level.
    seed : int
        Seed of the resampling; the same seed gives the same interval.
    mixed : bool
        Whether tallies whose region or item size differ may be pooled, as in :func:`pool`.

    Returns
    -------
    Interval
        The statistic and its interval.

    Raises
    ------
    InputError
        With fewer than ten subjects or fewer than three raters, or if a pooled number rests on fewer than an effective
        30 subjects, (Σs)² / Σs² with s the number of items that anybody marked, or on fewer than half of them.

    References
    ----------
    Efron B, Tibshirani RJ. An Introduction to the Bootstrap. 1993, ch. 11 (jackknife), 13 (percentile), 14 (BCa).

    Examples
    --------
    >>> import numpy as np, manytruths as mt
    >>> rng = np.random.default_rng(0)
    >>> cases = [rng.integers(0, 2, 50) for _ in range(12)]
    >>> tallies = [mt.tally({"A": x, "B": np.where(rng.random(50) < 0.9, x, 1 - x)}) for x in cases]
    >>> print(mt.confidence_interval(mt.fleiss_kappa, tallies))
    0.844 (95% CI 0.776 to 0.892)
    """
    tables = Tallies.of(tallies)
    if not tables:
        raise CallError("tallies is empty: there is nothing to resample")
    _check_choice("over", over, ("subjects", "raters", "both"))
    _check_choice("of", of, ("pooled", "mean"))
    _check_choice("method", method, ("t", "bca", "percentile"))
    check_resamples(resamples)
    if not 0 < level < 1:
        raise CallError(f"level must be between 0 and 1; got {level}")
    if of == "pooled":
        pool(tables, mixed=mixed)  # raises where tallies cannot be added
    known = scale_of(getattr(statistic, "__name__", "")) if scale is None else scale
    if over != "subjects":
        _check_raters(tables, over)
    if over == "raters":
        return _interval_over_raters(statistic, tables, of, level, known)
    if few := too_few_subjects(len(tables.by_subject())):
        raise InputError(few.reason)
    if over == "both":
        result = _interval_over_both(statistic, tables, of, level, known)
    elif of == "mean":
        values = subject_values(tables, [statistic(t) for t in tables.values()])
        result = mean_intervals(values[:, None], known, method=method, resamples=resamples, level=level, seed=seed)[0]
    else:
        result = pooled_intervals(
            [statistic], tables, [known], method=method, resamples=resamples, level=level, seed=seed
        )[0]
    if isinstance(result.low, Undefined) and result.low.code in ("too_few_subjects", "few_effective_subjects"):
        raise InputError(reason(result.low))
    return result


def _check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        *first, last = map(repr, allowed)
        raise CallError(f"{name} is {', '.join(first)} or {last}; got {value!r}")


def subject_values(tables: Tallies, values: ArrayLike) -> Values:
    """(cases, …) values to (subjects, …): the mean of a subject's cases that are defined, NaN where none is."""
    return means_by_subject([tables.subjects[case] for case in tables], values)


def means_by_subject(subjects: Sequence[str], values: ArrayLike) -> Values:
    """The same with the subject of every case; subjects in the order in which they come.

    >>> means_by_subject(["p", "q", "p"], [0.5, 1.0, 0.7])
    array([0.6, 1. ])
    """
    by_case = np.asarray(values, np.float64)
    places = {subject: i for i, subject in enumerate(dict.fromkeys(subjects))}
    owner = [places[subject] for subject in subjects]
    total, known = np.zeros((2, len(places), *by_case.shape[1:]))
    np.add.at(total, owner, np.nan_to_num(by_case))
    np.add.at(known, owner, ~np.isnan(by_case))
    return divide(total, known)


def case_values(statistic: Statistic, tables: Tallies) -> list[float]:
    """A statistic of every case, with the reason where it is undefined: at once where that can be."""
    aligned = tables.aligned if hasattr(statistic, "batch") else None
    if aligned is None:
        return [statistic(t) for t in tables.values()]
    values = batch_values(statistic, aligned.whole, aligned.counts)[aligned.place].tolist()
    return [statistic(t) if math.isnan(v) else v for v, t in zip(values, tables.values(), strict=True)]


# -- means over subjects ---------------------------------------------------------------------------


def mean_intervals(
    values: Values,
    scales: Scale | Sequence[Scale] = "plain",
    *,
    method: str = "t",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> list[Interval]:
    """Intervals for the means of (subjects, statistics) values; of a bootstrap, all from the same draws.

    Subjects for whom a statistic is undefined are left out of its mean; with fewer than ten others, its interval is
    undefined.
    """
    known = ~np.isnan(values)
    chosen = [scales] * values.shape[1] if isinstance(scales, str) else list(scales)
    if method == "t":
        return [_mean_t(values[known[:, k], k], scale, level) for k, scale in enumerate(chosen)]
    filled, drawn = np.nan_to_num(values), np.zeros((0, values.shape[1]))
    if len(values) >= MIN_SUBJECTS:
        weights = draw_subjects(len(values), resamples, seed)
        drawn = divide(weights @ filled, weights @ known)
    return [_mean_bootstrap(filled[known[:, k], k], drawn[:, k], method, level) for k in range(len(chosen))]


def _mean_t(defined: Values, scale: Scale, level: float) -> Interval:
    n = len(defined)
    if n < MIN_SUBJECTS:
        return _refuse_mean(defined, TRANSFORMS[scale].name, level)
    value = float(defined.mean())
    if scale == "share" and 0 < value < 1 and np.isin(defined, (0.0, 1.0)).all():
        return proportion(int(defined.sum()), n, level)
    return t_interval(value, float(defined.std(ddof=1)) / math.sqrt(n), n - 1, scale=scale, level=level, n=n)


def proportion(count: int, n: int, level: float) -> Interval:
    """A share of subjects with its exact interval."""
    return Interval(count / n, *proportion_interval(count, n, level), level, "exact", n)


def _refuse_mean(defined: Values, method: str, level: float) -> Interval:
    n = len(defined)
    value = float(defined.mean()) if n else Undefined("undefined_for_every_subject")
    refused = Undefined("too_few_subjects", f"it is defined for {n}")
    return Interval(value, refused, refused, level, method, n)


def _mean_bootstrap(defined: Values, replicates: Values, method: str, level: float) -> Interval:
    n = len(defined)
    if n < MIN_SUBJECTS:
        return _refuse_mean(defined, method, level)
    left_out = (defined.sum() - defined) / (n - 1)
    return make_interval(float(defined.mean()), replicates, left_out, method, level, n)


def t_interval(
    value: float, error: float, df: float, *, scale: Scale, level: float, n: int, method: str = "", undefined: int = 0
) -> Interval:
    """Student's t interval of a value from its standard error, on the scale of the statistic."""
    transform = TRANSFORMS[scale]
    name = method or transform.name
    if reason(value) or not error > NO_SPREAD * max(1.0, abs(value)):
        nothing = undefined_like(value, "no_spread")
        return Interval(value, nothing, nothing, level, name, n, undefined)
    low, high = transform.ends(value, student_quantile((1 + level) / 2, df) * error)
    return Interval(float(value), low, high, level, name, n, undefined)


def jackknife_variance(left_out: Values, axis: int = 0) -> Values:
    """Variance of a statistic from its values with one subject, or one rater, left out."""
    n = left_out.shape[axis]
    return np.asarray((n - 1) * left_out.var(axis=axis))


def jackknife_interval(
    value: float,
    left_out: Values,
    df: float,
    scale: Scale,
    level: float,
    n: int,
    code: str = "undefined_without_a_subject",
) -> Interval:
    """Student's t interval with the standard error of the jackknife; ``code`` says why there is none."""
    undefined = int(np.isnan(left_out).sum())
    if reason(value) or undefined:
        nothing = undefined_like(value, code)
        return Interval(value, nothing, nothing, level, "jackknife", n, undefined)
    error = math.sqrt(float(jackknife_variance(left_out)))
    return t_interval(value, error, df, scale=scale, level=level, n=n, method="jackknife")


# -- pooled numbers --------------------------------------------------------------------------------


def pooled_intervals(
    statistics: Sequence[Statistic],
    tables: Tallies,
    scales: Sequence[Scale] | None = None,
    *,
    method: str = "t",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    by_cases: bool = False,
) -> list[Interval]:
    """Intervals for several statistics of the summed tally; undefined with few subjects, or few effective ones.

    ``by_cases`` is for ordered ratings: every item that two raters rated counts, whatever its label.
    """
    chosen = [scale_of(getattr(s, "__name__", "")) for s in statistics] if scales is None else scales
    subjects = {subject: i for i, subject in enumerate(tables.by_subject())}
    n, refused = len(subjects), too_few_subjects(len(subjects))
    name = "jackknife" if method == "t" else method
    if refused is not None:
        whole = pool(tables, mixed=True)
        return [Interval(statistic(whole), refused, refused, level, name, n) for statistic in statistics]
    whole, by_case = align_counts(list(tables.values()))
    counts = np.zeros((n, by_case.shape[1]), np.int64)
    np.add.at(counts, [subjects[tables.subjects[case]] for case in tables], by_case)
    if method != "t":
        return _pooled_bootstrap(statistics, whole, counts, method, level, resamples, seed)
    sizes = counts[:, whole.rated > 1].sum(axis=1) if by_cases else subject_sizes(whole, counts)
    few = few_effective_subjects(sizes, by_cases=by_cases)
    if few is not None:
        return [Interval(statistic(whole), few, few, level, name, n) for statistic in statistics]
    freedom = effective_subjects(sizes) - 1
    rare = None if by_cases else few_subjects_with_the_rarer(whole, counts)
    intervals = []
    for statistic, scale in zip(statistics, chosen, strict=True):
        if rare is not None and getattr(statistic, "__name__", "") in BEYOND_CHANCE:
            intervals.append(Interval(statistic(whole), rare, rare, level, name, n))
            continue
        left_out = _without_subjects(statistic, whole, counts, tables)
        intervals.append(jackknife_interval(statistic(whole), left_out, freedom, scale, level, n))
    return intervals


def _without_subjects(statistic: Statistic, whole: Tally, counts: NDArray[np.int64], tables: Tallies) -> Values:
    """The statistic of the summed tally without each subject, whose ``counts`` are over the patterns of the sum."""
    leave_out = getattr(statistic, "without_parts", None)
    if leave_out is None or len(whole.raters) <= MANY_RATERS or len({t.labels for t in tables.values()}) > 1:
        return batch_values(statistic, whole, whole.counts - counts)
    return np.asarray(
        leave_out(whole, [[tables[case] for case in cases] for cases in tables.by_subject().values()]), np.float64
    )


def few_effective_subjects(sizes: ArrayLike, *, by_cases: bool = False) -> Undefined | None:
    """The undefined end of a pooled number's interval that would rest on few large subjects; None where it does not.

    ``by_cases`` tells that sizes are numbers of rated cases.

    >>> few_effective_subjects([5] * 40)
    >>> few_effective_subjects([5] * 20).code
    'few_effective_subjects'
    """
    effective, there = effective_subjects(sizes), int(np.count_nonzero(sizes))
    if effective >= max(MIN_EFFECTIVE, MIN_EFFECTIVE_SHARE * there):
        return None
    code = "few_effective_cases" if by_cases else "few_effective_subjects"
    return Undefined(code, f"there are {effective:.1f} of {there}")


BEYOND_CHANCE = ("cohen_kappa", "fleiss_kappa", "krippendorff_alpha")
"""Statistics that rest on the rarer of two labels, whichever it is: without it they are undefined."""


def few_subjects_with_the_rarer(whole: Tally, counts: NDArray[np.int64]) -> Undefined | None:
    """The undefined end of the interval of kappa where few subjects have the rarer of two labels; else None.

    Where all raters find all lesions but two, kappa is about these two, however many there are.
    """
    if len(whole.labels) != 2:
        return None
    rarer = int((whole.counts @ whole.votes).argmin())
    found = few_effective_subjects(counts[:, whole.votes[:, rarer] > 0].sum(axis=1))
    return None if found is None else Undefined("few_subjects_with_the_rarer_label", found.detail)


def subject_sizes(whole: Tally, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """How much each subject weighs in a pooled number: items that anybody marked.

    Without background, those to which anybody gave another label than the most frequent one.
    """
    ground = whole.labels.background
    if ground is None:
        ground = int((whole.counts @ whole.votes).argmax())
    marked = np.asarray(counts[:, whole.votes[:, ground] < whole.rated].sum(axis=1))
    return marked if marked.any() else np.asarray(counts.sum(axis=1))


def _pooled_bootstrap(
    statistics: Sequence[Statistic],
    whole: Tally,
    counts: NDArray[np.int64],
    method: str,
    level: float,
    resamples: int,
    seed: int,
) -> list[Interval]:
    # whole numbers below 2^53 are exact in float64, whose product is the fast one
    drawn = (draw_subjects(len(counts), resamples, seed) @ counts.astype(np.float64)).astype(np.int64)
    one_less = whole.counts - counts if method == "bca" else counts[:0]
    intervals = []
    for statistic in statistics:
        replicates, left_out = batch_values(statistic, whole, drawn), batch_values(statistic, whole, one_less)
        intervals.append(make_interval(statistic(whole), replicates, left_out, method, level, len(counts)))
    return intervals


def batch_values(statistic: Statistic, whole: Tally, counts: NDArray[np.int64]) -> Values:
    """A statistic of many tallies that share their patterns: at once where it can, else one by one."""
    batch = getattr(statistic, "batch", None)
    if batch is not None:
        return np.asarray(batch(whole, counts), np.float64)
    whole.votes, whole.rated, whole.marked  # noqa: B018  made once, shared by every recount
    return np.array([statistic(whole.recount(c)) for c in counts], np.float64)


@lru_cache(maxsize=4)
def draw_subjects(n: int, resamples: int, seed: int) -> Values:
    """How often each subject is drawn in each resample; the same draws serve every statistic."""
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=resamples).astype(np.float64)


def make_interval(value: float, replicates: Values, left_out: Values, method: str, level: float, n: int) -> Interval:
    """The interval of a value from its replicates and, for BCa, from its values with one subject left out."""
    defined = replicates[~np.isnan(replicates)]
    undefined = len(replicates) - len(defined)
    if reason(value) or not len(defined):
        nothing = undefined_like(value, "undefined_in_every_resample")
        return Interval(value, nothing, nothing, level, method, n, undefined)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if method == "bca":
        tails = _bca(tails, value, defined, left_out[~np.isnan(left_out)])
    low, high = np.quantile(defined, tails)
    return Interval(float(value), float(low), float(high), level, method, n, undefined)


def _bca(tails: Values, value: float, replicates: Values, left_out: Values) -> Values:
    """Tails shifted for bias (the share of replicates below the value) and for skewness (acceleration)."""
    normal, size = NormalDist(), len(replicates)
    # a draw that ties with the value may miss it by the last bit, as the order of the sum has it
    tied = np.isclose(replicates, value, rtol=1e-12, atol=1e-12)
    below = ((replicates[~tied] < value).sum() + tied.sum() / 2) / size
    bias = normal.inv_cdf(min(max(below, 1 / (size + 1)), size / (size + 1)))
    apart = left_out.mean() - left_out
    spread = float((apart**2).sum())
    acceleration = float((apart**3).sum()) / (6 * spread**1.5) if spread else 0.0
    z = [bias + normal.inv_cdf(t) for t in tails]
    return np.array([normal.cdf(bias + x / (1 - acceleration * x)) for x in z])


# -- over raters, and over both --------------------------------------------------------------------


def _check_raters(tables: Tallies, over: str) -> None:
    if any(t.exchangeable for t in tables.values()):
        raise CallError(f"over={over!r} needs named raters; here they are exchangeable, and a slot is not a person")
    names = rater_names(tables)
    if len(names) < 3:
        raise InputError(
            f"over={over!r} leaves raters out one at a time and needs at least three; there are {len(names)}"
        )


def rater_names(tables: Tallies) -> list[str]:
    """All raters of some tallies."""
    return sorted({name for t in tables.values() for name in t.rater_names})


def _interval_over_raters(statistic: Statistic, tables: Tallies, of: str, level: float, scale: Scale) -> Interval:
    names = rater_names(tables)
    value = _study_value(statistic, tables, of)
    left_out = _without_each(statistic, tables, names, of)
    return jackknife_interval(value, left_out, len(names) - 1, scale, level, len(names), "undefined_without_a_rater")


def _without_each(statistic: Statistic, tables: Tallies, names: list[str], of: str) -> Values:
    """The statistic without each rater: at once where it can, else of tables without the rater."""
    each = getattr(statistic, "without_each", None)
    if each is None:
        return np.array([_study_value(statistic, _without_rater(tables, name), of) for name in names])
    if of == "pooled":
        return np.asarray(each(pool(tables, mixed=True), names), np.float64)
    by_case = np.array([each(t, names) for t in tables.values()], np.float64)
    return _means_without(subject_values(tables, by_case))


def _without_rater(tables: Tallies, name: str) -> Tallies:
    return tables.map(lambda t: t.without(*[c for c in t.columns if c.role == "rater" and c.name == name]))


def _study_value(statistic: Statistic, tables: Tallies, of: str) -> float:
    if of == "pooled":
        return statistic(pool(tables, mixed=True))
    values = subject_values(tables, [statistic(t) for t in tables.values()])
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else Undefined("undefined_for_every_subject")


def _interval_over_both(statistic: Statistic, tables: Tallies, of: str, level: float, scale: Scale) -> Interval:
    if of == "mean":
        values = subject_values(tables, [statistic(t) for t in tables.values()])
        without = subject_values(tables, values_without_raters(statistic, tables))
        return mean_over_both(values, without, scale=scale, level=level)
    counts, subjects = [], {subject: i for i, subject in enumerate(tables.by_subject())}
    owner = [subjects[tables.subjects[case]] for case in tables]
    wholes = []
    for part in (tables, *(_without_rater(tables, name) for name in rater_names(tables))):
        whole, by_case = align_counts(list(part.values()))
        counts.append(np.zeros((len(subjects), by_case.shape[1]), np.int64))
        np.add.at(counts[-1], owner, by_case)
        wholes.append(whole)
    few = few_effective_subjects(subject_sizes(wholes[0], counts[0]))
    every = np.array([statistic(whole) for whole in wholes])
    joint = [batch_values(statistic, w, w.counts - c) for w, c in zip(wholes, counts, strict=True)]
    jackknife = BothJackknife(every[0], joint[0], every[1:], np.stack(joint[1:], axis=1))
    if few is not None:
        return Interval(statistic(wholes[0]), few, few, level, "jackknife", len(subjects))
    return jackknife.interval(scale=scale, level=level, n=len(subjects))


def values_without_raters(statistic: Statistic, tables: Tallies) -> Values:
    """(cases, raters): the statistic of each case with each of the study's raters left out."""
    names = rater_names(tables)
    each, aligned = getattr(statistic, "without_each", None), tables.aligned
    if hasattr(statistic, "batch") and aligned is not None:
        values = [_batch_without(statistic, aligned.whole, aligned.counts, name) for name in names]
        return np.stack(values, axis=1)[aligned.place]
    if each is not None:
        return np.array([each(t, names) for t in tables.values()], np.float64)
    if not hasattr(statistic, "batch") or len({t.labels for t in tables.values()}) > 1:
        parts = [_without_rater(tables, name).values() for name in names]
        return np.array([[statistic(t) for t in part] for part in parts], np.float64).T
    whole, counts = align_counts(list(tables.values()))
    return np.stack([_batch_without(statistic, whole, counts, name) for name in names], axis=1)


def _batch_without(statistic: Statistic, whole: Tally, counts: NDArray[np.int64], name: str) -> Values:
    gone = [c.role == "rater" and c.name == name for c in whole.columns]
    rest = whole.without(*[c for c, leaves in zip(whole.columns, gone, strict=True) if leaves])
    where = find_rows(rest, whole.patterns[:, ~np.array(gone)])
    merged = np.zeros((len(rest.counts), len(counts)), np.int64)
    np.add.at(merged, where, counts.T)
    return batch_values(statistic, rest, merged.T)


def mean_over_both(values: Values, without: Values, *, scale: Scale, level: float) -> Interval:
    """Interval over subjects and raters of a mean: values by subject, and (subjects, raters) with each left out.

    Undefined with fewer than ten subjects or three raters.
    """
    known = ~np.isnan(values)
    n = int(known.sum())
    if n < MIN_SUBJECTS:
        return _refuse_mean(values[known], "jackknife", level)
    value, by_rater = float(values[known].mean()), _means_without(without[known])
    by_subject = _means_without(values[known][:, None], leave_out=True)[:, 0]
    joint = _means_without(without[known], leave_out=True)
    return BothJackknife(value, by_subject, by_rater, joint).interval(scale=scale, level=level, n=n)


def _means_without(values: Values, *, leave_out: bool = False) -> Values:
    """Means of the columns over rows that are defined; with ``leave_out``, those with each row left out."""
    known = ~np.isnan(values)
    total, count = np.nan_to_num(values), known.astype(np.float64)
    if not leave_out:
        return divide(total.sum(axis=0), count.sum(axis=0))
    return divide(total.sum(axis=0) - total, count.sum(axis=0) - count)


@dataclass(frozen=True)
class BothJackknife:
    """A statistic θ, and with one subject, one rater, or one of each left out.

    Its variance over subjects and raters is V = V_c + V_r − V_cr with ::

        V_cr = (n − 1)(R − 1) / (nR) · Σ Σ (θ_−c−r − θ_−c − θ_−r + θ)²

    which is counted in both, and V at least the larger of V_c and V_r; the degrees of freedom are Satterthwaite's,
    V² / (V_c² / (n − 1) + V_r² / (R − 1)).
    """

    value: float
    by_subject: Values
    """θ_−c"""
    by_rater: Values
    """θ_−r"""
    joint: Values
    """θ_−c−r, (subjects, raters)"""

    def interval(self, *, scale: Scale, level: float, n: int) -> Interval:
        """Student's t interval on the scale of the statistic."""
        parts = (self.by_subject, self.by_rater, self.joint)
        undefined = sum(int(np.isnan(part).sum()) for part in parts)
        subjects, raters = self.joint.shape
        if reason(self.value) or undefined:
            nothing = undefined_like(self.value, "undefined_without_a_rater")
            return Interval(self.value, nothing, nothing, level, "jackknife", n, undefined)
        of_subjects, of_raters = (float(jackknife_variance(part)) for part in (self.by_subject, self.by_rater))
        apart = self.joint - self.by_subject[:, None] - self.by_rater + self.value
        common = (subjects - 1) * (raters - 1) / (subjects * raters) * float((apart**2).sum())
        whole = max(of_subjects + of_raters - common, of_subjects, of_raters)
        if not whole:
            return t_interval(self.value, 0.0, 1, scale=scale, level=level, n=n, method="jackknife")
        df = whole**2 / (of_subjects**2 / (subjects - 1) + of_raters**2 / (raters - 1))
        return t_interval(self.value, math.sqrt(whole), df, scale=scale, level=level, n=n, method="jackknife")
