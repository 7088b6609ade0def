"""Intraclass correlation of sizes: how much of their variance is that between subjects.

With k raters, n subjects, mean squares MS of subjects (S), raters (R), errors (E) and within subjects (W):

======  ==================================================  ==========================================================
kind    name                                                estimate from a complete table
======  ==================================================  ==========================================================
1       one-way random, single rater                        (MSS − MSW) / (MSS + (k − 1) MSW)
A,1     two-way random, absolute agreement, single rater    (MSS − MSE) / (MSS + (k − 1) MSE + k (MSR − MSE) / n)
C,1     two-way, consistency, single rater                  (MSS − MSE) / (MSS + (k − 1) MSE)
k       one-way random, mean of k raters                    (MSS − MSW) / MSS
A,k     two-way random, absolute agreement, mean of k       (MSS − MSE) / (MSS + (MSR − MSE) / n)
C,k     two-way, consistency, mean of k raters              (MSS − MSE) / MSS
======  ==================================================  ==========================================================

Shrout and Fleiss call them (1,1), (2,1), (3,1), (1,k), (2,k) and (3,k). Intervals of complete tables go by the F
distribution (McGraw & Wong 1996, with the erratum). Tables with gaps are fitted by REML (:mod:`.variance_components`);
their intervals have the same form, with the distribution of the ratio from simulated tables in the place of F.

For agreement F is an approximation, with Satterthwaite's degrees of freedom; where raters differ as much as errors do,
or more, the interval covers too little. The generalized interval does not (Ionan et al. 2014): given the mean squares,
each variance is distributed as its mean square times its degrees of freedom over a chi-square, and the ends are
quantiles of the correlation that these variances have. They are found by quadrature, without random numbers.

Shrout PE, Fleiss JL. Intraclass correlations: uses in assessing rater reliability. Psychol Bull 1979;86:420–428.
doi:10.1037/0033-2909.86.2.420. McGraw KO, Wong SP. Forming inferences about some intraclass correlation coefficients.
Psychol Methods 1996;1:30–46. doi:10.1037/1082-989X.1.1.30; erratum 1:390. Ionan AC, Polley MYC, McShane LM, Dobbin KK.
Comparison of confidence interval methods for an intra-class correlation coefficient (ICC). BMC Med Res Methodol
2014;14:121. doi:10.1186/1471-2288-14-121.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import CallError
from ..core.undefined import Undefined
from .variance_components import MOST, SizeModel, Values, VarianceComponents, check_level, fit_sizes

NAMES = {
    "1": "one-way random, single rater",
    "A,1": "two-way random, absolute agreement, single rater",
    "C,1": "two-way, consistency, single rater",
    "k": "one-way random, mean of {k} raters",
    "A,k": "two-way random, absolute agreement, mean of {k} raters",
    "C,k": "two-way, consistency, mean of {k} raters",
}
"""The kinds, in McGraw and Wong's notation, in full."""
INTERVALS = ("mcgraw-wong", "generalized")
"""Intervals of agreement."""
LIMIT = 1.96
"""Standard deviations on either side that hold 95% of a normal distribution, as limits of agreement count them."""
_SLACK = 1e-12
"""How far beside its interval an estimate may be by rounding."""


@dataclass(frozen=True)
class _Fields:
    """What an intraclass correlation knows besides its value."""

    low: float
    high: float
    level: float
    kind: str
    k: int
    n_subjects: int
    n_raters: int
    components: VarianceComponents
    method: str


class IntraclassCorrelation(float):
    """An intraclass correlation: a float with its interval and the variances it is made of.

    An undefined one is also an :class:`Undefined` with code and reason.

    Parameters
    ----------
    value : float
        The correlation, or why it is undefined.
    known : object
        The attributes below.

    Attributes
    ----------
    low, high : float
        Ends of the interval; :class:`Undefined` where there is none.
    level : float
        Confidence level.
    kind : str
        ``"1"``, ``"A,1"``, ``"C,1"``, ``"k"``, ``"A,k"`` or ``"C,k"``.
    k : int
        Number of raters whose mean the kinds with k speak of; 1 for the others.
    n_subjects, n_raters : int
        Rows and columns of the table that have a size.
    components : VarianceComponents
        Variances between subjects, between raters, and of errors.
    method : str
        How the interval was made: ``"F"``, ``"generalized"``, ``"bootstrap"`` (simulated tables with the same gaps) or
        ``"jackknife"`` (over subjects that have several rows).

    Examples
    --------
    >>> import manytruths as mt
    >>> sizes = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> r = mt.icc(sizes)
    >>> print(f"{r:.2f} ({r.low:.2f} to {r.high:.2f}), {r.name}")
    0.29 (0.02 to 0.76), two-way random, absolute agreement, single rater
    """

    low: float
    high: float
    level: float
    kind: str
    k: int
    n_subjects: int
    n_raters: int
    components: VarianceComponents
    method: str

    def __new__(cls, value: float, known: _Fields) -> IntraclassCorrelation:
        if isinstance(value, Undefined) and cls is IntraclassCorrelation:
            return _UndefinedCorrelation(value, known)
        self = super().__new__(cls, value)
        for entry in fields(known):
            setattr(self, entry.name, getattr(known, entry.name))
        return self

    @property
    def name(self) -> str:
        """The kind in full, such as ``two-way random, absolute agreement, single rater``."""
        return NAMES[self.kind].format(k=self.k)

    @property
    def value(self) -> float:
        """The number alone, or why it is undefined."""
        return Undefined(self.code, self.detail) if isinstance(self, Undefined) else float(self)

    @property
    def sem_agreement(self) -> float:
        """Standard error of measurement √(σ²_rater + σ²_error), in the unit of the sizes; one-way: √σ²_error."""
        rater = self.components.rater
        return _root(self.components.error + (0.0 if math.isnan(rater) else rater), self.components.error)

    @property
    def sem_consistency(self) -> float:
        """Standard error of measurement √σ²_error, without differences between raters; undefined in one-way models."""
        if isinstance(self.components.rater, Undefined):
            return self.components.rater
        return _root(self.components.error, self.components.error)

    @property
    def smallest_detectable_change(self) -> float:
        """1.96 √2 times the standard error of measurement: of consistency for its kinds, else of agreement.

        A change between two sizes of one subject that is smaller is no more than what raters differ by.
        """
        error = self.sem_consistency if self.kind.startswith("C") else self.sem_agreement
        return error if math.isnan(error) else LIMIT * math.sqrt(2) * error

    def _known(self) -> _Fields:
        return _Fields(**{entry.name: getattr(self, entry.name) for entry in fields(_Fields)})

    def __reduce__(self) -> tuple[Any, ...]:
        return IntraclassCorrelation, (self.value, self._known())

    def __repr__(self) -> str:
        if isinstance(self, Undefined):
            return f"<ICC({self.kind}) undefined: {self.reason}>"
        ends = "" if math.isnan(self.low) else f" ({self.level:.0%} CI {self.low:.3f} to {self.high:.3f})"
        return f"<ICC({self.kind}) {float(self):.3f}{ends}, {self.name}, {self.n_subjects} subjects>"


class _UndefinedCorrelation(IntraclassCorrelation, Undefined):
    """One that is undefined, and why."""

    def __new__(cls, value: float, known: _Fields) -> _UndefinedCorrelation:
        self = float.__new__(cls, math.nan)
        assert isinstance(value, Undefined)
        self.code, self.detail = value.code, value.detail
        for entry in fields(known):
            setattr(self, entry.name, getattr(known, entry.name))
        return self

    def __copy__(self) -> _UndefinedCorrelation:
        return self

    def __deepcopy__(self, memo: object) -> _UndefinedCorrelation:
        return self


def _root(variance: float, like: float) -> float:
    if isinstance(like, Undefined):
        return like
    return math.sqrt(max(variance, 0.0))


def icc(
    values: ArrayLike,
    kind: str = "A,1",
    *,
    level: float = 0.95,
    interval: str = "mcgraw-wong",
    k: int | None = None,
    exchangeable: bool = False,
    subjects: Sequence[object] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> IntraclassCorrelation:
    """Intraclass correlation of sizes, or of any numbers, that raters gave to subjects.

    A complete table is analysed by analysis of variance, with intervals by the F distribution; one with gaps by REML on
    the crossed model, with intervals from tables that are simulated with the same gaps. Of single raters it says how
    reliable one rater's size is, of k raters how reliable their mean. Agreement (``A``) counts differences between
    raters as errors, consistency (``C``) does not.

    Where subjects differ less than by chance, the estimate is below 0. That of agreement is as its formula gives it,
    which in small tables may be below −1, as no correlation is. Intervals of single raters end at −1, and are undefined
    where the estimate lies beyond, or where subjects or errors have no spread.

    Parameters
    ----------
    values : array_like
        Sizes (subjects, raters), nan or masked where one is missing. Subjects and raters without a size are left out.
    kind : {"A,1", "C,1", "1", "A,k", "C,k", "k"}
        McGraw and Wong's notation; Shrout and Fleiss' (2,1), (3,1), (1,1), (2,k), (3,k), (1,k).
    level : float
        Confidence level of the interval.
    interval : {"mcgraw-wong", "generalized"}
        Of agreement (``A``): McGraw and Wong's, as other programs have it, or the generalized interval, which covers
        what it says where raters differ much, too. With few raters it is wider: two or three tell little about others.
        Intervals of the other kinds are exact, and the same for both.
    k : int, optional
        Number of raters whose mean is taken, for the kinds with k; by default the number of raters in the table.
    exchangeable : bool
        Whether columns are not the same rater in every row. Then only ``"1"`` and ``"k"`` are defined.
    subjects : sequence, optional
        The subject of each row, where subjects have several rows. The interval then comes from the jackknife over
        subjects, and speaks of other subjects with these raters.
    resamples : int
        Number of simulated tables, where sizes are missing.
    seed : int
        Of the simulated tables.

    Returns
    -------
    IntraclassCorrelation
        A float with ``low``, ``high``, ``name``, ``components``, ``sem_agreement``, ``smallest_detectable_change``.

    References
    ----------
    McGraw KO, Wong SP. Forming inferences about some intraclass correlation coefficients. Psychol Methods 1996;1:30–46.
    doi:10.1037/1082-989X.1.1.30. Shrout PE, Fleiss JL. Intraclass correlations: uses in assessing rater reliability.
    Psychol Bull 1979;86:420–428. doi:10.1037/0033-2909.86.2.420. Ionan AC, Polley MYC, McShane LM, Dobbin KK.
    Comparison of confidence interval methods for an intra-class correlation coefficient (ICC). BMC Med Res Methodol
    2014;14:121. doi:10.1186/1471-2288-14-121.

    Examples
    --------
    >>> import manytruths as mt
    >>> sizes = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> [round(mt.icc(sizes, kind), 2) for kind in ("1", "A,1", "C,1", "k", "A,k", "C,k")]
    [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    """
    _check_kind(kind, exchangeable)
    check_level(level)
    if interval not in INTERVALS:
        raise CallError(f"interval must be one of {', '.join(map(repr, INTERVALS))}; got {interval!r}")
    if k is not None and k < 1:
        raise CallError(f"k must be a number of raters, 1 or more; got {k}")
    fit = fit_sizes(values, one_way=kind in ("1", "k"), subjects=subjects, resamples=resamples, seed=seed)
    return icc_of_model(fit, kind, level=level, k=k, interval=interval)


def _check_kind(kind: str, exchangeable: bool) -> None:
    if kind not in NAMES:
        raise CallError(f"kind must be one of {', '.join(map(repr, NAMES))}; got {kind!r}")
    if exchangeable and kind not in ("1", "k"):
        raise CallError(
            f"ICC({kind}) needs to know who is who, and raters are exchangeable; use kind '1', or 'k' for means"
        )


def icc_of_model(
    fit: SizeModel | Undefined,
    kind: str,
    *,
    level: float = 0.95,
    k: int | None = None,
    interval: str = "mcgraw-wong",
) -> IntraclassCorrelation:
    """The same of a table whose variances are known; that of one-way kinds must be fitted one-way."""
    if isinstance(fit, Undefined):
        unknown = VarianceComponents(fit, fit, fit)
        return IntraclassCorrelation(fit, _Fields(fit, fit, level, kind, k or 1, 0, 0, unknown, ""))
    subject, rater, error = (float(v) for v in fit.components)
    if fit.one_way:
        rater = Undefined("raters_not_told_apart")
    of = 1 if kind.endswith("1") else k or fit.n_raters
    value = _ratio(fit.components[None], kind, of)[0]
    low, high, method = _ends(fit, kind, of, level, interval)
    found: float = float(value) if np.isfinite(value) else Undefined("subjects_do_not_differ")
    if isinstance(found, Undefined):
        low, high = found, found
    known = (low, high, level, kind, of, fit.n_subjects, fit.n_raters, VarianceComponents(subject, rater, error))
    return IntraclassCorrelation(found, _Fields(*known, method))


def _ratio(components: Values, kind: str, k: int) -> Values:
    """The correlation of sets of components; nan or infinite where it is undefined."""
    subject, rater, error = components.T
    noise = error if kind.startswith("C") else error + rater
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = subject + noise / k
        return np.asarray(np.where(whole > 0, subject / whole, np.nan))


def _ends(fit: SizeModel, kind: str, k: int, level: float, interval: str) -> tuple[float, float, str]:
    """The interval, and how it was made."""
    method = "jackknife" if fit.replicates is not None else "F" if fit.draws is None else "bootstrap"
    if interval == "generalized" and kind.startswith("A") and fit.replicates is None:
        method = interval
    if fit.exact:
        none = Undefined("raters_identical")
        return none, none, method
    if fit.squares[0] == 0 and fit.replicates is None:
        none = Undefined("subjects_do_not_differ")
        return none, none, method
    single = kind[:-1] + "1"
    make = {"jackknife": _jackknife_ends, "generalized": _generalized_ends}.get(method, _ratio_ends)
    ends = make(fit, single, level)
    estimate, low, high = float(_ratio(fit.components[None], single, 1)[0]), *ends
    if not any(map(math.isnan, ends)):
        # a correlation is not below −1; with hardly a difference between subjects, quantiles miss the estimate
        low = max(low, -1.0)
        if not (low < high and low - _SLACK <= estimate <= high + _SLACK):
            low = high = Undefined("subjects_differ_too_little")
        else:
            low, high = min(low, estimate), max(high, estimate)
    return _mean_of(low, k), _mean_of(high, k), method


def _mean_of(single: float, k: int) -> float:
    """The correlation of means of k raters from that of single ones (Spearman and Brown)."""
    if math.isnan(single):
        return single
    below = 1 + (k - 1) * single
    return k * single / below if below > 0 else -math.inf


def _ratio_ends(fit: SizeModel, single: str, level: float) -> tuple[float, float]:
    """Of single raters, from the ratio of the mean square of subjects to what it would be with a correlation ρ.

    That is E + x (R/n + (1 − 1/n) E) for agreement, E (1 + x) otherwise, with x = kρ/(1 − ρ) and the mean squares R of
    raters and E of errors; at the true ρ the ratio is distributed as F, nearly so for agreement, with Satterthwaite's
    degrees of freedom. With gaps, k and n are those of the expectations, and the distribution is that of the ratio in
    simulated tables.
    """
    x = _true_x(fit, single)
    subject, noise, error = (float(part[0]) for part in _parts(fit, fit.squares[None], single))
    if fit.draws is None:
        least, most = _f_quantiles(fit, single, x, level)
    else:
        s, n, e = _parts(fit, fit.draws, single)
        least, most = np.quantile(s / (e + x * n), [(1 - level) / 2, (1 + level) / 2])
    if not 0 < least <= most < math.inf:
        none = Undefined("subjects_differ_too_little")
        return none, none
    ends = [(subject / q - error) / noise for q in (most, least)]
    low, high = (float(end / (fit.per_subject + end)) for end in ends)
    return (low, high) if fit.draws is None else (max(low, 0.0), max(high, 0.0))


def _true_x(fit: SizeModel, single: str) -> float:
    """k σ²_subject over the variance of what counts as noise, as estimated."""
    subject, rater, error = fit.components
    return float(fit.per_subject * subject / (error + (rater if single == "A,1" else 0.0)))


def _parts(fit: SizeModel, squares: Values, single: str) -> tuple[Values, Values, Values]:
    """Mean squares of subjects and errors, and the estimate of the variance of noise."""
    s, r, e = squares.T
    return s, (r / fit.per_rater + (1 - 1 / fit.per_rater) * e if single == "A,1" else e), e


def _f_quantiles(fit: SizeModel, single: str, x: float, level: float) -> tuple[float, float]:
    """Quantiles of the ratio of a complete table."""
    from scipy.special import fdtri

    between, raters, within = fit.freedom
    below: float = within
    if single == "A,1":
        n, (_, r, e) = fit.per_rater, fit.squares
        terms = x / n * r, (1 + x - x / n) * e
        part = terms[0] / (terms[0] + terms[1])
        below = 1 / (part**2 / raters + (1 - part) ** 2 / within)
    share = (1 + level) / 2
    low, most = float(fdtri(below, between, share)), float(fdtri(between, below, share))
    return (1 / low if low > 0 else math.inf), most


FURTHEST = 1e-12
"""Share of a chi-square distribution on either side that quadrature leaves out."""
NODES = np.polynomial.legendre.leggauss(10)
"""Of Gauss's rule, over a piece of a distribution."""


def _generalized_ends(fit: SizeModel, single: str, level: float) -> tuple[float, float]:
    """Of single raters: quantiles of ρ, given the mean squares (:func:`_probability_below`)."""
    from scipy.optimize import brentq

    @cache
    def below(t: float) -> float:
        return _probability_below(fit, math.expm1(t))

    def beyond(t: float, share: float) -> float:
        return below(t) - share

    start, ends = math.log1p(max(_true_x(fit, single), -0.5)), []
    for share, side in (((1 - level) / 2, -1), ((1 + level) / 2, 1)):
        near, far = start, start + side
        # the end lies beyond what is below it, on its side of the estimate
        while side * beyond(far, share) < 0 and abs(far) < MOST / 10:
            near, far = far, far + 2 * (far - near)
        if side * beyond(near, share) > 0 or side * beyond(far, share) < 0:
            none = Undefined("subjects_differ_too_little")
            return none, none
        ends.append(math.expm1(brentq(beyond, near, far, (share,), xtol=1e-10, rtol=1e-10)))
    k = fit.per_subject
    return ends[0] / (k + ends[0]), ends[1] / (k + ends[1])


def _probability_below(fit: SizeModel, x: float) -> float:
    """How probable it is, given the mean squares, that kρ/(1 − ρ) is at most x.

    That is so where S/u ≤ E/w + x (R/(n v) + (1 − 1/n) E/w), with u, v, w independent, each a chi-square over its
    degrees of freedom. Given v and w it is the chance of u to be that large. Over log w the trapezoidal rule is taken,
    over log v Gauss's, in pieces about the values where that chance changes.
    """
    from scipy.special import chdtrc

    (s, r, e), (between, raters, within), n = fit.squares, fit.freedom, fit.per_rater
    log_w, weight = _even_nodes(within)
    error, slope = e * np.exp(-log_w) * (1 + x * (1 - 1 / n)), x * r / n
    even, width = _cut(raters, 7), math.sqrt(2 / between)
    with np.errstate(divide="ignore", invalid="ignore"):
        steep = np.log(slope / (s * np.exp(width * np.array([-8, -3, 0, 3, 8])[:, None]) - error))
    steep = np.clip(np.where(np.isnan(steep), even[-1], steep), even[0], even[-1])
    cuts = np.sort(np.concatenate([np.repeat(even[:, None], len(error), axis=1), steep]), axis=0)
    log_v, inner = _gauss(cuts, raters)
    noise = error[:, None] + slope * np.exp(-log_v)
    chance = chdtrc(between, between * np.divide(s, noise, out=np.full(noise.shape, np.inf), where=noise > 0))
    return float(weight @ (inner * chance).sum(axis=(0, 2)))


def _log_range(freedom: float) -> tuple[float, float]:
    """Where nearly all of the logarithm of a chi-square over its degrees of freedom lies."""
    from scipy.special import gammainccinv, gammaincinv

    ends = gammaincinv(freedom / 2, FURTHEST), gammainccinv(freedom / 2, FURTHEST)
    low, high = (math.log(2 * float(end) / freedom) for end in ends)
    return low, high


def _log_density(log: Values, freedom: float) -> Values:
    """Density of that logarithm."""
    half = freedom / 2
    return np.asarray(np.exp(half * math.log(half) - math.lgamma(half) + half * (log - np.exp(log))))


def _even_nodes(freedom: float) -> tuple[Values, Values]:
    """Nodes and weights of the trapezoidal rule, which is exact to rounding for what is smooth over a whole line."""
    low, high = _log_range(freedom)
    step = min(0.45, 0.6 * math.sqrt(2 / freedom))
    log = np.linspace(low, high, math.ceil((high - low) / step) + 1)
    return log, (log[1] - log[0]) * _log_density(log, freedom)


def _cut(freedom: float, count: int) -> Values:
    """Ends of pieces of that logarithm, shorter where it is more dense."""
    low, high = _log_range(freedom)
    return np.asarray(high - (high - low) * np.linspace(1, 0, count) ** 2)


def _gauss(cuts: Values, freedom: float) -> tuple[Values, Values]:
    """Nodes between ends of pieces, along a last axis, and their weights by the density of that logarithm."""
    length = np.diff(cuts, axis=0)[..., None] / 2
    log = cuts[:-1, :, None] + length * (NODES[0] + 1)
    return log, length * NODES[1] * _log_density(log, freedom)


def _jackknife_ends(fit: SizeModel, single: str, level: float) -> tuple[float, float]:
    """Of single raters, from tables without one subject, on the scale ln(1 + kρ/(1 − ρ)) of the ratio."""
    k = fit.n_values / fit.n_subjects

    def scaled(components: Values) -> Values:
        rho = _ratio(components, single, 1)
        return np.asarray(np.log(np.maximum(1 + (k - 1) * rho, 1e-12) / np.maximum(1 - rho, 1e-12)))

    ends = fit.jackknife(scaled, level)
    if any(map(math.isnan, ends)):
        return ends
    low, high = (math.exp(min(end, MOST / 2)) for end in ends)
    return (low - 1) / (low + k - 1), (high - 1) / (high + k - 1)
