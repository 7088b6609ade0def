"""Plans from a pilot: simulated raters whose truth is known, SciPy's likelihood, hand-made tables."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import betaln
from scipy.stats import beta as beta_distribution
from scipy.stats import betabinom

import manytruths as mt
from data_folder import data
from manytruths import CallError, Column, InputError, Ratings, Tally, majority_accuracy, plan_from_pilot, reason
from manytruths.ratings.planning.pilot import PilotRule, Votes, fit_votes, panel_curve, simulate_curve


def simulated(cases=2000, raters=5, a=0.8, rho=0.25, seed=0, labels=2, reference=True):
    """Ratings under the model itself."""
    random = np.random.default_rng(seed)
    whole = (1 - rho) / rho
    accuracy = random.beta(a * whole, (1 - a) * whole, (cases, 1))
    truth = random.integers(0, labels, (cases, 1))
    wrong = (truth + random.integers(1, labels, (cases, raters))) % labels
    codes = np.where(random.random((cases, raters)) < accuracy, truth, wrong)
    return Ratings.of(codes.tolist(), reference=truth[:, 0].tolist() if reference else None)


def votes_of(pairs):
    outcomes = np.array(pairs)
    return Votes.of(outcomes, np.ones(len(outcomes), np.int64), np.arange(len(outcomes)))


# -- the fit --------------------------------------------------------------------------------------


def test_the_fit_is_scipys_maximum():
    random = np.random.default_rng(1)
    m = random.integers(2, 9, 300)
    right = betabinom.rvs(m, 3.2, 0.8, random_state=2)
    found = fit_votes(votes_of(np.stack([right, m - right], axis=1)).tails.sum(axis=0, keepdims=True))
    a = right.sum() / m.sum()
    assert found.shares[0, 0] == pytest.approx(a)

    def loss(rho):
        alpha, beta = a * (1 - rho) / rho, (1 - a) * (1 - rho) / rho
        return -(betaln(right + alpha, m - right + beta) - betaln(alpha, beta)).sum()

    expected = minimize_scalar(loss, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-10}).x
    assert found.correlation[0] == pytest.approx(expected, abs=1e-6)


def test_extremes_of_the_fit():
    same = fit_votes(votes_of([[5, 0]] * 6 + [[0, 5]] * 2).tails.sum(axis=0, keepdims=True))
    assert same.correlation[0] > 0.9999
    even = fit_votes(votes_of([[2, 2]] * 20).tails.sum(axis=0, keepdims=True))
    assert even.correlation[0] < 1e-6
    sure = fit_votes(votes_of([[4, 0]] * 20).tails.sum(axis=0, keepdims=True))
    assert sure.shares[0].tolist() == [1, 0]
    assert np.isfinite(sure.correlation).all()


def test_many_labels_are_fitted_too():
    random = np.random.default_rng(5)
    shares, rho = np.array([0.5, 0.3, 0.2]), 0.4
    q = random.dirichlet(shares * (1 - rho) / rho, 6000)
    found = fit_votes(votes_of(random.multinomial(6, q)).tails.sum(axis=0, keepdims=True))
    np.testing.assert_allclose(found.shares[0], shares, atol=0.02)
    assert found.correlation[0] == pytest.approx(rho, abs=0.02)


# -- with a reference -----------------------------------------------------------------------------


def test_a_pilot_of_three_foretells_panels_of_nine():
    truth = {k: majority_accuracy(k, 0.8, correlation=0.25) for k in range(1, 16)}
    found = plan_from_pilot(simulated(raters=3), resamples=200)
    assert (found.source, found.n_labels, found.n_raters, found.n_cases) == ("reference", 2, 3, 2000)
    for panel in found.panels:
        assert panel.accuracy.value == pytest.approx(truth[panel.n_raters], abs=0.02)
        assert panel.accuracy.low < panel.accuracy.value < panel.accuracy.high
    # independent raters of the same accuracy would do better: that is what the fit is for
    assert found.panels[8].accuracy.high < majority_accuracy(9, found.accuracy.value)


def test_intervals_cover():
    """Of 60 pilots about 95 % hold the truth: fewer than 50 would be a chance of 1 in 1,000."""
    expected, met, correlated = majority_accuracy(7, 0.8, correlation=0.25), 0, 0
    for seed in range(60):
        found = plan_from_pilot(simulated(cases=150, raters=4, seed=seed), resamples=200, seed=seed)
        panel = found.panels[6].accuracy
        met += panel.low <= expected <= panel.high
        correlated += found.correlation.low <= 0.25 <= found.correlation.high
    assert met >= 50
    assert correlated >= 50


def test_observed_is_the_mean_over_all_panels_of_the_pilots_raters():
    ratings = simulated(cases=40, raters=5, seed=3)
    right = ratings.codes == ratings.reference[:, None]
    found = plan_from_pilot(ratings, resamples=10)
    for k in (1, 2, 3, 4, 5):
        panels = [right[:, list(chosen)].mean(axis=1) for chosen in combinations(range(5), k)]
        expected = np.mean([(share > 0.5) + 0.5 * (share == 0.5) for share in panels])
        assert found.panels[k - 1].observed == pytest.approx(expected)
    assert reason(found.panels[5].observed) == "no case was rated by so many"


def test_pluralities():
    found = plan_from_pilot(simulated(cases=3000, a=0.6, labels=4, seed=2), resamples=20)
    assert found.n_labels == 4
    for panel in found.panels[:9]:
        expected = majority_accuracy(panel.n_raters, 0.6, correlation=0.25, n_labels=4)
        assert panel.accuracy.value == pytest.approx(expected, abs=0.025)
    assert reason(found.panels[0].observed) == "counted for two labels only"


def test_gaps_and_unknown_truths_are_left_out():
    whole = simulated(cases=60, seed=4)
    codes = whole.codes.tolist()
    holes = [[None if (i + j) % 4 == 0 else c for j, c in enumerate(row)] for i, row in enumerate(codes)]
    known = [None if i % 5 == 0 else int(t) for i, t in enumerate(whole.reference)]
    found = plan_from_pilot(Ratings.of(holes, reference=known), resamples=10)
    assert found.n_cases == 48
    right = [(c == t) for row, t in zip(holes, known, strict=True) if t is not None for c in row if c is not None]
    assert found.accuracy.value == pytest.approx(np.mean(right))


# -- without one ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "rho"), [(0.5, 0.3), (0.2, 0.6), (0.8, 0.05), (0.35, 0.95)])
def test_the_panel_curve_is_the_integral(share, rho):
    """Over the Beta by its quantiles: half a million equally likely cases."""
    whole = (1 - rho) / rho
    q = beta_distribution.ppf((np.arange(500_000) + 0.5) / 500_000, share * whole, (1 - share) * whole)
    p = np.maximum(q, 1 - q)
    expected = [p.mean()]
    for m in range(1, 8):
        expected.append(expected[-1] + (math.comb(2 * m - 1, m) * (p * (1 - p)) ** m * (2 * p - 1)).mean())
    found = panel_curve(np.array([share]), np.array([rho]), 15)[0]
    np.testing.assert_allclose(found[::2], expected, atol=2e-6)
    np.testing.assert_allclose(found[1::2], expected[:-1], atol=2e-6)


def test_the_simulate_curve_is_the_closed_form_for_two_labels():
    random = np.random.default_rng(0)
    found = simulate_curve(np.array([0.3, 0.7]), 0.4, 9, 200_000, random)
    np.testing.assert_allclose(found, panel_curve(np.array([0.3]), np.array([0.4]), 9)[0], atol=0.004)


def test_the_panels_correlation_is_fleiss_kappa():
    ratings = simulated(cases=4000, seed=7, reference=False)
    found = plan_from_pilot(ratings, resamples=10)
    assert found.source == "panel"
    assert found.correlation.value == pytest.approx(mt.fleiss_kappa(ratings.tally()), abs=0.03)
    assert "nobody knows" in reason(found.panels[0].observed)
    assert [p.accuracy.value for p in found.panels] == sorted(p.accuracy.value for p in found.panels)


def test_labels_that_nobody_gave_do_not_count():
    ratings = simulated(cases=50, reference=False)
    more = Ratings.of(ratings.codes.tolist(), labels=[0, 1, 2])
    one, two = (plan_from_pilot(r, resamples=20) for r in (ratings, more))
    assert two.n_labels == 2
    assert one.panels[2].accuracy == two.panels[2].accuracy


# -- how many -------------------------------------------------------------------------------------


def test_the_rules():
    ratings = simulated(cases=500, raters=3, seed=1)
    found = plan_from_pilot(ratings, resamples=100)
    best = int(found.best.value)
    assert best % 2 == 1
    assert found.panels[best - 1].gain < 0.01 <= found.panels[best - 3].gain
    assert found.best.low <= best <= found.best.high
    assert found.additional_raters == max(0, best - 3)
    costly = plan_from_pilot(ratings, resamples=100, cost_rater=1, cost_error=60)
    costs = {p.n_raters: p.cost for p in costly.panels if p.n_raters % 2}
    assert int(costly.best.value) == min(costs, key=costs.get)
    third = costly.panels[2]
    assert third.cost == pytest.approx(3 + 60 * (1 - third.accuracy.value))
    dear = plan_from_pilot(ratings, resamples=10, cost_rater=100, cost_error=1)
    cheap = plan_from_pilot(ratings, resamples=10, cost_rater=0, cost_error=1)
    assert (int(dear.best.value), int(cheap.best.value)) == (1, 15)
    assert reason(found.panels[0].cost)
    assert reason(found.panels[-1].gain)


def test_with_many_labels_even_panels_count_and_the_rule_still_speaks_of_two_more():
    found = plan_from_pilot(simulated(cases=800, a=0.6, labels=4, seed=2), resamples=10)
    reached = [p.accuracy.value for p in found.panels]
    gains = [after - before for before, after in zip(reached, reached[2:], strict=False)]
    assert int(found.best.value) == 1 + next(i for i, gain in enumerate(gains) if gain < 0.01)
    assert found.panels[3].gain == pytest.approx(reached[4] - reached[3])


def test_the_same_seed_gives_the_same_plan():
    ratings = simulated(cases=60)
    one, two, other = (plan_from_pilot(ratings, resamples=50, seed=s) for s in (1, 1, 2))
    assert one.accuracy == two.accuracy
    assert one.accuracy != other.accuracy


def test_cases_of_a_subject_are_drawn_together():
    ratings = simulated(cases=40, seed=9)
    copied = Ratings.of(
        np.repeat(ratings.codes, 5, axis=0).tolist(), reference=np.repeat(ratings.reference, 5).tolist(),
        subjects=[str(i // 5) for i in range(200)],
    )  # fmt: skip
    alone, together = (plan_from_pilot(r, resamples=300) for r in (ratings, copied))
    assert together.n_subjects == 40
    for one, two in ((alone.accuracy, together.accuracy), (alone.panels[4].accuracy, together.panels[4].accuracy)):
        assert (one.low, one.high) == pytest.approx((two.low, two.high), abs=1e-6)


# -- masks ----------------------------------------------------------------------------------------


def test_masks_are_ratings_too():
    ratings = simulated(cases=300, raters=4, seed=6)
    # a table for every ten cases, as if they were images
    tables = {}
    for start in range(0, 300, 10):
        rows = np.concatenate([ratings.codes, ratings.reference[:, None]], axis=1)[start : start + 10]
        columns = (*map(Column, "ABCD"), Column("truth", "reference"))
        tables[str(start)] = Tally(columns, mt.Labels((0, 1)), rows.astype(np.uint8), np.ones(10, np.int64))
    by_case = plan_from_pilot(ratings, resamples=20)
    by_image = plan_from_pilot(tables, resamples=20, reference="truth")
    assert (by_image.n_cases, by_image.n_subjects) == (300, 30)
    assert by_image.panels[6].accuracy.value == pytest.approx(by_case.panels[6].accuracy.value, abs=1e-9)
    assert by_image.panels[2].observed == pytest.approx(by_case.panels[2].observed)
    panel = plan_from_pilot(tables, resamples=20)
    assert panel.source == "panel"
    assert panel.n_raters == 4
    one = plan_from_pilot(tables["0"])
    assert "at least 10" in reason(one.accuracy.low)


# -- refusals -------------------------------------------------------------------------------------


def test_few_cases_have_no_interval():
    found = plan_from_pilot(simulated(cases=9))
    assert "there are 9" in reason(found.accuracy.low)
    assert reason(found.best.high)
    assert not reason(found.panels[4].accuracy.value)


def test_what_is_no_pilot():
    with pytest.raises(InputError, match="rated by two raters"):
        plan_from_pilot(Ratings.of({"A": [1, 0, None], "B": [None, None, 1]}))
    with pytest.raises(InputError, match="all ratings are the same label"):
        plan_from_pilot(Ratings.of({"A": [1, 1], "B": [1, 1]}))
    with pytest.raises(CallError, match="no reference"):
        plan_from_pilot(Ratings.of({"A": [1, 0], "B": [1, 1]}), source="reference")
    with pytest.raises(CallError, match="'panel'"):
        plan_from_pilot(Ratings.of({"A": [1, 0], "B": [1, 1]}), source="majority")
    with pytest.raises(CallError, match="give both cost_rater and cost_error"):
        PilotRule(cost_rater=1)
    with pytest.raises(CallError, match="0 or more"):
        PilotRule(cost_rater=-1, cost_error=1)
    with pytest.raises(CallError, match="max_raters must be from 3 to 99"):
        PilotRule(max_raters=2)
    with pytest.raises(CallError, match="pilot is empty"):
        plan_from_pilot({})


def test_van_dyke():
    """Five raters of 114 patients whose truth is known: the fitted panels of 3 and 5 beside those observed."""
    import csv

    with open(data("ratings", "VanDyke.csv"), newline="") as stream:
        lines = [line for line in csv.DictReader(stream) if line["treatment"] == "1"]
    names = sorted({line["reader"] for line in lines})
    cases = sorted({line["case"] for line in lines})
    given = {(line["case"], line["reader"]): int(int(line["rating"]) >= 3) for line in lines}
    truth = {line["case"]: int(line["truth"]) for line in lines}
    ratings = Ratings.of([[given[c, n] for n in names] for c in cases], reference=[truth[c] for c in cases])
    found = plan_from_pilot(ratings, resamples=300)
    assert (found.n_cases, found.n_raters) == (114, 5)
    for k in (1, 3, 5):
        panel = found.panels[k - 1]
        assert panel.accuracy.value == pytest.approx(panel.observed, abs=0.012)
    # raters of 0.84 would reach 0.968 if they erred independently
    assert found.panels[4].accuracy.high < majority_accuracy(5, found.accuracy.value)


def test_ten_thousand_cases_and_two_thousand_resamples():
    import time

    ratings = simulated(cases=10_000, raters=13)
    start = time.perf_counter()
    plan_from_pilot(ratings, resamples=2000)
    assert time.perf_counter() - start < 20
