"""Complexity of whole studies: simulated ones, whose difficulty is known, and LIDC."""

from __future__ import annotations

import time

import numpy as np
import pytest

import manytruths as mt
from data_folder import data
from manytruths import (
    Complexity,
    case_complexity,
    compare_task_complexity,
    fit_complexity_groups,
    fit_complexity_threshold,
)
from manytruths.complexity import NO_OVERLAP
from manytruths.complexity.descriptors import NOBODY
from manytruths.simulate import SimulatedRater, phantom


def drawn(jitter: float, cases: int = 12) -> list[Complexity]:
    """Phantoms marked by four raters whose outlines wander by so many pixels."""
    raters = [SimulatedRater(name, jitter=jitter) for name in "ABCD"]
    found = []
    for seed in range(cases):
        image = phantom(seed, size=96, group="CIN2")
        masks = {rater.name: rater.mark(image, seed=seed).mask.astype(np.uint8) for rater in raters}
        found.append(case_complexity(mt.tally(masks, labels=[0, 1])))
    return found


def test_raters_who_wander_more_make_complexer_cases() -> None:
    levels = [drawn(jitter) for jitter in (0.3, 1.0, 3.0)]
    esm = [np.mean([c.esm for c in cases if not c.reason]) for cases in levels]
    assert esm[0] < esm[1] < esm[2]
    compared = compare_task_complexity(levels[2], levels[0])
    assert compared.probability > 0.9
    assert compared.difference.low > 0
    calm, wild = levels[0], levels[2]
    assert fit_complexity_threshold([*calm, *wild], [False] * 12 + [True] * 12).balanced_accuracy > 0.85


def test_raters_without_faults_agree() -> None:
    assert {(c.entropy, c.mean, c.esm) for c in drawn(0.0, cases=3)} == {(0, 1, 0)}


@pytest.fixture(scope="module")
def demo() -> tuple[dict[str, Complexity], dict[str, str]]:
    study = mt.simulate_study(cases=48, size=96)
    found = {}
    for case in study:
        masks = {rater: m.mask.astype(np.uint8) for (rater, session), m in case.readings.items() if session == "1"}
        found[case.name] = case_complexity(mt.tally(masks, labels=[0, 1]))
    return found, study.groups


def test_the_demo_is_hardest_where_there_is_least_to_see(demo) -> None:
    found, groups = demo
    mean = {
        group: np.mean([c.esm for name, c in found.items() if groups[name] == group and not c.reason])
        for group in ("Negative", "CIN1", "CIN3")
    }
    assert mean["CIN3"] < mean["CIN1"] < mean["Negative"]
    why = {c.code for c in found.values()}
    assert why <= {"", NOBODY, NO_OVERLAP}
    assert {groups[name] for name, c in found.items() if c.code == NOBODY} == {"Negative"}


def test_groups_of_the_demo(demo) -> None:
    found, groups = demo
    fitted = fit_complexity_groups(list(found.values()))
    given = {name: fitted.classify(case) for name, case in found.items()}
    assert set(given.values()) <= {"A", "B", "C", "undefined"}
    assert "4 to 5 raters" in fitted.note
    agree = [groups[name] for name, group in given.items() if group == "B"]
    assert agree.count("CIN3") > agree.count("Negative")


@pytest.mark.slow
def test_every_nodule_of_lidc() -> None:
    tables = {
        name: mt.tally(masks, raters="exchangeable")
        for name, masks in np.load(data("lidc", "lidc_4reader_masks.npz")).items()
    }
    start = time.process_time()
    found = [case_complexity(table) for table in tables.values()]
    assert time.process_time() - start < 10
    assert len(found) == 897
    assert {c.raters for c in found} == {4}
    assert not [c for c in found if c.reason or not np.isfinite([c.entropy, c.std, c.mean, c.esm, c.ssm]).all()]
    kappa = [mt.fleiss_kappa(table) for table in tables.values()]
    assert np.corrcoef(kappa, [c.mean for c in found])[0, 1] > 0.3
    assert np.corrcoef(kappa, [c.esm for c in found])[0, 1] < -0.4
    fitted = fit_complexity_groups(found)
    assert fitted.note == ""
    assert fitted.sizes == pytest.approx((141, 405, 351), abs=5)
