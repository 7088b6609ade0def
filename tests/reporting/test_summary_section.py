"""What the first part of the page says, of studies of every kind."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from computed_studies import findings as study_findings
from scipy.ndimage import gaussian_filter
from small_findings import METHODS, cells, discs, findings, lead, listed, mapped, steps, tables, to_know

from manytruths import Study
from manytruths.analyses.agree.agree import compute_agreement
from manytruths.analyses.agree.case import MapOptions
from manytruths.analyses.evaluate.evaluate import compute_evaluation
from manytruths.analyses.evaluate.marks import EvaluatePlan
from manytruths.analyses.fuse.case import FusePlan
from manytruths.analyses.fuse.fuse import compute_fusion
from manytruths.analyses.tables import Settings
from manytruths.claims.numbers import csv_text
from manytruths.claims.sentences import plain_text
from manytruths.io import write_map
from manytruths.io.result_tables import Table
from manytruths.reporting.findings import Findings
from manytruths.reporting.sections import agreement, cases, raters, summary
from study_folders import write_npy

EVERY = (summary, agreement, raters, cases)


STUDIES = {
    "five": lambda: findings(discs()),
    "one case": lambda: findings(discs(1)),
    "two raters": lambda: findings(discs(12, "AB")),
    "exchangeable": lambda: findings({k: list(v.values()) for k, v in discs().items()}, raters="exchangeable"),
    "labels": lambda: findings(
        mapped(lambda r, c, m: np.where(np.arange(24) > 11, 2 * m, m)), labels={1: "gland", 2: "tumour"}
    ),
    "empty": lambda: findings(mapped(lambda r, c, m: 0 * m, 3)),
    "identical": lambda: findings({k: dict.fromkeys(v, v["A"]) for k, v in discs().items()}),
    "union": lambda: findings(discs(), region="union"),
    "groups": lambda: findings(
        discs(), groups={f"p{k:02}": "odd" if k % 2 else "even" for k in range(1, 13)},
        subjects={f"p{k:02}": f"s{k // 2}" for k in range(1, 13)},
    ),
    "empty masks": lambda: findings(mapped(lambda r, c, m: m * (r != "D" or c > "p02"))),
    "nowhere together": lambda: findings(
        mapped(lambda r, c, m: np.eye(24, dtype=np.uint8) * 0 + (np.arange(24) == ord(r) - 65) if c == "p01" else m)
    ),
    "twice": lambda: findings({c: {("A", "1"): o["A"], ("A", "2"): o["E"], "B": o["B"]} for c, o in discs().items()}),
    "odd names": lambda: findings({"<b>": discs(1)["p01"] | {"<script>": discs(1)["p01"]["A"]}}),
}  # fmt: skip


@cache
def computed(name):
    """What was found in one of the studies."""
    return STUDIES[name]()


@pytest.fixture(scope="module", params=[*STUDIES, "algorithms"])
def found(request, tmp_path_factory):
    name = request.param
    return computed(name) if name in STUDIES else with_predictions(tmp_path_factory.mktemp("study"))


def with_predictions(folder):
    """Two of the raters' drawings taken for those of algorithms."""
    for case, own in discs().items():
        drawn = {f"raters/{rater}": mask for rater, mask in own.items()}
        drawn |= {"algorithms/net": own["A"], "algorithms/old": own["E"]}
        for place, mask in drawn.items():
            write_map(folder / place / f"{case}.png", mask)
    study = Study.open(
        str(folder / "raters/{rater}/{case}.png"), predictions=str(folder / "algorithms/{algorithm}/{case}.png")
    )
    settings = Settings()
    agreement = compute_agreement(study, settings=settings, plan=MapOptions(measured=False))
    fusion = compute_fusion(study, FusePlan(METHODS, {}, None), settings=settings)
    judged = compute_evaluation(study, EvaluatePlan(METHODS), settings=settings)
    return Findings(study, settings, agreement, fusion, judged)


def files(found):
    """Every line of every table by its address."""
    agreed = {f"agree/{t.name}.csv": t for t in found.agreement.tables.values() if isinstance(t, Table)}
    fused = {f"fuse/{t.name}.csv": t for t in (found.fusion.performance, found.fusion.differences)}
    fused |= {"fuse/complexity.csv": found.fusion.complexity}
    planned = {"plan/plan.csv": found.plan.table} if found.plan else {}
    tables = found.evaluation.tables.values() if found.evaluation else ()
    judged = {f"evaluate/{t.name}.csv": t for t in tables if isinstance(t, Table)}
    return agreed | fused | planned | judged


def test_every_number_stands_in_a_table(found):
    from manytruths.claims.numbers import address

    lines = {address(file, row): row for file, table in files(found).items() for row in table.rows}
    for module in EVERY:
        section = module.section(found)
        for cell in cells(section) if section else ():
            if cell.at:
                row = lines[cell.at]
                assert cell.value == csv_text(float(row.value))
                assert not cell.low or (cell.low, cell.high) == (csv_text(row.low), csv_text(row.high))


def test_sentences_are_whole(found):
    section = summary.section(found)
    said = [lead(section), *listed(section, "What to do next")]
    for text in said:
        assert "–," not in text
        assert "nan" not in text
        assert not re.search(r"  | ,|\.\.|of – |is –|by –|None", text)
        assert text.endswith(".")
    for module in EVERY:
        part = module.section(found)
        for table in tables(part).values() if part else ():
            assert table.rows
            assert all(len(row) == len(table.columns) for row in table.rows)
            assert all(column.title for column in table.columns)


def test_algorithms_are_told_of_where_there_are_some(found):
    titles = [column.title for column in tables(cases.section(found))["cases"].columns]
    text = lead(summary.section(found))
    assert ("The mean Dice distance of algorithms to the raters, minus that between raters, is " in text) == (
        found.evaluation is not None
    )
    (order,) = found.evaluation.claims.of("algorithms.order").made if found.evaluation else (None,)
    assert order is None or order.text in text
    assert ("Do not name a winner" in text) == (order is not None and " reference standards give " in order.text)
    assert ("net: Dice" in titles) == (found.evaluation is not None)


def test_names_of_tables_are_unique(found):
    names = [name for module in EVERY if (part := module.section(found)) for name in tables(part)]
    assert len(names) == len(set(names))


def test_five_raters():
    found = computed("five")
    text = lead(summary.section(found))
    row = found.agreement.headline("dice")
    assert "Five raters read the same twelve cases. Two raters overlap by a mean Dice of " in text
    ends = f"{row.low:.2f} to {row.high:.2f}"
    assert f"{row.value:.2f} (95% confidence interval, CI, {ends}) over pairs of raters and 12 cases" in text
    assert "Rater E is an outlier" in text
    assert "Fleiss' kappa, the agreement beyond chance over all pixels that were rated, is" in text
    assert "independent" not in text, "without a given reference nothing is known of that"
    assert any(step.startswith("Would more raters help?") for step in steps(found))


def test_disputed_cases_are_the_worst_and_open():
    found = computed("five")
    table = tables(summary.section(found))["disputed-cases"]
    kappas = sorted(row.value for row in found.agreement.agreement.all("fleiss_kappa", "case"))
    shown = [float(row[1].value) for row in table.rows]
    assert shown == kappas[:5]
    assert all(row[0].case == row[0].shown for row in table.rows)


def test_one_case_says_once_why_there_are_no_intervals():
    section = summary.section(computed("one case"))
    assert lead(section).count("no confidence intervals over cases: they need ten, and there is one.") == 1
    assert "they hold for other raters and this case" in lead(section)
    assert "disputed-cases" not in tables(section)


def test_two_raters():
    found = computed("two raters")
    text = lead(summary.section(found))
    assert "The two raters overlap by" in text
    assert "outlier" not in text
    assert "With two raters neither is called larger or an outlier; the ratio of their sizes with" in lead(
        raters.section(found)
    )
    assert "independent" not in text


def test_exchangeable_raters_are_nobody():
    found = computed("exchangeable")
    assert raters.section(found) is None
    section = summary.section(found)
    assert "Five raters each, not necessarily the same, read twelve cases" in lead(section)
    assert "nothing is reported about single raters" in lead(section)
    assert "coverage" not in tables(section)


def test_labels_one_by_one():
    text = lead(summary.section(computed("labels")))
    assert "for gland" in text
    assert "for tumour" in text


def test_nothing_marked_is_said_in_words():
    found = computed("empty")
    assert "nobody marked anything" in lead(summary.section(found))
    assert "kappa is" not in lead(summary.section(found))
    assert "nobody marked anything" in lead(agreement.section(found))


def test_identical_masks():
    section = summary.section(computed("identical"))
    assert "All raters marked exactly the same in every case" in lead(section)
    assert "disputed-cases" not in tables(section)
    assert any(step.startswith("Most raters gave the same label") for step in listed(section, "What to do next"))
    assert "independent ones" not in lead(section)


def test_empty_masks_and_cases_without_a_common_place():
    found = computed("empty masks")
    table = tables(summary.section(found))["coverage"]
    assert [row[2].shown for row in table.rows] == ["0", "0", "0", "2", "0"]
    assert any(step.startswith("In two cases (p01 and p02)") for step in steps(found))
    apart = computed("nowhere together")
    assert any(step.startswith("Do not judge anything by a consensus of p01") for step in steps(apart))
    alone = discs(4, "ABC")
    alone["p02"] = {"B": alone["p02"]["B"]}
    said = "Do not judge anything by a consensus of p02: only one rater has a mask there, which it is."
    assert said in steps(findings(alone))


@pytest.mark.slow
def test_absent_raters_are_named():
    own = {case: {r: m for r, m in by.items() if r != "B" or case > "p03"} for case, by in discs().items()}
    table = tables(summary.section(findings(own)))["coverage"]
    assert table.note.startswith("B is absent from three cases")
    assert table.rows[1][4].shown == "p01, p02 and p03"
    assert table.rows[1][1].shown == "9 of 12"


def test_cases_that_a_rater_did_not_read_and_found_not_evaluable_are_one_sentence(tmp_path):
    for case, by in discs(4, "ABC").items():
        for rater, mask in by.items():
            if rater != "B" or case == "p04":
                write_npy(tmp_path / rater / f"{case}.npy", mask)
    reads = tmp_path / "reads.csv"
    done = "".join(f"p0{i},{rater},done\n" for i in range(1, 5) for rater in "AC")
    reads.write_text(f"case,rater,status\n{done}p01,B,not_evaluable\np02,B,not_evaluable\np03,B,unread\np04,B,done\n")
    study = Study.open(f"{tmp_path}/{{rater}}/{{case}}.npy", reads=reads)
    table = tables(summary.section(study_findings(study)))["coverage"]
    assert table.note.startswith("B is absent from one case and found two not evaluable; votes and pairs are of fewer")


def test_one_mask_in_doubt_is_not_called_masks():
    own = discs(4, "ABC", size=60)
    for by in own.values():
        by["C"] = by["A"].copy()
    own["p01"]["B"] = 1 - own["p01"]["B"]
    assert "All numbers count this mask as it is: correct it, or leave it out, and make the report" in lead(
        summary.section(findings(own))
    )


def test_two_outliers_are_compared_with_another_rater():
    y, x = np.mgrid[:60, :60]
    rng = np.random.default_rng(5)
    rough = {**dict.fromkeys("ABCDE", 0.8), "F": 2.2, "G": 3.0}
    own = {
        f"p{i:02}": {
            r: (np.hypot(y - 30, x - 30) + e * 5 * gaussian_filter(rng.normal(size=y.shape), 3) < 18).astype(np.uint8)
            for r, e in rough.items()
        }
        for i in range(14)
    }
    said = "Go through some cases with rater F and rater G, and with another rater: do they follow the same rules?"
    assert any(step.startswith(said) for step in steps(findings(own)))


def test_without_background_each_label_is_told():
    """Such a study has nothing to fuse; what is said of agreement needs no fusion."""
    base = computed("exchangeable")
    study = Study.from_arrays({k: [m + 1 for m in v.values()] for k, v in discs().items()}, raters="exchangeable")
    found = replace(
        base, study=study, agreement=compute_agreement(study, settings=base.settings, plan=MapOptions(measured=False))
    )
    text = lead(summary.section(found))
    assert "12 cases and two labels, each against the rest" in text
    assert "Label by label, Dice is" in text
    assert "agreement" in tables(agreement.section(found))
    titles = [c.title for c in tables(cases.section(found))["cases"].columns]
    assert titles[:4] == ["Case", "What to look at", "Dice", "Fleiss' kappa"]


def test_second_readings():
    found = computed("twice")
    assert [row[3].shown for row in tables(summary.section(found))["coverage"].rows] == ["12", "0"]
    section = raters.section(found)
    assert section is not None
    assert [cell.shown for cell in tables(section)["rater-repeats"].rows[0][:2]] == ["A@1", "A@2"]


def test_cases_without_patients_are_warned_of():
    assert to_know(computed("five"))[0].startswith("Every case counts as a patient of its own.")
    assert not any("patient of its own" in note for note in to_know(computed("groups")))
    assert not any("patient of its own" in note for note in to_know(computed("one case")))


@pytest.mark.parametrize("who", ["ABC", "ABCDE", "ABCDEFGHI"])
def test_nobody_is_called_an_outlier_after_three_cases(who):
    """Mean + 1 SD finds somebody nearly always, among equals, too."""
    found = findings(discs(3, who))
    assert "outlier" not in lead(summary.section(found))
    assert found.agreement.raters.differences.outliers == (who[-1],)
    assert "not tested: there are three cases; it takes ten" in lead(raters.section(found))


def test_intervals_lack_for_the_reason_that_is_told():
    text = lead(summary.section(findings(mapped(lambda r, c, m: m * (c > "p03")))))
    assert "it is defined for nine of twelve cases, and intervals need ten" in text
    assert "there are twelve" not in text


def test_no_case_was_marked_by_two():
    own = {case: {"AB"[k % 2]: by["A"]} for k, (case, by) in enumerate(discs(4, "AB").items())}
    for part in (summary, agreement):
        text = lead(part.section(findings(own)))
        assert "no case was marked by two raters" in text
        assert "nobody marked anything" not in text


def test_patients_are_those_who_are_named():
    found = findings(discs(), subjects={f"p{k:02}": f"s{k}" for k in range(1, 13)})
    assert "twelve cases of twelve patients" in lead(summary.section(found))
    assert not any("patient of its own" in note for note in to_know(found))
    assert "kappa-histogram" in str(agreement.section(found))


@pytest.mark.slow
def test_nearly_independent_errors_are_not_told_at_the_top():
    rng = np.random.default_rng(0)
    truth = {case: rng.random((40, 40)) < 0.3 for case in discs()}
    own = {c: {r: (t ^ (rng.random(t.shape) < 0.1)).astype(np.uint8) for r in "ABCDE"} for c, t in truth.items()}
    found = findings(own)
    assert "correlation" not in lead(summary.section(found))
    section = raters.section(found)
    assert section is not None
    told = listed(section, "Do raters err together?")[0]
    assert "the raters' errors have a mean correlation of 0.00" in told
    assert "too low where raters share errors" in told
    assert "only against a given reference" in told
    assert "weigh" not in told


def test_with_a_given_reference_an_effective_number_is_told(tmp_path):
    rng = np.random.default_rng(0)
    for case in discs():
        truth, hard = rng.random((40, 40)) < 0.3, rng.random((40, 40)) < 0.1
        errors = {r: np.where(hard, rng.random(truth.shape) < 0.7, rng.random(truth.shape) < 0.03) for r in "ABCDE"}
        masks = {f"raters/{r}": truth ^ e for r, e in errors.items()} | {"known/expert": truth}
        for name, mask in masks.items():
            write_map(tmp_path / name / f"{case}.png", mask.astype(np.uint8))
    study = Study.open(
        f"{tmp_path}/raters/{{rater}}/{{case}}.png", reference=f"{tmp_path}/known/{{reference}}/{{case}}.png"
    )
    found = replace(
        computed("five"),
        study=study,
        agreement=compute_agreement(study, settings=Settings(), plan=MapOptions(measured=False)),
    )
    text = lead(summary.section(found))
    row = found.agreement.raters.table.find("effective_raters", "pooled", rater="expert")
    assert 1 < row.value < 3
    assert f"five raters are worth about {row.value:.1f} raters with independent errors" in text
    assert "If these raters' marks entered the reference, that number is too high" in text


@pytest.mark.parametrize("make", [summary.section, agreement.section])
def test_the_headline_has_its_interval_for_other_raters_beside_it(make):
    found = findings(discs())
    said = [plain_text(sentence) for sentence in make(found).lead]
    (at,) = [i for i, text in enumerate(said) if text.startswith("With intervals that hold for other cases and other")]
    assert "Fleiss' kappa" in " ".join(said[:at])
    both = found.agreement.agreement.find("dice_over_both", "mean")
    assert f"{both.low:.2f}–{both.high:.2f}" in said[at]
    two = " ".join(plain_text(sentence) for sentence in make(findings(discs(12, "AB"))).lead)
    assert "for other cases and these two raters" in two
