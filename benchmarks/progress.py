"""A study that is looked at while it runs: what ``progress`` takes after a few new readings."""

from __future__ import annotations

import csv
import filecmp
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from PIL import Image

from .measuring import Result, at_most, cost
from .phantoms import smooth

CASES, RATERS, SIZE, NEW = 1000, 12, 256, 10
TODAY = "2026-12-01"


def write_study(root: Path, cases: int, raters: int) -> list[Path]:
    """Masks and a reading log with dates; the masks."""
    drawn = [smooth(raters, SIZE, seed=seed) for seed in range(50)]
    begin, paths = datetime(2026, 1, 5), []
    with open(root / "reads.csv", "w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(("case", "rater", "status", "started", "seconds"))
        for k in range(cases):
            for i in range(raters):
                path = root / f"masks/r{i:02}/c{k:04}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                # moved by some pixels, since cases with the same masks are reported one by one
                by = k // 50 - 10
                Image.fromarray(np.roll(drawn[k % 50][i], (by, 2 * by), (0, 1))).save(path)
                when = begin + timedelta(days=300 * k / cases, hours=i)
                rows.writerow((f"c{k:04}", f"r{i:02}", "done", when.isoformat(), 60 + i))
                paths.append(path)
    return paths


def after_new_readings() -> Iterator[Result]:
    """1,000 cases × 12 raters: all of them, then again after 10 new readings; the results are those without a store."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        paths = write_study(root, CASES, RATERS)
        new = paths[:: len(paths) // NEW][:NEW]
        later = {path: path.read_bytes() for path in new}
        for path in new:
            shutil.copy(path.parents[1] / ("r01" if path.parent.name == "r00" else "r00") / path.name, path)
        command = [
            sys.executable, "-m", "manytruths", "progress", f"{root}/masks/{{rater}}/{{case}}.png", "--reads",
            f"{root}/reads.csv", "--today", TODAY, "--jobs", "1", "--quiet", "--out",
        ]  # fmt: skip
        job = f"progress, {CASES:,} cases × {SIZE}² × {RATERS} raters"
        first = cost([*command, f"{root}/out"])
        print(f"  {job}: {first.seconds:.1f} CPU s, {first.wall:.1f} s, {first.memory:.0f} MB", flush=True)
        for path, content in later.items():
            path.write_bytes(content)
        taken = cost([*command, f"{root}/out"])
        yield at_most(f"{job}, {NEW} of them new", "", taken.seconds, 10, unit="CPU s", times=f"{taken.wall:.1f} s")
        yield at_most("  its memory", "", taken.memory, 1000, unit="MB")
        cost([*command, f"{root}/anew"])
        anew = root / "anew/progress"
        files = (path.relative_to(anew) for path in anew.rglob("*") if path.is_file())
        names = [str(name) for name in files if name.name != "run.json"]
        same = filecmp.cmpfiles(root / "out/progress", anew, names, shallow=False)[0]
        assert sorted(same) == sorted(names), "other results than without a store"


JOBS = {"progress": after_new_readings}
