"""Raters whose faults are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from .phantoms import Lesion, Mask, Phantom, blob
from .randomness import Field, generator, smooth_noise

FAINTEST = 0.1
"""The visibility of what is not there: a false alarm is drawn like a very faint lesion."""


@dataclass(frozen=True, eq=False)
class Marking:
    """What one rater drew on one image, in one session."""

    ranks: NDArray[np.uint8]
    """0 where nothing is marked, else the rank the rater gave; 1 is the most severe."""

    @property
    def mask(self) -> Mask:
        """The marked pixels."""
        return self.ranks > 0


@dataclass(frozen=True)
class SimulatedRater:
    """A rater with known faults; one without any draws the truth.

    >>> from manytruths.simulate import phantom
    >>> image = phantom(1, group="CIN3")
    >>> bool((SimulatedRater("perfect").mark(image, seed=0).mask == image.truth).all())
    True
    """

    name: str
    bias: float = 0.0
    """Pixels by which every outline lies outside (+) or inside (−) the true one."""
    jitter: float = 0.0
    """Pixels by which an outline wanders, smoothly, on a clear lesion (standard deviation); up to twice that on a
    faint one."""
    miss: float = 0.0
    """Probability of overlooking a clear lesion; up to twice that for a faint one."""
    false_alarm: float = 0.0
    """Probability of marking, once an image, a place where nothing is."""
    rank_noise: float = 0.0
    """Standard deviation of the error in judging a lesion's visibility, by which lesions are ranked."""
    expertise: str = ""

    def __post_init__(self) -> None:
        for field in ("miss", "false_alarm"):
            if not 0 <= getattr(self, field) <= 1:
                raise CallError(f"rater {self.name}: {field} is {getattr(self, field)}; a probability is 0 to 1")
        for field in ("jitter", "rank_noise"):
            if not getattr(self, field) >= 0:
                raise CallError(f"rater {self.name}: {field} is {getattr(self, field)}; it must be 0 or more")

    def mark(self, phantom: Phantom, seed: int) -> Marking:
        """Draw what this rater sees; the same phantom, rater and seed give the same marking."""
        size = phantom.size
        random = generator(seed, self.name)
        wander = smooth_noise(random, size, size / 20)
        drawn = self._noticed(random, phantom)
        if not drawn:
            return Marking(np.zeros((size, size), np.uint8))
        reach = np.stack([self._reach(lesion, wander) for lesion in drawn])
        errors = random.normal(0, 1, len(drawn)) * self.rank_noise
        return Marking(_rank(reach, [s.visibility + e for s, e in zip(drawn, errors, strict=True)]))

    def _noticed(self, random: np.random.Generator, phantom: Phantom) -> list[Lesion]:
        """The lesions that are seen, and perhaps one that is not there."""
        chances = random.random(len(phantom.lesions))
        seen = [s for s, chance in zip(phantom.lesions, chances, strict=True) if chance >= self.miss * _harder(s)]
        alarm, radius = random.random(), random.uniform(0.04, 0.09) * phantom.size
        if alarm < self.false_alarm:
            seen.append(Lesion(blob(random, phantom.size, radius), FAINTEST, len(seen) + 1))
        return seen

    def _reach(self, lesion: Lesion, wander: Field) -> Field:
        """How far inside this rater's outline each pixel lies."""
        return self.bias + self.jitter * _harder(lesion) * wander - lesion.distance


def _harder(lesion: Lesion) -> float:
    """1 for a clear lesion, towards 2 for a faint one."""
    return 2 - lesion.visibility


def _rank(reach: Field, severity: list[float]) -> NDArray[np.uint8]:
    """Give each pixel to the lesion it lies deepest in, and the lesions that have pixels ranks 1, 2, …"""
    owner = np.where(reach.max(axis=0) > 0, reach.argmax(axis=0), -1)
    drawn = [lesion for lesion in range(len(reach)) if (owner == lesion).any()]
    ranks = np.zeros(owner.shape, np.uint8)
    for rank, lesion in enumerate(sorted(drawn, key=lambda lesion: -severity[lesion]), start=1):
        ranks[owner == lesion] = rank
    return ranks
