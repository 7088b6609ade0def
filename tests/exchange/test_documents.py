"""Nothing is expanded, fetched or unpacked beyond what an honest file needs."""

import io
import tracemalloc
import zipfile

import pytest

from manytruths import CallError, FormatError, InputError
from manytruths.exchange.documents import copy_picture, find_sources, image_grid
from manytruths.exchange.readings import Stored
from manytruths.io import documents
from manytruths.io.documents import error_context, open_archive_or_file, read_elements, read_json

BOMB = (
    '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + k)} "{f"&{chr(97 + k)};" * 10}">' for k in range(9))
    + "]><r><x>&j;</x></r>"
)
OUTSIDE = '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><r><x>&a;</x></r>'


def parsed(text, wanted=("x",), root="r"):
    return list(read_elements(io.BytesIO(text.encode()), set(wanted), root))


def test_elements_under_the_root():
    first, second = parsed('<r><y><x i="0"/></y><x i="1">a<z k="v">deep</z>b</x><x i="2"/></r>')
    assert (first.get("i"), first.text, first.text_at("z"), second.get("i")) == ("1", "ab", "deep", "2")
    with pytest.raises(FormatError, match="<x> has no 'j'"):
        first.get("j")


@pytest.mark.parametrize("text", [BOMB, OUTSIDE, "<!DOCTYPE r><r/>", '<!DOCTYPE r SYSTEM "http://x/y.dtd"><r/>'])
def test_document_types_and_entities(text):
    with pytest.raises(FormatError, match="declares a document type or entities"):
        parsed(text)


@pytest.mark.parametrize("text", ["", "<r>", "<r><x></r>", "no xml", "<q/>", "<r>" + "<x>" * 80, "\x00"])
def test_what_is_no_such_xml(text):
    with pytest.raises(FormatError), error_context("file"):
        parsed(text)


def test_large_files_are_read_piece_by_piece():
    row = b'<x points="' + b"1.5,2.5;" * 1000 + b'"/>'
    stream = io.BytesIO(b"<r>" + row * 4000 + b"</r>")
    tracemalloc.start()
    count = sum(1 for _ in read_elements(stream, {"x"}, "r"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 4000
    assert peak < 10e6


def test_archives_that_unpack_to_more_than_they_should(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "LARGEST_XML", 1 << 20)
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("annotations.xml", b"<annotations>" + b" " * (2 << 20))
        archive.writestr("images/p01.png", b"\0" * (2 << 20))
    with (
        pytest.raises(FormatError, match="unpacks to more"),
        open_archive_or_file(path, "annotations.xml") as (stream, _),
    ):
        list(read_elements(stream, {"image"}, "annotations"))
    with pytest.raises(FormatError, match="unpacks to more"):
        copy_picture(Stored(path, "images/p01.png"), tmp_path / "out.png")


def test_archives_without_the_file(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.xml", b"<a/>")
    with (
        pytest.raises(FormatError, match=r"holds 0 files called annotations\.xml"),
        open_archive_or_file(path, "annotations.xml"),
    ):
        pass


def test_json(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_text('{"a": [1, 2]}')
    assert read_json(path, dict) == {"a": [1, 2]}
    for text in ("", "{", "[1, 2]", "nan", "[" * 100_000):
        path.write_text(text)
        with pytest.raises(FormatError, match=r"a\.json"):
            read_json(path, dict)
    monkeypatch.setattr(documents, "LARGEST_TEXT", 10)
    path.write_text('{"a": [1, 2, 3, 4]}')
    with pytest.raises(FormatError, match="export it in parts"):
        read_json(path, dict)
    with pytest.raises(FormatError, match="there is no such file; correct the path"):
        read_json(tmp_path / "none.json", dict)


@pytest.mark.parametrize(
    "size",
    [
        (0, 5),
        (-1, 5),
        (5, "x"),
        (None, 5),
        (1.5, 5),
        (float("nan"), 5),
        (1 << 40, 1),
        (40000, 40000),
        (float("inf"), 1),
    ],
)
def test_sizes_that_lie(size):
    with pytest.raises(InputError, match="the size of the image is"):
        image_grid(*size)


def test_sizes(tmp_path):
    assert image_grid("30", 20.0).shape == (20, 30)


def test_which_files(tmp_path):
    for name in ("a/anna.xml", "a/ben.xml", "a/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    home = tmp_path / "a"
    assert [one.rater() for one in find_sources([home], [".xml"])] == ["anna", "ben"]
    assert [one.rater("found") for one in find_sources([f"{home}/{{rater}}.xml"], [".xml"])] == ["anna", "ben"]
    assert [one.rater("found") for one in find_sources([f"Dr. A={home}/anna.xml"], [".xml"])] == ["Dr. A"]
    assert [one.rater("found") for one in find_sources([home / "ben.xml"], [".xml"])] == ["found"]
    with pytest.raises(FormatError, match="no such file"):
        find_sources([home / "eva.xml"], [".xml"])
    with pytest.raises(FormatError, match=r"holds no file that ends in \.json"):
        find_sources([home], [".json"])
    with pytest.raises(CallError, match="named twice"):
        find_sources([home, home / "ben.xml"], [".xml"])
    with pytest.raises(CallError, match="no files given"):
        find_sources([], [".xml"])


@pytest.mark.slow
@pytest.mark.parametrize("count", [200, 70_000])  # more than 65,535 are described by another record
def test_archives_with_too_long_a_list(count, tmp_path, monkeypatch):
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("annotations.xml", b"<annotations/>")
        for k in range(count):
            archive.writestr(f"images/{k}.png", b"")
    with open_archive_or_file(path, "annotations.xml") as (stream, found):
        assert stream.read() == b"<annotations/>"
        assert len(found.namelist()) == count + 1
    monkeypatch.setattr(documents, "LARGEST_LIST", 50 * count)
    with pytest.raises(FormatError, match="lists what it holds in"), open_archive_or_file(path, "annotations.xml"):
        pass
    with pytest.raises(FormatError, match="lists what it holds in"):
        read_json(path, dict)
