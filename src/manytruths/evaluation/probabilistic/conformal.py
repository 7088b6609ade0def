"""Conformal margins: a band around a predicted outline that holds a subject's whole reference, as often as wanted.

Of n subjects with a reference, each gives one number: the smallest margin at which the band of every case of theirs
holds the reference. With a band from the erosion to the dilation of the prediction by m pixels (or mm) ::

    erosion(prediction, m) ⊆ reference ⊆ dilation(prediction, m)

that is the largest distance from the predicted outline of any pixel on which the two differ, infinite where the one is
empty and the other is not. With a band of probabilities ::

    {p > 1/2 + m} ⊆ reference ⊆ {p ≥ 1/2 − m}

it is by how much the worst pixel lies on the wrong side of 1/2. The margin for a coverage of 1 − α is the
⌈(n + 1)(1 − α)⌉-th smallest of these numbers. If a new subject is exchangeable with them, its reference lies inside the
band with a probability from 1 − α to 1 − α + 1/(n + 1), over calibration sets and subjects together. With one
calibration set the coverage of further subjects varies around that, by about √(α(1 − α)/n). Distances between pixels
take few values; where subjects tie, coverage may exceed the upper limit. With n < 1/α − 1 the margin would be
infinite, and is refused.

References
----------
Angelopoulos AN, Bates S. Conformal prediction: a gentle introduction. Found Trends Mach Learn 2023;16:494–591.
doi:10.1561/2200000101. Vovk V, Gammerman A, Shafer G. Algorithmic learning in a random world. Springer 2005.
doi:10.1007/b106715
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.errors import CallError, GridError, InputError
from ...core.mask_arrays import format_shape
from .forecasts import check_probability

Flags = NDArray[np.bool_]
Band = Literal["distance", "probability"]


@dataclass(frozen=True, eq=False)
class MarginBand:
    """What lies inside the reference, and what lies around it, by a margin."""

    inner: Flags
    """Pixels that belong to the reference."""
    outer: Flags
    """Pixels outside of which there is none of it."""

    def holds(self, reference: ArrayLike) -> bool:
        """Whether a reference lies inside the band, whole.

        Parameters
        ----------
        reference : array_like
            A mask.

        Returns
        -------
        bool
            True where no pixel lies outside.
        """
        mask = _mask(reference, "reference")
        _check_shape(self.outer, mask)
        return not ((self.inner & ~mask).any() or (mask & ~self.outer).any())


@dataclass(frozen=True)
class ConformalMargin:
    """A margin for a wanted coverage, learnt from subjects with a reference."""

    margin: float
    """In pixels, in the units of the spacing, or in probability; infinite where too many subjects have none."""
    coverage: float
    """The coverage wanted."""
    subjects: int
    """How many it was learnt from."""
    band: Band = "distance"
    """What it is a margin of."""

    @property
    def expected_coverage(self) -> tuple[float, float]:
        """The limits between which the coverage of a new subject lies on average, unless margins tie."""
        return self.coverage, min(1.0, self.coverage + 1 / (self.subjects + 1))

    def around(self, prediction: ArrayLike, spacing: Sequence[float] | None = None) -> MarginBand:
        """The band of a prediction.

        Parameters
        ----------
        prediction : array_like
            A mask, or a probability map where the margin is one of probability.
        spacing : sequence of float, optional
            Size of a pixel along each axis; the same units as in :func:`conformal_margin`.

        Returns
        -------
        MarginBand
            With ``inner``, ``outer`` and ``holds(reference)``.
        """
        if self.band == "probability":
            check_probability(prediction)
            p = np.asarray(prediction, np.float64)
            return MarginBand(p > 0.5 + self.margin, p >= 0.5 - self.margin)
        mask = _mask(prediction, "prediction")
        inside, outside = _distances(mask, spacing)
        return MarginBand(mask & (inside > self.margin), mask | (outside <= self.margin))


def smallest_margin(
    prediction: ArrayLike, reference: ArrayLike, *, band: Band = "distance", spacing: Sequence[float] | None = None
) -> float:
    """The smallest margin at which the band of a prediction holds the reference of a case.

    Parameters
    ----------
    prediction : array_like
        A mask, or a probability map with ``band="probability"``.
    reference : array_like
        A mask.
    band : {"distance", "probability"}
        What the margin is of.
    spacing : sequence of float, optional
        Size of a pixel along each axis; by default 1.

    Returns
    -------
    float
        0 where both are equal; infinite where one is empty and the other is not. The largest over the cases of a
        subject is the subject's.

    Examples
    --------
    >>> smallest_margin([0, 1, 1, 0, 0], [0, 1, 1, 1, 1])
    2.0
    >>> smallest_margin([0.1, 0.9, 0.3], [0, 1, 1], band="probability")
    0.2
    """
    truth = _mask(reference, "reference")
    if band == "probability":
        check_probability(prediction)
        p = np.asarray(prediction, np.float64)
        _check_shape(p, truth)
        lowest, highest = p[truth].min(initial=0.5), p[~truth].max(initial=0.5)
        margin = float(max(0.5 - lowest, highest - 0.5))
        # what is rounded down would leave out the pixel that it is made for
        return margin if 0.5 - margin <= lowest else float(np.nextafter(margin, 1))
    if band != "distance":
        raise CallError(f"band is 'distance' or 'probability'; got {band!r}")
    mask = _mask(prediction, "prediction")
    _check_shape(mask, truth)
    missed, added = truth & ~mask, mask & ~truth
    if not missed.any() and not added.any():
        return 0.0
    inside, outside = _distances(mask, spacing)
    return float(max(outside[missed].max(initial=0.0), inside[added].max(initial=0.0)))


def conformal_margin(
    predictions: Sequence[ArrayLike] | Mapping[Any, ArrayLike] | None = None,
    references: Sequence[ArrayLike] | Mapping[Any, ArrayLike] | None = None,
    *,
    coverage: float = 0.9,
    band: Band = "distance",
    subjects: Sequence[str] | Mapping[Any, str] | None = None,
    spacing: Sequence[float] | None = None,
    margins: ArrayLike | None = None,
) -> ConformalMargin:
    """Learn the margin whose band holds the whole reference of a new subject with a wanted coverage.

    Parameters
    ----------
    predictions : sequence or dict of array_like
        One mask a case, or one probability map with ``band="probability"``.
    references : sequence or dict of array_like
        The reference of each case.
    coverage : float
        The coverage wanted, 1 − α.
    band : {"distance", "probability"}
        A band of pixels around the outline, or of probabilities around 1/2.
    subjects : sequence or dict of str, optional
        The subject of each case; by default every case is another subject.
    spacing : sequence of float, optional
        Size of a pixel along each axis; by default 1. All cases share it.
    margins : array_like, optional
        The smallest margins of the subjects, instead of predictions and references: where cases have spacings of their
        own, or do not fit into memory together. See :func:`smallest_margin`.

    Returns
    -------
    ConformalMargin
        With methods for the band of a prediction.

    References
    ----------
    Angelopoulos AN, Bates S. Found Trends Mach Learn 2023;16:494–591. doi:10.1561/2200000101

    Examples
    --------
    >>> found = conformal_margin(margins=[0, 1, 1, 2, 2, 3, 3, 4, 5], coverage=0.8)
    >>> found.margin, found.expected_coverage
    (4.0, (0.8, 0.9))
    >>> found.around([0, 0, 0, 0, 0, 0, 1, 1]).outer.astype(int)
    array([0, 0, 1, 1, 1, 1, 1, 1])
    """
    if not 0 < coverage < 1:
        raise CallError(f"coverage lies between 0 and 1; got {coverage!r}")
    if margins is None:
        smallest = _margins_by_subject(predictions, references, band, subjects, spacing)
    else:
        smallest = np.asarray(margins, np.float64).ravel()
        if predictions is not None or references is not None:
            raise CallError("give predictions and references, or margins, and not both")
        if np.isnan(smallest).any() or (smallest < 0).any():
            raise InputError("margins are numbers from 0 on, and may be infinite; got some that are negative or nan")
    n = len(smallest)
    least = least_subjects(coverage)
    if n < least:
        raise InputError(
            f"a coverage of {coverage:g} needs at least {least} calibration subjects with prediction and reference, "
            f"and there are {n}; give more, or a lower coverage"
        )
    return ConformalMargin(float(np.sort(smallest)[_rank(n, coverage) - 1]), coverage, n, band)


def least_subjects(coverage: float) -> int:
    """The fewest calibration subjects with which a margin is finite: n ≥ 1/α − 1.

    >>> least_subjects(0.9), least_subjects(0.95)
    (9, 19)
    """
    n = max(1, math.floor(coverage / (1 - coverage)) - 1)
    while _rank(n, coverage) > n:
        n += 1
    return n


def _rank(n: int, coverage: float) -> int:
    """⌈(n + 1)(1 − α)⌉, where 0.9 stands for nine tenths."""
    return math.ceil(round((n + 1) * coverage, 9))


def _margins_by_subject(
    predictions: Any, references: Any, band: Band, subjects: Any, spacing: Sequence[float] | None
) -> NDArray[np.float64]:
    if predictions is None or references is None:
        raise CallError("give a prediction and a reference of every case, or margins=")
    if isinstance(predictions, Mapping) != isinstance(references, Mapping):
        raise CallError("predictions and references are both lists, or both {case: array}")
    names = list(predictions) if isinstance(predictions, Mapping) else list(range(len(predictions)))
    others = list(references) if isinstance(references, Mapping) else list(range(len(references)))
    if set(names) != set(others):
        alone = sorted(map(str, set(names) ^ set(others)))
        raise CallError(
            f"every case needs a prediction and a reference; there is one of two for: {', '.join(alone[:12])}"
        )
    if subjects is not None and (set(subjects) if isinstance(subjects, Mapping) else set(range(len(subjects)))) != set(
        names
    ):
        raise CallError("subjects= names the subject of every case")
    largest: dict[Any, float] = {}
    for name in names:
        whose = name if subjects is None else subjects[name]
        margin = smallest_margin(predictions[name], references[name], band=band, spacing=spacing)
        largest[whose] = max(largest.get(whose, 0.0), margin)
    return np.array(list(largest.values()), np.float64)


def _distances(mask: Flags, spacing: Sequence[float] | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of marked pixels how far the nearest unmarked one is, and the other way round; infinite where there is none."""
    from scipy import ndimage

    if spacing is not None and (len(spacing) != mask.ndim or not all(0 < s < np.inf for s in spacing)):
        raise CallError(f"spacing is one positive number for each of {mask.ndim} axes; got {spacing!r}")

    def to_nearest(flags: Flags) -> NDArray[np.float64]:
        if flags.all():
            return np.full(flags.shape, np.inf)
        return np.asarray(ndimage.distance_transform_edt(flags, sampling=spacing))

    return to_nearest(mask), to_nearest(~mask)


def _mask(mask: ArrayLike, what: str) -> Flags:
    array = np.asarray(mask)
    if array.dtype.kind not in "biu" and not np.isin(array, (0, 1)).all():
        raise InputError(f"the {what} is a mask; for a probability map, give band='probability'")
    return np.asarray(array != 0)


def _check_shape(first: NDArray[Any], second: NDArray[Any]) -> None:
    if first.shape != second.shape:
        raise GridError(
            f"the prediction is {format_shape(first.shape)} but the reference is {format_shape(second.shape)}"
        )
