"""Tables as a Word document: real tables with three rules, in Office Open XML that is written here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from ...io.writing import MOMENT, write_zip
from .wide import PaperTable

_NAME = "http://schemas.openxmlformats.org"
_MAIN = f'xmlns:w="{_NAME}/wordprocessingml/2006/main"'
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
TYPES = (
    f'<Types xmlns="{_NAME}/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/word/document.xml" ContentType="{_TYPE}.document.main+xml"/>'
    f'<Override PartName="/word/styles.xml" ContentType="{_TYPE}.styles+xml"/>'
    '<Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>'
    "</Types>"
)
_RELATION = f"{_NAME}/officeDocument/2006/relationships"
RELATIONS = (
    f'<Relationships xmlns="{_NAME}/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{_RELATION}/officeDocument" Target="word/document.xml"/>'
    f'<Relationship Id="rId2" Type="{_NAME}/package/2006/relationships/metadata/core-properties" '
    'Target="docProps/core.xml"/></Relationships>'
)
OF_DOCUMENT = (
    f'<Relationships xmlns="{_NAME}/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{_RELATION}/styles" Target="styles.xml"/></Relationships>'
)
STYLES = (
    f"<w:styles {_MAIN}><w:docDefaults><w:rPrDefault><w:rPr>"
    '<w:rFonts w:ascii="Times New Roman" w:hAnsi="Times New Roman" w:cs="Times New Roman"/><w:sz w:val="20"/>'
    '</w:rPr></w:rPrDefault></w:docDefaults><w:style w:type="paragraph" w:default="1" w:styleId="Normal">'
    '<w:name w:val="Normal"/></w:style><w:style w:type="paragraph" w:styleId="Caption"><w:name w:val="caption"/>'
    '<w:basedOn w:val="Normal"/><w:pPr><w:keepNext/><w:spacing w:before="360" w:after="80"/></w:pPr>'
    '<w:rPr><w:b/></w:rPr></w:style><w:style w:type="paragraph" w:styleId="TableNote"><w:name w:val="Table note"/>'
    '<w:basedOn w:val="Normal"/><w:pPr><w:spacing w:before="60"/></w:pPr><w:rPr><w:sz w:val="16"/></w:rPr></w:style>'
    '<w:style w:type="table" w:default="1" w:styleId="TableNormal"><w:name w:val="Normal Table"/></w:style></w:styles>'
)
PORTRAIT, LANDSCAPE = (11906, 16838), (16838, 11906)
MARGIN = 1134
WIDE = 6
"""With more columns in any table, the page lies on its side and its letters are smaller."""
RULE = '<w:{side} w:val="single" w:sz="{size}" w:space="0" w:color="auto"/>'


def write_word(path: Path, tables: Sequence[PaperTable], title: str) -> Path:
    """Write the tables to one document, the same bytes for the same numbers."""
    wide = any(len(table.columns) > WIDE for table in tables)
    width, height = LANDSCAPE if wide else PORTRAIT
    room = width - 2 * MARGIN
    body = "".join(_table(number, table, room) for number, table in enumerate(tables, 1))
    turned = ' w:orient="landscape"' if wide else ""
    margins = "".join(f' w:{side}="{MARGIN}"' for side in ("top", "right", "bottom", "left"))
    page = f'<w:sectPr><w:pgSz w:w="{width}" w:h="{height}"{turned}/><w:pgMar{margins}/></w:sectPr>'
    core = (
        f'<cp:coreProperties xmlns:cp="{_NAME}/package/2006/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
        f'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><dc:title>{_text(title)}</dc:title>'
        f'<dcterms:created xsi:type="dcterms:W3CDTF">{MOMENT}</dcterms:created></cp:coreProperties>'
    )
    parts = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": RELATIONS,
        "docProps/core.xml": core,
        "word/document.xml": f"<w:document {_MAIN}><w:body>{body}{page}</w:body></w:document>",
        "word/styles.xml": STYLES,
        "word/_rels/document.xml.rels": OF_DOCUMENT,
    }
    write_zip(path, {name: (_HEAD + part).encode() for name, part in parts.items()})
    return path


def _table(number: int, table: PaperTable, room: int) -> str:
    widths = _widths(table, room)
    grid = "".join(f'<w:gridCol w:w="{width}"/>' for width in widths)
    rules = RULE.format(side="top", size=8) + RULE.format(side="bottom", size=8)
    look = (
        f'<w:tblPr><w:tblW w:w="{sum(widths)}" w:type="dxa"/><w:tblBorders>{rules}</w:tblBorders>'
        '<w:tblLayout w:type="fixed"/><w:tblCellMar><w:left w:w="60" w:type="dxa"/><w:right w:w="60" w:type="dxa"/>'
        "</w:tblCellMar></w:tblPr>"
    )
    rows = _row(table, widths, table.heads(), head=True)
    rows += "".join(_row(table, widths, [entry.text for entry in row]) for row in table.rows)
    caption = _paragraph(f"Table {number}. {table.title}", "Caption")
    note = _paragraph(table.note, "TableNote")
    return f"{caption}<w:tbl>{look}<w:tblGrid>{grid}</w:tblGrid>{rows}</w:tbl>{note}"


def _widths(table: PaperTable, room: int) -> list[int]:
    """Of the columns, by their longest text, so that all of them fill the page."""
    texts: Iterable[list[str]] = [[*map(_longest_word, table.heads())], *([e.text for e in row] for row in table.rows)]
    longest = [min(max(4, *map(len, column)), 40) + 2 for column in zip(*texts, strict=True)]
    return [room * each // sum(longest) for each in longest]


def _longest_word(text: str) -> str:
    # bold letters are wider
    return max(text.split() or [""], key=len) + " "


def _row(table: PaperTable, widths: Sequence[int], cells: Sequence[str], *, head: bool = False) -> str:
    made = []
    for k, (text, width) in enumerate(zip(cells, widths, strict=True)):
        rule = f"<w:tcBorders>{RULE.format(side='bottom', size=4)}</w:tcBorders>" if head else ""
        side = "right" if table.is_number(k) else "left"
        look = f'<w:tcPr><w:tcW w:w="{width}" w:type="dxa"/>{rule}</w:tcPr>'
        small = len(widths) > WIDE
        made.append(f"<w:tc>{look}{_paragraph(text, side=side, bold=head, small=small)}</w:tc>")
    whole = "<w:trPr><w:cantSplit/><w:tblHeader/></w:trPr>" if head else "<w:trPr><w:cantSplit/></w:trPr>"
    return f"<w:tr>{whole}{''.join(made)}</w:tr>"


def _paragraph(text: str, style: str = "", *, side: str = "", bold: bool = False, small: bool = False) -> str:
    look = (f'<w:pStyle w:val="{style}"/>' if style else "") + (f'<w:jc w:val="{side}"/>' if side else "")
    font = ("<w:b/>" if bold else "") + ('<w:sz w:val="15"/>' if small else "")
    run = f'<w:r>{f"<w:rPr>{font}</w:rPr>" if font else ""}<w:t xml:space="preserve">{_text(text)}</w:t></w:r>'
    return f"<w:p>{f'<w:pPr>{look}</w:pPr>' if look else ''}{run if text else ''}</w:p>"


def _text(text: str) -> str:
    return escape(_CONTROLS.sub("�", text), quote=False)
