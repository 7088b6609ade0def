"""The commands on a study that is about to start, or still being annotated."""

from __future__ import annotations

import webbrowser
from typing import Annotated, Literal

from cyclopts import Parameter

from .options import (
    RESULTS,
    Level,
    Out,
    OutputOptions,
    Quiet,
    RunOptions,
    Seed,
    StudyOptions,
    Template,
    in_method,
    in_output,
)
from .parsing import parse_labels, parse_names
from .terminal import console, present, progress, working

Ask = Annotated[
    str, Parameter(help="Names of the raters to ask: anna,ben,clara. For next, by default all of the study.")
]
For = Annotated[
    str | None,
    Parameter(
        name="--for",
        help="Also write a page for each of these raters, anna,ben: what they do differently, with cases to look at; "
        "the other raters have codes.",
    ),
]
TaskList = Annotated[
    Literal["cvat", "labelstudio"] | None,
    Parameter(
        help="Also write tasks for this tool: for CVAT a task backup for each rater, with the images; for Label Studio "
        "a list, whose column asked says whom a task is for."
    ),
]


def next_reads(
    template: Template = ".",
    /,
    *,
    budget: int = 60,
    ask: Ask | None = None,
    tasks: TaskList = None,
    study: StudyOptions | None = None,
    output: OutputOptions | None = None,
    most: Annotated[int | None, in_method] = None,
    seed: Seed = 0,
) -> int:
    """Choose which case to give to which rater next, by the expected gain for the consensus.

    For example: manytruths next study --budget 60. It writes the readings to ask for, best first (next.csv), what the
    order rests on (cases.csv, raters.csv), and how much two more raters would change (changes.csv).

    Parameters
    ----------
    budget
        Number of readings to ask for.
    most
        Most readings that one rater is asked for.
    seed
        Seed of the order of readings that are worth the same.
    """
    import manytruths as mt

    output = output or OutputOptions()
    opened = (study or StudyOptions()).open(template)
    with progress(output.quiet) as bar:
        result = mt.next_reads(
            opened, budget=budget, ask=parse_names(ask) if ask is not None else None, most=most, tasks=tasks,
            out=output.out, jobs=output.jobs, seed=seed, progress=bar,
        )  # fmt: skip
    present(result, output.out, quiet=output.quiet)
    return 0


def study_progress(
    template: Template = ".",
    /,
    *,
    assignment: str | None = None,
    calibration: Annotated[
        str, Parameter(help="Cases that calibrate raters: p01,p02; by default those of the assignment.")
    ]
    | None = None,
    late_after: int = 14,
    raters: For = None,
    study: StudyOptions | None = None,
    output: RunOptions | None = None,
    period: Annotated[int, in_method] = 7,
    dice_width: Annotated[float, in_method] = 0.1,
    today: Annotated[str | None, in_method] = None,
    examples: Annotated[int, in_output] = 6,
    show_images: Annotated[bool, in_output] = True,
    title: Annotated[str, in_output] = "",
    browse: Annotated[bool, Parameter(name="--open", group=in_output.group, negative="")] = False,
    level: Level = 0.95,
) -> int:
    """Tell how far a study is while it runs: what is late, how raters agree so far, who drifts or copies.

    For example: manytruths progress study --assignment assignment.csv. It writes one page (progress.html) and its
    tables: what is there by case and rater (coverage.csv, late.csv), how agreement moves (trend.csv), each rater beside
    the others (comparison.csv, drift.csv) and what is said of them (claims.csv). The next run into the same folder
    reads only what changed.

    Parameters
    ----------
    assignment
        Who was asked for what: a CSV file as assign writes it; a column due has dates.
    late_after
        Days after which an open reading that another rater has made is late.
    period
        Days of a period, for how agreement moves.
    dice_width
        Wanted width of the interval of mean Dice.
    today
        The day that lateness is counted from, as in 2026-03-31; by default today.
    examples
        Most cases on the page of a rater.
    show_images
        Show the images beneath the outlines; --no-show-images if they are confidential.
    title
        Title of the page.
    browse
        Open the page in a browser.
    """
    import manytruths as mt

    from ..analyses.progress.coverage import known_raters, read_plan
    from ..reporting.progress_page.page import check_page_rater

    output = output or RunOptions()
    opened = (study or StudyOptions()).open(template)
    named = parse_names(raters) or ()
    if named:
        plan = read_plan(assignment, opened)[0] if assignment is not None else {}
        for rater in named:
            check_page_rater(opened, rater, known_raters(opened, plan))
    with working(opened, output.engine, output.jobs, output.quiet) as bar:
        result = mt.progress(
            opened, assignment=assignment, calibration=parse_names(calibration) if calibration is not None else None,
            late_after=late_after, period=period, dice_width=dice_width, today=today, out=output.out, jobs=output.jobs,
            level=level, progress=bar,
        )  # fmt: skip
    pages = [mt.progress_page(result, to=output.out, title=title)]
    for rater in named:
        page = mt.progress_page(result, to=output.out, rater=rater, examples=examples, show_images=show_images)
        pages.append(page)
    present(result, output.out, quiet=output.quiet)
    for page in pages:
        page.print(console(output.quiet))
    if browse:
        webbrowser.open(pages[0].path.resolve().as_uri())
    return 0


def assign(
    cases: str,
    /,
    *,
    ask: Ask,
    per_case: int | None = None,
    shared: int = 0,
    tasks: TaskList = None,
    labels: str | None = None,
    out: Out = RESULTS,
    quiet: Quiet = False,
    seed: Seed = 0,
) -> int:
    """Assign cases to raters, before a study starts.

    For example: manytruths assign "images/{case}.png" --ask anna,ben,clara,dora --per-case 2 --shared 10. It writes who
    reads what in which order (assignment.csv) and how many cases raters have in common (pairs.csv).

    Parameters
    ----------
    cases
        Template of the images, images/{case}.png, or a CSV file with a column case.
    per_case
        Number of raters who read a case; by default all.
    shared
        Number of cases that all raters read, spread evenly over each rater's cases, to calibrate raters and see drift.
    labels
        Names of the labels of CVAT tasks: 1=tumour,2=oedema.
    seed
        Seed of the order of cases, and of who gets which.
    """
    import manytruths as mt

    result = mt.assign(
        cases, parse_names(ask) or (), per_case=per_case, shared=shared, tasks=tasks, labels=parse_labels(labels),
        out=out, seed=seed,
    )  # fmt: skip
    present(result, out, quiet=quiet)
    return 0
