"""Too little memory, and processes that the system kills or does not give."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from manytruths.cli.failures import BYTES, describe_too_large
from manytruths.cli.process import BLAS_THREADS
from manytruths.core.errors import TooLarge
from processes_seen import ended, half_way, shell, started
from study_folders import command, files, untidy, write_png, write_study

SIZE = 3072
LIGHTER = "--no-pictures --measure none"
ADVICE = f"use fewer --jobs, or use {LIGHTER} (about 0.2 GB), or crop the images or make them smaller"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    rows, columns = np.ogrid[:SIZE, :SIZE]
    for x, rater in enumerate("ABCDE"):
        mask = (rows - SIZE / 2) ** 2 + (columns - SIZE / 2 - 20 * x) ** 2 < (SIZE / 3) ** 2
        write_png(folder / f"masks/{rater}/p1.png", mask.astype(np.uint8), compress_level=1)
        os.makedirs(folder / f"pair/{rater}", exist_ok=True)
        for case in ("p1", "p2"):
            os.link(folder / f"masks/{rater}/p1.png", folder / f"pair/{rater}/{case}.png")
    for case in ("p1", "p2"):
        write_png(folder / f"images/{case}.png", np.zeros((SIZE, SIZE, 3), np.uint8), compress_level=1)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_what_it_takes_and_what_to_do(jobs, large, tmp_path):
    given = f"{large}/pair/{{rater}}/{{case}}.png' --images '{large}/images/{{case}}.png' --jobs {jobs}"
    line = "ulimit -v 600000; {m} agree '" + f"{given} --out {tmp_path}/out"
    done = shell(line)
    assert done.status == 1
    assert done.line.startswith("manytruths: case p1: does not fit into memory")
    each = ", in each of 2 processes" if jobs == 2 else ""
    advice = ADVICE if jobs == 2 else ADVICE.removeprefix("use fewer --jobs, or ")
    assert done.line.endswith(f": agree takes about 1.3 GB for 5 masks of 3072×3072{each}; {advice}")
    assert not untidy(tmp_path / "out")
    # what is advised is enough
    assert shell(f"{line} {LIGHTER} --quiet") == shell(":")


@pytest.mark.slow
@pytest.mark.parametrize("command", BYTES)
def test_the_figures(command, large, tmp_path):
    """As measured here: at most a third off."""
    template = "masks/{rater}/{case}.png"
    more = f"--predictions '{template.replace('rater', 'algorithm')}'" if command == "evaluate" else ""
    out = "--to" if command == "report" else "--out"
    peak = "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:]); " \
        "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"  # fmt: skip
    line = f"python3 -c '{peak}' {{m}} {command} '{template}' {more} --jobs 1 --quiet {out} {tmp_path}/out"
    status, kilobytes = map(int, shell(line, cwd=large, limit=200).out.split())
    assert status == 0
    told = describe_too_large(TooLarge("", "x", SIZE * SIZE, 5), command.split())
    size = float(told.partition("takes about ")[2].partition(" GB")[0])
    assert kilobytes * 1024 / 1e9 == pytest.approx(size, rel=0.34, abs=0.06)


def helpers(process):
    """The processes that it started."""
    return [int(n) for n in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.mark.slow
def test_a_process_that_the_system_kills(tmp_path):
    """Another takes its place."""
    template, out = write_study(tmp_path, "AB", [f"p{i:03}" for i in range(80)]), tmp_path / "out"
    process = started("agree", template, "--out", out, "--jobs", 2)
    half_way(process, out)
    os.kill(helpers(process.pid)[0], signal.SIGKILL)
    done = ended(process)
    assert (done.status, done.err) == (0, "")
    assert not untidy(out)
    assert command("agree", template, "--out", tmp_path / "again", "--quiet").status == 0
    assert all(p.read_bytes() == (tmp_path / "again" / p.relative_to(out)).read_bytes() for p in files(out))


@pytest.mark.slow
def test_processes_that_the_system_kills_whenever_they_start(tmp_path):
    template, out = write_study(tmp_path, "AB", [f"p{i:03}" for i in range(150)]), tmp_path / "out"
    process = started("agree", template, "--out", out, "--jobs", 2)
    half_way(process, out)
    while process.poll() is None:
        for helper in helpers(process.pid):
            with suppress(ProcessLookupError):
                os.kill(helper, signal.SIGKILL)
    done = ended(process)
    assert done.status == 1
    assert done.line.startswith("manytruths: case p")
    assert (
        "its process was killed by signal 9, probably for memory: agree takes about 0.1 GB for 2 masks of" in done.line
    )
    assert not untidy(out)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may start as many as it likes")
def test_processes_that_cannot_be_started(tmp_path):
    template = write_study(tmp_path)
    done = shell("ulimit -u 1; {m} agree '" + template + f"' --jobs 2 --quiet --out {tmp_path}/out")
    assert (done.status, done.err) == (0, "")


@pytest.mark.parametrize(
    "limit",
    [
        limit if limit % 75_000 == 20_000 else pytest.param(limit, marks=pytest.mark.slow)
        for limit in range(20_000, 320_000, 25_000)
    ],
)
def test_hardly_any_memory(limit, tmp_path):
    """Also where libraries fit, but not what they allocate when they are loaded."""
    done = shell(f"ulimit -v {limit}; " + "{m} agree '" + write_study(tmp_path) + f"' --jobs 2 --out {tmp_path}/out")
    assert done.status in (0, 1, 127)
    assert "Traceback" not in done.err or "manytruths" not in done.err
    assert len(done.err.splitlines()) <= 1 or "<frozen" in done.err
    assert "OpenBLAS" not in done.err


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="with one processor there is one thread")
@pytest.mark.parametrize(("chosen", "threads"), [({}, 1), ({"OMP_NUM_THREADS": "2"}, 2)])
def test_threads_of_blas(chosen, threads):
    code = "import os; from manytruths.cli.process import restrain_blas; restrain_blas(); import numpy; " \
        "numpy.ones((500, 500)) @ numpy.ones((500, 500)); print(len(os.listdir('/proc/self/task')))"  # fmt: skip
    kept = {name: value for name, value in os.environ.items() if name not in BLAS_THREADS}
    done = subprocess.run([sys.executable, "-c", code], env=kept | chosen, capture_output=True, text=True, check=True)
    assert (int(done.stdout) > 1) == (threads > 1)
