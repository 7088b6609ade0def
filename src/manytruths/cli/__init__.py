"""The command line.

Modules are imported when they are needed: :func:`main` cannot catch what happens before it is called.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .process import Streams

__all__ = ["app", "main", "status"]

DEBUG = "--debug"


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .app import app

    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command as a process: streams, signals, exit status."""
    try:
        from .process import handle_signals, ignore_signals, restrain_blas

        handle_signals()
        restrain_blas()
        from .process import Streams

        streams = Streams()
        code = status(arguments)
        ignore_signals()
        code = _flush_output(streams, code)
    except KeyboardInterrupt as error:
        # before a command starts, or while its last line is printed
        code = _report_error(error, [])
    sys.exit(code)


def status(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; an error becomes one line on standard error."""
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    end = given.index("--") if "--" in given else len(given)
    debug = DEBUG in given[:end]
    given = [word for i, word in enumerate(given) if word != DEBUG or i >= end]
    try:
        return _run(given)
    except SystemExit:
        raise
    except BaseException as error:
        if debug:
            import traceback

            with suppress(MemoryError):
                traceback.print_exception(error)
        raised = _without_tracebacks(error)
    # here the memory that the error held is free again
    return _report_error(raised, given)


def _run(given: list[str]) -> int:
    from .app import app
    from .process import received_signal

    code = int(app(given, exit_on_error=False, print_error=False, result_action="return_value") or 0)
    if received_signal() is not None:
        # another package has caught the signal
        raise KeyboardInterrupt
    return code


def _without_tracebacks(error: BaseException) -> BaseException:
    """Drop the frames of an error and of its causes, and with them the arrays they hold."""
    link: BaseException | None = error
    while link is not None:
        link.__traceback__ = None
        link = link.__cause__ or link.__context__
    return error


def _report_error(error: BaseException, given: list[str]) -> int:
    """Print the line of an error, and return the exit status."""
    try:
        from .failures import describe_failure, print_failure

        failure = describe_failure(error, given)
        print_failure(failure)
        return failure.status
    except Exception:
        # too little memory even for that
        what = b"out of memory" if isinstance(error, MemoryError) else type(error).__name__.encode()
        with suppress(OSError):
            os.write(2, b"manytruths: unexpected error: " + what + b"\n")
        return 1


def _flush_output(streams: Streams, code: int) -> int:
    error = streams.end()
    if error is None:
        return code
    print(
        f"manytruths: standard output cannot be written: {error.strerror}; what goes into files is not affected",
        file=sys.stderr,
    )
    return code or 1
