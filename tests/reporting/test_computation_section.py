"""How it was computed: formulas, checklist, undefined values, settings, files."""

from __future__ import annotations

import csv
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from computed_studies import STUDIES, block, blocks, computed, findings, masks, methods, said, simulated_findings
from small_findings import discs

import manytruths as mt
from manytruths.analyses.result import Tables
from manytruths.claims.masks import MASK_STATISTICS
from manytruths.io.result_tables import Table
from manytruths.reporting.elements import Paragraphs
from manytruths.reporting.findings import FileRead, Findings
from manytruths.reporting.sections import computation
from manytruths.reporting.sections.checklist import ANSWERED, PARTLY, YOURS
from manytruths.reporting.sections.computation import undefined_block
from manytruths.reporting.sections.formulas import FORMULAS, formula_names, used_formulas

COUNTS = {"missing", "undefined", "both_empty", "mean", "mean_kendall_tau", "gain", "rater_accuracy"}
"""Statistics that need no formula of their own."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Findings:
    return simulated_findings(tmp_path_factory.mktemp("demo"))


@pytest.fixture(params=[*STUDIES, "demo"])
def found(request, demo) -> Findings:
    return demo if request.param == "demo" else computed(request.param)


# -- formulas --------------------------------------------------------------------------------


def spoiled_findings() -> Findings:
    """A study with masks that are probably broken: inverted, filled, lost, speckled, and copied."""
    drawn = {case.name: {r: reading.mask.astype(np.uint8) for r, reading in case.readings.items()}
             for case in mt.simulate_study(cases=8, size=96, seed=3)}  # fmt: skip
    for number, by_rater in enumerate(list(drawn.values())[2:7]):
        (rater, mine), (_, other), *_ = by_rater.items()
        noise = (np.random.default_rng(0).random(mine.shape) < 0.02).astype(np.uint8)
        by_rater[rater] = (1 - mine, mine | 1, mine * 0, mine | noise, other)[number]
    return findings(drawn)


@pytest.mark.parametrize("study", ["demo", "spoiled"])
def test_every_statistic_has_a_formula(demo, study):
    found = demo if study == "demo" else spoiled_findings()
    assert ("masks" in {index.table.name for index in found.tables.values()}) is (study == "spoiled")
    # the flow of readings is all counts
    tables = [index for index in found.tables.values() if index.table.name != "flow"]
    for file, table in ((index.file, index.table) for index in tables):
        for statistic in {row.statistic for row in table.rows}:
            named = formula_names(table.name, statistic)
            assert named or statistic in COUNTS or statistic.startswith("accuracy_by_"), (file, statistic)


def test_claims_stand_with_their_reasons(found):
    table = block(found, "claims")
    assert len(table.rows) == len(found.claims)
    made = [row for row in table.rows if row[2].shown == "yes"]
    assert [row[3].shown for row in made] == [claim.text for claim in found.claims.made]
    assert all(row[4].shown for row in table.rows[len(made) :])


def test_statistics_of_broken_masks_have_formulas_of_their_own():
    """Dice there is a median over the others, and not that of a pair."""
    for statistic in MASK_STATISTICS:
        assert formula_names("masks", statistic) == [f"masks.{statistic}"]


def test_only_what_is_used_has_one(found):
    here = used_formulas(found)
    assert len(block(found, "formulas").rows) == len(here)
    assert ("extended_dice" in here) is (found.evaluation is not None)
    assert ("method.staple" in here) is ("staple" in found.fusion.methods)


def test_formulas_are_those_that_are_computed():
    """Each formula as it is written, by hand, against the function."""
    a = {"A": [1, 1, 1, 0, 0, 0], "B": [1, 1, 0, 1, 0, 0], "C": [1, 0, 0, 0, 0, 0]}
    table = mt.tally(a)
    votes = np.array([3, 2, 1, 1, 0, 0])
    agreed = 1 - np.mean(1 - (votes * (votes - 1) + (3 - votes) * (2 - votes)) / 6)
    p = np.array([1 - votes.mean() / 3, votes.mean() / 3])
    chance, gamma = (p**2).sum(), (p * (1 - p)).sum()
    assert mt.fleiss_kappa(table) == pytest.approx((agreed - chance) / (1 - chance))
    assert mt.gwet_ac1(table) == pytest.approx((agreed - gamma) / (1 - gamma))
    assert mt.pabak(table) == pytest.approx((agreed - 1 / 2) / (1 - 1 / 2))
    assert mt.prevalence_index(table) == pytest.approx(abs(1 - 2 * p[0]))
    assert mt.positive_agreement(table) == pytest.approx((votes * (votes - 1) / 2).sum() / votes.sum())
    assert mt.smyth_bound(table) == pytest.approx(np.minimum(votes, 3 - votes).sum() / 18)
    apart = (votes * (3 - votes) / 2).sum() * 2
    shares = np.array([18 - votes.sum(), votes.sum()])
    assert mt.krippendorff_alpha(table) == pytest.approx(1 - 17 * apart / (2 * shares.prod()))
    pair = table.pair("A", "B")
    same, chance = 4 / 6, (3 * 3 + 3 * 3) / 36
    assert mt.cohen_kappa(pair) == pytest.approx((same - chance) / (1 - chance))


# -- checklist -------------------------------------------------------------------------------


def test_checklist_has_fifteen_items(found):
    rows = block(found, "grras").rows
    assert [row[0].shown for row in rows if row[0].shown.isdecimal()] == [str(i) for i in range(1, 16)]
    assert {row[-1].shown for row in rows} <= {ANSWERED, PARTLY, YOURS}
    for row in rows:
        assert row[2].shown, row
        assert (row[-1].shown == YOURS) is ("for you to report" in row[2].shown)


def test_checklist_is_filled_in(demo):
    rows = {row[0].shown: row for row in block(demo, "grras").rows}
    assert "5 raters" in rows["11"][2].shown
    assert f"{len(demo.study.subjects)} patients with 12 cases" in rows["11"][2].shown
    assert "rater B of 12 cases" in rows["11"][2].shown
    assert "Raters by expertise: senior 2" in rows["12"][2].shown
    assert "Cases by group" in rows["3"][2].shown
    kappa = demo.agreement.agreement.find("fleiss_kappa", "mean")
    assert rows["13a"][2].value == repr(float(kappa.value))
    assert rows["13a"][2].at.startswith("agree/agreement.csv#mean,")
    assert rows["13a"][2].below == "With a confidence interval over patients."
    assert rows["13e"][2].shown.partition(" ")[0].endswith("%")
    assert any("Within a rater" in row[1].shown for row in rows.values())


def test_possible_copies_are_named():
    copied = {case: by | {"D": by["A"]} for case, by in masks().items()}
    row = next(r for r in block(findings(copied), "grras").rows if r[0].shown == "9")
    assert "A and D" in row[2].shown


def test_where_most_are_alike_nobody_is_accused():
    """A large square, of which raters differ in a few pixels only."""
    found = findings({f"p{k}": {r: _square(i + k) for i, r in enumerate("ABC")} for k in range(12)})
    row = next(r for r in block(found, "grras").rows if r[0].shown == "9")
    assert "3 pairs of raters" in row[2].shown
    assert "A and B" not in row[2].shown


def test_marking_nearly_everything_is_no_sign_of_copies():
    """Raters differ where they leave what nearly everything is."""
    found = findings({f"p{k}": {r: _nearly_all(i + k) for i, r in enumerate("ABC")} for k in range(12)})
    row = next(r for r in block(found, "grras").rows if r[0].shown == "9")
    assert row[2].shown.startswith("No two raters have nearly the same masks")


def _square(left: int) -> np.ndarray:
    mask = np.zeros((50, 50), np.uint8)
    mask[5:35, 5:35] = 1
    mask[5, 5 : 5 + left % 3] = 0
    return mask


def _nearly_all(left: int) -> np.ndarray:
    mask = np.ones((30, 30), np.uint8)
    mask[0, : left % 5 + 1] = 0
    return mask


def test_words_for_patients_are_used_where_some_are_named():
    named = findings(masks(), subjects={f"p{k:02}": f"s{k}" for k in range(1, 13)})
    for found, each in ((named, "patients"), (computed("three"), "cases")):
        rows = {row[0].shown: row for row in block(found, "grras").rows}
        assert rows["13a"][1].shown.endswith(f"mean over {each}")
        assert f"confidence intervals over {each}" in block(found, "methods").text
        assert "subject" not in block(found, "methods").text


def test_intervals_lack_for_the_reason_that_is_told():
    found = findings(masks(p01=0, p02=0, p03=0))
    rows = {row[0].shown: row for row in block(found, "grras").rows}
    why = "No confidence interval over cases: it needs 10 cases, and the number is defined for 9."
    assert rows["13c"][2].below == why


def test_what_empty_masks_count_as_is_one_table(demo):
    rows = {row[0].shown: [cell.shown for cell in row[1:]] for row in block(demo, "conventions").rows}
    assert rows["Distances of an algorithm"] == ["undefined, left out", "the image's diagonal"]
    assert rows["Surface Dice of an algorithm"] == ["undefined, left out", "0"]
    assert rows["Dice distance in γ and in tests of raters"] == ["0", "1"]
    few = {row[0].shown for row in block(computed("two"), "conventions").rows}
    assert not any("algorithm" in name for name in few)
    assert "not replaced" not in block(demo, "undefined").note


def test_how_many_exchangeable_raters_there_are_is_partly_known():
    slots = {case: list(by.values()) for case, by in masks().items()}
    rows = {row[0].shown: row for row in block(findings(slots, raters="exchangeable"), "grras").rows}
    assert rows["11"][3].shown == "partly"
    assert "how many different ones is not in the data" in rows["11"][2].shown


def test_names_of_groups_describe_no_patient():
    groups = {case: "easy" if case < "p05" else "hard" for case in masks()}
    rows = {row[0].shown: row for row in block(findings(masks(), groups=groups), "grras").rows}
    assert rows["3"][3].shown == rows["12"][3].shown == "yours to write"
    assert "easy 4" in rows["3"][2].shown


# -- undefined -------------------------------------------------------------------------------


def test_undefined_values_are_listed_with_cases():
    table = block(findings(masks(p03=0)), "undefined")
    lines = [[cell.shown for cell in row] for row in table.rows]
    assert any("dice" in line[0] and "p03" in line[4] and line[5] == "agree/agreement.csv" for line in lines)
    assert any("esm" in line[0] and "p03" in line[4] and line[2] == "nobody marked anything" for line in lines)


def test_every_undefined_value_is_counted(demo):
    table = block(demo, "undefined")
    counted = sum(int(row[3].shown.replace(",", "")) for row in table.rows if row[1].shown == "value")
    values = [r.value for t in demo.tables.values() for r in t.rows if r.scope != "subject"]
    assert counted == int(np.isnan(values).sum()) > 0


def test_refused_intervals_are_listed():
    rows = block(computed("few"), "undefined").rows
    assert any(row[1].shown == "interval" and "at least 10" in row[2].shown for row in rows)


def test_nothing_undefined_is_said():
    study = computed("three")
    nothing = Tables([Table(name) for name in ("performance", "differences", "complexity")])
    fusion = replace(study.fusion, tables=nothing)
    part = undefined_block(replace(study, agreement=replace(study.agreement, tables=Tables(())), fusion=fusion))
    assert isinstance(part, Paragraphs)
    assert part.sentences == (("Every value and every interval is defined.",),)


# -- settings, files, codes ------------------------------------------------------------------


def test_settings_and_versions(demo):
    lines = {row[1].shown: row[2].shown for row in block(demo, "settings").rows}
    assert lines["seed"] == "0"
    assert lines["level"] == "95%"
    assert lines["masks"].endswith("{case}.png")
    assert lines["what is counted"] == "all pixels that were rated"
    assert re.fullmatch(r"[\d.]+ pixels?", lines["tolerance of surface Dice"])
    assert "vote:0.5" in lines
    names = [row[0].shown for row in block(demo, "versions").rows]
    assert names == ["manytruths", "Python", "NumPy", "SciPy", "Pillow", "Platform"]


def test_checksums_can_be_checked(demo, tmp_path):
    sums = tmp_path / "SHA256SUMS"
    sums.write_text(block(demo, "sha256sums").text)
    done = subprocess.run(["sha256sum", "-c", "--quiet", sums], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert len(block(demo, "files").rows) == len(demo.files)


def test_many_files_are_listed_beside_the_page(demo, tmp_path, monkeypatch):
    assert computation.write_file_list(demo, tmp_path) == []
    monkeypatch.setattr(computation, "MOST_FILES", len(demo.files) - 1)
    assert f"{len(demo.files)} files were read; files.csv and SHA256SUMS.txt" in said(demo)
    table, sums = computation.write_file_list(demo, tmp_path)
    done = subprocess.run(["sha256sum", "-c", "--quiet", sums], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    with open(table, newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["path"], row["sha256"]) for row in rows] == [(f.path, f.sha256) for f in demo.files]
    assert computation.write_file_list(replace(demo, coded=True), tmp_path) == []


def test_checksum_of_a_strange_name():
    found = replace(computed("two"), files=(FileRead("a\nb\\c", "mask", "p01", 1, "0" * 64),))
    assert block(found, "sha256sums").text == "\\" + "0" * 64 + "  a\\nb\\\\c\n"


def test_without_files_it_says_so():
    assert "No file was read" in said(computed("two"))


def test_under_codes_there_is_no_path(demo):
    hidden = replace(demo, coded=True)
    words = said(hidden)
    for secret in ("masks/", ".png", str(Path(demo.files[0].path).parents[3]), demo.study.options.masks, "senior"):
        assert secret in said(demo), secret
        assert secret not in words, secret
    assert not any(getattr(b, "name", "") == "sha256sums" for b in blocks(computation.section(hidden)))
    assert demo.files[0].sha256 not in words
    assert "could identify a case by its checksum" in words
    assert "could identify a case by its checksum" in said(replace(demo, coded=True, files=()))


def test_names_are_unique(found):
    names = [b.name for b in blocks(computation.section(found)) if hasattr(b, "name")]
    assert len(set(names)) == len(names)
    assert computation.section(found).name == "how-it-was-computed"
    assert all(formula.title and formula.formula and formula.meaning for formula in FORMULAS.values())


@pytest.mark.parametrize(("raters", "cases", "there"), [("ABC", 12, True), ("AB", 12, False), ("ABCDE", 3, False)])
def test_intervals_over_both_are_explained_where_there_are_some(raters, cases, there):
    made = findings(discs(cases, raters))
    assert ("over_both" in used_formulas(made)) is there
    assert ("intervals over cases and raters" in methods(made)) is there


def test_only_tests_make_outliers_and_shares_of_resamples_no_certainty():
    assert "outlier_p is the test" in FORMULAS["outlier_threshold"].meaning
    assert not [name for name, formula in FORMULAS.items() if "surely" in formula.meaning]
