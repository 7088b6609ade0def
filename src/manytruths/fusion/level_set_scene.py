"""What a level set sees: the decisions by pattern, and where in the image each pattern lies (see :mod:`.level_set`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.counting import tally
from ..core.errors import CallError
from ..core.mask_arrays import Masks
from ..core.painting import paint
from ..core.tally import Tally
from .notes import notes

Values = NDArray[np.float64]
Flags = NDArray[np.bool_]

HALF = 0.5
"""What a Beta(3/2, 3/2) prior adds to the right and to the wrong decisions before a rate is taken."""


@dataclass(frozen=True)
class Rates:
    """Of each rater, against a contour."""

    sensitivity: Values
    specificity: Values

    @property
    def log_density(self) -> float:
        """Under their prior, up to a constant."""
        each = np.concatenate([self.sensitivity, self.specificity])
        return HALF * float(np.log(each).sum() + np.log1p(-each).sum())


@dataclass(frozen=True, eq=False)
class Scene:
    """Binary decisions, and the pattern of every item."""

    tally: Tally
    pattern: NDArray[np.int32]
    """The pattern of every item; −1 where it is not in the table."""
    counted: Flags
    """In the region, and rated by somebody."""
    marked: Values
    """(patterns, raters): 1 where he marked."""
    left: Values
    """(patterns, raters): 1 where he did not, though he rated."""
    counts: Values
    """Items a pattern; 0 where nobody rated."""
    prior: float

    @classmethod
    def of(
        cls,
        masks: Masks,
        prior: float | str,
        *,
        raters: Sequence[str] | str | None,
        region: str | ArrayLike,
        void: int | None,
        foreground: str | None,
    ) -> Scene:
        """From masks as a user has them."""
        if isinstance(region, str) and region not in ("whole", "union"):
            raise CallError(f"region is 'whole', 'union' or a mask of the items to count; got {region!r}: give a mask")
        table = tally(masks, raters=raters, region=region, void=void, foreground=foreground)
        _check(table)
        numbers = np.arange(len(table.counts), dtype=np.int32)
        pattern = paint(numbers, masks, table, raters=raters, void=void, foreground=foreground, fill=-1)
        pattern = np.ascontiguousarray(pattern, np.int32)
        counted = np.append(table.rated > 0, False)[pattern]
        if not isinstance(region, str):
            counted &= np.asarray(region).astype(bool)
        rows = table.patterns[:, table.raters]
        marked, left = (rows == 1).astype(np.float64), (rows == 0).astype(np.float64)
        counts = np.where(table.rated > 0, table.counts, 0).astype(np.float64)
        return cls(table, pattern, counted, marked, left, counts, _prior(table, counts, prior))

    @property
    def share(self) -> Values:
        """A / m of each pattern; 0 where nobody rated."""
        return np.asarray(self.tally.marked / np.maximum(self.tally.rated, 1))

    @property
    def threshold(self) -> float:
        """The share of the raters from which on an item lies inside at the start; 0 where nothing is marked."""
        return min(0.5, float(self.share.max(initial=0, where=self.counts > 0)))

    @property
    def start(self) -> Flags:
        """The 50 % vote; where it is empty, what most raters marked."""
        threshold = self.threshold
        return self.painted((self.share >= threshold) & (threshold > 0)) & self.counted

    @property
    def notes(self) -> list[str]:
        """What to know of the decisions, and of the start."""
        found, threshold = notes(self.tally), self.threshold
        if not self.counts.any():
            found.append("nobody rated anything")
        if 0 < threshold < 0.5:
            found.append(f"no item has half of the votes: started from those that have the most, {threshold:.0%}")
        return found

    def inside(self, hard: Flags) -> Values:
        """How many items of each pattern lie inside."""
        return np.bincount(self.pattern[hard], minlength=len(self.counts)).astype(np.float64)

    def rates(self, inside: Values, pseudo: float = HALF) -> Rates:
        """The best for the items inside; nan where there is nothing to count."""
        outside = self.counts - inside
        hit, missed = inside @ self.marked + pseudo, inside @ self.left + pseudo
        spared, extra = outside @ self.left + pseudo, outside @ self.marked + pseudo
        return Rates(_ratio(hit, hit + missed), _ratio(spared, spared + extra))

    def log_a(self, rates: Rates) -> Values:
        """Of each pattern, were its items true."""
        p = rates.sensitivity
        return np.asarray(np.log(self.prior) + self.marked @ np.log(p) + self.left @ np.log1p(-p))

    def log_b(self, rates: Rates) -> Values:
        """Of each pattern, were its items false."""
        q = rates.specificity
        return np.asarray(np.log1p(-self.prior) + self.left @ np.log(q) + self.marked @ np.log1p(-q))

    def misfit(self, inside: Values, rates: Rates) -> float:
        """E without the price of length."""
        likelihood = inside @ self.log_a(rates) + (self.counts - inside) @ self.log_b(rates)
        return -float(likelihood) - rates.log_density

    def probability(self, hard: Flags) -> Values:
        """a / (a + b), but on the contour's side of ½; 0 where nothing is counted."""
        rates = self.rates(self.inside(hard))
        single = self.painted(np.exp(-np.logaddexp(0, self.log_b(rates) - self.log_a(rates))))
        sided = np.where(hard, np.maximum(single, 0.5), np.minimum(single, 0.5))
        return np.where(self.counted, sided, 0.0)

    def painted(self, values: NDArray[Any]) -> NDArray[Any]:
        """A value per pattern as a map; 0 where the pattern is not in the table."""
        return np.asarray(np.append(values, values.dtype.type(0))[self.pattern])


def _ratio(part: Values, whole: Values) -> Values:
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)


def _check(table: Tally) -> None:
    if table.labels.background is None or len(table.labels) > 2:
        raise CallError(
            f"a level set is for two labels, one of them background; there are {', '.join(table.labels.describe())}: "
            "take foreground='any', or one label against the rest"
        )


def _prior(table: Tally, counts: Values, prior: float | str) -> float:
    if prior in ("prevalence", "marked"):
        each = table.marked / np.maximum(table.rated, 1) if prior == "prevalence" else np.sign(table.marked)
        mean = float(counts @ each.astype(np.float64) / max(counts.sum(), 1))
        return mean if 0 < mean < 1 else 0.5  # marked all or not at all: nothing is left to weigh
    if isinstance(prior, str) or not 0 < prior < 1:
        raise CallError(f"prior is 'prevalence', 'marked', or a number above 0 and below 1; got {prior!r}")
    return float(prior)
