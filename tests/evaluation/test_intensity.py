"""Frame-intensity curves: means inside masks, distances to the raters, tables and charts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manytruths import CallError, Column, GridError, IntensityCurves, mask_intensity, reason
from manytruths.analyses.evaluate.intensity_curves import tabulate_intensities
from manytruths.analyses.tables import Settings
from manytruths.evaluation.intensity_curves import curve_distance

A, B, C, UNET = Column("A"), Column("B"), Column("C"), Column("unet", "algorithm")
# no numbers so small that scaling them underflows
numbers = st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 200), st.just(math.nan)), min_size=4, max_size=4)


def test_means_inside_masks():
    rng = np.random.default_rng(0)
    image, mask = rng.integers(0, 255, (9, 7)).astype(np.uint8), rng.random((9, 7)) < 0.4
    hidden = np.ma.array(np.ones((9, 7)), mask=~mask)
    found = mask_intensity(image, {A: mask, B: mask * 5, C: hidden, UNET: np.zeros((9, 7))})
    wanted = sum(int(v) for v, m in zip(image.ravel(), mask.ravel(), strict=True) if m) / mask.sum()
    assert found[A] == found[B] == found[C] == pytest.approx(wanted)
    assert reason(found[UNET]) == "nothing is marked"


def test_colours_weigh_and_volumes_of_three_slices_are_no_colours():
    image = np.zeros((4, 4, 3))
    image[..., 1] = 100
    assert mask_intensity(image, {A: np.ones((4, 4))})[A] == pytest.approx(58.7)
    assert mask_intensity(image, {A: np.ones((4, 4, 3))})[A] == pytest.approx(100 / 3)
    with_opacity = np.concatenate([image, np.full((4, 4, 1), 255.0)], axis=-1)
    assert mask_intensity(with_opacity, {A: np.ones((4, 4))})[A] == pytest.approx(58.7)


def test_what_is_not_finite_does_not_count():
    image = np.array([[1.0, 3.0, math.nan, math.inf]])
    assert mask_intensity(image, {A: np.ones((1, 4))})[A] == 2
    assert "not finite" in reason(mask_intensity(image, {A: np.array([[0, 0, 1, 1]])})[A])
    with pytest.raises(GridError, match="one grid"):
        mask_intensity(image, {A: np.ones((4, 1))})


def test_distances_by_hand():
    curves = IntensityCurves.of({
        "f1": {A: 10.0, B: 20.0, UNET: 18.0},
        "f2": {A: 30.0, B: 50.0, UNET: 36.0},
        "f3": {A: 5.0, B: 5.0},
    })  # fmt: skip
    assert curves.mean() == (15, 40, 5)
    a, b, unet = curves.distances()
    assert (a.rms, a.mean_absolute) == pytest.approx((math.sqrt((100 + 400) / 3), 10))
    assert a.relative_mean_absolute == pytest.approx(10 / 25), "the other rater's mean is 25"
    assert b.relative_mean_absolute == pytest.approx(10 / 15)
    assert (unet.rms, unet.mean_absolute) == pytest.approx((math.sqrt((9 + 16) / 2), 3.5))
    assert unet.relative_rms == pytest.approx(math.sqrt(12.5) / 27.5), "over the frames that both have"
    assert (unet.frames, unet.undefined) == (2, 1)


def test_a_second_session_is_not_another_rater():
    again = Column("A", session="2")
    curves = IntensityCurves.of({f"f{i}": {A: 1.0, again: 100.0, B: 3.0} for i in range(3)})
    assert curves.mean() == (2, 2, 2)
    assert [d.column for d in curves.distances()] == [A, B]


@given(st.lists(numbers, min_size=2, max_size=5), numbers, st.floats(0.1, 9))
def test_laws(raters, own, factor):
    def made(scale: float, order: int) -> IntensityCurves:
        rows = [*zip(map(Column, "ABCDE"), raters[::order], strict=False), (UNET, own)]
        return IntensityCurves.of({f"f{i}": {c: scale * v[i] for c, v in rows} for i in range(4)})

    plain, scaled, turned = made(1, 1).distances(), made(factor, 1).distances(), made(1, -1).distances()
    for one, other in zip(plain, scaled, strict=True):
        np.testing.assert_allclose(other.rms, factor * one.rms, atol=1e-9)
        np.testing.assert_allclose(other.relative_rms, one.relative_rms, atol=1e-9, rtol=1e-6)
        assert math.isnan(one.rms) or one.mean_absolute <= one.rms + 1e-9
        assert one.frames + one.undefined == 4
    np.testing.assert_allclose(plain[-1].rms, turned[-1].rms, atol=1e-9)


def test_relative_to_nothing_is_undefined():
    found = curve_distance(UNET, [1, 2], [-5, 5])
    assert found.rms > 0
    assert "not positive" in reason(found.relative_rms)
    assert "no frame" in reason(curve_distance(UNET, [math.nan], [1]).rms)
    with pytest.raises(CallError, match="same frames"):
        curve_distance(UNET, [1, 2], [1])


def test_a_study(tmp_path):
    def at(subject: int, frame: int) -> dict[Column, float]:
        level = 50.0 + 10 * frame + subject
        return {A: level - 1, B: level + 1, C: level, UNET: level + 4}

    cases = {f"s{s}_f{f}": at(s, f) for s in range(12) for f in (9, 10, 11)}
    cases["lone_f1"] = at(0, 1)
    cases["s0_f11"][UNET] = math.nan
    subjects = {case: case.partition("_")[0] for case in [*cases, "s1_f12", "s13_f1"]}
    found = tabulate_intensities(cases, subjects, Settings())
    assert list(found.subjects) == [f"s{s}" for s in range(12)]
    assert found.subjects["s3"].frames == ("s3_f9", "s3_f10", "s3_f11"), "in natural order"
    row = found.table.find("rms", "subject", case="s3", who="unet")
    assert (row.value, row.n, row.n_undefined) == (pytest.approx(4), 3, 0)
    assert found.table.find("rms", "subject", case="s0", who="unet").n_undefined == 1
    assert found.table.find("rms", "mean", who="A").value == pytest.approx(1.5)
    mean = found.table.find("rms", "mean", who="unet")
    assert (mean.value, mean.low.code) == (pytest.approx(4), "no_spread")
    assert found.table.find("intensity", "case", case="s3_f10", who="mean of raters").value == pytest.approx(153)
    assert [r.extra[1] for r in found.table.all("intensity", "case") if r.extra[0] == "s3"][:3] == [1, 2, 3]
    assert found.table.write(tmp_path).read_text().startswith("scope,case,group,label,region,subject,frame,who,role,")
    notes = "; ".join(found.notes)
    assert "2 of 14 subjects have fewer than 3" in notes
    assert "1 cases of sequences have no image" in notes
    assert "1 points" in notes
    chart = found.charts()["frames-s0"]
    assert "mean of raters" in chart
    assert "unet" in chart
    assert "nan" not in chart


def test_a_study_without_sequences():
    found = tabulate_intensities({"p1": {A: 1.0}, "p2": {A: 1.0}}, {"p1": "p1", "p2": "p2"})
    assert not found.subjects
    assert not found.table.rows
    assert "no subject has 3 cases" in found.notes[0]
