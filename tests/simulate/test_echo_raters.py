"""The raters of the simulated contrast echo: as far apart as cardiologists are, where the image is poor, none wrong."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import ndimage

from manytruths import EchoRater, EchoStudy, simulate_echo
from manytruths.simulate import ECHO_RATERS
from manytruths.simulate.echo_image import ANGLES, heart

ONE_PIECE = np.ones((3, 3))
NAMES = [rater.name for rater in ECHO_RATERS]

ZENG = {
    ("c1", "c2"): 0.898, ("c1", "c3"): 0.844, ("c2", "c3"): 0.849, ("c1", "c4"): 0.783, ("c2", "c4"): 0.790,
    ("c3", "c4"): 0.800, ("c1", "c5"): 0.803, ("c2", "c5"): 0.807, ("c3", "c5"): 0.814, ("c4", "c5"): 0.787,
}  # fmt: skip
"""Mean Dice of five cardiologists over 180 images of contrast echo: Zeng 2020, Table 1."""


def dice(one: np.ndarray, other: np.ndarray) -> float:
    return float(2 * (one & other).sum() / (one.sum() + other.sum()))


@pytest.fixture(scope="module")
def frames():
    """180 frames, as many as in the paper."""
    return list(simulate_echo(subjects=60, frames=3, size=128))


def stacked(frame) -> np.ndarray:
    return np.stack([frame.markings[name] for name in NAMES])


@pytest.mark.slow
def test_raters_are_as_far_apart_as_the_cardiologists_of_the_paper(frames):
    mean = {
        pair: float(np.mean([dice(*(f.markings[name] for name in pair)) for f in frames]))
        for pair in combinations(NAMES, 2)
    }
    assert mean == pytest.approx(ZENG, abs=0.03)
    assert max(mean, key=mean.__getitem__) == ("c1", "c2")
    farthest = sorted(mean, key=mean.__getitem__)[:7]
    assert all({"c4", "c5"} & set(pair) for pair in farthest), "c4 and c5 stand apart"


@pytest.mark.slow
def test_nobody_is_wrong(frames):
    inner_of_outer = []
    for index, frame in enumerate(frames):
        masks, truth = stacked(frame), frame.truth
        inner, outer = masks.all(axis=0), masks.any(axis=0)
        inner_of_outer.append(inner.sum() / outer.sum())
        assert (truth & outer).sum() > 0.93 * truth.sum(), f"{frame.name}: muscle that nobody marked"
        assert (inner & truth).sum() > 0.85 * inner.sum(), f"{frame.name}: all marked what is no muscle"
        thickness = len(truth) * heart(0, *divmod(index, 3)).thickness.mean()
        near = ndimage.distance_transform_edt(~truth) < thickness
        for mask in masks:
            assert ndimage.label(mask, ONE_PIECE)[1] == 1, f"{frame.name}: in pieces"
            assert (ndimage.binary_fill_holes(mask) == mask).all(), f"{frame.name}: closed at the base"
            assert near[mask].all(), f"{frame.name}: far from all muscle"
            assert dice(mask, truth) > 0.6
            assert frame.image[mask].min() > 0, f"{frame.name}: outside the fan"
    assert 0.4 < np.mean(inner_of_outer) < 0.55
    assert min(inner_of_outer) > 0.2


@pytest.mark.slow
def test_raters_differ_where_the_image_is_poor(frames):
    marked, disputed = np.zeros(5), np.zeros(5)
    by_quality: dict[str, list[float]] = {}
    for frame in frames:
        masks = stacked(frame)
        outer, inner = masks.any(axis=0), masks.all(axis=0)
        level = np.minimum((5 * frame.clarity[outer]).astype(int), 4)
        marked += np.bincount(level, minlength=5)
        disputed += np.bincount(level, weights=~inner[outer], minlength=5)
        by_quality.setdefault(frame.quality, []).append(float(inner.sum() / outer.sum()))
    share = disputed / marked
    assert (np.diff(share) < 0).all(), "the clearer a place, the fewer raters differ"
    assert share[0] > 1.7 * share[4]
    good, fair, poor = (np.mean(by_quality[quality]) for quality in ("good", "fair", "poor"))
    assert good > fair > poor


def test_a_rater_without_habits_draws_the_truth():
    plain = EchoRater("x", inward=0, outward=0, down=0, wander=0, school="x", like=0)
    for frame in EchoStudy(3, 2, 96, 7, (plain,)):
        assert (frame.markings["x"] == frame.truth).all()


def test_habits_show_where_nothing_is_seen_and_hardly_where_all_is():
    found, plain = heart(0, 0, 0), EchoRater("x", 0, 0, 0, 0, "x", 0)
    blind, clear = (np.zeros(len(ANGLES)),) * 2, (np.ones(len(ANGLES)),) * 2
    for rater, side, sign in (
        (replace(plain, inward=0.2), "endo", -1),
        (replace(plain, outward=0.2), "epi", 1),
        (replace(plain, inward=-0.2), "endo", 1),
    ):
        shifts = [
            getattr(rater.draw(0, 0, 0, found, seen), side) - getattr(found.wall, side) for seen in (blind, clear)
        ]
        unseen, seen = (sign * shift / found.step for shift in shifts)
        assert ((unseen > 0.15) & (unseen < 0.2)).all()
        assert ((seen > 0) & (seen < 0.03)).all()
    lower = replace(plain, down=0.1).draw(0, 0, 0, found, clear)
    assert (lower.septal - found.wall.septal, lower.lateral - found.wall.lateral) == pytest.approx((0.1, 0.1))


def test_a_rater_is_consistent_within_a_subject_and_like_his_school():
    blind = (np.zeros(len(ANGLES)),) * 2
    still = heart(0, 0, 0)
    first, second, *_ = ECHO_RATERS

    def guess(rater: EchoRater, subject: int, frame: int) -> np.ndarray:
        return rater.draw(0, subject, frame, still, blind).endo

    def alike(pairs) -> float:
        return float(np.mean([np.corrcoef(guess(*a), guess(*b))[0, 1] for a, b in pairs]))

    frames = alike([((first, s, 0), (first, s, 1)) for s in range(40)])
    subjects = alike([((first, s, 0), (first, s + 1, 0)) for s in range(40)])
    school = alike([((first, s, 0), (second, s, 0)) for s in range(40)])
    strangers = alike([((ECHO_RATERS[3], s, 0), (ECHO_RATERS[4], s, 0)) for s in range(40)])
    # what the true outline contributes is in all of them
    assert frames > 0.75
    assert school > 0.65
    assert max(subjects, strangers) < min(frames, school) - 0.2
    assert guess(first, 0, 0) != pytest.approx(guess(first, 0, 1)), "but not a copy"
