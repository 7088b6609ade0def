"""What a run has done for a case, so that a run that was stopped goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .writing import json_text, write_json


def fingerprint(settings: object, content: Iterable[object]) -> str:
    """A digest of the settings and of all that was read: arrays by their values, all else by its text."""
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
    """What a folder keeps under a fingerprint; None where there is nothing, or it or a file is not as it was written.

    ``ledger`` and ``files`` are paths within the folder.
    """
    try:
        found = json.loads((folder / ledger).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("fingerprint") != digest:
        return None
    if found.get("checksum") != _checksum(found.get("kept"), found.get("files")):
        return None
    return found["kept"] if found["files"] == _sums(folder, files) else None


def save_checkpoint(folder: Path, ledger: str, digest: str, files: Sequence[str], kept: object) -> None:
    """Keep something under a fingerprint, after the files that belong to it are written."""
    plain, sums = json.loads(json_text(kept)), _sums(folder, files)
    content = {"fingerprint": digest, "checksum": _checksum(plain, sums), "files": sums, "kept": plain}
    write_json(folder / ledger, content)


def _sums(folder: Path, files: Sequence[str]) -> dict[str, str]:
    """Of each file; nothing of one that is not there, or is a link."""
    paths = {name: folder / name for name in files}
    return {n: file_digest(path) for n, path in paths.items() if path.is_file() and not path.is_symlink()}


def _checksum(*content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
