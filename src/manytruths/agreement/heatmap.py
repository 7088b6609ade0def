"""Heatmaps, one value per pattern to be painted, their score, and the image features that go with agreement.

Common: A, the number of raters who marked. Ranking: the mean over the raters present of ::

    y = [a^(rank − b)], rounded to nearest; 0 where unmarked

with a = 0.77 and b = 13, so that rank 1 is worth 23, rank 2 18, and rank 10 2. The score of a case is the mean of
its normalised heatmap, (X − min) / (max − min), inside the union of markings (Yang et al. 2023).

Image features are compared by Pearson's correlation of A with intensity, colour and contrast. With t = r √((n − 2) / (1
− r²)), the two-sided p of r is I_{1 − r²}((n − 2) / 2, 1/2), I being the regularised incomplete beta function. It
assumes independent pixels, which neighbours are not, and so is too small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, GridError, LabelError
from ..core.painting import PatternValues
from ..core.tally import Tally, check_tally
from ..core.tiles import LazyArray, Where, chunk_shape, is_lazy, load
from ..core.undefined import Undefined, divide, ratio
from ..shape import channels, intensity, lightness, local_maximum, michelson_contrast

Values = NDArray[np.float64]


def common_heatmap(tally: Tally) -> NDArray[np.int64]:
    """Number of raters who marked the items of each pattern.

    Parameters
    ----------
    tally : Tally
        Table of one or more raters.

    Returns
    -------
    numpy.ndarray
        One number per pattern, ready for :func:`paint`.

    References
    ----------
    Yang F et al. Assessing inter-annotator agreement for medical image segmentation. IEEE Access 2023;11:21300–21312.
    doi:10.1109/ACCESS.2023.3249759

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.common_heatmap(mt.tally({"A": [1, 1, 0], "B": [1, 0, 0]}))
    array([0, 1, 2])
    """
    check_tally(tally, "common_heatmap")
    return PatternValues(tally.marked, tally)


def ranking_values(ranks: ArrayLike, a: float = 0.77, b: float = 13, largest: int = 10) -> Values:
    """What ranks are worth; rank 0 is unmarked, and worth 0.

    >>> ranking_values([0, 1, 2, 10])
    array([ 0., 23., 18.,  2.])
    """
    table = _table(a, b, largest)
    given = np.asarray(ranks, np.float64)
    bad = given[~((given >= 0) & (given <= largest) & (np.floor(given) == given))]
    if bad.size:
        raise LabelError(
            f"rank {bad.flat[0]:g} is not among the ranks 1 to {largest} (0 is unmarked); "
            "correct the mask, or raise largest= with an a and b that keep the values distinct"
        )
    return np.asarray(table[given.astype(np.int64)])


def _table(a: float, b: float, largest: int) -> Values:
    """The values of ranks 0 to largest."""
    if not a > 0 or largest < 1:
        raise CallError(f"a must be above 0 and largest at least 1; got a={a}, largest={largest}")
    worth = np.floor(a ** (np.arange(1, largest + 1) - float(b)) + 0.5)
    if worth.min() <= 0 or len(set(worth)) < largest:
        raise CallError(
            f"with a={a}, b={b} the ranks 1 to {largest} are worth {', '.join(f'{v:g}' for v in worth)}; "
            "values must be positive and distinct: take a larger b or a smaller largest"
        )
    return np.concatenate([[0.0], worth])


def dispute_heatmap(tally: Tally) -> NDArray[np.int64]:
    """Number of raters who gave the items of each pattern another label than the most frequent one.

    The heatmap of several labels: uniting them would show where anything is marked, which may be everywhere.

    Parameters
    ----------
    tally : Tally
        Table of one or more raters.

    Returns
    -------
    numpy.ndarray
        One number per pattern, ready for :func:`paint`; 0 where all raters agree.

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.dispute_heatmap(mt.tally({"A": [1, 1, 2], "B": [1, 2, 2], "C": [1, 2, 0]}))
    array([0, 1, 1])
    """
    return PatternValues(tally.rated - tally.votes.max(axis=1, initial=0), tally)


def ranking_heatmap(tally: Tally, a: float = 0.77, b: float = 13, largest: int = 10) -> Values:
    """Mean over the raters present of what their ranks are worth, for masks that hold ranks.

    A label's number is its rank, by default its value; 0 is unmarked. Rank r is worth a^(r − b), rounded to nearest.

    Parameters
    ----------
    tally : Tally
        Table of masks that hold ranks: 1 is the most suspicious region.
    a, b : float
        Base and offset of the worth of a rank.
    largest : int
        The largest rank allowed.

    Returns
    -------
    numpy.ndarray
        One value per pattern, ready for :func:`paint`; NaN where nobody rated.

    References
    ----------
    Yang F et al. Assessing inter-annotator agreement for medical image segmentation. IEEE Access 2023;11:21300–21312.
    doi:10.1109/ACCESS.2023.3249759

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.ranking_heatmap(mt.tally([[1], [1], [1], [1], [2]], labels=[0, 1, 2]))
    array([22.])
    """
    check_tally(tally, "ranking_heatmap")
    marks = list(tally.labels.marks)
    ranks = np.zeros(len(tally.labels))
    ranks[marks] = np.array(tally.labels.numbers)[marks]
    if (ranks[marks] == 0).any():
        raise LabelError("a label other than background has rank 0, which means unmarked; ranks start at 1")
    summed = tally.votes @ ranking_values(ranks, a, b, largest)
    return PatternValues(divide(summed, tally.rated), tally)


def heatmap_score(tally: Tally, values: ArrayLike | None = None) -> float:
    """Mean of the normalised heatmap inside the union of markings.

    Unmarked items, which are 0, belong to the scale whether the region holds any or not: full agreement scores 1.

    Parameters
    ----------
    tally : Tally
        Table of one or more raters.
    values : array_like, optional
        A heatmap, one value per pattern; by default :func:`common_heatmap`.

    Returns
    -------
    float
        The score, from 0 to 1; :class:`Undefined` where nobody marked anything.

    References
    ----------
    Yang F et al. Assessing inter-annotator agreement for medical image segmentation. IEEE Access 2023;11:21300–21312.
    doi:10.1109/ACCESS.2023.3249759

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.heatmap_score(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}))
    0.75
    """
    check_tally(tally, "heatmap_score")
    heat = np.asarray(common_heatmap(tally) if values is None else values, np.float64)
    if heat.shape != tally.counts.shape:
        raise CallError(f"values= needs one value per pattern, {len(tally.counts)} in all; got shape {heat.shape}")
    inside = tally.marked > 0
    top = heat[inside & (tally.counts > 0)].max(initial=0)
    total = float(tally.counts[inside] @ heat[inside]) / top if top else 0.0
    return ratio(total, float(tally.counts[inside].sum()), "nobody_marked")


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
    sums = PairSums()
    sums.add(a, b)
    return sums.correlation()


class PairSums:
    """What Pearson's correlation needs of pairs of numbers that come in parts: means, squares and products around them.

    Chan TF, Golub GH, LeVeque RJ. Algorithms for computing the sample variance: analysis and recommendations. Am Stat
    1983;37:242–247. doi:10.1080/00031305.1983.10483115
    """

    def __init__(self) -> None:
        self.n = 0
        self._mean, self._squares, self._product = np.zeros(2), np.zeros(2), 0.0
        self._low, self._high = np.full(2, np.inf), np.full(2, -np.inf)

    def add(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> None:
        """Some more of them."""
        n, total = len(a), self.n + len(a)
        if not n:
            return
        mean = np.array([a.mean(), b.mean()])
        x, y = a - mean[0], b - mean[1]
        apart, weight = mean - self._mean, self.n * n / total
        self._product += float(x @ y) + float(apart[0] * apart[1]) * weight
        self._squares += np.array([x @ x, y @ y]) + apart**2 * weight
        self._mean = self._mean + apart * (n / total)
        self._low = np.minimum(self._low, [a.min(), b.min()])
        self._high = np.maximum(self._high, [a.max(), b.max()])
        self.n = total

    def correlation(self) -> Correlation:
        """Of all of them."""
        from scipy import special

        n = self.n
        if n < 2 or (self._low == self._high).any():
            why = Undefined("fewer_than_two_items" if n < 2 else "constant_map")
            return Correlation(why, why, n)
        r = float(np.clip(self._product / np.sqrt(self._squares[0] * self._squares[1]), -1, 1))
        p = float(special.betainc((n - 2) / 2, 0.5, 1 - r * r)) if n > 2 else Undefined("two_items")
        return Correlation(r, p, n)


def image_feature_correlations(
    agreement_map: ArrayLike | LazyArray,
    image: ArrayLike | LazyArray,
    window: int = 7,
    agreement_window: int = 3,
    region: ArrayLike | LazyArray | None = None,
) -> dict[str, Correlation]:
    """Correlate agreement with intensity, each channel of a colour image, and local contrast.

    Contrast is Michelson's, of L* in a colour image and of the values in a grey one, against the largest agreement
    nearby. Lampert writes 3×3 for both windows; what comes close to their Table 5 is a contrast over 7×7 (3 pixels to
    each side) against agreement over 3×3.

    Parameters
    ----------
    agreement_map : array_like
        Agreement of each pixel, for instance a painted :func:`common_heatmap`. Arrays on disk, such as Zarr arrays, are
        read tile by tile.
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
    heat, picture, inside = (_array(each) for each in (agreement_map, image, region))
    assert heat is not None
    assert picture is not None
    shape, found = tuple(heat.shape), dict[str, PairSums]()
    for other in (picture, inside):
        if other is not None and other.shape[: len(shape)] != shape:
            raise GridError(f"maps to be correlated have one shape; got {shape} and {tuple(other.shape)}")
    for where in _tiles_with_margins(heat, picture, inside):
        part = None if inside is None else load(inside, where).astype(bool)
        for name, (a, b) in _feature_maps(heat, picture, where, window, agreement_window).items():
            both = np.isfinite(a) & np.isfinite(b)
            both = both if part is None else both & part
            found.setdefault(name, PairSums()).add(a[both], b[both])
    return {name: sums.correlation() for name, sums in found.items()}


TILE_SIDE = {1: 1 << 22, 2: 2048, 3: 160}
"""Of the tiles in which features of large images are compared, by the number of axes."""


def _array(given: ArrayLike | LazyArray | None) -> NDArray[Any] | LazyArray | None:
    return given if given is None or is_lazy(given) else np.asarray(given)


def _tiles_with_margins(
    heat: NDArray[Any] | LazyArray, image: NDArray[Any] | LazyArray, inside: NDArray[Any] | LazyArray | None
) -> Iterator[Where]:
    """Everything at once where it is in memory; else tiles, as many chunks of the image as are near to their side."""
    whole, axes = tuple(slice(0, n) for n in heat.shape), len(heat.shape)
    if not any(is_lazy(each) for each in (heat, image, inside)):
        yield whole
        return
    side, chunks = TILE_SIDE[axes], chunk_shape(image) or (1,) * axes
    steps = [max(1, side // chunk) * chunk for chunk in chunks[:axes]]
    for corner in np.ndindex(*(-(-n // step) for n, step in zip(heat.shape, steps, strict=True))):
        starts = [i * step for i, step in zip(corner, steps, strict=True)]
        yield tuple(slice(at, min(at + step, n)) for at, step, n in zip(starts, steps, heat.shape, strict=True))


def _feature_maps(
    heat: NDArray[Any] | LazyArray, image: NDArray[Any] | LazyArray, where: Where, window: int, agreement_window: int
) -> dict[str, tuple[Values, Values]]:
    """Agreement and feature in a tile, by the name of the feature; what windows need lies around it."""
    shape, margin = heat.shape, max(window, agreement_window) // 2
    ends = [(max(0, p.start - margin), min(n, p.stop + margin)) for p, n in zip(where, shape, strict=True)]
    wide = tuple(slice(*end) for end in ends)
    own = tuple(slice(part.start - w.start, part.stop - w.start) for part, w in zip(where, wide, strict=True))
    agreement, pixels = load(heat, wide), load(image, wide)
    # a volume of three slices has a last axis of three too
    colour = pixels.ndim == len(shape) + 1
    maps = {"intensity": intensity(pixels), **channels(pixels)} if colour else {"intensity": pixels}
    contrast = michelson_contrast(lightness(pixels) if colour else pixels, window)
    pairs = {name: (agreement, values) for name, values in maps.items()}
    pairs["contrast"] = (local_maximum(agreement, agreement_window), contrast)
    return {name: (np.asarray(a[own], np.float64), np.asarray(b[own], np.float64)) for name, (a, b) in pairs.items()}
