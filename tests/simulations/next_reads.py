"""``python -m tests.simulations.next_reads DATA``: how near a consensus comes to the vote of all (docs/methods.md).

The readings that ``next`` asks for are compared with other orders, on real masks.

Each run starts from one reading of every case by a rater at random and adds readings in ten rounds, until half of all
are there. After every round, the order sees what was read so far and nothing else, but for the last three, which know
more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import manytruths as mt
from manytruths.analyses.next_reads.next_reads import describe_table
from manytruths.core.tally import Tally
from manytruths.ratings.planning.asking import CaseReadings, plan_readings
from real_studies import fissure, lidc

ROUNDS = 10
SHARE = 0.5
TILES = 4, 6
RESAMPLES = 2000


@dataclass(frozen=True, eq=False)
class Panel:
    """A case with the marks of all raters."""

    table: Tally
    marked: NDArray[np.bool_]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, masks: Sequence[NDArray[np.uint8]]) -> Panel:
        table = mt.tally({f"r{k}": mask for k, mask in enumerate(masks)})
        return cls(table, table.patterns == 1, table.counts)

    @property
    def raters(self) -> int:
        return self.marked.shape[1]

    def vote(self, readers: Sequence[int]) -> NDArray[np.bool_]:
        return 2 * self.marked[:, list(readers)].sum(axis=1) >= len(readers)

    def score(self, readers: Sequence[int]) -> float:
        """Dice of the vote of some with the vote of all."""
        some, every = self.vote(readers), self.vote(range(self.raters))
        size = self.counts @ some + self.counts @ every
        return 1.0 if size == 0 else float(2 * (self.counts @ (some & every)) / size)

    def describe(self, name: str, readers: Sequence[int]) -> CaseReadings:
        return describe_table(name, self.table.project([f"r{k}" for k in readers]))


Read = list[list[int]]
Order = Callable[[Sequence[Panel], Read, int, np.random.Generator], list[tuple[int, int]]]


def open_raters(panel: Panel, readers: Sequence[int]) -> list[int]:
    return [k for k in range(panel.raters) if k not in readers]


def at_random(panels: Sequence[Panel], read: Read, budget: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Any reading that is open."""
    free = [(i, k) for i, readers in enumerate(read) for k in open_raters(panels[i], readers)]
    return [free[i] for i in rng.permutation(len(free))[:budget]]


def fewest_first(panels: Sequence[Panel], read: Read, budget: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """The case with the fewest readings, by any rater."""
    chosen: list[tuple[int, int]] = []
    counts = [list(readers) for readers in read]
    for _ in range(budget):
        case = min(
            (i for i in range(len(read)) if len(counts[i]) < panels[i].raters),
            key=lambda i: (len(counts[i]), rng.random()),
        )
        chosen.append((case, int(rng.choice(open_raters(panels[case], counts[case])))))
        counts[case].append(chosen[-1][1])
    return chosen


def most_disputed(panels: Sequence[Panel], read: Read, budget: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """The case whose raters are farthest apart, by any rater; cases that one rater read come first."""
    far = [panels[i].describe("", readers).distance for i, readers in enumerate(read)]
    order = sorted(range(len(read)), key=lambda i: (-np.nan_to_num(far[i], nan=2), rng.random()))
    free = [i for i in order if len(read[i]) < panels[i].raters]
    return [(i, int(rng.choice(open_raters(panels[i], read[i])))) for i in free[:budget]]


def by_gain(alike: bool) -> Order:
    """What ``next`` asks for."""

    def order(panels: Sequence[Panel], read: Read, budget: int, rng: np.random.Generator) -> list[tuple[int, int]]:
        cases = [panels[i].describe(str(i), readers) for i, readers in enumerate(read)]
        raters = [f"r{k}" for k in range(panels[0].raters)]
        plan = plan_readings(cases, raters, budget, alike=alike, seed=int(rng.integers(2**31)))
        return [(int(one.case), int(one.rater[1:])) for one in plan.readings]

    return order


def by_oracle(panels: Sequence[Panel], read: Read, budget: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """One or two readings of the case that come nearest to the vote of all, which the oracle knows."""
    best = []
    for i, readers in enumerate(read):
        free, now = open_raters(panels[i], readers), panels[i].score(readers)
        more = [*combinations(free, 1), *combinations(free, 2)]
        if more:
            found = [((panels[i].score([*readers, *new]) - now) / len(new), -len(new), new) for new in more]
            gain, _, new = max(found)
            best.append((gain, i, new))
    best.sort(key=lambda one: -one[0])
    return [(i, k) for _, i, new in best for k in new][:budget]


def by_oracle_of_cases(
    panels: Sequence[Panel], read: Read, budget: int, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """The cases of which one or two readings by raters at random bring most on average, which the oracle knows."""
    best = []
    for i, readers in enumerate(read):
        free, now = open_raters(panels[i], readers), panels[i].score(readers)
        gains = [
            (float(np.mean([panels[i].score([*readers, *new]) - now for new in combinations(free, n)])) / n, -n)
            for n in (1, 2)
            if n <= len(free)
        ]
        if gains:
            gain, n = max(gains)
            best.append((gain, i, rng.permutation(free)[:-n].tolist()))
    best.sort(key=lambda one: -one[0])
    return [(i, k) for _, i, new in best for k in new][:budget]


Look = tuple[int, int, int, int]


def look_of(panel: Panel, readers: Sequence[int]) -> Look:
    """What is known of a case from its readings: how many, how many are empty, and in steps their distance and size."""
    sizes = panel.counts @ panel.marked[:, list(readers)]
    far = panel.describe("", readers).distance
    steps = -1 if np.isnan(far) else int(5 * far)
    return len(readers), int((sizes == 0).sum()), steps, int(np.log2(max(sizes.max(), 1)) / 2)


def by_known_means(panels: Sequence[Panel]) -> Order:
    """The cases of which one or two readings bring most *on average over all cases that look as they do*.

    These means are taken from the masks of all raters, so that this is what can be reached by somebody who knows
    everything about such cases, and nothing else about the one.
    """
    rng, gains = np.random.default_rng(0), dict[Look, list[tuple[float, float]]]()
    for panel in panels:
        everyone = range(panel.raters)
        for n in everyone[1:]:
            some = list(combinations(everyone, n))
            for readers in some if len(some) < 30 else [rng.permutation(panel.raters)[:n].tolist() for _ in range(30)]:
                free, now = open_raters(panel, readers), panel.score(readers)
                one, two = (
                    float(np.mean([panel.score([*readers, *new]) - now for new in combinations(free, k)] or -1)) / k
                    for k in (1, 2)
                )
                gains.setdefault(look_of(panel, readers), []).append((one, two))
    means = {look: tuple(np.mean(found, axis=0)) for look, found in gains.items()}

    def of(look: Look) -> tuple[float, float]:
        nearest = min(
            means, key=lambda m: 10 * abs(m[0] - look[0]) + sum(abs(a - b) for a, b in zip(m, look, strict=True))
        )
        return means[look if look in means else nearest]

    def order(panels: Sequence[Panel], read: Read, budget: int, rng: np.random.Generator) -> list[tuple[int, int]]:
        best = []
        for i, readers in enumerate(read):
            if free := open_raters(panels[i], readers):
                one, two = of(look_of(panels[i], readers))
                n = 2 if two > one and len(free) > 1 else 1
                best.append((two if n == 2 else one, rng.random(), i, rng.permutation(free)[:n].tolist()))
        best.sort(key=lambda found: -found[0])
        return [(i, k) for _, _, i, new in best for k in new][:budget]

    return order


def run(panels: Sequence[Panel], order: Order, seed: int) -> NDArray[np.float64]:
    """Dice with the vote of all by case, when half of the readings are there."""
    rng = np.random.default_rng(seed)
    read: Read = [[int(rng.integers(panel.raters))] for panel in panels]
    total = round(SHARE * sum(panel.raters for panel in panels))
    step = -(-(total - len(panels)) // ROUNDS)
    while (left := total - sum(map(len, read))) > 0:
        chosen = order(panels, read, min(step, left), rng)
        for case, rater in chosen:
            read[case].append(rater)
    return np.array([panel.score(readers) for panel, readers in zip(panels, read, strict=True)])


def compare(panels: Sequence[Panel], orders: dict[str, Order], runs: int) -> dict[str, NDArray[np.float64]]:
    """(runs, cases) Dice of every order, from the same first readings."""
    return {name: np.array([run(panels, order, seed) for seed in range(runs)]) for name, order in orders.items()}


def calibrate(panels: Sequence[Panel], alike: bool, runs: int) -> tuple[float, float]:
    """What ``next`` expects all readings to bring until half of them are there, and what they bring, in Dice."""
    expected = brought = 0.0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        read: Read = [[int(rng.integers(panel.raters))] for panel in panels]
        total, raters = round(SHARE * sum(panel.raters for panel in panels)), [f"r{k}" for k in range(panels[0].raters)]
        step = -(-(total - len(panels)) // ROUNDS)
        first = np.mean([panel.score(readers) for panel, readers in zip(panels, read, strict=True)])
        while (left := total - sum(map(len, read))) > 0:
            cases = [panels[i].describe(str(i), readers) for i, readers in enumerate(read)]
            plan = plan_readings(cases, raters, min(step, left), alike=alike, seed=int(rng.integers(2**31)))
            for one in plan.readings:
                read[int(one.case)].append(int(one.rater[1:]))
                expected += one.gain / len(panels)
        last = np.mean([panel.score(readers) for panel, readers in zip(panels, read, strict=True)])
        brought += float(last - first)
    return expected / runs, brought / runs


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """95% of the means over resampled cases and runs."""
    rng = np.random.default_rng(0)
    runs, cases = values.shape
    means = [
        values[np.ix_(rng.integers(runs, size=runs), rng.integers(cases, size=cases))].mean() for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def orders(panels: Sequence[Panel], alike: bool) -> dict[str, Order]:
    """All orders that are compared."""
    return {
        "next": by_gain(alike), "any open reading": at_random, "fewest readings first": fewest_first,
        "most disputed first": most_disputed, "means of cases alike are known": by_known_means(panels),
        "oracle of cases": by_oracle_of_cases, "oracle": by_oracle,
    }  # fmt: skip


def nodules(data: Path, every: int = 1) -> list[Panel]:
    """Nodules of LIDC; slots are other people in each."""
    return [Panel.of([*masks.values()]) for masks in list(lidc(data).values())[::every]]


def tiles(data: Path) -> list[Panel]:
    """The fissure in 24 tiles, of which those that nobody marked are left out."""
    (masks,) = fissure(data).values()
    rows, columns = next(iter(masks.values())).shape
    cuts = [
        np.s_[
            i * rows // TILES[0] : (i + 1) * rows // TILES[0], j * columns // TILES[1] : (j + 1) * columns // TILES[1]
        ]
        for i in range(TILES[0])
        for j in range(TILES[1])
    ]
    found = [Panel.of([mask[cut] for mask in masks.values()]) for cut in cuts]
    return [panel for panel in found if panel.marked.any()]


def report(title: str, panels: Sequence[Panel], alike: bool, runs: int) -> None:
    """Print a table."""
    found = compare(panels, orders(panels, alike), runs)
    print(f"{title}: {len(panels)} cases, {runs} runs")
    print("| order | Dice with the vote of all | difference of `next` (95% interval) |")
    print("|---|---|---|")
    for name, values in found.items():
        low, high = interval(found["next"] - values)
        by = "" if name == "next" else f"{(found['next'] - values).mean():+.3f} ({low:+.3f} to {high:+.3f})"
        print(f"| {name} | {values.mean():.3f} | {by} |")
    print("gain of all readings, expected and true: {:.3f}, {:.3f}".format(*calibrate(panels, alike, runs)), flush=True)


def main() -> None:
    """Print the tables of both sets of masks."""
    data, runs = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20
    report("Fissure in tiles, 13 raters", tiles(data), False, 2 * runs)
    report("LIDC, four slots", nodules(data), True, runs // 4)


if __name__ == "__main__":
    main()
