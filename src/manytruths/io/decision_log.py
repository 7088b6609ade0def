"""The log of an adjudicator's decisions: one SQLite file for each adjudicator and machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..core.errors import InputError, WriteError

FOLDER = "manytruths-adjudication"
"""Where logs are by default, in the current folder."""
ACTIONS = ("open", "look", "show", "decide", "undo", "rule", "skip", "second", "add", "finish", "reopen")


class LogError(InputError):
    """A log that cannot be used: of another study, of a newer version, damaged, or on a network path."""


class LogInUse(LogError):
    """A second server on the same log; ``pid`` and ``address`` say where the first runs."""

    pid: int = 0
    address: str = ""


class NotSaved(WriteError):
    """An entry was not saved: the disk is full, locked or gone. Nothing was written."""

    full: bool = False


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


class DecisionLog:
    """An append-only log; a context manager that holds the lock of its file."""

    path: Path
    study: str
    adjudicator: str
    machine: str

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
        raise NotImplementedError

    def set_address(self, address: str) -> None:
        """Say where the server that holds the lock runs."""
        raise NotImplementedError

    def append(
        self, action: str, *, uuid: str, item: str = "", case: str = "", payload: Mapping[str, Any] | None = None
    ) -> Entry:
        """Append an entry, durably; the same uuid again gives the first entry and appends nothing."""
        raise NotImplementedError

    def entries(self) -> Iterator[Entry]:
        """All entries, in order."""
        raise NotImplementedError

    def verify(self) -> str:
        """The digest of the last entry; raises :class:`LogError` with the number of the first that does not fit."""
        raise NotImplementedError

    def close(self) -> None:
        """Give the lock back."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def log_name(adjudicator: str, machine: str | None = None) -> str:
    """The name of the file of an adjudicator on a machine: ``NAME@MACHINE.sqlite``, safe on every file system."""
    raise NotImplementedError


@dataclass(frozen=True)
class LogContent:
    """A log as it was read, from a file or a pack."""

    study: str
    adjudicator: str
    machine: str
    entries: tuple[Entry, ...]

    @property
    def digest(self) -> str:
        """Of the last entry."""
        return self.entries[-1].digest if self.entries else ""


def read_logs(paths: Sequence[str | Path]) -> tuple[LogContent, ...]:
    """Logs of folders, files (``.sqlite``) and packs (``.json``), verified; nothing is locked or written."""
    raise NotImplementedError


def pack(paths: Sequence[str | Path]) -> bytes:
    """Logs as JSON, to carry them to another machine."""
    raise NotImplementedError


def merge(folder: str | Path, packs: Sequence[bytes | str | Path], *, study: str) -> tuple[Path, ...]:
    """Put packed logs into a folder, each in its own file; entries keep number, uuid and digest.

    A log that is there already is extended where the pack goes on from it; two that go different ways are refused.
    """
    raise NotImplementedError
