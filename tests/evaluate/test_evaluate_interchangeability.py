"""``evaluate`` and the report on algorithms beside raters: what is said, and what is not."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import manytruths as mt
from study_folders import disc, write_png

PLACES = re.compile(r"among the raters|than every rater|than any of them|human range|probability of superiority")
"""Words that gave an algorithm a place among raters, anchored on the worst of them."""

BY_DICE: dict[str, Any] = {"pictures": False, "distances": False, "lesions": False, "second_look": False}
"""Verdicts go by Dice alone."""


def write_study(folder: Any, cases: int, careless: bool = True) -> mt.Study:
    """Five raters who draw alike, the last one carelessly; an algorithm that is worse than the first four."""
    rng = np.random.default_rng(0)
    for i in range(cases):
        x, y = rng.integers(-2, 3, 2)
        for rater in "ABCDE":
            off = rng.integers(-1, 2, 2)
            if rater == "E" and careless:
                off = rng.integers(-7, 8, 2)
            write_png(folder / f"m/{rater}/p{i:02}.png", disc(x=x + off[0], y=y + off[1], radius=8))
        off = rng.integers(-4, 5, 2)
        write_png(folder / f"p/net/p{i:02}.png", disc(x=x + off[0], y=y + off[1], radius=7))
    return mt.Study.open(folder / "m/{rater}/{case}.png", predictions=str(folder / "p/{algorithm}/{case}.png"))


def everything_said(evaluation: mt.Evaluation, report: mt.Report) -> str:
    from rich.console import Console

    console = Console(record=True, width=200, quiet=True)
    evaluation.print(console)
    page = report.path.read_text(encoding="utf-8")
    tables = " ".join(path.read_text(encoding="utf-8") for path in report.path.parent.rglob("evaluate/*.csv"))
    return " ".join((console.export_text(), page, tables, *map(str, evaluation.claims)))


@pytest.mark.parametrize("cases", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_careless_rater_makes_no_place_for_an_algorithm(tmp_path: Any, cases: int) -> None:
    """Worse than four of five raters, better than the fifth; and of two cases nothing is called better."""
    study = write_study(tmp_path, cases)
    evaluation = mt.evaluate(study, pictures=False)
    report = mt.report(study, to=tmp_path / "report.html", resamples=200, viewer=False)
    assert not PLACES.search(everything_said(evaluation, report))
    apart = {r["rater"]: r for r in evaluation.tables["differences"].rows
             if r.statistic == "dice" and r["against"] == "raters"}  # fmt: skip
    assert all(apart[rater].value < 0 for rater in "ABCD")
    assert cases == 2 or apart["E"].value > 0
    verdicts = evaluation.claims.of("algorithms.interchangeable", "algorithms.worse", "algorithms.worse_within")
    assert not verdicts.made
    assert {claim.why_not.code for claim in verdicts} == {"too_few_subjects" if cases == 2 else "no_margin"}


def test_the_margin_decides_and_outliers_are_left_out_beside_it(tmp_path: Any) -> None:
    study = write_study(tmp_path, 20)
    evaluation = mt.evaluate(study, **BY_DICE)
    table = evaluation.tables["interchangeability"]
    whole, rest = (table.find("interchangeability", "mean", algorithm="net", rater="", without=w) for w in ("", "E"))
    assert whole.value < rest.value, "beside careful raters alone, the algorithm is worse"
    margins = {rest.high + 0.01: "algorithms.worse_within" if whole.low > 0 else "algorithms.interchangeable"}
    for margin, kind in margins.items():
        claims = mt.evaluate(study, **BY_DICE, margin=margin).claims
        made = claims.of("algorithms.interchangeable", "algorithms.worse", "algorithms.worse_within").made
        assert [claim.kind.id for claim in made] == [kind]
        assert made[0].numbers[0].at.startswith("evaluate/interchangeability.csv#mean")
    careful = write_study(tmp_path / "careful", 20, careless=False)
    worse = mt.evaluate(careful, **BY_DICE, margin=0.02).claims.of("algorithms.worse").made
    assert "less than these do with each other" in worse[0].text


def test_a_margin_just_above_the_interval_is_not_enough(tmp_path: Any) -> None:
    """Cases that fail may be missing from a small sample by chance, so that the 95% limit alone says too much."""
    study = write_study(tmp_path, 20)
    gamma = mt.evaluate(study, **BY_DICE).interchangeability.every["net"]
    between = (gamma.gamma.high + gamma.smallest_margin) / 2
    claims = mt.evaluate(study, **BY_DICE, margin=between).claims
    verdicts = claims.of("algorithms.interchangeable", "algorithms.worse", "algorithms.worse_within")
    assert not verdicts.made
    assert [claim.why_not.code for claim in verdicts] == ["near_margin", "interval_elsewhere", "near_margin"]
    assert f"at 99% it is {gamma.smallest_margin:.3f}" in str(verdicts[0].why_not)
    above = mt.evaluate(study, **BY_DICE, margin=gamma.smallest_margin + 1e-6).claims
    assert len(above.of("algorithms.interchangeable", "algorithms.worse_within").made) == 1


@pytest.mark.parametrize("cases", [5, 20])
def test_nobody_is_left_out_of_equal_raters_or_of_few_cases(tmp_path: Any, cases: int) -> None:
    """Beyond mean + SD there is nearly always somebody, also among equals."""
    study = write_study(tmp_path, cases, careless=cases == 5)
    evaluation = mt.evaluate(study, pictures=False)
    assert mt.agree(study, pictures=False).raters.differences.outliers, "by the rule of thumb"
    assert evaluation.interchangeability.outliers == ()
    assert {row["without"] for row in evaluation.tables["interchangeability"].rows} == {""}


def test_the_margin_of_the_study_file_is_used(tmp_path: Any) -> None:
    write_study(tmp_path, 12, careless=False)
    text = 'masks = "m/{rater}/{case}.png"\npredictions = "p/{algorithm}/{case}.png"\nmargin = 0.9\n'
    (tmp_path / "study.toml").write_text(text)
    evaluation = mt.evaluate(tmp_path / "study.toml", pictures=False)
    assert evaluation.plan.margin == 0.9
    assert evaluation.claims.of("algorithms.interchangeable", "algorithms.worse_within").made
    assert mt.evaluate(tmp_path / "study.toml", pictures=False, margin=0.001).claims.of("algorithms.worse").made


def test_missing_predictions_are_as_far_as_can_be(tmp_path: Any) -> None:
    study = write_study(tmp_path, 12, careless=False)
    before = mt.evaluate(study, pictures=False).interchangeability
    (tmp_path / "p/net/p03.png").unlink()
    study = mt.Study.open(tmp_path / "m/{rater}/{case}.png", predictions=str(tmp_path / "p/{algorithm}/{case}.png"))
    worst = mt.evaluate(study, pictures=False).interchangeability
    excluded = mt.evaluate(study, pictures=False, missing="exclude").interchangeability
    assert worst.every["net"].gamma.value > before.every["net"].gamma.value
    assert (worst.every["net"].gamma.n, excluded.every["net"].gamma.n) == (12, 11)


def test_the_tolerance_of_surface_dice_is_that_of_lines_that_both_drew(tmp_path: Any) -> None:
    """Lines four pixels wide, of which one rater leaves out every fifth: not the distance between lines."""
    for i in range(3):
        for k, rater in enumerate("AB"):
            mask = np.zeros((120, 120), np.uint8)
            for number, x in enumerate(range(10, 110, 20)):
                if number != 2 or rater == "A":
                    mask[10:110, x + k : x + k + 4] = 1
            write_png(tmp_path / f"m/{rater}/p{i}.png", mask)
            write_png(tmp_path / f"p/net/p{i}.png", mask)
    study = mt.Study.open(tmp_path / "m/{rater}/{case}.png", predictions=str(tmp_path / "p/{algorithm}/{case}.png"))
    scores = mt.evaluate(study, pictures=False).mask_scores
    assert scores is not None
    part = scores.parts[0]
    assert part.tolerance == pytest.approx(1.0)
    assert part.half_width == pytest.approx(2.0, abs=0.1)
    wide = mt.evaluate(study, pictures=False, tolerance=3)
    assert any("more than half the width" in note for note in wide.notes)
