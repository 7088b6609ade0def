"""The page of works that are cited by a DOI, made from references.csv."""

from __future__ import annotations

import csv
from pathlib import Path
from urllib.parse import quote

START = """# Works cited by DOI

Every DOI that stands in the code, its docstrings and these pages, {checked} of {all} checked. **Checked** means that
the DOI was found beside the same authors, title or journal in reference lists that others have published, or in the
paper itself; it does not mean that somebody read the work for it. The others are marked **unchecked**: they were taken
over as they are. A test holds this list and the sources together; the list is `docs/references.csv` in the repository.

| work | DOI | |
|---|---|---|
"""


def write_references_page(folder: Path) -> None:
    """Write ``references.md`` beside the list."""
    with (folder / "references.csv").open(encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: (row["author"].lower(), row["year"], row["doi"]))
    page = START.format(checked=sum(row["checked"] == "true" for row in rows), all=len(rows))
    for row in rows:
        work = row["work"] if row["work"].startswith(row["author"]) else f"{row['author']} {row['year']}. {row['work']}"
        link = (
            f"[{row['doi'].replace('<', '&lt;').replace('>', '&gt;')}](https://doi.org/{quote(row['doi'], safe='/')})"
        )
        mark = "" if row["checked"] == "true" else f"**unchecked**: {row['how']}"
        page += f"| {work} | {link} | {mark} |\n"
    (folder / "references.md").write_text(page, encoding="utf-8")
