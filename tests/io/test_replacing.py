"""Results take the place of earlier ones whole, or not at all: killed, refused, linked, removed, shared."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from manytruths import InputError
from manytruths.io import results, write_text
from manytruths.io.results import link_or_copy, lock_folder, replacing, write_summary
from rights import obedient


def content(folder: Path) -> dict[str, str]:
    found = (p for p in folder.rglob("*") if p.is_file() and p.name != "run.json")
    return {p.relative_to(folder).as_posix(): p.read_text() for p in found}


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def write(folder: Path, what: str, names=("a.csv", "maps/b.tif"), **options) -> None:
    """A run that writes two files and a page beside them."""
    page = folder.with_name(f"{folder.name}.html")
    with replacing(folder, files=[page], run={"jobs": 2}, **options) as (stage, staged_page):
        for name in names:
            write_text(stage / name, what)
        write_summary(stage, {"verb": what}, [stage / name for name in names])
        write_text(staged_page, what)


def fail(folder: Path, error: BaseException, what: str = "new", **options) -> None:
    """A run that writes two files and fails."""
    with replacing(folder, **options) as (stage,):
        write_text(stage / "a.csv", what)
        write_text(stage / "other.csv", what)
        raise error


def expected(what: str, names=("a.csv", "maps/b.tif")) -> dict[str, str]:
    summary = json.dumps({"verb": what, "files": sorted(names)}, indent=2) + "\n"
    return {**dict.fromkeys(names, what), "summary.json": summary}


def in_child(work) -> int:
    """What became of a process that did something: its wait status."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1]


def test_new_results_replace_old_ones_and_what_is_somebodys_own_stays(tmp_path):
    out = tmp_path / "agree"
    write(out, "old", names=("a.csv", "maps/gone.tif"))
    (out / "maps/mine.txt").write_text("keep")
    (out / "notes").mkdir()
    (out / "notes/today.txt").write_text("keep")
    (out / "link").symlink_to(tmp_path / "nowhere")
    write(out, "new")
    assert content(out) == expected("new") | {"maps/mine.txt": "keep", "notes/today.txt": "keep"}
    assert (out / "link").is_symlink()
    assert (tmp_path / "agree.html").read_text() == "new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["agree", "agree.html"]
    told = json.loads((out / "run.json").read_text())
    assert told["jobs"] == 2
    assert set(told) == {"started", "seconds", "jobs"}


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, InputError])
def test_a_run_that_fails_changes_nothing(tmp_path, error):
    write(tmp_path / "agree", "old")
    before = content(tmp_path)
    with pytest.raises(error):
        fail(tmp_path / "agree", error("no"))
    assert content(tmp_path) == before
    assert not hidden(tmp_path)


def test_folders_that_a_failing_run_made_go(tmp_path):
    with pytest.raises(ZeroDivisionError):
        fail(tmp_path / "some/where/agree", ZeroDivisionError())
    assert not list(tmp_path.iterdir())


def kill_at(step: int, folder: Path) -> None:
    """A run that kills itself at one of the steps that move things."""
    done = 0

    def killing(real):
        def moved(*arguments, **more):
            nonlocal done
            done += 1
            if done == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **more)

        return moved

    for name in ("rename", "replace", "rmdir", "unlink"):
        setattr(os, name, killing(getattr(os, name)))
    write(folder, "new", ours=("unlisted",))


@pytest.mark.slow
def test_killed_at_every_step_of_changing_places(tmp_path):
    """Whichever step is the last one: old or new, never both; and the next run has nothing left to tidy up."""
    ends = []
    for step in range(1, 200):
        home = tmp_path / str(step)
        out = home / "agree"
        write(out, "old", names=("a.csv", "maps/gone.tif"))
        (out / "unlisted").mkdir()
        (out / "unlisted/old.txt").write_text("ours, and in no list")
        (out / "mine.txt").write_text("keep")
        status = in_child(lambda step=step, out=out: kill_at(step, out))
        own = ("mine.txt", "unlisted/old.txt")
        shown = {name: text for name, text in content(out).items() if name not in own} if out.exists() else {}
        assert shown in ({}, expected("old", names=("a.csv", "maps/gone.tif")), expected("new"))
        if not shown:
            assert [name for name in hidden(home) if name.endswith("-whole")], "complete beside it"
        ends.append(shown.get("a.csv", "beside"))
        write(out, "newest", ours=("unlisted",))
        assert content(out) == expected("newest") | {"mine.txt": "keep"}
        assert (home / "agree.html").read_text() == "newest"
        assert not hidden(home)
        if status == 0:
            break
    assert status == 0, "all steps were tried"
    assert {"old", "beside", "new"} <= set(ends)


@pytest.mark.slow
def test_a_killed_run_is_finished_by_the_next_one_even_if_that_fails(tmp_path):
    """What was complete is put into place first, whatever becomes of the run that does it."""
    for step in range(1, 200):
        out = tmp_path / str(step) / "agree"
        write(out, "old")
        if in_child(lambda step=step, out=out: kill_at(step, out)) and not out.exists():
            break
    assert not out.exists()
    with pytest.raises(ZeroDivisionError), replacing(out, files=[out.with_name("agree.html")]):
        raise ZeroDivisionError
    assert content(out) == expected("new")
    assert not hidden(out.parent)


class InterruptedAt:
    """Raises an interrupt at one of the lines of the module that writes results."""

    def __init__(self, step: int) -> None:
        self.left, self.at = step, ""

    def __call__(self, frame, event, argument):
        if frame.f_code.co_filename != results.__file__:
            return None
        # a function of the module is called: between any two of its lines a signal may come
        if event == "line":
            self.left -= 1
            if not self.left:
                self.at = f"{frame.f_code.co_name}, line {frame.f_lineno}"
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


@pytest.mark.slow
def test_interrupted_at_every_line(tmp_path, monkeypatch):
    """Whichever line is the last one: old or new, and no file is left behind.

    Only the empty folder of the lock can be, which the next run removes.
    """
    for step in range(1, 2000):
        home = tmp_path / str(step)
        write(home / "agree", "old")
        # a new list, since one line more for every earlier interrupt would never come to an end
        monkeypatch.setattr(results, "_ACTIVE", [])
        before, interrupt = sys.gettrace(), InterruptedAt(step)
        try:
            sys.settrace(interrupt)
            write(home / "agree", "new")
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        assert content(home / "agree") in (expected("old"), expected("new")), interrupt.at
        assert hidden(home) in ([], [".part-agree-lock"]), interrupt.at
        if not interrupt.at:
            return
    raise AssertionError("there were more lines")


def test_two_runs_into_one_folder(tmp_path):
    ready, go = os.pipe(), os.pipe()

    def first():
        with replacing(tmp_path / "agree") as (stage,):
            os.write(ready[1], b"x")
            os.read(go[0], 1)
            write_text(stage / "a.csv", "first")

    child = os.fork()
    if child == 0:
        first()
        os._exit(0)
    os.read(ready[0], 1)
    for work in (lambda: write(tmp_path / "agree", "second"), lambda: lock_folder(tmp_path / "agree").__enter__()):
        with pytest.raises(InputError, match="another run writes there right now"):
            work()
    os.write(go[1], b"x")
    assert os.waitpid(child, 0)[1] == 0
    assert content(tmp_path / "agree") == {"a.csv": "first"}
    assert not hidden(tmp_path)
    write(tmp_path / "agree", "second")


def test_a_lock_ends_with_its_process(tmp_path):
    def killed():
        with replacing(tmp_path / "agree"):
            os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(killed) == signal.SIGKILL
    assert hidden(tmp_path)
    write(tmp_path / "agree", "new")
    assert not hidden(tmp_path)


@pytest.mark.parametrize("gone", ["agree/a.csv", "agree", ".", "agree/summary.json"])
def test_what_was_removed_meanwhile_is_noticed(tmp_path, gone):
    """Somebody clears the output folder while a run writes to it."""
    write(tmp_path / "agree", "old")
    os.rename(tmp_path / "agree", tmp_path / "elsewhere")

    def run():
        with replacing(tmp_path / "agree") as (stage,):
            write_text(stage / "a.csv", "new")
            write_text(stage / "b.csv", "new")
            write_summary(stage, {}, [stage / "a.csv", stage / "b.csv"])
            target = stage.parent / gone
            os.system(f"rm -rf '{target.resolve()}'")
            write_text(stage / "c.csv", "new")

    with pytest.raises(InputError, match=r"removed while results were written.*run it again"):
        run()
    assert not (tmp_path / "agree").exists()


def test_links_are_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.csv").write_text("keep")
    (outside / "precious.txt").write_text("keep")
    out = tmp_path / "out"
    out.mkdir()
    for name in (".part-agree", ".part-agree-whole", ".part-agree-old", ".part-agree-lock", ".part-agree.html"):
        (out / name).symlink_to(outside)
    write(out / "agree", "new")
    assert content(out / "agree") == expected("new")
    assert content(outside) == {"a.csv": "keep", "precious.txt": "keep"}


def test_links_in_what_a_run_goes_on_with(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.csv").write_text("keep")
    stage = tmp_path / ".part-fuse/fuse"
    stage.mkdir(parents=True)
    (stage / "maps").symlink_to(outside)
    (stage / "a.csv").symlink_to(outside / "a.csv")
    write(tmp_path / "fuse", "new", goes_on=True)
    assert content(tmp_path / "fuse") == expected("new")
    assert content(outside) == {"a.csv": "keep"}


def test_a_temporary_file_that_is_a_link(tmp_path):
    (tmp_path / "precious.txt").write_text("keep")
    (tmp_path / ".part-table.csv").symlink_to(tmp_path / "precious.txt")
    write_text(tmp_path / "table.csv", "new")
    assert (tmp_path / "precious.txt").read_text() == "keep"
    assert not (tmp_path / "table.csv").is_symlink()


@pytest.mark.parametrize(
    ("there", "message"),
    [("link", "is a link"), ("file", "is a file; move it away"), ("page", "agree.html: is a folder")],
)
def test_something_else_stands_there(tmp_path, there, message):
    (tmp_path / "elsewhere").mkdir()
    if there == "link":
        (tmp_path / "agree").symlink_to(tmp_path / "elsewhere")
    elif there == "file":
        (tmp_path / "agree").write_text("mine")
    else:
        (tmp_path / "agree.html").mkdir()
    with pytest.raises(InputError, match=message):
        write(tmp_path / "agree", "new")
    assert not hidden(tmp_path)
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("kind", ["a folder where a table goes", "a file where a folder goes"])
def test_somebodys_own_in_the_way_is_not_lost(tmp_path, kind):
    out = tmp_path / "agree"
    mine = out / ("a.csv/mine.txt" if kind.startswith("a folder") else "maps")
    mine.parent.mkdir(parents=True)
    mine.write_text("keep")
    with pytest.raises(InputError, match=r"cannot be written: .*move away"):
        write(out, "new")
    assert mine.read_text() == "keep"
    assert not hidden(tmp_path)


def test_a_run_goes_on_with_what_was_done(tmp_path):
    with pytest.raises(ZeroDivisionError):
        fail(tmp_path / "fuse", ZeroDivisionError(), "done", goes_on=True)
    assert hidden(tmp_path) == [".part-fuse"]
    with replacing(tmp_path / "fuse", goes_on=True) as (stage,):
        assert (stage / "a.csv").read_text() == "done"
        write_summary(stage, {"verb": "new"}, [stage / "a.csv"])
    assert set(content(tmp_path / "fuse")) == {"a.csv", "summary.json"}
    assert not hidden(tmp_path)


def test_nothing_done_leaves_nothing_to_go_on_with(tmp_path):
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "fuse", goes_on=True):
        raise ZeroDivisionError
    assert not hidden(tmp_path)


def test_within_another_it_is_a_part_of_that_one(tmp_path):
    with replacing(tmp_path / "demo") as (stage,), replacing(stage / "agree") as (inner,):
        assert inner == stage / "agree"
        write_text(inner / "a.csv", "new")
        assert not (tmp_path / "demo").exists()
    assert content(tmp_path / "demo") == {"agree/a.csv": "new"}


def test_the_folder_one_stands_in_stays_itself(tmp_path, monkeypatch):
    """A shell that stands in it would see nothing any more."""
    home = tmp_path / "study"
    home.mkdir()
    monkeypatch.chdir(home)
    identity = home.stat().st_ino
    for what, names in (("old", ("a.csv", "maps/gone.tif", "ours.txt")), ("new", ("a.csv", "maps/b.tif"))):
        with replacing(Path(), ours=("ours.txt",)) as (stage,):
            for name in names:
                write_text(stage / name, what)
            listed = [stage / name for name in names if name != "ours.txt"]
            write_summary(stage, {"verb": what}, listed)
        (home / "mine.txt").write_text("keep")
        (home / "maps/mine.txt").write_text("keep")
    assert home.stat().st_ino == identity
    assert content(home) == expected("new") | {"mine.txt": "keep", "maps/mine.txt": "keep"}
    assert not hidden(home)


def test_a_file_taken_over_keeps_its_time_and_is_no_link(tmp_path):
    (tmp_path / "a").write_text("x")
    os.utime(tmp_path / "a", (1, 1))
    link_or_copy(tmp_path / "a", tmp_path / "b/c")
    (tmp_path / "a").unlink()
    assert (tmp_path / "b/c").read_text() == "x"
    assert (tmp_path / "b/c").stat().st_mtime == 1


@pytest.mark.slow
def test_a_folder_without_the_right_to_write(tmp_path):
    line = (
        "plan",
        "--wanted",
        "0.95",
        "--rater-accuracy",
        "0.85",
        "--no-pictures",
        "--quiet",
        "--out",
        tmp_path / "out",
    )
    assert obedient(*line).status == 0
    before = content(tmp_path)
    for folder in (tmp_path / "out/plan", tmp_path / "out"):
        folder.chmod(0o500)
        done = obedient(*line)
        assert done.status == 1
        assert "plan: cannot be written: Permission denied; choose a folder that can be written to" in done.line
        folder.chmod(0o700)
    assert content(tmp_path) == before
    assert not hidden(tmp_path / "out")


@pytest.mark.slow
def test_many_at_once_leave_one_of_them(tmp_path):
    """Eight processes: each is refused or complete, and what is left is one of them."""
    children = []
    for number in range(8):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for _ in range(10):
                    write(tmp_path / "agree", str(number))
                    time.sleep(0.001)
                code = 0
            except InputError:
                code = 2
            finally:
                os._exit(code)
        children.append(child)
    codes = {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children}
    assert codes <= {0, 2}
    found = content(tmp_path / "agree")
    assert found == expected(found["a.csv"])
    assert (tmp_path / "agree.html").read_text() == found["a.csv"]
    assert not hidden(tmp_path)
