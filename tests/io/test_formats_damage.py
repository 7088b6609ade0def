"""Files that are cut, swapped, lying or missing: always one of our errors, in one line, never wrong pixels."""

import io
import os
import struct
import subprocess
import sys
import zipfile
import zlib

import nibabel as nib
import nrrd
import numpy as np
import pytest
import SimpleITK
import tifffile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile

from manytruths import FormatError, ManytruthsError
from manytruths.io import Template, probe, read_image, read_mask, write_map

FLAT = (np.random.default_rng(0).random((23, 19)) < 0.3).astype(np.uint8) * 255
VOLUME = (np.random.default_rng(1).random((5, 6, 7)) < 0.3).astype(np.uint8)

MAKERS = {
    "m.png": lambda path: Image.fromarray(FLAT).save(path),
    "m.jpg": lambda path: Image.fromarray(FLAT).save(path),
    "m.gif": lambda path: Image.fromarray(FLAT).save(path),
    "m.bmp": lambda path: Image.fromarray(FLAT).save(path),
    "ours.tif": lambda path: write_map(path, FLAT),
    "pages.tif": lambda path: write_map(path, VOLUME),
    "raw.tif": lambda path: Image.fromarray(FLAT).save(path),
    "lzw.tif": lambda path: Image.fromarray(FLAT).save(path, compression="tiff_lzw"),
    "stack.tif": lambda path: tifffile.imwrite(path, VOLUME, photometric="minisblack"),
    "tiles.tif": lambda path: tifffile.imwrite(path, FLAT, tile=(16, 16), compression="zlib"),
    "big.tif": lambda path: tifffile.imwrite(path, FLAT.astype(np.uint64), bigtiff=True),
    "m.npy": lambda path: np.save(path, FLAT),
    "m.npz": lambda path: np.savez_compressed(path, m=FLAT),
    "m.nii": lambda path: nib.save(nib.Nifti1Image(VOLUME, np.eye(4)), path),
    "m.nii.gz": lambda path: nib.save(nib.Nifti1Image(VOLUME, np.eye(4)), path),
    "two.nii.gz": lambda path: nib.save(nib.Nifti2Image(VOLUME, np.eye(4)), path),
    "m.nrrd": lambda path: nrrd.write(str(path), VOLUME),
    "raw.nrrd": lambda path: nrrd.write(str(path), VOLUME, {"encoding": "raw"}),
    "bz.nrrd": lambda path: nrrd.write(str(path), VOLUME, {"encoding": "bzip2"}),
    "m.mha": lambda path: write_map(path, VOLUME),
    "raw.mha": lambda path: SimpleITK.WriteImage(SimpleITK.GetImageFromArray(VOLUME), str(path)),
}


def refused(call, path):
    """The one-line error of ours, which names the file; None where the file was read."""
    error = None
    try:
        call(path)
    except ManytruthsError as raised:
        error = raised
    assert error is None or str(path) in str(error)
    assert "\n" not in str(error)
    return error


@pytest.mark.parametrize("name", MAKERS)
def test_a_cut_file_is_refused_or_whole(tmp_path, name, capfd):
    path, cut = tmp_path / name, tmp_path / "cut" / name
    cut.parent.mkdir()
    MAKERS[name](path)
    data, array = path.read_bytes(), np.array(read_mask(path).array)
    points = {*range(0, len(data), max(1, len(data) // 150)), *range(max(0, len(data) - 40), len(data))}
    survived = 0
    for end in sorted(points):
        cut.write_bytes(data[:end])
        refused(probe, cut), refused(read_image, cut)
        if refused(read_mask, cut) is None:
            np.testing.assert_array_equal(read_mask(cut).array, array)
            survived += 1
    # What may be missing is padding, a trailer, a checksum; never pixels.
    assert survived <= 25
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_changed_bytes_raise_nothing_else(tmp_path, name, data):
    path, changed = tmp_path / name, tmp_path / "changed" / name
    changed.parent.mkdir(exist_ok=True)
    if not path.exists():
        MAKERS[name](path)
    content = bytearray(path.read_bytes())
    where = st.one_of(st.integers(0, min(400, len(content)) - 1), st.integers(0, len(content) - 1))
    for at, value in data.draw(st.lists(st.tuples(where, st.integers(0, 255)), min_size=1, max_size=4)):
        content[at] = value
    changed.write_bytes(content)
    for call in (read_mask, read_image, probe):
        refused(call, changed)


def test_leniency_asked_of_pillow_does_not_reach_us(tmp_path, monkeypatch):
    MAKERS["m.png"](tmp_path / "m.png")
    data = (tmp_path / "m.png").read_bytes()
    (tmp_path / "m.png").write_bytes(data[: len(data) // 2])
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    assert refused(read_mask, tmp_path / "m.png")
    assert ImageFile.LOAD_TRUNCATED_IMAGES


@pytest.mark.parametrize("call", [read_mask, read_image, probe])
@pytest.mark.parametrize(
    "suffix", ["png", "jpg", "gif", "bmp", "tif", "npy", "npz", "nii", "nii.gz", "nrrd", "mha", "mhd"]
)
def test_text_empty_missing_and_folders(tmp_path, call, suffix):
    path = tmp_path / f"m.{suffix}"
    assert "no such file" in str(refused(call, path))
    path.write_bytes(b"")
    assert "is empty (0 bytes)" in str(refused(call, path))
    path.write_text("hello, I am a text")
    error = refused(call, path)
    assert isinstance(error, FormatError)
    assert suffix == "npz" or "starts with b'hell" in str(error)
    path.unlink()
    path.mkdir()
    assert "is a folder" in str(refused(call, path))


def test_the_words_for_a_text_in_place_of_a_picture(tmp_path):
    (tmp_path / "m.png").write_text("hello")
    with pytest.raises(FormatError, match=r"m\.png: is not a PNG picture: it starts with b'hello'; export"):
        read_mask(tmp_path / "m.png")


@pytest.mark.parametrize("name", ["m.mgh", "m", "m.txt", "m.gz"])
def test_unknown_suffix(tmp_path, name):
    (tmp_path / name).write_text("x")
    with pytest.raises(FormatError, match=r"cannot be read; save it as one of \.png .* \.nii\.gz \.nrrd \.mha \.mhd"):
        read_mask(tmp_path / name)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "m.png")
    with pytest.raises(FormatError, match="not a regular file"):
        read_mask(tmp_path / "m.png")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path):
    MAKERS["m.png"](tmp_path / "m.png")
    (tmp_path / "m.png").chmod(0)
    with pytest.raises(FormatError, match="Permission denied"):
        read_mask(tmp_path / "m.png")


def npy_header(shape, dtype="|u1"):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def png_with_size(width, height):
    stream = io.BytesIO()
    Image.new("L", (1, 1)).save(stream, format="PNG")
    data = bytearray(stream.getvalue())
    data[16:24] = struct.pack(">II", width, height)
    data[29:33] = struct.pack(">I", zlib.crc32(bytes(data[12:29])))
    return bytes(data)


def nifti_with_size(*shape):
    header = nib.Nifti1Header()
    header["magic"], header["vox_offset"] = b"n+1", 352
    header["dim"][: len(shape) + 1] = [len(shape), *shape]
    header["datatype"], header["bitpix"] = 2, 8
    header["pixdim"][1:4] = 1
    return header.binaryblock + bytes(4)


def zip_of(data):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("m.npy", data)
    return stream.getvalue()


def tiff_with_size(width, height):
    stream = io.BytesIO()
    tags = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1)]
    tags += [(273, 4, 1, 8), (278, 4, 1, height), (279, 4, 1, 1)]
    stream.write(struct.pack("<2sHIH", b"II", 42, 8, len(tags)))
    for tag in tags:
        stream.write(struct.pack("<HHII", *tag))
    return stream.getvalue() + bytes(8)


NRRD = "NRRD0004\ntype: uint8\ndimension: 2\nsizes: {} {}\nencoding: raw\n\n"
MHA = "ObjectType = Image\nNDims = 2\nDimSize = {} {}\nElementType = MET_UCHAR\nElementDataFile = LOCAL\n"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("m.png", png_with_size(40_000, 40_000)),
        ("m.png", png_with_size(2**31 - 1, 2**31 - 1)),
        ("m.npy", npy_header((2**20, 2**20))),
        ("m.npy", npy_header((2**62, 2**62))),
        ("m.npz", zip_of(npy_header((2**20, 2**20)))),
        ("m.nii", nifti_with_size(32000, 32000, 32000)),
        ("m.nrrd", NRRD.format(10**6, 10**6).encode()),
        ("m.mha", MHA.format(10**6, 10**6).encode()),
        ("m.tif", tiff_with_size(10**6, 10**6)),
    ],
)
def test_a_header_that_promises_too_much(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    for call in (read_mask, read_image, probe):
        error = refused(call, tmp_path / name)
        assert "more than 1073741824 items" in str(error)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("m.png", png_with_size(2**15, 2**14)),
        ("m.npy", npy_header((2**15, 2**14))),
        ("m.npz", zip_of(npy_header((2**15, 2**14)))),
        ("m.nii", nifti_with_size(1000, 1000, 500)),
        ("m.nrrd", NRRD.format(2**15, 2**14).encode()),
        ("m.mha", MHA.format(2**15, 2**14).encode()),
    ],
)
def test_a_header_that_promises_more_than_the_file_holds(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    assert "damaged or cut short" in str(refused(read_mask, tmp_path / name))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("m.png", png_with_size(0, 5)),
        ("m.npy", npy_header((0, 5))),
        ("m.npy", npy_header((-1, 5))),
        ("m.npz", zip_of(npy_header((5, 0)))),
        ("m.nii", nifti_with_size(5, 0, 5)),
        ("m.nii", nifti_with_size(5, -3, 5)),
        ("m.nrrd", NRRD.format(0, 4).encode()),
        ("m.mha", MHA.format(0, 4).encode()),
        ("m.mha", MHA.format(-3, 4).encode()),
        ("m.tif", tiff_with_size(0, 4)),
    ],
)
def test_an_axis_of_nothing(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    for call in (read_mask, read_image, probe):
        assert isinstance(refused(call, tmp_path / name), FormatError)


def test_objects_are_never_unpickled(tmp_path):
    np.save(tmp_path / "m.npy", np.array([[print, 1]], dtype=object), allow_pickle=True)
    with pytest.raises(FormatError, match="holds object"):
        read_mask(tmp_path / "m.npy")


def test_a_broken_array_behind_an_index_names_its_file(tmp_path):
    (tmp_path / "p1.npy").write_bytes(npy_header((4, 5, 5))[:50])
    with pytest.raises(FormatError, match=r"p1\.npy"):
        Template(tmp_path / "{case}.npy[{rater}]").find()


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [("m.nii.gz", "nibabel", "medical"), ("m.nrrd", "nrrd", "medical"), ("big.tif", "tifffile", "tiff")],
)
def test_a_library_that_is_not_there(tmp_path, name, module, extra):
    MAKERS[name](tmp_path / name)
    code = f"import sys; sys.modules[{module!r}] = None; from manytruths.io import read_mask; read_mask(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / name)], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("manytruths.core.errors.FormatError")
    assert f'{name}: needs {module}; install it with pip install "manytruths[{extra}]"' in last
