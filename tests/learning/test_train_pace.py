"""Confusion matrices wait until the network has learned something, and then learn faster than it."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest
import torch

from manytruths.learning import Schedule
from manytruths.learning.fitting import CHECKPOINT, CONFUSION, LOG, fit
from manytruths.learning.frames import read_frames
from manytruths.learning.strategies import KNOWN
from manytruths.learning.trained_network import Recipe
from training_folders import small_plan, write_training

CPU = torch.device("cpu")
START = torch.tensor([[0.95, 0.05], [0.05, 0.95]])
RATE = 1e-3
EPOCHS = 8
"""The first two of which are a quarter."""


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    return read_frames(write_training(tmp_path_factory.mktemp("pace")).open(), None)


class Seen:
    """What the checkpoint of every epoch holds; ``last`` stops the run after that one."""

    def __init__(self, folder, last=None):
        self.folder, self.last, self.epochs, self.ticks = folder, last, [], 0

    def __call__(self):
        self.ticks += 1
        path = self.folder / CHECKPOINT
        if self.ticks < EPOCHS and path.is_file():
            self.epochs.append(torch.load(path, weights_only=True))
        if self.ticks == self.last:
            raise KeyboardInterrupt

    @property
    def free(self):
        """The matrices' numbers after each epoch but the last."""
        return [state["loss"]["free"] for state in self.epochs]

    def rates(self, group):
        """The learning rates of the network (0) or the matrices (1)."""
        return [state["optimizer"]["param_groups"][group]["lr"] for state in self.epochs]


def trained(frames, folder, tick=lambda: None, **changes):
    own, scaling = frames
    strategy = replace(KNOWN["confusion"], **changes)
    plan = small_plan(epochs=EPOCHS, learning_rate=RATE, every=0).schedule
    recipe = Recipe(
        "unet", 1, plan.width, 1, (0, 1), ("background", "1"), None, scaling, *own.moments(), "confusion", 0, own.raters
    )
    return fit(strategy, recipe, own, plan, folder, CPU, key="k", tick=tick)


def matrices(folder):
    """(rater, truth, given), as they were written."""
    with open(folder / CONFUSION, newline="") as stream:
        rates = [float(row["rate"]) for row in csv.DictReader(stream)]
    return torch.tensor(rates).reshape(-1, 2, 2)


def losses(folder):
    with open(folder / LOG, newline="") as stream:
        return [(row["learning_rate"], row["loss"]) for row in csv.DictReader(stream)]


def weights(one):
    return torch.cat([value.flatten() for value in one.net.parameters()])


@pytest.fixture(scope="module")
def whole(frames, tmp_path_factory):
    """A run, its folder, and its checkpoints."""
    folder = tmp_path_factory.mktemp("whole")
    seen = Seen(folder)
    return trained(frames, folder, seen), folder, seen


def test_rates_of_epochs_with_a_pace_and_a_start():
    schedule = Schedule(epochs=8, learning_rate=1e-3)
    assert [schedule.rate(epoch) for epoch in range(8)] == pytest.approx([1e-3] * 4 + [1e-4] * 4)
    later = [schedule.rate(epoch, pace=10.0, warm_up=0.25) for epoch in range(8)]
    assert later == pytest.approx([0, 0] + [1e-2] * 2 + [1e-3] * 4)
    assert later[:2] == [0, 0]
    assert [schedule.rate(epoch, 3.0, 0.5) for epoch in (3, 4)] == pytest.approx([0, 3e-4])
    assert [schedule.rate(epoch, 1.0, 1.0) for epoch in range(8)] == [0] * 8


@pytest.mark.parametrize(("epochs", "still"), [(1, 1), (2, 1), (4, 1), (5, 2), (20, 5), (80, 20)])
def test_a_quarter_that_is_no_whole_number_of_epochs_is_rounded_up(epochs, still):
    """One epoch is never enough to wait and to learn."""
    rates = [Schedule(epochs=epochs).rate(epoch, warm_up=0.25) for epoch in range(epochs)]
    assert sum(rate == 0 for rate in rates) == still
    assert rates[:still] == [0] * still


def test_only_confusion_matrices_have_a_pace_of_their_own():
    own = {name: (one.pace, one.warm_up) for name, one in KNOWN.items() if (one.pace, one.warm_up) != (1, 0)}
    assert own == {"confusion": (10, 0.25)}


def test_matrices_stay_as_they_are_and_then_move(whole):
    _, folder, seen = whole
    first, second, third = seen.free[:3]
    assert torch.equal(first, second)
    assert torch.allclose(torch.softmax(first, dim=-1), START.expand(3, 2, 2), atol=1e-6)
    assert (third != second).all()
    moved = [(after - before).abs().max() for before, after in zip(seen.free[1:], seen.free[2:], strict=False)]
    assert all(step > 0 for step in moved)
    assert (matrices(folder) - START).abs().max() > 0.005
    assert torch.allclose(matrices(folder).sum(dim=-1), torch.ones(3, 2))


def test_rates_in_a_run_are_those_of_the_schedule(whole):
    _, folder, seen = whole
    assert seen.rates(0) == pytest.approx([RATE] * 4 + [RATE / 10] * 3)
    assert seen.rates(1) == pytest.approx([0] * 2 + [10 * RATE] * 2 + [RATE] * 3)
    assert [float(rate) for rate, _ in losses(folder)] == pytest.approx([RATE] * 4 + [RATE / 10] * 4)


def test_a_larger_pace_moves_matrices_farther(tmp_path, frames, whole):
    trained(frames, tmp_path, pace=1.0)
    slow, fast = ((matrices(folder) - START).abs().max() for folder in (tmp_path, whole[1]))
    assert 0 < 4 * slow < fast


def test_the_network_takes_the_same_steps_until_the_matrices_move(tmp_path, frames, whole):
    """Another pace changes nothing of the network's own rate, nor of its steps while the matrices wait."""
    seen = Seen(tmp_path)
    trained(frames, tmp_path, seen, pace=3.0)
    assert seen.rates(0) == whole[2].rates(0)
    pairs = zip(seen.epochs, whole[2].epochs, strict=True)
    same = [all(torch.equal(one["net"][name], other["net"][name]) for name in one["net"]) for one, other in pairs]
    assert same == [True, True, *[False] * 5]


@pytest.mark.parametrize("last", [1, 2, 3, 5])
def test_a_run_killed_in_the_warm_up_or_after_goes_on_at_its_pace(tmp_path, frames, whole, last):
    with pytest.raises(KeyboardInterrupt):
        trained(frames, tmp_path, Seen(tmp_path, last))
    seen = Seen(tmp_path)
    again = trained(frames, tmp_path, seen)
    assert torch.equal(weights(again), weights(whole[0]))
    assert torch.equal(matrices(tmp_path), matrices(whole[1]))
    assert losses(tmp_path) == losses(whole[1])
    assert [group["pace"] for group in seen.epochs[-1]["optimizer"]["param_groups"]] == [1, 10]
    assert [group["warm_up"] for group in seen.epochs[-1]["optimizer"]["param_groups"]] == [0, 0.25]
