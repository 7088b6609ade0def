"""Times, peaks and the lines that are printed."""

from __future__ import annotations

import os
import subprocess
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass


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
    """What a program took."""

    seconds: float
    """Of CPU time."""
    memory: float
    """The most that it held at once, in MB."""


def cost(arguments: Sequence[str]) -> Cost:
    """Of a program of one process, which must succeed; what it prints is dropped."""
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL) as program:
        _, status, usage = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
    assert program.returncode == 0, f"{arguments} ended with {program.returncode}"
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)


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
