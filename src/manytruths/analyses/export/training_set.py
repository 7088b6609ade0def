"""A training set: what to write of every case, in which fold it is, and what files suit all images.

Every case is read before anything is written, so that all problems are reported at once.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ...core.columns import natural_key
from ...core.errors import CallError, InputError, ManytruthsError
from ...core.tally import Tally
from ...io import Picture, atomic, read_image, write_map, write_picture
from ...shape.grid import Grid
from ...study import Case, Progress, Study
from ...study.problems import check_case
from .targets import Codes, Numbering, Targets, check_consensus, first_readings, targets_of

MOST_IN_PNG = 65535
_SQUARE = 1e-4
"""How far directions may be from orthogonal; beyond it, ITK refuses the file."""
COLOURS = ("R", "G", "B")
LONGEST = 120
"""Signs of a name; the number of a channel and the ending follow it."""

_OTHER = re.compile(r"[^A-Za-z0-9._-]|^[.-]")
USUAL = 5
"""Default number of folds."""
Disputed = Literal["consensus", "ignore", "soft", "replicate"]
"""What becomes of pixels on which raters disagree."""


@dataclass(frozen=True)
class TrainingOptions:
    """The consensus, what becomes of disputed pixels, and how subjects are split."""

    consensus: str = "staple"
    """A method of ``fuse``."""
    disputed: Disputed = "consensus"
    folds: int | None = None
    """Five, or as many as there are subjects, where nothing is said."""
    seed: int = 0
    channel: str = "image"
    """What the channel of a grey image is called; nnU-Net scales by it."""
    link: bool = False
    """Name the images where they lie instead of writing copies."""

    def __post_init__(self) -> None:
        check_consensus(self.consensus)
        if self.disputed not in get_args(Disputed):
            raise CallError(f"--disputed is one of {', '.join(get_args(Disputed))}; got {self.disputed!r}")
        if self.folds is not None and self.folds < 2:
            raise CallError(f"--folds must be at least 2; got {self.folds}")
        if self.seed < 0:
            raise CallError(f"--seed must be at least 0; got {self.seed}")
        if not self.channel.strip():
            raise CallError("--channel is the name of what the images show, as CT; got nothing")


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
    study: Study, opening_errors: Sequence[Exception] = (), *, jobs: int = 1, progress: Progress | None = None
) -> Survey:
    """Read every case once; all problems are reported in one error, before anything is written."""
    if study.options.images is None:
        raise CallError('a training set needs images; give --images "images/{case}.png"')
    surveys = {case.name: result for case, result in study.map(survey_case, jobs=jobs, progress=progress)}
    problems = [str(error) for error in opening_errors]
    problems += [problem for case in surveys.values() for problem in case.problems]
    problems += _differences_between(surveys)
    numbering = None
    try:
        tables = {name: case.tally for name, case in surveys.items() if case.tally is not None}
        numbering = Numbering.of(next(iter(study.gathered(tables).values())).labels) if tables else None
    except ManytruthsError as error:
        problems.append(str(error))
    if len(problems) == 1:
        raise InputError(f"{problems[0]}; nothing was written")
    if problems or numbering is None:
        raise InputError("\n  ".join([f"{len(problems)} problems, so that nothing was written:", *problems]))
    known = list(surveys.values())
    if known[0].axes == 3 or any(case.placed for case in known):
        ending = ".nii.gz"
    else:
        ending = ".png" if all(case.simple for case in known) else ".tif"
    return Survey(numbering, known[0].channels, ending, all(case.square for case in known))


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
    array, axes = picture.array, len(picture.grid.shape)
    return CaseSurvey(
        checked.tally,
        tuple(problems),
        axes,
        array.shape[-1] if array.ndim > axes else 1,
        array.dtype.kind in "bui" and bool(array.min() >= 0 and array.max() <= MOST_IN_PNG),
        picture.format in ("nifti", "nrrd", "metaimage"),
        _is_square(located_grid(picture.grid, checked.grid or picture.grid)),
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


def located_grid(image: Grid, mask: Grid) -> Grid:
    """The grid that knows most of where it lies."""
    for grid in (image, mask):
        if grid.affine is not None:
            return grid
    return image if image.spacing is not None else mask


def _is_square(grid: Grid) -> bool:
    if grid.affine is None or len(grid.shape) < 3:
        return True
    directions = np.array(grid.affine)[:3, :3] / np.array(grid.spacing)
    return bool(np.abs(directions.T @ directions - np.eye(3)).max() < _SQUARE)


def _differences_between(surveys: Mapping[str, CaseSurvey]) -> Iterator[str]:
    """Cases that are unlike the first: one data set has images of one kind."""
    known = {name: case for name, case in surveys.items() if case.axes}
    if not known:
        return
    first, like = next(iter(known.items()))
    for name, case in known.items():
        if case.axes != like.axes:
            yield f"case {name}: its image has {case.axes} axes, that of {first} {like.axes}; export them apart"
        elif case.channels != like.channels:
            counts = [f"{n} channel{'' if n == 1 else 's'}" for n in (case.channels, like.channels)]
            yield f"case {name}: its image has {counts[0]}, that of {first} {counts[1]}; save all alike"


# -- names and folds ---------------------------------------------------------------------------------


def plain_names(names: Sequence[Sequence[str]]) -> list[str]:
    """One for each sequence of names, joined by two underscores.

    A name that had to be changed, or differs from another in nothing but capitals, carries a digest of the original.

    >>> plain_names([["p1"], ["a/b"], ["p1", "A"]])
    ['p1', 'a_b-c14cdd', 'p1__A']
    """
    joined = ["__".join(parts) for parts in names]
    plain = [_OTHER.sub("_", text)[:LONGEST] or "_" for text in joined]
    often = Counter(text.casefold() for text in plain)
    unique = []
    for short, text, parts in zip(plain, joined, names, strict=True):
        digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:6]
        changed = short != text or often[short.casefold()] > 1
        unique.append(f"{short}-{digest}" if changed else short)
    return unique


def folds_of(sizes: Mapping[str, int], folds: int | None, seed: int) -> dict[str, int]:
    """The fold of every subject, from how many training cases each has.

    Subjects are shuffled, and the largest go first, each into the fold that has the fewest cases so far. A lone subject
    cannot be split, and is in fold 0.

    >>> folds_of({"a": 1, "b": 1, "c": 4}, 2, seed=0)
    {'a': 1, 'b': 1, 'c': 0}
    """
    if folds is not None and folds > len(sizes):
        raise CallError(
            f"--folds {folds}: there are {len(sizes)} subjects, and none may be in two folds; ask for at most that many"
        )
    count = min(USUAL, len(sizes)) if folds is None else folds
    names = sorted(sizes, key=natural_key)
    shuffled = [names[i] for i in np.random.default_rng(seed).permutation(len(names))]
    filled, fold = [0] * count, dict[str, int]()
    for subject in sorted(shuffled, key=lambda name: -sizes[name]):
        fold[subject] = filled.index(min(filled))
        filled[fold[subject]] += sizes[subject]
    return {name: fold[name] for name in names}


@dataclass(frozen=True)
class TrainingCase:
    """A training case: a case of the study, or what one rater made of it."""

    name: str
    """That of its files."""
    case: str
    subject: str
    fold: int
    rater: str = ""


@dataclass(frozen=True)
class CaseCounts:
    """What was written of a case."""

    raters: tuple[str, ...]
    pixels: int
    disputed: int
    not_rated: int
    counts: tuple[int, ...]
    """Pixels of every number in its labels, the one to ignore last."""


@dataclass(frozen=True)
class TrainingSet:
    """What to write of every case, and where."""

    options: TrainingOptions
    survey: Survey
    cases: tuple[TrainingCase, ...]
    case_names: Mapping[str, str]
    """What the files of each case are called."""
    rater_names: Mapping[str, str]
    """What the folder of each rater is called."""
    folder: Path

    def of(self, case: str) -> list[TrainingCase]:
        """The training cases that a case becomes."""
        return [item for item in self.cases if item.case == case]

    def ignores(self, counts: Mapping[str, CaseCounts]) -> bool:
        """Whether there are pixels to ignore."""
        return self.options.disputed == "ignore" or any(case.counts[-1] for case in counts.values())

    @property
    def channel_names(self) -> dict[str, str]:
        """By number, as text."""
        names = COLOURS if self.survey.channels > 1 else (self.options.channel,)
        return {str(number): name for number, name in enumerate(names)}

    @property
    def folds(self) -> int:
        """How many there are."""
        return 1 + max(item.fold for item in self.cases)


def training_cases(study: Study, options: TrainingOptions) -> tuple[TrainingCase, ...]:
    """One for every case, or for every rater of every case; those of one subject are in one fold."""
    pairs = [(case, "") for case in study]
    if options.disputed == "replicate":
        pairs = [(c, name) for c in study for name, column in first_readings(c).items() if column in c.masks]
    names = plain_names([(case.name, rater) if rater else (case.name,) for case, rater in pairs])
    folds = folds_of(Counter(case.subject for case, _ in pairs), options.folds, options.seed)
    return tuple(
        TrainingCase(name, case.name, case.subject, folds[case.subject], rater)
        for name, (case, rater) in zip(names, pairs, strict=True)
    )


def plan_training_set(study: Study, options: TrainingOptions, survey: Survey, folder: Path) -> TrainingSet:
    """What to write of a study that was looked at."""
    names, raters = [case.name for case in study], study.rater_names
    called = dict(zip(names, plain_names([(name,) for name in names]), strict=True))
    folders = dict(zip(raters, plain_names([(rater,) for rater in raters]), strict=True))
    return TrainingSet(options, survey, training_cases(study, options), called, folders, folder)


def read_case(case: Case, survey: Survey) -> tuple[Targets, Picture, Grid]:
    """Masks, image, and the grid that both lie on."""
    assert case.image is not None
    targets, picture = targets_of(case.read(), survey.numbering), read_image(case.image)
    return targets, picture, located_grid(picture.grid, targets.reading.grid)


def count_labels(targets: Targets, labels: Iterable[Codes]) -> CaseCounts:
    """The numbers of a case."""
    numbers = targets.numbering.ignore + 1
    counts = sum((np.bincount(label.ravel(), minlength=numbers) for label in labels), np.zeros(numbers, np.int64))
    rated, disputed = (int(np.count_nonzero(flags)) for flags in (targets.rated, targets.disputed))
    pixels = targets.agreed.size
    return CaseCounts(tuple(targets.masks), pixels, disputed, pixels - rated, tuple(counts.tolist()))


def write_image(path: Path, picture: Picture, grid: Grid) -> None:
    """An image as it is: grey on its grid, or RGB."""
    if picture.array.ndim == len(picture.grid.shape):
        write_map(path, _compact(picture.array), grid)
        return
    from PIL import Image

    write_picture(path, Image.fromarray(np.ascontiguousarray(picture.array)))


def _compact(array: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers that need no sign in bytes or pairs of them, which every format holds."""
    if array.dtype.kind not in "ui" or array.dtype in (np.uint8, np.uint16) or array.min() < 0:
        return array
    fits = np.min_scalar_type(int(array.max()))
    return array.astype(fits) if fits in (np.uint8, np.uint16) else array


def copy_file(source: Path, path: Path) -> None:
    """The same file under another name."""
    with atomic(path) as temporary:
        shutil.copyfile(source, temporary)
