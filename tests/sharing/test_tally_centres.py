"""Tables from tally files are those of the masks, byte by byte."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from manytruths import Labels
from study_folders import disc, write_png
from tally_centres import CENTRES, open_folder, share, tables_of, write_centres

OF_LESIONS = ("detection.csv", "lesions.csv")


def same_tables(tmp_path, masks, tallies, *, predictions=True, references=True):
    """All tables that need no pixels, of both studies."""
    calls = {
        "agree": lambda study: mt.agree(study, measure="none", pictures=False),
        "fuse": lambda study: mt.fuse(study, distances=False, lesions=False, pictures=False),
        "reliability": mt.reliability,
        "plan": lambda study: mt.plan(pilot=study, resamples=20),
    }
    if predictions:
        off = dict.fromkeys(("distances", "lesions", "second_look", "sizes", "pictures"), False)
        calls["evaluate"] = lambda study: mt.evaluate(study, **off)
    for name, call in calls.items():
        one, other = (tables_of(call(s), tmp_path / w, OF_LESIONS) for s, w in ((masks, "masks"), (tallies, "tallies")))
        assert set(one) == set(other), name
        assert len(one) >= (1 if name in ("plan", "reliability") else 3)
        assert [file for file in one if one[file] != other[file]] == [], name
        assert ("reference_scores.csv" in one) == (references and name in ("agree", "fuse"))


SLOW = {"marks": pytest.mark.slow}


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        pytest.param(1, {}, id="plain"),
        pytest.param(2, {"labels": {1: "gland", 2: "tumour"}}, id="labels", **SLOW),
        pytest.param(2, {"foreground": "any"}, id="united", **SLOW),
        pytest.param(1, {"region": "union"}, id="union", **SLOW),
        pytest.param(1, {"roi": True}, id="roi", **SLOW),
        pytest.param(1, {"training": True, "trained_on": {"unet": "vote:0.5"}}, id="training", **SLOW),
        pytest.param(1, {"exclude_rater": ("anna",)}, id="two raters", **SLOW),
    ],
)
def test_three_centres_are_the_pooled_study(tmp_path, labels, options):
    write_centres(tmp_path, labels=labels)
    files = share(tmp_path, {c: open_folder(tmp_path / c, **options) for c in CENTRES}, names=True)
    pooled = open_folder(tmp_path / "all", **options)
    assert len(pooled) == 12
    same_tables(tmp_path, pooled, mt.Study.open(files))


@pytest.mark.slow
def test_options_may_be_given_when_the_files_are_opened(tmp_path):
    write_centres(tmp_path, cases=3, labels=2)
    files = share(tmp_path, {c: open_folder(tmp_path / c) for c in CENTRES}, names=True)
    asked = {
        "exclude_rater": ("cleo",), "session": "2", "foreground": "any", "region": "union", "margin": 0.05,
        "exclude": {"anna": ("north-1",)},
    }  # fmt: skip
    same_tables(tmp_path, open_folder(tmp_path / "all", **asked), mt.Study.open(files, **asked))


def masks_of(cases, **more):
    """Arrays of three raters, with noise."""
    rng = np.random.default_rng(5)

    def one(x):
        array = disc(20, x=x + rng.normal(), y=rng.normal(), radius=5)
        array[rng.integers(0, 20, 5), rng.integers(0, 20, 5)] ^= 1
        for value, part in more.items():
            array[rng.random(array.shape) < part] = int(value.removeprefix("v"))
        return array

    return {name: {rater: one(k % 3) for rater in ("anna", "ben", "cleo")} for k, name in enumerate(cases)}


def in_memory(tmp_path, arrays, *, keep=(), **options):
    """The study of arrays, and the same from two tally files."""
    names, first = list(arrays), list(arrays)[: len(arrays) // 2]
    parts = {"one": first, "two": [name for name in names if name not in first]}

    def study(chosen):
        own = dict(options)
        for key in ("subjects", "groups", "order"):
            if key in own:
                own[key] = {name: value for name, value in own[key].items() if name in chosen}
        return mt.Study.from_arrays({name: arrays[name] for name in chosen}, **own)

    files = share(tmp_path, {name: study(chosen) for name, chosen in parts.items()}, names=True, keep=keep)
    return study(names), mt.Study.open(files)


CASES = [f"p{k}" for k in range(1, 7)]


@pytest.mark.parametrize(
    "options",
    [
        {"void": 9},
        {"raters": "exchangeable"},
        {"spacing": (0.5, 0.25)},
        pytest.param({"labels": Labels((1, 2), ("grey", "white")), "background": "none", "void": 0}, **SLOW),
        {"region": "modified_background"},
    ],
    ids=["void", "raters", "spacing", "labels", "region"],
)
def test_kinds_of_studies(tmp_path, options):
    more = {"void": {"v9": 0.1}, "labels": {"v2": 0.3, "v1": 0.4}}.get(next(iter(options)), {})
    pooled, tallied = in_memory(tmp_path, masks_of(CASES, **more), **options)
    same_tables(tmp_path, pooled, tallied, predictions=False, references=False)


def test_masked_arrays_and_volumes(tmp_path):
    arrays = {
        name: {
            rater: np.ma.masked_array(np.stack([mask] * 3), np.arange(3 * mask.size).reshape(3, *mask.shape) % 7 == 0)
            for rater, mask in by_rater.items()
        }
        for name, by_rater in masks_of(CASES).items()
    }
    pooled, tallied = in_memory(tmp_path, arrays, spacing=(1, 1, 2.5))
    same_tables(tmp_path, pooled, tallied, predictions=False, references=False)
    assert tallied["p1"].tally().unit == mt.Unit(2.5, "mm³")


def test_subjects_groups_and_properties(tmp_path):
    known = {
        "subjects": dict(zip(CASES, "aabccd", strict=True)),
        "groups": {name: ["scanner=A" if k % 2 else "scanner=B", f"ward={k % 3}"] for k, name in enumerate(CASES)},
        "order": {"p1": 1, "p2": 2, "p4": 2, "p5": 1},
        "properties": {
            "anna": {"expertise": "senior"},
            "ben": {"expertise": "junior"},
            "cleo": {"expertise": "junior"},
        },
    }
    pooled, tallied = in_memory(tmp_path, masks_of(CASES), keep=["scanner", "ward", "expertise"], **known)
    one, other = (mt.agree(s, measure="none", pictures=False, by=("expertise", "scanner")) for s in (pooled, tallied))
    assert tables_of(one, tmp_path / "a") == tables_of(other, tmp_path / "b")
    assert "groups" in one.tables
    sizes = [mt.agree(s, measure="sizes", pictures=False).tables["changes"] for s in (pooled, tallied)]
    areas = [[row for row in table.rows if row["measure"] == "area"] for table in sizes]
    assert [row.value for row in areas[0]] == [row.value for row in areas[1]] != []


def test_a_reading_log_with_edits(tmp_path):
    for k in range(4):
        for j, rater in enumerate(("anna", "ben", "cleo")):
            write_png(tmp_path / "masks" / rater / f"p{k}.png", disc(24, x=j, y=k % 2, radius=5 + j))
    lines = ["case,rater,status,based_on,reason"]
    lines += [f"p{k},anna,done,," for k in range(4)]
    lines += [f"p{k},ben,done,," for k in range(3)] + ["p3,ben,not_evaluable,,blurred"]
    lines += [f"p{k},cleo,done,{'anna' if k < 2 else ''}," for k in range(4)]
    (tmp_path / "reads.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    template = f"{tmp_path}/masks/{{rater}}/{{case}}.png"
    study = mt.Study.open(template, reads=str(tmp_path / "reads.csv"))
    mt.share_tallies(study, tmp_path / "a.tally", names=True)
    tallied = mt.Study.open(tmp_path / "a.tally")
    one, other = (mt.agree(s, measure="none", pictures=False) for s in (study, tallied))
    assert {"edits", "flow"} <= set(one.tables)
    assert tables_of(one, tmp_path / "a") == tables_of(other, tmp_path / "b")
    coded = mt.share_tallies(study, tmp_path / "b.tally")
    assert b"blurred" not in coded.path.read_bytes()


def test_structures_in_files_of_their_own(tmp_path):
    for centre, names in {"one": ["p1", "p2"], "two": ["p3"], "all": ["p1", "p2", "p3"]}.items():
        for k, name in enumerate(names):
            for j, rater in enumerate("AB"):
                write_png(tmp_path / centre / rater / "gland" / f"{name}.png", disc(24, x=j + k))
                write_png(tmp_path / centre / rater / "tumour" / f"{name}.png", disc(24, x=j, radius=3))
    studies = {c: mt.Study.open(f"{tmp_path}/{c}/{{rater}}/{{label}}/{{case}}.png") for c in ("one", "two", "all")}
    pooled = studies.pop("all")
    tallied = mt.Study.open(share(tmp_path, studies, names=True))
    assert [t.labels for t in tallied.tally().values()] == [t.labels for t in pooled.tally().values()]
    assert tallied.tally()["p1"] == pooled.tally()["p1"]


def test_areas_are_those_of_the_masks_and_nothing_else_is_measured(tmp_path):
    pooled, tallied = in_memory(tmp_path, masks_of(CASES), spacing=(0.5, 0.25))
    one, other = (mt.agree(study, pictures=False).tables["sizes"] for study in (pooled, tallied))
    areas = [[(row.case, row["rater"], row.value) for row in t.rows if row.statistic == "area"] for t in (one, other)]
    assert areas[0] == areas[1] != []
    assert {row.statistic for row in other.rows} == {"area"}


def test_resampled_masks_stay_marked(tmp_path):
    pytest.importorskip("nibabel")
    from study_folders import volume, write_nifti

    write_nifti(tmp_path / "m" / "A" / "p1.nii.gz", volume(4))
    write_nifti(tmp_path / "m" / "B" / "p1.nii.gz", volume(8), spacing=(1, 1, 1))
    study = mt.Study.open(f"{tmp_path}/m/{{rater}}/{{case}}.nii.gz", resample="nearest")
    path = mt.share_tallies(study, tmp_path / "a.tally", names=True).path
    one, other = (mt.agree(s, measure="none", pictures=False) for s in (study, mt.Study.open(path)))
    assert tables_of(one, tmp_path / "a") == tables_of(other, tmp_path / "b")
    assert one.moved.cases == other.moved.cases == {"p1"}
