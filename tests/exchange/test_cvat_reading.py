"""CVAT exports as they are: jobs, tasks and projects, every shape, and whose they are."""

from __future__ import annotations

import math
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from pycocotools import mask as coco

from manytruths import CallError, InputError, LabelError
from manytruths.exchange.cvat import read_cvat
from manytruths.exchange.readings import ImportOptions, Reading, Stored, combine_readings

LABELS = """<labels><label><name>lesion</name><color>#ff0000</color><type>any</type><attributes><attribute>
<name>rank</name><mutable>False</mutable><input_type>number</input_type><default_value></default_value>
<values>1\n9\n1</values></attribute></attributes></label></labels>"""


def meta(kind: str = "task", assignee: str = "", more: str = "", number: int = 7) -> str:
    person = f"<username>{assignee}</username><email></email>" if assignee else ""
    return f"""<meta><{kind}><id>{number}</id><name>Läsionen</name><size>2</size><mode>annotation</mode>
    <created>2024-03-01 09:30:00.5+00:00</created><updated>2024-03-02 10:00:00+00:00</updated><subset>default</subset>
    <owner><username>boss</username><email></email></owner><assignee>{person}</assignee>{LABELS}{more}</{kind}>
    <dumped>2024-03-03 08:00:00+00:00</dumped></meta>"""


def image(
    shapes: str = "", name: str = "p01.png", number: int = 0, size: tuple[int, int] = (20, 16), more: str = ""
) -> str:
    return f'<image id="{number}" name="{name}" {more} width="{size[0]}" height="{size[1]}">{shapes}</image>'


def export(path: Path, *parts: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = f'<?xml version="1.0" encoding="utf-8"?>\n<annotations><version>1.1</version>{"".join(parts)}</annotations>'
    path.write_text(text, "utf-8")
    return path


def one(path: Path, *shapes: str, choices: ImportOptions | None = None, size: tuple[int, int] = (20, 16)) -> Reading:
    (read,) = read_cvat(export(path / "one.xml", meta(assignee="anna"), image("".join(shapes), size=size)), choices)
    return read


def drawn(read: Reading, label: str = "lesion") -> np.ndarray:
    return read.structures()[label]


def centres(size: tuple[int, int], inside) -> np.ndarray:
    """Pixel by pixel."""
    width, height = size
    return np.array([[inside(x + 0.5, y + 0.5) for x in range(width)] for y in range(height)])


# -- shapes ------------------------------------------------------------------------------------------


def test_polygon_box_and_ellipse_pixel_by_pixel(tmp_path):
    read = one(
        tmp_path,
        '<polygon label="a" source="manual" occluded="0" points="1.2,1.1;17.8,3.3;9.4,14.9" z_order="0"></polygon>',
        '<box label="b" source="manual" occluded="0" xtl="2.20" ytl="3.00" xbr="9.70" ybr="6.49" z_order="0"></box>',
        '<ellipse label="c" source="manual" occluded="0" cx="9.5" cy="8.2" rx="6.1" ry="3.3" z_order="0"></ellipse>',
    )

    def left_of(x, y, ax, ay, bx, by):
        return (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0

    corners = [(1.2, 1.1), (17.8, 3.3), (9.4, 14.9)]
    sides = list(zip(corners, corners[1:] + corners[:1], strict=True))
    assert (drawn(read, "a") == centres((20, 16), lambda x, y: all(left_of(x, y, *a, *b) for a, b in sides))).all()
    assert (drawn(read, "b") == centres((20, 16), lambda x, y: 2.2 < x < 9.7 and 3.0 < y < 6.49)).all()
    round_ = centres((20, 16), lambda x, y: ((x - 9.5) / 6.1) ** 2 + ((y - 8.2) / 3.3) ** 2 <= 1)
    assert (drawn(read, "c") == round_).all()


@pytest.mark.parametrize("degrees", [0.0, 30.0, 90.0, 217.5])
def test_rotations_are_clockwise_about_the_centre(tmp_path, degrees):
    read = one(
        tmp_path,
        f'<box label="b" occluded="0" xtl="4" ytl="5.3" xbr="16" ybr="9.1" rotation="{degrees}" z_order="0"></box>',
        f'<ellipse label="c" occluded="0" cx="10" cy="7.2" rx="6" ry="2.4" rotation="{degrees}" z_order="0"></ellipse>',
    )
    turn = math.radians(degrees)

    def back(x, y):
        """Where it was before the shape was turned; on the screen y goes down."""
        dx, dy = x - 10, y - 7.2
        return dx * math.cos(turn) + dy * math.sin(turn), -dx * math.sin(turn) + dy * math.cos(turn)

    def boxed(x, y):
        u, v = back(x, y)
        return abs(u) < 6 and abs(v) < 1.9

    def rounded(x, y):
        u, v = back(x, y)
        return (u / 6) ** 2 + (v / 2.4) ** 2 <= 1

    assert (drawn(read, "b") == centres((20, 16), boxed)).all()
    assert (drawn(read, "c") == centres((20, 16), rounded)).all()


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_a_mask_is_decoded_as_cvat_does_it(tmp_path):
    """CVAT takes its run lengths for COCO's of the transposed frame."""
    chance = np.random.default_rng(5)
    inside = chance.random((6, 9)) < 0.4
    flat = inside.ravel().tolist()
    runs, value, count = [], False, 0
    for pixel in flat:
        if pixel != value:
            runs.append(count)
            value, count = pixel, 0
        count += 1
    runs.append(count)
    rle = ", ".join(map(str, runs))
    read = one(
        tmp_path,
        f'<mask label="lesion" occluded="0" rle="{rle}" left="4" top="3" width="9" height="6" z_order="0"></mask>',
    )
    theirs = coco.decode(coco.frPyObjects([{"counts": runs, "size": [9, 6]}], 6, 9)[0]).T
    whole = np.zeros((16, 20), bool)
    whole[3:9, 4:13] = theirs
    assert (whole[3:9, 4:13] == inside).all()
    assert (drawn(read) == whole).all()


def test_a_mask_that_starts_inside_and_one_that_reaches_out(tmp_path):
    read = one(
        tmp_path,
        '<mask label="a" occluded="0" rle="0, 2, 2" left="3" top="1" width="2" height="2" z_order="0"></mask>',
        '<mask label="b" occluded="0" rle="0, 9" left="18" top="14" width="3" height="3" z_order="0"></mask>',
    )
    assert np.argwhere(drawn(read, "a")).tolist() == [[1, 3], [1, 4]]
    assert np.argwhere(drawn(read, "b")).tolist() == [[14, 18], [14, 19], [15, 18], [15, 19]]


def test_attributes_stay_with_their_shape(tmp_path):
    """Each of three different kinds has its own; the last has none."""

    def shape(kind, head, rank, sure):
        said = f'<attribute name="Rank">{rank}</attribute><attribute name="sure">{sure}</attribute>'
        return f"<{kind} label={head}>{said}</{kind}>"

    read = one(
        tmp_path,
        shape("ellipse", '"a" occluded="1" cx="5" cy="5" rx="2" ry="2" z_order="3"', 3, "no"),
        shape("mask", '"b" occluded="0" rle="0, 4" left="0" top="0" width="2" height="2" z_order="1"', 1, "yes"),
        shape("ellipse", '"c" occluded="0" cx="9" cy="9" rx="2" ry="2" z_order="2" group_id="4"', 2, "&lt;ä&gt;"),
        '<box label="d" occluded="0" xtl="0" ytl="0" xbr="3" ybr="3" z_order="0"></box>',
    )
    assert [(m.label, m.rank, m.order, dict(m.attributes)) for m in read.marks] == [
        ("a", 3, 3, {"occluded": "1", "sure": "no"}),
        ("b", 1, 1, {"sure": "yes"}),
        ("c", 2, 2, {"group_id": "4", "sure": "<ä>"}),
        ("d", None, 0, {}),
    ]
    assert [m.outline.pixels((16, 20))[1].sum() for m in read.marks] == [12, 4, 12, 9]


BOX = '<box label="lesion" occluded="0" xtl="0" ytl="0" xbr="3" ybr="3" z_order="0">{}</box>'


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "two", "nan", "²", "99999999999"])
def test_a_rank_is_a_whole_number_from_1_on(tmp_path, text):
    with pytest.raises(InputError, match=r"image 1 \('p01.png'\): box 1: its 'rank' is .* --rank-attribute"):
        one(tmp_path, BOX.format(f'<attribute name="rank">{text}</attribute>'))


@pytest.mark.parametrize("text", ["", " ", "__undefined__"])
def test_a_rank_may_be_missing(tmp_path, text):
    assert one(tmp_path, BOX.format(f'<attribute name="rank">{text}</attribute>')).marks[0].rank is None


def test_another_attribute_may_hold_the_rank(tmp_path):
    said = '<attribute name="rank">B</attribute><attribute name="Schwere"> 2 </attribute>'
    (mark,) = one(tmp_path, BOX.format(said), choices=ImportOptions(rank="schwere")).marks
    assert (mark.rank, dict(mark.attributes)) == (2, {"rank": "B"})
    with pytest.raises(InputError, match="two attributes 'rank'"):
        one(tmp_path, BOX.format('<attribute name="rank">1</attribute><attribute name="RANK">2</attribute>'))


SKELETON = (
    '<skeleton label="s" z_order="0"><points label="1" outside="0" occluded="0" points="1,2"></points>'
    '<points label="2" outside="0" occluded="0" points="4,5"></points></skeleton>'
)


def test_what_is_no_area_is_counted(tmp_path):
    line = '<polyline label="l" occluded="0" points="1,8.5;18,8.5" z_order="0"></polyline>'
    shapes = [
        line,
        line,
        '<points label="p" occluded="0" points="1,1;2,2" z_order="0"></points>',
        '<cuboid label="q" occluded="0" xtl1="1" z_order="0"></cuboid>',
        SKELETON,
        '<tag label="bad quality" source="manual"></tag>',
        '<hologram label="h"></hologram>',
    ]
    read = one(tmp_path, *shapes)
    assert read.left_out == {"polyline": 2, "points": 1, "cuboid": 1, "skeleton": 1, "tag": 1, "hologram": 1}
    assert (read.marks, read.status) == ((), "empty")
    with pytest.raises(InputError, match=r"case p01, rater anna: 2 polyline; .*1 hologram"):
        combine_readings([read])
    wide = one(tmp_path, *shapes, choices=ImportOptions(widen=3))
    assert wide.left_out == {"points": 1, "cuboid": 1, "skeleton": 1, "tag": 1, "hologram": 1}
    near = centres((20, 16), lambda x, y: math.hypot(x - min(max(x, 1), 18), y - 8.5) <= 1.5)
    assert (drawn(wide, "l") == near).all()


def test_empty_against_unread(tmp_path):
    path = export(tmp_path / "a.xml", meta(assignee="anna"), image(), image('<tag label="x"></tag>', "p02.png", 1))
    assert [r.status for r in read_cvat(path)] == ["empty", "empty"]
    assert [r.status for r in read_cvat(path, ImportOptions(blank="unread"))] == ["unread", "empty"]


def test_an_outline_through_centres(tmp_path):
    shape = '<polygon label="lesion" points="2.5,2.5;6.5,2.5;6.5,5.5;2.5,5.5"></polygon>'
    assert drawn(one(tmp_path, shape)).sum() == 12
    assert drawn(one(tmp_path, shape, choices=ImportOptions(rule="inclusive"))).sum() == 20


# -- whose it is -------------------------------------------------------------------------------------


def raters(*paths: Path | str) -> list[str]:
    return [read.rater for read in read_cvat(list(paths))]


def test_the_assignee_is_the_rater_and_the_owner_is_not(tmp_path):
    with_one = export(tmp_path / "a.xml", meta("task", "änna"), image())
    without = export(tmp_path / "b.xml", meta("task"), image())
    job = export(tmp_path / "c.xml", meta("job", number=31), image())
    bare = export(tmp_path / "carla" / "annotations.xml", image())
    assert raters(with_one, without, job, bare) == ["änna", "b", "job-31", "carla"]
    assert raters(f"dora={without}") == ["dora"]
    assert raters(str(tmp_path / "{rater}.xml")) == ["a", "b", "c"]


def test_what_the_file_says_of_itself(tmp_path):
    path = export(tmp_path / "a.xml", meta("job", "anna"), image(BOX.format("")), image(name="p02.png", number=1))
    first, second = read_cvat(path)
    assert (first.image, first.grid.shape, first.status, first.tool) == ("p01.png", (16, 20), "done", "CVAT")
    assert first.started == second.started == "2024-03-01 09:30:00.5+00:00"
    assert (second.status, second.source, second.picture) == ("empty", str(path), None)
    assert [r.image for r in pickle.loads(pickle.dumps([first, second]))] == ["p01.png", "p02.png"]


def replica(path: Path, number: int, assignee: str = "", segment: int = 5, told: bool = False) -> Path:
    more = f"<segments><segment><id>{segment}</id><start>0</start><stop>0</stop></segment></segments>"
    more += "<type>consensus_replica</type><parent_job_id>40</parent_job_id>" if told else ""
    return export(path / f"job_{number}.xml", meta("job", assignee, more, number), image(BOX.format("")))


@pytest.mark.parametrize("told", [False, True])
def test_replicas_of_one_job_are_told_apart(tmp_path, told):
    same = [replica(tmp_path, number, "anna", told=told) for number in (41, 42)]
    alone = [replica(tmp_path, 43, told=told), replica(tmp_path, 44, told=told)]
    other = replica(tmp_path, 45, "ben", told=told)
    assert raters(*same, *alone, other) == ["anna-job-41", "anna-job-42", "job-43", "job-44", "ben"]
    combine_readings(read_cvat([*same, *alone, other]))
    assert raters(same[0], other) == ["anna", "ben"]
    assert raters(f"first={same[0]}", f"second={same[1]}") == ["first", "second"]


def test_the_job_itself_is_told_apart_from_its_replica(tmp_path):
    parent = export(tmp_path / "job_40.xml", meta("job", "anna", number=40), image(BOX.format("")))
    assert raters(parent, replica(tmp_path, 41, "anna", told=True)) == ["anna-job-40", "anna-job-41"]


def test_two_jobs_of_one_task_are_one_rater(tmp_path):
    first, second = (replica(tmp_path, number, "anna", segment=number) for number in (41, 42))
    assert raters(first, second) == ["anna", "anna"]


def project(tasks: dict[int, str], assignee: str = "") -> str:
    told = "".join(
        f"<task><id>{n}</id><assignee>{f'<username>{who}</username>' if who else ''}</assignee></task>"
        for n, who in tasks.items()
    )
    return meta("project", assignee, f"<tasks>{told}</tasks>")


def test_a_project_says_whose_each_task_is(tmp_path):
    shapes = [image(BOX.format(""), number=k, more=f'subset="default" task_id="{k}"') for k in (1, 2)]
    path = export(tmp_path / "study.xml", project({1: "anna", 2: "ben"}), *shapes)
    assert raters(path) == ["anna", "ben"]
    assert raters(export(tmp_path / "study.xml", project({1: "", 2: ""}), *shapes)) == ["task-1", "task-2"]
    assert raters(export(tmp_path / "study.xml", project({1: "", 2: ""}), shapes[0])) == ["study"]
    assert raters(export(tmp_path / "study.xml", project({1: "", 2: "ben"}, "carla"), *shapes)) == ["carla", "ben"]


def test_images_of_one_name_in_two_subsets_are_two_cases(tmp_path):
    shapes = [image(number=k, more=f'subset="{s}" task_id="1"') for k, s in enumerate(("Train", "Test"))]
    reads = read_cvat(export(tmp_path / "a.xml", project({1: "anna"}), *shapes))
    assert combine_readings(reads).cases == ("Test_p01", "Train_p01")


def test_where_all_came_from_a_model_it_is_said(tmp_path):
    def shape(source):
        return f'<box label="a" source="{source}" xtl="0" ytl="0" xbr="3" ybr="3"></box>'

    assert one(tmp_path, shape("auto"), shape("auto")).tool == "CVAT, auto"
    assert one(tmp_path, shape("consensus")).tool == "CVAT, consensus"
    assert one(tmp_path, shape("auto"), shape("manual")).tool == "CVAT"
    assert one(tmp_path, shape("auto")).based_on == ""


# -- places ------------------------------------------------------------------------------------------


def test_pictures_in_the_archive_and_in_the_folder(tmp_path):
    path = export(tmp_path / "x" / "annotations.xml", meta(), image(), image(name="sub/p02.png", number=1))
    (tmp_path / "x" / "images" / "sub").mkdir(parents=True)
    (tmp_path / "x" / "images" / "sub" / "p02.png").write_bytes(b"picture")
    (tmp_path / "x" / "p01.png").write_bytes(b"picture")
    found = [read.picture for read in read_cvat(tmp_path / "x")]
    assert found == [Stored(path.parent / "p01.png"), Stored(path.parent / "images" / "sub" / "p02.png")]
    with zipfile.ZipFile(tmp_path / "y.zip", "w") as archive:
        archive.write(path, "job/annotations.xml")
        archive.writestr("job/images/p01.png", b"picture")
        archive.writestr("images/sub/p02.png", b"not beside it")
    reads = read_cvat(tmp_path / "y.zip")
    assert [read.picture for read in reads] == [Stored(tmp_path / "y.zip", "job/images/p01.png"), None]
    assert [read.rater for read in reads] == ["y", "y"]


def test_pictures_of_a_project_lie_in_subsets(tmp_path):
    path = export(tmp_path / "annotations.xml", project({1: "anna"}), image(more='subset="Train" task_id="1"'))
    (tmp_path / "images" / "Train").mkdir(parents=True)
    (tmp_path / "images" / "Train" / "p01.png").write_bytes(b"picture")
    assert read_cvat(path)[0].picture == Stored(tmp_path / "images" / "Train" / "p01.png")


def test_pictures_elsewhere_are_none_of_ours(tmp_path):
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"secret")
    folder = tmp_path / "x"
    path = export(folder / "a.xml", meta(), image(name=str(secret)), image(name="link.png", number=1))
    (folder / "link.png").symlink_to(secret)
    assert [read.picture for read in read_cvat(path)] == [None, None]


def test_templates_say_more(tmp_path):
    export(tmp_path / "anna" / "2" / "p01.xml", meta(assignee="somebody"), image(BOX.format("")))
    (read,) = read_cvat(str(tmp_path / "{rater}" / "{session}" / "{case}.xml"))
    assert (read.rater, read.session, read.case) == ("anna", "2", "p01")


def test_a_file_is_named_once(tmp_path):
    path = export(tmp_path / "a.xml", meta(), image())
    with pytest.raises(CallError, match="twice"):
        read_cvat([path, path])


def test_a_label_must_be_there(tmp_path):
    with pytest.raises(LabelError, match="box 1: has no label"):
        one(tmp_path, BOX.replace('"lesion"', '" "').format(""))
