"""Votes: what enough raters marked.

With A the raters who marked an item and m those who rated it, the item belongs to the consensus where ::

    A / m ≥ τ

so that a tie at τ = 0.5 is marked; with weights, A and m are sums of weights. An item that nobody rated is
background.

Several labels are not united: each has a vote of its own, A_l / m ≥ τ. Where more than one label gets through, the one
that more raters gave is taken, and of those given equally often (a tie) the one of the lower value. Where none does,
background included, there is a gap: the item is background, and unlabelled where there is no background.

The vote without outliers (``excl:τ``) first drops raters who differ from the others: with F_ij the F1 score
(Dice) of two raters, of several labels its mean over labels, a rater's Dice distance is the mean of 1 − F_ij over the
*other* raters, and an outlier's exceeds the raters' mean plus one *sample* standard deviation.

Plurality is the vote among several labels. The inner region I is what all raters marked, the outer region O what any
rater marked; an acceptable segmentation holds I and stays within O.

Weights may come from items whose truth is known, by Cooke's classical model, which scores an expert by calibration ×
information over such calibration items. Raters of masks state no probabilities: an answer (a label) is read as stating
the share of each truth that the calibration items show behind it. Everybody is then calibrated, and the score is the
information of the answers about the truth, relative to knowing its prevalence ::

    I_j = Σ_b s_b Σ_t s_(t|b) ln (s_(t|b) / s_t)

over the rater's answers b and the truths t, with shares s of the calibration items that they rated (the mutual
information of answer and truth, in nats: 0 for one who answers at random). Weights are I_j / Σ I. A vote has no use for
a rater who is right by being wrong: where answers agree with the truth less than by chance, the weight is 0,
as it is for one who rated no calibration item.

* Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
  algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572, eq. 6 and section 3.3.
  doi:10.1109/TIP.2016.2544703
* Zeng D et al. Segmentation with multiple acceptable annotations. IPMI 2021, LNCS 12729, eqs. 1–2.
  doi:10.1007/978-3-030-78191-0_37
* Cooke RM. Experts in Uncertainty. Oxford University Press, 1991, ch. 8–12. Cooke RM, Goossens LLHJ. TU Delft expert
  judgment data base. Reliab Eng Syst Saf 2008;93:657–674. doi:10.1016/j.ress.2007.03.005
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, InputError
from ..core.labels import VOID, Labels
from ..core.painting import PatternValues
from ..core.tally import Tally, check_tally, cross_tabulate
from ..core.undefined import Note, divide, ratio
from .result import (
    Consensus,
    Values,
    binary_labels,
    left_out_notes,
    refuse_exchangeable,
    table_notes,
    unrated_code,
    with_mark,
)

TIE = 1e-9
"""Shares of weights that are not whole numbers meet a threshold up to so much."""


@dataclass(frozen=True)
class OpenItems:
    """Items that a vote among several labels does not settle."""

    tied: int = 0
    """Two labels or more were given equally often: the lower value was taken."""
    gaps: int = 0
    """No label, background included, has enough votes: background was taken, or no label where none is background."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Vote(Consensus):
    """The result of a vote, by pattern.

    Attributes
    ----------
    method : str
        ``vote:`` or ``excl:`` and the threshold.
    raters : tuple of str
        Raters whose decisions were used.
    labels : Labels
        The labels that ``hard`` refers to.
    probability : ndarray
        Share of the raters who marked the items of each pattern, of several labels of every label; 0 where nobody
        rated.
    hard : ndarray
        Whether the items of each pattern are marked or, of several labels, the code of their label.
    convergence : str
        Always ``done``.
    notes : tuple of str
        What to know before using it: of several labels, how many items are tied and how many are gaps.
    """

    threshold: float | str
    """τ, or ``any`` or ``all``."""
    share: Values
    """A / m, of several labels of every label; nan where nobody rated."""
    weights: Values
    """The weight of each rater, in the order of ``tally.raters``."""
    excluded: tuple[str, ...] = ()
    """The raters who were left out."""
    items: OpenItems = field(default_factory=OpenItems)
    """Of several labels, how many items are tied, and how many no label wins."""


def vote(tally: Tally, threshold: float | str = 0.5, weights: Mapping[str, float] | None = None) -> Vote:
    """Mark what at least a share ``threshold`` of the raters marked; several labels have one vote each.

    Parameters
    ----------
    tally : Tally
        The raters' decisions.
    threshold : float or {"any", "all"}
        τ in (0, 1]; or what any rater marked, or what every rater marked who rated it. A tie at τ is marked.
    weights : mapping of str to float, optional
        Weight of each rater by name, at least 0; a rater of weight 0 does not vote.

    Returns
    -------
    Vote
        The decision and the share of each pattern.

    References
    ----------
    * Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
      algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572. doi:10.1109/TIP.2016.2544703

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 1, 0], "B": [1, 1, 0, 0], "C": [1, 0, 0, 0]})
    >>> mt.vote(t).hard
    array([False, False,  True,  True])
    """
    check_tally(tally, "vote")
    each, several = _weights(tally, weights), tally.labels.several
    share, hard = vote_by_label(tally, threshold, each) if several else decide_by_share(tally, threshold, each)
    notes = (*table_notes(tally), *(left_out_notes(tally, each > 0) if len(each) > 1 else []))
    items = open_items(tally, share, threshold) if several else OpenItems()
    return Vote(
        method=f"vote:{threshold}" + ("" if weights is None else " weighted"),
        raters=tally.rater_names,
        labels=tally.labels if several else binary_labels(tally),
        probability=PatternValues(np.nan_to_num(share), tally),
        hard=PatternValues(hard, tally),
        notes=(*notes, *open_notes(tally.labels, items)),
        threshold=threshold,
        share=PatternValues(share, tally),
        weights=each,
        items=items,
    )


def decide_by_share(tally: Tally, threshold: float | str, weights: Values) -> tuple[Values, NDArray[np.bool_]]:
    """The share of each pattern (nan where nobody of weight rated), and whether it reaches the threshold."""
    rows = tally.patterns[:, tally.raters]
    rated = (rows != VOID) & (weights > 0)
    marked = rated & np.isin(rows, tally.labels.marks)
    share = divide(marked @ weights, rated @ weights)
    if threshold == "any":
        return share, np.asarray(marked.any(axis=1))
    if threshold == "all":
        return share, np.asarray(marked.any(axis=1) & (marked == rated).all(axis=1))
    return share, reaches(share, threshold)


def reaches(share: Values, threshold: float | str) -> NDArray[np.bool_]:
    """Whether shares reach the threshold, up to rounding."""
    check_threshold(threshold)
    limits = {"any": 2 * TIE, "all": 1.0}
    limit = limits[threshold] if isinstance(threshold, str) else threshold
    return np.asarray(share >= limit - TIE)


def check_threshold(threshold: float | str) -> None:
    """Refuse what is no share of raters."""
    if threshold not in ("any", "all") and (isinstance(threshold, str) or not 0 < threshold <= 1):
        raise CallError(f"threshold must be 'any', 'all', or a share above 0 and up to 1; got {threshold!r}")


def vote_by_label(tally: Tally, threshold: float | str, weights: Values) -> tuple[Values, NDArray[np.uint8]]:
    """(patterns, labels) shares, nan where nobody of weight rated; and the code of the label that gets through."""
    rows = tally.patterns[:, tally.raters]
    rated = (rows != VOID) & (weights > 0)
    votes = np.stack([((rows == code) & rated) @ weights for code in range(len(tally.labels))], axis=1)
    share = divide(votes, (rated @ weights)[:, None])
    # a label that ties with background is marked, as in a vote of one label
    marks = list(tally.labels.marks)
    through = np.where(reaches(share, threshold)[:, marks], share[:, marks], -1.0)
    best = through.max(axis=1, initial=-1.0)
    first = (through >= best[:, None] - TIE).argmax(axis=1)
    codes = np.where(best > 0, np.array(marks, np.uint8)[first], unrated_code(tally.labels))
    return share, codes.astype(np.uint8)


def open_items(tally: Tally, share: Values, threshold: float | str) -> OpenItems:
    """How many items are tied, and how many no label wins, by (patterns, labels) shares of votes."""
    through, marks = reaches(np.nan_to_num(share), threshold), list(tally.labels.marks)
    known = ~np.isnan(share).any(axis=1)
    best = np.where(through[:, marks], share[:, marks], -1.0).max(axis=1, initial=-1.0)
    tied = known & (best > 0) & ((share[:, marks] >= best[:, None] - TIE).sum(axis=1) > 1)
    gaps = known & ~through.any(axis=1)
    return OpenItems(int(tally.counts[tied].sum()), int(tally.counts[gaps].sum()))


def open_notes(labels: Labels, items: OpenItems) -> list[str]:
    """What to say about items that were not settled."""
    become = "background" if labels.background is not None else "unlabelled"
    notes = [
        (items.tied, "tied_labels", "two labels are tied: the lower value was taken"),
        (items.gaps, "label_gaps", f"no label has enough votes: {become} in the consensus"),
    ]
    return [Note(code, f"{n:,} item{'' if n == 1 else 's'} where {text}") for n, code, text in notes if n]


def _weights(tally: Tally, weights: Mapping[str, float] | None) -> Values:
    names = tally.rater_names
    if weights is None:
        return np.ones(len(names))
    refuse_exchangeable(tally, "have a weight")
    if set(weights) != set(names):
        raise CallError(f"weights= wants one for each of {', '.join(names)}; got {', '.join(map(str, weights))}")
    each = np.array([weights[name] for name in names], np.float64)
    if not (np.isfinite(each).all() and each.min() >= 0 and each.any()):
        raise CallError(f"weights are at least 0, finite, and not all 0; got {dict(weights)}")
    return each


def others_share(tally: Tally) -> Values:
    """For each rater, the share of the other raters who marked the items of a pattern.

    Parameters
    ----------
    tally : Tally
        The raters' decisions.

    Returns
    -------
    ndarray
        (patterns, raters); nan where no other rater rated.

    Examples
    --------
    >>> import manytruths as mt
    >>> others_share(mt.tally({"A": [1, 0], "B": [1, 1], "C": [0, 0]}))
    array([[0.5, 0. , 0.5],
           [0.5, 0.5, 1. ]])
    """
    rows = tally.patterns[:, tally.raters]
    marked = tally.marked[:, None] - np.isin(rows, tally.labels.marks)
    return divide(marked, tally.rated[:, None] - (rows != VOID))


def vote_without_outliers(tally: Tally, threshold: float | str = 0.5, exclude: Iterable[str] | None = None) -> Vote:
    """The vote of the raters who are no outliers, or of all but those named.

    A rater's Dice distance is the mean of 1 − Dice to each of the others; an outlier's exceeds the raters' mean plus
    one sample standard deviation.

    Parameters
    ----------
    tally : Tally
        The raters' decisions; raters must not be exchangeable.
    threshold : float or {"any", "all"}
        As in :func:`vote`.
    exclude : iterable of str, optional
        Raters to exclude instead of the outliers.

    Returns
    -------
    Vote
        With the excluded raters in ``excluded``.

    References
    ----------
    * Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
      algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572. doi:10.1109/TIP.2016.2544703

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 1, 0, 0], "B": [1, 1, 1, 0, 0], "C": [1, 1, 0, 0, 0], "D": [0, 0, 0, 1, 1]})
    >>> result = mt.vote_without_outliers(t, "any")
    >>> result.excluded, result.hard
    (('D',), array([False,  True,  True]))
    """
    check_tally(tally, "vote_without_outliers")
    refuse_exchangeable(tally, "be excluded")
    names, gone = tally.rater_names, set(find_outliers(tally) if exclude is None else exclude)
    if gone - set(names) or gone >= set(names):
        raise CallError(f"exclude= takes some of {', '.join(names)}, and leaves one; got {', '.join(sorted(gone))}")
    result = vote(tally, threshold, {name: float(name not in gone) for name in names})
    left = tuple(name for name in names if name not in gone)
    return replace(result, method=f"excl:{threshold}", raters=left, excluded=tuple(n for n in names if n in gone))


def find_outliers(tally: Tally) -> tuple[str, ...]:
    """The raters whose Dice distance exceeds the mean plus one standard deviation."""
    each = mean_with_others(1 - mean_label_dice(tally))
    known = each[~np.isnan(each)]
    if len(known) < 2:
        return ()
    limit = known.mean() + known.std(ddof=1)
    return tuple(name for name, value in zip(tally.rater_names, each, strict=True) if value > limit)


def mean_label_dice(tally: Tally) -> Values:
    """(raters, raters) mean over labels of Dice, each label against the rest; labels that neither gave do not count."""
    marks = list(tally.labels.marks)
    both = np.diagonal(tally.contingency, axis1=2, axis2=3)[..., marks]
    size = tally.contingency.sum(axis=3)[..., marks] + tally.contingency.sum(axis=2)[..., marks]
    known = size > 0
    return divide(np.where(known, divide(2 * both, size), 0).sum(axis=-1), known.sum(axis=-1))


def mean_with_others(values: Values) -> Values:
    """The mean of each row without its own entry, over the pairs that are defined; NaN where none is."""
    known = ~np.isnan(values) & ~np.eye(len(values), dtype=bool)
    return divide(np.where(known, values, 0).sum(axis=1), known.sum(axis=1))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Plurality(Consensus):
    """The label that most raters gave, by pattern.

    Attributes
    ----------
    method : str
        ``plurality``.
    raters : tuple of str
        Raters whose decisions were used.
    labels : Labels
        The labels that ``hard`` refers to.
    probability : ndarray
        Share of the mark or, with more labels, of every label.
    hard : ndarray
        Whether the items of each pattern are marked or, with more labels, the code of their label.
    convergence : str
        Always ``done``.
    notes : tuple of str
        What to know before using it.
    """

    share: Values
    """Of the raters of the item, those who gave the label; nan where nobody rated."""
    tied: NDArray[np.bool_]
    """Whether another label was given as often."""

    @property
    def items(self) -> OpenItems:
        """Of several labels, how many items are tied."""
        assert self.tally is not None
        return OpenItems(int(self.tally.counts[np.asarray(self.tied)].sum()) if self.labels.several else 0)

    @property
    def label(self) -> NDArray[np.int64]:
        """The value of the label in the masks; background where nobody rated, or −1 where no label is background."""
        return self.values


def plurality(tally: Tally) -> Plurality:
    """Give each item the label that most raters gave; of labels given equally often, the one of the lower value.

    Parameters
    ----------
    tally : Tally
        The raters' decisions, of any number of labels.

    Returns
    -------
    Plurality
        The label, its share and whether it was tied, by pattern.

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0], "B": [1, 2, 0], "C": [2, 0, 0]})
    >>> mt.plurality(t).label
    array([0, 1, 0])
    """
    check_tally(tally, "plurality")
    tally = with_mark(tally)
    rated, votes = tally.rated, tally.votes
    most = votes.max(axis=1, initial=0)
    codes = votes.argmax(axis=1) if votes.size else np.zeros(len(votes), np.intp)
    hard = np.where(rated > 0, codes, unrated_code(tally.labels)).astype(np.uint8)
    share = votes / np.maximum(rated, 1)[:, None]
    two = len(tally.labels) == 2 and tally.labels.background is not None
    return Plurality(
        method="plurality",
        raters=tally.rater_names,
        labels=tally.labels,
        probability=PatternValues(share[:, 1] if two else share, tally),
        hard=PatternValues(hard == 1 if two else hard, tally),
        notes=tuple(table_notes(tally)),
        share=PatternValues(divide(most, rated), tally),
        tied=PatternValues((rated > 0) & ((votes == most[:, None]).sum(axis=1) > 1), tally),
    )


def inner_region(tally: Tally) -> NDArray[np.bool_]:
    """Whether every rater who rated the items of a pattern marked them (intersection).

    Parameters
    ----------
    tally : Tally
        The raters' decisions; raters who did not rate an item have no say in it.

    Returns
    -------
    ndarray of bool
        One value per pattern.

    References
    ----------
    * Zeng D et al. Segmentation with multiple acceptable annotations. IPMI 2021, LNCS 12729.
      doi:10.1007/978-3-030-78191-0_37
    """
    check_tally(tally, "inner_region")
    return PatternValues(decide_by_share(tally, "all", np.ones(len(tally.raters)))[1], tally)


def outer_region(tally: Tally) -> NDArray[np.bool_]:
    """Whether any rater marked the items of a pattern (union).

    Parameters
    ----------
    tally : Tally
        The raters' decisions; raters who did not rate an item have no say in it.

    Returns
    -------
    ndarray of bool
        One value per pattern.

    References
    ----------
    * Zeng D et al. Segmentation with multiple acceptable annotations. IPMI 2021, LNCS 12729.
      doi:10.1007/978-3-030-78191-0_37
    """
    check_tally(tally, "outer_region")
    return PatternValues(decide_by_share(tally, "any", np.ones(len(tally.raters)))[1], tally)


def acceptable_region(tally: Tally) -> NDArray[np.bool_]:
    """Whether some raters marked the items of a pattern and others did not: outer without inner region.

    Parameters
    ----------
    tally : Tally
        The raters' decisions; raters who did not rate an item have no say in it.

    Returns
    -------
    ndarray of bool
        One value per pattern.

    References
    ----------
    * Zeng D et al. Segmentation with multiple acceptable annotations. IPMI 2021, LNCS 12729.
      doi:10.1007/978-3-030-78191-0_37

    Examples
    --------
    >>> import manytruths as mt
    >>> masks = {"A": [1, 1, 0, 0], "B": [1, 0, 1, 0]}
    >>> mt.paint(mt.acceptable_region(mt.tally(masks)), masks)
    array([False,  True,  True, False])
    """
    check_tally(tally, "acceptable_region")
    return outer_region(tally) & ~inner_region(tally)


def inner_outer_ratio(tally: Tally) -> float:
    """The share of the outer region that belongs to the inner one: |I| / |O|, 1 where all raters agree.

    Parameters
    ----------
    tally : Tally
        The raters' decisions.

    Returns
    -------
    float
        Undefined where nobody marked anything.

    References
    ----------
    * Zeng D et al. Segmentation with multiple acceptable annotations. IPMI 2021, LNCS 12729.
      doi:10.1007/978-3-030-78191-0_37

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.inner_outer_ratio(mt.tally({"A": [1, 1, 1, 0], "B": [1, 0, 0, 0]}))
    0.3333333333333333
    """
    check_tally(tally, "inner_outer_ratio")
    inner, outer = tally.counts @ inner_region(tally), tally.counts @ outer_region(tally)
    return ratio(float(inner), float(outer), "nobody_marked")


def cooke_weights(tally: Tally, reference: str | None = None, cutoff: float = 0.0) -> dict[str, float]:
    """Weights for :func:`vote` from calibration items whose truth is known, by Cooke's classical model.

    Parameters
    ----------
    tally : Tally
        The calibration items: the raters' columns and one with the truth.
    reference : str, optional
        The column that holds the truth; by default the only one of role ``reference``.
    cutoff : float
        Raters whose information (in nats) is not above it get weight 0.

    Returns
    -------
    dict of str to float
        Weights by rater; they sum to 1.

    References
    ----------
    * Cooke RM, Goossens LLHJ. TU Delft expert judgment data base. Reliab Eng Syst Saf 2008;93:657–674.
      doi:10.1016/j.ress.2007.03.005

    Examples
    --------
    >>> import manytruths as mt
    >>> masks = {"A": [1, 1, 0, 0], "B": [1, 0, 0, 0], "C": [1, 0, 1, 0]}
    >>> weights = mt.cooke_weights(mt.tally(masks, references={"truth": [1, 1, 0, 0]}))
    >>> {name: round(weight, 2) for name, weight in weights.items()}
    {'A': 0.76, 'B': 0.24, 'C': 0.0}
    """
    check_tally(tally, "cooke_weights")
    refuse_exchangeable(tally, "have a weight")
    known = tally.role("reference")
    if reference is None and len(known) != 1:
        raise CallError(f"reference= names the column with the truth; there are {len(known)} references to choose from")
    truth = tally.position(known[0] if reference is None else reference)
    judged = [i for i in tally.raters if i != truth]
    tables = cross_tabulate(tally.patterns, tally.counts, [truth, *judged], len(tally.labels))[1:, 0]
    scores = np.array([_information(table) for table in tables])
    scores = np.where(scores > cutoff, scores, 0.0)
    if not scores.any():
        raise InputError(
            "no rater's answers tell more about the reference than the cutoff: give other calibration items, or vote "
            "without weights"
        )
    return {tally.columns[i].name: float(s / scores.sum()) for i, s in zip(judged, scores, strict=True)}


def _information(table: Values) -> float:
    """Of answers (rows) about truths (columns); 0 where they agree less than chance has it."""
    if not table.sum():
        return 0.0
    joint = table / table.sum()
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    if np.trace(joint) <= np.trace(expected) * (1 + 1e-12):
        return 0.0
    occurs = joint > 0
    return float(joint[occurs] @ np.log(joint[occurs] / expected[occurs]))
