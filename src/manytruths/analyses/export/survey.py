"""Read every case before an export: find all problems, and the file format that suits all images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import CallError, InputError, ManytruthsError
from ...core.tally import Tally
from ...io import Picture, read_image
from ...shape.grid import Grid
from ...study import Case, Progress, Study
from ...study.problems import check_case
from .targets import Numbering, first_readings

MOST_IN_PNG = 65535
_SQUARE = 1e-4
"""How far directions may be from orthogonal; beyond it, ITK refuses the file."""


@dataclass(frozen=True)
class CaseSurvey:
    """What a case is like, as far as it can be read."""

    tally: Tally | None
    problems: tuple[str, ...]
    axes: int = 0
    channels: int = 0
    simple: bool = False
    """Whether PNG holds the image."""
    placed: bool = False
    """Whether the file can say where the image lies in space."""
    square: bool = True


@dataclass(frozen=True)
class Survey:
    """What all cases have in common."""

    numbering: Numbering
    axes: int
    channels: int
    ending: str
    """Of images and masks."""
    square: bool
    """Whether every image lies on axes that are at right angles."""

    @property
    def soft_ending(self) -> str:
        """Of files that hold fractions."""
        return ".tif" if self.ending == ".png" else self.ending


def survey_study(
    study: Study, found_before: Sequence[Exception] = (), *, jobs: int = 1, progress: Progress | None = None
) -> Survey:
    """Read every case once; all problems are reported in one error, before anything is written."""
    if study.options.images is None:
        raise CallError('there are no images to learn from; say where they are, as --images "images/{case}.png"')
    surveys = {case.name: result for case, result in study.map(survey_case, jobs=jobs, progress=progress)}
    problems = [str(error) for error in found_before]
    problems += [problem for case in surveys.values() for problem in case.problems]
    problems += _between(surveys)
    numbering = None
    try:
        tables = {name: case.tally for name, case in surveys.items() if case.tally is not None}
        numbering = Numbering.of(next(iter(study.gathered(tables).values())).labels) if tables else None
    except ManytruthsError as error:
        problems.append(str(error))
    if problems or numbering is None:
        raise InputError(_describe_problems(problems))
    return _common(numbering, list(surveys.values()))


def _describe_problems(problems: Sequence[str]) -> str:
    if len(problems) == 1:
        return f"{problems[0]}; nothing was written"
    return "\n  ".join([f"{len(problems)} problems, so that nothing was written:", *problems])


def survey_case(case: Case) -> CaseSurvey:
    """One case: its masks, its image, and whether both lie on one grid."""
    alone = replace(case, predictions={}, references={}, ranks={}, training={}, missing=())
    checked = check_case(alone)
    problems = [p.message for p in checked.problems if p.severity == "error"]
    if not any(column in case.masks for column in first_readings(case).values()):
        problems.append(f"case {case.name}: nobody marked it in the first session; exclude it")
    assert case.image is not None
    try:
        picture = read_image(case.image)
    except ManytruthsError as error:
        return CaseSurvey(checked.tally, (*problems, f"case {case.name}, image: {error}"))
    problems += [f"case {case.name}, image: {case.image} {wrong}" for wrong in _picture_problems(picture, checked.grid)]
    return _describe_picture(picture, checked.tally, checked.grid, problems)


def _describe_picture(picture: Picture, tally: Tally | None, grid: Grid | None, problems: Sequence[str]) -> CaseSurvey:
    array, axes = picture.array, len(picture.grid.shape)
    return CaseSurvey(
        tally,
        tuple(problems),
        axes,
        array.shape[-1] if array.ndim > axes else 1,
        array.dtype.kind in "bui" and bool(array.min() >= 0 and array.max() <= MOST_IN_PNG),
        picture.format in ("nifti", "nrrd"),
        _square(placed(picture.grid, grid or picture.grid)),
    )


def _picture_problems(picture: Picture, grid: Grid | None) -> Iterator[str]:
    array = picture.array
    if array.dtype.kind not in "buif":
        yield f"holds {array.dtype}; save one number a pixel, or RGB"
    elif array.dtype.kind == "f" and (count := _count_not_finite(array)):
        yield f"holds {count} values that are not finite in 32 bits; replace them by what makes sense there"
    elif array.dtype.kind in "ui" and not -(2**31) <= int(array.min()) <= int(array.max()) < 2**31:
        yield f"holds values from {array.min()} to {array.max()}; save them in 32 bits with sign, or as fractions"
    differs = "" if grid is None else _difference(picture.grid, grid)
    if differs:
        yield f"has {differs}, unlike the masks; resample it"


def _count_not_finite(array: NDArray[Any]) -> int:
    with np.errstate(over="ignore"):
        return int(np.count_nonzero(~np.isfinite(array.astype(np.float32))))


def _difference(image: Grid, mask: Grid) -> str:
    """What both files say is compared; a picture without a place in space may go with masks that have one."""
    if image.shape != mask.shape or (image.affine is None) == (mask.affine is None):
        both = image.spacing is not None and mask.spacing is not None
        return image.difference(mask) if image.shape != mask.shape or both else ""
    if image.spacing is None or mask.spacing is None:
        return ""
    return Grid(image.shape, image.spacing).difference(Grid(mask.shape, mask.spacing))


def placed(image: Grid, mask: Grid) -> Grid:
    """The grid that knows most of where it lies."""
    for grid in (image, mask):
        if grid.affine is not None:
            return grid
    return image if image.spacing is not None else mask


def _square(grid: Grid) -> bool:
    if grid.affine is None or len(grid.shape) < 3:
        return True
    directions = np.array(grid.affine)[:3, :3] / np.array(grid.spacing)
    return bool(np.abs(directions.T @ directions - np.eye(3)).max() < _SQUARE)


def _between(surveys: Mapping[str, CaseSurvey]) -> Iterator[str]:
    """Cases that are unlike the first: one data set has images of one kind."""
    known = {name: case for name, case in surveys.items() if case.axes}
    if not known:
        return
    first, like = next(iter(known.items()))
    for name, case in known.items():
        if case.axes != like.axes:
            yield f"case {name}: its image has {case.axes} axes, that of {first} {like.axes}; export them apart"
        elif case.channels != like.channels:
            yield f"case {name}: its image has {_channels(case)}, that of {first} {_channels(like)}; save all alike"


def _channels(case: CaseSurvey) -> str:
    return "1 channel" if case.channels == 1 else f"{case.channels} channels"


def _common(numbering: Numbering, surveys: Sequence[CaseSurvey]) -> Survey:
    axes = surveys[0].axes
    if axes == 3 or any(case.placed for case in surveys):
        ending = ".nii.gz"
    else:
        ending = ".png" if all(case.simple for case in surveys) else ".tif"
    return Survey(numbering, axes, surveys[0].channels, ending, all(case.square for case in surveys))
