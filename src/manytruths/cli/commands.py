"""A few lines a verb."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from shutil import which
from typing import Annotated, Literal

from cyclopts import App, Parameter

from .. import __version__
from .evaluate_verb import evaluate
from .export_verb import export
from .import_verb import import_study
from .options import Common, Input, Maps, Template
from .phantom_verb import phantom
from .plan_verb import plan
from .rank_verb import rank
from .reliability_verb import reliability
from .report_verb import report
from .terminal import console, present, progress
from .train_verb import predict, train

app = App(
    name="manytruths",
    help="Several experts marked the same images: how far do they agree, and what is the truth?",
    version=__version__,
    suppress_keyboard_interrupt=False,
    help_epilogue=(
        "Exit status: 0 done, 1 the input cannot be used (the message says where and why) or something unexpected "
        "happened, 2 wrong call, 128 + n stopped by signal n (130: Ctrl-C). With --debug, errors show their traceback."
    ),
)


@app.command
def check(template: Template = ".", /, *, input: Input | None = None, common: Common | None = None) -> int:
    """List what is there, case by rater, and every problem at once."""
    import manytruths as mt

    from ..core.errors import one_line

    input, common = input or Input(), common or Common()
    problems: list[Exception] = []
    study = input.open(template, problems.append)
    with progress(common.quiet) as bar:
        result = mt.check(study, out=common.out, found_before=problems, jobs=common.jobs, progress=bar)
    present(result, common.out, quiet=common.quiet)
    for problem in result.errors if common.quiet else ():
        print(f"manytruths: {one_line(problem.message)}", file=sys.stderr)
    return 1 if result.errors else 0


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
    import manytruths as mt

    from .parsing import names

    input, common, maps = input or Input(), common or Common(), maps or Maps()
    study = input.open(template)
    with progress(common.quiet) as bar:
        result = mt.agree(
            study, out=common.out, kappa_scale=scale, exclude_group=names(without) or (), seed=seed,
            resamples=resamples, jobs=common.jobs, progress=bar, **asdict(maps),
        )  # fmt: skip
    present(result, common.out, quiet=common.quiet)
    return 0


@app.command
def fuse(
    template: Template = ".",
    /,
    *,
    input: Input | None = None,
    common: Common | None = None,
    method: str = "vote:0.5,staple",
    prior: str = "prevalence",
    rates: Literal["case", "pooled"] = "case",
    consensus_items: Literal["keep", "leave_out"] = "keep",
    map_prior: str | None = None,
    smoothing: float = 0.0,
    alpha: float = 1.5,
    length: float = 2.0,
    pictures: bool = True,
    seed: int = 0,
    resamples: int = 2000,
) -> int:
    """Consensus masks and probabilities, how they differ, each rater against them, and how complex each case is.

    A run that was killed goes on where it stopped: cases that are done with the same settings are not done again.

    Parameters
    ----------
    method
        One or more of vote:0.5, vote:any, vote:all, excl:0.5, staple, simple, plurality, lsml, lsmlp; with commas.
    prior
        STAPLE's: prevalence, marked, estimated, or a number.
    rates
        Rates of each case, or of the study as a whole.
    consensus_items
        Whether items on which all agree count for STAPLE's rates.
    map_prior
        Beta prior of STAPLE's rates: a,b or a_p,b_p,a_q,b_q.
    smoothing
        Potts smoothing of STAPLE's map; 0 is none.
    alpha
        SIMPLE drops raters below mean - alpha standard deviations.
    length
        Price of length of the level sets.
    pictures
        Write pictures of the probabilities, and charts.
    seed
        Seed of the bootstrap over subjects.
    resamples
        Resamples of the bootstrap.
    """
    import manytruths as mt

    from .parsing import beta_of, prior_of

    input, common = input or Input(), common or Common()
    study = input.open(template)
    unanimous: Literal["keep", "exclude"] = "exclude" if consensus_items == "leave_out" else "keep"
    with progress(common.quiet) as bar:
        result = mt.fuse(
            study, out=common.out, consensus=method, prior=prior_of(prior), rates=rates, unanimous=unanimous,
            map_prior=beta_of(map_prior), smoothing=smoothing, simple_alpha=alpha, length_penalty=length,
            pictures=pictures, seed=seed, resamples=resamples, jobs=common.jobs, progress=bar,
        )  # fmt: skip
    present(result, common.out, quiet=common.quiet)
    return 0


app.command(evaluate)
app.command(rank)
app.command(reliability)
app.command(plan)
app.command(report)
app.command(import_study, name="import")
app.command(export)
app.command(train)
app.command(predict)
app.command(phantom)


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
    from ..demo import demo as run

    with progress(quiet) as bar:
        found = run(out, cases=cases, size=size, seed=seed, jobs=jobs, progress=bar)
    called = sys.argv[0]
    program = called if Path(called).name == "manytruths" and which("manytruths") is None else "manytruths"
    replace(found, program=program).print(console(quiet))
    return 0
