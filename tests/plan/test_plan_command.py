"""The verb ``plan``: sentences, table, summary, charts, and what it refuses."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import manytruths as mt
from data_folder import data
from manytruths import CallError, Ratings
from manytruths.cli import status
from study_folders import table

HEADER = [
    "scope", "case", "group", "label", "region", "topic", "raters", "rater_accuracy", "rater",
    "statistic", "value", "low", "high", "n", "n_undefined", "reason", "code",
]  # fmt: skip


@pytest.fixture
def ask(tmp_path, capsys):
    """Run the verb: its status, what it printed in one line, its errors, and its folder."""

    def asked(*options):
        code = status(["plan", *map(str, options), "--out", str(tmp_path)])
        printed = capsys.readouterr()
        return code, " ".join(printed.out.split()), printed.err, tmp_path / "plan"

    return asked


def find(folder: Path, statistic: str, **wanted: str) -> list[dict[str, str]]:
    rows = [row for row in table(folder / "plan.csv") if row["statistic"] == statistic]
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def pilot_file(folder: Path, *, reference: bool = True, cases: int = 40) -> Path:
    random = np.random.default_rng(0)
    path = folder / "ratings.csv"
    with open(path, "w", newline="", encoding="utf-8") as stream:
        out = csv.writer(stream)
        out.writerow(["case", "rater", "label", *(["truth"] if reference else [])])
        for case in range(cases):
            accuracy, truth = random.beta(4, 1), int(random.random() < 0.4)
            for rater in "ABC":
                label = truth if random.random() < accuracy else 1 - truth
                out.writerow([f"c{case}", rater, label, *([truth] if reference else [])])
    return path


def test_the_question_of_the_manual(ask):
    code, out, err, folder = ask("--wanted", 0.95, "--rater-accuracy", 0.85)
    assert (code, err) == (0, "")
    assert out.startswith("Five raters of accuracy 0.85 reach 0.973; three reach 0.939, less than the 0.95 wanted.")
    assert find(folder, "raters_needed")[0]["value"] == "5.0"
    assert float(find(folder, "majority_accuracy", raters="3")[0]["value"]) == pytest.approx(0.93925)
    with open(folder / "plan.csv", newline="", encoding="utf-8") as stream:
        assert next(csv.reader(stream)) == HEADER
    charts = {path.stem for path in (folder / "charts").glob("*.svg")}
    assert charts == {"majority", "accuracies", "needed", "band"}


def test_the_summary_holds_the_table_and_lists_the_files(ask):
    _, _, _, folder = ask("--wanted", 0.95, "--rater-accuracy", 0.85)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["command"] == "plan"
    assert summary["answers"][0].startswith("Five raters")
    assert summary["settings"]["wanted"] == 0.95
    assert len(summary["tables"]["plan"]) == len(table(folder / "plan.csv"))
    assert all((folder / name).is_file() for name in summary["files"])
    # another question: charts of the first go
    ask("--kappa", 0.6, "--prevalence", 0.3, "--kappa-width", 0.2)
    assert {path.stem for path in (folder / "charts").glob("*.svg")} == {"kappa-cases"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--wanted", 0.95, "--rater-accuracy", 0.85, "--correlation", 0.3), "no panel is right in more than 0.921"),
        (
            ("--wanted", 0.8, "--rater-accuracy", 0.85),
            "One rater of accuracy 0.85 reaches 0.850, the 0.8 that",
        ),
        (("--wanted", 0.95, "--rater-accuracy", 0.5), "No panel of raters of accuracy 0.5 reaches 0.95"),
        (("--rater-accuracy", "0.8,0.9,0.85"), "these three raters (0.8, 0.9, 0.85) is right in 0.941"),
        (("--rater-accuracy", "0.8,0.9,0.85", "--correlation", 0.2), "spread 1.4 logits"),
        (("--rater-accuracy", 0.85, "--n-raters", 7), "Seven raters of accuracy 0.85 reach 0.988."),
        (("--rater-accuracy", 0.85), "Three raters of accuracy 0.85 reach 0.939, five reach 0.973"),
        (("--rater-accuracy", 0.7, "--n-labels", 4, "--wanted", 0.95), "Seven raters of accuracy 0.7 reach 0.956"),
        (("--agreement", 0.745, "--n-raters", 3), "each right in 0.850"),
        (
            ("--agreement", 0.745, "--n-raters", 3, "--reported-accuracy", 0.9),
            "is right in 0.845 by the formula of the paper",
        ),
        (("--rho", 0.7225, "--n-raters", 3), "the majority of three raters is right in 0.939"),
        (
            ("--rater-accuracy", 0.85, "--n-raters", 1, "--reported-accuracy", 0.98),
            "right in 0.833 by the formula of the paper",
        ),
        (("--reported-accuracy", 0.95, "--wanted-actual", 0.9), "the majority must be right in 0.947"),
        (("--reported-accuracy", 0.9, "--wanted-actual", 0.95), "0.95 is out of reach"),
        (("--agreement", 0.745, "--wanted-actual", 0.9), "must reach 0.958 against that majority to be right in 0.9"),
        (("--agreement", 0.745, "--wanted-actual", 0.95), "cannot be right in 0.95"),
        (("--agreement", 0.4), "An agreement of 0.4 is not possible for such raters"),
        (("--kappa", 0.6, "--prevalence", 0.3, "--kappa-width", 0.2), "522: three raters and 174 cases"),
        (("--kappa", 0.6, "--prevalence", 0.3, "--n-cases", 50, "--n-raters", 4), "interval of width 0.329"),
    ],
)
def test_sentences(ask, options, words):
    code, out, err, folder = ask(*options)
    assert (code, err) == (0, "")
    assert words in out
    for path in (folder / "charts").glob("*.svg"):
        drawn = ElementTree.fromstring(path.read_text(encoding="utf-8"))
        assert "nan" not in path.read_text(encoding="utf-8")
        assert drawn.tag.endswith("svg")
    for row in table(folder / "plan.csv"):
        assert (row["value"] == "nan") == bool(row["reason"] and not row["low"]), row


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "no question given"),
        (("--wanted", 95, "--rater-accuracy", 0.85), "for 95% write 0.95"),
        (("--wanted", 0.95, "--rater-accuracy", 85), "for 85% write 0.85"),
        (("--rater-accuracy", "good"), "--rater-accuracy wants numbers"),
        (("--wanted", 0.95), "--wanted needs --rater-accuracy or --pilot"),
        (("--reported-accuracy", 0.9), "--reported-accuracy needs"),
        (("--wanted-actual", 0.9), "--wanted-actual needs"),
        (("--rater-accuracy", 0.8, "--cost-rater", 1), "--cost-rater needs --pilot"),
        (("--rater-accuracy", 0.8, "--correlation", 2), "correlation must be from 0 to 1"),
        (("--rater-accuracy", 0.8, "--correlation", 0.1, "--spread", 1), "not both"),
        (("--rater-accuracy", 0.8, "--n-raters", 0), "--n-raters must be at least 1"),
        (("--rater-accuracy", 0.8, "--n-labels", 1), "--n-labels must be at least 2"),
        (("--agreement", 0.8, "--rho", 0.7), "give one of them"),
        (("--agreement", 0.8, "--rater-accuracy", 0.7), "give only one of the three"),
        (("--kappa-width", 0.2), "give the expected --kappa and --prevalence"),
        (("--kappa", 0.6, "--prevalence", 0.3), "--kappa-width"),
        (("--kappa", 1.2, "--prevalence", 0.3, "--kappa-width", 0.2), "below 1"),
        (("--kappa", 0.6, "--prevalence", 0.3, "--kappa-width", 0), "width must be from"),
        (("--rater-accuracy", 0.8, "--cut", 3), "--pilot ratings.csv"),
        (("--rater-accuracy", 0.8, "--max-raters", 2), "from 3 to 99"),
    ],
)
def test_wrong_numbers_get_a_line(ask, options, words):
    code, out, err, folder = ask(*options)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert words in err
    assert not folder.exists()


def test_a_pilot_with_its_truth(ask, tmp_path):
    path = pilot_file(tmp_path)
    code, out, err, folder = ask("--pilot", path, "--cost-rater", 1, "--cost-error", 100, "--resamples", 50)
    assert (code, err) == (0, "")
    assert "The majority of three is right in " in out
    assert "By the costs given, the best panel has" in out
    assert "The pilot's raters, against the reference" in out
    best = find(folder, "best_raters")[0]
    costs = {int(r["raters"]): float(r["value"]) for r in find(folder, "cost") if int(r["raters"]) % 2}
    assert float(best["value"]) == min(costs, key=costs.get)
    assert len(find(folder, "majority_accuracy")) == 15
    assert {row["rater"] for row in find(folder, "accuracy_by_reference")} == set("ABC")
    assert (folder / "charts/pilot.svg").is_file()
    first = (folder / "plan.csv").read_bytes()
    ask("--pilot", path, "--cost-rater", 1, "--cost-error", 100, "--resamples", 50)
    assert (folder / "plan.csv").read_bytes() == first


def test_a_pilot_without_a_truth(ask, tmp_path):
    path = pilot_file(tmp_path, reference=False)
    code, out, _, folder = ask("--pilot", path, "--resamples", 50, "--wanted", 0.9)
    assert code == 0
    assert "The majority of three agrees with that of a very large panel in " in out
    assert "pixel" not in out
    assert "errors that most raters share cannot be detected" in out
    assert "against the majority of the others" in out
    assert not find(folder, "observed_majority_accuracy")


def test_a_small_pilot_says_why_there_is_no_interval(ask, tmp_path):
    code, out, _, folder = ask("--pilot", pilot_file(tmp_path, cases=8))
    assert code == 0
    assert "no ranges: an interval over subjects needs at least 10 of them; there are 8" in out
    assert "The majority of" not in out
    assert {row["made"] for row in table(folder / "claims.csv")} == {"no"}
    assert find(folder, "majority_accuracy")[0]["low"] == ""


def test_a_pilot_that_is_not_there(ask, tmp_path):
    code, _, err, _ = ask("--pilot", tmp_path / "nothing.csv")
    assert code == 1
    assert "nothing.csv" in err


def test_van_dyke_from_the_command_line(ask):
    code, out, _, folder = ask(
        "--pilot", data("ratings", "VanDyke.csv"), "--columns", "rater=reader,label=rating,reference=truth",
        "--filter", "treatment=1", "--cut", 3, "--resamples", 100,
    )  # fmt: skip
    assert code == 0
    assert find(folder, "accuracy_by_reference", rater="4")[0]["value"].startswith("0.938596")
    assert "The majority of five is right in " in out
    # no margin was given
    assert "enough" not in out


def test_quiet_and_without_pictures(ask):
    code, out, _, folder = ask("--rater-accuracy", 0.9, "--quiet", "--no-pictures")
    assert (code, out) == (0, "")
    assert not (folder / "charts").exists()


def test_from_python():
    ratings = Ratings.of({"A": [1, 0, 1, 1, 0] * 4, "B": [1, 0, 0, 1, 0] * 4, "C": [1, 1, 1, 1, 0] * 4})
    found = mt.plan(wanted=0.95, rater_accuracy=0.85, resamples=20, pilot=ratings)
    assert [topic.name for topic in found.topics] == ["majority", "pilot"]
    assert len(found.sentences) >= 3
    with pytest.raises(CallError, match="no question given"):
        mt.plan()
