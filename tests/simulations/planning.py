"""Does the range of ``plan`` hold the truth?

``python -m tests.simulations.planning [real] [held-out] [change] [simulated]``.

``real``: subsets of two to six raters of real panels predict how the majority of all other raters decides.
``held-out``: the same of the crowd's next largest objects, and simulated images of other regions and raters; the
method was chosen on the others.
``change``: subsets of the same panels predict in how many pixels their vote changes by two of the other raters.
``simulated``: raters of equal and of very different thresholds; also how often "enough raters" is said at its margin.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr
from tests.data_folder import HOME

from manytruths import rasterise_polygon
from manytruths.inference.mixing import VoteTable, identified_ranges, resample_raters
from manytruths.io.images import read_mask
from manytruths.ratings.planning.panels import win_probability
from manytruths.ratings.planning.targets import change_target, match_target

OBJECTS, HELD_OUT = range(6), range(6, 13)
"""Which of the crowd's objects are used, from the largest on."""
SUBSETS = 60


@dataclass(frozen=True)
class Held:
    """How often ranges held the truth, and how wide they were."""

    panel: str
    raters: int
    subjects: int
    pilots: int
    held: float
    width: float
    widest: float
    enough: float = math.nan
    """Share of pilots in which "enough raters" is claimed where two more add exactly the margin."""
    power: float = math.nan
    """The same where two more add a quarter of the margin."""

    def __str__(self) -> str:
        more = "" if math.isnan(self.enough) else f" | {self.enough:.3f} | {self.power:.2f}"
        return (
            f"| {self.panel} | {self.raters} | {self.subjects} | {self.pilots} | {self.held:.3f} | {self.width:.2f} | "
            f"{self.widest:.2f}{more} |"
        )


def vote_table(marks: np.ndarray, weights: np.ndarray, owner: np.ndarray) -> VoteTable:
    """The table of (rows, raters) marks."""
    raters, votes = marks.shape[1], marks.sum(axis=1)
    by_subject = np.zeros((owner.max() + 1, raters + 1))
    np.add.at(by_subject, (owner, votes), weights)
    draws = resample_raters(raters)
    rows, place = np.unique(marks, axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), weights)
    resampled = np.stack([np.bincount(code, total, raters + 1) for code in (rows @ draws.times.T).T])
    return VoteTable(by_subject, resampled, draws.chance, draws.kinds, raters, True)


# -- real panels -----------------------------------------------------------------------------------


def fissure_masks() -> np.ndarray:
    """(pixels, 13 raters)."""
    folders = sorted((HOME / "fissure" / "raters").iterdir())
    return np.stack([read_mask(f / "fissure.png").array.ravel() > 0 for f in folders], axis=1)


def crowd_masks(which: range = OBJECTS) -> Iterator[tuple[str, np.ndarray]]:
    """Name and (pixels, workers) of the crowd's largest objects, by the median area."""

    def lines(name: str) -> list[dict[str, str]]:
        with open(HOME / "crowd" / name, newline="") as stream:
            return list(csv.DictReader(stream))

    sizes = {row["filename"]: (int(row["height"]), int(row["width"])) for row in lines("image_sizes.csv")}
    files = {row["id"]: row["filename"] for row in lines("image.csv")}
    of_object = {row["id"]: (row["name"], sizes.get(files[row["image_id"]])) for row in lines("object.csv")}
    drawn: dict[str, list[np.ndarray]] = {}
    for row in lines("bounding_box.csv"):
        x, y = (json.loads(row[axis].replace("None", "null")) for axis in ("x_locs", "y_locs"))
        if len(x) == len(y) >= 3 and None not in (*x, *y):
            drawn.setdefault(row["object_id"], []).append(np.stack([y, x], axis=1).astype(float))

    def area(outline: np.ndarray) -> float:
        y, x = outline.T
        return abs(float(x @ np.roll(y, 1) - y @ np.roll(x, 1))) / 2

    largest = sorted(drawn, key=lambda name: -float(np.median([area(o) for o in drawn[name]])))
    for name in largest[which.start : which.stop]:
        shape = of_object[name][1]
        assert shape is not None
        masks = [rasterise_polygon([outline], shape).ravel() for outline in drawn[name]]
        yield f"crowd, object {name} ({of_object[name][0]})", np.stack(masks, axis=1)


def try_subsets(panel: str, masks: np.ndarray, subsets: int = SUBSETS, seed: int = 0) -> Iterator[Held]:
    """Subsets of two to six raters against the majority of all others; ties count half."""
    rows, weights = np.unique(masks[masks.any(axis=1)], axis=0, return_counts=True)
    rows, random, everybody = rows.astype(np.int64), np.random.default_rng(seed), masks.shape[1]
    none = (~masks.any(axis=1)).sum()
    for raters in range(2, 7):
        held, widths = [], []
        for _ in range(subsets):
            chosen = random.choice(everybody, raters, replace=False)
            marks, others = rows[:, chosen], everybody - raters
            votes = marks.sum(axis=1)
            own, theirs = win_probability(raters, 2)[votes], win_probability(others, 2)[rows.sum(axis=1) - votes]
            seen = votes > 0
            if not weights[seen].sum():
                continue  # nobody of them marked anything
            truth = np.average((own * theirs + (1 - own) * (1 - theirs))[seen], weights=weights[seen])
            table = vote_table(
                np.vstack([marks, np.zeros((1, raters), np.int64)]), np.append(weights, none),
                np.zeros(len(marks) + 1, np.int64),
            )  # fmt: skip
            (found,) = identified_ranges(table, [match_target(raters, raters, given_marked=True, others=others)])
            held.append(found.low <= truth <= found.high)
            widths.append(found.high - found.low)
        yield Held(panel, raters, 1, subsets, float(np.mean(held)), float(np.mean(widths)), float(np.max(widths)))


def real_panels(subsets: int = SUBSETS) -> Iterator[Held]:
    """The real panels that the method was chosen on."""
    yield from try_subsets("fissure", fissure_masks(), subsets)
    for name, masks in crowd_masks():
        yield from try_subsets(name, masks, subsets)


def held_out_panels(subsets: int = SUBSETS) -> Iterator[Held]:
    """Real panels that it was not chosen on."""
    for name, masks in crowd_masks(HELD_OUT):
        yield from try_subsets(name, masks, subsets, seed=1)


def try_changes(panel: str, masks: np.ndarray, subsets: int = SUBSETS, seed: int = 0) -> Iterator[Held]:
    """Subsets of three to six raters: the share of pixels in which their vote changes by any two of the others."""
    rows, weights = np.unique(masks[masks.any(axis=1)], axis=0, return_counts=True)
    rows, random, everybody = rows.astype(np.int64), np.random.default_rng(seed), masks.shape[1]
    none = (~masks.any(axis=1)).sum()
    for raters in range(3, 7):
        held, widths = [], []
        target, others = change_target(raters, 2, given_marked=True), everybody - raters
        for _ in range(subsets):
            marks = rows[:, random.choice(everybody, raters, replace=False)]
            votes = marks.sum(axis=1)
            theirs, seen = rows.sum(axis=1) - votes, votes > 0
            if not weights[seen].sum():
                continue  # nobody of them marked anything
            both = theirs * (theirs - 1) / (others * (others - 1))
            neither = (others - theirs) * (others - theirs - 1) / (others * (others - 1))
            # one mark of two never changes the vote
            lost = (2 * votes >= raters) & (2 * votes < raters + 2)
            won = (2 * votes < raters) & (2 * votes + 4 >= raters + 2)
            truth = np.average((lost * neither + won * both)[seen], weights=weights[seen])
            table = vote_table(
                np.vstack([marks, np.zeros((1, raters), np.int64)]), np.append(weights, none),
                np.zeros(len(marks) + 1, np.int64),
            )  # fmt: skip
            (found,) = identified_ranges(table, [target])
            held.append(found.low <= truth <= found.high)
            widths.append(found.high - found.low)
        yield Held(panel, raters, 1, subsets, float(np.mean(held)), float(np.mean(widths)), float(np.max(widths)))


def changes_of_real_panels(subsets: int = SUBSETS) -> Iterator[Held]:
    """The fissure, and objects of the crowd."""
    yield from try_changes("fissure", fissure_masks(), subsets)
    for name, masks in (*crowd_masks(), *crowd_masks(HELD_OUT)):
        yield from try_changes(name, masks, subsets)


# -- simulated panels ------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """How images and decisions are simulated."""

    regions: int = 40
    noise: float = 0.6
    """Of one decision."""
    visible: float = -0.5
    clear: float = 1.5
    """Mean and standard deviation of how clearly regions are seen."""


WORLD = World()
OTHER_WORLDS = (World(12, 1.0, 0.5, 1.0), World(100, 0.3, -1.5, 1.5))
"""Few regions that most raters see a little; many that few see clearly."""


def decide(
    random: np.random.Generator, raters: int, subjects: int, spread: float, world: World = WORLD
) -> tuple[np.ndarray, ...]:
    """Marks, sizes and subjects of regions, each marked as a whole; raters' thresholds have a standard deviation."""
    clarity = random.normal(world.visible, world.clear, (subjects, world.regions))
    threshold = random.normal(0, spread, raters)
    marks = clarity[..., None] + random.normal(0, world.noise, (subjects, world.regions, raters)) > threshold
    sizes = np.ceil(random.lognormal(3, 0.5, (subjects, world.regions)))
    owner = np.repeat(np.arange(subjects), world.regions)
    return marks.reshape(-1, raters).astype(np.int64), sizes.ravel(), owner


def true_values(raters: int, sizes: list[int], spread: float, world: World = WORLD) -> list[float]:
    """The target of each panel size in the population, by an integral over clarity."""
    z = np.linspace(-8, 8, 4001)
    weight = np.exp(-(z**2) / 2)
    p = ndtr((world.visible + world.clear * z) / math.hypot(world.noise, spread))
    chance = np.stack([math.comb(raters, a) * p**a * (1 - p) ** (raters - a) for a in range(raters + 1)])
    seen = float((1 - chance[0]) @ weight)
    values = []
    for k in sizes:
        more = k - raters
        by_more = np.stack([math.comb(more, b) * p**b * (1 - p) ** (more - b) for b in range(more + 1)])
        wins = np.stack([win_probability(k, 2)[a : a + more + 1] @ by_more for a in range(raters + 1)])
        agrees = np.where(p > 0.5, wins, 1 - wins)
        values.append(float((chance * agrees)[1:].sum(axis=0) @ weight) / seen)
    return values


def try_pilots(raters: int, subjects: int, spread: float, pilots: int, seed: int = 0, world: World = WORLD) -> Held:
    """Simulated pilots: does the range of the pilot's own majority, and of a larger one, hold the truth?"""
    random, after = np.random.default_rng(seed), raters + 1 + raters % 2
    now, then = (match_target(k, raters, given_marked=True) for k in (raters, after))
    here, there = true_values(raters, [raters, after], spread, world)
    held, widths, enough, power = [], [], [], []
    for _ in range(pilots):
        table = vote_table(*decide(random, raters, subjects, spread, world))
        own, larger, gain = identified_ranges(table, [now, then, then - now])
        held.append((own.low <= here <= own.high) and (larger.low <= there <= larger.high))
        widths.append(own.high - own.low)
        enough.append(gain.high < there - here)
        power.append(gain.high < 4 * (there - here))
    kind = "equal thresholds" if not spread else f"thresholds that differ by {spread:g} SD"
    kind += "" if world == WORLD else f", {world.regions} regions"
    return Held(
        kind, raters, subjects, pilots, float(np.mean(held)), float(np.mean(widths)), float(np.max(widths)),
        float(np.mean(enough)), float(np.mean(power)),
    )  # fmt: skip


def simulated_panels(pilots: int = 200) -> Iterator[Held]:
    """Three to eight raters, ten to fifty subjects, raters of equal and of very different thresholds."""
    for spread in (0.0, 1.5):
        for raters in (3, 5, 8):
            for subjects in (10, 50):
                yield try_pilots(raters, subjects, spread, pilots)


def held_out_pilots(pilots: int = 100) -> Iterator[Held]:
    """Other images, and raters of equal and of other different thresholds."""
    for world in OTHER_WORLDS:
        for spread in (0.0, 1.0, 2.5):
            for raters in (3, 4, 6):
                yield try_pilots(raters, 20, spread, pilots, seed=1, world=world)


def main(arguments: list[str]) -> None:
    """Print the tables."""
    head = "| panel | raters | subjects | pilots | held | mean width | widest |"
    if not arguments or "real" in arguments:
        print(head)
        for line in real_panels():
            print(line, flush=True)
    if not arguments or "held-out" in arguments:
        for panels in (held_out_panels(), held_out_pilots()):
            print(head)
            for line in panels:
                print(line, flush=True)
    if not arguments or "change" in arguments:
        print(head)
        for line in changes_of_real_panels():
            print(line, flush=True)
    if not arguments or "simulated" in arguments:
        print(f"{head} enough, at the margin | enough, at a quarter of it |")
        for line in simulated_panels():
            print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
