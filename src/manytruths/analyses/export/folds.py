"""Which fold a subject is in: all that was made of one patient stays together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...core.columns import natural_key
from ...core.errors import CallError

USUAL = 5
"""Folds where nobody asks for another number."""


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
