"""Phantoms: images like a colposcopy, in which every lesion has a known outline; and the random numbers of simulations.

A lit disc of pink tissue, on which lesions are paler; the worse the histology, the easier they are to see. Random
numbers depend on what they are for, never on the order of the calls.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError

Field = NDArray[np.float32]


def derive(seed: int, *words: object) -> int:
    """A seed for one purpose, such as ``derive(0, "p01", "B", "2")``; the same words give the same seed."""
    if seed < 0:
        raise CallError(f"seed is {seed}; it must be 0 or more")
    text = repr((int(seed), *map(str, words))).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def generator(seed: int, *words: object) -> np.random.Generator:
    """The random generator of one purpose."""
    return np.random.default_rng(derive(seed, *words))


def smooth_noise(random: np.random.Generator, size: int, scale: float) -> Field:
    """A square field of normal noise with mean 0 and standard deviation 1, smooth over ``scale`` pixels.

    The filter works on frequencies, so that a smooth field costs no more than a rough one.
    """
    gain, spread = _smoothing(size, scale)
    white = np.fft.rfft2(random.standard_normal((size, size)))
    field: Field = np.fft.irfft2(white * gain, s=(size, size)).astype(np.float32)
    return field / spread


@lru_cache(maxsize=16)
def _smoothing(size: int, scale: float) -> tuple[NDArray[np.float64], np.float32]:
    """The factors of all frequencies, and the standard deviation of what they leave of white noise."""
    rows, columns = np.fft.fftfreq(size)[:, None], np.fft.rfftfreq(size)[None, :]
    gain = np.exp(-2 * (np.pi * scale) ** 2 * (rows**2 + columns**2))
    impulse = np.fft.irfft2(gain, s=(size, size))
    return gain, np.float32(np.sqrt((impulse**2).sum()))


Mask = NDArray[np.bool_]
Angles = NDArray[np.float64]
Image = NDArray[np.uint8]
Colours = NDArray[np.float64]
SMALLEST = 32
"""Pixels along a side; in smaller images a lesion has hardly an outline."""
GROUPS = {"Negative": (0.08, 0.25), "CIN1": (0.25, 0.45), "CIN2": (0.45, 0.70), "CIN3": (0.70, 1.0)}
"""Range of the visibility of the worst lesion of a phantom, by histology."""
PINK, PALE, DARK, NIGHT = (206.0, 122.0, 116.0), (244.0, 226.0, 214.0), (96.0, 32.0, 36.0), (10.0, 8.0, 9.0)


@dataclass(frozen=True, eq=False)
class Lesion:
    """One lesion: where it ends, and how well it can be seen."""

    distance: Field
    """Signed distance to the outline in pixels: below 0 inside, above 0 outside."""
    visibility: float
    """From 0 (nearly invisible) to 1 (cannot be overlooked)."""
    rank: int
    """1 is the most severe lesion of the image."""

    @property
    def mask(self) -> Mask:
        """The pixels inside the outline."""
        return self.distance < 0

    def __repr__(self) -> str:
        return f"Lesion(rank={self.rank}, visibility={self.visibility:.2f}, pixels={int(self.mask.sum())})"


@dataclass(frozen=True, eq=False)
class Phantom:
    """An image and its true lesions."""

    image: Image
    lesions: tuple[Lesion, ...]
    group: str

    @property
    def size(self) -> int:
        """Pixels along a side."""
        return int(self.image.shape[0])

    @property
    def truth(self) -> Mask:
        """All lesions in one mask; all False where there is none."""
        masks = [lesion.mask for lesion in self.lesions]
        return np.logical_or.reduce(masks) if masks else np.zeros((self.size, self.size), bool)

    def __repr__(self) -> str:
        return f"Phantom(group={self.group!r}, size={self.size}, lesions={len(self.lesions)})"


def phantom(seed: int, *, size: int = 256, group: str = "CIN1", lesions: int | None = None) -> Phantom:
    """Draw one phantom; the same arguments give the same pixels.

    Parameters
    ----------
    size
        Pixels along a side, 32 or more.
    group
        ``Negative``, ``CIN1``, ``CIN2`` or ``CIN3``. The worse, the easier the lesions are to see. About four in ten
        negative phantoms have no lesion, the others a small and faint one.
    lesions
        How many to draw, 0 to 3; by default random. An image without room for the last one has fewer.

    >>> phantom(1, group="CIN3", lesions=2)
    Phantom(group='CIN3', size=256, lesions=2)
    """
    if size < SMALLEST:
        raise CallError(f"size is {size}; a phantom needs {SMALLEST} pixels or more along a side")
    if group not in GROUPS:
        raise CallError(f"no group {group!r}; there are {', '.join(GROUPS)}")
    if lesions is not None and not 0 <= lesions <= 3:
        raise CallError(f"lesions is {lesions}; it must be 0, 1, 2 or 3")
    random = generator(seed, "outlines")
    draw = float(random.random())
    if lesions is None:
        lesions = int(draw >= 0.4) if group == "Negative" else 1 + int(3 * draw)
    placed = _place(random, size, group, lesions)
    image = paint_tissue(generator(seed, "image"), size, [(lesion.distance, lesion.visibility) for lesion in placed])
    return Phantom(image, placed, group)


def _place(random: np.random.Generator, size: int, group: str, count: int) -> tuple[Lesion, ...]:
    """Lesions apart from each other, the worst first."""
    lesions: list[Lesion] = []
    visibility = float(random.uniform(*GROUPS[group]))
    largest = 0.08 if group == "Negative" else 0.13
    for _ in range(60):
        if len(lesions) == count:
            break
        distance = draw_blob(random, size, float(random.uniform(0.06, largest)) * size)
        if all(other.distance[distance < 0].min() > 0.05 * size for other in lesions):
            lesions.append(Lesion(distance, visibility, len(lesions) + 1))
            visibility *= float(random.uniform(0.6, 0.9))
    return tuple(lesions)


def draw_blob(random: np.random.Generator, size: int, radius: float) -> Field:
    """Signed distance to a smooth irregular outline (low Fourier harmonics) somewhere in the ring around the centre."""
    turn, out = random.uniform(0, 2 * np.pi), random.uniform(0.17, 0.28) * size
    centre = size / 2 + out * np.array([np.sin(turn), np.cos(turn)])
    harmonics = np.arange(2, 6)[:, None]
    height = random.normal(0, 0.30, harmonics.shape) / harmonics
    phase = random.uniform(0, 2 * np.pi, harmonics.shape)

    def edge(angle: Angles) -> Angles:
        wave = (height * np.cos(harmonics * angle.ravel() + phase)).sum(axis=0)
        return np.asarray(radius * np.clip(1 + wave.reshape(angle.shape), 0.5, 1.5))

    return _signed_distance(size, centre, edge)


def _signed_distance(size: int, centre: Angles, edge: Callable[[Angles], Angles]) -> Field:
    """Distance to a star-shaped outline, below 0 inside."""
    angle = np.linspace(0, 2 * np.pi, 6 * size, endpoint=False)
    outline = centre + edge(angle)[:, None] * np.stack([np.sin(angle), np.cos(angle)], axis=1)
    y, x = np.mgrid[:size, :size] - centre[:, None, None]
    inside = np.hypot(y, x) < edge(np.arctan2(y, x))
    return np.where(inside, -1, 1).astype(np.float32) * _distance(size, outline.astype(np.float32))


def _distance(size: int, outline: Field) -> Field:
    """Distance of every pixel to the nearest of the points along an outline.

    A distance to the nearest unmarked pixel would do, were it not wrong by a quarter of a pixel: as much as the bias
    of a good rater. So pixels only say near which point to look.
    """
    from scipy.ndimage import distance_transform_edt

    point = np.full((size, size), -1)
    point[tuple(np.rint(outline).astype(int).T)] = np.arange(len(outline))
    nearest = distance_transform_edt(point < 0, return_distances=False, return_indices=True)
    start = point[tuple(nearest)]
    y, x = np.mgrid[:size, :size].astype(np.float32)
    squared = np.full((size, size), np.inf, np.float32)
    for step in range(-9, 10):
        row, column = outline[(start + step) % len(outline)].transpose(2, 0, 1)
        np.minimum(squared, (y - row) ** 2 + (x - column) ** 2, out=squared)
    return np.sqrt(squared)


# -- the image ----------------------------------------------------------------------------------------


def paint_tissue(random: np.random.Generator, size: int, lesions: Sequence[tuple[Field, float]]) -> Image:
    """The image of a phantom, from the signed distances and the visibilities of its lesions."""
    y, x = (np.mgrid[:size, :size] + 0.5) / size - 0.5
    radius = np.hypot(x, y)
    picture = _tissue(random, size)
    for distance, visibility in lesions:
        patchy = 1 + 0.15 * smooth_noise(random, size, size / 40)
        picture = _blend(picture, PALE, 0.8 * visibility * patchy * soft_step(-distance / (size / 90)))
    tilt, wide = random.normal(0, 0.25), random.uniform(0.05, 0.08)
    along, across = x * np.cos(tilt) + y * np.sin(tilt), y * np.cos(tilt) - x * np.sin(tilt)
    picture = _blend(picture, DARK, 0.9 * soft_step((1 - np.hypot(along / wide, across / 0.022)) * 4))
    picture *= (1.12 - 1.9 * radius**2)[..., None]
    picture = _glints(random, picture)
    picture = _blend(picture, NIGHT, soft_step((radius - 0.47) * size / 1.5))
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
    return _blend(picture, (255.0, 250.0, 246.0), 0.85 * soft_step((shine - 3.3) * 8))


def _blend(picture: Colours, colour: tuple[float, float, float], share: NDArray[np.floating]) -> Colours:
    share = np.clip(share, 0, 1)[..., None]
    return np.asarray(picture + (np.array(colour) - picture) * share)


def soft_step(value: NDArray[Any]) -> NDArray[Any]:
    """From 0 to 1 with a soft edge."""
    return np.asarray(0.5 + 0.5 * np.tanh(value))
