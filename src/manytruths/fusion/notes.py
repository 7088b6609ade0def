"""What a reader must know before using a consensus, found in the table itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.labels import VOID
from ..core.notes import Note
from ..core.tally import Tally

ALONE = "only one rater: the consensus is what he decided"
NOBODY = "nobody marked anything"
NO_OVERLAP = "no item was marked by two raters: an estimate means nothing (STAPLE's follows whoever marked most)"
MARKED_NOTHING = "rater_marked_nothing"
"""The code of a note about a rater who left a mask empty."""
SLOTS = "raters are exchangeable: the rates are those of slots, within one case only"


def notes(tally: Tally) -> list[str]:
    """One rater only, no overlap, nothing marked, raters who are constant, labels that one rater alone gave."""
    given = _given(tally)
    each = given.sum(axis=1).tolist()
    present = len(each) - each.count(0)
    found: list[str] = [ALONE] if present == 1 else _no_overlap(tally)
    if present and tally.labels.background is not None and not np.delete(given, tally.labels.background, 1).any():
        return [*found, NOBODY]
    found += [_constant(tally, i, int(given[i].argmax())) for i, n in enumerate(each) if n == 1]
    return found + (_lone_labels(tally, given) if len(tally.labels) > 2 and present > 1 else [])


def _lone_labels(tally: Tally, given: NDArray[np.bool_]) -> list[str]:
    codes = np.flatnonzero(given.sum(axis=0) == 1).tolist()
    who = [_who(tally, int(given[:, code].argmax())) for code in codes]
    return [f"label {tally.labels.describe()[code]} was given by {w} only" for code, w in zip(codes, who, strict=True)]


def _given(tally: Tally) -> NDArray[np.bool_]:
    """(raters, labels): whether a rater gave a label at all."""
    rows = tally.patterns[:, tally.raters] if tally.counts.all() else tally.patterns[tally.counts > 0][:, tally.raters]
    return np.asarray((rows[:, :, None] == np.arange(len(tally.labels), dtype=np.uint8)).any(axis=0))


def _no_overlap(tally: Tally) -> list[str]:
    most = int(np.max(tally.marked, initial=0, where=tally.counts > 0))
    return [NO_OVERLAP] if tally.labels.background is not None and most == 1 else []


def _constant(tally: Tally, rater: int, code: int) -> Note:
    who, two = _who(tally, rater), len(tally.labels) == 2 and tally.labels.background is not None
    if tally.labels.values[code] == 0:
        return Note(MARKED_NOTHING, f"{who} marked nothing")
    did = "marked everything" if two else f"gave everything the label {tally.labels.names[code]}"
    return Note("constant_rater", f"{who} {did}")


def _who(tally: Tally, rater: int) -> str:
    return "one rater" if tally.exchangeable else tally.rater_names[rater]


def left_out(tally: Tally, kept: NDArray[np.bool_]) -> list[str]:
    """What to say when too few raters remain: items that none of them rated, or one rater alone."""
    rated = (tally.patterns[:, tally.raters] != VOID)[:, kept].any(axis=1)
    found = [f"only {tally.rater_names[int(kept.argmax())]} is left: the consensus is his"] if kept.sum() == 1 else []
    lost = int(tally.counts[(tally.rated > 0) & ~rated].sum())
    return found + ([f"{lost:,} items were rated by nobody who is left, and are background"] if lost else [])
