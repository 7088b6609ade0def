"""Checks on the values of masks and predictions: JPEG noise, probabilities, and 1 beside 255 for the same thing.

Where labels are declared, nothing is guessed. Otherwise:

- A value that occurs beside another one in any mask is a label, and so is one that two raters give.
- The largest number of a type (255, 65535, …) that only ever occurs alone in a mask is another way to write "marked",
  if the other masks hold small numbers, or the largest of another type.
- A value that one rater alone gives, alone in its masks, is no label where all other masks hold one and the same.
- Raters who each use one value throughout, but not the same, mean the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..core.columns import Column, Role
from ..core.errors import InputError, LabelError, ManytruthsError
from ..core.tally import Tallies, Tally
from ..core.tiles import distinct_values, is_lazy, load, sample, tile_slices
from ..io import looks_compressed

if TYPE_CHECKING:
    from .case import Case


Array = NDArray[Any]

_LOOKED_AT = 1 << 20
"""So many items of a mask are enough to see traces of JPEG, or that it is no mask."""

K = TypeVar("K", bound=Hashable)

FULL = frozenset({127, 255, 32767, 65535, 2**31 - 1, 2**32 - 1})
"""The largest numbers of the types that masks are stored in."""

_SMALL = 31
"""Labels that go further up are codes of some kind, such as grey levels, and 255 may be one of them."""

_ADVICE = "unite them with foreground='any' (--foreground any), or declare them as different labels (--labels)"

NO_MASK = 8
"""What holds more values than this that no rater uses is no mask."""


@contextmanager
def about(what: str) -> Iterator[None]:
    """Errors that say first what they are about."""
    try:
        yield
    except ManytruthsError as error:
        raise type(error)(f"{what}: {error}") from None


def refuse_compressed(array: Array, where: str) -> None:
    """Refuse a mask that went through JPEG: its noise around 0 would be marked."""
    if _compressed(array):
        raise LabelError(f"{where}these are no labels. {values_found(array)}, or declare the labels")


def _compressed(array: Array) -> bool:
    some = sample(array, _LOOKED_AT)
    # numbered objects fill the range evenly; a compressed mask marks with what is near 255
    return looks_compressed(some) and bool(2 * np.count_nonzero(some > 214) >= np.count_nonzero(some > 40))


def values_found(array: Array) -> str:
    """The values of a mask, and whether they look like those of a JPEG."""
    values = distinct_values(array)
    shown = ", ".join(map(str, values[:12])) + (f", … ({len(values)} in all)" if len(values) > 12 else "")
    again = "; it looks JPEG-compressed: export it again as PNG, without a JPEG on the way"
    return f"The mask holds {shown}{again if _compressed(array) else ''}"


@dataclass(frozen=True)
class Strange:
    """Values of a map that are not finite, or beyond its limits."""

    count: int
    finite: bool
    """Whether all of them are finite."""
    first: str
    """``3 at (0, 1)``."""


def find_strange(response: Array, low: float, high: float) -> Strange | None:
    """Values of a map that are not finite or beyond limits, tile by tile where it is on disk; None without any."""
    count, first, finite = 0, "", True
    for where in tile_slices([response]) if is_lazy(response) else [None]:
        tile = np.asarray(load(response, where))
        with np.errstate(invalid="ignore"):
            wrong = ~np.isfinite(tile) | (tile < low) | (tile > high)
        if not wrong.any():
            continue
        if not count:
            at = np.unravel_index(int(np.argmax(wrong)), tile.shape)
            starts = [0] * tile.ndim if where is None else [part.start or 0 for part in where]
            first = (
                f"{float(tile[at]):.4g} at ({', '.join(str(i + start) for i, start in zip(at, starts, strict=True))})"
            )
        count, finite = count + int(wrong.sum()), finite and bool(np.isfinite(tile[wrong]).all())
    return Strange(count, finite, first) if count else None


def refuse_strange(response: Array, limits: tuple[float, float] | None) -> None:
    """Refuse a probability map that is not finite, or outside of what was declared."""
    low, high = limits or (-np.inf, np.inf)
    found = find_strange(response, low, high)
    if found is not None:
        declared = limits is not None and found.finite
        wanted = f"between {low:g} and {high:g}, as declared" if declared else "finite"
        other = ", or declare other limits" if declared else ""
        raise InputError(
            f"values such as {found.first} ({found.count:,} in all) are not {wanted}; write it again{other}"
        )


@dataclass(frozen=True)
class WrongValues:
    """What is wrong with the values of a mask; where several are meant, it has no case or column."""

    case: str
    column: Column | None
    error: InputError


def raise_first(problems: Iterable[WrongValues]) -> None:
    """Raise the error of the first of the problems, if there is any."""
    for wrong in problems:
        raise wrong.error


def find_other_values(tallies: Tallies) -> Iterator[WrongValues]:
    """Every mask that marks with another value than the others, as this module tells."""
    used = {case: marks_of(table) for case, table in tallies.items()}
    cases = {case: _in_a_case(here, f"case {case}: ") for case, here in used.items()}
    if any(cases.values()):
        yield from (WrongValues(case, None, error) for case, error in cases.items() if error)
        return
    of: dict[str, set[int]] = {}
    for column, marks in (item for here in used.values() for item in here.items()):
        of.setdefault(column.name, set()).update(marks)
    # raters who hold to one value each, throughout
    if all(len(marks) == 1 for marks in of.values()) and len(set().union(*of.values())) > 1:
        yield WrongValues("", None, _not_the_same(of, ""))
        return
    every = {(case, column): marks for case, here in used.items() for column, marks in here.items()}
    odd = in_other_units(every) or _lone(every)
    common = set().union(*(marks for key, marks in every.items() if key not in odd)) if odd else set()
    for case, column in odd:
        yield WrongValues(case, column, LabelError(
            f"case {case}: rater {column} marks with {min(every[case, column])}, the other masks of the study with "
            f"{_listed(common)} (here {_each(used[case])}); {_ADVICE}"
        ))  # fmt: skip


def refuse_two_values(table: Tally, where: str) -> None:
    """Refuse a case in which each rater marks with one value, some with the largest of a type and others not."""
    if error := _in_a_case(marks_of(table), where):
        raise error


def refuse_other_ranks(table: Tally) -> None:
    """Refuse rank maps of which one says marked or not where others rank."""
    used = marks_of(table)
    for column in in_other_units(used):
        others = set().union(*(ranks for other, ranks in used.items() if other != column))
        raise LabelError(f"{column}'s holds {_listed(used[column])}, the others' {_listed(others)}; write it again")


def marks_of(table: Tally, roles: Sequence[Role] = ("rater",)) -> dict[Column, set[int]]:
    """What values each rater marks with, in every session, of those who mark anything."""
    marks, values = set(table.labels.marks), table.labels.values
    columns = {column: i for i, column in enumerate(table.columns) if column.role in roles}
    codes = {column: marks & set(np.unique(table.patterns[:, i]).tolist()) for column, i in columns.items()}
    return {column: {values[c] for c in own} for column, own in codes.items() if own}


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


def find_wrong_predictions(case: Case, table: Tally) -> Iterator[WrongValues]:
    """Every prediction whose values are not the raters': a probability map, or 1 where they write 255.

    ``table`` holds the whole image.
    """
    if case.options.labels is not None or case.options.foreground:
        return
    raters = set().union(*marks_of(table).values())
    for column, marks in marks_of(table, ("algorithm",)).items():
        own = marks - raters
        if len(own) > NO_MASK:
            yield WrongValues(case.name, column, InputError(
                f"case {case.name}: the prediction of {column} holds {len(marks)} values, the raters' masks "
                f"{len(raters)}: it is no mask; judge it by curves (--probability), and perhaps cut it (--threshold), "
                "or declare the labels (--labels)"
            ))  # fmt: skip
        elif raters and len(marks) == 1 and in_other_units({"raters": raters, "it": marks}):
            yield WrongValues(case.name, column, LabelError(
                f"case {case.name}: {column} marks with {min(own)}, the raters with {_listed(raters)}; "
                "unite them with --foreground any, or write the prediction again"
            ))  # fmt: skip


def other_classes(tables: Mapping[str, Tally]) -> Iterator[WrongValues]:
    """Every prediction of a label that no rater gives in any case, where the raters give one alone."""
    used = {case: {c: _marks(table, i) for i, c in enumerate(table.columns)} for case, table in tables.items()}
    raters = set().union(*(own for by in used.values() for c, own in by.items() if c.role == "rater"))
    for case, by in used.items() if len(raters) == 1 else ():
        for column, own in by.items():
            if column.role == "algorithm" and own - raters:
                yield WrongValues(case, column, LabelError(
                    f"case {case}: {column} marks {min(own - raters)}, while every rater marks {min(raters)} alone; "
                    "declare the labels (--labels), unite them (--foreground any), or say --probability if the "
                    "prediction is a probability map"
                ))  # fmt: skip


def _marks(table: Tally, column: int) -> set[str]:
    """The names of the labels that a column gives."""
    codes = set(np.unique(table.patterns[:, column]).tolist()) & set(table.labels.marks)
    return {table.labels.names[code] for code in codes}


def find_wrong_references(case: Case, table: Tally, references: Mapping[Column, Array]) -> Iterator[WrongValues]:
    """Every given reference standard that is a probability map, or marks with 255 where there are labels."""
    for column, array in references.items():
        some = array.ravel(order="K")[:: max(1, array.size // _LOOKED_AT)]
        held = set(np.unique(some).tolist()) - {0, case.options.void}
        own, marks = held - set(table.labels.values), set(table.labels.values) - {0}
        if len(own) > NO_MASK and not case.options.foreground:
            yield WrongValues(case.name, column, InputError(
                f"case {case.name}: the reference {column} holds {len(own)} values that no rater uses: it is no mask; "
                "cut it, or unite all labels with --foreground any"
            ))  # fmt: skip
        elif len(marks) > 1 and case.options.labels is not None and own:
            yield WrongValues(case.name, column, LabelError(
                f"case {case.name}: the reference {column} holds {_listed(own)}, not among the labels declared "
                f"({', '.join(case.options.labels.describe())}); declare it, or write it again"
            ))  # fmt: skip
        elif len(marks) > 1 and len(held) == 1 and own and in_other_units({"masks": marks, "it": held}):
            yield WrongValues(case.name, column, LabelError(
                f"case {case.name}: the reference {column} marks with {min(own)}, the masks with "
                f"{_listed(marks)}; write it with their labels, or unite all with --foreground any"
            ))  # fmt: skip
