"""The range of ``plan`` holds what other raters of real panels decide, and the truth of simulated ones."""

from __future__ import annotations

import pytest
from tests.simulations.planning import (
    HELD_OUT,
    OTHER_WORLDS,
    crowd_masks,
    fissure_masks,
    try_changes,
    try_pilots,
    try_subsets,
)

from data_folder import data


@pytest.mark.slow
def test_subsets_of_real_panels_foretell_the_others():
    """In at least 90% of subsets of two to six raters, and narrower than 0 to 1 from three on."""
    data("fissure"), data("crowd")
    panels = [("fissure", fissure_masks()), *crowd_masks()]
    found = [line for name, masks in panels for line in try_subsets(name, masks, 40)]
    for raters in range(2, 7):
        of_size = [line for line in found if line.raters == raters]
        assert sum(line.held for line in of_size) / len(of_size) >= 0.9
        assert raters < 3 or max(line.widest for line in of_size) < 0.8
    for name, _ in panels:
        of_panel = [line for line in found if line.panel == name]
        assert sum(line.held for line in of_panel) / len(of_panel) >= 0.9


@pytest.mark.slow
def test_subsets_foretell_what_two_more_raters_change():
    """In at least 90% of subsets of three to six raters."""
    data("fissure"), data("crowd")
    panels = [("fissure", fissure_masks()), *crowd_masks()]
    found = [line for name, masks in panels for line in try_changes(name, masks, 20)]
    assert len(found) == 4 * len(panels)
    for raters in range(3, 7):
        of_size = [line for line in found if line.raters == raters]
        assert sum(line.held for line in of_size) / len(of_size) >= 0.9
        assert max(line.widest for line in of_size) < 0.6


@pytest.mark.slow
def test_panels_that_the_method_was_not_chosen_on():
    data("crowd")
    found = [line for name, masks in crowd_masks(HELD_OUT) for line in try_subsets(name, masks, 15, seed=2)]
    assert len(found) == 5 * len(HELD_OUT)
    for raters in range(2, 7):
        of_size = [line for line in found if line.raters == raters]
        assert sum(line.held for line in of_size) / len(of_size) >= 0.9
        assert raters < 3 or max(line.widest for line in of_size) < 1


@pytest.mark.slow
@pytest.mark.parametrize("world", OTHER_WORLDS)
def test_ranges_hold_the_truth_of_other_worlds(world):
    """Of 30 pilots with 95% or more each; fewer than 25 would be a chance of 1 in 500."""
    for spread in (0.0, 2.5):
        assert try_pilots(4, 12, spread, 30, seed=3, world=world).held >= 25 / 30


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 1.5])
@pytest.mark.parametrize(("raters", "subjects"), [(3, 10), (5, 50), (8, 20)])
def test_ranges_hold_the_truth_of_simulated_pilots(raters, subjects, spread):
    """Of 60 pilots about 95% or more; fewer than 51 would be a chance of 1 in 500. Enough is rarely claimed falsely."""
    found = try_pilots(raters, subjects, spread, 60)
    assert found.held >= 51 / 60
    assert found.enough <= 8 / 60
