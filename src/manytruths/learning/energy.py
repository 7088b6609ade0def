"""Energy distance between samples of a network and the masks of several raters, for batches.

With d = 1 − IoU, where two empty masks have d = 0, of S samples s and R raters r ::

    D² = 2 / (S R) Σ d(s, r) − 1 / S² Σ d(s, s') − 1 / R² Σ d(r, r')

This is the V-form: never negative, and 0 only where both have the same distribution. It is biased, since a sample is
also compared with itself. The U-form in the samples divides the second sum by S (S − 1) instead, which gives what many
samples would give, against these raters; the U-form in both also divides the third by R (R − 1), which gives what other
raters, too, would give on average. U-forms may be negative.

Sizes of intersections of all pairs are one matrix product of 0 and 1, and are exact. On a GPU a kernel multiplies the
bytes as they are; otherwise they become 32-bit floats, a few pixels at a time.

Székely GJ, Rizzo ML. Energy statistics: a class of statistics based on distances. J Stat Plan Inference
2013;143:1249–1272. doi:10.1016/j.jspi.2013.03.018
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from ..core.errors import CallError
from .annotations import check_annotations, check_labels, shape_text
from .kernels import compiled, next_power, run_on, tl

Unbiased = Literal[False, "samples", "both"]
PIXELS_AT_ONCE = 1 << 20
"""Of a product of floats: counts are exact up to 2²⁴."""
MAX_MASKS = 128
MAX_NUMBERS = 1 << 31
"""Offsets within a tensor are computed with 32 bits."""
BLOCK = 256
"""Pixels of a program at once."""
PROGRAMS = 528
"""Programs that are started, about."""


@torch.no_grad()
def energy_distance(
    samples: Tensor, masks: Tensor, present: Tensor | None = None, unbiased: Unbiased = False
) -> Tensor:
    """Squared energy distance between samples and raters of each image, with the distance 1 − IoU.

    Parameters
    ----------
    samples : Tensor
        Masks (N, S, *spatial) of S samples: booleans, or 0 and 1.
    masks : Tensor
        Masks (N, R, *spatial) of R raters.
    present : Tensor, optional
        Booleans (N, R): which raters rated which image. By default everybody rated everything.
    unbiased : {False, "samples", "both"}
        The V-form, the U-form in the samples with the raters fixed, or the U-form in both.

    Returns
    -------
    Tensor
        (N) in float64; nan where nobody rated, or where the U-form in both has only one rater.

    References
    ----------
    Székely GJ, Rizzo ML. Energy statistics: a class of statistics based on distances. J Stat Plan Inference
    2013;143:1249–1272. doi:10.1016/j.jspi.2013.03.018

    Examples
    --------
    >>> import torch
    >>> raters = torch.tensor([[[[1, 1, 0, 0]], [[1, 0, 0, 0]]]])  # one image of 1 × 4 pixels, two raters
    >>> energy_distance(raters, raters), energy_distance(raters[:, :1], raters)
    (tensor([0.], dtype=torch.float64), tensor([0.2500], dtype=torch.float64))
    """
    _check(samples, masks, present, unbiased)
    distance = _distances(samples, masks)
    weight = _weights(samples, masks, present, unbiased)
    return (distance * weight).sum(dim=(1, 2))


def _check(samples: Tensor, masks: Tensor, present: Tensor | None, unbiased: Unbiased) -> None:
    check_annotations(samples, None)
    check_annotations(masks, present)
    if samples.ndim != masks.ndim or len(samples) != len(masks) or samples.shape[2:] != masks.shape[2:]:
        raise CallError(
            f"samples (N, S, *spatial) of shape {shape_text(samples)} do not match masks (N, R, *spatial) of shape "
            f"{shape_text(masks)}: all sizes but the second must be equal"
        )
    if unbiased not in (False, "samples", "both"):
        raise CallError(f"unbiased must be False, 'samples' or 'both'; got {unbiased!r}")
    if present is not None and present.ndim > 2:
        raise CallError("the energy distance needs whole masks; give present= by image, as (N, R)")
    if unbiased and samples.shape[1] < 2:
        raise CallError(f"unbiased={unbiased!r} needs two samples or more; got 1; use unbiased=False")
    if unbiased == "both" and masks.shape[1] < 2:
        raise CallError("unbiased='both' needs two raters or more; got 1; use unbiased='samples'")
    check_labels(samples, None, 2)
    check_labels(masks, present, 2)


def _weights(samples: Tensor, masks: Tensor, present: Tensor | None, unbiased: Unbiased) -> Tensor:
    """(N or 1, S + R, S + R): how often each pair counts."""
    count = samples.shape[1]
    there = torch.ones(1, masks.shape[1], device=masks.device) if present is None else present
    there = there.double()
    raters = there.sum(dim=1, keepdim=True)
    own, others = torch.full_like(there[:, :1], 1 / count).expand(-1, count), there / raters
    signed = torch.cat([own, -others], dim=1)
    weight = -signed[:, :, None] * signed[:, None, :]
    if unbiased:
        weight[:, :count, :count] *= count / (count - 1)
    if unbiased == "both":
        weight[:, count:, count:] *= (raters / (raters - 1))[:, :, None]
    return weight


def _distances(samples: Tensor, masks: Tensor) -> Tensor:
    """(N, S + R, S + R): 1 − IoU of each two masks, samples first."""
    both = intersections(samples, masks).double()
    size = both.diagonal(dim1=1, dim2=2)
    union = size[:, :, None] + size[:, None, :] - both
    return 1 - both.add_(union == 0).div_(union.clamp_(min=1))


def intersections(samples: Tensor, masks: Tensor) -> Tensor:
    """(N, S + R, S + R): number of pixels that each two masks have in common."""
    first, second = _as_bytes(samples).flatten(2), _as_bytes(masks).flatten(2)
    if fits(first, second):
        return _multiply_bytes(first, second)
    return _multiply_floats(first, second)


def _as_bytes(values: Tensor) -> Tensor:
    return values.view(torch.uint8) if values.dtype == torch.bool else values.to(torch.uint8)


def _multiply_floats(first: Tensor, second: Tensor) -> Tensor:
    images, pixels = len(first), first.shape[2]
    total = first.shape[1] + second.shape[1]
    found = torch.zeros(images, total, total, dtype=torch.float64, device=first.device)
    with torch.autocast(first.device.type, enabled=False):  # products in half precision are rounded
        for image in range(images):
            for start in range(0, pixels, PIXELS_AT_ONCE):
                part = slice(start, start + PIXELS_AT_ONCE)
                each = torch.cat([first[image, :, part], second[image, :, part]]).float()
                found[image] += each @ each.T
    return found


def fits(first: Tensor, second: Tensor) -> bool:
    """Whether the kernel can run here and take tensors of these sizes."""
    small = first.shape[1] + second.shape[1] <= MAX_MASKS and max(first.numel(), second.numel()) < MAX_NUMBERS
    return small and not torch.compiler.is_compiling() and run_on(first, second)


def _multiply_bytes(first: Tensor, second: Tensor) -> Tensor:
    (images, samples, pixels), raters = first.shape, second.shape[1]
    total = samples + raters
    padded = max(16, next_power(total))
    found = torch.zeros(images, total, total, dtype=torch.int32, device=first.device)
    parts = min(-(-pixels // BLOCK), max(1, PROGRAMS // images))
    with torch.cuda.device_of(first):
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
