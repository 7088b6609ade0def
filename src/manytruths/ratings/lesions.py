"""Lesions as ratings: who found which lesion, apart from how well it was drawn.

The rule: a lesion is a connected component of what any rater marked, and a rater has found it when he marked at least
one item of it, or at least a given share. So detection is a table of ratings, "found" or "missed", and delineation is
the Dice of every two who found a lesion, within its component.

Two things follow from the rule. Where one rater draws two lesions in one blob, the component joins them for everybody:
who drew only one of the two has found "it". Such components, in which one rater has a single blob and another several,
are counted as bridged; many of them mean that detection is overstated. And **every lesion was found by somebody**:
places that all left unmarked are no cases, so that agreement on "missed" is cut off. Kappa and alpha take what is left
for all there is; they come out too low, often below 0. The number to read is positive agreement: one rater having
found a lesion, the chance that another has too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, GridError
from ..core.labels import VOID, Labels
from ..core.mask_arrays import Coder, Inputs, Masks, fill_masked, format_shape, gather_inputs
from ..core.undefined import Undefined
from .components import Components, Flags, components
from .findings import FOUND, LesionRatings, MarkedLesion
from .masks import first_readings
from .ratings import MISSING, Ratings

LONELY = "fewer_than_two_finders"


def lesion_ratings(
    masks: Masks,
    *,
    connectivity: int | None = None,
    least: int = 1,
    overlap: float | None = None,
    spacing: Sequence[float] | None = None,
    raters: Sequence[str] | None = None,
    labels: Labels | Mapping[int, str] | Iterable[int] | None = None,
    region: ArrayLike | None = None,
    void: int | None = None,
    foreground: str | None = None,
) -> LesionRatings:
    """The lesions of one image and who found them, in two, three or any number of dimensions.

    Parameters
    ----------
    connectivity
        How far apart neighbours may be: 1 by a face, 2 by an edge too (in a plane: diagonally), 3 by a corner too; by
        default as far as there are axes.
    least
        Components of fewer items are specks, not lesions; they are counted and left out.
    overlap
        The share of a component (of what he rated of it) that a rater must have marked to have found it; by default
        one item is enough. With it, some lesions may be found by nobody.
    spacing
        The size of an item along each axis, for the lesions' extent.
    region
        A mask of the items that count; what is marked elsewhere is not looked at.
    masks, raters, labels, void, foreground
        As in :func:`manytruths.tally`. An absent rater (None) is missing, and so is one who rated nothing of a lesion.
        Of repeated readings the first counts. With several labels, each has its own components.

    >>> found = lesion_ratings({"A": [[1, 1, 0, 0, 1]], "B": [[0, 1, 0, 0, 0]], "C": None})
    >>> found
    <2 lesions by 3 raters, 0 bridged>
    >>> [(lesion.found_by, lesion.size, lesion.place) for lesion in found.lesions]
    [(('A', 'B'), 2, (0.0, 0.5)), (('A',), 1, (0.0, 4.0))]
    >>> found.ratings.codes.tolist(), round(found.delineation, 3)
    ([[1, 1, -1], [1, 0, -1]], 0.667)
    """
    inputs = first_readings(gather_inputs(masks, raters, None, None))
    shape, names = inputs.shape, tuple(column.name for column in inputs.columns)
    reach = _reach(connectivity, least, overlap, spacing, shape)
    codes, known = _decoded(inputs, None if labels is None else Labels.of(labels), void, foreground)
    if region is not None:
        codes = np.where(_inside(region, shape), codes, known.background or 0)
    rated = None if not (codes == VOID).any() else codes != VOID
    found = {known.names[k]: components(codes == k, rated, reach, least, overlap) for k in known.marks}
    item = float("nan") if spacing is None else float(prod(spacing))
    lesions = [x for label, part in found.items() for x in _lesions(part, label, len(found) > 1, inputs, item)]
    table = np.full((len(lesions), len(names)), MISSING, np.int16)
    if lesions:
        table[:, inputs.present] = np.concatenate([part.codes for part in found.values()])
    nothing = np.full(table.shape, np.nan)
    ratings = Ratings(tuple(lesion.name for lesion in lesions), names, FOUND.names, table, nothing)
    return LesionRatings(ratings, tuple(lesions), sum(part.specks for part in found.values()))


def _reach(
    connectivity: int | None, least: int, overlap: float | None, spacing: Sequence[float] | None, shape: tuple[int, ...]
) -> int:
    axes = len(shape)
    reach = axes if connectivity is None else connectivity
    if not 1 <= reach <= axes:
        raise CallError(f"connectivity runs from 1 (faces) to {axes}, the axes of the masks; got {connectivity}")
    if least < 1:
        raise CallError(f"least is at least 1 item; got {least}")
    if overlap is not None and not 0 < overlap <= 1:
        raise CallError(f"overlap is a share of a lesion, above 0 and up to 1, or None; got {overlap}")
    if spacing is not None and len(spacing) != axes:
        raise CallError(f"spacing has one size an axis, {axes} in all; got {tuple(spacing)}")
    return reach


def _decoded(
    inputs: Inputs, labels: Labels | None, void: int | None, foreground: str | None
) -> tuple[NDArray[np.uint8], Labels]:
    """(raters present, …) codes of labels, and the labels."""
    if foreground not in (None, "any"):
        raise CallError(f"foreground is None or 'any'; got {foreground!r}")
    coder = Coder([str(inputs.columns[i]) for i in inputs.present], labels, void, foreground == "any")
    learnt = coder.encode([np.ascontiguousarray(fill_masked(inputs.arrays[i])).reshape(-1) for i in inputs.present])
    known = coder.labels()
    return coder.table(known)[learnt].reshape(-1, *inputs.shape), known


def _inside(region: ArrayLike, shape: tuple[int, ...]) -> Flags:
    mask = np.asarray(region).astype(bool)
    if mask.shape != shape:
        raise GridError(f"the region is {format_shape(mask.shape)} but the masks are {format_shape(shape)}")
    return mask


def _lesions(part: Components, label: str, several: bool, inputs: Inputs, item: float) -> Iterator[MarkedLesion]:
    raters = [inputs.columns[i].name for i in inputs.present]
    rows = zip(part.sizes.tolist(), part.places.tolist(), part.codes, part.dice.tolist(), part.blobs, strict=True)
    for k, (items, place, codes, dice, blobs) in enumerate(rows, start=1):
        pieces = np.zeros(len(inputs.columns), np.int64)
        pieces[inputs.present] = blobs
        yield MarkedLesion(
            f"{label} {k}" if several else str(k),
            label,
            items,
            items * item,
            tuple(place),
            tuple(r for r, c in zip(raters, codes, strict=True) if c == 1),
            tuple(r for r, c in zip(raters, codes, strict=True) if c == 0),
            Undefined(LONELY) if np.isnan(dice) else dice,
            tuple(pieces.tolist()),
        )
