"""Claims are settled by Holm's method over their kinds, and those not made stay with their reason."""

import math

import pytest

from manytruths.claims.claim import Claim, ClaimKind, ClaimLog, Claims, settle_claims
from manytruths.claims.sentences import Cell
from manytruths.core.undefined import Note

KINDS = [ClaimKind(f"raters.{name}", "difference", "", "") for name in "abc"]


def settle(p_values, **how):
    claims = [Claim(kind, (kind.id,), p_value=p) for kind, p in zip(KINDS, p_values, strict=False)]
    return settle_claims(claims, **how)


@pytest.mark.parametrize(
    ("p_values", "made"),
    [((0.001, 0.02, 0.04), "abc"), ((0.016, 0.026, 0.03), "a"), ((0.017, 0.018, 0.019), ""), ((0.03,), "a")],
)
def test_holm_over_kinds(p_values, made):
    assert "".join(claim.kind.id[-1] for claim in settle(p_values).made) == made


def test_several_claims_of_a_kind_share_its_threshold():
    claims = [Claim(KINDS[0], ("x",), p_value=p) for p in (0.001, 0.04, 0.06)] + [Claim(KINDS[1], ("y",), p_value=0.9)]
    assert [claim.made for claim in settle_claims(claims)] == [True, False, False, False]


def test_the_primary_kind_is_not_adjusted_and_the_others_share_half():
    claims = settle((0.04, 0.02, 0.013), primary="raters.a")
    assert [claim.made for claim in claims] == [True, False, False]
    assert [claim.alpha for claim in claims] == pytest.approx([0.05, 0.0125, 0.0125])


def test_claims_that_are_not_tested_are_kept_as_they_are():
    refused = Claim(KINDS[0], ("x",), why_not=Note("too_few_subjects", "there are 8 cases"), p_value=0.001)
    plain = Claim(KINDS[1], ("y",))
    claims = settle_claims([refused, plain])
    assert claims == (refused, plain)
    assert [claim.made for claim in claims] == [False, True]
    assert math.isnan(claims[0].alpha)


def test_the_table_lists_what_was_not_made_with_its_reason_and_its_numbers():
    number = Cell("0.63 (0.51–0.69)", "0.631", "0.51", "0.69", "agree/agreement.csv#mean,,,,union,dice")
    said = Claim(KINDS[0], ("Dice is ", number, "."), about="A")
    unsaid = Claim(KINDS[1], ("B is larger.",), why_not=Note("too_few_subjects", "there are 8 cases"))
    table = Claims((said, unsaid)).spell_intervals("95% CI").table()
    rows = [dict(zip(table.header, row, strict=True)) for row in table.records()]
    assert rows[0]["text"] == "Dice is 0.63 (95% CI 0.51 to 0.69)."
    assert rows[0]["numbers"] == "agree/agreement.csv#mean,,,,union,dice=0.631 (0.51 to 0.69)"
    assert (rows[1]["made"], rows[1]["code"], rows[1]["why_not"]) == ("no", "too_few_subjects", "there are 8 cases")


def test_a_test_whose_claim_is_forbidden_counts_as_a_test():
    """Otherwise the data would choose how many tests there are."""
    first, second = (ClaimKind(f"raters.{name}", "difference", "", "") for name in ("one", "two"))
    log = ClaimLog()
    log.consider(first, ("One.",), p_value=0.04)
    log.consider(second, ("Two.",), p_value=0.9, why_not=Note("no_gap", "there is no gap"))
    settled = log.settle()
    assert settled[0].alpha == 0.025
    assert not settled.made
