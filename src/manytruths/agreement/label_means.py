"""Means over labels: each label against the rest, then averaged.

With several labels, uniting them answers a question that nobody asked: two tissues that fill an image overlap
completely when they are taken as one. The macro mean of a statistic s is ::

    M = 1/L Σ_l m_l        m_l = mean over subjects of s(label l against the rest), where it is defined

A label that nobody used in a case has no value there. The sampling error of M follows from the subjects' contributions

    p_s = M + n/L Σ_l (s_sl − m_l) / n_l        over the labels that are defined for subject s

whose mean is M; where every label is defined for every subject, they are the subjects' own means over labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.labels import Labels
from ..core.tally import Tally, find_rows
from ..core.undefined import Undefined, divide

Statistic = Callable[[Tally], float]

ONE_LABEL = Labels((0, 1), ("rest", "label"))
"""One label against the rest."""


def one_label_tables(tables: NDArray[np.float64], code: int) -> NDArray[np.float64]:
    """(…, 2, 2) counts of one label against the rest from (…, L, L) counts of all.

    >>> one_label_tables(np.array([[5, 1, 0], [2, 3, 0], [0, 0, 4]]), 1)
    array([[9, 1],
           [2, 3]])
    """
    both, first, second = tables[..., code, code], tables[..., code, :].sum(axis=-1), tables[..., :, code].sum(axis=-1)
    neither = tables.sum(axis=(-1, -2)) - first - second + both
    rows = [np.stack([neither, second - both], axis=-1), np.stack([first - both, both], axis=-1)]
    return np.stack(rows, axis=-2)


def label_tallies(tally: Tally) -> dict[str, Tally]:
    """The tally of each label but background against the rest, by the label's name."""
    return {tally.labels.names[code]: tally.only(tally.labels.names[code]) for code in tally.labels.marks}


def mean_over_labels(values: Iterable[float]) -> float:
    """The mean of the labels' values that are defined."""
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else Undefined("undefined_for_every_label")


def contributions(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each subject contributes to the macro mean of (subjects, labels) values; NaN where no label is defined.

    >>> contributions(np.array([[0.8, 0.6], [0.6, np.nan]]))
    array([0.7, 0.6])
    """
    known = ~np.isnan(values)
    counts = known.sum(axis=0)
    used, here = counts > 0, known.any(axis=1)
    means = divide(np.where(known, values, 0).sum(axis=0), counts)
    apart = np.where(known, values - means, 0)[:, used] / counts[used]
    each = means[used].mean() + here.sum() / max(1, used.sum()) * apart.sum(axis=1) if used.any() else np.nan
    return np.where(here, each, np.nan)


class MacroMean:
    """The mean of a statistic over labels, each of them against the rest, as a statistic of a tally.

    :func:`confidence_interval` takes it: ``mt.confidence_interval(mt.MacroMean(mt.MeanPairwise(mt.dice)), tallies)``.

    Parameters
    ----------
    statistic : callable
        What to average: a statistic of a tally of two labels.
    """

    def __init__(self, statistic: Statistic) -> None:
        self.statistic = statistic
        self.__name__ = getattr(statistic, "__name__", repr(statistic))
        if hasattr(statistic, "without_each"):
            self.without_each = self._without_each

    def __call__(self, tally: Tally) -> float:
        """Compute the mean over the labels of one tally."""
        return mean_over_labels(self.statistic(table) for table in label_tallies(tally).values())

    def batch(self, tally: Tally, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """The same for every row of ``counts`` over the patterns of ``tally``, NaN where no label has it."""
        values = np.array([self._label(tally, table, counts) for table in label_tallies(tally).values()])
        known = ~np.isnan(values)
        return divide(np.where(known, values, 0).sum(axis=0), known.sum(axis=0))

    def _without_each(self, tally: Tally, raters: Sequence[str]) -> NDArray[np.float64]:
        """The same without each of some raters, NaN where no label has it."""
        each: Any = self.statistic.without_each  # type: ignore[attr-defined]
        values = np.array([each(table, raters) for table in label_tallies(tally).values()], np.float64)
        known = ~np.isnan(values)
        return divide(np.where(known, values, 0).sum(axis=0), known.sum(axis=0))

    def _label(self, tally: Tally, table: Tally, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        code = tally.labels.index(table.labels.names[1])
        rows = np.where(tally.patterns == code, 1, np.where(tally.patterns < len(tally.labels), 0, tally.patterns))
        where = find_rows(table, rows.astype(np.uint8))
        merged = np.zeros((len(table.counts), len(counts)), np.int64)
        np.add.at(merged, where, np.asarray(counts).T)
        batch: Any = getattr(self.statistic, "batch", None)
        if batch is not None:
            return np.asarray(batch(table, merged.T), np.float64)
        return np.array([self.statistic(table.recount(each)) for each in merged.T], np.float64)

    def __repr__(self) -> str:
        return f"<macro mean of {self.__name__}>"


def macro_mean(statistic: Statistic, tally: Tally) -> float:
    """Mean of a statistic over labels, each of them against the rest.

    Parameters
    ----------
    statistic : callable
        A statistic of a tally: :func:`positive_agreement`, :class:`MeanPairwise` of :func:`dice`, or another.
    tally : Tally
        Table of two or more raters, of any number of labels.

    Returns
    -------
    float
        The mean over the labels for which the statistic is defined; :class:`Undefined` where there is none.

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 1, 1, 2, 2], "B": [1, 1, 1, 2, 2, 1]})
    >>> round(mt.macro_mean(mt.MeanPairwise(mt.dice), t), 4)
    0.625
    """
    return MacroMean(statistic)(tally)
