"""The command ``phantom``: a simulated study as files, to train on and to evaluate against its known truth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..claims.sentences import counted
from ..core.errors import CallError, InputError
from ..io import write_csv, write_map, write_text
from ..io.results import link_or_copy, remove_inside, replacing
from ..io.writing import PART
from ..simulate import EchoStudy
from ..study import Progress
from ..study.processes import map_in_order

if TYPE_CHECKING:
    from rich.console import Console

WRITTEN = ("images", "masks", "references", "study.toml", "cases.csv", "raters.csv")
DRAWING = 2
"""Increased when the same arguments give other pixels, so that frames of different versions are not mixed."""


ECHO_TOML = """\
# A simulated study of contrast echo with a known truth, made by: manytruths phantom echo
# subjects {subjects}, frames {frames}, size {size}, seed {seed}, drawing {drawing}
masks = "masks/{{rater}}/{{case}}.png"
images = "images/{{case}}.png"
reference = "references/{{reference}}/{{case}}.png"
cases = "cases.csv"
raters = "raters.csv"
"""


@dataclass(frozen=True)
class Written:
    """A phantom that was written, and where."""

    folder: Path
    study: EchoStudy
    made: int
    """Frames that were not there from an earlier run."""
    program: str = "manytruths"

    def print(self, console: Console) -> None:
        """Print what was written, and the next command."""
        study, before = self.study, len(self.study) - self.made
        for line in (
            f"{len(study)} frames of {counted(study.subjects, 'subject')}, {study.size}×{study.size} pixels, "
            f"marked by {len(study.raters)} raters{f'; {before} of them were there already' if before else ''}",
            f"the study:  {self.folder}  (images, masks, references/truth, cases.csv, raters.csv, study.toml)",
            f"next:       {self.program} agree {self.folder}",
        ):
            console.print(line, highlight=False, markup=False, soft_wrap=True)


def write_echo(folder: Path | str, study: EchoStudy, *, jobs: int = 1, progress: Progress | None = None) -> Written:
    """Write a simulated contrast echo as a study; frames from an earlier run of the same call are kept.

    ``Study.open(folder)`` reads it, with the truth as a reference.

    Parameters
    ----------
    folder : Path or str
        Where to write; a folder that holds anything else is refused.
    study : EchoStudy
        The simulated frames.
    jobs : int
        Number of worker processes.
    progress : callable, optional
        Called with the number of frames done and of all frames.

    Returns
    -------
    Written
        The folder, and the number of frames that were new.
    """
    if jobs < 1:
        raise CallError(f"jobs must be at least 1; got {jobs}")
    folder = Path(folder)
    text = ECHO_TOML.format(
        subjects=study.subjects, frames=study.frames, size=study.size, seed=study.seed, drawing=DRAWING
    )
    _refuse_others(folder)
    with replacing(folder.resolve(), ours=WRITTEN, goes_on=True) as (stage,):
        if _text_of(stage / "study.toml") != text:
            for name in WRITTEN:
                remove_inside(stage, name)
        write_text(stage / "study.toml", text)
        before = folder if _text_of(folder / "study.toml") == text else None
        missing = [i for i, name in enumerate(study.names) if not _is_there(study, stage, name, before)]
        for _ in map_in_order(partial(_write_frame, study=study, folder=stage), missing, jobs, progress):
            pass
        rows = [(name, study.subject(i), study.quality(i)) for i, name in enumerate(study.names)]
        write_csv(stage / "cases.csv", rows, ("case", "subject", "quality"))
        write_csv(stage / "raters.csv", [(r.name, r.habit) for r in study.raters], ("rater", "habit"))
    return Written(folder, study, len(missing))


def _is_there(study: EchoStudy, stage: Path, name: str, before: Path | None) -> bool:
    """Whether a frame is complete; one from the folder of an earlier run is linked or copied first."""
    files = _files(study, stage, name)
    if before is not None and all(path.is_file() for path in _files(study, before, name)):
        for old, new in zip(_files(study, before, name), files, strict=True):
            link_or_copy(old, new)
    return all(path.is_file() for path in files)


def _refuse_others(folder: Path) -> None:
    """Refuse a folder that holds anything but a phantom."""
    paths = folder.iterdir() if folder.is_dir() and not _is_ours(_text_of(folder / "study.toml")) else ()
    others = sorted(path.name for path in paths if not path.name.startswith(PART))
    if others or (folder.exists() and not folder.is_dir()):
        what = f"holds something else ({', '.join(others[:3])})" if others else "is a file"
        raise InputError(f"{folder}: {what}; choose an empty or a new folder with --to")


def _text_of(path: Path) -> str:
    """A file's text; empty if there is none."""
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _is_ours(text: str) -> bool:
    """Whether a study.toml is as this command writes it, whatever its numbers; not one that a user has changed."""
    lines, ours = text.split("\n"), ECHO_TOML.format(subjects=0, frames=0, size=0, seed=0, drawing=0).split("\n")
    return lines[:1] + lines[2:] == ours[:1] + ours[2:] and lines[1].startswith("# subjects ")


def _files(study: EchoStudy, folder: Path, name: str) -> list[Path]:
    """The files of a frame."""
    homes = ("images", "references/truth", *(f"masks/{rater.name}" for rater in study.raters))
    return [folder / home / f"{name}.png" for home in homes]


def _write_frame(index: int, study: EchoStudy, folder: Path) -> None:
    frame = study[index]
    arrays = (frame.image, frame.truth, *frame.markings.values())
    for path, array in zip(_files(study, folder, frame.name), arrays, strict=True):
        write_map(path, array)
