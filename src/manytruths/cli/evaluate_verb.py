"""``manytruths evaluate``."""

from __future__ import annotations

from typing import Literal

from .extra_options import Extras
from .options import Common, Input, Template
from .terminal import console, progress


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
    import manytruths as mt

    from ..analyses.printing import print_written
    from .parsing import prior_of, two_numbers

    input, common, extras = input or Input(), common or Common(), extras or Extras()
    study = input.open(template)
    with progress(common.quiet) as bar:
        result = mt.evaluate(
            study, out=common.out, consensus=truth, prior=prior_of(prior), simple_alpha=alpha, length_penalty=length,
            threshold=threshold, skew=two_numbers(skew, "--skew"), distances=distances, surfaces=surfaces,
            tolerance=tolerance, boundaries=boundaries, boundary_share=boundary_share, missing=missing, seed=seed,
            resamples=resamples, pictures=pictures, jobs=common.jobs, progress=bar, **extras.keywords(),
        )  # fmt: skip
    screen = console(common.quiet)
    result.print(screen)
    print_written(common.out / "evaluate", screen, *(["grading"] if extras.grading_sheet else []))
    return 0
