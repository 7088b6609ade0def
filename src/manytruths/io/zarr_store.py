"""Zarr 2 and 3, plain and as OME-Zarr 0.4 and 0.5: a folder ending in ``.zarr``, or an array or image inside it.

Of a pyramid the first level is read, which has full resolution. What is small is read whole; what has
:data:`~manytruths.io.files.LARGE` pixels or more stays on disk and is read by chunk.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError
from ..core.tiles import Band, Spread, Where, absent_chunks, chunk_files, known_value, tile_bands
from ..shape.grid import Grid, times
from . import files
from .files import Content, Location, Use, import_extra, make_grid, raise_damaged
from .halving import halve, level_shapes
from .results import file_digest
from .writing import log_written, write_errors

MILLIMETRES = {
    "angstrom": 1e-7, "nanometer": 1e-6, "micrometer": 1e-3, "millimeter": 1.0, "centimeter": 10.0, "meter": 1000.0,
}  # fmt: skip
"""Units of OME-Zarr in mm; spacings in others are not known."""
_SPACE, _CHANNEL = "zyx", "c"
_DEEPEST = 4
"""Folders inside a store that are searched for arrays."""
CHUNK = {2: (1024, 1024), 3: (32, 256, 256)}
"""Chunks of what is written, by the number of axes."""
WRITTEN = "manytruths"
"""The attribute of stores that are written here; it counts the files of each level."""


def is_store(path: Path | str) -> bool:
    """Whether a path is a folder ending in ``.zarr``."""
    return str(path).lower().endswith(".zarr") and os.path.isdir(path)


def _store_files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file())


def store_bytes(path: Path) -> int:
    """The size of all files of a store."""
    return sum(file.stat().st_size for file in _store_files(path))


def store_digest(path: Path) -> str:
    """The digest of the list of files of a store, each with its own."""
    whole = hashlib.sha256()
    for file in _store_files(path):
        whole.update(f"{file_digest(file)}  {file.relative_to(path).as_posix()}\n".encode())
    return whole.hexdigest()


# -- metadata -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Node:
    """An array or group, by its metadata alone."""

    path: Path
    is_array: bool
    attributes: Mapping[str, Any]

    @property
    def ome(self) -> Mapping[str, Any]:
        """What OME-Zarr says: from version 0.5 on in a place of its own."""
        own = self.attributes.get("ome", self.attributes)
        return own if isinstance(own, Mapping) else {}

    @property
    def image(self) -> Mapping[str, Any] | None:
        """The description of a pyramid; None where there is none."""
        several = self.ome.get("multiscales")
        return several[0] if isinstance(several, list) and several and isinstance(several[0], Mapping) else None


def _node(path: Path) -> _Node | None:
    """What a folder holds by its metadata; None where it is none of Zarr's."""
    if (text := _json(path / "zarr.json")) is not None:
        return _Node(path, text.get("node_type") == "array", text.get("attributes") or {})
    attributes = _json(path / ".zattrs") or {}
    if (path / ".zarray").is_file():
        return _Node(path, True, attributes)
    return _Node(path, False, attributes) if (path / ".zgroup").is_file() else None


def _json(path: Path) -> dict[str, Any] | None:
    try:
        text = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise FormatError(f"{path}: is damaged or cut short ({error}); export or copy it again") from None
    if not isinstance(text, dict):
        raise FormatError(f"{path}: holds no JSON object; export or copy it again")
    return text


def member_names(path: Path) -> tuple[str, ...]:
    """The arrays and images inside a store, as paths within it; levels of pyramids are not among them."""
    return tuple(sorted(_members(path, "", _DEEPEST)))


def _members(path: Path, within: str, deeper: int) -> Iterator[str]:
    node = _node(path)
    if node is None:
        return
    if within and (node.is_array or node.image):
        yield within
    if node.is_array or not deeper:
        return
    levels = {str(level.get("path")) for level in (node.image or {}).get("datasets", ())}
    for name in sorted(entry.name for entry in os.scandir(path) if entry.is_dir()):
        if name not in levels:
            yield from _members(path / name, f"{within}/{name}".lstrip("/"), deeper - 1)


@dataclass(frozen=True)
class _Source:
    """Where the pixels of a location are, and what its metadata say about them."""

    path: Path
    axes: tuple[str, ...]
    """Names of the axes; empty where they have none."""
    scale: tuple[float | None, ...]
    """Size of a pixel in mm along each axis; None where it is not known."""
    format: str
    written: int | None = None
    """How many files a store that was written here has at this level."""
    levels: tuple[Path, ...] = ()
    """All levels of the pyramid."""


def _find_source(location: Location, use: Use) -> _Source:
    path = location.path / (location.member or "")
    node = _node(path)
    if node is None:
        raise FormatError(f"{location}: holds no Zarr array (no zarr.json, .zarray or .zgroup); export it again")
    if node.is_array:
        return _Source(path, (), (), "zarr", _files_written(node, ""))
    if node.image is not None:
        labels = [name for name in member_names(path) if name.startswith("labels/")]
        if use == "mask" and labels:
            shown = ", ".join(f"{location}/{name}" for name in labels[:3])
            raise FormatError(f"{location}: is an image with labels; name the labels that are meant, such as {shown}")
        return _level(location, path, node)
    names = member_names(path)
    if len(names) == 1:
        return _find_source(Location(location.path, "/".join(filter(None, (location.member, names[0])))), use)
    listed = ", ".join(names[:5]) or "none"
    raise FormatError(f"{location}: is a group of {len(names)} arrays ({listed}); name one of them after the .zarr")


def _level(location: Location, path: Path, node: _Node) -> _Source:
    """The first level of a pyramid; all of them must show the same thing."""
    assert node.image is not None
    axes, units = [], []
    for axis in node.image.get("axes") or ():
        axes.append(str(axis["name"] if isinstance(axis, Mapping) else axis))
        units.append(MILLIMETRES.get(str(axis.get("unit"))) if isinstance(axis, Mapping) else None)
    levels = node.image.get("datasets") or ()
    if not levels:
        raise FormatError(f"{location}: its pyramid has no level; export it again")
    scales = [_scale(node.image, level, len(axes)) for level in levels]
    _check_levels(location, path, levels, scales)
    first = str(levels[0]["path"])
    known = [None if unit is None or not scales[0] else s * unit for s, unit in zip(scales[0], units, strict=True)]
    every = tuple(path / str(level["path"]) for level in levels)
    return _Source(path / first, tuple(axes), tuple(known), "ome-zarr", _files_written(node, first), every)


def _scale(image: Mapping[str, Any], level: Mapping[str, Any], axes: int) -> tuple[float, ...]:
    """The size of a pixel of a level in units of its axes."""
    scale = [1.0] * axes
    for transforms in (level.get("coordinateTransformations"), image.get("coordinateTransformations")):
        for transform in transforms or ():
            own = transform.get("scale") if isinstance(transform, Mapping) else None
            if isinstance(own, list) and len(own) == axes:
                scale = [a * float(b) for a, b in zip(scale, own, strict=True)]
    return tuple(scale)


def _check_levels(location: Location, path: Path, levels: Sequence[Any], scales: Sequence[Sequence[float]]) -> None:
    """Refuse a pyramid whose levels do not cover the same area by what they say about themselves."""
    shapes = [_stored_shape(path / str(level["path"])) for level in levels]
    for level, shape, scale in zip(levels, shapes, scales, strict=True):
        shown = f"{location}: its pyramid disagrees: level {level['path']}"
        if shape is None or shapes[0] is None:
            raise FormatError(f"{shown} is not there; export or copy it again")
        if len(shape) != len(shapes[0]) or (scale and len(scale) != len(shape)):
            raise FormatError(f"{shown} has {len(shape)} axes; export it again")
        for n, whole, own, full in zip(shape, shapes[0], scale, scales[0], strict=bool(scale)):
            # a level may be rounded up or down, and may be made from one that was
            if abs(n * own / full - whole) > 2 * max(1.0, own / full):
                raise FormatError(
                    f"{shown} has {times(shape)} pixels of {times(scale)}, level {levels[0]['path']} "
                    f"{times(shapes[0])} of {times(scales[0])}; export it again"
                )


def stored_shape(location: Location) -> tuple[int, ...]:
    """The size of a mask with all its axes, by metadata alone."""
    return _stored_shape(_find_source(location, "mask").path) or ()


def _stored_shape(path: Path) -> tuple[int, ...] | None:
    text = _json(path / "zarr.json") or _json(path / ".zarray") or {}
    shape = text.get("shape")
    return tuple(map(int, shape)) if isinstance(shape, list) else None


def _files_written(node: _Node, level: str) -> int | None:
    own = node.attributes.get(WRITTEN)
    counts = own.get("files") if isinstance(own, Mapping) else None
    return counts.get(level) if isinstance(counts, Mapping) else None


# -- reading ------------------------------------------------------------------------------------------


def probe(location: Location) -> Grid:
    return _stored(location, "picture" if location.member is None else "mask")[1]


def read(location: Location, use: Use) -> Content:
    stored, grid, source = _stored(location, use)
    if source.written is not None:
        absent, every = absent_chunks(stored.array)
        if every - absent != source.written:
            raise_damaged(location, f"{every - absent} of its {source.written} files of chunks are there")
    if math.prod(stored.shape) >= files.LARGE:
        return Content(stored, grid, source.format)  # type: ignore[arg-type]
    array = stored[(slice(None),) * len(stored.shape)]
    return Content(np.moveaxis(array, 0, -1) if array.ndim > len(grid.shape) else array, grid, source.format)


def open_levels(location: Location) -> list[StoredArray]:
    """Every level of an image to look at, full resolution first; colours, where there are any, are its first axis."""
    stored, _, source = _stored(location, "picture")
    levels = [replace(stored, path=path, stored_shape=_stored_shape(path) or ()) for path in source.levels[1:]]
    return [stored, *levels]


@dataclass(frozen=True)
class Absent:
    """Files of chunks that a store lacks: what they would hold is fill value."""

    absent: int
    every: int
    holes: int = 0
    """How many of them have marks on opposite sides."""
    first: str = ""
    """The first of these."""


def find_absent(location: Location) -> Absent:
    """Count the files of chunks that a store lacks, and those of them that have marks on opposite sides."""
    array = _stored(location, "mask")[0].array
    steps, name = chunk_files(array)
    counts = [-(-n // step) for n, step in zip(array.shape, steps, strict=True)]
    there = np.empty(counts, bool)
    for corner in np.ndindex(*counts):
        there[corner] = os.path.exists(name(corner))
    holes = []
    for corner in map(tuple, np.argwhere(~there).tolist()):
        if any(_faces_marks(array, steps, there, corner, axis) for axis in range(len(counts))):
            holes.append("/".join(map(str, corner)))
    return Absent(int((~there).sum()), there.size, len(holes), holes[0] if holes else "")


def _faces_marks(
    array: Any, steps: Sequence[int], there: NDArray[np.bool_], corner: tuple[int, ...], axis: int
) -> bool:
    """Whether the chunks before and after one along an axis have marks that touch it."""
    for side in (-1, 1):
        beside = [i + side * (k == axis) for k, i in enumerate(corner)]
        if not 0 <= beside[axis] < there.shape[axis] or not there[tuple(beside)]:
            return False
        where = [slice(i * step, (i + 1) * step) for i, step in zip(beside, steps, strict=True)]
        edge = beside[axis] * steps[axis] + (steps[axis] - 1 if side < 0 else 0)
        where[axis] = slice(edge, edge + 1)
        if not np.asarray(array[tuple(where)]).any():
            return False
    return True


def _stored(location: Location, use: Use) -> tuple[StoredArray, Grid, _Source]:
    """The array of a location without the axes that have one index, its grid and where it was found."""
    source = _find_source(location, use)
    array = _open(location, source.path)
    shape, axes = array.shape, source.axes or ("",) * len(array.shape)
    if len(axes) != len(shape) or np.dtype(array.dtype).kind not in "biuf":
        raise FormatError(
            f"{location}: holds {times(shape)} of {array.dtype} for axes {''.join(axes)}; export it again"
        )
    fixed: list[int | None] = []
    for n, axis in zip(shape, axes, strict=True):
        alone = n == 1 and (axis not in _SPACE if axis else len(shape) - len(fixed) > 2 and len(shape) > 3)
        alone = alone or (n == 1 and axis == "z")
        colour = axis == _CHANNEL and n == 3 and use == "picture"
        if axis and axis not in _SPACE and not alone and not colour:
            raise FormatError(f"{location}: has {n} parts along axis {axis!r}; save one of them")
        fixed.append(0 if alone else None)
    kept = [i for i, index in enumerate(fixed) if index is None and axes[i] != _CHANNEL]
    known = [source.scale[i] for i in kept] if source.scale else [None]
    spacing = None if None in known else known
    _refuse_empty(location, shape)
    grid = make_grid(location, [shape[i] for i in kept], spacing)
    return StoredArray(location, source.path, tuple(fixed), tuple(shape), str(array.dtype)), grid, source


def _refuse_empty(location: Location, shape: Sequence[int]) -> None:
    if not shape or min(shape) < 1:
        text = times(shape) or "a single number"
        raise FormatError(f"{location}: its size is {text}, but at least 1 is needed along every axis; export it again")


def _open(location: Location, path: Path) -> Any:
    zarr = import_extra("zarr", "zarr", location)
    return zarr.open_array(str(path), mode="r")


@dataclass(frozen=True, eq=False)
class StoredArray:
    """An array on disk, by chunk; processes open it anew."""

    location: Location
    path: Path
    fixed: tuple[int | None, ...]
    stored_shape: tuple[int, ...]
    kind: str

    @cached_property
    def array(self) -> Any:
        """The Zarr array."""
        return _open(self.location, self.path)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "array"}

    @property
    def shape(self) -> tuple[int, ...]:
        return self._kept(self.stored_shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.kind)

    @property
    def chunks(self) -> tuple[int, ...]:
        return self._kept(self.array.chunks)

    def _kept(self, sizes: Sequence[int]) -> tuple[int, ...]:
        return tuple(n for n, index in zip(sizes, self.fixed, strict=True) if index is None)

    def _whole(self, where: Sequence[Any]) -> tuple[slice, ...]:
        kept = iter(where)
        return tuple(next(kept) if index is None else slice(index, index + 1) for index in self.fixed)

    def known_value(self, where: Where) -> float | None:
        """The one value that a tile is known to hold."""
        return known_value(self.array, self._whole(where))

    def __getitem__(self, where: Any) -> NDArray[Any]:
        where = where if isinstance(where, tuple) else (slice(None),) * len(self.shape)
        whole = self._whole(where)
        try:
            piece = np.asarray(self.array[whole])
        except MemoryError:
            raise
        except Exception as error:
            self._raise_chunk(whole, error)
        return piece.reshape(self._kept(piece.shape))

    def _raise_chunk(self, where: Sequence[slice], error: Exception) -> None:
        """Name the first chunk of a tile that cannot be decoded."""
        spans = [range(*part.indices(n)) for part, n in zip(where, self.stored_shape, strict=True)]
        steps = self.array.chunks
        corners = [range(span[0] // step, span[-1] // step + 1) for span, step in zip(spans, steps, strict=True)]
        for place in np.ndindex(*map(len, corners)):
            corner = [own[i] for own, i in zip(corners, place, strict=True)]
            try:
                self.array[tuple(slice(i * step, (i + 1) * step) for i, step in zip(corner, steps, strict=True))]
            except Exception as reason:
                raise_damaged(self.location, f"chunk {'/'.join(map(str, corner))} cannot be decoded: {reason}", reason)
        raise_damaged(self.location, str(error), error)


# -- writing ------------------------------------------------------------------------------------------


class MapWriter:
    """An OME-Zarr 0.5 image that is written by tile; :meth:`finish` makes its pyramid and puts it in place.

    Chunks carry check sums, and the attributes count the files, so that what is lost later is noticed. ``nearest`` says
    whether levels take single pixels or their means. An image is shown in grey from 0 to ``most``; where that is None,
    values are labels.
    """

    def __init__(
        self, path: Path, shape: Sequence[int], dtype: Any, grid: Grid, *, nearest: bool, most: float | None = None
    ) -> None:
        self.path, self.grid, self.dtype = path, grid, np.dtype(dtype)
        self.nearest, self.most = nearest, most
        self.part = path.with_name(f".part-{path.name}")
        self.levels: list[Any] = []
        zarr = import_extra("zarr", "zarr", path)
        with write_errors(path):
            shutil.rmtree(self.part, ignore_errors=True)
            self.part.mkdir(parents=True)
            self.group = zarr.open_group(str(self.part), mode="w", zarr_format=3)
            self.add_level(shape)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "group": None, "levels": len(self.levels)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        zarr = import_extra("zarr", "zarr", self.path)
        self.group = zarr.open_group(str(self.part), mode="r+")
        self.levels = [self.group[str(number)] for number in range(state["levels"])]

    def add_level(self, shape: Sequence[int]) -> Any:
        """One more level of the pyramid."""
        from zarr.codecs import Crc32cCodec, ZstdCodec

        chunks = tuple(min(n, size) for n, size in zip(shape, CHUNK[len(shape)], strict=True))
        # level 1 is about as small as any other for masks, and three times as fast
        codecs = (ZstdCodec(level=1), Crc32cCodec())
        self.levels.append(self.group.create_array(
            str(len(self.levels)), shape=tuple(shape), chunks=chunks, dtype=self.dtype, compressors=codecs,
            fill_value=0, dimension_names=list(_SPACE[-len(shape) :]),
        ))  # fmt: skip
        return self.levels[-1]

    @property
    def chunks(self) -> tuple[int, ...]:
        """Tiles that hold whole chunks are written once."""
        return tuple(self.levels[0].chunks)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.levels[0].shape)

    def __setitem__(self, where: Where, values: Any) -> None:
        # 0 is what an absent chunk holds
        if np.ndim(values) or values != 0:
            with write_errors(self.path):
                self._put(where, values)

    def _put(self, where: Where, values: Any) -> None:
        self.levels[0][where] = values

    def finish(self, spread: Spread = map) -> list[Path]:
        """Make the pyramid, and move the store to where it belongs; returns its files.

        ``spread`` is called like ``map``, and may make parts of a level elsewhere.
        """
        with write_errors(self.path):
            for shape in level_shapes(self.shape):
                self._halve(shape, spread)
            for unfinished in self.part.rglob("*.partial"):
                unfinished.unlink()  # of a worker that was killed
            self.group.attrs.update(self._attributes())
            shutil.rmtree(self.path, ignore_errors=True)
            self.part.rename(self.path)
            paths = sorted(path for path in self.path.rglob("*") if path.is_file())
            for path in paths:
                log_written(path)
        return paths

    def discard(self) -> None:
        """Remove what was written."""
        shutil.rmtree(self.part, ignore_errors=True)

    def _halve(self, shape: Sequence[int], spread: Spread) -> None:
        """A level of half the size, which has the shape."""
        below = self.add_level(shape)
        for _ in spread(self._halve_band, tile_bands([_Doubled(below)])):
            pass

    def _halve_band(self, band: Band) -> None:
        """Some tiles, of whole chunks, of the last level."""
        above, below = self.levels[-2:]
        for where in band:
            source = tuple(
                slice(2 * part.start, min(2 * part.stop, n)) for part, n in zip(where, above.shape, strict=True)
            )
            if known_value(above, source) == 0:
                continue
            below[where] = halve(above[source], self.nearest)

    def _attributes(self) -> dict[str, Any]:
        axes = len(self.shape)
        unit = {} if self.grid.spacing is None else {"unit": "millimeter"}
        spacing = self.grid.spacing or (1.0,) * axes
        datasets = []
        for number in range(len(self.levels)):
            scale = {"type": "scale", "scale": [step * 2**number for step in spacing]}
            # the mean of pixels lies between them
            offset = 0.0 if self.nearest else (2**number - 1) / 2
            shift = {"type": "translation", "translation": [step * offset for step in spacing]}
            transforms = [scale, shift] if offset else [scale]
            datasets.append({"path": str(number), "coordinateTransformations": transforms})
        image = {
            "name": self.path.name.removesuffix(".zarr"),
            "axes": [{"name": name, "type": "space", **unit} for name in _SPACE[-axes:]],
            "datasets": datasets,
            "type": "nearest" if self.nearest else "mean",
            "metadata": {"description": "each level has every second pixel of the one above" if self.nearest else
                         "each level has the means of 2 pixels along every axis of the one above"},
        }  # fmt: skip
        ome: dict[str, Any] = {"version": "0.5", "multiscales": [image]}
        if self.most is None:
            ome["image-label"] = {}
        else:
            window = {"min": 0, "max": self.most, "start": 0, "end": self.most}
            channel = {"label": image["name"], "color": "FFFFFF", "active": True, "window": window}
            ome["omero"] = {"channels": [channel]}
        there = {str(number): int(np.subtract(*absent_chunks(level)[::-1])) for number, level in enumerate(self.levels)}
        return {"ome": ome, WRITTEN: {"files": there}}


class _Doubled:
    """A level as the one above it is read for it: four or eight pixels for each."""

    def __init__(self, level: Any) -> None:
        self.shape, self.chunks, self.dtype = level.shape, level.chunks, np.dtype(f"V{level.dtype.itemsize * 8}")

    def __getitem__(self, where: Any) -> Any:
        raise NotImplementedError
