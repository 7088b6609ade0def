"""The README says what is true, and the documentation forgets no public name."""

import re
from pathlib import Path

import pytest

import manytruths
from manytruths.cli import status

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_python_of_the_readme_runs_and_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert status(["demo", "--quiet", "--jobs", "1"]) == 0
    capsys.readouterr()
    blocks = re.findall(r"```python\n(.*?)```\n(?:(?!```).)*```text\n(.*?)```", README, re.DOTALL)
    assert blocks
    for code, printed in blocks:
        exec(compile(code, "README.md", "exec"), {})
        assert capsys.readouterr().out == printed


def test_files_that_the_readme_names_are_there():
    local = [path for path in re.findall(r'(?:\]\(|src=")([^)"]+)', README) if "://" not in path]
    assert local
    assert [path for path in local if not (ROOT / path).is_file()] == []


def test_pictures_are_small():
    assert max(path.stat().st_size for path in (ROOT / "docs" / "images").rglob("*")) < 300_000


def test_every_public_name_is_in_the_reference():
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "api").glob("*.rst"))
    documented = set(re.findall(r"^\.\. auto(?:function|class|exception|data):: (\w+)", pages, re.MULTILINE))
    assert set(manytruths.__all__) - documented == set()


def test_every_public_function_is_in_the_overview_of_its_page():
    for path in (ROOT / "docs" / "api").glob("*.rst"):
        page = path.read_text(encoding="utf-8")
        documented = set(re.findall(r"^\.\. autofunction:: (\w+)", page, re.MULTILINE)) & set(manytruths.__all__)
        overview = re.findall(r"^\.\. autosummary::\n(?:   :.*\n)*\n((?:   \S+\n)+)", page, re.MULTILINE)
        if overview:
            assert documented - set("".join(overview).split()) == set(), path.name
