"""Standard streams that are closed, full, or read by nobody."""

from __future__ import annotations

import pytest

from processes_seen import shell
from study_folders import files, write_study

pytestmark = pytest.mark.slow

FULL = "manytruths: standard output cannot be written: No space left on device; what goes into files is not affected\n"


@pytest.fixture
def line(tmp_path):
    return "{m} agree '" + write_study(tmp_path) + f"' --jobs 2 --out {tmp_path}/out"


def written(tmp_path):
    """All but when and for how long it ran."""
    return {path: path.read_bytes() for path in files(tmp_path / "out") if path.name != "run.json"}


def whole(tmp_path):
    return len(files(tmp_path / "out/agree")) > 10 and (tmp_path / "out/agree/summary.json").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    "closed", [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full", "--quiet >/dev/full"]
)
def test_nothing_happens(closed, line, tmp_path):
    done = shell(f"{line} {closed}")
    assert (done.status, done.err) == (0, "")
    assert bool(done.out) == (">&-" not in closed.replace("2>&-", "") and "--quiet" not in closed)
    assert whole(tmp_path)


@pytest.mark.slow
def test_what_is_printed_does_not_end_up_in_files(line, tmp_path):
    """With descriptor 1 closed, the first file that is opened would be standard output."""
    assert shell(line).status == 0
    before = written(tmp_path)
    assert shell(f"{line} <&- >&- 2>&-").status == 0
    assert written(tmp_path) == before


def test_an_error_with_standard_error_closed(tmp_path):
    for closed in ("2>&-", "2>/dev/full", ">&- 2>&-"):
        done = shell("{m} agree nothing/{rater}/{case}.png " + closed)
        assert (done.status, done.out, done.err) == (1, "", "")
        assert shell("{m} agree --nope " + closed).status == 2


@pytest.mark.parametrize("rest", ["", "--help", "--debug"])
def test_a_full_disk_behind_standard_output(rest, line, tmp_path):
    done = shell(f"{line} {rest} >/dev/full")
    assert (done.status, done.err) == (1, FULL)
    assert rest == "--help" or whole(tmp_path)


def test_a_reader_that_has_seen_enough(line, tmp_path):
    for more in ("", "--help"):
        done = shell(f"set -o pipefail; {line} {more} | head -1")
        assert (done.status, done.err) == (0, "")
        assert len(done.out.splitlines()) == 1
        done = shell(f"set -o pipefail; {line} {more} | true")
        assert (done.status, done.err) == (0, "")
    assert whole(tmp_path)


def test_a_reader_of_errors_that_has_gone(tmp_path):
    done = shell("{m} check " + f"'{write_study(tmp_path)}x' --out {tmp_path}/out 2> >(true); echo $?")
    assert (done.out.split()[-1], done.err) == ("1", "")


def test_unbuffered(line, tmp_path):
    environment = {"PYTHONUNBUFFERED": "1"}
    assert shell(f"{line} >/dev/full", environment=environment).err == FULL
    assert "3 raters" in shell(line, environment=environment).out


def test_a_pipe_that_answers_at_once(line, tmp_path):
    """One who reads slowly from a pipe that does not wait gets everything."""
    slow = "import sys, time; time.sleep(3); print(len(sys.stdin.read().splitlines()))"
    unblock = "import os; os.set_blocking(1, False)"
    long = "for i in $(seq 9); do {m} agree --help; done"
    done = shell(f"(python3 -c '{unblock}'; {long}) | python3 -c '{slow}'; {{m}} agree --help | wc -l")
    lines = [int(n) for n in done.out.split()]
    assert lines[0] == 9 * lines[1]
    assert done.err == ""
