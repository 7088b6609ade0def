"""The register of reads (``reads.csv``): who looked at which case, how far he got, and from what he started."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TypeVar

from ..core.columns import Column
from ..core.errors import StudyError
from ..io.tables import read_rows
from ..io.template import Complain
from .strangers import near

T = TypeVar("T")

STATUSES = ("done", "empty", "unread", "unfinished")
"""Marked; opened and left without a mark; never opened; begun."""

Place = tuple[str, str]
"""The subject (empty where the masks name none) and the case."""


@dataclass(frozen=True)
class Read:
    """A row of the register: one rater's look at one case."""

    line: int
    place: Place
    column: Column
    status: str = "done"
    based_on: str = ""
    """As it is written: a rater, or rater/session."""
    parent: Column | None = None
    """Whose read of the same case that is."""

    @property
    def case(self) -> str:
        """The case, with its subject where there is one."""
        return "/".join(part for part in self.place if part)

    def __str__(self) -> str:
        return f"rater {self.column} of case {self.case}"


Reads = Mapping[Place, Mapping[Column, Read]]


@dataclass(frozen=True)
class Names:
    """How the files spell what a register names; what they do not have stays as it is written."""

    place: Callable[[str], Place]
    rater: Callable[[str], str]
    session: Callable[[str], str]


def read_register(path: str, names: Names, complain: Complain) -> Reads:
    """The reads of every case; ``complain`` gets everything that is wrong with a row, which is then not believed."""
    reads: dict[Place, dict[Column, Read]] = {}
    for line, row in read_rows(path, ("case", "rater"), lambda error: complain(StudyError(str(error)))):
        try:
            read = _read(line, row, names)
            first = reads.setdefault(read.place, {}).setdefault(read.column, read)
            if first is not read:
                raise StudyError(f"{read} is there twice, first in line {first.line}; remove one, or name sessions")
        except StudyError as error:
            complain(StudyError(f"{path}, line {line}: {error}"))
    return {place: _linked(path, here, complain) for place, here in reads.items()}


def _read(line: int, row: Mapping[str, str], names: Names) -> Read:
    for key in ("case", "rater"):
        if not row[key]:
            raise StudyError(f"{key} is empty; name it as the masks do")
    column = Column(names.rater(row["rater"]), "rater", names.session(row.get("session", "")))
    _check_seconds(row.get("seconds", ""))
    return Read(line, names.place(row["case"]), column, _status(row.get("status", "")), row.get("based_on", ""))


def _status(text: str) -> str:
    status = text.casefold() or "done"
    if status not in STATUSES:
        hint = "".join(f"; did you mean {close}?" for close in get_close_matches(status, STATUSES, 1))
        raise StudyError(f"status is {text!r}; it must be one of {', '.join(STATUSES)}{hint}")
    return status


def _check_seconds(text: str) -> None:
    try:
        fine = not text or 0 <= float(text) < math.inf
    except ValueError:
        fine = False
    if not fine:
        raise StudyError(f"seconds is {text!r}; it is a number, not negative, or empty where it is not known")


# -- from what a read started ------------------------------------------------------------------------


def _linked(path: str, here: Mapping[Column, Read], complain: Complain) -> dict[Column, Read]:
    """The reads of a case with their parents; a link that cannot be believed is told, and cut."""
    parents: dict[Column, Column] = {}
    for column, read in here.items():
        try:
            if read.based_on:
                parents[column] = _parent(read, here)
        except StudyError as error:
            complain(StudyError(f"{path}, line {read.line}: {error}"))
    for cycle in cycles(parents):
        first = here[cycle[0]]
        way = " → ".join(map(written, (*cycle, cycle[0])))
        problem = f"case {first.case}: reads are based on each other: {way}; one of them must have been the first"
        complain(StudyError(f"{path}, line {first.line}: {problem}"))
        for column in cycle:
            del parents[column]
    return {column: replace(read, parent=parents.get(column)) for column, read in here.items()}


def _parent(read: Read, here: Mapping[Column, Read]) -> Column:
    wanted = composed(read.based_on)
    fitting = [column for column in here if wanted in (composed(column.name), composed(written(column)))]
    exact = [column for column in fitting if wanted == composed(written(column))]
    if len(exact or fitting) > 1:
        each = ", ".join(map(written, fitting))
        raise StudyError(f"{read} is based on {read.based_on!r}, who read it more than once; write one of {each}")
    for column in exact or fitting:
        if here[column].status == "unread":
            raise StudyError(
                f"{read} is based on {read.based_on!r}, which is unread, so that nothing can start from it"
            )
        return column
    known = [written(column) for column in here if column != read.column]
    close = near(read.based_on, known) or "".join(get_close_matches(read.based_on, known, 1))
    hint = f"did you mean {close!r}?" if close else f"reads of it are of {', '.join(known) or 'nobody else'}"
    raise StudyError(f"{read} is based on {read.based_on!r}, of which there is no read; {hint}")


def composed(text: str) -> str:
    """One spelling of a name: ü may be one letter, or u with two dots."""
    return unicodedata.normalize("NFC", text)


def written(column: Column) -> str:
    """As ``based_on`` names a read.

    >>> written(Column("anna", "rater", "2")), written(Column("ben"))
    ('anna/2', 'ben')
    """
    return f"{column.name}/{column.session}" if column.session else column.name


def cycles(parents: Mapping[T, T]) -> Iterator[list[T]]:
    """Every way from child to parent that comes back to where it started, once.

    >>> list(cycles({"A": "B", "B": "C", "C": "B", "D": "E"}))
    [['B', 'C']]
    """
    seen: set[T] = set()
    for start in list(parents):
        way, at = dict[T, None](), start
        while at in parents and at not in seen:
            seen.add(at)
            way[at] = None
            at = parents[at]
        if at in way:
            steps = list(way)
            yield steps[steps.index(at) :]


def steps_of(reads: Mapping[Column, Read], column: Column) -> int:
    """How many edits lie between a read and the one that started from nothing."""
    count, at = 0, reads[column].parent
    while at is not None:
        count, at = count + 1, reads[at].parent
    return count
