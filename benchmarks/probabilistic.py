"""Samples of a model, and the calibration of probability maps, against the loops and calls that are used for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

import manytruths as mt
from manytruths.evaluation.responses import index_masks

from .measuring import Result, at_least, side_by_side

Flags = NDArray[np.bool_]


def fields(n: int, size: int, seed: int) -> NDArray[np.float32]:
    """Smooth random fields of unit variance."""
    from scipy.ndimage import gaussian_filter

    rng = np.random.default_rng(seed)
    drawn = np.stack([gaussian_filter(rng.normal(size=(size, size)), size / 40) for _ in range(n)])
    return (drawn / drawn.std()).astype(np.float32)


def energy_by_loops(samples: Flags, masks: Flags) -> float:
    """The double loop that is copied from one repository to the next."""

    def distance(a: Flags, b: Flags) -> float:
        either = np.logical_or(a, b).sum()
        return 1 - np.logical_and(a, b).sum() / either if either else 0.0

    cross = np.mean([distance(a, b) for a, b in product(samples, masks)])
    among = np.mean([distance(a, b) for a, b in product(samples, samples)])
    return float(2 * cross - among - np.mean([distance(a, b) for a, b in product(masks, masks)]))


def energy() -> Iterator[Result]:
    """100 samples and 5 raters whose outlines wander around one another's."""
    common, *wander = fields(106, 512, 0)
    every = np.stack([common + 0.3 * w > 1 for w in wander])
    samples, masks = every[:100], every[100:]
    assert abs(mt.energy_distance(samples, masks) - energy_by_loops(samples, masks)) < 1e-12, "the distances differ"
    quick, slow = side_by_side(lambda: mt.energy_distance(samples, masks), lambda: energy_by_loops(samples, masks), 3)
    times = f"{quick * 1e3:.0f} ms, loops {slow:.2f} s"
    yield at_least("energy distance, 100 samples × 5 raters, 512²", "double loop in NumPy", slow / quick, 50, times)


def calibration(cases: int = 20, size: int = 1024) -> Iterator[Result]:
    """Reliability diagrams of 5 algorithms against each of 5 raters; the same maps and masks for every case in turn."""
    from sklearn.calibration import calibration_curve

    common, *wander = fields(11, size, 1)
    masks = {name: common + 0.3 * w > 1 for name, w in zip("ABCDE", wander[:5], strict=True)}
    maps = [1 / (1 + np.exp(-4 * (common + 0.2 * w - 1))) for w in wander[5:]]
    flat = [(mask.ravel(), p.ravel()) for p, mask in product(maps, masks.values())]

    def ours() -> list[mt.ReliabilityDiagram]:
        for _ in range(cases):
            indexed = index_masks(masks)
            binned = [mt.bin_forecasts(p, indexed) for p in maps]
            found = [one.against(name) for one, name in product(binned, masks)]
        return found

    def theirs() -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        for _ in range(cases):
            found = [calibration_curve(mask, p, n_bins=15) for mask, p in flat]
        return found

    for mine, (observed, forecast) in zip(ours(), theirs(), strict=True):
        filled = mine.counts > 0
        assert np.abs(mine.observed_share[filled] - observed).max() < 1e-12, "the shares differ"
        assert np.abs(mine.mean_forecast[filled] - forecast).max() < 1e-12, "the mean forecasts differ"
    quick, slow = side_by_side(ours, theirs, 2)
    times = f"{quick:.2f} s, scikit-learn {slow:.1f} s"
    job = f"calibration, 5 algorithms × 5 raters, {cases} × {size}²"
    yield at_least(job, f"{cases * len(flat)} × calibration_curve", slow / quick, 20, times)


JOBS: dict[str, Callable[[], Iterator[Result]]] = {"energy_distance": energy, "calibration": calibration}
