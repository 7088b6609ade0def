"""What annotation tools hold, whatever the tool: who read which image, and what they marked on it.

The reader of a tool makes :class:`Reading` objects, :func:`combine_readings` checks that they fit together, and
``manytruths import`` writes them as a study.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError
from ..io.files import suffix_of
from ..shape.grid import Grid
from ..shape.polygons import Rule
from .documents import copy_picture

Status = Literal["done", "empty", "unread", "unfinished"]
Window = tuple[slice, ...]
Mask = NDArray[np.bool_]


class Outline(Protocol):
    """Something drawn: a polygon, an ellipse, a bitmap, a volume."""

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        """A part of a grid of that size, and which pixels of the part are inside."""
        ...


@dataclass(frozen=True, eq=False)
class Mark:
    """One thing that a rater drew."""

    label: str
    """The name of the structure, as the tool has it."""
    outline: Outline
    order: int = 0
    """Larger ones lie on top; of the same, those drawn later."""
    rank: int | None = None
    """How severe the rater found it, 1 for the most."""
    attributes: Mapping[str, str] = field(default_factory=dict)


class NoPicture(FormatError):
    """Images that cannot be made into a picture; what was drawn on them can be used without."""


class Picture(Protocol):
    """The image of a read, which becomes a file of the study; as text, where it comes from."""

    @property
    def suffix(self) -> str:
        """The ending of the file."""
        ...

    def write(self, to: Path) -> None:
        """Make the file, or raise :class:`NoPicture`."""
        ...


@dataclass(frozen=True)
class Stored:
    """A picture as it lies on the disk, or inside an archive."""

    path: Path
    member: str | None = None

    def __str__(self) -> str:
        return str(self.path) if self.member is None else f"{self.path}/{self.member}"

    @property
    def suffix(self) -> str:
        return suffix_of(str(self))

    def write(self, to: Path) -> None:
        copy_picture(self, to)


@dataclass(frozen=True, eq=False)
class Reading:
    """One rater's look at one image."""

    image: str
    """As the tool calls it, perhaps with folders; the name of the case is made of it."""
    rater: str
    grid: Grid
    marks: tuple[Mark, ...] = ()
    session: str = ""
    status: Status = "done"
    based_on: str = ""
    """The rater, or rater/session, from whose marks of the same image this read started."""
    tool: str = ""
    started: str = ""
    """As the tool has it: a date and a time."""
    seconds: float | None = None
    subject: str = ""
    case: str = ""
    """Where it is known; otherwise made of the image's name."""
    picture: Picture | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    """What was drawn that is no area, by kind: so many points, lines, …"""
    source: str = ""
    """The file that it stands in, for messages."""
    automatic: bool = False
    """Whether a program made it, for raters to start from."""

    def structures(self) -> dict[str, Mask]:
        """By name, everything that was marked so: marks of one name are united, and names may overlap."""
        found: dict[str, Mask] = {}
        for mark in self.marks:
            window, inside = mark.outline.pixels(self.grid.shape)
            whole = found.setdefault(mark.label, np.zeros(self.grid.shape, bool))
            whole[window] |= inside
        return found


@dataclass(frozen=True)
class ImportOptions:
    """What the files leave open."""

    rule: Rule = "centre"
    """Which pixels an outline holds; see :func:`manytruths.rasterise_polygon`."""
    widen: float | None = None
    """Pixels across open lines; without it they are no areas."""
    blank: Literal["empty", "unread"] = "empty"
    """What an image without marks means, where the tool does not say whether anybody opened it."""
    rank: str = "rank"
    """The attribute that holds a severity rank."""
    rater_field: str | None = None
    """The field that names the rater, in formats without one of their own."""
    images: Path | None = None
    """Where images lie, for formats that do not say how large an image is that nobody marked."""
