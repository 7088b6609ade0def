"""MultiLabelSTAPLE of the SimpleITK that is imported, on 33.5 million voxels.

Run ``python -m tests.simulations.itk_versions``.

With another version on ``PYTHONPATH`` (``pip install --target FOLDER SimpleITK==2.5.6``), it shows what that makes of
the same masks. ``tests/fusion/test_staple_itk.py`` holds the patterns and what 2.5.6 and 2.5.7 marked.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import manytruths as mt

SHAPE = (512, 256, 256)


def nested_balls(raters: int = 3, seed: int = 0) -> list[NDArray[np.uint8]]:
    """A ball within a ball, with noise at the edges, and raters who draw them larger or smaller."""
    rng = np.random.default_rng(seed)
    axes = np.meshgrid(*(np.linspace(-1, 1, n, dtype=np.float32) for n in SHAPE), indexing="ij", sparse=True)
    radius, masks = np.sqrt(sum(axis * axis for axis in axes)), []
    for rater in range(raters):
        mask = np.zeros(SHAPE, np.uint8)
        for z, own in enumerate(radius):
            shown = own + 0.05 * (rater - 1) * 0.6 + 0.06 * rng.standard_normal(SHAPE[1:], dtype=np.float32)
            mask[z] = np.where(shown < 0.3, 2, np.where(shown < 0.6, 1, 0))
        masks.append(mask)
    return masks


def main() -> None:
    import SimpleITK as sitk

    masks = nested_balls()
    peer = sitk.MultiLabelSTAPLEImageFilter()
    theirs = sitk.GetArrayFromImage(peer.Execute([sitk.GetImageFromArray(mask) for mask in masks]))
    print(f"SimpleITK {sitk.Version.VersionString()}: items by label {np.bincount(theirs.ravel()).tolist()}")
    table = mt.tally(masks)
    for like in ("itk@2.5.6", "itk", "itk@main"):
        found = mt.staple(table, like=like)
        hard = mt.paint(found.values, masks)
        print(f"like={like}: {np.bincount(hard.ravel()).tolist()}, {int((hard != theirs).sum()):,} items differ")


if __name__ == "__main__":
    main()
