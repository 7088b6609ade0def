"""Where real data lies, for the tests that need it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

HOME = Path(os.environ.get("MANYTRUTHS_DATA") or Path(__file__).parents[2] / "shared" / "data")


def data(*parts: str) -> Path:
    """A file or folder of the real data; the test that asks is skipped where it is absent."""
    path = HOME.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no real data at {path}: set MANYTRUTHS_DATA to the folder that holds it")
    return path
