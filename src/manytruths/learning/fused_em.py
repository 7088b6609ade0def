"""EM of small tables on a GPU, in one kernel: a program an image, which ends when its own rates stand still.

The steps are those of :mod:`.table_em`. There each of them is several launches, and a launch takes longer than what it
does; here all of them together are one. Needs Triton, which comes with PyTorch for GPUs.
"""

from __future__ import annotations

import math
import os
from functools import cache
from shutil import which
from typing import Any

import torch
from torch import Tensor

from .table_em import NEVER, Fitted, Tables, e_step

try:
    import triton  # type: ignore[import-not-found, unused-ignore]
    import triton.language as tl  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    triton = None

MOST_CELLS = 1 << 13
"""Patterns × decisions × labels that one program holds."""


def fits(patterns: int, raters: int, labels: int) -> bool:
    """Whether there is a kernel, and it takes tables of this size."""
    return _buildable() and _cells(*_powers(patterns, raters, labels)) <= MOST_CELLS


@cache
def _buildable() -> bool:
    """Whether Triton is there, and the C compiler that it wants."""
    return triton is not None and any(which(name) for name in (os.environ.get("CC", "cc"), "gcc", "clang"))


def _powers(*sizes: int) -> tuple[int, ...]:
    """The powers of two that they fit into, as Triton wants it."""
    return tuple(1 << (size - 1).bit_length() for size in sizes)


def _cells(patterns: int, raters: int, labels: int) -> int:
    return patterns * raters * labels**2


def fitted_at_once(tables: Tables, prior: Tensor, estimate: bool, tolerance: float, most: int) -> Fitted:
    """As :func:`.table_em.fitted`."""
    images, (patterns, raters, labels) = prior.shape[1], _powers(len(tables.chosen), tables.raters, tables.labels)
    given = (
        _padded(tables.chosen.view(-1, tables.raters, tables.labels), (patterns, raters, labels)),
        _padded(tables.heard.view(tables.raters, -1).T, (images, raters)),
        _padded(tables.counts.T, (images, patterns)),
        _padded(tables.share.permute(2, 0, 1), (images, patterns, labels)),
        _padded(prior.T, (images, labels)),
        prior.new_tensor([tolerance, -math.log(tables.labels)]),
    )
    rates, last = prior.new_empty(images, raters, labels, labels), prior.new_empty(images, labels)
    moved, steps = prior.new_empty(images), prior.new_empty(images, dtype=torch.int32)
    warps = max(1, min(8, _cells(patterns, raters, labels) // 1024))
    sizes = {"ESTIMATE": estimate, "NEVER": NEVER, "P": patterns, "R": raters, "L": labels, "num_warps": warps}
    _kernel[(images,)](*given, rates, last, moved, steps, most, **sizes)
    own = rates[:, : tables.raters, : tables.labels, : tables.labels].permute(1, 2, 3, 0).contiguous()
    at = last[:, : tables.labels].T.contiguous()
    return Fitted(e_step(tables, own, at), own.permute(3, 0, 2, 1), at, steps.long(), moved <= tolerance)


def _padded(values: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """With zeros behind, to the sizes given."""
    if values.shape == sizes:
        return values.contiguous()
    room = values.new_zeros(sizes)
    room[tuple(slice(size) for size in values.shape)] = values
    return room


def _em(  # type: ignore[no-untyped-def]
    chosen_at, heard_at, counts_at, share_at, first_at, limits_at, rates_at, last_at, moved_at, steps_at, most,
    ESTIMATE: tl.constexpr, NEVER: tl.constexpr, P: tl.constexpr, R: tl.constexpr, L: tl.constexpr,
):  # fmt: skip
    """One image: rates are [rater and given label, truth]."""
    image = tl.program_id(0)
    p, d, k = tl.arange(0, P), tl.arange(0, R * L), tl.arange(0, L)
    chosen = tl.load(chosen_at + p[:, None] * (R * L) + d[None, :])
    heard = tl.load(heard_at + image * R + d // L)
    counts = tl.load(counts_at + image * P + p)
    weight = tl.load(share_at + (image * P + p[:, None]) * L + k[None, :])
    prior = tl.load(first_at + image * L + k)
    limit, guess = tl.load(limits_at), tl.load(limits_at + 1)
    items = tl.sum(counts, axis=0)
    rates = tl.full([R * L, L], float("inf"), tl.float64)
    known = rates > 0
    moved = tl.max(tl.max(rates, axis=1), axis=0)
    step = 0
    while (step < most) & (moved > limit):
        mass = weight * counts[:, None]
        cells = tl.sum(chosen[:, :, None] * mass[:, None, :], axis=0) * heard[:, None]
        total = tl.sum(tl.reshape(cells, [R, L, L]), axis=1)
        total = tl.reshape(tl.broadcast_to(total[:, None, :], [R, L, L]), [R * L, L])
        told = total > 0
        now = cells / tl.where(told, total, 1.0)
        moved = tl.max(tl.max(tl.where(told & known, tl.abs(now - rates), 0.0), axis=1), axis=0)
        rates, known = now, told
        if ESTIMATE:
            then = prior
            prior = tl.sum(mass, axis=0) / items
            moved = tl.where(step == 0, float("inf"), tl.maximum(moved, tl.max(tl.abs(prior - then), axis=0)))
        logs = tl.where(told, tl.where(now > 0, tl.log(tl.where(now > 0, now, 1.0)), NEVER), guess)
        joint = tl.sum(chosen[:, :, None] * logs[None, :, :], axis=1) + tl.log(prior)[None, :]
        weight = tl.exp(joint - tl.max(joint, axis=1)[:, None])
        weight = weight / tl.sum(weight, axis=1)[:, None]
        step += 1
    place = (image * R * L + d[:, None]) * L + k[None, :]
    tl.store(rates_at + place, tl.where(known, rates, float("nan")))
    tl.store(last_at + image * L + k, prior)
    tl.store(moved_at + image, moved)
    tl.store(steps_at + image, step)


_kernel: Any = triton.jit(_em) if triton is not None else None
