"""Which files an import reads: paths, ``RATER=PATH``, folders, or templates with ``{rater}``; and their images."""

from __future__ import annotations

import math
import os
import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import NOT_TEXT, CallError, FormatError, InputError, find_name_fault, one_line
from ..io import Template, documents
from ..io.documents import PIECE, Bounded, check_compression, error_context
from ..io.files import check_regular_file
from ..io.results import SUMMARY
from ..shape.grid import Grid
from ..shape.polygons import LARGEST

if TYPE_CHECKING:
    from .readings import Stored

LARGEST_SIDE = 1 << 16
LARGEST_IMAGE = 1 << 28
"""Pixels of an image that outlines are drawn on; on larger ones they are kept, where the tool draws polygons."""


def copy_picture(stored: Stored, to: Path) -> None:
    """The bytes of a picture, from the disk or out of an archive."""
    with error_context(stored):
        if stored.member is None:
            with open(stored.path, "rb") as stream, open(to, "wb") as target:
                shutil.copyfileobj(stream, target, PIECE)
            return
        with zipfile.ZipFile(stored.path) as archive, archive.open(stored.member) as packed, open(to, "wb") as target:
            check_compression(archive.getinfo(stored.member))
            shutil.copyfileobj(Bounded(packed, documents.LARGEST_XML), target, PIECE)


def is_drawable(shape: Sequence[int]) -> bool:
    """Whether outlines are drawn on an image of that size."""
    return max(shape) <= LARGEST_SIDE and math.prod(shape) <= LARGEST_IMAGE


def image_grid(width: Any, height: Any, *, drawn: bool = True) -> Grid:
    """The grid of an image of that size, as a file has it; sizes that lie are refused before anything is drawn.

    Where outlines may be kept instead of being ``drawn``, the image can be far larger.
    """
    try:
        sides = [int(float(side)) for side in (height, width)]
        if [float(side) for side in (height, width)] != sides:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"the size of the image is {width!r} × {height!r}; export it again with sizes") from None
    most = LARGEST_SIDE if drawn else int(LARGEST)
    if not all(1 <= side <= most for side in sides) or (drawn and not is_drawable(sides)):
        raise InputError(
            f"the size of the image is {sides[1]} × {sides[0]}, so it cannot be imported: "
            f"a side may have 1 to {most} pixels"
        )
    return Grid((sides[0], sides[1]))


ALIKE = re.compile(r"_?annotations(\.coco)?|results?|instances_\w+|export|default|train|valid?|test", re.IGNORECASE)
"""What exports, and the folders in them, are called whoever they are of."""
CVAT = re.compile(
    r"(?:task|project|job)_(?P<own>.+?)_(?:annotations|dataset|backup(?:-lightweight)?)"
    r"_\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d(?:_.*|\.zip)"
)
"""As CVAT calls what it exports."""


@dataclass(frozen=True)
class Source:
    """A file, and what its place says of it."""

    path: Path
    fields: Mapping[str, str] = field(default_factory=dict)
    """``rater``, ``case``, ``session``, ``subject``: as far as they were given."""

    def rater(self, otherwise: str = "") -> str:
        """Whose it is: as given, else as the file says, else as it is called."""
        return self.fields.get("rater") or otherwise or rater_from_path(self.path)


def rater_from_path(path: Path) -> str:
    """What a file is called, or its folder where every export is called the same.

    >>> rater_from_path(Path("exports/anna/annotations.xml"))
    'anna'
    >>> rater_from_path(Path("task_lesions anna_annotations_2025_07_31_09_54_02_cvat for images 1.1.zip"))
    'lesions anna'
    """
    usual = CVAT.fullmatch(path.name)
    names = [usual["own"] if usual else path.name.split(".")[0] or path.stem]
    names += [parent.name for parent in path.resolve().parents if parent.name]
    return next((name for name in names if not ALIKE.fullmatch(name)), names[0])


def find_sources(paths: Sequence[Path | str] | Path | str, endings: Iterable[str]) -> list[Source]:
    """Every file that the paths stand for; of folders, those that end so."""
    paths = [paths] if isinstance(paths, Path | str) else paths
    if not paths:
        raise CallError("no files given; name the files to read")
    sources = [source for path in paths for source in _expand_path(str(path), tuple(endings))]
    for source in sources:
        if find_name_fault(str(source.path)) == NOT_TEXT:
            raise FormatError(one_line(f"{source.path}: its name {NOT_TEXT}; rename it"))
        check_regular_file(source.path)
    for path, often in Counter(source.path for source in sources).items():
        if often > 1:
            raise CallError(f"{path}: is named twice; name every file once")
    return sources


def _expand_path(text: str, endings: tuple[str, ...]) -> list[Source]:
    path, owner = Path(text), {}
    if not path.exists() and "=" in text:
        name, _, rest = text.partition("=")
        path, owner = Path(rest), {"rater": name}
    if not path.exists() and "{" in str(path):
        return [Source(match.location.path, {**owner, **match.fields}) for match in Template(str(path)).find()]
    if path.is_dir():
        return [Source(match, owner) for match in _list_folder(path, endings)]
    if not path.exists():
        raise FormatError(f"{text}: there is no such file; correct the path")
    return [Source(path, owner)]


def _refuse_unlisted(error: OSError) -> None:
    """Refuse folders that cannot be listed, instead of silently skipping their files."""
    raise FormatError(f"{error.filename}: cannot be listed: {error.strerror}; check its rights") from None


def _list_folder(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    # an export of ours has a summary beside what the tool opens
    named = (
        Path(home, name)
        for home, _, names in os.walk(folder, onerror=_refuse_unlisted)
        for name in names
        if name.lower().endswith(endings) and name != SUMMARY
    )
    files = sorted(path for path in named if path.is_file())
    if not files:
        raise FormatError(f"{folder}: holds no file that ends in {' or '.join(endings)}; correct the path")
    return files
