"""The register of reads beside the files: what each read is, and what of it counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..core.columns import Column
from ..core.errors import StudyError
from ..io import Found, Location
from ..io.walking import Complain
from .case import Source
from .edits import Edit
from .reads import Names, Place, Read, Reads, composed, read_register, steps_of
from .strangers import near

Masks = Mapping[Column, Mapping[str, Source]]


@dataclass(frozen=True)
class Sorted:
    """The masks of a case by what they are."""

    masks: dict[Column, Mapping[str, Source]]
    edits: dict[Column, Edit]
    unfinished: tuple[Column, ...] = ()

    @property
    def why(self) -> str:
        """Why what does not count does not."""
        told = [f"the read of {column} is an edit of {edit.parent}'s" for column, edit in self.edits.items()]
        return " and ".join([*told, *(f"the read of {column} is not finished" for column in self.unfinished)])


@dataclass(frozen=True)
class Register:
    """What is known of every read; without a file, nothing is."""

    path: str = ""
    reads: Reads = field(default_factory=dict)
    masks: Mapping[Place, Masks] = field(default_factory=dict)
    """Every mask that there is, also those that are left out of the study; none of raters who are left out."""
    excluded: frozenset[str] = frozenset()
    """Raters who are left out of the study."""

    @classmethod
    def read(cls, path: str, found: Sequence[Found], fields: Sequence[str], complain: Complain) -> Register:
        """The register of some files, whose template has these ``fields``."""
        masks = _by_place(found)
        reads = read_register(path, _names(found, "subject" in fields), complain)
        if "session" not in fields and any(column.session for here in reads.values() for column in here):
            raise StudyError(
                f"{path}: names sessions, but the masks' template has no {{session}}; put it where the session stands "
                "in the path, or leave that column empty"
            )
        return cls(path, reads, masks)

    def completed(
        self,
        found: Sequence[Found],
        image: Callable[[Place], Location | None],
        complain: Complain,
        excluded: Iterable[str] = (),
    ) -> Register:
        """With an empty mask for every read that left nothing; ``complain`` gets what contradicts the files.

        Reads of ``excluded`` raters have no masks here; those that started from them are edits all the same.
        """
        gone = {composed(name) for name in excluded}
        raters = {one.fields["rater"] for one in found}
        masks = {place: dict(here) for place, here in self.masks.items()}
        for read in (read for here in self.reads.values() for read in here.values()):
            if composed(read.column.name) in gone:
                continue
            try:
                here = masks.get(read.place, {})
                if self._is_blank(read, here, raters):
                    blank = _blank(read, here, image(read.place))
                    masks.setdefault(read.place, {})[read.column] = {"": blank}
            except StudyError as error:
                complain(StudyError(f"{self.path}, line {read.line}: {error}"))
        self._check_rows(complain)
        return replace(self, masks=masks, excluded=frozenset(gone))

    def _is_blank(self, read: Read, here: Masks, raters: Iterable[str]) -> bool:
        """Whether a read left nothing, not even a file; refused where one should, or should not, be there."""
        if read.column in here:
            if read.status == "unread":
                raise StudyError(f"{read} is unread, but has a mask; correct the status, or remove the mask")
            return False
        if read.status == "done":
            raise StudyError(f"{read} is done, but has no mask; {self._hint(read, raters)}")
        if read.status == "empty" and read.column.name not in raters:
            raise StudyError(f"{read} is empty, and he has no mask of any case; {self._hint(read, raters)}")
        return read.status == "empty"

    def _hint(self, read: Read, raters: Iterable[str]) -> str:
        """What may be meant."""
        cases = {"/".join(filter(None, place)): None for place in self.masks}
        if read.place not in self.masks and (close := near(read.case, list(cases))):
            return f"did you mean case {close!r}?"
        if close := near(read.column.name, sorted(raters)):
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

    def blanks(self) -> list[Found]:
        """The empty masks that no file stands for, as if they had been found."""
        return [
            Found(source, _fields(place, column))
            for place, here in self.masks.items()
            for column, by_label in here.items()
            for source in by_label.values()
            if isinstance(source, Location) and source.blank
        ]

    def sorted(self, place: Place, masks: Masks, *, keep: bool) -> Sorted:
        """The masks of a case that count, its edits (which count where they are kept), and what is unfinished."""
        reads, found = self.reads.get(place, {}), Sorted({}, {})
        # empty masks that no file stands for were found last
        for column, source in sorted(masks.items(), key=lambda item: item[0].order) if self.path else masks.items():
            read = reads.get(column)
            if read is not None and read.status in ("unread", "unfinished"):
                found = replace(found, unfinished=(*found.unfinished, column))
                continue
            if read is not None and read.parent is not None:
                origin = self.masks[place].get(read.parent)
                found.edits[column] = Edit(source, read.parent, origin, steps_of(reads, column))
            if column not in found.edits or keep:
                found.masks[column] = source
        return found

    def statuses(self, place: Place) -> dict[Column, str]:
        """What the register says of each read of a case."""
        reads = self.reads.get(place, {}).items()
        return {column: read.status for column, read in reads if composed(column.name) not in self.excluded}

    def cases(self) -> list[str]:
        """Every case that it names, as ``cases.csv`` may name it."""
        return [name for subject, case in self.reads for name in (case, f"{subject}/{case}")]


def _by_place(found: Iterable[Found]) -> dict[Place, dict[Column, dict[str, Source]]]:
    masks: dict[Place, dict[Column, dict[str, Source]]] = {}
    for one in found:
        f = one.fields
        column = Column(f["rater"], "rater", f.get("session", ""))
        masks.setdefault(place_of(f), {}).setdefault(column, {})[f.get("label", "")] = one.location
    return masks


def place_of(fields: Mapping[str, str]) -> Place:
    """Where a register finds a case."""
    return fields.get("subject", ""), fields["case"]


def _fields(place: Place, column: Column) -> dict[str, str]:
    given = {"subject": place[0], "case": place[1], "rater": column.name, "session": column.session}
    return {name: value for name, value in given.items() if value}


def _blank(read: Read, here: Masks, image: Location | None) -> Location:
    """An empty mask of the size of another's, or of the image."""
    files = [one for by_label in here.values() for one in by_label.values() if isinstance(one, Location)]
    if files:
        return replace(files[0], blank=files[0].blank or "mask")
    if image is None or not image.path.is_file():
        raise StudyError(
            f"{read} is empty, and nobody has a mask of that case to say how large it is; "
            f"{'give its image (--images)' if image is None else f'there is no image {image} either'}"
        )
    return replace(image, blank="image")


# -- names, however they are composed ----------------------------------------------------------------


def _names(found: Sequence[Found], subjects: bool) -> Names:
    places = {place_of(one.fields): None for one in found}
    full = {composed("/".join(one)): one for one in places}
    cases: dict[str, list[Place]] = {}
    for one in places:
        cases.setdefault(composed(one[1]), []).append(one)

    def place(text: str) -> Place:
        if composed(text) in full:
            return full[composed(text)]
        several = cases.get(composed(text), [])
        if len(several) > 1:
            raise StudyError(f"case {text!r} is there of several subjects; write {several[0][0]}/{text} or the like")
        if several:
            return several[0]
        head, _, tail = composed(text).rpartition("/") if subjects else ("", "", composed(text))
        return head, tail

    raters, sessions = (_spelt(one.fields.get(key, "") for one in found) for key in ("rater", "session"))
    return Names(place, raters, sessions)


def _spelt(names: Iterable[str]) -> Callable[[str], str]:
    """A name as the files spell it."""
    known = {composed(name): name for name in names}
    return lambda text: known.get(composed(text), text)
