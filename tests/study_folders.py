"""Small studies written to disk, and the command line run on them."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

MANYTRUTHS = str(Path(sys.executable).with_name("manytruths"))


def disc(size: int = 24, x: float = 0, y: float = 0, radius: float = 6) -> np.ndarray:
    """A disc of ones, off the middle by x and y."""
    rows, columns = np.mgrid[:size, :size] - size / 2
    return ((rows - y) ** 2 + (columns - x) ** 2 < radius**2).astype(np.uint8)


def volume(depth: int = 5, **options: Any) -> np.ndarray:
    return np.stack([disc(**options)] * depth, axis=-1)


def write_png(path: Path, array: np.ndarray, **options: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(array).save(path, **options)


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image)


def write_npy(path: Path, array: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, array)


def write_nifti(path: Path, array: np.ndarray, spacing: Iterable[float] = (1, 1, 2), origin: float = 0) -> None:
    import nibabel

    affine = np.diag([*spacing, 1.0])
    affine[0, 3] = origin
    path.parent.mkdir(parents=True, exist_ok=True)
    nibabel.save(nibabel.Nifti1Image(array, affine), path)


def write_nrrd(path: Path, array: np.ndarray, origin: float = 0) -> None:
    import nrrd

    path.parent.mkdir(parents=True, exist_ok=True)
    header = {"space": "left-posterior-superior", "space directions": np.eye(3), "space origin": [origin, 0, 0]}
    nrrd.write(str(path), array, header)


def write_study(folder: Path, raters: Iterable[str] = "ABC", cases: Iterable[str] = ("p1", "p2")) -> str:
    """Discs that move a little from rater to rater and case to case; the template."""
    for x, rater in enumerate(raters):
        for y, case in enumerate(cases):
            write_png(folder / "masks" / rater / f"{case}.png", disc(x=x % 5, y=y % 5))
    return f"{folder}/masks/{{rater}}/{{case}}.png"


@dataclass(frozen=True)
class Run:
    """What a call of the command line gave."""

    status: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The one line of stderr."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("manytruths: ")
        return lines[0]


def run(capsys: Any, *arguments: object) -> Run:
    """The command line in this process."""
    from manytruths.cli import status

    capsys.readouterr()
    code = status([str(a) for a in arguments])
    return Run(code, *capsys.readouterr())


def command(*arguments: object, cwd: Path | None = None) -> Run:
    """The command line as a user starts it."""
    done = subprocess.run(
        [MANYTRUTHS, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Run(done.returncode, done.stdout, done.stderr)


def table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV."""
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def value(rows: list[dict[str, str]], statistic: str, scope: str, **fields: str) -> float:
    """The one value of a statistic; fields that are not given are empty."""
    empty = {"case": "", "group": "", "label": ""}
    wanted = {**empty, **fields, "statistic": statistic, "scope": scope}
    found = [row for row in rows if all(row[k] == v for k, v in wanted.items())]
    assert len(found) == 1, (wanted, found)
    return float(found[0]["value"])


def files(folder: Path) -> list[Path]:
    """All files but run.json, the only one that differs from run to run."""
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "run.json")


def untidy(folder: Path) -> list[Path]:
    """What a run must not leave behind: temporary and empty files."""
    return [p for p in files(folder) if p.name.startswith(".") or not p.stat().st_size]
