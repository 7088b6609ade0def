"""Majorities, panels, nomograms and kappa's width: brute force, SciPy, laws, published numbers."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import betabinom, binom, norm

import manytruths as mt
from manytruths import (
    CallError,
    cases_for_kappa_width,
    kappa_width,
    majority_accuracy,
    nomogram,
    nomogram_for_accuracy,
    raters_needed,
    reason,
    slim_majority_share,
)
from manytruths.ratings.planning.nomogram import (
    accuracy_from_agreement,
    accuracy_from_majority,
    agreement_from_accuracy,
    majority_from_accuracy,
    reported_accuracy_for,
)
from manytruths.ratings.planning.panels import (
    case_accuracy,
    ceiling,
    correct_votes,
    majority_band,
    normal_nodes,
    odd_majority_accuracies,
    pair_correlation,
    random_panel_votes,
    spread_for_correlation,
)

share = st.floats(0.01, 0.99)
above = st.floats(0.51, 0.99)
odd = st.integers(0, 12).map(lambda i: 2 * i + 1)


def brute_majority(accuracies, labels=2):
    """Every outcome of every rater: label 0 is right, the others equally likely."""
    total = 0.0
    for votes in product(range(labels), repeat=len(accuracies)):
        chances = [a if v == 0 else (1 - a) / (labels - 1) for a, v in zip(accuracies, votes, strict=True)]
        counts = np.bincount(votes, minlength=labels)
        top = counts.max()
        total += math.prod(chances) * (counts[0] == top) / (counts == top).sum()
    return total


# -- published ------------------------------------------------------------------------------------


def test_the_numbers_of_the_paper():
    assert majority_accuracy(3, 0.85) == pytest.approx(0.93925, abs=1e-12)
    assert [slim_majority_share(k, 0.5) for k in (3, 5, 7)] == pytest.approx([0.75, 0.625, 0.546875], abs=1e-12)
    assert round(nomogram(1, majority_accuracy=0.85, reported=0.98).product, 3) == 0.833
    # section 5: 0.95 that is to mean 0.9 wants a truth of 0.95, and ρ of about 0.7
    back = nomogram_for_accuracy(3, 0.9, reported=0.95)
    assert round(back.majority_accuracy, 2) == 0.95
    assert round(back.rho, 1) == 0.7


# -- majorities -----------------------------------------------------------------------------------


@given(st.lists(share, min_size=1, max_size=7))
def test_panels_against_every_outcome(accuracies):
    assert majority_accuracy(len(accuracies), accuracies) == pytest.approx(brute_majority(accuracies), abs=1e-12)


@given(st.lists(share, min_size=1, max_size=5), st.integers(3, 5))
@settings(max_examples=25, deadline=None)
def test_pluralities_against_every_outcome(accuracies, labels):
    found = majority_accuracy(len(accuracies), accuracies, n_labels=labels)
    assert found == pytest.approx(brute_majority(accuracies, labels), abs=1e-12)


@given(st.integers(1, 40), share)
def test_binomial(k, a):
    np.testing.assert_allclose(correct_votes(k, a), binom.pmf(np.arange(k + 1), k, a), atol=1e-13)
    np.testing.assert_allclose(majority_accuracy(k, a), majority_from_accuracy(k, a), atol=1e-12)


@pytest.mark.skipif(not hasattr(stats, "poisson_binom"), reason="SciPy has it from 1.15")
@given(st.lists(share, min_size=1, max_size=20))
def test_poisson_binomial(accuracies):
    k = len(accuracies)
    expected = stats.poisson_binom.pmf(np.arange(k + 1), accuracies)
    np.testing.assert_allclose(correct_votes(k, accuracies), expected, atol=1e-12)


@given(st.integers(1, 40), share, st.floats(0.001, 0.99))
def test_beta_binomial(k, a, rho):
    whole = (1 - rho) / rho
    expected = betabinom.pmf(np.arange(k + 1), k, a * whole, (1 - a) * whole)
    np.testing.assert_allclose(correct_votes(k, a, correlation=rho), expected, atol=1e-9)


def test_limits_of_correlation():
    assert majority_accuracy(9, 0.8, correlation=1) == pytest.approx(0.8)
    assert majority_accuracy(9, 0.8, correlation=1e-12) == pytest.approx(majority_accuracy(9, 0.8), abs=1e-10)
    assert [majority_accuracy(5, a, correlation=0.4) for a in (0, 1)] == [0, 1]


@given(st.integers(1, 12), share, st.floats(0, 0.9), st.sampled_from([0.0, 0.7, 3.0]))
@settings(deadline=None)
def test_an_even_panel_is_worth_the_odd_one_before(half, a, rho, spread):
    model = {"spread": spread} if spread else {"correlation": rho}
    assert majority_accuracy(2 * half, a, **model) == pytest.approx(
        majority_accuracy(2 * half - 1, a, **model), abs=1e-9
    )


@given(odd, above, st.floats(0, 0.95), st.floats(0, 0.04))
def test_more_raters_and_less_correlation_are_better(k, a, rho, more):
    here = majority_accuracy(k, a, correlation=rho)
    assert majority_accuracy(k + 2, a, correlation=rho) >= here - 1e-12
    assert majority_accuracy(k, a, correlation=rho + more) <= here + 1e-12
    assert majority_accuracy(k, min(1, a + more)) >= majority_accuracy(k, a) - 1e-12
    assert here <= ceiling(a, correlation=rho) + 1e-12


@given(odd, share, st.floats(0, 0.9))
def test_who_is_wrong_as_often_as_another_is_right(k, a, rho):
    both = majority_accuracy(k, a, correlation=rho) + majority_accuracy(k, 1 - a, correlation=rho)
    assert both == pytest.approx(1, abs=1e-10)


def test_a_spread_is_what_simulation_gives():
    random = np.random.default_rng(0)
    accuracies, spread, n = np.array([0.6, 0.75, 0.9, 0.95, 0.8]), 1.7, 400_000
    easy = random.normal(size=n)
    right = random.random((n, 5)) < case_accuracy(accuracies, spread, easy)
    np.testing.assert_allclose(right.mean(axis=0), accuracies, atol=0.004)
    error = math.sqrt(0.25 / n)
    found = majority_accuracy(5, accuracies, spread=spread)
    assert (right.sum(axis=1) > 2).mean() == pytest.approx(found, abs=4 * error)
    correlation = np.corrcoef(right.T)[np.triu_indices(5, 1)].mean()
    assert pair_correlation(accuracies, spread) == pytest.approx(correlation, abs=0.005)


@pytest.mark.parametrize("spread", [0.3, 2.0, 10.0])
def test_sums_over_the_normal(spread):
    """Against adaptive quadrature, panel by panel; and the accuracies given are the means."""
    from scipy.integrate import quad

    panel = np.array([0.7, 0.9])
    z, weight = normal_nodes(spread)
    np.testing.assert_allclose(weight @ case_accuracy(panel, spread, z), panel, atol=1e-12)

    def both(at):
        return float(case_accuracy(panel, spread, np.array([at])).prod() * norm.pdf(at))

    expected = quad(both, -9, 9, points=[0], limit=400, epsabs=1e-11)[0]
    assert correct_votes(2, panel, spread=spread)[2] == pytest.approx(expected, abs=1e-8)


def test_a_spread_for_a_correlation():
    accuracies = [0.8, 0.9, 0.85]
    assert pair_correlation(accuracies, spread_for_correlation(accuracies, 0.25)) == pytest.approx(0.25, abs=1e-8)
    with pytest.raises(CallError, match="correlation must be below"):
        spread_for_correlation([0.5, 0.99], 0.9)


def test_plurality_of_many_by_simulation():
    random, k, a, labels, n = np.random.default_rng(1), 11, 0.35, 5, 200_000
    wrong = random.integers(1, labels, (n, k))
    votes = np.where(random.random((n, k)) < a, 0, wrong)
    counts = (votes[:, :, None] == np.arange(labels)).sum(axis=1)
    level = counts == counts.max(axis=1, keepdims=True)
    expected = (level[:, 0] / level.sum(axis=1)).mean()
    assert majority_accuracy(k, a, n_labels=labels) == pytest.approx(expected, abs=4 * math.sqrt(0.25 / n))
    # more labels, more ways for errors to fall apart
    assert majority_accuracy(k, a, n_labels=6) > majority_accuracy(k, a, n_labels=5)


# -- how many -------------------------------------------------------------------------------------


@given(above, st.floats(0, 0.6), st.sampled_from([0.0, 0.5, 2.5]))
@settings(deadline=None, max_examples=40)
def test_increments_are_the_majorities(a, rho, spread):
    rho = 0.0 if spread else rho
    found = odd_majority_accuracies(np.array([a]), rho, spread, 10)
    expected = [majority_accuracy(k, a, correlation=rho, spread=spread) for k in range(1, 20, 2)]
    np.testing.assert_allclose(found, expected, atol=1e-10)


@given(above, st.floats(0.55, 0.999), st.floats(0, 0.5))
@settings(deadline=None, max_examples=60)
def test_the_smallest_panel_that_is_enough(a, wanted, rho):
    found = raters_needed(wanted, a, correlation=rho)
    if found.n_raters is None:
        assert found.reason
        assert found.ceiling <= wanted or found.reached < wanted
        assert majority_accuracy(301, a, correlation=rho) < wanted
    elif found.n_raters < 400:
        assert found.reached == pytest.approx(majority_accuracy(found.n_raters, a, correlation=rho), abs=1e-9)
        assert found.reached >= wanted - 1e-12
        assert found.n_raters % 2 == 1
        if found.n_raters > 1:
            assert majority_accuracy(found.n_raters - 2, a, correlation=rho) < wanted


def test_needed_in_plain_cases():
    assert raters_needed(0.95, 0.85).n_raters == 5
    assert raters_needed(0.93925, 0.85).n_raters == 3
    assert raters_needed(0.95, 0.96).n_raters == 1
    assert raters_needed(0.95, 0.51).n_raters == 6763
    assert "no better than chance" in raters_needed(0.95, 0.5).reason
    assert raters_needed(0.6, 0.4).reason == (
        "raters with accuracy 0.4 are no better than chance; adding raters does not help"
    )
    assert "10,001" in raters_needed(0.95, 0.501).reason
    held = raters_needed(0.95, 0.85, correlation=0.3)
    assert held.ceiling == pytest.approx(1 - betabinom_share(0.85, 0.3), abs=1e-10)
    assert f"{held.ceiling:.3f}" in held.reason
    assert raters_needed(0.95, 0.4, n_labels=10).n_raters is not None
    found = raters_needed(0.95, 0.7, n_labels=4).n_raters
    assert majority_accuracy(found, 0.7, n_labels=4) >= 0.95 > majority_accuracy(found - 1, 0.7, n_labels=4)


def betabinom_share(a, rho):
    """The share of cases whose accuracy is below one half."""
    from scipy.stats import beta

    return beta.cdf(0.5, a * (1 - rho) / rho, (1 - a) * (1 - rho) / rho)


def test_ceilings_are_the_limit():
    for model in ({"correlation": 0.3}, {"spread": 1.5}):
        population = np.array([0.7, 0.9])
        top = ceiling(population, **model)
        reached = odd_majority_accuracies(population, model.get("correlation", 0.0), model.get("spread", 0.0), 3000)[-1]
        assert reached < top == pytest.approx(reached, abs=2e-4)
    assert ceiling(0.85, spread=1.5) == pytest.approx(1 - norm.cdf(0, *_logits(0.85, 1.5)), abs=1e-9)


def _logits(a, spread):
    z = np.array([0.0])
    p = float(case_accuracy(np.array([a]), spread, z)[0, 0])
    return math.log(p / (1 - p)), spread


def test_raters_drawn_from_a_population():
    """The mean over all ordered draws with repetition."""
    population, spread = [0.6, 0.8, 0.95], 1.2
    panels = list(product(population, repeat=3))
    expected = np.mean([correct_votes(3, panel, spread=spread) for panel in panels], axis=0)
    np.testing.assert_allclose(random_panel_votes(3, population, spread=spread), expected, atol=1e-12)
    independent = np.mean([correct_votes(3, panel) for panel in panels], axis=0)
    np.testing.assert_allclose(random_panel_votes(3, population), independent, atol=1e-12)


def test_the_band_of_figure_2():
    band = majority_band([1, 3, 5, 7], 0.85, 0.01, samples=2000)
    assert (band.low < band.average).all()
    assert (band.average < band.high).all()
    population = np.clip(np.random.default_rng(0).normal(0.85, 0.01, 100), 0, 1)
    # draws without repetition: the mean over all pairs of raters beside a third, in closed form by elementary sums
    triples = [brute_majority(population[np.random.default_rng(s).permutation(100)[:3]]) for s in range(300)]
    assert band.average[1] == pytest.approx(np.mean(triples), abs=0.001)
    assert band.average[0] == pytest.approx(population.mean(), abs=0.001)
    assert majority_band([5], 0.9, 0.0).low == pytest.approx(majority_accuracy(5, 0.9))
    same = majority_band([3], seed=4)
    assert same.average == majority_band([3], seed=4).average


# -- nomograms ------------------------------------------------------------------------------------


@given(st.integers(1, 21), st.floats(0.5, 1), st.floats(0, 1))
def test_the_nomogram_forth_and_back(k, a, x):
    found = nomogram(k, rater_accuracy=a, reported=x)
    for entry in ({"agreement": found.agreement}, {"rho": found.rho}, {"majority_accuracy": found.majority_accuracy}):
        again = nomogram(k, **entry, reported=x)
        assert again.majority_accuracy == pytest.approx(found.majority_accuracy, abs=1e-6)
        assert again.product == pytest.approx(found.product, abs=1e-6)
    assert found.low - 1e-12 <= found.independent <= found.high + 1e-12


@given(st.integers(1, 15), st.floats(0.6, 0.99), st.floats(0.3, 0.99), st.sampled_from(["product", "independent"]))
def test_what_is_needed_gives_what_is_wanted(k, x, wanted, formula):
    back = nomogram_for_accuracy(k, wanted, reported=x, formula=formula)
    if reason(back.majority_accuracy):
        assert wanted > x - 1e-9 or (formula == "independent" and wanted < 1 - x + 1e-9)
        return
    assert getattr(back, formula) == pytest.approx(wanted, abs=1e-9)
    forth = nomogram(k, rater_accuracy=back.rater_accuracy, reported=x)
    assert getattr(forth, formula) == pytest.approx(wanted, abs=1e-7)
    # a truth near one half says nothing about the algorithm
    if formula == "product" or abs(back.majority_accuracy - 0.5) > 1e-3:
        assert reported_accuracy_for(wanted, back.majority_accuracy, formula) == pytest.approx(x, abs=1e-7)


@given(st.integers(1, 25), st.floats(0.02, 0.98))
def test_inverses(k, a):
    # where the majority is all but sure, its accuracy says little about the raters'
    g = float(majority_from_accuracy(k, a))
    if 1e-9 < g < 1 - 1e-9:
        assert float(accuracy_from_majority(k, g)) == pytest.approx(a, abs=1e-6)
    if a >= 0.5:
        assert accuracy_from_agreement(agreement_from_accuracy(a)) == pytest.approx(a, abs=1e-7)


def test_the_formulas_by_joint_tables():
    """Bounds and independence, from every joint distribution of two yes-or-no events on a grid."""
    x, g = 0.9, 0.8
    both = np.linspace(max(0, x + g - 1), min(x, g), 101)
    actual = both + (1 - x - g + both)
    found = nomogram(1, majority_accuracy=g, reported=x)
    assert (found.low, found.high) == pytest.approx((actual.min(), actual.max()))
    assert found.independent == pytest.approx(x * g + (1 - x) * (1 - g))
    assert nomogram(1, majority_accuracy=0.2, reported=0.3).low == pytest.approx(0.5)


def test_rho_of_the_nomogram_is_that_of_ratings():
    """ρ = a² at confidence 1, by simulated raters."""
    from manytruths import Ratings, rho

    random, a = np.random.default_rng(3), 0.8
    right = random.random((20_000, 3)) < a
    truth = random.integers(0, 2, (20_000, 1))
    ratings = Ratings.of(np.where(right, truth, 1 - truth).tolist(), confidence=1.0)
    assert rho(ratings, [a] * 3).value == pytest.approx(nomogram(3, rater_accuracy=a).rho, abs=0.006)


def test_impossible_agreement_is_undefined():
    found = nomogram(3, agreement=0.4, reported=0.9)
    assert "half" in reason(found.majority_accuracy)
    assert found.agreement == 0.4
    assert reason(nomogram(3, agreement=0.8).product) == "no reported accuracy was given"
    assert "without error" in reason(nomogram_for_accuracy(3, 0.96, reported=0.95).majority_accuracy)
    assert reason(reported_accuracy_for(0.9, 0.85))
    assert reason(reported_accuracy_for(0.9, 0.5, "independent"))


# -- kappa's width --------------------------------------------------------------------------------


@given(st.floats(0, 0.95), st.floats(0.05, 0.95))
def test_two_raters_have_the_variance_of_bloch_and_kraemer(kappa, p):
    expected = (1 - kappa) * ((1 - kappa) * (1 - 2 * kappa) + kappa * (2 - kappa) / (2 * p * (1 - p)))
    assert kappa_width(100, 2, kappa, p).error ** 2 * 100 == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("m", "kappa", "p", "n"), [(3, 0.6, 0.3, 150), (5, 0.4, 0.5, 80), (8, 0.75, 0.2, 200)])
def test_the_error_is_that_of_simulated_kappas(m, kappa, p, n):
    whole, runs = (1 - kappa) / kappa, 1500
    random = np.random.default_rng(m)
    chance = random.beta(p * whole, (1 - p) * whole, (runs, n))
    votes = random.binomial(m, chance)
    apart = (2 * votes * (m - votes) / (m * (m - 1))).mean(axis=1)
    share = votes.mean(axis=1) / m
    found = 1 - apart / (2 * share * (1 - share))
    # the standard error of a standard deviation of so many runs is 1.8 %; few cases add a few per cent
    assert found.std() == pytest.approx(kappa_width(n, m, kappa, p).error, rel=0.07)
    codes = (np.arange(m) < votes[0][:, None]).astype(np.uint8)
    assert mt.fleiss_kappa(mt.tally({str(i): codes[:, i] for i in range(m)})) == pytest.approx(found[0])


def test_cases_for_a_width():
    needed = cases_for_kappa_width(0.2, 0.6, 0.3)
    assert [one.n_raters for one in needed] == list(range(2, 11))
    for one in needed:
        assert one.width <= 0.2 < kappa_width(one.n_cases - 1, one.n_raters, 0.6, 0.3).width
        assert one.n_ratings == one.n_cases * one.n_raters
    assert [one.n_cases for one in needed] == sorted((one.n_cases for one in needed), reverse=True)
    assert cases_for_kappa_width(1.9, 0.6, 0.5, [5])[0].n_cases == 10
    assert kappa_width(100, 3, 0.6, 0.3, level=0.99).width > kappa_width(100, 3, 0.6, 0.3).width


# -- wrong calls ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: majority_accuracy(0, 0.8), "n_raters must be a whole number"),
        (lambda: majority_accuracy(3, 85), "from 0 to 1"),
        (lambda: majority_accuracy(3, math.nan), "from 0 to 1"),
        (lambda: majority_accuracy(3, [0.8, 0.9]), "one for each of 3"),
        (lambda: majority_accuracy(3, [0.8, 0.9, 0.7], correlation=0.1), "spread="),
        (lambda: majority_accuracy(3, 0.8, correlation=0.1, spread=1), "not both"),
        (lambda: majority_accuracy(3, 0.8, correlation=-0.1), "from 0 to 1"),
        (lambda: majority_accuracy(3, 0.8, spread=99), "logits"),
        (lambda: majority_accuracy(3, 0.8, n_labels=1), "n_labels must be from 2 to 255"),
        (lambda: slim_majority_share(4, 0.5), "odd"),
        (lambda: raters_needed(1, 0.9), "between 0 and 1"),
        (lambda: majority_band([101]), "1 to 100"),
        (lambda: majority_band([3], 0.8, -1), "std 0 or more"),
        (lambda: nomogram(3), "got none"),
        (lambda: nomogram(3, rho=0.5, agreement=0.8), "give exactly one of"),
        (lambda: nomogram(3, rho=1.5), "from 0 to 1"),
        (lambda: nomogram(0, rho=0.5), "n_raters must be at least 1"),
        (lambda: nomogram_for_accuracy(3, 0.9, reported=0.95, formula="other"), "formula"),
        (lambda: kappa_width(9, 3, 0.5, 0.5), "n_cases must be at least 10"),
        (lambda: kappa_width(50, 1, 0.5, 0.5), "n_raters must be at least 2"),
        (lambda: kappa_width(50, 3, 1, 0.5), "below 1"),
        (lambda: kappa_width(50, 3, 0.5, 0), "prevalence"),
        (lambda: kappa_width(50, 3, 0.5, 0.5, level=1), "level"),
        (lambda: cases_for_kappa_width(0, 0.5, 0.5), "width"),
    ],
)
def test_wrong_calls(call, words):
    with pytest.raises(CallError, match=words):
        call()
