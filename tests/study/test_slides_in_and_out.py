"""Masks of slides as others write them go in; what comes out is valid, and others read it."""

import numpy as np
import ome_zarr.format
import ome_zarr.io
import ome_zarr.reader
import ome_zarr.writer
import pytest
import tifffile
import zarr
from ome_zarr_models.v05.image import Image as ModelImage

import manytruths as mt
from manytruths.io import files
from ngff_schema import check_schema
from study_folders import command, table, value

STEP = 8
SIDE = 2048
"""Of what raters drew, which is magnified."""


def outlines():
    rng = np.random.default_rng(0)
    y, x = np.indices((SIDE, SIDE))
    made = {}
    for rater in "ABC":
        middle = SIDE / 2 + rng.normal(0, 10, 2)
        made[rater] = (np.hypot(y - middle[0], x - middle[1]) < 600 + rng.normal(0, 10)).astype(np.uint8)
    return made


def magnify(mask):
    return np.kron(mask, np.ones((STEP, STEP), np.uint8))


def write_ome_zarr(root, masks):
    """Labels of one image, by ome-zarr-py."""
    options = {"fmt": ome_zarr.format.FormatV05(), "axes": "yx", "scale": {"y": 0.5, "x": 0.5}}
    options["axes_units"] = {"y": "micrometer", "x": "micrometer"}
    group = zarr.open_group(str(root / "slide.zarr"), mode="w", zarr_format=3)
    blank = np.zeros((SIDE * STEP, SIDE * STEP), np.uint8)
    ome_zarr.writer.write_multiscale([blank, blank[::4, ::4]], group, **options)
    for rater, mask in masks.items():
        large = magnify(mask)
        ome_zarr.writer.write_multiscale_labels([large, large[::4, ::4]], group, rater, **options)
    return f"{root}/{{case}}.zarr/labels/{{rater}}"


def write_pyramids(root, masks):
    """As scanners' software writes them: tiles, and smaller levels beside the first."""
    for rater, mask in masks.items():
        (root / rater).mkdir()
        with tifffile.TiffWriter(root / rater / "slide.tif", bigtiff=True) as file:
            large, options = magnify(mask), {"tile": (512, 512), "compression": "zlib", "compressionargs": {"level": 1}}
            file.write(large, subifds=2, resolution=(20_000, 20_000), resolutionunit="CENTIMETER", **options)
            for step in (4, 8):
                file.write(large[::step, ::step], subfiletype=1, **options)
    return f"{root}/{{rater}}/{{case}}.tif"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["zarr", "tiff"])
def test_slides_go_in_and_come_out(tmp_path, kind):
    masks = outlines()
    template = write_pyramids(tmp_path, masks) if kind == "tiff" else write_ome_zarr(tmp_path, masks)
    assert (SIDE * STEP) ** 2 >= files.LARGE
    for verb in ("check", "agree", "fuse"):
        done = command(verb, template, "--out", tmp_path / "out", "--jobs", 2, "--quiet")
        assert (done.err, done.status) == ("", 0)
    found = tmp_path / "out/fuse/consensus/vote-0.5"
    wanted = magnify(sum(masks.values()) >= 2)
    heat = tmp_path / "out/agree/heatmaps"
    if kind == "tiff":
        with tifffile.TiffFile(found / "slide.tif") as file:
            assert file.is_bigtiff
            assert file.pages[0].is_tiled
            for number, level in enumerate(file.series[0].levels):
                np.testing.assert_array_equal(level.asarray(), wanted[:: 2**number, :: 2**number])
            assert level.shape == (512, 512)
            assert file.is_ome
        np.testing.assert_array_equal(tifffile.imread(heat / "slide.tif"), magnify(sum(masks.values())))
    else:
        for path, array in ((found, wanted), (heat, magnify(sum(masks.values())))):
            attributes = zarr.open_group(path / "slide.zarr", mode="r").attrs.asdict()
            check_schema(attributes)
            ModelImage.from_zarr(zarr.open_group(path / "slide.zarr", mode="r"))
            (node, *_) = ome_zarr.reader.Reader(ome_zarr.io.parse_url(str(path / "slide.zarr")))()
            assert len(node.data) > 3
            np.testing.assert_array_equal(np.asarray(node.data[0]), array)
            np.testing.assert_array_equal(np.asarray(node.data[2]), array[::4, ::4])
            (image,) = attributes["ome"]["multiscales"]
            assert image["datasets"][0]["coordinateTransformations"][0]["scale"] == [0.0005, 0.0005]
            assert [axis["unit"] for axis in image["axes"]] == ["millimeter"] * 2, "0.5 µm"
    dice = value(table(tmp_path / "out/agree/agreement.csv"), "dice", "pooled")
    assert dice == mt.mean_pairwise(mt.dice, mt.tally(masks)), "each pixel stands for as many"
