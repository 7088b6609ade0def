"""check, agree and the report name masks that are probably broken, and say which session counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import manytruths as mt
import real_studies
from data_folder import HOME, data
from mask_mistakes import MISTAKES, move
from study_folders import write_png

FIRST = ("A", "1")


def demo(**changes):
    """Masks of the demo; changes are functions of the masks."""
    masks = real_studies.demo()
    for change in changes.values():
        change(masks)
    return mt.Study.from_arrays(masks)


def found(study):
    return Counter((s.kind, s.names) for s in mt.check(study).suspicions)


@pytest.mark.slow
def test_the_demo_has_no_broken_mask():
    assert mt.check(demo()).suspicions == ()


def test_a_filled_and_an_inverted_mask_are_found_by_check_and_agree():
    def spoil(masks):
        masks["p02"][FIRST] = MISTAKES["all_marked"](masks["p02"][FIRST], None)
        masks["p03"][FIRST] = MISTAKES["inverted"](masks["p03"][FIRST], None)

    result = mt.check(demo(change=spoil))
    warned = {p.kind: p for p in result.problems if p.kind in ("all_marked", "inverted")}
    assert (warned["all_marked"].case, warned["all_marked"].rater) == ("p02", "A@1")
    assert "marks 100% of the image" in warned["all_marked"].message
    assert "(--exclude A=p03)" in warned["inverted"].message
    assert {row.case for row in result.tables["masks"].rows} == {"p02", "p03"}
    agreed = mt.agree(demo(change=spoil), pictures=False)
    assert {c.kind.id for c in agreed.claims.made} >= {"masks.all_marked", "masks.inverted"}
    assert agreed.notes[0].startswith("in case p02, rater A's mask marks 100%")


def test_identical_sessions_are_flagged():
    def copy(masks):
        for by_rater in masks.values():
            by_rater["B", "2"] = by_rater["B", "1"].copy()

    result = mt.agree(demo(change=copy), pictures=False)
    assert {s.kind for s in result.suspicions} == {"identical_sessions"}
    assert "rater B's masks of sessions 1 and 2 are the same in every pixel" in result.claims.made[0].text


def test_identical_raters_and_cases_are_flagged():
    def copy(masks):
        masks["p06"]["E", "1"] = masks["p06"][FIRST].copy()
        masks["p22"][FIRST] = masks["p19"][FIRST].copy()

    assert found(demo(change=copy)) == {("identical_raters", ("A", "E")): 1, ("identical_cases", ("A",)): 1}


@pytest.mark.parametrize("size", [3, 20])
def test_one_mask_in_all_cases_of_a_rater_is_flagged(size):
    """Things lie elsewhere in each of twelve cases; also if the mask is so small that two cases could share it."""
    rng, masks = np.random.default_rng(4), {}
    for i in range(12):
        base = np.zeros((64, 64), np.uint8)
        top, left = rng.integers(0, 64 - size, 2)
        base[top : top + size, left : left + size] = 1
        masks[f"p{i:02}"] = {r: np.roll(base, rng.integers(-1, 2, 2), (0, 1)) for r in "ABC"}
    same = masks["p00"]["B"].copy()
    for by_rater in masks.values():
        by_rater["B"] = same
    said = mt.check(mt.Study.from_arrays(masks))
    copied = [s for s in said.suspicions if s.kind == "identical_cases"]
    assert (len(copied), {s.raters for s in copied}) == (11, {("B",)})
    assert any("the same in every pixel as that of rater B in case" in claim.text for claim in said.claims.made)


def test_an_empty_mask_where_all_others_mark_much():
    def lose(masks):
        masks["p06"][FIRST] = masks["p06"][FIRST] * 0

    result = mt.check(demo(change=lose))
    assert [(s.kind, s.case) for s in result.suspicions] == [("missing_marks", "p06")]
    assert ("empty", "p06", "A@1") not in [(p.kind, p.case, p.rater) for p in result.problems]


def test_a_rater_who_is_always_shifted():
    def shift(masks):
        for by_rater in masks.values():
            by_rater[FIRST] = move(by_rater[FIRST], {0: 10, 1: -5})

    (suspicion,) = [s for s in mt.check(demo(change=shift)).suspicions if s.kind == "always_shifted"]
    assert suspicion.raters == ("A",)
    assert suspicion.after > suspicion.before


def test_masks_of_two_cases_that_were_exchanged():
    rng = np.random.default_rng(0)
    masks = {}
    for i in range(6):
        base = np.zeros((60, 60), np.uint8)
        base[5 + 8 * i : 13 + 8 * i, 5 : 20 + 6 * i] = 1
        masks[f"p{i}"] = {r: np.roll(base, rng.integers(-1, 2, 2), (0, 1)) for r in "ABC"}
    masks["p1"]["B"], masks["p4"]["B"] = masks["p4"]["B"], masks["p1"]["B"]
    suspicions = [s for s in mt.check(mt.Study.from_arrays(masks)).suspicions if s.kind == "other_case"]
    assert {(s.case, s.raters, s.other) for s in suspicions} == {("p1", ("B",), "p4"), ("p4", ("B",), "p1")}


# -- sessions --------------------------------------------------------------------------------------


def test_which_session_counts_is_said_and_what_a_session_lacks():
    def lose(masks):
        del masks["p05"]["B", "2"]

    result = mt.agree(demo(change=lose), pictures=False)
    (note,) = [note for note in result.notes if getattr(note, "code", "") == "sessions"]
    assert "agreement and consensus take session 1" in note
    assert "session 2 of rater B has no mask of p05" in note
    assert len(result.claims.made.of("sessions.counted")) == 2


def test_another_session_can_be_chosen():
    masks = real_studies.demo()
    chosen = mt.Study.from_arrays(masks, session="2")
    assert [str(column) for column in chosen.columns] == ["A@1", "B@2", "C@1", "D@1", "E@1"]
    assert (chosen["p06"].masks[chosen.columns[1]][""] == masks["p06"]["B", "2"]).all()
    with pytest.raises(mt.StudyError, match="no session '3'; sessions are 1, 2"):
        mt.Study.from_arrays(masks, session="3")


# -- sizes and images ------------------------------------------------------------------------------


def write_sizes(folder, sizes):
    for rater, shape in sizes.items():
        mask = np.zeros(shape, np.uint8)
        mask[8:16, 8:16] = 1
        write_png(folder / rater / "p1.png", mask)
    return str(folder / "{rater}/{case}.png")


@pytest.mark.parametrize(
    ("size", "said"),
    [
        ((62, 62), "probably a border was cut off (2 along axis 1 and 2 along axis 2, in pixels); pad it with 0"),
        ((64, 67), "probably a border was added (3 along axis 2, in pixels); crop it there"),
        ((32, 32), "resample one of them"),
    ],
)
def test_the_mask_of_another_size_is_named_with_what_to_do(tmp_path, size, said):
    template = write_sizes(tmp_path, {"A": size, "B": (64, 64), "C": (64, 64)})
    (problem,) = mt.check(template).errors
    assert problem.rater == "A"
    assert said in problem.message
    assert ("do not resample" in problem.message) == ("border" in said)


def test_swapped_axes_are_to_be_transposed(tmp_path):
    template = write_sizes(tmp_path, {"A": (48, 64), "B": (64, 48), "C": (64, 48)})
    assert "its axes are swapped; transpose it" in mt.check(template).errors[0].message


def test_images_that_are_nowhere_are_one_warning(tmp_path):
    for case in ("p1", "p2", "p3"):
        for rater in "AB":
            write_png(tmp_path / rater / f"{case}.png", np.eye(20, dtype=np.uint8))
    study = mt.Study.open(str(tmp_path / "{rater}/{case}.png"), images=str(tmp_path / "none/{case}.png"))
    assert [p.message.startswith("no case has an image") for p in mt.check(study).problems if p.kind == "image"] == [
        True
    ]
    assert len([note for note in mt.agree(study).notes if "image" in note]) == 1


# -- real masks ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("chase", {}),
        ("fissure", {}),
        ("lidc", {"identical_raters": 9, "shifted": 1}),  # equal outlines of 80 voxels and more: copies
        (
            "crowd",
            {"other_case": 30, "shifted": 1, "scaled": 1},
        ),  # workers who drew another object of the same photograph
    ],
)
def test_false_alarms_on_real_masks(name, allowed):
    """Run with ``-s`` to see the counts."""
    data()
    exchangeable = "exchangeable" if name == "lidc" else None
    masks = getattr(real_studies, name)(HOME)
    result = mt.check(mt.Study.from_arrays(masks, raters=exchangeable))
    counts = Counter(s.kind for s in result.suspicions)
    print(name, sum(map(len, masks.values())), "masks:", dict(counts))
    assert all(counts[kind] <= allowed.get(kind, 0) for kind in counts)
