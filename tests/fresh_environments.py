"""``python -m tests.fresh_environments WHEEL`` installs a wheel into empty environments of every Python that is here.

In each, with nothing but what the wheel asks for, ``manytruths demo`` is run and its results are looked at. A Python
that is not here is named as untested. With ``--lowest``, the lowest versions that the wheel allows are installed, which
``uv`` chooses, into one environment of the oldest Python, and tests that need no peers are run there, too.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
EXTRAS = ("medical", "dicom", "tiff", "zarr", "slides", "tables", "dask", "app")
"""Without PyTorch, whose oldest version fills gigabytes."""
TESTS = (
    "tests/formats", "tests/sharing/test_tally_files.py", "tests/io/test_slides.py", "tests/io/test_formats_reading.py",
    "tests/io/test_tiled_tiff.py", "tests/exchange/test_rtstruct.py", "tests/lesions", "tests/measures",
)  # fmt: skip
"""What reads and writes with the extras, and what leans on NumPy and SciPy, without the libraries of comparisons."""


def find_python(name: str) -> str | None:
    """An interpreter of a version that runs, on the path or where pyenv keeps them."""
    kept = sorted(Path.home().glob(f".pyenv/versions/{name}.*/bin/python{name}"))
    for found in (sys.executable, shutil.which(f"python{name}"), *map(str, reversed(kept))):
        if found and said(found, "-c", "import sys; print('%d.%d' % sys.version_info[:2])") == name:
            return found
    return None


def said(*command: str) -> str:
    """What a command prints; nothing where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def run(*command: str | Path, cwd: Path | None = None) -> None:
    """Run a command without this checkout on the path of modules."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([str(word) for word in command], check=True, cwd=cwd, env=environment)


def bin_of(folder: Path) -> Path:
    """Where an environment has its programs."""
    return folder / ("Scripts" if os.name == "nt" else "bin")


def try_demo(programs: Path, folder: Path) -> str:
    """Run the demo as a newcomer does, and return Fleiss' kappa of its study as it stands in the table."""
    run(programs / "manytruths", "demo", "--quiet", cwd=folder)
    run(programs / "manytruths", "fuse", "manytruths-demo/study", "--quiet", cwd=folder)
    made = ("manytruths-demo/report.html", "manytruths-demo/agree/summary.json", "manytruths-out/fuse/summary.json")
    empty = [name for name in made if not (folder / name).is_file() or not (folder / name).stat().st_size]
    if empty:
        raise SystemExit(f"the demo did not write {', '.join(empty)}")
    with (folder / "manytruths-demo/agree/agreement.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["scope"], row["statistic"]) == ("mean", "fleiss_kappa")]
    return rows[0]["value"]


def installed(programs: Path, *names: str) -> str:
    """Versions in an environment, for people to read."""
    code = f"from importlib.metadata import version; print(', '.join(n + ' ' + version(n) for n in {names}))"
    return said(str(programs / "python"), "-c", code)


def try_newest(wheel: Path, work: Path) -> Iterator[str]:
    """Install the wheel and the newest of everything into an environment of each Python, and run the demo there."""
    for name in PYTHONS:
        python = find_python(name)
        if python is None:
            yield f"Python {name}: not here, untested"
            continue
        home = work / name
        run(python, "-m", "venv", home / "venv")
        programs = bin_of(home / "venv")
        run(programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
        kappa = try_demo(programs, home)
        yield f"Python {name}: {installed(programs, 'numpy', 'scipy', 'pillow')}; the demo's Fleiss' kappa is {kappa}"


def try_lowest(wheel: Path, work: Path) -> Iterator[str]:
    """The same with the lowest versions that are allowed; then tests of what the extras read and write."""
    python = find_python(PYTHONS[0])
    if python is None:
        yield f"lowest versions: Python {PYTHONS[0]} is not here, untested"
        return
    chosen, home = work / "lowest.txt", work / "lowest"
    extras = [word for extra in EXTRAS for word in ("--extra", extra)]
    uv = bin_of(Path(sys.prefix)) / "uv"
    lowest = ("--resolution", "lowest-direct", "--python-version", PYTHONS[0], "--quiet", "--output-file", chosen)
    run(uv, "pip", "compile", *lowest, *extras, ROOT / "pyproject.toml")
    run(uv, "venv", "--quiet", "--python", python, home / "venv")
    programs = bin_of(home / "venv")
    target = ("--quiet", "--python", programs / "python")
    run(uv, "pip", "install", *target, "--requirement", chosen)
    run(uv, "pip", "install", *target, "--no-deps", wheel)
    kappa = try_demo(programs, home)
    yield f"lowest: {installed(programs, 'numpy', 'scipy', 'pillow')}; the demo's Fleiss' kappa is {kappa}"
    run(uv, "pip", "install", *target, "pytest>=8", "hypothesis", "pytest-xdist", "--constraint", chosen)
    run(
        programs / "python",
        "-m",
        "pytest",
        "-q",
        "-n",
        "auto",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
        *TESTS,
        cwd=ROOT,
    )
    yield "lowest: the tests pass"


def main(arguments: Sequence[str]) -> None:
    """Try a wheel in fresh environments, and print what was seen."""
    parser = argparse.ArgumentParser(prog="python -m tests.fresh_environments")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--lowest", action="store_true", help="the lowest versions that are allowed, and tests")
    options = parser.parse_args(arguments)
    if options.lowest:
        try:
            version("uv")
        except PackageNotFoundError:
            raise SystemExit("uv is not installed; make lowest installs it") from None
    with tempfile.TemporaryDirectory() as folder:
        for line in (try_lowest if options.lowest else try_newest)(options.wheel.resolve(), Path(folder)):
            print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
