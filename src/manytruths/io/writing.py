"""Write files whole or not at all."""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from ..core.csv_text import escape_cell, may_need_escaping
from ..core.errors import WriteError
from ..core.undefined import Undefined

LONGEST = 200
"""Most bytes of a name; file systems take 255, with the ending and the prefix of an unfinished file."""

PART = ".part-"
"""Prefix of files and folders that are not complete yet."""
WRITTEN = ".written"
"""Lists what a run has written into an incomplete folder, to check at the end that all of it is there."""

_attempt = ""
"""Tells unfinished files of this process from those of others that may write the same ones."""

_recorded: list[Path] | None = None

_FULL, _FORBIDDEN = "free space or choose another folder", "choose a folder that can be written to"
_ADVICE = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: _FORBIDDEN,
    errno.EISDIR: "move away what is there",
}

_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\]|^\.")


@contextmanager
def atomic(path: Path | str) -> Iterator[Path]:
    """A temporary path beside ``path``; it replaces ``path`` if the block succeeds and is removed if not."""
    path = Path(path)
    # the same name each time: the next run overwrites what a killed run leaves behind
    temporary = path.with_name(f"{PART}{_attempt}{path.name}")
    with write_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # a link at this path would be written through
            temporary.unlink(missing_ok=True)
            yield temporary
            temporary.replace(path)
            log_written(path)
        finally:
            with suppress(OSError):  # if the folder itself could not be made, there is nothing to remove
                temporary.unlink(missing_ok=True)


def name_attempt(who: str) -> None:
    """From now on, unfinished files of this process have names of their own: a worker elsewhere that is taken for dead
    may still be writing."""
    global _attempt
    _attempt = f"{hashlib.sha256(who.encode()).hexdigest()[:8]}-"


@contextmanager
def write_errors(path: Path | str) -> Iterator[None]:
    """Turn errors of the operating system into one line about the path."""
    try:
        yield
    except OSError as error:
        path = Path(*(part for part in Path(path).parts if not part.startswith(PART)))
        raise WriteError(_describe_write_error(path, error)) from error


def _describe_write_error(path: Path, error: OSError) -> str:
    """What keeps a path from being written, and advice that fits."""
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        blocking = next((parent for parent in path.parents if parent.is_file()), None)
        if blocking is not None:
            return f"{blocking}: is a file, not a folder; choose another folder"
    advice = _ADVICE.get(error.errno or 0, "choose another folder")
    return f"{path}: cannot be written: {error.strerror or error}; {advice}"


@contextmanager
def record_written() -> Iterator[list[Path]]:
    """A list that gets the files which this process writes in the block."""
    global _recorded
    before, _recorded = _recorded, []
    try:
        yield _recorded
    finally:
        _recorded = before


def log_written(path: Path) -> None:
    """Add a file to the list of the incomplete folder that it belongs to, if there is one."""
    if _recorded is not None:
        _recorded.append(path)
    for folder in path.parents:
        if folder.name.startswith(PART):
            try:
                log = os.open(folder / WRITTEN, os.O_WRONLY | os.O_APPEND)
            except FileNotFoundError:
                continue
            with open(log, "ab", buffering=0) as stream:
                stream.write(json.dumps(path.relative_to(folder).as_posix()).encode() + b"\n")
            return


def write_text(path: Path | str, text: str) -> None:
    """Write text as UTF-8, with its line ends as they are."""
    with atomic(path) as temporary:
        temporary.write_bytes(text.encode("utf-8", "surrogateescape"))


_LINES = 10_000
"""Of a table, that are in memory as text."""
MOMENT = "1980-01-01T00:00:00Z"
"""The time that files hold which must hold one, so that the same results are the same bytes."""


def write_zip(path: Path | str, parts: Mapping[str, bytes]) -> None:
    """Write the parts of a document, packed, without the time of writing."""
    with atomic(path) as temporary, zipfile.ZipFile(temporary, "w") as packed:
        for name, content in parts.items():
            packed.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def write_csv(path: Path | str, rows: Iterable[Sequence[object]], header: Sequence[str]) -> None:
    """Write a table; None is an empty cell and an undefined number is ``nan``."""
    plain = (row if Undefined not in map(type, row) else [_number(value) for value in row] for row in rows)
    lines = chain([header], plain)
    with atomic(path) as temporary, open(temporary, "wb") as stream:
        while some := list(islice(lines, _LINES)):
            text = _csv(some, "\n")
            # one search of the whole text is quicker than one for every cell
            text = _csv(map(_protect_cells, some), "\n") if may_need_escaping(text) else text
            stream.write(text.encode("utf-8", "surrogateescape"))


def csv_line(cells: Sequence[object]) -> str:
    """A row as CSV, without the line end."""
    return _csv([_protect_cells([_number(value) for value in cells])], "")


def _csv(rows: Iterable[Iterable[object]], end: str) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator=end).writerows(rows)
    return text.getvalue()


def _protect_cells(row: Sequence[object]) -> list[object]:
    return [escape_cell(value) if isinstance(value, str) else value for value in row]


def _number(value: object) -> object:
    # The text of an undefined number would be its reason.
    return float.__repr__(value) if isinstance(value, float) else value


def write_json(path: Path | str, value: object) -> None:
    """Write JSON, with dataclasses as objects and numbers that are not finite as null."""
    import msgspec

    write_text(path, msgspec.json.format(json_text(value), indent=2) + "\n")


def json_text(value: object) -> str:
    """JSON as :func:`write_json` writes it, in one line."""
    import msgspec

    return msgspec.json.encode(value, enc_hook=_plain).decode()


def _plain(value: Any) -> Any:
    """Types that the encoder does not know: NumPy numbers and arrays, paths, undefined floats."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


def checksum(files: Mapping[str, Path]) -> str:
    """Of the bytes of files, in the order of their names: the first 16 digits of SHA-256."""
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(files[name].read_bytes())
    return digest.hexdigest()[:16]


def safe_name(name: str) -> str:
    """The name of a case as a file name: not too long, without separators, control characters or a leading dot.

    A changed name carries a digest, so that ``a/b`` and ``a_b`` stay two files.

    >>> safe_name("p01 left"), safe_name("a/b")
    ('p01 left', 'a_b-c14cdd')
    """
    safe = _UNSAFE.sub("_", name) or "_"
    safe = safe.encode("utf-8", "surrogateescape")[:LONGEST].decode("utf-8", "ignore")
    if safe == name:
        return name
    return f"{safe}-{hashlib.sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:6]}"
