"""One run: it learns, it repeats itself bit by bit, and it goes on where it was stopped."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest
import torch

from manytruths import CallError, InputError
from manytruths.learning import Augmentation, Schedule, TrainedNetwork, train
from manytruths.learning.fitting import CHECKPOINT, LOG, State, fit
from manytruths.learning.frames import read_frames
from manytruths.learning.runs import NETWORK
from manytruths.learning.strategies import KNOWN, find_strategies
from manytruths.learning.trained_network import Recipe, save
from study_folders import pixels
from training_folders import small_plan, write_training

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_training(tmp_path_factory.mktemp("fit"))


@pytest.fixture(scope="module")
def frames(folder):
    return read_frames(folder.open(), None)


def fitted(frames, where, name="majority", seed=0, network="unet", tick=lambda: None, key="k", **schedule):
    frames, scaling = frames
    strategy = next(s for s in find_strategies(list(KNOWN), frames.raters) if s.name == name)
    plan = small_plan(**{"every": 0, "augmentation": Augmentation(), **schedule}).schedule
    recipe = Recipe(
        network, 1, plan.width, strategy.outputs(3, 2), (0, 1), ("background", "1"), None, scaling, *frames.moments(),
        name, seed, frames.raters,
    )  # fmt: skip
    return fit(strategy, recipe, frames, plan, where, CPU, key=key, tick=tick)


def same(one: TrainedNetwork, other: TrainedNetwork) -> bool:
    states = one.net.state_dict(), other.net.state_dict()
    return all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def log(where):
    """Epoch, learning rate and loss, as they were written."""
    with open(where / LOG, newline="") as stream:
        return [row[:3] for row in csv.reader(stream)]


def dice(study, home, rater="B"):
    made = {path.stem: pixels(path) for path in (home / "predictions").rglob("*.png")}
    truths = {name: pixels(study.path / "masks" / rater / f"{name}.png") for name in made}
    return np.mean([2 * (made[n] & t).sum() / (made[n].sum() + t.sum()) for n, t in truths.items()])


@pytest.mark.slow
@pytest.mark.parametrize("network", ["unet", "deeplab"])
@pytest.mark.parametrize("strategy", ["staple", "extended_dice", "confusion", "individuals", "soft_staple", "latent"])
def test_a_few_epochs_learn_what_the_images_show(tmp_path, folder, network, strategy):
    plan = small_plan(strategies=(strategy,), networks=(network,), epochs=1, width=8, learning_rate=1e-9)
    train(folder.open(), plan, tmp_path / "start")
    plan = small_plan(strategies=(strategy,), networks=(network,), epochs=30, width=8)
    train(folder.open(), plan, tmp_path / "end")
    assert dice(folder, tmp_path / "end") > max(0.8, dice(folder, tmp_path / "start") + 0.3)


@pytest.mark.parametrize("name", ["majority", "soft_staple", "latent"])
def test_a_seed_repeats_itself_and_another_one_does_not(tmp_path, frames, name):
    first, again, other = (fitted(frames, tmp_path / str(k), name, seed=seed) for k, seed in enumerate((5, 5, 6)))
    assert same(first, again)
    assert log(tmp_path / "0") == log(tmp_path / "1")
    assert not same(first, other)
    assert log(tmp_path / "0") != log(tmp_path / "2")


def test_the_state_of_other_random_numbers_does_not_matter_and_is_left_alone(tmp_path, frames):
    torch.manual_seed(1)
    first = fitted(frames, tmp_path / "a")
    before = torch.random.get_rng_state()
    torch.manual_seed(2)
    assert same(first, fitted(frames, tmp_path / "b"))
    torch.manual_seed(1)
    assert torch.equal(before, torch.random.get_rng_state())


def test_strategies_of_a_seed_start_from_the_same_weights(tmp_path, frames):
    """A rate of next to nothing leaves weights where they began."""
    names = ("majority", "staple", "confusion", "extended_dice", "individuals", "soft_staple", "latent")
    made = [fitted(frames, tmp_path / n, name=n, epochs=1, learning_rate=1e-30).net for n in names]
    first = dict(made[0].named_parameters())
    for name, net in zip(names, made, strict=True):
        apart = [
            n for n, p in net.named_parameters() if p.shape != first[n].shape or (p - first[n]).abs().max() > 1e-20
        ]
        assert apart == (["head.weight", "head.bias"] if name in ("individuals", "latent") else []), name


class Killed(Exception):
    pass


def killed_after(epochs: int):
    left = [epochs]

    def tick():
        left[0] -= 1
        if not left[0]:
            raise Killed

    return tick


@pytest.mark.slow
@pytest.mark.parametrize("name", ["majority", "confusion", "individuals", "extended_dice", "soft_staple", "latent"])
@pytest.mark.parametrize("epochs", [1, 3])
def test_a_run_that_was_killed_goes_on_as_if_it_were_not(tmp_path, frames, name, epochs):
    whole = fitted(frames, tmp_path / "whole", name=name, epochs=5)
    with pytest.raises(Killed):
        fitted(frames, tmp_path / "parts", name=name, epochs=5, tick=killed_after(epochs))
    assert (tmp_path / "parts" / CHECKPOINT).is_file()
    ticks = []
    resumed = fitted(frames, tmp_path / "parts", name=name, epochs=5, tick=lambda: ticks.append(1))
    assert same(whole, resumed)
    assert log(tmp_path / "whole") == log(tmp_path / "parts")
    assert len(ticks) == 5


def test_going_on_is_no_starting_anew(tmp_path, frames, monkeypatch):
    """The epochs before the checkpoint are not trained again."""
    with pytest.raises(Killed):
        fitted(frames, tmp_path, epochs=4, tick=killed_after(3))
    rows = log(tmp_path)
    state = torch.load(tmp_path / CHECKPOINT, weights_only=True)
    state["history"][0] = (1, 0.5, 123.0, 0.0)
    save(tmp_path / CHECKPOINT, state)
    fitted(frames, tmp_path, epochs=4)
    assert log(tmp_path)[1] == ["1", "0.5", "123.0"]
    assert log(tmp_path)[2:4] == rows[2:4]


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:2000]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_text("no checkpoint"),
        lambda path: save(path, [1, 2]),
        lambda path: save(path, {"key": "k"}),
        lambda path: save(path, torch.load(path, weights_only=True) | {"net": {}}),
        lambda path: save(path, torch.load(path, weights_only=True) | {"optimizer": {"state": {}}}),
        lambda path: save(path, torch.load(path, weights_only=True) | {"key": "other"}),
    ],
    ids=("short", "empty", "text", "list", "bare", "no weights", "no optimiser", "foreign"),
)
def test_a_checkpoint_that_cannot_be_used_is_ignored(tmp_path, frames, damage):
    whole = fitted(frames, tmp_path / "whole")
    with pytest.raises(Killed):
        fitted(frames, tmp_path / "parts", tick=killed_after(2))
    damage(tmp_path / "parts" / CHECKPOINT)
    assert same(whole, fitted(frames, tmp_path / "parts"))
    assert log(tmp_path / "whole") == log(tmp_path / "parts")


def test_a_loss_that_is_not_finite_stops_and_keeps_the_checkpoint(tmp_path, frames):
    with pytest.raises(InputError) as caught:
        fitted(frames, tmp_path, seed=3, epochs=3, learning_rate=1e30)
    said = str(caught.value)
    assert said.startswith("unet, majority, seed 3: the loss is nan in epoch 1, step 2, for the cases s0")
    assert "there is no earlier checkpoint" in said
    assert "\n" not in said
    with pytest.raises(Killed):
        fitted(frames, tmp_path, epochs=4, tick=killed_after(2))
    before = (tmp_path / CHECKPOINT).read_bytes()
    broken = torch.load(tmp_path / CHECKPOINT, weights_only=True)
    broken["net"]["head.bias"][:] = torch.nan
    save(tmp_path / CHECKPOINT, broken)
    before = (tmp_path / CHECKPOINT).read_bytes()
    with pytest.raises(
        InputError, match=f"the loss is nan in epoch 3, step 1, .*the last checkpoint is {tmp_path / CHECKPOINT}"
    ):
        fitted(frames, tmp_path, epochs=4)
    assert (tmp_path / CHECKPOINT).read_bytes() == before


def test_a_network_that_gives_nothing_finite_is_not_judged(tmp_path, folder):
    """With one step in all, the loss is seen before the step that ruins the weights."""
    plan = small_plan(epochs=1, batch=12, learning_rate=1e36)
    with pytest.raises(InputError, match=r"unet, majority, seed 0: the prediction of case .* is not finite; lower"):
        train(folder.open(), plan, tmp_path)
    assert not list(tmp_path.rglob("run.json"))


def test_the_rate_falls_to_a_tenth_after_half_of_the_epochs(tmp_path, frames):
    fitted(frames, tmp_path, epochs=5, learning_rate=1e-3)
    assert [float(row[1]) for row in log(tmp_path)[1:]] == pytest.approx([1e-3, 1e-3, 1e-3, 1e-4, 1e-4])
    assert Schedule(epochs=1).rate(0) == 2e-4


@pytest.mark.parametrize(
    "wrong", [{"epochs": 0}, {"batch": 0}, {"width": 0}, {"learning_rate": 0}, {"learning_rate": float("nan")},
              {"learning_rate": 1e37}, {"precision": "float16"}], ids=str,
)  # fmt: skip
def test_schedules_that_make_no_sense_are_refused(wrong):
    with pytest.raises(CallError, match=re.escape(str(next(iter(wrong.values()))))):
        Schedule(**wrong)


def test_a_checkpoint_in_bfloat16_and_a_finished_network_go_together(tmp_path, frames):
    trained = fitted(frames, tmp_path, precision="bfloat16", epochs=2)
    assert {value.dtype for value in trained.net.parameters()} == {torch.float32}
    trained.save(tmp_path / NETWORK)
    assert same(trained, TrainedNetwork.load(tmp_path / NETWORK))


def test_state_is_a_value_of_its_own(tmp_path):
    net = torch.nn.Linear(2, 1)
    state = State(net, torch.nn.Identity(), torch.optim.Adam(net.parameters()))
    state.resume(tmp_path / "nothing.pt", "k", CPU)
    assert state.history == []
