"""Cases on the workers of an executor: the same results in the same order, whatever ends on the way."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import dask
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manytruths as mt
from dask_cluster import Cluster, keep_at_once, kill_worker
from manytruths.core.errors import CallError, EngineError, FormatError
from manytruths.io import kept
from manytruths.io.kept import code_version
from manytruths.study import engine, keeping
from manytruths.study.engine import map_on, open_engine, run_batch
from study_folders import command, write_study


def square(item, pause=0.0):
    """Squares, unless the item is an error."""
    time.sleep(pause)
    if isinstance(item, Exception):
        raise item
    return item * item


@given(st.integers(0, 60), st.integers(1, 5), st.sampled_from([0.0, 0.02, 0.4]))
@settings(max_examples=15, deadline=None)
def test_in_order_in_batches_of_any_size(count, workers, seconds):
    """Batches grow with the pace that is seen."""
    shown, before = [], engine.SECONDS
    engine.SECONDS = seconds
    try:
        with ThreadPoolExecutor(workers) as pool:
            found = list(map_on(pool, square, range(count), lambda *at: shown.append(at)))
    finally:
        engine.SECONDS = before
    assert found == [i * i for i in range(count)]
    assert shown == [(i, count) for i in range(count + 1)]


class Counting(ThreadPoolExecutor):
    """Counts what is submitted, and what is on its way at most."""

    def __init__(self, workers):
        super().__init__(workers)
        self.batches, self.flying, self.most = [], 0, 0

    def submit(self, fn, packed, *rest):
        self.batches.append(len(pickle.loads(packed)[1]))
        self.flying += 1
        self.most = max(self.most, self.flying)
        future = super().submit(fn, packed, *rest)
        future.add_done_callback(self._landed)
        return future

    def _landed(self, _):
        self.flying -= 1


@pytest.mark.slow
def test_batches_hold_half_a_second_of_work():
    """And no more than four for each worker are on their way."""
    with Counting(2) as pool:
        assert len(list(map_on(pool, partial(square, pause=0.01), range(400), None))) == 400
    assert pool.most <= 8
    assert set(pool.batches[:8]) == {1}
    assert 25 <= max(pool.batches) <= 50
    assert len(pool.batches) < 60


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_the_first_error_in_order(kind):
    shown = []
    items = [1, 2, FormatError("first"), *range(30), FormatError("second")]
    with kind(2) as pool, pytest.raises(FormatError, match="first"):
        list(map_on(pool, square, items, lambda done, _: shown.append(done)))
    assert shown[-1] == 2


def end(item):
    os._exit(1)


def test_a_broken_executor_is_named():
    with ProcessPoolExecutor(2) as pool, pytest.raises(EngineError, match="make another one"):
        list(map_on(pool, end, range(3), None))


def test_another_version_is_refused(tmp_path):
    ours = rf"{re.escape(mt.__version__)} [0-9a-f]+"
    with pytest.raises(EngineError, match=rf"has manytruths {ours}, this is 0.0.9; install the same version there"):
        run_batch(pickle.dumps((square, [(0, 1)])), "0.0.9", os.getcwd(), (), "and whatever that version sends", ())
    with pytest.raises(EngineError, match=r"does not see .*/elsewhere; masks and results must be on disks"):
        run_batch(pickle.dumps((square, [(0, 1)])), code_version(), str(tmp_path / "elsewhere"), (), ())
    with pytest.raises(EngineError, match=r"does not see .*/out; masks and results must be on disks"):
        run_batch(
            pickle.dumps((square, [])), code_version(), os.getcwd(), [str(tmp_path / "out" / ".part-x" / "y")], ()
        )


@pytest.mark.parametrize("error", [ModuleNotFoundError("No module named 'manytruths'"), TypeError("takes 3 arguments")])
def test_workers_that_lack_the_package(error):
    class Lacking(ThreadPoolExecutor):
        def submit(self, *_):
            return super().submit(square, error)

    with Lacking(1) as pool, pytest.raises(EngineError, match="install this manytruths on all of them"):
        list(map_on(pool, square, range(3), None))


class Remote(ThreadPoolExecutor):
    """Its workers see other files than the caller."""

    def submit(self, fn, *rest):
        *rest, files = rest
        return super().submit(fn, *rest, [file.replace("/C/", "/elsewhere/") for file in files])


@pytest.mark.parametrize("unseen", ["masks", "images"])
def test_files_that_workers_do_not_see_are_named(tmp_path, unseen):
    """An image that is missing there alone would be left out, and results would differ."""
    template = write_study(tmp_path, cases=["p1", "p2"])
    images = {"images": template.replace("{rater}", "C"), "exclude_rater": ["C"]} if unseen == "images" else {}
    with (
        Remote(1) as pool,
        pytest.raises(EngineError, match=r"does not see .*/elsewhere/p1.png; masks and results must"),
    ):
        mt.agree(mt.Study.open(template, executor=pool, **images), out=tmp_path / "out")
    assert not (tmp_path / "out/agree").exists()


def test_an_executor_of_the_caller(tmp_path):
    template = write_study(tmp_path, cases=[f"p{i}" for i in range(12)])
    with ProcessPoolExecutor(2) as pool:
        mt.agree(mt.Study.open(template, executor=pool), out=tmp_path / "there")
    mt.agree(template, out=tmp_path / "here")
    assert same_files(tmp_path / "there", tmp_path / "here") > 10


def test_arrays_do_not_travel():
    """Nothing is submitted: their processes are forked from this one."""
    study = mt.Study.from_arrays({"p1": [[[1, 1, 0]], [[1, 0, 0]]], "p2": [[[0, 1, 0]], [[0, 1, 1]]]})
    study.executor = object()
    assert list(study.tally()) == ["p1", "p2"]


@pytest.mark.parametrize("name", ["", "daskk", "host:8786"])
def test_no_such_engine(name):
    with pytest.raises(CallError, match=r"engine is processes, dask, or the address"), open_engine(name, 1):
        pass


def same_files(there, here):
    """How many files there are, all of the same bytes but for the record of the run."""
    names = sorted(p.relative_to(here) for p in here.rglob("*") if p.is_file())
    assert sorted(p.relative_to(there) for p in there.rglob("*") if p.is_file()) == names
    for name in names:
        assert name.name == "run.json" or (there / name).read_bytes() == (here / name).read_bytes(), name
    return len(names)


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as running:
        yield running


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp("study"), cases=[f"p{i:02}" for i in range(16)])


@pytest.mark.slow
def test_a_cluster_gives_the_same_bytes(cluster, template, tmp_path):
    for where, name in (("here", "processes"), ("there", cluster.address)):
        for verb in ("agree", "fuse", "reliability"):
            done = command(verb, template, "--out", tmp_path / where, "--engine", name, "--jobs", 2, "--quiet")
            assert (done.status, done.err) == (0, "")
        assert command("report", template, "--to", tmp_path / where / "x.html", "--engine", name, "-q").status == 0
    assert same_files(tmp_path / "there", tmp_path / "here") > 60


@pytest.mark.slow
@pytest.mark.parametrize("deadly", [0, 30])
def test_a_case_that_ends_workers(cluster, tmp_path, deadly):
    """Dask tries a task four times itself; then the cases of its batch come one by one."""
    with open_engine(cluster.address, 1) as executor:
        work = partial(kill_worker, deadly=deadly, folder=tmp_path, times=50)
        with pytest.raises(EngineError, match="3 workers or more ended while at it, perhaps for lack of memory"):
            list(map_on(executor, work, range(60), None))
    # after four deaths Dask gives up all that the worker had: sent alone, each is done
    for times in (2, 4):
        (again := tmp_path / str(times)).mkdir()
        with open_engine(cluster.address, 1) as executor:
            work = partial(kill_worker, deadly=deadly, folder=again, times=times)
            assert list(map_on(executor, work, range(60), None)) == [i * i for i in range(60)]


@pytest.mark.slow
@pytest.mark.parametrize("times", [20])
def test_workers_that_are_killed_change_nothing(cluster, template, tmp_path, times):
    """At random moments of four commands, which are repeated until all kills have been."""
    commands = {"agree": [], "fuse": [], "evaluate": ["--predictions", template.replace("{rater}", "A")], "report": []}
    here, rounds, kills = tmp_path / "here", 0, cluster.kills
    killer = cluster.kill_some(seed=times, times=times, pause=(0.3, 1.5))
    while killer.is_alive() or not rounds:
        there = tmp_path / f"there{rounds}"
        for verb, options in commands.items():
            for where, name in ((here, "processes"), (there, cluster.address)):
                if where == here and rounds:
                    continue
                out = ["--to", where / "x.html"] if verb == "report" else ["--out", where]
                done = command(verb, template, *options, *out, "--engine", name, "--jobs", 2, "--quiet")
                assert (verb, done.err, done.status) == (verb, "", 0)
        assert same_files(there, here) > 80
        rounds += 1
    killer.join()
    assert cluster.kills == kills + times


@pytest.mark.slow
def test_a_scheduler_that_ends(template, tmp_path):
    """One line, whenever it ends, and nothing half-written."""
    for done in (0, 5):
        with Cluster(1) as own, open_engine(own.address, 1) as executor:

            def kill_scheduler(at, _, done=done, own=own):
                if at == done:
                    own.scheduler.kill()

            with pytest.raises(EngineError, match=r"the workers or their scheduler are gone"):
                mt.agree(mt.Study.open(template, executor=executor), out=tmp_path, progress=kill_scheduler)
        # a worker that lost its scheduler may still have written; the next run clears that away
        assert {path.name for path in tmp_path.iterdir()} <= {".part-agree"}
    mt.agree(template, out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["agree"]


@pytest.mark.slow
def test_the_next_run_goes_on_where_a_scheduler_ended(template, tmp_path, monkeypatch):
    """What the workers had found is taken from the folder of the run, here without a cluster."""
    with Cluster(1) as own, open_engine(own.address, 1) as executor:
        executor.submit(keep_at_once).result()

        def kill_scheduler(done, _):
            if done == 7:
                own.scheduler.kill()

        with pytest.raises(EngineError, match=r"the workers or their scheduler are gone"):
            mt.agree(mt.Study.open(template, executor=executor), out=tmp_path / "out", progress=kill_scheduler)
    taken = []

    def load(*record):
        taken.append(kept.load_record(*record))
        return taken[-1]

    monkeypatch.setattr(keeping, "load_record", load)
    mt.agree(template, out=tmp_path / "out")
    assert len([payload for payload in taken if payload]) >= 7
    mt.agree(template, out=tmp_path / "whole")
    assert same_files(tmp_path / "out", tmp_path / "whole") > 10


@pytest.mark.slow
def test_a_scheduler_that_is_not_there(template, monkeypatch):
    monkeypatch.setattr(engine, "PATIENCE", 1)
    with (
        pytest.raises(EngineError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9"),
        open_engine("tcp://127.0.0.1:9", 1),
    ):
        pass


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "threads", "says"), [(0, 1, "has no workers"), (1, 2, "has several threads")])
def test_workers_that_cannot_be_used(monkeypatch, workers, threads, says):
    monkeypatch.setattr(engine, "STARTING", 1)
    with Cluster(workers, threads) as own, pytest.raises(EngineError, match=says), open_engine(own.address, 1):
        pass


@pytest.mark.slow
def test_a_cluster_that_wants_certificates(template, tmp_path, monkeypatch):
    """What Dask's configuration names, here by the environment, is all that is needed."""
    files = {"CERT": str(tmp_path / "cert.pem"), "KEY": str(tmp_path / "key.pem")}
    line = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*line, "-keyout", files["KEY"], "-out", files["CERT"]], check=True, capture_output=True)
    known = {f"{who}__{name}": path for who in ("CLIENT", "SCHEDULER", "WORKER") for name, path in files.items()}
    for name, path in {"CA_FILE": files["CERT"], **known}.items():
        monkeypatch.setenv(f"DASK_DISTRIBUTED__COMM__TLS__{name}", path)
    # what is set replaces what was there, the defaults of distributed, too
    named = dask.config.merge(dask.config.config, dask.config.collect_env())
    with dask.config.set(named), Cluster(1, protocol="tls") as own:
        for where, name in (("here", "processes"), ("there", own.address)):
            done = command("agree", template, "--out", tmp_path / where, "--engine", name, "--jobs", 1, "--quiet")
            assert (done.err, done.status) == ("", 0)
        assert same_files(tmp_path / "there", tmp_path / "here") > 10
        monkeypatch.delenv("DASK_DISTRIBUTED__COMM__TLS__CA_FILE")
        monkeypatch.delenv("DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT")
        done = command("agree", template, "--out", tmp_path / "there", "--engine", own.address, "--quiet")
        assert done.status == 1
        assert "wants certificates" in done.err
        assert done.err.count("\n") == 1


@pytest.mark.slow
def test_a_local_cluster(template, tmp_path):
    for name in ("dask", "processes"):
        done = command("agree", template, "--out", tmp_path / name, "--engine", name, "--jobs", 2, "--quiet")
        assert (done.status, done.err) == (0, "")
    assert same_files(tmp_path / "dask", tmp_path / "processes") > 10
