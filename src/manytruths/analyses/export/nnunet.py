"""A raw data set of nnU-Net v2: imagesTr, labelsTr, dataset.json and splits_final.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...core.errors import CallError
from ...io import write_json, write_map
from ...study import Case
from .survey import placed
from .targets import Codes, Targets
from .training_set import ExportPlan, Item, Job, Made, copy_file, made_of, read_case, write_image

COLOURS = ("R", "G", "B")


def check_plan(plan: ExportPlan) -> None:
    """Refuse what nnU-Net cannot train on."""
    if plan.disputed == "soft":
        raise CallError(
            "--disputed soft: nnU-Net takes whole numbers as labels, not fractions; take ignore or replicate, "
            "or export to monai"
        )


def write_case(case: Case, job: Job) -> Made:
    """Image and label of every training case that a case becomes."""
    targets, picture = read_case(case, job.survey)
    ending, grid = job.survey.ending, placed(picture.grid, targets.reading.grid)
    first, labels = None, list[Codes]()
    for item, label in _labels(targets, job):
        labels.append(label)
        image = job.folder / "imagesTr" / f"{item.name}_0000{ending}"
        # replicas have one image; packing it is what takes the time
        write_image(image, picture, grid) if first is None else copy_file(first, image)
        first = first or image
        write_map(job.folder / "labelsTr" / f"{item.name}{ending}", label, grid)
    return made_of(targets, labels)


def _labels(targets: Targets, job: Job) -> Iterator[tuple[Item, Codes]]:
    for item in job.of(targets.reading.case.name):
        if item.rater:
            yield item, targets.own(item.rater)
        elif job.plan.disputed == "ignore":
            yield item, targets.settled
        else:
            yield item, targets.hard(targets.reference(job.plan.reference))


def write_lists(job: Job, made: Mapping[str, Made]) -> None:
    """What nnU-Net reads before the images."""
    ignored = job.plan.disputed == "ignore" or any(one.counts[-1] for one in made.values())
    write_json(job.folder / "dataset.json", _dataset(job, ignored))
    if job.folds > 1:
        write_json(job.folder / "splits_final.json", [_split(job, fold) for fold in range(job.folds)])


def _dataset(job: Job, ignored: bool) -> dict[str, Any]:
    survey, plan = job.survey, job.plan
    channels = COLOURS if survey.channels > 1 else (plan.channel,)
    return {
        "channel_names": {str(number): name for number, name in enumerate(channels)},
        "labels": survey.numbering.named | ({"ignore": survey.numbering.ignore} if ignored else {}),
        "numTraining": len(job.items),
        "file_ending": survey.ending,
        "overwrite_image_reader_writer": _program(job),
    }


def _program(job: Job) -> str:
    """What of nnU-Net reads the files; ITK wants axes at right angles."""
    if job.survey.ending != ".nii.gz":
        return "NaturalImage2DIO"
    return "SimpleITKIO" if job.survey.square else "NibabelIO"


def _split(job: Job, fold: int) -> dict[str, list[str]]:
    return {
        "train": sorted(item.name for item in job.items if item.fold != fold),
        "val": sorted(item.name for item in job.items if item.fold == fold),
    }
