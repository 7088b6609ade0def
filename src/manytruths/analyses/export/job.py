"""Training cases, what they are called, in which fold they are, and what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...io import Picture, read_image
from ...study import Case, Study
from .folds import folds_of
from .looking import Survey
from .names import plain_names
from .numbering import Codes
from .plan import ExportPlan
from .targets import Targets, first_readings, targets_of


@dataclass(frozen=True)
class Item:
    """A training case: a case of the study, or what one rater made of it."""

    name: str
    """That of its files."""
    case: str
    subject: str
    fold: int
    rater: str = ""


@dataclass(frozen=True)
class Made:
    """What was written of a case."""

    raters: tuple[str, ...]
    pixels: int
    disputed: int
    not_rated: int
    counts: tuple[int, ...]
    """Pixels of every number in its labels, the one to ignore last."""


@dataclass(frozen=True)
class Job:
    """What to write of every case, and where."""

    plan: ExportPlan
    survey: Survey
    items: tuple[Item, ...]
    cases: Mapping[str, str]
    """What the files of each case are called."""
    raters: Mapping[str, str]
    """What the folder of each rater is called."""
    folder: Path

    def of(self, case: str) -> list[Item]:
        """The training cases that a case becomes."""
        return [item for item in self.items if item.case == case]

    @property
    def folds(self) -> int:
        """How many there are."""
        return 1 + max(item.fold for item in self.items)


def items_of(study: Study, plan: ExportPlan) -> tuple[Item, ...]:
    """One for every case, or for every rater of every case; those of one subject are in one fold."""
    asked = [(case, rater) for case in study for rater in (_present(case) if plan.disputed == "replicate" else ("",))]
    names = plain_names([(case.name, rater) if rater else (case.name,) for case, rater in asked])
    folds = folds_of(Counter(case.subject for case, _ in asked), plan.folds, plan.seed)
    return tuple(
        Item(name, case.name, case.subject, folds[case.subject], rater)
        for name, (case, rater) in zip(names, asked, strict=True)
    )


def _present(case: Case) -> list[str]:
    return [name for name, column in first_readings(case).items() if column in case.masks]


def job_of(study: Study, plan: ExportPlan, survey: Survey, folder: Path) -> Job:
    """What to write of a study that was looked at."""
    names, raters = [case.name for case in study], study.rater_names
    called = dict(zip(names, plain_names([(name,) for name in names]), strict=True))
    folders = dict(zip(raters, plain_names([(rater,) for rater in raters]), strict=True))
    return Job(plan, survey, items_of(study, plan), called, folders, folder)


def read_case(case: Case, survey: Survey) -> tuple[Targets, Picture]:
    """Masks and image."""
    assert case.image is not None
    return targets_of(case.read(), survey.numbering), read_image(case.image)


def made_of(targets: Targets, labels: Iterable[Codes]) -> Made:
    """The numbers of a case."""
    numbers = targets.numbering.ignore + 1
    counts = sum((np.bincount(label.ravel(), minlength=numbers) for label in labels), np.zeros(numbers, np.int64))
    rated = int(np.count_nonzero(targets.rated))
    return Made(
        tuple(targets.masks),
        targets.agreed.size,
        int(np.count_nonzero(targets.disputed)),
        targets.agreed.size - rated,
        tuple(counts.tolist()),
    )
