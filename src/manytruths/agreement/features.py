"""Image features that go with agreement: Pearson's correlation of A with intensity, colour and contrast.

With t = r √((n − 2) / (1 − r²)), the two-sided p of r is I_{1 − r²}((n − 2) / 2, 1/2), I being the regularised
incomplete beta function. It assumes independent pixels, which neighbours are not, and so is too small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import GridError
from ..core.undefined import Undefined
from ..shape import channels, intensity, lightness, local_maximum, michelson_contrast


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation of two maps.

    Attributes
    ----------
    r : float
        The correlation.
    p : float
        Two-sided p for independent pixels. Neighbours are not independent: it is smaller than it should be.
    n : int
        Number of pixels.
    """

    r: float
    p: float
    n: int


def feature_correlation(
    agreement_map: ArrayLike, feature_map: ArrayLike, region: ArrayLike | None = None
) -> Correlation:
    """Pearson's correlation of two maps, where both are finite.

    Parameters
    ----------
    agreement_map : array_like
        Agreement of each pixel, for instance a painted :func:`common_heatmap`.
    feature_map : array_like
        What the image shows at each pixel, of the same shape.
    region : array_like, optional
        Where to compare; by default everywhere.

    Returns
    -------
    Correlation
        Undefined where one of the maps is constant or fewer than two pixels are left.

    Examples
    --------
    >>> round(feature_correlation([0, 1, 2, 3], [9, 7, 7, 1]).r, 4)
    -0.8944
    """
    a, b = np.asarray(agreement_map, np.float64), np.asarray(feature_map, np.float64)
    inside = np.ones(a.shape, bool) if region is None else np.asarray(region).astype(bool)
    if not a.shape == b.shape == inside.shape:
        shapes = f"{a.shape}, {b.shape}" + ("" if region is None else f" and a region of {inside.shape}")
        raise GridError(f"maps to be correlated have one shape; got {shapes}")
    inside = inside & np.isfinite(a) & np.isfinite(b)
    return _pearson(a[inside], b[inside])


def _pearson(a: NDArray[np.float64], b: NDArray[np.float64]) -> Correlation:
    from scipy import special

    n = len(a)
    if n < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        why = Undefined("fewer_than_two_items" if n < 2 else "constant_map")
        return Correlation(why, why, n)
    x, y = a - a.mean(), b - b.mean()
    r = float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1, 1))
    p = float(special.betainc((n - 2) / 2, 0.5, 1 - r * r)) if n > 2 else Undefined("two_items")
    return Correlation(r, p, n)


def image_feature_correlations(
    agreement_map: ArrayLike,
    image: ArrayLike,
    window: int = 7,
    agreement_window: int = 3,
    region: ArrayLike | None = None,
) -> dict[str, Correlation]:
    """Correlate agreement with intensity, each channel of a colour image, and local contrast.

    Contrast is Michelson's, of L* in a colour image and of the values in a grey one, against the largest agreement
    nearby. Lampert writes 3×3 for both windows; what comes close to their Table 5 is a contrast over 7×7 (3 pixels to
    each side) against agreement over 3×3.

    Parameters
    ----------
    agreement_map : array_like
        Agreement of each pixel, for instance a painted :func:`common_heatmap`.
    image : array_like
        The image, of the same shape, with a further last axis for colours.
    window : int
        Side of the square in which contrast is measured, in pixels.
    agreement_window : int
        Side of the square of which the largest agreement is taken, in pixels.
    region : array_like, optional
        Where to compare; by default everywhere.

    Returns
    -------
    dict of str to Correlation
        By feature: ``intensity``, the channels (``red``, ``green``, ``blue``) of a colour image, ``contrast``.

    References
    ----------
    Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
    algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572. doi:10.1109/TIP.2016.2544703

    Examples
    --------
    >>> import manytruths as mt
    >>> found = mt.image_feature_correlations([[0, 1, 2, 3]], [[9, 7, 7, 1]], window=1)
    >>> round(found["intensity"].r, 4)
    -0.8944
    """
    # a volume of three slices has a last axis of three too
    colour = np.ndim(image) == np.ndim(agreement_map) + 1
    maps = {"intensity": intensity(image), **channels(image)} if colour else {"intensity": np.asarray(image)}
    correlations = {name: feature_correlation(agreement_map, values, region) for name, values in maps.items()}
    contrast = michelson_contrast(lightness(image) if colour else image, window)
    correlations["contrast"] = feature_correlation(local_maximum(agreement_map, agreement_window), contrast, region)
    return correlations
