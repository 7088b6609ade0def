"""Runs that are stopped go on where they were: the same bytes, and nothing that was made from something else."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import manytruths as mt
from manytruths.core.errors import InputError
from manytruths.core.undefined import Note, Undefined
from manytruths.io import Location, kept
from manytruths.io.results import KEPT, replacing
from manytruths.study import keeping
from study_folders import disc, files, untidy, write_png

CASES = [f"p{i:02}" for i in range(6)]


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Masks, images, predictions and references; whatever is finished is kept at once."""
    monkeypatch.setattr(kept, "SECONDS", 0)
    return write(tmp_path)


def write(folder, cases=CASES, size=40):
    rng = np.random.default_rng(0)
    for y, case in enumerate(cases):
        for x, rater in enumerate("ABC"):
            write_png(folder / f"masks/{rater}/{case}.png", disc(size=size, x=x % 5, y=y % 5, radius=size / 4))
        write_png(folder / f"images/{case}.png", rng.integers(0, 255, (size, size), np.uint8))
        for x, name in enumerate(("unet", "vnet")):
            write_png(folder / f"predictions/{name}/{case}.png", disc(size=size, x=x, y=y % 3, radius=size / 4))
        write_png(folder / f"truth/{case}.png", disc(size=size, x=1, y=y % 5, radius=size / 4))
        chance = np.clip(disc(size=size, y=y % 3, radius=size / 4) * 0.8 + rng.random((size, size)) * 0.2, 0, 1)
        write_png(folder / f"chance/{case}.png", (chance * 255).astype(np.uint8))
    return folder


def opened(folder, **more):
    options = {
        "images": str(folder / "images/{case}.png"), "reference": str(folder / "truth/{case}.png"),
        "predictions": str(folder / "predictions/{algorithm}/{case}.png"), **more,
    }  # fmt: skip
    return mt.Study.open(str(folder / "masks/{rater}/{case}.png"), **options)


def agree(folder, out, progress=None, **options):
    mt.agree(opened(folder), out=out, progress=progress, **options)


def agree_without_pictures(folder, out, progress=None, **options):
    mt.agree(opened(folder), out=out, progress=progress, pictures=False, **options)


def evaluate(folder, out, progress=None, **options):
    mt.evaluate(
        opened(folder), out=out, progress=progress, boundaries="outlines", intensity_curves=True, second_look=True,
        **options,
    )  # fmt: skip


def evaluate_probabilities(folder, out, progress=None, **options):
    study = opened(folder, predictions=str(folder / "chance/{case}.png"), probability=True)
    mt.evaluate(study, out=out, progress=progress, threshold=100, **options)


def make_grading_sheet(folder, out, progress=None, **options):
    mt.evaluate(opened(folder), out=out, progress=progress, grading_sheet=True, **options)


def report(folder, out, progress=None, **options):
    mt.report(opened(folder), to=out / "x.html", progress=progress, resamples=50, **options)


def check(folder, out, progress=None, **options):
    mt.check(opened(folder), out=out, progress=progress, **options)


def reliability(folder, out, progress=None, **options):
    mt.reliability(opened(folder), out=out, progress=progress, **options)


COMMANDS = [
    agree, agree_without_pictures, evaluate, evaluate_probabilities, make_grading_sheet, report, check, reliability,
]  # fmt: skip


def stop_after(count):
    """A progress that interrupts the run when so many cases are done."""

    def progress(done, _):
        if done == count:
            raise KeyboardInterrupt

    return progress


def interrupt(command, folder, out, count, **options):
    with pytest.raises(KeyboardInterrupt):
        command(folder, out, stop_after(count), **options)


@pytest.fixture
def loaded(monkeypatch):
    """How many cases were taken from an earlier run."""
    found = []

    def spy(folder, place, stage, load=kept.load_record):
        payload = load(folder, place, stage)
        found.append(payload is not None)
        return payload

    monkeypatch.setattr(keeping, "load_record", spy)
    return found


def content(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files(folder) if p.name != "run.json"}


def logs(out):
    return sorted(out.rglob(f"{KEPT}/*/*.log"))


@pytest.mark.parametrize(
    "command", [agree, *(pytest.param(c, marks=pytest.mark.slow) for c in COMMANDS if c is not agree)]
)
def test_goes_on_where_it_stopped(study, loaded, command):
    """Everything that commands keep of a case can be read back, and makes the same files."""
    command(study, study / "whole")
    assert loaded == []
    interrupt(command, study, study / "out", 4)
    assert logs(study / "out")
    command(study, study / "out")
    assert loaded == [True] * 4
    assert content(study / "out") == content(study / "whole")
    assert not untidy(study / "out")
    assert not list(study.rglob("*.log"))


@pytest.mark.slow
@pytest.mark.parametrize("command", [agree, report])
def test_interrupted_again_and_again_by_several_processes(study, command):
    command(study, study / "whole")
    for count in (1, 3, 4):
        interrupt(command, study, study / "out", count, jobs=2)
    command(study, study / "out", jobs=2)
    assert content(study / "out") == content(study / "whole")
    assert not untidy(study / "out")


def test_a_bad_case_at_the_end(study, loaded):
    """The others are not done again when it has been repaired, or left out."""
    last = study / f"masks/C/{CASES[-1]}.png"
    whole = last.read_bytes()
    last.write_bytes(whole[:40])
    with pytest.raises(InputError, match=CASES[-1]):
        agree(study, study / "out")
    last.write_bytes(whole)
    agree(study, study / "out")
    assert loaded == [True] * 5
    last.write_bytes(whole[:40])
    with pytest.raises(InputError, match=CASES[-1]):
        agree(study, study / "other")
    mt.agree(opened(study, exclude={"C": [CASES[-1]]}), out=study / "other")
    assert loaded == [True] * 10


def test_short_runs_leave_nothing(study, monkeypatch):
    """What takes a moment is done again."""
    monkeypatch.setattr(kept, "SECONDS", 600)
    interrupt(agree, study, study / "out", 4)
    assert not (study / "out").exists()


# -- what is not the same is not used -----------------------------------------------------------------


def same_size_and_time(path, array):
    """Another content under the same size and time, as archives with normalised times have."""
    for content in (np.asarray(Image.open(path)).copy(), array):
        Image.fromarray(content).save(path, compress_level=0)
        os.utime(path, ns=(10**18, 10**18))
        yield path.stat().st_size


@pytest.mark.parametrize(
    ("what", "command"),
    [("masks/B", agree), ("images", agree), ("predictions/unet", make_grading_sheet), ("truth", agree)],
)
def test_other_content_of_the_same_size_and_time(study, loaded, what, command):
    path = study / what / f"{CASES[1]}.png"
    other = np.ascontiguousarray(np.flipud(np.asarray(Image.open(path))))
    other[3, 5] ^= 1
    steps = same_size_and_time(path, other)
    size = next(steps)
    interrupt(command, study, study / "out", 4)
    assert next(steps) == size
    command(study, study / "out")
    assert loaded == [True] * 3
    command(study, study / "fresh")
    assert content(study / "out") == content(study / "fresh")


@pytest.mark.parametrize(
    "change",
    [
        lambda folder, patch: patch.setattr(keeping, "code_version", lambda: "0.0.9"),
        lambda folder, patch: patch.setattr(keeping, "version", lambda name: "2.0.1"),
        lambda folder, patch: [os.rename(p, p.with_name(f"x{p.name}")) for p in (folder / "images").iterdir()],
    ],
    ids=["version", "NumPy", "no images"],
)
def test_anything_else_that_changes(study, loaded, monkeypatch, change):
    interrupt(agree, study, study / "out", 4)
    change(study, monkeypatch)
    agree(study, study / "out")
    assert loaded == []
    agree(study, study / "fresh")
    assert content(study / "out") == content(study / "fresh")


@pytest.mark.parametrize("options", [{"measure": "none"}, {"window": 5}, {"tolerance": 2.0}, {"pictures": False}])
def test_other_settings(study, loaded, options):
    interrupt(agree, study, study / "out", 4)
    agree(study, study / "out", **options)
    assert loaded == []
    agree(study, study / "fresh", **options)
    assert content(study / "out") == content(study / "fresh")
    assert not untidy(study / "out")


def test_settings_of_the_tables_alone_do_not_matter(study, loaded):
    interrupt(agree, study, study / "out", 4)
    agree(study, study / "out", level=0.9, seed=4)
    assert loaded == [True] * 4


def test_one_more_rater(study, loaded):
    interrupt(agree, study, study / "out", 4)
    write_png(study / f"masks/D/{CASES[0]}.png", disc(size=40))
    agree(study, study / "out")
    assert loaded == []


def test_a_file_that_is_gone_is_made_again(study, loaded):
    agree(study, study / "whole")
    interrupt(agree, study, study / "out", 4)
    (study / f"out/.part-agree/agree/heatmaps/{CASES[0]}.png").unlink()
    (study / f"out/.part-agree/agree/heatmaps/{CASES[2]}.tif").write_bytes(b"II*")
    agree(study, study / "out")
    assert loaded == [False, True, False, True]
    assert content(study / "out") == content(study / "whole")


@pytest.mark.parametrize("at", [0, 10, 0.3, 0.5, 0.9, -1])
def test_a_log_that_was_cut(study, at):
    """At any byte: what is whole is used."""
    agree_without_pictures(study, study / "whole")
    interrupt(agree_without_pictures, study, study / "out", 4)
    (log,) = logs(study / "out")
    data = log.read_bytes()
    log.write_bytes(data[: int(at * len(data)) if isinstance(at, float) else at])
    agree_without_pictures(study, study / "out")
    assert content(study / "out") == content(study / "whole")


def test_a_log_that_was_altered(study, loaded):
    agree_without_pictures(study, study / "whole")
    interrupt(agree_without_pictures, study, study / "out", 4)
    (log,) = logs(study / "out")
    dice = random.Random(1)
    for _ in range(30):
        data = bytearray(log.read_bytes())
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        log.write_bytes(data)
    agree_without_pictures(study, study / "out")
    assert content(study / "out") == content(study / "whole")


def test_a_mask_that_changes_while_it_is_read_is_not_kept(study, loaded, monkeypatch):
    """It is not known which of both was read."""
    path, real = study / f"masks/A/{CASES[0]}.png", mt.Case.read

    def read(case, **options):
        found = real(case, **options)
        if case.name == CASES[0]:
            write_png(path, disc(size=40, x=-3))
        return found

    monkeypatch.setattr(mt.Case, "read", read)
    interrupt(agree, study, study / "out", 3)
    agree(study, study / "out")
    assert loaded == [True] * 2


@pytest.mark.parametrize("suffix", [".mhd", ".nrrd"])
def test_data_beside_a_header_count(tmp_path, suffix):
    array = np.zeros((5, 7), np.uint8)
    if suffix == ".mhd":
        text = "ObjectType = Image\nNDims = 2\nDimSize = 7 5\nElementType = MET_UCHAR\nElementDataFile = a.raw\n"
    else:
        text = "NRRD0004\ntype: uchar\ndimension: 2\nsizes: 7 5\nencoding: raw\ndata file: a.raw\n\n"
    (tmp_path / f"a{suffix}").write_text(text)
    digests = set()
    for value in (0, 1):
        array[2, 2] = value
        (tmp_path / "a.raw").write_bytes(array.tobytes())
        location = Location(tmp_path / f"a{suffix}")
        digests.add(kept.digest_files(kept.sign_files(location)))
    assert len(digests) == 2


def test_all_files_of_a_store_count(tmp_path):
    import zarr

    store = zarr.create_array(tmp_path / "a.zarr", shape=(8, 8), chunks=(4, 4), dtype="u1")
    digests = {kept.digest_files(kept.sign_files(Location(tmp_path / "a.zarr")))}
    store[5, 5] = 1
    digests.add(kept.digest_files(kept.sign_files(Location(tmp_path / "a.zarr"))))
    store[5, 5] = 2
    digests.add(kept.digest_files(kept.sign_files(Location(tmp_path / "a.zarr"))))
    assert len(digests) == 3


def test_formats_whose_files_are_not_known_are_not_kept(tmp_path):
    (tmp_path / "a.xyz").touch()
    assert kept.sign_files(Location(tmp_path / "a.xyz")) is None


# -- what somebody else has written -------------------------------------------------------------------


class Harmful:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def test_a_log_runs_no_code(study, loaded):
    """Whoever can write into a folder of results must not become whoever goes on with it."""
    agree(study, study / "whole")
    interrupt(agree, study, study / "out", 2)
    (log,) = logs(study / "out")
    places, mark = kept.read_logs(log.parent), study / "mark"
    payload, text = pickle.dumps(Harmful(mark)), []
    for case, place in places.items():
        sums = {"size": len(payload), "checksum": kept._checksum(payload), "files": dict(place.files)}
        text += [kept.json.dumps({"case": case, "key": place.key, **sums}).encode() + b"\n", payload]
    log.write_bytes(b"".join(text))
    agree(study, study / "out")
    assert loaded == [False, False]
    assert not mark.exists()
    assert content(study / "out") == content(study / "whole")


@pytest.mark.parametrize("absolute", [False, True])
def test_a_log_names_no_file_elsewhere(study, loaded, absolute):
    """Files that are listed as results may be removed by a later run."""
    interrupt(agree, study, study / "out", 2)
    (log,) = logs(study / "out")
    (other := study / "elsewhere.txt").write_text("mine")
    stage = log.parents[2]
    name = str(other.resolve()) if absolute else os.path.relpath(other, stage)
    assert (stage / name).is_file()
    text = []
    for case, place in kept.read_logs(log.parent).items():
        payload = log.read_bytes()[place.start : place.start + place.size]
        sums = {"size": len(payload), "checksum": place.checksum, "files": kept.file_sums(stage, [name])}
        text += [kept.json.dumps({"case": case, "key": place.key, **sums}).encode() + b"\n", payload]
    log.write_bytes(b"".join(text))
    agree(study, study / "out")
    assert loaded == [False, False]


def refer(module, name):
    """A pickle that refers to something by its name, and calls it."""
    return b"\x80\x04\x8c" + bytes([len(module)]) + module.encode() + b"\x8c" + bytes([len(name)]) + name.encode() + (
        b"\x93)R."
    )  # fmt: skip


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "getcwd"), ("builtins", "eval"), ("builtins", "getattr"), ("manytruths.io.results", "os.getcwd"),
        ("manytruths.io.kept", "Path"), ("manytruths.io.kept", "pickle.loads"), ("manytruths.study.study", "Study"),
        ("manytruths.__main__", "main"), ("manytruths.cli.app", "main"), ("manytruths", "Study"),
        ("manytruths.io.writing", "write_text"), ("manytruths.io.zarr_store", "MapWriter"), ("numpy", "load"),
        ("functools", "partial"), ("manytruths.demo", "demo"), ("subprocess", "Popen"),
    ],
)  # fmt: skip
def test_only_data_are_unpickled(module, name):
    with pytest.raises(pickle.UnpicklingError, match="is no data"):
        kept._DataUnpickler(kept.BytesIO(refer(module, name))).load()


def test_data_are_unpickled():
    values = {
        "a": [1, 2.5, None, {3, 4}, frozenset("a"), (Undefined("both_empty"), OrderedDict(a=1))],
        "b": np.arange(6).reshape(2, 3).T, "c": np.float32(1.5), "d": Path("x"), "e": mt.tally([[1, 0], [1, 1]]),
        "f": Note("nothing_marked", "text"),
    }  # fmt: skip
    found = kept._DataUnpickler(kept.BytesIO(pickle.dumps(values, 5))).load()
    assert repr(found) == repr(values)
    assert found["e"] == values["e"]


# -- when nothing is interrupted ----------------------------------------------------------------------


def test_nothing_is_kept_without_a_folder(study, monkeypatch):
    monkeypatch.setattr(keeping, "work_or_load", None)
    mt.agree(opened(study))


def test_results_inside_other_results_are_not_kept(study):
    """They are part of something that starts again as a whole."""
    with replacing(study / "out") as (stage,):
        agree(study, stage)
        assert not list(stage.rglob("*.log"))


def test_the_working_directory_as_folder(study, monkeypatch, loaded):
    """Its content is replaced, not the folder itself."""
    (study / "out/agree").mkdir(parents=True)
    monkeypatch.chdir(study / "out/agree")
    interrupt(agree, study, study / "out", 4)
    agree(study, study / "out")
    assert loaded == [True] * 4
    agree(study, study / "whole")
    assert content(study / "out") == content(study / "whole")


# -- killed -------------------------------------------------------------------------------------------

AT_ONCE = "import sys; from manytruths.io import kept; kept.SECONDS = 0; from manytruths.__main__ import main; main()"


def line_of(command, folder, out):
    template = str(folder / "masks/{rater}/{case}.png")
    where = ["--to", str(out / "x.html")] if command == "report" else ["--out", str(out)]
    options = ["--predictions", str(folder / "predictions/{algorithm}/{case}.png")] if command == "evaluate" else []
    return [sys.executable, "-c", AT_ONCE, command, template, *where, *options, "--jobs", "2", "--quiet"]


def kill_at_random(command, folder, out, dice, longest):
    """Kill the whole run at some moment; whether it was still running."""
    process = subprocess.Popen(line_of(command, folder, out), start_new_session=True)
    time.sleep(dice.uniform(0.3, 1) * longest)
    running = process.poll() is None
    if running:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)
    time.sleep(0.1)
    return running


def kill_often(command, folder, times, seed):
    started = time.monotonic()
    subprocess.run(line_of(command, folder, folder / "whole"), check=True)
    longest, dice = time.monotonic() - started, random.Random(seed)
    killed = sum(kill_at_random(command, folder, folder / "out", dice, longest) for _ in range(times))
    subprocess.run(line_of(command, folder, folder / "out"), check=True)
    assert content(folder / "out") == content(folder / "whole")
    assert not untidy(folder / "out")
    return killed


@pytest.mark.slow
def test_killed_and_started_again(tmp_path):
    kill_often("agree", write(tmp_path, [f"p{i:02}" for i in range(30)]), 1, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["agree", "evaluate", "report"])
def test_killed_at_random_moments(tmp_path, command):
    assert kill_often(command, write(tmp_path, [f"p{i:02}" for i in range(50)], size=96), 6, seed=7)
