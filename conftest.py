"""Rules for all tests: each runs in a folder of its own, and together they leave the checkout as it was.

Hypothesis has no deadlines, which fail on a busy machine; CI repeats the same examples, developers get new ones.
Without the slow tests it tries fewer examples where a test does not say how many.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("here", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

ROOT = Path(__file__).parent
FEWER = 20
"""Examples of Hypothesis without the slow tests; otherwise it tries 100."""
CACHES = {
    ".git", ".venv", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".import_linter_cache",
    "__pycache__", "_build",
}  # fmt: skip
"""Folders that tools write to."""
FILES = pytest.StashKey[set[str]]()


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("markexpr") == "not slow":
        chosen = settings.get_profile(settings.get_current_profile_name())
        settings.register_profile("fewer", chosen, max_examples=FEWER)
        settings.load_profile("fewer")


@pytest.fixture(autouse=True)
def own_folder() -> Iterator[None]:
    """Run the test in an empty folder."""
    before, folder = Path.cwd(), tempfile.mkdtemp(prefix="manytruths-test-")
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests without looking for garbage, of which thousands of tests that stay leave none."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def list_files(root: Path) -> set[str]:
    """The files of a folder, without those that tools write."""
    files = set[str]()
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in CACHES and not name.endswith(".egg-info")]
        files.update(os.path.relpath(os.path.join(folder, name), root) for name in names)
    return files


def pytest_sessionstart(session: pytest.Session) -> None:
    # a runner in the background may ignore these, and programs that tests start would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if not hasattr(session.config, "workerinput"):
        session.config.stash[FILES] = list_files(ROOT)


def pytest_sessionfinish(session: pytest.Session) -> None:
    before = session.config.stash.get(FILES, None)
    if before is None:
        return
    after = list_files(ROOT)
    for what, files in (("left behind", after - before), ("removed", before - after)):
        if files:
            print(f"\nThe tests {what} in the checkout: {', '.join(sorted(files)[:20])}")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
