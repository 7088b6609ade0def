"""Images and masks of a data set: one format for all of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...io import Picture, atomic, write_map, write_picture
from ...shape.grid import Grid


def write_image(path: Path, picture: Picture, grid: Grid) -> None:
    """An image as it is: grey on its grid, or RGB."""
    if picture.array.ndim == len(picture.grid.shape):
        write_map(path, _compact(picture.array), grid)
        return
    from PIL import Image

    write_picture(path, Image.fromarray(np.ascontiguousarray(picture.array)))


def _compact(array: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers that need no sign in bytes or pairs of them, which every format holds."""
    if array.dtype.kind not in "ui" or array.dtype in (np.uint8, np.uint16) or array.min() < 0:
        return array
    fits = np.min_scalar_type(int(array.max()))
    return array.astype(fits) if fits in (np.uint8, np.uint16) else array


def copy_file(source: Path, path: Path) -> None:
    """The same file under another name."""
    with atomic(path) as temporary:
        shutil.copyfile(source, temporary)
