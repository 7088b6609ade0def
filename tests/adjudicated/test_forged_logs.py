"""Logs that say what no adjudicator can have decided, with digests that fit; and files that are damaged."""

import copy
import json
import random
import sqlite3
from contextlib import closing
from dataclasses import asdict, replace

import pytest

import manytruths as mt
from decision_logs import append, disputes_of, session, three_readers, write_study
from manytruths import InputError
from manytruths.core.errors import ManytruthsError
from manytruths.io.decision_log import (
    DecisionLog,
    LogContent,
    LogError,
    canonical,
    entry_digest,
    log_name,
    merge,
    read_log,
    read_logs,
)
from manytruths.study.adjudicated import add_payload, study_digest

BAD = [
    None, True, -1, 10**30, 1.5, "x", "", [], {}, [[1]], [[1, [0]]], [[-1, [0, 5]]], [[1, [-5, 3]]], [[1, [0, 10**12]]],
    [[0, 10**9], [0, 10**9]], [[5, 1], [0, 3]], [[0, 3]], {"a": 1}, [0, 0, 0], [10**12, 1], [-3, 1], "rater:nobody",
    [[1, [0, 5, 3, 5]]], "<script>",
]  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A study, and a log with an entry of every kind."""
    folder = tmp_path_factory.mktemp("forged")
    study = mt.Study.open(write_study(folder / "m", three_readers()))
    session(folder / "log", study, controls=2, repeats=1)
    disputes = disputes_of(study)["p1"].disputes
    path = folder / "log" / log_name("Ada", "ward")
    with DecisionLog.open(path, study=study_digest(study), adjudicator="Ada") as log:
        key = disputes[0].key
        append(log, "rule", payload={"kind": "border", "rule": "majority", "keys": [key], "cases": {key: "p1"}})
        append(log, "add", case="p1", payload=add_payload("new", ((0, 4), (0, 4)), [[1, [0, 3]]]))
        append(log, "second", item=disputes[1].key, case="p1", payload={"key": disputes[1].key})
        append(log, "show", item=key, case="p1", payload={"key": key, "what": "votes"})
        append(log, "undo", payload={"of": next(e.uuid for e in log.entries() if e.action == "decide")})
        append(log, "finish", payload={"name": "Dr. Ada", "meaning": "approved"})
    return study, path


def forge(content: LogContent, number: int, **changes: object) -> LogContent:
    """The log with one entry changed, and digests that fit."""
    entries, digest = [], replace(content, entries=()).digest
    for entry in content.entries:
        new = replace(entry, **changes) if entry.number == number else entry
        digest = entry_digest(digest, new)
        entries.append(replace(new, digest=digest))
    return replace(content, entries=tuple(entries))


def write_pack(path, content: LogContent):
    """A pack as ``--pack`` writes it, of what no log would hold."""
    path.write_text(canonical({"format": "manytruths-log", "version": 1, "logs": [asdict(content)]}), encoding="utf-8")
    return path


def first(content: LogContent, action: str) -> object:
    return next(entry for entry in content.entries if entry.action == action)


@pytest.mark.parametrize(
    ("action", "change"),
    [
        ("decide", {"pixels": [[1, [0, 10**15]]]}),
        ("decide", {"pixels": [[1, [0, 4, 2, 4]]]}),
        ("decide", {"pixels": [[0, [0, 1]]]}),
        ("decide", {"pixels": [[1, [0]]]}),
        ("decide", {"box": [[0, 5]]}),
        ("decide", {"box": [[0, 2**30]] * 3}),
        ("decide", {"box": [[9, 3], [0, 4]]}),
        ("decide", {"key": 7}),
        ("decide", {"purpose": "bribe"}),
        ("decide", {"seen": [1]}),
        ("open", {"rule": {"min_dice": 7.0}}),
        ("open", {"rule": {"below": "adjudicated"}}),
        ("open", {"settings": {"role": "king"}}),
        ("rule", {"rule": "the largest"}),
        ("rule", {"keys": "abc"}),
        ("undo", {"of": []}),
    ],
)
def test_an_entry_that_means_nothing_is_named_and_nothing_is_computed(made, tmp_path, action, change):
    study, path = made
    content = read_log(path)
    entry = first(content, action)
    pack = write_pack(
        tmp_path / "p.json", forge(content, entry.number, payload={**copy.deepcopy(entry.payload), **change})
    )
    named = mt.Study.open(study.options.masks, decisions=str(pack))
    for use in (
        lambda: mt.adjudicated(study, decisions=pack),
        lambda: mt.fuse(named, consensus="adjudicated"),
        lambda: mt.adjudicate(study, log=tmp_path / "log", merge=[pack], quiet=True),
    ):
        with pytest.raises(LogError, match=r"entry .* is none that manytruths writes"):
            use()
    assert not list((tmp_path / "log").glob("*.sqlite"))


def test_a_box_beyond_the_image_is_not_applied_and_named(made, tmp_path):
    study, path = made
    content = read_log(path)
    entry = [each for each in content.entries if each.action == "decide" and each.payload["purpose"] == "dispute"][-1]
    box = [[low + 10**6, high + 10**6] for low, high in entry.payload["box"]]
    pack = write_pack(tmp_path / "p.json", forge(content, entry.number, payload={**entry.payload, "box": box}))
    result = mt.adjudicated(study, decisions=pack)
    assert f"{entry.uuid}: its pixels lie outside of the image" in " ".join(result.notes)


def test_a_decision_about_another_number_of_axes_is_not_applied(made, tmp_path):
    """Of a log whose every box has an axis more: a volume that has the name of a flat image."""
    study, path = made
    content = read_log(path)
    for entry in content.entries:
        if "box" in entry.payload:
            content = forge(content, entry.number, payload={**entry.payload, "box": [[0, 1], *entry.payload["box"]]})
    result = mt.adjudicated(study, decisions=write_pack(tmp_path / "p.json", content))
    # a drawing and a decision have a box; the rule holds
    assert " ".join(result.notes).count("outside of the image") == 2
    counts = [outcome.counts for outcome in result.cases.values()]
    assert [sum(each[name] for each in counts) for name in ("decided", "added")] == [1, 0]


@pytest.mark.parametrize("seed", range(30))
def test_whatever_a_forged_log_says_is_an_error_of_one_line_or_is_computed(made, tmp_path, seed):
    study, path = made
    content, chance = read_log(path), random.Random(seed)
    entry = chance.choice(content.entries)
    payload = copy.deepcopy(dict(entry.payload))
    bad, name = chance.choice(BAD), chance.choice(list(payload))
    inner = payload[name]
    if isinstance(inner, dict) and inner and chance.random() < 0.6:
        inner[chance.choice(list(inner))] = bad
    elif chance.random() < 0.2:
        del payload[name]
    elif chance.random() < 0.2:
        payload = dict(chance.choice(content.entries).payload)
    else:
        payload[name] = bad
    pack = write_pack(tmp_path / "p.json", forge(content, entry.number, payload=payload))
    said = ""
    try:
        result = mt.adjudicated(study, decisions=pack)
        said = " ".join(result.notes)
        assert str(result.claims)
    except ManytruthsError as error:
        said = str(error)
    assert "\n" not in said


def test_a_pack_that_is_no_number_or_nested_without_end_is_refused(made, tmp_path):
    study, path = made
    text = write_pack(tmp_path / "p.json", read_log(path)).read_text()
    nan = text.replace('"seconds":2.0', '"seconds":NaN', 1)
    deep = text.replace('"seconds":2.0', '"seconds":' + "[" * 900 + "]" * 900, 1)
    assert text not in (nan, deep)
    for wrong in (nan, deep):
        (tmp_path / "p.json").write_text(wrong)
        with pytest.raises(LogError, match=r"is damaged|is no JSON|does not fit the digests"):
            mt.adjudicated(study, decisions=tmp_path / "p.json")


@pytest.mark.parametrize(
    "change",
    ["UPDATE entries SET payload = '{'", "UPDATE entries SET payload = '[]'", "UPDATE entries SET uuid = x'00ff'",
     "UPDATE log SET study = x'00'", "DELETE FROM log", "DROP TABLE entries"],
)  # fmt: skip
def test_a_log_that_was_edited_to_be_none(made, tmp_path, change):
    study, path = made
    (tmp_path / "log").mkdir()
    copied = tmp_path / "log" / path.name
    copied.write_bytes(path.read_bytes())
    with closing(sqlite3.connect(copied)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(f"{change} WHERE number = 2" if "entries SET" in change else change)
        connection.commit()
    for use in (
        lambda: read_log(copied),
        lambda: mt.adjudicated(study, decisions=copied),
        lambda: DecisionLog.open(copied, study=study_digest(study), adjudicator="Ada"),
    ):
        with pytest.raises(InputError, match="is damaged, or no log"):
            use()


@pytest.mark.parametrize("seed", range(10))
def test_bytes_that_were_changed_in_the_file_are_found(made, tmp_path, seed):
    _, path = made
    chance, data = random.Random(seed), bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 20, 400))):
        data[chance.randrange(len(data))] = chance.randrange(256)
    if seed % 4 == 0:
        data = data[: chance.randrange(100, len(data))]
    damaged = tmp_path / "x.sqlite"
    damaged.write_bytes(bytes(data))
    try:
        found = read_log(damaged)
    except LogError as error:
        found = str(error)
    assert found == read_log(path) or (isinstance(found, str) and str(damaged) in found)


def test_a_log_of_another_machine_is_merged_as_it_is(made, tmp_path):
    study, path = made
    (written,) = merge(tmp_path / "log", [path], study=study_digest(study))
    assert read_log(written) == read_log(path)
    run = mt.adjudicate(study, log=tmp_path / "other", merge=[path], quiet=True)
    assert json.dumps([log.digest for log in read_logs(run.written)]) == json.dumps([read_log(path).digest])
