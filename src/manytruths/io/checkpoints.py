"""Checkpoints: what a run has done for a case, so that an interrupted run continues where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .writing import json_text, write_json


def fingerprint(settings: object, content: Iterable[object]) -> str:
    """A digest of the settings and of all that was read: arrays by their values, everything else by its text."""
    digest = hashlib.sha256(repr(settings).encode("utf-8", "surrogatepass"))
    for part in content:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str} {part.shape}".encode())
            digest.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
        else:
            digest.update(repr(part).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def load_checkpoint(folder: Path, ledger: str, digest: str, files: Sequence[str]) -> Any:
    """The checkpoint of a fingerprint; None if there is none, or if it or a file was changed since.

    ``ledger`` and ``files`` are paths within the folder.
    """
    try:
        content = json.loads((folder / ledger).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(content, dict) or content.get("fingerprint") != digest:
        return None
    if content.get("checksum") != _checksum(content.get("kept"), content.get("files")):
        return None
    return content["kept"] if content["files"] == _sums(folder, files) else None


def save_checkpoint(folder: Path, ledger: str, digest: str, files: Sequence[str], kept: object) -> None:
    """Write a checkpoint under a fingerprint, after the files that belong to it."""
    plain, sums = json.loads(json_text(kept)), _sums(folder, files)
    content = {"fingerprint": digest, "checksum": _checksum(plain, sums), "files": sums, "kept": plain}
    write_json(folder / ledger, content)


def _sums(folder: Path, files: Sequence[str]) -> dict[str, str]:
    """The digest of each file, leaving out files that do not exist or are links."""
    paths = {name: folder / name for name in files}
    return {n: file_digest(path) for n, path in paths.items() if path.is_file() and not path.is_symlink()}


def _checksum(*content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
