"""How it was computed: enough to write the methods section of a paper."""

from __future__ import annotations

from collections.abc import Iterator

from ...findings import FileRead, Findings
from ...parts import Block, Cell, Column, PageTable, Paragraphs, Section, Text, words
from .checklist import checklist
from .formulas import formulas
from .methods_text import methods_text
from .references import bibliography, cited_in
from .results_text import results_text
from .settings import settings, versions
from .undefined import undefined

NAME, TITLE = "how-it-was-computed", "How it was computed"
LEAD = "What was done, with which settings, from which files: to write a methods section, or to do it all again."
NO_SUMS = (
    "Names were replaced by codes. So paths and checksums are left out: a path often names a patient or a rater, and "
    "whoever has the files could tell by a checksum who a case is."
)


def section(found: Findings) -> Section:
    """Methods and results text, references, checklist, settings, formulas, undefined values, files."""
    return Section(NAME, TITLE, ((LEAD,),), tuple(_blocks(found)))


def _blocks(found: Findings) -> Iterator[Block]:
    text = methods_text(found)
    yield Text("methods", "Methods text", text, "Copy methods text")
    yield Text("results", "Results text", results_text(found), "Copy results text")
    yield Text(
        "bibtex", "References (BibTeX)", bibliography(cited_in(text)), "Copy BibTeX", "manytruths.bib",
        exact=True, closed=True,
    )  # fmt: skip
    yield checklist(found)
    yield settings(found)
    yield versions(found)
    yield formulas(found)
    yield undefined(found)
    yield from _files(found)


def _files(found: Findings) -> Iterator[Block]:
    if found.coded or not found.files:
        told = NO_SUMS if found.coded else "No file was read: the masks were in memory."
        yield Paragraphs(((told,),), "Files")
        return
    heads = (Column(head, number=False) for head in ("Path", "Kind", "Case"))
    columns = (*heads, Column("Bytes"), Column("SHA-256", number=False))
    rows = tuple(_file(one) for one in found.files)
    title = f"{len(rows):,} file{'' if len(rows) == 1 else 's'} read"
    yield PageTable("files", title, columns, rows, filter=True, closed=True)
    sums = "".join(_sum(one) for one in found.files)
    file = "SHA256SUMS.txt"  # browsers give this ending to a text that has none
    yield Text("sha256sums", f"Checksums (sha256sum -c {file})", sums, "Copy", file, True, closed=True)


def _file(one: FileRead) -> tuple[Cell, ...]:
    case = words(one.case, case=one.case)
    return (words(one.path), words(one.kind), case, words(f"{one.bytes:,}"), words(one.sha256))


def _sum(one: FileRead) -> str:
    """A line as ``sha256sum`` writes it: a name with a line break is escaped, and its line starts with a backslash."""
    escaped = one.path.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{'' if escaped == one.path else chr(92)}{one.sha256}  {escaped}\n"
