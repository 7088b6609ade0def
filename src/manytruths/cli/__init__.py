"""The command line.

Nothing is imported before it is asked for: what comes before :func:`main` is not guarded by it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .streams import Streams

__all__ = ["app", "main", "status"]

DEBUG = "--debug"


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .verbs import app

    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Be the process of a command: its streams, its signals, its exit."""
    try:
        from .stopping import heed, ignore

        heed()
        from .streams import Streams

        streams = Streams()
        code = status(arguments)
        ignore()
        code = _printed(streams, code)
    except KeyboardInterrupt as error:
        # before the first line of a command, or while its last was printed
        code = _told(error, [])
    sys.exit(code)


def status(arguments: Sequence[str] | None = None) -> int:
    """Run a command; whatever it raises becomes one line and a status."""
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    end = given.index("--") if "--" in given else len(given)
    debug = DEBUG in given[:end]
    given = [word for i, word in enumerate(given) if word != DEBUG or i >= end]
    try:
        return _done(given)
    except SystemExit:
        raise
    except BaseException as error:
        if debug:
            import traceback

            with suppress(MemoryError):
                traceback.print_exception(error)
        raised = _light(error)
    # out here all that the error held in memory is free again
    return _told(raised, given)


def _done(given: list[str]) -> int:
    from .stopping import received
    from .verbs import app

    code = int(app(given, exit_on_error=False, print_error=False, result_action="return_value") or 0)
    if received() is not None:
        # somebody else has caught it
        raise KeyboardInterrupt
    return code


def _light(error: BaseException) -> BaseException:
    """An error without the frames that it and what it came of went through."""
    one: BaseException | None = error
    while one is not None:
        one.__traceback__ = None
        one = one.__cause__ or one.__context__
    return error


def _told(error: BaseException, given: list[str]) -> int:
    """Print what is to be said of an error; the status."""
    try:
        from .failing import failure_of, tell

        failure = failure_of(error, given)
        tell(failure)
        return failure.status
    except Exception:
        # not even that much memory is left
        what = b"out of memory" if isinstance(error, MemoryError) else type(error).__name__.encode()
        with suppress(OSError):
            os.write(2, b"manytruths: unexpected error: " + what + b"\n")
        return 1


def _printed(streams: Streams, code: int) -> int:
    error = streams.end()
    if error is None:
        return code
    print(
        f"manytruths: standard output cannot be written: {error.strerror}; what goes into files is not affected",
        file=sys.stderr,
    )
    return code or 1
