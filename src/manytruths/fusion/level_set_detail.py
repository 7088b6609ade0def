"""How much detail raters draw, and what it makes of the price of length (see :mod:`.level_set`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..shape.narrow_band import outline_length
from .level_set_scene import Scene, Values


@dataclass(frozen=True)
class Detail:
    """The raters' detail, as a prior on that of the truth."""

    each: Values
    """g of each rater; nan where he marked nothing, or has no outline."""
    mean: float
    """m, of log g."""
    strength: float
    """k; 0 where no rater has an outline, and there is nothing to know."""
    power: float
    """(d − 1) / d."""

    def factor(self, length: float, size: float) -> float:
        """What λ is multiplied by: (g / eᵐ)ᵏ."""
        if not (length > 0 and size > 0):
            return 1.0
        excess = np.log(length) - self.power * np.log(size) - self.mean
        return float(np.exp(self.strength * excess))

    def pressure(self, length: float, size: float) -> float:
        """What growth by an item, at the same length, takes off E, in units of λ."""
        share = self.strength / (self.strength + 1)
        return share * self.power * length / size * self.factor(length, size) if size else 0.0


def detail_of(scene: Scene, leeway: float, spacing: Sequence[float] | None) -> Detail:
    """The detail of each rater, and its mean and spread, weighted by how well he agrees with the vote."""
    power = 1 - 1 / scene.counted.ndim
    each = np.array([_detail(scene, rater, power, spacing) for rater in range(scene.marked.shape[1])])
    rates = scene.rates(scene.inside(scene.start))
    weight = np.where(np.isnan(each), 0, np.maximum(rates.sensitivity + rates.specificity - 1, 0))
    if not weight.any():
        return Detail(each, 0.0, 0.0, power)
    logs = np.log(np.where(weight > 0, each, 1))
    mean = float(np.average(logs, weights=weight))
    spread = float(np.average((logs - mean) ** 2, weights=weight))
    return Detail(each, mean, 1 / (leeway**2 + spread), power)


def _detail(scene: Scene, rater: int, power: float, spacing: Sequence[float] | None) -> float:
    """Of a rater's mask in which every item is what most of the items around it are, so that specks do not count."""
    from scipy import ndimage

    marked = scene.painted(scene.marked[:, rater] > 0) & scene.counted
    rated = scene.painted(scene.marked[:, rater] + scene.left[:, rater] > 0) & scene.counted
    smooth = ndimage.uniform_filter(marked.astype(np.float32), 3, mode="nearest") > 0.5
    length = outline_length(smooth & rated, rated, spacing)
    return float(length / (smooth & rated).sum() ** power) if length else np.nan
