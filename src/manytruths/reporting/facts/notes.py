"""What analyses note about themselves, in the words of the page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...analyses.evaluate.printing import NAMES
from ...core.notes import code_of
from ..findings import Findings
from .standards import consensus_methods, given_references, standard_name

SHOWN_ELSEWHERE = frozenset({
    "metrics_chosen", "no_subjects", "vote_of_two", "no_human_range", "one_more_rater", "fewer_tests", "kendall_tau",
    "krippendorff_rule", "outliers", "exchangeable", "possible_copy", "edits", "second_look",
})  # fmt: skip
"""Codes of notes that are told elsewhere on the page, or that are about options."""

REWORDINGS = (
    (
        r"overall: the mean of ranks over the truths.*",
        "ranks are averaged over all reference standards; an algorithm counts as better than another only if it is "
        "significantly better under every one of them",
    ),
    (r"surface Dice at a tolerance of (.*)", r"surface Dice takes outlines within \1 of each other for the same"),
    (r"leaving out any one truth\b", "leaving out any one reference standard"),
    (r"under (every|one of the) truths?\b", r"under \1 reference standards"),
    (r"under every reference standards", "under every reference standard"),
    (r" \(\|I\|/\|O\|\)", ""),
    (r" \(--[^()]*\)", ""),
    (r"; give a tolerance$", ""),
    (r"\bHolm p\b", "adjusted p"),
)
"""Program speak, and what clinicians read in its place."""


def note_sentences(findings: Findings, notes: Iterable[str]) -> Iterator[str]:
    """As sentences, without what is told elsewhere."""
    for note in notes:
        if code_of(note) not in SHOWN_ELSEWHERE:
            text = plain_note(findings, note)
            start = text[:1] if text.startswith(_proper_names(findings)) else text[:1].upper()
            yield start + text[1:] + ("" if text.endswith((".", "?")) else ".")


def _proper_names(findings: Findings) -> tuple[str, ...]:
    """What keeps its letters as they are."""
    study = findings.study
    return (*(str(column) for column in study.algorithms), *given_references(study), *study.rater_names)


def plain_note(findings: Findings, note: str) -> str:
    """Without options and names of the files."""
    for pattern, words in REWORDINGS:
        note = re.sub(pattern, words, note)
    for method in consensus_methods(findings):
        note = re.sub(rf"(?<![\w:.]){re.escape(method)}(?!\w|:\w|\.\d)", standard_name(findings, method), note)
    for metric, name in NAMES.items():
        note = re.sub(rf"\b{metric}(?= against| \d| the )", name, note)
    return note
