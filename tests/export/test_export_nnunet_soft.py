"""Soft labels for nnU-Net: what is in the files, and that nnU-Net trains on them with the trainer beside them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from export_studies import SHAPE, random_masks, read_json, template, to_nnunet, write_case, write_cases, write_volumes

import manytruths as mt
from manytruths.io import read_mask
from study_folders import disc, files, pixels, run, table, write_png

STEPS = 240
TRAINER = "nnUNetTrainerSoftLabels"


def soft_of(out: Path, name: str, ending: str = ".png") -> np.ndarray:
    """The probabilities that the numbers of a mask stand for; NaN where nobody rated."""
    listed = read_json(out / "dataset.json")["soft_labels"]
    return np.array([*listed, np.nan])[read_mask(out / f"labelsTr/{name}{ending}").array]


def test_shares_of_votes_come_back_as_they_were(capsys, tmp_path):
    for n in (1, 2, 3):
        masks = {name: mask for seed in (n, n + 9) for name, mask in random_masks(seed).items()}
        masks |= {"D": random_masks(n + 20)["A"], "E": random_masks(n + 30)["A"]}
        write_case(tmp_path, f"p{n}", masks)
    out = to_nnunet(capsys, tmp_path, "--disputed", "soft", "--consensus", "vote:0.5")
    study = mt.Study.open(template(tmp_path)[0])
    for case in study:
        shares = np.mean([mask != 0 for mask in case.read().masks.values()], axis=0)
        found = soft_of(out, case.name)
        assert len(np.unique(shares)) == 6
        assert np.abs(found - shares).max() < 1e-12  # 240 is a multiple of five


def test_probabilities_of_staple_are_rounded_to_the_nearest_step(capsys, tmp_path):
    write_cases(tmp_path, cases=2)
    out = to_nnunet(capsys, tmp_path, "--disputed", "soft")
    line = ["export", "monai", *template(tmp_path), "--disputed", "soft", "--to", tmp_path / "monai", "--jobs", 1]
    assert run(capsys, *line).status == 0
    for case in ("p1", "p2"):
        exact = pixels(tmp_path / f"monai/soft/{case}.tif")
        assert 0 < np.abs(soft_of(out, case) - exact).max() <= 0.5 / STEPS + 1e-7


def test_the_description_has_one_region_and_the_probabilities(capsys, tmp_path):
    write_cases(tmp_path, cases=2)
    out = to_nnunet(capsys, tmp_path, "--disputed", "soft", "--labels", "1=gland")
    made = read_json(out / "dataset.json")
    assert made["labels"] == {"background": 0, "gland": list(range(1, STEPS + 1))}
    assert made["regions_class_order"] == [1]
    assert made["soft_labels"] == [0, *(k / STEPS for k in range(STEPS, 0, -1))]
    assert [path.name for path in files(out / "trainer")] == [f"{TRAINER}.py"]
    assert [tuple(row.values()) for row in table(out / "labels.csv")] == [("0", "0", "background"), ("1", "1", "gland")]
    assert "trainer" not in {path.name for path in to_nnunet(capsys, tmp_path).iterdir()}


def test_what_is_not_rated_is_ignored(capsys, tmp_path):
    masks = random_masks(1)
    for mask in masks.values():
        mask[0, :4] = 9
    for case in ("p1", "p2"):
        write_case(tmp_path, case, masks)
    out = to_nnunet(capsys, tmp_path, "--disputed", "soft", "--void", 9)
    assert read_json(out / "dataset.json")["labels"]["ignore"] == STEPS + 1
    assert (np.isnan(soft_of(out, "p1")) == (np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE) < 4)).all()


def test_volumes_have_them_too(capsys, tmp_path):
    write_volumes(tmp_path)
    out = to_nnunet(capsys, tmp_path, "--disputed", "soft", "--consensus", "vote:0.5", ending=".nii.gz")
    assert set(np.unique(soft_of(out, "p1", ".nii.gz"))) <= {k / 6 for k in range(7)}


def test_several_labels_are_refused(capsys, tmp_path):
    write_cases(tmp_path, labels=4, cases=2)
    line = ["export", "nnunet", *template(tmp_path), "--disputed", "soft", "--to", tmp_path / "raw", "--jobs", 1]
    done = run(capsys, *line)
    assert done.status == 1
    assert "there are 3 labels, and nnU-Net gets soft labels of one: unite them with --foreground any" in done.err
    assert not (tmp_path / "raw").exists()
    to_nnunet(capsys, tmp_path, "--disputed", "soft", "--foreground", "any")


def test_what_to_do_next_is_printed(capsys, tmp_path):
    write_cases(tmp_path, cases=2)
    line = ["export", "nnunet", *template(tmp_path), "--disputed", "soft", "--to", tmp_path / "raw", "--jobs", 1]
    folder = tmp_path / "raw" / "Dataset501_Manytruths" / "trainer"
    command = f"nnUNet_extTrainer={folder} nnUNetv2_train 501 CONFIGURATION FOLD -tr {TRAINER}"
    assert f"then, with nnU-Net 2.8.0 or later: {command}\n" in run(capsys, *line).out


# -- nnU-Net itself --------------------------------------------------------------------------------

TRAIN = """
import json, os, sys
import torch
from nnunetv2.experiment_planning.plan_and_preprocess_api import extract_fingerprints, plan_experiments, preprocess
from nnunetv2.run import run_training
from nnunetv2.utilities.find_class_by_name import recursive_find_python_class

torch.set_num_threads(1)
folder = os.environ["nnUNet_extTrainer"]

def found(name):
    # how nnU-Net looks into this folder; before it does, it imports trainers of its own that need torchvision
    return recursive_find_python_class(
        folder, name, None, base_folder=folder, verbose=True, cleanup_imports_from_base_folder=True
    )

extract_fingerprints([501], num_processes=1, check_dataset_integrity=True)
plan_experiments([501])
preprocess([501], "nnUNetPlans", configurations=["2d"], num_processes=[1])
os.environ["nnUNet_n_proc_DA"] = "0"
run_training.recursive_find_trainer_class_by_name = found
trainer = run_training.get_trainer_from_args("501", "2d", 0, "nnUNetTrainerSoftLabels", device=torch.device("cpu"))
trainer.num_epochs, trainer.num_iterations_per_epoch, trainer.num_val_iterations_per_epoch = 4, 5, 1
trainer.initialize()
losses, targets = [], []
inner, step = trainer.loss.loss.forward, trainer.train_step

def watched(output, target):
    targets.append([list(output.shape), list(target.shape), target[:, 0].unique().tolist()])
    return inner(output, target)

def stepped(batch):
    done = step(batch)
    losses.append(float(done["loss"]))
    return done

trainer.loss.loss.forward, trainer.train_step = watched, stepped
trainer.run_training()
trainer.perform_actual_validation()
dataset = trainer.dataset_class(trainer.preprocessed_dataset_folder)
softened = {}
for name in dataset.identifiers:
    numbers = torch.from_numpy(dataset.load_case(name)[1][:])
    softened[name] = trainer._look_up(numbers.clamp(min=0)).squeeze().tolist()
with open(sys.argv[1], "w") as file:
    json.dump({"losses": losses, "targets": targets, "softened": softened, "out": trainer.output_folder}, file)
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Six images with five raters each, exported, planned, preprocessed and trained for twenty steps."""
    for package in ("nnunetv2", "batchgeneratorsv2", "dynamic_network_architectures", "seaborn"):
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("nnunet")
    shares = {}
    for n in range(6):
        masks = {rater: disc(64, 3 * n - 8, 5 - 2 * n, 10 + 2 * k) for k, rater in enumerate("ABCDE")}
        shares[f"p{n}"] = np.mean([*masks.values()], axis=0)
        write_png(folder / f"images/p{n}.png", (60 + 120 * masks["C"]).astype(np.uint8))
        for rater, mask in masks.items():
            write_png(folder / f"masks/{rater}/p{n}.png", mask)
    study = mt.Study.open(f"{folder}/masks/{{rater}}/{{case}}.png", images=f"{folder}/images/{{case}}.png")
    done = mt.export(study, "nnunet", to=folder / "raw", disputed="soft", consensus="vote:0.5", folds=3)
    places = {"nnUNet_raw": "raw", "nnUNet_preprocessed": "preprocessed", "nnUNet_results": "results"}
    own = {name: str(folder / place) for name, place in places.items()}
    own |= {"nnUNet_extTrainer": str(done.folder / "trainer"), "nnUNet_n_proc_DA": "1", "nnUNet_def_n_proc": "1"}
    script = folder / "train.py"
    script.write_text(f"if __name__ == '__main__':\n{''.join(f'    {line}' for line in TRAIN.splitlines(True))}")
    said = subprocess.run(
        [sys.executable, str(script), str(folder / "found.json")], env=os.environ | own, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stdout[-3000:] + said.stderr[-3000:]
    assert f"Found class {TRAINER} in {TRAINER}" in said.stdout
    assert "verify_dataset_integrity Done" in said.stdout
    return shares, json.loads((folder / "found.json").read_text())


@pytest.mark.slow
def test_shares_between_0_and_1_reach_the_loss_of_nnunet(trained):
    shares, found = trained
    for output, target, values in found["targets"]:
        assert output == target
        assert output[1] == 1
        # moved by the nearest neighbour, so that no share comes to be that no pixel has
        assert np.abs(np.array(values)[:, None] - np.arange(6) / 5).min(axis=1).max() < 1e-6
    assert len(found["targets"][0][2]) > 3
    assert found["softened"].keys() == shares.keys()
    for name, own in found["softened"].items():
        assert np.abs(np.array(own) - shares[name]).max() < 1e-6


@pytest.mark.slow
def test_the_loss_of_nnunet_falls(trained):
    losses = trained[1]["losses"]
    assert len(losses) == 20
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) - 0.1


@pytest.mark.slow
def test_nnunet_validates_against_what_is_rather_marked_than_not(trained):
    shares, found = trained
    summary = read_json(Path(found["out"]) / "validation" / "summary.json")
    for case in summary["metric_per_case"]:
        path = Path(case["prediction_file"])
        mask, truth = pixels(path), shares[path.stem] >= 0.5
        assert set(np.unique(mask)) <= {0, 1}
        (metrics,) = case["metrics"].values()
        assert (metrics["TP"], metrics["FP"]) == ((mask & truth).sum(), (mask > truth).sum())
        assert metrics["n_ref"] == truth.sum()
