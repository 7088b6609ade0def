"""A study of twelve weeks, imported week by week and looked at with the command: who changes is named, and when."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import manytruths as mt
from exchange_reads import bits, read
from manytruths import LabelError
from manytruths.cli import status

RATERS, WEEKS, CASES, SIDE = ("anna", "ben", "clara", "dora", "emil"), 12, 5, 48
NEW_LABEL_FROM, COPIES_FROM = 5, 7
ALARMS = ("progress.drift_size", "progress.drift_distance", "progress.copies", "progress.labels", "progress.since")


def week_of(number, rng, *, healthy=False):
    """The readings of a week: anna draws larger and larger, ben renames his label, dora copies clara."""
    reads = []
    for k in range(CASES):
        y, x = np.mgrid[:SIDE, :SIDE]
        radius, far = rng.uniform(8, 11), np.hypot(y - rng.normal(24, 2), x - rng.normal(24, 2))
        grown = 1 if healthy else 1 + 0.02 * max(0, number - 3)
        masks = {}
        for rater in RATERS:
            noise = gaussian_filter(rng.normal(size=(SIDE, SIDE)), 4)
            masks[rater] = far * np.exp(0.06 * noise / noise.std()) < radius * (grown if rater == "anna" else 1)
        if not healthy and number >= COPIES_FROM:
            masks["dora"] = masks["clara"]
        for i, (rater, mask) in enumerate(masks.items()):
            label = "tumour" if not healthy and rater == "ben" and number >= NEW_LABEL_FROM else "lesion"
            day = 7 * (number - 1) + k
            when = str(np.datetime64("2026-01-05T08:00") + np.timedelta64(day, "D") + np.timedelta64(i, "h"))
            reads.append(
                read(
                    f"w{number:02}-{k}.png", rater, [bits(mask, label)], (SIDE, SIDE), tool="CVAT", started=when,
                    seconds=60.0 + i,
                )
            )  # fmt: skip
    return reads


def watched(folder, seed, **how):
    """The error of the import, if there is one, and what the command says at the end of every week."""
    rng, reads, errors, said = np.random.default_rng(seed), [], {}, {}
    for number in range(1, WEEKS + 1):
        reads += week_of(number, rng, **how)
        try:
            mt.import_study(reads, to=folder / "study", update=True)
        except LabelError as error:
            errors[number] = str(error)
            mt.import_study(reads, to=folder / "study", update=True, rename_label={"tumour": "lesion"})
        today = str(np.datetime64("2026-01-05") + 7 * number)
        arguments = ["progress", folder / "study", "--out", folder / "out", "--today", today, "--quiet"]
        assert status(list(map(str, arguments))) == 0
        with open(folder / "out/progress/claims.csv", newline="") as stream:
            rows = [row for row in csv.DictReader(stream) if row["made"] == "yes"]
        said[number] = {(row["claim"], row["about"]): row["text"] for row in rows if row["claim"].startswith(ALARMS)}
        said[number] |= {(row["claim"], ""): row["text"] for row in rows if row["claim"].startswith("masks.")}
    return errors, said


def first(said, kind, about):
    return min((number for number, claims in said.items() if (kind, about) in claims), default=None)


@pytest.mark.slow
def test_each_is_named_and_when_it_began(tmp_path):
    errors, said = watched(tmp_path, 0)
    # a label that the study does not have is refused by the import of the week in which it comes
    assert list(errors) == [NEW_LABEL_FROM]
    assert "'tumour' (ben" in errors[NEW_LABEL_FROM]
    assert first(said, "progress.copies", "clara and dora") == COPIES_FROM
    assert first(said, "progress.since", "clara and dora") in (COPIES_FROM, COPIES_FROM + 1)
    began = said[WEEKS]["progress.since", "clara and dora"]
    # the last reading of week 6, and the first of week 7
    assert "and 0 of 30 before: this began between 2026-02-13 and 2026-02-16" in began
    assert 6 <= first(said, "progress.drift_size", "anna") <= WEEKS
    text = said[WEEKS]["progress.drift_size", "anna"]
    earlier, later = map(float, re.findall(r"([\d.]+) times", text))
    assert earlier < 1.1 < later
    blamed = {about for claims in said.values() for kind, about in claims if kind in ALARMS}
    assert blamed <= {"anna", "clara and dora"}


@pytest.mark.slow
def test_a_healthy_study_gives_no_alarm(tmp_path):
    errors, said = watched(tmp_path, 1, healthy=True)
    assert not errors
    assert not any(said.values())
