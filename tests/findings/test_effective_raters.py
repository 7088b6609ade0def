"""How many independent raters the raters are worth is said against a given reference only."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from printed import page, printed, write_masks

from study_folders import disc

NUMBER = re.compile(r"(?:worth about|count as) ([\d.]+)")
RATERS = "ABCDE"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Five raters who err in the same places: a correlation of errors that leaves about two of them."""
    rng = np.random.default_rng(0)
    masks, truths = {}, {}
    for number in range(10):
        truth, hard = disc(48, radius=15) == 1, rng.random((48, 48)) < 0.15
        errors = {r: rng.random(truth.shape) < np.where(hard, 0.6, 0.04) for r in RATERS}
        masks[f"p{number}"] = {r: truth ^ error for r, error in errors.items()}
        truths[f"p{number}"] = {"expert": truth}
    folder = tmp_path_factory.mktemp("dependent")
    given = write_masks(folder / "given", truths, "{reference}")
    wrong = {r: np.concatenate([(masks[c][r] != truths[c]["expert"]).ravel() for c in masks]) for r in RATERS}
    correlation = np.mean([np.corrcoef(wrong[a], wrong[b])[0, 1] for a, b in combinations(RATERS, 2)])
    return folder, write_masks(folder / "masks", masks), given, 5 / (1 + 4 * correlation)


@pytest.mark.slow
def test_a_consensus_gives_no_effective_number(study):
    """Printed before: five raters "weigh about as much as 3.9 independent ones", where 2.0 is true."""
    folder, template, *_ = study
    commands = (("agree", "--no-pictures"), ("fuse", "--no-pictures"))
    texts = [printed(name, template, "--out", folder, *more) for name, *more in commands] + [page(template, folder)]
    for text in texts:
        assert not NUMBER.search(text)
    assert "too low where raters share errors" in texts[0]
    assert "too low where raters share errors" in texts[2]


@pytest.mark.slow
def test_a_given_reference_gives_the_effective_number(study):
    """The number above was printed before, whatever reference was given."""
    folder, template, given, effective = study
    (folder / "study.toml").write_text(f"masks = '{template}'\nreference = '{given}'\n")
    texts = (
        printed("agree", folder / "study.toml", "--out", folder, "--no-pictures"),
        page(folder / "study.toml", folder),
    )
    for text in texts:
        assert {float(number) for number in NUMBER.findall(text)} == {round(effective, 1)}
