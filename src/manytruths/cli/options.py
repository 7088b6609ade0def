"""The options that verbs share."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from ..study import Study


@Parameter(name="*")
@dataclass(frozen=True)
class Input:
    """How to read a study."""

    images: str | None = None
    "Template of the images, as images/{case}.png."
    roi: str | None = None
    "Template of masks of the region to count."
    ranks: str | None = None
    "Template of rank maps, as ranks/{rater}/{case}.png: 1 most severe, 0 unmarked."
    predictions: str | None = None
    "Template of what algorithms predicted, as {algorithm}/{case}.png: masks, or grey with --grey."
    grey: Annotated[bool | None, Parameter(negative="")] = None
    "Predictions are grey: probabilities or responses, to be judged by curves."
    limits: str | None = None
    "The least and largest value of grey predictions: 0,1. Others are then errors."
    references: str | None = None
    "Template of truths that are given, as {reference}/{case}.png, beside those made of the raters."
    cases: str | None = None
    "CSV with a column case; subject names the patient, other columns are groups."
    raters: str | None = None
    "CSV with a column rater and what is known about each; or the word exchangeable."
    reads: str | None = None
    "CSV of who read which case (status), and from whose mask he started (based_on)."
    labels: str | None = None
    "Names of label values: 1=gland,2=tumour. Other values are then errors."
    foreground: Literal["any"] | None = None
    "any: unite all labels but 0."
    void: int | None = None
    "The value that means 'not rated'."
    region: Literal["whole", "union", "modified_background"] | None = None
    "What is counted; every kappa depends on it."
    overlap: Literal["smaller", "union"] | None = None
    "Where structures of one rater overlap: cut the smaller out of the larger, or unite all."
    edited: Literal["apart", "keep"] | None = None
    "Reads that are edits of another's: apart from agreement and consensus, or kept in."
    resample: Literal["nearest"] | None = None
    "Masks on another lattice: resample them by nearest neighbour, instead of refusing them."
    spacing: str | None = None
    "Size of a pixel in mm where files do not say: 0.5,0.5."
    exclude: Annotated[list[str] | None, Parameter(negative_iterable=())] = None
    "Masks to leave out, as RATER=CASE; or areas not to judge an algorithm by, as training/{algorithm}/{case}.png."

    def open(self, template: str, complain: Callable[[Any], None] | None = None) -> Study:
        """The study; ``complain`` gets the problems that do not keep it from being opened."""
        from ..core.errors import raise_error
        from ..study import Study
        from .parsing import areas, excluded, labels, numbers, two_numbers

        return Study.open(
            template, images=self.images, roi=self.roi, ranks=self.ranks,
            predictions=self.predictions, grey=self.grey, limits=two_numbers(self.limits, "--limits"),
            references=self.references, training=areas(self.exclude), cases=self.cases, raters=self.raters,
            reads=self.reads, labels=labels(self.labels), foreground=self.foreground, void=self.void,
            region=self.region, overlap=self.overlap, edited=self.edited, resample=self.resample,
            spacing=numbers(self.spacing), exclude=excluded(self.exclude),
            complain=complain or raise_error,
        )  # fmt: skip


@Parameter(name="*")
@dataclass(frozen=True)
class Common:
    """What every verb takes."""

    out: Path = Path("manytruths-out")
    "Folder for the results; each verb writes into a folder of its name, where what only an earlier run wrote goes."
    jobs: int = os.cpu_count() or 1
    "Processes that read cases at the same time; results do not depend on it."
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False
    "Print nothing but errors."


@Parameter(name="*")
@dataclass(frozen=True)
class Maps:
    """How heatmaps and image features are made."""

    pictures: bool = True
    "Write heatmaps and charts (and, where there are images, how agreement goes with what they show)."
    window: int = 7
    "Pixels across the window of local contrast."
    agreement_window: int = 3
    "Pixels across the window in which contrast is compared with the largest agreement."
    rank_base: float = 0.77
    "a of the ranking heatmap's a^(rank - b)."
    rank_shift: float = 13
    "b of the ranking heatmap's a^(rank - b)."
    rank_largest: int = 10
    "The largest rank that occurs; values must stay distinct and positive up to it."


Template = Annotated[str, Parameter(help="Path with {rater} and {case} in it, a study.toml, or a folder with one.")]
