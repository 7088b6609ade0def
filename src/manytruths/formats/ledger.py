"""What a run has done for a case, so that a run that was killed goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .location import Location
from .writing import write_json


def fingerprint(settings: object, sources: Iterable[object]) -> str:
    """A digest of the settings and of every file's name, size and time (an array's content)."""
    digest = hashlib.sha256(repr(settings).encode("utf-8", "surrogateescape"))
    for source in sources:
        if isinstance(source, Location):
            stat = source.path.stat()
            digest.update(f"{source} {stat.st_size} {stat.st_mtime_ns}".encode("utf-8", "surrogateescape"))
        elif isinstance(source, np.ndarray):
            digest.update(np.ascontiguousarray(source).tobytes())
    return digest.hexdigest()


def recall(path: Path, digest: str, files: Sequence[Path]) -> dict[str, Any] | None:
    """What was kept under a fingerprint; None where there is nothing, or one of the files is gone."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    whole = isinstance(kept, dict) and kept.get("fingerprint") == digest and all(f.is_file() for f in files)
    return kept if whole else None


def remember(path: Path, digest: str, kept: dict[str, Any]) -> None:
    """Keep something under a fingerprint, after the files of the case are written."""
    write_json(path, {"fingerprint": digest, **kept})
