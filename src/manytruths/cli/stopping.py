"""Signals that end a run: temporary files are cleared away, other processes end, and one line is printed."""

from __future__ import annotations

import signal
import sys
import time
from typing import Any, NoReturn

PATIENCE = 8.0
"""Seconds in which a further signal changes nothing, while files are cleared away."""
NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Stopped(KeyboardInterrupt):
    """A signal came."""


class _State:
    number: int | None = None
    at = 0.0
    over = False


def received() -> int | None:
    """The signal that came, if one did."""
    return _State.number


def heed() -> None:
    """From now on signals raise :class:`Stopped`, those that are ignored (``nohup``) stay so."""
    sys.unraisablehook = _unraisable
    for name in NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _come)


def ignore() -> None:
    """The run is over; its status is known."""
    _State.over = True
    for name in NAMES:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def _come(number: int, frame: object) -> None:
    now = time.monotonic()
    if _State.over or (_State.number is not None and now - _State.at < PATIENCE):
        return
    _State.number, _State.at = number, now
    _stop()


def _stop() -> NoReturn:
    processes = sys.modules.get("manytruths.study.processes")
    if processes is not None and hasattr(processes, "stop"):
        processes.stop()
    raise Stopped


def _unraisable(told: Any) -> None:
    """Nothing is said of errors that nobody can catch, in the ends of objects. Where one of them was that a signal
    came, it is raised again a moment later."""
    if told.exc_type is not None and issubclass(told.exc_type, KeyboardInterrupt) and not _State.over:
        import _thread
        import threading

        _State.at = -PATIENCE
        again = threading.Timer(0.01, _thread.interrupt_main, (_State.number or signal.SIGINT,))
        again.daemon = True
        again.start()
