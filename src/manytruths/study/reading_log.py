"""The reading log (``reads.csv``): who read which case, how far they got, and from which mask they started.

Readings that started from another one are edits: pre-labelled by a model, or corrected by one rater and then by the
next. They are kept apart from agreement and consensus unless the study says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TypeVar

from ..core.columns import Column, closest_name, compose_name
from ..core.errors import ManytruthsError, StudyError, find_name_fault
from ..core.tally import Tally
from ..io import Location, TemplateMatch
from ..io.tables import read_rows
from ..io.template import Complain
from .case import Case, Source
from .mask_values import about, refuse_two_values
from .options import merged

T = TypeVar("T")

STATUSES = ("done", "empty", "unread", "unfinished", "not_evaluable")
"""Marked; opened and left without a mark; never opened; begun; read, but nothing can be said."""
SYNONYMS = {"finished": "done", "complete": "done", "completed": "done", "read": "done", "incomplete": "unfinished"}
SYNONYMS |= dict.fromkeys(("ne", "nonevaluable", "non_evaluable", "unevaluable", "inevaluable"), "not_evaluable")
"""Words that people write; by its letters ``finished`` is nearest to its opposite."""

Place = tuple[str, str]
"""The subject (empty where the masks name none) and the case."""

Masks = Mapping[Column, Mapping[str, Source]]


@dataclass(frozen=True)
class LogEntry:
    """A row of the reading log: one rater's look at one case."""

    line: int
    place: Place
    column: Column
    status: str = "done"
    based_on: str = ""
    """As it is written: a rater, or rater/session."""
    parent: Column | None = None
    """Whose read of the same case that is."""
    reason: str = ""
    """Why it is not evaluable."""
    started: str = ""
    """Date and time, as the annotation tool writes it."""
    seconds: float | None = None
    """How long it took."""

    @property
    def case(self) -> str:
        """The case, with its subject where there is one."""
        return "/".join(part for part in self.place if part)

    def __str__(self) -> str:
        return f"rater {self.column} of case {self.case}"


Reads = Mapping[Place, Mapping[Column, LogEntry]]


@dataclass(frozen=True)
class Names:
    """How the files spell what a reading log names; what they do not have stays as it is written."""

    place: Callable[[str], Place]
    rater: Callable[[str], str]
    session: Callable[[str], str]


@dataclass(frozen=True)
class ReadingLog:
    """What is known of every read; without a file, nothing is."""

    path: str = ""
    reads: Reads = field(default_factory=dict)
    masks: Mapping[Place, Masks] = field(default_factory=dict)
    """Every mask that there is, also those that are left out of the study; none of raters who are left out."""
    excluded: frozenset[str] = frozenset()
    """Raters who are left out of the study."""

    @classmethod
    def read(
        cls,
        path: str,
        files: Sequence[TemplateMatch],
        fields: Sequence[str],
        image: Callable[[Place], Location | None],
        excluded: Iterable[str],
        complain: Complain,
    ) -> ReadingLog:
        """The reading log of some files, whose template has these ``fields``.

        It has an empty mask for every read that left nothing. Reads of ``excluded`` raters have no masks; those that
        started from them are edits all the same. ``complain`` gets what contradicts the files.
        """
        reads = read_log_entries(path, _names(files, "subject" in fields), complain)
        if "session" not in fields and any(column.session for here in reads.values() for column in here):
            raise StudyError(
                f"{path}: names sessions, but the masks' template has no {{session}}; put it where the session stands "
                "in the path, or leave that column empty"
            )
        log = cls(path, reads, masks_by_place(files), frozenset(map(compose_name, excluded)))
        masks = {place: dict(here) for place, here in log.masks.items()}
        raters = {match.fields["rater"] for match in files}
        for read in (read for here in reads.values() for read in here.values()):
            if compose_name(read.column.name) in log.excluded:
                continue
            try:
                here = masks.get(read.place, {})
                if log._is_blank(read, here, raters):
                    blank = _blank(read, here, image(read.place))
                    masks.setdefault(read.place, {})[read.column] = {"": blank}
            except StudyError as error:
                complain(StudyError(f"{path}, line {read.line}: {error}"))
        log._check_rows(complain)
        return replace(log, masks=masks)

    def _is_blank(self, read: LogEntry, here: Masks, raters: Iterable[str]) -> bool:
        """Whether a read left nothing, not even a file; refused where one should, or should not, be there."""
        if read.column in here:
            if read.status == "unread":
                raise StudyError(f"{read} is unread, but has a mask; correct the status, or remove the mask")
            return False
        if read.status == "done":
            raise StudyError(f"{read} is done, but has no mask; {self._hint(read, raters)}")
        if read.status == "empty" and read.column.name not in raters:
            raise StudyError(f"{read} is empty, and the rater has no mask of any case; {self._hint(read, raters)}")
        return read.status == "empty"

    def _hint(self, read: LogEntry, raters: Iterable[str]) -> str:
        """What may be meant."""
        cases = {"/".join(filter(None, place)): None for place in self.masks}
        if read.place not in self.masks and (close := closest_name(read.case, list(cases))):
            return f"did you mean case {close!r}?"
        if close := closest_name(read.column.name, sorted(raters)):
            return f"did you mean rater {close!r}?" if close != read.column.name else "save it, or correct the status"
        return f"masks are of {', '.join(sorted(raters))}: correct the name, or save the mask"

    def _check_rows(self, complain: Complain) -> None:
        """Refuse a mask of which nothing is known beside masks of which something is."""
        for place, here in self.reads.items():
            silent = [str(column) for column in self.masks.get(place, ()) if column not in here]
            if silent:
                case = next(iter(here.values())).case
                problem = f"{self.path}: case {case} has masks of {', '.join(silent)}, of whom there is no row; add it"
                complain(StudyError(f"{problem}: an edit that nobody knows of makes agreement look better than it is"))

    def blanks(self) -> list[TemplateMatch]:
        """The empty masks that no file stands for, as if they had been found."""
        return [
            TemplateMatch(source, _filled(subject=subject, case=case, rater=column.name, session=column.session))
            for (subject, case), here in self.masks.items()
            for column, by_label in here.items()
            for source in by_label.values()
            if isinstance(source, Location) and source.blank
        ]

    def sort(self, place: Place, masks: Masks, *, keep: bool) -> SortedMasks:
        """The masks of a case that count, its edits (which count where they are kept), and what is unfinished."""
        reads, result = self.reads.get(place, {}), SortedMasks({}, {})
        # empty masks that no file stands for were found last
        for column, source in sorted(masks.items(), key=lambda item: item[0].order) if self.path else masks.items():
            read = reads.get(column)
            if read is not None and read.status in ("unread", "unfinished"):
                result = replace(result, unfinished=(*result.unfinished, column))
                continue
            if read is not None and read.status == "not_evaluable":
                result = replace(result, not_evaluable=(*result.not_evaluable, column))
                continue
            if read is not None and read.parent is not None:
                origin = self.masks[place].get(read.parent)
                result.edits[column] = Edit(source, read.parent, origin, count_steps(reads, column))
            if column not in result.edits or keep:
                result.masks[column] = source
        return result

    def statuses(self, place: Place) -> dict[Column, str]:
        """What the log says of each read of a case."""
        reads = self.reads.get(place, {}).items()
        return {column: read.status for column, read in reads if compose_name(column.name) not in self.excluded}

    def reasons(self, place: Place) -> dict[Column, str]:
        """Why reads of a case are not evaluable."""
        reads = self.reads.get(place, {}).items()
        return {column: read.reason for column, read in reads if read.reason and read.status == "not_evaluable"}

    def cases(self) -> list[str]:
        """Every case that it names, as ``cases.csv`` may name it."""
        return [name for subject, case in self.reads for name in (case, f"{subject}/{case}")]


@dataclass(frozen=True)
class SortedMasks:
    """The masks of a case by what they are."""

    masks: dict[Column, Mapping[str, Source]]
    edits: dict[Column, Edit]
    unfinished: tuple[Column, ...] = ()
    not_evaluable: tuple[Column, ...] = ()
    """Those that have a mask all the same."""

    @property
    def why(self) -> str:
        """Why what does not count does not."""
        edits = [f"the read of {column} is an edit of {edit.parent}'s" for column, edit in self.edits.items()]
        others = [f"the read of {column} is not finished" for column in self.unfinished]
        others += [f"the read of {column} is not evaluable" for column in self.not_evaluable]
        return " and ".join([*edits, *others])


@dataclass(frozen=True)
class UnusedReading:
    """A reading that does not count.

    Attributes
    ----------
    case : str
        The case.
    column : Column
        Rater and session.
    why : str
        ``not_evaluable``, ``unread``, ``unfinished``, ``edit``, ``excluded`` (the mask), ``rater_excluded`` or
        ``other_session``.
    reason : str
        Why it is not evaluable, in the words of the reading log.
    """

    case: str
    column: Column
    why: str
    reason: str = ""


@dataclass(frozen=True)
class Edit:
    """A read that started from another's mask of the same case."""

    source: Mapping[str, Source]
    parent: Column
    origin: Mapping[str, Source] | None
    """The parent's mask, wherever else it is left out; None where there is no file of it."""
    step: int
    """1 where the parent started from nothing, 2 where the parent is an edit of such a read, …"""
    tally: Tally | None = None
    """The table of both, where it comes from a tally file."""


def edit_tally(case: Case, column: Column, region: str | None = None) -> Tally | None:
    """The table of an edit and what it started from; None where that was not kept."""
    edit = case.edits[column]
    if edit.tally is not None:
        return edit.tally
    if edit.origin is None:
        return None
    # the case as if nobody but these two had seen it
    masks = {edit.parent: edit.origin, column: edit.source}
    named = merged(case.options, exchangeable=False)
    only = replace(case, masks=masks, absent=(), options=named, ranks={}, predictions={}, references={}, edits={})
    with about(f"edit of {edit.parent} by {column}"):
        table = only.read(by_tile=True).tally(region, judged=False)
        if case.options.labels is None:
            refuse_two_values(table, f"case {case.name}: ")
    return table.pair(edit.parent, column)


def unreadable_edits(case: Case) -> Iterator[tuple[Column, ManytruthsError]]:
    """Edits that cannot be compared with what they started from, and why."""
    for column in case.edits:
        try:
            edit_tally(case, column)
        except ManytruthsError as error:
            yield column, error


def read_log_entries(path: str, names: Names, complain: Complain) -> Reads:
    """The reads of every case; ``complain`` gets everything that is wrong with a row, which is then not believed."""
    reads: dict[Place, dict[Column, LogEntry]] = {}
    for line, row in read_rows(path, ("case", "rater"), lambda error: complain(StudyError(str(error)))):
        try:
            read = _read(line, row, names)
            first = reads.setdefault(read.place, {}).setdefault(read.column, read)
            if first is not read:
                raise StudyError(f"{read} is listed twice, first in line {first.line}; remove one, or name sessions")
        except StudyError as error:
            complain(StudyError(f"{path}, line {line}: {error}"))
    return {place: _linked(path, here, complain) for place, here in reads.items()}


def _read(line: int, row: Mapping[str, str], names: Names) -> LogEntry:
    for key in ("case", "rater"):
        if not row[key]:
            raise StudyError(f"{key} is empty; name it as the masks do")
    column = Column(names.rater(row["rater"]), "rater", names.session(row.get("session", "")))
    seconds, started = _parse_seconds(row.get("seconds", "")), row.get("started", "")
    status, based_on, reason = _status(row.get("status", "")), row.get("based_on", ""), row.get("reason", "")
    if fault := find_name_fault(reason) if reason else "":
        raise StudyError(f"reason {reason[:40]!r} {fault}; type it again")
    return LogEntry(line, names.place(row["case"]), column, status, based_on, None, reason, started, seconds)


def _status(text: str) -> str:
    status = text.casefold().replace(" ", "_").replace("-", "_") or "done"
    if status not in STATUSES:
        near = [SYNONYMS[status]] if status in SYNONYMS else get_close_matches(status, STATUSES, 1)
        hint = "".join(f"; did you mean {close}?" for close in near)
        raise StudyError(f"status is {text!r}; it must be one of {', '.join(STATUSES)}{hint}")
    return status


def _parse_seconds(text: str) -> float | None:
    try:
        seconds = float(text or 0)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise StudyError(f"seconds is {text!r}; it is a number, not negative, or empty where it is not known")
    return seconds if text else None


def _linked(path: str, here: Mapping[Column, LogEntry], complain: Complain) -> dict[Column, LogEntry]:
    """The reads of a case with their parents; a link that cannot be believed is told, and cut."""
    parents: dict[Column, Column] = {}
    for column, read in here.items():
        try:
            if read.based_on:
                parents[column] = _parent(read, here)
        except StudyError as error:
            complain(StudyError(f"{path}, line {read.line}: {error}"))
    for cycle in find_cycles(parents):
        first = here[cycle[0]]
        way = " → ".join(map(name_reading, (*cycle, cycle[0])))
        problem = f"case {first.case}: reads are based on each other: {way}; one of them must have been the first"
        complain(StudyError(f"{path}, line {first.line}: {problem}"))
        for column in cycle:
            del parents[column]
    return {column: replace(read, parent=parents.get(column)) for column, read in here.items()}


def _parent(read: LogEntry, here: Mapping[Column, LogEntry]) -> Column:
    wanted = compose_name(read.based_on)
    fitting = [column for column in here if wanted in (compose_name(column.name), compose_name(name_reading(column)))]
    exact = [column for column in fitting if wanted == compose_name(name_reading(column))]
    if len(exact or fitting) > 1:
        each = ", ".join(map(name_reading, fitting))
        raise StudyError(f"{read} is based on {read.based_on!r}, who read it more than once; write one of {each}")
    for column in exact or fitting:
        if here[column].status in ("unread", "not_evaluable"):
            status = here[column].status.replace("_", " ")
            raise StudyError(f"{read} is based on {read.based_on!r}, which is {status}, so nothing can start from it")
        return column
    known = [name_reading(column) for column in here if column != read.column]
    close = closest_name(read.based_on, known) or "".join(get_close_matches(read.based_on, known, 1))
    hint = f"did you mean {close!r}?" if close else f"reads of it are of {', '.join(known) or 'nobody else'}"
    raise StudyError(f"{read} is based on {read.based_on!r}, of which there is no read; {hint}")


def masks_by_place(files: Iterable[TemplateMatch]) -> dict[Place, dict[Column, dict[str, Source]]]:
    """Masks by case, by rater and session, and by structure."""
    masks: dict[Place, dict[Column, dict[str, Source]]] = {}
    columns: dict[Column, Column] = {}  # one for all cases, which saves memory
    for match in files:
        f = match.fields
        column = Column(f["rater"], "rater", f.get("session", ""))
        column = columns.setdefault(column, column)
        masks.setdefault(place_of(f), {}).setdefault(column, {})[f.get("label", "")] = match.location
    return masks


def place_of(fields: Mapping[str, str]) -> Place:
    """Where a reading log finds a case."""
    return fields.get("subject", ""), fields["case"]


def _filled(**fields: str) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}


def _blank(read: LogEntry, here: Masks, image: Location | None) -> Location:
    """An empty mask of the size of another's, or of the image."""
    files = [source for by_label in here.values() for source in by_label.values() if isinstance(source, Location)]
    if files:
        return replace(files[0], blank=files[0].blank or "mask")
    if image is None or not image.path.is_file():
        raise StudyError(
            f"{read} is empty, and nobody has a mask of that case to say how large it is; "
            f"{'give its image (--images)' if image is None else f'there is no image {image} either'}"
        )
    return replace(image, blank="image")


def _names(files: Sequence[TemplateMatch], subjects: bool) -> Names:
    places = {place_of(match.fields): None for match in files}
    full = {compose_name("/".join(at)): at for at in places}
    cases: dict[str, list[Place]] = {}
    for at in places:
        cases.setdefault(compose_name(at[1]), []).append(at)

    def place(text: str) -> Place:
        if compose_name(text) in full:
            return full[compose_name(text)]
        several = cases.get(compose_name(text), [])
        if len(several) > 1:
            raise StudyError(f"case {text!r} is there of several subjects; write {several[0][0]}/{text} or the like")
        if several:
            return several[0]
        head, _, tail = compose_name(text).rpartition("/") if subjects else ("", "", compose_name(text))
        return head, tail

    raters, sessions = (_spelt(match.fields.get(key, "") for match in files) for key in ("rater", "session"))
    return Names(place, raters, sessions)


def _spelt(names: Iterable[str]) -> Callable[[str], str]:
    """A name as the files spell it."""
    known = {compose_name(name): name for name in names}
    return lambda text: known.get(compose_name(text), text)


def name_reading(column: Column) -> str:
    """As ``based_on`` names a read.

    >>> name_reading(Column("anna", "rater", "2")), name_reading(Column("ben"))
    ('anna/2', 'ben')
    """
    return f"{column.name}/{column.session}" if column.session else column.name


def find_cycles(parents: Mapping[T, T]) -> Iterator[list[T]]:
    """Every way from child to parent that comes back to where it started, once.

    >>> list(find_cycles({"A": "B", "B": "C", "C": "B", "D": "E"}))
    [['B', 'C']]
    """
    visited: set[T] = set()
    for start in list(parents):
        way, at = dict[T, None](), start
        while at in parents and at not in visited:
            visited.add(at)
            way[at] = None
            at = parents[at]
        if at in way:
            steps = list(way)
            yield steps[steps.index(at) :]


def count_steps(reads: Mapping[Column, LogEntry], column: Column) -> int:
    """How many edits lie between a read and the one that started from nothing."""
    count, at = 0, reads[column].parent
    while at is not None:
        count, at = count + 1, reads[at].parent
    return count
