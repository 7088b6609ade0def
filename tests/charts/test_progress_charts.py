"""Charts of a study that runs: who read what, agreement over time, readings of each rater over time."""

from __future__ import annotations

import datetime
import math
import re
from xml.etree import ElementTree

import pytest

from manytruths import CallError
from manytruths.charts import TimeSeries, coverage_bars, coverage_grid, rater_panels, time_chart
from manytruths.charts.coverage import LOOKS, READ
from manytruths.charts.times import running_median

SVG = "{http://www.w3.org/2000/svg}"
NAN = math.nan
DAY = datetime.date(2026, 3, 2).toordinal()


def read(chart):
    return ElementTree.fromstring(chart)


def words(chart):
    return [t.text for t in read(chart).iter(f"{SVG}text")]


def hovers(chart):
    """Words under the pointer of cells, with the corner of each."""
    cells = [r for r in read(chart).iter(f"{SVG}rect") if r.find(f"{SVG}title") is not None]
    return {r.find(f"{SVG}title").text: (float(r.get("x")), float(r.get("y"))) for r in cells}


def test_every_cell_of_the_grid_says_who_what_and_how_far():
    statuses = {"anna": ["done", "late", "empty"], "ben": ["unread", "edit", "not_evaluable"]}
    chart = coverage_grid(statuses, ["p1", "p2", "p3"], "Who read what", notes={("anna", "p1"): "4 minutes"})
    cells = hovers(chart)
    assert list(cells) == [
        "anna, p1: done, 4 minutes", "anna, p2: late", "anna, p3: read, nothing marked",
        "ben, p1: not read yet", "ben, p2: edit of another's mask", "ben, p3: not evaluable",
    ]  # fmt: skip
    # cases lie side by side, raters one below the other
    assert [x for x, _ in cells.values()] == sorted({x for x, _ in cells.values()}) * 2
    assert len({y for _, y in cells.values()}) == 2
    assert {"anna", "ben", "p1", "p2", "p3", "Who read what"} <= set(words(chart))


def test_who_cannot_see_the_grid_is_told_what_it_shows():
    statuses = {"anna": ["done", "done", "late"], "ben": ["empty", "unread", "unread"]}
    for chart in (coverage_grid(statuses, ["p", "q", "r"], "t"), coverage_bars({"anna": {"done": 2, "late": 1}}, "t")):
        told = next(read(chart).iter(f"{SVG}desc")).text
        assert told.startswith("anna: 2 done, 1 late")
    assert next(read(coverage_grid(statuses, ["p", "q", "r"], "t")).iter(f"{SVG}desc")).text.endswith(
        "ben: 1 read, nothing marked, 2 not read yet"
    )


def test_statuses_differ_by_shape_as_well_as_by_colour():
    shapes = {}
    for status, look in LOOKS.items():
        chart = coverage_grid({"a": [status]}, ["p"], "t")
        routes = [p.get("d") for p in read(chart).iter(f"{SVG}path")]
        assert bool(routes) is bool(look.colour), status
        # the first is the cell, the second that of the legend; the same shape at another place and size
        shapes[status] = (bool(look.line), re.sub(r"[\d.]+", "", routes[0]), routes[0]) if routes else ()
    assert len(set(shapes.values())) == len(LOOKS)


def test_the_legend_names_the_statuses_that_are_there_and_no_others():
    chart = coverage_grid({"a": ["done", "late"]}, ["p", "q"], "t")
    assert {"done", "late"} <= set(words(chart))
    assert "not read yet" not in words(chart)


def test_a_thousand_cases_go_over_rows_and_stay_small():
    cases = [f"c{i:04}" for i in range(1000)]
    states = [list(LOOKS)[i % len(LOOKS)] for i in range(1000)]
    chart = coverage_grid({f"r{k}": states for k in range(12)}, cases, "t")
    heads = [w for w in words(chart) if w.startswith("cases ")]
    assert heads[0] == "cases 1 to 100: c0000 to c0099"
    assert heads[-1] == "cases 901 to 1,000: c0900 to c0999"
    assert len(heads) == 10
    assert len(chart) < 1_000_000
    # one outline for each done cell, besides that of the legend
    done = next(p.get("d") for p in read(chart).iter(f"{SVG}path") if p.get("fill") == LOOKS["done"].colour)
    assert done.count("M") == 12 * states.count("done")


def test_more_cells_than_can_be_seen_become_bars():
    chart = coverage_grid({f"r{k}": ["done", "unread"] * 4000 for k in range(12)}, ["c"] * 8000, "t")
    assert words(chart).count("4,000 of 8,000") == 12


def test_bars_are_as_long_as_their_counts_and_say_how_many_were_read():
    chart = coverage_bars({"anna": {"done": 3, "empty": 1, "unread": 4}, "ben": {"late": 8}}, "t")
    pieces = {
        r.find(f"{SVG}title").text: r for r in read(chart).iter(f"{SVG}rect") if r.find(f"{SVG}title") is not None
    }
    assert list(pieces) == ["anna: 3 done", "anna: 1 read, nothing marked", "anna: 4 not read yet", "ben: 8 late"]
    whole = float(pieces["ben: 8 late"].get("width"))
    assert float(pieces["anna: 3 done"].get("width")) == pytest.approx(3 / 8 * whole, abs=0.02)
    assert {"4 of 8", "0 of 8"} <= set(words(chart))
    assert set(READ) < set(LOOKS)


@pytest.mark.parametrize(
    ("statuses", "cases", "told"),
    [({}, ["p"], "empty"), ({"a": ["done"]}, [], "empty"), ({"a": ["done"]}, ["p", "q"], "a has 1"),
     ({"a": ["fine"]}, ["p"], "'fine'")],
)  # fmt: skip
def test_grids_that_cannot_be_drawn_are_refused(statuses, cases, told):
    with pytest.raises(CallError, match=told):
        coverage_grid(statuses, cases, "t")


def test_bars_without_raters_or_with_other_statuses_are_refused():
    with pytest.raises(CallError, match="one rater"):
        coverage_bars({}, "t")
    with pytest.raises(CallError, match="'fine'"):
        coverage_bars({"a": {"fine": 1}}, "t")


def test_names_are_escaped():
    name = "<script>alert(1)</script>&"
    for chart in (
        coverage_grid({name: ["done"]}, [name], name),
        coverage_bars({name: {"done": 1}}, name),
        rater_panels({name: TimeSeries((1,), (1,))}, ylabel=name, title=name, dated=False),
        time_chart([1], [1], [1], [1], ylabel=name, title=name, dated=False),
    ):
        assert "<script" not in chart
        read(chart)


def test_numbers_over_time_lie_at_their_days_with_their_intervals():
    days = [DAY, DAY + 7, DAY + 14]
    chart = time_chart(days, [0.8, 0.7, 0.75], [NAN, 0.6, 0.7], [NAN, 0.8, 0.8], ylabel="Dice", title="t", wanted=0.02)
    dots = {c.find(f"{SVG}title").text: c for c in read(chart).iter(f"{SVG}circle")}
    assert list(dots) == ["2 Mar: 0.800", "9 Mar: 0.700 (0.600 to 0.800)", "16 Mar: 0.750 (0.700 to 0.800)"]
    first, second, third = (float(c.get("cx")) for c in dots.values())
    assert second - first == pytest.approx(third - second, abs=0.02)
    assert {"2 Mar", "9 Mar", "16 Mar", "Dice", "wanted"} <= set(words(chart))
    # the bracket is as high as the wanted interval
    bracket = next(p.get("d") for p in read(chart).iter(f"{SVG}path"))
    low, high = float(bracket.split("h8")[0].split()[1]), float(bracket.split("V")[1].split("m")[0])
    ys = [float(c.get("cy")) for c in dots.values()]
    assert (low - high) / (ys[1] - ys[0]) == pytest.approx(0.04 / 0.1, abs=0.01)


def test_days_are_ticks_of_days_weeks_months_or_years():
    def ticks(days):
        return set(words(time_chart([DAY, DAY + days], [1, 2], [NAN] * 2, [NAN] * 2, ylabel="", title="t")))

    assert {"2 Mar", "3 Mar", "4 Mar"} <= ticks(2)
    assert {"2 Mar", "9 Mar", "30 Mar"} <= ticks(28)
    assert {"1 Apr", "1 May"} <= ticks(150)
    assert {"Jul 2026", "Jan 2027"} <= ticks(600)
    assert {"2028", "2030"} <= ticks(3000)


def test_a_single_day_can_be_drawn():
    assert "2 Mar" in words(time_chart([DAY], [0.8], [NAN], [NAN], ylabel="", title="t"))


def test_without_dates_times_are_counts_of_cases():
    chart = time_chart([5, 10], [0.8, 0.7], [0.7, 0.6], [0.9, 0.8], ylabel="", title="t", dated=False, xlabel="cases")
    first = next(read(chart).iter(f"{SVG}circle")).find(f"{SVG}title").text
    assert first == "5 cases: 0.800 (0.700 to 0.900)"


def test_a_panel_for_each_rater_with_what_changed():
    changed = TimeSeries(tuple(DAY + i for i in range(10)), (1.0,) * 5 + (1.5,) * 5, since=DAY + 5, words="later half")
    chart = rater_panels({"anna": changed, "ben": TimeSeries((), ())}, ylabel="ratio", title="t", ratio=True, middle=1)
    assert {"anna", "ben", "later half", "nothing to compare yet", "1.5", "0.667"} <= set(words(chart))
    lines = list(read(chart).iter(f"{SVG}polyline"))
    heights = [float(point.split(",")[1]) for point in lines[0].get("points").split()]
    assert len(lines) == 1
    assert heights[0] > heights[-1]
    # as far above 1 as its inverse below
    ys = {t.text: float(t.get("y")) for t in read(chart).iter(f"{SVG}text") if t.text in ("1.5", "1", "0.667")}
    assert ys["0.667"] - ys["1"] == pytest.approx(ys["1"] - ys["1.5"], abs=0.02)


def test_ratios_that_are_not_above_zero_are_left_out():
    chart = rater_panels({"a": TimeSeries((1, 2, 3), (0.0, NAN, 2.0))}, ylabel="", title="t", dated=False, ratio=True)
    path = next(p.get("d") for p in read(chart).iter(f"{SVG}path"))
    assert path.count("M") == 1


def test_of_many_raters_it_is_said_how_many_are_not_drawn():
    chart = rater_panels({f"r{i:02}": TimeSeries((1,), (1,)) for i in range(30)}, ylabel="", title="t", dated=False)
    assert "6 more raters are not drawn" in words(chart)
    assert "r24" not in words(chart)


def test_running_medians_stay_within_the_readings():
    readings = [(float(i), float(i % 3)) for i in range(20)]
    line = running_median(readings)
    assert all(0 <= value <= 2 for _, value in line)
    assert line == sorted(line)


def test_series_that_do_not_go_in_pairs_are_refused():
    with pytest.raises(CallError, match="a has 2 times"):
        rater_panels({"a": TimeSeries((1, 2), (1,))}, ylabel="", title="t")
    with pytest.raises(CallError, match="one rater"):
        rater_panels({}, ylabel="", title="t")
    with pytest.raises(CallError, match="one value"):
        time_chart([1, 2], [1], [1], [1], ylabel="", title="t")
