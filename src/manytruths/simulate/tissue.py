"""What a phantom looks like: a lit disc of pink tissue on which lesions are paler."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .randomness import Field, smooth_noise

Image = NDArray[np.uint8]
Colours = NDArray[np.float64]

PINK, PALE, DARK, NIGHT = (206.0, 122.0, 116.0), (244.0, 226.0, 214.0), (96.0, 32.0, 36.0), (10.0, 8.0, 9.0)


def paint(random: np.random.Generator, size: int, lesions: Sequence[tuple[Field, float]]) -> Image:
    """The image of a phantom, from the signed distances and the visibilities of its lesions."""
    y, x = (np.mgrid[:size, :size] + 0.5) / size - 0.5
    radius = np.hypot(x, y)
    picture = _tissue(random, size)
    for distance, visibility in lesions:
        patchy = 1 + 0.15 * smooth_noise(random, size, size / 40)
        picture = _blend(picture, PALE, 0.8 * visibility * patchy * _step(-distance / (size / 90)))
    tilt, wide = random.normal(0, 0.25), random.uniform(0.05, 0.08)
    along, across = x * np.cos(tilt) + y * np.sin(tilt), y * np.cos(tilt) - x * np.sin(tilt)
    picture = _blend(picture, DARK, 0.9 * _step((1 - np.hypot(along / wide, across / 0.022)) * 4))
    picture *= (1.12 - 1.9 * radius**2)[..., None]
    picture = _glints(random, picture)
    picture = _blend(picture, NIGHT, _step((radius - 0.47) * size / 1.5))
    picture += random.normal(0, 4.0, picture.shape)
    return np.clip(np.rint(picture), 0, 255).astype(np.uint8)


def _tissue(random: np.random.Generator, size: int) -> Colours:
    """Pink, with broad patches of redness and a fine grain."""
    red = smooth_noise(random, size, size / 14)
    grain = 0.035 * smooth_noise(random, size, size / 30) + 0.03 * smooth_noise(random, size, max(1.0, size / 200))
    light = 1 + 0.06 * smooth_noise(random, size, size / 6) + grain
    picture = np.empty((size, size, 3))
    picture[:] = PINK
    picture[..., 1:] *= (1 - 0.06 * red)[..., None]
    return picture * light[..., None]


def _glints(random: np.random.Generator, picture: Colours) -> Colours:
    """Small reflections of the lamp on wet tissue."""
    size = picture.shape[0]
    shine = smooth_noise(random, size, max(0.8, size / 180))
    return _blend(picture, (255.0, 250.0, 246.0), 0.85 * _step((shine - 3.3) * 8))


def _blend(picture: Colours, colour: tuple[float, float, float], share: NDArray[np.floating]) -> Colours:
    share = np.clip(share, 0, 1)[..., None]
    return np.asarray(picture + (np.array(colour) - picture) * share)


def _step(value: NDArray[np.floating]) -> NDArray[np.floating]:
    """From 0 to 1 with a soft edge."""
    return np.asarray(0.5 + 0.5 * np.tanh(value))
