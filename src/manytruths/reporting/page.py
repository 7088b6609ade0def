"""The page as HTML: templates, style sheets and scripts in one file that needs no other."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from ..claims.sentences import Cell
from ..io.front_files import in_script, join_scripts, join_styles, script_digest
from .elements import PageTable, Section

TEMPLATES = Path(__file__).parent / "templates"
WORDY, TELLING = 12, 40
"""Texts with more characters than these get a wider, or a wide, column."""
LINES = 12
"""Longer tables show their first ten rows until all are asked for."""
PRINTED = 60
"""Rows of a table in print."""


@dataclass(frozen=True)
class CaseEntry:
    """A case that the viewer can open."""

    index: int
    name: str
    group: str = ""
    thumbnail: str = ""
    """A data URL."""
    inside: str = ""
    """Data of the viewer as JSON, where the page holds it."""
    file: str = ""
    """Else the script that loads it, relative to the page."""


def page_html(
    sections: Sequence[Section], views: Sequence[CaseEntry], *, title: str, subtitle: str, footer: str
) -> str:
    """The whole page as HTML."""
    script = scripts()
    listed = [{"index": e.index, "name": e.name, "group": e.group, "file": e.file} for e in views]
    template = _environment({entry.name: entry for entry in views}).get_template("page.html")
    return template.render(
        sections=sections,
        title=title,
        subtitle=subtitle,
        footer=footer,
        style=Markup(styles()),
        script=Markup(script),
        policy=content_policy(script, files=any(entry.file for entry in views)),
        entries=Markup(in_script(json.dumps(listed, ensure_ascii=False))),
    )


def content_policy(script: str, *, files: bool) -> str:
    """A content security policy: no network, and no scripts but the page's own and those of cases beside it."""
    allowed = f"'{script_digest(script)}'" + (" 'self' file:" if files else "")
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


class _Compiled(BytecodeCache):
    """Templates that this process has compiled; each page has an environment of its own, as macros see its cases."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._codes[bucket.key, bucket.checksum] = bucket.code


COMPILED = _Compiled()


def _environment(cases: Mapping[str, CaseEntry]) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        bytecode_cache=COMPILED,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "kind": lambda part: type(part).__name__,
        "halves": halves,
        "hover": hover,
        "drawn": Markup,
        "width": width,
        "paragraphs": lambda text: [part for part in re.split(r"\n\s*\n", text.strip()) if part],
        "case_of": case_of,
        "headline": headline,
        "in_script": lambda text: Markup(in_script(text)),
    }
    environment.globals |= {"cases": cases, "LINES": LINES, "PRINTED": PRINTED, "TELLING": TELLING, "WORDY": WORDY}
    return environment


def halves(cell: Cell) -> tuple[str, str]:
    """The shown number and its interval."""
    value, bracket, interval = cell.shown.partition(" (")
    return (value, bracket + interval) if cell.low and interval.endswith(")") else (cell.shown, "")


def hover(cell: Cell) -> str:
    """The tooltip of a cell: why it is undefined, or all digits and the file."""
    if cell.why or not cell.at:
        return cell.why
    interval = f" ({cell.low} to {cell.high})" if cell.low else ""
    return f"{cell.value}{interval}, from {cell.at.partition('#')[0]}"


def width(svg: str) -> int:
    """The width of a chart in pixels."""
    match = re.match(r"<svg[^>]*? width=\"(\d+)", svg)
    return int(match[1]) if match else 560


def case_of(row: Sequence[Cell]) -> str:
    """The case that a row of a table is about."""
    return next((cell.case for cell in row if cell.case), "")


def headline(table: PageTable) -> int | None:
    """The column to show beneath a thumbnail: the first number, by which the cases are sorted."""
    return next((i for i, column in enumerate(table.columns) if column.number), None)


# --- style sheets and scripts

FRONT = Path(__file__).parent / "front"
ENTRY = "page.js"
STYLES = ("page.css", "viewer.css", "print.css")


def scripts(folder: Path | None = None) -> str:
    """All modules as one without imports, each after those that it imports."""
    return join_scripts(folder or FRONT, ENTRY)


def styles(folder: Path | None = None) -> str:
    """The style sheets, the one for print last."""
    return join_styles(folder or FRONT, STYLES)
