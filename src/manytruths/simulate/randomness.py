"""Random numbers that depend on what they are for, never on the order of the calls."""

from __future__ import annotations

import hashlib

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
    rows, columns = np.fft.fftfreq(size)[:, None], np.fft.rfftfreq(size)[None, :]
    gain = np.exp(-2 * (np.pi * scale) ** 2 * (rows**2 + columns**2))
    impulse = np.fft.irfft2(gain, s=(size, size))
    white = np.fft.rfft2(random.standard_normal((size, size)))
    field: Field = np.fft.irfft2(white * gain, s=(size, size)).astype(np.float32)
    return field / np.float32(np.sqrt((impulse**2).sum()))
