"""MetaImage files: pixels and positions are those of SimpleITK, and headers that lie are refused in one line."""

import os
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
import SimpleITK
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from manytruths import FormatError, Grid, GridError, ManytruthsError
from manytruths.io import probe, read_image, read_mask, read_probability, write_map
from study_folders import run

VOLUME = np.arange(210, dtype=np.uint8).reshape(5, 6, 7) % 3
RAW = VOLUME.tobytes("F")
FIELDS = {
    "ObjectType": "Image", "NDims": "3", "DimSize": "5 6 7", "ElementType": "MET_UCHAR", "ElementDataFile": "LOCAL",
}  # fmt: skip
KINDS = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8")


def header(more: str = "", **fields) -> bytes:
    """A header; fields that are None are left out, and the data file comes last."""
    merged = {**FIELDS, **fields}
    merged["ElementDataFile"] = merged.pop("ElementDataFile")
    return ("".join(f"{k} = {v}\n" for k, v in merged.items() if v is not None) + more).encode()


def made(path: Path, data: bytes = RAW, more: str = "", **fields) -> Path:
    path.write_bytes(header(more, **fields) + data)
    return path


def itk(array: np.ndarray, seed: int) -> SimpleITK.Image:
    """An image (axes reversed) somewhere in space, turned and mirrored."""
    random = np.random.default_rng(seed)
    image = SimpleITK.GetImageFromArray(array.T.copy())
    axes = array.ndim
    turn = Rotation.random(rng=seed) if axes == 3 else Rotation.from_rotvec([0, 0, seed])
    image.SetDirection((turn.as_matrix()[:axes, :axes] @ np.diag(random.choice([-1.0, 1.0], axes))).ravel().tolist())
    image.SetSpacing(random.uniform(0.1, 5, axes).tolist())
    image.SetOrigin(random.normal(0, 100, axes).tolist())
    return image


def positions(grid: Grid, indices: np.ndarray) -> np.ndarray:
    """Of voxels, in the coordinates of ITK."""
    matrix = grid.matrix()
    found = indices @ matrix[:-1, :-1].T + matrix[:-1, -1]
    return found * np.array([-1.0, -1.0, 1.0])[: found.shape[1]]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.booleans(), st.sampled_from([".mha", ".mhd"]), st.booleans())
def test_pixels_and_positions_are_those_of_simpleitk(tmp_path, seed, kind, packed, suffix, flat):
    random = np.random.default_rng(seed)
    array = random.integers(0, 100, random.integers(2, 8, 2 if flat else 3)).astype(kind)
    image, path = itk(array, seed), tmp_path / f"m{suffix}"
    SimpleITK.WriteImage(image, str(path), packed)
    mask = read_mask(path)
    np.testing.assert_array_equal(mask.array, array)
    np.testing.assert_array_equal(read_probability(path).array, array)
    assert mask.format == "metaimage"
    assert mask.grid == probe(path)
    assert mask.grid.placed is not flat
    indices = random.integers(0, array.shape, (9, array.ndim))
    wanted = [image.TransformIndexToPhysicalPoint(index) for index in indices.tolist()]
    np.testing.assert_allclose(positions(mask.grid, indices), wanted, rtol=0, atol=1e-9)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.sampled_from(["u1", "u2", "i4", "f4"]), st.booleans())
def test_simpleitk_reads_what_is_written(tmp_path, seed, kind, flat):
    random = np.random.default_rng(seed)
    array = random.integers(0, 100, random.integers(2, 8, 2 if flat else 3)).astype(kind)
    SimpleITK.WriteImage(itk(array, seed), str(tmp_path / "in.mha"))
    grid = probe(tmp_path / "in.mha")
    write_map(tmp_path / "out.mha", array, grid)
    assert read_mask(tmp_path / "out.mha").grid.apart(grid) < 1e-9
    before, after = (SimpleITK.ReadImage(str(tmp_path / name)) for name in ("in.mha", "out.mha"))
    np.testing.assert_array_equal(SimpleITK.GetArrayFromImage(after), array.T)
    assert after.GetPixelID() == before.GetPixelID()
    for index in random.integers(0, array.shape, (9, array.ndim)).tolist():
        both = (image.TransformIndexToPhysicalPoint(index) for image in (before, after))
        np.testing.assert_allclose(*both, rtol=0, atol=1e-9)


@pytest.mark.parametrize("form", [".nii.gz", ".nrrd"])
def test_all_formats_have_one_grid(tmp_path, form):
    image = itk(VOLUME, 3)
    SimpleITK.WriteImage(image, str(tmp_path / f"m{form}"))
    SimpleITK.WriteImage(image, str(tmp_path / "m.mha"))
    one, other = read_mask(tmp_path / f"m{form}"), read_mask(tmp_path / "m.mha")
    assert other.grid.apart(one.grid) < 1e-4  # NIfTI holds it in 32 bits
    np.testing.assert_array_equal(one.array, other.array)


def test_colour(tmp_path):
    array = np.random.default_rng(0).integers(0, 255, (4, 5, 3), dtype=np.uint8)
    SimpleITK.WriteImage(SimpleITK.GetImageFromArray(array, isVector=True), str(tmp_path / "c.mha"))
    picture = read_image(tmp_path / "c.mha")
    np.testing.assert_array_equal(picture.array, array.transpose(1, 0, 2))
    assert picture.grid.shape == (5, 4)
    for call in (read_mask, read_probability):
        with pytest.raises(FormatError, match=r"c\.mha: has 3 channels of MET_UCHAR, but one number a voxel is needed"):
            call(tmp_path / "c.mha")


SLICES = tuple(VOLUME[..., k].tobytes("F") for k in range(7))


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("s%02d.raw 1 7 1", ""),
        ("s%02d.raw", ""),
        ("s%02d.raw 1", ""),
        ("LIST", "s01.raw\ns02.raw\ns03.raw\ns04.raw\ns05.raw\ns06.raw\ns07.raw\n"),
        ("LIST 2D", "s01.raw\ns02.raw\ns03.raw\ns04.raw\ns05.raw\ns06.raw\ns07.raw\n"),
        ("LIST 3", "all.raw\n"),
        ("sub/all.raw", ""),
        ("with spaces.raw", ""),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_data_in_other_files(tmp_path, name, more, packed):
    squeeze = zlib.compress if packed else bytes
    (tmp_path / "sub").mkdir()
    for k, part in enumerate(SLICES, 1):
        (tmp_path / f"s{k:02}.raw").write_bytes(squeeze(part))
    for whole in ("all.raw", "sub/all.raw", "with spaces.raw"):
        (tmp_path / whole).write_bytes(squeeze(RAW))
    path = made(tmp_path / "m.mhd", b"", more, ElementDataFile=name, CompressedData=packed)
    np.testing.assert_array_equal(read_mask(path).array, VOLUME)
    if not packed and name != "LIST 3":  # ITK needs the size of what is packed, and reads no list of one volume
        np.testing.assert_array_equal(SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(path))).T, VOLUME)


def test_fields_of_older_files(tmp_path):
    big = VOLUME.astype(">u2").tobytes("F")
    path = made(tmp_path / "m.mha", big, ElementType="MET_USHORT", ElementByteOrderMSB="True", BinaryData="True")
    np.testing.assert_array_equal(read_mask(path).array, VOLUME)
    assert probe(path) == Grid((5, 6, 7))
    path = made(tmp_path / "m.mha", VOLUME.astype("<i4").tobytes("F"), ElementType="MET_LONG")
    np.testing.assert_array_equal(read_mask(path).array, VOLUME)
    text = " ".join(map(str, RAW)).encode()
    np.testing.assert_array_equal(read_mask(made(tmp_path / "m.mha", text, BinaryData="False")).array, VOLUME)
    (tmp_path / "h.raw").write_bytes(b"abc" + RAW)
    for skip in (3, -1):
        path = made(tmp_path / "m.mhd", b"", HeaderSize=skip, ElementDataFile="h.raw")
        np.testing.assert_array_equal(read_mask(path).array, VOLUME)
        np.testing.assert_array_equal(SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(path))).T, VOLUME)


@pytest.mark.parametrize(("offset", "matrix"), [("Position", "Rotation"), ("Origin", "Orientation")])
def test_other_names_of_the_position(tmp_path, offset, matrix):
    fields = {offset: "1 2 3", matrix: "0 1 0 1 0 0 0 0 1", "ElementSpacing": "0.5 0.25 2"}
    grid = probe(made(tmp_path / "m.mha", **fields))
    assert np.array(grid.affine).tolist() == [[0, -0.25, 0, -1], [-0.5, 0, 0, -2], [0, 0, 2, 3], [0, 0, 0, 1]]
    assert grid.placed
    assert not probe(made(tmp_path / "m.mha", Offset="1 2 3")).placed
    assert probe(made(tmp_path / "m.mha", ElementSize="1 2 3")).spacing == (1, 2, 3)
    assert probe(made(tmp_path / "m.mha", ElementSpacing="1 2 3", DistanceUnits="cm")).spacing == (10, 20, 30)


def test_one_volume_of_four_axes(tmp_path):
    path = made(tmp_path / "m.mha", NDims=4, DimSize="5 6 7 1")
    np.testing.assert_array_equal(read_mask(path).array, VOLUME)
    with pytest.raises(FormatError, match=r"has 4 axes \(5×6×1×7\); save one image or volume a file"):
        read_mask(made(tmp_path / "m.mha", NDims=4, DimSize="5 6 1 7"))


WRONG = {
    "is not a MetaImage: it starts with b'": {"ObjectType": None, "NDims": None, "DimSize": None},
    "holds an object of type 'Tube', not an image": {"ObjectType": "Tube"},
    "ends without DimSize, ElementType": {"DimSize": None, "ElementType": None},
    "NDims = 3, but DimSize = 5 6": {"DimSize": "5 6"},
    "NDims = x": {"NDims": "x"},
    "but DimSize = 5 6 7.5": {"DimSize": "5 6 7.5"},
    "its ElementType is MET_STRING; save one number a voxel": {"ElementType": "MET_STRING"},
    "has 2 channels of MET_UCHAR": {"ElementNumberOfChannels": 2},
    "210 bytes of data where its header says 420": {"ElementType": "MET_SHORT"},
    "HeaderSize = -2": {"HeaderSize": -2},
    "HeaderSize = 999": {"HeaderSize": 999},
    "CompressedDataSize = 999 where 210 bytes are left": {"CompressedData": True, "CompressedDataSize": 999},
    "is damaged or cut short": {"CompressedData": True},
    "elementspacing = 1 1, where 3 numbers are needed": {"ElementSpacing": "1 1"},
    "elementspacing = 1 1 x, where": {"ElementSpacing": "1 1 x"},
    "spacing -1×1×1 is not positive": {"ElementSpacing": "-1 1 1"},
    "spacing nan×1×1 is not positive": {"ElementSpacing": "nan 1 1"},
    "holds values that are not finite": {"Offset": "inf 0 0"},
    "its TransformMatrix has directions that depend on each other": {"TransformMatrix": "1 0 0 1 0 0 0 0 1"},
    "ElementDataFile is empty": {"ElementDataFile": ""},
    "0 data files where its header says 7": {"ElementDataFile": "m%d.raw 1 7 0"},
    "999999999 data files where its header says 7": {"ElementDataFile": "m%d.raw 1 999999999 1"},
    "ElementDataFile = m%s.raw": {"ElementDataFile": "m%s.raw"},
    "ElementDataFile = m%d%n.raw": {"ElementDataFile": "m%d%n.raw"},
    r"its data file .*there is no such file": {"ElementDataFile": "m.raw"},
    r"its data file '/etc/passwd' is outside of its folder; put both into one": {"ElementDataFile": "/etc/passwd"},
    r"its data file '\.\./up\.raw' is outside": {"ElementDataFile": "../up.raw"},
    r"its data file 'C:..up\.raw' is outside": {"ElementDataFile": "C:\\up.raw"},
}


@pytest.mark.parametrize("said", WRONG)
def test_headers_that_lie(tmp_path, said):
    (tmp_path / "up.raw").write_bytes(RAW)
    (tmp_path / "in").mkdir()
    path = made(tmp_path / "in" / "m.mha", **WRONG[said])
    with pytest.raises(ManytruthsError, match=rf"^{path}: .*{said}") as raised:
        read_mask(path)
    assert "\n" not in str(raised.value)
    assert isinstance(raised.value, FormatError | GridError)


def test_data_in_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "m.raw")
    with pytest.raises(FormatError, match=r"its data file .*m\.raw: is not a regular file but a pipe"):
        read_mask(made(tmp_path / "m.mhd", b"", ElementDataFile="m.raw"))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (zlib.compress(RAW[:-1]), "209 bytes of data where its header says 210"),
        (zlib.compress(RAW)[:-3], "is damaged or cut short"),
        (zlib.compress(bytes(1 << 28)), "more than 210 bytes of data, which its header says"),
    ],
)
def test_packed_data_of_another_length(tmp_path, data, said):
    path = made(tmp_path / "m.mha", data, CompressedData=True)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=said):
            read_mask(path)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_study_of_mhd(capsys, tmp_path):
    """The .raw files beside the headers are no masks; the consensus is .mha with the position of the masks."""
    for rater, seed in (("A", 1), ("B", 1), ("C", 1)):
        (tmp_path / rater).mkdir()
        array = (np.random.default_rng(ord(rater)).random((6, 5, 4)) < 0.5).astype(np.uint8)
        SimpleITK.WriteImage(itk(array, seed), str(tmp_path / rater / "p1.mhd"), rater == "B")
    template = f"{tmp_path}/{{rater}}/{{case}}.mhd"
    done = run(capsys, "fuse", template, "--consensus", "vote:0.5", "--out", tmp_path / "out", "--jobs", 1)
    assert (done.status, done.err) == (0, "")
    made = SimpleITK.ReadImage(str(tmp_path / "out/fuse/consensus/vote-0.5/p1.mha"))
    votes = sum(SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(tmp_path / r / "p1.mhd"))) for r in "ABC")
    np.testing.assert_array_equal(SimpleITK.GetArrayFromImage(made), votes >= 2)
    before = SimpleITK.ReadImage(str(tmp_path / "A" / "p1.mhd"))
    for get in ("GetOrigin", "GetSpacing", "GetDirection"):
        np.testing.assert_allclose(getattr(made, get)(), getattr(before, get)(), rtol=0, atol=1e-12)
    assert probe(tmp_path / "out/fuse/probability/vote-0.5/p1.mha").placed
    assert run(capsys, "check", f"{tmp_path}/{{rater}}/{{case}}.*", "--out", tmp_path / "c").status == 0
