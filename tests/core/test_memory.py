"""Memory that is free goes back to the system."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
from manytruths.core import memory

kept, freed = [], []
for _ in range(2000):  # small pieces, which are of one heap
    freed.append(np.ones(60_000, np.uint8))
    kept.append(np.ones(100, np.uint8))
before = memory._resident()
freed.clear()
memory.give_back()
print(before - memory._resident(), all(piece.all() for piece in kept))
"""


@pytest.mark.skipif(sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="needs glibc")
def test_memory_between_what_is_kept_is_given_back():
    """In a process of its own: one that has run other tests takes the pieces from memory that it has already."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    given, unchanged = done.stdout.split()
    assert int(given) > 50_000_000
    assert unchanged == "True"
