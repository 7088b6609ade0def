"""Raters who draw the same blobs differently, and consensuses made of their masks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

import manytruths as mt

Masks = dict[str, NDArray[np.uint8]]

SIDE = 96


def smooth(rng: np.random.Generator, width: float, side: int = SIDE) -> NDArray[np.float64]:
    field = ndimage.gaussian_filter(rng.normal(size=(side, side)), width)
    return np.asarray(field / field.std())


def panel(seed: int, raters: int = 7, side: int = SIDE) -> Masks:
    """Raters of one landscape: all differ at edges, the last two draw much more and miss some."""
    rng = np.random.default_rng(seed)
    ground, masks = smooth(rng, side / 12, side), {}
    for rater in range(raters):
        odd = rater >= raters - 2
        own = ground + (0.9 if odd else 0.45) * smooth(rng, side / 20, side) + 0.1 * rng.normal(size=ground.shape)
        # away from the edges of the image, so that a bounding box is a part of it
        own[:9], own[-9:], own[:, :9], own[:, -9:] = -9, -9, -9, -9
        masks[f"R{rater + 1}"] = (own > (0.5 if odd else 1.0 - 0.06 * rater)).astype(np.uint8)
    return masks


def layered(seed: int, raters: int = 4, labels: int = 3) -> Masks:
    """The same with several labels."""
    rng = np.random.default_rng(seed)
    ground, cuts = smooth(rng, 8), np.linspace(0.3, 1.4, labels - 1)
    found = {}
    for rater in range(raters):
        own = ground + (0.5 + 0.1 * rater) * smooth(rng, 5) + 0.15 * rng.normal(size=ground.shape)
        found[f"R{rater + 1}"] = np.digitize(own + 0.1 * rater, cuts).astype(np.uint8)
    return found


def study_of(cases: Mapping[str, Masks], make: Callable[[Masks], NDArray[np.generic]], **options: object) -> mt.Study:
    """A study with what ``make`` makes of each case as its reference."""
    made = {name: {"published": np.asarray(make(masks))} for name, masks in cases.items()}
    return mt.Study.from_arrays(cases, references=made, **options)


def hard(method: str, **options: object) -> Callable[[Masks], NDArray[np.generic]]:
    """A consensus by name, painted."""

    def make(masks: Masks) -> NDArray[np.generic]:
        found = mt.consensus(masks, method, **options)
        return mt.paint(found.values, masks, fill=0) if found.kind == "pattern" else found.hard.astype(np.uint8)

    return make
