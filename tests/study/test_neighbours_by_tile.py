"""Neighbours across tiles: cases that are read by tile have the numbers of the same masks in one piece."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import zarr
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

import manytruths as mt
from manytruths import InputError
from manytruths.agreement import heatmap
from manytruths.analyses.agree.case import MapOptions, analyse_case
from manytruths.analyses.fuse.case import FusePlan, fuse_case
from manytruths.core import runs, tiles
from manytruths.core.mask_arrays import HIDDEN
from manytruths.core.runs import LabelRuns, divide_runs, read_runs
from manytruths.io import files
from manytruths.shape import surfaces
from manytruths.shape.mask_errors import (
    RATIOS,
    Scale,
    Turn,
    best_offset,
    profiles_of,
    scale_mask,
    shifted_dice,
    shifted_overlap,
    trace_mask,
    turn_mask,
)
from manytruths.study.consensus import decided_values

SPACINGS = {2: (0.5, 0.7), 3: (2.0, 0.5, 0.7)}


@st.composite
def masks(draw, labels=1, axes=(2, 3), most=14):
    """A mask of blobs and specks, its chunks, and a size of tiles."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = tuple(
        draw(st.integers(1, most if n == 2 else most // 2 + 1)) for n in range(draw(st.sampled_from(axes)), 0, -1)
    )
    mask = np.zeros(shape, np.uint8)
    for _ in range(draw(st.integers(0, 4))):
        low = [rng.integers(0, n) for n in shape]
        mask[tuple(slice(a, a + rng.integers(1, 6)) for a in low)] = rng.integers(1, labels + 1)
    specks = rng.random(shape) < draw(st.sampled_from([0.0, 0.1, 0.4]))
    mask[specks] = rng.integers(0, labels + 1, int(specks.sum()))
    return mask, draw(st.integers(0, 2**32))


class Stored:
    """An array that is not in memory, in chunks; Zarr itself, which is slower, is in the tests of studies."""

    def __init__(self, array, chunks):
        self._array, self.chunks = array, chunks
        self.shape, self.dtype = array.shape, array.dtype

    def __getitem__(self, where):
        assert all(part.stop - part.start <= 40 * chunk for part, chunk in zip(where, self.chunks, strict=False))
        return self._array[where].copy()


def stored(array, rng):
    """The same, in random chunks."""
    return Stored(array, tuple(int(rng.integers(1, n + 1)) for n in array.shape))


@pytest.fixture(autouse=True)
def tiny_tiles(monkeypatch):
    """Tiles of a few pixels, bands of a few runs."""
    monkeypatch.setattr(tiles, "TILE_BYTES", 40)
    monkeypatch.setattr(surfaces, "AT_ONCE", 7)
    monkeypatch.setattr(runs, "TURNED", 50)
    monkeypatch.setattr(runs, "BLOCK", 30)
    monkeypatch.setattr(heatmap, "TILE_SIDE", {1: 9, 2: 5, 3: 4})


# -- runs --------------------------------------------------------------------------------------------


@given(masks(labels=3, axes=(1, 2, 3)))
def test_runs_are_the_array(made):
    mask, seed = made
    rng = np.random.default_rng(seed)
    found = read_runs(stored(mask, rng))
    np.testing.assert_array_equal(np.asarray(found), mask)
    whole = read_runs(mask)
    for name in ("starts", "stops", "values"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    where = tuple(slice(*sorted(rng.integers(0, n + 1, 2).tolist())) for n in mask.shape)
    np.testing.assert_array_equal(found[where], mask[where])
    order = tuple(rng.permutation(mask.ndim).tolist())
    np.testing.assert_array_equal(np.asarray(found.turn(order)), mask.transpose(order))
    other = read_runs(rng.permuted(mask, axis=0))
    np.testing.assert_array_equal(np.asarray(found.intersect(other)), np.where(np.asarray(other) != 0, mask, 0))
    np.testing.assert_array_equal(np.asarray(found.complement(7)), np.where(mask == 0, 7, 0))
    np.testing.assert_array_equal(np.asarray(found.marks()), mask != 0)
    starts, stops, values = divide_runs([found, other])
    assert (stops > starts).all()
    for own, array in zip(values, (mask, np.asarray(other)), strict=True):
        painted = LabelRuns(mask.shape, starts, stops, own)
        np.testing.assert_array_equal(np.asarray(painted.select(own != 0)), array)


@given(masks(labels=3), st.sampled_from([None, 0, 2]), st.sampled_from([None, 1, 2]))
def test_runs_hide_what_was_not_rated(made, void, value):
    mask, seed = made
    hidden = np.random.default_rng(seed).random(mask.shape) < 0.2
    found = read_runs(np.ma.array(mask, mask=hidden)).binary(value, void)
    away = hidden if void is None else hidden | (mask == void)
    marked = mask != 0 if value is None else mask == value
    np.testing.assert_array_equal(np.asarray(found), np.where(away, HIDDEN, marked) if away.any() else marked)
    np.testing.assert_array_equal(np.asarray(found.marks()), marked & ~away)


def test_too_many_runs_are_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(runs, "MOST_RUNS", 10)
    mask = np.indices((8, 8)).sum(axis=0) % 2
    with pytest.raises(InputError, match=r"the mask has more than 10 runs of equal pixels.*remove noise"):
        read_runs(mask)


# -- what is found from them -------------------------------------------------------------------------


@given(masks())
def test_diameters_of_stored_masks(made):
    mask, seed = made
    for spacing in (None, SPACINGS[mask.ndim], SPACINGS[mask.ndim][::-1]):
        found = mt.diameters(stored(mask, np.random.default_rng(seed)), spacing)
        assert repr(found) == repr(mt.diameters(mask, spacing))


@given(masks(), st.sampled_from(["elements", "pixels"]))
def test_surfaces_of_stored_masks(made, definition):
    mask, seed = made
    wanted = mt.extract_surface(mask, SPACINGS[mask.ndim], definition=definition)
    found = mt.extract_surface(stored(mask, np.random.default_rng(seed)), SPACINGS[mask.ndim], definition=definition)
    np.testing.assert_array_equal(found.cells, wanted.cells)
    np.testing.assert_array_equal(found.sizes, wanted.sizes)
    assert found.cells.dtype == wanted.cells.dtype


@given(masks(labels=4, axes=(1, 2, 3)))
def test_regions_of_stored_heatmaps(made):
    heat, seed = made
    assert mt.find_regions(stored(heat, np.random.default_rng(seed))) == mt.find_regions(heat)


@given(masks(), st.integers(0, 2**32), st.booleans(), st.booleans(), st.sampled_from(["iou", "overlap"]))
def test_lesions_of_stored_masks(made, seed, instances, unrated, rule):
    mask, more = made
    rng = np.random.default_rng(seed)
    raters = {"A": mask, "B": np.roll(mask, 1, -1), "C": rng.permuted(mask, axis=0)}
    if instances:
        raters = {name: own * rng.integers(1, 4, own.shape).astype(np.uint8) for name, own in raters.items()}
    void = 9 if unrated else None
    if unrated:
        raters["B"] = np.where(rng.random(mask.shape) < 0.3, np.uint8(9), raters["B"])
    inside = rng.random(mask.shape) < 0.8
    options = {"rule": rule, "threshold": 0.3, "spacing": SPACINGS[mask.ndim], "instances": instances, "void": void}
    on_disk = {name: stored(own, np.random.default_rng(more)) for name, own in raters.items()}
    for region in (None, inside):
        wanted = mt.match_lesions(raters, region=region, **options)
        place = None if region is None else stored(region, np.random.default_rng(more))
        found = mt.match_lesions(on_disk, region=place, **options)
        # undefined numbers are not equal to themselves
        assert repr(found.lesions) == repr(wanted.lesions)
        assert repr(found.pairs("bipartite")) == repr(wanted.pairs("bipartite"))
        np.testing.assert_array_equal(found.found, wanted.found)


@given(masks(labels=3), st.integers(0, 2**32), st.sampled_from(["labels", "united", "instances"]), st.booleans())
def test_the_vote_on_lesions_of_stored_masks(made, seed, kind, unrated):
    mask, rng = made[0], np.random.default_rng(seed)
    raters = {"A": mask, "B": np.roll(mask, 1, -1), "C": rng.permuted(mask, axis=0)}
    options = {"spacing": SPACINGS[mask.ndim], "instances": kind == "instances", "lesion_threshold": 0.2}
    options |= {"foreground": "any"} if kind == "united" else {}
    if unrated:
        raters["B"] = np.where(rng.random(mask.shape) < 0.3, np.uint8(9), raters["B"])
        options["void"] = 9
    inside = rng.random(mask.shape) < 0.8
    for region in ("whole", inside) if inside.any() else ("whole",):
        on_disk = {name: stored(own, rng) for name, own in raters.items()}
        try:
            wanted = mt.lesion_vote(raters, region=region, **options)
        except mt.CallError as error:
            # nothing is background
            with pytest.raises(mt.CallError, match=re.escape(str(error))):
                mt.lesion_vote(on_disk, region=region, **options)
            continue
        found = mt.lesion_vote(on_disk, region=region, **options)
        assert (found.lesions_kept, found.lesions_dropped) == (wanted.lesions_kept, wanted.lesions_dropped)
        assert found.notes == wanted.notes
        np.testing.assert_array_equal(found.values[...], wanted.values)
        for each in zip(decided_values(found), decided_values(wanted), strict=True):
            np.testing.assert_array_equal(*(np.asarray(part) for part in each))


@given(masks(labels=4), st.booleans(), st.integers(0, 2**32))
@example((np.zeros((3, 4), np.uint8), 0), True, 0)
def test_features_by_tile(made, colour, seed):
    heat, more = made
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (*heat.shape, 3) if colour else heat.shape).astype(np.uint8)
    inside = rng.random(heat.shape) < 0.9
    on_disk = [stored(each, np.random.default_rng(more)) for each in (heat, image, inside)]
    for region, place in ((None, None), (inside, on_disk[2])):
        wanted = mt.image_feature_correlations(heat, image, region=region)
        found = mt.image_feature_correlations(on_disk[0], on_disk[1], region=place)
        assert list(found) == list(wanted)
        for name, own in wanted.items():
            assert found[name].n == own.n
            assert math.isclose(found[name].r, own.r, rel_tol=0, abs_tol=1e-12) or math.isnan(own.r)
            assert getattr(found[name].r, "code", "") == getattr(own.r, "code", "")


# -- studies -----------------------------------------------------------------------------------------


def text(result, table):
    found = result.tables[table]
    return str(list(found.records()) if hasattr(found, "records") else found._rows)


def drawn(rng, shape, labels):
    """Masks of three raters, of lesions of which each misses some."""
    raters = {rater: np.zeros(shape, np.uint8) for rater in "ABC"}
    places = np.indices(shape)
    for _ in range(6):
        middle, label = [rng.integers(0, n) for n in shape], rng.integers(1, labels + 1)
        for mask in raters.values():
            if rng.random() < 0.8:
                away = sum((at - m - rng.normal()) ** 2 for at, m in zip(places, middle, strict=True))
                mask[away < rng.integers(3, 60)] = label
    return raters


def write(root, cases, rng):
    """Masks, and what lies beside them, as Zarr stores in random chunks."""
    for case, arrays in cases.items():
        for name, array in arrays.items():
            chunks = tuple(int(rng.integers(4, 20)) for _ in array.shape)
            (root / name).mkdir(parents=True, exist_ok=True)
            zarr.create_array(root / f"{name}/{case}.zarr", data=array, chunks=chunks)


IMAGE, SLICES_FIRST, SLICES_LAST = (50, 61), (9, 24, 31), (30, 26, 7)
STUDIES = [
    *((IMAGE, options) for options in (
        {}, {"labels": 3}, {"labels": 3, "foreground": "any"}, {"void": 3}, {"labels": 2, "roi": True},
        {"instances": True}, {"region": "union"},
    )),
    (SLICES_FIRST, {"labels": 2, "roi": True}), (SLICES_FIRST, {"void": 3}), (SLICES_LAST, {"labels": 2}),
    (SLICES_LAST, {"instances": True}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "options"),
    [study if k % 3 == 1 else pytest.param(*study, marks=pytest.mark.slow) for k, study in enumerate(STUDIES)],
    ids=str,
)
def test_agree_and_fuse_have_the_numbers_of_one_piece(tmp_path, shape, options, monkeypatch):
    monkeypatch.setattr(tiles, "TILE_BYTES", 300)
    rng = np.random.default_rng(STUDIES.index((shape, options)))
    cases = {name: drawn(rng, shape, options.get("labels", 1)) for name in ("p0", "p1")}
    chosen = {k: v for k, v in options.items() if k in ("foreground", "void", "instances", "region")}
    for name, own in cases.items():
        if "instances" in options:
            own |= {r: mask * (1 + np.arange(shape[-1]) // 9).astype(np.uint8) for r, mask in own.items()}
        if "void" in options:
            own["B"][rng.random(shape) < 0.1] = options["void"]
        if "roi" in options:
            own["roi"] = (rng.random(shape) < (0.9 if name == "p0" else 2)).astype(np.uint8)
            chosen["roi"] = str(tmp_path / "roi/{case}.zarr")
    write(tmp_path, cases, rng)

    def opened():
        return mt.Study.open(
            str(tmp_path / "{rater}/{case}.zarr"), spacing=SPACINGS[len(shape)],
            exclude_rater=["roi"] if "roi" in options else [], **chosen,
        )  # fmt: skip

    agreed, fused = mt.agree(opened(), pictures=True), mt.fuse(opened())
    monkeypatch.setattr(files, "LARGE", 100)
    study = opened()
    assert study["p0"].read(by_tile=True).is_large
    for wanted, found in ((agreed, mt.agree(study, pictures=True)), (fused, mt.fuse(study))):
        assert set(found.tables) == set(wanted.tables)
        for table in found.tables:
            assert text(found, table) == text(wanted, table), table


@pytest.mark.parametrize("labels", [1, 2])
@pytest.mark.parametrize("instances", [False, True])
def test_references_and_images_of_large_cases(tmp_path, labels, instances, monkeypatch):
    rng, shape = np.random.default_rng(labels), (50, 61)
    masks = drawn(rng, shape, labels)
    write(tmp_path, {"p0": masks}, rng)
    write(tmp_path / "references", {"p0": {"truth": np.roll(masks["A"], 2, axis=-1)}}, rng)
    Image.fromarray(rng.integers(0, 256, (*shape, 3)).astype(np.uint8)).save(tmp_path / "p0.png")

    def analysed():
        study = mt.Study.open(
            str(tmp_path / "{rater}/{case}.zarr"), reference=str(tmp_path / "references/truth/{case}.zarr"),
            images=str(tmp_path / "{case}.png"), instances=instances,
        )  # fmt: skip
        found = analyse_case(study["p0"], MapOptions(measured=True))
        fused = fuse_case(study["p0"], FusePlan(("vote:0.5", "staple"), {}, None))
        return found, fused

    agreed, fused = analysed()
    monkeypatch.setattr(files, "LARGE", 100)
    again, result = analysed()
    assert not again.left_out
    assert repr(again.reference_lesions) == repr(agreed.reference_lesions)
    assert repr(result.lesions) == repr(fused.lesions)
    for wanted, found in ((agreed, again), (fused, result)):
        assert list(found.distances.labels) == list(wanted.distances.labels)
        for label, own in wanted.distances.labels.items():
            measured = found.distances.labels[label]
            assert measured.half_widths == own.half_widths
            assert set(measured.pairs) == set(own.pairs)
            assert any(column.role == "reference" for pair in own.pairs for column in pair)
            for pair, distances in own.pairs.items():
                for side in ("a_to_b", "b_to_a"):
                    one, other = getattr(measured.pairs[pair], side), getattr(distances, side)
                    np.testing.assert_array_equal(one.distances, other.distances)
                    np.testing.assert_array_equal(one.sizes, other.sizes)
    assert list(again.features) == ["intensity", "red", "green", "blue", "contrast"]
    for name, own in agreed.features.items():
        assert again.features[name].n == own.n
        assert math.isclose(again.features[name].r, own.r, rel_tol=0, abs_tol=1e-12)


@pytest.mark.slow
def test_what_needs_more_runs_than_memory_is_left_out_of_that_case(tmp_path, monkeypatch):
    """Everything else is as it is without the limit; the other case has all."""
    rng = np.random.default_rng(0)
    calm = drawn(rng, (20, 20), 1)
    noise = {**calm, "A": (np.indices((20, 20)).sum(axis=0) % 2).astype(np.uint8)}
    write(tmp_path, {"p0": noise, "p1": calm}, rng)
    judged = {"p0": {"alg0": calm["A"], "alg1": calm["B"]}, "p1": {"alg0": calm["B"], "alg1": calm["C"]}}
    write(tmp_path / "pred", judged, rng)
    write(tmp_path / "ref", {case: {"gold": calm["C"]} for case in ("p0", "p1")}, rng)

    def opened(**options):
        return mt.Study.open(
            str(tmp_path / "{rater}/{case}.zarr"), predictions=str(tmp_path / "pred/{algorithm}/{case}.zarr"),
            reference=str(tmp_path / "ref/{reference}/{case}.zarr"), **options,
        )  # fmt: skip

    commands = {
        "agree": lambda: mt.agree(opened(), out=tmp_path / "out"), "fuse": lambda: mt.fuse(opened()),
        "evaluate": lambda: mt.evaluate(opened()), "reliability": lambda: mt.reliability(opened()),
    }  # fmt: skip
    monkeypatch.setattr(files, "LARGE", 100)
    wanted = {name: command() for name, command in commands.items()}
    monkeypatch.setattr(runs, "MOST_RUNS", 150)
    why = "rater A: the mask has more than 150 runs of equal pixels, too many to look at neighbours; remove noise"
    left_out = {
        "agree": "distances, diameters, lesions, regions, the search for broken masks", "fuse": "lesions, distances",
        "evaluate": "distances, lesions, diameters, second look", "reliability": "lesions",
    }  # fmt: skip
    needs = re.compile(
        "distance|hausdorff|surface|assd|lesion|diameter|axis|second_look|place|long|short|matched|region"
    )
    for name, command in commands.items():
        found = command()
        (note,) = [note for note in found.notes if "p0; left out there" in note]
        assert left_out[name] in note
        assert (why in note) == (name != "reliability")
        for table in set(found.tables) & set(wanted[name].tables):
            rows, before = (
                [str(row) for row in getattr(result.tables[table], "rows", ()) if row.scope == "case"]
                for result in (found, wanted[name])
            )
            for case in ("p0", "p1"):
                here, there = ([row for row in each if f"case='{case}'" in row] for each in (rows, before))
                if case == "p0":
                    here, there = ([row for row in each if not needs.search(row)] for each in (here, there))
                assert here == there, (name, table, case)
    assert zarr.open_array(tmp_path / "out/agree/heatmaps/p0.zarr/0")[...].any()
    with pytest.raises(InputError, match=r"^case p0, lesions:0\.5: rater A: the mask has more than 150 runs"):
        mt.fuse(opened(), consensus="lesions:0.5")


@given(masks(labels=3, axes=(1, 2, 3)), st.integers(0, 2**32))
def test_traces_of_broken_masks_from_runs(made, seed):
    mask, rng = made[0] != 0, np.random.default_rng(seed)
    other = rng.permuted(mask, axis=0)
    one, two = read_runs(mask), read_runs(other)
    wanted, found = trace_mask(mask), trace_mask(one)
    assert replace(found, digest=b"") == replace(wanted, digest=b"")
    assert (found.digest == trace_mask(two).digest) == (mask == other).all()
    for mine, theirs in zip(profiles_of(one), profiles_of(mask), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    offset = [int(rng.integers(-n, n + 1)) for n in mask.shape]
    assert shifted_overlap(one, two, offset) == shifted_overlap(mask, other, offset)
    assert shifted_dice(one, two, offset) == shifted_dice(mask, other, offset)
    assert best_offset(one, [two]) == best_offset(mask, [other])
    order, flipped = tuple(rng.permutation(mask.ndim).tolist()), tuple(np.flatnonzero(rng.random(mask.ndim) < 0.5))
    turn = Turn(order, flipped, 0.0, 0.0)
    np.testing.assert_array_equal(np.asarray(turn_mask(one, turn)), turn_mask(mask, turn))
    scale = Scale(tuple(rng.choice(RATIOS, mask.ndim).tolist()), str(rng.choice(["corner", "centre"])))
    np.testing.assert_array_equal(np.asarray(scale_mask(one, scale)), scale_mask(mask, scale))


@pytest.mark.parametrize("kind", ["turned", "shifted", "inverted", "scaled", "labels", "speckle", "pinholes"])
def test_broken_masks_of_large_cases_are_found(tmp_path, kind, monkeypatch):
    rng, shape = np.random.default_rng(7), (64, 64)
    labels = 3 if kind == "labels" else 1
    masks = {}
    for rater in "ABCD":
        masks[rater] = np.zeros(shape, np.uint8)
        for label in range(1, labels + 1):
            low = rng.integers(0, 3, 2) + np.array([4, 6 + 12 * (label - 1)])
            masks[rater][low[0] : low[0] + 25, low[1] : low[1] + (8 if labels > 1 else 18)] = label
    spots = rng.random(shape) < 0.08
    broken = {
        "turned": lambda m: m[::-1].copy(), "shifted": lambda m: np.roll(m, (30, 25), (0, 1)),
        "inverted": lambda m: 1 - m, "scaled": lambda m: np.kron(m, np.ones((2, 2), np.uint8))[:64, :64],
        "labels": lambda m: np.array([0, 2, 3, 1], np.uint8)[m], "speckle": lambda m: m | spots.astype(np.uint8),
        "pinholes": lambda m: m * ~spots,
    }  # fmt: skip
    masks["D"] = broken[kind](masks["D"])
    write(tmp_path, {"p0": masks}, rng)
    template = str(tmp_path / "{rater}/{case}.zarr")
    wanted = mt.agree(template, measure="none")
    monkeypatch.setattr(files, "LARGE", 100)
    found = mt.agree(template, measure="none")
    assert not any("by tile" in note for note in found.notes)
    assert text(found, "masks") == text(wanted, "masks")
    assert wanted.tables["masks"].rows


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_lesions_as_ratings(data):
    """Who found which lesion, from the runs of masks on disk."""
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    shape = data.draw(st.sampled_from([(17, 23), (9, 11, 8)]))
    labels, raters = data.draw(st.integers(1, 2)), data.draw(st.sampled_from([2, 4, 23]))
    masks = {f"r{i}": rng.integers(1, labels + 1, shape) * (rng.random(shape) < 0.25) for i in range(raters)}
    options = {
        "spacing": data.draw(st.sampled_from([None, (0.5, 2.0, 1.5)[: len(shape)]])),
        "min_size": data.draw(st.integers(1, 3)), "void": data.draw(st.sampled_from([None, 5])),
        "connectivity": data.draw(st.integers(1, len(shape))),
    }  # fmt: skip
    if options["void"]:
        masks["r1"][rng.random(shape) < 0.2] = 5
    region = data.draw(st.booleans())
    inside = rng.random(shape) < 0.8
    rule = data.draw(st.sampled_from([None, "iou", "instances"]))
    if rule is None:
        options["overlap"] = data.draw(st.sampled_from([None, 0.4]))
    else:
        options |= {"rule": "iou", "threshold": 0.3, "instances": rule == "instances"}
    chunks = tuple(data.draw(st.integers(2, 9)) for _ in shape)
    lazy = {name: zarr.create_array({}, data=mask.astype(np.uint8), chunks=chunks) for name, mask in masks.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "TILE_BYTES", 200)
        held = zarr.create_array({}, data=inside, chunks=chunks) if region else None
        found = mt.lesion_ratings({**lazy, "absent": None}, region=held, **options)
    whole = {name: mask.astype(np.uint8) for name, mask in masks.items()}
    wanted = mt.lesion_ratings({**whole, "absent": None}, region=inside if region else None, **options)
    assert repr(found.lesions) == repr(wanted.lesions)
    assert found.specks == wanted.specks
    np.testing.assert_array_equal(found.ratings.codes, wanted.ratings.codes)
