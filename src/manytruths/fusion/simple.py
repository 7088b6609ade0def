"""SIMPLE: a weighted vote of the raters who fit it.

From the vote of all, repeat until the raters kept and the estimate stand still ::

    score   s_j = Dice (or IoU) of rater j and the estimate, over the items that they rated
    drop    raters with s_j < mean s − α · std s, over those kept; std divides by their number
    vote    Σ s_j D_j / Σ s_j ≥ 0.5 over those kept

A rater dropped does not come back. A tie is marked, as in a vote. Of several labels each has a vote, and a rater's
score is the mean over labels; the paper is about one.

Langerak TR et al. Label fusion in atlas-based segmentation using a selective and iterative method for performance level
estimation (SIMPLE). IEEE Trans Med Imaging 2010;29:2000–2008. doi:10.1109/TMI.2010.2057442
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.labels import VOID
from ..core.painting import PatternValues
from ..core.tally import Tally, check_tally
from ..core.undefined import divide
from .result import Consensus, Values, binary_labels, left_out_notes, table_notes
from .vote import OpenItems, decide_by_share, open_items, open_notes, vote_by_label

Score = Literal["dice", "iou"]

SLOTS = "raters are exchangeable: those kept and dropped are slots, within one case only"
ROUNDING = 1e-12
"""So that raters of equal scores are not dropped for the last digit of their mean."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Simple(Consensus):
    """The result of SIMPLE, by pattern.

    Attributes
    ----------
    method : str
        ``simple``.
    raters : tuple of str
        Raters whose decisions were used.
    labels : Labels
        The labels that ``hard`` refers to.
    probability : ndarray
        Weighted share of the raters kept who marked the items of each pattern, of several labels of every label; 0
        where none of them rated.
    hard : ndarray
        Whether the items of each pattern are marked or, of several labels, the code of their label.
    convergence : str
        ``converged``, ``stopped`` (after ``max_iter`` rounds) or ``nothing marked``.
    notes : tuple of str
        What to know before using it.
    """

    kept: tuple[str, ...]
    """The raters who vote at the end."""
    dropped: tuple[str, ...]
    """Those who do not, in the order in which they were dropped."""
    scores: Values
    """Of every rater against the last estimate, in the order of ``raters``; nan where it cannot be told."""
    weights: Values
    """Of every rater in the last vote; 0 for those dropped."""
    rounds: int
    """How many times raters were scored."""
    alpha: float
    """α, as given."""
    items: OpenItems = field(default_factory=OpenItems)
    """Of several labels, how many items are tied, and how many no label wins."""


def simple(tally: Tally, alpha: float = 1.5, score: Score = "dice", *, max_iter: int = 100) -> Simple:
    """The weighted vote of the raters who agree with it (SIMPLE); several labels have one vote each.

    Parameters
    ----------
    tally : Tally
        The raters' decisions.
    alpha : float
        A rater is dropped whose score is more than this many standard deviations below the mean.
    score : {"dice", "iou"}
        How raters are scored against the vote.
    max_iter : int
        Maximum number of rounds.

    Returns
    -------
    Simple
        The vote, the raters kept and dropped, their scores and weights.

    References
    ----------
    * Langerak TR et al. Label fusion in atlas-based segmentation using a selective and iterative method for
      performance level estimation (SIMPLE). IEEE Trans Med Imaging 2010;29:2000–2008. doi:10.1109/TMI.2010.2057442

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 1, 0, 0], "B": [1, 1, 1, 0, 0], "C": [1, 1, 0, 0, 0], "D": [0, 0, 0, 1, 1]})
    >>> result = mt.simple(t)
    >>> result.dropped, result.hard
    (('D',), array([False,  True,  True]))
    """
    check_tally(tally, "simple")
    check_alpha(alpha)
    if score not in ("dice", "iou"):
        raise CallError(f"score must be 'dice' or 'iou'; got {score!r}")
    if max_iter < 1:
        raise CallError(f"max_iter must be at least 1; got {max_iter!r}")
    weights, convergence, gone, rounds = np.ones(len(tally.raters)), "stopped", list[int](), 0
    share, hard, scores = _vote(tally, weights, score)
    while rounds < max_iter and convergence == "stopped":
        rounds += 1
        voting, last = weights > 0, hard
        weights = _weights(weights, scores, alpha)
        gone += np.flatnonzero(voting & (weights == 0)).tolist()
        share, hard, scores = _vote(tally, weights, score)
        if ((weights > 0) == voting).all() and (hard == last).all():
            convergence = "converged"
    after = f"{rounds} round{'s' if rounds > 1 else ''}"
    notes = [f"not converged: after {after} the vote or its raters still changed"] if convergence == "stopped" else []
    several = tally.labels.several
    if not (np.isin(hard, tally.labels.marks) if several else hard)[tally.counts > 0].any():
        convergence = "nothing marked"
    names = tally.rater_names
    few = [SLOTS] if tally.exchangeable else left_out_notes(tally, weights > 0)
    items = open_items(tally, share, 0.5) if several else OpenItems()
    return Simple(
        method="simple",
        raters=names,
        labels=tally.labels if several else binary_labels(tally),
        probability=PatternValues(np.nan_to_num(share), tally),
        hard=PatternValues(hard, tally),
        convergence=convergence,
        notes=(*table_notes(tally), *notes, *(few if len(names) > 1 else []), *open_notes(tally.labels, items)),
        kept=tuple(name for name, weight in zip(names, weights, strict=True) if weight > 0),
        dropped=tuple(names[i] for i in gone),
        scores=scores,
        weights=weights,
        rounds=rounds,
        alpha=alpha,
        items=items,
    )


def check_alpha(alpha: float | str) -> None:
    """Refuse what is no number of standard deviations."""
    if isinstance(alpha, str) or not alpha > 0:
        raise CallError(f"alpha must be above 0; got {alpha!r}")


def _vote(tally: Tally, weights: Values, score: Score) -> tuple[Values, NDArray[Any], Values]:
    """The weighted share and the decision of each pattern, and the score of each rater."""
    if not tally.labels.several:
        share, hard = decide_by_share(tally, 0.5, weights)
        marked = np.isin(tally.patterns[:, tally.raters], tally.labels.marks)
        return share, hard, _scores(tally, marked, hard, score)
    share, codes = vote_by_label(tally, 0.5, weights)
    rows = tally.patterns[:, tally.raters]
    each = np.stack([_scores(tally, rows == code, codes == code, score) for code in tally.labels.marks])
    known = ~np.isnan(each)
    return share, codes, divide(np.where(known, each, 0).sum(axis=0), known.sum(axis=0))


def _scores(tally: Tally, marked: NDArray[np.bool_], hard: NDArray[np.bool_], score: Score) -> Values:
    """The overlap of each rater with the estimate; nan where both are empty."""
    truth = hard[:, None] & (tally.patterns[:, tally.raters] != VOID)
    both = tally.counts @ (marked & truth)
    total = tally.counts @ marked + tally.counts @ truth
    return divide(2 * both, total) if score == "dice" else divide(both, total - both)


def _weights(weights: Values, scores: Values, alpha: float) -> Values:
    """The scores of those who stay, 0 for the rest; raters who cannot be scored stay with the mean score."""
    known = scores[(weights > 0) & ~np.isnan(scores)]
    if len(known) < 2 or not known.any():
        return weights
    limit = known.mean() - alpha * known.std() - ROUNDING
    each = np.where(np.isnan(scores), known.mean(), scores)
    return np.where((weights > 0) & (each >= limit), each, 0.0)
