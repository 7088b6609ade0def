"""Long and wide tables of ratings, as one list of entries.

Long: a line for every case and rater, with the columns case, rater, label and, where there are some, confidence,
subject and reference. Wide: a line for every case and a column for every rater; his confidence is in a column
``A confidence`` (or ``A:confidence``, ``A_confidence``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..core.errors import CallError, FormatError, few, find_name_fault
from .plain_text import check_names
from .ratings_sheet import Cells, Faults, places

CONFIDENCE = re.compile(r"(.+?)[ :_.-]+confidence", re.IGNORECASE)


@dataclass
class Entries:
    """Ratings one by one, as they stand in the file."""

    lines: list[int] = field(default_factory=list)
    cases: list[str] = field(default_factory=list)
    raters: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    confidence: list[str] = field(default_factory=list)
    """Empty where the table has none at all."""
    subjects: dict[str, str] = field(default_factory=dict)
    references: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By case: where it stands first, and what."""
    unused: list[str] = field(default_factory=list)
    """Columns that were not read."""
    faults: Faults | None = None

    def at(self, chosen: Sequence[int]) -> Entries:
        """Some of them."""
        return replace(
            self,
            lines=[self.lines[i] for i in chosen],
            cases=[self.cases[i] for i in chosen],
            raters=[self.raters[i] for i in chosen],
            labels=[self.labels[i] for i in chosen],
            confidence=[self.confidence[i] for i in chosen] if self.confidence else [],
        )


def entries_of(
    cells: Cells,
    columns: Mapping[str, str],
    raters: Sequence[str] | None,
    filters: Sequence[str],
    values: str = "label",
) -> Entries:
    """Every entry; ``values`` is the role of what a long table must hold, and of what the columns of a wide one are."""
    own_columns = raters is not None and set(raters) <= set(cells.header)
    roles = places(cells, columns, raters if own_columns and raters else ())
    wide = own_columns or ("rater" not in roles and values not in roles)
    _check_names(cells, cells.header if wide else [*roles.values()])
    if wide:
        return _wide(cells, roles, raters, filters, values)
    for role, other in (("rater", values), (values, "rater")):
        if role not in roles:
            raise FormatError(
                f"{cells.path}: has {roles[other]!r} for the {other} but no column {role!r} among "
                f"{few(cells.header)}; say which it is: --columns {role}=NAME, or, where every rater has a "
                "column of his own, name them: --raters A,B,C"
            )
    return _long(cells, roles, raters, filters, values)


def _check_names(cells: Cells, columns: Sequence[str]) -> None:
    """Refuse cells that hold ends of lines or the like."""
    for column in columns:
        for name in dict.fromkeys(cells[column]):
            if find_name_fault(name):
                check_names(cells.path, cells.lines[cells[column].index(name)], {column: name})


def _long(
    cells: Cells, roles: Mapping[str, str], raters: Sequence[str] | None, filters: Sequence[str], values: str
) -> Entries:
    for role in ("case", "rater"):
        for line, name in zip(cells.lines, cells[roles[role]], strict=True):
            if not name:
                cells.faults.add(line, f"the {role} is empty")
    columns = {role: cells[name] for role, name in roles.items()}
    found = Entries(cells.lines, columns["case"], columns["rater"], columns[values], columns.get("confidence", []))
    _describe(cells, roles, found)
    if raters is not None:
        absent = [rater for rater in raters if rater not in set(found.raters)]
        if absent:
            known = ", ".join(dict.fromkeys(found.raters))
            raise CallError(f"{cells.path}: no rater {absent[0]!r}; there are {known}")
        found = found.at([i for i, rater in enumerate(found.raters) if rater in set(raters)])
    found.unused = [name for name in cells.header if name not in {*roles.values(), *filters}]
    return found


def _describe(cells: Cells, roles: Mapping[str, str], found: Entries) -> None:
    """Subject and reference of every case; they are the same in all its lines."""
    cases = cells[roles["case"]]
    if "subject" in roles:
        given = any(cells[roles["subject"]])
        for line, case, subject in zip(cells.lines, cases, cells[roles["subject"]], strict=True):
            if given and not subject:
                cells.faults.add(line, f"the subject of case {case} is empty; write one for each case, or for none")
            elif found.subjects.setdefault(case, subject or case) != (subject or case):
                told = f"case {case} is of subject {subject!r} here and of {found.subjects[case]!r} above"
                cells.faults.add(line, told)
    if "reference" in roles:
        for line, case, truth in zip(cells.lines, cases, cells[roles["reference"]], strict=True):
            first, known = found.references.setdefault(case, (line, truth))
            if known != truth:
                told = f"the reference of case {case} is {truth!r} here and {known!r} in {cells.faults.unit} {first}"
                cells.faults.add(line, told)


def _wide(
    cells: Cells, roles: Mapping[str, str], raters: Sequence[str] | None, filters: Sequence[str], values: str
) -> Entries:
    if "confidence" in roles and values == "label":
        raise FormatError(
            f"{cells.path}: {roles['confidence']!r} does not say whose confidence it is; where every rater has a "
            "column, name it 'A confidence'"
        )
    shared = {name for role, name in roles.items() if role in ("case", "subject", "reference")}
    free = [name for name in cells.header if name not in shared and name not in filters]
    sure = dict(_confidences(cells, free)) if values == "label" else {}
    names = [name for name in free if name not in sure.values()] if raters is None else list(raters)
    absent = [name for name in names if name not in cells.header]
    if absent:
        raise CallError(f"{cells.path}: no rater {absent[0]!r}; there are {', '.join(free)}")
    _once(cells, roles["case"])
    found = Entries()
    _describe(cells, roles, found)
    for name in names:
        found.lines += cells.lines
        found.cases += cells[roles["case"]]
        found.raters += [name] * len(cells.lines)
        found.labels += cells[name]
        if sure:
            found.confidence += cells[sure[name]] if name in sure else [""] * len(cells.lines)
    found.unused = [name for name in free if name not in names and name not in sure.values()]
    return found


def _confidences(cells: Cells, free: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The column of every rater's confidence."""
    for name in free:
        match = CONFIDENCE.fullmatch(name)
        if match and match[1].strip() in free:
            yield match[1].strip(), name
        elif match:
            raise FormatError(
                f"{cells.path}: {name!r} is the confidence of {match[1].strip()!r}, who has no column; rename one"
            )


def _once(cells: Cells, column: str) -> None:
    seen: dict[str, int] = {}
    for line, case in zip(cells.lines, cells[column], strict=True):
        if not case:
            cells.faults.add(line, "the case is empty")
        elif seen.setdefault(case, line) != line:
            cells.faults.add(line, f"case {case} is in {cells.faults.unit} {seen[case]} already")
