"""Tables as one page of plain HTML, which can be copied into any editor."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from ...io.writing import write_text
from .wide import PaperTable

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #1b1f24;
  background: #fff; }
table { border-collapse: collapse; border-top: 1.5px solid; border-bottom: 1.5px solid; margin: 2.2rem 0 0.4rem; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.4rem; }
thead th { border-bottom: 1px solid; vertical-align: bottom; }
th, td { text-align: left; font-weight: 400; padding: 0.22rem 0.7rem; font-variant-numeric: tabular-nums; }
thead th { font-weight: 600; }
.number { text-align: right; white-space: nowrap; }
.note { font-size: 0.85em; color: #57606a; margin: 0; }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def write_page(path: Path, tables: Sequence[PaperTable], title: str) -> Path:
    """Write the tables to one page that needs no other file."""
    shown = escape(title)
    body = "\n".join(html_table(number, table) for number, table in enumerate(tables, 1))
    head = (
        f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{shown}</title>\n'
    )
    style = f"<style>{STYLE}</style>"
    start = f'<!doctype html>\n<html lang="en">\n<head>\n{head}{style}\n</head>\n'
    write_text(path, f"{start}<body>\n<h1>{shown}</h1>\n{body}\n</body>\n</html>\n")
    return path


def html_table(number: int, table: PaperTable) -> str:
    """A table with its caption and its note."""
    sides = [' class="number"' if table.is_number(k) else "" for k in range(len(table.columns))]
    heads = _line("th", table.heads(), [f' scope="col"{side}' for side in sides])
    rows = "\n".join(_line("td", [entry.text for entry in row], sides) for row in table.rows)
    caption = f"<caption>Table {number}. {escape(table.title)}</caption>"
    note = f'\n<p class="note">{escape(table.note)}</p>' if table.note else ""
    return f"<table>\n{caption}\n<thead>\n{heads}\n</thead>\n<tbody>\n{rows}\n</tbody>\n</table>{note}"


def _line(tag: str, cells: Sequence[str], more: Sequence[str]) -> str:
    made = (f"<{tag}{extra}>{escape(cell)}</{tag}>" for cell, extra in zip(cells, more, strict=True))
    return f"<tr>{''.join(made)}</tr>"
