"""The references of the methods, from ``references.bib``. ``[Fleiss 1971]`` in a text cites the key ``Fleiss1971``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import manytruths

SOFTWARE = "manytruths"
CITATION = re.compile(r" \[([^\[\]]+)\]")


def _read_references() -> dict[str, str]:
    """The entries of the BibTeX file by how a text cites them: name and year."""
    text = Path(__file__).with_name("references.bib").read_text(encoding="utf-8")
    entries = text.replace("VERSION", manytruths.__version__).strip().split("\n\n")
    keys = (re.findall(r"@\w+\{(.+?)(\d{4})?,\n", entry)[0] for entry in entries)
    return {" ".join(filter(None, key)): entry for key, entry in zip(keys, entries, strict=True)}


REFERENCES = _read_references()


def cite(*cited: str) -> str:
    """The citation that follows a name: `` [Fleiss 1971; Gwet 2008]``; empty without references."""
    unknown = [reference for reference in cited if reference not in REFERENCES]
    assert not unknown, unknown
    return f" [{'; '.join(dict.fromkeys(cited))}]" if cited else ""


def cited_in(text: str) -> list[str]:
    """The references that a text cites, each once, in order of appearance."""
    citations = [reference for group in CITATION.findall(text) for reference in group.split("; ")]
    return list(dict.fromkeys(reference for reference in citations if reference in REFERENCES))


def cite_once(text: str) -> str:
    """The text with every reference cited only where it first appears."""
    earlier: set[str] = set()

    def first(group: re.Match[str]) -> str:
        cited = group[1].split("; ")
        if not all(reference in REFERENCES for reference in cited):
            return group[0]
        fresh = [reference for reference in cited if reference not in earlier]
        earlier.update(fresh)
        return cite(*fresh)

    return CITATION.sub(first, text)


def bibliography(cited: Iterable[str]) -> str:
    """The entries of the cited references by key, the software last."""
    return "\n\n".join(REFERENCES[reference] for reference in sorted(set(cited))) + "\n"
