"""Whether kernels in Triton can run, and what they have in common.

Triton comes with PyTorch for GPUs, and compiles a kernel when it is first used. Without it, or without a C compiler,
all is done by PyTorch's own operations. ``TRITON_INTERPRET=1`` runs kernels step by step in Python, for tests.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from shutil import which
from typing import Any

from torch import Tensor

try:
    import triton  # type: ignore[import-not-found, unused-ignore]
    import triton.language as tl  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    triton = tl = None

__all__ = ["compiled", "next_power", "run_on", "tl"]


def run_on(*values: Tensor | None) -> bool:
    """Whether kernels can be built, and run where these tensors are."""
    given = [each for each in values if each is not None]
    if os.environ.get("TRITON_INTERPRET") == "1":
        return triton is not None
    return all(each.is_cuda and each.device == given[0].device for each in given) and _can_build()


@cache
def _can_build() -> bool:
    """Whether Triton and the C compiler that it needs are installed."""
    return triton is not None and any(which(name) for name in (os.environ.get("CC", "cc"), "gcc", "clang"))


def compiled(function: Callable[..., None]) -> Any:
    """A function as a kernel, where Triton is installed."""
    return function if triton is None else triton.jit(function)


def next_power(size: int) -> int:
    """The next power of two, as Triton requires of all sizes."""
    return 1 << (size - 1).bit_length()
