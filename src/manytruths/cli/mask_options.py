"""Options of ``reliability`` that are for masks only."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from ..study import Study


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
    lesion_min_size: int = 1
    "Pixels of the smallest lesion; smaller ones are specks, which are only counted."
    lesion_overlap: float | None = None
    "The share of a lesion that a rater must mark to have found it; by default any pixel."
    jobs: int = os.cpu_count() or 1
    "Processes that read cases at the same time; results do not depend on it."

    @property
    def changed(self) -> list[str]:
        """Options that were given."""
        return [field.name for field in fields(self) if getattr(self, field.name) != field.default]

    def open(self, template: str, labels: str | None, raters: str | None, cases: Path | None) -> Study:
        """The study of masks."""
        from ..study import Study
        from .parsing import excluded
        from .parsing import labels as parse_labels

        return Study.open(
            template, roi=self.roi, region=self.region, foreground=self.foreground, void=self.void,
            resample=self.resample, exclude=excluded(self.exclude), labels=parse_labels(labels), raters=raters,
            cases=None if cases is None else str(cases),
        )  # fmt: skip
