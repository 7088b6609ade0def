"""The standard streams of the process: whatever they are, printing to them never fails.

What an encoding cannot hold is printed as plain text that means the same. A stream that was closed before the start is
as good as ``/dev/null``; one that cannot be written any more is kept in mind, and told at the end.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from typing import Any, TextIO

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
"""What is printed where an encoding lacks a sign. Anything else, such as a letter of a name, as its number."""


class Sink(io.RawIOBase):
    """Where a stream's bytes go. After the first failure they go nowhere, and ``error`` is what it was."""

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
            # somebody has set the terminal or pipe to answer at once
            import select

            select.select([], [self._raw], [], 1)
        return written or 0


class Streams:
    """Standard output and error, taken over when this is made."""

    def __init__(self) -> None:
        codecs.register_error(ERRORS, plain)
        _occupy()
        sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115
        sys.stdout, self._out = _taken(sys.stdout)
        sys.stderr, self._err = _taken(sys.stderr)

    def end(self) -> OSError | None:
        """Print what is left; what kept standard output from being written, unless its reader had seen enough."""
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        error = self._out.error if self._out else None
        # Windows calls a closed pipe an invalid argument
        enough = error is None or error.errno == errno.EPIPE or (os.name == "nt" and error.errno == errno.EINVAL)
        return None if enough else error


def plain(error: UnicodeError) -> tuple[str, int]:
    """What stands for signs that an encoding lacks.

    >>> codecs.register_error("manytruths", plain)
    >>> "8192×8192 – José".encode("ascii", "manytruths")
    b'8192x8192 - Jos\\\\xe9'
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(PLAIN[sign] if sign in PLAIN else _number(sign) for sign in signs), error.end


def _number(sign: str) -> str:
    # bytes of a file's name that are no text are held as such signs
    byte = ord(sign) - 0xDC00
    return f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else sign.encode("ascii", "backslashreplace").decode()


def _occupy() -> None:
    """Closed descriptors would be the numbers of the next files to be opened, and what is printed would go there."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _taken(stream: TextIO | None) -> tuple[TextIO, Sink | None]:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8"), None
    buffer = getattr(stream, "buffer", None)
    if buffer is None or not hasattr(stream, "reconfigure"):
        return stream, None
    stream.flush()
    sink = Sink(getattr(buffer, "raw", buffer))
    taken = io.TextIOWrapper(
        io.BufferedWriter(sink), stream.encoding, ERRORS, line_buffering=bool(stream.line_buffering)
    )
    return taken, sink
