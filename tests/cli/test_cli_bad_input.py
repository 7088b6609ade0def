"""Bad input, through the command line: one line that says who, what and what to do; status 1; nothing half-written."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from study_folders import (
    command,
    disc,
    files,
    run,
    table,
    untidy,
    volume,
    write_nifti,
    write_npy,
    write_nrrd,
    write_png,
    write_study,
)

Mistake = Callable[[Path], list[str]]
"""Writes a study with a mistake into a folder and gives the arguments to open it with."""

MISTAKES: dict[str, tuple[Mistake, tuple[str, ...]]] = {}
"""What was done wrong, and what the message must say."""


def mistake(*said: str) -> Callable[[Mistake], Mistake]:
    def register(write: Mistake) -> Mistake:
        MISTAKES[write.__name__] = write, said
        return write

    return register


def bad_mask(folder: Path, array: np.ndarray, **options: object) -> list[str]:
    template = write_study(folder)
    write_png(folder / "masks/B/p2.png", array, **options)
    return [template]


def bad_bytes(folder: Path, content: bytes) -> list[str]:
    template = write_study(folder)
    (folder / "masks/B/p2.png").write_bytes(content)
    return [template]


@mistake("case p2", "rater B", "25×24 instead of 24×24", "rater A", "resample", "exclude")
def other_size(folder: Path) -> list[str]:
    return bad_mask(folder, np.vstack([disc(), disc()[:1]]))


@mistake("case p1", "rater B", "origin is 7.5 mm away", "--resample nearest")
def other_nifti_origin(folder: Path) -> list[str]:
    for rater, origin in (("A", 0), ("B", 7.5)):
        write_nifti(folder / rater / "p1.nii.gz", volume(), origin=origin)
    return [f"{folder}/{{rater}}/{{case}}.nii.gz"]


@mistake("case p1", "rater B", "spacing 1×1×3 mm instead of 1×1×2 mm", "resample")
def other_nifti_spacing(folder: Path) -> list[str]:
    for rater, depth in (("A", 2), ("B", 3)):
        write_nifti(folder / rater / "p1.nii", volume(), spacing=(1, 1, depth))
    return [f"{folder}/{{rater}}/{{case}}.nii"]


@mistake("case p1", "rater B", "origin is 7.5 mm away", "--resample nearest")
def other_nrrd_origin(folder: Path) -> list[str]:
    for rater, origin in (("A", 0), ("B", 7.5)):
        write_nrrd(folder / rater / "p1.nrrd", volume(), origin=origin)
    return [f"{folder}/{{rater}}/{{case}}.nrrd"]


@mistake("case p1", "rater B", "affine", "no position", "rater A", "resample")
def png_beside_nifti(folder: Path) -> list[str]:
    write_png(folder / "A/p1.png", disc())
    write_nifti(folder / "B/p1.nii", disc())
    return [f"{folder}/{{rater}}/{{case}}.*"]


@mistake("case p2", "rater B", "p2.png", "cut short", "export or copy it again")
def truncated(folder: Path) -> list[str]:
    write_png(folder / "whole.png", disc())
    return bad_bytes(folder, (folder / "whole.png").read_bytes()[:60])


@mistake("case p2", "rater B", "p2.png", "not a PNG", "export it again")
def mislabelled(folder: Path) -> list[str]:
    write_nifti(folder / "other.nii", disc())
    return bad_bytes(folder, (folder / "other.nii").read_bytes())


@mistake("case p2", "rater B", "p2.png", "0 bytes", "export it again")
def empty_file(folder: Path) -> list[str]:
    return bad_bytes(folder, b"")


@mistake("B/p2.png", "is a folder", "move it away")
def folder_for_a_file(folder: Path) -> list[str]:
    template = write_study(folder)
    (folder / "masks/B/p2.png").unlink()
    (folder / "masks/B/p2.png").mkdir()
    return [template]


@mistake("matches nothing", "there is no", "correct the path")
def no_such_folder(folder: Path) -> list[str]:
    write_study(folder)
    return [f"{folder}/mask/{{rater}}/{{case}}.png"]


@mistake("matches nothing", "contains nothing like '{case}.tif'", "p1.png")
def no_such_ending(folder: Path) -> list[str]:
    write_study(folder)
    return [f"{folder}/masks/{{rater}}/{{case}}.tif"]


@mistake("matches nothing", "empty folder")
def nothing_there(folder: Path) -> list[str]:
    (folder / "masks").mkdir()
    return [f"{folder}/masks/{{rater}}/{{case}}.png"]


@mistake("rater 'A'", "rater 'A_1'", "case 'p1'", "separate the placeholders")
def ambiguous(folder: Path) -> list[str]:
    write_png(folder / "A_1_p1.png", disc())
    write_png(folder / "B_1_p1.png", disc())
    return [f"{folder}/{{rater}}_{{case}}.png"]


@mistake("has no {rater}", "replace the rater's name in the path by {rater}")
def no_rater_in_the_template(folder: Path) -> list[str]:
    write_study(folder)
    return [f"{folder}/masks/A/{{case}}.png"]


@mistake("has no {case}", "replace the case's name in the path by {case}")
def no_case_in_the_template(folder: Path) -> list[str]:
    write_study(folder)
    return [f"{folder}/masks/{{rater}}/p1.png"]


@mistake("{ratr} is not known", "did you mean {rater}?")
def misspelt_placeholder(folder: Path) -> list[str]:
    write_study(folder)
    return [f"{folder}/masks/{{ratr}}/{{case}}.png"]


@mistake("folder without a study.toml", "{rater}/{case}.png")
def bare_folder(folder: Path) -> list[str]:
    write_study(folder)
    return [f"{folder}/masks"]


@mistake("only one rater (A)", "needs two", "check that {rater}")
def one_rater(folder: Path) -> list[str]:
    return [write_study(folder, raters="A")]


@mistake("B/p2.png", "B/p2.tif", "remove one")
def two_files_for_one_mask(folder: Path) -> list[str]:
    write_study(folder)
    write_png(folder / "masks/B/p2.tif", disc())
    return [f"{folder}/masks/{{rater}}/{{case}}.*"]


def floats(folder: Path, wrong: float, dtype: type) -> list[str]:
    for rater in "AB":
        array = disc().astype(dtype)
        if rater == "B":
            array[3, 3] = wrong
        write_npy(folder / rater / "p1.npy", array)
    return [f"{folder}/{{rater}}/{{case}}.npy"]


@mistake("case p1", "rater B", "p1.npy", "such as nan", "threshold or renumber")
def not_a_number(folder: Path) -> list[str]:
    return floats(folder, np.nan, float)


@mistake("case p1", "rater B", "p1.npy", "such as -1", "threshold or renumber")
def negative(folder: Path) -> list[str]:
    return floats(folder, -1, int)


@mistake("case p1", "rater B", "p1.npy", "such as 0.5", "threshold or renumber")
def fraction(folder: Path) -> list[str]:
    return floats(folder, 0.5, float)


@mistake("case p2", "rater B", "value 7", "1=gland", "declare it", "The mask holds 0, 7")
def undeclared_label(folder: Path) -> list[str]:
    return [*bad_mask(folder, disc() * 7), "--labels", "1=gland"]


def jpegs(folder: Path, suffix: str) -> None:
    for x, rater in enumerate("AB"):
        write_png(folder / rater / "p1.jpg", disc(64, x=x, radius=20) * 255)
        if suffix != ".jpg":
            Image.open(folder / rater / "p1.jpg").save(folder / rater / f"p1{suffix}")


@mistake("case p1", "rater A", "The mask holds 0, 1, 2", "JPEG", "export it again")
def jpeg_mask(folder: Path) -> list[str]:
    jpegs(folder, ".jpg")
    return [f"{folder}/{{rater}}/{{case}}.jpg"]


@mistake("case p1", "rater A", "The mask holds 0, 1, 2", "JPEG", "without a JPEG on the way")
def png_made_of_a_jpeg(folder: Path) -> list[str]:
    jpegs(folder, ".png")
    return [f"{folder}/{{rater}}/{{case}}.png"]


@mistake("case p1", "rater A", "value 1", "255=lesion", "The mask holds 0, 1, 2", "JPEG")
def jpeg_with_labels_declared(folder: Path) -> list[str]:
    jpegs(folder, ".jpg")
    return [f"{folder}/{{rater}}/{{case}}.jpg", "--labels", "255=lesion"]


@mistake("case p1", "rater A", "The mask holds 0, 1, 2", "JPEG")
def jpeg_united(folder: Path) -> list[str]:
    jpegs(folder, ".png")
    return [f"{folder}/{{rater}}/{{case}}.png", "--foreground", "any"]


@mistake("case p1", "rater A", "lesion: ", "JPEG")
def jpeg_of_a_structure(folder: Path) -> list[str]:
    for rater in "AB":
        write_png(folder / rater / "p1_lesion.jpg", disc(64, radius=20) * 255)
    return [f"{folder}/{{rater}}/{{case}}_{{label}}.jpg"]


@mistake("case p2", "rater B", "RGB picture", "3 channels", "save one channel")
def colour_picture(folder: Path) -> list[str]:
    return bad_mask(folder, np.stack([disc() * 255] * 3, axis=-1))


@mistake("A 1, B 255, C 1", "--foreground any", "declare")
def one_and_255(folder: Path) -> list[str]:
    template = write_study(folder)
    for case in ("p1", "p2"):
        write_png(folder / f"masks/B/{case}.png", disc() * 255)
    return [template]


@mistake("case p2", "A 1, B 255, C 1", "--foreground any", "declare")
def one_and_255_in_one_case(folder: Path) -> list[str]:
    return bad_mask(folder, disc() * 255)


@mistake("case p2", "A 1, B 65535, C 1", "--foreground any", "--labels")
def one_and_65535_in_one_case(folder: Path) -> list[str]:
    return bad_mask(folder, disc().astype(np.uint16) * 65535)


@mistake("case p2", "rater B marks with 2", "the other masks of the study with 1", "--foreground any", "--labels")
def one_and_2_in_one_case(folder: Path) -> list[str]:
    return bad_mask(folder, disc() * 2)


@mistake("case p2", "rater B", "p2.png", "is damaged or cut short", "check sum of chunk 'IDAT'", "copy it again")
def a_bit_flipped(folder: Path) -> list[str]:
    template = write_study(folder)
    path = folder / "masks/B/p2.png"
    data = bytearray(path.read_bytes())
    data[data.index(b"IDAT") + 20] ^= 16
    path.write_bytes(data)
    return [template]


def with_roi(folder: Path, roi: np.ndarray | None) -> list[str]:
    template = write_study(folder)
    write_png(folder / "roi/p1.png", disc(radius=11))
    if roi is not None:
        write_png(folder / "roi/p2.png", roi)
    return [template, "--roi", f"{folder}/roi/{{case}}.png"]


@mistake("case p2", "roi", "p2.png is empty", "draw it again")
def empty_region(folder: Path) -> list[str]:
    return with_roi(folder, disc() * 0)


@mistake("case p2", "roi", "30×30 instead of 24×24", "resample it")
def region_of_another_size(folder: Path) -> list[str]:
    return with_roi(folder, disc(30))


@mistake("case p2", "roi", "p2.png", "no such file")
def region_missing(folder: Path) -> list[str]:
    return with_roi(folder, None)


@mistake("case p1", "roi", "origin is 7.5 mm away", "resample it")
def region_elsewhere(folder: Path) -> list[str]:
    for rater in "AB":
        write_nifti(folder / "masks" / rater / "p1.nii", volume())
    write_nifti(folder / "roi/p1.nii", volume(radius=9), origin=7.5)
    return [f"{folder}/masks/{{rater}}/{{case}}.nii", "--roi", f"{folder}/roi/{{case}}.nii"]


def nifti_spacing(folder: Path, spacing: float) -> list[str]:
    for rater in "AB":
        write_nifti(folder / rater / "p1.nii", disc())
    content = bytearray((folder / "B/p1.nii").read_bytes())
    content[80:84] = struct.pack("<f", spacing)
    (folder / "B/p1.nii").write_bytes(content)
    return [f"{folder}/{{rater}}/{{case}}.nii"]


@mistake("case p1", "rater B", "spacing 0×1 mm", "write the true spacing")
def zero_spacing(folder: Path) -> list[str]:
    return nifti_spacing(folder, 0)


@mistake("case p1", "rater B", "spacing nan×1 mm", "write the true spacing")
def spacing_not_a_number(folder: Path) -> list[str]:
    return nifti_spacing(folder, float("nan"))


@mistake("case p1", "spacing is 1,1,1, for 2 axes")
def spacing_of_three_axes(folder: Path) -> list[str]:
    return [write_study(folder), "--spacing", "1,1,1"]


@mistake("case p2", "rater B", "60000×60000", "split it into tiles")
def bomb(folder: Path) -> list[str]:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 60000, 60000, 8, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(bytes(100_000)))
    return bad_bytes(folder, b"\x89PNG\r\n\x1a\n" + header + pixels + chunk(b"IEND", b""))


@mistake("case p2", "rater B", "p2.npy", "holds object", "save it as one of these")
def objects(folder: Path) -> list[str]:
    for rater in "AB":
        write_npy(folder / rater / "p2.npy", disc())
    np.save(folder / "B/p2.npy", disc().astype(object), allow_pickle=True)
    return [f"{folder}/{{rater}}/{{case}}.npy"]


@mistake("cases.csv", "p3", "correct or remove", "p1, p2")
def cases_that_are_not_there(folder: Path) -> list[str]:
    (folder / "cases.csv").write_text("case,group\np1,a\np3,b\n")
    return [write_study(folder), "--cases", f"{folder}/cases.csv"]


@mistake("cases.csv", "no column 'case'", "add it")
def cases_without_a_case(folder: Path) -> list[str]:
    (folder / "cases.csv").write_text("name,group\np1,a\n")
    return [write_study(folder), "--cases", f"{folder}/cases.csv"]


@mistake("cases.csv, line 3", "'p1' is listed twice")
def a_case_twice(folder: Path) -> list[str]:
    (folder / "cases.csv").write_text("case,group\np1,a\np1,b\n")
    return [write_study(folder), "--cases", f"{folder}/cases.csv"]


@mistake("cases.csv", "not text in UTF-8", "save it again")
def cases_in_latin_1(folder: Path) -> list[str]:
    (folder / "cases.csv").write_bytes("case,grüppe\np1,ä\n".encode("latin-1"))
    return [write_study(folder), "--cases", f"{folder}/cases.csv"]


@mistake("raters.csv", "there is no such file", "correct the path")
def raters_not_there(folder: Path) -> list[str]:
    return [write_study(folder), "--raters", f"{folder}/raters.csv"]


COLLECTED = ["folder_for_a_file", "one_rater", "two_files_for_one_mask", "cases_that_are_not_there"]
"""Mistakes that are met while the files are looked for, but do not keep ``check`` from going on."""

LOOKING = [
    "no_such_folder",
    "no_such_ending",
    "nothing_there",
    "ambiguous",
    "no_rater_in_the_template",
    "no_case_in_the_template",
    "misspelt_placeholder",
    "bare_folder",
    "cases_without_a_case",
    "a_case_twice",
    "cases_in_latin_1",
    "raters_not_there",
]
"""Mistakes that keep a study from being opened at all: ``check`` says them in one line, too."""


@pytest.mark.parametrize("name", MISTAKES)
def test_agree_says_what_is_wrong(name, tmp_path, capsys):
    write, said = MISTAKES[name]
    done = run(capsys, "agree", *write(tmp_path), "--out", tmp_path / "out", "--jobs", 1)
    assert done.status == 1
    assert [text for text in said if text not in done.line] == []
    assert not done.out
    assert not untidy(tmp_path / "out")
    assert not [p for p in files(tmp_path / "out") if p.parent.name != "heatmaps"]


@pytest.mark.parametrize("name", COLLECTED)
def test_check_goes_on_after_what_it_meets_while_looking(name, tmp_path, capsys):
    """Beside a damaged file, which it lists too."""
    write, said = MISTAKES[name]
    arguments = write(tmp_path)
    (tmp_path / "masks/A/p1.png").write_bytes(b"no picture")
    done = run(capsys, "check", *arguments, "--out", tmp_path / "out", "--jobs", 1)
    assert (done.status, done.err) == (1, "")
    errors = [row["message"] for row in table(tmp_path / "out/check/problems.csv") if row["severity"] == "error"]
    assert [text for text in said if text not in errors[0]] == []
    assert any("case p1, rater A" in message and "p1.png" in message for message in errors[1:])
    assert "Coverage" in done.out


@pytest.mark.parametrize("name", [n for n in MISTAKES if n not in LOOKING and n not in COLLECTED])
def test_check_lists_it(name, tmp_path, capsys):
    write, said = MISTAKES[name]
    done = run(capsys, "check", *write(tmp_path), "--out", tmp_path / "out", "--jobs", 1)
    assert (done.status, done.err) == (1, "")
    errors = [row for row in table(tmp_path / "out/check/problems.csv") if row["severity"] == "error"]
    first = errors[0]
    assert [text for text in said if text not in first["message"]] == []
    assert f"error {first['message']}" in done.out.splitlines()
    assert "Coverage" in done.out
    assert (first["case"] or "A 1, B 255") in first["message"]
    assert f"rater {first['rater']}" in first["message"] or first["rater"] == ""
    found = re.search(r"case (p\d), rater (\w):", first["message"])
    if found:
        assert (first["case"], first["rater"]) == found.groups()
    assert not untidy(tmp_path / "out")


@pytest.mark.parametrize("name", LOOKING)
def test_check_of_what_is_no_study(name, tmp_path, capsys):
    write, said = MISTAKES[name]
    done = run(capsys, "check", *write(tmp_path), "--out", tmp_path / "out", "--jobs", 1)
    assert done.status == 1
    assert [text for text in said if text not in done.line] == []
    assert not files(tmp_path / "out")


@pytest.mark.parametrize("name", ["truncated", "jpeg_mask", "two_files_for_one_mask"])
def test_no_traceback_in_another_process(name, tmp_path):
    write, said = MISTAKES[name]
    done = command("agree", *write(tmp_path), "--out", tmp_path / "out", "--jobs", 2)
    assert done.status == 1
    assert [text for text in said if text not in done.line] == []
    assert not untidy(tmp_path / "out")


def test_check_of_a_damaged_study_in_several_processes(tmp_path):
    done = command("check", *truncated(tmp_path), "--out", tmp_path / "out", "--jobs", 2)
    assert done.status == 1
    assert "1 error, 0 warnings" in done.out


def test_quiet_check_says_only_the_errors(tmp_path, capsys):
    done = run(capsys, "check", *truncated(tmp_path), "--out", tmp_path / "out", "--jobs", 1, "--quiet")
    assert (done.status, done.out) == (1, "")
    assert "case p2, rater B" in done.line


def test_what_a_library_of_c_prints_is_not_shown(tmp_path):
    """libtiff tells standard error by itself that a tag has a bad value."""
    template = write_study(tmp_path).replace(".png", ".tif")
    for path in sorted((tmp_path / "masks").rglob("*.png")):
        Image.open(path).save(path.with_suffix(".tif"), compression="tiff_lzw")
        path.unlink()
    path = tmp_path / "masks/B/p2.tif"
    data = bytearray(path.read_bytes())
    planar = data.index(b"\x1c\x01\x03\x00\x01\x00\x00\x00")
    data[planar + 8] = 33
    path.write_bytes(bytes(data))
    code = f"from PIL import Image; Image.open({str(path)!r}).load()"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert "PlanarConfiguration" in printed, "it prints so by itself"
    done = command("agree", template, "--out", tmp_path / "out", "--jobs", 1, "--quiet")
    assert "PlanarConfiguration" not in done.err
    assert all(line.startswith("manytruths:") for line in done.err.splitlines())
