"""Algorithms that were trained on the cases they are judged by, or that are a rater's masks."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree

import numpy as np
import pytest

import manytruths as mt
from manytruths.claims.sentences import plain_text
from manytruths.cli import status
from manytruths.reporting.findings import rank_algorithms
from study_folders import disc, write_png

GOOD = ("algorithms.interchangeable", "algorithms.worse_within")


def write_study(folder: Path, cases: int = 14) -> str:
    """Four raters; ``near`` is as near to them as they to each other, ``far`` is not, ``copy`` is rater A."""
    rng = np.random.default_rng(0)
    for i in range(cases):
        for rater in "ABCD":
            x, y = rng.integers(-1, 2, 2)
            write_png(folder / f"m/{rater}/p{i:02}.png", disc(x=x, y=y, radius=8))
            if rater == "A":
                write_png(folder / f"p/copy/p{i:02}.png", disc(x=x, y=y, radius=8))
        near = disc(x=rng.integers(-1, 2), y=0, radius=8)
        near[near.shape[0] // 2, near.shape[1] // 2] = 0
        write_png(folder / f"p/near/p{i:02}.png", near)
        write_png(folder / f"p/far/p{i:02}.png", disc(x=5, y=rng.integers(3, 6), radius=5))
    return str(folder / "m/{rater}/{case}.png")


def made(result: mt.Evaluation, about: str, *kinds: str) -> list[str]:
    return [claim.kind.id for claim in result.claims.of(*kinds).made if claim.about == about]


def test_an_algorithm_that_was_trained_here_is_not_said_to_be_good(tmp_path: Path) -> None:
    masks, predictions = write_study(tmp_path), str(tmp_path / "p/{algorithm}/{case}.png")
    trained_on = {"near": "staple", "far": "A"}
    before = mt.evaluate(mt.Study.open(masks, predictions=predictions), margin=0.1, pictures=False)
    study = mt.Study.open(masks, predictions=predictions, trained_on=trained_on)
    after = mt.evaluate(study, margin=0.1, pictures=False)
    assert made(before, "near", *GOOD) == ["algorithms.interchangeable"]
    assert not made(after, "near", *GOOD)
    assert made(before, "far", "algorithms.worse") == made(after, "far", "algorithms.worse") == ["algorithms.worse"]
    refused = [c for c in after.claims.of("algorithms.interchangeable") if c.about == "near"]
    assert [claim.why_not.code for claim in refused] == ["trained_here"]
    said = {claim.about: claim.text for claim in after.claims.of("algorithms.trained_here").made}
    assert set(said) == {"near", "far"}
    assert "trained on cases of this study (staple)" in said["near"]
    margins = [claim.text for claim in after.claims.of("algorithms.distance") if claim.about == "near"]
    assert "smallest margin" not in margins[0]


def test_a_copy_of_a_rater_is_not_interchangeable_with_the_raters(tmp_path: Path) -> None:
    study = mt.Study.open(write_study(tmp_path), predictions=str(tmp_path / "p/{algorithm}/{case}.png"))
    claims = mt.evaluate(study, margin=0.2, pictures=False).claims.of("algorithms.interchangeable")
    copy = next(claim for claim in claims if claim.about == "copy")
    assert not copy.made
    assert copy.why_not.code == "copies_of_rater"
    assert "rater A in 14 of the 14 cases" in copy.why_not


def test_a_copy_of_a_rater_is_called_so_without_a_margin(tmp_path: Path) -> None:
    study = mt.Study.open(write_study(tmp_path), predictions=str(tmp_path / "p/{algorithm}/{case}.png"))
    evaluation = mt.evaluate(study, pictures=False)
    [claim] = evaluation.claims.of("algorithms.copy").made
    assert claim.text == (
        "The masks of copy are those of rater A in 14 of the 14 cases in which it marks anything: that it agrees with "
        "these raters is no evidence of its quality."
    )
    assert "were those of rater A" in plain_text(claim.result)


def test_a_copy_of_a_rater_does_not_win(tmp_path: Path) -> None:
    masks = write_study(tmp_path)
    rmtree(tmp_path / "p/near")
    evaluation = mt.evaluate(mt.Study.open(masks, predictions=str(tmp_path / "p/{algorithm}/{case}.png")))
    ranked = rank_algorithms(evaluation)
    assert ranked.ranking.verdict.winner == "copy"
    assert ranked.verdict.winner is None
    assert ranked.verdict.code == "copies_of_rater"
    [claim] = ranked.claims.of("algorithms.winner")
    assert claim.why_not.code == "copies_of_rater"


def test_no_winner_was_trained_on_the_cases() -> None:
    rng = np.random.default_rng(0)
    scores = mt.Scores.of(np.stack([0.9 + 0.02 * rng.random(30), 0.6 + 0.02 * rng.random(30)]), ["unet", "vnet"])
    assert mt.rank(scores).verdict.winner == "unet"
    ranked = mt.rank(scores, trained_on={"unet": "staple"})
    assert ranked.verdict.winner is None
    assert "trained on cases of this study (staple)" in ranked.verdict.sentence
    assert ranked.leaderboard["winner"] is None
    assert not ranked.claims.of("algorithms.winner").made
    assert mt.rank(scores, trained_on={"vnet": "staple"}).verdict.winner == "unet"
    with pytest.raises(mt.CallError, match=r"trained_on: there is no algorithm 'u-net'; algorithms are unet, vnet"):
        mt.rank(scores, trained_on={"u-net": "staple"})


@pytest.mark.slow
def test_the_command_line_the_study_file_and_the_report_say_it(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    masks, predictions = write_study(tmp_path), str(tmp_path / "p/{algorithm}/{case}.png")
    call = ["evaluate", masks, "--predictions", predictions, "--no-pictures", "--out", str(tmp_path / "out")]
    assert status([*call, "--trained-on", "near=staple"]) == 0
    assert "near was trained on cases of this study (staple)" in " ".join(capsys.readouterr().out.split())
    assert status([*call, "--trained-on", "nearer=staple"]) == 1
    assert "there is no algorithm 'nearer'; algorithms are copy, far, near" in capsys.readouterr().err
    (tmp_path / "study.toml").write_text(
        'masks = "m/{rater}/{case}.png"\npredictions = "p/{algorithm}/{case}.png"\ntrained_on = { near = "A" }\n'
    )
    report = mt.report(tmp_path / "study.toml", to=tmp_path / "r.html", resamples=50, viewer=False, codes=True)
    page = report.path.read_text(encoding="utf-8")
    assert "was trained on cases of this study (A)" not in page, "a rater's name is replaced by their code"
    assert "trained on cases of this study (R" in page
    (tmp_path / "study.toml").write_text('masks = "m/{rater}/{case}.png"\ntrained_on = { near = 3 }\n')
    with pytest.raises(mt.StudyError, match="trained_on is written as"):
        mt.Study.open(tmp_path / "study.toml")
