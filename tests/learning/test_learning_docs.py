"""The page on learning says what is true: code runs, commands can be called, numbers are those of the runs."""

import csv
import re
import runpy
import shlex
from pathlib import Path

import pytest

from manytruths.cli import app, status

ROOT = Path(__file__).parents[2]
HOME = ROOT / "docs" / "learning"
PAGES = {name: (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("learning.md", "command-line.md")}
PAGE = PAGES["learning.md"]
BLOCKS = re.findall(r"```python\n(.*?)```\n(?:(?!```).)*```text\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"^\$ manytruths ((?:train|predict|phantom) .*)$", PAGE, re.MULTILINE)


@pytest.mark.slow
def test_the_python_of_the_page_runs_and_prints_what_it_says(tmp_path, monkeypatch, capsys):
    pytest.importorskip("monai.data", exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    assert status(shlex.split("phantom echo --to echo --subjects 4 --frames 2 --size 64 --jobs 1 --quiet")) == 0
    assert len(BLOCKS) == 4
    for code, printed in BLOCKS:
        exec(compile(code, "learning.md", "exec"), {})
        assert capsys.readouterr().out == printed


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_page_can_be_called(command):
    app.parse_args(shlex.split(command), exit_on_error=False, print_error=False)


def test_there_are_commands():
    assert {command.split()[0] for command in COMMANDS} == {"train", "predict", "phantom"}


@pytest.fixture(scope="module")
def pages():
    return runpy.run_path(str(ROOT / "docs" / "learning_pages.py"))


@pytest.mark.parametrize("study", ["echo", "chase"])
def test_tables_of_the_page_are_those_of_the_runs(pages, study):
    made = pages["page_tables"](study)
    assert set(re.findall(rf"learning/{study}/page-([\w-]+)\.csv", PAGE)) == set(made)
    for name, lines in made.items():
        with (HOME / study / f"page-{name}.csv").open(encoding="utf-8", newline="") as file:
            assert list(csv.reader(file)) == lines


@pytest.mark.parametrize("study", ["echo", "chase"])
def test_charts_of_the_page_are_those_of_the_runs(pages, study):
    drawn = (ROOT / "docs" / "images" / f"extended-dice-{study}.svg").read_text(encoding="utf-8")
    told = re.findall(r"<title>[^<]*, (?:U-Net|DeepLabv3\+): ([\d.]+)</title>", drawn)
    shown = [row["all raters: extended_dice"].split()[0] for row in pages["rows_of"](study, "table3")]
    assert sorted(told) == sorted(shown)


def apart(study: str, network: str, statistic: str) -> list[dict[str, str]]:
    """The extended Dice loss minus each other strategy."""
    with (HOME / study / "differences.csv").open(encoding="utf-8", newline="") as file:
        return [r for r in csv.DictReader(file) if (r["network"], r["statistic"]) == (network, statistic)]


def uncertain(rows: list[dict[str, str]]) -> list[str]:
    return [r["minus"] for r in rows if float(r["low"]) <= 0 <= float(r["high"])]


def test_what_the_page_says_of_extended_dice():
    assert uncertain(apart("echo", "unet", "extended_dice")) == ["average", "confusion", "individuals"]
    assert uncertain(apart("echo", "deeplab", "extended_dice")) == []
    assert uncertain(apart("chase", "unet", "extended_dice")) == ["outer", "majority", "individuals"]
    for network in ("unet", "deeplab"):
        for study in ("echo", "chase"):
            assert all(float(row["value"]) > 0 for row in apart(study, network, "extended_dice"))


def test_what_the_page_says_of_dice():
    ahead, sure = {}, {}
    for network in ("unet", "deeplab"):
        rows = apart("echo", network, "dice")
        ahead[network] = sum(float(r["value"]) > 0 for r in rows), len(rows)
        sure[network] = sum(float(r["low"]) > 0 for r in rows)
    assert ahead == {"unet": (82, 84), "deeplab": (82, 84)}
    assert sure == {"unet": 62, "deeplab": 80}
    worst = min((float(r["value"]), r["minus"], r["against"]) for r in apart("echo", "unet", "dice"))
    assert (round(worst[0], 3), *worst[1:]) == (-0.018, "outer", "c5")
    assert uncertain(apart("chase", "deeplab", "dice")) == []


@pytest.mark.parametrize(("network", "noise"), [("unet", 0.004), ("deeplab", 0.014)])
def test_strategies_that_are_the_same_for_two_raters_differ_by_noise(network, noise):
    by = {row["minus"]: float(row["value"]) for row in apart("chase", network, "extended_dice")}
    largest = max(abs(by["outer"] - by["majority"]), abs(by["inner"] - by["staple"]))
    assert round(largest, 3) == noise
    assert f"{noise:.3f}" in PAGE
