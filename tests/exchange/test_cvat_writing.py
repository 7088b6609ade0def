"""What is written for CVAT: read back equal, and read equally by a reader that shares nothing with ours."""

from __future__ import annotations

import zipfile
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from manytruths import CallError, Grid, InputError
from manytruths.exchange.cvat import read_cvat, write_cvat
from manytruths.exchange.outlines import Bitmap, Ellipse, Line, Polygon, Whole, box
from manytruths.exchange.readings import ImportOptions, Mark, Outline, Reading

SIZE = 13, 17


def plainly(path: Path) -> dict[str, dict[str, np.ndarray]]:
    """By image and label, every pixel by itself: no part of the package takes part."""
    found = {}
    for image in ElementTree.parse(path).getroot().iter("image"):
        size = int(image.attrib["height"]), int(image.attrib["width"])
        masks = found.setdefault(image.attrib["name"], {})
        for shape in image:
            whole = masks.setdefault(shape.attrib["label"], np.zeros(size, bool))
            for row, column in np.ndindex(size):
                whole[row, column] |= {"polygon": _in_polygon, "mask": _in_mask}[shape.tag](shape, row, column)
    return found


def _in_polygon(shape: ElementTree.Element, row: int, column: int) -> bool:
    x, y, inside = Fraction(2 * column + 1, 2), Fraction(2 * row + 1, 2), False
    points = [tuple(map(Fraction, pair.split(","))) for pair in shape.attrib["points"].split(";")]
    for (x1, y1), (x2, y2) in zip(points, points[1:] + points[:1], strict=True):
        if (y1 <= y) != (y2 <= y) and x1 + (y - y1) * (x2 - x1) / (y2 - y1) < x:
            inside = not inside
    return inside


def _in_mask(shape: ElementTree.Element, row: int, column: int) -> bool:
    left, top, width, height = (int(shape.attrib[name]) for name in ("left", "top", "width", "height"))
    place, inside = (row - top) * width + column - left, False
    if not (top <= row < top + height and left <= column < left + width):
        return False
    for run in map(int, shape.attrib["rle"].split(",")):
        if place < run:
            return inside
        place, inside = place - run, not inside
    raise AssertionError("the runs end before the frame does")


# -- there and back ----------------------------------------------------------------------------------

WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"), max_size=6)
NAMES = WORDS.map(lambda text: f"n{text}".strip())
TEXTS = st.one_of(WORDS, st.sampled_from(["a\nb", "\t", "x\r\ny", "<&>\"'", "]]>", " padded "]))
HALVES = st.integers(-8, 40).map(lambda n: n / 2)
PLACES = st.one_of(HALVES, st.floats(-5, 20, allow_nan=False))
SIDES = st.floats(0.1, 9)


def outlines(places: st.SearchStrategy[float]) -> st.SearchStrategy[Outline]:
    """Of every kind, polygons with corners at such places."""
    rings = st.lists(st.tuples(places, places), min_size=3, max_size=8)
    return st.one_of(
        rings.map(lambda ring: Polygon.of([ring])),
        rings.map(lambda ring: Polygon.of([ring], "inclusive")),
        st.lists(rings, min_size=2, max_size=3).map(Polygon.of),
        st.builds(Ellipse, PLACES, PLACES, SIDES, SIDES, st.floats(0, 360)),
        st.builds(Bitmap, st.integers(-3, 15), st.integers(-3, 18), arrays(bool, st.tuples(*[st.integers(1, 9)] * 2))),
        arrays(bool, SIZE).map(Whole),
        st.builds(Line.of, rings, st.floats(0.1, 6)),
    )


ATTRIBUTES = st.dictionaries(NAMES, TEXTS, max_size=2) | st.just({"occluded": "1", "group_id": "12", "note": "x"})
LABELS = st.sampled_from(["lesion", "naïve <b>", "\"q'&\n"])


def drawings(places: st.SearchStrategy[float]) -> st.SearchStrategy[list[list[Mark]]]:
    """Marks of some images."""
    ranks = st.none() | st.integers(1, 99)
    marks = st.builds(Mark, LABELS, outlines(places), st.integers(-5, 5), ranks, ATTRIBUTES)
    return st.lists(st.lists(marks, max_size=4), min_size=1, max_size=3)


def reads_of(drawn: list[list[Mark]], rater: str = "Ända <1>", **more: str) -> list[Reading]:
    return [
        Reading(
            f"d/p{k} ü.png", rater, Grid(SIZE), tuple(marks), status="done" if marks else "empty", tool="CVAT", **more
        )
        for k, marks in enumerate(drawn)
    ]


def same(one: Reading, other: Reading) -> bool:
    assert (one.image, one.rater, one.status, one.grid, one.tool) == (
        other.image,
        other.rater,
        other.status,
        other.grid,
        other.tool,
    )
    assert len(one.marks) == len(other.marks)
    for mine, theirs in zip(one.marks, other.marks, strict=True):
        assert (mine.label, mine.order, mine.rank, dict(mine.attributes)) == (
            theirs.label,
            theirs.order,
            theirs.rank,
            dict(theirs.attributes),
        )
        for shown in ((mine, theirs), (theirs, mine)):
            whole = [Reading("", "", Grid(SIZE), (mark,)).structures()[mark.label] for mark in shown]
            assert (whole[0] == whole[1]).all()
    return True


@given(drawings(PLACES), NAMES, st.sampled_from([".xml", ".zip"]))
def test_what_was_written_is_read(tmp_path_factory, drawn, rater, ending):
    path = tmp_path_factory.mktemp("cvat") / f"file{ending}"
    reads = reads_of(drawn, rater)
    assert write_cvat(path, reads) == [path]
    back = read_cvat(path)
    assert len(back) == len(reads)
    assert all(same(one, other) for one, other in zip(reads, back, strict=True))


@settings(max_examples=40)
@given(drawings(HALVES))
def test_another_reader_sees_the_same_pixels(tmp_path_factory, drawn):
    path = tmp_path_factory.mktemp("cvat") / "file.xml"
    reads = reads_of(drawn)
    write_cvat(path, reads)
    theirs = plainly(path)
    for read in reads:
        mine = read.structures()
        assert mine.keys() == theirs[read.image].keys()
        assert all((mine[label] == theirs[read.image][label]).all() for label in mine)


def test_polygons_stay_polygons_to_the_last_digit(tmp_path):
    ring = [(0.1 + 0.2, 1 / 3), (1e-17, 12.0), (16.999999999999996, -3.5)]
    write_cvat(tmp_path / "a.xml", reads_of([[Mark("a", Polygon.of([ring]))]]))
    (read,) = read_cvat(tmp_path / "a.xml")
    assert isinstance(read.marks[0].outline, Polygon)
    assert read.marks[0].outline.rings[0].tolist() == [list(point) for point in ring]


def test_a_rule_that_cvat_does_not_have_becomes_a_mask(tmp_path):
    square = [(2.5, 2.5), (6.5, 2.5), (6.5, 5.5), (2.5, 5.5)]
    write_cvat(tmp_path / "a.xml", reads_of([[Mark("a", Polygon.of([square], "inclusive"))]]))
    (read,) = read_cvat(tmp_path / "a.xml", ImportOptions(rule="coco"))
    assert read.structures()["a"].sum() == 20


def test_a_mark_without_pixels_is_not_lost(tmp_path):
    write_cvat(tmp_path / "a.xml", reads_of([[Mark("a", Whole(np.zeros(SIZE, bool)), rank=2)]]))
    (read,) = read_cvat(tmp_path / "a.xml")
    assert (read.status, read.marks[0].label, read.marks[0].rank) == ("done", "a", 2)
    assert not read.structures()["a"].any()


# -- what CVAT wants ---------------------------------------------------------------------------------


def test_the_file_has_what_cvat_looks_for(tmp_path):
    """Its import takes whole numbers for ids, and a meta section whose labels list their attributes."""
    shapes = [Mark("a", box(1, 1, 3, 3), rank=1, attributes={"sure": "no"}), Mark("b", Ellipse(8, 6, 3, 2))]
    write_cvat(tmp_path / "a.xml", reads_of([shapes, []], started="2024-01-01 10:00:00"))
    root = ElementTree.parse(tmp_path / "a.xml").getroot()
    assert root.tag == "annotations"
    assert root.findtext("version") == "1.1"
    task = root.find("meta/task")
    assert task is not None
    assert int(task.findtext("id", "")) == 0
    assert task.findtext("mode") == "annotation"
    assert task.findtext("assignee/username") == "Ända <1>"
    labels = {
        one.findtext("name"): [
            (a.findtext("name"), a.findtext("input_type")) for a in one.findall("attributes/attribute")
        ]
        for one in task.findall("labels/label")
    }
    assert labels == {"a": [("rank", "number"), ("sure", "text")], "b": []}
    images = root.findall("image")
    assert [int(image.attrib["id"]) for image in images] == [0, 1]
    assert [shape.tag for shape in images[0]] == ["polygon", "mask"]
    for shape in images[0]:
        assert {"label", "occluded", "z_order", "source"} <= set(shape.attrib)
    assert read_cvat(tmp_path / "a.xml")[0].started == "2024-01-01 10:00:00"


def test_an_archive_holds_one_file_and_is_always_the_same(tmp_path):
    reads = reads_of([[Mark("a", box(1, 1, 3, 3))]])
    for name in ("a.zip", "b.zip"):
        write_cvat(tmp_path / name, reads)
    assert zipfile.ZipFile(tmp_path / "a.zip").namelist() == ["annotations.xml"]
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_the_source_comes_back(tmp_path):
    shapes = (Mark("a", box(1, 1, 3, 3)),)
    for tool, back in {"CVAT": "CVAT", "CVAT, auto": "CVAT, auto", "manytruths": "CVAT, file"}.items():
        write_cvat(tmp_path / "a.xml", [Reading("p.png", "anna", Grid(SIZE), shapes, tool=tool)])
        assert read_cvat(tmp_path / "a.xml")[0].tool == back


# -- whose it is -------------------------------------------------------------------------------------


def test_a_folder_takes_one_file_a_rater(tmp_path):
    shapes = [[Mark("a", box(1, 1, 3, 3))], []]
    reads = reads_of(shapes, "anna") + reads_of(shapes, "ben/b") + reads_of(shapes, "carla", session="2")
    files = write_cvat(tmp_path / "out", reads)
    assert len(files) == 3
    assert all(file.parent == tmp_path / "out" for file in files)
    assert [read.rater for read in read_cvat(files)] == ["anna", "anna", "ben/b", "ben/b", "carla", "carla"]
    assert (tmp_path / "out" / "carla-2.xml").exists()


def test_a_file_is_one_raters(tmp_path):
    reads = reads_of([[]], "anna") + reads_of([[]], "ben")
    with pytest.raises(CallError, match=r"one rater's, and these are of anna, ben; give a folder"):
        write_cvat(tmp_path / "a.xml", reads)
    assert not list(tmp_path.iterdir())


def test_unread_images_are_left_out_and_empty_ones_are_not(tmp_path):
    mark = Mark("a", box(1, 1, 3, 3))
    rows = {"done": (mark,), "empty": (), "unread": (), "unfinished": (), "begun": (mark,)}
    reads = [
        Reading(name, "anna", Grid(SIZE), marks, status="unfinished" if name == "begun" else name)
        for name, marks in rows.items()
    ]
    write_cvat(tmp_path / "a.xml", reads)
    assert [(read.image, read.status) for read in read_cvat(tmp_path / "a.xml")] == [
        ("done", "done"),
        ("empty", "empty"),
        ("begun", "done"),
    ]
    with pytest.raises(InputError, match="nothing to write"):
        write_cvat(tmp_path / "b.xml", [reads[2]])


MARK = Mark("a", box(1, 1, 3, 3))


@pytest.mark.parametrize(
    ("reads", "said"),
    [
        ([Reading("p.png", "anna", Grid((3, 4, 5)), (MARK,))], "has 3 axes"),
        ([Reading("p.png", "anna", Grid(SIZE), (MARK,))] * 2, "occurs twice for anna"),
        ([Reading("p.png", "anna", Grid(SIZE), (Mark("a\x01", MARK.outline),))], "characters that XML cannot hold"),
        ([Reading("p.png", "anna", Grid(SIZE), (Mark("a\ud800", MARK.outline),))], "characters that XML cannot hold"),
        ([Reading("p.png", "anna", Grid(SIZE), (Mark(" ", MARK.outline),))], "without a label"),
        ([Reading("p.png", "anna", Grid(SIZE), (Mark("a", MARK.outline, attributes={"Rank": "x"}),))], "is not a rank"),
    ],
)
def test_what_cvat_cannot_hold_is_refused_before_anything_is_written(tmp_path, reads, said):
    good = Reading("p.png", "aaron", Grid(SIZE), (MARK,))
    with pytest.raises(InputError, match=said):
        write_cvat(tmp_path / "out", [good, *reads])
    assert not list(tmp_path.iterdir())


def test_ranks_under_another_name(tmp_path):
    mark = Mark("a", MARK.outline, rank=3, attributes={"rank": "captain"})
    write_cvat(tmp_path / "a.xml", reads_of([[mark]]), rank="severity")
    (read,) = read_cvat(tmp_path / "a.xml", ImportOptions(rank="Severity"))
    assert (read.marks[0].rank, dict(read.marks[0].attributes)) == (3, {"rank": "captain"})
