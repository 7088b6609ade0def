"""The commands that simulate a study: demo and phantom."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from shutil import which
from typing import Annotated, Literal

from cyclopts import Parameter

from .options import ALL_CORES, Jobs, Quiet
from .terminal import console, progress

Size = Annotated[int, Parameter(help="Width and height of an image in pixels.")]
StudySeed = Annotated[int, Parameter(help="Seed of the simulation.")]


def demo(
    *,
    out: Path = Path("manytruths-demo"),
    n_cases: int = 24,
    size: Size = 256,
    seed: StudySeed = 0,
    jobs: Jobs = ALL_CORES,
    quiet: Quiet = False,
) -> int:
    """Simulate a study with known errors of the raters, analyse it, and write a report.

    Parameters
    ----------
    out
        Folder for the study and its results.
    n_cases
        Number of cases.
    """
    from ..demo import demo as run

    with progress(quiet) as bar:
        result = run(out, cases=n_cases, size=size, seed=seed, jobs=jobs, progress=bar)
    replace(result, program=_program()).print(console(quiet))
    return 0


def phantom(
    kind: Literal["echo"],
    /,
    *,
    to: Path,
    n_subjects: int = 100,
    n_frames: int = 10,
    size: Size = 256,
    seed: StudySeed = 0,
    jobs: Jobs = ALL_CORES,
    quiet: Quiet = False,
) -> int:
    """Simulate a study to train networks on.

    For example: manytruths phantom echo --to DIR. echo: sequences like contrast echocardiograms, annotated by five
    raters who differ where the image is poor. A stopped run continues where it stopped; another study in the same
    folder replaces the earlier one.

    Parameters
    ----------
    kind
        What to simulate.
    to
        Folder for the study; must be empty or hold an earlier phantom, which is replaced.
    n_subjects
        Number of sequences.
    n_frames
        Number of images in each sequence.
    """
    from ..analyses.phantom import write_echo
    from ..simulate import simulate_echo

    study = simulate_echo(n_subjects, n_frames, size, seed)
    with progress(quiet) as bar:
        result = write_echo(to, study, jobs=jobs, progress=bar)
    replace(result, program=_program()).print(console(quiet))
    return 0


def _program() -> str:
    """How the program was called, if it cannot be called by its name alone."""
    called = sys.argv[0]
    return called if Path(called).name == "manytruths" and which("manytruths") is None else "manytruths"
