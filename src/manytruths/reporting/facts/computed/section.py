"""How it was computed: enough to write the methods section of a paper."""

from __future__ import annotations

from collections.abc import Iterator

from ...findings import FileRead, Findings
from ...parts import Block, Cell, Column, PageTable, Paragraphs, Section, Text, text_cell
from .checklist import checklist_table
from .formulas import formula_table
from .methods_text import methods_text
from .references import bibliography, cited_in
from .results_text import results_text
from .settings import settings_table, versions_table
from .undefined import undefined_block

NAME, TITLE = "how-it-was-computed", "How it was computed"
LEAD = "What was done, with which settings, from which files: to write a methods section, or to do it all again."
NO_CHECKSUMS = (
    "Names were replaced by codes. So paths and checksums are left out: a path often names a patient or a rater, and "
    "whoever has the files could tell by a checksum who a case is."
)


def section(findings: Findings) -> Section:
    """Methods and results text, references, checklist, settings, formulas, undefined values, files."""
    return Section(NAME, TITLE, ((LEAD,),), tuple(_blocks(findings)))


def _blocks(findings: Findings) -> Iterator[Block]:
    text = methods_text(findings)
    yield Text("methods", "Methods text", text, "Copy methods text")
    yield Text("results", "Results text", results_text(findings), "Copy results text")
    yield Text(
        "bibtex", "References (BibTeX)", bibliography(cited_in(text)), "Copy BibTeX", "manytruths.bib",
        exact=True, closed=True,
    )  # fmt: skip
    yield checklist_table(findings)
    yield settings_table(findings)
    yield versions_table(findings)
    yield formula_table(findings)
    yield undefined_block(findings)
    yield from _file_blocks(findings)


def _file_blocks(findings: Findings) -> Iterator[Block]:
    if findings.coded or not findings.files:
        text = NO_CHECKSUMS if findings.coded else "No file was read: the masks were in memory."
        yield Paragraphs(((text,),), "Files")
        return
    heads = (Column(head, number=False) for head in ("Path", "Kind", "Case"))
    columns = (*heads, Column("Bytes"), Column("SHA-256", number=False))
    rows = tuple(_file_row(file_read) for file_read in findings.files)
    title = f"{len(rows):,} file{'' if len(rows) == 1 else 's'} read"
    yield PageTable("files", title, columns, rows, filter=True, closed=True)
    sums = "".join(_checksum_line(file_read) for file_read in findings.files)
    file = "SHA256SUMS.txt"  # browsers give this ending to a text that has none
    yield Text("sha256sums", f"Checksums (sha256sum -c {file})", sums, "Copy", file, True, closed=True)


def _file_row(file: FileRead) -> tuple[Cell, ...]:
    case = text_cell(file.case, case=file.case)
    return (text_cell(file.path), text_cell(file.kind), case, text_cell(f"{file.bytes:,}"), text_cell(file.sha256))


def _checksum_line(file: FileRead) -> str:
    """A line as ``sha256sum`` writes it: a name with a line break is escaped, and its line starts with a backslash."""
    escaped = file.path.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{'' if escaped == file.path else chr(92)}{file.sha256}  {escaped}\n"
