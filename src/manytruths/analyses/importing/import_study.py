"""``manytruths import``: make a study of what annotation tools export, all of it or nothing."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from pathlib import Path
from shlex import quote
from typing import Any, ClassVar, Literal, get_args

from ... import exchange
from ...claims.sentences import counted
from ...core.errors import CallError, GridError, StudyError, few, one_line
from ...exchange.readings import ImportOptions, NoPicture, Reading, ReadingSet, combine_readings
from ...io import Location, Template, probe, write_text
from ...io.files import SUFFIXES
from ...io.result_tables import PlainTable
from ...io.results import replacing
from ...shape.polygons import Rule
from ...study import Progress, Study
from ...study.options import parse_image_size
from ...study.processes import map_in_order
from ..result import Result, Tables, console_or_stdout, summary_of
from .layout import FIRST, IMAGES, WRITTEN, Layout, check_folder, earlier_files, on_disk, study_toml
from .masks import Drawn, Overlap, draw

Tool = Literal[
    "cvat", "labelstudio", "coco", "labelme", "qupath", "asap", "imagej", "slicer", "dicomseg", "rtstruct", "bids"
]  # fmt: skip
READERS: dict[str, str] = {
    "cvat": "read_cvat",
    "labelstudio": "read_labelstudio",
    "coco": "read_coco",
    "labelme": "read_labelme",
    "qupath": "read_qupath",
    "asap": "read_asap",
    "imagej": "read_imagej",
    "slicer": "read_slicer",
    "dicomseg": "read_dicom_seg",
    "rtstruct": "read_rtstruct",
    "bids": "read_bids",
}
"""Functions of :mod:`manytruths.exchange`, which imports what a tool needs when it is first used."""
AT_ONCE = 1 << 28
"""Pixels of all readings that are drawn at the same time: each takes up to three bytes."""
MOST_ROWS = 1 << 20
"""Of a study: cases times raters, whoever read what."""
SAYING = ("Label Studio", "LabelMe")
"""Tools that say whether an image was opened."""
READS = ("case", "rater", "session", "status", "based_on", "tool", "started", "seconds", "checksum")


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
        ``reads`` (who read which case), ``images`` and, where there are any, ``cases`` and ``left_out``.
    notes : tuple of str
        What to know before the numbers of the study are read.
    """

    command: ClassVar[str] = "import"

    folder: Path
    readings: ReadingSet
    tables: Tables[PlainTable]
    notes: tuple[str, ...]

    @property
    def statuses(self) -> Mapping[str, int]:
        """Number of readings by status: ``done``, ``empty``, ``unread``, ``unfinished``."""
        return Counter(str(row[READS.index("status")]) for row in self.tables["reads"].records())

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
            *(f"note: {note}" for note in self.notes),
            f"written to {self.folder}: {names}",
            f"next: manytruths report {quote(str(self.folder / 'study.toml'))}",
        ):
            console.print(one_line(line), markup=False, highlight=False, soft_wrap=True)


def import_study(
    tool: Tool | ReadingSet | Sequence[Reading],
    paths: Sequence[str | Path] | str | Path = (),
    *,
    to: str | Path,
    rename_label: Mapping[str, str] | None = None,
    rename_rater: Mapping[str, str] | None = None,
    rename_case: Mapping[str, str] | None = None,
    sessions: bool = False,
    blank: Literal["empty", "unread"] = "empty",
    unfinished: Literal["leave", "keep"] = "leave",
    skip: Sequence[str] = (),
    rater_field: str | None = None,
    rank_attribute: str = "rank",
    rank_maps: bool = True,
    overlap: Overlap = "smaller",
    rule: Rule = "centre",
    widen: float | None = None,
    images: str | Path | None = None,
    image_size: str | tuple[int, int] | None = None,
    replace: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
) -> ImportedStudy:
    """Make a study of what annotation tools export: masks, ``study.toml``, and ``reads.csv`` with who read which image.

    Parameters
    ----------
    tool : {"cvat", "labelstudio", "coco", "labelme", "qupath", "asap", "imagej", "slicer", "dicomseg", "rtstruct", \
"bids"}
        The tool that exported the files. Instead of it, readings as the functions of :mod:`manytruths.exchange` return
        them, such as those of several tools together.
    paths : sequence of str or Path
        Files, folders, ``RATER=PATH`` to say whose it is, or templates such as ``exports/{rater}.xml``.
    to : str or Path
        Folder for the study, new or empty.
    rename_label, rename_rater, rename_case : mapping of str to str, optional
        New names by old names. A label that is mapped to itself may be used by one rater alone.
    sessions : bool
        Whether a rater's second reading of a case is a second session instead of an error.
    blank : {"empty", "unread"}
        What images without marks are, where the tool does not say whether anybody opened them.
    unfinished : {"leave", "keep"}
        Whether to leave out readings that were begun or cancelled, or to take them as they are.
    skip : sequence of str
        Kinds of shapes that are not areas, to be left out: ``"points"``, ``"polyline"``.
    rater_field : str, optional
        The field or entity that names the rater, in formats that have none of their own (COCO, BIDS).
    rank_attribute : str
        The attribute that holds the severity rank of a mark; 1 is the most severe.
    rank_maps : bool
        Whether to write rank maps where marks have ranks.
    overlap : {"smaller", "z", "union"}
        Structures of one rater that overlap: the smaller is cut out of the larger, the one on top wins, or all are
        united.
    rule : {"centre", "inclusive", "coco"}
        Which pixels an outline holds; see :func:`rasterise_polygon`.
    widen : float, optional
        Width in pixels of open lines; without it, they are not areas.
    images : str or Path, optional
        Template of the images, such as ``images/{case}.png``, where they did not come with the annotations. They are
        not copied.
    image_size : str or (int, int), optional
        Width and height of all images in pixels, as ``"1024x768"``, for formats that do not hold it (QuPath, ASAP,
        ImageJ); by default that of the image of each case.
    replace : bool
        Whether to replace an earlier import in the folder.
    jobs : int
        Number of worker processes. Results do not depend on it.
    progress : callable, optional
        Called after each reading that is drawn.

    Returns
    -------
    ImportedStudy
        Counts, tables and notes; :meth:`ImportedStudy.study` opens the study.

    Raises
    ------
    CallError
        If an argument is wrong; nothing is read or written then.
    InputError
        If a file cannot be used, or files do not fit together; nothing is written then.

    Examples
    --------
    >>> import tempfile, numpy as np, manytruths as mt
    >>> from manytruths.exchange import Bitmap, Mark, Reading
    >>> square = Mark("lesion", Bitmap(2, 2, np.ones((4, 4), bool)))
    >>> readings = [Reading("p01.png", rater, mt.Grid((8, 8)), (square,)) for rater in ("anna", "ben")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     imported = mt.import_study(readings, to=f"{folder}/study")
    ...     print(imported.study().rater_names)
    ('anna', 'ben')
    """
    folder, template = Path(to), None if images is None else str(images)
    choices = {
        "overlap": (overlap, get_args(Overlap)), "rule": (rule, get_args(Rule)),
        "blank": (blank, ("empty", "unread")), "unfinished": (unfinished, ("leave", "keep")),
    }  # fmt: skip
    for name, (value, known) in choices.items():
        if value not in known:
            raise CallError(f"{name} is one of {', '.join(known)}; got {value!r}")
    if widen is not None and not 0 < widen <= 1000:
        raise CallError(f"--widen must be a number of pixels above 0; got {widen:g}")
    size = None if image_size is None else parse_image_size(image_size)
    pictures = {} if template is None else _pictures(template, rename_case or {})
    check_folder(folder, replace)
    where = None if template is None else Path(template.partition("{")[0] + "…").parent
    options = ImportOptions(rule, widen, blank, rank_attribute, rater_field, where, pictures, size)
    readings = _read_files(tool, paths, options)
    if not isinstance(readings, ReadingSet):
        readings = combine_readings(
            readings, rename_label=rename_label, rename_rater=rename_rater, rename_case=rename_case,
            skip=skip, sessions=sessions,
        )  # fmt: skip
    if unfinished == "keep":
        readings = _with_unfinished(readings)
    return _write_study(
        readings, folder, overlap=overlap, images=template, rank_maps=rank_maps, replace=replace,
        jobs=jobs, progress=progress,
    )  # fmt: skip


def _pictures(template: str, renamed: Mapping[str, str]) -> dict[str, Location]:
    """Images by case, and by the name that a case has in the files."""
    found = {match.fields["case"]: match.location for match in Template(template, require=("case",)).find()}
    return found | {old: found[new] for old, new in renamed.items() if new in found}


def _read_files(
    tool: Tool | ReadingSet | Sequence[Reading], paths: Sequence[str | Path] | str | Path, options: ImportOptions
) -> ReadingSet | Sequence[Reading]:
    if not isinstance(tool, str):
        if paths:
            raise CallError("paths are read by a tool; got readings and paths: give one of them")
        return tool
    if tool not in READERS:
        raise CallError(f"no tool {tool!r}; there are {', '.join(READERS)}")
    files = [paths] if isinstance(paths, str | Path) else list(paths)
    readings: list[Reading] = getattr(exchange, READERS[tool])(files, options)
    return readings


def _with_unfinished(readings: ReadingSet) -> ReadingSet:
    """Unfinished readings as if they were finished."""
    finished = tuple(
        dataclasses.replace(read, status="done" if read.marks else "empty") if read.status == "unfinished" else read
        for read in readings.reads
    )
    return dataclasses.replace(readings, reads=finished)


# -- writing -----------------------------------------------------------------------------------------


def _write_study(
    readings: ReadingSet,
    folder: Path,
    *,
    overlap: Overlap,
    images: str | None,
    rank_maps: bool,
    replace: bool,
    jobs: int,
    progress: Progress | None,
) -> ImportedStudy:
    layout = Layout.of(readings)
    drawable = _drawable(readings)
    ranked = rank_maps and any(mark.rank is not None for read in drawable for mark in read.marks)
    with replacing(folder.resolve(), ours=earlier_files(folder, images)) as (stage,):
        check_folder(folder, replace)
        if images is not None:
            _check_case_names(readings, layout, images)
        work = partial(draw, folder=stage, layout=layout, overlap=overlap, ranked=ranked)
        most = max(1, AT_ONCE // max(math.prod(read.grid.shape) for read in drawable))
        drawn = list(map_in_order(work, drawable, min(jobs, most), progress))
        pictures = _write_pictures(readings, stage, layout) if images is None and not layout.kept else {}
        tables = Tables(_tables(readings, layout, dict(zip(map(_key, drawable), drawn, strict=True))))
        for table in tables.values():
            table.write(stage)
        models = {on_disk(rater): [layout.cases[c] for c in cases] for rater, cases in models_of(readings).items()}
        text = study_toml(
            layout, overlap, images, pictures="" in pictures.values(), ranked=ranked, subjects="cases" in tables,
            models=models,
        )  # fmt: skip
        write_text(stage / "study.toml", text)
    notes = list(notes_of(readings, drawable, drawn, pictures, elsewhere=images is not None))
    if layout.kept:
        notes.append("images are too large to be drawn on: masks are outlines (GeoJSON), which are counted as they are")
    return ImportedStudy(folder, readings, tables, tuple(notes))


def _drawable(readings: ReadingSet) -> list[Reading]:
    """The readings that have masks, once it is sure that there are any and that they are not too many."""
    drawable = [read for read in readings.reads if read.status in ("done", "empty")]
    if not drawable:
        raise StudyError("nobody finished reading any image; include unfinished readings with --unfinished keep")
    if len(readings.cases) * len(readings.raters) > MOST_ROWS:
        raise StudyError(
            f"{len(readings.cases)} cases of {len(readings.raters)} raters are more than {MOST_ROWS} reads; import "
            "them in parts, or say which field names the rater (--rater-field)"
        )
    return drawable


def _check_case_names(readings: ReadingSet, layout: Layout, template: str) -> None:
    """Refuse a template that fits other images than those of the study."""
    images = {match.fields["case"] for match in Template(template).find()}
    if not images & set(layout.cases.values()):
        raise StudyError(
            f"--images {template!r} finds {few(sorted(images), 3)}, and cases are called {few(readings.cases, 3)}; "
            "name the images, or the cases (--rename-case OLD=NEW), alike"
        )


def _key(read: Reading) -> tuple[str, str, str]:
    return read.case, read.rater, read.session


# -- tables ------------------------------------------------------------------------------------------


def _tables(readings: ReadingSet, layout: Layout, drawn: Mapping[tuple[str, str, str], Drawn]) -> Iterator[PlainTable]:
    yield PlainTable("reads", READS, _rows(readings, layout, drawn))
    subjects = {read.case: read.subject for read in readings.reads if read.subject}
    if subjects:
        rows = [(layout.cases[case], subjects.get(case, case)) for case in readings.cases]
        yield PlainTable("cases", ("case", "subject"), rows)
    if readings.left_out:
        lost = [(layout.cases[c], on_disk(r), kind, n) for (c, r, kind), n in readings.left_out.items()]
        yield PlainTable("left_out", ("case", "rater", "kind", "count"), lost)
    names = {layout.cases[read.case]: read.image for read in readings.reads}
    yield PlainTable(Path(IMAGES).stem, ("case", "image"), names.items())


def _rows(
    readings: ReadingSet, layout: Layout, drawn: Mapping[tuple[str, str, str], Drawn]
) -> Iterator[tuple[object, ...]]:
    """Rows for every rater and case, also where there is no reading."""
    by = defaultdict[tuple[str, str], list[Reading]](list)
    for read in sorted(readings.reads, key=lambda read: read.session):
        by[read.case, read.rater].append(read)
    for case, rater in product(readings.cases, readings.raters):
        who = layout.cases[case], on_disk(rater)
        for read in by.get((case, rater), ()):
            mask = drawn.get(_key(read))
            yield (
                *who, layout.session(read), read.status, layout.parent(read), read.tool, read.started, read.seconds,
                mask.checksum if mask else "",
            )  # fmt: skip
        if (case, rater) not in by:
            yield *who, FIRST if layout.sessions else "", "unread", "", "", "", None, ""


# -- images ------------------------------------------------------------------------------------------


def _write_pictures(readings: ReadingSet, stage: Path, layout: Layout) -> dict[str, str]:
    """Write the images that came with the annotations: by case, why there is none; nothing where there is one."""
    first: dict[str, Reading] = {}
    for read in readings.reads:
        if read.picture is not None and read.picture.suffix in SUFFIXES:
            first.setdefault(read.case, read)
    return {case: _write_picture(case, read, stage, layout) for case, read in first.items()}


def _write_picture(case: str, read: Reading, stage: Path, layout: Layout) -> str:
    assert read.picture is not None
    target = stage / "images" / f"{layout.cases[case]}{read.picture.suffix}"
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        read.picture.write(target)
    except NoPicture as error:
        return str(error)
    shape = probe(target).shape
    if len(read.grid.shape) == 2 and shape != read.grid.shape:
        size = " × ".join(map(str, reversed(read.grid.shape)))
        raise GridError(
            f"case {case}: {read.source} says that its image has {size} pixels, and {read.picture} has "
            f"{' × '.join(map(str, reversed(shape)))}; export the annotations of this image again"
        )
    return ""


# -- notes -------------------------------------------------------------------------------------------


def notes_of(
    readings: ReadingSet, reads: Sequence[Reading], drawn: Sequence[Drawn], pictures: Mapping[str, str], elsewhere: bool
) -> Iterator[str]:
    """What to know of an import; ``elsewhere`` where images stay where they are."""
    lost = sum(mask.lost for mask in drawn)
    if lost:
        yield f"{lost} marks hold no pixel's centre or lie outside the image, and mark nothing"
    blank = [
        f"{read.rater} in {read.case}" for read in readings.reads if read.status == "empty" and read.tool not in SAYING
    ]
    if blank:
        yield f"no mark of {few(blank, 3)}: counted as read and found empty (--blank unread, if nobody opened them)"
    same = _identical_masks(reads, drawn)
    if same:
        pair, count = same.most_common(1)[0]
        yield (
            f"{' and '.join(pair)} have identical masks in {count} of the cases that they marked: one may be a copy or "
            "an edit of the other; if so, say it as based_on in reads.csv"
        )
    edits = [f"{read.rater} in {read.case}" for read in reads if read.based_on]
    if edits:
        yield (
            "readings edited from another rater's are excluded from agreement and consensus: "
            f"{few(edits, 3)} (--edited keep, later)"
        )
    models = list(models_of(readings))
    if models:
        yield f"models that readings started from are not raters: {few(models, 3)} ([exclude] in study.toml)"
    yield from _read_by_one(readings)
    written = sum(not why for why in pictures.values())
    if not elsewhere and not pictures:
        yield 'no image came along; say where they are, as --images "FOLDER/{case}.png", to see outlines over them'
    if 0 < written < len(readings.cases):
        yield f"{len(readings.cases) - written} of {len(readings.cases)} cases came without their image"
    unread = {case: why for case, why in pictures.items() if why}
    for case, why in list(unread.items())[:1]:
        others = f"; likewise {len(unread) - 1} more" if len(unread) > 1 else ""
        yield f"case {case}: its images could not be read ({why}), so that the study has none{others}"
    for kind in sorted({kind for *_, kind in readings.left_out}):
        yield f"left out, {kind}: {sum(n for (*_, k), n in readings.left_out.items() if k == kind)} (left_out.csv)"


def _read_by_one(readings: ReadingSet) -> Iterator[str]:
    raters = defaultdict[str, set[str]](set)
    for read in readings.reads:
        raters[read.case].add(read.rater)
    alone = [case for case, of in raters.items() if len(of) == 1]
    if alone and len(readings.raters) > 1:
        yield (
            f"{len(alone)} of {len(readings.cases)} cases are in the files of one rater alone ({few(alone, 3)}): is an "
            "image called differently in another file? (--rename-case OLD=NEW)"
        )


def models_of(readings: ReadingSet) -> dict[str, list[str]]:
    """The models that readings started from, with their cases."""
    parents = {(read.case, read.based_on) for read in readings.reads if read.based_on}
    models: dict[str, list[str]] = {}
    for read in readings.reads:
        if read.automatic and (read.case, read.rater) in parents:
            models.setdefault(read.rater, []).append(read.case)
    return models


def _identical_masks(reads: Sequence[Reading], drawn: Sequence[Drawn]) -> Counter[tuple[str, str]]:
    """Pairs of raters, and in how many cases their masks are the same, pixel by pixel, and not empty."""
    raters_by_mask = defaultdict[tuple[str, str], set[str]](set)
    for read, mask in zip(reads, drawn, strict=True):
        if mask.marked and not read.based_on:
            raters_by_mask[read.case, mask.checksum].add(read.rater)
    return Counter(pair for raters in raters_by_mask.values() for pair in combinations(sorted(raters), 2))
