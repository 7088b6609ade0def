"""What a rater is shown of a case: their outline and the consensus of the others, and nothing they should not see."""

from __future__ import annotations

import base64
import io
import json
import zlib

import numpy as np
import pytest
from PIL import Image

import manytruths as mt
from manytruths.reporting.progress_page.views import (
    CONSENSUS,
    CONSENSUS_PAINT,
    OTHERS_COLOUR,
    OWN_COLOUR,
    OWN_PAINT,
    view_feedback,
)

LARGE = 1 << 20


def square(low, high, size=40, value=1):
    mask = np.zeros((size, size), np.uint8)
    mask[low:high, low:high] = value
    return mask


def picture(view):
    content = base64.b64decode(view.picture.split(",")[1])
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).astype(int)


def near(pixels, paint):
    """Pixels that are tinted as the paint is, towards red or towards blue: pictures are compressed."""
    tint = (pixels[..., 0] - pixels[..., 2]) * np.sign(paint[0] - paint[2])
    return (tint > 40).sum()


def view_of(masks, rater="anna", **options):
    study = mt.Study.from_arrays({"p1": masks}, **options)
    return view_feedback(study["p1"], rater, LARGE)


def test_own_outline_and_that_of_the_others_consensus_are_drawn_and_shown_first():
    view = view_of({"anna": square(5, 30), "ben": square(12, 22), "cy": square(12, 22), "dan": square(30, 34)})
    pixels = picture(view)
    assert near(pixels, OWN_PAINT) > near(pixels, CONSENSUS_PAINT) > 50
    data = json.loads(view.data)
    shown = [data["columns"][place] for place in data["drawn"]]
    assert [(c["name"], c["role"]) for c in shown] == [("anna", "rater"), (CONSENSUS, "reference")]
    assert {c["name"]: c["colour"] for c in data["columns"] if c["role"] == "rater"} == {
        "anna": OWN_COLOUR, "ben": OTHERS_COLOUR, "cy": OTHERS_COLOUR, "dan": OTHERS_COLOUR,
    }  # fmt: skip


def test_the_consensus_is_that_of_the_others_without_the_rater():
    # with anna, half of the four mark the ring; without her, one of three does
    view = view_of({"anna": square(5, 30), "ben": square(5, 30), "cy": square(12, 22), "dan": square(12, 22)})
    data = json.loads(view.data)
    patterns, codes = unpack(data["patterns"], 5), unpack(data["maps"][0], 40)
    place = next(i for i, c in enumerate(data["columns"]) if c["role"] == "reference")
    assert np.isin(codes, np.flatnonzero(patterns[place] == 1)).sum() == 100


def unpack(pack, rows):
    """Rows of whole numbers, each of which is packed as what differs from the row above."""
    raw = np.frombuffer(zlib.decompress(base64.b64decode(pack["data"])), pack["type"])
    return np.bitwise_xor.accumulate(raw.reshape(rows, -1), axis=0)


def test_of_a_volume_the_slice_that_differs_most_is_drawn():
    mine = np.stack([square(10, 20)] * 6)
    theirs = mine.copy()
    mine[4] = square(5, 30)
    view = view_of({"anna": mine, "ben": theirs, "cy": theirs})
    assert view.slice == 5
    data = json.loads(view.data)
    assert data["first"] + data["start"] == 4


def test_of_several_labels_the_one_that_differs_most_is_drawn():
    mine, theirs = square(5, 15), square(5, 15)
    mine[20:36, 20:36], theirs[20:30, 20:30] = 2, 2
    view = view_of({"anna": mine, "ben": theirs, "cy": theirs}, labels={1: "liver", 2: "tumour"})
    assert view.label == "tumour"


def test_identical_masks_can_be_drawn():
    view = view_of({"anna": square(5, 15), "ben": square(5, 15)})
    assert view.slice is None
    assert view.label == ""


def test_empty_masks_can_be_drawn():
    view = view_of({"anna": square(5, 5), "ben": square(5, 15)})
    assert near(picture(view), CONSENSUS_PAINT) > 50
    assert view_of({"anna": square(5, 5), "ben": square(5, 5)}) is not None


def test_given_references_and_predictions_are_not_shown(tmp_path):
    for rater in ("anna", "ben"):
        (tmp_path / "masks" / rater).mkdir(parents=True)
        Image.fromarray(square(5, 15) * 255).save(tmp_path / "masks" / rater / "p1.png")
    for other in ("truth", "unet"):
        (tmp_path / other).mkdir()
        Image.fromarray(square(20, 30) * 255).save(tmp_path / other / "p1.png")
    study = mt.Study.open(
        f"{tmp_path}/masks/{{rater}}/{{case}}.png", reference=f"{tmp_path}/truth/{{case}}.png",
        predictions=f"{tmp_path}/unet/{{case}}.png",
    )  # fmt: skip
    data = json.loads(view_feedback(study["p1"], "anna", LARGE).data)
    assert [c["name"] for c in data["columns"]] == ["anna", "ben", CONSENSUS]


@pytest.mark.parametrize("masks", [{"ben": square(5, 9), "cy": square(5, 9)}, {"anna": square(5, 9)}])
def test_nothing_is_shown_of_cases_that_the_rater_or_nobody_else_read(masks):
    study = mt.Study.from_arrays({"p1": masks, "p2": {"anna": square(5, 9), "ben": square(5, 9)}})
    assert view_feedback(study["p1"], "anna", LARGE) is None
