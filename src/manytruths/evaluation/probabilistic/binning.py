"""Probability maps counted by pattern of the raters' decisions and by bin of the probability, exactly.

One pass over the pixels sums 1, p and p² for every pattern and bin. Brier scores, calibration errors and reliability
diagrams against every reference standard are then products with these tables. Nothing is rounded, however many distinct
probabilities there are.

Neighbouring pixels mostly have the same pattern and bin, so sums are taken over runs of such pixels, where there are
few of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.columns import Column
from ...core.errors import CallError, GridError
from ...core.mask_arrays import Masks, flat_blocks, format_shape
from ...core.tally import Tally
from ...core.undefined import Undefined, divide
from ..responses import IndexedMasks, Responses, index_masks
from .forecasts import Region, Values, check_probability, check_region, observe

BINS = 15
"""Bins of Guo et al."""
PIECE = 1 << 16
"""Pixels that are sorted into bins at once, so that what is made of them stays in the cache."""
FEW_EDGES = 40
"""Up to so many edges are compared one by one; more are searched for."""
LONG_RUNS = 6
"""Runs are summed where they have so many pixels on average; else pixels."""


@dataclass(frozen=True)
class BrierParts:
    """The terms that a Brier score is the sum of."""

    reliability: float
    """How far forecasts lie from what is observed where they are made; 0 for a calibrated forecast."""
    resolution: float
    """How far what is observed differs between forecasts; the larger the better."""
    uncertainty: float
    """The variance of what is observed, which does not depend on the forecast."""
    within_bin_variance: float
    """The variance of forecasts within bins."""
    within_bin_covariance: float
    """Twice the covariance of forecast and observation within bins."""

    @property
    def value(self) -> float:
        """The Brier score."""
        within = self.within_bin_variance - self.within_bin_covariance
        return self.reliability - self.resolution + self.uncertainty + within


@dataclass(frozen=True, eq=False)
class ReliabilityDiagram:
    """Sums of forecasts and observations by bin; diagrams with equal edges add, over the cases of a subject, say."""

    edges: Values
    """The edges of the bins, one more than bins. A bin holds its upper edge; the first also its lower one."""
    counts: Values
    """How many pixels, or decisions of raters, are in each bin."""
    forecasts: Values
    """The sum of the forecasts in each bin."""
    observed: Values
    """The sum of what was observed in each bin."""
    forecast_squares: Values
    """The sum of the squares of the forecasts in each bin."""
    products: Values
    """The sum of forecast times observation in each bin."""
    observed_squares: float
    """The sum of the squares of what was observed, in all bins."""
    reference: str = "raters"
    """What the forecast is held against."""
    region: str = "image"
    """The pixels that were counted."""

    def __repr__(self) -> str:
        return f"<ReliabilityDiagram of {len(self.counts)} bins against {self.reference}>"

    @property
    def items(self) -> float:
        """How many pixels, or decisions, were counted."""
        return float(self.counts.sum())

    @property
    def mean_forecast(self) -> Values:
        """The mean forecast of each bin; NaN where it is empty."""
        return divide(self.forecasts, self.counts)

    @property
    def observed_share(self) -> Values:
        """The share that was marked in each bin; NaN where it is empty."""
        return divide(self.observed, self.counts)

    @property
    def expected_calibration_error(self) -> float:
        """The mean distance of mean forecast and observed share, weighted by pixels."""
        return float(np.abs(self.forecasts - self.observed).sum()) / self.items if self.items else self._why_empty

    @property
    def maximum_calibration_error(self) -> float:
        """The largest distance of mean forecast and observed share of a bin."""
        return float(np.nanmax(np.abs(self.mean_forecast - self.observed_share))) if self.items else self._why_empty

    @property
    def brier(self) -> float:
        """The Brier score."""
        total = float(self.forecast_squares.sum() - 2 * self.products.sum()) + self.observed_squares
        return total / self.items if self.items else self._why_empty

    @property
    def brier_parts(self) -> BrierParts:
        """The terms of the Brier score; each undefined where nothing was counted."""
        if not self.items:
            return BrierParts(*[self._why_empty] * 5)
        n, forecast, observed = self.items, np.nan_to_num(self.mean_forecast), np.nan_to_num(self.observed_share)
        mean = float(self.observed.sum()) / n
        return BrierParts(
            reliability=float(self.counts @ (forecast - observed) ** 2) / n,
            resolution=float(self.counts @ (observed - mean) ** 2) / n,
            uncertainty=self.observed_squares / n - mean**2,
            within_bin_variance=float((self.forecast_squares - self.counts * forecast**2).sum()) / n,
            within_bin_covariance=2 * float((self.products - self.counts * forecast * observed).sum()) / n,
        )

    @property
    def _why_empty(self) -> Undefined:
        return Undefined("nobody_marked" if self.region == "union" else "not_rated")

    def __add__(self, other: ReliabilityDiagram) -> ReliabilityDiagram:
        if not isinstance(other, ReliabilityDiagram):
            return NotImplemented
        if not np.array_equal(self.edges, other.edges) or (self.reference, self.region) != (
            other.reference,
            other.region,
        ):
            raise CallError("diagrams add with the same bins, against the same reference, in the same region")
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in SUMS})

    def __radd__(self, other: object) -> ReliabilityDiagram:
        return self if other == 0 else NotImplemented


SUMS = ("counts", "forecasts", "observed", "forecast_squares", "products", "observed_squares")
"""What of a diagram adds."""


@dataclass(frozen=True, eq=False)
class BinnedForecasts:
    """A probability map by pattern and bin, from which every reference standard's diagram is made."""

    tally: Tally
    """The table of the patterns."""
    edges: Values
    """The edges of the bins, one more than bins."""
    counts: Values
    """(patterns, bins): how many pixels."""
    sums: Values
    """(patterns, bins): the sum of their probabilities."""
    squares: Values
    """(patterns, bins): the sum of the squares of their probabilities."""

    def __repr__(self) -> str:
        return f"<BinnedForecasts of {self.counts.sum():,.0f} pixels in {len(self.edges) - 1} bins>"

    @classmethod
    def of_responses(cls, responses: Responses, bins: int | NDArray[np.float64] = BINS) -> BinnedForecasts:
        """The same from probabilities that are counted by pattern and value.

        Parameters
        ----------
        responses : Responses
            Of a probability map.
        bins : int or numpy.ndarray
            Number of equally wide bins, or their edges from 0 to 1.

        Returns
        -------
        BinnedForecasts
            Sums by pattern and bin.

        Examples
        --------
        >>> from manytruths import count_responses
        >>> masks = {"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}
        >>> responses = count_responses([0.9, 0.6, 0.2, 0.2], masks)
        >>> BinnedForecasts.of_responses(responses, bins=2).against("B").observed_share
        array([0. , 0.5])
        """
        edges = find_edges(bins)
        patterns, width = len(responses.tally.counts), len(edges) - 1
        p = responses.levels[responses.level]
        place = responses.pattern * width + np.searchsorted(edges[1:-1], p)
        n = responses.counts.astype(np.float64)
        sums = [np.bincount(place, x, patterns * width).astype(np.float64) for x in (n, n * p, n * p**2)]
        return cls(responses.tally, edges, *(part.reshape(patterns, width) for part in sums))

    def against(
        self,
        reference: str | Column | ArrayLike = "raters",
        region: Region = "image",
        label: int | str | None = None,
    ) -> ReliabilityDiagram:
        """The diagram under one reference.

        Parameters
        ----------
        reference : str, Column or array_like
            As for :func:`count_forecasts`.
        region : {"image", "union"}
            All pixels, or those that any rater marked.
        label : int or str, optional
            The label that the map is of.

        Returns
        -------
        ReliabilityDiagram
            Sums by bin.
        """
        check_region(region)
        seen = observe(self.tally, reference, label)
        inside = seen.marked > 0 if region == "union" else np.ones(len(seen.marked), bool)
        weight, total, squares = (np.where(inside, x, 0.0) for x in (seen.weight, seen.total, seen.squares))
        return ReliabilityDiagram(
            self.edges,
            counts=weight @ self.counts,
            forecasts=weight @ self.sums,
            observed=total @ self.counts,
            forecast_squares=weight @ self.squares,
            products=total @ self.sums,
            observed_squares=float((squares @ self.counts).sum()),
            reference=seen.name,
            region=region,
        )


def bin_forecasts(
    probability: ArrayLike, masks: Masks | IndexedMasks, *, bins: int | NDArray[np.float64] = BINS
) -> BinnedForecasts:
    """Sort the pixels of a probability map into bins, for all patterns of the raters' decisions at once.

    Parameters
    ----------
    probability : array_like
        The map. Masked pixels of a masked array do not count.
    masks : dict, sequence or numpy.ndarray of masks
        The raters' masks. For several maps of one image, index them once:
        ``manytruths.evaluation.responses.index_masks(masks)``, which takes options, too.
    bins : int or numpy.ndarray
        Number of equally wide bins, or their edges from 0 to 1.

    Returns
    -------
    BinnedForecasts
        ``against(reference)`` gives a :class:`ReliabilityDiagram`.

    Examples
    --------
    >>> binned = bin_forecasts([0.9, 0.6, 0.2, 0.2], {"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}, bins=2)
    >>> binned.against("B").observed_share, binned.against("share").observed_share
    (array([0. , 0.5]), array([0.  , 0.75]))
    """
    edges = find_edges(bins)
    indexed = masks if isinstance(masks, IndexedMasks) else index_masks(masks)
    values = np.ma.getdata(probability) if isinstance(probability, np.ma.MaskedArray) else np.asarray(probability)
    if values.shape != indexed.index.shape:
        got, wanted = format_shape(values.shape), format_shape(indexed.index.shape)
        raise GridError(f"the probability map is {got} but the masks are {wanted}")
    check_probability(probability)
    hidden = np.ma.getmaskarray(probability) if isinstance(probability, np.ma.MaskedArray) else None
    patterns, width = len(indexed.tally.counts), len(edges) - 1
    table = np.zeros((3, patterns * width + 1))
    for place, p in _places(values, indexed.index, hidden, edges, patterns):
        for row, part in zip(table, _sum_runs(place, p), strict=True):
            row += np.bincount(part[0], part[1], len(row))
    sums = table[:, :-1].reshape(3, patterns, width)
    return BinnedForecasts(indexed.tally, edges, *sums)


def _places(
    values: NDArray[Any], index: NDArray[Any], hidden: NDArray[np.bool_] | None, edges: Values, patterns: int
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The place of every pixel in the table of patterns and bins, and its probability, piece by piece."""
    width = len(edges) - 1
    wide = np.dtype(next(kind for kind in (np.int16, np.int32, np.int64) if patterns * width <= np.iinfo(kind).max))
    kind = np.float32 if values.dtype in (np.float16, np.float32) else np.float64
    inner = _round_down(edges[1:-1], np.dtype(kind))
    for block in flat_blocks([values, index, *([] if hidden is None else [hidden])]):
        step = max(PIECE, patterns * width)
        for start in range(0, len(block[0]), step):
            p, pattern, *mask = (part[start : start + step] for part in block)
            p = p.astype(kind, copy=False)
            place = pattern.astype(wide) * wide.type(width)
            place += _bin_numbers(p, inner)
            # what does not count is put beside the table
            outside = pattern < 0
            if outside.any():
                place[outside] = patterns * width
            if mask:
                place[mask[0]] = patterns * width
                p = np.where(mask[0], 0, p)
            yield place, p


def _round_down(edges: Values, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The largest numbers of a type up to the edges: a number of that type is above the one if above the other."""
    rounded = edges.astype(dtype)
    return np.where(rounded.astype(np.float64) > edges, np.nextafter(rounded, dtype.type(-1)), rounded)


def _bin_numbers(values: NDArray[Any], inner: NDArray[Any]) -> NDArray[Any]:
    """How many inner edges lie below each value."""
    if len(inner) > FEW_EDGES:
        return np.searchsorted(inner, values)
    number = np.zeros(len(values), np.uint8)
    for edge in inner:
        number += (values > edge).view(np.uint8)
    return number


def _sum_runs(place: NDArray[Any], p: NDArray[Any]) -> Iterator[tuple[NDArray[Any], Values | None]]:
    """Places, and what is added there: 1, p and p², of runs of one place where these are long."""
    starts = np.flatnonzero(place[1:] != place[:-1]) + 1
    if len(starts) * LONG_RUNS > len(place):
        p = p.astype(np.float64)
        yield from ((place, None), (place, p), (place, p**2))
        return
    starts = np.concatenate([[0], starts])
    there = place[starts]
    yield there, np.diff(starts, append=len(place)).astype(np.float64)
    # one pass for both sums
    both = np.empty(len(p), np.complex128)
    both.real = p
    np.multiply(both.real, both.real, out=both.imag)
    sums = np.add.reduceat(both, starts)
    yield there, sums.real
    yield there, sums.imag


def find_edges(bins: int | NDArray[np.float64]) -> Values:
    """The edges of so many equally wide bins, or those given."""
    if isinstance(bins, np.ndarray):
        if bins.ndim != 1 or len(bins) < 2 or bins[0] != 0 or bins[-1] != 1 or (np.diff(bins) < 0).any():
            raise CallError(f"edges of bins rise from 0 to 1; got {bins.tolist()}")
        return np.asarray(bins, np.float64)
    if not isinstance(bins, int | np.integer) or bins < 1:
        raise CallError(f"bins is a number from 1 on, an array of edges, or None; got {bins!r}")
    return np.linspace(0, 1, int(bins) + 1)
