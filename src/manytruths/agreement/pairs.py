"""Statistics of two columns, all pairs at once.

A pair statistic is a formula over contingency tables: (…, L, L) counts of items by the label that the first
and the second column gave, over the items that both rated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.labels import Labels
from ..core.tally import Tally, cross_tabulate
from ..core.undefined import Undefined
from .votes import SIGNATURE

Tables = NDArray[np.float64]
Formula = Callable[[Tables, Labels], NDArray[np.float64]]
Statistic = Callable[[Tally], float]


def contingency(tally: Tally, columns: Sequence[int] | None = None) -> Tables:
    """(C, C, L, L) counts for every pair of the columns (by default the raters), exact in float64."""
    if columns is None:
        return tally.contingency
    return cross_tabulate(tally.patterns, tally.counts, columns, len(tally.labels))


class PairStatistic:
    """A statistic of two columns: call it with the tally of a pair; :func:`pairwise` does all pairs."""

    __name__: str

    def __init__(self, formula: Formula, undefined: str) -> None:
        self.formula, self.undefined = formula, undefined
        update_wrapper(self, formula)
        self.__signature__ = SIGNATURE

    def __call__(self, tally: Tally) -> float:
        if len(tally.raters) != 2:
            names = ", ".join(tally.rater_names)
            raise CallError(
                f"{self.__name__} is a statistic of two raters; this tally has {len(tally.raters)} ({names}): "
                f"take tally.pair(a, b), or pairwise({self.__name__}, tally) for all"
            )
        return self.value(contingency(tally)[0, 1], tally.labels)

    def of(self, tables: Tables, labels: Labels) -> NDArray[np.float64]:
        """The statistic of every table, nan where undefined."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.formula(tables, labels), np.float64)

    def value(self, table: Tables, labels: Labels) -> float:
        """The statistic of one table, with the reason where it is undefined."""
        value = float(self.of(table, labels))
        if not np.isnan(value):
            return value
        return Undefined(self.undefined if table.sum() else "no_item_rated_by_both")

    def __repr__(self) -> str:
        return f"<pair statistic {self.__name__}>"


def pair_statistic(undefined: str) -> Callable[[Formula], PairStatistic]:
    """Make a formula over contingency tables a statistic; ``undefined`` is the code where it has no value."""
    return lambda formula: PairStatistic(formula, undefined)


def two_by_two(tables: Tables, labels: Labels) -> tuple[Tables, Tables, Tables, Tables]:
    """Both marked, only the first, only the second, neither; all labels but background count as marked."""
    if labels.background is None:
        raise CallError(
            f"this statistic wants background (0) among the labels; there are {', '.join(labels.describe())}"
        )
    marks, ground = list(labels.marks), labels.background
    both = tables[..., marks, :][..., marks].sum(axis=(-1, -2))
    first, second = tables[..., marks, ground].sum(axis=-1), tables[..., ground, marks].sum(axis=-1)
    return both, first, second, tables[..., ground, ground]


@dataclass(frozen=True)
class PairMatrix:
    """A statistic between every two columns."""

    statistic: str
    names: tuple[str, ...]
    values: NDArray[np.float64]

    def __getitem__(self, pair: tuple[str, str]) -> float:
        a, b = pair
        return float(self.values[self.names.index(a), self.names.index(b)])

    def pairs(self) -> list[tuple[str, str, float]]:
        """Each two columns once."""
        return [
            (self.names[i], self.names[j], float(self.values[i, j])) for i, j in combinations(range(len(self.names)), 2)
        ]

    def mean(self) -> float:
        """Over the pairs for which it is defined, each taken both ways round."""
        values = self.values[~np.eye(len(self.names), dtype=bool)]
        defined = values[~np.isnan(values)]
        return float(defined.mean()) if defined.size else Undefined("undefined_for_every_pair")

    def to_frame(self) -> Any:
        """A pandas DataFrame (extra ``tables``)."""
        import pandas

        return pandas.DataFrame(self.values, self.names, self.names)


def pairwise(statistic: PairStatistic | Statistic, tally: Tally, *, sessions: bool = False) -> PairMatrix:
    """A statistic between every two raters; with ``sessions``, between every two readings.

    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0], "C": [1, 1, 0, 0]})
    >>> pairwise(mt.dice, t)["A", "C"]
    1.0
    """
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
    """The mean of a pair statistic over all pairs of raters; the one pairwise number that exchangeable raters allow."""

    def __init__(self, statistic: PairStatistic) -> None:
        self.statistic = statistic
        self.__name__ = statistic.__name__

    def __call__(self, tally: Tally) -> float:
        tables = contingency(tally)
        names = tuple(map(str, range(len(tables))))
        return PairMatrix(self.__name__, names, self.statistic.of(tables, tally.labels)).mean()

    def batch(self, tally: Tally, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """The same for every row of ``counts`` over the patterns of ``tally``, nan where no pair has it."""
        columns, labels = tally.raters, len(tally.labels)
        chosen = tally.patterns[:, columns][:, :, None] == np.arange(labels)
        found = []
        for i, j in combinations(range(len(columns)), 2):
            both = chosen[:, i, :, None] & chosen[:, j, None, :]
            tables = counts @ both.reshape(len(both), -1).astype(np.float64)
            square = tables.reshape(-1, labels, labels)
            found += [self.statistic.of(t, tally.labels) for t in (square, square.swapaxes(1, 2))]
        values = np.stack(found) if found else np.full((1, len(counts)), np.nan)
        known = ~np.isnan(values)
        total = np.where(known, values, 0).sum(axis=0)
        mean = np.full(len(counts), np.nan)
        np.divide(total, known.sum(axis=0), out=mean, where=known.any(axis=0))
        return mean


def mean_pairwise(statistic: PairStatistic, tally: Tally) -> float:
    """The mean of a pair statistic over all pairs of raters; see :class:`MeanPairwise`."""
    return MeanPairwise(statistic)(tally)
