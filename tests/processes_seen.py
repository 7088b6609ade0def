"""The command line as a process: its streams, limits and signals, seen from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from study_folders import MANYTRUTHS, Run


def shell(
    line: str, *, cwd: Path | None = None, environment: Mapping[str, str] | None = None, limit: float = 60
) -> Run:
    """A line for bash, in which {m} is the command."""
    done = subprocess.run(
        ["bash", "-c", line.replace("{m}", MANYTRUTHS)],
        cwd=cwd, capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=limit,
        env={**os.environ, **(environment or {})},
    )  # fmt: skip
    encoding = (environment or {}).get("PYTHONIOENCODING", "utf-8").partition(":")[0]
    return Run(done.returncode, done.stdout.decode(encoding), done.stderr.decode(encoding))


def started(*arguments: object) -> subprocess.Popen[str]:
    """A command that heeds signals by now."""
    process = subprocess.Popen(
        [MANYTRUTHS, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=_heed_interrupts,
    )  # fmt: skip
    while process.poll() is None and not _catches(process.pid, signal.SIGTERM):
        time.sleep(0.001)
    return process


def half_way(process: subprocess.Popen[str], out: Path) -> None:
    """Wait until a few pictures are written, wherever they lie until the run is whole."""
    while process.poll() is None and sum(1 for _ in out.rglob("*.png")) < 3:
        time.sleep(0.01)
    assert process.poll() is None, "it was over before anything could be done to it"


def ended(process: subprocess.Popen[str]) -> Run:
    """How it ended; only when nobody holds its pipes any more: no process is left behind."""
    out, err = process.communicate(timeout=30)
    return Run(process.returncode, out, err)


def _heed_interrupts() -> None:
    """As in a terminal: what runs in the background inherits that interrupts are ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _catches(process: int, number: int) -> bool:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return True
    caught = next(line.split()[1] for line in lines if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (number - 1) & 1)
