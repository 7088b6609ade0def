"""The log of decisions: nothing that was said to be saved is lost, nothing is doubled, nothing is changed unnoticed."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from dataclasses import replace

import pytest

from manytruths import CallError
from manytruths.io import decision_log
from manytruths.io.decision_log import (
    DecisionLog,
    LogError,
    LogFinished,
    LogInUse,
    NotSaved,
    log_name,
    merge,
    network_type,
    pack,
    read_log,
    read_logs,
    same_study,
)

STUDY, OTHER = "s:aaaa,bbbb", "t:cccc"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "logs" / log_name("Ada", "ward")


def opened(path, adjudicator="Ada", study=STUDY, **more):
    return DecisionLog.open(path, study=study, adjudicator=adjudicator, machine="ward", **more)


def name():
    return str(uuid.uuid4())


def fill(path, count=3, **more):
    with opened(path, **more) as log:
        return [log.append("decide", uuid=name(), item=f"k{i}", case="p1", payload={"n": i}) for i in range(count)]


def test_entries_come_back_as_they_were(path):
    payload = {"choice": "union", "pixels": [[1, [0, 5]]], "seconds": 0.1, "comment": "ü\u2028<script>"}
    with opened(path) as log:
        first = log.append("decide", uuid=name(), item="key", case="p1", payload=payload)
        assert log.digest == first.digest == log.verify()
        assert list(log.entries()) == [first]
    assert first.payload == payload
    assert (first.number, first.adjudicator, first.machine, first.action) == (1, "Ada", "ward", "decide")
    content = read_log(path)
    assert content.entries == (first,)
    assert content.digest == first.digest


def test_the_same_uuid_is_saved_once(path):
    with opened(path) as log:
        again = name()
        first = log.append("decide", uuid=again, payload={"a": 1})
        assert log.append("decide", uuid=again, payload={"a": 1}) == first
        assert log.append("look", uuid=again, payload={"b": 2}) == first
        assert len(list(log.entries())) == 1
    with opened(path) as log:
        assert log.append("decide", uuid=again) == first


def test_what_is_no_entry_is_refused(path):
    with opened(path) as log:
        for wrong in ("", "short", "a" * 65, "x'; DROP TABLE entries; --"):
            with pytest.raises(CallError, match="a uuid has"):
                log.append("decide", uuid=wrong)
        with pytest.raises(CallError, match="an action is one of"):
            log.append("delete", uuid=name())
        with pytest.raises(CallError, match="written as JSON"):
            log.append("decide", uuid=name(), payload={"a": float("nan")})
        assert not list(log.entries())


def test_entries_are_never_changed_or_removed(path):
    fill(path)
    connection = sqlite3.connect(path)
    for statement in (
        "UPDATE entries SET payload = '{}'",
        "DELETE FROM entries",
        "UPDATE log SET study = 'x'",
        "DELETE FROM log",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entries SET payload = '{\"n\":7}' WHERE number = 2",
        "UPDATE entries SET utc = '2020-01-01' WHERE number = 2",
        "DELETE FROM entries WHERE number = 2",
        "UPDATE entries SET digest = 'abc' WHERE number = 2",
    ],
)
def test_a_change_by_other_means_is_found(path, change):
    fill(path)
    connection = sqlite3.connect(path)
    connection.executescript("DROP TRIGGER entries_stay; DROP TRIGGER entries_remain;")
    connection.execute(change)
    connection.commit()
    connection.close()
    with pytest.raises(LogError, match="entry 2 does not fit"):
        read_log(path)
    with pytest.raises(LogError, match="entry 2 does not fit"):
        opened(path)


def test_the_pragmas_are_those_of_a_log(path):
    with opened(path) as log:
        ask = log._connection.execute
        assert ask("PRAGMA journal_mode").fetchone() == ("delete",)
        assert ask("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
        assert ask("PRAGMA user_version").fetchone() == (len(decision_log.MIGRATIONS),)


WRITER = """
import sys, uuid
from manytruths.io.decision_log import DecisionLog
with DecisionLog.open(sys.argv[1], study="s:aaaa", adjudicator="Ada", machine="ward") as log:
    while True:
        name = str(uuid.uuid4())
        log.append("decide", uuid=name, payload={"runs": list(range(300))})
        print(name, flush=True)
"""


@pytest.mark.slow
def test_a_killed_server_loses_nothing_that_it_said_was_saved(path):
    said, chance = [], random.Random(5)
    for _ in range(12):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
            said.append(writer.stdout.readline().strip())
            threading.Timer(chance.uniform(0, 0.2), os.kill, (writer.pid, signal.SIGKILL)).start()
            said += [line.strip() for line in writer.stdout if len(line) == 37]
    entries = read_log(path).entries
    saved = [entry.uuid for entry in entries]
    assert set(said) <= set(saved)
    assert len(saved) == len(set(saved))
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    # at most one more than what was said each time
    assert len(saved) - len(said) <= 12


def test_a_second_server_is_told_where_the_first_runs(path):
    with opened(path, address="http://127.0.0.1:8123") as log:
        with pytest.raises(LogInUse, match=rf"process {os.getpid()} at http://127.0.0.1:8123") as refused:
            opened(path)
        assert (refused.value.pid, refused.value.address) == (os.getpid(), "http://127.0.0.1:8123")
        log.set_address("http://127.0.0.1:9")
        with pytest.raises(LogInUse, match=r"127\.0\.0\.1:9;"):
            opened(path)
        assert read_log(path).entries == ()  # reading is always possible
    opened(path).close()


def test_a_lock_ends_with_its_process(path):
    code = (
        "import os, sys; from manytruths.io.decision_log import DecisionLog\n"
        "DecisionLog.open(sys.argv[1], study='s:aaaa', adjudicator='Ada'); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert path.with_name(path.name + ".lock").exists()
    opened(path).close()


def test_several_threads_append(path):
    with opened(path) as log:
        work = [threading.Thread(target=lambda: log.append("look", uuid=name())) for _ in range(8)]
        for each in work:
            each.start()
        for each in work:
            each.join()
        assert [entry.number for entry in log.entries()] == list(range(1, 9))
        log.verify()


def test_a_full_disk(path):
    with opened(path) as log:
        kept = log.append("decide", uuid=name(), payload={"a": 1})
        (pages,) = log._connection.execute("PRAGMA page_count").fetchone()
        log._connection.execute(f"PRAGMA max_page_count = {pages}")
        lost = name()
        with pytest.raises(NotSaved, match="nothing was saved: the disk is full") as error:
            log.append("decide", uuid=lost, payload={"pixels": ["x" * 100_000]})
        assert error.value.full
        assert list(log.entries()) == [kept]
        # there is room again: the same decision is saved, once
        log._connection.execute("PRAGMA max_page_count = 100000")
        assert log.append("decide", uuid=lost, payload={"pixels": ["x" * 100_000]}).number == 2
        log.verify()


def test_a_locked_file(path, monkeypatch):
    monkeypatch.setattr(decision_log, "WAIT", 0.05)
    with opened(path) as log:
        other = sqlite3.connect(path)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(NotSaved, match="another program has locked the file") as error:
            log.append("decide", uuid=name())
        assert not error.value.full
        other.close()
        assert log.append("decide", uuid=name()).number == 1


def test_a_file_that_went_away(path):
    with opened(path) as log:
        log._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(NotSaved, match="nothing was saved"):
            log.append("decide", uuid=name())


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(NotSaved, match="nothing was saved"):
        opened(tmp_path / "file" / "a.sqlite")


def test_other_logs_are_refused(path, tmp_path):
    fill(path)
    with pytest.raises(LogError, match="is of another study"):
        opened(path, study=OTHER)
    opened(path, study="u:bbbb,dddd").close()  # cases were added
    with pytest.raises(LogError, match="is the log of Ada, not of Bo"):
        opened(path, adjudicator="Bo")
    with pytest.raises(LogError, match="there is no such log"):
        DecisionLog.open(tmp_path / "none.sqlite", study=STUDY, adjudicator="Ada", create=False)
    with pytest.raises(CallError, match="an adjudicator has a name"):
        DecisionLog.open(path, study=STUDY, adjudicator=" ")
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"no database at all" * 100)
    for reader in (read_log, opened):
        with pytest.raises(LogError, match="log of decisions"):
            reader(broken)
    foreign = tmp_path / "foreign.sqlite"
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE holiday (photo BLOB)")
    connection.commit()
    connection.close()
    with pytest.raises(LogError, match="is a database, but no log"):
        opened(foreign)


def test_a_schema_is_migrated_forward_and_a_newer_one_refused(path, monkeypatch):
    before = fill(path)
    monkeypatch.setattr(
        decision_log,
        "MIGRATIONS",
        (*decision_log.MIGRATIONS, "ALTER TABLE log ADD COLUMN note TEXT NOT NULL DEFAULT '';\n"),
    )
    # a log that is only read stays as it is
    assert read_log(path).entries == tuple(before)
    with opened(path) as log:
        assert list(log.entries()) == before
        log.append("decide", uuid=name())
        assert log._connection.execute("PRAGMA user_version").fetchone() == (len(decision_log.MIGRATIONS),)
    monkeypatch.undo()
    for reader in (read_log, opened):
        with pytest.raises(LogError, match="newer version of manytruths"):
            reader(path)


def test_a_finished_log_takes_no_decision(path):
    with opened(path) as log:
        log.append("decide", uuid=name())
        log.append("finish", uuid=name(), payload={"name": "Ada", "meaning": "approved"})
        for action in ("decide", "undo", "rule", "add", "skip", "second", "look"):
            with pytest.raises(LogFinished, match="was finished"):
                log.append(action, uuid=name())
    with opened(path) as log:
        assert log.finished
        log.append("reopen", uuid=name(), payload={"reason": "a case was added"})
        assert log.append("decide", uuid=name()).number == 4


def test_network_paths(monkeypatch, tmp_path):
    mounts = [("/", "ext4"), (str(tmp_path), "nfs4"), (str(tmp_path / "local"), "xfs")]
    monkeypatch.setattr(decision_log, "_linux_mounts", lambda: mounts)
    (tmp_path / "local").mkdir()
    assert network_type(tmp_path / "logs" / "a.sqlite") == "nfs4"
    assert network_type(tmp_path / "local" / "a.sqlite") == ""
    with pytest.raises(LogError, match=r"network file system \(nfs4\).*--log DIR.*--pack and --merge"):
        opened(tmp_path / "logs" / "a.sqlite")
    assert not (tmp_path / "logs").exists()
    for kind in ("cifs", "smb3", "fuse.sshfs", "9p", "lustre", "vboxsf"):
        assert decision_log.NETWORK.match(kind)
    for kind in ("ext4", "btrfs", "tmpfs", "apfs", "fuseblk", "overlay", "zfs"):
        assert not decision_log.NETWORK.match(kind)


def test_mounts_of_this_machine_are_read():
    mounts = decision_log._linux_mounts() if sys.platform == "linux" else decision_log._bsd_mounts()
    assert "/" in [point for point, _ in mounts]


# -- between machines --------------------------------------------------------------------------------


def test_work_is_carried_between_machines(path, tmp_path):
    first = fill(path)
    carried = pack([path.parent])
    elsewhere = tmp_path / "elsewhere"
    (copy,) = merge(elsewhere, [carried], study=STUDY)
    assert read_log(copy).entries == tuple(first)
    assert read_log(copy).digest == read_log(path).digest
    assert copy.name == path.name
    # merged twice, nothing is doubled; more work goes on in the same chain
    merge(elsewhere, [carried, carried], study=STUDY)
    fill(path, 2)
    (tmp_path / "more.json").write_bytes(pack([path]))
    merge(elsewhere, [tmp_path / "more.json"], study=STUDY)
    assert read_log(copy).entries == read_log(path).entries
    assert len(read_logs([elsewhere, path.parent, tmp_path / "more.json"])) == 1


def test_two_adjudicators_on_two_machines(tmp_path):
    for who, machine in (("Ada", "ward"), ("Bo", "home"), ("Ada", "home")):
        fill_at = tmp_path / machine / log_name(who, machine)
        with DecisionLog.open(fill_at, study=STUDY, adjudicator=who, machine=machine) as log:
            log.append("decide", uuid=name())
    merge(tmp_path / "ward", [pack([tmp_path / "home"])], study=STUDY)
    logs = read_logs([tmp_path / "ward"])
    assert sorted((log.adjudicator, log.machine) for log in logs) == [("Ada", "home"), ("Ada", "ward"), ("Bo", "home")]


def test_a_log_that_was_continued_in_two_places_is_refused(path, tmp_path):
    fill(path, 1)
    merge(tmp_path / "b", [pack([path])], study=STUDY)
    fill(path, 1)
    fill(tmp_path / "b" / path.name, 1)
    with pytest.raises(LogError, match="continued in two copies"):
        merge(tmp_path / "b", [pack([path])], study=STUDY)
    assert len(read_log(tmp_path / "b" / path.name).entries) == 2


def test_packs_that_cannot_be_used(path, tmp_path):
    fill(path)
    document = json.loads(pack([path]))
    with pytest.raises(LogError, match="is of another study"):
        merge(tmp_path / "x", [pack([path])], study=OTHER)
    wrong = {
        "is no JSON": b"nothing",
        "is no pack of logs": b"[]",
        "was saved by the page": b'{"format": "manytruths-decisions", "calls": []}',
        "newer version": json.dumps({**document, "version": 2}).encode(),
        "is damaged": json.dumps({**document, "logs": [{"id": 3}]}).encode(),
    }
    for message, content in wrong.items():
        with pytest.raises(LogError, match=message):
            merge(tmp_path / "x", [content], study=STUDY)
    document["logs"][0]["entries"][1]["payload"]["n"] = 99
    with pytest.raises(LogError, match="entry 2 does not fit"):
        merge(tmp_path / "x", [json.dumps(document).encode()], study=STUDY)
    (tmp_path / "empty").mkdir()
    with pytest.raises(LogError, match="holds no log"):
        pack([tmp_path / "empty"])
    with pytest.raises(LogError, match="there is no such pack"):
        read_logs([tmp_path / "none.json"])


def test_names_of_files():
    assert log_name("Dr. Ada Ü", "ward-3") == "Dr. Ada Ü@ward-3.sqlite"
    odd = ["<script>", "../../etc", "a/b", "a\\b", "con:", ".", "", "x" * 300, "a\nb"]
    names = [log_name(each, "m") for each in odd]
    assert len(set(names)) == len(odd)
    for each in names:
        assert not set('<>:"/\\|?*\n') & set(each)
        assert len(each) < 90
        assert not each.startswith(".")


def test_studies_are_the_same_where_they_share_a_case():
    assert same_study("a:11,22", "b:22,33")
    assert not same_study("a:11", "b:22")
    assert same_study("plain", "plain")
    assert not same_study("a:", "b:")


def test_an_entry_without_change_has_its_digest(path):
    first, *_ = fill(path)
    content = read_log(path)
    assert replace(content, entries=content.entries[:1]).verify() == first.digest


def test_saving_takes_little_time(path):
    with opened(path) as log:
        start = time.process_time()
        for _ in range(20):
            log.append("decide", uuid=name(), payload={"runs": list(range(2000))})
        assert (time.process_time() - start) / 20 < 0.05
