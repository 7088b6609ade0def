"""Pictures of what differs between a consensus and the nearest candidate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...fusion.candidates import Plan
from ...io import safe_name, write_picture
from ...raters.broken_masks import pixel_name
from ...study import Case
from .case import Array, Scene
from .neighbours import Search, decided_maps, reference_map


def draw_differences(
    case: Case, plan: Plan, searches: Mapping[str, Search], wanted: Mapping[str, Mapping[str, tuple[int, str]]],
    folder: Path,
) -> list[Path]:  # fmt: skip
    """One picture a reference, of the places of candidates that are ``wanted`` of a case; none of large images."""
    from ...charts.overlays import contour_slices

    scene, paths = Scene(case.read(by_tile=True), plan.several), []
    if not scene.has_pixels:
        return []
    for name, (place, candidate) in wanted[case.name].items():
        mask = candidate_map(scene, plan, searches.get(name), place)
        given, known = reference_map(scene, name)
        if scene.several:
            differing = {"differs": (_values(scene, mask) != given) & known}
        else:
            more, less = mask & ~given & known, given & ~mask & known
            differing = {"consensus alone": less, "candidate alone": more}
        number = int(sum(np.count_nonzero(each) for each in differing.values()))
        word = pixel_name(len(scene.reading.grid.shape))
        path = folder / "pictures" / safe_name(name) / f"{safe_name(case.name)}.png"
        picture = contour_slices(
            scene.reading.picture[0], differing, spacing=scene.reading.grid.spacing, title=f"{case.name}, {name}",
            subtitle=f"{number:,} {word}{'' if number == 1 else 's'} differ from {candidate}",
        )  # fmt: skip
        write_picture(path, picture)
        paths.append(path)
    return paths


def candidate_map(scene: Scene, plan: Plan, search: Search | None, place: int) -> Array:
    """What a candidate makes of a case, by its place among all of them."""
    if place < len(plan.candidates):
        return next(iter(decided_maps(scene, plan, (place,))))[1]
    assert search is not None
    return search.map_of(scene, plan, place - len(plan.candidates))


def _values(scene: Scene, codes: Array) -> Array:
    """Values of the masks for codes; the one after the last label is undecided."""
    table = np.zeros(256, np.int64)
    known = (*scene.table.labels.values, scene.undecided)
    table[: len(known)] = known
    return np.asarray(table[codes.astype(np.uint8)])
