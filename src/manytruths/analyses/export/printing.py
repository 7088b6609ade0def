"""What is printed of an export."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from ..printing import counted
from .verb import Exported

if TYPE_CHECKING:
    from rich.console import Console


def print_export(found: Exported, console: Console) -> None:
    """How much there is, how much of it is disputed, what to know, and how to go on."""
    for line in (*_told(found), *(f"note: {note}" for note in found.notes), "", *_next(found)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _told(found: Exported) -> list[str]:
    job, study = found.job, found.study
    named = job.survey.numbering.named
    labels = ", ".join(name if name == str(number) else f"{number} {name}" for name, number in named.items())
    return [
        f"{counted(len(job.items), 'training case')} of {counted(len(study), 'case')}, "
        f"{counted(len(study.subjects), 'subject')}, {counted(job.folds, 'fold')}; labels: {labels}",
        f"{found.disputed:.2%} of the pixels are disputed: {_USED[job.plan.disputed].format(job.plan.reference)}",
    ]


_USED = {
    "reference": "they have the label of {}",
    "ignore": "they are ignored",
    "soft": "they have the probability of {}",
    "replicate": "they have every rater's label, one after the other",
}


def _next(found: Exported) -> list[str]:
    if found.target == "monai":
        return [f"written to {found.folder}: datalist.json and its files"]
    number, raw = int(found.folder.name[7:10]), quote(str(found.folder.parent))
    return [
        f"written to {found.folder}",
        f"next: nnUNet_raw={raw} nnUNetv2_plan_and_preprocess -d {number} --verify_dataset_integrity",
    ]
