"""The methods text tells what was run and nothing else; what it cites can be looked up."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from computed_studies import SETTINGS, STUDIES, block, computed, findings, masks, methods, said, simulated_findings

import manytruths as mt
from manytruths.analyses.agree.agree import compute_agreement
from manytruths.analyses.fuse.case import FusePlan
from manytruths.analyses.fuse.fuse import compute_fusion
from manytruths.claims.sentences import plain_text
from manytruths.reporting.findings import Findings
from manytruths.reporting.sections.formulas import REFERENCES, SOFTWARE, bibliography, cite, cite_once, cited_in


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Findings:
    return simulated_findings(tmp_path_factory.mktemp("demo"))


@pytest.fixture(params=[*STUDIES, "demo"])
def found(request, demo) -> Findings:
    return demo if request.param == "demo" else computed(request.param)


# -- what the methods text tells -------------------------------------------------------------


def test_tells_what_was_run(demo):
    text = methods(demo)
    for words in (
        "12 cases", "5 raters", "1 rater marked 12 cases more than once", "Fleiss' kappa [Fleiss 1971]",
        "over all pixels that were rated", "by Student's t [Student 1908], on the logit of shares",
        "majority vote (marked by at least half of the raters)", "and STAPLE (prior: mean share of votes)",
        "Pooled STAPLE [Warfield 2004], prior estimated, gave raters' sensitivity and specificity",
        "Outliers by Dice distance were tested by permuting raters within patients",
        "pooled values count all cases as one", "with t intervals corrected for skewness",
        "Means over ten patients or more have 95% confidence intervals over patients",
        "Means also have intervals over patients and raters [Cameron 2011; Satterthwaite 1946]",
        "Pooled values also have jackknife intervals",
        "on pixels that any rater marked, are given as identified ranges",
        "entropy (100 bins)", "they were not tested: fewer than ten patients under some reference standard",
        "3 algorithms", "Interchangeability was the Dice distance", "Wilcoxon", "Holm", "surface Dice", "Ward",
        f"manytruths {mt.__version__} [manytruths]", "seed 0", "[Lindsay 1995]",
    ):  # fmt: skip
        assert words in text, words


def test_the_interval_of_a_correlation_is_named_where_there_is_one():
    """Printed before: "generalized confidence interval" with five cases, which have none, and with the jackknife's."""

    def squares(cases):
        grown = {f"p{i:02}": {r: np.zeros((30, 30), np.uint8) for r in "ABC"} for i in range(cases)}
        for i, of in enumerate(grown.values()):
            for j, mask in enumerate(of.values()):
                mask[2 : 8 + i % 12, 2 : 9 + i * i % 7 + (i * j) % 3] = 1
        return grown

    few, enough = (methods(findings(squares(cases))) for cases in (5, 12))
    several = methods(findings(squares(24), subjects={f"p{i:02}": f"s{i // 2}" for i in range(24)}))
    said_so = r"absolute agreement, single rater(; \w+ confidence interval)?\)"
    found = [re.search(said_so, text)[1] for text in (few, enough, several)]
    assert found == [None, "; generalized confidence interval", "; jackknife confidence interval"]


def test_tells_nothing_else():
    text = methods(computed("two"))
    assert "2 raters" in text
    assert "the union of the markings" in text
    for word in (
        "algorithm",
        "Wilcoxon",
        "SIMPLE",
        "outliers",
        "Williams",
        "missing",
        "Interchangeability",
    ):
        assert word not in text, word
    standards = re.search(r"The reference standard was made[^.]*\.", text)
    assert standards is not None
    assert "STAPLE" not in standards[0]
    assert "[Langerak 2010]" in methods(computed("three"))


def test_without_staple_it_is_named_only_where_complexity_uses_it():
    assert methods(computed("two")).count("STAPLE") == 1
    assert "Complexity of a case" in methods(computed("two"))
    assert "STAPLE" not in methods(computed("empty"))
    assert "Complexity" not in methods(computed("empty"))


def test_exchangeable_raters_are_nobody():
    text = methods(computed("exchangeable"))
    assert "three raters a case" in text
    assert "exchangeable" in text
    assert "outliers" not in text
    assert "independent raters" not in text


def test_few_subjects_have_no_intervals():
    text = methods(computed("few"))
    assert "No confidence intervals over cases were made, as there were only 3 cases" in text
    assert "resamples" not in text


def test_a_single_case_is_no_mean():
    text = methods(findings(masks(cases=1)))
    assert "Segmentations of 1 case by 3 raters" in text
    assert "as there was only 1 case" in text
    assert "averaged over" not in text


def test_regions_and_labels():
    assert "as many of the background [Gordon 2009]" in methods(computed("union"))
    assert "The 2 labels were analysed together and each on its own." in methods(computed("labels"))


def test_votes_are_taken_for_each_label():
    both = {case: {r: m * (1 + (np.arange(12) > 5)) for r, m in by.items()} for case, by in masks().items()}
    assert "Votes were taken for each label" in methods(findings(both))
    assert "for each label" not in methods(computed("three"))


def test_what_has_no_value_was_not_done():
    text = methods(computed("empty"))
    for word in ("kappa", "Dice", "outliers", "Ward", "Williams", "benefit of more raters"):
        assert word not in text, word


def test_missing_masks_are_told(demo):
    gone = sum(len(case.absent) for case in demo.study)
    assert gone
    assert "masks missing; absent raters were left out [Gwet 2014]" in methods(demo)


def test_is_paragraphs_of_some_length(found):
    text = methods(found)
    starts = [part.partition(". ")[0] for part in text.split("\n\n")]
    measured = found.agreement.agreement.all("hausdorff_95", "mean")
    sizes = ["Sizes and distances"] if any(not np.isnan(row.value) for row in measured) else []
    algorithms = ["Algorithms"] if found.evaluation else []
    assert starts == ["Agreement", *sizes, "Reference standard", *algorithms, "Statistics"]
    assert "  " not in text
    assert " ," not in text
    assert ".." not in text
    assert "{" not in text


MOST_WORDS = {"sizes and distances": 80, "lesions": 35, "all else": 560}
"""Of each subject that a study may have; references do not count."""


def test_no_subject_takes_more_words_than_it_needs(found):
    words = dict.fromkeys(MOST_WORDS, 0)
    for paragraph in re.sub(r" \[[^\]]*\]", "", methods(found)).split("\n\n"):
        for sentence in re.split(r"(?<=\.) (?=[A-Z])", paragraph):
            sizes = "sizes and distances" if paragraph.startswith("Sizes and distances.") else "all else"
            words["lesions" if "lesion" in sentence.lower() else sizes] += len(sentence.split())
    assert words["all else"] >= 70
    assert {about: count for about, count in words.items() if count > MOST_WORDS[about]} == {}


# -- what the results text tells -------------------------------------------------------------


def test_results_are_one_paragraph(found):
    text = block(found, "results").text
    assert not re.search(r"\n|  | ,|\.\.|nan|None|–,", text)
    assert text.endswith(".")
    assert text[:1].isupper()


def test_results_are_those_of_the_tables(demo):
    text = block(demo, "results").text
    for name, words in (
        ("fleiss_kappa", "that were rated, was"),
        ("dice", "Two raters overlapped by a mean Dice of"),
    ):
        row = demo.agreement.headline(name)
        assert f"{words} {row.value:.2f} (95% CI {row.low:.2f} to {row.high:.2f})" in text
    assert f"(SD over patients {demo.agreement.agreement.find('fleiss_kappa', 'std').value:.2f})" in text
    assert "to the raters and " in text
    assert "could not be told" in text
    assert "the seven reference standards gave three orders: net was first under six" in text


def test_results_hold_every_tested_claim_that_was_made(demo):
    text, made = block(demo, "results").text, demo.claims.spell_intervals("95% CI").made
    tested = [claim for claim in made if claim.kind.kind in ("difference", "equivalence")]
    assert tested
    assert all(plain_text(claim.result) in text for claim in tested)


def test_results_hold_both_intervals(demo):
    row = demo.agreement.agreement.find("dice_over_both", "mean")
    assert f"raters like these, the mean Dice was {row.value:.2f} (95% CI {row.low:.2f} to {row.high:.2f})" in (
        block(demo, "results").text
    )


def test_results_hold_repeated_readings_and_doubtful_masks(demo):
    text = block(demo, "results").text
    assert "Repeated readings of the same rater overlapped by a mean Dice of" in text
    doubts = demo.claims.of(*(kind for kind in {c.kind.id for c in demo.claims.made} if kind.startswith("masks.")))
    assert ("All numbers count these masks as they are." in text) is bool(doubts.made)


def test_results_name_sessions_as_a_reader_would(demo):
    text = block(demo, "results").text
    (rater, columns), *_ = demo.study.sessions.items()
    one, two = (column.session for column in columns)
    assert f"Rater {rater} had the sessions {one} and {two}: agreement and consensus took session {one}" in text
    assert f"for sessions {one} and {two} of rater {rater} (over " in text
    assert f"{rater}@" not in text


def test_results_hold_sizes_and_distances_after_agreement(demo):
    """In the order of docs/which-numbers.md."""
    text = block(demo, "results").text
    row = demo.agreement.tables["size_agreement"].find(
        "icc_a1", size="area", unit="pixels", scale="log", relation="all", rater_a="", rater_b=""
    )
    words = (
        "Fleiss' kappa",
        "Repeated readings",
        f"single rater) was {row.value:.2f}, over ",
        "That of the areas themselves was",
        "The limits of agreement with the mean were a factor of",
        "The smallest detectable change of areas was a factor of",
        "The outlines of two raters were",
        "overlapped by a mean Dice of",
    )
    places = [text.rindex(each) for each in words]
    assert places == sorted(places)
    assert (
        "the intraclass correlation of logarithms and of the sizes themselves (two-way random, absolute agreement, "
        "single rater; jackknife confidence interval) [Shrout 1979; McGraw 1996; Ionan 2014]" in methods(demo)
    )
    assert "change and limits as ratios." in methods(demo)


def test_results_of_two_raters_say_whom_the_intervals_are_about():
    made = computed("two").claims.of("agreement.these_raters").made
    assert made
    assert plain_text(made[0].result) in block(computed("two"), "results").text


def test_nothing_is_computed_as_published_without_a_name(found):
    assert "computed as published" not in methods(found)


def test_staple_options_are_told():
    study = mt.Study.from_arrays(masks())
    options = {"staple": {"prior": "estimated", "unanimous": "exclude", "map_prior": (2.0, 1.5)}}
    fusion = compute_fusion(study, FusePlan(("staple",), options, None), settings=SETTINGS)
    found = Findings(study, SETTINGS, compute_agreement(study, settings=SETTINGS), fusion)
    object.__setattr__(found, "options", options)
    text = methods(found)
    assert "prior estimated as well [Dawid 1979]" in text
    assert "without pixels on which all agree [Commowick 2012]" in text
    assert "Beta prior (2, 1.5) on the rates [Commowick 2010]" in text
    assert "prior estimated" in said(found)


# -- references ------------------------------------------------------------------------------


def keys(bibtex: str) -> list[str]:
    return re.findall(r"^@\w+\{([^,]+),", bibtex, re.M)


def test_text_and_bibtex_cite_the_same(found):
    cited = [one.replace(" ", "") for one in cited_in(methods(found))]
    entries = keys(block(found, "bibtex").text)
    assert sorted(cited) == sorted(entries)
    assert len(set(entries)) == len(entries)
    brackets = [one for group in re.findall(r" \[([^\]]+)\]", methods(found)) for one in group.split("; ")]
    assert sorted(brackets) == sorted(cited_in(methods(found)))  # each once, none unknown


def test_formulas_cite_what_is_in_the_bibtex(found):
    entries = keys(block(found, "bibtex").text)
    table = block(found, "formulas")
    named = {one.replace(" ", "") for row in table.rows for one in row[-1].shown.split("; ") if one}
    assert named <= set(entries)


def test_dois_stand_in_the_code_base():
    home = Path(mt.__file__).parent
    known = "".join(p.read_text() for p in home.rglob("*.py"))
    known += (home.parents[1] / "docs" / "methods.md").read_text()
    dois = re.findall(r"doi = \{(.+)\}", "".join(REFERENCES.values()))
    assert len(dois) > 30
    assert [doi for doi in dois if doi not in known] == []


def test_bibtex_is_balanced():
    text = bibliography(REFERENCES)
    assert text.count("{") == text.count("}")
    assert len(keys(text)) == len(REFERENCES)
    assert keys(text)[-1] == SOFTWARE
    assert text.isascii()
    assert all(re.fullmatch(r"[A-Za-z-]+\d{4}|manytruths", key) for key in keys(text))


def test_citations():
    assert cite() == ""
    assert cite_once("a [Dice 1945], b [Dice 1945; Cohen 1960], c [x]") == "a [Dice 1945], b [Cohen 1960], c [x]"
