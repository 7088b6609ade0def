"""Boundaries against the boundaries of several raters, the way of the Berkeley benchmark.

Found and wanted lines are thinned and matched one to one within a tolerance, with each truth for itself. Then ::

    precision   found pixels that are matched in any truth / found pixels
    recall      wanted pixels that are matched, summed over the truths / wanted pixels, summed over the truths
    F           2 P R / (P + R); 0 where one of the two is 0, whatever the other

Grey predictions are cut at thresholds (``prediction >= threshold``). Counts add over images, so that a data set has
a best F for one threshold for all images (ODS), one for each image's own best threshold (OIS), and an area under the
curve of precision over recall (AP): straight lines between the recalls that were reached, nothing below the smallest,
and the better precision where a recall was reached twice. The benchmark also looks for the best F between
thresholds; here it is the best at a threshold.

A pixel matched in any truth counts as right, so precision depends on which pixels are matched: those of the smallest
total distance (see ``match_boundaries``).

Martin DR, Fowlkes CC, Malik J. IEEE Trans Pattern Anal Mach Intell 2004;26:530–549. doi:10.1109/TPAMI.2004.1273918.
Arbeláez P, Maire M, Fowlkes C, Malik J. IEEE Trans Pattern Anal Mach Intell 2011;33:898–916.
doi:10.1109/TPAMI.2010.161
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, GridError, InputError
from ..shape import boundaries
from ..shape.assignment import Indices, Reach, choose_columns, find_spare_rows, maximum_matching
from ..shape.boundaries import SHARE, Nearby, tolerance_in_pixels
from .boundary_curve import BoundaryCounts, BoundaryScores

Flags = NDArray[np.bool_]
Numbers = NDArray[np.float64]
Truths = ArrayLike | Mapping[str, ArrayLike] | Sequence[ArrayLike]

THRESHOLDS = 33


def boundary_scores(
    prediction: ArrayLike,
    truths: Truths,
    *,
    tolerance: float | None = None,
    share: float = SHARE,
    thresholds: Iterable[float] | None = None,
    thin: bool = True,
) -> BoundaryScores:
    """How well a boundary map, of yes and no or grey, finds the boundaries of one or several truths.

    ``truths`` is one map (an array), or several in a list or by name. Of region masks, take ``boundary_of`` first.
    The tolerance is in pixels, or a share of the diagonal. Thresholds are by default all values of the prediction but
    the smallest, or 33 evenly spaced ones within its range where it has more. With ``thin=False``, lines are
    taken as thick as they are.

    >>> truths = {"A": [[0, 1, 0, 0]] * 4, "B": [[0, 1, 0, 0]] * 2 + [[0, 0, 0, 1]] * 2}
    >>> boundary_scores([[False, True, False, False]] * 4, truths, tolerance=1).best
    BoundaryPoint(threshold=1.0, precision=1.0, recall=0.75, f=0.8571428571428571)
    """
    values = boundaries.check_plane(prediction, "the prediction")
    wanted = _wanted(truths, values.shape, thin)
    reached = tolerance_in_pixels(values.shape, tolerance, share)
    cuts = _cuts(values, thresholds)
    truth_by_truth = [_Matcher(Nearby.of(truth, reached)) for truth in wanted]
    rows = np.array([_counted(_cut(values, cut, thin), truth_by_truth) for cut in cuts], np.int64)
    return BoundaryScores(cuts, BoundaryCounts(*rows.T), reached, len(wanted))


def _wanted(truths: Truths, shape: tuple[int, ...], thin: bool) -> list[Flags]:
    """The truths as boundary maps of the prediction's size."""
    named: dict[str, Any]
    if isinstance(truths, Mapping):
        named = {f"truth {name}": truth for name, truth in truths.items()}
    elif isinstance(truths, list | tuple) and (not truths or np.ndim(truths[0]) > 1):
        named = {f"truth {number}": truth for number, truth in enumerate(truths, start=1)}
    else:
        named = {"the truth": truths}
    if not named:
        raise CallError("there is no truth; give at least one boundary map")
    maps = {name: boundaries.check_boundary_map(truth, name) for name, truth in named.items()}
    for name, wanted in maps.items():
        if wanted.shape != shape:
            raise GridError(f"{name} is {wanted.shape} but the prediction is {shape}; resample one of them")
    return [boundaries.thin(wanted) if thin else wanted for wanted in maps.values()]


def _cuts(values: NDArray[Any], thresholds: Iterable[float] | None) -> Numbers:
    """The thresholds, in rising order."""
    if values.dtype == bool:
        if thresholds is not None:
            raise CallError("a prediction of yes and no has no thresholds; leave them out, or give grey values")
        return np.ones(1)
    if thresholds is None:
        return _own_cuts(values)
    cuts = np.array(list(thresholds), np.float64)
    if cuts.ndim != 1 or not cuts.size or not np.isfinite(cuts).all():
        raise CallError(f"thresholds are one or more finite numbers; got {cuts.tolist()}")
    return np.unique(cuts)


def _own_cuts(values: NDArray[Any]) -> Numbers:
    levels = np.unique(values).astype(np.float64)
    if len(levels) < 2:
        raise InputError(
            f"the prediction is {', '.join(map(str, levels)) or 'empty'} everywhere, which has no thresholds; "
            "give thresholds=, or a boolean map"
        )
    if len(levels) - 1 <= THRESHOLDS:
        return levels[1:]
    return np.asarray(np.linspace(levels[0], levels[-1], THRESHOLDS + 2)[1:-1])


def _cut(values: NDArray[Any], threshold: float, thin: bool) -> Flags:
    found: Flags = values if values.dtype == bool else values >= threshold
    return boundaries.thin(found) if thin else found


class _Matcher:
    """Matches with one truth, at each threshold starting from the pairs of the one before that are still there."""

    def __init__(self, near: Nearby) -> None:
        self.near = near
        self.pairs = np.full(near.shape, -1)

    def match(self, found: Flags) -> tuple[Reach, Indices]:
        """Who may be matched with whom, and a largest matching."""
        reach = self.near.reach(found)
        partner = maximum_matching(reach, self.pairs[found])
        self.pairs[:] = -1
        self.pairs[found] = partner
        return reach, partner


def _counted(found: Flags, truths: Sequence[_Matcher]) -> tuple[int, int, int, int]:
    """Found, matched in any truth, wanted in all, matched in all."""
    reaches, partners = zip(*(truth.match(found) for truth in truths), strict=True)
    matched = sum(int((partner >= 0).sum()) for partner in partners)
    wanted = sum(reach.width for reach in reaches)
    right = matched if len(truths) == 1 else int(_in_any(reaches, partners).sum())
    return int(found.sum()), right, wanted, matched


def _in_any(reaches: Sequence[Reach], partners: Sequence[Indices]) -> Flags:
    """Found pixels that the matching of the smallest total distance takes, in any truth.

    Most are taken by every largest matching, which is quicker to see; only the others need the distances.
    """
    open_in = [find_spare_rows(reach, partner) for reach, partner in zip(reaches, partners, strict=True)]
    right: Flags = ~np.logical_and.reduce(open_in)
    for reach, rows in zip(reaches, open_in, strict=True):
        if (rows & ~right & (np.diff(reach.starts) > 0)).any():
            right |= choose_columns(reach, rows) >= 0
    return right
