"""Label sets, and the code of "not rated"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .errors import CallError, LabelError

VOID = 255
"""The code of "not rated" in the rows of a tally; never the same as background."""

MAX_LABELS = 255
"""Codes are bytes, and VOID takes one of them."""

MACRO = "macro mean"
"""In the column ``label`` of tables: the mean over all labels, each of them against the rest."""


@dataclass(frozen=True)
class Labels:
    """The values a mask may hold, with their names and, where they carry one, a number.

    Parameters
    ----------
    values : tuple of int
        Distinct non-negative integers, as they stand in the files. 0 is background.
    names : tuple of str
        One per value; by default ``background`` for 0 and the value itself for the others.
    numbers : tuple of float
        What each label measures (a rank, a confidence, a grey level); by default its value.
    zero_is_background : bool
        Whether 0 is background; if not, it is a label like the others, as in a tissue map.

    Examples
    --------
    >>> Labels((0, 1, 2), names=("background", "gland", "tumour")).index("tumour")
    2
    """

    values: tuple[int, ...]
    names: tuple[str, ...] = ()
    numbers: tuple[float, ...] = ()
    zero_is_background: bool = True

    def __post_init__(self) -> None:
        values = tuple(int(v) for v in self.values)
        if values != tuple(self.values):
            raise LabelError(f"labels must be whole numbers; got {tuple(self.values)}")
        if list(values) != sorted(set(values)) or (values and values[0] < 0):
            raise LabelError(f"labels are distinct non-negative integers in rising order; got {values}")
        if len(values) > MAX_LABELS:
            raise LabelError(f"at most {MAX_LABELS} labels; got {len(values)}, such as {values[:10]}")
        names = tuple(self.names) or tuple("background" if v == 0 else str(v) for v in values)
        numbers = tuple(float(x) for x in self.numbers) or tuple(float(v) for v in values)
        if not len(values) == len(names) == len(numbers) or len(set(names)) < len(names):
            raise LabelError(f"labels need one distinct name and one number each; got {values}, {names}, {numbers}")
        for field, value in (("values", values), ("names", names), ("numbers", numbers)):
            object.__setattr__(self, field, value)

    @classmethod
    def of(cls, labels: Labels | Mapping[int, str] | Iterable[int]) -> Labels:
        """Make labels of what a user writes.

        Parameters
        ----------
        labels : Labels, mapping or iterable of int
            Labels as they are, ``{value: name}`` with background implied, or values.

        Returns
        -------
        Labels
            The label set.
        """
        if isinstance(labels, Labels):
            return labels
        if isinstance(labels, Mapping):
            named = {0: "background", **labels}
            values = tuple(sorted(named))
            return cls(values, tuple(named[v] for v in values))
        return cls(tuple(sorted(set(labels))))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def background(self) -> int | None:
        """The code of background, or None where there is none (ratings, tissue maps)."""
        return self.values.index(0) if self.zero_is_background and 0 in self.values else None

    @property
    def marks(self) -> tuple[int, ...]:
        """The codes of everything but background."""
        return tuple(code for code in range(len(self.values)) if code != self.background)

    @property
    def several(self) -> bool:
        """Whether there is more than one label besides background, so that uniting them would hide which is meant."""
        return len(self.marks) > 1

    def without_background(self) -> Labels:
        """The labels where none is background: a 0 that has a name of its own is one of them."""
        kept = [k for k, (v, name) in enumerate(zip(self.values, self.names, strict=True)) if v or name != "background"]
        names, numbers = tuple(self.names[k] for k in kept), tuple(self.numbers[k] for k in kept)
        return Labels(tuple(self.values[k] for k in kept), names, numbers, zero_is_background=False)

    def index(self, label: int | str) -> int:
        """The code of a label given by name or value."""
        if label in self.names:
            return self.names.index(str(label))
        if label in self.values:
            return self.values.index(int(label))
        raise CallError(f"no label {label!r}; there are {', '.join(self.describe())}")

    def describe(self) -> list[str]:
        """``value=name`` of every label."""
        return [f"{v}={n}" if str(v) != n else n for v, n in zip(self.values, self.names, strict=True)]

    def union(self, other: Labels) -> Labels:
        """Both sets in one; raises LabelError where a value has two names."""
        if self == other:
            return self
        merged: dict[int, tuple[str, float]] = {}
        for labels in (self, other):
            for value, name, number in zip(labels.values, labels.names, labels.numbers, strict=True):
                if merged.setdefault(value, (name, number)) != (name, number):
                    raise LabelError(
                        f"label {value} is {merged[value][0]!r} in one tally and {name!r} in the other; "
                        "give both the same labels"
                    )
        values = tuple(sorted(merged))
        ground = self.zero_is_background and other.zero_is_background
        return Labels(values, tuple(merged[v][0] for v in values), tuple(merged[v][1] for v in values), ground)
