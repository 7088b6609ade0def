"""Signals at any moment, workers that are killed, and two runs into one folder: never a mixture of old and new."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import checks, honest
from .checks import Wrong
from .model import Failure, Outcome
from .runner import Runner, Server

MANY = honest.Data(("p1", "p2", "p3", "p4", "p5"))
"""What a run that is disturbed works on; the results before it are of other data."""
COMMANDS = ("agree", "fuse", "evaluate", "report", "rank", "export coco", "export nnunet", "import cvat", "demo")
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
STATUSES = {signal.SIGKILL: (-9,), signal.SIGTERM: (-15, 143), signal.SIGINT: (-2, 130)}


@dataclass(frozen=True)
class Interruption:
    """A command over complete results of other data, and what happens to it on the way."""

    name: str
    command: str
    kind: str
    """``clock``: a signal after a share of the time that it takes; ``step``: a signal at one of the steps by which it
    changes files; ``worker``: one of its processes is killed; ``two``: a second run of other data,
    into the same folder."""
    number: signal.Signals
    share: float

    @property
    def family(self) -> str:
        return "signals"

    def against(self, runner: Runner) -> list[Failure]:
        """What is wrong after it, and after the run that follows."""
        place, log = runner.place(self.name)
        _write(place, MANY)
        shutil.copytree(runner.earlier(self.command), place / "out", symlinks=True)
        try:
            found = self._two(runner, place, log) if self.kind == "two" else self._disturbed(runner, place, log)
        finally:
            if not runner.keep:
                shutil.rmtree(place, ignore_errors=True)
        return [Failure(self.name, self.command, kind, said) for kind, said in found]

    def line(self) -> list[str]:
        jobs = [] if self.command == "rank" else ["--jobs", "2"]
        more = ["--seed", "1"] if self.command == "demo" else ["--replace"] * self.command.startswith("import")
        # pictures are many files, and take their time: one command shows what becomes of them
        words = [word for word in honest.line(self.command) if word != "--no-pictures" or self.command != "agree"]
        return [*words, *jobs, *more]

    # -- one run that is disturbed -----------------------------------------------------------------------

    def _disturbed(self, runner: Runner, place: Path, log: Path) -> Wrong:
        new, seconds, steps = undisturbed(runner, self.command)
        old = runner.earlier(self.command)
        before = checks.snapshot(place / "in")
        done = runner.server.run(self.line(), place, log, kill=self._kill(seconds, steps))
        wrong = self._ended(done) + self._untouched(place, before)
        wrong += self._old_or_new(place / "out", old, new, done)
        again = runner.server.run(self.line(), place, log)
        if again.status != 0:
            return [*wrong, ("exit", f"the next run: {again.status}, {again.err[-300:]}")]
        different = checks.same_results(place / "out", new)
        if different:
            wrong.append(("mixed", f"after the next run these differ from an undisturbed one: {different}"))
        return wrong

    def _kill(self, seconds: float, steps: int) -> dict[str, Any]:
        # a terminal sends interrupts to all processes of a run
        to = {"worker": "worker"}.get(self.kind, "all" if self.number == signal.SIGINT else "process")
        if self.kind == "step":
            return {"signal": int(self.number), "to": to, "event": max(1, round(self.share * steps))}
        return {"signal": int(self.number), "to": to, "after": self.share * seconds}

    def _ended(self, done: Outcome) -> Wrong:
        if done.hung:
            return [("hang", f"over {done.seconds:.0f} s")]
        wrong: Wrong = []
        leak = checks.LEAKS.search(done.err) or checks.LEAKS.search(done.out)
        if leak:
            wrong.append(("traceback", f"{leak.group()!r} … {leak.string.strip().splitlines()[-1][:300]}"))
        if done.left:
            wrong.append(("left", f"{done.left} processes were still there"))
        allowed = (0, 1) if self.kind == "worker" else (0, *STATUSES[self.number])
        if done.status not in allowed:
            wrong.append(("exit", f"{done.status}, wanted {' or '.join(map(str, allowed))}: {done.err[-300:]}"))
        told = done.err.splitlines()
        if done.status in (1, 130) and not (len(told) == 1 and told[0].startswith("manytruths: ")):
            wrong.append(("message", f"not one line: {done.err[-300:]!r}"))
        return wrong

    def _untouched(self, place: Path, before: checks.Snapshot) -> Wrong:
        return [] if checks.snapshot(place / "in") == before else [("outside", "the input was changed")]

    def _old_or_new(self, out: Path, old: Path, new: Path, done: Outcome) -> Wrong:
        """By the folders that change places as one."""
        wrong: Wrong = []
        names = {path.name for home in (old, new, out) if home.exists() for path in home.iterdir()}
        generations = set()
        for name in sorted(n for n in names if not n.startswith(".part-") and n != checks.VOLATILE):
            states = [_equal(out / name, home / name) for home in (old, new)]
            if all(states):
                continue
            if not any(states):
                beside = done.status < 0 and self.number == signal.SIGKILL and not os.path.lexists(out / name)
                if not (beside and _beside(out, name, (old, new))):
                    differs = checks.same_results(out / name, new / name) if (out / name).is_dir() else "it"
                    wrong.append(("mixed", f"{name} is neither the old nor the new one ({differs})"))
            else:
                generations.add("new" if states[1] else "old")
        if len(generations) > 1 and self.command != "demo":
            wrong.append(("mixed", "some of it is old and some is new"))
        if self.kind == "worker" and done.status == 1 and "new" in generations:
            wrong.append(("mixed", "it failed, and changed the results"))
        left = [p.name for p in out.rglob(".part-*")] if done.status in (0, 1) else []
        if left and not (self.command == "fuse" and left == [".part-fuse"]):
            wrong.append(("left", ", ".join(left[:5])))
        return wrong

    # -- two runs ----------------------------------------------------------------------------------------

    def _two(self, runner: Runner, place: Path, log: Path) -> Wrong:
        """Both want the same folder: one of them gets it, or one after the other."""
        new, seconds, _ = undisturbed(runner, self.command)
        old = runner.earlier(self.command)
        other = place.with_name(place.name + ".other")
        shutil.rmtree(other, ignore_errors=True)
        _write(other, honest.OTHER)
        second = Server()
        try:
            runner.server.start(self.line(), place, log)
            own = self.line() if self.command != "demo" else honest.line("demo")
            own = [str(place / word) if word.split("/")[0] == "out" else word for word in own]
            late = second.run(own, other, log / "second", wait=self.share * seconds)
            first = runner.server.wait(log)
        finally:
            second.close()
            shutil.rmtree(other, ignore_errors=True)
        wrong = [one for done in (first, late) for one in self._ended(done) if one[0] != "exit"]
        statuses = sorted((first.status, late.status))
        if statuses not in ([0, 0], [0, 1]):
            wrong.append(("exit", f"{first.status} and {late.status}: {(first.err + late.err)[-300:]}"))
        if not any(not checks.same_results(place / "out", home) for home in (old, new)):
            differs = min((checks.same_results(place / "out", home) for home in (old, new)), key=len)
            wrong.append(("mixed", f"the folder is of neither run: {differs}"))
        return wrong


def _write(folder: Path, data: honest.Data) -> None:
    honest.write_study(folder, data)
    (folder / "in/scores.csv").write_text(honest.scores(data))
    (folder / "in/cvat").mkdir()
    for name, content in honest.exported("cvat", data).items():
        (folder / "in/cvat" / name).write_bytes(content)


def _equal(one: Path, other: Path) -> bool:
    if not os.path.lexists(one) or not os.path.lexists(other):
        return os.path.lexists(one) == os.path.lexists(other)
    if one.is_dir() and other.is_dir():
        return not checks.same_results(one, other, hidden=False)
    return one.is_file() and other.is_file() and one.read_bytes() == other.read_bytes()


def _beside(out: Path, name: str, homes: tuple[Path, ...]) -> bool:
    """Two renames cannot be one: killed between them, all of it lies beside, a page in the folder of its tables."""
    parts = [*out.glob(f".part-*{name}*"), *out.glob(f".part-{Path(name).stem}_files*/{name}")]
    return any(os.path.lexists(part) and _equal(part, home / name) for part in parts for home in homes)


def undisturbed(runner: Runner, command: str) -> tuple[Path, float, int]:
    """What the same run writes where nothing happens: its results, the seconds it takes, and its steps."""
    kept = runner.undisturbed
    if command not in kept:
        place, log = runner.place(f"undisturbed {command}")
        _write(place, MANY)
        shutil.copytree(runner.earlier(command), place / "out", symlinks=True)
        own = Interruption("", command, "", signal.SIGKILL, 0)
        log.mkdir(parents=True, exist_ok=True)
        done = runner.server.run(own.line(), place, log, events=str(log / "events"))
        assert done.status == 0, done.err
        kept[command] = (place / "out", done.seconds, int((log / "events").read_text()))
    return kept[command]


def interruptions(seed: int) -> Iterator[Interruption]:
    """The same for the same seed; the moments that a clock gives are never quite the same."""
    chance = random.Random(f"{seed} signals")
    for command in COMMANDS:
        for number in SIGNALS:
            for k, kind in enumerate(("clock", "step", "step")):
                # results change places at the end: half of the steps are among the last
                share = chance.uniform(0.05, 1) if k < 2 else chance.uniform(0.8, 1)
                if command == "demo" and k != SIGNALS.index(number):
                    continue  # slow: one of each
                yield Interruption(f"signals/{number.name}-{kind}-{k}-{command}", command, kind, number, share)
        if command in ("agree", "fuse", "evaluate", "report", "export coco", "import cvat"):
            yield Interruption(
                f"signals/worker-killed-{command}", command, "worker", signal.SIGKILL, chance.uniform(0.05, 0.4)
            )
        if command != "demo":
            yield Interruption(f"signals/two-at-once-{command}", command, "two", signal.SIGKILL, chance.uniform(0, 0.6))
