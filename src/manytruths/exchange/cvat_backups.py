"""Backups of tasks of CVAT (``task.json``, ``annotations.json`` and ``data`` in one archive): their images and shapes.

Images come as the elements of an ``annotations.xml``, so that both are read by the same rules. Names and sizes are
those of ``data/manifest.jsonl``, whose lines are the frames of the task, or those that a job lists as ``files``. A
backup does not say who was assigned; replicas of a job, which are of several people, are therefore refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from zipfile import ZipFile

import msgspec

from ..core.errors import FormatError
from ..io.documents import LARGEST_TEXT, NOTHING, Bounded, Element, check_compression, decode, error_context, read_json
from .documents import CVAT

TASK = "task.json"
PROJECT = "project.json"
OTHERWISE = "export it as 'CVAT for images 1.1'"


class _Attribute(msgspec.Struct):
    name: str
    value: str = ""


class _Shape(msgspec.Struct):
    frame: int
    label: str = ""
    type: str = "tag"
    points: msgspec.Raw = NOTHING
    rotation: float = 0
    occluded: bool = False
    z_order: int = 0
    group: int | None = 0
    source: str = "manual"
    attributes: tuple[_Attribute, ...] = ()


class _Annotations(msgspec.Struct):
    tags: list[_Shape] = []
    shapes: list[_Shape] = []
    tracks: list[msgspec.Raw] = []


class _Job(msgspec.Struct):
    start_frame: int
    stop_frame: int
    type: str = "annotation"
    files: list[str] = []
    frames: list[int] = []


class _Data(msgspec.Struct):
    start_frame: int = 0
    frame_filter: str = ""
    deleted_frames: list[int] = []


class _Task(msgspec.Struct):
    jobs: list[_Job]
    data: _Data
    name: str = ""


class _Line(msgspec.Struct):
    name: str
    extension: str
    width: int | None = None
    height: int | None = None


def is_backup(archive: ZipFile | None) -> bool:
    """Whether an archive is a backup of CVAT; one of a project is refused."""
    names = archive.namelist() if archive is not None else []
    if PROJECT in names:
        raise FormatError("is a backup of a project; make one of each task")
    return TASK in names


def name_backup(path: Path, archive: ZipFile) -> str:
    """The name of the task, where the file is called as CVAT calls backups: in small letters, by the task."""
    task = read_json(path, _Task, _read_member(archive, TASK))
    return task.name.strip() if CVAT.fullmatch(path.name) else ""


def read_backup(path: Path, archive: ZipFile) -> Iterator[Element]:
    """The images of a backup in the order of their frames, as elements ``image`` with their shapes."""
    task = read_json(path, _Task, _read_member(archive, TASK))
    parts = read_json(path, list[_Annotations], _read_member(archive, "annotations.json"))
    others = [job.type for job in task.jobs if job.type != "annotation"]
    if others:
        kind = others[0].replace("_", " ")
        raise FormatError(f"holds a job of the type {kind!r}, and not whose it is; {OTHERWISE}, job by job")
    if len(parts) != len(task.jobs):
        raise FormatError(f"holds {len(task.jobs)} jobs and annotations of {len(parts)}; export it again")
    if any(part.tracks for part in parts):
        raise FormatError(f"holds tracks, which are of videos; {OTHERWISE}")
    images = _name_frames(task, _read_manifest(archive))
    marks: dict[int, list[Element]] = {frame: [] for frame in images}
    for part in parts:
        for number, shape in enumerate((*part.tags, *part.shapes)):
            with error_context(f"shape {number + 1} of frame {shape.frame}"):
                if shape.frame in marks:
                    marks[shape.frame].append(_element(shape))
                elif shape.frame not in task.data.deleted_frames:
                    raise FormatError("no image has that number; export it again")
    for frame, image in images.items():
        image.children = marks[frame]
        yield image


def _read_member(archive: ZipFile, name: str) -> bytes:
    with error_context(name):
        member = archive.getinfo(name)
        check_compression(member)
        with archive.open(member) as stream:
            return Bounded(stream, LARGEST_TEXT).read()


def _read_manifest(archive: ZipFile) -> list[_Line]:
    """Its images, in order."""
    name = "data/manifest.jsonl"
    if name not in archive.namelist():
        raise FormatError(f"holds no {name} with the names of the images; {OTHERWISE}")
    lines = [line for line in _read_member(archive, name).splitlines() if line.strip()]
    with error_context(name):
        if len(lines) < 3 or msgspec.json.decode(lines[1]) != {"type": "images"}:
            raise FormatError(f"lists no images; {OTHERWISE}")
        return [msgspec.json.decode(line, type=_Line) for line in lines[2:]]


def _name_frames(task: _Task, manifest: list[_Line]) -> dict[int, Element]:
    """The images by frame, without those that were deleted."""
    named = {line.name + line.extension: line for line in manifest}
    frames: dict[int, str] = {}
    for job in task.jobs:
        own = job.frames or list(range(job.start_frame, min(job.stop_frame, job.start_frame + len(manifest)) + 1))
        for frame, name in zip(own, job.files or _listed(task, manifest, own), strict=True):
            if frame in frames:
                raise FormatError(f"{name!r} is in two jobs; {OTHERWISE}, job by job")
            frames[frame] = name
    twice = [name for name, count in Counter(frames.values()).items() if count > 1]
    if twice:
        raise FormatError(
            f"{twice[0]!r} is there {list(frames.values()).count(twice[0])} times; {OTHERWISE}, job by job"
        )
    gone = {*task.data.deleted_frames}
    return {frame: _image(name, named) for frame, name in sorted(frames.items()) if frame not in gone}


def _listed(task: _Task, manifest: list[_Line], frames: list[int]) -> list[str]:
    """The names of a job's frames where the job does not list them."""
    if task.data.start_frame or task.data.frame_filter:
        raise FormatError(f"leaves out frames of its images; {OTHERWISE}")
    if frames[0] < 0 or frames[-1] >= len(manifest):
        raise FormatError(f"has frames {frames[0]} to {frames[-1]}, and {len(manifest)} images; export it again")
    return [manifest[frame].name + manifest[frame].extension for frame in frames]


def _image(name: str, named: Mapping[str, _Line]) -> Element:
    line = named.get(name)
    if line is None or line.width is None or line.height is None:
        raise FormatError(f"does not say how large {name[:80]!r} is; {OTHERWISE}")
    return Element("image", {"name": name, "width": str(line.width), "height": str(line.height)})


def _element(shape: _Shape) -> Element:
    """A shape as CVAT writes it in ``annotations.xml``."""
    attributes = {
        "label": shape.label,
        "source": shape.source,
        "occluded": str(int(shape.occluded)),
        "z_order": str(shape.z_order),
        "group_id": str(shape.group or 0),
    }
    kind = {"rectangle": "box"}.get(shape.type, shape.type)
    if kind in PLACES:
        points = decode(shape.points, list[float])
        attributes |= PLACES[kind](points) | ({"rotation": repr(shape.rotation)} if shape.rotation else {})
    element = Element(kind, attributes)
    for attribute in shape.attributes:
        child = Element("attribute", {"name": attribute.name})
        child.text = attribute.value
        element.children.append(child)
    return element


def _corners(points: list[float]) -> dict[str, str]:
    return dict(zip(("xtl", "ytl", "xbr", "ybr"), map(repr, points), strict=True))


def _ellipse(points: list[float]) -> dict[str, str]:
    """The centre, and the rightmost and topmost coordinate."""
    x, y, right, top = points
    return {"cx": repr(x), "cy": repr(y), "rx": repr(right - x), "ry": repr(y - top)}


def _vertices(points: list[float]) -> dict[str, str]:
    pairs = zip(points[::2], points[1::2], strict=True)
    return {"points": ";".join(f"{x!r},{y!r}" for x, y in pairs)}


def _mask(points: list[float]) -> dict[str, str]:
    """Run lengths, and the first and last column and row of the frame."""
    *runs, left, top, right, bottom = (f"{number:.0f}" for number in points)
    size = {"width": str(int(right) - int(left) + 1), "height": str(int(bottom) - int(top) + 1)}
    return {"rle": ",".join(runs), "left": left, "top": top} | size


PLACES = {"box": _corners, "ellipse": _ellipse, "polygon": _vertices, "polyline": _vertices, "mask": _mask}
