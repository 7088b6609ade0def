"""Many small cases at once, against each on its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import manytruths as mt
from manytruths.core import many_cases


@st.composite
def studies(draw: st.DrawFn) -> dict[str, object]:
    """Cases of various sizes, numbers of raters, values and kinds, most of them plain binary masks."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cases: dict[str, object] = {}
    for number in range(draw(st.integers(1, 8))):
        raters = draw(st.sampled_from([1, 2, 3, 3, 3, 7]))
        shape = draw(st.sampled_from([(1,), (7,), (8,), (3, 5), (2, 3, 4), (40, 9)]))
        top, share = draw(st.sampled_from([1, 1, 1, 2, 255])), draw(st.sampled_from([0.0, 0.3, 0.5, 1.0]))
        masks = [np.where(rng.random(shape) < share, top, 0).astype(np.uint8) for _ in range(raters)]
        kind = draw(st.sampled_from(["list", "list", "dict", "stack", "bool", "wide", "fortran"]))
        if kind == "bool":
            masks = [mask.astype(bool) for mask in masks]
        if kind == "wide":
            masks = [mask.astype(np.int32) for mask in masks]
        if kind == "fortran":
            masks = [np.asfortranarray(mask) for mask in masks]
        named = dict(zip("ABCDEFG", masks, strict=False))
        cases[f"p{number}"] = {"dict": named, "stack": np.stack(masks)}.get(kind, masks)
    return cases


@given(studies())
def test_same_tables_and_maps_as_one_by_one(cases: dict[str, object]) -> None:
    together = mt.tally_each(cases)  # type: ignore[arg-type]
    assert list(together) == list(cases)
    for name, masks in cases.items():
        alone = mt.tally(masks)  # type: ignore[arg-type]
        assert together[name] == alone
        assert together[name].patterns.dtype == alone.patterns.dtype
        assert together[name].counts.dtype == alone.counts.dtype
    values = {name: mt.vote(table).probability for name, table in together.items()}
    maps = mt.paint_each(values, cases)  # type: ignore[arg-type]
    for name, masks in cases.items():
        wanted = mt.paint(values[name], masks)  # type: ignore[arg-type]
        assert (maps[name] == wanted).all()
        assert maps[name].dtype == wanted.dtype
        assert maps[name].shape == wanted.shape


def test_options_are_those_of_one_case() -> None:
    cases = {"p1": [[1, 2, 9], [0, 2, 9]], "p2": [[1, 1, 0], [9, 0, 0]]}
    together = mt.tally_each(cases, void=9, labels=[0, 1, 2])
    assert all(together[name] == mt.tally(masks, void=9, labels=[0, 1, 2]) for name, masks in cases.items())


@pytest.mark.parametrize("batch", [1, 10, 1000])
def test_batches_do_not_matter(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    cases = {str(i): list((rng.random((3, 5, i + 1)) < 0.5).astype(np.uint8)) for i in range(20)}
    monkeypatch.setattr(many_cases, "BATCH", batch)
    together = mt.tally_each(cases)
    assert all(together[name] == mt.tally(masks) for name, masks in cases.items())


def test_values_of_another_table() -> None:
    """A pooled table does for its cases; a pattern that it lacks is refused, as by ``paint``."""
    cases = {"p1": list(np.array([[1, 1, 0], [1, 0, 0]], np.uint8)), "p2": list(np.array([[0, 1], [1, 1]], np.uint8))}
    tables = mt.tally_each(cases)
    shared = mt.vote(mt.pool(tables)).hard
    maps = mt.paint_each(dict.fromkeys(cases, shared), cases)
    assert all((maps[name] == mt.paint(shared, masks)).all() for name, masks in cases.items())
    other = mt.vote(tables["p1"]).hard
    with pytest.raises(mt.InputError, match="a pattern that the tally does not have"):
        mt.paint_each(dict.fromkeys(cases, other), cases)


def test_a_case_without_values_is_refused() -> None:
    with pytest.raises(mt.CallError, match="no case 'p2'"):
        mt.paint_each({}, {"p2": [[1, 0]]})
