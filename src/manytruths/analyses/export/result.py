"""What an export returns, and the folder that it may write to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from ...core.errors import CallError, InputError, few, name_cases
from ...fusion.registry import estimator
from ...io.result_tables import PlainTable
from ...io.results import SUMMARY
from ...io.writing import PART
from ...study import Case, Study
from ...study.adjudicated import METHOD
from ...study.adjudicated_masks import notes_of
from ...study.grids import is_resampled
from ..result import Result, Tables, console_or_stdout, summary_of


@dataclass(frozen=True, repr=False)
class Export(Result):
    """Files that were written of a study; see :func:`export`.

    Attributes
    ----------
    study : Study
        What was exported.
    format : str
        ``nnunet``, ``monai``, or an annotation tool.
    folder : Path
        The folder of the files.
    files : tuple of Path
        The files, relative to the folder.
    tables : Tables
        Of training formats: ``cases`` and ``labels``.
    notes : tuple of str
        What to know before using the files.
    details : Mapping
        Settings and counts, as ``summary.json`` has them.
    lines : tuple of str
        What the command prints of them.
    after : tuple of str
        How to go on.
    """

    command: ClassVar[str] = "export"

    study: Study
    format: str
    folder: Path
    files: tuple[Path, ...]
    tables: Tables[PlainTable]
    notes: tuple[str, ...]
    details: Mapping[str, Any]
    lines: tuple[str, ...]
    after: tuple[str, ...]

    def summary(self) -> dict[str, Any]:
        """What ``summary.json`` holds."""
        return summary_of("export", (), target=self.format, **self.details, notes=list(self.notes))

    def describe(self) -> str:
        """What was exported, in one line."""
        return f"{len(self.study)} cases for {self.format} in {self.folder}"

    def write(self, out: str | Path = "", *, pictures: bool = True, tables: str | Sequence[str] = ()) -> list[Path]:
        """Not possible: an export is written when it is made."""
        raise CallError(f"an export is written when it is made: it lies in {self.folder}")

    def print(self, console: Any = None) -> None:
        """Print how much there is, the notes, and how to go on."""
        console = console_or_stdout(console)
        for line in (*self.lines, *(f"note: {note}" for note in self.notes), *self.after):
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def check_folder(folder: Path, format: str) -> None:
    """Refuse a folder that holds what no export to this format wrote."""
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: is not a folder; choose another one with --to")
    if any(not path.name.startswith(PART) for path in folder.iterdir()) and _format_of(folder / SUMMARY) != format:
        raise InputError(
            f"{folder}: holds something that is not an export to {format}; choose another folder with --to"
        )


def _format_of(path: Path) -> str:
    try:
        summary = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    ours = isinstance(summary, dict) and summary.get("command") == "export"
    return str(summary.get("target", "")) if ours else ""


def adjudication_notes(study: Study, method: str, jobs: int = 1) -> Iterator[str]:
    """What of an adjudicated reference standard is not settled, or not evaluable, and how adjudicators differ."""
    if estimator(method)[0].name != METHOD:
        return
    applies: dict[str, list[str]] = {}
    for case, notes in study.map(_read_notes, jobs=jobs):
        for note in notes:
            applies.setdefault(note, []).append(case.name)
    yield from (name_cases(f"{METHOD}: {note}", cases) for note, cases in applies.items())


def _read_notes(case: Case) -> tuple[str, ...]:
    return notes_of(case.read(by_tile=True).adjudicated)


def resampled_notes(study: Study) -> Iterator[str]:
    """Which masks were resampled, if any."""
    cases = [case.name for case in study if is_resampled(case)]
    if cases:
        yield f"masks of {few(cases, 5)} were resampled by nearest neighbour: their edges are off by up to half a voxel"
