"""Variances of subjects, raters and errors in a table of sizes, and the intervals of what is made of them.

The size that rater j gives to subject i is y_ij = μ + s_i + r_j + e_ij, the last three random with variances σ²_s, σ²_r
and σ²_e; one-way models have no r_j. A complete table is analysed by the mean squares of the analysis of variance, one
with gaps by restricted maximum likelihood (REML). With θ = σ²_s/σ²_e, subjects are absorbed first: the sums of products
of the columns (one for each rater, the constant, y) are corrected by θ/(1 + θ n_i) times the products of the sums of
subject i. Subjects with the same number n_i of raters share that factor, so that their products are added up once, and
a step of the fit takes a matrix of the size of the raters, however many subjects there are.

Intervals of complete tables and of those with gaps rest on the same three mean squares: of subjects after raters, of
raters after subjects, and of errors, whose expectations do not mix (Henderson's method 3). Where nothing is missing
they are those of the analysis of variance, and their distributions are known; with gaps they are simulated from the
fit. Where subjects have several rows, intervals come from the jackknife over subjects.

Patterson HD, Thompson R. Recovery of inter-block information when block sizes are unequal. Biometrika 1971;58:545–554.
doi:10.1093/biomet/58.3.545. Henderson CR. Estimation of variance and covariance components. Biometrics 1953;9:226–252.
doi:10.2307/3001853. Graybill FA, Wang CM. Confidence intervals on nonnegative linear combinations of variances. J Am
Stat Assoc 1980;75:869–873. doi:10.1080/01621459.1980.10477565
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError
from ..core.undefined import Undefined
from ..inference.intervals import MAX_RESAMPLES
from ..inference.quantiles import student_quantile

Values = NDArray[np.float64]
MOST = 700.0
"""Its exponential is still a number."""
LARGEST = 1e70
"""Intervals need fourth powers, which of larger sizes, or of differences below its reciprocal, exceed all numbers."""
ROUNDING = 64 * np.finfo(np.float64).eps
"""Relative to the largest size: smaller errors are rounding."""


@dataclass(frozen=True)
class VarianceComponents:
    """Variances of the sizes in a table.

    Attributes
    ----------
    subject : float
        Between subjects. That of a complete table is below 0 where subjects differ less than by chance.
    rater : float
        Between raters; :class:`Undefined` in a one-way model, where it is part of the error. Below 0 likewise.
    error : float
        What is left.
    """

    subject: float
    rater: float
    error: float


@dataclass(frozen=True)
class SizeModel:
    """A fitted table of sizes."""

    n_subjects: int
    """Rows with a size."""
    n_raters: int
    """Columns with a size."""
    n_values: int
    one_way: bool
    components: Values
    """Variances of subjects, raters (0 in a one-way model) and errors."""
    squares: Values
    """Mean squares of subjects after raters, of raters after subjects, and of errors."""
    freedom: tuple[int, int, int]
    """Their degrees of freedom."""
    per_subject: float
    """What the variance between subjects is multiplied by in the first; the number of raters of a complete table."""
    per_rater: float
    """What that between raters is multiplied by in the second; the number of subjects of a complete table."""
    draws: Values | None = None
    """Mean squares of tables with the same gaps that were simulated from the components; None of a complete table."""
    replicates: Values | None = None
    """Components without each subject in turn, where subjects have several rows."""

    @property
    def exact(self) -> bool:
        """Whether raters differ by constants at most: there is no error."""
        return bool(self.components[2] == 0)

    def error_variance(self, raters: bool, level: float) -> tuple[float, float, float]:
        """The variance of errors, with that of raters or without, and its interval."""
        weights = np.array([0.0, float(raters), 1.0])
        value = float(self.components @ weights)
        if self.exact:
            none = Undefined("raters_identical")
            return value, none, none
        if self.replicates is not None:
            ends = self.jackknife(lambda c: _logarithm(c @ weights), level)
            low, high = (end if math.isnan(end) else math.exp(min(end, MOST)) for end in ends)
            return value, low, high
        _, between, error = self.squares
        terms = [(error, self.freedom[2])]
        if raters and not self.one_way:
            n = self.per_rater
            terms = [(between / n, self.freedom[1]), ((1 - 1 / n) * error, self.freedom[2])]
        _, low, high = combine_variances(terms, level)
        return value, low, high

    def jackknife(self, scaled: Callable[[Values], Values], level: float) -> tuple[float, float]:
        """The interval of a function of the components, by Student's t over the tables without one subject."""
        assert self.replicates is not None
        return jackknife_interval(float(scaled(self.components[None])[0]), scaled(self.replicates), level)


def jackknife_interval(value: float, found: Values, level: float) -> tuple[float, float]:
    """Student's t interval from the values without one subject; undefined where one of them is."""
    n = len(found)
    if not (math.isfinite(value) and np.isfinite(found).all()):
        none = Undefined("undefined_without_a_subject")
        return none, none
    error = math.sqrt((n - 1) / n * float(((found - found.mean()) ** 2).sum()))
    reach = student_quantile((1 + level) / 2, n - 1) * error
    return value - reach, value + reach


def _logarithm(values: Values) -> Values:
    """Natural logarithms; nan where a value is not above 0."""
    return np.log(values, out=np.full(np.shape(values), np.nan), where=np.asarray(values) > 0)


def combine_variances(terms: Sequence[tuple[float, float]], level: float) -> tuple[float, float, float]:
    """A sum of independent variance estimates with their degrees of freedom, and its interval (Graybill & Wang 1980).

    >>> [round(v, 4) for v in combine_variances([(4.0, 10)], 0.95)]  # of one estimate: that by chi-square
    [4.0, 1.9528, 12.3192]
    """
    from scipy.special import chdtri

    value, below, above = 0.0, 0.0, 0.0
    for variance, freedom in terms:
        value += variance
        below += (variance * (1 - freedom / chdtri(freedom, (1 - level) / 2))) ** 2
        above += (variance * (freedom / chdtri(freedom, (1 + level) / 2) - 1)) ** 2
    return float(value), float(value - math.sqrt(below)), float(value + math.sqrt(above))


def check_level(level: float) -> None:
    """Raise where a level is not between 0 and 1."""
    if not 0 < level < 1:
        raise CallError(f"level must be between 0 and 1, such as 0.95; got {level}")


def as_sizes(values: ArrayLike, axes: int, wanted: str) -> Values:
    """A table of numbers with so many axes; nan where a masked array is masked."""
    try:
        table = np.asarray(values, np.float64)
        hidden = _find_masked(values)
    except (TypeError, ValueError):
        raise CallError(f"values must be numbers, {wanted}; nan where one is missing") from None
    if table.ndim != axes:
        raise CallError(f"values must be {wanted}; got an array of shape {table.shape}")
    return table if hidden is None else np.where(hidden, np.nan, table)


def _find_masked(values: ArrayLike) -> NDArray[np.bool_] | None:
    """Where a masked array, or a list of them, is masked; None where nothing can be."""
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.getmaskarray(values)
    if isinstance(values, list | tuple) and any(isinstance(part, np.ma.MaskedArray) for part in values):
        return np.stack([np.ma.getmaskarray(np.ma.asarray(part)) for part in values])
    return None


def fit_sizes(
    values: ArrayLike,
    *,
    one_way: bool = False,
    subjects: Sequence[object] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> SizeModel | Undefined:
    """The variances of a table (subjects, raters) with nan where a size is missing, or why they are undefined.

    ``subjects`` names the subject of each row where some have several: intervals then leave out whole subjects. A table
    with gaps gets ``resamples`` simulated ones for its intervals.
    """
    table = as_sizes(values, 2, "an array (subjects, raters)")
    if not 1 <= resamples <= MAX_RESAMPLES:
        raise CallError(f"resamples must be from 1 to {MAX_RESAMPLES:,}; got {resamples:,}")
    owner = _owners(subjects, len(table))
    if np.isinf(table).any():
        return Undefined("infinite_size")
    there = ~np.isnan(table)
    if not there.all():
        rows, columns = there.any(axis=1), there.any(axis=0)
        table, there, owner = table[rows][:, columns], there[rows][:, columns], owner[rows]
    # subjects in the order of their names, or of the rows where each is its own
    if subjects is not None:
        owner = np.unique(owner, return_inverse=True)[1]
    few = _too_small(table, there, int(owner.max()) + 1 if subjects is not None and len(owner) else len(table))
    if few is not None:
        return few
    if subjects is None:
        owner = np.arange(len(table))
    if there.all():
        return _fit_squares(table, owner, one_way)
    return _fit_reml(table, there, owner, one_way, resamples, seed)


def _owners(subjects: Sequence[object] | None, rows: int) -> NDArray[Any]:
    """The subject of each row."""
    if subjects is None:
        return np.arange(rows)
    if len(subjects) != rows:
        raise CallError(f"subjects names {len(subjects)} rows, and there are {rows}; give one name for each")
    return np.array([str(name) for name in subjects])


def _too_small(table: Values, there: NDArray[np.bool_], subjects: int) -> Undefined | None:
    """Why a table is too small, or has nothing to tell."""
    if subjects < 2:
        return Undefined("fewer_than_two_subjects")
    if there.shape[1] < 2:
        return Undefined("fewer_than_two_raters")
    if not (there.sum(axis=1) > 1).any():
        return Undefined("no_size_given_twice")
    if np.nanmin(table) == np.nanmax(table):
        return Undefined("constant_sizes")
    # halves, as the difference of the two largest numbers is none
    spread = np.nanmax(table) / 2 - np.nanmin(table) / 2
    if np.nanmax(np.abs(table)) > LARGEST or spread < 0.5 / LARGEST:
        return Undefined("sizes_out_of_range")
    return None


# -- complete tables ---------------------------------------------------------------------------------


def _fit_squares(table: Values, owner: NDArray[np.intp], one_way: bool) -> SizeModel:
    n, k = table.shape
    centred = table - table.mean()
    sums, products = centred.sum(axis=0), centred.T @ centred
    squares = _mean_squares(n, sums, products, one_way)
    freedom = n - 1, k - 1, n * (k - 1) if one_way else (n - 1) * (k - 1)
    left = centred - centred.mean(axis=1, keepdims=True)
    left -= 0.0 if one_way else left.mean(axis=0)
    squares[2] = _without_rounding(left, table) / freedom[2]
    if not _without_rounding(centred.mean(axis=1), table):
        squares[0] = 0.0
    model = SizeModel(n, k, n * k, one_way, _components(n, k, squares, one_way), squares, freedom, k, n)
    subjects = int(owner.max()) + 1
    if subjects == n:
        return model
    order = np.argsort(owner, kind="stable")
    starts = np.searchsorted(owner[order], np.arange(subjects))
    ordered = centred[order]
    left = n - np.diff(np.append(starts, n))
    own = np.add.reduceat(ordered[:, :, None] * ordered[:, None, :], starts)
    parts = _mean_squares(left, sums - np.add.reduceat(ordered, starts), products - own, one_way)
    return replace(model, replicates=_components(left, k, parts, one_way))


def _without_rounding(left: Values, table: Values) -> float:
    """The sum of squares that is left of a table; 0 where it is no more than rounding."""
    total = float((left**2).sum())
    return total if total > left.size * (ROUNDING * float(np.nanmax(np.abs(table)))) ** 2 else 0.0


def _mean_squares(n: ArrayLike, sums: Values, products: Values, one_way: bool) -> Values:
    """Mean squares of subjects, raters and errors from the sums of n rows and of the products of their columns.

    One table, or many along the first axis.
    """
    n, k = np.asarray(n, np.float64), sums.shape[-1]
    mean = sums.sum(axis=-1) ** 2 / (n * k)
    subject = products.sum(axis=(-1, -2)) / k - mean
    rater = (sums**2).sum(axis=-1) / n - mean
    whole = np.trace(products, axis1=-2, axis2=-1) - mean
    error = np.maximum(whole - subject - (0.0 if one_way else rater), 0.0)
    free = np.where(n > 1, n - 1, np.nan)  # nothing is known from one row
    squares = subject / free, rater / (k - 1), error / ((k - 1) * (n if one_way else free))
    return np.stack(squares, axis=-1)


def _components(n: ArrayLike, k: int, squares: Values, one_way: bool) -> Values:
    subject, rater, error = np.moveaxis(squares, -1, 0)
    between = np.zeros_like(rater) if one_way else (rater - error) / n
    return np.stack([(subject - error) / k, between, error], axis=-1)


# -- tables with gaps --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Products:
    """Sums of products of the columns of one table or many (the first axis): a column a rater, the constant, y.

    One-way models have no columns of raters.
    """

    whole: Values
    """Over all sizes."""
    by_count: Values
    """Of the sums of each subject, over the subjects with each number of raters."""
    counts: Values
    """The numbers of raters."""
    subjects: Values
    """How many subjects have them."""

    @property
    def sizes(self) -> Values:
        """Number of sizes in each table."""
        return np.asarray(self.whole[:, -2, -2])

    def __sub__(self, other: _Products) -> _Products:
        whole, by_count = self.whole - other.whole, self.by_count - other.by_count
        return _Products(whole, by_count, self.counts, self.subjects - other.subjects)


def _products(tables: Values, there: NDArray[np.bool_], owner: NDArray[np.intp] | None, one_way: bool) -> _Products:
    """Of tables (table, subject, rater); or, with owners, of the rows of each owner of the one table."""
    marks = there.astype(np.float64)
    per_subject = marks.sum(axis=1)
    counts, group = np.unique(per_subject, return_inverse=True)
    filled = np.where(there, tables, 0.0)
    head = marks[:, :0] if one_way else marks
    parts = len(tables) if owner is None else int(owner.max()) + 1
    p = head.shape[1] + 2
    whole, by_count = np.zeros((parts, p, p)), np.zeros((parts, len(counts), p, p))
    subjects = np.zeros((parts, len(counts)))
    if owner is None:
        fixed = np.column_stack([head, per_subject])
        sums = filled.sum(axis=2)
        whole[:, :-2, :-2] = np.diag(head.sum(axis=0))
        whole[:, :-2, -2] = whole[:, -2, :-2] = head.sum(axis=0)
        whole[:, -2, -2] = marks.sum()
        y = np.concatenate([filled.sum(axis=1)[:, : head.shape[1]], sums.sum(axis=1)[:, None]], axis=1)
        whole[:, :-1, -1] = whole[:, -1, :-1] = y
        whole[:, -1, -1] = np.einsum("bij,bij->b", filled, filled)
        for g in range(len(counts)):
            rows = group == g
            by_count[:, g, :-1, :-1] = fixed[rows].T @ fixed[rows]
            by_count[:, g, :-1, -1] = by_count[:, g, -1, :-1] = sums[:, rows] @ fixed[rows]
            by_count[:, g, -1, -1] = (sums[:, rows] ** 2).sum(axis=1)
            subjects[:, g] = rows.sum()
        return _Products(whole, by_count, counts, subjects)
    sums = np.column_stack([head, per_subject, filled[0].sum(axis=1)])
    np.add.at(by_count, (owner, group), sums[:, :, None] * sums[:, None, :])
    np.add.at(subjects, (owner, group), 1.0)
    values = filled[0][:, : head.shape[1]]
    own = np.zeros((len(owner), p, p))
    index = np.arange(p - 2)
    own[:, index, index] = head
    own[:, :-2, -2] = own[:, -2, :-2] = head
    own[:, :-2, -1] = own[:, -1, :-2] = values
    own[:, -2, -2], own[:, -1, -1] = per_subject, (filled[0] ** 2).sum(axis=1)
    own[:, -2, -1] = own[:, -1, -2] = filled[0].sum(axis=1)
    np.add.at(whole, owner, own)
    return _Products(whole, by_count, counts, subjects)


def _fit_reml(
    table: Values, there: NDArray[np.bool_], owner: NDArray[np.intp], one_way: bool, resamples: int, seed: int
) -> SizeModel | Undefined:
    scale = float(np.nanstd(table))
    scaled = np.where(there, (table - np.nanmean(table)) / scale, 0.0)
    design = _Design(there, one_way)
    if design.freedom[2] < 1:
        return Undefined("errors_not_separable")
    squares = design.squares(*design.sums(scaled))[0]
    squares[2] = _without_rounding(design.errors(scaled), table / scale) / design.freedom[2]
    n, (_, k) = int(there.sum()), there.shape
    about = (len(table), k, n, one_way)
    rest = (design.freedom, design.per_subject, design.per_rater)
    if squares[2] == 0:
        return SizeModel(*about, design.exact_components(scaled) * scale**2, squares * scale**2, *rest)
    products = _products(scaled[None], there, None, one_way)
    estimate, ratios = _maximise(products, _starts(products))
    model = SizeModel(*about, estimate[0] * scale**2, squares * scale**2, *rest)
    subjects = int(owner.max()) + 1
    if subjects < len(table):
        without = _repeat(products, subjects) - _products(scaled[None], there, owner, one_way)
        replicates, kept = np.full((subjects, 3), np.nan), np.flatnonzero(_separable(without))
        if len(kept):
            starts = np.repeat(np.maximum(ratios, 0.3), len(kept), axis=0)
            replicates[kept], _ = _maximise(_choose(without, kept), starts)
        return replace(model, replicates=replicates * scale**2)
    return replace(model, draws=design.draw(estimate[0], resamples, seed) * scale**2)


def _repeat(products: _Products, times: int) -> _Products:
    repeated = (np.repeat(part, times, axis=0) for part in (products.whole, products.by_count, products.subjects))
    whole, by_count, subjects = repeated
    return _Products(whole, by_count, products.counts, subjects)


class _Design:
    """Which rater measured which subject: mean squares of tables with these gaps (Henderson 1953, method 3).

    Those of subjects are what subjects explain after raters, so that differences between raters do not enter; those of
    raters likewise.
    """

    def __init__(self, there: NDArray[np.bool_], one_way: bool) -> None:
        self.there, self.one_way = there, one_way
        self.marks = there.astype(np.float64)
        self.per_row, self.per_column = self.marks.sum(axis=1), self.marks.sum(axis=0)
        n, k = there.shape
        size = self.per_row.sum()
        # raters after subjects
        self.matrix = np.diag(self.per_column) - self.marks.T @ (self.marks / self.per_row[:, None])
        self.inverse = np.linalg.pinv(self.matrix, rcond=1e-10, hermitian=True)
        parts = k - int(np.linalg.matrix_rank(self.matrix, hermitian=True, tol=1e-9 * size))
        if one_way:
            self.freedom = (n - 1, 0, int(size) - n)
            self.per_subject, self.per_rater = float(size - (self.per_row**2).sum() / size) / (n - 1), 1.0
        else:
            self.freedom = (n - parts, k - parts, int(size) - n - k + parts)
            self.per_subject = float(size - k) / max(self.freedom[0], 1)
            self.per_rater = float(size - n) / max(self.freedom[1], 1)

    def sums(self, table: Values) -> tuple[Values, Values, Values, Values]:
        """Of one table with 0 in its gaps: sums by rater, of means by rater, of squares, of squares by subject."""
        rows = table.sum(axis=1)
        means = self.marks.T @ (rows / self.per_row)
        each = np.array([(table**2).sum()]), np.array([(rows**2 / self.per_row).sum()])
        return table.sum(axis=0)[None], means[None], *each

    def squares(self, columns: Values, means: Values, whole: Values, subjects: Values) -> Values:
        """Mean squares of one table or more, from their sums."""
        middle = columns.sum(axis=1) ** 2 / self.per_row.sum()
        if self.one_way:
            of = subjects - middle, np.zeros_like(whole), whole - subjects
        else:
            left = columns - means
            raters = np.einsum("bp,pq,bq->b", left, self.inverse, left)
            error = np.maximum(whole - subjects - raters, 0.0)
            of = whole - (columns**2 / self.per_column).sum(axis=1) - error, raters, error
        return np.stack([part / max(df, 1) for part, df in zip(of, self.freedom, strict=True)], axis=1)

    def effects(self, table: Values) -> tuple[Values, Values]:
        """Of subjects and raters, by least squares."""
        columns, means, _, _ = self.sums(table)
        raters = np.zeros(len(self.per_column)) if self.one_way else self.inverse @ (columns - means)[0]
        return (table - self.marks * raters).sum(axis=1) / self.per_row, raters

    def errors(self, table: Values) -> Values:
        """What they do not explain; 0 in gaps."""
        subjects, raters = self.effects(table)
        return np.asarray(self.marks * (table - subjects[:, None] - raters))

    def exact_components(self, table: Values) -> Values:
        """Variances of a table in which subject and rater explain every size."""
        subjects, raters = self.effects(table)
        return np.array([subjects.var(ddof=1), 0.0 if self.one_way else raters.var(ddof=1), 0.0])

    def draw(self, components: Values, resamples: int, seed: int) -> Values:
        """Mean squares of tables from the model.

        Subjects with the same raters are drawn together: the sums of their sizes are normal, and what is left of the
        squares, along the mean of a subject and across it, is chi-square.
        """
        rng, k = np.random.default_rng(seed), self.there.shape[1]
        subject, rater, error = components
        effects = math.sqrt(rater) * rng.standard_normal((resamples, k))
        columns, means = np.zeros((resamples, k)), np.zeros((resamples, k))
        whole, subjects = np.zeros(resamples), np.zeros(resamples)
        patterns, counts = np.unique(self.there, axis=0, return_counts=True)
        for pattern, n in zip(patterns, counts.tolist(), strict=True):
            m = int(pattern.sum())
            sums = n * effects[:, pattern] + math.sqrt(n * error) * rng.standard_normal((resamples, m))
            sums += math.sqrt(n * subject) * rng.standard_normal((resamples, 1))
            along = (m * subject + error) * _chi_square(rng, n - 1, resamples)
            across = error * _chi_square(rng, (n - 1) * (m - 1), resamples)
            row = sums.sum(axis=1)
            columns[:, pattern] += sums
            means[:, pattern] += row[:, None] / m
            whole += along + across + (sums**2).sum(axis=1) / n
            subjects += along + row**2 / (n * m)
        return self.squares(columns, means, whole, subjects)


def _chi_square(rng: np.random.Generator, freedom: int, count: int) -> Values:
    return rng.chisquare(freedom, count) if freedom else np.zeros(count)


def _separable(products: _Products) -> NDArray[np.bool_]:
    """Of many tables, those that have two subjects or more, and errors besides subjects and raters."""
    inside = products.whole - (products.by_count / products.counts[:, None, None]).sum(axis=1)
    raters, y, subjects = inside[:, :-2, :-2], inside[:, :-2, -1], products.subjects.sum(axis=1)
    rank, explained = np.zeros(len(inside)), np.zeros(len(inside))
    if raters.shape[1]:
        rank = np.linalg.matrix_rank(raters, hermitian=True, tol=1e-9 * products.sizes)
        explained = np.einsum("bp,bpq,bq->b", y, np.linalg.pinv(raters, rcond=1e-10, hermitian=True), y)
    freedom = np.rint(products.sizes - subjects) - rank
    return np.asarray((subjects > 1) & (freedom > 0) & (inside[:, -1, -1] - explained > 1e-12 * products.sizes))


def _starts(products: _Products) -> Values:
    """The best of some ratios of standard deviations, subjects and raters over errors."""
    grid = np.array([(s, r) for s in (0.1, 0.5, 1.5, 5.0, 20.0) for r in (0.05, 0.3, 1.0, 4.0)])
    values = _deviance(_repeat(products, len(grid)), grid)
    return grid[[int(np.argmin(values))]]


def _absorbed(products: _Products, ratios: Values) -> tuple[Values, Values, Values]:
    """The products after subjects are absorbed, and the derivatives of what was taken off by the first ratio."""
    r, k = ratios[:, :1], products.counts[None]
    plus = 1 + r**2 * k
    factors = r**2 / plus, 2 * r / plus**2, 2 / plus**2 - 8 * r**2 * k / plus**3
    taken, first, second = (np.einsum("bk,bkpq->bpq", f, products.by_count) for f in factors)
    return products.whole - taken, -first, -second


def _deviance(products: _Products, ratios: Values) -> Values:
    """−2 log likelihood of the ratios, restricted, less what does not depend on them."""
    inside, _, _ = _absorbed(products, ratios)
    full = _scaled(inside, ratios[:, 1])
    head = full[:, :-1, :-1]
    solved = np.linalg.solve(head, full[:, :-1, -1:])[..., 0]
    left = full[:, -1, -1] - np.einsum("bp,bp->b", full[:, :-1, -1], solved)
    subjects = (products.subjects * np.log1p(ratios[:, :1] ** 2 * products.counts)).sum(axis=1)
    return np.asarray(subjects + np.linalg.slogdet(head)[1] + (products.sizes - 1) * np.log(np.maximum(left, 1e-300)))


def _scaled(inside: Values, ratio: Values) -> Values:
    """Rows and columns of raters times their ratio, plus 1 on the diagonal."""
    p = inside.shape[-1]
    by = np.ones((len(ratio), p))
    by[:, :-2] = ratio[:, None]
    out = inside * by[:, :, None] * by[:, None, :]
    index = np.arange(p - 2)
    out[:, index, index] += 1.0
    return np.asarray(out)


def _slope(products: _Products, ratios: Values) -> tuple[Values, Values, Values]:
    """First and second derivatives of the deviance by the two ratios, and the error variance there."""
    inside, first, second = _absorbed(products, ratios)
    p = inside.shape[-1]
    raters = np.zeros(p)
    raters[:-2] = 1.0
    by = 1 - raters + raters * ratios[:, 1:]
    left, right, left_r, right_r = by[:, :, None], by[:, None, :], raters[:, None], raters[None, :]
    full = _scaled(inside, ratios[:, 1])
    by_one = [first * left * right, inside * (left_r * right + left * right_r)]
    by_two = {
        (0, 0): second * left * right,
        (0, 1): first * (left_r * right + left * right_r),
        (1, 1): 2 * inside * left_r * right_r,
    }
    inverse = np.linalg.inv(full[:, :-1, :-1])
    z = np.concatenate([-np.einsum("bpq,bq->bp", inverse, full[:, :-1, -1]), np.ones((len(full), 1))], axis=1)
    q = np.einsum("bp,bpq,bq->b", z, full, z)
    n, (r, k) = products.sizes - 1, (ratios[:, :1], products.counts[None])
    plus = 1 + r**2 * k
    own = (products.subjects * 2 * r * k / plus).sum(axis=1)
    curved = (products.subjects * (2 * k / plus - (2 * r * k / plus) ** 2)).sum(axis=1)
    times = [np.einsum("bpq,bqr->bpr", inverse, h[:, :-1, :-1]) for h in by_one]
    hz = [np.einsum("bpq,bq->bp", h, z) for h in by_one]
    zhz = [np.einsum("bp,bp->b", z, h) for h in hz]
    slope = np.stack([np.trace(t, axis1=1, axis2=2) + n * s / q for t, s in zip(times, zhz, strict=True)], axis=1)
    slope[:, 0] += own
    curve = np.empty((len(full), 2, 2))
    for (a, b), h in by_two.items():
        traces = np.einsum("bpq,bqp->b", inverse, h[:, :-1, :-1]) - np.einsum("bpq,bqp->b", times[a], times[b])
        bent = np.einsum("bp,bpq,bq->b", z, h, z) - 2 * np.einsum("bp,bpq,bq->b", hz[a][:, :-1], inverse, hz[b][:, :-1])
        curve[:, a, b] = curve[:, b, a] = traces + n * (bent / q - zhz[a] * zhz[b] / q**2)
    curve[:, 0, 0] += curved
    return slope, curve, q / n


def _maximise(products: _Products, ratios: Values, steps: int = 60) -> tuple[Values, Values]:
    """The components of largest restricted likelihood, by Newton's method on the ratios of standard deviations.

    The likelihood is even in each ratio, so that a variance of 0 is a point like any other. Steps go downhill only:
    along directions in which the deviance is bent the wrong way they are turned round, and they are halved until the
    deviance falls.
    """
    ratios = ratios.copy()
    if products.whole.shape[-1] == 2:
        ratios[:, 1] = 0.0
    value, open_ = _deviance(products, ratios), np.arange(len(ratios))
    for _ in range(steps):
        part = _choose(products, open_)
        slope, curve, _ = _slope(part, ratios[open_])
        bends, directions = np.linalg.eigh(curve)
        along = np.einsum("bpq,bp->bq", directions, slope) / np.maximum(np.abs(bends), 1e-8)
        move = -np.einsum("bpq,bq->bp", directions, along)
        if products.whole.shape[-1] == 2:
            move[:, 1] = 0.0
        move /= np.maximum(1.0, np.abs(move) / np.maximum(1.0, ratios[open_])).max(axis=1, keepdims=True)
        tried, better = ratios[open_], np.zeros(len(open_), bool)
        for _ in range(30):
            trial = np.abs(ratios[open_] + move)
            found = _deviance(part, trial)
            now = ~better & (found <= value[open_])
            tried[now], better = trial[now], better | now
            value[open_[now]] = found[now]
            if better.all():
                break
            move[~better] /= 2
        moved = np.abs(tried - ratios[open_]).max(axis=1) > 1e-10 * np.maximum(1.0, tried.max(axis=1))
        ratios[open_] = tried
        open_ = open_[moved & better]
        if not len(open_):
            break
    _, _, error = _slope(products, ratios)
    return np.column_stack([ratios[:, 0] ** 2 * error, ratios[:, 1] ** 2 * error, error]), ratios


def _choose(products: _Products, which: NDArray[np.intp]) -> _Products:
    return _Products(products.whole[which], products.by_count[which], products.counts, products.subjects[which])
