"""The runs of a training study: every network, strategy, seed and fold, one after the other or in parallel."""

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

from ..core.errors import FormatError, InputError
from ..io import safe_name, write_json, write_map
from ..shape.grid import Grid
from ..study.processes import begin_process, hold_signals
from .fitting import CHECKPOINT, Schedule, Tick, fit
from .frames import Frames, Scaling, reduced_shape
from .sampling import SAMPLES, sample_names
from .strategies import KNOWN, Strategy, find_strategies
from .trained_network import (
    Prediction,
    Recipe,
    TrainedNetwork,
    probability_paths,
    sample_paths,
    write_probabilities,
)

NETWORK = "network.pt"
DONE = "run.json"
EPOCH, END = b".", b"!"
"""Messages between processes."""


@dataclass(frozen=True)
class Run:
    """One network, trained by one strategy from one seed, on all but one fold."""

    network: str
    strategy: str
    seed: int
    fold: int = 0

    @property
    def name(self) -> str:
        """The name of its predictions; folds predict different cases."""
        return f"{self.network}-{self.strategy}-{self.seed}"

    def folder(self, home: Path) -> Path:
        return home / "runs" / self.network / self.strategy / f"seed-{self.seed}" / f"fold-{self.fold}"


@dataclass(frozen=True)
class Bench:
    """What all runs share: data, folds and schedule."""

    frames: Frames
    folds: tuple[Mapping[str, str], ...]
    """For each fold, ``train`` or ``test`` by case; a case may be in neither."""
    scaling: Scaling
    size: int | None
    schedule: Schedule
    key: str
    """Identifies data, folds and schedule; checkpoints with another key are not used."""
    home: Path
    suffix: str
    """File extension of the predictions."""
    write_probability: bool = True
    """Whether to write probability maps and samples."""
    samples: int = SAMPLES
    """Number of samples of each test case, of networks that draw as many as are wanted."""

    def part(self, fold: int, part: str) -> Frames:
        """The cases of a fold to train on, or to test on."""
        return self.frames.select([name for name, its_part in self.folds[fold].items() if its_part == part])

    @property
    def test_cases(self) -> list[str]:
        """The cases that any fold tests on."""
        return [n for n in self.frames.names if any(fold.get(n) == "test" for fold in self.folds)]

    def recipe(self, run: Run, strategy: Strategy, train: Frames) -> Recipe:
        """The recipe of a run's network."""
        raters, labels, schedule = train.raters, train.labels, self.schedule
        training = {"epochs": schedule.epochs, "batch": schedule.batch, "learning_rate": schedule.learning_rate}
        return Recipe(
            run.network, train.channels, schedule.width, strategy.outputs(len(raters), len(labels)),
            labels.values, labels.names, self.size, self.scaling, *train.moments(),
            run.strategy, run.seed, raters, {**training, "fold": run.fold},
        )  # fmt: skip

    def is_done(self, run: Run) -> bool:
        """Whether an earlier call finished this run on the same data; ``run.json`` is written last."""
        cases = [name for name, part in self.folds[run.fold].items() if part == "test"]
        paths = [self.prediction_path(run, name) for name in cases]
        if self.write_probability:
            paths += [path for name in cases for path in self.probability_paths(run, name)]
            paths += [path for name in cases for path in self.sample_paths(run, name)]
        return self.is_trained(run) and all(path.is_file() for path in paths)

    def is_trained(self, run: Run) -> bool:
        """Whether an earlier call trained the network of this run on the same data."""
        return read_json(run.folder(self.home) / DONE).get("key") == self.key_of(run)

    def key_of(self, run: Run) -> str:
        """The shared key, and what the strategy adds to the schedule."""
        strategy = KNOWN.get(run.strategy)
        if strategy is None or strategy.pace == 1:
            return self.key
        return f"{self.key} pace {strategy.pace:g}, warm-up {strategy.warm_up:g}"

    def prediction_path(self, run: Run, case: str) -> Path:
        return self.home / "predictions" / run.name / f"{safe_name(case)}{self.suffix}"

    def probability_paths(self, run: Run, case: str) -> list[Path]:
        return probability_paths(self.home / "probability" / run.name, case, self.frames.labels.names)

    def sample_paths(self, run: Run, case: str) -> list[Path]:
        names = sample_names(run.strategy, self.frames.raters, self.samples)
        return sample_paths(self.home / "samples" / run.name, case, names, self.suffix)


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object that an earlier call wrote; empty if there is no such file, or it is damaged."""
    try:
        content = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return content if isinstance(content, dict) else {}


def run_all(bench: Bench, runs: Sequence[Run], device: torch.device, at_once: int, tick: Tick) -> None:
    """Train whatever is not done yet, and predict the test cases."""
    remaining = [run for run in runs if not bench.is_done(run)]
    for _ in range((len(runs) - len(remaining)) * bench.schedule.epochs):
        tick()
    if at_once < 2 or len(remaining) < 2:
        on_device = _move(bench, device)
        for run in remaining:
            run_one(on_device, run, device, tick)
        return
    _run_in_parallel(bench, remaining, device, min(at_once, len(remaining)), tick)


def run_one(bench: Bench, run: Run, device: torch.device, tick: Tick = lambda: None) -> None:
    """Train one run, save the network, predict the test cases, and mark the run as done."""
    if device.type == "cuda":
        torch.backends.cudnn.benchmark = True
    folder, test = run.folder(bench.home), bench.part(run.fold, "test")
    trained = _trained_before(bench, run, device)
    if trained is None:
        (folder / DONE).unlink(missing_ok=True)
        trained = _train(bench, run, device, tick)
        trained.save(folder / NETWORK)
    else:
        for _ in range(bench.schedule.epochs):
            tick()
    grids = dict(zip(test.names, test.grids, strict=True))
    for name, prediction in predict_frames(trained, test, bench.schedule.batch):
        _write_prediction(bench, run, name, prediction, grids[name])
    if not bench.is_trained(run):
        outcome = {"key": bench.key_of(run), "network": NETWORK, "predictions": run.name, "device": str(device)}
        write_json(folder / DONE, {**outcome, "seconds": trained.seconds})
    (folder / CHECKPOINT).unlink(missing_ok=True)


def _trained_before(bench: Bench, run: Run, device: torch.device) -> TrainedNetwork | None:
    """The network of a run that an earlier call finished, of which predictions are missing."""
    if not bench.is_trained(run):
        return None
    try:
        return TrainedNetwork.load(run.folder(bench.home) / NETWORK, device)
    except FormatError:
        return None


def _train(bench: Bench, run: Run, device: torch.device, tick: Tick) -> TrainedNetwork:
    folder, train = run.folder(bench.home), bench.part(run.fold, "train")
    strategy = next(s for s in find_strategies(list(KNOWN), train.raters) if s.name == run.strategy)
    recipe = bench.recipe(run, strategy, train)
    run_key = f"{bench.key_of(run)} {run} {device.type}"
    return fit(strategy, recipe, train, bench.schedule, folder, device, key=run_key, tick=tick)


def _write_prediction(bench: Bench, run: Run, case: str, prediction: Prediction, grid: Grid) -> None:
    """Write the mask of a test case, and, where they are wanted, its probability and samples."""
    values = np.array(prediction.recipe.values, np.min_scalar_type(max(prediction.recipe.values)))
    write_map(bench.prediction_path(run, case), values[prediction.codes], grid)
    if bench.write_probability:
        write_probabilities(bench.probability_paths(run, case)[0].parent, case, prediction)
        drawn = prediction.samples(bench.samples)
        for path, codes in zip(bench.sample_paths(run, case), drawn.values(), strict=True):
            write_map(path, values[codes], grid)


def predict_frames(trained: TrainedNetwork, frames: Frames, batch: int) -> Iterator[tuple[str, Prediction]]:
    """The prediction for every case at its own size; cases of equal size are predicted together."""
    recipe = trained.recipe
    for rows in _rows_of_equal_size(frames, batch):
        shape = frames.grids[rows[0]].shape
        height, width = reduced_shape(shape, recipe.size)
        images = frames.images[rows, :, :height, :width]
        for row, prediction in zip(rows, trained.apply(images, shape), strict=True):
            if not prediction.finite:
                raise InputError(
                    f"{recipe.network}, {recipe.strategy}, seed {recipe.seed}: the prediction of case "
                    f"{frames.names[row]} is not finite; lower --learning-rate, or use --precision float32"
                )
            yield frames.names[row], prediction


def _rows_of_equal_size(frames: Frames, batch: int) -> Iterator[list[int]]:
    """Rows of cases of equal size, in batches."""
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for row, grid in enumerate(frames.grids):
        by_shape.setdefault(grid.shape, []).append(row)
    for rows in by_shape.values():
        yield from (rows[start : start + batch] for start in range(0, len(rows), batch))


# -- several runs in parallel ------------------------------------------------------------------------

_shared: dict[str, Any] = {}
"""In a worker process: the bench, the device, and the connection for progress."""


def _run_in_parallel(bench: Bench, runs: Sequence[Run], device: torch.device, at_once: int, tick: Tick) -> None:
    """Run in worker processes; a small network leaves most of a large GPU idle."""
    context = multiprocessing.get_context("spawn")
    # no locks: a process that is killed while it holds a lock would block all others
    receiver, sender = context.Pipe(duplex=False)
    stop = context.RawValue("b", 0)
    shared = (bench, str(device), sender, stop)
    with _forward_ticks(receiver, sender, tick), ProcessPoolExecutor(at_once, context, _prepare, shared) as pool:
        try:
            with hold_signals():
                futures = [pool.submit(_run_in_process, run) for run in runs]
                # a pool only notices the death of processes that existed when it last woke up
                pool.submit(_do_nothing)
            for future in as_completed(futures):
                future.result()
        except BrokenProcessPool:
            raise InputError(
                "a training process was killed, probably because memory ran out; use a smaller --at-once"
            ) from None
        finally:
            stop.value = 1
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _forward_ticks(receiver: Connection, sender: Connection, tick: Tick) -> Iterator[None]:
    """Call ``tick`` for the epochs of worker processes; messages of one byte are written atomically."""

    def listen() -> None:
        while receiver.recv_bytes() != END:
            tick()

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield
    finally:
        sender.send_bytes(END)
        listener.join()


def _prepare(bench: Bench, device: str, sender: Any, stop: Any) -> None:
    begin_process()
    torch.set_num_threads(1)
    where = torch.device(device)
    _shared.update(bench=_move(bench, where), device=where, sender=sender, stop=stop)


def _run_in_process(run: Run) -> None:
    """One run, which ends at the end of an epoch if the others were stopped."""
    with suppress(_Stopped):
        run_one(_shared["bench"], run, _shared["device"], _tick)


def _do_nothing() -> None:
    """Wakes the pool up."""


def _tick() -> None:
    _shared["sender"].send_bytes(EPOCH)
    if _shared["stop"].value:
        raise _Stopped


class _Stopped(Exception):
    """The call ends before its runs are done."""


def _move(bench: Bench, device: torch.device) -> Bench:
    return replace(bench, frames=bench.frames.to(device))
