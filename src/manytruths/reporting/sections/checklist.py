"""The checklist for reporting reliability and agreement studies, filled in where the data answer.

Kottner J, Audigé L, Brorson S, et al. Guidelines for Reporting Reliability and Agreement Studies (GRRAS) were proposed.
J Clin Epidemiol 2011;64(1):96–106. doi:10.1016/j.jclinepi.2010.03.002. Items are in our own words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...claims.agreement import size_difference
from ...claims.numbers import has_interval
from ...claims.sentences import Cell, counted, join_names, text_cell
from ...core.undefined import reason
from ...inference.intervals import MIN_SUBJECTS
from ...io.result_tables import Row
from ...raters.dependence import COPY
from ..building import text_column
from ..elements import PageTable
from ..findings import Findings
from .cases import raters_per_case
from .summary import over_raters
from .vocabulary import SHARES

ANSWERED, PARTLY, YOURS = "answered", "partly", "yours to write"
SOURCE = (
    "After Kottner J, Audigé L, Brorson S, et al. Guidelines for Reporting Reliability and Agreement Studies (GRRAS) "
    "were proposed. J Clin Epidemiol 2011;64(1):96–106. doi:10.1016/j.jclinepi.2010.03.002. Items in our own words. "
    "Answers are what the files say: check them, and write what they cannot know."
)
NOT_THERE = "Not in the data: for you to report."

ASKED = (
    "Title or abstract: say that reliability or agreement of raters was investigated.",
    "Name and describe what was rated with: the imaging, the drawing tool, the instructions, what was to be marked.",
    "Describe the subjects of interest: which patients, with what condition.",
    "Describe the raters of interest: profession, training, experience.",
    "Say what is known of reliability and agreement so far, and why this study was done.",
    "Explain how the numbers of raters, subjects and repeated readings were chosen.",
    "Describe how subjects and raters were sampled.",
    "Describe the rating: time between repeated readings, what raters knew of the patient, blinding.",
    "Say whether ratings were made independently of each other.",
    "Describe the statistical analysis.",
    "State how many raters and subjects were included, and how many repeated readings there are.",
    "Describe the raters and the subjects that were included.",
    "Report estimates of reliability and agreement, with their uncertainty.",
    "Discuss what the results mean in practice.",
    "Give detailed results where possible, for instance online.",
)
"""What to report, item by item."""


@dataclass(frozen=True)
class Answer:
    """What the data say about an item."""

    text: str = NOT_THERE
    status: str = YOURS
    number: Cell | None = None
    """Shown above the text."""

    @property
    def cell(self) -> Cell:
        """The number with the text beneath it, or the text."""
        return replace(self.number, below=self.text) if self.number else text_cell(self.text)


def checklist_table(findings: Findings) -> PageTable:
    """All 15 items; the estimates of item 13 have rows of their own."""
    rows: list[tuple[Cell, ...]] = []
    for position, (asked, answer) in enumerate(zip(ASKED, _answers(findings), strict=True), start=1):
        rows.append(_row(str(position), asked, answer))
        if position == 13:
            for letter, (what, estimate) in zip("abcdefgh", _estimate_rows(findings), strict=False):
                rows.append(_row(f"13{letter}", what, estimate))
    columns = (
        text_column("Item"), text_column("What to report"),
        text_column("What the data say"), text_column("Status"),
    )  # fmt: skip
    return PageTable("grras", "Checklist for reporting (GRRAS)", columns, tuple(rows), SOURCE)


def _row(item: str, asked: str, answer: Answer) -> tuple[Cell, ...]:
    return text_cell(item), text_cell(asked), answer.cell, text_cell(answer.status)


def _answers(findings: Findings) -> Iterator[Answer]:
    within = " and intra-rater" if _readings(findings) else ""
    yield Answer(f"{NOT_THERE} This is a study of inter-rater{within} agreement of segmentations.")
    yield _measurement(findings)
    yield _known(_groups(findings))
    yield _partly(_properties(findings), "who they stand for")
    yield Answer()
    yield Answer(f"{NOT_THERE} Included were: {_study_numbers(findings)}")
    yield Answer()
    repeats = _readings(findings)
    text = f"Repeated readings: {repeats}." if repeats else ""
    yield _partly(text, "the time between them, what raters knew, blinding")
    yield _independence(findings)
    yield Answer("See the methods text above: statistics, intervals, software and references.", ANSWERED)
    exchangeable = findings.study.options.exchangeable
    yield Answer(_study_numbers(findings), PARTLY if exchangeable else ANSWERED)
    described = " ".join(filter(None, [_properties(findings), _groups(findings)]))
    known = bool(_properties(findings))
    yield _partly(described, "age, sex, severity and the like") if known else _known(described)
    yield _estimate_answer(findings)
    yield Answer(f"{NOT_THERE} The sections before this one summarise the results.")
    yield Answer("Tables by case, group, label, pair and rater can be saved from this page as CSV.", ANSWERED)


def _partly(text: str, lacks: str) -> Answer:
    """What the data say, and what they lack; nothing is answered without a text."""
    return Answer(f"{text} Not in the data: {lacks}.", PARTLY) if text else Answer()


def _known(text: str) -> Answer:
    """What the data say beside what is to be written: names of groups describe no patient."""
    return Answer(f"{NOT_THERE} {text}" if text else NOT_THERE)


def _readings(findings: Findings) -> str:
    """Who read cases repeatedly; empty where nobody did, or where raters are exchangeable."""
    repeated = {} if findings.study.options.exchangeable else findings.counts.repeated
    return join_names([f"rater {name} of {counted(cases, 'case')}" for name, cases in repeated.items()])


def _groups(findings: Findings) -> str:
    return f"Cases by group: {_counts_text(findings.counts.groups)}." if findings.counts.groups else ""


def _measurement(findings: Findings) -> Answer:
    labels = next(iter(findings.agreement.tallies.values())).labels
    names = [labels.names[code] for code in labels.marks]
    named = join_names([f"“{name}”" for name in names])
    text = f"Masks with {counted(len(names), 'label')} besides background: {named}." if names else "Empty masks."
    return _partly(text, "the imaging, the drawing tool, the instructions")


def _counts_text(by: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in by.items())


def _properties(findings: Findings) -> str:
    """What ``raters.csv`` says; under codes only its columns, since a value may be a name."""
    rows = [findings.study.properties.get(name, {}) for name in findings.study.rater_names]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    if not columns or findings.study.options.exchangeable:
        return ""
    if findings.coded:
        return f"Known of each rater: {join_names(columns)} (not shown, as names were replaced by codes)."
    texts = [f"{c}: {_counts_text(dict(Counter(row.get(c) or 'not given' for row in rows)))}" for c in columns]
    return f"Raters by {'; by '.join(texts)}."


def _independence(findings: Findings) -> Answer:
    raters = findings.agreement.raters
    if raters is None:
        return Answer()
    named = [f"{pair.rater_a} and {pair.rater_b}" for pair in raters.facts.copies]
    rule = (
        f"the same label for more than {COPY:.0%} of the {findings.pixel_word}s where either gave another label than "
        "the most frequent one"
    )
    text = f"No two raters have nearly the same masks ({rule})."
    if named and not raters.facts.all_alike:
        text = f"Nearly the same masks ({rule}): {join_names(named)}."
    elif named:
        text = (f"Nearly the same masks ({rule}): {counted(len(named), 'pair')} of raters, most of all, as "
                "where what is marked is large or easy to see.")  # fmt: skip
    if count := sum(len(case.edits) for case in findings.study):
        edits = counted(count, "reading")
        return Answer(f"{text} According to the reading log, {edits} started from another rater's mask.", PARTLY)
    return _partly(text, "whether raters saw each other's marks")


def _study_numbers(findings: Findings) -> str:
    counts = findings.counts
    exchangeable = findings.study.options.exchangeable
    cases, patients = counted(counts.cases, "case"), counted(counts.subjects, "patient")
    alone = f"{cases}, no patients named" if counts.cases > 1 else cases
    parts = [
        f"{raters_per_case(findings)} a case, how many different ones is not in the data"
        if exchangeable
        else counted(counts.raters, "rater"),
        f"{patients} with {cases}" if findings.subject_word == "patient" else alone,
        counted(counts.there, "mask") if exchangeable else f"{counts.there:,} of {counts.wanted:,} masks",
        f"repeated readings: {_readings(findings) or 'none'}",
    ]
    parts += [counted(len(findings.study.algorithms), "algorithm")] if findings.evaluation else []
    return "; ".join(parts) + "."


ESTIMATES = {
    "fleiss_kappa": "Reliability: Fleiss' kappa, mean over {}s",
    "krippendorff_alpha": "Reliability: Krippendorff's alpha, mean over {}s",
    "dice": "Agreement: Dice between two raters, mean over pairs and {}s",
    "positive_agreement": "Agreement: positive agreement, mean over {}s",
    "volume_difference_both_marked": "Agreement: {size} of two raters who both marked, mean over pairs and {}s",
}


def _estimate_rows(findings: Findings) -> Iterator[tuple[str, Answer]]:
    each = findings.subject_word
    for statistic, what in ESTIMATES.items():
        yield from _estimate(findings, statistic, what.format(each, size=size_difference(findings.pixel_word)))
    pairs = findings.table("agree/pairs")
    for row in pairs.all("dice", "mean"):
        a, b, relation = row["rater_a"], row["rater_b"], row["relation"]
        if relation == "within" and not row.group:
            cell = pairs.quote(row)
            yield f"Within a rater: Dice of {a} and {b}, mean over {each}s", Answer(*_certainty(row, each), cell)


def _estimate(findings: Findings, statistic: str, what: str) -> Iterator[tuple[str, Answer]]:
    file = findings.table("agree/agreement")
    row = file.row(statistic)
    if row is not None:
        text, status = _certainty(row, findings.subject_word)
        why, how = reason(row.value), {"digits": 0, "percent": True} if statistic in SHARES else {}
        yield what, Answer(f"Undefined: {why}." if why else text, status, file.quote(row, **how))


def _certainty(row: Row, each: str) -> tuple[str, str]:
    if not has_interval(row):
        need = f"it needs {MIN_SUBJECTS} {each}s, and the number is defined for {row.n or 0}"
        enough = (row.n or 0) >= MIN_SUBJECTS and row.low is not None and reason(row.low)
        why = reason(row.low) if enough and row.low is not None else need
        return f"No confidence interval over {each}s: {why}.", PARTLY
    return f"With a confidence interval over {each}s.", ANSWERED


def _estimate_answer(findings: Findings) -> Answer:
    table = findings.table("agree/agreement")
    if not any(has_interval(table.row(name)) for name in ESTIMATES):
        none = f"The lines below, without confidence intervals over {findings.subject_word}s."
        return Answer(none + over_raters(findings), PARTLY)
    return Answer(f"The lines below, with {findings.interval_name}; more in the tables.", ANSWERED)
