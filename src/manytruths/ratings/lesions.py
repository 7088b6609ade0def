"""Lesions as ratings: which rater found which lesion, apart from how well it was outlined.

A lesion is a connected component of the union of all raters' marks. A rater has found it if they marked at least one
pixel of it, or at least a given share. So detection is a table of ratings, "found" or "missed", and delineation is the
Dice coefficient of every two raters who found a lesion, within its component.

Two properties follow from this definition. Where one rater draws two lesions as one piece, the component joins them for
everybody: a rater who marked only one of the two has found "it". Components in which one rater has a single piece and
another several are counted as *bridged*; if there are many, detection is overestimated. And **every lesion was found by
at least one rater**: places that nobody marked are not cases, so agreement on "missed" is truncated. Kappa and alpha
ignore this truncation and are too low, often below 0. Use positive agreement instead: given that one rater found a
lesion, the probability that another found it too.

With a rule, lesions are those that :func:`manytruths.match_lesions` matches between raters: nothing is bridged, but two
outlines of one lesion that do not match are two lesions, each missed by one rater.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..agreement import AgreementCurve, agreement_curve
from ..core.columns import Column, natural_key
from ..core.counting import tally
from ..core.errors import CallError
from ..core.labels import VOID, Labels
from ..core.mask_arrays import HIDDEN, Coder, Inputs, Masks, fill_masked, gather_inputs, region_mask
from ..core.runs import LabelRuns, divide_runs, read_runs
from ..core.tally import Tally
from ..core.tiles import LazyArray, is_lazy
from ..core.undefined import Undefined, divide
from ..lesions import LesionMatch, match_lesions
from ..shape.components import number_runs
from .accuracy import most_frequent
from .concordance import MANY_RATERS
from .masks import first_readings
from .ratings import MISSING, Ratings, Values

LONELY = "fewer_than_two_finders"
FOUND = Labels((0, 1), ("missed", "found"))
FLOOR = (
    "every lesion was found by at least one rater, since places that nobody marked are unknown: kappa and alpha, if "
    "they are defined, are too low; use positive agreement"
)
Flags = NDArray[np.bool_]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class MarkedLesion:
    """One lesion: a connected component of the union of all raters' marks, or what raters have in common by a rule.

    Attributes
    ----------
    name : str
        Name of the lesion in its image: a number, behind the label where there are several labels.
    label : str
        Name of its label.
    size : int
        Number of pixels; of matched lesions, of those that anybody drew.
    extent : float
        Area or volume in the units of the spacing; nan without spacing.
    centroid : tuple of float
        Mean position of its pixels.
    found_by, missed_by : tuple of str
        Raters.
    dice : float
        Mean Dice coefficient of every two raters who found it, within the component.
    pieces : tuple of int
        Number of pieces that each rater drew; of matched lesions at most 1.
    case : str
        The case; empty for lesions of a single image.
    """

    name: str
    label: str
    size: int
    extent: float
    centroid: tuple[float, ...]
    found_by: tuple[str, ...]
    missed_by: tuple[str, ...]
    dice: float
    pieces: tuple[int, ...]
    case: str = ""

    @property
    def bridged(self) -> bool:
        """Whether one rater drew a single piece where another drew several."""
        return 1 in self.pieces and max(self.pieces) > 1


@dataclass(frozen=True, eq=False)
class RaterFindings:
    """Lesions found by each rater, as :meth:`LesionRatings.findings` counts them.

    Attributes
    ----------
    raters : tuple of str
        The raters.
    found : ndarray of int64
        Number of lesions that the rater found.
    rated : ndarray of int64
        Number of lesions in the images that the rater read.
    of_others : ndarray of float
        Share that the rater found of the lesions that most of the other raters found; nan if there is none.
    others : ndarray of int64
        Number of these lesions.
    alone : ndarray of int64
        Number of lesions that only this rater found, though others read the image.
    """

    raters: tuple[str, ...]
    found: Whole
    rated: Whole
    of_others: Values
    others: Whole
    alone: Whole

    @property
    def share(self) -> Values:
        """Share that each rater found of all lesions in the images that they read."""
        return divide(self.found, self.rated)

    def to_frame(self) -> Any:
        """A pandas DataFrame (extra ``tables``) with one row for each rater."""
        import pandas

        columns = ("found", "rated", "share", "of_others", "others", "alone")
        return pandas.DataFrame({name: getattr(self, name) for name in columns}, self.raters)


@dataclass(frozen=True, eq=False)
class LesionRatings:
    """Lesions of one or several images, and who found them; made by :func:`lesion_ratings` or :func:`pool_lesions`.

    Attributes
    ----------
    ratings : Ratings
        One row for each lesion, with the labels "missed" and "found".
    lesions : tuple of MarkedLesion
        The lesions, in the order of the rows.
    specks : int
        Number of components that were too small to count as lesions.
    """

    ratings: Ratings
    lesions: tuple[MarkedLesion, ...]
    specks: int = 0

    def __repr__(self) -> str:
        return f"<{len(self.lesions)} lesions by {len(self.ratings.raters)} raters, {self.bridged} bridged>"

    def __len__(self) -> int:
        return len(self.lesions)

    @cached_property
    def tally(self) -> Tally:
        """The ratings as a tally, for all agreement statistics; "missed" is its background."""
        codes = np.where(self.ratings.given, self.ratings.codes, VOID).astype(np.uint8)
        return Tally(tuple(map(Column, self.ratings.raters)), FOUND, codes, self.ratings.items)

    @property
    def bridged(self) -> int:
        """Number of bridged lesions, which join what a rater drew in several pieces."""
        return sum(lesion.bridged for lesion in self.lesions)

    @property
    def delineation(self) -> float:
        """Mean over the lesions that two or more raters found of their mean Dice coefficient."""
        known = [lesion.dice for lesion in self.lesions if not np.isnan(lesion.dice)]
        return float(np.mean(known)) if known else Undefined("no_lesion_found_twice")

    @property
    def curve(self) -> AgreementCurve:
        """Share of all lesions that at least n raters found, for each n."""
        return agreement_curve(self.tally)

    def count_by_finders(self) -> Whole:
        """Number of lesions found by exactly 0, 1, …, all raters."""
        votes = (self.ratings.codes == 1).sum(axis=1)
        return np.bincount(votes, minlength=len(self.ratings.raters) + 1).astype(np.int64)

    def findings(self) -> RaterFindings:
        """Lesions found by each rater, alone and together with others."""
        found, given = self.ratings.codes == 1, self.ratings.given
        of_others, others = np.full(found.shape[1], np.nan), np.zeros(found.shape[1], np.int64)
        for i in range(found.shape[1]):
            answer = np.stack([given[:, i] & ~found[:, i], found[:, i]], axis=1)
            expected = given[:, i] & (most_frequent(self.ratings.votes - answer) == 1)
            others[i] = expected.sum()
            of_others[i] = found[expected, i].mean() if others[i] else np.nan
        alone = found & (found.sum(axis=1) == 1)[:, None] & (given.sum(axis=1) > 1)[:, None]
        counts = found.sum(axis=0), given.sum(axis=0)
        return RaterFindings(self.ratings.raters, *counts, of_others, others, alone.sum(axis=0))

    def select_label(self, label: str) -> LesionRatings:
        """The lesions of one label."""
        rows = [i for i, lesion in enumerate(self.lesions) if lesion.label == label]
        return LesionRatings(self.ratings.select(np.array(rows, np.intp)), tuple(self.lesions[i] for i in rows))

    def to_frame(self) -> Any:
        """A pandas DataFrame (extra ``tables``) with one row for each lesion."""
        import pandas

        columns = ("case", "name", "label", "size", "extent", "centroid", "found_by", "missed_by", "dice", "bridged")
        return pandas.DataFrame({name: [getattr(lesion, name) for lesion in self.lesions] for name in columns})


def lesion_ratings(
    masks: Masks,
    *,
    connectivity: int | None = None,
    min_size: int = 1,
    overlap: float | None = None,
    rule: str | None = None,
    threshold: float | None = None,
    instances: bool = False,
    spacing: Sequence[float] | None = None,
    raters: Sequence[str] | None = None,
    labels: Labels | Mapping[int, str] | Iterable[int] | None = None,
    region: ArrayLike | LazyArray | None = None,
    void: int | None = None,
    foreground: str | None = None,
) -> LesionRatings:
    """Find the lesions of one image, in any number of dimensions, and who found each.

    A lesion is a connected component of the union of all raters' marks or, with a rule, what
    :func:`manytruths.match_lesions` takes as one.

    Parameters
    ----------
    masks : mapping or sequence of array_like
        The raters' masks, as in :func:`manytruths.tally`; those that are not in memory are read by tile. An absent
        rater (None) is missing, and so is one who rated nothing of a lesion. Of repeated readings, the first counts.
        Each label has its own lesions.
    connectivity : int, optional
        Which pixels are neighbours: 1 those that share a face, 2 an edge too (in 2D: diagonally), 3 a corner too. By
        default the number of axes.
    min_size : int
        Number of pixels of the smallest lesion; smaller components are counted and left out.
    overlap : float, optional
        Share of a component (of what they rated of it) that a rater must mark to have found it; by default one pixel.
        With it, some lesions may be found by nobody. Without a rule only.
    rule : {"iou", "overlap", "distance"}, optional
        When the lesions of two raters are the same, as in :func:`manytruths.match_lesions`; by default components of
        the union of all marks are lesions.
    threshold : float, optional
        Threshold of the rule: 0.5 by default; for ``distance`` it has to be given.
    instances : bool
        With a rule: whether all pixels of one value are one lesion, connected or not. There is one label then.
    spacing : sequence of float, optional
        Size of a pixel along each axis, for the lesions' extent and their distance.
    raters : sequence of str, optional
        Names of the raters, as in :func:`manytruths.tally`.
    labels : Labels, mapping of int to str or iterable of int, optional
        All labels, as in :func:`manytruths.tally`; by default those that occur.
    region : array_like, optional
        Mask of the pixels that count; marks elsewhere are ignored.
    void : int, optional
        Value of pixels that were not rated.
    foreground : {"any"}, optional
        With ``"any"``, all labels but background count as one.

    Returns
    -------
    LesionRatings
        The lesions, and who found each.

    Examples
    --------
    >>> found = lesion_ratings({"A": [[1, 1, 0, 0, 1]], "B": [[0, 1, 0, 0, 0]], "C": None})
    >>> found
    <2 lesions by 3 raters, 0 bridged>
    >>> [(lesion.found_by, lesion.size, lesion.centroid) for lesion in found.lesions]
    [(('A', 'B'), 2, (0.0, 0.5)), (('A',), 1, (0.0, 4.0))]
    >>> found.ratings.codes.tolist(), round(found.delineation, 3)
    ([[1, 1, -1], [1, 0, -1]], 0.667)

    Outlines that do not match by a rule are two lesions, each found by one rater:

    >>> apart = {"A": [[1, 1, 1, 0]], "B": [[0, 0, 1, 1]]}
    >>> lesion_ratings(apart).ratings.codes.tolist(), lesion_ratings(apart, rule="iou").ratings.codes.tolist()
    ([[1, 1]], [[1, 0], [0, 1]])
    """
    inputs = first_readings(gather_inputs(masks, raters, None, None, lazy=True))
    shape, names = inputs.shape, tuple(column.name for column in inputs.columns)
    reach = _check_arguments(connectivity, min_size, overlap, spacing, shape)
    _check_rule(rule, threshold, instances, overlap)
    given = None if labels is None or instances else Labels.of(labels)
    united = "any" if instances else foreground
    by_tile = is_lazy(region) or any(is_lazy(array) for array in inputs.arrays)
    read: _Drawn = (
        _Runs(inputs, given, void, united, region) if by_tile else _Pixels(inputs, given, void, united, region)
    )
    known = read.labels
    if rule is None:
        by_label = {known.names[k]: read.find(k, reach, min_size, overlap) for k in known.marks}
    else:
        matching = partial(
            match_lesions, rule=rule, threshold=threshold, connectivity=reach, spacing=spacing, instances=instances
        )
        by_label = {
            known.names[k]: _match_components(read.masks(k, instances), shape, matching, min_size) for k in known.marks
        }
    pixel = float("nan") if spacing is None else float(prod(spacing))
    several = len(by_label) > 1
    lesions = [x for label, part in by_label.items() for x in _list_lesions(part, label, several, inputs, pixel)]
    table = np.full((len(lesions), len(names)), MISSING, np.int16)
    if lesions:
        table[:, inputs.present] = np.concatenate([part.codes for part in by_label.values()])
    nothing = np.full(table.shape, np.nan)
    ratings = Ratings(tuple(lesion.name for lesion in lesions), names, FOUND.names, table, nothing)
    return LesionRatings(ratings, tuple(lesions), sum(part.specks for part in by_label.values()))


def _check_arguments(
    connectivity: int | None,
    min_size: int,
    overlap: float | None,
    spacing: Sequence[float] | None,
    shape: tuple[int, ...],
) -> int:
    """The connectivity."""
    axes = len(shape)
    reach = axes if connectivity is None else connectivity
    if not 1 <= reach <= axes:
        raise CallError(f"connectivity must be from 1 to {axes}, the number of axes of the masks; got {connectivity}")
    if min_size < 1:
        raise CallError(f"min_size must be at least 1; got {min_size}")
    if overlap is not None and not 0 < overlap <= 1:
        raise CallError(f"overlap must be above 0 and at most 1, or None; got {overlap}")
    if spacing is not None and len(spacing) != axes:
        raise CallError(f"spacing must have {axes} numbers, one for each axis; got {tuple(spacing)}")
    return reach


def _check_rule(rule: str | None, threshold: float | None, instances: bool, overlap: float | None) -> None:
    """Refuse what belongs to one of the two definitions of a lesion, and is given with the other."""
    if rule is not None and overlap is not None:
        raise CallError(f"overlap is for lesions without a rule; rule {rule!r} has a threshold instead")
    if rule is None and (threshold is not None or instances):
        name = "threshold" if threshold is not None else "instances"
        raise CallError(f"{name} is for lesions that are matched by a rule; give one, such as rule='iou'")


class _Drawn(Protocol):
    """What raters drew, label by label."""

    labels: Labels

    def find(self, label: int, connectivity: int, min_size: int, overlap: float | None) -> Components:
        """The components of a label's marks."""
        ...

    def masks(self, label: int, numbered: bool) -> list[Any]:
        """The marks of a label by rater, or the numbers of instances."""
        ...


class _Pixels:
    """The same of masks in memory."""

    def __init__(
        self, inputs: Inputs, labels: Labels | None, void: int | None, foreground: str | None, region: Any
    ) -> None:
        _check_foreground(foreground)
        arrays = [np.ascontiguousarray(fill_masked(inputs.arrays[i])) for i in inputs.present]
        coder = Coder([str(inputs.columns[i]) for i in inputs.present], labels, void, foreground == "any")
        encoded = coder.encode([array.reshape(-1) for array in arrays])
        self.labels, self._values = coder.labels(), arrays
        codes = coder.table(self.labels)[encoded].reshape(-1, *inputs.shape)
        if region is not None:
            codes = np.where(region_mask(region, inputs.shape), codes, self.labels.background or 0)
        self._codes, self._rated = codes, codes != VOID if (codes == VOID).any() else None

    def find(self, label: int, connectivity: int, min_size: int, overlap: float | None) -> Components:
        return find_components(self._codes == label, self._rated, connectivity, min_size, overlap)

    def masks(self, label: int, numbered: bool) -> list[Any]:
        marked = self._codes == label
        masks = [np.where(m, v, 0) for m, v in zip(marked, self._values, strict=True)] if numbered else list(marked)
        if self._rated is None:
            return masks
        return [np.ma.array(mask, mask=away) for mask, away in zip(masks, ~self._rated, strict=True)]


class _Runs:
    """The same of masks that are read by tile: from their runs."""

    def __init__(
        self, inputs: Inputs, labels: Labels | None, void: int | None, foreground: str | None, region: Any
    ) -> None:
        _check_foreground(foreground)
        runs = {inputs.columns[i]: read_runs(inputs.arrays[i]) for i in inputs.present}  # type: ignore[arg-type]
        self.labels = tally(runs, labels=labels, void=void, foreground=foreground).labels
        if self.labels.background is None:
            raise CallError("lesions of masks that are read by tile need a background; read the masks into memory")
        self._united, self._runs = foreground == "any", [each.hide(void) for each in runs.values()]
        if region is not None:
            inside = read_runs(region_mask(region, inputs.shape, lazy=True)).marks()
            self._runs = [each.intersect(inside) for each in self._runs]

    def find(self, label: int, connectivity: int, min_size: int, overlap: float | None) -> Components:
        return find_components_of_runs(self.masks(label, False), connectivity, min_size, overlap)

    def masks(self, label: int, numbered: bool) -> list[Any]:
        value = None if self._united else self.labels.values[label]
        return self._runs if numbered else [runs.binary(value) for runs in self._runs]


def _check_foreground(foreground: str | None) -> None:
    if foreground not in (None, "any"):
        raise CallError(f"foreground must be None or 'any'; got {foreground!r}")


def _list_lesions(part: Components, label: str, several: bool, inputs: Inputs, pixel: float) -> Iterator[MarkedLesion]:
    raters = [inputs.columns[i].name for i in inputs.present]
    rows = zip(part.sizes.tolist(), part.centroids.tolist(), part.codes, part.dice.tolist(), part.pieces, strict=True)
    for k, (pixels, centroid, codes, dice, drawn) in enumerate(rows, start=1):
        pieces = np.zeros(len(inputs.columns), np.int64)
        pieces[inputs.present] = drawn
        yield MarkedLesion(
            f"{label} {k}" if several else str(k),
            label,
            pixels,
            pixels * pixel,
            tuple(centroid),
            tuple(r for r, c in zip(raters, codes, strict=True) if c == 1),
            tuple(r for r, c in zip(raters, codes, strict=True) if c == 0),
            Undefined(LONELY) if np.isnan(dice) else dice,
            tuple(pieces.tolist()),
        )


def pool_lesions(by_case: Mapping[str, LesionRatings], subjects: Mapping[str, str] | None = None) -> LesionRatings:
    """Join the lesions of several images into one table.

    Parameters
    ----------
    by_case : mapping of str to LesionRatings
        Lesions of each case. A rater who did not read a case is missing there.
    subjects : mapping of str to str, optional
        Subject of each case; by default every case is its own subject.

    Returns
    -------
    LesionRatings

    Examples
    --------
    >>> first = lesion_ratings({"A": [[1, 0, 1]], "B": [[1, 0, 0]]})
    >>> second = lesion_ratings({"A": [[1, 1, 0]], "C": [[0, 1, 0]]})
    >>> pool_lesions({"p1": first, "p2": second}).ratings.codes.tolist()
    [[1, 1, -1], [1, 0, -1], [1, -1, 1]]
    """
    if not by_case:
        raise CallError("by_case is empty; give the lesions of at least one case")
    raters = tuple(sorted({r for part in by_case.values() for r in part.ratings.raters}, key=natural_key))
    parts, lesions, owners = [], [], []
    for case, part in by_case.items():
        codes = np.full((len(part), len(raters)), MISSING, np.int16)
        codes[:, [raters.index(r) for r in part.ratings.raters]] = part.ratings.codes
        parts.append(codes)
        lesions += [replace(lesion, case=case) for lesion in part.lesions]
        owners += [(subjects or {}).get(case, case)] * len(part)
    table = np.concatenate(parts)
    names = tuple(f"{lesion.case}: {lesion.name}" for lesion in lesions)
    ratings = Ratings(names, raters, FOUND.names, table, np.full(table.shape, np.nan), subjects=tuple(owners))
    return LesionRatings(ratings, tuple(lesions), sum(part.specks for part in by_case.values()))


# -- connected components --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Components:
    """One row for each component, in array order."""

    sizes: Whole
    centroids: Values
    """(components, axes)."""
    codes: NDArray[np.int16]
    """(components, raters): 1 found, 0 missed, −1 where the rater rated nothing of it."""
    dice: Values
    """Mean over every two raters who found it; nan if there are no two."""
    pieces: Whole
    """(components, raters)."""
    specks: int
    """Number of components that were too small."""


def find_components(
    marked: Flags, rated: Flags | None, connectivity: int, min_size: int = 1, overlap: float | None = None
) -> Components:
    """The components of marks (raters, …); ``rated`` likewise, or None if everybody rated everything."""
    from scipy import ndimage

    # the smallest box around all marks: most images are mostly empty
    nothing = (slice(0, 0),) * (marked.ndim - 1)
    box = next(iter(ndimage.find_objects(marked.any(axis=0).astype(np.uint8))), nothing)
    inside = marked[(slice(None), *box)]
    structure = ndimage.generate_binary_structure(inside.ndim - 1, connectivity)
    parts, count = ndimage.label(inside.any(axis=0), structure)
    where = np.flatnonzero(parts)
    owner = parts.reshape(-1)[where] - 1
    marks = inside.reshape(len(inside), -1)[:, where]
    known = None if rated is None else rated[(slice(None), *box)].reshape(len(inside), -1)[:, where]
    sums = [np.bincount(owner, position, count) for position in np.unravel_index(where, parts.shape)]
    pieces = np.stack([_count_pieces(m, ndimage.label(m, structure)[0], parts, count) for m in inside], axis=1)
    lengths = np.ones(len(where), np.int64)
    return _summarise(owner, lengths, marks, known, sums, [edge.start for edge in box], pieces, min_size, overlap)


def find_components_of_runs(
    masks: Sequence[LabelRuns], connectivity: int, min_size: int = 1, overlap: float | None = None
) -> Components:
    """The same of runs, of which those that were not rated are hidden."""
    shape = masks[0].shape
    starts, stops, values = divide_runs(masks)
    hidden = np.stack([value == HIDDEN if value.dtype != np.bool_ else np.zeros(len(value), bool) for value in values])
    marks = np.stack([value != 0 for value in values]) & ~hidden
    seen = marks.any(axis=0)
    starts, stops, marks, hidden = starts[seen], stops[seen], marks[:, seen], hidden[:, seen]
    union = LabelRuns(shape, starts, stops, np.ones(len(starts), np.bool_)).join()
    numbered = number_runs(union, connectivity)

    def home(place: Whole) -> NDArray[np.intp]:
        return numbered.owner[np.searchsorted(numbered.starts, place, side="right") - 1]

    owner, lengths = home(starts), stops - starts
    corner = [int(place.min()) if len(place) else 0 for place in np.unravel_index(starts, shape)]
    sums = _sum_positions(starts, lengths, shape, corner, owner, numbered.count)
    pieces = np.zeros((numbered.count, len(masks)), np.int64)
    for i, mask in enumerate(masks):
        own = number_runs(mask.marks(), connectivity)
        _, first = np.unique(own.owner, return_index=True)
        pieces[:, i] = np.bincount(home(own.starts[first]), minlength=numbered.count)
    known = ~hidden if hidden.any() else None
    return _summarise(owner, lengths, marks, known, sums, corner, pieces, min_size, overlap)


def _sum_positions(
    starts: Whole, lengths: Whole, shape: tuple[int, ...], corner: Sequence[int], owner: NDArray[Any], count: int
) -> list[NDArray[Any]]:
    """The sum of the positions, counted from a corner, of all pixels of every owner, axis by axis."""
    *lead, column = (place - at for place, at in zip(np.unravel_index(starts, shape), corner, strict=True))
    weights = [place * lengths for place in lead] + [(2 * column + lengths - 1) * lengths // 2]
    return [np.bincount(owner, weight, count) for weight in weights]


def _summarise(
    owner: NDArray[Any], lengths: Whole, marks: Flags, known: Flags | None, sums: Sequence[NDArray[Any]],
    corner: Sequence[int], pieces: Whole, min_size: int, overlap: float | None,
) -> Components:  # fmt: skip
    """Components from runs of pixels: to which each belongs, how long it is, and who marked and rated it."""
    count = len(pieces)
    sizes = np.bincount(owner, lengths, count).astype(np.int64)
    marked = _count_pixels(owner, lengths, marks, count)
    rated = np.repeat(sizes[None], len(marks), axis=0) if known is None else _count_pixels(owner, lengths, known, count)
    found = marked > 0 if overlap is None else divide(marked, rated) >= overlap
    codes = np.where(rated > 0, found, MISSING).astype(np.int16)
    centroids = np.stack(sums, axis=1) / sizes[:, None] + corner
    dice = _mean_dice(owner, lengths, marks, known, marked, codes == 1)
    keep = sizes >= min_size
    return Components(sizes[keep], centroids[keep], codes.T[keep], dice[keep], pieces[keep], int((~keep).sum()))


def _match_components(
    masks: Sequence[Any], shape: tuple[int, ...], matching: Callable[..., LesionMatch], min_size: int
) -> Components:
    """The lesions that raters have in common by a rule; sizes are of what anybody drew of them."""
    match = matching({str(i): mask for i, mask in enumerate(masks)})
    runs, starts, lengths, count = match.marks.runs, match.marks.starts, match.marks.lengths, len(match)
    lesion = np.where(runs >= 0, np.append(match.lesion_of, -1)[runs], -1)
    sizes, sums = np.zeros(count, np.int64), np.zeros((len(shape), count))
    for i, own in enumerate(lesion):
        # pixels of a lesion that no rater before has drawn as part of it
        new = np.flatnonzero((own >= 0) & ~(lesion[:i] == own).any(axis=0))
        sizes += np.bincount(own[new], lengths[new], count).astype(np.int64)
        sums += _sum_positions(starts[new], lengths[new], shape, (0,) * len(shape), own[new], count)
    keep = sizes >= min_size
    dice = np.array([each.dice for each in match.lesions], np.float64)
    pieces = (match.mark_of >= 0).astype(np.int64)
    found = match.found.astype(np.int16)
    centroids = (sums / np.maximum(sizes, 1)).T
    return Components(sizes[keep], centroids[keep], found[keep], dice[keep], pieces[keep], int((~keep).sum()))


def _count_pixels(owner: NDArray[Any], lengths: Whole, flags: Flags, count: int) -> Whole:
    """(raters, components)."""
    return np.stack([np.bincount(owner[row], lengths[row], count) for row in flags]).astype(np.int64)


def _count_pieces(mask: Flags, pieces: NDArray[Any], parts: NDArray[Any], count: int) -> Whole:
    """Number of pieces of one rater in each component."""
    home = np.zeros(pieces.max(initial=0) + 1, np.intp)
    home[pieces[mask]] = parts[mask]
    return np.bincount(home[1:], minlength=count + 1)[1:]


def _mean_dice(
    owner: NDArray[Any], lengths: Whole, marks: Flags, known: Flags | None, marked: Whole, found: Flags
) -> Values:
    """Mean over every two raters who found a component of their Dice within it, over the pixels that both rated."""
    if len(marks) > MANY_RATERS:
        return _mean_dice_of_many(owner, lengths, marks, known, found)
    total, pairs = np.zeros(marked.shape[1]), np.zeros(marked.shape[1], np.int64)
    for i, j in combinations(range(len(marks)), 2):
        both = _count_pixels(owner, lengths, (marks[i] & marks[j])[None], len(total))[0]
        if known is None:
            either = marked[i] + marked[j]
        else:
            each = np.stack([marks[i] & known[j], marks[j] & known[i]])
            either = _count_pixels(owner, lengths, each, len(total)).sum(axis=0)
        met = found[i] & found[j] & (either > 0)
        total[met] += 2 * both[met] / either[met]
        pairs += met
    return divide(total, pairs)


_PIXELS = 8192
"""That a product takes at once."""


def _mean_dice_of_many(owner: NDArray[Any], lengths: Whole, marks: Flags, known: Flags | None, found: Flags) -> Values:
    """The same, all pairs of a component at once."""
    means = np.full(found.shape[1], np.nan)
    order = np.argsort(owner, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(owner, minlength=found.shape[1]))[:-1])
    for component, pixels in enumerate(parts):
        who = np.flatnonzero(found[:, component])
        both, rated = np.zeros((2, len(who), len(who)))
        for start in range(0, len(pixels), _PIXELS):
            chosen = pixels[start : start + _PIXELS]
            at = np.ix_(who, chosen)
            mine = marks[at].astype(np.float64)
            weighted = mine * lengths[chosen]
            both += weighted @ mine.T
            rated += weighted.sum(axis=1)[:, None] if known is None else weighted @ known[at].T.astype(np.float64)
        one, other = np.triu_indices(len(who), 1)
        either = rated[one, other] + rated[other, one]
        dice = divide(2 * both[one, other], either)[either > 0]
        means[component] = dice.mean() if dice.size else np.nan
    return means
