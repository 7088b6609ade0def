"""The training study: every network under every strategy on the same subjects, all evaluated in the same way."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from ..analyses.fuse.case import suffixes
from ..analyses.tables import Settings
from ..core.errors import CallError, InputError
from ..io import write_csv, write_json
from ..io.tables import read_table
from ..study import Progress, Study
from .fitting import Schedule
from .frames import Frames, Scaling, read_frames
from .networks import NETWORKS
from .runs import Bench, Run, read_json, run_all
from .sampling import SAMPLES
from .scores import Scores, evaluate_runs
from .strategies import Strategy, find_strategies
from .trained_network import find_device
from .uncertainty import evaluate_uncertainty

PARTS = ("train", "test")
SETTINGS = "settings.json"
DIFFERENCES = {"data": "other images, masks or labels", "folds": "another split"}
"""What differs where the digest does."""


def split_by_subject(study: Study, share: float = 0.3, seed: int = 0) -> dict[str, str]:
    """``train`` or ``test`` for every case: a random share of the subjects is for testing.

    All cases of a subject stay together, since images of one patient are similar.
    """
    subjects = list(study.subjects)
    if not 0 < share < 1:
        raise CallError(f"test, the share of subjects to test on, must be above 0 and below 1; got {share}")
    if len(subjects) < 2:
        raise InputError(f"there is only one subject, {subjects[0]}, so none is left to test on; add subjects")
    count = min(max(1, round(share * len(subjects))), len(subjects) - 1)
    chosen = set(random.Random(seed).sample(subjects, count))
    return {case.name: "test" if case.subject in chosen else "train" for case in study}


def folds_by_subject(study: Study, folds: int, seed: int = 0) -> list[dict[str, str]]:
    """Splits of cross-validation: every subject is tested on once, and folds are about equally large."""
    subjects = list(study.subjects)
    if not 2 <= folds <= len(subjects):
        raise CallError(f"folds must be from 2 to the number of subjects, {len(subjects)}; got {folds}")
    random.Random(seed).shuffle(subjects)
    fold = {subject: k % folds for k, subject in enumerate(subjects)}
    return [{c.name: "test" if fold[c.subject] == k else "train" for c in study} for k in range(folds)]


def read_split(study: Study, path: Path) -> dict[str, str]:
    """Read a CSV with the columns ``case`` and ``part`` (train or test); no subject may be in both."""
    rows = read_table(str(path), "case")
    parts: dict[str, str] = {}
    for case in study:
        part = rows.get(case.name, {}).get("part", "")
        if part not in PARTS:
            raise InputError(f"{path}: the part of case {case.name} must be train or test; got {part!r}")
        parts[case.name] = part
    _check_split(study, parts, path)
    return parts


def _check_split(study: Study, parts: Mapping[str, str], path: Path) -> None:
    by_subject: dict[str, set[str]] = {}
    for case in study:
        by_subject.setdefault(case.subject, set()).add(parts[case.name])
    both = [subject for subject, of_subject in by_subject.items() if len(of_subject) > 1]
    if both:
        raise InputError(
            f"{path}: subject {both[0]} is in both train and test, so networks would be tested on patients that they "
            "were trained on; put all cases of a subject into one part"
        )
    missing = [part for part in PARTS if part not in parts.values()]
    if missing:
        raise InputError(f"{path}: no case has the part {missing[0]}; give it to some subjects")


# -- the study -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainPlan:
    """What to train, on which cases, and how often.

    Parameters
    ----------
    strategies : tuple of str
        ``all``, or some of ``single``, ``inner``, ``outer``, ``majority``, ``average``, ``confusion``, ``individuals``,
        ``staple``, ``extended_dice``; beside these nine of the paper, the control ``majority_dice``, ``soft_staple``
        and ``latent``.
    networks : tuple of str
        ``unet``, ``deeplab``.
    seeds : tuple of int
        Each network is trained once from every seed.
    schedule : Schedule
        How each network is trained.
    size : int, optional
        Images are reduced to this size on their longer side; None keeps them.
    test : float
        Share of the subjects to test on.
    folds : int, optional
        Test on every subject once, in so many folds, instead.
    split : Path, optional
        A CSV with the columns ``case`` and ``part`` (train or test), instead.
    split_seed : int
        Seed of the random split.
    distances : bool
        Whether to compute Hausdorff distances.
    write_probability : bool
        Whether to write probability maps and samples of the test cases, and to evaluate them.
    draws : int
        Number of samples of each test case, of networks that draw as many as are wanted; two or more.
    device : str
        ``auto`` (a GPU if there is one), ``cpu``, ``cuda``, or ``cuda:1`` and so on.
    at_once : int
        Number of runs trained in parallel.
    """

    strategies: tuple[str, ...] = ("all",)
    networks: tuple[str, ...] = ("unet", "deeplab")
    seeds: tuple[int, ...] = (0, 1, 2)
    schedule: Schedule = field(default_factory=Schedule)
    size: int | None = 512
    test: float = 0.3
    folds: int | None = None
    split: Path | None = None
    split_seed: int = 0
    distances: bool = True
    write_probability: bool = True
    draws: int = SAMPLES
    device: str = "auto"
    at_once: int = 1

    def __post_init__(self) -> None:
        for name in self.networks:
            if name not in NETWORKS:
                raise CallError(f"there is no network {name!r}; use {' or '.join(NETWORKS)}")
        if not (self.networks and self.seeds and self.strategies):
            raise CallError("there is nothing to train: give at least one strategy, network and seed")
        for given in (self.networks, self.seeds):
            if len(set(given)) < len(given):
                raise CallError(f"give each network and each seed once; got {', '.join(map(str, given))}")
        if self.folds is not None and self.split is not None:
            raise CallError("give either --folds or --split, not both")
        if self.size is not None and self.size < 16:
            raise CallError(f"size must be 16 pixels or more; got {self.size}")
        if self.draws < 2:
            raise CallError(f"draws must be 2 or more, as one says nothing of their spread; got {self.draws}")
        if self.at_once < 1:
            raise CallError(f"at_once must be 1 or more; got {self.at_once}")


@dataclass(frozen=True)
class Training:
    """Result of :func:`train`."""

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
    home: Path | str,
    *,
    settings: Settings | None = None,
    reading: Progress | None = None,
    training: Progress | None = None,
    judging: Progress | None = None,
) -> Training:
    """Train networks by several strategies, predict the test cases, and evaluate every prediction.

    After an interruption, call it again: finished runs are kept, and interrupted ones resume from their checkpoint.

    Parameters
    ----------
    study : Study
        Cases with images.
    plan : TrainPlan
        What to train.
    home : Path or str
        Folder of runs, predictions and checkpoints.
    settings : Settings, optional
        The level of the intervals, and the number of worker processes.
    reading, training, judging : callable, optional
        Progress of the three stages.

    Returns
    -------
    Training

    References
    ----------
    Zeng D et al. Segmentation with multiple acceptable annotations. IPMI 2021, LNCS 12729.
    doi:10.1007/978-3-030-78191-0_37
    """
    settings, home = settings or Settings(), Path(home)
    device = find_device(plan.device)
    folds = _folds(study, plan)
    frames, scaling = read_frames(study, plan.size, jobs=settings.jobs, progress=reading)
    chosen = find_strategies(plan.strategies, study.rater_names)
    bench = _bench(study, plan, home, folds, frames, scaling)
    runs = [
        Run(network, strategy.name, seed, fold)
        for seed in plan.seeds
        for network in plan.networks
        for strategy in chosen
        for fold in range(len(folds))
    ]
    run_all(bench, runs, device, plan.at_once, _count_epochs(training, len(runs) * plan.schedule.epochs))
    whole = list(dict.fromkeys(Run(run.network, run.strategy, run.seed) for run in runs))
    scores = evaluate_runs(study, bench, whole, distances=plan.distances, jobs=settings.jobs, progress=judging)
    if plan.write_probability:
        scores += evaluate_uncertainty(study, bench, whole, jobs=settings.jobs)
    return Training(study, plan, bench, tuple(chosen), tuple(whole), tuple(scores), settings)


def _folds(study: Study, plan: TrainPlan) -> list[dict[str, str]]:
    if plan.split is not None:
        return [read_split(study, plan.split)]
    if plan.folds is not None:
        return folds_by_subject(study, plan.folds, plan.split_seed)
    return [split_by_subject(study, plan.test, plan.split_seed)]


def _bench(
    study: Study, plan: TrainPlan, home: Path, folds: Sequence[Mapping[str, str]], frames: Frames, scaling: Scaling
) -> Bench:
    """What runs share; rejects a folder with runs on other data or with other settings."""
    identity: dict[str, Any] = {
        "data": frames.digest,
        "folds": hashlib.sha256(repr([sorted(fold.items()) for fold in folds]).encode()).hexdigest()[:16],
        "size": plan.size,
        **{name: value for name, value in asdict(plan.schedule).items() if name != "every"},
    }
    _check_settings(home / SETTINGS, msgspec.json.decode(msgspec.json.encode(identity)))
    rows = [(name, k, fold[name]) for k, fold in enumerate(folds) for name in fold]
    write_csv(home / "split.csv", rows, ("case", "fold", "part"))
    return Bench(
        frames, tuple(folds), scaling, plan.size, plan.schedule, repr(identity), home, suffixes(next(iter(study)))[0],
        plan.write_probability, plan.draws,
    )  # fmt: skip


def _check_settings(path: Path, now: Mapping[str, Any]) -> None:
    """Reject a folder whose runs used other data or other settings; write the settings to a new one."""
    if path.is_file():
        before = read_json(path)
        other = [name for name in now if before.get(name) != now[name]]
        if other:
            was = ", ".join(DIFFERENCES.get(name) or f"{name} {before.get(name)}, now {now[name]}" for name in other)
            raise InputError(
                f"{path.parent}: contains runs made with other data or settings ({was}); choose another "
                "--out, or remove it"
            )
        return
    write_json(path, now)


def _count_epochs(progress: Progress | None, total: int) -> Any:
    """A function that counts finished epochs."""
    finished = 0

    def tick() -> None:
        nonlocal finished
        finished += 1
        if progress:
            progress(finished, total)

    if progress:
        progress(0, total)
    return tick
