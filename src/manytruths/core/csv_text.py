"""CSV text: cells that a spreadsheet shows instead of computing, and tallies.

A tally is one line of JSON that says what it is, then one row per pattern.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from .columns import Column, Unit
from .errors import FormatError, ManytruthsError
from .labels import VOID, Labels
from .tally import Counts, Rows, Tally

_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")
_COUNT = re.compile("[0-9]{1,18}")
_SIGNED = re.compile(r"""[+-](?:(?<="[+-])|(?<=[,\n][+-])(?!(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|inf)(?:[,\n]|$)))""")


def escape_cell(text: str) -> str:
    """A text such as ``=cmd`` with an apostrophe before it, which tells spreadsheets that it is text.

    Numbers stay as they are. :func:`unescape_cell` takes the apostrophe away again.

    >>> escape_cell("=A1"), escape_cell("-x"), escape_cell("-5"), escape_cell("anna"), escape_cell("'=A1")
    ("'=A1", "'-x", '-5', 'anna', "''=A1")
    """
    if not text.startswith(_STARTS) or not _FORMULA.match(text) or _NUMBER.fullmatch(text):
        return text
    return f"'{text}"


def may_need_escaping(table: str) -> bool:
    """Whether CSV text may hold a cell that :func:`escape_cell` changes; never wrong where it says no."""
    return any(sign in table for sign in "=@\t\r'") or _SIGNED.search(f"\n{table}") is not None


def unescape_cell(text: str) -> str:
    """The text that :func:`escape_cell` was given.

    >>> unescape_cell("'=A1"), unescape_cell("''=A1"), unescape_cell("'tis"), unescape_cell("-5")
    ('=A1', "'=A1", "'tis", '-5')
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


VERSION = 1


def to_csv(tally: Tally) -> str:
    """See :meth:`Tally.to_csv`."""
    out = io.StringIO()
    out.write("# " + json.dumps(_header(tally), ensure_ascii=False) + "\n")
    write = csv.writer(out, lineterminator="\n")
    write.writerow([*(escape_cell(str(c).replace("\r", "\n")) for c in tally.columns), "count"])
    text = [str(value) for value in tally.labels.values]
    text += [""] * (VOID + 1 - len(text))
    rows = zip(tally.patterns.tolist(), tally.counts.tolist(), strict=True)
    out.writelines([f"{','.join([text[code] for code in row])},{count}\n" for row, count in rows])
    return out.getvalue()


def _header(tally: Tally) -> dict[str, Any]:
    return {
        "manytruths_tally": VERSION,
        "columns": [[c.name, c.role, c.session, *filter(None, [c.left_out])] for c in tally.columns],
        "labels": [list(tally.labels.values), list(tally.labels.names), list(tally.labels.numbers)],
        **({} if tally.labels.zero_is_background else {"background": "none"}),
        "region": tally.region,
        "unit": [tally.unit.size, tally.unit.name] if tally.unit else None,
        "exchangeable": tally.exchangeable,
    }


def from_csv(text: str) -> Tally:
    """See :meth:`Tally.from_csv`."""
    first, _, rest = text.partition("\n")
    try:
        head = json.loads(first.removeprefix("# "))
        if head["manytruths_tally"] != VERSION:
            raise FormatError(f"a tally of version {head['manytruths_tally']}; this release reads version {VERSION}")
        columns = tuple(Column(*c) for c in head["columns"])
        values, names, numbers = map(tuple, head["labels"])
        labels = Labels(values, names, numbers, zero_is_background=head.get("background") != "none")
        unit = Unit(*head["unit"]) if head["unit"] else None
        rows, counts = _parse_rows(rest, columns, labels)
        return Tally(columns, labels, rows, counts, head["region"], unit, head["exchangeable"])
    except ManytruthsError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, csv.Error) as error:
        raise FormatError(
            f"not a tally written by manytruths: {error}; the first line must be '# {{\"manytruths_tally\": 1, …}}'"
        ) from None


def _parse_rows(text: str, columns: tuple[Column, ...], labels: Labels) -> tuple[Rows, Counts]:
    code = {str(v): c for c, v in enumerate(labels.values)} | {"": VOID}
    cells, counts = bytearray(), list[int]()
    for number, line in enumerate(csv.reader(_lines(text)), start=2):
        if number == 2:
            continue  # the header
        if (
            len(line) != len(columns) + 1
            or not all(map(code.__contains__, line[:-1]))
            or not _COUNT.fullmatch(line[-1])
        ):
            raise FormatError(
                f"line {number} of the tally: needs {len(columns)} labels of {', '.join(code)[:60]} and a count; "
                f"got {','.join(line)[:80]!r}"
            )
        cells.extend(map(code.__getitem__, line[:-1]))
        counts.append(int(line[-1]))
    return np.frombuffer(cells, np.uint8).reshape(-1, len(columns)), np.array(counts, np.int64)


def _lines(text: str) -> Iterator[str]:
    """The lines one after another: a table may be large."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end
