"""Tables of scores: those that ``evaluate`` writes, or of any other program, long or wide.

Long, with a row for every case, algorithm, reference standard and metric; or wide, with a column for every metric: if
there is neither a column of values nor one of metrics, every column of numbers is a metric. Cells are separated by
commas, semicolons or tabs; an empty one, ``n/a``, ``nan``, ``none``, ``null``, ``-`` or an infinite number is a gap.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...core.errors import CallError, FormatError, few
from ...core.labels import MACRO
from ...io.sheets import GAPS, MOST_SHOWN, Faults, find_columns, has_decimal_comma, is_numeric, parse_number
from ...io.tables import check_listed, check_names, parse_csv, read_table, read_text, subjects_of
from ...shape.alignment import RESAMPLED
from .scores import BOTH_EMPTY, MISSING, NO_REFERENCE, PRESENT, UNDEFINED, Scores

LARGEST = 1e100
"""Largest score: sums over cases, and squares of them, are still numbers."""
PERFECT = ("both_empty", "one_label_by_both", "nothing_predicted_nor_agreed")
"""Codes of scores that are undefined because reference and prediction agree completely."""
ABSENT = ("no_prediction",)
"""Codes of scores without a prediction."""
UNREAD = ("rater_absent", "reference_absent")
"""Codes of scores without a mask of the reference standard."""
THE_TRUTH = "truth"
ROLES: dict[str, tuple[str, ...]] = {
    "case": ("case",),
    "algorithm": ("algorithm",),
    "metric": ("metric", "statistic"),
    "value": ("value",),
    "reference": ("reference", "truth", "against"),
    "subject": ("subject",),
    "reason": ("reason",),
    "code": ("code",),
    "scope": ("scope",),
    "label": ("label",),
    "region": ("region",),
}
"""What a column may hold, and the names under which it is known."""


class Entry(NamedTuple):
    """One cell of the table."""

    line: int
    algorithm: str
    case: str
    truth: str
    metric: str
    value: float
    gap: int


@dataclass(frozen=True)
class ScoreSheet:
    """The cells of a file, and where its columns are."""

    path: Path | str
    header: list[str]
    lines: list[tuple[int, list[str]]]
    places: dict[str, int]

    def cell(self, cells: list[str], role: str, default: str = "") -> str:
        """The cell in the column of a role, or the default if there is no such column."""
        place = self.places.get(role)
        return default if place is None else cells[place].strip()


def read_scores(
    path: Path | str,
    *,
    columns: Mapping[str, str] | None = None,
    cases: Path | str | None = None,
    labels: Sequence[str] | None = None,
) -> Scores:
    """Read a table of scores, such as the ``scores.csv`` that ``evaluate`` writes, or one of another program.

    Parameters
    ----------
    path : Path or str
        A table with commas, semicolons or tabs, long (a row for every case, algorithm, reference standard and
        metric) or wide (a column for every metric).
    columns : dict of str, optional
        Which column is the case, algorithm, metric, value, truth, subject, reason or code, where it has another name:
        ``{"case": "image", "algorithm": "team"}``.
    cases : Path or str, optional
        CSV with the column ``case`` and ``subject``, ``diagonal`` (the length of that of the image, in the unit of
        distances; empty where unknown) or both. By default the ``cases.csv`` that ``evaluate`` writes beside its
        ``scores.csv``; else every case is a subject of its own, and no diagonal is known.
    labels : sequence of str, optional
        The labels to read from a table that has some; by default the macro mean, else the rows of all labels
        together, else each label as a metric of its own, such as ``dice [tumour]``.

    Returns
    -------
    Scores
        A value, or the kind of gap, for every algorithm, case, reference standard and metric.

    Raises
    ------
    FormatError
        If lines cannot be used; it lists the first ten, each with its reason.
    """
    faults = Faults(path)
    sheet = open_sheet(path, columns or {}, faults)
    notes: list[str] = []
    long = "value" in sheet.places
    entries = list(_long(sheet, labels, faults, notes) if long else _wide(sheet, faults, notes))
    subjects = _subjects(sheet, faults)
    faults.raise_any()
    if not entries:
        raise FormatError(f"{path}: has no scores of cases; give a row for every case and algorithm")
    beside = Path(path).with_name("cases.csv")
    if cases is None and Path(path).name == "scores.csv" and beside.is_file():
        cases = beside
    diagonals: dict[str, float] = {}
    if cases is not None:
        given, diagonals = _subjects_and_diagonals(cases, dict.fromkeys(e.case for e in entries))
        subjects = given or subjects
    resampled = _resampled(sheet, {e.line for e in entries}, notes)
    scores = _make_scores(entries, subjects, diagonals, faults, tuple(notes))
    faults.raise_any()
    return replace(scores, resampled=resampled)


def _subjects_and_diagonals(path: Path | str, cases: Iterable[str]) -> tuple[dict[str, str], dict[str, float]]:
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
    value = parse_number(text)
    if value is None or not 0 < value < math.inf:
        raise FormatError(f"{path}, case {case}: diagonal {text!r} is not a length above 0; leave it empty if unknown")
    return value


def _make_scores(
    entries: Sequence[Entry], subjects: Mapping[str, str], diagonals: Mapping[str, float], faults: Faults,
    notes: tuple[str, ...],
) -> Scores:  # fmt: skip
    """Entries as arrays; an entry that occurs twice is a fault."""
    axes = [{n: i for i, n in enumerate(dict.fromkeys(names))} for names in list(zip(*entries, strict=True))[1:5]]
    algorithms, cases, references, metrics = axes
    shape = tuple(len(axis) for axis in axes)
    values, gaps, lines = np.full(shape, np.nan), np.full(shape, MISSING, np.uint8), np.zeros(shape, np.int64)
    for e in entries:
        place = algorithms[e.algorithm], cases[e.case], references[e.truth], metrics[e.metric]
        if lines[place]:
            score = f"{e.metric} of {e.algorithm} for case {e.case} against {e.truth}"
            faults.add(e.line, f"{score} is in line {lines[place]} already")
        values[place], gaps[place], lines[place] = e.value, e.gap, e.line
    people = tuple(subjects.get(case, case) for case in cases)
    lengths = tuple(diagonals[case] for case in cases) if diagonals else ()
    return Scores(
        tuple(algorithms), tuple(cases), people, tuple(references), tuple(metrics), values, gaps, notes, lengths
    )


# -- rows ---------------------------------------------------------------------------------------------


def open_sheet(path: Path | str, columns: Mapping[str, str], faults: Faults) -> ScoreSheet:
    """Read the rows of cases; rows with too few or too many cells are faults."""
    text = read_text(path)
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    rows = [(line, cells) for line, cells in parse_csv(path, text, separator) if any(cell.strip() for cell in cells)]
    if not rows:
        raise FormatError(f"{path}: is empty; give a table with a header")
    header = [name.strip() for name in rows[0][1]]
    if len(set(header)) < len(header):
        raise FormatError(f"{path}: two columns have the same name among {few(header)}; rename one")
    lines = []
    for line, cells in rows[1:]:
        if len(cells) == len(header):
            lines.append((line, cells))
        else:
            hint = "; write decimals with a point" if separator == "," and len(cells) > len(header) else ""
            faults.add(line, f"has {len(cells)} cells, the header {len(header)}{hint}")
    places = _find_places(path, header, columns)
    for line, cells in lines:
        # reasons are sentences, and may be long
        names = {header[at]: cells[at].strip() for role, at in places.items() if role not in ("reason", "code")}
        check_names(path, line, names)
    sheet = ScoreSheet(path, header, lines, places)
    of_cases = [(line, cells) for line, cells in lines if sheet.cell(cells, "scope", "case") == "case"]
    return replace(sheet, lines=of_cases)


def _find_places(path: Path | str, header: list[str], columns: Mapping[str, str]) -> dict[str, int]:
    names = find_columns(path, header, columns, ROLES)
    if "reason" not in names and "code" not in columns:
        names.pop("code", None)  # a column of something else
    for role in ("case", "algorithm"):
        if role not in names:
            raise FormatError(
                f"{path}: has no column {role!r} (columns: {few(header)}); name it with --columns {role}=NAME"
            )
    if "metric" in names and "value" not in names:
        raise FormatError(
            f"{path}: names metrics in {names['metric']!r} but has no column 'value'; name it with --columns value=NAME"
        )
    return {role: header.index(name) for role, name in names.items()}


def _names(sheet: ScoreSheet, line: int, cells: list[str], faults: Faults) -> tuple[str, str, str] | None:
    """Algorithm, case and reference standard; None, and a fault, where one is empty."""
    names = [sheet.cell(cells, role, THE_TRUTH) for role in ("algorithm", "case", "reference")]
    for role, name in zip(("algorithm", "case", "reference"), names, strict=True):
        if not name:
            faults.add(line, f"the {role} is empty")
            return None
    return names[0], names[1], names[2]


def _subjects(sheet: ScoreSheet, faults: Faults) -> dict[str, str]:
    """The subject of each case by the table's own column; without one, cases are subjects of their own."""
    subjects: dict[str, str] = {}
    given = "subject" in sheet.places and any(sheet.cell(cells, "subject") for _, cells in sheet.lines)
    for line, cells in sheet.lines if given else ():
        case, subject = sheet.cell(cells, "case"), sheet.cell(cells, "subject")
        if not subject:
            faults.add(line, f"the subject of case {case} is empty; write one for each case, or for none")
        elif subjects.setdefault(case, subject) != subject:
            faults.add(line, f"case {case} is of subject {subject!r} here and of {subjects[case]!r} above")
    return subjects


def _long(sheet: ScoreSheet, labels: Sequence[str] | None, faults: Faults, notes: list[str]) -> Iterator[Entry]:
    only = sheet.header[sheet.places["value"]]
    chosen = _choose_labels(sheet, labels, notes)
    united = _united_metrics(sheet) if labels is None and chosen == [MACRO] else set[str]()
    regions = defaultdict[str, set[str]](set)
    for _, cells in sheet.lines:
        regions[sheet.cell(cells, "metric")].add(_region(sheet, cells))
    for line, cells in sheet.lines:
        names, metric = _names(sheet, line, cells, faults), sheet.cell(cells, "metric", only)
        label, region = sheet.cell(cells, "label"), _region(sheet, cells)
        if names is None or (label not in chosen and (label or metric not in united)):
            continue
        if not metric:
            faults.add(line, "the metric is empty")
            continue
        parts = [label] if label and len(chosen) > 1 else []
        parts += [region] if len(regions[metric]) > 1 else []
        value, gap = _number(cells[sheet.places["value"]], sheet.cell(cells, "code"), line, only, faults)
        yield Entry(line, *names, f"{metric} [{', '.join(parts)}]" if parts else metric, value, gap)


def _choose_labels(sheet: ScoreSheet, labels: Sequence[str] | None, notes: list[str]) -> list[str]:
    present = list(dict.fromkeys(sheet.cell(cells, "label") for _, cells in sheet.lines))
    if labels is not None:
        absent = [label for label in labels if label not in present]
        if absent:
            known = ", ".join(filter(None, present)) or "none"
            raise CallError(f"{sheet.path}: no scores of the label {absent[0]!r}; there are: {known}")
        return list(labels)
    for main, words in ((MACRO, "the macro mean of all labels"), ("", "the scores of all labels together")):
        if main in present and len(present) > 1:
            others = ", ".join(sorted(set(present) - {main}))
            notes.append(f"ranked by {words}; --label chooses single ones ({others})")
            return [main]
    return present


def _united_metrics(sheet: ScoreSheet) -> set[str]:
    """Metrics that are of all labels at once, and have no macro mean."""
    pairs = {(sheet.cell(cells, "label"), sheet.cell(cells, "metric")) for _, cells in sheet.lines}
    return {metric for label, metric in pairs if not label and (MACRO, metric) not in pairs}


def _region(sheet: ScoreSheet, cells: list[str]) -> str:
    """The region without the mark of resampled masks, whose scores go with the others."""
    return sheet.cell(cells, "region").removesuffix(RESAMPLED).rstrip()


def _resampled(sheet: ScoreSheet, lines: set[int], notes: list[str]) -> tuple[str, ...]:
    """Cases of some lines whose masks were resampled; a note is added if there are any."""
    rows = [cells for line, cells in sheet.lines if line in lines]
    marked = [cells for cells in rows if sheet.cell(cells, "region").endswith(RESAMPLED)]
    cases = tuple(dict.fromkeys(sheet.cell(cells, "case") for cells in marked))
    if cases:
        of = len({sheet.cell(cells, "case") for cells in rows})
        shown = few(cases, MOST_SHOWN)
        notes.append(f"for {len(cases)} of {of} cases masks were resampled ({shown}), and every table is marked so")
    return cases


def _wide(sheet: ScoreSheet, faults: Faults, notes: list[str]) -> Iterator[Entry]:
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
        names = _names(sheet, line, cells, faults)
        if names is None:
            continue
        for place in metrics:
            value, gap = _number(cells[place], "", line, sheet.header[place], faults)
            yield Entry(line, *names, sheet.header[place], value, gap)


def _number(text: str, code: str, line: int, column: str, faults: Faults) -> tuple[float, int]:
    """The value and the kind of gap."""
    cell = text.strip()
    gap = gap_of(code)
    if cell.casefold() in GAPS:
        return math.nan, gap
    value = parse_number(cell)
    if value is None:
        if has_decimal_comma(cell):
            fault = f"has a decimal comma; write {cell.replace(',', '.')}"
        else:
            fault = "is not a number; leave it empty if unknown"
        faults.add(line, f"{column} {cell!r} {fault}")
        return math.nan, gap
    if LARGEST < abs(value) < math.inf:
        faults.add(line, f"{column} {cell!r} is larger than any score; correct it, or leave it empty if unknown")
    return (value, PRESENT) if math.isfinite(value) else (math.nan, gap)


def gap_of(code: str) -> int:
    """The kind of gap that a code stands for: correctly empty, no prediction, no reference, or undefined."""
    kinds = {BOTH_EMPTY: PERFECT, MISSING: ABSENT, NO_REFERENCE: UNREAD}
    return next((kind for kind, codes in kinds.items() if code in codes), UNDEFINED)
