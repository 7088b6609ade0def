"""Extended Dice: a prediction against what all raters marked and what any of them did.

With I what every rater marked, O what any did, P the prediction ::

    (|P ∩ O| + |P ∩ I|) / (|P| + |I|)

1 exactly where I ⊆ P ⊆ O, and Dice where all raters agree (I = O). It is |P ∩ O| / |P| where no pixel was marked by
all, so that a single pixel may score 1; 0 where P is empty and I is not; undefined where both are. Raters who differ
much make it easy: read it beside |I| / |O|. Only pixels count that the prediction and any rater decided on.

Zeng D et al. Segmentation with multiple acceptable annotations. IPMI 2021, LNCS 12729, eqs. 1–2.
doi:10.1007/978-3-030-78191-0_37
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.columns import Column
from ..core.errors import CallError
from ..core.labels import VOID
from ..core.tally import Tally
from ..core.undefined import ratio

SATURATED = 1 / 3
"""Below this |I| / |O| the raters differ so much that nearly anything between them scores 1."""

NOTHING = "nothing_predicted_nor_agreed"


@dataclass(frozen=True)
class ExtendedDiceCounts:
    """How a prediction P lies between the inner region I and the outer region O."""

    marked: int
    """|P|"""
    inner: int
    """|I|"""
    outer: int
    """|O|"""
    missed: int
    """|I \\ P|: what all raters marked and the prediction did not."""
    extra: int
    """|P \\ O|: what the prediction marked and no rater did."""

    @property
    def value(self) -> float:
        """Extended Dice."""
        whole = self.marked + self.inner
        return ratio(float(whole - self.extra - self.missed), float(whole), NOTHING)

    @property
    def inner_outer_ratio(self) -> float:
        """|I| / |O|."""
        return ratio(float(self.inner), float(self.outer), "nobody_marked")

    @property
    def note(self) -> str:
        """What to know before believing the value."""
        if self.outer and not self.inner:
            return "no pixel was marked by all raters: one pixel inside their union would score 1"
        if self.inner < SATURATED * self.outer:
            return f"raters differ much (|I|/|O| = {self.inner_outer_ratio:.2f}): it saturates"
        return ""


def extended_dice(tally: Tally, columns: Sequence[str | Column] | None = None) -> dict[str, float]:
    """Extended Dice of predictions against all raters together.

    Parameters
    ----------
    tally : Tally
        Table of raters and predictions.
    columns : sequence of str or Column, optional
        What to score; by default every algorithm.

    Returns
    -------
    dict of str to float
        Extended Dice by name.

    References
    ----------
    Zeng D et al. IPMI 2021, LNCS 12729, eqs. 1–2. doi:10.1007/978-3-030-78191-0_37

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}, predictions={"unet": [1, 1, 1, 0]})
    >>> extended_dice(t)
    {'unet': 0.75}
    """
    chosen = tally.role("algorithm") if columns is None else columns
    if not chosen:
        raise CallError("there is no algorithm in this table; give its masks as predictions={'name': mask}")
    return {str(column): extended_dice_counts(tally, column).value for column in chosen}


def extended_dice_counts(tally: Tally, column: str | Column) -> ExtendedDiceCounts:
    """The counts behind extended Dice of one column; a rater is scored against the others.

    Parameters
    ----------
    tally : Tally
        Table of raters and predictions.
    column : str or Column
        An algorithm or a rater.

    Returns
    -------
    ExtendedDiceCounts
        Sizes of the prediction, the inner and the outer region, and of their differences.

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 1, 0], "B": [1, 0, 0, 0], "C": [1, 1, 0, 0]})
    >>> extended_dice_counts(t, "A")
    ExtendedDiceCounts(marked=3, inner=1, outer=2, missed=0, extra=1)
    """
    where = tally.position(column)
    codes = tally.patterns[:, where]
    judged = tally.columns[where]
    others = [i for i in tally.raters if (judged.role, judged.name) != ("rater", tally.columns[i].name)]
    if not others:
        raise CallError(f"{judged.name} is the only rater; extended Dice of a rater needs at least one other")
    by_raters = tally.patterns[:, others]
    rated, chosen = by_raters != VOID, np.isin(by_raters, tally.labels.marks)
    outer = np.asarray(chosen.any(axis=1))
    inner = outer & np.asarray((chosen == rated).all(axis=1))
    marked, known = np.isin(codes, tally.labels.marks), (codes != VOID) & rated.any(axis=1)

    def items(which: NDArray[np.bool_]) -> int:
        return int(tally.counts[known & which].sum())

    return ExtendedDiceCounts(items(marked), items(inner), items(outer), items(inner & ~marked), items(marked & ~outer))
