"""One rater's 1 and another's 255: surely the same thing, and refused before it looks like disagreement."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import LabelError
from ..labels import Labels
from ..tallies import Tallies, Tally


def refuse_other_values(tallies: Tallies, labels: Labels) -> None:
    """Refuse tables in which every rater marks with one value, but not all with the same."""
    if len(labels.marks) < 2:
        return
    used: dict[str, set[int]] = {}
    for case, table in tallies.items():
        here = refuse_two_values(table, f"case {case}: ")
        for name, values in here.items():
            used.setdefault(name, set()).update(values)
    _refuse_one_each(used, "")


def refuse_two_values(table: Tally, where: str) -> dict[str, set[int]]:
    """What values each rater marks with, of those who mark anything; refused where some have 1 and the others 255."""
    here = _values_by_rater(table)
    if set().union(*here.values()) == {1, 255}:
        _refuse_one_each(here, where)
    return here


def _values_by_rater(table: Tally) -> dict[str, set[int]]:
    marks, values = set(table.labels.marks), table.labels.values
    codes = {table.columns[i].name: marks & set(np.unique(table.patterns[:, i]).tolist()) for i in table.raters}
    return {name: {values[c] for c in found} for name, found in codes.items() if found}


def _refuse_one_each(used: Mapping[str, set[int]], where: str) -> None:
    if all(len(v) == 1 for v in used.values()) and len(set().union(*used.values())) > 1:
        each = ", ".join(f"{name} {next(iter(v))}" for name, v in list(used.items())[:6])
        raise LabelError(
            f"{where}each rater marks with one value, but not the same ({each}); "
            "unite them with foreground='any' (--foreground any), or declare them as different labels"
        )
