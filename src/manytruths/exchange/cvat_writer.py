"""Write readings as files that CVAT opens (*CVAT for images 1.1*).

Polygons of one ring stay polygons, with all digits of their coordinates. Everything else becomes a mask of the same
pixels, including polygons with another filling rule, since CVAT has only one.

To open it in CVAT: in a task or a job that has these images and labels, *Upload annotations*, *CVAT 1.1*. CVAT finds
images by their names, and drops shapes whose label the task does not have. (When it makes a new project of such a
file, CVAT drops all masks.)
"""

from __future__ import annotations

import colorsys
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from ..core.errors import CallError, InputError
from ..io import atomic, safe_name
from .outlines import Polygon
from .readings import Mark, Outline, Reading
from .run_lengths import encode_runs

NAME = "annotations.xml"
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
            raise InputError(f"{name!r}: is there twice for {read.rater}; write one file for each")
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
        raise InputError(
            f"{image!r}: a mark has an attribute {rank!r} that is not a rank; choose another name with rank="
        )


def _same(name: str, other: str) -> bool:
    """As names of ranks are compared when they are read."""
    return name.strip().casefold() == other.strip().casefold()


def _image(read: Reading) -> str:
    return read.image or read.case


# -- the file ----------------------------------------------------------------------------------------


def _write(path: Path, reads: Sequence[Reading], rank: str, packed: bool) -> None:
    if not packed:
        with open(path, "wb") as stream:
            _write_lines(stream, reads, rank)
        return
    about = zipfile.ZipInfo(NAME, EARLIEST)
    about.compress_type = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(path, "w") as archive, archive.open(about, "w", force_zip64=True) as stream:
        _write_lines(stream, reads, rank)


def _write_lines(stream: IO[bytes], reads: Sequence[Reading], rank: str) -> None:
    for line in _lines(reads, rank):
        stream.write(line.encode() + b"\n")


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
        yield from _label(label, number, names, rank)
    yield "      </labels>\n    </task>\n  </meta>"


def _labels(reads: Sequence[Reading], rank: str) -> dict[str, dict[str, None]]:
    """Every label, with the names of its attributes, as they first appear."""
    labels: dict[str, dict[str, None]] = {}
    for read in reads:
        for mark in read.marks:
            names = labels.setdefault(mark.label, {})
            names.update(dict.fromkeys(_shape_attributes(mark, rank)))
    return labels


def _label(name: str, number: int, attributes: Iterable[str], rank: str) -> Iterator[str]:
    yield "        <label>"
    yield _element("name", name, 10)
    yield _element("color", _colour(number), 10)
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


def _colour(number: int) -> str:
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
    (rows, columns), inside = outline.pixels(shape)
    high, wide = (np.flatnonzero(inside.any(axis=axis)) for axis in (1, 0))
    if not len(high):
        # one pixel that is out: CVAT takes no frame without pixels
        return "mask", {"rle": "1", "left": 0, "top": 0, "width": 1, "height": 1}
    tight = inside[high[0] : high[-1] + 1, wide[0] : wide[-1] + 1]
    return "mask", {
        "rle": ", ".join(map(str, encode_runs(tight))),
        "left": columns.start + int(wide[0]),
        "top": rows.start + int(high[0]),
        "width": tight.shape[1],
        "height": tight.shape[0],
    }
