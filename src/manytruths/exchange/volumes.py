"""Volumes of labels as files store them: scanned a few slices at a time, and read whole only when they are drawn."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError, LabelError, ManytruthsError
from ..io import Location
from ..io.documents import Stream
from ..io.files import format_errors
from ..io.images import whole_numbers
from ..io.nifti import read_layout
from ..shape.grid import Grid
from .readings import Mask, Outline, Window

LARGEST_VOLUME = 1 << 28
"""Voxels of one volume; a header that promises more is taken for a mistake or an attack."""
LARGEST_SLICE = 1 << 26
LARGEST_FILE = 1 << 33
"""Bytes, all layers together and unpacked; they are never in memory at once."""
MOST_LAYERS = 1 << 10
LARGEST_LABEL = (1 << 16) - 1
PIECE = 1 << 22
"""Bytes that are unpacked at a time."""
KEPT = 1 << 28
"""Bytes of a volume that stays in memory for the next of its structures."""
MOST_BEFORE = 1 << 24
"""Bytes before the first voxel."""


@dataclass(frozen=True)
class Volume:
    """Where the voxels of a file are; the first axis runs fastest, and layers run faster still."""

    path: Path
    shape: tuple[int, ...]
    dtype: str
    layers: int = 1
    before: int = 0
    """Bytes of the file before its voxels, packed or not."""
    skipped: int = 0
    """Bytes before the first voxel once all is unpacked."""
    packed: bool = False
    slope: float = 1.0
    intercept: float = 0.0

    def __post_init__(self) -> None:
        size = "×".join(map(str, self.shape)) + (f" in {self.layers} layers" if self.layers > 1 else "")
        if len(self.shape) not in (2, 3) or min(self.shape) < 1 or not 1 <= self.layers <= MOST_LAYERS:
            raise FormatError(f"its size is {size}, which is not a volume; export it again")
        sizes = math.prod(self.shape), self._slice, self._slice * self.shape[-1]
        if any(n > most for n, most in zip(sizes, (LARGEST_VOLUME, LARGEST_SLICE, LARGEST_FILE), strict=True)):
            raise FormatError(f"its size is {size}, more than the largest volume; crop it")
        if not 0 <= self.before + self.skipped <= MOST_BEFORE:
            raise FormatError(f"its voxels start at byte {self.before + self.skipped}; export it again")

    @property
    def _slice(self) -> int:
        """The bytes of a slice along the last axis."""
        return np.dtype(self.dtype).itemsize * self.layers * math.prod(self.shape[:-1])

    def slabs(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """The first slice along the last axis, and whole numbers (layers, …, slices), to the end with its checksum."""
        at_once = max(1, PIECE // self._slice)
        with self._opened() as stream:
            for first in range(0, self.shape[-1], at_once):
                count = min(at_once, self.shape[-1] - first)
                flat = np.frombuffer(_read_exactly(stream, count * self._slice), self.dtype)
                yield first, self._labels(flat.reshape((self.layers, *self.shape[:-1], count), order="F"))
            if stream.read(1):
                raise FormatError("holds more voxels than its header says; export it again")

    def _labels(self, stored: NDArray[Any]) -> NDArray[Any]:
        if self.slope != 1 or self.intercept != 0:
            stored = stored * np.float64(self.slope) + np.float64(self.intercept)
        labels = whole_numbers(stored, Location(self.path))
        if labels.dtype.itemsize > 2 and int(labels.max()) > LARGEST_LABEL:
            raise LabelError(f"holds the label {int(labels.max())}, above {LARGEST_LABEL}; renumber it")
        return labels

    @contextmanager
    def _opened(self) -> Iterator[Stream]:
        with open(self.path, "rb") as plain:
            plain.seek(self.before)
            with gzip.GzipFile(fileobj=plain) if self.packed else nullcontext(plain) as stream:
                _read_exactly(stream, self.skipped)
                yield stream


def _read_exactly(stream: Stream, size: int) -> bytes:
    """So many bytes, in as many reads as it takes."""
    parts: list[bytes] = []
    left = size
    while left:
        part = stream.read(left)
        if not part:
            raise FormatError(f"its voxels end {left} bytes too early; export or copy it again")
        parts.append(part)
        left -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Errors that say the file first; whatever a library raises on bad bytes is one of ours."""
    try:
        with format_errors(Location(path)):
            yield
    except ManytruthsError as error:
        if str(error).startswith(f"{path}: "):
            raise
        raise type(error)(f"{path}: {error}") from None


def read_nifti_volume(path: Path) -> tuple[Volume, Grid]:
    """The volume of a NIfTI file, and its grid."""
    header, grid, packed = read_layout(Location(path))
    slope, intercept = header.get_slope_inter()
    volume = Volume(
        path,
        grid.shape,
        header.get_data_dtype().str,
        skipped=int(header.get_data_offset()),
        packed=packed,
        slope=1.0 if slope is None else float(slope),
        intercept=float(intercept or 0.0),
    )
    return volume, grid


@dataclass(frozen=True)
class VolumeContents:
    """What a look at every voxel found."""

    volume: Volume
    values: tuple[tuple[int, ...], ...]
    """Of every layer: its labels, without 0."""
    box: Window | None
    """Around everything that is not 0; None where all is."""

    def outline(self, value: int | None, layer: int = 0, corner: tuple[int, ...] = ()) -> Outline:
        """The voxels of a label in a layer, of any label where it is None; see :class:`LabelledVoxels`."""
        there = bool(self.values[layer]) if value is None else value in self.values[layer]
        if self.box is None or not there:
            return EmptyOutline()
        return LabelledVoxels(self.volume, self.box, value, layer, corner)


def scan_volume(volume: Volume) -> VolumeContents:
    """Read a volume to its end, keeping none of it."""
    values = [np.zeros(LARGEST_LABEL + 1, bool) for _ in range(volume.layers)]
    along = [np.zeros(size, bool) for size in volume.shape]
    for first, slab in volume.slabs():
        for layer, present in zip(slab, values, strict=True):
            present[np.unique(layer[layer != 0])] = True
        marked = (slab != 0).any(axis=0)
        last = marked.ndim - 1
        for axis in range(last):
            along[axis] |= marked.any(axis=tuple(other for other in range(marked.ndim) if other != axis))
        along[last][first : first + marked.shape[last]] = marked.any(axis=tuple(range(last)))
    labels = tuple(tuple(int(v) for v in np.flatnonzero(present)) for present in values)
    ends = [np.flatnonzero(line)[[0, -1]] for line in along if line.any()]
    box = tuple(slice(int(low), int(high) + 1) for low, high in ends) if len(ends) == len(along) else None
    return VolumeContents(volume, labels, box)


@dataclass(frozen=True)
class LabelledVoxels:
    """The voxels of one label of a file; they are read when they are drawn."""

    volume: Volume
    box: Window
    """The part of the volume that holds anything at all."""
    value: int | None = None
    """None for whatever is not 0."""
    layer: int = 0
    corner: tuple[int, ...] = ()
    """Where the volume's first voxel lies on the grid of the read; at its own first voxel where nothing is said."""

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        corner = self.corner or (0,) * len(self.volume.shape)
        window = tuple(slice(part.start + c, part.stop + c) for part, c in zip(self.box, corner, strict=True))
        with file_errors(self.volume.path):
            if any(part.start < 0 or part.stop > size for part, size in zip(window, shape, strict=True)):
                raise FormatError(f"does not lie on a grid of {'×'.join(map(str, shape))}; read it again")
            held = _layer(self.volume, self.layer)[self.box]
            return window, held != 0 if self.value is None else held == self.value


@dataclass(frozen=True)
class EmptyOutline:
    """A structure that was named, and of which there is no voxel."""

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        return tuple(slice(0, 0) for _ in shape), np.zeros((0,) * len(shape), bool)


def _layer(volume: Volume, layer: int) -> NDArray[Any]:
    """One layer; the last one stays, as a file's structures are drawn one after the other."""
    if math.prod(volume.shape) * min(2, np.dtype(volume.dtype).itemsize) > KEPT:
        _cached_layer.cache_clear()
        return _read_layer(volume, layer)
    now = volume.path.stat()
    return _cached_layer(volume, layer, (now.st_mtime_ns, now.st_size))


@lru_cache(maxsize=1)
def _cached_layer(volume: Volume, layer: int, changed: tuple[int, int]) -> NDArray[Any]:
    return _read_layer(volume, layer)


def _read_layer(volume: Volume, layer: int) -> NDArray[Any]:
    small = np.dtype(volume.dtype).kind in "bui" and np.dtype(volume.dtype).itemsize == 1 and volume.slope == 1
    whole = np.empty(volume.shape, np.uint8 if small and not volume.intercept else np.uint16, order="F")
    for first, slab in volume.slabs():
        whole[..., first : first + slab.shape[-1]] = slab[layer]
    return whole
