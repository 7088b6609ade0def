"""The log of an adjudicator's decisions: one SQLite file for each adjudicator and machine.

Entries are appended and never changed: triggers refuse it, and each entry has a SHA-256 digest over itself and the
digest before, so that a change by other means is found. That makes the log tamper-evident, not tamper-proof: who can
write the file can write another one with new digests, which is why the last digest stands in the report. Names are
those that people gave themselves.

An entry is on the disk when :meth:`DecisionLog.append` returns (journal DELETE, synchronous EXTRA).
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sqlite3
import subprocess
import sys
import threading
import uuid as uuids
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any, Self

from ..core.errors import CallError, InputError, WriteError, one_line
from .format_versions import check_format_version

FOLDER = "manytruths-adjudication"
"""Where logs are by default, in the current folder."""
ACTIONS = ("open", "look", "show", "decide", "undo", "rule", "skip", "second", "add", "finish", "reopen")
CLOSED = frozenset(ACTIONS) - {"open", "show", "reopen"}
"""What cannot be appended to a log that was finished."""
PACK_FORMAT = "manytruths-log"
PACK_VERSION = 1
PAGE_FORMAT = "manytruths-decisions"
"""What the one-file page saves: calls, which have to be replayed."""
LARGEST_PACK = 1 << 29
WAIT = 2.0
"""Seconds to wait for a lock on the file."""

APPLICATION = int.from_bytes(b"mtlg")
"""The format in the header of the file, from version 2 on."""
MIGRATIONS = (
    """
    CREATE TABLE log (
        id TEXT NOT NULL, study TEXT NOT NULL, adjudicator TEXT NOT NULL, machine TEXT NOT NULL, created TEXT NOT NULL
    );
    CREATE TABLE entries (
        number INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, utc TEXT NOT NULL, adjudicator TEXT NOT NULL,
        machine TEXT NOT NULL, version TEXT NOT NULL, action TEXT NOT NULL, item TEXT NOT NULL, case_name TEXT NOT NULL,
        payload TEXT NOT NULL, digest TEXT NOT NULL
    );
    CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
    CREATE TRIGGER entries_remain BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;
    CREATE TRIGGER log_stays BEFORE UPDATE ON log BEGIN SELECT RAISE(ABORT, 'a log is never changed'); END;
    CREATE TRIGGER log_remains BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'a log is never removed'); END;
    """,
    f"PRAGMA application_id = {APPLICATION};\n",
)
"""What makes each version of the schema from the one before; the version is how many were applied."""

NETWORK = re.compile(
    r"^(nfs\d?|cifs|smb\d*|smbfs|smbnt|afs|afpfs|webdav|davfs2?|ncpfs|9p|ceph|glusterfs|lustre|beegfs|gpfs|ocfs2|"
    r"orangefs|pvfs2|moosefs|vboxsf|vmhgfs|prl_fs|fuse\.(sshfs|s3fs|rclone|gcsfuse|davfs2?|ceph.*|glusterfs|smbnetfs|"
    r"vmhgfs-fuse|moosefs|juicefs))$"
)
"""File systems that other machines write to, where a lock and a flush may not be what they say."""


class LogError(InputError):
    """A log that cannot be used: of another study, of a newer version, damaged, or on a network path."""


class LogInUse(LogError):
    """A second server on the same log; ``pid`` and ``address`` say where the first runs."""

    def __init__(self, message: str, pid: int = 0, address: str = "") -> None:
        super().__init__(message)
        self.pid, self.address = pid, address


class LogFinished(LogError):
    """A decision for a log that was finished."""


class NotSaved(WriteError):
    """An entry was not saved: the disk is full, locked or gone. Nothing was written."""

    def __init__(self, message: str, full: bool = False) -> None:
        super().__init__(message)
        self.full = full


@dataclass(frozen=True)
class Entry:
    """One row of a log."""

    number: int
    uuid: str
    utc: str
    adjudicator: str
    machine: str
    version: str
    action: str
    item: str
    case: str
    payload: Mapping[str, Any]
    digest: str


@dataclass(frozen=True)
class LogContent:
    """A log as it was read, from a file or a pack."""

    id: str
    study: str
    adjudicator: str
    machine: str
    created: str
    entries: tuple[Entry, ...]

    @property
    def digest(self) -> str:
        """Of the last entry; of the log itself where there is none."""
        return self.entries[-1].digest if self.entries else self._first

    @property
    def _first(self) -> str:
        return _digest_of("", [self.id, self.study, self.adjudicator, self.machine, self.created])

    def verify(self, source: object = "") -> str:
        """The digest of the last entry; raises :class:`LogError` with the number of the first that does not fit."""
        digest, seen = self._first, set[str]()
        for number, entry in enumerate(self.entries, start=1):
            try:
                digest = entry_digest(digest, entry)
            except (TypeError, ValueError, RecursionError):
                digest = ""  # what is no JSON has none
            if entry.number != number or not digest or entry.digest != digest or entry.uuid in seen:
                raise LogError(
                    f"{source or 'the log'}: entry {number} does not fit the digests: it, or one before it, was "
                    "changed or removed after it was written; use a copy of the file from before"
                )
            seen.add(entry.uuid)
        return digest


# -- digests ---------------------------------------------------------------------------------------


def canonical(payload: object) -> str:
    """JSON in one form alone, whose digest is taken."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def entry_digest(before: str, entry: Entry) -> str:
    """The digest of an entry, given the one before."""
    own = [getattr(entry, field.name) for field in fields(entry) if field.name != "digest"]
    return _digest_of(before, own)


def _digest_of(before: str, values: Sequence[object]) -> str:
    return hashlib.sha256(f"{before}\n{canonical(values)}".encode("utf-8", "surrogatepass")).hexdigest()


def same_study(one: str, other: str) -> bool:
    """Whether two digests of studies have a case in common."""
    cases = [set(filter(None, each.partition(":")[2].split(","))) for each in (one, other)]
    return one == other or bool(cases[0] & cases[1])


# -- places ----------------------------------------------------------------------------------------


def log_name(adjudicator: str, machine: str | None = None) -> str:
    """The name of the file of an adjudicator on a machine: ``NAME@MACHINE.sqlite``, safe on every file system.

    >>> log_name("Dr. Ada", "ward-3"), log_name("<b>", "ward-3")
    ('Dr. Ada@ward-3.sqlite', '_b_-507ca5a2@ward-3.sqlite')
    """
    return f"{_safe(adjudicator)}@{_safe(machine_name() if machine is None else machine)}.sqlite"


def _safe(name: str) -> str:
    kept = re.sub(r"[^\w .-]", "_", name).strip(" .")[:60]
    if kept == name:
        return kept
    return f"{kept}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def make_folder(folder: Path) -> None:
    """A folder for logs and what belongs to them, for its owner alone where it is new: images are unpacked into it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def machine_name() -> str:
    """The name of this machine."""
    return platform.node() or "unknown"


def network_type(path: Path) -> str:
    """The kind of network file system that a path lies on; empty where it is on a disk of this machine."""
    there = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists()).resolve()
    if sys.platform == "win32":
        import ctypes

        remote = ctypes.windll.kernel32.GetDriveTypeW(there.anchor) == 4
        return "network drive" if remote or there.anchor.startswith("\\\\") else ""
    mounts = _linux_mounts() if sys.platform == "linux" else _bsd_mounts()
    holders = [(point, kind) for point, kind in mounts if there.is_relative_to(point)]
    kind = max(holders, key=lambda each: len(PurePath(each[0]).parts))[1] if holders else ""
    return kind if NETWORK.match(kind) else ""


def _linux_mounts() -> list[tuple[str, str]]:
    with suppress(OSError):
        lines = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
        parts = [line.partition(" - ") for line in lines]
        # later mounts hide earlier ones, and max() takes the first of equal ones
        return [(_unescape(left.split()[4]), right.split()[0]) for left, _, right in reversed(parts) if right]
    return []


def _unescape(point: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), point)


def _bsd_mounts() -> list[tuple[str, str]]:
    with suppress(OSError, subprocess.SubprocessError):
        shown = subprocess.run(["/sbin/mount"], capture_output=True, text=True, timeout=5, check=False).stdout
        return re.findall(r" on (.+?) \((\w+)", shown)
    return []


def _refuse_network(path: Path) -> None:
    kind = network_type(path)
    if kind:
        raise LogError(
            f"{path}: lies on a network file system ({kind}), where a decision may be lost though it was said to be "
            f"saved; keep the log on a disk of this machine (--log DIR), and carry it with --pack and --merge"
        )


# -- reading ---------------------------------------------------------------------------------------


def read_log(path: str | Path) -> LogContent:
    """One log, verified; nothing is locked or written."""
    path = Path(path)
    if not path.is_file():
        raise LogError(f"{path}: there is no such log")
    try:
        with closing(_connect(path, "ro")) as connection:
            _check_version(path, connection)
            found = _content(path, connection)
    except sqlite3.Error as error:
        raise LogError(f"{path}: cannot be read as a log of decisions: {error}") from None
    found.verify(path)
    return found


def read_logs(paths: Sequence[str | Path]) -> tuple[LogContent, ...]:
    """Logs of folders (``*.sqlite`` in them), files and packs (``.json``), verified; of two copies, the longer one."""
    found: dict[str, LogContent] = {}
    for path in map(Path, paths):
        if path.is_dir():
            contents = [read_log(file) for file in sorted(path.glob("*.sqlite"))]
        elif path.suffix == ".json":
            contents = list(read_pack(path))
        else:
            contents = [read_log(path)]
        for content in contents:
            known = found.get(content.id)
            if known is None:
                found[content.id] = content
            else:
                found[content.id] = _longer(known, content)
    return tuple(found.values())


def _longer(one: LogContent, other: LogContent) -> LogContent:
    """The longer of two copies of a log; refused where neither goes on from the other."""
    short, long = sorted((one, other), key=lambda each: len(each.entries))
    if [entry.digest for entry in long.entries[: len(short.entries)]] != [entry.digest for entry in short.entries]:
        raise LogError(
            f"the log of {one_line(one.adjudicator)} on {one_line(one.machine)} was continued in two copies; use a "
            "folder of its own for each copy, so that each is a log of its own"
        )
    return long


def read_pack(pack: bytes | str | Path) -> tuple[LogContent, ...]:
    """Logs from a pack, given as a file or as its bytes, verified."""
    shown = "the pack" if isinstance(pack, bytes) else str(pack)
    if not isinstance(pack, bytes):
        path = Path(pack)
        if not path.is_file():
            raise LogError(f"{path}: there is no such pack")
        if path.stat().st_size > LARGEST_PACK:
            raise LogError(f"{path}: has more than {LARGEST_PACK >> 20} MB; pack fewer logs at a time")
        pack = path.read_bytes()
    try:
        document = json.loads(pack)
    except (ValueError, RecursionError):
        raise LogError(f"{shown}: is no JSON; a pack is written by manytruths adjudicate --pack") from None
    kind = document.get("format") if isinstance(document, dict) else None
    if kind == PAGE_FORMAT:
        raise LogError(f"{shown}: was saved by the page; read it with manytruths adjudicate STUDY --merge FILE")
    if kind != PACK_FORMAT:
        raise LogError(f"{shown}: is no pack of logs; one is written by manytruths adjudicate --pack")
    check_format_version(shown, document.get("version"), PACK_VERSION, LogError)
    try:
        contents = tuple(_from_pack(log) for log in document["logs"])
    except (KeyError, TypeError, ValueError, RecursionError):
        raise LogError(f"{shown}: is damaged: an entry is not as it was packed") from None
    for content in contents:
        content.verify(shown)
    return contents


def _from_pack(log: Mapping[str, Any]) -> LogContent:
    canonical(log).encode()  # half a character cannot be stored
    names = [field.name for field in fields(Entry)]
    entries = tuple(Entry(**{name: entry[name] for name in names}) for entry in log["entries"])
    for entry in entries:
        if not isinstance(entry.payload, dict) or not isinstance(entry.number, int) or entry.action not in ACTIONS:
            raise ValueError(entry.number)
        if not all(isinstance(getattr(entry, name), str) for name in names if name not in ("payload", "number")):
            raise ValueError(entry.number)
    head = [log[name] for name in ("id", "study", "adjudicator", "machine", "created")]
    if not all(isinstance(value, str) for value in head):
        raise ValueError("head")
    identifier, study, adjudicator, machine, created = head
    return LogContent(identifier, study, adjudicator, machine, created, entries)


def pack(paths: Sequence[str | Path]) -> bytes:
    """Logs as JSON, to carry them to another machine."""
    logs = [
        {field.name: getattr(content, field.name) for field in fields(content) if field.name != "entries"}
        | {
            "entries": [
                {field.name: getattr(entry, field.name) for field in fields(entry)} for entry in content.entries
            ]
        }
        for content in read_logs(paths)
    ]
    if not logs:
        raise LogError(f"{', '.join(map(str, paths))}: holds no log of decisions")
    return canonical({"format": PACK_FORMAT, "version": PACK_VERSION, "logs": logs}).encode("utf-8", "surrogatepass")


def merge(folder: str | Path, packs: Sequence[bytes | str | Path], *, study: str) -> tuple[Path, ...]:
    """Put logs of packs and other machines into a folder, each in its own file; entries keep number, uuid and digest.

    A log that is there already is extended where the pack goes on from it; two that go different ways are refused.
    """
    folder = Path(folder)
    _refuse_network(folder)
    packed = [
        content
        for each in packs
        for content in (read_pack(each) if isinstance(each, bytes) or not _is_database(each) else [read_log(each)])
    ]
    for content in packed:
        _refuse_other_study(content, study)
    with _not_saved(folder):
        make_folder(folder)
    known = {read_log(path).id: path for path in sorted(folder.glob("*.sqlite"))}
    written = []
    for content in packed:
        path = known.get(content.id) or _free_path(folder, content)
        known[content.id] = path
        with _not_saved(path), _locked(path), closing(_prepared(path, content)) as connection:
            there = _content(path, connection)
            _longer(there, content)
            for entry in content.entries[len(there.entries) :]:
                _insert(connection, entry)
            connection.execute("COMMIT")
        written.append(path)
    return tuple(dict.fromkeys(written))


def _is_database(path: str | Path) -> bool:
    return Path(path).suffix.lower() == ".sqlite"


def _free_path(folder: Path, content: LogContent) -> Path:
    path = folder / log_name(content.adjudicator, content.machine)
    return path.with_name(f"{path.stem}-{_safe(content.id)[:8]}.sqlite") if path.exists() else path


def _refuse_other_study(content: LogContent, study: str, path: object = "") -> None:
    if not same_study(content.study, study):
        raise LogError(
            f"{path or 'a pack'}: the log of {one_line(content.adjudicator)} is of another study: none of its cases is "
            "in this one; name another folder with --log DIR"
        )


# -- writing ---------------------------------------------------------------------------------------


class DecisionLog:
    """An append-only log; a context manager that holds the lock of its file."""

    def __init__(self, path: Path, connection: sqlite3.Connection, content: LogContent, lock: _Lock) -> None:
        self.path, self.study = path, content.study
        self.adjudicator, self.machine = content.adjudicator, content.machine
        self._connection, self._lock, self._guard = connection, lock, threading.Lock()
        self._number, self._digest = len(content.entries), content.digest
        self.finished = is_finished(content.entries)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        study: str,
        adjudicator: str,
        create: bool = True,
        address: str = "",
        machine: str | None = None,
    ) -> DecisionLog:
        """Open a log to append to it; ``study`` comes from :func:`manytruths.study.adjudicated.study_digest`."""
        path = Path(path)
        if not adjudicator.strip():
            raise CallError("an adjudicator has a name; give it with --adjudicator NAME")
        _refuse_network(path)
        if not create and not path.is_file():
            raise LogError(f"{path}: there is no such log")
        created = datetime.now(UTC).isoformat(timespec="seconds")
        machine = machine_name() if machine is None else machine
        new = LogContent(uuids.uuid4().hex, study, adjudicator, machine, created, ())
        with _not_saved(path):
            make_folder(path.parent)
        with _not_saved(path):
            lock = _Lock(path, address)
        try:
            with _not_saved(path):
                connection = _prepared(path, new)
            try:
                with _not_saved(path):
                    connection.execute("COMMIT")
                content = _content(path, connection)
                content.verify(path)
                _refuse_other_study(content, study, path)
                if content.adjudicator != adjudicator:
                    raise LogError(
                        f"{path}: is the log of {one_line(content.adjudicator)}, not of {one_line(adjudicator)}; each "
                        "adjudicator has a log of their own"
                    )
                return cls(path, connection, content, lock)
            except BaseException:
                connection.close()
                raise
        except BaseException:
            lock.release()
            raise

    def set_address(self, address: str) -> None:
        """Say where the server that holds the lock runs."""
        self._lock.write(address)

    @property
    def digest(self) -> str:
        """Of the last entry."""
        return self._digest

    def append(
        self, action: str, *, uuid: str, item: str = "", case: str = "", payload: Mapping[str, Any] | None = None
    ) -> Entry:
        """Append an entry, durably; the same uuid again gives the first entry and appends nothing."""
        if action not in ACTIONS:
            raise CallError(f"an action is one of {', '.join(ACTIONS)}; got {action!r}")
        if not re.fullmatch(r"[0-9A-Za-z-]{8,64}", uuid):
            raise CallError(f"a uuid has 8 to 64 letters, digits and hyphens; got {uuid[:80]!r}")
        try:
            text = canonical({} if payload is None else dict(payload))
            text.encode()
        except (TypeError, ValueError) as error:
            raise CallError(f"a payload is written as JSON: {error}") from None
        with self._guard, _not_saved(self.path):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                known = self._connection.execute(f"{_SELECT} WHERE uuid = ?", (uuid,)).fetchone()
                if known is None and self.finished and action in CLOSED:
                    raise LogFinished(f"{self.path}: was finished, and takes no further decision until it is reopened")
                entry = _entry(known) if known is not None else self._next(action, uuid, item, case, json.loads(text))
                if known is None:
                    _insert(self._connection, entry)
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise
            if known is None:
                self._number, self._digest = entry.number, entry.digest
                self.finished = action == "finish" or (self.finished and action != "reopen")
        return entry

    def _next(self, action: str, uuid: str, item: str, case: str, payload: Mapping[str, Any]) -> Entry:
        from .. import __version__

        utc = datetime.now(UTC).isoformat(timespec="milliseconds")
        entry = Entry(
            self._number + 1, uuid, utc, self.adjudicator, self.machine, __version__, action, item, case, payload, ""
        )
        return Entry(**{**entry.__dict__, "digest": entry_digest(self._digest, entry)})

    def entries(self) -> Iterator[Entry]:
        """All entries, in order."""
        with self._guard:
            rows = self._connection.execute(f"{_SELECT} ORDER BY number").fetchall()
        yield from map(_entry, rows)

    def verify(self) -> str:
        """The digest of the last entry; raises :class:`LogError` with the number of the first that does not fit."""
        with self._guard:
            return _content(self.path, self._connection).verify(self.path)

    def close(self) -> None:
        """Give the lock back."""
        with self._guard:
            self._connection.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def is_finished(entries: Sequence[Entry]) -> bool:
    """Whether the last word of a log is that it is finished."""
    return next((e.action == "finish" for e in reversed(entries) if e.action in ("finish", "reopen")), False)


# -- SQLite ----------------------------------------------------------------------------------------

_COLUMNS = "number, uuid, utc, adjudicator, machine, version, action, item, case_name, payload, digest"
_SELECT = f"SELECT {_COLUMNS} FROM entries"


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    # a journal that a killed process left is rolled back, which takes leave to write
    if mode == "ro" and os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        uri = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(uri, timeout=WAIT, isolation_level=None, check_same_thread=False, uri=True)


def _check_version(path: Path, connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application not in (0, APPLICATION):
        raise LogError(f"{path}: is a database, but no log of decisions")
    return check_format_version(path, version, len(MIGRATIONS), LogError) if version else 0


def _prepared(path: Path, content: LogContent) -> sqlite3.Connection:
    """A log to write to, made or migrated where need be, within a transaction."""
    connection = _connect(path, "rwc")
    try:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("BEGIN IMMEDIATE")
        there = _check_version(path, connection)
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not there and tables:
            raise LogError(f"{path}: is a database, but no log of decisions")
        for number, script in enumerate(MIGRATIONS[there:], start=there + 1):
            for statement in _statements(script):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        if not there:
            head = (content.id, content.study, content.adjudicator, content.machine, content.created)
            connection.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?)", head)
    except BaseException:
        connection.close()
        raise
    return connection


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; ``executescript`` would end the transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _insert(connection: sqlite3.Connection, entry: Entry) -> None:
    values = (
        entry.number, entry.uuid, entry.utc, entry.adjudicator, entry.machine, entry.version, entry.action, entry.item,
        entry.case, canonical(entry.payload), entry.digest,
    )  # fmt: skip
    connection.execute(f"INSERT INTO entries ({_COLUMNS}) VALUES ({', '.join('?' * len(values))})", values)


def _entry(row: Sequence[Any]) -> Entry:
    number, uuid, utc, adjudicator, machine, version, action, item, case, payload, digest = row
    said = json.loads(payload)
    if not isinstance(said, dict) or not all(isinstance(each, str) for each in row[1:]):
        raise TypeError("an entry is text and a JSON object")
    return Entry(number, uuid, utc, adjudicator, machine, version, action, item, case, said, digest)


def _content(path: Path, connection: sqlite3.Connection) -> LogContent:
    """All of a log; whatever is wrong with the file is a :class:`LogError`."""
    try:
        rows = connection.execute("SELECT id, study, adjudicator, machine, created FROM log").fetchall()
        entries = tuple(map(_entry, connection.execute(f"{_SELECT} ORDER BY number")))
    except (sqlite3.Error, TypeError, ValueError, RecursionError) as error:
        raise LogError(
            f"{path}: is damaged, or no log of decisions: {one_line(str(error))}; use a copy of it from before"
        ) from None
    if len(rows) != 1 or not all(isinstance(each, str) for each in rows[0]):
        raise LogError(f"{path}: is damaged, or no log of decisions: it does not say whose it is")
    identifier, study, adjudicator, machine, created = rows[0]
    return LogContent(identifier, study, adjudicator, machine, created, entries)


@contextmanager
def _not_saved(path: Path) -> Iterator[None]:
    """Errors of the disk as :class:`NotSaved`."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        full, busy = code == sqlite3.SQLITE_FULL, code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        if code == sqlite3.SQLITE_NOTADB:
            raise LogError(f"{path}: is no log of decisions") from None
        why = "the disk is full" if full else "another program has locked the file" if busy else str(error)
        raise NotSaved(f"{path}: nothing was saved: {why}; mend that and try again", full) from None
    except OSError as error:
        full = error.errno == 28
        raise NotSaved(f"{path}: nothing was saved: {error.strerror or error}", full) from None


# -- the lock --------------------------------------------------------------------------------------


class _Lock:
    """Refuses a second server on a log; ends with its process. The file says who holds it."""

    def __init__(self, path: Path, address: str) -> None:
        self.path = path.with_name(path.name + ".lock")
        self._log = path
        for _ in range(100):
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                _take(self._descriptor)
                # whoever held it may have removed the file meanwhile
                if sys.platform == "win32" or os.path.samestat(os.fstat(self._descriptor), os.stat(self.path)):
                    break
            except FileNotFoundError:
                pass
            except OSError:
                os.close(self._descriptor)
                raise self._in_use() from None
            os.close(self._descriptor)
        self.write(address)

    def _in_use(self) -> LogInUse:
        try:
            holder = json.loads(self.path.read_bytes())
            pid, address = int(holder["pid"]), one_line(str(holder["address"]))
        except (OSError, ValueError, KeyError, TypeError):
            pid, address = 0, ""
        where = f"process {pid}" + (f" at {address}" if address else "") if pid else "another process"
        return LogInUse(
            f"{self._log}: is in use by {where}; go on there, or end it, or adjudicate under another name "
            "(--adjudicator NAME)", pid, address,
        )  # fmt: skip

    def write(self, address: str) -> None:
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, json.dumps({"pid": os.getpid(), "address": address}).encode())

    def release(self) -> None:
        if self._descriptor < 0:
            return
        with suppress(OSError):
            if sys.platform != "win32":
                self.path.unlink()
        os.close(self._descriptor)
        self._descriptor = -1


def _take(descriptor: int) -> None:
    """Lock a file or raise ``OSError``."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, 1 << 20, os.SEEK_SET)  # beyond what is read
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        return
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = _Lock(path, "")
    try:
        yield
    finally:
        lock.release()
