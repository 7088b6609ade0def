"""What nobody foresaw: one line, status 1, and the traceback with --debug."""

from __future__ import annotations

import pytest

from manytruths.cli import status
from processes_seen import shell
from study_folders import command, run, write_study


class Shy(Exception):
    def __str__(self):
        raise ValueError


@pytest.mark.slow
def test_pytorch_without_memory(capsys, monkeypatch, tmp_path):
    """As it really says it."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr("manytruths.learning.training.train", lambda *_, **__: torch.empty(1 << 50))
    done = run(capsys, "train", write_study(tmp_path), "--jobs", 1, "--out", tmp_path / "out")
    assert done.status == 1
    assert done.line.startswith("manytruths: out of memory (")
    assert done.line.endswith("; use a smaller --batch, --size or --width, or a smaller --at-once")


def deep(n=0):
    return deep(n + 1)


def raising(error):
    def work(*_, **__):
        raise error

    return work


UNEXPECTED = [
    (
        TypeError("no  such\nthing"),
        "unexpected error: TypeError: no such thing; run again with --debug for the traceback",
    ),
    (KeyError("x"), "unexpected error: KeyError: 'x'; run again with --debug for the traceback"),
    (AssertionError(), "unexpected error: AssertionError; run again with --debug for the traceback"),
    (Shy(), "unexpected error: Shy; run again with --debug for the traceback"),
    (SystemError("null"), "unexpected error: SystemError: null; run again with --debug for the traceback"),
    (UnicodeDecodeError("ascii", b"\xff", 0, 1, "bad"), "unexpected error: UnicodeDecodeError: 'ascii' codec can't"),
    (PermissionError("not you"), "unexpected error: PermissionError: not you; run again"),
    (BrokenPipeError(32, "Broken pipe"), "unexpected error: BrokenPipeError: [Errno 32] Broken pipe; run again"),
    (PermissionError(13, "Permission denied", "/x"), "/x: Permission denied; check the path, its rights and the space"),
    (MemoryError(), "out of memory; use fewer --jobs, or use --no-pictures --measure none, or crop the images or make"),
    (RuntimeError("can't start new thread"), "out of memory (can't start new thread); use fewer --jobs"),
    (ImportError("long\n\nlibx.so: failed to map segment\n"), "out of memory (libx.so: failed to map segment); use"),
]


@pytest.mark.parametrize(("error", "line"), UNEXPECTED, ids=lambda value: type(value).__name__)
def test_one_line(error, line, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("manytruths.analyses.agree.agree.compute_agreement", raising(error))
    done = run(capsys, "agree", write_study(tmp_path), "--jobs", 1)
    assert (done.status, done.out) == (1, "")
    assert done.line.startswith(f"manytruths: {line}")


def test_an_endless_descent(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("manytruths.analyses.agree.agree.compute_agreement", lambda *_, **__: deep())
    done = run(capsys, "agree", write_study(tmp_path))
    assert done.status == 1
    assert "unexpected error: RecursionError: maximum recursion depth exceeded" in done.line


@pytest.mark.parametrize("where", ["before", "after", "last"])
def test_the_traceback_on_request(where, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("manytruths.analyses.agree.agree.compute_agreement", raising(TypeError("x")))
    words = ["agree", write_study(tmp_path), "--jobs", "1"]
    words.insert({"before": 0, "after": 1, "last": 4}[where], "--debug")
    assert status(words) == 1
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.endswith("manytruths: unexpected error: TypeError: x; run again with --debug for the traceback\n")


def test_the_traceback_of_what_was_foreseen():
    for words, name in (("check nothing/{rater}/{case}.png", "StudyError"), ("agree --nope", "UnknownOptionError")):
        done = shell("{m} " + words + " --debug")
        assert "Traceback" in done.err
        assert name in done.err
        assert done.err.splitlines()[-1] == shell("{m} " + words).line


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_traceback_of_another_process(jobs, tmp_path):
    template = write_study(tmp_path)
    (tmp_path / "masks/B/p2.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(30))
    done = shell("{m} agree '" + template + f"' --jobs {jobs} --debug --out {tmp_path}/out")
    assert done.status == 1
    assert "in analyse_case" in done.err
    assert ("in another process:" in done.err) == (jobs == 2)


def test_every_help_tells_of_it():
    for words in ([], ["agree"], ["import"], ["demo"]):
        out = command(*words, "--help").out
        assert "--debug" in out
        assert "128 + n" in out


WRONG = {
    "nope": 'unknown command "nope"; see manytruths --help',
    "agre": 'unknown command "agre" (did you mean "agree"?); see manytruths --help',
    "agree --nope": "unknown option: --nope (did you mean --no-pictures?); see manytruths agree --help",
    "check a b": "nothing takes 'b'; see manytruths check --help",
    "agree a b": "masks is one template, or a list of tally files; got 2 paths, such as 'a': put a template with * or "
    "{case} in quotes",
    "agree a --jobs": "--jobs needs a value; see manytruths agree --help",
    "agree a --jobs x": 'invalid value for --jobs: unable to convert "x" into int; see manytruths agree --help',
    "phantom": "KIND needs a value; see manytruths phantom --help",
    "phantom echo": "--to needs a value; see manytruths phantom --help",
    "agree a --kappa-scale x": 'invalid value "x" for --kappa-scale. Choose from: "landis_koch", "fleiss", '
    '"altman", "shrout"; '
    "see manytruths agree --help",
}


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_call_is_one_line(words, capsys):
    done = run(capsys, *words.split())
    assert (done.status, done.out) == (2, "")
    assert done.line == f"manytruths: {WRONG[words]}"
