"""A study as tensors: labels, absence, regions, colour, depth and sizes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from manytruths import VOID, InputError, Study
from manytruths.learning import train
from manytruths.learning.frames import read_frames
from study_folders import disc, pixels, write_npy, write_png
from training_folders import small_plan, write_training


def predictions(home):
    return {path.stem: pixels(path) for path in sorted((home / "predictions").rglob("*.png"))}


def rewritten(folder, change):
    """Every mask of a study, changed."""
    for path in sorted(folder.path.glob("masks/*/*.png")):
        write_png(path, change(pixels(path), path.parent.name, path.stem))


def test_images_are_bytes_and_annotations_codes_as_they_stand_in_the_files(tmp_path):
    folder = write_training(tmp_path, subjects=2, frames=2, size=24)
    frames, scaling = read_frames(folder.open(), None)
    assert frames.images.dtype == torch.uint8
    assert scaling.bytes
    assert (frames.raters, frames.names) == (("A", "B", "C"), ("s01-f1", "s01-f2", "s02-f1", "s02-f2"))
    assert frames.subjects == ("s01", "s01", "s02", "s02")
    for k, name in enumerate(frames.names):
        assert np.array_equal(frames.images[k, 0], pixels(tmp_path / "images" / f"{name}.png"))
        for r, rater in enumerate("ABC"):
            assert np.array_equal(frames.annotations[k, r], pixels(tmp_path / "masks" / rater / f"{name}.png"))
    assert frames.complete
    mean, std = frames.moments()
    every = np.stack([pixels(path) for path in sorted((tmp_path / "images").iterdir())]) / 255
    assert mean[0] == pytest.approx(every.mean(), abs=1e-9)
    assert std[0] == pytest.approx(every.std(), abs=1e-9)


@pytest.mark.slow
def test_other_pixels_labels_names_or_subjects_are_other_data(tmp_path):
    folder = write_training(tmp_path, subjects=3, frames=1, size=16)
    first = read_frames(folder.open(), None)[0]
    assert first.digest == read_frames(folder.open(), None, jobs=2)[0].digest
    assert first.digest != first.select(first.names[1:]).digest
    assert first.digest != read_frames(folder.open(cases=None), None)[0].digest
    image = pixels(tmp_path / "images" / "s01-f1.png").copy()
    image[3, 3] ^= 1
    write_png(tmp_path / "images" / "s01-f1.png", image)
    assert first.digest != read_frames(folder.open(), None)[0].digest


def test_absent_raters_and_void_values_are_no_background(tmp_path):
    folder = write_training(tmp_path, subjects=2, frames=1, size=16)
    (tmp_path / "masks" / "B" / "s02-f1.png").unlink()
    rewritten(folder, lambda mask, rater, case: np.where((rater == "A") & (mask == 0), 9, mask).astype(np.uint8))
    frames = read_frames(folder.open(void=9), None)[0]
    mask = pixels(tmp_path / "masks" / "A" / "s01-f1.png")
    assert np.array_equal(frames.annotations[0, 0], np.where(mask == 9, VOID, 1))
    assert (frames.annotations[1, 1] == VOID).all()
    assert not (frames.annotations[0, 1] == VOID).any()
    assert frames.labels.values == (0, 1)
    assert not frames.complete


def test_outside_of_a_region_nobody_rated(tmp_path):
    folder = write_training(tmp_path, subjects=2, frames=1, size=16)
    for name in ("s01-f1", "s02-f1"):
        write_png(tmp_path / "roi" / f"{name}.png", np.pad(np.ones((16, 9), np.uint8), ((0, 0), (0, 7))))
    frames = read_frames(folder.open(roi=f"{tmp_path}/roi/{{case}}.png"), None)[0]
    assert (frames.annotations[..., 9:] == VOID).all()
    assert not (frames.annotations[..., :9] == VOID).any()


def test_labels_of_odd_values_come_back_in_predictions(tmp_path):
    folder = write_training(tmp_path, subjects=4, frames=2)
    rewritten(folder, lambda mask, rater, case: np.where(disc(32, radius=3), 3, 7 * mask).astype(np.uint8))
    study = folder.open(labels={0: "background", 3: "core", 7: "shell"})
    frames = read_frames(study, None)[0]
    assert frames.labels.values == (0, 3, 7)
    assert frames.annotations.unique().tolist() == [0, 1, 2]
    found = train(study, small_plan(strategies=("majority", "staple", "extended_dice"), epochs=12), tmp_path / "o")
    values = np.unique(np.stack([*predictions(tmp_path / "o").values()]))
    assert set(values) <= {0, 3, 7}
    assert {0, 7} <= set(values)
    assert {"core", "shell"} <= {scores.label for scores in found.scores}


def test_large_label_values_survive(tmp_path):
    random = np.random.default_rng(0)
    for k in range(4):
        mask = disc(32, x=k).astype(np.int32) * 70_000
        for rater in "AB":
            write_npy(tmp_path / "masks" / rater / f"c{k}.npy", mask)
        write_png(tmp_path / "images" / f"c{k}.png", random.integers(0, 99, (32, 32)).astype(np.uint8) + disc(32) * 90)
    study = Study.open(f"{tmp_path}/masks/{{rater}}/{{case}}.npy", images=f"{tmp_path}/images/{{case}}.png")
    train(study, small_plan(epochs=6), tmp_path / "o")
    made = np.stack([np.load(path) for path in (tmp_path / "o" / "predictions").rglob("*.npy")])
    assert set(np.unique(made)) <= {0, 70_000}


def test_masks_that_nobody_marked_are_of_two_labels(tmp_path):
    folder = write_training(tmp_path, subjects=3, frames=1)
    rewritten(folder, lambda mask, rater, case: 0 * mask)
    train(folder.open(), small_plan(epochs=2), tmp_path / "o")
    assert set(np.unique(np.stack([*predictions(tmp_path / "o").values()]))) <= {0, 1}


def test_colour_and_deep_images_are_scaled_to_one(tmp_path):
    folder = write_training(tmp_path, subjects=3, frames=1, size=20)
    for path in sorted((tmp_path / "images").iterdir()):
        write_png(path, np.stack([pixels(path), 0 * pixels(path), 255 - pixels(path)], axis=-1))
    frames = read_frames(folder.open(), None)[0]
    assert frames.images.shape == (3, 3, 20, 20)
    assert torch.equal(frames.images[:, 0], 255 - frames.images[:, 2])
    assert frames.moments()[1][1] == 1
    for path in sorted((tmp_path / "images").iterdir()):
        write_png(path, pixels(path)[..., 0].astype(np.uint16) * 200 + 1000)
    deep, scaling = read_frames(folder.open(), None)
    assert deep.images.dtype == torch.float32
    assert 0 <= deep.images.min() < 0.05 < 0.95 < deep.images.max() <= 1
    assert not scaling.bytes
    grey = frames.images[:, 0].float()
    together = torch.corrcoef(torch.stack([grey.flatten(), deep.images.flatten()]))[0, 1]
    assert together > 0.999


def test_images_of_different_sizes_are_predicted_at_their_own(tmp_path):
    folder = write_training(tmp_path, subjects=4, frames=1)
    shapes = {"s01-f1": (60, 40), "s02-f1": (24, 30), "s03-f1": (33, 64), "s04-f1": (20, 20)}

    def resized(mask, case):
        rows, columns = (np.arange(n) * 32 // n for n in shapes[case])
        return mask[rows[:, None], columns]

    rewritten(folder, lambda mask, rater, case: resized(mask, case))
    for path in sorted((tmp_path / "images").iterdir()):
        write_png(path, resized(pixels(path), path.stem))
    frames = read_frames(folder.open(), 32)[0]
    assert frames.images.shape[2:] == (32, 32)
    assert (frames.images[2, :, 17:] == 0).all()
    assert (frames.annotations[2, :, 17:] == VOID).all()
    train(folder.open(), small_plan(folds=2, epochs=40), tmp_path / "o")
    made = predictions(tmp_path / "o")
    assert {name: mask.shape for name, mask in made.items()} == shapes
    truth = pixels(tmp_path / "masks" / "B" / "s01-f1.png")
    assert 2 * (made["s01-f1"] & truth).sum() / (made["s01-f1"].sum() + truth.sum()) > 0.6


def test_a_rater_absent_from_all_that_is_trained_on_is_named(tmp_path):
    folder = write_training(tmp_path, subjects=4, frames=1)
    for case in ("s01-f1", "s02-f1", "s03-f1"):
        (tmp_path / "masks" / "C" / f"{case}.png").unlink()
    (tmp_path / "split.csv").write_text("case,part\ns01-f1,train\ns02-f1,train\ns03-f1,test\ns04-f1,test\n")
    plan = small_plan(split=tmp_path / "split.csv", strategies=("single",))
    with pytest.raises(InputError, match="rater C alone: none of the training cases was rated by the raters"):
        train(folder.open(), plan, tmp_path / "o")
    others = small_plan(split=tmp_path / "split.csv", strategies=("average", "individuals", "staple", "confusion"))
    assert len(train(folder.open(), others, tmp_path / "o").runs) == 4


def test_all_strategies_learn_from_raters_who_are_sometimes_absent(tmp_path):
    folder = write_training(tmp_path, subjects=6, frames=1)
    (tmp_path / "masks" / "A" / "s02-f1.png").unlink()
    (tmp_path / "masks" / "B" / "s03-f1.png").unlink()
    found = train(folder.open(), small_plan(strategies=("all",), folds=2, epochs=1), tmp_path / "o")
    assert len(found.runs) == 8 + 3
    for made in (tmp_path / "o" / "predictions").iterdir():
        assert len(list(made.iterdir())) == 6


@pytest.mark.parametrize(
    ("image", "said"),
    [
        (np.zeros((16, 15), np.uint8), "case s01-f1: the image cannot be used: it is 16×15, unlike the masks"),
        (np.zeros((16, 16, 3), np.uint8), "case s02-f1 has a grey image, but case s01-f1 has a colour image"),
    ],
)
def test_images_that_cannot_be_used_are_named(tmp_path, image, said):
    folder = write_training(tmp_path, subjects=2, frames=1, size=16)
    write_png(tmp_path / "images" / "s01-f1.png", image)
    with pytest.raises(InputError, match=said):
        read_frames(folder.open(), None)


def test_missing_images_volumes_exchangeable_raters_and_nan(tmp_path):
    folder = write_training(tmp_path, subjects=2, frames=1, size=16)
    with pytest.raises(InputError, match="2 of 2 cases have no image: s01-f1, s02-f1; give --images"):
        read_frames(folder.open(images=None), None)
    with pytest.raises(InputError, match="raters are exchangeable"):
        read_frames(folder.open(raters="exchangeable"), None)
    for name in ("s01-f1", "s02-f1"):
        write_npy(tmp_path / "floats" / f"{name}.npy", np.full((16, 16), np.nan if "2" in name else 1, np.float32))
        write_npy(tmp_path / "solid" / "A" / f"{name}.npy", np.zeros((3, 16, 16), np.uint8))
        write_npy(tmp_path / "solid" / "B" / f"{name}.npy", np.zeros((3, 16, 16), np.uint8))
    with pytest.raises(InputError, match="case s02-f1: the image has values that are not finite"):
        read_frames(folder.open(images=f"{tmp_path}/floats/{{case}}.npy"), None)
    solid = Study.open(f"{tmp_path}/solid/{{rater}}/{{case}}.npy", images=f"{tmp_path}/floats/{{case}}.npy")
    with pytest.raises(InputError, match="case s01-f1: the masks are volumes"):
        read_frames(solid, None)
