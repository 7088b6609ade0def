"""What the viewer gets of a case: the maps as they are, values that equal the painted ones, slices as they lie."""

from __future__ import annotations

import zlib
from base64 import b64decode

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import manytruths as mt
from manytruths import Grid
from manytruths.analyses.agree.case import MapOptions
from manytruths.analyses.fuse.case import FusePlan, estimate_case
from manytruths.reporting.case_view import Display, ViewPlan, layer_case, pack_array, view_data
from manytruths.reporting.findings import CasePlan, analyse_case

LARGE = ViewPlan(largest=1 << 24)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def seen(masks, methods=("vote:0.5", "staple"), plan=LARGE, **options):
    reading = mt.Study.from_arrays({"p1": masks}, **options)["p1"].read()
    made = estimate_case(reading, FusePlan(tuple(methods), {}, None))
    found = layer_case(reading, made, MapOptions())
    return reading, made, found, view_data(reading, found, plan)


def unpacked(packed, shape):
    """A map as the browser unpacks it."""
    apart = np.frombuffer(zlib.decompress(b64decode(packed["data"])), f"<{packed['type']}").reshape(shape)
    return np.bitwise_xor.accumulate(apart, axis=1)


def painted(shown, name):
    """A layer as the browser paints it."""
    layer = next(layer for layer in shown["layers"] if layer["name"] == name)
    table = np.array([np.nan if v is None else v for v in layer["values"]])
    slices, rows, columns = shown["shape"]
    k = shown["maps"][layer["map"]]["step"]
    own = unpacked(shown["maps"][layer["map"]], (slices, -(-rows // k), -(-columns // k)))
    return table[own.repeat(k, axis=1).repeat(k, axis=2)[:, :rows, :columns]]


def marks(shown, name):
    """A column as the browser paints it."""
    k = next(k for k, column in enumerate(shown["columns"]) if column["name"] == name)
    patterns = unpacked(shown["patterns"], (1, len(shown["columns"]), -1))[0]
    return patterns[k][unpacked(shown["maps"][0], tuple(shown["shape"]))]


@given(arrays(st.sampled_from([np.uint8, np.uint16, np.uint32]), array_shapes(min_dims=3, max_dims=3, max_side=9)))
def test_maps_come_back_as_they_were(array):
    np.testing.assert_array_equal(unpacked(pack_array(array), array.shape), array)


def blobs(rng, shape, raters=4):
    from scipy.ndimage import gaussian_filter

    smooth = gaussian_filter(rng.normal(size=shape), 3)
    return {
        name: gaussian_filter(smooth + 0.02 * rng.normal(size=shape), 1) > 0.05 for name in "ABCDEFG"[:raters]
    }  # fmt: skip


@pytest.mark.parametrize("shape", [(40, 50), (20, 24, 9)])
def test_layers_equal_the_painted_maps(rng, shape):
    masks = blobs(rng, shape)
    reading, made, _, shown = seen(masks)
    display, first = Display.of(reading.grid), shown["first"]
    here = slice(first, first + shown["shape"][0])
    table = reading.tally("whole")
    votes = display.orient(reading.paint(mt.common_heatmap(table), table))[here]
    np.testing.assert_array_equal(painted(shown, "votes"), votes)
    for method in ("vote:0.5", "staple"):
        expected = display.orient(made.maps[method][1])[here]
        np.testing.assert_allclose(painted(shown, method), expected, rtol=1e-5, atol=1e-12)
        np.testing.assert_array_equal(marks(shown, method), display.orient(made.maps[method][0])[here])
    every, some = (np.logical_and.reduce(list(masks.values())), np.logical_or.reduce(list(masks.values())))
    np.testing.assert_array_equal(painted(shown, "accepted"), display.orient(every.astype(int) + some)[here])
    for name, mask in masks.items():
        np.testing.assert_array_equal(marks(shown, name), display.orient(mask)[here])


def test_slices_around_what_was_marked_are_shown():
    masks = np.zeros((2, 30, 30, 20), bool)
    masks[:, 5:20, 5:20, 8:11] = True
    _, _, _, shown = seen(list(masks))
    assert (shown["first"], shown["shape"], shown["of"]) == (6, [7, 30, 30], 20)
    assert shown["start"] == 2
    assert shown["places"][0] == {"axis": 2, "start": 6, "step": 1}


def test_a_method_that_looks_at_neighbours_has_a_map_of_its_own(rng):
    _, made, _, shown = seen(blobs(rng, (40, 50)), methods=("lsml",))
    layer = next(layer for layer in shown["layers"] if layer["name"] == "lsml")
    assert layer["map"] > 0
    np.testing.assert_allclose(painted(shown, "lsml")[0], made.maps["lsml"][1], atol=0.5 / 255 + 1e-6)
    np.testing.assert_array_equal(marks(shown, "lsml")[0], made.maps["lsml"][0])


def test_several_labels_each_have_votes_and_none_are_united():
    a, b = np.array([[0, 1, 2, 2]]), np.array([[0, 1, 1, 2]])
    _, _, _, shown = seen({"A": a, "B": b}, methods=("plurality",), labels=mt.Labels.of({1: "gland", 2: "tumour"}))
    assert painted(shown, "disputes").tolist() == [[[0, 0, 1, 0]]]
    assert "votes" not in {layer["name"] for layer in shown["layers"]}
    assert painted(shown, "votes gland").tolist() == [[[0, 2, 1, 0]]]
    assert painted(shown, "votes tumour").tolist() == [[[0, 0, 1, 2]]]


def test_what_was_not_rated_is_said():
    a, b = np.array([[0, 1, 255, 1]], np.uint8), np.array([[0, 1, 1, 1]], np.uint8)
    _, _, _, shown = seen({"A": a, "B": b}, void=255)
    assert marks(shown, "A").tolist() == [[[0, 1, 255, 1]]]


def test_a_view_is_no_larger_than_it_may_be(rng):
    masks = {name: rng.random((500, 500)) < 0.5 for name in "ABC"}
    *_, shown = seen(masks, plan=ViewPlan(largest=30_000))
    assert sum(len(each["data"]) for each in shown["maps"]) <= 21_000
    assert shown["step"] > 1
    whole = np.array(masks["B"])[:: shown["step"], :: shown["step"]]
    np.testing.assert_array_equal(marks(shown, "B")[0], whole)


AFFINES = [
    np.diag([-1.0, -1.0, 2.0, 1.0]),
    np.diag([1.0, 1.0, 3.0, 1.0]),
    np.array([[0, 0, 3.0, 0], [1.0, 0, 0, 0], [0, -1.0, 0, 0], [0, 0, 0, 1]]),
    np.array([[0, 1.0, 0, 0], [0, 0, -4.0, 0], [-1.0, 0, 0, 0], [0, 0, 0, 1]]),
]


@pytest.mark.parametrize("affine", AFFINES)
def test_volumes_lie_as_radiologists_look_at_them(affine):
    """The same volume however it is stored: nibabel turns it to right-anterior-superior, and we look at that."""
    nibabel = pytest.importorskip("nibabel")
    stored = np.arange(5 * 6 * 7).reshape(5, 6, 7).astype(np.int16)
    turned = nibabel.as_closest_canonical(nibabel.Nifti1Image(stored, affine))
    canonical = np.asarray(turned.dataobj)
    display = Display.of(Grid(stored.shape, affine=tuple(map(tuple, affine))))
    across = int(np.argmax(np.linalg.norm(turned.affine[:3, :3], axis=0)))
    # right, front and head first but along the slices, which go up
    flipped = canonical[::-1, ::-1, ::-1]
    flipped = flipped[tuple(slice(None, None, -1) if axis == across else slice(None) for axis in range(3))]
    rows, columns = sorted((axis for axis in range(3) if axis != across), reverse=True)
    np.testing.assert_array_equal(display.orient(stored), flipped.transpose(across, rows, columns))
    letters = {0: ("R", "L"), 1: ("A", "P"), 2: ("S", "I")}
    assert display.letters == (*letters[columns], *letters[rows])


@pytest.mark.parametrize("affine", AFFINES)
def test_a_place_of_the_view_is_found_in_the_file(affine):
    stored = np.arange(5 * 6 * 7).reshape(5, 6, 7)
    display = Display.of(Grid(stored.shape, affine=tuple(map(tuple, affine))))
    shown = display.orient(stored)[1:, ::2, ::2]
    places = display.places(stored.shape, 1, 2)
    for at in np.ndindex(*shown.shape):
        index = {p["axis"]: p["start"] + p["step"] * i for p, i in zip(places, at, strict=True)}
        assert stored[index[0], index[1], index[2]] == shown[at]


def test_files_are_listed_with_their_digests(tmp_path):
    import hashlib

    from PIL import Image

    for rater in "AB":
        (tmp_path / rater).mkdir()
        Image.fromarray(np.eye(20, dtype=np.uint8)).save(tmp_path / rater / "p1.png")
    case = mt.Study.open(str(tmp_path / "{rater}/{case}.png"))["p1"]
    found = analyse_case(case, CasePlan(MapOptions(measured=True), FusePlan(("vote:0.5",), {}, None), None, LARGE))
    digest = hashlib.sha256((tmp_path / "A/p1.png").read_bytes()).hexdigest()
    assert [(f.kind, f.case, f.sha256) for f in found.files] == [("mask", "p1", digest)] * 2
    assert found.view.thumbnail.startswith("data:image/webp;base64,")


def test_reference_standards_look_different_and_in_every_case_alike(rng):
    masks = blobs(rng, (40, 50))
    study = mt.Study.from_arrays({"p1": masks, "p2": masks}, references={"p1": {"expert": masks["A"]}})
    plan, seen_in = FusePlan(("vote:0.5", "staple"), {}, None), {}
    for case in study:
        reading = case.read()
        data = view_data(reading, layer_case(reading, estimate_case(reading, plan), MapOptions()), LARGE)
        looks = {who["name"]: (who["colour"], who["line"]) for who in data["columns"] if who["role"] == "reference"}
        colours, lines = zip(*looks.values(), strict=True)
        assert len(set(colours)) == len(set(lines)) == len(looks)
        seen_in[case.name] = looks
    assert seen_in["p1"] == {"expert": ("#ffffff", 0), **seen_in["p2"]}, "without a reference the others keep theirs"
