"""The DOIs in code and documentation, and the list of them in docs/references.csv."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

ROOT = Path(__file__).parents[1]
LIST = ROOT / "docs" / "references.csv"
FOLDERS = ("src", "docs", "examples", "benchmarks", "paper", "tests")
KINDS = (".py", ".pyi", ".md", ".rst", ".bib", ".cff", ".toml", ".js", ".html")
WRITTEN = ("docs/_build", "docs/gallery", "docs/references.md", "docs/notebook.md", "docs/api/generated")
"""What a build of the documentation writes."""
EXAMPLES = ("CONTRIBUTING.md", "tests/dois.py", "tests/test_references.py")
"""What has DOIs that are not in the list: a worked example adds one to it."""
DOI = re.compile(r"10\.\d{4,9}/[^\s\"'`\]{}|\\]+")
WELL_FORMED = re.compile(r"10\.\d{4,9}/[-._;()/:<>a-zA-Z0-9]+")
PAIRS = (("(", ")"), ("<", ">"))


class Work(NamedTuple):
    """A line of the list."""

    doi: str
    author: str
    year: str
    work: str
    checked: str
    how: str


class Place(NamedTuple):
    """Where a DOI stands, with the text around it."""

    doi: str
    path: Path
    before: str
    after: str


def read_list() -> list[Work]:
    """The list as it lies with the documentation."""
    with LIST.open(encoding="utf-8", newline="") as file:
        return [Work(**row) for row in csv.DictReader(file)]


def trim(text: str) -> str:
    """A DOI without the signs of the sentence that it stands in."""
    doi = unescape(unquote(text))
    while doi[-1] in ".,;:*" or any(doi.endswith(end) and doi.count(end) > doi.count(start) for start, end in PAIRS):
        doi = doi[:-1]
    return doi


def find_dois() -> Iterator[Place]:
    """Every DOI of the checkout."""
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in KINDS]
    for path in [*sorted(ROOT.glob("*.md")), ROOT / "CITATION.cff", *files]:
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(WRITTEN) or name in EXAMPLES:
            continue
        text = path.read_text(encoding="utf-8")
        for found in DOI.finditer(text):
            yield Place(
                trim(found[0]), path, text[max(0, found.start() - 700) : found.start()], text[found.end() :][:200]
            )
