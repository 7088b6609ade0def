"""STAPLE's options: priors on the truth and the rates, consensus items, standard errors, many tables at once."""

from __future__ import annotations

import importlib
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import manytruths as mt
from data_folder import data
from manytruths import CallError, staple, staple_each

P, Q = np.array([0.9, 0.8, 0.7, 0.85]), np.array([0.95, 0.9, 0.85, 0.8])
stacks = arrays(np.uint8, (4, 30), elements=st.sampled_from([0, 0, 1]))


def simulated(seed: int, items: int = 1500, prevalence: float = 0.35) -> np.ndarray:
    """Raters of known rates, and items that are independent."""
    rng = np.random.default_rng(seed)
    truth = rng.random(items) < prevalence
    marked = np.where(truth, rng.random((4, items)) < P[:, None], rng.random((4, items)) > Q[:, None])
    return marked.astype(np.uint8)


# -- priors -----------------------------------------------------------------------------------------


def test_priors_are_what_they_are_called() -> None:
    table = mt.tally({"A": [1, 1, 0, 0, 0, 0, 0, 0], "B": [0, 1, 1, 0, 0, 0, 0, 0]})
    assert staple(table, "prevalence").prior == 0.25
    assert staple(table, "marked").prior == 0.375
    assert staple(table, 0.1).prior == staple(table, (0.9, 0.1)).prior == 0.1


def test_estimated_prior_is_the_mean_of_w() -> None:
    found = staple(mt.tally(simulated(0)), "estimated", tol=1e-12, max_iter=10_000)
    assert found.tally is not None
    assert found.prior == pytest.approx(found.tally.counts @ found.probability / found.tally.items, abs=1e-9)


@given(stacks)
def test_beta_priors_keep_rates_off_the_edge_and_the_posterior_never_falls(masks: np.ndarray) -> None:
    found = staple(mt.tally(masks, labels=[0, 1]), 0.3, map_prior=(5, 1.5), max_iter=60)
    if found.iterations:
        assert ((found.sensitivity > 0) & (found.sensitivity < 1)).all()
        assert ((found.specificity > 0) & (found.specificity < 1)).all()
    assert (np.diff(found.log_likelihood) > -1e-9).all()


def test_beta_prior_is_so_many_items_more() -> None:
    """With W known, Beta(a, b) adds a − 1 hits and b − 1 misses: one step from a consensus of copies."""
    masks = {"A": [1, 1, 0, 0], "B": [1, 1, 0, 0]}
    found = staple(mt.tally(masks), 0.5, map_prior=(3, 2, 5, 2), max_iter=1)
    assert found.sensitivity == pytest.approx([(2 + 2) / (2 + 3)] * 2)
    assert found.specificity == pytest.approx([(2 + 4) / (2 + 5)] * 2)
    assert staple(mt.tally(masks), 0.5, map_prior=(1, 1)).sensitivity.tolist() == [1, 1]


def test_strong_prior_wins_over_the_label_switch() -> None:
    """Two of three raters swap labels; only a prior that raters are good tells who is right."""
    masks = simulated(1, 400)[:3]
    swapped = np.array([masks[0], 1 - masks[1], 1 - masks[2]])
    plain, sure = (staple(mt.tally(swapped), 0.35, map_prior=m) for m in (None, (500, 1)))
    assert plain.sensitivity[0] < 0.5 < sure.sensitivity[0]


# -- consensus items --------------------------------------------------------------------------------


def test_consensus_items_left_out_are_what_raters_say() -> None:
    masks = simulated(2, 600)
    table = mt.tally(masks)
    found = staple(table, unanimous="exclude")
    agreed = (table.marked == 0) | (table.marked == 4)
    assert (found.probability[agreed] == (table.marked[agreed] == 4)).all()
    rest = staple(table.restrict(~agreed))
    assert found.sensitivity == pytest.approx(rest.sensitivity, abs=1e-12)
    assert found.probability[~agreed] == pytest.approx(rest.probability, abs=1e-12)
    assert found.log_likelihood == pytest.approx(rest.log_likelihood)


def test_consensus_items_left_out_until_none_is_left() -> None:
    found = staple(mt.tally({"A": [1, 1, 0], "B": [1, 1, 0]}), unanimous="exclude")
    assert (found.convergence, found.hard.tolist(), found.probability.tolist()) == ("all agree", [False, True], [0, 1])
    assert np.isnan(found.sensitivity).all()
    assert "cannot be told" in found.note


# -- standard errors --------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [(1, 1), (9, 4)])
def test_standard_errors_are_those_of_numeric_derivatives(beta: tuple[int, int]) -> None:
    masks = simulated(3, 800)
    table = mt.tally(masks)
    found = staple(table, "estimated", map_prior=beta, tol=1e-12, max_iter=100_000)
    rows, counts = table.patterns.astype(float), table.counts

    def likelihood(x: np.ndarray) -> float:
        p, q, prior = x[:4], x[4:8], x[8]
        a = prior * np.prod(np.where(rows == 1, p, 1 - p), axis=1)
        b = (1 - prior) * np.prod(np.where(rows == 1, 1 - q, q), axis=1)
        rates = (beta[0] - 1) * np.log(x[:8]).sum() + (beta[1] - 1) * np.log(1 - x[:8]).sum()
        return float(counts @ np.log(a + b) + rates)

    at, step = np.array([*found.sensitivity, *found.specificity, found.prior]), 1e-4
    unit = np.eye(9) * step
    hessian = np.zeros((9, 9))
    for i, j in product(range(9), range(9)):
        signs = [(s, t, likelihood(at + s * unit[i] + t * unit[j])) for s, t in product((1, -1), (1, -1))]
        hessian[i, j] = sum(s * t * v for s, t, v in signs) / (4 * step**2)
    wanted = np.sqrt(np.diag(np.linalg.inv(-hessian)))
    errors = found.standard_errors()
    assert [*errors.sensitivity, *errors.specificity, errors.prior[1]] == pytest.approx(wanted, rel=1e-3)
    assert errors.prior[0] == pytest.approx(errors.prior[1])


def test_standard_errors_that_cannot_be() -> None:
    sure = staple(mt.tally({"A": [1, 1, 0, 0], "B": [1, 1, 0, 0], "C": [1, 1, 0, 0]})).standard_errors()
    assert np.isnan(sure.sensitivity).all()
    assert "0 or 1" in sure.reason
    two = staple(mt.tally(simulated(4)[:2]), "estimated").standard_errors()
    assert "identify" in two.reason
    fixed = staple(mt.tally(simulated(4)), 0.35).standard_errors()
    assert np.isnan(fixed.prior).all()
    assert np.isfinite(fixed.sensitivity).all()


@pytest.mark.slow
def test_intervals_cover_the_rates_that_made_the_items() -> None:
    within = []
    for seed in range(400):
        found = staple(mt.tally(simulated(seed)), "estimated", tol=1e-9, max_iter=5000)
        errors = found.standard_errors()
        near = [abs(found.sensitivity - P) / errors.sensitivity, abs(found.specificity - Q) / errors.specificity]
        within.append([*(np.concatenate(near) < 1.96), abs(found.prior - 0.35) / errors.prior[1] < 1.96])
    covered = np.mean(within, axis=0)
    assert covered.min() > 0.92
    assert covered.max() < 0.98
    assert covered.mean() == pytest.approx(0.95, abs=0.01)


# -- many tables at once ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"like": "itk"},
        {"prior": "estimated"},
        {"unanimous": "exclude"},
        {"map_prior": (5, 1.5)},
        {"max_iter": 3},
    ],
)
def test_each_table_is_fitted_as_if_alone(options: dict[str, object]) -> None:
    tables = {str(s): mt.tally(simulated(s, 40 + s)) for s in range(12)}
    tables["empty"] = mt.tally(np.zeros((4, 9), int), labels=[0, 1])
    tables["agree"] = mt.tally(np.array([[1, 0, 0]] * 4))
    tables["fewer"] = mt.tally(simulated(3, 50)[:3])
    tables["labels"] = mt.tally(simulated(3, 50)[:3] * 2)
    tables["absent"] = mt.tally({"1": [1, 0, 1, 0], "2": [1, 0, 0, 0], "3": None, "4": [1, 1, 0, 0]})
    found = staple_each(tables, **options)  # type: ignore[arg-type]
    assert list(found) == list(tables)
    for case, table in tables.items():
        alone = staple(table, **options)  # type: ignore[arg-type]
        assert found[case].tally is table
        assert found[case].probability == pytest.approx(alone.probability, abs=1e-12)
        assert found[case].confusion == pytest.approx(alone.confusion, abs=1e-12, nan_ok=True)
        assert found[case].log_likelihood == pytest.approx(alone.log_likelihood)
        assert (found[case].convergence, found[case].note) == (alone.convergence, alone.note)
        assert (found[case].iterations, found[case].prior) == (alone.iterations, pytest.approx(alone.prior))


def test_each_of_tables_without_anything_to_fit() -> None:
    tables = [mt.tally(np.array([[1, 0, 0]] * 3)), mt.tally(np.array([[1, 1, 0]] * 3))]
    found = staple_each(tables, unanimous="exclude")
    assert [f.convergence for f in found.values()] == ["all agree"] * 2
    assert staple_each([]) == {}


@pytest.mark.slow
def test_lidc_nodules_are_those_of_simpleitk() -> None:
    sitk = importlib.import_module("SimpleITK")
    with np.load(data("lidc", "lidc_4reader_masks.npz")) as file:
        nodules = {name: file[name].astype(np.uint8) for name in file.files[:60]}
    found = staple_each({n: mt.tally(m, raters="exchangeable") for n, m in nodules.items()}, like="itk")
    for name, masks in nodules.items():
        peer = sitk.STAPLEImageFilter()
        peer.SetForegroundValue(1)
        wanted = sitk.GetArrayFromImage(peer.Execute([sitk.GetImageFromArray(m) for m in masks]))
        assert mt.paint(found[name].probability, masks) == pytest.approx(wanted, abs=1e-7)
        assert found[name].iterations == peer.GetElapsedIterations()
        assert "slots" in found[name].note


# -- calls that have no answer ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"map_prior": (0.5, 1)}, "at least 1"),
        ({"map_prior": (1, 2, 3)}, "a_p"),
        ({"unanimous": "drop"}, "exclude"),
        ({"prior": (0.2, 0.2)}, "sum 1"),
        ({"like": "itk", "map_prior": (2, 2)}, "map_prior"),
        ({"like": "itk", "unanimous": "exclude"}, "keeps unanimous items"),
    ],
)
def test_wrong_options(options: dict[str, object], words: str) -> None:
    with pytest.raises(CallError, match=words):
        staple(mt.tally(simulated(0, 50)), **options)  # type: ignore[arg-type]
