"""``manytruths export cvat`` and its like: the way back into annotation tools."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from .options import Input, Template
from .terminal import console, progress

if TYPE_CHECKING:
    from ..analyses.export.export import Format


@Parameter(name="*")
@dataclass(frozen=True)
class Back:
    """What goes back."""

    reference: str = "staple"
    "The reference standard: staple, vote:0.5, simple, plurality, …, as in fuse."
    disputed: bool = True
    "Add what raters disagree on as a structure of its own."
    to: Path | None = None
    "Folder for the files; manytruths-out/export/TOOL."
    jobs: int = os.cpu_count() or 1
    "Processes that work on cases at the same time; files do not depend on it."
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False
    "Print nothing but errors."


TOOLS: dict[Format, str] = {
    "cvat": "The consensus and what is disputed as annotations that CVAT opens (CVAT for images 1.1).",
    "labelstudio": "The consensus and what is disputed as predictions that Label Studio opens.",
    "coco": "The consensus and what is disputed as a COCO file.",
    "slicer": "The consensus and what is disputed as .seg.nrrd files that 3D Slicer opens.",
    "bids": "The consensus and what is disputed as a BIDS derivative.",
}


def add_tools(export: App) -> None:
    """A command for every tool."""
    for tool, words in TOOLS.items():
        export.command(_command(tool, words), name=tool)
    export.command(dicomseg)


def _command(tool: Format, words: str) -> Callable[..., int]:
    def command(template: Template = ".", /, *, input: Input | None = None, back: Back | None = None) -> int:
        return _run(tool, template, input or Input(), back or Back(), None)

    command.__doc__ = words
    return command


def dicomseg(template: Template = ".", /, *, series: Path, input: Input | None = None, back: Back | None = None) -> int:
    """The consensus and what is disputed as DICOM SEG, on the images that it was drawn on.

    Parameters
    ----------
    series
        Folder of the DICOM images.
    """
    return _run("dicomseg", template, input or Input(), back or Back(), series)


def _run(tool: Format, template: str, input: Input, back: Back, series: Path | None) -> int:
    import manytruths as mt

    study = input.open(template)
    with progress(back.quiet) as bar:
        result = mt.export(
            study,
            tool,
            to=back.to or Path("manytruths-out/export") / tool,
            consensus=back.reference,
            mark_disputed=back.disputed,
            series=series,
            jobs=back.jobs,
            progress=bar,
        )
    result.print(console(back.quiet))
    return 0
