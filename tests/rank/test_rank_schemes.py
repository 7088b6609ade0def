"""Schemes, tests and resamples: by hand, against SciPy and statsmodels, and by laws."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from manytruths import CallError, InputError, Scores, rank_scores, reason
from manytruths.analyses.rank.rank import tabulate_ranking
from manytruths.core.undefined import code
from manytruths.evaluation.ranking.missing_scores import Board, make_boards
from manytruths.evaluation.ranking.pair_tests import (
    ResampledTests,
    holm,
    mean_differences,
    pair_tests,
    resampled_wins,
    rounded_differences,
)
from manytruths.evaluation.ranking.standings import (
    SCHEMES,
    Standing,
    case_ranks,
    competition_ranks,
    draw_subjects,
    fractional_ranks,
    kendall_tau,
    resampled_medians,
    resampled_ranks,
    resamples_of_tests,
    round_scores,
    scheme_ranks,
)

SMALL = [[0.9, 0.8, 0.7, 0.6], [0.8, 0.9, 0.6, 0.9], [0.9, 0.1, 0.8, 0.7]]
"""Means .75, .8, .625; ranks in the cases (1.5, 2, 2, 3), (3, 1, 3, 1), (1.5, 3, 1, 2)."""

tables = arrays(
    np.float64, st.tuples(st.integers(2, 5), st.integers(10, 14)), elements=st.integers(0, 20).map(lambda n: n / 20)
)


def random_table(algorithms: int, subjects: int, seed: int = 0, digits: int = 15) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.round(rng.normal(0.7, 0.1, (algorithms, subjects)) + 0.02 * np.arange(algorithms)[:, None], digits)


def board(values: np.ndarray, **options):
    names = [f"a{i}" for i in range(len(values))]
    return make_boards(Scores.of(values, names, **options), ["dice"])[0]


def standing(sampled, ranks=None, level=0.95):
    """A ranking of algorithms with the given ranks in its resamples, of enough subjects for intervals."""
    whole = np.zeros(sampled.shape[1]) if ranks is None else ranks
    return Standing("mean", "", "", whole, whole, sampled, 20, level, 20)


# by hand


def test_the_three_schemes_by_hand():
    found = rank_scores(Scores.of(SMALL, ["A", "B", "C"]))
    mean, by_rank, test = (found.find(scheme=scheme) for scheme in SCHEMES)
    assert mean.score == pytest.approx([0.75, 0.8, 0.625])
    assert mean.places.tolist() == [2, 1, 3]
    by_case = found.standings[1]
    assert by_case.scheme == "rank"
    assert by_case.score.tolist() == [2.125, 2.0, 1.875]
    assert by_rank.places.tolist() == [3, 2, 1]
    assert test.places.tolist() == [1, 1, 1]
    assert test.ranks.tolist() == [2, 2, 2]


def test_wins_by_hand():
    """Ten subjects, each better by another amount: p is 1/1024 one way and 1 the other, times Holm's 6."""
    step = np.arange(1, 11) / 100
    found = rank_scores(Scores.of([0.9 + 0 * step, 0.8 - step, 0.5 - 3 * step], ["A", "B", "C"]), scheme="test")
    tests = found.tests[0]
    assert tests.p_value[[0, 0, 1], [1, 2, 2]] == pytest.approx([1 / 1024] * 3)
    assert tests.p_value[[1, 2, 2], [0, 0, 1]] == pytest.approx([1.0] * 3)
    assert tests.p_holm[[0, 0, 1], [1, 2, 2]] == pytest.approx([6 / 1024] * 3)
    assert found.standings[2].score.tolist() == [2, 1, 0]
    assert found.order == ("A", "B", "C")
    nine = rank_scores(
        Scores.of([0.9 + 0 * step[:9], 0.8 - step[:9], 0.5 - 3 * step[:9]], ["A", "B", "C"]), scheme="test"
    )
    assert np.isnan(nine.tests[0].p_holm).all()
    assert nine.overall.places.tolist() == [1, 1, 1]


def test_subjects_count_once_however_many_cases_they_have():
    values = [[1.0, 1.0, 1.0, 0.0], [0.6, 0.6, 0.6, 0.6]]
    scores = Scores.of(values, ["A", "B"], subjects=["s", "s", "s", "t"])
    assert rank_scores(scores).standings[0].score == pytest.approx([0.5, 0.6])
    assert rank_scores(Scores.of(values, ["A", "B"])).standings[0].score == pytest.approx([0.75, 0.6])
    assert rank_scores(scores).find(scheme="rank").ranks.tolist() == [1.5, 1.5]


def test_the_median_takes_another_order_than_the_mean():
    values = [[0.9, 0.9, 0.0], [0.8, 0.8, 0.8]]
    assert rank_scores(Scores.of(values, ["A", "B"])).order == ("B", "A")
    assert rank_scores(Scores.of(values, ["A", "B"]), aggregate="median").order == ("A", "B")


def test_metrics_count_the_same_however_many_truths_they_have():
    """dice against two truths says A, hausdorff against one says B: a tie, not 2 to 1."""
    values = np.full((2, 3, 2, 2), np.nan)
    values[0, :, :, 0], values[1, :, :, 0] = 0.9, 0.8
    values[0, :, 0, 1], values[1, :, 0, 1] = 9.0, 3.0
    found = rank_scores(Scores.of(values, ["A", "B"], references=["x", "y"], metrics=["dice", "hausdorff"]))
    assert found.overall.score.tolist() == [1.5, 1.5]
    assert found.find(truth="y").places.tolist() == [1, 2]
    assert found.find(metric="hausdorff").places.tolist() == [2, 1]
    assert [t.value for t in found.taus if t.between == "metrics" and t.scheme == "mean" and t.truth == "x"] == [-1.0]


# oracles


@pytest.mark.parametrize(("subjects", "digits"), [(6, 15), (30, 15), (50, 15), (51, 15), (200, 15), (40, 1), (200, 2)])
def test_tests_are_those_of_scipy(subjects, digits):
    from scipy.stats import wilcoxon

    values = random_table(4, subjects, digits=digits)
    found = pair_tests(values)
    first, second = np.triu_indices(4, 1)
    for a, b, apart in zip(first, second, rounded_differences(values, first, second), strict=True):
        known = apart[apart != 0]
        if len(known) <= 50 and len(set(np.abs(known))) < len(known):
            continue  # SciPy has no exact distribution with ties
        options = {"method": "exact"} if len(known) <= 50 else {"method": "asymptotic", "correction": True}
        for row, column, sign in ((a, b, 1), (b, a, -1)):
            theirs = wilcoxon(sign * known, alternative="greater", **options)
            assert found.p_value[row, column] == pytest.approx(theirs.pvalue, rel=1e-10, abs=1e-300)


def of_all_signs(apart) -> tuple[float, float]:
    """p of both sides by trying every sign, with SciPy's ranks."""
    from scipy.stats import rankdata

    known = np.asarray(apart, float)[np.asarray(apart) != 0]
    order = rankdata(np.abs(known))
    sums = np.array([np.dot(signs, order) for signs in product([0, 1], repeat=len(known))])
    found = order[known > 0].sum()
    return float((sums >= found).mean()), float((sums <= found).mean())


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=12))
def test_with_ties_all_signs_are_counted(apart):
    """Small whole numbers are full of ties."""
    p = pair_tests([np.array(apart, float), np.zeros(len(apart))]).p_value
    better, worse = of_all_signs(apart)
    assert p[0, 1] == pytest.approx(better, rel=1e-12)
    assert p[1, 0] == pytest.approx(worse, rel=1e-12)


def test_half_the_cases_better_by_the_same_is_no_win():
    """Five equal differences of ten: 1/32, whatever the normal distribution says."""
    found = rank_scores(Scores.of(np.vstack([np.ones(10), np.r_[np.zeros(5), np.ones(5)]]), ["a", "b"]))
    assert found.tests[0].p_value[0, 1] == 1 / 32
    assert found.tests[0].p_holm[0, 1] == 2 / 32
    assert found.verdict.winner is None


@pytest.mark.parametrize("subjects", [20, 50])
def test_with_ties_and_many_subjects_p_is_that_of_random_signs(subjects):
    from scipy.stats import rankdata

    rng = np.random.default_rng(subjects)
    apart = rng.integers(-3, 5, subjects).astype(float)
    order = rankdata(np.abs(apart[apart != 0]))
    sums = rng.integers(0, 2, (200_000, len(order))) @ order
    wanted = (sums >= order[apart[apart != 0] > 0].sum()).mean()
    found = pair_tests([apart, np.zeros(subjects)]).p_value[0, 1]
    assert 0.001 < found < 0.5
    assert found == pytest.approx(wanted, abs=5 * np.sqrt(wanted * (1 - wanted) / 200_000))


@pytest.mark.parametrize("positive", [25, 31, 36, 40, 45])
def test_the_approximation_of_many_equal_differences_is_the_sign_test(positive):
    """60 differences, all as large: a correction of half a rank would be thirty times too small."""
    from scipy.stats import binom

    apart = np.r_[np.ones(positive), -np.ones(60 - positive)]
    assert pair_tests([apart, np.zeros(60)]).p_value[0, 1] == pytest.approx(binom.sf(positive - 1, 60, 0.5), abs=2e-3)


def test_the_approximation_takes_over_without_a_jump(monkeypatch):
    """What the normal leaves out at 60: kurtosis −0.06, up to 0.0014, and a correction that is a quarter too large."""
    values = random_table(2, 60, digits=2)
    near = pair_tests(values).p_value
    monkeypatch.setattr("manytruths.evaluation.ranking.pair_tests.EXACT", 60)
    exact = pair_tests(values).p_value
    assert near == pytest.approx(exact, abs=2e-3)
    assert near[0, 1] != exact[0, 1]


def test_mean_differences_have_the_intervals_of_scipy():
    from scipy.stats import ttest_rel

    values = np.random.default_rng(5).gamma(2, 0.1, (3, 40))
    found = mean_differences(values)
    for a, b in ((0, 1), (0, 2), (2, 1)):
        apart = values[a] - values[b]
        wanted = ttest_rel(values[a], values[b]).confidence_interval()
        assert found.value[a, b] == pytest.approx(apart.mean())
        assert (found.low[a, b], found.high[a, b]) == pytest.approx((wanted.low, wanted.high))
        assert (found.low[b, a], found.high[b, a]) == (-found.high[a, b], -found.low[a, b])
    few = mean_differences(values[:, :9])
    assert np.isnan(few.low).all()
    assert "at least 10" in few.refusal.reason
    assert few.value[0, 1] == pytest.approx((values[0] - values[1])[:9].mean())


def test_equal_algorithms_are_never_better():
    found = pair_tests([[0.3, 0.6, 0.9]] * 2)
    assert (found.p_value == 1).all()
    assert (found.p_holm == 1).all()


def test_differences_that_rounding_splits_are_ties():
    values = np.array([[0.3, 0.2, 0.8], [0.2, 0.1, 0.5]])
    assert len(set((values[0] - values[1]).tolist())) == 3
    apart = rounded_differences(values, np.array([0]), np.array([1]))[0]
    assert apart[0] == apart[1] < apart[2]


@pytest.mark.slow
def test_holm_is_that_of_statsmodels():
    from statsmodels.stats.multitest import multipletests

    rng = np.random.default_rng(3)
    p = rng.random((20, 30)) ** 3
    p[:, :5] = p[:, 5:10]
    wanted = np.stack([multipletests(row, method="holm")[1] for row in p])
    np.testing.assert_allclose(holm(p), wanted, rtol=1e-12)


@given(arrays(np.float64, 7, elements=st.integers(0, 4).map(float)), st.permutations(range(7)))
def test_tau_is_that_of_scipy(a, shuffled):
    from scipy.stats import kendalltau

    b = a[list(shuffled)]
    if len(set(a.tolist())) == 1:
        assert reason(kendall_tau(a, b))
    else:
        assert kendall_tau(a, b) == pytest.approx(kendalltau(a, b).statistic, abs=1e-12)
        assert standing(np.stack([a, b]), a).tau[0] == pytest.approx((1 + kendall_tau(a, b)) / 2)


@given(tables)
def test_ranks_are_those_of_scipy(values):
    from scipy.stats import rankdata

    assert (fractional_ranks(values.T) == rankdata(-values.T, axis=1)).all()
    assert (competition_ranks(fractional_ranks(values.T)) == rankdata(-values.T, axis=1, method="min")).all()


@pytest.mark.parametrize("digits", [15, 2, 1])
@pytest.mark.parametrize("subjects", [9, 60, 2050])
def test_signed_ranks_of_resamples_are_those_of_scipy(subjects, digits):
    from scipy.stats import wilcoxon

    values = random_table(3, subjects, digits=digits)
    weights = draw_subjects(subjects, 12, seed=1)
    first, second = np.triu_indices(3, 1)
    apart = rounded_differences(values, first, second)
    z = ResampledTests(weights).z(apart)
    for pair, row in enumerate(apart):
        for number, drawn in enumerate(weights):
            repeated = np.repeat(row, drawn.astype(int))
            repeated = repeated[repeated != 0]
            if len(repeated) == 0:
                assert z[pair, number] == 0
                continue
            wanted = wilcoxon(repeated, alternative="greater", method="asymptotic").zstatistic
            assert z[pair, number] == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("digits", [15, 1])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_resamples_are_what_a_loop_over_repeated_subjects_gives(scheme, digits):
    from scipy.stats import norm, rankdata
    from statsmodels.stats.multitest import multipletests

    one = board(random_table(4, 25, digits=digits))
    weights = draw_subjects(25, 15, seed=2)
    found = resampled_ranks(one, scheme, "mean", weights, 0.05)
    for number, drawn in enumerate(weights.astype(int)):
        repeated = np.repeat(one.values, drawn, axis=1)
        if scheme == "mean":
            score = round_scores(repeated.mean(axis=1))
        elif scheme == "rank":
            score = round_scores(-rankdata(-repeated, axis=0).mean(axis=1))
        else:
            first, second = np.triu_indices(4, 1)
            z = ResampledTests(drawn[None].astype(float)).z(rounded_differences(one.values, first, second))[:, 0]
            won = multipletests(norm.sf(np.concatenate([z, -z])), method="holm")[1] < 0.05
            score = np.bincount(np.concatenate([first, second]), weights=won, minlength=4)
        assert found[number].tolist() == rankdata(-score).tolist()


def test_many_resamples_are_tested_in_blocks_that_do_not_show():
    values, weights = random_table(3, 30), draw_subjects(30, 600, seed=0)
    whole = resampled_wins(values, weights)
    apart = np.concatenate([resampled_wins(values, weights[i : i + 7]) for i in range(0, 600, 7)])
    assert (whole == apart).all()


@pytest.mark.parametrize("subjects", [9, 10])
@given(data=st.data(), seed=st.integers(0, 99))
@settings(max_examples=20)
def test_medians_of_resamples(subjects, data, seed):
    values = data.draw(arrays(np.float64, (3, subjects), elements=st.floats(0, 1)))
    weights = draw_subjects(subjects, 10, seed)
    found = resampled_medians(board(values), weights)
    for number, drawn in enumerate(weights.astype(int)):
        wanted = np.median(np.repeat(values, drawn, axis=1), axis=1)
        assert found[number] == pytest.approx(wanted, rel=1e-12, abs=1e-300)


def test_a_shared_first_place_is_split():
    sampled = np.array([[1, 2, 3], [1.5, 1.5, 3], [2, 2, 2], [1, 3, 2], [np.nan] * 3])
    assert standing(sampled).first_share == pytest.approx([(1 + 1 / 2 + 1 / 3 + 1) / 4, (1 / 2 + 1 / 3) / 4, 1 / 12])
    assert np.isnan(standing(sampled[-1:]).first_share).all()
    same = rank_scores(Scores.of([[0.5] * 12] * 4, list("abcd")), resamples=20)
    assert same.overall.first_share.tolist() == [0.25] * 4


def test_shares_ranges_and_ahead_share_by_hand():
    sampled = np.array([[1, 2, 3], [1.5, 1.5, 3], [2, 1, 3], [1, 3, 2], [np.nan] * 3])
    assert standing(sampled).ahead_share[0].tolist() == [0.5, (1 + 0.5 + 0 + 1) / 4, 1.0]
    assert standing(sampled).shares.tolist() == [[0.625, 0.375, 0], [0.375, 0.375, 0.25], [0, 0.25, 0.75]]
    low, high = standing(sampled, level=0.5).resampled_range
    assert low.tolist() == [1, 1, 2]
    assert high.tolist() == [1, 2, 3]


# laws


@given(tables, st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_permuting_algorithms_permutes_everything(values, random):
    names = [f"a{i}" for i in range(len(values))]
    order = list(range(len(values)))
    random.shuffle(order)
    one = rank_scores(Scores.of(values, names), resamples=20)
    other = rank_scores(Scores.of(values[order], [names[i] for i in order]), resamples=20)
    for a, b in zip(one.standings, other.standings, strict=True):
        assert (a.ranks[order] == b.ranks).all()
        assert (a.sampled[:, order] == b.sampled).all()
    assert one.order == other.order
    assert (one.tests[0].p_holm[np.ix_(order, order)] == other.tests[0].p_holm).all()


@given(tables)
@settings(max_examples=25)
def test_turning_values_and_direction_changes_nothing(values):
    names = [f"a{i}" for i in range(len(values))]
    one = rank_scores(Scores.of(values, names, metrics=["m"]), directions={"m": "higher"}, resamples=20)
    other = rank_scores(Scores.of(-values, names, metrics=["m"]), directions={"m": "lower"}, resamples=20)
    for a, b in zip(one.standings, other.standings, strict=True):
        assert (a.ranks == b.ranks).all()
        assert (a.sampled == b.sampled).all()
    assert (one.tests[0].p_value == other.tests[0].p_value).all()


@given(tables, st.integers(0, 4))
@settings(max_examples=25)
def test_who_is_better_in_every_case_is_always_first(values, which):
    which %= len(values)
    values = values * 0.9
    values[which] = values.max(axis=0) + 0.05
    found = rank_scores(Scores.of(values, [f"a{i}" for i in range(len(values))]), resamples=40)
    for scheme in ("mean", "rank"):
        standing = found.find(scheme=scheme)
        assert standing.places[which] == 1
        assert standing.first_share[which] == 1
        assert (np.delete(standing.ahead_share[which], which) == 1).all()


@given(tables)
@settings(max_examples=25)
def test_shares_add_up(values):
    found = rank_scores(Scores.of(values, [f"a{i}" for i in range(len(values))]), resamples=40)
    for standing in found.standings:
        assert standing.shares.sum(axis=1) == pytest.approx(1)
        assert standing.shares.sum(axis=0) == pytest.approx(1)
        assert standing.first_share.sum() == pytest.approx(1)
        assert standing.first_share == pytest.approx(standing.shares[:, 0])
        assert standing.ahead_share + standing.ahead_share.T == pytest.approx(1)
        assert standing.ranks.sum() == len(values) * (len(values) + 1) / 2


def test_the_order_of_equal_cases_does_not_break_a_tie():
    values = [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]
    assert sum(values[0]) != sum(values[1])
    assert rank_scores(Scores.of(values, ["A", "B"])).overall.places.tolist() == [1, 1]
    for scheme in SCHEMES:
        assert scheme_ranks(board(np.array(values)), scheme, np.array([0.1 + 0.2, 0.3])).tolist() == [1.5, 1.5]


def test_ranks_in_cases_are_means_over_each_subject():
    one = board(np.array(SMALL), subjects=["s", "s", "t", "t"])
    assert case_ranks(one).tolist() == [[1.75, 2.5], [2.0, 2.0], [2.25, 1.5]]


# few subjects, many tests, wrong calls


def test_with_few_subjects_nothing_is_tested_or_resampled():
    """Printed before: shares of resamples, p values and groups that "cannot be told apart" of nine subjects."""
    nine, ten = (rank_scores(Scores.of(random_table(3, n), ["A", "B", "C"])) for n in (9, 10))
    assert "at least 10" in nine.overall.refusal.reason
    assert np.isnan(nine.overall.resampled_range).all()
    assert np.isnan(nine.rank_sets()).all()
    assert np.isnan(nine.means[0].low).all()
    assert "9" in nine.means[0].refusal.reason
    assert np.isnan(nine.overall.first_share).all()
    assert np.isnan(nine.overall.shares).all()
    assert np.isnan(nine.overall.ahead_share).all()
    assert code(nine.overall.tau[0]) == "too_few_subjects_to_test"
    assert np.isnan(nine.evidence().p).all()
    assert nine.groups() == ()
    assert sorted(nine.order) == ["A", "B", "C"]
    assert nine.verdict.code == "too_few_subjects"
    assert not ten.overall.refusal
    low, high = ten.overall.resampled_range
    assert (low <= ten.overall.places).all()
    assert (ten.overall.places <= high).all()


def test_so_many_tests_that_they_are_repeated_less_often(monkeypatch):
    import manytruths.evaluation.ranking.standings as stability

    assert resamples_of_tests(20, 500, 5, 1000) == 1000
    monkeypatch.setattr(stability, "TEST_WORK", 1)
    found = rank_scores(Scores.of(random_table(3, 12), ["A", "B", "C"]), resamples=150)
    assert len(found.find(scheme="test").sampled) == 100
    assert len(found.find(scheme="mean").sampled) == 150
    assert any("100 of the 150" in note for note in found.notes)


def test_one_standard_of_few_subjects_forbids_what_is_said_of_all():
    values = np.full((2, 12, 2, 1), np.nan)
    values[:, :, 0, 0] = random_table(2, 12) + np.array([[0.2], [0.0]])
    values[:, :9, 1, 0] = values[:, :9, 0, 0]
    found = rank_scores(Scores.of(values, ["A", "B"], references=["x", "y"]))
    assert found.find(truth="y", metric="dice").refusal
    assert found.overall.refusal
    assert not found.find(truth="x", metric="dice").refusal
    assert found.evidence("x").p[0, 1] < 0.05
    assert np.isnan(found.evidence().p).all()
    assert found.verdict.winner is None
    assert "no winner can be named with 9 cases for dice against y" in found.verdict.sentence


def test_a_resample_without_any_subject_of_a_board_is_counted():
    values = random_table(2, 12)
    one = Board("dice", "x", True, values[:, :1], np.array([0]), *np.zeros((3, 2), int), 0, np.nan)
    weights = draw_subjects(12, 1000, 0)
    for scheme in SCHEMES:
        ranks = resampled_ranks(one, scheme, "mean", weights, 0.05)
        assert np.isnan(ranks).any(axis=1).sum() == (weights[:, 0] == 0).sum() > 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"scheme": "best"}, "scheme"),
        ({"aggregate": "mode"}, "aggregate"),
        ({"resamples": 0}, "resamples"),
        ({"level": 1.0}, "level"),
        ({"alpha": 0.0}, "alpha"),
        ({"seed": -1}, "seed"),
        ({"metrics": ["loss"]}, "loss"),
        ({"metrics": []}, "metric"),
        ({"directions": {"dice": "up"}}, "up"),
        ({"missing": "best"}, "best"),
        ({"missing": float("nan")}, "finite"),
    ],
)
def test_wrong_calls(options, told):
    with pytest.raises(CallError, match=told):
        rank_scores(Scores.of(SMALL, ["A", "B", "C"]), **options)


def test_one_algorithm_is_no_ranking():
    with pytest.raises(InputError, match="only one algorithm, A"):
        rank_scores(Scores.of([[0.9, 0.8]], ["A"]))


def test_there_is_no_ranking_for_what_is_not_there():
    found = rank_scores(Scores.of(SMALL, ["A", "B", "C"]))
    assert found.find("truth", "dice").places.tolist() == found.find().places.tolist()
    with pytest.raises(CallError, match="staple"):
        found.find("staple")


def test_rank_sets_follow_from_the_tests_and_bootstrap_ranges_stand_beside_them():
    step = np.linspace(0.01, 0.05, 12)
    base = 0.9 - 0.3 * np.sin(np.arange(12)) ** 2
    values = [base, base - step * np.where(np.arange(12) % 2, 1, -1) * 0.5, base - 0.2 - step]
    found = rank_scores(Scores.of(values, ["A", "B", "C"]))
    low, high = found.rank_sets()
    assert (low.tolist(), high.tolist()) == ([1, 1, 3], [2, 2, 3])
    table = tabulate_ranking(found).tables["rankings"]
    for i, name in enumerate("ABC"):
        row = next(r for r in table.all("rank", "ranking") if r["algorithm"] == name and r["scheme"] == "mean")
        assert (row.low, row.high) == (low[i], high[i])
        drawn = next(r for r in table.all("resampled_rank", "ranking") if r["algorithm"] == name)
        assert drawn.low <= row.value <= drawn.high
