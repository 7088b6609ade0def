"""``manytruths evaluate``."""

from __future__ import annotations

from typing import Literal

from .extra_options import Extras
from .options import Common, Input, Template
from .terminal import console, progress

HARD, GREY = "vote:0.5,staple", "vote:any,vote:0.5,vote:0.75,staple"


def evaluate(
    template: Template = ".",
    /,
    *,
    input: Input | None = None,
    common: Common | None = None,
    truth: str | None = None,
    prior: str = "prevalence",
    alpha: float = 1.5,
    length: float = 2.0,
    threshold: float | None = None,
    skew: str | None = None,
    distances: bool = True,
    surfaces: Literal["elements", "pixels"] = "elements",
    tolerance: float | None = None,
    boundaries: Literal["outlines", "lines"] | None = None,
    boundary_share: float = 0.0075,
    missing: Literal["worst", "exclude"] = "worst",
    extras: Extras | None = None,
    pictures: bool = True,
    seed: int = 0,
    resamples: int = 2000,
) -> int:
    """Algorithms against every rater and every truth made of them, beside the raters themselves.

    Masks are judged by overlap and distance, grey predictions (--grey) by ROC, P-R and P̄-R curves.

    Parameters
    ----------
    truth
        Truths made of the raters, as in fuse --method; default vote:0.5,staple, with --grey also vote:any,vote:0.75.
    prior
        STAPLE's: prevalence, marked, estimated, or a number.
    alpha
        SIMPLE drops raters below mean - alpha standard deviations.
    length
        Price of length of the level sets.
    threshold
        Cut grey predictions here, and judge them as masks too.
    skew
        Prevalences over which P̄ averages precision: 0.1,0.5; default mean ± 3 std of the study's own.
    distances
        Measure Hausdorff and surface distances.
    surfaces
        What a surface is: elements between pixels, weighted by their area, or border pixels.
    tolerance
        Of surface Dice, in mm (or pixels); default the median of the raters' own 95% distances.
    boundaries
        Match boundaries one to one (2-D): outlines of masks, or lines where masks are lines already.
    boundary_share
        How far apart two boundary pixels may lie, as a share of the image's diagonal.
    missing
        A prediction that is not there counts as the worst, or its case is left out for all.
    pictures
        Draw charts.
    seed
        Seed of the bootstrap over subjects.
    resamples
        Resamples of the bootstrap.
    """
    from ..analyses.evaluate.case import EvaluatePlan
    from ..analyses.evaluate.evaluate import evaluate as run
    from ..analyses.evaluate.evaluate import write
    from ..analyses.evaluate.printing import print_evaluation
    from ..analyses.printing import print_files
    from ..analyses.summaries import Settings
    from ..io.replacing import replacing
    from .parsing import methods_of, prior_of, two_numbers

    input, common = input or Input(), common or Common()
    folder = common.out / "evaluate"
    study = input.open(template)
    methods, options = methods_of(
        truth or (GREY if study.options.grey else HARD), 0, {"prior": prior_of(prior)}, "--truth"
    )
    options |= {"simple": {"alpha": alpha}, "lsml": {"length": length}, "lsmlp": {"length": length}}
    plan = EvaluatePlan(methods, options, threshold, distances, surfaces, boundaries, boundary_share)
    settings = Settings(seed=seed, resamples=resamples, jobs=common.jobs)
    extras = extras or Extras()
    ours = extras.refuse_graded(folder)
    with replacing(folder, ours=ours, run={"jobs": common.jobs}) as (stage,):
        with progress(common.quiet) as bar:
            found = run(
                study, plan, skew=two_numbers(skew, "--skew"), tolerance=tolerance, missing=missing,
                more=extras.plan(stage), settings=settings, progress=bar,
            )  # fmt: skip
        paths = write(found, stage, pictures=pictures)
    shown = console(common.quiet)
    print_evaluation(found, shown)
    print_files([*paths, *([found.extras.sheet] if found.extras.sheet else [])], stage, folder, shown)
    return 0
