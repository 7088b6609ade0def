"""Processes that work on items, fed and heard by the one that asked.

There is no thread among them: what one of them does when it is short of memory, killed or interrupted is seen here, at
once, together with the item it was at.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from ..core.errors import find_memory_error
from .starting import begin_process, context_for, held, main_hidden

T = TypeVar("T")
R = TypeVar("R")

GRACE = 5.0
"""Seconds for a process that is told to end to clear away what it was writing."""


_live: list[_Pool[Any, Any]] = []


class Elsewhere(RuntimeError):
    """An error of another process that could not be brought here; its text is that of the error."""


@dataclass(frozen=True)
class Failure:
    """What became of an item that has no result."""

    error: BaseException | None
    traceback: str = ""
    killed: str = ""
    """How its process ended, where it did."""


@dataclass
class _Helper:
    process: BaseProcess
    pipe: Connection
    at: deque[int] = field(default_factory=deque)
    """What it was given and has not answered yet, in order."""


def spread(work: Callable[[T], R], items: Sequence[T], jobs: int) -> Iterator[R | Failure]:
    """``work`` of every item, in order; nothing at all where no process can be started."""
    pool = _Pool(work, items)
    _live.append(pool)
    try:
        pool.start(jobs)
        if not pool.helpers:
            return
        for index in range(len(items)):
            while index not in pool.done:
                pool.listen()
            yield pool.done.pop(index)
        pool.dismiss()
    finally:
        pool.end()
        _live.remove(pool)


def stop() -> None:
    """End all processes that :func:`spread` started. Whoever is told to stop calls this first: nobody must still be
    writing where files are being cleared away."""
    for pool in _live:
        pool.end()


class _Pool(Generic[T, R]):
    def __init__(self, work: Callable[[T], R], items: Sequence[T]) -> None:
        self.work, self.items = work, items
        self.helpers: list[_Helper] = []
        self.done: dict[int, R | Failure] = {}
        self._next = 0
        self._failed = False
        self._forked = False

    def start(self, jobs: int) -> None:
        """As many processes as there can be: limits of the system may allow fewer."""
        context = context_for(getattr(self.work, "func", self.work).__module__)
        self._forked = context.get_start_method() == "fork"
        self._chunk = max(1, min(16, len(self.items) // (4 * jobs)))
        if not self._forked and sys.platform != "win32":
            # its start would let signals through again
            resource_tracker.ensure_running()
        with held(), main_hidden(self.work), warnings.catch_warnings(), suppress(OSError, EOFError, MemoryError):
            # newer Pythons warn of any thread at a fork, NumPy's own too, which mind no fork
            warnings.simplefilter("ignore", DeprecationWarning)
            for _ in range(jobs):
                self._start_one(context)
        for helper in self.helpers:
            self._feed(helper)

    def _start_one(self, context: Any) -> None:
        here, there = context.Pipe()
        shared = self.items if self._forked else None
        process = context.Process(target=_serve, args=(self.work, shared, there))
        try:
            process.start()
        except BaseException:
            here.close()
            raise
        finally:
            there.close()
        self.helpers.append(_Helper(process, here))

    def _feed(self, helper: _Helper) -> None:
        """The next few items; none after a failure, as everything before it is given out already."""
        if self._failed or self._next == len(self.items):
            return
        some = range(self._next, min(self._next + self._chunk, len(self.items)))
        self._next = some.stop
        helper.at.extend(some)
        # a forked process has the items already
        with suppress(OSError):
            helper.pipe.send([(i, None if self._forked else self.items[i]) for i in some])

    def listen(self) -> None:
        """Take what has been answered."""
        busy = [helper for helper in self.helpers if helper.at]
        ready = wait([*(h.pipe for h in busy), *(h.process.sentinel for h in busy)])
        for helper in busy:
            if helper.pipe in ready:
                self._hear(helper)
            elif helper.process.sentinel in ready and not helper.pipe.poll():
                self._lost(helper)

    def _hear(self, helper: _Helper) -> None:
        try:
            message = helper.pipe.recv_bytes()
        except (EOFError, OSError):
            self._lost(helper)
            return
        index, answer = pickle.loads(message)
        helper.at.remove(index)
        self.done[index] = answer
        self._failed = self._failed or isinstance(answer, Failure)
        if not helper.at:
            self._feed(helper)

    def _lost(self, helper: _Helper) -> None:
        helper.process.join(GRACE)
        code = helper.process.exitcode or 0
        how = f"by signal {-code}" if code < 0 else f"with status {code}"
        # of several items it was at the first; what comes behind a failure is not asked for
        for index in helper.at:
            self.done[index] = Failure(None, killed=how)
        helper.at.clear()
        self._failed = True

    def dismiss(self) -> None:
        """All is done: they may go."""
        for helper in self.helpers:
            with suppress(OSError):
                helper.pipe.send(None)
        _join(self.helpers)

    def end(self) -> None:
        """Nobody is left, whatever happened."""
        for helper in self.helpers:
            helper.process.terminate()
        _join(self.helpers)
        for helper in self.helpers:
            if helper.process.is_alive():
                helper.process.kill()
                helper.process.join()
            helper.pipe.close()


def _join(helpers: Iterable[_Helper]) -> None:
    until = time.monotonic() + GRACE
    for helper in helpers:
        helper.process.join(max(0.0, until - time.monotonic()))


def _serve(work: Callable[[Any], Any], items: Sequence[Any] | None, pipe: Connection) -> None:
    """In a process of its own: answer until nobody asks."""
    with suppress(AttributeError, ValueError):
        signal.signal(signal.SIGTERM, _leave)
    begin_process()
    _live.clear()
    try:
        while (todo := pipe.recv()) is not None:
            for index, item in todo:
                pipe.send_bytes(_answer(work, index, items[index] if items is not None else item))
    except (EOFError, OSError, MemoryError):
        # the one who asked is gone; or it sees that this one is
        os._exit(1)


def _leave(number: int, frame: object) -> None:
    # what is being written is cleared away as the stack unwinds
    raise SystemExit(128 + number)


def _answer(work: Callable[[Any], Any], index: int, item: Any) -> bytes:
    try:
        return pickle.dumps((index, work(item)), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        failure = failure_of(error)
    try:
        message = pickle.dumps((index, failure))
        pickle.loads(message)
    except Exception:
        # not every exception survives the journey
        plain = Failure(Elsewhere(_text(failure.error)), failure.traceback)
        message = pickle.dumps((index, plain))
    return message


def failure_of(error: Exception) -> Failure:
    """An error with its traceback as text, and without what its frames hold in memory."""
    told = ""
    with suppress(MemoryError):
        told = "".join(traceback.format_exception(error))
    short = find_memory_error(error)
    return Failure((error if short is None else MemoryError(_last(short))).with_traceback(None), told)


def _last(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else ""


def _text(error: BaseException | None) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__
