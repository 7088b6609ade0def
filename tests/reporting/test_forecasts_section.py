"""What the page says about probability maps and samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_reference_standard_section import assert_sound, charts, column, findings, tables

from manytruths import Study
from manytruths.reporting.elements import Section
from manytruths.reporting.findings import Findings
from manytruths.reporting.sections.algorithm_forecasts import AGAINST_RATERS, forecast_blocks
from study_folders import disc, write_npy, write_png

CASES = ["p1", "p2", "p3"]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    folder = tmp_path_factory.mktemp("forecasts")
    for i, case in enumerate(CASES):
        for x, rater in enumerate("ABC"):
            write_png(folder / f"masks/{rater}/{case}.png", disc(x=x, y=i, radius=5 + x + i))
        write_npy(folder / f"maps/net/{case}.npy", 0.1 + 0.8 * disc(x=1, y=i).astype(np.float32))
        for k in range(3):
            write_png(folder / f"samples/net/{case}/{k}.png", disc(x=k, y=i))
    study = Study.open(
        f"{folder}/masks/{{rater}}/{{case}}.png",
        predictions=f"{folder}/maps/{{algorithm}}/{{case}}.npy", probability=True,
        samples=f"{folder}/samples/{{algorithm}}/{{case}}/{{sample}}.png",
    )  # fmt: skip
    return findings(study)


def section_of(found: Findings) -> Section:
    return Section("algorithms", "Algorithms", (), tuple(forecast_blocks(found)))


def test_scores_stand_beside_what_the_raters_reach(found: Findings) -> None:
    table = tables(section_of(found))["algorithm-forecasts"]
    assert column(table, "Forecast") == [
        "net",
        "the other raters' vote share",
        "another rater",
        "the other raters' masks",
    ]
    assert found.evaluation is not None
    scores, reach = (found.evaluation.table(name) for name in ("scores", "reach"))
    net = scores.find("brier", "mean", algorithm="net", against="mean of raters").value
    others = reach.find("brier", "mean", forecast="vote share of the others", against="mean of raters").value
    assert column(table, "Brier score")[:2] == [f"{net:.3f}", f"{others:.3f}"]


def test_samples_stand_in_a_table_of_their_own(found: Findings) -> None:
    table = tables(section_of(found))["algorithm-samples"]
    assert found.evaluation is not None
    row = found.evaluation.table("scores").find("energy_distance", "mean", algorithm="net", against="all raters")
    assert column(table, "Energy distance") == [f"{row.value:.3f}"]


def test_every_number_is_that_of_its_file(found: Findings, tmp_path: Path) -> None:
    assert_sound(section_of(found), found, tmp_path)


def test_each_algorithm_has_a_reliability_diagram(found: Findings) -> None:
    (chart,) = charts(section_of(found)).values()
    assert chart.name == "evaluate-calibration-net"


def test_what_a_column_is_called_is_what_it_holds() -> None:
    """2 E d(X, y) − E d(X, X′), and not half of it."""
    assert AGAINST_RATERS["energy_distance_unbiased_samples"].startswith("Twice")
