"""The files of training sets: a raw data set of nnU-Net v2, or a data list for MONAI.

nnU-Net gets imagesTr, labelsTr, dataset.json and splits_final.json, and a trainer of soft labels; MONAI every rater's
mask, who was there, hard and soft references, listed in one JSON file.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...fusion import Consensus
from ...io import write_json, write_map
from ...io.files import suffix_of
from ...study import Case, Study
from .targets import NOT_RATED, Codes, Targets
from .training_set import CaseCounts, TrainingCase, TrainingSet, copy_file, count_labels, read_case, write_image

STEPS = 240
"""Steps from 0 to 1 in which nnU-Net gets probabilities: shares of 2, 3, 4, 5, 6, 8, 10 and 12 raters are exact."""
TRAINER = Path(__file__).parent / "nnunet_trainer" / "nnUNetTrainerSoftLabels.py"
"""The trainer that nnU-Net needs for them; it imports nnU-Net, and nothing of manytruths."""
TRAINER_FOLDER = "trainer"
LINKED = {".png": (".png", ".jpg", ".jpeg", ".bmp"), ".nii.gz": (".nii", ".nii.gz")}
"""What MONAI reads with the axes in the same order as the files beside it, by the ending of those."""


def _label(targets: Targets, item: TrainingCase, training: TrainingSet, hard: Codes | None) -> Codes:
    """What to train on: the mask of one rater, what all agree on, or the consensus."""
    if item.rater:
        return targets.own(item.rater)
    return targets.settled if hard is None or training.options.disputed == "ignore" else hard


# -- nnU-Net -----------------------------------------------------------------------------------------


def write_nnunet_case(case: Case, training: TrainingSet) -> CaseCounts:
    """Image and label of every training case that a case becomes."""
    targets, picture, grid = read_case(case, training.survey)
    options, ending = training.options, training.survey.ending
    consensus = targets.consensus(options.consensus) if options.disputed in ("consensus", "soft") else None
    hard = None if consensus is None else targets.hard(consensus)
    soft = _number_probabilities(targets, consensus) if consensus is not None and options.disputed == "soft" else None
    first, labels = None, list[Codes]()
    for item in training.of(case.name):
        labels.append(_label(targets, item, training, hard))
        image = training.folder / "imagesTr" / f"{item.name}_0000{ending}"
        # replicas have one image; packing it is what takes the time
        write_image(image, picture, grid) if first is None else copy_file(first, image)
        first = first or image
        write_map(training.folder / "labelsTr" / f"{item.name}{ending}", labels[-1] if soft is None else soft, grid)
    return count_labels(targets, labels)


def _number_probabilities(targets: Targets, consensus: Consensus) -> Codes:
    """1 is a probability of 1, the numbers after it are lower ones, and 0 is 0; the last is what nobody rated."""
    (chance,) = targets.soft(consensus)
    steps = np.rint(chance.astype(np.float64) * STEPS)
    return np.where(targets.rated, np.where(steps > 0, STEPS + 1 - steps, 0), STEPS + 1).astype(np.uint8)


def write_nnunet_lists(study: Study, training: TrainingSet, counts: Mapping[str, CaseCounts]) -> None:
    """What nnU-Net reads before the images."""
    survey, numbering = training.survey, training.survey.numbering
    # ITK wants axes at right angles
    reader = "SimpleITKIO" if survey.square else "NibabelIO"
    soft = training.options.disputed == "soft"
    labels: dict[str, int | list[int]] = dict(numbering.named)
    if soft:
        # one region of all numbers, so that there is one output
        labels[numbering.names[0]] = list(range(1, STEPS + 1))
    if training.ignores(counts):
        labels["ignore"] = STEPS + 1 if soft else numbering.ignore
    dataset = {
        "channel_names": training.channel_names,
        "labels": labels,
        "numTraining": len(training.cases),
        "file_ending": survey.ending,
        "overwrite_image_reader_writer": reader if survey.ending == ".nii.gz" else "NaturalImage2DIO",
    }
    if soft:
        probabilities = [0.0, *((STEPS + 1 - number) / STEPS for number in range(1, STEPS + 1))]
        dataset |= {"regions_class_order": [1], "soft_labels": probabilities}
        path = training.folder / TRAINER_FOLDER / TRAINER.name
        path.parent.mkdir()
        shutil.copyfile(TRAINER, path)
    write_json(training.folder / "dataset.json", dataset)
    if training.folds > 1:
        splits = [
            {
                "train": sorted(item.name for item in training.cases if item.fold != fold),
                "val": sorted(item.name for item in training.cases if item.fold == fold),
            }
            for fold in range(training.folds)
        ]
        write_json(training.folder / "splits_final.json", splits)


# -- MONAI -------------------------------------------------------------------------------------------


def write_monai_case(case: Case, training: TrainingSet) -> CaseCounts:
    """Image, references, disputed pixels and every rater's mask."""
    targets, picture, grid = read_case(case, training.survey)
    name, survey = training.case_names[case.name], training.survey
    consensus = targets.consensus(training.options.consensus)
    hard = targets.hard(consensus)

    def write(folder: str, array: NDArray[Any], name: str = name, ending: str = survey.ending) -> None:
        write_map(training.folder / folder / f"{name}{ending}", array, grid)

    if not _linked_image(case, training):
        write_image(training.folder / "images" / f"{name}{survey.ending}", picture, grid)
    write("reference", hard)
    write("disputed", targets.disagreement)
    for folder, soft in zip(_soft_folders(training), targets.soft(consensus), strict=True):
        write(folder, soft, ending=survey.soft_ending)
    for rater, mask in targets.masks.items():
        write(f"annotations/{training.rater_names[rater]}", mask)
    if len(targets.masks) < len(training.rater_names):
        write("absent", np.full(grid.shape, NOT_RATED, np.uint8))
    labels = {item.name: _label(targets, item, training, hard) for item in training.of(case.name)}
    for item_name, label in labels.items():
        if label is not hard:  # which is a file already
            write("labels", label, item_name)
    return count_labels(targets, labels.values())


def write_monai_lists(study: Study, training: TrainingSet, counts: Mapping[str, CaseCounts]) -> None:
    """The data list."""
    numbering = training.survey.numbering
    listed = {
        "modality": training.channel_names,
        "labels": {str(number): name for name, number in numbering.named.items()},
        "ignore": numbering.ignore if training.ignores(counts) else None,
        "not_rated": NOT_RATED,
        "raters": list(training.rater_names),
        "numTraining": len(training.cases),
        "training": [_entry(study[item.case], item, training, counts[item.case]) for item in training.cases],
    }
    write_json(training.folder / "datalist.json", listed)


def _entry(case: Case, item: TrainingCase, training: TrainingSet, counts: CaseCounts) -> dict[str, Any]:
    name, ending = training.case_names[case.name], training.survey.ending
    reference = f"reference/{name}{ending}"
    paths = [f"{folder}/{name}{training.survey.soft_ending}" for folder in _soft_folders(training)]
    soft: list[str] | str = paths if len(paths) > 1 else paths[0]
    present = {f"annotations/{folder}": rater in counts.raters for rater, folder in training.rater_names.items()}
    labels = {"consensus": reference, "soft": soft}
    return {
        "image": _linked_image(case, training) or f"images/{name}{ending}",
        "label": labels.get(training.options.disputed, f"labels/{item.name}{ending}"),
        "reference": reference,
        "soft": soft,
        "disputed": f"disputed/{name}{ending}",
        "annotations": [f"{folder if there else 'absent'}/{name}{ending}" for folder, there in present.items()],
        "present": [int(there) for there in present.values()],
        "case": case.name,
        "subject": case.subject,
        **({"rater": item.rater} if item.rater else {}),
        "fold": item.fold,
    }


def _soft_folders(training: TrainingSet) -> list[str]:
    """One for what is marked, or one for each of several labels, background among them."""
    numbers = training.survey.numbering.ignore
    return ["soft"] if numbers == 2 else [f"soft/{number}" for number in range(numbers)]


def _linked_image(case: Case, training: TrainingSet) -> str:
    """The path of the image itself, where it is asked for and MONAI can read it."""
    place = case.image
    if not training.options.link or place is None or place.member is not None or place.index is not None:
        return ""
    known = suffix_of(place.path.name) in LINKED.get(training.survey.ending, ())
    return str(Path(place.path).resolve()) if known else ""
