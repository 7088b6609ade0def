"""The cells of a table of scores: separators, columns and numbers, and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..core.errors import CallError, FormatError, few
from .plain_text import check_names, csv_lines, read_text

ROLES: dict[str, tuple[str, ...]] = {
    "case": ("case",),
    "algorithm": ("algorithm",),
    "metric": ("metric", "statistic"),
    "value": ("value",),
    "truth": ("truth", "against"),
    "subject": ("subject",),
    "reason": ("reason",),
    "code": ("code",),
    "scope": ("scope",),
    "label": ("label",),
    "region": ("region",),
}
"""What a column may hold, and the names under which it is known."""

GAPS = frozenset({"", "na", "n/a", "nan", "none", "null", "-", "–"})
MOST_TOLD = 10


@dataclass
class Problems:
    """What is wrong with a file, line by line."""

    path: Path | str
    found: list[str] = field(default_factory=list)

    def add(self, line: int, message: str) -> None:
        """One more."""
        self.found.append(f"line {line}: {message}")

    def insist(self) -> None:
        """Raise if there is any, with the first ten."""
        if len(self.found) == 1:
            raise FormatError(f"{self.path}, {self.found[0]}")
        if self.found:
            more = [f"and {len(self.found) - MOST_TOLD} more"] if len(self.found) > MOST_TOLD else []
            head = f"{self.path}: {len(self.found)} cells or lines cannot be used; correct them"
            raise FormatError("\n  ".join([head, *self.found[:MOST_TOLD], *more]))


@dataclass(frozen=True)
class Sheet:
    """The cells of a file, and where its columns are."""

    path: Path | str
    header: list[str]
    lines: list[tuple[int, list[str]]]
    places: dict[str, int]

    def cell(self, cells: list[str], role: str, default: str = "") -> str:
        """What stands in a column, or the default where there is no such column."""
        place = self.places.get(role)
        return default if place is None else cells[place].strip()


def open_sheet(path: Path | str, columns: Mapping[str, str], problems: Problems) -> Sheet:
    """Read a file; rows with too few or too many cells are problems."""
    text = read_text(path)
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    rows = [(line, cells) for line, cells in csv_lines(path, text, separator) if any(cell.strip() for cell in cells)]
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
            problems.add(line, f"has {len(cells)} cells, the header {len(header)}{hint}")
    places = _places(path, header, columns)
    for line, cells in lines:
        # reasons are sentences, and may be long
        names = {header[at]: cells[at].strip() for role, at in places.items() if role not in ("reason", "code")}
        check_names(path, line, names)
    return Sheet(path, header, lines, places)


def _places(path: Path | str, header: list[str], columns: Mapping[str, str]) -> dict[str, int]:
    unknown = [role for role in columns if role not in ROLES]
    absent = [name for name in columns.values() if name not in header]
    if unknown:
        raise CallError(f"--columns knows {', '.join(ROLES)}; got {unknown[0]!r}")
    if absent:
        raise CallError(f"{path}: has no column {absent[0]!r} but {few(header)}; correct --columns")
    plain = [name.casefold() for name in header]
    taken = {header.index(name) for name in columns.values()}
    places = {role: header.index(name) for role, name in columns.items()}
    for role, names in ROLES.items():
        known = [plain.index(name) for name in names if name in plain]
        if role not in places and known and known[0] not in taken:
            places[role] = known[0]
    if "reason" not in places and "code" not in columns:
        places.pop("code", None)  # of something else
    for role in ("case", "algorithm"):
        if role not in places:
            raise FormatError(
                f"{path}: has no column {role!r} but {few(header)}; say which it is: --columns {role}=NAME"
            )
    if "metric" in places and "value" not in places:
        raise FormatError(
            f"{path}: names metrics in {header[places['metric']]!r} but has no column 'value'; "
            "say which it is: --columns value=NAME"
        )
    return places


def is_numeric(cells: Iterable[str]) -> bool:
    """Whether at least half of what is no gap are numbers; the others are then mistakes, not words."""
    known = [cell for cell in map(str.strip, cells) if cell.casefold() not in GAPS]
    numbers = sum(parsed(cell) is not None or has_decimal_comma(cell) for cell in known)
    return bool(known) and 2 * numbers >= len(known)


def parsed(cell: str) -> float | None:
    """A number, or None."""
    try:
        return float(cell) if "_" not in cell else None
    except ValueError:
        return None


def has_decimal_comma(cell: str) -> bool:
    """``0,85``."""
    return re.fullmatch(r"[+-]?\d*,\d+", cell) is not None
