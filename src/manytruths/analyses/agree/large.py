"""What ``agree`` sees in a large case: heatmaps by tile, regions and image features from the runs of its masks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agreement import Correlation, heatmap_score, image_feature_correlations
from ...charts.canvas import LONGEST
from ...core.blocks import Blocks
from ...core.painting import paint_runs, paint_tiles
from ...core.runs import read_runs
from ...core.tally import Tally
from ...core.tiles import Where
from ...io import safe_name, write_picture
from ...shape import Region, find_regions
from ...study.case import Reading
from ..large_maps import large_suffix, write_large_map
from .case import CaseAgreement, MapOptions, Noise, heatmap_values, ranking_worth

Array = NDArray[Any]


def look_at_large(
    reading: Reading, whole: Tally, plan: MapOptions, measured: CaseAgreement, noise: Noise
) -> CaseAgreement:
    """Add heatmaps, regions, image features and the score of ranks: by tile, and from the runs of the masks."""
    values, score = None, None
    if reading.case.ranks:
        values = ranking_worth(reading, plan)
        score = heatmap_score(reading.rank_tally[0], values)
    seen = noise.attempt("regions", lambda: _look_at_runs(reading, whole, plan, values))
    regions, features = seen or ([], {})
    problem = _image(reading)[1]
    note = f"case {reading.case.name}: heatmap without its image: {problem}" if problem else ""
    files = () if plan.folder is None else tuple(_write_heatmap(reading, whole, plan, plan.folder))
    return replace(measured, regions=regions, features=features, ranking_score=score, note=note, files=files)


def _look_at_runs(
    reading: Reading, whole: Tally, plan: MapOptions, worth: Array | None
) -> tuple[list[Region], Mapping[str, Correlation]]:
    """The regions of the heatmap, of ranks where they are given, and its correlations with features of the image."""
    heat, inside = reading.paint_runs(heatmap_values(whole), whole), reading.inside
    shown = heat
    if worth is not None:
        table, maps = reading.rank_tally
        shown = paint_runs(worth.astype(np.float32), {c: reading.runs(ranks) for c, ranks in maps.items()}, table)
    regions = find_regions(shown if inside is None else shown.intersect(read_runs(inside)), reading.grid.spacing)
    image = _image(reading)[0]
    if image is None:
        return regions, {}
    return regions, image_feature_correlations(heat, image, plan.window, plan.agreement_window, inside)


def _image(reading: Reading) -> tuple[Any, str]:
    """The image at full resolution, of two axes read by tile; and why there is none where one was to be had."""
    if len(reading.grid.shape) != 2:
        return reading.picture
    image, problem = reading.pyramid
    return None if image is None else image.levels[0], problem


def _write_heatmap(reading: Reading, whole: Tally, plan: MapOptions, folder: Path) -> Iterator[Path]:
    """The exact heatmap, and a picture of an image, in which every pixel shows the highest number beneath it."""
    name, several = safe_name(reading.case.name), whole.labels.several
    values = heatmap_values(whole)
    values = values.astype(np.uint8 if values.max(initial=0) < 256 else np.uint16)
    shape = reading.grid.shape
    small = Blocks(shape, -(-max(shape) // LONGEST), "most", dtype=values.dtype) if len(shape) == 2 else None
    paint = partial(_paint, reading, whole, values, small)
    path = folder / f"{name}{large_suffix(reading, plan.large_maps)}"
    yield from write_large_map(path, reading, values.dtype, paint, len({column.name for column in reading.masks}))
    if small is not None:
        shows = "raters who differ from the most frequent label" if several else "raters who marked it"
        _draw(folder / f"{name}.png", reading, small, shows)
        yield folder / f"{name}.png"


def _paint(
    reading: Reading, whole: Tally, values: Array, small: Blocks | None, out: object
) -> Iterator[tuple[Where, list[Array]]]:
    options, masks = reading.case.options, {c: m for c, m in reading.masks.items() if c in whole.columns}
    settings: dict[str, Any] = {"void": options.void, "foreground": options.foreground, "out": out}
    for where, tiles in paint_tiles([values], masks, whole, **settings):
        assert where is not None
        if small is not None:
            small.put(where, tiles[0])
        yield where, tiles


def _draw(path: Path, reading: Reading, small: Blocks, caption: str) -> None:
    from ...charts import heat_overlay

    most = len({column.name for column in reading.masks})
    subtitle = ", ".join(reading.case.groups) or None
    image = overview_of_size(reading, small.values.shape, small.step)
    options: dict[str, Any] = {"title": reading.case.name, "subtitle": subtitle, "caption": caption}
    write_picture(path, heat_overlay(image, small.values, most=most, **options))


def overview_of_size(reading: Reading, shape: tuple[int, ...], step: int) -> Array | None:
    """The image of a large case with so many rows and columns, each ``step`` of its own; None where there is none.

    A level of a pyramid may have a few more or less.
    """
    image = reading.pyramid[0]
    if image is None:
        return None
    small = image.overview(-(-max(image.shape) // step))
    rows, columns = (np.minimum(np.arange(n) * small.shape[i] // n, small.shape[i] - 1) for i, n in enumerate(shape))
    return np.asarray(small[np.ix_(rows, columns)])
