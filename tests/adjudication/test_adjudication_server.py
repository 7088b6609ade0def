"""The server of ``adjudicate``, asked over real HTTP: first look, outlines, decisions, undo, rules, restart."""

from __future__ import annotations

import json
import uuid

import numpy as np
import pytest

from adjudication_server import SIZE, Server, painted, write_disputed
from manytruths.io.decision_log import read_logs
from study_folders import write_png

PLAIN = ("--practice", "0", "--controls", "0", "--repeats", "0")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return write_disputed(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def shared(tmp_path_factory, study):
    """A server that tests only read from, or write to different items of."""
    with Server(tmp_path_factory.mktemp("shared"), study, *PLAIN) as server:
        yield server


def entries(folder):
    (log,) = read_logs([folder / "manytruths-adjudication"])
    return log.entries


def test_the_page_needs_no_token_and_holds_no_data(shared):
    status, headers, data = shared.ask("GET", "/", Authorization=None)
    assert status == 200
    assert headers["Content-Type" if "Content-Type" in headers else "content-type"].startswith("text/html")
    text = data.decode()
    assert 'data-backend="server"' in text
    assert "p1" not in text
    assert shared.token not in text


def test_state_and_queue_tell_what_is_there_and_nothing_more(shared):
    state = shared.get("state")
    assert state["adjudicator"] == "Ada"
    assert state["progress"]["cases"] == state["progress"]["indexed_cases"] == 4
    assert state["settings"]["first_look"] is True
    items = shared.get("queue")["items"]
    assert len(items) == state["progress"]["total"] == 8  # five lesions that were missed, three borders
    assert {frozenset(item) for item in items} == {frozenset({"id", "number", "subject", "status", "practice"})}
    subjects = [item["subject"] for item in items]
    assert subjects == sorted(subjects, key=int)  # all of one subject together


def test_before_the_first_look_there_is_the_image_alone(shared):
    id = shared.open_items()[-1]
    item = shared.get(f"items/{id}")
    assert item["stage"] == "look"
    assert not {"kind", "letters", "found_by", "votes"} & set(item)
    head, values = shared.block(f"items/{id}/image")
    assert (head["dtype"], values.shape) == ("u1", (SIZE, SIZE))
    status, _, data = shared.ask("GET", f"/api/items/{id}/outlines")
    assert (status, json.loads(data)["code"]) == (409, "look_first")
    assert shared.post(f"items/{id}/decide", choice="union")[1]["code"] == "look_first"
    assert shared.look(id)[1]["stage"] == "outlines"
    shown = shared.get(f"items/{id}/outlines")
    assert [each["letter"] for each in shown["letters"]] == ["A", "B", "C"]
    assert all(each["name"] is None for each in shown["letters"])
    box = item["box"]
    drawn = [painted(each["runs"], (SIZE, SIZE)) for each in shown["letters"] if each["found"]]
    union = painted(shown["choices"]["union"]["runs"], (SIZE, SIZE))
    assert ((sum(drawn) > 0) == (union > 0)).all()
    rows, columns = np.nonzero(union)
    assert [[rows.min(), rows.max() + 1], [columns.min(), columns.max() + 1]] == box


def test_a_decision_is_saved_with_the_pixels_that_were_chosen(tmp_path, study):
    with Server(tmp_path, study, *PLAIN) as server:
        first, second, third, *_ = server.open_items()
        status, answer = server.decide(first, "letter:B", reason="artefact", comment="<script>alert(1)</script>")
        assert (status, answer["saved"], answer["next"]) == (200, True, second)
        outlines = server.get(f"items/{first}/outlines")
        start = server.get(f"items/{first}")["view"]["start"]
        chosen = painted(outlines["letters"][1]["runs"], (SIZE, SIZE))
        server.look(second)
        drawing = [[1, [5 * SIZE + 5, 3, 6 * SIZE + 5, 3]]]
        assert server.decide(second, "drawn", runs=drawing)[0] == 200
        assert server.get(f"items/{second}")["decision"]["runs"] == drawing
        assert server.decide(third, "none")[1]["progress"]["done"] == 3
        assert server.stop() == 0
        assert "3 of 8 are decided" in server.printed.replace("\n", " ")
    made = [entry for entry in entries(tmp_path) if entry.action == "decide"]
    assert [entry.payload["purpose"] for entry in made] == ["dispute"] * 3
    payload = made[0].payload
    assert payload["comment"] == "<script>alert(1)</script>"
    whole = np.zeros((SIZE, SIZE), int)
    (top, bottom), (left, right) = payload["box"]
    whole[top:bottom, left:right] = painted(payload["pixels"], (bottom - top, right - left))
    assert start == [0, 0]
    assert (whole == chosen).all()
    whole[:] = 0
    (top, bottom), (left, right) = made[1].payload["box"]
    whole[top:bottom, left:right] = painted(made[1].payload["pixels"], (bottom - top, right - left))
    assert whole.sum() == 6
    assert whole[5:7, 5:8].all()


def test_the_same_uuid_gives_the_same_answer_and_nothing_is_doubled(tmp_path, study):
    with Server(tmp_path, study, *PLAIN) as server:
        id, uid = server.open_items()[0], str(uuid.uuid4())
        server.look(id)
        one = server.post(f"items/{id}/decide", uuid=uid, choice="union")
        other = server.post(f"items/{id}/decide", uuid=uid, choice="union")
        assert one == other
        assert server.post(f"items/{id}/look", uuid=uid, answer="lesion")[1]["code"] == "uuid_used"
    assert [entry.action for entry in entries(tmp_path)].count("decide") == 1


@pytest.mark.slow
def test_the_next_start_goes_on_at_the_same_place(tmp_path, study):
    options = ("--seed", "7", "--practice", "0")
    with Server(tmp_path, study, *options) as server:
        before = server.get("queue")["items"]
        first = before[0]["id"]
        server.decide(first, "union")
        skipped = before[1]["id"]
        server.post(f"items/{skipped}/skip", reason="later")
        server.post("place", item=before[2]["id"], zoom=2.5, window="lung")
        server.look(before[2]["id"], "no_lesion")
    with Server(tmp_path, study, "--practice", "0") as server:  # the seed is that of the log
        state, after = server.get("state"), server.get("queue")["items"]
        assert [item["id"] for item in after] == [item["id"] for item in before]
        assert [item["status"] for item in after[:3]] == ["done", "skipped", "open"]
        assert state["place"]["zoom"] == 2.5
        assert state["next"] == before[2]["id"]
        item = server.get(f"items/{before[2]['id']}")
        assert (item["stage"], item["answer"]) == ("outlines", "no_lesion")
        assert server.get(f"items/{first}")["decision"]["choice"] == "union"


def test_the_time_that_is_left_comes_from_the_pace(tmp_path, study):
    with Server(tmp_path, study, *PLAIN) as server:
        before = server.get("state")["progress"]
        assert (before["seconds_each"], before["minutes_left"]) == (None, 3)  # 8 at 20 s
        for id in server.open_items()[:3]:
            _, answer = server.decide(id, "union")  # 1.5 s for the look, 4 s for the outlines
        assert answer["progress"]["seconds_each"] == 5.5
        assert answer["progress"]["minutes_left"] == 1


def test_undo_takes_back_the_last_decision_and_gives_its_reason(tmp_path, study):
    with Server(tmp_path, study, *PLAIN) as server:
        first, second, *_ = server.open_items()
        server.decide(first, "union")
        server.decide(second, "majority")
        status, answer = server.post("undo", reason="wrong key")
        assert (status, answer["item"]) == (200, second)
        assert [i["status"] for i in server.get("queue")["items"]][:2] == ["done", "open"]
        server.post("undo")
        assert server.post("undo")[1]["code"] == "nothing_to_undo"
    assert [e.payload["reason"] for e in entries(tmp_path) if e.action == "undo"] == ["wrong key", ""]


def test_a_rule_settles_all_disputes_of_a_kind_and_is_logged_as_a_rule(tmp_path, study):
    with Server(tmp_path, study, *PLAIN) as server:
        status, answer = server.post("rule", kind="border", rule="majority", max_mm=100)
        assert (status, answer["settled"]) == (200, 3)
        assert answer["progress"]["done"] == 3
        assert server.post("rule", kind="border", rule="majority", max_mm=0)[0] == 422
        server.post("undo", reason="looked at them after all")
        assert server.get("state")["progress"]["done"] == 0
    (rule,) = [entry for entry in entries(tmp_path) if entry.action == "rule"]
    assert len(rule.payload["keys"]) == 3


def test_a_lesion_that_nobody_marked_is_added(tmp_path, study):
    with Server(tmp_path, study, *PLAIN) as server:
        id = server.open_items()[0]
        server.look(id)
        status, answer = server.post("add", item=id, runs=[[1, [0, 4, SIZE, 4]]], comment="new")
        assert (status, answer["saved"]) == (200, True)
        assert server.post("add", item=id, runs=[])[1]["code"] == "runs"
    (added,) = [entry for entry in entries(tmp_path) if entry.action == "add"]
    assert added.payload["box"] == [[0, 2], [0, 4]]
    assert added.payload["pixels"] == [[1, [0, 4, 4, 4]]]
    assert added.case.startswith("p")


def test_what_is_finished_is_locked_until_it_is_opened_again(tmp_path, study):
    with Server(tmp_path, study, *PLAIN) as server:
        first, second, *_ = server.open_items()
        server.decide(first, "union")
        assert server.post("finish", meaning="I agree")[1]["code"] == "name"
        status, answer = server.post("finish", name="Ada L.", meaning="reviewed and approved")
        assert (status, len(answer["digest"])) == (200, 64)
        assert server.look(second)[1]["code"] == "finished"
        assert server.get("state")["settings"]["finished"]["name"] == "Ada L."
        assert server.post("reopen", reason="one more")[0] == 200
        assert server.look(second)[0] == 200


def test_practice_controls_and_repeats_cannot_be_told_and_do_not_count(tmp_path, study):
    options = ("--practice", "2", "--controls", "1", "--repeats", "1")
    with Server(tmp_path, study, *options) as server:
        items = server.get("queue")["items"]
        assert [item["practice"] for item in items] == [True] * 2 + [False] * (len(items) - 2)
        assert server.get("state")["progress"]["total"] == len(items) - 2
        for item in items:
            assert server.decide(item["id"], "majority")[0] in (200, 422)
            if server.get(f"items/{item['id']}")["status"] != "done":
                assert server.decide(item["id"], "union")[0] == 200
            assert server.get(f"items/{item['id']}/outlines")["kind"] in ("missed", "border", "")
        assert server.get("state")["progress"] | {"left": 0, "practice_left": 0} == server.get("state")["progress"]
    purposes = [entry.payload["purpose"] for entry in entries(tmp_path) if entry.action == "decide"]
    assert {name: purposes.count(name) for name in set(purposes)} == {
        "practice": 2, "dispute": 8, "control": 8, "repeat": 8,
    }  # fmt: skip
    keys = {p: {e.payload["key"] for e in entries(tmp_path) if e.payload.get("purpose") == p} for p in set(purposes)}
    assert keys["repeat"] == keys["dispute"]
    assert not keys["practice"] & (keys["dispute"] | keys["control"]), "what was practised on is not shown again"
    assert not keys["control"] & keys["dispute"]


def test_raters_have_other_letters_in_each_case(tmp_path, study):
    with Server(tmp_path, study, *PLAIN, "--no-first-look", "--names") as server:
        orders = set()
        for id in server.open_items():
            item, shown = server.get(f"items/{id}"), server.get(f"items/{id}/outlines")
            orders.add((item["case_name"], "".join(each["name"] for each in shown["letters"])))
    assert len(orders) == 4
    assert len({letters for _, letters in orders}) > 1


def test_a_second_showing_has_other_letters(tmp_path, study):
    options = ("--practice", "0", "--controls", "0", "--repeats", "1", "--no-first-look", "--names")
    orders = {}
    with Server(tmp_path, study, *options) as server:
        for item in server.get("queue")["items"]:
            shown = server.get(f"items/{item['id']}/outlines")["letters"]
            drawn = tuple(sorted((each["name"], str(each["runs"])) for each in shown))
            case = server.get(f"items/{item['id']}")["case_name"]
            orders.setdefault((case, drawn), []).append("".join(each["name"] for each in shown))
    assert {len(seen) for seen in orders.values()} == {2}
    assert sum(first != again for first, again in orders.values()) > len(orders) / 2


def test_what_is_hidden_is_shown_only_where_it_is_allowed_and_asked_for(tmp_path, study):
    with Server(tmp_path, study, *PLAIN, "--show", "votes,consensus") as server:
        id = server.open_items()[0]
        server.look(id)
        assert server.ask("GET", f"/api/items/{id}/extra?what=algorithms")[0] == 403
        assert server.ask("GET", f"/api/items/{id}/extra?what=votes")[0] == 409
        assert server.post(f"items/{id}/show", what="algorithms")[0] == 422
        for what in ("votes", "consensus"):
            assert server.post(f"items/{id}/show", what=what)[0] == 200
        votes = server.get(f"items/{id}/extra?what=votes")
        outlines = server.get(f"items/{id}/outlines")
        drawn = sum(painted(each["runs"], (SIZE, SIZE)) > 0 for each in outlines["letters"])
        assert (painted(votes["runs"], (SIZE, SIZE)) == drawn).all()
        consensus = painted(server.get(f"items/{id}/extra?what=consensus")["runs"], (SIZE, SIZE))
        assert consensus.any()
        server.decide(id, "union")
    (made,) = [entry for entry in entries(tmp_path) if entry.action == "decide"]
    assert made.payload["seen"]["shown"] == ["consensus", "votes"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"choice": "letter:Z"}, "choice"),
        ({"choice": "rater:A"}, "choice"),
        ({"choice": "union", "label": 7}, "label"),
        ({"choice": "union", "label": True}, "meaning"),
        ({"choice": "union", "label": "1"}, "label"),
        ({"choice": "union", "label": [1]}, "label"),
        ({"choice": "union", "comment": "x" * 3000}, "comment"),
        ({"choice": "union", "seconds": -1}, "seconds"),
        ({"choice": "union", "uuid": "1"}, "uuid"),
        ({"choice": "drawn"}, "runs"),
        ({"choice": "drawn", "runs": [[9, [0, 1]]]}, "runs"),
        ({"choice": "drawn", "runs": [[1, [SIZE * SIZE - 1, 2]]]}, "runs"),
        ({"choice": "drawn", "runs": [[1, [-1, 2]]]}, "runs"),
        ({"choice": "drawn", "runs": [[1, [0]]]}, "runs"),
        ({"choice": "drawn", "runs": [[1, [0, 10**30]]]}, "runs"),
        ({"choice": "drawn", "runs": [[1, "x"]]}, "runs"),
        ({"choice": "drawn", "runs": {"a": 1}}, "runs"),
    ],
)
def test_requests_that_mean_nothing_are_refused_and_leave_nothing(shared, body, code):
    id = shared.open_items()[0]
    if shared.get(f"items/{id}")["stage"] == "look":
        shared.look(id)
    status, answer = shared.post(f"items/{id}/decide", **body)
    assert (status, answer["code"]) == (422, code)
    assert shared.get(f"items/{id}")["status"] == "open"


@pytest.mark.slow
def test_grey_values_of_algorithms_are_no_outlines(tmp_path, study):
    grey = np.random.default_rng(0).integers(0, 256, (SIZE, SIZE)).astype(np.uint8)
    for number in range(1, 5):
        write_png(tmp_path / f"p/heat/p{number}.png", grey)
        write_png(tmp_path / f"p/unet/p{number}.png", (grey > 250).astype(np.uint8))
    template = f"{tmp_path}/p/{{algorithm}}/{{case}}.png"
    with Server(tmp_path, study, *PLAIN, "--show", "algorithms", "--predictions", template) as server:
        id = server.open_items()[0]
        server.look(id)
        assert server.post(f"items/{id}/show", what="algorithms")[0] == 200
        extra = server.get(f"items/{id}/extra?what=algorithms")
    assert extra["grey"] == ["heat"]
    (shown,) = extra["letters"]
    assert shown["name"] == "unet"
    assert (painted(shown["runs"], (SIZE, SIZE)) == (grey > 250)).all()


def test_an_item_that_is_not_there(shared):
    for path in ("items/0000", "items/0000/image", "items/0000/outlines"):
        status, _, data = shared.ask("GET", f"/api/{path}")
        assert (status, json.loads(data)["code"]) == (404, "no_item")
