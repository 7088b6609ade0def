"""Every number of ``claims.csv`` is found in the table, file and row that it names."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import manytruths as mt
from label_studies import three_labels
from manytruths.claims.catalogue import claim_kinds
from manytruths.demo import demo
from reporting.page_numbers import addresses

COMMANDS = ("agree", "fuse", "evaluate", "rank", "plan")


def run_commands(study: mt.Study, out: Path) -> Path:
    """Every command with its tables beneath ``out``."""
    mt.agree(study, out=out, pictures=False)
    mt.fuse(study, out=out, consensus="vote:0.5,simple,staple", pictures=False)
    mt.evaluate(study, out=out, margin=0.05, distances=False, second_look=False)
    mt.rank(out / "evaluate/scores.csv", out=out, resamples=50)
    mt.plan(pilot=study, gain=0.01, out=out, resamples=20)
    mt.reliability(study, out=out)
    return out


@pytest.fixture(scope="module")
def of_demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    demo(folder, cases=16, size=96)
    study = mt.Study.open(
        folder / "study",
        predictions=f"{folder}/study/predictions/{{algorithm}}/{{case}}.png",
        reference=f"{folder}/known/{{reference}}/{{case}}.png",
    )
    return folder, run_commands(study, tmp_path_factory.mktemp("out"))


@pytest.fixture(scope="module")
def of_labels(tmp_path_factory):
    maps = three_labels(12, 48, "ABCD")
    raters = {case: {r: mask for r, mask in by.items() if r != "D"} for case, by in maps.items()}
    predictions = {case: {"net": by["D"], "other": by["A"][::-1]} for case, by in maps.items()}
    study = mt.Study.from_arrays(raters, predictions=predictions)
    return run_commands(study, tmp_path_factory.mktemp("labels"))


def claims_of(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def follow(folder: Path) -> set[str]:
    """Follow every address of every claim; the commands that have any."""
    lines, followed = addresses(folder), set()
    for path in sorted(folder.glob("*/claims.csv")):
        for claim in claims_of(path):
            assert claim["claim"] in claim_kinds()
            assert (claim["made"] == "yes") == (not claim["why_not"]) == (not claim["code"]), claim
            for number in filter(None, claim["numbers"].split(" | ")):
                at, _, shown = number.rpartition("=")
                value, _, ends = shown.removesuffix(")").partition(" (")
                assert len(lines.get(at, ())) == 1, f"{path.parent.name}: {at} has {len(lines.get(at, ()))} rows"
                row = lines[at][0]
                assert row["value"] == value, (at, claim["text"])
                assert not ends or ends == f"{row['low']} to {row['high']}", (at, claim["text"])
                followed.add(path.parent.name)
    return followed


@pytest.mark.slow
def test_the_claims_of_the_demo(of_demo):
    page, out = of_demo
    assert follow(out) == set(COMMANDS)
    assert {"agree", "evaluate"} <= follow(page)


def test_the_claims_of_several_labels(of_labels):
    assert follow(of_labels) >= {"agree", "evaluate", "plan"}


@pytest.mark.slow
def test_orders_name_the_scores_that_they_go_by(of_demo):
    """Before, the claim had no numbers."""
    _, out = of_demo
    claim = next(c for c in claims_of(out / "evaluate/claims.csv") if c["claim"] == "algorithms.order")
    numbers = claim["numbers"].split(" | ")
    assert all(number.startswith("evaluate/rankings.csv#mean,") for number in numbers)
    ranked = [r for r in claims_of(out / "evaluate/rankings.csv") if r["metric"] == "dice"]
    assert len(numbers) == len(ranked) > 0


@pytest.mark.slow
def test_every_command_that_claims_something_lists_it(of_demo):
    _, out = of_demo
    for command in COMMANDS:
        assert claims_of(out / command / "claims.csv"), command
