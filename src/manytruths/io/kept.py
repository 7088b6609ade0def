"""What a run has found out about its cases, kept so that the next run goes on where it stopped.

Every process appends to a log of its own in the hidden folder of the run (:func:`~manytruths.io.results.kept_folder`),
a few seconds of work at a time. A record is a line of JSON (which case it is about, a key of all that it was made from,
check sums) and the pickled result. A log that ends in the middle of a record holds all records before it.

A folder of results may have been written by somebody else, and unpickling can run any code. So results are unpickled
with nothing but the data classes of this package, arrays and containers; a record that asks for more is not used.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import stat
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass
from enum import Enum
from functools import cache, lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

from ..core.errors import ManytruthsError
from ..core.painting import PatternValues
from ..core.undefined import Note, Undefined
from . import metaimage, nrrd
from .files import Location, suffix_of
from .results import file_sums
from .writing import log_written

SECONDS = 2.0
"""Work, in CPU time of a process, that may be lost: less is not worth a file."""
BYTES = 1 << 24
"""Results that wait in memory, at most."""

SINGLE = (
    ".png", ".bmp", ".gif", ".jpg", ".jpeg", ".tif", ".tiff", ".npy", ".npz", ".nii", ".nii.gz",
)  # fmt: skip
"""Formats of one file each; other formats are known to have several, or are not known here."""

Signature = tuple[int, int, int, int]
"""Inode, size and times of a file: when they change while a run lasts, the content is looked at again."""
Files = dict[str, tuple[str, Signature | None]]
"""Paths and signatures; None of a file that is not there."""


# -- what a result was made from ----------------------------------------------------------------------


@cache
def code_version() -> str:
    """The version of this package with a digest of its code, which is edited between releases."""
    from .. import __version__

    digest, root = hashlib.blake2b(digest_size=8), Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{__version__} {digest.hexdigest()}"


def sign_files(location: Location) -> Files | None:
    """The files that a location is read from, by their names within it; None where it is not known which these are."""
    paths = _files_of(location)
    if paths is None:
        return None
    signed: Files = {}
    for name, path in paths:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            signed[name] = str(path), None
            continue
        # opening a pipe would wait for whoever writes into it
        if not stat.S_ISREG(status.st_mode):
            return None
        signed[name] = str(path), (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return signed


def digest_files(files: Files) -> str:
    """A digest of the bytes of files."""
    digest = hashlib.blake2b(digest_size=20)
    for name, (path, signature) in files.items():
        digest.update(name.encode("utf-8", "surrogateescape") + b"\0")
        # an image that is not there is a fact, too
        digest.update(b"" if signature is None else _digest_file(path, signature))
    return digest.hexdigest()


def _files_of(location: Location) -> list[tuple[str, Path]] | None:
    """The files whose bytes decide what a location holds, with names within it."""
    path, suffix = location.path, suffix_of(location.path.name)
    if suffix in SINGLE or not path.exists():
        return [("", path)]
    if suffix == ".zarr":
        root = path / (location.member or "")
        return [(p.relative_to(root).as_posix(), p) for p in sorted(root.rglob("*")) if p.is_file()]
    if suffix in (".mha", ".mhd", ".nrrd") and path.is_file():
        with suppress(ManytruthsError, OSError, ValueError):
            names = (nrrd if suffix == ".nrrd" else metaimage).data_files(location)
            return [("", path), *((name, path.parent / name) for name in names)]
    return None


@lru_cache(maxsize=1024)
def _digest_file(path: str, signature: Signature) -> bytes:
    """Of the bytes of a file; an archive of many cases is read once."""
    try:
        if signature[1] < 1 << 20:
            descriptor = os.open(path, os.O_RDONLY)
            try:
                return hashlib.blake2b(os.read(descriptor, 1 << 20), digest_size=20).digest()
            finally:
                os.close(descriptor)
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=20)).digest()
    except OSError:
        return uuid.uuid4().bytes  # equal to nothing


# -- logs ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where a record is."""

    log: str
    start: int
    """Of the pickled result."""
    size: int
    checksum: str
    key: str
    files: Mapping[str, str]
    """Check sums of the files that were written for the case, by their paths within the hidden folder."""


def read_logs(folder: Path) -> dict[str, Place]:
    """The records of a folder by case; of several about one case, the last."""
    places: dict[str, Place] = {}
    for log in sorted(folder.glob("*.log")):
        with suppress(OSError, ValueError, KeyError, TypeError), open(log, "rb") as stream:
            whole = os.fstat(stream.fileno()).st_size
            while line := stream.readline():
                head = json.loads(line)
                start, size = stream.tell(), int(head["size"])
                if start + size > whole:
                    break  # it ends in the middle
                files = {str(name): str(checksum) for name, checksum in head["files"].items()}
                places[str(head["case"])] = Place(log.name, start, size, head["checksum"], head["key"], files)
                stream.seek(size, os.SEEK_CUR)
    return places


def load_record(folder: Path, place: Place, stage: Path) -> bytes | None:
    """The pickled result of a record, which may be unpickled; None where it, or a file that belongs to it, changed."""
    if any(Path(name).is_absolute() or ".." in Path(name).parts for name in place.files):
        return None  # no run writes outside of its folder
    try:
        with open(folder / place.log, "rb") as stream:
            stream.seek(place.start)
            payload = stream.read(place.size)
    except OSError:
        return None
    if _checksum(payload) != place.checksum or file_sums(stage, list(place.files)) != place.files:
        return None
    try:
        _DataUnpickler(BytesIO(payload)).load()
    except Exception:
        return None
    for name in place.files:
        log_written(stage / name)
    return payload


def _checksum(payload: bytes) -> str:
    return hashlib.blake2b(payload, digest_size=20).hexdigest()


_PLAIN = {
    "builtins": ("set", "frozenset", "slice", "range", "complex", "bytearray"),
    "collections": ("Counter", "OrderedDict"),
    "pathlib": ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"),
    "numpy": ("ndarray", "dtype"),
    "numpy._core.multiarray": ("_reconstruct", "scalar"),
    "numpy._core.numeric": ("_frombuffer",),
}
"""What else makes data of data, and does nothing besides."""
_OURS = (Undefined, Note, PatternValues, Enum)


class _DataUnpickler(pickle.Unpickler):
    """Makes data classes and named tuples of this package, arrays and containers, and calls nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if name in _PLAIN.get(module, ()):
            return super().find_class(module, name)
        package, _, within = module.partition(".")
        # modules that run something when they are imported are no place for data
        if package == "manytruths" and within.partition(".")[0] not in ("", "cli", "demo", "__main__"):
            found = super().find_class(module, name)
            own = isinstance(found, type) and found.__module__ == module
            if own and (is_dataclass(found) or issubclass(found, _OURS) or hasattr(found, "_fields")):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no data")


@dataclass
class _Waiting:
    """Records of one process that are not written yet."""

    folder: Path
    process: int = field(default_factory=os.getpid)
    name: str = field(default_factory=lambda: f"{uuid.uuid4().hex}.log")
    records: list[bytes] = field(default_factory=list)
    bytes: int = 0
    since: float = field(default_factory=time.process_time)


_waiting: _Waiting | None = None


def begin_log(folder: Path, run: str) -> None:
    """From now on this process keeps what it finds for a run; work from here on counts."""
    global _waiting
    own = _waiting is not None and _waiting.process == os.getpid() and _waiting.folder == folder
    if _waiting is None or not own or not _waiting.name.startswith(run):
        _waiting = _Waiting(folder, name=f"{run}-{uuid.uuid4().hex}.log")
        _digest_file.cache_clear()


def keep_record(case: str, key: str, files: Sequence[Path], stage: Path, payload: bytes) -> None:
    """Keep the result of a case; it is written with the next few seconds of work."""
    assert _waiting is not None
    sums = file_sums(stage, sorted(path.relative_to(stage).as_posix() for path in files))
    _waiting.records += [_head(case, key, payload, sums), payload]
    _waiting.bytes += len(payload)
    if time.process_time() - _waiting.since >= SECONDS or _waiting.bytes >= BYTES:
        _write_log(_waiting)


def _head(case: str, key: str, payload: bytes, files: Mapping[str, str]) -> bytes:
    head = {"case": case, "key": key, "size": len(payload), "checksum": _checksum(payload), "files": dict(files)}
    return json.dumps(head).encode() + b"\n"


def write_records(log: Path, records: Mapping[str, tuple[str, bytes]]) -> None:
    """Write a new log of records that need no files: the key and the pickled result of each case."""
    with open(log, "xb") as stream:
        for case, (key, payload) in records.items():
            stream.writelines((_head(case, key, payload, {}), payload))


def _write_log(waiting: _Waiting) -> None:
    # what cannot be kept is computed again; whoever cannot write results says so elsewhere
    with suppress(OSError):
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(waiting.folder / waiting.name, flags, 0o600)
        with open(descriptor, "ab") as stream:
            stream.writelines(waiting.records)
    waiting.records, waiting.bytes, waiting.since = [], 0, time.process_time()
