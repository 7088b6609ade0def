"""What ``agree`` makes of a large case besides its table: heatmaps by tile, edits, and scores against references."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agreement import common_heatmap, dispute_heatmap
from ...charts.canvas import LONGEST
from ...core.blocks import Blocks
from ...core.painting import paint_tiles
from ...core.tally import Tally
from ...core.tiles import Where
from ...io import safe_name, write_picture
from ...study.case import Reading
from ..large_maps import large_suffix, write_large_map
from .case import CaseAgreement, MapOptions
from .edits import edits_of
from .references import count_references

Array = NDArray[Any]


def complete_large(reading: Reading, plan: MapOptions, measured: CaseAgreement) -> CaseAgreement:
    """Add what is found tile by tile, or read off the patterns."""
    references = count_references(reading.by_pattern, measured.tally) if reading.case.references else {}
    measured = replace(measured, edits=tuple(edits_of(reading.case)), references=references)
    if not plan.looks:
        return measured
    problem = reading.pyramid[1] if len(reading.grid.shape) == 2 else ""
    note = f"case {reading.case.name}: heatmap without its image: {problem}" if problem else ""
    files = () if plan.folder is None else tuple(_write_heatmap(reading, plan, plan.folder))
    return replace(measured, note=note, files=files)


def _write_heatmap(reading: Reading, plan: MapOptions, folder: Path) -> Iterator[Path]:
    """The exact heatmap, and a picture of an image, in which every pixel shows the highest number beneath it."""
    whole, name = reading.tally("whole", judged=False), safe_name(reading.case.name)
    several = whole.labels.several
    values = np.asarray(dispute_heatmap(whole) if several else common_heatmap(whole))
    values = values.astype(np.uint8 if values.max(initial=0) < 256 else np.uint16)
    shape = reading.grid.shape
    small = Blocks(shape, -(-max(shape) // LONGEST), "most", dtype=values.dtype) if len(shape) == 2 else None
    paint = partial(_paint, reading, whole, values, small)
    yield from write_large_map(folder / f"{name}{large_suffix(reading, plan.large_maps)}", reading, values.dtype, paint)
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
