"""Lesions that raters have in common: laws, hand-made cases, refusals."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import manytruths as mt

RULES = [("iou", 0.5), ("iou", 0.2), ("overlap", 0.6), ("distance", 2.5)]
STACKS = st.integers(2, 4).flatmap(lambda raters: arrays(np.uint8, (raters, 7, 8), elements=st.integers(0, 1)))


def bar(*spans: tuple[int, int], width: int = 24) -> np.ndarray:
    """Lesions on a line, in the middle of three rows, as (first, behind the last) pixel."""
    mask = np.zeros((3, width), np.uint8)
    for start, stop in spans:
        mask[1, start:stop] = 1
    return mask


def finders(match: mt.LesionMatch) -> list[tuple[str, ...]]:
    return [lesion.found_by for lesion in match.lesions]


def described(match: mt.LesionMatch) -> list[object]:
    """Everything about the lesions, but for the order of the raters."""
    return [
        (
            frozenset(zip(x.found_by, x.sizes, strict=True)), frozenset(x.missed_by), x.extent, x.centroid,
            frozenset(x.split_by), frozenset(x.merged_by), x.cut,
        )
        for x in match.lesions
    ]  # fmt: skip


# -- laws ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rule", "threshold"), RULES)
@settings(max_examples=40, deadline=None)
@given(stack=STACKS, order=st.randoms(use_true_random=False))
def test_permuting_raters_permutes_results_only(rule, threshold, stack, order):
    names = [f"r{i}" for i in range(len(stack))]
    masks = dict(zip(names, stack, strict=True))
    order.shuffle(names)
    other = {name: masks[name] for name in names}
    one, two = (mt.match_lesions(m, rule, threshold) for m in (masks, other))
    assert [x.number for x in one.lesions] == [x.number for x in two.lesions]
    for a, b in zip(described(one), described(two), strict=True):
        assert a[:3] == b[:3]
        assert a[3] == pytest.approx(b[3])
        assert a[4:] == b[4:]
    for rater in masks:
        assert one.detection(rater) == two.detection(rater)
    for pair in one.pairs():
        again = two.pair(pair.rater_a, pair.rater_b)
        assert (pair.matched, pair.count_a) == (again.matched, again.count_a)
        assert pair.pq == pytest.approx(again.pq, abs=1e-15, nan_ok=True)


@pytest.mark.parametrize(("rule", "threshold"), RULES)
@settings(max_examples=40, deadline=None)
@given(stack=arrays(np.uint8, (2, 8, 9), elements=st.integers(0, 1)))
def test_two_raters_are_matched_greedily(rule, threshold, stack):
    match = mt.match_lesions({"A": stack[0], "B": stack[1]}, rule, threshold)
    both = [x for x in match.lesions if len(x.found_by) == 2]
    pair = match.pair("A", "B")
    assert pair.matched == len(both)
    if both:
        assert pair.sq == pytest.approx(np.mean([x.iou for x in both]), abs=1e-14)
        assert pair.dice == pytest.approx(np.mean([x.dice for x in both]), abs=1e-14)


@pytest.mark.parametrize(("rule", "threshold"), RULES)
@settings(max_examples=40, deadline=None)
@given(stack=STACKS)
def test_a_partition_equals_a_naive_one(rule, threshold, stack):
    """Every mark in one lesion, none with two of a rater; the same as merging step by step over all pairs."""
    from scipy import ndimage

    marks = []
    for rater, mask in enumerate(stack):
        numbers, count = ndimage.label(mask, np.ones((3, 3)))
        marks += [(rater, frozenset(np.flatnonzero(numbers == k))) for k in range(1, count + 1)]
    centre = [np.mean([divmod(p, 8) for p in pixels], axis=0) for _, pixels in marks]

    def means(c, d):
        pairs = [(marks[i][1], marks[j][1], math.dist(centre[i], centre[j])) for i in c for j in d]
        iou = np.mean([len(a & b) / len(a | b) for a, b, _ in pairs])
        share = np.mean([len(a & b) / min(len(a), len(b)) for a, b, _ in pairs])
        distance = np.mean([far for _, _, far in pairs])
        return round(float(iou), 9), round(float(share), 9), round(float(distance), 9)

    def keeps(m):
        return m[2] <= threshold if rule == "distance" else m[("iou", "overlap").index(rule)] >= threshold

    clusters, tied = [(i,) for i in range(len(marks))], False
    while True:
        steps = {}
        for a in range(len(clusters)):
            for b in range(a):
                apart = not {marks[i][0] for i in clusters[a]} & {marks[i][0] for i in clusters[b]}
                if apart and keeps(m := means(clusters[a], clusters[b])):
                    steps.setdefault((-m[0], m[2] if rule == "distance" else 0), []).append((a, b))
        if not steps:
            break
        best = steps[min(steps)]
        tied = tied or len(best) > 1
        a, b = best[0]
        clusters = [c for k, c in enumerate(clusters) if k not in (a, b)] + [clusters[a] + clusters[b]]
    match = mt.match_lesions(list(stack), rule, threshold)
    found = (match.found == 1).sum(axis=0)
    assert found.tolist() == [sum(r == rater for r, _ in marks) for rater in range(len(stack))]
    if not tied:
        wanted = sorted(tuple(sorted(len(marks[i][1]) for i in c)) for c in clusters)
        assert sorted(tuple(sorted(x.sizes)) for x in match.lesions) == wanted
        assert len(match) == len(clusters)


@settings(max_examples=30, deadline=None)
@given(stack=STACKS)
def test_thresholds_at_once_are_those_one_by_one(stack):
    for rule, threshold in RULES:
        match = mt.match_lesions(list(stack), rule, threshold)
        curve = match.over()
        assert len(curve) == (10 if rule == "distance" else 9)
        for other, found in curve.items():
            assert found.lesion_of.tolist() == mt.match_lesions(list(stack), rule, other).lesion_of.tolist()


def test_means_that_are_equal_to_the_threshold_keep_it():
    # every two share 3 of 5 pixels: 3/5 summed and divided again must not fall below 0.6
    masks = dict.fromkeys("ABC", bar((4, 8))) | {"D": bar((5, 9))}
    for order in permutations(masks):
        match = mt.match_lesions({r: masks[r] for r in order}, "iou", 0.6)
        assert len(match) == 1


# -- hand-made cases -------------------------------------------------------------------------------


def test_what_one_splits_and_another_merges_is_named():
    match = mt.match_lesions({"A": bar((2, 12)), "B": bar((2, 6), (7, 12)), "C": bar((2, 12), (16, 20))})
    assert finders(match) == [("B",), ("A", "B", "C"), ("C",)]
    part, whole, other = match.lesions
    assert (whole.split_by, whole.merged_by, part.merged_by) == (("B",), ("A", "C"), ("A", "C"))
    assert (part.split_by, other.split_by, other.merged_by) == ((), (), ())
    assert (whole.number, whole.cut, whole.extent) == (2, False, pytest.approx((10 + 10 + 5) / 3))


def test_a_lesion_split_in_two_halves_matches_neither():
    match = mt.match_lesions({"A": bar((2, 12)), "B": bar((2, 6), (8, 12))})
    assert sorted(finders(match)) == [("A",), ("B",), ("B",)]
    assert [x.split_by for x in match.lesions if x.found_by == ("A",)] == [("B",)]
    assert all(x.merged_by == ("A",) for x in match.lesions if x.found_by == ("B",))
    assert match.pair("A", "B").pq == 0
    # with the share of the smaller one, one of the two halves is taken, by geometry
    looser = mt.match_lesions({"A": bar((2, 12)), "B": bar((2, 6), (8, 12))}, "overlap", 1.0)
    assert sorted(finders(looser)) == [("A", "B"), ("B",)]


def test_a_touching_neighbour_is_not_a_part():
    match = mt.match_lesions({"A": bar((2, 8)), "B": bar((2, 7), (8, 12)), "C": bar((3, 8), (9, 12))})
    assert all(not x.split_by and not x.merged_by for x in match.lesions)


def test_numbers_of_detection_by_hand():
    masks = {
        "A": bar((1, 3), (5, 7), (9, 11)),
        "B": bar((1, 3), (5, 7)),
        "C": bar((1, 3), (13, 15)),
    }
    match = mt.match_lesions(masks)
    assert match.count_by_finders().tolist() == [0, 2, 1, 1]
    # finders: 3, 2, 1, 1: pairs of finders 6 + 2 of 3·2 + 2·2 + 2 + 2
    assert match.positive_agreement == 8 / 14
    a, b, c = (match.detection(r) for r in "ABC")
    assert (a.expected, a.hits, a.false_marks, a.alone) == (3, 2, 1, 1)
    assert (b.expected, b.hits, b.false_marks, b.alone, b.marks) == (4, 2, 0, 0, 2)
    assert (c.sensitivity, c.false_marks) == (1 / 3, 1)
    pair = match.pair("A", "C")
    assert (pair.matched, pair.rq, pair.sq, pair.pq, pair.f1) == (1, 0.4, 1.0, 0.4, 0.4)
    assert (pair.sensitivity, pair.precision) == (1 / 3, 1 / 2)


def test_greedy_and_bipartite_differ():
    # B's first overlaps both of A's; greedy takes the better pair and leaves two alone
    a, b = np.zeros((2, 3, 20), np.uint8)
    a[1, 0:3], a[1, 4:10] = 1, 2
    b[1, 1:8], b[1, 8:14] = 1, 2
    match = mt.match_lesions({"A": a, "B": b}, threshold=0.1, instances=True)
    assert match.pair("A", "B").matched == 1
    assert match.pair("A", "B", "bipartite").matched == 2


def test_not_rated_is_not_missed():
    hidden = np.ma.array(bar((1, 3)), mask=bar((9, 12)).astype(bool))
    match = mt.match_lesions({"A": bar((1, 3), (9, 11)), "B": hidden, "C": None})
    assert [(x.missed_by, x.not_rated_by) for x in match.lesions] == [((), ("C",)), ((), ("B", "C"))]
    assert match.positive_agreement == 1
    again = mt.match_lesions({"A": bar((1, 3), (9, 11)), "B": bar((1, 3)) + 9 * bar((9, 12))}, void=9)
    assert again.found.tolist() == [[1, 1], [1, -1]]
    assert match.detection("A").alone == 0


def test_instances_are_values_and_need_not_hang_together():
    first, second = np.zeros((2, 4, 12), np.uint16)
    first[1, 1:3], first[1, 3:5], first[3, 1:3] = 700, 41, 700
    second[1, 1:3], second[3, 1:3], second[1, 4:5] = 5, 5, 9
    match = mt.match_lesions({"A": first, "B": second}, instances=True)
    assert [x.sizes for x in match.lesions] == [(4, 4), (2, 1)]
    with pytest.raises(mt.LabelError, match="instances=True"):
        mt.match_lesions({"A": first, "B": second})


def test_border_spacing_region_and_connectivity():
    mask = np.zeros((6, 6), np.uint8)
    mask[0, 0:2], mask[3, 3], mask[4, 4] = 1, 1, 1
    match = mt.match_lesions({"A": mask, "B": mask}, spacing=(0.5, 2))
    assert [(x.cut, x.extent) for x in match.lesions] == [(True, 2.0), (False, 2.0)]
    assert len(mt.match_lesions({"A": mask, "B": mask}, connectivity=1)) == 3
    inside = np.zeros((6, 6), bool)
    inside[2:, 2:] = True
    assert len(mt.match_lesions({"A": mask, "B": mask}, region=inside)) == 1
    # a single slice is not cut along its own axis
    assert [x.cut for x in mt.match_lesions({"A": mask[None], "B": mask[None]}).lesions] == [True, False]


def test_centres_within_a_distance():
    masks = {"A": bar((2, 4)), "B": bar((5, 7)), "C": bar((9, 11))}
    assert finders(mt.match_lesions(masks, "distance", 3)) == [("A", "B"), ("C",)]
    assert finders(mt.match_lesions(masks, "distance", 3, spacing=(1, 0.5))) == [("A", "B", "C")]
    assert len(mt.match_lesions(masks, "distance", 3.5).over()) == 10


def test_nothing_marked():
    match = mt.match_lesions({"A": bar(), "B": bar()})
    assert (len(match), match.lesions) == (0, ())
    pair = match.pair("A", "B")
    assert [x.code for x in (pair.pq, pair.sq, pair.rq)] == ["both_empty"] * 3
    assert match.positive_agreement.code == "no_lesion"
    assert match.dice.code == "no_lesion_found_twice"
    assert all(len(found) == 0 for found in match.over().values())
    one = mt.match_lesions({"A": bar((1, 3)), "B": bar()}).pair("A", "B")
    assert (one.pq, one.rq, one.sq.code) == (0, 0, "no_lesion_matched")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ({"threshold": 0}, "above 0 and at most 1; got 0"),
        ({"threshold": 1.01}, "above 0 and at most 1"),
        ({"threshold": math.nan}, "above 0 and at most 1"),
        ({"rule": "overlap", "threshold": -1}, "above 0"),
        ({"rule": "distance"}, "needs a threshold"),
        ({"rule": "distance", "threshold": math.inf}, "positive and finite"),
        ({"rule": "dice"}, "iou, overlap, distance"),
        ({"connectivity": 3}, "from 1 to 2"),
        ({"spacing": (1, 0)}, "2 positive numbers"),
    ],
)
def test_calls_that_are_refused(call, text):
    with pytest.raises(mt.CallError, match=text):
        mt.match_lesions({"A": bar((1, 3)), "B": bar((1, 3))}, **call)


def test_too_many_lesions_is_a_limit_that_is_said():
    mask = np.zeros((400, 520), np.uint8)
    mask[::2, ::2] = 1
    with pytest.raises(mt.InputError, match=r"104,000 lesions in one image, and at most 100,000"):
        mt.match_lesions({"A": mask, "B": mask})
    assert len(mt.match_lesions({"A": mask[:100], "B": mask[:100]})) == 50 * 260


def test_names_that_are_unknown():
    match = mt.match_lesions({"A": bar((1, 3)), "B": bar((1, 3))})
    for wrong in (lambda: match.detection("C"), lambda: match.pair("A", "A"), lambda: match.pairs("best")):
        with pytest.raises(mt.CallError):
            wrong()
    assert match.to_frame()["found_by"].tolist() == [("A", "B")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": np.eye(5)}, "rule must be a name such as 'iou'; got ndarray; masks come as one mapping"),
        ({"spacing": 1}, "spacing must be 2 positive numbers, one for each axis; got 1"),
        ({"spacing": "ab"}, "spacing must be 2 positive numbers"),
        ({"connectivity": "x"}, "connectivity must be from 1 to 2"),
        ({"threshold": "x"}, "threshold must be a number; got 'x'"),
    ],
)
def test_wrong_calls_have_one_line(options, message):
    with pytest.raises(mt.CallError, match=message) as found:
        mt.match_lesions({"A": np.eye(5), "B": np.eye(5)}, **options)
    assert "\n" not in str(found.value)


def test_two_arrays_are_no_mapping():
    with pytest.raises(mt.CallError, match=r"one mapping, \{rater: mask\}"):
        mt.match_lesions(np.eye(5), np.eye(5))


@pytest.mark.parametrize("instances", [False, True])
@pytest.mark.parametrize(("value", "message"), [(math.nan, "B: the mask has nan"), (-1, "B: the mask has values")])
def test_values_that_are_neither_marked_nor_unmarked(value, message, instances):
    odd = np.eye(5)
    odd[0, 1] = value
    with pytest.raises(mt.LabelError, match=message):
        mt.match_lesions({"A": np.eye(5), "B": odd}, instances=instances)
    hidden = np.ma.masked_array(odd, odd != np.abs(odd))
    assert len(mt.match_lesions({"A": np.eye(5), "B": hidden})) == 1
