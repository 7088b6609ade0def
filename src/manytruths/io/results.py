"""A folder of results: what an earlier run wrote and this one did not goes."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .writing import write_json

SUMMARY = "summary.json"


@dataclass
class Files:
    """All that is read of an earlier summary."""

    files: list[str] = field(default_factory=list)


def write_summary(folder: Path, summary: Mapping[str, Any], files: Iterable[Path]) -> Path:
    """Write ``summary.json`` with the list of ``files``, and remove what only the summary before lists.

    So a folder never shows the pairs of one run beside the numbers of another. Nothing is removed that no run of
    ours has written.
    """
    written = sorted({path.relative_to(folder).as_posix() for path in files})
    before = listed_files(folder)
    write_json(folder / SUMMARY, {**summary, "files": written})
    for name in set(before) - set(written):
        remove_inside(folder, name)
    return folder / SUMMARY


def listed_files(folder: Path) -> list[str]:
    """The files that the ``summary.json`` of a folder lists, as paths within it."""
    import msgspec

    try:
        names = msgspec.json.decode((folder / SUMMARY).read_bytes(), type=Files).files
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return []
    return [name for name in names if Path(name).parts and not Path(name).anchor and ".." not in Path(name).parts]


def remove_inside(folder: Path, name: str) -> None:
    """Remove a file of a folder, and the folders around it that are empty then; no link is followed."""
    within = [folder / parent for parent in Path(name).parents if parent != Path()]
    if any(parent.is_symlink() for parent in within):
        return
    path = folder / name
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
    for parent in within:
        if parent.is_dir() and not any(parent.iterdir()):
            parent.rmdir()
