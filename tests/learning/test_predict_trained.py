"""A trained network as a file: what comes back is what was saved, and nothing else is let in."""

from __future__ import annotations

import pickle
import zipfile

import numpy as np
import pytest
import torch

from manytruths import FormatError, InputError
from manytruths.learning import TrainedNetwork, train
from manytruths.learning.trained_network import FORMAT, Recipe, save
from study_folders import pixels
from training_folders import small_plan, write_training


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = write_training(tmp_path_factory.mktemp("trained"))
    train(folder.open(), small_plan(strategies=("majority", "individuals"), epochs=12), folder.path / "o")
    return folder.path


def network(home, strategy="majority"):
    return home / "o" / "runs" / "unet" / strategy / "seed-0" / "fold-0" / "network.pt"


@pytest.mark.parametrize("strategy", ["majority", "individuals"])
def test_a_loaded_network_predicts_what_train_predicted(home, strategy):
    trained = TrainedNetwork.load(network(home, strategy))
    made = sorted((home / "o" / "predictions" / f"unet-{strategy}-0").iterdir())
    assert len(made) == 4
    for path in made:
        assert np.array_equal(trained.predict(pixels(home / "images" / path.name)), pixels(path))


def test_probabilities_are_of_all_labels_and_sum_to_one(home):
    image = pixels(home / "images" / "s01-f1.png")
    trained = TrainedNetwork.load(network(home))
    chances = trained.probabilities(image)
    assert chances.shape == (2, 32, 32)
    np.testing.assert_allclose(chances.sum(axis=0), 1, atol=1e-6)
    assert np.array_equal(trained.predict(image), chances[1] > 0.5)


def test_larger_images_are_made_smaller_and_predicted_at_their_own_size(home):
    image = np.kron(pixels(home / "images" / "s01-f1.png"), np.ones((3, 3), np.uint8))
    trained = TrainedNetwork.load(network(home))
    small, large = trained.predict(image[::3, ::3]), trained.predict(image)
    assert large.shape == (96, 96)
    assert (large[1::3, 1::3] == small).mean() > 0.95


def test_saved_and_loaded_it_is_the_same(tmp_path, home):
    trained = TrainedNetwork.load(network(home))
    trained.save(tmp_path / "again.pt")
    again = TrainedNetwork.load(tmp_path / "again.pt")
    assert again.recipe == trained.recipe
    assert again.recipe.strategy == "majority"
    assert all(torch.equal(v, again.net.state_dict()[k]) for k, v in trained.net.state_dict().items())


class Evil:
    """What a pickle could do."""

    def __reduce__(self):
        return print, ("code was run",)


def test_a_pickle_with_code_in_it_is_refused_and_not_run(tmp_path, capsys):
    torch.save({"recipe": Evil(), "state": {}, "format": FORMAT}, tmp_path / "torch.pt")
    (tmp_path / "plain.pt").write_bytes(pickle.dumps(Evil()))
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(FormatError, match="is damaged or not a PyTorch file"):
            TrainedNetwork.load(path)
    assert capsys.readouterr().out == ""


def altered(path, **changes):
    whole = torch.load(path, weights_only=True)
    return whole | {k: (whole[k] | v if isinstance(v, dict) else v) for k, v in changes.items()}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": FORMAT + 1}, f"newer version of manytruths \\(version {FORMAT + 1} of the format"),
        ({"recipe": {"network": "vnet"}}, "no network 'vnet'"),
        ({"recipe": {"width": 5}}, "the network cannot be loaded"),
        ({"recipe": {"strange": 1}}, "the network cannot be loaded"),
        ({"recipe": None}, "the network cannot be loaded"),
        ({"state": []}, "the network cannot be loaded"),
    ],
    ids=str,
)
def test_other_contents_are_refused(tmp_path, home, changes, said):
    save(tmp_path / "network.pt", altered(network(home), **changes))
    with pytest.raises(FormatError, match=said) as caught:
        TrainedNetwork.load(tmp_path / "network.pt")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("keep", [0, 10, 3000, -1])
def test_a_file_cut_short_is_refused(tmp_path, home, keep):
    (tmp_path / "network.pt").write_bytes(network(home).read_bytes()[:keep])
    with pytest.raises(FormatError, match="is damaged or not a PyTorch file"):
        TrainedNetwork.load(tmp_path / "network.pt")


def test_files_of_something_else_are_refused(tmp_path):
    with pytest.raises(FormatError, match=r"does not exist; give a network.pt that train wrote"):
        TrainedNetwork.load(tmp_path / "network.pt")
    with pytest.raises(FormatError, match="is damaged or not a PyTorch file"):
        TrainedNetwork.load(tmp_path)
    save(tmp_path / "network.pt", {"weights": torch.zeros(3)})
    with pytest.raises(FormatError, match="is not a network of manytruths"):
        TrainedNetwork.load(tmp_path / "network.pt")
    with zipfile.ZipFile(tmp_path / "zip.pt", "w") as archive:
        archive.writestr("a.txt", "text")
    with pytest.raises(FormatError, match="is damaged or not a PyTorch file"):
        TrainedNetwork.load(tmp_path / "zip.pt")


@pytest.mark.parametrize(
    ("image", "said"),
    [
        (np.zeros((8, 8, 3), np.uint8), "this is a colour image, but the network was trained on grey images"),
        (np.zeros((8, 8, 2), np.uint8), "this is a 2-channel image"),
        (np.zeros((8, 8), np.uint16), "the image is uint16, but the network was trained on 8-bit images"),
        (np.full((8, 8), np.nan, np.float32), "the image is float32"),
    ],
)
def test_images_unlike_those_trained_on_are_refused(home, image, said):
    with pytest.raises(InputError, match=said):
        TrainedNetwork.load(network(home)).probabilities(image)


def test_bytes_are_scaled_from_zero_to_one_and_normalised():
    recipe = Recipe("unet", 1, 4, 1, (0, 1), ("background", "1"), None, None, (0.5,), (0.25,))
    fed = recipe.normalise(torch.tensor([0, 255], dtype=torch.uint8).reshape(1, 1, 1, 2))
    assert fed.flatten().tolist() == [-2, 2]
