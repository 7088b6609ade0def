"""The training cases of a data set: what they are called, in which fold they are, and what is written of each."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ...core.columns import natural_key
from ...core.errors import CallError
from ...io import Picture, atomic, read_image, write_map, write_picture
from ...shape.grid import Grid
from ...study import Case, Study
from .survey import Survey
from .targets import Codes, Targets, check_consensus, first_readings, targets_of

LONGEST = 120
"""Signs of a name; the number of a channel and the ending follow it."""

_OTHER = re.compile(r"[^A-Za-z0-9._-]|^[.-]")
USUAL = 5
"""Default number of folds."""
Disputed = Literal["reference", "ignore", "soft", "replicate"]
"""What becomes of pixels on which raters disagree."""


def plain_names(names: Sequence[Sequence[str]]) -> list[str]:
    """One for each sequence of names, joined by two underscores.

    A name that had to be changed, or differs from another in nothing but capitals, carries a digest of the original.

    >>> plain_names([["p1"], ["a/b"], ["p1", "A"]])
    ['p1', 'a_b-c14cdd', 'p1__A']
    """
    joined = ["__".join(parts) for parts in names]
    plain = [_OTHER.sub("_", text)[:LONGEST] or "_" for text in joined]
    often = Counter(text.casefold() for text in plain)
    changed = [short != text or often[short.casefold()] > 1 for short, text in zip(plain, joined, strict=True)]
    return [
        f"{short}-{_digest(parts)}" if other else short
        for short, parts, other in zip(plain, names, changed, strict=True)
    ]


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:6]


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
class TrainingOptions:
    """The consensus, what becomes of disputed pixels, and how subjects are split."""

    consensus: str = "staple"
    """A method of ``fuse``."""
    disputed: Disputed = "reference"
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
            raise CallError(f"--folds is at least 2; got {self.folds}")
        if self.seed < 0:
            raise CallError(f"--seed is at least 0; got {self.seed}")
        if not self.channel.strip():
            raise CallError("--channel is the name of what the images show, as CT; got nothing")


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

    @property
    def folds(self) -> int:
        """How many there are."""
        return 1 + max(item.fold for item in self.cases)


def training_cases(study: Study, options: TrainingOptions) -> tuple[TrainingCase, ...]:
    """One for every case, or for every rater of every case; those of one subject are in one fold."""
    asked = [
        (case, rater) for case in study for rater in (_present(case) if options.disputed == "replicate" else ("",))
    ]
    names = plain_names([(case.name, rater) if rater else (case.name,) for case, rater in asked])
    folds = folds_of(Counter(case.subject for case, _ in asked), options.folds, options.seed)
    return tuple(
        TrainingCase(name, case.name, case.subject, folds[case.subject], rater)
        for name, (case, rater) in zip(names, asked, strict=True)
    )


def _present(case: Case) -> list[str]:
    return [name for name, column in first_readings(case).items() if column in case.masks]


def plan_training_set(study: Study, options: TrainingOptions, survey: Survey, folder: Path) -> TrainingSet:
    """What to write of a study that was looked at."""
    names, raters = [case.name for case in study], study.rater_names
    called = dict(zip(names, plain_names([(name,) for name in names]), strict=True))
    folders = dict(zip(raters, plain_names([(rater,) for rater in raters]), strict=True))
    return TrainingSet(options, survey, training_cases(study, options), called, folders, folder)


def read_case(case: Case, survey: Survey) -> tuple[Targets, Picture]:
    """Masks and image."""
    assert case.image is not None
    return targets_of(case.read(), survey.numbering), read_image(case.image)


def count_labels(targets: Targets, labels: Iterable[Codes]) -> CaseCounts:
    """The numbers of a case."""
    numbers = targets.numbering.ignore + 1
    counts = sum((np.bincount(label.ravel(), minlength=numbers) for label in labels), np.zeros(numbers, np.int64))
    rated = int(np.count_nonzero(targets.rated))
    return CaseCounts(
        tuple(targets.masks),
        targets.agreed.size,
        int(np.count_nonzero(targets.disputed)),
        targets.agreed.size - rated,
        tuple(counts.tolist()),
    )


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
