"""Lists of tasks for Label Studio: as its documentation has them, and read back when they were done."""

from __future__ import annotations

import json

import jsonschema
import pytest

import manytruths as mt
from exchange_reads import read, square
from manytruths.cli import status
from manytruths.exchange import read_labelstudio, write_labelstudio

TASKS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["data"],
        "properties": {
            "id": {"type": "integer"},
            "data": {
                "type": "object",
                "required": ["image", "case", "asked"],
                "additionalProperties": {"type": ["string", "integer"]},
            },
        },
        "additionalProperties": False,
    },
}


def written(path):
    tasks = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(TASKS).validate(tasks)
    return tasks


def test_tasks_of_a_design(tmp_path):
    (tmp_path / "images").mkdir()
    for k in range(6):
        (tmp_path / "images" / f"p{k}.png").touch()
    made = mt.assign(
        str(tmp_path / "images/{case}.png"), ["anna", "ben", "clara"], per_case=2, tasks="labelstudio", out=tmp_path
    )
    tasks = written(tmp_path / "assign" / "labelstudio.json")
    found = {(rater, task["data"][f"order of {rater}"], task["data"]["case"])
             for task in tasks for rater in task["data"]["asked"].split(", ")}  # fmt: skip
    assert found == {(one.rater, one.order, one.case) for one in made.readings}
    assert {task["data"]["image"] for task in tasks} == {f"p{k}.png" for k in range(6)}


def test_tasks_that_were_done_come_back(tmp_path):
    """Under the names that the tool had, also of a study that was imported."""
    reads = [read(f"upload/p{k}.png", rater, [square(k, 2, 6)]) for k in range(3) for rater in ("7", "8")][:-1]
    mt.import_study(reads, to=tmp_path / "study")
    asked = ["next", str(tmp_path / "study"), "--budget", "2", "--tasks", "labelstudio", "--out", str(tmp_path / "out")]
    assert status(asked) == 0
    (task,) = written(tmp_path / "out" / "next" / "labelstudio.json")
    assert task["data"] == {"image": "upload/p2.png", "case": "p2", "asked": "8", "order of 8": 1}
    # nobody has done it yet
    assert read_labelstudio(tmp_path / "out" / "next" / "labelstudio.json") == []
    write_labelstudio(tmp_path / "done.json", [read(task["data"]["image"], "8", [square(2, 3, 6)])], kind="annotations")
    made = mt.import_study("labelstudio", tmp_path / "done.json", to=tmp_path / "study", update=True)
    assert made.changes == {"added": 1, "elsewhere": 5}


def test_another_tool():
    with pytest.raises(mt.CallError, match="--tasks is one of cvat, labelstudio; got 'via'"):
        mt.assign(["p1"], ["anna"], tasks="via")
