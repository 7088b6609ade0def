"""Plurality: the label that most raters gave; of labels given equally often, the one of the lower value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.painting import PatternValues
from ..core.tally import Tally
from .notes import notes
from .result import Consensus, Values, unrated_code, with_mark
from .vote import divided


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Plurality(Consensus):
    """The label that most raters gave, by pattern; ``probability`` has the share of the mark, or of every label."""

    share: Values
    """Of the raters of the item, those who gave the label; nan where nobody rated."""
    tied: NDArray[np.bool_]
    """Whether another label was given as often."""

    @property
    def label(self) -> NDArray[np.int64]:
        """Its value, as in the masks; background where nobody rated, or −1 where no label is background."""
        return self.values


def plurality(tally: Tally) -> Plurality:
    """The label that most raters gave; of labels given equally often, the one of the lower value.

    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0], "B": [1, 2, 0], "C": [2, 0, 0]})
    >>> plurality(t).label
    array([0, 1, 0])
    """
    tally = with_mark(tally)
    rated, votes = tally.rated, tally.votes
    most = votes.max(axis=1, initial=0)
    codes = votes.argmax(axis=1) if votes.size else np.zeros(len(votes), np.intp)
    hard = np.where(rated > 0, codes, unrated_code(tally.labels)).astype(np.uint8)
    share = votes / np.maximum(rated, 1)[:, None]
    two = len(tally.labels) == 2 and tally.labels.background is not None
    return Plurality(
        method="plurality",
        raters=tally.rater_names,
        labels=tally.labels,
        probability=PatternValues(share[:, 1] if two else share, tally),
        hard=PatternValues(hard == 1 if two else hard, tally),
        notes=tuple(notes(tally)),
        share=PatternValues(divided(most.astype(np.float64), rated.astype(np.float64)), tally),
        tied=PatternValues((rated > 0) & ((votes == most[:, None]).sum(axis=1) > 1), tally),
    )
