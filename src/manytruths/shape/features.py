"""What an image shows at each pixel: intensity, colour channels, lightness, local contrast.

With L* = 116 f(Y) − 16, Y the luminance of linear sRGB (white D65), f(t) = t^(1/3) above (6/29)³ and
t / (3 (6/29)²) + 4/29 below; and over a window W around each pixel::

    intensity            0.2989 R + 0.5870 G + 0.1140 B
    Michelson contrast   (max_W L − min_W L) / (max_W L + min_W L)

Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572. doi:10.1109/TIP.2016.2544703. Colorimetry, CIE
15:2018. doi:10.25039/TR.015.2018. IEC 61966-2-1:1999 (sRGB).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError

Map = NDArray[np.float64]

LUMA = (0.2989, 0.5870, 0.1140)
"""Shares of red, green and blue in intensity, as Lampert has them."""
LUMINANCE = (0.2126, 0.7152, 0.0722)
"""Shares of linear red, green and blue in luminance Y (sRGB)."""
CHANNELS = ("red", "green", "blue")


def is_colour(image: ArrayLike) -> bool:
    """Whether the last of at least three axes holds red, green, blue and perhaps opacity."""
    shape = np.shape(image)
    return len(shape) > 2 and shape[-1] in (3, 4)


def channels(image: ArrayLike) -> dict[str, NDArray[Any]]:
    """The colour channels by name; none of a grey image. Opacity is left out."""
    pixels = np.asarray(image)
    return {name: pixels[..., i] for i, name in enumerate(CHANNELS)} if is_colour(pixels) else {}


def intensity(image: ArrayLike) -> Map:
    """The weighted sum of the channels; a grey image as it is.

    >>> intensity([[[100, 100, 100], [255, 0, 0]]]).round(2)
    array([[99.99, 76.22]])
    """
    pixels = np.asarray(image, np.float64)
    return pixels[..., :3] @ np.array(LUMA) if is_colour(pixels) else pixels


def lightness(image: ArrayLike) -> Map:
    """CIELAB's L*, from 0 to 100, of an sRGB image; a grey image as it is.

    Whole numbers are read as shares of the largest that their type holds, floats as shares of 1.

    >>> lightness(np.array([[[0, 0, 0], [119, 119, 119], [255, 255, 255]]], np.uint8)).round(2)
    array([[  0.  ,  50.03, 100.  ]])
    """
    if not is_colour(image):
        return np.asarray(image, np.float64)
    share = _shares(np.asarray(image)[..., :3])
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    luminance = linear @ np.array(LUMINANCE)
    return np.asarray(116 * np.where(luminance > (6 / 29) ** 3, np.cbrt(luminance), _line(luminance)) - 16)


def _line(luminance: Map) -> Map:
    return luminance / (3 * (6 / 29) ** 2) + 4 / 29


def _shares(pixels: NDArray[Any]) -> Map:
    share = pixels.astype(np.float64)
    if np.issubdtype(pixels.dtype, np.integer):
        share /= np.iinfo(pixels.dtype).max
    if share.size and not (share.min() >= 0 and share.max() <= 1):
        raise CallError(
            f"an image of {pixels.dtype} has values from 0 to {'1' if pixels.dtype.kind == 'f' else 'its largest'}; "
            f"got {pixels.min()} to {pixels.max()}: scale it, or give it as uint8"
        )
    return share


def michelson_contrast(lightness: ArrayLike, window: int = 3) -> Map:
    """Michelson's contrast in a window around each pixel; 0 in the border that no whole window fits, and for 0/0.

    >>> michelson_contrast([[1, 1, 1, 1], [1, 1, 3, 1], [1, 1, 1, 1]])
    array([[0. , 0. , 0. , 0. ],
           [0. , 0.5, 0.5, 0. ],
           [0. , 0. , 0. , 0. ]])
    """
    from scipy import ndimage

    values = np.asarray(lightness, np.float64)
    half = _half(window)
    high, low = ndimage.maximum_filter(values, window), ndimage.minimum_filter(values, window)
    contrast = np.divide(high - low, high + low, out=np.zeros_like(values), where=high + low != 0)
    inner = tuple(slice(half, max(n - half, 0)) for n in values.shape)
    out = np.zeros_like(values)
    out[inner] = contrast[inner]
    return out


def local_maximum(a: ArrayLike, window: int) -> NDArray[Any]:
    """The largest value in a window around each pixel, of which the border sees what there is.

    >>> local_maximum([0, 0, 5, 0, 1], window=3)
    array([0, 5, 5, 5, 1])
    """
    from scipy import ndimage

    _half(window)
    return np.asarray(ndimage.maximum_filter(np.asarray(a), window, mode="nearest"))


def _half(window: int) -> int:
    if window < 1 or window % 2 == 0:
        raise CallError(f"window must be an odd number of pixels, so that it has a middle; got {window!r}")
    return window // 2
