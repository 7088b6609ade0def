"""Every command of a study, run in a folder of its own."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from data_folder import HOME

from .commands import STUDIES, written_to
from .comparing import Difference, Renames, compare
from .freezing import Entry, freeze, keep, kept

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"


def stored(name: str) -> Path:
    return HERE / "values" / f"{name}.json.xz"


def missing(name: str) -> Path | None:
    """The folder of data that a study lacks."""
    return next((HOME / one for one in STUDIES[name].needs if not (HOME / one).exists()), None)


def made(name: str, times: bool = False) -> int:
    keep(stored(name), computed(name, times))
    return stored(name).stat().st_size


def compared(name: str, texts: bool = False, times: bool = False) -> list[Difference]:
    return compare(name, kept(stored(name)), computed(name, times), Renames.read(HERE / "renames.toml"), texts)


def computed(name: str, times: bool = False) -> dict[str, dict[str, Entry]]:
    study = STUDIES[name]
    with tempfile.TemporaryDirectory(prefix="manytruths-golden-") as folder:
        home = Path(folder).resolve()
        if study.prepare:
            study.prepare(HOME, home)
        done: dict[str, dict[str, Entry]] = {}
        for command, line in study.commands.items():
            out = home / "out" / command
            out.mkdir(parents=True)
            begun = time.monotonic()
            status = _run([*_parts(line), *written_to(line, f"out/{command}")], home)
            done[command] = {
                "(status)": {"json": {"status": status}},
                **freeze(out, {str(home): "@work", str(HOME.resolve()): "@data", str(HOME): "@data"}),
            }
            if times:
                print(f"{name} {command}: {time.monotonic() - begun:.1f} s", file=sys.stderr)
            if study.between:
                study.between(command, home)
    return done


def _parts(line: str) -> list[str]:
    return [part.replace("@data", str(HOME)) for part in shlex.split(line)]


def _run(parts: list[str], home: Path) -> int:
    call = ["-m", "manytruths", *parts]
    if parts[0] == "python":
        call = [str(HERE / parts[1]), *parts[2:]]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, *call], cwd=home, env=environment, capture_output=True, text=True, check=False
    )
    if run.returncode:
        print(f"{shlex.join(parts)}: status {run.returncode}: {run.stderr.strip()[-600:]}", file=sys.stderr)
    return run.returncode
