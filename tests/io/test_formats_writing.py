"""Writing: whole or not at all, and the same when read again."""

import csv
import json
import math
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from manytruths import CallError, Grid, InputError, Undefined
from manytruths.io import (
    atomic,
    probe,
    read_image,
    read_mask,
    safe_name,
    write_csv,
    write_json,
    write_map,
    write_picture,
    write_text,
)

AFFINE = ((-0.7, 0.0, 0.0, 12.5), (0.0, 0.7, 0.0, -40.0), (0.0, 0.0, 2.5, 7.0), (0.0, 0.0, 0.0, 1.0))


def test_atomic_replaces_at_the_end(tmp_path):
    path = tmp_path / "new" / "a.nii.gz"
    with atomic(path) as temporary:
        assert temporary.parent == path.parent
        assert temporary.name.startswith(".")
        assert temporary.name.endswith(".nii.gz")
        temporary.write_text("whole")
        assert not path.exists()
    assert [p.name for p in path.parent.iterdir()] == ["a.nii.gz"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, OSError(28, "No space left on device")])
def test_atomic_leaves_the_old_file_and_nothing_else(tmp_path, error):
    write_text(tmp_path / "a.txt", "old")

    def interrupted():
        with atomic(tmp_path / "a.txt") as temporary:
            temporary.write_text("half")
            raise error

    kind = InputError if isinstance(error, OSError) else error
    with pytest.raises(kind):
        interrupted()
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.txt", "old")]


def test_a_file_in_the_way_of_a_folder(tmp_path):
    (tmp_path / "a").write_text("x")
    with pytest.raises(InputError, match=r"/a: is a file, not a folder; choose another folder$"):
        write_text(tmp_path / "a" / "b" / "c.txt", "x")
    (tmp_path / "d").mkdir()
    with pytest.raises(InputError, match="cannot be written: Is a directory; move away what is there"):
        write_text(tmp_path / "d", "x")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "d"]


@pytest.mark.parametrize("name", ["m.tif", "m.png", "m.npy", "m.nii", "m.nii.gz", "m.nrrd", "m.mha"])
def test_a_full_disk(tmp_path, name):
    """A limit on the size of files stands in for a disk that is full."""
    code = (
        "import sys, numpy as np, manytruths.io as f, manytruths.core.errors as e\n"
        "try: f.write_map(sys.argv[1], np.random.default_rng(0).integers(0, 255, (300, 300), dtype=np.uint8))\n"
        "except e.InputError as error: sys.exit(7 if 'cannot be written' in str(error) else 8)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(tmp_path / name)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 7, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_text_keeps_its_line_ends(tmp_path):
    write_text(tmp_path / "a.txt", "é\r\n×\n")
    assert (tmp_path / "a.txt").read_bytes() == "é\r\n×\n".encode()


def test_csv(tmp_path):
    rows = [["a,b", None, Undefined("both_empty"), np.float64(0.1), 3], ['q"', 1.5, math.inf, np.float32(0.1), True]]
    write_csv(tmp_path / "t.csv", iter(rows), ["a", "b", "c", "d", "e"])
    assert (tmp_path / "t.csv").read_bytes() == b'a,b,c,d,e\n"a,b",,nan,0.1,3\n"q""",1.5,inf,0.1,True\n'
    with open(tmp_path / "t.csv", newline="") as stream:
        assert len(list(csv.reader(stream))) == 3


@dataclass(frozen=True)
class Thing:
    name: str
    values: tuple[float, ...]


def test_json(tmp_path):
    value = {
        "x": Undefined("both_empty"),
        1: np.float32(0.5),
        "t": Thing("é", (1.0, math.inf)),
        "n": np.arange(3),
        "p": Path("a"),
    }
    write_json(tmp_path / "s.json", value)
    text = (tmp_path / "s.json").read_text(encoding="utf-8")
    assert "é" in text
    assert json.loads(text) == {
        "x": None,
        "1": 0.5,
        "t": {"name": "é", "values": [1.0, None]},
        "n": [0, 1, 2],
        "p": "a",
    }


FLAT = {".png": (np.uint8, np.uint16), ".npy": (np.uint8, np.int64), ".tif": (np.uint8, np.uint16, np.int32)}
BOTH = {
    ".tif": (np.uint8, np.uint16, np.int32, np.float32),
    ".npy": (np.uint8, np.uint16, np.int32, np.int64, np.float32, np.float64),
    ".nii": (np.uint8, np.uint16, np.int32, np.float32),
    ".nii.gz": (np.uint8, np.int64, np.float32),
    ".nrrd": (np.uint8, np.uint16, np.int32, np.int64, np.float32),
    ".mha": (np.uint8, np.uint16, np.int32, np.int64, np.float32),
}


def some_masks(kinds, least_axes, most_axes):
    def of(suffix_and_dtype):
        suffix, dtype = suffix_and_dtype
        shapes = arrays.array_shapes(min_dims=least_axes, max_dims=most_axes, min_side=2, max_side=9)
        values = st.integers(0, 200 if np.dtype(dtype) == np.uint8 else 60000)
        made = arrays.arrays(dtype, shapes, elements=values.map(float) if np.dtype(dtype).kind == "f" else values)
        return st.tuples(st.just(suffix), made)

    pairs = [(suffix, dtype) for suffix, dtypes in kinds.items() for dtype in dtypes]
    return st.sampled_from(pairs).flatmap(of)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(some_masks(FLAT, 2, 2), some_masks(BOTH, 2, 3)))
def test_a_map_read_again_is_the_same(tmp_path, made):
    suffix, array = made
    path = tmp_path / f"m{suffix}"
    write_map(path, array, Grid(array.shape))
    mask = read_mask(path)
    assert mask.grid.shape == array.shape
    np.testing.assert_array_equal(mask.array, array)
    assert probe(path) == mask.grid


@pytest.mark.parametrize("suffix", [".tif", ".npy", ".nii.gz", ".nrrd", ".mha"])
@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 5)])
def test_float_maps_are_exact(tmp_path, suffix, shape):
    array = np.random.default_rng(0).random(shape).astype(np.float32)
    array.flat[0] = np.nan
    write_map(tmp_path / f"m{suffix}", array)
    image = read_image(tmp_path / f"m{suffix}").array
    assert image.dtype == np.float32
    np.testing.assert_array_equal(image, array)


@pytest.mark.parametrize("suffix", [".nii", ".nii.gz", ".nrrd", ".mha"])
def test_the_grid_goes_with_the_map(tmp_path, suffix):
    grid = Grid((4, 5, 6), affine=AFFINE)
    write_map(tmp_path / f"m{suffix}", np.zeros(grid.shape, np.uint8), grid)
    assert read_mask(tmp_path / f"m{suffix}").grid.difference(grid) == ""
    flat = Grid((4, 5), (0.5, 0.25))
    write_map(tmp_path / f"f{suffix}", np.zeros(flat.shape, bool), flat)
    assert read_mask(tmp_path / f"f{suffix}").grid.spacing == flat.spacing


def test_maps_do_not_depend_on_the_day(tmp_path):
    for name in ("a.nii.gz", "b.nii.gz", "a.tif", "b.tif", "a.nrrd", "b.nrrd", "a.mha", "b.mha"):
        write_map(tmp_path / name, np.eye(5, dtype=np.uint8))
    for suffix in ("nii.gz", "tif", "mha"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("m.png", np.zeros((2, 3, 4), np.uint8)),
        ("m.png", np.zeros((2, 3))),
        ("m.png", np.full((2, 3), 70000)),
        ("m.tif", np.full((2, 3), 2**40)),
        ("m.tif", np.zeros((2, 3), complex)),
        ("m.tif", np.zeros(3)),
        ("m.jpg", np.zeros((2, 3), np.uint8)),
    ],
)
def test_maps_that_a_format_cannot_hold(tmp_path, name, array):
    with pytest.raises(CallError):
        write_map(tmp_path / name, array)
    assert list(tmp_path.iterdir()) == []


def test_a_map_must_fit_its_grid(tmp_path):
    with pytest.raises(CallError, match="on a grid"):
        write_map(tmp_path / "m.tif", np.zeros((2, 3)), Grid((3, 2)))


def test_pictures(tmp_path):
    write_picture(tmp_path / "p.png", Image.new("RGB", (4, 3), (1, 2, 3)))
    assert read_image(tmp_path / "p.png").array[2, 3].tolist() == [1, 2, 3]


@pytest.mark.parametrize("name", ["a/b", "..", ".", "", ".hidden", "a\\b", "a\nb", "../../etc/passwd"])
def test_safe_names(name):
    safe = safe_name(name)
    assert safe
    assert "/" not in safe
    assert not safe.startswith(".")
    assert safe.isprintable()
    assert safe_name(safe) == safe


@pytest.mark.parametrize("name", ["p01", "é 漢", "a.b", "a..b", "x[1]+"])
def test_good_names_stay(name):
    assert safe_name(name) == name


def test_import_is_light():
    code = "import sys, manytruths.io; print([m for m in sys.modules if m in ('PIL', 'nibabel', 'nrrd', 'tifffile')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
