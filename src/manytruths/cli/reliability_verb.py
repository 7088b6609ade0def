"""The verb ``reliability``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from ..errors import CallError
from .parsing import two_numbers
from .rank_verb import names, pairs
from .terminal import console

if TYPE_CHECKING:
    from ..reliability.concordance import Chance


def reliability(
    ratings: Annotated[Path, Parameter(help="Table of ratings, long or wide: CSV, Parquet or Excel.")],
    /,
    *,
    columns: str | None = None,
    kind: Literal["nominal", "ordinal", "numeric"] = "nominal",
    labels: str | None = None,
    confidence: Path | None = None,
    levels: str | None = None,
    level_rule: Literal["share", "span"] = "share",
    raters: str | None = None,
    reference: str | None = None,
    reference_rater: str | None = None,
    cases: Path | None = None,
    filter: str | None = None,
    cut: float | None = None,
    scale: str | None = None,
    accuracy: str | None = None,
    chance: str = "uniform",
    partial: Literal["none", "linear", "quadratic"] = "none",
    positive: str | None = None,
    seed: int = 0,
    resamples: int = 2000,
    pictures: bool = True,
    out: Path = Path("manytruths-out"),
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
) -> int:
    """How far rated data can be trusted: genuine agreement (sigma), weighted by the raters' competence (rho).

    Parameters
    ----------
    columns
        Columns under other names: case=image,rater=reader,label=dx,confidence=sure,subject=patient,reference=gt.
    kind
        Of the labels: nominal; ordinal, in the order of --labels or of their numbers; numeric.
    labels
        All labels, in their order, with commas; others are then errors.
    confidence
        A second table of the same layout, with confidence in place of labels.
    levels
        Of confidence: how many (5; 1 is the least sure), or their names in order (low,medium,high).
    level_rule
        How a level becomes a number from 0 to 1: share, level/levels; span, (level-1)/(levels-1).
    raters
        Raters to take, with commas; in a wide table, which columns are raters. By default all.
    reference
        Column of the true labels; by default reference or truth.
    reference_rater
        A rater whose labels are taken as the true ones.
    cases
        CSV with the columns case and subject: cases of one subject are drawn together.
    filter
        Only lines with these values: treatment=1.
    cut
        Ratings on a scale: from here on label 1, below it 0; confidence is the distance from the cut.
    scale
        Ends of the scale that is cut: 1,5. By default the least and the largest rating in the file.
    accuracy
        What is known of the raters' accuracies: A=0.9,B=0.8.
    chance
        How a rater who does not know chooses: uniform, empirical (as often as all ratings), or normal=0.6,ill=0.4.
    partial
        How far ordinal and numeric labels agree that are not the same.
    positive
        Of two labels, the one that sensitivity is about; by default the last.
    seed
        Seed of the bootstrap over subjects.
    resamples
        Resamples of the bootstrap.
    pictures
        Write charts.
    out
        Folder for the results, which are written into a folder reliability.
    quiet
        Print nothing but errors.
    """
    from ..analyses.printing import print_files
    from ..analyses.reliability import ReliabilitySettings, write
    from ..analyses.reliability import reliability as run
    from ..analyses.reliability_printing import print_reliability
    from ..formats.ratings import RatingsOptions, open_ratings

    ends = two_numbers(scale, "--scale")
    options = RatingsOptions(
        pairs("--columns", columns), kind, names(labels), levels_of(levels), level_rule, confidence, reference,
        reference_rater, names(raters), cases, pairs("--filter", filter), cut, ends,
    )  # fmt: skip
    settings = ReliabilitySettings(
        seed=seed, resamples=resamples, chance=chance_of(chance), partial=partial,
        accuracy=shares("--accuracy", accuracy) or None, positive=positive,
    )  # fmt: skip
    table = open_ratings(ratings, options)
    found = run(table.ratings, settings, table.notes)
    folder = out / "reliability"
    paths = write(found, folder, pictures=pictures)
    shown = console(quiet)
    print_reliability(found, shown)
    print_files(paths, folder, shown)
    return 0


def levels_of(text: str | None) -> int | list[str] | None:
    """``5``, or names in order."""
    found = names(text)
    if found is None or len(found) != 1:
        return found
    if not found[0].isdecimal():
        raise CallError(f"--levels is a number of levels, or two names or more in order; got {text!r}")
    return int(found[0])


def shares(option: str, text: str | None) -> dict[str, float]:
    """``a=0.6,b=0.4`` as numbers by name."""
    found = pairs(option, text)
    try:
        return {name: float(value) for name, value in found.items()}
    except ValueError:
        raise CallError(f"{option} wants name=number,name=number; got {text!r}") from None


def chance_of(text: str) -> Chance:
    """``uniform``, ``empirical``, or a share for each label."""
    if text == "uniform" or text == "empirical":
        return text  # type: ignore[return-value]
    if "=" not in text:
        raise CallError(f"--chance is uniform, empirical or a share for each label (a=0.6,b=0.4); got {text!r}")
    return shares("--chance", text)
