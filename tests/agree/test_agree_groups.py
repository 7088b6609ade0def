"""``agree --by``: groups of raters and of cases, in the table, in sentences, and on the command line."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import manytruths as mt
from manytruths.core.undefined import code
from study_folders import run, table

Y, X = np.mgrid[:40, :40]
RATERS = [f"R{k}" for k in range(10)]
BY = ("by", "of", "group_a", "group_b")


def draw(rng, radius, error):
    y, x = 20 + error * rng.normal(0, 0.4, 2)
    return (np.hypot(Y - y, X - x) < radius * np.exp(rng.normal(0, 0.1 * error))).astype(np.uint8)


def masks(subjects=24, seed=0, raters=10):
    """Five seniors who err little and five juniors who err more; every second case is hard (scanner B)."""
    rng = np.random.default_rng(seed)
    cases, groups = {}, {}
    for k in range(subjects):
        radius, hard = rng.uniform(6, 9), 1.0 if k % 2 else 2.2
        errors = {r: hard * (0.4 if i < 5 else 0.9) for i, r in enumerate(RATERS[:raters])}
        cases[f"p{k:02}"] = {rater: draw(rng, radius, error) for rater, error in errors.items()}
        groups[f"p{k:02}"] = ("scanner=A" if k % 2 else "scanner=B", "site=1")
    return cases, groups


PROPERTIES = {r: {"expertise": "senior" if i < 5 else "junior", "tool": "T"} for i, r in enumerate(RATERS)}


@pytest.fixture(scope="module")
def result():
    cases, groups = masks()
    study = mt.Study.from_arrays(cases, groups=groups, properties=PROPERTIES, primary="groups.raters")
    return mt.agree(study, pictures=False, measure="none", by="expertise,scanner")


def find(result, statistic, *extra, label=""):
    return result.tables["groups"].find(statistic, "mean", label=label, **dict(zip(BY, extra, strict=True)))


def test_agreement_within_and_between_groups_of_raters_is_that_of_their_pairs(result):
    pairs = {(r["rater_a"], r["rater_b"]): r.value for r in result.tables["pairs"].all("dice", "mean") if not r.group}
    groups = {"senior": RATERS[:5], "junior": RATERS[5:]}
    for name, raters in groups.items():
        found = find(result, "dice", "expertise", "raters", name, name)
        assert found.value == pytest.approx(np.mean([pairs[pair] for pair in combinations(raters, 2)]))
        assert found.n == 24
        assert found.low < found.value < found.high
    between = find(result, "dice", "expertise", "raters", "senior", "junior")
    assert between.value == pytest.approx(np.mean([pairs[a, b] for a in RATERS[:5] for b in RATERS[5:]]))
    difference = find(result, "dice_difference", "expertise", "raters", "senior", "junior")
    assert 0 < difference.low < difference.value < difference.high
    for statistic in ("cohen_kappa", "volume_difference"):
        assert find(result, f"{statistic}_p_value", "expertise", "raters", "senior", "junior").value <= 0.05
    arrangements = find(result, "dice_arrangements", "expertise", "raters", "senior", "junior")
    assert (arrangements.value, arrangements.n) == (252, 252)


def test_groups_of_cases_have_the_means_of_the_table_of_agreement(result):
    agreement = result.tables["agreement"]
    for name in "AB":
        for statistic in ("dice", "positive_agreement", "fleiss_kappa", "cohen_kappa", "volume_difference"):
            found, known = find(result, statistic, "scanner", "cases", name, ""), None
            known = agreement.find(statistic, "mean", group=f"scanner={name}")
            assert (found.value, found.low, found.high, found.n) == pytest.approx(
                (known.value, known.low, known.high, known.n)
            )
    difference = find(result, "dice_difference", "scanner", "cases", "B", "A")
    assert difference.high < 0


def p_values(result, of):
    """p values and adjusted ones with the size of their family, by statistic, column and groups."""
    found = {}
    for row in result.tables["groups"].rows:
        for suffix in ("_p_value", "_p_holm"):
            if row["of"] == of and row.statistic.endswith(suffix):
                key = (row.statistic.removesuffix(suffix), row["by"], row["group_a"], row["group_b"])
                found.setdefault(key, {})[suffix] = row
    return {key: (rows["_p_value"].value, rows["_p_holm"].value, rows["_p_holm"].n) for key, rows in found.items()}


def holm_by_hand(p):
    """The k-th smallest p value times the number of those that are not smaller, never falling, at most 1."""
    order, adjusted, largest = sorted(range(len(p)), key=p.__getitem__), [0.0] * len(p), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, p[i] * (len(p) - rank)))
        adjusted[i] = largest
    return adjusted


@pytest.mark.parametrize("primary", ["", "groups.raters", "groups.cases", "raters.larger"])
def test_p_values_are_adjusted_by_holm_over_all_that_is_tested_of_raters_and_of_cases(primary):
    cases, _ = masks(24)
    groups = {case: (f"scanner={'AB'[k % 2]}", f"site={k // 12}") for k, case in enumerate(cases)}
    study = mt.Study.from_arrays(cases, groups=groups, properties=PROPERTIES, primary=primary)
    result = mt.agree(study, pictures=False, measure="none", by="expertise,scanner,site")
    for of, tests in (("raters", 3), ("cases", 10)):
        found = p_values(result, of)
        assert len(found) == tests
        apart = [key for key in found if primary == f"groups.{of}" and key[0] == "dice"]
        for family in (apart, [key for key in found if key not in apart]):
            assert [found[key][1] for key in family] == pytest.approx(holm_by_hand([found[key][0] for key in family]))
            assert {found[key][2] for key in family} <= {len(family)}
        claims = {claim.about: claim.p_value for claim in result.claims.of(f"groups.{of}")}
        assert claims == {f"{a} and {b} ({by})": p for (s, by, a, b), (_, p, _) in found.items() if s == "dice"}


def test_few_raters_and_many_tests_are_said_to_allow_no_claim():
    cases, _ = masks(12, raters=8)
    known = {r: {"expertise": "senior" if i < 4 else "junior"} for i, r in enumerate(RATERS)}
    for primary, expected in (("", "too_few_arrangements_for_tests"), ("groups.raters", None)):
        study = mt.Study.from_arrays(cases, properties=known, primary=primary)
        (claim,) = mt.agree(study, pictures=False, measure="none", by="expertise").claims.of("groups.raters")
        assert (claim.why_not.code if claim.why_not else None) in (expected, "not_significant")
        # 70 divisions, of which two have the largest difference, and three statistics
        assert (claim.why_not is not None and "over 3 tests can be below 0.086" in claim.why_not) == bool(expected)


def test_what_is_said_of_groups(result):
    (raters,) = result.claims.of("groups.raters")
    (cases,) = result.claims.of("groups.cases")
    assert raters.made
    assert raters.text.startswith(
        "By expertise, raters of the group senior agree more with each other than those of the group junior: their "
        "mean Dice is 0.9"
    )
    assert "over the 24 cases that all of them read the difference (senior minus junior) is 0." in raters.text
    assert cases.made
    assert cases.text.startswith("By scanner, raters agree more in cases of the group A than in those of the group B: ")
    assert "difference (B minus A) is −0." in cases.text
    assert cases.text.endswith(
        ", provided that cases without agreement are rare (a group of 12 can miss a share of up to 22%)."
    )
    assert {number.at.partition("#")[0] for number in cases.numbers} == {"agree/groups.csv"}
    assert " agreed more " in "".join(part if isinstance(part, str) else part.shown for part in cases.result)


def test_numbers_of_groups_are_printed_once(result, capsys):
    made = {c.about for c in result.claims.of("groups.cases", "groups.raters").made}
    means = result.claims.of("groups.means").made
    assert made & {c.about for c in means}, "both hold, and one sentence is enough"
    result.print()
    printed = " ".join(capsys.readouterr().out.split())
    for claim in means:
        assert (" ".join(claim.text.split()) in printed) is (claim.about not in made)


def test_equal_groups_are_not_called_different():
    cases, _ = masks(20, seed=3)
    half = {rater: {"hand": "left" if i % 2 else "right"} for i, rater in enumerate(RATERS)}
    even = {case: f"day={k // 2 % 2}" for k, case in enumerate(cases)}
    result = mt.agree(
        mt.Study.from_arrays(cases, groups=even, properties=half), pictures=False, measure="none", by=["hand", "day"]
    )
    assert not result.claims.of("groups.raters", "groups.cases").made
    assert {c.why_not.code for c in result.claims.of("groups.raters", "groups.cases")} == {"not_significant"}


def test_numbers_of_groups_of_raters_say_whom_they_are_about_and_what_the_test_could_show():
    cases, _ = masks(12, raters=8)
    known = {r: {"expertise": "senior" if i < 4 else "junior"} for i, r in enumerate(RATERS)}
    study = mt.Study.from_arrays(cases, properties=known)
    (means,) = mt.agree(study, pictures=False, measure="none", by="expertise").claims.of("groups.means")
    assert ", over twelve cases and for these raters alone, adjusted p 0." in means.text
    assert means.text.endswith(" (with so few raters it cannot be below 0.086).")


@pytest.mark.parametrize(
    ("seniors", "why"),
    [
        (3, "a permutation test needs at least 40 ways to divide these into groups of the same sizes; there are 20"),
        (2, "a test of groups of raters needs at least 3 raters in each; one has 2"),
    ],
)
def test_numbers_of_groups_without_a_test_say_why(seniors, why):
    """An interval that holds no 0 must not be taken for a test."""
    cases, _ = masks(12, raters=6)
    known = {r: {"expertise": "senior" if i < seniors else "junior"} for i, r in enumerate(RATERS)}
    study = mt.Study.from_arrays(cases, properties=known)
    (means,) = mt.agree(study, pictures=False, measure="none", by="expertise").claims.of("groups.means")
    assert means.text.endswith(f", over twelve cases and for these raters alone; not tested: {why}.")


def test_numbers_of_groups_of_cases_are_not_about_raters(result):
    means = {claim.about: claim.text for claim in result.claims.of("groups.means")}
    assert "for these raters" not in means["B and A (scanner)"]
    assert "cannot be below" not in " ".join(means.values())


def test_copies_among_the_raters_of_a_group_withhold_the_claim():
    cases, groups = masks(seed=1)
    for by in cases.values():
        by["R1"] = by["R0"].copy()
    study = mt.Study.from_arrays(cases, groups=groups, properties=PROPERTIES, primary="groups.raters")
    (claim,) = mt.agree(study, pictures=False, measure="none", by="expertise").claims.of("groups.raters")
    assert claim.why_not.code == "possible_copies"


def test_few_subjects_and_small_groups_give_numbers_and_reasons():
    cases, groups = masks(8)
    study = mt.Study.from_arrays(cases, groups=groups, properties=PROPERTIES)
    few = mt.agree(study, pictures=False, measure="none", by="expertise,scanner")
    rows = few.tables["groups"].all("dice_p_holm", "mean")
    assert [code(row.value) for row in rows] == ["too_few_shared_subjects", "too_few_subjects_to_test"]
    assert not few.claims.of("groups.raters", "groups.cases").made
    cases, groups = masks(12, raters=4)
    alone = {r: {"level": "chief" if r == "R0" else "staff"} for r in RATERS}
    one = mt.agree(mt.Study.from_arrays(cases, properties=alone), pictures=False, measure="none", by="level")
    assert code(find(one, "dice", "level", "raters", "chief", "chief").value) == "one_rater_in_group"
    assert code(find(one, "dice_p_value", "level", "raters", "chief", "staff").value) == "one_rater_in_group"
    assert find(one, "dice", "level", "raters", "chief", "staff").value > 0.5
    (claim,) = one.claims.of("groups.raters")
    assert claim.why_not.code == "one_rater_in_group"


def test_of_several_labels_overlap_is_the_macro_mean():
    cases, groups = masks(12, raters=6)
    two = {case: {r: m + (m & np.roll(m, 4, 0)) for r, m in by.items()} for case, by in cases.items()}
    study = mt.Study.from_arrays(two, groups=groups, properties=PROPERTIES)
    result = mt.agree(study, pictures=False, measure="none", by="expertise,scanner")
    pairs = result.tables["pairs"].all("dice", "mean")
    of_labels = [r for r in pairs if r.label == "macro mean" and not r.group]
    seniors = [r.value for r in of_labels if {r["rater_a"], r["rater_b"]} <= set(RATERS[:5])]
    found = find(result, "dice", "expertise", "raters", "senior", "senior", label="macro mean")
    assert found.value == pytest.approx(np.mean(seniors))
    known = result.tables["agreement"].find("dice", "mean", group="scanner=A", label="macro mean")
    assert find(result, "dice", "scanner", "cases", "A", "", label="macro mean").value == pytest.approx(known.value)
    assert find(result, "cohen_kappa", "scanner", "cases", "A", "").value > 0


def test_distances_are_compared_where_they_were_measured():
    cases, groups = masks(4, raters=6)
    study = mt.Study.from_arrays(cases, groups=groups, properties=PROPERTIES)
    result = mt.agree(study, pictures=False, measure="distances", by="expertise,scanner")
    pairs = [r for r in result.tables["pairs"].all("hausdorff_95", "mean") if not r.group]
    seniors = [r.value for r in pairs if {r["rater_a"], r["rater_b"]} <= set(RATERS[:5])]
    assert find(result, "hausdorff_95", "expertise", "raters", "senior", "senior").value == pytest.approx(
        np.mean(seniors)
    )
    known = result.tables["agreement"].find("surface_dice", "mean", group="scanner=A")
    assert find(result, "surface_dice", "scanner", "cases", "A", "").value == pytest.approx(known.value)


@pytest.mark.parametrize(
    ("by", "error", "words"),
    [
        ("age", mt.CallError, "no column 'age' of raters or cases; raters.csv has expertise, tool; cases.csv has scan"),
        ("tool", mt.InputError, "all raters are 'T'; a comparison needs two groups"),
        ("site", mt.InputError, "all cases are '1'; a comparison needs two groups"),
    ],
)
def test_columns_that_say_nothing_are_refused(by, error, words):
    cases, groups = masks(3)
    study = mt.Study.from_arrays(cases, groups=groups, properties=PROPERTIES)
    with pytest.raises(error, match=words):
        mt.agree(study, pictures=False, measure="none", by=by)


def test_raters_without_a_value_exchangeable_raters_and_many_groups_are_refused():
    cases, _ = masks(12)
    known = {r: row for r, row in PROPERTIES.items() if r != "R3"}
    with pytest.raises(mt.InputError, match=r"raters\.csv says nothing about R3; fill in the column, or leave this"):
        mt.agree(mt.Study.from_arrays(cases, properties=known), by="expertise")
    study = mt.Study.from_arrays(cases, properties=PROPERTIES, raters="exchangeable")
    with pytest.raises(mt.CallError, match="raters are exchangeable, so that they have no groups"):
        mt.agree(study, by="expertise")
    many = {case: f"day={case}" for case in cases}
    with pytest.raises(mt.InputError, match="12 different values, which are compared pair by pair; at most 10"):
        mt.agree(mt.Study.from_arrays(cases, groups=many), by="day")


def test_on_the_command_line_by_columns_of_the_two_files(tmp_path, capsys):
    from PIL import Image

    cases, _ = masks(10, raters=8)
    for case, by in cases.items():
        for rater, mask in by.items():
            (tmp_path / "masks" / rater).mkdir(parents=True, exist_ok=True)
            Image.fromarray(mask * 255).save(tmp_path / "masks" / rater / f"{case}.png")
    scanners = [f"{case},{'A' if k % 2 else 'B'}" for k, case in enumerate(cases)]
    (tmp_path / "cases.csv").write_text("\n".join(["case,scanner", *scanners]))
    levels = [f"{rater},{'senior' if k % 2 else 'junior'}" for k, rater in enumerate(RATERS[:8])]
    (tmp_path / "raters.csv").write_text("\n".join(["rater,expertise", *levels]))
    call = (
        "agree", tmp_path / "masks/{rater}/{case}.png", "--cases", tmp_path / "cases.csv", "--raters",
        tmp_path / "raters.csv", "--no-pictures", "--measure", "none", "--jobs", 1, "--out", tmp_path / "out",
    )  # fmt: skip
    done = run(capsys, *call, "--by", "expertise,scanner")
    assert done.status == 0, done.err
    assert "Groups: Dice within groups of raters" in done.out
    rows = table(tmp_path / "out/agree/groups.csv")
    assert {(row["by"], row["of"]) for row in rows} == {("expertise", "raters"), ("scanner", "cases")}
    wrong = run(capsys, *call, "--by", "experience")
    assert wrong.status == 2
    assert wrong.err.count("\n") == 1
    assert "raters.csv has expertise; cases.csv has scanner" in wrong.err
