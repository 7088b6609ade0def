"""What ``manytruths adjudicate`` says before it serves, and of input that cannot be used: one line each."""

from __future__ import annotations

import os
import resource
import socket
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

import manytruths as mt
from adjudication_server import Server, wait_until, write_disputed
from manytruths.cli import status as run
from manytruths.io.decision_log import read_logs
from study_folders import write_png, write_study

PLAIN = ("--practice", "0", "--controls", "0", "--repeats", "0")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return write_disputed(tmp_path_factory.mktemp("study"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def failed(capsys, *arguments) -> tuple[int, str]:
    code = run(["adjudicate", *map(str, arguments), "--no-open", "--quiet"])
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    assert error.startswith("manytruths: ")
    return code, error


def test_a_table_says_how_many_disputes_each_threshold_leaves(folder, study, capsys):
    assert run(["adjudicate", *study, "--dry-run"]) == 0
    said = capsys.readouterr().out
    rows = {line.split()[0]: line.split()[1:] for line in said.splitlines() if line.strip()[:1] == "0"}
    assert set(rows) == {"0.5", "0.6", "0.7", "0.8", "0.9"}
    missed, label, border, tile, settled, disputes, minutes = map(int, rows["0.7"][1:])
    assert rows["0.7"][0] == "(chosen)"
    assert (missed, border, settled, disputes) == (5, 3, 8, 8)
    assert (label, tile, minutes) == (0, 0, 3)
    assert not list(folder.rglob("*.sqlite"))


def test_a_study_without_disputes_says_so_and_is_no_error(folder, capsys):
    for rater in "AB":
        write_png(folder / f"masks/{rater}/p1.png", np.pad(np.ones((6, 6), np.uint8), 8))
    assert run(["adjudicate", "masks/{rater}/{case}.png", "--no-open", "--min-dice", "0.5"]) == 0
    assert "there are no disputes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--only-kind", "label"), "no dispute is of the groups, labels and kinds"),
        (("--role", "second", "--double", "0"), "no dispute of somebody else was left to a second"),
        (("--role", "third"), "no two others differ"),
    ],
)
def test_nothing_for_this_adjudicator_is_said_and_no_error(folder, study, capsys, options, words):
    assert run(["adjudicate", *study, "--no-open", "--controls", "0", "--practice", "0", *options]) == 0
    assert words in capsys.readouterr().out


def test_a_study_without_images_is_served_and_says_so(folder, study):
    with Server(folder, study[:1], *PLAIN) as server:
        state = server.get("state")
        assert any("no images" in each for each in state["warnings"])
        # nobody can answer from an image that is not there
        assert state["settings"]["first_look"] is False
        id = server.open_items()[0]
        assert server.ask("GET", f"/api/items/{id}/image")[0] == 204
        assert server.ask("GET", f"/api/items/{id}/overview")[0] == 204
        assert server.decide(id, "union")[0] == 200


@pytest.mark.slow
def test_without_the_extra_the_error_names_it(folder, study):
    code = "import sys; sys.modules['uvicorn'] = None; from manytruths.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "adjudicate", *study, "--no-open"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert 'pip install "manytruths[app]"' in done.stderr


def test_a_port_in_use(folder, study, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, error = failed(capsys, *study, "--port", port)
    assert (code, f"port {port} cannot be used" in error) == (1, True)
    assert failed(capsys, *study, "--port", 70000)[0] == 2


@pytest.mark.slow
def test_a_second_server_at_the_port_of_the_study_says_where_the_first_runs(folder, study, capsys):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with Server(folder, study, *PLAIN, "--port", port) as server:
        code, error = failed(capsys, *study, "--adjudicator", "Ada", "--port", port)
        assert (code, str(server.process.pid) in error) == (1, True)


def test_a_second_server_on_the_same_log_says_where_the_first_runs(folder, study, capsys):
    with Server(folder, study, *PLAIN) as server:
        code, error = failed(capsys, *study, "--adjudicator", "Ada", "--port", 0)
        assert code == 1
        assert f"127.0.0.1:{server.port}" in error
        assert str(server.process.pid) in error


def test_a_log_of_another_study(folder, study, capsys):
    with Server(folder, study, *PLAIN) as server:
        server.decide(server.open_items()[0], "union")
    other = write_study(folder / "other", cases=("q1", "q2"))
    code, error = failed(capsys, other, "--adjudicator", "Ada", "--min-dice", 0.99)
    assert (code, "another study" in error) == (1, True)


@pytest.mark.slow
def test_a_log_of_a_newer_version(folder, study, capsys):
    with Server(folder, study, *PLAIN) as server:
        server.decide(server.open_items()[0], "union")
    (log,) = folder.rglob("*.sqlite")
    with sqlite3.connect(log) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    code, error = failed(capsys, *study, "--adjudicator", "Ada")
    assert (code, "newer version" in error) == (1, True)


@pytest.mark.slow
def test_a_log_is_begun_with_one_seed(folder, study, capsys):
    with Server(folder, study, *PLAIN, "--seed", "3") as server:
        server.decide(server.open_items()[0], "union")
    code, error = failed(capsys, *study, "--adjudicator", "Ada", "--seed", 4)
    assert (code, "begun with 3" in error) == (2, True)


def test_who_begins_second_has_the_rule_of_the_first(folder, study, capsys):
    """Otherwise the rule of the second would make disputes of other lesions, and the decisions of the first stale."""
    tiles = ("--unit", "tile", "--tile", "32", "--seed", "3", "--double", "1")
    with Server(folder, study, *PLAIN, *tiles) as server:
        every = server.open_items()
        server.decide(every[0], "union")
    code, error = failed(capsys, *study, "--adjudicator", "Ben", "--unit", "lesion")
    assert (code, "logs of other adjudicators were begun with tile" in error) == (2, True)
    with Server(folder, study, "--role", "second", who="Ben") as server:
        assert len(server.open_items()) == len(every)
        assert server.get(f"items/{server.open_items()[0]}")["unit"] == "tile"
        server.decide(server.open_items()[0], "none")
    ada, ben = sorted(read_logs([folder / "manytruths-adjudication"]), key=lambda log: log.adjudicator)
    assert ben.entries[0].payload["rule"] == ada.entries[0].payload["rule"]
    assert (ben.entries[0].payload["seed"], ben.entries[0].payload["settings"]["role"]) == (3, "second")
    assert ben.entries[-1].payload["seen"]["role"] == "second"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--controls", "2"), "--controls is 2.0"),
        (("--practice", "-1"), "--practice is -1"),
        (("--show", "names"), "--show is 'names'"),
        (("--only-kind", "large"), "--only-kind is 'large'"),
        (("--adjudicator", "a\nb"), "sign that is not seen"),
        (("--min-dice", "3"), "from 0 to 1"),
        (("--tile", "2"), "at least 8"),
    ],
)
def test_options_that_mean_nothing(folder, study, capsys, options, words):
    code, error = failed(capsys, *study, *options)
    assert (code, words in error) == (2, True), error


def test_tally_files_have_no_pixels_to_settle(folder, study, capsys):
    tally = folder / "study.tally"
    assert run(["tally", study[0], "--to", str(tally), "--quiet"]) == 0
    code, error = failed(capsys, tally)
    assert (code, "needs the pixels" in error) == (1, True)


def test_an_adjudicator_who_is_a_rater_is_warned(folder, study):
    with Server(folder, study, *PLAIN, who="a") as server:
        assert any("also a rater" in each for each in server.get("state")["warnings"])
        server.decide(server.open_items()[0], "union")
    (log,) = read_logs([folder / "manytruths-adjudication"])
    assert log.entries[0].payload["is_rater"] is True


@pytest.mark.slow
def test_filters_choose_disputes(folder, study):
    with Server(folder, study, *PLAIN, "--only-kind", "border") as server:
        assert len(server.open_items()) == 3
        server.decide(server.open_items()[0], "union")
    with Server(folder, study, *PLAIN) as server:  # filters are of one start alone
        assert server.get("state")["progress"] | {"done": 1, "total": 8} == server.get("state")["progress"]


def test_the_table_counts_what_the_filters_let_through(study, folder, capsys):
    assert run(["adjudicate", *study, "--dry-run", "--only-kind", "border"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if "(chosen)" in line]
    missed, _, border, _, settled, disputes, _ = map(int, lines[0][2:])
    assert (missed, border, settled, disputes) == (0, 3, 8, 3)


@pytest.mark.slow
def test_specks_are_pointed_out_and_can_be_left_to_the_rule(folder, capsys):
    mask = np.zeros((60, 60), np.uint8)
    mask[10:30, 10:30] = 1
    speck = mask.copy()
    speck[45, 45:47] = 1
    other = mask.copy()
    other[24:30] = 0
    for rater, drawn in {"A": speck, "B": mask, "C": other}.items():
        write_png(folder / f"masks/{rater}/p1.png", drawn)
    study = "masks/{rater}/{case}.png"
    assert run(["adjudicate", study, "--dry-run", "--min-dice", "0.9"]) == 0
    assert "1 of 2 disputes have fewer than 5 pixels" in " ".join(capsys.readouterr().out.split())
    with Server(folder, [study], *PLAIN, "--min-dice", "0.9", "--lesion-min-size", "5") as server:
        (only,) = server.open_items()
        server.decide(only, "majority")
    with Server(folder, [study], *PLAIN) as server:  # the log knows it
        assert server.get("state")["progress"]["total"] == 1
    result = mt.adjudicated(study)
    text = str(result.claims)
    assert "A lesion of 5 pixels or more was in dispute if" in text
    assert "1 was. 1 other lesion was settled by a vote" in text
    assert not result.masks["p1"][45, 45:47].any()
    with Server(folder, [study], *PLAIN, "--lesion-min-size", "1") as server:
        assert server.get("state")["progress"]["total"] == 2


def test_groups_and_labels_that_are_not_there_are_refused(study, folder, capsys):
    assert run(["adjudicate", *study, "--dry-run", "--only-group", "north"]) == 2
    assert "--only-group is 'north', which the study does not have; it has no groups" in capsys.readouterr().err
    lines = ['masks = "masks/{rater}/{case}.png"', 'labels = { 1 = "cyst", 2 = "tumour" }']
    (folder / "study.toml").write_text("\n".join(lines))
    for rater, value in (("A", 1), ("B", 2)):
        write_png(folder / f"masks/{rater}/p1.png", np.pad(np.full((6, 6), value, np.uint8), 8))
    assert run(["adjudicate", "study.toml", "--dry-run", "--only-label", "cyst,2"]) == 0
    assert run(["adjudicate", "study.toml", "--dry-run", "--only-label", "polyp"]) == 2
    assert "--only-label is 'polyp'; labels are cyst (1), tumour (2)" in capsys.readouterr().err


def test_where_nobody_marked_anything_no_lesion_is_spoken_of(folder, capsys):
    for rater in "AB":
        write_png(folder / f"masks/{rater}/p1.png", np.zeros((20, 20), np.uint8))
    assert run(["adjudicate", "masks/{rater}/{case}.png", "--dry-run"]) == 0
    assert "there are no disputes: nobody marked anything" in capsys.readouterr().out


@pytest.mark.slow
def test_a_full_disk_is_said_and_nothing_is_lost(folder, study):
    """Files may not grow further, as on a full disk: the decision is not saved, and later it is."""
    with Server(folder, study, *PLAIN) as server:
        first, second, *_ = server.open_items()
        server.decide(first, "union")
        server.look(second)
        (log,) = folder.rglob("*.sqlite")
        size = log.stat().st_size
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        answers = (server.post(f"items/{second}/decide", choice="union", comment="x" * 1500) for _ in range(200))
        status, answer = next(answer for answer in answers if answer[0] != 200)
        assert (status, answer["code"]) in ((507, "not_saved"), (503, "not_saved"))
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        assert server.post(f"items/{second}/decide", choice="none")[0] == 200
    read_logs([folder / "manytruths-adjudication"])


@pytest.mark.slow
def test_a_locked_log_is_said(folder, study):
    with Server(folder, study, *PLAIN, "--no-first-look") as server:
        id = server.open_items()[0]
        (log,) = folder.rglob("*.sqlite")
        other = sqlite3.connect(log, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        status, answer = server.post(f"items/{id}/decide", choice="union")
        assert (status, answer["code"]) == (503, "not_saved")
        other.execute("ROLLBACK")
        other.close()
        assert server.post(f"items/{id}/decide", choice="union")[0] == 200


@pytest.mark.slow
def test_a_decision_is_stale_where_its_own_lesion_was_changed(tmp_path):
    study = write_disputed(tmp_path / "study")
    with Server(tmp_path, study, *PLAIN, "--no-first-look", "--names") as server:
        items = {id: server.get(f"items/{id}") for id in server.open_items()}
        for id in items:
            server.decide(id, "union")
    changed = next(item for item in items.values() if item["case_name"] == "p1")
    path = tmp_path / "study/masks/B/p1.png"
    mask = mt.Study.open(study[0])["p1"].read().masks[mt.Column("B")].copy()
    row, column = changed["centre"]
    mask[row, column] = 0
    os.unlink(path)
    write_png(path, mask)
    with Server(tmp_path, study, *PLAIN, "--no-first-look", "--names") as server:
        # the case that was changed is indexed again in the background
        wait_until(lambda: server.get("state")["progress"]["indexed_cases"] == 4)
        statuses = [item["status"] for item in server.get("queue")["items"]]
        assert sorted(statuses) == ["done"] * 7 + ["stale"]
        assert any("stale" in each for each in server.get("state")["warnings"])
        (again,) = server.open_items()
        assert server.get(f"items/{again}")["case_name"] == "p1"
        server.decide(again, "none")
        assert server.open_items() == []


@pytest.mark.slow
def test_a_case_that_cannot_be_read_is_left_out_and_named(tmp_path):
    study = write_disputed(tmp_path / "study")
    (tmp_path / "study/masks/B/p2.png").write_bytes(b"\x89PNG\r\n\x1a\nno")
    with Server(tmp_path, study, *PLAIN) as server:
        wait_until(lambda: server.get("state")["progress"]["indexed_cases"] == 4)
        state = server.get("state")
        assert any("is left out" in each for each in state["warnings"])
        assert state["progress"]["total"] == 6


@pytest.mark.parametrize("options", [["--dry-run"], ["--html", "page.html"], ["--xlsx", "disputes.xlsx"]])
def test_a_case_that_cannot_be_read_ends_what_needs_all_of_them(folder, capsys, options):
    study = write_disputed(folder / "study")
    (folder / "study/masks/B/p2.png").write_bytes(b"\x89PNG\r\n\x1a\nno")
    code, error = failed(capsys, *study, *options)
    assert (code, "disputes of case p2 cannot be found" in error) == (1, True)
    assert [*folder.glob("*.html"), *folder.glob("*.xlsx")] == []


def test_python_serves_as_the_command_does(folder, study, capsys):
    result = mt.adjudicate(mt.Study.open(study[0]), dry_run=True, quiet=True)
    assert result.disputes == 8
    assert {count.min_dice: count.disputes for count in result.counts}[0.7] == 8
    assert capsys.readouterr().out == ""
