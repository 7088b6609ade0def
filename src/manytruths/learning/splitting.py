"""Which subjects are trained on, and which are kept to judge by."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

from ..core.errors import CallError, InputError
from ..io.tables import read_table
from ..study import Study

PARTS = ("train", "test")


def split_by_subject(study: Study, share: float = 0.3, seed: int = 0) -> dict[str, str]:
    """``train`` or ``test`` for every case: a share of the subjects, drawn at random, is for testing.

    A subject's cases stay together, since images of one patient are alike.
    """
    subjects = list(study.subjects)
    if not 0 < share < 1:
        raise CallError(f"the share of subjects to test on is above 0 and below 1; got {share}")
    if len(subjects) < 2:
        raise InputError(f"there is one subject, {subjects[0]}: nobody is left to test on; add subjects")
    count = min(max(1, round(share * len(subjects))), len(subjects) - 1)
    tested = set(random.Random(seed).sample(subjects, count))
    return {case.name: "test" if case.subject in tested else "train" for case in study}


def folds_by_subject(study: Study, folds: int, seed: int = 0) -> list[dict[str, str]]:
    """Every subject is tested on once: so many splits, whose tests are about equally large."""
    subjects = list(study.subjects)
    if not 2 <= folds <= len(subjects):
        raise CallError(f"folds are from 2 to the number of subjects, {len(subjects)}; got {folds}")
    random.Random(seed).shuffle(subjects)
    fold = {subject: k % folds for k, subject in enumerate(subjects)}
    return [{c.name: "test" if fold[c.subject] == k else "train" for c in study} for k in range(folds)]


def read_split(study: Study, path: Path) -> dict[str, str]:
    """From a CSV with the columns ``case`` and ``part`` (train or test); subjects must not be in both."""
    rows = read_table(str(path), "case")
    found: dict[str, str] = {}
    for case in study:
        part = rows.get(case.name, {}).get("part", "")
        if part not in PARTS:
            raise InputError(f"{path}: case {case.name} has no part train or test, but {part!r}; add it")
        found[case.name] = part
    _refuse_shared(study, found, path)
    return found


def _refuse_shared(study: Study, found: Mapping[str, str], path: Path) -> None:
    by_subject: dict[str, set[str]] = {}
    for case in study:
        by_subject.setdefault(case.subject, set()).add(found[case.name])
    both = [subject for subject, parts in by_subject.items() if len(parts) > 1]
    if both:
        raise InputError(
            f"{path}: subject {both[0]} is in both train and test, so that a network would be judged by images of a "
            "patient it knows; put all cases of a subject into one part"
        )
    missing = [part for part in PARTS if part not in found.values()]
    if missing:
        raise InputError(f"{path}: no case is in {missing[0]}; put some subjects there")
