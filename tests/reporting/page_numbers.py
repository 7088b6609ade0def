"""Every number of a page with its address, held against the tables beside the page."""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

EMPTY = ("meta", "img", "input", "br", "path", "line", "rect", "circle")


@dataclass
class Number:
    """A number as it is shown, with what the page says of it."""

    tag: str
    at: str
    value: str
    low: str
    high: str
    place: tuple[str, ...]
    """Elements it stands in, with their classes and names."""
    shown: str = ""


@dataclass
class Numbers(HTMLParser):
    """All numbers with an address, and the figures of tables without."""

    html: str
    found: list[Number] = field(default_factory=list)
    figures: list[Number] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, str, Number | None]] = []
        self.feed(self.html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in EMPTY:
            return
        own = {name: value or "" for name, value in attrs}
        name = " ".join([tag, own.get("class", ""), own.get("id", "")])
        place = tuple(entry for _, entry, _ in self.open)
        value = own.get("value" if tag == "data" else "data-v", "")
        made = Number(tag, own.get("data-at", ""), value, own.get("data-low", ""), own.get("data-high", ""), place)
        if made.at:
            self.found.append(made)
        elif "figure" in own.get("class", "").split() and tag == "td":
            self.figures.append(made)
        beneath = "below" in own.get("class", "").split()
        self.open.append((tag, name, None if beneath else made))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            continue

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1][2] is None:
            return  # what is said beneath a number
        for _, _, made in self.open:
            if made is not None:
                made.shown += data


@cache
def addresses(folder: Path) -> dict[str, list[dict[str, str]]]:
    """The lines of every table by their address: the file, and the cells before the value."""
    found: dict[str, list[dict[str, str]]] = {}
    for path in sorted(folder.glob("*/*.csv")):
        with open(path, newline="", encoding="utf-8") as stream:
            head, *lines = csv.reader(stream)
        if "value" not in head:
            continue
        for line in lines:
            text = io.StringIO()
            csv.writer(text, lineterminator="").writerow(line[: head.index("value")])
            found.setdefault(f"{path.relative_to(folder).as_posix()}#{text.getvalue()}", []).append(
                dict(zip(head, line, strict=True))
            )
    return found


def held_against(page: Path, folder: Path) -> list[Number]:
    """All numbers with an address, after each was found to be that of its line, and shown as it rounds."""
    lines = addresses(folder)
    seen = Numbers(page.read_text(encoding="utf-8"))
    for number in seen.found:
        assert len(lines.get(number.at, ())) == 1, f"{number}: {len(lines.get(number.at, ()))} lines"
        [line] = lines[number.at]
        assert number.value == line["value"], (number, line)
        if number.low or number.high:
            assert (number.low, number.high) == (line["low"], line["high"]), (number, line)
        assert fits(number), number
    for figure in seen.figures:
        assert not figure.value, f"{figure}: all digits, but not where they are from"
    return seen.found


def fits(number: Number) -> bool:
    """Whether what is shown is the rounded value, with the rounded interval where it has one."""
    shown = number.shown.strip()
    if ends := re.fullmatch(r"(\S+) to (\S+?)( percentage points)?", shown):
        scale = 100 if ends[3] else 1
        return rounds(ends[1], scale * float(number.low)) and rounds(ends[2], scale * float(number.high))
    if not math.isfinite(float(number.value)):
        return not re.search(r"\d|nan|inf", shown)
    value, _, around = shown.partition(" (")
    if not rounds(value, float(number.value)):
        return False
    if not number.low:
        return not around
    ends = re.fullmatch(r"(?:95% \D*? )?(\S+?)(?:–| to )(\S+)\)", around)
    return bool(ends) and rounds(ends[1], float(number.low)) and rounds(ends[2], float(number.high))


def rounds(text: str, value: float) -> bool:
    """Whether the text is the value at the text's digits; a number near 0 or 1 may be said to be beyond a limit."""
    if text.startswith("< "):
        return 0 <= value < float(text[2:])
    if text.startswith("> "):
        return float(text[2:]) < value <= 1
    text = text.removeprefix("= ").removeprefix("×")
    found = re.fullmatch(r"(−?)(\d+)(?:\.(\d+))?(%?)", text)
    if not found:
        return False
    digits = len(found[3] or "")
    written = f"{value * (100 if found[4] else 1):.{digits}f}"
    exact = f"{value:.{digits}%}" if found[4] else written
    return text in {signed(exact), signed(written)}


def signed(text: str) -> str:
    """A minus sign for a hyphen; none before zeros."""
    return text.replace("-", "−" if re.search("[1-9]", text) else "")
