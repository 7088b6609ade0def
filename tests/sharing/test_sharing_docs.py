"""The page on sharing: its code runs, and its figures are those of the demo's study."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import manytruths as mt
from manytruths import demo
from manytruths.io.tally_files import MOST_BYTES

PAGE = (Path(__file__).parents[2] / "docs" / "sharing.md").read_text(encoding="utf-8")


def test_the_code_runs():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(compile(code, "sharing.md", "exec"), {})


@pytest.mark.slow
def test_figures(tmp_path):
    simulated = mt.simulate_study()
    for case in simulated:
        demo._write_case(case, tmp_path)
    demo._write_tables(simulated, tmp_path / "study")
    study = mt.Study.open(tmp_path / "study")
    whole = mt.share_tallies(study, tmp_path / "a.tally", centre="north", keep="histology,expertise")
    assert f"takes {whole.size / 1000:.0f} kB" in PAGE
    kappas = [mt.agree(whole.path, measure="none").headline("fleiss_kappa").value]
    for least in (5, 10, 50):
        said = " ".join(mt.share_tallies(study, tmp_path / f"{least}.tally", least=least).notes)
        pixels, of, area, dice = re.search(
            r"([\d,]+) of ([\d,]+) pixels changed.*?at most ([\d.]+%).*?at most ([\d.]+)$", said
        ).groups()
        assert f"| {least} | {pixels} | {area} | {dice} |" in PAGE
        assert f"pixels changed, of {of} |" in PAGE
    kappas.append(mt.agree(tmp_path / "5.tally", measure="none").headline("fleiss_kappa").value)
    assert "is {:.4f} without merging and {:.4f} with `--least 5`".format(*kappas) in PAGE
    assert f"larger than {MOST_BYTES / 1e6:.0f} MB" in PAGE
