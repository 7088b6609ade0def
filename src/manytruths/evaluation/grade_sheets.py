"""Tables of grades: case, algorithm and grade, or a blinded sheet of codes with its key."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import FormatError
from ..io.sheets import read_sheet
from ..io.tables import NAMES, check_names, read_table
from .grading import Grade, GradeScale

KEY = "key.csv"


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
    """Read a table of grades, checked against a study's cases and algorithms.

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
    sheet = read_sheet(path)
    if "grade" not in sheet.header:
        raise FormatError(f"{path}: has no column 'grade' but {', '.join(sheet.header)}; add it")
    named = {"case", "algorithm"} <= set(sheet.header)
    if not named and "code" not in sheet.header:
        columns = ", ".join(sheet.header)
        raise FormatError(f"{path}: has neither case and algorithm nor code but {columns}; add the columns")
    owners = {} if named else _read_key(path, key)
    lines_of: dict[tuple[str, str, str, int], int] = {}
    grades: list[Grade] = []
    blank = 0
    for line, values in zip(sheet.lines, zip(*sheet.columns, strict=True), strict=True):
        cells = dict(zip(sheet.header, values, strict=True))
        check_names(path, line, {column: cells.get(column, "") for column in (*NAMES, "grade", "grader")})
        if not cells["grade"]:
            blank += 1
            continue
        cells |= owners.get(cells.get("code", ""), {})
        fault = _fault(cells, cases, algorithms, scale)
        if fault:
            sheet.faults.add(line, fault)
            continue
        case, algorithm, grade = cells["case"], cells["algorithm"], int(float(cells["grade"]))
        grades.append(Grade(case, algorithm, grade, cells.get("grader", ""), int(cells.get("showing") or 1)))
        first = lines_of.setdefault((case, algorithm, grades[-1].grader, grades[-1].showing), line)
        if first != line:
            sheet.faults.add(line, f"the same prediction as in line {first}; keep one")
    sheet.faults.raise_any()
    return GradesRead(tuple(grades), blank)


def _fault(cells: Mapping[str, str], cases: Collection[str], algorithms: Collection[str], scale: GradeScale) -> str:
    if "case" not in cells:
        return f"code {cells['code']!r} is not in the key; correct it"
    if cells["case"] not in cases:
        return f"case {cells['case']!r} is not in the study; correct it, or remove the line"
    if cells["algorithm"] not in algorithms:
        known = ", ".join(list(algorithms)[:8])
        return f"algorithm {cells['algorithm']!r} has no predictions here; there are {known}"
    # spreadsheets may write 4 as 4.0
    whole = re.fullmatch(r"([0-9]{1,9})(\.0*)?", cells["grade"])
    if not whole or int(whole[1]) not in scale.levels:
        return f"grade {cells['grade']!r}; grades are whole numbers from {scale.lowest} to {scale.highest}"
    return ""


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
