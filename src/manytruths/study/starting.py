"""How processes start: in which way, without signals half-way, and without the main script."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def context_for(module: str) -> multiprocessing.context.BaseContext:
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
def held() -> Iterator[None]:
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
def main_hidden(work: Callable[..., object]) -> Iterator[None]:
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
