"""The commands on the pages about papers run, and write what the pages name and show."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from data_folder import HOME, data

ROOT = Path(__file__).parents[1]
PAPERS = ROOT / "docs" / "papers"


@pytest.fixture(scope="module")
def paper_pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("paper_pages", ROOT / "docs" / "paper_pages.py")
    assert spec
    assert spec.loader
    module = sys.modules["paper_pages"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("page", ["yang", "gordon", "lampert", "cabitza", "zeng"])
def test_a_page_runs(page: str, paper_pages: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page in paper_pages.NEEDS:
        data(paper_pages.NEEDS[page])
        monkeypatch.setattr(paper_pages, "DATA", HOME)
    if page == "zeng":
        pytest.importorskip("torch", reason="training needs PyTorch")
    paper_pages.run_page(page, tmp_path)
    for figure in paper_pages.FIGURES[page]:
        assert paper_pages.file_of(page, figure, tmp_path).stat().st_size > 1000
    text = (PAPERS / f"{page}.md").read_text(encoding="utf-8")
    written = {path.name for path in (tmp_path).rglob("*") if "study" not in path.parts}
    table = text[text.index("| paper | file |") : text.index("## Its figures")]
    named = [name for name in re.findall(r"`([^`]+)`", table) if name.endswith(("/", ".csv", ".svg", ".json"))]
    assert len(named) >= 5
    for name in named:
        last = name.rstrip("/").rpartition("/")[2]
        assert any(Path(path).match(last) for path in written), f"{page}: no {name}"


def test_a_page_prints_what_it_says(paper_pages: ModuleType, tmp_path: Path) -> None:
    """The kappa that Yang 2023 does not print."""
    (_, code), (_, printed) = [block for block in paper_pages.blocks("yang") if block[0] != "console"]
    page = [("python", code), ("text", printed)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper_pages, "blocks", lambda _: iter(page))
        paper_pages.run_page("yang", tmp_path)
        patch.setattr(paper_pages, "blocks", lambda _: iter([("python", code), ("text", "0.2038\n")]))
        with pytest.raises(AssertionError, match=r"0\.2037"):
            paper_pages.run_page("yang", tmp_path)


def test_figures_of_the_pages_are_there(paper_pages: ModuleType) -> None:
    shown = {
        name
        for path in PAPERS.glob("*.md")
        for name in re.findall(r"/images/papers/(\S+)", path.read_text(encoding="utf-8"))
    }
    assert shown == {f"{page}-{figure}" for page, figures in paper_pages.FIGURES.items() for figure in figures}
    assert shown == {path.name for path in paper_pages.IMAGES.iterdir()}


def test_every_page_is_linked() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = (PAPERS / "index.md").read_text(encoding="utf-8")
    for path in PAPERS.glob("*.md"):
        assert f"papers/{path.stem}" in index
        assert path.stem == "index" or listed.count(path.stem) >= 2
