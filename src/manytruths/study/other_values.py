"""One mask's 1 and another's 255: surely the same thing, and refused before it looks like disagreement.

What is told apart without knowing the labels (where they are declared, nothing is guessed):

- A value that stands beside another in any mask is a label. So is one that two raters give.
- The largest number of a type (255, 65535, …) that only ever stands alone in a mask is another way to write "marked",
  if the other masks hold small numbers, or the largest of another type.
- A value that one rater alone gives, alone in its masks, is no label where all other masks hold one and the same.
- Raters who all hold to one value each, but not to the same, mean the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ..core.columns import Column
from ..core.errors import LabelError
from ..core.tallies import Tallies
from ..core.tally import Tally

K = TypeVar("K", bound=Hashable)

FULL = frozenset({127, 255, 32767, 65535, 2**31 - 1, 2**32 - 1})
"""The largest numbers of the types that masks are stored in."""
_SMALL = 31
"""Labels that go further up are codes of some kind, such as grey levels, and 255 may be one of them."""
_ADVICE = "unite them with foreground='any' (--foreground any), or declare them as different labels (--labels)"


@dataclass(frozen=True)
class Odd:
    """A mask that marks with another value than the others; rater and case are empty where several are meant."""

    case: str
    rater: str
    error: LabelError


def refuse_other_values(tallies: Tallies) -> None:
    """Refuse tables in which some masks mark with another value than the others, as this module tells."""
    for odd in other_values(tallies):
        raise odd.error


def other_values(tallies: Tallies) -> Iterator[Odd]:
    """Every such mask."""
    used = {case: marks_of(table) for case, table in tallies.items()}
    cases = {case: _in_a_case(here, f"case {case}: ") for case, here in used.items()}
    if any(cases.values()):
        yield from (Odd(case, "", error) for case, error in cases.items() if error)
        return
    if whole := list(_whole_raters(used)):
        yield from whole
        return
    every = {(case, column): marks for case, here in used.items() for column, marks in here.items()}
    odd = in_other_units(every) or _lone(every)
    common = set().union(*(marks for key, marks in every.items() if key not in odd)) if odd else set()
    for case, column in odd:
        each = _each(used[case])
        yield Odd(case, str(column), LabelError(
            f"case {case}: rater {column} marks with {min(every[case, column])}, the other masks of the study with "
            f"{_listed(common)} (here {each}); {_ADVICE}"
        ))  # fmt: skip


def refuse_two_values(table: Tally, where: str) -> None:
    """Refuse a case in which each rater marks with one value, some with the largest of a type and others not."""
    if error := _in_a_case(marks_of(table), where):
        raise error


def refuse_other_ranks(table: Tally) -> None:
    """Refuse rank maps of which one says marked or not where others rank."""
    used = marks_of(table)
    for column in in_other_units(used):
        others = set().union(*(ranks for one, ranks in used.items() if one != column))
        raise LabelError(f"{column}'s holds {_listed(used[column])}, the others' {_listed(others)}; write it again")


def marks_of(table: Tally) -> dict[Column, set[int]]:
    """What values each rater marks with, in every session, of those who mark anything."""
    marks, values = set(table.labels.marks), table.labels.values
    raters = {c: i for i, c in enumerate(table.columns) if c.role == "rater"}
    codes = {column: marks & set(np.unique(table.patterns[:, i]).tolist()) for column, i in raters.items()}
    return {column: {values[c] for c in found} for column, found in codes.items() if found}


def in_other_units(used: Mapping[K, set[int]]) -> list[K]:
    """Masks that mark with the largest number of a type where most do not, or the other way round.

    >>> in_other_units({"A": {1}, "B": {65535}, "C": {1, 2}})
    ['B']
    >>> in_other_units({"A": {85}, "B": {255}}), in_other_units({"A": {1, 255}, "B": {255}})
    ([], [])
    """
    beside = set().union(*(marks for marks in used.values() if len(marks) > 1))
    full = (set().union(*(marks for marks in used.values() if len(marks) == 1)) & FULL) - beside
    others = set().union(*used.values()) - full
    if not full or len(full) + bool(others) < 2 or max(others, default=0) > _SMALL:
        return []
    units = {key: min(marks) if marks <= full else 0 for key, marks in used.items()}
    most = Counter(units.values()).most_common(1)[0][0]
    return [key for key, unit in units.items() if unit != most]


def _in_a_case(here: Mapping[Column, set[int]], where: str) -> LabelError | None:
    one_each = all(len(marks) == 1 for marks in here.values())
    return _not_the_same(here, where) if one_each and in_other_units(here) else None


def _whole_raters(used: Mapping[str, Mapping[Column, set[int]]]) -> Iterator[Odd]:
    """Raters who hold to one value each, throughout."""
    of: dict[str, set[int]] = {}
    for here in used.values():
        for column, marks in here.items():
            of.setdefault(column.name, set()).update(marks)
    if all(len(marks) == 1 for marks in of.values()) and len(set().union(*of.values())) > 1:
        yield Odd("", "", _not_the_same(of, ""))


def _lone(every: Mapping[tuple[str, Column], set[int]]) -> list[tuple[str, Column]]:
    """Masks with a value that one rater alone gives, in a study that otherwise knows one."""
    beside = set().union(*(marks for marks in every.values() if len(marks) > 1))
    givers: dict[int, set[str]] = {}
    for (_, column), marks in every.items():
        for value in marks:
            givers.setdefault(value, set()).add(column.name)
    labels = {value for value, names in givers.items() if len(names) > 1 or value in beside}
    if not labels:
        labels = {Counter(min(marks) for marks in every.values()).most_common(1)[0][0]} if every else set()
    if len(labels) != 1 or len(givers) < 2:
        return []
    return [key for key, marks in every.items() if not marks & labels]


def _not_the_same(used: Mapping[K, set[int]], where: str) -> LabelError:
    return LabelError(f"{where}each rater marks with one value, but not the same ({_each(used)}); {_ADVICE}")


def _each(used: Mapping[K, set[int]]) -> str:
    named = [f"{name} {_listed(marks)}" for name, marks in used.items()]
    return ", ".join(named[:6]) + (", …" if len(named) > 6 else "")


def _listed(marks: set[int]) -> str:
    return " and ".join(map(str, sorted(marks)[:4])) + (" and others" if len(marks) > 4 else "")
