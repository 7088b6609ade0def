"""What was frozen beside what is computed now."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from .freezing import KEYS, PROSE, Entry, as_number, prose_of, shrunk

RELATIVE, ABSOLUTE = 1e-9, 1e-12
LINES = 20
"""At most so many lines a file."""
ABSENT = "(absent)"


class Difference(NamedTuple):
    """One number or name that is not what it was."""

    study: str
    command: str
    file: str
    row: dict[str, str]
    column: str
    was: str
    now: str

    def __str__(self) -> str:
        row = " ".join(f"{k}={v}" for k, v in self.row.items() if v) or "-"
        place = f"{self.study} | {self.command} | {self.file} | {row} | {self.column or '-'}"
        return f"{place} | was {self.was} | is {self.now}"


@dataclass
class Renames:
    """What is called otherwise now, and what is meant to differ; see renames.toml."""

    file: list[dict[str, Any]] = field(default_factory=list)
    column: list[dict[str, Any]] = field(default_factory=list)
    value: list[dict[str, Any]] = field(default_factory=list)
    changed: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Renames:
        return cls(**tomllib.loads(path.read_text(encoding="utf-8")))

    def old_file(self, name: str, where: dict[str, str]) -> str:
        """The name that a file of today had."""
        for one in self.file:
            if not _meant(one, where):
                continue
            if one["is"].endswith("/") and name.startswith(one["is"]):
                return one["was"] + name.removeprefix(one["is"])
            if name == one["is"] or name.startswith(one["is"] + "["):
                return one["was"] + name.removeprefix(one["is"])
        return name

    def old_column(self, name: str, where: dict[str, str]) -> str:
        for one in self.column:
            if name == one["is"] and _meant(one, where):
                return one["was"]
        return name

    def old_value(self, column: str, value: Any, where: dict[str, str]) -> Any:
        """A name of today as it was; column is an old one."""
        for one in self.value:
            if value == one["is"] and fnmatchcase(column, one.get("column", "*")) and _meant(one, where):
                return one["was"]
        return value

    def expected(self, found: Difference) -> bool:
        where = {"study": found.study, "command": found.command, "file": found.file}
        return any(
            _meant(one, where)
            and fnmatchcase(found.column, one.get("column", "*"))
            and all(fnmatchcase(found.row.get(k, ""), v) for k, v in one.get("where", {}).items())
            and (bool(found.row) or not one.get("where"))
            for one in self.changed
        )


def _meant(one: dict[str, Any], where: dict[str, str]) -> bool:
    return all(fnmatchcase(where[k], one[k]) for k in where if k in one)


def compare(
    study: str,
    was: dict[str, dict[str, Entry]],
    now: dict[str, dict[str, Entry]],
    renames: Renames | None = None,
    texts: bool = False,
) -> list[Difference]:
    """Everything that differs, but what is expected to."""
    renames = renames or Renames()
    found: list[Difference] = []
    for command in was.keys() | now.keys():
        place = {"study": study, "command": command}
        if command not in was or command not in now:
            found.append(Difference(study, command, "", {}, "", *_there(command in was, command in now)))
            continue
        before, after = was[command], {}
        for name, entry in now[command].items():
            after[renames.old_file(name, place)] = entry
        for name in sorted(before.keys() | after.keys()):
            if name not in before or name not in after:
                there = _there(name in before, name in after)
                found.append(Difference(study, command, name, {}, "", *there))
                continue
            entry = _as_before(after[name], renames, {**place, "file": name})
            for row, column, old, new in _entry(before[name], entry, texts):
                found.append(Difference(study, command, name, row, column, old, new))
    return sorted((d for d in found if not renames.expected(d)), key=lambda d: (d.command, d.file))


def _there(before: bool, after: bool) -> tuple[str, str]:
    return ("there" if before else ABSENT, "there" if after else ABSENT)


def _as_before(entry: Entry, renames: Renames, where: dict[str, str]) -> Entry:
    """An entry of today with the names it had."""
    if not (renames.column or renames.value):
        return entry
    if "table" in entry:
        columns = {}
        for name, cells in entry["table"].items():
            old = renames.old_column(name, where)
            columns[old] = [renames.old_value(old, cell, where) for cell in cells] if renames.value else cells
        return {"table": columns}
    if "json" in entry:
        return {"json": _branch_before(entry["json"], "", renames, where)}
    return entry


def _branch_before(value: Any, key: str, renames: Renames, where: dict[str, str]) -> Any:
    if isinstance(value, dict):
        named = {renames.old_column(k, where): v for k, v in value.items()}
        return {k: _branch_before(v, k, renames, where) for k, v in named.items()}
    if isinstance(value, list):
        return [_branch_before(v, key, renames, where) for v in value]
    return renames.old_value(key, value, where) if isinstance(value, str) else value


Found = Iterator[tuple[dict[str, str], str, str, str]]


def _entry(was: Entry, now: Entry, texts: bool) -> Found:
    if "long" in was and "table" in now:
        yield from _long(was["long"], shrunk(now["table"])["long"], texts)
    elif was.keys() != now.keys():
        yield {}, "", f"a {next(iter(was))}", f"a {next(iter(now))}"
    elif "table" in was:
        yield from _tables(was["table"], now["table"], texts)
    elif "json" in was:
        yield from _leaves(dict(leaves(was["json"])), dict(leaves(now["json"])), texts)
    elif was != now:
        yield {}, next(iter(was)), str(next(iter(was.values()))), str(next(iter(now.values())))


def _tables(was: dict[str, list[str]], now: dict[str, list[str]], texts: bool) -> Found:
    yield from _columns(was, now)
    shared = [c for c in was if c in now]
    prose = set() if texts else prose_of(was)
    keys = [c for c in KEYS if c in shared]
    if "rank" in shared and "algorithm" not in shared:
        keys.append("rank")
    before, after = _rows(was, keys), _rows(now, keys)
    for key in before.keys() - after.keys():
        yield _named(keys, key), "", "a row", ABSENT
    for key in after.keys() - before.keys():
        yield _named(keys, key), "", ABSENT, "a row"
    for key, i in before.items():
        if key not in after:
            continue
        for column in shared:
            old, new = was[column][i], now[column][after[key]]
            if old != new and not _equal(old, new, column in prose):
                yield _named(keys, key), column, old, new


def _columns(was: dict[str, Any], now: dict[str, Any]) -> Found:
    for column in was.keys() - now.keys():
        yield {}, column, "a column", ABSENT
    for column in now.keys() - was.keys():
        yield {}, column, ABSENT, "a column"


def _rows(columns: dict[str, list[str]], keys: list[str]) -> dict[tuple[str, ...], int]:
    """The place of each row by its key; rows with the same one are counted."""
    seen: dict[tuple[str, ...], int] = {}
    found: dict[tuple[str, ...], int] = {}
    for i in range(len(next(iter(columns.values()), []))):
        key = tuple(_rounded(columns[c][i]) for c in keys)
        seen[key] = seen.get(key, 0) + 1
        found[(*key, str(seen[key]))] = i
    return found


def _rounded(cell: str) -> str:
    """Thresholds and the like are known by nine digits."""
    number = as_number(cell) if "." in cell or "e" in cell else None
    return cell if number is None else f"{number:.9g}"


def _named(keys: list[str], key: tuple[str, ...]) -> dict[str, str]:
    named = dict(zip(keys, key[:-1], strict=True))
    return named if key[-1] == "1" else {**named, "again": key[-1]}


def _long(was: dict[str, Any], now: dict[str, Any], texts: bool) -> Found:
    if was["rows"] != now["rows"]:
        yield {}, "", f"{was['rows']} rows", f"{now['rows']} rows"
    lines = list(_tables(was["first"], now["first"], texts))
    yield from lines
    for column, old in was["digests"].items():
        new = now["digests"].get(column, {})
        for kind in old.keys() | new.keys():
            if old.get(kind) != new.get(kind):
                values = (f"digest {old.get(kind, ABSENT)}", f"digest {new.get(kind, ABSENT)}")
                yield {"statistic": kind}, column, *values


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of JSON with its path."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if inside is None:
        yield path, value
    else:
        for key, one in inside:
            yield from leaves(one, f"{path}.{key}" if path else str(key))


def _leaves(was: dict[str, Any], now: dict[str, Any], texts: bool) -> Found:
    for path in sorted(was.keys() | now.keys()):
        keys = path.split(".")
        prose = bool(PROSE.intersection(keys)) or (keys[-1] == "verdict" and " " in str(was.get(path, "")))
        if path not in was or path not in now:
            if texts or not prose:
                yield {}, path, str(was.get(path, ABSENT)), str(now.get(path, ABSENT))
        elif not _equal(was[path], now[path], prose and not texts):
            yield {}, path, str(was[path]), str(now[path])


def _equal(was: Any, now: Any, prose: bool) -> bool:
    if was == now:
        return True
    a, b = as_number(was), as_number(now)
    if a is not None and b is not None:
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return prose and bool(was) == bool(now)


def lines(found: list[Difference]) -> Iterator[str]:
    """A line a difference, and a count where a file has too many."""
    by_file: dict[tuple[str, str], list[Difference]] = {}
    for one in found:
        by_file.setdefault((one.command, one.file), []).append(one)
    for (command, file), many in by_file.items():
        yield from map(str, many[:LINES])
        if len(many) > LINES:
            yield f"{many[0].study} | {command} | {file} | {len(many) - LINES} more differences"
