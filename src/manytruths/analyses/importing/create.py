"""Write an imported study into an empty folder, or in the place of an earlier import."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ...core.errors import StudyError, few
from ...exchange.readings import Reading, ReadingSet
from ...io import Template, write_text
from ...io.results import replacing
from ...study import Progress
from ...study.processes import map_in_order
from ..result import Tables
from .imported import ImportedStudy
from .layout import Layout, check_folder, earlier_files, on_disk, study_toml
from .ledger import Ledger, Renames, Settings, cells, digests_of, files_in, record
from .masks import Drawn, draw
from .notes import models_of, notes_of
from .tables import tables_of, write_pictures

AT_ONCE = 1 << 28
"""Pixels of all readings that are drawn at the same time: each takes up to three bytes."""
MOST_ROWS = 1 << 20
"""Of a study: cases times raters, whoever read what."""


@dataclass(frozen=True)
class Request:
    """What an import was asked for, besides the readings."""

    folder: Path
    settings: Settings
    images: str | None = None
    """The template of images that stay where they are."""
    renames: Renames = field(default_factory=Renames)
    names: Mapping[str, str] = field(default_factory=dict)
    """What cases were called before they were renamed, by the names of their images in the tool."""
    jobs: int = 1
    progress: Progress | None = None


def create_study(readings: ReadingSet, request: Request, replace: bool) -> ImportedStudy:
    """Write a study of readings, all of it or nothing."""
    layout, settings, images, folder = Layout.of(readings), request.settings, request.images, request.folder
    drawable = find_drawable(readings)
    if not drawable:
        raise StudyError("nobody finished reading any image; include unfinished readings with --unfinished keep")
    ranked = settings.rank_maps and has_ranks(drawable)
    with replacing(folder.resolve(), ours=earlier_files(folder, images)) as (stage,):
        check_folder(folder, replace)
        if images is not None:
            check_case_names(readings, layout, images)
        drawn = draw_readings(drawable, stage, layout, ranked, request)
        pictures = write_pictures(readings.reads, stage, layout) if images is None and not layout.kept else {}
        by_reading = dict(zip(map(id, drawable), drawn, strict=True))
        tables = Tables(tables_of(readings, layout, {name_of(r): by_reading[id(r)] for r in drawable}))
        for table in tables.values():
            table.write(stage)
        pictured = "" in pictures.values()
        text = toml_of(readings, layout, request, images, pictured, ranked)
        write_text(stage / "study.toml", text)
        Ledger(
            settings, request.renames, images and str(Path(images).absolute()), dict(request.names),
            readings.structures, ranked, pictured,
            tuple((*key, count) for key, count in readings.left_out.items()),
            tuple(record(read, by_reading.get(id(read))) for read in readings.reads),
            digests_of(stage, files_in(stage)),
            {name: [cells(table.header, row) for row in table.records()] for name, table in tables.items()}, text,
        ).write(stage)  # fmt: skip
    notes = list(notes_of(readings, drawable, drawn, pictures, elsewhere=images is not None))
    if layout.kept:
        notes.append("images are too large to be drawn on: masks are outlines (GeoJSON), which are counted as they are")
    return ImportedStudy(folder, readings, tables, tuple(notes))


def name_of(read: Reading) -> tuple[str, str, str]:
    """Case, rater and session as the tool calls them."""
    return read.case, read.rater, read.session


def find_drawable(readings: ReadingSet) -> list[Reading]:
    """The readings that have masks, once it is sure that they are not too many."""
    if len(readings.cases) * len(readings.raters) > MOST_ROWS:
        raise StudyError(
            f"{len(readings.cases)} cases of {len(readings.raters)} raters are more than {MOST_ROWS} reads; import "
            "them in parts, or say which field names the rater (--rater-field)"
        )
    return [read for read in readings.reads if read.status in ("done", "empty")]


def has_ranks(reads: Iterable[Reading]) -> bool:
    """Whether any mark has a rank."""
    return any(mark.rank is not None for read in reads for mark in read.marks)


def draw_readings(
    reads: Sequence[Reading], folder: Path | None, layout: Layout, ranked: bool, request: Request
) -> list[Drawn]:
    """Draw readings into a folder; without one, find only what they would be."""
    if not reads:
        return []
    overlap = request.settings.overlap
    work = partial(draw, folder=folder, layout=layout, overlap=overlap, ranked=ranked)
    most = max(1, AT_ONCE // max(math.prod(read.grid.shape) for read in reads))
    return list(map_in_order(work, reads, min(request.jobs, most), request.progress))


def toml_of(
    readings: ReadingSet, layout: Layout, request: Request, images: str | None, pictured: bool, ranked: bool
) -> str:
    """The text of ``study.toml``."""
    models = {on_disk(rater): [layout.cases[c] for c in cases] for rater, cases in models_of(readings).items()}
    return study_toml(
        layout, request.settings.overlap, images, pictures=pictured, ranked=ranked,
        subjects=any(read.subject for read in readings.reads), models=models,
    )  # fmt: skip


def check_case_names(readings: ReadingSet, layout: Layout, template: str) -> None:
    """Refuse a template that fits other images than those of the study."""
    images = {match.fields["case"] for match in Template(template).find()}
    if not images & set(layout.cases.values()):
        raise StudyError(
            f"--images {template!r} finds {few(sorted(images), 3)}, and cases are called {few(readings.cases, 3)}; "
            "name the images, or the cases (--rename-case OLD=NEW), alike"
        )
