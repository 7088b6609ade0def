"""What is said of an adjudication: decisions, agreement of adjudicators, controls, claims, and the report's section."""

import csv
import shutil

import numpy as np
import pytest

import manytruths as mt
from decision_logs import adjudicate, append, disputes_of, session, square, three_readers, write_study
from manytruths import CallError, InputError
from manytruths.claims.sentences import plain_text
from manytruths.inference.quantiles import clustered_proportion_interval
from manytruths.io import read_mask, write_map
from manytruths.io.decision_log import DecisionLog, log_name, read_logs
from manytruths.reporting.sections.formulas import used_formulas
from manytruths.reporting.sections.paper_texts import methods_text, results_text
from manytruths.study.adjudicated import study_digest
from manytruths.study.disputes import DisputeRule
from study_folders import write_nifti


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Two adjudicators, one of them a rater, with first looks, controls, repeats and a finished log."""
    folder = tmp_path_factory.mktemp("many")
    rng, cases = np.random.default_rng(2), {}
    y, x = np.indices((96, 96))
    for number in range(6):
        centres, sizes, by_rater = rng.uniform(16, 80, (3, 2)), rng.uniform(5, 9, 3), {}
        for rater in ("anna", "ben", "clara", "dora"):
            mask = np.zeros((96, 96), np.uint8)
            for centre, size in zip(centres, sizes, strict=True):
                if rng.random() < 0.7:
                    top, left = centre + rng.normal(0, 1, 2)
                    mask[np.hypot(y - top, x - left) < size * rng.uniform(0.8, 1.2)] = 1
            by_rater[rater] = mask
        cases[f"p{number}"] = by_rater
    study = mt.Study.open(write_study(folder / "m", cases), decisions=str(folder / "log"))
    count = iter(range(1000))

    def decide(dispute):
        kind = next(count) % 5
        return ["union", "none", f"rater:{dispute.found_by[0]}", "not_evaluable", "intersection"][kind]

    chosen = {}
    session(folder / "log", study, decide=lambda d: chosen.setdefault(d.key, decide(d)), controls=8, wrong=2, repeats=4,
            changed=1, finish=True)  # fmt: skip
    different = iter(range(1000))
    session(
        folder / "log", study, name="anna", controls=2, wrong=0, repeats=0, purpose="double",
        decide=lambda d: "drawn" if next(different) % 4 == 3 else chosen[d.key],
    )  # fmt: skip
    return study, mt.adjudicated(study, out=folder / "out"), folder


def value(result, statistic, *extra, scope="pooled", case=""):
    extra = (*extra, *("",) * (4 - len(extra)))
    (row,) = [
        r for r in result.tables["adjudication"].rows
        if r.statistic == statistic and r.scope == scope and r.case == case and tuple(r.extra) == extra
    ]  # fmt: skip
    return row


def rows_of(result):
    header = result.tables["decisions"].header
    return [dict(zip(header, record, strict=True)) for record in result.tables["decisions"].records()]


def test_a_row_for_every_decision(many):
    _, result, folder = many
    rows = rows_of(result)
    with (folder / "out/adjudicated/decisions.csv").open() as file:
        written = list(csv.DictReader(file))
    assert [row["uuid"] for row in written] == [row["uuid"] for row in rows]
    logged = [e for log in read_logs([folder / "log"]) for e in log.entries if e.action == "decide"]
    assert sorted(row["uuid"] for row in rows) == sorted(entry.uuid for entry in logged)
    by_uuid = {entry.uuid: entry for entry in logged}
    for row in rows:
        entry = by_uuid[row["uuid"]]
        assert (row["adjudicator"], row["utc"], row["choice"]) == (
            entry.adjudicator,
            entry.utc,
            entry.payload["choice"],
        )
        assert row["pixels_after"] == sum(sum(runs[1::2]) for _, runs in entry.payload["pixels"])
        assert row["first_look"] in ("lesion", "no_lesion")
        assert (row["purpose"] in ("control", "repeat")) == (row["status"] == "not counted")
    assert {row["status"] for row in rows} == {"holds", "agrees", "conflict", "not counted"}


def test_pixels_before_and_after(many):
    study, result, _ = many
    base = {name: each.values != 0 for name, each in mt.consensus(study, "vote:0.5").items()}
    found = {d.key: d for case in disputes_of(study).values() for d in case.disputes}
    for row in rows_of(result):
        if row["status"] in ("holds", "agrees") and row["choice"] != "drawn":
            dispute = found[row["key"]]
            where = tuple(slice(*part) for part in dispute.box)
            union = np.logical_or.reduce([runs[...] != 0 for runs in dispute.drawn.values()])
            assert row["pixels_before"] == (base[row["case"]][where] & union).sum()


def test_counts_add_up(many):
    study, result, _ = many
    states = {name: value(result, name).value for name in ("disputes", "decided", "open", "second", "conflict")}
    assert states["disputes"] == sum(len(each.disputes) for each in disputes_of(study).values())
    assert states["disputes"] == states["decided"] + states["open"] + states["second"] + states["conflict"]
    for name in states:
        assert value(result, name).value == sum(value(result, name, scope="case", case=c.name).value for c in study)
    rows = rows_of(result)
    assert value(result, "decisions").value == len(rows)
    assert value(result, "decisions", "anna").value == sum(row["adjudicator"] == "anna" for row in rows)
    held = [row for row in rows if row["status"] == "holds"]
    assert sum(r.value for r in result.tables["adjudication"].rows if r.statistic == "chosen" and r.extra[2]) == len(
        held
    )
    seconds = [row["seconds"] for row in rows if row["adjudicator"] == "Ada"]
    assert value(result, "median_seconds", "Ada").value == np.median(seconds)
    changed = sum((np.ma.filled(result.masks[c.name], 255) != mt.consensus(c, "vote:0.5").values).sum() for c in study)
    assert value(result, "changed").value == changed


def test_controls_repeats_and_doubles(many):
    _, result, _ = many
    row = value(result, "controls_overturned")
    assert (row.value, row.n) == (0.2, 10)
    controls = [r for r in rows_of(result) if r["purpose"] == "control"]
    drawn = {r["case"]: [0, 0] for r in controls}
    for r in controls:
        drawn[r["case"]][0] += (r["pixels_after"] > 0) == (r["kind"] == "unmarked")
        drawn[r["case"]][1] += 1
    assert (row.low, row.high) == clustered_proportion_interval(*zip(*drawn.values(), strict=True))
    assert value(result, "controls_overturned", "anna").value == 0
    again = value(result, "intra_agreement", "Ada", "Ada")
    assert again.n == 4
    rows = {(r["key"], r["adjudicator"], r["purpose"]): r for r in rows_of(result)}
    repeated = [k for k, who, what in rows if what == "repeat" and who == "Ada"]
    same = [rows[k, "Ada", "repeat"]["choice"] == rows[k, "Ada", "dispute"]["choice"] for k in repeated]
    assert again.value == np.mean(same)
    both = [k for k, who, what in rows if what == "double"]
    inter = value(result, "inter_agreement", "Ada", "anna")
    assert inter.n == len(both)
    alike = [rows[k, "Ada", "dispute"]["choice"] == rows[k, "anna", "double"]["choice"] for k in both]
    assert inter.value == np.mean(alike)
    assert value(result, "inter_agreement").value == inter.value
    kept = value(result, "first_look_kept")
    assert kept.n == value(result, "first_look").n
    assert value(result, "first_look").value == 1


def test_sentences(many):
    _, result, folder = many
    text = str(result.claims)
    assert f"Two adjudicators (Ada and anna) settled {value(result, 'decided').value:.0f} of" in text
    assert "were decided differently by two: there, a vote (marked by at least half of the raters) stands" in text
    assert "The adjudicators answered from the bare image whether there was a lesion, before they saw outlines" in text
    assert "subject by subject, subjects in a shuffled order (seed 7)" in text
    assert "raters stood under letters, in an order that was shuffled by case" in text
    assert "anna is a rater, too, and settled disputes about their own masks" in text
    assert "Of ten controls (" in text
    row = value(result, "controls_overturned")
    assert f"), 20% ({row.low:.0%}–{row.high:.0%}) were overturned." in text
    assert "Dr. Ada finished the log of Ada on" in text
    for log in read_logs([folder / "log"]):
        assert log.digest in text
    assert "Names are self-declared." in text
    # every number is where its address says
    for claim in result.claims.made:
        for cell in claim.numbers:
            assert cell.at.startswith("adjudicated/adjudication.csv#pooled,")
    assert result.summary()["logs"][0]["digest"] in text


@pytest.mark.slow
def test_the_report_has_a_section(many, tmp_path):
    study, result, _ = many
    report = mt.report(study, to=tmp_path / "report.html", consensus="adjudicated,vote:0.5")
    page = (tmp_path / "report.html").read_text()
    assert "How were disputes settled?" in page
    for log in result.logs:
        assert log.digest in page
    assert "Raters are compared with what they helped to make" in page
    assert "adjudicated reference standard" in page
    assert (tmp_path / "report_files/adjudicated/decisions.csv").exists()
    findings = report.findings
    assert "The adjudicators answered from the bare image whether" in methods_text(findings)
    row = value(result, "controls_overturned")
    assert f"20% (95% CI {row.low:.0%} to {row.high:.0%}) were overturned" in results_text(findings)
    assert [str(c) for c in findings.adjudicated.claims] == [str(c) for c in result.claims]
    # every number that is no count has a formula, and is in the table of them
    named = {r.statistic for r in result.tables["adjudication"].rows if r.n is not None}
    assert {f"adjudication.{name}" for name in named} <= set(used_formulas(findings))
    assert {"intra_dice", "inter_presence", "controls_overturned", "first_look_kept", "median_seconds"} <= named
    without = mt.report(mt.Study.open(study.options.masks), to=tmp_path / "none.html")
    assert without.findings.adjudicated is None
    assert "How were disputes settled?" not in (tmp_path / "none.html").read_text()
    coded = mt.report(study, to=tmp_path / "coded.html", codes=True)
    assert coded.findings.adjudicated is None
    assert "Ada" not in (tmp_path / "coded.html").read_text()
    with pytest.raises(CallError, match="codes"):
        mt.report(study, to=tmp_path / "no.html", codes=True, consensus="adjudicated")


def test_raters_are_not_judged_by_it_in_evaluate(many, tmp_path):
    study, _, folder = many
    for case in study:
        (tmp_path / "unet").mkdir(exist_ok=True)
        shutil.copy(folder / "m/ben" / f"{case.name}.png", tmp_path / "unet" / f"{case.name}.png")
    result = mt.evaluate(study, predictions=str(tmp_path / "unet/{case}.png"), consensus="adjudicated", pictures=False)
    against = {tuple(row.extra) for row in result.tables["scores"].rows}
    assert ("prediction", "adjudicated") in against
    raters = {"anna", "ben", "clara", "dora"}
    for table in result.tables.values():
        for row in getattr(table, "rows", ()):
            assert not ({"adjudicated"} & set(map(str, row.extra)) and raters & set(map(str, row.extra)))
    beside = result.tables["beside_raters"].rows if "beside_raters" in result.tables else ()
    assert "adjudicated" not in {row["against"] for row in beside}
    # what is not evaluable is not scored
    for name, mask in mt.adjudicated(study).masks.items():
        prediction = np.asarray(read_mask(tmp_path / "unet" / f"{name}.png").array) != 0
        known, marked = ~np.ma.getmaskarray(mask), np.ma.filled(mask, 0) == 1
        total = marked.sum() + (prediction & known).sum()
        if total:
            found = result.tables["scores"].find("dice", "case", case=name, against="adjudicated")
            assert found.value == pytest.approx(2 * (marked & prediction).sum() / total)


def test_fuse_says_whose_marks_they_are(many):
    study, _, _ = many
    notes = " ".join(mt.fuse(study, consensus="adjudicated").notes)
    assert "made of the raters' own marks" in notes
    assert "anna is a rater, too" in notes


def test_a_count_of_fuse_is_said_to_be_of_each_case(many):
    """One lesion in each of several cases is not one lesion."""
    study, made, _ = many
    cases = {row["case"] for row in rows_of(made) if row["purpose"] == "dispute"}
    ones = {case for case in cases if value(made, "not_evaluable", scope="case", case=case).value == 1}
    assert len(ones) > 1
    (note,) = (note for note in mt.fuse(study, consensus="adjudicated").notes if "1 lesion is not evaluable" in note)
    assert "(each of " in note


# -- true for one, two and ten decisions, and unfinished work ----------------------------------------


def simple(tmp_path, cases=None):
    return mt.Study.open(write_study(tmp_path / "m", cases or three_readers()), decisions=str(tmp_path / "log"))


def test_one_decision_of_several(tmp_path):
    study = simple(tmp_path)
    first = disputes_of(study)["p1"].disputes[0]
    adjudicate(tmp_path / "log", study, lambda d: "union" if d.key == first.key else None)
    text = str(mt.adjudicated(study).claims)
    assert "One adjudicator (Ada) settled 1 of 3 disputes; 2 were not decided: there, a vote" in text
    assert "2 other lesions were settled by a vote" in text
    assert "No controls were shown" in text
    assert "The outlines were shown without a first look" not in text  # the log does not say how they were shown
    assert "Shown again" not in text


def test_all_decisions_and_a_rule_in_mm(tmp_path):
    study = simple(tmp_path)
    rule = DisputeRule(min_dice=0.5, min_mm=2.0, below="vote:any")
    adjudicate(tmp_path / "log", study, lambda d: "none", rule=rule)
    text = str(mt.adjudicated(study).claims)
    assert "settled all 3 disputes." in text
    assert "was below 0.5 or their surfaces were more than 2 pixels apart; 3 were" in text
    assert "settled by the union of the markings" in text


def test_one_dispute_that_is_not_evaluable(tmp_path):
    size = (30, 30)
    cases = {"p": {"A": square(size, (5, 15, 5, 15)), "B": np.zeros(size, np.uint8)}}
    study = simple(tmp_path, cases)
    adjudicate(tmp_path / "log", study, lambda d: "not_evaluable")
    result = mt.adjudicated(study)
    text = str(result.claims)
    assert "settled the 1 dispute that there was" in text
    assert "; 1 was." in text
    assert "1 disputed lesion is not evaluable: its pixels count nowhere." in text
    assert np.ma.getmaskarray(result.masks["p"]).sum() == 100
    assert "has the value 255 in the masks of p" in " ".join(result.notes)


def test_stale_undone_second_and_replaced(tmp_path):
    cases = three_readers()
    study = simple(tmp_path, cases)
    border, seen, alone = disputes_of(study)["p1"].disputes
    adjudicate(tmp_path / "log", study, lambda d: "union")
    adjudicate(tmp_path / "log", study, lambda d: "none" if d.key == border.key else None)
    with DecisionLog.open(
        tmp_path / "log" / log_name("Ada", "ward"), study=study_digest(study), adjudicator="Ada"
    ) as log:
        undone = next(e for e in log.entries() if e.payload.get("key") == seen.key)
        append(log, "undo", payload={"of": undone.uuid, "reason": "wrong key", "key": seen.key})
        append(log, "second", item=border.key, case="p1", payload={"key": border.key, "reason": "not sure"})
    cases["p1"]["clara"][44, 50] = 0
    study = simple(tmp_path, cases)
    result = mt.adjudicated(study)
    status = {(row["key"], row["choice"]): row["status"] for row in rows_of(result)}
    assert status == {
        (border.key, "union"): "replaced", (border.key, "none"): "waiting", (seen.key, "union"): "undone",
        (alone.key, "union"): "stale",
    }  # fmt: skip
    text = str(result.claims)
    assert "settled 0 of 3 disputes; 2 were not decided and 1 was left to a second adjudicator: there" in text
    assert "1 decision does not count, as its lesion is not in the masks as it was when it was decided." in text
    assert not [claim for claim in result.claims.made if claim.kind.id == "adjudication.choices"]


def test_names_that_are_no_words(tmp_path):
    study = simple(tmp_path)
    session(tmp_path / "log", study, name="<script>alert(1)</script>")
    result = mt.adjudicated(study)
    assert "<script>" in str(result.claims)
    mt.report(study, to=tmp_path / "r.html")
    assert "<script>alert(1)" not in (tmp_path / "r.html").read_text()


def test_decisions_can_be_named_and_packed(tmp_path, monkeypatch):
    from manytruths.io.decision_log import pack

    monkeypatch.chdir(tmp_path)
    study = simple(tmp_path)
    path = adjudicate(tmp_path / "log", study, lambda d: "union")
    (tmp_path / "pack.json").write_bytes(pack([path]))
    plain = mt.Study.open(study.options.masks)
    known = mt.adjudicated(study)
    for place in (path, tmp_path / "pack.json", tmp_path / "log"):
        result = mt.adjudicated(plain, decisions=place)
        assert list(result.tables["decisions"].records()) == list(known.tables["decisions"].records())
    with pytest.raises(InputError, match="holds no decision"):
        mt.adjudicated(plain)
    arrays = mt.Study.from_arrays(three_readers(), decisions=str(path))
    assert np.array_equal(mt.adjudicated(arrays).masks["p1"], known.masks["p1"])


def test_added_lesions_are_rows_and_said(tmp_path):
    from manytruths.study.adjudicated import add_payload

    study = simple(tmp_path)
    path = adjudicate(tmp_path / "log", study, lambda d: "union")
    with DecisionLog.open(path, study=study_digest(study), adjudicator="Ada") as log:
        append(log, "add", case="p2", payload=add_payload("new", ((0, 4), (0, 4)), [[1, [0, 3]]], comment="small"))
    result = mt.adjudicated(study)
    assert "settled all 3 disputes, and added 1 lesion that no rater had marked." in str(result.claims)
    (row,) = [row for row in rows_of(result) if row["kind"] == "added"]
    assert (row["case"], row["status"], row["pixels_before"], row["pixels_after"], row["comment"]) == (
        "p2",
        "holds",
        0,
        3,
        "small",
    )
    assert result.masks["p2"][0, :3].all()
    assert plain_text(result.claims.made[0].result)


def test_practice_alone_settles_nothing_and_nobody_is_named_for_it(tmp_path):
    study = simple(tmp_path)
    adjudicate(tmp_path / "log", study, lambda d: "union", purpose="practice")
    text = str(mt.adjudicated(study).claims)
    assert "One adjudicator (Ada) settled 0 of 3 disputes; 3 were not decided: there, a vote" in text
    assert "Disputes were shown" not in text
    assert "By the decisions that hold" not in text
    assert "own marks" not in text
    with pytest.raises(InputError, match="no dispute is settled"):
        mt.fuse(study, consensus="adjudicated")
    with pytest.raises(InputError, match="no dispute is settled"):
        mt.consensus(study, "adjudicated")
    with pytest.raises(InputError, match="no dispute is settled"):
        mt.report(study, to=tmp_path / "r.html", consensus="adjudicated")
    adjudicate(tmp_path / "log", study, lambda d: "union", name="Bo")
    text = str(mt.adjudicated(study).claims)
    assert "One adjudicator (Bo) settled all 3 disputes." in text
    # who settled them did not practise
    assert "subjects in a shuffled order" in text or "in a shuffled order" in text
    assert "practice decision" not in text
    adjudicate(tmp_path / "log", study, lambda d: "none", name="Bo", purpose="practice")
    assert "after three practice decisions that do not count" in str(mt.adjudicated(study).claims)


def test_disputes_that_a_rule_settled_are_said_to_be(tmp_path):
    study = simple(tmp_path)
    key = disputes_of(study)["p1"].disputes[0].key
    path = adjudicate(tmp_path / "log", study, lambda d: "union" if d.key != key else None)
    with DecisionLog.open(path, study=study_digest(study), adjudicator="Ada") as log:
        append(log, "rule", payload={"kind": "border", "rule": "majority", "keys": [key], "cases": {key: "p1"}})
    assert "settled all 3 disputes, 1 of them by a rule for many at once." in str(mt.adjudicated(study).claims)


def test_one_control_and_one_second_showing_are_one(tmp_path):
    study = simple(tmp_path)
    session(tmp_path / "log", study, controls=1, wrong=0, repeats=1, changed=0)
    text = str(mt.adjudicated(study).claims)
    assert "Of one control (one lesion on which all raters agreed), 0% (0%–98%) was overturned." in text
    assert "Shown again, 100% (3%–100%) of one dispute was decided alike" in text
    # three decisions about one patient have no interval
    assert "In 100% of three decisions with a first look, its answer was kept" in text


def test_distances_of_files_with_a_spacing_are_in_mm(tmp_path):
    for case, by_rater in three_readers().items():
        for rater, mask in by_rater.items():
            write_nifti(tmp_path / "m" / rater / f"{case}.nii.gz", np.stack([mask] * 3, -1), spacing=(1, 1, 2))
    study = mt.Study.open(f"{tmp_path}/m/{{rater}}/{{case}}.nii.gz", decisions=str(tmp_path / "log"))
    adjudicate(tmp_path / "log", study, lambda d: "union", rule=DisputeRule(min_mm=2.5))
    assert "or their surfaces were more than 2.5 mm apart" in str(mt.adjudicated(study).claims)


def test_an_answer_beside_the_outlines_is_no_first_look(tmp_path):
    """A workbook shows both beside each other: its column of first looks is kept, and no blinding is claimed."""
    study = simple(tmp_path)
    seen = {"answer": "lesion", "first_look": False, "names": False}
    path = adjudicate(tmp_path / "log", study, lambda d: None)
    with DecisionLog.open(path, study=study_digest(study), adjudicator="Ada") as log:
        rule = {"order": "subject", "first_look": False, "names": False}
        append(log, "open", payload={"seed": 0, "settings": rule})
    adjudicate(tmp_path / "log", study, lambda d: "union", seen=seen)
    result = mt.adjudicated(study)
    assert {row["first_look"] for row in rows_of(result)} == {"lesion"}
    assert value(result, "first_look").value == 0
    assert "The outlines were shown without a first look at the bare image; raters stood under" in str(result.claims)
    assert "its answer was kept" not in str(result.claims)


def test_a_given_reference_that_adjudicators_made_is_said_to_be(tmp_path):
    """Its files alone do not tell: it is no rater's mask, and no vote. Raters are not scored against it in words."""
    cases = three_readers()
    study = simple(tmp_path, cases)
    picks = iter(["rater:anna", "rater:ben", "union"])
    adjudicate(tmp_path / "log", study, lambda d: next(picks))
    mt.fuse(study, consensus="adjudicated", out=tmp_path / "out", pictures=False)
    (tmp_path / "unet").mkdir()
    for case in cases:
        shutil.copy(tmp_path / "m/ben" / f"{case}.png", tmp_path / "unet" / f"{case}.png")
    masks = f"{tmp_path}/out/fuse/consensus/adjudicated/{{case}}.png"
    known = mt.Study.open(study.options.masks, reference=masks, decisions=str(tmp_path / "log"))
    said = "is what adjudicators made of these raters' own masks in every case, pixel by pixel."
    agreed = mt.agree(known)
    assert said in str(agreed.claims)
    assert "the mean Dice is" not in str(agreed.claims)
    (note,) = {c.why_not.code for c in agreed.claims if c.kind.id == "reference.raters_scored"}
    assert note == "raters_own_marks"
    assert said in str(mt.evaluate(known, predictions=f"{tmp_path}/unet/{{case}}.png", pictures=False).claims)
    assert said in str(mt.fuse(known, consensus="vote:0.5", pictures=False).claims)
    mt.report(known, to=tmp_path / "r.html")
    assert "what adjudicators made of these raters" in (tmp_path / "r.html").read_text()
    # one pixel in one case: the other case is still theirs
    mask = np.asarray(read_mask(masks.format(case="p1")).array).copy()
    mask[0, 0] = 1
    write_map(masks.format(case="p1"), mask)
    assert "own masks in one of two cases" in str(mt.agree(known).claims)
    mask = np.asarray(read_mask(masks.format(case="p2")).array).copy()
    mask[0, 0] = 1
    write_map(masks.format(case="p2"), mask)
    plain = str(mt.agree(known).claims)
    assert ("own masks" in plain, "the mean Dice is" in plain) == (False, True)
    # without decisions nothing can be known
    unknown = mt.Study.open(study.options.masks, reference=masks, decisions=str(tmp_path / "nowhere"))
    assert "own masks" not in str(mt.agree(unknown).claims)


# -- awkward cases ----------------------------------------------------------------------------------


def test_a_rater_who_only_practised_settled_nothing_about_their_own_masks(tmp_path):
    study = simple(tmp_path)
    adjudicate(tmp_path / "log", study, lambda d: "union", name="anna", purpose="practice")
    adjudicate(tmp_path / "log", study, lambda d: "union", name="Bo")
    text = str(mt.adjudicated(study).claims)
    assert "One adjudicator (Bo) settled all 3 disputes." in text
    assert "anna" not in text.replace("log of anna", "").split("chained by")[0]


def test_a_rater_of_other_cases_is_not_said_to_judge_their_own_masks(tmp_path):
    cases = three_readers()
    cases["p2"] = {("dora" if rater == "anna" else rater): mask for rater, mask in cases["p2"].items()}
    study = simple(tmp_path, cases)
    adjudicate(tmp_path / "log", study, lambda d: "union" if d.case == "p1" else None, name="dora")
    text = str(mt.adjudicated(study).claims)
    assert "dora is a rater, too, but rated none of the cases whose disputes they settled." in text
    adjudicate(tmp_path / "log", study, lambda d: "union" if d.case == "p1" else None, name="anna")
    text = str(mt.adjudicated(study).claims)
    assert "anna is a rater, too, and settled disputes about their own masks." in text


def test_sessions_in_which_nothing_was_decided_do_not_count(tmp_path):
    study = simple(tmp_path)
    path = session(tmp_path / "log", study, controls=0, repeats=0)
    with DecisionLog.open(path, study=study_digest(study), adjudicator="Ada", machine="ward") as log:
        settings = {"order": "doubt", "first_look": True, "names": True, "seed": 7, "role": "first"}
        append(log, "open", payload={"seed": 7, "settings": settings})
    text = str(mt.adjudicated(study).claims)
    assert "doubt" not in text
    assert "raters stood under letters" in text


def test_rules_alone_say_nothing_of_what_was_shown(tmp_path):
    study = simple(tmp_path)
    keys = {d.key: d.case for found in disputes_of(study).values() for d in found.disputes}
    path = adjudicate(tmp_path / "log", study, lambda d: None)
    with DecisionLog.open(path, study=study_digest(study), adjudicator="Ada", machine="ward") as log:
        settings = {"order": "subject", "first_look": True, "names": False, "seed": 7, "role": "first"}
        append(log, "open", payload={"seed": 7, "settings": settings})
        append(log, "rule", payload={"kind": "missed", "rule": "union", "keys": list(keys), "cases": keys})
    text = str(mt.adjudicated(study).claims)
    assert "One adjudicator (Ada) settled all 3 disputes, 3 of them by a rule for many at once." in text
    for words in ("bare image", "letters", "Disputes were shown", "hidden", "first look", "practice"):
        assert words not in text


def test_what_was_asked_for_is_counted(tmp_path):
    study = simple(tmp_path)
    first = disputes_of(study)["p1"].disputes[0].key
    path = adjudicate(tmp_path / "log", study, lambda d: None)
    with DecisionLog.open(path, study=study_digest(study), adjudicator="Ada", machine="ward") as log:
        settings = {"order": "subject", "first_look": False, "names": False, "show": ["votes"]}
        append(log, "open", payload={"seed": 0, "settings": settings})
    seen = {"first_look": False, "names": False}
    adjudicate(
        tmp_path / "log", study, lambda d: {"choice": "union", "seen": {**seen, "shown": ["votes"] * (d.key == first)}}
    )
    text = str(mt.adjudicated(study).claims)
    assert "The consensus, probability maps and outlines of algorithms were hidden. Shown on request were" in text
    assert "Shown on request were vote counts in 1 of three decisions." in text


def test_three_adjudicators_make_pairs_of_decisions(tmp_path):
    study = simple(tmp_path)
    for name in ("Ada", "Bo", "Cy"):
        session(tmp_path / "log", study, name=name, controls=0, repeats=1, changed=0,
                decide=lambda d, name=name: "none" if name == "Cy" else "union")  # fmt: skip
    result = mt.adjudicated(study)
    assert value(result, "inter_agreement").n == 9
    text = str(result.claims)
    # three disputes, decided by three
    assert "of nine pairs of adjudicators' decisions were alike" in text
    assert "Of disputes shown again, 100%" in text
    assert "of three pairs of decisions were alike" in text


def test_a_log_of_other_marks_is_not_said_to_be_about_masks_that_were_changed(tmp_path):
    """Another structure of the same patients, in the same folder of logs."""
    kidneys = {
        case: {rater: mask[::-1, ::-1].copy() for rater, mask in m.items()} for case, m in three_readers().items()
    }
    study = simple(tmp_path)
    adjudicate(tmp_path / "log", mt.Study.open(write_study(tmp_path / "k", kidneys)), lambda d: "union")
    text = str(mt.adjudicated(study).claims)
    assert "settled 0 of 3 disputes" in text
    assert (
        "3 decisions do not count, as their lesions are not in the masks as they were when they were decided." in text
    )
    assert "changed" not in text
