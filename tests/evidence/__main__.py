"""``python -m tests.evidence`` writes ``docs/evidence.md``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# as pytest does
sys.path.insert(0, str(Path(__file__).parents[1]))

from .page import PAGE, parts


def main() -> None:
    """Compute everything anew."""
    try:
        text = "\n".join(parts())
    except pytest.skip.Exception as reason:
        sys.exit(str(reason))
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
