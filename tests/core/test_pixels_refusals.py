"""Input that cannot be used: every message says who, what was found, and what to do."""

import re

import numpy as np
import pytest

import manytruths as mt
from manytruths import CallError, GridError, InputError, LabelError, ManytruthsError

FINE = np.array([[0, 1], [1, 1]])


def bad(value):
    return np.array([[0, 1], [value, 1]])


@pytest.mark.parametrize(
    ("mask", "options", "error", "words"),
    [
        (bad(np.nan), {}, LabelError, ["Bo:", "nan", "void=", "masked array"]),
        (bad(np.inf), {}, LabelError, ["Bo:", "inf"]),
        (bad(-3), {}, LabelError, ["Bo:", "-3"]),
        (bad(-3), {"void": -1}, LabelError, ["Bo:", "-3"]),
        (bad(-3.0), {}, LabelError, ["Bo:", "-3"]),
        (bad(-3).astype(np.int8), {}, LabelError, ["Bo:", "-3"]),
        (bad(0.25), {}, LabelError, ["Bo:", "0.25"]),
        (bad(7), {"labels": [0, 1]}, LabelError, ["Bo:", "7", "0=background, 1", "foreground='any'"]),
        (bad(7).astype(np.uint8), {"labels": [0, 1]}, LabelError, ["Bo:", "7", "0=background, 1"]),
        (FINE.astype(str), {}, LabelError, ["Bo:", "<U"]),
        (FINE.astype("S1"), {}, LabelError, ["Bo:", "S1"]),
        (FINE.astype(object), {}, LabelError, ["Bo:", "object"]),
        (FINE.astype(complex), {}, LabelError, ["Bo:", "complex128"]),
        (np.ma.array(bad(0.5), mask=[[1, 0], [0, 0]]), {}, LabelError, ["Bo:", "holds 0.5;"]),
        (np.ma.array(bad(np.nan), mask=[[1, 0], [0, 0]]), {}, LabelError, ["Bo:", "holds nan;"]),
        (np.ma.array(bad(-2), mask=[[1, 0], [0, 0]]), {}, LabelError, ["Bo:", "holds -2;"]),
        (np.zeros((2, 3)), {}, GridError, ["Bo's mask is 2×3", "Ada's is 2×2", "resample"]),
        (np.zeros((2, 2, 1)), {}, GridError, ["Bo's mask is 2×2×1", "Ada's is 2×2"]),
        ([[0, 1], [1]], {}, GridError, ["Bo:", "differ in length"]),
        (1, {}, CallError, ["Bo:", "at least one dimension", "1"]),
        (np.array(1), {}, CallError, ["Bo:", "at least one dimension"]),
        (FINE, {"region": np.zeros((2, 2))}, InputError, ["region is empty"]),
        (FINE, {"region": np.ones((2, 3))}, GridError, ["region is 2×3", "masks are 2×2"]),
        (FINE, {"region": np.ones(4)}, GridError, ["region is 4", "masks are 2×2"]),
        (FINE, {"region": "Union"}, CallError, ["'Union'", "whole, union, modified_background"]),
        (FINE, {"raters": ["A", "B"]}, CallError, ["leave raters= out"]),
        (FINE, {"foreground": "all"}, CallError, ["'any'", "'all'"]),
        (FINE, {"predictions": [FINE]}, CallError, ["algorithms come by name", "list"]),
        (FINE, {"predictions": {"unet": np.zeros((3, 3))}}, GridError, ["unet's mask is 3×3"]),
        (FINE, {"predictions": {"unet": bad(0.5)}}, LabelError, ["unet:", "0.5"]),
        (FINE, {"predictions": {"unet": FINE}, "region": "modified_background"}, CallError, ["band", "as a mask"]),
        (FINE, {"unit": (0, "mm²")}, CallError, ["positive", "0 mm²"]),
        (FINE, {"labels": [0, 0.5, 1]}, LabelError, ["whole numbers", "0.5"]),
        (FINE, {"labels": [-1, 0, 1]}, LabelError, ["non-negative", "-1"]),
        (FINE, {"labels": range(256)}, LabelError, ["at most 255", "256"]),
    ],
)
def test_says_who_and_what(mask, options, error, words):
    with pytest.raises(error) as caught:
        mt.tally({"Ada": FINE, "Bo": mask}, **options)
    for word in words:
        assert word in str(caught.value)


def test_a_picture_is_no_mask():
    picture = np.arange(400, dtype=np.uint16).reshape(20, 20)
    with pytest.raises(LabelError, match=r"Bo: the masks together hold more than 255 distinct values, as images do"):
        mt.tally({"Ada": np.zeros((20, 20)), "Bo": picture})


@pytest.mark.parametrize(
    "masks", [None, 5, np.array(5), [], {}, [None, None], [1, 0], np.array([1, 0]), "abc", [[]] * 0]
)
def test_what_holds_no_masks(masks):
    with pytest.raises(CallError):
        mt.tally(masks)


@pytest.mark.parametrize("raters", ["exchangable", "AB", ""])
def test_a_word_in_place_of_names(raters):
    with pytest.raises(CallError, match=re.escape(repr(raters))):
        mt.tally([FINE, FINE], raters=raters)


def test_names_and_masks_that_do_not_match():
    with pytest.raises(CallError, match="names 3 but there are 2 masks"):
        mt.tally([FINE, FINE], raters=["A", "B", "C"])
    with pytest.raises(CallError, match="the same: A, A"):
        mt.tally([FINE, FINE], raters=["A", "A"])
    with pytest.raises(CallError, match="the same: 1, 1"):
        mt.tally({1: FINE, "1": FINE})


def test_a_prediction_alone_is_nobody_to_agree_with():
    with pytest.raises(CallError, match="at least one rater"):
        mt.tally({mt.Column("unet", "algorithm"): FINE})


def test_every_refusal_is_a_manytruths_error():
    assert all(issubclass(e, ManytruthsError) for e in (CallError, GridError, InputError, LabelError))
    assert issubclass(CallError, ValueError)
