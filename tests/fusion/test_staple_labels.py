"""STAPLE of more than two labels, against SimpleITK, the binary case, and the laws it must obey."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

import manytruths as mt
from manytruths import CallError, plurality, staple

VOID = 9
stacks = arrays(np.uint8, (4, 25), elements=st.sampled_from([0, 0, 1, 2, 5]))
gappy = arrays(np.uint8, (4, 25), elements=st.sampled_from([0, 0, 1, 2, VOID]))


def layers(seed: int, raters: int, labels: int, side: int = 120) -> list[np.ndarray]:
    """Raters of one landscape cut at several heights."""
    rng = np.random.default_rng(seed)

    def smooth(width: float) -> np.ndarray:
        field = ndimage.gaussian_filter(rng.normal(size=(side, side)), side / width)
        return field / field.std()

    ground = smooth(12)
    cuts = np.linspace(0.2, 1.8, labels - 1)
    return [np.digitize(ground + 0.6 * smooth(15), cuts).astype(np.uint8) for _ in range(raters)]


@pytest.mark.parametrize("raters", [3, 4, 5])
@pytest.mark.parametrize("labels", [3, 4])
@pytest.mark.parametrize("seed", [0, 1])
def test_same_as_simpleitk(seed: int, raters: int, labels: int) -> None:
    sitk = importlib.import_module("SimpleITK")
    masks = layers(seed, raters, labels)
    peer = sitk.MultiLabelSTAPLEImageFilter()
    wanted = sitk.GetArrayFromImage(peer.Execute([sitk.GetImageFromArray(m) for m in masks]))
    found = staple(mt.tally(masks), like="itk")
    rates = [np.reshape(peer.GetConfusionMatrix(j), (labels + 1, labels))[:labels].T for j in range(raters)]
    assert found.confusion == pytest.approx(np.array(rates), abs=1e-9)
    hard = mt.paint(found.values, masks)
    assert (hard == wanted)[wanted < labels].all()


@pytest.mark.parametrize("seed", range(3))
def test_plurality_is_label_voting(seed: int) -> None:
    sitk = importlib.import_module("SimpleITK")
    masks = layers(seed, 4, 4)
    wanted = sitk.GetArrayFromImage(sitk.LabelVoting([sitk.GetImageFromArray(m) for m in masks], 77))
    found = plurality(mt.tally(masks))
    tied = mt.paint(found.tied, masks)
    assert tied.any()
    assert ((wanted == 77) == tied).all()
    assert (mt.paint(found.label, masks) == wanted)[~tied].all()


def test_two_labels_are_the_binary_case() -> None:
    """Ratings without a background go the general way, and find the same."""
    masks = np.minimum(layers(0, 4, 3), 1)
    binary, ratings = staple(mt.tally(masks)), staple(mt.tally(masks + 1))
    assert ratings.probability == pytest.approx(binary.probability)
    assert ratings.confusion == pytest.approx(binary.confusion)
    assert (ratings.values == binary.values + 1).all()
    assert ratings.hard.dtype == np.uint8
    assert binary.hard.dtype == bool


def test_finds_the_matrices_that_made_the_labels() -> None:
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 60_000, p=[0.6, 0.3, 0.1])
    rates = np.array([0.75 * np.eye(3) + 0.25 * rng.dirichlet([1, 1, 1], 3) for _ in range(5)])
    masks = [(rng.random(truth.size)[:, None] > r[truth].cumsum(axis=1)).sum(axis=1) for r in rates]
    found = staple(mt.tally(masks), "estimated")
    assert found.confusion == pytest.approx(rates, abs=0.03)
    assert found.prior == pytest.approx([0.6, 0.3, 0.1], abs=0.02)
    errors = found.standard_errors()
    assert (np.abs(found.confusion - rates) < 4.5 * errors.confusion).all()
    assert found.sensitivity.shape == found.specificity.shape == (5, 3)
    others = np.array([[masks[0][truth != k] != k for k in range(3)][k].mean() for k in range(3)])
    assert found.specificity[0] == pytest.approx(others, abs=0.03)


@given(gappy, st.sampled_from(["prevalence", "estimated", "marked", (0.5, 0.3, 0.2)]))
def test_never_nan_and_likelihood_never_falls(masks: np.ndarray, prior: object) -> None:
    table = mt.tally(masks, void=VOID, labels=[0, 1, 2])
    if prior == "marked" and table.marked[table.rated > 0].all():
        return
    found = staple(table, prior, max_iter=60)  # type: ignore[arg-type]
    assert np.asarray(found.probability).sum(axis=1) == pytest.approx(1)
    assert (np.diff(found.log_likelihood) > -1e-9).all()
    assert np.isfinite(found.log_likelihood).all()
    assert np.isin(found.values, [0, 1, 2]).all()


@given(stacks, st.permutations(range(4)))
def test_permuting_raters_permutes_matrices(masks: np.ndarray, order: list[int]) -> None:
    one = staple(mt.tally(masks, labels=[0, 1, 2, 5]), max_iter=6, tol=0)
    two = staple(mt.tally(masks[order], labels=[0, 1, 2, 5]), max_iter=6, tol=0)
    assert two.confusion == pytest.approx(one.confusion[order], nan_ok=True, abs=1e-9)


@given(stacks)
def test_renaming_labels_renames_results(masks: np.ndarray) -> None:
    renamed = np.array([2, 0, 1, 9, 9, 3], np.uint8)
    one = staple(mt.tally(masks, labels=[0, 1, 2, 5]), max_iter=6, tol=0)
    two = staple(mt.tally(renamed[masks], labels=[0, 1, 2, 3]), max_iter=6, tol=0)
    order = [1, 2, 0, 3]  # where 0, 1, 2, 3 came from, as positions in 0, 1, 2, 5
    assert two.confusion == pytest.approx(one.confusion[:, order][:, :, order], nan_ok=True, abs=1e-9)


def test_chance_of_one_label_can_be_painted() -> None:
    masks = layers(0, 3, 3, 40)
    found = staple(mt.tally(masks))
    each = [mt.paint(found.of(label), masks) for label in (0, 1, 2)]
    assert np.sum(each, axis=0) == pytest.approx(1)
    assert (np.argmax(each, axis=0) == mt.paint(found.values, masks)).mean() > 0.99


def test_a_label_that_one_rater_gave_is_told() -> None:
    found = staple(mt.tally({"A": [1, 2, 0, 0, 2], "B": [1, 1, 0, 0, 0], "C": [1, 0, 0, 1, 0]}))
    assert "label 2 was given by A only" in found.note
    assert np.isfinite(found.probability).all()


def test_one_label_only() -> None:
    found = staple(mt.tally({"A": [2, 2], "B": [2, 2]}, labels=[0, 1, 2]))
    assert (found.convergence, found.values.tolist()) == ("one label", [2])
    assert staple(mt.tally({"A": [1, 1], "B": [1, 1]}, labels=[1, 2])).convergence == "one label"
    unrated = staple(mt.tally({"A": [9, 9], "B": [9, 9]}, labels=[0, 1], void=9))
    assert (unrated.convergence, unrated.note) == ("nothing rated", "nobody rated anything")
    assert unrated.values.tolist() == [0]
    nothing = staple(mt.tally({"A": [0, 0], "B": [0, 0]}, labels=[0, 1, 2]))
    assert (nothing.convergence, nothing.values.tolist()) == ("nothing marked", [0])


def test_unrated_is_background_or_no_label() -> None:
    masks = {"A": [1, 2, VOID, 1], "B": [1, 2, VOID, 2]}
    assert staple(mt.tally(masks, void=VOID)).values.tolist()[-1] == -1
    assert staple(mt.tally(masks, void=VOID, labels=[0, 1, 2])).values.tolist()[-1] == 0


def test_wrong_calls() -> None:
    table = mt.tally({"A": [1, 2, 3], "B": [3, 2, 3]})
    with pytest.raises(CallError, match="background"):
        staple(table, "marked")
    with pytest.raises(CallError, match=r"\(a, b\), each"):
        staple(table, map_prior=(1, 2, 3, 4))
