"""Weighted kappas, alphas and ICC of ordered ratings, against scikit-learn, krippendorff and brute force."""

from __future__ import annotations

import csv
from itertools import combinations

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import manytruths as mt
from data_folder import data
from manytruths.analyses.reliability.ordered import ALPHAS, WEIGHTS, _mean_of_pairs, _Table, ordered_agreement
from manytruths.analyses.tables import Settings
from manytruths.core.undefined import code, reason
from study_folders import run, table

LEVELS = {"krippendorff_alpha_ordinal": "ordinal", "krippendorff_alpha_interval": "interval"}
POWERS = {"weighted_kappa_linear": "linear", "weighted_kappa_quadratic": "quadratic"}


@pytest.fixture(scope="module")
def lidc():
    """Malignancy of nodules, cases of four reader slots, with gaps where fewer than four readers drew."""
    with data("lidc", "lidc_nodule_ratings.csv").open(newline="") as file:
        # a few nodules have more annotations than the four readers
        rows = [row for row in csv.DictReader(file) if int(row["reader_slot"]) < 4]
    nodules = list(dict.fromkeys(row["nodule"] for row in rows))
    values = np.full((len(nodules), 4), np.nan)
    for row in rows:
        values[nodules.index(row["nodule"]), int(row["reader_slot"])] = float(row["malignancy"])
    return values


def ratings_of(values, kind="ordinal", subjects=None, labels=None):
    cells = [[None if np.isnan(x) else x for x in row] for row in values]
    return mt.Ratings.of(cells, kind=kind, labels=labels, subjects=subjects)


def test_ratings_of_lung_nodules_as_other_libraries_have_them(lidc):
    result = mt.reliability(ratings_of(lidc))
    found = result.tables["reliability"]
    kappas = {name: [] for name in POWERS}
    for i, j in combinations(range(4), 2):
        both = ~np.isnan(lidc[:, [i, j]]).any(axis=1)
        a, b = lidc[both, i], lidc[both, j]
        pair = {"source": "", "rater_a": str(i + 1), "rater_b": str(j + 1)}
        for name, weights in POWERS.items():
            kappas[name].append(cohen_kappa_score(a, b, weights=weights))
            row = found.find(name, "pooled", **pair)
            assert row.value == pytest.approx(kappas[name][-1], abs=1e-12)
            assert row.low < row.value < row.high
        for name, level in LEVELS.items():
            alpha = krippendorff.alpha(np.stack([a, b]), level_of_measurement=level)
            assert found.find(name, "pooled", **pair).value == pytest.approx(alpha, abs=1e-12)
        assert found.find("icc_a1", "pooled", **pair).value == pytest.approx(agreement_icc(np.stack([a, b], axis=1)))
    whole = {"source": "", "rater_a": "", "rater_b": ""}
    for name, values in kappas.items():
        assert found.find(name, "pooled", **whole).value == pytest.approx(np.mean(values))
    for name, level in LEVELS.items():
        row = found.find(name, "pooled", **whole)
        assert row.value == pytest.approx(krippendorff.alpha(lidc.T, level_of_measurement=level), abs=1e-12)
    # ranks of labels count, as the kind says: the interval is that of the headline
    ordinal = found.find("krippendorff_alpha_ordinal", "pooled", **whole)
    assert (ordinal.low, ordinal.high) == pytest.approx(
        (result.headline["krippendorff_alpha"].low, result.headline["krippendorff_alpha"].high)
    )


def agreement_icc(x):
    """ICC(A,1) by the mean squares of McGraw and Wong."""
    n, k = x.shape
    subject, rater = x.mean(axis=1, keepdims=True), x.mean(axis=0)
    mss = k * ((subject - x.mean()) ** 2).sum() / (n - 1)
    msr = n * ((rater - x.mean()) ** 2).sum() / (k - 1)
    mse = ((x - subject - rater + x.mean()) ** 2).sum() / ((n - 1) * (k - 1))
    return (mss - mse) / (mss + (k - 1) * mse + k / n * (msr - mse))


def test_leaving_a_subject_out_is_what_brute_force_finds():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, 60)
    values = np.clip(truth[:, None] + rng.integers(-1, 2, (60, 3)), 0, 6).astype(float) ** 1.5
    values[rng.random((60, 3)) < 0.15] = np.nan
    subjects = [f"s{k // 2}" for k in range(60)]
    values[4:6, 0] = np.nan  # a subject that two of the three pairs do not share
    made = _Table(ratings_of(values, "numeric", subjects))
    _, mean = _mean_of_pairs([made.kappa(*pair, 1) for pair in combinations(range(3), 2)])
    for s in (0, 2, 7, 29):
        kept = values[[subject != f"s{s}" for subject in subjects]]
        rest = _Table(ratings_of(kept, "numeric", labels=sorted(set(values[~np.isnan(values)]))))
        for power in WEIGHTS.values():
            assert made.kappa(0, 2, power)[1][s] == pytest.approx(rest.kappa(0, 2, power)[0], abs=1e-12)
        pairs = [rest.kappa(*pair, 1)[0] for pair in combinations(range(3), 2)]
        assert mean[s] == pytest.approx(np.mean(pairs), abs=1e-12)
        for ranked in ALPHAS.values():
            assert made.alpha(range(3), ranked)[1][s] == pytest.approx(rest.alpha(range(3), ranked)[0], abs=1e-12)
        level = "interval"
        assert rest.alpha(range(3), False)[0] == pytest.approx(
            krippendorff.alpha(kept.T, level_of_measurement=level), abs=1e-12
        )


def test_few_cases_equal_ratings_and_raters_who_never_met_have_reasons():
    few = ordered_agreement(ratings_of(np.array([[1.0, 2, 3, 1], [1, 3, 3, 2]]).T), Settings())
    assert code(few.overall["weighted_kappa_linear"].low) == "too_few_subjects"
    assert 0 < few.overall["weighted_kappa_linear"].value < 1
    same = ordered_agreement(ratings_of(np.full((12, 2), 3.0)), Settings())
    assert {code(same.overall[name].value) for name in (*WEIGHTS, *ALPHAS)} == {"one_label"}
    assert all(code(value.value) for name, value in same.overall.items() if name.startswith("icc"))
    values = np.full((20, 3), np.nan)
    values[:10, 0], values[:, 1], values[10:, 2] = np.arange(10) % 4, np.arange(20) % 4, np.arange(10) % 3
    apart = ordered_agreement(ratings_of(values), Settings())
    assert code(apart.pairs[0, 2]["weighted_kappa_linear"].value) == "no_case_rated_twice"
    assert code(apart.pairs[0, 2]["icc_a1"].value)


def test_nominal_ratings_have_none_of_them():
    result = mt.reliability(ratings_of(np.array([[1.0, 2, 3, 1], [1, 3, 3, 2]]).T, "nominal"))
    assert result.ordered is None
    assert not any("normally distributed" in note for note in result.notes)
    assert not [row for row in result.tables["reliability"].rows if "weighted" in row.statistic]


def test_on_the_command_line(tmp_path, capsys):
    path = data("ratings", "VanDyke.csv")
    filters = ("--filter", "treatment=1", "--kind", "ordinal", "--columns", "label=rating", "--out", tmp_path)
    done = run(capsys, "reliability", path, *filters, "--no-pictures")
    assert done.status == 0, done.err
    assert "weighted kappa, quadratic, mean of pairs" in done.out
    assert "intervals of ICC take ratings to be normally distributed" in " ".join(done.out.split())
    rows = [r for r in table(tmp_path / "reliability/reliability.csv") if r["statistic"] == "weighted_kappa_quadratic"]
    with path.open(newline="") as file:
        given = [row for row in csv.DictReader(file) if row["treatment"] == "1"]
    by = {reader: [row["rating"] for row in given if row["reader"] == reader] for reader in "12345"}
    for row in rows[1:]:
        expected = cohen_kappa_score(by[row["rater_a"]], by[row["rater_b"]], weights="quadratic")
        assert float(row["value"]) == pytest.approx(expected)
    assert len(rows) == 11


def mostly_equal(cases, subjects=None):
    """Three raters' grades: 3 by all in three of five cases, else around another grade."""
    rng = np.random.default_rng(5)
    values = np.full((cases, 3), 3.0)
    values[: 2 * cases // 5] = rng.integers(1, 6, (2 * cases // 5, 1)) + rng.integers(-1, 2, (2 * cases // 5, 3))
    return ratings_of(values.clip(1, 5), subjects=subjects)


@pytest.mark.parametrize("each", [1, 2])
def test_all_cases_of_ordered_ratings_count_whatever_their_grade(each):
    """No grade is background: 60 subjects are 60, of which 24 have another grade than the most frequent one."""
    subjects = [f"s{i % 60}" for i in range(60 * each)]
    result = mt.reliability(mostly_equal(60 * each, subjects))
    whole = {"source": "", "rater_a": "", "rater_b": ""}
    for name in (*WEIGHTS, *ALPHAS, "krippendorff_alpha", "fleiss_kappa", "gwet_ac1"):
        row = result.tables["reliability"].find(name, "pooled", **whole)
        assert row.low < row.value < row.high


@pytest.mark.parametrize("each", [1, 2])
def test_few_subjects_of_ordered_ratings_are_counted_by_their_cases(each):
    result = mt.reliability(mostly_equal(20 * each, [f"s{i % 20}" for i in range(20 * each)]))
    for name in (*WEIGHTS, *ALPHAS, "krippendorff_alpha", "fleiss_kappa", "gwet_ac1"):
        low = result.tables["reliability"].find(name, "pooled", source="", rater_a="", rater_b="").low
        assert code(low) == "few_effective_cases"
        assert reason(low).endswith("there are 20.0 of 20")
        assert "marked" not in reason(low)
