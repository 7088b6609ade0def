"""Tasks for Label Studio come back as they were."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exchange_reads import bits, read, square
from json_exports import come_back, panels
from manytruths import CallError, InputError
from manytruths.exchange.labelstudio import labelstudio_configuration, read_labelstudio, write_labelstudio
from manytruths.exchange.outlines import Polygon
from manytruths.exchange.readings import Mark

again = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@again
@given(panels(), st.booleans())
def test_annotations_come_back(tmp_path, reads, exact):
    write_labelstudio(tmp_path / "a.json", reads, "annotations", exact=exact)
    come_back(reads, read_labelstudio(tmp_path / "a.json"))


@again
@given(panels(statuses=("done", "empty")), st.booleans())
def test_predictions_come_back(tmp_path, reads, exact):
    write_labelstudio(tmp_path / "a.json", reads, exact=exact)
    come_back(reads, read_labelstudio(tmp_path / "a.json"))


def test_polygons_stay_polygons_and_the_rest_becomes_brushes(tmp_path):
    hole = Mark("lesion", Polygon.of([[(1, 1), (9, 1), (9, 9), (1, 9)], [(3, 3), (5, 3), (5, 5), (3, 5)]]))
    write_labelstudio(tmp_path / "a.json", [read(marks=[square(3, 4, 6), hole, bits([[1, 0], [1, 1]])])])
    task = json.loads((tmp_path / "a.json").read_text())[0]
    assert task["data"]["image"] == "p01.png"
    assert task["predictions"][0]["model_version"] == "anna"
    first, *others = task["predictions"][0]["result"]
    assert (first["type"], first["original_width"], first["original_height"]) == ("polygonlabels", 30, 20)
    assert first["value"]["points"] == [[10, 20], [30, 20], [30, 50], [10, 50]]
    assert [one["type"] for one in others] == ["brushlabels", "brushlabels"]
    assert all(one["value"]["format"] == "rle" for one in others)


def test_a_polygon_of_another_rule_is_written_as_it_was_drawn(tmp_path):
    ring = [(2.5, 2.5), (9.5, 2.5), (9.5, 8.5), (2.5, 8.5)]
    reads = [read(marks=[Mark("lesion", Polygon.of([ring], "inclusive"))])]
    write_labelstudio(tmp_path / "a.json", reads)
    come_back(reads, read_labelstudio(tmp_path / "a.json"))


def test_ranks_are_numbers_of_the_region(tmp_path):
    write_labelstudio(tmp_path / "a.json", [read(marks=[square(1, 1, 3, rank=2), square(5, 5, 3)])])
    results = json.loads((tmp_path / "a.json").read_text())[0]["predictions"][0]["result"]
    assert [(one["type"], one["id"]) for one in results] == [
        ("polygonlabels", "region-0"), ("number", "region-0"), ("polygonlabels", "region-1")
    ]  # fmt: skip
    assert [mark.rank for mark in read_labelstudio(tmp_path / "a.json")[0].marks] == [2, None]


def test_what_an_annotation_started_from(tmp_path):
    first = read(rater="a@b.org", marks=[square(1, 1, 3)], started="2024-01-01T10:00:00Z", seconds=3.5)
    second = read(rater="c@d.org", marks=[square(2, 2, 3)], based_on="a@b.org")
    write_labelstudio(tmp_path / "a.json", [first, second], "annotations")
    back = read_labelstudio(tmp_path / "a.json")
    assert [(one.rater, one.based_on, one.started, one.seconds) for one in back] == [
        ("a@b.org", "", "2024-01-01T10:00:00Z", 3.5),
        ("c@d.org", "a@b.org", "", None),
    ]


def test_the_configuration_has_a_tag_for_every_result(tmp_path):
    first = square(1, 1, 3, 'a <"b">', rank=2, attributes={"sure": "no", "score": "0.5"})
    reads = [read(marks=[first, bits([[1, 0], [1, 1]], "größte")])]
    write_labelstudio(tmp_path / "a.json", reads)
    root = ElementTree.fromstring(labelstudio_configuration(reads))
    controls = {one.get("name"): one for one in root if one.get("toName")}
    image = root.find("Image")
    for result in json.loads((tmp_path / "a.json").read_text())[0]["predictions"][0]["result"]:
        control = controls[result["from_name"]]
        assert control.tag.lower() == result["type"]
        assert control.get("toName") == image.get("name") == result["to_name"]
        if "labels" in result["type"]:
            assert result["value"][result["type"]][0] in {one.get("value") for one in control}
    assert image.get("value") == "$image"


def test_what_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="3 axes"):
        write_labelstudio(tmp_path / "a.json", [read(shape=(2, 20, 30))])
    with pytest.raises(CallError, match="kind"):
        write_labelstudio(tmp_path / "a.json", [read()], "drafts")
    assert not list(tmp_path.iterdir())
