"""Where the raters' competence comes from, each source with its ρ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ...core.errors import InputError
from ...core.undefined import Undefined
from ...ratings.accuracy import rater_accuracy
from ...ratings.concordance import Chance, Concordance, Partial, rho
from ...ratings.rasch import Rasch, rasch
from ...ratings.ratings import Ratings, Values

TITLES = {
    "reference": "the reference",
    "majority": "the majority of the others",
    "given": "given accuracies",
    "rasch": "a Rasch model",
}


@dataclass(frozen=True, eq=False)
class Source:
    """One source of competence."""

    name: str
    """``reference``, ``majority``, ``given`` or ``rasch``."""
    accuracy: Values
    """By rater; of a Rasch model the mean over the cases that he rated."""
    n: Values
    """Items behind each accuracy."""
    rho: Concordance | None
    """None where the source gave nothing."""
    value: float
    """ρ, or why there is none."""
    rasch: Rasch | None = None

    @property
    def title(self) -> str:
        """In words."""
        return TITLES[self.name]


def sources_of(ratings: Ratings, given: Mapping[str, float] | None, chance: Chance, partial: Partial) -> list[Source]:
    """Every source that there is."""
    return [*_whole(ratings, given, chance, partial), _rasch(ratings, chance, partial)]


def _whole(ratings: Ratings, given: Mapping[str, float] | None, chance: Chance, partial: Partial) -> Iterator[Source]:
    """Accuracies of the whole data set."""
    ways: list[str | Mapping[str, float]] = ["reference"] if ratings.reference is not None else []
    for by in [*ways, "majority", *([given] if given else [])]:
        found = rater_accuracy(ratings, by)
        score = rho(ratings, found.accuracy, chance, partial)
        yield Source(found.source, found.accuracy, found.n.astype(np.float64), score, score.value)


def _rasch(ratings: Ratings, chance: Chance, partial: Partial) -> Source:
    rated = ratings.given.sum(axis=0)
    try:
        model = rasch(ratings)
    except InputError as error:
        nothing = np.full(len(ratings.raters), np.nan)
        return Source(
            "rasch", nothing, rated.astype(np.float64), None, Undefined("rasch_not_fitted", str(error.args[0]))
        )
    score = rho(ratings, model.accuracy, chance, partial)
    total = np.where(ratings.given, model.accuracy, 0.0).sum(axis=0)
    mean = np.divide(total, rated, out=np.full(len(rated), np.nan), where=rated > 0)
    return Source("rasch", mean, rated.astype(np.float64), score, score.value, model)
