"""What is done with one case while its masks are in memory: its table, heatmaps, regions, image features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agreement import Correlation, common_heatmap, heatmap_score, image_features, ranking_heatmap
from ...errors import CallError, ManytruthsError
from ...formats import Grid, safe_name, write_map, write_picture
from ...pixels import paint
from ...shape import Region, regions
from ...study import Case
from ...study.case import about
from ...tallies import Tally

Array = NDArray[Any]


@dataclass(frozen=True)
class Plan:
    """What to make of a case besides its table; nothing where there is no folder."""

    folder: Path | None = None
    region: str | None = None
    features: bool = True
    window: int = 7
    agreement_window: int = 3
    base: float = 0.77
    shift: float = 13
    largest: int = 10

    def __post_init__(self) -> None:
        for name in ("window", "agreement_window"):
            if getattr(self, name) < 1 or getattr(self, name) % 2 == 0:
                raise CallError(f"{name} is an odd number of pixels; got {getattr(self, name)}")


@dataclass(frozen=True)
class Examined:
    """What is kept of a case."""

    tally: Tally
    regions: list[Region] = field(default_factory=list)
    features: Mapping[str, Correlation] = field(default_factory=dict)
    ranking_score: float | None = None
    note: str = ""
    files: tuple[Path, ...] = ()


def examine(case: Case, plan: Plan) -> Examined:
    """One case, read once."""
    reading = case.read()
    table = reading.tally(plan.region)
    if plan.folder is None:
        return Examined(table)
    whole = table if table.region == "whole" else reading.tally("whole")
    heat = np.asarray(reading.paint(common_heatmap(whole), whole))
    heat = heat.astype(np.uint8 if heat.max(initial=0) < 256 else np.uint16)
    image, note = _image(case, heat)
    most = len({column.name for column in case.masks})
    _save(plan.folder, case, heat, image, reading.grid, most, "raters who marked it", discrete=True)
    score, ranked = _ranking(case, plan, image, reading.grid) if case.ranks else (None, None)
    region = case.region(reading.grid)
    inside = None if isinstance(region, str) else np.asarray(region) != 0
    shown = heat if ranked is None else ranked
    found = regions(shown if inside is None else np.where(inside, shown, 0), reading.grid.spacing)
    windows = plan.window, plan.agreement_window
    correlations = image_features(heat, image, *windows, inside) if plan.features and image is not None else {}
    files = _files(plan.folder, case) + (_files(plan.folder / "ranking", case) if case.ranks else ())
    return Examined(table, found, correlations, score, note, files)


def _files(folder: Path, case: Case) -> tuple[Path, ...]:
    """The exact heatmap, and the one to look at."""
    return tuple(folder / f"{safe_name(case.name)}{suffix}" for suffix in (".tif", ".png"))


def _image(case: Case, heat: Array) -> tuple[Array | None, str]:
    """The image, or why there is none."""
    try:
        image = case.picture()
    except ManytruthsError as error:
        return None, f"case {case.name}: heatmap without its image: {error}"
    if image is not None and image.shape[: heat.ndim] != heat.shape:
        size = "×".join(map(str, image.shape[: heat.ndim]))
        return None, f"case {case.name}: heatmap without its image, which is {size}, unlike the masks"
    return image, ""


def _ranking(case: Case, plan: Plan, image: Array | None, grid: Grid) -> tuple[float, Array]:
    table, maps = case.rank_tally(grid)
    with about(f"case {case.name}, rank maps"):
        values = ranking_heatmap(table, plan.base, plan.shift, plan.largest)
    heat = paint(values, maps, table).astype(np.float32)
    assert plan.folder is not None
    top = float(plan.base ** (1 - plan.shift))
    caption = f"severity, mean ({round(top)}: all gave rank 1)"
    _save(plan.folder / "ranking", case, heat, image, grid, round(top), caption, discrete=False)
    return heatmap_score(table, values), heat


def _save(
    folder: Path, case: Case, heat: Array, image: Array | None, grid: Grid, most: int, caption: str, *, discrete: bool
) -> None:
    from ...pictures import heat_overlay, montage

    exact, seen = _files(folder, case)
    write_map(exact, heat, grid)
    options: dict[str, Any] = {"most": most, "title": case.name, "caption": caption, "discrete": discrete}
    options["subtitle"] = ", ".join(case.groups) or None
    picture = (
        montage(image, heat, spacing=grid.spacing, **options)
        if heat.ndim == 3
        else heat_overlay(image, heat, **options)
    )
    write_picture(seen, picture)
