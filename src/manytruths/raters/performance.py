"""Each rater held against the consensus or the other raters: performance and tendencies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..agreement import PairStatistic, cohen_kappa, dice, iou, npv, ppv, sensitivity, specificity
from ..core.columns import Column
from ..core.errors import CallError
from ..core.labels import VOID, Labels
from ..core.tally import Aligned, Tally
from ..core.undefined import divide
from ..fusion import others_share
from ..fusion.vote import decide_by_share
from .differences import check_named_raters

Values = NDArray[np.float64]
Counts = NDArray[np.int64] | Values
Flags = NDArray[np.bool_]

BINARY = Labels((0, 1))
STATISTICS: tuple[PairStatistic, ...] = (sensitivity, specificity, ppv, npv, cohen_kappa, dice, iou)


@dataclass(frozen=True)
class RaterPerformance:
    """How each rater performs against a consensus.

    Every statistic is an array of one value per rater, NaN where undefined, for the reason that :meth:`value` gives.

    Attributes
    ----------
    raters : tuple of str
        The raters.
    against : str
        ``consensus``, ``others``, or the column that they were compared with.
    tables : numpy.ndarray
        (raters, 2, 2) items by what the rater and the consensus decided.
    sensitivity : numpy.ndarray
        Share of the consensus that the rater marked.
    specificity : numpy.ndarray
        Share of what the consensus leaves unmarked that the rater left unmarked.
    ppv : numpy.ndarray
        Positive predictive value.
    npv : numpy.ndarray
        Negative predictive value.
    cohen_kappa : numpy.ndarray
        Cohen's kappa.
    dice : numpy.ndarray
        Dice's coefficient.
    iou : numpy.ndarray
        Intersection over union.
    """

    raters: tuple[str, ...]
    against: str
    tables: Values
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
        """The statistics as a pandas DataFrame (extra ``tables``), one row per rater."""
        import pandas

        return pandas.DataFrame({s.__name__: getattr(self, s.__name__) for s in STATISTICS}, self.raters)


def rater_performance(tally: Tally, against: str | Column = "consensus") -> RaterPerformance:
    """Compute sensitivity, specificity, PPV, NPV, kappa, Dice and IoU of every rater.

    Of several labels, take one at a time (``tally.only("tumour")``), or unite them (``tally.foreground()``): a tally of
    several is refused. Only items count that the rater and those they are compared with have rated.

    Parameters
    ----------
    tally : Tally
        Table of two or more raters.
    against : str or Column
        ``"consensus"``: the 0.5 vote of all raters (A / m ≥ 0.5). ``"others"``: that of the other raters, so that
        nobody is compared with themselves. Or a column, which is then not evaluated itself.

    Returns
    -------
    RaterPerformance
        The statistics of every rater.

    References
    ----------
    Saur SC et al. Eur Radiol 2010;20:1599–1606.
    Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
    algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572, 3.3. doi:10.1109/TIP.2016.2544703

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0, 0], "B": [1, 1, 0, 0], "C": [1, 0, 0, 1]})
    >>> mt.rater_performance(t).sensitivity
    array([1. , 1. , 0.5])
    """
    names, tables = performance_tables(tally, against)
    return RaterPerformance(names, str(against), tables, *(s.of(tables, BINARY) for s in STATISTICS))


def performance_tables(tally: Tally, against: str | Column = "consensus") -> tuple[tuple[str, ...], Values]:
    """The raters, and (raters, 2, 2) items by what each of them and the consensus decided."""
    check_named_raters(tally, "performance")
    _check_one_label(tally, "performance")
    parts = [_performance_tables(part, against, part.counts) for part in _blocks(tally)]
    return parts[0][0], np.sum([tables for _, tables in parts], axis=0)


def performance_by_case(aligned: Aligned, against: str) -> tuple[tuple[str, ...], Values]:
    """The same of many cases at once, (cases, raters, 2, 2)."""
    check_named_raters(aligned.whole, "performance")
    _check_one_label(aligned.whole, "performance")
    names, tables = _performance_tables(aligned.whole, against, aligned.counts.astype(np.float64))
    return names, tables[aligned.place]


_MOST_CELLS = 500_000
"""Patterns times raters that are looked at together."""


def _blocks(tally: Tally) -> list[Tally]:
    """The tally in parts, so that no array of all patterns and raters is made where there are many."""
    step = max(1, _MOST_CELLS // max(1, len(tally.columns)))
    if len(tally.counts) <= step:
        return [tally]
    return [
        replace(tally, patterns=tally.patterns[at : at + step], counts=tally.counts[at : at + step])
        for at in range(0, len(tally.counts), step)
    ]


def _performance_tables(tally: Tally, against: str | Column, counts: Counts) -> tuple[tuple[str, ...], Values]:
    judged = list(range(len(tally.raters)))
    if against == "consensus":
        truth, known = _repeat_for_raters(_majority(tally), tally.rated > 0, len(judged))
    elif against == "others":
        share = others_share(tally)
        truth, known = share >= 0.5, ~np.isnan(share)
    else:
        column = tally.position(against)
        judged = [i for i in judged if tally.raters[i] != column]
        codes = tally.patterns[:, column]
        truth, known = _repeat_for_raters(np.isin(codes, tally.labels.marks), codes != VOID, len(judged))
    names = tuple(tally.rater_names[i] for i in judged)
    return names, _contingency_tables(tally, [tally.raters[i] for i in judged], truth, known, counts)


def _check_one_label(tally: Tally, what: str) -> None:
    """Raise CallError where there are several labels: a rater who confuses them would seem to mark well."""
    if tally.labels.several:
        names = [tally.labels.names[code] for code in tally.labels.marks]
        raise CallError(
            f"{what} is about one label, but there are {len(names)}; take one of them, as in tally.only({names[0]!r}), "
            "or unite them by tally.foreground()"
        )


def _majority(tally: Tally) -> Flags:
    """What half of the raters or more marked."""
    return decide_by_share(tally, 0.5, np.ones(len(tally.raters)))[1]


def _repeat_for_raters(truth: Flags, known: Flags, raters: int) -> tuple[Flags, Flags]:
    """The same truth for every rater."""
    return np.repeat(truth[:, None], raters, axis=1), np.repeat(known[:, None], raters, axis=1)


def _contingency_tables(tally: Tally, columns: list[int], truth: Flags, known: Flags, counts: Counts) -> Values:
    """(…, raters, 2, 2): items by each rater's decision and the truth they are compared with; counts of one or many."""
    rows = tally.patterns[:, columns]
    marked, counted = np.isin(rows, tally.labels.marks), (rows != VOID) & known
    cells = [[counts @ (counted & (marked == d) & (truth == t)) for t in (False, True)] for d in (False, True)]
    return np.moveaxis(np.asarray(cells, np.float64), (0, 1), (-2, -1))


@dataclass(frozen=True)
class RaterTendency:
    """What each rater tends to do: one value per rater.

    Attributes
    ----------
    raters : tuple of str
        The raters.
    relative_area : numpy.ndarray
        Area marked over the mean area of the others, above 1 where the rater draws large; NaN where the others marked
        nothing.
    misses : numpy.ndarray
        Share of the others' majority (A / m ≥ 0.5) that the rater left unmarked; NaN where that is empty.
    extra : numpy.ndarray
        Share of what the rater marked that nobody else marked; NaN where they marked nothing.
    """

    raters: tuple[str, ...]
    relative_area: Values
    misses: Values
    extra: Values


def rater_tendency(tally: Tally) -> RaterTendency:
    """Compute whether each rater draws large or small, misses, or marks what nobody else does.

    Over the items that the rater and at least one other rated, with A of the m *others* having marked an item: relative
    area is what the rater marked over Σ A / m. Of several labels, take one at a time (``tally.only("tumour")``), or
    unite them (``tally.foreground()``): a tally of several is refused.

    Parameters
    ----------
    tally : Tally
        Table of two or more raters.

    Returns
    -------
    RaterTendency
        Relative area, misses and extras of every rater.

    References
    ----------
    After Lampert TA, Stumpf A, Gançarski P. IEEE Trans Image Process 2016;25:2557–2572, 3.3.
    doi:10.1109/TIP.2016.2544703

    Examples
    --------
    >>> import manytruths as mt
    >>> found = mt.rater_tendency(mt.tally({"A": [1, 1, 1, 1, 0], "B": [1, 1, 0, 0, 0], "C": [1, 1, 0, 0, 0]}))
    >>> found.relative_area.round(2), found.extra
    (array([2.  , 0.67, 0.67]), array([0.5, 0. , 0. ]))
    """
    check_named_raters(tally, "tendency")
    _check_one_label(tally, "tendency")
    area, others, missed, agreed, alone = np.sum([_tendency_sums(part) for part in _blocks(tally)], axis=0)
    return RaterTendency(tally.rater_names, divide(area, others), divide(missed, agreed), divide(alone, area))


def _tendency_sums(tally: Tally) -> Values:
    """Of each rater: what they marked, what each of the others did, what others agree on that they left, all of that,
    and what they marked alone."""
    rows = tally.patterns[:, tally.raters]
    share = others_share(tally)
    counted = (rows != VOID) & ~np.isnan(share)
    marked = counted & np.isin(rows, tally.labels.marks)
    consensus = counted & (share >= 0.5)
    sums = (
        marked, np.where(counted, share, 0), consensus & ~marked, consensus, marked & (share == 0),
    )  # fmt: skip
    return np.array([tally.counts @ each for each in sums], np.float64)
