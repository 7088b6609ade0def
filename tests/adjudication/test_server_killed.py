"""The server is killed between click and answer: nothing that was said to be saved is lost, nothing is doubled."""

from __future__ import annotations

import json
import random
import signal
import socket
import threading
import time
import uuid

import pytest

from adjudication_server import Server, write_disputed
from manytruths.io.decision_log import read_logs


def send(server: Server, path: str, body: dict, got: list) -> None:
    """Post a request, and keep the answer if one comes whole."""
    data = json.dumps(body).encode()
    head = (
        f"POST /api/{path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    )
    answer = b""
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(head.encode() + data)
            while part := connection.recv(65536):
                answer += part
    except OSError:
        return
    head, _, body = answer.partition(b"\r\n\r\n")
    if head.startswith(b"HTTP/1.1 200") and body.endswith(b"}") and json.loads(body).get("saved"):
        got.append(json.loads(body))


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_nothing_is_lost_and_nothing_doubled(tmp_path, kills):
    study = write_disputed(tmp_path / "study")
    chance, acknowledged, sent = random.Random(kills), set(), []
    cut_off = 0
    for number in range(kills):
        with Server(tmp_path, study, "--practice", "0", "--repeats", "0", "--no-first-look") as server:
            # what was not answered is sent again, with its own uuid, as the page does
            for path, body in sent:
                if body["uuid"] not in acknowledged:
                    status, answer = server.post(path, **body)
                    assert (status, answer["saved"]) == (200, True)
                    acknowledged.add(body["uuid"])
            id = chance.choice(server.get("queue")["items"])["id"]
            body = {"uuid": str(uuid.uuid4()), "choice": chance.choice(["union", "none", "letter:A"]), "seconds": 2}
            sent.append((f"items/{id}/decide", body))
            got: list = []
            asking = threading.Thread(target=send, args=(server, *sent[-1], got))
            asking.start()
            # from before the request is read to after it was answered
            time.sleep(chance.random() * 0.06)
            server.stop(signal.SIGKILL)
            asking.join()
            if got:
                acknowledged.add(body["uuid"])
            else:
                cut_off += 1
        (log,) = read_logs([tmp_path / "manytruths-adjudication"])  # verifies the digests
        made = [entry.uuid for entry in log.entries if entry.action == "decide"]
        assert len(made) == len(set(made)), number
        assert acknowledged <= set(made), number
        assert set(made) <= {body["uuid"] for _, body in sent}
    if kills > 10:
        assert 0 < cut_off < kills  # some were cut off, some were answered
