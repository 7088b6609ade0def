"""Versions of the formats of this package's own files: older ones are read, newer ones refused."""

from __future__ import annotations

from ..core.errors import FormatError, ManytruthsError


def check_format_version(
    shown: object, version: object, newest: int, error: type[ManytruthsError] = FormatError
) -> int:
    """The version of a file, which this release can read.

    Parameters
    ----------
    shown : object
        What the file is called in a message.
    version : object
        What the file gives as its version.
    newest : int
        The newest version that this release reads; it reads all before it.
    error : type of ManytruthsError
        What is raised.

    Returns
    -------
    int

    Raises
    ------
    ManytruthsError
        If the version is newer, or no version.

    Examples
    --------
    >>> check_format_version("a.tally", 1, newest=2)
    1
    >>> check_format_version("a.tally", 3, newest=2)
    Traceback (most recent call last):
    manytruths.core.errors.FormatError: a.tally: was written by a newer version of manytruths ...
    """
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise error(f"{shown}: does not say of which version it is; get the file again from whoever wrote it")
    if version > newest:
        raise error(
            f"{shown}: was written by a newer version of manytruths (version {version} of the format, and this one "
            f"reads up to {newest}); update manytruths"
        )
    return version
