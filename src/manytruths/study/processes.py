"""Work on cases in several processes; results come in order and do not depend on the number of processes.

The processes are started, fed and read by the calling one, without threads: when a worker runs out of memory, is killed
or is interrupted, the caller sees it at once, together with the case it was working on. Another process takes the place
of one that ended, and the case is tried again with nothing beside it. Signals are held back while processes start, and
the main script is not run again in them.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, NoReturn, TypeVar

from ..core.errors import CallError, InputError, ManytruthsError, TooLarge, find_memory_error
from ..io.images import probe

STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

GRACE = 5.0
"""Seconds for a process that is told to end to clear away what it was writing."""

_live: list[_Pool[Any, Any]] = []

DEATHS = 3
"""A case that was being worked on when so many processes ended is not tried again."""

KILLED = "by signal 9"
"""How the system ends a process where memory runs out."""

T = TypeVar("T")

R = TypeVar("R")

Progress = Callable[[int, int], None]
"""Called with how many are done, and of how many."""


def map_in_order(work: Callable[[T], R], items: Sequence[T], jobs: int, progress: Progress | None) -> Iterator[R]:
    """``work`` of every item, ``jobs`` at a time."""
    if jobs < 1:
        raise CallError(f"jobs must be at least 1; got {jobs}")
    if progress:
        progress(0, len(items))
    for done, result in enumerate(_results(work, items, min(jobs, len(items))), start=1):
        if progress:
            progress(done, len(items))
        yield result


def _results(work: Callable[[T], R], items: Sequence[T], jobs: int) -> Iterator[R]:
    done = 0
    for result in spread(work, items, jobs) if jobs > 1 else ():
        if isinstance(result, Failure):
            raise_failure(result, items[done], jobs)
        yield result
        done += 1
    # one process was asked for, or no other could be started
    for item in items[done:]:
        try:
            result = work(item)
        except Exception as error:
            if find_memory_error(error) is None:
                raise
            short = failure_of(error)
        else:
            yield result
            continue
        # out here the frames of the error are gone, and with them what they held
        raise_failure(short, item, 1)


def raise_failure(failure: Failure, item: Any, jobs: int) -> NoReturn:
    """The error of an item, with how large it is where it was too large."""
    error = failure.error
    if failure.killed and failure.killed != KILLED:
        case = getattr(item, "name", "")
        where = f"case {case}: " if case else ""
        raise InputError(f"{where}its process ended {failure.killed}, without saying why; run it again with --jobs 1")
    if error is None or isinstance(error, MemoryError):
        raise _too_large(item, jobs, failure) from (Elsewhere(failure.traceback) if failure.traceback else None)
    raise error from Elsewhere(f"in another process:\n{failure.traceback}")


def _too_large(item: Any, jobs: int, failure: Failure) -> TooLarge:
    case = getattr(item, "name", None) or getattr(item, "case", None)
    where = f"case {case}: " if case else ""
    masks, shape = len(getattr(item, "masks", ())), _shape(item)
    what = f"{masks} masks of {'×'.join(map(str, shape))}" if masks and shape else ""
    asked = f" ({failure.error})" if str(failure.error or "") else ""
    if failure.killed:
        message = f"{where}its process was killed {failure.killed}, probably for memory"
    else:
        message = f"{where}does not fit into memory{asked}"
    image = getattr(item, "image", None) is not None
    return TooLarge(message, what, math.prod(shape) if what else 0, masks, image, jobs)


def _shape(item: Any) -> tuple[int, ...]:
    """The size of a case's first mask, by its header."""
    try:
        sources = next(iter(getattr(item, "masks", {}).values()))
        source = next(iter(sources.values()))
        return source.shape if hasattr(source, "shape") else probe(source).shape
    except (StopIteration, ManytruthsError, AttributeError, MemoryError):
        return ()


class Elsewhere(RuntimeError):
    """An error of another process that could not be brought here; its text is that of the error."""


@dataclass(frozen=True)
class Failure:
    """What became of an item that has no result."""

    error: BaseException | None
    traceback: str = ""
    killed: str = ""
    """How its process ended, where it did."""


def failure_of(error: Exception) -> Failure:
    """An error with its traceback as text, and without what its frames hold in memory."""
    trace = ""
    with suppress(MemoryError):
        trace = "".join(traceback.format_exception(error))
    short = find_memory_error(error)
    last_line = "" if short is None else (str(short).strip().splitlines() or [""])[-1]
    return Failure((error if short is None else MemoryError(last_line)).with_traceback(None), trace)


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


class Crew:
    """Processes that stay for several rounds of work, as on the tiles of a large case."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._pool: _Pool[tuple[bytes, Any], Any] | None = None

    def map(self, work: Callable[[T], R], items: Sequence[T]) -> Iterator[R | Failure]:
        """``work`` of every item, in order; nothing at all where no process can be started."""
        packed = pickle.dumps(work, pickle.HIGHEST_PROTOCOL)
        pool = self.start()
        try:
            # a list of its own would be pickled with every item
            for index in pool.extend([(packed, item) for item in items]) if pool.helpers else ():
                while index not in pool.done:
                    pool.listen()
                yield pool.done.pop(index)
        except BaseException:
            self.end()
            raise

    def start(self) -> _Pool[tuple[bytes, Any], Any]:
        """The processes, which are started where they do not run yet: before threads are, a process can be forked."""
        if self._pool is None:
            self._pool = _Pool(run_packed, [], chunk=1)
            _live.append(self._pool)
            self._pool.start(self.jobs)
        return self._pool

    def end(self) -> None:
        """Nobody is left."""
        if self._pool is not None:
            self._pool.end()
            _live.remove(self._pool)
            self._pool = None


def run_packed(item: tuple[bytes, Any]) -> Any:
    """What a crew is asked: pickled work, which is the same for many items, and one of them."""
    return _unpack(item[0])(item[1])


@lru_cache(maxsize=1)
def _unpack(packed: bytes) -> Callable[[Any], Any]:
    work: Callable[[Any], Any] = pickle.loads(packed)
    return work


def stop() -> None:
    """End all processes that :func:`spread` started. Whoever is told to stop calls this first: nobody must still be
    writing where files are being cleared away."""
    for pool in _live:
        pool.end()


@dataclass
class _Helper:
    process: BaseProcess
    pipe: Connection
    at: deque[int] = field(default_factory=deque)
    """What it was given and has not answered yet, in order."""


class _Pool(Generic[T, R]):
    def __init__(self, work: Callable[[T], R], items: Sequence[T], *, chunk: int = 0) -> None:
        self.work, self.items = work, items
        self.helpers: list[_Helper] = []
        self.done: dict[int, R | Failure] = {}
        self._next = 0
        self._again: deque[int] = deque()
        """What processes that ended have left undone."""
        self._deaths = Counter[int]()
        self._failed = False
        self._chunk = chunk
        """Items that a process gets at a time; 0 where that depends on their number."""
        self._forked = self._inherit = False

    def start(self, jobs: int) -> None:
        """As many processes as there can be: limits of the system may allow fewer."""
        self._context: Any = context_for(getattr(self.work, "func", self.work).__module__)
        self._forked = self._context.get_start_method() == "fork"
        # a forked process has the items already, unless there are more to come
        self._inherit = self._forked and bool(self.items)
        self._chunk = self._chunk or max(1, min(16, len(self.items) // (4 * jobs)))
        self._start(jobs)
        self._feed_idle()

    def extend(self, items: Sequence[T]) -> range:
        """Give out more; where they stand among all items."""
        first = len(self.items)
        self.items = [*self.items, *items]
        self._feed_idle()
        return range(first, len(self.items))

    def _start(self, count: int) -> None:
        if not self._forked and sys.platform != "win32":
            # its start would let signals through again
            resource_tracker.ensure_running()
        with hold_signals(), hide_main(self.work), warnings.catch_warnings(), suppress(OSError, EOFError, MemoryError):
            # newer Pythons warn of any thread at a fork, NumPy's own too, which mind no fork
            warnings.simplefilter("ignore", DeprecationWarning)
            for _ in range(count):
                self._start_one()

    def _start_one(self) -> None:
        here, there = self._context.Pipe()
        shared = self.items if self._inherit else None
        process = self._context.Process(target=_serve, args=(self.work, shared, there))
        try:
            process.start()
        except BaseException:
            here.close()
            raise
        finally:
            there.close()
        self.helpers.append(_Helper(process, here))

    def _feed_idle(self) -> None:
        for helper in self.helpers:
            if not helper.at:
                self._feed(helper)

    def _feed(self, helper: _Helper) -> None:
        """The next few items; no new ones after a failure, as everything before it is given out already."""
        some: Sequence[int]
        if self._again:
            # alone, so that it has all memory, and nobody else is blamed for what it does
            if any(other.at for other in self.helpers):
                return
            some = [self._again.popleft()]
        elif self._next < len(self.items) and not self._failed:
            some = range(self._next, min(self._next + self._chunk, len(self.items)))
            self._next = some.stop
        else:
            return
        helper.at.extend(some)
        with suppress(OSError):
            helper.pipe.send([(i, None if self._inherit else self.items[i]) for i in some])

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
            self._feed_idle()

    def _lost(self, helper: _Helper) -> None:
        """Put another process in the place of one that ended, and try again what it was at."""
        helper.process.join(GRACE)
        code = helper.process.exitcode or 0
        how = f"by signal {-code}" if code < 0 else f"with status {code}"
        self.helpers.remove(helper)
        helper.pipe.close()
        # of several items it was at the first
        first, *_ = helper.at
        self._deaths[first] += 1
        if self._deaths[first] == DEATHS:
            self.done[helper.at.popleft()] = Failure(None, killed=how)
            self._failed = True
        self._again = deque(sorted((*self._again, *helper.at)))
        self._start(1)
        if not self.helpers:
            self.done |= dict.fromkeys(self._again, Failure(None, killed=how))
        self._feed_idle()

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
                pipe.send_bytes(answer(work, index, items[index] if items is not None else item))
    except (EOFError, OSError, MemoryError):
        # the one who asked is gone; or it sees that this one is
        os._exit(1)


def _leave(number: int, frame: object) -> None:
    # what is being written is cleared away as the stack unwinds
    raise SystemExit(128 + number)


def answer(work: Callable[[Any], Any], index: int, item: Any) -> bytes:
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


def _text(error: BaseException | None) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def context_for(module: str) -> multiprocessing.context.BaseContext:
    """Fork on Linux while there is one thread: nothing to import again. Beside threads a fork server is safe, where
    there is one; elsewhere new processes are spawned."""
    methods = multiprocessing.get_all_start_methods()
    if sys.platform == "linux" and threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    if "forkserver" not in methods:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    # what is slow to import and has been needed here will be needed there
    known = [name for name in ("zarr", "tifffile") if name in sys.modules]
    context.set_forkserver_preload(["manytruths.study", *known, *([] if module == "__main__" else [module])])
    return context


def begin_process() -> None:
    """In a new process: Ctrl-C is for the one that asked, and when that one is killed nobody is left working."""
    for number in STOPPING:
        if number != signal.SIGTERM:
            signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
    with suppress(RuntimeError, MemoryError):
        threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def hold_signals() -> Iterator[None]:
    """Signals that end the run wait until the block is over; processes that it starts do not get them before
    :func:`begin_process`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    before = {number: signal.getsignal(number) for number in STOPPING}
    mask: Any = None
    try:
        for number in [n for n, handler in before.items() if callable(handler)]:
            signal.signal(number, lambda number, frame: caught.append(number))
        if hasattr(signal, "pthread_sigmask"):
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number in [n for n, handler in before.items() if callable(handler)]:
            signal.signal(number, before[number])
    handler = before[signal.Signals(caught[0])] if caught else None
    if callable(handler):
        handler(caught[0], None)


@contextmanager
def hide_main(work: Callable[..., object]) -> Iterator[None]:
    """New processes would run the main script again to find what it defines; our own work needs nothing of it.

    So a script may ask for jobs without guarding its ``__main__``, and processes start faster.
    """
    main = sys.modules["__main__"]
    if getattr(work, "func", work).__module__ == "__main__":
        yield
        return
    hidden = {name: main.__dict__.pop(name) for name in ("__file__", "__spec__") if name in main.__dict__}
    main.__spec__ = None
    try:
        yield
    finally:
        main.__dict__.update({str(name): value for name, value in hidden.items()})
