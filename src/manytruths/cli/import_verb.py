"""``manytruths import``: what annotation tools export, as a study."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ..core.errors import CallError
from .terminal import console, progress

Tool = Literal["cvat", "labelstudio", "coco", "labelme", "slicer", "dicomseg", "bids"]
Pairs = Annotated[list[str] | None, Parameter(negative_iterable=())]
Flag = Annotated[bool, Parameter(negative="")]


@Parameter(name="*")
@dataclass(frozen=True)
class Meaning:
    """What the files leave open."""

    names: Pairs = None
    "Structures to rename, as OLD=NEW,OLD=NEW; NAME=NAME keeps one that only one rater uses."
    raters: Pairs = None
    "Raters to rename, as OLD=NEW,OLD=NEW."
    cases: Pairs = None
    "Cases to rename, as OLD=NEW,OLD=NEW, where an image is called differently in several files."
    sessions: Flag = False
    "A rater's second read of a case is a second session, not a mistake."
    blank: Literal["empty", "unread"] = "empty"
    "Images without a mark, where the tool does not say whether anybody opened them (all but Label Studio and LabelMe)."
    unfinished: Literal["leave", "keep"] = "leave"
    "Reads that were begun or cancelled: left out, or taken as they are."
    skip: str = ""
    "Shapes that are no areas, to be left out: points,polyline."
    rater_field: str | None = None
    "The field or entity that names the rater, where a format has none of its own (COCO, BIDS)."
    rank: str = "rank"
    "The attribute that holds how severe a rater found it, 1 the most."
    ranks: bool = True
    "Write rank maps where marks have ranks."


@Parameter(name="*")
@dataclass(frozen=True)
class Drawing:
    """How marks become pixels."""

    overlap: Literal["smaller", "z", "union"] = "smaller"
    "Structures of one rater that overlap: the smaller is cut out of the larger, what lies on top wins, or all are one."
    rule: Literal["centre", "inclusive", "coco"] = "centre"
    "Pixels of an outline: centres inside, also those on the edge, or as pycocotools has it."
    widen: float | None = None
    "Pixels across open lines, which are no areas otherwise."


def import_study(
    tool: Tool,
    /,
    *paths: str,
    to: Path,
    meaning: Meaning | None = None,
    drawing: Drawing | None = None,
    images: str | None = None,
    replace: Flag = False,
    jobs: int = os.cpu_count() or 1,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
) -> int:
    """Make a study of what annotation tools export: import cvat anna.xml ben.xml --to study.

    It writes masks, study.toml, and reads.csv: who read which image, and whether it was left empty or never opened.

    Parameters
    ----------
    tool
        What exported the files.
    paths
        Files, folders, RATER=PATH to say whose it is, or templates such as exports/{rater}.xml.
    to
        Folder for the study, new or empty.
    images
        Template of the images, as images/{case}.png, where they did not come with the annotations; they stay there.
    replace
        Put this import in the place of an earlier one.
    jobs
        Processes that draw at the same time; the pixels do not depend on it.
    quiet
        Print nothing but errors.
    """
    from ..analyses.importing.import_study import IntakePlan, check_folder, check_images, print_import, write_study
    from ..exchange.reading_set import combine_readings
    from ..exchange.readings import ImportOptions
    from ..exchange.tools import reader

    meaning, drawing = meaning or Meaning(), drawing or Drawing()
    if drawing.widen is not None and not 0 < drawing.widen <= 1000:
        raise CallError(f"--widen is a number of pixels, above 0; got {drawing.widen:g}")
    names, raters = pairs(meaning.names, "--names"), pairs(meaning.raters, "--raters")
    cases = pairs(meaning.cases, "--cases")
    check_images(images)
    check_folder(to, replace)
    where = None if images is None else Path(images.partition("{")[0] + "…").parent
    choices = ImportOptions(drawing.rule, drawing.widen, meaning.blank, meaning.rank, meaning.rater_field, where)
    found = combine_readings(
        reader(tool)(paths, choices),
        names=names,
        raters=raters,
        cases=cases,
        skip=[kind.strip() for kind in meaning.skip.split(",") if kind.strip()],
        sessions=meaning.sessions,
    )
    plan = IntakePlan(drawing.overlap, images, meaning.ranks, meaning.unfinished == "keep", replace)
    with progress(quiet, "drawing masks") as bar:
        made = write_study(found, to, plan, jobs=jobs, progress=bar)
    print_import(made, console(quiet))
    return 0


def _parts(given: str) -> list[str]:
    """What stands between commas, unless a name holds one itself."""
    parts = given.split(",")
    return parts if all("=" in part for part in parts) else [given]


def pairs(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """``OLD=NEW``, given several times or with commas."""
    found: dict[str, str] = {}
    for text in [part for given in texts or () for part in _parts(given)]:
        old, sign, new = (piece.strip() for piece in text.partition("="))
        if not (old and sign and new) or found.setdefault(old, new) != new:
            raise CallError(f"{option} wants OLD=NEW, each once; got {text!r}")
    return found
