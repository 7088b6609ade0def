"""Numbers that are undefined, and why."""

from __future__ import annotations

import copy
import math
import pickle
import re

import numpy as np
import pytest

from manytruths import CallError, Undefined, reason
from manytruths.core.undefined import REASONS, code, ratio, undefined_like
from manytruths.inference.intervals import MIN_SUBJECTS
from manytruths.raters.dependence import FEWEST

FEW = "an interval over subjects needs at least 10 of them; there are 3"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Undefined("nobody_marked"), "nobody marked anything"),
        (
            Undefined("too_few_subjects", "there are 3"),
            "an interval over subjects needs at least 10 of them; there are 3",
        ),
    ],
)
def test_undefined_is_a_nan_with_a_code_and_a_reason(value, text):
    assert isinstance(value, float)
    assert math.isnan(value)
    assert math.isnan(value + 1)
    assert np.isnan(np.array([value])).all()
    for copied in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), copy.copy(value), eval(repr(value)), value):
        assert (copied.code, copied.detail, copied.reason) == (value.code, value.detail, text)
        assert (code(copied), reason(copied)) == (value.code, text)


def test_repr():
    assert repr(Undefined("nobody_marked")) == "Undefined('nobody_marked')"
    assert repr(Undefined("too_few_subjects", "there are 3")) == "Undefined('too_few_subjects', 'there are 3')"


def test_plain_numbers():
    assert (reason(0.5), reason(math.nan)) == ("", "undefined")
    assert (code(0.5), code(math.nan)) == ("", "undefined")


def test_a_code_must_be_known():
    with pytest.raises(CallError, match="nobody came"):
        Undefined("nobody came")


def test_the_same_reason():
    value = Undefined("too_few_subjects", "there are 3")
    assert undefined_like(value, "both_empty") is value
    assert undefined_like(math.nan, "both_empty").code == "undefined"
    assert undefined_like(0.5, "too_few_subjects", "there are 3").reason == value.reason


def test_ratio_is_defined_in_one_place():
    assert ratio(1, 4, "both_empty") == 0.25
    assert code(ratio(0, 0, "both_empty")) == code(ratio(1, 0, "both_empty")) == "both_empty"
    assert type(ratio(np.int64(1), np.int64(2), "both_empty")) is float


def test_codes_are_snake_case_and_texts_differ():
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", name) for name in REASONS)
    assert len(set(REASONS.values())) == len(REASONS)


def test_texts_tell_the_numbers_that_the_code_uses():
    assert f"at least {MIN_SUBJECTS} of them" in REASONS["too_few_subjects"]
    assert f"fewer than {FEWEST} raters" in REASONS["too_few_raters_for_dependence"]
