"""Arrays that are read piece by piece: Zarr, HDF5, Dask, and whatever else has a shape, a dtype and slices.

Tiles follow the chunks of the arrays, so that each chunk is decoded once, and are small enough that those of all masks
fit into memory. Where a format knows that a tile holds one value only, it is not decoded at all.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

TILE_BYTES = 1 << 24
"""Bytes of a tile, all arrays together; more only where chunks are larger."""

BAND_BYTES = 1 << 27
"""Bytes of a band: consecutive tiles that one worker is given at a time, about half a second of work."""

LARGEST_TILE = 1 << 26
"""Items of a tile, however large the chunks are: beyond it, chunks are decoded several times."""

Array = NDArray[Any]
Where = tuple[slice, ...]
"""A tile: one slice with a start and a stop for every axis."""
Band = list[Where]
"""Consecutive tiles."""

T = TypeVar("T")
R = TypeVar("R")


class Spread(Protocol):
    """Runs parts of a loop over tiles elsewhere: called like the built-in ``map``, results come in order."""

    def __call__(self, work: Callable[[T], R], items: Iterable[T], /) -> Iterable[R]: ...


@runtime_checkable
class LazyArray(Protocol):
    """An array that is not in memory."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def __getitem__(self, where: Any, /) -> Any: ...


def is_lazy(array: object) -> TypeGuard[LazyArray]:
    """Whether something is an array to be read in pieces; NumPy's own arrays, memory maps too, are not."""
    # a pandas column is indexed by its labels
    if isinstance(array, np.ndarray | np.generic) or hasattr(array, "iloc") or not hasattr(array, "__getitem__"):
        return False
    if not isinstance(getattr(array, "shape", None), tuple):
        return False
    try:
        return getattr(array, "dtype", None) is not None and np.dtype(array.dtype).kind in "biuf"  # type: ignore[attr-defined]
    except TypeError:
        return False


def load(array: Array | LazyArray, where: Where | None = None) -> Array:
    """A tile as an array in memory, or the whole; masked where it was."""
    piece = array if isinstance(array, np.ndarray) and where is None else array[... if where is None else where]
    if hasattr(piece, "compute"):
        piece = piece.compute()  # Dask loses the mask of a masked array otherwise
    return piece if isinstance(piece, np.ndarray) else np.asanyarray(piece)


@dataclass(frozen=True, eq=False)
class View:
    """An array without the axes that are fixed at an index; None keeps an axis."""

    base: Any
    fixed: tuple[int | None, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return self._kept(self.base.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        kind: np.dtype[Any] = np.dtype(self.base.dtype)
        return kind

    @property
    def chunks(self) -> tuple[int, ...] | None:
        chunks = chunk_shape(self.base)
        return None if chunks is None else self._kept(chunks)

    def __getitem__(self, where: Any) -> Any:
        return self.base[self._whole(where)]

    def known_value(self, where: Where) -> float | None:
        """The one value that a tile is known to hold."""
        whole = self._whole(where)
        return known_value(self.base, tuple(slice(i, i + 1) if isinstance(i, int) else i for i in whole))

    def _kept(self, sizes: Sequence[int]) -> tuple[int, ...]:
        return tuple(n for n, index in zip(sizes, self.fixed, strict=True) if index is None)

    def _whole(self, where: Any) -> tuple[Any, ...]:
        kept = iter([slice(None)] * len(self.shape) if where is ... else where)
        return tuple(next(kept) if index is None else index for index in self.fixed)


@dataclass(frozen=True, eq=False)
class Mapped:
    """An array whose items are a function of those of another one, computed for each tile that is read."""

    base: Any
    function: Callable[[Array], Array]
    kind: str

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.base.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.kind)

    @property
    def chunks(self) -> tuple[int, ...] | None:
        return chunk_shape(self.base)

    def __getitem__(self, where: Any) -> Array:
        return self.function(load(self.base, None if where is ... else where))

    def known_value(self, where: Where) -> float | None:
        """The one value that a tile is known to hold."""
        value = known_value(self.base, where)
        known: float | None = None if value is None else self.function(np.array(value)).item()
        return known


def is_marked(array: Array | LazyArray) -> Mapped:
    """Where an array is not 0, by tile."""
    return Mapped(array, lambda tile: np.asarray(tile != 0), "?")


def is_at_least(array: Array | LazyArray, threshold: float) -> Mapped:
    """Where an array has a threshold or more, by tile."""
    return Mapped(array, lambda tile: np.asarray(tile >= threshold), "?")


def unstack(array: LazyArray) -> list[View]:
    """The parts along the first axis, none of them read."""
    rest = (None,) * (len(array.shape) - 1)
    return [View(array, (index, *rest)) for index in range(array.shape[0])]


def sample(array: Array | LazyArray, items: int) -> Array:
    """About so many items of an array, flat; of one that is not in memory, those of tiles that lie evenly in it."""
    if isinstance(array, np.ndarray):
        step = max(1, round((array.size / items) ** (1 / array.ndim)))
        return np.asarray(array[(slice(None, None, step),) * array.ndim]).ravel()
    places = list(tile_slices([array]))
    size = math.prod(part.stop - part.start for part in places[0])
    chosen = places[:: max(1, len(places) * size // items)]
    return np.concatenate([load(array, where).ravel()[: max(1, items // len(chosen))] for where in chosen])


def distinct_values(array: Array | LazyArray) -> list[Any]:
    """The values of an array, in rising order."""
    if isinstance(array, np.ndarray):
        return list(np.unique(array).tolist())
    values = set[Any]()
    for where in tile_slices([array]):
        known = known_value(array, where)
        values |= {known} if known is not None else set(np.unique(load(array, where)).tolist())
    return sorted(values)


# -- where tiles lie ----------------------------------------------------------------------------------


def tile_slices(arrays: Sequence[Array | LazyArray], out: object = None) -> Iterator[Where]:
    """The tiles of arrays of one shape, in order; each item is in one of them.

    ``out`` is written by tile: its chunks, or shards, come before those of the others.
    """
    shape = arrays[0].shape
    if 0 in shape:
        return
    sizes = tile_shape(arrays, out)
    for corner in np.ndindex(*(-(-n // size) for n, size in zip(shape, sizes, strict=True))):
        starts = [i * size for i, size in zip(corner, sizes, strict=True)]
        yield tuple(slice(a, min(a + size, n)) for a, size, n in zip(starts, sizes, shape, strict=True))


def tile_bands(arrays: Sequence[Array | LazyArray], out: object = None) -> list[Band]:
    """All tiles, in order, in bands of about :data:`BAND_BYTES`."""
    places = list(tile_slices(arrays, out))
    if not places:
        return []
    size = math.prod(part.stop - part.start for part in places[0])
    size *= sum(np.dtype(array.dtype).itemsize for array in arrays)
    step = max(1, BAND_BYTES // max(1, size))
    return [places[start : start + step] for start in range(0, len(places), step)]


def holds_whole_chunks(arrays: Sequence[Array | LazyArray], out: Any) -> bool:
    """Whether no chunk, or shard, of what is written is part of two tiles, so that several may be written at once."""
    steps = getattr(out, "shards", None) or chunk_shape(out)
    if steps is None:
        return False
    sizes = tile_shape(arrays, out)
    return all(size % step == 0 or size >= n for size, step, n in zip(sizes, steps, out.shape, strict=True))


def tile_shape(arrays: Sequence[Array | LazyArray], out: object = None) -> tuple[int, ...]:
    """The size of a tile: whole chunks, as many along the last axes as memory allows."""
    shape = arrays[0].shape
    most = max(1, TILE_BYTES // sum(np.dtype(array.dtype).itemsize for array in arrays))
    chunkings = [chunks for array in arrays if (chunks := chunk_shape(array)) is not None]
    written = getattr(out, "shards", None) or chunk_shape(out)
    base = _common_chunks(shape, chunkings, written) or (1,) * len(shape)
    sizes = [min(step, n) for step, n in zip(base, shape, strict=True)]
    for axis in reversed(range(len(shape))):
        fits = max(1, most // math.prod(sizes))
        sizes[axis] = min(shape[axis], sizes[axis] * fits)
    for axis in range(len(shape)):
        over = -(-math.prod(sizes) // LARGEST_TILE)
        sizes[axis] = max(1, sizes[axis] // over)
    return tuple(sizes)


def chunk_shape(array: object) -> tuple[int, ...] | None:
    """The chunks of an array; of Dask's, which may differ in size, the largest. None where it has none."""
    chunks = getattr(array, "chunks", None)
    if not isinstance(chunks, tuple) or len(chunks) != len(getattr(array, "shape", ())):
        return None
    return tuple(max(1, max(size, default=1) if isinstance(size, tuple) else int(size)) for size in chunks)


def _common_chunks(
    shape: tuple[int, ...], chunkings: Sequence[tuple[int, ...]], written: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    """Along every axis the least size that holds whole chunks of all arrays, or the largest where that is far more."""
    every = [*chunkings, *([written] if written else [])]
    if not every:
        return None
    sizes = []
    for axis, n in enumerate(shape):
        steps = [min(chunks[axis], n) for chunks in every]
        least, largest = math.lcm(*steps), max(steps)
        near = least if least <= 4 * largest else largest
        if written and near % written[axis] and near < n:
            near = min(n, -(-near // written[axis]) * written[axis])
        sizes.append(near)
    return tuple(sizes)


# -- tiles of one value -------------------------------------------------------------------------------


def known_value(array: object, where: Where) -> float | None:
    """The one value that a tile holds, where the format knows it: chunks that a Zarr store lacks are fill value."""
    own = getattr(array, "known_value", None)
    if own is not None:
        return own(where)  # type: ignore[no-any-return]
    return _absent_value(array, where) if type(array).__module__.partition(".")[0] == "zarr" else None


def absent_chunks(array: Any) -> tuple[int, int]:
    """How many chunk files a Zarr array on disk lacks, and how many it would have with all of them."""
    steps, name = chunk_files(array)
    corners = [-(-n // step) for n, step in zip(array.shape, steps, strict=True)]
    absent = sum(not os.path.exists(name(corner)) for corner in np.ndindex(*corners))
    return absent, math.prod(corners)


def chunk_files(array: Any) -> tuple[tuple[int, ...], Any]:
    """What one file of a Zarr array on disk covers, and a function from its position to its path."""
    place, metadata = array.store_path, array.metadata
    folder = os.path.join(place.store.root, place.path)
    return tuple(array.shards or array.chunks), lambda corner: os.path.join(folder, metadata.encode_chunk_key(corner))


def _absent_value(array: Any, where: Where) -> float | None:
    try:
        steps, name = chunk_files(array)
    except AttributeError:
        return None  # not on disk, or of a version that keeps its chunks elsewhere
    spans = [range(part.start // step, -(-part.stop // step)) for part, step in zip(where, steps, strict=True)]
    for corner in np.ndindex(*map(len, spans)):
        if os.path.exists(name(tuple(span[i] for span, i in zip(spans, corner, strict=True)))):
            return None
    fill = array.fill_value
    return None if fill is None else fill.item() if isinstance(fill, np.generic) else fill
