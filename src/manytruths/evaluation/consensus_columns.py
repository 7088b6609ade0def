"""Consensus decisions as further columns of a table, so that predictions are scored against them as against raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.columns import Column
from ..core.errors import CallError
from ..core.labels import VOID
from ..core.tally import Tally, find_rows
from ..fusion import Consensus, estimate
from ..fusion.registry import options_of
from ..fusion.result import first_readings

Options = Mapping[str, Mapping[str, Any]]

LEAST_LEFT = 2
"""At least so many raters must remain when one is left out."""


def with_consensus(tally: Tally, methods: Sequence[str], options: Options | None = None) -> Tally:
    """Add the decisions of each consensus method as a column of role ``reference``.

    Spatial methods need the masks: estimate them with :func:`manytruths.consensus` and count their map as
    ``references={name: map}``.

    Parameters
    ----------
    tally : Tally
        Table of raters and predictions.
    methods : sequence of str
        Methods of consensus, such as ``"vote:0.5"``.
    options : mapping, optional
        Options of the methods, by the name of the estimator.

    Returns
    -------
    Tally
        The table with one more column per method.

    Examples
    --------
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
    """Estimate every method on the patterns of a table; with ``left_out`` also without each of the raters.

    ``raters`` is the table to estimate from; by default the raters of ``tally``, in their first session.

    A rater who is scored against a consensus that they contributed to looks too good. Against that of the others they
    do not, and an algorithm that is scored against the same can be compared with them. There is none with fewer than
    two others.
    """
    raters = first_readings(tally) if raters is None else raters
    estimates = {consensus_column(m): PatternEstimate.of(raters, m, options, tally) for m in methods}
    present = [c for c in raters.columns if (raters.patterns[:, raters.position(c)] != VOID).any()]
    for rater in present if left_out and len(present) > LEAST_LEFT else ():
        others = raters.without(rater)
        estimates |= {left_out_column(m, rater.name): PatternEstimate.of(others, m, options, tally) for m in methods}
    return estimates


def append_estimates(tally: Tally, estimates: Mapping[Column, PatternEstimate]) -> Tally:
    """The table with estimates as further columns."""
    for column, estimated in estimates.items():
        if column in tally.columns:
            raise CallError(f"there is a column {column} already; leave it out, or rename it")
        tally = tally.append(column, estimated.codes)
    return tally


def consensus_column(method: str) -> Column:
    """The column of a method's decisions."""
    return Column(method, "reference")


def left_out_column(method: str, rater: str) -> Column:
    """The column of a method's decisions without one of the raters."""
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
        result = estimate(raters, method, **options_of(method, options or {}))
        where = find_rows(raters, tally.patterns[:, [tally.position(c) for c in raters.columns]])
        hard, chance = np.asarray(result.hard), np.asarray(result.probability)
        if chance.ndim == 2:
            chance = 1 - chance[:, raters.labels.background or 0]
        rated = raters.rated[where] > 0
        # of several labels, what only tells marked from not gives the first of them
        codes = np.where(hard, raters.labels.marks[0], 0) if hard.dtype == bool else hard
        return cls(np.where(rated, codes[where], VOID).astype(np.uint8), chance[where], result)
