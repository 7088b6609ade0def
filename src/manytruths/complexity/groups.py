"""Groups of cases in the plane of entropy and mean.

k-means on both axes, each divided by its sample standard deviation; a case belongs to the nearest centre. Groups are
named by the mean of W at their centres, as Gordon saw them: ::

    A   the lowest     strong disagreement      (low entropy, low mean)
    B   the highest    agreement                (low entropy, high mean)
    C   in between     some disagreement        (high entropy, middling mean)

With more groups, C, D, … are those in between from low to high; with two there are A and B. Where the groups in
between have no higher entropy than A and B, as happens with many raters, a note says so.

Gordon S et al. 2009, 3.1, 4.1, Fig. 4. doi:10.1016/j.compmedimag.2008.12.002
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, InputError
from .descriptors import Complexity, rater_note
from .means import Means, k_means, nearest
from .text import from_text, to_text

KIND = "group classifier"
OTHER_SHAPE = "A or B has the highest entropy: these are not the groups that Gordon saw"


@dataclass(frozen=True)
class GroupClassifier:
    """Tells groups of cases apart by entropy and mean."""

    names: tuple[str, ...]
    """A, B, C, …"""
    centres: tuple[tuple[float, float], ...]
    """Entropy and mean at the centre of each group."""
    sizes: tuple[int, ...]
    """Cases in each, among those that it was fitted to."""
    scale: tuple[float, float]
    """What entropy and mean are divided by before distances are taken."""
    explained: float
    """The share of the variance of all cases that lies between the groups."""
    left_out: int = 0
    """Cases whose complexity was undefined."""
    note: str = ""
    """What to know before using it."""

    def __post_init__(self) -> None:
        if not len(self.names) == len(self.centres) == len(self.sizes) or not min(self.scale) > 0:
            raise CallError("a group has a name, a centre and a size, and scales are positive")

    def classify(self, case: Complexity) -> str:
        """The name of the nearest group, or ``undefined``; of equally near ones the first."""
        if case.reason:
            return "undefined"
        scale = np.array(self.scale)
        return self.names[int(nearest(_plane([case]) / scale, np.array(self.centres) / scale)[0])]

    def to_json(self) -> str:
        """The classifier as text."""
        return to_text(KIND, self)

    @classmethod
    def from_json(cls, text: str) -> GroupClassifier:
        """The classifier back from :meth:`to_json`, equal in every field."""
        return from_text(KIND, text, cls)


def fit_groups(complexities: Sequence[Complexity], k: int = 3, seed: int = 0) -> GroupClassifier:
    """Groups of cases that are alike in entropy and mean; undefined cases are left out, and counted.

    The same cases, in any order, with the same seed give the same groups.

    >>> at = [(0.3, 0.5), (0.2, 0.5), (0.2, 0.9), (0.3, 0.9), (1.0, 0.7), (0.9, 0.7)]
    >>> cases = [Complexity(e, 0.1, m, e / m**2, 0.1 / m**2, raters=2, items=100) for e, m in at]
    >>> found = fit_groups(cases)
    >>> [found.classify(case) for case in cases]
    ['A', 'A', 'B', 'B', 'C', 'C']
    """
    if not 2 <= k <= len(ascii_uppercase):
        raise CallError(f"k is 2 to {len(ascii_uppercase)} groups; got {k}")
    used = [case for case in complexities if not case.reason]
    points = _plane(sorted(used, key=lambda case: (case.entropy, case.mean)))
    distinct = len(np.unique(points, axis=0))
    if distinct < k:
        raise InputError(f"{k} groups want {k} or more distinct cases with a complexity; there are {distinct}")
    scale = points.std(axis=0, ddof=1)
    scale[scale == 0] = 1
    return _named(k_means(points / scale, k, seed), points, scale, len(complexities) - len(used), rater_note(used))


def _plane(cases: Sequence[Complexity]) -> NDArray[np.float64]:
    return np.array([(case.entropy, case.mean) for case in cases], np.float64).reshape(-1, 2)


def _named(
    found: Means, points: NDArray[np.float64], scale: NDArray[np.float64], left_out: int, note: str
) -> GroupClassifier:
    centres = found.centres * scale
    rising = np.lexsort((centres[:, 0], centres[:, 1])).tolist()
    order = [rising[0], rising[-1], *rising[1:-1]]
    entropy = centres[order, 0]
    notes = [OTHER_SHAPE] if len(order) > 2 and entropy[:2].max() > entropy[2:].max() else []
    total = float((((points - points.mean(axis=0)) / scale) ** 2).sum())
    return GroupClassifier(
        tuple(ascii_uppercase[: len(order)]),
        tuple((float(centres[i, 0]), float(centres[i, 1])) for i in order),
        tuple(int((found.member == i).sum()) for i in order),
        (float(scale[0]), float(scale[1])),
        1 - found.within / total,
        left_out,
        "; ".join(filter(None, [*notes, note])),
    )
