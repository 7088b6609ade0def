"""study.toml: every key, paths beside it, and what is said when it is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import manytruths as mt
from study_folders import command, disc, run, write_png, write_study

EVERYTHING = """
masks = "masks/{rater}/{case}.png"
images = "images/{case}.png"
roi = "roi/{case}.png"
ranks = "ranks/{rater}/{case}.png"
predictions = "unet/{case}.png"
cases = "cases.csv"
raters = "raters.csv"
region = "whole"
overlap = "smaller"
spacing = [0.5, 2]
void = 255
exchangeable = false

[labels]
1 = "lesion"

[exclude]
B = ["p2"]
"""


@pytest.fixture
def folder(tmp_path):
    write_study(tmp_path)
    for case in ("p1", "p2"):
        for kind in ("images", "roi", "unet"):
            write_png(tmp_path / kind / f"{case}.png", disc(radius=10))
        for rater in "ABC":
            write_png(tmp_path / f"ranks/{rater}/{case}.png", disc())
    (tmp_path / "cases.csv").write_text("case,kind\np1,a\np2,b\n")
    (tmp_path / "raters.csv").write_text("rater,expertise\nA,1\nB,2\nC,3\n")
    return tmp_path


def written(folder, text):
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"


def test_every_key(folder):
    path = written(folder, EVERYTHING)
    for how in (path, folder, str(path), str(folder)):
        study = mt.Study.open(how)
        assert study.rater_names == ("A", "B", "C")
        assert [str(c) for c in study["p2"].absent] == ["B"]
        assert study["p1"].groups == ("a",)
        assert study.properties["C"] == {"expertise": "3"}
        table = study["p1"].tally()
        assert table.region == "mask"
        assert table.unit == mt.Unit(1.0, "mm²")
        assert table.labels.names == ("background", "lesion")
        assert [str(c) for c in table.role("algorithm")] == ["prediction"]
        assert study["p1"].picture().shape == (24, 24)
        assert len(study["p1"].ranks) == 3


def test_paths_are_relative_to_the_file(folder, tmp_path_factory):
    written(folder, EVERYTHING)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert command("agree", folder, "--quiet", cwd=elsewhere).status == 0
    assert command("agree", "--quiet", "--out", elsewhere / "here", cwd=folder).status == 0
    tables = [elsewhere / "manytruths-out/agree/agreement.csv", elsewhere / "here/agree/agreement.csv"]
    assert tables[0].read_bytes() == tables[1].read_bytes()


def test_absolute_paths_and_a_folder_with_braces(tmp_path):
    odd = tmp_path / "a {strange} folder"
    template = write_study(odd)
    written(odd, 'masks = "masks/{rater}/{case}.png"')
    assert len(mt.Study.open(odd)) == 2
    written(tmp_path, f'masks = "{template.replace("{strange}", "{{strange}}")}"')
    assert len(mt.Study.open(tmp_path)) == 2


def test_the_call_overrides_the_file(folder):
    written(folder, EVERYTHING)
    study = mt.Study.open(folder, spacing=(1, 1), labels={1: "other"}, exclude={"C": ["p1"]})
    assert study["p1"].tally().unit == mt.Unit(1.0, "mm²")
    assert study["p1"].tally().labels.names[1] == "other"
    assert [str(c) for c in study["p1"].absent] == ["C"]


def test_exchangeable_raters_and_united_structures(folder):
    for text in ('raters = "exchangeable"', "exchangeable = true"):
        study = mt.Study.open(written(folder, f'masks = "masks/{{rater}}/{{case}}.png"\n{text}'))
        assert study["p1"].tally().exchangeable
    write_png(folder / "masks/A/p1.png", disc() * 2)
    united = mt.Study.open(written(folder, 'masks = "masks/{rater}/{case}.png"\noverlap = "union"'))
    assert united["p1"].tally().labels.values == (0, 1)


WRONG = {
    "mask = 'x'": "unknown key 'mask'; did you mean 'masks'?",
    "zzz = 1": "unknown key 'zzz'; known are masks, images",
    "images = 'x'": "has no masks",
    "masks = ": "is not valid TOML",
    "masks = 1": 'masks is written as "text"; got 1',
    "masks = 'a'\nimages = 2": "images is written as",
    "masks = 'a'\ncases = ['x']": "cases is written as",
    "masks = 'a'\nspacing = 0.5": "spacing is written as [0.5, 0.5]; got 0.5",
    "masks = 'a'\nspacing = ['x']": "spacing is written as",
    "masks = 'a'\nspacing = [0, 1]": "positive and finite",
    "masks = 'a'\nspacing = [nan, 1]": "positive and finite",
    "masks = 'a'\nlabels = [1, 2]": "labels is written as",
    "masks = 'a'\nlabels = {a = 'b'}": "labels is written as",
    "masks = 'a'\nlabels = {1 = 'b', 2 = 'b'}": "one distinct name",
    "masks = 'a'\nexclude = ['p1']": "exclude is written as",
    "masks = 'a'\nexclude = {A = 'p1'}": "exclude is written as",
    "masks = 'a'\nvoid = 'x'": "void is written as 255",
    "masks = 'a'\nvoid = true": "void is written as 255",
    "masks = 'a'\nvoid = 0": "void is 0; it must be a value of the masks from 1 to 4294967295, and not 0",
    "masks = 'a'\nlabels = {1 = ''}": "the name of label 1 is empty; give it one",
    "masks = 'a'\nvoid = -1": "void is -1; it must be",
    "masks = 'a'\nvoid = 99999999999": "void is 99999999999; it must be",
    "masks = 'a'\nvoid = 2\nlabels = {1 = 'b', 2 = 'c'}": "void is 2, which labels calls 'c'; take it out of one",
    "masks = 'a'\nspacing = []": "positive and finite",
    "masks = 'a'\nlimits = [1, 0]": "limits are (1.0, 0.0); they are two numbers, the smaller first",
    "masks = 'a'\nlimits = [0, nan]": "limits are (0.0, nan)",
    "masks = 'a'\nlimits = [0]": "limits is written as [0.0, 1.0]",
    "masks = 'a'\nlabels = {1 = 'background'}": "one distinct name",
    "masks = 'a'\nregion = 'middle'": "must be one of whole, union, modified_background",
    "masks = 'a'\nregion = 3": "region must be one of whole, union, modified_background; got 3",
    "masks = 'a'\noverlap = 'larger'": "must be one of smaller, union",
    "masks = 'a'\nforeground = 'all'": "must be one of any",
    "masks = 'a'\nexchangeable = 'yes'": "exchangeable is written as true",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong(tmp_path, text):
    with pytest.raises(mt.InputError) as caught:
        mt.Study.open(written(tmp_path, text))
    assert WRONG[text] in str(caught.value)
    assert str(tmp_path / "study.toml") in str(caught.value)


@pytest.mark.parametrize("void", [0, -1, 2**32, 2])
def test_void_on_the_command_line(tmp_path, capsys, void):
    template = write_study(tmp_path)
    done = run(capsys, "agree", template, "--void", void, "--labels", "2=b", "--out", tmp_path / "out")
    assert (done.status, done.line.startswith(f"manytruths: --void is {void}")) == (1, True)
    assert not (tmp_path / "out").exists()


def test_void_that_no_mask_can_hold(tmp_path, capsys):
    template = write_study(tmp_path)
    for verb in ("agree", "check"):
        done = run(capsys, verb, template, "--void", 300, "--out", tmp_path / "out", "--jobs", 1)
        assert done.status == 1
        assert "void is 300, and no mask can hold more than 255; correct or leave out void" in done.err
    # one file of 16 bits is enough: the others just have nothing that was not rated
    Image.fromarray(np.where(disc() > 0, 1, 300).astype(np.uint16)).save(tmp_path / "masks/C/p2.png")
    assert mt.Study.open(template, void=300)["p2"].tally().items == disc().size
    for rater in "AB":
        np.save(tmp_path / f"{rater}_p1.npy", disc().astype(float))
    assert mt.Study.open(f"{tmp_path}/{{rater}}_{{case}}.npy", void=300).rater_names == ("A", "B")


def test_arrays_in_memory_may_hold_any_void():
    masks = {"p1": {"A": np.array([[0, 1, -1]]), "B": np.array([[0, 1, 1]])}}
    assert mt.Study.from_arrays(masks, void=-1)["p1"].tally().items == 3


def test_a_structure_called_background(tmp_path):
    for rater, structure in (("A", "background"), ("A", "lesion"), ("B", "lesion")):
        write_png(tmp_path / rater / structure / "p1.png", disc())
    with pytest.raises(mt.StudyError, match="a structure may not be called 'background'; rename"):
        mt.Study.open(f"{tmp_path}/{{rater}}/{{label}}/{{case}}.png")
