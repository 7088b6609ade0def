"""Confidence intervals for any statistic of a tally.

Subjects are resampled, never pixels: tallies are added again with other weights and the statistic is read off each
sum. Raters are left out one at a time, since drawing them with replacement makes copies that agree with themselves.

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
from ..core.tally import Tallies, Tally, align_counts, pool
from ..core.undefined import Undefined, divide, reason, undefined_like

Statistic = Callable[[Tally], float]
Values = NDArray[np.float64]

MAX_RESAMPLES = 100_000
"""More do not change an interval, and take memory and hours."""
MIN_SUBJECTS = 10
"""Fewer subjects give no interval."""


def too_few_subjects(subjects: int) -> Undefined | None:
    """The undefined number where so many subjects make no interval; None where they do."""
    return Undefined("too_few_subjects", f"there are {subjects}") if subjects < MIN_SUBJECTS else None


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
        ``"bca"``, ``"percentile"`` or ``"jackknife"``.
    n : int
        Number of subjects, or of raters.
    n_undefined : int
        Number of resamples in which the statistic had no value.
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
    over: Literal["subjects", "raters"] = "subjects",
    of: Literal["pooled", "mean"] = "pooled",
    method: Literal["bca", "percentile"] = "bca",
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    mixed: bool = False,
) -> Interval:
    """Confidence interval of a statistic over the subjects or the raters of a study.

    Parameters
    ----------
    statistic : callable
        Any function of a tally, such as :func:`fleiss_kappa`.
    tallies : mapping or iterable of Tally
        Tallies by case, as :meth:`Study.tally` gives them; cases of one subject are drawn together.
    over : {"subjects", "raters"}
        ``"subjects"``: bootstrap. ``"raters"``: leave-one-rater-out jackknife with Student's t.
    of : {"pooled", "mean"}
        ``"pooled"``: the statistic of the summed tally. ``"mean"``: its mean over subjects.
    method : {"bca", "percentile"}
        Bias-corrected and accelerated bootstrap, or plain percentiles.
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
        With fewer than ten subjects, or fewer than three raters.

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
    0.846 (95% CI 0.797 to 0.893)
    """
    tables = Tallies.of(tallies)
    if not tables:
        raise CallError("tallies is empty: there is nothing to resample")
    _check_choice("over", over, ("subjects", "raters"))
    _check_choice("of", of, ("pooled", "mean"))
    _check_choice("method", method, ("bca", "percentile"))
    check_resamples(resamples)
    if not 0 < level < 1:
        raise CallError(f"level must be between 0 and 1; got {level}")
    if of == "pooled":
        pool(tables, mixed=mixed)  # raises where tallies cannot be added
    if over == "raters":
        return _jackknife_interval(statistic, tables, of, level)
    if len(tables.by_subject()) < MIN_SUBJECTS:
        raise InputError(Undefined("too_few_subjects", f"there are {len(tables.by_subject())}").reason)
    if of == "mean":
        values = subject_values(tables, [statistic(t) for t in tables.values()])
        result = mean_intervals(values[:, None], method, resamples, level, seed)[0]
        if result.n < MIN_SUBJECTS:
            raise InputError(reason(result.low))
        return result
    return pooled_intervals([statistic], tables, method, resamples, level, seed)[0]


def _check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise CallError(f"{name} is {' or '.join(map(repr, allowed))}; got {value!r}")


def subject_values(tables: Tallies, values: ArrayLike) -> Values:
    """(cases, …) values to (subjects, …): the mean of a subject's cases that are defined, NaN where none is."""
    by_case = np.asarray(values, np.float64)
    subjects = {subject: i for i, subject in enumerate(tables.by_subject())}
    owner = [subjects[tables.subjects[case]] for case in tables]
    total, known = np.zeros((2, len(subjects), *by_case.shape[1:]))
    np.add.at(total, owner, np.nan_to_num(by_case))
    np.add.at(known, owner, ~np.isnan(by_case))
    return divide(total, known)


def mean_intervals(
    values: Values, method: str = "bca", resamples: int = 2000, level: float = 0.95, seed: int = 0
) -> list[Interval]:
    """Intervals for the means of (subjects, statistics) values, all from the same draws.

    Subjects for whom a statistic is undefined are left out of its means; with fewer than ten others, its
    interval is undefined.
    """
    known = ~np.isnan(values)
    filled, n = np.nan_to_num(values), known.sum(axis=0)
    if len(values) < MIN_SUBJECTS:
        return [_mean_interval(filled[known[:, k], k], values[:0, k], method, level) for k in range(len(n))]
    weights = draw_subjects(len(values), resamples, seed)
    replicates = divide(weights @ filled, weights @ known)
    return [_mean_interval(filled[known[:, k], k], replicates[:, k], method, level) for k in range(len(n))]


def _mean_interval(defined: Values, replicates: Values, method: str, level: float) -> Interval:
    n = len(defined)
    if n < MIN_SUBJECTS:
        value = float(defined.mean()) if n else Undefined("undefined_for_every_subject")
        refused = Undefined("too_few_subjects", f"it is defined for {n}")
        return Interval(value, refused, refused, level, method, n)
    left_out = (defined.sum() - defined) / (n - 1)
    return make_interval(float(defined.mean()), replicates, left_out, method, level, n)


def pooled_intervals(
    statistics: Sequence[Statistic],
    tables: Tallies,
    method: str = "bca",
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> list[Interval]:
    """Intervals for several statistics of the summed tally, all from the same draws; undefined with few subjects."""
    refused = too_few_subjects(len(tables.by_subject()))
    if refused is not None:
        whole, n = pool(tables, mixed=True), len(tables.by_subject())
        return [Interval(statistic(whole), refused, refused, level, method, n) for statistic in statistics]
    subjects = {subject: i for i, subject in enumerate(tables.by_subject())}
    whole, by_case = align_counts(list(tables.values()))
    counts = np.zeros((len(subjects), by_case.shape[1]), np.int64)
    np.add.at(counts, [subjects[tables.subjects[case]] for case in tables], by_case)
    # whole numbers below 2^53 are exact in float64, whose product is the fast one
    drawn = (draw_subjects(len(subjects), resamples, seed) @ counts.astype(np.float64)).astype(np.int64)
    one_less = whole.counts - counts if method == "bca" else counts[:0]
    intervals = []
    for statistic in statistics:
        replicates, left_out = batch_values(statistic, whole, drawn), batch_values(statistic, whole, one_less)
        intervals.append(make_interval(statistic(whole), replicates, left_out, method, level, len(subjects)))
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


def _jackknife_interval(statistic: Statistic, tables: Tallies, of: str, level: float) -> Interval:
    if any(t.exchangeable for t in tables.values()):
        raise CallError("over='raters' needs named raters; here they are exchangeable, and a slot is not a person")
    names = sorted({name for t in tables.values() for name in t.rater_names})
    if len(names) < 3:
        raise InputError(
            f"over='raters' leaves raters out one at a time and needs at least three; there are {len(names)}"
        )
    value = _study_value(statistic, tables, of)

    def without(name: str) -> Tallies:
        return tables.map(lambda t: t.without(*[c for c in t.columns if c.role == "rater" and c.name == name]))

    left_out = np.array([_study_value(statistic, without(name), of) for name in names])
    if reason(value) or np.isnan(left_out).any():
        nothing = undefined_like(value, "undefined_without_a_rater")
        return Interval(value, nothing, nothing, level, "jackknife", len(names), int(np.isnan(left_out).sum()))
    from scipy.special import stdtrit

    count = len(names)
    error = math.sqrt((count - 1) / count * float(((left_out - left_out.mean()) ** 2).sum()))
    reach = float(stdtrit(count - 1, (1 + level) / 2)) * error
    return Interval(float(value), value - reach, value + reach, level, "jackknife", count)


def _study_value(statistic: Statistic, tables: Tallies, of: str) -> float:
    if of == "pooled":
        return statistic(pool(tables, mixed=True))
    values = subject_values(tables, [statistic(t) for t in tables.values()])
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else Undefined("undefined_for_every_subject")
