"""A data list for MONAI: every rater's mask, who was there, hard and soft references, in one JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...io import Grid, write_json, write_map
from ...io.location import suffix_of
from ...study import Case, Study
from .nnunet import COLOURS
from .survey import placed
from .targets import NOT_RATED, Codes, Targets
from .training_set import Item, Job, Made, made_of, read_case, write_image

LINKED = {".png": (".png", ".jpg", ".jpeg", ".bmp"), ".nii.gz": (".nii", ".nii.gz")}
"""What MONAI reads with the axes in the same order as the files beside it, by the ending of those."""


def write_case(case: Case, job: Job) -> Made:
    """Image, references, disputed pixels and every rater's mask."""
    targets, picture = read_case(case, job.survey)
    name, grid, ending = job.cases[case.name], placed(picture.grid, targets.reading.grid), job.survey.ending
    found = targets.reference(job.plan.reference)
    hard = targets.hard(found)

    def write(folder: str, array: NDArray[Any], ending: str = ending) -> None:
        write_map(job.folder / folder / f"{name}{ending}", array, grid)

    if not _linked(case, job):
        write_image(job.folder / "images" / f"{name}{ending}", picture, grid)
    write("reference", hard)
    write("disputed", targets.disagreement)
    for folder, soft in zip(_soft_folders(job), targets.soft(found), strict=True):
        write(folder, soft, job.survey.soft_ending)
    for rater, mask in targets.masks.items():
        write(f"annotations/{job.raters[rater]}", mask)
    if len(targets.masks) < len(job.raters):
        write("absent", np.full(grid.shape, NOT_RATED, np.uint8))
    return made_of(targets, _write_labels(targets, hard, grid, job))


def _write_labels(targets: Targets, hard: Codes, grid: Grid, job: Job) -> list[Codes]:
    """What to train on, where it is not a file already; the labels by which the case is counted."""
    labels = []
    for item in job.of(targets.reading.case.name):
        own = targets.own(item.rater) if item.rater else targets.settled if job.plan.disputed == "ignore" else hard
        if own is not hard:
            write_map(job.folder / "labels" / f"{item.name}{job.survey.ending}", own, grid)
        labels.append(own)
    return labels


def write_lists(study: Study, job: Job, made: Mapping[str, Made]) -> None:
    """The data list."""
    numbering = job.survey.numbering
    channels = COLOURS if job.survey.channels > 1 else (job.plan.channel,)
    ignored = job.plan.disputed == "ignore" or any(one.counts[-1] for one in made.values())
    listed = {
        "modality": {str(number): name for number, name in enumerate(channels)},
        "labels": {str(number): name for name, number in numbering.named.items()},
        "ignore": numbering.ignore if ignored else None,
        "not_rated": NOT_RATED,
        "raters": list(job.raters),
        "numTraining": len(job.items),
        "training": [_entry(study[item.case], item, job, made[item.case]) for item in job.items],
    }
    write_json(job.folder / "datalist.json", listed)


def _entry(case: Case, item: Item, job: Job, made: Made) -> dict[str, Any]:
    name, ending = job.cases[case.name], job.survey.ending
    reference = f"reference/{name}{ending}"
    soft: list[str] | str = [f"{folder}/{name}{job.survey.soft_ending}" for folder in _soft_folders(job)]
    soft = soft if len(soft) > 1 else soft[0]
    labels = {"reference": reference, "soft": soft}
    there = [rater in made.raters for rater in job.raters]
    own = [
        f"annotations/{folder}" if here else "absent" for folder, here in zip(job.raters.values(), there, strict=True)
    ]
    return {
        "image": _linked(case, job) or f"images/{name}{ending}",
        "label": labels.get(job.plan.disputed, f"labels/{item.name}{ending}"),
        "reference": reference,
        "soft": soft,
        "disputed": f"disputed/{name}{ending}",
        "annotations": [f"{folder}/{name}{ending}" for folder in own],
        "present": [int(rater in made.raters) for rater in job.raters],
        "case": case.name,
        "subject": case.subject,
        **({"rater": item.rater} if item.rater else {}),
        "fold": item.fold,
    }


def _soft_folders(job: Job) -> list[str]:
    """One for what is marked, or one for each of several labels, background among them."""
    numbers = job.survey.numbering.ignore
    return ["soft"] if numbers == 2 else [f"soft/{number}" for number in range(numbers)]


def _linked(case: Case, job: Job) -> str:
    """The path of the image itself, where it is asked for and will do."""
    place = case.image
    if not job.plan.link or place is None or place.member is not None or place.index is not None:
        return ""
    known = suffix_of(place.path.name) in LINKED.get(job.survey.ending, ())
    return str(Path(place.path).resolve()) if known else ""
