"""Times, peaks and the lines that are printed."""

from __future__ import annotations

import os
import subprocess
import threading
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


def best(work: Callable[[], object], times: int = 5) -> float:
    """The shortest of several times, in seconds: what the machine can do when nothing else disturbs it."""
    return min(once(work) for _ in range(times))


def once(work: Callable[[], object]) -> float:
    """The time of one call, in seconds."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cpu(work: Callable[[], object], times: int = 5) -> float:
    """The least CPU time of several calls, in seconds, over all threads: other programs hardly change it."""
    spent = []
    for _ in range(times):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


def side_by_side(ours: Callable[[], object], peer: Callable[[], object], times: int = 5) -> tuple[float, float]:
    """Both in turn, so that a slow spell of the machine hits both; the shortest of each."""
    pairs = [(once(ours), once(peer)) for _ in range(times)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def peak(work: Callable[[], object]) -> float:
    """The most memory that was allocated at once, in MB."""
    tracemalloc.start()
    work()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 1e6


def command(arguments: Sequence[str]) -> None:
    """A program, which must succeed; what it prints is dropped."""
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)


@dataclass(frozen=True)
class Cost:
    """What a program and all that it started took."""

    seconds: float
    """Of CPU time."""
    memory: float
    """The most that all of them held together at one time, in MB; what processes share is counted once."""
    wall: float
    """Seconds on the clock."""


def cost(arguments: Sequence[str]) -> Cost:
    """Of a program, which must succeed; what it prints is dropped."""
    start = time.perf_counter()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    most, done = [0.0], threading.Event()
    seconds: dict[int, float] = {}

    def watch() -> None:
        pause = 0.02
        while not done.wait(pause):
            begun = time.perf_counter()
            family = _family(process.pid)
            most[0] = max(most[0], sum(map(_resident, family)))
            # whom a fork server started is nobody's child that is waited for
            seconds.update({pid: max(_cpu(pid), seconds.get(pid, 0.0)) for pid in family})
            # the kernel walks through all of their pages
            pause = max(0.02, 9 * (time.perf_counter() - begun))

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    done.set()
    watcher.join()
    assert process.returncode == 0, f"{arguments} ended with {process.returncode}"
    return Cost(max(used.ru_utime + used.ru_stime, sum(seconds.values())), most[0], wall)


def _family(pid: int) -> list[int]:
    """A process and all that it started."""
    found = [pid]
    for one in found:
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                found += map(int, Path(f"/proc/{one}/task/{task}/children").read_text().split())
        except OSError:
            continue
    return found


def _resident(pid: int) -> float:
    """Memory of a process in MB; what processes share is counted in parts."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1000
    except (OSError, StopIteration):
        return 0.0


def _cpu(pid: int) -> float:
    """CPU seconds of a process so far."""
    try:
        cells = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(cells[11]) + int(cells[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


@dataclass(frozen=True)
class Result:
    """One line of the report."""

    job: str
    peer: str
    figure: float
    wanted: str
    met: bool
    times: str

    def __str__(self) -> str:
        verdict = "met" if self.met else "MISSED"
        return f"{self.job:<58} {self.peer:<44} {self.figure:8.2f}  {self.wanted:<9} {verdict:<7} {self.times}"


def at_most(job: str, peer: str, figure: float, limit: float, times: str = "", unit: str = "×") -> Result:
    """A ratio or size that should stay below a limit."""
    return Result(job, peer, figure, f"≤ {limit:g} {unit}", figure <= limit, times)


def at_least(job: str, peer: str, figure: float, limit: float, times: str = "") -> Result:
    """A speed-up that should be reached."""
    return Result(job, peer, figure, f"≥ {limit:g} ×", figure >= limit, times)
