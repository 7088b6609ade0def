"""Keep the libraries that decode files from talking."""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager


class Shared:
    """A context that changes something global: the first thread enters it, the last one leaves it."""

    def __init__(self, make: Callable[[], AbstractContextManager[None]]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._inside = 0
        self._context: AbstractContextManager[None] | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._context = self._make()
                self._context.__enter__()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._context is not None:
                self._context.__exit__(None, None, None)


@contextmanager
def _silence() -> Iterator[None]:
    # A logger without handlers prints its warnings to stderr.
    for name in ("PIL", "tifffile"):
        if not logging.getLogger(name).handlers:
            logging.getLogger(name).addHandler(logging.NullHandler())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _deaf() -> Iterator[None]:
    """Standard error leads nowhere for a moment: libtiff prints there by itself what it thinks of a file."""
    # only where the process is a command's own: elsewhere other threads may have something to say
    if "manytruths.cli" not in sys.modules:
        yield
        return
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


quiet = Shared(_silence)
muted_stderr = Shared(_deaf)
