"""What is written as BigTIFF: its levels, what says where they are, and nothing left behind."""

from xml.etree import ElementTree

import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st

from manytruths.core.errors import WriteError
from manytruths.io import halving, read_mask
from manytruths.io.tiled_tiff import SIDE, write_tiles
from manytruths.shape.grid import Grid


def paint_in_bands(image, rows):
    def paint(out):
        assert out.chunks == (SIDE, image.shape[1])
        for top in range(0, len(image), rows):
            where = slice(top, min(top + rows, len(image))), slice(0, image.shape[1])
            band = image[where]
            yield where, [band[0, 0] if (band == band[0, 0]).all() else band]

    return paint


def halved(image, nearest):
    if nearest:
        return image[::2, ::2]
    out = np.empty([-(-n // 2) for n in image.shape])
    for row in range(out.shape[0]):
        for column in range(out.shape[1]):
            out[row, column] = image[2 * row : 2 * row + 2, 2 * column : 2 * column + 2].mean(dtype=float)
    return out.astype(image.dtype)


@settings(max_examples=12, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 1100), st.integers(1, 90)) | st.tuples(st.integers(1, 90), st.integers(1, 1100)),
    kind=st.sampled_from(["u1", "u2", "f4"]),
    bands=st.integers(1, 3),
    smallest=st.sampled_from([9, 100, 2000]),
    seed=st.integers(0, 99),
)
def test_every_level_is_half_of_the_one_above(tmp_path_factory, shape, kind, bands, smallest, seed):
    rng = np.random.default_rng(seed)
    image = np.zeros(shape, kind)
    image[len(image) // 3 :] = rng.integers(0, 9, image[len(image) // 3 :].shape)
    path, nearest = tmp_path_factory.mktemp("maps") / "case.tif", kind != "f4"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(halving, "SMALLEST_LEVEL", smallest)
        write_tiles(path, Grid(shape), image.dtype, paint_in_bands(image, SIDE * bands), nearest=nearest)
    assert list(path.parent.iterdir()) == [path]
    with tifffile.TiffFile(path) as file:
        assert file.is_bigtiff
        (series,) = file.series
        for level in series.levels:
            assert level.keyframe.is_tiled
            np.testing.assert_allclose(level.asarray(), image, rtol=1e-6)
            assert level.dtype == image.dtype
            image = halved(image, nearest)
        assert max(series.levels[-1].shape) <= smallest or len(series.levels) == 1
        assert max(series.levels[-1].shape) * 2 > smallest or len(series.levels) == 1
    first, second = path.read_bytes(), path.with_name("again.tif")
    image = tifffile.imread(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(halving, "SMALLEST_LEVEL", smallest)
        write_tiles(second, Grid(shape), image.dtype, paint_in_bands(image, SIDE), nearest=nearest)
    assert second.read_bytes() == first, "whatever the bands"


def test_the_levels_are_described_as_in_ome_tiff(tmp_path):
    image = np.zeros((1300, 700), np.uint8)
    image[200:900, 100:600] = 3
    path = tmp_path / "case.tif"
    write_tiles(
        path, Grid(image.shape, spacing=(0.0005, 0.00025)), image.dtype, paint_in_bands(image, 256), nearest=True
    )
    with tifffile.TiffFile(path) as file:
        assert file.is_ome
        assert [level.shape for level in file.series[0].levels] == [(1300, 700), (650, 350), (325, 175)]
        assert len(file.pages) == 1, "levels are below their image"
        assert [int(page.subfiletype) for page in file.pages[0].pages] == [1, 1]
        pixels = ElementTree.fromstring(file.pages[0].description).find(".//{*}Pixels").attrib
    assert (pixels["SizeX"], pixels["SizeY"], pixels["Type"]) == ("700", "1300", "uint8")
    assert (pixels["PhysicalSizeX"], pixels["PhysicalSizeY"]) == ("0.25", "0.5"), "µm"
    mask = read_mask(path)
    assert mask.grid.shape == image.shape
    np.testing.assert_array_equal(mask.array, image)


def test_a_map_that_fails_leaves_nothing(tmp_path):
    def paint(out):
        yield (slice(0, 256), slice(0, 2000)), [np.ones((256, 2000), np.uint8)]
        raise OSError(28, "No space left on device")

    with pytest.raises(WriteError, match="free space"):
        write_tiles(tmp_path / "case.tif", Grid((2000, 2000)), np.dtype("u1"), paint, nearest=True)
    assert not list(tmp_path.iterdir())
