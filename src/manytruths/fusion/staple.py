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
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.labels import Labels
from ..core.painting import PatternValues
from ..core.tally import Tally
from .em import Decisions, Fit, Values, fitted
from .itk import itk_start
from .notes import SLOTS, notes
from .options import Prior, StapleOptions, pseudo_counts, starting_prior
from .result import Consensus, unrated_code, with_mark

if TYPE_CHECKING:
    from .information import RateErrors

TIE = 1e-9
"""W this near to ½ is a tie up to rounding; ties go to background, or to the label of the lower value."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Staple(Consensus):
    """What STAPLE found: W for ``probability`` (the prior where nobody rated), and the rates of every rater.

    ``hard`` is W > ½, or the most likely label; a tie is background or the lower label, what nobody rated background.
    ``ended``: ``converged``, ``stopped`` (after the most iterations allowed), ``nothing rated``, ``nothing marked``,
    ``everything marked``, ``one label`` (was all that was given), ``all agree`` (and consensus items are left out).
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
        """p of each rater, or of each rater and label; nan where nothing that he rated is true."""
        each = np.diagonal(self.confusion, axis1=1, axis2=2)
        return np.array(each[:, 1] if len(self.labels) == 2 else each)

    @property
    def specificity(self) -> Values:
        """q of each rater; for more labels, how often he does not give a label to items of the others."""
        if len(self.labels) == 2:
            return np.array(self.confusion[:, 0, 0])
        prior = np.asarray(self.prior)
        others = prior * (1 - np.eye(len(prior)))
        given = np.where(prior[:, None] > 0, self.confusion, 0.0)
        return np.asarray(1 - np.einsum("lk,rkl->rl", others, given) / others.sum(axis=1))

    def standard_errors(self) -> RateErrors:
        """Of the rates, from the information matrix; right only for independent items (see :mod:`.information`)."""
        from .information import rate_errors

        return rate_errors(self)


def staple(
    tally: Tally,
    prior: Prior = "prevalence",
    *,
    like: Literal["itk"] | None = None,
    consensus_items: Literal["keep", "leave_out"] = "keep",
    map_prior: tuple[float, ...] | None = None,
    tolerance: float = 1e-7,
    most: int | None = None,
) -> Staple:
    """The hidden truth behind decisions, and the raters' rates, by maximum likelihood.

    Nobody marked anything: W is 0 and the rates cannot be told. No overlap at all: EM still converges, to whoever
    marked most, and ``note`` says that it means nothing. A table of one case gives rates per case, a pooled one pooled.

    Parameters
    ----------
    prior
        π: ``"prevalence"``, the mean vote, as ITK has it; ``"marked"``, the share of items that anybody marked (shared
        out among several marks by their votes); ``"estimated"``, the mean of W after each step (Dawid and Skene's
        model); a number; or one number a label. All but ``"estimated"`` stay fixed.
    like
        ``"itk"``: as ``itk::STAPLEImageFilter`` or, for more than two labels, ``itk::MultiLabelSTAPLEImageFilter``,
        which fixes start, prior and tolerance; the first counts one iteration less.
    consensus_items
        ``"leave_out"``: items on which two or more raters agree, all of them, are taken to be what they say, and the
        rates and the prior come from the others (Commowick 2012).
    map_prior
        Beta priors of the rates (Commowick & Warfield 2010): ``(a, b)`` for all of them, or ``(a_p, b_p, a_q, b_q)``;
        each at least 1. With more labels, Dirichlet: a for the right label, b for each of the others.
    tolerance
        Stop when no rate moves more than this between iterations.
    most
        Stop after so many iterations: 1,000, or 100,000 for ITK's sake.

    Rates of masks have no standard errors of their own, as neighbouring pixels are not independent: resample subjects.

    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0, 0, 0, 0], "B": [1, 1, 0, 0, 0, 0], "C": [1, 0, 1, 0, 0, 0]})
    >>> found = staple(t)
    >>> found.hard, found.sensitivity.round(2)
    (array([False, False,  True,  True]), array([1. , 1. , 0.5]))
    """
    tally = with_mark(tally)
    options = StapleOptions.of(tally, prior, like, consensus_items, map_prior, tolerance, most)
    decisions, agreed = decisions_of(tally, options)
    pseudo = pseudo_counts(map_prior, decisions.labels)
    given = np.flatnonzero((tally.counts[:, None] * tally.votes).any(axis=0))
    if len(given) < 2:
        return _certain(tally, int(given[0]) if len(given) else 0, options)
    if not decisions.counts.any():
        return finished(tally, _nothing_fitted(tally), agreed, options)
    start = starting_prior(decisions, tally, prior)
    begin = itk_start(tally, decisions, start) if like == "itk" else decisions.share
    fit = fitted(decisions, begin, start, options.estimate, pseudo, options.tolerance, options.most)
    return finished(tally, fit, agreed, options)


def decisions_of(tally: Tally, options: StapleOptions) -> tuple[Decisions, NDArray[np.bool_]]:
    """What EM sees, and which patterns are settled beforehand."""
    decisions = Decisions.of(tally)
    if options.consensus_items == "keep":
        return decisions, np.zeros(len(tally.counts), bool)
    agreed = (tally.rated > 1) & (tally.votes.max(axis=1, initial=0) == tally.rated)
    return replace(decisions, counts=np.where(agreed, 0.0, decisions.counts)), agreed


def _nothing_fitted(tally: Tally) -> Fit:
    """Rates that cannot be told, and the votes for W."""
    raters, labels = len(tally.raters), len(tally.labels)
    share = tally.votes / np.maximum(tally.rated, 1)[:, None]
    prior = tally.counts @ share / max(tally.items, 1)
    return Fit(np.full((raters, labels, labels), np.nan), prior, share, np.zeros(0), 0.0)


def _certain(tally: Tally, code: int, options: StapleOptions) -> Staple:
    """Nobody marked anything, or everybody everything: nothing is left to estimate."""
    sure = np.eye(len(tally.labels))[code]
    fit = replace(_nothing_fitted(tally), prior=sure, weight=np.tile(sure, (len(tally.counts), 1)))
    marked, two = tally.labels.values[code] != 0, len(tally.labels) == 2 and tally.labels.background is not None
    how = ("everything marked" if two else "one label") if marked else "nothing marked"
    note = f"the rates cannot be told: every item is {tally.labels.names[code]}"
    if not tally.rated.any():
        how, note = "nothing rated", "nobody rated anything"
    return replace(finished(tally, fit, np.zeros(len(tally.counts), bool), options), ended=how, notes=(note,))


def finished(tally: Tally, fit: Fit, agreed: NDArray[np.bool_], options: StapleOptions) -> Staple:
    """The result of a fit; what raters agreed on beforehand is as they said."""
    weight = fit.weight
    if agreed.any():
        weight = np.where(agreed[:, None], tally.votes / np.maximum(tally.rated, 1)[:, None], weight)
    two, steps = len(tally.labels) == 2, len(fit.history)
    return Staple(
        method="staple",
        raters=tally.rater_names,
        labels=tally.labels,
        probability=PatternValues(weight[:, 1] if two else weight, tally),
        hard=PatternValues(hardened(weight, tally.labels, tally.rated > 0), tally),
        ended=ended(fit, options),
        notes=tuple(staple_notes(tally, fit, options)),
        confusion=fit.confusion,
        prior=float(fit.prior[1]) if two else fit.prior,
        log_likelihood=fit.history,
        iterations=steps - int(options.like == "itk" and two),
        options=options,
    )


def hardened(weight: Values, labels: Labels, rated: NDArray[np.bool_]) -> NDArray[Any]:
    """The most likely label; of equally likely ones the first; background where nobody rated."""
    top = weight >= weight.max(axis=-1, keepdims=True) - 2 * TIE
    codes = np.where(rated, top.argmax(axis=-1), unrated_code(labels)).astype(np.uint8)
    return codes == 1 if len(labels) == 2 and labels.background is not None else codes


def ended(fit: Fit, options: StapleOptions) -> str:
    """How EM ended."""
    if not len(fit.history):
        return "all agree"
    return "converged" if fit.moved <= options.tolerance else "stopped"


def staple_notes(tally: Tally, fit: Fit, options: StapleOptions) -> list[str]:
    """What to know of a table and of its fit."""
    found = notes(tally) + ([SLOTS] if tally.exchangeable else [])
    if not len(fit.history):
        return [*found, "the rates cannot be told: raters agree on every item, and those are left out"]
    if fit.moved > options.tolerance:
        found.append(f"not converged: after {len(fit.history)} iterations a rate still moved by {fit.moved:.2g}")
    return found
