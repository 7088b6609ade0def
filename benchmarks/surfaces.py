"""Surface distances against Google DeepMind's surface-distance: masks to Hausdorff, 95% Hausdorff and mean."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manytruths.shape import extract_surface, surface_distances

from .measuring import Result, at_least, at_most, best, peak, side_by_side

Mask = NDArray[np.bool_]
PEER = "surface-distance"


def bumpy(shape: tuple[int, ...], centre: tuple[float, ...], radii: tuple[float, ...], seed: int) -> Mask:
    """An ellipsoid, or ellipse, with bumps."""
    rng = np.random.default_rng(seed)
    steps = np.meshgrid(*(np.arange(n) - c for n, c in zip(shape, centre, strict=True)), indexing="ij", sparse=True)
    bumps: Any = 0.06
    for step in steps:
        bumps = bumps * np.sin(step / rng.uniform(6, 9) + rng.uniform(0, 6))
    return np.asarray(np.sqrt(sum((s / r) ** 2 for s, r in zip(steps, radii, strict=True))) + bumps < 1)


def two_blobs() -> tuple[Mask, Mask]:
    shape = (192, 192, 192)
    return bumpy(shape, (96, 94, 97), (62, 58, 60), 0), bumpy(shape, (100, 99, 93), (58, 62, 60), 1)


def noise(shape: tuple[int, ...], share: float) -> tuple[Mask, Mask]:
    rng = np.random.default_rng(0)
    return rng.random(shape) < share, rng.random(shape) < share


def by_us(a: Mask, b: Mask, spacing: tuple[float, ...]) -> tuple[float, ...]:
    found = surface_distances(a, b, spacing)
    return found.hausdorff(), found.hausdorff(95), found.a_to_b.mean(), found.b_to_a.mean()


def by_peer(a: Mask, b: Mask, spacing: tuple[float, ...]) -> tuple[float, ...]:
    import surface_distance as peer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it uses names that SciPy has moved
        found = peer.compute_surface_distances(a, b, spacing)
    percentiles = (peer.compute_robust_hausdorff(found, percent) for percent in (100, 95))
    return *percentiles, *peer.compute_average_surface_distance(found)


def against_peer(
    job: str, masks: tuple[Mask, Mask], spacing: tuple[float, ...], wanted: float, times: int
) -> Iterator[Result]:
    ours, theirs = by_us(*masks, spacing), by_peer(*masks, spacing)
    assert np.allclose(ours, theirs, rtol=0, atol=1e-6), f"the distances differ: {ours}, {theirs}"
    quick, slow = side_by_side(lambda: by_us(*masks, spacing), lambda: by_peer(*masks, spacing), times)
    yield at_least(job, PEER, slow / quick, wanted, f"{quick * 1e3:.1f} ms, the peer {slow * 1e3:.0f} ms")


def volumes() -> Iterator[Result]:
    masks = two_blobs()
    yield from against_peer("surface distances, 192³, two blobs", masks, (1, 1, 1), 3, 5)
    yield at_most("  its memory", "", peak(lambda: by_us(*masks, (1, 1, 1))), 60, unit="MB")
    yield from against_peer("  the same, 3 × 0.7 × 0.8 mm", masks, (3, 0.7, 0.8), 3, 5)
    made = [extract_surface(mask) for mask in masks]
    time = best(lambda: surface_distances(*made)) / best(lambda: surface_distances(*masks))
    yield at_most("  with the surfaces made before", "from the masks", time, 0.95)
    small = bumpy((192, 192, 192), (96, 96, 96), (20, 20, 20), 2)
    yield from against_peer("surface distances, 192³, a small blob in a large one", (small, masks[0]), (1, 1, 1), 1, 3)


def raters() -> Iterator[Result]:
    """All pairs of ten raters: each surface is extracted once. The peer is timed on some of the 45 pairs."""
    shape, spacing, timed = (256, 256, 128), (0.8, 0.8, 2.0), 5
    rng = np.random.default_rng(0)
    masks = [
        bumpy(shape, tuple(np.array((128, 126, 64)) + rng.uniform(-4, 4, 3)),
              tuple(np.array((80, 75, 42)) + rng.uniform(-4, 4, 3)), seed)
        for seed in range(10)
    ]  # fmt: skip
    pairs = list(combinations(range(10), 2))
    chosen = pairs[:: len(pairs) // timed][:timed]

    def ours() -> dict[tuple[int, int], tuple[float, ...]]:
        surfaces = [extract_surface(mask, spacing) for mask in masks]
        found = {(i, j): surface_distances(surfaces[i], surfaces[j]) for i, j in pairs}
        return {k: (d.hausdorff(), d.hausdorff(95), d.a_to_b.mean(), d.b_to_a.mean()) for k, d in found.items()}

    def theirs() -> list[tuple[float, ...]]:
        return [by_peer(masks[i], masks[j], spacing) for i, j in chosen]

    mine, peers = ours(), theirs()
    same = np.allclose([mine[pair] for pair in chosen], peers, rtol=0, atol=1e-6)
    assert same, "the distances of the raters differ"
    quick, slow = side_by_side(ours, theirs, 3)
    slow *= len(pairs) / timed
    job = "surface distances of all pairs, 10 raters, 256² × 128"
    yield at_least(job, f"{PEER} pair by pair", slow / quick, 8, f"{quick:.2f} s, the peer {slow:.1f} s")


def planes() -> Iterator[Result]:
    shape, radii = (512, 512), (150.0, 140.0)
    masks = bumpy(shape, (256, 250), radii, 0), bumpy(shape, (262, 246), radii, 1)
    yield from against_peer("surface distances, 512², two blobs", masks, (1, 1), 3, 9)
    yield at_most("  the same", "", best(lambda: by_us(*masks, (1, 1))) * 1e3, 5, unit="ms")
    yield from against_peer("surface distances, 512², noise", noise(shape, 0.5), (1, 1), 1.5, 3)


def noises() -> Iterator[Result]:
    """Masks that are all surface: no case takes minutes."""
    for share in (0.5, 0.01, 0.0001):
        job = f"surface distances, 192³, noise, {share:.2%} marked"
        yield from against_peer(job, noise((192, 192, 192), share), (1, 1, 1), 1.5, 1)
    cloud, far = noise((192, 192, 192), 0.3)
    cloud[60:], far[:130] = False, False
    yield from against_peer("surface distances, 192³, two clouds far apart", (cloud, far), (1, 1, 1), 1, 1)


JOBS: dict[str, Callable[[], Iterator[Result]]] = {
    "surface_volumes": volumes,
    "surface_raters": raters,
    "surface_planes": planes,
    "surface_noises": noises,
}
