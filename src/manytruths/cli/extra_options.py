"""The options of ``evaluate`` beyond scores."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cyclopts import Parameter


@Parameter(name="*")
@dataclass(frozen=True)
class Extras:
    """What to make of predictions beyond scores."""

    second_look: bool = True
    "List places that several algorithms marked and few raters."
    second_look_algorithms: int = 2
    "At least so many algorithms (and half of them) marked such a place."
    second_look_raters: float = 0.25
    "At most this share of the raters did."
    second_look_least: int = 5
    "Places of fewer pixels are only counted."
    frames: bool = False
    "Image intensity inside every mask along the cases of each subject, in their order (needs --images)."
    grades: Path | None = None
    "CSV of an expert's grades: case, algorithm, grade; or a grading sheet that was filled in."
    key: Path | None = None
    "The key of the grading sheet, where it does not lie beside it."
    grade_scale: str = "1,4"
    "The worst and the highest grade."
    best: int | None = None
    "The grade from which no correction is needed; by default the highest."
    grading_sheet: bool = False
    "Write a blinded sheet with pictures, for an expert to grade."
    grading_repeats: float = 0.1
    "Share of the predictions that the sheet shows twice, to see how consistent the grader is."
    grading_per_subject: int | None = None
    "Grade so many random cases of each subject instead of all."

    def keywords(self) -> dict[str, Any]:
        """The same as keywords of :func:`manytruths.evaluate`."""
        from .parsing import whole_numbers

        given = asdict(self)
        given["intensity_curves"] = given.pop("frames")
        given["grade_scale"] = whole_numbers(self.grade_scale, "--grade-scale")
        return given
