"""Lesions of algorithms: scores against every reference standard, and free-response curves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage, stats

import manytruths as mt
from manytruths.analyses.evaluate.froc import AT_RATES, Curve, _rows
from manytruths.analyses.evaluate.lesions import FreeResponse
from manytruths.analyses.tables import Settings
from manytruths.evaluation.ranking.scores import best_value, direction, worst_value

LESIONS = ("lesion_sensitivity", "lesion_precision", "lesion_f1", "lesion_pq", "lesion_sq", "lesion_rq")


def line(*spans: tuple[float, ...]) -> np.ndarray:
    mask = np.zeros((5, 40))
    for start, stop, *value in spans:
        mask[2, int(start) : int(stop)] = value[0] if value else 1
    return mask


def whole(mask: np.ndarray) -> np.ndarray:
    return mask.astype(np.uint8)


RATERS = {
    "p1": {"A": line((2, 6), (10, 20), (25, 28)), "B": line((2, 6), (10, 18)), "C": line((2, 5), (10, 20))},
    "p2": {"A": line(), "B": line(), "C": line((30, 33))},
}
RATERS = {case: {r: whole(m) for r, m in masks.items()} for case, masks in RATERS.items()}
PREDICTIONS = {
    "p1": {"unet": whole(line((2, 6), (12, 20), (33, 36))), "net": whole(line())},
    "p2": {"unet": whole(line()), "net": whole(line((30, 33)))},
}


@pytest.fixture(scope="module")
def result():
    study = mt.Study.from_arrays(RATERS, predictions=PREDICTIONS, references={"p1": {"biopsy": RATERS["p1"]["A"]}})
    return mt.evaluate(study, consensus="vote:0.5,lesions:0.5", pictures=False, second_look=False)


def score(result, statistic, algorithm, against, case):
    return result.tables["scores"].find(statistic, "case", algorithm=algorithm, against=against, case=case).value


def test_scores_are_those_of_matched_pairs(result):
    for against in ("A", "B", "C"):
        masks = {"reference": RATERS["p1"][against], "unet": PREDICTIONS["p1"]["unet"]}
        pair = mt.match_lesions(masks).pair("reference", "unet")
        wanted = (pair.sensitivity, pair.precision, pair.f1, pair.pq, pair.sq, pair.rq)
        assert [score(result, name, "unet", against, "p1") for name in LESIONS] == list(wanted)
    assert score(result, "lesion_sensitivity", "unet", "A", "p1") == 2 / 3
    assert score(result, "lesion_f1", "unet", "biopsy", "p1") == score(result, "lesion_f1", "unet", "A", "p1")
    vote = mt.consensus(result.study["p1"], "lesions:0.5").values
    pair = mt.match_lesions({"vote": vote, "unet": PREDICTIONS["p1"]["unet"]}).pair("vote", "unet")
    assert score(result, "lesion_pq", "unet", "lesions:0.5", "p1") == pair.pq


def test_empty_masks_have_codes(result):
    assert [score(result, name, "unet", "A", "p2").code for name in LESIONS] == ["both_empty"] * 6
    assert score(result, "lesion_sensitivity", "net", "A", "p1") == 0
    assert score(result, "lesion_precision", "net", "A", "p1").code == "first_empty"
    assert score(result, "lesion_sensitivity", "net", "A", "p2").code == "second_empty"
    assert score(result, "lesion_sq", "net", "A", "p1").code == "no_lesion_matched"
    assert score(result, "lesion_pq", "net", "A", "p2") == 0


def test_sq_of_nothing_matched_is_left_out_of_means_and_pq_and_f1_are_0(result):
    scores, human = result.tables["scores"], result.tables["human"]
    nothing = scores.find("lesion_sq", "mean", algorithm="net", against="A")
    assert (nothing.value.code, nothing.n, nothing.n_undefined) == ("undefined_for_every_subject", 0, 2)
    for name in ("lesion_pq", "lesion_f1", "lesion_rq"):
        assert scores.find(name, "mean", algorithm="net", against="A").value == 0
    # unet and C: matched in p1, nothing in p2, where unet is empty and C is not; the same of raters
    for row in (
        scores.find("lesion_sq", "mean", algorithm="unet", against="C"),
        human.find("lesion_sq", "mean", rater="B", against="C"),
    ):
        assert (row.n, row.n_undefined) == (1, 1)
    assert scores.find("lesion_sq", "mean", algorithm="unet", against="C").value == (3 / 4 + 8 / 10) / 2
    assert scores.find("lesion_pq", "mean", algorithm="unet", against="C").value == pytest.approx(0.31)
    # against all raters at once: those who drew nothing either say nothing about how alike lesions are
    assert score(result, "lesion_f1", "unet", "mean of raters", "p2") == 2 / 3
    assert np.isnan(score(result, "lesion_sq", "unet", "mean of raters", "p2"))


def test_raters_are_scored_too_and_ranks_know_the_direction(result):
    human = result.tables["human"].find("lesion_pq", "case", rater="B", against="A", case="p1").value
    assert human == mt.match_lesions(RATERS["p1"]).pair("A", "B").pq
    sides = [result.tables["human"].find(name, "case", rater="B", against="A", case="p1").value for name in LESIONS[:2]]
    assert sides == [2 / 3, 1]
    # the other way round, what was sensitivity is precision
    turned = [
        result.tables["human"].find(name, "case", rater="A", against="B", case="p1").value for name in LESIONS[:2]
    ]
    assert turned == [1, 2 / 3]
    for name in LESIONS:
        assert (direction(name), worst_value(name), best_value(name)) == ("higher", 0, 1)
    assert {row["metric"] for row in result.tables["rankings"].rows} >= set(LESIONS)


def test_without_lesions():
    study = mt.Study.from_arrays(RATERS, predictions=PREDICTIONS)
    found = mt.evaluate(study, pictures=False, second_look=False, lesions=False, distances=False)
    assert not {row.statistic for row in found.tables["scores"].rows} & set(LESIONS)


def test_areas_that_are_not_judged_hold_no_lesions(tmp_path):
    from study_folders import write_png

    for case, masks in RATERS.items():
        for rater, mask in masks.items():
            write_png(tmp_path / f"{rater}/{case}.png", mask)
        write_png(tmp_path / f"unet-{case}.png", PREDICTIONS[case]["unet"])
        write_png(tmp_path / f"area-{case}.png", whole(line((8, 40))))
    study = mt.Study.open(
        str(tmp_path / "{rater}/{case}.png"), predictions=str(tmp_path / "unet-{case}.png"),
        training=str(tmp_path / "area-{case}.png"), labels=[0, 1],
    )  # fmt: skip
    found = mt.evaluate(study, pictures=False, distances=False)
    assert score(found, "lesion_f1", "prediction", "A", "p1") == 1


def test_a_missing_prediction_finds_nothing():
    study = mt.Study.from_arrays(RATERS, predictions={"p1": PREDICTIONS["p1"], "p2": {"unet": whole(line())}})
    found = mt.evaluate(study, pictures=False, second_look=False, distances=False)
    assert score(found, "lesion_f1", "net", "C", "p2").code == "no_prediction"
    mean = found.tables["scores"].find("lesion_f1", "mean", algorithm="net", against="C")
    assert mean.value == 0


# -- component by component --------------------------------------------------------------------------

CASES = [f"q{i}" for i in range(4)]
ROLES = {"rater": "ABC", "algorithm": "xy", "reference": "R"}


def speckled(seed: int) -> np.ndarray:
    """Some rectangles that are the same for all, each moved, missed or joined by a bar now and then."""
    same, own = np.random.default_rng(seed % 100), np.random.default_rng(seed)
    mask = np.zeros((48, 48), np.uint8)
    for top, left, height, width in same.integers([2, 2, 3, 3], [38, 38, 9, 9], (7, 4)):
        down, right = own.integers(-1, 2, 2)
        if own.random() < 0.75:
            mask[max(top + down, 0) : top + down + height, max(left + right, 0) : left + right + width] = 1
    if own.random() < 0.5:
        mask[24, 10:38] = 1
    return mask


DRAWN = {
    (who, case): speckled(100 * k + i)
    for i, case in enumerate(CASES)
    for k, who in enumerate("".join(ROLES.values()))
}  # fmt: skip
DRAWN["B", "q3"] = DRAWN["x", "q3"] = DRAWN["y", "q2"] = np.zeros((48, 48), np.uint8)


def naive_lesions(mask: np.ndarray, reference: np.ndarray, threshold: float) -> dict[str, float | None]:
    """All pairs of components in plain loops, taken greedily by IoU; None where a number is undefined."""

    def parts(marked):
        numbers, count = ndimage.label(marked, np.ones((3, 3)))
        return [{tuple(at) for at in np.argwhere(numbers == k + 1).tolist()} for k in range(count)]

    own, theirs = parts(mask), parts(reference)
    pairs = [(len(a & b) / len(a | b), i, j) for i, a in enumerate(own) for j, b in enumerate(theirs)]
    free, matched = (set(range(len(own))), set(range(len(theirs)))), []
    for iou, i, j in sorted(pairs, reverse=True):
        if iou >= threshold and i in free[0] and j in free[1]:
            matched.append(iou)
            free[0].remove(i)
            free[1].remove(j)
    count, total = len(matched), len(own) + len(theirs)
    f1 = 2 * count / total if total else None
    sq = sum(matched) / count if count else None
    pq = f1 * sq if count else f1
    values = (count / len(theirs) if theirs else None, count / len(own) if own else None, f1, pq, sq, f1)
    return dict(zip(LESIONS, values, strict=True))


@pytest.fixture(scope="module", params=[0.5, 0.15])
def spots(request):
    by_role = {role: {c: {w: DRAWN[w, c] for w in names} for c in CASES} for role, names in ROLES.items()}
    study = mt.Study.from_arrays(by_role["rater"], predictions=by_role["algorithm"], references=by_role["reference"],
                                  lesion_threshold=request.param)  # fmt: skip
    chosen = {"consensus": "vote:0.5,lesions:0.5", "pictures": False, "second_look": False, "distances": False}
    return study, mt.evaluate(study, **chosen), request.param


def assert_same(row, wanted):
    assert np.isnan(row.value) if wanted is None else row.value == pytest.approx(wanted, abs=1e-12), row


def test_scores_of_lesions_are_those_of_plain_loops(spots):
    """Every case and mean of the algorithms, against raters, a given reference and both kinds of consensus."""
    study, found, threshold = spots
    drawn = dict(DRAWN)
    for method in ("vote:0.5", "lesions:0.5"):
        drawn |= {(method, case): np.asarray(mt.consensus(study[case], method).values) != 0 for case in CASES}
    seen = set()
    for algorithm in "xy":
        for against in (*"ABC", "R", "vote:0.5", "lesions:0.5"):
            by_case = [naive_lesions(drawn[algorithm, case], drawn[against, case], threshold) for case in CASES]
            for name in LESIONS:
                for case, naive in zip(CASES, by_case, strict=True):
                    row = found.tables["scores"].find(name, "case", algorithm=algorithm, against=against, case=case)
                    assert_same(row, naive[name])
                    seen.add(row.value if naive[name] is not None else row.value.code)
                known = [naive[name] for naive in by_case if naive[name] is not None]
                row = found.tables["scores"].find(name, "mean", algorithm=algorithm, against=against)
                assert_same(row, float(np.mean(known)) if known else None)
                assert (row.n, row.n_undefined) == (len(known), len(CASES) - len(known))
    assert {"both_empty", "first_empty", "second_empty", "no_lesion_matched"} <= seen
    assert len(seen) > 30


def test_lesions_of_raters_are_those_of_plain_loops(spots):
    _, found, threshold = spots
    others = {
        (case, rater): sum(DRAWN[r, case] for r in "ABC" if r != rater) >= 1 for case in CASES for rater in "ABC"
    }  # of two raters, half is one
    for rater in "ABC":
        for against in (*(r for r in "ABC" if r != rater), "R", "vote:0.5"):
            for case in CASES:
                reference = others[case, rater] if against == "vote:0.5" else DRAWN[against, case]
                naive = naive_lesions(DRAWN[rater, case], reference, threshold)
                whom = f"{against} of the others" if against == "vote:0.5" else against
                for name in LESIONS:
                    row = found.tables["human"].find(name, "case", rater=rater, against=whom, case=case)
                    assert_same(row, naive[name])


# -- FROC --------------------------------------------------------------------------------------------

MAPS = {
    "p1": {"unet": line((2, 6, 0.9), (10, 20, 0.6), (33, 36, 0.3))},
    "p2": {"unet": line((30, 33, 0.2), (2, 5, 0.72))},
}


def test_free_response_curves_by_hand():
    study = mt.Study.from_arrays(RATERS, predictions=MAPS, probability=True)
    found = mt.evaluate(study, consensus="vote:0.5", second_look=False, threshold=0.1)
    table = found.tables["froc"]

    def curve(against):
        rows = [row for row in table.rows if row["against"] == against and row["threshold"] != ""]
        assert {row.n for row in rows[::2]} == {3 if against != "vote:0.5" else 2}
        return [(a["threshold"], a.value, b.value) for a, b in zip(rows[::2], rows[1::2], strict=True)]

    # of A's three lesions the third is never found; of C's three all are, the last one with the lowest score
    assert curve("A") == [
        (np.inf, 0, 0), (0.9, 1 / 3, 0), (0.72, 1 / 3, 1 / 2), (0.6, 2 / 3, 1 / 2), (0.3, 2 / 3, 1),
        (0.2, 2 / 3, 3 / 2),
    ]  # fmt: skip
    assert curve("C")[-1] == (0.2, 1, 1)
    assert curve("vote:0.5")[-3:] == [(0.6, 1, 1 / 2), (0.3, 1, 1), (0.2, 1, 3 / 2)]
    assert len([name for name in found.charts if name.startswith("froc-")]) == 1
    # with at most one false positive a case A's third lesion is missed; up to ⅛, ¼ all but the first
    at_one = table.find("lesion_sensitivity_at_1_fp", "pooled", algorithm="unet", against="A")
    assert (at_one.value, at_one.n, at_one.low.code) == (2 / 3, 3, "too_few_subjects")
    whole = table.find("froc_score", "pooled", algorithm="unet", against="A").value
    assert whole == pytest.approx((2 * 1 / 3 + 5 * 2 / 3) / 7)
    # cut in the middle of the range, lesions below are none
    half = mt.evaluate(study, consensus="vote:0.5", pictures=False).tables["froc"]
    assert min(row["threshold"] for row in half.rows if row["threshold"] != "") == 0.6


def test_responses_without_a_range_have_no_curve():
    maps = {case: {a: 5 * m for a, m in by.items()} for case, by in MAPS.items()}
    study = mt.Study.from_arrays(RATERS, predictions=maps, probability=True)
    assert "froc" not in mt.evaluate(study, pictures=False).tables
    study = mt.Study.from_arrays(RATERS, predictions=maps, probability=True, limits=(0.0, 5.0))
    assert "froc" in mt.evaluate(study, pictures=False).tables


def test_a_missing_map_finds_nothing():
    predictions = {"p1": {**MAPS["p1"], "net": MAPS["p1"]["unet"]}, "p2": MAPS["p2"]}
    study = mt.Study.from_arrays(RATERS, predictions=predictions, probability=True)
    table = mt.evaluate(study, pictures=False).tables["froc"]
    row = table.find("lesion_sensitivity", "pooled", algorithm="net", against="C", threshold=0.6)
    assert (row.value, row.n) == (2 / 3, 3)


def random_responses(subjects: int, seed: int = 1) -> tuple[list[FreeResponse], list[str]]:
    """Two cases a subject, of a few lesions each; scores of true ones are higher."""
    rng, responses, owners = np.random.default_rng(seed), [], []
    for i in range(2 * subjects):
        lesions = int(rng.integers(1, 6))
        hits = rng.normal(1, 1, rng.binomial(lesions, 0.8)).round(2)
        responses.append(FreeResponse(tuple(hits.tolist()), tuple(rng.normal(0, 1, rng.poisson(2)).round(2)), lesions))
        owners.append(f"s{i // 2}")
    return responses, owners


def naive_at(responses, rate):
    """The largest sensitivity of all cuts that have at most so many false positives a case."""
    best = 0.0
    for cut in sorted({score for each in responses for score in (*each.hits, *each.false)}):
        false = sum(score >= cut for each in responses for score in each.false)
        if false <= rate * len(responses):
            found = sum(score >= cut for each in responses for score in each.hits)
            best = max(best, found / sum(each.lesions for each in responses))
    return best


def test_sensitivity_at_a_number_of_false_positives_is_that_of_plain_loops():
    responses, owners = random_responses(6)
    curve = Curve.of(responses, owners)
    assert curve.at_rates(AT_RATES)[0].tolist() == pytest.approx([naive_at(responses, rate) for rate in AT_RATES])
    # a subject that is drawn twice is there twice, with all of its cases
    weights = np.array([[2, 0, 1, 1, 0, 2], [0, 0, 0, 0, 6, 0]], float)
    for row, again in zip(weights, curve.at_rates(AT_RATES, weights), strict=True):
        drawn = [each for each, who in zip(responses, owners, strict=True) for _ in range(int(row[int(who[1:])]))]
        assert again.tolist() == pytest.approx([naive_at(drawn, rate) for rate in AT_RATES])


def test_intervals_of_free_response_curves():
    """Over subjects: the jackknife of a ratio at a cut, percentiles of resampled curves at a rate."""
    responses, owners = random_responses(40)
    rows = list(_rows(responses, owners, Settings()))
    found = next(row for row in rows if row.statistic == "lesion_sensitivity" and row.extra[0] < 0.5)
    cut, total = found.extra[0], sum(each.lesions for each in responses)
    hits = [sum(score >= cut for score in each.hits) for each in responses]
    assert (found.value, found.n) == (sum(hits) / total, total)
    without = [
        sum(h for h, who in zip(hits, owners, strict=True) if who != name)
        / sum(each.lesions for each, who in zip(responses, owners, strict=True) if who != name)
        for name in dict.fromkeys(owners)
    ]
    sizes = np.array([sum(e.lesions for e, who in zip(responses, owners, strict=True) if who == s)
                      for s in dict.fromkeys(owners)])  # fmt: skip
    error = np.sqrt(39 / 40 * sum((np.mean(without) - x) ** 2 for x in without))
    reach = stats.t.ppf(0.975, sizes.sum() ** 2 / (sizes**2).sum() - 1) * error / (found.value * (1 - found.value))
    logit = np.log(found.value / (1 - found.value))
    assert (found.low, found.high) == pytest.approx(tuple(1 / (1 + np.exp(-(logit + x))) for x in (-reach, reach)))
    for name in ("lesion_sensitivity_at_1_fp", "froc_score"):
        row = next(row for row in rows if row.statistic == name)
        assert 0 < row.low < row.value < row.high < 1
        assert 0.02 < row.high - row.low < 0.4
    few = list(_rows(responses[:38], owners[:38], Settings()))
    assert {row.low.code for row in few} == {"few_effective_subjects"}
    nothing = [FreeResponse((), (0.5,), 0)] * 40
    rows = [row for row in _rows(nothing, owners[:40], Settings()) if row.statistic != "false_positives"]
    assert {row.value.code for row in rows} == {"no_lesion"}
