"""Whom ``excl`` and ``simple`` leave out is in a table, in the summary and in a claim."""

from __future__ import annotations

import json

import numpy as np
import pytest

import manytruths as mt
from label_studies import three_labels, tissue_maps
from manytruths.core.undefined import code_of
from study_folders import disc, table


def study() -> mt.Study:
    """D marks elsewhere in four of six cases, and is absent from one."""
    cases = {}
    for number in range(6):
        by = {r: disc(x=x, y=number % 3) for x, r in enumerate("ABC")}
        by["D"] = disc(x=8, y=-6, radius=3) if number < 4 else disc(x=1, y=number % 3)
        if number == 5:
            del by["D"]
        cases[f"p{number}"] = by
    return mt.Study.from_arrays(cases)


@pytest.fixture(scope="module")
def fused(tmp_path_factory):
    out = tmp_path_factory.mktemp("left-out")
    return mt.fuse(study(), out=out, consensus="vote:0.5,excl:0.5,simple", pictures=False), out / "fuse"


def test_every_case_says_who_was_left_out(fused):
    result, folder = fused
    for row in (row for row in table(folder / "convergence.csv") if row["method"] != "vote:0.5"):
        estimated = mt.consensus(result.study[row["case"]], row["method"]).estimate
        gone = getattr(estimated, "excluded", None) or getattr(estimated, "dropped", ())
        assert row["left_out"] == "; ".join(gone)
    rows = [r for r in table(folder / "left_out.csv") if r["scope"] == "case" and r["rater"] == "D"]
    assert len(rows) == 2 * 5, "D is absent from one case"
    flags = {(r["method"], r["case"]): float(r["value"]) for r in rows}
    assert all(flags[m, f"p{n}"] == (n < 4) for m in ("excl:0.5", "simple") for n in range(5))


def test_counts_by_rater_are_claimed_and_in_the_summary(fused):
    result, folder = fused
    count = result.left_out.find("left_out", "pooled", method="simple", rater="D")
    assert (count.value, count.n) == (4, 5)
    texts = {claim.about: claim for claim in result.claims.of("consensus.left_out")}
    assert set(texts) == {"excl:0.5", "simple"}, "a vote leaves nobody out"
    assert texts["simple"].text.startswith("simple leaves out rater D in 4 of 5 cases")
    assert "simple left out rater D in 4 of 5 cases" in "".join(map(str_of, texts["simple"].result))
    made = [row["made"] for row in table(folder / "claims.csv") if row["claim"] == "consensus.left_out"]
    assert made == ["yes", "yes"]
    summary = json.loads((folder / "summary.json").read_text())
    assert any(row["rater"] == "D" and row["value"] == 4 for row in summary["tables"]["left_out"])


def test_many_raters_have_masks_of_some_cases_which_is_not_what_they_read():
    """Printed before: "they read 1 to 2 of 3", of raters who may have found a case not evaluable."""
    names = [f"r{k:02}" for k in range(48)]
    cases = {f"p{n}": {r: disc(x=k % 3, y=n) for k, r in enumerate(names)} for n in range(3)}
    del cases["p0"]["r00"], cases["p0"]["r01"], cases["p1"]["r01"]
    notes = mt.fuse(mt.Study.from_arrays(cases), consensus="vote:0.5", pictures=False).notes
    said = "2 of 48 raters have no mask of some cases: they have masks of 1 to 2 of 3, and each rater's means are over "
    assert f"{said}the cases with their own mask" in notes


def str_of(part) -> str:
    return part if isinstance(part, str) else part.shown


def test_nobody_left_out_is_said():
    cases = {f"p{n}": {r: disc(y=n) for r in "ABC"} for n in range(3)}
    result = mt.fuse(mt.Study.from_arrays(cases), consensus="excl:0.5")
    assert result.claims.of("consensus.left_out")[0].text == "excl:0.5 leaves no rater out in any of 3 cases."


# -- several labels --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["vote:0.5", "vote:any", "vote:all", "excl:0.5", "simple", "plurality", "staple"])
def test_no_consensus_unites_labels(method):
    """Two tissues stay two tissues."""
    result = mt.consensus(mt.Study.from_arrays(tissue_maps(2, 60)), method)["t01"]
    assert {1, 2} <= set(np.unique(result.values))


def test_the_default_of_several_labels_is_plurality_and_staple(tmp_path):
    several, one = mt.Study.from_arrays(tissue_maps(2, 60)), study()
    assert mt.fuse(several).methods == ("plurality", "staple")
    assert mt.fuse(one).methods == ("vote:0.5", "staple")
    united = mt.Study.from_arrays(tissue_maps(2, 60), foreground="any")
    assert mt.fuse(united).methods == ("vote:0.5", "staple")
    report = mt.report(several, to=tmp_path / "report.html", resamples=20, viewer=False)
    assert "fuse/performance" in report.tables
    assert {row["method"] for row in report.tables["fuse/performance"].rows} == {"plurality", "staple"}


def test_a_vote_among_labels_states_ties_and_gaps():
    masks = {"A": [1, 1, 1, 0, 1, 0], "B": [1, 2, 2, 0, 1, 1], "C": [2, 2, 3, 0, 0, 1], "D": [2, 2, 0, 0, 0, 2]}
    result = mt.vote(mt.tally(masks))
    assert mt.paint(result.values, masks, result.tally).tolist() == [1, 2, 0, 0, 1, 1]
    assert (result.items.tied, result.items.gaps) == (1, 1)
    assert [note.code for note in result.notes[-2:]] == ["tied_labels", "label_gaps"]
    share = np.asarray(result.probability)
    assert share.shape == (len(result.hard), 4)
    assert share.sum(axis=1) == pytest.approx(1)


def test_with_one_label_a_vote_is_as_before():
    masks = {"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}
    assert mt.vote(mt.tally(masks)).hard.dtype == bool
    assert mt.paint(mt.vote(mt.tally(masks)).hard, masks).tolist() == [True, True, False, False]


def test_raters_against_a_consensus_are_scored_by_label():
    cases = three_labels(4)
    result = mt.fuse(mt.Study.from_arrays(cases), consensus="plurality")
    rows = {r.label: r.value for r in result.performance.all("dice", "case") if r.case == "q01" and r["rater"] == "A"}
    mask, truth = cases["q01"]["A"], mt.consensus(mt.Study.from_arrays(cases), "plurality")["q01"].values
    each = [2 * ((mask == x) & (truth == x)).sum() / ((mask == x).sum() + (truth == x).sum()) for x in (1, 2, 3)]
    assert [rows[str(x)] for x in (1, 2, 3)] == pytest.approx(each)
    assert rows["macro mean"] == pytest.approx(np.mean(each))


def test_complexity_is_that_of_each_label():
    result = mt.fuse(mt.Study.from_arrays(tissue_maps(3, 60)))
    rows = result.complexity.all("esm", "mean")
    assert {row.label for row in rows if not np.isnan(row.value)} == {"1", "2"}
    assert result.groups is None


def square(grow: int = 0) -> np.ndarray:
    mask = np.zeros((20, 20), np.uint8)
    mask[5 : 12 + grow, 5:12] = 1
    return mask


def test_who_lacks_a_case_is_named_and_their_n_is_shown(capsys):
    masks = {f"c{i}": {r: square(i % 3 + k) for k, r in enumerate("ABC")} for i in range(4)}
    del masks["c2"]["B"]
    result = mt.fuse(mt.Study.from_arrays(masks))
    told = (
        "rater B has no mask of c2: they have masks of 3 of 4 cases, and their mean overlap with a consensus is over "
        "3 cases"
    )
    assert told in result.notes
    result.print()
    lines = [line for line in capsys.readouterr().out.splitlines() if "vote:0.5" in line]
    shown = {line.split()[0]: line.count(", n 3") for line in lines if line.split()[0] in "ABC"}
    assert shown == {"A": 0, "B": 4, "C": 0}, "IoU, sensitivity, specificity and accuracy"


@pytest.mark.parametrize(("raters", "code"), [("AB", "vote_of_two"), ("ABC", ""), ("ABCD", "vote_of_half")])
def test_half_of_the_votes_is_said_to_be_enough(raters, code):
    result = mt.fuse(mt.Study.from_arrays({"c": {r: square(k) for k, r in enumerate(raters)}}))
    assert [code_of(note) for note in result.notes if "half" in note] == ([code] if code else [])


def test_claims_are_written_whatever_the_method():
    claims = mt.fuse(mt.Study.from_arrays({"c": {r: square(k) for k, r in enumerate("ABC")}})).claims
    assert [(claim.kind.id, claim.made) for claim in claims] == [
        ("consensus.same", True), ("consensus.bound", False), ("consensus.left_out", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("few", "said"),
    [(1, "c0 is in no group, with two raters"), (2, "c0 and c1 are in no group, with two raters each")],
)
def test_cases_of_two_raters_are_said_to_be_in_no_group(few, said):
    rng = np.random.default_rng(1)
    masks = {
        f"c{i}": {r: disc(40, x=rng.normal(0, 0.4 + i / 6), radius=9 + i % 4) for r in "ABC"[: 2 if i < few else 3]}
        for i in range(14)
    }
    assert f"complexity: {said}" in mt.fuse(mt.Study.from_arrays(masks), distances=False).notes
