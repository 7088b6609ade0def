"""LSML and LSMLP: the truth as a contour, and the raters' rates, each from the other.

With T the items inside the contour and L its length, p_j and q_j the sensitivity and specificity of rater j, and a, b
of an item as in STAPLE (π the prior, flat unless given), contour and rates minimise ::

    E = − Σ_(i in T) log a_i − Σ_(i not in T) log b_i + λ L

    log a_i = log π + Σ_j log (p_j if j marked i, else 1 − p_j)
    log b_i = log (1 − π) + Σ_j log (1 − q_j if j marked i, else q_j)

in turn. Given T, p_j = (hits + ½) / (items of T that j rated + 1), and q_j likewise: a Beta(3/2, 3/2) prior, which
belongs to E, keeps them from 0 and 1. Given the rates, the contour moves outwards where r_i = log a_i − log b_i, plus
λ times its curvature, is positive (:mod:`manytruths.shape.narrow_band`). T starts as the 50 % vote. As only a narrow
band moves, marks far from the vote are not found: the method depends on where it starts (Lampert 2016).

LSMLP adds how much detail the raters draw, g = L / A^((d − 1) / d), where A is the size (area, volume) and d the number
of dimensions; smooth round shapes have least. A rater's g is taken after a majority filter of 3 items a side: specks
are no detail. With m and s² the mean and variance of log g over the raters, weighted by p_j + q_j − 1 against the vote
(0 where negative), λ L becomes ::

    λ L (g / eᵐ)ᵏ / (k + 1)        k = 1 / (leeway² + s²)

so that a unit of length costs λ (g / eᵐ)ᵏ: λ where the contour has the raters' detail, more where it has more, less
where it has less. Raters who differ in detail make a weak prior. Li et al. too measure detail and constrain the shape
by it; the formula is this library's own.

Li X, Aldridge B, Fisher R, Rees J. Estimating the ground truth from multiple individual segmentations incorporating
prior pattern analysis with application to skin lesion segmentation. IEEE ISBI 2011. doi:10.1109/ISBI.2011.5872670.
Lampert TA et al. IEEE Trans Image Process 2016;25:2557–2572. doi:10.1109/TIP.2016.2544703
"""

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
from ..core.undefined import divide
from ..shape.narrow_band import Contour, outline_length
from .result import Consensus, binary_labels, table_notes

Values = NDArray[np.float64]

Flags = NDArray[np.bool_]

HALF = 0.5
"""What a Beta(3/2, 3/2) prior adds to the right and to the wrong decisions before a rate is taken."""

ROUND = 10
"""Steps of the contour between two looks at rates, energy and end."""

FOLLOW = 5
"""Steps between two layings of the band: the contour moves less than the margin meanwhile."""

QUIET = 3
"""Rounds with next to no change that end it."""

STALE = 10
"""Rounds without a new lowest energy that end it too: single items may go to and fro for ever."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LevelSet(Consensus):
    """The contour and the raters' rates, as maps of the size of the masks.

    Attributes
    ----------
    method : str
        ``lsml`` or ``lsmlp``.
    raters : tuple of str
        Raters whose decisions were used.
    labels : Labels
        The labels that ``hard`` refers to.
    probability : ndarray
        a / (a + b), from the decisions on the pixel alone, but never on the other side of ½ than the contour: exactly
        ½ where the contour overrules the raters, 0 where nothing is counted.
    hard : ndarray
        Whether a pixel lies inside the contour.
    convergence : str
        ``converged``, ``stopped`` (after ``max_iter`` steps), ``vanished`` (the length penalty was too high), ``no
        contour`` (everything counted lies inside), ``nothing marked`` or ``everything marked``.
    notes : tuple of str
        What to know before using it.
    """

    sensitivity: Values
    """p of each rater against the contour; nan where nothing that they rated lies inside."""
    specificity: Values
    """q of each rater; nan where nothing that they rated lies outside."""
    iterations: int
    """Steps of the contour."""
    energy: Values
    """E at the start, and after each round of ten steps."""
    penalty: float
    """The penalty on a unit of length at the end: λ or, with the prior on detail, λ (g / eᵐ)ᵏ."""
    detail: Values
    """g of each rater; nan where they marked nothing, or for LSML."""


def lsml(
    masks: Masks,
    length_penalty: float = 2.0,
    *,
    prior: float | str = 0.5,
    raters: Sequence[str] | str | None = None,
    region: str | ArrayLike = "whole",
    spacing: Sequence[float] | None = None,
    void: int | None = None,
    foreground: str | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> LevelSet:
    """The contour that explains the decisions best, with a penalty on its length (LSML).

    Parameters
    ----------
    masks : mapping or sequence of array_like
        The raters' masks, as in :func:`manytruths.tally`, with two labels, of any number of dimensions.
    length_penalty : float
        λ, in units of log-likelihood per side of a pixel. A pixel that juts out of a straight edge adds two sides; at 2
        it stays if the odds for it are above e⁴, about what one rater's mark is worth. 0 has no smoothing.
    prior : float or {"prevalence", "marked"}
        π, as in :func:`manytruths.staple`. ½, flat: maximum likelihood.
    raters : sequence of str or "exchangeable", optional
        Names of the raters, as in :func:`manytruths.tally`.
    region : {"whole", "union"} or array
        The pixels to count; what nobody rated is not counted either. Elsewhere the map is background, and a contour
        ends at the border at no cost.
    spacing : sequence of float, optional
        The size of a pixel along each axis, where pixels are not cubes.
    void : int, optional
        Value of pixels that were not rated.
    foreground : {"any"}, optional
        With ``"any"``, all labels but background count as one.
    tol : float
        End when, in each of three rounds of ten steps, no larger share of the inside changed, or when ten rounds
        brought no lower energy.
    max_iter : int
        Maximum number of steps.

    Returns
    -------
    LevelSet
        Mask, probability, and the raters' sensitivity and specificity.

    References
    ----------
    * Li X, Aldridge B, Fisher R, Rees J. Estimating the ground truth from multiple individual segmentations
      incorporating prior pattern analysis with application to skin lesion segmentation. IEEE ISBI 2011.
      doi:10.1109/ISBI.2011.5872670

    Examples
    --------
    >>> import numpy as np, manytruths as mt
    >>> a = np.zeros((12, 12), int)
    >>> a[3:9, 3:9] = 1
    >>> b, c = a.copy(), a.copy()
    >>> b[2, 5], c[9, 3] = 1, 1
    >>> result = mt.lsml({"A": a, "B": b, "C": c})
    >>> result
    <LevelSet: lsml, 3 raters, 12×12 map, converged>
    >>> int(result.hard.sum()), result.specificity.round(3)
    (36, array([1.   , 0.991, 0.991]))
    """
    _check_options(length_penalty, tol, max_iter)
    scene = Scene.of(masks, prior, raters=raters, region=region, void=void, foreground=foreground)
    return _fit_contour(scene, "lsml", length_penalty, spacing, tol, max_iter, None)


def lsmlp(
    masks: Masks,
    length_penalty: float = 2.0,
    *,
    leeway: float = 1.0,
    prior: float | str = 0.5,
    raters: Sequence[str] | str | None = None,
    region: str | ArrayLike = "whole",
    spacing: Sequence[float] | None = None,
    void: int | None = None,
    foreground: str | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> LevelSet:
    """LSML with a prior on how much detail the contour has, taken from the raters' masks (LSMLP).

    Careless raters draw detail that is not there, and so lower the length penalty: where all are careless, use LSML.

    Parameters
    ----------
    masks : mapping or sequence of array_like
        The raters' masks, as in :func:`manytruths.tally`, with two labels, of any number of dimensions.
    length_penalty : float
        λ, as in :func:`lsml`.
    leeway : float
        How far, in log g, the consensus may differ in detail from raters who all draw alike; the smaller, the stronger
        the prior. At 1, a contour of twice their detail has twice the penalty; at infinity it is LSML.
    prior : float or {"prevalence", "marked"}
        π, as in :func:`manytruths.staple`.
    raters : sequence of str or "exchangeable", optional
        Names of the raters, as in :func:`manytruths.tally`.
    region : {"whole", "union"} or array
        The pixels to count, as in :func:`lsml`.
    spacing : sequence of float, optional
        The size of a pixel along each axis, where pixels are not cubes.
    void : int, optional
        Value of pixels that were not rated.
    foreground : {"any"}, optional
        With ``"any"``, all labels but background count as one.
    tol : float
        When to end, as in :func:`lsml`.
    max_iter : int
        Maximum number of steps.

    Returns
    -------
    LevelSet
        Also with the detail of each rater.

    References
    ----------
    * Li X, Aldridge B, Fisher R, Rees J. Estimating the ground truth from multiple individual segmentations
      incorporating prior pattern analysis with application to skin lesion segmentation. IEEE ISBI 2011.
      doi:10.1109/ISBI.2011.5872670

    Examples
    --------
    >>> import numpy as np, manytruths as mt
    >>> disc = np.hypot(*(np.indices((20, 20)) - 9.5)) < 6
    >>> result = mt.lsmlp({"A": disc, "B": np.roll(disc, 1, 0), "C": np.roll(disc, 1, 1)})
    >>> result.convergence, result.detail.round(2)
    ('converged', array([4.15, 4.15, 4.15]))
    """
    if not leeway > 0:
        raise CallError(f"leeway must be above 0; got {leeway!r}")
    _check_options(length_penalty, tol, max_iter)
    scene = Scene.of(masks, prior, raters=raters, region=region, void=void, foreground=foreground)
    detail = measure_detail(scene, leeway, spacing)
    return _fit_contour(scene, "lsmlp", length_penalty, spacing, tol, max_iter, detail)


def check_length_penalty(length_penalty: float | str) -> None:
    """Refuse what is no penalty."""
    if isinstance(length_penalty, str) or not 0 <= length_penalty < np.inf:
        raise CallError(f"length_penalty must be at least 0 and finite; got {length_penalty!r}")


def _check_options(length_penalty: float, tol: float, max_iter: int) -> None:
    check_length_penalty(length_penalty)
    if not tol >= 0:
        raise CallError(f"tol must be at least 0, a share of the pixels inside; got {tol!r}")
    if max_iter < 1:
        raise CallError(f"max_iter must be at least 1; got {max_iter!r}")


def _fit_contour(
    scene: Scene,
    method: str,
    length_penalty: float,
    spacing: Sequence[float] | None,
    tol: float,
    max_iter: int,
    detail: Detail | None,
) -> LevelSet:
    """Move the contour until it rests."""
    contour = Contour(scene.start, scene.counted, spacing)
    hard, energy, steps, quiet = contour.hard, list[float](), 0, 0
    while True:
        inside = scene.inside(hard)
        rates, length, size = scene.rates(inside), contour.length(), float(inside.sum())
        penalty = length_penalty * (detail.factor(length, size) if detail else 1)
        energy.append(scene.misfit(inside, rates) + penalty * length / (detail.strength + 1 if detail else 1))
        rests = quiet == QUIET or len(energy) - int(np.argmin(energy)) > STALE
        end = _without_contour(scene, inside) or (("converged", "") if rests else None)
        if end or steps >= max_iter:
            break
        ratio = scene.log_a(rates) - scene.log_b(rates)
        ratio += length_penalty * (detail.pressure(length, size) if detail else 0)
        todo = min(ROUND, max_iter - steps)
        _move(contour, scene.pattern.ravel(), ratio, penalty, todo)
        steps += todo
        last, hard = hard, contour.hard
        quiet = quiet + 1 if np.count_nonzero(hard != last) <= tol * size else 0
    moving = f"the contour still moves after {max_iter} steps; allow more with max_iter="
    convergence, note = end or ("stopped", moving)
    rates = scene.rates(inside, pseudo=0)
    return LevelSet(
        method=method,
        raters=scene.tally.rater_names,
        labels=binary_labels(scene.tally),
        probability=scene.probability(hard),
        hard=hard,
        convergence=convergence,
        notes=(*scene.notes, *filter(None, [note])),
        sensitivity=rates.sensitivity,
        specificity=rates.specificity,
        iterations=steps,
        energy=np.array(energy),
        penalty=penalty,
        detail=np.full_like(rates.sensitivity, np.nan) if detail is None else detail.each,
    )


def _move(contour: Contour, pattern: NDArray[np.int32], ratio: Values, penalty: float, steps: int) -> None:
    for step in range(steps):
        if step % FOLLOW == 0:
            contour.follow()
            pressure = ratio[pattern[contour.band]]
        contour.step(pressure, penalty)


def _without_contour(scene: Scene, inside: Values) -> tuple[str, str] | None:
    """Why there is nothing to move, if so."""
    if not inside.any():
        if not scene.threshold:
            return "nothing marked", "the sensitivities cannot be told: no item is marked"
        return "vanished", "the contour vanished; take a smaller length_penalty"
    if inside.sum() < scene.counts.sum():
        return None
    if float(scene.share[scene.counts > 0].min()) == 1:
        return "everything marked", "the specificities cannot be told: no item is background"
    return "no contour", "everything that is counted lies inside; take a larger region"


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
    """(patterns, raters): 1 where the rater marked."""
    left: Values
    """(patterns, raters): 1 where the rater rated and did not mark."""
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
        messages, threshold = table_notes(self.tally), self.threshold
        if not self.counts.any():
            messages.append("nobody rated anything")
        if 0 < threshold < 0.5:
            messages.append(f"no item has half of the votes: started from those that have the most, {threshold:.0%}")
        return messages

    def inside(self, hard: Flags) -> Values:
        """How many items of each pattern lie inside."""
        return np.bincount(self.pattern[hard], minlength=len(self.counts)).astype(np.float64)

    def rates(self, inside: Values, pseudo: float = HALF) -> Rates:
        """The best for the items inside; nan where there is nothing to count."""
        outside = self.counts - inside
        hit, missed = inside @ self.marked + pseudo, inside @ self.left + pseudo
        spared, extra = outside @ self.left + pseudo, outside @ self.marked + pseudo
        return Rates(divide(hit, hit + missed), divide(spared, spared + extra))

    def log_a(self, rates: Rates) -> Values:
        """Of each pattern, were its items true."""
        p = rates.sensitivity
        return np.asarray(np.log(self.prior) + self.marked @ np.log(p) + self.left @ np.log1p(-p))

    def log_b(self, rates: Rates) -> Values:
        """Of each pattern, were its items false."""
        q = rates.specificity
        return np.asarray(np.log1p(-self.prior) + self.left @ np.log(q) + self.marked @ np.log1p(-q))

    def misfit(self, inside: Values, rates: Rates) -> float:
        """E without the length penalty."""
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


@dataclass(frozen=True)
class Detail:
    """The raters' detail, as a prior on that of the truth."""

    each: Values
    """g of each rater; nan where they marked nothing, or there is no outline."""
    mean: float
    """m, of log g."""
    strength: float
    """k; 0 where no rater has an outline, and there is nothing to know."""
    power: float
    """(d − 1) / d."""

    def factor(self, length: float, size: float) -> float:
        """What λ is multiplied by: (g / eᵐ)ᵏ."""
        if not (length > 0 and size > 0):
            return 1.0
        excess = np.log(length) - self.power * np.log(size) - self.mean
        return float(np.exp(self.strength * excess))

    def pressure(self, length: float, size: float) -> float:
        """What growth by an item, at the same length, takes off E, in units of λ."""
        share = self.strength / (self.strength + 1)
        return share * self.power * length / size * self.factor(length, size) if size else 0.0


def measure_detail(scene: Scene, leeway: float, spacing: Sequence[float] | None) -> Detail:
    """The detail of each rater, and its mean and spread, weighted by agreement with the vote."""
    power = 1 - 1 / scene.counted.ndim
    each = np.array([_detail(scene, rater, power, spacing) for rater in range(scene.marked.shape[1])])
    rates = scene.rates(scene.inside(scene.start))
    weight = np.where(np.isnan(each), 0, np.maximum(rates.sensitivity + rates.specificity - 1, 0))
    if not weight.any():
        return Detail(each, 0.0, 0.0, power)
    logs = np.log(np.where(weight > 0, each, 1))
    mean = float(np.average(logs, weights=weight))
    spread = float(np.average((logs - mean) ** 2, weights=weight))
    return Detail(each, mean, 1 / (leeway**2 + spread), power)


def _detail(scene: Scene, rater: int, power: float, spacing: Sequence[float] | None) -> float:
    """Of a rater's mask in which every item is what most of the items around it are, so that specks do not count."""
    from scipy import ndimage

    marked = scene.painted(scene.marked[:, rater] > 0) & scene.counted
    rated = scene.painted(scene.marked[:, rater] + scene.left[:, rater] > 0) & scene.counted
    smooth = ndimage.uniform_filter(marked.astype(np.float32), 3, mode="nearest") > 0.5
    length = outline_length(smooth & rated, rated, spacing)
    return float(length / (smooth & rated).sum() ** power) if length else np.nan
