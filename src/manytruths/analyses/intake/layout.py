"""Where the files of an imported study lie, and what they are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...errors import StudyError
from ...exchange.gathering import Gathered
from ...exchange.reads import Read
from ...formats import safe_name

FIRST = "1"
"""The session of reads without one, where others have one."""


@dataclass(frozen=True)
class Layout:
    """The parts that a study's paths have."""

    structures: tuple[str, ...]
    sessions: bool
    volumes: bool
    cases: Mapping[str, str]
    """What a case is called on the disk."""

    @classmethod
    def of(cls, found: Gathered) -> Layout:
        axes = {len(read.grid.shape) for read in found.reads}
        if len(axes) > 1:
            raise StudyError("there are images and volumes among the cases; import them apart")
        cases = {name: safe_name(name) for name in found.cases}
        for names in (cases.values(), map(safe_name, found.raters), map(safe_name, found.structures)):
            _told_apart(list(names))
        return cls(found.structures or ("marked",), any(read.session for read in found.reads), axes == {3}, cases)

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

    def mask(self, folder: Path, read: Read, structure: str) -> Path:
        own = self._parts(safe_name(read.rater), safe_name(self.session(read)), safe_name(structure))
        return folder / f"masks/{own}/{self.cases[read.case]}{self.ending}"

    def rank(self, folder: Path, read: Read) -> Path:
        own = self._parts(safe_name(read.rater), safe_name(self.session(read)), "")
        return folder / f"ranks/{own}/{self.cases[read.case]}{self.ending}"

    def session(self, read: Read) -> str:
        return (read.session or FIRST) if self.sessions else ""

    def _parts(self, rater: str, session: str, label: str) -> str:
        several = len(self.structures) > 1 and label
        return "/".join([rater, *([session] if self.sessions else ()), *([label] if several else ())])


def _told_apart(names: list[str]) -> None:
    """Refuse names that are one on disks that take no notice of capitals."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise StudyError(f"{other!r} and {name!r} would be one file on many disks; rename one of them")
