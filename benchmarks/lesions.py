"""Lesions of several raters against panoptica, pair by pair."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manytruths import LesionPair, match_lesions

from .measuring import Result, at_least, at_most, peak, side_by_side

Mask = NDArray[np.uint8]
RATERS, LESIONS, SHAPE = 5, 250, (128, 256, 256)


def draw_raters(raters: int = RATERS, lesions: int = LESIONS, shape: tuple[int, ...] = SHAPE) -> list[Mask]:
    """Balls that raters shift, resize and leave out."""
    rng = np.random.default_rng(0)
    centres, radii = rng.uniform(6, np.array(shape) - 6, (lesions, len(shape))), rng.uniform(2, 6, lesions)
    return [_draw(rng, centres, radii, shape) for _ in range(raters)]


def _draw(rng: np.random.Generator, centres: NDArray[Any], radii: NDArray[Any], shape: tuple[int, ...]) -> Mask:
    mask = np.zeros(shape, np.uint8)
    for centre, radius in zip(centres, radii, strict=True):
        if rng.random() < 0.95:
            at, own = centre + rng.normal(0, 0.5, len(shape)), radius * rng.uniform(0.8, 1.2)
            low = np.maximum(np.floor(at - own).astype(int), 0)
            high = np.minimum(np.ceil(at + own).astype(int) + 1, shape)
            steps = np.meshgrid(*(np.arange(a, b) - c for a, b, c in zip(low, high, at, strict=True)), indexing="ij")
            box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
            mask[box] |= sum(step**2 for step in steps) < own**2
    return mask


def by_us(masks: list[Mask]) -> tuple[LesionPair, ...]:
    """The joint partition, and all pairs."""
    match = match_lesions(masks)
    assert len(match)
    return match.pairs()


def by_peer(a: Mask, b: Mask) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from panoptica import ConnectedComponentsInstanceApproximator, InputType, NaiveThresholdMatching
        from panoptica import Panoptica_Evaluator as Evaluator

        evaluator = Evaluator(
            expected_input=InputType.SEMANTIC,
            instance_approximator=ConnectedComponentsInstanceApproximator(),
            instance_matcher=NaiveThresholdMatching(),
        )
        return float(evaluator.evaluate(b, a, verbose=False)["ungrouped"].pq)


def pairs_of_raters() -> Iterator[Result]:
    masks = draw_raters()
    ours, pairs = by_us(masks), list(combinations(range(RATERS), 2))
    by_peer(masks[0][:16], masks[1][:16])  # its imports
    found: list[float] = []

    def peer() -> None:
        found[:] = [by_peer(masks[i], masks[j]) for i, j in pairs]

    quick, slow = side_by_side(lambda: by_us(masks), peer, 2)
    for pair, other in zip(ours, found, strict=True):
        assert abs(pair.pq - other) < 1e-12, f"PQ differs: {pair.pq}, {other}"
    job = f"lesions, {RATERS} raters, {LESIONS} each, 128 × 256²: all PQ, partition"
    yield at_least(job, "panoptica, ten pairs", slow / quick, 20, f"{quick:.3f} s, the peer {slow:.1f} s")
    yield at_most("  its memory", "", peak(lambda: by_us(masks)), 100, unit="MB")


JOBS: dict[str, Callable[[], Iterator[Result]]] = {"lesions": pairs_of_raters}
