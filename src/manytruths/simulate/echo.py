"""Sequences of contrast echo with a known truth, marked by five raters who differ where the image is poor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from .echo_heart import heart
from .echo_raters import ECHO_RATERS, EchoRater
from .echo_sector import picture, pixel_grid
from .echo_view import QUALITIES, view
from .phantoms import Mask
from .randomness import Field, generator

SMALLEST = 64
"""Pixels; below that the wall is thinner than what raters differ by."""
LARGEST = 4096
MOST_FRAMES = 1_000_000


@dataclass(frozen=True, eq=False)
class EchoFrame:
    """One image, the truth about it, and who drew what."""

    name: str
    subject: str
    quality: str
    """How good the subject is to scan: ``good``, ``fair`` or ``poor``."""
    image: NDArray[np.uint8]
    truth: Mask
    """The muscle of the left ventricle."""
    markings: Mapping[str, Mask]
    """By rater."""
    clarity: Field
    """From 0 (an edge at this place could not be seen) to 1 (it is plain to see)."""

    def __repr__(self) -> str:
        return f"EchoFrame({self.name!r}, quality={self.quality!r}, size={self.image.shape[0]})"


@dataclass(frozen=True)
class EchoStudy:
    """Frames made on demand, one at a time; each can be made without the others."""

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
        return self._frame(self._named(which) if isinstance(which, str) else self._counted(which))

    @property
    def names(self) -> tuple[str, ...]:
        """``s001-f01``, ``s001-f02``, …"""
        return tuple(self._name(index) for index in range(len(self)))

    def subject(self, index: int) -> str:
        """The subject of a frame."""
        return f"s{index // self.frames + 1:03d}"

    def quality(self, index: int) -> str:
        """How good the subject of a frame is to scan; the subjects are good, fair and poor in turn."""
        return tuple(QUALITIES)[index // self.frames % len(QUALITIES)]

    def _name(self, index: int) -> str:
        return f"{self.subject(index)}-f{index % self.frames + 1:02d}"

    def _named(self, name: str) -> int:
        names = self.names
        if name not in names:
            raise CallError(f"no frame {name!r}; there are {names[0]} to {names[-1]}")
        return names.index(name)

    def _counted(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            # what tells Python that a sequence ends
            raise IndexError(f"no frame {index}; there are {len(self)}")
        return index % len(self)

    def _frame(self, index: int) -> EchoFrame:
        subject, frame = divmod(index, self.frames)
        quality = self.quality(index)
        poor = float(generator(self.seed, "quality", subject).uniform(*QUALITIES[quality]))
        beating = heart(self.seed, subject, frame)
        seen = view(self.seed, subject, frame, beating, poor)
        angle, radius = beating.pose.polar(*pixel_grid(self.size))
        along = seen.clarity_along()
        walls = {r.name: r.draw(self.seed, subject, frame, beating, along) for r in self.raters}
        return EchoFrame(
            self._name(index),
            self.subject(index),
            quality,
            picture(self.size, seen.image_of_beams(generator(self.seed, "speckle", subject, frame))),
            beating.wall.covers(angle, radius),
            {name: wall.covers(angle, radius) for name, wall in walls.items()},
            seen.clarity(self.size),
        )


def simulate_echo(subjects: int = 100, frames: int = 10, size: int = 256, seed: int = 0) -> EchoStudy:
    """Sequences like a contrast echo of the left ventricle: muscle in speckle, marked by five raters.

    The muscle is a horseshoe. It thickens and thins as the heart beats and brightens as contrast arrives; shadows,
    clutter and papillary muscles mislead. Where the edge is plain all raters draw it; elsewhere they differ, and
    none of them is wrong. A frame is the same however many there are, and shows the same heart at every size.

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
