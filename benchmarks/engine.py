"""Cases on a Dask cluster against processes of our own."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

import manytruths as mt
from manytruths.study.engine import open_engine

from .measuring import Result, at_most
from .phantoms import smooth

CASES = 2000


def engine() -> Iterator[Result]:
    """``agree`` of 2,000 small cases on two workers of a cluster that runs already, and in two processes."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for case in range(CASES):
            for rater, mask in zip("ABCDE", smooth(5, 256, seed=case % 40), strict=True):
                path = root / "masks" / rater / f"c{case:04}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(mask).save(path)
        masks = str(root / "masks/{rater}/{case}.png")
        with open_engine("dask", 2) as executor:
            study = mt.Study.open(masks, executor=executor)
            start = time.perf_counter()
            there = study.tally()
            ours = time.perf_counter() - start
        start = time.perf_counter()
        here = mt.Study.open(masks).tally(jobs=2)
        peer = time.perf_counter() - start
    assert list(there) == list(here), "the cases came in another order"
    assert all(there[name] == here[name] for name in here), "the cluster counted otherwise"
    times = f"{ours:.2f} s, {CASES / ours:.0f} cases a second; processes {peer:.2f} s"
    yield at_most(f"tally {CASES:,} × 5 × 256² PNG on two Dask workers", "two processes", ours / peer, 1.3, times)


JOBS = {"engine": engine}
