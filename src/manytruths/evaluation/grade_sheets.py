"""Tables of grades: case, algorithm and grade, or a blinded sheet of codes with its key."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import FormatError, few
from ..io.tables import NAMES, check_names, parse_csv, read_table, read_text
from .grading import Grade, GradeScale

KEY = "key.csv"
SHOWN = 10
"""Most faulty lines in a message."""

Cells = Mapping[str, str]


@dataclass(frozen=True)
class GradesRead:
    """The grades of a file, and how many of its lines are not graded yet."""

    grades: tuple[Grade, ...]
    blank: int


def read_grades(
    path: Path | str,
    *,
    cases: Collection[str],
    algorithms: Collection[str],
    scale: GradeScale | None = None,
    key: Path | str | None = None,
) -> GradesRead:
    """Read the grades in a CSV, checked against a study's cases and algorithms.

    Columns are ``case, algorithm, grade``, or ``code, grade`` of a blinded sheet; either may have a column ``grader``,
    and others are not read. Lines with an empty grade are counted.

    Parameters
    ----------
    path : Path or str
        The table or sheet.
    cases, algorithms : collection of str
        Names of the study; a line with another name is an error.
    scale : GradeScale, optional
        The grades that there are.
    key : Path or str, optional
        The key of a blinded sheet; by default the ``key.csv`` beside it.

    Returns
    -------
    GradesRead
        The grades, and the number of lines without one.

    Raises
    ------
    FormatError
        If lines are faulty; it lists up to ten, each with its reason.
    """
    scale = scale or GradeScale()
    lines = list(_lines(path, key))
    faults: list[str] = []
    by_prediction: dict[tuple[str, str, str, int], tuple[int, Grade]] = {}
    blank = 0
    for number, cells in lines:
        if not cells["grade"]:
            blank += 1
            continue
        fault = cells.get("fault") or _fault(cells, cases, algorithms, scale)
        if not fault:
            grade = Grade(
                cells["case"], cells["algorithm"], int(float(cells["grade"])), cells.get("grader", ""),
                int(cells.get("showing") or 1),
            )  # fmt: skip
            first, _ = by_prediction.setdefault((*grade.item, grade.grader, grade.showing), (number, grade))
            fault = f"the same prediction as in line {first}; keep one" if first != number else ""
        faults += [f"line {number}: {fault}"] if fault else []
    _raise_faults(path, faults)
    return GradesRead(tuple(grade for _, grade in by_prediction.values()), blank)


def _raise_faults(path: Path | str, faults: list[str]) -> None:
    if faults:
        more = f"; and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
        raise FormatError(f"{path}: {'; '.join(faults[:SHOWN])}{more}")


def _fault(cells: Cells, cases: Collection[str], algorithms: Collection[str], scale: GradeScale) -> str:
    if cells["case"] not in cases:
        return f"case {cells['case']!r} is not in the study; correct it, or remove the line"
    if cells["algorithm"] not in algorithms:
        known = ", ".join(list(algorithms)[:8])
        return f"algorithm {cells['algorithm']!r} has no predictions here; there are {known}"
    if not _is_whole(cells["grade"]) or int(float(cells["grade"])) not in scale.levels:
        return f"grade {cells['grade']!r}; grades are whole numbers from {scale.lowest} to {scale.highest}"
    return ""


def _is_whole(text: str) -> bool:
    """Whether it is a whole number; spreadsheets may write 4 as 4.0."""
    before, _, after = text.partition(".")
    return before.isascii() and before.isdigit() and len(before) < 10 and not after.strip("0")


def _lines(path: Path | str, key: Path | str | None) -> Iterator[tuple[int, Cells]]:
    """The number and the cells of every line, with its case and algorithm."""
    header, rows = _read_table(path)
    if "grade" not in header:
        raise FormatError(f"{path}: has no column 'grade' but {', '.join(header) or 'nothing'}; add it")
    if {"case", "algorithm"} <= set(header):
        yield from rows
        return
    if "code" not in header:
        raise FormatError(f"{path}: has neither case and algorithm nor code but {', '.join(header)}; add the columns")
    owners = _read_key(path, key)
    for number, cells in rows:
        owner = owners.get(cells["code"])
        yield number, {**cells, **(owner or {"fault": f"code {cells['code']!r} is not in the key; correct it"})}


def _read_key(path: Path | str, key: Path | str | None) -> dict[str, dict[str, str]]:
    where = Path(path).parent / KEY if key is None else Path(key)
    if key is None and not where.is_file():
        raise FormatError(f"{path}: holds codes, but there is no {KEY} beside it; say where it is with --key")
    owners = read_table(where, "code")
    for code, cells in owners.items():
        wanted = [name for name in ("case", "algorithm") if not cells.get(name)]
        if wanted or cells.get("showing", "1") not in ("", "1", "2"):
            what = f"no {wanted[0]}" if wanted else f"showing {cells['showing']!r}, not 1 or 2"
            raise FormatError(f"{where}: code {code} has {what}; use the key that was written with the sheet")
    return owners


def _read_table(path: Path | str) -> tuple[list[str], list[tuple[int, Cells]]]:
    """The header and, with their numbers, the lines that are not empty."""
    text = read_text(path)
    first = text.partition("\n")[0]
    lines = parse_csv(path, text, ";" if ";" in first else "\t" if "\t" in first else ",")
    header = [name.strip() for name in lines[0][1]] if lines else []
    if len(set(header)) < len(header):
        raise FormatError(f"{path}: two columns have the same name among {few(header)}; rename one")
    rows: list[tuple[int, Cells]] = []
    faults = []
    for start, cells in lines[1:]:
        # a remark may span several lines; the first of them is named
        if any(cell.strip() for cell in cells):
            row = dict(zip(header, (cell.strip() for cell in cells), strict=False))
            rows.append((start, row))
            faults += [f"line {start}: {len(cells)} cells, not {len(header)}"] if len(cells) != len(header) else []
            check_names(path, start, {column: row.get(column, "") for column in (*NAMES, "grade", "grader")})
    _raise_faults(path, faults)
    return header, rows
