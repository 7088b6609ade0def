"""How far each candidate is from a published consensus, from the counts of patterns and what the consensus says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from ..core.columns import Column
from ..core.labels import VOID
from ..core.tally import Tally, find_rows

Codes = NDArray[np.uint8]
Counts = NDArray[np.int64]


def count_given(raters: Tally, joint: Tally, reference: Column) -> Counts:
    """(patterns of the raters' table, codes) items by what a reference says; the last code is undecided.

    Parameters
    ----------
    raters : Tally
        First readings of the raters.
    joint : Tally
        The same raters beside references, over labels that may have one more at their end, which is undecided.
    reference : Column
        The reference.
    """
    rows = joint.patterns[:, [joint.position(column) for column in raters.columns]]
    where, said = find_rows(raters, rows), joint.patterns[:, joint.position(reference)]
    known = (said != VOID) & (joint.counts > 0)
    given = np.zeros((len(raters.counts), len(raters.labels) + 1), np.int64)
    np.add.at(given, (where[known], said[known]), joint.counts[known])
    return given


@dataclass(frozen=True, eq=False)
class Compared:
    """Candidates beside a reference, in one case.

    Attributes
    ----------
    different : ndarray
        (candidates) items that differ.
    both, marked : ndarray
        (candidates, marks) items of each label that are the candidate's and the reference's, and the candidate's.
    size : ndarray
        (marks) items of each label of the reference.
    items : int
        Items that were compared.
    digests : list of bytes
        Equal for candidates that decide all of these items alike.
    """

    different: Counts
    both: Counts
    marked: Counts
    size: Counts
    items: int
    digests: list[bytes]

    def chosen(self, places: Sequence[int]) -> Compared:
        """Some of the candidates."""
        own, digests = list(places), [self.digests[place] for place in places]
        return replace(
            self, different=self.different[own], both=self.both[own], marked=self.marked[own], digests=digests
        )

    @classmethod
    def joined(cls, parts: Iterable[Compared]) -> Compared:
        """Of several lists of candidates, one."""
        each = list(parts)
        different, both, marked = (
            np.concatenate([getattr(part, name) for part in each]) for name in ("different", "both", "marked")
        )
        digests = [digest for part in each for digest in part.digests]
        return cls(different, both, marked, each[0].size, each[0].items, digests)


def compare(codes: Codes, given: Counts, marks: tuple[int, ...]) -> Compared:
    """Compare (candidates, items or patterns) codes with a reference.

    ``given`` counts, of every pattern, what the reference says.

    >>> found = compare(np.array([[0, 1, 1], [0, 0, 1]], np.uint8), np.array([[5, 0, 0], [2, 1, 0], [0, 3, 0]]), (1,))
    >>> found.different, found.both[:, 0], found.items
    (array([2, 1]), array([4, 3]), 11)
    """
    there = given.sum(axis=1) > 0
    codes, given = codes[:, there], given[there]
    labels = range(given.shape[1])
    cells = np.stack([(codes == code).astype(np.float64) @ given.astype(np.float64) for code in labels], axis=1)
    alike = np.trace(cells, axis1=1, axis2=2)
    own = [list(marks)] if marks else [[]]
    diagonal = np.diagonal(cells, axis1=1, axis2=2)[:, own[0]]
    return Compared(
        np.rint(given.sum() - alike).astype(np.int64),
        np.rint(diagonal).astype(np.int64),
        np.rint(cells.sum(axis=2)[:, own[0]]).astype(np.int64),
        given.sum(axis=0)[own[0]],
        int(given.sum()),
        [blake2b(row.tobytes(), digest_size=16).digest() for row in codes],
    )


def pooled_dice(both: Counts, marked: Counts, size: Counts) -> NDArray[np.float64]:
    """(candidates) Dice, of several labels its mean over those that either has; 1 where both mark nothing."""
    total = marked + size
    dice = np.divide(2 * both, total, out=np.zeros(total.shape), where=total > 0)
    labels = (total > 0).sum(axis=-1)
    return np.where(labels > 0, dice.sum(axis=-1) / np.maximum(labels, 1), 1.0)
