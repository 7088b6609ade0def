"""What ``fuse`` does with one case: every consensus, its maps, and one table of masks and consensuses together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import manytruths

from ...complexity import Complexity, case_complexity
from ...core.counting import tally
from ...core.errors import CallError
from ...core.tallies import find_rows
from ...core.tally import Tally
from ...core.undefined import Undefined
from ...fusion import Consensus, balanced_accuracy, estimate, gordon_f, soft_accuracy
from ...fusion.registry import estimator, options_of
from ...fusion.result import first_readings
from ...io import Location, safe_name, write_map
from ...io.ledger import fingerprint, recall, remember
from ...io.location import suffix_of
from ...io.replacing import take_over
from ...study import Case
from ...study.case import Reading
from ...study.consensus import FirstReadings
from ...study.options import PATHS
from .fused import Ending, Fused, column_of, kept, restored
from .pictures import draw_probability, draw_sorted

Array = NDArray[Any]

SOFT = {"accuracy": soft_accuracy, "gordon_f": gordon_f, "balanced_accuracy": balanced_accuracy}
"""Gordon's measures of a rater against a probability."""

UNKNOWN = "rates_unknown"
UNITED = "labels are united: 1 in its mask means any of them"
SAME_SUFFIX = (".png", ".tif", ".tiff", ".npy", ".nii", ".nii.gz", ".nrrd")
"""Formats that a consensus can be written in; others become PNG, or NPY where there is no file."""


@dataclass(frozen=True)
class FusePlan:
    """What to estimate, how, and where to write it."""

    methods: tuple[str, ...]
    options: Mapping[str, Mapping[str, Any]]
    folder: Path | None
    """For maps; none are written without it."""
    pictures: bool = True
    earlier: Path | None = None
    """Results that these are to replace: what is the same is taken over."""
    pooled: Mapping[str, Consensus] = field(default_factory=dict)
    """Estimates from the whole study's table, where rates are pooled; painted case by case."""
    pooled_cut: Mapping[str, Consensus] = field(default_factory=dict)
    """The same from the modified background of every case."""

    def options_of(self, method: str) -> dict[str, Any]:
        """What an estimator is called with."""
        return options_of(method, self.options)


def fuse_case(case: Case, plan: FusePlan) -> Fused:
    """One case, or what an earlier run with the same settings found for the same masks."""
    reading = case.read()
    if plan.folder is None:
        return fused(reading, plan).kept
    files = [path for method in plan.methods for path in map_files(case, plan, method)]
    files += [sorted_file(case, plan, m) for m in plan.methods if _has_sorted(case, plan, m)]
    names = [path.relative_to(plan.folder).as_posix() for path in files]
    ledger = f"cases/{safe_name(case.name)}.json"
    written = (*files, plan.folder / ledger)
    digest = _fingerprint(reading, plan)
    for place in filter(None, (plan.folder, plan.earlier)):
        before = recall(place, ledger, digest, names)
        if before is not None:
            for name in (*names, ledger) if place != plan.folder else ():
                take_over(place / name, plan.folder / name)
            return restored(before, written)
    made = fused(reading, plan)
    _write_all(plan, made)
    remember(plan.folder, ledger, digest, names, kept(made.kept))
    return replace(made.kept, files=written)


def _fingerprint(reading: Reading, plan: FusePlan) -> str:
    """Of everything that the maps and pictures of a case depend on: the pixels, not the files' names and times."""
    case = reading.case
    who = (tuple(case.masks), case.absent, case.structures, suffixes(case), case.name)
    pooled = (_digest(plan.pooled), _digest(plan.pooled_cut))
    elsewhere = (*PATHS, "exclude", "exclude_rater")  # seen in the masks themselves
    options = [getattr(case.options, one.name) for one in fields(case.options) if one.name not in elsewhere]
    settings = (manytruths.__version__, plan.methods, plan.options, plan.pictures, options, who, pooled)
    content = [reading.grid, case.region(reading.grid), *reading.masks.values()]
    return fingerprint(settings, [*content, *(reading.picture if plan.pictures else ())])


def _digest(pooled: Mapping[str, Consensus]) -> list[tuple[str, tuple[str, ...], Any]]:
    """What of an estimate is painted, and said."""
    return [(name, found.notes, _content(found)) for name, found in pooled.items()]


def _content(found: Consensus) -> list[bytes]:
    assert found.tally is not None
    return [np.asarray(part).tobytes() for part in (found.tally.patterns, found.values, found.probability)]


def map_files(case: Case, plan: FusePlan, method: str) -> list[Path]:
    """The hard consensus, the probability and, with pictures, the one to look at."""
    assert plan.folder is not None
    name, folder = safe_name(case.name), method.replace(":", "-")
    hard, soft = suffixes(case)
    kinds = {"consensus": hard, "probability": soft} | ({"pictures": ".png"} if plan.pictures else {})
    return [plan.folder / kind / folder / f"{name}{suffix}" for kind, suffix in kinds.items()]


def sorted_file(case: Case, plan: FusePlan, method: str) -> Path:
    """The raters' masks sorted by how they do against STAPLE."""
    assert plan.folder is not None
    return plan.folder / "sorted" / method.replace(":", "-") / f"{safe_name(case.name)}.png"


def _has_sorted(case: Case, plan: FusePlan, method: str) -> bool:
    return plan.pictures and method == "staple" and not plan.pooled and not case.options.exchangeable


def suffixes(case: Case) -> tuple[str, str]:
    """The endings of the hard map (that of the masks) and of the probability (TIFF, or NIfTI for NIfTI)."""
    source = next(iter(next(iter(case.masks.values())).values()))
    suffix = suffix_of(source.path.name) if isinstance(source, Location) else ".npy"
    if isinstance(source, Location) and source.member is not None:
        suffix = ".npy"
    hard = suffix if suffix in SAME_SUFFIX else ".png"
    return hard, ".nii.gz" if suffix.startswith(".nii") else ".tif"


@dataclass(frozen=True)
class Fusing:
    """What was made of a case: what is kept of it, the estimates, and their hard and soft maps."""

    kept: Fused
    reading: Reading
    """The masks, which outside the region hold nothing that they do not hold inside."""
    estimates: Mapping[str, Consensus]
    maps: Mapping[str, tuple[Array, Array]]
    decided: Mapping[str, Array]
    """The hard maps in the labels of the masks, also of methods that unite them."""


def fused(reading: Reading, plan: FusePlan) -> Fusing:
    """A case whose masks are in memory."""
    readings = FirstReadings.of(reading)
    table = readings.table
    found = {m: plan.pooled[m] if m in plan.pooled else readings.estimate(m, plan.options_of(m)) for m in plan.methods}
    maps = {m: readings.paint(f) for m, f in found.items()}
    endings = tuple(_ending(m, f, readings.is_united(f)) for m, f in found.items())
    decided = {e.method: _decided(maps[e.method][0], e, table) for e in endings}
    joint = _joint(readings, decided)
    soft = tuple(row for m, f in found.items() for row in _soft(table, m, f))
    regions = tuple(row for m in plan.methods for row in _regions(table, m, plan))
    kept = Fused(joint, endings, soft, regions, _complexity(readings))
    return Fusing(kept, readings.reading, found, maps, decided)


def _write_all(plan: FusePlan, made: Fusing) -> None:
    reading = made.reading
    for method, (hard, chance) in made.maps.items():
        _write(reading, plan, method, hard, chance, several=len(made.estimates[method].labels) > 2)
    for method in [m for m in plan.methods if _has_sorted(reading.case, plan, m)]:
        draw_sorted(sorted_file(reading.case, plan, method), reading, method, made.kept.soft)


def _ending(method: str, found: Consensus, united: bool) -> Ending:
    notes = (*found.notes, UNITED) if united else found.notes
    rounds = getattr(found, "iterations", getattr(found, "rounds", 0))
    return Ending(method, found.ended, int(rounds), notes, united)


def _decided(hard: Array, ending: Ending, table: Tally) -> Array:
    """A map in the labels of the table: what only tells marked from not gives the first of them."""
    return np.where(hard > 0, table.labels.values[table.labels.marks[0]], 0) if ending.united else hard


def rater_table(case: Case) -> Tally:
    """The table that a case's consensus is estimated from."""
    return FirstReadings.of(case.read()).table


def _complexity(readings: FirstReadings) -> Complexity:
    """Of the image, or of the part of it that counts; a union alone lacks the background."""
    reading, whole = readings.reading, readings.table
    if whole.region not in ("whole", "mask"):
        whole = first_readings(reading.tally("whole", judged=False))
    if whole.labels.background is not None:
        return case_complexity(whole)
    none = Undefined("no_background")
    return Complexity(none, none, none, none, none, raters=len(reading.masks), items=whole.items)


def _joint(readings: FirstReadings, hard: Mapping[str, Array]) -> Tally:
    """Masks and consensuses in one table: everything about how they differ is read off it."""
    reading, region, table = readings.reading, readings.region, readings.table
    case, options = reading.case, reading.case.options
    joint = tally(
        {**reading.masks, **dict.fromkeys(case.absent)},
        raters="exchangeable" if options.exchangeable else None,
        references={column_of(method): array for method, array in hard.items()},
        labels=case.labels,
        region="whole" if isinstance(region, str) else region,
        unit=reading.grid.item_size,
        void=options.void,
        foreground=options.foreground,
    )
    try:
        return joint.restrict(table.region) if table.region in ("union", "modified_background") else joint
    except CallError:
        # which background is near depends on where the pixels lie, once second readings part it
        return joint


def _soft(table: Tally, method: str, found: Consensus) -> list[tuple[str, str, str, float]]:
    """Gordon's measures of every rater, where the probability is one a pattern of this very table."""
    if found.tally is None or table.exchangeable or found.tally is not table or table.labels.background is None:
        return []
    values = {name: measure(table, found) for name, measure in SOFT.items()}
    known = {name: [Undefined(UNKNOWN) if np.isnan(x) else float(x) for x in v] for name, v in values.items()}
    return [(method, r, name, v[i]) for name, v in known.items() for i, r in enumerate(table.rater_names)]


def _regions(table: Tally, method: str, plan: FusePlan) -> list[tuple[str, float, float]]:
    """How far a method that reads the table moves when the background is cut to the size of the union."""
    if table.region != "whole" or estimator(method)[0].spatial or len(plan.pooled_cut) < len(plan.pooled):
        return []
    if method in plan.pooled:
        both = [plan.pooled[method], plan.pooled_cut[method]]
    else:
        cut = table.restrict("modified_background")
        both = [estimate(t, method, **plan.options_of(method)) for t in (table, cut)]
    a, b = (_marked(found, table) for found in both)
    changed = float(table.counts[a != b].sum())
    size = float(table.counts @ (a.astype(np.int64) + b))
    overlap = 1 - changed / size if size else Undefined("both_empty")
    return [(method, overlap, changed / table.items if table.items else 0.0)]


def _marked(found: Consensus, table: Tally) -> NDArray[np.bool_]:
    """Whether a consensus marks each pattern of a table that has all of its patterns, and perhaps more."""
    assert found.tally is not None
    where = find_rows(found.tally, table.relabel(found.tally.labels).patterns)
    values = np.asarray(found.values) > 0
    return np.where(where < 0, False, values[where]) if len(values) else np.zeros(len(where), bool)


def _write(reading: Reading, plan: FusePlan, method: str, hard: Array, chance: Array, *, several: bool) -> None:
    exact, soft, *seen = map_files(reading.case, plan, method)
    write_map(exact, hard, reading.grid)
    write_map(soft, chance, reading.grid)
    if seen:
        # of several labels, how sure background is is nothing to show
        draw_probability(seen[0], reading, method, np.where(hard > 0, chance, 0) if several else chance)
