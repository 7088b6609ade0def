"""Predictions and given truths whose values cannot be those of the raters' masks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..core.columns import Column
from ..core.errors import InputError, LabelError
from ..core.tally import Tally
from .case import Array, Case
from .other_values import in_other_units

NO_MASK = 8
"""What holds more values than this that no rater uses is no mask."""
LOOKED_AT = 1 << 20
"""So many items of a given truth are enough to see that."""


@dataclass(frozen=True)
class Wrong:
    """An algorithm or a given truth, and what is wrong with its values in a case."""

    case: str
    column: Column
    error: InputError


def refuse_other_values(case: Case, table: Tally) -> None:
    """Refuse a prediction whose values are not the raters': a grey one, or 1 where they write 255."""
    for wrong in other_values(case, table):
        raise wrong.error


def other_values(case: Case, table: Tally) -> Iterator[Wrong]:
    """Every prediction of such values; ``table`` holds the whole image."""
    if case.options.labels is not None or case.options.foreground:
        return
    used = {c: {table.labels.values[k] for k in np.unique(table.patterns[:, i]) if k < len(table.labels)} - {0}
            for i, c in enumerate(table.columns)}  # fmt: skip
    raters = set().union(*(v for c, v in used.items() if c.role == "rater"))
    for column in table.role("algorithm"):
        own = used[column] - raters
        if len(own) > NO_MASK:
            yield Wrong(case.name, column, InputError(
                f"case {case.name}: the prediction of {column} holds {len(used[column])} values, the raters' masks "
                f"{len(raters)}: it is no mask; judge it by curves (--grey), and perhaps cut it (--threshold), or "
                "declare the labels (--labels)"
            ))  # fmt: skip
        elif raters and len(used[column]) == 1 and in_other_units({"raters": raters, "it": used[column]}):
            yield Wrong(case.name, column, LabelError(
                f"case {case.name}: {column} marks with {min(own)}, the raters with {_listed(raters)}; "
                "unite them with --foreground any, or write the prediction again"
            ))  # fmt: skip


def other_classes(tables: Mapping[str, Tally]) -> Iterator[Wrong]:
    """Every prediction of a label that no rater gives in any case, where the raters give one alone."""
    used = {case: {c: _marks(table, i) for i, c in enumerate(table.columns)} for case, table in tables.items()}
    raters = set().union(*(own for by in used.values() for c, own in by.items() if c.role == "rater"))
    for case, by in used.items() if len(raters) == 1 else ():
        for column, own in by.items():
            if column.role == "algorithm" and own - raters:
                yield Wrong(case, column, LabelError(
                    f"case {case}: {column} marks {min(own - raters)}, while every rater marks {min(raters)} alone; "
                    "declare the labels (--labels), unite them (--foreground any), or say --grey if the prediction "
                    "is grey"
                ))  # fmt: skip


def _marks(table: Tally, column: int) -> set[str]:
    """The names of the labels that a column gives."""
    codes = set(np.unique(table.patterns[:, column]).tolist()) & set(table.labels.marks)
    return {table.labels.names[code] for code in codes}


def _listed(values: set[int]) -> str:
    return " and ".join(map(str, sorted(values)[:NO_MASK]))


def refuse_grey_references(case: Case, table: Tally, references: Mapping[Column, Array]) -> None:
    """Refuse a given truth that is a map of probabilities, where all that is not 0 would be marked, or marks with 255
    where there are labels."""
    for wrong in grey_references(case, table, references):
        raise wrong.error


def grey_references(case: Case, table: Tally, references: Mapping[Column, Array]) -> Iterator[Wrong]:
    """Every given truth that is one."""
    for column, array in references.items():
        some = array.ravel(order="K")[:: max(1, array.size // LOOKED_AT)]
        found = set(np.unique(some).tolist()) - {0, case.options.void}
        own, marks = found - set(table.labels.values), set(table.labels.values) - {0}
        if len(own) > NO_MASK and not case.options.foreground:
            yield Wrong(case.name, column, InputError(
                f"case {case.name}: the reference {column} holds {len(own)} values that no rater uses: it is no mask; "
                "cut it, or unite all labels with --foreground any"
            ))  # fmt: skip
        elif len(marks) > 1 and case.options.labels is not None and own:
            yield Wrong(case.name, column, LabelError(
                f"case {case.name}: the reference {column} holds {_listed(own)}, not among the labels declared "
                f"({', '.join(case.options.labels.describe())}); declare it, or write it again"
            ))  # fmt: skip
        elif len(marks) > 1 and len(found) == 1 and own and in_other_units({"masks": marks, "it": found}):
            yield Wrong(case.name, column, LabelError(
                f"case {case.name}: the reference {column} marks with {min(own)}, the masks with {_listed(marks)}; "
                "write it with their labels, or unite all with --foreground any"
            ))  # fmt: skip
