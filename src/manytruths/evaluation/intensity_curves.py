"""Frame-intensity curves: the mean image intensity inside a mask, from frame to frame of a sequence.

What a perfusion study reads off a sequence is this curve, not the mask. With c(t) a curve and m(t) the one it is
compared with, over the T frames in which both are defined::

    root mean square   √(Σ (c − m)² / T)
    mean absolute      Σ |c − m| / T
    relative           either, over the mean of m in those frames

An algorithm is compared with the mean curve of the raters, and each rater with the mean of the other raters: how far
raters lie apart is what an algorithm's distance is read against.

Zeng D et al. Segmentation with multiple acceptable annotations. IPMI 2021, LNCS 12729, 4.2 and Fig. 3.
doi:10.1007/978-3-030-78191-0_37
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.columns import Column
from ..core.errors import CallError, GridError
from ..core.undefined import Undefined, code
from ..shape import intensity

Values = NDArray[np.float64]

LEAST_FRAMES = 3
"""A sequence has at least so many frames."""
NOTHING_MARKED = "nothing_marked"
NOT_FINITE = "not_finite"
MEAN = Column("mean of raters", "reference")


def mask_intensity(image: ArrayLike, masks: Mapping[Column, NDArray[Any]]) -> dict[Column, float]:
    """Mean intensity of an image inside each mask; undefined for an empty mask.

    Parameters
    ----------
    image : array_like
        An image of the masks' size; with one axis more it is in colour, and red, green and blue weigh as in
        :func:`manytruths.shape.intensity`.
    masks : mapping of Column to array
        Marked where not 0. Where a masked array is masked, nothing is marked.

    Returns
    -------
    dict of Column to float
        Mean intensity by column.

    Examples
    --------
    >>> mask_intensity([[10.0, 20.0, 60.0]], {Column("A"): np.array([[1, 1, 0]])})
    {Column(name='A', role='rater', session='', left_out=''): 15.0}
    """
    pixels = np.asarray(image)
    if not masks:
        return {}
    shape = next(iter(masks.values())).shape
    if any(mask.shape != shape for mask in masks.values()) or pixels.shape[: len(shape)] != shape:
        raise GridError(f"the image is {pixels.shape} and masks are {sorted({m.shape for m in masks.values()})}; "
                        "resample them onto one grid")  # fmt: skip
    grey = _grey(pixels, len(shape))
    return {column: _mean(grey, mask) for column, mask in masks.items()}


def _grey(pixels: NDArray[Any], axes: int) -> NDArray[Any]:
    # a volume of three slices has a last axis of three too
    if pixels.ndim == axes:
        return pixels
    return intensity(pixels) if pixels.shape[-1] in (3, 4) else pixels[..., 0]


def _mean(grey: NDArray[Any], mask: NDArray[Any]) -> float:
    inside = grey[np.ma.filled(mask, 0) != 0].astype(np.float64)
    known = inside[np.isfinite(inside)]
    if len(known):
        return float(known.mean())
    return Undefined(NOT_FINITE if len(inside) else NOTHING_MARKED)


@dataclass(frozen=True)
class CurveDistance:
    """How far one curve lies from another."""

    column: Column
    rms: float
    mean_absolute: float
    relative_rms: float
    relative_mean_absolute: float
    frames: int
    """In how many frames both are defined."""
    undefined: int
    """In how many not."""


@dataclass(frozen=True, eq=False)
class IntensityCurves:
    """The intensity curves of one subject: one value per frame for each rater and algorithm."""

    frames: tuple[str, ...]
    """Its cases, in order."""
    curves: Mapping[Column, tuple[float, ...]]
    """One value per frame."""

    @classmethod
    def of(cls, by_frame: Mapping[str, Mapping[Column, float]]) -> IntensityCurves:
        """From what :func:`mask_intensity` gave for every frame, in order; who is missing in one is undefined."""
        columns = sorted({c for values in by_frame.values() for c in values}, key=lambda c: c.order)
        missing = Undefined("no_mask")
        curves = {c: tuple(values.get(c, missing) for values in by_frame.values()) for c in columns}
        return cls(tuple(by_frame), curves)

    @property
    def raters(self) -> list[Column]:
        """Each rater once, in their first session."""
        first: dict[str, Column] = {}
        for column in self.curves:
            if column.role == "rater":
                first.setdefault(column.name, column)
        return list(first.values())

    @property
    def algorithms(self) -> list[Column]:
        """Whose curves are compared with the raters'."""
        return [c for c in self.curves if c.role == "algorithm"]

    def mean(self, without: Column | None = None) -> tuple[float, ...]:
        """The raters' mean curve, perhaps without one of them; in a frame where some are undefined, of the others."""
        chosen = [self.curves[c] for c in self.raters if c != without]
        return tuple(_average([curve[i] for curve in chosen]) for i in range(len(self.frames)))

    def distances(self) -> list[CurveDistance]:
        """Each rater against the mean of the other raters, then each algorithm against the mean of all."""
        mean = self.mean()
        raters = [curve_distance(c, self.curves[c], self.mean(without=c)) for c in self.raters]
        return raters + [curve_distance(c, self.curves[c], mean) for c in self.algorithms]


def _average(values: Sequence[float]) -> float:
    known = [v for v in values if not math.isnan(v)]
    if known:
        return math.fsum(known) / len(known)
    codes = {code(v) for v in values}
    return Undefined(codes.pop() if len(codes) == 1 else "undefined_for_every_rater")


def curve_distance(column: Column, curve: Sequence[float], against: Sequence[float]) -> CurveDistance:
    """How far a curve lies from another, in units of intensity and as a share of the other's mean.

    >>> distance = curve_distance(Column("unet", "algorithm"), [1.0, 2.0, 9.0], [2.0, 2.0, float("nan")])
    >>> distance.mean_absolute, distance.relative_mean_absolute, distance.frames, distance.undefined
    (0.5, 0.25, 2, 1)
    """
    values, other = np.asarray(curve, np.float64), np.asarray(against, np.float64)
    if values.shape != other.shape or values.ndim != 1:
        raise CallError(f"two curves have a value each for the same frames; got {values.shape} and {other.shape}")
    known = ~(np.isnan(values) | np.isnan(other))
    count = int(known.sum())
    if not count:
        nothing = Undefined("no_common_frame")
        return CurveDistance(column, nothing, nothing, nothing, nothing, 0, len(values))
    apart, level = values[known] - other[known], float(other[known].mean())
    rms, absolute = float(np.sqrt((apart**2).mean())), float(np.abs(apart).mean())
    return CurveDistance(column, rms, absolute, _share(rms, level), _share(absolute, level), count, len(values) - count)


def _share(distance: float, level: float) -> float:
    """Relative to a mean intensity; that of images with values below 0 (CT) says nothing."""
    return distance / level if level > 0 else Undefined("intensity_not_positive")
