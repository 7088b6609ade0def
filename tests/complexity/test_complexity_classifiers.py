"""Classifiers of cases: what they learn, how ties fall, text there and back."""

from __future__ import annotations

import importlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manytruths import (
    CallError,
    Complexity,
    GroupClassifier,
    InputError,
    ThresholdClassifier,
    Undefined,
    fit_complexity_groups,
    fit_complexity_threshold,
)
from manytruths.complexity.classifiers import CHANCE, OTHER_SHAPE, k_means

NOTHING = Undefined("no_item_marked_twice")
APART = Complexity(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, raters=2, items=8)


def case(entropy: float, mean: float, raters: int = 2) -> Complexity:
    return Complexity(entropy, 0.1, mean, entropy / mean**2, 0.1 / mean**2, raters, items=100)


def planted(seed: int, each: int = 40) -> tuple[list[Complexity], list[str]]:
    """Gordon's three groups, and whose each case is."""
    random = np.random.default_rng(seed)
    centres = {"A": (0.3, 0.55), "B": (0.25, 0.93), "C": (0.95, 0.75)}
    names = [name for name in centres for _ in range(each)]
    return [case(*(np.array(centres[n]) + random.normal(0, (0.06, 0.03)))) for n in names], names


# -- threshold -----------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=2, max_size=30).filter(
        lambda pairs: len({h for _, h in pairs}) == 2 and len({v for v, _ in pairs}) > 1
    )
)
def test_no_other_threshold_is_better(pairs: list[tuple[int, bool]]) -> None:
    values, hard = np.array([v for v, _ in pairs], float), np.array([h for _, h in pairs])
    found = fit_complexity_threshold(values.tolist(), hard.tolist())

    def balanced(cut: float) -> float:
        return ((values[hard] > cut).mean() + (values[~hard] <= cut).mean()) / 2

    assert found.balanced_accuracy == pytest.approx(balanced(found.threshold))
    inner = [cut + 0.5 for cut in range(12) if values.min() < cut + 0.5 < values.max()]
    assert found.balanced_accuracy == pytest.approx(max(map(balanced, inner)))
    said = [found.classify(v) == "hard" for v in values.tolist()]
    assert (np.array(said)[hard].mean(), 1 - np.array(said)[~hard].mean()) == (
        pytest.approx(found.sensitivity),
        pytest.approx(found.specificity),
    )


def test_ties_go_to_the_widest_gap_then_to_more_hard_cases() -> None:
    # 1.5 and 5 miss one of two hard or of two easy cases each
    assert fit_complexity_threshold([1, 2, 3, 7], [False, True, False, True]).threshold == 5
    assert fit_complexity_threshold([1, 2, 3, 4], [False, True, False, True]).threshold == 1.5


def test_a_high_mean_is_easy() -> None:
    found = fit_complexity_threshold([0.9, 0.8, 0.5, 0.4], [False, False, True, True], "mean")
    assert found.threshold == pytest.approx(0.65)
    assert (found.classify(0.3), found.classify(0.95), found.balanced_accuracy) == ("hard", "easy", 1)


def test_values_next_to_each_other_are_parted() -> None:
    low = 0.1
    high = np.nextafter(low, 1)
    found = fit_complexity_threshold([low, high], [False, True])
    assert (found.classify(low), found.classify(high)) == ("easy", "hard")


def test_from_cases_and_undefined_ones_are_left_out() -> None:
    cases = [case(0.2, 0.9), case(0.3, 0.9), APART, case(0.9, 0.6), case(1.0, 0.7, raters=5)]
    found = fit_complexity_threshold(cases, [False, False, True, True, True])
    assert (found.hard, found.easy, found.left_out, found.balanced_accuracy) == (2, 2, 1, 1)
    assert "2 to 5 raters" in found.note
    assert [found.classify(c) for c in cases] == ["easy", "easy", "undefined", "hard", "hard"]
    assert fit_complexity_threshold(cases, [0, 0, 0, 1, 1], "ssm").statistic == "ssm"


def test_a_threshold_that_knows_nothing_says_so() -> None:
    assert fit_complexity_threshold([1, 2], [True, False]).note == CHANCE


def test_thresholds_that_cannot_be_learned() -> None:
    with pytest.raises(CallError, match="3 values and 2 of hard"):
        fit_complexity_threshold([1, 2, 3], [True, False])
    with pytest.raises(CallError, match="statistic is one of"):
        fit_complexity_threshold([1, 2], [True, False], "kappa")
    with pytest.raises(CallError, match="True and False"):
        fit_complexity_threshold([1, 2], ["hard", "easy"])  # type: ignore[list-item]
    with pytest.raises(InputError, match="2 hard, 0 easy"):
        fit_complexity_threshold([1, 2], [True, True])
    with pytest.raises(InputError, match="0 hard, 1 easy"):
        fit_complexity_threshold([APART, case(0.1, 0.9)], [True, False])
    with pytest.raises(InputError, match="every case has esm 1"):
        fit_complexity_threshold([1, 1], [True, False])


# -- groups --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_planted_groups_are_found_and_named(seed: int) -> None:
    cases, names = planted(seed)
    found = fit_complexity_groups(cases, seed=seed)
    assert [found.classify(c) for c in cases] == names
    assert (found.names, found.sizes, found.note) == (("A", "B", "C"), (40, 40, 40), "")
    assert found.centres[1] == pytest.approx((0.25, 0.93), abs=0.05)
    assert found.explained > 0.9


def test_neither_order_nor_scale_nor_chance_matters() -> None:
    cases, names = planted(7)
    order = np.random.default_rng(0).permutation(len(cases))
    found = fit_complexity_groups(cases)
    assert fit_complexity_groups([cases[i] for i in order]) == found
    assert fit_complexity_groups(cases) == found
    stretched = [case(1000 * c.entropy, c.mean) for c in cases]
    assert [fit_complexity_groups(stretched).classify(c) for c in stretched] == names


def test_as_good_as_scikit_learn() -> None:
    cluster = importlib.import_module("sklearn.cluster")
    points = np.random.default_rng(3).normal(size=(150, 2))
    for k in (2, 3, 5):
        peer = cluster.KMeans(k, n_init=20, random_state=0).fit(points)
        assert k_means(points, k, seed=0).within <= peer.inertia_ * (1 + 1e-3)


def test_more_or_fewer_groups() -> None:
    cases, _ = planted(1)
    assert fit_complexity_groups(cases, k=2).names == ("A", "B")
    five = fit_complexity_groups(cases, k=5)
    means = dict(zip(five.names, (mean for _, mean in five.centres), strict=True))
    assert sorted(means, key=means.__getitem__) == ["A", "C", "D", "E", "B"]
    assert sum(five.sizes) == len(cases)


def test_as_many_groups_as_cases() -> None:
    found = fit_complexity_groups([case(0.1, 0.9), case(0.5, 0.7), case(0.2, 0.5)])
    assert (found.sizes, found.explained) == ((1, 1, 1), 1)


def test_an_axis_without_spread() -> None:
    cases = [case(0, mean) for mean in (0.4, 0.41, 0.7, 0.71, 0.99, 1.0)]
    found = fit_complexity_groups(cases)
    assert [found.classify(c) for c in cases] == list("AACCBB")


def test_undefined_cases_and_notes() -> None:
    cases, _ = planted(2)
    found = fit_complexity_groups([*cases, APART, case(0.3, 0.55, raters=4)])
    assert found.left_out == 1
    assert found.classify(APART) == "undefined"
    assert "2 to 4 raters" in found.note
    line = [case(e, 1 - e / 2) for e in (0.1, 0.12, 0.5, 0.52, 0.9, 0.92)]
    assert fit_complexity_groups(line).note == OTHER_SHAPE


def test_groups_that_cannot_be_fitted() -> None:
    for k in (0, 1, 27):
        with pytest.raises(CallError, match="2 to 26"):
            fit_complexity_groups([], k=k)
    with pytest.raises(InputError, match="there are 2"):
        fit_complexity_groups([case(0.1, 0.9), case(0.1, 0.9), case(0.2, 0.9), APART])
    with pytest.raises(InputError, match="there are 0"):
        fit_complexity_groups([])


# -- text ----------------------------------------------------------------------------------------


def test_there_and_back() -> None:
    cases, _ = planted(3)
    groups, threshold = fit_complexity_groups(cases), fit_complexity_threshold([0.1, 0.3, 1 / 3], [False, False, True])
    assert GroupClassifier.from_json(groups.to_json()) == groups
    assert ThresholdClassifier.from_json(threshold.to_json()) == threshold
    assert json.loads(groups.to_json())["manytruths"] == "group classifier"


def test_text_that_is_something_else() -> None:
    threshold = fit_complexity_threshold([0.1, 0.3], [False, True]).to_json()
    with pytest.raises(InputError, match="got threshold classifier"):
        GroupClassifier.from_json(threshold)
    with pytest.raises(InputError, match="not JSON"):
        ThresholdClassifier.from_json("threshold = 1")
    with pytest.raises(InputError, match="got list"):
        ThresholdClassifier.from_json("[1]")
    with pytest.raises(InputError, match="version 2"):
        ThresholdClassifier.from_json(threshold.replace('"version": 1', '"version": 2'))
    with pytest.raises(InputError, match=r"damaged.*threshold"):
        ThresholdClassifier.from_json(threshold.replace('"threshold": 0.2', '"threshold": "high"'))
    with pytest.raises(InputError, match="statistic is one of"):
        ThresholdClassifier.from_json(threshold.replace('"esm"', '"kappa"'))
    held = json.loads(fit_complexity_groups(planted(0)[0]).to_json())
    with pytest.raises(InputError, match="a name, a centre and a size"):
        GroupClassifier.from_json(json.dumps({**held, "sizes": [1, 2]}))
