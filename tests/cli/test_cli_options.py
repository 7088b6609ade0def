"""Options of all commands: panels, texts, one meaning for each name, the same names in Python and in docs."""

from __future__ import annotations

import inspect
import re
import shutil
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import manytruths as mt
from study_folders import run, table, write_study

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
from option_tables import _commands, app, options_page  # noqa: E402

COMMANDS = dict(_commands(app))
PANELS = ["Arguments", "Options", "Study", "Method", "Second look, intensity curves, grades", "Output", "Advanced"]
FUNCTIONS = {
    "check": mt.check, "agree": mt.agree, "fuse": mt.fuse, "evaluate": mt.evaluate, "rank": mt.rank,
    "reliability": mt.reliability, "mrmc": mt.compare_modalities, "plan": mt.plan, "report": mt.report,
    "import": mt.import_study, "tally": mt.share_tallies,
    "export nnunet": mt.export, "export monai": mt.export, "export coco": mt.export, "export dicomseg": mt.export,
    "adjudicate": mt.adjudicate, "assign": mt.assign, "next": mt.next_reads, "progress": mt.progress,
    "audit": mt.audit,
}  # fmt: skip
FIRST = {"study", "scores", "data", "tool", "paths", "cases"}
"""Parameters that commands take without a name."""
FOREIGN = {"--nthreads", "--verify", "--no-deps", "--json", "--help", "--version", "--debug"}
"""Options of every command, and of other programs that the documentation names."""


@cache
def arguments(command):
    return [a for a in COMMANDS[command].assemble_argument_collection(parse_docstring=True) if a.names != ("*",)]


def options(command):
    return [a for a in arguments(command) if a.names[0].startswith("--")]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_panels_with_at_most_fifteen_options_in_the_first(command, capsys):
    by_panel = defaultdict(list)
    for argument in arguments(command):
        by_panel[argument.parameter.group[0].name].append(argument.names[0])
    assert set(by_panel) <= set(PANELS)
    assert len(by_panel["Options"]) <= 15
    app(f"{command} --help", result_action="return_value", exit_on_error=False)
    shown = re.findall(r"╭─ (.*?) ─+╮", capsys.readouterr().out)
    assert shown == [panel for panel in PANELS if by_panel[panel]]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_says_what_it_is(command):
    for argument in arguments(command):
        text = " ".join((argument.parameter.help or "").split())
        assert re.fullmatch(r"\S.*\.", text), (argument.names, text)
        assert not re.search(r"\b(he|his|verb|verbs|truths|grey predictions)\b", text), text


def kind(argument):
    """What is typed: nothing, a number, one of some words, or text."""
    hint = str(argument.hint)
    return "flag" if "bool" in hint else "integer" if "int" in hint else "number" if "float" in hint else "text"


def test_an_option_has_one_kind_of_value():
    kinds = defaultdict(lambda: defaultdict(list))
    for command in COMMANDS:
        for argument in options(command):
            kinds[argument.names[0]][kind(argument)].append(command)
    assert {name: dict(found) for name, found in kinds.items() if len(found) > 1} == {}


MEANINGS = {
    "--cases": "CSV file with", "--raters": "CSV file with a column rater", "--images": "Template of the images",
    "--labels": "label", "--overlap": "Overlapping structures of one rater", "--out": "Folder for the",
    "--pictures": "charts", "--seed": "Seed of", "--resamples": "umber of", "--consensus": "Consensus method",
    "--distances": "Measure Hausdorff", "--missing": "exclude|left out", "--columns": "that have other names",
    "--title": "Title of the", "--reference-column": "Column of the reference labels", "--filter": "Use only rows",
    "--cut": "atings", "--n-cases": "Number of cases", "--to": "[Ff]older", "--folds": "Number of .*folds",
    "--size": "of an image in pixels", "--foreground": "all labels other than 0 as one", "--region": "ixels that count",
    "--exclude-rater": "ater to leave out", "--roi": "emplate of masks of the region of interest",
    "--void": "value that means 'not rated'", "--names": "the names of",
    "--lesion-min-size": "ize of the smallest lesion in pixels",
}  # fmt: skip
"""Options that are described in the words of each command: what all descriptions share."""


def test_an_option_has_one_meaning():
    texts = defaultdict(set)
    for command in COMMANDS:
        for argument in options(command):
            texts[argument.names[0]].add(" ".join(argument.parameter.help.split()))
    several = {name: found for name, found in texts.items() if len(found) > 1}
    assert set(several) == set(MEANINGS)
    for name, found in several.items():
        assert [text for text in found if not re.search(MEANINGS[name], text)] == [], name


def test_only_what_is_random_has_a_seed_and_only_what_resamples_a_number_of_resamples():
    having = {
        option: {command for command in COMMANDS if option in {a.names[0] for a in options(command)}}
        for option in ("--seed", "--resamples")
    }
    assert having["--resamples"] == {"rank", "plan", "report"}
    assert {"agree", "fuse", "evaluate", "rank", "plan", "report"} <= having["--seed"]
    assert not having["--seed"] & {"check", "reliability"}


@pytest.mark.parametrize("command", FUNCTIONS)
def test_keywords_in_python_are_the_options(command):
    known = {*inspect.signature(FUNCTIONS[command]).parameters, *inspect.signature(mt.Study.open).parameters}
    if command == "progress":
        known |= {*inspect.signature(mt.progress_page).parameters}
    asked = {argument.names[0].removeprefix("--").replace("-", "_") for argument in options(command)}
    # --engine names what executor= is, and --for what rater= is
    assert asked - known <= {"quiet", "open", "engine", "for"}
    if command not in ("export nnunet", "export monai", "export coco", "export dicomseg"):
        own = {*inspect.signature(FUNCTIONS[command]).parameters} - FIRST
        assert own - asked <= {"progress", "opening_errors", "settings"}


@pytest.mark.parametrize(
    "page", [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", *(ROOT / "examples").glob("*.py")], ids=lambda p: p.name
)
def test_the_documentation_names_options_that_there_are(page):
    known = {name for command in COMMANDS for argument in arguments(command) for name in argument.names} | FOREIGN
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page.read_text(encoding="utf-8"))) <= known


def test_the_page_of_options_has_all_of_them():
    page = options_page()
    for command in COMMANDS:
        assert re.search(rf"^## .*\b{command}\b", page, re.M)
        for argument in options(command):
            assert f"`{argument.names[0]}`" in page


@pytest.mark.parametrize("command", ["agree", "fuse"])
def test_a_rater_that_is_left_out_is_as_if_not_there(command, tmp_path, capsys):
    template = write_study(tmp_path)
    every = ("--no-pictures", "--jobs", 1)
    assert run(capsys, command, template, "--exclude-rater", "B", "--out", tmp_path / "one", *every).status == 0
    shutil.rmtree(tmp_path / "masks/B")
    assert run(capsys, command, template, "--out", tmp_path / "other", *every).status == 0
    name = {"agree": "agree/pairs.csv", "fuse": "fuse/performance.csv"}[command]
    assert table(tmp_path / "one" / name) == table(tmp_path / "other" / name)


def test_a_rater_that_is_not_there_cannot_be_left_out(tmp_path, capsys):
    done = run(capsys, "agree", write_study(tmp_path), "--exclude-rater", "nobody", "--out", tmp_path / "out")
    assert done.status == 1
    assert "nobody" in done.err
