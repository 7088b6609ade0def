"""The commands on files of annotation tools and training frameworks: import and export."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from .options import (
    ALL_CORES,
    ARGUMENTS,
    COMMON,
    RESULTS,
    Jobs,
    Quiet,
    StudyOptions,
    Template,
    flag,
    in_advanced,
    in_method,
    in_study,
    repeated,
)  # fmt: skip
from .parsing import parse_names, parse_renames
from .terminal import console, progress

if TYPE_CHECKING:
    from ..analyses.export.export import Format

Tool = Literal[
    "cvat", "labelstudio", "coco", "labelme", "qupath", "asap", "imagej", "slicer", "dicomseg", "rtstruct", "bids"
]  # fmt: skip
Renames = Annotated[list[str] | None, repeated]
Consensus = Annotated[
    str, Parameter(help="Consensus method, as in fuse: staple, vote:0.5, simple, plurality, lsml, ….")
]


@Parameter(name="*")
@dataclass(frozen=True)
class ReadingOptions:
    """What the files leave open."""

    rename_label: Renames = None
    "Structures to rename: OLD=NEW,OLD=NEW. NAME=NAME accepts a name that only one rater uses."
    rename_rater: Renames = None
    "Raters to rename: OLD=NEW,OLD=NEW."
    rename_case: Renames = None
    "Cases to rename, if an image has different names in several files: OLD=NEW,OLD=NEW."
    sessions: Annotated[bool, in_study, flag] = False
    "Take a rater's second annotation of a case as a second session; otherwise it is an error."
    blank: Annotated[Literal["empty", "unread"], in_study] = "empty"
    "Images without annotation, if the tool does not say who opened them (all but Label Studio and LabelMe)."
    unfinished: Annotated[Literal["leave", "keep"], in_study] = "leave"
    "Unfinished and cancelled annotations: leave them out, or keep them."
    skip: Annotated[str, in_study] = ""
    "Shapes that are not areas, to leave out: points,polyline."
    rater_field: Annotated[str | None, in_study] = None
    "Field or entity that names the rater, in formats without one (COCO, BIDS)."
    rank_attribute: Annotated[str, in_study] = "rank"
    "Attribute that holds the severity rank, 1 for the most severe."
    rank_maps: Annotated[bool, in_study] = True
    "Write rank maps if annotations have ranks."

    def keywords(self) -> dict[str, Any]:
        """The keywords of ``import_study``."""
        return asdict(self) | {
            "rename_label": parse_renames(self.rename_label, "--rename-label"),
            "rename_rater": parse_renames(self.rename_rater, "--rename-rater"),
            "rename_case": parse_renames(self.rename_case, "--rename-case"),
            "skip": parse_names(self.skip) or (),
        }


def import_study(
    tool: Tool,
    /,
    *paths: str,
    to: Path,
    images: str | None = None,
    image_size: str | None = None,
    replace: Annotated[bool, flag] = False,
    update: Annotated[bool, flag] = False,
    new_rater: Renames = None,
    vanished: Annotated[Literal["keep", "remove"], in_study] = "keep",
    reading: ReadingOptions | None = None,
    overlap: Annotated[Literal["smaller", "z", "union"], in_method] = "smaller",
    rule: Annotated[Literal["centre", "inclusive", "coco"], in_method] = "centre",
    widen: Annotated[float | None, in_method] = None,
    jobs: Jobs = ALL_CORES,
    quiet: Quiet = False,
) -> int:
    """Convert exports of annotation tools to a study.

    For example: manytruths import cvat anna.xml ben.xml --to study. It writes masks, study.toml, and a reading log
    (reads.csv): who read which image, and which were left empty or never opened.

    Parameters
    ----------
    tool
        The tool that exported the files.
    paths
        Files, folders, RATER=PATH to name the rater, or templates such as exports/{rater}.xml.
    to
        Folder for the study, new or empty; with --update, that of an earlier import.
    images
        Template of the images, images/{case}.png, if they are not beside the annotations. They stay where they are.
    image_size
        Size of all images in pixels, 1024x768, where files hold outlines alone and no image is given.
    replace
        Replace an earlier import in the same folder.
    update
        Add and replace single readings of an earlier import, and keep what was edited by hand since.
    new_rater
        With --update: a rater who is new, although they look like a renamed one. Renamed ones: --rename-rater.
    vanished
        With --update: keep or remove readings that the files do not hold any more.
    overlap
        Overlapping structures of one rater: cut the smaller out of the larger, keep the topmost (z), or unite.
    rule
        Pixels inside an outline: those whose centre is inside, also those on the edge, or as in pycocotools.
    widen
        Width of open lines in pixels; by default open lines are not accepted as areas.
    """
    import manytruths as mt

    with progress(quiet, "drawing masks") as bar:
        result = mt.import_study(
            tool, paths, to=to, images=images, image_size=image_size, replace=replace, update=update,
            new_rater=new_rater or (), vanished=vanished, overlap=overlap, rule=rule, widen=widen, jobs=jobs,
            progress=bar, **(reading or ReadingOptions()).keywords(),
        )  # fmt: skip
    result.print(console(quiet))
    return 0


export = App(
    name="export",
    help="Export a study to training frameworks, or its consensus to annotation tools.",
    group_parameters=COMMON,
    group_arguments=ARGUMENTS,
)


@Parameter(name="*")
@dataclass(frozen=True)
class TrainingSetOptions:
    """What to learn, and how to split."""

    consensus: Consensus = "staple"
    disputed: Literal["consensus", "ignore", "soft", "replicate"] = "consensus"
    """Pixels on which raters disagree: use the consensus label, ignore them, use the consensus probability (soft), or
    write one training case per rater (replicate)."""
    folds: int | None = None
    "Number of cross-validation folds over subjects; by default 5, or the number of subjects if that is smaller."
    channel: Annotated[str, in_advanced] = "image"
    "Name of the channel of grey images, such as CT; some trainers (nnU-Net) choose the normalisation by it."
    seed: Annotated[int, in_advanced] = 0
    "Seed of the folds."
    jobs: Jobs = ALL_CORES
    quiet: Quiet = False


@export.command
def nnunet(
    template: Template = ".",
    /,
    *,
    study: StudyOptions | None = None,
    options: TrainingSetOptions | None = None,
    to: Path = RESULTS / "export",
    id: int = 501,
    name: str = "Manytruths",
) -> int:
    """Export a raw data set of nnU-Net v2, with the ignore label and splits by subject.

    Parameters
    ----------
    to
        Folder that gets the data set: nnU-Net's nnUNet_raw.
    id
        Number of the data set, from 1 to 999; 1 to 10 belong to the Medical Segmentation Decathlon.
    name
        Name of the data set: letters, digits, dashes and underscores.
    """
    return _export("nnunet", template, study, to, options or TrainingSetOptions(), id=id, name=name)


@export.command
def monai(
    template: Template = ".",
    /,
    *,
    study: StudyOptions | None = None,
    options: TrainingSetOptions | None = None,
    to: Path = RESULTS / "export" / "monai",
    link: Annotated[bool, flag] = False,
) -> int:
    """Export a data list for MONAI: every rater's mask, missing raters, hard and soft consensus.

    Parameters
    ----------
    to
        Folder that gets datalist.json and its files.
    link
        Refer to the images where they are instead of writing copies.
    """
    return _export("monai", template, study, to, options or TrainingSetOptions(), link=link)


@Parameter(name="*")
@dataclass(frozen=True)
class ToolOptions:
    """What annotation tools get."""

    consensus: Consensus = "staple"
    mark_disputed: bool = True
    "Add the disputed pixels as a structure of their own."
    to: Path | None = None
    "Folder for the files; by default manytruths-out/export/TOOL."
    jobs: Jobs = ALL_CORES
    quiet: Quiet = False


TOOLS: dict[Format, str] = {
    "cvat": "Export the consensus and disputed pixels as annotations for CVAT (CVAT for images 1.1).",
    "labelstudio": "Export the consensus and disputed pixels as predictions for Label Studio.",
    "coco": "Export the consensus and disputed pixels as a COCO file.",
    "slicer": "Export the consensus and disputed pixels as .seg.nrrd files for 3D Slicer.",
    "bids": "Export the consensus and disputed pixels as a BIDS derivative.",
}


def _tool_command(tool: Format, text: str) -> Callable[..., int]:
    def command(
        template: Template = ".", /, *, study: StudyOptions | None = None, options: ToolOptions | None = None
    ) -> int:
        return _export_to_tool(tool, template, study, options)

    command.__doc__ = text
    return command


for _tool, _text in TOOLS.items():
    export.command(_tool_command(_tool, _text), name=_tool)


@export.command
def dicomseg(
    template: Template = ".",
    /,
    *,
    series: Path,
    study: StudyOptions | None = None,
    options: ToolOptions | None = None,
) -> int:
    """Export the consensus and disputed pixels as DICOM SEG on the images that were annotated.

    Parameters
    ----------
    series
        Folder of the DICOM images.
    """
    return _export_to_tool("dicomseg", template, study, options, series=series)


def _export_to_tool(
    tool: Format, template: str, study: StudyOptions | None, options: ToolOptions | None, **more: Any
) -> int:
    options = options or ToolOptions()
    return _export(tool, template, study, options.to or RESULTS / "export" / tool, options, **more)


def _export(
    format: Format,
    template: str,
    study: StudyOptions | None,
    to: Path,
    options: TrainingSetOptions | ToolOptions,
    **more: Any,
) -> int:
    import manytruths as mt

    keywords = asdict(options) | more | {"to": to}
    quiet, problems = keywords.pop("quiet"), list[Exception]()
    # a data set to train on is refused with all problems at once
    complain = problems.append if isinstance(options, TrainingSetOptions) else None
    opened = (study or StudyOptions()).open(template, complain=complain)
    with progress(quiet) as bar:
        result = mt.export(opened, format, opening_errors=problems, progress=bar, **keywords)
    result.print(console(quiet))
    return 0
