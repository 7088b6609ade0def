"""Five raters of contrast echo, none of them wrong: each draws a whole horseshoe that the image allows.

Where an edge is plain to see they all draw it; where it is not, each follows his habit and his guess.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .echo_heart import Curve, Heart, Wall, wave
from .randomness import generator

FURTHEST = 0.40
"""Share of the wall's thickness beyond which no outline is plausible."""
FURTHEST_END = 0.14
"""The same for where the wall ends, as an angle."""


@dataclass(frozen=True)
class EchoRater:
    """Somebody who draws the muscle; lengths are shares of its thickness."""

    name: str
    inward: float
    """How far into the cavity his endocardium lies where the image leaves it open: with trabeculae, or without (−)."""
    outward: float
    """How far outside his epicardium lies where the image leaves it open."""
    down: float
    """How much further towards the base he goes, as an angle."""
    wander: float
    """How far his outlines stray where nothing can be seen (standard deviation); without it and habits he draws the
    truth."""
    school: str
    like: float
    """The share of his guesses that he has in common with his school, from 0 to 1."""
    habit: str = ""

    def draw(self, seed: int, subject: int, frame: int, heart: Heart, clarity: tuple[Curve, Curve]) -> Wall:
        """His horseshoe: the same for the same heart, clarity and seed."""
        wall, step = heart.wall, heart.step
        inner, outer = (self._guess(seed, subject, frame, side) for side in ("endo", "epi"))
        endo = wall.endo - step * _limited((self.inward + self.wander * inner) * _doubt(clarity[0]))
        epi = wall.epi + step * _limited((self.outward + self.wander * outer) * _doubt(clarity[1]))
        random = generator(seed, self.name, subject, "ends")
        ends = np.clip(self.down + 0.13 * self.wander * random.standard_normal(2), -FURTHEST_END, FURTHEST_END)
        return Wall(endo, epi, wall.septal + float(ends[0]), wall.lateral + float(ends[1]), wall.rounding)

    def _guess(self, seed: int, subject: int, frame: int, side: str) -> Curve:
        """Mostly the same in all frames of a subject, and partly that of his school."""
        own, taught = (
            np.sqrt(0.85) * wave(generator(seed, who, subject, side))
            + np.sqrt(0.15) * wave(generator(seed, who, subject, frame, side))
            for who in (self.name, f"school {self.school}")
        )
        return np.asarray(np.sqrt(1 - self.like) * own + np.sqrt(self.like) * taught)


ECHO_RATERS = (
    EchoRater("c1", 0.05, 0.00, 0.00, 0.36, "north", 0.80, "follows the edge"),
    EchoRater("c2", 0.00, 0.05, 0.02, 0.36, "north", 0.80, "follows the edge"),
    EchoRater("c3", -0.08, 0.06, 0.04, 0.42, "north", 0.28, "leaves out trabeculae"),
    EchoRater("c4", 0.22, -0.08, -0.05, 0.42, "south", 0.10, "takes trabeculae in, draws a tight epicardium"),
    EchoRater("c5", 0.08, 0.20, 0.06, 0.44, "east", 0.10, "draws a generous wall, far down to the base"),
)


def _doubt(clarity: Curve) -> Curve:
    """How much of a habit or a guess shows: nearly nothing where the edge is plain."""
    return np.asarray(0.12 + 0.88 * (1 - np.clip(clarity, 0, 1)))


def _limited(shift: Curve) -> Curve:
    return np.asarray(FURTHEST * np.tanh(shift / FURTHEST))
