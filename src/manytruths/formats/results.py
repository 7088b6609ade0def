"""A folder of results: what an earlier run wrote and this one did not goes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .writing import write_json

SUMMARY = "summary.json"


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
    try:
        names = json.loads(path.read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _remove(folder: Path, name: str) -> None:
    path = folder / name
    if Path(name).is_absolute() or ".." in Path(name).parts or not path.is_file():
        return
    path.unlink()
    for parent in path.relative_to(folder).parents:
        # the folder itself stays; those inside it go when they are empty
        if parent != Path() and not any((folder / parent).iterdir()):
            (folder / parent).rmdir()
