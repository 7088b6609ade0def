"""Exports of CVAT (*CVAT for images 1.1*): ``annotations.xml``, alone, in a folder, or in the archive with images; and
backups of tasks, which do not say who was assigned.

**Raters.** CVAT does not say who drew a shape, only whom the work was assigned to. A file is one rater's: the assignee
of the job, else of the task; in a project's export each image is its task's assignee's, else the project's. A job
without an assignee is ``job-ID``; anything else has the name of its file, or of the folder of an ``annotations.xml``.
The owner of a task need not have drawn anything and is not taken as a rater. Where several people worked on the jobs
of one task, export job by job. ``RATER=PATH`` overrides all of this. Replicas of a job (consensus) are exported one by
one; replicas with the same assignee are distinguished by the number of the job, and tasks without assignees that hold
the same image by the number of the task.

**Status.** An image without shapes may have been opened or not (``blank`` of :class:`ImportOptions`); one with only a
tag or a point was opened, and is empty. Where all shapes of an image have the same source other than ``manual``, the
reading's tool names it: ``CVAT, auto`` is a model's work, ``CVAT, consensus`` a merger of replicas.

**Shapes.** The first pixel reaches from 0 to 1 in x and y. Rotations are degrees about the centre, from x to y. A mask
is run lengths inside a frame, row by row, the first run outside.

**Writing.** Polygons of one ring stay polygons, with all digits of their coordinates. Everything else becomes a mask of
the same pixels, including polygons with another filling rule, since CVAT has only one. To open a file in CVAT: in a
task or a job that has these images and labels, *Upload annotations*, *CVAT 1.1*. CVAT finds images by their names, and
drops shapes whose label the task does not have. (When it makes a new project of such a file, CVAT drops all masks.)
"""

from __future__ import annotations

import colorsys
import os
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, FormatError, InputError, LabelError
from ..io import atomic, safe_name
from ..io.documents import Element, error_context, open_archive, open_archive_or_file, read_elements
from ..shape.grid import Grid
from ..shape.polygons import check_point_count
from .cvat_backups import is_backup, name_backup, read_backup
from .documents import Source, find_sources, image_grid
from .outlines import Bitmap, Ellipse, Line, Polygon, box, marked_window
from .readings import ImportOptions, Mark, Mask, Outline, Reading, Stored, Window, parse_rank
from .run_lengths import encode_runs, fill_runs

UNSAID = "", "__undefined__"
"""What CVAT writes where nobody chose a value."""
LARGEST_WHOLE = 1 << 31
PIECE = 1 << 16
"""Signs of run lengths that are taken apart at once."""
NAME = "annotations.xml"
LARGEST = 1 << 28
"""About so many bytes of memory for the marks of one file."""
HAND = "manual"
AREAS = ("polygon", "box", "ellipse", "mask")


def read_cvat(paths: Sequence[Path | str] | Path | str, options: ImportOptions | None = None) -> list[Reading]:
    """Read exports of CVAT (*CVAT for images 1.1*) or backups of tasks: one reading for every image of a file.

    Parameters
    ----------
    paths : sequence of str or Path
        Files ``.xml`` or ``.zip``, folders of them, ``RATER=PATH``, or templates such as ``exports/{rater}.xml``.
    options : ImportOptions, optional
        What the files leave open.

    Returns
    -------
    list of Reading
        Readings in the order of the files and their images.
    """
    sources = find_sources(paths, (".xml", ".zip"))
    exports = [_read_export(source, options or ImportOptions()) for source in sources]
    raters = _name_raters(exports)
    return [read for export, rater in zip(exports, raters, strict=True) for read in export.given(rater)]


# -- raters -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Header:
    """What a file says of itself."""

    kind: str = ""
    """``job``, ``task`` or ``project``."""
    number: str = ""
    assignee: str = ""
    created: str = ""
    parent: str = ""
    """The job of which it is a replica, where that is said."""
    segment: str = ""
    """Replicas of a job share it, and share it with the job."""
    tasks: dict[str, str] = field(default_factory=dict)
    """Of a project: assignees, by the number of the task."""

    @classmethod
    def of(cls, meta: Element) -> _Header:
        kind = next((kind for kind in ("job", "task", "project") if meta.find(kind) is not None), "")
        project = meta.find("project/tasks")
        tasks = project.all("task") if project is not None else []
        return cls(
            kind,
            meta.text_at(f"{kind}/id"),
            meta.text_at(f"{kind}/assignee/username") or meta.text_at("task/assignee/username"),
            meta.text_at(f"{kind}/created"),
            meta.text_at(f"{kind}/parent_job_id"),
            meta.text_at(f"{kind}/segments/segment/id"),
            {task.text_at("id"): task.text_at("assignee/username") for task in tasks},
        )

    @property
    def rater(self) -> str:
        """As far as the file says it."""
        return self.assignee or (f"job-{self.number}" if self.kind == "job" and self.number else "")


@dataclass(frozen=True)
class _Export:
    """One file."""

    source: Source
    header: _Header
    reads: tuple[Reading, ...]
    places: tuple[tuple[str, str], ...]
    """Of each read: task and subset, in a project's export."""

    def given(self, rater: str) -> Iterator[Reading]:
        """The reads, with their raters; images of one name in several subsets are named with these."""
        subsets, tasks = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
        for read, (task, subset) in zip(self.reads, self.places, strict=True):
            subsets[read.image].add(subset)
            if not self.header.tasks.get(task):
                tasks[f"{subset}/{read.image}"].add(task)
        shared = any(len(of) > 1 for of in tasks.values())
        for read, (task, subset) in zip(self.reads, self.places, strict=True):
            image = f"{subset}/{read.image}" if len(subsets[read.image]) > 1 else read.image
            of_file = "rater" in self.source.fields or not task
            of_task = self.header.tasks.get(task) or (f"task-{task}" if shared else rater)
            yield replace(read, image=image, rater=rater if of_file else of_task)


def _name_raters(exports: Sequence[_Export]) -> list[str]:
    """Of each file; replicas of one job with the same assignee are named with their numbers."""
    names = [export.source.rater(export.header.rater) for export in exports]
    jobs = defaultdict[tuple[str, str], set[str]](set)
    keys = [(name, _replicated(export, exports)) for name, export in zip(names, exports, strict=True)]
    for key, export in zip(keys, exports, strict=True):
        jobs[key].add(export.header.number)
    return [
        f"{name}-job-{export.header.number}"
        if name == export.header.assignee and key[1] and len(jobs[key]) > 1 and "rater" not in export.source.fields
        else name
        for name, key, export in zip(names, keys, exports, strict=True)
    ]


def _replicated(export: _Export, exports: Sequence[_Export]) -> str:
    """What the replicas of one job have in common; empty for anything but a job."""
    header = export.header
    if header.kind != "job":
        return ""
    own = header.parent or next((header.number for other in exports if other.header.parent == header.number), "")
    return f"job {own}" if own else header.segment and f"segment {header.segment}"


# -- images -------------------------------------------------------------------------------------------


def _read_export(source: Source, options: ImportOptions) -> _Export:
    reads, places = list[Reading](), list[tuple[str, str]]()
    with error_context(source.path), _open(source.path) as (elements, pictures, header):
        cost = 0
        for element in elements:
            if element.name == "image":
                reads.append(_read(element, len(reads), source, options, pictures))
                places.append((element.get("task_id", ""), element.get("subset", "")))
                cost += 1500 + 4 * len(reads[-1].image) + sum(map(cost_of, reads[-1].marks))
                cost += sum(200 + 4 * len(kind) for kind in reads[-1].left_out)
            elif element.name == "meta":
                header = _Header.of(element)
            elif element.name == "track":
                raise FormatError("holds tracks of 'CVAT for video'; export it as 'CVAT for images 1.1'")
            elif not element.text.strip().startswith("1."):
                raise FormatError(f"is of version {element.text.strip()[:20]!r}; export it as 'CVAT for images 1.1'")
            if cost > LARGEST:
                raise FormatError(f"holds more than fits into memory, from image {len(reads)} on; export it in parts")
        if not reads:
            raise FormatError("holds no image; export the job or the task again")
    return _Export(source, header, tuple(replace(read, started=header.created) for read in reads), tuple(places))


@contextmanager
def _open(path: Path) -> Iterator[tuple[Iterator[Element], _Pictures, _Header]]:
    """What stands in a file, an archive with one, or the backup of a task, and the images that came with it."""
    if zipfile.is_zipfile(path):
        with open_archive(path) as archive:
            if is_backup(archive):
                header = _Header("task", assignee=name_backup(path, archive))
                yield read_backup(path, archive), _Pictures(path, archive, PurePosixPath("data")), header
                return
    with open_archive_or_file(path, NAME) as (stream, packed):
        elements = read_elements(stream, {"version", "meta", "image", "track"}, "annotations")
        yield elements, _Pictures(path, packed), _Header()


def _read(image: Element, number: int, source: Source, options: ImportOptions, pictures: _Pictures) -> Reading:
    with error_context(f"image {number + 1}"):
        name = _name(image)
    with error_context(f"image {number + 1} ({name[:80]!r})"):
        grid = image_grid(image.get("width"), image.get("height"))
        marks, left_out, counted = list[Mark](), Counter[str](), Counter[str]()
        for shape in image.children:
            counted[shape.name] += 1
            with error_context(f"{shape.name[:40]} {counted[shape.name]}"):
                mark = mark_of(shape, grid, options)
            if mark is not None:
                marks.append(mark)
            else:
                left_out[shape.name] += 1
    return Reading(
        name,
        rater="",
        grid=grid,
        marks=tuple(marks),
        session=source.fields.get("session", ""),
        status="done" if marks else "empty" if left_out else options.blank,
        tool=_tool(image.children),
        subject=source.fields.get("subject", ""),
        case=source.fields.get("case", ""),
        picture=pictures.find(name, image.get("subset", "")),
        left_out=dict(left_out),
        source=str(source.path),
    )


def _name(image: Element) -> str:
    name = image.get("name")
    if not name.strip():
        raise FormatError("has no name; export it again")
    if ".." in name.replace("\\", "/").split("/"):
        raise FormatError(f"is called {name[:80]!r}, which leads out of its folder; rename it in CVAT")
    return name


def _tool(shapes: Iterable[Element]) -> str:
    """With the source, where all shapes have one and the same, and it is no hand."""
    ways = {shape.get("source", HAND) for shape in shapes}
    return f"CVAT, {ways.pop()[:40]}" if len(ways) == 1 and HAND not in ways else "CVAT"


class _Pictures:
    """The images that came with a file: in its archive, or in its folder and nowhere else."""

    def __init__(self, path: Path, archive: ZipFile | None, inside: PurePosixPath | None = None) -> None:
        self.path, self.folder = path, path.parent.resolve()
        names = archive.namelist() if archive is not None else []
        self.members = set(names) if archive is not None else None
        here = (PurePosixPath(name).parent for name in names if PurePosixPath(name).name == NAME)
        self.inside = inside or next(here, PurePosixPath())

    def find(self, name: str, subset: str) -> Stored | None:
        places = (*((f"images/{subset}/{name}",) if subset else ()), f"images/{name}", name)
        if self.members is not None:
            members = (str(self.inside / place) for place in places)
            return next((Stored(self.path, member) for member in members if member in self.members), None)
        return next((Stored(path) for place in places if (path := self._beside(place)) is not None), None)

    def _beside(self, place: str) -> Path | None:
        path = self.path.parent / place
        if not os.path.isfile(path) or not path.resolve().is_relative_to(self.folder) or path == self.path:
            return None
        return path


# -- shapes -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Runs:
    """Run lengths inside a frame, which become pixels only when they are drawn."""

    top: int
    left: int
    height: int
    width: int
    lengths: NDArray[np.int32]

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        inside = fill_runs(self.lengths, self.height * self.width).reshape(self.height, self.width)
        return Bitmap(self.top, self.left, inside).pixels(shape)


def mark_of(shape: Element, grid: Grid, options: ImportOptions) -> Mark | None:
    """A shape as a mark; None where it is no area."""
    if shape.name not in AREAS and (shape.name != "polyline" or options.widen is None):
        return None
    rank, attributes = _read_attributes(shape, options.rank)
    if not shape.get("label").strip():
        raise LabelError("has no label; give it one in CVAT")
    order = _whole_number(shape, "z_order", "0")
    return Mark(shape.get("label"), _outline(shape, grid, options), order, rank, attributes)


def cost_of(mark: Mark) -> int:
    """About how many bytes a mark takes in memory."""
    outline, cost = mark.outline, 900
    if isinstance(outline, Polygon):
        cost += sum(ring.nbytes for ring in outline.rings)
    elif isinstance(outline, Line):
        cost += outline.points.nbytes
    elif isinstance(outline, Runs):
        cost += outline.lengths.nbytes
    return cost + sum(200 + 4 * (len(name) + len(value)) for name, value in mark.attributes.items())


def _read_attributes(shape: Element, ranked: str) -> tuple[int | None, dict[str, str]]:
    """The rank, and everything else."""
    rank, attributes = None, dict[str, str]()
    if shape.get("occluded", "0") == "1":
        attributes["occluded"] = "1"
    if group := _whole_number(shape, "group_id", "0"):
        attributes["group_id"] = str(group)
    for child in shape.all("attribute"):
        name = child.get("name")
        if name.strip().casefold() != ranked.strip().casefold():
            attributes[name] = child.text
        elif child.text.strip() not in UNSAID:
            if rank is not None:
                raise InputError(f"has two attributes {ranked!r}; keep one of them")
            rank = parse_rank(child.text.strip(), name)
    return rank, attributes


def _whole_number(shape: Element, name: str, default: str | None = None) -> int:
    text = shape.get(name, default)
    try:
        number = int(text)
    except ValueError:
        number = LARGEST_WHOLE
    if abs(number) >= LARGEST_WHOLE:
        raise FormatError(f"its {name} is {text[:40]!r}, which is not a whole number; export it again")
    return number


def _number(shape: Element, name: str, default: str | None = None) -> float:
    text = shape.get(name, default)
    try:
        return float(text)
    except ValueError:
        raise FormatError(f"its {name} is {text[:40]!r}, which is not a number; export it again") from None


def _points(shape: Element) -> NDArray[np.float64]:
    text = shape.get("points")
    check_point_count(text.count(";") + 1)
    odd = next((pair for pair in text.split(";") if pair.count(",") != 1), None)
    if odd is not None:
        raise FormatError(f"one of its points is {odd[:40]!r}, not x,y; export it again")
    try:
        numbers = list(map(float, text.replace(";", ",").split(",")))
    except ValueError as error:
        raise FormatError(f"one of its points is not a number ({str(error)[:80]}); export it again") from None
    return np.array(numbers, np.float64).reshape(-1, 2)


def _outline(shape: Element, grid: Grid, options: ImportOptions) -> Outline:
    if shape.name == "mask":
        return _mask(shape, grid)
    if shape.name == "box":
        left, top, right, bottom = (_number(shape, name) for name in ("xtl", "ytl", "xbr", "ybr"))
        return box(left, top, right - left, bottom - top, _number(shape, "rotation", "0"), rule=options.rule)
    if shape.name == "ellipse":
        x, y, half_width, half_height = (_number(shape, name) for name in ("cx", "cy", "rx", "ry"))
        return Ellipse(x, y, half_width, half_height, _number(shape, "rotation", "0"))
    points = _points(shape)
    if shape.name == "polyline":
        return Line.of(points, options.widen or 0)
    if len(points) < 3:
        raise InputError(f"has {len(points)} points; an area needs three at least: draw it again, or delete it")
    return Polygon.of([points], options.rule)


def _mask(shape: Element, grid: Grid) -> Outline:
    top, left, height, width = (_whole_number(shape, name) for name in ("top", "left", "height", "width"))
    if not (1 <= height <= grid.shape[0] and 1 <= width <= grid.shape[1]):
        raise FormatError(
            f"its frame has {width} × {height} pixels and the image {grid.shape[1]} × {grid.shape[0]}; export it again"
        )
    text, size = shape.get("rle"), height * width
    lengths = _parse_lengths(text, size) if text.count(",") <= size else np.zeros(0, np.int32)
    if (total := int(lengths.sum(dtype=np.int64))) != size:
        raise FormatError(f"its run lengths hold {total or 'more'} pixels, and its frame {size}; export it again")
    return Runs(top, left, height, width, lengths)


def _parse_lengths(text: str, size: int) -> NDArray[np.int32]:
    """Run lengths piece by piece: as a list of words they would take twenty times as much memory."""
    pieces, start = [], 0
    while start <= len(text):
        end = text.find(",", start + PIECE)
        end = len(text) if end < 0 else end
        pieces.append(_parse_runs(text[start:end], size))
        start = end + 1
    return np.concatenate(pieces)


def _parse_runs(text: str, size: int) -> NDArray[np.int32]:
    try:
        runs = list(map(int, text.split(",")))
    except ValueError:
        raise FormatError("its run lengths are not whole numbers; export it again") from None
    if min(runs) < 0 or max(runs) > size:
        raise FormatError(f"it has a run of {min(min(runs), 0) or max(runs)} pixels; export it again")
    return np.array(runs, np.int32)


EARLIEST = 1980, 1, 1, 0, 0, 0
"""The date of what stands in an archive: the same reads make the same bytes."""
OWN = {"occluded": re.compile("1"), "group_id": re.compile(r"[1-9]\d{0,8}")}
"""Attributes that CVAT has of its own, where they hold what it takes."""
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_cvat(path: Path | str, reads: Iterable[Reading], *, rank: str = "rank") -> list[Path]:
    """Write readings as files that CVAT opens.

    Images that were not read are left out; images without marks are written without shapes. CVAT does not know
    unfinished work: such an image is left out if it has no marks, and written like any other if it has.

    Parameters
    ----------
    path : str or Path
        ``….xml`` or ``….zip`` for the readings of one rater; any other path is a folder for a file ``RATER.xml`` each.
    reads : iterable of Reading
        What to write.
    rank : str
        The attribute that holds the severity rank.

    Returns
    -------
    list of Path
        The files.
    """
    path, rows = Path(path), [read for read in reads if read.marks or read.status in ("done", "empty")]
    files = _files(path, rows)
    for readings in files.values():
        _check(readings, rank)
    for file, readings in files.items():
        with atomic(file) as temporary:
            _write(temporary, readings, rank, packed=file.suffix.lower() == ".zip")
    return list(files)


def _files(path: Path, reads: Sequence[Reading]) -> dict[Path, list[Reading]]:
    """Which reads go where."""
    if not reads:
        raise InputError(f"{path}: there is nothing to write, as no image was read")
    parts: dict[tuple[str, str], list[Reading]] = {}
    for read in reads:
        parts.setdefault((read.rater, read.session), []).append(read)
    if path.suffix.lower() not in (".xml", ".zip"):
        return {path / f"{safe_name('-'.join(filter(None, key)))}.xml": own for key, own in parts.items()}
    if len(parts) > 1:
        who = ", ".join(" ".join(filter(None, key)) for key in list(parts)[:4])
        raise CallError(f"{path}: a CVAT file is one rater's, and these are of {who}; give a folder instead")
    return {path: list(reads)}


def _check(reads: Sequence[Reading], rank: str) -> None:
    """Refuse what CVAT cannot hold, before anything is written."""
    names = set[str]()
    for read in reads:
        name = _image(read)
        if len(read.grid.shape) != 2:
            raise InputError(f"{name!r}: has {len(read.grid.shape)} axes, and CVAT takes images; export it elsewhere")
        if name in names:
            raise InputError(f"{name!r}: occurs twice for {read.rater}; write one file for each")
        names.add(name)
        for mark in read.marks:
            _check_mark(mark, name, rank)
        words = [name, read.rater, read.started, rank]
        words += [word for mark in read.marks for word in (mark.label, *mark.attributes, *mark.attributes.values())]
        for word in words:
            if _UNWRITABLE.search(word):
                raise InputError(f"{name!r}: {word[:80]!r} holds characters that XML cannot hold; rename it")


def _check_mark(mark: Mark, image: str, rank: str) -> None:
    if not mark.label.strip():
        raise InputError(f"{image!r}: holds a mark without a label; give it one")
    if any(_same(name, rank) for name in mark.attributes):
        raise InputError(f"{image!r}: a mark's attribute {rank!r} is not a rank; choose another name with rank=")


def _same(name: str, other: str) -> bool:
    """As names of ranks are compared when they are read."""
    return name.strip().casefold() == other.strip().casefold()


def _image(read: Reading) -> str:
    return read.image or read.case


# -- the file ----------------------------------------------------------------------------------------


def _write(path: Path, reads: Sequence[Reading], rank: str, packed: bool) -> None:
    lines = (line.encode() + b"\n" for line in _lines(reads, rank))
    if not packed:
        with open(path, "wb") as stream:
            stream.writelines(lines)
        return
    about = zipfile.ZipInfo(NAME, EARLIEST)
    about.compress_type = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(path, "w") as archive, archive.open(about, "w", force_zip64=True) as stream:
        stream.writelines(lines)


def _lines(reads: Sequence[Reading], rank: str) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield "<annotations>"
    yield "  <version>1.1</version>"
    yield from _meta(reads, rank)
    for number, read in enumerate(reads):
        height, width = read.grid.shape
        yield f"  <image{_attributes(id=number, name=_image(read), width=width, height=height)}>"
        for mark in read.marks:
            yield from _shape(mark, read, rank)
        yield "  </image>"
    yield "</annotations>"


def _attributes(**values: object) -> str:
    return "".join(f" {name}={quoteattr(str(value))}" for name, value in values.items())


def _element(name: str, text: object, indent: int) -> str:
    return f"{' ' * indent}<{name}>{_text(str(text))}</{name}>"


def _text(text: str) -> str:
    return escape(text, {"\r": "&#13;"})


# -- what the file says of itself --------------------------------------------------------------------


def _meta(reads: Sequence[Reading], rank: str) -> Iterator[str]:
    yield "  <meta>\n    <task>"
    fields = {"id": 0, "name": reads[0].rater, "size": len(reads), "mode": "annotation", "overlap": 0, "bugtracker": ""}
    fields["created"] = fields["updated"] = min((read.started for read in reads if read.started), default="")
    fields |= {"subset": "default", "start_frame": 0, "stop_frame": len(reads) - 1, "frame_filter": ""}
    for name, value in fields.items():
        yield _element(name, value, 6)
    yield "      <owner></owner>\n      <assignee>"
    yield _element("username", reads[0].rater, 8)
    yield _element("email", "", 8)
    yield "      </assignee>\n      <labels>"
    for number, (label, names) in enumerate(_labels(reads, rank).items()):
        yield from _label_lines(label, number, names, rank)
    yield "      </labels>\n    </task>\n  </meta>"


def _labels(reads: Sequence[Reading], rank: str) -> dict[str, dict[str, None]]:
    """Every label, with the names of its attributes, as they first appear."""
    labels: dict[str, dict[str, None]] = {}
    for read in reads:
        for mark in read.marks:
            names = labels.setdefault(mark.label, {})
            names.update(dict.fromkeys(_shape_attributes(mark, rank)))
    return labels


def _label_lines(name: str, number: int, attributes: Iterable[str], rank: str) -> Iterator[str]:
    yield "        <label>"
    yield _element("name", name, 10)
    yield _element("color", label_colour(number), 10)
    yield _element("type", "any", 10)
    yield "          <attributes>"
    for attribute in attributes:
        kind, values = ("number", "1\n100\n1") if attribute == rank else ("text", "")
        yield "            <attribute>"
        fields = {"name": attribute, "mutable": False, "input_type": kind, "default_value": "", "values": values}
        for key, value in fields.items():
            yield _element(key, value, 14)
        yield "            </attribute>"
    yield "          </attributes>\n        </label>"


def label_colour(number: int) -> str:
    """Hues by the golden ratio: however many there are, neighbours differ."""
    parts = colorsys.hsv_to_rgb(number * 0.618034 % 1, 0.65, 0.95)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


# -- shapes ------------------------------------------------------------------------------------------


def _shape_attributes(mark: Mark, rank: str) -> dict[str, str]:
    """What stands beside the shape, the rank first."""
    ranked = {} if mark.rank is None else {rank: str(mark.rank)}
    own = _own_attributes(mark.attributes)
    return ranked | {name: value for name, value in mark.attributes.items() if name not in own}


def _own_attributes(attributes: Mapping[str, str]) -> dict[str, str]:
    return {name: attributes[name] for name, form in OWN.items() if form.fullmatch(attributes.get(name, ""))}


def _shape(mark: Mark, read: Reading, rank: str) -> Iterator[str]:
    own = {"occluded": "0"} | _own_attributes(mark.attributes)
    kind, place = _place(mark.outline, read.grid.shape)
    way = read.tool.removeprefix("CVAT, ") if read.tool.startswith("CVAT, ") else "manual"
    source = way if read.tool.startswith("CVAT") else "file"
    head = _attributes(label=mark.label, source=source, **own, **place, z_order=mark.order)
    attributes = _shape_attributes(mark, rank)
    yield f"    <{kind}{head}>" if attributes else f"    <{kind}{head}></{kind}>"
    for name, value in attributes.items():
        yield f"      <attribute{_attributes(name=name)}>{_text(value)}</attribute>"
    if attributes:
        yield f"    </{kind}>"


def _place(outline: Outline, shape: tuple[int, ...]) -> tuple[str, dict[str, object]]:
    if isinstance(outline, Polygon) and len(outline.rings) == 1 and outline.rule == "centre":
        return "polygon", {"points": ";".join(f"{x!r},{y!r}" for x, y in outline.rings[0].tolist())}
    window, inside = outline.pixels(shape)
    part = marked_window(inside)
    tight = inside[part]
    if not tight.size:
        # one pixel that is out: CVAT takes no frame without pixels
        return "mask", {"rle": "1", "left": 0, "top": 0, "width": 1, "height": 1}
    top, left = (around.start + own.start for around, own in zip(window, part, strict=True))
    runs, (height, width) = ", ".join(map(str, encode_runs(tight))), tight.shape
    return "mask", {"rle": runs, "left": left, "top": top, "width": width, "height": height}
