"""Runs in a folder: only what is missing is trained, and nothing that belongs to something else is taken for it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from manytruths import CallError, InputError
from manytruths.learning import TrainPlan, train
from study_folders import MANYTRUTHS, files, pixels, untidy
from training_folders import SMALL, small_plan, write_training


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_training(tmp_path_factory.mktemp("runs"))


def stamps(home):
    return {path.relative_to(home): path.stat().st_mtime_ns for path in home.rglob("network.pt")}


def predicted(home):
    return {path.relative_to(home): pixels(path).tobytes() for path in (home / "predictions").rglob("*.png")}


def weights(home):
    return {p.relative_to(home): torch.load(p, weights_only=True)["state"] for p in home.rglob("network.pt")}


def assert_same_runs(one, other):
    assert predicted(one) == predicted(other)
    assert len(predicted(one)) > 0
    first, second = weights(one), weights(other)
    assert first.keys() == second.keys()
    for run, state in first.items():
        assert all(torch.equal(value, second[run][name]) for name, value in state.items()), run


def test_finished_runs_stay_and_more_are_added(tmp_path, folder):
    study = folder.open()
    train(study, small_plan(), tmp_path)
    first = stamps(tmp_path)
    train(study, small_plan(strategies=("inner", "majority"), seeds=(0, 4)), tmp_path)
    both = stamps(tmp_path)
    assert len(both) == 4
    assert first.items() <= both.items()
    assert not list(tmp_path.rglob("checkpoint.pt"))
    assert untidy(tmp_path) == []


def test_a_prediction_or_mark_that_is_gone_is_made_again(tmp_path, folder):
    train(folder.open(), small_plan(), tmp_path)
    before = predicted(tmp_path)
    next((tmp_path / "predictions").rglob("*.png")).unlink()
    train(folder.open(), small_plan(), tmp_path)
    assert predicted(tmp_path) == before
    for damage in ("", "[1]", '{"key": "another"}'):
        next(tmp_path.rglob("run.json")).write_text(damage)
        stamp = stamps(tmp_path)
        train(folder.open(), small_plan(), tmp_path)
        assert stamps(tmp_path) != stamp


def test_runs_of_other_data_are_no_runs_even_where_settings_are_gone(tmp_path, folder):
    train(folder.open(), small_plan(), tmp_path)
    (tmp_path / "settings.json").unlink()
    stamp = stamps(tmp_path)
    train(folder.open(), small_plan(epochs=2), tmp_path)
    assert stamps(tmp_path) != stamp


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"epochs": 4}, r"\(epochs 3, now 4\)"),
        ({"batch": 3, "learning_rate": 0.5}, r"\(batch 4, now 3, learning_rate 0.01, now 0.5\)"),
        ({"size": 16}, "other images, masks or labels, size 32, now 16"),
        ({"width": 5}, "width 4, now 5"),
        ({"test": 0.5}, r"\(another split\)"),
        ({"split_seed": 3}, r"\(another split\)"),
        ({"precision": "bfloat16"}, "precision auto, now bfloat16"),
    ],
    ids=str,
)
def test_a_folder_of_other_runs_is_refused(tmp_path, folder, changes, said):
    train(folder.open(), small_plan(), tmp_path)
    before = {path: path.read_bytes() for path in files(tmp_path)}
    with pytest.raises(
        InputError, match=f"contains runs made with other data or settings .*{said}.*; choose another --out"
    ):
        train(folder.open(), small_plan(**changes), tmp_path)
    assert {path: path.read_bytes() for path in files(tmp_path)} == before


def test_other_masks_and_damaged_settings_are_refused(tmp_path, folder):
    train(folder.open(), small_plan(), tmp_path)
    with pytest.raises(InputError, match=r"settings \(other images, masks or labels\)"):
        train(folder.open(exclude={"A": ["s01-f1"]}), small_plan(), tmp_path)
    for damage in ("{", "[]"):
        (tmp_path / "settings.json").write_text(damage)
        with pytest.raises(InputError, match="made with other data or settings"):
            train(folder.open(), small_plan(), tmp_path)


def test_folds_predict_every_case_once(tmp_path, folder):
    found = train(folder.open(), small_plan(folds=3, epochs=1), tmp_path)
    assert len(predicted(tmp_path)) == 12
    assert len(weights(tmp_path)) == 3
    assert [len(values) for values in found.scores[0].by_run.values()] == [12]
    assert (tmp_path / "split.csv").read_text().count(",test\n") == 12


@pytest.mark.slow
def test_two_at_once_give_what_one_after_the_other_gives(tmp_path, folder):
    strategies = ("majority", "extended_dice", "confusion")
    for at_once in (1, 2):
        train(folder.open(), small_plan(strategies=strategies, at_once=at_once), tmp_path / str(at_once))
    assert_same_runs(tmp_path / "1", tmp_path / "2")


@pytest.mark.slow
def test_an_error_of_a_run_beside_others_is_said_and_the_rest_is_kept(tmp_path, folder):
    plan = small_plan(strategies=("majority", "inner"), at_once=2, learning_rate=1e30)
    with pytest.raises(InputError, match=r"unet, (majority|inner), seed 0: the loss is nan in epoch 1"):
        train(folder.open(), plan, tmp_path)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"networks": ("unet", "vnet")}, "there is no network 'vnet'; use unet or deeplab"),
        ({"networks": ("unet", "unet")}, "each seed once; got unet, unet"),
        ({"seeds": (1, 1)}, "each seed once; got 1, 1"),
        ({"seeds": ()}, "nothing to train"),
        ({"strategies": ()}, "nothing to train"),
        ({"size": 15}, "16 pixels or more; got 15"),
        ({"at_once": 0}, "at_once must be 1 or more; got 0"),
        ({"folds": 2, "split": "split.csv"}, "give either --folds or --split"),
    ],
    ids=str,
)
def test_plans_that_make_no_sense_are_refused(wrong, said):
    with pytest.raises(CallError, match=said):
        TrainPlan(**wrong)


def started(folder, out, *more):
    arguments = [MANYTRUTHS, "train", *folder.arguments, *SMALL, "--out", str(out), *more]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(home, pattern):
    until = time.monotonic() + 60
    while not list(home.glob(pattern)):
        assert time.monotonic() < until, f"no {pattern}"
        time.sleep(0.01)


LONG = ("--strategies", "majority,extended_dice", "--learning-rate", "0.01")


def children(pid):
    """Those whom a process started, and theirs."""
    told = [line.split() for line in subprocess.check_output(["ps", "-eo", "pid=,ppid="], text=True).splitlines()]
    own = [int(child) for child, parent in told if int(parent) == pid]
    return own + [one for child in own for one in children(child)]


def ended(pids, within=5):
    """The command lines of those that are still there after a while."""
    until = time.monotonic() + within
    while (left := [pid for pid in pids if os.path.exists(f"/proc/{pid}")]) and time.monotonic() < until:
        time.sleep(0.05)
    return [Path(f"/proc/{pid}/cmdline").read_text() for pid in left]


@pytest.mark.slow
def test_a_killed_command_goes_on_from_its_checkpoint(tmp_path, folder):
    whole = started(folder, tmp_path / "whole", *LONG, "--epochs", "20")
    killed = started(folder, tmp_path / "killed", *LONG, "--epochs", "20")
    wait_for(tmp_path / "killed", "train/runs/unet/*/seed-0/fold-0/checkpoint.pt")
    killed.kill()
    killed.communicate()
    assert list((tmp_path / "killed").rglob("checkpoint.pt"))
    assert not list((tmp_path / "killed").rglob("strategies.csv"))
    again = started(folder, tmp_path / "killed", *LONG, "--epochs", "20")
    for process in (whole, again):
        assert process.communicate()[1] == ""
        assert process.returncode == 0
    assert_same_runs(tmp_path / "whole" / "train", tmp_path / "killed" / "train")
    tables = [(tmp_path / name / "train" / "strategies.csv").read_bytes() for name in ("whole", "killed")]
    assert tables[0] == tables[1]
    assert not list((tmp_path / "killed").rglob("checkpoint.pt"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("at_once", [1, 2])
def test_ctrl_c_ends_within_seconds_and_leaves_nobody_behind(tmp_path, folder, at_once):
    process = started(folder, tmp_path, *LONG, "--epochs", "5000", "--at-once", str(at_once))
    wait_for(tmp_path, "train/runs/unet/*/seed-0/fold-0/checkpoint.pt")
    there = children(process.pid)
    assert len(there) >= (at_once if at_once > 1 else 0)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert time.monotonic() - began < 10
    assert (process.returncode, err) == (130, "manytruths: stopped; run it again to go on where it stopped\n")
    left = ended(there)
    assert left == []
    assert untidy(tmp_path) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_process_that_is_killed_is_said_in_a_line(tmp_path, folder):
    process = started(folder, tmp_path, *LONG, "--epochs", "5000", "--at-once", "2")
    wait_for(tmp_path, "train/runs/unet/*/seed-0/fold-0/checkpoint.pt")
    working = [pid for pid in children(process.pid) if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()]
    os.kill(working[-1], signal.SIGKILL)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert err.count("\n") == 1
    assert "a training process was killed, probably because memory ran out; use a smaller --at-once" in err


LIMITED = """
import resource, sys
from manytruths.cli import status
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(status(sys.argv[2:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
def test_a_full_disk_is_said_in_a_line_and_leaves_whole_files(tmp_path, folder):
    train(folder.open(), small_plan(), tmp_path / "o" / "train")
    before = {path: path.read_bytes() for path in files(tmp_path)}
    epochs = [*SMALL, "--epochs", "3", "--batch", "4", "--learning-rate", "0.01", "--no-augment"]
    arguments = ["train", *folder.arguments, *epochs, "--strategies", "inner", "--out", str(tmp_path / "o")]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "60000", *arguments], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1, done.stderr
    assert "checkpoint.pt: cannot be written" in done.stderr
    after = {path: path.read_bytes() for path in files(tmp_path)}
    assert {path: after[path] for path in before} == before
    assert untidy(tmp_path) == []
    again = subprocess.run([MANYTRUTHS, *arguments], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr


def test_what_was_trained_how_is_in_the_folder(tmp_path, folder):
    train(folder.open(), small_plan(epochs=2), tmp_path)
    told = json.loads((tmp_path / "settings.json").read_text())
    assert (told["epochs"], told["batch"], told["width"], told["size"]) == (2, 4, 4, 32)
    whole = torch.load(next(tmp_path.rglob("network.pt")), weights_only=True)
    assert whole["recipe"]["raters"] == ("A", "B", "C")
    assert np.isfinite(whole["recipe"]["mean"]).all()
    shutil.rmtree(tmp_path)
