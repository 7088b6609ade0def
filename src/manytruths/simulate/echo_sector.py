"""How ultrasound sees: a fan of beams, speckle along them, and a picture made of both.

Everything is made on one grid of depths and beams, whatever the size of the picture: the same seed shows the same
heart, only finer or coarser.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from .echo_heart import Points
from .randomness import Field

DEPTHS, BEAMS = 400, 240
TOP, NEAR, FAR, OPENING = 0.02, 0.025, 0.95, 0.74
"""Where the probe is (from the upper edge), the first and the last depth, and half of the fan's angle."""
SMEAR = (1.5, 1.7)
"""Samples over which the pulse and the beam smear (standard deviation)."""
RANGE = 2.5
"""Powers of ten in amplitude from black to white: 50 dB."""


@cache
def beam_grid() -> tuple[Points, Points, Points, Points]:
    """Depth and angle of every sample, and where in the image they are (x, y)."""
    depth, turn = np.meshgrid(np.linspace(NEAR, FAR, DEPTHS), np.linspace(-OPENING, OPENING, BEAMS), indexing="ij")
    return depth, turn, 0.5 + depth * np.sin(turn), TOP + depth * np.cos(turn)


@cache
def pixel_grid(size: int) -> tuple[Points, Points]:
    """The middles of the pixels (x, y)."""
    y, x = (np.mgrid[:size, :size] + 0.5) / size
    return x, y


def seen_from_probe(x: Points, y: Points) -> tuple[Points, Points]:
    """Depth and angle of places in the image."""
    return np.hypot(x - 0.5, y - TOP), np.arctan2(x - 0.5, y - TOP)


def echoes(random: np.random.Generator, grey: Points, haze: Points) -> Field:
    """What comes back of tissue of a grey level (0 to 1 on the scale of the picture), with haze laid over it."""
    strength = 10 ** (RANGE * (grey - 1))
    veil = 10 ** (RANGE * (haze - 1))
    # two looks at the tissue make its speckle milder, as scanners do
    first, over, second = (np.abs(_scattered(random, what)) for what in (strength, veil, strength))
    amplitude = 0.65 * first + 0.35 * second + 0.36 * over + 10 ** (-0.95 * RANGE)
    return np.asarray(1 + np.log10(amplitude) / RANGE, np.float32)


def _scattered(random: np.random.Generator, strength: Points) -> NDArray[np.complex64]:
    """Scatterers of random phase, smeared as the pulse is long and the beam wide."""
    from scipy.ndimage import gaussian_filter

    parts = random.standard_normal((2, *strength.shape), np.float32) * strength.astype(np.float32)
    real, imaginary = (gaussian_filter(part, SMEAR, mode="nearest", truncate=3) for part in parts)
    # the filter takes away power, which comes back
    return np.asarray((real + 1j * imaginary) * np.sqrt(2 * np.pi * SMEAR[0] * SMEAR[1]), np.complex64)


def picture(size: int, grey: Field) -> NDArray[np.uint8]:
    """The fan on black."""
    from scipy.ndimage import gaussian_filter, map_coordinates

    fine = max(0.0, 0.5 * DEPTHS / size - 0.8)
    rows, columns, inside = _scan_lines(size)
    smooth = gaussian_filter(grey, (fine, fine)) if fine else grey
    shown = map_coordinates(smooth, (rows, columns), order=1, mode="nearest")
    pixels = np.zeros((size, size), np.uint8)
    pixels[inside] = np.clip(np.rint(255 * shown), 2, 255).astype(np.uint8)
    return pixels


@cache
def _scan_lines(size: int) -> tuple[Points, Points, NDArray[np.bool_]]:
    """Row and column on the grid of beams of every pixel in the fan, and which pixels are."""
    depth, turn = seen_from_probe(*pixel_grid(size))
    inside = (depth > NEAR) & (depth < FAR) & (np.abs(turn) < OPENING)
    rows = (depth[inside] - NEAR) / (FAR - NEAR) * (DEPTHS - 1)
    return rows, (turn[inside] / OPENING + 1) / 2 * (BEAMS - 1), inside
