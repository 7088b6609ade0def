"""Large cases in evaluate, reliability, plan and tally: rows as in memory, and one line for what is left out."""

from dataclasses import replace

import numpy as np
import pytest
import tifffile
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from tests.study.test_large_cases import SHAPE, masks_of, opened, small_tiles, write  # noqa: F401

import manytruths as mt
from manytruths import InputError
from manytruths.analyses.evaluate.marks import unpack
from manytruths.analyses.evaluate.second_look import place_picture
from manytruths.core import tiles
from manytruths.io import files
from manytruths.study.patterns import count_patterns

CASES = ("p0", "p1")


def lines(table):
    """The rows of a table as its file has them."""
    rows = table.rows if hasattr(table, "rows") else table._rows
    return [str(row) for row in rows]


def same_rows(found, wanted):
    """There are the same tables, with the same rows."""
    assert set(found.tables) == set(wanted.tables)
    for name, table in found.tables.items():
        assert lines(table) == lines(wanted.tables[name]), name


def study_files(root, labels=1):
    """Raters, two algorithms and a given reference, in all formats."""
    write(root, {case: masks_of(i, labels=labels) for i, case in enumerate(CASES)})
    for a in range(2):
        by_case = {c: {f"alg{a}": masks_of(50 + 9 * a + i, "A", labels)["A"]} for i, c in enumerate(CASES)}
        write(root / "pred", by_case)
    write(root / "ref", {case: {"gold": masks_of(90 + i, "A", labels)["A"]} for i, case in enumerate(CASES)})
    return root


def judged(root, kind, **options):
    def template(folder, who):
        return str(root / folder / kind / f"{{{who}}}/{{case}}.{kind}")

    given = {"predictions": template("pred", "algorithm"), "reference": template("ref", "reference")}
    return mt.Study.open(template("", "rater"), **given, **options)


def area(root, name, rows, columns):
    inside = np.zeros(SHAPE, np.uint8)
    inside[rows, columns] = 255
    for case in CASES:
        Image.fromarray(inside).save(root / f"{name}-{case}.png")
        zarr.create_array(root / f"{name}-{case}.zarr", data=inside, chunks=(70, 64))
    return {kind: str(root / f"{name}-{{case}}.{kind}") for kind in ("png", "zarr")}


@pytest.mark.parametrize(
    ("labels", "options", "kind"),
    [
        (1, {}, "zarr"),
        pytest.param(3, {}, "tif", marks=pytest.mark.slow),
        pytest.param(1, {"void": 3}, "png", marks=pytest.mark.slow),
        pytest.param(3, {"region": "union"}, "zarr", marks=pytest.mark.slow),
        (3, {"void": 3, "spacing": (0.5, 0.25)}, "zarr"),
        pytest.param(3, {"foreground": "any"}, "tif", marks=pytest.mark.slow),
    ],
)
def test_scores_of_masks_equal_those_in_memory(tmp_path, small_tiles, labels, options, kind):  # noqa: F811
    root = study_files(tmp_path, labels)
    wanted = mt.evaluate(judged(root, "png", **options))
    small_tiles()
    found = mt.evaluate(judged(root, kind, **options))
    same_rows(found, wanted)
    assert found.notes == wanted.notes
    assert wanted.second_look.ranked
    for ranked, whole in zip(found.second_look.ranked, wanted.second_look.ranked, strict=True):
        assert np.array_equal(
            place_picture(ranked, unpack(ranked.closeup)), place_picture(whole, unpack(whole.closeup))
        )


@pytest.mark.slow
def test_regions_and_training_areas_are_read_by_tile_too(tmp_path, small_tiles):  # noqa: F811
    root = study_files(tmp_path)
    inside, learnt = (
        area(root, "roi", slice(40, 240), slice(20, 200)),
        area(root, "learnt", slice(90, 130), slice(None)),
    )
    wanted = mt.evaluate(judged(root, "png", roi=inside["png"], training=learnt["png"]))
    small_tiles()
    found = mt.evaluate(judged(root, "zarr", roi=inside["zarr"], training=learnt["zarr"]))
    same_rows(found, wanted)


def test_several_consensuses_and_a_missing_prediction(tmp_path, small_tiles):  # noqa: F811
    root = study_files(tmp_path)
    for kind in ("png", "zarr"):
        (root / f"pred/{kind}/alg1/p1.{kind}").rename(root / f"elsewhere.{kind}")
    methods = {"consensus": "vote:any,vote:0.75,staple,simple,plurality"}
    wanted = mt.evaluate(judged(root, "png"), **methods)
    small_tiles()
    same_rows(mt.evaluate(judged(root, "zarr"), **methods), wanted)
    with pytest.raises(InputError, match="case p0, lsml: looks at neighbours, and 300×260 pixels are too many"):
        mt.evaluate(judged(root, "zarr"), consensus="lsml")


def probability_files(root, dtype, many=False):
    rng = np.random.default_rng(3)
    y, x = np.indices(SHAPE)
    for a in range(2):
        for i, case in enumerate(CASES):
            chance = 1 / (1 + np.exp((np.hypot(y - 130 - 4 * a, x - 130) - 50 - i) / 9)) + rng.random(SHAPE) * 0.05
            chance = np.clip(chance, 0, 1)
            chance = (chance * 255).astype(dtype) if dtype == "u1" else np.round(chance, 9 if many else 3).astype(dtype)
            for kind in ("zarr", "tif"):
                (root / f"chance/{kind}/alg{a}").mkdir(parents=True, exist_ok=True)
            tifffile.imwrite(root / f"chance/tif/alg{a}/{case}.tif", chance, tile=(64, 64), compression="zlib")
            zarr.create_array(root / f"chance/zarr/alg{a}/{case}.zarr", data=chance, chunks=(80, 70))


@pytest.mark.parametrize(
    ("dtype", "many", "threshold", "kind"),
    [
        ("u1", False, None, "tif"),
        ("f4", True, None, "zarr"),
        pytest.param("f4", False, 0.5, "zarr", marks=pytest.mark.slow),
        pytest.param("u1", False, 127, "zarr", marks=pytest.mark.slow),
    ],
)
def test_probability_maps_are_counted_by_tile(tmp_path, small_tiles, monkeypatch, dtype, many, threshold, kind):  # noqa: F811
    root = write(tmp_path, {case: masks_of(i) for i, case in enumerate(CASES)})
    probability_files(root, dtype, many)
    monkeypatch.setattr("manytruths.evaluation.responses.MOST", 5000)  # so that some are rounded
    learnt = area(root, "learnt", slice(90, 130), slice(None))

    def study(kind):
        chance = str(root / f"chance/{kind}/{{algorithm}}/{{case}}.{kind}")
        return opened(root, kind, predictions=chance, probability=True, training=learnt["zarr"])

    wanted = mt.evaluate(study("tif"), threshold=threshold)
    small_tiles()
    reading = study(kind)["p0"].read(by_tile=True)
    assert tiles.is_lazy(next(iter(reading.predictions.values())))
    found = mt.evaluate(study(kind), threshold=threshold)
    same_rows(found, wanted)
    assert ("froc" in wanted.tables) == (dtype == "f4" or threshold is not None)
    assert found.notes == wanted.notes


def test_probability_maps_that_are_not_finite_are_refused_by_tile(tmp_path, small_tiles):  # noqa: F811
    root = write(tmp_path, {case: masks_of(i) for i, case in enumerate(CASES)})
    probability_files(root, "f4")
    zarr.open_array(root / "chance/zarr/alg1/p1.zarr", mode="r+")[200, 200] = np.nan
    small_tiles()
    chance = str(root / "chance/zarr/{algorithm}/{case}.zarr")
    with pytest.raises(
        InputError, match=r"prediction of alg1: values such as nan at \(200, 200\) \(1 in all\) are not"
    ):
        mt.evaluate(opened(root, "zarr", predictions=chance, probability=True))


@given(
    chunks=st.lists(st.tuples(st.integers(7, 40), st.integers(5, 33)), min_size=5, max_size=5), seed=st.integers(0, 99)
)
@settings(max_examples=15, deadline=None)
def test_patterns_do_not_depend_on_chunks(chunks, seed):
    """Any chunking of masks, prediction, reference and region gives the items and counts of the whole."""
    rng = np.random.default_rng(seed)
    arrays = [rng.integers(0, 3, (41, 37)).astype(np.uint8).repeat(2, axis=1)[:, :37] for _ in range(5)]
    lazy = [zarr.create_array({}, data=array, chunks=c) for array, c in zip(arrays, chunks, strict=True)]

    def study(each):
        case = next(iter(mt.Study.from_arrays({"p": {"A": each[0], "B": each[1]}})))
        algorithm, gold = mt.Column("net", "algorithm"), mt.Column("gold", "reference")
        return replace(case, predictions={algorithm: each[2]}, references={gold: each[3]}, roi=each[4])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "LARGE", 100)
        patch.setattr(tiles, "TILE_BYTES", 600)
        reading = study(lazy).read(by_tile=True)
        assert reading.is_large
        found = count_patterns(reading)
        assert found.counts.sum() == arrays[0].size
        wanted = study(arrays).read(by_tile=True)
        assert wanted.is_large  # by its size, though in memory
        assert found.tally() == wanted.tally()
        assert found.tally("whole", judged=False) == wanted.tally("whole", judged=False)
        painted = np.full(reading.grid.shape, -1)
        for where, items in found.pixels.tiles():
            painted[where] = items
    np.testing.assert_array_equal(np.asarray(found.masks[mt.Column("A", "rater")])[painted], arrays[0])
    np.testing.assert_array_equal(np.asarray(found.region)[painted] != 0, arrays[4] != 0)
    drawn = found.pixels.map(found.masks[mt.Column("B", "rater")])
    assert drawn.shape == arrays[1].shape
    np.testing.assert_array_equal(drawn[...], arrays[1])
    np.testing.assert_array_equal(drawn[5:20, 7:30], arrays[1][5:20, 7:30])


def test_a_study_of_large_and_small_cases(tmp_path, small_tiles):  # noqa: F811
    root = study_files(tmp_path)
    for folder, who in (("", "A"), ("", "B"), ("", "C"), ("pred", "alg0"), ("pred", "alg1"), ("ref", "gold")):
        small = np.asarray(Image.open(root / folder / f"png/{who}/p1.png"))[60:160:4, 60:160:4]
        Image.fromarray(small).save(root / folder / f"png/{who}/p1.png")
    small_tiles()
    found = mt.evaluate(judged(root, "png"), boundaries="outlines")
    (note,) = [note for note in found.notes if "by tile" in note]
    assert note.endswith("tile: p0; left out there: boundaries")
    distances = [row for row in found.tables["scores"].rows if row.statistic == "hausdorff_95" and row.scope == "case"]
    assert {row.case for row in distances if row.value == row.value} == {"p0", "p1"}
    assert mt.reliability(opened(root, "png")).lesions is not None


def test_reliability_plan_and_tally_files(tmp_path, small_tiles):  # noqa: F811
    root = study_files(tmp_path, labels=2)
    reliable = mt.reliability(opened(root, "png"))
    by_rule = mt.reliability(opened(root, "png"), lesion_items="matched")
    planned = mt.plan(pilot=opened(root, "png"), resamples=20)
    inside = area(root, "roi", slice(40, 240), slice(20, 200))
    mt.share_tallies(judged(root, "png", roi=inside["png"]), root / "whole.tally", names=True)
    small_tiles()
    found = mt.reliability(opened(root, "zarr"))
    assert lines(found.tables["mask_reliability"]) == lines(reliable.tables["mask_reliability"])
    assert not any("by tile" in note for note in found.notes)
    matched = mt.reliability(opened(root, "zarr"), lesion_items="matched")
    for again, wanted in ((found, reliable), (matched, by_rule)):
        for name in ("detection", "lesions"):
            assert lines(again.tables[name]) == lines(wanted.tables[name])
    assert lines(mt.plan(pilot=opened(root, "tif"), resamples=20).table) == lines(planned.table)
    mt.share_tallies(judged(root, "zarr", roi=inside["zarr"]), root / "tiles.tally", names=True)
    whole, found = (mt.evaluate([root / name]) for name in ("whole.tally", "tiles.tally"))
    same_rows(found, whole)


def test_an_empty_region_is_named(tmp_path, small_tiles):  # noqa: F811
    root = study_files(tmp_path)
    empty = area(root, "roi", slice(0, 0), slice(0, 0))
    small_tiles()
    with pytest.raises(InputError, match=r"case p0, roi: .*roi-p0.zarr is empty"):
        mt.evaluate(judged(root, "zarr", roi=empty["zarr"]))


def test_a_grading_sheet_is_refused(tmp_path, small_tiles):  # noqa: F811
    root = study_files(tmp_path)
    small_tiles()
    with pytest.raises(InputError, match="case p0: 300×260 pixels are too many for a grading sheet"):
        mt.evaluate(judged(root, "zarr"), grading_sheet=True, out=root / "out")


def test_scores_against_references_in_agree_and_fuse(tmp_path, small_tiles):  # noqa: F811
    root = study_files(tmp_path, labels=2)
    inside = area(root, "roi", slice(40, 240), slice(20, 200))

    def raters(kind):
        return opened(root, kind, reference=str(root / f"ref/{kind}/{{reference}}/{{case}}.{kind}"), roi=inside["zarr"])

    agreed = mt.agree(raters("png"), measure="none", pictures=False)
    fused = mt.fuse(raters("png"), distances=False, lesions=False)
    small_tiles()
    again = mt.agree(raters("zarr"), measure="none", pictures=False)
    assert lines(again.tables["reference_scores"]) == lines(agreed.tables["reference_scores"])
    again = mt.fuse(raters("zarr"), distances=False, lesions=False)
    assert lines(again.tables["reference_scores"]) == lines(fused.tables["reference_scores"])


@pytest.mark.parametrize(
    ("labels", "options", "kind"),
    [
        pytest.param(3, {"void": 3}, "zarr", marks=pytest.mark.slow),
        (1, {"region": "union"}, "tif"),
        pytest.param(3, {"roi": True}, "zarr", marks=pytest.mark.slow),
        pytest.param(2, {"instances": True}, "zarr", marks=pytest.mark.slow),
    ],
)
def test_the_vote_on_lesions_is_that_in_memory(tmp_path, small_tiles, labels, options, kind):  # noqa: F811
    root = study_files(tmp_path, labels)
    if "roi" in options:
        options = {"roi": area(root, "roi", slice(40, 210), slice(30, 230))["png"]}
    methods = {"consensus": "lesions:0.5,staple"}
    fused = mt.fuse(judged(root, "png", **options), out=root / "whole", pictures=False, **methods)
    scored = mt.evaluate(judged(root, "png", **options), **methods)
    whole = mt.consensus(judged(root, "png", **options), "lesions:0.5")
    small_tiles()
    study = judged(root, kind, **options)
    found = mt.fuse(study, out=root / "tiles", pictures=False, **methods)
    same_rows(found, fused)
    assert found.notes == fused.notes
    for case in CASES:
        for folder, suffix in (("consensus", "png"), ("probability", "tif")):
            wanted = np.asarray(Image.open(root / f"whole/fuse/{folder}/lesions-0.5/{case}.{suffix}"))
            path = root / f"tiles/fuse/{folder}/lesions-0.5/{case}.{kind}"
            written = zarr.open_array(path / "0")[...] if kind == "zarr" else tifffile.imread(path)
            assert written.dtype == wanted.dtype
            np.testing.assert_array_equal(written, wanted)
        again = mt.consensus(study[case], "lesions:0.5")
        np.testing.assert_array_equal(again.values, whole[case].values)
        np.testing.assert_array_equal(again.probability, whole[case].probability)
    same_rows(mt.evaluate(study, **methods), scored)


@pytest.mark.parametrize("labels", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_heatmaps_of_agree_equal_those_in_memory(tmp_path, small_tiles, labels):  # noqa: F811
    root = study_files(tmp_path, labels)
    (root / "images").mkdir()
    image = np.random.default_rng(1).integers(0, 255, (*SHAPE, 3)).astype(np.uint8)
    for case in CASES:
        Image.fromarray(image).save(root / f"images/{case}.png")
    images = str(root / "images/{case}.png")
    mt.agree(opened(root, "png", images=images), out=root / "whole", measure="none")
    small_tiles()
    for kind, wanted, suffix in (("zarr", "same", "zarr"), ("tif", "same", "tif"), ("zarr", "tiff", "tif")):
        result = mt.agree(opened(root, kind, images=images), out=root / kind, measure="none", large_maps=wanted)
        for case in CASES:
            path = root / kind / f"agree/heatmaps/{case}.{suffix}"
            found = zarr.open_array(path / "0")[...] if suffix == "zarr" else tifffile.imread(path)
            exact = tifffile.imread(root / f"whole/agree/heatmaps/{case}.tif")
            assert found.dtype == exact.dtype
            np.testing.assert_array_equal(found, exact)
            pictures = [Image.open(root / folder / f"agree/heatmaps/{case}.png") for folder in (kind, "whole")]
            np.testing.assert_array_equal(*map(np.asarray, pictures))
        assert not any("without its image" in note for note in result.notes)
    with pytest.raises(mt.CallError, match="large_maps is one of"):
        mt.agree(opened(root, "zarr"), large_maps="png")


def test_check_looks_at_references_and_images_of_large_cases(tmp_path, small_tiles):  # noqa: F811
    root = study_files(tmp_path)
    copied = zarr.open_array(root / "zarr/B/p0.zarr")[...]
    zarr.open_array(root / "ref/zarr/gold/p0.zarr", mode="r+")[...] = copied
    (root / "images").mkdir()
    for case, side in {"p0": 1, "p1": 2, "p7": 1}.items():
        Image.fromarray(np.zeros((SHAPE[0] // side, SHAPE[1] // side, 3), np.uint8)).save(root / f"images/{case}.png")
    images = str(root / "images/{case}.png")
    small_tiles()
    messages = [problem.message for problem in mt.check(judged(root, "zarr", images=images)).problems]
    assert any("gold" in message and "rater B" in message for message in messages)
    assert any("case p1: image" in message and "150×130" in message for message in messages)
    assert "images of 1 case that nobody marked are not used: p7" in messages
    agreed = mt.agree(opened(root, "zarr", images=images), measure="none", out=root / "out")
    (note,) = [note for note in agreed.notes if "without its image" in note]
    assert note == (
        "case p1: heatmap without its image: it is 150×130, the masks are 300×260: export both at one resolution"
    )


def test_a_colour_tiff_is_an_image_and_no_mask(tmp_path, small_tiles):  # noqa: F811
    root = study_files(tmp_path)
    (root / "images").mkdir()
    colours = np.random.default_rng(0).integers(0, 255, (*SHAPE, 3)).astype(np.uint8)
    for case in CASES:
        tifffile.imwrite(root / f"images/{case}.tif", colours, tile=(64, 64), photometric="rgb", compression="zlib")
    small_tiles()
    images = str(root / "images/{case}.tif")
    messages = [problem.message for problem in mt.check(opened(root, "tif", images=images)).problems]
    assert not any("image" in message for message in messages)
    for case in CASES:
        (root / f"images/{case}.tif").replace(root / f"tif/B/{case}.tif")
    with pytest.raises(InputError, match=r"rater B: .*p0.tif: is an RGB picture, not a mask"):
        mt.agree(opened(root, "tif"), measure="none")
