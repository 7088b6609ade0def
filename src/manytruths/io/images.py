"""Read and write masks, images and maps, whatever the format.

Masks are whole numbers that are not negative, as they stand in the file. Maps are written without loss, in the format
that the suffix names. :func:`probe` reads the grid from the header alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, FormatError, LabelError
from ..core.tiles import View, is_lazy
from ..shape.grid import Grid, times
from ..shape.outline_masks import OutlineMask
from . import arrays, files, metaimage, nifti, nrrd, outline_files, pillow, slides, tiff, zarr_store
from .files import Content, Location, Reader, Use, check_file, format_errors, import_extra, muted_stderr, suffix_of
from .writing import atomic

if TYPE_CHECKING:
    from PIL import Image

_READERS: dict[str, Reader] = {
    ".png": pillow, ".bmp": pillow, ".gif": pillow, ".jpg": pillow, ".jpeg": pillow,
    ".tif": tiff, ".tiff": tiff, ".npy": arrays, ".npz": arrays,
    ".nii": nifti, ".nii.gz": nifti, ".nrrd": nrrd,
    ".mha": metaimage, ".mhd": metaimage, ".zarr": zarr_store, ".geojson": outline_files, ".xml": outline_files,
    **dict.fromkeys((*files.SLIDES, files.DICOM), slides),
}  # fmt: skip
_NEAR = 40
"""How far from 0 and 255 JPEG moves most pixels of a two-valued mask."""
_LPS = np.diag([-1.0, -1.0, 1.0, 1.0])


@dataclass(frozen=True, eq=False)
class Mask:
    """One rater's marks on one case: non-negative integers, as stored in the file."""

    array: NDArray[Any]
    grid: Grid
    format: str
    """``png``, ``jpeg``, ``gif``, ``bmp``, ``tiff``, ``npy``, ``npz``, ``nifti``, ``nrrd``, ``metaimage``, ``zarr``,
    ``ome-zarr``, ``geojson`` or ``asap``; of images also
    ``slide``."""
    largest: float = math.inf
    """The largest value that the file's data type can hold."""


@dataclass(frozen=True, eq=False)
class Picture:
    """An image to look at: grey of 2 or 3 axes, or RGB with a last axis of 3 that its grid does not have."""

    array: NDArray[Any]
    grid: Grid
    format: str


def read_mask(location: Location | Path | str) -> Mask:
    """A mask with its values as stored, however they are shown; floats must be whole numbers."""
    location = Location.of(location)
    if location.blank:  # an empty mask on the grid of another mask or of the image, which may be in colour
        header = location.blank == "mask" or slides.is_slide(location.path)
        grid = probe(location) if header else _content(location, "picture").grid
        large = math.prod(grid.shape) >= files.LARGE
        if large and len(grid.shape) == 2:
            return Mask(cast(NDArray[Any], OutlineMask([], (grid.shape[0], grid.shape[1]))), grid, "empty")
        empty = np.broadcast_to(np.uint8(0), grid.shape) if large else np.zeros(grid.shape, np.uint8)
        return Mask(empty, grid, "empty")
    content = _content(location, "mask")
    if is_lazy(content.array):  # its values are looked at when it is counted
        largest = _largest(np.dtype(content.array.dtype))
        return Mask(cast(NDArray[Any], content.array), content.grid, content.format, largest)
    with format_errors(location):
        return Mask(whole_numbers(content.array, location), content.grid, content.format, _largest(content.array.dtype))


def read_image(location: Location | Path | str) -> Picture:
    """An image to look at: grey of 8 bits, 16 bits or floats, or RGB without alpha; black is the smallest value."""
    return _picture(Location.of(location), "picture")


def read_probability(location: Location | Path | str) -> Picture:
    """A probability map: as :func:`read_image`, but the numbers are as stored, never inverted for viewing.

    Large ones stay on disk, as masks do. There may be one axis more, for labels.
    """
    return _picture(Location.of(location), "probability")


def _picture(location: Location, use: Use) -> Picture:
    content = _content(location, use)
    if is_lazy(content.array) and use == "probability":  # read by tile
        return Picture(cast(NDArray[Any], content.array), content.grid, content.format)
    if is_lazy(content.array):
        size = times(content.grid.shape)
        raise FormatError(f"{location}: has {size} pixels, too many to be read at once; crop it, or read it by tile")
    array = content.array.astype(content.array.dtype.newbyteorder("="), copy=False)
    return Picture(zeros_and_ones(array) if array.dtype.kind == "b" else array, content.grid, content.format)


def probe(location: Location | Path | str) -> Grid:
    """Size and geometry from the header alone."""
    location = Location.of(location)
    return _check_axes(_indexed_grid(_file_grid(location), location), location)


def stays_on_disk(location: Location) -> bool:
    """Whether a mask is so large that it is read by tile, by its header alone; False where that cannot be read."""
    suffix = suffix_of(location.path.name)
    try:
        with format_errors(location):
            check_file(location)
            if suffix == ".zarr":
                return math.prod(zarr_store.stored_shape(location)) >= files.LARGE
            return suffix in (".tif", ".tiff") and tiff.open_large(location) is not None
    except FormatError:
        return False


def first_axis_length(location: Location) -> int:
    """Length of the first axis of a file."""
    return _file_grid(location).shape[0]


def _reader(location: Location) -> Reader:
    return slides if files.is_dicom_folder(location.path) else _READERS[suffix_of(location.path.name)]


def _file_grid(location: Location) -> Grid:
    with format_errors(location):
        check_file(location)
        return _reader(location).probe(location)


def _content(location: Location, use: Use) -> Content:
    with format_errors(location):
        check_file(location)
        content = _reader(location).read(location, use)
    grid = _indexed_grid(content.grid, location)
    if use != "probability" or len(grid.shape) != 4:
        _check_axes(grid, location)
    array = content.array
    if location.index is not None and is_lazy(array):
        array = View(array, (location.index, *[None] * len(grid.shape)))  # type: ignore[assignment]
    elif location.index is not None:
        array = array[location.index]
    return Content(array, grid, content.format, content.colour)


def _indexed_grid(grid: Grid, location: Location) -> Grid:
    """The grid at one index of the first axis; its position in space is no longer known."""
    if location.index is None:
        return grid
    if location.index >= grid.shape[0] or len(grid.shape) < 3:
        size = "×".join(map(str, grid.shape))
        raise FormatError(f"{location}: there is no index {location.index} in an array of {size}; correct the index")
    return Grid(grid.shape[1:], None if grid.spacing is None else grid.spacing[1:])


def _check_axes(grid: Grid, location: Location) -> Grid:
    if len(grid.shape) not in (2, 3):
        size = "×".join(map(str, grid.shape))
        raise FormatError(
            f"{location}: is an array of {size}, but 2 or 3 axes are needed; if the first axis is the rater, "
            "end the template in [{rater}]"
        )
    return grid


# -- values -------------------------------------------------------------------------------------------


def whole_numbers(array: NDArray[Any], location: Location) -> NDArray[Any]:
    """The array as non-negative integers of the file's own type; floats become the smallest type that fits."""
    if array.dtype.kind == "b":
        return zeros_and_ones(array)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind == "f":
        return _floats_to_integers(array, location)
    if array.dtype.kind == "i" and array.min() < 0:
        _raise_no_labels(array[array < 0], location)
    return array


def _largest(kind: np.dtype[Any]) -> float:
    if kind.kind == "b":
        return 1
    return int(np.iinfo(kind).max) if kind.kind in "ui" else math.inf


def zeros_and_ones(array: NDArray[np.bool]) -> NDArray[np.uint8]:
    """Booleans as bytes, without a copy where they are 0 and 1 already."""
    # Pillow's two-valued images are booleans whose byte is 255, and np.save keeps it
    stored = array.view(np.uint8)
    return stored if stored.max() <= 1 else (stored != 0).view(np.uint8)


def _floats_to_integers(array: NDArray[Any], location: Location) -> NDArray[Any]:
    with np.errstate(invalid="ignore"):
        small = array.astype(np.uint8)
        if (small == array).all():
            return small
        wrong = ~np.isfinite(array) | (array < 0) | (array != np.trunc(array)) | (array >= 2**32)
    if wrong.any():
        _raise_no_labels(array[wrong], location)
    return array.astype(np.min_scalar_type(int(array.max())))


def _raise_no_labels(wrong: NDArray[Any], location: Location) -> None:
    shown = ", ".join(f"{value:.6g}" for value in np.unique(wrong)[:5].tolist())
    raise LabelError(
        f"{location}: {wrong.size} values are not labels, such as {shown}; "
        "labels are whole numbers from 0 on: threshold or renumber the mask"
    )


def looks_compressed(values: NDArray[Any]) -> bool:
    """Whether the pixels look like a two-valued mask (0 and 255, or 0.0 and 1.0) that went through JPEG.

    Such a mask has several values close to each end and few pixels in between; one whose labels are few,
    such as 0, 1, 2 and 255, has not.

    >>> looks_compressed(np.array([0, 0, 1, 3, 2, 255, 254, 251, 252, 255]))
    True
    >>> looks_compressed(np.array([0, 1, 2, 3, 255]))
    False
    """
    if values.size == 0 or not 0 <= values.min() <= values.max() <= 255:
        return False
    if values.dtype.kind == "f" and values.max() <= 1:
        values = values * 255
    counts = np.bincount(np.rint(values).astype(np.uint8).ravel(), minlength=256)
    low, high = counts[: _NEAR + 1], counts[255 - _NEAR :]
    several = np.count_nonzero(low[1:]) >= 3 and np.count_nonzero(high[:-1]) >= 3
    return bool(several and low.sum() + high.sum() >= 0.8 * values.size)


# -- writing ------------------------------------------------------------------------------------------


def write_map(path: Path | str, array: NDArray[Any], grid: Grid | None = None) -> None:
    """Write an array as ``.tif``, ``.png``, ``.npy``, ``.nii``, ``.nii.gz``, ``.nrrd`` or ``.mha``.

    Floats are stored as float32; integers as uint8, uint16 or int32, and wider ones in the smallest of these that
    holds their values; ``.npy`` keeps the type. Three axes become the pages of a TIFF, the first axis first.
    """
    path = Path(path)
    write = _WRITERS.get(suffix_of(path.name))
    if write is None:
        raise CallError(f"{path}: maps are written as {' '.join(_WRITERS)}, not {path.suffix!r}; change the ending")
    grid = grid or Grid(array.shape)
    if tuple(array.shape) != grid.shape or array.ndim not in (2, 3):
        raise CallError(f"{path}: a map of size {array.shape} on a grid of {grid.shape}; give 2 or 3 axes, both alike")
    with atomic(path) as temporary:
        write(temporary, array, grid)


def write_picture(path: Path | str, picture: Image.Image) -> None:
    """Write a Pillow image in the format of its suffix."""
    with atomic(path) as temporary:
        # of PNG: half the time of the usual 6, and files of photographs with lines are no larger
        picture.save(temporary, compress_level=3)


def _compact(array: NDArray[Any], path: Path) -> NDArray[Any]:
    """The array in a type that every format holds."""
    if array.dtype.kind == "f":
        return array.astype(np.float32, copy=False)
    if array.dtype.kind == "b":
        return array.astype(np.uint8)
    if array.dtype.kind not in "ui":
        raise CallError(f"{path.suffix}: a map of {array.dtype}; give numbers")
    if array.dtype in (np.uint8, np.uint16, np.int32):
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    for smallest in (np.uint8, np.uint16, np.int32):
        if np.iinfo(smallest).min <= low and high <= np.iinfo(smallest).max:
            return array.astype(smallest)
    raise CallError(
        f"{path.suffix}: a map with values from {low} to {high}; at most signed 32-bit integers can be written"
    )


def _tif(path: Path, array: NDArray[Any], grid: Grid) -> None:
    from PIL import Image

    array = _compact(array, path)
    first, *others = [Image.fromarray(np.ascontiguousarray(page)) for page in array.reshape(-1, *array.shape[-2:])]
    with muted_stderr:
        first.save(path, format="TIFF", compression="tiff_adobe_deflate", save_all=True, append_images=others)


def _png(path: Path, array: NDArray[Any], grid: Grid) -> None:
    from PIL import Image

    array = _compact(array, path)
    if array.ndim != 2 or array.dtype not in (np.uint8, np.uint16):
        raise CallError(f".png: a map of {array.ndim} axes and {array.dtype}; PNG holds 2 axes of 0 to 65535: use .tif")
    Image.fromarray(np.ascontiguousarray(array)).save(path, format="PNG")


def _npy(path: Path, array: NDArray[Any], grid: Grid) -> None:
    np.save(path, array, allow_pickle=False)


def _nifti(path: Path, array: NDArray[Any], grid: Grid) -> None:
    nibabel = import_extra("nibabel", "medical", path)
    image = nibabel.Nifti1Image(_compact(array, path), _affine(grid))
    image.header.set_xyzt_units("mm")
    nibabel.save(image, path)


def _nrrd(path: Path, array: NDArray[Any], grid: Grid) -> None:
    nrrd = import_extra("nrrd", "medical", path)
    header: dict[str, Any] = {"encoding": "gzip"}
    if grid.affine is not None and len(grid.shape) == 3:
        affine = _LPS @ np.array(grid.affine)
        header |= {"space": "left-posterior-superior", "space origin": affine[:3, 3]}
        header |= {"space directions": affine[:3, :3].T}
    elif grid.spacing is not None:
        header |= {"spacings": list(grid.spacing)}
    nrrd.write(str(path), _compact(array, path), header)


def _mha(path: Path, array: NDArray[Any], grid: Grid) -> None:
    metaimage.write(path, _compact(array, path), grid)


def _affine(grid: Grid) -> NDArray[np.float64] | None:
    """4×4, whatever the number of axes; None where nothing is known."""
    if grid.spacing is None:
        return None
    if grid.affine is not None and np.shape(grid.affine) == (4, 4):
        return np.array(grid.affine)
    return np.diag([*grid.spacing, *[1.0] * (4 - len(grid.spacing))])


_WRITERS: dict[str, Callable[[Path, NDArray[Any], Grid], None]] = {
    ".tif": _tif, ".tiff": _tif, ".png": _png, ".npy": _npy, ".nii": _nifti, ".nii.gz": _nifti, ".nrrd": _nrrd,
    ".mha": _mha,
}  # fmt: skip
