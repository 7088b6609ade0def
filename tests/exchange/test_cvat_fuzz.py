"""A thousand damaged exports and more: each is read and drawn, or refused in one line."""

from __future__ import annotations

import copy
import random
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from manytruths import Grid, ManytruthsError
from manytruths.exchange.cvat import read_cvat, write_cvat
from manytruths.exchange.outlines import Bitmap, Polygon
from manytruths.exchange.readings import ImportOptions, Mark, Reading
from mutations import HOSTILE, mutated

MORE = """<box label="b" occluded="1" source="auto"
xtl="1.2" ytl="2" xbr="9" ybr="8.8" rotation="33.5" z_order="2"></box>
<ellipse label="a" occluded="0" source="manual" cx="9" cy="8" rx="4.5" ry="3" rotation="12" z_order="1" group_id="3">
<attribute name="rank">1</attribute></ellipse><polyline label="a" points="1,1;9,9;3,15" z_order="0"></polyline>
<points label="a" points="1,1" z_order="0"></points><tag label="b"></tag></image></annotations>"""


def honest(folder: Path) -> bytes:
    """One of everything."""
    ragged = np.random.default_rng(1).random((7, 8)) < 0.5
    marks = (
        Mark("a", Polygon.of([[(1, 1), (17.5, 3), (9, 14.25)]]), 1, 2, {"sure": "no"}),
        Mark("b", Bitmap(3, 4, ragged), 2, 3, {"occluded": "1"}),
    )
    reads = [Reading(f"p{k}.png", "anna", Grid((16, 20)), marks, started="2024-01-01 10:00") for k in range(2)]
    write_cvat(folder / "honest.xml", reads)
    whole = (folder / "honest.xml").read_text("utf-8")
    return whole.replace("  </image>\n</annotations>", MORE).encode()


def survives(path: Path, choices: ImportOptions) -> bool:
    """Whether it could be used."""
    said = ""
    try:
        for read in read_cvat(path, choices):
            if np.prod(read.grid.shape) <= 1 << 22:  # larger ones are honest, and slow a thousand times
                read.structures()
    except ManytruthsError as error:
        said = str(error)
    assert not said or (said.startswith(str(path)) and "\n" not in said), said
    return not said


def grafted(root: ElementTree.Element, seed: int) -> ElementTree.Element:
    """The tree with faults: values, names and branches."""
    chance, tree = random.Random(seed), copy.deepcopy(root)
    for _ in range(chance.randint(1, 3)):
        every = list(tree.iter())
        one, other = chance.choice(every), chance.choice(every)
        fault = chance.randrange(5)
        if fault == 0 and one.attrib:
            one.attrib[chance.choice(list(one.attrib))] = chance.choice(HOSTILE)
        elif fault == 1 and one.attrib:
            del one.attrib[chance.choice(list(one.attrib))]
        elif fault == 2:
            one.tag = other.tag
        elif fault == 3:
            one.append(copy.deepcopy(other))
        elif fault == 4:
            one.text = chance.choice(HOSTILE)
    return tree


@pytest.mark.slow
@pytest.mark.parametrize(
    "choices", [ImportOptions(), ImportOptions(rule="inclusive", widen=2.0), ImportOptions(rule="coco")]
)
def test_damaged_bytes(tmp_path, choices):
    data, path = honest(tmp_path), tmp_path / "a.xml"
    path.write_bytes(data)
    assert survives(path, choices)
    used = 0
    for seed in range(1000):
        path.write_bytes(mutated(data, seed))
        used += survives(path, choices)
    assert 50 < used < 950


@pytest.mark.slow
def test_damaged_trees(tmp_path):
    root, path = ElementTree.fromstring(honest(tmp_path)), tmp_path / "a.xml"
    used = 0
    for seed in range(1000):
        path.write_bytes(ElementTree.tostring(grafted(root, seed), "utf-8"))
        used += survives(path, ImportOptions(widen=1.5))
    assert 50 < used < 950


@pytest.mark.slow
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_damaged_archives(tmp_path, method):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("annotations.xml", honest(tmp_path))
        archive.writestr("images/p0.png", b"picture")
    data = path.read_bytes()
    for seed in range(600):
        path.write_bytes(mutated(data, seed))
        survives(path, ImportOptions())


def test_the_same_seed_damages_the_same():
    data = bytes(range(256)) * 3 + b" 12.5 word 7 "
    assert [mutated(data, seed) for seed in range(200)] == [mutated(data, seed) for seed in range(200)]
    assert len({mutated(data, seed) for seed in range(200)}) > 150
