"""No number, branch or table depends on the wording of a message: with random letters for every text, all stay."""

from __future__ import annotations

import random
import re
from collections.abc import Collection
from pathlib import Path
from string import ascii_letters

import numpy as np
import pytest

from manytruths.core import undefined
from manytruths.core.undefined import Note
from study_folders import disc, run, table, write_png

CASES = ("p1", "p2", "p3", "p4", "p5")
NOTHING = disc() * 0
CALLS = {
    "agree": ("agree", "study.toml", "--exclude-group", "easy"),
    "fuse": ("fuse", "study.toml"),
    "evaluate": ("evaluate", "study.toml", "--predictions", "nets/{algorithm}/{case}.png"),
    "rank": ("rank", "out/evaluate/evaluate/scores.csv", "--metric", "dice,hausdorff,cohen_kappa"),
    "grey": (
        "evaluate",
        "study.toml",
        "--predictions",
        "grey/{algorithm}/{case}.png",
        "--probability",
        "--skew",
        "0.1,0.5",
    ),
    "reliability": ("reliability", "study.toml"),
    "ratings": ("reliability", "ratings.csv", "--reference-column", "truth"),
    "report": (
        "report",
        "study.toml",
        "--predictions",
        "nets/{algorithm}/{case}.png",
        "--no-show-images",
        "--no-viewer",
    ),
}
SEEN = {"both_empty", "one_empty", "too_few_subjects"}
MORE = SEEN | {"one_label_by_both", "no_prediction", "nobody_marked"}
"""Reasons that the tables hold, of two commands and of all."""
PROSE = ("reason", "note", "why_not")
"""Columns for people."""
PAGE = re.compile(r'<(?:li|tr|p|table|h\d)\b|(?:value|data-v|data-at|data-low|data-high|data-name|data-case)="[^"]*"')
"""What of a page is no text: its elements, numbers, and where they stand."""


def write_study(folder: Path) -> None:
    """Empty masks of raters and of algorithms, a mask that lies wrong, a case that is missing, two copies."""
    rng = np.random.default_rng(0)
    for y, case in enumerate(CASES):
        for x, rater in enumerate("ABCD"):
            mask = disc(x=x + 3, y=y)
            if case == "p2" or (case, rater) == ("p3", "B"):
                mask = NOTHING
            if (case, rater) == ("p4", "D"):
                mask = mask[::-1, ::-1]
            if (case, rater) != ("p5", "A"):
                write_png(folder / "masks" / rater / f"{case}.png", np.ascontiguousarray(mask))
        for x, name in enumerate(("net", "tree")):
            marked = NOTHING if case == "p2" or (case, name) == ("p3", "net") else disc(x=2 * x + 4, y=y)
            if (case, name) != ("p4", "tree"):
                write_png(folder / "nets" / name / f"{case}.png", marked)
                grey = 120 * marked + rng.integers(0, 100, marked.shape)
                write_png(folder / "grey" / name / f"{case}.png", grey.astype(np.uint8))
    rows = [f"{case},s{i // 2},{'easy' if i < 2 else 'hard'}" for i, case in enumerate(CASES)]
    (folder / "cases.csv").write_text("\n".join(["case,subject,group", *rows, ""]))
    (folder / "study.toml").write_text('masks = "masks/{rater}/{case}.png"\ncases = "cases.csv"\n')
    said = [
        f"{case},{rater},{(i * (r + 1)) % 3 > 0:d},0.9,{i % 2}"
        for i, case in enumerate(CASES)
        for r, rater in enumerate("ABC")
    ]
    (folder / "ratings.csv").write_text("\n".join(["case,rater,label,confidence,truth", *said, ""]))


def results(folder: Path, capsys: pytest.CaptureFixture[str], calls: Collection[str]) -> dict[str, list[object]]:
    """All that every command writes, without prose."""
    write_study(folder)
    for name in calls:
        call, out = CALLS[name], folder / "out" / name
        target = ("--to", out / "report.html") if name == "report" else ("--out", out)
        done = run(
            capsys,
            *call,
            *target,
            *(("--resamples", 20) if call[0] in ("rank", "report") else ()),
            "--quiet",
            *(() if name == "report" else ("--no-pictures",)),
        )
        assert done.status == 0, (name, done.err)
    found: dict[str, list[object]] = {}
    for path in sorted((folder / "out").rglob("*.csv")):
        cells = [{k: v for k, v in row.items() if k not in PROSE} for row in table(path)]
        found[str(path.relative_to(folder))] = list(cells)
    for path in sorted((folder / "out").rglob("*.html")):
        found[path.name] = list(PAGE.findall(path.read_text(encoding="utf-8")))
    return found


def letters(seed: str) -> str:
    return "".join(random.Random(seed).choices(ascii_letters, k=24))


@pytest.mark.parametrize(
    ("calls", "codes"), [(("agree", "ratings"), SEEN), pytest.param(tuple(CALLS), MORE, marks=pytest.mark.slow)]
)
def test_texts_do_not_matter(tmp_path, monkeypatch, capsys, calls, codes):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    plain = results(tmp_path / "a", capsys, calls)
    assert codes <= {row.get("code") for rows in plain.values() for row in rows if isinstance(row, dict)}
    for code in undefined.REASONS:
        monkeypatch.setitem(undefined.REASONS, code, letters(code))
    made = Note.__new__
    monkeypatch.setattr(Note, "__new__", lambda cls, code, text: made(cls, code, letters(text)))
    monkeypatch.chdir(tmp_path / "b")
    other = results(tmp_path / "b", capsys, calls)
    assert plain.keys() == other.keys()
    for name, rows in plain.items():
        assert rows == other[name], name
