"""Which files make a study: placeholders, tables of cases and raters, masks left out, odd names."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from manytruths.core.columns import closest_name
from manytruths.study.problems import find_unknown_cases
from study_folders import disc, volume, write_nifti, write_npy, write_nrrd, write_png, write_study


def test_subjects_and_sessions(tmp_path):
    for subject, case in (("s1", "left"), ("s1", "right"), ("s2", "only")):
        for rater, session in (("A", "1"), ("A", "2"), ("B", "1")):
            write_png(tmp_path / subject / rater / session / f"{case}.png", disc(x=int(session)))
    study = mt.Study.open(f"{tmp_path}/{{subject}}/{{rater}}/{{session}}/{{case}}.png")
    assert [case.name for case in study] == ["left", "only", "right"]
    assert {case.name: case.subject for case in study} == {"left": "s1", "right": "s1", "only": "s2"}
    assert study.subjects == ("s1", "s2")
    assert [str(c) for c in study.columns] == ["A@1", "A@2", "B@1"]
    assert study.rater_names == ("A", "B")
    tallies = study.tally()
    assert tallies.by_subject() == {"s1": ["left", "right"], "s2": ["only"]}
    assert tallies["left"] == mt.tally({("A", "1"): disc(x=1), ("A", "2"): disc(x=2), ("B", "1"): disc(x=1)})


def test_one_case_name_in_two_subjects(tmp_path):
    for subject in ("s1", "s2"):
        for rater in "AB":
            write_png(tmp_path / rater / subject / "scan.png", disc(x=int(subject[1])))
    write_png(tmp_path / "images/s1/scan.png", disc())
    template = f"{tmp_path}/{{rater}}/{{subject}}/{{case}}.png"
    study = mt.Study.open(template, exclude={"images": ["s1/scan"]})
    assert [(case.name, case.subject) for case in study] == [("s1/scan", "s1"), ("s2/scan", "s2")]
    assert study["s2/scan"].tally() == mt.tally({"A": disc(x=2), "B": disc(x=2)})
    assert study.rater_names == ("A", "B")


@pytest.mark.parametrize("overlap", [None, "smaller", "union"])
def test_one_file_a_structure(tmp_path, overlap):
    large, small = disc(radius=8), disc(radius=3)
    for rater in "AB":
        write_png(tmp_path / f"{rater}_p1_gland.png", large * 255)
        write_png(tmp_path / f"{rater}_p1_tumour.png", small * 7)
    write_png(tmp_path / "A_p2_gland.png", large)
    write_png(tmp_path / "B_p2_tumour.png", small)
    study = mt.Study.open(f"{tmp_path}/{{rater}}_{{case}}_{{label}}.png", overlap=overlap)
    tallies = study.tally()
    if overlap == "union":
        assert tallies["p1"].labels.values == (0, 1)
        assert mt.pool(tallies).marked.max() == 2
        assert tallies["p1"] == mt.tally({"A": large, "B": large}, foreground="any")
        return
    cut = large + small
    named = {1: "gland", 2: "tumour"}
    assert tallies["p1"] == mt.tally({"A": cut, "B": cut}, labels=named)
    assert tallies["p2"] == mt.tally({"A": large, "B": small * 2}, labels=named)


def test_structures_of_two_sizes(tmp_path):
    for rater in "AB":
        write_png(tmp_path / f"{rater}_p1_x.png", disc())
        write_png(tmp_path / f"{rater}_p1_y.png", disc(30))
    study = mt.Study.open(f"{tmp_path}/{{rater}}_{{case}}_{{label}}.png")
    with pytest.raises(mt.GridError, match="case p1, rater A: y has size 30×30 instead of 24×24, unlike x; resample"):
        study.tally()


@pytest.mark.parametrize("text", ["case,histology\np1,CIN1\np2,CIN2\n", "case;histology\r\n p1 ; CIN1\r\np2;CIN2\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_one_column_of_groups(tmp_path, text, encoding):
    (tmp_path / "cases.csv").write_bytes(text.encode(encoding))
    study = mt.Study.open(write_study(tmp_path), cases=str(tmp_path / "cases.csv"))
    assert {case.name: case.groups for case in study} == {"p1": ("CIN1",), "p2": ("CIN2",)}
    assert study.tally().groups == {"p1": ("CIN1",), "p2": ("CIN2",)}


def test_several_columns_of_groups_and_subjects(tmp_path):
    (tmp_path / "cases.csv").write_text("case,subject,histology,site\np1,s,CIN1,upper\np2,s,,lower\np3,t,,\n")
    study = mt.Study.open(write_study(tmp_path, cases=("p1", "p2", "p3")), cases=str(tmp_path / "cases.csv"))
    assert study["p1"].groups == ("histology=CIN1", "site=upper")
    assert study["p2"].groups == ("site=lower",)
    assert study["p3"].groups == ()
    assert [case.subject for case in study] == ["s", "s", "t"]


def test_raters_table(tmp_path):
    (tmp_path / "raters.csv").write_text("rater,expertise,years\nA,expert,12\nB,novice,1\n")
    study = mt.Study.open(write_study(tmp_path), raters=str(tmp_path / "raters.csv"))
    assert study.properties == {"A": {"expertise": "expert", "years": "12"}, "B": {"expertise": "novice", "years": "1"}}


def test_an_absent_rater_is_not_an_empty_mask(tmp_path):
    template = write_study(tmp_path)
    (tmp_path / "masks/C/p1.png").unlink()
    absent = mt.Study.open(template)["p1"].tally()
    assert set(absent.patterns[:, 2].tolist()) == {mt.VOID}
    without = mt.tally({"A": disc(), "B": disc(x=1)})
    for statistic in (mt.fleiss_kappa, mt.percent_agreement, mt.krippendorff_alpha, mt.gwet_ac1, mt.smyth_bound):
        assert statistic(absent) == pytest.approx(statistic(without), abs=1e-15)
    write_png(tmp_path / "masks/C/p1.png", disc() * 0)
    empty = mt.Study.open(template)["p1"].tally()
    assert mt.fleiss_kappa(empty) != mt.fleiss_kappa(absent)


def test_masks_left_out(tmp_path):
    template = write_study(tmp_path)
    study = mt.Study.open(template, exclude={"B": ["p2"]})
    assert [str(c) for c in study["p2"].absent] == ["B"]
    assert study["p1"].absent == ()
    for wrong in ({"D": ["p1"]}, {"B": ["p2", "p9"]}):
        with pytest.raises(mt.StudyError, match=r"exclude: rater '[BD]' has no mask of case 'p[19]'"):
            mt.Study.open(template, exclude=wrong)
    with pytest.raises(mt.StudyError, match="every mask is excluded"):
        mt.Study.open(template, exclude={r: ["p1", "p2"] for r in "ABC"})
    with pytest.raises(mt.StudyError, match="only one rater"):
        mt.Study.open(template, exclude={r: ["p1", "p2"] for r in "AB"})


def test_a_whole_rater_is_left_out_and_not_read(tmp_path):
    template = write_study(tmp_path)
    (tmp_path / "masks/B/p1.png").write_bytes(b"no image")
    study = mt.Study.open(template, exclude_rater=["B"])
    assert study.rater_names == ("A", "C")
    assert all("B" not in map(str, (*case.masks, *case.absent)) for case in study)
    assert study.tally()["p1"].rater_names == ("A", "C")
    (tmp_path / "study.toml").write_text('masks = "masks/{rater}/{case}.png"\nexclude_rater = ["B"]')
    assert mt.Study.open(tmp_path).rater_names == ("A", "C")
    assert mt.Study.open(tmp_path, exclude_rater=["A"]).rater_names == ("B", "C")
    both = mt.Study.open(template, exclude={"B": ["p1"]}, exclude_rater=["B"])
    assert both.rater_names == ("A", "C")
    with pytest.raises(mt.StudyError, match=r"exclude_rater: there is no rater 'D'; raters are A, B, C$"):
        mt.Study.open(template, exclude_rater=["D"])
    with pytest.raises(mt.StudyError, match="only one rater"):
        mt.Study.open(template, exclude_rater=["A", "B"])
    with pytest.raises(mt.StudyError, match="every mask is excluded"):
        mt.Study.open(template, exclude_rater=list("ABC"))


def test_a_rater_left_out_of_what_else_names_raters(tmp_path):
    template = write_study(tmp_path, raters="ABCD")
    (tmp_path / "raters.csv").write_text("rater,years\nA,1\nB,2\nC,3\nD,4\n")
    rows = [
        "p1,A,done,",
        "p1,B,done,",
        "p1,C,done,B",
        "p1,D,done,",
        "p2,A,done,",
        "p2,B,done,",
        "p2,C,done,",
        "p2,D,done,",
    ]
    (tmp_path / "reads.csv").write_text("\n".join(["case,rater,status,based_on", *rows]))
    options = {"raters": str(tmp_path / "raters.csv"), "reads": str(tmp_path / "reads.csv")}
    study = mt.Study.open(template, exclude_rater=["B"], **options)
    assert list(study.properties) == ["A", "C", "D"]
    assert [str(c) for c in study["p1"].masks] == ["A", "D"]  # an edit, whoever drew what it started from
    [edit] = study["p1"].edits.values()
    assert (str(edit.parent), edit.origin) == ("B", None)
    assert "B" not in map(str, study["p1"].statuses)


def test_a_rater_left_out_of_arrays():
    masks = {rater: [[1, 0, i]] for i, rater in enumerate("ABC")}
    study = mt.Study.from_arrays({"p1": masks, "p2": masks}, exclude_rater=["C"])
    assert study.rater_names == ("A", "B")
    with pytest.raises(mt.StudyError, match="no rater 'D'; raters are A, B, C"):
        mt.Study.from_arrays({"p1": masks}, exclude_rater=["D"])


def test_a_region_of_each_case(tmp_path):
    template = write_study(tmp_path)
    for case in ("p1", "p2"):
        write_png(tmp_path / f"roi/{case}.png", disc(radius=9) * 255)
    study = mt.Study.open(template, roi=f"{tmp_path}/roi/{{case}}.png")
    table = study["p2"].tally()
    assert table == mt.tally({r: disc(x=i, y=1) for i, r in enumerate("ABC")}, region=disc(radius=9))
    assert table.items == disc(radius=9).sum()
    assert study["p2"].tally("whole").items == 24 * 24


def test_void_labels_foreground_spacing_region(tmp_path):
    mask = disc()
    mask[0] = 9
    for rater in "AB":
        write_png(tmp_path / rater / "p1.png", mask)
    template = f"{tmp_path}/{{rater}}/{{case}}.png"
    study = mt.Study.open(template, void=9, labels={1: "lesion"}, spacing=(0.5, 0.25), region="union")
    assert study["p1"].tally() == mt.tally(
        {"A": mask, "B": mask}, void=9, labels={1: "lesion"}, unit=(0.125, "mm²"), region="union"
    )
    united = mt.Study.open(template, foreground="any")["p1"].tally()
    assert united == mt.tally({"A": mask, "B": mask}, foreground="any")
    with pytest.raises(mt.StudyError, match="spacing"):
        mt.Study.open(template, spacing=(0, 1))


def test_exchangeable_raters(tmp_path):
    study = mt.Study.open(write_study(tmp_path), raters="exchangeable")
    assert all(table.exchangeable for table in study.tally().values())


def test_predictions_are_columns(tmp_path):
    template = write_study(tmp_path)
    for case in ("p1", "p2"):
        write_png(tmp_path / f"unet/{case}.png", disc(radius=5))
    write_png(tmp_path / "vit/p1.png", disc(radius=4))
    study = mt.Study.open(template, predictions=f"{tmp_path}/{{algorithm}}/{{case}}.png", exclude={})
    assert [str(c) for c in study["p1"].tally().role("algorithm")] == ["unet", "vit"]
    assert [str(c) for c in study["p2"].tally().role("algorithm")] == ["unet"]
    named = mt.Study.open(template, predictions=f"{tmp_path}/unet/{{case}}.png")["p1"].tally()
    assert [str(c) for c in named.role("algorithm")] == ["prediction"]
    write_png(tmp_path / "unet/p2.png", disc(30))
    with pytest.raises(mt.GridError, match=r"^case p2, prediction of unet: .*30×30 instead of 24×24") as caught:
        study.tally()
    assert str(caught.value).count("case p2") == 1


def test_an_archive_as_a_folder(tmp_path):
    stacks = {case: np.stack([disc(x=i) for i in range(3)]) for case in ("p1", "p2")}
    np.savez(tmp_path / "masks.npz", **stacks)
    study = mt.Study.open(f"{tmp_path}/masks.npz/{{case}}[{{rater}}]")
    assert study.rater_names == ("0", "1", "2")
    assert study["p2"].tally() == mt.tally(stacks["p2"], raters=["0", "1", "2"])


@pytest.mark.parametrize("suffix", [".nii", ".nii.gz", ".nrrd"])
def test_volumes(tmp_path, suffix):
    for x, rater in enumerate("AB"):
        write = write_nrrd if suffix == ".nrrd" else write_nifti
        write(tmp_path / rater / f"p1{suffix}", volume(x=x))
    table = mt.Study.open(f"{tmp_path}/{{rater}}/{{case}}{suffix}")["p1"].tally()
    size = 1.0 if suffix == ".nrrd" else 2.0
    assert table == mt.tally({"A": volume(), "B": volume(x=1)}, unit=(size, "mm³"))


def test_arrays_in_memory():
    study = mt.Study.from_arrays(
        {"p1": {"A": disc(), "B": disc(x=1), "C": None}, "p2": {"A": disc(), "B": disc(), "C": disc()}},
        subjects={"p1": "s", "p2": "s"},
        groups={"p1": "x"},
        spacing=(2, 3),
    )
    assert study.subjects == ("s",)
    assert study["p1"].groups == ("x",)
    assert [str(c) for c in study["p1"].absent] == ["C"]
    assert study["p2"].tally() == mt.tally({r: disc() for r in "ABC"}, unit=(6.0, "mm²"))
    assert len(study) == 2
    assert "2 cases, 1 subjects" in repr(study)
    with pytest.raises(mt.CallError, match="no case 'p9'"):
        study["p9"]
    with pytest.raises(mt.StudyError, match="only one rater"):
        mt.Study.from_arrays({"p1": [disc()]})


RATERS = [
    "A B",
    "Ünïcödé 中",
    "[x]",
    "a@b",
    "c;d",
    "e,f",
    "q\"u'o",
    "$(x)",
    "a%b",
    "[bold]",
    "#",
    "~",
    "--out",
    "*",
]
CASES = ["p 1", "ü中", "[p]", "a@2", "x;y", "k,l", '"', "n" * 250, "[red]", "%s", "p.1.png", "*", "=1+1", "<b>", "-"]


def test_odd_names(tmp_path):
    template = write_study(tmp_path, RATERS, CASES)
    (tmp_path / "masks/.hidden").mkdir()
    for hidden in ("masks/.hidden/p 1.png", "masks/[x]/.DS_Store", "masks/[x]/.p2.png"):
        (tmp_path / hidden).write_bytes(b"junk")
    study = mt.Study.open(template)
    assert set(study.rater_names) == set(RATERS)
    assert {case.name for case in study} == set(CASES)
    assert study.tally()["*"].items == 24 * 24


@pytest.mark.parametrize(
    "array",
    [disc().astype(bool), disc().astype(">i4"), np.asfortranarray(disc()), np.float32(disc()), disc() * np.uint16(300)],
    ids=["booleans", "big-endian", "Fortran", "floats", "16 bits"],
)
def test_arrays_of_every_kind(tmp_path, array):
    for rater in "AB":
        write_npy(tmp_path / rater / "p1.npy", array)
    table = mt.Study.open(f"{tmp_path}/{{rater}}/{{case}}.npy")["p1"].tally()
    assert table.counts.tolist() == [24 * 24 - int(disc().sum()), int(disc().sum())]


def test_links_and_uppercase(tmp_path):
    for rater in "AB":
        write_png(tmp_path / "elsewhere" / rater / "p1.PNG", disc())
    (tmp_path / "masks").symlink_to(tmp_path / "elsewhere")
    for ending in (".PNG", ".*"):
        assert len(mt.Study.open(f"{tmp_path}/masks/{{rater}}/{{case}}{ending}")) == 1
    with pytest.raises(mt.StudyError, match=r"nearest names: p1\.PNG"):
        mt.Study.open(f"{tmp_path}/masks/{{rater}}/{{case}}.png")


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (3, 1, 2)])
def test_tiny_masks(tmp_path, shape):
    for rater in "AB":
        write_npy(tmp_path / rater / "p1.npy", np.ones(shape, np.uint8))
    table = mt.Study.open(f"{tmp_path}/{{rater}}/{{case}}.npy")["p1"].tally()
    assert table.counts.tolist() == [np.prod(shape)]
    assert mt.reason(mt.fleiss_kappa(table))


@pytest.mark.parametrize("key", ["images", "roi", "ranks", "predictions"])
def test_what_lies_beside_shared_names_must_say_whose_it_is(tmp_path, key):
    for subject in ("s1", "s2"):
        for rater in "AB":
            write_png(tmp_path / f"masks/{rater}/{subject}/scan.png", disc())
            write_png(tmp_path / f"beside/{rater}/{subject}/scan.png", disc())
        write_png(tmp_path / f"one/{subject}/scan.png", disc())
    template = f"{tmp_path}/masks/{{rater}}/{{subject}}/{{case}}.png"
    wrong = {"ranks": f"{tmp_path}/beside/{{rater}}/s1/{{case}}.png"}.get(key, f"{tmp_path}/one/s1/{{case}}.png")
    with pytest.raises(mt.StudyError, match=f"{key}: template .* has no {{subject}}"):
        mt.Study.open(template, **{key: wrong})
    right = {"ranks": f"{tmp_path}/beside/{{rater}}/{{subject}}/{{case}}.png"}
    study = mt.Study.open(template, **{key: right.get(key, f"{tmp_path}/one/{{subject}}/{{case}}.png")})
    assert len(study) == 2


def test_ranks_of_other_raters(tmp_path):
    template = write_study(tmp_path)
    for rater in ("rater1", "rater2"):
        write_png(tmp_path / f"ranks/{rater}/p1.png", disc())
    with pytest.raises(mt.StudyError, match="are of rater1, rater2, masks of A, B, C; name the raters alike"):
        mt.Study.open(template, ranks=f"{tmp_path}/ranks/{{rater}}/{{case}}.png")


def test_a_case_left_out_may_stay_in_the_table(tmp_path):
    (tmp_path / "cases.csv").write_text("case,kind\np1,a\np2,b\n")
    options = {"cases": str(tmp_path / "cases.csv"), "exclude": {r: ["p2"] for r in "ABC"}}
    assert [case.name for case in mt.Study.open(write_study(tmp_path), **options)] == ["p1"]


def test_a_file_of_another_subject_is_nobody_elses(tmp_path):
    for subject, case in (("s1", "p1"), ("s2", "p1"), ("s2", "p2")):
        for rater in "AB":
            write_png(tmp_path / f"masks/{rater}/{subject}/{case}.png", disc())
    for subject in ("s2", "s9"):
        write_png(tmp_path / f"pred/{subject}/p1.png", disc())
    study = mt.Study.open(
        f"{tmp_path}/masks/{{rater}}/{{subject}}/{{case}}.png", predictions=f"{tmp_path}/pred/{{subject}}/{{case}}.png"
    )
    assert [bool(case.predictions) for case in study] == [False, True, False], "s9's p1 is not s1's"
    assert [s.case for s in find_unknown_cases(study.options, [case.name for case in study])] == ["s9/p1"]


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("04R_pred", ["04L", "04R"], "04R"),
        ("seg-04R", ["04L", "04R"], "04R"),
        ("case12v2", ["case1", "case12"], "case12"),
        ("Pacient_3", ["patient_3", "patient_4"], "patient_3"),
        ("p003", ["p3", "p30"], "p3"),
        ("p10", ["p1", "p2"], ""),
        ("p1", ["p10", "p100"], ""),
        ("quite other", ["p1"], ""),
    ],
)
def test_which_case_is_meant(name, known, meant):
    assert closest_name(name, known) == meant


def test_arrays_of_one_rater_are_not_told_of_a_template():
    with pytest.raises(mt.StudyError, match=r"there is only one rater \(A\): agreement needs two$"):
        mt.Study.from_arrays({"p1": {"A": [[1, 0]]}})
