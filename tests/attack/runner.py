"""Runs attacks in folders of their own, through a server that forks."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import checks, honest, oracles
from .model import Attack, Failure, Outcome

TIMEOUT = 30.0
ROOT = Path(__file__).parents[2]
MANYTRUTHS = f"{sys.executable} -m manytruths"


class Server:
    """The process that forks; one request at a time."""

    def __init__(self) -> None:
        given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        places = [str(ROOT / "src"), *map(os.path.abspath, given)]
        quiet = {"PYTHONPATH": os.pathsep.join(places), "LC_ALL": "C.UTF-8", "MANYTRUTHS": MANYTRUTHS}
        one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        dropped = ("PYTEST_CURRENT_TEST", "PYTHONIOENCODING", "PYTHONWARNINGS", "FORCE_COLOR")
        env = {key: value for key, value in os.environ.items() if key not in dropped} | quiet | one_thread
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("server.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env, cwd="/",
        )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        assert self._from.readline() == "ready\n"

    def run(self, argv: Sequence[str], cwd: Path, log: Path, **more: Any) -> Outcome:
        """One command in a process of its own."""
        self.start(argv, cwd, log, **more)
        return self.wait(log)

    def start(self, argv: Sequence[str], cwd: Path, log: Path, **more: Any) -> None:
        log.mkdir(parents=True, exist_ok=True)
        place = {"cwd": str(cwd), "out": str(log / "stdout"), "err": str(log / "stderr")}
        self._to.write(json.dumps({"timeout": TIMEOUT, "argv": list(argv), **place, **more}) + "\n")
        self._to.flush()

    def wait(self, log: Path) -> Outcome:
        answer = json.loads(self._from.readline())
        texts = [(log / name).read_bytes().decode("utf-8", "backslashreplace") for name in ("stdout", "stderr")]
        return Outcome(answer["status"], *texts, answer["seconds"], answer["hung"], answer["left"], answer["sent"])

    def close(self) -> None:
        self._to.close()
        self._process.wait(timeout=60)
        self._from.close()


class Runner:
    """Makes the input of an attack, runs it, and looks at everything that must hold afterwards."""

    def __init__(self, folder: Path, seed: int, keep: bool = False) -> None:
        self.folder, self.seed, self.keep = folder.resolve(), seed, keep
        self.folder.mkdir(parents=True, exist_ok=True)
        self.server = Server()
        self._earlier: dict[str, Path] = {}
        self.undisturbed: dict[str, tuple[Path, float, int]] = {}
        """By command: the results of a run that nothing happens to, its seconds and its steps."""

    def close(self) -> None:
        self.server.close()

    def attack(self, attack: Any) -> list[Failure]:
        """What went wrong; nothing is good."""
        return self._malformed(attack) if isinstance(attack, Attack) else list(attack.against(self))

    def _malformed(self, attack: Attack) -> list[Failure]:
        place, log = self.place(attack.name)
        chance = random.Random(f"{self.seed} {attack.name}")
        checks.write_sentinels(place)
        if attack.earlier:
            shutil.copytree(self.earlier(attack.command), place / "out", symlinks=True)
        try:
            attack.make(place, chance)
            before = checks.snapshot(place)
            done = self._run(attack, place, log)
            found = checks.after(attack, place, before, done)
            if done.status == 0 and not found:
                found = [*self._pixels(attack, place, log), *self._then(attack, place, log)]
        finally:
            checks.unlock(place)
            if not self.keep:
                _unmount(place)
                shutil.rmtree(place, ignore_errors=True)
                shutil.rmtree(log, ignore_errors=True)
        # one of each kind is enough
        first = dict(reversed(found))
        return [Failure(attack.name, attack.command, kind, said) for kind, said in first.items()]

    def place(self, name: str) -> tuple[Path, Path]:
        """A folder to start a command in, and one for what it prints."""
        slug = f"{re.sub(r'[^A-Za-z0-9.]+', '-', name)[:60]}-{zlib.crc32(name.encode()):08x}"
        place, log = self.folder / slug, self.folder / f"{slug}.log"
        for path in (place, log):
            checks.unlock(path)
            shutil.rmtree(path, ignore_errors=True)
        place.mkdir(parents=True)
        return place, log

    def earlier(self, command: str) -> Path:
        """Whole results of a command, of data that no attack has; made once."""
        if command not in self._earlier:
            place, log = self.place(f"earlier {command}")
            honest.write_all(place, honest.OTHER)
            done = self.server.run(honest.line(command), place, log)
            assert done.status == 0, f"{honest.line(command)}: {done.err}"
            self._earlier[command] = place / "out"
        return self._earlier[command]

    def _run(self, attack: Attack, place: Path, log: Path) -> Outcome:
        more: dict[str, Any] = {"env": dict(attack.env), "limits": dict(attack.limits)}
        if attack.remove:
            more["remove"] = {**attack.remove, "folder": str(place / attack.remove["folder"])}
        if attack.shell:
            more["exec"] = ["bash", "-c", attack.shell]
        return self.server.run(attack.line, place, log, **more)

    def _then(self, attack: Attack, place: Path, log: Path) -> list[tuple[str, str]]:
        if not attack.then:
            return []
        done = self.server.run(attack.then, place, log)
        wrong = checks.said(attack, done)
        if done.status != 0:
            wrong.append(("exit", f"then {' '.join(attack.then)}: {done.status}, {(done.err or done.out)[-300:]}"))
        return wrong

    def _pixels(self, attack: Attack, place: Path, log: Path) -> list[tuple[str, str]]:
        """Masks that were accepted, as others see them."""
        wrong, known = [], {}
        seen = self.seen([place / path for path in attack.pixels], log) if attack.pixels else []
        for path, array in zip(attack.pixels, seen, strict=True):
            known[path] = oracles.allowed(place / path) + self._intact(attack, place, path)
            if not any(oracles.same(array, other) for other in known[path]):
                wrong.append(("pixels", f"{path}: {oracles.told(array, known[path])}"))
        if attack.agreement and not wrong:
            wrong += checks.agreement(place, attack.agreement, known)
        return wrong

    def _intact(self, attack: Attack, place: Path, path: str) -> list[np.ndarray]:
        """The mask before it was damaged."""
        if attack.original is None:
            return []
        folder = place.with_name(place.name + ".intact")
        attack.original(folder, random.Random(f"{self.seed} {attack.name}"))
        found = oracles.allowed(folder / path)
        shutil.rmtree(folder)
        return found

    def seen(self, paths: Sequence[Path], log: Path) -> list[np.ndarray]:
        """What manytruths reads."""
        self.server.run([], self.folder, log, read=[str(path) for path in paths], to=str(log / "seen.npz"))
        if not (log / "seen.npz").exists():
            return [np.empty(0)] * len(paths)
        with np.load(log / "seen.npz") as found:
            return [found[f"arr_{number}"] for number in range(len(paths))]


def _unmount(place: Path) -> None:
    if os.path.ismount(place / "out"):
        subprocess.run(["umount", str(place / "out")], check=False)


def repeat(name: str, seed: int) -> str:
    """The command that repeats one attack."""
    return f"python -m tests.attack --only '{name}' --seed {seed} --keep DIR"


def table(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Rows by family, columns by what was found."""
    columns = ["attacks", *sorted({kind for row in counts.values() for kind in row} - {"attacks"})]
    lines = [f"{'':24}" + "".join(f"{column:>12}" for column in columns)]
    rows = {**counts, "all": {c: sum(row.get(c, 0) for row in counts.values()) for c in columns}}
    lines += [f"{name:24}" + "".join(f"{row.get(column, 0):12}" for column in columns) for name, row in rows.items()]
    return "\n".join(lines)
