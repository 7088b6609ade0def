"""STAPLE with a prior for every item, and with neighbours that want the same label.

A map of priors (an atlas) makes items of one pattern differ. They are binned by (pattern, prior), exactly: EM takes
the rates from the patterns and W from the bins. Smoothing is a Potts field over the map that the rates give
(:mod:`.potts`); the rates themselves are those of items on their own.

Warfield SK, Zou KH, Wells WM. Simultaneous truth and performance level estimation (STAPLE). IEEE Trans Med Imaging
2004;23:903–921. doi:10.1109/TMI.2004.828354
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.counting import tally
from ..core.errors import CallError, GridError
from ..core.labels import Labels
from ..core.mask_arrays import Masks, format_shape
from ..core.painting import paint
from ..core.tally import Tally
from .em import Decisions, Fit, Values, fitted, log, log_joint
from .options import Prior, StapleOptions, pseudo_counts
from .potts import Smoothed, normal, potts
from .result import with_mark
from .staple import Staple, decisions_of, ended, hardened, staple, staple_notes

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
    consensus_items: Literal["keep", "leave_out"] = "keep",
    map_prior: tuple[float, ...] | None = None,
    tolerance: float = 1e-7,
    most: int = 1000,
) -> Staple:
    """:func:`staple` of masks, with what a table cannot hold; ``probability`` and ``hard`` are maps.

    Parameters
    ----------
    masks, region, raters, labels, void, foreground
        As in :func:`manytruths.tally`. The rates come from the region, the map covers everything.
    prior
        As in :func:`staple`; or a map of the size of the masks: how likely each item is marked. With more labels, a map
        with a last axis of labels.
    smoothing
        β ≥ 0: what each pair of equal neighbours is worth, in nats.
    consensus_items, map_prior, tolerance, most
        As in :func:`staple`.

    >>> import numpy as np
    >>> masks = {"A": [1, 1, 0, 0, 0], "B": [1, 0, 0, 0, 0], "C": [1, 1, 0, 1, 0]}
    >>> staple_map(masks, smoothing=0.2).hard
    array([ True,  True, False, False, False])
    """
    whole = with_mark(tally(masks, raters=raters, labels=labels, void=void, foreground=foreground))
    index = paint(np.arange(len(whole.counts)), masks, whole, raters=raters, void=void, foreground=foreground)
    settings = {"consensus_items": consensus_items, "map_prior": map_prior, "tolerance": tolerance, "most": most}
    if isinstance(prior, str) or np.ndim(prior) == 0 or np.shape(prior) == (len(whole.labels),) != index.shape:
        found = staple(_restricted(whole, index, region), prior, **settings)  # type: ignore[arg-type]
        joint, where = _joint(found, whole, Decisions.of(whole), _vector(found.prior)), index
    else:
        bins = _binned(index, _prior_map(prior, index.shape, whole.labels), _inside(whole, index, region))
        found = _fitted(whole, bins, StapleOptions("map", **settings))  # type: ignore[arg-type]
        joint, where = _joint(found, whole, bins.decisions(Decisions.of(whole)), bins.prior), bins.of_item
    smooth = potts(joint[where], smoothing) if smoothing else Smoothed(normal(joint)[where], 0, "converged")
    return _painted(found, smooth, whole.rated[index] > 0)


# -- what is counted --------------------------------------------------------------------------------


def _restricted(whole: Tally, index: Index, region: str | ArrayLike) -> Tally:
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
    mask = np.asarray(region).astype(bool)
    if mask.shape != index.shape:
        raise GridError(f"the region is {format_shape(mask.shape)} but the masks are {format_shape(index.shape)}")
    return mask


# -- a prior for every item -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Bins:
    """Items of one pattern and one prior together."""

    of_item: Index
    pattern: Index
    prior: Values
    counts: Values
    """Of the items that count."""

    def decisions(self, by_pattern: Decisions) -> Decisions:
        rated = (by_pattern.chosen.sum(axis=1) > 0)[self.pattern]
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


def _binned(index: Index, prior: Values, inside: NDArray[np.bool_]) -> _Bins:
    """All but the first label's prior tell a bin from another."""
    code = index.ravel()
    for column in prior.reshape(code.size, -1).T[1:]:
        values, ranks = np.unique(column, return_inverse=True)
        _, code = np.unique(code * len(values) + ranks, return_inverse=True)
    _, first = np.unique(code, return_index=True)
    counts = np.bincount(code[inside.ravel()], minlength=len(first)).astype(np.float64)
    prior = prior.reshape(code.size, -1)[first]
    return _Bins(code.reshape(index.shape), index.ravel()[first], prior, counts)


def _fitted(whole: Tally, bins: _Bins, options: StapleOptions) -> Staple:
    """EM over the bins; the result has yet no map."""
    by_pattern, agreed = decisions_of(whole, options)
    decisions = bins.decisions(by_pattern)
    decisions = replace(decisions, counts=np.where(agreed[bins.pattern], 0.0, decisions.counts))
    table = replace(whole, counts=np.bincount(bins.pattern, bins.counts, len(whole.counts)).astype(np.int64))
    given = (table.counts[:, None] * table.votes).any(axis=0)
    if given.sum() < 2 or not decisions.counts.any():
        return replace(staple(table, consensus_items=options.consensus_items), options=options)
    pseudo = pseudo_counts(options.map_prior, decisions.labels)
    fit = fitted(decisions, decisions.share, bins.prior, False, pseudo, options.tolerance, options.most)
    return _result(table, fit, bins.counts @ bins.prior / bins.counts.sum(), options)


def _result(table: Tally, fit: Fit, prior: Values, options: StapleOptions) -> Staple:
    return Staple(
        method="staple_map",
        raters=table.rater_names,
        labels=table.labels,
        probability=np.zeros(0),
        hard=np.zeros(0, bool),
        ended=ended(fit, options),
        notes=tuple(staple_notes(table, fit, options)),
        confusion=fit.confusion,
        prior=float(prior[1]) if len(prior) == 2 else prior,
        log_likelihood=fit.history,
        iterations=len(fit.history),
        options=options,
    )


# -- the map ----------------------------------------------------------------------------------------


def _joint(found: Staple, whole: Tally, decisions: Decisions, prior: Values) -> Values:
    """(bins, labels) log-probabilities up to a constant: of the fit, of what was settled, or of the prior."""
    _, agreed = decisions_of(whole, found.options)
    if not len(found.log_likelihood) and found.ended != "all agree":
        return np.broadcast_to(log(_vector(found.prior)), (len(decisions.counts), decisions.labels))
    joint = log_joint(decisions, found.confusion, log(prior))
    joint = np.where(decisions.spread(agreed[:, None].astype(np.float64)) > 0, log(decisions.share), joint)
    return np.where(np.isneginf(joint).all(axis=1, keepdims=True), log(prior), joint)


def _vector(prior: float | Values) -> Values:
    return np.array([1 - prior, prior]) if isinstance(prior, float) else prior


def _painted(found: Staple, smooth: Smoothed, rated: NDArray[np.bool_]) -> Staple:
    two = len(found.labels) == 2
    notes = found.notes
    if smooth.ended == "stopped":
        notes += (f"smoothing has not converged after {smooth.sweeps} sweeps",)
    return replace(
        found,
        method="staple_map",
        probability=np.array(smooth.weight[..., 1]) if two else smooth.weight,
        hard=hardened(smooth.weight, found.labels, rated),
        notes=notes,
    )
