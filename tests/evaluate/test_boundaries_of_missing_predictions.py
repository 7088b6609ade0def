"""Boundaries where a rater marked only cases that an algorithm did not predict."""

from __future__ import annotations

import pytest

import manytruths as mt
from study_folders import disc, write_png


@pytest.fixture
def template(tmp_path):
    for case in ("p1", "p2", "p3"):
        for x, rater in enumerate("AB" if case != "p3" else "ABC"):
            write_png(tmp_path / "masks" / rater / f"{case}.png", disc(x=x))
    return f"{tmp_path}/masks/{{rater}}/{{case}}.png"


@pytest.mark.parametrize("probability", [False, True], ids=["masks", "probability maps"])
@pytest.mark.parametrize("missing", ["worst", "exclude"])
def test_the_table_is_made(tmp_path, template, missing, probability):
    for case in ("p1", "p2"):
        write_png(tmp_path / "net" / f"{case}.png", disc(x=1) * (200 if probability else 1))
    study = mt.Study.open(template, predictions=f"{tmp_path}/net/{{case}}.png", probability=probability)
    options = {"skew": (0.1, 0.5)} if probability else {}
    result = mt.evaluate(study, boundaries="lines", missing=missing, pictures=False, **options)
    rows = [row for row in result.tables["boundaries"].rows if row["against"] == "C" and row.scope == "pooled"]
    recalls = [row.value for row in rows if row.statistic == "boundary_recall"]
    assert recalls == ([0.0] if missing == "worst" else [])
