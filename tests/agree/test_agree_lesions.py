"""The tables of lesions: detection.csv, lesions.csv, detection_curve.csv."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy import ndimage

import manytruths as mt
from data_folder import data
from manytruths.core.undefined import code, code_of
from real_studies import lidc
from study_folders import run, table, write_png


def line(*spans: tuple[int, int, int]) -> np.ndarray:
    """Lesions on a line: first pixel, behind the last, value."""
    mask = np.zeros((5, 40), np.uint8)
    for start, stop, value in spans:
        mask[2, start:stop] = value
    return mask


CASES = {
    "p1": {
        "A": line((2, 6, 1), (10, 20, 1), (25, 28, 1)),
        "B": line((2, 6, 1), (10, 14, 1), (15, 20, 1)),
        "C": line((2, 5, 1), (10, 20, 1)),
    },
    "p2": {"A": line((2, 6, 1)), "B": line((3, 6, 1)), "C": line()},
    "p3": {"A": line(), "B": line()},
}


@pytest.fixture(scope="module")
def result():
    return mt.agree(mt.Study.from_arrays(CASES, spacing=(2, 0.5)), pictures=False, measure="lesions")


def value(result, statistic, rater="", against="", case="p1", scope="case"):
    return result.tables["detection"].find(statistic, scope, rater=rater, against=against, case=case).value


def test_a_row_a_lesion(result):
    rows = result.tables["lesions"].to_frame()
    assert rows.columns.tolist()[:8] == ["case", "group", "label", "lesion", "found", "rated", "found_by", "missed_by"]
    first = rows[rows.case == "p1"].set_index("lesion")
    assert first.found_by.tolist() == ["A; B; C", "B", "A; B; C", "A"]
    assert first.sizes.tolist() == ["4; 4; 3", "4", "10; 5; 10", "3"]
    assert first.merged_by.tolist() == ["", "A; C", "A; C", ""]
    assert first.split_by.tolist() == ["", "", "B", ""]
    assert (first.unit.iloc[0], first.extent.iloc[1], first.centroid.iloc[1]) == ("mm²", 4.0, "2.0 11.5")
    assert first.dice.iloc[0] == pytest.approx((1 + 6 / 7 + 6 / 7) / 3)
    # C read p2 and marked nothing; nobody asked C about p3
    assert rows[rows.case == "p2"][["found", "rated", "missed_by"]].values.tolist() == [[2, 3, "C"]]


def test_numbers_of_a_case(result):
    assert value(result, "lesions") == 4
    assert [value(result, f"found_by_{k}") for k in (1, 2, 3)] == [0.5, 0, 0.5]
    assert value(result, "positive_agreement") == 12 / 16
    assert value(result, "false_marks", "A", "others") == 1
    assert value(result, "sensitivity", "C", "others") == 2 / 4
    found = mt.match_lesions(CASES["p1"])
    for pair in found.pairs():
        for name in ("pq", "sq", "rq"):
            assert value(result, name, pair.rater_a, pair.rater_b) == getattr(pair, name)
    assert value(result, "pq") == pytest.approx(np.mean([pair.pq for pair in found.pairs()]))


def test_absent_raters_and_empty_cases_are_undefined(result):
    codes = {
        (s, r, a): value(result, s, r, a, "p3").code
        for s, r, a in [("sensitivity", "C", "others"), ("pq", "A", "C"), ("pq", "A", "B"), ("found_by_1", "", "")]
    }
    assert list(codes.values()) == ["rater_absent", "one_absent", "both_empty", "no_lesion"]
    assert value(result, "lesions", case="p3") == 0
    assert value(result, "false_marks", "A", "others", "p3") == 0
    mean = result.tables["detection"].find("pq", "mean", rater="A", against="B")
    assert (mean.n, mean.n_undefined) == (2, 1)


def test_curves_hold_the_numbers_of_the_threshold(result):
    curve, detection = result.tables["detection_curve"], result.tables["detection"]
    thresholds = sorted({row["threshold"] for row in curve.rows})
    assert thresholds == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    for row in detection.rows:
        if row.scope == "mean" and not row.group:
            here = curve.find(row.statistic, "mean", rater=row["rater"], against=row["against"], threshold=0.5)
            assert repr(here.value) == repr(row.value)
    assert "detection-curve" in result.charts
    assert "detection" not in mt.agree(result.study, pictures=False, measure="none").tables


def test_slots_are_nobody():
    one = mt.agree(mt.Study.from_arrays(CASES, raters="exchangeable"), pictures=False)
    swapped = {case: dict(zip(masks, list(masks.values())[::-1], strict=True)) for case, masks in CASES.items()}
    two = mt.agree(mt.Study.from_arrays(swapped, raters="exchangeable"), pictures=False)
    for name in ("detection", "detection_curve"):
        assert {row.extra[:2] for row in one.tables[name].rows} == {("", "")}
    for name in ("lesions", "detection", "detection_curve"):
        assert repr(list(one.tables[name].records())) == repr(list(two.tables[name].records()))
    assert "A" not in str(one.tables["lesions"].records())


def test_labels_are_not_united():
    cases = {
        "p1": {"A": line((2, 6, 1), (6, 12, 2)), "B": line((2, 6, 2), (6, 12, 2))},
        "p2": {"A": line(), "B": line()},
    }
    found = mt.agree(mt.Study.from_arrays(cases), pictures=False)
    rows = found.tables["lesions"].to_frame()
    assert rows[["label", "found_by", "sizes"]].values.tolist() == [["1", "A", "4"], ["2", "A; B", "6; 10"]]
    assert {row.label for row in found.tables["detection"].rows} == {"1", "2", "macro mean"}


def test_values_that_number_lesions(tmp_path, capsys):
    masks = {"A": line((2, 6, 1), (6, 12, 2), (30, 32, 77)), "B": line((2, 6, 9), (6, 12, 4))}
    for rater, mask in masks.items():
        for case in ("p1", "p2"):
            write_png(tmp_path / "masks" / rater / f"{case}.png", mask)
    template = tmp_path / "masks/{rater}/{case}.png"
    options = ("--no-pictures", "--jobs", 1, "--out", tmp_path / "out")
    assert run(capsys, "agree", template, "--instances", *options).status == 0
    rows = table(tmp_path / "out/agree/lesions.csv")
    assert [row["sizes"] for row in rows if row["case"] == "p1"] == ["4; 4", "6; 6", "2"]
    pairs = [r for r in table(tmp_path / "out/agree/pairs.csv") if r["statistic"] == "dice" and r["scope"] == "pooled"]
    assert float(pairs[0]["value"]) == pytest.approx(2 * 10 / 22)
    (tmp_path / "study.toml").write_text(
        'masks = "masks/{rater}/{case}.png"\ninstances = true\nlesion_rule = "distance"\nlesion_threshold = 30\n'
    )
    assert run(capsys, "agree", tmp_path, *options).status == 0
    assert [r["found_by"] for r in table(tmp_path / "out/agree/lesions.csv")][:2] == ["A; B", "A; B"]


@pytest.mark.parametrize(
    ("options", "status", "text"),
    [
        (("--lesion-threshold", "0"), 2, "--lesion-threshold of rule 'iou' must be above 0 and at most 1; got 0"),
        (("--lesion-threshold", "1.5"), 2, "above 0 and at most 1; got 1.5"),
        (("--lesion-rule", "distance"), 2, "needs a --lesion-threshold"),
        (("--measure", "sizes,lesion"), 2, "any of sizes, distances, lesions"),
        (("--instances", "--labels", "1=tumour"), 1, "they are no labels"),
    ],
)
def test_refusals_are_one_line(options, status, text, tmp_path, capsys):
    for rater in "AB":
        write_png(tmp_path / rater / "p1.png", line((2, 6, 1)))
    done = run(capsys, "agree", tmp_path / "{rater}/{case}.png", *options, "--out", tmp_path / "out")
    assert (done.status, text in done.err, done.err.count("\n")) == (status, True, 1)
    assert not (tmp_path / "out").exists()


def test_more_lesions_than_can_be_matched_leave_the_rest(monkeypatch):
    import manytruths.lesions.matching as matching

    monkeypatch.setattr(matching.match_lesions, "__kwdefaults__", matching.match_lesions.__kwdefaults__ | {"most": 4})
    found = mt.agree(mt.Study.from_arrays(CASES), pictures=False)
    assert value(found, "pq").code == "too_many_lesions"
    assert value(found, "lesions", case="p2") == 1
    assert "p1" not in found.tables["lesions"].to_frame().case.tolist()
    [note] = [note for note in found.notes if code_of(note) == "too_many_lesions"]
    assert note.startswith("in one case (p1) raters drew more than ")
    assert "not matched" in note


def test_more_lesions_than_can_be_matched_in_every_case(monkeypatch):
    """No rater has a number in any case, and the curve over thresholds has nothing to show."""
    import manytruths.lesions.matching as matching

    monkeypatch.setattr(matching.match_lesions, "__kwdefaults__", matching.match_lesions.__kwdefaults__ | {"most": 4})
    found = mt.agree(mt.Study.from_arrays({"p1": CASES["p1"]}), pictures=False)
    [compared] = [row for row in found.tables["detection"].rows if row.statistic == "lesions_compared"]
    assert compared.value.code == "too_many_lesions"
    assert not len(found.tables["lesions"].to_frame())
    assert [code_of(note) for note in found.notes].count("too_many_lesions") == 1
    assert found.tables["agreement"].find("dice", "mean").value > 0


def test_macro_means_over_labels():
    """By case the mean over labels that somebody used there; over subjects by label first. Counts have none."""
    cases = {
        "p1": {"A": line((2, 6, 1), (10, 20, 2)), "B": line((2, 6, 1), (10, 16, 2)), "C": line((2, 6, 1))},
        "p2": {"A": line((2, 6, 1)), "B": line(), "C": line((2, 6, 1))},
    }
    found = mt.agree(mt.Study.from_arrays(cases), pictures=False, measure="lesions").tables["detection"]
    macro = [row for row in found.rows if row.label == "macro mean"]
    assert not {row.statistic for row in macro} & {"lesions", "false_marks", "lesions_alone", "marks"}
    assert {row.statistic for row in macro} >= {"positive_agreement", "pq", "sq", "rq", "sensitivity", "found_by_3"}

    def of(statistic, scope, **where):
        return found.find(statistic, scope, label="macro mean", **{"rater": "", "against": "", **where})

    # label 1: all of three, then A and C; label 2: A and B of three, in p1 alone
    assert of("positive_agreement", "case", case="p1").value == (1 + 1 / 2) / 2
    assert of("positive_agreement", "case", case="p2").value == 1 / 2
    assert of("positive_agreement", "mean").value == ((1 + 1 / 2) / 2 + 1 / 2) / 2
    assert (of("pq", "case", case="p1").n, of("pq", "case", case="p2").n) == (2, 1)
    assert of("pq", "case", case="p1", rater="A", against="B").value == (1 + 0.6) / 2
    by_label = [
        found.find("pq", "mean", label=label, rater="A", against="B").value for label in ("1", "2")
    ]  # fmt: skip
    assert of("pq", "mean", rater="A", against="B").value == pytest.approx(sum(by_label) / 2)


def alike(outlines):
    """Sizes of groups of outlines, joined while their mean IoU is at least ½, the largest first."""
    groups = [[outline] for outline in outlines]

    def between(pair):
        return sum(Fraction(int((a & b).sum()), int((a | b).sum())) for a in pair[0] for b in pair[1]) / (
            len(pair[0]) * len(pair[1])
        )

    while len(groups) > 1:
        pair = max(combinations(groups, 2), key=between)
        if between(pair) < Fraction(1, 2):
            break
        groups = [group for group in groups if group is not pair[0] and group is not pair[1]] + [pair[0] + pair[1]]
    return sorted(map(len, groups))


@pytest.mark.slow
def test_nodules_of_lidc_by_four_slots():
    """All 897: found by k of 4 is a plain count, since a crop is of one nodule that all four readers outlined.

    842 were drawn without fragments: their readers fall into groups of a mean IoU of at least ½, of 645 into one.
    """
    masks = lidc(data())
    found = mt.agree(mt.Study.from_arrays(masks, raters="exchangeable"), pictures=False, measure="lesions")
    detection, rows = found.tables["detection"], found.tables["lesions"].to_frame()
    assert {row.extra for row in detection.rows} == {("", "")}
    assert set(rows.found_by) == set(rows.missed_by) == set(rows.not_rated_by) == {""}
    assert set(rows.rated) == {4}

    marks, plain = 0, {}
    for case, slots in masks.items():
        pieces = [ndimage.label(mask, np.ones((3,) * mask.ndim))[1] for mask in slots.values()]
        assert min(pieces) > 0
        marks += sum(pieces)
        if max(pieces) == 1:
            plain[case] = alike([mask != 0 for mask in slots.values()])
    by_case = rows.groupby("case").found.apply(sorted)
    assert plain == by_case[list(plain)].to_dict()
    assert len(plain) == 842
    assert list(plain.values()).count([4]) == 645
    # every mark is in one lesion, and every lesion is counted once
    assert rows.found.sum() == detection.find("marks", "pooled").value == marks
    shares = [detection.find(f"found_by_{k}", "pooled").value for k in range(1, 5)]
    assert shares == [np.mean(rows.found == k) for k in range(1, 5)]
    assert detection.find("lesions", "pooled").value == len(rows)


def test_the_first_session_has_the_name_of_its_rater():
    cases = {case: {(rater, "1"): mask for rater, mask in masks.items()} for case, masks in CASES.items()}
    cases["p1"]["B", "2"] = line((2, 6, 1))
    found = mt.agree(mt.Study.from_arrays(cases), pictures=False, measure="lesions")
    assert {row["rater"] for row in found.tables["detection"].rows} == {"", "A", "B", "C"}
    rows = found.tables["lesions"].to_frame()
    assert rows.found_by.tolist()[:2] == ["A; B; C", "B"]
    assert rows.not_rated_by.tolist() == ["", "", "", "", ""]


def test_lesions_of_all_cases_by_finders(result):
    """Four lesions of p1 and one of p2; p3 has none."""

    def pooled(name, **where):
        return result.tables["detection" + "_curve" * bool(where)].find(name, "pooled", **where)

    assert [pooled(n).value for n in ("lesions", "lesions_found_by_all", "lesions_found_by_one")] == [5, 2, 2]
    assert (pooled("lesions").n, pooled("lesions_split").value) == (2, 1)
    assert (pooled("marks").value, pooled("marks").n, pooled("most_marks").value) == (10, 8, 3)
    assert (pooled("median_mark").value, pooled("lesions_overlapping_others").value) == (4, 1)
    assert [pooled(f"found_by_{k}").value * 5 for k in (1, 2, 3)] == [2, 1, 2]
    # the largest marks of A, B and C in p1, of 17, 13 and 13 pixels
    assert pooled("largest_mark_share").value == pytest.approx((10 / 17 + 5 / 13 + 10 / 13) / 3)
    assert [pooled("lesions_found_by_all", threshold=t).value for t in (0.1, 0.5, 0.9)] == [2, 2, 0]


def test_a_lesion_of_one_reader_is_not_found_by_all():
    cases = {"p1": {"A": line((2, 6, 1)), "B": line()}, "p2": {"A": line((2, 6, 1))}}
    found = mt.agree(mt.Study.from_arrays(cases), pictures=False, measure="lesions").tables["detection"]
    names = ("lesions", "lesions_compared", "lesions_found_by_all", "lesions_found_by_one")
    assert [found.find(name, "pooled").value for name in names] == [2, 1, 0, 1]
    assert [found.find(name, "pooled").n for name in names] == [2, 1, 1, 1]
    shares = [found.find("found_by_1", "case", case=case).value for case in ("p1", "p2")]
    assert shares[0] == found.find("found_by_1", "pooled").value == 1
    assert code(shares[1]) == "fewer_than_two_raters"


def test_lesions_are_counted_alike_at_every_scope():
    cases = {**CASES, "p4": {"A": line((2, 6, 1), (12, 16, 1))}}
    found = mt.agree(mt.Study.from_arrays(cases), pictures=False, measure="lesions").tables
    counts = [found["detection"].find("lesions", "case", case=case, rater="").value for case in cases]
    assert counts == [4, 1, 0, 2]
    for name, where in (("detection", {}), ("detection_curve", {"threshold": 0.5})):
        assert found[name].find("lesions", "pooled", **where).value == sum(counts)
        assert found[name].find("lesions_compared", "pooled", **where).value == 5
        assert found[name].find("lesions", "mean", rater="", **where).value == sum(counts) / 4
    assert len(found["lesions"].records()) == sum(counts)


@pytest.mark.parametrize(("spacing", "unit", "each"), [(None, "voxels", 1), ((5, 2, 2), "ml", 0.02)])
def test_the_size_of_a_lesion_has_the_unit_of_sizes(spacing, unit, each):
    mask = np.zeros((3, 8, 8), bool)
    mask[1, 1:4, 1:5] = mask[:, 6:, 6:] = True
    found = mt.agree(mt.Study.from_arrays({"p1": {"A": mask, "B": mask}}, spacing=spacing), pictures=False).tables
    rows = found["lesions"].to_frame()
    assert sorted(rows.extent) == pytest.approx([12 * each, 12 * each])
    volume = found["sizes"].find("volume", "case", case="p1", rater="A")
    assert rows.unit.tolist() == [unit, unit] == [volume["unit"]] * 2
    assert rows.extent.sum() == pytest.approx(volume.value)
