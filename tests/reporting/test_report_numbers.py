"""Every number of the page is one of the tables beside it, and these are what the other verbs write."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_numbers import Number as Shown
from page_numbers import Numbers, fits, held_against

import manytruths as mt
from data_folder import data
from manytruths.demo import demo
from study_folders import disc, write_nifti, write_png

Arguments = list[object]
FEW = ("--resamples", 200)
STUDIES: dict[str, tuple[Callable[[Path], Arguments], int]] = {}
"""How a study is written and opened, and how many numbers its page has at least."""


def study(least: int) -> Callable[[Callable[[Path], Arguments]], Callable[[Path], Arguments]]:
    def register(write: Callable[[Path], Arguments]) -> Callable[[Path], Arguments]:
        STUDIES[write.__name__] = write, least
        return write

    return register


@study(800)
def simulated(folder: Path) -> Arguments:
    """Groups, patients, second readings, ranks, an absent rater, algorithms, a truth."""
    home = folder / "demo"
    demo(home, cases=12, size=96, jobs=2)
    predictions = home / "study/predictions/{algorithm}/{case}.png"
    return [home / "study", "--predictions", predictions, "--reference", home / "known/{reference}/{case}.png"]


def discs(folder: Path, raters: Iterable[str], cases: int, labels: int, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for number in range(cases):
        for rater in raters:
            x, y = rng.integers(-3, 4, 2)
            mask = disc(32, x, y, 7 + rng.integers(0, 3))
            if labels > 1:
                mask = np.where(disc(32, x, y, 3), 2, mask).astype(np.uint8)
            write_png(folder / rater / f"p{number}.png", mask)


@study(400)
def several_labels(folder: Path) -> Arguments:
    discs(folder / "masks", "ABCD", 11, 2)
    discs(folder / "predictions", ("net", "old"), 11, 2, seed=1)
    return [
        folder / "masks/{rater}/{case}.png", "--predictions", folder / "predictions/{algorithm}/{case}.png",
        "--labels", "1=gland,2=tumour",
    ]  # fmt: skip


@study(120)
def exchangeable(folder: Path) -> Arguments:
    discs(folder / "masks", "ABC", 11, 1)
    discs(folder / "predictions", ("net",), 11, 1, seed=1)
    predictions = folder / "predictions/{algorithm}/{case}.png"
    return [folder / "masks/{rater}/{case}.png", "--raters", "exchangeable", "--predictions", predictions]


@study(150)
def volumes(folder: Path) -> Arguments:
    for number in range(3):
        for x, who in enumerate(("masks/A", "masks/B", "masks/C", "predictions/net", "predictions/old")):
            mask = np.stack([disc(24, x - 2, number, 4 + depth % 3) for depth in range(6)], axis=-1)
            write_nifti(folder / who / f"p{number}.nii.gz", mask)
    return [folder / "masks/{rater}/{case}.nii.gz", "--predictions", folder / "predictions/{algorithm}/{case}.nii.gz"]


@study(1000)
def fissure(folder: Path) -> Arguments:
    home = data("fissure")
    predictions = home / "predictions/{algorithm}/{case}.png"
    return [
        home / "raters/{rater}/{case}.png", "--predictions", predictions, "--probability",
        "--training", home / "training/{algorithm}/{case}.png",
    ]  # fmt: skip


class Made:
    """A study, and its report."""

    def __init__(self, folder: Path, arguments: Arguments, least: int) -> None:
        self.home, self.arguments, self.least = folder, arguments, least
        self.page, self.folder = folder / "report.html", folder / "report_files"
        run("report", *arguments, "--to", self.page, "--jobs", 2, *FEW)

    @property
    def text(self) -> str:
        return self.page.read_text(encoding="utf-8")


def run(*arguments: object) -> None:
    from manytruths.cli import status

    assert status([str(argument) for argument in (*arguments, "--quiet")]) == 0


LARGE = ("simulated", "several_labels", "fissure")


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name for name in STUDIES]
)
def made(request: Any, tmp_path_factory: Any) -> Made:
    write, least = STUDIES[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    return Made(folder, write(folder), least)


@pytest.mark.slow
def test_every_number_is_that_of_its_line(made):
    assert len(held_against(made.page, made.folder)) >= made.least
    own = made.home / "demo"
    if own.is_dir():  # what the demo wrote itself
        assert len(held_against(own / "report.html", own)) >= made.least


def test_no_number_stands_in_first_sentences_without_its_line(made):
    """But for numbers that are part of a definition, and settings, which are those of the run."""
    checked, chosen = 0, settings_of(made)
    for section, sentence in leads(made.text):
        loose, addressed = apart(sentence)
        assert {float(number) for number in re.findall(SETTINGS, loose)} <= chosen, (section, loose)
        loose = re.sub(SETTINGS, "", loose)
        assert not re.findall(r"[−-]?\d+(?:\.\d+)?%|[−-]?\d+\.\d+", loose), (section, loose)
        checked += len(addressed)
    assert checked >= 8


def leads(html: str) -> list[tuple[str, str]]:
    """Section and sentence."""
    found = []
    for name, content in re.findall(r'<section id="([^"]+)"(.*?)</section>', html, re.DOTALL):
        lead = re.search(r'<div class="lead">(.*?)</div>', content, re.DOTALL)
        found += [(name, part) for part in re.findall(r"<p>(.*?)</p>", lead[1] if lead else "", re.DOTALL)]
    return found


DEFINITIONS = (
    r"\(upper end at 99%\)",
    r"an alpha of 0\.80, or of 0\.667",
    r"95% (?:CI|confidence interval|limits of agreement)",
    r"less than 1%",
    r"95% Hausdorff distance",
    r"95% of (?:(?:area|volume)s|the ratios)",
    r"by less in 95% of cases",
)
"""Words with a number that is the same in every study, and so is none of its results."""
SETTINGS = r"(?:vote:|excl:|margin of |an? (?:mean )?IoU of )(\d*\.?\d+)(?: or more)?"
"""Words with a number that somebody chose before the study was analysed."""


def settings_of(made: Made) -> set[float]:
    """What was chosen: thresholds of votes, the rule of lesions and those that it is held against, and the margin."""
    options = mt.Study.open(str(made.arguments[0])).options
    votes = re.findall(
        r"(?:vote|excl):([\d.]+)", str(json.loads((made.folder / "fuse/summary.json").read_text())["methods"])
    )
    return {
        options.lesions.threshold,
        *options.lesions.series,
        *map(float, votes),
        *([] if options.margin is None else [options.margin]),
    }


def apart(sentence: str) -> tuple[str, list[str]]:
    """What is not in a number's element, without definitions; the addresses of what is in one."""
    addressed = [unescape(at) for at in re.findall(r'<data[^>]*? data-at="([^"]*)"', sentence)]
    loose = re.sub("<[^>]+>", "", re.sub(r"<data.*?</data>", "", sentence, flags=re.DOTALL))
    return re.sub("|".join(DEFINITIONS), "", unescape(loose)), addressed


def test_figures_without_a_line_are_counts_and_seconds(made):
    for figure in Numbers(made.text).figures:
        table = next(entry for entry in figure.place if entry.startswith("table"))
        if not re.search("table-(timing|complexity-groups)", table):
            assert re.fullmatch(r"(\d|,)*|–|\d+ of \d+", figure.shown.strip()), figure


def without_predictions(arguments: Arguments) -> Arguments:
    """The arguments that ``agree`` and ``fuse`` take, too."""
    left, given = [], iter(arguments)
    for argument in given:
        if argument in ("--predictions", "--training"):
            next(given)
        elif argument != "--probability":
            left.append(argument)
    return left


@pytest.mark.slow
def test_other_verbs_write_the_same_tables(made, tmp_path):
    arguments, raters = made.arguments, without_predictions(made.arguments)
    run("agree", *raters, "--out", tmp_path)
    run("fuse", *raters, "--out", tmp_path, "--no-pictures")
    run("evaluate", *arguments, "--out", tmp_path, "--no-pictures")
    if (made.folder / "rank").is_dir():
        run("rank", tmp_path / "evaluate/scores.csv", "--out", tmp_path, "--no-pictures", *FEW)
    told = {"--labels", "--raters"}.isdisjoint(arguments)  # plan takes neither
    if (made.folder / "plan").is_dir() and told:
        run("plan", "--pilot", arguments[0], "--out", tmp_path, "--no-pictures", *FEW)
    tables = sorted(path.relative_to(made.folder) for path in made.folder.glob("*/*.csv"))
    assert {path.parent.name for path in tables} >= {"agree", "fuse", "evaluate"}
    for path in tables:
        if path.name == "claims.csv" or (path.parent.name == "plan" and not told):
            continue  # a report knows more
        assert (made.folder / path).read_text() == (tmp_path / path).read_text(), path


@pytest.mark.parametrize(
    ("shown", "value", "low", "high", "right"),
    [
        ("0.44", "0.4375", "", "", True),
        ("0.43", "0.4375", "", "", False),
        ("−0.12", "-0.1249", "", "", True),
        ("-0.12", "-0.1249", "", "", False),
        ("0.12", "-0.1249", "", "", False),
        ("0.00", "-0.001", "", "", True),
        ("−0.00", "-0.001", "", "", False),
        ("32%", "0.3249", "", "", True),
        ("33%", "0.3249", "", "", False),
        ("0.44 (0.38–0.50)", "0.4375", "0.375", "0.5", True),
        ("0.44 (95% interval 0.38–0.50)", "0.4375", "0.375", "0.5", True),
        ("0.44 (0.38–0.51)", "0.4375", "0.375", "0.5", False),
        ("0.44", "0.4375", "0.375", "0.5", False),
        ("0.44 (0.38–0.50)", "0.4375", "", "", False),
        ("= 0.25", "0.2499", "", "", True),
        ("< 0.001", "0.0002", "", "", True),
        ("< 0.001", "0.002", "", "", False),
        ("–", "nan", "", "", True),
        ("nan", "nan", "", "", False),
        ("0.00", "nan", "", "", False),
    ],
)
def test_what_is_held_against_the_tables_would_be_noticed(shown, value, low, high, right):
    assert fits(Shown("td", "a#b", value, low, high, (), shown)) == right
