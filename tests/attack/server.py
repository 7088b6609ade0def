"""A process that has imported manytruths and forks a child for each attack: what users start, without its start-up.

The child leaves this file at its end, so that the interpreter itself prints what was not caught, flushes the streams
and sets the status, as it does for ``python -m manytruths``. Requests and answers are lines of JSON.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

FILE_EVENTS = (
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.mkdir",
    "os.symlink",
    "os.link",
    "shutil.rmtree",
    "shutil.move",
)
PATIENCE = 5.0
"""Seconds that processes may outlive the one that started them."""
_SUBREAPER, _DROP_BOUND, _CAPSET_VERSION = 36, 24, 0x20080522
_MAY_PASS_RIGHTS = (1, 2)
"""The capabilities by which root reads and writes whatever the rights of a file say."""


def prepare() -> None:
    """Import what commands import, become the parent of orphans, and be bound by the rights of files, even as root."""
    from manytruths.cli import status

    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        for line in _first_lines(Path(folder)):
            assert status(line) == 0, line
    for name in ("nibabel", "nrrd", "tifffile", "pydicom", "openpyxl", "pandas"):
        if find_spec(name):
            import_module(name)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    if os.geteuid() == 0:
        for capability in _MAY_PASS_RIGHTS:
            libc.prctl(_DROP_BOUND, capability, 0, 0, 0)
        head = (ctypes.c_uint32 * 2)(_CAPSET_VERSION, 0)
        libc.capset(head, (ctypes.c_uint32 * 6)())
    gc.freeze()


def _first_lines(folder: Path) -> list[list[str]]:
    """Commands on a small study: whatever they import and prepare is there for all that follow."""
    from PIL import Image

    square = np.zeros((16, 16), np.uint8)
    square[4:9, 5:12] = 1
    for k, rater in enumerate("AB"):
        for case in ("p", "q"):
            (folder / rater).mkdir(exist_ok=True)
            Image.fromarray(np.roll(square, k)).save(folder / rater / f"{case}.png")
    (folder / "r.csv").write_text(
        "case,rater,label\n" + "".join(f"{c},{r},x\n{c}y,{r},y\n" for c in "pqs" for r in "AB")
    )
    masks, more = f"{folder}/{{rater}}/{{case}}.png", ["--jobs", "1"]
    out, predicted = ["--out", str(folder / "out")], ["--predictions", f"{folder}/{{algorithm}}/{{case}}.png"]
    return [
        ["agree", masks, *out, *more, "--no-pictures"],
        ["evaluate", masks, *predicted, *out, *more, "--no-pictures"],
        ["report", masks, "--to", str(folder / "report.html"), *more, "--resamples", "20"],
        ["reliability", str(folder / "r.csv"), *out],
        ["rank", str(folder / "out/evaluate/scores.csv"), *out, "--resamples", "20"],
    ]


def serve() -> dict[str, Any] | None:
    """Answer requests; returns in a child alone, with what it is to do."""
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            return dict(request)
        print(json.dumps(_watched(child, request)), flush=True)
    return None


# -- in the parent -----------------------------------------------------------------------------------


def _watched(child: int, request: dict[str, Any]) -> dict[str, Any]:
    begun, limit = time.monotonic(), request["timeout"]
    handle, sent = os.pidfd_open(child), False
    kill = request.get("kill")
    if kill and "after" in kill:
        ended = _ends(handle, kill["after"])
        sent = not ended and _send(child, kill)
    hung = not _ends(handle, max(0.0, begun + limit - time.monotonic()))
    if hung:
        _kill_session(child)
    _, status = os.waitpid(child, 0)
    seconds = time.monotonic() - begun
    os.close(handle)
    left = 0 if hung else _left(child)
    code = os.waitstatus_to_exitcode(status)
    return {"status": code, "seconds": seconds, "hung": hung, "left": left, "sent": sent}


def _ends(handle: int, seconds: float) -> bool:
    return bool(select.select([handle], [], [], seconds)[0])


def _send(child: int, kill: dict[str, Any]) -> bool:
    """To the process, to all of its session as a terminal does, or to one of its workers."""
    try:
        if kill["to"] == "all":
            os.killpg(child, kill["signal"])
            return True
        if kill["to"] == "process":
            os.kill(child, kill["signal"])
            return True
        return _send_to_worker(child, kill["signal"])
    except ProcessLookupError:
        return False


def _send_to_worker(child: int, number: int) -> bool:
    for _ in range(2000):
        try:
            workers = Path(f"/proc/{child}/task/{child}/children").read_text().split()
        except OSError:
            return False
        if workers:
            os.kill(int(workers[0]), number)
            return True
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return False
        time.sleep(0.0005)
    return False


def _left(child: int) -> int:
    """How many processes of its session are still there after a while; those are ended."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        _reap()
        try:
            os.killpg(child, 0)
        except ProcessLookupError:
            return 0
        time.sleep(0.01)
    found = sum(_session(entry.name) == child for entry in os.scandir("/proc") if entry.name.isdecimal())
    _kill_session(child)
    return found


def _session(process: str) -> int:
    try:
        return os.getsid(int(process))
    except OSError:
        return -1


def _kill_session(child: int) -> None:
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        return


def _reap() -> None:
    """End what was left to us."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


# -- in the child ------------------------------------------------------------------------------------


def become(request: dict[str, Any]) -> None:
    """The process that a user would have started: its streams, folder, limits, arguments."""
    os.setsid()
    time.sleep(request.get("wait", 0))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, path, flags in (
        (0, "/dev/null", os.O_RDONLY),
        (1, request["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND),
        (2, request["err"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND),
    ):
        opened = os.open(path, flags, 0o644)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(  # noqa: SIM115
        2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1
    )
    os.environ.update(request.get("env", {}))
    os.chdir(request["cwd"])
    for name, value in request.get("limits", {}).items():
        _limit(name, value)
    if "exec" in request:
        os.execvp(request["exec"][0], request["exec"])
    sys.argv = ["manytruths", *request["argv"]]
    if "event" in (request.get("kill") or {}) or "events" in request or "remove" in request:
        sys.addaudithook(_at_event(request))


def _limit(name: str, value: int) -> None:
    if name == "AS_ABOVE":
        # so much more than this process has already
        name, value = "AS", value + int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    number = getattr(resource, f"RLIMIT_{name}")
    resource.setrlimit(number, (value, value))


def _at_event(request: dict[str, Any]) -> Callable[[str, tuple[Any, ...]], None]:
    """Count the steps by which this process changes files; at the one that is asked for, do the harm."""
    kill, remove, count = request.get("kill") or {}, request.get("remove") or {}, 0
    told = os.open(request["events"], os.O_WRONLY | os.O_CREAT, 0o644) if "events" in request else None
    process = os.getpid()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if not (writes or event in FILE_EVENTS) or os.getpid() != process:
            return
        count += 1
        if told is not None:
            os.pwrite(told, f"{count:9}".encode(), 0)
        if count == kill.get("event"):
            (os.killpg if kill["to"] == "all" else os.kill)(process, kill["signal"])
        if count == remove.get("event"):
            shutil.rmtree(remove["folder"], ignore_errors=True)

    return hook


def read_pixels(paths: list[str], to: str) -> None:
    """What manytruths sees in masks, for comparison with what others see."""
    from manytruths.io import read_mask

    np.savez(to, *(np.asarray(read_mask(path).array) for path in paths))


if __name__ == "__main__":
    prepare()
    print("ready", flush=True)
    asked = serve()
    if asked is None:
        sys.exit(0)
    become(asked)
    if "read" in asked:
        read_pixels(asked["read"], asked["to"])
        sys.exit(0)
    from manytruths.cli import main

    sys.exit(main())
