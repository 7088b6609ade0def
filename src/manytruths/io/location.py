"""Where one mask or image is: a file, an array inside it, an index on its first axis."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

SUFFIXES = (
    ".png", ".bmp", ".gif", ".jpg", ".jpeg", ".tif", ".tiff", ".npy", ".npz", ".nii", ".nii.gz", ".nrrd",
)  # fmt: skip
"""Endings of the files that can be read."""

_TEXT = re.compile(r"(?P<path>.*?\.npz(?=/)|.*?)(?:(?<=\.npz)/(?P<member>.+?))?(?:\[(?P<index>\d+)\])?", re.DOTALL)


@dataclass(frozen=True)
class Location:
    """A file, or an array of an archive, or one index of its first axis.

    >>> print(Location(Path("masks.npz"), "p01", 2))
    masks.npz/p01[2]
    """

    path: Path
    member: str | None = None
    index: int | None = None
    blank: Literal["", "mask", "image"] = ""
    """Where it stands for an empty mask: what the file is whose size and place that mask has."""

    def __str__(self) -> str:
        member = "" if self.member is None else f"/{self.member}"
        index = "" if self.index is None else f"[{self.index}]"
        return f"{'an empty mask of the size of ' if self.blank else ''}{self.path}{member}{index}"

    @classmethod
    def of(cls, place: Location | Path | str) -> Location:
        """A location from what a user would write; a file of just that name comes first."""
        if isinstance(place, Location):
            return place
        found = _TEXT.fullmatch(str(place))
        if found is None or os.path.isfile(place):
            return cls(Path(place))
        index = found["index"]
        return cls(Path(found["path"]), found["member"], None if index is None else int(index))


def suffix_of(name: str) -> str:
    """The ending that says how a file is read; ``.nii.gz`` is one."""
    lower = name.lower()
    return ".nii.gz" if lower.endswith(".nii.gz") else Path(lower).suffix
