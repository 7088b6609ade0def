"""The left ventricle of a contrast echo: a horseshoe of muscle, open at its base, that beats.

Lengths are shares of the image's side. A place in the heart is an angle (0 at the apex, below 0 along the septum,
above 0 along the lateral wall) and a radius (1 on the ellipse that the cavity resembles).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .randomness import generator

Curve = NDArray[np.float64]
"""A value at each of ``ANGLES``."""
Points = NDArray[np.float64]

ANGLES = np.linspace(-np.pi, np.pi, 361)
BEAT = 10.0
"""Frames from one contraction to the next."""


def wave(random: np.random.Generator, roughness: float = 3.0) -> Curve:
    """A smooth random curve around the heart, of mean 0 and variance 1 at every angle."""
    order = np.arange(1, 13)[:, None]
    weight = np.exp(-((order / roughness) ** 2))
    weight /= np.sqrt((weight**2).sum())
    even, odd = random.standard_normal((2, *order.shape))
    return np.asarray((weight * (even * np.cos(order * ANGLES) + odd * np.sin(order * ANGLES))).sum(axis=0))


def at_angle(angle: Points, curve: Curve) -> Points:
    """A curve's values at any angles."""
    return np.asarray(np.interp(angle.ravel(), ANGLES, curve).reshape(angle.shape))


@dataclass(frozen=True, eq=False)
class Pose:
    """Where the ventricle lies and how large it is."""

    x: float
    y: float
    tilt: float
    short: float
    long: float

    def upright(self, x: Points, y: Points) -> tuple[Points, Points]:
        """Places along the short and the long axis, down from the middle."""
        right, down = x - self.x, y - self.y
        cos, sin = np.cos(self.tilt), np.sin(self.tilt)
        return right * cos + down * sin, down * cos - right * sin

    def polar(self, x: Points, y: Points) -> tuple[Points, Points]:
        """Angle and radius in the heart."""
        across, down = self.upright(x, y)
        across, up = across / self.short, -down / self.long
        return np.arctan2(across, up), np.hypot(across, up)

    def place(self, angle: Points, radius: Points) -> tuple[Points, Points]:
        """Where an angle and a radius lie in the image."""
        across, down = self.short * radius * np.sin(angle), -self.long * radius * np.cos(angle)
        cos, sin = np.cos(self.tilt), np.sin(self.tilt)
        return self.x + across * cos - down * sin, self.y + across * sin + down * cos

    @property
    def steepness(self) -> Curve:
        """Growth of the radius along the normal, at each angle."""
        return np.asarray(np.hypot(np.sin(ANGLES) / self.short, np.cos(ANGLES) / self.long))


@dataclass(frozen=True, eq=False)
class Wall:
    """A closed horseshoe: radii of its two outlines, and the angles at which its ends are."""

    endo: Curve
    epi: Curve
    septal: float
    lateral: float
    rounding: float
    """Angle over which an end closes."""

    def depth(self, angle: Points, radius: Points) -> Points:
        """0 at the endocardium, 1 at the epicardium."""
        endo = at_angle(angle, self.endo)
        return (radius - endo) / (at_angle(angle, self.epi) - endo)

    def reach(self, angle: Points) -> Points:
        """How far the wall is open at an angle: 1, and towards its ends 0."""
        left = np.where(angle < 0, self.septal + angle, self.lateral - angle) / self.rounding
        return np.asarray(np.sqrt(1 - (1 - np.clip(left, 0, 1)) ** 2))

    def covers(self, angle: Points, radius: Points) -> NDArray[np.bool_]:
        """Whether places lie in the muscle."""
        return np.asarray(np.abs(self.depth(angle, radius) - 0.5) < 0.5 * self.reach(angle))


@dataclass(frozen=True, eq=False)
class Heart:
    """The ventricle in one frame."""

    pose: Pose
    wall: Wall
    thickness: Curve
    """Along the normal, at each angle."""

    @property
    def step(self) -> Curve:
        """What one thickness of the wall is in radius, at each angle."""
        return self.thickness * self.pose.steepness


def heart(seed: int, subject: int, frame: int) -> Heart:
    """The ventricle of a subject as it is in one frame."""
    own, now = generator(seed, "heart", subject), generator(seed, "beat", subject, frame)
    pose, contraction = _pose(own), _contraction(float(own.uniform(0, BEAT)), frame)
    thick = float(own.uniform(0.044, 0.066)) * (1 + 0.10 * wave(own)) * (1 - 0.22 * np.exp(-((ANGLES / 0.45) ** 2)))
    shape = 1 + 0.035 * wave(own, 2.5) + 0.03 * np.cos(ANGLES) ** 3
    ends = own.uniform(1.85, 2.08, 2) - 0.06 * contraction
    beating = float(own.uniform(0.14, 0.24))
    pose = Pose(
        pose.x + float(now.normal(0, 0.003)),
        pose.y + float(now.normal(0, 0.003)) + 0.012 * contraction,
        pose.tilt + float(now.normal(0, 0.008)),
        pose.short * (1 - beating * contraction),
        pose.long * (1 - 0.45 * beating * contraction),
    )
    thickness = thick * (1 + 1.4 * beating * contraction)
    endo = shape + 0.008 * wave(now, 5)
    epi = endo + thickness * pose.steepness
    return Heart(pose, Wall(endo, epi, float(ends[0]), float(ends[1]), 0.14), thickness)


def _pose(random: np.random.Generator) -> Pose:
    x, y = random.normal((0.52, 0.535), (0.018, 0.012))
    tilt, short = random.normal(0.02, 0.09), random.uniform(0.12, 0.155)
    return Pose(float(x), float(y), float(tilt), float(short), float(random.uniform(0.225, 0.265)))


def _contraction(start: float, frame: int) -> float:
    """0 at the end of filling, 1 at the end of contraction."""
    return float(0.5 - 0.5 * np.cos(2 * np.pi * (start + frame) / BEAT))
