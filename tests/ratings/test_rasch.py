"""The Rasch model against brute force, girth, and its own simulations."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from manytruths import CallError, InputError, Ratings, Undefined, rasch, rho
from manytruths.ratings.rasch_model import Nodes, Scores, differentiate, log_likelihood, maximise, success_probability


def ratings_of(right, weights=None, reference=True):
    """Ratings of two labels, 1 where right and the reference 1 throughout; −1 where missing."""
    right = np.asarray(right, np.int16)
    return Ratings(
        tuple(f"c{i}" for i in range(len(right))),
        tuple(f"r{i}" for i in range(right.shape[1])),
        ("0", "1"),
        right,
        np.full(right.shape, np.nan),
        reference=np.ones(len(right), np.int16) if reference else None,
        weights=weights,
    )


def simulated(ability, spread, cases, seed, missing=0.0):
    """Right and wrong as the model has it, and the true difficulties."""
    rng = np.random.default_rng(seed)
    difficulty = rng.normal(0, spread, cases)
    right = (rng.random((cases, len(ability))) < success_probability(np.asarray(ability), difficulty)).astype(np.int16)
    right[rng.random(right.shape) < missing] = -1
    return right, difficulty


def chances(right, ability, difficulty):
    """Of one case's answers, answer by answer."""
    signs = [1 if x else -1 for x in right if x >= 0]
    able = [a for x, a in zip(right, ability, strict=True) if x >= 0]
    terms = [1 / (1 + np.exp(sign * (difficulty - a))) for sign, a in zip(signs, able, strict=True)]
    return np.prod(terms)


def brute_force(right, ability, spread):
    """The marginal log-likelihood, case by case, by adaptive quadrature."""
    from scipy.integrate import quad

    total = 0.0
    for row in right:

        def inside(d, row=row):
            return chances(row, ability, d) * np.exp(-0.5 * (d / spread) ** 2) / (spread * np.sqrt(2 * np.pi))

        parts = np.linspace(-14 * spread, 14 * spread, 15)
        total += np.log(sum(quad(inside, a, b, epsabs=0, epsrel=1e-12)[0] for a, b in pairwise(parts)))
    return total


def scores_of(right):
    judged = np.asarray(right) >= 0
    return Scores.of(judged, np.asarray(right) == 1, np.ones(len(right), np.int64))[0]


@pytest.mark.parametrize(("spread", "shift"), [(0.2, 0), (1, 0), (2.43, 2.6), (6, -1), (1, 6)])
def test_the_likelihood_is_the_integral(spread, shift):
    ability = shift + np.array([-1, 0, 0.5, 0.5, 2])
    right, _ = simulated(ability, spread, 30, 0, missing=0.2)
    right[0], right[1], right[2] = 0, 1, -1
    assert_allclose(log_likelihood(scores_of(right), ability, spread), brute_force(right, ability, spread), rtol=1e-10)


@pytest.mark.parametrize(("raters", "spread", "shift"), [(2, 0.1, 0), (13, 2.43, 2.6), (50, 5, 0), (200, 1, 3)])
def test_more_nodes_change_nothing(raters, spread, shift):
    ability = shift + np.linspace(-2, 2, raters)
    scores = scores_of(simulated(ability, spread, 200, 1)[0])
    coarse = log_likelihood(scores, ability, spread)
    assert_allclose(log_likelihood(scores, ability, spread, Nodes.of(ability, spread, 3.0)), coarse, rtol=1e-12)


def numeric(function, at, step=1e-5):
    return np.stack([(function(at + e) - function(at - e)) / (2 * step) for e in step * np.eye(len(at))])


@pytest.mark.parametrize("ability", [[-1, 0.3, 0.3, 1.2, 2], [0.5, 0.5 + 1e-9, 0.5 + 2e-4, 0.5 - 5e-5, 0.55]])
def test_the_derivatives_are_those_of_the_likelihood(ability):
    ability = np.array(ability, float)
    scores = scores_of(simulated(ability, 1.5, 80, 2, missing=0.3)[0])
    point = np.append(ability, np.log(1.4))
    found = differentiate(scores, ability, 1.4)
    assert found.value == pytest.approx(log_likelihood(scores, ability, 1.4), rel=1e-13)
    gradient = numeric(lambda p: log_likelihood(scores, p[:-1], np.exp(p[-1])), point)
    assert_allclose(found.gradient, gradient, atol=1e-6)
    hessian = numeric(lambda p: differentiate(scores, p[:-1], np.exp(p[-1])).gradient, point)
    assert_allclose(found.hessian, hessian, atol=1e-6)


def test_blocks_add_up_to_the_whole(monkeypatch):
    ability = np.array([0.0, 1, 2])
    scores = scores_of(simulated(ability, 1, 300, 3, missing=0.3)[0])
    whole = differentiate(scores, ability, 1.0)
    monkeypatch.setattr("manytruths.ratings.rasch_model.BLOCK", 100)
    parts = differentiate(scores, ability, 1.0)
    assert len(list(scores.parts(Nodes.of(ability, 1.0)))) > 3
    assert_allclose(parts.hessian, whole.hessian, rtol=1e-12)
    assert_allclose(parts.gradient, whole.gradient, atol=1e-10)


def test_the_maximum_is_the_maximum():
    """Of the same likelihood by a general optimiser, from an integral of its own, with ratings missing."""
    from scipy.optimize import minimize

    right, _ = simulated([0.5, 1, 1.5, 2], 1.5, 150, 4, missing=0.25)
    at, weight = np.polynomial.legendre.leggauss(120)

    def lost(point):
        spread = np.exp(point[-1])
        d = 9 * spread * at
        chance = success_probability(point[:-1], d)[None]
        case = np.where(right[:, None] < 0, 1, np.where(right[:, None] == 1, chance, 1 - chance)).prod(axis=2)
        return -np.log(case @ (weight * 9 * np.exp(-0.5 * (9 * at) ** 2) / np.sqrt(2 * np.pi))).sum()

    wanted = minimize(lost, np.zeros(5), method="BFGS", options={"gtol": 1e-7})
    found = rasch(ratings_of(right))
    assert_allclose(found.ability, wanted.x[:-1], atol=2e-6)
    assert found.spread == pytest.approx(np.exp(wanted.x[-1]), abs=2e-6)
    assert found.log_likelihood == pytest.approx(-wanted.fun, abs=1e-8)
    information = numeric(lambda p: numeric(lost, p, 1e-3), np.append(found.ability, np.log(found.spread)), 1e-3)
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    assert_allclose(found.ability_error, errors[:-1], rtol=1e-4)
    assert found.spread_error == pytest.approx(found.spread * errors[-1], rel=1e-4)


def girth(right):
    """girth has cases N(0, 1), and P(right) = logistic(α (case − b)): s is α, and the ability −α b."""
    from girth import onepl_mml

    found = onepl_mml(right.T, options={"quadrature_bounds": (-7, 7), "quadrature_n": 81})
    return -found["Discrimination"] * found["Difficulty"], found["Discrimination"]


def test_girth_where_the_answers_are_as_expected():
    """girth matches each rater's share of right answers, which is the maximise where the table is the model's own."""
    ability, spread = np.array([0.2, 1, 1.5, 2.2, 3]), 1.8
    rows = np.array(list(product([0, 1], repeat=5)))
    count = np.array([np.round(40_000 * np.exp(brute_force(row[None], ability, spread))) for row in rows], int)
    found = rasch(ratings_of(rows, weights=count))
    theirs, their_spread = girth(np.repeat(rows, count, axis=0))
    assert_allclose(found.ability, theirs, atol=1e-4)
    assert found.spread == pytest.approx(their_spread, abs=1e-4)
    assert_allclose(found.ability, ability, atol=1e-3)
    assert found.spread == pytest.approx(spread, abs=1e-3)


@pytest.mark.parametrize(("raters", "spread"), [(6, 0.8), (13, 2.43)])
def test_girth_on_a_simulated_data_set(raters, spread):
    """Up to what its matching of shares costs; the likelihood of ours is never below that of theirs."""
    right, _ = simulated(np.linspace(0, 2.5, raters), spread, 5000, 5)
    found = rasch(ratings_of(right))
    theirs, their_spread = girth(right)
    assert_allclose(found.ability, theirs, atol=1e-2)
    assert found.spread == pytest.approx(their_spread, abs=1e-3)
    assert found.log_likelihood >= log_likelihood(scores_of(right), theirs, their_spread)


def test_intervals_cover_the_truth():
    ability, spread = np.array([0, 0.5, 1, 1.5, 2, 3]), 1.5
    found = [rasch(ratings_of(simulated(ability, spread, 300, seed)[0])) for seed in range(200)]
    z = np.array([(f.ability - ability) / f.ability_error for f in found])
    assert ((np.abs(z) < 1.96).mean(axis=0) >= 0.90).all()
    assert 0.93 <= (np.abs(z) < 1.96).mean() <= 0.97
    spreads = np.array([(f.spread - spread) / f.spread_error for f in found])
    assert 0.90 <= (np.abs(spreads) < 1.96).mean() <= 0.99
    assert np.mean([f.spread for f in found]) == pytest.approx(spread, rel=0.02)
    many = rasch(ratings_of(simulated(ability, spread, 50_000, 0)[0]))
    assert many.ability_error.max() < 0.025
    assert (np.abs(many.ability - ability) < 3 * many.ability_error).all()


def test_mean_squares_are_one_where_the_model_holds_and_not_where_it_does_not():
    ability = np.array([0.5, 1, 1.5, 2, 2.5])
    found = [rasch(ratings_of(simulated(ability, 1, 400, seed, missing=0.1)[0])) for seed in range(40)]
    assert np.mean([f.infit for f in found]) == pytest.approx(1, abs=0.005)
    assert np.mean([f.outfit for f in found]) == pytest.approx(1, abs=0.01)
    assert np.mean([np.nanmean(f.case_outfit) for f in found]) == pytest.approx(1, abs=0.01)
    right, _ = simulated(np.append(ability, [1, 1.2]), 2, 2000, 6)
    right[:, -1] = np.random.default_rng(7).random(2000) < 0.65  # whatever the case
    odd = rasch(ratings_of(right))
    assert odd.infit[-1] > 1.15 > odd.infit[:-1].max()
    assert odd.outfit[-1] > 1.3 > odd.outfit[:-1].max()


def test_the_posterior_is_bayes_theorem():
    right, _ = simulated([0.0, 1, 2], 1.2, 60, 8, missing=0.2)
    right[0], right[1], right[2] = 1, 0, -1
    found = rasch(ratings_of(right))
    d = np.linspace(-15, 15, 6001)
    for i in range(12):
        density = np.array([chances(right[i], found.ability, x) for x in d]) * np.exp(-0.5 * (d / found.spread) ** 2)
        density /= density.sum()
        assert found.difficulty[i] == pytest.approx(density @ d, abs=1e-9)
        assert found.difficulty_error[i] == pytest.approx(np.sqrt(density @ d**2 - (density @ d) ** 2), abs=1e-9)
        judged = right[i] >= 0
        if judged.any():
            p = success_probability(found.ability[judged], d)
            residual = (right[i][judged] - p) ** 2
            assert found.case_infit[i] == pytest.approx((density @ residual).sum() / (density @ (p * (1 - p))).sum())
            assert found.case_outfit[i] == pytest.approx((density @ (residual / (p * (1 - p)))).mean())
    assert found.difficulty[2] == pytest.approx(0, abs=1e-12)
    assert found.difficulty_error[2] == pytest.approx(found.spread)
    assert np.isnan(found.case_infit[2])


def test_difficulties_are_recovered():
    right, truth = simulated(np.linspace(1, 3, 25), 2.43, 3000, 9)
    found = rasch(ratings_of(right))
    assert np.corrcoef(found.difficulty, truth)[0, 1] > 0.91
    assert 0.93 < (np.abs(found.difficulty - truth) < 1.96 * found.difficulty_error).mean() < 0.97
    assert found.spread == pytest.approx(2.43, rel=0.04)


@pytest.mark.slow
@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_order_does_not_matter_and_wrong_is_right_turned(seed, random):
    right, _ = simulated([0.3, 1, 1.2, 1.6], 1.3, 60, seed, missing=0.15)
    found = rasch(ratings_of(right))
    raters, cases = random.sample(range(4), 4), random.sample(range(60), 60)
    other = rasch(ratings_of(right[np.ix_(cases, raters)]))
    turned = rasch(ratings_of(np.where(right < 0, right, 1 - right)))
    for mine, sign in ((other, 1), (turned, -1)):
        rows, columns = (cases, raters) if sign == 1 else (range(60), range(4))
        assert_allclose(mine.ability, sign * found.ability[list(columns)], atol=1e-6)
        assert_allclose(mine.difficulty, sign * found.difficulty[list(rows)], atol=1e-6)
        assert_allclose(mine.outfit, found.outfit[list(columns)], rtol=1e-5)
        assert_allclose([mine.spread, mine.log_likelihood], [found.spread, found.log_likelihood], atol=1e-6)


def test_weights_are_cases_again_and_empty_cases_are_nothing():
    right, _ = simulated([0.0, 1, 2], 1, 120, 10)
    rows, count = np.unique(right, axis=0, return_counts=True)
    one, many = rasch(ratings_of(rows, weights=count)), rasch(ratings_of(right))
    assert_allclose(one.ability, many.ability, atol=1e-9)
    assert_allclose(one.infit, many.infit, atol=1e-9)
    right[0], none = 0, np.append(0, np.ones(119, np.int64))
    one, many = rasch(ratings_of(right, weights=none)), rasch(ratings_of(right[1:]))
    assert_allclose(one.ability, many.ability, atol=1e-9)
    assert_allclose([one.spread, one.log_likelihood], [many.spread, many.log_likelihood], atol=1e-9)
    perfect = np.column_stack([right, np.append(0, np.ones(119, int))])
    assert rasch(ratings_of(perfect, weights=none)).extreme == ("r3",)
    right = right[1:]
    padded = rasch(ratings_of(np.vstack([right, np.full((5, 3), -1)])))
    assert_allclose(padded.ability, many.ability, atol=1e-9)
    assert padded.log_likelihood == pytest.approx(many.log_likelihood)
    assert any("5 cases nobody could be compared" in note for note in padded.notes)


def test_who_is_always_right_gets_the_correction():
    right, _ = simulated([0.5, 1, 1.5, 2], 1, 200, 11)
    right[:, 0], right[:, 1] = 1, 0
    found = rasch(ratings_of(right))
    assert found.extreme == ("r0", "r1")
    assert np.isfinite(found.ability).all()
    assert np.isfinite(found.ability_error).all()
    assert "r0 was always right" in found.notes[0]
    assert "r1 was never right" in found.notes[1]
    turned = replace(scores_of(right), right=np.array([199.7, 0.3, *(right[:, 2:].sum(axis=0))]))
    assert_allclose(differentiate(turned, found.ability, found.spread).gradient, 0, atol=1e-6)
    assert maximise(turned, 1e-8, 100).spread == pytest.approx(found.spread)
    assert list(found.to_frame()["extreme"]) == [True, True, False, False]


def test_who_cannot_be_judged_has_no_ability():
    right, _ = simulated([0.5, 1, 1.5], 1, 100, 12)
    found = rasch(ratings_of(np.column_stack([right, np.full(100, -1)])))
    assert np.isnan(found.ability[3])
    assert np.isnan(found.accuracy[:, 3]).all()
    assert_allclose(found.ability[:3], rasch(ratings_of(right)).ability, atol=1e-9)
    assert any("r3 could not be compared" in note for note in found.notes)


def test_where_cases_do_not_differ():
    """Answers spread less over the cases than chance would: s is 0, and abilities are those of the shares."""
    rows = [[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 0]] * 5
    found = rasch(ratings_of(rows))
    share = np.mean(rows, axis=0)
    assert found.spread == 0
    assert isinstance(found.spread_error, Undefined)
    assert_allclose(found.ability, np.log(share / (1 - share)))
    assert_allclose(found.ability_error, 1 / np.sqrt(20 * share * (1 - share)))
    assert not found.difficulty.any()
    assert not found.difficulty_error.any()
    assert_allclose(found.infit, 1)
    assert found.equal_p == 1
    assert found.log_likelihood == found.equal_log_likelihood


@pytest.mark.slow
def test_the_likelihood_ratio_keeps_its_level():
    found = [rasch(ratings_of(simulated([0.0, 0.5, 1, 1.5], 0, 300, seed)[0])) for seed in range(200)]
    p = np.array([f.equal_p for f in found])
    assert 0.4 <= (p < 0.5).mean() <= 0.6
    assert (p < 0.05).mean() <= 0.09
    assert rasch(ratings_of(simulated([0.0, 0.5, 1, 1.5], 1.5, 300, 0)[0])).equal_p < 1e-6


@pytest.mark.parametrize("rows", [[[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]], [[1, 1], [1, 0], [0, 0]]])
def test_a_perfect_order_has_no_bound(rows):
    found = rasch(ratings_of(rows * 10))
    assert found.convergence == "stopped"
    assert any("unbounded" in note for note in found.notes)


def test_too_few_iterations_are_told():
    right, _ = simulated([0.5, 1, 1.5], 1, 100, 13)
    found = rasch(ratings_of(right), max_iter=2)
    assert (found.convergence, found.iterations) == ("stopped", 2)
    assert "not converged after 2 iterations" in found.notes


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([[1], [0]], "two raters who can be compared with the reference; there are 1"),
        ([[1, -1], [0, -1]], "two raters who can be compared with the reference; there are 1"),
        (np.zeros((0, 3)), "there are 0"),
        ([[1, 1], [1, 1]], "reference; nobody is"),
        ([[1, 1], [1, 0]], "only r1 is"),
        ([[1, -1], [0, -1], [-1, 1], [-1, 0]], "no case has two"),
        ([[1, 1], [0, 0]], "all right or all wrong"),
    ],
)
def test_what_cannot_be_fitted_is_refused(rows, why):
    with pytest.raises(InputError, match=why):
        rasch(ratings_of(rows))


def test_the_key():
    right, _ = simulated([1.0, 1.5, 2, 2, 2.5], 1, 200, 14)
    assert rasch(ratings_of(right)).source == "reference"
    by_majority = rasch(ratings_of(right, reference=False))
    assert by_majority.source == "majority"
    assert_allclose(by_majority.ability, rasch(ratings_of(right), "majority").ability)
    with pytest.raises(CallError, match="no reference"):
        rasch(ratings_of(right, reference=False), "reference")
    with pytest.raises(CallError, match="got 'truth'"):
        rasch(ratings_of(right), "truth")


def test_accuracies_go_into_rho():
    right, truth = simulated(np.linspace(1.5, 3, 9), 2, 400, 15)
    ratings = ratings_of(right)
    found = rasch(ratings)
    assert found.accuracy.shape == right.shape
    assert rho(ratings, found.accuracy).value == pytest.approx(
        rho(ratings, success_probability(np.linspace(1.5, 3, 9), truth)).value, abs=0.03
    )
    frame = found.to_frame("cases")
    assert list(frame.columns) == ["difficulty", "error", "infit", "outfit"]
    assert list(frame.index) == list(ratings.cases)
    assert repr(found).startswith("<Rasch by reference: 9 raters, 400 cases, spread ")


def test_the_paper_s_set_up():
    """Cabitza 2020: 13 raters of accuracy 0.81 agree by 0.82; independent ones would by a² + (1 − a)² = 0.69."""
    agreed, reliable = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        right, _ = simulated(2.63 + rng.normal(0, 0.35, 13), 2.43, 417, seed + 100)
        confidence = rng.choice(np.arange(1, 6) / 5, right.shape, p=[0.02, 0.05, 0.18, 0.48, 0.27])
        ratings = replace(ratings_of(right), confidence=confidence)
        agreed.append([right.mean(), np.mean(right.mean(axis=1) ** 2 + (1 - right.mean(axis=1)) ** 2)])
        reliable.append(rho(ratings, rasch(ratings).accuracy).value)
    accuracy, agreement = np.mean(agreed, axis=0)
    assert agreement > accuracy**2 + (1 - accuracy) ** 2 + 0.1
    assert np.mean(reliable) == pytest.approx(0.545, abs=0.01)
