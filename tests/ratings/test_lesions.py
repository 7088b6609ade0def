"""Lesions as ratings: against a flood fill by hand, SimpleITK, and simulated raters whose misses are known."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manytruths as mt
from data_folder import data
from manytruths import LesionRatings, SigmaStatistic, lesion_ratings, pool_lesions, sigma
from panels import VOID, panels
from study_folders import disc, pixels

# -- a flood fill ----------------------------------------------------------------------------------


def pieces(items, reach):
    """Connected sets of positions; neighbours differ by at most 1 along every axis, and along at most reach axes."""
    left, found = set(items), []
    while left:
        piece, edge = set(), [left.pop()]
        while edge:
            here = edge.pop()
            piece.add(here)
            for step in product((-1, 0, 1), repeat=len(here)):
                there = tuple(a + b for a, b in zip(here, step, strict=True))
                if there in left and 0 < sum(map(abs, step)) <= reach:
                    left.remove(there)
                    edge.append(there)
        found.append(piece)
    return found


def naive(masks, label, reach, least, overlap):
    """Per lesion: place of its first item, who found it (None where not rated), mean Dice, pieces."""
    shape = next(m.shape for m in masks.values() if m is not None)
    everywhere = list(product(*map(range, shape)))
    marks = {n: {w for w in everywhere if m is not None and m[w] == label} for n, m in masks.items()}
    seen = {n: {w for w in everywhere if m is not None and m[w] != VOID} for n, m in masks.items()}
    rows = []
    for lesion in pieces(set().union(*marks.values()), reach):
        if len(lesion) < least:
            continue
        found = {}
        for name in masks:
            looked, own = lesion & seen[name], lesion & marks[name]
            found[name] = None if not looked else bool(own) if overlap is None else len(own) / len(looked) >= overlap
        dice = []
        for a, b in combinations([n for n in masks if found[n]], 2):
            both = seen[a] & seen[b] & lesion
            either = len(marks[a] & both) + len(marks[b] & both)
            if either:
                dice.append(2 * len(marks[a] & marks[b] & both) / either)
        blobs = tuple(len(pieces(lesion & marks[n], reach)) for n in masks)
        place = tuple(np.mean(list(lesion), axis=0))
        rows.append((min(lesion), len(lesion), place, found, np.mean(dice) if dice else None, blobs))
    return sorted(rows, key=lambda row: row[0])


@given(panels(raters=(2, 4), absent=True, labels=(2, 3)), st.data())
def test_lesions_are_those_of_a_flood_fill(panel, draw):
    axes = next(m.ndim for m in panel.masks.values() if m is not None)
    reach, least = draw.draw(st.integers(1, axes)), draw.draw(st.integers(1, 3))
    overlap = draw.draw(st.sampled_from([None, 0.25, 0.5, 1.0]))
    found = lesion_ratings(
        panel.masks, connectivity=reach, min_size=least, overlap=overlap, labels=panel.labels, void=VOID
    )
    for label in panel.labels[1:]:
        wanted = naive(panel.masks, label, reach, least, overlap)
        part = found.select_label(str(label))
        assert len(part) == len(wanted)
        ours = sorted(part.lesions, key=lambda lesion: lesion.centroid)
        for lesion, (_, size, place, who, dice, blobs) in zip(ours, sorted(wanted, key=lambda w: w[2]), strict=True):
            assert lesion.size == size
            assert lesion.centroid == pytest.approx(place)
            if len({w[2] for w in wanted}) < len(wanted):
                continue  # two around the same middle: which is which is not known here
            assert lesion.found_by == tuple(n for n, f in who.items() if f)
            assert lesion.missed_by == tuple(n for n, f in who.items() if f is False)
            assert lesion.pieces == blobs
            assert np.isnan(lesion.dice) if dice is None else lesion.dice == pytest.approx(dice)
    assert np.array_equal(found.ratings.given.sum(axis=1), [len(x.found_by) + len(x.missed_by) for x in found.lesions])
    assert np.array_equal(found.tally.items, len(found))


@pytest.mark.slow
@given(panels(raters=(2, 4), labels=(2, 2)), st.randoms())
def test_raters_in_another_order_say_the_same(panel, random):
    names = list(panel.masks)
    random.shuffle(names)
    one, two = (
        lesion_ratings({n: panel.masks[n] for n in order}, labels=panel.labels, void=VOID)
        for order in (panel.masks, names)
    )
    where = [two.ratings.raters.index(r) for r in one.ratings.raters]
    assert np.array_equal(one.ratings.codes, two.ratings.codes[:, where])
    assert [x.size for x in one.lesions] == [x.size for x in two.lesions]
    assert np.allclose([x.dice for x in one.lesions], [x.dice for x in two.lesions], equal_nan=True)
    assert one.bridged == two.bridged


# -- by hand ---------------------------------------------------------------------------------------


def test_detection_stands_beside_delineation():
    """A and B find the left lesion and draw it differently, the right one is A's alone; C saw nothing."""
    left = np.pad(np.ones((2, 4), int), ((1, 3), (1, 7)))
    masks = {"A": left.copy(), "B": np.where(np.arange(12) < 3, left, 0), "C": np.zeros((6, 12), int), "D": None}
    masks["A"][4:, 8:10] = 1
    found = lesion_ratings(masks, spacing=(2, 0.5))
    first, second = found.lesions
    assert (first.size, first.extent, first.centroid) == (8, 8.0, (1.5, 2.5))
    assert first.found_by == ("A", "B")
    assert first.missed_by == second.missed_by[1:] == ("C",)
    assert first.dice == pytest.approx(2 * 4 / (8 + 4))
    assert np.isnan(second.dice)
    assert second.dice.reason == "fewer than two raters found it"
    assert found.delineation == first.dice
    assert found.ratings.codes.tolist() == [[1, 1, 0, -1], [1, 0, 0, -1]]
    assert found.count_by_finders().tolist() == [0, 1, 1, 0, 0]
    assert found.curve.share.tolist() == [1, 0.5, 0, 0]
    each = found.findings()
    assert each.alone.tolist() == [1, 0, 0, 0]
    assert np.allclose(each.share, [1, 0.5, 0, np.nan], equal_nan=True)
    assert np.isnan(each.of_others[0])
    assert each.of_others[2] == 0
    assert each.others.tolist() == [0, 0, 1, 0]


def test_a_bridge_joins_two_lesions_and_is_counted():
    two = np.array([[1, 1, 0, 1, 1]])
    one, only = np.ones((1, 5), int), np.array([[1, 0, 0, 0, 0]])
    assert lesion_ratings({"A": two, "B": only}).bridged == 0
    found = lesion_ratings({"A": two, "B": one, "C": only})
    assert len(found) == found.bridged == 1
    assert found.lesions[0].pieces == (2, 1, 1)
    assert found.lesions[0].found_by == ("A", "B", "C")
    assert lesion_ratings({"A": two, "B": two}).bridged == 0


def test_a_share_may_be_asked_for():
    whole, some = np.ones((1, 30), int), (np.arange(30) < 3).astype(int)[None]
    for overlap, who in ((None, ("A", "B")), (0.1, ("A", "B")), (0.11, ("A",)), (1.0, ("A",))):
        assert lesion_ratings({"A": whole, "B": some}, overlap=overlap).lesions[0].found_by == who
    halves = {"A": (np.arange(30) < 16).astype(int), "B": (np.arange(30) > 14).astype(int)}
    nobody = lesion_ratings(halves, overlap=0.6)
    assert nobody.ratings.codes.tolist() == [[0, 0]]
    assert nobody.count_by_finders().tolist() == [1, 0, 0]


def test_what_touches_by_a_corner_depends_on_connectivity():
    mask = np.eye(3, dtype=int)
    assert [len(lesion_ratings({"A": mask, "B": mask}, connectivity=c)) for c in (None, 1, 2)] == [1, 3, 1]
    cube = np.zeros((2, 2, 2), int)
    cube[0, 0, 0] = cube[1, 1, 1] = 1
    assert [len(lesion_ratings({"A": cube, "B": cube}, connectivity=c)) for c in (1, 2, 3, None)] == [2, 2, 1, 1]


def test_specks_are_left_out_and_counted():
    found = lesion_ratings({"A": [[1, 0, 1, 1]], "B": [[0, 0, 0, 1]]}, min_size=2)
    assert (len(found), found.specks) == (1, 1)


def test_labels_and_regions():
    a, b = np.array([[1, 1, 0, 2, 2]]), np.array([[1, 2, 0, 2, 0]])
    found = lesion_ratings({"A": a, "B": b}, labels={1: "cyst", 2: "tumour"})
    assert [(x.name, x.found_by) for x in found.lesions] == [
        ("cyst 1", ("A", "B")),
        ("tumour 1", ("B",)),
        ("tumour 2", ("A", "B")),
    ]
    assert len(found.select_label("cyst")) == 1
    united = lesion_ratings({"A": a, "B": b}, foreground="any")
    assert [x.label for x in united.lesions] == ["any", "any"]
    cut = lesion_ratings({"A": a, "B": b}, labels=(0, 1, 2), region=[[1, 1, 0, 0, 1]])
    assert [(x.label, x.size, x.found_by) for x in cut.lesions] == [
        ("1", 2, ("A", "B")),
        ("2", 1, ("B",)),
        ("2", 1, ("A",)),
    ]


def test_who_marked_nothing_at_all():
    empty = lesion_ratings({"A": np.zeros((4, 4)), "B": np.zeros((4, 4))})
    assert len(empty) == 0
    assert empty.count_by_finders().tolist() == [0, 0, 0]
    assert np.isnan([empty.delineation, sigma(empty.ratings).value, mt.positive_agreement(empty.tally)]).all()
    assert np.isnan(empty.findings().share).all()
    both = pool_lesions({"p1": empty, "p2": lesion_ratings({"A": [[1]], "B": [[1]]})})
    assert len(both) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"connectivity": 3}, "connectivity must be from 1 to 2"),
        ({"connectivity": 0}, "connectivity"),
        ({"min_size": 0}, "min_size must be at least 1"),
        ({"overlap": 0}, "overlap must be above 0"),
        ({"overlap": 1.5}, "overlap must be above 0"),
        ({"spacing": (1,)}, "spacing must have 2 numbers"),
        ({"region": [[1]]}, "the region is 1×1 but the masks are 2×2"),
        ({"foreground": "all"}, "foreground"),
    ],
)
def test_what_has_no_answer_is_refused(options, says):
    with pytest.raises(mt.ManytruthsError, match=says):
        lesion_ratings({"A": np.eye(2, dtype=int), "B": np.eye(2, dtype=int)}, **options)


# -- many images -----------------------------------------------------------------------------------


def test_images_are_pooled_with_their_patients():
    one = lesion_ratings({"A": [[1, 0, 1]], "B": [[1, 0, 0]]})
    other = lesion_ratings({"B": [[1]], "C": [[1]]})
    found = pool_lesions({"p1": one, "p2": other, "p3": one}, {"p1": "s1", "p3": "s1"})
    assert found.ratings.raters == ("A", "B", "C")
    assert found.ratings.subjects == ("s1", "s1", "p2", "s1", "s1")
    assert found.ratings.cases[:3] == ("p1: 1", "p1: 2", "p2: 1")
    assert found.ratings.codes.tolist() == [[1, 1, -1], [1, 0, -1], [-1, 1, 1], [1, 1, -1], [1, 0, -1]]
    assert [lesion.case for lesion in found.lesions] == ["p1", "p1", "p2", "p3", "p3"]
    with pytest.raises(mt.CallError, match="by_case is empty"):
        pool_lesions({})


def test_intervals_draw_patients():
    """Twice as many images of the same patients say nothing new, and the interval stays."""
    random = np.random.default_rng(1)
    drawn = {f"s{i}": {n: (random.random((1, 40)) < 0.2) for n in "ABC"} for i in range(40)}
    tables = {subject: lesion_ratings(masks).tally for subject, masks in drawn.items()}
    once = mt.Tallies(tables)
    again = mt.Tallies(
        {f"{s} {k}": t for s, t in tables.items() for k in "12"}, {f"{s} {k}": s for s in tables for k in "12"}
    )
    for statistic in (mt.positive_agreement, SigmaStatistic(0.8)):
        one, two = (mt.confidence_interval(statistic, tallies) for tallies in (once, again))
        assert (one.low, one.high) == pytest.approx((two.low, two.high))


def test_kappa_is_too_low_and_positive_agreement_is_not():
    """Two raters who find each of 20,000 lesions with a chance of 0.7: what both missed is never seen."""
    random = np.random.default_rng(0)
    masks = {name: np.kron(random.random((1, 20_000)) < 0.7, [[1, 0]]).astype(int) for name in "AB"}
    found = lesion_ratings(masks)
    assert len(found) == pytest.approx(20_000 * 0.91, rel=0.01)
    assert mt.positive_agreement(found.tally) == pytest.approx(0.7, abs=0.01)
    assert mt.fleiss_kappa(found.tally) < -0.25  # of raters who are independent: 0, were all 20,000 known
    assert found.findings().of_others == pytest.approx([0.7, 0.7], abs=0.012)


# -- raters whose misses are known -----------------------------------------------------------------


@pytest.fixture(scope="module")
def phantoms() -> tuple[LesionRatings, dict[tuple[str, int], float]]:
    """All lesions of 150 phantoms, the truth being one more rater, and how visible the truth's lesions are."""
    by_case, visible = {}, {}
    for case in mt.simulate_study(cases=150, size=96, seed=5):
        masks = {rater: marking.mask for (rater, session), marking in case.readings.items() if session == "1"}
        found = lesion_ratings({**masks, "truth": case.truth})
        by_case[case.name] = found
        for k, lesion in enumerate(found.lesions):
            near = [t.visibility for t in case.phantom.lesions if t.mask[tuple(np.rint(lesion.centroid).astype(int))]]
            if near and lesion.pieces[-1] == 1:
                visible[case.name, k] = near[0]
    return pool_lesions(by_case), visible


def test_misses_are_those_of_the_simulated_raters(phantoms):
    found, visible = phantoms
    rows = [i for i, lesion in enumerate(found.lesions) if "truth" in lesion.found_by]
    assert len(rows) > 180
    first = {}
    for i, lesion in enumerate(found.lesions):
        first.setdefault(lesion.case, i)
    known = [i for i in rows if (found.lesions[i].case, i - first[found.lesions[i].case]) in visible]
    assert len(known) > 0.9 * len(rows)
    seen = np.array([visible[found.lesions[i].case, i - first[found.lesions[i].case]] for i in known])
    for rater in mt.simulate_study(1).raters:
        codes = found.ratings.codes[known, found.ratings.position(rater.name)]
        chance = rater.miss * (2 - seen)[codes >= 0]
        missed = (codes[codes >= 0] == 0).mean()
        error = np.sqrt((chance * (1 - chance)).sum()) / len(chance)
        assert abs(missed - chance.mean()) < 3 * error, rater.name


def test_the_others_tell_misses_without_the_truth(phantoms):
    found, _ = phantoms
    blind = LesionRatings(found.ratings.select(raters="ABCDE"), found.lesions)
    real = LesionRatings(found.ratings.select(cases=found.ratings.codes[:, -1] == 1, raters="ABCDE"), ())
    with_truth, without = real.findings().share, blind.findings().of_others
    assert np.abs(with_truth - without).max() < 0.03
    assert np.argmin(without) == 3  # D, the careless one
    alarms = found.ratings.codes[:, -1] == 0
    alone = found.ratings.codes[alarms][:, :5] == 1
    assert blind.findings().alone[3] == pytest.approx(alone[:, 3].sum(), abs=3)
    assert np.argmax(blind.findings().alone) == 3


# -- real masks ------------------------------------------------------------------------------------


def same_as_simpleitk(masks, reach):
    """Sizes of all components, and the mean Dice in the largest."""
    import SimpleITK as sitk

    union = sitk.GetImageFromArray(np.logical_or.reduce(list(masks.values())).astype(np.uint8))
    parts = sitk.GetArrayFromImage(sitk.ConnectedComponent(union, reach > 1))
    sizes = np.bincount(parts.ravel())[1:]
    found = lesion_ratings(masks, connectivity=reach)
    assert sorted(x.size for x in found.lesions) == sorted(sizes.tolist())
    inside = parts == sizes.argmax() + 1
    largest = max(found.lesions, key=lambda x: x.size)
    wanted = [mt.dice(mt.tally([a, b], region=inside)) for a, b in combinations(masks.values(), 2)]
    assert largest.dice == pytest.approx(np.mean(wanted))
    assert largest.centroid == pytest.approx(np.argwhere(inside).mean(axis=0))


@pytest.mark.parametrize("case", ["01L", "05R", "14L"])
def test_components_of_vessels_are_those_of_simpleitk(case):
    folder = data("chasedb1", "raters")
    masks = {path.name: pixels(path / f"{case}.png") > 0 for path in sorted(folder.iterdir())}
    for reach in (1, 2):
        same_as_simpleitk(masks, reach)


def test_a_volume_of_three_raters():
    import nibabel

    masks = {r: np.asarray(nibabel.load(data("volume", f"seg_{r}.nii.gz")).dataobj) > 0 for r in "123"}
    for reach in (1, 3):
        same_as_simpleitk(masks, reach)


def test_discs_are_found_in_the_same_place_in_any_corner():
    for x, y in product((-8, 8), repeat=2):
        mask = disc(x=x, y=y, radius=3)
        assert lesion_ratings([mask, mask]).lesions[0].centroid == pytest.approx((12 + y, 12 + x))


# -- matched lesions -------------------------------------------------------------------------------


def row(*spans):
    mask = np.zeros((3, 30), np.uint8)
    for start, stop in spans:
        mask[1, start:stop] = 1
    return mask


BRIDGED = {"A": row((1, 6), (8, 13), (20, 24)), "B": row((1, 13)), "C": row((2, 6), (8, 14)), "D": None}


def test_matched_lesions_by_hand():
    """B's bridge is a lesion of its own, and joins nobody's; sizes are of what anybody drew of a lesion."""
    assert len(lesion_ratings(BRIDGED)) == 2
    found = lesion_ratings(BRIDGED, rule="iou", spacing=(2, 0.5))
    assert found.ratings.codes.tolist() == [[1, 0, 1, -1], [0, 1, 0, -1], [1, 0, 1, -1], [1, 0, 0, -1]]
    assert [x.size for x in found.lesions] == [5, 12, 6, 4]
    assert [x.extent for x in found.lesions] == [5, 12, 6, 4]
    assert [x.centroid for x in found.lesions] == [(1, 3), (1, 6.5), (1, 10.5), (1, 21.5)]
    assert [x.dice for x in found.lesions][::2] == [8 / 9, 10 / 11]
    assert np.isnan(found.lesions[1].dice)
    assert (found.bridged, found.specks) == (0, 0)
    assert found.lesions[0].pieces == (1, 0, 1, 0)
    # half of the smaller one is enough: A's first joins B's, as the larger overlap goes first
    assert lesion_ratings(BRIDGED, rule="overlap").ratings.codes[:, 1].sum() == 1
    assert lesion_ratings(BRIDGED, rule="distance", threshold=1).ratings.codes.tolist() == found.ratings.codes.tolist()
    small = lesion_ratings(BRIDGED, rule="iou", min_size=5)
    assert (len(small), small.specks) == (3, 1)


def test_sigma_of_matched_lesions_is_that_of_the_table_of_found_and_missed():
    found = lesion_ratings(BRIDGED, rule="iou")
    table = mt.Ratings.of({"A": [1, 0, 1, 1], "B": [0, 1, 0, 0], "C": [1, 0, 1, 0]}, labels=[0, 1])
    assert sigma(found.ratings).value == sigma(table).value == 1 / 3
    study = mt.Study.from_arrays({"p": BRIDGED, "q": BRIDGED})
    result = mt.reliability(study, lesion_items="matched")
    twice = mt.Ratings.of({"A": [1, 0, 1, 1] * 2, "B": [0, 1, 0, 0] * 2, "C": [1, 0, 1, 0] * 2}, labels=[0, 1])
    pooled = {row.statistic: row.value for row in result.detection.rows if row.scope == "pooled" and not any(row.extra)}
    assert pooled["sigma"] == sigma(twice).value
    assert pooled["rho"] == pytest.approx(mt.rho(twice, mt.rater_accuracy(twice, "majority").accuracy).value)
    assert pooled["lesions"] == 8
    assert pooled["bridged"] == 0
    assert result.summary()["lesion_items"] == "matched"
    assert any("iou ≥ 0.5" in note for note in result.notes)


@settings(max_examples=30)
@given(panels(raters=(2, 4), absent=True, labels=(2, 3)), st.sampled_from([0.2, 0.5, 0.8]))
def test_matched_lesions_are_those_of_match_lesions(panel, threshold):
    found = lesion_ratings(panel.masks, rule="iou", threshold=threshold, labels=panel.labels, void=VOID)
    for label in panel.labels[1:]:
        masks = {
            n: m if m is None else np.ma.array(m == label, mask=m == VOID) for n, m in panel.masks.items()
        }  # fmt: skip
        match = mt.match_lesions(masks, "iou", threshold)
        part = found.select_label(str(label))
        assert np.array_equal(part.ratings.codes, match.found)
        for ours, theirs in zip(part.lesions, match.lesions, strict=True):
            assert (ours.found_by, ours.missed_by) == (theirs.found_by, theirs.missed_by)
            assert np.isnan(ours.dice) if np.isnan(theirs.dice) else ours.dice == theirs.dice
            if len(theirs.sizes) == 1:
                assert ours.size == theirs.sizes[0]
                assert ours.centroid == pytest.approx(theirs.centroid)


def test_instances_are_lesions_where_they_touch():
    touching = np.array([[1, 1, 2, 2, 2, 0]])
    masks = {"A": touching, "B": touching * 300}
    assert len(lesion_ratings(masks, foreground="any")) == 1
    found = lesion_ratings(masks, rule="iou", instances=True)
    assert found.ratings.codes.tolist() == [[1, 1], [1, 1]]
    study = mt.Study.from_arrays({"p": {r: m.astype(np.uint16) for r, m in masks.items()}}, instances=True)
    assert len(mt.reliability(study, lesion_items="matched").lesions) == 2
    assert len(mt.reliability(study).lesions) == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rule": "iou", "overlap": 0.5}, "overlap is for lesions without a rule"),
        ({"threshold": 0.5}, "threshold is for lesions that are matched by a rule"),
        ({"instances": True}, "instances is for lesions that are matched by a rule"),
        ({"rule": "touch"}, "rule must be one of"),
        ({"rule": "iou", "threshold": 0}, "above 0 and at most 1"),
        ({"rule": "distance"}, "needs a threshold"),
    ],
)
def test_what_belongs_to_the_other_definition_is_refused(wrong, said):
    with pytest.raises(mt.CallError, match=said):
        lesion_ratings(BRIDGED, **wrong)


def test_matched_lesions_from_the_command_line(tmp_path, capsys):
    from manytruths.cli import status
    from study_folders import table, write_png

    for case in ("p", "q"):
        for rater, mask in BRIDGED.items():
            if mask is not None:
                write_png(tmp_path / "masks" / rater / f"{case}.png", mask)
    start = ["reliability", str(tmp_path / "masks/{rater}/{case}.png"), "--quiet", "--out", str(tmp_path / "out")]
    assert status([*start, "--lesion-items", "matched", "--lesion-threshold", "0.85"]) == 0
    rows = table(tmp_path / "out/reliability/detection.csv")
    lesions = next(r for r in rows if (r["scope"], r["statistic"]) == ("pooled", "lesions"))
    assert float(lesions["value"]) == 12
    for more, said in (
        (["--lesion-rule", "iou"], "--lesion-rule is for --lesion-items matched"),
        (["--lesion-items", "matched", "--lesion-overlap", "0.5"], "--lesion-overlap is for components of the union"),
    ):
        assert status([*start, *more]) == 2
        assert said in capsys.readouterr().err
