"""Precision, recall and F of boundaries against those of several raters, as in the Berkeley benchmark.

Predicted and reference boundaries are thinned and matched one to one within a tolerance, separately for each
reference. Then ::

    precision   predicted pixels that are matched in any reference / predicted pixels
    recall      reference pixels that are matched, summed over the references / reference pixels, summed likewise
    F           2 P R / (P + R); 0 where one of the two is 0, whatever the other

Probability maps are cut at thresholds (``prediction >= threshold``). Counts add over images, so that a data set has
a best F for one threshold for all images (ODS), one for each image's own best threshold (OIS), and an area under the
curve of precision over recall (AP): straight lines between the recalls that were reached, nothing below the smallest,
and the better precision where a recall was reached twice. The benchmark also looks for the best F between
thresholds; here it is the best at a threshold.

A pixel matched in any reference counts as right, so precision depends on which pixels are matched: those of the
smallest total distance (see ``match_boundaries``).

References
----------
Martin DR, Fowlkes CC, Malik J. IEEE Trans Pattern Anal Mach Intell 2004;26:530–549. doi:10.1109/TPAMI.2004.1273918.
Arbeláez P, Maire M, Fowlkes C, Malik J. IEEE Trans Pattern Anal Mach Intell 2011;33:898–916.
doi:10.1109/TPAMI.2010.161
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, GridError, InputError
from ..core.undefined import Undefined
from ..shape import boundaries
from ..shape.assignment import Indices, Reach, choose_columns, find_spare_rows, maximum_matching
from ..shape.boundaries import SHARE, Nearby, tolerance_in_pixels
from .curves import Values, divide

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
References = ArrayLike | Mapping[str, ArrayLike] | Sequence[ArrayLike]

THRESHOLDS = 33


@dataclass(frozen=True, eq=False)
class BoundaryCounts:
    """Pixels at each threshold; counts of several images add."""

    predicted: Integers
    """Pixels of the prediction."""
    predicted_matched: Integers
    """Those matched in any reference."""
    reference: Integers
    """Pixels of all references."""
    reference_matched: Integers
    """Those that are matched."""

    def __add__(self, other: BoundaryCounts) -> BoundaryCounts:
        return BoundaryCounts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def at(self, threshold: int) -> BoundaryCounts:
        """The counts at one threshold, by its number."""
        return BoundaryCounts(*(column[threshold : threshold + 1] for column in astuple(self)))

    @property
    def precision(self) -> Values:
        """Matched share of the prediction; nan where it has no pixel."""
        return divide(self.predicted_matched, self.predicted)

    @property
    def recall(self) -> Values:
        """Matched share of the references; nan where they have no pixel."""
        return divide(self.reference_matched, self.reference)

    @property
    def f(self) -> Values:
        """Harmonic mean of precision and recall."""
        p, r = self.precision, self.recall
        return np.where((p == 0) | (r == 0), 0.0, divide(2 * p * r, p + r))


@dataclass(frozen=True)
class BoundaryPoint:
    """One point of the curve of precision over recall."""

    threshold: float
    """Where the prediction was cut."""
    precision: float
    """Share of the predicted pixels that are matched in any reference."""
    recall: float
    """Share of the pixels of all references that are matched."""
    f: float
    """Harmonic mean of precision and recall."""


@dataclass(frozen=True, eq=False)
class BoundaryCurve:
    """Precision, recall and F at each threshold; nan where undefined, with the reason in ``point``."""

    thresholds: Values
    """The prediction is cut at or above these; 1 for a prediction of booleans."""
    counts: BoundaryCounts
    """Matched and unmatched pixels at each threshold."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(best={self.best}, {len(self.thresholds)} thresholds)"

    @property
    def precision(self) -> Values:
        """Precision at each threshold."""
        return self.counts.precision

    @property
    def recall(self) -> Values:
        """Recall at each threshold."""
        return self.counts.recall

    @property
    def f(self) -> Values:
        """F at each threshold."""
        return self.counts.f

    def point(self, threshold: int) -> BoundaryPoint:
        """The numbers at one threshold, by its number."""
        return _point(float(self.thresholds[threshold]), self.counts.at(threshold))

    @property
    def best(self) -> BoundaryPoint:
        """Where F is largest; of equal ones, where the fewest predicted pixels are wrong, then the lowest threshold."""
        return self.point(_best(self.counts))

    @property
    def average_precision(self) -> float:
        """The area under precision over recall, between the smallest and the largest recall that was reached."""
        p, r = self.precision, self.recall
        known = np.isfinite(p) & np.isfinite(r)
        recalls, at = np.unique(r[known], return_inverse=True)
        if len(recalls) < 2:
            return Undefined("fewer_than_two_recalls")
        precisions = np.zeros(len(recalls))
        np.maximum.at(precisions, at, p[known])
        return float(np.trapezoid(precisions, recalls))


@dataclass(frozen=True, eq=False, repr=False)
class BoundaryScores(BoundaryCurve):
    """The curve of one image; ``best`` is its own best threshold.

    Attributes
    ----------
    thresholds : numpy.ndarray
        Where the prediction is cut, ascending.
    counts : BoundaryCounts
        Matched and unmatched pixels at each threshold.
    tolerance : float
        Distance within which pixels match, in pixels.
    references : int
        Number of references.
    """

    tolerance: float
    references: int


@dataclass(frozen=True, eq=False, repr=False)
class PooledBoundaryScores(BoundaryCurve):
    """The curve of a data set; ``best`` is the best threshold for all images.

    Attributes
    ----------
    thresholds : numpy.ndarray
        Where the predictions are cut, ascending.
    counts : BoundaryCounts
        Matched and unmatched pixels of all images at each threshold.
    images : tuple of BoundaryScores
        The scores of each image.
    """

    images: tuple[BoundaryScores, ...]

    @property
    def ods(self) -> BoundaryPoint:
        """The best point with one threshold for the whole data set."""
        return self.best

    @property
    def ois(self) -> BoundaryPoint:
        """The point with the best threshold of each image; it has no threshold of its own."""
        counts = [image.counts.at(_best(image.counts)) for image in self.images]
        return _point(Undefined("own_threshold"), reduce(BoundaryCounts.__add__, counts))


def pool_boundary_scores(scores: Iterable[BoundaryScores]) -> PooledBoundaryScores:
    """Pool the scores of the images of a data set.

    Parameters
    ----------
    scores : iterable of BoundaryScores
        Scores of the images, with the same thresholds.

    Returns
    -------
    PooledBoundaryScores
        Scores of the data set, with ODS and OIS.
    """
    images = tuple(scores)
    if not images:
        raise CallError("there are no scores to pool; give those of at least one image")
    for number, image in enumerate(images[1:], start=2):
        if not np.array_equal(image.thresholds, images[0].thresholds):
            raise CallError(
                f"image {number} was cut at other thresholds than the first; give boundary_scores the same thresholds="
            )
    counts = reduce(BoundaryCounts.__add__, (image.counts for image in images))
    return PooledBoundaryScores(images[0].thresholds, counts, images)


def _best(counts: BoundaryCounts) -> int:
    wrong = counts.predicted - counts.predicted_matched
    return int(np.lexsort((wrong, -np.nan_to_num(counts.f)))[0])


def _point(threshold: float, counts: BoundaryCounts) -> BoundaryPoint:
    """One threshold's numbers, with the reasons of those that are undefined."""
    p, r, f = (float(x[0]) for x in (counts.precision, counts.recall, counts.f))
    return BoundaryPoint(
        threshold,
        p if counts.predicted[0] else Undefined("no_boundary_found"),
        r if counts.reference[0] else Undefined("no_boundary_in_truth"),
        f if counts.predicted[0] or counts.reference[0] else Undefined("no_boundary_at_all"),
    )


def boundary_scores(
    prediction: ArrayLike,
    references: References,
    *,
    tolerance: float | None = None,
    share: float = SHARE,
    thresholds: Iterable[float] | None = None,
    thin: bool = True,
) -> BoundaryScores:
    """Score a boundary map against the boundaries of one or several raters or references.

    Parameters
    ----------
    prediction : array_like
        A boundary map of two axes: boolean, or numbers that are cut at thresholds. For region masks, see
        :func:`find_boundaries`.
    references : array_like, or mapping or sequence of array_like
        The reference boundary map, or several in a list or by name.
    tolerance : float, optional
        Distance in pixels within which boundary pixels match; by default ``share`` of the image's diagonal.
    share : float
        That distance as a share of the diagonal.
    thresholds : iterable of float, optional
        Where to cut the prediction; by default all of its values but the smallest, or 33 evenly spaced ones within its
        range where it has more.
    thin : bool
        Whether to thin lines to one pixel; otherwise they are taken as thick as they are.

    Returns
    -------
    BoundaryScores
        Precision, recall and F at each threshold, and the best of them.

    References
    ----------
    Martin DR, Fowlkes CC, Malik J. IEEE Trans Pattern Anal Mach Intell 2004;26:530–549. doi:10.1109/TPAMI.2004.1273918

    Examples
    --------
    >>> references = {"A": [[0, 1, 0, 0]] * 4, "B": [[0, 1, 0, 0]] * 2 + [[0, 0, 0, 1]] * 2}
    >>> boundary_scores([[False, True, False, False]] * 4, references, tolerance=1).best
    BoundaryPoint(threshold=1.0, precision=1.0, recall=0.75, f=0.8571428571428571)
    """
    values = boundaries.check_plane(prediction, "the prediction")
    maps = _reference_maps(references, values.shape, thin)
    distance = tolerance_in_pixels(values.shape, tolerance, share)
    cuts = _cuts(values, thresholds)
    matchers = [_Matcher(Nearby.of(reference, distance)) for reference in maps]
    rows = []
    for cut in cuts:
        detected: Flags = values if values.dtype == bool else values >= cut
        rows.append(_count_matches(boundaries.thin(detected) if thin else detected, matchers))
    return BoundaryScores(cuts, BoundaryCounts(*np.array(rows, np.int64).T), distance, len(maps))


def _reference_maps(references: References, shape: tuple[int, ...], thin: bool) -> list[Flags]:
    """The references as boundary maps of the prediction's size."""
    named: dict[str, Any]
    if isinstance(references, Mapping):
        named = {f"reference {name}": truth for name, truth in references.items()}
    elif isinstance(references, list | tuple) and (not references or np.ndim(references[0]) > 1):
        named = {f"reference {number}": truth for number, truth in enumerate(references, start=1)}
    else:
        named = {"the reference": references}
    if not named:
        raise CallError("references is empty; give at least one reference boundary map")
    maps = {name: boundaries.check_boundary_map(truth, name) for name, truth in named.items()}
    for name, boundary in maps.items():
        if boundary.shape != shape:
            raise GridError(f"{name} is {boundary.shape} but the prediction is {shape}; resample one of them")
    return [boundaries.thin(boundary) if thin else boundary for boundary in maps.values()]


def _cuts(values: NDArray[Any], thresholds: Iterable[float] | None) -> Values:
    """The thresholds, in rising order."""
    if values.dtype == bool:
        if thresholds is not None:
            raise CallError("a prediction of booleans has no thresholds; leave thresholds= out, or give numbers")
        return np.ones(1)
    if thresholds is not None:
        cuts = np.array(list(thresholds), np.float64)
        if cuts.ndim != 1 or not cuts.size or not np.isfinite(cuts).all():
            raise CallError(f"thresholds must be one or more finite numbers; got {cuts.tolist()}")
        return np.unique(cuts)
    levels = np.unique(values).astype(np.float64)
    if len(levels) < 2:
        raise InputError(
            f"the prediction is {', '.join(map(str, levels)) or 'empty'} everywhere, which has no thresholds; "
            "give thresholds=, or a boolean map"
        )
    if len(levels) - 1 <= THRESHOLDS:
        return levels[1:]
    return np.asarray(np.linspace(levels[0], levels[-1], THRESHOLDS + 2)[1:-1])


class _Matcher:
    """Matches with one reference; at each threshold it starts from the pairs of the one before that still exist."""

    def __init__(self, near: Nearby) -> None:
        self.near = near
        self.pairs = np.full(near.shape, -1)

    def match(self, detected: Flags) -> tuple[Reach, Indices]:
        """Which pixels may be matched with which, and a largest matching."""
        reach = self.near.reach(detected)
        partner = maximum_matching(reach, self.pairs[detected])
        self.pairs[:] = -1
        self.pairs[detected] = partner
        return reach, partner


def _count_matches(detected: Flags, references: Sequence[_Matcher]) -> tuple[int, int, int, int]:
    """Predicted pixels, those matched in any reference, pixels of all references, those that are matched."""
    reaches, partners = zip(*(reference.match(detected) for reference in references), strict=True)
    matched = sum(int((partner >= 0).sum()) for partner in partners)
    right = matched if len(references) == 1 else int(_matched_in_any(reaches, partners).sum())
    return int(detected.sum()), right, sum(reach.width for reach in reaches), matched


def _matched_in_any(reaches: Sequence[Reach], partners: Sequence[Indices]) -> Flags:
    """Predicted pixels that the matching of the smallest total distance takes, in any reference.

    Most are taken by every largest matching, which is quicker to see; only the others need the distances.
    """
    open_in = [find_spare_rows(reach, partner) for reach, partner in zip(reaches, partners, strict=True)]
    right: Flags = ~np.logical_and.reduce(open_in)
    for reach, rows in zip(reaches, open_in, strict=True):
        if (rows & ~right & (np.diff(reach.starts) > 0)).any():
            right |= choose_columns(reach, rows) >= 0
    return right
