"""Outlines to pixels: twenty of 200 points on an image of 3000², against rasterio."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from manytruths.shape.polygons import rasterise_polygon

from .measuring import Result, at_most, side_by_side

SIDE, COUNT, POINTS = 3000, 20, 200
Ring = NDArray[np.float64]


def outlines(rough: float, seed: int = 0) -> list[Ring]:
    """Closed curves around random centres; the rougher, the more they jump from point to point."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(COUNT):
        angle = np.sort(rng.random(POINTS)) * 2 * np.pi
        wave = sum(rng.normal(0, 0.3 / k) * np.cos(k * angle + rng.random() * 6) for k in range(1, 5))
        radius = rng.uniform(150, 500) * np.clip(1 + 0.5 * wave + rough * rng.normal(size=POINTS), 0.1, 3)
        centre = rng.uniform(500, SIDE - 500, 2)
        made.append(centre + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    return made


def against_rasterio() -> Iterator[Result]:
    """One mask an outline; 0 pixels may differ."""
    from rasterio.features import rasterize

    for kind, rough in (("drawn by hand", 0.01), ("all spikes", 0.5)):
        rings = outlines(rough)
        closed = [{"type": "Polygon", "coordinates": [[*ring.tolist(), ring[0].tolist()]]} for ring in rings]

        def ours(rings: list[Ring] = rings) -> list[NDArray[np.bool_]]:
            return [rasterise_polygon([ring], (SIDE, SIDE)) for ring in rings]

        def theirs(closed: list[dict[str, object]] = closed) -> list[NDArray[np.uint8]]:
            return [rasterize([(one, 1)], (SIDE, SIDE), dtype=np.uint8) for one in closed]

        differ = sum(int((a != b).sum()) for a, b in zip(ours(), theirs(), strict=True))
        assert not differ, f"{differ} pixels differ from rasterio's"
        mine, peer = side_by_side(ours, theirs)
        job = f"{COUNT} outlines of {POINTS} points, {kind}, {SIDE}²"
        yield at_most(job, "rasterio", mine / peer, 3, f"{1e3 * mine:.0f} ms, {1e3 * peer:.0f} ms; 0 pixels differ")


JOBS: dict[str, Callable[[], Iterator[Result]]] = {"polygons": against_rasterio}
