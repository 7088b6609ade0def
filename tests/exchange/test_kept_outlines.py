"""Imports of images that are too large to be drawn on: outlines are kept, and say what the drawn masks would say."""

import json

import numpy as np
import pytest
from PIL import Image

import manytruths as mt
from manytruths.cli import status
from manytruths.exchange import ImportOptions, read_asap
from manytruths.exchange import documents as sources

SHAPE = (40, 50)
SIZE = {"image_size": (50, 40)}
SQUARE = [(2, 3), (30, 3), (30, 28), (2, 28)]
HOLE = [(10, 10), (15, 10), (15, 15), (10, 15)]
INNER = [(20, 5), (28.5, 5), (28.5, 14), (20, 14)]


def moved(ring, by):
    return [[x + by, y] for x, y in [*ring, ring[0]]]


def feature(kind, coordinates, name):
    return {
        "type": "Feature", "geometry": {"type": kind, "coordinates": coordinates},
        "properties": {"classification": {"name": name}},
    }  # fmt: skip


def write_qupath(root):
    for by, rater in enumerate(("anna", "ben")):
        for case in ("p1", "p2"):
            features = [
                feature("Polygon", [moved(SQUARE, by), moved(HOLE, by)], "Tumor"),
                feature("MultiPolygon", [[moved(INNER, by)], [moved(INNER, by - 18)]], "Necrosis"),
            ]
            path = root / f"qupath/{rater}/{case}.geojson"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return f"{root}/qupath/{{rater}}/{{case}}.geojson"


def write_asap(root):
    for by, rater in enumerate(("anna", "ben")):
        path = root / f"asap/{rater}/p1.xml"
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = [("Tumor", SQUARE, "Polygon"), ("Necrosis", INNER, "Spline")]
        inside = "".join(
            f'<Annotation Name="a" Type="{kind}" PartOfGroup="{name}"><Coordinates>'
            + "".join(f'<Coordinate Order="{k}" X="{x}" Y="{y}"/>' for k, (x, y) in enumerate(moved(ring, by)))
            + "</Coordinates></Annotation>"
            for name, ring, kind in parts
        )
        path.write_text(f"<ASAP_Annotations><Annotations>{inside}</Annotations></ASAP_Annotations>")
    return f"{root}/asap/{{rater}}/{{case}}.xml"


@pytest.mark.parametrize(("tool", "write"), [("qupath", write_qupath), ("asap", write_asap)])
@pytest.mark.parametrize("overlap", ["smaller", "union"])
def test_kept_outlines_have_the_tables_of_drawn_masks(tmp_path, monkeypatch, tool, write, overlap):
    template = write(tmp_path)
    drawn = mt.import_study(tool, template, to=tmp_path / "drawn", overlap=overlap, **SIZE)
    monkeypatch.setattr(sources, "LARGEST_IMAGE", 100)
    kept = mt.import_study(tool, template, to=tmp_path / "kept", overlap=overlap, **SIZE)
    assert (tmp_path / "kept/masks/anna/p1.geojson").exists()
    assert not list((tmp_path / "kept").rglob("*.png"))
    wanted, found = drawn.study(), kept.study()
    assert [case.name for case in found] == [case.name for case in wanted]
    for case in found:
        assert case.tally() == wanted[case.name].tally()
    assert any("masks are outlines" in note for note in kept.notes)
    # what was kept can be imported again
    template = f"{tmp_path}/kept/masks/{{rater}}/{{case}}.geojson"
    again = mt.import_study("qupath", template, to=tmp_path / "again", overlap=overlap, **SIZE)
    assert again.study()["p1"].tally() == found["p1"].tally()


def test_files_that_were_kept_know_their_size_and_spacing(tmp_path, monkeypatch):
    template = write_qupath(tmp_path)
    tif = pytest.importorskip("tifffile")
    for case in ("p1", "p2"):
        (tmp_path / "images").mkdir(exist_ok=True)
        tif.imwrite(tmp_path / f"images/{case}.tif", np.zeros(SHAPE, np.uint8))
    monkeypatch.setattr(sources, "LARGEST_IMAGE", 100)
    images = f"{tmp_path}/images/{{case}}.tif"
    mt.import_study("qupath", template, to=tmp_path / "study", images=images)
    text = (tmp_path / "study/study.toml").read_text()
    assert f'images = "{images}"' in text
    assert 'labels = { 1 = "Necrosis", 2 = "Tumor" }' in text
    # the images may be gone
    (tmp_path / "study/study.toml").write_text("\n".join(line for line in text.splitlines() if "images" not in line))
    assert mt.Study.open(tmp_path / "study")["p1"].read().grid.shape == SHAPE


def test_a_slide_of_ten_gigapixels(tmp_path, capsys):
    template = write_qupath(tmp_path)
    line = ["import", "qupath", template, "--to", f"{tmp_path}/study", "--image-size", "100000x100000"]
    assert status([*line, "--jobs", "1"]) == 0
    study = mt.Study.open(tmp_path / "study")
    assert study["p1"].read(by_tile=True).is_large
    assert study["p1"].tally().counts.sum() == 10**10
    assert status(["check", f"{tmp_path}/study", "--out", f"{tmp_path}/out", "--jobs", "1"]) == 0
    capsys.readouterr()
    assert status([*line[:-1], "99999999x3", "--replace"]) == 1
    assert "a side may have 1 to 10000000 pixels" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"overlap": "z"}, "import it without --overlap z"),
        ({"rule": "inclusive"}, "with --rule centre"),
        ({"rank_attribute": "grade"}, "without ranks"),
    ],
)
def test_what_cannot_be_kept(tmp_path, monkeypatch, options, says):
    template = write_qupath(tmp_path)
    if "rank_attribute" in options:
        path = tmp_path / "qupath/anna/p1.geojson"
        document = json.loads(path.read_text())
        document["features"][0]["properties"]["metadata"] = {"grade": "1"}
        path.write_text(json.dumps(document))
    monkeypatch.setattr(sources, "LARGEST_IMAGE", 100)
    with pytest.raises(mt.InputError, match=says):
        mt.import_study("qupath", template, to=tmp_path / "study", **SIZE, **options)
    assert not (tmp_path / "study").exists()


def test_readings_of_asap(tmp_path):
    write_asap(tmp_path)
    Image.new("L", (50, 40)).save(tmp_path / "asap/anna/p1.png")
    (read,) = read_asap(tmp_path / "asap/anna/p1.xml")
    assert (read.rater, read.image, read.grid.shape, read.tool, read.status) == ("anna", "p1", SHAPE, "ASAP", "done")
    wanted = mt.rasterise_polygon([SQUARE], SHAPE)
    assert (read.structures()["Tumor"] == wanted).all()
    (tmp_path / "empty.xml").write_text("<ASAP_Annotations><Annotations/></ASAP_Annotations>")
    (read,) = read_asap(tmp_path / "empty.xml", ImportOptions(image_size=(5, 4)))
    assert (read.status, read.marks) == ("empty", ())
