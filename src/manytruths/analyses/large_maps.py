"""Maps of cases that are too large for memory: their format, and writing them while they are painted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, InputError
from ..core.tiles import Where
from ..io import Location
from ..io.files import OUTLINES, suffix_of
from ..io.tiled_tiff import write_tiles
from ..io.zarr_store import MapWriter
from ..study.case import Reading

LargeMaps = Literal["same", "ome-zarr", "tiff"]
"""Formats of maps that are written by tile."""

Paint = Callable[[object], Iterator[tuple[Where, list[NDArray[Any]]]]]
"""Yields parts of one map along the chunks of what it is given, in order."""


def check_large_maps(large_maps: str) -> None:
    """Refuse a format that is none."""
    if large_maps not in get_args(LargeMaps):
        raise CallError(f"large_maps is one of {', '.join(get_args(LargeMaps))}; got {large_maps!r}")


def write_large_map(path: Path, reading: Reading, dtype: np.dtype[Any], paint: Paint, most: int) -> list[Path]:
    """Write a map of counts up to ``most`` by tile, in the format of its suffix; the files that were written."""
    if path.suffix == ".tif":
        write_tiles(path, reading.grid, dtype, paint, nearest=True)
        return [path]
    writer = MapWriter(path, reading.grid.shape, dtype, reading.grid, nearest=True, most=most)
    try:
        for where, (tile,) in paint(writer):
            writer[where] = tile
        return writer.finish()
    finally:
        writer.discard()


def large_suffix(reading: Reading, wanted: LargeMaps) -> str:
    """The format wanted, else OME-Zarr of Zarr, outlines, arrays and volumes, and BigTIFF of the rest."""
    source = next(iter(next(iter(reading.case.masks.values())).values()))
    suffix = suffix_of(source.path.name) if isinstance(source, Location) else ".zarr"
    volume = len(reading.grid.shape) == 3
    if wanted == "tiff" and volume:
        raise InputError(
            f"case {reading.case.name}: a volume of this size is written as OME-Zarr; leave out large_maps"
        )
    if wanted != "same":
        return ".tif" if wanted == "tiff" else ".zarr"
    # of outlines most tiles are one value, and a Zarr store has no chunks where it is 0
    return ".zarr" if suffix in (".zarr", *OUTLINES) or volume else ".tif"
