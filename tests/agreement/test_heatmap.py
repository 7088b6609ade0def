"""Heatmaps: a value per pattern, against what each pixel would say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import manytruths as mt
from manytruths import CallError, LabelError, Labels, common_heatmap, heatmap_score, ranking_heatmap, reason
from manytruths.agreement.heatmap import ranking_values

WORTH = [0, 23, 18, 14, 11, 8, 6, 5, 4, 3, 2]
ranked = arrays(np.uint8, (4, 3, 5), elements=st.integers(0, 10))
binary = arrays(np.uint8, (3, 4, 5), elements=st.integers(0, 1))


def test_yangs_values() -> None:
    assert ranking_values(range(11)).tolist() == WORTH


def test_four_first_and_one_second() -> None:
    table = mt.tally([[1], [1], [1], [1], [2]], labels=range(11))
    assert ranking_heatmap(table).tolist() == [22.0]


@given(ranked)
def test_ranking_heatmap_is_the_mean_over_raters(masks: np.ndarray) -> None:
    table = mt.tally(masks, labels=range(11))
    wanted = [[sum(WORTH[m[y, x]] for m in masks) / 4 for x in range(5)] for y in range(3)]
    assert mt.paint(ranking_heatmap(table), masks, table).tolist() == wanted


@given(ranked)
def test_absent_rater_is_left_out_of_the_mean(masks: np.ndarray) -> None:
    with_absent = mt.tally({"A": masks[0], "B": masks[1], "C": None}, labels=range(11))
    without = mt.tally({"A": masks[0], "B": masks[1]}, labels=range(11))
    assert ranking_heatmap(with_absent).tolist() == ranking_heatmap(without).tolist()


def test_nobody_rated_has_no_value() -> None:
    table = mt.tally({"A": [1, 9], "B": [2, 9]}, void=9, labels=[0, 1, 2])
    assert ranking_heatmap(table)[0] == (23 + 18) / 2
    assert np.isnan(ranking_heatmap(table)[1])


def test_numbers_of_labels_carry_the_rank() -> None:
    labels = Labels((0, 100, 200), numbers=(0, 1, 10))
    assert ranking_heatmap(mt.tally([[100, 200, 0]], labels=labels)).tolist() == [0, 23, 2]


def test_rank_beyond_the_largest_is_named() -> None:
    with pytest.raises(LabelError, match=r"rank 11 .* 1 to 10"):
        ranking_heatmap(mt.tally([[0, 11]]))
    assert ranking_values([11], a=0.77, b=16, largest=11).tolist() == [4]


def test_rank_zero_for_a_marked_label_is_refused() -> None:
    with pytest.raises(LabelError, match="rank 0"):
        ranking_heatmap(mt.tally([[0, 1]], labels=Labels((0, 1), numbers=(0, 0))))


@pytest.mark.parametrize(("a", "b", "largest"), [(0.77, 13, 11), (0.77, 3, 10), (1.0, 13, 2), (-1, 13, 3), (0.5, 5, 0)])
def test_values_stay_distinct_and_positive(a: float, b: float, largest: int) -> None:
    with pytest.raises(CallError):
        ranking_values([1], a, b, largest)


def test_halves_round_up() -> None:
    assert ranking_values([1, 2], a=1 / 5, b=2, largest=2).tolist() == [5, 1]
    assert ranking_values([1], a=2.5, b=0, largest=1).tolist() == [3]


@given(binary)
def test_score_is_the_mean_of_the_normalised_map_in_the_union(masks: np.ndarray) -> None:
    table = mt.tally(masks, labels=[0, 1])
    assert (mt.paint(common_heatmap(table), masks, table) == masks.sum(axis=0)).all()
    heat = masks.sum(axis=0).astype(float)
    score = heatmap_score(table)
    if not masks.any():
        assert reason(score) == "nobody marked anything"
        return
    # unmarked is 0, whether any item is or not
    around = np.append(heat.ravel(), 0)
    wanted = ((around - around.min()) / (around.max() - around.min()))[around > 0].mean()
    assert score == pytest.approx(wanted, abs=1e-12)
    assert heatmap_score(table.restrict("union")) == pytest.approx(wanted, abs=1e-12)


def test_score_wants_a_value_per_pattern() -> None:
    with pytest.raises(CallError, match="3 in all"):
        heatmap_score(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}), [1, 2])
