"""QuPath's GeoJSON: pixels as GDAL draws them, and files that are damaged, foreign or hostile."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
from PIL import Image
from rasterio.features import rasterize

import manytruths as mt
from json_exports import grafted, refused, survives
from manytruths import InputError
from manytruths.cli import status
from manytruths.exchange import combine_readings, read_qupath
from manytruths.exchange.readings import ImportOptions
from mutations import mutated

SIZE = ImportOptions(image_size=(50, 40))
SQUARE = [[[2, 2], [12, 2], [12, 9], [2, 9], [2, 2]]]


def star(random, centre, low, high, points):
    angles = np.sort(random.uniform(0, 2 * np.pi, points))
    radii = random.uniform(low, high, points)
    ring = np.asarray(centre) + radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], 1)
    return [*ring.tolist(), ring[0].tolist()]


def feature(coordinates=SQUARE, label="Tumor", kind="Polygon", plane=None, **properties):
    geometry = {"type": kind, "coordinates": coordinates} | ({"plane": plane} if plane else {})
    classified = {"classification": {"name": label, "color": [200, 0, 0]}} if label else {}
    return {
        "type": "Feature", "id": "6d1a", "geometry": geometry,
        "properties": {"objectType": "annotation", "isLocked": False, **classified, **properties},
    }  # fmt: skip


def collection(*features):
    return {"type": "FeatureCollection", "features": list(features)}


def written(folder, document, name="anna/p01.geojson"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), "utf-8")
    return path


@pytest.mark.parametrize("seed", range(6))
def test_pixels_are_those_of_gdal(tmp_path, seed):
    random = np.random.default_rng(seed)
    features = []
    for _ in range(8):
        parts = []
        for corner in [(12, 12), (36, 26)][: int(random.integers(1, 3))]:
            outer = star(random, corner, 6, 12, int(random.integers(4, 40)))
            parts.append([outer, star(random, corner, 1, 4, 7)] if random.random() < 0.7 else [outer])
        several = len(parts) > 1 or random.random() < 0.3
        features.append(feature(parts if several else parts[0], kind="MultiPolygon" if several else "Polygon"))
    path = written(tmp_path, collection(*features))
    (read,) = read_qupath(path, SIZE)
    assert read.grid.shape == (40, 50)
    for mark, one in zip(read.marks, features, strict=True):
        wanted = rasterize([(one["geometry"], 1)], (40, 50))
        drawn = np.zeros((40, 50), bool)
        window, inside = mark.outline.pixels((40, 50))
        drawn[window] = inside
        np.testing.assert_array_equal(drawn, wanted == 1)
    whole = rasterize([(one["geometry"], 1) for one in features], (40, 50))
    np.testing.assert_array_equal(read.structures()["Tumor"], whole == 1)


@pytest.mark.parametrize(
    "document", [collection(feature(label="Stroma")), [feature(label="Stroma")], feature(label="Stroma")]
)
@pytest.mark.parametrize("name", ["anna/p01.geojson", "anna/p01.json", "anna/p01.tif.geojson"])
def test_kinds_of_documents(tmp_path, document, name):
    (read,) = read_qupath(written(tmp_path, document, name), SIZE)
    assert (read.rater, read.status, read.tool) == ("anna", "done", "QuPath")
    assert read.image in ("p01", "p01.tif")
    assert combine_readings([read]).cases == ("p01",)
    assert {name: int(mask.sum()) for name, mask in read.structures().items()} == {"Stroma": 70}
    assert read.marks[0].attributes == {"type": "annotation"}


def test_an_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "p01.geojson.zip", "w") as archive:
        archive.writestr("p01.geojson", json.dumps(collection(feature())))
    (read,) = read_qupath(tmp_path / "p01.geojson.zip", SIZE)
    assert read.image == "p01"
    assert read.structures()["Tumor"].sum() == 70


def test_labels_ranks_and_notes(tmp_path):
    features = [
        feature(label=None),
        feature(classification={"names": ["Tumor", "Positive"]}),
        feature(classification="Old"),
        feature(isLocked=True, name="big one", measurements=[{"name": "rank", "value": 2}, {"name": "x", "value": 1}]),
        feature(measurements={"rank": 3.0, "area": 7.5}, objectType="detection"),
        feature(metadata={"rank": "1", "note": "a"}),
        {"type": "Feature", "geometry": None, "properties": {}},
    ]
    (read,) = read_qupath(written(tmp_path, collection(*features)), SIZE)
    labels = [mark.label for mark in read.marks]
    assert labels == ["unclassified", "Tumor: Positive", "Old", "Tumor", "Tumor", "Tumor"]
    assert [mark.rank for mark in read.marks] == [None, None, None, 2, 3, 1]
    assert read.marks[3].attributes == {"name": "big one", "type": "annotation", "locked": "true"}
    assert read.marks[4].attributes == {"type": "detection"}
    assert read.marks[5].attributes == {"type": "annotation", "note": "a"}


def test_points_and_lines_are_said(tmp_path):
    features = [
        feature([1, 2], kind="Point"), feature([[1, 2], [3, 4]], kind="MultiPoint"), feature(),
        feature([[1, 2], [9, 2]], kind="LineString"),
        feature([[[1, 5], [9, 5]], [[1, 7], [9, 7]]], kind="MultiLineString"),
    ]  # fmt: skip
    path = written(tmp_path, collection(*features))
    (read,) = read_qupath(path, SIZE)
    assert dict(read.left_out) == {"points": 2, "polyline": 2}
    with pytest.raises(InputError, match=r"shapes that are not areas: .*--skip points,polyline"):
        combine_readings([read])
    (read,) = read_qupath(path, ImportOptions(image_size=(50, 40), widen=1.0))
    assert dict(read.left_out) == {"points": 2}
    assert len(read.marks) == 3


def test_nothing_marked(tmp_path):
    (read,) = read_qupath(written(tmp_path, collection()), SIZE)
    assert read.status == "empty"
    (read,) = read_qupath(written(tmp_path, []), ImportOptions(image_size=(50, 40), blank="unread"))
    assert read.status == "unread"


def test_where_sizes_come_from(tmp_path):
    path = written(tmp_path, collection(feature()))
    with pytest.raises(InputError, match=r"p01\.geojson: does not hold the size of its image, .*--image-size 10"):
        read_qupath(path)
    Image.new("RGB", (31, 21)).save(path.with_name("p01.png"))
    (read,) = read_qupath(path)
    assert read.grid.shape == (21, 31)
    assert str(read.picture) == str(path.with_name("p01.png"))
    mt.io.write_map(tmp_path / "stack.tif", np.zeros((3, 4, 5), np.uint8))
    mt.io.write_map(tmp_path / "flat.mha", np.zeros((4, 5), np.uint8))
    for name in ("stack.tif", "flat.mha"):
        options = ImportOptions(pictures={"p01": mt.io.Location(tmp_path / name)})
        with pytest.raises(InputError, match="is a volume or a stack, but outlines need an image of two axes"):
            read_qupath(path, options)


@pytest.mark.parametrize(
    "size", ["50x40", (50, 40), None], ids=["text", "numbers", "images"]
)  # fmt: skip
def test_a_study(tmp_path, size, capsys):
    (tmp_path / "images").mkdir()
    Image.new("L", (50, 40), 9).save(tmp_path / "images" / "p01.png")
    for rater, x in (("anna", 0), ("ben", 1)):
        moved = [[[a + x, b] for a, b in SQUARE[0]]]
        written(tmp_path, collection(feature(moved)), f"in/{rater}/p01.geojson")
    template = f"{tmp_path}/in/{{rater}}/{{case}}.geojson"
    given = {"images": f"{tmp_path}/images/{{case}}.png"} if size is None else {"image_size": size}
    imported = mt.import_study("qupath", template, to=tmp_path / "study", **given)
    masks = imported.study()["p01"].read().masks
    assert {column.name: int(np.count_nonzero(mask)) for column, mask in masks.items()} == {"anna": 70, "ben": 70}
    line = ["import", "qupath", template, "--to", str(tmp_path / "other"), "--image-size"]
    assert status([*line, "50x40"]) == 0
    assert status([*line, "50by40"]) == 2
    assert "--image-size must be width and height in pixels, as 1024x768; got '50by40'" in capsys.readouterr().err


WRONG = {
    "is GeoJSON of type 'Topology', expected a FeatureCollection": {"type": "Topology", "objects": {}},
    "object 0 (Polygon): has no points": collection(feature([])),
    "object 0 (MultiPolygon): has no points": collection(feature([], kind="MultiPolygon")),
    "object 0 (Polygon): has no coordinates": collection(feature(None)),
    "object 0 (Polygon): ring 0 has 2 points; an area needs": collection(feature([[[1, 1], [2, 2]]])),
    "object 0 (Polygon): ring 0 has coordinates that are": collection(feature([[[1, 1], [2e99, 2], [3, 1]]])),
    "object 0 (Polygon): is damaged, or not a file of this tool": collection(feature([[[1, 1, 4]]])),
    "object 0 (Circle): is of type 'Circle', which QuPath does not draw": collection(feature(kind="Circle")),
    "object 1 (Polygon): objects lie on several planes": collection(feature(), feature(plane={"z": 2, "t": 0})),
    "its plane has z or t that are not whole": collection(feature(plane={"z": "x"})),
    "its plane is not an object": collection(feature(plane=[1])),
    "object 0 (Polygon): its class is not a name": collection(feature(classification={"name": 5})),
    "it has 100001 points, more than 100000": collection(feature([[[k, k] for k in range(100_001)]])),
    "it has 120000 points": collection(feature([[[[k, 1] for k in range(60_000)]]] * 2, kind="MultiPolygon")),
    "its 'rank' is 'x'; a rank is a whole number": collection(feature(metadata={"rank": "x"})),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_is_refused(tmp_path, said):
    path = written(tmp_path, WRONG[said])
    refused(lambda paths: read_qupath(paths, SIZE), path, said)


def test_too_many_objects(tmp_path, monkeypatch):
    monkeypatch.setattr("manytruths.io.geojson.MOST_MARKS", 3)
    path = written(tmp_path, collection(*[feature()] * 4))
    refused(lambda paths: read_qupath(paths, SIZE), path, "holds 4 objects, more than 3; export annotations alone")


HONEST = collection(
    feature(), feature([SQUARE, SQUARE], "Stroma", "MultiPolygon", measurements={"rank": 1}),
    feature([1, 2], kind="Point"), feature(metadata={"a": "b"}, plane={"c": -1, "z": 0, "t": 0}),
)  # fmt: skip


@pytest.mark.slow
def test_two_thousand_damaged_files(tmp_path):
    path, read = tmp_path / "p01.geojson", 0
    data = json.dumps(HONEST).encode()
    for seed in range(1000):
        for changed in (mutated(data, seed), grafted(HONEST, seed)):
            path.write_bytes(changed)
            read += survives(read_qupath, path, SIZE)
    assert 0 < read < 2000
