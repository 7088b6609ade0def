"""A case of ``fuse`` whose masks are too large for memory: what is decided by pattern is painted tile by tile.

The table of raters and consensuses together needs no second look at the pixels: what a method decides for a pattern is
one more column of it. What a vote on lesions decides is found from runs, and counted with the masks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import CallError
from ...core.labels import VOID, Labels
from ...core.runs import LabelRuns
from ...core.tally import Tally, find_rows
from ...core.tiles import Band, holds_whole_chunks, tile_bands
from ...fusion import Consensus
from ...io import safe_name
from ...io.tiled_tiff import write_tiles
from ...io.zarr_store import MapWriter
from ...study.case import Reading
from ...study.consensus import FirstReadings, decide_by_runs, decided_values
from ...study.crew import CaseSpread
from ..agree.case import Noise, name_left_out
from ..agree.distances import CaseDistances, by_value, measure_distances
from ..agree.lesion_scores import ReferenceLesions, score_reference_lesions
from ..agree.references import count_references, has_references, label_values
from ..large_maps import large_suffix
from .case import CaseFusion, FusePlan, consensus_column, count_joint, of_table

Array = NDArray[Any]


def fuse_large_case(reading: Reading, plan: FusePlan) -> CaseFusion:
    """Estimate, write the maps by tile, keep what the table says, and measure the runs of masks and consensuses."""
    decide_by_runs(reading, plan.methods, plan.options)
    readings = FirstReadings.of(reading)
    estimates = {
        method: plan.pooled[method] if method in plan.pooled else readings.estimate(method, plan.options_of(method))
        for method in plan.methods
    }
    joint = _joint(readings, estimates)
    files = () if plan.folder is None else tuple(_write_maps(readings, estimates, joint, plan))
    kept = of_table(readings, estimates, plan)
    noise = Noise()
    distances, lesions = _measure(readings, estimates, plan, noise)
    left_out = noise.describe(name_left_out({"pictures": plan.pictures and plan.folder is not None}))
    references = _references(reading, estimates) if reading.case.references else {}
    return CaseFusion(
        joint, *kept, files=files, references=references, axes=len(reading.grid.shape), distances=distances,
        lesions=lesions, left_out=left_out,
    )  # fmt: skip


def _measure(
    readings: FirstReadings, estimates: Mapping[str, Consensus], plan: FusePlan, noise: Noise
) -> tuple[CaseDistances | None, ReferenceLesions]:
    """Distances of raters and references to consensuses, and lesions of references, from the runs of their masks."""
    reading, table = readings.reading, readings.table
    named = label_values(reading, table) if has_references(reading, table) else None

    def decided() -> dict[str, LabelRuns]:
        return {method: readings.paint_runs(estimated) for method, estimated in estimates.items()}

    distances, lesions = None, None
    if plan.lesions and named is not None:
        labels = by_value(named)
        lesions = noise.attempt("lesions", lambda: score_reference_lesions(reading, table, labels, decided()))
    if plan.distances:
        distances = noise.attempt("distances", lambda: measure_distances(reading, table, decided(), named))
    return distances, lesions or {}


def _references(reading: Reading, estimates: Mapping[str, Consensus]) -> dict[str, Tally]:
    """Raters, consensuses and given references, pattern by pattern."""
    readings = FirstReadings.of(reading.by_pattern)
    by_item = {m: e if e.tally is not None else readings.estimate(m) for m, e in estimates.items()}
    decided = {method: readings.paint(estimated)[0] for method, estimated in by_item.items()}
    return count_references(readings.reading, readings.table, decided)


def _joint(readings: FirstReadings, estimates: Mapping[str, Consensus]) -> Tally:
    """Masks and consensuses in one table."""
    reading, table = readings.reading, readings.table
    if any(estimated.tally is None for estimated in estimates.values()):
        return count_joint(readings, {m: readings.paint_runs(estimated) for m, estimated in estimates.items()})
    several = len(reading.masks) > len([c for c in table.columns if c in reading.masks])
    cut = table.region in ("union", "modified_background")
    joint = table
    if several or cut:
        joint = reading.tally("whole" if isinstance(readings.region, str) else readings.region, judged=False)
    for method, estimated in estimates.items():
        values = _values_in(joint, estimated)
        if missing := set(values.tolist()) - set(joint.labels.values):
            joint = joint.relabel(joint.labels.union(Labels(tuple(sorted(missing)))))
        codes = np.searchsorted(joint.labels.values, values)
        joint = joint.append(consensus_column(method), codes)
    try:
        return joint.restrict(table.region) if cut else joint
    except CallError:
        return joint  # second readings part the background


def _values_in(table: Tally, estimated: Consensus) -> NDArray[np.int64]:
    """What a consensus decides for each pattern of a table with more columns or labels; 0 where it decides nothing."""
    own = estimated.tally
    assert own is not None
    where = [table.columns.index(column) if column in table.columns else -1 for column in own.columns]
    rows = np.full((len(table.counts), len(where)), VOID, np.uint8)
    known = [i for i, column in enumerate(where) if column >= 0]
    codes = np.full(256, VOID, np.uint8)
    codes[: len(table.labels)] = [
        own.labels.values.index(v) if v in own.labels.values else VOID for v in table.labels.values
    ]
    rows[:, known] = codes[table.patterns[:, [where[i] for i in known]]]
    found = find_rows(own, rows)
    values = np.maximum(decided_values(estimated)[0], 0).astype(np.int64)
    return np.where(found < 0, 0, values[found] if len(values) else 0)


def _write_maps(
    readings: FirstReadings, estimates: Mapping[str, Consensus], joint: Tally, plan: FusePlan
) -> Iterator[Path]:
    """The hard consensus and the probability of every method, as fuse names them."""
    folder = plan.folder
    assert folder is not None
    case, grid = readings.reading.case, readings.reading.grid
    suffix = large_suffix(readings.reading, plan.large_maps)
    maps: list[tuple[Consensus, Array, Path, bool]] = []
    for method, estimated in estimates.items():
        hard, chance = _values_of(readings, estimated, joint, method)
        for kind, table in (("consensus", hard), ("probability", chance)):
            path = folder / kind / method.replace(":", "-") / f"{safe_name(case.name)}{suffix}"
            maps.append((estimated, table, path, kind == "consensus"))
    if suffix == ".tif":
        for estimated, table, path, nearest in maps:
            paint = partial(readings.paint_tiles, [estimated], [table])
            write_tiles(path, grid, table.dtype, paint, nearest=nearest)
            yield path
        return
    by_table: dict[int, list[tuple[Consensus, Array, Path, bool]]] = {}
    for each in maps:
        by_table.setdefault(id(each[0].tally or each[0]), []).append(each)
    for group in by_table.values():
        yield from _write_stores(readings, group)


def _values_of(readings: FirstReadings, estimated: Consensus, joint: Tally, method: str) -> tuple[Array, Array]:
    """What is painted of an estimate: of every pattern or, of a method that looks at neighbours, runs."""
    if estimated.tally is None:
        return readings.decision_runs(estimated)  # type: ignore[return-value]
    values, chance = decided_values(estimated)
    codes = np.unique(joint.patterns[:, joint.columns.index(consensus_column(method))])
    top = max((joint.labels.values[code] for code in codes if code != VOID), default=0)
    return np.clip(values, 0, top).astype(np.min_scalar_type(top)), chance.astype(np.float32)


def _write_stores(readings: FirstReadings, maps: list[tuple[Consensus, Array, Path, bool]]) -> Iterator[Path]:
    """Maps from one table, all painted in one pass, by several workers where there are some."""
    grid = readings.reading.grid
    writers = [
        MapWriter(path, grid.shape, table.dtype, grid, nearest=hard, most=None if hard else 1.0)
        for _, table, path, hard in maps
    ]
    try:
        estimates, values = [e for e, *_ in maps], [table for _, table, *_ in maps]
        table = estimates[0].tally
        masks = values if table is None else list(readings.painted_masks(table).values())
        # runs are in memory here
        spread = None if table is None else readings.reading.spread_over([*masks, readings.region])
        if spread is None or not holds_whole_chunks(masks, writers[0]):
            spread = CaseSpread(readings.reading.case)
        # what was found in runs stays here
        bare = replace(readings, reading=replace(readings.reading, decided={}))
        work = partial(_paint_band, readings=bare, estimates=estimates, values=values, writers=writers)
        for _ in spread(work, tile_bands(masks, writers[0])):
            pass
        for writer in writers:
            yield from writer.finish(spread)
    finally:
        for writer in writers:
            writer.discard()


def _paint_band(
    band: Band, readings: FirstReadings, estimates: list[Consensus], values: list[Array], writers: list[MapWriter]
) -> None:
    """Paint some tiles of every map; done twice, the same chunks are written twice."""
    for where, tiles in readings.paint_tiles(estimates, values, writers[0], band):
        for writer, tile in zip(writers, tiles, strict=True):
            writer[where] = tile
