"""The section on complexity: which cases are hard, by how the raters' markings spread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...analyses.fuse.charts import charts
from ...analyses.fuse.verb import LEAST_CASES
from ...analyses.printing import counted, number
from ...analyses.rows import Row
from ...complexity import STATISTICS
from ...core.undefined import reason
from ..findings import Findings
from ..parts import Beside, Block, Chart, Column, PageTable, Paragraphs, Section, Sentence, quoted, words
from .numbers import known, numbers, undefined_of
from .wording import case_cell, count, deviation, interval_name, joined, linked, unit

FILE = "fuse/complexity.csv"
MOST = 10
"""Of the hardest cases, so many are listed."""
NAMED = 3

HEADS = {
    "esm": ("ESM", "Entropy scaled by mean: the higher, the harder the case; 0 where all raters mark the same"),
    "ssm": ("SSM", "Standard deviation scaled by mean: the higher, the harder the case, likewise"),
    "entropy": ("Entropy", "How mixed STAPLE's probabilities are inside what anybody marked; 0 where all are equal"),
    "mean": (
        "Mean",
        "How likely, on average, what anybody marked belongs to it (by STAPLE); 1: all raters agree on all of it",
    ),
    "std": ("SD", "Standard deviation: how much that likelihood varies from pixel to pixel"),
}
"""How the statistics are called, and what they mean."""

GROUPS = {
    "A": ("disagreement", "much of what one marks, the others leave"),
    "B": ("agreement", "what is marked is mostly shared"),
}
"""What the letters of the groups stand for, and what it means."""
BETWEEN = "in between", "a common core, and much that only some mark"
LEAST_DRAWN = 3
"""From so many cases on a histogram shows something."""


def group_words(letter: str) -> str:
    """A group of cases by word, since raters are called by letters too."""
    return letter if letter == "undefined" else GROUPS.get(letter, BETWEEN)[0]


def section(found: Findings) -> Section:
    """Where each case lies, groups of cases, and the hardest."""
    return Section("complexity", "How hard is each case?", (*_lead(found),), (*_blocks(found),))


def _cases(found: Findings, statistic: str) -> dict[str, Row]:
    return {row.case: row for row in found.fusion.complexity.all(statistic, "case")}


def _hardest(found: Findings) -> list[Row]:
    rows = [row for row in _cases(found, "esm").values() if not reason(row.value)]
    return sorted(rows, key=lambda row: -row.value)


def _lead(found: Findings) -> Iterator[Sentence]:
    yield (
        "A case is hard where raters mark different things. STAPLE gives every pixel that anybody marked a probability "
        "of being rightly marked. Where all agree, that is 1 everywhere: mean 1, entropy 0. The lower it is (mean) "
        "and the more it varies (entropy), the harder the case. ESM is both in one number (entropy / "
        "mean²): high is hard.",
    )
    hardest = _hardest(found)
    if not hardest:
        yield ("No case has a complexity here: see below why.",)
    elif len(found.study) == 1:
        told = ". It takes several cases to call it hard or easy."
        yield ("The one case has an ESM of ", quoted(FILE, hardest[0]), told)
    elif not _differ(hardest):
        yield (f"All {count(len(hardest), 'case')} have the same ESM, ", quoted(FILE, hardest[0]), ".")
    elif len(hardest) > NAMED:
        harder = [row for row in hardest if row.value > hardest[-1].value]
        yield _named(harder[:NAMED])
        yield _beside_kappa(found, harder[: min(MOST, len(hardest) // 2)])


def _differ(rows: list[Row]) -> bool:
    """Whether some are harder than others."""
    return len({row.value for row in rows}) > 1


def _named(rows: list[Row]) -> Sentence:
    cases: list[Sentence] = [(case_cell(row.case), " (ESM ", quoted(FILE, row), ")") for row in rows]
    return ("Hardest: ", *joined(cases), ".")


def _beside_kappa(found: Findings, hardest: list[Row]) -> Sentence:
    """Why a case can be complex and agreed upon, with one that is."""
    table = numbers(found, "agree", "agreement")
    mean = table.row("fleiss_kappa")
    kappas = [k for row in hardest if known(k := table.row("fleiss_kappa", "case", case=row.case))]
    high = [k for k in kappas if known(mean) and k.value > mean.value]
    told = (
        "Complexity (ESM) measures how mixed STAPLE's probabilities are inside the marked area; it can be high where "
        "kappa is high"
    )
    if not high:
        return (f"{told}.",)
    most = max(high, key=lambda row: row.value)
    return (f"{told}, as in ", case_cell(most.case), " (kappa ", table.quote(most), ").")


def _blocks(found: Findings) -> Iterator[Block]:
    drawn = charts(found.fusion)
    if "complexity" in drawn:
        yield Chart("fuse-complexity", drawn["complexity"], _caption(found))
    yield from _groups(found)
    hard = _hard_table(found)
    if hard is not None:
        yield hard
    if "esm" in drawn and len(_hardest(found)) >= LEAST_DRAWN:
        told = "How ESM is spread over the cases: hard ones lie right; line: mean of the cases."
        yield Beside((Chart("fuse-esm", drawn["esm"], told), _all(found)))
    else:
        yield _all(found)
    if notes := tuple(_notes(found)):
        yield Paragraphs(notes, listed=True, kind="note")


def _caption(found: Findings) -> str:
    click = "; click one to open it" if found.views else ""
    words = f"Each mark is a case{click}. Full agreement would lie at entropy 0 and mean 1, at the top left."
    return words + (" Colour, shape and letter: its group." if found.fusion.groups else "")


def _groups(found: Findings) -> Iterator[Block]:
    groups = found.fusion.groups
    if groups is None:
        yield Paragraphs(((_why_none(found),),))
        return
    members = Counter(groups.classify(one.complexity) for one in found.fusion.cases.values())
    where = "At the centre of the group; fuse/complexity-groups.json"
    lines = []
    for name, (entropy, mean) in zip(groups.names, groups.centres, strict=True):
        ends = (words(number(value, 2), why=where) for value in (entropy, mean))
        word, meaning = GROUPS.get(name, BETWEEN)
        lines.append((words(f"{word} ({name})"), words(meaning), words(members[name]), *ends))
    columns = (
        Column("Group", "With its letter in the chart", number=False),
        Column("Meaning", "After Gordon (2009), by the mean at the group's centre", number=False),
        Column("Cases", "How many cases are nearest to this group"),
        Column("Entropy", "At the centre of the group"),
        Column("Mean", "At the centre of the group"),
    )
    note = "Groups are relative to this study: the cases were parted into three by where they lie in the chart."
    yield PageTable("complexity-groups", "Groups of cases", columns, tuple(lines), note)


def _why_none(found: Findings) -> str:
    cases = len(found.study)
    if cases < LEAST_CASES:
        return f"The cases are not grouped: {counted(cases, 'case')}, and fewer than {LEAST_CASES} make no groups."
    return "The cases are not grouped: too few of them differ in complexity, or have one."


def _hard_table(found: Findings) -> PageTable | None:
    rows = _hardest(found)[:MOST]
    if len(found.study) < 2 or not rows:
        return None
    by = {name: _cases(found, name) for name in HEADS}
    grouped = found.fusion.groups is not None
    lines = tuple(
        (
            case_cell(row.case),
            *(quoted(FILE, by[name][row.case]) for name in HEADS),
            *((words(group_words(str(row["class"]))),) if grouped else ()),
        )
        for row in rows
    )
    columns = (
        Column("Case", "Click to look at it", number=False),
        *(Column(*head) for head in HEADS.values()),
        *((Column("Group", "The group that it is nearest to", number=False),) if grouped else ()),
    )
    title = f"The {len(rows)} hardest cases" if len(rows) < len(found.study) else "The cases, the hardest first"
    title = title if _differ(rows) else "Complexity, case by case"
    return PageTable("hardest-cases", title, columns, lines)


def _all(found: Findings) -> PageTable:
    table, lines = found.fusion.complexity, []
    for name in (s for s in HEADS if s in STATISTICS):
        mean, std = table.find(name, "mean", **{"class": ""}), table.find(name, "std", **{"class": ""})
        cells = words(HEADS[name][0], why=HEADS[name][1]), quoted(FILE, mean), quoted(FILE, std)
        lines.append((*cells, words(undefined_of(mean))))
    columns = (
        Column("Measure", "See the pointer over each for what it means", number=False),
        Column("Mean", f"Mean over {unit(found)}s, with its {interval_name(found)}"),
        deviation(found),
        Column("Undefined", f"{unit(found).capitalize()}s for which it is not defined"),
    )
    note = (
        "Complexity counts only what anybody marked and equally much background (the modified background), "
        "whatever region the other sections count."
    )
    return PageTable("complexity", "Complexity of all cases", columns, tuple(lines), note)


def _notes(found: Findings) -> Iterator[Sentence]:
    """Cases without a complexity, by reason, and what to know about groups and raters."""
    why: dict[str, list[str]] = {}
    for row in _cases(found, "entropy").values():
        if reason(row.value):
            why.setdefault(reason(row.value), []).append(row.case)
    for told, cases in why.items():
        yield (*linked(cases), f": no complexity, as {told}.")
    note = found.fusion.groups.note if found.fusion.groups else ""
    if note:
        yield (f"{note[0].upper()}{note[1:]}.",)
    for case, one in found.fusion.cases.items():
        if one.complexity.note:
            yield case_cell(case), f": {one.complexity.note}."
