"""What is done with one case while its masks are in memory: its table, heatmaps, regions, image features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agreement import (
    Correlation,
    common_heatmap,
    dice,
    heatmap_score,
    image_feature_correlations,
    pairwise,
    ranking_heatmap,
)
from ...core.columns import Column
from ...core.errors import CallError
from ...core.painting import paint
from ...core.tally import Tally
from ...core.undefined import Note
from ...io import safe_name, write_map, write_picture
from ...shape import Region, find_regions
from ...shape.alignment import UNLIKE, Turn, find_turn
from ...study import Case
from ...study.case import Reading
from ...study.mask_values import about
from .edits_table import Edit, edits_of

Array = NDArray[Any]


@dataclass(frozen=True)
class MapOptions:
    """What to make of a case besides its table."""

    folder: Path | None = None
    """For heatmaps; none are written without it."""
    measured: bool | None = None
    """Whether to look for regions and image features; by default where heatmaps are written."""
    region: str | None = None
    features: bool = True
    window: int = 7
    agreement_window: int = 3
    base: float = 0.77
    shift: float = 13
    largest: int = 10

    @property
    def looks(self) -> bool:
        """Whether a case is looked at beyond its table."""
        return self.folder is not None if self.measured is None else self.measured

    def __post_init__(self) -> None:
        for name in ("window", "agreement_window"):
            if getattr(self, name) < 1 or getattr(self, name) % 2 == 0:
                raise CallError(f"{name} is an odd number of pixels; got {getattr(self, name)}")


@dataclass(frozen=True)
class TurnedMask:
    """A rater's mask that fits those of most others when it is turned."""

    case: str
    rater: str
    way: Turn

    @property
    def words(self) -> str:
        """What is the matter with the mask."""
        return (
            f"rater {self.rater}'s mask fits the others' when {self.way} (Dice {self.way.before:.2f} as it is, "
            f"{self.way.after:.2f} so): probably it was saved the wrong way round"
        )

    @property
    def note(self) -> Note:
        """The same with the case."""
        return Note("turned_mask", f"case {self.case}: {self.words}")


@dataclass(frozen=True)
class CaseAgreement:
    """What is kept of a case."""

    tally: Tally
    regions: list[Region] = field(default_factory=list)
    features: Mapping[str, Correlation] = field(default_factory=dict)
    ranking_score: float | None = None
    note: str = ""
    files: tuple[Path, ...] = ()
    turns: tuple[TurnedMask, ...] = ()
    """Who fits another rater only when turned."""
    edits: tuple[Edit, ...] = ()
    """Reads that started from another's, beside what they started from."""


def analyse_case(case: Case, plan: MapOptions) -> CaseAgreement:
    """One case, read once."""
    return analyse_reading(case.read(), plan)


def analyse_reading(reading: Reading, plan: MapOptions) -> CaseAgreement:
    """The same of a case whose masks are in memory."""
    case, table = reading.case, reading.tally(plan.region, judged=False)
    edits = tuple(edits_of(case, plan.region))
    if not plan.looks:
        return CaseAgreement(table, edits=edits)
    whole = table if table.region == "whole" else reading.tally("whole", judged=False)
    heat = np.asarray(reading.paint(common_heatmap(whole), whole))
    heat = heat.astype(np.uint8 if heat.max(initial=0) < 256 else np.uint16)
    image, problem = reading.picture
    note = f"case {case.name}: heatmap without its image: {problem}" if problem else ""
    score, ranked = _ranking(reading, plan) if case.ranks else (None, None)
    files = _saved(reading, plan, heat, ranked) if plan.folder is not None else ()
    region = reading.region
    inside = None if isinstance(region, str) else np.asarray(region) != 0
    shown = heat if ranked is None else ranked
    found = find_regions(shown if inside is None else np.where(inside, shown, 0), reading.grid.spacing)
    windows = plan.window, plan.agreement_window
    correlations = (
        image_feature_correlations(heat, image, *windows, inside) if plan.features and image is not None else {}
    )
    return CaseAgreement(table, found, correlations, score, note, files, tuple(_turns(reading, whole)), edits)


def _turns(reading: Reading, table: Tally) -> Iterator[TurnedMask]:
    """Masks that fit those of most others when flipped, and do not as they are."""
    if table.exchangeable or table.labels.background is None or len(table.raters) < 2:
        return
    overlap = pairwise(dice, table.foreground())
    columns = [table.columns[i] for i in table.raters]
    for column, fits in zip(columns, overlap.values, strict=True):
        # most fit as they are, and are not looked at
        if column in reading.masks and 2 * np.count_nonzero(fits < UNLIKE) >= len(columns) - 1:
            yield from _turn(reading, column, [c for c in columns if c != column and c in reading.masks])


def _turn(reading: Reading, column: Column, others: Sequence[Column]) -> Iterator[TurnedMask]:
    own = _marked(reading, column)
    ways = [way for other in others if (way := find_turn(own, _marked(reading, other)))]
    if 2 * len(ways) > len(others):
        best = max(ways, key=lambda way: way.after)
        yield TurnedMask(reading.case.name, column.name, best)


def _marked(reading: Reading, column: Column) -> Array:
    values, void = np.ma.getdata(reading.masks[column]), reading.case.options.void
    return np.asarray((values != 0) & (values != void))


def _files(folder: Path, case: Case) -> tuple[Path, ...]:
    """The exact heatmap, and the one to look at."""
    return tuple(folder / f"{safe_name(case.name)}{suffix}" for suffix in (".tif", ".png"))


def _ranking(reading: Reading, plan: MapOptions) -> tuple[float, Array]:
    table, maps = reading.rank_tally
    values = ranking_worth(reading, plan)
    return heatmap_score(table, values), paint(values, maps, table).astype(np.float32)


def ranking_worth(reading: Reading, plan: MapOptions) -> NDArray[np.float64]:
    """What the ranks that raters gave are worth on average, pattern by pattern."""
    with about(f"case {reading.case.name}, rank maps"):
        return ranking_heatmap(reading.rank_tally[0], plan.base, plan.shift, plan.largest)


def _saved(reading: Reading, plan: MapOptions, heat: Array, ranked: Array | None) -> tuple[Path, ...]:
    """The heatmaps as files."""
    assert plan.folder is not None
    most = len({column.name for column in reading.masks})
    files = _save(plan.folder, reading, heat, most, "raters who marked it", discrete=True)
    if ranked is None:
        return files
    top = round(float(plan.base ** (1 - plan.shift)))
    caption = f"severity, mean ({top}: all gave rank 1)"
    return files + _save(plan.folder / "ranking", reading, ranked, top, caption, discrete=False)


def _save(folder: Path, reading: Reading, heat: Array, most: int, caption: str, *, discrete: bool) -> tuple[Path, ...]:
    from ...charts import heat_overlay, montage

    case, grid, (image, _) = reading.case, reading.grid, reading.picture
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
    return exact, seen
