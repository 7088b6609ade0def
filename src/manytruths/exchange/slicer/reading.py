"""Segmentations of 3D Slicer, ``.seg.nrrd``: names, layers, and the box of the image that Slicer stored.

Reference: the fields that Slicer writes are described with its class vtkMRMLSegmentationStorageNode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...core.errors import FormatError
from ...shape.grid import Grid
from ..opening import about
from ..reads import Choices, Mark, Outline, Read, Status, Window
from ..sources import Source, sources
from ..volumes import Labelled, Nothing, Seen, looked_through, telling
from .file import Header, corner_in, header_of, reference_of, tags_of

TOOL = "3D Slicer"
OWN = "manytruths_"
"""Before the keys in which a file written here says whose it is; Slicer leaves such keys alone."""
STATUS = "Segmentation.Status"
"""Slicer's tag of how far a segment is: kept, but no status of the read, as Slicer sets it by itself."""


def read_slicer(paths: Sequence[Path | str] | Path | str, choices: Choices | None = None) -> list[Read]:
    """One read a file.

    The rater and the case are those of the template, as ``segs/{rater}/{case}.seg.nrrd``; without one, the rater is
    called as the folder and the case as the file. A structure is called as its segment; where the file names none
    (a volume of labels under the name of a segmentation), as its number. Where the file tells the grid of the image,
    and the stored box is a part of it, the read lies on that grid, and otherwise on that of the box. All voxels that
    are stored count, whatever extent a segment says. A file without any marked voxel is ``empty``.

    Labels that belong to no segment are counted as ``unnamed-values``.
    """
    listed = [paths] if isinstance(paths, Path | str) else list(paths)
    return [_read(source, choices or Choices()) for source in sources(listed, (".seg.nrrd",))]


def _read(source: Source, choices: Choices) -> Read:
    with telling(source.path):
        header = _recent(header_of(source.path))
        seen = looked_through(header.volume)
        grid, corner = _placed(header, seen)
        marks, strange = _marks(header, seen, corner, choices)
    told = {name: source.fields.get(name) or header.keys.get(OWN + name, "") for name in _OWN_KEYS}
    return Read(
        image=source.path.name,
        rater=source.rater(told["rater"] or source.path.resolve().parent.name),
        grid=grid,
        marks=marks if seen.box is not None else (),
        session=told["session"],
        status=_status(told["status"], seen, choices),
        based_on=told["based_on"],
        tool=TOOL,
        subject=told["subject"],
        case=told["case"],
        left_out={"unnamed-values": strange} if strange else {},
        source=str(source.path),
    )


_OWN_KEYS = ("rater", "case", "session", "subject", "status", "based_on")


def _recent(header: Header) -> Header:
    """Refuse the first form of such files, whose layers are the last axis."""
    if "Segmentation_Extent" in header.keys:
        raise FormatError("is in the form that Slicer wrote before 2017; open it in a newer Slicer and save it")
    return header


def _status(told: str, seen: Seen, choices: Choices) -> Status:
    if told == "unfinished":
        return "unfinished"
    return "done" if seen.box is not None else "empty" if told == "empty" else choices.blank


def _placed(header: Header, seen: Seen) -> tuple[Grid, tuple[int, ...]]:
    """The grid of the image where it is known and holds everything that was marked, and the box's corner on it."""
    here = (0,) * len(header.grid.shape)
    reference = reference_of(header.keys)
    if reference is None:
        return header.grid, here
    if seen.box is None:
        # Slicer stores an empty segmentation as a single voxel, anywhere
        return reference, here
    corner = corner_in(header.grid, reference)
    if corner is None or not _inside(seen.box, corner, reference.shape):
        return header.grid, here
    return reference, corner


def _inside(box: Window, corner: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return all(part.start + c >= 0 and part.stop + c <= n for part, c, n in zip(box, corner, shape, strict=True))


# -- segments ----------------------------------------------------------------------------------------


def _marks(header: Header, seen: Seen, corner: tuple[int, ...], choices: Choices) -> tuple[tuple[Mark, ...], int]:
    """Every segment, and how many labels are nobody's."""
    if not header.segments:
        values = [(layer, value) for layer, found in enumerate(seen.values) for value in found]
        return tuple(Mark(str(v), _outline(header, seen, corner, layer, v)) for layer, v in values), 0
    marks: list[Mark] = []
    owned: set[tuple[int, int | None]] = set()
    for number, fields in enumerate(header.segments):
        with about(f"segment {fields['Number']}"):
            layer, value = _place(fields, number, header)
            _only(owned, layer, value)
            marks.append(_mark(fields, _outline(header, seen, corner, layer, value), choices))
    labels = ((layer, value) for layer, found in enumerate(seen.values) for value in found)
    return tuple(marks), sum((layer, value) not in owned and (layer, None) not in owned for layer, value in labels)


def _only(owned: set[tuple[int, int | None]], layer: int, value: int | None) -> None:
    """Refuse two segments that are the same voxels; without a label, a segment is all that its layer holds."""
    whole = value is None and any(other == layer for other, _ in owned)
    if whole or (layer, value) in owned or (layer, None) in owned:
        what = "no label" if value is None else f"label {value}"
        raise FormatError(f"has {what} in layer {layer}, which another one has; save it from Slicer again")
    owned.add((layer, value))


def _place(fields: Mapping[str, str], number: int, header: Header) -> tuple[int, int | None]:
    """The layer and the label; before there were shared layers, every segment had one of its own and no label."""
    layer = int(fields["Layer"]) if "Layer" in fields else number if header.volume.layers > 1 else 0
    value = int(fields["LabelValue"]) if "LabelValue" in fields else None
    if not 0 <= layer < header.volume.layers:
        raise FormatError(f"is in layer {layer}, and there are {header.volume.layers}; save it from Slicer again")
    if value is not None and value < 1:
        raise FormatError(f"has the label {value}, wanted is 1 or more; save it from Slicer again")
    return layer, value


def _outline(header: Header, seen: Seen, corner: tuple[int, ...], layer: int, value: int | None) -> Outline:
    there = bool(seen.values[layer]) if value is None else value in seen.values[layer]
    if seen.box is None or not there:
        return Nothing()
    return Labelled(header.volume, seen.box, value, layer, corner)


def _mark(fields: Mapping[str, str], outline: Outline, choices: Choices) -> Mark:
    tags = tags_of(fields.get("Tags", ""))
    rank = tags.get(choices.rank, "")
    kept = {name.lower(): fields.get(name) for name in ("ID", "Color", "Tags")} | {"status": tags.get(STATUS)}
    label = fields.get("Name") or fields.get("ID") or f"Segment_{fields['Number']}"
    attributes = {name: value for name, value in kept.items() if value}
    return Mark(label, outline, rank=int(rank) if rank.isdecimal() and len(rank) < 10 else None, attributes=attributes)
