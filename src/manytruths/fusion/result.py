"""What every estimator returns, and notes on the table that it was estimated from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.labels import VOID, Labels
from ..core.painting import PatternValues
from ..core.tally import Tally
from ..core.undefined import Note

Values = NDArray[np.float64]

BINARY = Labels((0, 1), ("background", "any"))
"""What is left of more than two labels when all but background count as marked."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Consensus:
    """An estimated consensus: a probability, a hard decision, the raters it was made of, and how the estimation ended.

    Most estimators decide by pattern: ``probability`` and ``hard`` then hold one value per pattern of a tally, which
    they know, so that they can be painted. Spatial estimators give maps of the size of the masks.

    Attributes
    ----------
    method : str
        The estimator with its main setting: ``vote:0.5``, ``staple``.
    raters : tuple of str
        Raters whose decisions were used.
    labels : Labels
        The labels that ``hard`` refers to.
    probability : ndarray
        With two labels, the probability that an item is marked; with more, a last axis of labels.
    hard : ndarray
        With two labels, one of them background, whether an item is marked; otherwise the code of its label in
        ``labels``.
    convergence : str
        How the estimation ended: ``done``, ``converged``, ``stopped``, …
    notes : tuple of str
        What to know before using it.
    """

    method: str
    raters: tuple[str, ...]
    labels: Labels
    probability: NDArray[Any]
    hard: NDArray[Any]
    convergence: str = "done"
    notes: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """The notes in one line."""
        return "; ".join(self.notes)

    @property
    def kind(self) -> Literal["pattern", "map"]:
        """``"pattern"`` where there is a value per pattern, ``"map"`` where there is a map."""
        return "pattern" if isinstance(self.hard, PatternValues) else "map"

    @property
    def tally(self) -> Tally | None:
        """The tally whose patterns were decided; None for a map."""
        return self.hard.tally if isinstance(self.hard, PatternValues) else None

    @property
    def values(self) -> NDArray[np.int64]:
        """``hard`` in the values of the masks; −1 where nobody rated and no label is background."""
        table = np.full(256, -1, np.int64)
        table[: len(self.labels)] = self.labels.values
        return self._like(table[np.asarray(self.hard).astype(np.uint8)])

    def of(self, label: int | str) -> NDArray[Any]:
        """The probability of a label, by pattern or as a map.

        Parameters
        ----------
        label : int or str
            Name or value of the label.

        Returns
        -------
        ndarray
            One value per pattern, or a map.
        """
        code, chance = self.labels.index(label), np.asarray(self.probability)
        if chance.ndim == self.hard.ndim:
            return self._like(chance if code == 1 else 1 - chance)
        return self._like(chance[..., code])

    def _like(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self.tally is None else PatternValues(values, self.tally)

    def __repr__(self) -> str:
        size = f"{len(self.hard)} patterns" if self.kind == "pattern" else "×".join(map(str, self.hard.shape)) + " map"
        note = f"; note: {self.note}" if self.note else ""
        raters = f"{len(self.raters)} rater{'' if len(self.raters) == 1 else 's'}"
        ended = "" if self.convergence == "done" else f", {self.convergence}"
        return f"<{type(self).__name__}: {self.method}, {raters}, {size}{ended}{note}>"


def first_readings(tally: Tally) -> Tally:
    """Raters in their first session, and nobody else: what a consensus is made of."""
    return tally.project(tally.columns[i] for i in tally.raters)


def binary_labels(tally: Tally) -> Labels:
    """The labels of a decision between marked and not."""
    return tally.labels if len(tally.labels) == 2 and tally.labels.background is not None else BINARY


def with_mark(tally: Tally) -> Tally:
    """Where only background was met, masks that nobody marked: a table of two labels all the same."""
    return tally.relabel(Labels((0, 1))) if tally.labels.values == (0,) else tally


def refuse_exchangeable(tally: Tally, what: str) -> None:
    """Raise where slots are not people, and so nothing can be said of one of them."""
    if tally.exchangeable:
        raise CallError(
            f"raters are exchangeable: a slot is not the same person in every case, so it cannot {what}; "
            "name the raters when counting, or use an estimator that treats them alike"
        )


def unrated_code(labels: Labels) -> int:
    """The code of what nobody rated: background, or VOID where no label is."""
    return VOID if labels.background is None else labels.background


ALONE = "only one rater: the consensus is their mask"
NOBODY = "nobody marked anything"
NO_OVERLAP = "no item was marked by two raters: an estimate means nothing, whether it marks anything or not"
MARKED_NOTHING = "rater_marked_nothing"
"""The code of a note about a rater who left a mask empty."""
SLOTS = "raters are exchangeable: the rates are those of slots, within one case only"


def table_notes(tally: Tally) -> list[str]:
    """One rater only, no overlap, nothing marked, raters who are constant, labels that one rater alone gave."""
    labels, rows = tally.labels, tally.patterns[tally.counts > 0][:, tally.raters]
    # (raters, labels): whether a rater gave a label at all
    given = np.stack([(rows == code).any(axis=0) for code in range(len(labels))], axis=1)
    each = given.sum(axis=1).tolist()
    present = len(each) - each.count(0)
    most = int(np.max(tally.marked, initial=0, where=tally.counts > 0))
    messages: list[str] = [ALONE] if present == 1 else []
    if present != 1 and labels.background is not None and most == 1:
        messages = [NO_OVERLAP]
    if present and labels.background is not None and not np.delete(given, labels.background, 1).any():
        return [*messages, NOBODY]
    messages += [_constant(tally, i, int(given[i].argmax())) for i, n in enumerate(each) if n == 1]
    if len(labels) > 2 and present > 1:
        for code in np.flatnonzero(given.sum(axis=0) == 1).tolist():
            who = _who(tally, int(given[:, code].argmax()))
            messages.append(f"label {labels.describe()[code]} was given by {who} only")
    return messages


def _constant(tally: Tally, rater: int, code: int) -> Note:
    who, two = _who(tally, rater), len(tally.labels) == 2 and tally.labels.background is not None
    if tally.labels.values[code] == 0:
        return Note(MARKED_NOTHING, f"{who} marked nothing")
    did = "marked everything" if two else f"gave everything the label {tally.labels.names[code]}"
    return Note("constant_rater", f"{who} {did}")


def _who(tally: Tally, rater: int) -> str:
    return "one rater" if tally.exchangeable else tally.rater_names[rater]


def left_out_notes(tally: Tally, kept: NDArray[np.bool_]) -> list[str]:
    """What to say when too few raters remain: items that none of them rated, or one rater alone."""
    rated = (tally.patterns[:, tally.raters] != VOID)[:, kept].any(axis=1)
    alone = tally.rater_names[int(kept.argmax())]
    messages = [f"only {alone} is left: the consensus is their mask"] if kept.sum() == 1 else []
    lost = int(tally.counts[(tally.rated > 0) & ~rated].sum())
    return messages + ([f"{lost:,} items were rated by nobody who is left, and are background"] if lost else [])
