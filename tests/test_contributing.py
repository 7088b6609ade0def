"""CONTRIBUTING.md is followed: what it says is done to a copy of the checkout, and its commands are run there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (Add [^\n]+)\n(.*?)(?=^## (?:Add|Before) )", PAGE, re.DOTALL | re.MULTILINE))
STEP = re.compile(
    r"(?:(?P<same>In the same file)|(?:In|A new file,)\s+`(?P<path>[^`]+)`)"
    r"(?:,\s+(?P<end>at the end)|,\s+below\s+(?P<ticks>``?)(?P<anchor>.+?)(?P=ticks))?:\n\n```\w+\n(?P<code>.*?)```",
    re.DOTALL,
)


class Step(NamedTuple):
    """Lines that are put into a file: below a line, at the end, or as a new file."""

    path: str
    anchor: str
    code: str
    new: bool


def steps_of(text: str) -> list[Step]:
    """What a section says to do, in its order."""
    steps = list[Step]()
    for found in STEP.finditer(text):
        path = steps[-1].path if found["same"] else found["path"]
        steps.append(Step(path, found["anchor"] or "", found["code"], found[0].startswith("A new file")))
    return steps


def commands_of(text: str) -> list[str]:
    """The commands of its last block, without the prompt."""
    (block,) = re.findall(r"Then:\n\n```console\n(.*?)```", text, re.DOTALL)
    return [line.removeprefix("$ ") for line in block.splitlines()]


def apply(step: Step, folder: Path) -> None:
    """Do a step to a copy."""
    path = folder / step.path
    if step.new:
        assert not path.exists()
        path.write_text(step.code, encoding="utf-8")
        return
    text = path.read_text(encoding="utf-8")
    if not step.anchor:
        path.write_text(text + step.code, encoding="utf-8")
        return
    lines = text.splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if line.startswith(step.anchor)]
    assert len(places) == 1, f"{step.path}: {len(places)} lines start with {step.anchor!r}"
    lines.insert(places[0] + 1, step.code)
    path.write_text("".join(lines), encoding="utf-8")


@pytest.fixture
def copy(tmp_path):
    """The checkout as a contributor has it."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("src", "tests", "docs", "examples", "benchmarks", "paper"):
        skipped = ("_build", "gallery", "golden", "images") if name in ("tests", "docs") else ()
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", *skipped))
    for name in ("pyproject.toml", "conftest.py", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff"):
        shutil.copy(ROOT / name, folder)
    return folder


def test_there_is_an_example_of_every_kind_of_addition():
    assert list(SECTIONS) == ["Add a statistic", "Add a consensus method", "Add a reader", "Add a claim"]
    # every block of code in them is a step or a list of commands
    for text in SECTIONS.values():
        assert text.count("```") // 2 == len(steps_of(text)) + 1


@pytest.mark.slow
@pytest.mark.parametrize("title", SECTIONS)
def test_the_example_works(title, copy):
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "CI": "true"}
    changed = list[str]()
    for step in steps_of(SECTIONS[title]):
        apply(step, copy)
        changed += [step.path] if step.path.endswith((".py", ".pyi")) else []
    for tidy in (["check", "--fix"], ["format", "--check"], ["check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *tidy, *changed], cwd=copy, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
    for command in commands_of(SECTIONS[title]):
        words = re.findall(r'"[^"]*"|\S+', command)
        program, *rest = [word.strip('"') for word in words]
        assert program == "python"
        call = [sys.executable, *rest, *(["-p", "no:cacheprovider"] if "pytest" in rest else [])]
        done = subprocess.run(call, cwd=copy, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}{done.stderr[-2000:]}"
        assert "no tests ran" not in done.stdout


@pytest.mark.slow
def test_without_its_steps_the_commands_of_an_example_fail(copy):
    """So that the test above cannot pass by itself: the statistic is not there before."""
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    (registry,) = (step for step in steps_of(SECTIONS["Add a statistic"]) if step.path.endswith("_registry.py"))
    apply(registry, copy)
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", registry.path]
    assert (
        subprocess.run(call, cwd=copy, env=environment, capture_output=True, check=False).returncode == 2
    )  # the name is not there when tests are collected
