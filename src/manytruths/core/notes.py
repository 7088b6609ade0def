"""Notes: sentences about a result, which programs tell apart by a code."""

from __future__ import annotations


class Note(str):
    """A sentence for people, with a code by which programs select it.

    Where a program passes notes on or leaves some out, it looks at the code and never at the words.

    >>> note = Note("nothing_marked", "B marked nothing")
    >>> print(note, note.code)
    B marked nothing nothing_marked
    """

    __slots__ = ("code",)

    code: str

    def __new__(cls, code: str, text: str) -> Note:
        self = super().__new__(cls, text)
        self.code = code
        return self

    def __reduce__(self) -> tuple[type[Note], tuple[str, str]]:
        return Note, (self.code, str(self))


def code_of(note: str) -> str:
    """The code of a note; empty where it is a plain sentence."""
    return note.code if isinstance(note, Note) else ""
