"""Runs that are stopped half-way: what is there is whole, and the next run completes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from subprocess import PIPE

import pytest

from study_folders import MANYTRUTHS, command, files, pixels, table, write_study

CASES = [f"p{i:03}" for i in range(150)]


def heed_interrupts():
    """As in a terminal: what runs in the background inherits that interrupts are ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start_and_stop(template, out, jobs, sent):
    """Send a signal when a few cases are done."""
    line = [MANYTRUTHS, "agree", template, "--out", str(out), "--jobs", str(jobs), "--quiet"]
    process = subprocess.Popen(
        line, stdout=PIPE, stderr=PIPE, text=True, start_new_session=True, preexec_fn=heed_interrupts
    )  # fmt: skip
    for _ in range(600):
        if len(list((out / ".part-agree/agree/heatmaps").glob("*.png"))) >= 5 or process.poll() is not None:
            break
        time.sleep(0.05)
    if sent == signal.SIGINT:
        os.killpg(process.pid, sent)  # as a terminal does: all processes of the run
    else:
        process.send_signal(sent)
    # ends only when nobody holds its pipes any more: no process is left behind
    _, err = process.communicate(timeout=20)
    return process.returncode, err


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_what_is_there_is_whole(jobs, sent, tmp_path):
    template, out = write_study(tmp_path, raters="AB", cases=CASES), tmp_path / "out"
    status, err = start_and_stop(template, out, jobs, sent)
    assert status == (130 if sent == signal.SIGINT else -signal.SIGKILL), err
    if sent == signal.SIGINT:
        assert err == "manytruths: stopped; no results were left half-written\n"
        assert not out.exists(), "what was interrupted is cleared away"
    time.sleep(0.5)
    assert not (out / "agree").exists()
    staged = [path for path in files(out) if not path.name.startswith(".")] if out.exists() else []
    assert len(staged) < 2 * len(CASES)
    assert (len(staged) >= 5) == (sent == signal.SIGKILL)
    for path in staged:
        assert pixels(path).any()
    assert command("agree", template, "--out", out, "--jobs", jobs, "--quiet").status == 0
    assert len(list((out / "agree/heatmaps").glob("p*.tif"))) == len(CASES)
    assert [path.name for path in out.iterdir()] == ["agree"]
    cases = {row["case"] for row in table(out / "agree/agreement.csv") if row["scope"] == "case"}
    assert cases == set(CASES)
    assert json.loads((out / "agree/summary.json").read_text())["cases"] == len(CASES)
