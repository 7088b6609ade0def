"""Studies on disk for reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from manytruths import Report, Study, report, simulate_study
from manytruths.demo import STUDY_TOML
from study_folders import disc, write_png

CASES = [f"p{number:02}" for number in range(1, 13)]


def write_simulated(folder: Path, cases: int = 12, size: int = 96) -> Study:
    """Groups, patients, images, ranks, a rater who reads twice and one who is absent at times; three algorithms."""
    simulated = simulate_study(cases, size)
    for case in simulated:
        write_png(folder / f"images/{case.name}.png", case.image)
        for (rater, session), marking in case.readings.items():
            write_png(folder / f"masks/{rater}/{session}/{case.name}.png", marking.mask.astype("uint8"))
            write_png(folder / f"ranks/{rater}/{session}/{case.name}.png", marking.ranks)
        for algorithm, mask in case.predictions.items():
            write_png(folder / f"predictions/{algorithm}/{case.name}.png", mask.astype("uint8"))
    lines = [f"{name},{simulated.subjects[name]},{simulated.groups[name]}" for name in simulated.names]
    (folder / "cases.csv").write_text("\n".join(["case,subject,histology", *lines, ""]))
    (folder / "raters.csv").write_text("rater,expertise\nA,senior\nB,senior\nC,junior\nD,trainee\nE,junior\n")
    (folder / "study.toml").write_text(STUDY_TOML)
    return Study.open(folder, predictions=f"{folder}/predictions/{{algorithm}}/{{case}}.png")


def simulated_report(folder: Path, cases: int = 12, size: int = 96) -> Report:
    """Its report, with fewer resamples than usual."""
    return report(write_simulated(folder / "study", cases, size), to=folder / "report.html", resamples=200)


# --- odd ones, in memory

Cases = dict[str, dict[Any, np.ndarray]]
ODD: dict[str, Callable[[], Cases]] = {}


def odd(write: Callable[[], Cases]) -> Callable[[], Cases]:
    ODD[write.__name__] = write
    return write


@odd
def one_case_two_raters() -> Cases:
    return {"p1": {"A": disc(), "B": disc(x=2)}}


@odd
def one_pixel() -> Cases:
    return {"p1": {"A": np.ones((1, 1), np.uint8), "B": np.zeros((1, 1), np.uint8)}}


@odd
def one_row() -> Cases:
    return {f"p{i}": {r: disc(30)[15:16] for r in "AB"} for i in range(3)}


@odd
def all_masks_empty() -> Cases:
    return {case: {r: disc() * 0 for r in "ABC"} for case in CASES}


@odd
def all_masks_full() -> Cases:
    return {case: {r: disc() * 0 + 1 for r in "ABC"} for case in CASES}


@odd
def everything_identical() -> Cases:
    return {case: {r: disc() for r in "ABC"} for case in CASES}


@odd
def nothing_in_common() -> Cases:
    return {case: {r: disc(40, x=12 * x - 12, radius=4) for x, r in enumerate("ABC")} for case in CASES}


@odd
def a_rater_mostly_absent() -> Cases:
    cases = {case: {r: disc(x=x, y=y % 4) for x, r in enumerate("ABC")} for y, case in enumerate(CASES)}
    for case in CASES[1:]:
        del cases[case]["C"]
    return cases


@odd
def no_two_raters_in_most_cases() -> Cases:
    return {case: {r: disc(x=x) for x, r in enumerate("AB") if case == "p01" or r == "A"} for case in CASES}


@odd
def one_case_of_many_empty() -> Cases:
    return {case: {r: disc(x=x, y=y % 3) * (y != 5) for x, r in enumerate("ABC")} for y, case in enumerate(CASES)}


@odd
def one_rater_marks_nothing() -> Cases:
    return {case: {r: disc(x=x, y=y % 3) * (r != "B") for x, r in enumerate("ABC")} for y, case in enumerate(CASES)}


@odd
def forty_raters() -> Cases:
    return {f"p{i}": {f"rater {n:02}": disc(x=n % 6 - 3, y=n % 4) for n in range(40)} for i in range(1)}


@odd
def long_names() -> Cases:
    names = [letter * 300 for letter in "abc"]
    return {f"{'case ' * 60}{i}": {n: disc(x=x, y=i % 3) for x, n in enumerate(names)} for i in range(11)}


@odd
def second_readings_alone_differ() -> Cases:
    both = {("A", "1"): disc(), ("A", "2"): disc(x=3), ("B", "1"): disc(), ("B", "2"): disc(y=2)}
    return dict.fromkeys(CASES, both)


@odd
def sizes_that_differ() -> Cases:
    return {f"p{n}": {r: disc(n, x=x, radius=4) for x, r in enumerate("ABC")} for n in (12, 30, 64)}


@odd
def thin_volumes() -> Cases:
    return {f"p{n}": {r: disc(x=x)[..., None] for x, r in enumerate("ABC")} for n in range(3)}


@odd
def four_labels() -> Cases:
    rng = np.random.default_rng(0)
    return {case: {r: rng.integers(0, 4, (12, 12)) for r in "ABC"} for case in CASES[:3]}


@odd
def names_that_mean_something() -> Cases:
    """As of our own columns, files and elements."""
    names = ("staple", "vote:0.5", "truth", "votes", "", "None", "nan", "constructor", "__proto__", "-1")
    return {name or "empty": {r: disc(x=x, y=y % 3) for x, r in enumerate(names[:3])} for y, name in enumerate(names)}
