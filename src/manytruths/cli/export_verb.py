"""``manytruths export``: a study as a data set to train on, and the way back into annotation tools."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from .back_verbs import add_tools
from .options import Input, Template
from .terminal import console, progress

if TYPE_CHECKING:
    from ..analyses.export.export import Format

export = App(
    name="export", help="Write a study as a data set to train on, or its consensus as files that annotation tools open."
)
add_tools(export)


@Parameter(name="*")
@dataclass(frozen=True)
class Training:
    """What to learn, and how to split."""

    reference: str = "staple"
    "The reference standard: staple, vote:0.5, simple, plurality, …, as in fuse."
    disputed: Literal["reference", "ignore", "soft", "replicate"] = "reference"
    "Pixels on which raters disagree: the reference's label, none, its probability, or a training case a rater."
    folds: int | None = None
    "Folds of the cross-validation, over subjects; 5, or as many as there are subjects."
    seed: int = 0
    "Another seed, other folds."
    channel: str = "image"
    "What grey images show; nnU-Net scales those called CT as such."
    jobs: int = os.cpu_count() or 1
    "Processes that work on cases at the same time; files do not depend on it."
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False
    "Print nothing but errors."


@export.command
def nnunet(
    template: Template = ".",
    /,
    *,
    input: Input | None = None,
    training: Training | None = None,
    to: Path = Path("manytruths-out/export"),
    id: int = 501,
    name: str = "Manytruths",
) -> int:
    """A raw data set of nnU-Net v2, with the ignore label and splits by subject.

    Parameters
    ----------
    to
        Folder that gets the data set: nnU-Net's nnUNet_raw.
    id
        Number of the data set, from 1 to 999; 1 to 10 are those of the Medical Segmentation Decathlon.
    name
        Its name: letters, digits, dashes and underscores.
    """
    return _run("nnunet", template, input or Input(), training or Training(), to, id=id, name=name)


@export.command
def monai(
    template: Template = ".",
    /,
    *,
    input: Input | None = None,
    training: Training | None = None,
    to: Path = Path("manytruths-out/export/monai"),
    link: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """A data list for MONAI: every rater's mask, who was there, hard and soft references.

    Parameters
    ----------
    to
        Folder that gets datalist.json and its files.
    link
        Name the images where they lie, instead of writing copies.
    """
    return _run("monai", template, input or Input(), training or Training(), to, link=link)


def _run(format: Format, template: str, input: Input, training: Training, to: Path, **options: Any) -> int:
    import manytruths as mt

    problems = list[Exception]()
    study = input.open(template, problems.append)
    with progress(training.quiet) as bar:
        result = mt.export(
            study,
            format,
            to=to,
            consensus=training.reference,
            disputed=training.disputed,
            folds=training.folds,
            seed=training.seed,
            channel=training.channel,
            found_before=problems,
            jobs=training.jobs,
            progress=bar,
            **options,
        )
    result.print(console(training.quiet))
    return 0
