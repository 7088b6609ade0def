"""What the section on cases says of its small pictures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from small_findings import discs, findings

from manytruths.charts.colours import count_colours, hexadecimal
from manytruths.reporting.elements import Cases, ColourKey
from manytruths.reporting.findings import Findings, View
from manytruths.reporting.sections import cases


def key_of(found: Findings) -> ColourKey | None:
    shown = replace(found, views={case.name: View("data:image/webp;base64,") for case in found.study})
    [block] = cases.section(shown).blocks
    assert isinstance(block, Cases)
    return block.key


def test_the_key_has_the_colours_of_the_pictures():
    key = key_of(findings(discs(4)))
    assert key is not None
    assert key.words == "Colours: how many raters marked a pixel"
    assert key.colours == tuple(map(hexadecimal, count_colours(5)))
    assert (key.first, key.last) == ("1", "5")


def test_where_raters_are_absent_the_last_colour_is_all_of_the_case():
    masks = discs(4)
    del masks["p02"]["C"]
    key = key_of(findings(masks))
    assert key is not None
    assert (key.first, key.last, len(key.colours)) == ("1", "all who read the case", 5)


def test_of_several_labels_colours_are_of_those_who_differ():
    masks = {case: {r: m + (np.arange(24) > 11) * m for r, m in own.items()} for case, own in discs(4).items()}
    key = key_of(findings(masks))
    assert key is not None
    assert key.words == "Colours: how many raters gave a pixel another label than most did"


def test_many_raters_have_a_short_key():
    names = [f"r{k:02}" for k in range(30)]
    key = key_of(findings({f"p{i}": {n: np.eye(9, dtype=np.uint8) for n in names} for i in range(2)}))
    assert key is not None
    assert (len(key.colours), key.last) == (12, "30")


def test_without_pictures_there_is_no_key():
    [block] = cases.section(findings(discs(4))).blocks
    assert isinstance(block, Cases)
    assert block.key is None
