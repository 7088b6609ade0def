"""Data lists for MONAI, read by MONAI's own loader."""

from __future__ import annotations

import numpy as np
import pytest
from export_studies import (
    SHAPE,
    colour,
    random_masks,
    read_json,
    template,
    to_monai,
    write_case,
    write_cases,
    write_volumes,
)

import manytruths as mt
from study_folders import files, pixels, run, table, write_npy, write_png

monai_data = pytest.importorskip("monai.data", exc_type=ImportError)


def entries(out):
    return {entry["case"]: entry for entry in monai_data.load_decathlon_datalist(out / "datalist.json")}


def loaded(entry, *keys, by="PILReader"):
    """Arrays with the channel first; MONAI turns pictures, so that they are turned back."""
    from monai.transforms import LoadImaged

    found = LoadImaged(keys, by, ensure_channel_first=True, image_only=True)(entry)
    return [np.asarray(found[key]).swapaxes(-1, -2) if by == "PILReader" else np.asarray(found[key]) for key in keys]


def with_gap(folder):
    study = write_cases(folder)
    (folder / "masks/B/p2.png").unlink()
    del study["p2"]["B"]
    return study


def test_monai_reads_all_that_raters_marked(capsys, tmp_path):
    study = with_gap(tmp_path)
    found = entries(to_monai(capsys, tmp_path))
    assert list(found) == list(study)
    for case, masks in study.items():
        image, stack, label = loaded(found[case], "image", "annotations", "label")
        assert image.shape == (1, *SHAPE)
        assert (image[0] == pixels(tmp_path / f"images/{case}.png")).all()
        nobody = np.full(SHAPE, 255)
        assert (stack == np.stack([masks.get(rater, nobody) for rater in "ABC"])).all()
        assert found[case]["present"] == [int(rater in masks) for rater in "ABC"]
        assert (label[0] == mt.paint(mt.consensus(masks, "staple").hard, masks)).all()


@pytest.mark.parametrize("method", ["vote:0.5", "staple"])
def test_soft_targets_are_shares_or_probabilities(method, capsys, tmp_path):
    study = with_gap(tmp_path)
    found = entries(to_monai(capsys, tmp_path, "--disputed", "soft", "--consensus", method))
    for case, masks in study.items():
        assert found[case]["label"] == found[case]["soft"]
        (soft,) = loaded(found[case], "label")
        expected = np.mean([*masks.values()], axis=0)
        if method == "staple":
            truth = mt.consensus(masks, "staple")
            expected = mt.paint(truth.probability, masks)
        assert soft.dtype == np.float32
        assert np.abs(soft[0] - expected).max() < 1e-6
        assert len(np.unique(soft)) > 2


def test_soft_targets_of_several_labels_are_channels_that_sum_to_one(capsys, tmp_path):
    study = write_cases(tmp_path, labels=3)
    found = entries(to_monai(capsys, tmp_path, "--consensus", "plurality"))
    for case, masks in study.items():
        (soft,) = loaded(found[case], "soft")
        stack = np.stack([*masks.values()])
        assert soft.shape == (3, *SHAPE)
        for label in range(3):
            assert np.abs(soft[label] - (stack == label).mean(axis=0)).max() < 1e-6


def test_a_label_that_a_case_lacks_has_no_chance(capsys, tmp_path):
    write_case(tmp_path, "p1", random_masks(1, labels=3))
    write_case(tmp_path, "p2", random_masks(2, labels=2))
    found = entries(to_monai(capsys, tmp_path, "--consensus", "staple"))
    (soft,) = loaded(found["p2"], "soft")
    assert soft.shape == (3, *SHAPE)
    assert not soft[2].any()
    assert np.allclose(soft.sum(axis=0), 1)


def test_disputed_pixels(capsys, tmp_path):
    study = with_gap(tmp_path)
    found = entries(to_monai(capsys, tmp_path, "--disputed", "ignore"))
    for case, masks in study.items():
        differ = np.ptp(np.stack([*masks.values()]), axis=0) > 0
        label, disputed, reference = loaded(found[case], "label", "disputed", "reference")
        assert (disputed[0] == differ).all()
        assert (label[0] == np.where(differ, 2, masks["A"])).all()
        assert set(np.unique(reference)) == {0, 1}
    assert read_json(tmp_path / "list/datalist.json")["ignore"] == 2


def test_replicas(capsys, tmp_path):
    study = with_gap(tmp_path)
    out = to_monai(capsys, tmp_path, "--disputed", "replicate")
    listed = monai_data.load_decathlon_datalist(out / "datalist.json")
    assert len(listed) == 11
    for entry in listed:
        assert (loaded(entry, "label")[0][0] == study[entry["case"]][entry["rater"]]).all()
    assert all(len({e["fold"] for e in listed if e["subject"] == subject}) == 1 for subject in study)


def test_what_was_not_rated(capsys, tmp_path):
    masks = random_masks(1)
    masks["A"][0, :2] = masks["B"][0, :1] = masks["C"][0, :1] = 9
    for case in ("p1", "p2"):
        write_case(tmp_path, case, masks)
    found = entries(to_monai(capsys, tmp_path, "--void", 9))
    stack, label, disputed, soft = loaded(found["p1"], "annotations", "label", "disputed", "soft")
    assert stack[:, 0, 0].tolist() == [255, 255, 255]
    assert stack[0, 0, 1] == 255
    assert (label[0, 0, 0], disputed[0, 0, 0], soft[0, 0, 0]) == (2, 255, 0)
    assert (label == 2).sum() == (disputed == 255).sum() == 1


def test_volumes(capsys, tmp_path):
    import nibabel

    write_volumes(tmp_path)
    found = entries(to_monai(capsys, tmp_path, ending=".nii.gz"))
    for case, entry in found.items():
        image, stack, soft = loaded(entry, "image", "annotations", "soft", by=None)
        assert (image[0] == np.asarray(nibabel.load(tmp_path / f"images/{case}.nii.gz").dataobj)).all()
        assert stack.shape == (2, 24, 24, 5)
        assert (stack[1] == np.asarray(nibabel.load(tmp_path / f"masks/B/{case}.nii.gz").dataobj)).all()
        assert soft.dtype == np.float32


def test_images_stay_where_they_are(capsys, tmp_path):
    write_cases(tmp_path)
    out = to_monai(capsys, tmp_path, "--link")
    assert not (out / "images").exists()
    assert {entry["image"] for entry in entries(out).values()} == {str(p) for p in files(tmp_path / "images")}
    for entry in entries(out).values():
        image, stack = loaded(entry, "image", "annotations")
        assert image.shape[1:] == stack.shape[1:]


def test_images_that_monai_would_turn_otherwise_are_written_all_the_same(capsys, tmp_path):
    study = write_cases(tmp_path)
    for case in study:
        write_npy(tmp_path / f"arrays/{case}.npy", np.arange(480, dtype=np.uint16).reshape(SHAPE))
    out = to_monai(capsys, tmp_path, "--link", images="arrays/{case}.npy")
    image, stack = loaded(entries(out)["p1"], "image", "annotations")
    assert image.shape[1:] == stack.shape[1:] == SHAPE


def test_colour_channels_come_first(capsys, tmp_path):
    study = write_cases(tmp_path)
    for case in study:
        write_png(tmp_path / f"images/{case}.png", colour())
    out = to_monai(capsys, tmp_path)
    (image,) = loaded(entries(out)["p1"], "image")
    assert (image == np.moveaxis(colour(), -1, 0)).all()
    assert read_json(out / "datalist.json")["modality"] == {"0": "R", "1": "G", "2": "B"}


def test_exchangeable_raters_are_slots(capsys, tmp_path):
    study = write_cases(tmp_path)
    line = ["export", "monai", *template(tmp_path), "--to", tmp_path / "list", "--jobs", 1, "--raters", "exchangeable"]
    done = run(capsys, *line, "--consensus", "vote:0.5", "--disputed", "replicate")
    assert (done.status, done.err) == (0, "")
    assert "a slot, not the same person" in done.out
    (soft,) = loaded(entries(tmp_path / "list")["p1"], "soft")
    assert np.abs(soft[0] - np.mean([*study["p1"].values()], axis=0)).max() < 1e-6


def test_a_data_list_is_the_same_again(capsys, tmp_path):
    with_gap(tmp_path)
    first = {path: path.read_bytes() for path in files(to_monai(capsys, tmp_path))}
    line = ["export", "monai", *template(tmp_path), "--to", tmp_path / "list", "--jobs", 3]
    assert run(capsys, *line).status == 0
    assert {path: path.read_bytes() for path in files(tmp_path / "list")} == first


def test_names_are_mapped_for_monai_too(capsys, tmp_path):
    for case in ("ä", "b"):
        write_case(tmp_path, case, random_masks(1, raters=["Dr. Müller", "x"]))
    out = to_monai(capsys, tmp_path)
    found = entries(out)
    assert loaded(found["ä"], "annotations")[0].shape == (2, *SHAPE)
    assert all(str(path.relative_to(out)).isascii() for path in files(out))
    assert read_json(out / "datalist.json")["raters"] == ["Dr. Müller", "x"]
    assert {row["case"] for row in table(out / "cases.csv")} == {"ä", "b"}
