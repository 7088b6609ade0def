"""XML of ASAP: one file for each slide, with outlines in pixels of the full image.

The group of an annotation is its structure. The files hold neither the size of the image nor holes; the points of a
spline are joined by straight lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..io.documents import error_context
from ..io.outline_files import read_drawing
from .documents import Source, find_sources
from .image_sizes import find_image
from .outlines import Polygon
from .readings import ImportOptions, Mark, Reading, parse_status

TOOL = "ASAP"


def read_asap(paths: Sequence[Path | str] | Path | str, options: ImportOptions | None = None) -> list[Reading]:
    """Read XML files of ASAP: one reading for every file.

    The image is called as the file, and the rater is the one of the template, or the folder of the file. The group of
    an annotation is its structure. The size of the image comes from the image beside the file, from
    ``options.pictures``, or from ``options.image_size``.

    Parameters
    ----------
    paths : sequence of str or Path
        Files ``.xml``, folders of them, ``RATER=PATH``, or templates such as ``{rater}/{case}.xml``.
    options : ImportOptions, optional
        What the files leave open.

    Returns
    -------
    list of Reading
        One for every file.
    """
    return [_read(source, options or ImportOptions()) for source in find_sources(paths, (".xml",))]


def _read(source: Source, options: ImportOptions) -> Reading:
    drawing, name = read_drawing(source.path), source.path.name[: -len(".xml")]
    with error_context(source.path):
        grid, picture = find_image(source, name, options)
        parts = zip(drawing.classes, drawing.polygons, strict=True)
        marks = tuple(Mark(label, Polygon.of(rings, options.rule), k) for k, (label, rings) in enumerate(parts))
    fields = source.fields
    return Reading(
        name, source.rater(source.path.resolve().parent.name), grid, marks, fields.get("session", ""),
        parse_status("", not marks and not drawing.left_out, options), tool=TOOL, subject=fields.get("subject", ""),
        case=fields.get("case", ""), picture=picture, left_out=drawing.left_out, source=str(source.path),
    )  # fmt: skip
