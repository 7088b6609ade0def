"""Samples of a model against the raters' masks: energy distance, matched IoU, D_max and diversity.

A model that draws samples should draw what the raters drew, as often as they did. With the distance d = 1 − IoU of two
masks, 0 where both are empty, X and X′ two draws of the model and Y and Y′ two raters, the **energy distance** is ::

    2 E d(X, Y) − E d(X, X′) − E d(Y, Y′)

It is the squared distance that is called generalised energy distance (GED, D²_GED) in the literature on segmentation.
Three estimates of it are told apart, by what the draws stand for:

- **V-form** (``energy_distance``): E d(X, X′) and E d(Y, Y′) over all pairs, each mask with itself included. It is the
  distance between the samples and the raters as they are: never negative, and 0 only if both hold the same masks in
  the same proportions, since the IoU is a strictly positive definite kernel (Bouchard et al. 2013). It falls with more
  samples of one model, so that only equal numbers compare.
- **U-form in the samples** (``energy_distance_unbiased_samples``): pairs of different samples. Its mean over draws of
  the samples is the distance between the model and these raters, whatever their number.
- **U-form in both** (``energy_distance_unbiased``): pairs of different raters, too. Its mean over draws of samples and
  raters is the distance between the model and the population of raters. It may be negative.

With several labels, d is the mean over the labels of each label's d. The V-form is then 0 where samples and raters
hold, label by label, the same masks in the same proportions: which masks of two labels occur together does not matter.
Where masks leave out different pixels, each two are compared on the pixels that both rated, and the V-form may be
negative.

References
----------
Székely GJ, Rizzo ML. Energy statistics: a class of statistics based on distances. J Stat Plan Inference
2013;143:1249–1272. doi:10.1016/j.jspi.2013.03.018. Bellemare MG et al. The Cramer distance as a solution to biased
Wasserstein gradients. 2017. doi:10.48550/arXiv.1705.10743. Kohl SAA et al. A probabilistic U-Net for segmentation of
ambiguous images. NeurIPS 2018. doi:10.48550/arXiv.1806.05034. Bouchard M, Jousselme AL, Doré PE. A proof for the
positive definiteness of the Jaccard index matrix. Int J Approx Reason 2013;54:615–626.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...core.columns import Column
from ...core.errors import CallError, GridError
from ...core.labels import VOID, Labels
from ...core.mask_arrays import Coder, Masks, fill_masked, flat_blocks, format_shape, gather_inputs
from ...core.tally import Tally, cross_tabulate
from ...core.undefined import Undefined, divide

Values = NDArray[np.float64]
Counts = NDArray[np.int64]
Words = NDArray[np.uint64]
Unbiased = bool | Literal["samples", "both"]
Given = Masks | Sequence[str | Column] | None

ENERGY_FORMS: dict[Unbiased, str] = {
    False: "energy_distance",
    "samples": "energy_distance_unbiased_samples",
    "both": "energy_distance_unbiased",
    True: "energy_distance_unbiased",
}
"""The name of each form of the energy distance, by the argument ``unbiased``."""

FEW_SAMPLES, FEW_RATERS = "fewer_than_two_samples", "fewer_than_two_raters"
NOT_SHARED = "no_item_rated_by_both"
ROUNDING = 1e-12
LARGEST_ASSIGNMENT = 2000
"""Rows of an assignment of repeated masks; beyond, a linear programme of the masks themselves has the same optimum."""


@dataclass(frozen=True, eq=False)
class SampleDistances:
    """IoU of every sample and rater with every other, from which all statistics of samples are computed."""

    samples: tuple[str, ...]
    """Names of the samples."""
    raters: tuple[str, ...]
    """Names of the raters."""
    labels: tuple[str, ...]
    """Names of the labels."""
    iou: Values
    """(labels, samples + raters, samples + raters): 1 where both are empty, NaN where no item was rated by both."""

    def __repr__(self) -> str:
        return f"<SampleDistances of {len(self.samples)} samples and {len(self.raters)} raters>"

    def similarity(self, label: str | int | None = None) -> Values:
        """IoU of every two masks, in the mean over labels or of one label."""
        if label is None:
            return np.asarray(self.iou.mean(axis=0))
        if str(label) not in self.labels:
            raise CallError(f"no label {label!r}; there are {', '.join(self.labels)}")
        return np.asarray(self.iou[self.labels.index(str(label))])

    def cross(self, label: str | int | None = None) -> Values:
        """(samples, raters) IoU."""
        return self.similarity(label)[: len(self.samples), len(self.samples) :]

    def among_samples(self, label: str | int | None = None) -> Values:
        """(samples, samples) IoU."""
        return self.similarity(label)[: len(self.samples), : len(self.samples)]

    def among_raters(self, label: str | int | None = None) -> Values:
        """(raters, raters) IoU."""
        return self.similarity(label)[len(self.samples) :, len(self.samples) :]

    def select(self, samples: Iterable[str] | None = None, raters: Iterable[str] | None = None) -> SampleDistances:
        """The same of some samples and raters alone; a rater may be named as a sample, and is then judged like one.

        Parameters
        ----------
        samples, raters : iterable of str, optional
            Names; by default all.

        Returns
        -------
        SampleDistances
            Of these.
        """
        chosen = [tuple(self.samples if samples is None else samples), tuple(self.raters if raters is None else raters)]
        if not chosen[0] or not chosen[1]:
            raise CallError("there must be at least one sample and one rater")
        where = [self._place(name, side) for side, names in enumerate(chosen) for name in names]
        return replace(self, samples=chosen[0], raters=chosen[1], iou=self.iou[:, where][:, :, where])

    def _place(self, name: str, side: int) -> int:
        """Where a mask is; of a sample and a rater of one name, the one that is looked for first."""
        own = ((self.samples, 0), (self.raters, len(self.samples)))
        for names, start in own if side == 0 else own[::-1]:
            if name in names:
                return start + names.index(name)
        raise CallError(f"no {'rater' if side else 'sample'} {name!r}; there are {', '.join(own[side][0])}")


def sample_distances(
    samples: Given,
    masks: Masks | Tally,
    *,
    labels: Labels | Mapping[int, str] | Iterable[int] | None = None,
    void: int | None = None,
    foreground: str | None = None,
) -> SampleDistances:
    """Compare every sample and rater with every other, once for all statistics of samples.

    Parameters
    ----------
    samples : (S, …) array, sequence or dict of masks, or sequence of str or Column
        Masks that a model drew; with a :class:`Tally` the names of its columns that are samples, by default all
        algorithms.
    masks : (R, …) array, sequence or dict of masks, or Tally
        The raters' masks. Raters without a mask (None) are left out.
    labels : Labels, dict or iterable of int, optional
        As for :func:`tally`; by default those that occur in samples or masks.
    void : int, optional
        The value that means "not rated". Two masks are compared where both are rated.
    foreground : {"any"}, optional
        Unite all labels but 0.

    Returns
    -------
    SampleDistances
        Which :func:`energy_distance`, :func:`matched_iou`, :func:`d_max` and :func:`sample_diversity` take.

    Examples
    --------
    >>> samples, masks = [[1, 1, 0, 0], [1, 0, 0, 0]], [[1, 1, 0, 0], [1, 1, 1, 0]]
    >>> sample_distances(samples, masks).cross().round(2)
    array([[1.  , 0.67],
           [0.5 , 0.33]])
    """
    if isinstance(masks, Tally):
        return _of_tally(samples, masks)
    drawn, rated = _gather(samples, "sample"), _gather(masks, "rater")
    arrays = [*drawn.values(), *rated.values()]
    names = [*(f"sample {name}" for name in drawn), *rated]
    for name, array in zip(names, arrays, strict=True):
        if array.shape != arrays[0].shape:
            got, wanted = format_shape(array.shape), format_shape(arrays[0].shape)
            raise GridError(f"the mask of {name} is {got} but that of {names[0]} is {wanted}")
    declared = None if labels is None else Labels.of(labels)
    coder = Coder(names, declared, void, foreground == "any")
    ground = declared is None or declared.zero_is_background
    counts = _Intersections(len(arrays))
    for block in flat_blocks([fill_masked(array) for array in arrays]):
        codes = coder.encode(block)
        counts.add(codes, coder.codes.get(0, VOID) if ground else VOID)
    found = coder.labels()
    marks = [(found.names[code], coder.codes.get(found.values[code], VOID)) for code in found.marks] or [("any", VOID)]
    iou = np.stack([counts.iou(code) for _, code in marks])
    return SampleDistances(tuple(drawn), tuple(rated), tuple(name for name, _ in marks), iou)


def _of_tally(samples: Given, tally: Tally) -> SampleDistances:
    where = find_samples(samples, tally)
    rated = [i for i in tally.raters if i not in where and (tally.patterns[:, i] != VOID).any()]
    if not where or not rated:
        raise CallError(
            "there must be at least one sample and one rater; give the samples as predictions={'name': mask}"
        )
    tables = cross_tabulate(tally.patterns, tally.counts, [*where, *rated], len(tally.labels))
    inside = tables.sum(axis=3)
    rated_by_both = tables.sum(axis=(2, 3))
    iou = [_iou(tables[..., m, m], inside[..., m], rated_by_both) for m in tally.labels.marks]
    names = tuple(tally.labels.names[m] for m in tally.labels.marks) or ("any",)
    if not iou:
        nothing = np.zeros_like(rated_by_both)
        iou = [_iou(nothing, nothing, rated_by_both)]
    given = tuple(str(tally.columns[i]) for i in where), tuple(tally.columns[i].name for i in rated)
    return SampleDistances(*given, names, np.stack(iou))


def find_samples(samples: Any, tally: Tally) -> list[int]:
    """The columns of a tally that are samples; by default all algorithms."""
    chosen = tally.role("algorithm") if samples is None else samples
    if not isinstance(chosen, list | tuple) or not all(isinstance(c, str | Column) for c in chosen):
        raise CallError("with a tally, samples= lists its columns by name; give masks as arrays to compare arrays")
    return [tally.position(c) for c in chosen]


def _gather(masks: Any, what: str) -> dict[str, Any]:
    """Masks by name, those that are absent left out."""
    if masks is None:
        raise CallError(f"give the masks of every {what}: an array (n, …), a list, or {{name: mask}}")
    inputs = gather_inputs(masks, None, None, None)
    return {str(inputs.columns[i]): inputs.arrays[i] for i in inputs.present}


class _Intersections:
    """How many items every two masks both mark, label by label, and how many one marks of what the other rated.

    Masks are packed to bits: words that every mask leaves empty are dropped, and the others counted by one instruction.
    """

    def __init__(self, masks: int) -> None:
        self.masks = masks
        self.both: dict[int, Counts] = {}
        self.inside: dict[int, Counts] = {}
        self.rated = np.zeros((masks, masks), np.int64)

    def add(self, codes: NDArray[np.uint8], background: int) -> None:
        """Count a block of (masks, items) codes; of background there is nothing to know."""
        present = _codes(codes)
        void = _pack_bits(codes != VOID) if VOID in present else None
        every = np.full((self.masks, self.masks), codes.shape[1]) if void is None else _meet(void, void)
        self.rated += every
        for code in present:
            if code in (VOID, background):
                continue
            bits = _pack_bits(codes == code)
            meet = _meet(bits, bits)
            own = np.broadcast_to(np.diag(meet)[:, None], meet.shape) if void is None else _meet(bits, void)
            self.both[code] = self.both.get(code, 0) + meet
            self.inside[code] = self.inside.get(code, 0) + own

    def iou(self, code: int) -> Values:
        """IoU of every two masks for one label."""
        nothing = np.zeros_like(self.rated)
        return _iou(self.both.get(code, nothing), self.inside.get(code, nothing), self.rated)


def _codes(codes: NDArray[np.uint8]) -> list[int]:
    """The codes that occur."""
    present = np.zeros(256, bool)
    for row in codes:
        low, high = int(row.min()), int(row.max())
        if high - low <= 1:
            present[[low, high]] = True
        else:
            present[row] = True
    return [int(code) for code in np.flatnonzero(present)]


def _pack_bits(flags: NDArray[np.bool_]) -> Words:
    """(masks, items) to (masks, words) of 64 items; what is beyond the last item is 0."""
    words = np.zeros((len(flags), -(-flags.shape[1] // 64)), np.uint64)
    packed = np.packbits(flags, axis=1)
    words.view(np.uint8)[:, : packed.shape[1]] = packed
    return words


def _meet(first: Words, second: Words) -> Counts:
    """(masks, masks): how many bits are set in both; second may be the same as first."""
    same = first is second
    marked = np.bitwise_or.reduce(first, axis=0)
    keep = np.flatnonzero(marked & (marked if same else np.bitwise_or.reduce(second, axis=0)))
    first = np.ascontiguousarray(first[:, keep])
    second = first if same else np.ascontiguousarray(second[:, keep])
    counts = np.zeros((len(first), len(second)), np.int64)
    for i, row in enumerate(first):
        start = i if same else 0
        counts[i, start:] = np.bitwise_count(row & second[start:]).sum(axis=1, dtype=np.uint32)
    return np.triu(counts) + np.triu(counts, 1).T if same else counts


def _iou(both: NDArray[Any], inside: NDArray[Any], rated: NDArray[Any]) -> Values:
    """IoU from what both mark and what each marks of what the other rated; two empty masks are equal."""
    union = inside + inside.T - both
    return np.where(union > 0, divide(both, union), np.where(rated > 0, 1.0, np.nan))


# -- statistics --------------------------------------------------------------------------------------------------------


def energy_distance(
    samples: SampleDistances | Given,
    masks: Masks | Tally | None = None,
    *,
    unbiased: Unbiased = False,
    label: str | int | None = None,
) -> float:
    """Energy distance between the samples of a model and the raters' masks.

    Parameters
    ----------
    samples : SampleDistances, (S, …) array, sequence or dict of masks, or sequence of str or Column
        As for :func:`sample_distances`, or what it returned.
    masks : (R, …) array, sequence or dict of masks, or Tally, optional
        The raters' masks; nothing where ``samples`` holds the distances already.
    unbiased : {False, "samples", "both", True}
        False for the V-form, ``"samples"`` for the U-form in the samples with the raters fixed, ``"both"`` or True for
        the U-form in both, which may be negative.
    label : str or int, optional
        One label; by default d is the mean over all labels.

    Returns
    -------
    float
        The squared distance, in the V-form from 0 to 2 where all masks rated the same pixels; :class:`Undefined` where
        a U-form has one sample or one rater.

    References
    ----------
    Székely GJ, Rizzo ML. J Stat Plan Inference 2013;143:1249–1272. doi:10.1016/j.jspi.2013.03.018. Kohl SAA et al.
    NeurIPS 2018. doi:10.48550/arXiv.1806.05034

    Examples
    --------
    >>> samples, masks = [[1, 1, 0, 0], [1, 0, 0, 0]], [[1, 1, 0, 0], [1, 1, 1, 0]]
    >>> round(energy_distance(samples, masks), 4), round(energy_distance(samples, masks, unbiased=True), 4)
    (0.3333, -0.0833)
    """
    if unbiased not in ENERGY_FORMS:
        raise CallError(f"unbiased= is False, 'samples', 'both' or True; got {unbiased!r}")
    known = _known(samples, masks)
    cross = 1 - known.cross(label).mean()
    among = _mean_distance(known.among_samples(label), bool(unbiased), FEW_SAMPLES)
    raters = _mean_distance(known.among_raters(label), unbiased in ("both", True), FEW_RATERS)
    for term in (among, raters):
        if isinstance(term, Undefined):
            return term
    value = float(2 * cross - among - raters)
    if math.isnan(value):
        return Undefined(NOT_SHARED)
    # where all rated the same pixels, the V-form is negative by the rounding of its sums alone
    return 0.0 if not unbiased and -ROUNDING < value < 0 else value


def _mean_distance(similarity: Values, unbiased: bool, few: str) -> float:
    """The mean of d over pairs: of all, or of different masks."""
    n = len(similarity)
    if unbiased and n < 2:
        return Undefined(few)
    total = float((1 - similarity).sum())
    return total / (n * (n - 1)) if unbiased else total / n**2


def sample_diversity(
    samples: SampleDistances | Given, masks: Masks | Tally | None = None, *, label: str | int | None = None
) -> float:
    """Mean distance between two different samples.

    Neither large nor small is good: it should be that of the raters. Give the raters' masks as samples for theirs.

    Parameters
    ----------
    samples : SampleDistances, (S, …) array, sequence or dict of masks, or sequence of str or Column
        As for :func:`sample_distances`, or what it returned.
    masks : (R, …) array, sequence or dict of masks, or Tally, optional
        The tally of the samples, where they are named; masks of raters do not change the result.
    label : str or int, optional
        One label; by default the mean over all labels.

    Returns
    -------
    float
        The mean of 1 − IoU; :class:`Undefined` with one sample.

    Examples
    --------
    >>> round(sample_diversity([[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]]), 4)
    0.3333
    """
    if masks is None and not isinstance(samples, SampleDistances):
        masks = samples  # type: ignore[assignment]
    known = _known(samples, masks)
    return _or_undefined(_mean_distance(known.among_samples(label), True, FEW_SAMPLES))


def rater_diversity(distances: SampleDistances) -> float:
    """The mean distance between two raters, with which the diversity of samples is compared.

    >>> rater_diversity(sample_distances([[1, 0]], [[1, 1], [1, 0]]))
    0.5
    """
    return _or_undefined(_mean_distance(distances.among_raters(), True, FEW_RATERS))


def matched_iou(
    samples: SampleDistances | Given, masks: Masks | Tally | None = None, *, label: str | int | None = None
) -> float:
    """Mean IoU of samples and raters, matched one to one so that it is largest.

    With different numbers both are repeated to their least common multiple, so that every mask counts equally.

    Parameters
    ----------
    samples : SampleDistances, (S, …) array, sequence or dict of masks, or sequence of str or Column
        As for :func:`sample_distances`, or what it returned.
    masks : (R, …) array, sequence or dict of masks, or Tally, optional
        The raters' masks.
    label : str or int, optional
        One label; by default the mean over all labels is matched.

    Returns
    -------
    float
        From 0 to 1, the higher the better; two empty masks have an IoU of 1.

    References
    ----------
    Kohl SAA et al. A hierarchical probabilistic U-Net for modeling multi-scale ambiguities. 2019.
    doi:10.48550/arXiv.1905.13077

    Examples
    --------
    >>> samples, masks = [[1, 1, 0, 0], [1, 0, 0, 0]], [[1, 1, 0, 0], [1, 1, 1, 0]]
    >>> round(matched_iou(samples, masks), 4)
    0.6667
    """
    value = _known(samples, masks).cross(label)
    return Undefined(NOT_SHARED) if np.isnan(value).any() else _assign(value)


def _assign(value: Values) -> float:
    """The largest mean of an assignment in which every row, and every column, has the same weight."""
    from scipy.optimize import linear_sum_assignment, linprog

    rows, columns = value.shape
    each = math.lcm(rows, columns)
    if each <= LARGEST_ASSIGNMENT:
        repeated = value.repeat(each // rows, axis=0).repeat(each // columns, axis=1)
        return float(repeated[linear_sum_assignment(repeated, maximize=True)].mean())
    by_row, by_column = np.repeat(np.eye(rows), columns, axis=1), np.tile(np.eye(columns), rows)
    weights = np.concatenate([np.full(rows, 1 / rows), np.full(columns, 1 / columns)])
    return float(-linprog(-value.ravel(), A_eq=np.vstack([by_row, by_column]), b_eq=weights, method="highs").fun)


def d_max(
    samples: SampleDistances | Given,
    masks: Masks | Tally | None = None,
    *,
    draws: int | None = None,
    label: str | int | None = None,
) -> float:
    """Maximum Dice matching: the Dice of each rater with the best sample, in the mean over raters.

    The best of more samples is better, whatever the model: values compare at equal numbers of samples only. ``draws``
    gives the mean over all choices of so many samples, so that models with more can be compared.

    Parameters
    ----------
    samples : SampleDistances, (S, …) array, sequence or dict of masks, or sequence of str or Column
        As for :func:`sample_distances`, or what it returned.
    masks : (R, …) array, sequence or dict of masks, or Tally, optional
        The raters' masks.
    draws : int, optional
        Number of samples of which the best is taken; by default all.
    label : str or int, optional
        One label; by default the mean over all labels.

    Returns
    -------
    float
        From 0 to 1, the higher the better; two empty masks have a Dice of 1.

    References
    ----------
    Rahman A et al. Ambiguous medical image segmentation using diffusion models. CVPR 2023.
    doi:10.48550/arXiv.2304.04745

    Examples
    --------
    >>> samples, masks = [[1, 1, 0, 0], [1, 0, 0, 0]], [[1, 1, 0, 0], [1, 1, 1, 0]]
    >>> round(d_max(samples, masks), 4), round(d_max(samples, masks, draws=1), 4)
    (0.9, 0.7417)
    """
    known = _known(samples, masks)
    number = len(known.samples)
    of = number if draws is None else draws
    if not 1 <= of <= number:
        raise CallError(f"draws= is a number of samples from 1 to {number}; got {draws!r}")
    iou = known.iou if label is None else known.similarity(label)[None]
    dice = (2 * iou / (1 + iou)).mean(axis=0)[:number, number:]
    if np.isnan(dice).any():
        return Undefined(NOT_SHARED)
    # the k-th smallest of all is the largest of C(k − 1, of − 1) of the C(number, of) choices
    chance = np.array([math.comb(k, of - 1) for k in range(number)], object) / math.comb(number, of)
    return float((chance.astype(np.float64) @ np.sort(dice, axis=0)).mean())


def _known(samples: SampleDistances | Given, masks: Masks | Tally | None) -> SampleDistances:
    if isinstance(samples, SampleDistances):
        if masks is not None:
            raise CallError("the distances of samples have their raters in them; leave masks= out")
        return samples
    if masks is None:
        raise CallError("give the raters' masks, or their tally, as the second argument")
    return sample_distances(samples, masks)


def _or_undefined(value: float) -> float:
    return value if isinstance(value, Undefined) or not math.isnan(value) else Undefined(NOT_SHARED)
