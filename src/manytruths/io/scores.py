"""Tables of scores: what ``evaluate`` writes, or anybody's, long or wide.

Long, with a row for every case, algorithm, truth and metric; or wide, with a column for every metric: where there is
neither a column of values nor one of metrics, every column of numbers is a metric. Cells are separated by commas,
semicolons or tabs; an empty one, ``n/a``, ``nan``, ``none``, ``null``, ``-`` or an infinite number is a gap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..core.errors import CallError, FormatError
from ..evaluation.ranking.scores import BOTH_EMPTY, MISSING, PRESENT, UNDEFINED, Scores
from .aligning import MARK
from .score_sheet import GAPS, MOST_TOLD, Problems, Sheet, has_decimal_comma, is_numeric, open_sheet, parsed
from .tables import check_listed, read_table, subjects_of

LARGEST = 1e100
"""Of a score: sums over cases, and squares of them, are still numbers."""
PERFECT = ("both_empty", "one_label_by_both", "nothing_predicted_nor_agreed")
"""Codes of scores that are undefined as truth and prediction agree wholly."""
ABSENT = ("no_prediction",)
"""Codes that say that there was nothing to score."""
THE_TRUTH = "truth"


class Entry(NamedTuple):
    """One cell of the table."""

    line: int
    algorithm: str
    case: str
    truth: str
    metric: str
    value: float
    gap: int


def read_scores(
    path: Path | str,
    *,
    columns: Mapping[str, str] | None = None,
    cases: Path | str | None = None,
    labels: Sequence[str] | None = None,
) -> Scores:
    """Read a table of scores.

    Parameters
    ----------
    columns
        Which column is the case, algorithm, metric, value, truth, subject, reason or code, where it has another name:
        ``{"case": "image", "algorithm": "team"}``.
    cases
        CSV with the column ``case`` and ``subject``, ``diagonal`` (the length of that of the image, in the unit of
        distances; empty where unknown) or both. By default the ``cases.csv`` that ``evaluate`` writes beside its
        ``scores.csv``; else every case is a subject of its own, and no diagonal is known.
    labels
        The labels to take from a table that has some; by default the rows of all labels together, else each label as
        a metric of its own, such as ``dice [tumour]``.
    """
    problems = Problems(path)
    sheet = open_sheet(path, columns or {}, problems)
    notes: list[str] = []
    sheet = _of_cases(sheet)
    long = "value" in sheet.places
    entries = list(_long(sheet, labels, problems, notes) if long else _wide(sheet, problems, notes))
    subjects = _subjects(sheet, problems)
    problems.insist()
    if not entries:
        raise FormatError(f"{path}: has no scores of cases; give a row for every case and algorithm")
    cases = _beside(Path(path)) if cases is None else cases
    diagonals: dict[str, float] = {}
    if cases is not None:
        given, diagonals = _of_the_cases(cases, dict.fromkeys(e.case for e in entries))
        subjects = given or subjects
    resampled = _resampled(sheet, {e.line for e in entries}, notes)
    scores = _gathered(entries, subjects, diagonals, problems, tuple(notes))
    problems.insist()
    return replace(scores, resampled=resampled)


def _beside(path: Path) -> Path | None:
    found = path.with_name("cases.csv")
    return found if path.name == "scores.csv" and found.is_file() else None


def _of_cases(sheet: Sheet) -> Sheet:
    """Only the rows of cases, where rows say what they are of."""
    kept = [(line, cells) for line, cells in sheet.lines if sheet.cell(cells, "scope", "case") == "case"]
    return Sheet(sheet.path, sheet.header, kept, sheet.places)


def _names(sheet: Sheet, line: int, cells: list[str], problems: Problems) -> tuple[str, str, str] | None:
    """Algorithm, case and truth; None, with a problem, where one is empty."""
    names = [sheet.cell(cells, role, THE_TRUTH) for role in ("algorithm", "case", "truth")]
    for role, name in zip(("algorithm", "case", "truth"), names, strict=True):
        if not name:
            problems.add(line, f"the {role} is empty")
            return None
    return names[0], names[1], names[2]


def _long(sheet: Sheet, labels: Sequence[str] | None, problems: Problems, notes: list[str]) -> Iterator[Entry]:
    only = sheet.header[sheet.places["value"]]
    chosen, regions = _chosen_labels(sheet, labels, notes), _regions(sheet)
    for line, cells in sheet.lines:
        names, metric = _names(sheet, line, cells, problems), sheet.cell(cells, "metric", only)
        label, region = sheet.cell(cells, "label"), _region(sheet, cells)
        if names is None or label not in chosen:
            continue
        if not metric:
            problems.add(line, "the metric is empty")
            continue
        parts = [label] if label and len(chosen) > 1 else []
        parts += [region] if len(regions.get(metric, ())) > 1 else []
        value, gap = _number(cells[sheet.places["value"]], sheet.cell(cells, "code"), line, only, problems)
        yield Entry(line, *names, f"{metric} [{', '.join(parts)}]" if parts else metric, value, gap)


def _chosen_labels(sheet: Sheet, labels: Sequence[str] | None, notes: list[str]) -> list[str]:
    there = list(dict.fromkeys(sheet.cell(cells, "label") for _, cells in sheet.lines))
    if labels is not None:
        absent = [label for label in labels if label not in there]
        if absent:
            known = ", ".join(filter(None, there)) or "none"
            raise CallError(f"{sheet.path}: no scores of the label {absent[0]!r}; there are: {known}")
        return list(labels)
    if "" in there and len(there) > 1:
        others = ", ".join(sorted(set(there) - {""}))
        notes.append(f"ranked by the scores of all labels together; --label chooses single ones ({others})")
        return [""]
    return there


def _regions(sheet: Sheet) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for _, cells in sheet.lines if "region" in sheet.places else ():
        found.setdefault(sheet.cell(cells, "metric"), set()).add(_region(sheet, cells))
    return found


def _region(sheet: Sheet, cells: list[str]) -> str:
    """The scores of cases that were resampled go with the others'."""
    return sheet.cell(cells, "region").removesuffix(MARK).rstrip()


def _resampled(sheet: Sheet, lines: set[int], notes: list[str]) -> tuple[str, ...]:
    """Cases with marked scores among those of some lines, and a note where there are any."""
    kept = [cells for line, cells in sheet.lines if line in lines]
    marked = [cells for cells in kept if sheet.cell(cells, "region").endswith(MARK)]
    cases = tuple(dict.fromkeys(sheet.cell(cells, "case") for cells in marked))
    if cases:
        of = len({sheet.cell(cells, "case") for cells in kept})
        told = ", ".join(cases[:MOST_TOLD]) + (", …" if len(cases) > MOST_TOLD else "")
        notes.append(f"for {len(cases)} of {of} cases masks were resampled ({told}), and every table is marked so")
    return cases


def _wide(sheet: Sheet, problems: Problems, notes: list[str]) -> Iterator[Entry]:
    free = [place for place in range(len(sheet.header)) if place not in sheet.places.values()]
    metrics = [place for place in free if is_numeric([cells[place] for _, cells in sheet.lines])]
    left = [sheet.header[place] for place in free if place not in metrics]
    if left and metrics:
        notes.append(f"no column of numbers, so no metric: {', '.join(left)}")
    if not metrics and sheet.lines:
        raise FormatError(
            f"{sheet.path}: has neither a column 'value' nor a column of numbers besides {', '.join(sheet.header)}; "
            "add one column a metric, or say --columns metric=NAME,value=NAME"
        )
    for line, cells in sheet.lines:
        names = _names(sheet, line, cells, problems)
        if names is None:
            continue
        for place in metrics:
            value, gap = _number(cells[place], "", line, sheet.header[place], problems)
            yield Entry(line, *names, sheet.header[place], value, gap)


def _number(text: str, code: str, line: int, column: str, problems: Problems) -> tuple[float, int]:
    """The value and the kind of gap."""
    cell = text.strip()
    gap = gap_of(code)
    if cell.casefold() in GAPS:
        return math.nan, gap
    value = parsed(cell)
    if value is None:
        comma = has_decimal_comma(cell)
        told = (
            f"has a decimal comma; write {cell.replace(',', '.')}"
            if comma
            else "is no number; leave it empty if unknown"
        )
        problems.add(line, f"{column} {cell!r} {told}")
        return math.nan, gap
    if LARGEST < abs(value) < math.inf:
        problems.add(line, f"{column} {cell!r} is larger than any score; correct it, or leave it empty if unknown")
    return (value, PRESENT) if math.isfinite(value) else (math.nan, gap)


def gap_of(code: str) -> int:
    """The kind of gap that a code tells of: nothing there and nothing found, no prediction, or undefined."""
    return BOTH_EMPTY if code in PERFECT else MISSING if code in ABSENT else UNDEFINED


def _subjects(sheet: Sheet, problems: Problems) -> dict[str, str]:
    """The subject of each case by the table's own column; without one, cases are subjects of their own."""
    found: dict[str, str] = {}
    given = "subject" in sheet.places and any(sheet.cell(cells, "subject") for _, cells in sheet.lines)
    for line, cells in sheet.lines if given else ():
        case, subject = sheet.cell(cells, "case"), sheet.cell(cells, "subject")
        if not subject:
            problems.add(line, f"the subject of case {case} is empty; write one for each case, or for none")
        elif found.setdefault(case, subject) != subject:
            problems.add(line, f"case {case} is of subject {subject!r} here and of {found[case]!r} above")
    return found


def _of_the_cases(path: Path | str, cases: Iterable[str]) -> tuple[dict[str, str], dict[str, float]]:
    """Subjects and diagonals by case; empty where there is no such column."""
    table = read_table(path, "case")
    cases = list(cases)
    check_listed(path, table, cases)
    subjects = subjects_of(path, table, cases)
    lengths = {case: _length(row["diagonal"], case, path) for case, row in table.items() if "diagonal" in row}
    if not subjects and not lengths and not any("subject" in row for row in table.values()):
        raise FormatError(f"{path}: has no column 'subject' and no column 'diagonal'; add one of them")
    return subjects, lengths


def _length(text: str, case: str, path: Path | str) -> float:
    if text.casefold() in GAPS:
        return math.nan
    value = parsed(text)
    if value is None or not 0 < value < math.inf:
        raise FormatError(f"{path}, case {case}: diagonal {text!r} is no length above 0; leave it empty if unknown")
    return value


def _gathered(
    entries: Sequence[Entry], subjects: Mapping[str, str], diagonals: Mapping[str, float], problems: Problems,
    notes: tuple[str, ...],
) -> Scores:  # fmt: skip
    """Entries as arrays; the same one twice is a problem."""
    axes = [{n: i for i, n in enumerate(dict.fromkeys(names))} for names in list(zip(*entries, strict=True))[1:5]]
    algorithms, cases, truths, metrics = axes
    shape = tuple(len(axis) for axis in axes)
    values, gaps, lines = np.full(shape, np.nan), np.full(shape, MISSING, np.uint8), np.zeros(shape, np.int64)
    for e in entries:
        place = algorithms[e.algorithm], cases[e.case], truths[e.truth], metrics[e.metric]
        if lines[place]:
            told = f"{e.metric} of {e.algorithm} for case {e.case} against {e.truth}"
            problems.add(e.line, f"{told} is in line {lines[place]} already")
        values[place], gaps[place], lines[place] = e.value, e.gap, e.line
    people = tuple(subjects.get(case, case) for case in cases)
    lengths = tuple(diagonals[case] for case in cases) if diagonals else ()
    return Scores(tuple(algorithms), tuple(cases), people, tuple(truths), tuple(metrics), values, gaps, notes, lengths)
