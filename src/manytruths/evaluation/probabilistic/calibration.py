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
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.columns import Column
from ...core.errors import CallError
from ...core.tally import Tally
from ...core.undefined import Undefined
from ..responses import IndexedMasks, Responses, index_masks
from .binning import BINS, BinnedForecasts, ReliabilityDiagram, bin_forecasts, find_edges
from .forecasts import (
    ForecastCounts,
    Probability,
    Raters,
    Region,
    Values,
    add_up,
    check_label_sums,
    count_forecasts,
    marked_labels,
    with_label,
)


def brier(
    probability: Probability,
    masks: Raters | None = None,
    *,
    reference: str | Column = "raters",
    region: Region = "image",
    label: int | str | None = None,
) -> float:
    """Brier score of a probability map: the mean squared difference from what raters marked.

    Parameters
    ----------
    probability : array_like, BinnedForecasts, ForecastCounts, Responses or dict
        As for :func:`count_forecasts`; what :func:`bin_forecasts` returned; or ``{label: map}`` for the mean
        over labels, each against the rest.
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

    def score(**chosen: Any) -> float:
        return reliability_diagram(bins=1, **chosen).brier

    return _mean_over_labels(score, probability, masks, reference, region, label)


def expected_calibration_error(
    probability: Probability,
    masks: Raters | None = None,
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
    probability : array_like, BinnedForecasts, ForecastCounts, Responses or dict
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
        Number of bins. Forecasts that are in bins already keep them.
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

    def score(**chosen: Any) -> float:
        return reliability_diagram(bins=bins, equal_mass=equal_mass, **chosen).expected_calibration_error

    return _mean_over_labels(score, probability, masks, reference, region, label)


def _mean_over_labels(score: Any, probability: Any, masks: Any, reference: Any, region: Region, label: Any) -> float:
    chosen = {"reference": reference, "region": region}
    if not isinstance(probability, Mapping):
        return float_or_reason(score(probability=probability, masks=masks, label=label, **chosen))
    if label is not None:
        raise CallError("maps by label are scored each for its own label; leave label= out")
    if masks is None:
        raise CallError("give the raters' masks, or their tally, as the second argument")
    check_label_sums(probability)
    indexed = masks if isinstance(masks, Tally | IndexedMasks) else index_masks(masks)
    values = []
    for one, values_of in marked_labels(probability, (indexed if isinstance(indexed, Tally) else indexed.tally).labels):
        if isinstance(indexed, Tally):
            values.append(score(probability=values_of, masks=with_label(indexed, one), label=one, **chosen))
        else:
            table = replace(indexed, tally=with_label(indexed.tally, one))
            values.append(score(probability=values_of, masks=table, label=one, **chosen))
    known = [v for v in values if not np.isnan(v)]
    return float(np.mean(known)) if known else Undefined("undefined_for_every_label")


def float_or_reason(value: float) -> float:
    """A float, which may be undefined."""
    return value if isinstance(value, Undefined) else float(value)


def reliability_diagram(
    probability: Probability,
    masks: Raters | None = None,
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
    probability : array_like, BinnedForecasts, ForecastCounts or Responses
        As for :func:`brier`.
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
    if isinstance(probability, BinnedForecasts) and (bins is None or equal_mass):
        raise CallError("forecasts in bins keep these bins; count them with count_forecasts for others")
    if bins is not None and not equal_mass and not isinstance(probability, Responses | ForecastCounts):
        binned = _bin(probability, masks, bins, label)
        if binned is not None:
            return binned.against(reference, region, label)
    counts = count_forecasts(probability, masks, reference=reference, region=region, label=label)
    if bins is None:
        edges = np.concatenate([[0.0], counts.values])
    else:
        edges = find_edges(bins)
        edges = _mass_edges(counts, len(edges) - 1) if equal_mass else edges
    width = len(edges) - 1
    where = np.searchsorted(edges[1:-1], counts.values)
    p, n, y = counts.values, counts.counts, counts.observed
    n, forecast, observed, squares, products = (add_up(where, x, width) for x in (n, n * p, y, n * p**2, y * p))
    scores = counts.squares, counts.reference, counts.region
    return ReliabilityDiagram(edges, n, forecast, observed, squares, products, *scores)


def _bin(
    probability: Any, masks: Any, bins: int | NDArray[np.float64], label: int | str | None
) -> BinnedForecasts | None:
    """A map in bins; None where it is one probability a pattern."""
    if isinstance(probability, BinnedForecasts):
        if masks is not None:
            raise CallError("forecasts that are counted already have their raters in them; leave masks= out")
        return probability
    if isinstance(masks, Tally):
        return None
    if masks is None:
        raise CallError("give the raters' masks, or their tally, as the second argument")
    binned = bin_forecasts(probability, masks, bins=bins)
    return binned if label is None else replace(binned, tally=with_label(binned.tally, label))


def _mass_edges(counts: ForecastCounts, bins: int) -> Values:
    """Quantiles of the forecasts, with linear interpolation as by ``numpy.percentile``."""
    if not counts.items:
        return np.linspace(0, 1, bins + 1)
    until = np.cumsum(counts.counts)
    at = np.linspace(0, 1, bins + 1) * (counts.items - 1)
    low = counts.values[np.searchsorted(until, np.floor(at), side="right")]
    high = counts.values[np.searchsorted(until, np.minimum(np.floor(at) + 1, counts.items - 1), side="right")]
    return np.asarray(low + (high - low) * (at - np.floor(at)))
