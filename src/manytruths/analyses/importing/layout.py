"""Where the files of an imported study lie, and what they are called."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...core.errors import StudyError
from ...exchange.reading_set import ReadingSet
from ...exchange.readings import Reading
from ...io import safe_name

FIRST = "1"
"""The session of reads without one, where others have one."""
_UNSEEN = re.compile(r"[\x80-\x9f\u2028-\u202e\u2066-\u2069]")
"""What some take for the end of a line, and what turns the direction of what follows, in paths and in tables."""


def on_disk(name: str) -> str:
    """A name as a part of a path, and the same in a table, which takes no notice of spaces around it."""
    return safe_name(_UNSEEN.sub("_", name).strip())


@dataclass(frozen=True)
class Layout:
    """The parts that a study's paths have."""

    structures: tuple[str, ...]
    sessions: bool
    volumes: bool
    cases: Mapping[str, str]
    """What a case is called on the disk."""

    @classmethod
    def of(cls, found: ReadingSet) -> Layout:
        axes = {len(read.grid.shape) for read in found.reads}
        if len(axes) > 1:
            raise StudyError("there are images and volumes among the cases; import them apart")
        cases = {name: on_disk(name) for name in found.cases}
        for names in (found.cases, found.raters, {read.session for read in found.reads}, found.structures):
            _told_apart(sorted(names))
        made = cls(found.structures or ("marked",), any(read.session for read in found.reads), axes == {3}, cases)
        often = Counter((read.case, read.rater, made.session(read)) for read in found.reads)
        for (case, rater, session), count in often.items():
            if count > 1:
                raise StudyError(f"rater {rater} read case {case} {count} times in session {session}; name them apart")
        return made

    @property
    def ending(self) -> str:
        return ".nii.gz" if self.volumes else ".png"

    @property
    def masks(self) -> str:
        """As a template."""
        return f"masks/{self._parts('{rater}', '{session}', '{label}')}/{{case}}{self.ending}"

    @property
    def ranks(self) -> str:
        return f"ranks/{self._parts('{rater}', '{session}', '')}/{{case}}{self.ending}"

    def mask(self, folder: Path, read: Reading, structure: str) -> Path:
        own = self._parts(on_disk(read.rater), self.session(read), on_disk(structure))
        return folder / f"masks/{own}/{self.cases[read.case]}{self.ending}"

    def rank(self, folder: Path, read: Reading) -> Path:
        own = self._parts(on_disk(read.rater), self.session(read), "")
        return folder / f"ranks/{own}/{self.cases[read.case]}{self.ending}"

    def session(self, read: Reading) -> str:
        """As it is called on the disk."""
        return on_disk(read.session or FIRST) if self.sessions else ""

    def parent(self, read: Reading) -> str:
        """The read that it is based on, as that is called on the disk."""
        name, slash, session = read.based_on.partition("/")
        return f"{name and on_disk(name)}{slash}{session and on_disk(session)}"

    def _parts(self, rater: str, session: str, label: str) -> str:
        several = len(self.structures) > 1 and label
        return "/".join([rater, *([session] if self.sessions else ()), *([label] if several else ())])


def _told_apart(names: Iterable[str]) -> None:
    """Refuse names that are one on disks that take no notice of capitals, or of how an umlaut is put together."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(unicodedata.normalize("NFC", on_disk(name)).casefold(), name)
        if other != name:
            raise StudyError(f"{other!r} and {name!r} would be one file on many disks; rename one of them")
