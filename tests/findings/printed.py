"""What commands print about small studies on disk, and the text of report pages, as one line without line breaks."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr, redirect_stdout
from html import unescape
from pathlib import Path

import numpy as np

from manytruths.cli import status
from study_folders import write_png

Cases = dict[str, dict[str, np.ndarray]]
"""Masks by case and by rater, or by the path that stands for one: ``A/1`` for a session."""


def write_masks(folder: Path, cases: Cases, names: str = "{rater}") -> str:
    """Write the masks; the template of their paths."""
    for case, masks in cases.items():
        for name, mask in masks.items():
            write_png(folder / name / f"{case}.png", mask.astype(np.uint8))
    return str(folder / names / "{case}.png")


def attempt(*arguments: object) -> tuple[int, str]:
    """The exit status of a command, and what it prints."""
    stream = io.StringIO()
    with redirect_stdout(stream), redirect_stderr(stream):
        code = status([str(argument) for argument in arguments])
    return code, re.sub(r"\s+", " ", stream.getvalue())


def printed(*arguments: object) -> str:
    """What a command prints; it must succeed."""
    code, text = attempt(*arguments)
    assert code == 0, text
    return text


def page(template: str | Path, to: Path, *options: object) -> str:
    """The text of the report."""
    printed("report", template, "--to", to / "report.html", "--resamples", 200, *options)
    html = (to / "report.html").read_text(encoding="utf-8")
    # the table of claims also lists those that were not made
    html = re.sub(r'<table[^>]*data-name="claims".*?</table>', "", html, flags=re.DOTALL)
    html = re.sub(r"<script.*?</script>|<style.*?</style>|<svg.*?</svg>", "", html, flags=re.DOTALL)
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)))
