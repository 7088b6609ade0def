"""Responses by RECIST 1.1: worked by hand from the rules of Eisenhauer 2009 (sections 4.3 and 4.4, Tables 1 to 3)."""

from __future__ import annotations

import math

import pytest

from manytruths.core.undefined import code
from manytruths.measures.recist import Visit, recist_responses


def targets(*sums):
    return [Visit({"liver 1": mm}) for mm in sums]


def overall(visits):
    return [response.overall for response in recist_responses(visits)]


@pytest.mark.parametrize(
    ("sums", "wanted"),
    [
        ((100, 70), ["PR"]),  # exactly 30% smaller
        ((100, 70.1), ["SD"]),
        ((100, 119.9), ["SD"]),
        ((100, 120), ["PD"]),  # 20% and 20 mm over the baseline, which is the nadir
        ((20, 24), ["SD"]),  # 20%, but only 4 mm
        ((20, 25), ["PD"]),  # 25% and 5 mm
        ((100, 50, 60), ["PR", "PD"]),  # 20% and 10 mm over the nadir, though 40% below the baseline
        ((100, 50, 59), ["PR", "PR"]),
        ((100, 90, 100), ["SD", "SD"]),  # 11% over the nadir
        ((100, 0), ["CR"]),
        ((100, 0, 6), ["CR", "PD"]),  # from nothing, any growth is more than 20%; 5 mm are needed
        ((100, 0, 4), ["CR", "PR"]),
        ((100, 60, 40, 45, 48), ["PR", "PR", "PR", "PD"]),  # 48 is 20% and 8 mm over 40
        ((30, 21), ["PR"]),  # 30 × 0.7 is 21 however it is rounded
    ],
)
def test_responses_of_targets(sums, wanted):
    assert overall(targets(*sums)) == wanted


def test_numbers_that_a_response_rests_on():
    first, second = recist_responses(targets(80, 40, 60))
    assert (first.total, first.nadir, first.change_from_baseline, first.change_from_nadir) == (40, 80, -0.5, -0.5)
    assert (second.total, second.nadir, second.change_from_baseline, second.change_from_nadir) == (60, 40, -0.25, 0.5)


def test_nodes_need_not_vanish_for_a_complete_response():
    nodes = frozenset({"node"})
    visits = [Visit({"lung": 30, "node": 18}, nodes), Visit({"lung": 0, "node": 9.9}, nodes)]
    (response,) = recist_responses(visits)
    assert (response.overall, response.total) == ("CR", 9.9)
    assert overall([visits[0], Visit({"lung": 0, "node": 10}, nodes)]) == ["PR"]
    assert overall([visits[0], Visit({"lung": 2, "node": 5}, nodes)]) == ["PR"]


def test_table_1_of_the_guideline():
    """Target, non-target and new lesions; each line of Table 1."""
    now = {"CR": 0, "PR": 60, "SD": 95, "PD": 130, "NE": None}
    status = {"CR": "absent", "non-CR/non-PD": "present", "NE": "", "PD": "progression"}
    lines = [
        ("CR", "CR", False, "CR"), ("CR", "non-CR/non-PD", False, "PR"), ("CR", "NE", False, "PR"),
        ("PR", "CR", False, "PR"), ("PR", "non-CR/non-PD", False, "PR"), ("PR", "NE", False, "PR"),
        ("SD", "CR", False, "SD"), ("SD", "non-CR/non-PD", False, "SD"), ("SD", "NE", False, "SD"),
        ("NE", "non-CR/non-PD", False, "NE"), ("NE", "CR", False, "NE"),
        ("PD", "CR", False, "PD"), ("PD", "PD", True, "PD"),
        ("SD", "PD", False, "PD"), ("CR", "PD", False, "PD"), ("NE", "PD", False, "PD"),
        ("CR", "CR", True, "PD"), ("SD", "NE", True, "PD"), ("NE", "NE", True, "PD"),
    ]  # fmt: skip
    for target, other, new, wanted in lines:
        visits = [Visit({"t": 100}, non_targets={"n": "present"})]
        visits.append(Visit({"t": now[target]}, non_targets={"n": status[other]}, new_lesion=new))
        (response,) = recist_responses(visits)
        assert (response.target, response.non_target, response.overall) == (target, other, wanted)


def test_targets_that_were_not_evaluated():
    visits = [Visit({"a": 40, "b": 30}), Visit({"a": 20, "b": None})]
    (response,) = recist_responses(visits)
    assert (response.overall, code(response.total)) == ("NE", "target_not_evaluated")
    # what was seen alone has grown by 20% of the nadir and 5 mm
    assert overall([visits[0], Visit({"a": 85, "b": None})]) == ["PD"]
    # without a baseline nothing can be said, but of a new lesion
    without = [Visit({"a": None, "b": 30}), Visit({"a": 10, "b": 5})]
    (response,) = recist_responses(without)
    assert (response.overall, code(response.change_from_baseline)) == ("NE", "target_not_evaluated")
    assert overall([without[0], Visit({"a": 10, "b": 5}, new_lesion=True)]) == ["PD"]
    # a visit that is not complete is no nadir
    assert overall([Visit({"a": 50}), Visit({"a": None}), Visit({"a": 48})]) == ["NE", "SD"]
    assert overall([Visit({"a": 0.0}), Visit({"a": 10.0})]) == ["NE"]


def test_several_non_targets():
    visits = [Visit({"t": 50}, non_targets={"a": "present", "b": "present"})]
    for statuses, wanted in (
        (("absent", "absent"), "CR"), (("absent", "present"), "PR"),
        (("absent", ""), "PR"), (("progression", ""), "PD"),
    ):  # fmt: skip
        visit = Visit({"t": 0}, non_targets=dict(zip("ab", statuses, strict=True)))
        assert overall([visits[0], visit]) == [wanted]
    assert math.isnan(recist_responses([Visit({"t": 0}), Visit({"t": 1})])[0].change_from_baseline)
