"""One training run: from frames to a trained network, with augmentation and checkpoints.

All randomness of an epoch depends on the seed and the epoch alone, so that a run which was interrupted and resumes from
its checkpoint takes the same steps as one that was not.

**Augmentation.** Zeng et al. scale by 0.8 to 1.2, rotate by up to 30° and shift brightness, contrast and saturation by
up to 0.1.

**CUDA graphs.** A step on a small network is some hundreds of small kernels, whose launch takes longer than their
computation. So the first steps run as usual, one is recorded as a CUDA graph, and the rest are replays of it: the same
kernels on the same memory, into which only the rows of the batch and its random changes are copied.
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
from torch.nn import functional as F

from ..core.errors import CallError, FormatError, InputError
from ..core.labels import VOID
from ..io import write_csv
from .frames import Frames
from .losses import ConfusionMatrixLoss
from .strategies import Strategy
from .trained_network import Recipe, TrainedNetwork, load, save

GREY = (0.299, 0.587, 0.114)
"""Luminance of red, green and blue."""
WARM_UP_STEPS = 3
"""Steps before the recording, in which libraries choose their kernels and the optimiser allocates its memory."""
CHANGES = 5
"""Random numbers that change an image."""
CHECKPOINT = "checkpoint.pt"
LOG = "log.csv"
CONFUSION = "confusion.csv"
PARTS = ("net", "loss", "optimizer")
"""What a checkpoint holds besides the history."""
MAX_LEARNING_RATE = 1e36
"""Larger steps overflow in float32."""


@dataclass(frozen=True)
class Augmentation:
    """Random changes of images and their annotations, each drawn uniformly within ± the given limit.

    Parameters
    ----------
    scale : float
        Largest relative change of size, from 0 to below 1.
    rotation : float
        Largest rotation, in degrees.
    brightness, contrast, saturation : float
        Largest changes of intensities, for images from 0 to 1.

    References
    ----------
    Zeng D et al. Segmentation with multiple acceptable annotations. IPMI 2021, LNCS 12729.
    doi:10.1007/978-3-030-78191-0_37 (whose values are the defaults)
    """

    scale: float = 0.2
    rotation: float = 30.0
    brightness: float = 0.1
    contrast: float = 0.1
    saturation: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.scale < 1:
            raise CallError(f"scale must be from 0 to below 1; got {self.scale}")

    def draw(self, images: int, generator: torch.Generator) -> Tensor:
        """(images, 5): random scale, angle, brightness, contrast and saturation of each image."""
        reach = [self.scale, math.radians(self.rotation), self.brightness, self.contrast, self.saturation]
        return (2 * torch.rand((images, CHANGES), generator=generator) - 1) * torch.tensor(reach)

    @property
    def moves(self) -> bool:
        """Whether pixels move at all."""
        return bool(self.scale or self.rotation)

    def __call__(self, images: Tensor, annotations: Tensor, drawn: Tensor) -> tuple[Tensor, Tensor]:
        """Change images (N, C, H, W) from 0 to 1 and label codes (N, R, H, W) as drawn."""
        if self.moves:
            grid = _sampling_grid(drawn, images)
            images, annotations = _warp(images, grid), _warp_codes(annotations, grid)
        return _change_intensities(images, drawn), annotations


def _sampling_grid(drawn: Tensor, images: Tensor) -> Tensor:
    """Where each pixel comes from; rotated in pixels, so that circles stay round in images that are not square."""
    height, width = images.shape[2:]
    size = 1 / (1 + drawn[:, 0])
    cos, sin = size * drawn[:, 1].cos(), size * drawn[:, 1].sin()
    zero = torch.zeros_like(cos)
    first = torch.stack([cos, -sin * (height / width), zero], dim=1)
    second = torch.stack([sin * (width / height), cos, zero], dim=1)
    return F.affine_grid(torch.stack([first, second], dim=1), [len(drawn), 1, height, width], align_corners=False)


def _warp(images: Tensor, grid: Tensor) -> Tensor:
    return F.grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


def _warp_codes(codes: Tensor, grid: Tensor) -> Tensor:
    """Nearest neighbour; pixels from outside the image are background for all raters of the image.

    Probabilities are moved in the same way: outside, those of all labels but background are 0.
    """
    absent = (codes == VOID).flatten(2).all(dim=2)
    from_one = F.grid_sample(codes.float() + 1, grid, mode="nearest", padding_mode="zeros", align_corners=False)
    moved = (from_one - 1).clamp(min=0).to(codes.dtype)
    return torch.where(absent[:, :, None, None], VOID, moved)


def _change_intensities(images: Tensor, drawn: Tensor) -> Tensor:
    bright, contrast, colour = (drawn[:, k, None, None, None] for k in (2, 3, 4))
    if images.shape[1] == 3:
        grey = sum(share * images[:, k : k + 1] for k, share in enumerate(GREY))
        images = grey + (images - grey) * (1 + colour)
    mean = images.mean(dim=(1, 2, 3), keepdim=True)
    return (mean + (images - mean) * (1 + contrast) + bright).clamp(0, 1)


Step = Callable[[Tensor, Tensor], Tensor]
"""Maps the rows of a batch, and the random numbers of each (its changes, then those of the loss), to the loss."""


# -- CUDA graphs -----------------------------------------------------------------------------------


class RecordedStep:
    """A step that is recorded as a CUDA graph after its warm-up; batches of another size run as usual."""

    def __init__(self, step: Step, batch: int, drawn: int, device: torch.device) -> None:
        self.step, self.batch = step, batch
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self.rows = torch.zeros(batch, dtype=torch.long, device=device)
        self.drawn = torch.zeros(batch, drawn, device=device)
        self.warmed_up = 0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.loss = torch.zeros((), device=device)

    def __call__(self, rows: Tensor, drawn: Tensor) -> Tensor:
        """Run the step."""
        if len(rows) != self.batch:
            return self.step(rows, drawn)
        if self.warmed_up < WARM_UP_STEPS:
            return self._warm_up(rows, drawn)
        if self.graph is None:
            self._record()
        assert self.graph is not None
        self.rows.copy_(rows)
        self.drawn.copy_(drawn)
        self.graph.replay()
        return self.loss.clone()

    def _warm_up(self, rows: Tensor, drawn: Tensor) -> Tensor:
        """Run as usual, but on another stream, as recording requires."""
        self.warmed_up += 1
        here = torch.cuda.current_stream()
        self.stream.wait_stream(here)
        with torch.cuda.stream(self.stream):
            loss = self.step(rows, drawn)
        here.wait_stream(self.stream)
        return loss

    def _record(self) -> None:
        """Record the graph; nothing is computed yet."""
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.step(self.rows, self.drawn)


Tick = Callable[[], None]
"""Called after every epoch."""


# -- training --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Schedule:
    """How to train one network; the defaults are those of Zeng et al.

    Parameters
    ----------
    epochs : int
        Number of passes over all images.
    batch : int
        Images in each step.
    learning_rate : float
        Of Adam in the first half of the epochs; a tenth of it in the second half.
    augmentation : Augmentation
        Random changes of the images.
    precision : {"auto", "float32", "bfloat16"}
        Of forward passes; ``auto`` is bfloat16 on a GPU and float32 elsewhere.
    width : int
        Channels of the network's first level.
    every : float
        Seconds between checkpoints.

    References
    ----------
    Zeng D et al. Segmentation with multiple acceptable annotations. IPMI 2021, LNCS 12729.
    doi:10.1007/978-3-030-78191-0_37
    """

    epochs: int = 20
    batch: int = 5
    learning_rate: float = 2e-4
    augmentation: Augmentation = field(default_factory=Augmentation)
    precision: str = "auto"
    width: int = 32
    every: float = 60.0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "width"):
            if getattr(self, name) < 1:
                raise CallError(f"{name} must be 1 or more; got {getattr(self, name)}")
        if not 0 < self.learning_rate <= MAX_LEARNING_RATE:
            raise CallError(
                f"learning_rate must be above 0 and at most {MAX_LEARNING_RATE:g}; got {self.learning_rate}"
            )
        if self.precision not in ("auto", "float32", "bfloat16"):
            raise CallError(f"precision must be auto, float32 or bfloat16; got {self.precision!r}")

    def rate(self, epoch: int, pace: float = 1.0, warm_up: float = 0.0) -> float:
        """Learning rate of an epoch, for parameters with a warm-up and a relative pace."""
        if epoch < warm_up * self.epochs:
            return 0.0
        return pace * (self.learning_rate if 2 * epoch < self.epochs else self.learning_rate / 10)

    def autocast(self, device: torch.device) -> AbstractContextManager[Any]:
        """The context of forward passes."""
        wanted = self.precision == "bfloat16" or (self.precision == "auto" and device.type == "cuda")
        # a recorded step would keep the cached weights
        return torch.autocast(device.type, torch.bfloat16, cache_enabled=False) if wanted else nullcontext()


@dataclass
class State:
    """The state of a run at the end of an epoch."""

    net: nn.Module
    loss: nn.Module
    optimizer: torch.optim.Optimizer
    history: list[tuple[int, float, float, float]] = field(default_factory=list)
    """Epoch, learning rate, mean loss, seconds."""

    def write(self, path: Path, key: str) -> None:
        parts = {name: getattr(self, name).state_dict() for name in PARTS}
        save(path, {"key": key, "history": self.history, **parts})

    def resume(self, path: Path, key: str, device: torch.device) -> None:
        """Load a checkpoint, if there is a complete one of the same run."""
        try:
            checkpoint = load(path, device)
        except FormatError:
            return
        if not isinstance(checkpoint, dict) or checkpoint.get("key") != key:
            return
        start = {name: deepcopy(getattr(self, name).state_dict()) for name in PARTS}
        try:
            self._load(checkpoint)
            self.history = [tuple(row) for row in checkpoint["history"]]
        except (KeyError, RuntimeError, TypeError, ValueError):
            self._load(start)

    def _load(self, parts: dict[str, Any]) -> None:
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
) -> TrainedNetwork:
    """Train, resuming from a checkpoint of the same ``key``; log and checkpoints are written to the folder."""
    state = _initial_state(strategy, recipe, frames, schedule, device)
    state.resume(folder / CHECKPOINT, key, device)
    for _ in state.history:
        tick()
    data = _Data.of(strategy, recipe, frames.to(device), schedule, device)
    step = data.record(
        lambda rows, drawn: _step(state, schedule, *data.batch(rows, drawn[:, :CHANGES]), drawn[:, CHANGES:])
    )
    saved = -math.inf
    for epoch in range(len(state.history), schedule.epochs):
        _run_epoch(state, step, data, epoch, folder)
        write_csv(folder / LOG, [row[:3] for row in state.history], ("epoch", "learning_rate", "loss"))
        if time.monotonic() - saved >= schedule.every and epoch + 1 < schedule.epochs:
            state.write(folder / CHECKPOINT, key)
            saved = time.monotonic()
        tick()
    if isinstance(state.loss, ConfusionMatrixLoss):
        write_csv(folder / CONFUSION, _confusion_rows(state.loss, recipe), ("rater", "truth", "given", "rate"))
    return TrainedNetwork(recipe, state.net.eval(), tuple(row[3] for row in state.history))


def _confusion_rows(loss: ConfusionMatrixLoss, recipe: Recipe) -> Iterator[tuple[str, str, str, float]]:
    """The rate at which each rater gives each label to pixels of each true label."""
    for rater, matrix in zip(recipe.raters, loss.matrices.tolist(), strict=True):
        for truth, row in zip(recipe.names, matrix, strict=True):
            yield from ((rater, truth, given, rate) for given, rate in zip(recipe.names, row, strict=True))


def _initial_state(
    strategy: Strategy, recipe: Recipe, frames: Frames, schedule: Schedule, device: torch.device
) -> State:
    """All strategies of a seed start with the same weights, except where their outputs differ."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        net = recipe.build().to(device)
        net = net.to(memory_format=memory_layout(device))  # type: ignore[call-overload]
        loss = strategy.build(len(frames.raters), len(frames.labels)).to(device)
    fast = device.type == "cuda"
    groups: list[dict[str, Any]] = [{"params": list(net.parameters()), "pace": 1.0, "warm_up": 0.0}]
    if parameters := list(loss.parameters()):
        groups.append({"params": parameters, "pace": strategy.pace, "warm_up": strategy.warm_up})
    for group in groups:
        group["lr"] = torch.zeros((), device=device) if fast else 0.0
    optimizer = torch.optim.Adam(groups, fused=fast, capturable=fast)
    return State(net.train(), loss.train(), optimizer)


def memory_layout(device: torch.device) -> torch.memory_format:
    """Channels last for tensor cores; on CPUs, narrow atrous convolutions in that layout crash PyTorch 2.13."""
    return torch.channels_last if device.type == "cuda" else torch.contiguous_format


@dataclass(frozen=True)
class _Data:
    """The data of a run, on the device where possible."""

    recipe: Recipe
    schedule: Schedule
    names: tuple[str, ...]
    images: Tensor
    targets: Tensor
    complete: bool
    moments: Tensor
    """(2, channels, 1, 1): mean and standard deviation, on the device."""
    noise: int
    """Random numbers that the loss takes for each image."""

    @classmethod
    def of(cls, strategy: Strategy, recipe: Recipe, frames: Frames, schedule: Schedule, device: torch.device) -> _Data:
        """Prepare what is constant over all steps."""
        targets = strategy.targets(frames.annotations, len(frames.labels))
        rated = (targets != VOID).flatten(1).any(dim=1)
        if not rated.any():
            raise InputError(
                f"{strategy.title}: none of the training cases was rated by the raters that this strategy uses"
            )
        names = tuple(name for name, known in zip(frames.names, rated.tolist(), strict=True) if known)
        images, targets = (frames.images, targets) if rated.all() else (frames.images[rated], targets[rated])
        complete = not bool((targets == VOID).any())
        moments = torch.tensor([recipe.mean, recipe.std], device=device)[:, :, None, None]
        return cls(recipe, schedule, names, images, targets, complete, moments, strategy.noise)

    @property
    def device(self) -> torch.device:
        """Where steps run; the images may be elsewhere."""
        return self.moments.device

    def record(self, step: Step) -> Step:
        """The step, recorded as a CUDA graph where that is possible."""
        there = self.device.type == "cuda" and self.images.device == self.device
        return RecordedStep(step, self.schedule.batch, CHANGES + self.noise, self.device) if there else step

    def draw(self, generator: torch.Generator) -> Tensor:
        """(images, random numbers): the changes of each image, then what the loss takes."""
        changes = self.schedule.augmentation.draw(len(self.names), generator)
        noise = torch.randn((len(self.names), self.noise), generator=generator)
        return torch.cat([changes, noise], dim=1).to(self.device)

    def batch(self, rows: Tensor, drawn: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Normalised images, targets, and who rated what."""
        images, targets = (part[rows].to(self.device) for part in (self.images, self.targets))
        images = images.float() / 255 if images.dtype == torch.uint8 else images
        images, targets = self.schedule.augmentation(images, targets, drawn)
        inputs = ((images - self.moments[0]) / self.moments[1]).contiguous(memory_format=memory_layout(self.device))
        if self.complete:
            return inputs, targets, None
        present = targets != VOID
        return inputs, torch.where(present, targets, 0), present


def _run_epoch(state: State, step: Step, data: _Data, epoch: int, folder: Path) -> None:
    """Train on every image once, in an order given by the seed and the epoch."""
    began, schedule = time.monotonic(), data.schedule
    generator = torch.Generator().manual_seed(1_000_003 * data.recipe.seed + epoch)
    order = torch.randperm(len(data.names), generator=generator)
    drawn = data.draw(generator)
    rows = order.to(data.images.device)
    for group in state.optimizer.param_groups:
        rate = schedule.rate(epoch, group["pace"], group["warm_up"])
        # a recorded step reads the rate from this tensor
        group["lr"] = group["lr"].fill_(rate) if data.device.type == "cuda" else rate
    losses = []
    for start in range(0, len(order), schedule.batch):
        here = slice(start, start + schedule.batch)
        losses.append(step(rows[here], drawn[here]))
    each = torch.stack(losses).float().cpu()
    if not each.isfinite().all():
        bad = int((~each.isfinite()).nonzero()[0])
        cases = [data.names[i] for i in order[bad * schedule.batch : (bad + 1) * schedule.batch].tolist()]
        raise _not_finite(float(each[bad]), epoch, bad, cases, data.recipe, folder)
    state.history.append((epoch + 1, schedule.rate(epoch), float(each.mean()), round(time.monotonic() - began, 3)))


def _step(
    state: State, schedule: Schedule, images: Tensor, targets: Tensor, present: Tensor | None, noise: Tensor
) -> Tensor:
    """One optimiser step; the loss is not read before the epoch ends, so that the GPU need not wait."""
    with schedule.autocast(images.device):
        outputs = state.net(images)
    extra = (noise,) if noise.shape[1] else ()
    loss: Tensor = state.loss(outputs.float(), targets, present, *extra)
    state.optimizer.zero_grad(set_to_none=True)
    torch.autograd.backward(loss)
    state.optimizer.step()
    return loss.detach()


def _not_finite(loss: float, epoch: int, step: int, cases: list[str], recipe: Recipe, folder: Path) -> InputError:
    path = folder / CHECKPOINT
    checkpoint = f"the last checkpoint is {path}" if path.is_file() else "there is no earlier checkpoint"
    return InputError(
        f"{recipe.network}, {recipe.strategy}, seed {recipe.seed}: the loss is {loss} in epoch {epoch + 1}, step "
        f"{step + 1}, for the cases {', '.join(cases)}; {checkpoint}. Check these images and masks, lower "
        "--learning-rate, or use --precision float32"
    )
