"""What is not a regular file is refused without being opened; NRRD headers do not lead out of their folder."""

import os
import socket

import numpy as np
import pytest

from manytruths import FormatError
from manytruths.io import probe, read_image, read_mask

VOLUME = np.arange(210, dtype=np.uint8).reshape(5, 6, 7) % 3
RAW = VOLUME.T.tobytes()
HEADER = "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 5 6 7\nencoding: {}\n{}\n"


def pipe(path):
    os.mkfifo(path)


def server(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


OTHERS = {
    "is not a regular file but a pipe": pipe,
    "is not a regular file but a socket": server,
    "is not a regular file but a device": lambda path: path.symlink_to("/dev/zero"),
    "is a folder": lambda path: path.mkdir(),
    "there is no such file": lambda path: path.symlink_to("nowhere.png"),
    "is empty": lambda path: path.symlink_to("/proc/version"),
    "Too many levels of symbolic links": lambda path: path.symlink_to(path.name),
}


@pytest.mark.parametrize("said", OTHERS)
@pytest.mark.parametrize("suffix", ["png", "tif", "npy", "npz", "nii.gz", "nrrd", "mha"])
def test_what_is_no_file(tmp_path, monkeypatch, said, suffix):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    path = tmp_path / f"m.{suffix}"
    OTHERS[said](path.relative_to(tmp_path) if "socket" in said else path)
    for call in (read_mask, read_image, probe):
        with pytest.raises(FormatError, match=rf"m\.{suffix}: .*{said}"):
            call(path)


def test_a_link_to_a_file_is_a_file(tmp_path):
    np.save(tmp_path / "there.npy", VOLUME)
    (tmp_path / "m.npy").symlink_to("there.npy")
    np.testing.assert_array_equal(read_mask(tmp_path / "m.npy").array, VOLUME)


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../up.raw", "sub/../../up.raw", "/dev/zero", "C:\\up.raw", "..\\up.raw", "\\\\server\\up.raw"],
)
@pytest.mark.parametrize("field", ["data file", "datafile"])
def test_data_outside_of_the_folder(tmp_path, name, field):
    (tmp_path / "up.raw").write_bytes(RAW)
    path = tmp_path / "in" / "m.nrrd"
    path.parent.mkdir()
    path.write_text(HEADER.format("raw", f"{field}: {name}\n"))
    with pytest.raises(FormatError, match=r"m\.nrrd: its data file .* is outside of its folder; put both into one"):
        read_mask(path)


@pytest.mark.parametrize("name", ["LIST", "LIST 2\na.raw\nb.raw", "m%03d.raw 1 5 1", "m%d.raw 1 100000000 1 2"])
def test_data_in_several_files(tmp_path, name):
    (tmp_path / "m.nrrd").write_text(HEADER.format("raw", f"data file: {name}\n"))
    with pytest.raises(FormatError, match=r"m\.nrrd: (its data are in several files|is damaged)"):
        read_mask(tmp_path / "m.nrrd")


def test_data_in_a_pipe_or_nowhere(tmp_path):
    (tmp_path / "m.nrrd").write_text(HEADER.format("raw", "data file: m.raw\n"))
    with pytest.raises(FormatError, match=r"its data file .*m\.raw: there is no such file"):
        read_mask(tmp_path / "m.nrrd")
    os.mkfifo(tmp_path / "m.raw")
    with pytest.raises(FormatError, match=r"its data file .*m\.raw: is not a regular file but a pipe"):
        read_mask(tmp_path / "m.nrrd")


@pytest.mark.parametrize("name", ["m.raw", "./m.raw", "sub/m.raw"])
def test_data_beside_the_header(tmp_path, name):
    (tmp_path / "sub").mkdir()
    (tmp_path / name).write_bytes(RAW)
    (tmp_path / "m.nrrd").write_text(HEADER.format("raw", f"data file: {name}\n"))
    np.testing.assert_array_equal(read_mask(tmp_path / "m.nrrd").array, VOLUME)


def test_data_of_another_size_are_not_read(tmp_path):
    """A file of 8 GB, in fact without a block on the disk."""
    (tmp_path / "m.nrrd").write_text(HEADER.format("raw", "data file: m.raw\n"))
    with open(tmp_path / "m.raw", "wb") as stream:
        stream.truncate(1 << 33)
    with pytest.raises(FormatError, match="8589934592 bytes of data where its header says 210"):
        read_mask(tmp_path / "m.nrrd")


@pytest.mark.parametrize(
    ("encoding", "fields", "before", "after"),
    [
        ("raw", "", b"", b""),
        ("raw", "byte skip: 3\n", b"abc", b""),
        ("raw", "byteskip: -1\n", b"abc", b""),
        ("raw", "line skip: 2\nbyte skip: 1\n", b"abc\nd\nz", b""),
        ("raw", "lineskip: 1\n", b"\n", b""),
    ],
)
def test_what_is_skipped(tmp_path, encoding, fields, before, after):
    (tmp_path / "m.nrrd").write_bytes(HEADER.format(encoding, fields).encode() + before + RAW + after)
    np.testing.assert_array_equal(read_mask(tmp_path / "m.nrrd").array, VOLUME)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("line skip: 1000000000\n", "it ends before 1000000000 lines are skipped"),
        ("line skip: -1\n", "line skip: -1"),
        ("byte skip: -2\n", "byte skip: -2"),
        ("byte skip: 5\n", "205 bytes of data where its header says 210"),
        ("byte skip: 999999999999\n", "bytes of data where its header says 210"),
    ],
)
def test_skipping_too_much(tmp_path, fields, said):
    (tmp_path / "m.nrrd").write_bytes(HEADER.format("raw", fields).encode() + RAW)
    with pytest.raises(FormatError, match=f"is damaged or cut short .*{said}"):
        read_mask(tmp_path / "m.nrrd")


@pytest.mark.parametrize("kind", ["uint8", "int16", "uint32", "float"])
def test_numbers_in_words(tmp_path, kind):
    text = HEADER.replace("uint8", kind).format("text", "") + "\n".join(map(str, RAW))
    (tmp_path / "m.nrrd").write_text(text)
    np.testing.assert_array_equal(read_mask(tmp_path / "m.nrrd").array, VOLUME)
    for wrong in (f"{text} 1", text[:-2], f"{text[:-1]}x"):
        (tmp_path / "m.nrrd").write_text(wrong)
        with pytest.raises(FormatError, match="is damaged or cut short"):
            read_mask(tmp_path / "m.nrrd")
