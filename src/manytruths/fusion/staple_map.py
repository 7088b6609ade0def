"""STAPLE with a prior for every pixel, and with neighbours that prefer the same label.

A map of priors (an atlas) makes pixels of one pattern differ. They are binned by (pattern, prior), exactly: EM takes
the rates from the patterns and W from the bins.

Smoothing is a Potts field over the map that the rates give; the rates themselves are those of independent pixels. A map
of labels T has the probability ::

    P(T) ∝ exp( Σ_i λ_i[T_i] + β Σ_(i~j) 1[T_i = T_j] )

with λ_i[k] the log-probability of label k at pixel i on its own, and i~j pixels that share a face. Mean field
takes the closest distribution of independent pixels, by solving W_i[k] ∝ exp(λ_i[k] + β Σ_(j~i) W_j[k]) one colour
of a checkerboard at a time: neighbours have the other colour, so that each half sweep is an exact maximum and the bound
on the log-partition function never falls.

* Warfield SK, Zou KH, Wells WM. Simultaneous truth and performance level estimation (STAPLE). IEEE Trans Med
  Imaging 2004;23:903–921. doi:10.1109/TMI.2004.828354
* Zhang J. The mean field theory in EM procedures for Markov random fields. IEEE Trans Signal Process
  1992;40:2570–2583. doi:10.1109/78.157297
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.counting import tally
from ..core.errors import CallError, GridError
from ..core.labels import Labels
from ..core.mask_arrays import Masks, format_shape, region_mask
from ..core.painting import paint
from ..core.tally import Tally
from .em import Decisions, Values, fit_em, log, log_joint
from .result import with_mark
from .staple import Prior, Staple, StapleOptions, decide, make_result, pseudo_counts, read_decisions, staple

Place = tuple[slice, ...]

Index = NDArray[np.intp]


def staple_map(
    masks: Masks,
    prior: Prior | ArrayLike = "prevalence",
    *,
    smoothing: float = 0.0,
    region: str | ArrayLike = "whole",
    raters: Sequence[str] | str | None = None,
    labels: Labels | Mapping[int, str] | Iterable[int] | None = None,
    void: int | None = None,
    foreground: str | None = None,
    unanimous: Literal["keep", "exclude"] = "keep",
    map_prior: tuple[float, ...] | None = None,
    tol: float = 1e-7,
    max_iter: int = 1000,
) -> Staple:
    """STAPLE of masks, with a prior for every pixel or with smoothing; ``probability`` and ``hard`` are maps.

    Parameters
    ----------
    masks : mapping or sequence of array_like
        The raters' masks, as in :func:`manytruths.tally`.
    prior : {"prevalence", "marked", "estimated"}, float, sequence of float or array
        As in :func:`staple`; or a map of the size of the masks with the prior probability of each pixel. With more
        labels, a map with a last axis of labels.
    smoothing : float
        β ≥ 0: the reward of each pair of equal neighbours, in nats.
    region : str or array
        As in :func:`manytruths.tally`. The rates come from the region; the map covers everything.
    raters : sequence of str or "exchangeable", optional
        Names of the raters, as in :func:`manytruths.tally`.
    labels : Labels, mapping of int to str or iterable of int, optional
        All labels, as in :func:`manytruths.tally`; by default those that occur.
    void : int, optional
        Value of pixels that were not rated.
    foreground : {"any"}, optional
        With ``"any"``, all labels but background count as one.
    unanimous : {"keep", "exclude"}
        Whether items on which all raters agree count for the rates, as in :func:`staple`.
    map_prior : tuple of float, optional
        Beta priors of the rates, as in :func:`staple`.
    tol : float
        Stop when no rate changes by more than this between iterations.
    max_iter : int
        Maximum number of iterations.

    Returns
    -------
    Staple
        With maps as ``probability`` and ``hard``.

    References
    ----------
    * Warfield SK, Zou KH, Wells WM. Simultaneous truth and performance level estimation (STAPLE). IEEE Trans Med
      Imaging 2004;23:903–921. doi:10.1109/TMI.2004.828354

    Examples
    --------
    >>> import manytruths as mt
    >>> masks = {"A": [1, 1, 0, 0, 0], "B": [1, 0, 0, 0, 0], "C": [1, 1, 0, 1, 0]}
    >>> mt.staple_map(masks, smoothing=0.2).hard
    array([ True,  True, False, False, False])
    """
    whole = with_mark(tally(masks, raters=raters, labels=labels, void=void, foreground=foreground))
    index = paint(np.arange(len(whole.counts)), masks, whole, raters=raters, void=void, foreground=foreground)
    settings = {"unanimous": unanimous, "map_prior": map_prior, "tol": tol, "max_iter": max_iter}
    if isinstance(prior, str) or np.ndim(prior) == 0 or np.shape(prior) == (len(whole.labels),) != index.shape:
        result = staple(_restrict(whole, index, region), prior, **settings)  # type: ignore[arg-type]
        joint, where = _joint(result, whole, Decisions.of(whole), _vector(result.prior)), index
    else:
        bins = _bin(index, _prior_map(prior, index.shape, whole.labels), _inside(whole, index, region))
        result = _fit(whole, bins, StapleOptions("map", **settings))  # type: ignore[arg-type]
        joint, where = _joint(result, whole, bins.decisions(Decisions.of(whole)), bins.prior), bins.of_item
    smooth = potts(joint[where], smoothing) if smoothing else Smoothed(normal(joint)[where], 0, "converged")
    return _paint_map(result, smooth, whole.rated[index] > 0)


def _restrict(whole: Tally, index: Index, region: str | ArrayLike) -> Tally:
    if isinstance(region, str):
        return whole.restrict(region)
    inside = np.bincount(index[_inside(whole, index, region)], minlength=len(whole.counts))
    return replace(whole, counts=inside, region="mask")


def _inside(whole: Tally, index: Index, region: str | ArrayLike) -> NDArray[np.bool_]:
    """Whether an item counts."""
    if isinstance(region, str):
        if region not in ("whole", "union"):
            raise CallError(
                f"a map of priors goes with region 'whole', 'union', or a mask of the items; got {region!r}"
            )
        return np.asarray((whole.marked[index] > 0) | (region == "whole"))
    return region_mask(region, index.shape)


@dataclass(frozen=True)
class _Bins:
    """Items of one pattern and one prior together."""

    of_item: Index
    pattern: Index
    prior: Values
    counts: Values
    """Of the items that count."""

    def decisions(self, by_pattern: Decisions) -> Decisions:
        rated = (by_pattern.votes.sum(axis=1) > 0)[self.pattern]
        return replace(by_pattern, pattern=self.pattern, counts=np.where(rated, self.counts, 0.0))


def _prior_map(prior: Any, shape: tuple[int, ...], labels: Labels) -> Values:
    """(…, labels), checked."""
    each = np.asarray(prior, np.float64)
    if each.shape == shape and len(labels) == 2:
        each = np.stack([1 - each, each], axis=-1)
    if each.shape != (*shape, len(labels)):
        wanted = format_shape(shape) + ("" if len(labels) == 2 else f"×{len(labels)}, a last axis of labels")
        raise GridError(f"a map of priors here is {wanted}; got {format_shape(each.shape)}")
    if not ((each >= 0) & (each <= 1)).all() or np.abs(each.sum(axis=-1) - 1).max(initial=0) > 1e-6:
        raise CallError("a map of priors is from 0 to 1 everywhere, with the sum 1 over labels; it is not")
    return each


def _bin(index: Index, prior: Values, inside: NDArray[np.bool_]) -> _Bins:
    """All but the first label's prior tell a bin from another."""
    code = index.ravel()
    for column in prior.reshape(code.size, -1).T[1:]:
        values, ranks = np.unique(column, return_inverse=True)
        _, code = np.unique(code * len(values) + ranks, return_inverse=True)
    _, first = np.unique(code, return_index=True)
    counts = np.bincount(code[inside.ravel()], minlength=len(first)).astype(np.float64)
    prior = prior.reshape(code.size, -1)[first]
    return _Bins(code.reshape(index.shape), index.ravel()[first], prior, counts)


def _fit(whole: Tally, bins: _Bins, options: StapleOptions) -> Staple:
    """EM over the bins; the result has yet no map."""
    by_pattern, agreed = read_decisions(whole, options)
    decisions = bins.decisions(by_pattern)
    decisions = replace(decisions, counts=np.where(agreed[bins.pattern], 0.0, decisions.counts))
    table = replace(whole, counts=np.bincount(bins.pattern, bins.counts, len(whole.counts)).astype(np.int64))
    given = (table.counts[:, None] * table.votes).any(axis=0)
    if given.sum() < 2 or not decisions.counts.any():
        return replace(staple(table, unanimous=options.unanimous), options=options)
    pseudo = pseudo_counts(options.map_prior, decisions.labels)
    fit = fit_em(decisions, decisions.share, bins.prior, False, pseudo, options.tol, options.max_iter)
    mean, size = bins.counts @ bins.prior / bins.counts.sum(), len(table.counts)
    fit = replace(fit, prior=mean, weight=np.zeros((size, decisions.labels)))  # W comes with the map
    return make_result(table, fit, np.zeros(size, bool), options)


def _joint(result: Staple, whole: Tally, decisions: Decisions, prior: Values) -> Values:
    """(bins, labels) log-probabilities up to a constant: of the fit, of what was settled, or of the prior."""
    _, agreed = read_decisions(whole, result.options)
    if not len(result.log_likelihood) and result.convergence != "all agree":
        return np.broadcast_to(log(_vector(result.prior)), (len(decisions.counts), decisions.labels))
    joint = log_joint(decisions, result.confusion, log(prior))
    joint = np.where(decisions.spread(agreed[:, None].astype(np.float64)) > 0, log(decisions.share), joint)
    return np.where(np.isneginf(joint).all(axis=1, keepdims=True), log(prior), joint)


def _vector(prior: float | Values) -> Values:
    return np.array([1 - prior, prior]) if isinstance(prior, float) else prior


def _paint_map(result: Staple, smooth: Smoothed, rated: NDArray[np.bool_]) -> Staple:
    notes = (f"smoothing has not converged after {smooth.sweeps} sweeps",) if smooth.convergence == "stopped" else ()
    probability = np.array(smooth.weight[..., 1]) if len(result.labels) == 2 else smooth.weight
    hard = decide(smooth.weight, result.labels, rated)
    return replace(result, method="staple_map", probability=probability, hard=hard, notes=(*result.notes, *notes))


@dataclass(frozen=True, eq=False)
class Smoothed:
    """A smooth map of probabilities."""

    weight: Values
    """W: (…, labels)."""
    sweeps: int
    """How many times every item was looked at."""
    convergence: str
    """``converged`` or ``stopped``."""


def potts(log_weight: Values, beta: float, *, tol: float = 1e-4, max_iter: int = 200) -> Smoothed:
    """Mean-field marginals of a Potts field over (…, labels) log-probabilities.

    Parameters
    ----------
    log_weight : ndarray
        λ: up to a constant per pixel; −∞ where a label is impossible.
    beta : float
        The reward of each pair of equal neighbours, in nats; 0 changes nothing.
    tol : float
        Stop when no W changes by more than this in a sweep.
    max_iter : int
        Maximum number of sweeps.

    Returns
    -------
    Smoothed
        Probabilities, number of sweeps, and how it ended.

    Examples
    --------
    >>> lonely = np.log([[0.9, 0.1], [0.3, 0.7], [0.9, 0.1]])
    >>> potts(lonely, 1.0).weight[1].round(2)
    array([0.71, 0.29])
    """
    if not 0 <= beta < np.inf:
        raise CallError(f"smoothing must be at least 0 and finite; got {beta!r}")
    around = [(1, 1)] * (log_weight.ndim - 1)
    padded = np.pad(normal(log_weight), [*around, (0, 0)])
    lattices, sweeps, moved = _lattices(log_weight.shape[:-1]), 0, np.inf
    while sweeps < max_iter and moved > tol:
        moved = max(_update(padded, log_weight, beta, *lattice) for lattice in lattices)
        sweeps += 1
    inside = tuple(slice(1, -1) for _ in around)
    return Smoothed(padded[inside].copy(), sweeps, "converged" if moved <= tol else "stopped")


def _lattices(shape: tuple[int, ...]) -> list[tuple[Place, Place, list[Place]]]:
    """Every second item along each axis, white ones first: their place, that in the padded map, their neighbours'."""
    result = []
    for start in sorted(product((0, 1), repeat=len(shape)), key=lambda s: sum(s) % 2):
        ends = list(zip(start, shape, strict=True))
        place = tuple(slice(o, n, 2) for o, n in ends)
        middle = tuple(slice(o + 1, n + 1, 2) for o, n in ends)
        beside = [
            tuple(slice(o + step, n + step, 2) if axis == a else middle[a] for a, (o, n) in enumerate(ends))
            for axis in range(len(shape))
            for step in (0, 2)
        ]
        result.append((place, middle, beside))
    return result


def _update(padded: Values, log_weight: Values, beta: float, own: Place, middle: Place, beside: list[Place]) -> float:
    """W of one lattice, in place, and how far it moved."""
    wanted = normal(log_weight[own] + beta * sum((padded[place] for place in beside[1:]), padded[beside[0]]))
    moved = float(np.abs(wanted - padded[middle]).max(initial=0))
    padded[middle] = wanted
    return moved


def normal(log_weight: Values) -> Values:
    """Probabilities, from logarithms up to a constant."""
    weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
    weight /= weight.sum(axis=-1, keepdims=True)
    return np.asarray(weight)
