"""The errors of manytruths.

::

    ManytruthsError
    ├── InputError        the data cannot be used: the command line exits 1
    │   ├── FormatError   a file cannot be read as what it should be
    │   ├── GridError     sizes, spacings or affines that differ
    │   ├── LabelError    values that are no labels, or were not declared
    │   ├── EngineError   workers that cannot be used, or are gone
    │   ├── StudyError    files, cases or raters that do not make a study
    │   ├── TooLarge      a case that does not fit into memory (also a MemoryError)
    │   └── WriteError    results cannot be written
    └── CallError         the call itself is wrong (also a ValueError): the command line exits 2

Every message says which argument or file is meant, what it holds, what is needed, and what to do.
"""

import errno
import re
from collections.abc import Sequence

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Ends of lines, what a terminal obeys, what turns the direction of what follows, and bytes that are no text."""

NOT_TEXT = "is not UTF-8"
OTHER_LOCALE = "cannot be read in this locale (set PYTHONUTF8=1)"


class ManytruthsError(Exception):
    """Base of all errors that manytruths raises on purpose."""


class InputError(ManytruthsError):
    """The data cannot be used; ``case`` names the case that was being read, if one was."""

    case: str = ""


class FormatError(InputError):
    """A file cannot be read as what it should be."""


class GridError(InputError):
    """Sizes, spacings or affines differ between masks of one case."""


class LabelError(InputError):
    """Values are not labels, or labels were not declared."""


class StudyError(InputError):
    """Files, cases or raters do not make a study."""


class EngineError(InputError):
    """Workers of an executor or a cluster cannot be used, or are gone."""


class PredictionsError(StudyError):
    """No prediction is where it is said to be."""


class WriteError(InputError):
    """A file or folder of results cannot be written."""


class TooLarge(InputError, MemoryError):
    """A case that takes more memory than there is.

    ``what`` says how large it is, ``pixels`` and ``masks`` count them, ``image`` is whether it has one, ``jobs`` are
    the processes that were at work. What is not known is empty or 0.
    """

    def __init__(
        self, message: str, what: str = "", pixels: int = 0, masks: int = 0, image: bool = False, jobs: int = 1
    ) -> None:
        super().__init__(message, what, pixels, masks, image, jobs)
        self.what, self.pixels, self.masks, self.image, self.jobs = what, pixels, masks, image, jobs

    def __str__(self) -> str:
        return str(self.args[0])


class CallError(ManytruthsError, ValueError):
    """A function or a command was called with arguments that cannot be used."""


_NO_MEMORY = re.compile(r"failed to map segment|[Cc]an(no|')t allocate memory|out of memory|can't start new thread")


def find_memory_error(error: BaseException | None) -> BaseException | None:
    """The error in a chain that comes from a lack of memory, also where it is not named; None where there is none."""
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return error
        # a library that could not be loaded, a thread that could not be started, PyTorch
        if isinstance(error, ImportError | OSError | RuntimeError) and _NO_MEMORY.search(str(error)):
            return error
        error = error.__cause__ or error.__context__
    return None


def raise_error(error: ManytruthsError) -> None:
    """Raise the error: the default of functions that may be given one that collects problems instead."""
    raise error


def one_line(text: str) -> str:
    """A message as it is printed: names in it may hold anything, and neither end the line nor control the terminal."""
    return _UNSEEN.sub(lambda sign: repr(sign[0])[1:-1], text)


def find_name_fault(name: str) -> str:
    """Why a name cannot be printed, written to tables and read back; empty where it can.

    >>> find_name_fault("p01 ü"), find_name_fault("p\\udcff"), find_name_fault("p\\n1")
    ('', 'is not UTF-8', 'holds a sign that is not seen')
    """
    if not _UNSEEN.search(name):
        return ""
    try:
        name.encode()
        return "holds a sign that is not seen"
    except UnicodeEncodeError:
        return NOT_TEXT if not _is_utf_8(name) else OTHER_LOCALE


def _is_utf_8(name: str) -> bool:
    """Whether the bytes of a name are text, and only the system's settings hide it."""
    try:
        name.encode("utf-8", "surrogateescape").decode()
    except UnicodeError:
        return False
    return True


def few(names: Sequence[str], most: int = 12) -> str:
    """The first names of a list that may be long.

    >>> few(["a", "b"]), few(["a", "b", "c"], 2)
    ('a, b', 'a, b and 1 more')
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def name_cases(note: str, cases: Sequence[str]) -> str:
    """A note with the cases that it holds of; a count at its beginning is one within each case.

    >>> name_cases("staple: converged", ["p1", "p2"]), name_cases("vote: 1 lesion is lost", ["p1", "p2"])
    ('staple: converged (p1, p2)', 'vote: 1 lesion is lost (each of p1, p2)')
    """
    each = "each of " if len(cases) > 1 and re.match(r"(\S+(, \S+)*: )?[0-9]", note) else ""
    return f"{note} ({each}{few(cases, 3)})"
