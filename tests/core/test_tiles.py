"""Tiles: arrays that are not in memory give the same bytes as in one piece, however they are cut."""

import tempfile
from pathlib import Path

import dask.array
import h5py
import numpy as np
import pytest
import tifffile
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

import manytruths as mt
from manytruths import CallError, GridError, InputError
from manytruths.core import mask_arrays, tiles
from manytruths.core.tiles import View, absent_chunks, is_lazy, known_value, tile_shape, tile_slices
from panels import VOID, panels


class Plain:
    """A shape, a dtype and slices, and nothing else; it remembers what was asked for."""

    def __init__(self, array):
        self._array, self.asked = array, []

    @property
    def shape(self):
        return self._array.shape

    @property
    def dtype(self):
        return self._array.dtype

    def __getitem__(self, where):
        self.asked.append(where)
        return self._array[where]


def on_disk(version, sharded=False):
    def make(array, chunks, folder):
        shards = tuple(2 * n for n in chunks) if sharded else None
        made = zarr.create_array(
            folder / f"{len(list(folder.iterdir()))}.zarr", shape=array.shape, chunks=chunks, shards=shards,
            dtype=array.dtype, zarr_format=version, fill_value=int(array.flat[0]),
        )  # fmt: skip
        made[...] = array
        return made

    return make


def in_hdf5(array, chunks, folder):
    file = h5py.File(folder / f"{len(list(folder.iterdir()))}.h5", "w")
    return file.create_dataset("mask", data=array, chunks=chunks)


def memory_map(array, chunks, folder):
    path = folder / f"{len(list(folder.iterdir()))}.npy"
    np.save(path, array)
    return np.load(path, mmap_mode="r")


KINDS = {
    "plain": lambda array, chunks, folder: Plain(array),
    "zarr 2": on_disk(2),
    "zarr 3": on_disk(3),
    "zarr 3, sharded": on_disk(3, sharded=True),
    "hdf5": in_hdf5,
    "memory map": memory_map,
    "dask": lambda array, chunks, folder: dask.array.from_array(array, chunks=chunks),
    "numpy": lambda array, chunks, folder: array,
}


@st.composite
def cut(draw, panel, folder):
    """The masks of a panel, each kept in its own way and in its own chunks."""
    masks = {}
    for rater, mask in panel.masks.items():
        kind = draw(st.sampled_from(list(KINDS)))
        chunks = tuple(draw(st.integers(1, n)) for n in mask.shape) if mask is not None else ()
        masks[rater] = None if mask is None else KINDS[kind](mask, chunks, folder)
    return masks


@settings(max_examples=60)
@given(
    panel=panels(absent=True),
    data=st.data(),
    tile=st.sampled_from([1, 16, 100, 1 << 24]),
    block=st.sampled_from([1, 3, 1 << 20]),
)
def test_any_tiling_and_chunking_gives_the_same_bytes(panel, data, tile, block):
    whole = mt.tally(panel.masks, labels=panel.labels, void=VOID)
    painted = mt.paint(whole.marked, panel.masks, whole, void=VOID)
    shape = painted.shape
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "TILE_BYTES", tile)
        patch.setattr(mask_arrays, "BLOCK", block)
        masks = data.draw(cut(panel, Path(name)))
        assert mt.tally(masks, labels=panel.labels, void=VOID) == whole
        again = mt.paint(whole.marked, masks, whole, void=VOID)
        assert again.dtype == painted.dtype
        np.testing.assert_array_equal(again, painted)
        chunks = tuple(data.draw(st.integers(1, n)) for n in shape)
        out = zarr.create_array(Path(name) / "out.zarr", shape=shape, chunks=chunks, dtype=painted.dtype)
        assert mt.paint(whole.marked, masks, whole, void=VOID, out=out) is out
        np.testing.assert_array_equal(out[...], painted)


@pytest.mark.slow
@settings(max_examples=40)
@given(panel=panels(missing=False), data=st.data(), tile=st.sampled_from([1, 16, 1 << 24]))
def test_regions_predictions_and_learnt_labels(panel, data, tile):
    first, *_ = panel.masks.values()
    region = np.array(data.draw(st.lists(st.booleans(), min_size=first.size, max_size=first.size)))
    region = region.reshape(first.shape)
    region.flat[0] = True
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "TILE_BYTES", tile)
        lazy = data.draw(cut(panel, Path(name)))
        kept = on_disk(3)(
            region.astype(np.int32), tuple(data.draw(st.integers(1, n)) for n in region.shape), Path(name)
        )
        judged = data.draw(cut(panel, Path(name)))
        for where, same in (("union", "union"), (kept, region), (region, region)):
            assert mt.tally(lazy, region=where) == mt.tally(panel.masks, region=same)
        both = mt.tally(lazy, predictions={"net": judged["R1"]}, references={"given": judged["R2"]})
        masks = panel.masks
        assert both == mt.tally(masks, predictions={"net": masks["R1"]}, references={"given": masks["R2"]})
        assert mt.tally(lazy, foreground="any") == mt.tally(masks, foreground="any")


@settings(max_examples=60)
@given(st.data())
def test_tiles_hold_every_item_once(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)))
    arrays = [Plain(np.zeros(shape, np.uint8)) for _ in range(data.draw(st.integers(1, 3)))]
    for array in arrays:
        if data.draw(st.booleans()):
            array.chunks = tuple(data.draw(st.integers(1, n)) for n in shape)
    times = np.zeros(shape, int)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "TILE_BYTES", data.draw(st.sampled_from([1, 10, 1000])))
        patch.setattr(tiles, "LARGEST_TILE", data.draw(st.sampled_from([1, 8, 1000])))
        most = tiles.LARGEST_TILE
        for where in tile_slices(arrays):
            times[where] += 1
            assert times[where].size <= most
    assert (times == 1).all()


def test_masked_dask_arrays_keep_their_mask():
    hidden = np.ma.masked_equal(np.array([[1, 0, 9, 1], [0, 9, 1, 1]]), 9)
    lazy = dask.array.from_array(hidden, chunks=(1, 3))
    other = np.array([[1, 1, 1, 0], [0, 0, 1, 1]])
    assert mt.tally([lazy, other]) == mt.tally([hidden, other])


def test_a_stack_that_is_not_in_memory(tmp_path):
    stack = np.random.default_rng(1).integers(0, 3, (4, 20, 30)).astype(np.uint8)
    made = on_disk(3)(stack, (1, 7, 11), tmp_path)
    assert mt.tally(made) == mt.tally(stack)
    assert mt.tally(made, raters=list("ABCD")) == mt.tally(stack, raters=list("ABCD"))


def test_absent_chunks_are_not_read_and_count_as_fill_value(tmp_path, monkeypatch):
    masks = []
    for number in range(3):
        made = zarr.create_array(tmp_path / f"{number}.zarr", shape=(64, 64), chunks=(16, 16), dtype="u1", fill_value=2)
        made[16:32, 20:30] = number % 2
        masks.append(made)
    whole = [m[...] for m in masks]
    read, load = [], mask_arrays.load
    monkeypatch.setattr(tiles, "TILE_BYTES", 16 * 16 * 3)
    monkeypatch.setattr(mask_arrays, "load", lambda array, where=None: read.append(where) or load(array, where))
    assert absent_chunks(masks[0]) == (15, 16)
    assert mt.tally(masks) == mt.tally(whole)
    assert [w for w in read if w is not None] == [(slice(16, 32), slice(16, 32))] * 3
    assert known_value(masks[0], (slice(0, 16), slice(0, 64))) == 2
    assert known_value(masks[0], (slice(0, 17), slice(0, 64))) is None
    # a view of one page knows it as well
    pages = zarr.create_array(tmp_path / "pages.zarr", shape=(2, 64, 64), chunks=(1, 16, 16), dtype="u1")
    pages[1, :16, :16] = 1
    corner = (slice(0, 16), slice(0, 16))
    assert (known_value(View(pages, (0, None, None)), corner), known_value(View(pages, (1, None, None)), corner)) == (
        0,
        None,
    )


def test_tiff_tiles_through_zarr(tmp_path):
    mask = np.random.default_rng(2).integers(0, 2, (100, 90)).astype(np.uint8)
    tifffile.imwrite(tmp_path / "mask.tif", mask, tile=(32, 32), compression="zlib")
    with tifffile.TiffFile(tmp_path / "mask.tif") as file:
        lazy = zarr.open(file.aszarr(), mode="r")
        assert mt.tally([lazy, mask]) == mt.tally([mask, mask])


def test_tiles_follow_the_chunks_of_masks_and_of_the_output():
    a, b, out = (Plain(np.zeros((1000, 1000), np.uint8)) for _ in range(3))
    a.chunks, b.chunks, out.chunks, out.shards = (100, 100), (50, 100), (30, 30), (300, 300)
    assert [n % 100 for n in tile_shape([a, b])] == [0, 0]
    assert all(n % 300 == 0 or n == 1000 for n in tile_shape([a, b], out))


def test_memory_stays_that_of_a_tile(tmp_path):
    import tracemalloc

    masks = []
    for number in range(3):
        made = zarr.create_array(tmp_path / f"{number}.zarr", shape=(8192, 8192), chunks=(1024, 1024), dtype="u1")
        for row in range(0, 8192, 1024):
            made[row : row + 1024, : 4096 + number] = 1
        masks.append(made)
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", np.uint8, (8192, 8192))
    tracemalloc.start()
    table = mt.tally(masks)
    mt.paint(table.marked.astype(np.uint8), masks, table, out=out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.items == 8192**2
    assert int(out[:, 4096].sum()) == 2 * 8192
    assert peak < 80e6 < 3 * 8192**2


def test_what_is_read_in_pieces():
    array = np.zeros((3, 3))
    assert is_lazy(Plain(array))
    assert not any(map(is_lazy, (array, np.memmap, [[1]], np.float64(1), None, "text", Plain(np.array(["a"])))))


def test_refusals(tmp_path):
    a, b = Plain(np.zeros((4, 4), np.uint8)), Plain(np.zeros((4, 5), np.uint8))
    with pytest.raises(GridError, match="4×5"):
        mt.tally([a, b])
    with pytest.raises(InputError, match="region is empty"):
        mt.tally([a, a], region=a)
    table = mt.tally([a, a])
    with pytest.raises(CallError, match="out needs"):
        mt.paint(table.marked, [a, a], table, out=np.zeros((4, 5)))
    with pytest.raises(CallError, match="out needs"):
        mt.paint(table.marked, [a, a], table, out=a)
