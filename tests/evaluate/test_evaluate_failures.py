"""Where an algorithm fails in some cases, their share and the mean without them stand beside the mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import manytruths as mt
from study_folders import disc, write_png

CASES = 20


def write_study(folder: Any, *, failed: int = 2, missing: int = 1, reference: bool = False) -> mt.Study:
    """Three raters; the algorithm ``net`` marks another place in some cases and has no prediction in others."""
    rng = np.random.default_rng(0)
    for i in range(CASES):
        for rater in "ABC":
            write_png(folder / f"m/{rater}/p{i:02}.png", disc(48, x=-8 + rng.normal(), radius=8))
        if reference:
            write_png(folder / f"r/p{i:02}.png", disc(48, x=-8, radius=8))
        write_png(folder / f"p/good/p{i:02}.png", disc(48, x=-8 + rng.normal(), radius=8))
        if i >= missing:
            x = 14 if i < missing + failed else -8 + rng.normal()
            write_png(folder / f"p/net/p{i:02}.png", disc(48, x=x, radius=8))
    given = {"reference": str(folder / "r/{case}.png")} if reference else {}
    template = str(folder / "p/{algorithm}/{case}.png")
    return mt.Study.open(folder / "m/{rater}/{case}.png", predictions=template, **given)


def evaluate(study: mt.Study, **options: Any) -> mt.Evaluation:
    return mt.evaluate(study, pictures=False, distances=False, **options)


def test_the_share_of_failures_and_the_mean_without_them(tmp_path: Any, capsys: Any) -> None:
    found = evaluate(write_study(tmp_path))
    claims = {claim.about: claim for claim in found.claims.of("algorithms.failures")}
    assert claims["good"].why_not.code == "no_failure"
    mean, rest = (
        found.tables["scores"].find(name, "mean", algorithm="net", against="vote:0.5")
        for name in ("dice", "dice_without_failures")
    )
    exact = stats.binomtest(3, CASES).proportion_ci(method="exact")
    assert claims["net"].text == (
        f"In 3 of 20 cases, 15% ({exact.low:.0%}–{exact.high:.0%}), net does not overlap vote:0.5, or has no "
        f"prediction: its mean Dice is {mean.value:.2f} ({mean.low:.2f}–{mean.high:.2f}) with these cases and "
        f"{rest.value:.2f} ({rest.low:.2f}–{rest.high:.2f}) without."
    )
    assert rest.n == CASES - 3
    assert mean.value == pytest.approx(rest.value * (CASES - 3) / CASES)
    found.print()
    assert "net does not overlap vote:0.5" in " ".join(capsys.readouterr().out.split())


def test_excluded_cases_are_no_failures(tmp_path: Any) -> None:
    study = write_study(tmp_path)
    [claim] = evaluate(study, missing="exclude").claims.of("algorithms.failures").made
    assert claim.text.startswith("In 2 of 19 cases, 11% (1%–33%), net does not overlap vote:0.5: ")


@pytest.mark.slow
def test_a_given_reference_comes_first_and_the_report_says_it(tmp_path: Any) -> None:
    study = write_study(tmp_path, missing=0, reference=True)
    found = evaluate(study)
    [claim] = found.claims.of("algorithms.failures").made
    assert f"net does not overlap {found.main_reference}: " in claim.text
    assert found.main_reference == "reference"
    page = mt.report(study, to=tmp_path / "report.html", viewer=False).path.read_text(encoding="utf-8")
    assert "not overlap reference: its mean Dice is" in page


def test_of_several_labels_each_is_said(tmp_path: Any) -> None:
    rng, one = np.random.default_rng(1), disc(48, x=-12, radius=6)
    for i in range(12):
        for name in ("m/A", "m/B", "m/C", "p/net"):
            lost = name == "p/net" and i < 3
            mask = one + 2 * disc(48, x=12 if not lost else 0, y=0 if not lost else 18, radius=5 + rng.random())
            write_png(tmp_path / f"{name}/p{i:02}.png", mask.astype(np.uint8))
    template = str(tmp_path / "p/{algorithm}/{case}.png")
    study = mt.Study.open(
        tmp_path / "m/{rater}/{case}.png", predictions=template, labels={0: "background", 1: "a", 2: "b"}
    )
    claims = evaluate(study).claims.of("algorithms.failures")
    assert [claim.text.partition(": ")[0] for claim in claims.made] == [
        "In 3 of 12 cases, 25% (5%–57%), net does not overlap plurality in label b"
    ]
    assert len(claims) == 3
