"""Reads of every kind to write and read again, and JSON files to damage."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from manytruths import Grid, InputError, ManytruthsError
from manytruths.exchange.outlines import Bitmap, Ellipse, Polygon, UnitedOutline, Whole
from manytruths.exchange.readings import Mark, Reading

SHAPE = (17, 23)
HOSTILE = (None, True, -1, 0, 0.5, 1e308, -1e308, 2**32, 2**70, "", "x", "é", "nan", [], {}, [[]], [None], {"a": {}})

places = st.one_of(st.integers(-3, 26), st.floats(-3, 26), st.integers(-30, 260).map(lambda k: k / 10))
rings = st.lists(st.tuples(places, places), min_size=3, max_size=7)
masks = st.integers(0, 2**32).map(lambda seed: np.random.default_rng(seed).random((6, 7)) < 0.5)
rules = st.sampled_from(["centre", "inclusive", "coco"])
outlines = st.one_of(
    st.builds(lambda ring: Polygon.of([ring]), rings),
    st.builds(lambda many, rule: Polygon.of(many, rule), st.lists(rings, min_size=1, max_size=3), rules),
    st.builds(Ellipse, *(st.floats(-3, 26),) * 2, *(st.floats(0.2, 20),) * 2, st.floats(-400, 400)),
    st.builds(Bitmap, st.integers(-3, 15), st.integers(-3, 20), masks),
    st.builds(lambda fill: Whole(np.full(SHAPE, fill)), st.booleans()),
    st.builds(
        lambda many: UnitedOutline(tuple(Polygon.of([ring]) for ring in many)), st.lists(rings, min_size=2, max_size=3)
    ),
)
labels = st.sampled_from(["lesion", "vessel wall", "größte Läsion", "病変", '<"&\\>'])
notes = st.dictionaries(st.sampled_from(["sure", "ünsicher"]), st.sampled_from(["yes", "ja, sehr", "病"]), max_size=2)
marks = st.builds(lambda a, b, c, d: Mark(a, b, 0, c, d), labels, outlines, st.none() | st.integers(1, 5), notes)


@st.composite
def panels(draw, statuses=("done", "empty", "unfinished")):
    """Some raters' reads of some images."""
    found = []
    for image in ("a/p01.png", "a/größe 02.png"):
        for rater in ("anna", "björn", "c@d.org"):
            status = draw(st.sampled_from([None, *statuses]))
            own = draw(st.lists(marks, min_size=1, max_size=3)) if status in ("done", "unfinished") else []
            if status:
                found.append(Reading(image, rater, Grid(SHAPE), tuple(own), status=status))
    return found


def come_back(reads, again, image=lambda name: name):
    """The same raters, statuses, labels, ranks and attributes, and no pixel that differs."""
    found = {(read.image, read.rater): read for read in again}
    assert len(found) == len(again)
    assert found.keys() == {(image(read.image), read.rater) for read in reads}
    for read in reads:
        other = found[image(read.image), read.rater]
        assert (read.grid.shape, read.status) == (other.grid.shape, other.status)
        assert [(m.label, m.rank, dict(m.attributes)) for m in read.marks] == [
            (m.label, m.rank, dict(m.attributes)) for m in other.marks
        ]
        mine, theirs = read.structures(), other.structures()
        assert mine.keys() == theirs.keys()
        assert all((mine[label] == theirs[label]).all() for label in mine)


def refused(reader, path, *said):
    """One line that starts with the file and says what is wrong."""
    with pytest.raises(InputError) as caught:
        reader(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path)), message
    assert len(message) < 1000
    for part in said:
        assert part in message, message


def survives(reader, path, choices):
    """Whether it could be read and drawn; anything but an error of ours goes on."""
    said = ""
    try:
        for read in reader(path, choices):
            if np.prod(read.grid.shape) <= 1 << 20:  # larger ones are honest, and slow a thousand times
                read.structures()
    except ManytruthsError as error:
        said = str(error)
    assert not said or (said.startswith(str(path)) and "\n" not in said), said
    return not said


LIMITED = """
import sys
from manytruths.core.errors import InputError
from manytruths.exchange import {reader} as reader
from manytruths.exchange.readings import Reading
try:
    reads = reader(sys.argv[1])
    first = reads[0]
    few = Reading(first.image, first.rater, first.grid, first.marks[:2])
    print(len(first.marks), sum(mask.sum() for mask in few.structures().values()))
except InputError as error:
    print(error)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def memory(reader, path):
    """What a process of its own says that reads a file and draws its first marks, and the megabytes that it took."""
    if not Path("/proc/self/status").exists():
        pytest.skip("nobody counts the memory here")
    code = LIMITED.format(reader=reader.__name__)
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    *said, taken = done.stdout.splitlines()
    return " ".join(said), int(taken) >> 10


def grafted(tree, seed):
    """The tree with faults: values, names and branches."""
    chance, tree = random.Random(seed), copy.deepcopy(tree)
    for _ in range(chance.randint(1, 3)):
        every = [node for node in _nodes(tree) if len(node)]
        one, other = chance.choice(every), chance.choice(every)
        key = chance.choice(list(one) if isinstance(one, dict) else range(len(one)))
        fault = chance.randrange(4)
        if fault == 0:
            del one[key]
        elif fault == 1:
            one[key] = copy.deepcopy(chance.choice(list(other.values()) if isinstance(other, dict) else other))
        elif fault == 2 and isinstance(one, list):
            one.insert(key, copy.deepcopy(one[key]))
        else:
            one[key] = copy.deepcopy(chance.choice(HOSTILE))
        if not tree:
            break
    return json.dumps(tree).encode()


def _nodes(tree):
    yield tree
    for child in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(child, dict | list):
            yield from _nodes(child)
