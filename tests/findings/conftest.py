"""The demo's study in small, and what commands say about it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from printed import page, printed

from manytruths import simulate_study
from study_folders import write_png


class Demo(NamedTuple):
    """A study of five simulated raters and three algorithms, on disk."""

    folder: Path
    template: str
    options: tuple[object, ...]
    """The table of patients."""
    predictions: tuple[object, ...]


@pytest.fixture(scope="session")
def demo(tmp_path_factory) -> Demo:
    folder = tmp_path_factory.mktemp("demo")
    simulated = simulate_study(24, 64)
    for case in simulated:
        for (rater, session), marking in case.readings.items():
            write_png(folder / f"masks/{rater}/{session}/{case.name}.png", marking.mask.astype("uint8"))
        for algorithm, mask in case.predictions.items():
            write_png(folder / f"predictions/{algorithm}/{case.name}.png", mask.astype("uint8"))
    lines = [f"{name},{simulated.subjects[name]}" for name in simulated.names]
    (folder / "cases.csv").write_text("\n".join(["case,subject", *lines, ""]))
    predictions = ("--predictions", folder / "predictions/{algorithm}/{case}.png")
    return Demo(
        folder, str(folder / "masks/{rater}/{session}/{case}.png"), ("--cases", folder / "cases.csv"), predictions
    )


@pytest.fixture(scope="session")
def demo_fused(demo) -> str:
    """What ``fuse`` prints, with methods that leave raters out."""
    methods = ("--consensus", "vote:0.5,excl:0.5,simple,staple")
    return printed("fuse", demo.template, *demo.options, *methods, "--out", demo.folder, "--no-pictures")


@pytest.fixture(scope="session")
def demo_page(demo) -> str:
    """The text of its report."""
    return page(demo.template, demo.folder, *demo.options, *demo.predictions, "--no-viewer")
