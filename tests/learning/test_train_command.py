"""``manytruths train`` as a user starts it, whole and wrong."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from study_folders import command, files, pixels, run, table, untidy, write_npy, write_png
from training_folders import SMALL, Folder, write_training

NINE = ("inner", "outer", "majority", "average", "confusion", "individuals", "staple", "extended_dice")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_training(tmp_path_factory.mktemp("verb"), subjects=4, frames=1)


@pytest.mark.slow
def test_the_whole_command_on_the_echo_phantom(tmp_path, capsys):
    made = run(capsys, "phantom", "echo", "--to", tmp_path / "echo", "--n-subjects", 6, "--n-frames", 1, "--size", 64)
    assert made.status == 0
    call = ["train", tmp_path / "echo", "--seeds", 1, "--size", 64, "--width", 4, "--epochs", 2, "--jobs", 1]
    done = command(*call, "--out", tmp_path / "o")
    assert (done.status, done.err) == (0, "")
    home = tmp_path / "o" / "train"
    runs = [*NINE, *(f"rater-c{k}" for k in range(1, 6))]
    for network in ("unet", "deeplab"):
        assert sorted(p.name for p in (home / "runs" / network).iterdir()) == sorted(runs)
        for strategy in runs:
            made = home / "runs" / network / strategy / "seed-0" / "fold-0"
            assert {path.name for path in made.iterdir()} >= {"log.csv", "network.pt", "run.json"}
            assert not (made / "checkpoint.pt").exists()
            assert len(table(made / "log.csv")) == 2
            assert len(list((home / "predictions" / f"{network}-{strategy}-0").iterdir())) == 2
    truths = ["c1", "c2", "c3", "c4", "c5", "truth", "vote:0.5"]
    two, three = (table(home / f"table{k}.csv") for k in (2, 3))
    assert len(two) == len(three) == 2 * 9
    assert list(two[0])[3:] == [f"{t}: {s}" for t in truths for s in ("dice", "iou", "hausdorff")]
    assert len(table(home / "strategies.csv")) == 2 * 13 * (2 * (7 * 3 + 1 + 4) + 1)  # mean and std, but of calibration
    assert len(table(home / "differences.csv")) == 2 * 12 * (7 * 3 + 1)
    told = json.loads((home / "summary.json").read_text())
    assert (told["cases"], told["tested"], told["networks"]) == (6, 2, ["unet", "deeplab"])
    assert {"table2.csv", "table3.csv", "strategies.csv", "differences.csv"} <= set(told["files"])
    assert all((home / name).is_file() for name in told["files"])
    assert untidy(tmp_path / "o") == []
    assert "unet: extended Dice, and Dice against each" in done.out
    assert max(map(len, done.out.split("written to")[0].splitlines())) < 140


def test_a_second_call_trains_nothing_and_says_the_same(tmp_path, folder, capsys):
    call = ["train", *folder.arguments, *SMALL, "--epochs", 2, "--strategies", "single,staple", "--out", tmp_path]
    first = run(capsys, *call)
    assert (first.status, first.err) == (0, "")
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("network.pt")}
    assert len(stamps) == 4
    before = {path: path.read_bytes() for path in files(tmp_path)}
    second = run(capsys, *call)
    assert second.out == first.out
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("network.pt")} == stamps
    assert {path: path.read_bytes() for path in files(tmp_path)} == before


def test_the_split_that_was_written_can_be_given(tmp_path, folder, capsys):
    call = ["train", *folder.arguments, *SMALL, "--epochs", 1, "--strategies", "majority", "-q"]
    assert run(capsys, *call, "--out", tmp_path / "a", "--test", 0.5, "--split-seed", 7).status == 0
    split = tmp_path / "a" / "train" / "split.csv"
    assert run(capsys, *call, "--out", tmp_path / "b", "--split", split).status == 0
    assert (tmp_path / "b" / "train" / "split.csv").read_bytes() == split.read_bytes()
    tables = [(tmp_path / name / "train" / "table2.csv").read_bytes() for name in "ab"]
    assert tables[0] == tables[1]
    assert sum(row["part"] == "test" for row in table(split)) == 2


def test_several_labels_have_lines_of_their_own(tmp_path, capsys):
    folder = write_training(tmp_path, subjects=4, frames=1)
    for path in sorted(tmp_path.glob("masks/*/*.png")):
        mask = pixels(path) * 3
        mask[:5, :5] = 7
        write_png(path, mask)
    call = ["train", *folder.arguments, *SMALL, "--epochs", 2, "--labels", "3=wall,7=[tip]"]
    done = run(capsys, *call, "--strategies", "staple,extended_dice", "--out", tmp_path / "o")
    assert (done.status, done.err) == (0, "")
    two, means = (table(tmp_path / "o" / "train" / f"{name}.csv") for name in ("table2", "strategies"))
    assert {row["label"] for row in two} >= {"wall", "[tip]"}
    assert "[tip]" in done.out
    titles = {"staple": "STAPLE", "extended_dice": "extended Dice loss"}
    for row in means:
        if row["scope"] == "mean" and row["statistic"] == "dice":
            line = next(r for r in two if (r["label"], r["strategy"]) == (row["label"], titles[row["strategy"]]))
            shown = line[f"{row['against']}: dice"]
            assert shown == ("–" if row["value"] == "nan" else f"{float(row['value']):.3f}")


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["--strategies", "guess"], 2, "there is no strategy 'guess'; use all, or some of single, inner"),
        (["--strategies", ""], 2, "nothing to train"),
        (["--networks", "vnet"], 2, "there is no network 'vnet'; use unet or deeplab"),
        (["--networks", "unet,unet"], 2, "each seed once"),
        (["--seeds", "0"], 2, "--seeds must be a number"),
        (["--seeds", "1,1"], 2, "--seeds must be a number"),
        (["--seeds", "2,-1"], 2, "--seeds must be a number"),
        (["--size", "8"], 2, "size must be 16 pixels or more; got 8"),
        (["--epochs", "0"], 2, "epochs must be 1 or more; got 0"),
        (["--learning-rate", "0"], 2, "--learning-rate must be above 0"),
        (["--at-once", "0"], 2, "--at-once must be 1 or more"),
        (["--device", "abacus"], 2, "device must be auto, cpu, cuda, or one of several GPUs as cuda:1; got 'abacus'"),
        (["--device", "meta"], 2, "device must be auto, cpu, cuda, or one of several GPUs as cuda:1; got 'meta'"),
        (["--test", "1"], 2, "above 0 and below 1; got 1.0"),
        (["--folds", "5"], 2, "from 2 to the number of subjects, 4; got 5"),
        (["--folds", "2", "--split", "x.csv"], 2, "give either --folds or --split"),
        (["--split", "/nowhere.csv"], 1, "/nowhere.csv: there is no such file"),
        (["--learning-rate", "1e30"], 1, "unet, majority, seed 0: the loss is nan in epoch"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_calls_that_make_no_sense_are_an_error_in_a_line(tmp_path, folder, capsys, more, code, said):
    given = {more[k]: more[k + 1] for k in range(0, len(more), 2)}
    usual = {SMALL[k]: SMALL[k + 1] for k in range(0, len(SMALL), 2)}
    options = {**usual, "--strategies": "majority", "--epochs": "2", "--batch": "2", **given}
    arguments = [word for pair in options.items() for word in pair]
    done = run(capsys, "train", *folder.arguments, *arguments, "--out", tmp_path)
    assert done.status == code
    assert said in done.line
    assert len(done.line) < 400
    assert untidy(tmp_path) == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(tmp_path, folder, capsys):
    done = run(capsys, "train", *folder.arguments, *SMALL, "--device", "cuda", "--out", tmp_path / "o")
    assert done.status == 2
    assert "PyTorch finds no GPU; use --device cpu" in done.line
    assert not (tmp_path / "o").exists()


def volumes(folder):
    for path in sorted(folder.path.glob("masks/*/*.png")):
        write_npy(folder.path / "solid" / path.parent.name / f"{path.stem}.npy", np.zeros((3, 16, 16), np.uint8))


def smaller(folder):
    write_png(folder.path / "images" / "s02-f1.png", np.zeros((16, 15), np.uint8))


def coloured(folder):
    write_png(folder.path / "images" / "s02-f1.png", np.zeros((16, 16, 3), np.uint8))


def broken(folder):
    (folder.path / "images" / "s02-f1.png").write_bytes(b"no image")


def lost(folder):
    (folder.path / "images" / "s02-f1.png").unlink()


def unchanged(folder):
    pass


@pytest.mark.parametrize(
    ("change", "template", "more", "said"),
    [
        (unchanged, "masks/{rater}/{case}.png", [], "2 of 2 cases have no image: s01-f1, s02-f1; give --images"),
        (volumes, "solid/{rater}/{case}.npy", ["--images"], "case s01-f1: the masks are volumes"),
        (smaller, "masks/{rater}/{case}.png", ["--images"], "case s02-f1: the image cannot be used: it is 16×15"),
        (
            coloured,
            "masks/{rater}/{case}.png",
            ["--images"],
            "case s01-f1 has a grey image, but case s02-f1 has a colour image",
        ),
        (broken, "masks/{rater}/{case}.png", ["--images"], "case s02-f1: the image cannot be used"),
        (lost, "masks/{rater}/{case}.png", ["--images"], "s02-f1"),
        (unchanged, "masks/{rater}/{case}.png", ["--images", "--raters", "exchangeable"], "raters are exchangeable"),
    ],
    ids=("none", "volumes", "size", "colour", "broken", "lost", "exchangeable"),
)
def test_studies_that_cannot_be_trained_on(tmp_path, capsys, change, template, more, said):
    folder: Folder = write_training(tmp_path, subjects=2, frames=1, size=16)
    change(folder)
    options = [word for given in more for word in ([given, folder.images] if given == "--images" else [given])]
    done = run(capsys, "train", tmp_path / template, *options, *SMALL, "--out", tmp_path / "o")
    assert done.status == 1
    assert said in done.line
    assert not list(tmp_path.rglob("network.pt"))


def test_one_subject_is_not_enough(tmp_path, capsys):
    folder = write_training(tmp_path, subjects=1, frames=3, size=16)
    done = run(capsys, "train", *folder.arguments, *SMALL, "--out", tmp_path / "o")
    assert done.status == 1
    assert "there is only one subject, s01, so none is left to test on; add subjects" in done.line
