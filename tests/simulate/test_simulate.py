"""Phantoms and simulated raters: what is said to be known must be so."""

from __future__ import annotations

import numpy as np
import pytest

from manytruths import CallError, simulate_study
from manytruths.simulate import GROUPS, Phantom, SimulatedRater, phantom
from manytruths.simulate.phantoms import derive, generator, smooth_noise


def perimeter(found: Phantom) -> float:
    """Length of the outline by Crofton's formula: from how often lines in four directions cross it."""
    mask = found.truth.astype(int)
    straight = sum(np.abs(np.diff(mask, axis=axis)).sum() for axis in (0, 1))
    oblique = np.abs(mask[1:, 1:] - mask[:-1, :-1]).sum() + np.abs(mask[1:, :-1] - mask[:-1, 1:]).sum()
    return float(np.pi / 8 * (straight + oblique / np.sqrt(2)))


@pytest.mark.parametrize("group", GROUPS)
def test_same_seed_same_pixels_other_seed_other_pixels(group: str) -> None:
    one, two, other = phantom(5, group=group), phantom(5, group=group), phantom(6, group=group)
    assert (one.image == two.image).all()
    assert (one.truth == two.truth).all()
    assert (one.image != other.image).any()


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("size", [32, 101, 256])
def test_phantom_is_what_it_says(group: str, size: int) -> None:
    found = phantom(3, size=size, group=group)
    assert found.image.shape == (size, size, 3)
    assert found.image.dtype == np.uint8
    assert [s.rank for s in found.lesions] == list(range(1, len(found.lesions) + 1))
    assert [s.visibility for s in found.lesions] == sorted((s.visibility for s in found.lesions), reverse=True)
    assert found.truth.sum() == sum(s.mask.sum() for s in found.lesions), "lesions overlap"


def test_number_of_lesions() -> None:
    assert not phantom(0, lesions=0).truth.any()
    counts = {group: {len(phantom(s, size=64, group=group).lesions) for s in range(20)} for group in GROUPS}
    assert counts == {"Negative": {0, 1}, "CIN1": {1, 2, 3}, "CIN2": {1, 2, 3}, "CIN3": {1, 2, 3}}


@pytest.mark.slow
def test_worse_lesions_stand_out_more() -> None:
    def contrast(group: str) -> float:
        cases = [phantom(seed, group=group, lesions=1) for seed in range(8)]
        rings = [(c.image[..., 1].astype(float), c.lesions[0].distance) for c in cases]
        return float(np.mean([g[d < -3].mean() - g[(d > 3) & (d < 12)].mean() for g, d in rings]))

    steps = [contrast(group) for group in GROUPS]
    assert steps == sorted(steps)
    assert steps[0] > 0


def test_distance_grows_by_a_pixel_a_pixel() -> None:
    distance = phantom(2, lesions=1).lesions[0].distance
    slope = np.hypot(*np.gradient(distance))
    near = np.abs(distance) < 5
    assert slope[near & (np.abs(distance) > 1)].mean() == pytest.approx(1, abs=0.01)
    assert distance.min() < -5


def test_noise_is_standard() -> None:
    fields = np.stack([smooth_noise(generator(seed), 64, 3.0) for seed in range(40)])
    assert fields.mean() == pytest.approx(0, abs=0.05)
    assert fields.std() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("group", GROUPS)
def test_rater_without_faults_draws_the_truth(group: str) -> None:
    found = phantom(11, group=group)
    marking = SimulatedRater("X").mark(found, seed=4)
    assert (marking.mask == found.truth).all()
    for lesion in found.lesions:
        assert (marking.ranks[lesion.mask] == lesion.rank).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bias", [1.0, 3.0, -1.0, -3.0])
def test_bias_moves_the_outline_by_as_many_pixels(seed: int, bias: float) -> None:
    found = phantom(seed, group="CIN3", lesions=1)
    drawn = SimulatedRater("X", bias=bias).mark(found, seed=0).mask
    assert (drawn >= found.truth).all() if bias > 0 else (drawn <= found.truth).all()
    # Steiner: an outline moved by b pixels sweeps b times its length, and πb² at the turns.
    grown = int(drawn.sum()) - int(found.truth.sum())
    assert grown == pytest.approx(bias * perimeter(found) + np.pi * bias**2, rel=0.04)


def test_jitter_is_the_standard_deviation_of_the_outline() -> None:
    found = phantom(2, group="CIN3", lesions=1)
    lesion, length = found.lesions[0], perimeter(found)
    rater = SimulatedRater("X", jitter=1.5)
    masks = np.stack([rater.mark(found, seed=seed).mask for seed in range(150)])
    assert masks.sum(axis=(1, 2)).mean() - lesion.mask.sum() == pytest.approx(0, abs=0.15 * length)
    # A pixel 1.5 σ inside an outline that wanders normally is left out in 6.7% of the readings.
    depth = -lesion.distance / (1.5 * (2 - lesion.visibility))
    assert 1 - masks[:, (depth > 1.3) & (depth < 1.7)].mean() == pytest.approx(0.067, abs=0.03)


@pytest.mark.slow
def test_missing_and_false_alarms() -> None:
    faint, clear = phantom(1, group="CIN1", lesions=1), phantom(1, group="CIN3", lesions=1)
    assert not SimulatedRater("X", miss=1).mark(faint, seed=0).mask.any()
    rater = SimulatedRater("X", miss=0.3)
    missed = [sum(not rater.mark(p, seed).mask.any() for seed in range(200)) / 200 for p in (faint, clear)]
    expected = [0.3 * (2 - p.lesions[0].visibility) for p in (faint, clear)]
    assert missed == pytest.approx(expected, abs=0.1)
    nothing = phantom(1, group="Negative", lesions=0)
    assert SimulatedRater("X", false_alarm=1).mark(nothing, seed=0).mask.any()
    assert not SimulatedRater("X").mark(nothing, seed=0).mask.any()


def test_rank_noise_changes_ranks_and_nothing_else() -> None:
    found = phantom(7, group="CIN2", lesions=3)
    assert len(found.lesions) == 3
    markings = [SimulatedRater("X", rank_noise=2).mark(found, seed) for seed in range(20)]
    assert all((m.mask == found.truth).all() for m in markings)
    first = {int(m.ranks[found.lesions[0].mask][0]) for m in markings}
    assert first == {1, 2, 3}


def test_seeds_are_words_apart() -> None:
    seeds = {derive(0, "a", "bc"), derive(0, "ab", "c"), derive(0, "abc"), derive(1, "abc"), derive(0, "abc", "")}
    assert len(seeds) == 5
    found = phantom(1)
    one, other = SimulatedRater("X", jitter=2), SimulatedRater("Y", jitter=2)
    assert (one.mark(found, 0).mask != other.mark(found, 0).mask).any()
    assert (one.mark(found, 0).mask == one.mark(found, 0).mask).all()


def test_study_reads_the_same_in_any_order() -> None:
    study = simulate_study(cases=9, size=64, seed=3)
    forward = list(study)
    assert [case.name for case in forward] == list(study.names)
    for case in reversed(forward):
        again = study[case.name]
        assert (again.image == case.image).all()
        assert list(again.readings) == list(case.readings)
        assert all((again.readings[key].ranks == case.readings[key].ranks).all() for key in case.readings)
    longer = simulate_study(cases=12, size=64, seed=3)
    assert (longer["p09"].image == forward[8].image).all(), "a case depends on how many there are"


def test_study_has_what_it_promises() -> None:
    study = simulate_study(size=64)
    cases = list(study)
    assert len(cases) == len(study) == 24
    assert {case.group for case in cases} == set(GROUPS)
    assert 18 <= len(set(study.subjects.values())) < 24
    assert max(list(study.subjects.values()).count(s) for s in study.subjects.values()) == 2
    assert all(("B", "2") in case.readings for case in cases)
    assert 1 <= sum(("C", "1") not in case.readings for case in cases) <= 5
    assert any(not case.truth.any() for case in cases)
    assert any((c.readings["B", "1"].ranks != c.readings["B", "2"].ranks).any() for c in cases)
    assert {r.expertise for r in study.raters} == {"senior", "junior", "trainee"}


def test_the_careless_rater_is_the_worst() -> None:
    study = simulate_study(cases=12, size=128)
    wrong = {rater.name: 0 for rater in study.raters}
    for case in study:
        for (rater, session), marking in case.readings.items():
            wrong[rater] += int((marking.mask ^ case.truth).sum()) if session == "1" else 0
    assert max(wrong, key=lambda name: wrong[name]) == "D"
    assert min(wrong, key=lambda name: wrong[name]) == "A"


def test_faults_grow_with_the_image() -> None:
    assert [r.bias for r in simulate_study(size=512).raters] == [2 * r.bias for r in simulate_study().raters]


def test_wrong_calls_say_why() -> None:
    with pytest.raises(CallError, match="32 pixels"):
        phantom(0, size=10)
    with pytest.raises(CallError, match="Negative, CIN1"):
        phantom(0, group="CIN4")
    with pytest.raises(CallError, match="lesions is 7"):
        phantom(0, lesions=7)
    with pytest.raises(CallError, match="0 or more"):
        phantom(-1)
    with pytest.raises(CallError, match="rater X: miss is 2"):
        SimulatedRater("X", miss=2)
    with pytest.raises(CallError, match="jitter is -1"):
        SimulatedRater("X", jitter=-1)
    with pytest.raises(CallError, match="p01 to p03"):
        simulate_study(cases=3)["p09"]
    with pytest.raises(CallError, match="cases is 0; it must be 1 or more"):
        simulate_study(cases=0)
