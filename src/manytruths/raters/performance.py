"""Each rater judged by the consensus.

The consensus is the 0.5 vote (A / m ≥ 0.5) of all raters, as in Lampert's Table 6, or, since a rater should not be
graded against himself, that of the other raters; or any other column. Only items count that the rater and those he
is judged by have rated.

Saur SC et al. Eur Radiol 2010;20:1599–1606. Lampert TA et al. IEEE Trans Image Process 2016;25:2557–2572, 3.3.
doi:10.1109/TIP.2016.2544703

What a rater tends to do: draw large or small, miss, mark what nobody else does.

For rater j, over the items that he and at least one other rated, with A and m those of the *others*::

    relative area   what he marked / Σ A / m             above 1: he draws large
    misses          of what has A / m ≥ 0.5, the share he left
    extra           of what he marked, the share with A = 0

With every rater present, relative area is his area over the mean area of the others.

After Lampert TA et al. IEEE Trans Image Process 2016;25:2557–2572, 3.3. doi:10.1109/TIP.2016.2544703
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..agreement import PairStatistic, cohen_kappa, dice, iou, npv, ppv, sensitivity, specificity
from ..core.columns import Column
from ..core.errors import CallError
from ..core.labels import VOID, Labels
from ..core.tally import Tally
from ..fusion import others_share, vote
from .differences import check_named_raters

Values = NDArray[np.float64]
Flags = NDArray[np.bool_]

BINARY = Labels((0, 1))
STATISTICS: tuple[PairStatistic, ...] = (sensitivity, specificity, ppv, npv, cohen_kappa, dice, iou)


@dataclass(frozen=True)
class RaterPerformance:
    """How each rater did; nan where a statistic is undefined, for the reason that :meth:`value` gives."""

    raters: tuple[str, ...]
    against: str
    """``consensus``, ``others``, or the column they were judged by."""
    tables: Values
    """(raters, 2, 2) items by what the rater and the consensus decided."""
    sensitivity: Values
    specificity: Values
    ppv: Values
    npv: Values
    cohen_kappa: Values
    dice: Values
    iou: Values

    def value(self, rater: str, statistic: PairStatistic) -> float:
        """One number, with the reason where it is undefined."""
        if rater not in self.raters:
            raise CallError(f"no rater {rater!r}; there are {', '.join(self.raters)}")
        return statistic.value(self.tables[self.raters.index(rater)], BINARY)

    def to_frame(self) -> Any:
        """A pandas DataFrame (extra ``tables``), one row a rater."""
        import pandas

        return pandas.DataFrame({s.__name__: getattr(self, s.__name__) for s in STATISTICS}, self.raters)


def rater_performance(tally: Tally, against: str | Column = "consensus") -> RaterPerformance:
    """Sensitivity, specificity, PPV, NPV, kappa, Dice and IoU of every rater.

    ``against`` is ``"consensus"`` (the 0.5 vote of all), ``"others"`` (that of the other raters), or a
    column, which is then not judged itself. All labels but background count as marked.

    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0, 0], "B": [1, 1, 0, 0], "C": [1, 0, 0, 1]})
    >>> rater_performance(t).sensitivity
    array([1. , 1. , 0.5])
    """
    check_named_raters(tally, "performance")
    judged = list(range(len(tally.raters)))
    if against == "consensus":
        truth, known = _all(vote(tally).hard, tally.rated > 0, len(judged))
    elif against == "others":
        share = others_share(tally)
        truth, known = share >= 0.5, ~np.isnan(share)
    else:
        column = tally.position(against)
        judged = [i for i in judged if tally.raters[i] != column]
        codes = tally.patterns[:, column]
        truth, known = _all(np.isin(codes, tally.labels.marks), codes != VOID, len(judged))
    names = tuple(tally.rater_names[i] for i in judged)
    tables = _tables(tally, [tally.raters[i] for i in judged], truth, known)
    return RaterPerformance(names, str(against), tables, *(s.of(tables, BINARY) for s in STATISTICS))


def _all(truth: Flags, known: Flags, raters: int) -> tuple[Flags, Flags]:
    """The same truth for every rater."""
    return np.repeat(truth[:, None], raters, axis=1), np.repeat(known[:, None], raters, axis=1)


def _tables(tally: Tally, columns: list[int], truth: Flags, known: Flags) -> Values:
    """(raters, 2, 2): items by each rater's decision and his truth."""
    rows = tally.patterns[:, columns]
    marked, counted = np.isin(rows, tally.labels.marks), (rows != VOID) & known
    cells = [[tally.counts @ (counted & (marked == d) & (truth == t)) for t in (False, True)] for d in (False, True)]
    return np.asarray(cells, np.float64).transpose(2, 0, 1)


@dataclass(frozen=True)
class RaterTendency:
    """What each rater tends to do."""

    raters: tuple[str, ...]
    relative_area: Values
    """Area marked over the mean of the others'; nan where the others marked nothing."""
    misses: Values
    """The share of the others' consensus that he left; nan where that is empty."""
    extra: Values
    """The share of what he marked that nobody else did; nan where he marked nothing."""


def rater_tendency(tally: Tally) -> RaterTendency:
    """Relative area, misses and extras of every rater; all labels but background count as marked.

    >>> import manytruths as mt
    >>> found = rater_tendency(mt.tally({"A": [1, 1, 1, 1, 0], "B": [1, 1, 0, 0, 0], "C": [1, 1, 0, 0, 0]}))
    >>> found.relative_area.round(2), found.extra
    (array([2.  , 0.67, 0.67]), array([0.5, 0. , 0. ]))
    """
    check_named_raters(tally, "tendency")
    rows = tally.patterns[:, tally.raters]
    share = others_share(tally)
    counted = (rows != VOID) & ~np.isnan(share)
    marked = counted & np.isin(rows, tally.labels.marks)
    consensus = counted & (share >= 0.5)
    area = tally.counts @ marked
    return RaterTendency(
        tally.rater_names,
        _ratio(area, tally.counts @ np.where(counted, share, 0)),
        _ratio(tally.counts @ (consensus & ~marked), tally.counts @ consensus),
        _ratio(tally.counts @ (marked & (share == 0)), area),
    )


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> Values:
    share = np.full(len(part), np.nan)
    np.divide(part, whole, out=share, where=whole != 0)
    return share
