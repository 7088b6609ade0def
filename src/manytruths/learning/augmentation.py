"""Other scales, angles, brightnesses, contrasts and saturations of the same images.

Zeng et al. scale by 0.8 to 1.2, rotate by up to 30° and shift brightness, contrast and saturation by up to 0.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from ..core.errors import CallError
from ..core.labels import VOID

GREY = (0.299, 0.587, 0.114)
"""How bright red, green and blue look."""


@dataclass(frozen=True)
class Augmentation:
    """How far an image may be changed; the same draw changes its annotations along."""

    scale: float = 0.2
    rotation: float = 30.0
    """Degrees, either way."""
    brightness: float = 0.1
    contrast: float = 0.1
    saturation: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.scale < 1:
            raise CallError(f"scale is the largest change of size, from 0 to below 1; got {self.scale}")

    def draw(self, images: int, generator: torch.Generator) -> Tensor:
        """(images, 5): factor, angle, and three shifts of each, all from −1 to 1 times what is allowed."""
        reach = [self.scale, math.radians(self.rotation), self.brightness, self.contrast, self.saturation]
        return (2 * torch.rand((images, 5), generator=generator) - 1) * torch.tensor(reach)

    @property
    def moves(self) -> bool:
        """Whether pixels move at all."""
        return bool(self.scale or self.rotation)

    def __call__(self, images: Tensor, annotations: Tensor, drawn: Tensor) -> tuple[Tensor, Tensor]:
        """Images (N, C, H, W) from 0 to 1 and codes (N, R, H, W), changed as drawn."""
        if self.moves:
            grid = _grid(drawn, images)
            images, annotations = _moved(images, grid), _moved_codes(annotations, grid)
        return _lit(images, drawn), annotations


def _grid(drawn: Tensor, images: Tensor) -> Tensor:
    """Where each pixel comes from; turned in pixels, so that circles stay round in images that are not square."""
    height, width = images.shape[2:]
    size = 1 / (1 + drawn[:, 0])
    cos, sin = size * drawn[:, 1].cos(), size * drawn[:, 1].sin()
    zero = torch.zeros_like(cos)
    first = torch.stack([cos, -sin * (height / width), zero], dim=1)
    second = torch.stack([sin * (width / height), cos, zero], dim=1)
    return F.affine_grid(torch.stack([first, second], dim=1), [len(drawn), 1, height, width], align_corners=False)


def _moved(images: Tensor, grid: Tensor) -> Tensor:
    return F.grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


def _moved_codes(codes: Tensor, grid: Tensor) -> Tensor:
    """The nearest code; what comes from outside is background to all who saw the image."""
    absent = (codes == VOID).flatten(2).all(dim=2)
    from_one = F.grid_sample(codes.float() + 1, grid, mode="nearest", padding_mode="zeros", align_corners=False)
    moved = (from_one - 1).clamp(min=0).to(codes.dtype)
    return torch.where(absent[:, :, None, None], VOID, moved)


def _lit(images: Tensor, drawn: Tensor) -> Tensor:
    bright, contrast, colour = (drawn[:, k, None, None, None] for k in (2, 3, 4))
    if images.shape[1] == 3:
        grey = sum(share * images[:, k : k + 1] for k, share in enumerate(GREY))
        images = grey + (images - grey) * (1 + colour)
    mean = images.mean(dim=(1, 2, 3), keepdim=True)
    return (mean + (images - mean) * (1 + contrast) + bright).clamp(0, 1)
