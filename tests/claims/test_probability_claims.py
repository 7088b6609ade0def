"""What is said of probability maps and samples, and what is not."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

import manytruths as mt
from manytruths.claims.claim import Claims
from manytruths.core.undefined import code_of
from manytruths.inference.forecast_tests import compare_share

SIZE, RADIUS, SPREAD = 40, 9.0, 1.5


def disc(radius: float) -> np.ndarray:
    rows, columns = np.mgrid[:SIZE, :SIZE] - SIZE / 2
    return (np.hypot(rows, columns) < radius).astype(np.uint8)


@cache
def claims_of(cases: int, raters: int, sharpness: float, seed: int = 0) -> Claims:
    """Raters and samples of ``right`` have radii of one distribution; ``net`` believes a narrower one."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:SIZE, :SIZE] - SIZE / 2
    away = np.hypot(rows, columns)
    masks, maps, samples = {}, {}, {}
    for i in range(cases):
        name, middle = f"p{i:02}", RADIUS + rng.normal()
        spreads = {"right": SPREAD, "net": SPREAD / sharpness}
        masks[name] = {chr(65 + k): disc(middle + SPREAD * rng.normal()) for k in range(raters)}
        maps[name] = {who: norm.cdf((middle - away) / spread) for who, spread in spreads.items()}
        samples[name] = {who: [disc(middle + s * rng.normal()) for _ in range(6)] for who, s in spreads.items()}
    study = mt.Study.from_arrays(masks, predictions=maps, samples=samples, probability=True)
    return mt.evaluate(study, lesions=False, consensus="vote:0.5").claims


def made(claims: Claims, kind: str) -> dict[str, str]:
    return {claim.about: claim.text for claim in claims.of(f"probability.{kind}").made}


def why_not(claims: Claims, kind: str) -> set[str]:
    found = claims.of(f"probability.{kind}")
    return {claim.why_not.code for claim in found if claim.why_not is not None}


def test_an_algorithm_that_is_too_sure_is_called_so_and_a_right_one_is_not() -> None:
    claims = claims_of(30, 5, 4.0)
    assert set(made(claims, "confidence")) == {"net"}
    assert made(claims, "confidence")["net"].startswith(
        "net is overconfident: where it gives more than 7%, what it calls more likely has a probability of 9"
    )
    assert set(made(claims, "spread")) == {"net"}
    assert made(claims, "spread")["net"].startswith("The samples of net differ less from each other than the raters do")


@pytest.mark.slow
def test_one_that_is_not_sure_enough_is_underconfident_and_draws_too_differently() -> None:
    claims = claims_of(30, 5, 0.4)
    assert "net is underconfident" in made(claims, "confidence")["net"]
    assert "differ more from each other" in made(claims, "spread")["net"]


def test_it_says_how_often_raters_mark_where_it_says_80_percent() -> None:
    texts = made(claims_of(30, 5, 4.0), "says")
    assert texts["right"].startswith("Where right gives 73% to 80% (77% on average), ")
    assert "of the raters mark the pixel, in the mean over 30 cases." in texts["right"]
    for claim in claims_of(30, 5, 4.0).of("probability.says").made:
        assert all(cell.at.startswith("evaluate/calibration.csv#mean,") for cell in claim.numbers)


def test_a_bin_that_is_off_is_named_with_what_raters_do() -> None:
    text = made(claims_of(30, 5, 4.0), "frequency")["net"]
    assert "they mark less often than it says (p " in text or "they mark more often than it says (p " in text


@pytest.mark.parametrize(("cases", "raters", "code"), [(9, 5, "too_few_subjects"), (20, 2, "too_few_raters")])
def test_few_subjects_and_few_raters_give_no_verdict(cases: int, raters: int, code: str) -> None:
    claims = claims_of(cases, raters, 4.0)
    for kind in ("confidence", "frequency", "spread"):
        assert made(claims, kind) == {}
        assert why_not(claims, kind) == {code}


@pytest.mark.slow
def test_shares_of_samples_are_told_of_as_such_and_not_judged() -> None:
    """Few samples, drawn as raters draw, look overconfident by chance."""
    rng = np.random.default_rng(0)
    masks, samples = {}, {}
    for i in range(30):
        middle = RADIUS + rng.normal()
        masks[f"p{i:02}"] = {r: disc(middle + SPREAD * rng.normal()) for r in "ABCDE"}
        samples[f"p{i:02}"] = {"net": [disc(middle + SPREAD * rng.normal()) for _ in range(4 + i % 2)]}
    result = mt.evaluate(mt.Study.from_arrays(masks, samples=samples), lesions=False, consensus="vote:0.5")
    for kind in ("confidence", "frequency"):
        assert made(result.claims, kind) == {}
        assert why_not(result.claims, kind) == {"shares_of_samples"}
    (claim,) = result.claims.of("probability.confidence")
    assert str(claim.why_not).startswith("its probabilities are shares of 4 to 5 samples, which by chance ")
    text = made(result.claims, "says")["net"]
    assert text.startswith("Where 73% to 80% of the samples of net mark a pixel (")
    assert "shares_of_samples" in {code_of(note) for note in result.notes}
    chart = result.charts["calibration-net"]
    assert "share of the samples that mark" in chart
    # four or five samples fill 8 of 15 bins, which one line joins
    bins = {r["from"] for r in result.tables["calibration"].all("mean_forecast", "pooled") if r["against"] == "A"}
    (line,) = re.findall(r'<polyline points="([^"]+)"[^>]*stroke-width="2"', chart)
    assert len(bins) == len(line.split()) == 8
    # with maps beside them it is the maps that are judged
    maps = {name: {"net": np.mean(by["net"], axis=0)} for name, by in samples.items()}
    both = mt.Study.from_arrays(masks, predictions=maps, samples=samples, probability=True)
    assert "shares_of_samples" not in why_not(mt.evaluate(both, lesions=False).claims, "confidence")


def test_nothing_is_said_of_samples_where_there_are_none() -> None:
    rng = np.random.default_rng(0)
    masks = {f"p{i}": {r: disc(9 + rng.normal()) for r in "ABC"} for i in range(12)}
    maps = {name: {"net": np.full((SIZE, SIZE), 0.5)} for name in masks}
    claims = mt.evaluate(mt.Study.from_arrays(masks, predictions=maps, probability=True), lesions=False).claims
    assert claims.of("probability.spread") == ()


def test_shares_that_do_not_vary_are_no_evidence() -> None:
    """All raters of all subjects mark what is called 90% likely, as in a third of such studies."""
    assert compare_share([0.9] * 10, [1.0] * 10).p > 0.3
    assert np.isnan(compare_share([0.9] * 9, [1.0] * 9).p)
    assert compare_share([0.5] * 40, [1.0] * 40).p < 1e-6
    assert compare_share([1.0] * 10, [1.0] * 10).p == 1
