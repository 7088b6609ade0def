"""One training run: from frames to a trained network, with checkpoints to go on from.

What is random in an epoch depends on the seed and the epoch alone, so that a run that was killed and goes on from its
checkpoint takes the same steps as one that was not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..core.errors import CallError, FormatError, InputError
from ..core.labels import VOID
from ..io import write_csv
from .augmentation import Augmentation
from .confusion import ConfusionMatrixLoss
from .frames import Frames
from .recording import Recorded, Step
from .strategies import Strategy
from .trained import Recipe, Trained, load, save

CHECKPOINT = "checkpoint.pt"
LOG = "log.csv"
CONFUSION = "confusion.csv"
PARTS = ("net", "loss", "optimizer")
"""Of a state, what a checkpoint holds beside the history."""
FASTEST = 1e36
"""Learning rate: steps beyond it do not fit into 32 bits."""
Tick = Callable[[], None]
"""Called after every epoch."""


@dataclass(frozen=True)
class Schedule:
    """How to train; Zeng et al.'s as it comes."""

    epochs: int = 20
    batch: int = 5
    learning_rate: float = 2e-4
    """For the first half of the epochs; a tenth of it for the rest."""
    augmentation: Augmentation = field(default_factory=Augmentation)
    precision: str = "auto"
    """``float32``, ``bfloat16`` where it is safe, or ``auto``: bfloat16 on a GPU."""
    width: int = 32
    """Channels of a network's first level."""
    every: float = 60.0
    """Seconds between checkpoints."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "width"):
            if getattr(self, name) < 1:
                raise CallError(f"{name} is 1 or more; got {getattr(self, name)}")
        if not 0 < self.learning_rate <= FASTEST:
            raise CallError(f"the learning rate is above 0 and no more than {FASTEST:g}; got {self.learning_rate}")
        if self.precision not in ("auto", "float32", "bfloat16"):
            raise CallError(f"precision is auto, float32 or bfloat16; got {self.precision!r}")

    def rate(self, epoch: int, pace: float = 1.0, warm_up: float = 0.0) -> float:
        """The learning rate of an epoch; of parameters that start later, and have a pace of their own."""
        if epoch < warm_up * self.epochs:
            return 0.0
        return pace * (self.learning_rate if 2 * epoch < self.epochs else self.learning_rate / 10)

    def casting(self, device: torch.device) -> AbstractContextManager[Any]:
        """The context that forward passes run in."""
        wanted = self.precision == "bfloat16" or (self.precision == "auto" and device.type == "cuda")
        # a cache of weights in 16 bits would be recorded as it was
        return torch.autocast(device.type, torch.bfloat16, cache_enabled=False) if wanted else nullcontext()


@dataclass
class State:
    """All that a run is at the end of an epoch."""

    net: nn.Module
    loss: nn.Module
    optimizer: torch.optim.Optimizer
    history: list[tuple[int, float, float, float]] = field(default_factory=list)
    """Epoch, learning rate, mean loss, seconds."""

    def write(self, path: Path, key: str) -> None:
        parts = {name: getattr(self, name).state_dict() for name in PARTS}
        save(path, {"key": key, "history": self.history, **parts})

    def resume(self, path: Path, key: str, device: torch.device) -> None:
        """Go on from a checkpoint, where there is a whole one of the same run."""
        try:
            whole = load(path, device)
        except FormatError:
            return
        if not isinstance(whole, dict) or whole.get("key") != key:
            return
        start = {name: deepcopy(getattr(self, name).state_dict()) for name in PARTS}
        try:
            self._take(whole)
            self.history = [tuple(row) for row in whole["history"]]
        except (KeyError, RuntimeError, TypeError, ValueError):
            self._take(start)

    def _take(self, parts: dict[str, Any]) -> None:
        for name in PARTS:
            getattr(self, name).load_state_dict(parts[name])


def fit(
    strategy: Strategy,
    recipe: Recipe,
    frames: Frames,
    schedule: Schedule,
    folder: Path,
    device: torch.device,
    *,
    key: str = "",
    tick: Tick = lambda: None,
) -> Trained:
    """Train, or go on training from a checkpoint of the same ``key``; the folder gets a log and the checkpoints."""
    state = _begin(strategy, recipe, frames, schedule, device)
    state.resume(folder / CHECKPOINT, key, device)
    for _ in state.history:
        tick()
    data = _Data.of(strategy, recipe, frames.to(device), schedule, device)
    step = data.repeated(lambda rows, drawn: _step(state, schedule, *data.batch(rows, drawn)))
    saved = -math.inf
    for epoch in range(len(state.history), schedule.epochs):
        _epoch(state, step, data, epoch, folder)
        write_csv(folder / LOG, [row[:3] for row in state.history], ("epoch", "learning_rate", "loss"))
        if time.monotonic() - saved >= schedule.every and epoch + 1 < schedule.epochs:
            state.write(folder / CHECKPOINT, key)
            saved = time.monotonic()
        tick()
    if isinstance(state.loss, ConfusionMatrixLoss):
        write_csv(folder / CONFUSION, _matrices(state.loss, recipe), ("rater", "truth", "given", "rate"))
    return Trained(recipe, state.net.eval(), tuple(row[3] for row in state.history))


def _matrices(loss: ConfusionMatrixLoss, recipe: Recipe) -> Iterator[tuple[str, str, str, float]]:
    """How often each rater gives each label to what is, to the network, each label."""
    for rater, matrix in zip(recipe.raters, loss.matrices.tolist(), strict=True):
        for truth, row in zip(recipe.names, matrix, strict=True):
            yield from ((rater, truth, given, rate) for given, rate in zip(recipe.names, row, strict=True))


def _begin(strategy: Strategy, recipe: Recipe, frames: Frames, schedule: Schedule, device: torch.device) -> State:
    """The same start for every strategy of a seed, but for what their outputs differ in."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        net = recipe.build().to(device)
        net = net.to(memory_format=layout(device))  # type: ignore[call-overload]
        loss = strategy.build(len(frames.raters), len(frames.labels)).to(device)
    fast = device.type == "cuda"
    groups: list[dict[str, Any]] = [{"params": list(net.parameters()), "pace": 1.0, "warm_up": 0.0}]
    if own := list(loss.parameters()):
        groups.append({"params": own, "pace": strategy.pace, "warm_up": strategy.warm_up})
    for group in groups:
        group["lr"] = torch.zeros((), device=device) if fast else 0.0
    optimizer = torch.optim.Adam(groups, fused=fast, capturable=fast)
    return State(net.train(), loss.train(), optimizer)


def layout(device: torch.device) -> torch.memory_format:
    """Channels last is what tensor cores want; on CPUs narrow atrous convolutions of that layout crash PyTorch 2.13."""
    return torch.channels_last if device.type == "cuda" else torch.contiguous_format


@dataclass(frozen=True)
class _Data:
    """What a run is trained on."""

    recipe: Recipe
    schedule: Schedule
    names: tuple[str, ...]
    images: Tensor
    targets: Tensor
    complete: bool
    moments: Tensor
    """(2, channels, 1, 1): mean and standard deviation, on the device."""

    @classmethod
    def of(cls, strategy: Strategy, recipe: Recipe, frames: Frames, schedule: Schedule, device: torch.device) -> _Data:
        """Everything that stays the same from step to step."""
        targets = strategy.targets(frames.annotations, len(frames.labels))
        rated = (targets != VOID).flatten(1).any(dim=1)
        if not rated.any():
            raise InputError(f"{strategy.title}: nobody whom it learns from rated any of the cases to train on")
        names = tuple(name for name, known in zip(frames.names, rated.tolist(), strict=True) if known)
        images, targets = (frames.images, targets) if rated.all() else (frames.images[rated], targets[rated])
        complete = not bool((targets == VOID).any())
        moments = torch.tensor([recipe.mean, recipe.std], device=device)[:, :, None, None]
        return cls(recipe, schedule, names, images, targets, complete, moments)

    @property
    def device(self) -> torch.device:
        """Where steps are done; the images may lie elsewhere."""
        return self.moments.device

    def repeated(self, step: Step) -> Step:
        """The step, recorded where that helps."""
        there = self.device.type == "cuda" and self.images.device == self.device
        return Recorded(step, self.schedule.batch, self.device) if there else step

    def batch(self, rows: Tensor, drawn: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Images as the network takes them, targets, and who rated what."""
        images, targets = (part[rows].to(self.device) for part in (self.images, self.targets))
        images = images.float() / 255 if images.dtype == torch.uint8 else images
        images, targets = self.schedule.augmentation(images, targets, drawn)
        fed = ((images - self.moments[0]) / self.moments[1]).contiguous(memory_format=layout(self.device))
        if self.complete:
            return fed, targets, None
        present = targets != VOID
        return fed, torch.where(present, targets, 0), present


def _epoch(state: State, step_on: Step, data: _Data, epoch: int, folder: Path) -> None:
    """All images once, in an order of the seed and the epoch."""
    began, schedule = time.monotonic(), data.schedule
    generator = torch.Generator().manual_seed(1_000_003 * data.recipe.seed + epoch)
    order = torch.randperm(len(data.names), generator=generator)
    drawn = schedule.augmentation.draw(len(data.names), generator).to(data.device)
    rows = order.to(data.images.device)
    for group in state.optimizer.param_groups:
        rate = schedule.rate(epoch, group["pace"], group["warm_up"])
        # a record holds the place of the rate, not its value
        group["lr"] = group["lr"].fill_(rate) if data.device.type == "cuda" else rate
    losses = []
    for start in range(0, len(order), schedule.batch):
        here = slice(start, start + schedule.batch)
        losses.append(step_on(rows[here], drawn[here]))
    each = torch.stack(losses).float().cpu()
    if not each.isfinite().all():
        step = int((~each.isfinite()).nonzero()[0])
        cases = [data.names[i] for i in order[step * schedule.batch : (step + 1) * schedule.batch].tolist()]
        _not_finite(float(each[step]), epoch, step, cases, data.recipe, folder)
    state.history.append((epoch + 1, schedule.rate(epoch), float(each.mean()), round(time.monotonic() - began, 3)))


def _step(state: State, schedule: Schedule, images: Tensor, targets: Tensor, present: Tensor | None) -> Tensor:
    """One step down; the loss is not looked at before the epoch ends, so that a GPU need not wait."""
    with schedule.casting(images.device):
        outputs = state.net(images)
    loss: Tensor = state.loss(outputs.float(), targets, present)
    state.optimizer.zero_grad(set_to_none=True)
    torch.autograd.backward(loss)
    state.optimizer.step()
    return loss.detach()


def _not_finite(loss: float, epoch: int, step: int, cases: list[str], recipe: Recipe, folder: Path) -> None:
    path = folder / CHECKPOINT
    kept = f"the checkpoint before it is kept in {path}" if path.is_file() else "there is no checkpoint before it"
    raise InputError(
        f"{recipe.network}, {recipe.strategy}, seed {recipe.seed}: the loss is {loss} in epoch {epoch + 1}, step "
        f"{step + 1}, with the cases {', '.join(cases)}; {kept}. Look at these images and masks, lower "
        "--learning-rate, or use --precision float32"
    )
