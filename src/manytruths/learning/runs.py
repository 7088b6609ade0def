"""The runs of a study: every network under every strategy from every seed, one after the other or several at once."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from torch.nn import functional as F

from ..core.errors import CallError, InputError
from ..io import safe_name, write_json, write_map
from ..study.processes import begin_process, hold_signals
from .fitting import CHECKPOINT, Schedule, Tick, fit
from .frames import Frames
from .scaling import Scaling, smaller
from .strategies import KNOWN, Strategy, strategies
from .trained import Recipe, Trained

NETWORK = "network.pt"
DONE = "run.json"
EPOCH, END = b".", b"!"
"""What processes tell each other."""


@dataclass(frozen=True)
class Run:
    """One network, trained one way from one seed, on all but one fold."""

    network: str
    strategy: str
    seed: int
    fold: int = 0

    @property
    def name(self) -> str:
        """As its predictions are called; folds predict different cases."""
        return f"{self.network}-{self.strategy}-{self.seed}"

    def folder(self, home: Path) -> Path:
        return home / "runs" / self.network / self.strategy / f"seed-{self.seed}" / f"fold-{self.fold}"


@dataclass(frozen=True)
class Bench:
    """What all runs share."""

    frames: Frames
    folds: tuple[Mapping[str, str], ...]
    """Of each fold: ``train`` or ``test`` by case; a case may be in neither."""
    scaling: Scaling
    size: int | None
    schedule: Schedule
    key: str
    """Of data, folds and schedule: a checkpoint of another key is of no use."""
    home: Path
    suffix: str
    """The ending of the predictions."""

    def part(self, fold: int, part: str) -> Frames:
        """The cases to train on, or to test on."""
        return self.frames.select([name for name, own in self.folds[fold].items() if own == part])

    @property
    def tested(self) -> list[str]:
        """The cases that any fold tests on."""
        return [n for n in self.frames.names if any(fold.get(n) == "test" for fold in self.folds)]

    def recipe(self, run: Run, strategy: Strategy, train: Frames) -> Recipe:
        """What a run's network is fed with, and gives."""
        raters, labels, schedule = train.raters, train.labels, self.schedule
        told = {"epochs": schedule.epochs, "batch": schedule.batch, "learning_rate": schedule.learning_rate}
        return Recipe(
            run.network, train.channels, schedule.width, strategy.outputs(len(raters), len(labels)),
            labels.values, labels.names, self.size, self.scaling, *train.moments(),
            run.strategy, run.seed, raters, {**told, "fold": run.fold},
        )  # fmt: skip

    def is_done(self, run: Run) -> bool:
        """Whether an earlier call finished this run, of the same data; ``run.json`` is written last."""
        tested = [name for name, part in self.folds[run.fold].items() if part == "test"]
        there = all(self.prediction(run, name).is_file() for name in tested)
        return there and told(run.folder(self.home) / DONE).get("key") == self.key_of(run)

    def key_of(self, run: Run) -> str:
        """That of all runs, and what a strategy adds to the schedule."""
        own = KNOWN.get(run.strategy)
        return self.key if own is None or own.pace == 1 else f"{self.key} pace {own.pace:g}, warm-up {own.warm_up:g}"

    def prediction(self, run: Run, case: str) -> Path:
        return self.home / "predictions" / run.name / f"{safe_name(case)}{self.suffix}"


def told(path: Path) -> dict[str, Any]:
    """What an earlier call wrote; nothing where there is no such file, or a damaged one."""
    try:
        found = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def device_of(name: str) -> torch.device:
    """``auto``: a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise CallError("PyTorch sees no GPU here; use --device cpu, or install a PyTorch with CUDA")
    try:
        found = torch.device(name)
    except RuntimeError:
        found = torch.device("meta")
    if found.type not in ("cpu", "cuda") or (found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count()):
        raise CallError(f"device is auto, cpu, cuda or one of several, as cuda:1; got {name!r}")
    return found


def work_off(bench: Bench, runs: Sequence[Run], device: torch.device, at_once: int, tick: Tick) -> None:
    """Train what is not done yet, and predict the test cases with it."""
    left = [run for run in runs if not bench.is_done(run)]
    for _ in range((len(runs) - len(left)) * bench.schedule.epochs):
        tick()
    if at_once < 2 or len(left) < 2:
        bench_there = _moved(bench, device)
        for run in left:
            work(bench_there, run, device, tick)
        return
    _together(bench, left, device, min(at_once, len(left)), tick)


def work(bench: Bench, run: Run, device: torch.device, tick: Tick = lambda: None) -> None:
    """One run: train, save, predict, and say that it is done."""
    if device.type == "cuda":
        torch.backends.cudnn.benchmark = True
    folder, train, test = run.folder(bench.home), bench.part(run.fold, "train"), bench.part(run.fold, "test")
    strategy = next(s for s in strategies(list(KNOWN), train.raters) if s.name == run.strategy)
    recipe = bench.recipe(run, strategy, train)
    key = bench.key_of(run)
    own = f"{key} {run} {device.type}"
    trained = fit(strategy, recipe, train, bench.schedule, folder, device, key=own, tick=tick)
    trained.save(folder / NETWORK)
    values = np.array(recipe.values, np.min_scalar_type(max(recipe.values)))
    grids = dict(zip(test.names, test.grids, strict=True))
    for name, codes in predicted(trained, test, bench.schedule.batch):
        write_map(bench.prediction(run, name), values[codes], grids[name])
    told = {"key": key, "network": NETWORK, "predictions": run.name, "device": str(device)}
    write_json(folder / DONE, {**told, "seconds": trained.seconds})
    (folder / CHECKPOINT).unlink(missing_ok=True)


@torch.inference_mode()
def predicted(trained: Trained, frames: Frames, batch: int) -> Iterator[tuple[str, np.ndarray]]:
    """Codes of every case at its own size; cases of one size go through the network together."""
    recipe = trained.recipe
    device = next(trained.net.parameters()).device
    for rows in _alike(frames, recipe.size, batch):
        shape = frames.grids[rows[0]].shape
        height, width = smaller(shape, recipe.size)
        images = frames.images[rows, :, :height, :width].to(device)
        logits = trained.net(recipe.normalised(images))[:, : recipe.logits].float()
        if (height, width) != shape:
            logits = F.interpolate(logits, shape, mode="bilinear", align_corners=False)
        if not logits.isfinite().all():
            raise InputError(
                f"{recipe.network}, {recipe.strategy}, seed {recipe.seed}: what it gives for case "
                f"{frames.names[rows[0]]} is not finite; lower --learning-rate, or use --precision float32"
            )
        codes = (logits[:, 0] > 0) if recipe.logits == 1 else logits.argmax(dim=1)
        for row, one in zip(rows, codes.to(torch.uint8).cpu().numpy(), strict=True):
            yield frames.names[row], one


def _alike(frames: Frames, size: int | None, batch: int) -> Iterator[list[int]]:
    """Rows of one size, so many at a time."""
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for row, grid in enumerate(frames.grids):
        by_shape.setdefault(grid.shape, []).append(row)
    for rows in by_shape.values():
        yield from (rows[start : start + batch] for start in range(0, len(rows), batch))


# -- several runs at once ------------------------------------------------------------------------

_shared: dict[str, Any] = {}
"""In a process of its own: the bench, the device, and where to say that an epoch is done."""


def _together(bench: Bench, runs: Sequence[Run], device: torch.device, at_once: int, tick: Tick) -> None:
    """Runs in processes of their own: a small network leaves most of a large GPU idle."""
    context = multiprocessing.get_context("spawn")
    # nothing here is locked: a process that is killed with a lock in its hands would leave all others waiting
    heard, ticks = context.Pipe(duplex=False)
    stop = context.RawValue("b", 0)
    shared = (bench, str(device), ticks, stop)
    with _listening(heard, ticks, tick), ProcessPoolExecutor(at_once, context, _prepare, shared) as pool:
        try:
            with hold_signals():
                started = [pool.submit(_work, run) for run in runs]
                # a pool looks after those processes alone that there were when something last happened to it
                pool.submit(_nothing)
            for one in as_completed(started):
                one.result()
        except BrokenProcessPool:
            raise InputError(
                "a process that trained was killed, probably for memory; use a smaller --at-once"
            ) from None
        finally:
            stop.value = 1
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _listening(heard: Connection, ticks: Connection, tick: Tick) -> Iterator[None]:
    """Passes the epochs of other processes on; messages of a byte are written at once, and never mixed."""

    def listen() -> None:
        while heard.recv_bytes() != END:
            tick()

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield
    finally:
        ticks.send_bytes(END)
        listener.join()


def _prepare(bench: Bench, device: str, ticks: Any, stop: Any) -> None:
    begin_process()
    torch.set_num_threads(1)
    there = torch.device(device)
    _shared.update(bench=_moved(bench, there), device=there, ticks=ticks, stop=stop)


def _work(run: Run) -> None:
    """One run, left at the end of an epoch where the others were stopped."""
    with suppress(_Stopped):
        work(_shared["bench"], run, _shared["device"], _tick)


def _nothing() -> None:
    """Takes a moment."""


def _tick() -> None:
    _shared["ticks"].send_bytes(EPOCH)
    if _shared["stop"].value:
        raise _Stopped


class _Stopped(Exception):
    """The call ends before its runs are done."""


def _moved(bench: Bench, device: torch.device) -> Bench:
    return replace(bench, frames=bench.frames.to(device))
