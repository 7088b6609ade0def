"""STAPLE of batches on a GPU in three kernels: patterns are counted, EM runs on the counts, and pixels are looked up.

PyTorch's own operations need about a hundred launches for that, most of which do less than their launch takes. Here the
device is not waited for, unless values of annotations have to be checked or the prior is ``"marked"``.

Counts are integers, so their sums do not depend on the order. EM of an image is one program, which ends when its own
rates converge; its tables are made from the numbers of the patterns, whose digits are the decisions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...fusion.staple import TIE
from ..annotations import expand_presence
from ..kernels import can_fuse, compiled, next_power, started_on, tl

MAX_CELLS = 1 << 13
"""Largest patterns × decisions × labels of one program."""
MAX_NUMBERS = 1 << 31
"""Offsets within a tensor are computed with 32 bits."""
TARGETS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32)
PRIORS = {"prevalence": 0, "estimated": 1, "marked": 2}
GIVEN = 3
PIXELS = 2048
"""Pixels of a program at once."""
PARTS = 1024
"""Programs that count, about."""
CELLS_PER_WARP = 1024
"""Of EM."""
BINS = 128
"""Least number of bins that are counted at once."""


@dataclass(frozen=True)
class KernelFit:
    """What the kernels give."""

    probability: Tensor
    """(N, *spatial) of two labels, else (N, labels, *spatial)."""
    hard: Tensor
    confusion: Tensor
    """(N, R, true label, given label)."""
    prior: Tensor
    """(labels, N)."""
    iterations: Tensor
    converged: Tensor
    marked: Tensor
    """(N): whether somebody marked every pixel."""


def fits(target: Tensor, present: Tensor | None, labels: int) -> bool:
    """Whether the kernels are wanted, can run here, and take tables of this size."""
    if not can_fuse(target, present) or target.dtype not in TARGETS:
        return False
    raters = target.shape[1]
    patterns = _base(present, labels) ** raters
    cells = math.prod(next_power(size) for size in (patterns, raters, labels, labels))
    return cells <= MAX_CELLS and max(target.numel(), labels * target[:, 0].numel()) < MAX_NUMBERS


def _base(present: Tensor | None, labels: int) -> int:
    """Possible decisions of a rater about a pixel."""
    return labels + (present is not None and present.ndim > 2)


def fit_in_kernels(
    target: Tensor, present: Tensor | None, labels: int, prior: str | Tensor, tol: float, max_iter: int
) -> KernelFit:
    """STAPLE of annotations (N, R, *spatial)."""
    with started_on(target):
        codes, counts = _count(target, present, labels)
        return _estimate(target, present, labels, prior, tol, max_iter, codes, counts)


def _count(target: Tensor, present: Tensor | None, labels: int) -> tuple[Tensor, Tensor]:
    """The pattern of each pixel (N, pixels), and how often each occurs (N, patterns)."""
    flat, base = target.flatten(2), _base(present, labels)
    images, raters, pixels = flat.shape
    there = flat if present is None else expand_presence(present, target).expand_as(target).flatten(2)
    if present is not None and present.ndim == 2:  # flatten would have copied it
        there = present.unsqueeze(2).expand_as(flat)
    patterns = next_power(base**raters)
    codes = torch.empty(images, pixels, dtype=torch.uint8 if patterns <= 256 else torch.int16, device=target.device)
    counts = torch.zeros(images, patterns, dtype=torch.int32, device=target.device)
    parts = min(-(-pixels // PIXELS), max(1, PARTS // images))
    _count_codes[(parts, images)](
        flat, there, codes, counts, pixels, *flat.stride(), *there.stride(), R=raters, BASE=base, LABELS=labels,
        PRESENT=present is not None, P=patterns, BINS=max(BINS, patterns), BLOCK=PIXELS, num_warps=4,
    )  # fmt: skip
    return codes, counts


def _estimate(
    target: Tensor, present: Tensor | None, labels: int, prior: str | Tensor, tol: float, max_iter: int,
    codes: Tensor, counts: Tensor,
) -> KernelFit:  # fmt: skip
    (images, raters, *spatial), device, patterns = target.shape, target.device, counts.shape[1]
    heard = present if present is not None and present.ndim == 2 else None
    first = prior.to(device, torch.float64) if isinstance(prior, Tensor) else None
    weight = torch.empty(images, labels, patterns, device=device)
    sure = torch.empty(images, patterns, dtype=torch.uint8, device=device)
    confusion = torch.empty(images, raters, labels, labels, dtype=torch.float64, device=device)
    last = torch.empty(images, labels, dtype=torch.float64, device=device)
    steps = torch.empty(images, dtype=torch.int64, device=device)
    converged, marked = torch.empty(2, images, dtype=torch.bool, device=device)
    sizes = [next_power(size) for size in (patterns, raters, labels)]
    _estimate_rates[(images,)](
        counts, counts if heard is None else heard.contiguous(), counts if first is None else first,
        weight, sure, confusion, last, steps, converged, marked, tol, max_iter,
        RATERS=raters, LABELS=labels, BASE=_base(present, labels), HEARD=heard is not None,
        PRIOR=PRIORS[prior] if isinstance(prior, str) else GIVEN, GUESS=-math.log(labels), TIE=2 * TIE,
        P=sizes[0], R=sizes[1], L=sizes[2], num_warps=max(1, min(8, math.prod(sizes) * sizes[2] // CELLS_PER_WARP)),
    )  # fmt: skip
    planes = 1 if labels == 2 else labels
    probability = torch.empty(images, planes, *spatial, device=device)
    hard = torch.empty(images, *spatial, dtype=torch.bool if labels == 2 else torch.uint8, device=device)
    pixels = codes.shape[1]
    _look_up[(-(-pixels // PIXELS), images)](
        codes, weight, sure, probability, hard.view(torch.uint8), pixels,
        LABELS=labels, PLANES=planes, P=patterns, BLOCK=PIXELS, num_warps=4,
    )  # fmt: skip
    shown = probability[:, 0] if labels == 2 else probability
    return KernelFit(shown, hard, confusion, last.T, steps, converged, marked)


def _count_patterns(  # type: ignore[no-untyped-def]
    target_at, present_at, codes_at, counts_at, pixels, target_n, target_r, target_p, present_n, present_r, present_p,
    R: tl.constexpr, BASE: tl.constexpr, LABELS: tl.constexpr, PRESENT: tl.constexpr, P: tl.constexpr,
    BINS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """A part of an image."""
    part, parts, image = tl.program_id(0), tl.num_programs(0), tl.program_id(1)
    target_at += image.to(tl.int64) * target_n
    present_at += image.to(tl.int64) * present_n
    codes_at += image.to(tl.int64) * pixels
    counts = tl.zeros([BINS], tl.int32)
    bins = tl.arange(0, BINS)
    for start in range(part * BLOCK, pixels, parts * BLOCK):
        p = start + tl.arange(0, BLOCK)
        inside = p < pixels
        code = tl.zeros([BLOCK], tl.int32)
        for r in tl.static_range(R):
            given = tl.load(target_at + r * target_r + p * target_p, mask=inside, other=0).to(tl.int32)
            if PRESENT:
                there = tl.load(present_at + r * present_r + p * present_p, mask=inside, other=0)
                given = tl.where(there != 0, given, LABELS if BASE > LABELS else 0)
            code = code * BASE + given
        tl.store(codes_at + p, code.to(codes_at.dtype.element_ty), mask=inside)
        counts += tl.histogram(tl.where(inside, code, 0), BINS)
        counts -= tl.where(bins == 0, tl.sum(1 - inside.to(tl.int32), axis=0), 0)
    tl.atomic_add(counts_at + image * P + bins, counts, mask=bins < P)


def _estimate_by_em(  # type: ignore[no-untyped-def]
    counts_at, heard_at, first_at, weight_at, hard_at, confusion_at, prior_at, steps_at, converged_at, marked_at,
    tol, max_iter,
    RATERS: tl.constexpr, LABELS: tl.constexpr, BASE: tl.constexpr, HEARD: tl.constexpr, PRIOR: tl.constexpr,
    GUESS: tl.constexpr, TIE: tl.constexpr, P: tl.constexpr, R: tl.constexpr, L: tl.constexpr,
):  # fmt: skip
    """One image; decisions d are [rater and given label], rates [decision, true label]."""
    image = tl.program_id(0)
    p, d, k = tl.arange(0, P), tl.arange(0, R * L), tl.arange(0, L)
    by_pattern = tl.zeros([P, R * L], tl.float64)
    by_decision = tl.zeros([R * L, P], tl.float64)
    digits = p
    for back in tl.static_range(RATERS):
        digit, digits = digits % BASE, digits // BASE
        own = d - (RATERS - 1 - back) * L  # the given label, of this rater's decisions
        own = tl.where((own < LABELS) & (own >= 0), own, -1)
        by_pattern = tl.where(own[None, :] == digit[:, None], 1.0, by_pattern)
        by_decision = tl.where(own[:, None] == digit[None, :], 1.0, by_decision)
    heard = (d < RATERS * L).to(tl.float64)
    if HEARD:
        heard = tl.load(heard_at + image * RATERS + d // L, mask=d < RATERS * L, other=0).to(tl.float64)
    votes = tl.where((d % L)[:, None, None] == k[None, None, :], (by_decision * heard[:, None])[:, :, None], 0.0)
    votes = tl.sum(votes, axis=0)
    rated = tl.sum(votes, axis=1)
    counts = tl.load(counts_at + image * P + p).to(tl.float64)
    counts = tl.where(rated > 0, counts, 0.0)
    weight = votes / tl.where(rated > 0, rated, 1.0)[:, None]
    items = tl.sum(counts, axis=0)
    given = tl.sum(weight * counts[:, None], axis=0)
    alone = tl.sum((given > 0).to(tl.int32), axis=0) < 2
    prior = given / items
    marks = tl.sum(tl.where(k[None, :] > 0, weight, 0.0), axis=1) > 0
    share = tl.sum(tl.where(marks, counts, 0.0), axis=0) / items
    if PRIOR == 2:
        prior = tl.where(k == 0, 1 - share, share * prior / tl.sum(tl.where(k > 0, prior, 0.0), axis=0))
    if PRIOR == 3:
        prior = tl.load(first_at + k, mask=k < LABELS, other=0)
    tl.store(marked_at + image, share == 1)
    guess = tl.full([], GUESS, tl.float64)
    rates = tl.full([R * L, L], float("inf"), tl.float64)
    known = rates > 0
    moved = tl.where(alone, 0.0, tl.max(tl.max(rates, axis=1), axis=0))
    limit = tl.where(alone, 0.0, tl.full([], 0.0, tl.float64) + tol)
    step = 0
    while (step < max_iter) & (moved > limit):
        mass = weight * counts[:, None]
        cells = tl.sum(by_pattern[:, :, None] * mass[:, None, :], axis=0) * heard[:, None]
        total = tl.sum(tl.reshape(cells, [R, L, L]), axis=1)
        total = tl.reshape(tl.broadcast_to(total[:, None, :], [R, L, L]), [R * L, L])
        known_now = total > 0
        now = cells / tl.where(known_now, total, 1.0)
        moved = tl.max(tl.max(tl.where(known_now & known, tl.abs(now - rates), 0.0), axis=1), axis=0)
        rates, known = now, known_now
        if PRIOR == 1:
            then = prior
            prior = tl.sum(mass, axis=0) / items
            moved = tl.where(step == 0, float("inf"), tl.maximum(moved, tl.max(tl.abs(prior - then), axis=0)))
        logs = tl.where(now > 0, tl.log(tl.where(now > 0, now, 1.0)), -1e5)  # in place of the logarithm of 0
        logs = tl.where(known_now, logs, guess)
        joint = tl.sum(by_decision[:, :, None] * logs[:, None, :], axis=0) + tl.log(prior)[None, :]
        weight = tl.exp(joint - tl.max(joint, axis=1)[:, None])
        weight = weight / tl.sum(weight, axis=1)[:, None]
        step += 1
    sure = k == tl.argmax(given, axis=0)
    weight = tl.where(alone, tl.where(sure[None, :], 1.0, 0.0), weight)
    to = weight_at + (image * LABELS + k[None, :]) * P + p[:, None]
    tl.store(to, weight.to(tl.float32), mask=k[None, :] < LABELS)
    tie = tl.full([], TIE, tl.float64)
    top = (weight >= tl.max(weight, axis=1)[:, None] - tie) & (k[None, :] < LABELS)
    hard = tl.min(tl.where(top, k[None, :], LABELS), axis=1)
    tl.store(hard_at + image * P + p, tl.where(rated > 0, hard, 0).to(tl.uint8))
    rater, label = d // L, d % L
    place = ((image * RATERS + rater[:, None]) * LABELS + k[None, :]) * LABELS + label[:, None]
    here = (rater[:, None] < RATERS) & (label[:, None] < LABELS) & (k[None, :] < LABELS)
    tl.store(confusion_at + place, tl.where(known & (alone == 0), rates, float("nan")), mask=here)
    tl.store(prior_at + image * LABELS + k, tl.where(alone, tl.where(sure, 1.0, 0.0), prior), mask=k < LABELS)
    tl.store(steps_at + image, step)
    tl.store(converged_at + image, moved <= limit)


def _look_up_pixels(  # type: ignore[no-untyped-def]
    codes_at, weight_at, hard_at, probability_at, marks_at, pixels,
    LABELS: tl.constexpr, PLANES: tl.constexpr, P: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """A block of an image; of two labels, the probability of the second."""
    image = tl.program_id(1)
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = p < pixels
    code = tl.load(codes_at + image * pixels + p, mask=inside, other=0).to(tl.int32)
    for plane in tl.static_range(PLANES):
        label = image * LABELS + (1 if LABELS == 2 else plane)
        value = tl.load(weight_at + label * P + code, mask=inside, other=0)
        tl.store(probability_at + (image * PLANES + plane) * pixels + p, value, mask=inside)
    tl.store(marks_at + image * pixels + p, tl.load(hard_at + image * P + code, mask=inside, other=0), mask=inside)


_count_codes: Any = compiled(_count_patterns)
_estimate_rates: Any = compiled(_estimate_by_em)
_look_up: Any = compiled(_look_up_pixels)
