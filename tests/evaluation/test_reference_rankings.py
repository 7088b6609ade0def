"""Rankings under many truths: ties, truths without a score, bounds, and who is ahead whatever the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from manytruths import CallError, Undefined, rank_by_reference

NAMES = ("net", "filter", "forest")
score = st.sampled_from([0.1, 0.2, 0.5, 0.7, float("nan")])


@given(arrays(float, st.tuples(st.just(3), st.integers(1, 6)), elements=score))
def test_every_truth_gives_its_own_order(scores: np.ndarray) -> None:
    truths = [f"T{j}" for j in range(scores.shape[1])]
    found = rank_by_reference(scores, NAMES, truths)
    assert sorted([t for r in found.rankings for t in r.references] + list(found.undefined)) == truths
    assert len({r.places for r in found.rankings}) == len(found.rankings)
    assert [len(r.references) for r in found.rankings] == sorted(
        (len(r.references) for r in found.rankings), reverse=True
    )
    for j, truth in enumerate(truths):
        if np.isnan(scores[:, j]).any():
            assert truth in found.undefined
            continue
        ranks = dict(zip(NAMES, stats.rankdata(-scores[:, j], "dense"), strict=True))
        assert {n: i for i, place in enumerate(found.of(truth).places, 1) for n in place} == ranks


def test_ties_are_stated() -> None:
    found = rank_by_reference([[0.5, 0.4], [0.5, 0.3], [0.9, 0.2]], NAMES, ["A", "B"])
    assert str(found.of("A")) == "forest > net = filter"
    assert found.of("A").ties == (("net", "filter"),)
    assert found.of("A").order == ("forest", "net", "filter")
    assert found.of("B").ties == ()


def test_bounds_are_not_always_bounds() -> None:
    found = rank_by_reference([[0.5, 0.4, 0.8, 0.9], [0.1, 0.2, 0.3, np.nan]], NAMES[:2], ["any", "A", "0.75", "B"])
    net, filter_ = found.bounds("any", "0.75")
    assert (net.smallest, net.smallest_under, net.largest, net.largest_under) == (0.4, "A", 0.9, "B")
    assert (net.loose, net.strict, net.below, net.above) == (0.5, 0.8, ("A",), ("B",))
    assert (filter_.smallest, filter_.largest, filter_.below, filter_.above) == (0.1, 0.3, (), ())
    alone = found.bounds()[0]
    assert isinstance(alone.loose, Undefined)
    assert (alone.below, alone.above, alone.smallest) == ((), (), 0.4)
    with pytest.raises(CallError, match="no reference standard 'all'"):
        found.bounds("all")


def test_who_is_ahead_whatever_the_truth() -> None:
    found = rank_by_reference([[0.5, 0.6, 0.9], [0.4, 0.3, 0.8], [0.1, 0.2, 0.45]], NAMES, ["A", "B", "C"])
    near, far = found.separate("net", "filter"), found.separate("net", "forest")
    assert near.under_each
    assert not near.whatever
    assert far.whatever
    assert (far.smallest, far.largest) == (0.5, 0.45)
    back = found.separate("forest", "net")
    assert (back.ahead, back.behind, back.of, back.whatever) == ((), ("A", "B", "C"), 3, False)
    with pytest.raises(CallError, match="no algorithm 'tree'"):
        found.separate("net", "tree")


def test_without_any_score() -> None:
    found = rank_by_reference(np.full((2, 1), np.nan), NAMES[:2], ["A"])
    assert found.rankings == ()
    pair = found.separate("net", "filter")
    assert (pair.under_each, pair.whatever, pair.of) == (False, False, 0)
    assert isinstance(found.bounds()[0].smallest, Undefined)
    with pytest.raises(CallError, match="gives no ranking"):
        found.of("A")
    with pytest.raises(CallError, match="is not there"):
        found.of("Z")
    with pytest.raises(CallError, match="2 algorithms × 1 reference standards; got shape"):
        rank_by_reference([[1.0, 2.0]], NAMES[:2], ["A"])
