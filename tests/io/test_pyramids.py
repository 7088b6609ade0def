"""Overviews and parts of large images, from pyramids and from plain files."""

import numpy as np
import pytest
import tifffile
import zarr
from PIL import Image

from manytruths import FormatError
from manytruths.core import tiles
from manytruths.io import Location, pyramids
from manytruths.io.pyramids import open_pyramid, read_crop, read_overview

RGB = np.random.default_rng(5).integers(0, 255, (400, 300, 3)).astype(np.uint8)
WHERE = slice(70, 190), slice(33, 250)


def halves(array):
    return array[::2, ::2]


def write_zarr(path, array, levels=3, scale=2):
    """An OME-Zarr pyramid with colours first."""
    group, datasets = zarr.open_group(path, mode="w", zarr_format=3), []
    axes = [{"name": n, "type": "channel" if n == "c" else "space"} for n in ("cyx" if array.ndim == 3 else "yx")]
    for level in range(levels):
        stored = np.moveaxis(array, -1, 0) if array.ndim == 3 else array
        group.create_array(str(level), data=np.ascontiguousarray(stored), chunks=(64,) * stored.ndim)
        steps = [1.0] * (stored.ndim - 2) + [float(scale**level)] * 2
        datasets.append({"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": steps}]})
        array = halves(array)
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"name": "i", "axes": axes, "datasets": datasets}]}
    return path


def write_tiff(path, array, levels=3, compression="zlib"):
    with tifffile.TiffWriter(path) as file:
        photometric = "rgb" if array.ndim == 3 else "minisblack"
        colour = {"photometric": photometric, "tile": (64, 64), "compression": compression}
        file.write(array, subifds=levels - 1, **colour)
        for _ in range(levels - 1):
            array = halves(array)
            file.write(array, subfiletype=1, **colour)
    return path


FORMATS = {
    "zarr": lambda folder, array: write_zarr(folder / "i.zarr", array),
    "one level": lambda folder, array: write_zarr(folder / "one.zarr", array, 1),
    "tiff": lambda folder, array: write_tiff(folder / "i.tif", array),
    "strips": lambda folder, array: (tifffile.imwrite(folder / "s.tif", array, rowsperstrip=30), folder / "s.tif")[1],
    "png": lambda folder, array: (Image.fromarray(array).save(folder / "i.png"), folder / "i.png")[1],
}


@pytest.mark.parametrize("kind", list(FORMATS))
@pytest.mark.parametrize("grey", [False, True])
def test_parts_and_overviews(tmp_path, monkeypatch, kind, grey):
    array = RGB[..., 0] if grey else RGB
    location = Location(FORMATS[kind](tmp_path, array))
    monkeypatch.setattr(tiles, "TILE_BYTES", 1 << 12)
    assert open_pyramid(location).shape == (400, 300)
    np.testing.assert_array_equal(read_crop(location, WHERE), array[WHERE])
    np.testing.assert_array_equal(read_overview(location, 400), array)
    # the smallest level that is large enough, or means of blocks
    small = read_overview(location, 200)
    if kind in ("zarr", "tiff"):
        np.testing.assert_array_equal(small, halves(array))
    else:
        means = array.reshape(200, 2, 150, 2, *array.shape[2:]).mean(axis=(1, 3))
        np.testing.assert_array_equal(small, np.rint(means).astype(np.uint8))
    assert read_overview(location, 50).shape[:2] == (50, 38)


def test_a_pyramid_of_jpeg_tiles_is_read_by_tile(tmp_path):
    smooth = np.broadcast_to(np.linspace(20, 200, 300, dtype=np.uint8)[None, :, None], RGB.shape).copy()
    location = Location(write_tiff(tmp_path / "slide.tif", smooth, compression="jpeg"))
    found = read_crop(location, WHERE)
    assert found.shape == (120, 217, 3)
    assert np.abs(found.astype(int) - smooth[WHERE]).max() < 12


def test_numbers_beyond_bytes_are_kept(tmp_path):
    array = (RGB[..., 0].astype(np.uint16) * 200) + 3
    location = Location(write_zarr(tmp_path / "i.zarr", array, 1))
    assert read_overview(location, 100).dtype == np.uint16
    location = Location(write_zarr(tmp_path / "f.zarr", array.astype(np.float32), 1))
    assert read_overview(location, 100).dtype.kind == "f"


def test_levels_that_disagree_and_volumes_are_refused(tmp_path):
    with pytest.raises(FormatError, match="its pyramid disagrees: level 1 has 3×200×150 pixels of 1×3×3"):
        open_pyramid(Location(write_zarr(tmp_path / "i.zarr", RGB, scale=3)))
    zarr.create_array(tmp_path / "v.zarr", shape=(5, 40, 30), chunks=(5, 40, 30), dtype="u1")
    with pytest.raises(FormatError, match="is 5×40×30, but an image of two axes is needed; save one slice of it"):
        open_pyramid(Location(tmp_path / "v.zarr"))


def coarse(array, zoom):
    """Means of blocks; those at the end may be smaller."""
    step = 2**zoom
    starts = [range(0, size, step) for size in array.shape[:2]]
    return np.array([[array[r : r + step, c : c + step].mean(axis=(0, 1)) for c in starts[1]] for r in starts[0]])


@pytest.mark.parametrize("kind", ["one level", "png", "strips"])
def test_tiles_are_means_of_their_pixels(tmp_path, kind):
    pyramid = open_pyramid(Location(FORMATS[kind](tmp_path, RGB)))
    assert pyramid.zooms(64) == 3
    for zoom in range(4):
        whole = np.rint(coarse(RGB, zoom))
        rows = [
            np.concatenate([pyramid.tile(zoom, row, column, 64) for column in range(-(-whole.shape[1] // 64))], axis=1)
            for row in range(-(-whole.shape[0] // 64))
        ]
        assert np.array_equal(np.concatenate(rows), whole)


@pytest.mark.parametrize("kind", ["tiff", "zarr"])
def test_tiles_come_from_the_level_that_is_fine_enough(tmp_path, kind):
    pyramid = open_pyramid(Location(FORMATS[kind](tmp_path, RGB)))
    assert np.array_equal(pyramid.tile(0, 1, 2, 64), RGB[64:128, 128:192])
    assert np.array_equal(pyramid.tile(1, 1, 1, 64), halves(RGB)[64:128, 64:128])
    assert np.array_equal(pyramid.tile(1, 3, 2, 64), halves(RGB)[192:, 128:])
    assert np.array_equal(pyramid.tile(3, 0, 0, 64), np.rint(coarse(halves(halves(RGB)), 1)))


def test_tiles_are_not_made_of_too_many_pixels(tmp_path, monkeypatch):
    monkeypatch.setattr(pyramids, "MOST_OF_TILE", 128**2)
    assert open_pyramid(Location(FORMATS["one level"](tmp_path, RGB))).zooms(64) == 1
    assert open_pyramid(Location(FORMATS["tiff"](tmp_path, RGB))).zooms(64) == 3
