"""A study of twelve weeks, imported week by week: what is noticed, of whom, and when."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from exchange_reads import bits, read
from manytruths import LabelError

RATERS, WEEKS, CASES = ("anna", "ben", "clara", "dora"), 12, 4
COPIES_FROM, NEW_LABEL_FROM = 7, 5


def drawn(rng):
    """A disc with a border of its own."""
    y, x = np.mgrid[:20, :30]
    return np.hypot(y - 10 - rng.normal(), x - 15 - rng.normal()) < 6 + rng.normal() / 2


def week_of(number, rng, *, copies=False, new_label=False):
    """The readings of a week; dora copies clara, and ben calls lesions otherwise, from some week on."""
    reads = []
    for k in range(CASES):
        masks = {rater: drawn(rng) for rater in RATERS}
        if copies and number >= COPIES_FROM:
            masks["dora"] = masks["clara"]
        for rater, mask in masks.items():
            label = "tumour" if new_label and rater == "ben" and number >= NEW_LABEL_FROM else "lesion"
            reads.append(read(f"w{number:02}-{k}.png", rater, [bits(mask, label)], tool="CVAT"))
    return reads


def weekly(folder, seed, **how):
    """The result of every week; from the week of the error on, the label is renamed."""
    rng, reads = np.random.default_rng(seed), []
    for number in range(1, WEEKS + 1):
        reads += week_of(number, rng, **how)
        try:
            yield number, mt.import_study(reads, to=folder, update=True)
        except LabelError as error:
            yield number, error
            yield number, mt.import_study(reads, to=folder, update=True, rename_label={"tumour": "lesion"})


def copied(result):
    return [note for note in result.notes if "identical masks" in note]


def test_who_copies_and_who_renames_is_named_in_the_week_in_which_they_begin(tmp_path):
    results = list(weekly(tmp_path / "study", 0, copies=True, new_label=True))
    errors = [(number, str(found)) for number, found in results if isinstance(found, LabelError)]
    assert [number for number, _ in errors] == [NEW_LABEL_FROM]
    assert "'tumour' (ben" in errors[0][1]
    imported = {number: found for number, found in results if not isinstance(found, LabelError)}
    named = [number for number, found in imported.items() if copied(found)]
    assert named == list(range(COPIES_FROM, WEEKS + 1))
    assert all(
        copied(imported[number])[0].startswith("clara and dora have identical masks in 4 of") for number in named
    )
    assert all(imported[number].changes["added"] == CASES * len(RATERS) for number in range(2, WEEKS + 1))
    last = imported[WEEKS]
    assert last.study().rater_names == RATERS
    assert len(last.study()) == CASES * WEEKS
    assert len(last.tables["updates"]) == CASES * len(RATERS) * (WEEKS - 1)


@pytest.mark.slow
def test_healthy_studies_give_no_alarm(tmp_path):
    """Neither an error nor a note but those that every export without images has."""
    for seed in range(20):
        for number, found in weekly(tmp_path / f"study-{seed}", seed + 1):
            assert not isinstance(found, LabelError)
            assert number == 1 or found.notes == ()
