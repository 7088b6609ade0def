"""Numbers by case for REDCap: a data import file with one record a case, and the data dictionary of its fields."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...core.errors import InputError
from ...io.result_tables import Row, Table
from ...io.writing import write_csv
from .formats import Tabled
from .wide import statistic_title

DICTIONARY = (
    "Variable / Field Name", "Form Name", "Section Header", "Field Type", "Field Label",
    "Choices, Calculations, OR Slider Labels", "Field Note", "Text Validation Type OR Show Slider Number",
    "Text Validation Min", "Text Validation Max", "Identifier?", "Branching Logic (Show field only if...)",
    "Required Field?", "Custom Alignment", "Question Number (surveys only)", "Matrix Group Name", "Matrix Ranking?",
    "Field Annotation",
)  # fmt: skip
"""The columns of a data dictionary."""
RECORD = "record_id"
LONGEST = 100
"""Characters of a field's name."""
MOST_FIELDS = 500
"""Of one table; more are not for a form."""
NOT_BY_CASE = frozenset({"regions", "features", "masks", "second_look", "lesions", "curve", "confusion", "edits"})
"""Tables whose rows of a case are marks, or that have other rows in every case."""


@dataclass
class _Form:
    """The fields of one command, and what each case has in them."""

    name: str
    fields: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """Label, validation and section by name."""
    values: dict[tuple[str, str], object] = field(default_factory=dict)
    """By case and field."""


def write_redcap(folder: Path, commands: Sequence[Tabled]) -> list[Path]:
    """Write ``data.csv`` and ``dictionary.csv``: records are cases, fields the numbers of every case."""
    subjects = {case: subject for one in commands for case, subject in one.subjects.items()}
    taken = {RECORD}
    forms = [form for one in commands if (form := _form(one, taken)).fields]
    cases = list(dict.fromkeys([*subjects, *(case for form in forms for case, _ in form.values)]))
    if not forms or not cases:
        raise InputError("tables: there are no numbers by case, so that there are no records for redcap")
    fields = [name for form in forms for name in form.fields]
    found = {key: value for form in forms for key, value in form.values.items()}
    own = ["subject"] if subjects else []
    rows = [
        [case, *([subjects.get(case, "")] if own else []), *(found.get((case, f), "") for f in fields)]
        for case in cases
    ]
    first = forms[0].name
    lines = [_definition(RECORD, first, "Case")] + [_definition("subject", first, "Subject")] * len(own)
    for form in forms:
        section = ""
        for name, (label, validation, of) in form.fields.items():
            lines.append(_definition(name, form.name, label, validation, "" if of == section else of))
            section = of
    paths = [folder / "data.csv", folder / "dictionary.csv"]
    write_csv(paths[0], rows, [RECORD, *own, *fields])
    write_csv(paths[1], lines, DICTIONARY)
    return paths


def _definition(name: str, form: str, label: str, validation: str = "", section: str = "") -> list[str]:
    return [name, form, section, "text", label, "", "", validation, *[""] * 10]


def _form(command: Tabled, taken: set[str]) -> _Form:
    form = _Form(command.command)
    if command.subjects:
        taken.add("subject")
    for table in command.tables:
        if isinstance(table, Table) and table.name not in NOT_BY_CASE:
            _add_table(form, table, taken)
    return form


def _add_table(form: _Form, table: Table, taken: set[str]) -> None:
    rows = [row for row in table.rows if row.scope == "case" and row.case]
    keys = _needed_columns(table, rows)
    names: dict[tuple[object, ...], str] = {}
    if len({_key(row, table, keys) for row in rows}) > MOST_FIELDS:
        return
    for row in rows:
        key = _key(row, table, keys)
        if key not in names:
            words = [str(part) for part in key if part not in ("", None)]
            names[key] = field_name([table.name, *words], taken)
            label = ", ".join([statistic_title(row.statistic), *words[1:]])
            form.fields[names[key]] = (label, "number", f"{form.name}: {table.name}")
        form.values[row.case, names[key]] = "" if math.isnan(row.value) else float(row.value)
    for name, by_case in _texts(table, rows, keys):
        title = field_name([table.name, name], taken)
        form.fields[title] = (name.replace("_", " ").capitalize(), "", f"{form.name}: {table.name}")
        form.values |= {(case, title): value for case, value in by_case.items()}


def _needed_columns(table: Table, rows: Sequence[Row]) -> tuple[str, ...]:
    """Columns without which two rows of one case would be taken for the same number."""
    kept = list(table.extra)
    for name in reversed(table.extra):
        fewer = [other for other in kept if other != name]
        if len({(row.case, _key(row, table, fewer)) for row in rows}) == len(rows):
            kept = fewer
    return tuple(kept)


def _key(row: Row, table: Table, columns: Sequence[str]) -> tuple[object, ...]:
    cells = dict(zip(table.extra, row.extra, strict=True))
    return (row.statistic, row.label, *(cells[name] for name in columns))


def _texts(table: Table, rows: Sequence[Row], keys: Sequence[str]) -> Iterator[tuple[str, dict[str, object]]]:
    """Other columns that say one thing of each case, such as its class."""
    for k, name in enumerate(table.extra):
        by_case: dict[str, set[object]] = {}
        for row in rows:
            by_case.setdefault(row.case, set()).add(row.extra[k])
        told = {case: next(iter(values)) for case, values in by_case.items() if len(values) == 1}
        if name not in keys and len(told) == len(by_case) and len(set(told.values())) > 1:
            yield name, told


def field_name(words: Sequence[str], taken: set[str]) -> str:
    """A name of letters, digits and single underscores that no other field has.

    >>> field_name(["pairs", "dice", "Dr. Müller", "B"], set()), field_name(["a"], {"a"})
    ('pairs_dice_dr_muller_b', 'a_2')
    """
    plain = unicodedata.normalize("NFKD", "_".join(words)).encode("ascii", "ignore").decode().lower()
    base = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:LONGEST].strip("_")
    base = base if base[:1].isalpha() else f"field_{base}".strip("_")[:LONGEST]
    name, k = base, 1
    while name in taken:
        k += 1
        name = f"{base[: LONGEST - len(str(k)) - 1]}_{k}"
    taken.add(name)
    return name
