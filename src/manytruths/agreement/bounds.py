"""What the votes alone say: Smyth's bound, the agreement curve, and Yang's two conditions.

Smyth P. Bounds on the mean classification error rate of multiple experts. Pattern Recogn Lett
1996;17:1253–1257. doi:10.1016/0167-8655(96)00105-5. Lampert TA et al. IEEE Trans Image Process
2016;25:2557–2572. doi:10.1109/TIP.2016.2544703. Yang F et al. IEEE Access 2023;11:21300–21312.
doi:10.1109/ACCESS.2023.3249759
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..core.labels import VOID
from ..core.tally import Tally
from .votes import Values, VoteSums, vote_statistic

SMYTH_LIMIT = 0.1
"""The largest bound that Smyth recommends accepting."""


@vote_statistic(undefined="not_rated", alone="not_rated")
def smyth_bound(found: VoteSums) -> Values:
    """The least mean error rate that raters who disagree so much must have, whatever the truth.

    Σ (m − max_j n_j) / Σ m. Two raters reach the largest value with any disagreement, an odd number never
    reaches 0.5, so that bounds of different numbers of raters do not compare (Lampert 2016, 5.1).
    """
    return found.minority / found.ratings


@dataclass(frozen=True)
class AgreementCurve:
    """``share[n − 1]``: of the items that anybody marked, the share that at least n raters marked."""

    raters: NDArray[np.int64]
    share: NDArray[np.float64]


def agreement_curve(tally: Tally) -> AgreementCurve:
    """Â(n) for n from 1 to all raters (Lampert 2016, eq. 3); nan where nobody marked anything.

    An item that a rater did not rate cannot reach the full number: with absent raters the curve falls lower.
    """
    levels = np.arange(1, len(tally.raters) + 1)
    items = np.array([tally.counts[tally.marked >= n].sum() for n in levels], np.float64)
    return AgreementCurve(levels, items / items[0] if items[0] else np.full(len(levels), np.nan))


@vote_statistic(undefined="nobody_marked")
def unanimous(found: VoteSums) -> Values:
    """Of the items that anybody marked and two or more raters rated, the share that all of them marked."""
    return found.agreed / found.marked


def case_condition(tally: Tally) -> Literal["", "nothing_marked", "one_empty", "no_overlap"]:
    """What makes a case special: nobody marked; somebody did and somebody did not; no item marked by two.

    The last two are Yang's conditions 1 and 2; they exclude each other.
    """
    rows = tally.patterns[:, tally.raters]
    rows = rows[tally.counts > 0]
    present = np.any(rows != VOID, axis=0)
    marked = np.atleast_1d(np.any(np.isin(rows, tally.labels.marks), axis=0))[present]
    if not marked.any():
        return "nothing_marked"
    if not marked.all():
        return "one_empty"
    overlap = ((tally.marked > 1) & (tally.counts > 0)).any()
    return "" if overlap or len(marked) < 2 else "no_overlap"
