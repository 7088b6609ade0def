"""The consensus of ``fuse`` in the format and on the grid that the masks came in."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from study_folders import disc, files, pixels, run, table, volume, write_nifti, write_npy, write_nrrd, write_png

AFFINE = np.array([[0, -0.7, 0, 10], [0.5, 0, 0, -3], [0, 0, 2.5, 7], [0, 0, 0, 1]])
SPREAD = {"A": 0, "B": 1, "C": 3}


def fused(capsys, template, out, *options):
    """vote, staple and lsml; the folder of results."""
    line = ["fuse", template, "--out", out, "--consensus", "vote:0.5,staple,lsml", "--jobs", 1]
    done = run(capsys, *line, *options)
    assert (done.status, done.err) == (0, "")
    return out / "fuse"


@pytest.mark.parametrize("suffix", [".nii.gz", ".nii"])
def test_nifti(suffix, capsys, tmp_path):
    import nibabel

    for rater, x in SPREAD.items():
        (tmp_path / rater).mkdir()
        nibabel.save(nibabel.Nifti1Image(volume(x=x), AFFINE), tmp_path / rater / f"p1{suffix}")
    out = fused(capsys, tmp_path / f"{{rater}}/{{case}}{suffix}", tmp_path / "out")
    for method in ("vote-0.5", "staple", "lsml"):
        hard, soft = out / f"consensus/{method}/p1{suffix}", out / f"probability/{method}/p1.nii.gz"
        for path, kind in ((hard, np.uint8), (soft, np.float32)):
            image = nibabel.load(path)
            assert image.get_data_dtype() == kind
            assert image.shape == (24, 24, 5)
            assert np.allclose(image.affine, AFFINE, atol=1e-6)
            assert np.isfinite(np.asarray(image.dataobj)).all()
        marked = np.asarray(nibabel.load(hard).dataobj)
        assert marked.any()
    vote = np.asarray(nibabel.load(out / f"consensus/vote-0.5/p1{suffix}").dataobj)
    assert (vote == (sum(volume(x=x) for x in SPREAD.values()) >= 2)).all()
    before = {path: path.read_bytes() for path in files(out)}
    for path in (p for p in files(out) if p.name == f"p1{suffix}"):
        path.unlink()
    fused(capsys, tmp_path / f"{{rater}}/{{case}}{suffix}", tmp_path / "out")
    assert {path: path.read_bytes() for path in files(out)} == before


def test_nrrd(capsys, tmp_path):
    import nrrd

    for rater, x in SPREAD.items():
        write_nrrd(tmp_path / rater / "p1.nrrd", volume(x=x), origin=4)
    out = fused(capsys, tmp_path / "{rater}/{case}.nrrd", tmp_path / "out")
    array, header = nrrd.read(str(out / "consensus/vote-0.5/p1.nrrd"))
    assert header["space"] == "left-posterior-superior"
    assert np.allclose(header["space origin"], [4, 0, 0])
    assert np.allclose(header["space directions"], np.eye(3))
    assert (array == (sum(volume(x=x) for x in SPREAD.values()) >= 2)).all()
    assert (out / "probability/staple/p1.tif").is_file()


def test_npz_and_npy_become_npy(capsys, tmp_path):
    stack = np.stack([volume(x=x) for x in SPREAD.values()])
    np.savez(tmp_path / "masks.npz", p1=stack, p2=stack[::-1])
    out = fused(capsys, tmp_path / "masks.npz/{case}[{rater}]", tmp_path / "out")
    for case in ("p1", "p2"):
        assert (np.load(out / f"consensus/vote-0.5/{case}.npy") == (stack.sum(axis=0) >= 2)).all()
    write_npy(tmp_path / "A/p1.npy", disc())
    write_npy(tmp_path / "B/p1.npy", disc(x=2))
    out = fused(capsys, tmp_path / "{rater}/{case}.npy", tmp_path / "out2")
    assert (np.load(out / "consensus/vote-0.5/p1.npy") == (disc() | disc(x=2))).all()
    assert pixels(out / "probability/staple/p1.tif").dtype == np.float32


@pytest.mark.parametrize(("suffix", "kept"), [(".tif", ".tif"), (".bmp", ".png"), (".gif", ".png")])
def test_other_formats(suffix, kept, capsys, tmp_path):
    for rater, x in SPREAD.items():
        write_png(tmp_path / rater / f"p1{suffix}", disc(x=x))
    out = fused(capsys, tmp_path / f"{{rater}}/{{case}}{suffix}", tmp_path / "out")
    assert (pixels(out / f"consensus/vote-0.5/p1{kept}") == (sum(disc(x=x) for x in SPREAD.values()) >= 2)).all()


def test_arrays_in_memory(tmp_path):
    study = mt.Study.from_arrays({"p1": {r: disc(x=x) for r, x in SPREAD.items()}})
    mt.fuse(study, consensus="vote:0.5,staple", out=tmp_path)
    marked = sum(disc(x=x) for x in SPREAD.values()) >= 2
    assert (np.load(tmp_path / "fuse/consensus/vote-0.5/p1.npy") == marked).all()


def test_names_that_need_care(capsys, tmp_path):
    """Spaces, brackets and backslashes; two names that would become one file stay two."""
    names = ["left [1]", "a\\b", "a_b"]
    for rater, x in SPREAD.items():
        for case in names:
            write_png(tmp_path / "masks" / rater / f"{case}.png", disc(x=x))
    out = fused(capsys, tmp_path / "masks/{rater}/{case}.png", tmp_path / "out")
    assert len(files(out / "consensus/staple")) == len(files(out / "cases")) == 3
    assert {row["case"] for row in table(out / "convergence.csv")} == set(names)


def test_level_sets_know_the_size_of_a_voxel(capsys, tmp_path):
    import nibabel

    from manytruths import lsml

    rng, masks = np.random.default_rng(0), {}
    for rater, x in SPREAD.items():
        masks[rater] = volume(x=x) ^ (rng.random((24, 24, 5)) < 0.08).astype(np.uint8)
        write_nifti(tmp_path / rater / "p1.nii.gz", masks[rater], (1, 1, 6))
    out = fused(capsys, tmp_path / "{rater}/{case}.nii.gz", tmp_path / "out", "--no-pictures")
    found = np.asarray(nibabel.load(out / "consensus/lsml/p1.nii.gz").dataobj) > 0
    assert (found == lsml(masks, spacing=(1, 1, 6)).hard).all()
    assert (found != lsml(masks).hard).any()
