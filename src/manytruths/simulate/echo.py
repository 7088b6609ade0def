"""Sequences of contrast echo with a known truth, marked by five raters who differ where the image is poor.

None of the raters is wrong: each draws a whole horseshoe that the image allows. Where an edge is plain to see they all
draw it; where it is not, each follows their habit and their guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from .echo_image import QUALITIES, Curve, Heart, Wall, heart, picture, pixel_grid, view, wave
from .phantoms import Field, Mask, generator

SMALLEST = 64
"""Pixels along a side; in smaller images the wall is thinner than the differences between raters."""
LARGEST = 4096
MOST_FRAMES = 1_000_000
FURTHEST = 0.40
"""Largest plausible shift of an outline, as a share of the wall's thickness."""
FURTHEST_END = 0.14
"""Largest plausible shift of the ends of the wall, as an angle."""


# -- raters -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EchoRater:
    """A simulated rater who draws the muscle; lengths are shares of its thickness.

    Parameters
    ----------
    name : str
        Name of the rater.
    inward, outward : float
        How far into the cavity the endocardium lies, and how far outside the epicardium, where the image leaves it
        open.
    down : float
        How much further towards the base the wall goes, as an angle.
    wander : float
        Standard deviation of the outlines where nothing can be seen.
    school : str
        Raters of one school share a part of their guesses.
    like : float
        The share of guesses in common with the school, from 0 to 1.
    habit : str
        The habit in words.
    """

    name: str
    inward: float
    """How far into the cavity the endocardium lies where the image leaves it open: with trabeculae, or without (−)."""
    outward: float
    """How far outside the epicardium lies where the image leaves it open."""
    down: float
    """How much further towards the base the wall goes, as an angle."""
    wander: float
    """How far outlines stray where nothing can be seen (standard deviation); without it and habits they are true."""
    school: str
    like: float
    """The share of guesses in common with the school, from 0 to 1."""
    habit: str = ""

    def draw(self, seed: int, subject: int, frame: int, heart: Heart, clarity: tuple[Curve, Curve]) -> Wall:
        """The rater's horseshoe: the same for the same heart, clarity and seed."""
        wall, step = heart.wall, heart.step
        inner, outer = (self._guess(seed, subject, frame, side) for side in ("endo", "epi"))
        endo = wall.endo - step * _limited((self.inward + self.wander * inner) * _doubt(clarity[0]))
        epi = wall.epi + step * _limited((self.outward + self.wander * outer) * _doubt(clarity[1]))
        random = generator(seed, self.name, subject, "ends")
        ends = np.clip(self.down + 0.13 * self.wander * random.standard_normal(2), -FURTHEST_END, FURTHEST_END)
        return Wall(endo, epi, wall.septal + float(ends[0]), wall.lateral + float(ends[1]), wall.rounding)

    def _guess(self, seed: int, subject: int, frame: int, side: str) -> Curve:
        """Mostly the same in all frames of a subject, and partly that of the school."""
        personal, taught = (
            np.sqrt(0.85) * wave(generator(seed, who, subject, side))
            + np.sqrt(0.15) * wave(generator(seed, who, subject, frame, side))
            for who in (self.name, f"school {self.school}")
        )
        return np.asarray(np.sqrt(1 - self.like) * personal + np.sqrt(self.like) * taught)


ECHO_RATERS = (
    EchoRater("c1", 0.05, 0.00, 0.00, 0.36, "north", 0.80, "follows the edge"),
    EchoRater("c2", 0.00, 0.05, 0.02, 0.36, "north", 0.80, "follows the edge"),
    EchoRater("c3", -0.08, 0.06, 0.04, 0.42, "north", 0.28, "leaves out trabeculae"),
    EchoRater("c4", 0.22, -0.08, -0.05, 0.42, "south", 0.10, "takes trabeculae in, draws a tight epicardium"),
    EchoRater("c5", 0.08, 0.20, 0.06, 0.44, "east", 0.10, "draws a generous wall, far down to the base"),
)


def _doubt(clarity: Curve) -> Curve:
    """How much of a habit or a guess shows: nearly nothing where the edge is clear."""
    return np.asarray(0.12 + 0.88 * (1 - np.clip(clarity, 0, 1)))


def _limited(shift: Curve) -> Curve:
    return np.asarray(FURTHEST * np.tanh(shift / FURTHEST))


# -- studies ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class EchoFrame:
    """One simulated image, its true mask, and the masks of the raters.

    Returned by :class:`EchoStudy`; see :func:`simulate_echo`.
    """

    name: str
    """Name of the frame: ``s001-f01``."""
    subject: str
    """The subject whose heart it shows."""
    quality: str
    """How well the subject can be scanned: ``good``, ``fair`` or ``poor``."""
    image: NDArray[np.uint8]
    """Grey levels, (size, size)."""
    truth: Mask
    """The muscle of the left ventricle."""
    markings: Mapping[str, Mask]
    """By rater."""
    clarity: Field
    """From 0 (an edge at this place cannot be seen) to 1 (it is clear)."""

    def __repr__(self) -> str:
        return f"EchoFrame({self.name!r}, quality={self.quality!r}, size={self.image.shape[0]})"


@dataclass(frozen=True)
class EchoStudy:
    """Simulated frames, made on demand, one at a time; see :func:`simulate_echo`.

    ``study[0]`` and ``study["s001-f01"]`` are frames, and iterating yields all of them. Each frame can be made without
    the others.

    Parameters
    ----------
    subjects, frames : int
        Number of subjects, and of frames of each.
    size : int
        Pixels along each side of an image.
    seed : int
        Seed of the simulation.
    raters : tuple of EchoRater
        The raters; by default five.
    """

    subjects: int
    frames: int
    size: int
    seed: int
    raters: tuple[EchoRater, ...] = ECHO_RATERS

    def __len__(self) -> int:
        return self.subjects * self.frames

    def __iter__(self) -> Iterator[EchoFrame]:
        return (self._frame(index) for index in range(len(self)))

    def __getitem__(self, which: int | str) -> EchoFrame:
        return self._frame(self._index_of(which) if isinstance(which, str) else self._check_index(which))

    @property
    def names(self) -> tuple[str, ...]:
        """``s001-f01``, ``s001-f02``, …"""
        return tuple(self._name(index) for index in range(len(self)))

    def subject(self, index: int) -> str:
        """The subject of a frame."""
        return f"s{index // self.frames + 1:03d}"

    def quality(self, index: int) -> str:
        """How well the subject of a frame can be scanned; subjects are good, fair and poor in turn."""
        return tuple(QUALITIES)[index // self.frames % len(QUALITIES)]

    def _name(self, index: int) -> str:
        return f"{self.subject(index)}-f{index % self.frames + 1:02d}"

    def _index_of(self, name: str) -> int:
        names = self.names
        if name not in names:
            raise CallError(f"no frame {name!r}; there are {names[0]} to {names[-1]}")
        return names.index(name)

    def _check_index(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            # IndexError tells Python that a sequence ends
            raise IndexError(f"no frame {index}; there are {len(self)}")
        return index % len(self)

    def _frame(self, index: int) -> EchoFrame:
        subject, frame = divmod(index, self.frames)
        quality = self.quality(index)
        poor = float(generator(self.seed, "quality", subject).uniform(*QUALITIES[quality]))
        beating = heart(self.seed, subject, frame)
        shown = view(self.seed, subject, frame, beating, poor)
        angle, radius = beating.pose.polar(*pixel_grid(self.size))
        along = shown.clarity_along()
        walls = {r.name: r.draw(self.seed, subject, frame, beating, along) for r in self.raters}
        return EchoFrame(
            self._name(index),
            self.subject(index),
            quality,
            picture(self.size, shown.image_of_beams(generator(self.seed, "speckle", subject, frame))),
            beating.wall.covers(angle, radius),
            {name: wall.covers(angle, radius) for name, wall in walls.items()},
            shown.clarity(self.size),
        )


def simulate_echo(subjects: int = 100, frames: int = 10, size: int = 256, seed: int = 0) -> EchoStudy:
    """Simulate sequences like a contrast echo of the left ventricle, marked by five raters.

    The muscle is a horseshoe in speckle. It thickens and thins as the heart beats and brightens as contrast arrives;
    shadows, clutter and papillary muscles mislead. Where the edge is clear all raters draw it; elsewhere they differ,
    and none of them is wrong. A frame does not depend on the number of frames, and shows the same heart at every size.

    Parameters
    ----------
    subjects : int
        Number of sequences.
    frames : int
        Images of each sequence.
    size : int
        Pixels along each side of an image, 64 or more.
    seed : int
        Seed of the simulation; another seed gives another study.

    Returns
    -------
    EchoStudy
        The frames, made on demand.

    Examples
    --------
    >>> study = simulate_echo(subjects=3, frames=2, size=64)
    >>> study["s002-f01"]
    EchoFrame('s002-f01', quality='fair', size=64)
    >>> list(study[0].markings)
    ['c1', 'c2', 'c3', 'c4', 'c5']
    """
    for name, value, least in (("subjects", subjects, 1), ("frames", frames, 1), ("size", size, SMALLEST)):
        if value < least:
            raise CallError(f"{name} is {value}; it must be {least} or more")
    for name, value, most in (("size", size, LARGEST), ("subjects × frames", subjects * frames, MOST_FRAMES)):
        if value > most:
            raise CallError(f"{name} is {value:,}; it must be {most:,} or less")
    if seed < 0:
        raise CallError(f"seed is {seed}; it must be 0 or more")
    return EchoStudy(subjects, frames, size, seed)
