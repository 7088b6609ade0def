"""The command line: a few lines a verb."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, CycloptsError, Parameter

from . import __version__

if TYPE_CHECKING:
    from .analyses.examining import Plan
    from .labels import Labels
    from .study import Progress, Study

app = App(
    name="manytruths",
    help="Several experts marked the same images: how far do they agree, and what is the truth?",
    version=__version__,
    suppress_keyboard_interrupt=False,
    help_epilogue="Exit status: 0 done, 1 the input cannot be used (the message says where and why), 2 wrong call.",
)


@Parameter(name="*")
@dataclass(frozen=True)
class Input:
    """How to read a study."""

    images: str | None = None
    "Template of the images, as images/{case}.png."
    roi: str | None = None
    "Template of masks of the region to count."
    ranks: str | None = None
    "Template of rank maps, as ranks/{rater}/{case}.png: 1 most severe, 0 unmarked."
    cases: str | None = None
    "CSV with a column case; subject names the patient, other columns are groups."
    raters: str | None = None
    "CSV with a column rater and what is known about each; or the word exchangeable."
    labels: str | None = None
    "Names of label values: 1=gland,2=tumour. Other values are then errors."
    foreground: Literal["any"] | None = None
    "any: unite all labels but 0."
    void: int | None = None
    "The value that means 'not rated'."
    region: Literal["whole", "union", "modified_background"] | None = None
    "What is counted; every kappa depends on it."
    overlap: Literal["smaller", "union"] | None = None
    "Where structures of one rater overlap: cut the smaller out of the larger, or unite all."
    spacing: str | None = None
    "Size of a pixel in mm where files do not say: 0.5,0.5."
    exclude: list[str] | None = None
    "Masks to leave out, as RATER=CASE; may be given several times."

    def open(self, template: str, complain: Callable[[Any], None] | None = None) -> Study:
        """The study; ``complain`` gets the problems that do not keep it from being opened."""
        from .errors import insist
        from .study import Study

        return Study.open(
            template, images=self.images, roi=self.roi, ranks=self.ranks, cases=self.cases, raters=self.raters,
            labels=_labels(self.labels), foreground=self.foreground, void=self.void, region=self.region,
            overlap=self.overlap, spacing=_numbers(self.spacing), exclude=_excluded(self.exclude),
            complain=complain or insist,
        )  # fmt: skip


@Parameter(name="*")
@dataclass(frozen=True)
class Common:
    """What every verb takes."""

    out: Path = Path("manytruths-out")
    "Folder for the results; each verb writes into a folder of its name."
    jobs: int = os.cpu_count() or 1
    "Processes that read cases at the same time; results do not depend on it."
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False
    "Print nothing but errors."


@Parameter(name="*")
@dataclass(frozen=True)
class Maps:
    """How heatmaps and image features are made."""

    pictures: bool = True
    "Write heatmaps and charts (and, where there are images, how agreement goes with what they show)."
    window: int = 7
    "Pixels across the window of local contrast."
    agreement_window: int = 3
    "Pixels across the window in which contrast is compared with the largest agreement."
    rank_base: float = 0.77
    "a of the ranking heatmap's a^(rank - b)."
    rank_shift: float = 13
    "b of the ranking heatmap's a^(rank - b)."
    rank_largest: int = 10
    "The largest rank that occurs; values must stay distinct and positive up to it."

    def plan(self, folder: Path) -> Plan:
        """What to make of every case."""
        from .analyses.examining import Plan

        return Plan(
            folder if self.pictures else None, window=self.window, agreement_window=self.agreement_window,
            base=self.rank_base, shift=self.rank_shift, largest=self.rank_largest,
        )  # fmt: skip


Template = Annotated[str, Parameter(help="Path with {rater} and {case} in it, a study.toml, or a folder with one.")]


@app.command
def check(template: Template = ".", /, *, input: Input | None = None, common: Common | None = None) -> int:
    """List what is there, case by rater, and every problem at once."""
    from .analyses.check import check as run
    from .analyses.check import write
    from .analyses.printing import print_check, print_files

    input, common = input or Input(), common or Common()
    met: list[Exception] = []
    study = input.open(template, met.append)
    with progress(common.quiet) as bar:
        found = run(study, found_before=met, jobs=common.jobs, progress=bar)
    paths = write(found, common.out / "check")
    console = _console(common.quiet)
    print_check(found, console)
    print_files(paths, common.out / "check", console)
    for problem in found.errors if common.quiet else ():
        print(f"manytruths: {problem.message}", file=sys.stderr)
    return 1 if found.errors else 0


@app.command
def agree(
    template: Template = ".",
    /,
    *,
    input: Input | None = None,
    common: Common | None = None,
    maps: Maps | None = None,
    scale: Literal["landis_koch", "fleiss", "altman", "shrout"] = "landis_koch",
    without: str | None = None,
    seed: int = 0,
    resamples: int = 2000,
) -> int:
    """Agreement of the raters, what each is like, and heatmaps.

    Parameters
    ----------
    scale
        Whose words to use for a kappa.
    without
        Groups to leave out of further means: CIN2,Unknown.
    seed
        Seed of the bootstrap over subjects.
    resamples
        Resamples of the bootstrap.
    """
    from .analyses.agree import agree as run
    from .analyses.agree import write
    from .analyses.printing import print_agreement, print_files
    from .analyses.summaries import Settings

    input, common, maps = input or Input(), common or Common(), maps or Maps()
    folder = common.out / "agree"
    left_out = tuple(g.strip() for g in without.split(",")) if without else ()
    settings = Settings(seed=seed, resamples=resamples, scale=scale, without=left_out, jobs=common.jobs)
    with progress(common.quiet) as bar:
        found = run(input.open(template), settings=settings, plan=maps.plan(folder / "heatmaps"), progress=bar)
    paths = write(found, folder, pictures=maps.pictures)
    console = _console(common.quiet)
    print_agreement(found, console)
    print_files([*paths, *([folder / "heatmaps"] if maps.pictures else [])], folder, console)
    return 0


@app.command
def demo(
    *,
    out: Path = Path("manytruths-demo"),
    cases: int = 24,
    size: int = 256,
    seed: int = 0,
    jobs: int = os.cpu_count() or 1,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
) -> int:
    """Simulate a study of five raters whose faults are known, analyse it, and say how close the estimates came.

    Parameters
    ----------
    out
        Folder for the study and its results.
    cases
        How many images.
    size
        Pixels along each side of an image.
    seed
        Another seed, another study.
    jobs
        Processes that read cases at the same time.
    quiet
        Print nothing but errors.
    """
    from .analyses.demo import demo as run

    with progress(quiet) as bar:
        found = run(out, cases=cases, size=size, seed=seed, jobs=jobs, progress=bar)
    found.print(_console(quiet))
    return 0


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a verb and exit with its status."""
    sys.exit(status(arguments))


def status(arguments: Sequence[str] | None = None) -> int:
    """Run a verb; errors become one line and a status."""
    from .errors import CallError, ManytruthsError

    try:
        return int(app(arguments, exit_on_error=False, print_error=True, result_action="return_value") or 0)
    except CycloptsError:
        return 2
    except CallError as error:
        return _failed(error, 2)
    except ManytruthsError as error:
        return _failed(error, 1)
    except KeyboardInterrupt:
        return _failed("stopped; files that were written are whole", 130)
    except BrokenPipeError:
        return 0
    except OSError as error:
        return _failed(f"{error.filename}: {error.strerror}; check the path, its rights and the space left", 1)


def _failed(error: object, code: int) -> int:
    print(f"manytruths: {error}", file=sys.stderr)
    return code


@contextmanager
def progress(quiet: bool) -> Iterator[Progress | None]:
    """A bar on a terminal; nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading cases")
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _console(quiet: bool) -> Any:
    from rich.console import Console

    return Console(quiet=quiet, width=None if sys.stdout.isatty() else 110)


def _labels(text: str | None) -> Labels | None:
    from .errors import CallError, LabelError
    from .labels import Labels

    if text is None:
        return None
    try:
        pairs = [item.split("=", 1) for item in text.split(",")]
        named = {int(pair[0]): pair[-1].strip() for pair in pairs}
        if len(named) < len(pairs) or not all(named.values()):
            raise ValueError
        return Labels.of(named)
    except (ValueError, LabelError):
        raise CallError(f"--labels wants value=name,value=name, each once; got {text!r}") from None


def _excluded(pairs: list[str] | None) -> dict[str, list[str]] | None:
    from .errors import CallError

    excluded: dict[str, list[str]] = {}
    for pair in pairs or ():
        rater, sign, case = pair.partition("=")
        if not (rater and sign and case):
            raise CallError(f"--exclude wants RATER=CASE; got {pair!r}")
        excluded.setdefault(rater, []).append(case)
    return excluded or None


def _numbers(text: str | None) -> tuple[float, ...] | None:
    from .errors import CallError

    if text is None:
        return None
    try:
        numbers = tuple(float(number) for number in text.split(","))
        if not all(0 < number < float("inf") for number in numbers):
            raise ValueError
        return numbers
    except ValueError:
        raise CallError(f"--spacing wants positive numbers, as in 0.5,0.5; got {text!r}") from None


if __name__ == "__main__":
    main()
