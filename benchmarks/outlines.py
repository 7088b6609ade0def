"""Outlines on a slide: five raters' GeoJSON files to the table, on an image that is never drawn."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from .measuring import Result, at_most, cost

SIDE, RATERS, POLYGONS, POINTS = 100_000, 5, 60, 1000

TALLY = """
import sys
import manytruths as mt
folder, side = sys.argv[1:]
study = mt.Study.open(folder + "/{rater}/{case}.geojson", image_size=f"{side}x{side}")
table = study["slide"].tally()
assert table.items == int(side) ** 2
print(table.counts.tolist())
"""


def write_outlines(root: Path) -> None:
    """Sixty objects of some 8,000 pixels across, which every rater outlines by 1,000 points, a little differently."""
    shared = np.random.default_rng(0)
    angle = np.linspace(0, 2 * np.pi, POINTS, endpoint=False)
    around = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    middles, sizes = shared.uniform(8000, SIDE - 8000, (POLYGONS, 2)), shared.uniform(1500, 6000, POLYGONS)
    bumps = 1 + sum(shared.normal(0, 0.1 / k, (POLYGONS, 1)) * np.cos(k * angle) for k in range(1, 6))
    for rater in range(RATERS):
        own = np.random.default_rng(rater + 1)
        features = []
        for middle, size, wave in zip(middles, sizes, bumps, strict=True):
            radius = size * (wave + own.normal(0, 0.01, POINTS))
            ring = middle + own.normal(0, 100, 2) + radius[:, None] * around
            coordinates = [[*ring.tolist(), ring[0].tolist()]]
            features.append({
                "type": "Feature", "geometry": {"type": "Polygon", "coordinates": coordinates},
                "properties": {"classification": {"name": "Tumor"}},
            })  # fmt: skip
        (root / f"r{rater}").mkdir()
        (root / f"r{rater}/slide.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def slide_outlines() -> Iterator[Result]:
    """From five files to the table of patterns."""
    with tempfile.TemporaryDirectory() as folder:
        write_outlines(Path(folder))
        program = Path(folder, "tally.py")
        program.write_text(TALLY)
        taken = cost([sys.executable, str(program), folder, str(SIDE)])
        job = f"polygons of {RATERS} raters ({RATERS * POLYGONS * POINTS} points) on {SIDE}² to the table, CPU time"
        yield at_most(job, "", taken.seconds, 5, unit="s")
        yield at_most("  memory", "", taken.memory, 1000, unit="MB")


JOBS: dict[str, Callable[[], Iterator[Result]]] = {"slide_outlines": slide_outlines}
