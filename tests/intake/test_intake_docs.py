"""What the README and the page on importing show, done."""

import re
import shlex
from pathlib import Path

import pytest

import manytruths as mt
from exchange_reads import read, square
from manytruths import LabelError
from manytruths.cli import status
from manytruths.exchange import combine_readings, write_cvat, write_labelstudio

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "intake.md").read_text(encoding="utf-8")


def exports(folder, ending):
    for k, rater in enumerate(("anna", "ben", "clara")):
        reads = [read(f"p0{n}.png", rater, [square(3 + k, 4 + n, 9)], (40, 40)) for n in range(3)]
        write_cvat(folder / f"{rater}{ending}", reads)


@pytest.mark.parametrize("page", ["README.md", pytest.param("docs/intake.md", marks=pytest.mark.slow)])
def test_the_two_lines(page, tmp_path, monkeypatch, capsys):
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = re.findall(r"^\$ manytruths (import cvat .*clara.*|report study/.*)$", text, re.MULTILINE)[:2]
    assert len(lines) == 2
    monkeypatch.chdir(tmp_path)
    exports(tmp_path, ".zip")
    for line in lines:
        assert status(shlex.split(line)) == 0, capsys.readouterr().err
    assert (tmp_path / "manytruths-out" / "report.html").stat().st_size > 100_000


def test_the_program_of_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exports(tmp_path, ".xml")
    code = next(block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "read_cvat" in block)
    known = {}
    exec(compile(code, "intake.md", "exec"), known)
    assert capsys.readouterr().out == "('anna', 'ben') ('p00', 'p01', 'p02') ('lesion',)\n"
    assert known["mask"].sum() == 81


def test_the_command_as_a_function(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exports(tmp_path, ".xml")
    code = next(block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "first-study" in block)
    exec(compile(code, "intake.md", "exec"), {})
    assert capsys.readouterr().out == "('anna', 'ben') Counter({'done': 6})\n"


def test_two_tools_in_one_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cvat").mkdir()
    exports(tmp_path / "cvat", ".xml")
    others = [read(f"3f2a91c{n}-p0{n}.png", str(1 + n % 2), [square(3, 4 + n, 9)], (40, 40)) for n in range(3)]
    write_labelstudio("project-3.json", others, kind="annotations")
    code = next(block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "read_labelstudio" in block)
    exec(compile(code, "intake.md", "exec"), {})
    study = mt.Study.open("study")
    assert study.rater_names == ("Dora", "Emil", "anna", "ben", "clara")
    assert [case.name for case in study] == ["p00", "p01", "p02"]


def test_the_message_of_the_page():
    told = next(line for line in PAGE.splitlines() if line.startswith("manytruths: structures"))
    reads = [read(marks=[square(1, 1, 3)]), read(rater="ben", marks=[square(1, 1, 3), square(5, 5, 3, "Lesoin")])]
    with pytest.raises(LabelError) as error:
        combine_readings(reads)
    assert f"manytruths: {error.value}" == told
