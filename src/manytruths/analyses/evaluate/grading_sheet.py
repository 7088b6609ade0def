"""A blinded sheet for an expert to grade predictions without knowing whose they are.

::

    grading/sheet.csv      code, grade, remark: to be filled in
    grading/pictures/      one picture a code
    grading/README.txt     what the grades mean
    grading/key.csv        which code is what: keep it from the grader
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.columns import natural_key
from ...core.errors import FormatError, InputError
from ...evaluation.grading.blinding import Ticket, drawn_cases, tickets
from ...evaluation.grading.grades import GradeScale
from ...io import write_csv, write_picture, write_text
from ...io.grades import KEY
from ...io.tables import read_table
from ...study import Study

Array = NDArray[Any]

SHEET, README, PICTURES = "sheet.csv", "README.txt", "pictures"
WRITTEN = (SHEET, KEY, README, PICTURES)
ORANGE = ((230, 159, 0), (86, 180, 233), (0, 158, 115), (204, 121, 167))
"""The same colours for every algorithm; several for several labels."""

WORDS = {
    4: "Good as it is. Nothing has to be corrected.",
    3: "Nearly. Small deviations of the outline can be seen; a touch or two would do.",
    2: "Clearly off. The shape is wrong in places and has to be redrawn there.",
    1: "Not usable. Large parts are missing, torn apart or in the wrong place.",
}

TEXT = """HOW TO GRADE

Every line of sheet.csv has a code, and pictures/ has a picture of that name: an image with one
outline on it. Write a grade for each outline into the column "grade", from {lowest} to {highest}:

{words}

Go from the top of the sheet to the bottom, and judge each picture by itself. Pictures come in a
random order; some may come twice. Leave a grade empty where you cannot tell, and write why into
"remark" if you like. An image without an outline is one in which nothing was found: grade that too.

Please do not look at {key}. It says where each outline comes from.

When done, save sheet.csv as CSV (UTF-8) under the same name.
"""


def plan_sheet(
    study: Study, *, seed: int = 0, repeats: float = 0.1, per_subject: int | None = None
) -> tuple[Ticket, ...]:
    """The tickets in the order of the sheet; each case's own go to :func:`draw_tickets`.

    Every prediction of a study's cases is in it, or those of ``per_subject`` random cases of each subject.
    """
    cases = drawn_cases({case.name: case.subject for case in study}, per_subject, seed)
    items = [(name, c.name) for name in cases for c in study[name].predictions]
    if not items:
        raise InputError("there is no prediction to grade; give some with --predictions")
    return tickets(items, repeats=repeats, seed=seed)


def refuse_graded(folder: Path) -> None:
    """Refuse to write over a sheet in which somebody has filled in grades; call it before any work."""
    try:
        filled = sum(bool(row.get("grade")) for row in read_table(folder / SHEET, "code").values())
    except FormatError:
        # somebody may have worked on what cannot be read; what is not there is no loss
        filled = int((folder / SHEET).exists())
    if filled:
        raise InputError(f"{folder / SHEET}: holds grades; use it (--grades), move it away, or choose another --out")


def draw_tickets(
    folder: Path,
    own: Sequence[Ticket],
    image: Array | None,
    predictions: Mapping[str, Mapping[str, Array]],
    *,
    where: Array | None = None,
    spacing: Sequence[float] | None = None,
) -> list[Path]:
    """The pictures of one case, as they are called for in the pass over cases.

    Parameters
    ----------
    folder
        ``grading/``, or a stage of it.
    own
        The case's tickets.
    image
        Of the masks' size; None for neutral grey.
    predictions
        By algorithm, then by label: ``{"unet": {"outline": mask}}``.
    where
        Of a volume, what decides which slices are shown: all raters' and all algorithms' marks together, so that
        every algorithm is seen in the same slices, and what it missed too.
    """
    from ...charts.contours import contour_slices

    if where is None:
        where = np.sum([np.ma.filled(m, 0) != 0 for by in predictions.values() for m in by.values()], axis=0)
    paths = []
    # in the order of the codes: the times of the files must not tell the algorithms apart
    for ticket in sorted(own, key=lambda t: t.code):
        outlines = predictions[ticket.algorithm]
        colours = [ORANGE[i % len(ORANGE)] for i in range(len(outlines))]
        picture = contour_slices(image, outlines, where=where, spacing=spacing, title=ticket.code, colours=colours)
        paths.append(folder / PICTURES / f"{ticket.code}.png")
        write_picture(paths[-1], picture)
    return paths


def write_sheet(folder: Path, every: Sequence[Ticket], scale: GradeScale | None = None) -> list[Path]:
    """``sheet.csv``, ``key.csv`` and ``README.txt``.

    Do not list what this returns among a run's files: a later run would remove the sheet, grades and all.
    """
    refuse_graded(folder)
    paths = [folder / name for name in (SHEET, KEY, README)]
    write_csv(paths[0], ((t.code, None, None) for t in every), ("code", "grade", "remark"))
    key = sorted(every, key=lambda t: (natural_key(t.case), t.algorithm, t.showing))
    header = "code", "case", "algorithm", "showing"
    write_csv(paths[1], ((t.code, t.case, t.algorithm, t.showing) for t in key), header)
    write_text(paths[2], explained(scale or GradeScale()))
    return paths


def explained(scale: GradeScale) -> str:
    """What the grader reads."""
    words = {n: _words(n, scale) for n in reversed(scale.levels)}
    listed = "\n".join(f"  {n}  {text}" for n, text in words.items())
    return TEXT.format(lowest=scale.lowest, highest=scale.highest, words=listed, key=KEY)


def _words(grade: int, scale: GradeScale) -> str:
    if scale == GradeScale():
        return WORDS[grade]
    if grade >= scale.best:
        return WORDS[4]
    return WORDS[1] if grade == scale.lowest else "In between: has to be corrected, the lower the more."
