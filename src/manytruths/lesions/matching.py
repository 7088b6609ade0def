"""The lesions of one image that raters have in common: who found which, and how alike they drew it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, few
from ..core.mask_arrays import Masks
from ..core.tiles import LazyArray
from ..core.undefined import Undefined, ratio
from .marks import MOST, Flags, Marks, Values, Whole, find_marks
from .rules import Candidates, Indices, Rule, find_candidates, match_pair, merge_marks, number_lesions, partitions

if TYPE_CHECKING:
    import pandas as pd

FOUND, MISSED, NOT_RATED = 1, 0, -1
"""Codes of a rater's answer about a lesion."""


@dataclass(frozen=True)
class Lesion:
    """One lesion of an image, as the raters who found it drew it.

    Attributes
    ----------
    number : int
        Number of the lesion in its image, from 1, in the order of the first of its pixels.
    found_by, missed_by, not_rated_by : tuple of str
        Raters. Who did not read the image, or rated no pixel of the lesion, has not rated it.
    sizes : tuple of int
        Number of pixels that each of ``found_by`` drew.
    extent : float
        Mean of these sizes in the units of the spacing (mm², mm³); in pixels where the spacing is unknown.
    centroid : tuple of float
        Mean position of all pixels that they drew, in pixels.
    dice, iou : float
        Mean over every two raters who found it.
    split_by, merged_by : tuple of str
        Raters who drew two or more lesions of which more than half lies in what a rater drew as this one; and raters
        who drew this and another one as one.
    cut : bool
        Whether it touches the border of the image, so that its size is a lower limit.
    """

    number: int
    found_by: tuple[str, ...]
    missed_by: tuple[str, ...]
    not_rated_by: tuple[str, ...]
    sizes: tuple[int, ...]
    extent: float
    centroid: tuple[float, ...]
    dice: float
    iou: float
    split_by: tuple[str, ...] = ()
    merged_by: tuple[str, ...] = ()
    cut: bool = False


@dataclass(frozen=True)
class LesionPair:
    """Two raters' lesions of one image, matched one to one.

    Attributes
    ----------
    rater_a, rater_b : str
        The raters.
    matching : str
        ``greedy`` or ``bipartite``.
    count_a, count_b, matched : int
        Number of lesions of each, and of matched pairs.
    rq : float
        Recognition quality, 2 × matched / (count_a + count_b): the F1 score, and the positive agreement of detection.
    sq : float
        Segmentation quality: mean IoU of matched pairs.
    pq : float
        Panoptic quality, SQ × RQ; 0 where nothing is matched.
    dice : float
        Mean Dice coefficient of matched pairs.
    """

    rater_a: str
    rater_b: str
    matching: str
    count_a: int
    count_b: int
    matched: int
    rq: float
    sq: float
    pq: float
    dice: float

    @property
    def f1(self) -> float:
        """The F1 score of detection, which is RQ."""
        return self.rq

    @property
    def sensitivity(self) -> float:
        """Share of the first rater's lesions that the second one found: they are the reference."""
        return ratio(self.matched, self.count_a, "no_lesion")

    @property
    def precision(self) -> float:
        """Share of the second rater's lesions that are among the first one's."""
        return ratio(self.matched, self.count_b, "no_lesion")


@dataclass(frozen=True)
class RaterDetection:
    """One rater against the others, over the lesions of one or several images.

    Attributes
    ----------
    rater : str
        The rater.
    marks : int
        Number of lesions that the rater found, where another rater could have.
    expected : int
        Number of lesions that at least half of the others found who rated them, and the rater rated, too.
    hits : int
        Number of these that the rater found.
    false_marks : int
        Number of the rater's lesions that fewer than half of the others found.
    alone : int
        Number of these that none of the others found.
    """

    rater: str
    marks: int
    expected: int
    hits: int
    false_marks: int
    alone: int

    @property
    def sensitivity(self) -> float:
        """Share that the rater found of the lesions that at least half of the others found."""
        return ratio(self.hits, self.expected, "no_lesion")


@dataclass(frozen=True, eq=False, repr=False)
class LesionMatch:
    """The lesions of one image and who found each, made by :func:`match_lesions`.

    Attributes
    ----------
    marks : Marks
        What each rater drew.
    rule : Rule
        When two of them are the same lesion.
    lesion_of : ndarray of int
        The lesion of each mark, from 0.
    """

    marks: Marks
    rule: Rule
    lesion_of: Indices

    def __repr__(self) -> str:
        return f"<LesionMatch: {len(self)} lesions by {len(self.raters)} raters, {self.rule}>"

    def __len__(self) -> int:
        return int(self.lesion_of.max(initial=-1)) + 1

    @property
    def raters(self) -> tuple[str, ...]:
        """All raters, in the order of the masks."""
        return self.marks.raters

    @cached_property
    def mark_of(self) -> Indices:
        """(lesions, raters) the mark by which a rater found a lesion; −1 for none."""
        table = np.full((len(self), len(self.raters)), -1, np.intp)
        table[self.lesion_of, self.marks.owner] = np.arange(len(self.marks))
        return table

    @cached_property
    def found(self) -> NDArray[np.int8]:
        """(lesions, raters) 1 where a rater found a lesion, 0 where they missed it, −1 where they did not rate it."""
        codes = np.where(self.mark_of >= 0, FOUND, MISSED).astype(np.int8)
        codes[:, self.marks.absent] = NOT_RATED
        if self.marks.hidden:
            codes[(codes == MISSED) & ~self._rated] = NOT_RATED
        return codes

    @cached_property
    def _rated(self) -> Flags:
        """(lesions, raters) whether a rater rated any pixel that somebody drew of a lesion."""
        marks, rated = self.marks, np.zeros((len(self), len(self.raters)), bool)
        seen = [marks.rated_runs(rater) for rater in range(len(self.raters))]
        for row in marks.runs:
            here = np.flatnonzero(row >= 0)
            lesion = self.lesion_of[row[here]]
            for rater, known in enumerate(seen):
                rated[lesion[known[here]], rater] = True
        return rated

    @cached_property
    def lesions(self) -> tuple[Lesion, ...]:
        """The lesions, in the order of the first of their pixels."""
        return tuple(self._list())

    def count_by_finders(self) -> Whole:
        """Number of lesions that exactly 0, 1, …, all raters found."""
        return np.bincount((self.found == FOUND).sum(axis=1), minlength=len(self.raters) + 1)

    @property
    def positive_agreement(self) -> float:
        """Positive agreement of detection: given that a rater found a lesion, the share of the others who did, too.

        Kappa is not defined: it needs places that nobody marked.
        """
        return positive_agreement(self.found)

    @property
    def dice(self) -> float:
        """Mean over the lesions that two or more raters found of the mean Dice coefficient of every two of them."""
        known = self._means[0][~np.isnan(self._means[0])]
        return float(known.mean()) if known.size else Undefined("no_lesion_found_twice")

    def detection(self, rater: str) -> RaterDetection:
        """One rater against the others.

        Parameters
        ----------
        rater : str
            The rater.

        Returns
        -------
        RaterDetection
            Hits, misses and false marks against what at least half of the others found.
        """
        return rater_detection(self.found, self.raters, self._index(rater))

    def pair(self, rater_a: str, rater_b: str, matching: str = "greedy") -> LesionPair:
        """Two raters' lesions, matched one to one whatever the other raters drew.

        Parameters
        ----------
        rater_a, rater_b : str
            The raters.
        matching : {"greedy", "bipartite"}
            By falling IoU, or so that the sum of IoU is largest. They can differ for thresholds up to ½.

        Returns
        -------
        LesionPair
            Counts, PQ, SQ and RQ.
        """
        a, b = self._index(rater_a), self._index(rater_b)
        if a == b:
            raise CallError(f"a pair is of two raters; got {rater_a!r} twice")
        return self._pair(a, b, matching)

    def matched_marks(self, rater_a: str, rater_b: str, matching: str = "greedy") -> frozenset[int]:
        """Numbers of the marks of both raters that :meth:`pair` matches.

        Parameters
        ----------
        rater_a, rater_b : str
            The raters.
        matching : {"greedy", "bipartite"}
            As in :meth:`pair`.

        Returns
        -------
        frozenset of int
            Positions in ``marks``.
        """
        a, b = sorted((self._index(rater_a), self._index(rater_b)))
        candidates = self._candidates_by_pair.get((a, b))
        if candidates is None:
            return frozenset()
        chosen = match_pair(candidates, matching, self.rule)
        return frozenset([*candidates.first[chosen].tolist(), *candidates.second[chosen].tolist()])

    def pairs(self, matching: str = "greedy") -> tuple[LesionPair, ...]:
        """All pairs of raters who read the image; see :meth:`pair`.

        Parameters
        ----------
        matching : {"greedy", "bipartite"}
            As in :meth:`pair`.

        Returns
        -------
        tuple of LesionPair
            In the order of the raters.
        """
        present = np.flatnonzero(~self.marks.absent).tolist()
        return tuple(self._pair(a, b, matching) for a, b in combinations(present, 2))

    def over(self, thresholds: Sequence[float] | None = None) -> dict[float, LesionMatch]:
        """The same marks, matched under other thresholds.

        Parameters
        ----------
        thresholds : sequence of float, optional
            By default 0.1, 0.2, …, 0.9; of distances, ten from a fifth of the threshold to twice of it.

        Returns
        -------
        dict of float to LesionMatch
            By threshold.
        """
        chosen = self.rule.series if thresholds is None else tuple(thresholds)
        rules = {threshold: Rule.of(self.rule.name, threshold) for threshold in chosen}
        if not rules:
            return {}
        found = partitions(self.marks, self.rule, chosen)
        return {t: LesionMatch(self.marks, rules[t], lesion_of) for t, lesion_of in found}

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame (extra ``tables``) with one row for each lesion.

        Returns
        -------
        pandas.DataFrame
            The fields of :class:`Lesion`.
        """
        import pandas

        names = list(Lesion.__dataclass_fields__)
        return pandas.DataFrame({name: [getattr(lesion, name) for lesion in self.lesions] for name in names})

    @property
    def signature(self) -> tuple[bytes, int]:
        """The same for two thresholds under which the same marks are matched in the same way."""
        return self.lesion_of.tobytes(), len(self._candidates.first)

    # -- how it is computed --------------------------------------------------------------------

    def _index(self, rater: str) -> int:
        if rater not in self.raters:
            raise CallError(f"there is no rater {rater!r}; raters are {few(self.raters)}")
        return self.raters.index(rater)

    @cached_property
    def _candidates(self) -> Candidates:
        return find_candidates(self.marks, self.rule)

    @cached_property
    def _candidates_by_pair(self) -> dict[tuple[int, int], Candidates]:
        """Those of every two raters that have any."""
        c, marks, count = self._candidates, self.marks, len(self.raters)
        pair = marks.owner[c.first] * count + marks.owner[c.second]
        order = np.argsort(pair, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(pair[order])) + 1) if len(order) else []
        return {
            divmod(int(pair[part[0]]), count): Candidates(c.first[part], c.second[part], c.iou[part], c.distance[part])
            for part in parts
        }

    def _pair(self, a: int, b: int, matching: str) -> LesionPair:
        nothing = Candidates(*(np.empty(0, np.intp),) * 2, *(np.empty(0),) * 2)
        candidates = self._candidates_by_pair.get((min(a, b), max(a, b)), nothing)
        chosen = match_pair(candidates, matching, self.rule)
        counts, matched = self.marks.counts, len(chosen)
        total = int(counts[a] + counts[b])
        iou = candidates.iou[chosen]
        dice = 2 * iou / (1 + iou)
        rq = ratio(2 * matched, total, "both_empty")
        nothing_matched = Undefined("no_lesion_matched" if total else "both_empty")
        sq = float(iou.mean()) if matched else nothing_matched
        return LesionPair(
            self.raters[a], self.raters[b], matching, int(counts[a]), int(counts[b]), matched, rq, sq,
            sq * rq if matched else rq, float(dice.mean()) if matched else nothing_matched,
        )  # fmt: skip

    @cached_property
    def _means(self) -> tuple[Values, Values]:
        """Mean Dice and IoU of every two raters who found a lesion; marks without a common pixel have 0."""
        o, count = self.marks.overlaps, len(self)
        same = np.flatnonzero(self.lesion_of[o.first] == self.lesion_of[o.second])
        lesion = self.lesion_of[o.first[same]]
        finders = (self.mark_of >= 0).sum(axis=1)
        pairs = finders * (finders - 1) / 2
        sums = (np.bincount(lesion, each[same], count) for each in (self.marks.dice, self.marks.iou))
        dice, iou = (np.divide(s, pairs, out=np.full(count, np.nan), where=pairs > 0) for s in sums)
        return dice, iou

    @cached_property
    def _split(self) -> tuple[Flags, Flags]:
        """(lesions, raters) who split a lesion, and who merged it with another.

        A mark is part of another rater's if more than half of it lies there, which can be true of one of their marks
        only. Two or more parts of one rater in one mark: the one split it, the other merged them.
        """
        marks, o = self.marks, self.marks.overlaps
        part = np.concatenate([o.first, o.second])
        whole = np.concatenate([o.second, o.first])
        inside = 2 * np.concatenate([o.shared, o.shared]) > marks.size[part]
        part, whole = part[inside], whole[inside]
        key = whole * len(self.raters) + marks.owner[part]
        _, where, parts = np.unique(key, return_inverse=True, return_counts=True)
        several = parts[where] > 1
        split_by, merged_by = np.zeros((2, len(self), len(self.raters)), bool)
        split_by[self.lesion_of[whole[several]], marks.owner[part[several]]] = True
        merged_by[self.lesion_of[part[several]], marks.owner[whole[several]]] = True
        return split_by, merged_by

    def _list(self) -> Iterator[Lesion]:
        marks, names = self.marks, np.array(self.raters, object)
        pixel = 1.0 if marks.spacing is None else float(np.prod(marks.spacing))
        dice, iou = self._means
        split_by, merged_by = self._split
        for k, (codes, drawn) in enumerate(zip(self.found, self.mark_of, strict=True)):
            own = drawn[drawn >= 0]
            sizes, lonely = marks.size[own], len(own) < 2
            by = {code: tuple(names[codes == code]) for code in (FOUND, MISSED, NOT_RATED)}
            yield Lesion(
                k + 1, by[FOUND], by[MISSED], by[NOT_RATED], tuple(sizes.tolist()), float(sizes.mean() * pixel),
                tuple((sizes @ marks.centre[own] / sizes.sum()).tolist()),
                Undefined("fewer_than_two_finders") if lonely else float(dice[k]),
                Undefined("fewer_than_two_finders") if lonely else float(iou[k]),
                tuple(names[split_by[k]]), tuple(names[merged_by[k]]), bool(marks.cut[own].any()),
            )  # fmt: skip


def positive_agreement(found: NDArray[Any]) -> float:
    """Of a table of codes (lesions, raters): over all finders of all lesions, the share of the others who found it."""
    finders, rated = (found == FOUND).sum(axis=1), (found != NOT_RATED).sum(axis=1)
    chances = int((finders * (rated - 1)).sum())
    if not len(found):
        return Undefined("no_lesion")
    return ratio(int((finders * (finders - 1)).sum()), chances, "fewer_than_two_raters")


def rater_detection(found: NDArray[Any], raters: Sequence[str], rater: int) -> RaterDetection:
    """One rater against the others, of a table of codes (lesions, raters)."""
    own = found[:, rater]
    others = np.delete(found, rater, axis=1)
    finders, rated = (others == FOUND).sum(axis=1), (others != NOT_RATED).sum(axis=1)
    judged = (own != NOT_RATED) & (rated > 0)
    expected = judged & (2 * finders >= rated)
    drawn = judged & (own == FOUND)
    counts = (drawn, expected, expected & drawn, drawn & ~expected, drawn & (finders == 0))
    return RaterDetection(raters[rater], *(int(each.sum()) for each in counts))


def match_lesions(
    masks: Masks,
    rule: str = "iou",
    threshold: float | None = None,
    *,
    spacing: Sequence[float] | None = None,
    connectivity: int | None = None,
    instances: bool = False,
    region: ArrayLike | LazyArray | None = None,
    void: int | None = None,
    most: int = MOST,
) -> LesionMatch:
    """Find the lesions that several raters drew in one image, of all raters at once.

    The lesions of a rater are the connected components of their mask. Two raters' lesions are the same where the rule
    says so. For more than two raters, clusters of lesions are merged by falling mean IoU over their pairs (average
    linkage), never two lesions of one rater in one, while the mean of the rule's measure keeps the threshold. Ties are
    settled by geometry, so that the order of the raters does not matter. For two raters this is greedy matching by IoU.

    Parameters
    ----------
    masks : mapping or sequence of array_like
        The raters' masks of one label, in any number of dimensions: ``{rater: mask}``. None where a rater did not read
        the image; masked pixels were not rated. Arrays on disk, such as Zarr arrays, are read tile by tile.
    rule : {"iou", "overlap", "distance"}
        The lesions of two raters are the same if their intersection over union is at least ``threshold``; if the share
        of the smaller one that both hold is; or if their centres are at most ``threshold`` apart.
    threshold : float, optional
        Above 0 and at most 1, by default 0.5. For ``distance`` in the units of the spacing (pixels without it), and it
        has to be given.
    spacing : sequence of float, optional
        Size of a pixel along each axis, in mm.
    connectivity : int, optional
        Which pixels are neighbours: 1 those that share a face, 2 an edge too (in 2D: diagonally), 3 a corner too. By
        default the number of axes.
    instances : bool
        Whether masks are instance maps: all pixels of one value are one lesion, connected or not.
    region : array_like, optional
        Mask of the pixels that count; marks elsewhere are ignored.
    void : int, optional
        Value of pixels that were not rated.
    most : int
        Largest number of lesions of all raters together.

    Returns
    -------
    LesionMatch
        The lesions, who found them, and PQ, SQ and RQ of every two raters.

    Raises
    ------
    InputError
        Where the raters drew more than ``most`` lesions, or a mask that is no instance map holds several values.

    References
    ----------
    * Kirillov A, He K, Girshick R, Rother C, Dollár P. Panoptic segmentation. CVPR 2019:9396–9405.
      doi:10.1109/CVPR.2019.00963

    Examples
    --------
    >>> import manytruths as mt
    >>> found = mt.match_lesions({
    ...     "A": [[1, 1, 1, 0, 0, 1, 1, 1, 1, 1]],
    ...     "B": [[1, 1, 0, 0, 0, 1, 1, 0, 1, 1]],
    ...     "C": [[0, 1, 1, 0, 0, 0, 0, 0, 0, 0]],
    ... })
    >>> found
    <LesionMatch: 4 lesions by 3 raters, iou ≥ 0.5>
    >>> [(lesion.found_by, lesion.sizes) for lesion in found.lesions]
    [(('A', 'B', 'C'), (3, 2, 2)), (('B',), (2,)), (('A',), (5,)), (('B',), (2,))]
    >>> found.lesions[1].merged_by, found.lesions[2].split_by
    (('A',), ('B',))
    >>> pair = found.pair("A", "C")
    >>> round(pair.rq, 3), round(pair.sq, 3), round(pair.pq, 3)
    (0.667, 0.667, 0.444)
    """
    if not isinstance(rule, str):
        raise CallError(
            f"rule must be a name such as 'iou'; got {type(rule).__name__}; masks come as one mapping, {{rater: mask}}"
        )
    chosen = Rule.of(rule, threshold)
    marks = find_marks(
        masks, spacing=spacing, connectivity=connectivity, instances=instances, region=region, void=void, most=most
    )
    return LesionMatch(marks, chosen, number_lesions(marks, merge_marks(marks, chosen)))
