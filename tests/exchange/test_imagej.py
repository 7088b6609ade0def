"""Regions of interest of ImageJ, as roifile writes and reads them: pixels by their centres, bit for bit."""

from __future__ import annotations

import io
import struct
import zipfile
from fractions import Fraction

import numpy as np
import pytest
import roifile
from PIL import Image
from rasterio.features import rasterize
from roifile import ROI_OPTIONS, ROI_SUBTYPE, ROI_TYPE, ImagejRoi

import manytruths as mt
from json_exports import refused, survives
from manytruths import InputError
from manytruths.exchange import combine_readings, read_imagej
from manytruths.exchange.readings import ImportOptions
from mutations import mutated

SHAPE = 40, 50
SIZE = ImportOptions(image_size=(50, 40))


def region(kind, **fields):
    made = ImagejRoi()
    made.roitype = kind
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def written(folder, *regions, name="anna/p01.zip"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for k, one in enumerate(regions):
            archive.writestr(f"{k}.roi", one.tobytes())
    return path


def drawn(read, k=0):
    whole = np.zeros(read.grid.shape, bool)
    window, inside = read.marks[k].outline.pixels(read.grid.shape)
    whole[window] = inside
    return whole


def filled(rings):
    """By GDAL, ring after ring: even-odd."""
    odd = np.zeros(SHAPE, bool)
    for ring in rings:
        closed = [*map(tuple, np.asarray(ring, float)), tuple(np.asarray(ring[0], float))]
        odd ^= rasterize([({"type": "Polygon", "coordinates": [closed]}, 1)], SHAPE) == 1
    return odd


def star(random, points=30, centre=(24, 19), high=18):
    angles = np.sort(random.uniform(0, 2 * np.pi, points))
    radii = random.uniform(3, high, points)
    return np.asarray(centre) + radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], 1)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", [ROI_TYPE.POLYGON, ROI_TYPE.FREEHAND, ROI_TYPE.TRACED])
def test_polygons(tmp_path, seed, kind):
    random = np.random.default_rng(seed)
    ring = star(random, int(random.integers(3, 60)))
    made = ImagejRoi.frompoints(np.rint(ring).astype(int) if seed % 2 else ring.astype(np.float32), name="lesion")
    made.roitype = kind
    made.tofile(tmp_path / "p01.roi")
    (read,) = read_imagej(tmp_path / "p01.roi", SIZE)
    coordinates = roifile.roiread(tmp_path / "p01.roi").coordinates()
    np.testing.assert_array_equal(read.marks[0].outline.rings[0], coordinates)
    np.testing.assert_array_equal(drawn(read), filled([coordinates]))
    assert read.marks[0].label == "lesion"


@pytest.mark.parametrize("seed", range(6))
def test_composite_regions_with_holes(tmp_path, seed):
    random = np.random.default_rng(seed)
    path = []
    for ring in [star(random), star(random, 9, high=8), star(random, 12, (40, 30), 9)][: 2 + seed % 2]:
        for k, (x, y) in enumerate(ring.astype(np.float32).tolist()):
            path += [0.0 if k == 0 else 1.0, x, y]
        path.append(4.0)
    numbers = np.array(path, np.float32)
    made = region(ROI_TYPE.RECT, multi_coordinates=numbers, shape_roi_size=len(path), right=50, bottom=40, name="all")
    made.tofile(tmp_path / "p01.roi")
    (read,) = read_imagej(tmp_path / "p01.roi", SIZE)
    rings = [ring[:-1] for ring in roifile.roiread(tmp_path / "p01.roi").coordinates(multi=True)]
    np.testing.assert_array_equal(drawn(read), filled(rings))


def in_oval(left, top, width, height):
    """Centres inside or on the ellipse, by fractions."""
    inside = np.zeros(SHAPE, bool)
    half = Fraction(width) / 2, Fraction(height) / 2
    for row, column in np.ndindex(SHAPE):
        x, y = (column + Fraction(1, 2) - left - half[0]) / half[0], (row + Fraction(1, 2) - top - half[1]) / half[1]
        inside[row, column] = x * x + y * y <= 1
    return inside


@pytest.mark.parametrize(
    "box",
    [(3, 4, 20, 11), (3, 4, 5, 5), (0, 0, 50, 40), (-7, -3, 30, 21), (40, 30, 25, 26), (9, 9, 1, 1), (2, 3, 10, 9)],
)
def test_ovals_and_rectangles(tmp_path, box):
    left, top, width, height = box
    edges = {"left": left, "top": top, "right": left + width, "bottom": top + height}
    path = written(tmp_path, region(ROI_TYPE.OVAL, **edges, name="a"), region(ROI_TYPE.RECT, **edges, name="b"))
    (read,) = read_imagej(path, SIZE)
    np.testing.assert_array_equal(drawn(read), in_oval(*box))
    square = np.zeros(SHAPE, bool)
    square[max(0, top) : top + height, max(0, left) : left + width] = True
    np.testing.assert_array_equal(drawn(read, 1), square)


def test_boxes_of_fractions_of_pixels(tmp_path):
    edges = {"xd": 3.25, "yd": 4.75, "widthd": 20.5, "heightd": 11.25, "left": 3, "top": 4, "right": 24, "bottom": 16}
    exact = {"options": ROI_OPTIONS.SUB_PIXEL_RESOLUTION, "version": 227, **edges}
    path = written(tmp_path, region(ROI_TYPE.OVAL, **exact, name="a"), region(ROI_TYPE.RECT, **exact, name="b"))
    (read,) = read_imagej(path, SIZE)
    np.testing.assert_array_equal(drawn(read), in_oval(*map(Fraction, (3.25, 4.75, 20.5, 11.25))))
    np.testing.assert_array_equal(drawn(read, 1), filled([[(3.25, 4.75), (23.75, 4.75), (23.75, 16), (3.25, 16)]]))


def test_large_images_wrap_coordinates(tmp_path):
    ring = np.array([(40_000, 41_000), (40_030, 41_000), (40_030, 41_020), (40_000, 41_020)])
    ImagejRoi.frompoints(ring, name="a").tofile(tmp_path / "p01.roi")
    (read,) = read_imagej(tmp_path / "p01.roi", SIZE)
    np.testing.assert_array_equal(read.marks[0].outline.rings[0], ring)
    edges = {"left": 40_000, "top": 41_000, "right": 40_030, "bottom": 41_020}
    region(ROI_TYPE.RECT, **edges).tofile(tmp_path / "p01.roi")
    (read,) = read_imagej(tmp_path / "p01.roi", SIZE)
    assert read.marks[0].outline.rings[0].max(axis=0).tolist() == [40_030, 41_020]


def test_names_groups_and_raters(tmp_path):
    box = {"left": 2, "top": 2, "right": 9, "bottom": 9}
    made = [
        region(ROI_TYPE.RECT, **box, name="lesion"), region(ROI_TYPE.RECT, **box, name="lesion-1"),
        region(ROI_TYPE.RECT, **box, name="T-1"), region(ROI_TYPE.RECT, **box, name="0012-0034"),
        region(ROI_TYPE.RECT, **box, name="0001-0012-0034-2", group=3), region(ROI_TYPE.OVAL, **box, name="Läsion 漢"),
    ]  # fmt: skip
    (read,) = read_imagej(written(tmp_path, *made), SIZE)
    assert [mark.label for mark in read.marks] == ["lesion", "lesion", "T-1", "roi", "group 3", "Läsion 漢"]
    assert (read.rater, read.image, read.tool, read.status) == ("anna", "p01", "ImageJ", "done")
    (read,) = read_imagej(f"Dr. X={tmp_path}/anna/p01.zip", SIZE)
    assert read.rater == "Dr. X"


def test_regions_in_files_of_their_own_are_one_reading(tmp_path):
    for case in ("p01", "p02"):
        for k in range(3):
            (tmp_path / "ben" / case).mkdir(parents=True, exist_ok=True)
            box = {"left": 2 + k, "top": 2, "right": 9, "bottom": 9}
            region(ROI_TYPE.RECT, **box, name="a").tofile(tmp_path / "ben" / case / f"{k}.roi")
    reads = read_imagej(f"{tmp_path}/{{rater}}/{{case}}/{{label}}.roi", SIZE)
    assert [(read.case, read.rater, len(read.marks)) for read in reads] == [("p01", "ben", 3), ("p02", "ben", 3)]
    combine_readings(reads)


def test_points_lines_and_text_are_said(tmp_path):
    ring = np.array([(3, 3), (20, 9), (9, 20)])
    made = [ImagejRoi.frompoints(ring, name=str(kind)) for kind in range(5)]
    for one, kind in zip(made, (ROI_TYPE.POINT, ROI_TYPE.POLYLINE, ROI_TYPE.FREELINE, ROI_TYPE.ANGLE, 0), strict=True):
        one.roitype = ROI_TYPE(kind)
    made.append(region(ROI_TYPE.LINE, x1=2.0, y1=3.0, x2=9.0, y2=3.0, name="line"))
    made.append(region(ROI_TYPE.RECT, subtype=ROI_SUBTYPE.TEXT, right=9, bottom=9, text="x", name="text"))
    path = written(tmp_path, *made)
    (read,) = read_imagej(path, SIZE)
    assert dict(read.left_out) == {"points": 1, "polyline": 4, "text": 1}
    with pytest.raises(InputError, match=r"shapes that are not areas: .*--skip points,polyline,text"):
        combine_readings([read])
    (read,) = read_imagej(path, ImportOptions(image_size=(50, 40), widen=1.0))
    assert dict(read.left_out) == {"points": 1, "text": 1}
    assert drawn(read, len(read.marks) - 1).sum() == 7 * 2


def test_a_study(tmp_path):
    (tmp_path / "images").mkdir()
    Image.new("L", (50, 40), 9).save(tmp_path / "images" / "p01.png")
    for rater, x in (("anna", 2), ("ben", 3)):
        box = {"left": x, "top": 2, "right": x + 7, "bottom": 9}
        written(tmp_path, region(ROI_TYPE.OVAL, **box, name="lesion"), name=f"in/{rater}/p01.zip")
    imported = mt.import_study(
        "imagej",
        f"{tmp_path}/in/{{rater}}/{{case}}.zip",
        to=tmp_path / "study",
        images=f"{tmp_path}/images/{{case}}.png",
    )
    masks = imported.study()["p01"].read().masks
    assert {column.name: int(np.count_nonzero(mask)) for column, mask in masks.items()} == {"anna": 37, "ben": 37}


# -- files that are damaged or lie ------------------------------------------------------------------------

BOX = {"left": 2, "top": 2, "right": 9, "bottom": 9, "name": "a"}
RING = ImagejRoi.frompoints(np.array([(3, 3), (20, 9), (9, 20)]), name="a")


def changed(made, at, form, *values):
    data = bytearray(made.tobytes())
    struct.pack_into(form, data, at, *values)
    return bytes(data)


WRONG = {
    "is not a region of ImageJ or a set of them: it starts with b'hell'": b"hello, I am a text",
    "region p01.roi: is not a region of ImageJ: it starts with b'Iout": b"Iout123",
    "is of type 11, which ImageJ does not have": changed(region(ROI_TYPE.RECT, **BOX), 6, ">B", 11),
    "is a curve through its points (a spline)": changed(RING, 50, ">h", 1),
    "is a rectangle with round corners": changed(region(ROI_TYPE.RECT, **BOX), 54, ">h", 7),
    "too few for 60000 points": changed(RING, 16, ">H", 60_000),
    "too few for -5 points": changed(RING, 16, ">Hi", 0, -5),
    "it has 2000000000 points, more than 100000": changed(RING, 16, ">Hi", 0, 2_000_000_000),
    "ring 0 has 2 points; an area needs at least three": changed(RING, 16, ">H", 2),
    "too few for a path of 1000 numbers": changed(region(ROI_TYPE.RECT, **BOX), 36, ">i", 1000),
    "is a composite region of type 2, expected 1": changed(region(ROI_TYPE.OVAL, **BOX), 36, ">i", 9),
    "an oval of 0 × 7 pixels": changed(region(ROI_TYPE.OVAL, **BOX), 14, ">h", 2),
    "its name reaches beyond its end": changed(RING, 64 + 12 + 20, ">i", 10_000),
}  # fmt: skip


@pytest.mark.parametrize("said", WRONG)
def test_what_is_refused(tmp_path, said):
    (tmp_path / "p01.roi").write_bytes(WRONG[said])
    refused(lambda paths: read_imagej(paths, SIZE), tmp_path / "p01.roi", said)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ([0.0, 1, 1, 2, 3, 3, 5, 5, 4], "is a composite region with curves"),
        ([1.0, 1, 1, 4], "is a composite region with a damaged path"),
        ([0.0, 1], "is a composite region with a damaged path"),
        ([np.nan, 1, 1, 4], "is a composite region with a damaged path"),
        ([0.0, 1, 1, 4], "is a composite region without an area"),
        ([0.0, 1, 1, 1, np.nan, 3, 1, 5, 5, 4], "coordinates that are not finite"),
    ],
)
def test_paths_that_are_none(tmp_path, path, said):
    numbers = np.array(path, np.float32)
    region(ROI_TYPE.RECT, multi_coordinates=numbers, shape_roi_size=len(path), **BOX).tofile(tmp_path / "p01.roi")
    refused(lambda paths: read_imagej(paths, SIZE), tmp_path / "p01.roi", said)


def test_sets_that_are_none(tmp_path, monkeypatch):
    read = lambda paths: read_imagej(paths, SIZE)  # noqa: E731
    refused(read, written(tmp_path), "holds no file that ends in .roi")
    on = [ImagejRoi.frompoints(np.array([(3, 3), (20, 9), (9, 20)]), name=str(k), position=k) for k in (2, 2, 4)]
    assert len(read(written(tmp_path, *on[:2]))[0].marks) == 2
    refused(read, written(tmp_path, *on), "its regions lie on several slices of a stack; save those of one slice")
    path = written(tmp_path, *[RING] * 4)
    monkeypatch.setattr("manytruths.exchange.imagej.MOST_ROIS", 3)
    refused(read, path, "holds 4 files that end in .roi, more than 3")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.roi", RING.tobytes() + bytes(1 << 25))
    refused(read, path, "unpacks to more than an export can hold")
    with pytest.raises(InputError, match=r"p01\.zip: does not hold the size of its image"):
        read_imagej(path)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["roi", "zip"])
def test_a_thousand_damaged_regions(tmp_path, form):
    random = np.random.default_rng(0)
    ring = star(random, 9).astype(np.float32)
    numbers = np.array([0, 1, 1, 1, 30, 2, 1, 20, 30, 4, 0, 9, 9, 1, 12, 9, 1, 9, 12, 4], np.float32)
    made = [
        ImagejRoi.frompoints(ring, name="a"), ImagejRoi.frompoints(ring.astype(int), name="b"),
        region(ROI_TYPE.OVAL, **BOX),
        region(ROI_TYPE.RECT, multi_coordinates=numbers, shape_roi_size=len(numbers), **BOX),
    ]  # fmt: skip
    path, read = tmp_path / f"p01.{form}", 0
    for seed in range(1000):
        data = made[seed % 4].tobytes()
        if form == "zip":
            stream = io.BytesIO()
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
                for k, one in enumerate(made):
                    archive.writestr(f"{k}.roi", one.tobytes())
            data = stream.getvalue()
        path.write_bytes(mutated(data, seed))
        read += survives(read_imagej, path, SIZE)
    assert 0 < read < 1000
