"""What to ask for next in a study that runs."""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from .measuring import Result, at_most, cost
from .phantoms import smooth

CASES, RATERS, SIDE = 1000, 10, 256
LOG = "case", "rater", "status", "started", "seconds"


def write_running_study(root: Path) -> int:
    """Half of all readings, with a reading log that has their durations; how many there are."""
    rng = np.random.default_rng(0)
    drawn = [smooth(RATERS, SIDE, seed=case) for case in range(40)]
    rows = list[tuple[str | float, ...]]()
    for case in range(CASES):
        name, readers = f"c{case:04}", set(rng.permutation(RATERS)[: rng.integers(2, 9)])
        for rater, mask in enumerate(drawn[case % 40]):
            here = rater in readers
            status, began = ("done", f"2026-03-{1 + case % 28:02}T10:00:00Z") if here else ("unread", "")
            rows.append((name, f"r{rater}", status, began, round(60 + 90 * rng.random(), 1) if here else ""))
            if here:
                path = root / "masks" / f"r{rater}" / f"{name}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                # moved, since cases with the same masks are reported one by one
                Image.fromarray(np.roll(mask, case // 40, axis=1) * 255).save(path, compress_level=1)
    with (root / "reads.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([LOG, *rows])
    return sum(row[2] == "done" for row in rows)


def next_of_thousand() -> Iterator[Result]:
    """``next`` of 1,000 cases of ten raters, for 60 readings and for all that are open, in one process."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        done = write_running_study(root)
        given = [str(root / "masks/{rater}/{case}.png"), "--reads", str(root / "reads.csv"), "--quiet", "--jobs", "1"]
        for budget, asked in ((60, 60), (CASES * RATERS, CASES * RATERS - done)):
            out = ["--budget", str(budget), "--out", str(root / f"out-{budget}")]
            taken = cost([sys.executable, "-m", "manytruths", "next", *given, *out])
            rows = (root / f"out-{budget}" / "next" / "next.csv").read_text(encoding="utf-8").splitlines()
            assert len(rows) == asked + 1, "another number of readings"
            job = f"next, {CASES:,} cases × {RATERS} raters of {SIDE}², {asked:,} readings"
            times = f"{taken.seconds:.1f} CPU s, {taken.memory:.0f} MB"
            yield at_most(job, "", taken.wall, 10, times, unit="s")


JOBS = {"next": next_of_thousand}
