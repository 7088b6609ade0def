"""Overlap of every prediction with every rater and reference, from one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..agreement import (
    PairStatistic,
    cohen_kappa,
    contingency,
    dice,
    iou,
    ppv,
    sensitivity,
    specificity,
    volume_difference,
)
from ..core.columns import Column
from ..core.errors import CallError
from ..core.labels import Labels
from ..core.tally import Tally

OVERLAPS: tuple[PairStatistic, ...] = (dice, iou, sensitivity, specificity, ppv, cohen_kappa, volume_difference)
"""Statistics of a prediction and a reference."""

Columns = Sequence[str | Column] | None


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Counts of every scored column with every column that it is scored against."""

    judged: tuple[Column, ...]
    """What is scored."""
    against: tuple[Column, ...]
    """What it is scored against."""
    tables: NDArray[np.float64]
    """(judged, against, labels, labels) pixels by what the two decided."""
    labels: Labels
    """The labels of the tables."""

    def value(self, judged: str | Column, against: str | Column, statistic: PairStatistic) -> float:
        """One number, with the reason where it is undefined."""
        i, j = _position(self.judged, judged), _position(self.against, against)
        return statistic.value(self.tables[i, j], self.labels)

    def values(self, statistic: PairStatistic) -> NDArray[np.float64]:
        """(judged, against) values, nan where undefined."""
        return statistic.of(self.tables, self.labels)

    def to_frame(self) -> Any:
        """A pandas DataFrame (extra ``tables``): one row per pair of columns."""
        import pandas

        index = pandas.MultiIndex.from_product([map(str, self.judged), map(str, self.against)])
        return pandas.DataFrame({s.__name__: self.values(s).ravel() for s in OVERLAPS}, index.set_names(NAMES))


NAMES = ("algorithm", "against")


def overlaps(tally: Tally, judged: Columns = None, against: Columns = None) -> Overlaps:
    """Overlap of every algorithm with every rater and reference, or of some columns with others.

    Parameters
    ----------
    tally : Tally
        Table of raters, predictions and references.
    judged, against : sequence of str or Column, optional
        Columns to score, and to score against; by default the algorithms, and the raters and references.

    Returns
    -------
    Overlaps
        The counts, from which ``values(mt.dice)`` and the like are computed.

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0], "B": [1, 0, 0]}, predictions={"unet": [1, 1, 0]})
    >>> overlaps(t).values(mt.dice)
    array([[1.        , 0.66666667]])
    """
    rows = [tally.position(c) for c in (tally.role("algorithm") if judged is None else judged)]
    references = [tally.columns[i] for i in tally.raters] + list(tally.role("reference"))
    columns = [tally.position(c) for c in (references if against is None else against)]
    if not rows or not columns:
        raise CallError("nothing to score: the table needs a prediction, and a rater or a reference")
    together = list(dict.fromkeys([*rows, *columns]))
    place = {column: i for i, column in enumerate(together)}
    tables = contingency(tally, together)[np.ix_([place[i] for i in rows], [place[j] for j in columns])]
    who, whom = (tuple(tally.columns[i] for i in chosen) for chosen in (rows, columns))
    return Overlaps(who, whom, tables, tally.labels)


def _position(columns: tuple[Column, ...], wanted: str | Column) -> int:
    for i, column in enumerate(columns):
        if column == wanted or str(column) == wanted:
            return i
    raise CallError(f"no column {str(wanted)!r}; there are {', '.join(map(str, columns))}")
