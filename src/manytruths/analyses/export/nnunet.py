"""A raw data set of nnU-Net v2: imagesTr, labelsTr, dataset.json and splits_final.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...core.errors import CallError
from ...io import write_json, write_map
from ...study import Case
from .survey import placed
from .targets import Codes, Targets
from .training_set import (
    CaseCounts,
    TrainingCase,
    TrainingOptions,
    TrainingSet,
    copy_file,
    count_labels,
    read_case,
    write_image,
)

COLOURS = ("R", "G", "B")


def check_options(options: TrainingOptions) -> None:
    """Refuse what nnU-Net cannot train on."""
    if options.disputed == "soft":
        raise CallError(
            "--disputed soft: nnU-Net takes whole numbers as labels, not fractions; take ignore or replicate, "
            "or export to monai"
        )


def write_case(case: Case, training: TrainingSet) -> CaseCounts:
    """Image and label of every training case that a case becomes."""
    targets, picture = read_case(case, training.survey)
    ending, grid = training.survey.ending, placed(picture.grid, targets.reading.grid)
    first, labels = None, list[Codes]()
    for item, label in _labels(targets, training):
        labels.append(label)
        image = training.folder / "imagesTr" / f"{item.name}_0000{ending}"
        # replicas have one image; packing it is what takes the time
        write_image(image, picture, grid) if first is None else copy_file(first, image)
        first = first or image
        write_map(training.folder / "labelsTr" / f"{item.name}{ending}", label, grid)
    return count_labels(targets, labels)


def _labels(targets: Targets, training: TrainingSet) -> Iterator[tuple[TrainingCase, Codes]]:
    for item in training.of(targets.reading.case.name):
        if item.rater:
            yield item, targets.own(item.rater)
        elif training.options.disputed == "ignore":
            yield item, targets.settled
        else:
            yield item, targets.hard(targets.consensus(training.options.consensus))


def write_lists(training: TrainingSet, counts: Mapping[str, CaseCounts]) -> None:
    """What nnU-Net reads before the images."""
    ignored = training.options.disputed == "ignore" or any(case.counts[-1] for case in counts.values())
    write_json(training.folder / "dataset.json", _dataset(training, ignored))
    if training.folds > 1:
        write_json(training.folder / "splits_final.json", [_split(training, fold) for fold in range(training.folds)])


def _dataset(training: TrainingSet, ignored: bool) -> dict[str, Any]:
    survey, options = training.survey, training.options
    channels = COLOURS if survey.channels > 1 else (options.channel,)
    return {
        "channel_names": {str(number): name for number, name in enumerate(channels)},
        "labels": survey.numbering.named | ({"ignore": survey.numbering.ignore} if ignored else {}),
        "numTraining": len(training.cases),
        "file_ending": survey.ending,
        "overwrite_image_reader_writer": _program(training),
    }


def _program(training: TrainingSet) -> str:
    """What of nnU-Net reads the files; ITK wants axes at right angles."""
    if training.survey.ending != ".nii.gz":
        return "NaturalImage2DIO"
    return "SimpleITKIO" if training.survey.square else "NibabelIO"


def _split(training: TrainingSet, fold: int) -> dict[str, list[str]]:
    return {
        "train": sorted(item.name for item in training.cases if item.fold != fold),
        "val": sorted(item.name for item in training.cases if item.fold == fold),
    }
