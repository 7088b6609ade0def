"""Folders of results, which take the place of earlier ones in one step: complete, or not at all.

A run writes into a hidden folder beside its target, ``.part-NAME``. When all of it is there, the hidden folder is
renamed to ``.part-NAME-whole``: from then on the new results count. What stood in their place moves into
``.part-NAME-old``, the new results move in, and files that no run has written (a user's notes in a folder of results)
follow them. A run that is killed on the way leaves a state from which the next one can tell what is left to do, and
does it first.

The ``summary.json`` of a folder lists its files, so that files from earlier runs can be told from a user's own.
A checkpoint holds what a run has done for a case, so that an interrupted run continues where it stopped.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import InputError, WriteError
from .writing import PART, WRITTEN, atomic, json_text, write_errors, write_json

SUMMARY = "summary.json"
RUN = "run.json"
"""Holds all that differs from run to run: when it began, how long it took, the number of processes."""
WHOLE, OLD, GONE, LOCK = "-whole", "-old", "-gone", "-lock"
KEPT = ".kept"
"""Inside a hidden folder: what was found out about finished cases."""
_ACTIVE: list[Path] = []
"""The hidden folders that this process writes into."""
_KEEPING: list[Path] = []
"""Those of them in which finished cases are kept."""
_left = False


# -- summaries ----------------------------------------------------------------------------------------


@dataclass
class Files:
    """The part of an earlier summary that is read."""

    files: list[str] = field(default_factory=list)


def write_summary(folder: Path, summary: Mapping[str, Any], files: Iterable[Path]) -> Path:
    """Write ``summary.json`` with the list of ``files``, and remove files that only the earlier summary lists.

    So a folder never holds the pairs of one run beside the numbers of another. Files that no run has written are kept.
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
    """Remove a file of a folder, and the folders around it that become empty; no link is followed."""
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


def active_stages() -> tuple[Path, ...]:
    """The hidden folders that this process writes into."""
    return tuple(_ACTIVE)


def kept_folder() -> Path | None:
    """Where finished cases of the results that are being written are kept; None where they are not."""
    return _ACTIVE[-1] / KEPT if _ACTIVE and _ACTIVE[-1] in _KEEPING else None


def left_to_go_on() -> bool:
    """Whether a run of this process ended early and left something that the next one goes on with."""
    return _left


# -- replacing earlier results ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """Where results go, and the hidden folders beside them."""

    home: Path
    folders: tuple[str, ...]
    files: tuple[str, ...]
    inside: bool
    """Whether the folder itself stays, and its content is replaced."""
    made: tuple[Path, ...]
    """Folders that had to be made for it."""

    @property
    def name(self) -> str:
        return (*self.folders, *self.files)[0]

    def hidden(self, state: str) -> Path:
        """A folder beside the results: what is being written, complete, old, or on its way out."""
        return self.home / f"{PART}{self.name}{state}"

    @property
    def stage(self) -> Path:
        return self.hidden("")

    @property
    def staged(self) -> tuple[Path, ...]:
        return (self.stage,) if self.inside else tuple(self.stage / name for name in (*self.folders, *self.files))


@contextmanager
def replacing(
    *folders: Path | str,
    files: Sequence[Path | str] = (),
    ours: Sequence[str] = (),
    goes_on: bool = False,
    keeps: bool = False,
    inside: bool = False,
    run: MutableMapping[str, Any] | None = None,
) -> Iterator[tuple[Path, ...]]:
    """Paths to write to instead of ``folders`` and ``files``, which all lie in one folder.

    If the block succeeds, what was written replaces what is there; if not, everything stays as it was. A second run
    into the same place at the same time is refused. Inside another such block, paths within its folders are returned
    as they are.

    Parameters
    ----------
    ours
        Files and folders that earlier runs wrote and no ``summary.json`` lists, as paths within a folder: removed.
    goes_on
        Keep what a run that fails or is killed has written, so that the next one can continue.
    keeps
        The same where finished cases were kept (:func:`kept_folder`), which are removed when the block succeeds.
    inside
        Replace what is in the folder, not the folder itself.
    run
        Content of ``run.json`` in the first folder, besides times.
    """
    paths = [Path(path) for path in (*folders, *files)]
    if all(any(path.is_relative_to(stage) for stage in _ACTIVE) for path in paths):
        yield tuple(paths)
        return
    with write_errors(paths[0]):
        place = _prepare_place(paths, len(folders), inside)
    with lock_folder(paths[0], place):
        with write_errors(paths[0]):
            _put_in_place(place)
        began, clock = datetime.now(UTC), time.perf_counter()
        try:
            _ACTIVE.append(place.stage)
            if keeps:
                _KEEPING.append(place.stage)
            with write_errors(paths[0]):
                _prepare_stage(place, list(ours), goes_on or (keeps and _has_kept(place)))
            yield place.staged
            with write_errors(paths[0]):
                _check_complete(place, paths[0], goes_on or keeps)
                if run is not None:
                    seconds = round(time.perf_counter() - clock, 3)
                    times = {"started": began.isoformat(timespec="seconds"), "seconds": seconds}
                    write_json(place.staged[0] / RUN, {**times, **run})
                _remove(place.stage / KEPT)
                os.rename(place.stage, place.hidden(WHOLE))
                _put_in_place(place)
        except BaseException:
            # also when a signal comes while the results are put into place
            with write_errors(paths[0]):
                _abandon(place, goes_on, keeps)
                _put_in_place(place)
            raise
        finally:
            with suppress(ValueError):
                _ACTIVE.remove(place.stage)
            with suppress(ValueError):
                _KEEPING.remove(place.stage)


@contextmanager
def lock_folder(shown: Path, place: _Place | None = None) -> Iterator[None]:
    """Refuse a second run into the same folder at the same time: each would remove the other's files.

    The lock ends with the process, however that ends. There is none on Windows.
    """
    if place is None:
        with write_errors(shown):
            place = _prepare_place([shown], 1, False)
    if sys.platform == "win32":
        yield
        return
    import fcntl

    lock = place.hidden(LOCK)
    with write_errors(shown):
        if lock.is_symlink() or lock.is_file():
            lock.unlink()
        descriptor = _open_lock(lock)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(descriptor), os.stat(lock)):
                raise FileNotFoundError
        except (BlockingIOError, FileNotFoundError):
            raise InputError(
                f"{shown}: another run writes there right now; wait for it, or choose another folder"
            ) from None
        try:
            yield
        finally:
            _rmdir(lock)
            for folder in place.made:
                _rmdir(folder)
    finally:
        os.close(descriptor)


def finish_interrupted(folder: Path) -> None:
    """Put results into place that a killed run has written whole and not put there yet."""
    with write_errors(folder):
        place = _prepare_place([folder], 1, False)
    with lock_folder(folder, place), write_errors(folder):
        _put_in_place(place)


def _open_lock(lock: Path) -> int:
    """Open the folder of a lock; another run may remove it after it is made, so it is tried again."""
    for _ in range(100):
        lock.mkdir(parents=True, exist_ok=True)
        try:
            return os.open(lock, os.O_RDONLY)
        except FileNotFoundError:
            continue
    return os.open(lock, os.O_RDONLY)


def link_or_copy(path: Path, to: Path) -> None:
    """Put a file of earlier results into new ones, as a hard link where the disk can do so."""
    to.parent.mkdir(parents=True, exist_ok=True)
    with atomic(to) as temporary:
        try:
            os.link(path, temporary)
        except OSError:
            shutil.copy2(path, temporary)


def written_files(stage: Path) -> tuple[Path, ...]:
    """The files that were written into a folder of :func:`replacing`, as paths within it."""
    paths = (path.relative_to(stage) for path in stage.rglob("*") if path.is_file())
    return tuple(sorted(path for path in paths if path.name != WRITTEN))


# -- before -------------------------------------------------------------------------------------------


def _prepare_place(paths: Sequence[Path], folders: int, inside: bool) -> _Place:
    # as "." a folder has no name to put another one beside
    parent = paths[0].parent.resolve() if paths[0].name else paths[0].resolve().parent
    names = [path.name or path.resolve().name for path in paths]
    for i, (path, there) in enumerate(zip(paths, [parent / name for name in names], strict=True)):
        if there.is_symlink():
            raise InputError(f"{path}: is a link, and results are not written through links; name what it leads to")
        if i < folders and there.exists() and not there.is_dir():
            raise InputError(f"{path}: is a file; move it away, or choose another folder")
        if i >= folders and there.is_dir():
            raise InputError(f"{path}: is a folder; choose another name for the file")
        if there.exists() and not os.access(there, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    folder = parent / names[0]
    # a folder cannot be renamed where it is the working directory, or a mount point
    fixed = folder.is_dir() and (Path.cwd().is_relative_to(folder) or os.path.ismount(folder))
    inside = inside or (folders == len(paths) == 1 and fixed)
    home = folder if inside else parent
    made = tuple(folder for folder in (home, *home.parents) if not folder.exists())
    home.mkdir(parents=True, exist_ok=True)
    return _Place(home, tuple(names[:folders]), tuple(names[folders:]), inside, made)


def _prepare_stage(place: _Place, ours: list[str], goes_on: bool) -> None:
    if not goes_on or place.stage.is_symlink() or not place.stage.is_dir():
        _remove(place.stage)
    place.stage.mkdir(exist_ok=True)
    for folder, folders, files in os.walk(place.stage):
        # no run writes links: one that is there would lead out of the folder
        for name in (*folders, *files):
            if os.path.islink(os.path.join(folder, name)):
                os.unlink(os.path.join(folder, name))
    (place.stage / WRITTEN).write_text(json.dumps(ours) + "\n", encoding="utf-8")
    if not place.inside:
        for name in place.folders:
            (place.stage / name).mkdir(exist_ok=True)


# -- when it is done ----------------------------------------------------------------------------------


def _check_complete(place: _Place, shown: Path, goes_on: bool) -> None:
    """Refuse results of which files were removed while they were written."""
    if not (place.stage / WRITTEN).is_file():
        raise InputError(f"{shown}: the folder was removed while results were written to it; run it again")
    folders = [staged for staged in place.staged if staged.is_dir()]
    written = [place.stage / name for name in _read_log(place.stage)[1:]]
    wanted = written + [folder / name for folder in folders for name in listed_files(folder)]
    gone = sorted({path.relative_to(place.stage).as_posix() for path in wanted if not path.is_file()})
    if gone:
        raise InputError(
            f"{shown}: {gone[0]} was removed while results were written ({len(gone)} of them are gone); run it again"
        )
    for folder in folders:
        _tidy(folder, goes_on, written)
    _refuse_clashes(place)


def _refuse_clashes(place: _Place) -> None:
    """Refuse to put a file where there is a folder, or a folder where there is a file."""
    for root, folders, files in os.walk(place.stage):
        there = place.home / Path(root).relative_to(place.stage)
        for name in (*folders, *files):
            kind = errno.EISDIR if name in files else errno.ENOTDIR
            if os.path.lexists(there / name) and (name in files) == _is_folder(there / name):
                raise WriteError(f"{there / name}: cannot be written: {os.strerror(kind)}; move away what is there")


def _tidy(folder: Path, goes_on: bool, written: Sequence[Path]) -> None:
    """Remove empty folders, files that a killed process left unfinished, and files that this run did not need."""
    listed = {folder / name for name in (SUMMARY, WRITTEN, *listed_files(folder))} | set(written)
    wanted = listed if goes_on and (folder / SUMMARY).is_file() else None
    for root, folders, files in os.walk(folder):
        if Path(root) == folder and KEPT in folders:
            folders.remove(KEPT)
        for name in files:
            unwanted = wanted is not None and Path(root) / name not in wanted
            if unwanted or name.startswith(PART):
                (Path(root) / name).unlink()
    for root, _, _ in os.walk(folder, topdown=False):
        if Path(root) != folder:
            _rmdir(Path(root))


def _abandon(place: _Place, goes_on: bool, keeps: bool) -> None:
    global _left
    written = (path for staged in place.staged for path in staged.rglob("*") if path.is_file())
    useful = (keeps and _has_kept(place)) or (goes_on and any(written))
    # without its list, the folder was removed meanwhile, and what is there is a remainder
    _left = useful and (place.stage / WRITTEN).is_file()
    if not _left:
        _remove(place.stage)


def _has_kept(place: _Place) -> bool:
    return any((place.stage / KEPT).glob("*/*.log"))


def _put_in_place(place: _Place) -> None:
    """Put complete results into their place, and remove what was there."""
    whole, old, gone = (place.hidden(state) for state in (WHOLE, OLD, GONE))
    _remove(gone)
    for path in (whole, old):
        if not _is_folder(path):
            _remove(path)
    if _is_folder(whole):
        log = whole / WRITTEN
        if log.is_file():
            # kept until the end: it lists which of the old results a run has written
            old.mkdir(exist_ok=True)
            os.replace(log, old / WRITTEN)
        # files such as a page come last, so that what they refer to is there
        for name in sorted(os.listdir(whole), key=lambda name: ((whole / name).is_file(), name)):
            if place.inside or name in (*place.folders, *place.files):
                _swap(place, name)
        _remove(whole)
    if _is_folder(old):
        ours, *new = _read_log(old) or [[]]
        if place.inside:
            stale = set(listed_files(old)) - set(listed_files(place.home))
            stale |= set(ours) - {part.as_posix() for name in new for part in _with_parents(name)}
            for name in stale:
                remove_inside(place.home, name)
            _keep_foreign_files(old, place.home, ours)
        else:
            for name in os.listdir(old):
                _keep_foreign_files(old / name, place.home / name, ours)
        # the rest can be removed; half of it must not be taken for a user's own files
        os.rename(old, gone)
        _remove(gone)


def _swap(place: _Place, name: str) -> None:
    there, new, old = place.home / name, place.hidden(WHOLE) / name, place.hidden(OLD) / name
    if os.path.lexists(there):
        _remove(old)
        os.rename(there, old)
    os.rename(new, there)


def _read_log(folder: Path) -> list[Any]:
    """Which of the old results a run has written, then the files that were written since."""
    try:
        return [json.loads(line) for line in (folder / WRITTEN).read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        return []


def _keep_foreign_files(old: Path, new: Path, ours: Sequence[str]) -> None:
    """Move files that no run has written into the new folder."""
    if not _is_folder(old) or not _is_folder(new):
        return
    written, mine = _listed_in_summaries(old), set(ours)
    for root, folders, files in os.walk(old):
        links = [name for name in folders if os.path.islink(os.path.join(root, name))]
        for name in (*files, *links):
            path = Path(root) / name
            own = path.relative_to(old)
            known = own.as_posix() in written or name == WRITTEN or name.startswith(PART)
            known = known or any(part.as_posix() in mine for part in _with_parents(own))
            if not known and not os.path.lexists(new / own):
                (new / own).parent.mkdir(parents=True, exist_ok=True)
                os.rename(path, new / own)


def _with_parents(name: str | Path) -> tuple[Path, ...]:
    """A path within a folder, and the folders that it lies in."""
    return Path(name), *Path(name).parents[:-1]


def _listed_in_summaries(folder: Path) -> set[str]:
    """The files that summaries in a folder and its subfolders list, and these summaries."""
    names = set[str]()
    for root, _, files in os.walk(folder):
        if SUMMARY in files:
            own = Path(root).relative_to(folder)
            names |= {(own / name).as_posix() for name in (SUMMARY, RUN, *listed_files(Path(root)))}
    return names


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _remove(path: Path) -> None:
    """A file, a link, or a folder with all that is in it; links in it are not followed."""
    if _is_folder(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        path.unlink(missing_ok=True)


def _rmdir(folder: Path) -> None:
    """Remove a folder if it is empty."""
    try:
        folder.rmdir()
    except OSError:
        return


def fingerprint(settings: object, content: Iterable[object]) -> str:
    """A digest of the settings and of all that was read.

    Arrays count by their values, data classes, mappings and sequences by what they hold, everything else by its text.
    """
    digest = hashlib.sha256()
    for part in (settings, *content):
        _feed(digest, part)
    return digest.hexdigest()


def _feed(digest: Any, value: object) -> None:
    """Add a value; what begins and ends a part of it is added, too, so that no two values look the same."""
    parts: Iterable[object] | None = None
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(f"{value.dtype.str} {value.shape}".encode())
        digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
    elif is_dataclass(value) and not isinstance(value, type):
        parts = [(item.name, getattr(value, item.name)) for item in fields(value) if item.compare]
    elif isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, set | frozenset):
        parts = sorted(value, key=repr)
    elif isinstance(value, tuple | list):
        parts = value
    else:
        text = repr(value).encode("utf-8", "surrogatepass")
        digest.update(f"{len(text)} ".encode() + text)
    if parts is not None:
        digest.update(f"{type(value).__qualname__}(".encode())
        for part in parts:
            _feed(digest, part)
        digest.update(b")")


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
    return content["kept"] if content["files"] == file_sums(folder, files) else None


def save_checkpoint(folder: Path, ledger: str, digest: str, files: Sequence[str], kept: object) -> None:
    """Write a checkpoint under a fingerprint, after the files that belong to it."""
    plain, sums = json.loads(json_text(kept)), file_sums(folder, files)
    content = {"fingerprint": digest, "checksum": _checksum(plain, sums), "files": sums, "kept": plain}
    write_json(folder / ledger, content)


def file_sums(folder: Path, files: Sequence[str]) -> dict[str, str]:
    """The digest of each file, leaving out files that do not exist or are links."""
    paths = {name: folder / name for name in files}
    return {n: file_digest(path) for n, path in paths.items() if path.is_file() and not path.is_symlink()}


def _checksum(*content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
