"""Grey values to numbers of levels: whole numbers and few distinct values as they are, many of them rounded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import InputError, LabelError

Array = NDArray[Any]
Blocks = Callable[[], Iterator[Array]]
Limits = tuple[float, float] | None

MOST = 65_536
"""More distinct values than this are rounded to so many."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Ascending values that a response may take, and the way from a response to its level."""

    values: NDArray[np.float64]
    step: float = 0.0
    """Between neighbours, where they are evenly spaced; 0 where they are not."""
    rounded: bool = False
    """Whether responses were rounded to these."""

    def codes(self, values: Array) -> NDArray[np.integer[Any]]:
        """The number of the level of each value."""
        if not self.step:
            return np.searchsorted(self.values, values)
        if self.rounded:
            return np.asarray(np.rint((values - self.values[0]) / self.step), np.int64)
        low = int(self.values[0])
        # bytes are their own level
        return values if values.dtype == np.uint8 and not low else values.astype(np.int64) - low


def levels(blocks: Blocks, dtype: np.dtype[Any], limits: Limits) -> Levels:
    """The levels of what the blocks hold; they are walked through once or twice."""
    if dtype.kind not in "biuf":
        raise LabelError(f"a response is a number; got an array of {dtype}")
    if dtype.kind == "b" or (dtype == np.uint8 and limits is None):
        return Levels(np.arange(256.0), 1.0)
    low, high = _range(blocks(), limits)
    if dtype.kind != "f" and high - low < MOST:
        return Levels(np.arange(low, high + 1), 1.0)
    distinct = _distinct(blocks())
    if distinct is not None:
        return Levels(distinct)
    low, high = limits or (low, high)
    return Levels(np.linspace(low, high, MOST), (high - low) / (MOST - 1), True)


def _range(blocks: Iterable[Array], limits: Limits) -> tuple[float, float]:
    """The smallest and the largest value; an error where one is not finite or beyond the limits."""
    low, high = limits or (-np.inf, np.inf)
    least, most, strange, example, items = np.inf, -np.inf, 0, np.nan, 0
    for block in blocks:
        items += len(block)
        bad = ~(np.isfinite(block) & (block >= low) & (block <= high))
        if bad.any():
            example = float(block[bad][0]) if not strange else example
            strange += int(bad.sum())
        elif len(block):
            least, most = min(least, float(block.min())), max(most, float(block.max()))
    if strange:
        within = f"from {low:g} to {high:g}" if limits else "finite"
        raise InputError(
            f"responses must be {within}, but {strange:,} of {items:,} are not, such as {example:g}; "
            "mend them, exclude the items, or give a masked array"
        )
    return (least, most) if items else (0.0, 0.0)


def _distinct(blocks: Iterable[Array]) -> NDArray[np.float64] | None:
    """The distinct values; None as soon as there are too many."""
    found = np.empty(0)
    for block in blocks:
        found = np.union1d(found, np.unique(block).astype(np.float64))
        if len(found) > MOST:
            return None
    return found
