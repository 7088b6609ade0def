"""Which consensus methods give the same masks in all cases, and which are the union or the intersection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...claims.consensus import Bound, SameMasks
from ...core.labels import VOID
from ...core.tally import Tallies, Tally
from .case import consensus_column

BOUNDS: tuple[Bound, ...] = ("union", "intersection")


def find_same_masks(tallies: Tallies, methods: Sequence[str], raters: int) -> SameMasks:
    """Compare the masks of all methods pixel by pixel, from tables of raters and consensuses."""
    tables = list(tallies.values())
    shared = [table for table in tables if count_present(table) > 1]
    several = any(table.labels.several or table.labels.background is None for table in tables)
    # raters who never differ have one mask, which is union and intersection at once
    differ = any((table.counts[_is_disputed(table)] > 0).any() for table in shared)
    bounds = {} if several or not differ else _find_bounds(shared, methods)
    marked = any(bool(((table.marked > 0) & (table.counts > 0)).any()) for table in tables)
    return SameMasks(raters, len(tables), len(shared), marked, _find_equal(tables, methods), bounds)


def count_present(table: Tally) -> int:
    """How many raters rated anything, in their first reading."""
    rows = table.patterns[table.counts > 0][:, table.raters]
    return int((rows != VOID).any(axis=0).sum())


def _is_disputed(table: Tally) -> NDArray[np.bool_]:
    return np.asarray((table.marked > 0) & (table.marked < table.rated))


def _decided(table: Tally, method: str) -> NDArray[np.uint8]:
    return np.asarray(table.patterns[:, table.position(consensus_column(method))])


def _find_equal(tables: Sequence[Tally], methods: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    groups: list[list[str]] = []
    for method in methods:
        for group in groups:
            if all(_agree(table, _decided(table, group[0]), _decided(table, method)) for table in tables):
                group.append(method)
                break
        else:
            groups.append([method])
    return tuple(tuple(group) for group in groups if len(group) > 1)


def _agree(table: Tally, a: NDArray[np.uint8], b: NDArray[np.uint8]) -> bool:
    return not bool(((a != b) & (table.counts > 0)).any())


def _find_bounds(tables: Sequence[Tally], methods: Sequence[str]) -> dict[str, Bound]:
    found: dict[str, Bound] = {}
    for method in methods:
        for bound in BOUNDS:
            if all(_agree_marked(table, method, bound) for table in tables):
                found[method] = bound
    return found


def _agree_marked(table: Tally, method: str, bound: Bound) -> bool:
    """Whether a method marks what any rater, or what all raters who rated it, marked."""
    decided, counted = _decided(table, method), (table.counts > 0) & (table.rated > 0)
    least = np.ones_like(table.rated) if bound == "union" else table.rated
    marked = np.isin(decided, table.labels.marks)
    return not bool(((marked != (table.marked >= least)) & counted & (decided != VOID)).any())
