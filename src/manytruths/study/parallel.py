"""Work on cases in several processes; results come in order, the same whatever the number."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

from ..errors import CallError, InputError

T = TypeVar("T")
R = TypeVar("R")

Progress = Callable[[int, int], None]
"""Called with how many are done, and of how many."""


def in_order(work: Callable[[T], R], items: Sequence[T], jobs: int, progress: Progress | None) -> Iterator[R]:
    """``work`` of every item, ``jobs`` at a time."""
    if jobs < 1:
        raise CallError(f"jobs is a positive number; got {jobs}")
    results = map(work, items) if jobs == 1 or len(items) < 2 else _spread(work, items, min(jobs, len(items)))
    if progress:
        progress(0, len(items))
    for done, result in enumerate(results, start=1):
        if progress:
            progress(done, len(items))
        yield result


def _spread(work: Callable[[T], R], items: Sequence[T], jobs: int) -> Iterator[R]:
    context = _context(getattr(work, "func", work).__module__)
    chunk = max(1, min(16, len(items) // (4 * jobs)))
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=begin_process) as pool:
        try:
            with _main_hidden(work), warnings.catch_warnings():
                # newer Pythons warn of any thread at a fork, NumPy's own too, which mind no fork
                warnings.simplefilter("ignore", DeprecationWarning)
                results = pool.map(work, items, chunksize=chunk)
            yield from results
        except BrokenProcessPool:
            raise InputError("a process that read the masks was killed, probably for memory; use fewer jobs") from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _context(module: str) -> multiprocessing.context.BaseContext:
    """Fork on Linux while there is one thread: nothing to import again. Beside threads a fork server is safe, where
    there is one; elsewhere new processes are spawned."""
    methods = multiprocessing.get_all_start_methods()
    if sys.platform == "linux" and threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    if "forkserver" not in methods:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["manytruths.study", *([] if module == "__main__" else [module])])
    return context


def begin_process() -> None:
    """In a new process: Ctrl-C is for the one that asked, and when that one is killed nobody is left working."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _main_hidden(work: Callable[..., object]) -> Iterator[None]:
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
