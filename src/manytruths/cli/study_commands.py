"""The commands on a study of masks: check, agree, fuse, evaluate, tally, report."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from .options import (
    ALL_CORES,
    FURTHER,
    METHOD,
    OUTPUT,
    RESULTS,
    By,
    Engine,
    ExcludeGroup,
    Jobs,
    KappaScale,
    Level,
    More,
    Pictures,
    PredictionOptions,
    Prior,
    Quiet,
    ReferenceOptions,
    Resamples,
    RunOptions,
    Seed,
    Source,
    Tables,
    Template,
    flag,
    in_advanced,
    in_method,
    in_output,
)  # fmt: skip
from .parsing import parse_beta, parse_names, parse_prior, parse_range, parse_whole_range
from .terminal import console, present, progress, working

Consensus = Annotated[
    str | None,
    Parameter(
        help="Consensus methods: vote:0.5, vote:any, vote:all, excl:0.5, staple, staple_map, simple, plurality, "
        "lesions:0.5, lsml, lsmlp. By default vote:0.5,staple, and of several labels plurality,staple."
    ),
]
Threshold = Annotated[
    float | None, Parameter(group=METHOD, help="Cut probability maps here, and evaluate them as masks too.")
]
Tolerance = Annotated[
    float | None,
    Parameter(
        group=METHOD,
        help="Tolerance of surface Dice, in mm (or pixels); by default from the distances between raters' outlines.",
    ),
]
Margin = Annotated[
    float | None,
    Parameter(
        group=METHOD,
        help="Largest difference of Dice that does not matter, as in 0.05, to compare algorithms with raters.",
    ),
]
Distances = Annotated[
    bool,
    Parameter(group=METHOD, help="Measure Hausdorff and surface distances; without them it is faster."),
]
Lesions = Annotated[
    bool,
    Parameter(group=METHOD, help="Match lesions with those of reference standards: sensitivity, precision, F1 and PQ."),
]
Sizes = Annotated[
    bool,
    Parameter(group=METHOD, help="Compare areas or volumes and diameters of predictions with those of --reference."),
]
ErrorRatio = Annotated[
    float | None,
    Parameter(
        group=METHOD,
        help="Error variance of sizes of raters and algorithms over that of --reference, if known: the line between "
        "them is then Deming's, else Passing and Bablok's.",
    ),
]
Measure = Annotated[
    str,
    Parameter(
        group=METHOD,
        help="What to measure besides agreement: sizes of what raters marked, distances between their outlines, "
        "lesions that they have in common; none for none.",
    ),
]
Missing = Annotated[
    Literal["worst", "exclude"],
    Parameter(
        group=METHOD,
        help="A missing prediction gets the worst score, or its case is left out for all algorithms.",
    ),
]
LargeMaps = Annotated[
    Literal["same", "ome-zarr", "tiff"],
    Parameter(
        group=OUTPUT,
        help="Format of the maps of images from 16384 × 16384 pixels on: OME-Zarr or BigTIFF; by default that of the "
        "masks.",
    ),
]

MEASURES = "sizes,distances,lesions"


def check(
    template: Template = ".",
    /,
    *,
    study: PredictionOptions | None = None,
    output: RunOptions | None = None,
) -> int:
    """List all masks by case and rater, and report every problem found."""
    import manytruths as mt

    from ..core.errors import one_line

    output, problems = output or RunOptions(), list[Exception]()
    opened = (study or PredictionOptions()).open(template, complain=problems.append)
    with working(opened, output.engine, output.jobs, output.quiet) as bar:
        result = mt.check(opened, out=output.out, opening_errors=problems, jobs=output.jobs, progress=bar)
    present(result, output.out, quiet=output.quiet)
    for problem in result.errors if output.quiet else ():
        print(f"manytruths: {one_line(problem.message)}", file=sys.stderr)
    return 1 if result.errors else 0


@Parameter(name="*")
@dataclass(frozen=True)
class MapOptions:
    """Heatmaps and image features."""

    pictures: bool = True
    "Write heatmaps and charts and, if there are images, relate agreement to image features."
    large_maps: LargeMaps = "same"
    window: Annotated[int, in_advanced] = 7
    "Window of the local contrast, in pixels."
    agreement_window: Annotated[int, in_advanced] = 3
    "Window in which contrast is compared with the largest agreement, in pixels."
    rank_base: Annotated[float, in_advanced] = 0.77
    "a in the weight a^(rank - b) of the ranking heatmap."
    rank_shift: Annotated[float, in_advanced] = 13
    "b in the weight a^(rank - b) of the ranking heatmap."
    rank_largest: Annotated[int, in_advanced] = 10
    "Largest rank; weights must be distinct and positive up to it."


def agree(
    template: Source = ".",
    /,
    *more: More,
    study: ReferenceOptions | None = None,
    output: RunOptions | None = None,
    maps: MapOptions | None = None,
    kappa_scale: KappaScale = "landis_koch",
    exclude_group: ExcludeGroup = None,
    measure: Measure = MEASURES,
    tolerance: Tolerance = None,
    error_ratio: ErrorRatio = None,
    tables: Tables = None,
    by: By = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> int:
    """Measure how far raters agree, identify raters who differ, and map agreement in each image.

    Parameters
    ----------
    seed
        Seed of the tests that permute raters or subjects: who differs from the others, and whether groups do.
    """
    import manytruths as mt

    output = output or RunOptions()
    opened = (study or ReferenceOptions()).open(template, *more)
    with working(opened, output.engine, output.jobs, output.quiet) as bar:
        result = mt.agree(
            opened, out=output.out, kappa_scale=kappa_scale, exclude_group=parse_names(exclude_group) or (),
            by=parse_names(by) or (), measure=measure, tolerance=tolerance, error_ratio=error_ratio,
            tables=tables or (), level=level,
            seed=seed, jobs=output.jobs, progress=bar,
            **asdict(maps or MapOptions()),
        )  # fmt: skip
    present(result, output.out, quiet=output.quiet)
    return 0


@Parameter(name="*")
@dataclass(frozen=True)
class EstimationOptions:
    """Parameters of the consensus methods that evaluate has, too."""

    prior: Prior = "prevalence"
    simple_alpha: Annotated[float, in_method] = 1.5
    "SIMPLE drops raters whose score is below mean - alpha standard deviations."
    length_penalty: Annotated[float, in_method] = 2.0
    "Length penalty of the level sets (lsml, lsmlp)."

    def keywords(self) -> dict[str, Any]:
        """The keywords of ``fuse`` and ``evaluate``."""
        return asdict(self) | {"prior": parse_prior(self.prior)}


def fuse(
    template: Source = ".",
    /,
    *more: More,
    study: ReferenceOptions | None = None,
    output: RunOptions | None = None,
    consensus: Consensus = None,
    estimation: EstimationOptions | None = None,
    rates: Annotated[Literal["case", "pooled"], in_method] = "case",
    unanimous: Annotated[Literal["keep", "exclude"], in_method] = "keep",
    map_prior: Annotated[str | None, in_method] = None,
    smoothing: Annotated[float, in_method] = 0.0,
    distances: Distances = True,
    tolerance: Tolerance = None,
    lesions: Lesions = True,
    pictures: Pictures = True,
    tables: Tables = None,
    large_maps: LargeMaps = "same",
    seed: Seed = 0,
) -> int:
    """Estimate a consensus of the raters.

    It writes masks and probability maps, compares the raters with them, and measures how complex each case is. A
    stopped run continues where it stopped: finished cases with the same settings are not computed again.

    Parameters
    ----------
    rates
        STAPLE's sensitivity and specificity: one pair for each case, or pooled over the study.
    unanimous
        Pixels on which all raters agree: keep them for STAPLE's rates, or exclude them.
    map_prior
        Beta prior of STAPLE's rates: a,b or a_p,b_p,a_q,b_q.
    smoothing
        Strength of Potts smoothing of STAPLE's map; 0 is none.
    seed
        Seed of k-means, which groups the cases by complexity.
    """
    import manytruths as mt

    output = output or RunOptions()
    opened = (study or ReferenceOptions()).open(template, *more)
    with working(opened, output.engine, output.jobs, output.quiet) as bar:
        result = mt.fuse(
            opened, out=output.out, consensus=consensus, rates=rates, unanimous=unanimous,
            map_prior=parse_beta(map_prior), smoothing=smoothing, distances=distances, tolerance=tolerance,
            lesions=lesions, pictures=pictures, tables=tables or (), large_maps=large_maps,
            seed=seed, jobs=output.jobs, progress=bar, **(estimation or EstimationOptions()).keywords(),
        )  # fmt: skip
    present(result, output.out, quiet=output.quiet)
    return 0


@Parameter(name="*", group=FURTHER)
@dataclass(frozen=True)
class FurtherEvaluation:
    """What ``evaluate`` offers beyond scores."""

    second_look: bool = True
    "List places that several algorithms but few raters marked."
    second_look_algorithms: int = 2
    "Smallest number of algorithms that marked such a place; at least half of them must have."
    second_look_raters: float = 0.25
    "Largest share of the raters who marked it."
    second_look_min_size: int = 5
    "Minimum size in pixels; smaller places are counted but not listed."
    intensity_curves: Annotated[bool, flag] = False
    "Measure image intensity inside every mask over the cases of each subject; needs --images and ordered cases."
    grades: Path | None = None
    "CSV file of an expert's grades (case, algorithm, grade), or a completed grading sheet."
    key: Path | None = None
    "Key of the grading sheet, if it is not beside the sheet."
    grade_scale: str = "1,4"
    "Worst and best grade."
    best: int | None = None
    "Lowest grade that needs no correction; by default the best."
    grading_sheet: Annotated[bool, flag] = False
    "Write a blinded grading sheet with pictures for an expert."
    grading_repeats: float = 0.1
    "Share of the predictions that the sheet shows twice, to measure the grader's consistency."
    grading_per_subject: int | None = None
    "Number of random cases to grade of each subject; by default all."

    def keywords(self) -> dict[str, Any]:
        """The keywords of ``evaluate``."""
        return asdict(self) | {"grade_scale": parse_whole_range(self.grade_scale, "--grade-scale")}


def evaluate(
    template: Source = ".",
    /,
    *more: More,
    study: PredictionOptions | None = None,
    output: RunOptions | None = None,
    consensus: str | None = None,
    estimation: EstimationOptions | None = None,
    threshold: Threshold = None,
    skew: Annotated[str | None, in_method] = None,
    recalibrate: Annotated[Literal["temperature", "isotonic"] | None, in_method] = None,
    band: Annotated[float | None, in_method] = None,
    like: Annotated[Literal["qubiq", "curvas"] | None, in_method] = None,
    distances: Distances = True,
    surfaces: Annotated[Literal["elements", "pixels"], in_method] = "elements",
    tolerance: Tolerance = None,
    margin: Margin = None,
    lesions: Lesions = True,
    sizes: Sizes = True,
    error_ratio: ErrorRatio = None,
    boundaries: Annotated[Literal["outlines", "lines"] | None, in_method] = None,
    boundary_share: Annotated[float, in_method] = 0.0075,
    missing: Missing = "worst",
    further: FurtherEvaluation | None = None,
    pictures: Pictures = True,
    tables: Tables = None,
    level: Level = 0.95,
    seed: Seed = 0,
) -> int:
    """Score algorithms against every rater and every consensus, and compare them with the raters.

    Masks are scored by overlap and distance, probability maps (--probability) by ROC, P-R and P̄-R curves.

    Parameters
    ----------
    consensus
        Consensus methods to score against, as in fuse; by default vote:0.5,staple, of several labels plurality,staple,
        and with --probability vote:any,vote:0.5,vote:0.75,staple.
    skew
        Prevalences over which P̄ averages precision: 0.1,0.5; by default mean ± 3 SD of the study's own.
    recalibrate
        Recalibrate probability maps on some subjects, and measure the change on the others: calibration and test in the
        column split of cases.csv, or a random half.
    band
        Learn how wide a band around predictions must be to hold the whole reference standard of a new subject with this
        probability (0.9), on the same subjects, and count how often it does on the others.
    like
        Name the scores of a challenge, with what is odd about them: soft_dice of QUBIQ; curvas_dice, curvas_crps and
        curvas_calibration_error of CURVAS.
    surfaces
        Surfaces are elements between pixels, weighted by their area, or border pixels.
    boundaries
        Match boundaries one to one (2-D): outlines of masks, or lines if the masks are lines already.
    boundary_share
        Largest distance between matched boundary pixels, as a share of the image's diagonal.
    seed
        Seed of the test that permutes raters to find who differs from the others, of the subjects for recalibration and
        bands, and of the cases, order and codes of the grading sheet.
    """
    import manytruths as mt

    from ..analyses.printing import print_written

    output, further = output or RunOptions(), further or FurtherEvaluation()
    opened = (study or PredictionOptions()).open(template, *more)
    with working(opened, output.engine, output.jobs, output.quiet) as bar:
        result = mt.evaluate(
            opened, out=output.out, consensus=consensus, threshold=threshold, skew=parse_range(skew, "--skew"),
            recalibrate=recalibrate, band=band, like=like, distances=distances, surfaces=surfaces, tolerance=tolerance,
            margin=margin, lesions=lesions, sizes=sizes, error_ratio=error_ratio,
            boundaries=boundaries, boundary_share=boundary_share, missing=missing, level=level, seed=seed,
            pictures=pictures, tables=tables or (), jobs=output.jobs, progress=bar,
            **(estimation or EstimationOptions()).keywords(), **further.keywords(),
        )  # fmt: skip
    screen = console(output.quiet)
    result.print(screen)
    print_written(output.out / "evaluate", screen, *(["grading"] if further.grading_sheet else []))
    return 0


def audit(
    template: Source = ".",
    /,
    *more: More,
    study: ReferenceOptions | None = None,
    output: RunOptions | None = None,
    level_sets: Annotated[bool, in_method] = True,
    pictures: Pictures = True,
) -> int:
    """Find what made a published consensus (--reference) of the raters' masks.

    For example: manytruths audit "masks/{rater}/{case}.png" --reference "published/{case}.png". Votes, STAPLE, SIMPLE,
    single raters and others, with and without each rater, are compared with it pixel by pixel; the nearest are listed,
    those that make the same masks together, and what differs is drawn.

    Parameters
    ----------
    level_sets
        Fit level sets where nothing else is the consensus; they take longest.
    """
    import manytruths as mt

    output = output or RunOptions()
    opened = (study or ReferenceOptions()).open(template, *more)
    with working(opened, output.engine, output.jobs, output.quiet) as bar:
        result = mt.audit(
            opened, level_sets=level_sets, pictures=pictures, out=output.out, jobs=output.jobs, progress=bar
        )
    present(result, output.out, quiet=output.quiet)
    return 0


def tally(
    template: Source = ".",
    /,
    *more: More,
    study: PredictionOptions | None = None,
    to: Path = Path("study.tally"),
    centre: str = "",
    names: Annotated[bool, flag] = False,
    keep: Annotated[str | None, in_output] = None,
    least: Annotated[int, in_output] = 1,
    jobs: Jobs = ALL_CORES,
    quiet: Quiet = False,
) -> int:
    """Write the tables of a study to one small file that can be shared in place of the masks.

    The file holds patterns of decisions and their counts, without images, masks and paths. agree, fuse, evaluate,
    reliability, plan and report take one or several of these files in place of a template.

    Parameters
    ----------
    to
        The file, ending in .tally, or a folder that gets a study.tally.
    centre
        Name of the centre, put before the codes or names of its cases and subjects.
    names
        Keep the names of cases and subjects. By default they get codes; the key to them is written beside the file.
    keep
        Columns of cases.csv and raters.csv to keep in the file: diagnosis,expertise. By default none.
    least
        Merge patterns that fewer pixels show into the nearest other pattern; 1 merges nothing.
    """
    import manytruths as mt

    opened = (study or PredictionOptions()).open(template, *more)
    with progress(quiet) as bar:
        result = mt.share_tallies(
            opened, to, centre=centre, names=names, keep=parse_names(keep) or (), least=least, jobs=jobs, progress=bar
        )
    result.print(console(quiet))
    return 0


def report(
    template: Source = ".",
    /,
    *more: More,
    study: PredictionOptions | None = None,
    to: Path = RESULTS / "report.html",
    consensus: Consensus = None,
    prior: Prior = "prevalence",
    threshold: Threshold = None,
    tolerance: Tolerance = None,
    margin: Margin = None,
    distances: Distances = True,
    measure: Measure = MEASURES,
    error_ratio: ErrorRatio = None,
    missing: Missing = "worst",
    kappa_scale: KappaScale = "landis_koch",
    exclude_group: ExcludeGroup = None,
    by: By = None,
    title: Annotated[str, in_output] = "",
    show_images: Annotated[bool, in_output] = True,
    viewer: Annotated[bool, in_output] = True,
    codes: Annotated[bool, in_output, flag] = False,
    tables: Tables = None,
    browse: Annotated[bool, Parameter(name="--open", group=in_output.group, negative="")] = False,
    jobs: Jobs = ALL_CORES,
    quiet: Quiet = False,
    engine: Engine = "processes",
    seed: Seed = 0,
    resamples: Resamples = 1000,
) -> int:
    """Write all results as one HTML page.

    It shows agreement, raters, cases, consensus, algorithms and methods. The page needs no network and no other
    file. Its tables are written to a folder beside it (report_files for report.html), and so are full-size pictures
    in studies of more than 30 cases.

    Parameters
    ----------
    to
        The page, or a folder that gets a report.html.
    title
        Title of the page.
    show_images
        Show the images beneath the outlines; --no-show-images if they are confidential.
    viewer
        Show outlines and maps of the cases.
    codes
        De-identify: replace the names of cases, subjects and raters by codes. The key is written beside the page
        (report_key.csv), and a later run uses the same codes.
    browse
        Open the page in a browser.
    seed
        Seed of everything random: tests that permute raters or subjects, groups of cases by complexity, and resamples.
    resamples
        Number of resamples of the subjects, for the ranking of algorithms, and largest number of those of the raters,
        for the plan of more raters.
    """
    import manytruths as mt

    opened = (study or PredictionOptions()).open(template, *more)
    methods = None if consensus is None else parse_names(consensus) or ()
    with working(opened, engine, jobs, quiet) as bar:
        result = mt.report(
            opened, to=to, title=title, consensus=methods, prior=parse_prior(prior),
            threshold=threshold, tolerance=tolerance, margin=margin, distances=distances, measure=measure,
            error_ratio=error_ratio, missing=missing, kappa_scale=kappa_scale,
            exclude_group=parse_names(exclude_group) or (), show_images=show_images, viewer=viewer, codes=codes,
            by=parse_names(by) or (), tables=tables or (),
            seed=seed, resamples=resamples, jobs=jobs, progress=bar,
        )  # fmt: skip
    result.print(console(quiet))
    if browse:
        import webbrowser

        webbrowser.open(result.path.resolve().as_uri())
    return 0
