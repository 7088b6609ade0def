"""Forecasts of a volume against the volumes that raters measured.

With F the distribution of the forecast volume V and y the volume of a rater, the continuous ranked probability score
is ::

    CRPS(F, y) = ∫ (F(v) − 1[y ≤ v])² dv = E|V − y| − E|V − V′| / 2

in units of volume, and |V − y| where the forecast is one number. Its mean over raters is ``crps_volume``. With G the
distribution of the raters' volumes Y, ``cramer_distance`` is ::

    ∫ (F(v) − G(v))² dv = E|V − Y| − E|V − V′| / 2 − E|Y − Y′| / 2

which is 0 if the forecast has the raters' spread: half of an energy distance of numbers. It is the mean CRPS less that
of the raters' own distribution, so both rank forecasts of one case alike.

**A forecast from a probability map** needs to know how pixels depend on each other, which the map does not tell. With
``pixels="together"`` they depend as closely as possible: the volume is that of {p ≥ t} with t uniform from 0 to 1, as
if a forecast were one outline drawn tighter or wider. Its mean is Σ p. With ``pixels="mean"`` the forecast is Σ p
alone.

**The CURVAS challenge** takes Σ p for the forecast and the normal distribution with the mean m and (population)
standard deviation s of the raters' volumes for G, tabulated at 100 points between its 1st and 99th percentile, 0 below
and 1 above; and integrates (G(v) − 1[Σ p ≤ v])² from m − 3s to m + 3s. What to know of it (``curvas_crps``):

- It saturates: every forecast beyond m ± 3s scores as one at that limit. With raters at 98, 100 and 102 ml, forecasts
  of 110 and of 950 ml score the same.
- The roles are swapped: the raters are the forecast and the prediction is what is observed, so that it rewards neither
  a right spread nor any spread of the prediction.
- It is undefined where all raters have the same volume.

References
----------
Gneiting T, Raftery AE. Strictly proper scoring rules, prediction, and estimation. J Am Stat Assoc 2007;102:359–378.
doi:10.1198/016214506000001437. Riera-Marín M et al. Calibration and uncertainty for multirater volume assessment in
multiorgan segmentation (CURVAS) challenge results. 2025. doi:10.48550/arXiv.2505.08685
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.columns import Column
from ...core.counting import tally as count_masks
from ...core.errors import CallError, InputError
from ...core.labels import VOID
from ...core.mask_arrays import Masks
from ...core.tally import Tally
from ...core.undefined import Undefined
from .forecasts import check_probability, with_label
from .samples import FEW_SAMPLES, find_samples

Values = NDArray[np.float64]

CURVAS_TAIL, CURVAS_POINTS, CURVAS_REACH = 0.01, 100, 3.0
"""Of the challenge: the tails that its table leaves out, its points, and the limits of the integral in deviations."""


@dataclass(frozen=True, eq=False)
class Volumes:
    """A distribution of volumes: those of raters, of samples, or of a forecast.

    Parameters
    ----------
    values : array_like
        Volumes, in any unit.
    weights : array_like, optional
        How likely each is; by default all are equally likely.

    Examples
    --------
    >>> Volumes([100, 110]).mean
    105.0
    """

    values: Values
    weights: Values | None = None

    def __post_init__(self) -> None:
        values = np.asarray(self.values, np.float64).ravel()
        given = self.weights
        weights = np.full(len(values), 1.0) if given is None else np.asarray(given, np.float64).ravel()
        if not len(values) or len(values) != len(weights) or not np.isfinite(values).all():
            raise InputError(f"volumes are one or more finite numbers, with a weight each; got {self.values!r}")
        if not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
            raise InputError(f"weights are not negative and do not all vanish; got {given!r}")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "weights", weights / weights.sum())

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"<Volumes of {len(self.values):,} values, mean {self.mean:g}>"

    @property
    def share(self) -> Values:
        """The weights, which add up to 1."""
        assert self.weights is not None
        return self.weights

    @property
    def mean(self) -> float:
        """The mean volume."""
        return float(self.share @ self.values)

    @classmethod
    def of_masks(
        cls,
        masks: Masks | Tally,
        columns: Sequence[str | Column] | None = None,
        *,
        label: int | str | None = None,
        item: float = 1.0,
        void: int | None = None,
    ) -> Volumes:
        """Volumes of masks: of raters, or of samples.

        Parameters
        ----------
        masks : dict, sequence or numpy.ndarray of masks, or Tally
            One mask a rater, or a sample.
        columns : sequence of str or Column, optional
            Columns of a tally; by default the raters.
        label : int or str, optional
            One label; by default everything that is marked. Masks without it have the volume 0.
        item : float
            The volume of a voxel.
        void : int, optional
            The value that means "not rated".

        Returns
        -------
        Volumes
            One for each mask that is there.
        """
        table = masks if isinstance(masks, Tally) else count_masks(masks, void=void)
        where = table.raters if columns is None else [table.position(c) for c in columns]
        there = [i for i in where if (table.patterns[:, i] != VOID).any()]
        if not there:
            raise CallError("there is no mask to measure")
        if label is not None and not isinstance(masks, Tally):
            table = with_label(table, label)
        codes = list(table.labels.marks) if label is None else [table.labels.index(label)]
        return cls(item * (table.counts @ np.isin(table.patterns[:, there], codes)).astype(np.float64))

    @classmethod
    def of_probability(
        cls,
        probability: ArrayLike,
        *,
        item: float = 1.0,
        pixels: Literal["together", "mean"] = "together",
    ) -> Volumes:
        """The forecast that a probability map makes of the volume.

        Parameters
        ----------
        probability : array_like
            From 0 to 1. Masked pixels of a masked array do not count.
        item : float
            The volume of a voxel.
        pixels : {"together", "mean"}
            The volume of {p ≥ t} with t uniform from 0 to 1; or the mean volume Σ p alone.

        Returns
        -------
        Volumes
            The distribution.
        """
        check_probability(probability)
        values = np.ma.compressed(np.ma.asarray(probability)).astype(np.float64)
        if pixels == "mean":
            return cls(np.array([item * values.sum()]))
        if pixels != "together":
            raise CallError(f"pixels is 'together' or 'mean'; got {pixels!r}")
        levels, counts = np.unique(values, return_counts=True)
        return cls.of_counts(levels, counts, item=item)

    @classmethod
    def of_counts(cls, levels: Values, counts: ArrayLike, *, item: float = 1.0) -> Volumes:
        """The same forecast from how many pixels have each of some ascending probabilities.

        >>> Volumes.of_counts(np.array([0.25, 1.0]), [2, 3]).mean
        3.5
        """
        counts = np.asarray(counts)
        edges = np.concatenate([[0.0], levels, [1.0]])
        # for a threshold above one level and up to the next, all pixels from the next on
        sizes = np.concatenate([np.cumsum(counts[::-1])[::-1], [0]])
        return cls(item * sizes.astype(np.float64), np.diff(edges))


Forecast = Volumes | Masks | Sequence[str | Column] | None


def crps_volume(
    samples: Forecast,
    masks: Volumes | Masks | Tally,
    *,
    unbiased: bool = False,
    label: int | str | None = None,
    item: float = 1.0,
) -> float:
    """Continuous ranked probability score of a forecast of the volume, in the mean over raters.

    Parameters
    ----------
    samples : Volumes, (S, …) array, sequence or dict of masks, or sequence of str or Column
        The forecast: masks that a model drew; ``Volumes.of_probability(map)``; or the columns of a tally, by default
        all algorithms.
    masks : Volumes, (R, …) array, sequence or dict of masks, or Tally
        The raters' masks, or their volumes.
    unbiased : bool
        Whether different samples alone are compared with each other ("fair" CRPS), so that models with different
        numbers of samples compare.
    label : int or str, optional
        One label; by default everything that is marked.
    item : float
        The volume of a voxel, where masks are given.

    Returns
    -------
    float
        In units of volume, the lower the better; :class:`Undefined` where ``unbiased`` has one sample.

    References
    ----------
    Gneiting T, Raftery AE. J Am Stat Assoc 2007;102:359–378. doi:10.1198/016214506000001437. Ferro CAT. Fair scores
    for ensemble forecasts. Q J R Meteorol Soc 2014;140:1917–1923. doi:10.1002/qj.2270

    Examples
    --------
    >>> round(crps_volume(Volumes([90, 110]), Volumes([95, 100, 105])), 4)
    5.0
    >>> crps_volume(Volumes([98]), Volumes([95, 100, 105]))
    4.0
    """
    forecast, raters = _both(samples, masks, label, item)
    own = _mean_difference(forecast)
    if unbiased:
        same = float(forecast.share @ forecast.share)
        if same >= 1:
            return Undefined(FEW_SAMPLES)
        own /= 1 - same
    return _cross_difference(forecast, raters) - own / 2


def cramer_distance(
    samples: Forecast, masks: Volumes | Masks | Tally, *, label: int | str | None = None, item: float = 1.0
) -> float:
    """Cramér distance between the forecast volumes and the raters': the integral of (F − G)².

    Parameters
    ----------
    samples : Volumes, (S, …) array, sequence or dict of masks, or sequence of str or Column
        As for :func:`crps_volume`.
    masks : Volumes, (R, …) array, sequence or dict of masks, or Tally
        The raters' masks, or their volumes.
    label : int or str, optional
        One label; by default everything that is marked.
    item : float
        The volume of a voxel, where masks are given.

    Returns
    -------
    float
        In units of volume; 0 only for equal distributions.

    References
    ----------
    Bellemare MG et al. The Cramer distance as a solution to biased Wasserstein gradients. 2017.
    doi:10.48550/arXiv.1705.10743

    Examples
    --------
    >>> round(cramer_distance(Volumes([90, 110]), Volumes([95, 100, 105])), 4)
    2.7778
    """
    forecast, raters = _both(samples, masks, label, item)
    values = np.concatenate([forecast.values, raters.values])
    order = np.argsort(values, kind="stable")
    gap = np.cumsum(np.concatenate([forecast.share, -raters.share])[order])[:-1]
    return float(gap**2 @ np.diff(values[order]))


def curvas_crps(
    samples: Forecast | float, masks: Volumes | Masks | Tally, *, label: int | str | None = None, item: float = 1.0
) -> float:
    """The truncated score of volumes of the CURVAS challenge, which saturates; see :func:`crps_volume` for the CRPS.

    Parameters
    ----------
    samples : float, Volumes, (S, …) array, sequence or dict of masks, or sequence of str or Column
        The predicted volume, or a forecast as for :func:`crps_volume`, of which the mean is taken.
    masks : Volumes, (R, …) array, sequence or dict of masks, or Tally
        The raters' masks, or their volumes.
    label : int or str, optional
        One label; by default everything that is marked.
    item : float
        The volume of a voxel, where masks are given.

    Returns
    -------
    float
        In units of volume, the lower the better; :class:`Undefined` where all raters have the same volume.

    References
    ----------
    Riera-Marín M et al. 2025. doi:10.48550/arXiv.2505.08685

    Examples
    --------
    >>> raters = Volumes([98, 100, 102])
    >>> round(curvas_crps(100, raters), 4), round(curvas_crps(110, raters), 4), round(curvas_crps(950, raters), 4)
    (0.3816, 3.9885, 3.9885)
    """
    from scipy.special import ndtr, ndtri

    forecast = Volumes(np.array([samples])) if isinstance(samples, int | float) else samples
    prediction, raters = _both(forecast, masks, label, item)
    mean = raters.mean
    spread = float(np.sqrt(raters.share @ (raters.values - mean) ** 2))
    if not spread:
        return Undefined("constant_sizes")
    # all in deviations from the mean
    at = np.linspace(ndtri(CURVAS_TAIL), ndtri(1 - CURVAS_TAIL), CURVAS_POINTS)
    step = min(max((prediction.mean - mean) / spread, -CURVAS_REACH), CURVAS_REACH)
    area = _squares(at, ndtr(at), -CURVAS_REACH, step) + _squares(-at[::-1], ndtr(at), -CURVAS_REACH, -step)
    return float(spread * area)


def _squares(x: Values, y: Values, low: float, high: float) -> float:
    """The integral of the square of the line through x and y, 0 before and 1 beyond."""
    inner = np.concatenate([[np.clip(low, x[0], x[-1])], x[(x > low) & (x < high)], [np.clip(high, x[0], x[-1])]])
    ends = np.interp(inner, x, y)
    first, second = ends[:-1], ends[1:]
    line = float(np.diff(inner) @ (first**2 + first * second + second**2)) / 3
    return float(line + max(high - max(x[-1], low), 0.0))


def _both(samples: Any, masks: Any, label: int | str | None, item: float) -> tuple[Volumes, Volumes]:
    raters = masks if isinstance(masks, Volumes) else Volumes.of_masks(masks, label=label, item=item)
    return volumes_of(samples, masks, label, item), raters


def volumes_of(samples: Any, masks: Any, label: int | str | None, item: float) -> Volumes:
    """The volumes of samples: given, of some columns of a tally of raters, or of masks."""
    if isinstance(samples, Volumes):
        return samples
    if isinstance(masks, Tally):
        columns = [masks.columns[i] for i in find_samples(samples, masks)]
        return Volumes.of_masks(masks, columns, label=label, item=item)
    if samples is None:
        raise CallError("give the masks of every sample, or their Volumes")
    return Volumes.of_masks(samples, label=label, item=item)


def _cross_difference(first: Volumes, second: Volumes) -> float:
    """E|V − Y|, by sorting: no table of all pairs."""
    order = np.argsort(second.values)
    values, share = second.values[order], second.share[order]
    below = np.concatenate([[0.0], np.cumsum(share)])
    moment = np.concatenate([[0.0], np.cumsum(share * values)])
    where = np.searchsorted(values, first.values)
    each = first.values * (2 * below[where] - 1) + moment[-1] - 2 * moment[where]
    return float(first.share @ each)


def _mean_difference(volumes: Volumes) -> float:
    """E|V − V′| of independent V and V′."""
    return _cross_difference(volumes, volumes)
