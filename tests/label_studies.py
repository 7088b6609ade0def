"""Studies of several labels."""

from __future__ import annotations

from functools import cache

import numpy as np

from manytruths.simulate.phantoms import generator, smooth_noise

Cases = dict[str, dict[str, np.ndarray]]


def tissue_maps(cases: int = 12, size: int = 600, raters: str = "ABCD", *, ground: bool = True) -> Cases:
    """Two tissues that fill the image: label 1 about a fifth, label 2 the rest, background hardly anywhere.

    Two raters overlap by a Dice of about 0.75 in label 1 and 0.94 in label 2, and by more than 0.99 in any label.
    """
    return {
        case: {rater: m.copy() for rater, m in by.items()} for case, by in _tissues(cases, size, raters, ground).items()
    }


@cache
def _tissues(cases: int, size: int, raters: str, ground: bool) -> Cases:
    maps: Cases = {}
    for number in range(cases):
        name = f"t{number + 1:02}"
        tissue = smooth_noise(generator(0, name), size, size / 30)
        maps[name] = {}
        for rater in raters:
            seen = tissue + 0.345 * smooth_noise(generator(0, name, rater), size, size / 60)
            mask = np.where(seen > np.quantile(seen, 0.8), 1, 2).astype(np.uint8)
            corner = 4 + "ABCD".index(rater)
            mask[:corner, : 10 * corner] = 0 if ground else 2
            maps[name][rater] = mask
    return maps


def three_labels(cases: int = 12, size: int = 48, raters: str = "ABC") -> Cases:
    """A large, a small and a rare structure on background; the rare one is used in every fourth case only."""
    maps: Cases = {}
    rows, columns = np.mgrid[:size, :size]
    for number in range(cases):
        name = f"q{number + 1:02}"
        maps[name] = {}
        for index, rater in enumerate(raters):
            shift = generator(0, name, rater).integers(-2, 3, 2)
            mask = np.zeros((size, size), np.uint8)
            for value, (y, x, radius) in {1: (16, 16, 11), 2: (34, 32, 6), 3: (12, 38, 4)}.items():
                if value != 3 or number % 4 == 0:
                    grown = radius + (index == 2)
                    mask[(rows - y - shift[0]) ** 2 + (columns - x - shift[1]) ** 2 < grown**2] = value
            maps[name][rater] = mask
    return maps
