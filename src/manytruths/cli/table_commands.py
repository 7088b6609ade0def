"""The commands on tables and numbers: rank, reliability, mrmc, plan."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ..core.errors import CallError
from .options import (
    ALL_CORES,
    RESULTS,
    STUDY,
    Engine,
    Jobs,
    Level,
    More,
    Out,
    Pictures,
    Quiet,
    Resamples,
    Seed,
    Tables,
    TrainedOn,
    flag,
    in_advanced,
    in_method,
    in_output,
    in_study,
    repeated,
)  # fmt: skip
from .parsing import (
    parse_accuracies,
    parse_chance,
    parse_confidence_levels,
    parse_exclude,
    parse_labels,
    parse_missing,
    parse_names,
    parse_numbers,
    parse_pairs,
    parse_range,
)  # fmt: skip
from .terminal import present, working

if TYPE_CHECKING:
    from ..study import Study


def rank(
    scores: Annotated[
        Path, Parameter(help="Table of scores: evaluate/scores.csv, or any table of scores in long or wide format.")
    ],
    /,
    *,
    metric: str | None = None,
    direction: str | None = None,
    algorithm: str | None = None,
    against: str | None = None,
    label: str | None = None,
    cases: Path | None = None,
    columns: str | None = None,
    trained_on: TrainedOn = None,
    missing: Annotated[str, in_method] = "worst",
    scheme: Annotated[Literal["mean", "rank", "test"], in_method] = "mean",
    aggregate: Annotated[Literal["mean", "median"], in_method] = "mean",
    alpha: Annotated[float, in_method] = 0.05,
    title: Annotated[str, in_output] = "Ranking",
    pictures: Pictures = True,
    tables: Tables = None,
    out: Out = RESULTS,
    quiet: Quiet = False,
    level: Level = 0.95,
    seed: Seed = 0,
    resamples: Resamples = 1000,
) -> int:
    """Rank algorithms by their scores, and measure how stable the ranking is.

    Parameters
    ----------
    metric
        Metrics to rank by, separated by commas; by default all, or Dice alone if there are more than three.
    direction
        Direction of metrics unknown to manytruths: loss=lower,score=higher.
    algorithm
        Algorithms to rank, separated by commas; by default all.
    against
        Reference standards (raters, consensus methods) to rank under, separated by commas; by default all.
    label
        Labels to rank by, separated by commas; by default the macro mean of all labels.
    cases
        CSV file with the columns case, subject (its cases are resampled together) and diagonal (of the image).
    columns
        Columns that have other names: case=image,algorithm=team,metric=name,value=score,reference=gt.
    missing
        Missing and undefined scores: worst (for a distance, the image's diagonal if --cases has it), a number, or
        exclude to leave out the case for all algorithms.
    scheme
        Order by mean (aggregate, then rank), rank (rank, then aggregate) or test.
    aggregate
        Mean or median over subjects, in the scheme mean.
    alpha
        Significance level of the tests after Holm's adjustment.
    title
        Title of the leaderboard.
    seed
        Seed of the resamples.
    resamples
        Number of resamples of the subjects, for the stability of ranks and intervals of medians.
    """
    import manytruths as mt

    result = mt.rank(
        scores, out=out, metric=parse_names(metric), direction=parse_pairs("--direction", direction),
        missing=parse_missing(missing), scheme=scheme, aggregate=aggregate, columns=parse_pairs("--columns", columns),
        cases=cases, algorithm=parse_names(algorithm), against=parse_names(against), label=parse_names(label),
        trained_on=parse_pairs("--trained-on", trained_on), title=title, alpha=alpha, level=level, seed=seed,
        resamples=resamples, pictures=pictures, tables=tables or (),
    )  # fmt: skip
    present(result, out, quiet=quiet)
    return 0


@Parameter(name="*", group=STUDY)
@dataclass(frozen=True)
class MaskOptions:
    """Options of ``reliability`` that are for masks only."""

    roi: str | None = None
    "Masks: template of masks of the region of interest."
    region: Literal["whole", "union", "modified_background"] | None = None
    "Masks: pixels that count; in the whole image most agreement is on background."
    foreground: Literal["any"] | None = None
    "Masks: with any, treat all labels other than 0 as one."
    void: int | None = None
    "Masks: the value that means 'not rated'."
    resample: Literal["nearest"] | None = None
    "Resample masks on a different grid (nearest neighbour) instead of rejecting them."
    exclude: Annotated[list[str] | None, repeated] = None
    "Mask to leave out, as RATER=CASE; can be given several times."
    exclude_rater: Annotated[list[str] | None, repeated] = None
    "Masks: rater to leave out; can be given several times."
    raters: str | None = None
    "Masks: CSV file with a column rater; other columns are properties. Or the word exchangeable."
    lesion_min_size: int = 1
    "Masks: size of the smallest lesion in pixels; smaller ones are only counted."
    lesion_overlap: float | None = None
    "Masks: share of a lesion that a rater must mark to have found it; by default any pixel."
    lesion_items: Literal["union", "matched"] = "union"
    """Masks: a lesion is a connected component of the union of all masks (default), or what raters have in common by
    --lesion-rule."""
    instances: Annotated[bool | None, flag] = None
    "Values of the masks number lesions, each value one. Everything else takes what is not 0 as marked."
    lesion_rule: Literal["iou", "overlap", "distance"] | None = None
    """When two raters' lesions are the same: by intersection over union (default), the share of the smaller one that
    both hold, or the distance of centres."""
    lesion_threshold: float | None = None
    "Threshold of --lesion-rule: 0.5 by default, and for distance the largest one, in mm (or pixels)."
    jobs: Jobs = ALL_CORES
    engine: Engine = "processes"

    @property
    def given(self) -> list[str]:
        """Options that were given."""
        return [field.name for field in fields(self) if getattr(self, field.name) != field.default]

    def open(self, template: str | list[str], labels: str | None, cases: Path | None) -> Study:
        """The study of masks."""
        from ..analyses.result import open_raters

        return open_raters(
            template, roi=self.roi, region=self.region, foreground=self.foreground, void=self.void,
            resample=self.resample, exclude=parse_exclude(self.exclude), exclude_rater=self.exclude_rater,
            labels=parse_labels(labels), raters=self.raters, cases=None if cases is None else str(cases),
            instances=self.instances, lesion_rule=self.lesion_rule, lesion_threshold=self.lesion_threshold,
        )  # fmt: skip


def reliability(
    ratings: Annotated[
        str,
        Parameter(
            help="Table of ratings (CSV, Parquet or Excel), long or wide; or a template of masks or tally files, as in "
            "agree."
        ),
    ],
    /,
    *more: More,
    kind: Literal["nominal", "ordinal", "numeric"] = "nominal",
    labels: str | None = None,
    columns: str | None = None,
    cases: Path | None = None,
    select_raters: str | None = None,
    reference_column: str | None = None,
    reference_rater: str | None = None,
    filter: str | None = None,
    confidence: str | None = None,
    masks: MaskOptions | None = None,
    confidence_levels: Annotated[str | None, in_method] = None,
    confidence_rule: Annotated[Literal["share", "span"], in_method] = "share",
    cut: Annotated[float | None, in_method] = None,
    rating_range: Annotated[str | None, in_method] = None,
    accuracy: Annotated[str | None, in_method] = None,
    chance: Annotated[str, in_method] = "uniform",
    partial: Annotated[Literal["none", "linear", "quadratic"], in_method] = "none",
    positive: Annotated[str | None, in_method] = None,
    pictures: Pictures = True,
    tables: Tables = None,
    out: Out = RESULTS,
    quiet: Quiet = False,
    level: Level = 0.95,
) -> int:
    """Estimate how reliable ratings or masks are.

    Sigma is the agreement beyond chance; rho is weighted by the raters' competence. For masks (a template, a
    study.toml or its folder) each pixel is a rating, and so is each lesion: found or missed.

    Parameters
    ----------
    kind
        Kind of the labels; ordinal labels are in the order of --labels, or of their numbers.
    labels
        All labels in their order, separated by commas (for masks 1=gland,2=tumour). Others are errors.
    columns
        Columns that have other names: case=image,rater=reader,label=dx,confidence=sure,subject=patient,reference=gt.
    cases
        CSV file with the columns case and subject; cases of a subject count as one in intervals.
    select_raters
        Raters to use, separated by commas; in a wide table, the columns of the raters. By default all.
    reference_column
        Column of the reference labels; by default reference or truth.
    reference_rater
        Rater whose labels are the reference.
    filter
        Use only rows with these values: treatment=1.
    confidence
        Second table of the same layout with confidence in place of labels; for masks, one number for each rater:
        A=0.9,B=0.7.
    confidence_levels
        Levels of confidence: their number (5; 1 is the least confident), or their names in order (low,medium,high).
    confidence_rule
        Confidence as a number from 0 to 1: share is level/levels, span is (level-1)/(levels-1).
    cut
        Cut ratings on a scale: label 1 from here on, 0 below; confidence is the distance from the cut.
    rating_range
        Ends of the scale that is cut: 1,5; by default the smallest and the largest rating.
    accuracy
        Known accuracies of the raters: A=0.9,B=0.8.
    chance
        How a rater who does not know chooses: uniform, empirical (as often as in all ratings), or
        normal=0.6,ill=0.4.
    partial
        Partial agreement between different ordinal or numeric labels.
    positive
        Of two labels, the one that sensitivity refers to; by default the last.
    """
    import manytruths as mt

    from ..analyses.reliability.reliability import check_options_of_masks, names_masks

    of_masks = masks or MaskOptions()
    common: dict[str, Any] = {
        "out": out, "accuracy": parse_numbers("--accuracy", accuracy) or None, "chance": parse_chance(chance),
        "partial": partial, "positive": positive, "level": level, "pictures": pictures,
        "tables": tables or (),
    }  # fmt: skip
    of_tables: dict[str, Any] = {
        "columns": parse_pairs("--columns", columns) or None, "kind": None if kind == "nominal" else kind,
        "confidence_levels": parse_confidence_levels(confidence_levels),
        "confidence_rule": None if confidence_rule == "share" else confidence_rule,
        "reference_column": reference_column, "reference_rater": reference_rater,
        "filter": parse_pairs("--filter", filter) or None, "cut": cut,
        "rating_range": parse_range(rating_range, "--rating-range"),
    }  # fmt: skip
    source: str | list[str] = [ratings, *more] if more else ratings
    if names_masks(source):
        given = {**of_tables, "select_raters": parse_names(select_raters), "partial": partial, "positive": positive}
        check_options_of_masks(given, ratings)
        for name in ("lesion_rule", "lesion_threshold"):
            if name in of_masks.given and of_masks.lesion_items != "matched":
                raise CallError(f"--{name.replace('_', '-')} is for --lesion-items matched")
        study = of_masks.open(source, labels, cases)
        confidences = parse_numbers("--confidence", confidence) or None
        with working(study, of_masks.engine, of_masks.jobs, quiet) as bar:
            result = mt.reliability(
                study, confidence=confidences, lesion_min_size=of_masks.lesion_min_size,
                lesion_overlap=of_masks.lesion_overlap, lesion_items=of_masks.lesion_items,
                jobs=of_masks.jobs, progress=bar, **of_tables, **common,
            )  # fmt: skip
    else:
        if of_masks.given:
            option = of_masks.given[0].replace("_", "-")
            raise CallError(f"--{option} is for masks; {ratings} is a table of ratings")
        result = mt.reliability(
            ratings, labels=parse_names(labels), select_raters=parse_names(select_raters), cases=cases,
            confidence=confidence, **of_tables, **common,
        )  # fmt: skip
    present(result, out, quiet=quiet)
    return 0


def mrmc(
    ratings: Annotated[
        Path,
        Parameter(help="Table of ratings (CSV, Parquet or Excel) with a line for every case, reader and modality."),
    ],
    /,
    *,
    modality: str | None = None,
    columns: str | None = None,
    reference_column: str | None = None,
    filter: str | None = None,
    positive: Annotated[str | None, in_method] = None,
    covariance: Annotated[Literal["jackknife", "delong"], in_method] = "jackknife",
    out: Out = RESULTS,
    pictures: Pictures = True,
    quiet: Quiet = False,
    level: Level = 0.95,
) -> int:
    """Compare modalities that the same readers used on the same cases (MRMC analysis by Obuchowski and Rockette).

    With a reference, areas under the readers' ROC curves are compared, otherwise means of the numbers by case. Results
    are for other readers and cases, for these readers and other cases, and for other readers and these cases.

    Parameters
    ----------
    modality
        Column of the modality; by default modality or treatment.
    columns
        Columns that have other names: case=image,rater=reader,label=score,subject=patient,reference=gt.
    reference_column
        Column of the reference labels, of which there are two; by default reference or truth.
    filter
        Use only rows with these values: treatment=1.
    positive
        Of two labels, the one that sensitivity refers to; by default the last.
    covariance
        Covariances of errors by the jackknife, or for ROC areas by DeLong's method.
    """
    import manytruths as mt

    result = mt.compare_modalities(
        ratings, out=out, modality=modality, columns=parse_pairs("--columns", columns) or None,
        reference_column=reference_column, filter=parse_pairs("--filter", filter) or None, positive=positive,
        covariance=covariance, level=level, pictures=pictures,
    )  # fmt: skip
    present(result, out, quiet=quiet)
    return 0


def plan(
    *,
    wanted: float | None = None,
    rater_accuracy: str | None = None,
    correlation: float = 0.0,
    n_raters: int | None = None,
    n_labels: int = 2,
    n_cases: int | None = None,
    pilot: Annotated[list[str] | None, repeated] = None,
    agreement: float | None = None,
    rho: float | None = None,
    reported_accuracy: float | None = None,
    wanted_actual: float | None = None,
    columns: Annotated[str | None, in_study] = None,
    reference_column: Annotated[str | None, in_study] = None,
    filter: Annotated[str | None, in_study] = None,
    cut: Annotated[float | None, in_study] = None,
    kappa: Annotated[float | None, in_method] = None,
    prevalence: Annotated[float | None, in_method] = None,
    kappa_width: Annotated[float | None, in_method] = None,
    rater_std: Annotated[float, in_method] = 0.01,
    spread: Annotated[float, in_method] = 0.0,
    cost_rater: Annotated[float | None, in_method] = None,
    cost_error: Annotated[float | None, in_method] = None,
    gain: Annotated[float | None, in_method] = None,
    max_raters: Annotated[int, in_method] = 15,
    level: Level = 0.95,
    pictures: Pictures = True,
    tables: Tables = None,
    out: Out = RESULTS,
    quiet: Quiet = False,
    seed: Annotated[int, in_advanced] = 0,
    resamples: Annotated[int, in_advanced] = 1000,
) -> int:
    """Plan a study: how many raters and cases are enough?

    For example: manytruths plan --wanted 0.95 --rater-accuracy 0.85.

    Parameters
    ----------
    wanted
        Accuracy that the majority vote should have, from 0 to 1.
    rater_accuracy
        Accuracy of a rater: 0.85 for all, or one number for each, 0.8,0.9,0.85.
    correlation
        Correlation of the raters' errors, from 0 to 1: some cases are hard for everybody.
    n_raters
        Number of raters, present or planned.
    n_labels
        Number of labels.
    n_cases
        Number of cases, to compute the width of kappa's confidence interval.
    pilot
        Table of ratings of a pilot study, as in reliability; or a template of its masks, or tally files, as in agree,
        each with a --pilot of its own.
    agreement
        Observed agreement of two raters (Po): starting value for the nomogram.
    rho
        Reliability score rho: starting value for the nomogram.
    reported_accuracy
        Accuracy of an algorithm as measured against the raters' majority.
    wanted_actual
        Accuracy that the algorithm should really have.
    columns
        Columns of the pilot that have other names: case=image,rater=reader,label=dx.
    reference_column
        Column of the reference labels in the pilot.
    filter
        Use only rows of the pilot with these values: treatment=1.
    cut
        Ratings of this value or more are positive.
    kappa
        Expected Fleiss' kappa.
    prevalence
        Expected share of cases that a rater marks.
    kappa_width
        Wanted width of kappa's confidence interval.
    rater_std
        Standard deviation of the raters' accuracies, for the chart of random panels.
    spread
        Standard deviation of the cases' difficulty in logits, for raters who differ.
    cost_rater
        Cost of one rating of one case.
    cost_error
        Cost of a wrong label of a case, in the same currency.
    gain
        Margin for a pilot: smallest gain in accuracy that two more raters are worth.
    max_raters
        Largest panel to compute.
    seed
        Seed of resampling and simulation.
    resamples
        Number of resamples of the pilot's raters.
    """
    import manytruths as mt

    result = mt.plan(
        out=out, wanted=wanted, rater_accuracy=parse_accuracies(rater_accuracy), rater_std=rater_std,
        correlation=correlation, spread=spread, n_labels=n_labels, n_raters=n_raters, agreement=agreement, rho=rho,
        reported_accuracy=reported_accuracy, wanted_actual=wanted_actual,
        pilot=pilot[0] if pilot and len(pilot) == 1 else pilot,
        columns=parse_pairs("--columns", columns) or None, reference_column=reference_column,
        filter=parse_pairs("--filter", filter) or None, cut=cut, cost_rater=cost_rater, cost_error=cost_error,
        kappa=kappa, prevalence=prevalence, kappa_width=kappa_width, n_cases=n_cases, max_raters=max_raters, gain=gain,
        level=level, seed=seed, resamples=resamples, pictures=pictures, tables=tables or (),
    )  # fmt: skip
    present(result, out, quiet=quiet)
    return 0
