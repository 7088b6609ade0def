"""One read as files: its masks, and its ranks."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...exchange.opening import about
from ...exchange.reads import Mark, Read
from ...formats import write_map
from .layout import Layout

Overlap = Literal["smaller", "z", "union"]
"""Structures of one rater that overlap: each whole, so that a study cuts the smaller out of the larger or unites
them; or cut already, so that each pixel is that of what lies on top."""
LARGEST_RANK = 255


@dataclass(frozen=True)
class Drawn:
    """What became of a read."""

    checksum: str
    marked: int
    """Pixels that it marks."""
    lost: int
    """Marks that hold no pixel's centre."""


def draw(read: Read, folder: Path, layout: Layout, overlap: Overlap, ranked: bool) -> Drawn:
    """Write the masks of a read."""
    with about(f"{read.source}: case {read.case}, rater {read.rater}" if read.source else f"case {read.case}"):
        return _drawn(read, folder, layout, overlap, ranked)


def _drawn(read: Read, folder: Path, layout: Layout, overlap: Overlap, ranked: bool) -> Drawn:
    kept = [mark.outline.pixels(read.grid.shape) for mark in read.marks]
    lost = sum(not inside.any() for _, inside in kept)
    order = _by_height(read.marks) if overlap == "z" else _by_size([int(inside.sum()) for _, inside in kept])
    on_top = np.full(read.grid.shape, -1, np.int32) if overlap == "z" else None
    if on_top is not None:
        for i in order:
            window, inside = kept[i]
            on_top[window][inside] = i
    digest, anywhere = hashlib.sha256(), np.zeros(read.grid.shape, bool)
    for structure in layout.structures:
        mask = np.zeros(read.grid.shape, np.uint8)
        for i, mark in enumerate(read.marks):
            if mark.label == structure:
                window, inside = kept[i]
                mask[window] |= inside if on_top is None else on_top[window] == i
        path = layout.mask(folder, read, structure)
        write_map(path, mask, read.grid)
        digest.update(path.read_bytes())
        anywhere |= mask != 0
    if ranked:
        write_map(layout.rank(folder, read), _ranks(read, kept, order), read.grid)
    return Drawn(digest.hexdigest()[:16], int(np.count_nonzero(anywhere)), lost)


def _by_height(marks: Sequence[Mark]) -> list[int]:
    return sorted(range(len(marks)), key=lambda i: marks[i].order)


def _by_size(sizes: Sequence[int]) -> list[int]:
    return sorted(range(len(sizes)), key=lambda i: -sizes[i])


def _ranks(read: Read, kept: Sequence[tuple[Any, NDArray[np.bool_]]], order: Sequence[int]) -> NDArray[np.uint8]:
    """The rank of what lies on top, 0 where nothing is marked."""
    ranks = np.zeros(read.grid.shape, np.uint8)
    for i in order:
        rank = read.marks[i].rank
        if rank is None:
            raise InputError(
                f"a {read.marks[i].label} has no rank, and others have one; give all of them ranks, or import without "
                "them (--no-ranks)"
            )
        if not 1 <= rank <= LARGEST_RANK:
            raise InputError(f"a {read.marks[i].label} has the rank {rank}; ranks are 1 to {LARGEST_RANK}")
        window, inside = kept[i]
        ranks[window][inside] = rank
    return ranks
