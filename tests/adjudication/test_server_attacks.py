"""What other sites, other users and broken pages may send to the server of ``adjudicate``."""

from __future__ import annotations

import json
import shutil
import socket
import stat
import uuid
from pathlib import Path

import pytest

from adjudication_server import Server, write_disputed
from manytruths.adjudication.security import MOST_BYTES

PLAIN = ("--practice", "0", "--controls", "0", "--repeats", "0")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attacked")
    study = write_disputed(folder / "study")
    with Server(folder, study, *PLAIN) as running:
        yield running


@pytest.fixture(scope="module")
def item(server):
    id = server.open_items()[0]
    server.look(id)
    return id


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil.example:{port}", "[::1]:{port}", "", None]
)
def test_another_host_is_refused(server, host):
    """A name of another site that was pointed at the loopback address (DNS rebinding)."""
    given = None if host is None else host.format(port=server.port)
    for path in ("/", "/api/state"):
        # without any Host, the parser of HTTP refuses before we can
        assert server.ask("GET", path, Host=given)[0] == (421 if given is not None else 400)


def test_its_own_two_names_are_taken(server):
    for name in ("127.0.0.1", "localhost", "LOCALHOST"):
        assert server.ask("GET", "/api/state", Host=f"{name}:{server.port}")[0] == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"])
def test_another_origin_is_refused(server, item, origin):
    given = origin.format(port=server.port)
    body = {"uuid": str(uuid.uuid4()), "choice": "union"}
    assert server.ask("POST", f"/api/items/{item}/decide", body, Origin=given)[0] == 403
    assert server.ask("GET", "/api/state", Origin=given)[0] == 403
    assert server.ask("GET", "/api/state", Origin=f"http://127.0.0.1:{server.port}")[0] == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_browser_says_comes_from_another_site_is_refused(server, site):
    assert server.ask("GET", "/api/state", Sec_Fetch_Site=site)[0] == 403
    assert server.ask("GET", "/", Sec_Fetch_Site=site)[0] == 200  # a link of a report


@pytest.mark.parametrize(
    "given", [None, "", "Bearer", "Bearer ", "Bearer x", "Basic {token}", "{token}", "Bearer {token}x", "Bearer é"]
)
def test_without_the_token_nothing_is_told(server, item, given):
    header = None if given is None else given.format(token=server.token).encode().decode("latin-1")
    for path in ("state", "queue", f"items/{item}", f"items/{item}/image", f"items/{item}/tile", "nothing"):
        status, _, data = server.ask("GET", f"/api/{path}", Authorization=header)
        assert (status, json.loads(data)["code"]) == (401, "token")
    assert server.ask("POST", "/api/undo", {"uuid": str(uuid.uuid4())}, Authorization=header)[0] == 401


def test_the_token_is_no_part_of_an_address(server):
    assert server.ask("GET", f"/api/state?token={server.token}", Authorization=None)[0] == 401


@pytest.mark.parametrize(
    "path",
    ["/../pyproject.toml", "/api/../../etc/passwd", "/api/items/..%2f..%2f..%2fetc%2fpasswd/image",
     "/api/items/%00/image", "/static/../x", "//etc/passwd", "/api/items/p1/image", "/api/items/../state"],
)  # fmt: skip
def test_paths_are_never_those_of_files(server, path):
    status, _, data = server.ask("GET", path)
    assert status in (404, 401, 400)
    assert b"root:" not in data


def test_only_get_and_post(server):
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
        status, headers, _ = server.ask(method, "/api/state", Origin=None)
        assert status == 405
        assert not any("access-control" in name.lower() for name in headers)
    assert server.ask("POST", "/", {})[0] == 405


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_forms_are_refused(server, item, kind):
    body = json.dumps({"uuid": str(uuid.uuid4()), "choice": "union"}).encode()
    assert server.ask("POST", f"/api/items/{item}/decide", body, Content_Type=kind)[0] == 415


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"[" * 100_000, b"\xff", b'"x"', b"null"])
def test_what_is_no_object_is_refused(server, item, body):
    status, _, data = server.ask("POST", f"/api/items/{item}/decide", body)
    assert (status, json.loads(data)["code"]) == (400, "json")


@pytest.mark.slow
def test_a_polygon_of_a_million_points_is_refused(server, item):
    points = [[n, n] for n in range(1_000_000)]
    body = json.dumps({"uuid": str(uuid.uuid4()), "choice": "drawn", "runs": points}).encode()
    assert len(body) > MOST_BYTES
    status, _, data = server.ask("POST", f"/api/items/{item}/decide", body)
    assert (status, json.loads(data)["code"]) == (413, "too_large")
    runs = [0, 1] * 400_000
    status, answer = server.post(f"items/{item}/decide", choice="drawn", runs=[[1, runs]])
    assert (status, answer["code"]) == (422, "runs")
    assert server.get(f"items/{item}")["status"] == "open"


def test_a_body_that_is_longer_than_it_says_or_has_no_end_is_bounded(server, item):
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        head = (
            f"POST /api/items/{item}/decide HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Authorization: Bearer {server.token}\r\nContent-Type: application/json\r\n"
            "Transfer-Encoding: chunked\r\n\r\n"
        )
        connection.sendall(head.encode())
        chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        sent = 0
        try:
            while sent < 64:
                connection.sendall(chunk)
                sent += 1
        except OSError:
            pass  # it was closed, as nobody reads on
        answer = connection.recv(4096) if sent < 64 else b""
    assert sent < 64
    assert b"413" in answer.split(b"\r\n")[0] or answer == b""
    assert server.get("state")["adjudicator"] == "Ada"


def test_policies_of_all_answers(server, item):
    for path in ("/", "/api/state", f"/api/items/{item}/image", "/nothing"):
        headers = {name.lower(): value for name, value in server.ask("GET", path)[1].items()}
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"
        assert "set-cookie" not in headers
        assert "server" not in headers
    policy = {n.lower(): v for n, v in server.ask("GET", "/")[1].items()}["content-security-policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"].startswith("'sha256-")
    assert " " not in rules["script-src"]
    assert rules["connect-src"] == "'self'"
    assert rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"


def test_it_listens_on_the_loopback_address_alone(server):
    own = next((a[4][0] for a in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)), "127.0.0.1")
    if own.startswith("127."):
        own = "127.0.0.2"
    with pytest.raises(OSError):
        socket.create_connection((own, server.port), timeout=2).close()


@pytest.mark.slow
def test_names_that_are_scripts_are_text_everywhere(tmp_path):
    """Names of raters, cases and the adjudicator; in answers they are JSON, which is not shown as a page."""
    evil = "<script>alert(1)<"
    study = write_disputed(tmp_path / "study", cases=1)
    shutil.move(tmp_path / "study/masks/A", tmp_path / "study/masks" / evil)
    shutil.move(tmp_path / "study/images/p1.png", tmp_path / "study/images/<img src=x>.png")
    for folder in (tmp_path / "study/masks").iterdir():
        shutil.move(folder / "p1.png", folder / "<img src=x>.png")
    with Server(tmp_path, study, *PLAIN, "--names", who="<b>Eve</b>") as server:
        id = server.open_items()[0]
        server.look(id)
        status, headers, data = server.ask("GET", f"/api/items/{id}/outlines")
        assert status == 200
        assert {n.lower(): v for n, v in headers.items()}["content-type"].startswith("application/json")
        assert evil in {each["name"] for each in json.loads(data)["letters"]}
        assert server.get("state")["adjudicator"] == "<b>Eve</b>"
        assert evil.encode() not in server.ask("GET", "/")[2]
        assert server.decide(id, "union", comment=evil)[0] == 200
    page = tmp_path / "page.html"
    from manytruths.cli import status as run

    assert run(["adjudicate", *study, "--html", str(page), "--names", "-q", "--adjudicator", "<b>",
                "--log", str(tmp_path / "other")]) == 0  # fmt: skip
    text = page.read_text(encoding="utf-8")
    assert evil not in text
    assert "<img src=x>" not in text
    assert text.count("<script") == 3


def test_other_users_cannot_look_into_the_folder(server):
    """It holds the log, and images that were unpacked."""
    kept = server.folder / "manytruths-adjudication"
    assert {stat.S_IMODE(each.stat().st_mode) for each in (kept, kept / "index")} == {0o700}


def test_the_token_stands_nowhere_but_in_the_printed_address(server, tmp_path):
    kept = server.folder / "manytruths-adjudication"
    found = [path for path in kept.rglob("*") if path.is_file() and server.token.encode() in path.read_bytes()]
    (opener,) = found  # what the browser is opened with, for its owner alone
    assert stat.S_IMODE(opener.stat().st_mode) == 0o600
    command = Path(f"/proc/{server.process.pid}/cmdline").read_text()
    assert server.token not in command
