"""The errors of manytruths.

::

    ManytruthsError
    ├── InputError        the data cannot be used: the command line exits 1
    │   ├── FormatError   a file cannot be read as what it should be
    │   ├── GridError     sizes, spacings or affines that differ
    │   ├── LabelError    values that are no labels, or were not declared
    │   └── StudyError    files, cases or raters that do not make a study
    └── CallError         the call itself is wrong (also a ValueError): the command line exits 2

Every message says where, what was found, what was wanted, and what to do.
"""

import re

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Ends of lines, what a terminal obeys, what turns the direction of what follows, and bytes that are no text."""

NOT_TEXT = "is not UTF-8"


class ManytruthsError(Exception):
    """Whatever manytruths raises on purpose."""


class InputError(ManytruthsError):
    """The data cannot be used."""


class FormatError(InputError):
    """A file cannot be read as what it should be."""


class GridError(InputError):
    """Sizes, spacings or affines that differ between masks of one case."""


class LabelError(InputError):
    """Values that are no labels, or labels that were not declared."""


class StudyError(InputError):
    """Files, cases or raters that do not make a study."""


class CallError(ManytruthsError, ValueError):
    """A function or a verb was called in a way that has no answer."""


def insist(error: ManytruthsError) -> None:
    """Raise; what is given instead where problems are collected, not raised, is a function that keeps them."""
    raise error


def one_line(text: str) -> str:
    """A message as it is printed: names in it may hold anything, and neither end the line nor steer the terminal."""
    return _UNSEEN.sub(lambda sign: repr(sign[0])[1:-1], text)


def fault_of_name(name: str) -> str:
    """Why a name cannot be one that is printed, written to tables and found again; empty where it can.

    >>> fault_of_name("p01 ü"), fault_of_name("p\\udcff"), fault_of_name("p\\n1")
    ('', 'is not UTF-8', 'holds a sign that is not seen')
    """
    if not _UNSEEN.search(name):
        return ""
    return "holds a sign that is not seen" if _encodes(name) else NOT_TEXT


def _encodes(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
