"""Write maps and pictures: lossless, in the format that the suffix asks for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..shape.grid import Grid
from .location import suffix_of
from .opening import import_extra
from .quiet import muted_stderr
from .writing import atomic

if TYPE_CHECKING:
    from PIL import Image

_LPS = np.diag([-1.0, -1.0, 1.0, 1.0])


def write_map(path: Path | str, array: NDArray[Any], grid: Grid | None = None) -> None:
    """An array as ``.tif``, ``.png``, ``.npy``, ``.nii``, ``.nii.gz`` or ``.nrrd``.

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
    """A Pillow picture in the format of its suffix."""
    with atomic(path) as temporary:
        picture.save(temporary)


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
    raise CallError(f"{path.suffix}: a map with values from {low} to {high}; wanted are at most 32 bits with sign")


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


def _affine(grid: Grid) -> NDArray[np.float64] | None:
    """4×4, whatever the number of axes; None where nothing is known."""
    if grid.spacing is None:
        return None
    if grid.affine is not None and np.shape(grid.affine) == (4, 4):
        return np.array(grid.affine)
    return np.diag([*grid.spacing, *[1.0] * (4 - len(grid.spacing))])


_WRITERS: dict[str, Callable[[Path, NDArray[Any], Grid], None]] = {
    ".tif": _tif, ".tiff": _tif, ".png": _png, ".npy": _npy, ".nii": _nifti, ".nii.gz": _nifti, ".nrrd": _nrrd,
}  # fmt: skip
