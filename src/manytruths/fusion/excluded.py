"""Excl-τ: a vote once the outliers are dropped.

With F_ij the F1 score (Dice) of two raters, a rater's mean difference is the mean of 1 − F_ij over the *other*
raters, and an outlier's exceeds the raters' mean plus one *sample* standard deviation. What is left votes.

Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572, 3.3. doi:10.1109/TIP.2016.2544703
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ..core.errors import CallError
from ..core.tally import Tally
from .result import Values, refuse_slots
from .vote import Vote, divided, vote


def excluded_vote(tally: Tally, threshold: float | str = 0.5, exclude: Iterable[str] | None = None) -> Vote:
    """The vote of the raters who are no outliers, or of all but those named.

    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 1, 0, 0], "B": [1, 1, 1, 0, 0], "C": [1, 1, 0, 0, 0], "D": [0, 0, 0, 1, 1]})
    >>> found = excluded_vote(t, "any")
    >>> found.excluded, found.hard
    (('D',), array([False,  True,  True]))
    """
    refuse_slots(tally, "be excluded")
    names, gone = tally.rater_names, set(outlying(tally) if exclude is None else exclude)
    if gone - set(names) or gone >= set(names):
        raise CallError(f"exclude= takes some of {', '.join(names)}, and leaves one; got {', '.join(sorted(gone))}")
    found = vote(tally, threshold, {name: float(name not in gone) for name in names})
    left = tuple(name for name in names if name not in gone)
    return replace(found, method=f"excl:{threshold}", raters=left, excluded=tuple(n for n in names if n in gone))


def outlying(tally: Tally) -> tuple[str, ...]:
    """The raters further from the others than most."""
    each = _mean_differences(tally)
    known = each[~np.isnan(each)]
    if len(known) < 2:
        return ()
    limit = known.mean() + known.std(ddof=1)
    return tuple(name for name, value in zip(tally.rater_names, each, strict=True) if value > limit)


def _mean_differences(tally: Tally) -> Values:
    """1 − F1 of every rater to the others with whom he can be compared; nan where there is none."""
    marks = list(tally.labels.marks)
    both = tally.contingency[:, :, marks][:, :, :, marks].sum(axis=(-1, -2))
    first = tally.contingency[:, :, marks].sum(axis=(-1, -2))
    difference = 1 - divided(2 * both, first + first.T)
    known = ~np.isnan(difference) & ~np.eye(len(both), dtype=bool)
    return divided(np.where(known, difference, 0).sum(axis=1), known.sum(axis=1).astype(np.float64))
