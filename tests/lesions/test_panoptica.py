"""Pairs of raters against panoptica's matchers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import ndimage

import manytruths as mt


def draw_raters(
    seed: int, raters: int = 3, shape: tuple[int, ...] = (120, 140), lesions: int = 40, spread: float = 1.5
) -> list[np.ndarray]:
    """Ellipses that raters shift, resize, leave out and join."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(5, np.array(shape) - 5, (lesions, len(shape)))
    radii = rng.uniform(2, 7, lesions)
    grid = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
    masks = []
    for _ in range(raters):
        mask = np.zeros(shape, np.uint8)
        for centre, radius in zip(centres, radii, strict=True):
            if rng.random() < 0.8:
                at = centre + rng.normal(0, spread, len(shape))
                mask |= (((grid - at) ** 2).sum(axis=-1) < (radius * rng.uniform(0.6, 1.3)) ** 2).astype(np.uint8)
        masks.append(mask)
    return masks


def panoptica_scores(a: np.ndarray, b: np.ndarray, threshold: float, matching: str) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from panoptica import InputType, MaxBipartiteMatching, NaiveThresholdMatching, Panoptica_Evaluator
        from panoptica.metrics import Metric

        matcher = {"greedy": NaiveThresholdMatching, "bipartite": MaxBipartiteMatching}[matching]
        evaluator = Panoptica_Evaluator(
            expected_input=InputType.UNMATCHED_INSTANCE,
            instance_matcher=matcher(matching_threshold=threshold),
            instance_metrics=[Metric.IOU, Metric.DSC],
            global_metrics=[],
        )
        result = evaluator.evaluate(b, a, verbose=False)["ungrouped"]
        return {"matched": result.tp, "pq": result.pq, "sq": result.sq, "rq": result.rq, "dice": result.sq_dsc}


@pytest.mark.slow
@pytest.mark.parametrize("matching", ["greedy", "bipartite"])
@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5, 0.75])
def test_pairs_equal_panoptica(threshold, matching):
    for seed in range(3):
        masks = draw_raters(seed, spread=0.5 if threshold > 0.5 else 1.5)
        numbered = [ndimage.label(mask, np.ones((3, 3)))[0].astype(np.uint16) for mask in masks]
        match = mt.match_lesions(masks, "iou", threshold)
        again = mt.match_lesions(numbered, "iou", threshold, instances=True)
        for i, j in ((0, 1), (0, 2), (1, 2)):
            names = str(i + 1), str(j + 1)
            pair = match.pair(*names, matching)
            assert repr(pair) == repr(again.pair(*names, matching))
            wanted = panoptica_scores(numbered[i], numbered[j], threshold, matching)
            assert pair.matched
            for name, value in wanted.items():
                assert getattr(pair, name) == pytest.approx(value, abs=1e-12), name
            assert pair.f1 == pytest.approx(wanted["rq"], abs=1e-12)


@pytest.mark.slow
def test_volumes_equal_panoptica():
    masks = draw_raters(7, 2, (24, 60, 60), 30)
    numbered = [ndimage.label(mask, np.ones((3, 3, 3)))[0].astype(np.uint16) for mask in masks]
    for matching in ("greedy", "bipartite"):
        pair = mt.match_lesions(masks, "iou", 0.25).pair("1", "2", matching)
        for name, value in panoptica_scores(*numbered, 0.25, matching).items():
            assert getattr(pair, name) == pytest.approx(value, abs=1e-12), name
