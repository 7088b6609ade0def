"""Label sets, and numbers that are undefined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manytruths import CallError, LabelError, Labels
from manytruths.core.labels import MAX_LABELS

VALUES = st.sets(st.integers(0, 70000), min_size=1, max_size=8)


@given(values=VALUES)
def test_values_in_rising_order_with_their_names(values):
    labels = Labels.of(values)
    assert labels.values == tuple(sorted(values))
    assert labels.names == tuple("background" if v == 0 else str(v) for v in sorted(values))
    assert labels.numbers == tuple(map(float, sorted(values)))
    assert Labels.of(labels) is labels
    assert [labels.index(v) for v in labels.values] == [labels.index(n) for n in labels.names]
    assert {labels.values[c] for c in labels.marks} == values - {0}
    assert (labels.background is None) == (0 not in values)


@given(a=VALUES, b=VALUES, c=VALUES)
def test_union_is_a_union(a, b, c):
    a, b, c = map(Labels.of, (a, b, c))
    assert a.union(b) == b.union(a) == Labels.of({*a.values, *b.values})
    assert a.union(b).union(c) == a.union(b.union(c))
    assert a.union(a) == a
    assert Labels(()).union(a) == a


def test_names_imply_background():
    labels = Labels.of({2: "tumour", 1: "gland"})
    assert labels == Labels((0, 1, 2), ("background", "gland", "tumour"))
    assert labels.describe() == ["0=background", "1=gland", "2=tumour"]
    assert Labels.of({0: "sky", 1: "sea"}).names == ("sky", "sea")
    assert Labels.of(np.array([3, 0, 3])).values == (0, 3)
    assert Labels.of([0.0, 2.0]).values == (0, 2)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (((1, 0),), "rising order"),
        (((0, 0),), "distinct"),
        (((-1, 0),), "non-negative"),
        (((0, 0.5),), "whole numbers"),
        ((tuple(range(MAX_LABELS + 1)),), "at most 255"),
        (((0, 1), ("a",)), "one distinct name"),
        (((0, 1), ("a", "a")), "one distinct name"),
        (((0, 1), ("a", "b"), (1.0,)), "one number"),
    ],
)
def test_what_is_no_label_set(fields, words):
    with pytest.raises(LabelError, match=words):
        Labels(*fields)


def test_unknown_label_names_those_there_are():
    with pytest.raises(CallError, match="no label 'x'; there are 0=background, 1=gland"):
        Labels.of({1: "gland"}).index("x")
