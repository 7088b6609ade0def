"""Charts of groups and of readers: what is drawn says what was given."""

from __future__ import annotations

import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from manytruths import CallError
from manytruths.charts import group_chart, reader_slopes

SVG = "{http://www.w3.org/2000/svg}"
NAN = math.nan
GROUPS = {"senior": (0.9, 0.8, 1.0), "junior": (0.7, 0.6, 0.8)}
PAIR = ("senior", "junior")
LABELS = {"ylabel": "ROC area", "xlabel": "A − B", "title": "Readers"}


def read(chart):
    return ElementTree.fromstring(chart)


def words(chart):
    return [t.text for t in read(chart).iter(f"{SVG}text")]


def dots(chart):
    """Where dots are, by the words under the pointer."""
    found = [c for c in read(chart).iter(f"{SVG}circle") if c.find(f"{SVG}title") is not None]
    return {c.find(f"{SVG}title").text: c for c in found}


def whiskers(chart):
    """Ends of the intervals from left to right, as drawn."""
    routes = [p.get("d") for p in read(chart).iter(f"{SVG}path")]
    return [(float(d[1:].split()[0]), float(d.split("H")[1].split("m")[0])) for d in routes if "H" in d]


def test_dots_and_intervals_of_groups_lie_at_their_values():
    chart = group_chart(GROUPS, {PAIR: (0.8, 0.7, 0.9)}, {PAIR: (0.2, 0.1, 0.3)}, xlabel="Dice", title="Groups")
    found = dots(chart)
    assert list(found) == [
        "within senior: 0.90 (0.80 to 1.00)", "within junior: 0.70 (0.60 to 0.80)",
        "between senior and junior: 0.80 (0.70 to 0.90)", "senior − junior: 0.200 (0.100 to 0.300)",
    ]  # fmt: skip
    senior, junior, between, apart = (float(c.get("cx")) for c in found.values())
    assert between == pytest.approx((senior + junior) / 2, abs=0.02)
    assert [c.get("fill") == "#ffffff" for c in found.values()] == [False, False, True, False]
    ends = whiskers(chart)
    assert [low < x < high for (low, high), x in zip(ends, (senior, junior, between, apart), strict=True)] == [True] * 4
    assert ends[0][0] == pytest.approx(ends[1][1], abs=0.02)  # 0.8 is an end of both
    # the line at 0 is as far below the difference as twice its interval's half
    zero = [float(n.get("x1")) for n in read(chart).iter(f"{SVG}line") if n.get("stroke-width") == "1.4"]
    assert apart - zero[0] == pytest.approx(2 * (apart - ends[3][0]), abs=0.05)
    assert {"Dice", "difference of Dice", "within senior", "0.90 (0.80 to 1.00)"} <= set(words(chart))


def test_groups_of_cases_have_no_within_and_what_is_unknown_is_not_drawn():
    chart = group_chart(
        {"A": (0.9, NAN, NAN), "B": (NAN, NAN, NAN)}, {}, {("A", "B"): (NAN, NAN, NAN)}, xlabel="Dice", title="Cases"
    )
    assert list(dots(chart)) == ["A: 0.90"]
    assert whiskers(chart) == []
    assert {"A", "B", "A − B", "–"} <= set(words(chart))
    with pytest.raises(CallError, match="groups is empty"):
        group_chart({}, {}, {}, xlabel="", title="")


def test_long_names_are_shortened_and_shown_under_the_pointer():
    name = "a group whose name does not fit beside its numbers"
    chart = group_chart({name: (0.5, 0.4, 0.6)}, {}, {}, xlabel="Dice", title="Groups")
    (label,) = (t for t in read(chart).iter(f"{SVG}text") if t.find(f"{SVG}title") is not None)
    assert label.find(f"{SVG}title").text == name
    short = label.find(f"{SVG}title").tail
    assert short.endswith("…")
    assert name.startswith(short[:-1])


def test_readers_have_a_line_each_and_the_mean_its_interval():
    chart = reader_slopes(
        {"ann": (0.8, 0.9), "ben": (0.6, 0.7)}, ["A", "B"], [(0.7, 0.6, 0.8), (0.8, NAN, NAN)],
        {"other readers and cases": (-0.1, -0.2, 0.0)}, {"ann": (-0.1, -0.3, 0.1)}, **LABELS,
    )  # fmt: skip
    drawn = read(chart)
    lines = {p.find(f"{SVG}title").text: p for p in drawn.iter(f"{SVG}polyline") if len(p)}
    assert list(lines) == ["ann: A 0.800, B 0.900", "ben: A 0.600, B 0.700"]
    (ax, ay), (bx, by) = (
        [float(v) for v in place.split(",")] for place in lines["ann: A 0.800, B 0.900"].get("points").split()
    )
    assert (ax < bx, by < ay) == (True, True)  # higher values are further up
    means = {r.find(f"{SVG}title").text: float(r.get("y")) + 5 for r in drawn.iter(f"{SVG}rect") if len(r)}
    assert list(means) == ["mean, A: 0.700 (0.600 to 0.800)", "mean, B: 0.800"]
    assert means["mean, B: 0.800"] == pytest.approx(ay, abs=0.02)
    assert list(dots(chart)) == ["other readers and cases: −0.100 (−0.200 to 0.000)", "ann: −0.100 (−0.300 to 0.100)"]
    assert {"ann", "ben", "mean", "A", "B", "ROC area", "A − B"} <= set(words(chart))
    # the line of a reader and their difference have one colour
    assert dots(chart)["ann: −0.100 (−0.300 to 0.100)"].get("fill") == lines["ann: A 0.800, B 0.900"].get("stroke")


def test_names_of_readers_do_not_overlap_however_many_there_are():
    readers = {f"reader {k}": (0.5, 0.7) for k in range(30)}
    chart = reader_slopes(readers, ["A", "B"], [(0.5, NAN, NAN), (0.7, NAN, NAN)], {}, **LABELS)
    at = sorted(float(t.get("y")) for t in read(chart).iter(f"{SVG}text") if t.text.startswith("reader"))
    assert len(at) == 30
    assert min(b - a for a, b in pairwise(at)) >= 7
    assert max(at) < 310


def test_readers_without_numbers_for_each_modality_are_refused():
    with pytest.raises(CallError, match="two modalities or more"):
        reader_slopes({"ann": (0.5,)}, ["A"], [(0.5, NAN, NAN)], {}, **LABELS)
    with pytest.raises(CallError, match="need 2 numbers, one for each modality"):
        reader_slopes({"ann": (0.5,)}, ["A", "B"], [(0.5, NAN, NAN)] * 2, {}, **LABELS)
