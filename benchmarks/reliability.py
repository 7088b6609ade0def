"""The Rasch model at a size that few studies reach, and against girth."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from manytruths.reliability import Ratings
from manytruths.reliability.rasch import Rasch, rasch

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
    assert found.ended == "converged", "the fit did not converge"
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


JOBS: dict[str, Callable[[], Iterator[Result]]] = {"rasch": rasches}
