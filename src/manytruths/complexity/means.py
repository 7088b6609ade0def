"""k-means: groups of points around their means.

Each restart draws its first centres by k-means++ (the next one with a chance in proportion to the squared distance
to the nearest so far), then gives each point to the nearest centre and moves each centre to the mean of its points,
until nothing moves. The restart with the smallest sum of squared distances is kept.

Arthur D, Vassilvitskii S. k-means++: the advantages of careful seeding. SODA 2007, 1027–1035.
Lloyd SP. IEEE Trans Inf Theory 1982;28:129–137. doi:10.1109/TIT.1982.1056489
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

MOST_STEPS = 300


@dataclass(frozen=True, eq=False)
class Means:
    """Centres, and the points that belong to each."""

    centres: Values
    member: NDArray[np.intp]
    """Of each point, the centre."""
    within: float
    """Sum of squared distances to the own centre."""


def k_means(points: Values, k: int, seed: int, restarts: int = 20) -> Means:
    """The best of several restarts. There must be ``k`` distinct points or more.

    >>> k_means(np.array([[0.0], [1.0], [10.0]]), 2, seed=0).within
    0.5
    """
    random = np.random.default_rng(seed)
    found = [_settled(points, _spread(points, k, random)) for _ in range(restarts)]
    return min(found, key=lambda means: means.within)


def _spread(points: Values, k: int, random: np.random.Generator) -> Values:
    """k-means++."""
    chosen = [int(random.integers(len(points)))]
    while len(chosen) < k:
        apart = _distances(points, points[chosen]).min(axis=1)
        chosen.append(int(random.choice(len(points), p=apart / apart.sum())))
    return points[chosen]


def _settled(points: Values, centres: Values) -> Means:
    """Lloyd's steps until no point changes its centre."""
    member = nearest(points, centres)
    for _ in range(MOST_STEPS):
        centres = _moved(points, member, centres)
        last, member = member, nearest(points, centres)
        if (member == last).all():
            break
    return Means(centres, member, float(((points - centres[member]) ** 2).sum()))


def _moved(points: Values, member: NDArray[np.intp], centres: Values) -> Values:
    """Each centre to the mean of its points; one without any to the point that lies worst."""
    moved = centres.copy()
    for i in range(len(centres)):
        own = member == i
        worst = int(np.argmax(((points - centres[member]) ** 2).sum(axis=1)))
        moved[i] = points[own].mean(axis=0) if own.any() else points[worst]
    return moved


def nearest(points: Values, centres: Values) -> NDArray[np.intp]:
    """Of each point, the nearest centre; of equally near ones the first."""
    return np.asarray(_distances(points, centres).argmin(axis=1))


def _distances(points: Values, centres: Values) -> Values:
    """Squared, (points, centres)."""
    return np.asarray(((points[:, None] - centres) ** 2).sum(axis=2))
