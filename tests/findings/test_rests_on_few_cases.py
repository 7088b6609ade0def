"""A reliability score that rests on a few cases says so, and has no interval."""

from __future__ import annotations

import random

from printed import printed

from study_folders import table

JUDGED = 3


def write_ratings(path) -> None:
    """Twenty cases, of which three have a reference, by which all four raters were wrong."""
    rng = random.Random(0)
    lines = ["case,A,B,C,D,reference"]
    for case in range(20):
        label = rng.random() < 0.5
        votes = [label if case < JUDGED else label ^ (rng.random() < 0.15) for _ in range(4)]
        reference = str(int(not label)) if case < JUDGED else ""
        lines.append(",".join([f"c{case:02}", *(str(int(vote)) for vote in votes), reference]))
    path.write_text("\n".join([*lines, ""]))


def test_rho_of_three_judged_cases_has_no_interval_and_says_so(tmp_path):
    """Printed before without a word: ρ "0.000 (0.000–0.000)"."""
    write_ratings(tmp_path / "ratings.csv")
    text = printed("reliability", tmp_path / "ratings.csv", "--out", tmp_path, "--no-pictures")
    assert "0.000 (0.000–0.000)" not in text
    assert f"an interval of rho needs 10 subjects with a reference for every rater; a rater has {JUDGED}" in text
    rows = table(tmp_path / "reliability/reliability.csv")
    assert not [row for row in rows if row["low"] and float(row["low"]) == float(row["high"])]
