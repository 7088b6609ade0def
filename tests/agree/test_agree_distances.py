"""Distances between raters, to each consensus and to given references: agree, fuse and evaluate measure the same."""

from __future__ import annotations

import json
import warnings
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import manytruths as mt
from label_studies import three_labels
from manytruths.analyses.agree.distances import DISTANCES, LENGTHS, from_json, measure_distances, to_json
from manytruths.core.labels import MACRO
from manytruths.core.undefined import code
from manytruths.io.result_tables import Row, Table
from study_folders import write_png

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import surface_distance as peer

SPACING = (2.0, 0.5)
RATERS = "ABC"


def draw(seed: int, shape: tuple[int, ...] = (26, 30)) -> np.ndarray:
    rng = np.random.default_rng(seed)
    steps = np.meshgrid(*(np.arange(n) - n / 2 - rng.normal(0, 1) for n in shape), indexing="ij")
    return (np.sqrt(sum(s**2 for s in steps)) < rng.uniform(6, 9)).astype(np.uint8)


def make_cases(count: int = 12, shape: tuple[int, ...] = (26, 30)) -> dict[str, dict[str, np.ndarray]]:
    return {f"p{i:02}": {r: draw(10 * i + k, shape) for k, r in enumerate(RATERS)} for i in range(count)}


def with_gaps() -> dict[str, dict[str, np.ndarray]]:
    """One rater marked nothing in p03, nobody anything in p04, and C did not read p05."""
    cases = make_cases()
    cases["p03"]["B"] = np.zeros_like(cases["p03"]["B"])
    cases["p04"] = {r: np.zeros_like(mask) for r, mask in cases["p04"].items()}
    del cases["p05"]["C"]
    return cases


def given_and_predicted() -> dict[str, dict[str, dict[str, np.ndarray]]]:
    names = [f"p{i:02}" for i in range(12)]
    return {
        "references": {case: {"gold": draw(10 * i + 7)} for i, case in enumerate(names)},
        "predictions": {case: {"net": draw(10 * i + 8)} for i, case in enumerate(names)},
    }


@pytest.fixture(scope="module")
def study() -> mt.Study:
    return mt.Study.from_arrays(with_gaps(), spacing=SPACING, **given_and_predicted())


@pytest.fixture(scope="module")
def agreed(study: mt.Study) -> mt.Agreement:
    return mt.agree(study, pictures=False)


@pytest.fixture(scope="module")
def fused(study: mt.Study) -> mt.Fusion:
    return mt.fuse(study, consensus="vote:0.5,vote:any", pictures=False)


@pytest.fixture(scope="module")
def evaluated(study: mt.Study) -> mt.Evaluation:
    return mt.evaluate(study, consensus="vote:0.5", pictures=False)


def by_peer(a: np.ndarray, b: np.ndarray, spacing: tuple[float, ...], tolerance: float) -> list[float]:
    """Hausdorff, its 95%, mean over both surfaces, surface Dice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it uses names that SciPy has moved
        found = peer.compute_surface_distances(a.astype(bool), b.astype(bool), spacing)
    sides = [(found[f"distances_{x}"], found[f"surfel_areas_{x.split('_')[0]}"]) for x in ("gt_to_pred", "pred_to_gt")]
    mean = sum(d @ s for d, s in sides) / sum(s.sum() for _, s in sides)
    percents = [peer.compute_robust_hausdorff(found, percent) for percent in (100, 95)]
    return [*percents, mean, peer.compute_surface_dice_at_tolerance(found, tolerance)]


def test_every_pair_is_that_of_surface_distance(agreed: mt.Agreement) -> None:
    table, cases = agreed.tables["pairs"], with_gaps()
    tolerance = agreed.agreement.find("surface_tolerance").value
    for a, b in combinations(RATERS, 2):
        for case in ("p00", "p07"):
            who = {"rater_a": a, "rater_b": b, "relation": "between", "case": case}
            ours = [table.find(s, "case", **who).value for s in DISTANCES]
            assert ours == pytest.approx(by_peer(cases[case][a], cases[case][b], SPACING, tolerance), abs=1e-9)


def test_volumes_are_measured_in_space() -> None:
    cases, spacing = make_cases(2, (12, 16, 14)), (3.0, 0.7, 0.8)
    result = mt.agree(mt.Study.from_arrays(cases, spacing=spacing), pictures=False, tolerance=1.5)
    row = result.tables["pairs"].find("hausdorff_95", "case", rater_a="A", rater_b="B", relation="between", case="p01")
    wanted = by_peer(cases["p01"]["A"], cases["p01"]["B"], spacing, 1.5)
    assert (row.value, row.unit) == (pytest.approx(wanted[1], abs=1e-9), "mm")
    assert result.agreement.find("surface_tolerance").value == 1.5
    unknown = mt.agree(mt.Study.from_arrays(cases), pictures=False).agreement.find("hausdorff", "mean")
    assert unknown.unit == "voxels"


def test_all_distances_by_brute_force() -> None:
    a, b = draw(1), draw(2)
    table = mt.agree(mt.Study.from_arrays({"p": {"A": a, "B": b}}), pictures=False, tolerance=1.0).tables["pairs"]
    first, second = mt.extract_surface(a), mt.extract_surface(b)
    apart = cdist(first.points, second.points)
    both, sizes = np.concatenate([apart.min(axis=1), apart.min(axis=0)]), np.concatenate([first.sizes, second.sizes])
    who = {"rater_a": "A", "rater_b": "B", "relation": "between", "case": "p"}
    found = {s: table.find(s, "case", **who) for s in DISTANCES}
    assert found["hausdorff"].value == pytest.approx(both.max())
    assert found["mean_surface_distance"].value == pytest.approx(both @ sizes / sizes.sum())
    assert found["surface_dice"].value == pytest.approx(sizes[both <= 1].sum() / sizes.sum())
    assert [row.unit for row in found.values()] == ["pixels", "pixels", "pixels", ""]


def test_agree_and_evaluate_have_the_same_numbers(agreed: mt.Agreement, evaluated: mt.Evaluation) -> None:
    human, compared = evaluated.tables["human"], 0
    for row in agreed.tables["pairs"].rows:
        if row.statistic in DISTANCES:
            who = {"rater": row["rater_a"], "against": row["rater_b"], "case": row.case}
            other = human.find(row.statistic, row.scope, **who)
            np.testing.assert_equal((row.value, row.low, row.unit), (other.value, other.low, other.unit))
            compared += 1
    assert compared == 3 * 4 * (12 + 2), "pairs, numbers, and rows of each"
    assert agreed.agreement.find("surface_tolerance").value == evaluated.mask_scores.parts[0].tolerance


def test_an_empty_mask_has_no_distance_and_is_counted(agreed: mt.Agreement) -> None:
    table = agreed.tables["pairs"]

    def find(case: str, a: str = "A", b: str = "B") -> Row:
        return table.find("hausdorff", "case", rater_a=a, rater_b=b, relation="between", case=case)

    assert [code(find(case).value) for case in ("p03", "p04")] == ["one_empty", "both_empty"]
    assert code(find("p05", "A", "C").value) == "one_absent"
    for (a, b), count, n in ((("A", "B"), 1, 12), (("A", "C"), 0, 11), (("B", "C"), 1, 11)):
        row = table.find("distances_one_empty", rater_a=a, rater_b=b, relation="between")
        assert (row.value, row.n) == (count, n)
        mean = table.find("hausdorff", "mean", rater_a=a, rater_b=b, relation="between")
        assert mean.n_undefined == count + 1 + (12 - n)
        values = [find(f"p{i:02}", a, b).value for i in range(12)]
        assert mean.value == pytest.approx(np.nanmean(values))
    whole = agreed.agreement
    assert (whole.find("distances_one_empty").value, whole.find("distances_one_empty").n) == (2, 34)
    assert (whole.find("distances_both_empty").value, whole.find("distances_both_empty").n) == (3, 34)
    [claim] = agreed.claims.of("distances.between").made
    assert claim.text.endswith(
        " Of 34 pairs of masks, 2 have no distance, as one of the two is empty, and 3 more, as both are."
    )
    assert code(whole.find("hausdorff", "case", case="p04").value) == "both_empty"
    only = whole.find("hausdorff", "case", case="p03").value
    assert only == find("p03", "A", "C").value, "the pair that has a distance"


def test_units_that_differ() -> None:
    cases = make_cases(3)
    apart = mt.Study.from_arrays(cases, spacing={"p00": (1.0, 1.0), "p01": (2.0, 2.0), "p02": (1.0, 3.0)})
    row = mt.agree(apart, pictures=False).agreement.find("hausdorff", "mean")
    assert (row.unit, code(row.value)) == ("mm", "")
    some = mt.Study.from_arrays(cases, spacing={"p00": (1.0, 1.0), "p01": (2.0, 2.0)})
    table = mt.agree(some, pictures=False).agreement
    assert [table.find("hausdorff", "case", case=case).unit for case in cases] == ["mm", "mm", "pixels"]
    assert [code(table.find(s, "mean").value) for s in LENGTHS] == ["mixed_units"] * 3
    assert code(table.find("surface_dice", "mean").value), "no tolerance fits millimetres and pixels"


def test_several_labels_have_their_own_distances_and_tolerance() -> None:
    cases = three_labels(cases=11)
    result = mt.agree(mt.Study.from_arrays(cases, spacing=SPACING), pictures=False)
    table, labels = result.tables["pairs"], ("1", "2", "3")
    who = {"rater_a": "A", "rater_b": "B", "relation": "between"}
    means = []
    for label in labels:
        tolerance = result.agreement.find("surface_tolerance", label=label).value
        for case, masks in list(cases.items())[:2]:
            a, b = (masks[r] == int(label) for r in "AB")
            if a.any() and b.any():
                ours = [table.find(s, "case", label=label, case=case, **who).value for s in DISTANCES]
                found = mt.surface_distances(a, b, SPACING)
                assert ours == [found.hausdorff(), found.hausdorff(95), found.mean(), found.dice(tolerance)]
        means.append(table.find("mean_surface_distance", "mean", label=label, **who).value)
    macro = table.find("mean_surface_distance", "mean", label=MACRO, **who)
    assert (macro.value, macro.unit) == (pytest.approx(np.mean(means)), "mm")
    assert not [row for row in table.rows if row.statistic in DISTANCES and row.label == ""]
    of_all = result.headline("mean_surface_distance")
    assert (of_all.label, of_all.unit) == (MACRO, "mm")


def test_a_label_that_is_not_in_a_case_is_empty_there() -> None:
    cases = make_cases(3)
    for masks in cases.values():
        for mask in masks.values():
            mask[12:14][mask[12:14] == 1] = 2
    cases["p01"] = {r: np.minimum(mask, 1) for r, mask in cases["p01"].items()}
    table = mt.agree(mt.Study.from_arrays(cases), pictures=False).tables["pairs"]
    who = {"rater_a": "A", "rater_b": "B", "relation": "between", "case": "p01"}
    assert code(table.find("hausdorff", "case", label="2", **who).value) == "both_empty"
    assert table.find("hausdorff", "case", label="1", **who).value > 0


def test_sessions_of_a_rater_are_measured_within() -> None:
    cases = make_cases(2)
    cases = {c: {("A", "1"): m["A"], ("A", "2"): m["B"], ("B", "1"): m["C"]} for c, m in cases.items()}
    result = mt.agree(mt.Study.from_arrays(cases), pictures=False)
    table = result.tables["pairs"]
    relations = {(r["rater_a"], r["rater_b"], r["relation"]) for r in table.rows if r.statistic == "hausdorff"}
    assert relations == {("A", "B", "between"), ("A@1", "A@2", "within")}
    for case, masks in cases.items():
        row = table.find("hausdorff", "case", rater_a="A@1", rater_b="A@2", relation="within", case=case)
        assert row.value == mt.hausdorff(masks["A", "1"], masks["A", "2"])
        between = mt.hausdorff(masks["A", "1"], masks["B", "1"])
        assert result.agreement.find("hausdorff", "case", case=case).value == between, "sessions are no pair of raters"


def test_exchangeable_raters_have_means_alone_whatever_their_order() -> None:
    cases, orders = make_cases(10), list(permutations(RATERS))
    turned = {
        c: dict(zip(RATERS, (m[r] for r in orders[i % 6]), strict=True)) for i, (c, m) in enumerate(cases.items())
    }
    results = [mt.agree(mt.Study.from_arrays(x, raters="exchangeable"), pictures=False) for x in (cases, turned)]
    assert "pairs" not in results[0].tables
    for statistic in (*DISTANCES, "surface_tolerance"):
        rows = [r.agreement.find(statistic, "pooled" if "tolerance" in statistic else "mean") for r in results]
        assert rows[0].value == pytest.approx(rows[1].value, rel=1e-12)
    fused = mt.fuse(mt.Study.from_arrays(cases, raters="exchangeable"), consensus="vote:0.5", pictures=False)
    by_name = mt.fuse(mt.Study.from_arrays(cases), consensus="vote:0.5", pictures=False)
    means = [by_name.performance.find("hausdorff", "mean", method="vote:0.5", rater=r).value for r in RATERS]
    assert fused.performance.find("hausdorff", "mean", method="vote:0.5").value == pytest.approx(np.mean(means))


def test_only_the_region_of_interest_counts(tmp_path) -> None:
    """What lies outside is as if it were not marked, in agree as in evaluate."""
    masks, inside = make_cases(1)["p00"], np.zeros((26, 30), np.uint8)
    inside[:, :15] = 1
    for rater, mask in masks.items():
        write_png(tmp_path / f"masks/{rater}/p.png", mask)
    write_png(tmp_path / "roi/p.png", inside)
    write_png(tmp_path / "net/p.png", draw(8))
    opened = mt.Study.open(
        f"{tmp_path}/masks/{{rater}}/{{case}}.png", roi=f"{tmp_path}/roi/{{case}}.png",
        predictions=f"{tmp_path}/net/{{case}}.png",
    )  # fmt: skip
    table, human = (run(opened, pictures=False).tables for run in (mt.agree, mt.evaluate))
    for a, b in combinations(RATERS, 2):
        who = {"rater_a": a, "rater_b": b, "relation": "between", "case": "p"}
        value = table["pairs"].find("mean_surface_distance", "case", **who).value
        assert value == mt.mean_surface_distance(masks[a] * inside, masks[b] * inside)
        assert value != mt.mean_surface_distance(masks[a], masks[b])
        other = human["human"].find("mean_surface_distance", "case", rater=a, against=b, case="p").value
        assert value == other


def test_what_is_measured_can_be_chosen(study: mt.Study) -> None:
    for measure in ("none", "sizes", ("lesions",), ()):
        tables = mt.agree(study, pictures=False, measure=measure).tables
        assert not [r for name in ("agreement", "pairs") for r in tables[name].rows if r.statistic in DISTANCES]
        assert tables["pairs"].header[-1] == "code", "without distances, no column of units"
    for measure in ("distance", "none,sizes"):
        with pytest.raises(mt.CallError, match="measure is none, or any of sizes, distances, lesions; got"):
            mt.agree(study, measure=measure)
    for run in (mt.agree, mt.fuse):
        with pytest.raises(mt.CallError, match="tolerance is a distance, 0 or more; got -1"):
            run(study, tolerance=-1)


# -- each consensus ------------------------------------------------------------------------------------


def test_raters_against_each_consensus(study: mt.Study, fused: mt.Fusion) -> None:
    table, cases = fused.performance, with_gaps()
    tolerance = mt.agree(study, pictures=False).agreement.find("surface_tolerance").value
    for method in ("vote:0.5", "vote:any"):
        for case in ("p01", "p05"):
            mask = mt.consensus(study, method)[case].values
            for rater in cases[case]:
                who = {"method": method, "rater": rater, "case": case}
                ours = [table.find(s, "case", **who).value for s in DISTANCES]
                assert ours == pytest.approx(by_peer(cases[case][rater], mask, SPACING, tolerance), abs=1e-9)
    assert code(table.find("hausdorff", "case", method="vote:any", rater="C", case="p05").value) == "absent"
    assert code(table.find("hausdorff", "case", method="vote:any", rater="B", case="p03").value) == "one_empty"
    assert table.find("hausdorff", "mean", method="vote:any", rater="A").unit == "mm"


def test_a_run_that_goes_on_has_the_same_distances(tmp_path, study: mt.Study) -> None:
    for _ in range(2):
        mt.fuse(study, consensus="vote:0.5", pictures=False, out=tmp_path)
        text = (tmp_path / "fuse/performance.csv").read_text()
        assert "mean_surface_distance" in text
        scores = (tmp_path / "fuse/reference_scores.csv").read_text()
    again = mt.fuse(study, consensus="vote:0.5", pictures=False)
    again.performance.write(tmp_path)
    again.tables["reference_scores"].write(tmp_path)
    assert (tmp_path / "performance.csv").read_text() == text
    assert (tmp_path / "reference_scores.csv").read_text() == scores
    none = mt.fuse(study, consensus="vote:0.5", pictures=False, distances=False, out=tmp_path)
    assert not [row for row in none.performance.rows if row.statistic in DISTANCES]


# -- given references ----------------------------------------------------------------------------------


def test_everybody_against_a_given_reference(
    agreed: mt.Agreement, fused: mt.Fusion, evaluated: mt.Evaluation, study: mt.Study
) -> None:
    given, cases = given_and_predicted(), with_gaps()
    tolerance, case = agreed.agreement.find("surface_tolerance").value, "p01"
    gold = given["references"][case]["gold"]
    rows: list[tuple[Table, dict[str, str], np.ndarray]] = [
        (agreed.tables["reference_scores"], {"rater": "B"}, cases[case]["B"]),
        (fused.tables["reference_scores"], {"rater": "B"}, cases[case]["B"]),
        (fused.tables["reference_scores"], {"method": "vote:any"}, mt.consensus(study, "vote:any")[case].values),
        (evaluated.tables["human"], {"rater": "B"}, cases[case]["B"]),
        (evaluated.tables["scores"], {"algorithm": "net"}, given["predictions"][case]["net"]),
    ]
    for table, who, mask in rows:
        found = {s: table.find(s, "case", case=case, against="gold", **who) for s in (*DISTANCES, *SIZES)}
        ours = [found[s].value for s in DISTANCES]
        assert ours == pytest.approx(by_peer(mask, gold, SPACING, tolerance), abs=1e-9)
        assert found["size_difference"].value == int(mask.sum()) - int(gold.sum()), "a pixel is 1 mm²"
        assert found["size_difference"].unit == "mm²"
        assert found["log_size_ratio"].value == pytest.approx(np.log(mask.sum() / gold.sum()))


SIZES = ("size_difference", "log_size_ratio")


def test_sizes_against_a_reference_in_millilitres_and_of_empty_masks() -> None:
    cases, spacing = make_cases(2, (12, 16, 14)), (5.0, 2.0, 2.0)
    cases["p01"]["A"] = cases["p01"]["A"] * 0
    gold = {case: {"gold": draw(99 + i, (12, 16, 14))} for i, case in enumerate(cases)}
    known, unknown = (
        mt.agree(mt.Study.from_arrays(cases, references=gold, **more), pictures=False).tables["reference_scores"]
        for more in ({"spacing": spacing}, {})
    )
    who = {"rater": "A", "against": "gold"}
    voxels = int(cases["p00"]["A"].sum()) - int(gold["p00"]["gold"].sum())
    row = known.find("size_difference", "case", case="p00", **who)
    assert (row.value, row.unit) == (pytest.approx(voxels * 20 / 1000), "ml")
    row = unknown.find("size_difference", "case", case="p00", **who)
    assert (row.value, row.unit) == (voxels, "voxels")
    assert unknown.find("size_difference", "case", case="p01", **who).value == -int(gold["p01"]["gold"].sum())
    assert code(unknown.find("log_size_ratio", "case", case="p01", **who).value) == "one_empty"


def test_references_of_several_labels() -> None:
    cases = three_labels(cases=3)
    gold = {case: {"gold": masks["B"]} for case, masks in cases.items()}
    table = mt.agree(mt.Study.from_arrays(cases, references=gold), pictures=False).tables["reference_scores"]
    for label in ("1", "2", "3"):
        case, masks = next(iter(cases.items()))
        a, b = (masks[r] == int(label) for r in "AB")
        row = table.find("mean_surface_distance", "case", case=case, label=label, rater="A", against="gold")
        np.testing.assert_equal(row.value, mt.mean_surface_distance(a, b))
        own = table.find("hausdorff", "case", case=case, label=label, rater="B", against="gold")
        assert own.value == 0 or code(own.value) == "both_empty"


@pytest.mark.parametrize("shape", [(26, 30), (20, 22, 18)])
def test_what_is_kept_of_a_case_has_every_bit(shape):
    spacing = (2.3, 0.7, 0.7)[-len(shape) :]
    cases = make_cases(1, shape) | {"p04": {r: np.zeros(shape, np.uint8) for r in RATERS}}
    for case in mt.Study.from_arrays(cases, spacing=spacing):
        reading = case.read()
        decided = {"vote:0.5": np.median(np.stack(list(reading.masks.values())), axis=0)}
        measured = measure_distances(reading, reading.tally(), decided, {})
        text = json.dumps(to_json(measured))
        again = from_json(json.loads(text))
        assert (again.unit, again.pixel, list(again.labels)) == (measured.unit, measured.pixel, list(measured.labels))
        for label, found in measured.labels.items():
            assert again.labels[label].half_widths == found.half_widths
            assert list(again.labels[label].pairs) == list(found.pairs)
            for pair, distances in found.pairs.items():
                back = again.labels[label].pairs[pair]
                for side, kept in ((distances.a_to_b, back.a_to_b), (distances.b_to_a, back.b_to_a)):
                    assert (side.distances.tobytes(), side.sizes.tobytes()) == (
                        kept.distances.tobytes(), kept.sizes.tobytes()
                    )  # fmt: skip
                    assert side.undefined == kept.undefined
    assert from_json(to_json(None)) is None


def test_what_is_kept_is_a_third_of_what_the_numbers_take():
    """As text, each distance and size takes some 18 characters."""
    steps = np.mgrid[:60, :64, :50]
    balls = {
        r: sum((x - 25 - k) ** 2 for x, k in zip(steps, at, strict=True)) < 20**2
        for r, at in zip("AB", ((0, 0, 0), (7, 5, 3)), strict=True)
    }
    [case] = mt.Study.from_arrays({"p": balls}, spacing=(2.3, 0.7, 0.7))
    measured = measure_distances(case.read(), case.read().tally())
    sides = [s for d in measured.labels[""].pairs.values() for s in (d.a_to_b, d.b_to_a)]
    plain = json.dumps([[side.distances.tolist(), side.sizes.tolist()] for side in sides])
    assert len(plain) > 5_000
    assert len(json.dumps(to_json(measured))) < len(plain) / 3
