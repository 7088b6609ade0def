"""Workbooks and Parquet files that would take minutes and gigabytes."""

from __future__ import annotations

import contextlib
import resource
import subprocess
import sys
import time
import zipfile

import numpy as np
import openpyxl
import pyarrow
import pytest
from pyarrow import parquet

from manytruths import FormatError, read_ratings
from manytruths.io.sheets import LARGEST_REST, LARGEST_SHEET
from manytruths.ratings.tables import open_ratings


def workbook(path, cells=()):
    book = openpyxl.Workbook()
    for row in (["case", "A", "B"], ["p1", "x", "y"], ["p2", "x", "x"]):
        book.active.append(row)
    for place, value in cells:
        book.active[place] = value
    book.save(path)
    return path


def swapped(path, member, data):
    """A workbook with another file in it."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, own in {**files, member: data}.items():
            archive.writestr(name, own)
    return path


@pytest.fixture
def bounded():
    """Fail where it takes long."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < 10


def test_one_cell_in_the_last_corner(tmp_path):
    """In seconds, and in less memory than its row and column would take as a table."""
    path = workbook(tmp_path / "r.xlsx", [("XFD1048576", "far")])
    code = f"import manytruths as mt; mt.read_ratings({str(path)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)),
    )
    told = "r.xlsx, line 1048576: column 16384 holds 'far' and has no name; name it in line 1, or empty the cell"
    assert told in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(("corner", "what"), [("XFD1", "raters"), ("A1048576", "cases")])
def test_a_name_far_away_is_found(tmp_path, corner, what, bounded):
    found = read_ratings(workbook(tmp_path / "r.xlsx", [(corner, "far")]))
    assert getattr(found, what)[-1] == "far"


def test_a_blank_cell_far_away_is_nothing(tmp_path, bounded):
    path = workbook(tmp_path / "r.xlsx", [("XFD1048576", " ")])
    assert read_ratings(path).cases == ("p1", "p2")


def test_cells_as_they_were_read_before(tmp_path):
    cells = [("C2", "#N/A"), ("A5", "p3"), ("B5", 1.0), ("C5", True)]
    path = workbook(tmp_path / "r.xlsx", cells)
    found = open_ratings(path)
    assert found.ratings.cases == ("p1", "p2", "p3")
    assert set(found.ratings.labels) == {"x", "1", "True"}


def test_packed_bombs(tmp_path, bounded):
    for member, size in (("xl/worksheets/sheet1.xml", LARGEST_SHEET), ("xl/sharedStrings.xml", LARGEST_REST)):
        path = tmp_path / "r.xlsx"
        workbook(path)
        with zipfile.ZipFile(path) as archive:
            names = {name: archive.read(name) for name in archive.namelist() if name != member}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, own in names.items():
                archive.writestr(name, own)
            with archive.open(member, "w") as stream:
                for _ in range((size >> 20) + 1):
                    stream.write(b" " * (1 << 20))
        with pytest.raises(
            FormatError, match=r"r\.xlsx: holds \d+ MB once it is decompressed, more than a table of ratings has"
        ):
            read_ratings(path)


def test_wide_rows_without_end(tmp_path, bounded):
    head = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    row = '<row r="{0}"><c r="A{0}" t="inlineStr"><is><t>x</t></is></c><c r="XFD{0}"><v>1</v></c></row>'
    body = "".join(row.format(number) for number in range(1, 4000))
    path = swapped(workbook(tmp_path / "r.xlsx"), "xl/worksheets/sheet1.xml", f"{head}{body}</sheetData></worksheet>")
    with pytest.raises(FormatError, match=r"more than 16,777,216 cells in 1,025 lines"):
        read_ratings(path)


def test_parquet_with_more_rows_than_anybody_rated(tmp_path, bounded):
    column = pyarrow.DictionaryArray.from_arrays(np.zeros(6_000_000, np.int8), ["x"])
    parquet.write_table(pyarrow.table(dict.fromkeys(("case", "A", "B"), column)), tmp_path / "r.parquet")
    with pytest.raises(FormatError, match=r"holds 6,000,000 rows of 3 columns, more than a table of ratings has"):
        read_ratings(tmp_path / "r.parquet")


@pytest.mark.parametrize("name", ["r.parquet", "r.xlsx"])
def test_mutated_files_are_refused_or_read(tmp_path, name):
    """Whatever a library raises is one line of ours."""
    if name == "r.xlsx":
        workbook(tmp_path / name)
    else:
        parquet.write_table(pyarrow.table({"case": ["p1", "p2"], "A": ["x", "y"], "B": ["x", "x"]}), tmp_path / name)
    good, random = (tmp_path / name).read_bytes(), np.random.default_rng(0)
    for _ in range(60):
        data = bytearray(good)
        for at in random.integers(len(data), size=random.integers(1, 8)):
            data[at] = random.integers(256)
        (tmp_path / name).write_bytes(data[: random.integers(len(data) // 2, len(data) + 1)])
        with contextlib.suppress(FormatError):
            read_ratings(tmp_path / name)
