"""What is said of the order of algorithms, and of a winner."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from manytruths.analyses.evaluate.printing import pair_sentence
from manytruths.analyses.rank.tables import charts
from manytruths.claims.algorithms import consider_orders
from manytruths.claims.claim import ClaimLog
from manytruths.claims.orders import compare_pair, describe_standards
from manytruths.claims.sentences import plain_text
from manytruths.evaluation.ranking.by_reference import rank_by_reference


def said_of(scores, references, same=(), untested="") -> tuple[str, str]:
    """The sentence about the order of net and wide, in both tenses."""
    log = ClaimLog()
    consider_orders(log, rank_by_reference(scores, ["net", "wide"], references, same), "Dice", untested=untested)
    claim = log.claims[0]
    return plain_text(claim.sentence), plain_text(claim.result)


def discs(cases: int, copies: bool = False) -> mt.Study:
    """Two raters of discs, and two algorithms; ``copies``: the given reference is the first rater's mask."""
    rows, columns = np.mgrid[:24, :24]

    def disc(radius: float, shift: int = 0) -> np.ndarray:
        return (np.hypot(rows - 12, columns - 12 - shift) < radius).astype(np.uint8)

    names = [f"p{i:02}" for i in range(cases)]
    masks = {n: {"A": disc(6 + i % 3), "B": disc(8 + i % 2)} for i, n in enumerate(names)}
    predictions = {n: {"net": disc(6.2 + i % 3, 1), "wide": disc(9.5)} for i, n in enumerate(names)}
    references = {n: {"expert": masks[n]["A"]} for n in names} if copies else None
    return mt.Study.from_arrays(masks, predictions=predictions, references=references)


def evaluated(cases: int, copies: bool = False):
    return mt.evaluate(discs(cases, copies), distances=False, second_look=False, consensus="vote:0.5")


def test_standards_give_orders():
    """Printed before: "3 give 2 different orders; first: net under 2 and wide under 1"."""
    now, then = said_of([[0.9, 0.8, 0.4], [0.5, 0.7, 0.6]], ["A", "B", "C"])
    assert now == "By Dice, the three reference standards give two orders: net is first under two and wide under one."
    assert then == now.replace("give", "gave").replace("net is", "net was")
    assert said_of([[0.9, 0.8], [0.5, 0.7]], ["A", "B"])[0] == (
        "By Dice, the order of the algorithms is the same under both reference standards: net > wide."
    )
    assert said_of([[0.9], [0.5]], ["A"])[0] == (
        "By Dice, the order of the algorithms is under the one reference standard: net > wide."
    )


def test_equal_standards_are_named_with_the_order():
    """Before, a copy of a rater was counted without a word."""
    now, then = said_of([[0.9, 0.8, 0.9], [0.5, 0.9, 0.5]], ["A", "B", "expert"], same=[("A", "expert")])
    assert now == (
        "By Dice, the three reference standards, of which A and expert give the same scores, give two orders: net is "
        "first under two and wide under one."
    )
    assert "of which A and expert gave the same scores, gave two orders" in then
    same, _ = said_of([[0.9, 0.8, 0.9], [0.5, 0.7, 0.5]], ["A", "B", "expert"], same=[("A", "expert")])
    assert "under all three reference standards, of which A and expert give the same scores: net > wide." in same


def test_a_given_reference_that_is_a_raters_mask_is_found_by_its_scores():
    found = evaluated(12, copies=True)
    # A's discs lie within B's, so that half of the votes is what B marked
    assert found.orders["", "dice"].same == (("A", "expert"), ("B", "vote:0.5"))
    text = found.claims.of("algorithms.order")[0].text
    assert "of which A and expert, and B and vote:0.5, give the same scores" in text


@pytest.mark.parametrize("cases", [4, 12])
def test_few_cases_are_not_tested(cases):
    """Printed before: "without a test" of any number of cases, and p values of four."""
    text = evaluated(cases).claims.of("algorithms.order")[0].text
    assert ("not tested: four cases; it takes ten" in text) == (cases == 4)
    assert "without a test" not in text


def test_the_only_other_algorithm_is_named():
    """Printed before: "better than every other algorithm" where there was one, and "shifted wins" in ``rank``."""
    values = 0.6 + np.random.default_rng(0).normal(0, 0.01, (2, 14, 2, 1))
    values[0] += 0.2
    found = mt.rank(mt.Scores.of(values, ["shifted", "eroded"], references=["x", "y"]), resamples=50)
    text = found.claims[0].text
    assert text.startswith("By Dice, shifted is better than eroded under both reference standards (largest adjusted p")
    assert found.verdict.sentence.startswith("By dice, shifted is better than eroded under both reference standards")
    more = mt.rank(mt.Scores.of(np.concatenate([values, values[1:] - 0.1]), list("abc"), references=["x", "y"]))
    assert "a is better than every other algorithm under both reference standards" in more.claims[0].text


def test_another_measure_that_disagrees_is_named():
    """Printed before: "C-S is ahead of Gauss under all 17 standards", which held for one measure."""
    main = rank_by_reference([[0.5, 0.6], [0.3, 0.4]], ["a", "b"], ["A", "B"]).separate("a", "b")
    other = rank_by_reference([[0.5, 0.6], [0.9, 0.4]], ["a", "b"], ["A", "B"]).separate("a", "b")
    assert compare_pair(main, "P̄-R area", {"ROC area": other}) == (
        "By P̄-R area, a is ahead of b under both standards used: its lowest score exceeds the other's highest; but by "
        "ROC area, b is ahead under 1 of 2."
    )
    assert compare_pair(other, "ROC area", {"P̄-R area": main}) == (
        "By ROC area, it depends: of 2 standards used, a is ahead under 1, b under 1."
    )
    names = describe_standards(["A", "B", "vote:any", "vote:0.5", "staple"], {"A", "B"})
    assert names == "two raters, two votes and staple"


def test_other_areas_of_probability_maps_are_compared_too():
    rng = np.random.default_rng(0)
    masks = {"p1": {rater: (rng.random((20, 20)) < 0.3).astype(np.uint8) for rater in "AB"}}
    maps = {"p1": {name: rng.random((20, 20)).astype(np.float32) for name in ("one", "two")}}
    study = mt.Study.from_arrays(masks, predictions=maps, probability=True)
    found = mt.evaluate(study, consensus="vote:any,vote:0.5")
    assert found.probability_scores is not None
    assert set(found.probability_scores.other_orders) == {"pr_area", "roc_area"}
    # of two raters, half of the votes is what any of them marked
    assert found.orders["", "pbar_area"].same == (("vote:any", "vote:0.5"),)
    assert pair_sentence(found, "", "pbar_area", "one", "two").startswith("By P̄-R area, ")


def test_charts_say_the_same_of_several_standards():
    values = np.random.default_rng(1).random((3, 12, 2, 1))
    drawn = charts(mt.rank(mt.Scores.of(values, list("abc"), references=["x", "y"]), resamples=50).ranking)
    assert "significantly better than another under both reference standards" in drawn["ranks-overall"]
    assert "cannot be told apart" not in drawn["ranks-overall"]
    assert "cannot be told apart" in drawn["ranks-dice-x"]


def test_a_rater_whose_masks_an_algorithm_has_is_no_reference_standard_for_the_order():
    """Net has the masks of A: under A, and under A alone, it would be first."""
    rows, columns = np.mgrid[:24, :24]

    def disc(radius: float, shift: int = 0) -> np.ndarray:
        return (np.hypot(rows - 12, columns - 12 - shift) < radius).astype(np.uint8)

    drawn = {f"p{i:02}": {"A": disc(6 + i % 3), "B": disc(8.6 + i % 2), "C": disc(9 + i % 2, 1)} for i in range(12)}
    predictions = {name: {"net": masks["A"], "wide": disc(9.5, 2)} for name, masks in drawn.items()}
    study = mt.Study.from_arrays(drawn, predictions=predictions)
    found = mt.evaluate(study, pictures=False)
    assert found.claims.of("algorithms.copy").made
    (claim,) = found.claims.of("algorithms.order")
    end = "rater A {} left out as a reference standard, as net {} A's masks."
    assert claim.text.endswith("; " + end.format("is", "has"))
    assert plain_text(claim.result).endswith("; " + end.format("was", "had"))
    orders = found.orders[found.mask_scores.parts[0].label, "dice"]
    assert orders.of("A").places[0] == ("net",)
    others = orders.without(["A"])
    assert "A" not in others.references
    assert sum(len(ranking.references) for ranking in others.rankings) == len(orders.references) - 1
    words = {3: "three", 4: "four", 5: "five", 6: "six"}[len(others.references)]
    assert f" {words} reference standards" in claim.text


def test_where_all_standards_are_copied_no_order_is_said():
    log = ClaimLog()
    consider_orders(log, rank_by_reference([[0.9], [0.5]], ["net", "wide"], ["A"]), "Dice", copied={"A": ["net"]})
    (claim,) = log.claims
    assert claim.why_not.code == "copies_of_rater"
