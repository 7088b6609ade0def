"""Cooke's weights: raters count for what their answers told about items whose truth is known.

Cooke's classical model scores an expert by calibration × information over calibration items, and weights by the score.
Raters of masks state no probabilities: an answer (a label) is read as stating the share of each truth that the
calibration items show behind it. Everybody is then calibrated, and the score is the information of the answers about
the truth, relative to knowing its prevalence ::

    I_j = Σ_b s_b Σ_t s_(t|b) ln (s_(t|b) / s_t)

over the rater's answers b and the truths t, with shares s of the calibration items that they rated (the mutual
information of answer and truth, in nats: 0 for one who answers at random). Weights are I_j / Σ I. A vote has no use for
a rater who is right by being wrong: where answers agree with the truth less than by chance, the weight is 0,
as it is for one who rated no calibration item.

Cooke RM. Experts in Uncertainty. Oxford University Press, 1991, ch. 8–12. Cooke RM, Goossens LLHJ. TU Delft expert
judgment data base. Reliab Eng Syst Saf 2008;93:657–674. doi:10.1016/j.ress.2007.03.005
"""

from __future__ import annotations

import numpy as np

from ..core.errors import CallError, InputError
from ..core.tally import Tally, cross_tabulate
from .result import Values, refuse_exchangeable


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
    refuse_exchangeable(tally, "have a weight")
    truth = _truth(tally, reference)
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


def _truth(tally: Tally, reference: str | None) -> int:
    if reference is not None:
        return tally.position(reference)
    known = tally.role("reference")
    if len(known) != 1:
        raise CallError(f"reference= names the column with the truth; there are {len(known)} references to choose from")
    return tally.position(known[0])


def _information(table: Values) -> float:
    """Of answers (rows) about truths (columns); 0 where they agree less than chance has it."""
    if not table.sum():
        return 0.0
    joint = table / table.sum()
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    if np.trace(joint) <= np.trace(expected) * (1 + 1e-12):
        return 0.0
    seen = joint > 0
    return float(joint[seen] @ np.log(joint[seen] / expected[seen]))
