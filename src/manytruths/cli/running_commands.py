"""The commands on a study that is about to start, or still being annotated."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from .options import RESULTS, Out, OutputOptions, Quiet, Seed, StudyOptions, Template, in_method
from .parsing import parse_labels, parse_names
from .terminal import present, progress

Ask = Annotated[
    str, Parameter(help="Names of the raters to ask: anna,ben,clara. For next, by default all of the study.")
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
