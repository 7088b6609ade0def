"""The verb ``reliability``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ..core.errors import CallError
from .mask_options import MaskCall, Masks, is_study
from .parsing import chance_of, names, pairs, shares, two_numbers
from .terminal import console


def reliability(
    ratings: Annotated[
        str, Parameter(help="Table of ratings (CSV, Parquet or Excel), long or wide; or masks, as in agree.")
    ],
    /,
    *,
    masks: Masks | None = None,
    columns: str | None = None,
    kind: Literal["nominal", "ordinal", "numeric"] = "nominal",
    labels: str | None = None,
    confidence: str | None = None,
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

    Of masks (a template, a study.toml or its folder) every pixel is a rating, and so is every lesion: found or missed.

    Parameters
    ----------
    columns
        Columns under other names: case=image,rater=reader,label=dx,confidence=sure,subject=patient,reference=gt.
    kind
        Of the labels: nominal; ordinal, in the order of --labels or of their numbers; numeric.
    labels
        All labels, in their order, with commas (of masks 1=gland,2=tumour); others are then errors.
    confidence
        A second table of this layout with confidence in place of labels; of masks, one number a rater: A=0.9,B=0.7.
    levels
        Of confidence: how many (5; 1 is the least sure), or their names in order (low,medium,high).
    level_rule
        How a level becomes a number from 0 to 1: share, level/levels; span, (level-1)/(levels-1).
    raters
        Raters to take, with commas; in a wide table, which columns are raters; of masks, as in agree. By default all.
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
    from ..analyses.reliability.printing import print_reliability
    from ..analyses.reliability.verb import ReliabilitySettings, write
    from ..analyses.reliability.verb import reliability as run
    from ..io.results import replacing
    from ..ratings.tables import RatingsOptions, open_ratings

    chosen = masks or Masks()
    if is_study(ratings):
        of_tables = {
            "columns": columns, "levels": levels, "reference": reference, "reference-rater": reference_rater,
            "filter": filter, "cut": cut, "scale": scale, "positive": positive,
            "kind": None if kind == "nominal" else kind, "partial": None if partial == "none" else partial,
            "level-rule": None if level_rule == "share" else level_rule,
        }  # fmt: skip
        refuse(
            [name for name, value in of_tables.items() if value is not None], f"a table of ratings; {ratings} are masks"
        )
        told = MaskCall(labels, raters, cases, confidence, accuracy, chance, seed, resamples)
        return chosen.run(ratings, told, out / "reliability", quiet)
    refuse(chosen.changed, f"masks; {ratings} is a table of ratings")
    ends = two_numbers(scale, "--scale")
    options = RatingsOptions(
        pairs("--columns", columns), kind, names(labels), levels_of(levels), level_rule,
        None if confidence is None else Path(confidence), reference,
        reference_rater, names(raters), cases, pairs("--filter", filter), cut, ends,
    )  # fmt: skip
    settings = ReliabilitySettings(
        seed=seed, resamples=resamples, chance=chance_of(chance), partial=partial,
        accuracy=shares("--accuracy", accuracy) or None, positive=positive,
    )  # fmt: skip
    table = open_ratings(Path(ratings), options)
    folder = out / "reliability"
    with replacing(folder, run={}) as (stage,):
        found = run(table.ratings, settings, table.notes)
        paths = write(found, stage, pictures=pictures)
    shown = console(quiet)
    print_reliability(found, shown)
    print_files(paths, stage, folder, shown)
    return 0


def refuse(options: Sequence[str], what: str) -> None:
    """What was given and leads nowhere is a mistake."""
    if options:
        raise CallError(f"--{options[0]} is for {what}")


def levels_of(text: str | None) -> int | list[str] | None:
    """``5``, or names in order."""
    found = names(text)
    if found is None or len(found) != 1:
        return found
    if not found[0].isdecimal():
        raise CallError(f"--levels is a number of levels, or two names or more in order; got {text!r}")
    return int(found[0])
