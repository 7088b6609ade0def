"""Boundaries of a whole image against five truths, within the benchmark's tolerance."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from manytruths.evaluation.boundaries import boundary_scores
from manytruths.shape.boundaries import find_boundaries, match_boundaries, thin

from .measuring import Result, at_most, best

SHAPE = (321, 481)


def cells(points: NDArray[np.float64]) -> NDArray[np.intp]:
    """The nearest point of each pixel."""
    from scipy.spatial import cKDTree

    pixels = np.indices(SHAPE).reshape(2, -1).T
    nearest: NDArray[np.intp] = cKDTree(points).query(pixels)[1]
    return nearest.reshape(SHAPE)


def partitions(count: int, truths: int, seed: int = 0) -> tuple[NDArray[np.bool_], list[NDArray[np.bool_]]]:
    """The boundaries of a partition, and of others with each point moved by some pixels."""
    rng = np.random.default_rng(seed)
    points = rng.random((count, 2)) * SHAPE
    moved = [points + rng.normal(0, 2.5, points.shape) for _ in range(truths)]
    return find_boundaries(cells(points)), [find_boundaries(cells(p)) for p in moved]


def exact(found: NDArray[np.bool_], wanted: NDArray[np.bool_], tolerance: float) -> tuple[int, float]:
    """The most pairs and the smallest total distance, by one assignment with a place to stay unmatched for each."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching
    from scipy.spatial import cKDTree

    trees = [cKDTree(np.argwhere(flags)) for flags in (found, wanted)]
    near = trees[0].sparse_distance_matrix(trees[1], tolerance, output_type="coo_matrix")
    rows, columns = near.shape
    spare = np.arange(rows)
    at, to = np.append(near.row, spare), np.append(near.col, columns + spare)
    costs = coo_array((np.append(near.data + 1, np.full(rows, 1e6)), (at, to)), shape=(rows, columns + rows)).tocsr()
    at, to = min_weight_full_bipartite_matching(costs)
    taken = to < columns
    return int(taken.sum()), float(costs[at[taken], to[taken]].sum() - taken.sum())


def one_map() -> Iterator[Result]:
    """Yes or no, from maps to scores; the first truth also against SciPy's assignment of all at once."""
    for count in (75, 150):
        found, truths = partitions(count, 5)
        lines = [thin(flags) for flags in (found, truths[0])]
        match = match_boundaries(lines[0], lines[1])
        pairs, total = exact(lines[0], lines[1], match.tolerance)
        assert match.pairs == pairs, "the numbers of pairs differ"
        assert abs(match.distances.sum() - total) < 1e-6, "the total distances differ"
        scores = boundary_scores(found, truths)
        assert scores.counts.predicted[0] >= 5000, "too few pixels to be an image"
        job = f"boundaries, {SHAPE[1]}×{SHAPE[0]}, {scores.counts.predicted[0]} pixels, 5 truths"
        yield at_most(
            job, "", best(lambda f=found, t=truths: boundary_scores(f, t), 3), 2, f"F = {scores.best.f:.3f}", "s"
        )
        quick, slow = (
            best(lambda m=lines: match_boundaries(*m), 3),
            best(lambda m=lines, t=match: exact(m[0], m[1], t.tolerance), 3),
        )
        times = f"{quick:.3f} s, theirs {slow:.3f} s"
        yield at_most("  one truth, with its distances", "SciPy's assignment of all at once", quick / slow, 1, times)


def grey_map() -> Iterator[Result]:
    """Thick grey lines that fade, cut at 33 thresholds."""
    from scipy import ndimage

    for count in (75, 150):
        found, truths = partitions(count, 5)
        strength = np.random.default_rng(1).random(SHAPE)
        grey = ndimage.gaussian_filter(found * (0.5 + ndimage.gaussian_filter(strength, 8) * 4), 1.0)
        scores = boundary_scores(grey, truths)
        assert (np.diff(scores.counts.predicted) != 0).sum() > 20, "the thresholds hardly differ"
        job = f"boundaries, grey, {scores.counts.predicted.max()} pixels, 33 thresholds, 5 truths"
        time = best(lambda g=grey, t=truths: boundary_scores(g, t), 2)
        yield at_most(job, "", time, 2, f"F {scores.best.f:.3f}", "s")


def thinning() -> Iterator[Result]:
    """Every line of an image, three pixels thick."""
    from scipy import ndimage

    thick = ndimage.binary_dilation(partitions(150, 0)[0], np.ones((3, 3)))
    assert ndimage.label(thin(thick), np.ones((3, 3)))[1] == ndimage.label(thick, np.ones((3, 3)))[1], "parts differ"
    time = best(lambda: thin(thick)) * 1e3
    yield at_most(f"thinning, {SHAPE[1]}×{SHAPE[0]}, {thick.sum()} pixels", "", time, 20, unit="ms")


JOBS: dict[str, Callable[[], Iterator[Result]]] = {
    "boundaries": one_map,
    "grey_boundaries": grey_map,
    "thinning": thinning,
}
