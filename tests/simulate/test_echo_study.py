"""Simulated contrast echo: the same pixels whoever asks, and an image in which muscle is hard to see."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from manytruths import CallError, EchoFrame, simulate_echo
from manytruths.simulate.echo_image import ANGLES, echoes, heart, wave
from manytruths.simulate.phantoms import generator

pytestmark = pytest.mark.slow

ONE_PIECE = np.ones((3, 3))


def same(one: EchoFrame, other: EchoFrame) -> bool:
    pairs = [(one.image, other.image), (one.truth, other.truth), (one.clarity, other.clarity)]
    pairs += [(one.markings[name], other.markings[name]) for name in one.markings]
    return all(np.array_equal(a, b) for a, b in pairs)


def test_the_same_arguments_give_the_same_pixels_and_another_seed_does_not():
    one, two, other = (simulate_echo(2, 2, 64, seed)[3] for seed in (4, 4, 5))
    assert same(one, two)
    assert not (one.image == other.image).all()
    assert not (one.truth == other.truth).all()


def test_a_frame_does_not_need_the_others():
    study = simulate_echo(subjects=3, frames=2, size=64, seed=2)
    forward = list(study)
    assert [frame.name for frame in forward] == list(study.names)
    assert len(forward) == len(study) == 6
    for index, frame in reversed(list(enumerate(forward))):
        assert same(study[frame.name], frame)
        assert same(study[index], frame)
    assert same(study[-1], forward[-1])
    more = simulate_echo(subjects=9, frames=7, size=64, seed=2)
    assert same(more["s003-f02"], study["s003-f02"]), "a frame depends on how many there are"


def test_names_subjects_and_qualities():
    study = simulate_echo(subjects=100, frames=10)
    assert len(study) == 1000
    assert study.names[0] == "s001-f01"
    assert study.names[-1] == "s100-f10"
    assert len(set(study.names)) == 1000
    frame = simulate_echo(subjects=3, frames=2, size=64)["s002-f02"]
    assert (frame.name, frame.subject, frame.quality) == ("s002-f02", "s002", "fair")
    assert [study.quality(i) for i in (0, 9, 10, 20, 30)] == ["good", "good", "fair", "poor", "good"]


@pytest.mark.parametrize("size", [64, 101, 128, 256, 512])
def test_every_size_shows_the_same_heart(size: int):
    frame = simulate_echo(subjects=2, frames=2, size=size, seed=1)[2]
    small = simulate_echo(subjects=2, frames=2, size=64, seed=1)[2]
    assert frame.image.shape == frame.truth.shape == frame.clarity.shape == (size, size)
    assert (frame.image.dtype, frame.truth.dtype, frame.clarity.dtype) == (np.uint8, np.bool_, np.float32)
    assert 0 <= frame.clarity.min() < 0.2
    assert 0.5 < frame.clarity.max() <= 1
    assert frame.truth.mean() == pytest.approx(small.truth.mean(), rel=0.05)
    assert frame.image.mean() == pytest.approx(small.image.mean(), rel=0.05)
    middles = [ndimage.center_of_mass(f.truth) for f in (frame, small)]
    assert np.divide(middles[0], size) == pytest.approx(np.divide(middles[1], 64), abs=0.01)


def test_the_muscle_is_a_horseshoe_in_the_fan():
    for frame in simulate_echo(subjects=9, frames=2, size=128, seed=3):
        truth = frame.truth
        assert ndimage.label(truth, ONE_PIECE)[1] == 1
        assert (ndimage.binary_fill_holes(truth) == truth).all(), "closed: a ring, not a horseshoe"
        assert frame.image[truth].min() > 0, "muscle outside the fan"
        assert frame.image[0].max() == 0
        rows = np.flatnonzero(truth.any(axis=1))
        low, high = rows[-len(rows) // 3], rows[0] + 2
        assert ndimage.label(truth[low])[1] == 2, "two walls towards the base"
        assert ndimage.label(truth[high])[1] == 1, "one at the apex"


def test_muscle_brightens_and_beats():
    study = simulate_echo(subjects=6, frames=10, size=64)
    first, late = ([study[10 * subject + frame] for subject in range(6)] for frame in (0, 8))
    for early, after in zip(first, late, strict=True):
        assert after.image[after.truth].mean() - early.image[early.truth].mean() > 10, "contrast arrives"
    hearts = [[heart(0, subject, frame) for frame in range(10)] for subject in range(6)]
    for beats in hearts:
        wide, thick = [h.pose.short for h in beats], [h.thickness.mean() for h in beats]
        assert max(wide) / min(wide) > 1.1
        assert np.corrcoef(wide, thick)[0, 1] < -0.95, "the wall thickens as the cavity shrinks"


def test_the_blood_is_brighter_than_muscle_but_no_threshold_finds_it():
    best = []
    for frame in simulate_echo(subjects=9, frames=2, size=128, seed=1):
        held, all_of_it = (
            np.concatenate([[0], np.cumsum(np.bincount(pixels.ravel(), minlength=256))])
            for pixels in (frame.image[frame.truth], frame.image)
        )
        low, high = np.triu_indices(257, 1)
        found = 2 * (held[high] - held[low]) / (held[-1] + all_of_it[high] - all_of_it[low])
        best.append(found.max())
    assert np.mean(best) < 0.4
    assert max(best) < 0.6


def test_worse_images_are_less_clear():
    clear = {"good": [], "fair": [], "poor": []}
    for frame in simulate_echo(subjects=36, frames=1, size=64, seed=5):
        clear[frame.quality].append(frame.clarity[frame.truth].mean())
    means = [np.mean(values) for values in clear.values()]
    assert means == sorted(means, reverse=True)
    assert means[0] > 1.1 * means[2]


def test_waves_are_standard_and_speckle_is_of_the_strength_it_is_given():
    waves = np.stack([wave(generator(seed)) for seed in range(800)])
    assert waves.mean(axis=0) == pytest.approx(0, abs=0.15)
    assert waves.std(axis=0) == pytest.approx(1, abs=0.12)
    assert waves[:, 0] == pytest.approx(waves[:, -1]), "no seam where the angles meet"
    assert waves.shape[1] == len(ANGLES)
    levels = [float(echoes(generator(1), np.full((80, 80), g), np.zeros((80, 80))).mean()) for g in (0.5, 0.7, 0.9)]
    assert np.diff(levels) == pytest.approx(0.2, abs=0.02), "above the noise a step in grey stays that step"


def test_wrong_calls_say_why():
    with pytest.raises(CallError, match="subjects is 0; it must be 1 or more"):
        simulate_echo(subjects=0)
    with pytest.raises(CallError, match="frames is -1"):
        simulate_echo(frames=-1)
    with pytest.raises(CallError, match="size is 63; it must be 64"):
        simulate_echo(size=63)
    with pytest.raises(CallError, match="seed is -2"):
        simulate_echo(seed=-2)
    study = simulate_echo(subjects=2, frames=3)
    with pytest.raises(CallError, match="no frame 's009-f01'; there are s001-f01 to s002-f03"):
        study["s009-f01"]
    with pytest.raises(IndexError, match="no frame 6; there are 6"):
        study[6]
