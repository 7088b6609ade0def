"""``manytruths import``: what annotation tools export, as a study."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
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
    import manytruths as mt

    from .parsing import names

    meaning, drawing = meaning or Meaning(), drawing or Drawing()
    with progress(quiet, "drawing masks") as bar:
        result = mt.import_study(
            tool,
            paths,
            to=to,
            rename_label=pairs(meaning.names, "--names"),
            rename_rater=pairs(meaning.raters, "--raters"),
            rename_case=pairs(meaning.cases, "--cases"),
            sessions=meaning.sessions,
            blank=meaning.blank,
            unfinished=meaning.unfinished,
            skip=names(meaning.skip) or (),
            rater_field=meaning.rater_field,
            rank_attribute=meaning.rank,
            rank_maps=meaning.ranks,
            images=images,
            replace=replace,
            jobs=jobs,
            progress=bar,
            **asdict(drawing),
        )
    result.print(console(quiet))
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
