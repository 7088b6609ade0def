"""A rated data set of a size that few studies reach, and its Rasch model, against krippendorff and girth."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from manytruths.analyses.reliability.intervals import beyond_chance
from manytruths.analyses.reliability.reliability import Reliability, ReliabilitySettings, compute_reliability
from manytruths.ratings import Ratings
from manytruths.ratings.concordance import genuineness
from manytruths.ratings.rasch_model import Rasch, rasch
from manytruths.ratings.tables import read_ratings

from .measuring import Result, at_least, at_most, best, peak


def answered(cases: int, raters: int, missing: float) -> tuple[Ratings, np.ndarray]:
    """Raters of ability 2 ± 0.5 on cases of difficulty ± 2.4, every label right or wrong; and their abilities."""
    rng = np.random.default_rng(0)
    ability, difficulty = rng.normal(2, 0.5, raters), rng.normal(0, 2.4, cases)
    chance = 1 / (1 + np.exp(np.subtract.outer(difficulty, ability)))
    codes = (rng.random(chance.shape) < chance).astype(np.int16)
    codes[rng.random(chance.shape) < missing] = -1
    names = tuple(f"c{i}" for i in range(cases)), tuple(f"r{i}" for i in range(raters))
    ratings = Ratings(*names, ("0", "1"), codes, np.full(codes.shape, np.nan), reference=np.ones(cases, np.int16))
    return ratings, ability


def right(found: Rasch, ability: np.ndarray) -> None:
    assert found.convergence == "converged", "the fit did not converge"
    assert np.mean(np.abs(found.ability - ability) < 2 * found.ability_error) > 0.8, "the abilities are off"
    assert abs(found.spread - 2.4) < 4 * found.spread_error, "the spread is off"


def rasches() -> Iterator[Result]:
    for missing, job in ((0.0, "Rasch, 10,000 × 50, all rated"), (0.3, "Rasch, 10,000 × 50, 30% missing")):
        ratings, ability = answered(10_000, 50, missing)
        right(rasch(ratings), ability)
        yield at_most(job, "", best(lambda r=ratings: rasch(r), 3), 10, unit="s")
        yield at_most("  its memory", "", peak(lambda r=ratings: rasch(r)), 150, unit="MB")
    yield from against_girth()


def against_girth() -> Iterator[Result]:
    from girth import onepl_mml

    ratings, _ = answered(5_000, 13, 0.0)
    codes = ratings.codes.T.astype(int)
    found, theirs = rasch(ratings), onepl_mml(codes)
    assert abs(found.spread - theirs["Discrimination"]) < 0.05, "the spreads differ"
    quick, slow = best(lambda: rasch(ratings), 3), best(lambda: onepl_mml(codes), 1)
    times = f"{quick * 1e3:.1f} ms, girth {slow:.2f} s, ours with errors, difficulties and fit"
    yield at_least("Rasch, 5,000 × 13", "girth's onepl_mml", slow / quick, 2, times)


def rated(path: Path, cases: int = 10_000, raters: int = 13) -> None:
    """A long table as the paper's simulation has it: labels, five levels of confidence, a reference."""
    rng = np.random.default_rng(0)
    truth, difficulty = (rng.random(cases) < 0.45).astype(int), rng.normal(0, 2.43, cases)
    chance = 1 / (1 + np.exp(np.subtract.outer(difficulty, rng.normal(2.63, 0.35, raters))))
    codes = np.where(rng.random(chance.shape) < chance, truth[:, None], 1 - truth[:, None])
    sure = rng.choice(np.arange(1, 6), chance.shape, p=[0.02, 0.05, 0.18, 0.48, 0.27])
    with open(path, "w", newline="", encoding="utf-8") as stream:
        out = csv.writer(stream)
        out.writerow(["case", "rater", "label", "confidence", "reference"])
        for i, j in np.ndindex(codes.shape):
            out.writerow([f"p{i}", f"r{j}", codes[i, j], sure[i, j], truth[i]])


def checked(found: Reliability) -> None:
    """σ by another way: of those who gave a label, the squared sum less the sum of squares, over all pairs."""
    ratings = found.ratings
    sure = [np.where(ratings.codes == k, genuineness(ratings), 0.0) for k in range(2)]
    agreed = sum((s.sum(axis=1) ** 2 - (s**2).sum(axis=1)) / 2 for s in sure)
    assert np.allclose(found.sigma.by_case, agreed / 78), "sigma is off"
    rhos = {source.name: source.value for source in found.sources}
    assert rhos["rasch"] < rhos["reference"] < rhos["majority"] < found.sigma.value, "rho is off"


def everything() -> Iterator[Result]:
    """From the file to all tables, with their intervals."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.csv"
        rated(path)

        def read() -> Ratings:
            return read_ratings(path, confidence_levels=5)

        ratings = read()

        checked(compute_reliability(ratings))
        reading, plain = best(read, 3), best(lambda: compute_reliability(ratings), 3)
        times = f"{reading:.2f} s to read, {plain:.2f} s for the analysis"
        yield at_most("reliability, 10,000 × 13, sigma, rho, Rasch, tables", "", reading + plain, 2, times, unit="s")
        yield at_most("  its memory", "", peak(lambda: compute_reliability(ratings)), 200, unit="MB")


def intervals() -> Iterator[Result]:
    """The jackknife over 10,000 cases, against a peer that computes alpha without each case one by one."""
    from krippendorff import alpha

    with TemporaryDirectory() as folder:
        rated(Path(folder) / "ratings.csv")
        ratings = read_ratings(Path(folder) / "ratings.csv", confidence_levels=5)
    chosen = ReliabilitySettings()
    ours = beyond_chance(ratings, chosen)["krippendorff_alpha"]
    assert abs(ours.value - alpha(value_counts=ratings.votes)) < 1e-12
    assert ours.low < ours.value < ours.high, "there is no interval"
    some = range(0, len(ratings), 500)
    slow = best(lambda: [alpha(value_counts=np.delete(ratings.votes, k, axis=0)) for k in some], 1) * 500
    quick = best(lambda: beyond_chance(ratings, chosen), 3)
    times = f"{quick * 1e3:.1f} ms, krippendorff {slow:.2f} s; ours with kappa and AC1"
    yield at_least("alpha without each case, 10,000 × 13", "krippendorff, one by one", slow / quick, 5, times)


def pilots() -> Iterator[Result]:
    """A plan from the masks of 100 cases and eight raters."""
    from manytruths import plan_from_pilot, tally

    rng = np.random.default_rng(0)
    y, x = np.mgrid[:128, :128]
    away, grow = np.hypot(y - 64, x - 64), rng.normal(0, 2, 8)
    pilot = {}
    for i in range(100):
        radius = rng.uniform(15, 40)
        drawn = {f"r{j}": (away < radius + g + rng.normal(0, 2)).astype(np.uint8) for j, g in enumerate(grow)}
        pilot[f"p{i}"] = tally(drawn)
    found = plan_from_pilot(pilot)
    assert found.n_raters == 8, "raters were left out"
    assert all(p.accuracy.low <= p.accuracy.value <= p.accuracy.high for p in found.panels), "a range misses its value"
    yield at_most("plan from a pilot, 100 × 8", "", best(lambda: plan_from_pilot(pilot), 2), 5, unit="s")


JOBS: dict[str, Callable[[], Iterator[Result]]] = {
    "rasch": rasches,
    "sigma_rho": everything,
    "reliability_intervals": intervals,
    "plan_pilot": pilots,
}
