"""``reliability`` of masks: its options, and the run."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from .terminal import console, progress


@dataclass(frozen=True)
class MaskCall:
    """What the verb was told that masks share with ratings."""

    labels: str | None
    raters: str | None
    cases: Path | None
    confidence: str | None
    accuracy: str | None
    chance: str
    seed: int
    resamples: int


@Parameter(name="*")
@dataclass(frozen=True)
class Masks:
    """Of masks only."""

    roi: str | None = None
    "Template of masks of the region to count."
    region: Literal["whole", "union", "modified_background"] | None = None
    "What is counted; on the whole image agreement on background is most of it."
    foreground: Literal["any"] | None = None
    "any: unite all labels but 0."
    void: int | None = None
    "The value that means 'not rated'."
    resample: Literal["nearest"] | None = None
    "Masks on another lattice: resample them by nearest neighbour, instead of refusing them."
    exclude: Annotated[list[str] | None, Parameter(negative_iterable=())] = None
    "Masks to leave out, as RATER=CASE; may be given several times."
    least: int = 1
    "Pixels of the smallest lesion; smaller ones are specks, which are only counted."
    overlap: float | None = None
    "The share of a lesion that a rater must mark to have found it; by default any pixel."
    jobs: int = os.cpu_count() or 1
    "Processes that read cases at the same time; results do not depend on it."

    @property
    def changed(self) -> list[str]:
        """Options that were given."""
        return [one.name for one in fields(self) if getattr(self, one.name) != one.default]

    def run(self, template: str, told: MaskCall, folder: Path, quiet: bool) -> int:
        """Read the study, and write and print what was found."""
        from ..analyses.printing import print_files
        from ..analyses.reliability.mask_printing import print_mask_reliability, write_mask_reliability
        from ..analyses.reliability.masks import Assumptions, LesionRule, mask_reliability
        from ..analyses.summaries import Settings
        from ..io.replacing import replacing
        from ..study import Study
        from .parsing import chance_of, excluded, labels, shares

        study = Study.open(
            template, roi=self.roi, region=self.region, foreground=self.foreground, void=self.void,
            resample=self.resample, exclude=excluded(self.exclude),
            labels=labels(told.labels), raters=told.raters, cases=None if told.cases is None else str(told.cases),
        )  # fmt: skip
        settings = Settings(seed=told.seed, resamples=told.resamples, jobs=self.jobs)
        sure = shares("--confidence", told.confidence) or None
        given = Assumptions(sure, chance_of(told.chance), shares("--accuracy", told.accuracy) or "majority")
        rule = LesionRule(min_size=self.least, overlap=self.overlap)
        with replacing(folder, run={"jobs": self.jobs}) as (stage,):
            with progress(quiet) as bar:
                found = mask_reliability(study, settings=settings, assumptions=given, rule=rule, progress=bar)
            paths = write_mask_reliability(found, settings, stage)
        shown = console(quiet)
        print_mask_reliability(found, shown)
        print_files(paths, stage, folder, shown)
        return 0


def is_study(text: str) -> bool:
    """Whether this names masks: a template, a study file or a folder."""
    return (not os.path.isfile(text) and "{" in text) or text.endswith(".toml") or os.path.isdir(text)
