"""The house stays one to live in: layers, names, sizes, words, imports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import manytruths as mt

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "manytruths"
FILES = sorted(PACKAGE.rglob("*.py"))


def test_a_room_imports_only_from_rooms_below_it():
    run = subprocess.run(
        [Path(sys.executable).with_name("lint-imports")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout


def test_public_names_are_sorted_and_there():
    assert mt.__all__ == sorted(_listed_in_stub())
    for name in mt.__all__:
        assert getattr(mt, name) is not None
        assert name in dir(mt)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = mt.nothing_like_it


@pytest.mark.slow
def test_public_names_stay_what_they_are_whatever_was_imported():
    """A room of the name of a public function would take its place as soon as it is imported."""
    code = """
import importlib, pkgutil, types
import manytruths as mt
for module in pkgutil.walk_packages(mt.__path__, "manytruths."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
wrong = [n for n in mt.__all__ if isinstance(getattr(mt, n), types.ModuleType)]
wrong += [n for n in mt.__all__ if n[0].islower() and not callable(getattr(mt, n))]
wrong += [n for n in ("consensus", "tally", "staple") if not isinstance(getattr(mt, n), types.FunctionType)]
masks = {"A": [[1, 1, 0]], "B": [[1, 0, 0]]}
assert mt.consensus(masks, "vote:all").hard.tolist() == [False, False, True]
assert mt.consensus(mt.Study.from_arrays({"p1": masks}), "vote:all")["p1"].values.tolist() == [[1, 0, 0]]
print(wrong)
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def _listed_in_stub() -> list[str]:
    """``__all__`` of the stub, from which the names are loaded."""
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text())
    assigned = next(node.value for node in tree.body if isinstance(node, ast.Assign))
    return list(ast.literal_eval(assigned))


def test_public_functions_are_documented():
    for name in mt.__all__:
        assert (getattr(mt, name).__doc__ or "").strip() or name == "VOID", name


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_speak_of_raters(path):
    text = path.read_text()
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    names |= {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert not [n for n in names if re.search(r"annotator|observer|worker", n, re.IGNORECASE)]


def test_importing_is_light():
    code = "import sys, manytruths; print([m for m in ('numpy', 'scipy', 'PIL', 'rich') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_the_computing_rooms_do_not_import_scipy_or_pillow_at_once():
    rooms = "agreement, manytruths.raters, manytruths.fusion, manytruths.study, manytruths.core.counting"
    code = f"import sys, manytruths.{rooms}; print([m for m in ('scipy', 'PIL') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


@pytest.mark.slow
def test_what_a_user_types_first(tmp_path):
    """The first lines of the documentation, on a study written by the demo's own parts."""
    from manytruths.demo import demo

    demo(tmp_path, cases=12, size=64)
    study = mt.Study.open(
        str(tmp_path / "study/masks/{rater}/{session}/{case}.png"), images=str(tmp_path / "study/images/{case}.png")
    )
    tallies = study.tally()
    whole = mt.pool(tallies)
    found = mt.confidence_interval(mt.fleiss_kappa, tallies, seed=0)
    assert 0 < found.low < found.value < found.high < 1
    truth = mt.staple(whole)
    painted = study["p01"].paint(truth.probability)
    assert painted.shape == study["p01"].read().grid.shape
    assert 0 <= painted.min() <= painted.max() <= 1
