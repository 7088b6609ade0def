"""Questions that broke ``plan`` once."""

from __future__ import annotations

import time
from itertools import product

import numpy as np
import pytest

from manytruths import Ratings, majority_accuracy, nomogram, nomogram_for_accuracy, plan_from_pilot
from manytruths.cli import status
from manytruths.ratings.planning.pilot import PilotRule
from study_folders import table, write_study


@pytest.fixture
def ask(tmp_path, capsys):
    def run(*options):
        code = status(["plan", *map(str, options), "--out", str(tmp_path / "out"), "--resamples", "50"])
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        assert code == 0 or not (tmp_path / "out").exists()
        return code, " ".join(told.out.split()), told.err

    return run


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--rater-accuracy", 0.85, "--n-raters", 100_001), "--n-raters must be at most 999; got 100001"),
        (
            ("--rater-accuracy", 0.6, "--n-labels", 5, "--n-raters", 100),
            "--n-raters must be at most 99 for 5 labels; got 100",
        ),
        (("--rater-accuracy", 0.85, "--rater-std", "nan"), "--rater-std must be from 0 to"),
        (("--rater-accuracy", 0.85, "--rater-std", -1), "must be from 0 to 0.5; got -1"),
        (("--rater-accuracy", 0.85, "--cut", 0), "--cut is for reading a pilot"),
        (("--pilot", "masks/{rater}/{case}.png", "--cut", 0), "--cut is for reading a table of ratings, but the pilot"),
        (
            ("--pilot", "masks/{rater}/{case}.png", "--reference-column", "truth"),
            "--reference-column is for reading a table",
        ),
        (("--n-raters", 3), "no question given"),
        (
            ("--rater-accuracy", 0.85, "--wanted", 0.9, "--n-labels", 100_000),
            "--n-labels must be at most 255; got 100,000",
        ),
        (("--rater-accuracy", 0.85, "--n-raters", 10**9), "--n-raters must be at most 999; got 1000000000"),
        (("--rater-accuracy", 0.85, "--max-raters", 10**6), "--max-raters must be from 3 to 99"),
        (("--rater-accuracy", ",".join(["0.8"] * 5000)), "--rater-accuracy must have at most 999 numbers; got 5,000"),
        (
            ("--kappa", 0.6, "--prevalence", 0.3, "--n-cases", 10**12),
            "--n-cases must be at most 1,000,000,000; got 1,000,000,000,0",
        ),
        (("--kappa", 0.6, "--prevalence", 0.3, "--kappa-width", 1e-300), "width must be from 0.0001 to below 2"),
        (("--kappa", 0.6, "--prevalence", 1e-300, "--kappa-width", 0.2), "prevalence must be from 1e-06"),
    ],
)
def test_what_is_refused(ask, options, told):
    start = time.perf_counter()
    code, _, err = ask(*options)
    assert (code, err.count("\n")) == (2, 1)
    assert told in err
    assert time.perf_counter() - start < 5


def test_a_large_panel_is_quick_and_its_charts_are_short(ask, tmp_path):
    start = time.perf_counter()
    code, out, _ = ask("--rater-accuracy", 0.55, "--n-raters", 999)
    assert code == 0
    assert "999 raters of accuracy 0.55 reach 0.999" in out
    # it took as many seconds as there were hundreds
    assert time.perf_counter() - start < 5
    assert "999" not in (tmp_path / "out/plan/charts/majority.svg").read_text()


def pilot(path, *, confidence="4", cases=40, raters=3):
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=cases)
    rows = ["case,rater,label,confidence,truth"]
    for i in range(cases):
        for k in range(raters):
            label = truth[i] if rng.random() < 0.85 else 1 - truth[i]
            rows.append(f"p{i},r{k},{label},{confidence},{truth[i]}")
    path.write_text("\n".join(rows))
    return path


@pytest.mark.parametrize("confidence", ["4", "high", "0,5%"])
def test_a_pilot_may_have_confidence_on_any_scale(ask, tmp_path, confidence):
    path = pilot(tmp_path / "r.csv", confidence=f'"{confidence}"')
    code, out, err = ask("--pilot", path)
    assert (code, err) == (0, "")
    assert "The majority of three is right in " in out


def test_raters_beside_a_pilot_alone_lead_nowhere(ask, tmp_path):
    code, _, err = ask("--pilot", pilot(tmp_path / "r.csv"), "--n-raters", 5)
    assert code == 2
    assert "--n-raters needs --rater-accuracy, --agreement, --rho or --kappa too" in err
    assert ask("--pilot", tmp_path / "r.csv", "--n-raters", 5, "--rater-accuracy", 0.8)[0] == 0


def test_no_panel_is_taken_that_was_not_computed(ask, tmp_path):
    code, out, _ = ask("--pilot", pilot(tmp_path / "r.csv"), "--gain", 1e-9, "--max-raters", 7)
    assert code == 0
    assert "enough" not in out
    row = next(r for r in table(tmp_path / "out/plan/plan.csv") if r["statistic"] == "best_raters")
    assert (row["value"], row["high"], row["code"]) == ("nan", "", "no_panel_large_enough")


def test_one_rater_is_no_raters(ask, tmp_path):
    ask("--pilot", pilot(tmp_path / "r.csv"), "--cost-rater", 1, "--cost-error", 0)
    chart = (tmp_path / "out/plan/charts/pilot.svg").read_text()
    assert "1 rater: " in chart
    assert "1 raters" not in chart


def test_a_near_miss_shows_its_digits(ask):
    _, out, _ = ask("--wanted", 0.95, "--rater-accuracy", "0.8,0.9", "--correlation", 0.2)
    assert "319 raters of mean accuracy 0.85 reach 0.950002; 317 reach 0.949999, less than the 0.95 wanted" in out


@pytest.mark.parametrize("verb", ["plan --pilot", "rank", "report"])
def test_endless_resampling_is_refused(tmp_path, capsys, verb):
    pilot(tmp_path / "ratings.csv")
    rows = [f"p{case},{name},0.{case}" for case in range(10, 30) for name in "ab"]
    (tmp_path / "scores.csv").write_text("\n".join(["case,algorithm,dice", *rows]))
    masks = write_study(tmp_path)
    given = {"plan --pilot": tmp_path / "ratings.csv", "rank": tmp_path / "scores.csv"}
    call = [*verb.split(), str(given.get(verb, masks)), "--resamples", "1000000000"]
    call += ["--to", str(tmp_path / "out.html")] if verb == "report" else ["--out", str(tmp_path / "out")]
    began = time.monotonic()
    assert status(call) == 2
    assert "resamples " in capsys.readouterr().err
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("labels", [3, 255])
def test_the_most_labels_take_no_time(ask, labels):
    began = time.monotonic()
    code, *_ = ask("--wanted", 0.95, "--rater-accuracy", 0.85, "--n-labels", labels)
    assert code == 0
    assert time.monotonic() - began < 10


def test_thousands_are_grouped(ask):
    _, out, _ = ask("--kappa", 0.6, "--prevalence", 0.3, "--kappa-width", 0.01, "--n-raters", 3)
    assert "69,542 cases" in out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"gain": 0.0}, "gain must be between 0 and 1; got 0"),
        ({"level": 1.0}, "level must be between 0 and 1; got 1"),
        ({"cost_rater": float("nan"), "cost_error": 1.0}, "cost_rater must be 0 or more; got nan"),
        ({"max_raters": 2}, "max_raters must be from 3 to 99; got 2"),
    ],
)
def test_a_rule_says_what_is_wrong_with_it(options, told):
    with pytest.raises(Exception, match=told):
        PilotRule(**options)


def test_cost_is_that_of_the_rule():
    rng = np.random.default_rng(2)
    truth = rng.integers(2, size=200)
    right = rng.random((200, 5)) < 0.8
    ratings = Ratings.of(np.where(right, truth[:, None], 1 - truth[:, None]), reference=truth.tolist())
    found = plan_from_pilot(ratings, cost_rater=1, cost_error=30, resamples=20)
    costs = {p.n_raters: p.n_raters + 30 * (1 - p.accuracy.value) for p in found.panels if p.n_raters % 2}
    assert found.best.value == min(costs, key=costs.get)
    assert [p.cost.value for p in found.panels if p.n_raters % 2] == pytest.approx(list(costs.values()))


def test_plurality_by_every_outcome():
    def naive(k, a, labels):
        total = 0.0
        for votes in product(range(labels), repeat=k):
            chance = np.prod([a if v == 0 else (1 - a) / (labels - 1) for v in votes])
            count = np.bincount(votes, minlength=labels)
            total += chance * (count[0] == count.max()) / (count == count.max()).sum()
        return total

    for k, a, labels in ((2, 0.3, 3), (5, 0.6, 4), (6, 0.4, 3)):
        assert majority_accuracy(k, a, n_labels=labels) == pytest.approx(naive(k, a, labels), abs=1e-12)


def test_nomogram_numbers_and_both_ways():
    assert majority_accuracy(3, 0.85) == pytest.approx(0.93925)
    assert nomogram(1, majority_accuracy=0.85, reported=0.98).product == pytest.approx(0.833)
    forth = nomogram(5, agreement=0.7, reported=0.9)
    for formula in ("product", "independent"):
        back = nomogram_for_accuracy(5, getattr(forth, formula), reported=0.9, formula=formula)
        assert (back.agreement, back.rho) == pytest.approx((0.7, forth.rho))
