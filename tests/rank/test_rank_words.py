"""Who wins, who cannot be told apart, and what depends on the truth."""

from __future__ import annotations

import numpy as np
import pytest

from manytruths import Scores, Undefined, rank_scores
from manytruths.analyses.rank.rank import _notes_without_references
from manytruths.evaluation.ranking.ranking import Evidence, Ranking, find_groups, find_verdict

NAMES = ("a", "b", "c", "d")


def evidence(p, ranks=(1.0, 2.0, 3.0, 4.0), least=(1.0, 0.0, 0.0, 0.0), refusal=None, ahead=0.71) -> Evidence:
    table = np.array(p, float)
    ahead = np.full(table.shape, ahead)
    where = np.full(table.shape, "", object)
    return Evidence(NAMES[: len(table)], np.array(ranks), table, where, ahead, np.array(least), 0.05, refusal)


def upper(values) -> np.ndarray:
    """p of the better against the worse, row by row; 1 the other way."""
    table = np.ones((4, 4))
    table[np.triu_indices(4, 1)] = values
    return table


def test_groups_are_the_longest_runs_in_which_nobody_is_told_apart():
    # a–b and b–c and c–d are not told apart; a–c, a–d, b–d are
    found = find_groups(evidence(upper([0.5, 0.01, 0.01, 0.5, 0.01, 0.5])))
    assert [g.algorithms for g in found] == [("a", "b"), ("b", "c"), ("c", "d")]
    assert str(found[0]) == "a and b cannot be told apart"
    assert find_groups(evidence(upper([0.01] * 6))) == ()
    assert [g.algorithms for g in find_groups(evidence(upper([0.5] * 6)))] == [NAMES]
    assert [g.algorithms for g in find_groups(evidence(upper([0.01, 0.01, 0.01, 0.5, 0.5, 0.5])))] == [("b", "c", "d")]


def test_a_test_against_the_order_tells_apart_too():
    table = upper([1.0] * 6)
    table[1, 0] = 0.01
    assert [g.algorithms for g in find_groups(evidence(table))] == [("b", "c", "d")]
    assert "the test has a better one, b" in find_verdict(evidence(table)).sentence


def test_a_winner_is_better_than_every_other_and_first_nearly_always():
    sure = find_verdict(evidence(upper([0.01, 0.01, 0.0001, 0.5, 0.5, 0.5])))
    assert sure.winner == "a"
    assert sure.sentence.startswith("a is better than every other algorithm, such as b (Holm p = 0.010")
    third = find_verdict(evidence(upper([0.01, 0.21, 0.01, 0.5, 0.5, 0.5])))
    assert third.winner is None
    assert third.sentence == (
        "a is first, but not significantly better than c (Holm p = 0.21; a ahead in 71% of resamples): "
        "no winner is declared."
    )
    assert third.code == "no_winner"
    assert find_verdict(evidence(upper([0.01] * 6), least=(0.94, 0, 0, 0))).winner is None
    assert find_verdict(evidence(upper([0.01] * 6), least=(0.95, 0, 0, 0))).winner == "a"
    assert "only 94%" in find_verdict(evidence(upper([0.01] * 6), least=(0.94, 0, 0, 0))).sentence
    few = find_verdict(evidence(upper([0.01] * 6), refusal=Undefined("too_few_subjects")))
    assert (few.winner, few.code) == (None, "too_few_subjects")
    assert few.sentence == "a is first, but no winner can be named from so few subjects: not tested, it takes 10."
    assert find_groups(evidence(upper([0.5] * 6), refusal=Undefined("too_few_subjects"))) == ()
    shared = find_verdict(evidence(upper([0.01] * 6), ranks=(1.5, 1.5, 3.0, 4.0)))
    assert shared.winner is None
    assert shared.sentence == "a and b share the first place: no winner is declared."
    many = find_verdict(evidence(upper([0.5] * 6)))
    assert many.sentence.count("Holm") == 3


@pytest.mark.parametrize(("share", "shown"), [(0.997, "> 99%"), (1.0, "100%"), (0.714, "71%"), (0.002, "< 1%")])
def test_a_share_of_resamples_is_100_percent_only_where_it_is_all_of_them(share, shown):
    """Printed before: "net ahead in 100% of resamples" where it was ahead in 997 of 1000."""
    assert f"a ahead in {shown} of resamples" in find_verdict(evidence(upper([0.5] * 6), ahead=share)).sentence


def test_a_share_just_below_the_limit_is_not_rounded_to_it():
    rarely = find_verdict(evidence(upper([0.01] * 6), least=(0.949, 0, 0, 0)))
    assert "first in only 94% of the resamples" in rarely.sentence


def opposite() -> Ranking:
    """Net is better under x and y, wide under z."""
    rng = np.random.default_rng(0)
    values = 0.8 + rng.normal(0, 0.01, (2, 20, 3, 1))
    values[0, :, :2] += 0.05
    values[1, :, 2] += 0.05
    return rank_scores(Scores.of(values, ["net", "wide"], references=["x", "y", "z"]))


def test_opposite_tests_under_two_standards_do_not_make_two_algorithms_alike():
    """Printed before: "net and wide cannot be told apart", though each was significantly better under some."""
    found = opposite()
    words = (
        "net and wide: neither is significantly better under every reference standard (net under 2 of 3, wide under 1)"
    )
    assert [str(group) for group in found.groups()] == [words]
    assert "cannot be told apart" not in found.verdict.sentence
    assert (
        "By the mean of ranks by dice over 3 reference standards, net is first, but not significantly better under "
        "every reference standard than wide (significantly better under 2 of 3, worse under 1; largest Holm p = 1.00, "
        "dice against z;"
    ) in found.verdict.sentence
    assert found.groups("x") == ()


def test_the_same_words_of_several_metrics_and_of_more_algorithms():
    values = np.tile(np.random.default_rng(0).random((3, 12, 1, 1)), (1, 1, 2, 2))
    found = rank_scores(Scores.of(values, list("abc"), references=["x", "y"], metrics=["dice", "iou"]))
    assert str(found.basis()) == "the mean of ranks over 2 metrics and 2 reference standards (1 distinct)"
    assert "none is significantly better than another under every metric and reference standard" in str(
        found.groups()[0]
    )
    one = rank_scores(Scores.of(values[:2, :, :1], list("ab"), references=["x"], metrics=["dice", "iou"]))
    assert str(one.basis()) == "the mean of ranks over 2 metrics against x"
    assert "neither is significantly better under both metrics (a under 0 of 2, b under 0)" in str(one.groups()[0])


def test_standards_with_the_same_scores_are_named():
    """Before, a copy of a rater counted as a reference standard of its own."""
    values = np.random.default_rng(0).random((2, 12, 3, 2))
    values[:, :, 2] = values[:, :, 0]
    found = rank_scores(Scores.of(values, ["a", "b"], references=["A", "B", "copy"], metrics=["dice", "soft_accuracy"]))
    assert found.same == (("A", "copy"),)
    assert found.basis().distinct == 2
    values[0, 0, 2, 1] += 0.1
    table = Scores.of(values, ["a", "b"], references=["A", "B", "copy"], metrics=["dice", "soft_accuracy"])
    assert rank_scores(table, metrics=["dice"]).same == (("A", "copy"),)
    assert rank_scores(table, metrics=["soft_accuracy"]).same == ()
    values[0, 0, 2, 0] += 0.1
    assert rank_scores(Scores.of(values, ["a", "b"], references=["A", "B", "copy"], metrics=["dice", "iou"])).same == ()


def clear(subjects: int = 30) -> np.ndarray:
    """Three algorithms, .1 apart, under two truths."""
    rng = np.random.default_rng(0)
    return 0.8 - 0.1 * np.arange(3)[:, None, None, None] + rng.normal(0, 0.02, (3, subjects, 2, 1))


def test_a_clear_winner():
    found = rank_scores(Scores.of(clear(), ["unet", "vnet", "net"], references=["x", "y"]))
    assert found.verdict.winner == "unet"
    assert found.groups() == ()
    assert found.order == ("unet", "vnet", "net")
    assert repr(found).startswith("Ranking(1. unet, 2. vnet, 3. net; by mean")


def test_a_winner_must_win_under_every_truth():
    values = clear()
    values[0, :, 1], values[1, :, 1] = clear()[1, :, 1], clear()[0, :, 1]
    values[0, :, 0] += 0.01
    found = rank_scores(Scores.of(values, ["unet", "vnet", "net"], references=["x", "y"]))
    assert found.verdict.winner is None
    assert found.evidence("x").p[0, 1] < 0.05 < found.evidence().p[0, 1]
    assert found.evidence().where[0, 1] == "dice against y"
    assert (found.find("x").first_share[0], found.find("y").first_share[0]) == (1, 0)
    assert found.evidence().least_first.tolist() == [0, 0, 0]
    assert found.evidence("x").least_first.tolist() == [1, 0, 0]
    assert [g.algorithms for g in found.groups()] == [("unet", "vnet")]
    assert found.groups("x") == ()
    assert [(d.ranking, d.references) for d in found.distinct()] == [
        ("unet > vnet > net", ("x",)),
        ("vnet > unet > net", ("y",)),
    ]
    changed = {one.truth: (one.changed, one.first_changed) for one in found.without_truth}
    assert changed == {"x": (True, True), "y": (True, True)}
    assert [t.value for t in found.taus if t.between == "truths" and t.scheme == "mean"] == [pytest.approx(1 / 3)]


def test_each_reference_without_which_the_order_changes_is_meant_alone():
    values = clear()
    values[0, :, 1], values[1, :, 1] = clear()[1, :, 1], clear()[0, :, 1]
    values[0, :, 0] += 0.01
    found = rank_scores(Scores.of(values, ["unet", "vnet", "net"], references=["x", "y"]))
    first, *others = _notes_without_references(found)
    assert first == "the overall ranking changes where any one of x and y is left out"
    assert [note.partition(":")[0] for note in others] == ["without x", "without y"]


def test_leaving_out_a_truth_that_agrees_changes_nothing():
    found = rank_scores(Scores.of(clear(), ["unet", "vnet", "net"], references=["x", "y"]))
    assert [one.changed for one in found.without_truth] == [False, False]
    assert rank_scores(Scores.of(clear()[:, :, :1], ["unet", "vnet", "net"])).without_truth == ()


def test_taus_between_schemes_truths_and_metrics():
    rng = np.random.default_rng(1)
    values = rng.random((4, 12, 3, 2))
    found = rank_scores(Scores.of(values, list("abcd"), references=list("xyz"), metrics=["dice", "iou"]), resamples=50)
    count = {kind: sum(t.between == kind for t in found.taus) for kind in ("schemes", "truths", "metrics")}
    # 6 boards + 3 truths + 2 metrics + 1 in all; for truths 2 metrics + all metrics; for metrics 3 truths + all truths
    assert count == {"schemes": 3 * 12, "truths": 3 * 3 * 3, "metrics": 3 * 4}
    from scipy.stats import kendalltau

    for tau in found.taus:
        if tau.between == "truths":
            a, b = (found.find(truth, tau.metric, tau.scheme).ranks for truth in (tau.first, tau.second))
            assert tau.value == pytest.approx(kendalltau(a, b).statistic, nan_ok=True)


def test_seeds():
    rng = np.random.default_rng(1)
    table = Scores.of(rng.random((4, 12)), list("abcd"))
    one, same, other = (rank_scores(table, seed=seed) for seed in (0, 0, 1))
    assert (one.overall.shares == same.overall.shares).all()
    assert (one.overall.shares != other.overall.shares).any()
    assert (one.overall.ranks == other.overall.ranks).all()
