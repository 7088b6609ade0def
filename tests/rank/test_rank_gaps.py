"""Missing and undefined scores: what they count, and that they never help; directions and bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from manytruths import CallError, InputError, Scores, rank_scores
from manytruths.evaluation.ranking.missing_scores import make_boards
from manytruths.evaluation.ranking.scores import (
    BOTH_EMPTY,
    MISSING,
    PRESENT,
    UNDEFINED,
    best_value,
    direction,
    worst_value,
)

NAN = float("nan")


def scores(values, gaps, metrics=("dice",), algorithms=("A", "B")) -> Scores:
    """Of algorithms × cases × metrics against one truth."""
    whole = np.array(values, float).reshape(len(algorithms), -1, 1, len(metrics))
    kinds = np.array(gaps, np.uint8).reshape(whole.shape)
    whole[kinds != PRESENT] = np.nan
    cases = tuple(f"p{i}" for i in range(whole.shape[1]))
    return Scores(tuple(algorithms), cases, cases, ("staple",), tuple(metrics), whole, kinds)


def test_a_gap_counts_as_the_worst_bound():
    table = scores([[0.9, 0, 0.8, 0], [0.5, 0.5, 0.5, 0.5]], [[0, MISSING, 0, UNDEFINED], [0] * 4])
    found = make_boards(table, ["dice"])[0]
    assert found.values.tolist() == [[0.9, 0, 0.8, 0], [0.5] * 4]
    assert (found.missing.tolist(), found.undefined.tolist(), found.both_empty.tolist()) == ([1, 0], [1, 0], [0, 0])
    assert found.fill == 0
    assert rank_scores(table).order == ("B", "A")


def test_a_distance_has_no_bound_so_the_worst_of_the_whole_table_counts():
    values = np.array([[[1.0, 2.0], [NAN, 3.0]], [[4.0, 99.0], [5.0, 6.0]]])[..., None]
    table = Scores.of(values, ["A", "B"], references=["x", "y"], metrics=["hausdorff_95"])
    found = make_boards(table, ["hausdorff_95"])
    assert found[0].values.tolist() == [[1.0, 99.0], [4.0, 5.0]]
    assert found[0].fill == 99
    assert np.isnan(found[1].fill)
    assert "leaving out the hardest case can pay: give a column diagonal in --cases, or --missing" in found[0].notes[0]
    assert not found[1].notes


DISTANCES = ["hausdorff", "hausdorff_95", "mean_surface_distance", "hd", "HD95", "assd", "asd", "masd", "msd [tumour]"]


@pytest.mark.parametrize("metric", DISTANCES)
def test_a_missing_distance_counts_as_the_diagonal_of_its_image(metric):
    values = [[1.0, NAN, NAN, 2.0], [4.0, 5.0, 6.0, 7.0]]
    table = Scores.of(values, ["A", "B"], metrics=[metric], diagonals=[100, 200, NAN, 400])
    found = make_boards(table, [metric])[0]
    assert found.values[0].tolist() == [1.0, 200.0, 7.0, 2.0]
    assert (found.by_diagonal, found.fill) == (True, 7.0)
    assert "can pay" in found.notes[0]
    known = make_boards(Scores.of(values, ["A", "B"], metrics=[metric], diagonals=[100, 200, 300, 400]), [metric])[0]
    assert known.values[0].tolist() == [1.0, 200.0, 300.0, 2.0]
    assert known.by_diagonal
    assert np.isnan(known.fill)
    assert not known.notes
    assert make_boards(table, [metric], 50.0)[0].values[0].tolist() == [1.0, 50.0, 50.0, 2.0]
    assert not make_boards(table, [metric], 50.0)[0].by_diagonal
    assert make_boards(table, [metric], "exclude")[0].values[0].tolist() == [1.0, 2.0]


def test_other_errors_have_no_diagonal():
    table = Scores.of([[1.0, NAN], [4.0, 5.0]], ["A", "B"], metrics=["mae"], diagonals=[100, 200])
    found = make_boards(table, ["mae"])[0]
    assert found.values[0].tolist() == [1.0, 5.0]
    assert found.notes[0].endswith("can pay: give --missing VALUE")


def test_a_gap_is_never_better_than_a_distance_that_is_longer_than_the_diagonal():
    table = Scores.of([[1.0, NAN], [4.0, 50.0]], ["A", "B"], metrics=["hd"], diagonals=[10, 20])
    found = make_boards(table, ["hd"])[0]
    assert found.values[0].tolist() == [1.0, 50.0]
    assert "longer than the diagonal" in found.notes[0]


@given(st.data())
@settings(max_examples=60)
def test_leaving_out_a_distance_never_helps_where_diagonals_are_known(data):
    elements = st.integers(0, 20).map(float)
    values = data.draw(arrays(np.float64, st.tuples(st.integers(2, 4), st.integers(2, 6)), elements=elements))
    who, which = (data.draw(st.integers(0, n - 1)) for n in values.shape)
    names, lengths = [f"a{i}" for i in range(len(values))], [20.0 + i for i in range(values.shape[1])]
    dropped = values.copy()
    dropped[who, which] = np.nan
    before, after = (
        rank_scores(Scores.of(v, names, metrics=["hd"], diagonals=lengths), resamples=1) for v in (values, dropped)
    )
    assert after.find().places[who] >= before.find().places[who]


@pytest.mark.parametrize(("metric", "bound"), [("cohen_kappa", 0.0), ("fpr", 1.0), ("volume_difference", 2.0)])
def test_bounds_of_other_metrics(metric, bound):
    table = scores([[0.5, 0], [0.4, 0.4]], [[0, MISSING], [0, 0]], [metric])
    assert make_boards(table, [metric])[0].values[0, 1] == bound
    assert not make_boards(table, [metric])[0].notes


@pytest.mark.parametrize("metric", ["cohen_kappa", "kappa", "mcc", "matthews_correlation", "cco", "cci"])
def test_a_missing_prediction_is_no_worse_than_an_empty_one_unless_somebody_was(metric):
    """Kappa of an empty mask is 0; where somebody is below, a gap is not better than that, and 1 is still the best."""
    table = scores([[0.5, 0, 0], [0.4, -0.2, 0.3]], [[0, MISSING, BOTH_EMPTY], [0, 0, 0]], [metric])
    found = make_boards(table, [metric])[0]
    assert found.values[0].tolist() == [0.5, -0.2, 1.0]
    assert f"{metric} has values worse than 0" in found.notes[0]


def test_values_beyond_the_bounds_make_the_table_the_judge():
    table = scores([[90.0, 0], [80.0, 70.0]], [[0, MISSING], [0, 0]])
    found = make_boards(table, ["dice"])[0]
    assert found.values[0].tolist() == [90.0, 70.0]
    assert "beyond its bounds" in found.notes[0]
    assert not make_boards(scores([[1.0 + 1e-12, 0], [0, 0.5]], [[0, MISSING], [0, 0]]), ["dice"])[0].notes
    empty = make_boards(scores([[90.0, 0], [80.0, 70.0]], [[0, BOTH_EMPTY], [0, 0]]), ["dice"], 0.0)[0]
    assert empty.values[0].tolist() == [90.0, 90.0]
    assert "both left empty as the best" in empty.notes[0]


def test_a_number_counts_as_given():
    table = scores([[0.9, 0], [0.5, 0.5]], [[0, MISSING], [0, 0]])
    assert make_boards(table, ["dice"], 0.3)[0].values[0].tolist() == [0.9, 0.3]
    two = scores([[[0.9, 1], [0.9, 1]], [[0.5, 2], [0.5, 2]]], np.zeros((2, 2, 2)), ["dice", "hd95"])
    with pytest.raises(CallError, match="hd95"):
        make_boards(two, ["dice", "hd95"], 0.0)
    assert len(make_boards(two, ["dice"], 0.0)) == 1


def test_exclude_keeps_only_cases_of_everybody():
    gaps = [[0, MISSING, 0, 0], [0, 0, UNDEFINED, BOTH_EMPTY]]
    found = make_boards(scores([[0.9] * 4, [0.5, 0.6, 0.7, 0.8]], gaps), ["dice"], "exclude")[0]
    assert found.values.tolist() == [[0.9], [0.5]]
    assert found.left_out == 3
    assert np.isnan(found.fill)
    assert (found.missing.tolist(), found.undefined.tolist(), found.both_empty.tolist()) == ([1, 0], [0, 1], [0, 1])
    with pytest.raises(InputError, match="dice against staple: no case"):
        make_boards(scores([[0.9, 0], [0, 0.5]], [[0, MISSING], [MISSING, 0]]), ["dice"], "exclude")


def test_nothing_there_and_nothing_found_is_the_best():
    table = scores([[0, 0.5], [0.0, 0.5]], [[BOTH_EMPTY, 0], [0, 0]])
    found = make_boards(table, ["dice"])[0]
    assert found.values.tolist() == [[1.0, 0.5], [0.0, 0.5]]
    assert found.both_empty.tolist() == [1, 0]
    distance = scores([[0, 0], [7.0, 4.0]], [[BOTH_EMPTY, UNDEFINED], [0, 0]], ["hausdorff"])
    assert make_boards(distance, ["hausdorff"])[0].values[0].tolist() == [0.0, 7.0]


def test_without_any_bound_the_best_and_worst_of_the_table_count():
    table = scores([[0, 0], [7.0, 4.0]], [[BOTH_EMPTY, UNDEFINED], [0, 0]], ["loss"])
    assert make_boards(table, ["loss"], given={"loss": "lower"})[0].values[0].tolist() == [4.0, 7.0]
    assert make_boards(table, ["loss"], given={"loss": "higher"})[0].values[0].tolist() == [7.0, 4.0]


def test_one_metric_tells_the_others_that_both_marked_nothing():
    """PPV of an empty prediction is undefined; where nothing was there either, that is no fault."""
    gaps = [[[BOTH_EMPTY, UNDEFINED], [0, UNDEFINED]], [[0, 0], [0, 0]]]
    values = [[[0, 0], [0.0, 0]], [[0.0, 0.0], [0.7, 0.8]]]
    found = make_boards(scores(values, gaps, ["dice", "ppv"]), ["ppv"])[0]
    assert found.values[0].tolist() == [1.0, 0.0]
    assert (found.both_empty.tolist(), found.undefined.tolist()) == ([1, 0], [1, 0])


def test_what_is_undefined_for_everybody_is_left_out():
    table = scores([[0, 0.5], [0, 0.7]], [[UNDEFINED, 0], [MISSING, 0]], ["sensitivity"])
    found = make_boards(table, ["sensitivity"])[0]
    assert found.values.tolist() == [[0.5], [0.7]]
    assert found.left_out == 1
    assert found.missing.tolist() == [0, 0]


def test_cases_that_a_truth_does_not_have_are_not_missing():
    values = np.full((2, 3, 2, 1), 0.5)
    values[:, 1:, 1] = np.nan
    found = make_boards(Scores.of(values, ["A", "B"], references=["x", "y"]), ["dice"])
    assert [b.values.shape[1] for b in found] == [3, 1]
    assert found[1].missing.tolist() == [0, 0]


def test_a_truth_under_which_only_one_is_scored_is_no_ranking():
    values = np.full((2, 3, 2, 1), 0.5)
    values[1, :, 1] = np.nan
    found = rank_scores(Scores.of(values, ["A", "B"], references=["x", "without B"]))
    assert found.references == ("x",)
    with pytest.raises(InputError, match="no two algorithms"):
        rank_scores(Scores.of(values[:, :, 1:], ["A", "B"]))


unit = arrays(
    np.float64, st.tuples(st.integers(2, 4), st.integers(2, 8)), elements=st.integers(0, 10).map(lambda n: n / 10)
)


@given(unit, st.data())
@settings(max_examples=60)
def test_dropping_a_case_never_helps(values, data):
    """With the bound known, and whatever subject the case is of."""
    who = data.draw(st.integers(0, len(values) - 1))
    which = data.draw(st.integers(0, values.shape[1] - 1))
    subjects = data.draw(st.lists(st.sampled_from("stu"), min_size=values.shape[1], max_size=values.shape[1]))
    names = [f"a{i}" for i in range(len(values))]
    before = rank_scores(Scores.of(values, names, subjects=subjects), resamples=1)
    dropped = values.copy()
    dropped[who, which] = np.nan
    after = rank_scores(Scores.of(dropped, names, subjects=subjects), resamples=1)
    assert after.find().places[who] >= before.find().places[who]
    assert after.boards[0].missing[who] == 1


def test_means_by_truth_are_those_by_which_rank_ranks():
    rng = np.random.default_rng(0)
    values = rng.random((4, 12, 3, 2)) * [1, 30]
    values[rng.random(values.shape) < 0.2] = np.nan
    values[1:, :, 2] = np.nan
    subjects = [f"s{i // 2}" for i in range(12)]
    table = Scores.of(
        values, list("ABCD"), subjects=subjects, references=list("xyz"), metrics=["dice", "hd"], diagonals=[40.0] * 12
    )  # fmt: skip
    for missing in ("worst", "exclude"):
        try:
            found = {(b.metric, b.truth): b.means for b in make_boards(table, ["dice", "hd"], missing)}
        except InputError:
            with pytest.raises(InputError):
                rank_scores(table, missing=missing, resamples=1)
            continue
        ranking = rank_scores(table, missing=missing, resamples=1)
        assert set(found) == {(m, t) for m in ("dice", "hd") for t in "xy"}
        for (metric, truth), means in found.items():
            standing = ranking.find(truth, metric, "mean")
            assert standing.score.tolist() == means.tolist()
            assert (np.argsort(means if metric == "hd" else -means) == np.argsort(standing.ranks)).all()
    by_hand = np.where(np.isnan(values[0, :, 0, 1]), 40.0, values[0, :, 0, 1]).reshape(6, 2).mean(axis=1).mean()
    assert make_boards(table.select(references=["x"]), ["hd"])[0].means[0] == pytest.approx(by_hand)
    with pytest.raises(InputError, match="no two algorithms have a value of dice"):
        make_boards(table.select(references=["z"]), ["dice"])


def test_directions_and_bounds():
    assert direction("Surface-Dice") == direction("surface dice") == direction("surface_dice [tumour]") == "higher"
    assert direction("HD95") == direction("Mean Surface Distance") == "lower"
    assert direction("dice", {"dice": "lower"}) == "lower"
    assert direction("my loss [a]", {"My-Loss": "lower"}) == "lower"
    assert (worst_value("IoU"), best_value("IoU")) == (0, 1)
    assert (worst_value("hd"), best_value("hd")) == (None, 0)
    assert (worst_value("anything"), best_value("anything")) == (None, None)
    with pytest.raises(CallError, match=r"'loss'.*--direction"):
        direction("loss")


def test_metrics_whose_direction_is_unknown_are_left_out_and_said():
    values = np.full((2, 3, 1, 3), 0.5)
    table = Scores.of(values, ["A", "B"], metrics=["dice", "loss", "inner_outer_ratio"])
    found = rank_scores(table)
    assert found.metrics == ("dice",)
    assert [note for note in found.notes if "loss" in note]
    assert not [note for note in found.notes if "inner_outer_ratio" in note]
    assert rank_scores(table, directions={"loss": "lower"}).metrics == ("dice", "loss")
    with pytest.raises(CallError, match="loss"):
        rank_scores(table, metrics=["dice", "loss"])
    with pytest.raises(CallError, match="loss"):
        rank_scores(table.select(metrics=["loss"]))
    with pytest.raises(CallError, match="inner_outer_ratio"):
        rank_scores(table.select(metrics=["inner_outer_ratio"]))


def test_scores_must_fit():
    with pytest.raises(CallError, match=r"\(2, 1, 1, 1\)"):
        Scores.of([[0.5]], ["A", "B"])
    with pytest.raises(CallError, match="twice"):
        Scores.of([[0.5], [0.6]], ["A", "A"])
    with pytest.raises(CallError, match="nan"):
        Scores(
            ("A",), ("p",), ("p",), ("t",), ("dice",), np.full((1, 1, 1, 1), np.nan), np.zeros((1, 1, 1, 1), np.uint8)
        )
    with pytest.raises(CallError, match="no algorithm 'C'; there are A, B"):
        Scores.of([[0.5], [0.6]], ["A", "B"]).select(algorithms=["C"])
    for lengths in ([1.0], [1.0, 0.0], [1.0, -2.0], [1.0, float("inf")]):
        with pytest.raises(CallError, match="diagonals are one length a case"):
            Scores.of([[0.5, 0.5]], ["A"], diagonals=lengths)


def test_names_are_found_however_they_are_written():
    values = np.full((3, 2, 2, 2), 0.5)
    table = Scores.of(
        values, ["UNet", "unet", "V Net"], references=["Staple", "A"], metrics=["surface-dice", "HD95"],
        diagonals=[3, 4],
    )  # fmt: skip
    found = table.select(algorithms=["unet", "v net"], references=["STAPLE", "a"], metrics=["Surface Dice", "hd95"])
    assert (found.algorithms, found.references) == (("unet", "V Net"), ("Staple", "A"))
    assert found.metrics == ("surface-dice", "HD95")
    assert found.diagonals == (3, 4)
    with pytest.raises(CallError, match="algorithm 'Unet' may be UNet or unet"):
        table.select(algorithms=["Unet"])
    with pytest.raises(CallError, match="no algorithm 'v_net'"):
        table.select(algorithms=["v_net"])
    with pytest.raises(CallError, match="each reference standard once"):
        table.select(references=["a", "A"])
    assert rank_scores(table, metrics=["All"], resamples=1).metrics == ("surface-dice", "HD95")


def test_without_subjects_a_note_says_what_that_means():
    told = "every case counts as a patient of its own"
    assert [n for n in rank_scores(Scores.of([[0.5] * 3] * 2, ["A", "B"]), resamples=1).notes if told in n]
    assert not [n for n in rank_scores(Scores.of([[0.5], [0.4]], ["A", "B"]), resamples=1).notes if told in n]
    narrow = [
        any("too narrow" in n for n in rank_scores(Scores.of([[0.5] * cases] * 2, ["A", "B"]), resamples=1).notes)
        for cases in (9, 10)
    ]
    assert narrow == [False, True]
    named = Scores.of([[0.5] * 3] * 2, ["A", "B"], subjects=["s", "t", "u"])
    assert not [n for n in rank_scores(named, resamples=1).notes if told in n]
