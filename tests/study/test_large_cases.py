"""Cases that are read by tile: the same numbers and maps as in memory, and one line for what they cannot have."""

import subprocess
import sys

import numpy as np
import pytest
import tifffile
import zarr
from PIL import Image

import manytruths as mt
from manytruths import InputError
from manytruths.cli import status
from manytruths.core import runs, tiles
from manytruths.io import files, halving, zarr_store

SHAPE = (300, 260)


def masks_of(seed, raters="ABC", labels=1):
    rng = np.random.default_rng(seed)
    y, x = np.indices(SHAPE)
    made = {}
    for rater in raters:
        mask = np.zeros(SHAPE, np.uint8)
        for label in range(1, labels + 1):
            middle = 100 + 60 * label / labels + rng.normal(0, 4, 2)
            mask[np.hypot(y - middle[0], x - middle[1]) < 50 + rng.normal(0, 4)] = label
        made[rater] = mask
    return made


def write(root, studies, second=None):
    """Every mask as Zarr, as tiled TIFF and as PNG."""
    for case, masks in studies.items():
        for rater, mask in masks.items():
            for kind in ("zarr", "tif", "png"):
                (root / kind / rater).mkdir(parents=True, exist_ok=True)
            made = zarr.create_array(root / f"zarr/{rater}/{case}.zarr", shape=SHAPE, chunks=(64, 50), dtype="u1")
            made[...] = mask
            tifffile.imwrite(root / f"tif/{rater}/{case}.tif", mask, tile=(64, 48), compression="zlib")
            Image.fromarray(mask).save(root / f"png/{rater}/{case}.png")
    return root


@pytest.fixture
def small_tiles(monkeypatch):
    """From here on, everything is large."""

    def shrink():
        monkeypatch.setattr(files, "LARGE", 1000)
        monkeypatch.setattr(tiles, "TILE_BYTES", 1 << 14)
        monkeypatch.setattr(zarr_store, "CHUNK", {2: (100, 96), 3: (8, 64, 64)})
        monkeypatch.setattr(halving, "SMALLEST_LEVEL", 90)

    return shrink


def text(result, table):
    found = result.tables[table]
    return str(list(found.records()) if hasattr(found, "records") else found._rows)


def opened(root, kind, **options):
    return mt.Study.open(str(root / kind / f"{{rater}}/{{case}}.{kind}"), **options)


@pytest.mark.parametrize("labels", [pytest.param(1, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize(
    "options",
    [
        {"void": 3},
        *(
            pytest.param(options, marks=pytest.mark.slow)
            for options in ({}, {"region": "union"}, {"roi": True}, {"foreground": "any"})
        ),
    ],
)
def test_agree_and_fuse_by_tile_equal_those_in_memory(tmp_path, small_tiles, labels, options):
    root = write(tmp_path, {f"p{case}": masks_of(case, labels=labels) for case in range(2)})
    if "roi" in options:
        inside = np.zeros(SHAPE, np.uint8)
        inside[40:210, 30:230] = 255
        for case in ("p0", "p1"):
            Image.fromarray(inside).save(root / f"{case}.png")
        options = {"roi": str(root / "{case}.png")}
    whole = opened(root, "png", **options)
    agreed = mt.agree(whole, measure="none")
    fused = mt.fuse(whole, out=root / "whole", distances=False, pictures=False)
    small_tiles()
    for kind in ("zarr", "tif"):
        study = opened(root, kind, **options)
        assert study["p0"].read(by_tile=True).is_large
        again = mt.agree(study, measure="none")
        assert set(agreed.tables) - set(again.tables) <= {"regions"}
        for table in again.tables:
            assert text(again, table) == text(agreed, table), table
        result = mt.fuse(study, out=root / kind, distances=False, pictures=False)
        for table in fused.tables:
            assert text(result, table) == text(fused, table), table
        for method in fused.methods:
            for case in ("p0", "p1"):
                name = f"{method.replace(':', '-')}/{case}"
                for folder, suffix in (("consensus", "png"), ("probability", "tif")):
                    wanted = np.asarray(Image.open(root / f"whole/fuse/{folder}/{name}.{suffix}"))
                    path = root / kind / "fuse" / folder / f"{name}.{kind}"
                    found = zarr.open_array(path / "0")[...] if kind == "zarr" else tifffile.imread(path)
                    assert found.dtype == wanted.dtype
                    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("rates", ["case", "pooled"])
def test_second_readings_and_pooled_rates(tmp_path, small_tiles, rates):
    cases = {case: masks_of(number) | masks_of(number + 9, raters=["D"]) for number, case in enumerate(("p0", "p1"))}
    del cases["p1"]["D"]
    arrays = {
        case: {(r, session): np.roll(mask, 3 * int(session)) for r, mask in masks.items() for session in "01"}
        for case, masks in cases.items()
    }
    settings = {"consensus": "vote:0.5,staple,excl:0.5", "rates": rates, "distances": False}
    whole = mt.fuse(mt.Study.from_arrays(arrays), **settings)
    small_tiles()
    lazy = {
        case: {key: zarr.create_array({}, data=mask, chunks=(70, 70)) for key, mask in masks.items()}
        for case, masks in arrays.items()
    }
    found = mt.fuse(mt.Study.from_arrays(lazy), **settings)
    for table in whole.tables:
        assert text(found, table) == text(whole, table), table


def test_check_counts_absent_chunks(tmp_path, small_tiles):
    root = write(tmp_path, {"p0": masks_of(0)})
    wanted = mt.check(str(root / "png/{rater}/{case}.png"))
    small_tiles()
    (root / "zarr/A/p0.zarr/c/2/2").unlink()
    found = mt.check(str(root / "zarr/{rater}/{case}.zarr"))
    rows = [row for row in found.tables["coverage"].rows if row.statistic == "absent_chunks"]
    assert [row.extra[0] for row in rows] == ["A", "B", "C"]
    assert rows[0].value > 0
    messages = [problem.message for problem in found.problems]
    assert any("rater A marks both sides of 1 absent chunk, the first 2/2" in message for message in messages)
    assert not any("broken masks" in message for message in messages)
    marked = [row.value for row in wanted.tables["coverage"].rows if row.statistic == "marked"]
    again = [row.value for row in found.tables["coverage"].rows if row.statistic == "marked"]
    assert marked[1:] == again[1:]


def test_what_is_left_out_is_said(tmp_path, small_tiles):
    root = write(tmp_path, {"p0": masks_of(0), "p1": masks_of(1)})
    small_tiles()
    study = opened(root, "zarr")
    assert not [note for note in mt.agree(study, out=root / "out").notes if "by tile" in note]
    (note,) = [note for note in mt.fuse(study, out=root / "out").notes if "by tile" in note]
    assert note.endswith("p0, p1; left out there: pictures")


def test_masks_of_noise_are_counted_and_not_looked_at(tmp_path, small_tiles, monkeypatch):
    noise = {rater: np.random.default_rng(ord(rater)).integers(0, 2, SHAPE).astype(np.uint8) for rater in "AB"}
    root = write(tmp_path, {"p0": noise})
    small_tiles()
    monkeypatch.setattr(runs, "MOST_RUNS", 1000)
    template = str(root / "zarr/{rater}/{case}.zarr")
    (note,) = [note for note in mt.agree(template).notes if "by tile: p0" in note]
    assert (
        "left out there: distances, diameters, lesions, regions, the search for broken masks (case p0, rater A" in note
    )
    (note,) = [note for note in mt.agree(template, measure="none", pictures=False).notes if "by tile" in note]
    assert note.endswith("left out there: the search for broken masks")
    messages = [problem.message for problem in mt.check(template).problems]
    assert "case p0: 300×260 pixels of noise are not searched for broken masks" in messages


@pytest.mark.parametrize("method", ["lsml", "staple_map"])
def test_methods_that_look_at_neighbours_refuse(tmp_path, small_tiles, method):
    root = write(tmp_path, {"p0": masks_of(0)})
    small_tiles()
    with pytest.raises(InputError, match=f"case p0, {method}: looks at neighbours, and 300×260 pixels are too many"):
        mt.fuse(opened(root, "zarr"), consensus=method)


def test_commands_without_tiles_refuse(tmp_path, small_tiles):
    root = write(tmp_path, {"p0": masks_of(0), "p1": masks_of(1)})
    small_tiles()
    with pytest.raises(InputError, match="case p0: 300×260 pixels are read by tile, as check, agree, fuse, evaluate"):
        mt.export(opened(root, "zarr"), "coco", to=root / "out")


@pytest.mark.parametrize("labels", [1, 3])
def test_sizes_by_tile_equal_those_in_memory(tmp_path, small_tiles, labels):
    root = write(tmp_path, {f"p{case}": masks_of(case, labels=labels) for case in range(2)})
    wanted = mt.sizes(opened(root, "png"))
    small_tiles()
    for kind in ("zarr", "tif"):
        assert text(mt.sizes(opened(root, kind)), "sizes") == text(wanted, "sizes")


def test_small_stores_are_measured_like_any_mask(tmp_path):
    root = write(tmp_path, {"p0": masks_of(0), "p1": masks_of(1)})
    wanted, found = mt.agree(opened(root, "png")), mt.agree(opened(root, "zarr"))
    for table in wanted.tables:
        assert text(found, table) == text(wanted, table), table


def test_small_volumes_are_fused(tmp_path):
    """Of volumes there is no PNG."""
    masks = {rater: np.stack([np.roll(mask, 2 * z, 0) for z in range(3)]) for rater, mask in masks_of(0).items()}
    for rater, mask in masks.items():
        zarr.create_array(tmp_path / f"{rater}/p0.zarr", shape=mask.shape, chunks=(2, 64, 64), dtype="u1")[...] = mask
    mt.fuse(mt.Study.open(str(tmp_path / "{rater}/{case}.zarr")), out=tmp_path / "out")
    written = tifffile.imread(tmp_path / "out/fuse/consensus/vote-0.5/p0.tif")
    np.testing.assert_array_equal(written, mt.paint(mt.vote(mt.tally(masks), 0.5).values, masks))


@pytest.mark.slow
def test_a_damaged_chunk_ends_the_command_in_one_line(tmp_path):
    root = write(tmp_path, {"p0": masks_of(0)})
    (root / "zarr/B/p0.zarr/c/1/2").write_bytes(b"no zstd")
    for command in ("agree", "fuse"):
        line = ["-m", "manytruths", command, str(root / "zarr/{rater}/{case}.zarr"), "--out", str(root / "out")]
        run = subprocess.run([sys.executable, *line], capture_output=True, text=True)
        assert run.returncode == 1
        assert "rater B" in run.stderr
        assert "chunk 1/2 cannot be decoded" in run.stderr
        assert "Traceback" not in run.stderr
        assert not (root / "out" / command).exists()


def test_a_damaged_tile_of_a_large_tiff_is_named(tmp_path, small_tiles):
    root = write(tmp_path, {"p0": masks_of(0)})
    with tifffile.TiffFile(root / "tif/B/p0.tif") as file:
        offset = file.pages[0].dataoffsets[7]
    data = bytearray((root / "tif/B/p0.tif").read_bytes())
    data[offset : offset + 4] = b"nope"
    (root / "tif/B/p0.tif").write_bytes(data)
    small_tiles()
    with pytest.raises(InputError, match=r"B/p0.tif: is damaged or cut short \(tile 7 cannot be decoded"):
        mt.agree(opened(root, "tif"))


def test_fuse_that_fails_leaves_no_half_written_store(tmp_path, small_tiles, monkeypatch):
    root = write(tmp_path, {"p0": masks_of(0)})
    small_tiles()
    written = []

    def fail(self, where, values):
        written.append(where)
        if len(written) > 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(zarr_store.MapWriter, "_put", fail)
    with pytest.raises(InputError, match="No space left on device; free space"):
        mt.fuse(opened(root, "zarr"), out=root / "out")
    assert not list(root.rglob("*.part-p0.zarr"))
    assert not (root / "out/fuse").exists()


def test_processes_read_stores_of_their_own(tmp_path, small_tiles):
    root = write(tmp_path, {f"p{case}": masks_of(case) for case in range(3)})
    one = mt.agree(opened(root, "zarr"), measure="none")
    two = mt.agree(opened(root, "zarr"), measure="none", jobs=2)
    assert text(one, "agreement") == text(two, "agreement")


def test_maps_of_volumes(tmp_path, small_tiles):
    rng = np.random.default_rng(1)
    volumes = {rater: (rng.random((20, 70, 90)) < 0.4).astype(np.uint8) for rater in "AB"}
    whole = mt.consensus(mt.Study.from_arrays({"v": volumes}), "vote:any")["v"].values
    small_tiles()
    lazy = {rater: zarr.create_array({}, data=array, chunks=(7, 30, 30)) for rater, array in volumes.items()}
    mt.fuse(mt.Study.from_arrays({"v": lazy}, spacing=(2.0, 0.5, 0.5)), consensus="vote:any", out=tmp_path)
    path = tmp_path / "fuse/consensus/vote-any/v.zarr"
    np.testing.assert_array_equal(zarr.open_array(path / "0")[...], whole)
    assert zarr.open_group(path).attrs["ome"]["multiscales"][0]["axes"][0] == {
        "name": "z",
        "type": "space",
        "unit": "millimeter",
    }


@pytest.mark.parametrize(("kind", "wanted"), [("zarr", "tiff"), ("tif", "ome-zarr")])
def test_maps_in_the_format_that_is_wanted(tmp_path, small_tiles, kind, wanted):
    root = write(tmp_path, {"p0": masks_of(0)})
    whole = mt.consensus(opened(root, "png"), "vote:any")["p0"].values
    small_tiles()
    mt.fuse(opened(root, kind), consensus="vote:any", out=root / "out", large_maps=wanted)
    path = root / "out/fuse/consensus/vote-any/p0"
    if wanted == "tiff":
        with tifffile.TiffFile(path.with_suffix(".tif")) as file:
            assert file.is_bigtiff
            assert file.pages[0].is_tiled
            for level, step in zip(file.series[0].levels, (1, 2, 4), strict=True):
                np.testing.assert_array_equal(level.asarray(), whole[::step, ::step])
        with tifffile.TiffFile(root / "out/fuse/probability/vote-any/p0.tif") as file:
            share, half, quarter = (level.asarray() for level in file.series[0].levels)
            np.testing.assert_allclose(half, share.reshape(150, 2, 130, 2).mean(axis=(1, 3)), rtol=1e-6)
            np.testing.assert_allclose(quarter[:, -1], half.reshape(75, 2, 130)[..., -2:].mean(axis=(1, 2)), rtol=1e-6)
    else:
        np.testing.assert_array_equal(zarr.open_array(path.with_suffix(".zarr") / "0")[...], whole)
    with pytest.raises(mt.CallError, match="large_maps is one of"):
        mt.fuse(opened(root, kind), large_maps="png")


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("command", ["check", "agree", "fuse"])
def test_levels_of_a_tiff_that_disagree_end_the_command_in_one_line(tmp_path, small_tiles, capsys, command, large):
    root = write(tmp_path, {"p0": masks_of(0)})
    with tifffile.TiffWriter(root / "tif/B/p0.tif") as file:
        mask = masks_of(0)["B"]
        file.write(mask, tile=(64, 48), subifds=1)
        file.write(mask[::2, ::4], tile=(64, 48), subfiletype=1)
    if large:
        small_tiles()
    line = [command, str(root / "tif/{rater}/{case}.tif"), "--out", str(root / "out"), "--jobs", "1"]
    assert status(line) == 1
    said = capsys.readouterr()
    assert "B/p0.tif: its pyramid disagrees: level 1 has 150×65 pixels, level 0 300×260" in said.out + said.err
    assert command == "check" or not (root / "out" / command).exists()


def ome_zarr(path, array, step):
    group = zarr.create_group(path)
    group.create_array("0", data=array, chunks=(64, 64))
    axes = [{"name": name, "type": "space", "unit": "micrometer"} for name in "yx"]
    levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [step, step]}]}]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}


@pytest.mark.parametrize("large", [False, True])
def test_check_names_labels_of_another_scale_than_the_image(tmp_path, small_tiles, large):
    for rater, mask in masks_of(0).items():
        (tmp_path / rater).mkdir()
        ome_zarr(tmp_path / rater / "p0.zarr", mask, 0.5)
    for name, step in (("same", 0.5), ("other", 0.25)):
        ome_zarr(tmp_path / f"{name}-p0.zarr", np.zeros(SHAPE, np.uint8), step)
    ome_zarr(tmp_path / "half-p0.zarr", np.zeros((150, 130), np.uint8), 1.0)
    if large:
        small_tiles()
    for name, says in (
        ("same", None),
        ("other", "unlike the masks; correct whichever is wrong"),
        ("half", "unlike the masks; resample it"),
    ):
        study = mt.Study.open(f"{tmp_path}/{{rater}}/{{case}}.zarr", images=f"{tmp_path}/{name}-{{case}}.zarr")
        said = [problem.message for problem in mt.check(study).problems if problem.kind == "image"]
        assert (not said) if says is None else says in said[0]
