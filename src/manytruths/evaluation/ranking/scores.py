"""Scores of algorithms: a value, or the kind of gap, for every algorithm, case, ground truth and metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import CallError

PRESENT, MISSING, UNDEFINED, BOTH_EMPTY = 0, 1, 2, 3
"""A value; none as there was no prediction; undefined; undefined as neither truth nor prediction marked anything."""

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scores:
    """A table of scores.

    ``values`` and ``gaps`` have one axis each for algorithms, cases, truths and metrics; ``values`` is nan exactly
    where ``gaps`` is not 0. ``subjects`` names the subject of every case.
    """

    algorithms: tuple[str, ...]
    cases: tuple[str, ...]
    subjects: tuple[str, ...]
    truths: tuple[str, ...]
    metrics: tuple[str, ...]
    values: Values
    gaps: NDArray[np.uint8]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        axes = (self.algorithms, self.cases, self.truths, self.metrics)
        shape = tuple(len(axis) for axis in axes)
        if self.values.shape != shape or self.gaps.shape != shape or len(self.subjects) != len(self.cases):
            raise CallError(
                f"values and gaps are algorithms × cases × truths × metrics, {shape}, with a subject for each case; "
                f"got {self.values.shape}, {self.gaps.shape} and {len(self.subjects)} subjects"
            )
        if any(len(set(axis)) < len(axis) for axis in axes):
            raise CallError("an algorithm, case, truth or metric is named twice; each name once")
        if (np.isfinite(self.values) != (self.gaps == PRESENT)).any():
            raise CallError("values must be finite where gaps is 0, and nan where it is not")

    @classmethod
    def of(
        cls,
        values: ArrayLike,
        algorithms: Sequence[str],
        *,
        cases: Sequence[str] | None = None,
        subjects: Sequence[str] | None = None,
        truths: Sequence[str] = ("truth",),
        metrics: Sequence[str] = ("dice",),
    ) -> Scores:
        """Scores from an array of algorithms × cases (× truths × metrics); what is not finite is missing.

        >>> Scores.of([[0.9, 0.8], [0.7, float("nan")]], ["unet", "vnet"])
        Scores(2 algorithms, 2 cases, 2 subjects; against truth; dice)
        """
        whole: Values = np.array(values, np.float64)
        whole = whole.reshape((*whole.shape, 1, 1, 1, 1)[:4])
        known = np.isfinite(whole)
        whole[~known] = np.nan
        names = tuple(cases) if cases is not None else tuple(f"case {i + 1}" for i in range(whole.shape[1]))
        people = names if subjects is None else tuple(subjects)
        gaps = np.where(known, PRESENT, MISSING).astype(np.uint8)
        return cls(tuple(algorithms), names, people, tuple(truths), tuple(metrics), whole, gaps)

    @property
    def subject_names(self) -> tuple[str, ...]:
        """Every subject once."""
        return tuple(dict.fromkeys(self.subjects))

    @property
    def owners(self) -> NDArray[np.intp]:
        """The number of each case's subject."""
        numbers = {name: i for i, name in enumerate(self.subject_names)}
        return np.array([numbers[name] for name in self.subjects], np.intp)

    def select(
        self,
        algorithms: Sequence[str] | None = None,
        truths: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
    ) -> Scores:
        """Some of the algorithms, truths and metrics."""
        rows = _positions("algorithm", self.algorithms, algorithms)
        layers = _positions("truth", self.truths, truths)
        columns = _positions("metric", self.metrics, metrics)
        pick = np.ix_(rows, range(len(self.cases)), layers, columns)
        return Scores(
            tuple(self.algorithms[i] for i in rows), self.cases, self.subjects,
            tuple(self.truths[i] for i in layers), tuple(self.metrics[i] for i in columns),
            self.values[pick], self.gaps[pick], self.notes,
        )  # fmt: skip

    def __repr__(self) -> str:
        sizes = f"{len(self.algorithms)} algorithms, {len(self.cases)} cases, {len(self.subject_names)} subjects"
        return f"Scores({sizes}; against {', '.join(self.truths)}; {', '.join(self.metrics)})"


def _positions(what: str, names: tuple[str, ...], wanted: Sequence[str] | None) -> list[int]:
    if wanted is None:
        return list(range(len(names)))
    unknown = [name for name in wanted if name not in names]
    if unknown or not wanted or len(set(wanted)) < len(wanted):
        told = f"no {what} {unknown[0]!r}" if unknown else f"each {what} once, and at least one"
        raise CallError(f"{told}; there are {', '.join(names)}")
    return [names.index(name) for name in wanted]
