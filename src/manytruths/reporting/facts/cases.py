"""Case by case: one line each, the most disputed first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...agreement import interpret_kappa
from ...analyses.rows import Row
from ..findings import Findings
from ..parts import Cases, Cell, Column, PageTable, Section, words
from .algorithms.tables import judged_label, main_standards
from .complexity import HEADS, group_words
from .disputed import by_dispute, why
from .numbers import Numbers, numbers
from .standards import spoken, titled
from .wording import MEANINGS, case_cell, count, level_help, unit

MOST_ALGORITHMS = 4
"""With more of them, their scores are left to the part about algorithms."""

Part = tuple[Column, Callable[[Row], Cell]]
"""A column, and what it holds of a case, whose kappa is given."""


def section(found: Findings) -> Section:
    """All cases, to sort, filter and open."""
    name, *more = _names(found)
    parts = [name, *_why(found), *more, *_agreement(found), *_complexity(found), *_truth(found), *_algorithms(found)]
    rows = tuple(tuple(cell(row) for _, cell in parts) for row in by_dispute(found))
    title = count(len(found.study), "case").capitalize()
    note = "The most disputed come first." if len(found.study) > 1 else ""
    table = PageTable("cases", title, tuple(column for column, _ in parts), rows, note, filter=True)
    lead = ("Open a case to see its image, what each rater drew, and where they differ.",)
    return Section("cases", "Case by case", (lead,) if found.views else (), (Cases(table),))


def _names(found: Findings) -> Iterator[Part]:
    yield Column("Case", number=False), lambda row: case_cell(row.case)
    if any(case.groups for case in found.study):
        yield Column("Group", number=False), lambda row: words(row.group)
    if unit(found) == "patient":
        yield Column("Patient", number=False), lambda row: words(found.study[row.case].subject)


def _of(table: Numbers, statistic: str, *extra: object, **how: Any) -> Callable[[Row], Cell]:
    return lambda row: table.cell(statistic, "case", *extra, case=row.case, **how)


def _agreement(found: Findings) -> Iterator[Part]:
    table, scale = numbers(found, "agree", "agreement"), found.settings.scale
    yield Column("Fleiss' kappa", MEANINGS["fleiss_kappa"]), table.quote
    yield Column("Level", level_help(found), number=False), lambda row: words(interpret_kappa(row.value, scale))
    if table.row("dice") is not None:
        yield Column("Dice", MEANINGS["dice"]), _of(table, "dice")
        size = _of(table, "volume_difference", digits=0, percent=True)
        yield Column("Size differs by", MEANINGS["volume_difference"]), size
        yield Column("Positive agreement", MEANINGS["positive_agreement"]), _of(table, "positive_agreement")


def _complexity(found: Findings) -> Iterator[Part]:
    table = numbers(found, "fuse", "complexity")
    entropy = {row.case: row for row in table.all("entropy", "case")}
    if not entropy:
        return
    if found.fusion.groups is not None:
        told = "Groups of these cases by STAPLE's map of what anybody marked; see How hard is each case?"
        yield Column("Complexity", told, number=False), lambda row: words(group_words(str(entropy[row.case]["class"])))
    yield Column(*HEADS["entropy"]), lambda row: table.quote(entropy[row.case])


def _truth(found: Findings) -> Iterator[Part]:
    """How far two reference standards differ: the first, and STAPLE or else the second."""
    first, *others = found.fusion.methods
    if not others:
        return
    second = "staple" if "staple" in others else others[0]
    a, b = (spoken(found, method) for method in (first, second))
    told = f"Dice of two reference standards, {a} and {b}: the lower, the more it matters which is taken."
    yield Column(titled(f"{a} and {b}"), told), _of(numbers(found, "fuse", "differences"), "dice", first, second)


def _algorithms(found: Findings) -> Iterator[Part]:
    """The Dice of every algorithm with the first reference standard, where there are few."""
    if found.evaluation is None or found.evaluation.hard is None:
        return
    names = [column.name for column in found.study.algorithms]
    if len(names) > MOST_ALGORITHMS:
        return
    truth, label, table = main_standards(found)[0], judged_label(found), numbers(found, "evaluate", "scores")
    for name in names:
        told = f"Dice of the prediction of {name} with {spoken(found, truth)}."
        yield Column(f"{name}: Dice", told), _of(table, "dice", name, truth, label=label)


def _why(found: Findings) -> Iterator[Part]:
    told = "Who marked nothing, or whose drawing is furthest from the vote."
    said = {row.case: why(found, row.case) for row in by_dispute(found)}
    if any(said.values()):
        yield Column("What to see there", told, number=False), lambda row: words(said[row.case])
