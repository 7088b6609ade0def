"""The process of a command: signals that stop it, and standard streams to which printing never fails.

A signal raises :class:`Stopped`, so that temporary files are removed and worker processes end. Characters that the
encoding of a stream lacks are printed as plain text with the same meaning. A stream that was closed before the start
acts like ``/dev/null``; an error of writing is kept and reported at the end.
"""

from __future__ import annotations

import codecs
import errno
import io
import mmap
import os
import signal
import sys
import time
from typing import Any, NoReturn, TextIO

PATIENCE = 8.0
"""Seconds in which further signals are ignored, while files are removed."""
NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
"""What sets the number of threads of OpenBLAS; who sets one of them has chosen."""
BLAS_USERS = (
    "numpy._core._multiarray_umath", "scipy.linalg._fblas", "scipy.special._ufuncs", "scipy.optimize._lbfgsb",
    "scipy.sparse.linalg._dsolve._superlu", "scipy.interpolate._dierckx", "scipy.integrate._odepack",
)  # fmt: skip
"""Modules of NumPy and SciPy with which OpenBLAS is loaded: of each package, by the first that is imported."""
BLAS_ROOM = 80_000_000
"""Bytes of addresses for OpenBLAS (28 MB, and a buffer of 34 MB) and the module that it is loaded with."""


class Stopped(KeyboardInterrupt):
    """A signal was received."""


class _State:
    number: int | None = None
    at = 0.0
    over = False


def received_signal() -> int | None:
    """The number of the signal that was received, if any."""
    return _State.number


def handle_signals() -> None:
    """Let signals raise :class:`Stopped`; signals that are ignored (``nohup``) stay ignored."""
    sys.unraisablehook = _unraisable
    for name in NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _on_signal)


def restrain_blas() -> None:
    """Keep OpenBLAS to one thread, and from being loaded where it does not fit; before NumPy is imported.

    Cases are spread over processes instead. Where addresses or processes are limited (``ulimit``), OpenBLAS interrupts
    the process when it cannot start its threads, and some versions wait for ever when they get no buffer.
    """
    if not any(name in os.environ for name in BLAS_THREADS):
        os.environ[BLAS_THREADS[0]] = "1"
    try:
        import resource
    except ImportError:  # not on Windows
        return
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        sys.meta_path.insert(0, _RoomForBlas())


class _RoomForBlas:
    """Finds no module, but raises :class:`MemoryError` before one for which there is no room."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        package = name.partition(".")[0] + "."
        if name in BLAS_USERS and not any(one in sys.modules for one in BLAS_USERS if one.startswith(package)):
            try:
                mmap.mmap(-1, BLAS_ROOM).close()
            except OSError as error:
                raise MemoryError from error


def ignore_signals() -> None:
    """Ignore signals from now on: the exit status is known."""
    _State.over = True
    for name in NAMES:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def _on_signal(number: int, frame: object) -> None:
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


def _unraisable(error: Any) -> None:
    """Stay silent about errors in destructors; a signal that was received in one is raised again a moment later."""
    if error.exc_type is not None and issubclass(error.exc_type, KeyboardInterrupt) and not _State.over:
        import _thread
        import threading

        _State.at = -PATIENCE
        again = threading.Timer(0.01, _thread.interrupt_main, (_State.number or signal.SIGINT,))
        again.daemon = True
        again.start()


ERRORS = "manytruths"
PLAIN = {
    "×": "x", "–": "-", "—": "-", "−": "-", "‑": "-", "…": "...", "±": "+/-", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~",
    "→": "->", "←": "<-", "↑": "^", "↓": "v", "·": ".", "•": "*", "°": " degrees", "²": "2", "³": "3", "½": "1/2",
    "‘": "'", "’": "'", "“": '"', "”": '"', "\u00a0": " ", "\u202f": " ", "\u2009": " ",
    "α": "alpha", "β": "beta", "κ": "kappa", "λ": "lambda", "µ": "u", "μ": "u", "ρ": "rho", "σ": "sigma", "τ": "tau",
    "χ": "chi", "Δ": "Delta", "Σ": "Sigma", "√": "sqrt", "✓": "yes", "✗": "no", "\u0304": "-bar",
    "π": "pi", "φ": "phi", "θ": "theta", "δ": "delta", "ψ": "psi", "∩": "and", "∞": "inf",
    "─": "-", "━": "-", "═": "=", "│": "|", "┃": "|", "╸": "-", "╺": "-", "╶": "-", "╴": "-", "█": "#",
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯┏┓┗┛┡┩╇", "+"),
}  # fmt: skip
"""What is printed for characters that an encoding lacks; all others, such as letters of names, as their number."""


class Sink(io.RawIOBase):
    """The bytes of a stream; after the first error, which is kept in ``error``, they are dropped."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.error: OSError | None = None

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        return bool(self._raw.isatty())

    def write(self, data: Any) -> int:
        left = memoryview(data).cast("B")
        size = len(left)
        try:
            while left and self.error is None:
                left = left[self._some(left) :]
        except OSError as error:
            self.error = error
        return size

    def _some(self, data: memoryview) -> int:
        written = self._raw.write(data)
        if written is None:
            # the terminal or pipe is in non-blocking mode
            import select

            select.select([], [self._raw], [], 1)
        return written or 0


class Streams:
    """Standard output and error, replaced by streams that cannot fail."""

    def __init__(self) -> None:
        codecs.register_error(ERRORS, replace_missing_signs)
        _open_closed_descriptors()
        sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115
        sys.stdout, self._out = _replace_stream(sys.stdout)
        sys.stderr, self._err = _replace_stream(sys.stderr)

    def end(self) -> OSError | None:
        """Flush, and return the error of standard output; a reader that closed its pipe is no error."""
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        error = self._out.error if self._out else None
        # Windows calls a closed pipe an invalid argument
        enough = error is None or error.errno == errno.EPIPE or (os.name == "nt" and error.errno == errno.EINVAL)
        return None if enough else error


def replace_missing_signs(error: UnicodeError) -> tuple[str, int]:
    """The error handler of the streams: plain text for characters that an encoding lacks.

    >>> codecs.register_error("manytruths", replace_missing_signs)
    >>> "8192×8192 – José".encode("ascii", "manytruths")
    b'8192x8192 - Jos\\\\xe9'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(PLAIN[sign] if sign in PLAIN else _escape(sign) for sign in signs), error.end


def _escape(sign: str) -> str:
    # bytes of a file name that are not text are held as surrogates
    byte = ord(sign) - 0xDC00
    return f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else sign.encode("ascii", "backslashreplace").decode()


def _open_closed_descriptors() -> None:
    """Open closed standard descriptors, so that no file opened later gets their numbers and what is printed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _replace_stream(stream: TextIO | None) -> tuple[TextIO, Sink | None]:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8"), None
    buffer = getattr(stream, "buffer", None)
    if buffer is None or not hasattr(stream, "reconfigure"):
        return stream, None
    stream.flush()
    sink = Sink(getattr(buffer, "raw", buffer))
    wrapped = io.TextIOWrapper(
        io.BufferedWriter(sink), stream.encoding, ERRORS, line_buffering=bool(stream.line_buffering)
    )
    return wrapped, sink
