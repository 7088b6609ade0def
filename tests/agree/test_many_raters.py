"""Many raters and many cases: what tables leave out, and that what they hold is what they would hold in full."""

import json
import re

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import manytruths as mt
from manytruths.analyses import many
from manytruths.analyses import result as results
from manytruths.analyses.agree import lesions, size_agreement
from manytruths.analyses.agree import tables as pair_tables

RATERS, CASES = 9, 12


def masks(seed: int = 0) -> dict[str, dict[str, np.ndarray]]:
    """Blobs of raters who each read some of the cases; one rater is alone in a case of their own."""
    rng = np.random.default_rng(seed)
    study = {}
    for case in range(CASES):
        common = gaussian_filter(rng.standard_normal((24, 24)), 3)
        apart = gaussian_filter(rng.standard_normal((RATERS, 24, 24)), (0, 2, 2))
        read = rng.permutation(RATERS - 1)[:6]
        study[f"c{case}"] = {f"r{i}": (common + 0.3 * apart[i] > 0.03).astype(np.uint8) for i in sorted(read)}
    study["alone"] = {"r8": np.eye(24, dtype=np.uint8), "r7": np.zeros((24, 24), np.uint8)}
    return study


@pytest.fixture
def cut(monkeypatch):
    """As if nine raters were many: three pairs are shown in full."""
    monkeypatch.setattr(many, "MOST_PAIRS", 5)
    monkeypatch.setattr(pair_tables, "MOST_PAIRS", 5)
    monkeypatch.setattr(pair_tables, "SHOWN_PAIRS", 3)


def agree(**how):
    return mt.agree(mt.Study.from_arrays(masks()), pictures=False, **how)


def rows_by_key(table):
    return {(r.scope, r.case, r.group, r.label, r.extra, r.statistic): r for r in table.rows}


def same(a: float, b: float) -> bool:
    return a == pytest.approx(b, rel=1e-12, abs=1e-12, nan_ok=True)


@pytest.mark.slow
def test_pairs_hold_what_they_would_hold_in_full(request):
    full = agree()
    request.getfixturevalue("cut")
    short = agree()
    whole, part = (rows_by_key(each.tables["pairs"]) for each in (full, short))
    assert set(part) < set(whole)
    assert len(part) < len(whole) / 2
    for key, row in part.items():
        assert same(row.value, whole[key].value), key
        if row.low is not None:
            assert same(row.low, whole[key].low)
            assert same(row.high, whole[key].high)
    shown = {key[4] for key in part if key[0] == "pooled" and key[5] == "dice"}
    means = {key[4]: row.value for key, row in whole.items() if key[0] == "mean" and key[5] == "dice"}
    known = sorted((pair for pair, value in means.items() if value == value), key=lambda pair: means[pair])
    assert shown == set(known[:3])
    # every pair that shares a case has its means, with intervals where there are ten of them
    for statistic in ("dice", "cohen_kappa", "volume_difference", "mean_surface_distance"):
        there = {key[4] for key, row in whole.items() if key[0] == "mean" and key[5] == statistic and row.n}
        assert {key[4] for key in part if key[0] == "mean" and key[5] == statistic} == there | shown


def test_other_tables_have_no_pairs(request):
    full = agree()
    request.getfixturevalue("cut")
    short = agree()
    for name in ("agreement", "raters", "detection", "size_agreement", "detection_curve"):
        whole, part = (rows_by_key(each.tables[name]) for each in (full, short))
        assert set(part) <= set(whole)
        assert all(same(row.value, whole[key].value) for key, row in part.items())
    assert not [r for r in short.tables["size_agreement"].rows if r["relation"] == "between"]
    assert {r["against"] for r in short.tables["detection"].rows} == {"", "others"}
    assert set(rows_by_key(full.tables["agreement"])) == set(rows_by_key(short.tables["agreement"]))


def test_raters_who_did_not_read_a_case_have_no_row_of_it(cut):
    table = agree().tables["raters"]
    read = masks()
    for row in table.all("dice", "case"):
        assert row["rater"] in read[row.case]


def test_many_cases_have_no_rows_of_pairs(monkeypatch):
    monkeypatch.setattr(pair_tables, "MOST_PAIR_CASES", 100)
    table = agree().tables["pairs"]
    assert {row.scope for row in table.rows} == {"mean", "std", "pooled"}


def test_what_is_left_out_is_said():
    some = dict(list(masks().items())[:2])
    first = next(iter(some["c0"].values()))
    study = mt.Study.from_arrays({"c": {f"r{i}": np.roll(first, i % 5, 0) for i in range(47)}})
    found = mt.agree(study, pictures=False, measure="none")
    assert any(re.search(r"47 raters make 1,081 pairs: pairs.csv has all numbers of the 50", n) for n in found.notes)
    assert len({r.extra for r in found.tables["pairs"].rows if r.scope == "pooled" and r.statistic == "dice"}) == 50


def test_summary_repeats_short_tables_only(tmp_path, monkeypatch):
    agree(out=tmp_path / "long")
    monkeypatch.setattr(results, "MOST_ROWS", 300)
    agree(out=tmp_path / "short")
    long, short = (json.loads((tmp_path / each / "agree/summary.json").read_text()) for each in ("long", "short"))
    assert "shortened" not in long
    assert short["shortened"]["agreement"] == len(long["tables"]["agreement"]) > 300
    kept = [row for row in long["tables"]["agreement"] if row["scope"] not in ("case", "subject")]
    assert short["tables"]["agreement"] == kept
    assert short["tables"]["curve"] == long["tables"]["curve"]
    assert (tmp_path / "long/agree/agreement.csv").read_bytes() == (tmp_path / "short/agree/agreement.csv").read_bytes()


def test_limits_are_one():
    """Every part of the tables asks the same question."""
    assert lesions.many_raters is size_agreement.many_raters is many.many_raters
    assert not many.many_raters(45)
    assert many.many_raters(46)
