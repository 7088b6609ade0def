"""Places of a study that deserve a second look, the strongest first: ``second_look.csv``, and pictures of the top."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...claims.sentences import counted
from ...core.runs import LabelRuns
from ...core.tiles import load
from ...core.undefined import Note
from ...evaluation.second_look import SecondLook, SecondLookPlace, find_places
from ...io import write_picture
from ...io.result_tables import Row, Table
from ...shape.grid import slice_axis
from ...study import Case, Study
from .marks import Array, CaseMarks, pack, unpack

EXTRA = ("rank", "n_algorithms", "algorithms", "raters", "point", "box", "size_mm", "depth", "adjoins")
PLACE = (255, 64, 160)
"""The colour of the place itself, which no rater has."""
THIN = 2
"""A place that touches the raters' marks and is less deep than so many pixels is a rim, not something they missed."""
MOST_PICTURES = 12
"""So many places are drawn."""
AROUND = 26
"""Pixels kept around a place, at least: more than its picture shows."""


@dataclass(frozen=True)
class RankedPlace:
    """One place of the study's list."""

    rank: int
    case: str
    place: SecondLookPlace
    closeup: bytes | None
    """What its picture shows, compressed; only of the strongest."""


@dataclass(frozen=True)
class Looks:
    """All places of a study."""

    ranked: tuple[RankedPlace, ...]
    table: Table
    notes: tuple[str, ...]


@dataclass(frozen=True)
class CaseLook:
    """The places of one case, and what pictures of the strongest show."""

    places: SecondLook
    pixel: float
    """The shortest side of a pixel, in the units of depths."""
    closeups: Mapping[int, bytes] = field(default_factory=dict)
    """Compressed, by the position of the place."""


@dataclass(frozen=True)
class Closeup:
    """The image around a place; of a volume, one slice of it."""

    image: Array | None
    place: Array
    masks: Mapping[str, Array]
    predictions: Mapping[str, Array]
    box: tuple[tuple[int, int], ...]
    point: tuple[int, ...]
    spacing: Sequence[float] | None
    slice_number: int | None = None
    """Of the slice, from 1."""

    @classmethod
    def of(cls, whole: CaseMarks, place: SecondLookPlace, runs: LabelRuns) -> Closeup:
        """What a picture of a place shows, from a window around it."""
        box, point, spacing = list(place.box), list(place.point), list(whole.near.grid.spacing or ())
        axis, plane = -1, -1
        if len(box) == 3:
            chosen = slice_axis(runs.shape, whole.near.grid.spacing)
            assert chosen is not None
            axis, plane = chosen, point[chosen]
            for each in (box, point, spacing):
                del each[axis : axis + 1]
        reach = round(0.75 * max(stop - start for start, stop in box)) + AROUND
        size = [n for i, n in enumerate(runs.shape) if i != axis]
        window = [
            slice(max(0, start - reach), min(n, stop + reach)) for (start, stop), n in zip(box, size, strict=True)
        ]
        step = -(-max(edge.stop - edge.start for edge in window) // LARGEST)
        where = tuple(window) if plane < 0 else (*window[:axis], slice(plane, plane + 1), *window[axis:])

        def flat(part: Array) -> Array:
            return np.ascontiguousarray((part if plane < 0 else part.squeeze(axis))[::step, ::step])

        def cut(array: Array) -> Array:
            return flat(np.ma.filled(load(whole.on_pixels(array), where), 0))

        image = _cut_image(whole, where)
        return cls(
            None if image is None else flat(image), flat(runs[where]),
            {c.name: cut(mask) for c, mask in whole.by_rater.items()},
            {c.name: cut(mask) for c, mask in whole.by_algorithm.items()},
            tuple(
                ((start - w.start) // step, -((w.start - stop) // step))
                for (start, stop), w in zip(box, window, strict=True)
            ),
            tuple((p - w.start) // step for p, w in zip(point, window, strict=True)),
            tuple(step * n for n in spacing) or None, None if plane < 0 else plane + 1,
        )  # fmt: skip


LARGEST = 4096
"""Rows and columns of a close-up; of larger ones, every second, third … is kept."""


def _cut_image(whole: CaseMarks, where: tuple[slice, ...]) -> Array | None:
    """A part of the image; of a large one, only that is read."""
    near = whole.near
    if near.is_large and len(where) == 2:
        return None if near.pyramid[0] is None else near.pyramid[0].crop(where)
    image = near.picture[0]
    return None if image is None else image[where]


def find_case_places(whole: CaseMarks) -> CaseLook:
    """The places of a case, and close-ups of the strongest, should they be among the strongest of the study."""
    plan, region = whole.plan, whole.reading.region
    predictions = {c.name: whole.on_pixels(mask) for c, mask in whole.by_algorithm.items()}
    masks = {c.name: whole.on_pixels(mask) for c, mask in whole.by_rater.items()}
    limits: dict[str, Any] = {"algorithms": plan.second_look_algorithms, "raters": plan.second_look_raters}
    limits["inside"] = None if isinstance(region, str) else whole.on_pixels(np.asarray(region).astype(bool))
    spacing = whole.near.grid.spacing
    pixel = min(spacing or [1.0])
    places, runs = find_places(predictions, masks, least=plan.second_look_min_size, spacing=spacing, **limits)
    shown = [i for i, place in enumerate(places.places) if not _is_rim(place, pixel)][:MOST_PICTURES]
    if not (plan.closeups and shown):
        return CaseLook(places, pixel)
    return CaseLook(places, pixel, {i: pack(Closeup.of(whole, places.places[i], runs[i])) for i in shown})


def tabulate_places(study: Study, cases: Mapping[str, CaseLook], *, most: int = 1000) -> Looks:
    """List the places of all cases, the strongest first.

    Thin rims of what raters marked are only counted; of the other places, ``most`` are listed.
    """
    every = [(name, i, place) for name, look in cases.items() for i, place in enumerate(look.places.places)]
    places = [(name, i, place) for name, i, place in every if not _is_rim(place, cases[name].pixel)]
    places.sort(key=lambda entry: entry[2].order)
    ranked = []
    for rank, (name, i, place) in enumerate(places[:most], start=1):
        ranked.append(RankedPlace(rank, name, place, cases[name].closeups.get(i) if rank <= MOST_PICTURES else None))
    table = Table("second_look", EXTRA)
    table.add(_row(entry, study[entry.case]) for entry in ranked)
    looks = [look.places for look in cases.values()]
    notes = tuple(_notes(looks, len(every) - len(places), len(places), len(ranked)))
    return Looks(tuple(ranked), table, notes)


def _is_rim(place: SecondLookPlace, pixel: float) -> bool:
    # a depth of 2 × 0.1 may be stored as 0.19999
    return place.adjoins and place.depth < THIN * pixel * (1 - 1e-6)


def _row(entry: RankedPlace, case: Case) -> Row:
    place = entry.place
    size = None if np.isnan(place.size) else place.size
    extra = (
        entry.rank, place.most, _format_shares(place.algorithms), _format_shares(place.raters),
        " ".join(map(str, place.point)), " ".join(f"{start}:{stop}" for start, stop in place.box), size,
        round(place.depth, 3), "yes" if place.adjoins else "no",
    )  # fmt: skip
    region, group = "whole" if case.roi is None else "mask", "; ".join(case.groups)
    return Row("place", "area", float(place.area), entry.case, group, region=region, extra=extra, n=place.area)


def _format_shares(shares: Mapping[str, float]) -> str:
    """Who marked how much of it: ``unet 100%; vnet 64%``."""
    return "; ".join(f"{name} {max(1, round(100 * share))}%" for name, share in shares.items())


def _notes(looks: Sequence[SecondLook], rims: int, places: int, listed: int) -> Iterator[Note]:
    specks = sum(look.specks for look in looks)
    left_out = {"speck": (specks, " with too few pixels"), "rim": (rims, ", thin and beside what raters marked,")}
    for thing, (count, which) in left_out.items():
        if count:
            verb = "is" if count == 1 else "are"
            yield Note("second_look", f"{counted(count, thing)}{which} {verb} left out of the second look")
    if places > listed:
        yield Note("second_look", f"{places} places deserve a second look; the {listed} strongest are listed")
    for note, count in Counter(look.note for look in looks if look.note).items():
        yield Note("second_look", f"{note} ({count} of {len(looks)} cases)")


def draw_places(folder: Path, looks: Looks, everybody: Sequence[str]) -> list[Path]:
    """Write pictures of the strongest places: the image around each, bare and with outlines.

    ``everybody`` are all raters of the study, so that each has the same colour in every picture.
    """
    paths = []
    for entry in looks.ranked:
        if entry.closeup is not None:
            # leading zeros, so that files are listed as places are
            paths.append(folder / f"{entry.rank:03d}.png")
            write_picture(paths[-1], place_picture(entry, unpack(entry.closeup), everybody))
    return paths


def place_picture(entry: RankedPlace, shown: Closeup, everybody: Sequence[str] = ()) -> Any:
    """One place, bare and with the outlines of raters, algorithms and the place itself."""
    from ...charts import rater_colours
    from ...charts.overlays import closeup

    place = entry.place
    names = list(dict.fromkeys((*everybody, *shown.masks)))
    colours = dict(zip(names, rater_colours(len(names)), strict=True))
    axes = len(place.box)
    size = "" if np.isnan(place.size) else f" ({place.size:.3g} mm{'²³'[axes - 2]})"
    where = "" if shown.slice_number is None else f"; slice {shown.slice_number}"
    return closeup(
        shown.image, {"the place": shown.place, **shown.masks}, shown.box, shown.point,
        dashed=shown.predictions, spacing=shown.spacing,
        title=f"{entry.rank}. {entry.case}: {place.area} {'pixels' if axes == 2 else 'voxels'}{size}",
        subtitle=f"by {_format_shares(place.algorithms)}{where}",
        colours=[PLACE, *(colours[name] for name in shown.masks)],
    )  # fmt: skip
