"""Work that comes back from elsewhere: the page of one file, a workbook, packs, a second and a third adjudicator."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import uuid
import zipfile

import numpy as np
import openpyxl
import pytest
from PIL import Image

from adjudication_server import SIZE, Server, painted, write_disputed
from manytruths.adjudication.blocks import LAYOUT
from manytruths.cli import status as run
from manytruths.io.decision_log import read_logs
from study_folders import write_png

PLAIN = ("--practice", "0", "--controls", "0", "--repeats", "0")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return write_disputed(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def written(tmp_path_factory, study):
    """A folder with the page, the workbook, and the index that was made for them."""
    folder = tmp_path_factory.mktemp("written")
    page, book = folder / "page.html", folder / "disputes.xlsx"
    assert call(folder, study, "--html", page, "--xlsx", book, "--practice", 1, "--adjudicator", "office") == 0
    return folder


def call(folder, study, *options) -> int:
    return run(["adjudicate", *study, "--log", str(folder / "log"), "--quiet", *map(str, options)])


def data_of(page):
    text = page.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def entries(folder, who):
    return next(log for log in read_logs([folder / "log"]) if log.adjudicator == who).entries


def save(path, data, who="Clara", choice="union"):
    """What the page saves after every dispute was decided alike."""
    calls = []
    for item in data["queue"]["items"]:
        one, other = (str(uuid.uuid5(uuid.NAMESPACE_OID, f"{who}{item['id']}{n}")) for n in range(2))
        where = f"/api/items/{item['id']}"
        calls.append(
            {"utc": "2026-02-03T04:05:06Z", "path": f"{where}/look", "body": {"uuid": one, "answer": "lesion"}}
        )
        calls.append({"utc": "2026-02-03T04:05:09Z", "path": f"{where}/decide",
                      "body": {"uuid": other, "choice": choice, "seconds": 3}})  # fmt: skip
    whole = {"format": "manytruths-decisions", "version": 1, "page": data["state"]["page"], "adjudicator": who,
             "machine": "browser", "calls": calls}  # fmt: skip
    path.write_text(json.dumps(whole))
    return whole


def test_the_file_holds_what_the_server_tells(written, study, tmp_path):
    data = data_of(written / "page.html")
    assert data["format"] == "manytruths-page"
    ids = [item["id"] for item in data["queue"]["items"]]
    assert ids == [*data["items"]] == [*data["outlines"]] == [*data["images"]]
    with Server(tmp_path, study, "--practice", "1", "--no-first-look", who="office") as server:
        assert [item["id"] for item in server.get("queue")["items"]] == ids
        for id in ids:
            assert server.get(f"items/{id}/outlines") == data["outlines"][id]
            (key,) = data["images"][id]
            raw = gzip.decompress(base64.b64decode(data["blobs"][key]))
            assert server.ask("GET", f"/api/items/{id}/image")[2] == raw
    assert len(data["blobs"]) == 4  # one for each image


def test_the_file_has_one_script_and_asks_nothing_of_the_network(written):
    text = (written / "page.html").read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "connect-src" not in policy
    assert "default-src &#x27;none&#x27;" in policy
    assert text.count("<script>") == 1


def test_saved_decisions_come_back_once(written, study, tmp_path):
    data = data_of(written / "page.html")
    save(tmp_path / "saved.json", data)
    for _ in range(2):
        assert call(tmp_path, study, "--merge", tmp_path / "saved.json") == 0
        made = [entry for entry in entries(tmp_path, "Clara") if entry.action == "decide"]
        assert len(made) == len(data["queue"]["items"])
    assert {entry.payload["made"] for entry in made} == {"2026-02-03T04:05:09Z"}
    assert {entry.machine for entry in made} == {"browser"}
    assert [entry.payload["purpose"] for entry in made].count("practice") == 1
    first = made[-1]
    box = first.payload["box"]
    whole = np.zeros((SIZE, SIZE), int)
    whole[box[0][0] : box[0][1], box[1][0] : box[1][1]] = painted(
        first.payload["pixels"], [stop - start for start, stop in box]
    )
    union = painted(data["outlines"][first.item]["choices"]["union"]["runs"], (SIZE, SIZE))
    assert (whole == union).all()


def word_of(**changes: object) -> str:
    """What a page says that it was made with, changed by somebody."""
    about = {"study": "x:1", "settings": {}, "practice": [], "layout": LAYOUT, **changes}
    return f"a:{base64.urlsafe_b64encode(json.dumps(about).encode()).decode()}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "newer version"),
        ({"adjudicator": " "}, "who decided"),
        ({"page": "x"}, "which page"),
        ({"calls": 3}, "no list of calls"),
        ({"adjudicator": "a\nb"}, "sign that is not seen"),
        ({"adjudicator": "x" * 99}, "is too long"),
        ({"page": word_of(settings={"rule": {"min_dice": "all"}})}, "which page"),
        ({"page": word_of(practice="all")}, "which page"),
        ({"calls": [{"path": "/etc/passwd", "body": {}}]}, "no request of the page"),
    ],
)
def test_a_file_that_is_not_what_the_page_saved_is_refused(written, study, tmp_path, capsys, change, message):
    whole = save(tmp_path / "saved.json", data_of(written / "page.html"))
    (tmp_path / "saved.json").write_text(json.dumps(whole | change))
    assert call(tmp_path, study, "--merge", tmp_path / "saved.json") == 1
    assert message in capsys.readouterr().err


def test_a_file_of_another_study_is_refused(written, tmp_path, capsys):
    save(tmp_path / "saved.json", data_of(written / "page.html"))
    other = write_disputed(tmp_path / "study", cases=5)
    for path in (tmp_path / "study").rglob("p*.png"):
        path.rename(path.with_name(f"other-{path.name}"))
    assert call(tmp_path, other, "--merge", tmp_path / "saved.json") == 1
    assert "another study" in capsys.readouterr().err


def test_what_was_drawn_in_a_file_comes_back_at_its_place(tmp_path):
    """Blocks of a file are smaller than those of the server: a drawing is read in the block in which it was drawn."""
    rows, columns = np.mgrid[:700, :700]
    for rater, radius in (("A", 20), ("B", 8)):
        disc = (rows - 500) ** 2 + (columns - 450) ** 2 <= radius**2
        write_png(tmp_path / f"study/masks/{rater}/p1.png", disc.astype(np.uint8))
    study = [f"{tmp_path}/study/masks/{{rater}}/{{case}}.png"]
    assert call(tmp_path, study, "--html", tmp_path / "page.html", "--adjudicator", "office") == 0
    data = data_of(tmp_path / "page.html")
    ids = [item["id"] for item in data["queue"]["items"]]
    view = data["items"][ids[0]]["view"]
    shape = [stop - start for start, stop in zip(view["start"], view["stop"], strict=True)]
    assert shape == [512, 512]
    whole = save(tmp_path / "saved.json", data)
    calls = [call for call in whole["calls"] if ids[0] in call["path"]]
    first = (480 - view["start"][0]) * shape[1] + 440 - view["start"][1]
    calls[1]["body"] |= {"choice": "drawn", "runs": [[1, [first, 6]]]}
    (tmp_path / "saved.json").write_text(json.dumps(whole | {"calls": calls}))
    assert call(tmp_path, study, "--merge", tmp_path / "saved.json") == 0
    (made,) = [entry for entry in entries(tmp_path, "Clara") if entry.action == "decide"]
    (top, bottom), (left, right) = made.payload["box"]
    drawn = painted(made.payload["pixels"], (bottom - top, right - left))
    assert [(480 - top, 440 + n - left) for n in range(6)] == list(zip(*np.nonzero(drawn), strict=True))


def test_a_file_that_would_be_too_large_says_what_to_do(study, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("manytruths.adjudication.page.MOST_BYTES", 10_000)
    assert call(tmp_path, study, "--html", tmp_path / "page.html") == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "--only-group" in error
    assert not (tmp_path / "page.html").exists()


def fill(path, to, decisions, who="Dana", **more):
    """Fill in a workbook as somebody would."""
    book = openpyxl.load_workbook(path)
    sheet = book.active
    columns = {cell.value: cell.column for cell in sheet[1]}
    for number, decision in enumerate(decisions, start=2):
        sheet.cell(number, columns["decision"], decision)
    sheet.cell(2, columns["adjudicator"], who)
    for (row, name), value in more.get("cells", {}).items():
        sheet.cell(row, columns[name], value)
    if more.get("drop"):
        sheet.delete_rows(more["drop"])
    book.save(to)


def test_the_workbook_has_a_picture_and_a_row_for_each_dispute(written):
    book = openpyxl.load_workbook(written / "disputes.xlsx")
    sheet = book.active
    ids = [item["id"] for item in data_of(written / "page.html")["queue"]["items"]]
    assert [sheet.cell(row, 1).value for row in range(2, sheet.max_row + 1)] == ids
    assert len(sheet._images) == len(ids)
    # the name that the sheet was written for, once, so that another one is typed over it
    columns = {cell.value: cell.column for cell in sheet[1]}
    names = [sheet.cell(row, columns["adjudicator"]).value for row in range(2, sheet.max_row + 1)]
    assert names == ["office", *[None] * (len(ids) - 1)]


def test_pictures_of_the_workbook_have_the_colours_of_the_image(tmp_path):
    for number, rater in enumerate("AB"):
        mask = np.zeros((60, 60), np.uint8)
        mask[15 : 25 + 25 * number, 20:40] = 1
        write_png(tmp_path / "masks" / rater / "p1.png", mask)
    red = np.zeros((60, 60, 3), np.uint8)
    red[..., 0] = 210
    (tmp_path / "images").mkdir()
    Image.fromarray(red).save(tmp_path / "images" / "p1.png")
    study = [f"{tmp_path}/masks/{{rater}}/{{case}}.png", "--images", f"{tmp_path}/images/{{case}}.png"]
    assert call(tmp_path, study, "--xlsx", tmp_path / "d.xlsx", "--practice", 0) == 0
    (drawn,) = openpyxl.load_workbook(tmp_path / "d.xlsx").active._images
    seen = np.asarray(Image.open(io.BytesIO(drawn._data())).convert("RGB"))
    assert (seen == (210, 0, 0)).all(axis=-1).mean() > 0.4


def test_the_workbook_offers_letters_of_those_who_rated_the_case(tmp_path):
    study = write_disputed(tmp_path)
    first = next(each for each in (tmp_path / "masks" / "A").iterdir())
    first.unlink()
    assert call(tmp_path, study, "--xlsx", tmp_path / "d.xlsx", "--practice", 0, "--adjudicator", "Dana") == 0
    sheet = openpyxl.load_workbook(tmp_path / "d.xlsx").active
    offered = {len(sheet.cell(row, 4).value.split()) for row in range(2, sheet.max_row + 1)}
    assert len(offered) == 2
    for row in range(2, sheet.max_row + 1):
        sheet.cell(row, 6, sheet.cell(row, 4).value.split()[0])
    sheet.parent.save(tmp_path / "filled.xlsx")
    assert call(tmp_path, study, "--merge", tmp_path / "filled.xlsx") == 0
    decided = [entry for entry in entries(tmp_path, "Dana") if entry.action == "decide"]
    assert len(decided) == sheet.max_row - 1


def test_a_name_is_no_formula(study, tmp_path):
    evil = '=HYPERLINK("http://evil.example","x")'
    assert call(tmp_path, study, "--xlsx", tmp_path / "d.xlsx", "--adjudicator", evil) == 0
    sheet = openpyxl.load_workbook(tmp_path / "d.xlsx").active
    cells = [cell for row in sheet for cell in row]
    assert not [cell for cell in cells if cell.data_type == "f"]
    assert [cell.value for cell in cells if "HYPERLINK" in str(cell.value)] == [evil]
    sheet.cell(2, 6, "union")
    sheet.parent.save(tmp_path / "filled.xlsx")
    assert call(tmp_path, study, "--merge", tmp_path / "filled.xlsx") == 0
    assert entries(tmp_path, evil)[-1].action == "decide"


def test_a_workbook_that_unpacks_to_gigabytes_is_refused(written, study, tmp_path, capsys):
    bomb = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(written / "disputes.xlsx") as book, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as out:
        for name in book.namelist():
            if name == "xl/worksheets/sheet1.xml":
                with out.open(name, "w", force_zip64=True) as stream:
                    for _ in range(300):
                        stream.write(b" " * (1 << 20))
            elif not name.startswith("xl/media"):
                out.writestr(name, book.read(name))
    assert bomb.stat().st_size < 1 << 20
    assert call(tmp_path, study, "--merge", bomb) == 1
    assert "MB" in capsys.readouterr().err
    assert not list((tmp_path / "log").glob("*.sqlite"))


def test_a_workbook_comes_back_filled_in(written, study, tmp_path, capsys):
    filled = tmp_path / "filled.xlsx"
    fill(written / "disputes.xlsx", filled, ["Union", "b", "not evaluable"], cells={(2, "comment"): "=1+1"})
    for _ in range(2):
        assert run(["adjudicate", *study, "--log", str(tmp_path / "log"), "--merge", str(filled)]) == 0
        made = [entry for entry in entries(tmp_path, "Dana") if entry.action == "decide"]
        assert [entry.payload["seen"]["given"] for entry in made] == ["union", "letter:B", "not_evaluable"]
    assert {entry.payload["seen"]["first_look"] for entry in made} == {False}
    assert "without a decision stay open" in capsys.readouterr().out


def test_rows_that_are_missing_or_added_are_named(written, study, tmp_path, capsys):
    filled = tmp_path / "filled.xlsx"
    fill(written / "disputes.xlsx", filled, ["union"] * 4, drop=4, cells={(5, "code"): "feedfeedfeedfeed"})
    assert run(["adjudicate", *study, "--log", str(tmp_path / "log"), "--merge", str(filled)]) == 0
    said = capsys.readouterr().out
    assert "2 rows are missing and stay open" in said
    assert said.count("line 4: not taken: its code is that of no dispute") == 1
    assert len([entry for entry in entries(tmp_path, "Dana") if entry.action == "decide"]) == 2


def test_a_row_that_stands_there_twice_is_named_and_nothing_is_taken(written, study, tmp_path, capsys):
    first = openpyxl.load_workbook(written / "disputes.xlsx").active.cell(2, 1).value
    fill(written / "disputes.xlsx", tmp_path / "filled.xlsx", ["union", "none"], cells={(3, "code"): first})
    assert call(tmp_path, study, "--merge", tmp_path / "filled.xlsx") == 1
    assert "line 3: the same code as in line 2; keep one" in capsys.readouterr().err
    assert not list((tmp_path / "log").glob("*.sqlite"))


def test_a_label_is_chosen_from_a_list(tmp_path):
    for rater, value in (("A", 1), ("B", 2), ("C", 2)):
        mask = np.zeros((48, 48), np.uint8)
        mask[10:30, 12:30] = value
        write_png(tmp_path / "masks" / rater / "p1.png", mask)
    toml = 'masks = "masks/{rater}/{case}.png"\nlabels = { 1 = "cyst", 2 = "solid tumour" }'
    (tmp_path / "study.toml").write_text(toml)
    study = [str(tmp_path / "study.toml")]
    assert call(tmp_path, study, "--xlsx", tmp_path / "d.xlsx", "--practice", 0, "--controls", 0, "--repeats", 0) == 0
    sheet = openpyxl.load_workbook(tmp_path / "d.xlsx").active
    lists = {str(each.sqref): each.formula1 for each in sheet.data_validations.dataValidation}
    assert lists["G2"] == '"1 cyst,2 solid tumour"'
    fill(tmp_path / "d.xlsx", tmp_path / "filled.xlsx", ["union"], cells={(2, "label"): "1 cyst"})
    assert call(tmp_path, study, "--merge", tmp_path / "filled.xlsx") == 0
    (made,) = [entry for entry in entries(tmp_path, "Dana") if entry.action == "decide"]
    assert [value for value, _ in made.payload["pixels"]] == [1]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({(3, "decision"): "perhaps"}, "line 3: decision 'perhaps'"),
        ({(3, "first_look"): "maybe"}, "line 3: first_look 'maybe'"),
        ({(3, "label"): "liver"}, "line 3: label 'liver'"),
        ({(3, "adjudicator"): "Eve"}, "holds 2 names"),
        ({(3, "page"): "x"}, "come from 2 sheets"),
    ],
)
def test_a_cell_that_means_nothing_is_named_and_nothing_is_taken(written, study, tmp_path, capsys, cells, message):
    fill(written / "disputes.xlsx", tmp_path / "filled.xlsx", ["union"] * 3, cells=cells)
    assert call(tmp_path, study, "--merge", tmp_path / "filled.xlsx") == 1
    assert message in capsys.readouterr().err
    assert not list((tmp_path / "log").glob("*.sqlite"))


@pytest.mark.slow
def test_two_adjudicators_and_a_third_who_settles_where_they_differ(study, tmp_path, capsys):
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    common = (*PLAIN, "--double", "1", "--no-first-look")
    with Server(one, study, *common, who="Ada") as server:
        first = server.open_items()
        for id in first[:3]:
            server.decide(id, "union")
        server.post(f"items/{first[3]}/second", reason="at the edge")
        assert server.get("queue")["items"][3]["status"] == "second"
    logs = "manytruths-adjudication"
    with Server(two, study, *common, "--role", "second", who="Ben") as server:
        # Ben sees the same disputes, and nothing of what Ada decided
        items = server.open_items()
        assert len(items) == len(first)
        assert not {*items} & {*first}
        for id in items:
            assert server.get(f"items/{id}")["decision"] is None
            server.decide(id, "none")
    pack = tmp_path / "ben.json"
    assert run(["adjudicate", *study, "--log", str(two / logs), "--pack", str(pack), "-q"]) == 0
    assert run(["adjudicate", *study, "--log", str(one / logs), "--merge", str(pack), "-q"]) == 0
    assert {log.adjudicator for log in read_logs([one / logs])} == {"Ada", "Ben"}
    with Server(one, study, *common, "--role", "third", who="Cleo") as server:
        assert len(server.open_items()) == 3
        server.decide(server.open_items()[0], "majority")


@pytest.mark.slow
def test_a_second_adjudicator_gets_their_share_and_what_was_marked_for_them(study, tmp_path):
    common = (*PLAIN, "--double", "0", "--no-first-look")
    with Server(tmp_path, study, *common, who="Ada") as server:
        marked = server.open_items()[2]
        server.post(f"items/{marked}/second", reason="two of them?")
        box = server.get(f"items/{marked}")["box"]
    with Server(tmp_path, study, *common, "--role", "second", who="Ben") as server:
        (only,) = server.open_items()
        assert server.get(f"items/{only}")["box"] == box


@pytest.mark.slow
def test_nobody_is_their_own_second_adjudicator(study, tmp_path):
    common = (*PLAIN, "--double", "1", "--no-first-look")
    with Server(tmp_path, study, *common, who="Ada") as server:
        first, *others = server.open_items()
        server.decide(first, "union")
    with Server(tmp_path, study, *common, "--role", "second", who="Ada") as server:
        assert len(server.open_items()) == len(others)
    with Server(tmp_path, study, *common, "--role", "second", who="Ben") as server:
        assert len(server.open_items()) == len(others) + 1
