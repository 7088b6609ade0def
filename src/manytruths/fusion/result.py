"""What every estimator of the truth gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.labels import VOID, Labels
from ..core.painting import PatternValues
from ..core.tally import Tally

Values = NDArray[np.float64]

BINARY = Labels((0, 1), ("background", "any"))
"""What is left of more than two labels when all but background count as marked."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Consensus:
    """An estimate of the truth: a probability, a hard decision, who was heard, and how it ended.

    Most estimators decide by pattern: ``probability`` and ``hard`` then hold one value a pattern of a tally, which they
    know, so that they can be painted. Estimators that look at neighbours give maps of the size of the masks.
    """

    method: str
    """The estimator with its main setting: ``vote:0.5``, ``staple``."""
    raters: tuple[str, ...]
    """Whose decisions went in."""
    labels: Labels
    """What ``hard`` speaks of."""
    probability: NDArray[Any]
    """Two labels: how likely the item is marked, one value a pattern or a map. More: a last axis of labels."""
    hard: NDArray[Any]
    """Two labels, one of them background: whether the item is marked. Else the code of its label in ``labels``."""
    ended: str = "done"
    """How the estimation ended, in a word or two."""
    notes: tuple[str, ...] = ()
    """What to know before using it."""

    @property
    def note(self) -> str:
        """The notes in one line."""
        return "; ".join(self.notes)

    @property
    def kind(self) -> Literal["pattern", "map"]:
        """Whether there is a value a pattern, or a map."""
        return "pattern" if isinstance(self.hard, PatternValues) else "map"

    @property
    def tally(self) -> Tally | None:
        """The table whose patterns were decided; None for a map."""
        return self.hard.tally if isinstance(self.hard, PatternValues) else None

    @property
    def values(self) -> NDArray[np.int64]:
        """``hard`` in the values of the masks; −1 where nobody rated and no label is background."""
        table = np.full(256, -1, np.int64)
        table[: len(self.labels)] = self.labels.values
        return self._like(table[np.asarray(self.hard).astype(np.uint8)])

    def of(self, label: int | str) -> NDArray[Any]:
        """How likely each pattern or item has a label, given by name or value."""
        code, chance = self.labels.index(label), np.asarray(self.probability)
        if chance.ndim == self.hard.ndim:
            return self._like(chance if code == 1 else 1 - chance)
        return self._like(chance[..., code])

    def _like(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self.tally is None else PatternValues(values, self.tally)

    def __repr__(self) -> str:
        size = f"{len(self.hard)} patterns" if self.kind == "pattern" else "×".join(map(str, self.hard.shape)) + " map"
        note = f"; note: {self.note}" if self.note else ""
        return f"<{type(self).__name__} {self.method} of {len(self.raters)} raters, {size}: {self.ended}{note}>"


def first_readings(tally: Tally) -> Tally:
    """Raters in their first session, and nobody else: what a consensus is made of."""
    return tally.project(tally.columns[i] for i in tally.raters)


def binary_labels(tally: Tally) -> Labels:
    """The labels of a decision between marked and not."""
    return tally.labels if len(tally.labels) == 2 and tally.labels.background is not None else BINARY


def with_mark(tally: Tally) -> Tally:
    """Where only background was met, masks that nobody marked: a table of two labels all the same."""
    return tally.relabel(Labels((0, 1))) if tally.labels.values == (0,) else tally


def refuse_slots(tally: Tally, what: str) -> None:
    """Raise where slots are not people, and so nothing can be said of one of them."""
    if tally.exchangeable:
        raise CallError(
            f"raters are exchangeable: a slot is not the same person in every case, so it cannot {what}; "
            "name the raters when counting, or use an estimator that treats them alike"
        )


def unrated_code(labels: Labels) -> int:
    """The code of what nobody rated: background, or VOID where no label is."""
    return VOID if labels.background is None else labels.background
