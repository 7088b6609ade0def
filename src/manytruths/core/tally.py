"""The tally: distinct patterns of decisions and how often each occurs. Every statistic reads it.

Rows are kept in one canonical order (lexicographic, :data:`VOID` last), so that equal tables are equal arrays.
:class:`Tallies` hold those of many cases, and :func:`pool` adds them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import is_not
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .columns import Column, Role, Unit
from .errors import CallError
from .labels import VOID, Labels

Rows = NDArray[np.uint8]
Counts = NDArray[np.int64]
Places = NDArray[np.intp]

REGIONS = ("whole", "union", "modified_background")
"""The regions that a table can be restricted to without going back to the pixels."""

_OF_PATTERNS = ("raters", "votes", "rated", "marked")
"""Cached values that depend on the patterns alone, and so survive a change of counts."""

_EXACT_SINGLE = 1 << 24
"""Sums of counts up to which single precision holds each of them."""
_CHUNK = 8192
"""Patterns that a matrix product takes at once, so that its one-hot operand stays small."""
_ONE_THREAD, _LEAST_MIDDLE = 1 << 18, 32
"""Multiplications up to which OpenBLAS takes one thread, and the summands from which on products of that size pay."""
MANY_CASES = 256
"""Cases from which on statistics of all are computed at once: sums in another order differ in the last digit."""
MOST_ALIGNED = 1 << 23
"""Counts of a table of cases by patterns; larger ones are not made to compute statistics of cases at once."""
MOST_COLUMNS = 20
"""Columns up to which that pays: of more, pairs are quicker case by case."""
_SMALL, _MOST_GROUPS = 50_000, 1000
"""Larger tables are counted by sets of raters who rated the same items, unless there are more such sets."""


@dataclass(frozen=True, eq=False)
class Tally:
    """Distinct patterns of decisions and how often each occurs.

    Made by :func:`tally` from masks; read by every statistic. Tallies add, exactly. An item is a pixel, a voxel or a
    rated case.

    Parameters
    ----------
    columns : tuple of Column
        Who decided.
    labels : Labels
        What the codes in the patterns stand for.
    patterns : numpy.ndarray
        (patterns, columns) codes, :data:`VOID` where a column was not rated.
    counts : numpy.ndarray
        How many items show each pattern.
    region : str
        The kind of region that was counted. Chance-corrected numbers depend on it.
    unit : Unit, optional
        The size of an item, where known.
    exchangeable : bool
        Columns are slots, not people: nothing may be said about one of them.
    """

    columns: tuple[Column, ...]
    labels: Labels
    patterns: Rows
    counts: Counts
    region: str = "whole"
    unit: Unit | None = None
    exchangeable: bool = False

    def __post_init__(self) -> None:
        if len(set(self.columns)) < len(self.columns):
            raise CallError(f"two columns are the same: {', '.join(map(str, self.columns))}")
        rows = np.ascontiguousarray(self.patterns, np.uint8).reshape(len(self.counts), len(self.columns))
        unknown = rows[(rows >= len(self.labels)) & (rows != VOID)]
        if unknown.size:
            raise CallError(f"a pattern holds the code {unknown[0]}, but there are only {len(self.labels)} labels")
        rows, counts = merge_rows(rows, np.asarray(self.counts, np.int64), len(self.labels))
        object.__setattr__(self, "patterns", rows)
        object.__setattr__(self, "counts", counts)

    # -- what is in it -------------------------------------------------------------------------

    def __repr__(self) -> str:
        who = ", ".join(map(str, self.columns[:6])) + (", …" if len(self.columns) > 6 else "")
        return (
            f"<Tally of {self.items:,} items: {len(self.counts):,} patterns of {len(self.columns)} columns "
            f"({who}), labels {', '.join(self.labels.describe()[:6])}, region {self.region}>"
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tally)
            and (self.columns, self.labels, self.region, self.unit, self.exchangeable)
            == (other.columns, other.labels, other.region, other.unit, other.exchangeable)
            and np.array_equal(self.patterns, other.patterns)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def items(self) -> int:
        """Number of items counted."""
        return int(self.counts.sum())

    @cached_property
    def raters(self) -> tuple[int, ...]:
        """Positions of the raters' columns, each rater in the first session only."""
        first: dict[str, int] = {}
        for i in sorted(range(len(self.columns)), key=lambda i: self.columns[i].order):
            if self.columns[i].role == "rater":
                first.setdefault(self.columns[i].name, i)
        return tuple(sorted(first.values()))

    @property
    def rater_names(self) -> tuple[str, ...]:
        """Names of the raters, once each."""
        return tuple(self.columns[i].name for i in self.raters)

    @cached_property
    def votes(self) -> NDArray[np.int64]:
        """(patterns, labels): how many raters gave each label."""
        rows = self.patterns[:, self.raters]
        narrow = np.uint8 if rows.shape[1] < 256 else np.int64  # several times faster than a sum of 64 bits
        votes = [(rows == code).sum(axis=1, dtype=narrow) for code in range(len(self.labels))]
        return np.stack(votes, axis=1).astype(np.int64)

    @cached_property
    def rated(self) -> NDArray[np.int64]:
        """m: how many raters rated the items of each pattern."""
        return np.asarray(self.votes.sum(axis=1), np.int64)

    @cached_property
    def marked(self) -> NDArray[np.int64]:
        """A: how many raters gave a label other than background."""
        return np.asarray(self.votes[:, list(self.labels.marks)].sum(axis=1), np.int64)

    @cached_property
    def contingency(self) -> NDArray[np.float64]:
        """(R, R, L, L) items by the labels that two raters gave, for every two raters."""
        return cross_tabulate(self.patterns, self.counts, self.raters, len(self.labels))

    # -- columns -------------------------------------------------------------------------------

    @cached_property
    def _places(self) -> dict[Column, int]:
        return {column: place for place, column in enumerate(self.columns)}

    def position(self, column: str | Column) -> int:
        """Find a column by name (``"B"``, ``"B@2"``); a bare name means a rater's first session."""
        if isinstance(column, Column):
            if column in self._places:
                return self._places[column]
        else:
            exact = [i for i, c in enumerate(self.columns) if str(c) == column]
            named = [i for i in (*self.raters, *range(len(self.columns))) if self.columns[i].name == column]
            if exact or named:
                return (exact or named)[0]
        raise CallError(f"no column {str(column)!r}; there are {', '.join(map(str, self.columns))}")

    def project(self, columns: Iterable[str | Column]) -> Tally:
        """The tally of some columns alone."""
        where = [self.position(c) for c in columns]
        return replace(self, columns=tuple(self.columns[i] for i in where), patterns=self.patterns[:, where])

    def pair(self, a: str | Column, b: str | Column) -> Tally:
        """The tally of two columns, both read as raters, so that pair statistics apply to any two."""
        where = [self.position(a), self.position(b)]
        first, second = (str(self.columns[i]) for i in where)
        # a column with itself, or a rater and an algorithm of one name
        names = (first, second) if first != second else (first, f"{second} (2)")
        return replace(self, columns=tuple(map(Column, names)), patterns=self.patterns[:, where])

    def without(self, *columns: str | Column) -> Tally:
        """The tally without some columns."""
        gone = {self.position(c) for c in columns}
        return self.project(c for i, c in enumerate(self.columns) if i not in gone)

    def append(self, column: Column, codes: ArrayLike) -> Tally:
        """The tally with one more column, given as one code per pattern: a consensus, say."""
        added = np.asarray(codes, np.uint8).reshape(-1, 1)
        return replace(self, columns=(*self.columns, column), patterns=np.hstack([self.patterns, added]))

    def role(self, role: Role) -> tuple[Column, ...]:
        """The columns that have a role."""
        return tuple(c for c in self.columns if c.role == role)

    # -- rows ----------------------------------------------------------------------------------

    def restrict(self, to: str | NDArray[np.bool_], region: str | None = None) -> Tally:
        """Count fewer items.

        Parameters
        ----------
        to : str or numpy.ndarray
            ``"union"`` keeps what any rater marked; ``"modified_background"`` keeps that and as much background, or all
            there is: meant for the tally of one case, so restrict, then pool. An array of one boolean per pattern keeps
            those.
        region : str, optional
            With an array: the name of the region.

        Returns
        -------
        Tally
            The same patterns, those outside the region without counts.

        References
        ----------
        Gordon S et al. Evaluation of uterine cervix segmentations using ground truth from multiple experts. Comput Med
        Imaging Graph 2009;33:205–216. doi:10.1016/j.compmedimag.2008.12.002
        """
        if not isinstance(to, str):
            keep = np.asarray(to, bool)
            if keep.shape != self.counts.shape:
                raise CallError(f"restrict needs one boolean per pattern, {len(self.counts)}; got shape {keep.shape}")
            return replace(self, counts=np.where(keep, self.counts, 0), region=region or f"part of {self.region}")
        if to == "whole" and self.region == "whole":
            return self
        if to == "union":
            return replace(self, counts=np.where(self.marked > 0, self.counts, 0), region="union")
        if to == "modified_background" and self.region != "union":
            return replace(self, counts=self._cut_background(), region="modified_background")
        raise CallError(f"cannot restrict a tally of region {self.region!r} to {to!r}; regions: {', '.join(REGIONS)}")

    def _cut_background(self) -> Counts:
        """Background cut down to the size of the union, separately for each set of raters present."""
        counts = self.counts.copy()
        for rows in _equal_presence(self.patterns, np.asarray(self.raters, np.intp)):
            empty = rows[self.marked[rows] == 0]
            if len(empty) > 1:
                raise CallError(
                    "modified_background depends on where the pixels lie as soon as a tally has algorithms or second "
                    "sessions: leave {session} and predictions out, or project the tally to its raters first"
                )
            union = int(counts[rows[self.marked[rows] > 0]].sum())
            counts[empty] = np.minimum(counts[empty], union)
        return counts

    def recount(self, counts: ArrayLike) -> Tally:
        """The same patterns with other counts (zeros may stand); what resampling uses."""
        other = object.__new__(Tally)
        state: dict[str, Any] = {k: v for k, v in self.__dict__.items() if k in _OF_PATTERNS}
        fields = ("columns", "labels", "patterns", "region", "unit", "exchangeable")
        state.update({k: self.__dict__[k] for k in fields}, counts=np.asarray(counts, np.int64))
        other.__dict__.update(state)
        return other

    # -- labels --------------------------------------------------------------------------------

    def relabel(self, labels: Labels) -> Tally:
        """The same decisions over a label set that holds all of the present one."""
        if labels == self.labels:
            return self
        table = np.full(256, VOID, np.uint8)
        table[: len(self.labels)] = [labels.values.index(v) for v in self.labels.values]
        return replace(self, labels=labels, patterns=table[self.patterns])

    def only(self, label: int | str) -> Tally:
        """One label against all the rest, as a tally of two labels."""
        code = self.labels.index(label)
        return self._binary([code], self.labels.names[code])

    def foreground(self) -> Tally:
        """All labels but background united."""
        marks = self.labels.marks
        own = self.labels.names[marks[0]] if len(marks) == 1 else "any"
        return self._binary(marks, "any" if own.isdecimal() else own)

    def _binary(self, codes: Sequence[int], name: str) -> Tally:
        table = np.zeros(256, np.uint8)
        table[list(codes)] = 1
        table[VOID] = VOID
        rest = "background" if name != "background" else "rest"
        return replace(self, labels=Labels((0, 1), (rest, name)), patterns=table[self.patterns])

    # -- sums ----------------------------------------------------------------------------------

    def __add__(self, other: Tally) -> Tally:
        return pool([self, other]) if isinstance(other, Tally) else NotImplemented

    def __radd__(self, other: object) -> Tally:
        return self if other == 0 else NotImplemented

    # -- text ----------------------------------------------------------------------------------

    def to_csv(self) -> str:
        """The tally as CSV text: a site can share it without sharing pixels."""
        from .csv_text import to_csv

        return to_csv(self)

    @classmethod
    def from_csv(cls, text: str) -> Tally:
        """The tally back from :meth:`to_csv`, equal in every field."""
        from .csv_text import from_csv

        return from_csv(text)


def check_tally(tally: object, name: str) -> None:
    """Refuse masks where the function of that name takes their table."""
    if not isinstance(tally, Tally):
        raise CallError(f"{name} takes a Tally, not {type(tally).__name__}; make one with mt.tally(masks)")


def row_codes(rows: Rows, n_labels: int) -> tuple[NDArray[np.uint64], int]:
    """A number per row that sorts as the rows do (VOID last), and how many bits it takes.

    Columns are packed into 64 bits; when those are full, the codes so far are replaced by their ranks,
    which keeps the order and makes room: nothing of size labels^raters is ever made.
    """
    has_void = bool((rows == VOID).any())
    bits = max(1, (n_labels if has_void else n_labels - 1).bit_length())
    if bits == 1:
        return _bit_codes(rows)
    codes, used = np.zeros(len(rows), np.uint64), 0
    for column in rows.T:
        if used + bits > 64:
            distinct, ranks = np.unique(codes, return_inverse=True)
            codes, used = ranks.astype(np.uint64), len(distinct).bit_length()
        codes <<= np.uint64(bits)
        codes |= np.where(column == VOID, n_labels, column).astype(np.uint64) if has_void else column
        used += bits
    return codes, used


def _bit_codes(rows: Rows) -> tuple[NDArray[np.uint64], int]:
    """The same for rows of 0 and 1, as many columns at once as there is room for."""
    codes, used, start = _bit_number(rows[:, :64]), min(64, rows.shape[1]), 64
    while start < rows.shape[1]:
        distinct, ranks = np.unique(codes, return_inverse=True)
        codes, used = ranks.astype(np.uint64), len(distinct).bit_length()
        width = min(64 - used, rows.shape[1] - start)
        codes <<= np.uint64(width)
        codes |= _bit_number(rows[:, start : start + width])
        used, start = used + width, start + width
    return codes, used


def _bit_number(rows: Rows) -> NDArray[np.uint64]:
    """Up to 64 columns of 0 and 1 as one number, the first column highest."""
    width = rows.shape[1]
    size = -(-width // 8)
    packed = np.zeros((len(rows), 8), np.uint8)
    packed[:, :size] = np.packbits(rows, axis=1)[:, ::-1]
    codes = packed.view("<u8").reshape(len(rows)).astype(np.uint64, copy=False)
    codes >>= np.uint64(8 * size - width)
    return codes


def merge_rows(rows: Rows, counts: Counts, n_labels: int) -> tuple[Rows, Counts]:
    """Rows in lexicographic order, equal ones added up, none with count 0."""
    keep = counts != 0
    if not keep.all():
        rows, counts = rows[keep], counts[keep]
    if not len(rows):
        return rows, counts
    codes, used = row_codes(rows, n_labels)
    # 16-bit keys get NumPy's radix sort, several times faster than comparing 64-bit ones
    order = np.argsort(codes.astype(np.uint16) if used <= 16 else codes, kind="stable")
    codes = codes[order]
    starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    return np.ascontiguousarray(rows[order[starts]]), np.add.reduceat(counts[order], starts)


def cross_tabulate(patterns: Rows, counts: Counts, columns: Sequence[int], labels: int) -> NDArray[np.float64]:
    """(C, C, L, L) items by the labels that the first and the second column gave, where both did.

    They are whole numbers below 2^53, so that float64 holds them, and their sums, exactly.
    """
    where = np.asarray(list(columns), np.intp)
    total = np.zeros((len(where), len(where), labels, labels))
    for rows, here in presence_groups(patterns, where):
        total[np.ix_(here, here)] += _cross_products(patterns, counts, rows, where[here], labels)
    return total


def presence_groups(patterns: Rows, where: Places) -> Iterator[tuple[Places, Places]]:
    """Rows that the same columns rated, and which of the columns these are; all together where groups do not pay.

    A study in which each rater read a few of the cases has no more groups than cases, each of a few columns.
    """
    if len(patterns) * len(where) > _SMALL:
        groups = _equal_presence(patterns, where)
        if len(groups) <= _MOST_GROUPS:
            for rows in groups:
                yield rows, np.flatnonzero(patterns[rows[0], where] != VOID)
            return
    yield np.arange(len(patterns)), np.arange(len(where))


def _equal_presence(patterns: Rows, where: Places) -> list[Places]:
    """Places of the rows that the same columns rated."""
    if not len(patterns) or not len(where):
        return [np.arange(len(patterns))] if len(patterns) else []
    packed = np.ascontiguousarray(np.packbits(patterns[:, where] != VOID, axis=1))
    if (packed == packed[0]).all():
        return [np.arange(len(patterns))]
    _, group = np.unique(packed.view(np.dtype((np.void, packed.shape[1]))).ravel(), return_inverse=True)
    return np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])


def _cross_products(patterns: Rows, counts: Counts, rows: Places, where: Places, labels: int) -> NDArray[np.float64]:
    """The tables of some rows and columns.

    Where every column rated every item, the first label is left out of the product, and follows from the margins.
    """
    least = int(not (patterns[np.ix_(rows, where)] == VOID).any())
    codes = np.arange(least, labels)
    part = np.zeros((len(where) * len(codes),) * 2)
    # whole numbers: those below 2^24 are exact in single precision, too, which is twice as fast
    kind = np.float32 if int(counts[rows].sum()) < _EXACT_SINGLE else np.float64
    weights = counts.astype(kind)
    for start in range(0, len(rows), _CHUNK):
        at = rows[start : start + _CHUNK]
        chosen = (patterns[np.ix_(at, where)][:, :, None] == codes).reshape(len(at), len(part)).astype(kind)
        part += _product((chosen * weights[at, None]).T, chosen)
    tables = part.reshape(len(where), len(codes), len(where), len(codes)).transpose(0, 2, 1, 3)
    if not least:
        return tables
    full = np.zeros((len(where), len(where), labels, labels))
    own = np.einsum("iill->il", tables)
    full[..., 1:, 1:] = tables
    full[..., 1:, 0] = own[:, None] - tables.sum(axis=-1)
    full[..., 0, 1:] = own[None] - tables.sum(axis=-2)
    full[..., 0, 0] = counts[rows].sum() - full.sum(axis=(-1, -2))
    return full


def _product(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """``a @ b`` of whole numbers, in products so small that OpenBLAS does not start threads for them.

    Where it has more threads than there are idle cores, they wait for each other for longer than they work.
    """
    rows, middle = a.shape
    most = _ONE_THREAD // (rows * b.shape[1] or 1)
    if most < _LEAST_MIDDLE or middle <= most:
        return np.asarray(a @ b)
    count = middle // most
    parts = a[:, : count * most].reshape(rows, count, most).transpose(1, 0, 2)
    total = (np.ascontiguousarray(parts) @ b[: count * most].reshape(count, most, -1)).sum(axis=0)
    return np.asarray(total + a[:, count * most :] @ b[count * most :])


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
        self._pooled: tuple[list[Tally], Tally] | None = None
        self._aligned: tuple[list[Tally], Aligned | None] | None = None
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

    def _sum(self, tables: list[Tally]) -> Tally:
        """All of them added; kept, since every table of a study asks for it."""
        kept = self._pooled
        if kept is None or len(kept[0]) != len(tables) or any(map(is_not, kept[0], tables)):
            self._pooled = kept = (tables, _add(tables, mixed=True))
        return kept[1]

    @property
    def aligned(self) -> Aligned | None:
        """The counts of all cases over the patterns of their sum; None of few cases, or where that is a large table."""
        tables, kept = list(self.values()), self._aligned
        if kept is None or len(kept[0]) != len(tables) or any(map(is_not, kept[0], tables)):
            self._aligned = kept = (tables, _align(self, tables))
        return kept[1]

    def select(self, cases: Iterable[str]) -> Tallies:
        """Tallies of some of the cases."""
        part = Tallies({c: self[c] for c in cases}, self.subjects, self.groups)
        part._pooled = self._pooled
        return part

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
    if isinstance(tallies, Tallies) and mixed:
        return tallies._sum(tables)
    return _add(tables, mixed=mixed)


def _add(tables: list[Tally], *, mixed: bool) -> Tally:
    regions, units = {t.region for t in tables}, {t.unit for t in tables}
    if not mixed and len(regions | units) > 2:
        sizes = Counter(str(t.unit) for t in tables).most_common(3)
        differ = "item size: " + ", ".join(f"{n} × {size}" for size, n in sizes)
        differ = "regions " + ", ".join(sorted(regions)) if len(regions) > 1 else differ
        raise CallError(f"tallies differ in {differ}; pool(..., mixed=True) adds them nevertheless")
    if len({t.exchangeable for t in tables}) > 1:
        raise CallError("some tallies have exchangeable raters and some do not; they cannot be added")
    labels = reduce(Labels.union, (t.labels for t in tables))
    orders = {t.columns for t in tables}
    columns = orders.pop() if len(orders) == 1 else tuple(sorted(set().union(*orders), key=lambda c: c.order))
    rows = np.concatenate([_spread_rows(t.relabel(labels), columns) for t in tables])
    region = regions.pop() if len(regions) == 1 else "mixed"
    unit = units.pop() if len(units) == 1 else None
    counts = np.concatenate([t.counts for t in tables])
    return Tally(columns, labels, rows, counts, region, unit, tables[0].exchangeable)


def _spread_rows(tally: Tally, columns: tuple[Column, ...]) -> NDArray[Any]:
    if tally.columns == columns:
        return tally.patterns
    rows = np.full((len(tally.counts), len(columns)), VOID, np.uint8)
    places = {column: i for i, column in enumerate(columns)}
    rows[:, [places[c] for c in tally.columns]] = tally.patterns
    return rows


@dataclass(frozen=True, eq=False)
class Aligned:
    """The tallies of many cases as one table, so that a statistic of all of them is one product."""

    whole: Tally
    """Their sum."""
    counts: Counts
    """(distinct tallies, patterns of the sum)."""
    place: Places
    """Which of the distinct tallies each case has: equal ones have equal numbers, to the last digit."""

    @cached_property
    def contingency(self) -> NDArray[np.float64]:
        """(distinct tallies, R, R, L, L) items by the labels that two raters gave; as :attr:`Tally.contingency`."""
        rows, labels = self.whole.patterns[:, self.whole.raters], len(self.whole.labels)
        chosen = (rows[:, :, None] == np.arange(labels)).astype(np.float64)
        weights, raters = self.counts.astype(np.float64), rows.shape[1]
        tables = np.empty((len(weights), raters, raters, labels, labels))
        for i in range(raters):
            both = (chosen[:, i, None, :, None] * chosen[:, :, None, :]).reshape(len(rows), -1)
            tables[:, i] = (weights @ both).reshape(-1, raters, labels, labels)
        return tables


def _align(tallies: Tallies, tables: list[Tally]) -> Aligned | None:
    if len(tables) < MANY_CASES or len({t.labels for t in tables}) > 1:
        return None
    whole = pool(tallies, mixed=True)
    if len(whole.columns) > MOST_COLUMNS or len(whole.counts) * len(tables) > MOST_ALIGNED:
        return None
    alike = all(t.columns == whole.columns for t in tables)
    if not alike and len(whole.raters) < len(whole.role("rater")):  # a case may have a second session alone
        return None
    _, counts = align_counts(tables, whole)
    distinct, place = np.unique(counts, axis=0, return_inverse=True)
    aligned = Aligned(whole, distinct, place.reshape(-1))
    if distinct.shape[0] * (len(whole.raters) * len(whole.labels)) ** 2 <= MOST_ALIGNED:
        for table, at in zip(tables, aligned.place.tolist(), strict=True):
            if table.columns == whole.columns:
                table.__dict__.setdefault("contingency", aligned.contingency[at])
    return aligned


def align_counts(tables: list[Tally], whole: Tally | None = None) -> tuple[Tally, NDArray[np.int64]]:
    """The pooled tally, and the count of each of its patterns in each tally: (tallies, patterns)."""
    whole = whole or pool(tables, mixed=True)
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
