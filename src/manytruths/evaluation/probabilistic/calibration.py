"""Brier score, its parts, reliability diagrams and expected calibration error of probability maps.

With p the forecast and y what is observed, the **Brier score** is the mean of (p − y)². Pixels are sorted into bins of
p; with n_k pixels in bin k, p̄_k and ȳ_k their means, ȳ that of all, it is the sum of five terms (Murphy 1973; the last
two by Stephenson, Coelho and Jolliffe 2008) ::

    reliability                Σ n_k (p̄_k − ȳ_k)² / n
    − resolution               Σ n_k (ȳ_k − ȳ)² / n
    + uncertainty              Σ (y − ȳ)² / n
    + within-bin variance      Σ_k Σ (p − p̄_k)² / n
    − within-bin covariance    2 Σ_k Σ (p − p̄_k)(y − ȳ_k) / n

Without bins, pixels of equal p form a bin, and the last two vanish. Uncertainty is ȳ(1 − ȳ) where y is 0 or 1; against
the share of raters it is smaller. The **expected calibration error** is Σ n_k |p̄_k − ȳ_k| / n. Both depend on the
bins: more bins give a larger error, also of a forecast that is calibrated. Bins hold their upper edge, as in Guo et
al. and in scikit-learn.

Pixels of one image are not independent, so intervals are over subjects: diagrams of cases add, bin by bin.

References
----------
Brier GW. Verification of forecasts expressed in terms of probability. Mon Weather Rev 1950;78:1–3.
doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2. Murphy AH. A new vector partition of the probability score. J Appl
Meteorol 1973;12:595–600. doi:10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2. Stephenson DB, Coelho CAS, Jolliffe IT.
Two extra components in the Brier score decomposition. Weather Forecast 2008;23:752–757. doi:10.1175/2007WAF2006116.1.
Guo C et al. On calibration of modern neural networks. ICML 2017. doi:10.48550/arXiv.1706.04599
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.columns import Column
from ...core.errors import CallError
from ...core.mask_arrays import Masks
from ...core.tally import Tally
from ...core.undefined import Undefined, divide
from .forecasts import ForecastCounts, Probability, Region, Values, add_up, count_by_label, count_forecasts

BINS = 15
"""Bins of Guo et al."""


def brier(
    probability: Probability,
    masks: Masks | Tally | None = None,
    *,
    reference: str | Column = "raters",
    region: Region = "image",
    label: int | str | None = None,
) -> float:
    """Brier score of a probability map: the mean squared difference from what raters marked.

    Parameters
    ----------
    probability : array_like, ForecastCounts, Responses or dict
        As for :func:`count_forecasts`; or ``{label: map}`` for the mean over labels, each against the rest.
    masks : dict, sequence or numpy.ndarray of masks, or Tally, optional
        The raters' masks.
    reference : str or Column
        ``"raters"``, ``"share"``, a rater, a reference standard or a consensus method. Against ``"raters"`` the score
        is that against the share plus the mean of s(1 − s), which no forecast can avoid.
    region : {"image", "union"}
        All pixels, or those that any rater marked.
    label : int or str, optional
        The label that the map is of.

    Returns
    -------
    float
        From 0 to 1, the lower the better.

    References
    ----------
    Brier GW. Mon Weather Rev 1950;78:1–3. doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2

    Examples
    --------
    >>> masks = {"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}
    >>> round(brier([0.9, 0.6, 0.2, 0.2], masks), 4), round(brier([0.9, 0.6, 0.2, 0.2], masks, reference="share"), 4)
    (0.0875, 0.025)
    """

    def score(counts: ForecastCounts) -> float:
        if not counts.items:
            return counts.why_empty
        p = counts.values
        return float(counts.counts @ p**2 - 2 * (counts.observed @ p) + counts.squares) / counts.items

    return _mean_over_labels(score, probability, masks, reference, region, label)


def expected_calibration_error(
    probability: Probability,
    masks: Masks | Tally | None = None,
    *,
    reference: str | Column = "raters",
    region: Region = "image",
    label: int | str | None = None,
    bins: int = BINS,
    equal_mass: bool = False,
) -> float:
    """Expected calibration error: how far forecasts lie from what is observed, in the mean over pixels.

    Parameters
    ----------
    probability : array_like, ForecastCounts, Responses or dict
        As for :func:`brier`.
    masks : dict, sequence or numpy.ndarray of masks, or Tally, optional
        The raters' masks.
    reference : str or Column
        As for :func:`brier`.
    region : {"image", "union"}
        All pixels, or those that any rater marked.
    label : int or str, optional
        The label that the map is of.
    bins : int
        Number of bins.
    equal_mass : bool
        Whether bins hold equal numbers of pixels instead of being equally wide.

    Returns
    -------
    float
        From 0 to 1, the lower the better.

    References
    ----------
    Guo C et al. ICML 2017. doi:10.48550/arXiv.1706.04599

    Examples
    --------
    >>> masks = {"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}
    >>> round(expected_calibration_error([0.9, 0.6, 0.2, 0.2], masks, bins=5), 4)
    0.15
    """

    def score(counts: ForecastCounts) -> float:
        return reliability_diagram(counts, bins=bins, equal_mass=equal_mass).expected_calibration_error

    return _mean_over_labels(score, probability, masks, reference, region, label)


def _mean_over_labels(score: Any, probability: Any, masks: Any, reference: Any, region: Region, label: Any) -> float:
    if not isinstance(probability, Mapping):
        return float_or_reason(
            score(count_forecasts(probability, masks, reference=reference, region=region, label=label))
        )
    if label is not None:
        raise CallError("maps by label are scored each for its own label; leave label= out")
    if masks is None:
        raise CallError("give the raters' masks, or their tally, as the second argument")
    values = [score(c) for c in count_by_label(probability, masks, reference=reference, region=region).values()]
    known = [v for v in values if not np.isnan(v)]
    return float(np.mean(known)) if known else Undefined("undefined_for_every_label")


def float_or_reason(value: float) -> float:
    """A float, which may be undefined."""
    return value if isinstance(value, Undefined) else float(value)


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
        """The mean of |mean forecast − observed share|, weighted by pixels."""
        return float(np.abs(self.forecasts - self.observed).sum()) / self.items if self.items else self._why_empty

    @property
    def maximum_calibration_error(self) -> float:
        """The largest |mean forecast − observed share| of a bin."""
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
        sums = [getattr(self, name) + getattr(other, name) for name in SUMS]
        return ReliabilityDiagram(self.edges, *sums, reference=self.reference, region=self.region)

    def __radd__(self, other: object) -> ReliabilityDiagram:
        return self if other == 0 else NotImplemented


SUMS = ("counts", "forecasts", "observed", "forecast_squares", "products", "observed_squares")
"""What of a diagram adds."""


def reliability_diagram(
    probability: Probability,
    masks: Masks | Tally | None = None,
    *,
    reference: str | Column = "raters",
    region: Region = "image",
    label: int | str | None = None,
    bins: int | NDArray[np.float64] | None = BINS,
    equal_mass: bool = False,
) -> ReliabilityDiagram:
    """Sort forecasts into bins, and compare them with what raters marked there.

    Parameters
    ----------
    probability : array_like, ForecastCounts or Responses
        As for :func:`count_forecasts`.
    masks : dict, sequence or numpy.ndarray of masks, or Tally, optional
        The raters' masks.
    reference : str or Column
        As for :func:`brier`. Against ``"raters"`` and ``"share"`` the diagrams are the same where all raters rated
        every pixel.
    region : {"image", "union"}
        All pixels, or those that any rater marked.
    label : int or str, optional
        The label that the map is of.
    bins : int, numpy.ndarray or None
        Number of bins; or their edges, from 0 to 1; or None for a bin a value, by which nothing varies within bins.
    equal_mass : bool
        Whether bins hold equal numbers of pixels instead of being equally wide. Such bins depend on the case, so that
        diagrams of cases do not add: count forecasts of all cases first.

    Returns
    -------
    ReliabilityDiagram
        Mean forecast and observed share by bin, with the scores that they give.

    Examples
    --------
    >>> masks = {"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}
    >>> diagram = reliability_diagram([0.9, 0.6, 0.2, 0.2], masks, bins=2)
    >>> diagram.mean_forecast, diagram.observed_share
    (array([0.2 , 0.75]), array([0.  , 0.75]))
    >>> round(diagram.brier_parts.reliability, 4), round(diagram.brier_parts.resolution, 4)
    (0.02, 0.1406)
    """
    if isinstance(probability, Mapping):
        raise CallError("a diagram is of one label: give its map, and name it with label=")
    counts = count_forecasts(probability, masks, reference=reference, region=region, label=label)
    if bins is None:
        edges = np.concatenate([[0.0], counts.values])
    elif isinstance(bins, np.ndarray):
        edges = _check_edges(bins)
    elif isinstance(bins, int | np.integer) and bins >= 1:
        edges = _mass_edges(counts, int(bins)) if equal_mass else np.linspace(0, 1, int(bins) + 1)
    else:
        raise CallError(f"bins is a number from 1 on, an array of edges, or None; got {bins!r}")
    width = len(edges) - 1
    where = np.searchsorted(edges[1:-1], counts.values)
    p, n, y = counts.values, counts.counts, counts.observed
    n, forecast, observed, squares, products = (add_up(where, x, width) for x in (n, n * p, y, n * p**2, y * p))
    scores = counts.squares, counts.reference, counts.region
    return ReliabilityDiagram(edges, n, forecast, observed, squares, products, *scores)


def _check_edges(edges: NDArray[np.float64]) -> Values:
    if edges.ndim != 1 or len(edges) < 2 or edges[0] != 0 or edges[-1] != 1 or (np.diff(edges) < 0).any():
        raise CallError(f"edges of bins rise from 0 to 1; got {edges.tolist()}")
    return np.asarray(edges, np.float64)


def _mass_edges(counts: ForecastCounts, bins: int) -> Values:
    """Quantiles of the forecasts, with linear interpolation as by ``numpy.percentile``."""
    if not counts.items:
        return np.linspace(0, 1, bins + 1)
    until = np.cumsum(counts.counts)
    at = np.linspace(0, 1, bins + 1) * (counts.items - 1)
    low = counts.values[np.searchsorted(until, np.floor(at), side="right")]
    high = counts.values[np.searchsorted(until, np.minimum(np.floor(at) + 1, counts.items - 1), side="right")]
    return np.asarray(low + (high - low) * (at - np.floor(at)))
