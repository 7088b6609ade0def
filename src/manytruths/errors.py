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
