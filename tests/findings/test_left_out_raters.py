"""Whom ``excl`` and ``simple`` left out of a consensus is said."""

from __future__ import annotations

import csv
import io
import json
import re


def test_the_terminal_says_who_was_left_out_and_how_often(demo_fused):
    """Nothing was printed before, though a rater was left out of most cases."""
    for method in ("excl:0.5", "simple"):
        said = re.search(rf"{method} leaves out rater ([A-E]) in (\d+) of (\d+) cases", demo_fused)
        assert said is not None, method
        assert int(said[2]) > 10


def test_a_table_and_the_summary_have_every_case(demo, demo_fused):
    """No file named a rater who was left out before."""
    said = re.search(r"simple leaves out rater D in (\d+) of (\d+) cases", demo_fused)
    text = (demo.folder / "fuse/left_out.csv").read_text(encoding="utf-8")
    rows = [r for r in csv.DictReader(io.StringIO(text)) if (r["method"], r["rater"]) == ("simple", "D")]
    cases = [float(row["value"]) for row in rows if row["scope"] == "case"]
    assert (sum(cases), len(cases)) == (int(said[1]), int(said[2]))
    summary = json.loads((demo.folder / "fuse/summary.json").read_text(encoding="utf-8"))
    assert "left_out" in summary["tables"]
