"""What ``fuse`` does with one case: every consensus, its maps, and one table of masks and consensuses together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import manytruths

from ..complexity import STATISTICS, Complexity, case_complexity
from ..consensus import Consensus, balanced_accuracy, consensus, gordon_f, soft_accuracy
from ..consensus.door import estimator
from ..errors import ManytruthsError
from ..formats import Grid, Location, safe_name, write_map, write_picture
from ..formats.ledger import fingerprint, recall, remember
from ..formats.location import suffix_of
from ..labels import Undefined, reason
from ..pixels import tally
from ..study import Case
from ..study.case import Reading
from ..tallies import Column, PatternValues, Tally
from ..tallies.pooling import find_rows

Array = NDArray[Any]

SOFT = {"accuracy": soft_accuracy, "gordon_f": gordon_f, "balanced_accuracy": balanced_accuracy}
"""Gordon's measures of a rater against a probability."""

FAINT = 0.01
"""Probabilities below it do not colour a picture: STAPLE's are never quite 0."""

SAME_SUFFIX = (".png", ".tif", ".tiff", ".npy", ".nii", ".nii.gz", ".nrrd")
"""Formats that a consensus can be written in; others become PNG, or NPY where there is no file."""


@dataclass(frozen=True)
class FusePlan:
    """What to estimate, how, and where to write it."""

    methods: tuple[str, ...]
    options: Mapping[str, Mapping[str, Any]]
    folder: Path
    pictures: bool = True
    pooled: Mapping[str, Consensus] = field(default_factory=dict)
    """Estimates from the whole study's table, where rates are pooled; painted case by case."""


@dataclass(frozen=True)
class Ending:
    """How one method ended for one case."""

    method: str
    ended: str
    iterations: int
    note: str


@dataclass(frozen=True)
class Fused:
    """What is kept of a case."""

    tally: Tally
    """Raters and, as references, the hard decisions of every method."""
    endings: tuple[Ending, ...]
    soft: tuple[tuple[str, str, str, float], ...]
    """Method, rater, statistic, value against the probability."""
    regions: tuple[tuple[str, float, float], ...]
    """Method, Dice and changed share between the whole image and the modified background."""
    complexity: Complexity
    files: tuple[Path, ...]


def fuse_case(case: Case, plan: FusePlan) -> Fused:
    """One case, or what an earlier run with the same settings and files found for it."""
    files = tuple(path for method in plan.methods for path in map_files(case, plan, method))
    ledger = plan.folder / "cases" / f"{safe_name(case.name)}.json"
    sources = [s for by_label in case.masks.values() for s in by_label.values()]
    settings = (manytruths.__version__, plan.methods, plan.options, case.options, _digest(plan.pooled))
    digest = fingerprint(settings, [*sources, case.roi, case.image if plan.pictures else None])
    kept = recall(ledger, digest, files)
    if kept is not None:
        return _restored(kept, (*files, ledger))
    found = _fused(case, plan, (*files, ledger))
    remember(ledger, digest, _kept(found))
    return found


def _digest(pooled: Mapping[str, Consensus]) -> list[tuple[str, bytes]]:
    return [(name, np.asarray(found.hard).tobytes()) for name, found in pooled.items()]


def map_files(case: Case, plan: FusePlan, method: str) -> list[Path]:
    """The hard consensus, the probability and, with pictures, the one to look at."""
    name, folder = safe_name(case.name), method.replace(":", "-")
    hard, soft = suffixes(case)
    kinds = {"consensus": hard, "probability": soft} | ({"pictures": ".png"} if plan.pictures else {})
    return [plan.folder / kind / folder / f"{name}{suffix}" for kind, suffix in kinds.items()]


def suffixes(case: Case) -> tuple[str, str]:
    """The endings of the hard map (that of the masks) and of the probability (TIFF, or NIfTI for NIfTI)."""
    source = next(iter(next(iter(case.masks.values())).values()))
    suffix = suffix_of(source.path.name) if isinstance(source, Location) else ".npy"
    if isinstance(source, Location) and source.member is not None:
        suffix = ".npy"
    hard = suffix if suffix in SAME_SUFFIX else ".png"
    return hard, ".nii.gz" if suffix.startswith(".nii") else ".tif"


def _fused(case: Case, plan: FusePlan, files: tuple[Path, ...]) -> Fused:
    reading = case.read()
    table = first_readings(reading.tally())
    found = {m: _estimated(reading, table, m, plan) for m in plan.methods}
    maps = {m: _maps(reading, f) for m, f in found.items()}
    for method, (hard, chance) in maps.items():
        _write(case, plan, method, hard, chance, reading.grid)
    joint = _joint(reading, {m: hard for m, (hard, _) in maps.items()})
    soft = tuple(row for m, f in found.items() for row in _soft(table, m, f))
    regions = tuple(row for m in plan.methods for row in _regions(table, m, plan))
    endings = tuple(Ending(m, f.ended, int(getattr(f, "iterations", 0)), f.note) for m, f in found.items())
    return Fused(joint, endings, soft, regions, case_complexity(_whole(reading, table)), files)


def first_readings(table: Tally) -> Tally:
    """Raters in their first session, and nobody else: what a consensus is made of."""
    return table.project(table.columns[i] for i in table.raters)


def _whole(reading: Reading, table: Tally) -> Tally:
    return table if table.region == "whole" else first_readings(reading.tally("whole"))


def _estimated(reading: Reading, table: Tally, method: str, plan: FusePlan) -> Consensus:
    """The method on this case; pooled rates are already there, spatial methods see the masks."""
    if method in plan.pooled:
        return plan.pooled[method]
    options = dict(plan.options.get(method.partition(":")[0], {}))
    try:
        if not estimator(method)[0].spatial:
            return consensus(table, method, **options)
        first = {c: m for c, m in reading.masks.items() if c in table.columns}
        study = reading.case.options
        region = reading.case.region(reading.grid)
        return consensus(first, method, void=study.void, foreground=study.foreground, region=region, **options)
    except ManytruthsError as error:
        raise type(error)(f"case {reading.case.name}, {method}: {error}") from None


def _maps(reading: Reading, found: Consensus) -> tuple[Array, Array]:
    """The hard decision in the values of the masks, and the probability; of several labels, that of the one chosen."""
    values, chance = np.asarray(found.values), np.asarray(found.probability)
    if chance.ndim > values.ndim:
        chance = chance.max(axis=-1)
    if found.tally is None:
        hard, soft = values, chance
    else:
        hard = reading.paint(PatternValues(values, found.tally), fill=0)
        soft = reading.paint(PatternValues(np.nan_to_num(chance), found.tally), fill=0.0)
    hard = np.maximum(np.asarray(hard), 0)
    return hard.astype(np.min_scalar_type(int(hard.max(initial=0)))), np.asarray(soft, np.float32)


def _joint(reading: Reading, hard: Mapping[str, Array]) -> Tally:
    """Masks and consensuses in one table: everything about how they differ is read off it."""
    case, options = reading.case, reading.case.options
    region = case.region(reading.grid)
    return tally(
        {**reading.masks, **dict.fromkeys(case.absent)},
        raters="exchangeable" if options.exchangeable else None,
        references={Column(method, "reference"): array for method, array in hard.items()},
        labels=case.labels,
        region="whole" if isinstance(region, str) else region,
        unit=reading.grid.item_size,
        void=options.void,
        foreground=options.foreground,
    )


def _soft(table: Tally, method: str, found: Consensus) -> list[tuple[str, str, str, float]]:
    """Gordon's measures of every rater, where the probability is one a pattern of this very table."""
    if found.tally is None or table.exchangeable or found.tally is not table or table.labels.background is None:
        return []
    values = {name: measure(table, found) for name, measure in SOFT.items()}
    return [(method, r, name, float(v[i])) for name, v in values.items() for i, r in enumerate(table.rater_names)]


def _regions(table: Tally, method: str, plan: FusePlan) -> list[tuple[str, float, float]]:
    """How far a method that reads the table moves when the background is cut to the size of the union."""
    if table.region != "whole" or estimator(method)[0].spatial:
        return []
    options = dict(plan.options.get(method.partition(":")[0], {}))
    both = [consensus(t, method, **options) for t in (table, table.restrict("modified_background"))]
    a, b = (_marked(found, table) for found in both)
    changed = float(table.counts[a != b].sum())
    size = float(table.counts @ (a.astype(np.int64) + b))
    overlap = 1 - changed / size if size else Undefined("neither marks anything")
    return [(method, overlap, changed / table.items if table.items else 0.0)]


def _marked(found: Consensus, table: Tally) -> NDArray[np.bool_]:
    """Whether a consensus marks each pattern of a table that has all of its patterns, and perhaps more."""
    assert found.tally is not None
    where = find_rows(found.tally, table.patterns)
    values = np.asarray(found.values) > 0
    return np.where(where < 0, False, values[where]) if len(values) else np.zeros(len(where), bool)


def _write(case: Case, plan: FusePlan, method: str, hard: Array, chance: Array, grid: Grid) -> None:
    exact, soft, *seen = map_files(case, plan, method)
    write_map(exact, hard, grid)
    write_map(soft, chance, grid)
    if not seen:
        return
    from ..pictures import heat_overlay, montage

    try:
        image = case.picture()
    except ManytruthsError:
        image = None
    image = image if image is not None and image.shape[: chance.ndim] == chance.shape else None
    options: dict[str, Any] = {"most": 1.0, "discrete": False, "title": case.name, "subtitle": method}
    options["caption"] = "probability"
    chance = np.where(chance < FAINT, 0, chance)
    if chance.ndim == 3:
        write_picture(seen[0], montage(image, chance, spacing=grid.spacing, **options))
    else:
        write_picture(seen[0], heat_overlay(image, chance, **options))


def _kept(found: Fused) -> dict[str, Any]:
    """The case as JSON: numbers that are undefined as their reason."""
    return {
        "tally": found.tally.to_csv(),
        "endings": found.endings,
        "soft": [[m, r, s, reason(v) or v] for m, r, s, v in found.soft],
        "regions": [[m, reason(d) or d, c] for m, d, c in found.regions],
        "complexity": {k: _text(v) for k, v in vars(found.complexity).items()},
    }


def _text(value: Any) -> Any:
    return (reason(value) or value) if isinstance(value, float) else value


def _number(value: Any) -> float:
    return Undefined(value) if isinstance(value, str) else float(value)


def _restored(kept: dict[str, Any], files: tuple[Path, ...]) -> Fused:
    case: dict[str, Any] = {k: _number(v) if k in STATISTICS else v for k, v in kept["complexity"].items()}
    return Fused(
        Tally.from_csv(kept["tally"]),
        tuple(Ending(**e) for e in kept["endings"]),
        tuple((m, r, s, _number(v)) for m, r, s, v in kept["soft"]),
        tuple((m, _number(d), float(c)) for m, d, c in kept["regions"]),
        Complexity(**case),
        files,
    )
