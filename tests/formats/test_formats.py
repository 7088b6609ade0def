"""Files of every version of a format stay readable; one of each lies here, and newer ones are refused in one line."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import manytruths as mt
from decision_logs import three_readers, write_study
from exchange_reads import read, square
from manytruths import FormatError, InputError, ManytruthsError
from manytruths.analyses.importing import ledger
from manytruths.analyses.importing.layout import LEDGER
from manytruths.cli import status
from manytruths.complexity.classifiers import Stored
from manytruths.io import decision_log, tally_files
from manytruths.io.decision_log import DecisionLog, pack, read_logs, read_pack
from manytruths.io.format_versions import check_format_version

HERE = Path(__file__).parent
NEWEST = {
    "tallies": tally_files.VERSION,
    "decisions": len(decision_log.MIGRATIONS),
    "pack": decision_log.PACK_VERSION,
    "imported": ledger.VERSION,
}


def kept(name):
    """The files of a format, oldest first."""
    return [next(HERE.glob(f"{name}-{version}.*")) for version in range(1, NEWEST[name] + 1)]


def first_readings():
    """The readings that the imports here were made from."""
    return [
        read(f"p0{k}.png", rater, [square(2 + k, 2 + i, 6)], started="2026-01-05", seconds=30.0)
        for k in (1, 2, 3)
        for i, rater in enumerate(("anna", "ben"))
    ]


def test_there_is_a_file_of_every_version():
    named = {path.stem for path in HERE.iterdir() if path.suffix not in (".py", "")}
    assert named == {f"{name}-{version}" for name, newest in NEWEST.items() for version in range(1, newest + 1)}


@pytest.mark.parametrize("path", kept("tallies"), ids=lambda path: path.stem)
def test_tally_files(path):
    study = mt.Study.open([path])
    table = study.tally()["north/p2"]
    assert [column.name for column in table.columns] == ["A", "B"]
    assert mt.dice(table) == pytest.approx(2 * 15 / (15 + 20), abs=1e-15)


@pytest.mark.parametrize("path", kept("decisions") + kept("pack"), ids=lambda path: path.stem)
def test_decisions(path, tmp_path):
    study = mt.Study.open(write_study(tmp_path / "masks", three_readers()))
    found = mt.adjudicated(study, decisions=str(path))
    assert found.describe() == "1 adjudicator, 3 of 3 disputes decided"
    assert [row[0] for row in found.tables["decisions"].records()] == ["p1", "p1", "p1"]


@pytest.mark.parametrize("path", kept("imported"), ids=lambda path: path.stem)
def test_ledgers_of_imports(path, tmp_path):
    mt.import_study(first_readings(), to=tmp_path / "study")
    shutil.copy(path, tmp_path / "study" / LEDGER)
    added = read("p04.png", "anna", [square(2, 2, 6)])
    made = mt.import_study([*first_readings(), added], to=tmp_path / "study", update=True)
    assert made.changes == {"unchanged": 6, "added": 1}
    assert json.loads((tmp_path / "study" / LEDGER).read_text())["version"] == ledger.VERSION


def test_an_older_log_is_carried_on_in_the_newest_version(tmp_path):
    path = tmp_path / "log.sqlite"
    shutil.copy(kept("decisions")[0], path)
    (content,) = read_logs([path])
    with DecisionLog.open(path, study=content.study, adjudicator="Ada", machine="ward") as log:
        assert tuple(log.entries()) == content.entries
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (NEWEST["decisions"],)
        assert connection.execute("PRAGMA application_id").fetchone() == (decision_log.APPLICATION,)


def newer_tallies(path):
    text = gzip.decompress(kept("tallies")[-1].read_bytes())[: -(len("sha256 ") + 65)]
    text = text.replace(b'"version":2', b'"version":3,"colour":"red"', 1)
    path.write_bytes(gzip.compress(text + b"sha256 " + hashlib.sha256(text).hexdigest().encode() + b"\n"))


def newer_decisions(path):
    shutil.copy(kept("decisions")[-1], path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {NEWEST['decisions'] + 1}")


def newer_pack(path):
    document = json.loads(kept("pack")[-1].read_text())
    path.write_text(json.dumps({**document, "version": NEWEST["pack"] + 1}))


@pytest.mark.parametrize(
    ("make", "name", "call"),
    [
        (newer_tallies, "a.tally", ["agree", "a.tally"]),
        (newer_decisions, "a.sqlite", ["fuse", "{study}", "--consensus", "adjudicated", "--decisions", "a.sqlite"]),
        (newer_pack, "a.json", ["fuse", "{study}", "--consensus", "adjudicated", "--decisions", "a.json"]),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_newer_file_is_refused_in_one_line(make, name, call, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = write_study(Path("masks"), three_readers())
    make(Path(name))
    assert status([word.format(study=study) if word == "{study}" else word for word in call] + ["--quiet"]) == 1
    said = capsys.readouterr()
    assert len(said.err.splitlines()) == 1
    assert f"{name}: was written by a newer version of manytruths" in said.err
    assert said.out == ""


def test_a_newer_ledger_is_refused(tmp_path):
    mt.import_study(first_readings(), to=tmp_path / "study")
    path = tmp_path / "study" / LEDGER
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": ledger.VERSION + 1, "readings": "other"}))
    with pytest.raises(FormatError, match=r"imported\.json: was written by a newer version of manytruths"):
        mt.import_study(first_readings(), to=tmp_path / "study", update=True)


@pytest.mark.parametrize("version", [None, 0, -1, "2", 1.0, True])
def test_a_file_that_does_not_say_its_version(version):
    with pytest.raises(FormatError, match="does not say of which version it is"):
        check_format_version("a.tally", version, 2)


def test_a_pack_that_does_not_say_its_version():
    document = json.loads(kept("pack")[-1].read_text())
    with pytest.raises(ManytruthsError, match="does not say of which version it is"):
        read_pack(json.dumps({**document, "version": "1"}).encode())


def test_a_database_of_another_program_is_no_log(tmp_path):
    path = tmp_path / "map.sqlite"
    shutil.copy(kept("decisions")[-1], path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA application_id = 1196444487")
    with pytest.raises(InputError, match="no log of decisions"):
        read_logs([path])


def test_what_is_written_says_its_format_and_version(tmp_path):
    mt.import_study(first_readings(), to=tmp_path / "study")
    mt.share_tallies(tmp_path / "study", tmp_path / "a.tally")
    packed = json.loads(pack([kept("decisions")[-1]]))
    imported = json.loads((tmp_path / "study" / LEDGER).read_text())
    first, _, _ = gzip.decompress((tmp_path / "a.tally").read_bytes()).partition(b"\n")
    said = [(content["format"], content["version"]) for content in (json.loads(first), packed, imported)]
    assert said == [("manytruths-tallies", 2), ("manytruths-log", 1), ("manytruths-import", 2)]


def test_classifiers_say_theirs():
    fitted = mt.ThresholdClassifier
    assert issubclass(fitted, Stored)
    with pytest.raises(InputError, match="newer version of manytruths"):
        fitted.from_json(json.dumps({"manytruths": fitted.kind, "version": 2}))
