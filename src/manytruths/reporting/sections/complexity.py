"""The section on complexity: which cases are hard, by the entropy and mean of STAPLE's probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from ...analyses.fuse.fuse import LEAST_CASES
from ...analyses.fuse.presentation import charts
from ...claims.numbers import is_defined, number_cell, undefined_share
from ...claims.sentences import (
    Cell,
    Sentence,
    case_cell,
    case_links,
    compose,
    counted,
    join_parts,
    number,
    spell_count,
    text_cell,
)
from ...complexity import STATISTICS
from ...core.undefined import reason
from ...io.result_tables import Row
from ..building import ColumnOf, make_table, text_column
from ..elements import Beside, Block, Chart, Column, PageTable, Paragraphs, Section
from ..findings import Findings
from .vocabulary import sd_column

FILE = "fuse/complexity.csv"
MOST_LISTED = 10
"""Number of the hardest cases that are listed."""
MOST_NAMED = 3

HEADS = {
    "esm": ("ESM", "Entropy scaled by mean: the higher, the harder the case; 0 where all raters mark the same"),
    "ssm": ("SSM", "Standard deviation scaled by mean: the higher, the harder the case, likewise"),
    "entropy": ("Entropy", "How mixed STAPLE's probabilities are where any rater marked; 0 where all are equal"),
    "mean": ("Mean", "Mean of STAPLE's probabilities where any rater marked; 1: all raters agree"),
    "std": ("SD", "Standard deviation: how much that likelihood varies from pixel to pixel"),
}
"""Titles and meanings of the statistics."""

GROUPS = {
    "A": ("disagreement", "much of what one marks, the others leave"),
    "B": ("agreement", "what is marked is mostly shared"),
}
"""Names and meanings of the groups by their letter."""
BETWEEN = "in between", "a common core, and much that only some mark"
LEAST_DRAWN = 3
"""Fewest cases for which a histogram is drawn."""


def group_name(letter: str) -> str:
    """The name of a group; its letter could be mistaken for a rater."""
    return letter if letter == "undefined" else GROUPS.get(letter, BETWEEN)[0]


def section(findings: Findings) -> Section:
    """The chart of cases, their groups, and the hardest."""
    return Section("complexity", "How hard is each case?", (*_lead(findings),), (*_blocks(findings),))


def _rows_by_case(findings: Findings, statistic: str) -> dict[str, Row]:
    return {row.case: row for row in findings.fusion.complexity.all(statistic, "case")}


def _hardest_cases(findings: Findings) -> list[Row]:
    rows = [row for row in _rows_by_case(findings, "esm").values() if not reason(row.value)]
    return sorted(rows, key=lambda row: -row.value)


def _lead(findings: Findings) -> Iterator[Sentence]:
    yield (
        "A case is hard where raters mark different things. STAPLE gives every pixel that any rater marked a "
        "probability of being rightly marked. Where all agree, that is 1 everywhere: mean 1, entropy 0. The lower it "
        "is (mean) and the more it varies (entropy), the harder the case. ESM is both in one number (entropy / mean²): "
        "high is hard.",
    )
    hardest = _hardest_cases(findings)
    if not hardest:
        yield ("No case has a complexity here: see below why.",)
    elif len(findings.study) == 1:
        text = "The one case has an ESM of {}. It takes several cases to call it hard or easy."
        yield compose(text, number_cell(FILE, hardest[0]))
    elif not _differ(hardest):
        yield (f"All {spell_count(len(hardest), 'case')} have the same ESM, ", number_cell(FILE, hardest[0]), ".")
    elif len(hardest) > MOST_NAMED:
        harder = [row for row in hardest if row.value > hardest[-1].value]
        cases = [compose("{} (ESM {})", case_cell(row.case), number_cell(FILE, row)) for row in harder[:MOST_NAMED]]
        yield compose("Hardest: {}.", join_parts(cases))
        yield _kappa_sentence(findings, harder[: min(MOST_LISTED, len(hardest) // 2)])


def _differ(rows: list[Row]) -> bool:
    """Whether some are harder than others."""
    return len({row.value for row in rows}) > 1


def _kappa_sentence(findings: Findings, hardest: list[Row]) -> Sentence:
    """That complexity can be high where kappa is high, with an example."""
    table = findings.table("agree/agreement")
    mean = table.row("fleiss_kappa")
    kappas = [k for row in hardest if is_defined(k := table.row("fleiss_kappa", "case", case=row.case))]
    high = [k for k in kappas if is_defined(mean) and k.value > mean.value]
    text = (
        "Complexity (ESM) measures how mixed STAPLE's probabilities are inside the marked area; it can be high where "
        "kappa is high"
    )
    if not high:
        return (f"{text}.",)
    most = max(high, key=lambda row: row.value)
    return compose(text + ", as in {} (kappa {}).", case_cell(most.case), table.quote(most))


def _blocks(findings: Findings) -> Iterator[Block]:
    svgs = charts(findings.fusion)
    if "complexity" in svgs:
        yield Chart("fuse-complexity", svgs["complexity"], _caption(findings))
    yield from _group_blocks(findings)
    if (hard := _hardest_table(findings)) is not None:
        yield hard
    if "esm" in svgs and len(_hardest_cases(findings)) >= LEAST_DRAWN:
        caption = "How ESM is spread over the cases: hard ones lie right; line: mean of the cases."
        yield Beside((Chart("fuse-esm", svgs["esm"], caption), _overview_table(findings)))
    else:
        yield _overview_table(findings)
    if notes := tuple(_notes(findings)):
        yield Paragraphs(notes, listed=True, kind="note")


def _caption(findings: Findings) -> str:
    click = "; click one to open it" if findings.views else ""
    words = f"Each mark is a case{click}. Full agreement would lie at entropy 0 and mean 1, at the top left."
    return words + (" Colour, shape and letter: its group." if findings.fusion.groups else "")


def _group_blocks(findings: Findings) -> Iterator[Block]:
    groups = findings.fusion.groups
    if groups is None:
        yield Paragraphs(((_why_no_groups(findings),),))
        return
    members = Counter(groups.classify(result.complexity) for result in findings.fusion.cases.values())
    where = "At the centre of the group; fuse/complexity-groups.json"
    lines = []
    for name, (entropy, mean) in zip(groups.names, groups.centres, strict=True):
        ends = (text_cell(number(value, 2), why=where) for value in (entropy, mean))
        word, meaning = GROUPS.get(name, BETWEEN)
        lines.append((text_cell(f"{word} ({name})"), text_cell(meaning), text_cell(members[name]), *ends))
    columns = (
        text_column("Group", "With its letter in the chart"),
        text_column("Meaning", "After Gordon (2009), by the mean at the group's centre"),
        Column("Cases", "How many cases are nearest to this group"),
        Column("Entropy", "At the centre of the group"),
        Column("Mean", "At the centre of the group"),
    )
    note = "Groups are relative to this study: the cases were divided into three by their position in the chart."
    yield PageTable("complexity-groups", "Groups of cases", columns, tuple(lines), note)


def _why_no_groups(findings: Findings) -> str:
    cases = len(findings.study)
    if cases < LEAST_CASES:
        return f"The cases are not grouped: {counted(cases, 'case')}, and fewer than {LEAST_CASES} make no groups."
    return "The cases are not grouped: too few of them differ in complexity, or have one."


def _hardest_table(findings: Findings) -> PageTable | None:
    rows = _hardest_cases(findings)[:MOST_LISTED]
    if len(findings.study) < 2 or not rows:
        return None

    def value(statistic: str) -> Callable[[Row], Cell]:
        by_case = _rows_by_case(findings, statistic)
        return lambda row: number_cell(FILE, by_case[row.case])

    group = text_column("Group", "The group that it is nearest to")
    columns: list[ColumnOf[Row]] = [
        (text_column("Case", "Click to look at it"), lambda row: case_cell(row.case)),
        *((Column(*head), value(statistic)) for statistic, head in HEADS.items()),
        (group, lambda row: text_cell(group_name(str(row["class"])))),
    ]
    title = f"The {len(rows)} hardest cases" if len(rows) < len(findings.study) else "The cases, the hardest first"
    title = title if _differ(rows) else "Complexity, case by case"
    return make_table("hardest-cases", title, rows, columns if findings.fusion.groups is not None else columns[:-1])


def _overview_table(findings: Findings) -> PageTable:
    table, lines = findings.fusion.complexity, []
    for name in (s for s in HEADS if s in STATISTICS):
        mean, std = table.find(name, "mean", **{"class": ""}), table.find(name, "std", **{"class": ""})
        cells = text_cell(HEADS[name][0], why=HEADS[name][1]), number_cell(FILE, mean), number_cell(FILE, std)
        lines.append((*cells, text_cell(undefined_share(mean))))
    columns = (
        text_column("Measure", "The tooltip explains each measure"),
        Column("Mean", f"Mean over {findings.subject_word}s, with its {findings.interval_name}"),
        sd_column(findings),
        Column("Undefined", f"{findings.subject_word.capitalize()}s for which it is not defined"),
    )
    note = (
        "Complexity counts only pixels that any rater marked and as much background (the modified background), "
        "whatever region the other sections count."
    )
    return PageTable("complexity", "Complexity of all cases", columns, tuple(lines), note)


def _notes(findings: Findings) -> Iterator[Sentence]:
    """Cases without a complexity, by reason, and notes on groups and cases."""
    why: dict[str, list[str]] = {}
    for row in _rows_by_case(findings, "entropy").values():
        if reason(row.value):
            why.setdefault(reason(row.value), []).append(row.case)
    for text, cases in why.items():
        yield (*case_links(cases), f": no complexity, as {text}.")
    note = findings.fusion.groups.note if findings.fusion.groups else ""
    if note:
        yield (f"{note[0].upper()}{note[1:]}.",)
    for case, result in findings.fusion.cases.items():
        if result.complexity.note:
            yield case_cell(case), f": {result.complexity.note}."
