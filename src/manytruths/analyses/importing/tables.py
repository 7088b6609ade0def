"""The tables and images of an imported study."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path

from ...core.errors import GridError
from ...exchange.readings import NoPicture, Reading, ReadingSet
from ...io import probe
from ...io.files import SUFFIXES
from ...io.result_tables import PlainTable
from .layout import FIRST, IMAGES, Layout, on_disk
from .masks import Drawn

READS = ("case", "rater", "session", "status", "based_on", "tool", "started", "seconds", "checksum")
KEYS = {
    "reads": ("case", "rater", "session"), "cases": ("case",), "left_out": ("case", "rater", "kind"),
    Path(IMAGES).stem: ("case",),
}  # fmt: skip
"""The columns that tell the rows of each table apart."""


def tables_of(
    readings: ReadingSet, layout: Layout, drawn: Mapping[tuple[str, str, str], Drawn]
) -> Iterator[PlainTable]:
    """The tables of a study: who read what, subjects, what was left out, and the images' names in the tool."""
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
            mask = drawn.get((read.case, read.rater, read.session))
            yield (
                *who, layout.session(read), read.status, layout.parent(read), read.tool, read.started, read.seconds,
                mask.checksum if mask else "",
            )  # fmt: skip
        if (case, rater) not in by:
            yield *who, FIRST if layout.sessions else "", "unread", "", "", "", None, ""


# -- images ------------------------------------------------------------------------------------------


def write_pictures(reads: Iterable[Reading], stage: Path, layout: Layout) -> dict[str, str]:
    """Write the images that came with the annotations: by case, why there is none; nothing where there is one."""
    first: dict[str, Reading] = {}
    for read in reads:
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
