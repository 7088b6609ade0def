"""``python -m tests.licences`` writes THIRD_PARTY.md: the licences of what the package and its extras need.

They are read from the metadata of the distributions that are installed. Nothing of them is contained in the wheel: they
are installed beside it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "THIRD_PARTY.md"
START = """# Licences of others

What `manytruths` {version} needs, and what its extras need, with the licence that each states of itself. They are
installed beside the package, and nothing of them is contained in it. Written by `make licences` from the metadata of
the versions that were installed; what these need in turn has licences of its own (`pip-licenses` lists those of an
environment).

| project | for | version seen | licence |
|---|---|---|---|
"""


def needs() -> dict[str, list[str]]:
    """What is asked for in pyproject.toml, and by which extras; the package itself is the extra without a name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = dict[str, list[str]]()
    for extra, requirements in {"": project["dependencies"], **project["optional-dependencies"]}.items():
        for requirement in requirements:
            asked.setdefault(re.split(r"[\s<>=~!;\[]", requirement)[0], []).append(extra)
    return asked


def licence(found: Distribution) -> str:
    """The licence that a distribution states: an expression, else classifiers, else the first line of its text."""
    metadata = found.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    classes = [
        line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier") or () if line.startswith("License ::")
    ]
    stated = " ".join((metadata.get("License") or "").split())
    named = [name for name in classes if name != "OSI Approved"]
    return ", ".join(named) or (stated if len(stated) < 60 else "") or "not stated in its metadata"


def lines() -> Iterator[str]:
    """A line of the table for each project."""
    for name, extras in sorted(needs().items(), key=lambda item: (min(item[1]) != "", item[0].lower())):
        purpose = "the package" if "" in extras else ", ".join(f"`{extra}`" for extra in extras)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            raise SystemExit(f"{name} is not installed; make licences installs it") from None
        yield f"| {found.metadata['Name']} | {purpose} | {found.version} | {licence(found)} |\n"


def main() -> None:
    """Write the page."""
    from manytruths import __version__

    PAGE.write_text(START.format(version=__version__) + "".join(lines()), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
