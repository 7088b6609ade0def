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

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import CallError
from ..core.mask_arrays import Masks
from ..shape.narrow_band import Contour
from .level_set_detail import Detail, detail_of
from .level_set_motion import Plan, evolved
from .level_set_scene import Scene, Values
from .result import Consensus, binary_labels


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LevelSet(Consensus):
    """The contour and the raters' rates, as maps of the size of the masks.

    ``hard`` is what lies inside. ``probability`` is a / (a + b), from the decisions on the item alone, but never on the
    other side of ½ than the contour: exactly ½ where the contour overrules the raters, 0 where nothing is counted.
    ``ended``: ``converged``, ``stopped`` (after the most steps allowed), ``vanished`` (the price of length was too
    high), ``no contour`` (everything counted lies inside), ``nothing marked``, ``everything marked``.
    """

    sensitivity: Values
    """p of each rater against the contour; nan where nothing that he rated lies inside."""
    specificity: Values
    """q of each rater; nan where nothing that he rated lies outside."""
    iterations: int
    """Steps of the contour."""
    energy: Values
    """E at the start, and after each round of ten steps."""
    price: float
    """What a unit of length costs in the end: λ or, with the prior on detail, what became of it."""
    detail: Values
    """g of each rater; nan where he marked nothing, or it was not asked for."""


def lsml(
    masks: Masks,
    length: float = 2.0,
    *,
    prior: float | str = 0.5,
    raters: Sequence[str] | str | None = None,
    region: str | ArrayLike = "whole",
    spacing: Sequence[float] | None = None,
    void: int | None = None,
    foreground: str | None = None,
    tolerance: float = 1e-4,
    most: int = 1000,
) -> LevelSet:
    """The contour that explains the decisions best at a price on its length; masks of any number of dimensions.

    Parameters
    ----------
    masks, raters, void, foreground
        As for :func:`manytruths.tally`, with two labels.
    length
        λ, in units of log-likelihood a side of an item. An item that juts out of a straight edge adds two sides; at 2
        it stays if the odds for it are above e⁴, about what one rater's mark is worth. 0 has no smoothing.
    prior
        π: a number, ``"prevalence"`` or ``"marked"`` as for :func:`manytruths.staple`. ½, flat: maximum likelihood.
    region
        ``"whole"``, ``"union"``, or a mask of the items to count; what nobody rated is not counted either. There it is
        background, and a contour ends at the border at no cost.
    spacing
        The size of an item along each axis, where it is not a cube.
    tolerance, most
        End when, in each of three rounds of ten steps, no larger share of the inside changed, or when ten rounds
        brought no lower energy; else stop after so many steps.

    >>> a = np.zeros((12, 12), int)
    >>> a[3:9, 3:9] = 1
    >>> b, c = a.copy(), a.copy()
    >>> b[2, 5], c[9, 3] = 1, 1
    >>> found = lsml({"A": a, "B": b, "C": c})
    >>> found
    <LevelSet lsml of 3 raters, 12×12 map: converged>
    >>> int(found.hard.sum()), found.specificity.round(3)
    (36, array([1.   , 0.991, 0.991]))
    """
    scene = Scene.of(masks, prior, raters=raters, region=region, void=void, foreground=foreground)
    return _found(scene, "lsml", Plan(length, spacing, tolerance, most), None)


def lsmlp(
    masks: Masks,
    length: float = 2.0,
    *,
    leeway: float = 1.0,
    prior: float | str = 0.5,
    raters: Sequence[str] | str | None = None,
    region: str | ArrayLike = "whole",
    spacing: Sequence[float] | None = None,
    void: int | None = None,
    foreground: str | None = None,
    tolerance: float = 1e-4,
    most: int = 1000,
) -> LevelSet:
    """As :func:`lsml`, with a prior: the contour has about as much detail as the raters draw.

    Parameters
    ----------
    leeway
        How far, in log g, the truth may differ in detail from raters who all draw alike; the less, the stronger the
        prior. At 1, a contour of twice their detail pays twice for length; at infinity it is LSML.

    Careless raters draw detail that is not there, and so lower the price of length: where all are, take LSML.

    >>> disc = np.hypot(*(np.indices((20, 20)) - 9.5)) < 6
    >>> found = lsmlp({"A": disc, "B": np.roll(disc, 1, 0), "C": np.roll(disc, 1, 1)})
    >>> found.ended, found.detail.round(2)
    ('converged', array([4.15, 4.15, 4.15]))
    """
    if not leeway > 0:
        raise CallError(f"leeway is above 0; got {leeway!r}")
    scene = Scene.of(masks, prior, raters=raters, region=region, void=void, foreground=foreground)
    plan = Plan(length, spacing, tolerance, most)
    return _found(scene, "lsmlp", plan, detail_of(scene, leeway, spacing))


def _found(scene: Scene, method: str, plan: Plan, detail: Detail | None) -> LevelSet:
    contour = Contour(scene.start, scene.counted, plan.spacing)
    run = evolved(scene, contour, plan, detail)
    hard = contour.hard
    rates = scene.rates(scene.inside(hard), pseudo=0)
    return LevelSet(
        method=method,
        raters=scene.tally.rater_names,
        labels=binary_labels(scene.tally),
        probability=scene.probability(hard),
        hard=hard,
        ended=run.ended,
        notes=(*scene.notes, *filter(None, [run.note])),
        sensitivity=rates.sensitivity,
        specificity=rates.specificity,
        iterations=run.steps,
        energy=run.energy,
        price=run.price,
        detail=np.full_like(rates.sensitivity, np.nan) if detail is None else detail.each,
    )
