"""``mt.progress`` and ``manytruths progress``: what is there, what is late, what is said, and input that is wrong."""

from __future__ import annotations

import csv
from datetime import datetime, timedelta

import numpy as np
import pytest

import manytruths as mt
from manytruths import CallError, FormatError
from manytruths.cli import status
from study_folders import disc, files, write_png

TODAY = "2026-03-01"
CASES = [f"c{k:02}" for k in range(14)]


def write(folder, cases=CASES, raters="ABC", log=True, dates=True, gaps=(), value=None):
    """Discs that raters draw a little apart, a case a day; ``gaps`` are status by case and rater."""
    rng, rows = np.random.default_rng(0), ["case,rater,status,started,seconds"]
    gaps = dict(gaps)
    for k, case in enumerate(cases):
        for i, rater in enumerate(raters):
            state = gaps.get((case, rater), "done")
            mask = disc(48, *rng.normal(0, 1, 2), radius=11 + rng.normal())
            mask = mask if value is None else value(k, rater, mask)
            if state in ("done", "empty"):
                write_png(folder / f"masks/{rater}/{case}.png", mask * (state == "done"))
            when = datetime(2026, 1, 5) + timedelta(days=k, hours=i)
            rows.append(f"{case},{rater},{state},{when.isoformat() if dates and state == 'done' else ''},{60 + i}")
    lines = ['masks = "masks/{rater}/{case}.png"']
    if log:
        (folder / "reads.csv").write_text("\n".join(rows) + "\n")
        lines.append('reads = "reads.csv"')
    (folder / "study.toml").write_text("\n".join(lines) + "\n")
    return folder


def cells(result):
    return {(cell.case, cell.rater): cell for cell in result.coverage.cells}


def row(result, table, statistic, scope="mean", *extra, **where):
    found = result.index(table).row(statistic, scope, *extra, **where)
    assert found is not None
    return found


# -- what is there -----------------------------------------------------------------------------------


def test_every_reading_has_its_status(tmp_path):
    gaps = {("c01", "A"): "unread", ("c02", "B"): "unfinished", ("c03", "C"): "not_evaluable", ("c04", "A"): "empty"}
    write(tmp_path, gaps=gaps)
    result = mt.progress(mt.Study.open(tmp_path, exclude={"B": ["c05"]}), today=TODAY)
    found = {key: cell.status for key, cell in cells(result).items()}
    assert {key: found[key] for key in gaps} == gaps
    assert found["c05", "B"] == "excluded"
    assert sum(state == "done" for state in found.values()) == 3 * 14 - 5
    assert row(result, "statuses", "read", "pooled", "").value == 3 * 14 - 2
    assert row(result, "statuses", "open", "pooled", "A").value == 1
    assert row(result, "statuses", "asked", "pooled", "").value == 3 * 14
    assert [record[:4] for record in result.tables["coverage"].records()][3] == ("c01", "A", "", "unread")


def test_a_study_without_a_log_says_what_cannot_be_told(tmp_path):
    write(tmp_path, log=False)
    (tmp_path / "masks/A/c03.png").unlink()
    result = mt.progress(tmp_path, today=TODAY)
    assert cells(result)["c03", "A"].status == "missing"
    assert not any(cell.late for cell in result.coverage.cells)
    assert any("neither a reading log" in note for note in result.notes)
    assert any("neither dates" in note for note in result.notes)
    assert result.claims.of("progress.coverage").made == ()
    assert {claim.why_not.code for claim in result.claims.of("progress.drift_size")} == {"no_times"}
    assert result.claims.of("progress.agreement").made, "masks alone tell how far raters agree"


def test_an_edit_is_no_reading_of_its_own(tmp_path):
    write(tmp_path)
    text = (tmp_path / "reads.csv").read_text().splitlines()
    rows = [f"{line}," for line in text[1:]]
    rows[1] += "A"
    (tmp_path / "reads.csv").write_text("\n".join([f"{text[0]},based_on", *rows]) + "\n")
    result = mt.progress(tmp_path, today=TODAY)
    assert cells(result)["c00", "B"].status == "edit"


def test_cases_that_nobody_has_read_are_there(tmp_path):
    gaps = {("c13", rater): "unread" for rater in "ABC"}
    result = mt.progress(write(tmp_path, gaps=gaps), today=TODAY)
    assert "c13" in result.coverage.cases
    assert cells(result)["c13", "B"].status == "unread"


def test_agreement_so_far_is_that_of_agree(tmp_path):
    write(tmp_path, gaps={("c01", "A"): "unread"})
    found, agree = mt.progress(tmp_path, today=TODAY), mt.agree(tmp_path, measure=())
    for statistic in ("dice", "fleiss_kappa", "krippendorff_alpha"):
        mine, theirs = row(found, "agreement", statistic), agree.headline(statistic)
        assert mine.value == pytest.approx(theirs.value, abs=1e-12)
        assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
        assert mine.n == theirs.n


def test_the_trend_ends_where_agreement_is(tmp_path):
    result = mt.progress(write(tmp_path), today=TODAY)
    last = len(result.calendar.names)
    end = row(result, "trend", "dice_so_far", "mean", last, result.calendar.names[-1])
    assert end.value == pytest.approx(row(result, "agreement", "dice").value, abs=1e-12)
    counts = [r.value for r in result.tables["trend"].all("readings", "pooled")]
    assert counts == [21, 21]
    assert result.calendar.names == ("2026-01-05 to 2026-01-11", "2026-01-12 to 2026-01-18")


def test_each_rater_beside_the_others(tmp_path):
    write(tmp_path)
    result, tally = mt.progress(tmp_path, today=TODAY), mt.Study.open(tmp_path).tally()
    values = {name: mt.pairwise(mt.dice, table) for name, table in tally.items()}
    mine = np.mean([np.nanmean(np.delete(found.values[0], 0)) for found in values.values()])
    assert row(result, "comparison", "dice", "mean", "A").value == pytest.approx(mine, abs=1e-12)
    sizes = [[float((table.patterns[:, i] == 1) @ table.counts) for i in range(3)] for table in tally.values()]
    tests = mt.rater_size_tests(sizes)
    assert row(result, "comparison", "relative_size", "mean", "B").value == pytest.approx(tests.relative_size[0, 1])


# -- what is late ------------------------------------------------------------------------------------


def plan(folder, rows, header="rater,order,case,kind"):
    path = folder / "assignment.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_what_has_a_day_is_late_when_it_has_passed(tmp_path):
    write(tmp_path, gaps={("c01", "A"): "unread", ("c02", "A"): "unread"})
    path = plan(
        tmp_path, ["A,1,c00,block,2026-01-01", "A,2,c01,block,2026-02-27", "A,3,c02,block,2026-03-01"],
        "rater,order,case,kind,due",
    )  # fmt: skip
    found = cells(mt.progress(tmp_path, assignment=path, today=TODAY))
    assert (found["c01", "A"].late, found["c01", "A"].days) == ("due", 2)
    assert found["c02", "A"].late == "", "on the day itself there is time"
    assert found["c00", "A"].late == "", "it is there"


def test_what_was_skipped_is_late(tmp_path):
    write(tmp_path, gaps={("c01", "A"): "unread", ("c13", "A"): "unread"}, dates=False)
    path = plan(tmp_path, [f"{rater},{k + 1},{case},block" for rater in "ABC" for k, case in enumerate(CASES)])
    result = mt.progress(tmp_path, assignment=path, today=TODAY)
    assert (cells(result)["c01", "A"].late, cells(result)["c01", "A"].since) == ("skipped", "c12")
    assert cells(result)["c13", "A"].late == "", "it is the next one"
    assert [record[:3] for record in result.tables["late"].records()] == [("c01", "A", "skipped")]


def test_what_others_read_long_ago_is_late(tmp_path):
    write(tmp_path, gaps={("c01", "A"): "unread"})
    for days, late in ((53, "waiting"), (54, "")):
        cell = cells(mt.progress(tmp_path, today=TODAY, late_after=days))["c01", "A"]
        assert cell.late == late
    assert cells(mt.progress(tmp_path, today=TODAY))["c01", "A"].days == 54


def test_what_nobody_was_asked_for_is_not_late(tmp_path):
    write(tmp_path, gaps={("c01", "A"): "unread"})
    path = plan(tmp_path, [f"{rater},1,c00,shared" for rater in "ABC"])
    result = mt.progress(tmp_path, assignment=path, today=TODAY)
    assert cells(result)["c01", "A"].status == "not_asked"
    assert not cells(result)["c01", "A"].late
    assert result.coverage.calibration == ("c00",)


def test_the_assignment_of_assign_is_understood(tmp_path):
    write(tmp_path, gaps={("c13", "A"): "unread"})
    mt.assign(CASES, ["A", "B", "C"], per_case=2, shared=3, out=tmp_path / "out")
    result = mt.progress(tmp_path, assignment=tmp_path / "out/assign/assignment.csv", today=TODAY)
    assert len(result.coverage.calibration) == 3
    assert row(result, "comparison", "shared_cases", "pooled", "A", group="calibration").value in (2, 3)
    assert row(result, "agreement", "dice", group="calibration").n == 3


# -- time --------------------------------------------------------------------------------------------


def test_without_dates_the_order_is_that_of_updates(tmp_path):
    from exchange_reads import bits, read

    reads = []
    for update in range(4):
        reads += [
            read(f"u{update}-{k}.png", rater, [bits(disc(30, x=k % 3, radius=8))], (30, 30))
            for k in range(4) for rater in ("anna", "ben", "clara")
        ]  # fmt: skip
        mt.import_study(reads, to=tmp_path / "study", update=True)
    result = mt.progress(tmp_path / "study", today=TODAY)
    assert result.calendar.source == "updates"
    assert result.calendar.names == ("first import", "update 1", "update 2", "update 3")
    assert [r.value for r in result.tables["trend"].all("readings", "pooled")] == [12, 12, 12, 12]
    assert any("those of the updates" in note for note in result.notes)


def test_dates_of_the_future_and_dates_that_are_none_are_named_once(tmp_path):
    write(tmp_path)
    text = (tmp_path / "reads.csv").read_text()
    text = text.replace("2026-01-05T00:00:00", "2062-01-05T00:00:00").replace("2026-01-06T00:00:00", "3/4/2026")
    (tmp_path / "reads.csv").write_text(text)
    result = mt.progress(tmp_path, today=TODAY)
    assert [note for note in result.notes if "in the future" in note] == [
        "1 reading has a date in the future (A in c00: 2062-01-05T00:00:00); correct started in the reading log; "
        "not used until then"
    ]
    assert [note for note in result.notes if "cannot be read (A in c01: '3/4/2026')" in note]
    assert any(note.startswith("2 readings have no date") for note in result.notes)
    assert result.calendar.source == "started"
    assert len(result.calendar.times) == 3 * 14 - 2


def test_dates_of_fewer_than_half_are_not_used(tmp_path):
    write(tmp_path, dates=False)
    text = (tmp_path / "reads.csv").read_text().replace("c00,A,done,,", "c00,A,done,2026-01-05,")
    (tmp_path / "reads.csv").write_text(text)
    assert mt.progress(tmp_path, today=TODAY).calendar.source == ""


def test_minutes_and_pace(tmp_path):
    gaps = {(case, "A"): "unread" for case in CASES[10:]}
    result = mt.progress(write(tmp_path, gaps=gaps), today="2026-01-19")
    records = {record[0]: record for record in result.tables["raters"].records()}
    assert records["A"][1:3] == (10, 4)
    assert records["B"][8] == pytest.approx(61 / 60)
    # A has read 10 in 15 days, and has 4 to go
    assert result.facts.pace.weeks == pytest.approx(4 / (10 * 7 / 15))
    (claim,) = result.claims.of("progress.pace").made
    assert claim.text.startswith(
        "At the pace of the last four weeks (17.7 readings a week), the four open readings would"
    )


def test_no_end_is_told_of_a_rater_who_has_stopped(tmp_path):
    gaps = {(case, "A"): "unread" for case in CASES[10:]}
    result = mt.progress(write(tmp_path, gaps=gaps), today="2026-06-01")
    (claim,) = result.claims.of("progress.pace")
    assert claim.why_not.code == "no_pace"
    early = mt.progress(tmp_path, today="2026-01-10")
    assert early.claims.of("progress.pace")[0].why_not.code in ("too_early", "no_dates")


# -- what goes wrong ---------------------------------------------------------------------------------


def renaming(k, rater, mask):
    return mask * 2 if rater == "B" and k >= 7 else mask


def copying(k, rater, mask):
    copying.last = mask if rater == "B" else getattr(copying, "last", mask)
    return copying.last if rater == "C" and k >= 7 else mask


def test_a_label_of_ones_own_is_named_with_when_it_began(tmp_path):
    result = mt.progress(write(tmp_path, value=renaming), today=TODAY)
    (claim,) = result.claims.of("progress.labels").made
    assert claim.about == "B"
    assert claim.text.startswith("In 7 of 14 cases of rater B (c07, c08, c09 and four more), the rater gave label 2")
    (since,) = result.claims.of("progress.since").made
    assert since.text.startswith("7 of 7 masks of rater B have label 2 in place of label 1, and 0 of 7 before")
    assert not result.claims.of("progress.drift_size", "progress.drift_distance").made


def test_of_two_raters_nobody_is_blamed_for_a_label(tmp_path):
    result = mt.progress(write(tmp_path, raters="AB", value=renaming), today=TODAY)
    assert not result.alarms


def test_copies_are_named_with_who_was_later(tmp_path):
    result = mt.progress(write(tmp_path, value=copying), today=TODAY)
    (claim,) = result.claims.of("progress.copies").made
    assert claim.about == "B and C"
    assert "in 7 of 14 cases" in claim.text
    assert "C's readings began later in all of these cases" in claim.text


def test_edits_that_are_known_are_no_copies(tmp_path):
    write(tmp_path, value=copying)
    lines = (tmp_path / "reads.csv").read_text().splitlines()
    rows = [f"{line},{'B' if line[4] == 'C' and line[:3] >= 'c07' else ''}" for line in lines[1:]]
    (tmp_path / "reads.csv").write_text("\n".join([f"{lines[0]},based_on", *rows]) + "\n")
    assert not mt.progress(mt.Study.open(tmp_path, edited="keep"), today=TODAY).claims.of("progress.copies").made


def test_slots_are_nobody(tmp_path):
    write(tmp_path, value=copying)
    (tmp_path / "study.toml").write_text(
        'masks = "masks/{rater}/{case}.png"\nreads = "reads.csv"\nraters = "exchangeable"\n'
    )
    result = mt.progress(mt.Study.open(tmp_path), today=TODAY)
    assert not result.alarms
    assert len(result.tables["comparison"]) == 0


def test_every_number_of_a_claim_is_in_its_table(tmp_path):
    result = mt.progress(write(tmp_path, value=copying, gaps={("c01", "A"): "unread"}), today=TODAY, out=tmp_path / "o")
    seen = 0
    for claim in result.claims.made:
        for cell in claim.numbers:
            file, _, start = cell.at.partition("#")
            lines = (tmp_path / "o" / file).read_text().splitlines()
            assert any(line.startswith(f"{start},{cell.value},") for line in lines), cell.at
            seen += 1
    assert seen > 8


# -- input that is wrong -----------------------------------------------------------------------------


def test_calibration_cases_that_are_none_are_refused(tmp_path):
    with pytest.raises(CallError, match=r"--calibration c1: is no case of the study; is it c01\?"):
        mt.progress(write(tmp_path), calibration=["c1"], today=TODAY)


@pytest.mark.parametrize(
    ("rows", "header", "message"),
    [
        (["A,x,c00,block"], "rater,order,case,kind", "line 2: order is 'x'; it is a whole number"),
        (["A,1,c00,soon"], "rater,order,case,due", "line 2: due is 'soon'; it is a date"),
        (["A,1,c00,b", "A,2,c00,b"], "rater,order,case,kind", "line 3: A is asked for case c00 twice"),
        (["A,1,,b"], "rater,order,case,kind", "line 2: names no case"),
        (["1,c00"], "order,case", "has no column 'rater'"),
    ],
)
def test_assignments_that_are_wrong_are_refused(tmp_path, rows, header, message):
    with pytest.raises(FormatError, match=message):
        mt.progress(write(tmp_path), assignment=plan(tmp_path, rows, header), today=TODAY)


def test_names_of_an_assignment_that_nobody_knows_are_told(tmp_path):
    path = plan(tmp_path, ["A,1,c00,block", "D,1,c00,block", "A,2,c0,block"])
    notes = mt.progress(write(tmp_path), assignment=path, today=TODAY).notes
    assert "assignment.csv: case 'c0' has nothing in the study; is it 'c00'?" in notes
    assert "assignment.csv: nothing was read yet by D" in notes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"late_after": -1}, "--late-after is a number of days, 0 or more"),
        ({"period": 0}, "--period is a number of days, 1 or more"),
        ({"dice_width": 0}, "--dice-width is the width of an interval"),
        ({"today": "soon"}, "--today is a date such as 2026-03-31; got 'soon'"),
    ],
)
def test_arguments_that_are_wrong_are_refused(tmp_path, options, message):
    with pytest.raises(CallError, match=message):
        mt.progress(write(tmp_path), **options)


def test_the_command_writes_what_the_function_returns(tmp_path, capsys):
    write(tmp_path, gaps={("c01", "A"): "unread"})
    arguments = [
        "progress",
        str(tmp_path),
        "--today",
        TODAY,
        "--out",
        str(tmp_path / "out"),
        "--calibration",
        "c00,c02",
    ]
    assert status(arguments) == 0
    printed = capsys.readouterr().out
    assert "41 of 42 readings, 1 late: 14 cases, 3 raters" in printed
    assert "41 of 42 readings are there; 1 of the others is late." in printed
    result = mt.progress(tmp_path, today=TODAY, calibration=["c00", "c02"])
    result.write(tmp_path / "other")
    for path in files(tmp_path / "other/progress"):
        same = tmp_path / "out" / path.relative_to(tmp_path / "other")
        assert same.read_bytes() == path.read_bytes(), path.name
    with open(tmp_path / "out/progress/late.csv", newline="") as stream:
        assert next(iter(csv.DictReader(stream)))["case"] == "c01"
    assert status(["progress", str(tmp_path), "--today", "soon", "--out", str(tmp_path / "out")]) == 2


def test_the_number_of_processes_does_not_matter(tmp_path):
    write(tmp_path)
    for jobs in (1, 2):
        mt.progress(tmp_path, today=TODAY, jobs=jobs, out=tmp_path / f"out{jobs}")
    for path in files(tmp_path / "out1/progress"):
        assert (tmp_path / "out2" / path.relative_to(tmp_path / "out1")).read_bytes() == path.read_bytes()


def test_a_study_of_few_readings_is_told_without_claims():
    a = np.ones((4, 4), np.uint8)
    result = mt.progress(mt.Study.from_arrays({"p1": {"A": a, "B": a}}), today=TODAY)
    assert result.describe() == "2 readings: 1 case, 2 raters"
    assert not result.alarms
    empty = mt.progress(mt.Study.from_arrays({"p1": {"A": a * 0, "B": a * 0}}), today=TODAY)
    assert not empty.claims.of("progress.agreement").made


@pytest.mark.parametrize(("count", "why"), [(9, " with fewer than ten"), (12, ": it is the same in all")])
def test_why_there_is_no_interval_of_cases_alike(count, why):
    a, b = [[1, 1, 1, 0]], [[1, 1, 0, 0]]
    found = mt.progress(mt.Study.from_arrays({f"p{k:02}": {"A": a, "B": b} for k in range(count)}))
    said = f"So far, two raters overlap by a mean Dice of 0.80 over {count} cases (no interval{why})."
    assert str(found.claims.of("progress.agreement").made[0]) == said


def test_why_nothing_is_told_of_the_width():
    a, b = [[1, 1, 1, 0]], [[1, 1, 0, 0]]
    alike = mt.Study.from_arrays({f"p{k:02}": {"A": a, "B": b} for k in range(12)})
    (claim,) = mt.progress(alike).claims.of("progress.width")
    assert (claim.why_not.code, claim.why_not) == ("no_spread", "Dice is the same in all 12 cases")
    cases = {f"p{k:02}": {"A": a, "B": a if k % 3 else b} for k in range(12)}
    twice = mt.Study.from_arrays(cases, subjects={f"p{k:02}": f"s{k // 2}" for k in range(12)})
    (claim,) = mt.progress(twice).claims.of("progress.width")
    assert claim.why_not.code == "too_few_subjects"
    assert claim.why_not == "it takes ten patients of which Dice is known, and there are six"
