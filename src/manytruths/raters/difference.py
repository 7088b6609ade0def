"""How far each rater is from the others, and who is an outlier.

With F_ij the F1 score (Dice) of two raters, a rater's mean difference is the mean of 1 − F_ij over the *other*
raters, and an outlier's exceeds the raters' mean plus one *sample* standard deviation.

Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572, 3.3. doi:10.1109/TIP.2016.2544703
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..agreement import PairMatrix, dice, pairwise
from ..core.tally import Tally
from ..core.undefined import Undefined
from .identity import refuse_exchangeable


@dataclass(frozen=True)
class RaterDifferences:
    """Differences between raters."""

    raters: tuple[str, ...]
    pairs: PairMatrix
    """1 − F1 of every two raters; nan where both marked nothing, or no item was rated by both."""
    mean_difference: NDArray[np.float64]
    """Of each rater to the others with whom he can be compared; nan where there is none."""
    mean: float
    """Of the mean differences."""
    std: float
    """Their sample standard deviation."""
    threshold: float
    """Mean plus standard deviation."""
    outliers: tuple[str, ...]
    """The raters whose mean difference is above the threshold."""


def rater_differences(tally: Tally) -> RaterDifferences:
    """1 − F1 between raters, and who is further from the others than most.

    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 1, 0, 0], "B": [1, 1, 1, 0, 0], "C": [1, 1, 0, 0, 0], "D": [0, 0, 0, 1, 1]})
    >>> rater_differences(t).outliers
    ('D',)
    """
    refuse_exchangeable(tally, "the difference between raters")
    found = pairwise(dice, tally)
    pairs = PairMatrix("f1_difference", found.names, 1 - found.values)
    each = mean_with_others(pairs.values)
    mean, std = _spread(each)
    outliers = tuple(name for name, value in zip(pairs.names, each, strict=True) if value > mean + std)
    return RaterDifferences(pairs.names, pairs, each, mean, std, _threshold(mean, std), outliers)


def mean_with_others(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of each row but for its own place, over the pairs that are defined; nan where none is."""
    known = ~np.isnan(values) & ~np.eye(len(values), dtype=bool)
    mean = np.full(len(values), np.nan)
    np.divide(np.where(known, values, 0).sum(axis=1), known.sum(axis=1), out=mean, where=known.any(axis=1))
    return mean


def _spread(values: NDArray[np.float64]) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    mean = float(known.mean()) if len(known) else Undefined("no_two_raters_comparable")
    return mean, float(known.std(ddof=1)) if len(known) > 1 else Undefined("fewer_than_two_raters_comparable")


def _threshold(mean: float, std: float) -> float:
    return std if isinstance(std, Undefined) else mean + std
