"""The consensus of lesions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import manytruths as mt
from study_folders import pixels, run, write_png


def bar(*spans: tuple[int, ...], width: int = 20) -> np.ndarray:
    mask = np.zeros((3, width), np.uint8)
    for start, stop, *value in spans:
        mask[1, start:stop] = value[0] if value else 1
    return mask


MASKS = {
    "A": bar((1, 6), (9, 13)),
    "B": bar((1, 5), (9, 13), (15, 17)),
    "C": bar((2, 6)),
    "D": bar((10, 13)),
    "E": bar(),
}


def test_who_missed_a_lesion_has_no_say_in_its_outline():
    found = mt.lesion_vote(MASKS)
    # three of five found each of the first two; the third is B's alone
    assert (found.lesions_kept, found.lesions_dropped) == (2, 1)
    assert found.hard[1].tolist() == bar((1, 6), (9, 13))[1].astype(bool).tolist()
    assert found.probability[1, [1, 2, 5, 9, 15]] == pytest.approx([2 / 3, 1, 2 / 3, 2 / 3, 0])
    # by pixel, the ends that one of the three left out are lost
    assert mt.consensus(mt.Study.from_arrays({"p": MASKS}), "vote:0.5")["p"].values[1].sum() == 6
    assert mt.lesion_vote(MASKS, 0.2).lesions_kept == 3
    assert mt.lesion_vote(MASKS, "any").lesions_kept == 3
    assert mt.lesion_vote(MASKS, "all").lesions_kept == 0


@settings(max_examples=40, deadline=None)
@given(stack=arrays(np.uint8, (3, 6, 7), elements=st.integers(0, 1)))
def test_it_equals_a_loop_over_lesions(stack):
    match, found = mt.match_lesions(list(stack)), mt.lesion_vote(list(stack))
    share = np.zeros(stack.shape[1:])
    for marks in match.mark_of:
        own = marks[marks >= 0]
        if 2 * len(own) >= len(stack):
            flat = (match.marks.numbers[match.marks.owner[own]] == own[:, None]).mean(axis=0)
            share.flat[match.marks.pixels] = np.maximum(share.flat[match.marks.pixels], flat)
    assert np.allclose(found.probability, share)
    assert (found.hard == (share >= 0.5)).all()
    again = mt.lesion_vote(list(stack[::-1]))
    assert (again.hard == found.hard).all()


def test_pixels_and_lesions_that_were_not_rated_do_not_count():
    hidden = np.ma.array(bar((1, 5)), mask=bar((4, 6), (9, 13)).astype(bool))
    found = mt.lesion_vote({"A": bar((1, 6), (9, 13)), "B": hidden})
    assert found.hard[1].tolist() == bar((1, 6), (9, 13))[1].astype(bool).tolist()
    assert found.probability[1, 5] == 1
    again = mt.lesion_vote({"A": bar((1, 6), (9, 13)), "B": bar((1, 4)) + 7 * bar((4, 6), (9, 13))}, void=7)
    assert (again.hard == found.hard).all()


def test_labels_have_their_own_lesions():
    masks = {"A": bar((1, 5), (5, 9, 2)), "B": bar((1, 6), (6, 9, 2)), "C": bar((1, 9, 2))}
    found = mt.lesion_vote(masks)
    assert found.labels.values == (0, 1, 2)
    assert found.values[1, 1:9].tolist() == [1, 1, 1, 1, 1, 2, 2, 2]
    assert np.allclose(found.probability.sum(axis=-1), 1)
    with pytest.raises(mt.CallError, match="background"):
        mt.lesion_vote([[[1, 2]], [[1, 1]]], labels=mt.Labels.of({1: "grey", 2: "white"}).without_background())


def test_fuse_evaluate_and_python_have_the_same_pixels(tmp_path, capsys):
    numbered = {"A": bar((1, 5, 3), (5, 9, 9)), "B": bar((1, 5, 1), (5, 9, 4)), "C": bar((1, 9, 200))}
    for rater, mask in numbered.items():
        write_png(tmp_path / f"masks/{rater}/p1.png", mask)
    template = str(tmp_path / "masks/{rater}/{case}.png")
    options = ("--consensus", "lesions:0.5", "--instances", "--jobs", 1, "--no-pictures", "--out", tmp_path / "out")
    assert run(capsys, "fuse", template, *options).status == 0
    written = pixels(next((tmp_path / "out/fuse/consensus").glob("lesions*/p1.png")))
    study = mt.Study.open(template, instances=True)
    found = mt.consensus(study, "lesions:0.5")["p1"]
    assert (written == found.values).all()
    assert found.estimate.lesions_kept == 2
    assert (mt.consensus(study, "lesions:0.5", label="any")["p1"].values == found.values).all()
    strict = mt.Study.open(template, instances=True, lesion_rule="overlap", lesion_threshold=0.9)
    assert mt.consensus(strict, "lesions:0.5")["p1"].estimate.lesions_kept == 2
    write_png(tmp_path / "unet/p1.png", written)
    judged = mt.evaluate(
        mt.Study.open(template, instances=True, predictions=str(tmp_path / "unet/{case}.png")),
        consensus="lesions:0.5", second_look=False, pictures=False,
    )  # fmt: skip
    rows = [r for r in judged.tables["scores"].rows if r.statistic == "dice" and "lesions:0.5" in r.extra]
    assert {row.value for row in rows if row.scope == "case"} == {1.0}


@pytest.mark.parametrize("method", ["lesions:0", "lesions:1.1", "lesions:half"])
def test_wrong_shares_are_refused(method):
    with pytest.raises(mt.CallError, match="share above 0 and up to 1"):
        mt.consensus(mt.Study.from_arrays({"p": MASKS}), method)
