"""Files made to hurt, and files that were hurt: one line each, within bounds, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from manytruths import Grid, InputError
from manytruths.exchange.cvat import read_cvat
from manytruths.exchange.outlines import Ellipse, Line, Polygon
from manytruths.exchange.readings import Mark, Reading
from manytruths.io import documents
from manytruths.shape import polygons

HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'


def export(path: Path, inside: str, size: str = 'width="20" height="16"') -> Path:
    path.write_text(f'{HEAD}<annotations><image id="0" name="p01.png" {size}>{inside}</image></annotations>', "utf-8")
    return path


def refused(path: Path, *said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_cvat(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    for part in said:
        assert part in message, message


def polygon(points: str) -> str:
    return f'<polygon label="a" points="{points}"></polygon>'


def mask(rle: str, left: str = "0", top: str = "0", width: str = "3", height: str = "3") -> str:
    return f'<mask label="a" rle="{rle}" left="{left}" top="{top}" width="{width}" height="{height}"></mask>'


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (polygon("1,1;2,2"), "polygon 1: has 2 points"),
        (polygon("1,1;2,nan;3,3"), "not finite"),
        (polygon("1,1;2,inf;3,3"), "not finite"),
        (polygon("1,1;2,1e308;3,3"), "not finite"),
        (polygon("1,1;2;3,3"), "one of its points is '2'"),
        (polygon("1,1;2,x;3,3"), "not a number"),
        (polygon("1,1,1;2,2,2;3,3,3"), "not x,y"),
        (polygon(""), "one of its points is ''"),
        (polygon(";".join(["1,2"] * 1_000_000)), "1000000 points"),
        ('<polygon label="a"></polygon>', "has no 'points'"),
        ('<polygon points="1,1;2,2;3,1"></polygon>', "has no 'label'"),
        ('<polygon label="a" points="1,1;9,2;3,9" z_order="top"></polygon>', "z_order is 'top'"),
        ('<polygon label="a" points="1,1;9,2;3,9" z_order="99999999999"></polygon>', "z_order"),
        ('<polygon label="a" points="1,1;9,2;3,9" group_id="g&#10;h"></polygon>', "group_id"),
        ('<polygon label="a" points="1,1;9,2;3,9"><attribute>x</attribute></polygon>', "has no 'name'"),
        (mask("5"), "hold 5 pixels, and its frame 9"),
        (mask("5, 5"), "hold 10 pixels, and its frame 9"),
        (mask("-1, 10"), "a run of -1"),
        (mask("0, 99999999999999999999999"), "a run of"),
        (mask(", ".join(["1"] * 50_000)), "hold more pixels"),
        (mask("1.5, 7.5"), "not whole numbers"),
        (mask(""), "not whole numbers"),
        (mask("4, 5,"), "not whole numbers"),
        (mask("3600000000", width="60000", height="60000"), "60000 × 60000 pixels and the image 20 × 16"),
        (mask("0", width="0", height="3"), "0 × 3"),
        (mask("9", left="nan"), "left is 'nan'"),
        (mask("9", top="99999999999999"), "top is"),
        ('<box label="a" xtl="nan" ytl="0" xbr="3" ybr="3"></box>', "coordinate nan"),
        ('<box label="a" xtl="0" ytl="0" xbr="3"></box>', "has no 'ybr'"),
        ('<box label="a" xtl="0" ytl="0" xbr="3" ybr="3" rotation="inf"></box>', "inf"),
        ('<ellipse label="a" cx="5" cy="5" rx="-1" ry="2"></ellipse>', "half axes -1 and 2"),
        ('<ellipse label="a" cx="5" cy="5" rx="1e300" ry="2"></ellipse>', "1e+300"),
        ('<ellipse label="a" cx="" cy="5" rx="1" ry="2"></ellipse>', "cx is ''"),
    ],
)
def test_shapes(tmp_path, shape, said):
    refused(export(tmp_path / "a.xml", shape), "image 1 ('p01.png')", said)


@pytest.mark.parametrize(
    "size",
    [
        'width="1000000" height="1000000"',
        'width="0" height="5"',
        'width="-3" height="5"',
        'width="nan" height="5"',
        'width="1e999" height="5"',
        'width="65536" height="65536"',
        'width="3.5" height="5"',
        'width="" height="5"',
        'height="5"',
    ],
)
def test_sizes_that_lie(tmp_path, size):
    refused(export(tmp_path / "a.xml", "", size), "image 1")


@pytest.mark.parametrize("name", ["../p.png", "a/../../p.png", "..\\p.png", "", " ", "../&#10;x"])
def test_names_that_lead_away(tmp_path, name):
    path = tmp_path / "a.xml"
    path.write_text(f'<annotations><image id="0" name="{name}" width="3" height="3"/></annotations>')
    refused(path, "image 1")


BOMB = """<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]>"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{HEAD}{BOMB}<annotations><version>&c;</version></annotations>", "declares"),
        (f'{HEAD}<!DOCTYPE a SYSTEM "file:///etc/passwd"><annotations/>', "declares"),
        (f'{HEAD}<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><annotations>&x;</annotations>', "declares"),
        (f"{HEAD}<annotations><version>&x;</version></annotations>", "undefined entity"),
        (f"{HEAD}<annotations/>", "no image"),
        (f"{HEAD}<annotations><version>1.1</version><meta></meta></annotations>", "no image"),
        (f"{HEAD}<annotations><version>2.0</version></annotations>", "version '2.0'"),
        (f'{HEAD}<annotations><track id="0" label="a"></track></annotations>', "'CVAT for images 1.1'"),
        (f"{HEAD}<annotation><folder>voc</folder></annotation>", "starts with <annotation>"),
        (f"{HEAD}<annotations><image id='0' name='a' width='3' height='3'>{'<a>' * 100}", "nested too deeply"),
        ('<?xml version="1.0" encoding="klingon"?><annotations/>', "klingon"),
        ("", "is damaged"),
        ("{}", "is damaged"),
        ("<annotations>", "is damaged"),
        ("\0\0\0\0", "is damaged"),
    ],
)
def test_documents(tmp_path, text, said):
    path = tmp_path / "a.xml"
    path.write_text(text)
    refused(path, said)


@pytest.mark.parametrize("ending", [".xml", ".zip"])
def test_truncated_anywhere(tmp_path, ending):
    whole = export(tmp_path / "annotations.xml", polygon("1,1;9,2;3,9")).read_bytes()
    if ending == ".zip":
        with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(tmp_path / "annotations.xml", "annotations.xml")
        whole = (tmp_path / "a.zip").read_bytes()
    path = tmp_path / f"b{ending}"
    for length in range(len(whole) - 1):
        path.write_bytes(whole[:length])
        refused(path)


# -- archives ----------------------------------------------------------------------------------------


def test_archives_with_none_or_two(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.txt", "x")
    refused(path, "holds 0 files called annotations.xml")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/annotations.xml", "<annotations/>")
        archive.writestr("b/annotations.xml", "<annotations/>")
    refused(path, "holds 2 files")


def test_archives_that_unpack_block_by_block_are_refused(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("annotations.xml", "<annotations/>")
    refused(path, "compressed by an unsupported method")


def test_an_archive_with_a_password(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("annotations.xml", "<annotations/>")
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    refused(path, "password")


BOUNDED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from manytruths.core.errors import InputError
from manytruths.exchange.cvat import read_cvat
try:
    read_cvat(sys.argv[1])
except InputError as error:
    print(error)
"""


def within_a_gigabyte(path: Path) -> str:
    """What reading says, if anything, in a process that cannot have more memory."""
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", BOUNDED, str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        env=threads,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.splitlines()) <= 1
    return ran.stdout


IMAGE = '<image id="0" name="p.png" width="20" height="16">'
UNPACKED = 200 << 20
"""Bytes, of which each kind of bomb needs fewer to go off."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "again", "said"),
    [
        ("<annotations>", " ", "element of more than 64 MB"),
        ("<annotations><!--", "-", "damaged"),
        ("<annotations>", '<image id="0" name="p.png" width="9" height="9"/>', "more than fits into memory"),
        ("<annotations>", f'{IMAGE}<tag label="a"/><box label="a" xtl="0" ytl="0" xbr="1" ybr="1"/></image>', "memory"),
        (f"<annotations>{IMAGE}", "<a/>", "more than 524288 others"),
        (f"<annotations>{IMAGE}<box><attribute>", "text", "a text of more than 1 MB"),
        (f'<annotations>{IMAGE}<polygon label="a" points="', "1,1;", "element of more than 64 MB"),
        ("<annotations>", f"{IMAGE}{polygon('1,1;2,2;3,1' + ';1,1' * 90000)}</image>", "memory"),
    ],
)
def test_archives_that_unpack_to_too_much(tmp_path, before, again, said):
    path, chunk = tmp_path / "bomb.zip", (again * (1 + (1 << 20) // len(again))).encode()
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("annotations.xml", "w") as stream,
    ):
        stream.write(before.encode())
        for _ in range(UNPACKED // len(chunk) + 2):
            stream.write(chunk)
    assert said in within_a_gigabyte(path)


@pytest.mark.slow
def test_run_lengths_of_60_megabytes(tmp_path):
    runs = 30_000_000
    rle = "1," * runs + str(8192**2 - runs)
    path = export(tmp_path / "a.xml", mask(rle, width="8192", height="8192"), 'width="8192" height="8192"')
    assert within_a_gigabyte(path) == ""


def test_a_zip_that_lies_about_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "LARGEST_XML", 1000)
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("annotations.xml", "<annotations>" + " " * 5000)
    refused(path, "unpacks to more than an export can hold")


# -- what is drawn -----------------------------------------------------------------------------------


def test_edges_are_held_band_by_band(monkeypatch):
    """A zigzag of n edges over h rows has n × h crossings: too many to hold at once."""
    chance = np.random.default_rng(3)
    rings = [chance.integers(-4, 60, (40, 2)) / 2 for _ in range(3)]
    whole = {rule: Polygon.of(rings, rule).pixels((30, 25))[1] for rule in ("centre", "inclusive")}
    monkeypatch.setattr(polygons, "MAX_CROSSINGS", 400)
    for rule, mask_ in whole.items():
        assert (Polygon.of(rings, rule).pixels((30, 25))[1] == mask_).all()


DRAWN = """
import resource
from manytruths.exchange.outlines import Ellipse, Line, Polygon
resource.setrlimit(resource.RLIMIT_AS, (1200 << 20, 1200 << 20))
print({outline}.pixels({shape})[1].sum())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("outline", "shape"),
    [
        (Ellipse(8192, 8192, 9000, 8000, 30), (16384, 16384)),
        ("Line.of([(0, 0), (16384, 16384)], 900)", (16384, 16384)),
        ("Polygon.of([[(k % 2 * 2000, k % 3 * 2000) for k in range(20_000)]])", (2000, 2000)),
    ],
)
def test_drawing_stays_within_a_gigabyte(outline, shape):
    code = DRAWN.format(outline=outline, shape=shape)
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        env={"OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) >= 0


def test_lines_band_by_band():
    """The distance to a stretch, whatever rows are held together."""
    _, near = Line.of([(100, 100), (397, 2096)], 40).pixels((2200, 700))
    assert abs(near.sum() - (np.hypot(297, 1996) * 40 + np.pi * 400)) < 100
    whole = Reading("", "", Grid((2200, 700)), (Mark("a", Line.of([(100, 100), (397, 2096)], 40)),)).structures()["a"]
    rows, columns = np.nonzero(whole)
    x, y = columns + 0.5 - 100, rows + 0.5 - 100
    along = np.clip((x * 297 + y * 1996) / (297**2 + 1996**2), 0, 1)
    assert np.hypot(x - along * 297, y - along * 1996).max() <= 20
