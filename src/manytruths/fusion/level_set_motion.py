"""Contour and rates in turn, until nothing changes (see :mod:`.level_set`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..shape.narrow_band import Contour
from .level_set_detail import Detail
from .level_set_scene import Scene, Values

ROUND = 10
"""Steps of the contour between two looks at rates, energy and end."""
FOLLOW = 5
"""Steps between two layings of the band: the contour moves less than the margin meanwhile."""
QUIET = 3
"""Rounds with next to no change that end it."""
STALE = 10
"""Rounds without a new lowest energy that end it too: single items may go to and fro for ever."""


@dataclass(frozen=True)
class Plan:
    """The price of length, and when to end."""

    length: float
    spacing: Sequence[float] | None
    tolerance: float
    most: int

    def __post_init__(self) -> None:
        if not 0 <= self.length < np.inf:
            raise CallError(f"length is the price of a unit of it, at least 0; got {self.length!r}")
        if not self.tolerance >= 0:
            raise CallError(f"tolerance is a share of the inside, at least 0; got {self.tolerance!r}")
        if self.most < 1:
            raise CallError(f"most is at least one step; got {self.most!r}")


@dataclass(frozen=True)
class Run:
    """How the contour came to where it is."""

    steps: int
    energy: Values
    price: float
    ended: str
    note: str = ""


def evolved(scene: Scene, contour: Contour, plan: Plan, detail: Detail | None) -> Run:
    """Move the contour until it rests."""
    hard, energy, steps, quiet = contour.hard, list[float](), 0, 0
    while True:
        inside = scene.inside(hard)
        rates, length, size = scene.rates(inside), contour.length(), float(inside.sum())
        price = plan.length * (detail.factor(length, size) if detail else 1)
        energy.append(scene.misfit(inside, rates) + price * length / (detail.strength + 1 if detail else 1))
        ended = _without_contour(scene, inside)
        rests = quiet == QUIET or len(energy) - int(np.argmin(energy)) > STALE
        if ended or rests or steps >= plan.most:
            break
        ratio = scene.log_a(rates) - scene.log_b(rates)
        ratio += plan.length * (detail.pressure(length, size) if detail else 0)
        todo = min(ROUND, plan.most - steps)
        _move(contour, scene.pattern.ravel(), ratio, price, todo)
        steps += todo
        last, hard = hard, contour.hard
        quiet = quiet + 1 if np.count_nonzero(hard != last) <= plan.tolerance * size else 0
    return Run(steps, np.array(energy), price, *(ended or _verdict(rests, plan)))


def _move(contour: Contour, pattern: NDArray[np.int32], ratio: Values, price: float, steps: int) -> None:
    for step in range(steps):
        if step % FOLLOW == 0:
            contour.follow()
            pressure = ratio[pattern[contour.band]]
        contour.step(pressure, price)


def _without_contour(scene: Scene, inside: Values) -> tuple[str, str] | None:
    """Why there is nothing to move, if so."""
    if not inside.any():
        if not scene.threshold:
            return "nothing marked", "the sensitivities cannot be told: no item is marked"
        return "vanished", "no contour pays for its length; take a smaller length"
    if inside.sum() < scene.counts.sum():
        return None
    if float(scene.share[scene.counts > 0].min()) == 1:
        return "everything marked", "the specificities cannot be told: no item is background"
    return "no contour", "everything that is counted lies inside; take a larger region"


def _verdict(rests: bool, plan: Plan) -> tuple[str, str]:
    if rests:
        return "converged", ""
    return "stopped", f"the contour still moves after {plan.most} steps; allow more with most="
