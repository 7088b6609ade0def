"""What every command returns: tables, charts and notes, shown in a notebook and written as the command writes them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from html import escape
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import manytruths

from ..claims.catalogue import check_primary
from ..claims.claim import Claims
from ..core.errors import CallError, ManytruthsError, PredictionsError, StudyError
from ..io.result_tables import DataTable, Row, Table
from ..io.results import replacing, write_summary
from ..io.writing import write_text
from ..study import Study
from ..study.case import NO_PIXELS
from .many import MOST_ROWS
from .paper_tables.formats import Tabled, parse_formats, write_formats
from .paper_tables.wide import paper_tables, settings_of

OUT = Path("manytruths-out")
"""Where commands write by default."""
SAID = 6
"""Sentences that a notebook shows unfolded."""


T = TypeVar("T", bound=DataTable)


class Tables(dict[str, T]):
    """Tables by the name of their file."""

    def __init__(self, tables: Iterable[T]) -> None:
        super().__init__((table.name, table) for table in tables)

    def __missing__(self, name: str) -> T:
        raise CallError(f"there is no table {name!r}; tables are {', '.join(self) or 'none'}")

    def __repr__(self) -> str:
        return "Tables(" + ", ".join(f"{name}: {len(table)} rows" for name, table in self.items()) + ")"


class Result(ABC):
    """The base of what commands return.

    Attributes
    ----------
    tables : Tables
        Every table of the command by the name of its file; ``tables["pairs"].to_frame()`` is a pandas DataFrame.
    charts : Mapping[str, str]
        The command's charts as SVG by the name of their file, drawn when first asked for.
    claims : Claims
        What is said about the data, with the numbers it rests on; and what was considered and not said.
    notes : tuple of str
        What a reader should know about the numbers.
    """

    command: ClassVar[str]
    tables: Tables[Any]
    notes: tuple[str, ...]

    @property
    def claims(self) -> Claims:
        """What is said about the data, and what was considered and not said."""
        return Claims()

    @property
    def charts(self) -> Mapping[str, str]:
        """The charts of the command as SVG, by the name of their file."""
        return {}

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """What ``summary.json`` holds."""

    @abstractmethod
    def describe(self) -> str:
        """One line: what was analysed."""

    def write(self, out: str | Path = OUT, *, pictures: bool = True, tables: str | Sequence[str] = ()) -> list[Path]:
        """Write the files that the command writes, into a folder of its name.

        Maps that were not written while the cases were read are made in a second pass over the cases.

        Parameters
        ----------
        out : str or Path
            Folder for the results; the files go to ``out/<command>/``.
        pictures : bool
            Whether to write charts and pictures.
        tables : str or sequence of str
            Formats of tables for a paper, as in ``["xlsx", "docx"]``: xlsx, latex, docx, html, redcap.

        Returns
        -------
        list of Path
            The files, ``summary.json`` last. Files from earlier runs that this one did not write are removed.
        """
        folder, formats = Path(out) / self.command, parse_formats(tables, out, self.command)
        with results_folder(out, self.command) as stage:
            assert stage is not None
            maps = self.write_maps(stage) if pictures else []
            paths = self.write_into(stage, maps, pictures=pictures, tables=formats)
        return [folder / path.relative_to(stage) for path in paths]

    def write_maps(self, folder: Path) -> list[Path]:
        """Write the maps of all cases into a folder, reading the cases again; nothing for commands without maps."""
        return []

    def write_into(
        self, folder: Path, maps: Sequence[Path] = (), *, pictures: bool = True, tables: Sequence[str] = ()
    ) -> list[Path]:
        """Write tables, charts and summary into a folder that holds the maps already."""
        paths = [table.write(folder) for table in self.tables.values()]
        paths += [self.claims.table().write(folder)] if self.claims else []
        paths += write_formats(tables, [self.tabled()], folder, f"manytruths {self.command}") if tables else []
        paths += self.write_more(folder)
        paths += [*(write_charts(self.charts, folder / "charts") if pictures else ()), *maps]
        return [*paths, write_summary(folder, self.summary(), paths)]

    def tabled(self) -> Tabled:
        """What the tables for a paper are made of."""
        others = ("tables", "notes", "schema_version", "manytruths", "command")
        facts = {name: value for name, value in self.summary().items() if name not in others}
        level, study = getattr(getattr(self, "settings", None), "level", 0.95), getattr(self, "study", None)
        papers = paper_tables(
            self.command, self.tables.values(), level=level, unit=self.distance_unit, **self.paper_rows()
        )
        claims = [self.claims.table()] if self.claims else []
        subjects = {case.name: case.subject for case in study} if isinstance(study, Study) else {}
        return Tabled(
            self.command, self.describe(), settings_of(facts), papers, [*self.tables.values(), *claims], subjects
        )

    @property
    def distance_unit(self) -> str:
        """The unit of distances in tables for a paper; empty where there are none."""
        return ""

    def paper_rows(self) -> dict[str, object]:
        """What columns must hold of the rows that tables for a paper show, where a number has several."""
        return {}

    def write_more(self, folder: Path) -> list[Path]:
        """Write the files that are neither tables nor charts."""
        return []

    @abstractmethod
    def print(self, console: Any = None) -> None:
        """Print what the command prints, to a ``rich`` console; to standard output by default."""

    def __repr__(self) -> str:
        tables = ", ".join(self.tables)
        return f"<{type(self).__name__}: {self.describe()}; tables: {tables}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: a line, what is said, notes, the charts, the first of them open, and the tables."""
        head = f"<p><b>{escape(type(self).__name__)}</b>: {escape(self.describe())}</p>"
        said = show_claims(self.claims.made)
        notes = "".join(f"<li>{escape(str(note))}</li>" for note in self.notes)
        folded = f"<details><summary>notes ({len(self.notes)})</summary><ul>{notes}</ul></details>" if notes else ""
        return f"<div>{head}{said}{folded}{show_charts(self.charts)}{show_tables(self.tables)}</div>"


def show_claims(made: Claims) -> str:
    """What is said as HTML, the later sentences folded."""
    first, more = Claims(made[:SAID]), Claims(made[SAID:])
    folded = f"<details><summary>{len(more)} more sentences</summary>{more._repr_html_()}</details>" if more else ""
    return (first._repr_html_() if first else "") + folded


def show_tables(tables: Mapping[str, DataTable]) -> str:
    """Tables as HTML, to be opened; wide ones are scrolled."""
    return "".join(
        f"<details><summary>table {escape(name)} ({len(table)} rows)</summary>"
        f'<div style="overflow-x:auto">{table._repr_html_()}</div></details>'
        for name, table in tables.items()
    )


def show_charts(charts: Mapping[str, str]) -> str:
    """Charts as HTML on white, as their ink is dark whatever the theme of the notebook; the first is open."""
    return "".join(
        f"<details{'' if i else ' open'}><summary>chart {escape(name)}</summary>"
        f'<div style="background:#fff;overflow-x:auto;width:fit-content;max-width:100%">{svg}</div></details>'
        for i, (name, svg) in enumerate(charts.items())
    )


@contextmanager
def results_folder(
    out: str | Path | None,
    command: str,
    *,
    jobs: int | None = None,
    goes_on: bool = False,
    keeps: bool = False,
    ours: Sequence[str] = (),
) -> Iterator[Path | None]:
    """The folder that a command writes into, which takes the place of its earlier results when the block ends well.

    Without ``out`` there is none, and nothing is written. With ``keeps`` the next run goes on with finished cases.
    """
    if out is None:
        yield None
        return
    run = {} if jobs is None else {"jobs": jobs}
    with replacing(Path(out) / command, ours=ours, goes_on=goes_on, keeps=keeps, run=run) as (stage,):
        yield stage


def console_or_stdout(console: Any) -> Any:
    """The console that was given, or standard output."""
    from rich.console import Console

    return console or Console()


StudySource = Study | str | Path | Sequence[str | Path]
"""A study, or what :meth:`Study.open` takes."""


def open_study(study: StudySource) -> Study:
    """A study, or what :meth:`Study.open` takes; its primary claim must be one that is tested."""
    opened = study if isinstance(study, Study) else Study.open(_as_source(study))
    check_primary(opened.options.primary)
    return opened


def need_pixels(study: Study, what: str) -> None:
    """Refuse a study of tally files for what they do not hold."""
    if study.tallied is not None:
        raise StudyError(f"{what} {NO_PIXELS}")


def open_raters(study: StudySource, **options: Any) -> Study:
    """The same for what is about raters alone: predictions that are not there are not missed."""
    if isinstance(study, Study):
        return study
    return Study.open(_as_source(study), **options, complain=_need_no_predictions)


def _as_source(study: object) -> str | Path | list[str | Path]:
    """Refuse what names no study."""
    if isinstance(study, list | tuple) and study and all(isinstance(path, str | os.PathLike) for path in study):
        return list(study)
    if isinstance(study, str | os.PathLike):
        return study if isinstance(study, str) else Path(study)
    raise CallError(
        f"study must be a Study, a template such as 'masks/{{rater}}/{{case}}.png' or a study.toml; got "
        f"{type(study).__name__}; arrays make one by Study.from_arrays({{case: {{rater: mask}}}})"
    )


def _need_no_predictions(error: ManytruthsError) -> None:
    if not isinstance(error, PredictionsError):
        raise error


SCHEMA = 1
"""Of the summaries; a change that other programs would notice makes it grow."""


def write_charts(charts: Mapping[str, str], folder: Path) -> list[Path]:
    """SVG by name into a folder."""
    paths = [folder / f"{name}.svg" for name in charts]
    for path, svg in zip(paths, charts.values(), strict=True):
        write_text(path, svg)
    return paths


def _without_jobs(value: Any) -> Any:
    """Settings without the number of processes, on which nothing depends: ``run.json`` has it."""
    if not is_dataclass(value) or isinstance(value, type):
        return value
    return {setting.name: getattr(value, setting.name) for setting in fields(value) if setting.name != "jobs"}


def _numbers(table: Table) -> list[dict[str, Any]]:
    """The rows of a table; of a long one those about the whole study, or none where these are many, too."""
    rows: Sequence[Row] | None = None
    if len(table) > MOST_ROWS:
        rows = [row for row in table.single_rows() if row.scope not in ("case", "subject")]
        rows = rows if len(rows) <= MOST_ROWS else []
    header = table.header
    return [dict(zip(header, cells, strict=True)) for cells in table.records(rows)]


def summary_of(command: str, tables: Iterable[Table], **facts: Any) -> dict[str, Any]:
    """The summary of a command: versions, facts about its data and settings, and the tables' numbers.

    Long tables are shortened, and ``shortened`` tells how many rows their files have.
    """
    made = list(tables)
    numbers = {t.name: _numbers(t) for t in made}
    facts = {name: _without_jobs(value) for name, value in facts.items()}
    start = {"schema_version": SCHEMA, "manytruths": manytruths.__version__, "command": command}
    short = {t.name: len(t) for t in made if len(numbers[t.name]) < len(t)}
    return {**start, **facts, **({"shortened": short} if short else {}), "tables": numbers}
