"""Signals at any moment: 128 + n, one line, nothing left behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time

import pytest

from processes_seen import ended, half_way, started
from study_folders import command, untidy, write_study

SAID = {
    signal.SIGINT: "manytruths: stopped; no results were left half-written\n",
    signal.SIGTERM: "manytruths: stopped by SIGTERM; no results were left half-written\n",
    signal.SIGHUP: "manytruths: stopped by SIGHUP; no results were left half-written\n",
}


def stopped(done, sent):
    return (done.status, done.err) == (128 + sent, SAID[sent])


def nobody_left(process):
    return subprocess.run(["pgrep", "-s", str(process)], capture_output=True, text=True, check=False).stdout == ""


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("sent", SAID, ids=lambda s: s.name)
@pytest.mark.parametrize("to", [os.kill, os.killpg], ids=["one", "all"])
def test_half_way(sent, to, jobs, tmp_path):
    template, out = write_study(tmp_path, "AB", [f"p{i:03}" for i in range(150)]), tmp_path / "out"
    process = started("agree", template, "--out", out, "--jobs", jobs)
    half_way(process, out)
    to(process.pid, sent)
    assert stopped(ended(process), sent)
    assert not untidy(out)
    assert nobody_left(process.pid)


@pytest.mark.slow
def test_many_at_once(tmp_path):
    """Who leans on Ctrl-C does not keep files from being cleared away."""
    template, out = write_study(tmp_path, "AB", [f"p{i:03}" for i in range(150)]), tmp_path / "out"
    process = started("agree", template, "--out", out, "--jobs", 2)
    half_way(process, out)
    for _ in range(30):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.002)
    assert stopped(ended(process), signal.SIGINT)
    assert not untidy(out)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_at_random_moments(seed, tmp_path):
    template, chance = write_study(tmp_path, "AB", [f"p{i:03}" for i in range(40)]), random.Random(seed)
    before = time.monotonic()
    assert command("agree", template, "--out", tmp_path / "whole", "--jobs", 2).status == 0
    lasts = time.monotonic() - before
    for i in range(20):
        out, sent = tmp_path / f"out{i}", signal.SIGINT if seed == 0 else chance.choice(list(SAID))
        process = started("agree", template, "--out", out, "--jobs", 2)
        time.sleep(chance.uniform(0, lasts))
        if process.poll() is None:
            os.killpg(process.pid, sent)
        done = ended(process)
        assert stopped(done, sent) or (done.status, done.err) == (0, ""), done
        assert not out.exists() or not untidy(out)
        assert nobody_left(process.pid)


@pytest.mark.slow
def test_those_that_are_ignored_stay_ignored(tmp_path):
    """nohup."""
    template, out = write_study(tmp_path, "AB", [f"p{i:03}" for i in range(20)]), tmp_path / "out"
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = started("agree", template, "--out", out, "--jobs", 2)
    finally:
        signal.signal(signal.SIGHUP, before)
    for _ in range(10):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGHUP)
        time.sleep(0.05)
    assert ended(process).status == 0
