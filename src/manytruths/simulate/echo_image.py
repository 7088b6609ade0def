"""A contrast echo: the left ventricle, a horseshoe of muscle that beats, and what an image shows of it, and where not.

Lengths are shares of the image's side. A place in the heart is an angle (0 at the apex, below 0 along the septum,
above 0 along the lateral wall) and a radius (1 on the ellipse that the cavity resembles). Ultrasound sees a fan of
beams, with speckle along them. Everything is made on one grid of depths and beams, whatever the size of the image: the
same seed shows the same heart, only finer or coarser.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from .phantoms import Field, generator, smooth_noise, soft_step

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
    constant, now = generator(seed, "heart", subject), generator(seed, "beat", subject, frame)
    pose = _pose(constant)
    # 0 at the end of filling, 1 at the end of contraction
    contraction = float(0.5 - 0.5 * np.cos(2 * np.pi * (float(constant.uniform(0, BEAT)) + frame) / BEAT))
    apex = 1 - 0.22 * np.exp(-((ANGLES / 0.45) ** 2))
    thick = float(constant.uniform(0.044, 0.066)) * (1 + 0.10 * wave(constant)) * apex
    shape = 1 + 0.035 * wave(constant, 2.5) + 0.03 * np.cos(ANGLES) ** 3
    ends = constant.uniform(1.85, 2.08, 2) - 0.06 * contraction
    beating = float(constant.uniform(0.14, 0.24))
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


QUALITIES = {"good": (0.0, 0.3), "fair": (0.3, 0.65), "poor": (0.65, 1.0)}
"""How poor the images of a subject are: the range for each quality."""
COARSE = 64
DEPTHS, BEAMS = 400, 240
TOP, NEAR, FAR, OPENING = 0.02, 0.025, 0.95, 0.74
"""Where the probe is (from the upper edge), the first and the last depth, and half of the fan's angle."""
SMEAR = (1.5, 1.7)
"""Samples over which the pulse and the beam smear (standard deviation)."""
RANGE = 2.5
"""Powers of ten in amplitude from black to white: 50 dB."""


@dataclass(frozen=True, eq=False)
class Shadow:
    """A rib or lung that blocks some beams."""

    turn: float
    width: float
    start: float
    strength: float

    def share(self, depth: Points, turn: Points) -> Points:
        """The share of the signal that is lost."""
        across = np.exp(-(np.abs((turn - self.turn) / self.width) ** 3))
        return np.asarray(self.strength * across * soft_step((depth - self.start) / 0.03))


@dataclass(frozen=True, eq=False)
class View:
    """One frame's view of a heart: grey levels of what is there, and what lies in the way."""

    heart: Heart
    shadows: tuple[Shadow, ...]
    blood: float
    thin: Curve
    """How much darker blood is beside the wall, where contrast is thin."""
    muscle: Curve
    """Grey level of the wall at each angle: perfused, or not yet, or not well."""
    tissue: float
    gain: float
    loss: float
    """By how much grey falls from the top to the bottom."""
    clutter: float
    rim: Curve
    """How bright the pericardium is at each angle."""
    patches: tuple[Field, Field, Field]
    """Unevenness of the tissue around, of trabeculae, and of haze."""
    valve: float
    """How far the mitral valve bulges into the cavity, in its own widths."""
    papillary: tuple[tuple[float, float, float], ...]
    """Angle, radius and size of each papillary muscle."""

    def image_of_beams(self, random: np.random.Generator) -> Field:
        """Grey levels along the beams, with speckle."""
        depth, turn, x, y = beam_grid()
        grey = self._inside(x, y, self._around(x, y))
        grey = grey + self.gain - self.loss * (depth - 0.35) - 0.42 * self._hidden(depth, turn)
        return echoes(random, grey, self._haze(depth, x, y))

    def clarity(self, size: int) -> Field:
        """From 0 (an edge here cannot be seen) to 1 (it is plain to see), for every pixel."""
        return np.asarray(self._clarity(*pixel_grid(size), self.edges), np.float32)

    def clarity_along(self) -> tuple[Curve, Curve]:
        """The clarity of the endocardium and of the epicardium, at each angle."""
        from scipy.ndimage import gaussian_filter1d

        wall, edges = self.heart.wall, self.edges
        inner, outer = (self._clarity(*self.heart.pose.place(ANGLES, r), edges) for r in (wall.endo, wall.epi))
        # a rater who has lost an edge does not find it again within a pixel
        return gaussian_filter1d(inner, 8, mode="wrap"), gaussian_filter1d(outer, 8, mode="wrap")

    @property
    def edges(self) -> tuple[Curve, Curve]:
        """How far the wall's grey differs from the cavity's and from that of the tissue outside, from 0 to 1."""
        wall = self.heart.wall
        outside = self._around(*self.heart.pose.place(ANGLES, wall.epi + 0.25 * self.heart.step))
        beside = self.blood - self.thin, outside + 0.6 * self.rim
        inner, outer = (np.asarray(1 - np.exp(-(((grey - self.muscle) / 0.13) ** 2))) for grey in beside)
        return inner, outer

    def _clarity(self, x: Points, y: Points, edges: tuple[Curve, Curve]) -> Points:
        angle, radius = self.heart.pose.polar(x, y)
        outward = np.clip(self.heart.wall.depth(angle, radius), 0, 1)
        contrast = (1 - outward) * at_angle(angle, edges[0]) + outward * at_angle(angle, edges[1])
        depth, turn = probe_coordinates(x, y)
        visible = 1 - np.clip(self._hidden(depth, turn) + self._near(depth), 0, 1)
        return np.asarray(visible * contrast)

    def _hidden(self, depth: Points, turn: Points) -> Points:
        lost = [shadow.share(depth, turn) for shadow in self.shadows]
        return np.asarray(1 - np.prod([1 - share for share in lost], axis=0)) if lost else np.zeros_like(depth)

    def _near(self, depth: Points) -> Points:
        """Clutter before the probe, as a share."""
        return np.asarray(self.clutter * np.exp(-((depth / 0.17) ** 4)))

    def _haze(self, depth: Points, x: Points, y: Points) -> Points:
        return np.asarray(0.52 * self._near(depth) ** 0.5 + 0.12 + 0.05 * _sampled(self.patches[2], x, y))

    def _around(self, x: Points, y: Points) -> Points:
        """The grey of what lies outside the ventricle: tissue, the right heart, the left atrium."""
        pose = self.heart.pose
        across, down = pose.upright(x, y)
        grey = self.tissue + 0.10 * _sampled(self.patches[0], x, y)
        base, side = 0.5 * pose.long, pose.short + 0.058
        rooms = (
            (-side - 0.075, 0.03, 0.075, 0.17, 0.92),
            (0.0, base + 0.135, 0.9 * pose.short, 0.115, 0.90),
            (-side - 0.035, base + 0.165, 0.085, 0.095, 0.86),
        )
        for middle, low, wide, high, share in rooms:
            inside = soft_step((1 - np.hypot((across - middle) / wide, (down - low) / high)) * 5)
            grey = grey + (share * self.blood - grey) * inside
        return np.asarray(grey)

    def _inside(self, x: Points, y: Points, around: Points) -> Points:
        """Cavity, muscle, and what misleads, laid over what is around."""
        wall = self.heart.wall
        angle, radius = self.heart.pose.polar(x, y)
        depth, reach = wall.depth(angle, radius), wall.reach(angle)
        muscle = at_angle(angle, self.muscle)
        blood = self.blood - at_angle(angle, self.thin) * soft_step(8 * (radius - 0.7))
        grey = around + (blood - around) * soft_step(-12 * depth)
        grey = grey + 0.12 * self._leaflets(x, y)
        for turn, out, large in self.papillary:
            near = 1 - np.hypot((angle - turn) / (1.6 * large), (radius - out) / large)
            grey = grey + (muscle + 0.02 - grey) * soft_step(5 * near)
        rough = np.clip(0.45 + 0.35 * _sampled(self.patches[1], x, y), 0, 0.9)
        grey = grey + (muscle - grey) * rough * soft_step(12 * (depth + 0.3)) * soft_step(-12 * depth) * (reach > 0)
        grey = grey + at_angle(angle, self.rim) * np.exp(-(((depth - 1.12) / 0.13) ** 2)) * reach
        return np.asarray(grey + (muscle - grey) * soft_step(12 * (0.5 * reach - np.abs(depth - 0.5))) * (reach > 0))

    def _leaflets(self, x: Points, y: Points) -> Points:
        """The mitral valve: two thin lines from the ends of the wall to a point between them."""
        wall, pose = self.heart.wall, self.heart.pose
        ends = np.array([-wall.septal, wall.lateral])
        hinges = np.stack(pose.place(ends, at_angle(ends, wall.endo)), axis=1)
        across, down = hinges[1] - hinges[0]
        tip = hinges.mean(axis=0) + self.valve * np.array([down, -across])
        return np.asarray(sum(_line(x, y, hinge, tip) for hinge in hinges))


def view(seed: int, subject: int, frame: int, heart: Heart, poor: float) -> View:
    """The view of a heart; ``poor``, from 0 to 1, is how difficult a subject is to scan."""
    constant, now = generator(seed, "view", subject), generator(seed, "view", subject, frame)
    arrived = 1 - np.exp(-(frame + constant.uniform(0, 2)) / constant.uniform(2.5, 5))
    blood = 0.68 + constant.normal(0, 0.025) + now.normal(0, 0.012) - 0.05 * poor
    perfused = constant.uniform(0.44, 0.54)
    level = constant.uniform(0.20, 0.28) * (1 - arrived) + perfused * arrived
    muscle = level + 0.035 * wave(constant) - 0.07 * np.clip(wave(constant, 2) - 0.8, 0, 1)
    thin = (0.08 + 0.06 * poor) * np.clip(wave(constant, 2.5) + 0.4 * wave(now, 4) - 0.1, 0, 1.5)
    return View(
        heart=heart,
        shadows=_shadows(constant, now, poor),
        blood=float(blood),
        thin=thin,
        muscle=np.minimum(muscle, blood - thin - 0.03),
        tissue=float(constant.uniform(0.26, 0.36)),
        gain=float(constant.normal(0, 0.03) + now.normal(0, 0.01)),
        loss=float(constant.uniform(0.05, 0.13) + 0.06 * poor),
        clutter=float(np.clip(0.25 + 0.55 * poor + constant.normal(0, 0.1), 0.05, 0.9)),
        rim=0.22 * np.clip(0.4 * wave(constant) + 0.5 * np.sin(ANGLES), 0, 1) * (1 - 0.5 * poor),
        patches=(smooth_noise(constant, COARSE, 3.5), smooth_noise(now, COARSE, 1.2), smooth_noise(now, COARSE, 2.0)),
        valve=float(constant.uniform(0.1, 0.3) + now.normal(0, 0.08)),
        papillary=_papillary(constant),
    )


def _shadows(constant: np.random.Generator, now: np.random.Generator, poor: float) -> tuple[Shadow, ...]:
    """The lateral wall is behind the lung more often than the septum behind a rib."""
    drawn = constant.uniform(size=(4, 4))
    shift = now.normal(0, 0.012, 4)
    sides = ((0.18, 0.50), (-0.55, -0.15), (-0.1, 0.3), (0.35, 0.7))
    count = 1 + int(poor > 0.3) + int(poor > 0.55) + int(poor > 0.8)
    return tuple(
        Shadow(
            low + (high - low) * float(a) + float(move), 0.05 + 0.09 * float(b), 0.10 + 0.30 * float(c),
            (0.35 + 0.55 * poor) * (0.65 + 0.35 * float(d)),
        )
        for (low, high), (a, b, c, d), move in zip(sides[:count], drawn, shift, strict=False)
    )  # fmt: skip


def _papillary(random: np.random.Generator) -> tuple[tuple[float, float, float], ...]:
    sides = (random.uniform(0.8, 1.5), -random.uniform(0.7, 1.4))
    return tuple((float(turn), float(random.uniform(0.76, 0.9)), float(random.uniform(0.11, 0.19))) for turn in sides)


def _sampled(field: Field, x: Points, y: Points) -> Points:
    """A coarse field at places in the image."""
    from scipy.ndimage import map_coordinates

    places = (COARSE * y - 0.5, COARSE * x - 0.5)
    return np.asarray(map_coordinates(field, places, order=1, mode="nearest"), np.float64)


def _line(x: Points, y: Points, start: Points, end: Points) -> Points:
    """1 on a line from one place to another, falling off within a hundredth of the image."""
    along, length = end - start, float(np.hypot(*(end - start)))
    right, down = x - start[0], y - start[1]
    on = np.clip((right * along[0] + down * along[1]) / length**2, 0, 1)
    gap = np.hypot(right - on * along[0], down - on * along[1])
    return np.asarray(np.exp(-((gap / 0.007) ** 2)))


# -- beams --------------------------------------------------------------------------------------------


@cache
def beam_grid() -> tuple[Points, Points, Points, Points]:
    """Depth and angle of every sample, and where in the image they are (x, y)."""
    depth, turn = np.meshgrid(np.linspace(NEAR, FAR, DEPTHS), np.linspace(-OPENING, OPENING, BEAMS), indexing="ij")
    return depth, turn, 0.5 + depth * np.sin(turn), TOP + depth * np.cos(turn)


@cache
def pixel_grid(size: int) -> tuple[Points, Points]:
    """The middles of the pixels (x, y)."""
    y, x = (np.mgrid[:size, :size] + 0.5) / size
    return x, y


def probe_coordinates(x: Points, y: Points) -> tuple[Points, Points]:
    """Depth and angle of places in the image."""
    return np.hypot(x - 0.5, y - TOP), np.arctan2(x - 0.5, y - TOP)


def echoes(random: np.random.Generator, grey: Points, haze: Points) -> Field:
    """What comes back of tissue of a grey level (0 to 1 on the scale of the picture), with haze laid over it."""
    strength = 10 ** (RANGE * (grey - 1))
    veil = 10 ** (RANGE * (haze - 1))
    # the mean of two looks at the tissue makes its speckle milder, as in scanners
    first, over, second = (np.abs(_scattered(random, what)) for what in (strength, veil, strength))
    amplitude = 0.65 * first + 0.35 * second + 0.36 * over + 10 ** (-0.95 * RANGE)
    return np.asarray(1 + np.log10(amplitude) / RANGE, np.float32)


def _scattered(random: np.random.Generator, strength: Points) -> NDArray[np.complex64]:
    """Scatterers of random phase, smeared as the pulse is long and the beam wide."""
    from scipy.ndimage import gaussian_filter

    parts = random.standard_normal((2, *strength.shape), np.float32) * strength.astype(np.float32)
    real, imaginary = (gaussian_filter(part, SMEAR, mode="nearest", truncate=3) for part in parts)
    # the filter takes away power, which comes back
    return np.asarray((real + 1j * imaginary) * np.sqrt(2 * np.pi * SMEAR[0] * SMEAR[1]), np.complex64)


def picture(size: int, grey: Field) -> NDArray[np.uint8]:
    """The fan on black."""
    from scipy.ndimage import gaussian_filter, map_coordinates

    fine = max(0.0, 0.5 * DEPTHS / size - 0.8)
    rows, columns, inside = _scan_lines(size)
    smooth = gaussian_filter(grey, (fine, fine)) if fine else grey
    shown = map_coordinates(smooth, (rows, columns), order=1, mode="nearest")
    pixels = np.zeros((size, size), np.uint8)
    pixels[inside] = np.clip(np.rint(255 * shown), 2, 255).astype(np.uint8)
    return pixels


@cache
def _scan_lines(size: int) -> tuple[Points, Points, NDArray[np.bool_]]:
    """Row and column on the grid of beams of every pixel in the fan, and which pixels are."""
    depth, turn = probe_coordinates(*pixel_grid(size))
    inside = (depth > NEAR) & (depth < FAR) & (np.abs(turn) < OPENING)
    rows = (depth[inside] - NEAR) / (FAR - NEAR) * (DEPTHS - 1)
    return rows, (turn[inside] / OPENING + 1) / 2 * (BEAMS - 1), inside
