"""Case by case: one line each, the most disputed first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...agreement import level
from ...analyses.rows import Row
from ..findings import Findings
from ..parts import Cases, Cell, Column, PageTable, Section, text_cell
from .algorithms.tables import judged_label, main_standards
from .complexity import HEADS, group_name
from .disputed import cases_by_kappa, describe_case
from .numbers import TableIndex, find_table
from .standards import as_title, standard_name
from .wording import MEANINGS, case_cell, level_help, spell_count, subject_word

MOST_ALGORITHMS = 4
"""With more of them, their scores are left to the part about algorithms."""

Part = tuple[Column, Callable[[Row], Cell]]
"""A column, and what it holds of a case, whose kappa is given."""


def section(findings: Findings) -> Section:
    """All cases, to sort, filter and open."""
    name, *more = _name_parts(findings)
    parts = [
        name,
        *_description_parts(findings),
        *more,
        *_agreement_parts(findings),
        *_complexity_parts(findings),
        *_standard_parts(findings),
        *_algorithm_parts(findings),
    ]
    rows = tuple(tuple(cell(row) for _, cell in parts) for row in cases_by_kappa(findings))
    title = spell_count(len(findings.study), "case").capitalize()
    note = "The most disputed come first." if len(findings.study) > 1 else ""
    table = PageTable("cases", title, tuple(column for column, _ in parts), rows, note, filter=True)
    lead = ("Open a case to see its image, what each rater drew, and where they differ.",)
    return Section("cases", "Case by case", (lead,) if findings.views else (), (Cases(table),))


def _name_parts(findings: Findings) -> Iterator[Part]:
    yield Column("Case", number=False), lambda row: case_cell(row.case)
    if any(case.groups for case in findings.study):
        yield Column("Group", number=False), lambda row: text_cell(row.group)
    if subject_word(findings) == "patient":
        yield Column("Patient", number=False), lambda row: text_cell(findings.study[row.case].subject)


def _score_of(table: TableIndex, statistic: str, *extra: object, **how: Any) -> Callable[[Row], Cell]:
    return lambda row: table.cell(statistic, "case", *extra, case=row.case, **how)


def _agreement_parts(findings: Findings) -> Iterator[Part]:
    table, scale = find_table(findings, "agree", "agreement"), findings.settings.scale
    yield Column("Fleiss' kappa", MEANINGS["fleiss_kappa"]), table.quote
    yield Column("Level", level_help(findings), number=False), lambda row: text_cell(level(row.value, scale))
    if table.row("dice") is not None:
        yield Column("Dice", MEANINGS["dice"]), _score_of(table, "dice")
        size = _score_of(table, "volume_difference", digits=0, percent=True)
        yield Column("Size differs by", MEANINGS["volume_difference"]), size
        yield Column("Positive agreement", MEANINGS["positive_agreement"]), _score_of(table, "positive_agreement")


def _complexity_parts(findings: Findings) -> Iterator[Part]:
    table = find_table(findings, "fuse", "complexity")
    entropy = {row.case: row for row in table.all("entropy", "case")}
    if not entropy:
        return
    if findings.fusion.groups is not None:
        help = "Groups of these cases by STAPLE's map of what anybody marked; see How hard is each case?"
        yield (
            Column("Complexity", help, number=False),
            lambda row: text_cell(group_name(str(entropy[row.case]["class"]))),
        )
    yield Column(*HEADS["entropy"]), lambda row: table.quote(entropy[row.case])


def _standard_parts(findings: Findings) -> Iterator[Part]:
    """How far two reference standards differ: the first, and STAPLE or else the second."""
    first, *others = findings.fusion.methods
    if not others:
        return
    second = "staple" if "staple" in others else others[0]
    a, b = (standard_name(findings, method) for method in (first, second))
    help = f"Dice of two reference standards, {a} and {b}: the lower, the more it matters which is taken."
    yield (
        Column(as_title(f"{a} and {b}"), help),
        _score_of(find_table(findings, "fuse", "differences"), "dice", first, second),
    )


def _algorithm_parts(findings: Findings) -> Iterator[Part]:
    """The Dice of every algorithm with the first reference standard, where there are few."""
    if findings.evaluation is None or findings.evaluation.hard is None:
        return
    names = [column.name for column in findings.study.algorithms]
    if len(names) > MOST_ALGORITHMS:
        return
    truth, label, table = (
        main_standards(findings)[0],
        judged_label(findings),
        find_table(findings, "evaluate", "scores"),
    )
    for name in names:
        help = f"Dice of the prediction of {name} with {standard_name(findings, truth)}."
        yield Column(f"{name}: Dice", help), _score_of(table, "dice", name, truth, label=label)


def _description_parts(findings: Findings) -> Iterator[Part]:
    help = "Who marked nothing, or whose drawing is furthest from the vote."
    texts = {row.case: describe_case(findings, row.case) for row in cases_by_kappa(findings)}
    if any(texts.values()):
        yield Column("What to see there", help, number=False), lambda row: text_cell(texts[row.case])
