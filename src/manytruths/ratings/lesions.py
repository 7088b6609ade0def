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

What is known about lesions: who found each, how well those who did agree about its outline, and pools of them.

The connected components of what any rater marked, and each rater's part of every one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..agreement import AgreementCurve, agreement_curve
from ..core.coding import Coder
from ..core.columns import Column, natural
from ..core.errors import CallError, GridError
from ..core.inputs import Inputs, Masks, filled, gather, size
from ..core.labels import VOID, Labels
from ..core.tally import Tally
from ..core.undefined import Undefined
from .competence import most_frequent
from .masks import first_readings
from .ratings import MISSING, Ratings, Values

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
    inputs = first_readings(gather(masks, raters, None, None))
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
    learnt = coder.encode([np.ascontiguousarray(filled(inputs.arrays[i])).reshape(-1) for i in inputs.present])
    known = coder.labels()
    return coder.table(known)[learnt].reshape(-1, *inputs.shape), known


def _inside(region: ArrayLike, shape: tuple[int, ...]) -> Flags:
    mask = np.asarray(region).astype(bool)
    if mask.shape != shape:
        raise GridError(f"the region is {size(mask.shape)} but the masks are {size(shape)}")
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


FOUND = Labels((0, 1), ("missed", "found"))
FLOOR = (
    "every lesion was found by at least one rater, as nobody knows the places that all left out: kappa and alpha come "
    "out too low; read positive agreement"
)


@dataclass(frozen=True)
class MarkedLesion:
    """One component of what any rater marked."""

    name: str
    label: str
    size: int
    """Items of the component."""
    extent: float
    """The same in mm² or mm³ (or whatever spacing is in); nan without spacing."""
    place: tuple[float, ...]
    """The mean position of its items."""
    found_by: tuple[str, ...]
    missed_by: tuple[str, ...]
    dice: float
    """The mean Dice of every two who found it, within the component."""
    blobs: tuple[int, ...]
    """In how many pieces each rater drew it."""
    case: str = ""

    @property
    def bridged(self) -> bool:
        """Whether one rater drew in a single blob what another drew in several."""
        return 1 in self.blobs and max(self.blobs) > 1


@dataclass(frozen=True, eq=False)
class RaterFindings:
    """What each rater found."""

    raters: tuple[str, ...]
    found: Whole
    """Lesions that he found."""
    rated: Whole
    """Lesions of the images that he saw."""
    of_others: Values
    """Of the lesions that most of the others found, the share that he found; nan where there is none."""
    others: Whole
    """How many those are."""
    alone: Whole
    """Lesions that nobody else found, though somebody else saw the image."""

    @property
    def share(self) -> Values:
        """Of all lesions of the images that he saw, the share that he found."""
        nothing = np.full(len(self.found), np.nan)
        return np.asarray(np.divide(self.found, self.rated, out=nothing, where=self.rated > 0))

    def to_frame(self) -> Any:
        """A pandas DataFrame (extra ``tables``), one row a rater."""
        import pandas

        columns = ("found", "rated", "share", "of_others", "others", "alone")
        return pandas.DataFrame({name: getattr(self, name) for name in columns}, self.raters)


@dataclass(frozen=True, eq=False)
class LesionRatings:
    """The lesions of one image, or of many, and who found them."""

    ratings: Ratings
    """One row a lesion, labels "missed" and "found"."""
    lesions: tuple[MarkedLesion, ...]
    specks: int = 0
    """Components that were too small to be a lesion."""

    def __repr__(self) -> str:
        return f"<{len(self.lesions)} lesions by {len(self.ratings.raters)} raters, {self.bridged} bridged>"

    def __len__(self) -> int:
        return len(self.lesions)

    @cached_property
    def tally(self) -> Tally:
        """The table of who found what, for every statistic there is: "missed" is its background."""
        codes = np.where(self.ratings.given, self.ratings.codes, VOID).astype(np.uint8)
        return Tally(tuple(map(Column, self.ratings.raters)), FOUND, codes, self.ratings.items)

    @property
    def bridged(self) -> int:
        """How many components join what somebody drew in several pieces."""
        return sum(lesion.bridged for lesion in self.lesions)

    @property
    def delineation(self) -> float:
        """The mean over the lesions that two or more found of the mean Dice of those who did."""
        known = [lesion.dice for lesion in self.lesions if not np.isnan(lesion.dice)]
        return float(np.mean(known)) if known else Undefined("no_lesion_found_twice")

    @property
    def curve(self) -> AgreementCurve:
        """Of all lesions, the share that at least n raters found."""
        return agreement_curve(self.tally)

    def found_by(self) -> Whole:
        """How many lesions were found by exactly 0, 1, …, all raters."""
        votes = (self.ratings.codes == 1).sum(axis=1)
        return np.bincount(votes, minlength=len(self.ratings.raters) + 1).astype(np.int64)

    def findings(self) -> RaterFindings:
        """What each rater found, and what of it the others confirm."""
        found, given = self.ratings.codes == 1, self.ratings.given
        of_others, others = np.full(found.shape[1], np.nan), np.zeros(found.shape[1], np.int64)
        for i in range(found.shape[1]):
            own = np.stack([given[:, i] & ~found[:, i], found[:, i]], axis=1)
            sure = given[:, i] & (most_frequent(self.ratings.votes - own) == 1)
            others[i] = sure.sum()
            of_others[i] = found[sure, i].mean() if others[i] else np.nan
        alone = found & (found.sum(axis=1) == 1)[:, None] & (given.sum(axis=1) > 1)[:, None]
        return RaterFindings(
            self.ratings.raters, found.sum(axis=0), given.sum(axis=0), of_others, others, alone.sum(axis=0)
        )

    def of_label(self, label: str) -> LesionRatings:
        """The lesions of one label."""
        rows = [i for i, lesion in enumerate(self.lesions) if lesion.label == label]
        chosen = np.array(rows, np.intp)
        return LesionRatings(self.ratings.select(chosen), tuple(self.lesions[i] for i in rows))

    def to_frame(self) -> Any:
        """A pandas DataFrame (extra ``tables``), one row a lesion."""
        import pandas

        columns = ("case", "name", "label", "size", "extent", "place", "found_by", "missed_by", "dice", "bridged")
        return pandas.DataFrame({name: [getattr(lesion, name) for lesion in self.lesions] for name in columns})


def pool_lesions(by_case: Mapping[str, LesionRatings], subjects: Mapping[str, str] | None = None) -> LesionRatings:
    """The lesions of many images as one table, in which the subjects are those of the images.

    A rater who is not among the raters of an image is missing there.
    """
    if not by_case:
        raise CallError("there is no case whose lesions could be pooled")
    raters = tuple(sorted({r for one in by_case.values() for r in one.ratings.raters}, key=natural))
    parts, lesions, owners = [], [], []
    for case, one in by_case.items():
        codes = np.full((len(one), len(raters)), MISSING, np.int16)
        codes[:, [raters.index(r) for r in one.ratings.raters]] = one.ratings.codes
        parts.append(codes)
        lesions += [replace(lesion, case=case) for lesion in one.lesions]
        owners += [(subjects or {}).get(case, case)] * len(one)
    table = np.concatenate(parts)
    names = tuple(f"{lesion.case}: {lesion.name}" for lesion in lesions)
    ratings = Ratings(names, raters, FOUND.names, table, np.full(table.shape, np.nan), subjects=tuple(owners))
    return LesionRatings(ratings, tuple(lesions), sum(one.specks for one in by_case.values()))


Flags = NDArray[np.bool_]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Components:
    """One row a component, in the order in which they are met in the array."""

    sizes: Whole
    places: Values
    """(components, axes) mean positions."""
    codes: NDArray[np.int16]
    """(components, raters): 1 found, 0 missed, −1 where the rater rated nothing of it."""
    dice: Values
    """The mean over every two who found it; nan where there are no two."""
    blobs: Whole
    """(components, raters) pieces."""
    specks: int
    """Components that were too small, and left out."""


def components(
    marked: Flags, rated: Flags | None, connectivity: int, least: int = 1, overlap: float | None = None
) -> Components:
    """Of (raters, …) markings; ``rated`` likewise, or None where everybody rated everything."""
    from scipy import ndimage

    box = _box(np.asarray(marked.any(axis=0)))
    inside = marked[(slice(None), *box)]
    structure = ndimage.generate_binary_structure(inside.ndim - 1, connectivity)
    parts, count = ndimage.label(inside.any(axis=0), structure)
    where = np.flatnonzero(parts)
    owner = parts.reshape(-1)[where] - 1
    own = inside.reshape(len(inside), -1)[:, where]
    seen = None if rated is None else rated[(slice(None), *box)].reshape(len(inside), -1)[:, where]
    sizes = np.bincount(owner, minlength=count)
    drawn = _counts(owner, own, count)
    looked = np.repeat(sizes[None], len(own), axis=0) if seen is None else _counts(owner, seen, count)
    codes = _codes(drawn, looked, overlap)
    blobs = np.stack([_pieces(m, ndimage.label(m, structure), parts, count) for m in inside], axis=1)
    keep = sizes >= least
    return Components(
        sizes[keep],
        _places(where, owner, parts.shape, sizes, [edge.start for edge in box])[keep],
        codes.T[keep],
        _dice(owner, own, seen, drawn, codes == 1)[keep],
        blobs[keep],
        int((~keep).sum()),
    )


def _box(union: Flags) -> tuple[slice, ...]:
    """The smallest box around what is marked: most images are mostly empty."""
    axes = range(union.ndim)
    lines = [np.flatnonzero(union.any(axis=tuple(a for a in axes if a != axis))) for axis in axes]
    return tuple(slice(int(line[0]), int(line[-1]) + 1) if len(line) else slice(0, 0) for line in lines)


def _counts(owner: NDArray[Any], flags: Flags, count: int) -> Whole:
    """(raters, components) items."""
    return np.stack([np.bincount(owner[row], minlength=count) for row in flags])


def _codes(drawn: Whole, looked: Whole, overlap: float | None) -> NDArray[np.int16]:
    share = np.divide(drawn, looked, out=np.zeros(drawn.shape), where=looked > 0)
    found = drawn > 0 if overlap is None else share >= overlap
    return np.where(looked > 0, found, MISSING).astype(np.int16)


def _pieces(mask: Flags, labelled: tuple[NDArray[Any], int], parts: NDArray[Any], count: int) -> Whole:
    """How many pieces of one rater lie in each component: a piece lies in one of them."""
    pieces, found = labelled
    home = np.zeros(found + 1, np.intp)
    home[pieces[mask]] = parts[mask]
    return np.bincount(home[1:], minlength=count + 1)[1:]


def _places(
    where: NDArray[np.intp], owner: NDArray[Any], shape: tuple[int, ...], sizes: Whole, corner: list[int]
) -> Values:
    """Mean positions."""
    along = np.unravel_index(where, shape)
    sums = [np.bincount(owner, position, len(sizes)) for position in along]
    return np.stack(sums, axis=1) / sizes[:, None] + corner


def _dice(owner: NDArray[Any], own: Flags, seen: Flags | None, drawn: Whole, found: Flags) -> Values:
    """The mean over every two raters who found a component of their Dice within it, on what both rated."""
    total, pairs = np.zeros(drawn.shape[1]), np.zeros(drawn.shape[1], np.int64)
    for i, j in combinations(range(len(own)), 2):
        both = np.bincount(owner[own[i] & own[j]], minlength=len(total))
        if seen is None:
            either = drawn[i] + drawn[j]
        else:
            either = _counts(owner, np.stack([own[i] & seen[j], own[j] & seen[i]]), len(total)).sum(axis=0)
        met = found[i] & found[j] & (either > 0)
        total[met] += 2 * both[met] / either[met]
        pairs += met
    return np.asarray(np.divide(total, pairs, out=np.full(len(total), np.nan), where=pairs > 0))
