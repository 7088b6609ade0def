"""Several labels in ``evaluate``: nothing is said about labels united."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import manytruths as mt
from label_studies import three_labels, tissue_maps
from manytruths.core.undefined import code_of

LABELS = (1, 2)


def dice(a: np.ndarray, b: np.ndarray) -> float:
    return 2 * float(np.sum(a & b)) / float(a.sum() + b.sum())


def distance(a: np.ndarray, b: np.ndarray) -> float:
    return 1 - float(np.mean([dice(a == label, b == label) for label in LABELS]))


@cache
def masks() -> dict[str, dict[str, np.ndarray]]:
    return tissue_maps(10, 60, "ABCD", ground=False)


@cache
def evaluation() -> mt.Evaluation:
    raters = {case: {r: mask for r, mask in each.items() if r != "D"} for case, each in masks().items()}
    predictions = {case: {"net": each["D"]} for case, each in masks().items()}
    predictions["t03"] = {"net": masks()["t03"]["B"]}
    study = mt.Study.from_arrays(raters, predictions=predictions, background="none", labels={1: "grey", 2: "white"})
    return mt.evaluate(study, distances=False, second_look=False)


def test_tissues_that_fill_the_image_are_as_far_apart_as_their_labels() -> None:
    rows = evaluation().tables["interchangeability"]
    between, to_raters = [], []
    for case, each in masks().items():
        raters = [each[r] for r in "ABC"]
        net = each["B"] if case == "t03" else each["D"]
        between.append(np.mean([distance(raters[i], raters[j]) for i in range(3) for j in range(i)]))
        to_raters.append(np.mean([distance(net, r) for r in raters]))
    assert rows.find("distance_between_raters", "mean", algorithm="net", label="").value == pytest.approx(
        np.mean(between)
    )
    assert rows.find("distance_to_raters", "mean", algorithm="net", label="").value == pytest.approx(np.mean(to_raters))


def test_a_distance_over_labels_is_said_to_be_one() -> None:
    (claim,) = evaluation().claims.of("algorithms.distance")
    assert claim.text.split(", ", 1)[1].startswith(
        "the mean Dice distance (1 − Dice, mean over the labels of a case; two empty masks 0, one empty 1) is "
    )


def test_only_a_prediction_that_is_a_raters_mask_in_every_label_is_called_identical() -> None:
    said = [note for note in evaluation().notes if "identical" in note or "marks everything" in note]
    assert said == [
        "net is identical to rater B in 1 of 10 cases (t03): if it was made from them, its scores are too good"
    ]


def test_algorithms_are_judged_by_the_masks_that_fuse_writes() -> None:
    """Of three raters who give a pixel three labels the plurality takes one, while each label has a minority."""
    cases = {f"p{i}": {r: np.random.default_rng(10 * i + k).integers(0, 3, (12, 12)) for k, r in enumerate("ABC")}
             for i in range(3)}  # fmt: skip
    net = {name: {"net": np.random.default_rng(i).integers(0, 3, (12, 12))} for i, name in enumerate(cases)}
    study = mt.Study.from_arrays(cases, predictions=net)
    scores = mt.evaluate(study, consensus="plurality,staple", distances=False, pictures=False).table("scores")
    for method in ("plurality", "staple"):
        for case, decided in mt.consensus(study, method).items():
            for label in (1, 2):
                a, b = decided.values == label, net[case]["net"] == label
                row = scores.find("dice", "case", case=case, label=str(label), algorithm="net", against=method)
                assert row.value == pytest.approx(2 * (a & b).sum() / (a.sum() + b.sum()))


def test_macro_means_of_a_rare_label_are_said_to_differ_from_those_of_agree() -> None:
    maps = three_labels(10)
    raters = {case: {r: mask for r, mask in each.items() if r != "C"} for case, each in maps.items()}
    study = mt.Study.from_arrays(raters, predictions={case: {"net": each["C"]} for case, each in maps.items()})
    rare = mt.evaluate(study, distances=False, second_look=False)
    assert "macro_by_case" in map(code_of, rare.notes)
    assert "macro_by_case" not in map(code_of, evaluation().notes)
