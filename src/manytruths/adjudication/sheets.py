"""Disputes as a workbook: pictures and one row each, to be filled in where neither Python nor a page can be used."""

from __future__ import annotations

import io
import uuid
from pathlib import Path
from typing import Any

import numpy as np

from ..charts import rater_colours
from ..charts.overlays import closeup
from ..core.errors import FormatError, InputError, few
from ..io.sheets import read_sheet
from ..io.writing import atomic
from ..study.disputes import Dispute
from .merging import Returned, unpack_about
from .plan import letter
from .session import ANSWERS, CHOICES, Session

HEADER = (
    "code", "number", "practice", "letters", "first_look", "decision", "label", "reason", "comment", "adjudicator",
    "page",
)  # fmt: skip
PICTURE = 11
"""The column of the picture, behind all others."""
MOST_ROWS = 2000
"""Disputes in a workbook: each has a picture."""
HEIGHT = 260
"""Pixels of a picture."""
NAMESPACE = uuid.UUID("5b0f6e0e-2c39-4c0e-9a1b-7d5a3d1f9c42")


def write_sheet(path: Path, session: Session, who: str = "") -> int:
    """Write the workbook, with the name of the adjudicator where it is known; the number of rows."""
    try:
        from openpyxl import Workbook
        from openpyxl.drawing.image import Image as Picture
        from openpyxl.styles import Font
        from openpyxl.utils import get_column_letter
        from openpyxl.worksheet.datavalidation import DataValidation
    except ImportError:
        raise InputError('xlsx needs openpyxl; install it with pip install "manytruths[tables]"') from None
    queue = session.queue()
    known = [f"{value} {session.label_names[value]}" for value in session.label_names]
    labels = "" if len(known) < 2 or any("," in each for each in known) else ",".join(known)
    if len(queue) > MOST_ROWS:
        raise InputError(
            f"{path}: {len(queue)} disputes are too many for a workbook (at most {MOST_ROWS}); write several with "
            "--only-group, --only-label or --only-kind, or use --html"
        )
    book = Workbook()
    sheet = book.active
    sheet.title = "disputes"
    sheet.append([*HEADER, "picture"])
    page = session.state()["page"]
    for row, each in enumerate(queue, start=2):
        item = session.find(each["id"])
        rated = session.read(item).raters
        letters = [letter(number) for number, rater in enumerate(session.raters(item)) if rater in rated]
        practice, name = "yes" if each["practice"] else "", who if row == 2 else ""
        sheet.append([each["id"], each["number"], practice, " ".join(letters), "", "", "", "", "", "", page])
        if name:
            cell = sheet.cell(row, 1 + HEADER.index("adjudicator"), name)
            cell.data_type = "s"  # a name is no formula, whatever it starts with
        choices = ",".join([*letters, *(choice for choice in CHOICES if choice != "drawn")])
        for column, words in (("E", ",".join(ANSWERS)), ("F", choices), ("G", labels)):
            if 0 < len(words) <= 250:  # Excel's own limit
                rule = DataValidation(type="list", formula1=f'"{words}"', allow_blank=True)
                sheet.add_data_validation(rule)
                rule.add(f"{column}{row}")
        stream = _picture(session, each["id"])
        if stream is not None:
            drawn = Picture(stream)
            drawn.width, drawn.height = round(drawn.width * HEIGHT / drawn.height), HEIGHT
            sheet.add_image(drawn, f"{get_column_letter(PICTURE + 1)}{row}")
            sheet.row_dimensions[row].height = HEIGHT * 0.76
    for cell in sheet[1]:
        cell.font = Font(bold=True)
    for column, width in zip("ABCDEFGHI", (18, 8, 9, 10, 14, 14, 8, 22, 40), strict=True):
        sheet.column_dimensions[column].width = width
    sheet.column_dimensions["K"].hidden = True
    sheet.column_dimensions["L"].width = 100
    sheet.freeze_panes = "B2"
    with atomic(path) as temporary:
        book.save(temporary)
    return len(queue)


def _legend(session: Session, dispute: Dispute, number: int, rater: str) -> str:
    """The letter of a rater and, where a study has several labels, which of them they gave."""
    runs, names = dispute.drawn.get(rater), session.label_names
    given = [] if runs is None or len(names) < 2 else np.unique(runs.values).tolist()
    return " ".join([letter(number), *(names.get(value, str(value)) for value in given)])


def _picture(session: Session, id: str) -> io.BytesIO | None:
    """The image around a dispute, bare and with the outlines under their letters."""
    item = session.find(id)
    shown, dispute = session.shown(id), session.read(item)
    view = shown.view
    margin = [40 if axis != view.axis else 0 for axis in range(len(view.box))]
    window = tuple(
        (max(start, low - by), min(stop, high + by))
        for (start, stop), (low, high), by in zip(view.box, dispute.box, margin, strict=True)
    )
    inner = tuple(slice(low - start, high - start) for (low, high), (start, _) in zip(dispute.box, window, strict=True))
    masks: dict[str, Any] = {}
    for number, rater in enumerate(session.raters(item)):
        mask = np.zeros([stop - start for start, stop in window], bool)
        if rater in dispute.drawn and not view.clipped:
            mask[inner] = dispute.drawn[rater][...] != 0
        masks[_legend(session, dispute, number, rater)] = mask
    image = None
    if shown.sources and shown.sources[0][1].shape == tuple(shown.found.shape):
        image = shown.sources[0][1].crop(tuple(slice(*ends) for ends in window))
    box = tuple((low - start, high - start) for (low, high), (start, _) in zip(dispute.box, window, strict=True))
    point = tuple(at - start for at, (start, _) in zip(dispute.centre, window, strict=True))
    drawn = closeup(
        image, masks, box, point, spacing=shown.found.spacing, title=f"{session.item(id)['number']}",
        colours=rater_colours(len(masks)), coloured=True,
    )  # fmt: skip
    stream = io.BytesIO()
    drawn.save(stream, "PNG")
    stream.seek(0)
    return stream


def read_filled(path: Path) -> Returned:
    """The decisions of a workbook that was filled in; cells that mean nothing are refused, all at once."""
    sheet = read_sheet(path)
    wanted = [name for name in ("code", "decision", "adjudicator", "page") if name not in sheet.header]
    if wanted:
        raise FormatError(
            f"{path}: has no column {wanted[0]!r} but {few(sheet.header)}; use the sheet as it was written"
        )
    pages = {word for word in sheet["page"] if word}
    if len(pages) != 1:
        raise FormatError(f"{path}: rows come from {len(pages)} sheets; merge each sheet by itself")
    about = unpack_about(path, pages.pop())
    people = {name for name in sheet["adjudicator"] if name}
    if len(people) != 1:
        raise FormatError(f"{path}: the column adjudicator holds {len(people)} names; write one, in any row")
    lines: dict[str, int] = {}
    calls: list[dict[str, Any]] = []
    for number, line in enumerate(sheet.lines):
        cells = {name: sheet[name][number] for name in sheet.header}
        code, decision = cells["code"], cells["decision"].strip()
        if lines.setdefault(code, line) != line:
            sheet.faults.add(line, f"the same code as in line {lines[code]}; keep one")
            continue
        calls += _calls(path, line, code, decision, cells, sheet)
    sheet.faults.raise_any()
    blank = sum(not sheet["decision"][number].strip() for number in range(len(sheet.lines)))
    notes = (f"{path.name}: {blank} rows without a decision stay open",) if blank else ()
    return Returned(path, people.pop(), "sheet", about, calls, notes, tuple(lines))


def _calls(path: Path, line: int, code: str, decision: str, cells: dict[str, str], sheet: Any) -> list[dict[str, Any]]:
    """The requests that a row stands for; the same row gives the same uuids, so that nothing is doubled."""

    def call(action: str, **body: Any) -> dict[str, Any]:
        own = uuid.uuid5(
            NAMESPACE, repr((cells["page"][-64:], cells.get("adjudicator"), code, action, sorted(body.items())))
        )
        return {"path": f"/api/items/{code}/{action}", "body": {"uuid": str(own), **body}, "utc": "", "line": line}

    calls = []
    looked = cells.get("first_look", "").strip().lower()
    if looked and looked not in ANSWERS:
        sheet.faults.add(line, f"first_look {looked!r}; it is one of {', '.join(ANSWERS)}")
    elif looked:
        calls.append(call("look", answer=looked))
    if not decision:
        return calls
    known = cells.get("letters", "").split()
    word = decision.lower().replace(" ", "_")
    if decision.upper() in known:
        choice = f"letter:{decision.upper()}"
    elif word in CHOICES and word != "drawn":
        choice = word
    else:
        words = ", ".join([*known, *(each for each in CHOICES if each != "drawn")])
        sheet.faults.add(line, f"decision {decision!r}; it is one of {words}")
        return calls
    label = cells.get("label", "").strip()
    value = label.partition(" ")[0]
    if label and not value.isdecimal():
        sheet.faults.add(line, f"label {label!r}; it is the value of a label, such as 2, or 2 and its name")
        return calls
    more = {"label": int(value)} if label else {}
    reason, comment = cells.get("reason", ""), cells.get("comment", "")
    calls.append(call("decide", choice=choice, reason=reason, comment=comment, **more))
    return calls
