"""What is done with one case while its masks are in memory: its table, heatmaps, regions, image features."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...agreement import (
    Correlation,
    common_heatmap,
    dispute_heatmap,
    heatmap_score,
    image_feature_correlations,
    ranking_heatmap,
)
from ...core.errors import CallError, few
from ...core.memory import give_back
from ...core.painting import paint
from ...core.runs import TooManyRuns
from ...core.tally import Tally
from ...io import safe_name, write_map, write_picture
from ...raters.broken_masks import MaskReview
from ...shape import Region, find_regions
from ...study import Case, Study
from ...study.case import Reading
from ...study.mask_values import about
from ...study.problems import has_file
from ...study.suspicions import review_reading
from ..large_maps import LargeMaps
from .distances import CaseDistances, by_value, check_tolerance, measure_distances
from .edits import Edit, edits_of
from .lesion_scores import ReferenceLesions, score_reference_lesions
from .lesions import CaseLesions, measure_lesions
from .references import count_references, has_references, label_values
from .sizes import CaseSizes, measure_sizes

Array = NDArray[Any]
T = TypeVar("T")

MEASURES = ("sizes", "distances", "lesions")
"""What is measured of each case besides agreement, unless it is left out."""


def parse_measures(measure: str | Sequence[str]) -> tuple[str, ...]:
    """The measures named, each once, in their usual order; ``none`` names none of them."""
    names = measure.split(",") if isinstance(measure, str) else measure
    named = [name.strip() for name in names if name.strip()]
    unknown = [name for name in named if name not in (*MEASURES, "none")]
    if unknown or ("none" in named and len(named) > 1):
        raise CallError(f"measure is none, or any of {', '.join(MEASURES)}; got {', '.join(named)}")
    return tuple(name for name in MEASURES if name in named)


@dataclass(frozen=True)
class MapOptions:
    """What to make of a case besides its table."""

    folder: Path | None = None
    """For heatmaps; none are written without it."""
    measured: bool | None = None
    """Whether to look for regions and image features; by default where heatmaps are written."""
    window: int = 7
    agreement_window: int = 3
    base: float = 0.77
    shift: float = 13
    largest: int = 10
    measure: tuple[str, ...] = MEASURES
    """What to measure, of :data:`MEASURES`."""
    large_maps: LargeMaps = "same"
    """Format of heatmaps that are written by tile."""
    tolerance: float | None = None
    """Of surface Dice; by default from the raters' own distances."""

    @property
    def looks(self) -> bool:
        """Whether a case is looked at beyond its table."""
        return self.folder is not None if self.measured is None else self.measured

    def __post_init__(self) -> None:
        check_tolerance(self.tolerance)
        for name in ("window", "agreement_window"):
            if getattr(self, name) < 1 or getattr(self, name) % 2 == 0:
                raise CallError(f"{name} must be an odd number of pixels; got {getattr(self, name)}")


@dataclass(frozen=True)
class CaseAgreement:
    """What is kept of a case."""

    tally: Tally
    regions: list[Region] = field(default_factory=list)
    features: Mapping[str, Correlation] = field(default_factory=dict)
    ranking_score: float | None = None
    note: str = ""
    files: tuple[Path, ...] = ()
    review: MaskReview = field(default_factory=MaskReview)
    """Masks that are probably broken, and what is kept to compare cases."""
    edits: tuple[Edit, ...] = ()
    """Reads that started from another's, beside what they started from."""
    references: Mapping[str, Tally] = field(default_factory=dict)
    """Raters and given references, by label; empty without references."""
    axes: int = 2
    """Of its masks."""
    distances: CaseDistances | None = None
    """Between the raters, and to given references; None where they are not measured."""
    sizes: CaseSizes | None = None
    """Of what raters marked; None where they are not measured."""
    lesions: CaseLesions | None = None
    """Which ones raters have in common; None where they are not measured."""
    reference_lesions: ReferenceLesions = field(default_factory=dict)
    """Scores of raters against given references, by label."""
    left_out: str = ""
    """What was not measured because the case is too large."""


def analyse_case(case: Case, plan: MapOptions) -> CaseAgreement:
    """One case, read once."""
    return analyse_reading(case.read(by_tile=True), plan)


def analyse_reading(reading: Reading, plan: MapOptions) -> CaseAgreement:
    """The same of a case whose masks are in memory; of one without pixels, what is counted."""
    if reading.counts is not None:
        counted = tuple(name for name in plan.measure if name == "sizes")
        plan = replace(plan, folder=None, measured=False, measure=counted)
    case, table = reading.case, reading.tally(judged=False)
    axes, large = len(reading.grid.shape), reading.is_large
    size = len(reading.masks) * math.prod(reading.grid.shape)
    edits = tuple(edits_of(case))
    references = count_references(reading.by_pattern if large and case.references else reading, table)
    whole = table if table.region == "whole" else reading.tally("whole", judged=False)
    named = label_values(reading, table) if has_references(reading, table) else None
    noise, distances, sizes, lesions = Noise(), None, None, None
    against: ReferenceLesions = {}
    if "distances" in plan.measure:
        distances = noise.attempt("distances", lambda: measure_distances(reading, table, named=named))
        give_back(size)
    if "sizes" in plan.measure:
        sizes = noise.attempt("diameters", lambda: measure_sizes(reading, whole))
        if noise.left_out and sizes is None:
            sizes = measure_sizes(reading.by_pattern, whole)  # areas need no neighbours
        give_back(size)
    if "lesions" in plan.measure:
        lesions = noise.attempt("lesions", lambda: measure_lesions(reading, table))
        give_back(size)
    if "lesions" in plan.measure and named is not None:
        labels = by_value(named)
        scored = noise.attempt("lesions", lambda: score_reference_lesions(reading, table, labels))
        against = scored or {}
    measured = CaseAgreement(
        table, review=review_reading(reading, whole), edits=edits, references=references, axes=axes,
        distances=distances, sizes=sizes, lesions=lesions, reference_lesions=against,
    )  # fmt: skip
    if large:
        from .large import look_at_large

        measured = look_at_large(reading, whole, plan, measured, noise) if plan.looks else measured
        return replace(measured, left_out=noise.describe(_left_out(reading, plan, measured)))
    if not plan.looks:
        return measured
    several = whole.labels.several
    heat = np.asarray(reading.paint(heatmap_values(whole), whole))
    heat = heat.astype(np.uint8 if heat.max(initial=0) < 256 else np.uint16)
    image, note = reading.picture[0], _without_image(reading)
    score, ranked = _ranking(reading, plan) if case.ranks else (None, None)
    shows = "raters who differ from the most frequent label" if several else "raters who marked it"
    files = _write_heatmaps(reading, plan, heat, ranked, shows) if plan.folder is not None else ()
    inside = reading.inside
    shown = heat if ranked is None else ranked
    regions = find_regions(shown if inside is None else np.where(inside, shown, 0), reading.grid.spacing)
    features: Mapping[str, Correlation] = {}
    if image is not None:
        features = image_feature_correlations(heat, image, plan.window, plan.agreement_window, inside)
    return replace(measured, regions=regions, features=features, ranking_score=score, note=note, files=files)


def heatmap_values(table: Tally) -> NDArray[np.int64]:
    """How many raters marked a pattern; of several labels, how many differ from the most frequent one."""
    return dispute_heatmap(table) if table.labels.several else common_heatmap(table)


def _without_image(reading: Reading) -> str:
    problem = reading.picture[1]
    return f"case {reading.case.name}: heatmap without its image: {problem}" if problem else ""


def _left_out(reading: Reading, plan: MapOptions, measured: CaseAgreement) -> str:
    """What is not measured of a case that is read by tile."""
    case, noise = reading.case, not measured.review.traces and measured.tally.labels.background is not None
    return name_left_out({
        "the heatmap of ranks": plan.folder is not None and bool(case.ranks), "the search for broken masks": noise,
    })  # fmt: skip


def name_left_out(asked: Mapping[str, bool]) -> str:
    """What was asked for and needs more than a tile."""
    return ", ".join(name for name, wanted in asked.items() if wanted)


def large_notes(cases: Mapping[str, str]) -> list[str]:
    """Which cases were counted by tile, and what was left out for it."""
    by_text: dict[str, list[str]] = {}
    for name, left_out in cases.items():
        by_text.setdefault(left_out, []).append(name)
    return [
        f"too large to be looked at as a whole, and counted by tile: {few(names, 3)}; left out there: {left_out}"
        for left_out, names in by_text.items()
        if left_out
    ]


def image_notes(study: Study, notes: Sequence[str], what: str) -> list[str]:
    """Cases of which ``what`` lacks the image: one note for all, or each, or the first and the number of others."""
    notes = [note for note in notes if note]
    if notes and not study.coded and not any(case.image is not None and has_file(case.image) for case in study):
        return [f"{what} are without images: no file is where {study.options.images!r} says"]
    return [*notes] if len(notes) < 4 else [f"{notes[0]}; likewise {len(notes) - 1} more cases"]


@dataclass
class Noise:
    """What is left out of a large case because a mask of it has more runs than are looked at."""

    left_out: list[str] = field(default_factory=list)
    why: str = ""

    def attempt(self, name: str, measure: Callable[[], T]) -> T | None:
        """What is measured from runs; None where there are too many."""
        try:
            return measure()
        except TooManyRuns as error:
            self.left_out += [] if name in self.left_out else [name]
            self.why = str(error)
            return None

    def describe(self, others: str = "") -> str:
        """All that is left out of a case, with what is left out for other reasons."""
        if not self.left_out:
            return others
        return f"{', '.join(filter(None, [*self.left_out, others]))} ({self.why})"


def _ranking(reading: Reading, plan: MapOptions) -> tuple[float, Array]:
    table, maps = reading.rank_tally
    values = ranking_worth(reading, plan)
    return heatmap_score(table, values), paint(values, maps, table).astype(np.float32)


def ranking_worth(reading: Reading, plan: MapOptions) -> NDArray[np.float64]:
    """What the ranks that raters gave are worth on average, pattern by pattern."""
    with about(f"case {reading.case.name}, rank maps"):
        return ranking_heatmap(reading.rank_tally[0], plan.base, plan.shift, plan.largest)


def _write_heatmaps(
    reading: Reading, plan: MapOptions, heat: Array, ranked: Array | None, shows: str
) -> tuple[Path, ...]:
    assert plan.folder is not None
    most = len({column.name for column in reading.masks})
    files = _write_heatmap(plan.folder, reading, heat, most, shows, discrete=True)
    if ranked is None:
        return files
    top = round(float(plan.base ** (1 - plan.shift)))
    caption = f"severity, mean ({top}: all gave rank 1)"
    return files + _write_heatmap(plan.folder / "ranking", reading, ranked, top, caption, discrete=False)


def _write_heatmap(
    folder: Path, reading: Reading, heat: Array, most: int, caption: str, *, discrete: bool
) -> tuple[Path, ...]:
    """The exact heatmap, and the one to look at."""
    exact, shown = (folder / f"{safe_name(reading.case.name)}{suffix}" for suffix in (".tif", ".png"))
    write_map(exact, heat, reading.grid)
    subtitle = ", ".join(reading.case.groups) or None
    draw_map(shown, reading, heat, most=most, subtitle=subtitle, caption=caption, discrete=discrete)
    return exact, shown


def draw_map(path: Path, reading: Reading, values: Array, **options: Any) -> None:
    """A map in colours over the image of its case; of a volume, some of its slices."""
    from ...charts import heat_overlay, montage

    draw = partial(montage, spacing=reading.grid.spacing) if values.ndim == 3 else heat_overlay
    write_picture(path, draw(reading.picture[0], values, title=reading.case.name, **options))
