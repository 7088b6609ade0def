"""The verb ``predict``: a trained network applied to images."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..core.errors import InputError, ManytruthsError
from ..io import Location, Template, read_image, safe_name, write_map
from ..io.template import TemplateMatch
from ..study import Progress
from .runs import device_of
from .trained import Trained


def predict(
    network: Path,
    images: str,
    folder: Path,
    *,
    probability: bool = False,
    suffix: str = ".png",
    device: str = "auto",
    progress: Progress | None = None,
) -> list[Path]:
    """A mask for every image of a template, in the values of the masks trained on; where asked for, probabilities."""
    trained = Trained.load(network, device_of(device))
    found = Template(images, require=("case",)).find()
    _refuse_twice(found, images)
    paths: list[Path] = []
    for done, one in enumerate(found, start=1):
        try:
            paths += _one(trained, one.location, one.fields["case"], folder, probability, suffix)
        except ManytruthsError as error:
            raise type(error)(f"case {one.fields['case']}: {error}") from None
        if progress:
            progress(done, len(found))
    return paths


def _refuse_twice(found: list[TemplateMatch], images: str) -> None:
    """Two images of one case would be one file."""
    cases = [one.fields["case"] for one in found]
    twice = next((case for case in cases if cases.count(case) > 1), None)
    if twice is not None:
        raise InputError(
            f"template {images!r} has several images of case {twice}; predict them one by one, or name the cases apart"
        )


def _one(trained: Trained, location: Location, case: str, folder: Path, probability: bool, suffix: str) -> list[Path]:
    picture = read_image(location)
    if len(picture.grid.shape) != 2:
        raise InputError(f"{location} is a volume, and the network looks at planes; write its slices")
    chances = trained.probabilities(picture.array)
    values, recipe = np.array(trained.recipe.values, np.int64), trained.recipe
    path = folder / f"{safe_name(case)}{suffix}"
    write_map(path, values[chances.argmax(axis=0)], picture.grid)
    if not probability:
        return [path]
    shown = (
        {"": chances[1]}
        if len(values) == 2
        else {f"-{safe_name(n)}": c for n, c in zip(recipe.names, chances, strict=True)}
    )
    maps = [folder / "probability" / f"{safe_name(case)}{label}.tif" for label in shown]
    for where, values_of in zip(maps, shown.values(), strict=True):
        write_map(where, values_of)
    return [path, *maps]
