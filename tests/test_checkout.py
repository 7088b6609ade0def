"""Tests run in folders of their own, and a run that changes the checkout fails."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_every_test_has_an_empty_folder():
    assert list(Path.cwd().iterdir()) == []
    assert ROOT not in Path.cwd().parents


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("pass", ""),
        ("(ROOT / 'new.txt').touch()", "left behind in the checkout: new.txt"),
        ("(ROOT / 'kept/file.txt').unlink()", "removed in the checkout: kept/file.txt"),
    ],
)
@pytest.mark.parametrize(
    "processes", [(), pytest.param(("-n", "1"), marks=pytest.mark.slow)], ids=["alone", "parallel"]
)
def test_a_run_that_changes_the_checkout_fails(tmp_path, body, said, processes):
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file.txt").touch()
    (tmp_path / "test_one.py").write_text(f"from conftest import ROOT\n\ndef test_it():\n    {body}\n")
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, *processes, tmp_path]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == (1 if said else 0), done.stdout
    assert said in done.stdout
