"""Zarr and OME-Zarr: ome-zarr-py writes what we read and reads what we write; damage is named."""

import builtins
import json
import shutil
from pathlib import Path

import jsonschema
import numpy as np
import ome_zarr.io
import ome_zarr.reader
import ome_zarr.writer
import pytest
import zarr
from ome_zarr_models.v05.image import Image as ModelImage

from manytruths import FormatError, StudyError
from manytruths.core.tiles import is_lazy
from manytruths.io import Template, files, halving, probe, read_image, read_mask, zarr_store
from manytruths.io.files import Location
from manytruths.io.zarr_store import MapWriter, find_absent
from manytruths.shape.grid import Grid
from ngff_schema import check_schema

VERSIONS = {"0.4": ome_zarr.format.FormatV04(), "0.5": ome_zarr.format.FormatV05()}


def test_the_schema_refuses_what_is_no_image():
    with pytest.raises(jsonschema.ValidationError):
        check_schema({"ome": {"version": "0.5", "multiscales": [{"datasets": []}]}})


def blob(shape=(120, 90)):
    grid = np.indices(shape)
    middle = np.array(shape).reshape(-1, *[1] * len(shape)) / 2
    return (((grid - middle) ** 2).sum(axis=0) < (min(shape) / 3) ** 2).astype(np.uint8)


def write_ome(path, version, image, labels, axes="yx", unit="micrometer", scale=0.5):
    form = VERSIONS[version]
    group = zarr.open_group(str(path), mode="w", zarr_format=2 if version == "0.4" else 3)
    steps = tuple(slice(None, None, 2) if a in "yx" else slice(None) for a in axes)
    options = {
        "fmt": form,
        "axes": axes,
        "scale": {a: scale if a in "zyx" else 1.0 for a in axes},
        "axes_units": {a: unit for a in axes if a in "zyx" and unit},
    }
    ome_zarr.writer.write_multiscale([image, image[steps]], group, **options)
    for name, mask in labels.items():
        ome_zarr.writer.write_multiscale_labels([mask, mask[steps]], group, name, **options)
    return path


@pytest.mark.parametrize("version", VERSIONS)
def test_images_and_labels_that_ome_zarr_wrote(tmp_path, version):
    image = np.arange(120 * 90, dtype=np.uint16).reshape(120, 90)
    write_ome(tmp_path / "p1.zarr", version, image, {"A": blob(), "B": 1 - blob()})
    template = Template(str(tmp_path / "{case}.zarr/labels/{rater}"), require=("rater", "case"))
    found = template.find()
    assert [match.fields for match in found] == [{"case": "p1", "rater": "A"}, {"case": "p1", "rater": "B"}]
    mask = read_mask(found[1].location)
    np.testing.assert_array_equal(mask.array, 1 - blob())
    assert mask.grid.spacing == probe(found[0].location).spacing == (0.0005, 0.0005)
    assert mask.format == "ome-zarr"
    picture = read_image(tmp_path / "p1.zarr")
    np.testing.assert_array_equal(picture.array, image)
    assert str(Location.of(str(found[0].location))) == str(found[0].location)
    with pytest.raises(FormatError, match=r"image with labels; name the labels that are meant, such as .*labels/A"):
        read_mask(tmp_path / "p1.zarr")


@pytest.mark.parametrize("version", VERSIONS)
def test_axes_of_one_index_are_dropped_and_colour_is_last(tmp_path, version):
    colour = np.random.default_rng(1).integers(0, 255, (3, 60, 50), np.uint8)
    write_ome(tmp_path / "a.zarr", version, colour, {}, axes="cyx")
    np.testing.assert_array_equal(read_image(tmp_path / "a.zarr").array, np.moveaxis(colour, 0, -1))
    with pytest.raises(FormatError, match="has 3 parts along axis 'c'"):
        read_mask(tmp_path / "a.zarr")
    write_ome(tmp_path / "b.zarr", version, blob()[None, None], {}, axes="czyx")
    mask = read_mask(tmp_path / "b.zarr")
    np.testing.assert_array_equal(mask.array, blob())
    assert mask.grid == Grid((120, 90), (0.0005, 0.0005))


@pytest.mark.parametrize("unit", ["parsec", None])
def test_spacing_needs_a_unit(tmp_path, unit):
    write_ome(tmp_path / "a.zarr", "0.5", blob(), {}, unit=unit)
    assert read_mask(tmp_path / "a.zarr").grid.spacing is None


@pytest.mark.parametrize("version", [2, 3])
def test_plain_arrays_and_groups(tmp_path, version):
    made = zarr.create_array(tmp_path / "a.zarr", shape=(120, 90), chunks=(50, 40), dtype="u1", zarr_format=version)
    made[...] = blob()
    np.testing.assert_array_equal(read_mask(tmp_path / "a.zarr").array, blob())
    assert read_mask(tmp_path / "a.zarr").grid == Grid((120, 90))
    group = zarr.open_group(tmp_path / "g.zarr", mode="w", zarr_format=version)
    for name in "AB":
        group.create_array(name, data=blob())
    found = Template(str(tmp_path / "{case}.zarr/{rater}"), require=("rater", "case")).find()
    assert [match.fields["rater"] for match in found if match.fields["case"] == "g"] == ["A", "B"]
    with pytest.raises(FormatError, match=r"group of 2 arrays \(A, B\)"):
        read_mask(tmp_path / "g.zarr")
    np.testing.assert_array_equal(read_mask(Location(tmp_path / "g.zarr", "B")).array, blob())
    found = Template(str(tmp_path / "{case}.*")).find()
    assert {match.location.path.name for match in found} == {"a.zarr", "g.zarr"}


def test_large_arrays_stay_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGE", 1000)
    write_ome(tmp_path / "a.zarr", "0.5", blob()[None], {}, axes="zyx")
    mask = read_mask(tmp_path / "a.zarr")
    assert is_lazy(mask.array)
    assert mask.array.shape == mask.grid.shape == (120, 90)
    np.testing.assert_array_equal(mask.array[10:70, 5:60], blob()[10:70, 5:60])


@pytest.mark.parametrize("kind", ["labels", "counts", "probability"])
@pytest.mark.parametrize("shape", [(700, 530), (40, 90, 70)])
def test_what_is_written_is_read_by_ome_zarr_and_valid(tmp_path, monkeypatch, kind, shape):
    monkeypatch.setattr(zarr_store, "CHUNK", {2: (128, 128), 3: (16, 32, 32)})
    monkeypatch.setattr(halving, "SMALLEST_LEVEL", 60)
    nearest, most = kind != "probability", {"labels": None, "counts": 5, "probability": 1.0}[kind]
    array = blob(shape) if nearest else blob(shape) * np.float32(0.75)
    spacing = (0.5, 0.25, 0.25)[-len(shape) :]
    writer = MapWriter(tmp_path / "m.zarr", shape, array.dtype, Grid(shape, spacing), nearest=nearest, most=most)
    writer[(slice(None),) * len(shape)] = array
    paths = writer.finish()
    assert sorted(p for p in (tmp_path / "m.zarr").rglob("*") if p.is_file()) == paths
    assert not (tmp_path / ".part-m.zarr").exists()
    (node, *_) = ome_zarr.reader.Reader(ome_zarr.io.parse_url(str(tmp_path / "m.zarr")))()
    assert [axis["name"] for axis in node.metadata["axes"]] == list("zyx"[-len(shape) :])
    np.testing.assert_array_equal(np.asarray(node.data[0]), array)
    assert all(max(level.shape) > 60 for level in node.data[:-1])
    assert max(node.data[-1].shape) <= 60
    for above, below in zip(node.data, node.data[1:], strict=False):
        above, below = np.asarray(above), np.asarray(below)
        if nearest:
            np.testing.assert_array_equal(below, above[(slice(None, None, 2),) * len(shape)])
        else:
            where = (slice(0, 2),) * len(shape)
            np.testing.assert_allclose(below[(0,) * len(shape)], above[where].mean(), rtol=1e-6)
    group = zarr.open_group(tmp_path / "m.zarr", mode="r")
    ModelImage.from_zarr(group)
    check_schema(group.attrs.asdict())
    ome = group.attrs["ome"]
    assert ("image-label" in ome) == (kind == "labels")
    if most is not None:
        (channel,) = ome["omero"]["channels"]
        assert channel["window"] == {"min": 0, "max": most, "start": 0, "end": most}
        assert node.metadata["contrast_limits"] == [[0, most]]
    back = read_mask(tmp_path / "m.zarr") if kind == "labels" else read_image(tmp_path / "m.zarr")
    np.testing.assert_array_equal(back.array, array)
    assert back.grid == Grid(shape, spacing)


def written(tmp_path):
    writer = MapWriter(tmp_path / "m.zarr", (2500, 1100), np.uint8, Grid((2500, 1100)), nearest=True)
    writer[:, :] = np.ones((2500, 1100), np.uint8)
    writer.finish()
    return tmp_path / "m.zarr"


def test_a_chunk_that_is_lost_from_our_own_stores_is_noticed(tmp_path):
    path = written(tmp_path)
    (path / "0/c/1/0").unlink()
    with pytest.raises(FormatError, match="5 of its 6 files of chunks are there"):
        read_mask(path)


@pytest.mark.parametrize("large", [2**28, 1000])
def test_a_chunk_that_cannot_be_decoded_is_named(tmp_path, monkeypatch, large):
    monkeypatch.setattr(files, "LARGE", large)
    path = written(tmp_path)
    data = bytearray((path / "0/c/1/0").read_bytes())
    data[-1] ^= 1  # in the check sum
    (path / "0/c/1/0").write_bytes(data)
    with pytest.raises(FormatError, match="chunk 1/0 cannot be decoded"):
        read_mask(path).array[...]


def test_holes_between_marks_are_found(tmp_path):
    made = zarr.create_array(tmp_path / "a.zarr", shape=(60, 60), chunks=(20, 20), dtype="u1")
    made[20:40, 5:55] = 1
    assert find_absent(Location(tmp_path / "a.zarr")).absent == 6
    assert find_absent(Location(tmp_path / "a.zarr")).holes == 0
    (tmp_path / "a.zarr/c/1/1").unlink()
    found = find_absent(Location(tmp_path / "a.zarr"))
    assert (found.absent, found.every, found.holes, found.first) == (7, 9, 1, "1/1")


def test_pyramids_that_disagree(tmp_path):
    path = write_ome(tmp_path / "a.zarr", "0.5", blob(), {})
    text = json.loads((path / "zarr.json").read_text())
    levels = text["attributes"]["ome"]["multiscales"][0]["datasets"]
    levels[1]["coordinateTransformations"][0]["scale"] = [0.5, 0.5]
    (path / "zarr.json").write_text(json.dumps(text))
    with pytest.raises(FormatError, match=r"pyramid disagrees: level \S+ has 60×45 pixels of 0.5×0.5"):
        read_mask(path)
    shutil.rmtree(path / levels[1]["path"])
    with pytest.raises(FormatError, match="is not there"):
        read_mask(path)


def test_stores_that_are_none(tmp_path, monkeypatch):
    (tmp_path / "empty.zarr").mkdir()
    (tmp_path / "file.zarr").write_text("x")
    (tmp_path / "cut.zarr").mkdir()
    (tmp_path / "cut.zarr/zarr.json").write_text('{"node_type": "arr')
    with pytest.raises(FormatError, match="holds no Zarr array"):
        read_mask(tmp_path / "empty.zarr")
    with pytest.raises(FormatError, match="is a file, but a Zarr store is a folder"):
        read_mask(tmp_path / "file.zarr")
    with pytest.raises(FormatError, match=r"zarr.json: is damaged or cut short"):
        read_mask(tmp_path / "cut.zarr")
    with pytest.raises(FormatError, match="there is no such file"):
        read_mask(tmp_path / "none.zarr")
    with pytest.raises(StudyError, match=r"holds no array like '\{rater\}'"):
        Template(str(tmp_path / "empty.zarr/{rater}")).find()


def test_without_zarr_the_extra_is_named(tmp_path, monkeypatch):
    zarr.create_array(tmp_path / "a.zarr", shape=(4, 4), chunks=(2, 2), dtype="u1")
    original = builtins.__import__
    import importlib

    def refuse(name, *more):
        if name.partition(".")[0] == "zarr":
            raise ImportError(name)
        return original(name, *more)

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(FormatError, match=r'install it with pip install "manytruths\[zarr\]"'):
        read_mask(Path(tmp_path / "a.zarr"))


def test_the_digest_of_a_store_is_that_of_its_files(tmp_path):
    array = zarr.create_array(tmp_path / "a.zarr", shape=(40, 40), chunks=(20, 20), dtype="u1")
    array[...] = 3
    first, size = zarr_store.store_digest(tmp_path / "a.zarr"), zarr_store.store_bytes(tmp_path / "a.zarr")
    shutil.copytree(tmp_path / "a.zarr", tmp_path / "b.zarr")
    assert zarr_store.store_digest(tmp_path / "b.zarr") == first
    array[0, 0] = 4
    assert zarr_store.store_digest(tmp_path / "a.zarr") != first
    (tmp_path / "b.zarr/c/0/0").rename(tmp_path / "b.zarr/c/0/9")
    assert zarr_store.store_digest(tmp_path / "b.zarr") != first
    assert size == sum(file.stat().st_size for file in (tmp_path / "b.zarr").rglob("*") if file.is_file())
