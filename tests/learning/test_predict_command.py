"""``manytruths predict``: masks of images, whatever they are called."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from manytruths.learning import TrainedNetwork, train
from study_folders import pixels, run, untidy, write_npy, write_png
from training_folders import small_plan, write_training


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = write_training(tmp_path_factory.mktemp("predict"))
    train(folder.open(), small_plan(epochs=12), folder.path / "o")
    return folder.path


def network(home):
    return next((home / "o").rglob("network.pt"))


def test_masks_of_all_images_are_those_that_train_predicted(home, tmp_path, capsys):
    done = run(capsys, "predict", network(home), f"{home}/images/{{case}}.png", "--out", tmp_path)
    assert (done.status, done.err) == (0, "")
    assert done.out == f"12 files written to {tmp_path / 'predict'}\n"
    assert len(list((tmp_path / "predict").iterdir())) == 12
    for path in (home / "o" / "predictions" / "unet-majority-0").iterdir():
        assert np.array_equal(pixels(path), pixels(tmp_path / "predict" / path.name))
    assert untidy(tmp_path) == []


@pytest.mark.parametrize("name", ["p 1", "Käse ①", "[left]", "a{b", "-x", "100%", "x" * 180])
def test_odd_names_and_jpeg(home, tmp_path, capsys, name):
    image = pixels(home / "images" / "s01-f1.png")
    (tmp_path / "images").mkdir()
    Image.fromarray(image).save(tmp_path / "images" / f"{name}.jpg", quality=95)
    done = run(capsys, "predict", network(home), f"{tmp_path}/images/{{case}}.jpg", "--out", tmp_path / "o", "-q")
    assert (done.status, done.out, done.err) == (0, "", "")
    expected = TrainedNetwork.load(network(home)).predict(image)
    assert (pixels(tmp_path / "o" / "predict" / f"{name}.png") == expected).mean() > 0.98


def test_probabilities_lie_beside_the_masks(home, tmp_path, capsys):
    image = f"{home}/images/s01-{{case}}.png"
    done = run(capsys, "predict", network(home), image, "--out", tmp_path, "--write-probability")
    assert done.status == 0
    chances, mask = (pixels(tmp_path / "predict" / n) for n in ("probability/f1.tif", "f1.png"))
    assert chances.dtype == np.float32
    assert np.array_equal(chances > 0.5, mask)
    assert 0 <= chances.min() < 0.5 < chances.max() <= 1


@pytest.mark.parametrize("suffix", [".tif", ".npy", ".nii.gz", ".nrrd"])
def test_masks_of_another_format(home, tmp_path, capsys, suffix):
    image = f"{home}/images/s01-{{case}}.png"
    assert run(capsys, "predict", network(home), image, "--out", tmp_path, "--suffix", suffix).status == 0
    assert (tmp_path / "predict" / f"f1{suffix}").is_file()


def test_a_probability_for_every_one_of_several_labels(tmp_path, capsys):
    folder = write_training(tmp_path, subjects=3, frames=1)
    for path in sorted(tmp_path.glob("masks/*/*.png")):
        mask = pixels(path) * 3
        mask[:4] = 7
        write_png(path, mask)
    train(folder.open(labels={3: "muscle", 7: "a/b"}), small_plan(epochs=10), tmp_path / "o")
    where = network(tmp_path)
    done = run(capsys, "predict", where, folder.images, "--out", tmp_path / "p", "--write-probability")
    assert done.status == 0
    found = sorted((tmp_path / "p" / "predict" / "probability").glob("s01-f1-*.tif"))
    assert len(found) == 3
    np.testing.assert_allclose(sum(pixels(path) for path in found), 1, atol=1e-5)
    assert set(np.unique(pixels(tmp_path / "p" / "predict" / "s01-f1.png"))) <= {0, 3, 7}


def wrong_images(tmp_path):
    write_png(tmp_path / "colour" / "a.png", np.zeros((32, 32, 3), np.uint8))
    write_png(tmp_path / "deep" / "a.png", np.zeros((32, 32), np.uint16))
    write_npy(tmp_path / "volume" / "a.npy", np.zeros((3, 32, 32), np.uint8))
    write_png(tmp_path / "twice" / "1" / "a.png", np.zeros((32, 32), np.uint8))
    write_png(tmp_path / "twice" / "2" / "a.png", np.zeros((32, 32), np.uint8))
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.png").write_text("no image")


@pytest.mark.parametrize(
    ("template", "status", "said"),
    [
        ("colour/{case}.png", 1, "case a: this is a colour image, but the network was trained on grey images"),
        ("deep/{case}.png", 1, "case a: the image is uint16, but the network was trained on 8-bit images"),
        ("volume/{case}.npy", 1, "is a volume, but the network takes 2D images"),
        ("twice/{session}/{case}.png", 1, "matches several images of case a"),
        ("text/{case}.png", 1, "case a: "),
        ("colour/a.png", 1, "has no {case}"),
        ("nothing/{case}.png", 1, "matches nothing"),
    ],
)
def test_images_that_cannot_be_used_are_an_error_in_a_line(home, tmp_path, capsys, template, status, said):
    wrong_images(tmp_path)
    done = run(capsys, "predict", network(home), f"{tmp_path}/{template}", "--out", tmp_path / "o")
    assert done.status == status
    assert said in done.line
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        (["--suffix", ".jpg"], 2, "maps are written as"),
        (["--suffix", "png"], 2, "change the ending"),
        (["--device", "abacus"], 2, "device must be auto, cpu, cuda, or one of several GPUs as cuda:1; got 'abacus'"),
    ],
)
def test_calls_that_make_no_sense(home, tmp_path, capsys, more, status, said):
    done = run(capsys, "predict", network(home), f"{home}/images/{{case}}.png", "--out", tmp_path, *more)
    assert done.status == status
    assert said in done.line


def test_a_network_that_is_not_there_or_none(home, tmp_path, capsys):
    images = f"{home}/images/{{case}}.png"
    done = run(capsys, "predict", tmp_path / "network.pt", images, "--out", tmp_path)
    assert done.status == 1
    assert "network.pt: does not exist; give a network.pt that train wrote" in done.line
    done = run(capsys, "predict", home / "images" / "s01-f1.png", images, "--out", tmp_path)
    assert done.status == 1
    assert "is damaged or not a PyTorch file" in done.line
    assert run(capsys, "predict", tmp_path / "network.pt").status == 2
