"""Names that a spreadsheet would compute are shown by it, and read back as they were."""

from __future__ import annotations

import csv
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import manytruths as mt
from exchange_reads import read, square
from manytruths.core.csv_text import escape_cell, unescape_cell
from manytruths.exchange.readings import combine_readings
from manytruths.io import write_csv
from manytruths.io.tables import read_rows
from study_folders import command, disc, write_png, write_study

NAMES = ("=1+1", "+a", "-x", "@me", "'=b", "plain")
COMPUTED = re.compile(r"[=+\-@\t\r]")
NUMBER = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?$")


@given(st.text(alphabet="=+-@'\t\r1a.e ", max_size=6) | st.text(max_size=8))
def test_every_text_comes_back(text):
    shown = escape_cell(text)
    assert unescape_cell(shown) == text
    assert not COMPUTED.match(shown) or NUMBER.match(shown)


@example(["-."])
@example(["-1.2.3"])
@example(["-info"])
@given(st.lists(st.text(alphabet="=+-@'\t1a.e,\"\n ", max_size=6), min_size=1, max_size=4))
@example(["-1,"])
def test_every_row_comes_back(tmp_path_factory, cells):
    path = tmp_path_factory.getbasetemp() / "rows.csv"
    write_csv(path, [cells], [str(k) for k in range(len(cells))])
    with open(path, newline="", encoding="utf-8") as stream:
        found = list(csv.reader(stream))[1:]
    assert found == [[escape_cell(cell) for cell in cells]]


def test_numbers_stay_numbers(tmp_path):
    write_csv(tmp_path / "t.csv", [(-0.5, "-5", None, float("-inf"), -3)], ("a", "b", "c", "d", "=e"))
    assert (tmp_path / "t.csv").read_text() == "a,b,c,d,'=e\n-0.5,-5,,-inf,-3\n"
    [(_, row)] = read_rows(tmp_path / "t.csv", ())
    assert row == {"a": "-0.5", "b": "-5", "c": "", "d": "-inf", "=e": "-3"}


def computed(folder):
    """Cells of all tables in a folder that a spreadsheet would compute."""
    for path in folder.rglob("*.csv"):
        with open(path, newline="", encoding="utf-8") as stream:
            for row in csv.reader(stream):
                yield from ((path.name, cell) for cell in row if COMPUTED.match(cell) and not NUMBER.match(cell))


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["check", "agree", "fuse", "reliability", "evaluate"])
def test_tables_of_commands(tmp_path, verb):
    template = write_study(tmp_path, raters=NAMES, cases=("=case", "-c", "p3"))
    for algorithm in ("=net", "@net"):
        for case in ("=case", "-c", "p3"):
            write_png(tmp_path / "predictions" / algorithm / f"{case}.png", disc(x=1))
    (tmp_path / "cases.csv").write_text("case,subject,site\n=case,=s,@home\n-c,-s,@home\np3,s3,+\n")
    more = ["--predictions", f"{tmp_path}/predictions/{{algorithm}}/{{case}}.png"] if verb == "evaluate" else []
    options = ["--cases", tmp_path / "cases.csv", "--out", tmp_path / "out", *more]
    done = command(verb, template, *options)
    assert done.status == 0, done.err
    assert not list(computed(tmp_path / "out"))
    assert "'=1+1" not in done.out
    if verb == "evaluate":
        ranked = command("rank", tmp_path / "out/evaluate/scores.csv", "--out", tmp_path / "out", "--resamples", 20)
        assert ranked.status == 0, ranked.err
        assert "'=net" not in ranked.out
        assert not list(computed(tmp_path / "out"))


def test_an_import_is_opened_with_its_names(tmp_path):
    found = combine_readings(
        [read(f"{case}.png", rater, [square(3, 4, 9)], (20, 30)) for case in NAMES for rater in NAMES]
    )
    mt.import_study(found, to=tmp_path / "study")
    assert not list(computed(tmp_path / "study"))
    study = mt.Study.open(tmp_path / "study")
    assert set(study.rater_names) == {case.name for case in study} == set(NAMES)
