"""The page about export prints what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from study_folders import run

PAGE = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(console|python)\n(.*?)```\n(?:(?!```).)*```text\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.slow
def test_commands_and_code_print_what_the_page_says(capsys, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("monai.data", exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "demo", "--quiet", "--jobs", 1).status == 0
    assert [kind for kind, _, _ in BLOCKS] == ["console", "console", "python", "console", "python"]
    for kind, code, printed in BLOCKS:
        if kind == "console":
            done = run(capsys, *shlex.split(code.removeprefix("$ manytruths ")), "--jobs", 1)
            assert (done.status, done.err, done.out) == (0, "", printed)
        else:
            exec(compile(code, "export.md", "exec"), {})
            assert capsys.readouterr().out == printed
