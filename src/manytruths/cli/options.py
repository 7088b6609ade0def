"""The options that commands share, and the panels in which ``--help`` shows them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

if TYPE_CHECKING:
    from ..study import Study

ARGUMENTS = Group("Arguments", sort_key=0)
COMMON = Group("Options", sort_key=1)
STUDY = Group("Study", sort_key=2)
METHOD = Group("Method", sort_key=3)
FURTHER = Group("Second look, intensity curves, grades", sort_key=4)
OUTPUT = Group("Output", sort_key=5)
ADVANCED = Group("Advanced", sort_key=6)

in_study = Parameter(group=STUDY)
in_method = Parameter(group=METHOD)
in_output = Parameter(group=OUTPUT)
in_advanced = Parameter(group=ADVANCED)
repeated = Parameter(negative_iterable=())
flag = Parameter(negative="")

Template = Annotated[
    str,
    Parameter(help="Path of the masks with {rater} and {case} in it, a study.toml, or a folder that contains one."),
]
Source = Annotated[
    str,
    Parameter(
        help="Path of the masks with {rater} and {case} in it, a study.toml, or a folder that contains one; or tally "
        "files, one or several."
    ),
]
More = Annotated[str, Parameter(show=False, help="Further tally files.")]
Out = Annotated[Path, Parameter(help="Folder for the results, written to a folder named after the command in it.")]
Jobs = Annotated[int, Parameter(help="Number of processes. Results do not depend on it.")]
Engine = Annotated[
    str,
    Parameter(
        group=ADVANCED,
        help="Where cases are worked on: processes, dask (a local cluster of --jobs workers), or the address of a Dask "
        "scheduler, tcp://host:8786. Results do not depend on it.",
    ),
]
Quiet = Annotated[bool, Parameter(name=["--quiet", "-q"], negative="", help="Print errors only.")]
Pictures = Annotated[bool, Parameter(help="Write charts.")]
Tables = Annotated[
    str | None,
    Parameter(
        group=OUTPUT,
        help="Write tables for a paper, too: xlsx (one workbook), latex, docx, html or redcap, several separated by "
        "commas.",
    ),
]
Seed = Annotated[int, in_advanced]
Level = Annotated[float, Parameter(group=ADVANCED, help="Confidence level of intervals.")]
Resamples = Annotated[int, in_advanced]
KappaScale = Annotated[
    Literal["landis_koch", "fleiss", "altman", "shrout"],
    Parameter(group=METHOD, help="Verbal scale for kappa, such as 'moderate' or 'good'."),
]
ExcludeGroup = Annotated[
    str | None, Parameter(group=METHOD, help="Also report means without these groups: CIN2,Unknown.")
]
By = Annotated[
    str | None,
    Parameter(
        group=METHOD,
        help="Compare groups of raters or cases, by columns of raters.csv and cases.csv: expertise,scanner.",
    ),
]
Prior = Annotated[
    str, Parameter(group=METHOD, help="Prior of STAPLE: prevalence, marked, estimated, or a number from 0 to 1.")
]
TrainedOn = Annotated[
    str | None,
    Parameter(
        group=STUDY,
        help="Algorithms that were trained on cases of this study, and on which reference standard: unet=staple. "
        "They are scored, but it is not concluded that they do well.",
    ),
]

RESULTS = Path("manytruths-out")
ALL_CORES = os.cpu_count() or 1


@Parameter(name="*")
@dataclass(frozen=True)
class StudyOptions:
    """What a study consists of. All of it can be written in ``study.toml``."""

    images: str | None = None
    "Template of the images: images/{case}.png."
    cases: str | None = None
    "CSV file with a column case. Columns subject (the patient) and order (of a patient's cases); others are groups."
    raters: str | None = None
    "CSV file with a column rater; other columns are properties. Or the word exchangeable: raters differ by case."
    labels: str | None = None
    "Names of the label values: 1=gland,2=tumour. Other values are errors."
    foreground: Literal["any"] | None = None
    "With any, treat all labels other than 0 as one."
    background: Annotated[Literal["none"] | None, in_study] = None
    "With none, no label is background, as in tissue maps: 0 is then a label, or with --void 0 not rated."
    region: Literal["whole", "union", "modified_background"] | None = None
    """Pixels that count: whole image (default), union of all masks, or the union plus an equal amount of background.
    Kappa depends on it."""
    exclude_rater: Annotated[list[str] | None, repeated] = None
    "Rater to leave out; can be given several times."
    roi: Annotated[str | None, in_study] = None
    "Template of masks of the region of interest; pixels outside do not count."
    ranks: Annotated[str | None, in_study] = None
    "Template of severity ranks, ranks/{rater}/{case}.png: 1 is the most severe, 0 is unmarked."
    reads: Annotated[str | None, in_study] = None
    "CSV file of the reading log: who read which case (status), and whose mask they started from (based_on)."
    targets: Annotated[str | None, in_study] = None
    "CSV file of target lesions (subject, lesion, target, organ, node, label), for responses by RECIST 1.1."
    decisions: Annotated[str | None, in_study] = None
    """Decisions of adjudicators, for --consensus adjudicated: a folder of logs, a log or a pack; by default the folder
    manytruths-adjudication, where there is one."""
    exclude: Annotated[list[str] | None, in_study, repeated] = None
    "Mask to leave out, as RATER=CASE; can be given several times."
    session: Annotated[str | None, in_study] = None
    "Of raters who have this session and others, use it alone; by default, the first in natural order counts."
    void: Annotated[int | None, in_study] = None
    "Mask value that means 'not rated'."
    overlap: Annotated[Literal["smaller", "union"] | None, in_study] = None
    "Overlapping structures of one rater: cut the smaller out of the larger (default), or unite them."
    edited: Annotated[Literal["exclude", "keep"] | None, in_study] = None
    "Masks edited from another rater's: exclude from agreement and consensus (default), or keep."
    spacing: Annotated[str | None, in_study] = None
    "Pixel size in mm, if the files do not contain it: 0.5,0.5."
    image_size: Annotated[str | None, in_study] = None
    "Size of all images in pixels, 1024x768, where files hold outlines alone and no image is given."
    resample: Annotated[Literal["nearest"] | None, in_study] = None
    "Resample masks on a different grid (nearest neighbour) instead of rejecting them."
    instances: Annotated[bool | None, in_study, flag] = None
    "Values of the masks number lesions, each value one. Everything else takes what is not 0 as marked."
    lesion_rule: Annotated[Literal["iou", "overlap", "distance"] | None, in_study] = None
    """When two raters' lesions are the same: by intersection over union (default), the share of the smaller one that
    both hold, or the distance of centres."""
    lesion_threshold: Annotated[float | None, in_study] = None
    "Threshold of --lesion-rule: 0.5 by default, and for distance the largest one, in mm (or pixels)."
    primary: Annotated[str | None, in_study] = None
    "The one claim that is tested without adjustment for the others, such as raters.larger."

    def open(self, template: str, *more: str, complain: Callable[[Any], None] | None = None) -> Study:
        """The study; ``complain`` gets the problems that do not keep it from being opened."""
        from ..core.errors import raise_error
        from ..study import Study

        return Study.open([template, *more] if more else template, **self.keywords(), complain=complain or raise_error)

    def keywords(self) -> dict[str, Any]:
        """The keywords of ``Study.open``."""
        from .parsing import parse_exclude, parse_labels, parse_spacing

        return vars(self) | {
            "labels": parse_labels(self.labels),
            "exclude": parse_exclude(self.exclude),
            "spacing": parse_spacing(self.spacing),
        }


@Parameter(name="*")
@dataclass(frozen=True)
class ReferenceOptions(StudyOptions):
    """A study together with given reference standards."""

    reference: str | None = None
    "Template of given reference standards: {reference}/{case}.png."


@Parameter(name="*")
@dataclass(frozen=True)
class PredictionOptions(ReferenceOptions):
    """A study together with predictions of algorithms."""

    predictions: str | None = None
    "Template of the predictions: predictions/{algorithm}/{case}.png."
    probability: Annotated[bool | None, flag] = None
    "The predictions are probability maps, to be evaluated by curves and as forecasts of what raters mark."
    samples: Annotated[str | None, in_study] = None
    "Template of samples, masks that an algorithm drew of each case: {algorithm}/{case}/{sample}.png."
    limits: Annotated[str | None, in_study] = None
    "Smallest and largest value of probability maps: 0,1. Values beyond them are errors."
    training: Annotated[str | None, in_study] = None
    "Template of areas that an algorithm was trained on, training/{algorithm}/{case}.png; it is not scored there."
    trained_on: TrainedOn = None

    def keywords(self) -> dict[str, Any]:
        """The keywords of ``Study.open``."""
        from .parsing import parse_pairs, parse_range

        trained_on = parse_pairs("--trained-on", self.trained_on) or None
        return super().keywords() | {"limits": parse_range(self.limits, "--limits"), "trained_on": trained_on}


@Parameter(name="*")
@dataclass(frozen=True)
class OutputOptions:
    """Where results go, and how much is printed."""

    out: Out = RESULTS
    jobs: Jobs = ALL_CORES
    quiet: Quiet = False


@Parameter(name="*")
@dataclass(frozen=True)
class RunOptions(OutputOptions):
    """The same, and where cases are worked on."""

    engine: Engine = "processes"
