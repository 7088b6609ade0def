"""The command ``reliability``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ..core.errors import CallError
from .mask_options import Masks
from .parsing import chance_of, names, pairs, shares, two_numbers
from .terminal import present, progress

if TYPE_CHECKING:
    from ..study import Study


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
    confidence_levels: str | None = None,
    confidence_rule: Literal["share", "span"] = "share",
    raters: str | None = None,
    select_raters: str | None = None,
    reference_column: str | None = None,
    reference_rater: str | None = None,
    cases: Path | None = None,
    filter: str | None = None,
    cut: float | None = None,
    rating_range: str | None = None,
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
    confidence_levels
        Levels of confidence: how many (5; 1 is the least sure), or their names in order (low,medium,high).
    confidence_rule
        How a level becomes a number from 0 to 1: share, level/levels; span, (level-1)/(levels-1).
    raters
        Of masks, as in agree: CSV with a column rater and what is known about each; or the word exchangeable.
    select_raters
        Of tables: raters to take, with commas; in a wide table, which columns are raters. By default all.
    reference_column
        Column of the reference labels; by default reference or truth.
    reference_rater
        A rater whose labels are taken as the true ones.
    cases
        CSV with the columns case and subject: cases of one subject are drawn together.
    filter
        Only lines with these values: treatment=1.
    cut
        Ratings on a scale: from here on label 1, below it 0; confidence is the distance from the cut.
    rating_range
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
    import manytruths as mt

    from ..analyses.reliability.reliability import check_options_of_masks, names_masks

    chosen = masks or Masks()
    common: dict[str, Any] = {
        "out": out, "accuracy": shares("--accuracy", accuracy) or None, "chance": chance_of(chance), "partial": partial,
        "positive": positive, "seed": seed, "resamples": resamples, "pictures": pictures,
    }  # fmt: skip
    table: dict[str, Any] = {
        "columns": pairs("--columns", columns) or None, "kind": None if kind == "nominal" else kind,
        "confidence_levels": levels_of(confidence_levels),
        "confidence_rule": None if confidence_rule == "share" else confidence_rule,
        "reference_column": reference_column, "reference_rater": reference_rater,
        "filter": pairs("--filter", filter) or None,
        "cut": cut, "rating_range": two_numbers(rating_range, "--rating-range"),
    }  # fmt: skip
    data: str | Study
    if names_masks(ratings):
        given = {**table, "select_raters": names(select_raters), "partial": partial, "positive": positive}
        check_options_of_masks(given, ratings)
        data = chosen.open(ratings, labels, raters, cases)
        of_masks: dict[str, Any] = {
            "lesion_min_size": chosen.lesion_min_size,
            "lesion_overlap": chosen.lesion_overlap,
            "jobs": chosen.jobs,
        }
        sure = shares("--confidence", confidence) or None
        with progress(quiet) as bar:
            result = mt.reliability(data, confidence=sure, progress=bar, **table, **of_masks, **common)
    else:
        of_masks_only = [*chosen.changed, *(["raters"] if raters is not None else [])]
        refuse(of_masks_only, f"masks; {ratings} is a table of ratings")
        own: dict[str, Any] = {
            "labels": names(labels),
            "select_raters": names(select_raters),
            "cases": cases,
            "confidence": confidence,
        }
        result = mt.reliability(ratings, **table, **own, **common)
    present(result, out, quiet=quiet)
    return 0


def refuse(options: Sequence[str], what: str) -> None:
    """What was given and leads nowhere is a mistake."""
    if options:
        raise CallError(f"--{options[0].replace('_', '-')} is for {what}")


def levels_of(text: str | None) -> int | list[str] | None:
    """``5``, or names in order."""
    levels = names(text)
    if levels is None or len(levels) != 1:
        return levels
    if not levels[0].isdecimal():
        raise CallError(f"--confidence-levels is a number of levels, or two names or more in order; got {text!r}")
    return int(levels[0])
