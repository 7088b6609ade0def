"""What annotation tools hold, whatever the tool: who read which image, and what they marked on it.

The reader of a tool makes :class:`Reading` objects, :func:`combine_readings` checks that they fit together, and
``manytruths import`` writes them as a study.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError, InputError
from ..io.files import suffix_of
from ..shape.grid import Grid
from ..shape.polygons import Rule
from .documents import copy_picture

Status = Literal["done", "empty", "unread", "unfinished"]
Window = tuple[slice, ...]
Mask = NDArray[np.bool_]
SegmentKey = tuple[str, int | None]
"""The name of a structure, and a rank."""
K = TypeVar("K", bound=Hashable)


class Outline(Protocol):
    """What a rater drew: a polygon, an ellipse, a bitmap, voxels of a file."""

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        """Find the pixels that it holds on a grid.

        Parameters
        ----------
        shape : tuple of int
            Size of the grid.

        Returns
        -------
        window : tuple of slice
            A part of the grid.
        inside : ndarray of bool
            Which pixels of that part are inside.
        """
        ...


@dataclass(frozen=True, eq=False)
class Mark:
    """One thing that a rater drew.

    Attributes
    ----------
    label : str
        The name of the structure in the tool.
    outline : Outline
        The shape.
    order : int
        Marks with larger numbers lie on top; of equal ones, those drawn later.
    rank : int, optional
        Severity rank, 1 for the most severe.
    attributes : mapping of str to str
        Whatever else the tool holds about it.
    """

    label: str
    outline: Outline
    order: int = 0
    rank: int | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)


class NoPicture(FormatError):
    """The image cannot be read; what was drawn on it can be used without."""


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
    """A picture on the disk, or inside an archive."""

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
    """What one rater marked on one image.

    Attributes
    ----------
    image : str
        Name of the image in the tool, perhaps with folders; the case is named after it.
    rater : str
        Who read it.
    grid : Grid
        Size and geometry of the image.
    marks : tuple of Mark
        What they drew.
    session : str
        Which of several readings by the same rater.
    status : {"done", "empty", "unread", "unfinished"}
        ``empty`` was read, and nothing was found.
    based_on : str
        The rater, or rater/session, from whose marks of the same image this reading started.
    tool : str
        The annotation tool.
    started : str
        Date and time, as the tool writes it.
    seconds : float, optional
        How long it took.
    subject, case : str
        Patient and case, where they are known; otherwise the case is named after the image.
    picture : Picture, optional
        The image itself.
    left_out : mapping of str to int
        Number of shapes that are not areas, by kind.
    source : str
        The file that it comes from, for messages.
    automatic : bool
        Whether a program made it, for raters to start from.
    """

    image: str
    rater: str
    grid: Grid
    marks: tuple[Mark, ...] = ()
    session: str = ""
    status: Status = "done"
    based_on: str = ""
    tool: str = ""
    started: str = ""
    seconds: float | None = None
    subject: str = ""
    case: str = ""
    picture: Picture | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    source: str = ""
    automatic: bool = False

    def structures(self) -> dict[str, Mask]:
        """Draw the marks: one mask for each structure, the union of its marks. Structures may overlap.

        Returns
        -------
        dict of str to ndarray of bool
            By the name of the structure, on the whole grid.
        """
        return self._unite(lambda mark: mark.label)

    def segments(self) -> dict[SegmentKey, Mask]:
        """Draw the marks: one mask for each structure and rank.

        Returns
        -------
        dict of (str, int or None) to ndarray of bool
            By the name of the structure and its rank, on the whole grid.
        """
        return self._unite(lambda mark: (mark.label, mark.rank))

    def _unite(self, key: Callable[[Mark], K]) -> dict[K, Mask]:
        masks: dict[K, Mask] = {}
        for mark in self.marks:
            window, inside = mark.outline.pixels(self.grid.shape)
            whole = masks.setdefault(key(mark), np.zeros(self.grid.shape, bool))
            whole[window] |= inside
        return masks


@dataclass(frozen=True)
class ImportOptions:
    """What the files leave open.

    Attributes
    ----------
    rule : {"centre", "inclusive", "coco"}
        Which pixels an outline holds; see :func:`manytruths.rasterise_polygon`.
    widen : float, optional
        Width in pixels of open lines; without it, they are not areas.
    blank : {"empty", "unread"}
        What an image without marks is, where the tool does not say whether anybody opened it.
    rank : str
        The attribute that holds the severity rank.
    rater_field : str, optional
        The field that names the rater, in formats without one of their own.
    images : Path, optional
        Folder of the images, for formats that do not hold the size of an image without marks.
    """

    rule: Rule = "centre"
    widen: float | None = None
    blank: Literal["empty", "unread"] = "empty"
    rank: str = "rank"
    rater_field: str | None = None
    images: Path | None = None


def parse_rank(text: str, name: str) -> int:
    """Read the severity rank of an attribute."""
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise InputError(
            f"its {name!r} is {text[:40]!r}; a rank is a whole number from 1 on: correct it in the tool, or say which "
            "attribute holds ranks with --rank-attribute"
        )
    return int(text)
