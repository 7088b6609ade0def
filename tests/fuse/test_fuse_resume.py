"""``fuse`` stopped half-way, started again, or told something else: the same files, and only what must be redone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest
from PIL import Image

import manytruths as mt
from manytruths.analyses.fuse import case as case_of_fuse
from study_folders import MANYTRUTHS, command, disc, files, pixels, run, untidy, write_png, write_study

pytestmark = pytest.mark.slow

CASES = [f"p{i:02}" for i in range(20)]
METHODS = "vote:0.5,staple,lsml"


def arguments(template, out, *options):
    return ["fuse", str(template), "--out", str(out), "--quiet", "--consensus", METHODS, *options]


def maps(out):
    """What belongs to cases: path to bytes and time."""
    folders = ("consensus", "probability", "pictures", "cases")
    found = [p for p in files(out) if p.parent != out and p.relative_to(out).parts[1] in folders]
    return {p.relative_to(out).as_posix(): (p.read_bytes(), p.stat().st_mtime_ns) for p in found}


def redone(before, after):
    """The cases of which a file was written again."""
    assert set(before) == set(after)
    return {name.rpartition("/")[2].partition(".")[0] for name in after if after[name][1] != before[name][1]}


def content(out):
    return {p.relative_to(out).as_posix(): p.read_bytes() for p in files(out)}


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A study that takes long enough to be killed in the middle, and what an undisturbed run makes of it."""
    folder = tmp_path_factory.mktemp("large")
    for x, rater in enumerate("ABC"):
        for y, case in enumerate(CASES):
            write_png(folder / "masks" / rater / f"{case}.png", disc(size=96, x=3 * x, y=y % 5, radius=30))
    template = f"{folder}/masks/{{rater}}/{{case}}.png"
    assert command(*arguments(template, folder / "whole", "--jobs", "2")).status == 0
    return template, folder / "whole"


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_killed_and_started_again(large, jobs, tmp_path):
    template, whole = large
    line = [MANYTRUTHS, *arguments(template, tmp_path / "out", "--jobs", jobs)]
    process = subprocess.Popen(line, start_new_session=True)
    stage = tmp_path / "out/.part-fuse"
    ledgers = stage / "fuse/cases"
    deadline = time.monotonic() + 30
    while len(list(ledgers.glob("p*.json"))) < 4 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait(20) == -signal.SIGKILL
    time.sleep(0.2)
    done = {p.stem for p in ledgers.glob("p*.json")}
    assert 4 <= len(done) < len(CASES)
    for path in (p for p in files(tmp_path / "out") if not p.name.startswith(".") and p.suffix in (".png", ".tif")):
        assert pixels(path).size  # whole, not the first half of a file
    assert not (tmp_path / "out/fuse").exists()
    before = {name: kept for name, kept in maps(stage).items() if name.rpartition("/")[2][:3] in done}
    assert command(*arguments(template, tmp_path / "out", "--jobs", jobs)).status == 0
    after = maps(tmp_path / "out")
    for name, (_, when) in before.items():
        assert after[name][1] == when, name
    assert not untidy(tmp_path / "out")
    one, two = content(tmp_path / "out"), content(whole)
    assert set(one) == set(two)
    assert [name for name in one if one[name] != two[name]] == []


@pytest.fixture
def small(capsys, tmp_path):
    """A study of three cases, fused; how to fuse it again."""
    template, out = write_study(tmp_path, cases=("p1", "p2", "p3")), tmp_path / "out"

    def again(*options):
        assert run(capsys, *arguments(template, out, "--jobs", "1", *options)).status == 0
        return maps(out)

    again.first = again()
    again.folder = tmp_path
    return again


def test_nothing_is_redone(small):
    before = content(small.folder / "out")
    assert redone(small.first, small()) == set()
    assert content(small.folder / "out") == before


@pytest.mark.parametrize(
    "gone",
    ["consensus/staple/p2.png", "probability/vote-0.5/p2.tif", "pictures/lsml/p2.png", "cases/p2.json"],
)
def test_one_file_is_gone(small, gone):
    (small.folder / "out/fuse" / gone).unlink()
    after = small()
    assert redone(small.first, after) == {"p2"}
    assert {name: found[0] for name, found in after.items()} == {name: found[0] for name, found in small.first.items()}


@pytest.mark.parametrize("text", ["", "{", '{"fingerprint": "0"}', "[]", "null", "\x00"])
def test_a_damaged_ledger(small, text):
    (small.folder / "out/fuse/cases/p3.json").write_text(text)
    assert redone(small.first, small()) == {"p3"}


def test_cases_that_were_kept_in_another_form_are_redone(small, monkeypatch):
    monkeypatch.setattr(case_of_fuse, "KEPT_FORMAT", 0)
    before = content(small.folder / "out")
    assert redone(small.first, small()) == {"p1", "p2", "p3"}
    monkeypatch.undo()
    small()
    assert content(small.folder / "out") == before


@pytest.mark.parametrize(
    "options",
    [
        ("--prior", "marked"),
        ("--length-penalty", "1"),
        ("--map-prior", "5,1.5"),
        ("--region", "union"),
        ("--rates", "case"),
    ],
)
def test_other_options(small, options):
    if options[0] == "--region":
        options = (*options, "--prior", "0.3")
    assert redone(small.first, small(*options)) == (set() if options == ("--rates", "case") else {"p1", "p2", "p3"})


def test_another_mask_of_the_same_size_and_time(small):
    """Archives with normalised times unpack to such files."""
    path = small.folder / "masks/B/p2.png"
    kept, other = pixels(path), np.flipud(pixels(path))
    assert not np.array_equal(kept, other)
    for array in (kept, other):
        # stored, not packed, so that both have the same size
        Image.fromarray(array).save(path, compress_level=0)
        os.utime(path, ns=(10**18, 10**18))
        if array is kept:
            size, before = path.stat().st_size, small()
    assert path.stat().st_size == size
    after = small()
    assert redone(before, after) == {"p2"}
    name = "fuse/consensus/vote-0.5/p2.png"
    assert after[name][0] != before[name][0]


def test_the_same_masks_under_other_times_are_not_done_again(small):
    for path in (small.folder / "masks").rglob("*.png"):
        os.utime(path, (5, 5))
    assert redone(small.first, small()) == set()


@pytest.mark.parametrize("name", ["consensus/staple/p2.png", "probability/lsml/p2.tif", "pictures/staple/p2.png"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "another's", "a link"])
def test_a_damaged_map_is_made_again(small, name, damage):
    path = small.folder / "out/fuse" / name
    whole = path.read_bytes()
    if damage == "cut":
        path.write_bytes(whole[:100])
    elif damage == "flipped":
        path.write_bytes(whole[:-20] + bytes([whole[-20] ^ 4]) + whole[-19:])
    elif damage == "another's":
        path.write_bytes(path.with_name(path.name.replace("p2", "p1")).read_bytes())
    else:
        path.unlink()
        (small.folder / "elsewhere").write_bytes(whole)
        path.symlink_to(small.folder / "elsewhere")
    after = small()
    assert redone(small.first, after) == {"p2"}
    assert path.read_bytes() == whole
    assert not path.is_symlink()


def test_long_tables_are_packed(tmp_path, monkeypatch):
    for rater in "ABC":
        write_png(tmp_path / f"masks/{rater}/p1.png", disc(x="ABC".index(rater)))
    template = f"{tmp_path}/masks/{{rater}}/{{case}}.png"
    mt.fuse(template, out=tmp_path / "text")
    monkeypatch.setattr(case_of_fuse, "LONG_TEXT", 1)
    first = mt.fuse(template, out=tmp_path / "packed")
    kept = json.loads((tmp_path / "packed/fuse/cases/p1.json").read_text())["kept"]
    assert set(kept["tally"]) == {"zlib"}
    made = (tmp_path / "packed/fuse/consensus/staple/p1.png").stat().st_ino
    again = mt.fuse(template, out=tmp_path / "packed")
    assert (tmp_path / "packed/fuse/consensus/staple/p1.png").stat().st_ino == made, "it was not computed again"
    assert again.tallies["p1"] == first.tallies["p1"]
    for name in ("performance.csv", "complexity.csv", "convergence.csv"):
        assert (tmp_path / "packed/fuse" / name).read_bytes() == (tmp_path / "text/fuse" / name).read_bytes()


def test_a_number_changed_in_a_ledger_is_not_believed(small):
    path = small.folder / "out/fuse/cases/p1.json"
    kept = json.loads(path.read_text())
    before = (small.folder / "out/fuse/performance.csv").read_bytes()
    kept["kept"]["complexity"]["entropy"] = 0.5
    path.write_text(json.dumps(kept))
    assert redone(small.first, small()) == {"p1"}
    assert (small.folder / "out/fuse/performance.csv").read_bytes() == before


def test_a_run_that_fails_leaves_earlier_results_and_is_gone_on_with(small, capsys):
    before = content(small.folder / "out")
    for rater in "ABC":
        write_png(small.folder / f"masks/{rater}/p4.png", disc(x=1))
    (small.folder / "masks/C/p4.png").write_bytes(b"no picture")
    template = f"{small.folder}/masks/{{rater}}/{{case}}.png"
    line = arguments(template, small.folder / "out", "--jobs", "1", "--length-penalty", "1")
    assert run(capsys, *line).status == 1
    hidden = small.folder / "out/.part-fuse"
    assert {k: v for k, v in content(small.folder / "out").items() if not k.startswith(".")} == before
    done = {p.name: p.stat().st_mtime_ns for p in (hidden / "fuse/cases").iterdir()}
    assert set(done) == {"p1.json", "p2.json", "p3.json"}
    write_png(small.folder / "masks/C/p4.png", disc(x=2))
    assert run(capsys, *line).status == 0
    cases = small.folder / "out/fuse/cases"
    assert {p.name: p.stat().st_mtime_ns for p in cases.iterdir() if p.name != "p4.json"} == done
    assert not hidden.exists()


def test_another_mask(small):
    write_png(small.folder / "masks/B/p2.png", disc(x=4, y=4))
    after = small()
    assert redone(small.first, after) == {"p2"}
    name = "fuse/consensus/vote-0.5/p2.png"
    assert after[name][0] != small.first[name][0]


def test_one_more_rater_somewhere(small, capsys):
    """Cases that he did not mark have him as absent now."""
    write_png(small.folder / "masks/D/p1.png", disc(x=1))
    small()
    fresh = [small.folder / "masks/{rater}/{case}.png", small.folder / "fresh", "--jobs", "1"]
    assert run(capsys, *arguments(*fresh)).status == 0
    assert content(small.folder / "out") == content(small.folder / "fresh")


def test_a_case_that_is_gone_takes_its_files_along(small):
    for rater in "ABC":
        (small.folder / f"masks/{rater}/p2.png").unlink()
    after = small()
    assert not [name for name in after if "p2" in name]
    assert {name for name in small.first if "p2" not in name} == set(after)


def test_pooled_rates_follow_other_cases(capsys, tmp_path):
    """The probability of a case changes with another case's mask, even where no hard decision does."""
    template, out = write_study(tmp_path, cases=("p1", "p2")), tmp_path / "out"
    line = ["fuse", template, "--rates", "pooled", "--consensus", "staple", "--quiet", "--out"]
    assert run(capsys, *line, out).status == 0
    write_png(tmp_path / "masks/C/p2.png", disc(x=2, y=2))
    for folder in (out, tmp_path / "fresh"):
        assert run(capsys, *line, folder).status == 0
    assert content(out) == content(tmp_path / "fresh")


def test_one_more_structure_moves_the_values(capsys, tmp_path):
    """With {label} files a new structure takes a value in between; cases that lack it must be painted again."""
    for rater, x in (("A", 0), ("B", 1), ("C", 2)):
        for case in ("p1", "p2"):
            write_png(tmp_path / f"m/{case}_{rater}_artery.png", disc(x=x))
            write_png(tmp_path / f"m/{case}_{rater}_vein.png", disc(x=x - 4, y=-7, radius=3))
    line = ["fuse", tmp_path / "m/{case}_{rater}_{label}.png", "--consensus", "staple,plurality", "--quiet", "--out"]
    assert run(capsys, *line, tmp_path / "out").status == 0
    for rater in "ABC":
        write_png(tmp_path / f"m/p1_{rater}_nerve.png", disc(y=9, radius=2))
    for folder in ("out", "fresh"):
        assert run(capsys, *line, tmp_path / folder).status == 0
    assert content(tmp_path / "out") == content(tmp_path / "fresh")
    assert set(pixels(tmp_path / "out/fuse/consensus/plurality/p2.png").ravel().tolist()) == {0, 1, 3}
