"""What is kept of cases from run to run: read again is what changed, and results do not depend on the store."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import manytruths as mt
from counted_reads import count_reads
from manytruths.study import case_store
from study_folders import disc, pixels, write_npy, write_png

CASES = [f"c{k:02}" for k in range(12)]
TODAY = "2026-03-01"


@pytest.fixture
def study(tmp_path):
    rng = np.random.default_rng(0)
    rows = ["case,rater,status,started"]
    for k, case in enumerate(CASES):
        for rater in "ABC":
            write_png(tmp_path / f"masks/{rater}/{case}.png", disc(48, *rng.normal(0, 2, 2), radius=12))
            rows.append(f"{case},{rater},done,2026-01-{k + 1:02}T10:00")
    (tmp_path / "reads.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "study.toml").write_text('masks = "masks/{rater}/{case}.png"\nreads = "reads.csv"\n')
    return tmp_path


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    """As if all files were written some time ago, and could not change unseen any more."""
    monkeypatch.setattr(case_store, "SETTLED", 0)


def results(folder, out="out"):
    mt.progress(folder, out=folder / out, today=TODAY)
    return written(folder, out)


def written(folder, out="out"):
    found = (path for path in (folder / out / "progress").rglob("*.*") if path.name != "run.json")
    return {path.name: path.read_bytes() for path in found}


def logs(folder):
    return sorted((folder / "out/.progress-kept").rglob("*.log"))


def test_a_second_run_reads_nothing_and_writes_the_same(study, monkeypatch):
    before = results(study)
    counts = count_reads(monkeypatch)
    assert results(study) == before
    assert not counts
    assert results(study, "anew") == before
    assert len(counts) == 3 * len(CASES)


def test_only_a_case_that_changed_is_read(study, monkeypatch):
    results(study)
    write_png(study / "masks/B/c03.png", disc(48, 3, 3, radius=9))
    counts = count_reads(monkeypatch)
    after = results(study)
    assert {path.rpartition("/")[2] for path in counts} == {"c03.png"}
    assert results(study, "anew") == after


def test_a_change_that_keeps_size_and_time_is_seen(study):
    for path in study.glob("masks/*/*.png"):
        write_npy(path.with_suffix(".npy"), pixels(path))
        path.unlink()
    (study / "study.toml").write_text('masks = "masks/{rater}/{case}.npy"\nreads = "reads.csv"\n')
    before = results(study)
    path = study / "masks/B/c03.npy"
    had, content = path.stat(), bytearray(path.read_bytes())
    content[-24 * 48 :] = bytes(24 * 48)
    with open(path, "r+b") as stream:
        stream.write(content)
    os.utime(path, ns=(had.st_atime_ns, had.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns, path.stat().st_ino) == (
        had.st_size, had.st_mtime_ns, had.st_ino
    )  # fmt: skip
    after = results(study)
    assert after != before
    assert results(study, "anew") == after


def test_what_was_done_before_an_error_is_kept(study, monkeypatch):
    path = study / "masks/B/c07.png"
    content = path.read_bytes()
    path.write_bytes(content[:40])
    with pytest.raises(mt.FormatError):
        results(study)
    path.write_bytes(content)
    counts = count_reads(monkeypatch)
    results(study)
    assert {name.rpartition("/")[2] for name in counts} == {f"{case}.png" for case in CASES[7:]}


def test_rows_of_the_reading_log_are_no_reason_to_read_masks(study, monkeypatch):
    results(study)
    text = (study / "reads.csv").read_text().replace("c03,B,done", "c03,B,unfinished")
    (study / "reads.csv").write_text(text)
    counts = count_reads(monkeypatch)
    after = results(study)
    assert {path.rpartition("/")[2] for path in counts} == {"c03.png"}, "a mask that does not count any more"
    assert results(study, "anew") == after
    counts.clear()
    (study / "reads.csv").write_text(text.replace("2026-01-05", "2026-01-06"))
    assert results(study) == results(study, "anew")
    assert not counts


def test_files_elsewhere_with_the_same_bytes_are_not_read(study, monkeypatch, tmp_path_factory):
    before = results(study)
    for path in study.glob("masks/*/*.png"):
        path.write_bytes(path.read_bytes())
    counts = count_reads(monkeypatch)
    assert results(study) == before
    assert not counts


def damage_nothing(log):
    log.write_bytes(b"")


def damage_middle(log):
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 0xFF
    log.write_bytes(content)


def damage_end(log):
    log.write_bytes(log.read_bytes()[:-20])


def damage_all(log):
    log.write_bytes(os.urandom(1000))


@pytest.mark.parametrize("damage", [damage_nothing, damage_middle, damage_end, damage_all])
def test_a_damaged_store_is_not_believed(study, damage):
    before = results(study)
    (log,) = logs(study)
    damage(log)
    assert results(study) == before


def test_what_was_pickled_by_somebody_else_is_not_run(study, tmp_path):
    import pickle

    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "pwned"),)

    before = results(study)
    (log,) = logs(study)
    lines = log.read_bytes().split(b"\n", 1)
    head = json.loads(lines[0])
    payload = pickle.dumps(Evil())
    import hashlib

    head |= {"size": len(payload), "checksum": hashlib.blake2b(payload, digest_size=20).hexdigest()}
    log.write_bytes(json.dumps(head).encode() + b"\n" + payload)
    assert results(study) == before
    assert not (tmp_path / "pwned").exists()


def test_damaged_signatures_are_not_believed(study):
    before = results(study)
    (path,) = (study / "out/.progress-kept").rglob("signed.json")
    path.write_text("{")
    assert results(study) == before


def test_many_runs_do_not_leave_many_logs(study):
    for k in range(2 * case_store.LOGS):
        write_png(study / f"masks/B/{CASES[k % 5]}.png", disc(48, k / 4, 0, radius=11))
        after = results(study)
    assert len(logs(study)) <= case_store.LOGS
    assert results(study, "anew") == after


def test_a_store_that_cannot_be_written_is_done_without(study):
    (study / "out").mkdir()
    (study / "out/.progress-kept").write_text("a file")
    assert results(study) == results(study, "anew")


def test_files_that_were_just_written_are_hashed_again(study, monkeypatch):
    """Two writes within one tick of the clock of the disk leave the same signature."""
    monkeypatch.setattr(case_store, "SETTLED", 1e18)
    results(study)
    (path,) = (study / "out/.progress-kept").rglob("signed.json")
    assert json.loads(path.read_text()) == {}
