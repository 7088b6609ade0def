"""Run lengths against pycocotools and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pycocotools import mask as coco

from manytruths import FormatError
from manytruths.exchange.run_lengths import decode_counts, encode_counts, encode_runs, fill_runs

masks = arrays(bool, st.tuples(st.integers(1, 30), st.integers(1, 30)))


@given(masks)
def test_as_pycocotools_packs_them(mask):
    theirs = coco.encode(np.asfortranarray(mask.astype(np.uint8)))["counts"].decode()
    lengths = encode_runs(mask.ravel(order="F"))
    assert encode_counts(lengths) == theirs
    assert decode_counts(theirs, mask.size).tolist() == lengths
    assert (fill_runs(lengths, mask.size).reshape(mask.shape, order="F") == mask).all()


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=40))
def test_any_lengths(lengths):
    assert decode_counts(encode_counts(lengths), 10**6).tolist() == lengths


@pytest.mark.parametrize(
    ("lengths", "size"),
    [([3, 4], 6), ([3, 2], 6), ([-1, 7], 6), ([2**62, 2**62, 2**62], 6), ([1.5, 4.5], 6), ([], 6), ([[1], [5]], 6)],
)
def test_lengths_that_are_not_those_of_the_image(lengths, size):
    with pytest.raises(FormatError):
        fill_runs(lengths, size)


@pytest.mark.parametrize("text", ["0" * 3 + "\x7f", "é", "o", "oooooooooo0", b"\xff\x00", "PPPPPPPP0"])
def test_signs_that_are_none(text):
    with pytest.raises((FormatError, UnicodeEncodeError)):
        fill_runs(decode_counts(text, 100), 100)


@given(st.binary(max_size=60))
def test_any_bytes(data):
    try:
        found = fill_runs(decode_counts(data, 400), 400)
    except FormatError:
        return
    assert found.size == 400
