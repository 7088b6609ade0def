"""Plans from a pilot: simulated raters whose truth is known, hand-made tables, real panels."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import manytruths as mt
from data_folder import data
from manytruths import CallError, Column, InputError, Ratings, Tally, majority_accuracy, plan_from_pilot, reason
from manytruths.ratings.planning.pilot import PilotRule


def simulated(cases=2000, raters=5, a=0.8, rho=0.25, seed=0, labels=2, reference=True):
    """Ratings under the model itself."""
    random = np.random.default_rng(seed)
    whole = (1 - rho) / rho
    accuracy = random.beta(a * whole, (1 - a) * whole, (cases, 1))
    truth = random.integers(0, labels, (cases, 1))
    wrong = (truth + random.integers(1, labels, (cases, raters))) % labels
    codes = np.where(random.random((cases, raters)) < accuracy, truth, wrong)
    return Ratings.of(codes.tolist(), reference=truth[:, 0].tolist() if reference else None)


# -- with a reference -----------------------------------------------------------------------------


def test_ranges_hold_what_larger_panels_reach():
    truth = {k: majority_accuracy(k, 0.8, correlation=0.25) for k in range(1, 16)}
    found = plan_from_pilot(simulated(raters=3))
    assert (found.source, found.unit, found.n_labels, found.n_raters, found.n_items) == (
        "reference", "case", 2, 3, 2000,
    )  # fmt: skip
    for panel in found.panels:
        assert panel.accuracy.low <= panel.accuracy.value <= panel.accuracy.high
        assert panel.accuracy.low <= truth[panel.n_raters] <= panel.accuracy.high
    # panels of up to three are determined by three raters; larger ones are not
    widths = [p.accuracy.high - p.accuracy.low for p in found.panels]
    assert widths[8] > widths[2]
    for k in (1, 3):
        assert found.panels[k - 1].accuracy.value == pytest.approx(found.panels[k - 1].observed, abs=1e-3)


@pytest.mark.slow
def test_ranges_hold_the_truth_in_most_pilots():
    """Of 30 pilots at least 95 % should: fewer than 24 would be a chance of 1 in 1,000."""
    expected, met, correlated = majority_accuracy(7, 0.8, correlation=0.25), 0, 0
    for seed in range(30):
        found = plan_from_pilot(simulated(cases=150, raters=4, seed=seed), max_raters=7, resamples=100)
        panel = found.panels[6].accuracy
        met += panel.low <= expected <= panel.high
        correlated += found.correlation.low <= 0.25 <= found.correlation.high
    assert met >= 24
    assert correlated >= 24


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
    found = plan_from_pilot(simulated(cases=3000, a=0.6, labels=4, seed=2))
    assert found.n_labels == 4
    for panel in found.panels[:9]:
        expected = majority_accuracy(panel.n_raters, 0.6, correlation=0.25, n_labels=4)
        assert panel.accuracy.low <= expected <= panel.accuracy.high
    assert reason(found.panels[0].observed) == "counted for two labels only"
    # even panels improve too, so that each is compared with the next
    assert not reason(found.panels[3].gain.high)


def test_gaps_and_unknown_truths_are_left_out():
    whole = simulated(cases=60, seed=4)
    codes = whole.codes.tolist()
    holes = [[None if (i + j) % 4 == 0 and j else c for j, c in enumerate(row)] for i, row in enumerate(codes)]
    known = [None if i % 5 == 0 else int(t) for i, t in enumerate(whole.reference)]
    found = plan_from_pilot(Ratings.of(holes, reference=known))
    # every case has four raters, or more
    assert (found.n_items, found.n_raters) == (48, 4)
    few = [[c if j < 2 else None for j, c in enumerate(row)] if i < 20 else row for i, row in enumerate(codes)]
    found = plan_from_pilot(Ratings.of(few, reference=whole.reference.tolist()))
    assert (found.n_items, found.n_raters, found.worst.n_left_out) == (40, 5, 20)


# -- without one ----------------------------------------------------------------------------------


def test_the_panels_correlation_is_fleiss_kappa():
    ratings = simulated(cases=4000, seed=7, reference=False)
    found = plan_from_pilot(ratings)
    assert found.source == "panel"
    assert found.correlation.value == pytest.approx(mt.fleiss_kappa(ratings.tally()), abs=1e-6)
    assert "nobody knows" in reason(found.panels[0].observed)


def test_labels_that_nobody_gave_do_not_count():
    ratings = simulated(cases=50, reference=False)
    more = Ratings.of(ratings.codes.tolist(), labels=[0, 1, 2])
    one, two = (plan_from_pilot(r) for r in (ratings, more))
    assert two.n_labels == 2
    assert one.panels[2].accuracy == two.panels[2].accuracy


def test_ratings_of_three_labels_are_planned_one_by_one():
    random = np.random.default_rng(3)
    truth = random.integers(0, 3, 200)
    # 0 is easy; 1 and 2 are taken for each other
    swap = (truth[:, None] > 0) & (random.random((200, 5)) < 0.35)
    codes = np.where(swap, 3 - truth[:, None], truth[:, None])
    found = plan_from_pilot(Ratings.of(codes.tolist()))
    by_label = {plan.label: plan.now.accuracy for plan in found.labels}
    assert list(by_label) == ["0", "1", "2"]
    assert found.worst.label in "12"
    assert by_label["0"].low > by_label[found.worst.label].high


# -- two raters -----------------------------------------------------------------------------------


def test_two_raters_get_a_range_and_no_point():
    """The old correlation of two raters was always 0 on pixels that somebody marked, and nine 'would in 98%'."""
    random = np.random.default_rng(0)
    masks = {}
    for case in range(12):
        p = random.choice([0.02, 0.45, 0.6, 0.95], (40, 40), p=[0.8, 0.05, 0.05, 0.1])
        masks[f"p{case}"] = mt.tally({r: (random.random(p.shape) < p).astype(int) for r in "AB"})
    found = plan_from_pilot(masks, gain=0.01)
    assert found.n_raters == 2
    for panel in found.panels:
        assert reason(panel.accuracy.value).startswith("two raters leave it open")
        assert panel.accuracy.low < panel.accuracy.high
    assert found.panels[8].accuracy.low < 0.9
    # a third rater resolves ties
    assert found.panels[1].gain.high > 0
    assert reason(found.best.value)


# -- how many -------------------------------------------------------------------------------------


def test_the_rules():
    ratings = simulated(cases=500, raters=3, seed=1)
    silent = plan_from_pilot(ratings)
    assert reason(silent.best.value) == "no margin was given (--gain)"
    assert silent.rule == ""
    found = plan_from_pilot(ratings, gain=0.05)
    odd = [p for p in found.panels if p.n_raters % 2 and not reason(p.gain.high)]
    for end, chosen in (("value", found.best.value), ("low", found.best.low), ("high", found.best.high)):
        assert chosen == next(p.n_raters for p in odd if getattr(p.gain, end) < 0.05)
    assert found.best.low <= found.best.value <= found.best.high
    costly = plan_from_pilot(ratings, cost_rater=1, cost_error=60)
    costs = {p.n_raters: p.cost for p in costly.panels if p.n_raters % 2}
    assert int(costly.best.value) == min(costs, key=lambda k: costs[k].value)
    third = costly.panels[2]
    assert third.cost.value == pytest.approx(3 + 60 * (1 - third.accuracy.value))
    assert third.cost.high == pytest.approx(3 + 60 * (1 - third.accuracy.low))
    dear = plan_from_pilot(ratings, cost_rater=100, cost_error=1)
    assert (dear.best.low, dear.best.high) == (1, 1)
    assert reason(found.panels[0].cost.value)
    assert reason(found.panels[-1].gain.value)


def test_enough_only_where_the_whole_range_of_the_gain_lies_below_the_margin():
    clear, doubtful = (simulated(cases=400, raters=5, a=a, rho=0.5, seed=1, reference=False) for a in (0.995, 0.6))
    assert plan_from_pilot(clear, gain=0.05).worst.p_enough < 0.05
    assert plan_from_pilot(doubtful, gain=0.005).worst.p_enough > 0.05


def test_the_same_seed_gives_the_same_plan():
    ratings = simulated(cases=60)
    one, two, other = (plan_from_pilot(ratings, resamples=50, seed=s, max_raters=5) for s in (1, 1, 2))
    assert one.accuracy == two.accuracy
    assert one.accuracy != other.accuracy


def test_cases_of_a_subject_are_left_out_together():
    ratings = simulated(cases=40, seed=9)
    copied = Ratings.of(
        np.repeat(ratings.codes, 5, axis=0).tolist(), reference=np.repeat(ratings.reference, 5).tolist(),
        subjects=[str(i // 5) for i in range(200)],
    )  # fmt: skip
    alone, together = (plan_from_pilot(r) for r in (ratings, copied))
    assert together.n_subjects == 40
    for one, two in ((alone.accuracy, together.accuracy), (alone.panels[4].accuracy, together.panels[4].accuracy)):
        # five times the items: a share that was never seen is known better
        assert (one.low, one.high) == pytest.approx((two.low, two.high), abs=0.02)


# -- masks ----------------------------------------------------------------------------------------


def test_masks_are_ratings_too():
    ratings = simulated(cases=300, raters=4, seed=6)
    # a table for every ten cases, as if they were images
    tables = {}
    for start in range(0, 300, 10):
        rows = np.concatenate([ratings.codes, ratings.reference[:, None]], axis=1)[start : start + 10]
        columns = (*map(Column, "ABCD"), Column("truth", "reference"))
        tables[str(start)] = Tally(columns, mt.Labels((0, 1)), rows.astype(np.uint8), np.ones(10, np.int64))
    by_case = plan_from_pilot(ratings)
    by_image = plan_from_pilot(tables, reference="truth")
    assert (by_image.unit, by_image.n_items, by_image.n_subjects) == ("pixel", 300, 30)
    assert by_image.panels[6].accuracy.value == pytest.approx(by_case.panels[6].accuracy.value, abs=1e-9)
    assert by_image.panels[2].observed == pytest.approx(by_case.panels[2].observed)
    panel = plan_from_pilot(tables)
    assert (panel.source, panel.n_raters, panel.given_marked) == ("panel", 4, True)
    # the range of one image allows for its raters only
    one = plan_from_pilot(tables["0"])
    assert one.panels[3].accuracy.low < one.panels[3].accuracy.high


def discs(random, grow, size=48):
    """Discs drawn by raters who draw larger and smaller."""
    y, x = np.mgrid[:size, :size]
    away = np.hypot(y - size / 2, x - size / 2)
    radius = random.uniform(6, 14)
    return {f"r{i}": (away < radius + g + random.normal(0, 0.5)).astype(int) for i, g in enumerate(grow)}


def test_labels_of_masks_are_planned_one_by_one():
    """Two tissues that fill the image: united they agree everywhere, and nothing would be left to plan."""
    random = np.random.default_rng(1)
    masks = {f"p{i}": {r: 1 + m for r, m in discs(random, (0, 1, 3, -2)).items()} for i in range(10)}
    tables = {case: mt.tally(m, labels=(0, 1, 2)) for case, m in masks.items()}
    found = plan_from_pilot(tables)
    assert [plan.label for plan in found.labels] == ["1", "2"]
    assert found.worst.label == "2"
    assert found.worst.now.accuracy.high < 1


def test_unmarked_pixels_hardly_matter():
    random = np.random.default_rng(2)
    whole = {f"p{i}": mt.tally(discs(random, (0, 1, 3, -2, 0))) for i in range(12)}
    union = {case: table.restrict("union") for case, table in whole.items()}
    one, two = plan_from_pilot(whole).worst.now.accuracy, plan_from_pilot(union).worst.now.accuracy
    assert (one.low, one.high) == pytest.approx((two.low, two.high), abs=0.01)


def test_exchangeable_raters_are_no_people():
    """A slot is not a person: only subjects vary."""
    random = np.random.default_rng(2)
    masks = [discs(random, random.normal(0, 2, 4)) for _ in range(30)]
    named, slots = ({str(i): mt.tally(m, raters=r) for i, m in enumerate(masks)} for r in (None, "exchangeable"))
    one, two = plan_from_pilot(named).worst.now.accuracy, plan_from_pilot(slots).worst.now.accuracy
    assert two.high - two.low < one.high - one.low


# -- refusals -------------------------------------------------------------------------------------


def test_few_cases_have_no_range():
    found = plan_from_pilot(simulated(cases=9), gain=0.01)
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
    """Five raters of 114 patients whose truth is known: ranges of panels of 1, 3 and 5 hold those observed."""
    import csv

    with open(data("ratings", "VanDyke.csv"), newline="") as stream:
        lines = [line for line in csv.DictReader(stream) if line["treatment"] == "1"]
    names = sorted({line["reader"] for line in lines})
    cases = sorted({line["case"] for line in lines})
    given = {(line["case"], line["reader"]): int(int(line["rating"]) >= 3) for line in lines}
    truth = {line["case"]: int(line["truth"]) for line in lines}
    ratings = Ratings.of([[given[c, n] for n in names] for c in cases], reference=[truth[c] for c in cases])
    found = plan_from_pilot(ratings)
    assert (found.n_items, found.n_raters) == (114, 5)
    for k in (1, 3, 5):
        panel = found.panels[k - 1]
        assert panel.accuracy.low < panel.observed < panel.accuracy.high
        assert panel.accuracy.value == pytest.approx(panel.observed, abs=0.005)


@pytest.mark.slow
def test_ten_thousand_cases_and_thirteen_raters():
    import time

    ratings = simulated(cases=10_000, raters=13)
    start = time.perf_counter()
    plan_from_pilot(ratings)
    assert time.perf_counter() - start < 20
