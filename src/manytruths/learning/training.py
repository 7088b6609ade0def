"""The study that compares strategies: every network under every strategy on the same subjects, judged alike."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from ..analyses.fuse.case import suffixes
from ..analyses.summaries import Settings
from ..core.errors import CallError, InputError
from ..io import write_csv, write_json
from ..study import Progress, Study
from .fitting import Schedule
from .frames import Frames, read_frames
from .networks import NETWORKS
from .runs import Bench, Run, device_of, told, work_off
from .scaling import Scaling
from .scoring import Scores, judged
from .splitting import folds_by_subject, read_split, split_by_subject
from .strategies import Strategy, strategies

SETTINGS = "settings.json"
OTHERS = {"data": "other images, masks or labels", "folds": "another split"}
"""What to say of digests."""


@dataclass(frozen=True)
class TrainPlan:
    """What to train, on what, and how often."""

    strategies: tuple[str, ...] = ("all",)
    networks: tuple[str, ...] = ("unet", "deeplab")
    seeds: tuple[int, ...] = (0, 1, 2)
    schedule: Schedule = field(default_factory=Schedule)
    size: int | None = 512
    """Larger images are made so large on their longer side, as Zeng et al. crop them."""
    test: float = 0.3
    """The share of subjects that is kept to judge by."""
    folds: int | None = None
    """Test on every subject once instead."""
    split: Path | None = None
    """A table of who is trained on instead."""
    split_seed: int = 0
    distances: bool = True
    device: str = "auto"
    at_once: int = 1

    def __post_init__(self) -> None:
        for name in self.networks:
            if name not in NETWORKS:
                raise CallError(f"no network {name!r}; there are {', '.join(NETWORKS)}")
        if not (self.networks and self.seeds and self.strategies):
            raise CallError("there is nothing to train: name strategies, networks and seeds")
        for given in (self.networks, self.seeds):
            if len(set(given)) < len(given):
                raise CallError(f"networks and seeds are each named once; got {', '.join(map(str, given))}")
        if self.folds is not None and self.split is not None:
            raise CallError("folds are drawn and a split is read: give one of --folds and --split")
        if self.size is not None and self.size < 16:
            raise CallError(f"size is 16 pixels or more; got {self.size}")
        if self.at_once < 1:
            raise CallError(f"at_once is 1 or more; got {self.at_once}")


@dataclass(frozen=True)
class Training:
    """What ``train`` did and found."""

    study: Study
    plan: TrainPlan
    bench: Bench
    strategies: tuple[Strategy, ...]
    runs: tuple[Run, ...]
    scores: tuple[Scores, ...]
    settings: Settings


def train(
    study: Study,
    plan: TrainPlan,
    home: Path,
    *,
    settings: Settings | None = None,
    reading: Progress | None = None,
    training: Progress | None = None,
    judging: Progress | None = None,
) -> Training:
    """Train what is not trained yet, predict the test cases, and judge every prediction.

    A call that was killed is repeated: finished runs stay, and one that was under way goes on from its checkpoint.
    """
    settings = settings or Settings()
    device = device_of(plan.device)
    folds = _folds(study, plan)
    frames, scaling = read_frames(study, plan.size, jobs=settings.jobs, progress=reading)
    chosen = strategies(plan.strategies, study.rater_names)
    bench = _bench(study, plan, home, folds, frames, scaling)
    runs = [
        Run(network, strategy.name, seed, fold)
        for seed in plan.seeds
        for network in plan.networks
        for strategy in chosen
        for fold in range(len(folds))
    ]
    work_off(bench, runs, device, plan.at_once, _counter(training, len(runs) * plan.schedule.epochs))
    whole = list(dict.fromkeys(Run(run.network, run.strategy, run.seed) for run in runs))
    found = judged(study, bench, whole, distances=plan.distances, jobs=settings.jobs, progress=judging)
    return Training(study, plan, bench, tuple(chosen), tuple(whole), tuple(found), settings)


def _folds(study: Study, plan: TrainPlan) -> list[dict[str, str]]:
    if plan.split is not None:
        return [read_split(study, plan.split)]
    if plan.folds is not None:
        return folds_by_subject(study, plan.folds, plan.split_seed)
    return [split_by_subject(study, plan.test, plan.split_seed)]


def _bench(
    study: Study, plan: TrainPlan, home: Path, folds: Sequence[Mapping[str, str]], frames: Frames, scaling: Scaling
) -> Bench:
    """What runs share, once it is sure that the folder holds no runs of something else."""
    made: dict[str, Any] = {
        "data": frames.digest,
        "folds": hashlib.sha256(repr([sorted(fold.items()) for fold in folds]).encode()).hexdigest()[:16],
        "size": plan.size,
        **{name: value for name, value in asdict(plan.schedule).items() if name != "every"},
    }
    _agree(home / SETTINGS, msgspec.json.decode(msgspec.json.encode(made)))
    rows = [(name, k, fold[name]) for k, fold in enumerate(folds) for name in fold]
    write_csv(home / "split.csv", rows, ("case", "fold", "part"))
    return Bench(
        frames, tuple(folds), scaling, plan.size, plan.schedule, repr(made), home, suffixes(next(iter(study)))[0]
    )


def _agree(path: Path, now: Mapping[str, Any]) -> None:
    """Refuse a folder whose runs were made of other data, or otherwise."""
    if path.is_file():
        before = told(path)
        other = [name for name in now if before.get(name) != now[name]]
        if other:
            was = ", ".join(OTHERS.get(name) or f"{name} {before.get(name)}, now {now[name]}" for name in other)
            raise InputError(
                f"{path.parent}: holds runs that were made otherwise ({was}); choose another --out, or remove it"
            )
        return
    write_json(path, now)


def _counter(progress: Progress | None, total: int) -> Any:
    """Counts epochs."""
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        if progress:
            progress(done, total)

    if progress:
        progress(0, total)
    return tick
