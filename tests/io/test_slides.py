"""Slides as images: real files of four kinds, made small, through the libraries that read those of scanners."""

import json
import pickle
import sys

import numpy as np
import pytest
import tifffile

import manytruths as mt
from manytruths.cli import status
from manytruths.core import tiles
from manytruths.io import Location, files, probe, read_image, read_mask, slides
from manytruths.io.pyramids import read_crop, read_overview
from manytruths.io.slides import open_slide
from slide_files import picture, write_dicom, write_mirax, write_ndpi, write_svs

SHAPE = (120, 160)
WRITERS = {"p1.svs": write_svs, "p1.ndpi": write_ndpi, "p1.mrxs": write_mirax, "p1": write_dicom}
LOSSY = ("p1.ndpi", "p1.mrxs")


@pytest.fixture(params=WRITERS)
def slide(request, tmp_path):
    WRITERS[request.param](tmp_path / request.param, picture(SHAPE))
    return tmp_path / request.param


def close(found, wanted, path):
    return np.abs(found.astype(int) - wanted).max() <= (4 if path.name in LOSSY else 0)


def test_size_spacing_and_pixels(slide):
    grid = probe(slide)
    assert grid.shape == SHAPE
    assert grid.spacing == pytest.approx((0.00025, 0.00025))
    image = read_image(slide)
    assert image.array.shape == (*SHAPE, 3)
    assert close(image.array, picture(SHAPE), slide)


def test_parts_of_levels(slide, monkeypatch):
    opened = open_slide(Location(slide))
    assert opened.shape == (*SHAPE, 3)
    assert opened.levels[0] == 1
    assert opened.shapes[0] == SHAPE
    whole = picture(SHAPE)
    where = slice(7, 90), slice(33, 130)
    assert close(opened[where], whole[where], slide)
    monkeypatch.setattr(slides, "AT_ONCE", 500)
    assert close(opened.read(0, where), whole[where], slide)
    assert opened.read(0, (slice(5, 5), slice(0, 9))).shape == (0, 9, 3)
    again = pickle.loads(pickle.dumps(opened))
    assert close(again.read(0, where), whole[where], slide)


def test_lower_levels(tmp_path):
    write_svs(tmp_path / "p1.svs", picture(SHAPE), levels=(2, 4))
    write_dicom(tmp_path / "p1", picture(SHAPE), levels=(1, 2, 4))
    for name in ("p1.svs", "p1"):
        opened = open_slide(Location(tmp_path / name))
        assert opened.levels == (1, 2, 4)
        assert opened.shapes == (SHAPE, (60, 80), (30, 40))
        np.testing.assert_array_equal(opened.read(2, (slice(None), slice(3, 20))), picture(SHAPE)[::4, ::4][:, 3:20])


def test_one_file_of_dicom(tmp_path):
    (path,) = write_dicom(tmp_path / "p1", picture(SHAPE), levels=(1,)).iterdir()
    assert probe(path).shape == SHAPE
    np.testing.assert_array_equal(read_image(path).array, picture(SHAPE))


def test_large_slides_are_known_by_their_header(slide, monkeypatch):
    monkeypatch.setattr(files, "LARGE", 1000)
    monkeypatch.setattr(slides.Slide, "read", None)
    assert probe(slide).shape == SHAPE
    with pytest.raises(mt.FormatError, match="too many to be read at once"):
        read_image(slide)
    assert read_mask(Location(slide, blank="image")).grid.shape == SHAPE


def test_without_spacing(tmp_path):
    write_svs(tmp_path / "p1.svs", picture(SHAPE), mpp=None)
    write_svs(tmp_path / "p2.svs", picture(SHAPE), mpp=0)
    for name in ("p1.svs", "p2.svs"):
        assert probe(tmp_path / name).spacing is None


def test_a_slide_is_no_mask(slide):
    with pytest.raises(mt.FormatError, match="is a slide, which is an image; give it as images"):
        read_mask(slide)


def test_truncated(tmp_path):
    path = write_svs(tmp_path / "p1.svs", picture(SHAPE))
    whole = path.read_bytes()
    for share in (0.1, 0.5, 0.9):
        path.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(mt.FormatError, match=r"p1\.svs: is damaged or cut short"):
            read_image(path)
    path.write_bytes(b"")
    with pytest.raises(mt.FormatError, match="is empty"):
        probe(path)
    path.write_text("a slide")
    with pytest.raises(mt.FormatError, match=r"p1\.svs: is damaged or cut short \(its header cannot be read"):
        probe(path)


def test_a_tile_that_cannot_be_decoded(tmp_path):
    path = write_svs(tmp_path / "p1.svs", picture(SHAPE), levels=())
    with tifffile.TiffFile(path) as file:
        start = file.pages[0].dataoffsets[1]
    data = bytearray(path.read_bytes())
    data[start : start + 40] = b"\0" * 40
    path.write_bytes(data)
    with pytest.raises(mt.FormatError, match=r"rows 0 to 120, columns 0 to 160 of level 0 cannot be read"):
        read_image(path)


def test_levels_that_disagree(tmp_path):
    path = write_svs(tmp_path / "p1.svs", picture(SHAPE), levels=((2, 4),))
    with pytest.raises(mt.FormatError, match=r"its pyramid disagrees: level 1 has 60×40 pixels, level 0 120×160"):
        probe(path)


def test_dicom_that_is_no_slide(tmp_path):
    write_dicom(tmp_path / "two", picture(SHAPE), levels=(1,))
    write_dicom(tmp_path / "two", picture(SHAPE, seed=1), levels=(1,))
    with pytest.raises(mt.FormatError, match=r"two: holds 2 slides \(series of DICOM\); give each a folder"):
        probe(tmp_path / "two")
    write_dicom(tmp_path / "label", picture((30, 30)), levels=(1,), kind="LABEL")
    with pytest.raises(mt.FormatError, match="holds a label or an overview alone"):
        probe(tmp_path / "label")
    (path,) = write_dicom(tmp_path / "other", picture(SHAPE), levels=(1,)).iterdir()
    path.write_bytes(path.read_bytes().replace(b"77.1.6", b"77.1.5"))
    with pytest.raises(mt.FormatError, match="holds no whole slide image in DICOM"):
        probe(tmp_path / "other")
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(mt.FormatError, match=r"the header of .*\.dcm cannot be read"):
        probe(tmp_path / "other")


@pytest.mark.parametrize(("name", "module"), [("p1.svs", "openslide"), ("p1", "wsidicom")])
def test_without_the_library(tmp_path, monkeypatch, name, module):
    WRITERS[name](tmp_path / name, picture(SHAPE))
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(mt.FormatError, match=rf'needs {module}; install it with pip install "manytruths\[slides\]"'):
        probe(tmp_path / name)


def write_masks(root, shape=SHAPE):
    for rater in "AB":
        (root / rater).mkdir(parents=True)
        mask = np.zeros(shape, np.uint8)
        mask[10:60, 20 : 70 + 5 * (rater == "B")] = 1
        mt.io.write_map(root / rater / "p1.png", mask)
    return f"{root}/{{rater}}/{{case}}.png"


def test_a_study_with_slides_as_images(slide, tmp_path):
    masks = write_masks(tmp_path / "masks")
    template = f"{tmp_path}/{slide.name.replace('p1', '{case}')}"
    study = mt.Study.open(masks, images=template)
    picture_found, why = study["p1"].read().picture
    assert why == ""
    assert picture_found.shape == (*SHAPE, 3)
    result = mt.check(study)
    assert not [p for p in result.problems if p.kind == "image"]


def test_overview_and_crops(slide, monkeypatch):
    monkeypatch.setattr(slides, "TILE", 32)
    monkeypatch.setattr(tiles, "TILE_BYTES", 1 << 12)
    whole, where = picture(SHAPE), (slice(7, 90), slice(33, 130))
    assert close(read_crop(Location(slide), where), whole[where], slide)
    levels = open_slide(Location(slide)).shapes
    small = read_overview(Location(slide), 40)
    assert small.shape == (30, 40, 3)
    if levels[-1] != (30, 40):
        means = picture(SHAPE).reshape(30, 4, 40, 4, 3).mean(axis=(1, 3))
        # a level of half the size was averaged before, and rounded
        assert np.abs(small - means).max() <= 5


def test_the_report_of_a_large_case_shows_its_slide(slide, tmp_path, monkeypatch):
    masks = write_masks(tmp_path / "masks")
    template = f"{tmp_path}/{slide.name.replace('p1', '{case}')}"
    monkeypatch.setattr(files, "LARGE", 1000)
    study = mt.Study.open(masks, images=template)
    assert study["p1"].read(by_tile=True).is_large
    agreed = mt.agree(study, out=tmp_path / "out")
    assert not [note for note in agreed.notes if "image" in note]
    assert {row.extra[0] for row in agreed.tables["features"].rows} >= {"intensity", "contrast"}
    report = mt.report(study, to=tmp_path / "page.html")
    view = json.loads(report.findings.views["p1"].inside)
    assert view["image"] is not None
    assert all(part["image"] is not None for part in view["parts"])


def test_wildcards_find_slides(tmp_path):
    write_svs(tmp_path / "p1.svs", picture(SHAPE))
    study = mt.Study.open(write_masks(tmp_path / "masks"), images=f"{tmp_path}/{{case}}.*")
    assert study["p1"].image.path.name == "p1.svs"


def test_masks_of_another_level(tmp_path):
    write_svs(tmp_path / "p1.svs", picture(SHAPE), levels=(2, 4))
    masks = write_masks(tmp_path / "masks", shape=(60, 80))
    (problem,) = [
        p for p in mt.check(mt.Study.open(masks, images=f"{tmp_path}/{{case}}.svs")).problems if p.kind == "image"
    ]
    assert "unlike the masks: they have the size of its level 1; export them for the full image" in problem.message


def test_check_names_slides_that_nobody_marked(tmp_path):
    for case in ("p1", "p2", "other"):
        write_svs(tmp_path / f"{case}.svs", picture(SHAPE))
    result = mt.check(mt.Study.open(write_masks(tmp_path / "masks"), images=f"{tmp_path}/{{case}}.svs"))
    (problem,) = [p for p in result.problems if p.kind == "image"]
    assert problem.message.startswith("images of 2 cases that nobody marked are not used: ")
    assert "other" in problem.message


def test_slides_without_masks(tmp_path, capsys):
    write_svs(tmp_path / "p1.svs", picture(SHAPE))
    images = f"{tmp_path}/{{case}}.svs"
    line = ["agree", f"{tmp_path}/masks/{{rater}}/{{case}}.png", "--images", images, "--out", f"{tmp_path}/out"]
    assert status(line) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    (tmp_path / "A").mkdir()
    (tmp_path / "B").mkdir()
    for rater in "AB":
        write_svs(tmp_path / rater / "p1.svs", picture(SHAPE))
    assert status(["agree", f"{tmp_path}/{{rater}}/{{case}}.svs", "--out", f"{tmp_path}/out", "--jobs", "1"]) == 1
    said = capsys.readouterr().err.strip()
    assert len(said.splitlines()) == 1
    assert "is a slide, which is an image" in said
