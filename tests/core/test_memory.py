"""Freed memory goes back to the system."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest

from manytruths.core import memory


@pytest.mark.skipif(sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="needs glibc")
def test_memory_between_what_is_kept_is_given_back():
    kept, freed = [], []
    for _ in range(2000):  # small pieces, which are of one heap
        freed.append(np.ones(60_000, np.uint8))
        kept.append(np.ones(100, np.uint8))
    before = memory._resident()
    freed.clear()
    memory.give_back()
    assert memory._resident() < before - 50_000_000
    assert all(piece.all() for piece in kept)
