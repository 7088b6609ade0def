"""Blocks of images and runs in them: which part is shown, what is cut from the file, and where marks lie in it."""

from __future__ import annotations

import json
import struct
from urllib.parse import quote

import nibabel
import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import desk

import manytruths as mt
from adjudication_server import Server, painted
from manytruths.adjudication import blocks
from manytruths.adjudication.blocks import Images, Source, choose_view, find_windows, pack_block, place_series
from manytruths.adjudication.runs import clip_runs, crop_drawing, paint_drawing
from manytruths.core.boxed_runs import runs_to_pairs
from manytruths.core.errors import CallError, ManytruthsError
from manytruths.core.runs import read_runs
from manytruths.io import Location
from manytruths.io.decision_log import read_logs
from manytruths.shape.grid import Grid
from study_folders import write_nifti, write_png

PLAIN = ("--practice", "0", "--controls", "0", "--repeats", "0")


@st.composite
def cases(draw):
    """A shape of two or three axes, a box in it, and bytes of a pixel."""
    shape = draw(st.lists(st.integers(1, 3000), min_size=2, max_size=3))
    box = []
    for size in shape:
        low = draw(st.integers(0, size - 1))
        box.append((low, draw(st.integers(low + 1, size))))
    return tuple(shape), tuple(box), draw(st.sampled_from([1, 2, 3, 4]))


@given(cases())
@settings(max_examples=300, deadline=None)
def test_a_view_lies_in_the_image_holds_the_dispute_and_is_bounded(case):
    shape, box, size = case
    centre = tuple((low + high - 1) // 2 for low, high in box)
    view = choose_view(shape, box, centre, None, size)
    assert all(0 <= start < stop <= n for (start, stop), n in zip(view.box, shape, strict=True))
    assert np.prod(view.shape, dtype=float) * size <= blocks.MOST_BYTES
    assert all(start <= at < stop for (start, stop), at in zip(view.box, centre, strict=True))
    if not view.clipped:
        assert all(s <= low and high <= e for (s, e), (low, high) in zip(view.box, box, strict=True))


def test_small_slices_are_shown_whole_with_twelve_slices_around():
    view = choose_view((512, 512, 100), ((10, 20), (500, 512), (3, 6)), (15, 505, 4), (1, 1, 5), 2)
    assert (view.box, view.axis) == (((0, 512), (0, 512), (0, 18)), 2)


@st.composite
def drawings(draw):
    """Values in a box, and a view that may cut it."""
    axes = draw(st.integers(2, 3))
    sizes = [draw(st.integers(1, 6)) for _ in range(axes)]
    lows = [draw(st.integers(0, 5)) for _ in range(axes)]
    starts = [draw(st.integers(0, 5)) for _ in range(axes)]
    lengths = [draw(st.integers(1, 8)) for _ in range(axes)]
    values = draw(st.lists(st.integers(0, 2), min_size=int(np.prod(sizes)), max_size=int(np.prod(sizes))))
    box = tuple((low, low + size) for low, size in zip(lows, sizes, strict=True))
    view = tuple((start, start + length) for start, length in zip(starts, lengths, strict=True))
    return np.array(values).reshape(sizes), box, view


@given(drawings())
@settings(max_examples=300, deadline=None)
def test_runs_move_as_pixels_do(case):
    values, box, view = case
    whole = np.zeros([20] * values.ndim, int)
    whole[tuple(slice(*ends) for ends in box)] = values
    expected = whole[tuple(slice(*ends) for ends in view)]
    moved = clip_runs(read_runs(values), box, view)
    assert (moved[...] == expected).all()
    assert (painted(runs_to_pairs(moved), expected.shape) == expected).all()
    drawn = paint_drawing(runs_to_pairs(moved), expected.shape, (1, 2))
    assert (drawn[...] == expected).all()
    outer, inside = crop_drawing(drawn, view, box)
    whole[:] = 0
    whole[tuple(slice(*ends) for ends in outer)] = inside[...]
    cut = np.zeros_like(whole)
    cut[tuple(slice(*ends) for ends in view)] = drawn[...]
    assert (whole == cut).all()
    assert all(a <= b and c <= d for (a, d), (b, c) in zip(outer, box, strict=True))
    if len(drawn):
        tight, _ = crop_drawing(drawn, view)
        marked = np.nonzero(whole)
        assert tight == tuple((int(m.min()), int(m.max()) + 1) for m in marked)


@given(
    st.lists(
        st.tuples(
            st.integers(1, 3), st.lists(st.tuples(st.integers(0, 119), st.integers(1, 40)), min_size=1, max_size=3)
        ),
        max_size=4,
    )
)
@settings(max_examples=200, deadline=None)
def test_drawings_whose_runs_overlap_and_cross_rows(parts):
    """Later parts over earlier ones, pixel by pixel."""
    flat = np.zeros(120, int)
    drawn = []
    for value, runs in parts:
        kept = [(start, min(length, 120 - start)) for start, length in runs]
        if sum(length for _, length in kept) <= 120:
            for start, length in kept:
                flat[start : start + length] = value
            drawn.append([value, [number for run in kept for number in run]])
    assert (paint_drawing(drawn, (4, 5, 6), (1, 2, 3))[...] == flat.reshape(4, 5, 6)).all()


@pytest.mark.parametrize(
    "drawn", [None, 3, [[1]], [[1, [0, 1], 2]], [["a", [0, 1]]], [[1, [0.5, 1]]], [[True, [0, 1]]]]
)
def test_what_is_no_drawing_is_refused(drawn):
    with pytest.raises(CallError, match="runs"):
        paint_drawing(drawn, (4, 4), (1,))


def test_windows_are_those_of_the_kind_of_image():
    ct = np.array([-1000, -900, 0, 40, 300] * 40, np.int16)
    assert [name for name, *_ in find_windows(ct)] == ["percentile", "lung", "soft_tissue", "bone", "brain"]
    assert [name for name, *_ in find_windows(np.arange(200, dtype=np.uint8))] == ["file", "percentile"]
    assert find_windows(np.zeros((4, 4, 3), np.uint8)) == ()
    assert find_windows(ct, (-160, 240))[0] == ("file", -160, 240)
    (flat,) = find_windows(np.full(9, np.nan))
    assert flat == ("percentile", 0.0, 1.0)


@pytest.mark.parametrize(
    ("values", "kind"),
    [(np.array([[True]]), "u1"), (np.array([[255]], np.uint8), "u1"), (np.array([[-3]], np.int64), "i2"),
     (np.array([[60000]], np.int32), "u2"), (np.array([[1 << 20]]), "f4"), (np.array([[0.5]]), "f4")],
)  # fmt: skip
def test_a_block_keeps_its_values(values, kind):
    packed = pack_block(values, 2, {})
    (length,) = struct.unpack("<I", packed[:4])
    head = json.loads(packed[4 : 4 + length])
    assert (head["dtype"], (4 + length) % 8) == (kind, 0)
    assert np.frombuffer(packed[4 + length :], f"<{kind}").tolist() == [values.item()]


def test_volumes_are_cut_from_the_file_scaled_and_unpacked_once(tmp_path):
    stored = np.random.default_rng(0).integers(0, 2000, (20, 30, 12), np.int16)
    for name in ("ct.nii", "ct.nii.gz"):
        image = nibabel.Nifti1Image(stored, np.diag([0.7, 0.7, 5, 1]))
        image.header.set_slope_inter(1, -1024)
        image.header["cal_min"], image.header["cal_max"] = -100, 200
        nibabel.save(image, tmp_path / name)
        images = Images(tmp_path / "scratch")
        source = images.open(Location.of(tmp_path / name))
        part = source.crop((slice(3, 9), slice(0, 30), slice(2, 4)))
        kept = np.asarray(nibabel.load(tmp_path / name).dataobj)[3:9, :, 2:4]
        assert part.dtype.kind == "i"
        assert (part == kept).all()
        assert source.windows[0] == ("file", -100.0, 200.0)
        assert source.overview(4, 320).shape == (20, 30)
        assert images.open(Location.of(tmp_path / name)) is source
    assert len(list((tmp_path / "scratch").glob("*.voxels"))) == 1


def test_a_volume_that_is_cut_short_is_refused(tmp_path):
    nibabel.save(nibabel.Nifti1Image(np.zeros((9, 9, 9), np.uint8), np.eye(4)), tmp_path / "a.nii")
    data = (tmp_path / "a.nii").read_bytes()
    (tmp_path / "a.nii").write_bytes(data[:-100])
    with pytest.raises(ManytruthsError, match="damaged or cut short"):
        Images(tmp_path).open(Location.of(tmp_path / "a.nii"))


def test_slides_are_read_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BY_PART", 1 << 18)
    values = np.random.default_rng(0).integers(0, 255, (1024, 1536, 3), np.uint8)
    tifffile.imwrite(tmp_path / "slide.tif", values, tile=(256, 256), photometric="rgb", compression="deflate")
    source = Images(tmp_path).open(Location.of(tmp_path / "slide.tif"))
    assert (source.crop((slice(500, 700), slice(1000, 1300))) == values[500:700, 1000:1300]).all()
    assert max(source.overview(None, 320).shape) <= 400


def series_of(array, affine=None, oriented=True):
    """A series in memory."""
    grid = Grid(array.shape, affine=None if affine is None else tuple(map(tuple, affine)), oriented=oriented)
    return Source(array.shape, grid.spacing, lambda where: array[where], lambda at, pixels: array, (), 0, grid)


def test_another_series_is_shown_by_its_share_of_each_axis_where_files_do_not_say_where_it_lies():
    box, centre = ((0, 512), (0, 512), (0, 24)), (110, 110, 11)
    affine = np.diag([1.0, 1, 5, 1])
    for one, other in ((None, None), (affine, None), (None, affine)):
        image = series_of(np.empty((512, 512, 40), bool), one).grid
        placed = place_series(image, series_of(np.empty((256, 256, 20), bool), other), box, centre)
        assert placed.view(box) == ((0, 256), (0, 256), (0, 12))
    header = series_of(np.empty((512, 512, 40), bool), affine, oriented=False).grid
    assert place_series(header, series_of(np.empty((256, 256, 20), bool), affine), box, centre).view(box)[2] == (0, 12)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 0, 2)])
@pytest.mark.parametrize("backwards", [(1, 1, 1), (-1, 1, -1), (-1, -1, 1)])
def test_another_series_is_shown_by_its_place_in_the_patient(order, backwards):
    """A prior of other voxels, other axes and another corner: the same place holds the same value in both."""
    affine = np.diag([-0.8, 0.8, 2.5, 1.0])
    affine[:3, 3] = 30, -20, 5
    image = Grid((60, 50, 20), affine=tuple(map(tuple, affine)))
    # the value of a voxel of the prior is where it lies
    size = np.array([40, 36, 12])
    own = np.zeros((4, 4))
    own[3, 3] = 1
    for axis, (world, way) in enumerate(zip(order, backwards, strict=True)):
        own[world, axis] = way * (1.2, 1.4, 3.0)[axis]
    low = np.array([-10.0, -15.0, 8.0])
    reach = np.abs(own[:3, :3]) @ (size - 1)
    own[:3, 3] = [low[w] + (reach[w] if own[w].min() < 0 else 0) for w in range(3)]
    index = np.stack(np.meshgrid(*map(np.arange, size), indexing="ij"))
    place = np.einsum("ij,jxyz->ixyz", own[:3, :3], index) + own[:3, 3][:, None, None, None]
    box, centre = ((20, 40), (15, 35), (3, 12)), (30, 25, 7)
    for world in range(3):
        placed = place_series(image, series_of(place[world], own), box, centre)
        block = placed.source.crop(tuple(slice(*ends) for ends in placed.view(box)))
        for at in (centre, (22, 33, 4), (38, 16, 11)):
            edge = [s * (a + 0.5) + t for s, a, t in zip(placed.scales, at, placed.shifts, strict=True)]
            inside = tuple(int(e) - start for e, (start, _) in zip(edge, placed.view(box), strict=True))
            wanted = (affine @ [*at, 1])[world]
            assert abs(block[inside] - wanted) <= 0.5 * max(1.2, 1.4, 3.0) + 1e-9


def test_a_prior_of_another_place_is_not_empty():
    image = Grid((60, 50, 20), affine=tuple(map(tuple, np.diag([1.0, 1, 1, 1]))))
    away = np.diag([1.0, 1, 1, 1])
    away[0, 3] = 500
    box = ((20, 40), (15, 35), (3, 12))
    assert place_series(image, series_of(np.empty((60, 50, 20), bool), away), box, (30, 25, 7)).view(box) == box


@pytest.fixture(scope="module")
def volumes(tmp_path_factory):
    """Two raters, a ball that both saw and one that B missed, on CT; and a prior of half the resolution."""
    folder = tmp_path_factory.mktemp("volumes")
    grid = np.mgrid[:40, :48, :24]
    balls = [((grid - np.array(at)[:, None, None, None]) ** 2).sum(axis=0) <= 20 for at in ((10, 12, 8), (28, 30, 15))]
    image = np.where(balls[0] | balls[1], 40, -900).astype(np.int16)
    affine = np.diag([-0.8, 0.8, 2.5, 1])
    (folder / "images").mkdir()
    (folder / "prior").mkdir()
    nibabel.save(nibabel.Nifti1Image(image, affine), folder / "images/p1.nii.gz")
    nibabel.save(nibabel.Nifti1Image(image[::2, ::2], np.diag([-1.6, 1.6, 2.5, 1])), folder / "prior/p1.nii.gz")
    for rater, marked in (("A", balls[0] | balls[1]), ("B", np.roll(balls[0], 1, 0))):
        (folder / "masks" / rater).mkdir(parents=True)
        nibabel.save(nibabel.Nifti1Image(marked.astype(np.uint8), affine), folder / "masks" / rater / "p1.nii.gz")
    (folder / "study.toml").write_text(
        'masks = "masks/{rater}/{case}.nii.gz"\nimages = "images/{case}.nii.gz"\n'
        'series = { prior = "prior/{case}.nii.gz" }\nreasons = ["seen on the prior", "artefact"]\n'
    )
    return folder, image


@pytest.mark.slow
def test_a_volume_is_shown_as_in_the_report_with_its_prior(volumes, tmp_path):
    folder, image = volumes
    with Server(tmp_path, [str(folder)], *PLAIN, "--no-first-look", "--min-dice", "0.95") as server:
        assert server.get("state")["settings"]["reasons"] == ["seen on the prior", "artefact"]
        ids = server.open_items()
        assert len(ids) == 2
        for id in ids:
            item = server.get(f"items/{id}")
            assert (item["axes"], item["axis"], item["display"]["axes"][0]) == (3, 2, 2)
            assert item["display"]["letters"] == ["R", "L", "A", "P"]
            assert item["series"] == ["image", "prior"]
            view = tuple(map(slice, item["view"]["start"], item["view"]["stop"]))
            head, values = server.block(f"items/{id}/image")
            assert (values == image[view]).all()
            assert [window["name"] for window in head["windows"]][1:] == ["lung", "soft_tissue", "bone", "brain"]
            prior, other = server.block(f"items/{id}/image?series=1")
            # voxels of both begin at the same middle
            assert (prior["scales"], prior["shifts"]) == (pytest.approx([0.5, 0.5, 1]), pytest.approx([0.25, 0.25, 0]))
            where = tuple(slice(*ends) for ends in prior["view"])
            assert (other == image[::2, ::2][where]).all()
            assert server.ask("GET", f"/api/items/{id}/image?series=2")[0] == 204
            outlines = server.get(f"items/{id}/outlines")
            union = painted(outlines["choices"]["union"]["runs"], values.shape)
            box = tuple(slice(*ends) for ends in item["box"])
            marked = np.zeros(image.shape, bool)
            marked[view] = union > 0
            assert marked.sum() == marked[box].sum() > 0
            head, small = server.block(f"items/{id}/overview")
            assert (small.shape, head["dtype"]) == ((40, 48), "u1")
            assert head["frame"] == [[0, 40], [0, 48]]
            assert server.decide(id, "drawn", runs=outlines["choices"]["union"]["runs"])[0] == 200


@pytest.fixture(scope="module")
def slide(tmp_path_factory):
    """A slide of 4352 × 4608 whose bright part lies far from the one dispute, in tiles with one smaller level."""
    folder = tmp_path_factory.mktemp("slide")
    values = np.full((4352, 4608), 60, np.uint8)
    values[3000:4000, 500:1500] = 200
    values[800:1700, 2900:3900] = 120
    (folder / "images").mkdir()
    with tifffile.TiffWriter(folder / "images/s1.tif") as file:
        file.write(values, subifds=1, tile=(256, 256), compression="zlib")
        file.write(values[::2, ::2], subfiletype=1, tile=(256, 256), compression="zlib")
    for rater, size in (("A", 250), ("B", 390)):
        mask = np.zeros(values.shape, np.uint8)
        mask[1250 - size : 1250 + size, 3400 - size : 3400 + size] = 1
        (folder / "masks" / rater).mkdir(parents=True)
        tifffile.imwrite(folder / "masks" / rater / "s1.tif", mask, tile=(256, 256), compression="zlib")
    return [f"{folder}/masks/{{rater}}/{{case}}.tif", "--images", f"{folder}/images/{{case}}.tif"], values


@pytest.mark.slow
def test_a_slide_is_seen_whole_by_tiles(slide, tmp_path):
    study, values = slide
    with Server(tmp_path, study, *PLAIN) as server:
        (id,) = server.open_items()
        assert server.get(f"items/{id}")["tiles"] == {"side": 512, "zooms": 4}
        assert server.get("state")["settings"]["field"] == pytest.approx(3 * 780)
        _, tile = server.block(f"items/{id}/tile?zoom=0&row=6&column=1")
        assert (tile == values[3072:3584, 512:1024]).all()
        _, small = server.block(f"items/{id}/tile?zoom=2&row=1&column=0")
        assert small.shape == (512, 512)
        assert (small[300, 200], small[100, 10]) == (200, 60)
        for place in ("zoom=0&row=9&column=0", "zoom=5&row=0&column=0"):
            assert server.ask("GET", f"/api/items/{id}/tile?{place}")[0] == 204
        for place in ("zoom=0&row=-1&column=0", "zoom=21&row=0&column=0", "zoom=0&row=0", "zoom=0&row=²&column=0",
                      "zoom=0&row=0&column=9999999"):  # fmt: skip
            assert server.ask("GET", f"/api/items/{id}/tile?{quote(place, safe='&=')}")[0] == 422
    page = tmp_path / "page.html"
    mt.adjudicate(mt.Study.open(study[0], images=study[2]), log=tmp_path / "log", html=page, practice=0, quiet=True)
    assert '"tiles": null' in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_shows_a_slide_around_its_block(slide, tmp_path, browser):
    study, _ = slide
    with Server(tmp_path, study, *PLAIN) as server:
        address = f"http://127.0.0.1:{server.port}/#token={server.token}"
        with desk(browser, address) as shown:
            shown.at("look")
            wide = shown.state["camera"]["zoom"]
            # as much as three times the larger outline, though its block is smaller
            assert shown.page.locator("canvas").first.bounding_box()["height"] / wide >= 0.99 * 3 * 780
            shown.press("0")
            place = shown.page.evaluate("manytruthsAdjudication.at(1000 - 2632, 3500 - 482)")
            box = shown.page.locator("canvas").first.bounding_box()
            assert box["x"] < place["x"] < box["x"] + box["width"]
            at = f"{place['x'] - box['x']} * devicePixelRatio, {place['y'] - box['y']} * devicePixelRatio"
            canvas = 'document.querySelector("canvas").getContext("2d")'
            shown.page.wait_for_function(f"{canvas}.getImageData({at}, 1, 1).data[0] > 150")
            shown.press("l")
            shown.at("outlines")
            shown.press("p")
            assert shown.drag((200, 200), (230, 200))["drawn"] > 0
            shown.press("Enter")
            shown.at("end")
    (log,) = read_logs([tmp_path / "manytruths-adjudication"])
    (decided,) = [entry for entry in log.entries if entry.action == "decide"]
    assert decided.payload["choice"] == "drawn"


@pytest.mark.slow
def test_tiles_of_a_structure_without_lesions(tmp_path):
    rows, columns = np.mgrid[:200, :200]
    for shift, rater in enumerate("AB"):
        write_png(tmp_path / f"masks/{rater}/p1.png", (np.abs(rows - columns - 6 * shift) < 4).astype(np.uint8))
    study = [f"{tmp_path}/masks/{{rater}}/{{case}}.png", "--unit", "tile", "--tile", "100"]
    with Server(tmp_path, study, *PLAIN, "--no-first-look") as server:
        items = [server.get(f"items/{id}") for id in server.open_items()]
        assert {item["unit"] for item in items} == {"tile"}
        assert [[0, 100], [0, 100]] in [item["box"] for item in items]
        assert server.decide(items[0]["id"], "letter:A")[0] == 200


def test_a_large_volume_is_indexed_as_runs(tmp_path, monkeypatch):
    from manytruths.adjudication import index
    from manytruths.core.runs import LabelRuns
    from manytruths.study import Study
    from manytruths.study.adjudicated_masks import base_runs
    from manytruths.study.consensus import consensus
    from manytruths.study.disputes import find_disputes

    grid = np.mgrid[:20, :20, :20]
    for shift, rater in enumerate("ABC"):
        ball = ((grid - 8 - shift) ** 2).sum(axis=0) <= 25
        write_nifti(tmp_path / f"masks/{rater}/p1.nii.gz", ball.astype(np.uint8))
    case = Study.open(f"{tmp_path}/masks/{{rater}}/{{case}}.nii.gz")["p1"]
    plain = find_disputes(index.read_bounded(case))
    monkeypatch.setattr(index, "LARGE_CASE", 10_000)
    reading = index.read_bounded(case)
    assert all(isinstance(mask, LabelRuns) for mask in reading.masks.values())
    monkeypatch.setattr(index, "LARGE_MASK", 1000)
    monkeypatch.setattr(index.Case, "placed", lambda self, column, target=None: pytest.fail("it was read as a whole"))
    slabs = index.read_slabs(case.masks[mt.Column("B")], reading.grid, tmp_path)
    assert (slabs[...] == reading.masks[mt.Column("B")][...]).all()
    for kind, scale in ((np.float64, 1), (np.float32, 0.5)):
        write_nifti(tmp_path / "f.nii.gz", (slabs[...] * scale).astype(kind))
        floats = index.read_slabs({"": Location(tmp_path / "f.nii.gz")}, reading.grid, tmp_path)
        assert floats is None if scale != 1 else (floats.dtype, (floats[...] == slabs[...]).all()) == (np.uint8, True)
    assert not list(tmp_path.glob("*.voxels"))
    monkeypatch.undo()
    # the consensus that the page may show is made of runs, too
    assert (base_runs(reading, "vote:0.5")[...] == consensus(case, "vote:0.5").values).all()
    large = find_disputes(reading)
    assert [each.key for each in large] == [each.key for each in plain]
    index.index_case(case, plain.rule, tmp_path / "p1.disputes")
    there = index.read_case(tmp_path / "p1.disputes")
    assert [each.key for each in there.found()] == [each.key for each in plain]
    for one, other in zip(there.found(), plain, strict=True):
        assert {k: v[...].tolist() for k, v in one.drawn.items()} == {
            k: v[...].tolist() for k, v in other.drawn.items()
        }
        assert (one.box, one.kind, one.doubt) == (other.box, other.kind, other.doubt)
