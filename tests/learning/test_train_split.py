"""Who is trained on and who is tested on: never the same subject."""

from __future__ import annotations

import pytest

from manytruths import CallError, FormatError, InputError
from manytruths.learning.training import folds_by_subject, read_split, split_by_subject
from training_folders import write_training


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return write_training(tmp_path_factory.mktemp("split"), subjects=10, frames=3, size=16, raters="AB").open()


def kept(study, parts):
    return {study[name].subject for name, part in parts.items() if part == "test"}


def test_a_share_of_the_subjects_is_kept_whole(study):
    for seed in range(20):
        parts = split_by_subject(study, 0.3, seed)
        trained = {study[name].subject for name, part in parts.items() if part == "train"}
        assert list(parts) == [case.name for case in study]
        assert len(kept(study, parts)) == 3
        assert not trained & kept(study, parts)
    assert len({frozenset(kept(study, split_by_subject(study, 0.3, seed))) for seed in range(20)}) > 5
    assert split_by_subject(study, 0.3, 1) == split_by_subject(study, 0.3, 1)


@pytest.mark.parametrize(("share", "count"), [(0.001, 1), (0.5, 5), (0.999, 9)])
def test_someone_is_always_left_on_either_side(study, share, count):
    assert len(kept(study, split_by_subject(study, share))) == count


@pytest.mark.parametrize("folds", [2, 3, 10])
def test_folds_test_every_case_once(study, folds):
    parts = folds_by_subject(study, folds, seed=4)
    assert len(parts) == folds
    for case in study:
        assert [fold[case.name] for fold in parts].count("test") == 1
    sizes = [len(kept(study, fold)) for fold in parts]
    assert max(sizes) - min(sizes) <= 1
    for fold in parts:
        assert not kept(study, fold) & {study[n].subject for n, part in fold.items() if part == "train"}


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5])
def test_a_share_out_of_range_is_refused(study, share):
    with pytest.raises(CallError, match="above 0 and below 1"):
        split_by_subject(study, share)


@pytest.mark.parametrize("folds", [0, 1, 11])
def test_folds_out_of_range_are_refused(study, folds):
    with pytest.raises(CallError, match="from 2 to the number of subjects, 10"):
        folds_by_subject(study, folds)


def test_one_subject_cannot_be_split(tmp_path):
    study = write_training(tmp_path, subjects=1, frames=3, size=16).open()
    with pytest.raises(InputError, match="one subject, s01, so none is left to test on"):
        split_by_subject(study)


def split_file(tmp_path, study, **changes):
    rows = {case.name: "test" if case.subject == "s03" else "train" for case in study} | changes
    path = tmp_path / "split.csv"
    path.write_text("case,part\n" + "".join(f"{case},{part}\n" for case, part in rows.items() if part))
    return path


def test_a_split_is_read_as_it_stands(tmp_path, study):
    assert kept(study, read_split(study, split_file(tmp_path, study))) == {"s03"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"s01-f2": "test"}, "subject s01 is in both train and test"),
        ({"s01-f2": "validation"}, "the part of case s01-f2 must be train or test; got 'validation'"),
        ({"s01-f2": ""}, "the part of case s01-f2 must be train or test; got ''"),
        ({f"s03-f{k}": "train" for k in (1, 2, 3)}, "no case has the part test"),
    ],
)
def test_a_split_that_cannot_be_used_says_why(tmp_path, study, changes, said):
    path = split_file(tmp_path, study, **changes)
    with pytest.raises(InputError, match=said) as caught:
        read_split(study, path)
    assert str(path) in str(caught.value)


def test_a_split_that_is_not_there_or_has_other_columns(tmp_path, study):
    with pytest.raises(FormatError, match=r"split.csv: there is no such file"):
        read_split(study, tmp_path / "split.csv")
    (tmp_path / "split.csv").write_text("image,part\na,train\n")
    with pytest.raises(FormatError, match="has no column 'case'"):
        read_split(study, tmp_path / "split.csv")
