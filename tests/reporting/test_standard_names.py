"""Reference standards are called by what they are, and the page is about the same ones throughout."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_algorithms_section import section_of, small
from test_reference_standard_section import column, findings, tables

from manytruths import Study
from manytruths.analyses.evaluate.evaluate import compute_evaluation
from manytruths.analyses.evaluate.marks import EvaluatePlan
from manytruths.claims.sentences import plain_text
from manytruths.reporting.elements import Cases
from manytruths.reporting.sections import cases
from manytruths.reporting.sections.reference_standard import SOFT
from manytruths.reporting.sections.standards import UNION, method_help, method_name, method_sentence


@pytest.mark.parametrize(
    "method", ["vote:any", "vote:all", "vote:0.75", "excl:0.5", "staple", "simple", "lsml", "plurality"]
)
def test_every_method_has_words(method: str) -> None:
    assert method_name(method)
    assert method_help(method)
    assert method in method_sentence(method, 3)


def test_a_half_is_a_majority_of_odd_numbers_only() -> None:
    told = [method_name("vote:0.5", raters) for raters in (2, 3, 4, 13)]
    assert told == [UNION, "the majority vote", "the vote of at least half", "the majority vote"]
    assert ["tie" in method_help("vote:0.5", raters) for raters in (3, 4)] == [False, True]


def test_what_two_others_say_is_what_any_of_them_marked(tmp_path: Path) -> None:
    masks, predictions = small(tmp_path)
    section = section_of(findings(Study.open(masks, predictions=predictions)))
    judges = column(tables(section)["algorithm-beside-raters"], "Judged by")
    assert "what any of the other raters marked" in judges
    assert "the majority vote of the other raters" not in judges


def test_bounds_are_no_main_standard(tmp_path: Path) -> None:
    """Algorithms are judged by what the page is about, not by the first of the bounds."""
    masks, predictions = small(tmp_path)
    found = findings(Study.open(masks, predictions=predictions))
    assert found.evaluation is not None
    judged = compute_evaluation(found.study, EvaluatePlan(("vote:any", "vote:0.5", "staple")), settings=found.settings)
    bounded = replace(found, evaluation=judged, ranking=None)
    assert plain_text(section_of(bounded).lead[0]).startswith("Judged by the majority vote")
    heads = next(b for b in cases.section(bounded).blocks if isinstance(b, Cases)).table.columns
    assert next(c.help for c in heads if c.title == "good: Dice").endswith("with the majority vote.")


def test_gordon_joins_sensitivity_and_specificity() -> None:
    title, told = SOFT["gordon_f"]
    assert title == "Gordon's F"
    assert told.startswith("Harmonic mean of sensitivity and specificity")
