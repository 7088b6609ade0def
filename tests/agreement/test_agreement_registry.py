"""What every statistic of the room promises, sorted, so that none is forgotten."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manytruths as mt
from manytruths import CallError, Labels, agreement
from panels import VOID, panels

PROMISES = {
    "bias_index": "pair symmetric background 0..1 zero",
    "case_condition": "",
    "cohen_kappa": "pair symmetric alike -1..1 one",
    "dice": "pair symmetric background 0..1 one",
    "fleiss_kappa": "alike ..1 one",
    "gwet_ac1": "alike -1..1 one",
    "heatmap_score": "0..1 one",
    "iou": "pair symmetric background 0..1 one",
    "krippendorff_alpha": "alike ..1 one",
    "negative_agreement": "background 0..1 one",
    "npv": "pair mirrored background 0..1 one",
    "pabak": "alike -1..1 one",
    "percent_agreement": "alike 0..1 one",
    "positive_agreement": "background 0..1 one",
    "ppv": "pair mirrored background 0..1 one",
    "prevalence_index": "background 0..1",
    "sensitivity": "pair mirrored background 0..1 one",
    "smyth_bound": "alike 0..1 zero",
    "specificity": "pair mirrored background 0..1 one",
    "unanimous": "0..1 one",
    "volume_difference": "pair symmetric background 0..2 zero",
    "weighted_kappa": "pair symmetric -1..1 one",
}
"""What each statistic of a tally promises.

``pair``: it is of two raters (others take any number); ``symmetric``: they may change places; ``mirrored``: places
changed, it is the one of MIRRORED. ``background``: it refuses labels without a background (0). ``alike``: all labels
count alike, so that permuting them changes nothing. ``0..1``: its range. ``one``, ``zero``: what full agreement has.
"""
MIRRORED = {"sensitivity": "ppv", "ppv": "sensitivity", "specificity": "npv", "npv": "specificity"}
RANGES = {"0..1": (0, 1), "0..2": (0, 2), "-1..1": (-1, 1), "..1": (-math.inf, 1)}
"""Alpha may fall below −1 in tiny samples (its expected disagreement is drawn without replacement), and so may Fleiss'
kappa where items are rated once (they count for chance, not for agreement)."""
NOBODY_MARKED = {
    "bias_index": 0.0, "gwet_ac1": 1.0, "negative_agreement": 1.0, "npv": 1.0, "pabak": 1.0, "percent_agreement": 1.0,
    "prevalence_index": 1.0, "smyth_bound": 0.0, "specificity": 1.0,
}  # fmt: skip
"""Values where nobody marked anything; all others are undefined there, with a reason."""
SAME_WHEN_SWAPPED = {"bias_index", "prevalence_index", "weighted_kappa"}
"""Labels are not alike for these, and yet the value stays when background and label change places."""
VECTORS = {"agreement_curve", "contingency", "prevalence"}
MAPS = {
    "dispute_heatmap",
    "common_heatmap", "feature_correlation", "image_feature_correlations", "ranking_heatmap",
}  # fmt: skip
"""A value per pattern or per pixel; tested in test_heatmap.py and test_features.py."""
NOT_STATISTICS = {
    "KAPPA_SCALES", "ONE_LABEL", "SMYTH_LIMIT", "AgreementCurve", "Correlation", "MacroMean", "MeanPairwise",
    "PairMatrix", "PairStatistic", "VoteStatistic", "contributions", "interpret_alpha", "interpret_interval",
    "interpret_kappa", "label_tallies", "macro_mean", "mean_over_labels", "mean_pairwise", "one_label_tables",
    "pairwise",
}  # fmt: skip


def promising(word):
    """The statistics that promise it."""
    return {name for name, words in PROMISES.items() if word in words.split()}


OF_TALLIES = set(PROMISES)
SCALAR = OF_TALLIES - {"case_condition"}
PAIR = promising("pair")
ANY_NUMBER = OF_TALLIES - PAIR
ANY_LABELS = promising("alike")
NEED_BACKGROUND = promising("background")


def same(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or a == pytest.approx(b, abs=1e-12)


def counted(panel, names=None):
    masks = panel.masks if names is None else {n: panel.masks[n] for n in names}
    return mt.tally(masks, labels=panel.labels, void=VOID)


def of(name):
    return getattr(agreement, name)


def test_every_export_is_registered_once():
    known = [OF_TALLIES, VECTORS, MAPS, NOT_STATISTICS]
    exported = set(agreement.__all__)
    assert exported <= set().union(*known), "a statistic is exported that no test knows: sort it into the registry"
    assert sum(map(len, known)) == len(set().union(*known)), "a name is registered twice"
    assert set().union(*known) <= exported, "the registry names what is not exported"


def test_the_promises_are_complete():
    for name in SCALAR:
        words = set(PROMISES[name].split())
        assert words <= {"pair", "symmetric", "mirrored", "background", "alike", "one", "zero", *RANGES}
        assert len(words & set(RANGES)) == 1
        assert len(words & {"one", "zero"}) == (name != "prevalence_index")
    assert promising("symmetric") | promising("mirrored") == PAIR
    assert promising("mirrored") == set(MIRRORED)


def test_all_is_sorted():
    assert list(agreement.__all__) == sorted(agreement.__all__, key=lambda n: (not n.isupper(), n.islower(), n))


@pytest.mark.parametrize("name", sorted(ANY_NUMBER))
@settings(max_examples=20)
@given(panel=panels(raters=(3, 5)), data=st.data())
def test_raters_may_come_in_any_order(name, panel, data):
    order = data.draw(st.permutations(list(panel.masks)))
    before, after = of(name)(counted(panel)), of(name)(counted(panel, order))
    assert before == after if name == "case_condition" else same(before, after)


@pytest.mark.parametrize("name", sorted(PAIR))
@settings(max_examples=20)
@given(panel=panels(raters=(2, 2)))
def test_two_raters_change_places(name, panel):
    mirrored = MIRRORED.get(name, name)
    assert same(of(name)(counted(panel)), of(mirrored)(counted(panel, ["R2", "R1"])))


@pytest.mark.parametrize("name", sorted(ANY_LABELS))
@settings(max_examples=20)
@given(panel=panels(raters=(2, 2)), data=st.data())
def test_labels_may_be_permuted(name, panel, data):
    other = dict(zip(panel.labels, data.draw(st.permutations(panel.labels)), strict=True)) | {VOID: VOID}
    renamed = {rater: np.vectorize(other.__getitem__, otypes=[np.int64])(m) for rater, m in panel.masks.items()}
    assert same(of(name)(counted(panel)), of(name)(mt.tally(renamed, labels=panel.labels, void=VOID)))


@pytest.mark.parametrize("name", sorted(SCALAR - ANY_LABELS))
def test_the_others_do_tell_labels_apart(name):
    a, b = np.array([1] * 6 + [0] * 4), np.array([1] * 4 + [0] * 3 + [1] * 3)
    swapped = of(name)(mt.tally([1 - a, 1 - b]))
    stays = same(of(name)(mt.tally([a, b])), swapped)
    assert stays == (name in SAME_WHEN_SWAPPED), "put it into SAME_WHEN_SWAPPED, or take it out"


@pytest.mark.parametrize("name", sorted(NEED_BACKGROUND))
def test_background_is_needed(name):
    with pytest.raises(CallError, match=r"background \(0\)"):
        of(name)(mt.tally([[1, 2, 2], [1, 1, 2]], labels=[1, 2]))


@pytest.mark.parametrize("name", sorted(OF_TALLIES - NEED_BACKGROUND))
def test_background_is_not_needed(name):
    of(name)(mt.tally([[1, 2, 2], [1, 1, 2]], labels=[1, 2]))


@pytest.mark.parametrize("name", sorted(SCALAR))
@settings(max_examples=20)
@given(panel=panels(raters=(2, 2)))
def test_bounds(name, panel):
    value = of(name)(counted(panel))
    ((low, high),) = (ends for word, ends in RANGES.items() if name in promising(word))
    assert math.isnan(value) or low - 1e-12 <= value <= high + 1e-12


@settings(max_examples=40)
@given(panel=panels(raters=(2, 2), missing=False))
def test_fleiss_of_two_raters_who_rated_everything_is_at_least_minus_one(panel):
    value = mt.fleiss_kappa(counted(panel))
    assert math.isnan(value) or value >= -1 - 1e-12


@pytest.mark.parametrize("name", sorted(promising("one") | promising("zero")))
@settings(max_examples=20)
@given(panel=panels(raters=(2, 2)))
def test_full_agreement(name, panel):
    one = dict.fromkeys(("R1", "R2"), panel.masks["R1"])
    value = of(name)(mt.tally(one, labels=panel.labels, void=VOID))
    assert math.isnan(value) or value == pytest.approx(1.0 if name in promising("one") else 0.0, abs=1e-15)


@pytest.mark.parametrize("name", sorted(PAIR))
def test_pair_statistics_refuse_three_and_say_what_to_do(name):
    table = mt.tally([[1, 0], [0, 1], [1, 1]], raters=["Ada", "Bo", "Cy"])
    with pytest.raises(CallError, match=rf"{name}.*two raters.*Ada, Bo, Cy.*pair\(a, b\).*pairwise\({name}"):
        of(name)(table)


@pytest.mark.parametrize("name", sorted(SCALAR))
def test_nobody_marked_anything(name):
    # chance-free agreement about nothing is full; everything else has no value, and says why
    value = of(name)(mt.tally([[0, 0, 0], [0, 0, 0]], labels=[0, 1]))
    expected = NOBODY_MARKED.get(name, math.nan)
    assert same(value, expected), "NOBODY_MARKED has the value of statistics that have one"
    assert len(mt.reason(value)) > len("undefined") or name in NOBODY_MARKED


@pytest.mark.parametrize("name", sorted(OF_TALLIES | VECTORS))
def test_zeros_in_the_counts_change_nothing(name):
    table = mt.tally([[1, 1, 0, 0, 2], [1, 0, 0, 2, 2]])
    counts = table.counts.copy()
    counts[1] = 0
    sparse = table.recount(counts)
    dense = table.restrict(counts > 0, region="whole")
    assert len(dense.counts) < len(sparse.counts)
    a, b = of(name)(sparse), of(name)(dense)
    if name == "agreement_curve":
        a, b = a.share, b.share
    assert a == b if isinstance(a, str) else np.allclose(a, b, rtol=0, atol=1e-15, equal_nan=True)


def test_yangs_conditions():
    assert mt.case_condition(mt.tally([[1, 0], [0, 0]])) == "one_empty"
    assert mt.cohen_kappa(mt.tally([[1, 0], [0, 0]])) == 0
    assert mt.case_condition(mt.tally([[1, 0, 0], [0, 1, 0]])) == "no_overlap"
    assert mt.cohen_kappa(mt.tally([[1, 0, 0], [0, 1, 0]])) < 0
    assert mt.case_condition(mt.tally([[0, 0], [0, 0]])) == "nothing_marked"
    assert mt.case_condition(mt.tally([[1, 0], [1, 1], [0, 1]])) == ""


def test_one_rater_alone_is_no_case_of_no_overlap():
    assert mt.case_condition(mt.tally({"A": [1, 0], "B": None})) == ""


def test_levels():
    bounds = {"landis_koch": 6, "fleiss": 3, "altman": 5, "shrout": 5}
    assert {name: len(scale) for name, scale in agreement.KAPPA_SCALES.items()} == bounds
    assert [mt.interpret_kappa(v) for v in (-0.1, 0.0, 0.2, 0.21, 0.41, 0.61, 0.81, 1.0)] == [
        "poor", "slight", "slight", "fair", "moderate", "substantial", "almost perfect", "almost perfect",
    ]  # fmt: skip
    assert mt.interpret_kappa(math.nan) == mt.interpret_alpha(math.nan) == "undefined"
    assert [mt.interpret_alpha(v, 0.9) for v in (0.8, 0.799, 0.667, 0.666)] == [
        "reliable", "tentative conclusions only", "tentative conclusions only", "cannot be told",
    ]  # fmt: skip
    assert [mt.interpret_alpha(0.5, v) for v in (0.666, 0.667)] == ["not reliable", "cannot be told"]
    assert agreement.interpret_interval(0.55, 0.72) == "moderate to substantial"
    with pytest.raises(CallError, match=r"landis_koch.*cicchetti"):
        mt.interpret_kappa(0.5, "cicchetti")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: mt.krippendorff_alpha(t, "cardinal"), "nominal, ordinal, interval or ratio; got 'cardinal'"),
        (lambda t: mt.weighted_kappa(t, "cubic"), "'linear' or 'quadratic'; got 'cubic'"),
    ],
)
def test_unknown_choices(call, message):
    with pytest.raises(CallError, match=message):
        call(mt.tally([[1, 0], [1, 1]]))


def test_the_matrix_of_pairs():
    table = mt.tally({"A": [1, 1, 0], "B": [1, 0, 0], ("A", "2"): [0, 1, 0]})
    matrix = mt.pairwise(mt.dice, table)
    assert (matrix.names, matrix.statistic) == (("A", "B"), "dice")
    assert matrix.pairs() == [("A", "B", pytest.approx(2 / 3))]
    assert matrix.mean() == pytest.approx(2 / 3)
    assert matrix.to_frame().loc["B", "A"] == pytest.approx(2 / 3)
    readings = mt.pairwise(mt.dice, table, sessions=True)
    assert readings["A", "A@2"] == pytest.approx(2 / 3)
    nothing = mt.pairwise(mt.dice, mt.tally([[0, 0], [0, 0]], labels=Labels((0, 1))))
    assert "undefined for every pair" in mt.reason(nothing.mean())


def test_exchangeable_raters_have_no_pairs_but_a_mean():
    table = mt.tally([[1, 1, 0], [1, 0, 0], [0, 1, 1]], raters="exchangeable")
    with pytest.raises(CallError, match="exchangeable"):
        mt.pairwise(mt.dice, table)
    assert mt.mean_pairwise(mt.dice, table) == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)
    flipped = mt.tally([[0, 1, 1], [1, 0, 0], [1, 1, 0]], raters="exchangeable")
    assert mt.mean_pairwise(mt.sensitivity, table) == mt.mean_pairwise(mt.sensitivity, flipped)


BATCHED = sorted(name for name in OF_TALLIES if hasattr(of(name), "batch"))


def test_what_resampling_can_read_all_at_once():
    assert set(BATCHED) >= {"fleiss_kappa", "gwet_ac1", "pabak", "percent_agreement", "smyth_bound"}


@settings(max_examples=40)
@given(panel=panels(raters=(2, 4)), seed=st.integers(0, 99))
def test_many_tables_at_once_equal_one_by_one(panel, seed):
    table = counted(panel)
    counts = np.random.default_rng(seed).integers(0, 3, (6, len(table.counts)))
    means = [agreement.MeanPairwise(statistic) for statistic in (mt.dice, mt.sensitivity, mt.cohen_kappa)]
    for statistic in [*map(of, BATCHED), *means]:
        alone = [statistic(table.recount(row)) for row in counts]
        np.testing.assert_allclose(statistic.batch(table, counts), alone, rtol=0, atol=1e-12)


def test_the_mean_of_no_pairs():
    table = mt.tally([[1, 0, 1]])
    assert math.isnan(agreement.MeanPairwise(mt.dice)(table))
    assert np.isnan(agreement.MeanPairwise(mt.dice).batch(table, table.counts[None])).all()


@pytest.mark.parametrize("name", sorted((OF_TALLIES | VECTORS) - {"contingency"}))
def test_masks_in_place_of_a_tally_are_refused_with_what_to_do(name):
    masks = {"A": np.ones((2, 2)), "B": np.ones((2, 2))}
    with pytest.raises(CallError, match=f"{name} takes a Tally, not dict; make one with mt.tally"):
        getattr(mt, name)(masks)


@pytest.mark.parametrize("name", ["vote", "staple", "simple", "plurality", "vote_without_outliers"])
def test_estimators_refuse_masks_in_place_of_a_tally(name):
    with pytest.raises(CallError, match=f"{name} takes a Tally"):
        getattr(mt, name)({"A": np.ones((2, 2))})


def test_means_over_pairs_refuse_masks_in_place_of_a_tally():
    masks = {"A": np.ones((2, 2)), "B": np.ones((2, 2))}
    with pytest.raises(CallError, match="takes a Tally"):
        mt.mean_pairwise(mt.dice, masks)
    with pytest.raises(CallError, match="pairwise takes a Tally"):
        mt.pairwise(mt.dice, masks)


def test_a_kappa_above_1_has_no_word():
    with pytest.raises(CallError, match="must be at most 1; got 2"):
        mt.interpret_kappa(2)
    # Fleiss' kappa of unequal numbers of raters
    assert mt.interpret_kappa(-1.2) == "poor"
