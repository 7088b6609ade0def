"""A vote on lesions, then on their pixels.

The raters vote first on every lesion (:func:`manytruths.match_lesions`): it is kept if at least a share ``threshold``
of those who rated it found it. Then those who found it vote on its pixels: a pixel is marked if at least half of them,
of those who rated the pixel, drew it as part of this lesion. Who missed a lesion has no say in its outline. So a lesion
that three of five raters found keeps its size, where a vote on pixels would shrink it to what all three drew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.counting import tally
from ..core.errors import CallError
from ..core.labels import Labels
from ..core.mask_arrays import Masks, gather_inputs
from ..core.runs import Integers, LabelRuns, distinct, divide_runs, expand, read_runs
from ..core.tally import Tally
from ..core.tiles import LazyArray, is_lazy
from ..core.undefined import divide
from ..lesions.matching import FOUND, NOT_RATED, LesionMatch, match_lesions
from .result import Consensus, binary_labels, first_readings, table_notes, with_mark
from .vote import check_threshold, reaches

HALF = 0.5
"""Share of the finders who must have drawn a pixel."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LesionVote(Consensus):
    """A vote on lesions and their pixels, as maps; see :func:`lesion_vote`.

    Of masks that are read by tile, maps are read by tile, too: they have a shape, a dtype and slices.

    Attributes
    ----------
    method : str
        ``lesions:0.5``.
    raters : tuple of str
        Raters whose decisions were used.
    labels : Labels
        The labels that ``hard`` refers to.
    probability : ndarray
        In lesions that are kept, the share of the finders who drew the pixel; 0 elsewhere. Where it is read by tile,
        of several labels that of the label decided on.
    hard : ndarray
        Whether a pixel is marked; of several labels, the code of its label.
    convergence : str
        ``done``.
    notes : tuple of str
        What to know before using it.
    """

    lesions_kept: int
    """Number of lesions that enough raters found."""
    lesions_dropped: int
    """Number of the others."""

    @property
    def values(self) -> NDArray[np.int64]:
        """``hard`` in the values of the masks."""
        if not is_lazy(self.hard):
            return super().values
        runs: Any = self.hard
        values = np.array(self.labels.values)[runs.values.astype(np.uint8)]
        return LabelRuns(runs.shape, runs.starts, runs.stops, values)  # type: ignore[return-value]

    def of(self, label: int | str) -> NDArray[Any]:
        """The probability of a label as a map; maps that are read by tile know that of two labels alone."""
        if is_lazy(self.hard) and len(self.labels) > 2:
            raise CallError("of masks that are read by tile, several labels have the probability of what was decided")
        return super().of(label)


def lesion_vote(
    masks: Masks,
    threshold: float | str = 0.5,
    *,
    lesion_rule: str = "iou",
    lesion_threshold: float | None = None,
    instances: bool = False,
    raters: Sequence[str] | str | None = None,
    labels: Labels | Mapping[int, str] | Iterable[int] | None = None,
    region: str | ArrayLike | LazyArray = "whole",
    spacing: Sequence[float] | None = None,
    void: int | None = None,
    foreground: str | None = None,
) -> LesionVote:
    """Keep the lesions that enough raters found, and draw each as those who found it voted.

    Parameters
    ----------
    masks : mapping or sequence of array_like
        The raters' masks, as in :func:`manytruths.tally`, of any number of dimensions. Each label has its own lesions;
        a pixel of two labels gets the one with the larger share, and of equal ones the first.
    threshold : float or {"any", "all"}
        Share of the raters who rated a lesion that must have found it, above 0 and up to 1; or any, or all of them. A
        tie is kept.
    lesion_rule : {"iou", "overlap", "distance"}
        When two raters' lesions are the same, as in :func:`manytruths.match_lesions`.
    lesion_threshold : float, optional
        The threshold of this rule.
    instances : bool
        Whether masks are instance maps: all pixels of one value are one lesion.
    raters : sequence of str or "exchangeable", optional
        Names of the raters, as in :func:`manytruths.tally`.
    labels : Labels, mapping of int to str or iterable of int, optional
        All labels, as in :func:`manytruths.tally`; by default those that occur.
    region : str or array
        As in :func:`manytruths.tally`; marks outside a mask of pixels are ignored.
    spacing : sequence of float, optional
        The size of a pixel along each axis, for the rule ``distance``.
    void : int, optional
        Value of pixels that were not rated.
    foreground : {"any"}, optional
        With ``"any"``, all labels but background count as one.

    Returns
    -------
    LesionVote
        Maps of the size of the masks.

    Examples
    --------
    >>> import manytruths as mt
    >>> masks = {"A": [[1, 1, 1, 0, 1, 1]], "B": [[0, 1, 1, 0, 0, 0]], "C": [[1, 1, 0, 0, 0, 0]]}
    >>> result = mt.lesion_vote(masks)
    >>> result
    <LesionVote: lesions:0.5, 3 raters, 1×6 map>
    >>> result.hard.astype(int), result.lesions_kept, result.lesions_dropped
    (array([[1, 1, 1, 0, 0, 0]]), 1, 1)
    """
    check_threshold(threshold)
    foreground = "any" if instances else foreground
    options: dict[str, Any] = {"raters": raters, "labels": labels, "void": void, "foreground": foreground}
    table = first_readings(with_mark(tally(masks, **options, region=region)))
    if table.labels.background is None:
        raise CallError("lesions lie on a background; a vote on them needs masks in which one label is background")
    inputs = gather_inputs(masks, raters, None, None, lazy=True)
    arrays = {c: a for c, a in zip(inputs.columns, inputs.arrays, strict=True) if c in table.columns}
    inside = None if isinstance(region, str) else region
    several, shares, counts = table.labels.several, [], np.zeros(2, int)
    for mark in table.labels.marks:
        value = table.labels.values[mark] if several else None
        own = {c: None if a is None else _mask(a, value, void, instances) for c, a in arrays.items()}
        match = match_lesions(own, lesion_rule, lesion_threshold, spacing=spacing, instances=instances, region=inside)
        kept = _keep(match, threshold)
        counts += kept.sum(), (~kept).sum()
        shares.append(_find_shares(match, kept))
    probability, hard = _decide(shares, table, in_memory=not any(is_lazy(array) for array in arrays.values()))
    return LesionVote(
        method=f"lesions:{threshold}", raters=table.rater_names,
        labels=table.labels if several else binary_labels(table),
        probability=probability, hard=hard, notes=tuple(table_notes(table)),
        lesions_kept=int(counts[0]), lesions_dropped=int(counts[1]),
    )  # fmt: skip


def _mask(array: Any, value: int | None, void: int | None, instances: bool) -> Any:
    """One label of a mask, or all of them; masked where it was not rated. Of a mask that is read by tile, the runs."""
    if is_lazy(array):
        runs = read_runs(array)
        return runs.hide(void) if instances else runs.binary(value, void)
    data = np.ma.getdata(array)
    marked = data if instances else data != 0 if value is None else data == value
    hidden = np.ma.getmaskarray(array) if np.ma.isMaskedArray(array) else np.zeros((), bool)
    if void is not None:
        hidden = hidden | (data == void)
    return np.ma.array(marked, mask=hidden) if hidden.any() else marked


def _keep(match: LesionMatch, threshold: float | str) -> NDArray[np.bool_]:
    """Which lesions enough of those who rated them found."""
    finders, rated = (match.found == FOUND).sum(axis=1), (match.found != NOT_RATED).sum(axis=1)
    return reaches(divide(finders, rated), threshold)


def _find_shares(match: LesionMatch, kept: NDArray[np.bool_]) -> LabelRuns:
    """The share of the finders of a lesion who drew each of its pixels; of two lesions at a pixel, the larger one."""
    marks = match.marks
    starts, stops, pieces = _cut_at_unrated(match)
    drawn = [np.empty(0, np.int64)]
    for row in marks.runs[:, pieces]:
        here = np.flatnonzero(row >= 0)
        lesion = match.lesion_of[row[here]]
        drawn.append((lesion * len(starts) + here)[kept[lesion]])
    places, votes = np.unique(np.concatenate(drawn), return_counts=True)
    lesion, piece = np.divmod(places, max(len(starts), 1))
    voters = (match.found == FOUND).sum(axis=1)[lesion]
    for rater, hidden in marks.hidden.items():
        run = np.searchsorted(hidden.starts, starts[piece], side="right") - 1
        unrated = (run >= 0) & (starts[piece] < hidden.stops[run])
        voters = voters - (unrated & (match.found[lesion, rater] == FOUND))
    share = np.zeros(len(starts))
    np.maximum.at(share, piece, votes / voters)
    return LabelRuns(marks.shape, starts, stops, share).select(share > 0).join()


def _cut_at_unrated(match: LesionMatch) -> tuple[Integers, Integers, Integers]:
    """The runs of all marks, cut where pixels that were not rated begin and end, and which run each piece is of."""
    marks = match.marks
    starts, stops = marks.starts, marks.starts + marks.lengths
    ends = [edge for hidden in marks.hidden.values() for edge in (hidden.starts, hidden.stops)]
    if not ends:
        return starts, stops, np.arange(len(starts))
    edges = distinct(starts, *ends)
    first, last = np.searchsorted(edges, starts, side="right"), np.searchsorted(edges, stops)
    cuts = edges[expand(first, last - first)]
    begin = np.sort(np.concatenate([starts, cuts]))
    run = np.searchsorted(starts, begin, side="right") - 1
    end = np.minimum(np.append(begin[1:], np.iinfo(np.int64).max), stops[run])
    return begin, end, run


def _decide(shares: Sequence[LabelRuns], table: Tally, *, in_memory: bool) -> tuple[Any, Any]:
    """Probability and decision from the share of each label but background."""
    several, shape = table.labels.several, shares[0].shape
    starts, stops, values = divide_runs(shares)
    share = np.stack(values, axis=-1)
    marked = reaches(share.max(axis=-1), HALF)
    if not several:
        chance, hard = shares[0], LabelRuns(shape, starts, stops, marked).select(marked).join()
        return (chance[...], hard[...]) if in_memory else (chance, hard)
    marks, ground = np.array(table.labels.marks), table.labels.background
    probability = np.zeros((len(starts), len(table.labels)))
    probability[:, marks] = share / np.maximum(share.sum(axis=-1, keepdims=True), 1)
    probability[:, ground] = 1 - probability.sum(axis=-1)
    codes = np.full(len(starts), ground, np.uint8)
    codes[marked] = marks[share.argmax(axis=-1)[marked]]
    hard = LabelRuns(shape, starts, stops, codes)
    if not in_memory:
        chance = LabelRuns(shape, starts, stops, probability.max(axis=-1))
        return chance.join(chance.complement(1.0)), hard.select(codes != 0).join()
    whole = np.zeros((*shape, len(table.labels)))
    whole[..., ground] = 1
    pixels = expand(starts, stops - starts)
    whole.reshape(-1, len(table.labels))[pixels] = np.repeat(probability, stops - starts, axis=0)
    return whole, hard[...]
