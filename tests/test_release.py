"""What is released agrees with itself: versions, requirements, targets, licences, references of the paper."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import manytruths

ROOT = Path(__file__).parents[1]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere():
    version = manytruths.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert re.search(r"^version: (\S+)$", text("CITATION.cff"), re.MULTILINE)[1] == version
    assert re.search(r'^  version: "(\S+)"$', text("recipe/recipe.yaml"), re.MULTILINE)[1] == version
    assert re.search(r"^## (\d\S*)", text("CHANGELOG.md"), re.MULTILINE)[1] == version
    assert f"`manytruths` {version} needs" in text("THIRD_PARTY.md")
    assert f"manytruths-{version}-py3-none-any.whl" in text("README.md")
    assert f"is supported: {version}." in text("SECURITY.md")


def test_the_recipe_needs_what_the_package_needs():
    project = tomllib.loads(text("pyproject.toml"))["project"]
    _, _, run = text("recipe/recipe.yaml").partition("  run:\n")
    listed = re.findall(r"^    - (\S+) (>=\S+)$", run.partition("\n\n")[0], re.MULTILINE)
    names = {"lazy_loader": "lazy-loader", "msgspec": "msgspec-python"}
    asked = [re.fullmatch(r"([\w-]+)(>=\S+)", need).groups() for need in project["dependencies"]]
    wanted = [("python", project["requires-python"]), *((names.get(name, name), bound) for name, bound in asked)]
    assert listed == wanted


def test_every_need_has_a_lowest_version():
    project = tomllib.loads(text("pyproject.toml"))["project"]
    every = [*project["dependencies"], *(need for extra in project["optional-dependencies"].values() for need in extra)]
    assert [need for need in every if ">=" not in need] == []


def test_the_licences_of_all_needs_are_listed():
    listed = re.findall(r"^\| (\S+) \| (?:the package|`)", text("THIRD_PARTY.md"), re.MULTILINE)
    project = tomllib.loads(text("pyproject.toml"))["project"]
    every = [*project["dependencies"], *(need for extra in project["optional-dependencies"].values() for need in extra)]
    plain = {re.split(r"[<>=]", need)[0].replace("_", "-").lower() for need in every}
    assert {name.replace("_", "-").lower() for name in listed} == plain
    assert "not stated" not in text("THIRD_PARTY.md")


def test_the_workflow_calls_targets_that_are_there():
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    called = set(re.findall(r"- run: make (?:\S+=\S+ )*([a-z-]+)", text(".github/workflows/tests.yml")))
    assert called >= {"demo", "test", "lint", "pythons", "lowest", "docs"}
    assert called <= targets
    assert set(re.findall(r"^make ([a-z-]+)$", text(".ci/run"), re.MULTILINE)) <= targets


def test_the_paper_cites_what_is_in_its_list():
    cited = set(re.findall(r"@([A-Z][\w-]+\d{4})", text("paper/paper.md")))
    listed = set(re.findall(r"^@\w+\{([\w-]+),", text("paper/paper.bib"), re.MULTILINE))
    assert cited == listed
    assert text("paper/paper.bib").count("doi = ") == len(listed)
