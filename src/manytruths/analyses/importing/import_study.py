"""``manytruths import``: make a study of what annotation tools export, all of it or nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from ... import exchange
from ...core.errors import CallError
from ...exchange.readings import ImportOptions, Reading, ReadingSet, case_names, combine_readings
from ...io import Location, Template
from ...shape.polygons import Rule
from ...study import Progress
from ...study.options import parse_image_size
from .create import Request, create_study
from .imported import ImportedStudy
from .layout import check_folder, holds_import
from .ledger import Renames, Settings, read_ledger
from .masks import Overlap
from .update import UpdateOptions, update_study

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
    update: bool = False,
    new_rater: Sequence[str] = (),
    vanished: Literal["keep", "remove"] = "keep",
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
        Folder for the study, new or empty; with ``update``, an imported study.
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
    update : bool
        Whether to add and replace single readings of the study in the folder, as after a later export. Decisions,
        exclusions and whatever was edited by hand since the import are kept; without a study, one is made.
    new_rater : sequence of str
        Of an update: raters who are new to the study, although they may look like somebody who was renamed. Who was
        renamed is named in ``rename_rater``.
    vanished : {"keep", "remove"}
        Of an update: whether to keep or remove readings that the files do not hold any more.
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
        "vanished": (vanished, ("keep", "remove")),
    }  # fmt: skip
    for name, (value, known) in choices.items():
        if value not in known:
            raise CallError(f"{name} is one of {', '.join(known)}; got {value!r}")
    if widen is not None and not 0 < widen <= 1000:
        raise CallError(f"--widen must be a number of pixels above 0; got {widen:g}")
    if update and replace:
        raise CallError("update adds to an earlier import, and replace puts another in its place; choose one of them")
    size = None if image_size is None else parse_image_size(image_size)
    ledger = read_ledger(folder) if update and holds_import(folder) else None
    if ledger is None:
        check_folder(folder, replace)
    elif template is None:
        template = ledger.images
    renamed = {**(ledger.renames.case if ledger else {}), **(rename_case or {})}
    pictures = {} if template is None else _pictures(template, renamed)
    where = None if template is None else Path(template.partition("{")[0] + "…").parent
    options = ImportOptions(rule, widen, blank, rank_attribute, rater_field, where, pictures, size)
    settings = Settings(overlap, rule, widen, blank, unfinished, rank_attribute, rank_maps)
    renames = Renames(dict(rename_rater or {}), dict(rename_label or {}), dict(rename_case or {}))
    request = Request(folder, settings, template, renames, jobs=jobs, progress=progress)
    readings = _read_files(tool, paths, options)
    reads = readings.reads if isinstance(readings, ReadingSet) else tuple(readings)
    if unfinished == "keep":
        reads = tuple(map(_as_finished, reads))
    if ledger is not None:
        answers = UpdateOptions(frozenset(new_rater), vanished, sessions, tuple(skip))
        return update_study(reads, ledger, request, answers)
    if isinstance(readings, ReadingSet):
        return create_study(dataclasses.replace(readings, reads=reads), request, replace)
    request = dataclasses.replace(request, names=case_names([read.image for read in reads if not read.case]))
    combined = combine_readings(
        reads, rename_label=rename_label, rename_rater=rename_rater, rename_case=rename_case, skip=skip,
        sessions=sessions,
    )  # fmt: skip
    return create_study(combined, request, replace)


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


def _as_finished(read: Reading) -> Reading:
    """An unfinished reading as if it were finished."""
    if read.status != "unfinished":
        return read
    return dataclasses.replace(read, status="done" if read.marks else "empty")
