"""The verb ``reliability`` on real files: what it writes, prints, draws and refuses."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from functools import partial

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from irrCAC.raw import CAC

import manytruths as mt
from data_folder import data
from manytruths import (
    CallError,
    InputError,
    Ratings,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
    rasch,
    rater_accuracy,
    read_ratings,
    reason,
    rho,
    sigma,
)
from manytruths.analyses.reliability.intervals import beyond_chance, case_means, sorted_tallies
from manytruths.analyses.reliability.reliability import ReliabilitySettings
from manytruths.cli import status
from manytruths.inference.intervals import mean_intervals, pooled_intervals
from study_folders import files, run, table, untidy, value

HEAD = ["scope", "case", "group", "label", "region"]
TAIL = ["statistic", "value", "low", "high", "n", "n_undefined", "reason", "code"]
EXTRA = {
    "reliability": ["source", "rater_a", "rater_b"],
    "raters": ["rater", "source"],
    "majorities": ["winner", "reference", "slim", "overwhelming", "wrong"],
    "confidence": ["rater", "confidence", "source"],
}
RATERS = ("A", "<b>&B", "[red]C", "a rater whose name is longer than the room that charts have", "E")


def write_ratings(path, cases=30, raters=RATERS, *, seed=0, gaps=True, reference=True, confidence=True):
    """Raters of accuracy 0.85 or so, with levels of confidence and a few gaps."""
    rng = np.random.default_rng(seed)
    truth, hard = rng.random(cases) < 0.5, rng.normal(0, 1.5, cases)
    with open(path, "w", newline="", encoding="utf-8") as stream:
        out = csv.writer(stream)
        out.writerow(["case", "rater", "label", *["confidence"] * confidence, *["reference"] * reference])
        for i in range(cases):
            for k, rater in enumerate(raters):
                good = rng.random() < 1 / (1 + np.exp(hard[i] - 2))
                label = ("well", "ill")[int(truth[i] == good)]
                label = "" if gaps and (i + k) % 11 == 0 else label
                sure = [str(rng.integers(1, 6))] * confidence
                out.writerow([f"p{i}", rater, label, *sure, *[("well", "ill")[int(truth[i])]] * reference])
    return path


OPTIONS = ("--confidence-levels", "5", "--labels", "well,ill")


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rated")
    path = write_ratings(folder / "ratings.csv")
    for out in ("one", "two"):
        assert status(["reliability", str(path), *OPTIONS, "--out", str(folder / out), "-q"]) == 0
    return folder


@pytest.fixture(scope="module")
def ratings(rated):
    return read_ratings(rated / "ratings.csv", confidence_levels=5, labels=["well", "ill"])


def rows_of(rated, name):
    return table(rated / f"one/reliability/{name}.csv")


def test_every_table_has_its_columns(rated):
    found = {path.stem: path for path in (rated / "one/reliability").glob("*.csv")}
    assert set(found) == set(EXTRA)
    for name, path in found.items():
        with open(path, newline="", encoding="utf-8") as stream:
            assert next(csv.reader(stream)) == [*HEAD, *EXTRA[name], *TAIL]


def test_the_same_ratings_give_the_same_bytes(rated):
    one, two = ({p.relative_to(rated / out): p.read_bytes() for p in files(rated / out)} for out in ("one", "two"))
    assert one == two
    assert len(one) == 4 + 1 + 4
    assert untidy(rated) == []


def test_numbers_of_the_data_set(rated, ratings):
    rows = rows_of(rated, "reliability")
    whole = {"source": "", "rater_a": "", "rater_b": ""}
    assert value(rows, "sigma", "pooled", **whole) == sigma(ratings).value
    for source in ("reference", "majority"):
        expected = rho(ratings, rater_accuracy(ratings, source).accuracy)
        assert value(rows, "rho", "pooled", **(whole | {"source": source})) == pytest.approx(expected.value)
        assert value(rows, "contradictions", "pooled", **(whole | {"source": source})) == expected.undefined
    model = rho(ratings, rasch(ratings).accuracy).value
    assert value(rows, "rho", "pooled", **(whole | {"source": "rasch"})) == pytest.approx(model)
    for statistic in (percent_agreement, fleiss_kappa, krippendorff_alpha, gwet_ac1):
        assert value(rows, statistic.__name__, "pooled", **whole) == pytest.approx(statistic(ratings.tally()))
    for row in rows:
        if (
            row["scope"] == "pooled"
            and not row["rater_a"]
            and not row["label"]
            and row["statistic"] != "contradictions"
        ):
            if row["statistic"] in ("krippendorff_alpha", "fleiss_kappa", "gwet_ac1"):
                assert row["code"] == "few_effective_subjects"  # nobody gave another than the usual label to some
            else:
                assert float(row["low"]) < float(row["value"]) < float(row["high"])
            assert (row["n"], row["n_undefined"]) == ("30", "0")


def test_kappas_against_the_peers(rated, ratings):
    """The field's own libraries, with missing ratings."""
    import pandas

    codes = np.where(ratings.given, ratings.codes, np.nan)
    rows = rows_of(rated, "reliability")
    whole = {"source": "", "rater_a": "", "rater_b": ""}
    alpha = krippendorff.alpha(codes.T, level_of_measurement="nominal")
    assert value(rows, "krippendorff_alpha", "pooled", **whole) == pytest.approx(alpha)
    peer = CAC(pandas.DataFrame(codes), digits=10)
    assert value(rows, "gwet_ac1", "pooled", **whole) == pytest.approx(peer.gwet()["est"]["coefficient_value"])
    assert value(rows, "fleiss_kappa", "pooled", **whole) == pytest.approx(peer.fleiss()["est"]["coefficient_value"])


@pytest.mark.parametrize(("kind", "level"), [("ordinal", "ordinal"), ("numeric", "interval")])
def test_alpha_at_the_level_of_the_labels(kind, level):
    rng = np.random.default_rng(0)
    base = rng.integers(0, 4, 40)
    codes = np.clip(base[:, None] + rng.integers(-1, 2, (40, 3)), 0, 4)
    found = mt.reliability(Ratings.of(codes, kind=kind, labels=[0, 1, 2, 3, 4]))
    alpha = found.headline["krippendorff_alpha"]
    assert alpha.value == pytest.approx(krippendorff.alpha(codes.T, level_of_measurement=level))
    assert alpha.low < alpha.value < alpha.high


def test_cases_pairs_and_labels(rated, ratings):
    rows = rows_of(rated, "reliability")
    found = sigma(ratings)
    by_case = [r for r in rows if r["scope"] == "case" and r["statistic"] == "sigma"]
    assert [r["case"] for r in by_case] == list(ratings.cases)
    assert [float(r["value"]) for r in by_case] == pytest.approx(found.by_case.tolist())
    assert [int(r["n"]) for r in by_case] == ratings.rated.tolist()
    share = [float(r["value"]) for r in rows if r["scope"] == "case" and r["statistic"] == "percent_agreement"]
    assert np.mean(share) == pytest.approx(percent_agreement(ratings.tally()))
    for i, a in enumerate(RATERS):
        for j, b in enumerate(RATERS[i + 1 :], start=i + 1):
            pair = {"rater_a": a, "rater_b": b, "source": ""}
            assert value(rows, "sigma", "pooled", **pair) == pytest.approx(found.pairs[i, j])
            kappa = mt.cohen_kappa(ratings.tally().pair(a, b))
            assert value(rows, "cohen_kappa", "pooled", **pair) == pytest.approx(kappa)
    for k, label in enumerate(("well", "ill")):
        whole = {"rater_a": "", "rater_b": "", "source": ""}
        assert value(rows, "sigma", "pooled", label=label, **whole) == pytest.approx(found.by_label[k])
    hard = [float(r["value"]) for r in rows if r["statistic"] == "difficulty"]
    assert hard == pytest.approx(rasch(ratings).difficulty.tolist())


def test_raters(rated, ratings):
    rows, model = rows_of(rated, "raters"), rasch(ratings)
    for i, rater in enumerate(RATERS):
        for source in ("reference", "majority"):
            by = rater_accuracy(ratings, source)
            assert value(rows, "accuracy", "pooled", rater=rater, source=source) == pytest.approx(by.accuracy[i])
            row = next(r for r in rows if (r["rater"], r["source"], r["statistic"]) == (rater, source, "accuracy"))
            assert int(row["n"]) == by.n[i]
        given = ratings.given[:, i]
        assert value(rows, "ratings", "pooled", rater=rater, source="") == given.sum()
        assert value(rows, "mean_confidence", "pooled", rater=rater, source="") == pytest.approx(
            ratings.confidence[given, i].mean()
        )
        assert value(rows, "sigma", "pooled", rater=rater, source="") == pytest.approx(sigma(ratings).by_rater[i])
        for name in ("ability", "ability_error", "infit", "outfit"):
            assert value(rows, name, "pooled", rater=rater, source="rasch") == pytest.approx(getattr(model, name)[i])
        truth = ratings.reference[given] == 1
        says = ratings.codes[given, i] == 1
        assert value(rows, "sensitivity", "pooled", rater=rater, source="reference") == pytest.approx(
            says[truth].mean()
        )
        assert value(rows, "specificity", "pooled", rater=rater, source="reference") == pytest.approx(
            (~says[~truth]).mean()
        )
        assert value(rows, "one_label", "pooled", rater=rater, source="") == 0


def test_majorities_table(rated, ratings):
    from manytruths import majorities

    rows, found = rows_of(rated, "majorities"), majorities(ratings)
    pooled = {r["statistic"]: r for r in rows if r["scope"] == "pooled"}
    for name, share in (
        ("slim_majority", found.slim_share), ("overwhelming_majority", found.overwhelming_share),
        ("tied", found.tied_share), ("wrong_majority", found.wrong_share),
        ("wrong_overwhelming_majority", found.wrong_overwhelming_share),
    ):  # fmt: skip
        assert float(pooled[name]["value"]) == pytest.approx(share)
        assert float(pooled[name]["low"]) <= share <= float(pooled[name]["high"])
    cases = [r for r in rows if r["statistic"] == "votes"]
    for x, row in enumerate(cases):
        assert row["winner"] == ("" if found.winner[x] < 0 else ratings.labels[found.winner[x]])
        assert (float(row["value"]), int(row["n"])) == (found.votes[x], found.rated[x])
        assert row["slim"] == ("yes" if found.slim[x] else "no")
        assert row["wrong"] == ("yes" if found.wrong[x] else "no")


def test_confidence_table(rated, ratings):
    rows = rows_of(rated, "confidence")
    for rater in ("", *RATERS):
        own = [r for r in rows if r["rater"] == rater and r["statistic"] == "share"]
        assert [r["confidence"] for r in own] == ["0.2", "0.4", "0.6", "0.8", "1"]
        assert sum(float(r["value"]) for r in own) == pytest.approx(1)
    at = ratings.given & np.isclose(ratings.confidence, 0.6)
    wrong = (ratings.codes != ratings.reference[:, None])[at].mean()
    found = next(r for r in rows if (r["rater"], r["confidence"], r["statistic"]) == ("", "0.6", "wrong_share"))
    assert (float(found["value"]), int(found["n"])) == (pytest.approx(wrong), at.sum())


def test_summary_has_the_same_numbers(rated):
    found = json.loads((rated / "one/reliability/summary.json").read_text())
    assert (found["schema_version"], found["command"], found["cases"]) == (1, "reliability", 30)
    assert found["raters"] == list(RATERS)
    assert found["missing"] == 30 * 5 - found["ratings"]
    assert found["settings"]["chance"] == "uniform"
    for name in EXTRA:
        assert len(found["tables"][name]) == len(rows_of(rated, name))
    assert found["files"] == sorted(
        p.relative_to(rated / "one/reliability").as_posix()
        for p in files(rated / "one/reliability")
        if p.name != "summary.json"
    )


def test_charts_are_xml_with_every_name(rated):
    charts = {c.stem: c for c in (rated / "one/reliability/charts").glob("*.svg")}
    assert set(charts) == {"roc-space", "confidence", "confidence-errors", "sigma-between-raters"}
    for stem, chart in charts.items():
        words = "".join(ElementTree.fromstring(chart.read_text()).itertext())
        assert stem == "confidence-errors" or all(name in words for name in RATERS)


def test_what_is_printed(tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv")
    done = run(capsys, "reliability", path, *OPTIONS, "--out", tmp_path)
    assert (done.status, done.err) == (0, "")
    assert "5 raters, 30 cases; 12 ratings missing; nominal labels well, ill" in " ".join(done.out.split())
    for told in (
        "with 95% intervals over cases", "sigma: genuine agreement", "Krippendorff's alpha (nominal)", "Gwet's AC1",
        "the reference", "the majority of the others", "a Rasch model", "[red]C", "Majorities of 30 cases", "Wrong: ",
        "no interval of alpha and kappas: pooled: an interval needs an effective number of subjects", "judged",
        "confidence is level / 5", "± ",
    ):  # fmt: skip
        assert told in done.out
    assert run(capsys, "reliability", path, *OPTIONS, "--out", tmp_path, "--quiet").out == ""


def test_another_run_clears_what_it_does_not_write(tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv")
    assert run(capsys, "reliability", path, *OPTIONS, "--out", tmp_path).status == 0
    assert (tmp_path / "reliability/charts/roc-space.svg").exists()
    bare = write_ratings(tmp_path / "bare.csv", confidence=False, reference=False)
    done = run(capsys, "reliability", bare, "--out", tmp_path, "--no-pictures")
    assert done.status == 0
    assert not (tmp_path / "reliability/charts").exists()
    assert not (tmp_path / "reliability/confidence.csv").exists()
    assert "no confidence was given: sigma is percent agreement" in done.out
    assert "the reference" not in done.out
    assert "Wrong" not in done.out


def test_given_accuracies_chance_and_partial(tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", raters="ABC", gaps=False)
    done = run(capsys, "reliability", path, *OPTIONS, "--accuracy", "A=0.9,B=0.8,C=0.7", "--chance", "well=0.7,ill=0.3",
               "--out", tmp_path)  # fmt: skip
    assert done.status == 0
    ratings = read_ratings(path, confidence_levels=5, labels=["well", "ill"])
    expected = rho(ratings, [0.9, 0.8, 0.7], {"well": 0.7, "ill": 0.3})
    rows = table(tmp_path / "reliability/reliability.csv")
    assert value(rows, "rho", "pooled", source="given", rater_a="", rater_b="") == pytest.approx(expected.value)
    ordinal = ("--kind", "ordinal", "--partial", "linear", "--out", tmp_path, "--chance", "empirical")
    assert run(capsys, "reliability", path, *OPTIONS, *ordinal).status == 0
    partly = sigma(replace(ratings, kind="ordinal"), "empirical", "linear").value
    rows = table(tmp_path / "reliability/reliability.csv")
    assert value(rows, "sigma", "pooled", source="", rater_a="", rater_b="") == pytest.approx(partly)


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (("--confidence-levels", "4"), 1, "confidence '5' is no level from 1 to 4"),
        ((), 1, "is not from 0 to 1; if it is a level of a scale, say of how many: --confidence-levels 5"),
        (
            ("--confidence-levels", "sure"),
            2,
            "--confidence-levels must be a number of levels, or two names or more in order",
        ),
        (("--confidence-levels", "5", "--labels", "ill,sick"), 1, "label 'well' is none of ill, sick"),
        (
            ("--confidence-levels", "5", "--select-raters", "A"),
            1,
            "agreement needs two raters or more; there is only A",
        ),
        (("--confidence-levels", "5", "--select-raters", "A,Q"), 2, "no rater 'Q'"),
        (
            ("--confidence-levels", "5", "--chance", "rarely"),
            2,
            "--chance is uniform, empirical or a share for each label",
        ),
        (("--confidence-levels", "5", "--chance", "well=0.9"), 2, "chance must have a share for each of ill, well"),
        (
            ("--confidence-levels", "5", "--accuracy", "A=0.9"),
            2,
            "accuracies must be from 0 to 1, one for each of A, B, C",
        ),
        (("--confidence-levels", "5", "--accuracy", "A=high,B=1,C=1"), 2, "--accuracy wants name=number"),
        (("--confidence-levels", "5", "--partial", "linear"), 2, "partial agreement is for ordinal and numeric labels"),
        (
            ("--confidence-levels", "5", "--positive", "dead"),
            2,
            "--positive 'dead' is not a label; labels are ill, well",
        ),
        (("--confidence-levels", "5", "--filter", "site"), 2, "--filter wants name=value"),
        (("--confidence-levels", "5", "--rating-range", "5,1"), 2, "--rating-range wants two numbers"),
        (("--confidence-levels", "5", "--kind", "interval"), 2, ""),
    ],
)
def test_what_is_refused(tmp_path, capsys, options, code, told):
    path = write_ratings(tmp_path / "ratings.csv", raters="ABC", gaps=False)
    done = run(capsys, "reliability", path, *options, "--out", tmp_path / "out")
    assert done.status == code
    assert told in done.err
    assert not (tmp_path / "out").exists()


def test_absent_files_and_lonely_raters(tmp_path, capsys):
    assert "there is no such file" in run(capsys, "reliability", tmp_path / "none.csv").line
    (tmp_path / "apart.csv").write_text("case,A,B\np1,x,\np2,,y\n")
    done = run(capsys, "reliability", tmp_path / "apart.csv", "--out", tmp_path)
    assert done.status == 1
    assert "no case was rated by two raters" in done.line


def test_few_cases_have_no_intervals(tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", cases=9)
    done = run(capsys, "reliability", path, *OPTIONS, "--out", tmp_path)
    assert done.status == 0
    assert "no intervals: an interval over subjects needs at least 10 of them; it is defined for 9" in " ".join(
        done.out.split()
    )
    assert "with 95% intervals" not in done.out
    rows = table(tmp_path / "reliability/reliability.csv")
    whole = [r for r in rows if r["scope"] == "pooled" and not r["rater_a"] and not r["label"]]
    for row in whole:
        if row["statistic"] != "contradictions":
            assert row["low"] == row["high"] == ""
            assert "needs at least 10" in row["reason"]


def test_strange_raters_are_warned_of(tmp_path, capsys):
    lines = ["case,A,B,lazy,odd"]
    for i in range(12):
        good = "x" if i % 3 else "y"
        lines.append(f"p{i},{good},{good if i % 4 else 'y'},x,{'z' if i else 'w'}")
    (tmp_path / "ratings.csv").write_text("\n".join(lines))
    done = run(capsys, "reliability", tmp_path / "ratings.csv", "--out", tmp_path)
    assert done.status == 0
    assert "warning: only one label from lazy" in done.out
    assert "warning: never agrees with anybody: odd" in done.out
    rows = table(tmp_path / "reliability/raters.csv")
    flags = {
        (r["rater"], r["statistic"]): float(r["value"]) for r in rows if r["statistic"] in ("one_label", "never_agrees")
    }
    assert flags == {
        ("A", "one_label"): 0, ("B", "one_label"): 0, ("lazy", "one_label"): 1, ("odd", "one_label"): 0,
        ("A", "never_agrees"): 0, ("B", "never_agrees"): 0, ("lazy", "never_agrees"): 0, ("odd", "never_agrees"): 1,
    }  # fmt: skip


def test_one_label_is_told(tmp_path, capsys):
    (tmp_path / "ratings.csv").write_text("case,A,B\n" + "".join(f"p{i},x,x\n" for i in range(12)))
    done = run(capsys, "reliability", tmp_path / "ratings.csv", "--out", tmp_path)
    assert done.status == 0
    assert "every rating is 'x'" in done.out
    assert "no rho by a Rasch model: it needs two raters" in done.out
    rows = table(tmp_path / "reliability/reliability.csv")
    whole = {"source": "", "rater_a": "", "rater_b": ""}
    assert value(rows, "sigma", "pooled", **whole) == 1
    assert np.isnan(value(rows, "fleiss_kappa", "pooled", **whole))


def test_wide_tables_and_excel(tmp_path, capsys):
    import pandas

    path = write_ratings(tmp_path / "ratings.csv", gaps=False)
    frame = pandas.read_csv(path)
    for name in ("label", "confidence"):
        wide = frame.pivot(index="case", columns="rater", values=name)
        wide.loc[frame["case"].unique(), list(RATERS)].to_excel(tmp_path / f"{name}.xlsx")
    more = ("--confidence", tmp_path / "confidence.xlsx", "--no-pictures")
    assert run(capsys, "reliability", tmp_path / "label.xlsx", *OPTIONS, *more, "--out", tmp_path / "wide").status == 0
    assert run(capsys, "reliability", path, *OPTIONS, "--no-pictures", "--out", tmp_path / "long").status == 0
    wide, long = (table(tmp_path / f"{name}/reliability/reliability.csv") for name in ("wide", "long"))
    wanted = [r for r in long if r["statistic"] == "sigma" or r["source"] == "majority"]
    assert [r for r in wide if r["statistic"] == "sigma" or r["source"] == "majority"] == wanted


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(-1, 2), min_size=4, max_size=4), min_size=1, max_size=12), st.integers(1, 4))
def test_sorted_ratings_have_the_same_kappas(codes, subjects):
    ratings = Ratings.of([[None if c < 0 else c for c in row] for row in codes], labels=[0, 1, 2])
    owners = tuple(str(i % subjects) for i in range(len(codes)))
    tallies = sorted_tallies(replace(ratings, subjects=owners))
    assert len(tallies) == len(set(owners))
    whole = mt.pool(tallies)
    for statistic in (percent_agreement, fleiss_kappa, krippendorff_alpha, gwet_ac1):
        there, here = statistic(ratings.tally()), statistic(whole)
        assert here == pytest.approx(there, nan_ok=True)
        assert reason(here) == reason(there)


@pytest.mark.parametrize("kind", ["nominal", "ordinal"])
def test_intervals_of_kappas_are_those_of_the_tables(kind, monkeypatch):
    """The quick way for cases that are subjects gives what the general one does, whatever is held at once."""
    monkeypatch.setattr("manytruths.analyses.reliability.intervals.BLOCK", 7)
    rng = np.random.default_rng(2)
    codes = rng.integers(-1, 3, (60, 4)).tolist()
    ratings = Ratings.of([[None if c < 0 else c for c in row] for row in codes], kind=kind)
    quick = beyond_chance(ratings, ReliabilitySettings())
    alpha = krippendorff_alpha if kind == "nominal" else partial(krippendorff_alpha, metric="ordinal")
    slow = pooled_intervals(
        [alpha, fleiss_kappa, gwet_ac1], sorted_tallies(ratings), ["kappa"] * 3, by_cases=kind != "nominal"
    )
    for one, other in zip(quick.values(), slow, strict=True):
        assert not reason(one.low)
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))
        assert (one.n, one.n_undefined) == (other.n, other.n_undefined)


def test_intervals_of_means_are_those_over_cases():
    rng = np.random.default_rng(0)
    values = rng.random((40, 3))
    values[:3, 1], values[:35, 2] = np.nan, np.nan
    ratings = Ratings.of(np.zeros((40, 2), int))
    ours = case_means(list(values.T), ratings, ReliabilitySettings())
    for mine, theirs in zip(ours, mean_intervals(values, "share"), strict=True):
        assert mine.value == pytest.approx(theirs.value)
        assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high), nan_ok=True)
        assert mine.n == theirs.n
        assert reason(mine.low) == reason(theirs.low)


def test_subjects_are_drawn_with_all_their_cases():
    """120 cases of sixty subjects whose cases are alike: an interval as of sixty, wider than of 120."""
    rng = np.random.default_rng(0)
    half = np.repeat(rng.integers(0, 2, (60, 1)), 4, axis=1)
    half = np.where(rng.random(half.shape) < 0.25, 1 - half, half)
    single = Ratings.of(half)
    double = Ratings.of(np.repeat(half, 2, axis=0), subjects=np.repeat(np.arange(60), 2).astype(str))
    loose = Ratings.of(np.repeat(half, 2, axis=0))
    one, two, three = (mt.reliability(r).headline for r in (single, double, loose))
    for name in ("sigma", "percent_agreement", "fleiss_kappa", "gwet_ac1"):
        assert (two[name].value, two[name].low, two[name].high) == pytest.approx(
            (one[name].value, one[name].low, one[name].high)
        )
        assert two[name].high - two[name].low > 1.2 * (three[name].high - three[name].low)
        assert two[name].n == 60


def test_unequal_subjects_weigh_by_their_cases():
    values = np.array([0.0] * 10 + [1.0] * 10 + [0.5] * 10)
    subjects = [str(min(i, 12)) for i in range(30)]
    ratings = Ratings.of(np.zeros((30, 2), int), subjects=subjects)
    found = case_means([values], ratings, ReliabilitySettings())[0]
    assert found.value == values.mean()
    assert found.n == 13


@pytest.mark.slow
def test_intervals_cover():
    """95% intervals of σ hold its value in a large sample nearly always."""
    rng, hit = np.random.default_rng(5), 0

    def drawn(cases: int) -> Ratings:
        hard = rng.normal(0, 2, cases)
        right = rng.random((cases, 5)) < 1 / (1 + np.exp(hard[:, None] - 2))
        return Ratings.of(right.astype(int), rng.choice([0.4, 0.8, 1.0], (cases, 5)), labels=[0, 1])

    truth = sigma(drawn(200_000)).value
    for _ in range(100):
        sample = drawn(80)
        found = case_means([sigma(sample).by_case], sample, ReliabilitySettings())[0]
        hit += found.low <= truth <= found.high
    assert hit >= 88


def test_too_many_labels_leave_sigma(tmp_path, capsys):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 400, (300, 3))
    codes[:, 1] = codes[:, 0]
    found = mt.reliability(Ratings.of(codes, kind="numeric"))
    assert found.headline["sigma"].value >= 1 / 3
    assert "fewer than 255 labels" in reason(found.headline["krippendorff_alpha"].value)


def test_wrong_calls():
    ratings = Ratings.of([[0, 1], [1, 1]])
    with pytest.raises(CallError, match="patterns of masks"):
        mt.reliability(replace(ratings, weights=np.array([1, 2])))
    with pytest.raises(InputError, match="at least two raters"):
        mt.reliability(ratings.select(raters=["1"]))


def test_few_subjects_have_kappas_without_intervals():
    found = beyond_chance(Ratings.of([[0, 1], [1, 1], [0, 0]]), ReliabilitySettings())
    assert found["fleiss_kappa"].value == pytest.approx(1 / 3)
    assert reason(found["fleiss_kappa"].low) == "an interval over subjects needs at least 10 of them; there are 3"


def test_van_dyke(tmp_path, capsys):
    path = data("ratings", "VanDyke.csv")
    done = run(capsys, "reliability", path, "--filter", "treatment=1", "--cut", "3", "--out", tmp_path)
    assert (done.status, done.err) == (0, "")
    assert "label '1' is a rating of 3 or more on a scale from 1 to 5" in done.out
    rows = table(tmp_path / "reliability/reliability.csv")
    whole = {"source": "", "rater_a": "", "rater_b": ""}
    assert value(rows, "percent_agreement", "pooled", **whole) == pytest.approx(0.805, abs=5e-4)
    assert value(rows, "fleiss_kappa", "pooled", **whole) == pytest.approx(0.598, abs=5e-4)
    assert value(rows, "rho", "pooled", **(whole | {"source": "reference"})) < value(rows, "sigma", "pooled", **whole)
    wrong = next(r for r in table(tmp_path / "reliability/majorities.csv") if r["statistic"] == "wrong_majority")
    assert (float(wrong["value"]), wrong["n"]) == (pytest.approx(11 / 114), "114")


def test_rho_by_the_majority_has_an_interval_from_thirty_subjects_on(capsys):
    """With fewer it covers too little where raters are weak (docs/coverage.md)."""
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, 30)
    codes = np.where(random.random((30, 3)) < 0.8, truth[:, None], 1 - truth[:, None])
    enough, few = (mt.reliability(Ratings.of(codes[:n], reference=truth[:n], labels=[0, 1])) for n in (30, 29))
    by_majority = enough.headline["rho majority"]
    assert by_majority.low < by_majority.value < by_majority.high
    assert few.headline["rho majority"].low.code == "few_subjects_by_majority"
    assert few.headline["rho reference"].low < few.headline["rho reference"].high
    assert any("rho by the majority of the others" in note and "needs 30 subjects" in note for note in few.notes)
    row = few.tables["reliability"].find("rho", source="majority", rater_a="", rater_b="")
    assert row.cells()[-1] == "few_subjects_by_majority"
    few.print()
    assert "no interval of rho by the majority" in " ".join(capsys.readouterr().out.split())


def test_rho_that_rests_on_a_part_of_the_cases_says_on_how_many():
    """A is always right and B never, so where they agree nobody can say who is: only other cases are left."""
    codes = [[1, 1]] * 14 + [[1, 0]] * 12
    found = mt.reliability(Ratings.of(codes, raters=["A", "B"]), accuracy={"A": 1.0, "B": 0.0})
    assert next(s for s in found.sources if s.name == "given").rho.n == 12
    assert any("rho rests on 12 of 26 cases" in note for note in found.notes)
