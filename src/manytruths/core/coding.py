"""Values of masks to codes of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import LabelError
from .labels import MOST_LABELS, VOID, Labels

Array = NDArray[Any]

HIDDEN = int(np.iinfo(np.int64).min)
"""What stands in for the masked items of a masked array; no label can be that."""

_BYTES = (np.uint8, np.bool_)


class Coder:
    """Turns values into byte codes, learning the labels as it meets them, or holding to those declared.

    With ``foreground`` every value but 0 is code 1, however many there are: objects may be numbered by the thousand.
    """

    def __init__(self, names: Sequence[str], labels: Labels | None, void: int | None, foreground: bool = False) -> None:
        labels = _united(labels) if foreground else labels
        self.names, self.declared, self.foreground = names, labels, foreground
        self.void = {HIDDEN} if void is None else {HIDDEN, void}
        self.codes: dict[int, int] = {v: c for c, v in enumerate(labels.values)} if labels else {}

    def encode(self, values: Sequence[Array]) -> NDArray[np.uint8]:
        """(columns, runs) codes of one block."""
        out = np.empty((len(values), len(values[0])), np.uint8)
        for row, (name, column) in enumerate(zip(self.names, values, strict=True)):
            out[row] = self._bytes(name, column) if column.dtype in _BYTES else self._wide(name, column)
        return out

    def _bytes(self, name: str, column: Array) -> Array:
        """Bytes go through a table of 256; only values not met before cost a look."""
        column = column.view(np.uint8)
        table = np.zeros(256, np.uint8)
        present = np.zeros(256, bool)
        present[column] = True
        for value in np.flatnonzero(present).tolist():
            table[value] = self._code(name, value)
        return table[column]

    def _wide(self, name: str, column: Array) -> Array:
        if column.dtype.kind not in "iuf":
            raise LabelError(f"{name}: a mask holds integers; got an array of {column.dtype}")
        if column.dtype.kind == "f" and not (np.isfinite(column) & (np.floor(column) == column)).all():
            self._refuse(name, column)
        values, where = np.unique(column, return_inverse=True)
        if any(v < 0 and v not in self.void for v in values[:3].tolist()):
            self._refuse(name, column)
        return np.array([self._code(name, int(v)) for v in values], np.uint8)[where]

    def _code(self, name: str, value: int) -> int:
        if value in self.void:
            return VOID
        if self.foreground:
            return int(value != 0)
        code = self.codes.get(value)
        if code is not None:
            return code
        if self.declared is not None:
            raise LabelError(
                f"{name}: found the value {value}, which is not among the labels declared "
                f"({', '.join(self.declared.describe())}); declare it, or unite all with foreground='any'"
            )
        if len(self.codes) >= MOST_LABELS:
            found = ", ".join(map(str, sorted(self.codes)[:12]))
            raise LabelError(
                f"{name}: more than {MOST_LABELS} distinct values ({found}, …): this is a picture, not a mask"
            )
        self.codes[value] = code = len(self.codes)
        return code

    def _refuse(self, name: str, column: Array) -> None:
        fine = np.isfinite(column) & (np.floor(column) == column) & (column >= 0)
        bad = column[~(fine | np.isin(column, list(self.void)))]
        found = ", ".join(f"{v:g}" for v in np.unique(bad)[:5])
        raise LabelError(
            f"{name}: labels are non-negative integers, but the mask holds {found}; "
            "where that means 'not rated', say so with void=, or give a masked array"
        )

    def labels(self) -> Labels:
        """The labels declared, or those met; a lone label gets a background beside it."""
        if self.declared is not None:
            return self.declared
        met = set(self.codes)
        return Labels(tuple(sorted(met | {0} if len(met - {0}) <= 1 else met)))

    def table(self, labels: Labels) -> NDArray[np.uint8]:
        """From the codes given while learning to positions in the final label set."""
        table = np.full(256, VOID, np.uint8)
        for value, code in self.codes.items():
            table[code] = labels.values.index(value)
        return table


def _united(labels: Labels | None) -> Labels:
    """Background and the rest; a lone label keeps its name."""
    marks = [labels.names[code] for code in labels.marks] if labels else []
    lone = len(marks) == 1 and not marks[0].isdecimal()
    return Labels((0, 1), ("background", marks[0] if lone else "any"))
