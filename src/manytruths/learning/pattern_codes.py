"""Pixels coded to patterns of decisions, and how often each occurs in each image of a batch.

A pixel's code has a digit a rater: the label that he gave, or one more for what he did not rate. Raters who are absent
from whole images need no digit of their own. Few possible codes are counted as they are; of many, those that occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from .annotations import spread

MOST_CODES = 1 << 16
"""Beyond so many possible codes, the ones that occur are looked for."""
LARGEST = 1 << 62
"""Codes stay below."""


@dataclass(frozen=True)
class Coded:
    """A batch as codes."""

    place: Tensor
    """(N × pixels): where a pixel's image and pattern lie in a table (N, patterns)."""
    rows: Tensor
    """(patterns, R): the label that each rater gave, or the number of labels where he did not rate."""
    counts: Tensor
    """(N, patterns): pixels."""


def coded(target: Tensor, present: Tensor | None, labels: int) -> Coded:
    """Of annotations (N, R, *spatial), and who rated which images or pixels; who was absent from an image gave it 0."""
    by_pixel = present is not None and present.ndim > 2
    base = labels + by_pixel
    if base ** target.shape[1] <= MOST_CODES:
        code = _digits(target, present, labels, base)
        rows = _decoded(base, target.shape[1], target.device)
    else:
        code, rows = _found(target, present, labels, base)
    place = _places(code, len(rows))
    counts = torch.bincount(place, minlength=len(code) * len(rows))
    return Coded(place, rows, counts.view(len(code), len(rows)))


def _digit(target: Tensor, present: Tensor | None, rater: int, labels: int, kind: torch.dtype) -> Tensor:
    """(N, pixels): what one rater decided."""
    own = target[:, rater].flatten(1)
    if own.dtype == torch.bool:
        own = own.view(torch.uint8)
    if present is not None:
        own = torch.where(spread(present, target)[:, rater].flatten(1), own, labels if present.ndim > 2 else 0)
    return own.to(kind)


def _digits(target: Tensor, present: Tensor | None, labels: int, base: int) -> Tensor:
    """Codes in the smallest type that takes them."""
    size = base ** target.shape[1]
    kind = torch.uint8 if size <= 256 else torch.int32
    code = _digit(target, present, 0, labels, kind)
    for rater in range(1, target.shape[1]):
        code = torch.add(_digit(target, present, rater, labels, kind), code, alpha=base)
    return code


@lru_cache(maxsize=16)
def _decoded(base: int, raters: int, device: torch.device) -> Tensor:
    """(base ** raters, R): the digits of every code."""
    places = torch.tensor([base**r for r in reversed(range(raters))], device=device)
    return torch.arange(base**raters, device=device)[:, None] // places % base


def _found(target: Tensor, present: Tensor | None, labels: int, base: int) -> tuple[Tensor, Tensor]:
    """The codes that occur, numbered in their order, and one row for each: that of any of its pixels."""
    raters = range(target.shape[1])
    code, size = _digit(target, present, 0, labels, torch.int64), base
    for rater in raters[1:]:
        if size > LARGEST // base:  # what occurs is never many
            code = torch.unique(code, return_inverse=True)[1]
            size = int(code.max()) + 1
        code = torch.add(_digit(target, present, rater, labels, torch.int64), code, alpha=base)
        size *= base
    kinds, code = torch.unique(code, return_inverse=True)
    pixel = torch.empty(len(kinds), dtype=torch.int64, device=code.device)
    pixel.scatter_(0, code.flatten(), torch.arange(code.numel(), device=code.device))
    digits = [_digit(target, present, r, labels, torch.int64).flatten()[pixel] for r in raters]
    return code, torch.stack(digits, dim=1)


def _places(code: Tensor, size: int) -> Tensor:
    """Every image's codes after those of the one before."""
    kind = torch.int32 if len(code) * size < 1 << 31 else torch.int64
    first = torch.arange(len(code), dtype=kind, device=code.device)[:, None] * size
    return (code + first).flatten()
