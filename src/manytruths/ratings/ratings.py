"""Ratings: which label each rater gave to each case, with their confidence."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.columns import Column
from ..core.errors import CallError
from ..core.labels import VOID, Labels
from ..core.tally import Tally

Kind = Literal["nominal", "ordinal", "numeric"]
Values = NDArray[np.float64]

MISSING = -1
"""Code of a missing rating."""


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """A table of ratings, cases by raters, as :meth:`of` or :func:`manytruths.read_ratings` makes it.

    Attributes
    ----------
    cases : tuple of str
        The cases.
    raters : tuple of str
        The raters.
    labels : tuple of str
        The labels, in their order if they have one.
    codes : ndarray of int16
        (cases, raters) positions in ``labels``; −1 for a missing rating.
    confidence : ndarray of float
        (cases, raters) from 0 to 1; nan where none was given.
    kind : {"nominal", "ordinal", "numeric"}
        Level of measurement of the labels.
    reference : ndarray of int16, optional
        Label of each case in the reference standard; −1 where it is unknown.
    subjects : tuple of str
        Subject of each case; by default every case is its own subject.
    weights : ndarray of int64, optional
        Number of items that each row stands for: 1 for a case, many for a pattern of masks.

    Examples
    --------
    >>> ratings = Ratings.of({"A": [1, 0, 1], "B": [1, 1, None]})
    >>> ratings.votes
    array([[0, 2],
           [1, 1],
           [0, 1]])
    """

    cases: tuple[str, ...]
    raters: tuple[str, ...]
    labels: tuple[str, ...]
    codes: NDArray[np.int16]
    confidence: Values
    kind: Kind = "nominal"
    reference: NDArray[np.int16] | None = None
    subjects: tuple[str, ...] = ()
    weights: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        shape = (len(self.cases), len(self.raters))
        if self.codes.shape != shape or self.confidence.shape != shape:
            got = f"{self.codes.shape} and {self.confidence.shape}"
            raise CallError(f"codes and confidence must have the shape cases × raters, {shape}; got {got}")
        for name, given in (("case", self.cases), ("rater", self.raters), ("label", self.labels)):
            if len(set(given)) < len(given):
                raise CallError(f"a {name} is named twice; name each once")
        if self.kind not in get_args(Kind):
            raise CallError(f"kind must be {', '.join(get_args(Kind))}; got {self.kind!r}")
        if self.codes.size and not -1 <= self.codes.min() <= self.codes.max() < len(self.labels):
            raise CallError(
                f"codes must be from −1 to {len(self.labels) - 1}; got {self.codes.min()} to {self.codes.max()}"
            )
        known = self.confidence[~np.isnan(self.confidence)]
        if known.size and not 0 <= known.min() <= known.max() <= 1:
            raise CallError(f"confidence must be from 0 to 1; got {known.min():g} to {known.max():g}")
        if not self.subjects:
            object.__setattr__(self, "subjects", self.cases)

    @classmethod
    def of(
        cls,
        ratings: Mapping[str, Sequence[Hashable]] | ArrayLike,
        confidence: ArrayLike | float | None = None,
        *,
        raters: Sequence[str] | None = None,
        cases: Sequence[str] | None = None,
        subjects: Sequence[str] | None = None,
        labels: Sequence[Hashable] | None = None,
        kind: Kind = "nominal",
        reference: Sequence[Hashable] | None = None,
    ) -> Ratings:
        """Make a table of ratings from lists or arrays.

        Parameters
        ----------
        ratings : mapping or array_like
            Labels by rater, ``{"A": ["normal", "ill", None]}``, or a table of cases × raters; None and nan are missing.
        confidence : float, mapping or array_like, optional
            From 0 to 1: one number for all, one for each rater, or a table of the same layout as the ratings.
        raters, cases, subjects : sequence of str, optional
            Names; by default raters and cases are numbered, and every case is its own subject.
        labels : sequence, optional
            All labels, in their order; by default those that occur, sorted.
        kind : {"nominal", "ordinal", "numeric"}
            Level of measurement of the labels.
        reference : sequence, optional
            Label of each case in the reference standard; None where it is unknown.

        Returns
        -------
        Ratings

        Examples
        --------
        >>> Ratings.of({"A": [1, 0, 1], "B": [1, 1, None]})
        <Ratings of 3 cases by 2 raters, labels 0, 1>
        """
        table, names = _read_rows(ratings, raters)
        answers = [None] * len(table) if reference is None else list(reference)
        if len(answers) != len(table):
            raise CallError(f"the reference has {len(answers)} labels, but there are {len(table)} cases")
        known = _find_labels(table, answers, labels)
        place = {label: i for i, label in enumerate(known)}
        codes = np.array([[_code(place, x) for x in row] for row in table], np.int16).reshape(len(table), len(names))
        return cls(
            tuple(map(str, cases)) if cases is not None else tuple(str(i + 1) for i in range(len(table))),
            names,
            tuple(map(str, known)),
            codes,
            _confidence_table(confidence, names, codes, by_rater=isinstance(ratings, Mapping)),
            kind,
            None if reference is None else np.array([_code(place, x) for x in answers], np.int16),
            tuple(map(str, subjects)) if subjects is not None else (),
        )

    def __repr__(self) -> str:
        shown = ", ".join(self.labels[:6]) + (", …" if len(self.labels) > 6 else "")
        raters = "rater" if len(self.raters) == 1 else "raters"
        return f"<Ratings of {len(self.cases)} cases by {len(self.raters)} {raters}, labels {shown}>"

    def __len__(self) -> int:
        return len(self.cases)

    @property
    def items(self) -> NDArray[np.int64]:
        """Number of items that each row stands for."""
        return np.ones(len(self.cases), np.int64) if self.weights is None else self.weights

    @cached_property
    def given(self) -> NDArray[np.bool_]:
        """(cases, raters): whether there is a rating."""
        return np.asarray(self.codes != MISSING)

    @cached_property
    def rated(self) -> NDArray[np.int64]:
        """Number of raters of each case."""
        return np.asarray(self.given.sum(axis=1), np.int64)

    @cached_property
    def votes(self) -> NDArray[np.int64]:
        """(cases, labels): number of raters who gave each label."""
        return np.stack([(self.codes == k).sum(axis=1) for k in range(len(self.labels))], axis=1).astype(np.int64)

    @property
    def numbers(self) -> tuple[float, ...]:
        """The labels as numbers: their values if they are numeric, otherwise their ranks."""
        return tuple(map(float, self.labels)) if self.kind == "numeric" else tuple(map(float, range(len(self.labels))))

    def select(self, cases: ArrayLike | None = None, raters: Sequence[str] | None = None) -> Ratings:
        """Some of the cases (positions, or a boolean for each) and raters."""
        rows = np.arange(len(self.cases))[slice(None) if cases is None else np.asarray(cases)]
        columns = np.array([self.position(r) for r in (self.raters if raters is None else raters)], np.intp)
        return replace(
            self,
            cases=tuple(self.cases[i] for i in rows),
            raters=tuple(self.raters[j] for j in columns),
            codes=self.codes[np.ix_(rows, columns)],
            confidence=self.confidence[np.ix_(rows, columns)],
            reference=None if self.reference is None else self.reference[rows],
            subjects=tuple(self.subjects[i] for i in rows),
            weights=None if self.weights is None else self.weights[rows],
        )

    def position(self, rater: str) -> int:
        """The column of a rater."""
        if rater not in self.raters:
            raise CallError(f"there is no rater {rater!r}; raters are {', '.join(self.raters)}")
        return self.raters.index(rater)

    def tally(self) -> Tally:
        """The ratings as a tally, for kappa, alpha and other agreement statistics; no label is background."""
        codes = np.where(self.given, self.codes, VOID).astype(np.uint8)
        if len(self.labels) >= VOID:
            raise CallError(f"kappa and alpha need fewer than {VOID} labels; there are {len(self.labels)}: group them")
        labels = Labels(tuple(range(1, len(self.labels) + 1)), self.labels, self.numbers)
        return Tally(tuple(map(Column, self.raters)), labels, codes, self.items)


def _read_rows(ratings: Any, raters: Sequence[str] | None) -> tuple[list[list[Any]], tuple[str, ...]]:
    if isinstance(ratings, Mapping):
        columns = [list(column) for column in ratings.values()]
        if len({len(c) for c in columns}) > 1:
            raise CallError("every rater needs one rating for each case, None where it is missing; the lengths differ")
        return [list(row) for row in zip(*columns, strict=True)], tuple(map(str, ratings))
    rows = [list(row) for row in ratings]
    width = len(rows[0]) if rows else 0
    if any(len(row) != width for row in rows):
        raise CallError("ratings must be a table of cases × raters; the rows differ in length")
    names = tuple(map(str, raters)) if raters is not None else tuple(str(i + 1) for i in range(width))
    if len(names) != width:
        raise CallError(f"raters= has {len(names)} names, but the table has {width} columns")
    return rows, names


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float | np.floating) and np.isnan(value))


def _find_labels(table: list[list[Any]], answers: list[Any], labels: Sequence[Hashable] | None) -> list[Any]:
    used = {x for row in table for x in row if not _is_missing(x)} | {x for x in answers if not _is_missing(x)}
    if labels is None:
        try:
            return sorted(used)
        except TypeError:
            return sorted(used, key=str)
    unknown = used - set(labels)
    if unknown:
        raise CallError(f"{sorted(map(str, unknown))[0]!r} is not a label; labels are {', '.join(map(str, labels))}")
    return list(labels)


def _code(place: Mapping[Any, int], value: Any) -> int:
    return MISSING if _is_missing(value) else place[value]


def _confidence_table(given: Any, names: tuple[str, ...], codes: NDArray[np.int16], *, by_rater: bool) -> Values:
    if given is None:
        return np.full(codes.shape, np.nan)
    if isinstance(given, Mapping):
        missing = [name for name in names if name not in given]
        if missing:
            raise CallError(f"confidence of {missing[0]} is missing; give one for each of {', '.join(names)}")
        columns = [np.broadcast_to(np.asarray(given[name], np.float64), len(codes)) for name in names]
        return np.where(codes == MISSING, np.nan, np.stack(columns, axis=1))
    values = np.asarray(given, np.float64)
    values = values.T if by_rater and values.ndim == 2 else values
    return np.where(codes == MISSING, np.nan, np.broadcast_to(values, codes.shape))
