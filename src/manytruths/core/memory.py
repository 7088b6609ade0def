"""Memory that was freed and is still the process's, because something that is kept lies behind it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any

WORTH = 1 << 25
"""Bytes by which a process must have grown since memory was last given back; to look for what is free takes a while."""

_last = 0


def give_back(worked_on: int = WORTH) -> None:
    """Return to the system what is free, where the process has grown; on systems other than Linux nothing is done.

    ``worked_on`` is the size of the data in bytes: after small ones it is not looked whether the process has grown.
    A case of 200 masks of 512² pixels left 160 of 320 MB behind.
    """
    global _last
    trim = _trim() if worked_on >= WORTH else None
    if trim is not None and (now := _resident()) > _last + WORTH:
        trim(0)
        _last = _resident()
    elif trim is not None:
        _last = min(_last, now)


@lru_cache(maxsize=1)
def _trim() -> Callable[[int], Any] | None:
    """The function of the GNU C library; no other has it."""
    with suppress(OSError, AttributeError):
        return ctypes.CDLL(None).malloc_trim if os.path.exists("/proc/self/statm") else None
    return None


def _resident() -> int:
    """Bytes that the process occupies."""
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
