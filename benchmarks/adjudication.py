"""The page of disputes: from a start to the first dispute, the next dispute, a decision that is durable, and memory."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
from PIL import Image

from .measuring import Result, at_most
from .report import BROWSER

CASES, RATERS, SIDE = 100, "ABCDE", 1024
VOLUME, READERS = 512, 10


class Server:
    """``manytruths adjudicate`` in a process, and the most memory that it and its indexer held together."""

    def __init__(self, folder: Path, arguments: Sequence[str]) -> None:
        self.start, self.memory = time.perf_counter(), 0.0
        self.process = subprocess.Popen(
            [sys.executable, "-m", "manytruths", "adjudicate", *arguments, "--no-open", "--port", "0", "--adjudicator",
             "Ada", "--practice", "0", "--no-first-look", "--repeats", "0", "--controls", "0"],
            cwd=folder, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        threading.Thread(target=self._watch, daemon=True).start()
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/#token=(\S+)", line):
                self.port, self.token = int(found[1]), found[2]
                break
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def _watch(self) -> None:
        while self.process.poll() is None:
            self.memory = max(self.memory, sum(map(_resident, _family(self.process.pid))))
            time.sleep(0.02)

    def ask(self, path: str, body: dict[str, Any] | None = None) -> bytes:
        """The bytes of an answer, unpacked as a browser does."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps({"uuid": str(uuid.uuid4()), **body})
        self.connection.request("GET" if body is None else "POST", f"/api/{path}", data, headers)
        answer = self.connection.getresponse()
        content = answer.read()
        assert answer.status in (200, 204), (path, answer.status, content[:200])
        return gzip.decompress(content) if answer.getheader("Content-Encoding") == "gzip" else content

    def show(self, id: str) -> None:
        """All that the page asks for to show a dispute."""
        for what in ("", "/image", "/outlines"):
            self.ask(f"items/{id}{what}")

    def stop(self) -> None:
        """End it."""
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)


def _family(pid: int) -> list[int]:
    """A process and those that it started."""
    found = [pid]
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            children = Path(f"/proc/{pid}/task/{task}/children").read_text().split()
            found += [each for child in children for each in _family(int(child))]
    return found


def _resident(pid: int) -> float:
    """Memory of a process in MB, of which pages of files, which the system may drop, are no part."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith(("RssAnon", "RssShmem"))) / 1000
    return 0.0


def _discs(side: int, seed: int, count: int = 8) -> Iterator[np.ndarray]:
    """Discs of the raters of a case: some are missed, all are outlined a little differently."""
    places = np.random.default_rng(seed).integers(40, side - 40, (count, 2))
    rows, columns = np.mgrid[:90, :90]
    for rater in range(len(RATERS)):
        random = np.random.default_rng((seed, rater))
        mask = np.zeros((side, side), np.uint8)
        for row, column in places:
            radius = random.integers(14, 24)
            if random.random() < 0.9:
                disc = (rows - 45) ** 2 + (columns - 45) ** 2 <= radius**2
                window = (slice(max(0, row - 45), row + 45), slice(max(0, column - 45), column + 45))
                part = mask[window]
                part |= disc[-part.shape[0] :, -part.shape[1] :] if row < 45 else disc[: part.shape[0], : part.shape[1]]
        yield mask


def flat() -> Iterator[Result]:
    """100 cases of 5 × 1024²: the first dispute of an indexed study, and decisions."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for case in range(CASES):
            (root / "images").mkdir(exist_ok=True)
            noise = np.random.default_rng(case).normal(100, 20, (SIDE, SIDE)).clip(0, 255).astype(np.uint8)
            Image.fromarray(noise).save(root / f"images/c{case:03}.png", compress_level=1)
            for rater, mask in zip(RATERS, _discs(SIDE, case), strict=True):
                path = root / "masks" / rater / f"c{case:03}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(mask).save(path, compress_level=1)
        study = ["masks/{rater}/{case}.png", "--images", "images/{case}.png"]
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "manytruths", "adjudicate", *study, "--dry-run", "--quiet"], cwd=root, check=True
        )
        indexed = time.perf_counter() - start
        firsts, saved = [], []
        for _ in range(3):
            server = Server(root, study)
            items = json.loads(server.ask("queue"))["items"]
            server.show(next(item["id"] for item in items if item["status"] == "open"))
            firsts.append(time.perf_counter() - server.start)
            for item in items[:20]:
                start = time.perf_counter()
                server.ask(f"items/{item['id']}/decide", {"choice": "union", "seconds": 5})
                saved.append(time.perf_counter() - start)
            state = json.loads(server.ask("state"))
            assert state["progress"]["indexed_cases"] == CASES, "cases were not indexed"
            server.stop()
        assert len(items) > CASES, "there are too few disputes"
        times = f"of 3: longest {max(firsts):.1f} s; {len(items)} disputes; indexed in {indexed:.0f} s"
        times += f"; memory {server.memory:.0f} MB"
        first = statistics.median(firsts)
        yield at_most("first dispute of an indexed study, 100 × 5 × 1024²", "", first, 3, times, "s")
        middle = f"of 60: median {1000 * statistics.median(saved):.0f} ms, longest {1000 * max(saved):.0f} ms"
        yield at_most("a decision saved, durable", "", 1000 * statistics.median(saved), 100, middle, "ms")


def volume() -> Iterator[Result]:
    """One case of 512³ with ten raters: indexed, and the next dispute."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        random = np.random.default_rng(0)
        places = random.integers(40, VOLUME - 40, (25, 3))
        reach = np.mgrid[-30:31, -30:31, -30:31]
        (root / "images").mkdir()
        plane = random.normal(0, 200, (VOLUME, VOLUME)).astype(np.int16)
        image = np.broadcast_to(plane[:, :, None], (VOLUME,) * 3) + np.arange(VOLUME, dtype=np.int16)
        _save(image.astype(np.int16), root / "images/v.nii.gz")
        for rater in range(READERS):
            mask = np.zeros((VOLUME,) * 3, np.uint8)
            for number, (x, y, z) in enumerate(places):
                if (number + rater) % 7:
                    radius = 10 + number % 18 + random.integers(-2, 3)
                    part = mask[x - 30 : x + 31, y - 30 : y + 31, z - 30 : z + 31]
                    part |= (reach**2).sum(axis=0) <= radius**2
            (root / "masks" / f"r{rater}").mkdir(parents=True)
            _save(mask, root / "masks" / f"r{rater}" / "v.nii.gz")
        del image, mask
        start = time.perf_counter()
        server = Server(
            root, ["masks/{rater}/{case}.nii.gz", "--images", "images/{case}.nii.gz", "--show", "consensus"]
        )
        items = json.loads(server.ask("queue"))["items"]
        found = time.perf_counter() - start
        server.show(items[0]["id"])
        opened = time.perf_counter() - start - found
        nexts = []
        for item in items[1:]:
            start = time.perf_counter()
            server.show(item["id"])
            nexts.append(time.perf_counter() - start)
        server.ask(f"items/{items[0]['id']}/show", {"what": "consensus"})
        server.ask(f"items/{items[0]['id']}/extra?what=consensus")
        shown, whole = in_browser(server)
        server.stop()
        assert len(items) >= 25, "lesions were not found"
        times = f"{len(items)} found in {found:.0f} s, image opened in {opened:.1f} s; longest {max(nexts):.2f} s"
        middle = 1000 * statistics.median(nexts)
        yield at_most("next dispute fetched, 512³ × 10 raters", "", middle, 1000, times, "ms")
        times = f"of {len(shown)}: longest {max(shown):.0f} ms; from Enter, with saving and outlines, {whole:.0f} ms"
        yield at_most("next dispute in the browser, fetched ahead", "", statistics.median(shown), 150, times, "ms")
        yield at_most("memory of server and indexer, 512³ × 10 raters", "", server.memory, 1000, unit="MB")


def in_browser(server: Server, count: int = 12) -> tuple[list[float], float]:
    """Milliseconds until the next dispute is drawn, of several; and from the key that saves to the next outlines."""
    from playwright.sync_api import sync_playwright

    state, shown, whole = "manytruthsAdjudication.state()", [], []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=BROWSER)
        tab = browser.new_page(viewport={"width": 1366, "height": 850})
        tab.goto(f"http://127.0.0.1:{server.port}/#token={server.token}")
        tab.wait_for_function(f"() => {state}.step === 'outlines'", timeout=120_000)
        for _ in range(count):
            # an adjudicator looks at it for longer
            tab.wait_for_timeout(1500)
            opened = tab.evaluate(f"{state}.opened")
            tab.keyboard.press("u")
            start = time.perf_counter()
            tab.keyboard.press("Enter")
            tab.wait_for_function(f"() => {state}.opened > {opened} && {state}.step === 'outlines'", polling=5)
            whole.append(1000 * (time.perf_counter() - start))
            shown.append(tab.evaluate(f"{state}.shownAfter"))
        browser.close()
    return shown, statistics.median(whole)


def _save(array: np.ndarray, path: Path) -> None:
    nibabel.openers.Opener.default_compresslevel = 1
    nibabel.save(nibabel.Nifti1Image(array, np.diag([0.7, 0.7, 1.0, 1.0])), path)


def adjudication() -> Iterator[Result]:
    """All of it."""
    yield from flat()
    yield from volume()


JOBS = {"adjudication": adjudication}
