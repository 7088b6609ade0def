"""A mask whose mark is written otherwise is refused, by case and by study; labels of their own are not."""

import numpy as np
import pytest

import manytruths as mt
from manytruths import LabelError, check
from study_folders import disc

CASES = tuple(f"p{n}" for n in range(1, 6))
DISC = disc().astype(np.int64)


def study(marks, raters="ABC", cases=CASES, **options):
    """Everybody marks a disc with 1, but for ``{(case, rater): values}``: rings of these values."""
    masks = {case: dict.fromkeys(raters, DISC) for case in cases}
    for (case, rater), values in marks.items():
        rings = [disc(radius=6 - 2 * n).astype(np.int64) for n in range(len(values))]
        found = np.zeros_like(DISC)
        for ring, value in zip(rings, values, strict=True):
            found[ring > 0] = value
        masks[case][rater] = found
    return mt.Study.from_arrays(masks, **options)


def said(found):
    with pytest.raises(LabelError) as error:
        found.tally()
    told = [problem for problem in check(found).problems if problem.severity == "error"]
    assert told[0].message == str(error.value), "check tells the same"
    assert {problem.kind for problem in told} == {"label"}
    assert "--foreground any" in str(error.value)
    assert "--labels" in str(error.value)
    return str(error.value), [(problem.case, problem.rater) for problem in told]


@pytest.mark.parametrize("value", [127, 255, 32767, 65535, 2**31 - 1, 2**32 - 1])
def test_one_file_with_the_largest_number_of_a_type(value):
    message, where = said(study({("p2", "B"): [value]}))
    assert message.startswith(
        f"case p2: each rater marks with one value, but not the same (A 1, B {value}, C 1); unite"
    )
    assert where == [("p2", "")]


@pytest.mark.parametrize("value", [2, 7, 65534, 1000])
def test_one_file_with_any_other_number(value):
    message, where = said(study({("p2", "B"): [value]}))
    assert message.startswith(
        f"case p2: rater B marks with {value}, the other masks of the study with 1 (here A 1, B {value}, C 1); unite"
    )
    assert where == [("p2", "B")]


def test_a_rater_who_marks_otherwise_throughout():
    message, where = said(study({(case, "B"): [2] for case in CASES}))
    assert message.startswith("each rater marks with one value, but not the same (A 1, B 2, C 1); unite")
    assert where == [("", "")]


def test_a_rater_who_marks_otherwise_in_some_cases():
    _, where = said(study({("p1", "B"): [2], ("p4", "B"): [2]}))
    assert where == [("p1", "B"), ("p4", "B")]


def test_two_raters_who_mark_otherwise_each_in_his_own_way():
    _, where = said(study({("p1", "B"): [2], ("p4", "C"): [3]}))
    assert where == [("p1", "B"), ("p4", "C")]


def test_most_files_with_255_and_one_with_1():
    marks = {(case, rater): [255] for case in CASES for rater in "ABC" if (case, rater) != ("p3", "C")}
    message, where = said(study(marks))
    assert message.startswith("case p3: each rater marks with one value, but not the same (A 255, B 255, C 1)")
    assert where == [("p3", "")]


def test_a_case_that_all_wrote_otherwise():
    message, where = said(study({("p3", rater): [255] for rater in "ABC"}))
    assert message.startswith("case p3: rater A marks with 255, the other masks of the study with 1 (here A 255, ")
    assert where == [("p3", rater) for rater in "ABC"]


def test_a_file_with_65535_among_labels():
    marks = {(case, rater): [1, 2, 3] for case in CASES for rater in "ABC"} | {("p2", "B"): [65535]}
    message, where = said(study(marks))
    assert message.startswith(
        "case p2: rater B marks with 65535, the other masks of the study with 1 and 2 and 3 (here "
    )
    assert where == [("p2", "B")]


def test_the_second_session_counts_too():
    masks = {case: {("A", "1"): DISC, ("A", "2"): DISC, ("B", "1"): DISC} for case in CASES}
    masks["p2"]["A", "2"] = DISC * 255
    message, _ = said(mt.Study.from_arrays(masks))
    assert "A@1 1, A@2 255, B@1 1" in message


LABELS = {
    "labels that stand beside each other": {("p1", "A"): [1, 2], ("p2", "B"): [2]},
    "one rater marks 2 alone in one case": {
        **{(case, rater): [1, 2] for case in CASES for rater in "ABC"}, ("p2", "B"): [2],
    },
    "one lesion an image, classified": {
        **{(case, rater): [2] for case in ("p1", "p2") for rater in "ABC"}, ("p3", "C"): [2], ("p1", "B"): [1],
    },
    "a rare class that two raters give": {("p2", "A"): [2], ("p2", "B"): [2]},
    "a rare class that one gives, among several": {
        **{(case, rater): [2] for case in ("p1", "p2") for rater in "ABC"}, ("p3", "C"): [3],
    },
    "255 beside others": {**{(case, "A"): [1, 255] for case in CASES}, ("p2", "B"): [255]},
    "grey levels as codes": {(case, rater): [85 * n] for n, case in enumerate(CASES[:3], 1) for rater in "ABC"}
    | {(case, rater): [170] for case in CASES[3:] for rater in "ABC"},
    "nothing at all": {(case, "A"): [] for case in CASES},
}  # fmt: skip


@pytest.mark.parametrize("name", LABELS)
def test_labels_are_not_refused(name):
    found = study(LABELS[name])
    assert len(found.tally()) == len(CASES)
    assert not [problem for problem in check(found).problems if problem.severity == "error"]


def test_nothing_is_guessed_where_labels_are_declared_or_united():
    odd = {("p2", "B"): [65535]}
    assert study(odd, labels=mt.Labels.of({1: "one", 65535: "other"})).tally()
    assert mt.fleiss_kappa(mt.pool(study(odd, foreground="any").tally())) == 1


@pytest.mark.parametrize("raters", ["AB", "ABC", "ABCDE"])
@pytest.mark.parametrize("cases", [6, 12])
def test_random_studies_of_several_labels_pass(raters, cases):
    """Organs, most of them in most images; one rater in ten misses one."""
    chance = np.random.default_rng([len(raters), cases])
    names = [f"p{n}" for n in range(cases)]
    for _ in range(40):
        marks = {}
        for case in names:
            there = [value for value in (1, 2, 3, 4) if chance.random() < 0.7]
            for rater in raters:
                marks[case, rater] = [value for value in there if chance.random() > 0.1][:3]
        assert len(study(marks, raters, names).tally()) == cases


def test_structures_in_files_of_their_own_have_names(tmp_path):
    """Only B has a lesion, and only in one case; nobody's files hold a number that would say so."""
    for case in ("p1", "p2"):
        for rater in "AB":
            (tmp_path / rater).mkdir(exist_ok=True)
            label = "lesion" if (case, rater) == ("p2", "B") else "gland"
            np.save(tmp_path / rater / f"{case}_{label}.npy", disc())
    assert len(mt.Study.open(f"{tmp_path}/{{rater}}/{{case}}_{{label}}.npy").tally()) == 2


def given(tmp_path, raters, beside, **options):
    """A study on disk: ``{rater: values}`` and ``{folder: values}``, rings in one case."""
    for name, values in {**raters, **beside}.items():
        array = np.zeros((24, 24), np.uint16)
        for n, value in enumerate(values):
            array[disc(radius=8 - 2 * n) > 0] = value
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        np.save(tmp_path / name / "p1.npy", array)
    return mt.Study.open(f"{tmp_path}/masks/{{rater}}/{{case}}.npy", **options)


def errors(found):
    return [(p.kind, p.message) for p in check(found).problems if p.severity == "error"]


@pytest.mark.parametrize(
    ("raters", "predicted", "told"),
    [
        ([1], [65535], "net marks with 65535, the raters with 1; unite them with --foreground any"),
        ([1, 2], [65535], "net marks with 65535, the raters with 1 and 2; unite"),
        ([255], [1], "net marks with 1, the raters with 255; unite"),
        ([255], [65535], "net marks with 65535, the raters with 255; unite"),
        ([1, 2], [2], ""),
        ([1, 2], [3], ""),
    ],
)
def test_predictions(tmp_path, raters, predicted, told):
    masks = {f"masks/{name}": raters for name in "AB"}
    template = f"{tmp_path}/pred/{{algorithm}}/{{case}}.npy"
    found = errors(given(tmp_path, masks, {"pred/net": predicted}, predictions=template))
    assert [kind for kind, _ in found] == ["prediction"] * bool(told)
    assert all(f"case p1: {told}" in message for _, message in found)


@pytest.mark.parametrize(
    ("raters", "reference", "told"),
    [
        ([1, 2], [65535], "the reference gold marks with 65535, the masks with 1 and 2; write it with their labels"),
        ([1, 2], [255], "the reference gold marks with 255"),
        ([1, 2], [3], ""),
        ([1], [255], ""),  # marked or not is all that is asked
    ],
)
def test_references(tmp_path, raters, reference, told):
    masks = {f"masks/{name}": raters for name in "AB"}
    template = f"{tmp_path}/known/{{reference}}/{{case}}.npy"
    found = errors(given(tmp_path, masks, {"known/gold": reference}, reference=template))
    assert [kind for kind, _ in found] == ["reference"] * bool(told)
    assert all(f"case p1: {told}" in message for _, message in found)


@pytest.mark.parametrize(("reference", "told"), [([1, 7], "holds 7, not among the labels declared"), ([2], "")])
def test_references_of_labels_that_are_declared(tmp_path, reference, told):
    masks, template = {f"masks/{name}": [1, 2] for name in "AB"}, f"{tmp_path}/known/{{reference}}/{{case}}.npy"
    options = {"reference": template, "labels": {1: "gland", 2: "tumour"}}
    found = errors(given(tmp_path, masks, {"known/gold": reference}, **options))
    assert [kind for kind, _ in found] == ["reference"] * bool(told)
    assert all(f"case p1: the reference gold {told}" in message for _, message in found)


def test_regions_are_marked_or_not(tmp_path):
    masks, roi = {f"masks/{name}": [1] for name in "AB"}, f"{tmp_path}/roi/{{case}}.npy"
    tables = [given(tmp_path, masks, {"roi": [value]}, roi=roi).tally()["p1"] for value in (1, 255, 65535)]
    assert tables[0] == tables[1] == tables[2]


@pytest.mark.parametrize(("ranks", "told"), [([255], "B's holds 255, the others' 1 and 2; write it again"), ([3], "")])
def test_rank_maps(tmp_path, ranks, told):
    masks = {f"masks/{name}": [1] for name in "AB"}
    maps = {"ranks/A": [2, 1], "ranks/B": ranks}
    found = given(tmp_path, masks, maps, ranks=f"{tmp_path}/ranks/{{rater}}/{{case}}.npy")
    reading = found["p1"].read()
    assert errors(found) == ([("ranks", f"case p1, rank maps: {told}")] if told else [])
    if not told:
        assert reading.rank_tally[0].counts.sum() == 24 * 24
        return
    with pytest.raises(LabelError, match=f"case p1, rank maps: {told}"):
        reading.rank_tally  # noqa: B018


# -- how often studies are refused, simulated --------------------------------------------------------

SIZES = {(2, 5): 0.10, (3, 10): 0.02, (5, 30): 0.0}
"""Raters and cases, and the largest share of studies of several labels that may be refused by mistake."""


def is_refused(masks):
    try:
        mt.Study.from_arrays(masks).tally()
    except LabelError:
        return True
    return False


def of_one_class(chance, raters, cases, labels):
    """Lesions: one class in each image; raters name another one in 10% of their readings."""
    classes = chance.integers(1, labels + 1, cases)
    named = np.where(
        chance.random((cases, raters)) < 0.1, chance.integers(1, labels + 1, (cases, raters)), classes[:, None]
    )
    return {
        f"p{case}": {f"R{rater}": [[0, value]] for rater, value in enumerate(row)} for case, row in enumerate(named)
    }


def of_organs(chance, raters, cases, labels):
    """Organs: each in half of the images; raters miss 10% of them."""
    there = chance.random((cases, 1, labels)) < 0.5
    there[~there.any(axis=(1, 2)), :, 0] = True
    marks = np.where(there & (chance.random((cases, raters, labels)) > 0.1), np.arange(1, labels + 1), 0)
    return {f"p{case}": {f"R{rater}": [[0, *row]] for rater, row in enumerate(here)} for case, here in enumerate(marks)}


@pytest.mark.slow
@pytest.mark.parametrize("draw", [of_one_class, of_organs])
@pytest.mark.parametrize(("raters", "cases"), SIZES)
def test_how_often_studies_of_several_labels_are_refused_by_mistake(raters, cases, draw):
    chance, number = np.random.default_rng([raters, cases]), 600 // cases
    refused = [is_refused(draw(chance, raters, cases, labels)) for labels in (2, 3) for _ in range(2 * number)]
    assert np.mean(refused) <= SIZES[raters, cases]


@pytest.mark.slow
@pytest.mark.parametrize(("raters", "cases"), SIZES)
def test_one_wrong_file_is_always_refused(raters, cases):
    chance = np.random.default_rng([raters, cases, 1])
    for _ in range(600 // cases):
        masks = {f"p{case}": {f"R{rater}": [[0, 1]] for rater in range(raters)} for case in range(cases)}
        masks[f"p{chance.integers(cases)}"][f"R{chance.integers(raters)}"] = [
            [0, int(chance.choice([2, 7, 255, 65535]))]
        ]
        assert is_refused(masks)
