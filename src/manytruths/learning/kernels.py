"""Kernels in Triton: whether they can be built, what they have in common, and the switch for those of :mod:`.fused`.

Triton comes with PyTorch for GPUs, and compiles a kernel when it is first used. Without it, or without a C compiler,
all is done by PyTorch's own operations.

All kernels are compared with PyTorch's operations and with loops on a GPU by ``benchmarks/gpu.py``; those of
:mod:`.fused` also step by step in Python, by ``TRITON_INTERPRET=1``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from shutil import which
from typing import Any

import torch
from torch import Tensor

try:
    import triton  # type: ignore[import-not-found, unused-ignore]
    import triton.language as tl  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    triton = tl = None

__all__ = ["can_build", "can_fuse", "compiled", "interpreted", "next_power", "started_on", "tl", "use_fused_kernels"]

_fused = True
"""What :func:`use_fused_kernels` sets."""


@contextmanager
def use_fused_kernels(wanted: bool = True) -> Iterator[None]:
    """Whether the extended Dice loss, STAPLE and energy distances run in the kernels of :mod:`.fused` on a GPU.

    They do by default. ``use_fused_kernels(False)`` is for comparisons: ``benchmarks/gpu.py`` checks and times both
    ways. Nothing changes where the kernels cannot run: on a CPU, without Triton, in compiled code, and for sizes and
    types that they do not take.

    Parameters
    ----------
    wanted : bool
        Whether to use them, in all threads, until the context ends.

    Examples
    --------
    >>> import torch
    >>> from manytruths.learning import ExtendedDiceLoss
    >>> with use_fused_kernels(False):
    ...     ExtendedDiceLoss()(torch.zeros(1, 1, 1, 4), torch.tensor([[[[1, 1, 0, 0]], [[1, 0, 0, 0]]]]))
    tensor(0.5000)
    """
    global _fused
    before, _fused = _fused, wanted
    try:
        yield
    finally:
        _fused = before


def can_fuse(*values: Tensor | None) -> bool:
    """Whether fused kernels are wanted, can be built, and can run where these tensors are."""
    if torch.compiler.is_compiling() or not _fused:
        return False
    if interpreted():
        return True
    given = [each for each in values if each is not None]
    return all(each.is_cuda and each.device == given[0].device for each in given) and can_build()


def interpreted() -> bool:
    """Whether Triton runs kernels step by step in Python, on a CPU."""
    return triton is not None and os.environ.get("TRITON_INTERPRET") == "1"


@cache
def can_build() -> bool:
    """Whether Triton and the C compiler that it needs are installed."""
    return triton is not None and any(which(name) for name in (os.environ.get("CC", "cc"), "gcc", "clang"))


def compiled(function: Callable[..., None]) -> Any:
    """A function as a kernel, where Triton is installed."""
    return function if triton is None else triton.jit(function)


def started_on(values: Tensor) -> Any:
    """A context in which kernels start where a tensor is, not on the current device."""
    return torch.cuda.device_of(values)  # type: ignore[no-untyped-call, unused-ignore]


def next_power(size: int) -> int:
    """The next power of two, as Triton requires of all sizes."""
    return 1 << (size - 1).bit_length()
