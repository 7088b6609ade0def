"""The extended Dice loss on a GPU, in three kernels: sums, loss, gradient.

PyTorch's own operations read and write the pixels about ten times, and each is a launch that takes longer than its
computation. Here the pixels are read twice, and there are three launches. The first kernel reads logits and
annotations, writes which labels each pixel was given as bits, and sums parts of each image. The second adds the parts,
in float64 and in a fixed order, so that the loss is the same in every run. The third reads logits and bits, and writes
the gradient.

Of a pixel, the bits tell everything: the outer region of a label is where its bit is set, the inner region where no
other is, and a pixel without bits was not rated. ``Σ P + Σ I − Σ P (I + O)`` is summed as 1 − P in the inner region and
P outside the outer region, which loses no digits when it is small.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...core.errors import CallError
from ..kernels import can_fuse, compiled, next_power, started_on, tl

MAX_LABELS = 15
MAX_RATERS = 32
MAX_NUMBERS = 1 << 31
"""Offsets within a tensor are computed with 32 bits."""
LOGITS = (torch.float32, torch.float16, torch.bfloat16)
TARGETS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32)
PIXELS = 2048
"""Pixels and labels of a program at once."""
WARPS = 4
PARTS = 1024
"""Programs that are started, about; each sums a part of an image."""


def fits(input: Tensor, target: Tensor, present: Tensor | None) -> bool:
    """Whether the kernels are wanted, can run here, and take tensors of these sizes and types."""
    return (
        can_fuse(input, target, present)
        and input.dtype in LOGITS
        and target.dtype in TARGETS
        and input.shape[1] <= MAX_LABELS
        and target.shape[1] <= MAX_RATERS
        and max(input.numel(), target.numel()) < MAX_NUMBERS
    )


class FusedExtendedDice(torch.autograd.Function):
    """The reduced loss of logits (N, C, *spatial) against annotations (N, R, *spatial)."""

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        target: Tensor,
        present: Tensor | None,
        first: int,
        batch: bool,
        smooth: float,
        how: str,
    ) -> Tensor:
        logits, labels = input.detach().flatten(2), target.flatten(2)
        there = present if present is None else _like_pixels(present, labels)
        images, channels, pixels = logits.shape
        block = max(128, PIXELS // next_power(channels))
        parts = min(-(-pixels // block), max(1, PARTS // images))
        kind = torch.uint8 if channels < 8 else torch.int16
        marks = torch.empty(images, pixels, dtype=kind, device=input.device)
        sums = torch.empty(5, channels, images, parts, dtype=torch.float32, device=input.device)
        rows, columns = (channels, images * parts) if batch else (channels * images, parts)
        slopes = torch.empty(2, rows, dtype=torch.float32, device=input.device)
        each = torch.empty(rows - first * (rows // channels), dtype=torch.float32, device=input.device)
        total = torch.empty(2, dtype=torch.float32, device=input.device)
        wide = min(next_power(columns), 1024)
        with started_on(input):
            _sum[(parts, images)](
                logits, labels, labels if there is None else there, marks, sums, pixels, images,
                *logits.stride(), *labels.stride(), *(labels.stride() if there is None else there.stride()),
                C=channels, R=labels.shape[1], FIRST=first, PRESENT=there is not None,
                WHOLE=not labels.is_floating_point(), CP=next_power(channels), BLOCK=block, num_warps=WARPS,
            )  # fmt: skip
            _finish[(1,)](
                sums, each, slopes, total, rows, columns, rows // channels, smooth, channels * images * parts,
                C=channels, FIRST=first, COUNTED=there is not None and not batch, MEAN=how == "mean",
                ROWS=min(next_power(rows), 4096 // wide), COLUMNS=wide, num_warps=8,
            )  # fmt: skip
        ctx.save_for_backward(logits, marks, slopes, total)
        ctx.first, ctx.how, ctx.shape, ctx.rows = first, how, input.shape, rows // channels
        if how != "none":
            return total[0]
        return each if batch else each.view(images, channels - first)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise CallError("the extended Dice loss has no second derivatives; do not use create_graph=True")
        logits, marks, slopes, total = ctx.saved_tensors
        images, channels, pixels = logits.shape
        found = torch.empty_like(logits)
        steps = (0, 0) if ctx.how != "none" else gradient.stride() if gradient.ndim == 2 else (0, *gradient.stride())
        block = max(128, PIXELS // next_power(channels))
        with started_on(logits):
            _differentiate[(-(-pixels // block), images)](
                logits, marks, slopes, total, gradient, found, pixels, ctx.rows, *steps, *logits.stride(),
                *found.stride(), C=channels, FIRST=ctx.first, REDUCED=ctx.how != "none", CP=next_power(channels),
                BLOCK=block, num_warps=WARPS,
            )  # fmt: skip
        return found.view(ctx.shape), None, None, None, None, None, None


def _like_pixels(present: Tensor, labels: Tensor) -> Tensor:
    """(N, R, pixels), without a copy of what holds for a whole image."""
    return present.flatten(2) if present.ndim > 2 else present.unsqueeze(2).expand_as(labels)


def _sum_parts(  # type: ignore[no-untyped-def]
    logits_at, target_at, present_at, marks_at, sums_at, pixels, images,
    logits_n, logits_c, logits_p, target_n, target_r, target_p, present_n, present_r, present_p,
    C: tl.constexpr, R: tl.constexpr, FIRST: tl.constexpr, PRESENT: tl.constexpr, WHOLE: tl.constexpr,
    CP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """A part of an image."""
    part, parts, image = tl.program_id(0), tl.num_programs(0), tl.program_id(1)
    logits_at += image.to(tl.int64) * logits_n
    target_at += image.to(tl.int64) * target_n
    present_at += image.to(tl.int64) * present_n
    marks_at += image.to(tl.int64) * pixels
    k = tl.arange(0, CP)[:, None]
    label = k + 1 if C == 1 else k
    labels: tl.constexpr = 2 if C == 1 else C
    chance = tl.zeros([CP, BLOCK], tl.float32)
    both = tl.zeros([CP, BLOCK], tl.float32)
    apart = tl.zeros([CP, BLOCK], tl.float32)
    inner = tl.zeros([CP, BLOCK], tl.int32)
    rated = tl.zeros([1, BLOCK], tl.int32)
    for start in range(part * BLOCK, pixels, parts * BLOCK):
        p = start + tl.arange(0, BLOCK)[None, :]
        inside = p < pixels
        bits = tl.zeros([1, BLOCK], tl.int32)
        for r in tl.static_range(R):
            given = tl.load(target_at + r * target_r + p * target_p, mask=inside, other=0)
            value = given.to(tl.int32)
            known = (value >= 0) & (value < labels)
            if not WHOLE:
                known = known & (value.to(tl.float32) == given)
            bit = 1 << tl.where(known, value, labels)
            if PRESENT:
                there = tl.load(present_at + r * present_r + p * present_p, mask=inside, other=0)
                bit = tl.where(there != 0, bit, 0)
            bits |= bit
        bits = tl.where(inside, bits, 0)
        tl.store(marks_at + p, bits.to(marks_at.dtype.element_ty), mask=inside)
        x = tl.load(logits_at + k * logits_c + p * logits_p, mask=inside & (k < C), other=float("-inf"))
        here = _chance(x.to(tl.float32), inside, C)
        here = tl.where(bits != 0, here, 0.0)
        all_gave = bits == (1 << label)
        any_gave = ((bits >> label) & 1) != 0
        chance += here
        both += tl.where(all_gave, 2 * here, tl.where(any_gave, here, 0.0))
        apart += tl.where(all_gave, 1 - here, tl.where(any_gave, 0.0, here))
        inner += all_gave.to(tl.int32)
        rated += (bits != 0).to(tl.int32)
    row = tl.arange(0, CP)
    to = sums_at + (row * images + image) * parts + part
    apiece = C * images * parts
    tl.store(to, tl.sum(chance, axis=1), mask=row < C)
    tl.store(to + apiece, tl.sum(both, axis=1), mask=row < C)
    tl.store(to + 2 * apiece, tl.sum(apart, axis=1), mask=row < C)
    tl.store(to + 3 * apiece, tl.sum(inner, axis=1).to(tl.float32), mask=row < C)
    if PRESENT:
        every = tl.broadcast_to(tl.sum(rated, axis=1), [CP])
        tl.store(to + 4 * apiece, every.to(tl.float32), mask=row < C)


def _chance_of(x, inside, C: tl.constexpr):  # type: ignore[no-untyped-def]
    """(CP, BLOCK): probabilities of logits."""
    if C == 1:
        return 1 / (1 + tl.exp(-x))
    x = tl.where(inside, x, 0.0)
    x = tl.exp(x - tl.max(x, axis=0)[None, :])
    return x / tl.sum(x, axis=0)[None, :]


def _finish_losses(  # type: ignore[no-untyped-def]
    sums_at, losses_at, slopes_at, total_at, rows, columns, images, smooth, apiece,
    C: tl.constexpr, FIRST: tl.constexpr, COUNTED: tl.constexpr, MEAN: tl.constexpr, ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):  # fmt: skip
    """Losses of all images and labels; a row is a label of an image, or of the batch, labels first."""
    total = tl.zeros([ROWS], tl.float64)
    number = tl.zeros([ROWS], tl.int32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        chance = tl.zeros([ROWS], tl.float64)
        both = tl.zeros([ROWS], tl.float64)
        apart = tl.zeros([ROWS], tl.float64)
        inner = tl.zeros([ROWS], tl.float64)
        rated = tl.zeros([ROWS], tl.float64)
        for left in range(0, columns, COLUMNS):
            column = left + tl.arange(0, COLUMNS)[None, :]
            here = sums_at + row[:, None] * columns + column
            inside = (row[:, None] < rows) & (column < columns)
            chance += tl.sum(tl.load(here, mask=inside, other=0).to(tl.float64), axis=1)
            both += tl.sum(tl.load(here + apiece, mask=inside, other=0).to(tl.float64), axis=1)
            apart += tl.sum(tl.load(here + 2 * apiece, mask=inside, other=0).to(tl.float64), axis=1)
            inner += tl.sum(tl.load(here + 3 * apiece, mask=inside, other=0).to(tl.float64), axis=1)
            if COUNTED:
                rated += tl.sum(tl.load(here + 4 * apiece, mask=inside, other=0).to(tl.float64), axis=1)
        below = chance + inner + smooth
        counts = (row < rows) & (row >= FIRST * images)
        if COUNTED:
            counts = counts & (rated > 0)
        enough = (below > 1.0842021724855044e-19) & counts  # its square must not vanish in float32
        below = tl.where(enough, below, 1.0)
        loss = tl.where(enough, apart / below, 0.0)
        tl.store(slopes_at + row, tl.where(enough, (both + smooth) / below, 0.0).to(tl.float32), mask=row < rows)
        tl.store(slopes_at + rows + row, tl.where(enough, 1 / below, 0.0).to(tl.float32), mask=row < rows)
        place = (row % images) * (C - FIRST) + row // images - FIRST
        tl.store(losses_at + place, loss.to(tl.float32), mask=(row < rows) & (row >= FIRST * images))
        total += loss
        number += counts.to(tl.int32)
    share = tl.full([], 1.0, tl.float64)
    if MEAN:
        share = 1 / tl.maximum(tl.sum(number, axis=0), 1).to(tl.float64)
    tl.store(total_at, (tl.sum(total, axis=0) * share).to(tl.float32))
    tl.store(total_at + 1, share.to(tl.float32))


def _differentiate_pixels(  # type: ignore[no-untyped-def]
    logits_at, marks_at, slopes_at, total_at, gradient_at, found_at, pixels, images, gradient_n, gradient_k,
    logits_n, logits_c, logits_p, found_n, found_c, found_p,
    C: tl.constexpr, FIRST: tl.constexpr, REDUCED: tl.constexpr, CP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The gradient of the pixels of a block; with batch, all images have the slopes of the first."""
    image = tl.program_id(1)
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    k = tl.arange(0, CP)[:, None]
    label = k + 1 if C == 1 else k
    inside = p < pixels
    x_at = logits_at + image.to(tl.int64) * logits_n + k * logits_c + p * logits_p
    x = tl.load(x_at, mask=inside & (k < C), other=float("-inf")).to(tl.float32)
    bits = tl.load(marks_at + image.to(tl.int64) * pixels + p, mask=inside, other=0).to(tl.int32)
    each = tl.arange(0, CP)
    counts = (each >= FIRST) & (each < C)
    row = each * images + tl.where(images > 1, image, 0)
    ratio = tl.load(slopes_at + row, mask=counts, other=0)
    scale = tl.load(slopes_at + C * images + row, mask=counts, other=0)
    upstream = gradient_at + image * gradient_n + (each - FIRST) * gradient_k
    scale *= tl.load(upstream, mask=counts, other=0).to(tl.float32)
    if REDUCED:
        scale *= tl.load(total_at + 1)
    here = _chance(x, inside, C)
    weight = ((bits >> label) & 1) + (bits == (1 << label)).to(tl.int32)
    slope = tl.where(bits != 0, (ratio[:, None] - weight.to(tl.float32)) * scale[:, None], 0.0)
    slope = here * (slope * (1 - here) if C == 1 else slope - tl.sum(here * slope, axis=0)[None, :])
    to = found_at + image.to(tl.int64) * found_n + k * found_c + p * found_p
    tl.store(to, slope.to(found_at.dtype.element_ty), mask=inside & (k < C))


_chance: Any = compiled(_chance_of)
_sum: Any = compiled(_sum_parts)
_finish: Any = compiled(_finish_losses)
_differentiate: Any = compiled(_differentiate_pixels)
