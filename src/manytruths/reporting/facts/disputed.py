"""Which cases the raters dispute most, and why; who marked what."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...analyses.printing import number_word
from ...analyses.rows import Row
from ...core.columns import Column as Source
from ...core.labels import VOID
from ...core.tally import Tally
from ...core.undefined import reason
from ..findings import Findings
from ..parts import Cell, Column, PageTable, Sentence, plain, words
from .numbers import Numbers, known, numbers
from .wording import case_cell, count, joined, listed, rater_cell

MOST = 5
"""So many disputed cases are shown first."""


def by_dispute(found: Findings) -> list[Row]:
    """The kappa of every case, the most disputed first, those without one last."""
    rows = numbers(found, "agree", "agreement").all("fleiss_kappa", "case")
    return sorted(rows, key=lambda row: (bool(reason(row.value)), row.value if not reason(row.value) else 0.0))


def no_kappa(found: Findings) -> str:
    """Why no case has a kappa."""
    told = _nothing(found) or next((reason(row.value) for row in by_dispute(found)), "")
    return told or "there is nothing to compare"


def no_overlap(found: Findings) -> str:
    """Why no two drawings can be laid over each other."""
    return _nothing(found) or "nothing was marked in the cases that two raters looked at"


def _nothing(found: Findings) -> str:
    """What lacks in every case."""
    raters = [who_marked(table) for table in found.agreement.tallies.values()]
    if not any(any(marked.values()) for marked in raters):
        return "nobody marked anything"
    return "no case was marked by two raters" if all(len(marked) < 2 for marked in raters) else ""


def slots(found: Findings) -> str:
    """How many raters a case has who are not told apart: ``three to five raters``."""
    sizes = sorted({len({c.name for c in case.masks}) for case in found.study})
    return f"{number_word(sizes[0])} to {count(sizes[-1], 'rater')}" if len(sizes) > 1 else count(sizes[-1], "rater")


def disputed(found: Findings) -> list[Row]:
    """The cases to look at again: of several, those that the raters drew differently, the worst first."""
    rows = [row for row in by_dispute(found) if not reason(row.value) and row.value < 1]
    return rows[:MOST] if len(found.study) > 1 else []


def dispute_table(found: Findings) -> PageTable | None:
    """The most disputed cases, to click at."""
    rows, table = disputed(found), numbers(found, "agree", "agreement")
    if not rows:
        return None
    groups, dice = any(row.group for row in rows), bool(table.table.all("dice", "case"))
    told = any(why(found, row.case) for row in rows)
    columns = [
        Column("Case", number=False),
        *([Column("Group", number=False)] if groups else []),
        Column("Fleiss' kappa", "Agreement of all raters beyond chance: 1 is full agreement, 0 is chance."),
        *(
            [Column("Dice", "How far two raters' drawings overlap, on average over the pairs of raters.")]
            if dice
            else []
        ),
        *([Column("What to see there", number=False)] if told else []),
    ]
    lines = tuple(tuple(_line(found, table, row, groups, dice))[: len(columns)] for row in rows)
    return PageTable("disputed-cases", "Most disputed cases", tuple(columns), lines)


def _line(found: Findings, table: Numbers, row: Row, groups: bool, dice: bool) -> Iterator[Cell]:
    yield case_cell(row.case)
    if groups:
        yield words(row.group)
    yield table.quote(row)
    if dice:
        yield table.cell("dice", "case", case=row.case)
    yield words(why(found, row.case))


def why(found: Findings, case: str) -> str:
    """What makes a case special, in words: who marked nothing, no common place, or who is furthest from the vote."""
    table = found.agreement.tallies[case]
    if table.labels.background is None:
        return _furthest(found, case)
    marked = who_marked(table)
    if not any(marked.values()):
        return "nobody marked anything"
    empty = [name for name, any_mark in marked.items() if not any_mark]
    told = []
    if empty and table.exchangeable:
        told.append(f"{count(len(empty), 'rater')} marked nothing")
    elif empty:
        told.append(f"{listed(empty, 4)} marked nothing")
    if not meet(table):
        told.append("no place was marked by two raters")
    return "; ".join(told) or _furthest(found, case)


def who_marked(table: Tally) -> dict[str, bool]:
    """Of the raters present, each in the first session, whether he marked anything."""
    rows = table.patterns[table.counts > 0][:, list(table.raters)]
    marks = np.atleast_1d(np.isin(rows, table.labels.marks).any(axis=0)).tolist()
    here = np.atleast_1d((rows != VOID).any(axis=0)).tolist()
    return {name: m for name, m, present in zip(table.rater_names, marks, here, strict=True) if present}


def meet(table: Tally) -> bool:
    """Whether any place was marked by two raters."""
    return bool(((table.marked > 1) & (table.counts > 0)).any())


def _furthest(found: Findings, case: str) -> str:
    """Who overlaps least with the vote, where that can be told of three raters or more."""
    if found.agreement.raters is None or len(found.agreement.raters.differences.raters) < 3:
        return ""
    table = numbers(found, "agree", "raters")
    names = found.agreement.raters.differences.raters
    rows = [r for r in (table.row("dice", "case", rater, case=case) for rater in names) if r is not None and known(r)]
    values = sorted(r.value for r in rows)
    if len(values) < 3 or values[0] == values[1]:
        return ""
    return f"{min(rows, key=lambda r: r.value)['rater']} is furthest from the vote"


def coverage_sentence(found: Findings) -> Sentence:
    """Whether every rater marked every case, and how many reads are edits."""
    return (*_present(found), *_edited(found))


def _edited(found: Findings) -> Sentence:
    """What is left out because it started from another's mask."""
    edits = sum(len(case.edits) for case in found.study)
    if not edits:
        return ()
    one = edits == 1
    told = f" {count(edits, 'read').capitalize()} started from another's mask, and "
    if found.study.options.edited == "keep":
        return (f"{told}{'counts' if one else 'count'} all the same.",)
    return (f"{told}{'is' if one else 'are'} left out; what was changed is in agree/edits.csv.",)


def _present(found: Findings) -> Sentence:
    study = found.study
    if study.options.exchangeable:
        return (f"Every case was marked by {slots(found)}, who need not be the same people in each.",)
    absent = {rater: gaps for rater in study.rater_names if (gaps := _absent(found, rater))}
    if not absent:
        return (f"There is a mask of every rater for {'every' if len(study) > 1 else 'the'} case.",)
    parts: list[Sentence] = [
        (rater_cell(found, rater), f" is absent from {count(len(gaps), 'case')}") for rater, gaps in absent.items()
    ]
    return (*joined(parts), "; votes and pairs are of fewer raters there.")


def _absent(found: Findings, rater: str) -> list[str]:
    return [case.name for case in found.study if all(column.name != rater for column in case.masks)]


def coverage_table(found: Findings) -> PageTable | None:
    """Who marked how many cases; None where raters are exchangeable."""
    if found.study.options.exchangeable:
        return None
    columns = [
        Column("Rater", number=False),
        Column("Cases marked", number=False),
        Column("Empty masks", "Cases in which the rater marked nothing (in the first reading)."),
        Column("Second readings", "Cases that the rater marked twice or more."),
        Column("Absent from", number=False),
    ]
    rows = tuple(tuple(_coverage(found, rater)) for rater in found.study.rater_names)
    return PageTable("coverage", "Who marked what", tuple(columns), rows, plain(coverage_sentence(found)))


def _coverage(found: Findings, rater: str) -> Iterator[Cell]:
    study, gaps = found.study, _absent(found, rater)
    readings: list[list[Source]] = [[c for c in case.masks if c.name == rater] for case in study]
    yield rater_cell(found, rater)
    yield words(f"{len(study) - len(gaps)} of {len(study)}")
    yield words(sum(who_marked(t).get(rater) is False for t in found.agreement.tallies.values()))
    yield words(sum(len(own) > 1 for own in readings))
    yield words(listed(gaps, 4))
