"""STAPLE: the hidden truth and every rater's rates, each from the other.

An item is true with prior π. Rater j marks a true item with probability p_j (sensitivity) and leaves a false one
with q_j (specificity), independently of the others. With D_ij the decisions, EM repeats over the raters present ::

    M   p_j = Σ W_i D_ij / Σ W_i                    q_j = Σ (1 − W_i) (1 − D_ij) / Σ (1 − W_i)
    E   a_i = π Π p_j^D (1 − p_j)^(1 − D)           b_i = (1 − π) Π q_j^(1 − D) (1 − q_j)^D
        W_i = a_i / (a_i + b_i)

from W = A / m, the share of the raters who marked; more than two labels have a prior and a row of rates each
(:mod:`.em`). A region is a property of the table: restrict it first. Maps of priors and smoothing: :mod:`.staple_map`.

Warfield SK, Zou KH, Wells WM. Simultaneous truth and performance level estimation (STAPLE). IEEE Trans Med Imaging
2004;23:903–921. doi:10.1109/TMI.2004.828354. Dawid AP, Skene AM. Appl Stat 1979;28:20–28. doi:10.2307/2346806.
Commowick O, Warfield SK. MAP-STAPLE. MICCAI 2010, LNCS 6363:25–32. doi:10.1007/978-3-642-15711-0_4. Commowick O,
Akhondi-Asl A, Warfield SK. IEEE Trans Med Imaging 2012;31:1593–1606 (consensus items). doi:10.1109/TMI.2012.2197406

``like="itk"`` follows ITK where it differs from the papers. ``itk::STAPLEImageFilter`` (two labels) starts from vote
fractions, holds the mean vote as prior, and stops when no rate moves more than 1e-7, in every version.
``itk::MultiLabelSTAPLEImageFilter`` starts from the vote, and depends on its version: :mod:`.staple_itk`.

Rohlfing T, Russakoff DB, Maurer CR. IEEE Trans Med Imaging 2004;23:983–994. doi:10.1109/TMI.2004.830803
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.labels import Labels
from ..core.painting import PatternValues
from ..core.tally import Tally, check_tally
from .em import PLAIN, Decisions, Fit, Values, fit_em
from .result import SLOTS, Consensus, table_notes, unrated_code, with_mark
from .staple_itk import Itk, fit_single, parse_like, single_notes, start_like_itk

if TYPE_CHECKING:
    from .staple_errors import RateErrors


Prior = Literal["prevalence", "marked", "estimated"] | float | Sequence[float]

Unanimous = Literal["keep", "exclude"]

MAX_ITER = 1000

MAX_ITER_OF_ITK = 100_000
"""ITK itself goes on for ever."""

TIE = 1e-9
"""W this near to ½ is a tie up to rounding; ties go to background, or to the label of the lower value."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Staple(Consensus):
    """The result of STAPLE: the probability of each pattern, and the rates of every rater.

    Attributes
    ----------
    method : str
        ``staple`` or ``staple_map``.
    raters : tuple of str
        Raters whose decisions were used.
    labels : Labels
        The labels that ``hard`` refers to.
    probability : ndarray
        W: the probability that an item is marked or, with more labels, of every label.
    hard : ndarray
        W > ½, or the code of the most likely label; a tie is background or the lower label, what nobody rated is
        background.
    convergence : str
        ``converged``, ``stopped`` (after ``max_iter`` iterations), ``nothing rated``, ``nothing marked``, ``everything
        marked``, ``one label`` (only one was given) or ``all agree`` (and unanimous items are excluded).
    notes : tuple of str
        What to know before using it.
    """

    confusion: Values
    """(raters, truth, given): how often a rater gives each label to items of each; nan where it cannot be told."""
    prior: float | Values
    """π, as given or at the end; one number for two labels, else one a label."""
    log_likelihood: Values
    """Of the decisions, after each iteration; with a prior on the rates, of both."""
    iterations: int
    """How many times both steps were done (as ITK counts: one less)."""
    options: StapleOptions
    """How it was called."""

    @property
    def sensitivity(self) -> Values:
        """Sensitivity p of each rater, or of each rater and label; nan where nothing that they rated is true."""
        each = np.diagonal(self.confusion, axis1=1, axis2=2)
        return np.array(each[:, 1] if len(self.labels) == 2 else each)

    @property
    def specificity(self) -> Values:
        """Specificity q of each rater; for more labels, how often they do not give a label to items of the others."""
        if len(self.labels) == 2:
            return np.array(self.confusion[:, 0, 0])
        prior = np.asarray(self.prior)
        others = prior * (1 - np.eye(len(prior)))
        given = np.where(prior[:, None] > 0, self.confusion, 0.0)
        return np.asarray(1 - np.einsum("lk,rkl->rl", others, given) / others.sum(axis=1))

    def standard_errors(self) -> RateErrors:
        """Standard errors of the rates from the information matrix; valid only for independent items, such as ratings.

        Returns
        -------
        RateErrors
            Errors of sensitivity, specificity, confusion matrices and prior.

        References
        ----------
        * Louis TA. Finding the observed information matrix when using the EM algorithm. J R Stat Soc B
          1982;44:226–233. doi:10.1111/j.2517-6161.1982.tb01203.x
        """
        from .staple_errors import rate_errors

        return rate_errors(self)


def staple(
    tally: Tally,
    prior: Prior = "prevalence",
    *,
    like: str | None = None,
    unanimous: Literal["keep", "exclude"] = "keep",
    map_prior: tuple[float, ...] | None = None,
    tol: float = 1e-7,
    max_iter: int | None = None,
) -> Staple:
    """Estimate the hidden true labels and the raters' sensitivity and specificity by maximum likelihood (STAPLE).

    Where nobody marked anything, the probability is 0 and the rates are undefined. Without any overlap EM still
    converges, to whoever marked most or to no mark at all, and a note says that it means nothing. The table of one
    case gives rates per case, a pooled one pooled rates. Rates of masks have no standard errors of their own, as
    neighbouring pixels are not independent: resample subjects with :func:`confidence_interval`.

    Parameters
    ----------
    tally : Tally
        The raters' decisions, of two or more labels.
    prior : {"prevalence", "marked", "estimated"}, float or sequence of float
        π: the mean vote, as in ITK; the share of items that any rater marked (shared among several labels by their
        votes); the mean of W after each step (Dawid and Skene's model); a number; or one number per label. All but
        ``"estimated"`` stay fixed.
    like : str, optional
        ``"itk"`` reproduces ``itk::STAPLEImageFilter`` or, for more than two labels,
        ``itk::MultiLabelSTAPLEImageFilter`` of SimpleITK 2.5.7, which fixes start, prior and tolerance; the first
        counts one iteration less. ``"itk@2.5.6"`` names another version of SimpleITK (before 2.5.7 several labels are
        counted in 32-bit floats, which goes wrong where a label has more than 16.7 million votes), and ``"itk@main"``
        ITK since July 2026, which leaves out tied votes at the start.
    unanimous : {"keep", "exclude"}
        With ``"exclude"``, items on which two or more raters all agree are taken as what they say, and rates and prior
        come from the others.
    map_prior : tuple of float, optional
        Beta priors of the rates: ``(a, b)`` for all of them, or ``(a_p, b_p, a_q, b_q)``; each at least 1. With
        more labels, Dirichlet: a for the right label, b for each of the others.
    tol : float
        Stop when no rate changes by more than this between iterations.
    max_iter : int, optional
        Maximum number of iterations: 1,000, or 100,000 with ``like="itk"``.

    Returns
    -------
    Staple
        Probability, decision, confusion matrices, prior and log-likelihood.

    References
    ----------
    * Warfield SK, Zou KH, Wells WM. Simultaneous truth and performance level estimation (STAPLE). IEEE Trans Med
      Imaging 2004;23:903–921. doi:10.1109/TMI.2004.828354
    * Dawid AP, Skene AM. Appl Stat 1979;28:20–28. doi:10.2307/2346806
    * Commowick O, Akhondi-Asl A, Warfield SK. IEEE Trans Med Imaging 2012;31:1593–1606.
      doi:10.1109/TMI.2012.2197406
    * Commowick O, Warfield SK. MAP-STAPLE. MICCAI 2010, LNCS 6363:25–32. doi:10.1007/978-3-642-15711-0_4

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0, 0, 0, 0], "B": [1, 1, 0, 0, 0, 0], "C": [1, 0, 1, 0, 0, 0]})
    >>> result = mt.staple(t)
    >>> result.hard, result.sensitivity.round(2)
    (array([False, False,  True,  True]), array([1. , 1. , 0.5]))
    """
    check_tally(tally, "staple")
    tally = with_mark(tally)
    options = StapleOptions.of(tally, prior, like, unanimous, map_prior, tol, max_iter)
    decisions, agreed = read_decisions(tally, options)
    pseudo = pseudo_counts(map_prior, decisions.labels)
    given = np.flatnonzero((tally.counts[:, None] * tally.votes).any(axis=0))
    if len(given) < 2:
        return _certain(tally, int(given[0]) if len(given) else 0, options)
    if not decisions.counts.any():
        return make_result(tally, _nothing_fitted(tally), agreed, options)
    start = starting_prior(decisions, tally, prior)
    itk = options.itk
    if itk is not None and itk.single and len(tally.labels) > 2:
        return make_result(tally, fit_single(tally, decisions, itk, options.tol, options.max_iter), agreed, options)
    begin = decisions.share if itk is None else start_like_itk(tally, decisions, start, itk)
    fit = fit_em(decisions, begin, start, options.estimate, pseudo, options.tol, options.max_iter, plain=options.plain)
    return make_result(tally, fit, agreed, options)


@dataclass(frozen=True)
class StapleOptions:
    """The arguments of :func:`staple`."""

    prior: Prior | str = "prevalence"
    like: str | None = None
    unanimous: Unanimous = "keep"
    map_prior: tuple[float, ...] | None = None
    tol: float = 1e-7
    max_iter: int = MAX_ITER

    @classmethod
    def of(
        cls,
        tally: Tally,
        prior: Prior | str = "prevalence",
        like: str | None = None,
        unanimous: Unanimous = "keep",
        map_prior: tuple[float, ...] | None = None,
        tol: float = 1e-7,
        max_iter: int | None = None,
    ) -> StapleOptions:
        """With ITK's own where it is asked for."""
        if parse_like(like) is not None:
            tol, max_iter = 1e-7 if len(tally.labels) == 2 else 1e-5, MAX_ITER_OF_ITK if max_iter is None else max_iter
        return cls(prior, like, unanimous, map_prior, tol, MAX_ITER if max_iter is None else max_iter)

    def __post_init__(self) -> None:
        if self.itk is not None and (self.prior != "prevalence" or self.unanimous != "keep" or self.map_prior):
            raise CallError(
                f"like={self.like!r} has the prior 'prevalence', keeps unanimous items and has no map_prior; got "
                f"{self.prior!r}, {self.unanimous!r}, {self.map_prior!r}: leave them out, or leave out like="
            )
        if self.unanimous not in ("keep", "exclude"):
            raise CallError(f"unanimous must be 'keep' or 'exclude'; got {self.unanimous!r}")
        if self.max_iter < 1:
            raise CallError(f"max_iter must be at least 1; got {self.max_iter!r}")

    @property
    def itk(self) -> Itk | None:
        """The version of ITK that is followed."""
        return parse_like(self.like)

    @property
    def plain(self) -> int:
        """Iterations before EM is accelerated, which ITK does not do."""
        return PLAIN if self.itk is None else self.max_iter

    @property
    def estimate(self) -> bool:
        """Whether the prior follows W."""
        return isinstance(self.prior, str) and self.prior == "estimated"


def pseudo_counts(map_prior: tuple[float, ...] | None, labels: int) -> Values:
    """(truth, given): what a prior of the rates adds to the counts of the M-step."""
    if map_prior is None:
        return np.zeros((labels, labels))
    each = np.asarray(map_prior, np.float64)
    if len(each) not in ((2, 4) if labels == 2 else (2,)) or not (np.isfinite(each) & (each >= 1)).all():
        four = " or (a_p, b_p, a_q, b_q)" if labels == 2 else ""
        raise CallError(f"map_prior is (a, b){four}, each at least 1; got {map_prior!r}")
    if len(each) == 4:
        return np.array([[each[2], each[3]], [each[1], each[0]]]) - 1
    return np.asarray(np.where(np.eye(labels) > 0, each[0], each[1]) - 1)


def starting_prior(decisions: Decisions, tally: Tally, prior: Prior | str) -> Values:
    """(labels): π at the first step."""
    if not isinstance(prior, str):
        return _given(prior, tally.labels)
    if prior not in ("prevalence", "marked", "estimated"):
        raise CallError(f"prior is 'prevalence', 'marked', 'estimated', a number, or one a label; got {prior!r}")
    mean = decisions.mean_share(decisions.counts)
    return _marked(decisions, tally, mean) if prior == "marked" else mean


def _given(prior: float | Sequence[float], labels: Labels) -> Values:
    each = np.atleast_1d(np.asarray(prior, np.float64))
    if len(each) == 1 and len(labels) == 2:
        each = np.array([1 - each[0], each[0]])
    if each.shape != (len(labels),) or not (each > 0).all() or abs(each.sum() - 1) > 1e-6:
        single = "a number, or " if len(labels) == 2 else ""
        raise CallError(
            f"a prior is {single}one a label ({', '.join(labels.describe())}), above 0 and below 1, with the sum 1; "
            f"got {prior!r}. A map of priors goes to staple_map, with the masks"
        )
    return each


def _marked(decisions: Decisions, tally: Tally, mean: Values) -> Values:
    """Background gets what nobody marked; the marks share the rest as they share the votes."""
    ground = tally.labels.background
    if ground is None:
        raise CallError(f"prior 'marked' needs background (0) among {', '.join(tally.labels.describe())}")
    share = float(decisions.counts @ (tally.marked > 0) / decisions.counts.sum())
    if share == 1:
        raise CallError(
            f"every item of the region {tally.region!r} is marked by somebody, so that the prior 'marked' is 1; "
            "take another prior, or a larger region"
        )
    marks = np.delete(mean, ground)
    return np.insert(share * marks / marks.sum() if share else marks, ground, 1 - share)


def read_decisions(tally: Tally, options: StapleOptions, *, dense: bool = False) -> tuple[Decisions, NDArray[np.bool_]]:
    """What EM sees, and which patterns are settled beforehand."""
    decisions = Decisions.of(tally, dense=dense)
    if options.unanimous == "keep":
        return decisions, np.zeros(len(tally.counts), bool)
    agreed = (tally.rated > 1) & (tally.votes.max(axis=1, initial=0) == tally.rated)
    return replace(decisions, counts=np.where(agreed, 0.0, decisions.counts)), agreed


def _nothing_fitted(tally: Tally) -> Fit:
    """Rates that cannot be told, and the votes for W."""
    raters, labels = len(tally.raters), len(tally.labels)
    share = _vote_shares(tally)
    prior = tally.counts @ share / max(tally.items, 1)
    return Fit(np.full((raters, labels, labels), np.nan), prior, share, np.zeros(0), 0.0)


def _vote_shares(tally: Tally) -> Values:
    return np.asarray(tally.votes / np.maximum(tally.rated, 1)[:, None])


def _certain(tally: Tally, code: int, options: StapleOptions) -> Staple:
    """Nobody marked anything, or everybody everything: nothing is left to estimate."""
    sure = np.eye(len(tally.labels))[code]
    fit = replace(_nothing_fitted(tally), prior=sure, weight=np.tile(sure, (len(tally.counts), 1)))
    marked, two = tally.labels.values[code] != 0, len(tally.labels) == 2 and tally.labels.background is not None
    how = ("everything marked" if two else "one label") if marked else "nothing marked"
    note = f"the rates cannot be told: every item is {tally.labels.names[code]}"
    if not tally.rated.any():
        how, note = "nothing rated", "nobody rated anything"
    result = make_result(tally, fit, np.zeros(len(tally.counts), bool), options)
    return replace(result, convergence=how, notes=(note,))


def make_result(
    tally: Tally, fit: Fit, agreed: NDArray[np.bool_], options: StapleOptions, notes: list[str] | None = None
) -> Staple:
    """The result of a fit; what raters agreed on beforehand is as they said. Notes on the table may be known."""
    weight = np.where(agreed[:, None], _vote_shares(tally), fit.weight) if agreed.any() else fit.weight
    two, steps = len(tally.labels) == 2, len(fit.history)
    notes = (table_notes(tally) if notes is None else notes) + ([SLOTS] if tally.exchangeable else [])
    notes += single_notes(tally, options.itk)
    convergence = "converged" if fit.moved <= options.tol else "stopped"
    if not steps:
        convergence = "all agree"
        notes.append("the rates cannot be told: raters agree on every item, and those are left out")
    elif convergence == "stopped":
        notes.append(f"not converged: after {steps} iterations a rate still moved by {fit.moved:.2g}")
    return Staple(
        method="staple",
        raters=tally.rater_names,
        labels=tally.labels,
        probability=PatternValues(weight[:, 1] if two else weight, tally),
        hard=PatternValues(decide(weight, tally.labels, tally.rated > 0), tally),
        convergence=convergence,
        notes=tuple(notes),
        confusion=fit.confusion,
        prior=float(fit.prior[1]) if two else fit.prior,
        log_likelihood=fit.history,
        iterations=steps - int(options.itk is not None and two),
        options=options,
    )


def decide(weight: Values, labels: Labels, rated: NDArray[np.bool_]) -> NDArray[Any]:
    """The most likely label; of equally likely ones the first; background where nobody rated."""
    top = weight >= weight.max(axis=-1, keepdims=True) - 2 * TIE
    codes = np.where(rated, top.argmax(axis=-1), unrated_code(labels)).astype(np.uint8)
    return codes == 1 if len(labels) == 2 and labels.background is not None else codes
