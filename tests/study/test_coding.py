"""Names replaced by codes: everybody has one, nobody can be told by it, and the numbers stay."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from manytruths.study.deidentification import Codes, code_study


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def named(rng, cases=5):
    masks = {f"Müller {n}": {r: rng.random((8, 8)) < 0.4 for r in ("Dr. A", "Dr. B", "Dr. C")} for n in range(cases)}
    return mt.Study.from_arrays(masks, subjects={name: name[:6] + name[-1:] for name in masks})


def test_numbers_stay_and_names_go(rng):
    study = named(rng)
    codes = Codes.of(study)
    under = code_study(study, codes)
    assert under.rater_names == ("R1", "R2", "R3")
    assert [case.name for case in under] == ["C1", "C2", "C3", "C4", "C5"]
    assert mt.fleiss_kappa(mt.pool(under.tally())) == mt.fleiss_kappa(mt.pool(study.tally()))
    back = {code: name for name, code in codes.names["case"].items()}
    for case in under:
        assert case.subject in codes.names["subject"].values()
        own = study[back[case.name]]
        for column, mask in own.masks.items():
            other = next(c for c in case.masks if c.name == codes.names["rater"][column.name])
            np.testing.assert_array_equal(case.masks[other][""], mask[""])


def test_codes_given_before_stay(rng):
    before = Codes.of(named(rng, 3))
    after = Codes.of(named(rng, 12), before)
    for kind, by in before.names.items():
        assert by.items() <= after.names[kind].items()
    assert len(set(after.names["case"].values())) == 12


def test_codes_do_not_follow_the_names(rng):
    """Of twenty keys of five names, all in the order of the names: one in 120 to the power of 20."""
    study = named(rng)
    orders = [list(Codes.of(study).names["case"].values()) for _ in range(20)]
    assert any(order != sorted(order) for order in orders)


def test_sessions_and_what_is_known_about_raters_are_not_told(rng):
    masks = {
        "p1": {("Dr. A", "2024-05-01"): rng.random((8, 8)) < 0.4, ("Dr. A", "2024-06-01"): rng.random((8, 8)) < 0.4,
               ("Dr. B", "2024-05-01"): rng.random((8, 8)) < 0.4}
    }  # fmt: skip
    study = mt.Study.from_arrays(masks)
    study.properties = {"Dr. A": {"name": "Anna"}}
    under = code_study(study, Codes.of(study))
    assert {column.session for column in under.columns} == {"1", "2"}
    assert not under.properties


def test_no_code_is_the_name_of_somebody_else(rng):
    masks = {"p1": {r: rng.random((8, 8)) < 0.4 for r in ("R1", "R2", "R07", "anna")}}
    for _ in range(20):
        codes = Codes.of(mt.Study.from_arrays(masks), kinds=("rater",)).names["rater"]
        assert not {int(code[1:]) for code in codes.values()} & {1, 2, 7}
        assert len(set(codes.values())) == 4


def test_one_rater_keeps_their_name_among_others_under_codes(rng):
    study = named(rng)
    kept, everybody = Codes.of_others(study, "Dr. B")
    under = code_study(study, kept)
    assert "Dr. B" in under.rater_names
    assert not {"Dr. A", "Dr. C"} & set(under.rater_names)
    assert [case.name for case in under] == [case.name for case in study]
    # the key has a code for each, the same in the next page
    again, same = Codes.of_others(study, "Dr. A", everybody)
    assert same.names["rater"] == everybody.names["rater"]
    assert again.names["rater"]["Dr. C"] == kept.names["rater"]["Dr. C"]
