"""What the demo prints about the truth goes by the unit of the page: means over patients."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from manytruths.demo import demo


@pytest.mark.slow
def test_consensus_and_raters_are_compared_by_their_means_over_patients(tmp_path):
    """Before, Dice was pooled without saying so, and another rater came first."""
    result = demo(tmp_path / "demo", cases=10, size=64)
    stream = io.StringIO()
    result.print(Console(file=stream, width=120))
    text = stream.getvalue().partition("How close did the consensus come to the truth?")[2].partition("How close")[0]
    assert "mean over patients" in text
    rows = [r for r in result.fusion.tables["reference_scores"].all("dice", "mean") if not r.group]
    best = max((r for r in rows if r["rater"]), key=lambda row: row.value)
    shown = {line.split()[0]: line for line in text.splitlines() if re.search(r"\d\.\d{3}", line)}
    for row in (r for r in rows if r["method"]):
        assert f"{row.value:.3f}" in shown[str(row["method"])]
        assert shown[str(row["method"])].split()[-1] == str(row.n)
    assert f"({best['rater']})" in shown["the"]
    assert f"{best.value:.3f}" in shown["the"]
