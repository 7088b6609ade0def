"""Segmentations as 3D Slicer stores them, put together by hand; and masks in NIfTI."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

import nibabel
import numpy as np

from manytruths import Grid
from manytruths.exchange.outlines import Whole
from manytruths.exchange.readings import Mark, Reading

TYPES = {"u1": "unsigned char", "i2": "short", "u2": "unsigned short", "f4": "float", "f8": "double", "i4": "int"}
AFFINE = ((0.5, 0.0, 0.0, -20.0), (0.0, 0.0, -2.0, 30.0), (0.0, 0.75, 0.0, 5.0), (0.0, 0.0, 0.0, 1.0))
"""Right, anterior, superior; the axes are turned and one is flipped."""
IMAGE = Grid((9, 8, 7), affine=AFFINE)


def moved(affine: object, corner: tuple[int, int, int]) -> np.ndarray:
    """The affine of a box that starts there."""
    matrix = np.array(affine, float)
    matrix[:3, 3] += matrix[:3, :3] @ corner
    return matrix


def geometry(affine: object = AFFINE, shape: tuple[int, ...] = IMAGE.shape, first: tuple[int, ...] = (0, 0, 0)) -> str:
    """Slicer's description of an image: the matrix is that of index 0, which the image need not have."""
    matrix = ";".join(str(float(number)) for number in moved(affine, tuple(-f for f in first)).ravel())
    extent = ";".join(f"{f};{f + size - 1}" for f, size in zip(first, shape, strict=True))
    told = f"Reference image geometry|{matrix};{extent};|Image geometry description string."
    return f"Collapse labelmaps|1|Merge them.&{told}&Smoothing factor|0.5|0.0 \\n to 1.0.&"


def segment(number: int, name: str, value: int | None = None, layer: int | None = None, **more: str) -> dict[str, str]:
    """The keys of a segment."""
    fields = {"ID": f"Segment_{number + 1}", "Name": name, "Color": "0.5 0.2 0.1", **more}
    if value is not None:
        fields["LabelValue"] = str(value)
    if layer is not None:
        fields["Layer"] = str(layer)
    return {f"Segment{number}_{key}": text for key, text in fields.items()}


def seg_nrrd(
    path: Path,
    voxels: np.ndarray,
    keys: Mapping[str, str],
    affine: object = AFFINE,
    space: str = "left-posterior-superior",
    encoding: str = "gzip",
    more: tuple[str, ...] = (),
) -> Path:
    """A file as Slicer writes it: (layers, x, y, z) or (x, y, z)."""
    signs = {"left-posterior-superior": (-1, -1, 1), "LAS": (-1, 1, 1)}.get(space, (1, 1, 1))
    matrix = np.diag([*signs, 1.0]) @ np.array(affine)
    layered = voxels.ndim == 4
    directions = [f"({','.join(str(float(x)) for x in matrix[:3, axis])})" for axis in range(3)]
    lines = [
        "NRRD0004",
        "# Complete NRRD file format specification at:",
        f"type: {TYPES[voxels.dtype.str[1:]]}",
        f"dimension: {voxels.ndim}",
        f"space: {space}",
        f"sizes: {' '.join(map(str, voxels.shape))}",
        f"space directions: {'none ' * layered}{' '.join(directions)}",
        f"kinds: {'list ' * layered}domain domain domain",
        *(["endian: little"] if voxels.dtype.itemsize > 1 else []),
        f"encoding: {encoding}",
        f"space origin: ({','.join(str(float(x)) for x in matrix[:3, 3])})",
        *more,
        *(f"{key}:={value}" for key, value in keys.items()),
    ]
    data = voxels.tobytes("F")
    path.parent.mkdir(parents=True, exist_ok=True)
    head = ("\n".join(lines) + "\n\n").encode()
    path.write_bytes(head + (gzip.compress(data, mtime=0) if encoding == "gzip" else data))
    return path


def layered(path: Path) -> Path:
    """An honest file with all that Slicer has: layers, shared labels, tags, the image's grid."""
    voxels = np.zeros((2, *IMAGE.shape), np.uint8)
    voxels[0, 2:5, 1:4], voxels[0, 6], voxels[1, 3:7, 3:6] = 1, 2, 1
    keys = segment(0, "lesion", 1, 0) | segment(1, "oedema", 2, 0) | segment(2, "core", 1, 1, Tags="rank:2|a:b|")
    keys |= {"Segmentation_ConversionParameters": geometry(), "Segmentation_ReferenceImageExtentOffset": "0 0 0"}
    return seg_nrrd(path, voxels, keys)


def nifti(path: Path, voxels: np.ndarray, affine: object = AFFINE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    nibabel.save(nibabel.Nifti1Image(voxels, np.array(affine)), path)
    return path


def read_of(
    masks: Mapping[str, np.ndarray], grid: Grid = IMAGE, ranks: Mapping[str, int] | None = None, **more: object
) -> Reading:
    """A rater's structures on a volume."""
    marks = tuple(Mark(name, Whole(mask), rank=(ranks or {}).get(name)) for name, mask in masks.items())
    return Reading(**{"image": "p01.nii.gz", "rater": "A", "grid": grid, "marks": marks, **more})  # type: ignore[arg-type]
