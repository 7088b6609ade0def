"""What made a consensus is found among the candidates, and told apart from near misses."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from panels_of_raters import Masks, hard, layered, panel, study_of
from PIL import Image
from scipy import ndimage

import manytruths as mt
from data_folder import data
from manytruths.analyses.audit.audit import CANDIDATES, LISTED
from manytruths.io import files
from study_folders import write_npy

Make = Callable[[Masks], NDArray[np.generic]]


def votes(least: int) -> Make:
    return lambda masks: (np.sum(list(masks.values()), axis=0) >= least).astype(np.uint8)


def without(make: Make, *gone: str) -> Make:
    return lambda masks: make({name: mask for name, mask in masks.items() if name not in gone})


def cut(level: float, prior: str) -> Make:
    def make(masks: Masks) -> NDArray[np.generic]:
        return (mt.paint(mt.staple(mt.tally(masks), prior).probability, masks) >= level).astype(np.uint8)

    return make


def cropped(masks: Masks) -> NDArray[np.generic]:
    """STAPLE of the images cut to what anybody marked."""
    union = np.sum(list(masks.values()), axis=0) > 0
    rows, columns = (np.flatnonzero(union.any(axis=axis)) for axis in (1, 0))
    part = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    result = np.zeros(union.shape, np.uint8)
    result[part] = hard("staple")({name: mask[part] for name, mask in masks.items()})
    return result


def changed(make: Make, how: Callable[..., NDArray[np.bool_]], steps: int, corners: int) -> Make:
    structure = ndimage.generate_binary_structure(2, corners)
    return lambda masks: how(make(masks), structure, steps).astype(np.uint8)


def filled(masks: Masks) -> NDArray[np.generic]:
    return ndimage.binary_fill_holes(votes(4)(masks)).astype(np.uint8)


def largest(masks: Masks) -> NDArray[np.generic]:
    pieces, _ = ndimage.label(votes(4)(masks), np.ones((3, 3)))
    return (pieces == np.bincount(pieces[pieces > 0]).argmax()).astype(np.uint8)


MADE: dict[str, Make] = {
    "votes >= 3 of 7": votes(3),
    "votes >= 4 of 7": hard("vote:0.5"),
    "votes >= 1 of 7 (union)": hard("vote:any"),
    "votes >= 7 of 7 (intersection)": hard("vote:all"),
    "rater R3 alone": lambda masks: masks["R3"],
    "votes >= 4 of 6, without R2": without(votes(4), "R2"),
    "votes >= 3 of 5, without R1 and R4": without(votes(3), "R1", "R4"),
    "votes >= 3 of 4, without R1, R4 and R6": without(votes(3), "R1", "R4", "R6"),
    "votes >= 3 of the raters who are no outliers": hard("excl:0.5"),
    "SIMPLE, alpha 1.5, Dice": hard("simple"),
    "STAPLE, prior the mean vote": hard("staple"),
    "STAPLE, prior the share marked by anybody": hard("staple", prior="marked"),
    "STAPLE, prior 0.3": hard("staple", prior=0.3),
    "STAPLE, prior estimated, cut at 0.9": cut(0.9, "estimated"),
    "STAPLE, prior the mean vote, within the union": hard("staple", region="union"),
    "STAPLE, prior the mean vote, on modified background": hard("staple", region="modified_background"),
    "STAPLE, prior the mean vote, cropped to the bounding box": cropped,
    "STAPLE, prior the mean vote, unanimous pixels left out": hard("staple", unanimous="exclude"),
    "STAPLE, prior the mean vote, without R4": without(hard("staple"), "R4"),
    "votes >= 5 of 7, dilated by 2 (4 neighbours)": changed(votes(5), ndimage.binary_dilation, 2, 1),
    "STAPLE, prior the mean vote, dilated by 1 (8 neighbours)": changed(hard("staple"), ndimage.binary_dilation, 1, 2),
    "votes >= 2 of 7, eroded by 1 (4 neighbours)": changed(votes(2), ndimage.binary_erosion, 1, 1),
    "votes >= 4 of 7, holes filled": filled,
    "votes >= 4 of 7, largest piece alone": largest,
    "LSML, length penalty 2": hard("lsml"),
    "LSMLP, length penalty 2": hard("lsmlp"),
}


@cache
def cases() -> dict[str, Masks]:
    return {f"p{seed}": panel(seed) for seed in range(2)}


QUICK = {
    "votes >= 3 of 7", "votes >= 4 of 6, without R2", "SIMPLE, alpha 1.5, Dice", "STAPLE, prior the mean vote",
    "votes >= 5 of 7, dilated by 2 (4 neighbours)",
}  # fmt: skip


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in MADE])
def test_finds_what_made_it(name: str) -> None:
    """It is the simplest that makes these masks, and the next differs."""
    found = mt.audit(study_of(cases(), MADE[name])).references[0]
    assert found.best.name == name
    assert found.best.different == 0
    assert found.best.dice == 1
    assert found.best.equal == (True, True)
    assert found.groups[1].different > 0


def test_near_misses_are_other_masks_and_equal_ones_are_together() -> None:
    """Every candidate of a group makes the same masks, by a path of its own; groups differ."""
    study = study_of(cases(), MADE["STAPLE, prior the mean vote"])
    audit = mt.audit(study).references[0]
    assert [candidate.name for candidate in audit.best.candidates] == [
        "STAPLE, prior the mean vote", "STAPLE like itk",
        "STAPLE, prior the mean vote, cropped to the bounding box and 10 pixels",
    ]  # fmt: skip
    nearest = {group.name: group.different for group in audit.groups}
    for name in ("votes >= 3 of 7", "rater R3 alone", "SIMPLE, alpha 1.5, Dice", "STAPLE, prior 0.3"):
        own = [int((MADE[name](masks) != hard("staple")(masks)).sum()) for masks in cases().values()]
        assert nearest[name] == sum(own) > 0
    assert len({group.place for group in audit.groups}) == len(audit.groups)
    assert [group.different for group in audit.groups] == sorted(group.different for group in audit.groups)


def test_a_fixed_prior_that_is_none_of_the_usual() -> None:
    result = mt.audit(study_of(cases(), hard("staple", prior=0.171)))
    audit, facts = result.references[0], result.facts["published"]
    ((low, high),) = facts.ranges
    assert low <= 0.171 <= high
    assert audit.best.different == 0
    assert audit.best.name.startswith("STAPLE, prior 0.1")
    for masks in cases().values():
        for prior in (low, high):
            assert (hard("staple", prior=prior)(masks) == hard("staple", prior=0.171)(masks)).all()
    for prior in (low * 0.97, high * 1.03):  # just outside, one of the cases differs
        assert any((hard("staple", prior=prior)(m) != hard("staple", prior=0.171)(m)).any() for m in cases().values())
    (claim,) = result.claims.of("audit.prior").made
    assert f"a fixed prior of {np.ceil(low * 1000) / 1000:.3f} to {np.floor(high * 1000) / 1000:.3f}" in claim.text


@pytest.mark.slow
def test_a_rater_who_was_not_used_is_said_only_where_the_data_tell() -> None:
    result = mt.audit(study_of(cases(), MADE["votes >= 4 of 6, without R2"]))
    (claim,) = result.claims.of("audit.unused").made
    assert "made without rater R2." in claim.text
    everybody = result.references[0].nearest_of_all_raters
    assert f"differs in {everybody.different:,} pixels" in claim.text
    assert everybody.different > 0
    # a rater whose mask is another's is not missed: the union is the same with either alone
    double = {case: masks | {"R8": masks["R1"]} for case, masks in cases().items()}
    union = mt.audit(study_of(double, without(hard("vote:any"), "R8")))
    assert not union.claims.of("audit.unused").made
    assert union.references[0].best.name == "votes >= 1 of 8 (union)"
    # one of two equal raters was left out, and nobody can tell which
    half = mt.audit(study_of(double, without(votes(4), "R8"))).facts["published"]
    assert half.left_out == ()


def test_nothing_reproduces_it() -> None:
    noise = np.random.default_rng(0)
    made = {}

    def spoilt(masks: Masks) -> NDArray[np.generic]:
        result = votes(4)(masks)
        if not made:  # one pixel of the first case
            made["first"] = True
            at = tuple(noise.integers(30, 60, 2))
            result[at] = 1 - result[at]
        return result

    result = mt.audit(study_of(cases(), spoilt))
    best = result.references[0].best
    assert (best.name, best.different, best.equal) == ("votes >= 4 of 7", 1, (False, True))
    assert not result.claims.of("audit.equals", "audit.alike", "audit.prior", "audit.unused", "audit.next").made
    (claim,) = result.claims.made
    assert claim.kind.id == "audit.nearest"
    assert "differs in 1 of 18,432 pixels" in claim.text
    assert "in 1 of 2 cases nothing differs. As it stands, it is not what made it." in claim.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "make"),
    {
        "plurality, ties to the lower label": hard("plurality"),
        "share of votes >= 0.5 of a label": hard("vote:0.5"),
        "STAPLE, prior the mean vote": hard("staple"),
        "STAPLE, prior the mean vote, without R3": without(hard("staple"), "R3"),
        "SIMPLE, alpha 1.5, Dice": hard("simple"),
        "rater R2 alone": lambda masks: masks["R2"],
    }.items(),
)
def test_several_labels(name: str, make: Make) -> None:
    found = mt.audit(study_of({f"p{seed}": layered(seed) for seed in range(2)}, make)).references[0]
    assert (found.best.name, found.best.different) == (name, 0)
    assert found.groups[1].different > 0


def test_ties_that_a_program_leaves_undecided() -> None:
    """ITK writes the largest label and one."""
    masks = layered(0)
    table = mt.tally(masks)
    found = mt.plurality(table)
    published = mt.paint(np.where(np.asarray(found.tied), 3, np.asarray(found.label)), masks, table)
    assert (published == 3).any()
    study = mt.Study.from_arrays({"p": masks}, references={"p": {"itk": published}})
    assert mt.audit(study).references[0].best.name == "plurality, ties undecided"


def test_versions_of_itk_are_told_apart_where_they_differ() -> None:
    """Two raters who tie everywhere they differ: the start decides."""
    masks = {f"R{i}": m for i, m in enumerate(np.random.default_rng(3).integers(0, 3, (2, 40, 40)).astype(np.uint8))}
    each = {like: hard(f"staple:{like}")(masks) for like in ("itk", "itk@main")}
    assert (each["itk"] != each["itk@main"]).any()
    for like, made in each.items():
        found = mt.audit(mt.Study.from_arrays({"p": masks}, references={"p": {"x": made}})).references[0]
        assert f"STAPLE like {like}" in [candidate.name for candidate in found.best.candidates]
        other = ({"itk", "itk@main"} - {like}).pop()
        assert f"STAPLE like {other}" not in [candidate.name for candidate in found.best.candidates]


def test_absent_raters_and_unrated_pixels() -> None:
    """A share of those who rated is told from a number of votes."""
    part = {"p0": cases()["p0"], "p1": {name: mask for name, mask in cases()["p1"].items() if name != "R3"}}
    found = mt.audit(study_of(part, hard("vote:0.5"))).references[0]
    assert (found.best.name, found.best.different) == ("share of votes >= 0.5", 0)
    hidden = {name: mask.copy() for name, mask in cases()["p0"].items()}
    hidden["R2"][:, :40] = 9
    table = mt.tally(hidden, void=9)
    published = mt.paint(mt.vote(table).hard, hidden, table, void=9).astype(np.uint8)
    study = mt.Study.from_arrays({"p": hidden}, references={"p": {"x": published}}, void=9)
    assert mt.audit(study).references[0].best.name == "share of votes >= 0.5"


def test_volumes() -> None:
    stack = {name: np.stack([mask] * 4) for name, mask in cases()["p0"].items()}
    grown = ndimage.binary_dilation(np.sum(list(stack.values()), axis=0) >= 5).astype(np.uint8)
    result = mt.audit(mt.Study.from_arrays({"p": stack}, references={"p": {"x": grown}}))
    assert result.references[0].best.name == "votes >= 5 of 7, dilated by 1 (6 neighbours)"
    assert result.claims.made[0].text.endswith("in every voxel.")


def test_region_of_interest() -> None:
    masks, inside = cases()["p0"], np.zeros((96, 96), np.uint8)
    inside[15:80, 12:70] = 1
    published = votes(3)(masks)
    published[~inside.astype(bool)] = 1  # counts nowhere
    study = mt.Study.from_arrays({"p": masks}, references={"p": {"x": published}})
    case = next(iter(study))
    from dataclasses import replace

    study = study.with_cases([replace(case, roi=inside)])
    found = mt.audit(study).references[0]
    assert (found.best.name, found.best.different, found.items) == ("votes >= 3 of 7", 0, int(inside.sum()))


# -- bad input and what can not be told --------------------------------------------------------------


def test_refused_in_one_line() -> None:
    own = {"p0": cases()["p0"]}

    def refused(error: type[Exception], text: str, reference: NDArray[np.generic] | None, **options: object) -> None:
        given = None if reference is None else {"p0": {"x": reference}}
        with pytest.raises(error, match=text) as caught:
            mt.audit(mt.Study.from_arrays(own, references=given, **options))
        assert "\n" not in str(caught.value)

    refused(mt.StudyError, "no case has a reference to be audited", None)
    refused(mt.ManytruthsError, r"case p0, reference x: the array has size 5×5 instead of 96×96", np.zeros((5, 5), int))
    two = votes(3)(own["p0"]) + votes(5)(own["p0"])
    refused(mt.LabelError, "the reference x holds 1, 2, the masks 1: it has other labels", two)
    refused(mt.CallError, "audit tries regions itself", votes(3)(own["p0"]), region="union")
    others = {"p0": layered(0)}
    wrong = mt.Study.from_arrays(others, references={"p0": {"x": others["p0"]["R1"] * 3}})
    with pytest.raises(mt.LabelError, match="holds 3, 6, the masks 1, 2: it has other labels"):
        mt.audit(wrong)


def test_another_value_for_the_only_label() -> None:
    study = study_of(cases(), lambda masks: votes(3)(masks) * 255)
    assert mt.audit(study).references[0].best.name == "votes >= 3 of 7"


def test_cases_without_the_reference() -> None:
    study = mt.Study.from_arrays(cases(), references={"p0": {"x": votes(3)(cases()["p0"])}})
    result = mt.audit(study)
    assert result.references[0].cases == ("p0",)
    assert any("there is no reference of x in 1 of 2 cases (p1)" in note for note in result.notes)
    assert result.claims.made[0].text == "x equals votes >= 3 of 7 in every pixel."


def test_nothing_is_said_where_nothing_can_be_told() -> None:
    alike = {"p": {name: panel(0)["R1"] for name in "ABC"}}
    for study, why in (
        (study_of(alike, votes(2)), "no two raters differ"),
        (study_of(cases(), lambda masks: np.zeros((96, 96), np.uint8)), "the consensus marks nothing"),
    ):
        result = mt.audit(study)
        assert result.references[0].best.different == 0
        assert not result.claims.made
        assert any(f"nothing can be told of published, since {why}" in note for note in result.notes)


def test_exchangeable_raters_are_nobody() -> None:
    result = mt.audit(study_of(cases(), MADE["votes >= 4 of 6, without R2"], raters="exchangeable"))
    assert not result.references[0].best.exact
    assert not any(candidate.left_out for candidate in result.plan.candidates)
    assert not any("R2" in candidate.name or "alone" in candidate.name for candidate in result.plan.candidates)
    assert mt.audit(study_of(cases(), votes(3), raters="exchangeable")).references[0].best.name == "votes >= 3 of 7"


def test_many_raters_are_not_left_out() -> None:
    many = {"p": panel(0, raters=24)}
    result = mt.audit(study_of(many, votes(9)), level_sets=False)
    assert result.references[0].best.name == "votes >= 9 of 24"
    assert any("of 24 raters none is left out" in note for note in result.notes)


@pytest.mark.slow
def test_large_images_and_tally_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By pattern all is the same; what asks where pixels lie is left out, and said to be."""
    made = hard("staple")
    small = mt.audit(study_of(cases(), made))
    for name, masks in cases().items():
        for rater, mask in masks.items():
            write_npy(tmp_path / "masks" / rater / f"{name}.npy", mask)
        write_npy(tmp_path / "published" / f"{name}.npy", made(masks))
    mt.share_tallies(study_of(cases(), made), tmp_path / "all.tally", names=True)
    tallied = mt.audit(tmp_path / "all.tally")
    monkeypatch.setattr(files, "LARGE", 1000)
    template = f"{tmp_path}/masks/{{rater}}/{{case}}.npy"
    large = mt.audit(mt.Study.open(template, reference=f"{tmp_path}/published/{{case}}.npy"))
    for result in (tallied, large):
        own = {group.name: group.different for group in result.references[0].groups}
        assert (
            own.items()
            <= {
                candidate.name: group.different
                for group in small.references[0].groups
                for candidate in group.candidates
            }.items()
        )
        assert not any("bounding box" in candidate.name for candidate in result.references[0].candidates)
        assert any("nothing was cropped to a bounding box" in note for note in result.notes)
    dilated = MADE["votes >= 5 of 7, dilated by 2 (4 neighbours)"]
    mt.share_tallies(study_of(cases(), dilated), tmp_path / "dilated.tally", names=True)
    changed_one = mt.audit(tmp_path / "dilated.tally", out=tmp_path / "out")
    assert not changed_one.references[0].best.exact
    assert any("are not changed, and no level sets" in note for note in changed_one.notes)
    assert not (tmp_path / "out" / "audit" / "pictures").exists()


# -- fissure: what was published ---------------------------------------------------------------------


@cache
def fissure() -> mt.Audit:
    folder = data("fissure")
    masks = {}
    for path in sorted((folder / "raters").glob("*/fissure.png"), key=lambda path: int(path.parent.name[1:])):
        masks[path.parent.name] = np.asarray(Image.open(path))
    published = {p.stem.removeprefix("gt_"): np.asarray(Image.open(p)) for p in (folder / "published").glob("gt_*.png")}
    return mt.audit(mt.Study.from_arrays({"fissure": masks}, references={"fissure": published}))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "method"),
    {
        "any": "votes >= 1 of 13 (union)", "05": "votes >= 7 of 13", "075": "votes >= 10 of 13",
        "staple": "votes >= 2 of 13", "excl_05": "votes >= 5 of the raters who are no outliers",
    }.items(),
)  # fmt: skip
def test_published_consensus(name: str, method: str) -> None:
    found = next(audit for audit in fissure().references if audit.name == name)
    assert (found.best.name, found.best.different) == (method, 0)
    assert found.groups[1].different > 0


@pytest.mark.slow
def test_published_staple_needs_a_fixed_prior() -> None:
    facts = fissure().facts["staple"]
    ((low, high),) = facts.ranges
    assert low < 0.055
    assert high > 0.15
    assert not low <= 0.0172 <= high  # the mean vote
    (claim,) = (claim for claim in fissure().claims.of("audit.prior").made if claim.about == "staple")
    assert "with the mean vote as prior, 8,146 pixels would differ" in claim.text


@pytest.mark.slow
def test_published_without_outliers_says_whom_it_leaves_out() -> None:
    assert fissure().facts["excl_05"].outliers == ("A1", "A4", "A11")
    assert set(fissure().facts["excl_05"].unused) == {"A1", "A4", "A11"}
    claim = next(c for c in fissure().claims.of("audit.equals").made if c.about == "excl_05")
    assert "(A1, A4 and A11 are left out)" in claim.text


@pytest.mark.slow
def test_published_level_set_is_not_reproduced_and_a_level_set_is_nearest() -> None:
    """The authors' program is not at hand; its settings are not published."""
    found = next(audit for audit in fissure().references if audit.name == "lsml")
    assert found.best.different > 0
    assert found.best.candidates[0].family == "level set"
    (claim,) = (claim for claim in fissure().claims.of("audit.nearest").made if claim.about == "lsml")
    assert "None of" in claim.text


@pytest.mark.slow
def test_the_nearest_setting_of_the_level_set_that_the_docs_name() -> None:
    """The nearest of ``python -m tests.simulations.level_sets``."""
    folder = data("fissure")
    masks = {p.parent.name: np.asarray(Image.open(p)) > 0 for p in sorted((folder / "raters").glob("*/fissure.png"))}
    published = np.asarray(Image.open(folder / "published" / "gt_lsml.png")) > 0
    assert np.count_nonzero(mt.lsml(masks, 0.5, prior=0.7).hard != published) == 6752


# -- files and the command ---------------------------------------------------------------------------


def test_files(tmp_path: Path) -> None:
    study = study_of(cases(), lambda masks: votes(3)(masks) | (masks["R7"] & (np.indices((96, 96))[0] < 40)))
    result = mt.audit(study, out=tmp_path)
    folder = tmp_path / "audit"
    summary = json.loads((folder / "summary.json").read_text())
    with (folder / "candidates.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == CANDIDATES
    assert len(rows) == len(result.references[0].candidates) == summary["references"][0]["candidates"]
    assert len({row["rank"] for row in rows}) == len(result.references[0].groups)
    table = result.tables["audit"]
    assert len(table.all("pixels_different", "pooled")) >= LISTED
    for case, masks in cases().items():
        best = result.references[0].best
        row = table.find("pixels_different", "case", case=case, reference="published", rank=1, candidate=best.name)
        assert row.value == result.references[0].in_case(best, list(cases()).index(case))[0]
        assert row.n == masks["R1"].size
    pictures = sorted(path.name for path in (folder / "pictures" / "published").iterdir())
    assert pictures == ["p0.png", "p1.png"]
    # what the command wrote, written by the result
    again = tmp_path / "again"
    written = {p.relative_to(again) for p in result.write(again)}
    assert {p.relative_to(tmp_path) for p in folder.rglob("*") if p.is_file() and p.name != "run.json"} == written
    for path in written:
        if path.name not in ("summary.json", "run.json"):
            assert (again / path).read_bytes() == (tmp_path / path).read_bytes()


def test_no_pictures_of_what_does_not_differ(tmp_path: Path) -> None:
    mt.audit(study_of(cases(), votes(3)), out=tmp_path)
    assert not (tmp_path / "audit" / "pictures").exists()


@pytest.mark.slow
def test_workers_do_not_matter() -> None:
    study = study_of(cases(), MADE["votes >= 5 of 7, dilated by 2 (4 neighbours)"])
    one, two = mt.audit(study), mt.audit(study, jobs=2)
    assert list(one.tables["candidates"].records()) == list(two.tables["candidates"].records())
