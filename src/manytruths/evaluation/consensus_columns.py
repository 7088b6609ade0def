"""Truths as further columns of a table, so that a prediction meets them as it meets a rater."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.columns import Column
from ..core.errors import CallError
from ..core.labels import VOID
from ..core.tallies import find_rows
from ..core.tally import Tally
from ..fusion import Consensus, estimate
from ..fusion.registry import options_of
from ..fusion.result import first_readings

Options = Mapping[str, Mapping[str, Any]]

LEAST_LEFT = 2
"""So many raters make a consensus when one is left out."""


def with_consensus(tally: Tally, methods: Sequence[str], options: Options | None = None) -> Tally:
    """The table with the decisions of each method as a column of role ``reference``.

    ``options`` are those of a method, by its name. A method that looks at neighbours wants the masks: estimate it with
    :func:`manytruths.consensus` and count its map as ``references={name: map}``.

    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0], "B": [1, 0, 0], "C": [1, 1, 1]}, predictions={"unet": [1, 1, 0]})
    >>> t = with_consensus(t, ["vote:0.5", "vote:all"])
    >>> mt.dice(t.pair("unet", "vote:all"))
    0.6666666666666666
    """
    return append_estimates(tally, estimate_all(tally, methods, options))


def estimate_all(
    tally: Tally,
    methods: Sequence[str],
    options: Options | None = None,
    *,
    left_out: bool = False,
    raters: Tally | None = None,
) -> dict[Column, PatternEstimate]:
    """Every method on the patterns of a table; with ``left_out`` also that of the others, for each rater.

    ``raters`` is the table to estimate from; by default the raters of ``tally``, in their first session.

    A rater who is judged by a consensus that he took part in looks too good. By that of the others he does not, and an
    algorithm that is judged by the same truths can be compared with him. There is none with fewer than two others.
    """
    raters = first_readings(tally) if raters is None else raters
    found = {consensus_column(m): PatternEstimate.of(raters, m, options, tally) for m in methods}
    present = [c for c in raters.columns if (raters.patterns[:, raters.position(c)] != VOID).any()]
    for rater in present if left_out and len(present) > LEAST_LEFT else ():
        others = raters.without(rater)
        found |= {left_out_column(m, rater.name): PatternEstimate.of(others, m, options, tally) for m in methods}
    return found


def append_estimates(tally: Tally, found: Mapping[Column, PatternEstimate]) -> Tally:
    """The table with estimates as further columns."""
    for column, estimated in found.items():
        if column in tally.columns:
            raise CallError(f"there is a column {column} already; leave it out, or rename it")
        tally = tally.append(column, estimated.codes)
    return tally


def consensus_column(method: str) -> Column:
    """Where the decisions of a method stand."""
    return Column(method, "reference")


def left_out_column(method: str, rater: str) -> Column:
    """Where those of a method without one of the raters stand."""
    return Column(method, "reference", left_out=rater)


@dataclass(frozen=True, eq=False)
class PatternEstimate:
    """A consensus on the patterns of a larger table."""

    codes: NDArray[np.uint8]
    probability: NDArray[np.float64]
    """How likely each pattern is marked."""
    found: Consensus

    @classmethod
    def of(cls, raters: Tally, method: str, options: Options | None, tally: Tally) -> PatternEstimate:
        """A method estimated from the raters' own table."""
        found = estimate(raters, method, **options_of(method, options or {}))
        where = find_rows(raters, tally.patterns[:, [tally.position(c) for c in raters.columns]])
        hard, chance = np.asarray(found.hard), np.asarray(found.probability)
        if chance.ndim == 2:
            chance = 1 - chance[:, raters.labels.background or 0]
        rated = raters.rated[where] > 0
        # of several labels, what only tells marked from not gives the first of them
        codes = np.where(hard, raters.labels.marks[0], 0) if hard.dtype == bool else hard
        return cls(np.where(rated, codes[where], VOID).astype(np.uint8), chance[where], found)
