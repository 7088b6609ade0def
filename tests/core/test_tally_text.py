"""Tables as text: what is written is read back, equal in every field."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manytruths as mt
from manytruths import Column, FormatError, Labels, ManytruthsError, Tally, Unit
from panels import VOID, panels

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ODD = ["a,b", 'say "hi"', "two\nlines", "\r", "\r\n", "Žofie 张", " ", "", "#", "a@b", "count", "\u2028", "'", "\x00"]


@settings(max_examples=60)
@given(
    panel=panels(absent=True),
    region=st.sampled_from(["whole", "union", "modified_background"]),
    unit=st.none() | st.floats(1e-6, 1e6).map(lambda size: Unit(size, "mm³")),
)
def test_round_trip(panel, region, unit):
    table = mt.tally(panel.masks, labels=panel.labels, void=VOID, region=region, unit=unit)
    assert Tally.from_csv(table.to_csv()) == table


@settings(max_examples=80)
@given(names=st.lists(TEXT | st.sampled_from(ODD), min_size=2, max_size=4, unique=True), label=TEXT, session=TEXT)
def test_odd_names(names, label, session):
    label = label if label != "background" else "other"
    columns = (*map(Column, names), Column(names[0], "rater", session or "2"), Column(names[1], "algorithm"))
    labels = Labels((0, 3), ("background", label), (0.1, -2.5))
    rows = np.random.default_rng(0).integers(0, 2, (5, len(columns)))
    table = Tally(columns, labels, rows, np.full(5, 2**53 + 1), label, Unit(0.1, label), exchangeable=bool(session))
    again = Tally.from_csv(table.to_csv())
    assert again == table
    assert again.to_csv() == table.to_csv()


@pytest.mark.parametrize("name", ODD)
def test_each_odd_name(name):
    table = mt.tally({name: [1, 0], "other": [1, 9]}, void=9)
    assert Tally.from_csv(table.to_csv()) == table


def test_lines_may_end_as_windows_ends_them():
    table = mt.tally({"A": [1, 0, 1], "B": [1, 9, 0]}, void=9)
    assert Tally.from_csv(table.to_csv().replace("\n", "\r\n")) == table


def test_what_it_looks_like():
    lines = mt.tally({"A": [1, 0], ("B", "2"): [300, 9]}, void=9, labels={1: "x", 300: "y"}).to_csv().splitlines()
    assert lines[0].startswith('# {"manytruths_tally": 1, ')
    assert lines[1:] == ["A,B@2,count", "0,,1", "1,300,1"]


GOOD = mt.tally({"A": [1, 0], "B": [1, 1]}).to_csv()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["not a tally"]),
        ("A,B,count\n0,0,1\n", ["not a tally", "manytruths_tally"]),
        ("# {}\nA\n", ["not a tally"]),
        ("# 3\nA\n", ["not a tally"]),
        (GOOD.replace('tally": 1', 'tally": 99'), ["version 99", "version 1"]),
        (GOOD.replace("\n1,1,1", "\n1,1"), ["line 4", "'1,1'"]),
        (GOOD.replace("\n1,1,1", "\n1,7,1"), ["line 4", "'1,7,1'"]),
        (GOOD.replace("\n1,1,1", "\n1,1,-1"), ["line 4"]),
        (GOOD.replace("\n1,1,1", "\n1,1,1.5"), ["line 4"]),
        (GOOD.replace('["A", "rater", ""]', '["A", "judge", ""]'), ["judge"]),
        (GOOD.replace('["A", "rater", ""]', '["B", "rater", ""]'), ["the same"]),
        (GOOD.replace("A,B,count", "A,B\r,count"), ["not a tally"]),
    ],
)
def test_damage(text, words):
    with pytest.raises(ManytruthsError) as caught:
        Tally.from_csv(text)
    assert isinstance(caught.value, FormatError) or words[0] in ("judge", "the same")
    for word in words:
        assert word in str(caught.value)
