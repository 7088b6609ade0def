"""``manytruths audit`` on files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from panels_of_raters import panel

from study_folders import command, pixels, write_png


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for seed in range(2):
        masks = panel(seed, raters=5, side=64)
        for rater, mask in masks.items():
            write_png(tmp_path / "masks" / rater / f"p{seed}.png", mask)
        write_png(tmp_path / "published" / f"p{seed}.png", (np.sum(list(masks.values()), axis=0) >= 3).astype(np.uint8))
    return tmp_path


ARGUMENTS = ("audit", "masks/{rater}/{case}.png", "--reference", "published/{case}.png", "--jobs", "1")


def test_says_what_it_is(folder: Path) -> None:
    done = command(*ARGUMENTS, cwd=folder)
    assert done.status == 0, done.err
    assert "The reference equals votes >= 3 of 5 in every pixel of both cases." in done.out
    assert "written to manytruths-out/audit: audit.csv, candidates.csv, claims.csv, summary.json" in done.out


def test_draws_what_differs(folder: Path) -> None:
    path = folder / "published" / "p1.png"
    mask = pixels(path).copy()
    mask[20:30, 20:30] ^= 1
    write_png(path, mask)
    done = command(*ARGUMENTS, "--no-level-sets", cwd=folder)
    assert done.status == 0, done.err
    assert "None of" in done.out
    assert "differs in 100 of 8,192 pixels" in " ".join(done.out.split())
    drawn = folder / "manytruths-out" / "audit" / "pictures" / "reference"
    assert [path.name for path in drawn.iterdir()] == ["p1.png"]
    assert pixels(drawn / "p1.png").shape[0] > 64
    quiet = command(*ARGUMENTS, "--no-level-sets", "--no-pictures", "--quiet", cwd=folder)
    assert (quiet.status, quiet.out) == (0, "")
    assert not drawn.exists()


def test_bad_input_is_one_line(folder: Path) -> None:
    assert command(*ARGUMENTS[:2], cwd=folder).status == 1
    write_png(folder / "published" / "p1.png", np.zeros((5, 6), np.uint8))
    done = command(*ARGUMENTS, cwd=folder)
    assert done.status == 1
    assert done.err.count("\n") == 1
    assert "p1" in done.err
    assert "5×6" in done.err
    (folder / "published" / "p1.png").unlink()
    missing = command(*ARGUMENTS, cwd=folder)
    assert missing.status == 0
    assert "there is no reference of reference in 1 of 2 cases (p1)" in missing.out
    assert command(*ARGUMENTS, "--region", "union", cwd=folder).status in (1, 2)
