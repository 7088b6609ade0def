"""``manytruths phantom``."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from shutil import which
from typing import Annotated, Literal

from cyclopts import Parameter

from .terminal import console, progress


def phantom(
    kind: Literal["echo"],
    /,
    *,
    to: Path,
    subjects: int = 100,
    frames: int = 10,
    size: int = 256,
    seed: int = 0,
    jobs: int = os.cpu_count() or 1,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
) -> int:
    """Simulate a study with a known truth, to learn from: phantom echo --to DIR.

    echo: sequences like a contrast echo of the heart, marked by five raters who differ where the image is poor.
    A run that was killed goes on where it stopped; another study in the same folder takes the place of the one before.

    Parameters
    ----------
    kind
        What to simulate.
    to
        Folder for the study; one that holds anything else is refused.
    subjects
        How many sequences.
    frames
        Images of each sequence.
    size
        Pixels along each side of an image, 64 or more.
    seed
        Another seed, another study.
    jobs
        Processes that draw at the same time; the pixels do not depend on it.
    quiet
        Print nothing but errors.
    """
    from ..analyses.phantom import write_echo
    from ..simulate import simulate_echo

    study = simulate_echo(subjects, frames, size, seed)
    with progress(quiet) as bar:
        found = write_echo(to, study, jobs=jobs, progress=bar)
    called = sys.argv[0]
    program = called if Path(called).name == "manytruths" and which("manytruths") is None else "manytruths"
    replace(found, program=program).print(console(quiet))
    return 0
