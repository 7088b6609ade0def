"""The folder of a data set: ours, new, or left alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...core.errors import InputError
from ...io.results import SUMMARY
from ...io.writing import PART


def check_folder(folder: Path, target: str) -> None:
    """Refuse a folder that holds what no export to this target wrote."""
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: is no folder; choose another one with --to")
    if any(not path.name.startswith(PART) for path in folder.iterdir()) and _target_of(folder / SUMMARY) != target:
        raise InputError(f"{folder}: holds something that is no export to {target}; choose another folder with --to")


def check_number(folder: Path, number: str) -> None:
    """Refuse a number that another data set beside this one has: nnU-Net knows data sets by it."""
    others = [path.name for path in _folders(folder.parent) if path.name.startswith(number) and path != folder]
    if others:
        raise InputError(f"{folder.parent}: {others[0]} has that number already; choose another one with --id")


def _folders(parent: Path) -> Sequence[Path]:
    return sorted(path for path in parent.iterdir() if path.is_dir()) if parent.is_dir() else []


def _target_of(summary: Path) -> str:
    import msgspec

    try:
        found = msgspec.json.decode(summary.read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    ours = isinstance(found, dict) and found.get("verb") == "export"
    return str(found.get("target", "")) if ours else ""
