"""What is said of raters whose masks look broken and are sound, on fewer studies than ``make masks`` has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.simulations.mask_studies import OPINIONS, SIMULATED, MaskStudy, simulate
from tests.simulations.masks import MISTAKEN, Reviewed, named, sound_raters, spoiled_raters, table_of

FAMILY = "one lesion, 5 raters"


@pytest.mark.parametrize("opinion", ["marks twice the area", "is careless: errs three times as far"])
def test_large_and_careless_raters_are_not_named(opinion):
    last, others, _ = sound_raters(2, FAMILY, OPINIONS[opinion], 1)
    assert (last.said, last.of, others.said, others.of) == (0, 2, 0, 8)


def test_what_may_be_an_opinion_is_said_to_be():
    last, others, sure = sound_raters(2, FAMILY, OPINIONS["marks by a threshold, with the noise of the image"], 1)
    assert str(last) == "2 of 2", "they have single pixels, which may be meant so"
    assert (others.said, sure) == (0, 0)


@pytest.mark.parametrize(("family", "said"), [(FAMILY, 1), ("one lesion, 2 raters", 0)])
def test_of_two_raters_nobody_is_named_where_nobody_can_tell_whose_mask_is_wrong(family, said):
    masks = simulate(np.random.default_rng(2), **{**dict(SIMULATED)[family], "cases": 6})
    inverted = next(mistake for mistake in MISTAKEN if mistake.name == "inverted")
    sound = Reviewed.of(MaskStudy(family, masks))
    assert named(sound) == {}
    right, wrong = spoiled_raters(sound, inverted, 1.0, np.random.default_rng(3))
    assert (right.said, wrong.said) == (said, 0)


def test_the_page_has_the_tables():
    page = (Path(__file__).parents[2] / "docs" / "masks.md").read_text(encoding="utf-8")
    text = page.partition("<!-- many: start -->")[2].partition("<!-- many: end -->")[0]
    for name in OPINIONS:
        assert f"| {name} |" in text
    assert table_of(("a", 1), [("b", 2)]) == "| a | 1 |\n| --- | --- |\n| b | 2 |"
