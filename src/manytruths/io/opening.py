"""What every family of files shares: checks before decoding, and one kind of error after it."""

from __future__ import annotations

import importlib
import math
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, Protocol

from numpy.typing import NDArray

from ..core.errors import FormatError, GridError, ManytruthsError
from ..shape.grid import MAX_ITEMS, Grid
from .location import SUFFIXES, Location, suffix_of
from .quiet import quiet

Use = Literal["mask", "picture", "response"]
"""What is read: labels as they are stored; something to look at; or numbers between no and yes, stored as they are."""

_STREAMS = re.compile(r"/dev/(stdin|fd/\d+)|/proc/(self|\d+)/fd/\d+")
"""What a shell puts in the place of a file; it can be read once at most, and by no second process."""
_OTHERS = (
    (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Content:
    """What a file holds: ``array`` has the axes of ``grid`` and, for colour pictures, one more."""

    array: NDArray[Any]
    grid: Grid
    format: str
    colour: str = ""


class Reader(Protocol):
    """A module that reads one family of files."""

    def probe(self, location: Location) -> Grid: ...

    def read(self, location: Location, use: Use) -> Content: ...


def check_file(location: Location) -> None:
    """Refuse what is no file with something in it and a suffix that is known."""
    path = location.path
    size = check_regular_file(path, str(location))
    if suffix_of(path.name) not in SUFFIXES:
        known = " ".join(SUFFIXES)
        raise FormatError(f"{location}: files ending in {path.suffix!r} cannot be read; save it as one of {known}")
    if size == 0:
        raise FormatError(f"{location}: is empty (0 bytes); export it again")


def check_regular_file(path: Path | str, name: str = "", most: int | None = None) -> int:
    """The size of a file, links followed; whatever else is there is refused without being opened, which may hang.

    ``most`` is how many bytes are read at all.
    """
    name = name or str(path)
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise FormatError(f"{name}: there is no such file; correct the path") from None
    except OSError as error:
        raise FormatError(f"{name}: cannot be opened: {error.strerror}; check the path and its rights") from None
    except ValueError:
        raise FormatError(f"{name}: is no name of a file; correct the path") from None
    if stat.S_ISDIR(found.st_mode):
        raise FormatError(f"{name}: is a folder, not a file; name the file inside it")
    if not stat.S_ISREG(found.st_mode) or _STREAMS.fullmatch(str(path)):
        what = next((what for is_one, what in _OTHERS if is_one(found.st_mode)), "a stream")
        raise FormatError(f"{name}: is no regular file but {what}; copy its content into one")
    if most is not None and found.st_size > most:
        raise FormatError(
            f"{name}: has {found.st_size / 1e6:,.1f} MB, more than the {most / 1e6:,.1f} MB that are read; split it, "
            "or check that it is the right file"
        )
    return found.st_size


@contextmanager
def format_errors(location: Location) -> Iterator[None]:
    """Whatever a library raises on bad bytes becomes a FormatError; its warnings are dropped."""
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
    """Raise the error of a file that ends early or holds nonsense."""
    short = " ".join(reason.split())[:160] or type(cause).__name__
    raise FormatError(f"{location}: is damaged or cut short ({short}); export or copy it again") from cause


def check_shape(location: Location, shape: Sequence[int]) -> tuple[int, ...]:
    """Refuse, before anything is allocated, a size that is empty or too large."""
    shape = tuple(int(n) for n in shape)
    text = "×".join(map(str, shape)) or "a single number"
    if not shape or min(shape) < 1:
        raise FormatError(f"{location}: its size is {text}, wanted is at least 1 along every axis; export it again")
    if math.prod(shape) > MAX_ITEMS:
        raise FormatError(f"{location}: its size is {text}, more than {MAX_ITEMS} items; split it into tiles")
    return shape


def check_bytes(location: Location, wanted: int) -> None:
    """Refuse a file that is shorter than its header says."""
    size = location.path.stat().st_size
    if size < wanted:
        raise_damaged(location, f"{size} bytes where its header says {wanted}")


def make_grid(location: Location, shape: Sequence[int], spacing: Any = None, affine: Any = None) -> Grid:
    """A grid, and the file's name in front of what is wrong with it."""
    try:
        return Grid(tuple(shape), spacing, affine)
    except GridError as error:
        raise GridError(f"{location}: {error}") from error


def first_bytes(path: Path) -> bytes:
    """The first bytes of a file."""
    with open(path, "rb") as stream:
        return stream.read(12)


def import_extra(module: str, extra: str, location: Location | os.PathLike[str]) -> Any:
    """An optional library, or an error that names the extra it comes with."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise FormatError(f'{location}: needs {module}; install it with pip install "manytruths[{extra}]"') from error
