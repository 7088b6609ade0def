"""What is said about the agreement of all raters."""

from __future__ import annotations

import pytest

from manytruths.claims.agreement import AgreementFacts, consider_agreement
from manytruths.claims.claim import ClaimLog, Claims
from manytruths.claims.numbers import TableIndex
from manytruths.io.result_tables import Row, Table

RULE = ("agreement.reliable", "agreement.tentative", "agreement.unreliable", "agreement.undecided")


def judge_alpha(low: float, high: float, n: int) -> Claims:
    """What is made of mean alpha and its interval."""
    table = Table("agreement")
    table.add([Row("mean", "krippendorff_alpha", (low + high) / 2, low=low, high=high, n=n)])
    log = ClaimLog()
    consider_agreement(log, TableIndex("agree/agreement.csv", table), AgreementFacts(raters=4, subjects=n))
    return log.settle().of(*RULE).made


@pytest.mark.parametrize(("low", "kind"), [(0.85, "agreement.reliable"), (0.7, "agreement.tentative")])
def test_a_favourable_verdict_says_what_it_takes_for_granted(low: float, kind: str) -> None:
    """Twelve subjects hold no failure with a chance of 5% where 22% of all fail: 0.78 ** 12 = 0.05."""
    few, many = judge_alpha(low, 0.9, 12), judge_alpha(low, 0.9, 60)
    assert [claim.kind.id for claim in (*few, *many)] == [kind, kind]
    granted = "provided that cases without agreement {} rare (a study of 12 can miss a share of up to 22%)."
    assert few[0].text.endswith(granted.format("are"))
    assert str(few[0].result[0]).endswith(granted.format("were"))
    assert "provided" not in many[0].text


def test_other_verdicts_take_nothing_for_granted() -> None:
    for low, high in ((0.3, 0.5), (0.5, 0.7)):
        assert "provided" not in judge_alpha(low, high, 12)[0].text
