"""The same data give the same bytes, whenever and in however many processes: only ``run.json`` differs."""

from __future__ import annotations

import json
import os
import shutil
import time
from datetime import date

import pytest

from study_folders import command, files

RATINGS = "case,rater,label\n" + "".join(f"c{c},{r},{(c * r) % 3}\n" for c in range(12) for r in (1, 2, 3, 5))
COMMANDS = {
    "check": ["check", "study"],
    "agree": ["agree", "study"],
    "fuse": ["fuse", "study", "--consensus", "vote:0.5,staple,lsml"],
    "evaluate": [
        "evaluate", "study", "--predictions", "study/predictions/{algorithm}/{case}.png", "--grading-sheet",
    ],
    "rank": ["rank", "evaluate/scores.csv", "--resamples", "50"],
    "reliability": ["reliability", "ratings.csv"],
    "reliability-masks": ["reliability", "study"],
    "plan": ["plan", "--pilot", "study", "--resamples", "50"],
    "report": [
        "report", "study", "--predictions", "study/predictions/{algorithm}/{case}.png", "--codes", "--resamples", "50",
    ],
}  # fmt: skip
JOBS = {"check", "agree", "fuse", "evaluate", "reliability-masks", "report"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("same")
    assert command("demo", "--n-cases", 8, "--size", 64, "--out", folder / "demo", "--quiet").status == 0
    (folder / "demo/study").rename(folder / "study")
    (folder / "demo/evaluate").rename(folder / "evaluate")
    (folder / "ratings.csv").write_text(RATINGS)
    return folder


def results(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files(folder)}


@pytest.mark.slow
@pytest.mark.parametrize("verb", COMMANDS)
def test_only_run_json_differs(home, verb):
    found = []
    for jobs in (1, 2):
        # the same folder each time, as paths may be told; for the second run it is empty again
        out = home / f"out-{verb}"
        key = home / f"done-{verb}-1/page_key.csv"
        if key.is_file():
            # codes are drawn anew where there is no key
            out.mkdir()
            shutil.copy(key, out)
        where = ("--to", out / "page.html") if verb == "report" else ("--out", out)
        asked = ["--jobs", jobs] if verb in JOBS else []
        done = command(*COMMANDS[verb], *where, *asked, "--quiet", cwd=home)
        assert done.status == 0, done.err
        found.append(results(out))
        told = [json.loads(path.read_text()) for path in out.rglob("run.json")]
        assert [one.get("jobs") for one in told] == ([jobs] if verb in JOBS else [None])
        assert all(one["seconds"] >= 0 and one["started"].startswith("20") for one in told)
        out.rename(home / f"done-{verb}-{jobs}")
        for path in home.rglob("*.png"):
            os.utime(path, (jobs, jobs))
    first, second = found
    assert set(first) == set(second)
    assert [name for name in first if first[name] != second[name]] == []
    today = date.today()
    for name, data in first.items():
        assert today.isoformat().encode() not in data, name
        assert f"{today:%d %B %Y}".lstrip("0").encode() not in data, name


@pytest.mark.slow
def test_the_demo_and_what_goes_in_and_out(tmp_path):
    found = []
    for jobs in (1, 2):
        for line in (
            ["demo", "--n-cases", "4", "--size", "64", "--jobs", jobs],
            ["export", "coco", "manytruths-demo/study", "--to", "coco", "--jobs", jobs],
            ["export", "monai", "manytruths-demo/study", "--to", "monai", "--jobs", jobs],
            ["import", "coco", "A=coco/annotations.json", "--to", "imported", "--jobs", jobs],
            ["phantom", "echo", "--to", "echo", "--n-subjects", "2", "--n-frames", "2", "--size", "64", "--jobs", jobs],
        ):
            done = command(*line, "--quiet", cwd=tmp_path)
            assert done.status == 0, (line, done.err)
        names = ("manytruths-demo", "coco", "monai", "imported", "echo")
        found.append({name: results(tmp_path / name) for name in names})
        for name in names:
            (tmp_path / name).rename(tmp_path / f"done-{name}-{jobs}")
        time.sleep(1.1)  # so that times with whole seconds would differ
    first, second = found
    for name in first:
        assert set(first[name]) == set(second[name])
        assert [path for path in first[name] if first[name][path] != second[name][path]] == []
