"""Dates of the reading log: missing, in the future, or none at all."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

import manytruths as mt
from exchange_reads import read, square
from manytruths.cli import status
from manytruths.study.reading_dates import find_doubtful_dates, parse_started

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T10:15:00Z",
        "2026-03-01 10:15:00.000000+00:00",
        "2026-03-01T12:15+02:00",
        "20260301T101500",
        " 2026-03-01T10:15 ",
    ],
)
def test_dates_as_tools_write_them(text):
    assert parse_started(text) == datetime(2026, 3, 1, 10, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "last week", "2026-13-01", "0001-01-01T00:00+14:00", "9999-12-31T23:59-12:00", "1,5"]
)
def test_what_is_no_date(text):
    assert parse_started(text) is None


def test_what_is_said_of_dates():
    def said(*dates):
        return list(find_doubtful_dates(((f"p{k}", "anna", text) for k, text in enumerate(dates)), NOW))

    assert said("", "2026-02-01", "2026-03-01T20:00", (NOW + timedelta(hours=23)).isoformat()) == []
    assert said("", "2026-03-03") == [
        "1 reading has a date in the future (anna in p1: 2026-03-03); correct started in the reading log"
    ]
    assert said(*["2999-01-01"] * 5, "soon") == [
        "5 readings have a date in the future (anna in p0: 2999-01-01, anna in p1: 2999-01-01, anna in p2: 2999-01-01 "
        "and 2 more); correct started in the reading log",
        "1 reading has a date that cannot be read (anna in p5: 'soon'); "
        "write started as 2026-03-01 or 2026-03-01T10:15",
    ]


def reads(dates):
    return [
        read(f"p{k}.png", rater, [square(2 + (rater == "ben"), 3, 7)], started=text, seconds=60.0)
        for k, text in enumerate(dates)
        for rater in ("anna", "ben")
    ]


def test_import_check_and_next_name_a_date_in_the_future(tmp_path, capsys):
    made = mt.import_study(reads(["2026-01-05T10:00:00Z", "", "2999-01-01"]), to=tmp_path / "study")
    (told,) = [note for note in made.notes if "a date in the future" in note]
    assert told == (
        "2 readings have a date in the future (anna in p2: 2999-01-01, ben in p2: 2999-01-01); "
        "correct started in the reading log"
    )
    assert [problem.message for problem in mt.check(made.study()).problems if "date" in problem.message] == [told]
    assert [note for note in mt.next_reads(tmp_path / "study", budget=3).notes if "date" in note] == [told]
    assert status(["check", str(tmp_path / "study"), "--out", str(tmp_path / "out")]) == 0
    assert "2 readings have a date in the future" in " ".join(capsys.readouterr().out.split())


def test_an_update_names_only_what_it_takes(tmp_path):
    first = reads(["2999-01-01", "", ""])
    mt.import_study(first, to=tmp_path / "study")
    new = [replace(one, image="p7.png", started="2998-01-01") for one in first[:1]]
    made = mt.import_study([*first, *new], to=tmp_path / "study", update=True)
    assert made.changes["added"] == 1
    (told,) = [note for note in made.notes if "date" in note]
    assert told.startswith("1 reading has a date in the future (anna in p7: 2998-01-01)")


@pytest.mark.parametrize("dates", [["", "", ""], ["2026-01-05", "", "2026-01-06T10:00:00Z"]])
def test_missing_dates_break_nothing_and_are_not_told(tmp_path, dates):
    made = mt.import_study(reads(dates)[:-1], to=tmp_path / "study")
    again = mt.import_study(reads(dates), to=tmp_path / "study", update=True)
    assert again.changes["added"] == 1
    result = mt.next_reads(tmp_path / "study", budget=500)
    for notes in (made.notes, again.notes, result.notes, [p.message for p in mt.check(again.study()).problems]):
        assert not any("date" in note for note in notes)
    assert result.describe() == "no reading is open: all 6 are done"


def test_a_log_without_the_column(tmp_path):
    made = mt.import_study(reads(["", ""]), to=tmp_path / "study")
    path = tmp_path / "study" / "reads.csv"
    lines = [line.split(",")[:4] for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("\n".join(map(",".join, lines)), encoding="utf-8")
    assert mt.next_reads(made.study()).readings == ()
    assert not mt.check(made.study()).errors
