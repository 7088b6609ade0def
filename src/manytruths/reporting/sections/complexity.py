"""The section on complexity: the entropy and mean of STAPLE's probabilities, beside the agreement of the same cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from ...analyses.fuse.fuse import group_of, why_no_groups
from ...analyses.fuse.presentation import charts
from ...charts.complexity import GROUP_NAMES
from ...claims.numbers import has_interval, is_defined, number_cell, undefined_share
from ...claims.sentences import (
    Cell,
    Sentence,
    case_cell,
    case_links,
    compose,
    join_parts,
    number,
    spell_count,
    text_cell,
)
from ...complexity import STATISTICS
from ...core.undefined import code, reason
from ...io.result_tables import Row
from ..building import ColumnOf, make_table, text_column
from ..elements import Beside, Block, Chart, Column, PageTable, Paragraphs, Section
from ..findings import Findings
from .standards import with_interval
from .vocabulary import plain_note, sd_column

FILE = "fuse/complexity.csv"
MOST_LISTED = 10
"""Number of cases that are listed."""
MOST_NAMED = 3

HEADS = {
    "esm": ("ESM", "Entropy scaled by mean: entropy / mean². 0 where all raters mark the same"),
    "ssm": ("SSM", "Standard deviation scaled by mean: SD / mean². 0 where all raters mark the same"),
    "entropy": ("Entropy", "How mixed STAPLE's probabilities are where any rater marked; 0 where all are equal"),
    "mean": ("Mean", "Mean of STAPLE's probabilities where any rater marked; 1: all raters agree"),
    "std": ("SD", "Standard deviation: how much that probability varies from place to place"),
    "dice": ("Dice", "Mean Dice of two raters in the same case, and over labels where there are several"),
}
"""Titles and meanings of the statistics."""

GROUPS = {
    "A": "the lowest mean of STAPLE's probabilities",
    "B": "the highest mean of STAPLE's probabilities",
}
"""Meanings of the groups by their letter; names are those of the chart."""
BETWEEN = "a mean between these"
LEAST_DRAWN = 3
"""Fewest cases for which a histogram is drawn."""


def group_name(letter: str) -> str:
    """The name of a group; its letter could be mistaken for a rater."""
    return letter if letter == "undefined" else GROUP_NAMES.get(letter, "middle mean")


def section(findings: Findings) -> Section:
    """The chart of cases, their groups, and those with the highest ESM."""
    one = len(findings.study) == 1
    return Section(
        "complexity",
        "How are STAPLE's probabilities spread?" if one else "How do STAPLE's probabilities vary from case to case?",
        (*_lead(findings),),
        (*_blocks(findings),),
    )


def _rows_by_case(findings: Findings, statistic: str) -> dict[str, Row]:
    return {row.case: row for row in findings.fusion.complexity.all(statistic, "case") if not row.label}


def _highest_cases(findings: Findings) -> list[Row]:
    """The cases that have an ESM, the highest first."""
    rows = [row for row in _rows_by_case(findings, "esm").values() if not reason(row.value)]
    return sorted(rows, key=lambda row: -row.value)


def _lead(findings: Findings) -> Iterator[Sentence]:
    yield (
        f"STAPLE gives every {findings.pixel_word} that any rater marked a probability of being rightly marked. Where "
        "all raters mark the same, that is 1 everywhere: mean 1, entropy 0. ESM (entropy / mean², Gordon 2009) "
        "describes how these probabilities are spread. It is not a measure of agreement: a case in which raters share "
        "little can have few different probabilities and a low ESM.",
    )
    highest = _highest_cases(findings)
    if _by_label(findings):
        yield ("Complexity was computed for each label against the rest, with a binary STAPLE.",)
    elif not highest:
        yield ("No case has a complexity here: see below why.",)
    elif len(findings.study) == 1:
        yield compose("The one case has an ESM of {}.", number_cell(FILE, highest[0]))
    elif not _differ(highest):
        yield (f"All {spell_count(len(highest), 'case')} have the same ESM, ", number_cell(FILE, highest[0]), ".")
    elif len(highest) > MOST_NAMED:
        higher = [row for row in highest if row.value > highest[-1].value]
        cases = [compose("{} ({})", case_cell(row.case), number_cell(FILE, row)) for row in higher[:MOST_NAMED]]
        yield compose("ESM is highest in {}.", join_parts(cases))
    yield from _correlation_sentence(findings)


def _differ(rows: list[Row]) -> bool:
    """Whether some are higher than others."""
    return len({row.value for row in rows}) > 1


def _correlation_sentence(findings: Findings) -> Iterator[Sentence]:
    """How ESM goes with the overlap of two raters in the same cases."""
    row = findings.table("fuse/complexity").row("esm_dice_correlation", "pooled", "")
    if is_defined(row):
        text = (
            "Over these {} cases, the rank correlation of ESM with the mean Dice of two raters is {}; it would be −1 "
            "if ESM were always higher where raters overlap less."
        )
        yield compose(text, str(row.n), number_cell(FILE, row))


def _blocks(findings: Findings) -> Iterator[Block]:
    svgs = charts(findings.fusion)
    if "complexity" in svgs:
        yield Chart("fuse-complexity", svgs["complexity"], _caption(findings))
    yield from _group_blocks(findings)
    if (table := _highest_table(findings)) is not None:
        yield table
    if "esm" in svgs and len(_highest_cases(findings)) >= LEAST_DRAWN:
        caption = "How ESM is spread over the cases; line: mean of the cases."
        yield Beside((Chart("fuse-esm", svgs["esm"], caption), _overview_table(findings)))
    elif not _by_label(findings):
        yield _overview_table(findings)
    yield from _label_table(findings)
    if notes := tuple(_notes(findings)):
        yield Paragraphs(notes, listed=True, kind="note")


def _caption(findings: Findings) -> str:
    click = "; click one to open it" if findings.views else ""
    words = f"Each mark is a case{click}. Full agreement would lie at entropy 0 and mean 1, at the top left."
    return words + (" Colour, shape and letter: its group." if findings.fusion.groups else "")


def _group_blocks(findings: Findings) -> Iterator[Block]:
    groups = findings.fusion.groups
    if groups is None:
        if len(findings.study) > 1 and _highest_cases(findings):
            yield Paragraphs(((f"The cases are not grouped: {why_no_groups(findings.fusion.cases)}.",),))
        return
    members = Counter(group_of(groups, result.complexity) for result in findings.fusion.cases.values())
    where = "At the centre of the group; fuse/complexity-groups.json"
    lines = []
    for name, (entropy, mean) in zip(groups.names, groups.centres, strict=True):
        ends = (text_cell(number(value, 2), why=where) for value in (entropy, mean))
        title, meaning = text_cell(f"{group_name(name)} ({name})"), text_cell(GROUPS.get(name, BETWEEN))
        overlap = findings.table("fuse/complexity").cell("dice", "mean", name)
        lines.append((title, meaning, text_cell(members[name]), *ends, overlap))
    means = [findings.table("fuse/complexity").row("dice", "mean", name) for name in groups.names]
    interval = with_interval(findings, shown=any(map(has_interval, means)))
    columns = (
        text_column("Group", "With its letter in the chart"),
        text_column("Meaning", "By the mean at the group's centre, after Gordon (2009)"),
        Column("Cases", "How many cases are nearest to this group"),
        Column("Entropy", "At the centre of the group"),
        Column("Mean", "At the centre of the group"),
        Column("Dice", f"Mean Dice of two raters over the {findings.subject_word}s of the group{interval}"),
    )
    note = (
        "Groups are relative to this study: the cases were divided into three by their position in the chart. They "
        "need not be in the order of Dice."
    )
    yield PageTable("complexity-groups", "Groups of cases", columns, tuple(lines), note)


def _highest_table(findings: Findings) -> PageTable | None:
    rows = _highest_cases(findings)[:MOST_LISTED]
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
    title = f"The {len(rows)} cases with the highest ESM" if len(rows) < len(findings.study) else "Cases by ESM"
    title = title if _differ(rows) else "Complexity, case by case"
    return make_table("highest-esm", title, rows, columns if findings.fusion.groups is not None else columns[:-1])


def _overview_table(findings: Findings) -> PageTable:
    """The mean of every measure over subjects; of one case its values."""
    table, one = findings.table("fuse/complexity"), len(findings.study) == 1
    names = [s for s in HEADS if s in STATISTICS]
    means = {name: table.row(name, "mean", "") for name in names}
    interval = with_interval(findings, shown=any(map(has_interval, means.values())))
    columns: list[ColumnOf[str]] = [
        (text_column("Measure", "The tooltip explains each measure"),
         lambda name: text_cell(HEADS[name][0], why=HEADS[name][1])),
        (Column("Value", "Of the one case") if one else
         Column("Mean", f"Mean over {findings.subject_word}s{interval}"), lambda name: table.cell(name, "mean", "")),
    ]  # fmt: skip
    if not one:
        undefined = f"{findings.subject_word.capitalize()}s for which it is not defined"
        columns += [
            (sd_column(findings), lambda name: table.cell(name, "std", "")),
            (Column("Undefined", undefined), lambda name: text_cell(undefined_share(means[name]))),
        ]
    title = "Complexity of the case" if one else "Complexity of all cases"
    return make_table("complexity", title, names, columns, _region_note(findings))


def _region_note(findings: Findings) -> str:
    """Where STAPLE was run, and where its probabilities are described."""
    return (
        f"STAPLE was run on the {findings.pixel_word}s that any rater marked and at most as much background (the "
        f"modified background), whatever region the other sections count; its probabilities are described over the "
        f"{findings.pixel_word}s that any rater marked."
    )


def _by_label(findings: Findings) -> bool:
    """Whether there are several labels, each of which has its own complexity."""
    return next(iter(findings.agreement.tallies.values())).labels.several


def _label_table(findings: Findings) -> Iterator[PageTable]:
    """The complexity of each of several labels."""
    table = findings.table("fuse/complexity")
    labels = list(dict.fromkeys(row.label for row in table.all("esm", "mean", label=None) if row.label))
    if not labels:
        return

    def value(statistic: str) -> Callable[[str], Cell]:
        return lambda label: table.cell(statistic, "mean", "", label=label)

    columns: list[ColumnOf[str]] = [
        (text_column("Label"), lambda label: text_cell(label)),
        *((Column(*head), value(statistic)) for statistic, head in HEADS.items() if statistic in STATISTICS),
    ]
    note = f"Each label against the rest, mean over {findings.subject_word}s that have it. {_region_note(findings)}"
    yield make_table("complexity-by-label", "Complexity by label", labels, columns, note)


def _notes(findings: Findings) -> Iterator[Sentence]:
    """Cases without a complexity, by reason, and notes on groups and cases."""
    why: dict[str, list[str]] = {}
    for row in _rows_by_case(findings, "entropy").values():
        if reason(row.value) and code(row.value) != "several_labels":
            why.setdefault(reason(row.value), []).append(row.case)
    for text, cases in why.items():
        yield (*case_links(cases), f": no complexity, as {plain_note(findings, text)}.")
    note = findings.fusion.groups.note if findings.fusion.groups else ""
    if note:
        yield (f"{note[0].upper()}{note[1:]}.",)
    for case, result in findings.fusion.cases.items():
        if result.complexity.note:
            yield case_cell(case), f": {result.complexity.note}."
