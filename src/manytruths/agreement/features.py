"""What in the image goes with agreement: Pearson's correlation of A with intensity, colour and contrast.

With t = r √((n − 2) / (1 − r²)), the two-sided p of r is I_{1 − r²}((n − 2) / 2, 1/2), I being the regularised
incomplete beta function. It takes pixels for independent, which neighbours are not: it is smaller than it should be.

Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572. doi:10.1109/TIP.2016.2544703
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
    """Pearson's r, its two-sided p for independent items, and over how many items."""

    r: float
    p: float
    n: int


def feature_correlation(
    agreement_map: ArrayLike, feature_map: ArrayLike, region: ArrayLike | None = None
) -> Correlation:
    """Pearson's correlation of two maps, all over or inside a region, where both are finite.

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
    """The correlation of agreement with ``intensity``, each channel of a colour image, and ``contrast``.

    Contrast is Michelson's, of L* in a colour image and of the values in a grey one, in a square of ``window`` pixels,
    against the largest agreement in one of ``agreement_window``. Lampert writes 3×3 for both; what comes close to his
    Table 5 is a contrast over 7×7 (3 pixels to each side) against agreement over 3×3.
    """
    # a volume of three slices has a last axis of three too
    colour = np.ndim(image) == np.ndim(agreement_map) + 1
    maps = {"intensity": intensity(image), **channels(image)} if colour else {"intensity": np.asarray(image)}
    found = {name: feature_correlation(agreement_map, values, region) for name, values in maps.items()}
    contrast = michelson_contrast(lightness(image) if colour else image, window)
    found["contrast"] = feature_correlation(local_maximum(agreement_map, agreement_window), contrast, region)
    return found
