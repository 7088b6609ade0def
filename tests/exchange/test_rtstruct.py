"""RTSTRUCT: voxels are those whose centres lie inside the contours, counted in millimetres in the patient."""

from __future__ import annotations

import struct
import tracemalloc

import numpy as np
import pydicom
import pytest

import manytruths as mt
from dicom_files import COLUMNS, ROWS, SLICES, contour, images, point_at, series_folder, structure_set
from manytruths import GridError, InputError, ManytruthsError
from manytruths.cli import status
from manytruths.exchange import combine_readings, read_rtstruct
from manytruths.exchange.dicom import structures
from manytruths.exchange.readings import ImportOptions
from mutations import mutated

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def ct(tmp_path_factory):
    return series_folder(tmp_path_factory.mktemp("dicom") / "ct")


@pytest.fixture(scope="module")
def slices(ct):
    return images(ct)


def saved(dataset, path):
    dataset.save_as(path, enforce_file_format=True)
    return path


def star(random, centre, low, high, points):
    """A ring around a centre, (points, 2) of column and row."""
    angles = np.sort(random.uniform(0, 2 * np.pi, points))
    radii = random.uniform(low, high, points)
    return np.asarray(centre) + radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], 1)


def keyhole(outer, inner):
    """One ring: along the outer one, through a channel of no width, backwards along the inner one, and back."""
    return np.concatenate([outer, outer[:1], inner[::-1], inner[-1:]])


def inside(source, rings):
    """(rows, columns): by the even-odd rule, in the plane of the slice and in mm, voxel by voxel and edge by edge."""
    across, down = np.array(source.ImageOrientationPatient, float).reshape(2, 3)
    rows, columns = np.mgrid[:ROWS, :COLUMNS]
    centres = point_at(source, columns, rows)
    x, y = centres @ across, centres @ down
    odd = np.zeros((ROWS, COLUMNS), bool)
    for ring in rings:
        u, v = ring @ across, ring @ down
        for a in range(len(ring)):
            b = (a + 1) % len(ring)
            if v[a] == v[b]:
                continue
            crosses = (v[a] > y) != (v[b] > y)
            odd ^= crosses & (x < u[a] + (y - v[a]) * (u[b] - u[a]) / (v[b] - v[a]))
    return odd


def drawn_rings(random):
    """Some contours of a slice: parts, holes, keyholes and rings that cross."""
    outer = star(random, (random.uniform(10, 28), random.uniform(10, 22)), 7, 12, int(random.integers(3, 40)))
    inner = star(random, outer.mean(0), 1, 4, int(random.integers(3, 20)))
    other = star(random, (random.uniform(-3, COLUMNS + 3), random.uniform(-3, ROWS + 3)), 2, 6, 9)
    return [[outer], [outer, inner], [keyhole(outer, inner)], [outer, inner, other], [keyhole(outer, inner), other]][
        int(random.integers(5))
    ]


ORIENTATIONS = {"oblique": None, "axial": (1, 0, 0, 0, 1, 0), "sagittal": (0, 1, 0, 0, 0, -1)}


@pytest.fixture(scope="module", params=ORIENTATIONS)
def turned(request, tmp_path_factory):
    """A series, and its slices."""
    orientation = ORIENTATIONS[request.param]
    more = {} if orientation is None else {"orientation": orientation}
    folder = series_folder(tmp_path_factory.mktemp("turned") / "ct", **more)
    return folder, images(folder)


@pytest.mark.parametrize("seed", range(4))
def test_voxels_are_those_inside_in_millimetres(tmp_path, turned, seed):
    random = np.random.default_rng(seed)
    folder, stack = turned
    wanted, contours = np.zeros((SLICES, ROWS, COLUMNS), bool), []
    for k in random.choice(SLICES, 7, replace=False).tolist():
        rings = [
            contour(point_at(stack[k], *ring.T), image_uid=stack[k].SOPInstanceUID) for ring in drawn_rings(random)
        ]
        written = [np.array(ring.ContourData, float).reshape(-1, 3) for ring in rings]
        wanted[k] = inside(stack[k], written)
        contours += rings
    random.shuffle(contours)
    path = saved(structure_set(stack[0], {"tumour": contours}), tmp_path / "rs.dcm")
    (read,) = read_rtstruct([path, folder])
    assert read.grid.shape == (COLUMNS, ROWS, SLICES)
    assert wanted.any()
    np.testing.assert_array_equal(read.structures()["tumour"], wanted.transpose(2, 1, 0))
    # the voxels lie where the slices do
    position = np.array(read.grid.affine) @ [0, 0, 3, 1] * [-1, -1, 1, 1]
    np.testing.assert_allclose(position[:3], np.array(stack[3].ImagePositionPatient, float), atol=1e-6)


def test_a_contour_within_another_is_a_hole_whether_keyhole_or_not(ct, slices, tmp_path):
    square = np.array([(4.5, 4.5), (20.5, 4.5), (20.5, 20.5), (4.5, 20.5)])
    hole = np.array([(9.5, 9.5), (14.5, 9.5), (14.5, 14.5), (9.5, 14.5)])
    island = np.array([(11.5, 11.5), (12.5, 11.5), (12.5, 12.5), (11.5, 12.5)])
    place = lambda ring: contour(point_at(slices[5], *ring.T))  # noqa: E731
    made = {"holes": [place(square), place(hole), place(island)], "key": [place(keyhole(square, hole))]}
    path = saved(structure_set(slices[0], made), tmp_path / "rs.dcm")
    drawn = read_rtstruct([path, ct])[0].structures()
    assert drawn["key"].sum() == 16 * 16 - 25
    assert drawn["holes"].sum() == 16 * 16 - 25 + 1
    assert drawn["holes"][12, 12, 5]
    assert not drawn["key"][12, 12, 5]


def test_contours_through_voxel_centres_do_not_depend_on_rounding(ct, slices, tmp_path):
    """Left and lower edges are out, right and upper ones in, as with outlines in images; all with --rule inclusive."""
    square = np.array([(4, 4), (9, 4), (9, 12), (4, 12)], float)
    rings = [contour(point_at(one, *square.T)) for one in slices]
    path = saved(structure_set(slices[0], {"a": rings}), tmp_path / "rs.dcm")
    for rule, size in (("centre", 5 * 8), ("inclusive", 6 * 9)):
        (read,) = read_rtstruct([path, ct], ImportOptions(rule=rule))
        drawn = read.structures()["a"]
        assert {int(drawn[..., k].sum()) for k in range(SLICES)} == {size}


def ring_on(source, shift=0.0):
    """A square on a slice, moved by a share of a slice along the normal."""
    across, down = np.array(source.ImageOrientationPatient, float).reshape(2, 3)
    return point_at(source, [5.5, 15.5, 15.5, 5.5], [5.5, 5.5, 15.5, 15.5]) + shift * 2.5 * np.cross(across, down)


@pytest.mark.parametrize(("shift", "level"), [(0.05, 5), (-0.09, 5)])
def test_rounded_positions_belong_to_their_slice(ct, slices, tmp_path, shift, level):
    path = saved(structure_set(slices[0], {"a": [contour(ring_on(slices[5], shift))]}), tmp_path / "rs.dcm")
    drawn = read_rtstruct([path, ct])[0].structures()["a"]
    assert np.flatnonzero(drawn.any(axis=(0, 1))).tolist() == [level]
    assert drawn.sum() == 100


@pytest.mark.parametrize(
    ("points", "said"),
    [
        (lambda s: ring_on(s[5], 0.4), r"'a': contour 1 lies between slices \(0.40 of a slice from slice 5\)"),
        (lambda s: ring_on(s[11], 3.0), "'a': contour 1 lies on slice 14 of a series of 12"),
        (lambda s: ring_on(s[0], -1.0), "'a': contour 1 lies on slice -1 of a series of 12"),
        (lambda s: np.concatenate([ring_on(s[2])[:2], ring_on(s[6])[2:]]), "'a': contour 1 is not drawn on a slice"),
    ],
)
def test_contours_off_the_slices(ct, slices, tmp_path, points, said):
    path = saved(structure_set(slices[0], {"a": [contour(points(slices))]}), tmp_path / "rs.dcm")
    with pytest.raises(GridError, match=said) as raised:
        read_rtstruct([path, ct])
    assert str(raised.value).startswith(f"{path}: ")
    assert "\n" not in str(raised.value)


def test_who_drew_what(ct, slices, tmp_path):
    both = {"tumour": [contour(ring_on(slices[4]))], "cyst": [contour(ring_on(slices[6]))], "nothing": []}
    path = saved(structure_set(slices[0], both), tmp_path / "rs.dcm")
    (read,) = read_rtstruct([path, ct])
    assert (read.rater, read.image, read.subject, read.started) == ("Jane Doe", "p01", "p01", "2026-02-01T10:15:00")
    assert [mark.label for mark in read.marks] == ["tumour", "cyst", "nothing"]
    assert not read.structures()["nothing"].any()
    assert read.status == "done"
    assert read.marks[0].attributes == {"algorithm": "MANUAL", "type": "GTV"}
    (read,) = read_rtstruct([f"Dr. X={path}", ct])
    assert read.rater == "Dr. X"
    made = structure_set(slices[0], both, interpreters={"tumour": "Roe^Ann", "cyst": "Poe^Bob", "nothing": "Poe^Bob"})
    ann, bob = read_rtstruct([saved(made, tmp_path / "two.dcm"), ct])
    assert (ann.rater, bob.rater) == ("Ann Roe", "Bob Poe")
    assert [mark.label for mark in bob.marks] == ["cyst", "nothing"]
    made = structure_set(slices[0], {"nothing": []}, rater="")
    (read,) = read_rtstruct([saved(made, tmp_path / "anna.dcm"), ct])
    assert (read.rater, read.status) == ("anna", "empty")


def test_points_and_open_contours_are_said(ct, slices, tmp_path):
    marks = [
        contour(ring_on(slices[4])), contour(ring_on(slices[4])[:1], "POINT"),
        contour(ring_on(slices[5])[:2], "OPEN_PLANAR"), contour(ring_on(slices[5])[:2]),
    ]  # fmt: skip
    path = saved(structure_set(slices[0], {"a": marks}), tmp_path / "rs.dcm")
    reads = read_rtstruct([path, ct])
    assert dict(reads[0].left_out) == {"points": 1, "polyline": 1}
    with pytest.raises(
        InputError, match=r"case p01, rater Jane Doe: 1 points; .*leave them out with --skip points,poly"
    ):
        combine_readings(reads)
    combine_readings(reads, skip=("points", "polyline"))
    (read,) = read_rtstruct([path, ct], ImportOptions(widen=2.0))
    assert dict(read.left_out) == {"points": 1}
    assert read.structures()["a"][..., 5].sum() > 0


def test_the_series_must_be_there(ct, slices, tmp_path):
    path = saved(structure_set(slices[0], {"a": [contour(ring_on(slices[4]))]}), tmp_path / "rs.dcm")
    with pytest.raises(GridError, match=r"rs\.dcm: the series that it was drawn on is not among the paths; name its"):
        read_rtstruct(path)
    with pytest.raises(InputError, match="holds no DICOM structure set"):
        read_rtstruct(ct)
    other = series_folder(tmp_path / "other", series="pet")
    made = structure_set(slices[0], {"a": [contour(ring_on(slices[4]))]})
    made.ReferencedFrameOfReferenceSequence[0].RTReferencedStudySequence = []
    path = saved(made, tmp_path / "rs.dcm")
    assert len(read_rtstruct([path, ct])) == 1  # the only series in its coordinate system
    with pytest.raises(GridError, match="was drawn on one of 2 series and does not say which"):
        read_rtstruct([path, ct, other])
    made.ROIContourSequence[0].ContourSequence[0] = contour(ring_on(slices[4]), image_uid=slices[4].SOPInstanceUID)
    assert len(read_rtstruct([saved(made, tmp_path / "rs.dcm"), ct, other])) == 1
    study = structure_set(slices[0], {}).ReferencedFrameOfReferenceSequence[0].RTReferencedStudySequence
    again = pydicom.Dataset()
    again.SeriesInstanceUID = images(other)[0].SeriesInstanceUID
    study[0].RTReferencedSeriesSequence.append(again)
    made.ReferencedFrameOfReferenceSequence[0].RTReferencedStudySequence = study
    (read,) = read_rtstruct([saved(made, tmp_path / "rs.dcm"), ct, other])  # the images decide between two
    assert str(read.picture) == str(ct)


def test_a_study(ct, slices, tmp_path, capsys):
    for rater, shift in (("anna", 4), ("ben", 5)):
        made = structure_set(slices[0], {"tumour": [contour(ring_on(slices[shift]))]}, rater)
        saved(made, tmp_path / f"{rater}.dcm")
    line = ["import", "rtstruct", str(tmp_path / "anna.dcm"), str(tmp_path / "ben.dcm"), str(ct)]
    assert status([*line, "--to", str(tmp_path / "study"), "--jobs", "1"]) == 0
    study = mt.Study.open(tmp_path / "study")
    assert study.rater_names == ("anna", "ben")
    reading = study["p01"].read()
    assert reading.grid.shape == (COLUMNS, ROWS, SLICES)
    assert "reading log" not in capsys.readouterr().err
    assert (tmp_path / "study/images/p01.nii.gz").is_file()


# -- files that are damaged or lie ------------------------------------------------------------------------


def put(place, **values):
    def spoil(made):
        for name, value in values.items():
            setattr(place(made), name, value)

    return spoil


FIRST = lambda made: made.ROIContourSequence[0].ContourSequence[0]  # noqa: E731
SPOILT = {
    "describes no structures": put(lambda made: made, StructureSetROISequence=[]),
    "has contours of structure 9, which is not described": put(
        lambda made: made.ROIContourSequence[0], ReferencedROINumber=9
    ),
    "describes two structures of number 1": put(lambda made: made.StructureSetROISequence[1], ROINumber=1),
    "contour 1 of structure 1 is of type 'BLOB', expected CLOSED_PLANAR": put(FIRST, ContourGeometricType="BLOB"),
    "contour 1 of structure 1 has 4 points where its header says 5": put(FIRST, NumberOfContourPoints=5),
    r"contour 1 of structure 1 is not a list of points \(x, y, z\)": put(FIRST, ContourData=["1", "2"]),
    "is not a list of points": put(FIRST, ContourData=[]),
}


@pytest.mark.parametrize("said", SPOILT)
def test_sets_that_lie(ct, slices, tmp_path, said):
    made = structure_set(slices[0], {"a": [contour(ring_on(slices[4]))], "b": []})
    SPOILT[said](made)
    path = saved(made, tmp_path / "rs.dcm")
    with pytest.raises(ManytruthsError, match=said) as raised:
        read_rtstruct([path, ct])
    assert str(raised.value).startswith(f"{path}: ")


@pytest.mark.parametrize("number", [b"nan", b"inf", b"1e308", b"x", b""])
def test_numbers_that_are_none(ct, slices, tmp_path, number):
    made = structure_set(slices[0], {"a": [contour(ring_on(slices[4]))]})
    path = saved(made, tmp_path / "rs.dcm")
    data = path.read_bytes()
    old = str(FIRST(made).ContourData[0]).encode()
    path.write_bytes(data.replace(old, number.ljust(len(old)), 1))
    with pytest.raises(
        InputError, match=r"contour 1 of structure 1 (is not a list|has coordinates that are not numbers)"
    ):
        read_rtstruct([path, ct])


def test_too_much_of_everything(ct, slices, tmp_path, monkeypatch):
    made = structure_set(slices[0], {"a": [contour(ring_on(slices[4]))] * 40})
    path = saved(made, tmp_path / "rs.dcm")
    for name, most, said in (
        ("MOST_POINTS_OF_FILE", 100, "has more than 100 points"),
        ("MOST_POINTS", 3, "contour 1 of structure 1 has more than 3 points"),
        ("MOST_ITEMS", 30, "its header holds too many items"),
        ("LARGEST_FILE", 1000, "its header is too long"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(structures, name, most)
            with pytest.raises(InputError, match=said):
                read_rtstruct([path, ct])


def test_a_length_that_lies_takes_no_memory(ct, slices, tmp_path):
    path = saved(structure_set(slices[0], {"a": [contour(ring_on(slices[4]))]}), tmp_path / "rs.dcm")
    data = path.read_bytes()
    at = data.index(b"\x06\x30\x39\x00SQ") + 8
    path.write_bytes(data[:at] + struct.pack("<I", 0x7FFFFFFF) + data[at + 4 :])
    tracemalloc.start()
    try:
        tried([path, ct])
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()


def tried(paths) -> bool:
    """Whether it could be read."""
    said = ""
    try:
        for read in read_rtstruct(paths):
            read.structures()
    except ManytruthsError as error:
        said = str(error)
    assert "\n" not in said
    return not said


@pytest.mark.slow
@pytest.mark.parametrize("syntax", ["1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.1.99"])
def test_a_thousand_damaged_sets(ct, slices, tmp_path, syntax):
    rings = [contour(ring_on(one), image_uid=one.SOPInstanceUID) for one in slices[2:9]]
    made = structure_set(slices[0], {"a": rings, "b": rings[:3]})
    made.file_meta.TransferSyntaxUID = syntax
    path, read = saved(made, tmp_path / "rs.dcm"), 0
    data = path.read_bytes()
    for seed in range(400):
        path.write_bytes(mutated(data, seed))
        read += tried([path, ct])
    assert 0 < read < 400


@pytest.mark.slow
def test_elements_that_changed(ct, slices, tmp_path):
    import random

    from test_dicom_fuzz import spoil

    original, read = structure_set(slices[0], {"a": [contour(ring_on(one)) for one in slices[2:5]], "b": []}), 0
    path = saved(original, tmp_path / "rs.dcm")
    data = path.read_bytes()
    for seed in range(150):
        path.write_bytes(data)
        dataset, chance = pydicom.dcmread(path), random.Random(seed)
        for _ in range(chance.randint(1, 3)):
            spoil(dataset, chance)
        try:
            dataset.save_as(path)
        except Exception:  # pydicom does not write everything
            continue
        read += tried([path, ct])
    assert read
