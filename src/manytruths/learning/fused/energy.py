"""Intersections of all masks of an image on a GPU: one kernel multiplies bytes as they are.

Sums are integers, and do not depend on the order.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..kernels import can_fuse, compiled, next_power, started_on, tl

MAX_MASKS = 128
MAX_NUMBERS = 1 << 31
"""Offsets within a tensor are computed with 32 bits."""
BLOCK = 256
"""Pixels of a program at once."""
PROGRAMS = 528
"""Programs that are started, about."""


def fits(first: Tensor, second: Tensor) -> bool:
    """Whether the kernel is wanted, can run here, and takes tensors of these sizes."""
    small = first.shape[1] + second.shape[1] <= MAX_MASKS and max(first.numel(), second.numel()) < MAX_NUMBERS
    return can_fuse(first, second) and small


def intersections_in_kernel(first: Tensor, second: Tensor) -> Tensor:
    """(N, S + R, S + R): common pixels of masks (N, S, pixels) and (N, R, pixels), bytes of 0 and 1."""
    (images, samples, pixels), raters = first.shape, second.shape[1]
    total = samples + raters
    padded = max(16, next_power(total))
    found = torch.zeros(images, total, total, dtype=torch.int32, device=first.device)
    parts = min(-(-pixels // BLOCK), max(1, PROGRAMS // images))
    with started_on(first):
        _multiply[(parts, images)](
            first, second, found, pixels, *first.stride(), *second.stride(), samples, total,
            T=padded, BLOCK=max(32, min(BLOCK, 16384 // padded)), num_warps=4 if padded < 64 else 8,
        )  # fmt: skip
    return found


def _multiply_masks(  # type: ignore[no-untyped-def]
    first_at, second_at, found_at, pixels, first_n, first_t, first_p, second_n, second_t, second_p, samples, total,
    T: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """A part of an image; sums of integers do not depend on the order."""
    part, parts, image = tl.program_id(0), tl.num_programs(0), tl.program_id(1)
    t = tl.arange(0, T)
    own, other = t < samples, (t >= samples) & (t < total)
    first_at += image.to(tl.int64) * first_n + t[:, None] * first_t
    second_at += image.to(tl.int64) * second_n + (t[:, None] - samples) * second_t
    found = tl.zeros([T, T], tl.int32)
    for start in range(part * BLOCK, pixels, parts * BLOCK):
        p = start + tl.arange(0, BLOCK)[None, :]
        marks = tl.load(first_at + p * first_p, mask=own[:, None] & (p < pixels), other=0)
        marks |= tl.load(second_at + p * second_p, mask=other[:, None] & (p < pixels), other=0)
        marks = marks.to(tl.int8)
        found = tl.dot(marks, tl.trans(marks), found, out_dtype=tl.int32)
    to = found_at + (image * total + t[:, None]) * total + t[None, :]
    tl.atomic_add(to, found, mask=(t[:, None] < total) & (t[None, :] < total))


_multiply: Any = compiled(_multiply_masks)
