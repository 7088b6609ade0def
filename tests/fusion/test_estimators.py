"""SIMPLE, excl-τ, Cooke's weights, inner and outer region, and the one door to them all."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import manytruths as mt
from manytruths import (
    CallError,
    Consensus,
    InputError,
    PatternValues,
    acceptable_region,
    consensus,
    consensus_methods,
    cooke_weights,
    inner_outer_ratio,
    inner_region,
    outer_region,
    plurality,
    rater_differences,
    reason,
    simple,
    staple,
    vote,
    vote_without_outliers,
)
from manytruths import fusion as room
from manytruths.fusion import register
from manytruths.fusion.vote import find_outliers

VOID = 9
stacks = arrays(np.uint8, (5, 4, 6), elements=st.sampled_from([0, 0, 1]))
gappy = arrays(np.uint8, (4, 30), elements=st.sampled_from([0, 1, VOID]))
ESTIMATORS = ["vote:0.5", "vote:any", "vote:all", "vote:0.75", "excl:0.5", "staple", "simple", "plurality"]


# -- SIMPLE -----------------------------------------------------------------------------------------


def by_pixel(masks: np.ndarray, alpha: float) -> tuple[list[int], np.ndarray]:
    """SIMPLE as it is written, on the pixels."""
    kept, weights = list(range(len(masks))), np.ones(len(masks))
    last: tuple[list[int], bytes] | None = None
    while True:
        estimate = np.tensordot(weights[kept], masks[kept], 1) / weights[kept].sum() >= 0.5
        now = (kept, estimate.tobytes())
        if now == last:
            return kept, estimate
        last = now
        total = masks.sum(axis=(1, 2)) + estimate.sum()
        scores = 2 * (masks * estimate).sum(axis=(1, 2)) / total
        limit = scores[kept].mean() - alpha * scores[kept].std()
        kept = [j for j in kept if scores[j] >= limit - 1e-12]
        weights = scores


@pytest.mark.parametrize("seed", range(8))
def test_simple_is_that_of_the_pixels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.random((30, 30)) < 0.3
    masks = (truth ^ (rng.random((7, 30, 30)) < rng.uniform(0.02, 0.4, (7, 1, 1)))).astype(np.uint8)
    table = mt.tally(masks)
    found = simple(table, 1.2)
    kept, estimate = by_pixel(masks, 1.2)
    assert found.kept == tuple(str(j + 1) for j in kept)
    assert (mt.paint(found.hard, masks) == estimate).all()
    assert set(found.kept) | set(found.dropped) == set(found.raters)
    assert (found.weights > 0).tolist() == [r in found.kept for r in found.raters]


@given(stacks)
def test_simple_always_ends_and_drops_no_one_for_agreeing(masks: np.ndarray) -> None:
    found = simple(mt.tally(masks, labels=[0, 1]))
    assert found.convergence in ("converged", "stopped", "nothing marked")
    assert found.kept
    same = simple(mt.tally(np.stack([masks[0]] * 5), labels=[0, 1]))
    assert not same.dropped
    assert (mt.paint(same.hard, np.stack([masks[0]] * 5)) == masks[0]).all()


def test_simple_without_marks_or_with_one_rater() -> None:
    assert simple(mt.tally(np.zeros((3, 5), int), labels=[0, 1])).convergence == "nothing marked"
    alone = simple(mt.tally({"A": [1, 0, 0]}))
    assert (alone.kept, alone.hard.tolist()) == (("A",), [False, True])
    assert "one rater" in alone.note


@pytest.mark.parametrize("options", [{"alpha": 0}, {"score": "kappa"}, {"max_iter": 0}])
def test_simple_wrong_calls(options: dict[str, object]) -> None:
    with pytest.raises(CallError, match=f"^{next(iter(options))} must be"):
        simple(mt.tally([[0, 1]]), **options)  # type: ignore[arg-type]


# -- excl-τ -----------------------------------------------------------------------------------------


@given(gappy)
def test_outliers_are_those_of_the_raters_room(masks: np.ndarray) -> None:
    table = mt.tally(masks, void=VOID, labels=[0, 1])
    assert find_outliers(table) == rater_differences(table).outliers


def test_excluded_vote_is_the_vote_of_the_others() -> None:
    masks = dict(zip("ABCD", (np.random.default_rng(0).random((4, 50)) < 0.4).astype(int), strict=True))
    found = vote_without_outliers(mt.tally(masks), 0.5, ["B"])
    rest = {name: mask for name, mask in masks.items() if name != "B"}
    assert (mt.paint(found.hard, masks) == mt.paint(vote(mt.tally(rest)).hard, rest)).all()
    assert (found.method, found.excluded, found.raters) == ("excl:0.5", ("B",), ("A", "C", "D"))


def test_one_rater_left_and_none() -> None:
    table = mt.tally({"A": [1, VOID, 0], "B": [0, 1, 1]}, void=VOID)
    found = vote_without_outliers(table, 0.5, ["B"])
    assert "only A is left" in found.note
    assert "1 items were rated by nobody who is left" in found.note
    assert np.isfinite(found.probability).all()
    for wrong in (["A", "B"], ["C"]):
        with pytest.raises(CallError, match="leaves one"):
            vote_without_outliers(table, 0.5, wrong)
    with pytest.raises(CallError, match="exchangeable"):
        vote_without_outliers(mt.tally([[1, 0], [1, 1]], raters="exchangeable"))


# -- Cooke's weights --------------------------------------------------------------------------------


def test_cooke_prefers_the_better_rater() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(5000) < 0.3
    masks = {name: truth ^ (rng.random(5000) < e) for name, e in zip("ABC", (0.05, 0.2, 0.5), strict=True)}
    masks["D"] = ~truth
    weights = cooke_weights(mt.tally(masks, references={"truth": truth}))
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["A"] > weights["B"] > weights["C"]
    assert weights["D"] == 0
    assert weights["C"] < 0.01
    best = vote(mt.tally(masks), 0.5, weights)
    assert best.method == "vote:0.5 weighted"
    assert (mt.paint(best.hard, masks) == truth).mean() > (mt.paint(vote(mt.tally(masks)).hard, masks) == truth).mean()


def test_cooke_is_mutual_information() -> None:
    """Of a symmetric channel over a fair truth: ln 2 less the entropy of an error."""
    truth = np.repeat([0, 1], 100)
    a, b = truth.copy(), truth.copy()
    a[[*range(10), *range(100, 110)]] ^= 1
    b[[*range(30), *range(100, 130)]] ^= 1
    weights = cooke_weights(mt.tally({"A": a, "B": b}, references={"truth": truth}))
    each = [np.log(2) + e * np.log(e) + (1 - e) * np.log(1 - e) for e in (0.1, 0.3)]
    assert weights["A"] / weights["B"] == pytest.approx(each[0] / each[1])


def test_cooke_wrong_calls() -> None:
    with pytest.raises(CallError, match="reference="):
        cooke_weights(mt.tally({"A": [1, 0]}))
    with pytest.raises(InputError, match="no rater"):
        cooke_weights(mt.tally({"A": [1, 0]}, references={"truth": [0, 1]}))
    by_rater = cooke_weights(mt.tally({"A": [1, 0, 0], "B": [1, 0, 1], "C": [1, 0, 1]}), "C")
    assert by_rater["B"] > by_rater["A"] > 0
    assert "C" not in by_rater


# -- inner and outer --------------------------------------------------------------------------------


@given(stacks)
def test_inner_and_outer_are_intersection_and_union(masks: np.ndarray) -> None:
    table = mt.tally(masks, labels=[0, 1])
    inner, outer = masks.all(axis=0), masks.any(axis=0)
    assert (mt.paint(inner_region(table), masks) == inner).all()
    assert (mt.paint(outer_region(table), masks) == outer).all()
    assert (mt.paint(acceptable_region(table), masks) == (outer & ~inner)).all()
    share = inner_outer_ratio(table)
    assert share == inner.sum() / outer.sum() if outer.any() else reason(share) == "nobody marked anything"


# -- one result, one door ---------------------------------------------------------------------------


@pytest.mark.parametrize("method", ESTIMATORS)
@given(masks=gappy)
def test_every_estimator_gives_the_same_kind_of_thing(method: str, masks: np.ndarray) -> None:
    table = mt.tally(masks, void=VOID, labels=[0, 1])
    found = consensus(table, method)
    assert isinstance(found, Consensus)
    assert (found.method, found.kind, found.tally) == (method, "pattern", table)
    assert isinstance(found.hard, PatternValues)
    assert np.isfinite(found.probability).all()
    assert found.convergence
    painted = mt.paint(found.values, masks, void=VOID)
    assert set(np.unique(painted)) <= {0, 1}
    assert not painted[(masks == VOID).all(axis=0)].any()
    assert found.hard.dtype == bool
    assert found.probability.shape == found.hard.shape
    assert mt.paint(found.of(1), masks, void=VOID) + mt.paint(found.of("background"), masks, void=VOID) == (
        pytest.approx(1)
    )
    assert repr(found).startswith(f"<{type(found).__name__}: {method}, ")
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.note = "other"  # type: ignore[misc]


@pytest.mark.parametrize("method", ESTIMATORS)
def test_tables_that_are_bad(method: str) -> None:
    """Each a defined result: no nan in the map, and an end."""
    bad = {
        "no overlap": {"A": [1, 1, 0, 0, 0], "B": [0, 0, 1, 0, 0], "C": [0, 0, 0, 1, 0]},
        "all empty": {"A": [0] * 5, "B": [0] * 5, "C": [0] * 5},
        "all full": {"A": [1] * 5, "B": [1] * 5, "C": [1] * 5},
        "one rater": {"A": [1, 0, 1, 0, 0]},
        "one empty": {"A": [1, 1, 0, 0, 0], "B": [1, 0, 0, 0, 0], "C": [0] * 5},
        "one full": {"A": [1, 1, 0, 0, 0], "B": [1, 0, 0, 0, 0], "C": [1] * 5},
        "one absent": {"A": [1, 1, 0, 0, 0], "B": [1, 0, 0, 0, 0], "C": None},
    }
    for masks in bad.values():
        found = consensus(masks, method, labels=[0, 1])
        assert np.isfinite(mt.paint(found.of(1), masks)).all()
        assert mt.paint(found.values, masks).shape == (5,)
        assert found.convergence


@pytest.mark.parametrize(
    ("masks", "words"),
    [
        ({"A": [1, 1, 0, 0], "B": [0, 0, 1, 0]}, "means nothing"),
        ({"A": [1, 0, 0]}, "only one rater"),
        ({"A": [1, 1, 0], "B": [0, 0, 0], "C": [1, 0, 0]}, "B marked nothing"),
        ({"A": [1, 1, 0], "B": [1, 1, 1], "C": [1, 0, 0]}, "B marked everything"),
        ({"A": [1, 2, 0], "B": [1, 1, 1], "C": [2, 0, 0]}, "B gave everything the label 1"),
    ],
)
def test_staple_says_what_is_odd(masks: dict[str, list[int]], words: str) -> None:
    assert words in staple(mt.tally(masks)).note


def test_staple_says_that_it_did_not_converge() -> None:
    found = staple(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0], "C": [1, 1, 0, 1]}), max_iter=3)
    assert found.convergence == "stopped"
    assert "not converged: after 3 iterations" in found.note


def test_slots_have_no_names() -> None:
    table = mt.tally([[1, 1, 0], [0, 0, 0], [1, 0, 0]], raters="exchangeable")
    assert "one rater marked nothing" in staple(table).note


def test_the_door_takes_masks_and_options() -> None:
    masks = {"A": [1, 1, 2, 0, VOID], "B": [1, 0, 2, 0, 0], "C": [1, 1, 0, 0, 0]}
    assert (consensus(masks, "vote:any", void=VOID).hard > 0).sum() == 3
    assert consensus(masks, void=VOID, foreground="any").labels.values == (0, 1)
    result = consensus(masks, "staple", void=VOID, prior="marked", region="modified_background")
    assert result.convergence == "converged"
    assert consensus(masks, "simple", void=VOID, alpha=2).alpha == 2  # type: ignore[attr-defined]
    assert consensus(masks, "simple:2", void=VOID).alpha == 2  # type: ignore[attr-defined]
    assert (
        consensus(masks, "plurality", void=VOID).values.tolist()
        == plurality(mt.tally(masks, void=VOID)).values.tolist()
    )
    smooth = consensus(masks, "staple_map", void=VOID, smoothing=0.1)
    assert (smooth.kind, smooth.hard.shape, smooth.tally) == ("map", (5,), None)


def test_the_door_knows_who_is_there() -> None:
    table = mt.tally([[1, 0], [1, 1]])
    with pytest.raises(
        CallError, match=r"methods are vote:any, vote:all, vote:0.5, excl:0.5, staple.*did you mean 'staple'"
    ):
        consensus(table, "stable")
    with pytest.raises(CallError, match="nothing after a colon"):
        consensus(table, "plurality:0.5")
    with pytest.raises(CallError, match=r"staple:0\.5: after the colon stands 'itk'"):
        consensus(table, "staple:0.5")
    with pytest.raises(CallError, match="neighbours"):
        consensus(table, "staple_map")
    with pytest.raises(CallError, match="threshold must be"):
        consensus(table, "vote:most")


def test_rooms_can_register(monkeypatch: pytest.MonkeyPatch) -> None:
    from manytruths.fusion import registry

    monkeypatch.setattr(registry, "_REGISTER", dict(registry._REGISTER))
    register("lowest", lambda table, share=0.1: vote(table, share), argument="share", example="lowest:0.1")
    assert "lowest:0.1" in consensus_methods()
    assert consensus(mt.tally([[1, 0], [0, 0]]), "lowest:0.3").method == "vote:0.3"
    assert sorted(room.__all__) == room.__all__


@pytest.mark.parametrize("method", ESTIMATORS)
def test_masks_that_nobody_marked_have_no_true_item(method: str) -> None:
    """Also where no label was declared, so that only background was met."""
    found = consensus([[0, 0], [0, 0], [0, 0]], method)
    assert (found.probability.tolist(), found.hard.tolist(), found.values.tolist()) == ([0.0], [False], [0])


@pytest.mark.parametrize(("rounds", "after"), [(1, "1 round "), (2, "2 rounds "), (100, "")])
def test_simple_says_where_it_has_not_converged(rounds, after):
    rng = np.random.default_rng(0)
    truth = rng.random(400) < 0.4
    errors = dict(zip("ABCDE", (0.05, 0.05, 0.05, 0.1, 0.6), strict=True))
    masks = {r: (truth ^ (rng.random(400) < e)).astype(np.uint8) for r, e in errors.items()}
    found = mt.simple(mt.tally(masks), max_iter=rounds)
    assert found.convergence == ("stopped" if after else "converged")
    assert found.notes == ((f"not converged: after {after}the vote or its raters still changed",) if after else ())
