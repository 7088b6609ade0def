"""The command line as somebody for whom the rights of files hold; root passes over them."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from study_folders import Run

DROP, OVERRIDE, READ_SEARCH = 24, 1, 2
"""prctl's PR_CAPBSET_DROP, and the two capabilities by which root passes over the rights of files."""


def _obey() -> None:
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if any(prctl(DROP, capability, 0, 0, 0) for capability in (OVERRIDE, READ_SEARCH)):
        raise OSError(ctypes.get_errno(), "capabilities stay")


def obedient(*arguments: object, cwd: Path | None = None) -> Run:
    """The command line, which may do only what the rights of files let it."""
    if os.name != "posix" or (os.geteuid() == 0 and sys.platform != "linux"):
        pytest.skip("rights of files hold for nobody here")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "manytruths", *map(str, arguments)],
            cwd=cwd,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
            preexec_fn=_obey if os.geteuid() == 0 else None,
        )
    except subprocess.SubprocessError:
        pytest.skip("root cannot give up passing over the rights of files here")
    assert "Traceback" not in done.stderr, done.stderr
    return Run(done.returncode, done.stdout, done.stderr)
