"""A study of arrays may have predictions and given reference standards."""

import numpy as np
import pytest

import manytruths as mt


def disc(x: float, radius: float) -> np.ndarray:
    rows, columns = np.mgrid[:24, :24]
    return ((columns - x) ** 2 + (rows - 12) ** 2 < radius**2).astype(np.uint8)


CASES = {f"p{i}": {"A": disc(11, 6 + i), "B": disc(12, 6 + i), "C": disc(13, 6 + i)} for i in range(3)}
PREDICTIONS = {case: {"unet": disc(12, 6 + i)} for i, case in enumerate(CASES)}


def test_predictions_are_scored_as_those_in_files() -> None:
    result = mt.evaluate(mt.Study.from_arrays(CASES, predictions=PREDICTIONS), distances=False)
    scores = result.tables["scores"]
    rows = [r for r in scores.all("dice", "case") if (r["against"], r.case) == ("A", "p0")]
    a, b = CASES["p0"]["A"], PREDICTIONS["p0"]["unet"]
    assert [r.value for r in rows] == [pytest.approx(2 * (a & b).sum() / (a.sum() + b.sum()))]


def test_a_case_without_a_prediction_counts_as_missing() -> None:
    study = mt.Study.from_arrays(CASES, predictions={"p0": PREDICTIONS["p0"]})
    assert [column.name for column in study["p1"].missing] == ["unet"]
    assert study["p0"].missing == ()


def test_given_references_are_judges() -> None:
    study = mt.Study.from_arrays(CASES, predictions=PREDICTIONS, references={c: {"truth": disc(12, 7)} for c in CASES})
    assert "truth" in {str(r["against"]) for r in mt.evaluate(study, distances=False).tables["scores"].rows}


def test_a_prediction_of_an_unknown_case_is_refused() -> None:
    with pytest.raises(mt.CallError, match="given for case 'p9', which the study does not have"):
        mt.Study.from_arrays(CASES, predictions={"p9": {"unet": disc(12, 6)}})
