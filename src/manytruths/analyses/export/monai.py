"""A data list for MONAI: every rater's mask, who was there, hard and soft references, in one JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...io import write_json, write_map
from ...io.files import suffix_of
from ...shape.grid import Grid
from ...study import Case, Study
from .nnunet import COLOURS
from .survey import placed
from .targets import NOT_RATED, Codes, Targets
from .training_set import CaseCounts, TrainingCase, TrainingSet, count_labels, read_case, write_image

LINKED = {".png": (".png", ".jpg", ".jpeg", ".bmp"), ".nii.gz": (".nii", ".nii.gz")}
"""What MONAI reads with the axes in the same order as the files beside it, by the ending of those."""


def write_case(case: Case, training: TrainingSet) -> CaseCounts:
    """Image, references, disputed pixels and every rater's mask."""
    targets, picture = read_case(case, training.survey)
    name, grid, ending = (
        training.case_names[case.name],
        placed(picture.grid, targets.reading.grid),
        training.survey.ending,
    )
    consensus = targets.consensus(training.options.consensus)
    hard = targets.hard(consensus)

    def write(folder: str, array: NDArray[Any], ending: str = ending) -> None:
        write_map(training.folder / folder / f"{name}{ending}", array, grid)

    if not _linked(case, training):
        write_image(training.folder / "images" / f"{name}{ending}", picture, grid)
    write("reference", hard)
    write("disputed", targets.disagreement)
    for folder, soft in zip(_soft_folders(training), targets.soft(consensus), strict=True):
        write(folder, soft, training.survey.soft_ending)
    for rater, mask in targets.masks.items():
        write(f"annotations/{training.rater_names[rater]}", mask)
    if len(targets.masks) < len(training.rater_names):
        write("absent", np.full(grid.shape, NOT_RATED, np.uint8))
    return count_labels(targets, _write_labels(targets, hard, grid, training))


def _write_labels(targets: Targets, hard: Codes, grid: Grid, training: TrainingSet) -> list[Codes]:
    """What to train on, where it is not a file already; the labels by which the case is counted."""
    labels = []
    for item in training.of(targets.reading.case.name):
        own = (
            targets.own(item.rater)
            if item.rater
            else targets.settled
            if training.options.disputed == "ignore"
            else hard
        )
        if own is not hard:
            write_map(training.folder / "labels" / f"{item.name}{training.survey.ending}", own, grid)
        labels.append(own)
    return labels


def write_lists(study: Study, training: TrainingSet, counts: Mapping[str, CaseCounts]) -> None:
    """The data list."""
    numbering = training.survey.numbering
    channels = COLOURS if training.survey.channels > 1 else (training.options.channel,)
    ignored = training.options.disputed == "ignore" or any(case.counts[-1] for case in counts.values())
    listed = {
        "modality": {str(number): name for number, name in enumerate(channels)},
        "labels": {str(number): name for name, number in numbering.named.items()},
        "ignore": numbering.ignore if ignored else None,
        "not_rated": NOT_RATED,
        "raters": list(training.rater_names),
        "numTraining": len(training.cases),
        "training": [_entry(study[item.case], item, training, counts[item.case]) for item in training.cases],
    }
    write_json(training.folder / "datalist.json", listed)


def _entry(case: Case, item: TrainingCase, training: TrainingSet, counts: CaseCounts) -> dict[str, Any]:
    name, ending = training.case_names[case.name], training.survey.ending
    reference = f"reference/{name}{ending}"
    soft: list[str] | str = [f"{folder}/{name}{training.survey.soft_ending}" for folder in _soft_folders(training)]
    soft = soft if len(soft) > 1 else soft[0]
    labels = {"reference": reference, "soft": soft}
    there = [rater in counts.raters for rater in training.rater_names]
    own = [
        f"annotations/{folder}" if here else "absent"
        for folder, here in zip(training.rater_names.values(), there, strict=True)
    ]
    return {
        "image": _linked(case, training) or f"images/{name}{ending}",
        "label": labels.get(training.options.disputed, f"labels/{item.name}{ending}"),
        "reference": reference,
        "soft": soft,
        "disputed": f"disputed/{name}{ending}",
        "annotations": [f"{folder}/{name}{ending}" for folder in own],
        "present": [int(rater in counts.raters) for rater in training.rater_names],
        "case": case.name,
        "subject": case.subject,
        **({"rater": item.rater} if item.rater else {}),
        "fold": item.fold,
    }


def _soft_folders(training: TrainingSet) -> list[str]:
    """One for what is marked, or one for each of several labels, background among them."""
    numbers = training.survey.numbering.ignore
    return ["soft"] if numbers == 2 else [f"soft/{number}" for number in range(numbers)]


def _linked(case: Case, training: TrainingSet) -> str:
    """The path of the image itself, where it is asked for and will do."""
    place = case.image
    if not training.options.link or place is None or place.member is not None or place.index is not None:
        return ""
    known = suffix_of(place.path.name) in LINKED.get(training.survey.ending, ())
    return str(Path(place.path).resolve()) if known else ""
