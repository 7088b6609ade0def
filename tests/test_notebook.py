"""Results show themselves in notebooks, and the notebook of the examples runs."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import manytruths as mt

ROOT = Path(__file__).parents[1]
VOID = {"br", "hr", "img", "input", "line", "path", "circle", "rect", "polyline", "polygon"}


class Balance(HTMLParser):
    """Elements that are open, and all scripts."""

    def __init__(self):
        super().__init__()
        self.open, self.scripts = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)
        self.scripts += [tag] if tag == "script" else []
        self.scripts += [name for name, _ in attributes if name.startswith("on")]

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


def shown(result):
    """The HTML of a result, which has to be whole and without scripts."""
    page, parser = result._repr_html_(), Balance()
    parser.feed(page)
    assert parser.open == []
    assert parser.scripts == []
    return page


@pytest.fixture(scope="module")
def hostile():
    """A study whose names are HTML."""
    rng = np.random.default_rng(0)
    base = np.zeros((24, 24), bool)
    base[6:18, 6:18] = True
    raters = ("<script>alert(1)</script>", "b & 'c'", '"><img src=x onerror=alert(2)>')
    cases = {f"<b>case {i}": {rater: base ^ (rng.random(base.shape) < 0.05) for rater in raters} for i in range(4)}
    return mt.Study.from_arrays(cases)


def test_a_result_shows_what_is_said_its_charts_and_its_tables(hostile):
    result = mt.agree(hostile, pictures=False)
    page = shown(result)
    assert page.count("<svg") == len(result.charts) > 0
    assert page.count("<details open>") == 1
    assert page.count("<summary>table ") == len(result.tables)
    for claim in result.claims.made:
        assert claim.text.split("<")[0].split("'")[0] in page
    assert "<script>" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize("make", [mt.check, mt.fuse, mt.reliability])
def test_so_do_others(hostile, make):
    assert "<script>" not in shown(make(hostile))


def test_the_notebook_of_the_examples_runs(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import nbformat
    from notebook_page import NOTEBOOK, execute

    source = nbformat.read(NOTEBOOK, as_version=4)
    assert [cell.outputs for cell in source.cells if cell.cell_type == "code" and cell.outputs] == []
    done = execute()
    outputs = [output for cell in done.cells if cell.cell_type == "code" for output in cell.outputs]
    assert {output.output_type for output in outputs} == {"execute_result"}
    assert len(outputs) == sum(cell.cell_type == "code" for cell in done.cells)
    kinds = [set(output.data) for output in outputs]
    assert sum("text/html" in kind for kind in kinds) >= 3
    assert any("image/png" in kind for kind in kinds)
    assert "<svg" in outputs[1].data["text/html"]
