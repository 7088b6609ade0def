"""Charts of rankings: what stands in them, and that it is all on the paper."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from manytruths.charts.rankings import rank_blobs, rank_whiskers, significance_map

SVG = "{http://www.w3.org/2000/svg}"


def words(svg: str) -> list[str]:
    """What can be read without a pointer."""
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def pair(p: float) -> str:
    table = np.array([[1.0, p], [1.0, 1.0]])
    return words(significance_map(table, ["a", "b"], "", alpha=0.05))[4]


@pytest.mark.parametrize(
    ("p", "told"),
    [
        (1.0, "1.00"), (0.996, "1.00"), (0.62, ".62"), (0.1, ".10"), (0.052, ".05"), (0.034, ".03"), (0.0096, ".01"),
        (0.0049, ".005"), (0.001, ".001"), (0.0004, "<.001"), (0.0, "<.001"),
    ],
)  # fmt: skip
def test_p_reads_as_p(p, told):
    assert pair(p) == told


def test_rounding_does_not_hide_what_is_significant():
    assert pair(0.047) == ".047"
    assert pair(0.05) == ".05"


def test_captions_are_whole_and_on_the_paper():
    rows = {"a": (1.0, 1.0, 2.0), "b": (2.0, 1.0, 2.0)}
    few = {name: (rank, float("nan"), float("nan")) for name, (rank, _, _) in rows.items()}
    bars = "bars at the right join algorithms that cannot be told apart"
    whiskers = "whiskers: simultaneous confidence sets"
    assert {bars, whiskers} <= set(words(rank_whiskers(rows, "", groups=[(0, 1)])))
    assert bars not in words(rank_whiskers(rows, ""))
    assert whiskers not in words(rank_whiskers(few, "", groups=[(0, 1)]))
    drawn = [
        rank_whiskers(rows, "", groups=[(0, 1)]), rank_whiskers(few, ""), significance_map(np.ones((1, 1)), ["a"], ""),
        rank_blobs(np.eye(2), ["a", "b"], "", ranks=[1, 2]),
    ]  # fmt: skip
    for svg in drawn:
        root = ElementTree.fromstring(svg)
        for element in root.iter(f"{SVG}text"):
            if not element.get("transform") and not element.get("text-anchor"):
                size = len(element.text or "") * float(element.get("font-size")) * 0.58
                assert float(element.get("x")) + size <= float(root.get("width"))
            assert float(element.get("y")) < float(root.get("height"))
