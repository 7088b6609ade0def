"""Studies whose masks are files of outlines: the numbers and maps of the masks that they draw."""

import json

import numpy as np
import pytest
import zarr
from PIL import Image
from test_large_cases import small_tiles, text  # noqa: F401

import manytruths as mt
from manytruths.cli import status
from manytruths.io import files
from manytruths.shape.regions import combine_labels

SHAPE = (200, 260)
CLASSES = {"Stroma": (160, 110, 45), "Tumor": (90, 100, 50)}


def circle(x, y, radius, rng, points=40):
    angle = np.linspace(0, 2 * np.pi, points, endpoint=False)
    reach = radius + rng.normal(0, 2, points)
    return np.array([x, y]) + rng.normal(0, 3, 2) + reach[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)


def drawings(seed=0, cases=("p1", "p2"), raters="ABC", classes=CLASSES):
    rng = np.random.default_rng(seed)
    return {
        (case, rater): {name: [circle(*place, rng)] for name, place in classes.items()}
        for case in cases
        for rater in raters
    }


def feature(name, rings):
    closed = [[*np.asarray(ring).tolist(), np.asarray(ring)[0].tolist()] for ring in rings]
    properties = {"objectType": "annotation"} | ({"classification": {"name": name}} if name else {})
    return {
        "type": "Feature", "geometry": {"type": "Polygon", "coordinates": closed}, "properties": properties,
    }  # fmt: skip


def geojson(objects):
    return json.dumps({"type": "FeatureCollection", "features": [feature(*each) for each in objects]})


def annotation(name, ring, kind="Polygon"):
    points = "".join(
        f'<Coordinate Order="{k}" X="{x}" Y="{y}" />' for k, (x, y) in enumerate(np.asarray(ring).tolist())
    )
    group = name or "None"
    return (
        f'<Annotation Name="Annotation 0" Type="{kind}" PartOfGroup="{group}" Color="#F4FA58">'
        f"<Coordinates>{points}</Coordinates></Annotation>"
    )


def asap(objects):
    inside = "".join(annotation(name, ring) for name, rings in objects for ring in rings)
    groups = "".join(
        f'<Group Name="{name}" PartOfGroup="None" Color="#64FE2E"><Attributes /></Group>' for name, _ in objects
    )
    return (
        f'<?xml version="1.0"?><ASAP_Annotations><Annotations>{inside}</Annotations>'
        f"<AnnotationGroups>{groups}</AnnotationGroups></ASAP_Annotations>"
    )


def write(root, drawn, shape=SHAPE):
    """Every reading as GeoJSON, as XML of ASAP and as PNG, and an image of each case."""
    names = sorted({name for objects in drawn.values() for name in objects})
    for (case, rater), objects in drawn.items():
        for kind in ("geojson", "xml", "png"):
            (root / kind / rater).mkdir(parents=True, exist_ok=True)
        (root / f"geojson/{rater}/{case}.geojson").write_text(geojson(objects.items()))
        (root / f"xml/{rater}/{case}.xml").write_text(asap(objects.items()))
        masks = [mt.rasterise_polygon(rings, shape) for rings in objects.values()]
        labels = [names.index(name) + 1 for name in objects]
        mask = combine_labels(masks, labels) if masks else np.zeros(shape, np.uint8)
        Image.fromarray(mask.astype(np.uint8)).save(root / f"png/{rater}/{case}.png")
        (root / "images").mkdir(exist_ok=True)
        Image.fromarray(np.zeros((*shape, 3), np.uint8)).save(root / f"images/{case}.png")
    return root


def opened(root, kind, **options):
    if kind == "png":
        options = {"labels": {1: "Stroma", 2: "Tumor"}} | options
    return mt.Study.open(f"{root}/{kind}/{{rater}}/{{case}}.{kind}", images=f"{root}/images/{{case}}.png", **options)


@pytest.mark.parametrize("kind", ["geojson", pytest.param("xml", marks=pytest.mark.slow)])
def test_small_images_are_drawn_and_analysed_as_any_others(tmp_path, kind):
    root = write(tmp_path, drawings())
    found, wanted = mt.agree(opened(root, kind)), mt.agree(opened(root, "png"))
    assert set(found.tables) == set(wanted.tables)
    for table in wanted.tables:
        assert text(found, table) == text(wanted, table), table


@pytest.mark.parametrize("kind", ["geojson", pytest.param("xml", marks=pytest.mark.slow)])
@pytest.mark.parametrize("options", [{}, {"region": "union"}, {"foreground": "any"}, {"roi": True}])
def test_large_images_have_the_tables_and_maps_of_their_pixels(tmp_path, small_tiles, kind, options):  # noqa: F811
    root = write(tmp_path, drawings())
    drawn = options
    if "roi" in options:
        ring = [(30.2, 20), (200, 35), (190, 180.5), (20, 170)]
        for case in ("p1", "p2"):
            (root / f"{case}.geojson").write_text(geojson([("inside", [ring])]))
            Image.fromarray(mt.rasterise_polygon([ring], SHAPE)).save(root / f"{case}.png")
        options, drawn = {"roi": f"{root}/{{case}}.png"}, {"roi": f"{root}/{{case}}.geojson"}
    whole = opened(root, "png", **options)
    agreed = mt.agree(whole, measure="none")
    fused = mt.fuse(whole, out=root / "whole", distances=False, pictures=False)
    small_tiles()
    study = opened(root, kind, **drawn)
    reading = study["p1"].read(by_tile=True)
    assert reading.is_large
    assert all(isinstance(mask, mt.OutlineMask) for mask in reading.masks.values())
    again = mt.agree(study, measure="none")
    assert set(agreed.tables) - set(again.tables) <= {"regions", "features"}
    for table in again.tables:
        assert text(again, table) == text(agreed, table), table
    result = mt.fuse(study, out=root / kind, distances=False, pictures=False)
    for table in fused.tables:
        assert text(result, table) == text(fused, table), table
    for method in fused.methods:
        for case in ("p1", "p2"):
            name = f"{method.replace(':', '-')}/{case}"
            painted = zarr.open_array(root / f"{kind}/fuse/consensus/{name}.zarr/0")[...]
            np.testing.assert_array_equal(painted, np.asarray(Image.open(root / f"whole/fuse/consensus/{name}.png")))


def test_the_size_comes_from_the_image_or_is_given(tmp_path):
    root = write(tmp_path, drawings())
    template = f"{root}/geojson/{{rater}}/{{case}}.geojson"
    study = mt.Study.open(template, image_size="260x200")
    assert study["p1"].read().grid.shape == SHAPE
    assert mt.Study.open(template, image_size=(260, 200))["p1"].tally() == opened(root, "geojson")["p1"].tally()
    (root / "study.toml").write_text('masks = "geojson/{rater}/{case}.geojson"\nimage_size = "260x200"\n')
    assert mt.Study.open(root / "study.toml")["p1"].tally() == study["p1"].tally()
    with pytest.raises(mt.InputError, match=r"p1\.geojson: holds outlines, but not the size .*--image-size"):
        mt.Study.open(template)["p1"].tally()
    with pytest.raises(mt.CallError, match="image-size must be width and height"):
        mt.Study.open(template, image_size="260 by 200")
    (root / "study.toml").write_text('masks = "geojson/{rater}/{case}.geojson"\nimage_size = 260\n')
    with pytest.raises(mt.StudyError, match='image_size is written as "1024x768"'):
        mt.Study.open(root / "study.toml")


def test_spacing_comes_from_the_image(tmp_path):
    root = write(tmp_path, drawings(cases=["p1"]))
    store = zarr.create_group(root / "p1.zarr")
    store.create_array("0", shape=(1, *SHAPE), chunks=(1, 100, 100), dtype="u1")
    store.attrs["ome"] = {
        "version": "0.5",
        "multiscales": [{
            "axes": [{"name": "c", "type": "channel"}]
            + [{"name": axis, "type": "space", "unit": "micrometer"} for axis in "yx"],
            "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 0.5, 0.25]}]}],
        }],
    }  # fmt: skip
    study = mt.Study.open(f"{root}/geojson/{{rater}}/{{case}}.geojson", images=f"{root}/{{case}}.zarr")
    assert study["p1"].read().grid.spacing == pytest.approx((0.0005, 0.00025))
    assert study["p1"].tally().unit.size == pytest.approx(0.0005 * 0.00025)


def test_labels_are_the_classes(tmp_path):
    root = write(tmp_path, drawings())
    study = opened(root, "geojson")
    assert study.options.labels.names == ("background", "Stroma", "Tumor")
    declared = opened(root, "geojson", labels={3: "Tumor", 7: "Stroma"})
    assert set(np.unique(declared["p1"].mask(declared.columns[0]).array)) == {0, 3, 7}
    with pytest.raises(mt.LabelError, match=r"has outlines of class 'Stroma', and labels are background, Tumor"):
        opened(root, "geojson", labels={1: "Tumor"})["p1"].tally()


def test_label_0_cuts_out(tmp_path):
    root = write(tmp_path, drawings(classes={"Tumor": (90, 100, 60), "Hole": (90, 100, 20)}))
    study = opened(root, "geojson", labels={0: "Hole", 1: "Tumor"})
    mask = study["p1"].mask(study.columns[0]).array
    assert mask[100, 90] == 0
    assert mask[100, 50] == 1


def test_objects_without_a_class(tmp_path):
    root = write(tmp_path, drawings(classes={"": (90, 100, 50)}))
    assert opened(root, "geojson").options.labels is None
    assert opened(root, "xml")["p1"].tally().labels.values == (0, 1)
    # are the one label that is declared
    assert opened(root, "geojson", labels={4: "Tumor"})["p1"].tally().labels.values == (0, 4)
    with pytest.raises(mt.LabelError, match="class 'unclassified'"):
        opened(root, "geojson", labels={4: "Tumor", 5: "Stroma"})["p1"].tally()


def test_a_reading_without_marks(tmp_path, monkeypatch):
    drawn = drawings()
    drawn["p2", "C"] = {}
    root = write(tmp_path, drawn)
    wanted = opened(root, "png")["p2"].tally()
    (root / "geojson/C/p2.geojson").unlink()
    (root / "reads.csv").write_text(
        "case,rater,status\n"
        + "".join(f"p{k},{r},done\n" for k in "12" for r in "ABC" if k + r != "2C")
        + "p2,C,empty\n"
    )
    for large in (files.LARGE, 1000):
        monkeypatch.setattr(files, "LARGE", large)
        study = opened(root, "geojson", reads=str(root / "reads.csv"))
        assert study["p2"].tally() == wanted


@pytest.mark.parametrize("large", [False, True])
def test_check_says_what_is_not_counted(tmp_path, monkeypatch, large):
    root = write(tmp_path, drawings())
    far = geojson([("Tumor", [[(240, 10), (300, 10), (300, 50)]]), ("Tumor", [[(10, 10), (50, 10), (50, 50)]])])
    point = {"type": "Feature", "geometry": {"type": "Point", "coordinates": [3, 4]}, "properties": {}}
    document = json.loads(far)
    document["features"].append(point)
    (root / "geojson/A/p1.geojson").write_text(json.dumps(document))
    if large:
        monkeypatch.setattr(files, "LARGE", 1000)
    said = [p.message for p in mt.check(opened(root, "geojson")).problems if p.kind == "outlines"]
    assert len(said) == 2
    assert "of rater A's outlines 1 of 2 reach beyond the image of 200×260 pixels" in said[0]
    assert "1 are no areas but points, and are left out" in said[1]


RING = [(10, 10), (50, 10), (50, 50)]
TWICE = annotation("T", RING).replace('Order="1"', 'Order="0"')


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("p1.geojson", "", "is empty"),
        ("p1.geojson", "{", "is damaged"),
        ("p1.geojson", '{"type": "Topology"}', "expected a FeatureCollection"),
        ("p1.geojson", geojson([("T", [RING[:2]])])[:-1], "is damaged"),
        ("p1.geojson", geojson([("T", [[(1, 1)]])]), "at least three"),
        ("p1.geojson", geojson([("T", [[(1, 1), (2, 2), (1e9, 1)]])]), "not finite, or beyond"),
        ("p1.geojson", geojson([("T", [RING])]).replace("50", "NaN"), "is damaged"),
        ("p1.geojson", geojson([("T", [RING])]).replace('"Polygon"', '"Curve"'), "which QuPath does not draw"),
        ("p1.xml", "", "is empty"),
        ("p1.xml", "<a/>", "starts with <a>, not <ASAP_Annotations>"),
        ("p1.xml", asap([("T", [RING])])[:-30], "is damaged"),
        ("p1.xml", "<!DOCTYPE a []>" + asap([("T", [RING])])[21:], "declares a document type"),
        ("p1.xml", asap([("T", [RING[:2]])]), "at least three"),
        ("p1.xml", asap([("T", [RING])]).replace('X="50"', 'X="nan"'), "not finite"),
        ("p1.xml", asap([("T", [RING])]).replace('X="50"', 'X="a"'), "is damaged"),
        ("p1.xml", asap([("T", [RING])]).replace('X="50"', ""), "<Coordinate> has no 'X'"),
        ("p1.xml", f"<ASAP_Annotations><Annotations>{TWICE}</Annotations></ASAP_Annotations>", "the same order"),
        ("p1.xml", asap([("T", [RING])]).replace('Order="2"', 'Order="7"'), "has the order 7, and there are 3"),
    ],
)
def test_files_that_are_no_outlines(tmp_path, capsys, name, content, says):
    root = write(tmp_path, drawings(cases=["p1"], classes={"T": (90, 100, 50)}))
    kind = name.rpartition(".")[2]
    (root / kind / "B" / name).write_text(content)
    line = ["agree", f"{root}/{kind}/{{rater}}/{{case}}.{kind}", "--image-size", "260x200", "--out", f"{tmp_path}/out"]
    assert status([*line, "--jobs", "1"]) == 1
    said = capsys.readouterr().err
    assert says in said
    assert f"B/{name}" in said
    assert len(said.strip().splitlines()) == 1
    assert not (tmp_path / "out" / "agree").exists()


def test_huge_files_are_bounded(tmp_path, monkeypatch):
    root = write(tmp_path, drawings(cases=["p1"]))
    study = opened(root, "xml")
    for name, most, says in (
        ("outline_files.MOST_MARKS", 1, "more than 1 annotations"),
        ("outline_files.MOST_OF_FILE", 50, "holds 80 points, more than 50"),
        ("documents.LARGEST_XML", 1000, "export it in parts"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(f"manytruths.io.{name}", most)
            with pytest.raises(mt.FormatError, match=says):
                study["p1"].tally()


def test_outlines_are_no_images(tmp_path):
    root = write(tmp_path, drawings(cases=["p1"]))
    with pytest.raises(mt.FormatError, match="holds outlines, not an image"):
        mt.Study.open(f"{root}/png/{{rater}}/{{case}}.png", images=f"{root}/geojson/A/{{case}}.geojson")["p1"].picture()


def test_a_spline_is_its_points_and_dots_are_no_areas(tmp_path):
    root = write(tmp_path, drawings(cases=["p1"]))
    parts = (
        annotation("Tumor", RING, "Spline") + annotation("Tumor", [(3, 3)], "Dot") + annotation("", RING, "Rectangle")
    )
    document = f"<ASAP_Annotations><Annotations>{parts}</Annotations></ASAP_Annotations>"
    (root / "xml/A/p1.xml").write_text(document)
    study = opened(root, "xml", foreground="any")
    assert (study["p1"].mask(study.columns[0]).array > 0).sum() == mt.rasterise_polygon([RING], SHAPE).sum()


def test_instances_need_numbers(tmp_path):
    root = write(tmp_path, drawings(cases=["p1"]))
    with pytest.raises(mt.StudyError, match="outlines have no numbers"):
        opened(root, "geojson", instances=True)


@pytest.mark.slow
def test_processes_read_outlines_of_their_own(tmp_path, small_tiles):  # noqa: F811
    root = write(tmp_path, drawings())
    small_tiles()
    one, two = (mt.agree(opened(root, "geojson"), measure="none", jobs=jobs) for jobs in (1, 2))
    for table in one.tables:
        assert text(one, table) == text(two, table), table
