"""A folder of results: what an earlier run wrote and this one did not goes."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InputError
from .writing import write_json

SUMMARY = "summary.json"


@dataclass
class Files:
    """All that is read of an earlier summary."""

    files: list[str] = field(default_factory=list)


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A folder beside ``folder`` to write into: its files move there when the block ends well, and go when not.

    So a run that fails half-way changes nothing of what an earlier one left.
    """
    stage = folder.with_name(f".part-{folder.name}")
    shutil.rmtree(stage, ignore_errors=True)
    try:
        yield stage
        for path in sorted(p for p in stage.rglob("*") if p.is_file()):
            target = folder / path.relative_to(stage)
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Refuse a second run into the same folder at the same time, as each would take the other's files.

    The lock ends with the process, however that ends; elsewhere than on Unix there is none.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    place = folder.with_name(f".part-{folder.name}-lock")
    place.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(place, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(descriptor), os.stat(place)):
                raise FileNotFoundError
        except (BlockingIOError, FileNotFoundError):
            raise InputError(f"{folder}: another run writes there right now; wait for it, or choose another") from None
        try:
            yield
        finally:
            place.rmdir()
    finally:
        os.close(descriptor)


def cleared(folder: Path, names: Iterable[str], mark: Path, text: str) -> None:
    """Remove the folders of an earlier run, which ``mark`` with its ``text`` shows to be one of ours."""
    if not any((folder / name).exists() for name in names):
        return
    if not mark.is_file() or mark.read_text(encoding="utf-8") != text:
        raise InputError(f"{folder}: holds {', '.join(names)} of something else; choose another folder with --out")
    for name in names:
        shutil.rmtree(folder / name, ignore_errors=True)


def write_summary(folder: Path, summary: Mapping[str, Any], files: Iterable[Path]) -> Path:
    """Write ``summary.json`` with the list of ``files``, and remove what only the summary before lists.

    So a folder never shows the pairs of one run beside the numbers of another. Nothing is removed that no run of
    ours has written.
    """
    written = sorted({path.relative_to(folder).as_posix() for path in files})
    before = _listed(folder / SUMMARY)
    write_json(folder / SUMMARY, {**summary, "files": written})
    for name in set(before) - set(written):
        _remove(folder, name)
    return folder / SUMMARY


def _listed(path: Path) -> list[str]:
    import msgspec

    try:
        return msgspec.json.decode(path.read_bytes(), type=Files).files
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return []


def _remove(folder: Path, name: str) -> None:
    path = folder / name
    if Path(name).is_absolute() or ".." in Path(name).parts or not path.is_file():
        return
    path.unlink()
    for parent in path.relative_to(folder).parents:
        # the folder itself stays; those inside it go when they are empty
        if parent != Path() and not any((folder / parent).iterdir()):
            (folder / parent).rmdir()
