"""The page of benchmarks says what was kept of runs, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks import __main__ as runner
from benchmarks import page
from benchmarks.measuring import Result, at_most
from benchmarks.results import read


def test_the_page_is_made_from_what_is_kept() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page(read(page.KEPT)), "run python -m benchmarks.page"


def test_a_run_is_kept_beside_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    kept = tmp_path / "kept.json"
    rows: list[Result] = [
        at_most("a job | of two", "peer *1*", 0.5, 1, "2.0 s"),
        at_most("  its memory", "", 3, 2, unit="MB"),
    ]
    monkeypatch.setattr(runner, "JOBS", {"first": lambda: iter(rows), "second": lambda: iter(rows[:1])})
    monkeypatch.setattr(page, "JOBS", {"first": None, "second": None, "third": None})
    for arguments in (["first"], ["second"], ["first"]):
        monkeypatch.setattr("sys.argv", ["benchmarks", "--json", str(kept), *arguments])
        runner.main()
    assert "1 missed" in capsys.readouterr().out
    jobs = read(kept)
    assert set(jobs) == {"first", "second"}
    assert jobs["first"]["versions"]["numpy"]
    text = page.page(jobs)
    assert "2 of 3 jobs, 3 figures, of which 1 missed what was wanted." in text
    assert "Not run yet: `third`." in text
    assert r"| `first` | a job \| of two; peer \*1\* | 0.500 × | ≤ 1 × | 2.0 s |" in text.replace("\xa0", " ")
    assert "|  | its memory | 3.00 MB | ≤ 2 MB, **missed** |  |" in text.replace("\xa0", " ")


def test_a_job_that_fails_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def wrong():
        yield at_most("right", "", 1, 2)
        raise AssertionError("another answer than its peer")

    jobs = {"wrong": wrong, "good": lambda: iter([at_most("good", "", 1, 2)])}
    monkeypatch.setattr(runner, "JOBS", jobs)
    monkeypatch.setattr("sys.argv", ["benchmarks", "--json", str(tmp_path / "kept.json")])
    with pytest.raises(SystemExit, match="failed: wrong"):
        runner.main()
    assert "another answer than its peer" in capsys.readouterr().err
    assert list(read(tmp_path / "kept.json")) == ["good"]


def test_unknown_jobs_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", "no-such-job"])
    with pytest.raises(SystemExit):
        runner.main()
    assert "no job no-such-job" in capsys.readouterr().err
    for document in ({"format": "other"}, {"format": "manytruths-benchmarks", "version": 99}):
        (tmp_path / "other.json").write_text(json.dumps(document))
        with pytest.raises(SystemExit, match="version 1 or earlier"):
            read(tmp_path / "other.json")
