"""``manytruths phantom``: a study on disk that every other verb takes."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import manytruths as mt
from manytruths import InputError, simulate_echo
from manytruths.analyses.phantom import write_echo
from study_folders import MANYTRUTHS, command, files, pixels, run, table, untidy

pytestmark = pytest.mark.slow

SMALL = ("--n-subjects", 3, "--n-frames", 2, "--size", 64, "--jobs", 1)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in files(folder)}


def test_what_is_written_is_what_was_simulated(tmp_path, capsys):
    folder = tmp_path / "echo"
    found = run(capsys, "phantom", "echo", "--to", folder, *SMALL, "--seed", 3)
    assert (found.status, found.err) == (0, "")
    assert "6 frames of 3 subjects, 64×64 pixels, marked by 5 raters" in found.out
    assert f"manytruths agree {folder}" in found.out
    study, simulated = mt.Study.open(folder), simulate_echo(3, 2, 64, 3)
    assert [case.name for case in study] == list(simulated.names)
    assert study.subjects == ("s001", "s002", "s003")
    for frame in simulated:
        assert (pixels(folder / f"images/{frame.name}.png") == frame.image).all()
        assert (pixels(folder / f"references/truth/{frame.name}.png") == frame.truth).all()
        for rater, mask in frame.markings.items():
            assert (pixels(folder / f"masks/{rater}/{frame.name}.png") == mask).all()
    rows = table(folder / "cases.csv")
    assert [row["quality"] for row in rows] == ["good", "good", "fair", "fair", "poor", "poor"]
    assert [row["rater"] for row in table(folder / "raters.csv")] == ["c1", "c2", "c3", "c4", "c5"]
    assert len(files(folder)) == 6 * 7 + 3
    assert not untidy(folder)


def test_other_verbs_take_it(tmp_path, capsys):
    folder, out = tmp_path / "echo", tmp_path / "out"
    write_echo(folder, simulate_echo(subjects=12, frames=2, size=64), jobs=2)
    assert run(capsys, "check", folder, "--out", out, "--jobs", 1).status == 0
    assert table(out / "check/problems.csv") == []
    given = ("--out", out, "--jobs", 1, "--quiet")
    assert run(capsys, "agree", folder, *given).status == 0
    pairs = {
        (row["rater_a"], row["rater_b"]): float(row["value"])
        for row in table(out / "agree/pairs.csv")
        if (row["scope"], row["statistic"]) == ("pooled", "dice")
    }
    assert len(pairs) == 10
    assert max(pairs, key=pairs.__getitem__) == ("c1", "c2")
    predictions = str(folder / "masks/c1/{case}.png")
    assert run(capsys, "evaluate", folder, "--predictions", predictions, *given).status == 0
    judges = {row["against"] for row in table(out / "evaluate/scores.csv")}
    assert {"c1", "c5", "staple", "truth"} < judges, "the truth is a judge too"


def test_a_second_run_does_nothing_again_and_mends_what_is_gone(tmp_path):
    folder, study = tmp_path / "echo", simulate_echo(3, 2, 64)
    assert write_echo(folder, study).made == 6
    whole = content(folder)
    untouched = folder / "images/s001-f01.png"
    before = untouched.stat().st_mtime_ns
    (folder / "masks/c2/s002-f01.png").unlink()
    (folder / "cases.csv").unlink()
    assert write_echo(folder, study).made == 1
    assert untouched.stat().st_mtime_ns == before
    assert content(folder) == whole


def test_another_study_takes_the_place_of_the_one_before(tmp_path):
    folder = tmp_path / "echo"
    write_echo(folder, simulate_echo(3, 2, 64, seed=1))
    write_echo(folder, simulate_echo(2, 1, 80, seed=2))
    write_echo(tmp_path / "alone", simulate_echo(2, 1, 80, seed=2))
    assert content(folder) == content(tmp_path / "alone")


def test_jobs_do_not_change_the_pixels(tmp_path):
    seen: list[tuple[int, int]] = []
    for jobs in (1, 2):
        progress = lambda done, total: seen.append((done, total))  # noqa: E731
        write_echo(tmp_path / str(jobs), simulate_echo(3, 2, 64), jobs=jobs, progress=progress)
    assert content(tmp_path / "1") == content(tmp_path / "2")
    assert seen == [(done, 6) for done in range(7)] * 2


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path, capsys):
    for text in ("my own", 'masks = "masks/{rater}/{case}.png"\n'):
        (tmp_path / "study.toml").write_text(text)
        before = content(tmp_path)
        found = run(capsys, "phantom", "echo", "--to", tmp_path, *SMALL)
        assert found.status == 1
        assert "holds something else (study.toml)" in found.line
        assert "--to" in found.line
        assert content(tmp_path) == before
    file = tmp_path / "a-file"
    file.write_text("")
    assert "is a file" in run(capsys, "phantom", "echo", "--to", file, *SMALL).line


def test_a_study_that_somebody_has_changed_is_his(tmp_path):
    folder = tmp_path / "echo"
    write_echo(folder, simulate_echo(1, 1, 64))
    with open(folder / "study.toml", "a") as stream:
        stream.write('predictions = "mine/{case}.png"\n')
    before = content(folder)
    with pytest.raises(InputError, match="holds something else"):
        write_echo(folder, simulate_echo(2, 1, 64))
    assert content(folder) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--size", 10), "size is 10; it must be 64 or more"),
        (("--size", 10**12), "size is 1,000,000,000,000; it must be 4,096 or less"),
        (("--n-subjects", 10**12), "subjects × frames is 10,000,000,000,000; it must be 1,000,000 or less"),
        (("--n-subjects", 0), "subjects is 0"),
        (("--n-frames", 0), "frames is 0"),
        (("--seed", -1), "seed is -1"),
        (("--jobs", 0), "jobs must be at least 1"),
    ],
)
def test_wrong_calls(arguments, said, tmp_path, capsys):
    found = run(capsys, "phantom", "echo", "--to", tmp_path / "echo", *arguments)
    assert found.status == 2
    assert said in found.line
    assert not (tmp_path / "echo").exists(), "nothing is begun"


@pytest.mark.parametrize(
    "arguments", [("--n-subjects", 0), ("--n-frames", 0), ("--size", 10), ("--seed", -1), ("--jobs", 0)]
)
def test_a_wrong_argument_leaves_an_earlier_phantom_alone(arguments, tmp_path, capsys):
    folder = tmp_path / "echo"
    write_echo(folder, simulate_echo(1, 1, 64))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert run(capsys, "phantom", "echo", "--to", folder, *arguments).status == 2
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_kind_and_folder_must_be_told(tmp_path):
    assert command("phantom", "echo").status == 2
    assert command("phantom", "liver", "--to", tmp_path / "x").status == 2


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_was_killed_goes_on(jobs, tmp_path):
    folder, stage = tmp_path / "echo", tmp_path / ".part-echo/echo"
    given = ["phantom", "echo", "--to", str(folder), "--n-subjects", "30", "--n-frames", "2", "--size", "128"]
    process = subprocess.Popen([MANYTRUTHS, *given, "--jobs", str(jobs), "--quiet"], start_new_session=True)
    for _ in range(600):
        if len(list(stage.glob("images/*.png"))) >= 5 or process.poll() is not None:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=20) == -signal.SIGKILL
    time.sleep(0.5)
    assert not folder.exists()
    assert 1 <= len(list(stage.glob("masks/c5/*.png"))) < 60
    done = command(*given, "--jobs", jobs)
    assert done.status == 0
    assert "were there already" in done.out
    write_echo(tmp_path / "alone", simulate_echo(30, 2, 128))
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert content(folder) == content(tmp_path / "alone")
    assert np.unique(pixels(folder / "references/truth/s030-f02.png")).tolist() == [0, 1]
