"""Tallies by case, and their sum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import Column
from .errors import CallError
from .labels import VOID, Labels
from .tally import Tally, row_codes


class Tallies(dict[str, Tally]):
    """Tallies by case, with the subject (the patient) and the groups of every case.

    A plain dictionary for all else.

    Parameters
    ----------
    tables : mapping or iterable of pairs
        The tally of every case.
    subjects : mapping, optional
        The subject of a case. Cases without an entry are their own subject.
    groups : mapping, optional
        The groups of a case.
    """

    def __init__(
        self,
        tables: Mapping[str, Tally] | Iterable[tuple[str, Tally]] = (),
        subjects: Mapping[str, str] | None = None,
        groups: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        super().__init__(tables)
        self.subjects = {case: (subjects or {}).get(case, case) for case in self}
        self.groups = {case: tuple((groups or {}).get(case, ())) for case in self}

    @classmethod
    def of(cls, tallies: Mapping[str, Tally] | Iterable[Tally]) -> Tallies:
        """Tallies by case from a dictionary or from a plain list of tallies."""
        if isinstance(tallies, Tallies):
            return tallies
        if isinstance(tallies, Mapping):
            return cls(tallies)
        return cls({str(i): t for i, t in enumerate(tallies)})

    def by_subject(self) -> dict[str, list[str]]:
        """The cases of every subject."""
        cases: dict[str, list[str]] = {}
        for case, subject in self.subjects.items():
            cases.setdefault(subject, []).append(case)
        return cases

    def select(self, cases: Iterable[str]) -> Tallies:
        """Tallies of some of the cases."""
        return Tallies({c: self[c] for c in cases}, self.subjects, self.groups)

    def map(self, change: object) -> Tallies:
        """Change the tallies one by one; subjects and groups are kept."""
        if not callable(change):
            raise CallError(f"map needs a function of a tally; got {change!r}")
        return Tallies({c: change(t) for c, t in self.items()}, self.subjects, self.groups)


def pool(tallies: Mapping[str, Tally] | Iterable[Tally], *, mixed: bool = False) -> Tally:
    """Add tallies exactly; in any order the sum is the same, bit for bit.

    Parameters
    ----------
    tallies : mapping or iterable of Tally
        What to add. A column that a tally does not have is :data:`VOID` for its items.
    mixed : bool
        Add tallies whose region or item size differ, too; the sum then has the region ``mixed``, or no unit.

    Returns
    -------
    Tally
        The sum.

    Raises
    ------
    CallError
        Where regions or item sizes differ and ``mixed`` is false, or some raters are exchangeable and some are not.

    Examples
    --------
    >>> import manytruths as mt
    >>> a, b = mt.tally({"A": [1, 0], "B": [1, 0]}), mt.tally({"A": [1, 1], "B": [1, 0]})
    >>> mt.pool([a, b]).counts
    array([1, 1, 2])
    """
    tables = list(tallies.values() if isinstance(tallies, Mapping) else tallies)
    if not tables:
        raise CallError("there is no tally to pool")
    regions, units = {t.region for t in tables}, {t.unit for t in tables}
    if not mixed and len(regions | units) > 2:
        differ = "regions " + ", ".join(sorted(regions)) if len(regions) > 1 else _describe_units(tables)
        raise CallError(f"tallies differ in {differ}; pool(..., mixed=True) adds them nevertheless")
    if len({t.exchangeable for t in tables}) > 1:
        raise CallError("some tallies have exchangeable raters and some do not; they cannot be added")
    labels = reduce(Labels.union, (t.labels for t in tables))
    columns = _all_columns(tables)
    parts = [_spread_rows(t.relabel(labels), columns) for t in tables]
    return Tally(
        columns,
        labels,
        np.concatenate(parts),
        np.concatenate([t.counts for t in tables]),
        regions.pop() if len(regions) == 1 else "mixed",
        units.pop() if len(units) == 1 else None,
        tables[0].exchangeable,
    )


def _describe_units(tables: list[Tally]) -> str:
    sizes = Counter(str(t.unit) for t in tables)
    return "item size: " + ", ".join(f"{n} × {size}" for size, n in sizes.most_common(3))


def _all_columns(tables: list[Tally]) -> tuple[Column, ...]:
    orders = {t.columns for t in tables}
    if len(orders) == 1:
        return orders.pop()
    return tuple(sorted(set().union(*orders), key=lambda c: c.order))


def _spread_rows(tally: Tally, columns: tuple[Column, ...]) -> NDArray[Any]:
    if tally.columns == columns:
        return tally.patterns
    rows = np.full((len(tally.counts), len(columns)), VOID, np.uint8)
    rows[:, [columns.index(c) for c in tally.columns]] = tally.patterns
    return rows


def align_counts(tables: list[Tally]) -> tuple[Tally, NDArray[np.int64]]:
    """The pooled tally, and the count of each of its patterns in each tally: (tallies, patterns)."""
    whole = pool(tables, mixed=True)
    owner = np.repeat(np.arange(len(tables)), [len(t.counts) for t in tables])
    rows = np.concatenate([_spread_rows(t.relabel(whole.labels), whole.columns) for t in tables])
    where = find_rows(whole, rows)
    counts = np.zeros((len(tables), len(whole.counts)), np.int64)
    counts[owner, where] = np.concatenate([t.counts for t in tables])
    return whole, counts


def find_rows(tally: Tally, rows: NDArray[np.uint8]) -> NDArray[np.intp]:
    """The position of each row among a tally's patterns; −1 where it is not there."""
    if not len(tally.patterns):
        return np.full(len(rows), -1)
    both = np.concatenate([tally.patterns, rows])
    codes, _ = row_codes(both, len(tally.labels))
    known, asked = codes[: len(tally.patterns)], codes[len(tally.patterns) :]
    where = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    return np.where(known[where] == asked, where, -1)
