"""A given reference is not called independent; one that is a rater's mask is found; raters are scored by it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from printed import Cases, page, printed, write_masks

from study_folders import disc


def raters() -> Cases:
    rng = np.random.default_rng(0)
    return {
        f"p{k:02}": {r: disc(40, *rng.normal(0, 1, 2), radius=9 + rng.normal(0, 0.7)) for r in "ABCD"}
        for k in range(12)
    }


def dice(a: np.ndarray, b: np.ndarray) -> float:
    return float(2 * (a & b).sum() / (a.sum() + b.sum()))


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> dict[str, str]:
    """By command, of a study whose reference is byte for byte the mask of rater B."""
    folder, masks = tmp_path_factory.mktemp("reference"), raters()
    template = write_masks(folder / "masks", masks)
    given = write_masks(folder / "given", {case: {"gold": by["B"]} for case, by in masks.items()}, "{reference}")
    study = folder / "study.toml"
    study.write_text(f"masks = '{template}'\nreference = '{given}'\n")
    commands = {name: printed(name, study, "--out", folder, "--no-pictures") for name in ("agree", "fuse")}
    return {**commands, "report": page(study, folder, "--no-viewer")}


def test_nothing_is_called_independent_of_the_raters(said):
    """Printed before, of whatever was given: "made independently of these raters"."""
    assert "independently of these raters" not in said["report"]
    assert "The given reference gold is the mask of rater B in every case" in said["report"]


@pytest.mark.parametrize("command", ["agree", "fuse", "report"])
def test_a_reference_that_is_a_raters_mask_is_found(said, command):
    """Nothing was said before."""
    assert "The given reference gold is the mask of rater B in every case, pixel by pixel." in said[command]


@pytest.mark.parametrize("command", ["fuse", "report"])
def test_a_raters_own_mask_gives_no_effective_number_of_raters(said, command):
    """Printed before, by STAPLE: four raters "count as" fewer independent ones."""
    assert not re.search(r"(?:worth about|count as) [\d.]+", said[command])


@pytest.mark.parametrize("command", ["agree", "fuse", "report"])
def test_raters_are_scored_against_the_reference(said, command):
    """Nothing was before: the reference was used for algorithms alone."""
    masks = raters().values()
    for rater in "ACD":
        score = np.mean([dice(by[rater], by["B"]) for by in masks])
        shown = f"{score:.{2 if command == 'report' else 3}f}"
        assert re.search(rf" {rater} gold {shown} ", said[command]), rater
