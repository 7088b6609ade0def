"""Who grades what without knowing whose it is: codes in a random order, some predictions shown twice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.errors import CallError
from .grades import Item

LETTERS = "BCDFGHJKMNPQRTVWXZ"
"""No vowels, so that codes are no words; no digits, so that a spreadsheet does not take them for numbers or dates."""
SHORTEST = 4


@dataclass(frozen=True)
class Ticket:
    """One line of a grading sheet; ``showing`` is 2 where the same prediction has come before."""

    code: str
    case: str
    algorithm: str
    showing: int = 1


def tickets(items: Sequence[Item], *, repeats: float = 0.1, seed: int = 0) -> tuple[Ticket, ...]:
    """A code for every prediction, in a random order that does not depend on the order of ``items``.

    A share ``repeats`` of them (at least one, where it is not 0) comes twice, half a sheet apart, under two codes.

    >>> [t.case for t in tickets([("a", "unet"), ("b", "unet"), ("c", "unet")], repeats=0, seed=1)]
    ['b', 'c', 'a']
    """
    if not 0 <= repeats <= 1:
        raise CallError(f"repeats is the share of predictions to show twice, from 0 to 1; got {repeats!r}")
    if len(set(items)) < len(items):
        raise CallError("items names a prediction twice; each case and algorithm once")
    items, rng = sorted(items), np.random.default_rng(seed)
    count = len(items)
    twice = rng.permutation(count)[: math.ceil(round(repeats * count, 9))]
    place = rng.permutation(count) / max(1, count)
    # half a sheet later, those of the second half before: so they are never neighbours on a long sheet
    shown = sorted([(p, i) for i, p in enumerate(place)] + [((place[i] + 0.5) % 1, int(i)) for i in twice])
    met: set[int] = set()
    found = []
    for code, (_, i) in zip(_codes(len(shown), rng), shown, strict=True):
        found.append(Ticket(code, *items[i], showing=2 if i in met else 1))
        met.add(i)
    return tuple(found)


def _codes(count: int, rng: np.random.Generator) -> list[str]:
    """Distinct words of as few letters as leave most words unused, so that no code can be guessed from others."""
    length = SHORTEST
    while len(LETTERS) ** length < 50 * count:
        length += 1
    numbers = rng.choice(len(LETTERS) ** length, size=count, replace=False)
    return ["".join(LETTERS[n // len(LETTERS) ** k % len(LETTERS)] for k in range(length)) for n in numbers.tolist()]


def drawn_cases(subjects: Mapping[str, str], per_subject: int | None, seed: int = 0) -> tuple[str, ...]:
    """So many cases of every subject, drawn at random; all of them where ``per_subject`` is None.

    ``subjects`` names the subject of every case.
    """
    if per_subject is None:
        return tuple(subjects)
    if per_subject < 1:
        raise CallError(f"per_subject is a positive number of cases; got {per_subject!r}")
    rng, by_subject = np.random.default_rng(seed), dict[str, list[str]]()
    for case, subject in subjects.items():
        by_subject.setdefault(subject, []).append(case)
    chosen = {c for cases in by_subject.values() for c in rng.permutation(np.array(cases, object))[:per_subject]}
    return tuple(case for case in subjects if case in chosen)
