"""Statistics of two columns, all pairs at once.

A pair statistic is a formula over contingency tables: (…, L, L) counts of items by the label that the first
and the second column gave, over the items that both rated. To add one, write its formula in ``overlap.py`` under
:func:`pair_statistic`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from itertools import combinations
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.labels import Labels
from ..core.tally import Tally, check_tally, cross_tabulate
from ..core.undefined import Undefined, divide
from .votes import SIGNATURE, complete_docstring

Tables = NDArray[np.float64]
Formula = Callable[[Tables, Labels], NDArray[np.float64]]
Statistic = Callable[[Tally], float]


def contingency(tally: Tally, columns: Sequence[int] | None = None) -> Tables:
    """(C, C, L, L) counts for every pair of the columns (by default the raters), exact in float64."""
    if columns is None or tuple(columns) == tally.raters:
        return tally.contingency
    return cross_tabulate(tally.patterns, tally.counts, columns, len(tally.labels))


class PairStatistic:
    """A statistic of two raters, called like a function with the tally of a pair.

    :func:`dice`, :func:`cohen_kappa` and their relatives are such objects. :func:`pairwise` computes one for all pairs
    of a tally.

    Parameters
    ----------
    formula : callable
        From (…, L, L) contingency tables and labels to values. Its docstring becomes the statistic's, with Parameters
        and Returns added.
    undefined : str
        Code where the formula has no value, see :class:`Undefined`.
    """

    __name__: str

    def __init__(self, formula: Formula, undefined: str) -> None:
        self.formula, self.undefined = formula, undefined
        update_wrapper(self, formula)
        self.__signature__ = SIGNATURE
        described = "Table of two raters; take ``tally.pair(a, b)`` of a larger one, or :func:`pairwise`."
        self.__doc__ = complete_docstring(formula.__doc__, described, undefined)

    def __call__(self, tally: Tally) -> float:
        """Compute the statistic of the two raters of a tally."""
        check_tally(tally, self.__name__)
        if len(tally.raters) != 2:
            names = ", ".join(tally.rater_names)
            raise CallError(
                f"{self.__name__} is a statistic of two raters; this tally has {len(tally.raters)} ({names}): "
                f"take tally.pair(a, b), or pairwise({self.__name__}, tally) for all"
            )
        return self.value(contingency(tally)[0, 1], tally.labels)

    def of(self, tables: Tables, labels: Labels) -> NDArray[np.float64]:
        """Compute the statistic of every contingency table.

        Parameters
        ----------
        tables : numpy.ndarray
            (…, L, L) counts of items by the labels of the first and the second rater.
        labels : Labels
            The L labels.

        Returns
        -------
        numpy.ndarray
            One value per table, NaN where undefined.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.formula(tables, labels), np.float64)

    def value(self, table: Tables, labels: Labels) -> float:
        """Compute the statistic of one contingency table, with the reason where it is undefined."""
        value = float(self.of(table, labels))
        if not np.isnan(value):
            return value
        return Undefined(self.undefined if table.sum() else "no_item_rated_by_both")

    def values(self, tables: Tables, labels: Labels) -> list[float]:
        """Compute the statistic of each of (n, L, L) tables, with the reason where it is undefined."""
        found, items = self.of(tables, labels).tolist(), tables.sum(axis=(-1, -2)).tolist()
        why = {any_: Undefined(self.undefined if any_ else "no_item_rated_by_both") for any_ in (True, False)}
        return [why[n > 0] if isnan(v) else v for v, n in zip(found, items, strict=True)]

    def __repr__(self) -> str:
        return f"<pair statistic {self.__name__}>"


def pair_statistic(undefined: str) -> Callable[[Formula], PairStatistic]:
    """Make a formula over contingency tables a statistic; ``undefined`` is the code where it has no value."""
    return lambda formula: PairStatistic(formula, undefined)


def two_by_two(tables: Tables, labels: Labels) -> tuple[Tables, Tables, Tables, Tables]:
    """Both marked, only the first, only the second, neither; all labels but background count as marked."""
    if labels.background is None:
        raise CallError(
            f"this statistic needs background (0) among the labels; there are {', '.join(labels.describe())}"
        )
    marks, ground = list(labels.marks), labels.background
    both = tables[..., marks, :][..., marks].sum(axis=(-1, -2))
    first, second = tables[..., marks, ground].sum(axis=-1), tables[..., ground, marks].sum(axis=-1)
    return both, first, second, tables[..., ground, ground]


@dataclass(frozen=True)
class PairMatrix:
    """A statistic between every two raters; ``matrix["anna", "ben"]`` is that of one pair.

    Attributes
    ----------
    statistic : str
        Name of the statistic.
    names : tuple of str
        The raters, in the order of rows and columns.
    values : numpy.ndarray
        (raters, raters) values, NaN where undefined.
    """

    statistic: str
    names: tuple[str, ...]
    values: NDArray[np.float64]

    def __getitem__(self, pair: tuple[str, str]) -> float:
        a, b = pair
        return float(self.values[self.names.index(a), self.names.index(b)])

    def pairs(self) -> list[tuple[str, str, float]]:
        """Name the two raters and the value of every pair, each once."""
        return [
            (self.names[i], self.names[j], float(self.values[i, j])) for i, j in combinations(range(len(self.names)), 2)
        ]

    def mean(self) -> float:
        """Mean over the pairs for which the statistic is defined, each taken both ways round."""
        values = self.values[~np.eye(len(self.names), dtype=bool)]
        defined = values[~np.isnan(values)]
        return float(defined.mean()) if defined.size else Undefined("undefined_for_every_pair")

    def to_frame(self) -> Any:
        """The matrix as a pandas DataFrame (extra ``tables``)."""
        import pandas

        return pandas.DataFrame(self.values, self.names, self.names)


def pairwise(statistic: PairStatistic | Statistic, tally: Tally, *, sessions: bool = False) -> PairMatrix:
    """Compute a statistic between every two raters.

    Parameters
    ----------
    statistic : PairStatistic or callable
        :func:`dice`, :func:`cohen_kappa` or another; or any function of the tally of two raters.
    tally : Tally
        Table of two or more raters.
    sessions : bool
        Compare every two readings, that is every rater in every session, instead of every two raters.

    Returns
    -------
    PairMatrix
        The statistic of every pair.

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0], "C": [1, 1, 0, 0]})
    >>> mt.pairwise(mt.dice, t)["A", "C"]
    1.0
    """
    check_tally(tally, "pairwise")
    if tally.exchangeable:
        raise CallError("raters are exchangeable: a slot is not a person, so pairs of slots mean nothing")
    where = [i for i, c in enumerate(tally.columns) if c.role == "rater"] if sessions else list(tally.raters)
    names = tuple(str(tally.columns[i]) if sessions else tally.columns[i].name for i in where)
    if isinstance(statistic, PairStatistic):
        values = statistic.of(contingency(tally, where), tally.labels)
    else:
        pairs = [[tally.pair(tally.columns[i], tally.columns[j]) for j in where] for i in where]
        values = np.array([[statistic(pair) for pair in row] for row in pairs], np.float64)
    return PairMatrix(getattr(statistic, "__name__", repr(statistic)), names, values)


class MeanPairwise:
    """The mean of a pair statistic over all pairs of raters, as a statistic of a tally.

    The one pairwise number that exchangeable raters allow. :func:`confidence_interval` takes it:
    ``mt.confidence_interval(mt.MeanPairwise(mt.dice), tallies)``.

    Parameters
    ----------
    statistic : PairStatistic
        What to average.
    """

    def __init__(self, statistic: PairStatistic) -> None:
        self.statistic = statistic
        self.__name__ = statistic.__name__

    def __call__(self, tally: Tally) -> float:
        """Compute the mean over the pairs of one tally."""
        check_tally(tally, f"the mean of {self.__name__}")
        tables = contingency(tally)
        names = tuple(map(str, range(len(tables))))
        return PairMatrix(self.__name__, names, self.statistic.of(tables, tally.labels)).mean()

    def without_each(self, tally: Tally, raters: Sequence[str]) -> NDArray[np.float64]:
        """The mean without each of some raters, all from one table of pairs; NaN where no pair is left."""
        values = self.statistic.of(contingency(tally), tally.labels)
        known = ~np.isnan(values) & ~np.eye(len(values), dtype=bool)
        total = np.where(known, values, 0.0)
        pairs = np.array([known.sum(axis=0) + known.sum(axis=1), total.sum(axis=0) + total.sum(axis=1)])
        own = dict(zip(tally.rater_names, pairs.T, strict=True))
        left = np.array([[known.sum(), total.sum()] - own.get(name, np.zeros(2)) for name in raters])
        return divide(left[:, 1], left[:, 0])

    def without_parts(self, tally: Tally, parts: Iterable[Sequence[Tally]]) -> NDArray[np.float64]:
        """The mean of a sum of tallies without some of them at a time, from tables of pairs; NaN where undefined."""
        whole, names = contingency(tally), tally.rater_names
        values = []
        for part in parts:
            left = whole.copy()
            for table in part:
                where = [names.index(name) for name in table.rater_names]
                left[np.ix_(where, where)] -= contingency(table)
            values.append(PairMatrix(self.__name__, names, self.statistic.of(left, tally.labels)).mean())
        return np.array(values, np.float64)

    def batch(self, tally: Tally, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """The same for every row of ``counts`` over the patterns of ``tally``, NaN where no pair has it."""
        columns, labels = tally.raters, len(tally.labels)
        chosen = tally.patterns[:, columns][:, :, None] == np.arange(labels)
        parts = []
        for i, j in combinations(range(len(columns)), 2):
            both = chosen[:, i, :, None] & chosen[:, j, None, :]
            tables = counts @ both.reshape(len(both), -1).astype(np.float64)
            square = tables.reshape(-1, labels, labels)
            parts += [self.statistic.of(t, tally.labels) for t in (square, square.swapaxes(1, 2))]
        values = np.stack(parts) if parts else np.full((1, len(counts)), np.nan)
        known = ~np.isnan(values)
        return divide(np.where(known, values, 0).sum(axis=0), known.sum(axis=0))


def mean_pairwise(statistic: PairStatistic, tally: Tally) -> float:
    """Mean of a pair statistic over all pairs of raters.

    Parameters
    ----------
    statistic : PairStatistic
        :func:`dice`, :func:`cohen_kappa` or another.
    tally : Tally
        Table of two or more raters, who may be exchangeable.

    Returns
    -------
    float
        The mean over the pairs for which the statistic is defined, each taken both ways round; :class:`Undefined` where
        there is none.

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0], "C": [1, 1, 0, 0]})
    >>> round(mt.mean_pairwise(mt.dice, t), 4)
    0.7778
    """
    return MeanPairwise(statistic)(tally)
