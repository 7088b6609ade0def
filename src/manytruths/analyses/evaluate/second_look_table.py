"""The places of a study to be looked at again, the strongest first: ``second_look.csv``, and pictures of the top."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.notes import Note
from ...evaluation.second_look import Place, SecondLook, place_items, wanted_items
from ...io import write_picture
from ..printing import counted
from ..rows import Row, Table

Array = NDArray[Any]

EXTRA = ("rank", "n_algorithms", "algorithms", "raters", "point", "box", "size_mm", "depth", "adjoins")
PLACE = (255, 64, 160)
"""The colour of the place itself, which no rater has."""
THIN = 2
"""What adjoins the raters' marks and is less deep than so many pixels is a rim, not something that they missed."""


@dataclass(frozen=True)
class Ranked:
    """One place of the study's list."""

    rank: int
    case: str
    place: Place

    @property
    def file_name(self) -> str:
        """Its picture's; ranks have leading zeros, so that files are listed as places are."""
        return f"{self.rank:03d}.png"


@dataclass(frozen=True)
class Looks:
    """All places of a study."""

    ranked: tuple[Ranked, ...]
    table: Table
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Look:
    """A case as a picture of a place needs it, and what the places were looked for with."""

    image: Array | None
    predictions: Mapping[str, Array]
    masks: Mapping[str, Array]
    spacing: Sequence[float] | None = None
    inside: Array | None = None
    algorithms: int = 2
    raters: float = 0.25
    everybody: Sequence[str] = ()
    """All raters of the study, so that each has the same colour in every case."""

    @property
    def wanted(self) -> NDArray[np.bool_]:
        """The items of all places, specks among them."""
        return wanted_items(
            self.predictions, self.masks, algorithms=self.algorithms, raters=self.raters, inside=self.inside
        )


def second_looks(
    by_case: Mapping[str, SecondLook],
    *,
    regions: Mapping[str, str] | None = None,
    groups: Mapping[str, str] | None = None,
    pixels: Mapping[str, float] | None = None,
    most: int = 1000,
) -> Looks:
    """One list of what :func:`manytruths.evaluation.second_look.second_look` found in each case, the strongest first.

    ``regions`` and ``groups`` say, by case, what was counted and which groups it is in, ``pixels`` how long the
    shortest side of a pixel is where depths are in mm. Thin rims of what raters marked are only counted; of the other
    places, ``most`` are listed.
    """
    every = [(case, place) for case, look in by_case.items() for place in look.places]
    found = [(case, place) for case, place in every if not _is_rim(place, (pixels or {}).get(case, 1.0))]
    found.sort(key=lambda one: one[1].order)
    ranked = tuple(Ranked(i, case, place) for i, (case, place) in enumerate(found[:most], start=1))
    table = Table("second_look", EXTRA)
    table.add(_row(one, (regions or {}).get(one.case, ""), (groups or {}).get(one.case, "")) for one in ranked)
    return Looks(ranked, table, tuple(_notes(by_case, len(every) - len(found), len(found), len(ranked))))


def _is_rim(place: Place, pixel: float) -> bool:
    # a depth of 2 × 0.1 may be stored as 0.19999
    return place.adjoins and place.depth < THIN * pixel * (1 - 1e-6)


def _row(one: Ranked, region: str, group: str) -> Row:
    place = one.place
    size = None if np.isnan(place.size) else place.size
    extra = (
        one.rank, place.most, _named(place.algorithms), _named(place.raters), " ".join(map(str, place.point)),
        " ".join(f"{start}:{stop}" for start, stop in place.box), size, round(place.depth, 3),
        "yes" if place.adjoins else "no",
    )  # fmt: skip
    return Row("place", "area", float(place.area), one.case, group, region=region, extra=extra, n=place.area)


def _named(shares: Mapping[str, float]) -> str:
    """Who marked how much of it: ``unet 100%; vnet 64%``."""
    return "; ".join(f"{name} {max(1, round(100 * share))}%" for name, share in shares.items())


def _notes(by_case: Mapping[str, SecondLook], rims: int, found: int, listed: int) -> Iterator[str]:
    specks = sum(look.specks for look in by_case.values())
    if specks:
        told = f"{counted(specks, 'speck')} with too few pixels {_are(specks)} left out of the second look"
        yield Note("second_look", told)
    if rims:
        told = f"{counted(rims, 'rim')}, thin and beside what raters marked, {_are(rims)} left out of the second look"
        yield Note("second_look", told)
    if found > listed:
        yield Note("second_look", f"{found} places deserve a second look; the {listed} strongest are listed")
    for note in dict.fromkeys(look.note for look in by_case.values() if look.note):
        told = f"{note} ({sum(look.note == note for look in by_case.values())} of {len(by_case)} cases)"
        yield Note("second_look", told)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def draw_places(folder: Path, ranked: Sequence[Ranked], load: Callable[[str], Look], *, most: int = 12) -> list[Path]:
    """Pictures of the strongest places: the image around each, bare and with outlines of raters, algorithms and place.

    ``load`` reads a case again; each is read once, however many places it has.
    """
    by_case: dict[str, list[Ranked]] = {}
    for one in ranked[:most]:
        by_case.setdefault(one.case, []).append(one)
    paths = []
    for case, places in by_case.items():
        look = load(case)
        wanted = look.wanted
        for one in places:
            paths.append(folder / one.file_name)
            write_picture(paths[-1], place_picture(one, look, wanted))
    return sorted(paths)


def _size(place: Place) -> str:
    """``120 pixels (30 mm²)``."""
    known = "" if np.isnan(place.size) else f" ({place.size:.3g} mm{'²³'[len(place.box) - 2]})"
    return f"{place.area} {'pixels' if len(place.box) == 2 else 'voxels'}{known}"


def place_picture(one: Ranked, look: Look, wanted: NDArray[np.bool_]) -> Any:
    """One place, bare and with outlines."""
    from ...charts import rater_colours
    from ...charts.closeups import closeup

    place = one.place
    everybody = list(dict.fromkeys((*look.everybody, *look.masks)))
    paints = dict(zip(everybody, rater_colours(len(everybody)), strict=True))
    own = np.zeros(wanted.shape, bool)
    own[tuple(slice(*ends) for ends in place.box)] = place_items(wanted, place)
    return closeup(
        look.image,
        {"the place": own, **look.masks},
        place.box,
        place.point,
        dashed=look.predictions,
        spacing=look.spacing,
        title=f"{one.rank}. {one.case}: {_size(place)}",
        subtitle=f"by {_named(place.algorithms)}",
        colours=[PLACE, *(paints[name] for name in look.masks)],
    )
