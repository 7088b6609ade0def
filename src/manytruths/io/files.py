"""Where a mask or image lies, and what all readers share: checks before decoding, one kind of error after it."""

from __future__ import annotations

import importlib
import logging
import math
import os
import re
import stat
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any, Literal, NoReturn, Protocol

from numpy.typing import NDArray

from ..core.errors import FormatError, GridError, ManytruthsError
from ..shape.grid import MAX_ITEMS, Grid

SUFFIXES = (
    ".png", ".bmp", ".gif", ".jpg", ".jpeg", ".tif", ".tiff", ".npy", ".npz", ".nii", ".nii.gz", ".nrrd",
    ".mha", ".mhd", ".zarr",
)  # fmt: skip
"""Endings of the files that can be read."""
SLIDES = (".svs", ".ndpi", ".mrxs", ".scn", ".vms", ".vmu", ".bif", ".svslide")
"""Endings of slides of scanners, which are images and no masks."""
DICOM = ".dcm"
"""The ending of DICOM slides; one may be a folder of such files."""
OUTLINES = (".geojson", ".xml")
"""Endings of files of outlines, which are masks once it is known how large their image is."""

LARGE = 2**28
"""Pixels from which on a case is not looked at as a whole, but by tile, and its masks stay on disk where they can."""

Use = Literal["mask", "picture", "probability"]
"""What a file is read for: labels as stored; an image to look at; or numbers such as probabilities, as stored."""

_LOCATION = re.compile(
    r"(?P<path>.*?\.(?:npz|zarr)(?=/)|.*?)(?:(?:(?<=\.npz)|(?<=\.zarr))/(?P<member>.+?))?(?:\[(?P<index>\d+)\])?",
    re.DOTALL,
)
_STREAMS = re.compile(r"/dev/(stdin|fd/\d+)|/proc/(self|\d+)/fd/\d+")
"""What a shell passes in place of a file; it can be read once at most, and by one process only."""
_SPECIAL_FILES = (
    (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"),
)  # fmt: skip


@dataclass(frozen=True)
class Canvas:
    """What files of outlines do not say: the image they were drawn on, or its height and width, and what classes are.

    Without ``labels``, pairs of a class and its value, everything that is drawn is 1.
    """

    image: Location | None = None
    size: tuple[int, int] | None = None
    labels: tuple[tuple[str, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class Location:
    """A file, or an array of an archive, or one index of its first axis.

    >>> print(Location(Path("masks.npz"), "p01", 2))
    masks.npz/p01[2]
    """

    path: Path
    member: str | None = None
    index: int | None = None
    blank: Literal["", "mask", "image"] = ""
    """Where it stands for an empty mask: the kind of file whose size and position that mask has."""
    canvas: Canvas | None = None
    """What a file of outlines does not say."""

    def __str__(self) -> str:
        member = "" if self.member is None else f"/{self.member}"
        index = "" if self.index is None else f"[{self.index}]"
        return f"{'an empty mask of the size of ' if self.blank else ''}{self.path}{member}{index}"

    @classmethod
    def of(cls, place: Location | Path | str) -> Location:
        """A location from what a user would write; a file of exactly that name comes first."""
        if isinstance(place, Location):
            return place
        match = _LOCATION.fullmatch(str(place))
        if match is None or os.path.isfile(place):
            return cls(Path(place))
        index = match["index"]
        return cls(Path(match["path"]), match["member"], None if index is None else int(index))


@lru_cache(maxsize=256)  # asked several times of each file
def suffix_of(name: str) -> str:
    """The ending that says how a file is read; ``.nii.gz`` is one."""
    lower = name.lower()
    return ".nii.gz" if lower.endswith(".nii.gz") else Path(lower).suffix


@dataclass(frozen=True, eq=False)
class Content:
    """What a file holds: ``array`` has the axes of ``grid`` and, for colour images, one more."""

    array: NDArray[Any]
    grid: Grid
    format: str
    colour: str = ""


class Reader(Protocol):
    """A module that reads one family of formats."""

    def probe(self, location: Location) -> Grid: ...

    def read(self, location: Location, use: Use) -> Content: ...


# -- checks ------------------------------------------------------------------------------------------


def check_file(location: Location) -> None:
    """Refuse a path that is not a regular, non-empty file with a known suffix, or a folder ending in ``.zarr``."""
    path = location.path
    if suffix_of(path.name) == ".zarr" and os.path.exists(path):
        if not os.path.isdir(path):
            raise FormatError(f"{location}: is a file, but a Zarr store is a folder; unpack it")
        return
    if location.member is None and is_dicom_folder(path):
        return
    size = check_regular_file(path, str(location))
    if suffix_of(path.name) not in (*SUFFIXES, *OUTLINES, *SLIDES, DICOM):
        known = " ".join((*SUFFIXES, *OUTLINES))
        raise FormatError(f"{location}: files ending in {path.suffix!r} cannot be read; save it as one of {known}")
    if size == 0:
        raise FormatError(f"{location}: is empty (0 bytes); export it again")


def is_dicom_folder(path: Path) -> bool:
    """Whether a path is a folder of DICOM files, as slides have it."""
    if suffix_of(path.name) in SUFFIXES or not os.path.isdir(path):
        return False
    with os.scandir(path) as entries:
        return any(suffix_of(entry.name) == DICOM for entry in entries)


def check_regular_file(path: Path | str, name: str = "", most: int | None = None) -> int:
    """The size of a regular file, links followed; anything else is refused without opening it, which may hang.

    ``most`` is the largest size in bytes that is accepted.
    """
    name = name or str(path)
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise FormatError(f"{name}: there is no such file; correct the path") from None
    except OSError as error:
        raise FormatError(f"{name}: cannot be opened: {error.strerror}; check the path and its rights") from None
    except ValueError:
        raise FormatError(f"{name}: is not a valid file name; correct the path") from None
    if stat.S_ISDIR(status.st_mode):
        raise FormatError(f"{name}: is a folder, not a file; name the file inside it")
    if not stat.S_ISREG(status.st_mode) or _STREAMS.fullmatch(str(path)):
        what = next((what for is_one, what in _SPECIAL_FILES if is_one(status.st_mode)), "a stream")
        raise FormatError(f"{name}: is not a regular file but {what}; copy its content into one")
    if most is not None and status.st_size > most:
        raise FormatError(
            f"{name}: has {status.st_size / 1e6:,.1f} MB, more than the {most / 1e6:,.1f} MB that are read; split it, "
            "or check that it is the right file"
        )
    return status.st_size


def check_shape(location: Location, shape: Sequence[int]) -> tuple[int, ...]:
    """Refuse a size that is empty or too large before anything is allocated."""
    shape = tuple(int(n) for n in shape)
    text = "×".join(map(str, shape)) or "a single number"
    if not shape or min(shape) < 1:
        raise FormatError(f"{location}: its size is {text}, but at least 1 is needed along every axis; export it again")
    if math.prod(shape) > MAX_ITEMS:
        raise FormatError(f"{location}: its size is {text}, more than {MAX_ITEMS} items; split it into tiles")
    return shape


def check_bytes(location: Location, wanted: int) -> None:
    """Refuse a file that is shorter than its header says."""
    size = location.path.stat().st_size
    if size < wanted:
        raise_damaged(location, f"{size} bytes where its header says {wanted}")


def make_grid(location: Location, shape: Sequence[int], spacing: Any = None, affine: Any = None) -> Grid:
    """A grid; an error about it starts with the file's name."""
    try:
        return Grid(tuple(shape), spacing, affine)
    except GridError as error:
        raise GridError(f"{location}: {error}") from error


@contextmanager
def open_data_file(location: Location, name: str) -> Iterator[IO[bytes]]:
    """Open a file that a header names; it must lie in the folder of the header, or below."""
    inside = PurePosixPath(name.replace("\\", "/"))
    if inside.is_absolute() or ".." in inside.parts or PureWindowsPath(name).drive:
        raise FormatError(f"{location}: its data file {name!r} is outside of its folder; put both into one folder")
    path = location.path.parent / name
    check_regular_file(path, f"{location}: its data file {path}")
    with open(path, "rb") as stream:
        yield stream


def first_bytes(path: Path) -> bytes:
    """The first 12 bytes of a file."""
    with open(path, "rb") as stream:
        return stream.read(12)


# -- errors ------------------------------------------------------------------------------------------


@contextmanager
def format_errors(location: Location) -> Iterator[None]:
    """Turn whatever a library raises on bad bytes into a FormatError; its warnings are dropped."""
    try:
        with quiet:
            yield
    except ManytruthsError:
        raise
    except (PermissionError, FileNotFoundError) as error:
        raise FormatError(f"{location}: cannot be opened: {error.strerror}; check the path and its rights") from error
    except MemoryError as error:
        raise FormatError(f"{location}: does not fit into memory; crop it or split it into tiles") from error
    except Exception as error:
        raise_damaged(location, str(error), error)


def raise_damaged(location: Location, reason: str, cause: Exception | None = None) -> NoReturn:
    """Raise the error of a file that ends early or has invalid content."""
    short = " ".join(reason.split())[:160] or type(cause).__name__
    raise FormatError(f"{location}: is damaged or cut short ({short}); export or copy it again") from cause


def import_extra(module: str, extra: str, location: Location | os.PathLike[str]) -> Any:
    """Import an optional library; where it is not installed, the error names the extra that it comes with."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise FormatError(f'{location}: needs {module}; install it with pip install "manytruths[{extra}]"') from error


# -- messages of libraries ---------------------------------------------------------------------------


class Shared:
    """A context that changes something global: the first thread enters it, the last one leaves it."""

    def __init__(self, make: Callable[[], AbstractContextManager[None]]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._inside = 0
        self._context: AbstractContextManager[None] | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._context = self._make()
                self._context.__enter__()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._context is not None:
                self._context.__exit__(None, None, None)


@contextmanager
def _ignore_warnings() -> Iterator[None]:
    # a logger without handlers prints its warnings to stderr
    for name in ("PIL", "tifffile"):
        if not logging.getLogger(name).handlers:
            logging.getLogger(name).addHandler(logging.NullHandler())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _mute_stderr() -> Iterator[None]:
    """Send standard error to nowhere: libtiff prints its remarks on a file there."""
    # only in the command's own process: elsewhere other threads may write to it
    if "manytruths.cli" not in sys.modules:
        yield
        return
    sys.stderr.flush()
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)


quiet = Shared(_ignore_warnings)
"""Drops the warnings of the libraries that decode files."""
muted_stderr = Shared(_mute_stderr)
"""Drops what such a library prints to standard error."""
