"""Names, folds and numbers of a data set."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manytruths import CallError, LabelError, Labels
from manytruths.analyses.export.targets import Numbering
from manytruths.analyses.export.training_set import TrainingOptions, folds_of, plain_names

SIZES = st.dictionaries(st.text(min_size=1, max_size=4), st.integers(1, 9), min_size=1, max_size=12)


@given(SIZES, st.integers(2, 7), st.integers(0, 99))
def test_every_subject_is_in_one_fold_and_no_fold_is_empty(sizes, folds, seed):
    if folds > len(sizes):
        with pytest.raises(CallError, match=f"there are {len(sizes)} subjects"):
            folds_of(sizes, folds, seed)
        return
    found = folds_of(sizes, folds, seed)
    assert set(found) == set(sizes)
    assert set(found.values()) == set(range(folds))
    filled = Counter()
    for subject, fold in found.items():
        filled[fold] += sizes[subject]
    assert max(filled.values()) - min(filled.values()) <= max(sizes.values())


@given(SIZES, st.integers(0, 99))
def test_folds_do_not_depend_on_the_order_of_subjects(sizes, seed):
    turned = dict(reversed(sizes.items()))
    assert folds_of(sizes, None, seed) == folds_of(turned, None, seed)


def test_another_seed_gives_other_folds():
    sizes = {f"s{n}": 1 for n in range(20)}
    assert len({tuple(folds_of(sizes, None, seed).values()) for seed in range(5)}) == 5


@given(st.lists(st.lists(st.text(max_size=8), min_size=1, max_size=2), unique_by=tuple))
def test_names_are_plain_and_differ_even_without_capitals(parts):
    names = plain_names(parts)
    assert len({name.casefold() for name in names}) == len(parts)
    assert all(name.isascii() and not set(name) & set(" /\\:*?\"<>|'") and not name.startswith(".") for name in names)


def test_plain_names_stay():
    assert plain_names([["p01"], ["p-1.b"], ["p01", "Dr_A"]]) == ["p01", "p-1.b", "p01__Dr_A"]
    assert plain_names([["P1"], ["p1"]])[0] != "P1"


def test_names_that_would_be_joined_to_one_stay_two():
    one, other = plain_names([["p", "A__B"], ["p__A", "B"]])
    assert one != other


def test_labels_are_numbered_without_gaps():
    numbering = Numbering.of(Labels((0, 3, 200), ("background", "gland", "tumour")))
    assert numbering.named == {"background": 0, "gland": 1, "tumour": 2}
    assert numbering.ignore == 3
    assert list(numbering.rows()) == [(0, 0, "background"), (1, 3, "gland"), (2, 200, "tumour")]


def test_labels_without_background_get_one():
    assert Numbering.of(Labels((1, 2))).named == {"background": 0, "1": 1, "2": 2}


def test_too_many_labels_are_refused():
    with pytest.raises(LabelError, match="at most 254"):
        Numbering.of(Labels(tuple(range(1, 256))))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"consensus": "vote:0.5,staple"}, "one method"),
        ({"consensus": "stapel"}, "did you mean 'staple'"),
        ({"folds": 1}, "at least 2"),
        ({"seed": -1}, "at least 0"),
        ({"disputed": "maybe"}, "one of consensus, ignore, soft, replicate"),
        ({"channel": " "}, "--channel"),
    ],
)
def test_plans_that_have_no_answer(wrong, said):
    with pytest.raises(CallError, match=said):
        TrainingOptions(**wrong)


def test_numbers_of_a_mask():
    from manytruths import Study

    study = Study.from_arrays({"p": [np.array([[0, 7, 9]]), np.array([[7, 7, 0]])]}, void=9)
    case = study["p"]
    assert Numbering((7,), ("7",)).number_mask(np.array([[0, 7, 9]]), case).tolist() == [[0, 1, 255]]
