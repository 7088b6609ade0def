"""Every command gives the numbers that were frozen; and the comparison notices what differs."""

from __future__ import annotations

import pytest

from data_folder import data

from .commands import STUDIES
from .comparing import Renames, compare, lines
from .freezing import shrunk, table
from .running import compared

TEXT = (
    "scope,case,statistic,value,n,reason\ncase,p1,dice,0.5,10,\ncase,p2,dice,nan,10,nobody marked\nmean,,dice,0.5,1,\n"
)


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_the_numbers_are_those_that_were_frozen(name):
    for folder in STUDIES[name].needs:
        data(folder)
    assert not list(lines(compared(name)))


def found(after, before=TEXT, renames=None, texts=False, name="agree/agreement.csv"):
    was = {"agree": {"agree/agreement.csv": table(before)}}
    return compare("tiny", was, {"agree": {name: table(after)} if after else {}}, renames, texts)


def test_nothing_differs():
    assert found(TEXT) == []
    assert found(TEXT.replace("0.5", "0.5000000000001")) == []


def test_a_number_that_changed():
    [one] = found(TEXT.replace("p1,dice,0.5", "p1,dice,0.50001"))
    assert str(one) == (
        "tiny | agree | agree/agreement.csv | scope=case case=p1 statistic=dice | value | was 0.5 | is 0.50001"
    )
    assert len(found(TEXT.replace("nan", "0.1"))) == 1


def test_rows_columns_and_files_that_are_gone_or_new():
    assert [d.now for d in found(TEXT.replace("mean,,dice,0.5,1,\n", ""))] == ["(absent)"]
    assert [d.was for d in found(TEXT + "mean,,iou,0.5,1,\n")] == ["(absent)"]
    assert [(d.file, d.now) for d in found("")] == [("agree/agreement.csv", "(absent)")]
    assert [d.column for d in found(TEXT.replace("value,n,", "value,items,"))] == ["n", "items"]


def test_renames():
    after = TEXT.replace("value,n,", "value,items,").replace(",dice,", ",overlap,")
    known = Renames(
        file=[{"was": "agree/", "is": "agreement/"}],
        column=[{"was": "n", "is": "items", "file": "agree/*"}],
        value=[{"was": "dice", "is": "overlap", "column": "statistic"}],
    )
    assert found(after, renames=known, name="agreement/agreement.csv") == []
    assert found(after, name="agreement/agreement.csv")


def test_what_is_meant_to_differ():
    known = Renames(changed=[{"file": "agree/*", "where": {"case": "p1"}, "column": "value", "reason": "a test"}])
    assert found(TEXT.replace("p1,dice,0.5", "p1,dice,0.7"), renames=known) == []
    assert len(found(TEXT.replace("mean,,dice,0.5", "mean,,dice,0.7"), renames=known)) == 1


def test_sentences_count_when_asked():
    after = TEXT.replace("nobody marked", "no marks")
    assert found(after) == []
    assert [d.column for d in found(after, texts=True)] == ["reason"]
    assert len(found(TEXT.replace("nobody marked", ""))) == 1


def test_long_tables_by_their_digests():
    was = {"a": {"t.csv": shrunk(table(TEXT)["table"])}}
    changed = table(TEXT.replace("mean,,dice,0.5", "mean,,dice,0.6"))
    assert compare("tiny", was, {"a": {"t.csv": table(TEXT)}}) == []
    assert "value" in {d.column for d in compare("tiny", was, {"a": {"t.csv": changed}})}


def test_maps_and_json():
    was = {"a": {"m.png": {"map": "2x2 uint8 ab"}, "s.json": {"json": {"tolerance": [1.0, 2.0], "notes": ["one"]}}}}
    now = {"a": {"m.png": {"map": "2x2 uint8 cd"}, "s.json": {"json": {"tolerance": [1.0, 3.0], "notes": []}}}}
    assert [(d.file, d.column) for d in compare("tiny", was, now)] == [("m.png", "map"), ("s.json", "tolerance.1")]
    assert len(compare("tiny", was, now, texts=True)) == 3
