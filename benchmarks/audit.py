"""What made a published consensus: seconds from files to the answer, level sets aside."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .consensus import DATA
from .measuring import Result, at_most, cost

IS = {
    "gt_any": "votes >= 1 of 13 (union)", "gt_05": "votes >= 7 of 13", "gt_075": "votes >= 10 of 13",
    "gt_excl_05": "votes >= 5 of the raters who are no outliers", "gt_staple": "votes >= 2 of 13",
}  # fmt: skip
LIMIT = 10.0
"""Seconds of all processes."""


def audit() -> Iterator[Result]:
    """Each published ground truth of the fissure (13 raters, 907 × 1426), and one that is none of the candidates."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for source in sorted((DATA / "fissure" / "published").glob("gt_*.png")):
            target = root / source.stem / "fissure.png"
            target.parent.mkdir()
            target.write_bytes(source.read_bytes())
        masks = f"{DATA}/fissure/raters/{{rater}}/{{case}}.png"
        for name in ("gt_staple", "gt_excl_05", "gt_lsml"):
            given = ["--reference", f"{root}/{name}/{{case}}.png", "--no-level-sets", "--jobs", "1", "--quiet"]
            taken = cost([sys.executable, "-m", "manytruths", "audit", masks, *given, "--out", f"{root}/out"])
            (found,) = json.loads((root / "out/audit/summary.json").read_text())["references"]
            if name in IS:
                assert (found["best"], found["pixels_different"]) == (IS[name], 0), found["best"]
            else:
                assert found["pixels_different"] > 0, "something reproduces the level set"
            job = f"audit, {name}, {found['candidates']:,} candidates"
            yield at_most(job, "", taken.seconds, LIMIT, f"{found['groups']:,} of them differ", unit="CPU s")


JOBS = {"audit": audit}
