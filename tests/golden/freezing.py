"""What a command wrote, as values: tables by column, maps by digest, pages by the numbers that they quote."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import lzma
import math
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

Entry = dict[str, Any]

ROWS = 40_000
"""A table with more rows is kept as digests, with its first rows."""
FIRST = 200
NUMBERS = 64
"""A list of more numbers in JSON is kept as a digest."""
LETTERS = 300
"""A longer word (image data, coordinates) likewise."""
UNKNOWN = {"run.json"}
NOT_NUMBERS = {".svg", ".txt", ".md", ".js", ".jsonl", ".webp"}
PROSE = {"reason", "note", "notes", "message", "detail", "remark", "answers", "title", "description", "warning"}
CLAIM_PROSE = PROSE | {"text", "why_not"}
"""Of a table of claims: sentences quote numbers that stand in other tables, and in its column of numbers."""
KEYS = (
    "claim", "about",
    "scope", "case", "group", "label", "region", "session", "subject", "frame", "who", "role", "code", "kind",
    "what", "severity", "topic", "scheme", "between", "a", "b", "method", "method_a", "method_b", "algorithm",
    "algorithm_a", "algorithm_b", "rater", "rater_a", "rater_b", "raters", "rater_accuracy", "relation",
    "based_on", "step", "label_a", "label_b", "feature", "source", "confidence", "grader", "grader_b", "lesion",
    "against", "metric", "truth", "threshold", "name", "old", "new", "split", "fold", "id", "statistic", "at",
    "grade", "order", "size", "scale", "unit", "reference", "by", "of", "group_a", "group_b", "why", "measure", "since",
    "compared_with", "population", "modality_a", "modality_b", "response",
)  # fmt: skip
"""Columns that say what a row is about, where a table has them. What is left over tells rows apart by their order."""


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:24]


def digest(array: Any) -> str:
    """Values, shape and type of an array."""
    array = np.asarray(array)
    plain = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
    return f"{'x'.join(map(str, array.shape))} {array.dtype.newbyteorder('=')} {sha(plain.tobytes())}"


def freeze(folder: Path, places: dict[str, str]) -> dict[str, Entry]:
    """All results in a folder by their path in it; places are paths, with what stands for them."""
    found: dict[str, Entry] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        if path.name in UNKNOWN or path.suffix in NOT_NUMBERS or re.search(r"(^|/)fuse/cases/", name):
            continue
        found |= {name + more: entry for more, entry in _entries(path, places).items()}
    for name in [n for n in found if n.endswith("summary.json")]:
        _without_repetition(found, name)
    return found


def _entries(path: Path, places: dict[str, str]) -> dict[str, Entry]:
    ending = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    if ending in {".csv", ".tsv"}:
        return {"": table(_text(path, places), "\t" if ending == ".tsv" else ",")}
    if ending == ".json":
        return {"": {"json": shortened(json.loads(_text(path, places)))}}
    if ending == ".toml":
        return {"": {"json": shortened(tomllib.loads(_text(path, places)))}}
    if ending == ".xml":
        return {"": {"json": shortened(_branch(ElementTree.fromstring(_text(path, places))))}}
    if ending == ".html":
        return page(_text(path, places))
    if ending == ".npz":
        with np.load(path) as arrays:
            return {f"[{name}]": {"map": digest(arrays[name])} for name in sorted(arrays)}
    return {"": {"map": digest(decoded(path, ending))}}


def _text(path: Path, places: dict[str, str]) -> str:
    text = path.read_text(encoding="utf-8-sig")
    for place, name in places.items():
        text = text.replace(place, name)
    return text


def decoded(path: Path, ending: str) -> Any:
    """The array of a file, read without the package."""
    if ending == ".npy":
        return np.load(path)
    if ending in {".nii", ".nii.gz"}:
        import nibabel

        return np.asanyarray(nibabel.load(path).dataobj)
    if ending == ".nrrd":
        import nrrd

        return nrrd.read(str(path))[0]
    if ending in {".tif", ".tiff"}:
        import tifffile

        return tifffile.imread(path)
    if ending in {".png", ".jpg", ".jpeg", ".bmp"}:
        from PIL import Image

        with Image.open(path) as image:
            return np.asarray(image)
    if ending == ".dcm":
        import pydicom

        return pydicom.dcmread(path).pixel_array
    content = gzip.decompress(path.read_bytes()) if ending.endswith(".gz") else path.read_bytes()
    return np.frombuffer(content, np.uint8)


# -- tables --------------------------------------------------------------------------------------


def table(text: str, delimiter: str = ",") -> Entry:
    head, *lines = list(csv.reader(io.StringIO(text), delimiter=delimiter)) or [[]]
    return of_columns({name: [line[i] if i < len(line) else "" for line in lines] for i, name in enumerate(head)})


def of_columns(columns: dict[str, list[str]]) -> Entry:
    """A table as it is kept: cells as they are written."""
    return {"table": columns}


def prose_of(columns: dict[str, list[str]]) -> set[str]:
    """The columns of a table that hold sentences."""
    return CLAIM_PROSE if "claim" in columns else PROSE


def shrunk(columns: dict[str, list[str]]) -> Entry:
    """The same of a long table: a digest of each column and statistic, and the first rows."""
    rows = len(next(iter(columns.values()), []))
    kinds = columns.get("statistic") or [""] * rows
    # beside a reason, a code says why a value is undefined, not what the row is about
    keys = [name for name in KEYS if name in columns and (name != "code" or "reason" not in columns)]
    order = sorted(range(rows), key=lambda i: [short(columns[name][i]) for name in keys])
    digests: dict[str, dict[str, str]] = {}
    prose = prose_of(columns)
    for name, cells in columns.items():
        by_kind: dict[str, list[str]] = {}
        for i in order:
            by_kind.setdefault(kinds[i], []).append(str(bool(cells[i])) if name in prose else short(cells[i]))
        digests[name] = {kind: sha("\n".join(found).encode()) for kind, found in sorted(by_kind.items())}
    return {"long": {"rows": rows, "digests": digests, "first": {n: c[:FIRST] for n, c in columns.items()}}}


def short(cell: str) -> str:
    """A cell with 8 digits, if it is a number."""
    number = as_number(cell)
    return cell if number is None or "_" in cell else f"{number + 0.0:.8g}"


def as_number(cell: Any) -> float | None:
    if isinstance(cell, bool) or cell is None:
        return None
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


# -- JSON ----------------------------------------------------------------------------------------


def shortened(value: Any) -> Any:
    """JSON with a digest in place of long lists of numbers and of long words."""
    if isinstance(value, dict):
        return {str(k): shortened(v) for k, v in value.items()}
    if isinstance(value, list):
        if len(value) > NUMBERS and all(isinstance(v, int | float) for v in value):
            return f"{len(value)} numbers {sha(' '.join(f'{v:.8g}' for v in value).encode())}"
        return [shortened(v) for v in value]
    if isinstance(value, str) and len(value) > LETTERS and value.count(" ") < len(value) / 40:
        return f"{len(value)} letters {sha(value.encode())}"
    return value


def _branch(node: ElementTree.Element) -> dict[str, Any]:
    own: dict[str, Any] = {"tag": node.tag, **node.attrib}
    if (node.text or "").strip():
        own["text"] = node.text
    if len(node):
        own["inside"] = [_branch(child) for child in node]
    return own


def _without_repetition(found: dict[str, Entry], name: str) -> None:
    """Tables of a summary that are those of the files beside it are not kept twice; versions and files not at all."""
    summary = found[name]["json"]
    for key in ("manytruths", "files"):
        summary.pop(key, None)
    for key, rows in summary.pop("tables", {}).items():
        beside = found.get(name.removesuffix("summary.json") + f"{key}.csv", {}).get("table")
        columns = {c: [_cell(row.get(c)) for row in rows] for c in (rows[0] if rows else {})}
        same = beside is not None and _same(beside, columns)
        summary[f"table {key}"] = f"{len(rows)} rows, as in {key}.csv" if same else f"{len(rows)} rows"
        if not same:
            found[f"{name}[{key}]"] = of_columns(columns)


def _cell(value: Any) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _same(a: dict[str, list[str]], b: dict[str, list[str]]) -> bool:
    if not any(a.values()) and not any(b.values()):
        return True
    return list(a) == list(b) and all(
        len(a[c]) == len(b[c]) and all(_plain(x) == _plain(y) for x, y in zip(a[c], b[c], strict=True)) for c in a
    )


def _plain(cell: str) -> str:
    number = as_number(cell)
    return cell.removeprefix("'") if number is None else "" if math.isnan(number) else repr(number)


# -- pages ---------------------------------------------------------------------------------------


class _Page(HTMLParser):
    """Numbers with the address of their row, and JSON that the page holds."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.numbers: list[tuple[str, str, str, str]] = []
        self.held: dict[str, str] = {}
        self._inside: str | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {name: value or "" for name, value in attrs}
        if own.get("data-at"):
            value = own.get("value", own.get("data-v", ""))
            self.numbers.append((own["data-at"], value, own.get("data-low", ""), own.get("data-high", "")))
        self._inside = own.get("id", "") if (tag, own.get("type")) == ("script", "application/json") else None

    def handle_data(self, data: str) -> None:
        if self._inside is not None:
            self.held[self._inside] = self.held.get(self._inside, "") + data

    def handle_endtag(self, tag: str) -> None:
        self._inside = None


def page(html: str) -> dict[str, Entry]:
    """The numbers of a page, each address once, how often it is quoted, and what the viewer shows without images."""
    seen = _Page(html)
    counts: dict[tuple[str, str, str, str], int] = {}
    for number in seen.numbers:
        counts[number] = counts.get(number, 0) + 1
    columns = {name: [n[i] for n in counts] for i, name in enumerate(("at", "value", "low", "high"))}
    found = {"[numbers]": of_columns({**columns, "times": [str(n) for n in counts.values()]})}
    for name, held in seen.held.items():
        view = json.loads(held)
        if isinstance(view, dict):
            view.pop("image", None)
        found[f"[{name}]"] = {"map": sha(json.dumps(view, sort_keys=True).encode())}
    return found


# -- files ---------------------------------------------------------------------------------------


def keep(path: Path, values: dict[str, dict[str, Entry]]) -> None:
    """Write what was frozen of one study."""
    kept = {command: {name: _kept(entry) for name, entry in files.items()} for command, files in values.items()}
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def _kept(entry: Entry) -> Entry:
    columns = entry.get("table")
    return shrunk(columns) if columns and len(next(iter(columns.values()))) > ROWS else entry


def kept(path: Path) -> dict[str, dict[str, Entry]]:
    return json.loads(lzma.decompress(path.read_bytes()))
