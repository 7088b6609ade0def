"""The page and the real server: practice, controls, repeats, two adjudicators, a file that returns, a dying server."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
from collections import Counter
from pathlib import Path

import pytest
from pages import desk
from playwright.sync_api import expect

import manytruths as mt
from adjudication_server import Server, write_disputed
from manytruths.io.decision_log import read_logs

pytestmark = pytest.mark.slow
KILLS = int(os.environ.get("MANYTRUTHS_KILLS", "50"))
"""How often the server is killed."""
PLAIN = ("--practice", "0", "--controls", "0", "--repeats", "0", "--double", "0")


def address(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}/#token={server.token}"


def entries(folder: Path, action: str) -> list:
    return [
        entry
        for log in read_logs([folder / "manytruths-adjudication"])
        for entry in log.entries
        if entry.action == action
    ]


def test_the_token_leaves_the_address_and_a_reload_keeps_it(browser, flat_study, tmp_path):
    with Server(tmp_path, flat_study, *PLAIN) as server, desk(browser, address(server)) as shown:
        assert "token" not in shown.page.url
        first = shown.at("look")["id"]
        shown.page.reload()
        assert shown.at("look")["id"] == first
        # as by a link of a report
        other = shown.page.context.new_page()
        other.goto(f"http://127.0.0.1:{server.port}/")
        other.wait_for_function("() => manytruthsAdjudication.state().step === 'look'")
        stranger = browser.new_context().new_page()
        stranger.goto(f"http://127.0.0.1:{server.port}/")
        expect(stranger.get_by_role("alert")).to_contain_text("does not have the key")
        stranger.context.close()


def test_a_tab_goes_on_with_the_token_of_the_next_start(browser, flat_study, tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        fixed = (*PLAIN, "--port", str(probe.getsockname()[1]))
    context = browser.new_context()
    first = context.new_page()
    with Server(tmp_path, flat_study, *fixed) as server:
        first.goto(address(server))
        first.wait_for_function("() => manytruthsAdjudication.state().step === 'look'")
        server.stop()
        first.keyboard.press("l")
        expect(first.get_by_role("alert")).to_contain_text("not saved yet")
    with Server(tmp_path, flat_study, *fixed) as server:
        second = context.new_page()
        second.goto(address(server))
        first.wait_for_function("() => manytruthsAdjudication.state().step === 'outlines'")
    context.close()
    (look,) = entries(tmp_path, "look")
    assert look.payload["answer"] == "lesion"


def test_work_goes_on_at_the_same_place_and_window(browser, flat_study, tmp_path):
    with Server(tmp_path, flat_study, *PLAIN) as server, desk(browser, address(server)) as shown:
        shown.decide("u")
        shown.press("w", "+")
        before = shown.at("look")
        shown.page.wait_for_timeout(600)
        assert server.stop() == 0
    with Server(tmp_path, flat_study) as server, desk(browser, address(server)) as shown:
        after = shown.at("look")
        assert (after["id"], after["window"]) == (before["id"], before["window"])
        assert after["camera"]["zoom"] == pytest.approx(before["camera"]["zoom"])
        assert after["progress"]["done"] == 1


def test_practice_does_not_count_and_controls_cannot_be_told(browser, flat_study, tmp_path):
    options = ("--practice", "2", "--controls", "0.4", "--repeats", "0.4", "--double", "0")
    with Server(tmp_path, flat_study, *options) as server, desk(browser, address(server)) as shown:
        expect(shown.page.locator(".badge")).to_have_text("Practice")
        total = shown.at("look")["progress"]["total"]
        asked = set()
        while shown.state["step"] != "end":
            shown.at("look")
            asked.add(shown.page.locator("#question").inner_text())
            shown.decide("n")
        assert asked == {"Is there a lesion at the cross?"}
        assert shown.state["progress"]["done"] == total
    purposes = Counter(entry.payload["purpose"] for entry in entries(tmp_path, "decide"))
    assert set(purposes) == {"practice", "dispute", "control", "repeat"}
    assert purposes["practice"] == 2
    assert sum(purposes.values()) == total + 2


def test_what_is_shown_when_asked_for_is_logged(browser, flat_study, tmp_path):
    with Server(tmp_path, flat_study, *PLAIN, "--show", "votes") as server, desk(browser, address(server)) as shown:
        shown.look()
        assert entries(tmp_path, "show") == []
        shown.page.get_by_role("button", name="Show votes").click()
        expect(shown.page.locator(".message")).to_contain_text("is recorded")
    (entry,) = entries(tmp_path, "show")
    assert entry.payload["what"] == "votes"


def test_a_kind_is_settled_by_a_rule(browser, flat_study, tmp_path):
    with Server(tmp_path, flat_study, *PLAIN) as server, desk(browser, address(server)) as shown:
        left = shown.at("look")["progress"]["left"]
        shown.page.locator("summary").click()
        shown.page.get_by_role("button", name="Settle a kind by a rule …").click()
        shown.page.get_by_label("Disputes", exact=True).select_option("border")
        shown.page.get_by_label("become").select_option("union")
        shown.page.get_by_role("button", name="Settle them").click()
        shown.wait(lambda state: state["progress"]["left"] < left)
        shown.at("look")
        shown.press("z", "Enter")
        shown.wait(lambda state: state["progress"]["left"] == left)
    (rule,) = entries(tmp_path, "rule")
    assert (rule.payload["kind"], rule.payload["rule"]) == ("border", "union")


def test_what_is_drawn_is_what_the_mask_gets(browser, flat_study, tmp_path):
    with Server(tmp_path, flat_study, *PLAIN) as server, desk(browser, address(server)) as shown:
        shown.look()
        shown.press("p", "g", "0")
        for place in ((30, 40), (40, 40), (40, 50), (30, 50)):
            shown.drag(place)
        shown.press("Enter", "Enter")
        shown.at("look")
    (entry,) = entries(tmp_path, "decide")
    assert sum(entry.payload["pixels"][0][1][1::2]) == 100


def test_a_log_that_cannot_be_written_is_said_and_the_decision_is_kept(browser, flat_study, tmp_path):
    with Server(tmp_path, flat_study, *PLAIN) as server, desk(browser, address(server)) as shown:
        shown.look()
        (log,) = (tmp_path / "manytruths-adjudication").glob("*.sqlite")
        lock = sqlite3.connect(log, isolation_level=None)
        lock.execute("BEGIN EXCLUSIVE")
        shown.press("u", "Enter")
        expect(shown.page.get_by_role("alert")).to_contain_text("could not be saved")
        assert shown.state["waiting"] == 1
        lock.execute("ROLLBACK")
        lock.close()
        shown.wait(lambda state: state["waiting"] == 0)
        expect(shown.page.get_by_role("alert")).to_be_hidden()
    assert len(entries(tmp_path, "decide")) == 1


def test_a_server_that_dies_loses_nothing_that_was_shown_as_saved(browser, tmp_path):
    """Killed between click and answer, again and again; the page goes on with the next start."""
    study = write_disputed(tmp_path / "study", cases=max(4, KILLS))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        fixed = (*PLAIN, "--port", str(probe.getsockname()[1]))
    context = browser.new_context()
    saved = kept = 0
    for turn in range(KILLS):
        with Server(tmp_path, study, *fixed) as server:
            page = context.new_page()
            page.goto(address(server))
            page.wait_for_function(
                "() => ['look', 'outlines'].includes(manytruthsAdjudication.state().step)", polling=20
            )
            state = page.evaluate("manytruthsAdjudication.state()")
            assert state["progress"]["done"] >= saved, "what was shown as saved is there"
            if state["step"] == "look":
                page.keyboard.press("l")
            page.wait_for_function("() => manytruthsAdjudication.state().step === 'outlines'", polling=10)
            page.keyboard.press("u")
            page.keyboard.press("Enter")
            page.wait_for_timeout(8 * (turn % 8))
            server.stop(signal.SIGKILL)
            page.wait_for_timeout(100)
            state = page.evaluate("manytruthsAdjudication.state()")
            kept += state["waiting"] > 0
            saved = state["statuses"].count("done") - state["waiting"]
            if state["waiting"]:
                expect(page.get_by_role("alert")).to_contain_text("not saved yet")
            page.close()
    with Server(tmp_path, study, *fixed) as server:
        page = context.new_page()
        page.goto(address(server))
        page.wait_for_function("() => manytruthsAdjudication.state().waiting === 0", polling=20)
        assert server.get("state")["progress"]["done"] == KILLS
    context.close()
    decided = entries(tmp_path, "decide")
    assert len({entry.uuid for entry in decided}) == len(decided) == KILLS
    assert len({entry.item for entry in decided}) == KILLS
    assert kept, "some decisions were under way"


@pytest.mark.parametrize("wait", [0, 5, 15, 30, 60])
def test_a_server_that_dies_while_the_work_is_finished(browser, flat_study, tmp_path, wait):
    """Before, while or after it is written: with the next start it is finished, once."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        fixed = (*PLAIN, "--port", str(probe.getsockname()[1]))
    context = browser.new_context()
    page = context.new_page()
    with Server(tmp_path, flat_study, *fixed) as server:
        page.goto(address(server))
        page.wait_for_function("() => manytruthsAdjudication.state().step === 'look'", polling=20)
        page.locator("summary").click()
        page.get_by_role("button", name="Finish and lock …").click()
        page.get_by_role("button", name="Finish and lock", exact=True).click(no_wait_after=True)
        page.wait_for_timeout(wait)
        server.stop(signal.SIGKILL)
    with Server(tmp_path, flat_study, *fixed) as server:
        page.goto("about:blank")
        page.goto(address(server))
        expect(page.locator("#question")).to_have_text("Finished and locked")
        assert server.post(f"items/{server.get('queue')['items'][0]['id']}/look", answer="lesion")[0] == 409
    context.close()
    assert len(entries(tmp_path, "finish")) == 1


def test_two_adjudicators_and_a_merge(browser, flat_study, tmp_path):
    options = ("--practice", "0", "--controls", "0", "--repeats", "0", "--double", "1")
    folders = {}
    for who, key, role in (("Ada", "u", "first"), ("Ben", "n", "second")):
        folders[who] = tmp_path / who
        folders[who].mkdir()
        server = Server(folders[who], flat_study, *options, "--role", role, who=who)
        with server, desk(browser, address(server)) as shown:
            for _ in range(3):
                shown.decide(key)
                shown.at("look")
    study = mt.Study.open(flat_study[0], images=flat_study[2])
    pack = tmp_path / "ben.json"
    mt.adjudicate(study, adjudicator="Ben", log=folders["Ben"] / "manytruths-adjudication", pack=pack, quiet=True)
    mt.adjudicate(study, adjudicator="Ada", log=folders["Ada"] / "manytruths-adjudication", merge=[pack], quiet=True)
    assert {log.adjudicator for log in read_logs([folders["Ada"] / "manytruths-adjudication"])} == {"Ada", "Ben"}
    assert len(entries(folders["Ada"], "decide")) == 6


def test_the_file_returns_and_is_taken_into_a_log(browser, flat_page, flat_study, tmp_path):
    with desk(browser, flat_page) as shown:
        shown.decide("u")
        shown.decide("n")
        letter = shown.look()["letters"][0]
        shown.press(letter, "Enter")
        shown.at("look")
        decisions = shown.decisions
        expect(shown.page.locator(".message")).to_contain_text("Send it back")
    (tmp_path / "back.json").write_text(json.dumps(decisions), encoding="utf-8")
    study = mt.Study.open(flat_study[0], images=flat_study[2])
    mt.adjudicate(
        study, adjudicator="Zoe", log=tmp_path / "manytruths-adjudication", merge=[tmp_path / "back.json"], quiet=True
    )
    decided = entries(tmp_path, "decide")
    assert [entry.uuid for entry in decided] == [
        call["body"]["uuid"] for call in decisions["calls"] if call["path"].endswith("/decide")
    ]
    assert decided[0].payload["choice"] == "union"
    mt.adjudicate(
        study, adjudicator="Zoe", log=tmp_path / "manytruths-adjudication", merge=[tmp_path / "back.json"], quiet=True
    )
    assert len(entries(tmp_path, "decide")) == 3, "taken once"


def test_work_on_the_file_goes_on_in_another_browser(browser, flat_page, tmp_path):
    with desk(browser, flat_page) as shown:
        shown.decide("u")
        (tmp_path / "mine.json").write_text(json.dumps(shown.decisions), encoding="utf-8")
    with desk(browser, flat_page) as other:
        assert other.at("look")["progress"]["done"] == 0
        other.page.locator("summary").click()
        with other.page.expect_file_chooser() as chooser:
            other.page.get_by_role("button", name="Open a saved file").click()
        chooser.value.set_files(tmp_path / "mine.json")
        assert other.wait(lambda state: state["progress"]["done"] == 1)["statuses"][0] == "done"


def test_names_are_text(browser, tmp_path):
    evil = tmp_path / "study" / "<img src=x onerror=broken=1>"
    study = write_disputed(evil, cases=1)
    server = Server(tmp_path, study, *PLAIN, "--names", who="<script>broken=1</script>")
    with server, desk(browser, address(server)) as shown:
        shown.look()
        expect(shown.page.locator("h1")).to_contain_text("<img src=x")
        assert shown.page.evaluate("window.broken") is None
