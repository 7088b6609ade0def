"""The verb ``rank``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ..core.errors import CallError
from .parsing import names, pairs
from .terminal import present


def rank(
    scores: Annotated[Path, Parameter(help="Table of scores: evaluate/scores.csv, or anybody's, long or wide.")],
    /,
    *,
    metric: str | None = None,
    direction: str | None = None,
    missing: str = "worst",
    scheme: Literal["mean", "rank", "test"] = "mean",
    aggregate: Literal["mean", "median"] = "mean",
    columns: str | None = None,
    cases: Path | None = None,
    algorithm: str | None = None,
    truth: str | None = None,
    label: str | None = None,
    title: str = "Ranking",
    alpha: float = 0.05,
    seed: int = 0,
    resamples: int = 1000,
    pictures: bool = True,
    out: Path = Path("manytruths-out"),
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
) -> int:
    """Rank algorithms by their scores, say how stable the ranking is, and write a leaderboard.

    Parameters
    ----------
    metric
        Metrics to rank by, with commas, or all that are known; by default all, or of more than three Dice alone.
    direction
        Which is better for metrics that are not known: loss=lower,score=higher.
    missing
        What a missing or undefined score counts: worst (of a distance, the image's diagonal where --cases has it), a
        number, or exclude the case for everybody.
    scheme
        By which the overall order goes: mean (aggregate, then rank), rank (rank, then aggregate) or test.
    aggregate
        Mean or median over subjects, for the scheme mean.
    columns
        Columns under other names: case=image,algorithm=team,metric=name,value=score,truth=gt.
    cases
        CSV with the columns case, subject (cases of one subject are drawn together) and diagonal (of the image).
    algorithm
        Algorithms to rank, with commas; by default all.
    truth
        Ground truths to rank under, with commas; by default all.
    label
        Labels to rank by, with commas; by default all labels together.
    title
        Title of the leaderboard.
    alpha
        Level of the tests, after Holm's adjustment.
    seed
        Seed of the bootstrap over subjects.
    resamples
        Resamples of the bootstrap.
    pictures
        Write charts.
    out
        Folder for the results, which are written into a folder rank.
    quiet
        Print nothing but errors.
    """
    import manytruths as mt

    result = mt.rank(
        scores, out=out, metric=names(metric), direction=pairs("--direction", direction), missing=missing_of(missing),
        scheme=scheme, aggregate=aggregate, columns=pairs("--columns", columns), cases=cases,
        algorithm=names(algorithm), against=names(truth), label=names(label), title=title, alpha=alpha, seed=seed,
        resamples=resamples, pictures=pictures,
    )  # fmt: skip
    present(result, out, quiet=quiet)
    return 0


def missing_of(text: str) -> Literal["worst", "exclude"] | float:
    """``worst``, ``exclude``, or a number."""
    if text == "worst" or text == "exclude":
        return text  # type: ignore[return-value]
    try:
        return float(text)
    except ValueError:
        raise CallError(f"--missing is worst, exclude or a number; got {text!r}") from None
