"""Who reads which case when a study starts: everybody everything, or balanced incomplete blocks with a shared core."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ...core.errors import CallError

TRIES = 20
"""Designs at random of which the most balanced one is taken."""
SHARED, BLOCK = "shared", "block"


@dataclass(frozen=True)
class AssignedReading:
    """A reading of a design.

    Attributes
    ----------
    rater : str
        Who reads.
    order : int
        The place of the case among those of the rater, from 1 on.
    case : str
        What they read.
    kind : {"shared", "block"}
        Whether everybody reads the case, or some.
    """

    rater: str
    order: int
    case: str
    kind: str


def assign_readings(
    cases: Sequence[str], raters: Sequence[str], *, per_case: int | None = None, shared: int = 0, seed: int = 0
) -> tuple[AssignedReading, ...]:
    """Assign cases to raters.

    Every rater gets as many cases as the others, or one more, and every two raters get about as many in common as any
    other two. Shared cases are read by everybody, in the same order and spread evenly over each rater's cases, so that
    raters can be compared with each other at any time, and drift be seen.

    Parameters
    ----------
    cases : sequence of str
        Names of the cases.
    raters : sequence of str
        Names of the raters.
    per_case : int, optional
        How many raters read a case; by default all.
    shared : int
        How many cases are read by all.
    seed : int
        Of the order of cases, and of who gets which.

    Returns
    -------
    tuple of AssignedReading
        By rater, in the order of reading.

    References
    ----------
    Fleiss JL. Balanced incomplete block designs for inter-rater reliability studies. Applied Psychological Measurement
    1981;5:105–112. doi:10.1177/014662168100500115

    Examples
    --------
    >>> from manytruths.ratings.planning.designs import assign_readings
    >>> made = assign_readings([f"p{k}" for k in range(6)], ["anna", "ben", "clara"], per_case=2)
    >>> sum(reading.rater == "anna" for reading in made)
    4
    """
    k = len(raters) if per_case is None else per_case
    if not 1 <= k <= len(raters):
        raise CallError(f"--per-case is a number of raters from 1 to {len(raters)}; got {k}")
    if not 0 <= shared <= len(cases):
        raise CallError(f"--shared is a number of cases from 0 to {len(cases)}; got {shared}")
    rng = np.random.default_rng(seed)
    mixed = [cases[i] for i in rng.permutation(len(cases))]
    core, rest = mixed[:shared], mixed[shared:]
    kind = SHARED if k == len(raters) else BLOCK
    tries = [_blocks(len(rest), len(raters), k, rng) for _ in range(TRIES if k < len(raters) else 1)]
    blocks = min(tries, key=lambda made: _imbalance(made, len(raters)))
    made = []
    for r, rater in enumerate(raters):
        own = [(case, kind) for case, block in zip(rest, blocks, strict=True) if r in block]
        own = [own[i] for i in rng.permutation(len(own))]
        order = _spread([(case, SHARED) for case in core], own)
        made += [AssignedReading(rater, i, case, kind) for i, (case, kind) in enumerate(order, start=1)]
    return tuple(made)


def _blocks(n_cases: int, n_raters: int, k: int, rng: np.random.Generator) -> list[set[int]]:
    """For each case k raters: those with the fewest cases, and of these those who met the others least."""
    load, met = np.zeros(n_raters), np.zeros((n_raters, n_raters))
    blocks = []
    for _ in range(n_cases):
        block: list[int] = []
        for _ in range(k):
            free = [r for r in range(n_raters) if r not in block]
            chance = rng.random(len(free))
            cost = [(load[r], met[r, block].sum(), chance[i]) for i, r in enumerate(free)]
            block.append(free[min(range(len(free)), key=cost.__getitem__)])
        for a, b in combinations(block, 2):
            met[a, b] += 1
            met[b, a] += 1
        load[block] += 1
        blocks.append(set(block))
    return blocks


def _imbalance(blocks: Sequence[set[int]], n_raters: int) -> float:
    """Variance of how often two raters have a case in common."""
    met = Counter(pair for block in blocks for pair in combinations(sorted(block), 2))
    return float(np.var([met[pair] for pair in combinations(range(n_raters), 2)])) if n_raters > 1 else 0.0


def _spread(core: Sequence[tuple[str, str]], own: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The cases of a rater, with those that all read at even distances."""
    total = len(core) + len(own)
    places = {int((i + 0.5) * total / len(core)): case for i, case in enumerate(core)}
    rest = iter(own)
    return [places[i] if i in places else next(rest) for i in range(total)]
