"""Every number about a case's predictions and raters, from what was counted and measured of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...core.columns import Column
from ...core.tally import Tally
from ...core.undefined import Undefined
from ...evaluation.extended_dice import acceptance
from ...evaluation.overlaps import OVERLAPS, overlaps
from ...shape import SurfaceDistances
from .gaps import NO_PREDICTION
from .hard_case import SOFT, Judged

Key = tuple[Column, Column]
Values = dict[str, float]

EVERYBODY = Column("all raters", "reference")
"""What extended Dice is against: what all marked, and what any did."""

DISTANCES = ("hausdorff", "hausdorff_95", "mean_surface_distance", "surface_dice")
STATISTICS = (*(s.__name__ for s in OVERLAPS), *DISTANCES, *SOFT, "extended_dice", "inner_outer_ratio")
"""In the order in which they are written."""

ABSENT = {"algorithm": NO_PREDICTION, "rater": "rater_absent", "reference": "reference_absent"}


def measured(judged: Judged, tolerance: float) -> dict[Key, Values]:
    """Statistics of every algorithm against every truth, of every rater against every other and against the others."""
    table = judged.tally
    found: dict[Key, Values] = {}
    for (who, whom), values in _overlaps(table).items():
        found[who, whom] = values | _distances(judged.distances, who, whom, tolerance)
    for (who, whom, name), value in judged.soft.items():
        found[who, whom][name] = value
    found |= _accepted(table, judged.absent)
    gone = {c: ABSENT[c.role] for c in judged.absent}
    # by a truth that is not there nobody is judged, also who is missing
    return {key: _said(values, gone.get(key[1]) or gone.get(key[0])) for key, values in found.items()}


def _first(table: Tally) -> list[Column]:
    return [table.columns[i] for i in table.raters]


def _said(values: Values, code: str | None) -> Values:
    """Undefined for the one reason that counts: it is not there."""
    return values if code is None else {name: Undefined(code) for name in values}


def _overlaps(table: Tally) -> dict[Key, Values]:
    raters, truths = _first(table), list(table.role("reference"))
    judged = [*table.role("algorithm"), *raters]
    found = overlaps(table, judged, [*raters, *truths])
    wanted = [(a, b) for a in judged for b in (*raters, *truths) if a != b and _meets(a, b)]
    values = {s: found.values(s) for s in OVERLAPS}
    place = {c: i for i, c in enumerate(found.against)}
    rows = {c: i for i, c in enumerate(judged)}
    return {
        (a, b): {
            s.__name__: found.value(a, b, s) if np.isnan(v[rows[a], place[b]]) else float(v[rows[a], place[b]])
            for s, v in values.items()
        }
        for a, b in wanted
    }


def _meets(who: Column, whom: Column) -> bool:
    """A rater is judged by the other raters, by what is given, and by truths that the others made."""
    return who.role == "algorithm" or whom.role == "rater" or whom.left_out in ("", who.name)


def _distances(distances: Mapping[Key, SurfaceDistances], a: Column, b: Column, tolerance: float) -> Values:
    found = distances.get((a, b)) or distances.get((b, a))
    if found is None:
        return {}
    values = (found.hausdorff(), found.hausdorff(95), found.mean(), _within(found, tolerance))
    return dict(zip(DISTANCES, values, strict=True))


def _within(found: SurfaceDistances, tolerance: float) -> float:
    if np.isnan(tolerance):
        return Undefined("no_tolerance")
    return found.dice(tolerance)


def _accepted(table: Tally, absent: Collection[Column]) -> dict[Key, Values]:
    """Extended Dice of algorithms against all raters and against all but one, and of raters against the others."""
    raters = [c for c in _first(table) if c not in absent]
    found = {(a, EVERYBODY): _extended(table, a) for a in table.role("algorithm")}
    if len(raters) < 2:
        return found
    for rater in raters:
        found[rater, EVERYBODY] = _extended(table, rater)
        readings = [c for c in table.role("rater") if c.name == rater.name]  # his second reading is his own, too
        others, truth = table.without(*readings), replace(EVERYBODY, left_out=rater.name)
        found |= {(a, truth): _extended(others, a) for a in table.role("algorithm")}
    return found


def _extended(table: Tally, column: Column) -> Values:
    found = acceptance(table, column)
    return {"extended_dice": found.value, "inner_outer_ratio": found.inner_outer_ratio}


def mean_of(values: Iterable[float]) -> float:
    """The mean of those that are defined."""
    defined = [v for v in values if not np.isnan(v)]
    return float(np.mean(defined)) if defined else Undefined("undefined")


def in_order(names: Iterable[str]) -> Sequence[str]:
    """Statistics in the order in which they are written."""
    met = set(names)
    return [name for name in STATISTICS if name in met]
