"""What is said of a rater many of whose masks are probably broken."""

from __future__ import annotations

import re

import numpy as np
import pytest

import manytruths as mt
from manytruths.claims.claim import Claims

Y, X = np.mgrid[:64, :64]


BREAKS = (lambda mask: np.roll(mask, 22, 0), np.zeros_like, np.invert)


def study(broken: int, cases: int = 12, breaks=BREAKS, **more) -> mt.Study:
    """Four raters who draw ellipses; the masks of E are shifted, empty or inverted in some cases."""
    rng, masks = np.random.default_rng(3), {}
    for i in range(cases):
        y, x = rng.uniform(22, 30, 2)
        high, wide = rng.uniform(6, 8), rng.uniform(11, 14)
        drawn = {
            r: (
                (((Y - y) / (high * rng.uniform(0.97, 1.03))) ** 2 + ((X - x) / (wide * rng.uniform(0.97, 1.03))) ** 2)
                < 1
            )
            for r in "ABCE"
        }
        if i < broken:
            drawn["E"] = breaks[i % len(breaks)](drawn["E"])
        masks[f"p{i:02}"] = {r: m.astype(np.uint8) for r, m in drawn.items()}
    return mt.Study.from_arrays(masks, **more)


def agreed(of: mt.Study) -> mt.Agreement:
    return mt.agree(of, pictures=False, measure="none")


@pytest.fixture(scope="module")
def careless() -> mt.Agreement:
    return agreed(study(9))


def many(of: Claims) -> list[str]:
    return [claim.text for claim in of.of("masks.many").made]


def test_a_rater_with_many_broken_masks_is_named_before_the_masks(careless):
    (text,) = many(careless.claims)
    made = [claim.kind.id for claim in careless.claims.made]
    assert made[0] == "masks.many"
    assert len([kind for kind in made if kind.startswith("masks.")]) > 2
    count = len({(s.case, s.columns) for s in careless.suspicions if s.case and s.raters == ("E",)})
    assert 6 <= count <= 9, "empty masks are named where the others marked as much as usual"
    kinds = re.match(rf"{count} of 12 masks of rater E are probably broken or lost, or meant so \(([^)]*)\)", text)
    assert {words.split()[1] for words in kinds[1].split(", ")} == {"shifted", "inverted", "empty"}
    assert sum(int(words.split()[0]) for words in kinds[1].split(", ")) == count
    assert text.endswith("): look at the masks of E first, and leave E out if they are wrong (--exclude-rater E).")
    (claim,) = careless.claims.of("masks.many")
    assert "".join(getattr(part, "shown", part) for part in claim.result).startswith(
        f"{count} of 12 masks of rater E were"
    )


def test_the_advice_is_to_leave_the_rater_out(careless):
    notes = [str(note) for note in careless.notes]
    assert sum("--exclude-rater E" in note for note in notes) == 1
    assert not any("--exclude E=" in note for note in notes)


@pytest.mark.parametrize(("broken", "cases"), [(2, 12), (3, 12), (2, 4)])
def test_few_broken_masks_are_named_one_by_one(broken, cases):
    found = agreed(study(broken, cases))
    assert found.suspicions
    assert not many(found.claims)
    assert [c.why_not.code for c in found.claims.of("masks.many")] == ["none_found"]
    assert any("--exclude E=" in str(note) for note in found.notes)


def test_a_third_is_many():
    assert many(agreed(study(4)).claims)


@pytest.mark.parametrize(
    ("breaks", "said"),
    [
        ((np.zeros_like,), "may be lost, or meant so ("),
        ((lambda mask: np.roll(mask, 22, 0), lambda mask: np.roll(mask, 22, 1)), "are probably broken, or meant so ("),
        ((np.invert,), "are probably broken ("),
    ],
)
def test_what_may_be_an_opinion_is_not_only_called_broken(breaks, said):
    (text,) = many(agreed(study(9, breaks=breaks)).claims)
    assert said in text
    assert text.endswith("and leave E out if they are wrong (--exclude-rater E).")


def test_exchangeable_raters_are_nobody():
    assert not many(agreed(study(9, raters="exchangeable")).claims)


def test_check_says_the_same():
    assert many(mt.check(study(9)).claims) == many(agreed(study(9)).claims)
