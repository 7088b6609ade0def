"""A study with disputes, and the real server of ``adjudicate`` in a process of its own, asked over HTTP."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import numpy as np
from PIL import Image

from study_folders import write_png

SIZE = 96
PLACES = ((24, 24, 6), (24, 68, 8), (68, 30, 7), (66, 70, 9))
"""Row, column and radius of the lesions of a case."""
MISSED = {("p1", "C"): (0,), ("p2", "A"): (1,), ("p3", "B"): (0, 2), ("p4", "C"): (3,)}
"""Lesions that a rater did not see, by case and rater."""


def disc(row: int, column: int, radius: int, size: int = SIZE) -> np.ndarray:
    rows, columns = np.mgrid[:size, :size]
    return (rows - row) ** 2 + (columns - column) ** 2 <= radius**2


def write_disputed(folder: Path, cases: int = 4, raters: str = "ABC") -> list[str]:
    """Four lesions a case: some were missed, the third is outlined differently, the others alike; the arguments."""
    random = np.random.default_rng(0)
    for number in range(1, cases + 1):
        case = f"p{number}"
        image = random.normal(80, 8, (SIZE, SIZE))
        for place in PLACES:
            image[disc(*place)] += 60
        path = folder / "images" / f"{case}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.clip(image, 0, 255).astype(np.uint8)).save(path)
        for shift, rater in enumerate(raters):
            mask = np.zeros((SIZE, SIZE), np.uint8)
            for lesion, (row, column, radius) in enumerate(PLACES):
                if lesion not in MISSED.get((case, rater), ()):
                    mask[disc(row, column + (2 * shift if lesion == 2 else 0), radius)] = 1
            write_png(folder / "masks" / rater / f"{case}.png", mask)
    return [f"{folder}/masks/{{rater}}/{{case}}.png", "--images", f"{folder}/images/{{case}}.png"]


_INDEXED: dict[str, Path] = {}
"""The first folder in which the disputes of a study were found, by template."""


def _copy_index(folder: Path, template: str) -> None:
    """Take the disputes that an earlier server of the same study has found, as finding them takes a process."""
    own, first = folder / "manytruths-adjudication/index", _INDEXED.setdefault(template, folder)
    there = first / "manytruths-adjudication/index"
    if there != own and there.is_dir() and not own.exists():
        shutil.copytree(there, own)


class Server:
    """``manytruths adjudicate`` in a process; stopped as by Ctrl-C where it still runs."""

    def __init__(self, folder: Path, study: list[str], *options: str, who: str = "Ada") -> None:
        self.folder = folder
        _copy_index(folder, study[0])
        command = [sys.executable, "-m", "manytruths", "adjudicate", *study, "--no-open", "--adjudicator", who]
        if "--port" not in options:
            command += ["--port", "0"]
        self.process = subprocess.Popen(
            [*command, *options], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        self.printed, self.port, self.token = "", 0, ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.printed += line
            found = re.search(r"http://127\.0\.0\.1:(\d+)/#token=(\S+)", line)
            if found:
                self.port, self.token = int(found[1]), found[2]
                return
        self.failed = self.process.communicate()[1]
        raise AssertionError(f"it did not start: {self.process.wait()} {self.printed} {self.failed}")

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self, by: int = signal.SIGINT) -> int:
        """End it, and return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(by)
        out, self.failed = self.process.communicate(timeout=30)
        self.printed += out
        return self.process.returncode

    def ask(self, method: str, path: str, body: object = None, **headers: str | None):
        """Status, headers and bytes of an answer; a header that is None is left out."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        content = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"Host": f"127.0.0.1:{self.port}", "Authorization": f"Bearer {self.token}"}
        given |= {"Content-Type": "application/json"} if content is not None else {}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in given.items():
            if value is not None:
                connection.putheader(name, value)
        if content is not None and "Content_Length" not in headers:
            connection.putheader("Content-Length", str(len(content)))
        try:
            connection.endheaders(content)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        if answer.getheader("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
        return answer.status, dict(answer.getheaders()), data

    def get(self, path: str):
        """The JSON of an answer that must be good."""
        status, _, data = self.ask("GET", f"/api/{path}")
        assert status == 200, (path, status, data)
        return json.loads(data)

    def post(self, path: str, **body: object):
        """Status and JSON of an answer to a request to write."""
        status, _, data = self.ask("POST", f"/api/{path}", {"uuid": str(uuid.uuid4()), **body})
        return status, json.loads(data)

    def block(self, path: str):
        """Head and values of a block."""
        status, _, data = self.ask("GET", f"/api/{path}")
        assert status == 200, (path, status, data)
        length = int.from_bytes(data[:4], "little")
        head = json.loads(data[4 : 4 + length])
        shape = [*head["shape"], *([head["channels"]] if head["channels"] > 1 else [])]
        return head, np.frombuffer(data[4 + length :], f"<{head['dtype']}").reshape(shape)

    def look(self, id: str, answer: str = "lesion"):
        """The first look."""
        return self.post(f"items/{id}/look", answer=answer, seconds=1.5)

    def decide(self, id: str, choice: str, **more: object):
        """A decision, after the first look where that is missing."""
        if self.get(f"items/{id}")["stage"] == "look":
            self.look(id)
        return self.post(f"items/{id}/decide", choice=choice, seconds=4.0, **more)

    def open_items(self, *, practice: bool = False):
        """The ids of what is open."""
        items = self.get("queue")["items"]
        return [i["id"] for i in items if i["practice"] == practice and i["status"] in ("open", "stale", "skipped")]


def painted(runs, shape) -> np.ndarray:
    """Runs of an answer as an array."""
    flat = np.zeros(int(np.prod(shape)), int)
    for value, pairs in runs:
        for start, length in zip(pairs[::2], pairs[1::2], strict=True):
            flat[start : start + length] = value
    return flat.reshape(shape)


def wait_until(true, seconds: float = 20.0) -> None:
    """Until something is so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
