"""What ``manytruths import`` returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, ClassVar

from ...claims.sentences import counted
from ...core.errors import CallError, few, one_line
from ...exchange.readings import ReadingSet
from ...io.result_tables import PlainTable
from ...study import Study
from ..result import Result, Tables, console_or_stdout, summary_of
from .layout import WRITTEN

CHANGES = {
    "added": "added", "replaced": "replaced", "restored": "restored", "withdrawn": "withdrawn", "vanished": "vanished",
    "removed": "removed", "kept": "kept as edited by hand", "unchanged": "unchanged", "elsewhere": "not in these files",
}  # fmt: skip
"""What an update does with a reading, and how that is said."""


@dataclass(frozen=True, repr=False)
class ImportedStudy(Result):
    """A study that was made of the files of annotation tools; see :func:`import_study`.

    Attributes
    ----------
    folder : Path
        The folder of the study: ``study.toml``, ``masks/``, ``reads.csv`` and more.
    readings : ReadingSet
        What was read from the files.
    tables : Tables
        ``reads`` (who read which case), ``images`` and, where there are any, ``cases``, ``left_out`` and ``updates``
        (what every update changed, in order).
    notes : tuple of str
        What to know before the numbers of the study are read.
    changes : mapping of str to int, optional
        What an update changed: the number of readings that were ``added``, ``replaced``, ``restored`` (their masks
        had been removed), ``withdrawn`` (no longer finished in the tool), ``vanished`` (no longer in the files),
        ``removed`` and ``kept`` (edited by hand, and changed in the tool), that are ``unchanged`` or ``elsewhere``
        (not what the files are about). None for a first import.
    """

    command: ClassVar[str] = "import"

    folder: Path
    readings: ReadingSet
    tables: Tables[PlainTable]
    notes: tuple[str, ...]
    changes: Mapping[str, int] | None = None

    @property
    def statuses(self) -> Mapping[str, int]:
        """Number of readings by status: ``done``, ``empty``, ``unread``, ``unfinished``, ``not_evaluable``."""
        reads = self.tables["reads"]
        column = reads.header.index("status")
        return Counter(str(row[column]) for row in reads.records())

    def study(self) -> Study:
        """Open the study.

        Returns
        -------
        Study
            What :meth:`Study.open` gives for the study's ``study.toml``.
        """
        return Study.open(self.folder / "study.toml")

    def describe(self) -> str:
        """What was imported, in one line."""
        readings = self.readings
        statuses = ", ".join(f"{count} {status}" for status, count in sorted(self.statuses.items()))
        return (
            f"{counted(len(readings.cases), 'case')}, {counted(len(readings.raters), 'rater')} "
            f"({few(readings.raters, 8)}): {counted(len(self.tables['reads']), 'read')}, {statuses}"
        )

    def summary(self) -> dict[str, Any]:
        """Counts, names and notes."""
        readings = self.readings
        return summary_of(
            "import", (), folder=str(self.folder), cases=len(readings.cases), raters=list(readings.raters),
            structures=list(readings.structures), statuses=dict(self.statuses), notes=list(self.notes),
            **({} if self.changes is None else {"changes": dict(self.changes)}),
        )  # fmt: skip

    def write(self, out: str | Path = "", *, pictures: bool = True, tables: str | Sequence[str] = ()) -> list[Path]:
        """Not possible: an import is written when it is made."""
        raise CallError(f"an import is written when it is made: it lies in {self.folder}")

    def print(self, console: Any = None) -> None:
        """Print who read what, the notes, and how to go on."""
        console = console_or_stdout(console)
        names = ", ".join(name for name in WRITTEN if (self.folder / name).exists())
        for line in (
            self.describe(),
            f"structures: {few(self.readings.structures, 8) or 'none was marked'}",
            *(() if self.changes is None else (self._describe_changes(),)),
            *(f"note: {note}" for note in self.notes),
            f"written to {self.folder}: {names}",
            f"next: manytruths report {quote(str(self.folder / 'study.toml'))}",
        ):
            console.print(one_line(line), markup=False, highlight=False, soft_wrap=True)

    def _describe_changes(self) -> str:
        """What the update changed, in one line."""
        kinds = [kind for kind in CHANGES if (self.changes or {}).get(kind)]
        told = ", ".join(f"{(self.changes or {})[kind]} {CHANGES[kind]}" for kind in kinds)
        return f"readings: {told or 'none'}"
