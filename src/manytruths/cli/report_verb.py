"""``manytruths report``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from .options import Input, Template
from .terminal import console, progress


def report(
    template: Template = ".",
    /,
    *,
    input: Input | None = None,
    out: Path = Path("manytruths-out/report.html"),
    title: str = "",
    images: bool = True,
    viewer: bool = True,
    codes: Annotated[bool, Parameter(negative="")] = False,
    method: str = "vote:0.5,staple",
    prior: str = "prevalence",
    threshold: float | None = None,
    tolerance: float | None = None,
    distances: bool = True,
    missing: Literal["worst", "exclude"] = "worst",
    scale: Literal["landis_koch", "fleiss", "altman", "shrout"] = "landis_koch",
    without: str | None = None,
    seed: int = 0,
    resamples: int = 2000,
    browse: Annotated[bool, Parameter(name="--open", negative="")] = False,
    jobs: int = os.cpu_count() or 1,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
) -> int:
    """Everything in one HTML file: agreement, raters, cases to look at, the reference standard, algorithms, methods.

    The page needs no network and no other file. The tables it quotes are written to a folder beside it (report.html:
    report_files), and so are the full-size pictures of studies with more than 30 cases.

    Parameters
    ----------
    out
        The page; a folder gets a report.html.
    title
        Title of the page.
    images
        Show the images beneath the outlines; --no-images where they must not leave the house.
    viewer
        Show outlines and maps of the cases at all.
    codes
        Replace the names of cases, subjects and raters by codes; the key is written beside the page (report_key.csv),
        is not part of it, and keeps the codes the same the next time.
    method
        Reference standards: one or more of vote:0.5, vote:any, staple, simple, plurality, lsml, …; with commas.
    prior
        STAPLE's: prevalence, marked, estimated, or a number.
    threshold
        Cut grey predictions here, to judge them as masks as well.
    tolerance
        Distance within which outlines count as equal; by default that of the raters among each other.
    distances
        Measure distances between outlines, which takes most of the time of an evaluation.
    missing
        What a missing prediction counts: the worst, or exclude the case for every algorithm.
    scale
        Whose words to use for a kappa.
    without
        Groups to leave out of further means: CIN2,Unknown.
    seed
        Seed of the bootstrap over subjects.
    resamples
        Resamples of the bootstrap.
    browse
        Open the page in a browser when it is done.
    jobs
        Processes that read cases at the same time; results do not depend on it.
    quiet
        Print nothing but errors.
    """
    from ..reporting import report as make_report
    from .parsing import names, prior_of

    study = (input or Input()).open(template)
    with progress(quiet) as bar:
        done = make_report(
            study, to=out, title=title, consensus=names(method) or (), prior=prior_of(prior), threshold=threshold,
            tolerance=tolerance, distances=distances, missing=missing, kappa_scale=scale,
            exclude_group=names(without) or (), show_images=images, viewer=viewer, codes=codes, seed=seed,
            resamples=resamples, jobs=jobs, progress=bar,
        )  # fmt: skip
    done.print(console(quiet))
    if browse:
        import webbrowser

        webbrowser.open(done.path.resolve().as_uri())
    return 0
